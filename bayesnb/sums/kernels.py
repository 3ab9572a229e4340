"""Sums over Gaussian kernels: log densities under weighted cells, with or without the cell at which they are taken.

The numbers behind `families.kernel_density`. One formula serves all of them,

    log f(u; h) = log [Σ_k (w_k − w [v_k = u]) K_h(u − v_k)] − log [Σ_k w_k − w],     K_h(z) = exp(−½ z²/h²)/(h √(2π)),

with w the weight that leaves the cell at u: none in a prediction, the row's in leave-one-out. Exponentials are relative
to that of the nearest cell, so that not all of them underflow to zero. Many cells on the host are summed by the loop of
`_compiled.densities`.
"""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import numpy as np

from ..core.arrays import Array, Float
from ..core.special import LOG_2PI, namespace
from .rows import in_order, rounding, worth

_REACH = 40.0  # nats below the largest where a kernel is lost in rounding
_CELLS = 1 << 18  # numbers of a temporary table on the host: 2 MiB, about a core's cache
_PAIR = 8  # cells of other sums that take as long as an exponential


def log_density(
    u: Float[Array, " q"],
    value: Float[Array, " m"],
    weight: Float[Array, " m"],
    t: Float[Array, " g"],
    w: Float[Array, " q"],
) -> Float[Array, "g q"]:
    """log f(u; eᵗ) in nats; 0 where no cell is left.

    Parameters
    ----------
    u : where the density is taken
    value, weight : distinct cells in ascending order and their weights; in JAX 0 behind the last cell
    t : logarithms of bandwidths
    w : weights that leave the cells at u; 0 where there is no such cell
    """
    if namespace(u, value, weight, t, w) is not np:
        import jax

        return jax.lax.map(lambda t: _density(u, value, weight, t[None], w)[0], t)
    m, found = len(value), np.zeros((len(t), len(u)), t.dtype)
    if u.dtype == np.float64 and m and worth(_PAIR * u.size * m * t.size):
        from ._compiled import densities

        reach = 2 * (_REACH + float(np.log(weight.sum() / weight.min())))
        densities(u, value, weight, t, w, rounding(weight), reach, found)
        return found
    step = max(1, _CELLS // max(1, m * len(t)))
    for at in range(0, len(u), step):
        found[:, at : at + step] = _density(u[at : at + step], value, weight, t, w[at : at + step])
    return found


def _density(u: Array, value: Array, weight: Array, t: Array, w: Array) -> Float[Array, "g q"]:
    """`log_density` in one table (g, q, m)."""
    xp = namespace(u, value, weight, t, w)
    left = weight - w[:, None] * (value == u[:, None])
    left = xp.where(left > rounding(left) * weight, left, 0)
    squared = xp.minimum((u[:, None] - xp.where(weight != 0, value, 0)) ** 2, xp.finfo(u.dtype).max)
    some, rate = (left > 0).any(-1), xp.exp(-2 * t)[:, None]
    near = xp.where(some, xp.where(left > 0, squared, xp.inf).min(-1, initial=xp.inf), 0)
    kernels = left * xp.exp(-0.5 * rate[..., None] * xp.maximum(squared - near[:, None], 0))
    total, mass = (xp.where(some, sums.sum(-1), 1) for sums in (kernels, left))
    return xp.where(some, xp.log(total / mass) - 0.5 * rate * near - t[:, None] - 0.5 * LOG_2PI, 0)


def by_piece(f: Callable[[int, Any], Any], c: int, d: int, cost: int | None) -> Iterable[tuple[int, Any]]:
    """(k, f(k, j)) of each class k and feature j, in order.

    Parameters
    ----------
    cost : exponentials of all pieces together, which are worth threads where they are many; None under a JAX trace,
        where j is traced
    """
    if cost is None:
        import jax

        return ((k, row) for k in range(c) for row in jax.lax.map(jax.checkpoint(partial(f, k)), jax.numpy.arange(d)))
    pieces = [*np.ndindex(c, d)]
    run: Any = in_order if cost > _CELLS * len(pieces) else map
    return zip((k for k, _ in pieces), run(lambda piece: f(*piece), pieces), strict=True)
