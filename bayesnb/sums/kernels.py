"""Sums over Gaussian kernels: log densities under weighted cells, with or without the cell at which they are taken.

The numbers behind `families.kernel_density`. One formula serves all of them,

    log f(u; h) = log [Σ_k (w_k − w [v_k = u]) K_h(u − v_k)] − log [Σ_k w_k − w],     K_h(z) = exp(−½ z²/h²)/(h √(2π)),

with w the weight that leaves the cell at u: none in a prediction, the row's in leave-one-out. Exponentials are relative
to that of the nearest cell, so that not all of them underflow to zero. Many cells on the host are summed in linear time
by the loops of `_compiled_kernels`.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ..numerics.arrays import Array, Float, Int
from ..numerics.special import LOG_2PI, namespace
from .rows import nested_work, parallel_map, rounding, use_compiled_loop

_REACH = 40.0  # nats below the largest where a kernel is lost in rounding
_NUMBERS_OF_TABLE = 1 << 18  # numbers of a temporary table on the host: 2 MiB, about a core's cache
_LARGEST_SHARE = 0.9  # beyond, what remains is summed anew
_COST_OF_EXPONENTIAL = 8  # cells of other sums that take as long as an exponential


class Cells(NamedTuple):
    """The distinct cells of one class and feature, on the host.

    Fields
    ------
    value : (m,)   in ascending order, in the unit of the feature
    weight : (m,)  positive
    """

    value: np.ndarray
    weight: np.ndarray

    @property
    def total(self) -> float:
        """Sum of all weights."""
        return float(self.weight.sum())

    @property
    def reach(self) -> float:
        """A squared distance in bandwidths, beyond the nearest cell, from which all kernels together are lost.

        A kernel exp(−½ z²) is `_REACH` nats below 1 at z² = 2 `_REACH`. All weights over the smallest are the most by
        which kernels farther away could outweigh that of the nearest cell, so the logarithm of this ratio is added.
        """
        return 2 * (_REACH + float(np.log(self.weight.sum() / self.weight.min())))

    def total_without(self, u: np.ndarray, leaving: np.ndarray) -> np.ndarray:
        """The weight of all cells without the weight that leaves the cell at u, for each of several u, (q,).

        Cells 1, 4, 6 of weights 2, 3, 1 have the weight 6. If 2 of it leaves the cell u = 4, the weight is 4: 2 before
        the cell, 1 that remains at it, and 1 after it. These three are added, because the difference 6 − 2 would lose
        digits where the cell holds nearly all of the weight.

        Parameters
        ----------
        u, leaving : (q,) cells, and the weight that leaves each of them; nothing leaves where u is no cell
        """
        # How many cells are before u, and how many are not after it. These differ by one if u is a cell: in the example
        # they are 1 and 2 for u = 4, but 1 and 1 for u = 3.
        n_before = np.searchsorted(self.value, u)  # (q,)
        n_not_after = np.searchsorted(self.value, u, side="right")
        is_cell = n_not_after > n_before

        # the weight before the cell, and after it
        weight_of_first = np.concatenate([[0], np.cumsum(self.weight)])  # at k: of the first k cells, (m + 1,)
        weight_from = np.concatenate([np.cumsum(self.weight[::-1])[::-1], [0]])  # at k: of cell k and all after it
        before = weight_of_first[n_before]
        after = weight_from[n_not_after]

        # what remains at it
        weight = np.where(is_cell, np.append(self.weight, 0)[n_before], 0)  # (q,)
        remaining = weight - leaving
        remaining = np.where(remaining > rounding(weight) * weight, remaining, 0)  # less is rounding
        return before + remaining + after

    def without(self, cell: Any, leaving: Any) -> "Cells":
        """The cells that remain when a weight leaves one of them, given by its position."""
        weight = self.weight.copy()
        weight[cell] -= leaving
        remains = weight > rounding(weight) * self.weight  # less is rounding
        return Cells(self.value[remains], weight[remains])


# --- sums on the host: cells and targets of one class and feature -----------------------------------------------------


def log_sums(
    u: Float[np.ndarray, " q"], leaving: Float[np.ndarray, " q"], cells: Cells, h: Float[np.ndarray, " g"]
) -> Float[np.ndarray, "g q"]:
    """log [Σ_k w_k exp(−½ (u − v_k)²/h²) − leaving]: kernel sums at targets; −∞ where no cell is left.

    Much work is done by a compiled loop, whose time grows with q + m instead of q · m; little work by the formula.

    Parameters
    ----------
    u : targets in ascending order
    leaving : the weight that leaves the cell at each target, where the kernel is 1; 0 if there is no such cell
    cells : values v_k and weights w_k
    h : bandwidths
    """
    if not len(cells.value):  # no cell at all: the logarithm of an empty sum
        return np.full((len(h), len(u)), -np.inf)
    sums = np.empty((len(h), len(u)))

    # much work: the loop
    n_exponentials = len(h) * len(u) * len(cells.value)
    if use_compiled_loop(_COST_OF_EXPONENTIAL * n_exponentials):
        from ._compiled_kernels import TRANSLATIONS  # a table by which kernels of near cells are summed together
        from ._compiled_kernels import log_sums as loop

        lost = rounding(cells.weight)  # 1e-12: a cell of which no more than this share remains counts as none
        reach = cells.reach  # squared distance in bandwidths beyond which kernels are too small to count
        loop(u, leaving, cells.value, cells.weight, h, lost, reach, TRANSLATIONS, sums)  # fills `sums`
        return sums

    # little work: the formula, for some targets at a time, so that its table (g, q, m) stays small
    step = max(1, _NUMBERS_OF_TABLE // (len(cells.value) * len(h)))
    for first in range(0, len(u), step):
        part = slice(first, first + step)
        sums[:, part] = _log_sums(u[part], cells.value, cells.weight, h[:, None], leaving[part])
    return sums


def log_sums_of_each(
    u: Float[np.ndarray, " q"], leaving: Float[np.ndarray, " q"], cells: Cells, h: Float[np.ndarray, "g q"]
) -> Float[np.ndarray, "g q"]:
    """log [Σ_k w_k exp(−½ (u − v_k)²/h²) − leaving] where each target u has bandwidths h of its own.

    Parameters
    ----------
    u, leaving : targets in ascending order, and the weight that leaves the cell at each
    cells : values v_k and weights w_k
    h : g bandwidths of each target
    """
    # much work: a compiled loop
    n_exponentials = h.size * len(cells.value)
    if use_compiled_loop(_COST_OF_EXPONENTIAL * n_exponentials):
        from ._compiled_kernels import log_sums_of_each as loop

        lost = rounding(cells.weight)  # 1e-12: a cell of which no more than this share remains counts as none
        sums = np.empty(h.shape)
        loop(u, leaving, cells.value, cells.weight, h, lost, cells.reach, sums)  # fills `sums`
        return sums

    # little work: the formula, one row of bandwidths (q,) at a time, whose result is (1, q)
    rows = [_log_sums(u, cells.value, cells.weight, h_of_targets[None], leaving)[0] for h_of_targets in h]
    return np.stack(rows)


def change_of_other_factors(
    cell: Int[np.ndarray, " e"],
    leaving: Float[np.ndarray, " e"],
    cells: Cells,
    log_a: Float[np.ndarray, "g m"],
    h: Float[np.ndarray, " g"],
) -> Float[np.ndarray, "g e"]:
    """How the log leave-one-out product of a kernel density changes when one cell loses weight, but for its own factor.

    The product has a factor for every cell k: its density under the kernels of all other cells. The density is A_k
    times a constant, and the factor is A_k^w_k for a cell of weight w_k. A_k is the sum of kernels at cell k,

        A_k = Σ_l w_l K_kl − u_k,    K_kl = exp(−½ (v_k − v_l)²/h²),    u_k = min(w_k, 1) one unit of the cell itself.

    If a weight ρ leaves cell i, every A_k becomes A_k − ρ K_ki. So the log product changes by

        Σ_{k≠i} w_k [log(A_k − ρ K_ki) − log A_k].

    It is NaN where a cell is left alone, so that it has no factor any more.

    Parameters
    ----------
    cell, leaving : cells i in ascending order, by their positions, and the positive weights ρ that leave them
    cells : the m values v_k and weights w_k
    log_a : log A_k at each bandwidth; −∞ for a cell that is alone
    h : bandwidths
    """
    # a compiled loop for much work, and the formula for little; both take one bandwidth
    n_exponentials = len(cell) * log_a.size
    is_much_work = use_compiled_loop(_COST_OF_EXPONENTIAL * n_exponentials)
    changes_at_bandwidth = _changes_by_loop if is_much_work else _changes_by_formula

    change = np.empty((len(h), len(cell)))
    for g in range(len(h)):
        change[g] = changes_at_bandwidth(cell, leaving, cells, log_a[g], h[g])
    return change


def _changes_by_loop(
    cell: np.ndarray, leaving: np.ndarray, cells: Cells, log_a: np.ndarray, h: Any
) -> Float[np.ndarray, " e"]:
    """`change_of_other_factors` at one bandwidth h, for log A_k (m,): by a compiled loop in linear time."""
    from . import _compiled_kernels

    value, weight = cells
    change = np.empty(len(cell))
    _compiled_kernels.change_of_other_factors(
        cell,
        leaving,
        value,
        weight,
        np.minimum(weight, 1),  # u_k
        log_a,
        h,
        rounding(weight),  # 1e-12: a cell of which no more than this share remains counts as none
        cells.reach,  # squared distance in bandwidths beyond which kernels are too small to count
        _compiled_kernels.TRANSLATIONS,  # a table by which kernels of near cells are summed together
        change,  # is filled
    )
    return change


def _changes_by_formula(
    cell: np.ndarray, leaving: np.ndarray, cells: Cells, log_a: np.ndarray, h: Any
) -> Float[np.ndarray, " e"]:
    """`change_of_other_factors` at one bandwidth h, for log A_k (m,): by the formula.

    It is computed for some of the cells i at a time, so that its table (e, m) stays small.
    """
    unit = np.minimum(cells.weight, 1)  # u_k, (m,)
    change = np.empty(len(cell))
    step = max(1, _NUMBERS_OF_TABLE // len(cells.value))
    for first in range(0, len(cell), step):
        part = slice(first, first + step)
        change[part] = _changes(cell[part], leaving[part], cells, unit, log_a, h)
    return change


def _changes(
    cell: np.ndarray, leaving: np.ndarray, cells: Cells, unit: np.ndarray, log_a: np.ndarray, h: Any
) -> Float[np.ndarray, " e"]:
    """How a log leave-one-out product changes, but for the factor of cell i, when a weight ρ leaves that cell, (e,).

    The product has the factor A_k^w_k for each cell k, with A_k the sum of the kernels at cell k. The weight ρ takes
    ρ K_ki out of this sum, K_ki = exp(−½ (v_k − v_i)²/h²), which is the share ρ K_ki/A_k of it. So the change is
    Σ_{k≠i} w_k log(1 − share). Where a share is so large that 1 − share loses digits, the sum without the weight is
    made anew. There is one bandwidth.

    Parameters
    ----------
    cell, leaving : (e,) cells i, and the weights ρ that leave them
    cells : the m values and weights w_k
    unit : (m,) weight that leaves each cell in its own sum A_k
    log_a : (m,) log A_k; −∞ for a cell that is alone
    h : bandwidth of the kernels K
    """
    # the share ρ K_ki/A_k of each cell i in the sum at each cell k, (e, m)
    value, weight = cells
    squared = ((value[cell][:, None] - value) / h) ** 2  # squared distances of i and k, in bandwidths
    with np.errstate(over="ignore"):  # where A_k is tiny; such shares are replaced below
        share = leaving[:, None] * np.exp(-0.5 * squared - log_a)
    share[:, np.isneginf(log_a)] = 0  # a cell k that is alone has no factor
    share[np.arange(len(cell)), cell] = 0  # k = i is not in the sum

    # w_k log(1 − share), (e, m)
    change = weight * np.log1p(-np.minimum(share, _LARGEST_SHARE))

    # Large shares, above 0.9: 1 − share would have lost digits. The sum at cell k is made anew, from the cells that
    # remain without i; without any other cell it is 0, and its logarithm −∞.
    for e, k in np.argwhere(share > _LARGEST_SHARE):
        remaining = cells.without(cell[e], leaving[e])
        log_a_without = log_sums(value[[k]], unit[[k]], remaining, np.array([h]))[0, 0]
        is_alone = log_a_without == -np.inf
        change[e, k] = np.nan if is_alone else weight[k] * (log_a_without - log_a[k])
    return change.sum(1)


def _log_sums(u: Array, value: Array, weight: Array, h: Array, leaving: Array) -> Float[Array, "g q"]:
    """log [Σ_k w_k exp(−½ (u − v_k)²/h²) − leaving] by the formula, in one table (g, q, m); −∞ where no cell is left.

    The exponential of the nearest cell is taken out of the sum, so that not all of them underflow to zero:

        log Σ_k w_k exp(−rate z_k²) = log Σ_k w_k exp(−rate (z_k² − z₀²)) − rate z₀²,    rate = ½/h².

    Parameters
    ----------
    u, leaving : (q,) targets, and the weight that leaves the cell at each
    value, weight : (m,) cells v_k and their weights w_k; a weight of 0 is no cell
    h : (g, 1) or (g, q) bandwidths
    """
    xp = namespace(u, value, weight, h, leaving)  # numpy, or jax.numpy for JAX arrays

    # What remains of each cell for each target, (q, m). Of the cells 1 and 4 with the weights 1 and 2, (1, 1) remain
    # for the target 4 with `leaving` 1, and (1, 2) for any other target. What is no more than rounding counts as 0.
    is_at_target = value == u[:, None]
    remaining = weight - leaving[:, None] * is_at_target
    remaining = xp.where(remaining > rounding(remaining) * weight, remaining, 0)
    has_cells = (remaining > 0).any(-1)  # (q,)

    # squared distances z², (q, m); a value of weight 0, with which JAX's arrays are filled up, may be anything, and is
    # taken as 0; infinite distances are made finite
    distance = u[:, None] - xp.where(weight != 0, value, 0)
    squared = xp.minimum(distance**2, xp.finfo(u.dtype).max)

    # z₀² of the nearest cell that remains, (q,); 0 where none does, as the result is then set below
    nearest = xp.where(remaining > 0, squared, xp.inf).min(-1, initial=xp.inf)
    near = xp.where(has_cells, nearest, 0)

    # the sum relative to the nearest cell, and its logarithm
    rate = 0.5 / h**2
    excess = xp.maximum(squared - near[:, None], 0)  # z² − z₀², (q, m)
    kernels = remaining * xp.exp(-rate[..., None] * excess)  # (g, q, m)
    total = xp.where(has_cells, kernels.sum(-1), 1)
    return xp.where(has_cells, xp.log(total) - rate * near, -xp.inf)


# --- densities, on the host and in JAX --------------------------------------------------------------------------------


def log_density(
    u: Float[Array, " q"],
    value: Float[Array, " m"],
    weight: Float[Array, " m"],
    t: Float[Array, " g"],
    w: Float[Array, " q"],
) -> Float[Array, "g q"]:
    """The log kernel density log f(u; eᵗ) in nats, at several points and bandwidths; 0 where no cell is left.

    Parameters
    ----------
    u : where the density is taken
    value, weight : distinct cells in ascending order and their weights; in JAX 0 behind the last cell
    t : logarithms of bandwidths
    w : weights that leave the cells at u; 0 where there is no such cell
    """
    if namespace(u, value, weight, t, w) is not np:  # in JAX one bandwidth after the other, to save memory
        import jax

        return jax.lax.map(lambda t: _traced_density(u, value, weight, t, w), t)

    # the sums of kernels at the points in ascending order, as `log_sums` wants them
    order = np.argsort(u, kind="stable")
    cells = Cells(value.astype(float), weight.astype(float))
    sums_in_order = log_sums(u[order].astype(float), w[order].astype(float), cells, np.exp(t.astype(float)))

    # put back into the order of u: u = (5, 2, 4) has the order (1, 2, 0), and the places 1, 2, 0 receive the sums at
    # 2, 4, 5
    sums = np.empty((len(t), len(u)))
    sums[:, order] = sums_in_order
    mass = cells.total - w  # the weight of all cells in a sum, (q,)
    return density_of_sums(sums, mass, t[:, None]).astype(t.dtype)  # divided by h √(2π) and the mass


def density_of_sums(log_sum: Array, mass: Array, t: Array) -> Float[Array, "g q"]:
    """Log kernel densities from sums of kernels without normalisers: log f = log sum − log mass − log h − ½ log 2π.

    Parameters
    ----------
    log_sum : (g, q) for g bandwidths and q points; −∞ where there is no cell, which has the log density 0
    mass : (q,) the weight of all cells in the sum
    t : (g, 1) or (g, q) log h
    """
    xp = namespace(log_sum, mass, t)  # numpy, or jax.numpy for JAX arrays
    log_mass = xp.log(xp.where(mass > 0, mass, 1))
    return xp.where(xp.isneginf(log_sum), 0, log_sum - log_mass - t - 0.5 * LOG_2PI)


def _traced_density(u: Array, value: Array, weight: Array, t: Array, w: Array) -> Float[Array, " q"]:
    """The log kernel density log f(u; eᵗ) at points (q,) and one bandwidth, in JAX; 0 where no cell is left.

    Parameters
    ----------
    u, w : (q,) points, and the weights that leave the cells there
    value, weight : (m,) cells and their weights; 0 behind the last cell
    t : log h, no axes
    """
    xp = namespace(u, value, weight, t, w)  # jax.numpy
    leaves = w * (value == u[:, None]).any(-1)  # no weight leaves where there is no such cell
    log_sum = _log_sums(u, value, weight, xp.exp(t)[None, None], w)  # (1, q)
    return density_of_sums(log_sum, weight.sum() - leaves, t[None, None])[0]


def by_piece(f: Callable[[int, Any], Any], c: int, d: int, cost: int | None) -> Iterator[tuple[int, Any]]:
    """The pairs (k, f(k, j)) of each class k and feature j, feature after feature within a class.

    With two classes and two features these are (0, f(0, 0)), (0, f(0, 1)), (1, f(1, 0)), (1, f(1, 1)).

    Parameters
    ----------
    f : a function of class and feature; under a JAX trace its results are arrays of one shape
    c, d : number of classes and of features
    cost : exponentials of all calls together, which tell whether threads are worth while; None under a JAX trace,
        where j is traced
    """
    if cost is None:
        yield from _traced_by_piece(f, c, d)
        return

    pieces = [*np.ndindex(c, d)]  # (0, 0), (0, 1), …
    cost_is_worth_threads = cost > _NUMBERS_OF_TABLE * len(pieces)  # 2¹⁸ exponentials a call on average

    # calls that take long: several at once, in threads
    if cost_is_worth_threads:
        results = parallel_map(lambda piece: f(*piece), pieces)
        for (k, _), result in zip(pieces, results, strict=True):
            yield k, result
        return

    # short calls: one after the other. `nested_work` tells f that there are len(pieces) calls: so f starts no threads,
    # and loads a compiled loop if it is worth while for all calls together.
    for k, j in pieces:
        with nested_work(len(pieces)):
            result = f(k, j)
        yield k, result


def _traced_by_piece(f: Callable[[int, Any], Any], c: int, d: int) -> Iterator[tuple[int, Any]]:
    """(k, f(k, j)) of each class k and feature j, in JAX: a loop over the features of a class, which is compiled once.

    `jax.checkpoint` computes a piece anew for its gradient, so that no temporary arrays of all pieces are kept.
    """
    import jax

    for k in range(c):
        of_features = jax.lax.map(jax.checkpoint(partial(f, k)), jax.numpy.arange(d))  # f(k, j) along the first axis
        for result in of_features:
            yield k, result
