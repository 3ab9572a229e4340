"""Sums over kernels: the leave-one-out product of a bandwidth, densities, and quadrature over one variable.

The numbers behind `families.kernel_density`. All sums are exact; exponentials are taken relative to the nearest kernel,
so that none of them underflows to zero. On the host tables are made in blocks of bounded size, in JAX by loops over the
cells.
"""

import functools
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..core.arrays import Array, Float, Value
from ..core.special import LOG_2PI, namespace, square

SEARCH = 17  # nodes of each of the two searches for the range of a posterior
NODES = 33  # nodes of the grid itself
MESH = 32  # steps from one node to the next, for distribution functions
DEPTH = 20.0  # nats below its peak where a posterior ends: a mass of 2e-9
NEWTON = 10  # steps from the best node to the mode; five or six reach rounding
_CELLS = 1 << 18  # numbers of a temporary table on the host: 2 MiB, about a core's cache


# --- the leave-one-out product --------------------------------------------------------------------------------------


def _others(value: Array, weight: Array, scale: Array, at: Any) -> tuple[Array, ...]:
    """What is left for the cells `at` (b,) of each piece when one unit of their own weight is out.

    Returns
    -------
    near : (p, b)     squared distance to the nearest other cell, in units of scale²; 0 where some own weight is left
    rest : (p, b, m)  squared distances beyond that; of the cell itself, and of places without a cell, out of reach
    spare : (p, b)    own weight that is left
    mass : (p, b)     all weight that is left
    """
    xp = namespace(value, weight, at)
    far = 1e70 if value.dtype == np.float64 else 1e7  # the square of its square has to be a number, too
    v = xp.where(weight != 0, value, 0)
    distance = xp.clip((v[:, at, None] - v[:, None, :]) / scale[:, None, None], -far, far)
    other = (at[:, None] != np.arange(v.shape[-1])) & (weight != 0)[:, None, :]
    squared = xp.where(other, distance * distance, far * far)
    spare = xp.maximum(weight[:, at] - 1, 0)
    mass = weight.sum(-1, keepdims=True) - xp.minimum(weight[:, at], 1)
    near = xp.where(spare > 0, 0, squared.min(-1))
    return near, xp.where(other, squared - near[..., None], far * far), spare, mass


def _decay(rest: Array, factor: Value, scratch: Array | None = None) -> Array:
    """exp(factor · rest), on the host in memory that is there."""
    if scratch is None:
        return namespace(rest, factor).exp(factor * rest)
    return np.exp(np.multiply(rest, factor, out=scratch), out=scratch)


def _terms(
    own: Array,
    weight: Array,
    others: tuple[Array, ...],
    rate: Array,
    order: int = 0,
    scratch: Array | None = None,
) -> tuple[Array, ...]:
    """Σ over b of w_i log f_−i without −log h − ½ log 2π, derivatives with respect to log h, and Σ w_i.

    The nearest cell's exponential is taken out, so that no sum is zero. With a = squared distance / h² and averages
    over the kernels, the derivatives of log Σ_k w_k exp(−½ a_k) are ⟨a⟩ and var(a) − 2⟨a⟩.

    Parameters
    ----------
    own, weight : (p, b) and (p, m), the weights w_i and w_k
    rate : (p,) scale²/h²
    order : of derivatives that are wanted too, 0 … 2
    """
    near, rest, spare, mass = others
    xp = namespace(own, rest, rate)
    rate = rate[:, None, None]
    kernels = _decay(rest, -0.5 * rate, scratch)
    if xp is np and order == 0:
        total = spare + (kernels @ weight[..., None])[..., 0]
    else:  # in JAX sums fuse with the exponentials, products do not
        kernels = kernels * weight[:, None, :]
        total = spare + kernels.sum(-1)
    told = mass > 0  # a cell that is alone: nothing foretells it
    own, mass, total = xp.where(told, own, 0), xp.where(told, mass, 1), xp.where(told, total, 1)
    value = (own * (xp.log(total) - xp.log(mass) - 0.5 * rate[..., 0] * near)).sum(-1)
    if order == 0:
        return value, own.sum(-1)
    a = rate * (rest + near[..., None])
    first = (kernels * a).sum(-1) / total
    if order == 1:
        return value, (own * first).sum(-1), own.sum(-1)
    second = (kernels * a * a).sum(-1) / total - first * first
    return value, (own * first).sum(-1), (own * (second - 2 * first)).sum(-1), own.sum(-1)


def _finish(t: Array, log_scale: Array, value: Array, *rest: Array) -> tuple[Array, ...]:
    """The factors 1/(h √2π) of every term, and their slope −1."""
    *slopes, own = rest
    value = value - own * (t + 0.5 * LOG_2PI)
    return (value, slopes[0] - own, *slopes[1:]) if slopes else (value,)


def products(
    value: Array, weight: Array, log_scale: Array, t: Array, order: int = 0
) -> tuple[Float[np.ndarray, "g p"], ...]:
    """Σ_i w_i log f_−i(v_i; eᵗ) of p classes and features at g bandwidths each, and its derivatives, on the host.

    Parameters
    ----------
    value, weight : (p, m) cells; weight 0 where there is none
    log_scale : (p,) a length to measure distances in
    t : (g, p) logarithms of bandwidths
    """
    found = np.zeros((2 + order, *t.shape), t.dtype)
    counts = (weight != 0).sum(-1)
    with np.errstate(over="ignore"):  # far cells: held at a distance that is a number
        for pieces in _packs(counts):
            m = counts[pieces].max()
            v, w, scale = value[pieces, :m], weight[pieces, :m], np.exp(log_scale[pieces])
            rates = np.exp(2 * (log_scale[pieces] - t[:, pieces]))
            step = max(1, _CELLS // (len(pieces) * m))
            for begin in range(0, m, step):
                at = np.arange(begin, min(begin + step, m))
                others = _others(v, w, scale, at)
                scratch = np.empty((len(pieces), len(at), m), v.dtype)
                for g, rate in enumerate(rates):
                    found[:, g, pieces] += _terms(w[:, at], w, others, rate, order, scratch)
    return _finish(t, log_scale, *found)


def _packs(counts: np.ndarray) -> Iterator[np.ndarray]:
    """Pieces with cells, few cells first, in packs whose tables of pairs stay small."""
    order = np.argsort(counts, kind="stable")
    order = order[counts[order] > 0]
    while len(order):
        fits = np.arange(1, len(order) + 1) * counts[order] ** 2 <= _CELLS
        size = max(1, int(fits.argmin()) if not fits.all() else len(order))
        yield order[:size]
        order = order[size:]


def traced_products(value: Array, weight: Array, log_scale: Array, t: Array, order: int = 0) -> tuple[Array, ...]:
    """`products` in JAX: a loop over the cells."""
    value, weight, log_scale, t = (jnp.asarray(a) for a in (value, weight, log_scale, t))
    rates = jnp.exp(2 * (log_scale - t))

    def add(total: tuple[Array, ...], i: Array) -> tuple[tuple[Array, ...], None]:
        others = _others(value, weight, jnp.exp(log_scale), i[None])
        terms = jax.vmap(lambda rate: _terms(weight[:, i[None]], weight, others, rate, order))(rates)
        return jax.tree.map(jnp.add, total, terms), None

    zero = tuple(jnp.zeros_like(rates) for _ in range(2 + order))
    found = jax.lax.scan(add, zero, jnp.arange(value.shape[-1]))[0] if value.shape[-1] else zero
    return _finish(t, log_scale, *found)


def products_without(
    value: np.ndarray, weight: np.ndarray, log_scale: Value, t: np.ndarray, at: np.ndarray, w: np.ndarray
) -> Float[np.ndarray, "g q"]:
    """Σ_i w_i log f_−i(v_i; eᵗ) of one class and feature after q cells have left, each by itself, on the host.

    With T_i the kernels around cell i, cell a of weight w takes w K_ia from it: log T_i + log(1 − w K_ia/T_i).
    Where that is more than half of T_i, the other kernels are added up without it, so that no digits are lost.

    Parameters
    ----------
    value, weight : (m,) cells, all of positive weight
    t : (g,) logarithms of bandwidths
    at, w : (q,) the cell that a weight is taken from, and that weight
    """
    m, total = len(value), weight.sum()
    far, tiny = 1e70, 1e-12  # as in `_others`; the share of a weight that is rounding
    left = cells_left(weight, at, w)
    spare, mass = np.maximum(weight - 1, 0), total - np.minimum(weight, 1)
    product, own, level = np.zeros((len(t), len(at))), np.zeros(len(at)), np.zeros(len(at))
    around = np.full((len(t), m), -np.inf)  # log of the kernels of all other cells around each
    scale = np.exp(log_scale)
    step = max(1, min(_CELLS // max(m, len(at)), 1000))  # the product of 1,000 factors of ½ is a number
    everyone = np.array_equal(at, np.arange(m))
    with np.errstate(over="ignore", divide="ignore"):
        for begin in range(0, m if m > 1 else 0, step):
            here = np.arange(begin, min(begin + step, m))
            itself = np.arange(len(here)), here
            beyond = square(np.clip((value[here, None] - value) / scale, -far, far))
            beyond[itself] = far * far
            near = beyond.min(1)
            beyond -= near[:, None]
            rest = mass[here, None] - w
            counted = np.where((rest > tiny * total) & (here[:, None] != at), weight[here, None], 0)
            own += counted.sum(0)
            level += (counted * np.log(np.where(counted > 0, rest, 1))).sum(0)
            unit = weight[begin]
            uniform = bool(((counted == unit) | (here[:, None] == at)).all())
            kernels = np.empty_like(beyond)
            for g, rate in enumerate(np.exp(2 * (log_scale - t))):
                _decay(beyond, -0.5 * rate, kernels)
                kernels[itself] = 0
                log_near = -0.5 * rate * near
                around[g, here] = np.log(kernels @ weight) + log_near
                log_t = np.logaddexp(np.log(spare[here]), around[g, here])
                share = kernels * np.exp(log_near - log_t)[:, None]
                lost = share if everyone else share[:, at]
                lost *= w
                i, q = np.nonzero(lost > 0.5) if lost.max(initial=0) > 0.5 else (here[:0], here[:0])
                lost[i, q] = 0
                if uniform:  # one logarithm for all factors, each of which is at least ½
                    product[g] += unit * np.log(np.multiply.reduce(np.subtract(1, lost, out=lost), axis=0))
                else:
                    product[g] += np.einsum("iq,iq->q", counted, np.log1p(np.negative(lost, out=lost), out=lost))
                product[g] += log_t @ counted
                if len(i):
                    others = _log_kernels(beyond[i], weight, rate, here[i], at[q]) + log_near[i]
                    some = np.log(left[q] * kernels[i, at[q]]) + log_near[i]
                    kept = np.logaddexp(np.logaddexp(np.log(spare[here[i]]), others), some)
                    alone = np.isinf(kept)  # nothing is left that could foretell this cell: it does not count
                    gain = counted[i, q] * np.where(alone, 0, kept - log_t[i])
                    product[g] += np.bincount(q, gain, len(at))
        rest = total - w - np.minimum(left, 1)
        counted = np.where(rest > tiny * total, left, 0)
        kept = np.logaddexp(np.log(np.maximum(left - 1, 0)), around[:, at])
        product += counted * np.where(counted > 0, kept, 0)
        level += counted * np.log(np.where(counted > 0, rest, 1))
    own += counted
    return product - level - own * (t[:, None] + 0.5 * LOG_2PI)


def _log_kernels(beyond: np.ndarray, weight: np.ndarray, rate: Value, *without: np.ndarray) -> np.ndarray:
    """log Σ_k w_k exp(−½ rate · beyond_k), (b,), without two of the cells of each row."""
    beyond = beyond.copy()
    for cell in without:
        beyond[np.arange(len(beyond)), cell] = np.inf
    near = beyond.min(1)
    near = np.where(np.isinf(near), 0, near)
    return np.log(np.exp(-0.5 * rate * (beyond - near[:, None])) @ weight) - 0.5 * rate * near


def cells_left(weight: np.ndarray, at: np.ndarray, w: np.ndarray) -> np.ndarray:
    """What is left of the weight of some cells; nothing where the rest is rounding."""
    left = weight[at] - w
    return np.where(abs(left) > 1e-12 * (weight[at] + w), left, 0)


def search_without(
    product: Callable[[np.ndarray, np.ndarray], np.ndarray], low: Value, high: Value, centre: Value, q: int
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """`search` for q posteriors at once: those whose ranges agree share their nodes, which is nearly all of them.

    Parameters
    ----------
    product : nodes (g,) and which of the posteriors (p,) → log products (g, p)

    Returns
    -------
    of every set of posteriors with one range: which, (p,), nodes (g,), log densities (g, p)
    """
    waiting = [(0, low, high, np.arange(q))]
    sizes = SEARCH, SEARCH, NODES
    while waiting:
        level, low, high, which = waiting.pop()
        size = sizes[level]
        t = low + (high - low) * np.linspace(0, 1, size)
        value = product(t, which) - 0.5 * (t[:, None] - centre) ** 2
        near = value > value.max(0) - DEPTH
        if level == len(sizes) - 1:
            yield which, t, value
            continue
        first = np.maximum(near.argmax(0) - 1, 0)
        last = np.minimum(size - near[::-1].argmax(0), size - 1)
        for pair in np.unique(first * size + last):
            f, g = divmod(int(pair), size)
            waiting.append((level + 1, t[f], t[g], which[(first == f) & (last == g)]))


@jax.custom_jvp
def traced_product(value: Array, weight: Array, log_scale: Array, t: Array) -> Array:
    """Σ_i w_i log f_−i(v_i; eᵗ) in JAX, differentiable in t: the slope comes with the value, and nothing is stored."""
    return traced_products(value, weight, log_scale, t)[0]


@traced_product.defjvp
def _(primals: tuple[Array, ...], tangents: tuple[Array, ...]) -> tuple[Array, Array]:
    value, weight, log_scale, t = primals
    product, slope = traced_products(value, weight, log_scale, t, order=1)
    return product, slope * tangents[3]


# --- one variable ---------------------------------------------------------------------------------------------------


def search(f: Callable[[Array], Array], low: Array, high: Array) -> tuple[Array, Array]:
    """Even nodes (g, c, d) over the range where f is less than `DEPTH` below its peak, and f there: two zooms."""
    xp = namespace(low, high)
    for size in (SEARCH, SEARCH, NODES):
        t = low + (high - low) * np.linspace(0, 1, size, dtype=low.dtype)[:, None, None]
        value = f(t)
        near = value > value.max(0) - DEPTH
        first = xp.maximum(near.argmax(0) - 1, 0)
        last = xp.minimum(size - near[::-1].argmax(0), size - 1)
        low, high = (xp.take_along_axis(t, place[None], 0)[0] for place in (first, last))
    return t, value


def climb(slopes: Callable[[Array], tuple[Array, Array]], t: Array, value: Array) -> Array:
    """Where a function with values at nodes t (g, c, d) is largest: Newton's steps from the best node."""
    xp = namespace(t, value)
    best = value.argmax(0)

    def node(place: Array) -> Array:
        return xp.take_along_axis(t, xp.clip(place, 0, len(t) - 1)[None], 0)[0]

    low, at, high = node(best - 1), node(best), node(best + 1)
    for _ in range(NEWTON):
        first, second = slopes(at)
        low, high = xp.where(first > 0, at, low), xp.where(first < 0, at, high)
        concave = second < 0
        step = xp.clip(at - first / xp.where(concave, second, -1), low, high)
        at = xp.where(concave, step, (low + high) / 2)
    return at


def peak(table: Array) -> Array:
    """The largest value along the first axis, a constant to gradients: what is scaled by it is scaled back."""
    return table.max(0) if namespace(table) is np else jax.lax.stop_gradient(table).max(0)


def log_sum(table: Array) -> Array:
    """log Σ exp along the first axis, of finite logarithms."""
    xp = namespace(table)
    top = peak(table)
    return top + xp.log(xp.exp(table - top).sum(0))


@functools.cache
def gregory() -> np.ndarray:
    """Weights of an even grid with Gregory's end corrections, sixth order also where the integrand ends abruptly.

    Hildebrand (1974), Introduction to Numerical Analysis, §5.9: ½ − 1/12 − 1/24 − 19/720 − 3/160 = 95/288 at the end.
    """
    weights = np.ones(NODES)
    weights[:5] = weights[-1:-6:-1] = 95 / 288, 317 / 240, 23 / 30, 793 / 720, 157 / 160
    return weights


@functools.cache
def spline() -> np.ndarray:
    """The matrix that takes values at the nodes to those of the cubic spline through them on the mesh."""
    from scipy.interpolate import CubicSpline

    nodes = np.arange(NODES)
    return CubicSpline(nodes, np.eye(NODES))(np.linspace(0, NODES - 1, (NODES - 1) * MESH + 1))


# --- the density ----------------------------------------------------------------------------------------------------


def log_density_of_cells(u: Array, value: Array, weight: Array, log_scale: Value, t: Array) -> Array:
    """log f(u_q; eᵗ) under the kernels on the cells (m,), (g, q) in nats; 0 where there is no cell.

    The exponential of the nearest cell is taken out of the sum, so that a value however far away keeps a finite log.
    """
    xp = namespace(u, value, t)
    there = weight != 0
    squared = square((u[:, None] - xp.where(there, value, 0)) / xp.exp(log_scale))
    near = xp.where(there, squared, xp.inf).min(-1)
    near = xp.where(xp.isinf(near), 0, near)
    rest = xp.maximum(squared - near[:, None], 0)
    mass = weight.sum()
    step = max(1, _CELLS // max(rest.size, 1))
    scratch = np.empty((min(step, len(t)), *rest.shape), rest.dtype) if xp is np else None

    def at(t: Array) -> Array:
        """At some bandwidths (b,) at once, (b, q)."""
        rate = xp.exp(2 * (log_scale - t))[:, None]
        total = _decay(rest, -0.5 * rate[..., None], None if scratch is None else scratch[: len(t)]) @ weight
        log_f = xp.log(xp.where(mass > 0, total, 1)) - 0.5 * (rate * near + LOG_2PI) - t[:, None]
        return xp.where(mass > 0, log_f - xp.log(xp.where(mass > 0, mass, 1)), 0)

    if xp is jnp:
        return jax.lax.map(lambda one: at(one[None])[0], t)
    return np.concatenate([at(t[some : some + step]) for some in range(0, len(t), step)])


def log_density_without(
    value: np.ndarray, weight: np.ndarray, log_scale: Value, t: np.ndarray, at: np.ndarray, w: np.ndarray
) -> Float[np.ndarray, "g q"]:
    """log f(v_a; eᵗ) at cells whose weight w has left the kernels, in nats; 0 where no cell is left."""
    left, mass = cells_left(weight, at, w), weight.sum() - w
    found = np.empty((len(t), len(at)))
    step = max(1, _CELLS // len(value))
    with np.errstate(over="ignore", divide="ignore"):
        for begin in range(0, len(at), step):
            some = np.arange(begin, min(begin + step, len(at)))
            cell = at[some]
            beyond = square(np.clip((value[cell, None] - value) / np.exp(log_scale), -1e145, 1e145))
            for g, rate in enumerate(np.exp(2 * (log_scale - t))):
                others = _log_kernels(beyond, weight, rate, cell)
                found[g, some] = np.logaddexp(np.log(left[some]), others)
        there = mass > 1e-12 * weight.sum()
        found -= np.log(np.where(there, mass, 1)) + 0.5 * LOG_2PI + t[:, None]
    return np.where(there, found, 0)


def blockwise(
    levels: np.ndarray,
    value: np.ndarray,
    weight: np.ndarray,
    log_scale: Value,
    t: np.ndarray,
    log_w: np.ndarray,
    reduce: Callable[[Array, Array], Array],
) -> np.ndarray:
    """reduce(log f, log_w) at the levels (q,), so many at a time that the tables stay small."""
    if not len(value):
        return reduce(np.zeros((len(t), len(levels)), t.dtype), log_w) * 0
    step = max(1, _CELLS // max(len(value), len(t)))
    with np.errstate(over="ignore"):  # far values: held at a distance that is a number
        parts = [
            reduce(log_density_of_cells(levels[at : at + step], value, weight, log_scale, t), log_w)
            for at in range(0, max(len(levels), 1), step)
        ]
    return np.concatenate(parts, -1)
