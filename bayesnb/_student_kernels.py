"""Σ_j w_cj log(1 + v_ij), v = (x − m)² g², compiled by XLA for more rows than NumPy should go through.

Blocks of rows have a shape of their own, whatever the number of rows, so that a kernel is compiled once a process for
each number of columns and classes.
"""

import functools
from collections.abc import Callable

import numpy as np

from ._rows import product_less_one
from ._typing import Array, Float

_GROUP = 16  # columns whose factors 1 + v are multiplied while they are in a core's registers
_FOLDED = 8  # groups whose products are multiplied before the logarithm: it overflows where v is above 250 throughout
_CALL = 1 << 22  # cells times classes of one call, of which it holds an eighth
_TILE = 128  # rows, of which 16 columns stay in the first cache of a core


def log_sums(
    x: Float[Array, "n d"],
    slope: Float[Array, "c d"],
    loc: Float[Array, "c d"],
    weights: Float[Array, "c d"],
    one: bool,
) -> Float[Array, "n c"]:
    """Σ_j w_cj log(1 + (x_ij − m_cj)² g_cj²), in nats; not finite where these sums do not serve.

    Parameters
    ----------
    one : whether each class has one weight and no cell is missing, which is when factors can be multiplied
    """
    import jax

    n, d = x.shape
    kernel, most = (_products(), _CALL) if one else (_cells(), _CALL // 4)
    step = 1 << max(most // slope.size, _TILE).bit_length() - 1
    table = np.empty((n, len(slope)))
    with jax.enable_x64(True):
        for at in range(0, n, step):
            rows = x[at : at + step]
            if len(rows) < step:
                rows = np.concatenate([rows, np.zeros((step - len(rows), d))])
            tiles = np.asarray(kernel(rows, slope, loc, weights))
            table[at : at + step] = tiles.swapaxes(1, 2).reshape(step, -1)[: n - at]
    return table


@functools.cache
def _products() -> Callable[..., Array]:
    """Up to sixteen columns to a group, eight groups to a logarithm; products are held less one, where digits count."""
    import jax
    import jax.numpy as jnp
    from jax import lax

    def product(v: list[Array]) -> Array:
        return functools.reduce(product_less_one, v)

    @jax.jit
    def kernel(x: Array, slope: Array, loc: Array, weights: Array) -> Array:
        c, d = slope.shape
        groups = -(-d // _GROUP)
        size = -(-d // groups)  # columns of a group
        logs = -(-groups // _FOLDED)

        def columns(table: Array, rows: int) -> Array:
            """(k, d) as (k/rows, groups, size, 1, rows)."""
            table = jnp.pad(table, ((0, 0), (0, groups * size - d)))
            return table.reshape(-1, rows, groups, size).transpose(0, 2, 3, 1)[:, :, :, None]

        of_class = (columns(table, c).swapaxes(3, 4) for table in (slope, loc))  # (1, groups, size, c, 1)
        # the barriers keep XLA from computing anew for each use
        x, slope, loc = lax.optimization_barrier((columns(x, _TILE), *of_class))
        v = product([jnp.square((x[:, :, k] - loc[:, :, k]) * slope[:, :, k]) for k in range(size)])
        v = jnp.pad(lax.optimization_barrier(v), ((0, 0), (0, -groups % logs), (0, 0), (0, 0)))
        v = v.reshape(len(v), logs, -1, c, _TILE)
        v = product([v[:, :, k] for k in range(v.shape[2])])
        return jnp.log1p(v).sum(1) * weights[:, :1]  # (tiles, c, rows of a tile)

    return kernel


@functools.cache
def _cells() -> Callable[..., Array]:
    """Each cell by the series of 2 artanh v/(2 + v), 0 where it is missing, NaN where v is above ¼."""
    import jax
    import jax.numpy as jnp
    from jax import lax

    @jax.jit
    def kernel(x: Array, slope: Array, loc: Array, weights: Array) -> Array:
        x = x.reshape(-1, _TILE, x.shape[1]).swapaxes(1, 2)[:, :, None]  # (tiles, d, 1, rows of a tile)
        of_class = (table.T[:, :, None] for table in (slope, loc, weights))
        x, slope, loc, weights = lax.optimization_barrier((x, *of_class))
        v = jnp.square((x - loc) * slope)
        ratio = v / (v + 2)  # up to 1/9: nine terms leave 1e-17
        series = functools.reduce(lambda sum, k: sum * jnp.square(ratio) + 1 / k, range(15, 0, -2), jnp.array(1 / 17))
        return jnp.where(v <= 0.25, 2 * weights * ratio * series, jnp.where(jnp.isnan(x), 0, jnp.nan)).sum(1)

    return kernel
