"""Σ_j l_cj + w_cj log(1 + v_ij), v = (x − m)² g², compiled by XLA for more rows than NumPy should go through.

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
_ALONE = 25  # columns of one call where each cell has a logarithm of its own: compiling goes through them one by one
_REACH = {7: 1 / 32, 12: 1 / 4}  # v up to which a polynomial of this degree is log(1 + v)/v to 2e-15
_CALL = 1 << 22  # cells times classes of one block of rows
_TILE = 128  # rows, of which 16 columns stay in the first cache of a core


def log_sums(
    x: Float[Array, "n d"],
    slope: Float[Array, "c d"],
    loc: Float[Array, "c d"],
    weights: Float[Array, "c d"],
    level: Float[Array, "c d"],
    one: bool,
) -> Float[Array, "n c"]:
    """Σ_j l_cj + w_cj log(1 + (x_ij − m_cj)² g_cj²) of the observed cells, in nats; not finite where it cannot serve.

    Parameters
    ----------
    one : whether each class has one weight and no cell is missing, which is when factors can be multiplied
    """
    import jax

    (n, d), c = x.shape, len(slope)
    table = np.full((n, c), np.nan)
    if one:
        kernel, size = _products(), d
    elif degree := _degree(x, slope, loc):
        kernel, size = _cells(degree), -(-d // -(-d // _ALONE))  # columns of a call
    else:
        return table
    parts = [slice(start, start + size) for start in range(0, d, size)]
    given = [[_padded(field[:, part], c, size) for field in (slope, loc, weights, level)] for part in parts]
    step = 1 << max(_CALL // slope.size, _TILE).bit_length() - 1
    with jax.enable_x64(True):
        for at in range(0, n, step):
            rows = x[at : at + step]
            calls = zip(parts, given, strict=True)
            sums = (np.asarray(kernel(_padded(rows[:, part], step, size), *fields)) for part, fields in calls)
            tiles = functools.reduce(np.add, sums)
            table[at : at + step] = tiles.swapaxes(1, 2).reshape(step, c)[: len(rows)]
    return table


def _padded(table: Float[Array, "n d"], n: int, d: int) -> Float[Array, "m k"]:
    """A table with as many rows and columns, zeros where it has none."""
    missing = n - table.shape[0], d - table.shape[1]
    return np.pad(table, [(0, size) for size in missing]) if any(missing) else table


def _degree(x: Float[Array, "n d"], slope: Float[Array, "c d"], loc: Float[Array, "c d"]) -> int | None:
    """The least degree that serves the largest v, that of the least or largest cell of a column; None if none."""
    ends = np.stack([_by_column(np.fmin, x), _by_column(np.fmax, x)])[:, None]
    largest = np.fmax.reduce(np.square((ends - loc) * slope), axis=None, initial=0)
    return next((degree for degree, reach in _REACH.items() if largest <= reach), None)


def _by_column(least: np.ufunc, x: Float[Array, "n d"]) -> Float[Array, " d"]:
    """The least, or largest, cell of each column; NumPy goes through rows quickly that are long, so sixteen are one."""
    n, d = len(x) // 16 * 16, x.shape[1]
    first = least.reduce(x[:n].reshape(-1, 16 * d), initial=np.nan).reshape(16, d)
    return least.reduce(np.concatenate([first, x[n:]]))


@functools.cache
def _products() -> Callable[..., Array]:
    """Up to sixteen columns to a group, eight groups to a logarithm; products are held less one, where digits count."""
    import jax
    import jax.numpy as jnp
    from jax import lax

    def product(v: list[Array]) -> Array:
        return functools.reduce(product_less_one, v)

    @jax.jit
    def kernel(x: Array, slope: Array, loc: Array, weights: Array, level: Array) -> Array:
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
        return jnp.log1p(v).sum(1) * weights[:, :1] + level.sum(1, keepdims=True)  # (tiles, c, rows of a tile)

    return kernel


@functools.cache
def _cells(degree: int) -> Callable[..., Array]:
    """Each cell by a polynomial through the Chebyshev points, 0 where it is missing."""
    import jax
    import jax.numpy as jnp
    from jax import lax

    ratio = np.polynomial.Chebyshev.interpolate(lambda v: np.log1p(v) / v, degree, [0, _REACH[degree]])
    descending = ratio.convert(kind=np.polynomial.Polynomial).coef[::-1]

    @jax.jit
    def kernel(x: Array, slope: Array, loc: Array, weights: Array, level: Array) -> Array:
        x = x.reshape(-1, _TILE, x.shape[1]).swapaxes(1, 2)[:, :, None]  # (tiles, d, 1, rows of a tile)
        of_class = (table.T[:, :, None] for table in (slope, loc, weights, level))
        x, slope, loc, weights, level = lax.optimization_barrier((x, *of_class))
        total = jnp.zeros(())
        for k in range(x.shape[1]):  # written out, or XLA would keep the cells in memory to add them up
            v = jnp.square((x[:, k] - loc[k]) * slope[k])
            log = v * functools.reduce(lambda sum, term: sum * v + term, descending)
            total += jnp.where(jnp.isnan(x[:, k]), 0, weights[k] * log + level[k])
        return total  # (tiles, c, rows of a tile)

    return kernel
