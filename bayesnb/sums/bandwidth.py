"""The posterior of the bandwidth of one class and feature on the host, and the averages over it.

    p(t | cells) ∝ exp F(t),    F(t) = −½ (t − log h⁰)² + Σ_k w_k log [(Σ_l w_l K_kl − u_k)/((W − u_k) h √(2π))],

t = log h between two limits, K_kl = exp(−½ (v_k − v_l)²/h²), u_k = min(w_k, 1), W = Σ w; see `families.kernel_density`.
Integrals over t are Gauss–Legendre quadratures over the range that holds the mass of their integrand.

*A row left out.* A row of weight ρ at cell i leaves the density at its cell and every factor of the product:

    F₋ᵢ(t) = F(t) − w_i log A_i + w_i′ log(S_i − ρ − u_i′) + ρ t + Σ_{k≠i} w_k log(1 − ρ K_ki/A_k) + constants,

with S_i = Σ_l w_l K_il, A_k = S_k − u_k, w_i′ = w_i − ρ and u_i′ = min(w_i′, 1). Factors have the normaliser 1/h, and
the product has ρ of them less: + ρ t. The masses W − ρ − u_k do not depend on t. So one pass over the nodes serves all
rows. A row is refitted where this posterior leaves the range of the nodes, or where another cell is left alone.

*A prior without the row.* Where the cells scale the prior, the row may leave its centre c and its limits too. The ratio
of the two priors, (c₋ᵢ − c) (t − ½(c₋ᵢ + c)) and constants, joins F₋ᵢ. A limit that cuts the posterior is another one
for each row. The nodes then end where the range of some row ends, and the piece from there to the limit of each row is
integrated apart: over so short a piece F₋ᵢ is interpolated to all digits.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.polynomial.chebyshev import chebval
from scipy.fft import dct

from ..numerics.arrays import Array
from ..numerics.pytrees import leaves
from ..numerics.special import logsumexp, namespace
from .kernels import Cells, change_of_other_factors, density_of_sums, log_sums, log_sums_of_each
from .rows import rounding
from .rule_of_thumb import BandwidthPriors

DEPTH = 34.0  # nats below its peak where a posterior ends: a mass of about 1e-15
_NODES = 49  # of a range of the posterior
WIDE_NODES = 97  # where the range is so wide that the factors of single cells show
_WIDE_RANGE = 3.0  # of log h
_SEARCH_NODES = 17  # nodes of each search for a range
_ZOOMS = 5  # at most
_RESOLVED_NODES = 5  # nodes within the depth: the range needs no further search
_OPEN_END_DEPTH = 22.0  # nats: an integrand this little below its peak at an open end leaves the range
_OUTER_NODES = 33, 65, 129, 257, 513  # of F beyond the range, for interpolation: the first that are enough
_OUTER_ERROR = 1e-11  # nats
_FEW_CELLS = 4  # below, each row is refitted
_WIDEST_EDGE = 0.1  # of log h, to either side of a limit; rows whose limits move farther are refitted
_EDGE_DEPTH = 75.0  # nats below a limit where the piece at it ends, if not before
_EDGE_NODES = 16  # of an interpolation there
_SAME_LOG_H = 1e-12  # of log h: limits and centres this close are the same


class Rule(NamedTuple):
    """A quadrature over log h.

    Fields
    ------
    t : (g, …)           nodes in ascending order
    log_weight : (g, …)  logarithms of the weights of the quadrature
    low, high : (…)      ends of the range
    """

    t: Any
    log_weight: Any
    low: Any
    high: Any


def search_range(f: Callable[[Array], Array], low: Array, high: Array) -> tuple[Array, Array]:
    """The range of t in which a log density f(t) is less than 34 nats below its peak, for several f at once.

    A grid over the whole range finds the part in which f is that large. A finer grid over this part follows, and so on.

    Parameters
    ----------
    f : nodes (g, …) → log densities (g, …)
    low, high : (…) the range to look in

    Returns
    -------
    Lower and upper ends, (…) each.
    """

    # `_zoomed` gives the ends of the part in which f is large, and how many nodes of its grid lie there
    def smaller_part(ends: tuple[Array, Array]) -> tuple[Array, Array]:
        new_low, new_high, _ = _zoomed(f, *ends)
        return new_low, new_high

    if namespace(low, high) is not np:  # JAX needs a number of steps that does not depend on the values
        return repeated(smaller_part, _ZOOMS, (low, high))
    for zoom in range(_ZOOMS):
        low, high, n_near = _zoomed(f, low, high)
        is_fine_enough = (n_near > _RESOLVED_NODES).all()
        if zoom and is_fine_enough:  # at least two grids
            break
    return low, high


def _zoomed(f: Callable[[Array], Array], low: Array, high: Array) -> tuple[Array, Array, Array]:
    """The part of a range in which a log density f is less than 34 nats below its peak, to the nodes of a coarse grid.

    Parameters
    ----------
    f : nodes (g, …) → log densities (g, …)
    low, high : (…) the range

    Returns
    -------
    Ends of the part, (…) each, and how many nodes of the grid lie in it.
    """
    xp = namespace(low, high)  # numpy, or jax.numpy for JAX arrays
    t = even_nodes(low, high, _SEARCH_NODES)  # (g, …)
    value = f(t)
    is_near = value > value.max(0) - DEPTH  # near the peak

    # The first and the last near node. `argmax` of truth values is the position of the first True; from behind it is
    # the number of nodes after the last one. Of five nodes (F, F, T, T, F) the first is 2; one is after the last, 3.
    first_near = is_near.argmax(0)
    nodes_after_last = is_near[::-1].argmax(0)
    last_near = _SEARCH_NODES - 1 - nodes_after_last

    # the part begins one node before and ends one node after, as f may be large up to there
    first = xp.maximum(first_near - 1, 0)
    last = xp.minimum(last_near + 1, _SEARCH_NODES - 1)
    inner_low = xp.take_along_axis(t, first[None], 0)[0]  # t at node `first` of each f
    inner_high = xp.take_along_axis(t, last[None], 0)[0]
    return inner_low, inner_high, is_near.sum(0)


def repeated(step: Callable[[Any], Any], n: int, state: Any) -> Any:
    """The state after n steps, step(step(… state)); in JAX a loop, so that a step is compiled once.

    Parameters
    ----------
    step : state → next state, of the same structure
    state : a pytree of arrays
    """
    if namespace(*leaves(state)) is np:  # all arrays of the state are NumPy's: a plain loop
        for _ in range(n):
            state = step(state)
        return state

    # JAX hands the loop's body the number of the step too
    import jax

    return jax.lax.fori_loop(0, n, lambda _, before: step(before), state)


def even_nodes(low: Array, high: Array, n: int) -> Array:
    """n equally spaced nodes from low to high, (n, …) for ends (…)."""
    shares = np.linspace(0, 1, n, dtype=low.dtype).reshape(-1, *(1,) * np.ndim(low))  # (n, 1, …)
    return low + (high - low) * shares


def gauss_legendre(low: Array, high: Array, n: int) -> Rule:
    """Gauss–Legendre quadrature of n nodes over ranges (…): nodes and log weights (n, …).

    ∫ g(t) dt over a range is about Σ_k weight_k g(t_k).

    Parameters
    ----------
    low, high : (…) ends of each range
    n : number of nodes
    """
    # nodes and weights on [−1, 1], in the precision of the ends; their shape (n, 1, …) broadcasts against the ends (…)
    xp = namespace(low, high)  # numpy, or jax.numpy for JAX arrays
    place, weight = _legendre(n)  # (n,) each
    column = (-1, *(1,) * np.ndim(low))
    place = place.astype(low.dtype).reshape(column)
    log_weight = np.log(weight).astype(low.dtype).reshape(column)

    # moved to [low, high], whose length is 2 half: weights are multiplied by half
    half = (high - low) / 2
    return Rule(low + half + half * place, log_weight + xp.log(half), low, high)


@cache
def _legendre(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights of Gauss–Legendre quadrature on [−1, 1], which take longer to make than to use."""
    return np.polynomial.legendre.leggauss(n)


@dataclass(frozen=True, eq=False)
class BandwidthPosterior:
    """The posterior of t = log h under the cells of one class and feature; F and all symbols are in the module's head.

    Fields
    ------
    cells : the m cells whose leave-one-out densities are the factors of the product
    centre, low, high : log h⁰, the centre of the prior, and its limits
    has_product : False in a feature that never varies, whose bandwidth keeps its prior
    """

    cells: Cells
    centre: float
    low: float
    high: float
    has_product: bool = True

    @property
    def prior(self) -> "BandwidthPosterior":
        """The same before any cell."""
        return BandwidthPosterior(Cells(np.empty(0), np.empty(0)), self.centre, self.low, self.high, False)

    def log_density(self, t: np.ndarray) -> np.ndarray:
        """F(t), the log posterior density of t = log h up to a constant, at nodes (g,)."""
        if not self.has_product or not len(self.cells.value):
            return -0.5 * (t - self.centre) ** 2  # the prior
        return self._log_density_of_sums(t, self._log_factor_sums(t))

    def _log_density_of_sums(self, t: np.ndarray, log_a: np.ndarray) -> np.ndarray:
        """F(t), the log posterior density of t = log h up to a constant, from the kernel sums of its factors.

        Parameters
        ----------
        t : (g,) nodes
        log_a : (g, m) log A_k, the sum of the kernels of all other cells at cell k, as of `_log_factor_sums`

        Returns
        -------
        (g,)
        """
        # The prior is Normal(log h⁰, 1), with log h⁰ the `centre`. Each cell has the factor (A_k/h)^w_k, whose
        # logarithm is w_k (log A_k − t); one that is alone has none.
        factors = np.where(np.isneginf(log_a), 0, log_a - t[:, None])
        return -0.5 * (t - self.centre) ** 2 + factors @ self.cells.weight

    def _log_factor_sums(self, t: np.ndarray) -> np.ndarray:
        """log A_k, (g, m): kernel sums at the m cells without one unit of the cell itself; −∞ for a cell that is alone.

        They are the sums in the factors of the leave-one-out product, at nodes t = log h, (g,).
        """
        return log_sums(self.cells.value, np.minimum(self.cells.weight, 1), self.cells, np.exp(t))

    @cached_property
    def rule(self) -> Rule:
        """The quadrature over the range of t = log h that holds the mass of this posterior, with nodes (g,)."""

        # `search_range` takes several functions at once; here there is one, along a second axis of length 1
        def log_density(t: np.ndarray) -> np.ndarray:
            return self.log_density(t[:, 0])[:, None]  # (g, 1)

        # between the limits of the prior, where the density is less than 34 nats below its peak
        (low,), (high,) = search_range(log_density, np.array([self.low]), np.array([self.high]))
        return _rule_of_range(low, high, WIDE_NODES if high - low > _WIDE_RANGE else _NODES)

    @property
    def _is_cut_below(self) -> bool:
        """Whether the range ends at the lower limit of the prior, and not where the posterior has no more mass."""
        return bool(self.rule.low <= self.low + 1e-9)

    @property
    def _is_cut_above(self) -> bool:
        """Whether the range ends at the upper limit of the prior, and not where the posterior has no more mass."""
        return bool(self.rule.high >= self.high - 1e-9)

    @cached_property
    def _log_density_at_nodes(self) -> np.ndarray:
        """F at the nodes of the quadrature, (g,)."""
        return self.log_density(self.rule.t)

    @cached_property
    def _log_normalizer(self) -> float:
        """log ∫ exp F(t) dt: the normaliser of the posterior."""
        return float(np.logaddexp.reduce(self._log_density_at_nodes + self.rule.log_weight))

    # --- the average density of new cells -----------------------------------------------------------------------------

    def log_average(
        self, u: np.ndarray, leaving: np.ndarray, cells: Cells, priors: BandwidthPriors | None = None
    ) -> np.ndarray:
        """The log kernel density at points, averaged over the posterior of the bandwidth: log ∫ f(u; eᵗ) p(t) dt.

        t = log h, and f(u; h) is the density at u under kernels of bandwidth h.

        Parameters
        ----------
        u : (q,) where the density is taken, in ascending order
        leaving : (q,) weight of the cell at each u that is left out of the kernels, but not of this posterior
        cells : centres of the kernels, which may be those of all classes
        priors : of each u, if they are not that of this posterior

        Returns
        -------
        (q,) in nats; 0 where no cell is left
        """
        if priors is None:
            return self._log_average(u, leaving, cells)

        # Only points whose prior differs need a posterior of their own. In leave-one-out a row may change the prior,
        # because the cells scale it.
        has_other_prior = self._is_moved(priors)  # (q,)
        same = np.flatnonzero(~has_other_prior)
        other = np.flatnonzero(has_other_prior)
        average = np.empty(len(u))
        if len(same):
            average[same] = self._log_average(u[same], leaving[same], cells)
        if len(other):
            average[other] = self._log_average_of_each(u[other], leaving[other], cells, priors.select(other))
        return average

    def _log_average(self, u: np.ndarray, leaving: np.ndarray, cells: Cells) -> np.ndarray:
        """The log kernel density at points, averaged over this posterior: log ∫ f(u; eᵗ) p(t) dt by quadrature, (q,).

        t = log h is the log bandwidth, p its posterior, and f the kernel density.

        Parameters
        ----------
        u : (q,) where the density is taken, in ascending order
        leaving : (q,) weight of the cell at each u that is left out, in leave-one-out; 0 for a new point
        cells : centres of the kernels
        """
        # the integrand p f at g nodes of t = log h, which cover the range that holds the mass of the posterior p
        t, log_weight, _, _ = self.rule  # nodes and the logarithms of their weights, (g,) each
        log_p = self._log_density_at_nodes[:, None]  # (g, 1), but for the normaliser
        log_f = _log_density(u, leaving, cells, t)  # (g, q)
        log_integrand = log_p + log_f

        # log Σ weight p f, less the normaliser of p
        average = logsumexp(log_integrand + log_weight[:, None], 0) - self._log_normalizer  # (q,)
        if self._is_cut_above:  # the prior ends where the nodes end
            return average

        # Far from all cells the integrand may peak beyond the nodes, because wide kernels reach farther. It is then
        # still large at the last node, less than 22 nats below its peak.
        is_beyond = log_integrand[-1] > log_integrand.max(0) - _OPEN_END_DEPTH
        far = np.flatnonzero(is_beyond)
        if len(far):
            average[far] = self._log_average_beyond(u[far], leaving[far], cells)
        return average

    def _log_average_of_each(
        self, u: np.ndarray, leaving: np.ndarray, cells: Cells, priors: BandwidthPriors
    ) -> np.ndarray:
        """The log kernel density at points, averaged over t = log h, where each point has its own prior of t, (q,).

        The posterior under another prior is this posterior times the ratio of the two priors. So all points share the
        nodes at which functions of t are computed. Points that these nodes do not serve, because their posterior lies
        elsewhere, are done prior by prior.

        Parameters
        ----------
        u : (q,) where the density is taken, in ascending order
        leaving : (q,) weight of the cell at each u that is left out, in leave-one-out; 0 for a new point
        cells : centres of the kernels
        priors : (q,) of each u
        """

        # at nodes t (g,): the log posterior of each point, and the same plus log f, (g, q) each
        def tables(t: np.ndarray) -> _Tables:
            log_ratio = self._change_of_prior(t, priors)  # log of its prior over that of this posterior
            log_posterior = self.log_density(t)[:, None] + log_ratio
            log_f = _log_density(u, leaving, cells, t)
            return _Tables(log_posterior, log_posterior + log_f)

        averages = self._averages_at_nodes(tables, priors)  # of each point, and whether it needs a refit instead
        unserved = np.flatnonzero(averages.needs_refit)

        # These are grouped by equal priors. `np.unique` gives the distinct priors, and for each point the number of its
        # prior among them: the priors a, b, a have the numbers 0, 1, 0.
        fields = np.stack(priors.select(unserved))  # (3, points): centre, low and high
        distinct, number_of_point = np.unique(fields, axis=1, return_inverse=True)  # (3, p) of p distinct priors
        for number, prior in enumerate(distinct.T):
            points = unserved[number_of_point.ravel() == number]
            posterior = self._with_prior(*prior)
            averages.log_average[points] = posterior._log_average(u[points], leaving[points], cells)
        return averages.log_average

    def _log_average_beyond(self, u: np.ndarray, leaving: np.ndarray, cells: Cells) -> np.ndarray:
        """The log kernel density at points far from all cells, averaged over t = log h, (q,).

        Only wide kernels reach there, so bandwidths count that the posterior has hardly any mass for. The integral over
        t has two parts: over the range that holds the mass of the posterior, whose nodes all points share, and from
        there to the upper limit of t, where each point has nodes of its own, around the peak of its integrand.

        Parameters
        ----------
        u : (q,) where the density is taken, in ascending order
        leaving : (q,) weight of the cell at each u that is left out, in leave-one-out; 0 for a new point
        cells : centres of the kernels
        """
        # within the range: log Σ weight p f at nodes (g,); `log_density` is log p, but for its normaliser
        inner = _rule_of_range(self.rule.low, self.rule.high, WIDE_NODES)
        log_p = self.log_density(inner.t)[:, None]  # (g, 1)
        log_f = _log_density(u, leaving, cells, inner.t)  # (g, q)
        log_inner = logsumexp(log_p + log_f + inner.log_weight[:, None], 0)  # (q,)

        # above it: log (p f) at nodes t (g, q); the kernels are summed, and divided by h √(2π) and the mass
        mass = cells.total_without(u, leaving)  # (q,), the weight of all cells but what leaves

        def log_integrand(t: np.ndarray) -> np.ndarray:
            sums = log_sums_of_each(u, leaving, cells, np.exp(t))
            return self._log_density_above(t) + density_of_sums(sums, mass, t)

        # the part of the range above in which the integrand of each point has its mass, and the integral over it
        begin = np.full(len(u), self.rule.high)
        end = np.full(len(u), self.high)
        low, high = search_range(log_integrand, begin, end)  # (q,) each
        outer = gauss_legendre(low, high, WIDE_NODES)
        log_outer = logsumexp(log_integrand(outer.t) + outer.log_weight, 0)  # (q,)
        return np.logaddexp(log_inner, log_outer) - self._log_normalizer  # log (inner + outer)/normaliser

    @cached_property
    def _log_density_above(self) -> Callable[[np.ndarray], np.ndarray]:
        """A quick function of t: the log posterior density of t = log h above the range of the posterior.

        The exact one, `log_density`, costs sums over all cells for each t. So it is computed at some nodes, and
        interpolated between them by a sum of Chebyshev polynomials, Σ_q f_q T_q. The coefficients f_q of a smooth
        function decrease quickly, so the last ones show the error: the number of nodes is doubled until they are small.
        """
        # t goes from the upper end of the posterior's range to the upper limit of the prior; its place is on [−1, 1]
        half = (self.high - self.rule.high) / 2
        middle = self.rule.high + half

        for n in _OUTER_NODES:  # 33, 65, … 513
            place = _chebyshev_nodes(n)
            values = self.log_density(middle + half * place)
            coefficients = _chebyshev_coefficients(values)

            # 1e-11 nats are allowed; for values beyond 1e11 nats, which have fewer digits, 1e-22 of the largest
            tolerance = _OUTER_ERROR * max(1.0, abs(values).max() * _OUTER_ERROR)
            if abs(coefficients[-4:]).max() < tolerance:
                break

        def interpolated(t: np.ndarray) -> np.ndarray:
            return chebval((t - middle) / half, coefficients)

        return interpolated

    # --- priors of single rows ----------------------------------------------------------------------------------------

    @property
    def _prior_of_all_rows(self) -> BandwidthPriors:
        """The prior of this posterior, as arrays (1,)."""
        return BandwidthPriors(*np.array([[self.centre], [self.low], [self.high]]))

    def _with_prior(self, centre: float, low: float, high: float) -> "BandwidthPosterior":
        """The posterior under another prior."""
        return replace(self, centre=float(centre), low=float(low), high=float(high))

    def _is_moved(self, priors: BandwidthPriors) -> np.ndarray:
        """(q,) Whether a prior differs from that of this posterior."""
        # of centre, lower and upper limit of log h, (q,) each; less than 1e-12 is rounding
        differences = [abs(field - own) for field, own in zip(priors, self._prior_of_all_rows, strict=True)]
        return np.max(differences, axis=0) > _SAME_LOG_H

    def _change_of_prior(self, t: np.ndarray, priors: BandwidthPriors) -> np.ndarray:
        """log of other priors over that of this posterior at nodes t (g,), up to constants: (g, q) for q priors.

        Both are normal densities of t with standard deviation 1 and centres c′ and c. The logarithm of their ratio is
        ½ (t − c)² − ½ (t − c′)² = (c′ − c) (t − ½ (c′ + c)), linear in t.
        """
        return (priors.centre - self.centre) * (t[:, None] - (priors.centre + self.centre) / 2)

    def _averages_at_nodes(self, tables: Callable[[np.ndarray], "_Tables"], priors: BandwidthPriors) -> "_Averages":
        """Log densities of rows, each averaged over its own posterior of the bandwidth, and which rows need a refit.

        The average of a row is ∫ f p dt / ∫ p dt over t = log h, with its posterior p and the kernel density f at its
        cell. Rows may have different limits of t. So both integrals are sums of up to three parts:

            t:    limit of the row    lower edge    shared nodes    upper edge    limit of the row

        The shared nodes are within the limits of all rows, and an edge goes from there to the row's own limit.

        Parameters
        ----------
        tables : nodes t (g,) → log p, but for its normaliser, and log (f p) of each row there, (g, q) each
        priors : (q,) of each row, whose limits are those of its integral
        """
        # the part that all rows share: a sum over its nodes
        edges = self._edges(priors)
        rule = self._rule_between(edges)
        shared = tables(rule.t)  # two tables (g, q)
        log_parts_of_p = [logsumexp(shared.log_posterior + rule.log_weight[:, None], 0)]  # log ∫ p, (q,)
        log_parts_of_fp = [logsumexp(shared.integrand + rule.log_weight[:, None], 0)]  # log ∫ f p, (q,)

        # the edges; one is empty if no row has a limit beyond the shared nodes
        for edge in edges:
            if not edge.is_empty:
                at_edge = tables(edge.nodes)
                log_parts_of_p.append(edge.log_integral(at_edge.log_posterior))
                log_parts_of_fp.append(edge.log_integral(at_edge.integrand))

        # log of ∫ f p over ∫ p
        log_average = np.logaddexp.reduce(log_parts_of_fp) - np.logaddexp.reduce(log_parts_of_p)

        # A row needs a refit where an edge does not reach its limit, or where p or f p is still large at the first or
        # last node, less than 22 nats below its peak, and no limit cuts it off there.
        needs_refit = ~np.isfinite(log_average) | edges.lower.needs_refit | edges.upper.needs_refit
        for log_table in shared:  # log p, then log (f p)
            bound = log_table.max(0) - _OPEN_END_DEPTH
            if not self._is_cut_below:
                needs_refit |= log_table[0] > bound
            if not self._is_cut_above:
                needs_refit |= log_table[-1] > bound
        return _Averages(log_average, needs_refit)

    def _edges(self, priors: BandwidthPriors) -> "_Edges":
        """The parts of the range of t = log h that each row integrates on its own, below and above the shared nodes.

        Without a row the prior of t has slightly other limits. So each row has a range of its own:

            t:    own limits of the rows    shared nodes of all rows    own limits of the rows
                  lower edge                                            upper edge

        An edge is needed only where a limit cuts the posterior. Where the posterior has no mass at the limits, the edge
        is empty: the integral of every row ends with the shared nodes.

        Parameters
        ----------
        priors : (q,) of each row, with its limits
        """
        slope_at_start, slope_at_end = self._slopes_at_ends()
        start = self.rule.low  # the range that holds the mass of the posterior with all rows
        end = self.rule.high

        # With a slope s the posterior is 75 nats lower at the distance 75/s, and has no more mass there. A row whose
        # limit lies inside of an end without an edge needs a refit, because its integral should end earlier.
        if self._is_cut_below:
            lower = _Edge.at_lower(priors.low, self.low, depth=_EDGE_DEPTH / np.maximum(slope_at_start, 1))
        else:
            lower = _Edge.empty(start, needs_refit=priors.low > start)
        if self._is_cut_above:
            upper = _Edge.at_upper(priors.high, self.high, depth=_EDGE_DEPTH / np.maximum(slope_at_end, 1))
        else:
            upper = _Edge.empty(end, needs_refit=priors.high < end)
        return _Edges(lower, upper)

    def _slopes_at_ends(self) -> tuple[float, float]:
        """How steeply the log posterior density of t rises or falls at both ends of its range, in nats per unit of t.

        They are the absolute differences between the first two nodes, and between the last two.
        """
        slopes = abs(np.diff(self._log_density_at_nodes) / np.diff(self.rule.t))
        return slopes[0], slopes[-1]

    def _rule_between(self, edges: "_Edges") -> Rule:
        """Nodes of t = log h, with weights, that all rows share: from the lower to the upper edge.

        Usually the edges are at the ends of the range of this posterior, and the nodes are those of the posterior. An
        edge lies inside of the range where a limit of some row does. Suppose that the lower one is at −2.9, and the
        range is −3 … −1. The limits of a prior move together with its centre, so the posteriors of such rows may be
        shifted upwards too, by 0.1. So the nodes go up to −0.9, unless the prior ends before.
        """
        low = edges.lower.inner  # where the shared nodes begin, and where they end
        high = edges.upper.inner
        if low == self.rule.low and high == self.rule.high:
            return self.rule

        if not self._is_cut_above:
            moved_up = low - self.rule.low  # how far the lower end has moved inside
            high = min(high + moved_up, self.high)
        if not self._is_cut_below:
            moved_down = self.rule.high - high  # and the upper end
            low = max(low - moved_down, self.low)
        n_nodes = WIDE_NODES if high - low > _WIDE_RANGE else _NODES
        return _rule_of_range(low, high, n_nodes)

    # --- leave-one-out ------------------------------------------------------------------------------------------------

    def log_loo(self, cell: np.ndarray, leaving: np.ndarray, priors: BandwidthPriors | None = None) -> np.ndarray:
        """The log density of each row under all other rows, averaged over the bandwidth, (e,): leave-one-out.

        For a row at the value v it is log ∫ f(v; eᵗ) p(t) dt over t = log h, with f the kernel density and p the
        posterior of t. The row is in neither of them, so p is another function for each row. All of them are computed
        at common nodes t, in one pass, which serves nearly all rows. The others have a posterior fitted anew, one by
        one.

        Parameters
        ----------
        cell : (e,) positions of the cells of the rows, in ascending order
        leaving : (e,) positive weights of the rows, at most those of the cells
        priors : (e,) without each row, if the row leaves the prior too
        """
        if not self.has_product:  # the posterior is the prior, so a row leaves only the kernels
            return self.log_average(self.cells.value[cell], leaving, self.cells, priors)
        if priors is None:
            priors = self._prior_of_all_rows.select(np.zeros(len(cell), int))  # the same for each row

        # common nodes, if enough cells and weight remain without any row
        has_few_cells = len(self.cells.value) < _FEW_CELLS
        has_little_weight = self.cells.total - 2 * max(leaving.max(), 1) <= 0
        if has_few_cells or has_little_weight:  # no row is done, and all need a refit
            averages = _Averages(log_average=np.zeros(len(cell)), needs_refit=np.ones(len(cell), bool))
        else:
            averages = self._log_loo_at_nodes(cell, leaving, priors)

        # the rows that the nodes did not serve
        for e in np.flatnonzero(averages.needs_refit):
            averages.log_average[e] = self._log_loo_by_refit(int(cell[e]), leaving[e], priors.select(e))
        return averages.log_average

    def _log_loo_at_nodes(self, cell: np.ndarray, leaving: np.ndarray, priors: BandwidthPriors) -> "_Averages":
        """Leave-one-out log densities of rows, averaged over the bandwidth at common nodes of t = log h.

        The log posterior of t without a row is that with it, plus what the departure of the row changes.

        Parameters
        ----------
        cell, leaving : (e,) positions of the cells of the rows, in ascending order, and the weights of the rows
        priors : (e,) without each row
        """

        # at nodes t (g,): the log posterior of each row without it, and the same plus its log density, (g, e) each
        def tables(t: np.ndarray) -> _Tables:
            log_a = self._log_factor_sums(t)  # (g, m) log of the kernel sums from which the posterior is made
            with_row = self._log_density_of_sums(t, log_a)[:, None]  # the log posterior with all rows, (g, 1)

            # what changes without each row: its prior, if the row scales it, and the product of leave-one-out densities
            log_posterior = with_row + self._change_of_prior(t, priors)  # (g, e)
            log_posterior += self._change_of_posterior(t, log_a, cell, leaving)

            log_density = self._log_density_without(t, log_a, cell, leaving)  # of the row at its cell
            return _Tables(log_posterior, log_posterior + log_density)

        with np.errstate(invalid="ignore"):  # NaN where another cell is left alone: the row is refitted
            return self._averages_at_nodes(tables, priors)

    def _change_of_posterior(
        self, t: np.ndarray, log_a: np.ndarray, cell: np.ndarray, leaving: np.ndarray
    ) -> np.ndarray:
        """How the log posterior density of t = log h changes without each row, (g, e), up to constants.

        The log posterior is the log prior plus Σ_k w_k log (A_k/h): the product of the densities of all cells k, of
        weights w_k, each under the kernels of all other cells, whose sum is A_k. Without a row of weight ρ at cell i

        1. its kernel is missing in the sums of all other cells;
        2. its own factor is missing, and ρ of the normalisers 1/h with it: −log h = −t becomes + ρ t;
        3. copies of the row, equal rows that stay at its cell, have a factor in which the row is missing.

        Parameters
        ----------
        t : (g,) nodes
        log_a : (g, m) log A_k, A_k the kernel sums in the factors of the m cells; −∞ for a cell that is alone
        cell, leaving : (e,) positions of the cells of the rows, in ascending order, and the weights ρ of the rows
        """
        # 1. all other cells: `change_of_other_factors` gives Σ_k w_k log(1 − ρ K_ki/A_k), K_ki the kernel of the row
        h = np.exp(t)
        change = change_of_other_factors(cell, leaving, self.cells, log_a, h)  # (g, e)

        # 2. less the factor of the row's own cell, w_i log A_i, which a cell that is alone has not; and + ρ t
        weight = self.cells.weight[cell]  # w_i, (e,)
        log_a_of_row = log_a[:, cell]  # (g, e)
        own_factor = np.where(np.isneginf(log_a_of_row), 0, weight * log_a_of_row)
        change += leaving * t[:, None] - own_factor

        # 3. Copies of the weight w′ = w_i − ρ have the factor w′ log A′. The kernel sum A′ is without the row and
        # without one unit of the copies themselves: the weight ρ + min(w′, 1) leaves it.
        remaining = weight - leaving
        remaining = np.where(remaining > rounding(weight) * weight, remaining, 0)  # less is rounding
        has_copies = np.flatnonzero(remaining > 0)  # rows
        if len(has_copies):
            weight_of_copies = remaining[has_copies]
            leaving_sum = leaving[has_copies] + np.minimum(weight_of_copies, 1)
            log_sum = log_sums(self.cells.value[cell[has_copies]], leaving_sum, self.cells, h)
            change[:, has_copies] += weight_of_copies * log_sum
        return change

    def _log_density_without(
        self, t: np.ndarray, log_a: np.ndarray, cell: np.ndarray, leaving: np.ndarray
    ) -> np.ndarray:
        """The log kernel density of each row at its cell without the kernels of the row, at nodes t = log h: (g, e).

        Parameters
        ----------
        t : (g,)
        log_a : (g, m) logarithms of the kernel sums at the m cells without min(w_k, 1) of their own weight
        cell, leaving : (e,) positions of the cells of the rows, and the weights of the rows
        """
        # If every row is just what those sums leave out, they need not be computed again. `density_of_sums` divides
        # them by the mass of the remaining cells and by h √(2π).
        if (leaving == np.minimum(self.cells.weight[cell], 1)).all():
            mass = self.cells.total_without(self.cells.value[cell], leaving)  # (e,)
            return density_of_sums(log_a[:, cell], mass, t[:, None])
        return _log_density(self.cells.value[cell], leaving, self.cells, t)

    def _log_loo_by_refit(self, cell: int, leaving: float, prior: BandwidthPriors) -> float:
        """The leave-one-out log density of one row at its cell, under a posterior of the bandwidth without the row.

        Parameters
        ----------
        cell, leaving : position of the cell of the row, and the weight of the row
        prior : of log h without the row, arrays of no axes
        """
        remaining = self.cells.without(cell, leaving)  # the cells, of which one has less weight or is no more

        # a posterior of these cells alone; without any cell it is the prior. Nothing leaves it any more: the weight 0
        posterior = BandwidthPosterior(
            remaining, float(prior.centre), float(prior.low), float(prior.high), len(remaining.value) > 0
        )
        return float(posterior.log_average(self.cells.value[cell, None], np.zeros(1), remaining)[0])


# --- rows with posteriors of their own --------------------------------------------------------------------------------


class _Tables(NamedTuple):
    """Logarithms at nodes of log h, up to constants of the row.

    Fields
    ------
    log_posterior : (g, q) the posterior of each row, F₋ᵢ
    integrand : (g, q) the same and log f of the row
    """

    log_posterior: np.ndarray
    integrand: np.ndarray


class _Averages(NamedTuple):
    """Densities of rows, and where they are still to be made.

    Fields
    ------
    log_average : (q,) log density of each row, averaged over its posterior
    needs_refit : (q,) whether the nodes do not serve this row
    """

    log_average: np.ndarray
    needs_refit: np.ndarray


@dataclass(frozen=True)
class _Edge:
    """A part of the range of t = log h: between the nodes that all rows share and the limit of each row.

    At lower limits it lies to the left of the shared nodes, at upper limits to the right:

        t:   outermost    limits of rows    inner | shared nodes | inner    limits of rows    outermost

    Each row is integrated from its own limit to `inner`.

    Fields
    ------
    inner : where the shared nodes end
    limit : (q,) the limit of each row, not farther inside than `inner`
    needs_refit : (q,) whether the limit of a row is elsewhere, so that this edge does not serve the row
    depth : of log h: how far from a limit there is mass
    """

    inner: float
    limit: np.ndarray
    needs_refit: np.ndarray
    depth: float = np.inf

    @classmethod
    def empty(cls, end: float, needs_refit: np.ndarray) -> Self:
        """No edge: the integral of every row ends with the shared nodes, at `end`.

        Parameters
        ----------
        needs_refit : (q,) whether that is wrong for a row
        """
        return cls(end, np.full(len(needs_refit), end), needs_refit)

    @classmethod
    def at_lower(cls, limit: np.ndarray, centre: float, depth: float) -> Self:
        """The piece that holds the lower limits of the rows within reach of a centre; `inner` is the largest of them.

        Parameters
        ----------
        limit : (q,) the lower limit of each row
        centre : the limit of the posterior with all rows
        depth : how far from a limit there is mass
        """
        # limits farther from the centre than 0.1 are moved to there, and their rows need a refit
        near = np.clip(limit, centre - _WIDEST_EDGE, centre + _WIDEST_EDGE)
        return cls(float(near.max()), near, near != limit, depth)

    @classmethod
    def at_upper(cls, limit: np.ndarray, centre: float, depth: float) -> Self:
        """The piece that holds the upper limits of the rows within reach of a centre; `inner` is the smallest of them.

        Parameters
        ----------
        limit : (q,) the upper limit of each row
        centre : the limit of the posterior with all rows
        depth : how far from a limit there is mass
        """
        # limits farther from the centre than 0.1 are moved to there, and their rows need a refit
        near = np.clip(limit, centre - _WIDEST_EDGE, centre + _WIDEST_EDGE)
        return cls(float(near.min()), near, near != limit, depth)

    @property
    def is_empty(self) -> bool:
        """Whether all rows have the same limit."""
        return bool((self.limit == self.inner).all())

    @cached_property
    def _outermost(self) -> float:
        """The limit that is farthest from the shared nodes: the smallest lower or the largest upper one."""
        return float(self.limit[abs(self.limit - self.inner).argmax()])

    @property
    def nodes(self) -> np.ndarray:
        """(k,) Chebyshev's nodes between the outermost limit, place −1, and the shared nodes, place 1."""
        middle = (self._outermost + self.inner) / 2
        return middle + (self.inner - middle) * _chebyshev_nodes(_EDGE_NODES)

    def log_integral(self, log_values: np.ndarray) -> np.ndarray:
        """log of the integral of each row's integrand over t, from the limit of the row to the shared nodes, (q,).

        The rows share nodes up to `inner`; beyond, each row has a limit of its own. At the lower end of t, for example:

            t:    outermost limit    …    limit of the row    …    inner | shared nodes

        1. The logarithm of the integrand is known at 16 nodes from the outermost limit to `inner`. Between them it is
           interpolated by a sum of Chebyshev polynomials.
        2. Each row is integrated from its own limit to `inner`, by Gauss–Legendre quadrature of interpolated values.

        Parameters
        ----------
        log_values : (k, q) logarithms of the integrands at `nodes`
        """
        coefficients = _chebyshev_coefficients(log_values)  # (k, q)

        # The range of each row, (q,): from its limit towards `inner`, but only as far as there is mass, `depth`. The
        # distance is positive at lower limits, which are left of `inner`, and negative at upper ones.
        distance = np.clip(self.inner - self.limit, -self.depth, self.depth)
        end = self.limit + distance
        left = np.minimum(self.limit, end)
        right = np.maximum(self.limit, end)
        with np.errstate(divide="ignore"):  # a row whose limit is at `inner` has the integral 0
            rule = gauss_legendre(left, right, _NODES)  # nodes and log weights, (g, q) each

        # interpolated values at the nodes of each row; the place of t is −1 at the outermost limit and 1 at `inner`
        middle = (self._outermost + self.inner) / 2
        place = (rule.t - middle) / (self.inner - middle)
        log_integrand = chebval(place, coefficients, tensor=False)  # (g, q)
        return logsumexp(log_integrand + rule.log_weight, 0)


class _Edges(NamedTuple):
    """Both ends of a range.

    Fields
    ------
    lower, upper : the pieces at the lower and at the upper limits
    """

    lower: _Edge
    upper: _Edge


@dataclass(frozen=True, eq=False)
class KnownBandwidth:
    """A bandwidth that is given, with the averages of `BandwidthPosterior`: there is nothing to average."""

    cells: Cells
    log_h: float

    @property
    def prior(self) -> "KnownBandwidth":
        """The same before any cell."""
        return self

    def log_average(
        self, u: np.ndarray, leaving: np.ndarray, cells: Cells, priors: BandwidthPriors | None = None
    ) -> np.ndarray:
        """The log kernel density log f(u; h) at points, (q,) in nats; 0 where no cell is left.

        Parameters
        ----------
        u : (q,) where the density is taken, in ascending order
        leaving : (q,) weight of the cell at each u that is left out, in leave-one-out; 0 for a new point
        cells : centres of the kernels
        priors : of each u, whose centres are the known log h, if they are not that of this class and feature
        """
        if priors is None:  # the same bandwidth at all points
            return _log_density(u, leaving, cells, np.array([self.log_h]))[0]
        t = priors.centre[None]  # (1, q): one bandwidth of each point
        sums = log_sums_of_each(u, leaving, cells, np.exp(t))  # of kernels without their normaliser, (1, q)
        return density_of_sums(sums, cells.total_without(u, leaving), t)[0]

    def log_loo(self, cell: np.ndarray, leaving: np.ndarray, priors: BandwidthPriors | None = None) -> np.ndarray:
        """log density of rows at their cells without the kernels of the row, (e,).

        Parameters
        ----------
        cell, leaving : (e,) positions of the cells of the rows, in ascending order, and the weights of the rows
        priors : (e,) without each row, whose centres are the known log h, if the row changes it
        """
        return self.log_average(self.cells.value[cell], leaving, self.cells, priors)


def _chebyshev_nodes(n: int) -> np.ndarray:
    """The n Chebyshev nodes on [−1, 1], cos(π (i + ½)/n), at which `_chebyshev_coefficients` needs the values, (n,)."""
    return np.cos(np.pi * (np.arange(n) + 0.5) / n)


def _chebyshev_coefficients(values: np.ndarray) -> np.ndarray:
    """Coefficients f_q of the polynomial Σ_q f_q T_q that has given values at Chebyshev's nodes, as `chebval` takes it.

    They are f_q = (2/n) Σ_i cos(π q (i + ½)/n) value_i, and half of that for q = 0. SciPy's cosine transform is twice
    the sum.

    Parameters
    ----------
    values : (n, …) at the n nodes; further axes are further functions
    """
    coefficients = dct(values, type=2, axis=0) / len(values)
    coefficients[0] /= 2
    return coefficients


def _rule_of_range(low: float, high: float, n: int) -> Rule:
    """Gauss–Legendre quadrature of n nodes over a single range: nodes and log weights (n,)."""
    rule = gauss_legendre(np.array([low]), np.array([high]), n)
    return Rule(rule.t[:, 0], rule.log_weight[:, 0], low, high)


def _log_density(u: np.ndarray, leaving: np.ndarray, cells: Cells, t: np.ndarray) -> np.ndarray:
    """The log kernel density log f(u; eᵗ) in nats, (g, q) of bandwidths (g,) and points (q,); 0 where no cell is left.

    Parameters
    ----------
    u, leaving : (q,) where the density is taken, and the weight of the cell there that is left out
    cells : centres of the kernels
    t : (g,) logarithms of bandwidths
    """
    mass = cells.total_without(u, leaving)  # (q,)
    return density_of_sums(log_sums(u, leaving, cells, np.exp(t)), mass, t[:, None])
