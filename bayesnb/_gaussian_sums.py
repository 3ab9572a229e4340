"""Sums over the columns of normal and Student log densities, of many rows at once, by matrix products.

With z = x − o and u = m − o about an origin o_j, (x − m)² g² = z² g² − 2 z ug² + u² g² is a product of (z², z, 1) with
coefficients of the class. The expansion loses about ε (u/s)² of a term, s the standard deviation of the class, so it
serves the columns whose means lie within a few dozen standard deviations of the origin; the others are summed as they
stand.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from ._parallel import repeats
from ._rows import over_classes, product_less_one, slices
from ._special import LOG_2PI, log_normal, log_student_t, namespace
from ._student_kernels import log_sums
from ._typing import Array, Bool, Float, Real, Sparse

_FAR = 32.0  # standard deviations from the origin: (u/s)² of 1,000 leaves an error of 1e-13 a cell
_LARGE = 1e100  # standard deviations within it and above its inverse have squares that are normal numbers
_GROUP = 16  # columns whose factors 1 + v are multiplied before the logarithm
_FIRM = 1e5  # degrees of freedom from which the rounding of 1 + v would show
_SMALL = 2.0**-6  # v up to here: the first term left out of the series is below 1e-17 of the sum
_ROWS = 64  # at a time: 100 columns and 10 classes are 512 KiB then, which stays in a core's cache
_CELLS = 1 << 18  # centred at a time: 2 MiB of float64
_WORTH = 1 << 25  # cells times classes that take NumPy longer than to compile, 4 × as many with a logarithm each


def log_normal_sum(
    x: Real[Array, "n d"] | Sparse, mu: Float[Array, "*s c d"], sd: Float[Array, "*#s #c d"]
) -> Float[Array, "*s n c"]:
    """Σ_j log Normal(x_ij; μ_cj, s_cj²) over the observed cells in nats; leading axes are draws."""
    if namespace(x, mu, sd) is not np or sparse.issparse(x) or mu.ndim > 2 or x.dtype != np.float64:
        return over_classes(log_normal, x, mu, sd)

    def products(u: Array, s: Array) -> Callable[..., Array]:
        square = -0.5 / (s * s)
        cross = -2 * u * square

        def of(z: Array, missing: Array | None) -> Array:
            table = z @ cross.T
            return np.add(table, np.multiply(z, z, out=z) @ square.T, out=table)

        return of

    def level(u: Array, s: Array) -> Array:
        return -0.5 * (np.square(u / s) + LOG_2PI) - np.log(s)

    return _about_origin(products, level, log_normal, x, mu, np.broadcast_to(sd, mu.shape))


def log_student_sum(
    x: Real[Array, "n d"] | Sparse, df: Float[Array, "c d"], loc: Float[Array, "c d"], scale: Float[Array, "c d"]
) -> Float[Array, "n c"]:
    """Σ_j log t(x_ij; ν_cj, m_cj, s_cj) over the observed cells in nats.

    Where columns have equal degrees of freedom, as without missing cells, Σ_j log(1 + v_j) takes one logarithm for the
    product of sixteen factors and more, v = (x − m)²/(νs²); each other column has its own. Many rows are summed by
    `log_sums`, which is compiled.
    """

    def cell(x: Array, loc: Array, scale: Array, df: Array) -> Array:
        return log_student_t(x, df, loc, scale)

    if namespace(x, df, loc, scale) is not np or sparse.issparse(x) or x.dtype != np.float64:
        return over_classes(cell, x, loc, scale, df)
    alike = bool((df == df[:, :1]).all())
    if repeats() * x.size * len(loc) >= (_WORTH if alike else 4 * _WORTH):
        one = alike and not np.isnan(x.min(initial=0))
        with np.errstate(all="ignore"):
            constant = log_student_t(0 * loc, df, 0 * loc, scale)
            table = log_sums(x, 1 / (np.sqrt(df) * scale), loc, -0.5 * (df + 1), constant, one)
        if np.isfinite(table).all():
            return table

    def products(u: Array, s: Array, df: Array) -> Callable[..., Array]:
        slope = 1 / (df * s * s)
        factors = np.stack([slope, -2 * u * slope, u * u * slope, 0 * u], -1).swapaxes(0, 1)  # (d, c, 4)
        alike = _alike(df)

        def of(z: Array, missing: Array | None) -> Array:
            total = np.zeros((len(z), len(u)))
            for columns, size in alike:
                seen = None if missing is None else ~missing[:, columns]
                total += _log_products(z[:, columns], seen, factors[columns], -0.5 * (df[:, columns] + 1), size)
            return total

        return of

    def level(u: Array, s: Array, df: Array) -> Array:
        return log_student_t(0 * u, df, 0 * u, s)

    return _about_origin(products, level, cell, x, loc, scale, df)


def _about_origin(
    products: Callable[..., Callable[..., Array]],
    level: Callable[..., Array],
    cell: Callable[..., Array],
    x: Array,
    loc: Array,
    sd: Array,
    *others: Array,
) -> Array:
    """The sum of the columns that keep their digits about an origin, and that of the others cell by cell.

    `products` is the part that depends on x, a function of centred rows, which it may overwrite, 0 where a cell is
    missing; `level` is the rest. Both are made of the centres from the origin and the scales; `cell` is both, of x,
    centres and scales as they are. All take the other fields last.
    """
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        weight = (sd.min(0) / sd) ** 2  # in (0, 1], however small the scales
        origin = (weight * loc).sum(0) / weight.sum(0)
        near = (abs(loc - origin) / sd).max(0) < _FAR  # False where something is not finite
        near &= np.isfinite(origin) & (sd.min(0) > 1 / _LARGE) & (sd.max(0) < _LARGE)
    if not near.any():
        return over_classes(cell, x, loc, sd, *others)
    u, s, rest = loc[:, near] - origin[near], sd[:, near], [v[:, near] for v in others]
    constant, of = level(u, s, *rest), products(u, s, *rest)
    table = np.empty((len(x), len(loc)))
    with np.errstate(over="ignore", invalid="ignore"):
        parts = slices(len(x), x.shape[1], _CELLS)
        rows = np.empty((min(parts[0].stop, len(x)), near.sum()))  # one piece of memory, which stays in the cache
        for part in parts:
            cells = x[part] if near.all() else x[part][:, near]
            z = np.subtract(cells, origin[near], out=rows[: len(cells)])
            missing = np.isnan(z) if np.isnan(z.min(initial=0)) else None
            if missing is not None:
                z[missing] = 0
            table[part] = of(z, missing)
            table[part] += constant.sum(1) if missing is None else (~missing).astype(float) @ constant.T
    if not np.isfinite(table).all():  # squares or products too large
        return over_classes(cell, x, loc, sd, *others)
    if near.all():
        return table
    return table + over_classes(cell, x[:, ~near], loc[:, ~near], sd[:, ~near], *(v[:, ~near] for v in others))


def _alike(df: Float[Array, "c d"]) -> list[tuple[Any, int]]:
    """Columns with equal degrees of freedom, and how many of their factors to multiply; single ones come together."""
    if (df == df[:, :1]).all():
        return [(slice(None), _GROUP)]
    group, count = np.unique(df, axis=1, return_inverse=True, return_counts=True)[1:]
    alone = (count == 1)[group.ravel()]
    if alone.all():
        return [(slice(None), 1)]
    groups = [(np.flatnonzero(group.ravel() == k), _GROUP) for k in np.flatnonzero(count > 1)]
    return [*groups, (np.flatnonzero(alone), 1)] if alone.any() else groups


def _log1p(v: np.ndarray) -> np.ndarray:
    """log(1 + v), v ≥ 0: 2 artanh v/(2 + v) by its series where that is exact to the last digit, which is faster."""
    if v.max(initial=0) > _SMALL:
        return np.log1p(v)
    ratio = v / (v + 2)
    square = ratio * ratio
    series = square * (1 / 7)
    for k in (5, 3, 1):
        series += 1 / k
        series *= square if k > 1 else ratio
    series *= 2
    return series


def _log_products(
    z: Float[Array, "n d"],
    seen: Bool[Array, "n d"] | None,
    factors: Float[Array, "d c four"],
    weights: Float[Array, "c d"],
    size: int,
) -> Float[Array, "n c"]:
    """Σ_j w_cj log(1 + v_j) over the cells seen, v_j = z² f_jc0 + z f_jc1 + f_jc2.

    One logarithm for up to `size` columns, which have equal weights then. Where the weights are large, 1 + v would show
    that it is rounded to ε; there log1p is taken and columns are folded, (1 + v)(1 + v') = 1 + (v + v' + vv').
    """
    (n, d), c = z.shape, factors.shape[1]
    plain = size > 1 and bool(abs(weights).max() < _FIRM)
    groups = -(-d // size)
    powers = np.ones((groups * size, 4, min(n, _ROWS)))
    padded = np.zeros((groups * size, c, 4))
    padded[:d] = factors
    padded[:, :, 3] = plain
    weight = weights.T[::size]
    table = np.empty((n, c))
    for at in range(0, n, _ROWS):
        part = z[at : at + _ROWS].T
        rows = powers[:, :, : part.shape[1]]
        np.multiply(part, part, out=rows[:d, 0])
        rows[:d, 1] = part
        if seen is not None:
            rows[:d, 2] = seen[at : at + _ROWS].T
        cells = (padded @ rows).reshape(groups, size, c, part.shape[1])
        if plain:
            logs = np.log(np.multiply.reduce(cells, axis=1))
        else:
            while cells.shape[1] > 1:
                cells = product_less_one(*np.split(cells, 2, axis=1))
            logs = _log1p(np.maximum(cells[:, 0], 0))
        table[at : at + _ROWS] = np.einsum("gcr,gc->rc", logs, weight)
    return table
