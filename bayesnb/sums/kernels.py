"""Sums over Gaussian kernels: log densities under weighted cells, with or without the cell at which they are taken.

The numbers behind `families.kernel_density`. One formula serves all of them,

    log f(u; h) = log [Σ_k (w_k − w [v_k = u]) K_h(u − v_k)] − log [Σ_k w_k − w],     K_h(z) = exp(−½ z²/h²)/(h √(2π)),

with w the weight that leaves the cell at u: none in a prediction, the row's in leave-one-out. Exponentials are relative
to that of the nearest cell, so that not all of them underflow to zero. Many cells on the host are summed by the loop of
`loops.kernels`.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from ..core.arrays import Array, Float
from ..core.special import LOG_2PI, namespace, square
from ..core.threads import in_order
from ..loops import worth
from .by_class import rounding

_REACH = 40.0  # nats below the largest where a kernel is lost in rounding
_CELLS = 1 << 18  # numbers of a temporary table on the host: 2 MiB, about a core's cache
_PAIR = 8  # cells of other sums that take as long as an exponential


def log_density(
    u: Float[Array, " q"],
    value: Float[Array, " m"],
    weight: Float[Array, " m"],
    t: Float[Array, " g"],
    w: Float[Array, " q"],
    order: int = 0,
) -> Float[Array, "o g q"]:
    """log f(u; eᵗ) in nats, and its first derivatives by t; all 0 where no cell is left.

    Parameters
    ----------
    u : where the density is taken, in ascending order on the host
    value, weight : distinct cells; ascending and of positive weight on the host, weight 0 where there is none in JAX
    t : logarithms of bandwidths
    w : weights that leave the cells at u; 0 where there is no such cell
    order : number of derivatives
    """
    if namespace(u, value, weight, t, w) is not np:
        import jax

        return jax.lax.map(lambda t: _density(u, value, weight, t[None], w, order)[:, 0], t).swapaxes(0, 1)
    if u.dtype == np.float64 and worth(_PAIR * u.size * value.size * t.size):
        from ..loops.kernels import densities

        found = np.zeros((1 + order, len(t), len(u)))
        reach = 2 * (_REACH + float(np.log(weight.sum() / weight.min())))
        densities(u, value, weight, t, w, rounding(weight), reach, found)
        return found
    step = max(1, _CELLS // max(1, len(value) * len(t)))
    parts = [slice(at, at + step) for at in range(0, max(1, len(u)), step)]
    return np.concatenate([_density(u[part], value, weight, t, w[part], order) for part in parts], -1)


def _density(u: Array, value: Array, weight: Array, t: Array, w: Array, order: int) -> Float[Array, "o g q"]:
    """`log_density` in one table (g, q, m).

    With a = (u − v)²/h² and averages ⟨⟩ over the kernels, the derivatives of log Σ_k w_k K_h by log h are ⟨a⟩ − 1 and
    var(a) − 2⟨a⟩.
    """
    xp = namespace(u, value, weight, t, w)
    left = weight - w[:, None] * (value == u[:, None])
    left = xp.where(left > rounding(left) * weight, left, 0)
    squared = square(u[:, None] - xp.where(weight != 0, value, 0))
    mass, rate = left.sum(-1), xp.exp(-2 * t)[:, None]
    some = mass > 0
    near = xp.where(some, xp.where(left > 0, squared, xp.inf).min(-1, initial=xp.inf), 0)
    kernels = left * xp.exp(-0.5 * rate[..., None] * xp.maximum(squared - near[:, None], 0))
    total, mass = (xp.where(some, sums, 1) for sums in (kernels.sum(-1), mass))
    terms = [xp.log(total / mass) - 0.5 * rate * near - t[:, None] - 0.5 * LOG_2PI]
    if order:
        a = rate[..., None] * squared
        first, second = (kernels * a).sum(-1) / total, (kernels * a * a).sum(-1) / total
        terms += [first - 1, second - first * first - 2 * first][:order]
    return xp.where(some, xp.stack(terms), 0)


def in_pieces(f: Callable[[Any], np.ndarray], pieces: Sequence[Any], size: int) -> Iterable[np.ndarray]:
    """f of each piece, on all cores where a piece has about as many exponentials as are worth a thread."""
    return in_order(f, pieces) if size > _CELLS else map(f, pieces)


def products(
    value: Float[Array, "p m"], weight: Float[Array, "p m"], t: Float[Array, "g p"], order: int = 0
) -> Float[Array, "o g p"]:
    """Σ_i w_i log f_−i(v_i; eᵗ) of p classes and features at g bandwidths each, and its first derivatives by t.

    One unit of weight leaves each cell, or all of it where that is less.
    """

    def product(value: Array, weight: Array, t: Array) -> Float[Array, "o g"]:
        return (weight * log_density(value, value, weight, t, xp.minimum(weight, 1), order)).sum(-1)

    xp = namespace(value, weight, t)
    if xp is not np:
        import jax

        value = xp.where(weight != 0, value, 0)
        found = jax.lax.map(lambda piece: jax.checkpoint(product)(*piece), (value, weight, t.T))  # tables are not kept
        return xp.moveaxis(found, 0, -1)

    def of_class_and_feature(p: int) -> np.ndarray:
        there = weight[p] != 0
        return product(value[p, there], weight[p, there], t[:, p])

    pieces = list(in_pieces(of_class_and_feature, range(len(value)), len(t) * value.shape[1] ** 2))
    return np.stack(pieces, -1) if pieces else np.zeros((1 + order, *t.shape), t.dtype)
