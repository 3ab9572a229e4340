"""Sums over Gaussian kernels: densities, the leave-one-out product of a bandwidth, and both without a cell.

The numbers behind `families.kernel_density`. All sums are exact; exponentials are relative to that of the nearest cell,
so that not all of them underflow to zero. The formulas here are those of NumPy and JAX; many cells on the host are
summed by the loops of `loops.kernels`, which take the same terms.

Between bounds the density is reflected: Σ_k w_k Σ_s K_h(x_s − v_k), x_s the images of x in the bounds, x itself the
first. It integrates to one between them (Silverman 1986, §2.10). Images are x or −x and a shift. One bound makes one
image, two make infinitely many, of which those within the reach of a kernel are taken; h is at most `WIDEST` times the
distance of the bounds, where the density is flat.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..core.arrays import Array, Float, Value
from ..core.special import LOG_2PI, namespace, square
from ..core.threads import in_order
from ..loops import worth

WIDEST = 2.7  # bandwidths over the distance of two bounds: the density is flat to 2 exp(−½ π² 2.7²) < 1e-15
_REACH = 40.0  # nats below the largest where a kernel is lost in rounding
_IMAGES = 13  # of x beyond each of two bounds that kernels of the widest bandwidth reach
_CELLS = 1 << 18  # numbers of a temporary table on the host: 2 MiB, about a core's cache
_TINY = 1e-12  # share of a weight that is rounding
_PAIR = 8  # cells of other sums that take as long as an exponential
Bounds = tuple[Any, Any] | None  # least and largest value of a feature, −∞ and ∞ where it is open


def images(bounds: Bounds, t: Array) -> tuple[Array, Array]:
    """Signs (e,) and shifts (…, e) of the images s x + b of x, the first x itself, for bandwidths eᵗ (g, …)."""
    if bounds is None:
        return np.ones(1, t.dtype), np.zeros(1, t.dtype)
    xp = namespace(*bounds, t)
    low, high = (xp.asarray(bound, t.dtype)[..., None] for bound in bounds)
    both = xp.isfinite(low) & xp.isfinite(high)
    length = xp.where(both, high / 2 - low / 2, 0)
    n = _IMAGES
    if xp is np:  # images at a distance of more than 2n − 1 lengths are out of reach
        widest = (np.exp(t.max(0)) / np.where(both, 2 * length, np.inf)[..., 0]).max(initial=0)
        n = min(n, 1 + int(np.ceil((1 + widest * (2 * _REACH) ** 0.5) / 2)))
    steps = np.array(sorted(range(-n, n + 1), key=abs), t.dtype)
    beyond = 4 * length * steps + xp.where(both | (steps == 0), 0, xp.inf)
    edge = xp.where(xp.isfinite(low), low, xp.where(xp.isfinite(high), high, xp.inf))
    signs, shifts = np.repeat(np.array([1, -1], t.dtype), len(steps)), xp.concatenate([beyond, 2 * edge + beyond], -1)
    used = np.isfinite(shifts).reshape(-1, len(signs)).any(0) if xp is np else slice(None)
    return signs[used], shifts[..., used]


def reflected(x: np.ndarray, bounds: Bounds) -> np.ndarray:
    """Numbers folded back between bounds, as often as it takes."""
    if bounds is None:
        return x
    low, high = bounds
    if np.isinf(low):
        return high - abs(high - x) if np.isfinite(high) else x
    above = abs(x - low)
    if np.isfinite(high):
        above = (high - low) - abs((high - low) - above % (2 * (high - low)))
    return np.clip(low + above, low, high)


# --- the density ----------------------------------------------------------------------------------------------------


def log_density(u: Array, value: Array, weight: Array, log_scale: Value, t: Array, bounds: Bounds = None) -> Array:
    """log f(u_q; eᵗ) under the kernels on the cells (m,), (g, q) in nats; 0 where there is no cell.

    Parameters
    ----------
    u : (q,) in ascending order on the host
    log_scale : logarithm of a length to measure distances in
    t : (g,) logarithms of bandwidths
    """
    xp = namespace(u, value, t)
    mass = weight.sum()
    log_f = _log_sums(u, value, weight, log_scale, t, bounds) - t[:, None] - 0.5 * LOG_2PI
    return xp.where(mass > 0, log_f - xp.log(xp.where(mass > 0, mass, 1)), 0)


def log_density_without(
    value: np.ndarray, weight: np.ndarray, log_scale: Value, t: np.ndarray, at: np.ndarray, w: np.ndarray,
    bounds: Bounds = None,
) -> Float[np.ndarray, "g q"]:  # fmt: skip
    """log f(v_a; eᵗ) at cells whose weight w has left the kernels, in nats; 0 where no cell is left.

    Parameters
    ----------
    at, w : (q,) the cell that a weight is taken from, in ascending order, and that weight
    """
    around = _log_sums(value[at], value, weight, log_scale, t, bounds, at)
    return _without(weight, at, w, t, around, _own(value[at], log_scale, t, bounds))


def _without(weight: np.ndarray, at: np.ndarray, w: np.ndarray, t: np.ndarray, around: Any, own: Any) -> np.ndarray:
    """log f at cells without weight w of theirs, from the kernels of others around them, (g, q), and of themselves."""
    left, mass = cells_left(weight, at, w), weight.sum() - w
    there = mass > _TINY * weight.sum()
    with np.errstate(divide="ignore"):
        log_f = np.logaddexp(np.log(left * own), around) - np.log(np.where(there, mass, 1))
    return np.where(there, log_f - t[:, None] - 0.5 * LOG_2PI, 0)


def cells_left(weight: np.ndarray, at: np.ndarray, w: np.ndarray) -> np.ndarray:
    """What is left of the weight of some cells; nothing where the rest is rounding."""
    left = weight[at] - w
    return np.where(abs(left) > _TINY * (weight[at] + w), left, 0)


def _own(u: np.ndarray, log_scale: Value, t: np.ndarray, bounds: Bounds) -> Float[np.ndarray, "g q"]:
    """The kernels of the images of cells around themselves: one, and what bounds reflect."""
    signs, shifts = images(bounds, t)
    with np.errstate(over="ignore"):
        squared = square((signs * u[:, None] + shifts - u[:, None]) / np.exp(log_scale))
        return np.exp(-0.5 * np.exp(2 * (log_scale - t))[:, None, None] * squared).sum(-1)


def _log_sums(
    u: Array, value: Array, weight: Array, log_scale: Value, t: Array, bounds: Bounds, skipped: Any = None
) -> Float[Array, "g q"]:
    """log Σ_k w_k exp(−½ (u − v_k)²/e²ᵗ), reflected; on the host `skipped` names a cell to leave out for each u."""
    xp = namespace(u, value, t)
    if xp is jnp:
        return _log_sums_of_few(u, value, weight, log_scale, t, *images(bounds, t))
    if not len(value) or not len(u):
        return np.full((len(t), len(u)), -np.inf, t.dtype)
    with np.errstate(over="ignore", divide="ignore"):
        signs, shifts = images(bounds, t)
        if worth(_PAIR * u.size * value.size * t.size) and _fits_loops(log_scale, value, u):
            from ..loops.kernels import densities

            found = np.empty((len(t), len(u)))
            skipped = np.full(len(u), -1) if skipped is None else skipped
            densities(u, value, weight, skipped, *_rates(weight, log_scale, t), signs, shifts, found)
            return found
        step = max(1, _CELLS // (len(value) * len(signs) * len(t)))
        parts = []
        for begin in range(0, len(u), step):
            some = slice(begin, begin + step)
            w = weight if skipped is None else np.where(np.arange(len(value)) == skipped[some, None], 0, weight)
            parts.append(_log_sums_of_few(u[some], value, w, log_scale, t, signs, shifts))
        return np.concatenate(parts, -1)


def _log_sums_of_few(
    u: Array, value: Array, weight: Array, log_scale: Value, t: Array, signs: Array, shifts: Array
) -> Float[Array, "g q"]:
    """`_log_sums` in one table; weights (m,) or (q, m)."""
    xp = namespace(u, value, t)
    there = xp.atleast_2d(weight) != 0
    x = signs * u[:, None] + shifts
    squared = square((x[..., None] - xp.where(xp.isnan(value), 0, value)) / xp.exp(log_scale))
    some = there.any(-1)
    near = xp.where(some, xp.where(there, squared[:, 0], xp.inf).min(-1), 0)
    beyond = xp.maximum(squared - near[:, None, None], 0)

    def at(t: Value) -> Array:
        rate = xp.exp(2 * (log_scale - t))[..., None]
        kernels = xp.exp(-0.5 * rate[..., None, None] * beyond).sum(-2)
        total = kernels @ weight if weight.ndim == 1 else (kernels * weight).sum(-1)
        return xp.where(some, xp.log(xp.where(some, total, 1)) - 0.5 * rate * near, -xp.inf)

    return jax.lax.map(at, t) if xp is jnp else at(t)


def _fits_loops(log_scale: Any, *cells: np.ndarray) -> bool:
    """Whether squares of all distances are numbers, of float64."""
    if any(v.dtype != np.float64 for v in cells):
        return False
    least = np.exp(-np.max(-log_scale))
    return all(max(-np.nanmin(v, initial=0), np.nanmax(v, initial=0)) < 1e140 * least for v in cells)


def _rates(weight: np.ndarray, log_scale: Value, t: np.ndarray) -> tuple[Any, ...]:
    """1/scale, the rates of the bandwidths and the reach of their kernels, as loops take them."""
    reach = 2 * (_REACH + np.log(weight.sum() / weight.min()))
    return float(np.exp(-log_scale)), np.exp(2 * (log_scale - t)), float(reach)


# --- the leave-one-out product --------------------------------------------------------------------------------------


def products(
    value: Array, weight: Array, log_scale: Array, t: Array, bounds: Bounds = None, order: int = 0
) -> tuple[Float[Array, "g p"], ...]:
    """Σ_i w_i log f_−i(v_i; eᵗ) of p classes and features at g bandwidths each, and its derivatives by t.

    Parameters
    ----------
    value, weight : (p, m) cells; weight 0 where there is none
    log_scale : (p,) logarithms of lengths to measure distances in
    t : (g, p) logarithms of bandwidths
    bounds : two arrays (p,)
    order : of derivatives that are wanted too, 0 … 2
    """
    xp = namespace(value, weight, log_scale, t)
    value, weight, log_scale, t = (xp.asarray(a) for a in (value, weight, log_scale, t))
    own, mass = weight, weight.sum(-1, keepdims=True) - xp.minimum(weight, 1)
    own = xp.where(mass > 0, own, 0)  # a cell that is alone: nothing predicts it
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        work = _PAIR * len(t) * int(((weight != 0).sum(-1) ** 2).sum()) if xp is np else 0
        if work and worth(work) and _fits_loops(log_scale, value):
            found: Any = _products_by_loops(value, weight, own, mass, log_scale, t, bounds, order)
        else:
            found = _products_by_cells(value, weight, own, mass, log_scale, t, bounds, order)
    total = own.sum(-1)
    first = found[0] - total * (t + 0.5 * LOG_2PI)
    return (first, found[1] - total, *found[2:])[: order + 1] if order else (first,)


def _products_by_loops(
    value: Array, weight: Array, own: Array, mass: Array, log_scale: Array, t: Array, bounds: Bounds, order: int
) -> np.ndarray:
    from ..loops import kernels as loops

    found = np.zeros((3, *t.shape))

    def piece(p: int) -> np.ndarray:
        there, out = weight[p] != 0, np.zeros((3, len(t)))
        if there.any():
            v, w, w_own, rest = (np.ascontiguousarray(a[p][there]) for a in (value, weight, own, mass))
            signs, shifts = images(_of(bounds, p), t[:, p])
            spare = np.maximum(w - 1, 0)
            loops.products(v, w, w_own, spare, rest, *_rates(w, log_scale[p], t[:, p]), signs, shifts, order, out)
        return out

    for p, one in enumerate(in_order(piece, range(t.shape[1]))):
        found[:, :, p] = one
    return found


def _of(bounds: Bounds, p: int) -> Bounds:
    """The bounds of one of several classes and features."""
    return None if bounds is None else (bounds[0][p], bounds[1][p])


def _products_by_cells(
    value: Array, weight: Array, own: Array, mass: Array, log_scale: Array, t: Array, bounds: Bounds, order: int
) -> tuple[Array, ...]:
    """Σ_i own_i log(Σ_k w_k K_ik / mass_i), one unit of w_i left out, and derivatives by log h: a loop over the cells.

    With a = squared distance / h² and averages over the kernels, the derivatives of log Σ_k w_k exp(−½ a_k) are ⟨a⟩ and
    var(a) − 2⟨a⟩.
    """
    xp = namespace(value, weight, log_scale, t)
    p, signs = t.shape[1], images(bounds, t)[0]
    if xp is np and p > 1 and t.size * value.shape[1] * len(signs) > _CELLS:  # half of the pieces at a time
        limits = [None, None] if bounds is None else zip(*(np.split(bound, [p // 2]) for bound in bounds), strict=True)
        parts = [np.split(a, [p // 2]) for a in (value, weight, own, mass, log_scale)]
        halves = zip(*parts, np.split(t, [p // 2], 1), limits, strict=True)
        found = [_products_by_cells(v, w, o, rest, h, at, limit, order) for v, w, o, rest, h, at, limit in halves]
        return tuple(np.concatenate(pair, 1) for pair in zip(*found, strict=True))
    signs, shifts = images(bounds, t)
    v, scale, most = (
        xp.where(weight != 0, value, 0),
        xp.exp(log_scale)[:, None, None],
        1e140 if t.dtype == np.float64 else 1e15,
    )
    rates = xp.exp(2 * (log_scale - t))
    place = np.arange(value.shape[-1])

    def add(total: tuple[Array, ...], i: Any) -> tuple[tuple[Array, ...], None]:
        left = xp.where(place == i, xp.maximum(weight - 1, 0), weight)
        x = signs * v[:, i, None] + shifts
        squared = square((x[..., None] - v[:, None]) / scale)
        near = xp.where(left > 0, squared[:, 0], xp.inf).min(-1)
        near = xp.where(xp.isinf(near), 0, near)
        beyond = xp.maximum(squared - near[:, None, None], 0)

        kernels = left[:, None] * xp.exp(-0.5 * rates[..., None, None] * beyond)
        whole, some, w = kernels.sum((-2, -1)), own[:, i] > 0, own[:, i]
        whole = xp.where(some, whole, 1)
        terms = [xp.where(some, w * (xp.log(whole / xp.where(some, mass[:, i], 1)) - 0.5 * rates * near), 0)]
        if order > 0:
            a = xp.minimum(rates[..., None, None] * squared, most)
            first = (kernels * a).sum((-2, -1)) / whole
            terms.append(w * first)
        if order > 1:
            terms.append(w * ((kernels * a * a).sum((-2, -1)) / whole - first * first - 2 * first))
        return tuple(a + b for a, b in zip(total, terms, strict=True)), None

    total = tuple(xp.zeros_like(rates) for _ in range(1 + order))
    if xp is jnp and len(place):
        return jax.lax.scan(add, total, jnp.asarray(place))[0]
    for i in place.tolist():
        total, _ = add(total, i)
    return total


@jax.custom_jvp
def traced_product(value: Array, weight: Array, log_scale: Array, t: Array, bounds: Bounds) -> Array:
    """Σ_i w_i log f_−i(v_i; eᵗ) in JAX, differentiable in t: the slope comes with the value, and nothing is stored."""
    return products(value, weight, log_scale, jnp.asarray(t), bounds)[0]


@traced_product.defjvp
def _(primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> tuple[Array, Array]:
    value, weight, log_scale, t, bounds = primals
    product, slope = products(value, weight, log_scale, jnp.asarray(t), bounds, 1)
    return product, slope * tangents[3]


def products_without(
    value: np.ndarray, weight: np.ndarray, log_scale: Value, t: np.ndarray, at: np.ndarray, w: np.ndarray,
    bounds: Bounds = None,
) -> tuple[Float[np.ndarray, "g q"], Float[np.ndarray, "g q"]]:  # fmt: skip
    """Σ_i w_i log f_−i(v_i; eᵗ) of one class and feature after q cells have left, each by itself, on the host.

    Parameters
    ----------
    value, weight : (m,) cells, all of positive weight
    t : (g,) logarithms of bandwidths
    at, w : (q,) the cell that a weight is taken from, in ascending order, and that weight

    Returns
    -------
    product, log_f : what is left of the product, and log f(v_a; eᵗ) as `log_density_without` has it
    """
    total, left, unit = weight.sum(), cells_left(weight, at, w), np.minimum(weight, 1)
    own, n_images = _own(value, log_scale, t, bounds), images(bounds, t)
    around = np.full(own.shape, -np.inf)
    ordinary = len(value) > 1 and total - unit.max() - w.max() > _TINY * total
    with np.errstate(over="ignore", divide="ignore"):
        if ordinary and worth(_PAIR * t.size * len(value) * (len(value) + len(at))) and _fits_loops(log_scale, value):
            from ..loops import kernels as loops

            product, first = np.zeros((len(t), len(at))), np.searchsorted(at, np.arange(len(value) + 1))
            plain, spare = bool((weight == 1).all()), np.maximum(weight - 1, 0)
            inverse, rates, reach = _rates(weight, log_scale, t)
            loops.products_without(
                value, weight, spare, inverse, rates, reach, *n_images, at, w, left, first, plain, own, product, around
            )
        else:
            product = _products_without(value, weight, log_scale, t, at, w, left, own, around, bounds)
        level, counted = np.zeros(len(at)), np.zeros(len(at))
        for u in np.unique(unit):  # Σ_i w_i log(total − u_i − w) over the others
            others = _others(np.where(unit == u, weight, 0))[at]
            rest = total - u - w
            others = np.where(rest > _TINY * total, others, 0)
            counted += others
            level += others * np.log(np.where(others > 0, rest, 1))
        rest = total - w - np.minimum(left, 1)  # and what is left of the cell itself
        some = (left > 0) & (rest > _TINY * total)
        kept = np.logaddexp(np.log(np.maximum(left - 1, 0) * own[:, at]), around[:, at])
        product += np.where(some, left * np.where(some, kept, 0), 0)
        counted += np.where(some, left, 0)
        level += np.where(some, left * np.log(np.where(some, rest, 1)), 0)
    product -= level + counted * (t[:, None] + 0.5 * LOG_2PI)
    return product, _without(weight, at, w, t, around[:, at], own[:, at])


def _others(x: np.ndarray) -> np.ndarray:
    """Sums of all others, without a subtraction."""
    return np.append(0, x.cumsum()[:-1]) + np.append(x[:0:-1].cumsum()[::-1], 0)


def _products_without(
    value: np.ndarray, weight: np.ndarray, log_scale: Value, t: np.ndarray, at: np.ndarray, w: np.ndarray,
    left: np.ndarray, own: np.ndarray, around: np.ndarray, bounds: Bounds,
) -> Float[np.ndarray, "g q"]:  # fmt: skip
    """Σ_i w_i log T_iq over the cells i other than at_q, T_iq the kernels around i without w_q of that cell.

    T_iq is T_i (1 − w_q K_iq / T_i). Where that takes more than half, the other kernels are summed anew, so that no
    digits are lost.
    """
    (signs, shifts), rates, total = images(bounds, t), np.exp(2 * (log_scale - t))[:, None, None], weight.sum()
    product, spare, n = np.zeros((len(t), len(at))), np.maximum(weight - 1, 0), len(value) if len(value) > 1 else 0
    step = max(1, _CELLS // max(1, len(t) * len(signs) * n))
    for i in (np.arange(begin, min(begin + step, n)) for begin in range(0, n, step)):
        x, itself = signs * value[i, None] + shifts, (np.arange(len(i)), i)
        squared = square((x[..., None] - value) / np.exp(log_scale))
        others = squared[:, 0].copy()
        others[itself] = np.inf
        near = others.min(1)[:, None]
        kernels = np.exp(-0.5 * rates[..., None] * np.maximum(squared - near[..., None], 0)).sum(2)
        kernels[:, *itself] = 0
        around[:, i] = np.log(kernels @ weight) - 0.5 * (rates * near)[..., 0]
        log_t = np.logaddexp(np.log(spare[i] * own[:, i]), around[:, i])[..., None]
        share = kernels[..., at] * np.exp(-0.5 * rates * near - log_t) * w
        most = share > 0.5
        log_rest = log_t + np.log1p(-np.where(most, 0, share))
        for one, q in zip(*np.nonzero(most.any(0)), strict=True):
            left_over = weight.copy()
            left_over[[i[one], at[q]]] = 0, left[q]
            again = _log_sums_of_few(value[i[[one]]], value, left_over, log_scale, t, signs, shifts)[:, 0]
            again = np.logaddexp(np.log(spare[i[one]] * own[:, i[one]]), again)
            log_rest[:, one, q] = np.where(np.isinf(again), log_t[:, one, 0], again)  # nothing predicts this cell then
        counted = (at != i[:, None]) & (total - np.minimum(weight[i], 1)[:, None] - w > _TINY * total)
        product += np.einsum("giq,iq->gq", log_rest, counted * weight[i, None])
    return product
