"""Sums over the columns of normal and Student log densities, of many rows at once, by matrix products.

With z = x − o and u = m − o about an origin o_j, (x − m)² g² = z² g² − 2 z ug² + u² g² is a product of (z², z, 1) with
coefficients of the class. The expansion loses about ε (u/s)² of a term, s the standard deviation of the class, so it
serves the columns whose means lie within a few dozen standard deviations of the origin; the others are summed as they
stand.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Float, Real
from scipy import sparse

from ._rows import over_classes, product_less_one
from ._special import LOG_2PI, log_normal, log_student_t, namespace
from ._typing import Array, Sparse

_FAR = 32.0  # standard deviations from the origin: (u/s)² of 1,000 leaves an error of 1e-13 a cell
_LARGE = 1e100  # standard deviations from the origin, beyond which squares could overflow
_GROUP = 16  # columns whose factors 1 + v are multiplied before the logarithm
_FIRM = 1e5  # degrees of freedom from which the rounding of 1 + v would show
_ROWS = 256  # at a time: 100 columns and 10 classes are 2 MiB then


def log_normal_sum(
    x: Real[Array, "n d"] | Sparse, mu: Float[Array, "*s c d"], sd: Float[Array, "*#s #c d"]
) -> Float[Array, "*s n c"]:
    """Σ_j log Normal(x_ij; μ_cj, s_cj²) over the observed cells in nats; leading axes are draws."""
    if namespace(x, mu, sd) is not np or sparse.issparse(x) or mu.ndim > 2 or x.dtype != np.float64:
        return over_classes(log_normal, x, mu, sd)

    def quadratic(z: Array, u: Array, s: Array) -> Array:
        weight = 1 / (s * s)
        cross = z @ (-2 * u * weight).T
        return -0.5 * (np.square(z) @ weight.T + cross)

    def level(u: Array, s: Array) -> Array:
        return -0.5 * (np.square(u / s) + LOG_2PI) - np.log(s)

    return _about_origin(quadratic, level, log_normal, x, mu, np.broadcast_to(sd, mu.shape))


def log_student_sum(
    x: Real[Array, "n d"] | Sparse, df: Float[Array, "c d"], loc: Float[Array, "c d"], scale: Float[Array, "c d"]
) -> Float[Array, "n c"]:
    """Σ_j log t(x_ij; ν_cj, m_cj, s_cj) over the observed cells in nats.

    Where columns have equal degrees of freedom, as without missing cells, Σ_j log(1 + v_j) takes one logarithm for the
    product of sixteen factors, v = (x − m)²/(νs²).
    """

    def cell(x: Array, loc: Array, scale: Array, df: Array) -> Array:
        return log_student_t(x, df, loc, scale)

    if namespace(x, df, loc, scale) is not np or sparse.issparse(x) or x.dtype != np.float64:
        return over_classes(cell, x, loc, scale, df)

    def products(z: Array, u: Array, s: Array, df: Array) -> Array:
        slope = 1 / (df * s * s)
        factors = np.stack([slope, -2 * u * slope, u * u * slope], -1).transpose(1, 2, 0)  # (d, 3, c)
        total = np.zeros((len(z), len(u)))
        for weights, columns in _alike(df):
            plain = bool(weights.max() < _FIRM)
            total -= 0.5 * (weights + 1) * _log_products(z[:, columns], factors[columns], plain)
        return total

    def level(u: Array, s: Array, df: Array) -> Array:
        return log_student_t(0 * u, df, 0 * u, s)

    if np.isnan(x.min(initial=0)):  # the columns differ in their degrees of freedom
        return over_classes(cell, x, loc, scale, df)
    return _about_origin(products, level, cell, x, loc, scale, df)


def _about_origin(
    expanded: Callable[..., Array],
    level: Callable[..., Array],
    cell: Callable[..., Array],
    x: Array,
    loc: Array,
    sd: Array,
    *others: Array,
) -> Array:
    """The sum of the columns that keep their digits about an origin, and that of the others cell by cell.

    `expanded` is the part that depends on x and `level` the rest, of the centres and scales from the origin in units of
    the column; `cell` is both, of x, centres and scales as they are. All take the other fields last.
    """
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        unit = sd.min(0)
        weight = (unit / sd) ** 2  # in (0, 1], however small the scales
        origin = (weight * loc).sum(0) / weight.sum(0)
        near = (abs(loc - origin) / sd).max(0) < _FAR  # False where something is not finite
        near &= np.isfinite(origin) & (unit > 1 / _LARGE)
        z = x - origin if near.all() else x[:, near] - origin[near]
        z /= unit[near]
    missing = np.isnan(z) if np.isnan(z.min(initial=0)) else None
    if missing is not None:
        z[missing] = 0
    if not near.any() or not max(z.max(initial=0), -z.min(initial=0)) < _LARGE:
        return over_classes(cell, x, loc, sd, *others)
    u, s, rest = (loc[:, near] - origin[near]) / unit[near], sd[:, near] / unit[near], [v[:, near] for v in others]
    constant = level(u, s, *rest) - np.log(unit[near])
    table = expanded(z, u, s, *rest)
    table += constant.sum(1) if missing is None else (~missing).astype(float) @ constant.T
    if near.all():
        return table
    return table + over_classes(cell, x[:, ~near], loc[:, ~near], sd[:, ~near], *(v[:, ~near] for v in others))


def _alike(df: Float[Array, "c d"]) -> list[tuple[Array, Any]]:
    """Columns with equal degrees of freedom: those of the classes, (c,), and the columns."""
    if (df == df[:, :1]).all():
        return [(df[:, 0], slice(None))]
    found, group = np.unique(df, axis=1, return_inverse=True)
    return [(weights, np.flatnonzero(group.ravel() == k)) for k, weights in enumerate(found.T)]


def _log_products(z: Float[Array, "n d"], factors: Float[Array, "d three c"], plain: bool) -> Float[Array, "n c"]:
    """Σ_j log(1 + v_j), v_j = z² f_j0c + z f_j1c + f_j2c, one logarithm for up to sixteen columns.

    `plain` multiplies 1 + v, which rounds each to ε; else columns are folded, (1 + v)(1 + v') = 1 + (v + v' + vv').
    """
    (n, d), c = z.shape, factors.shape[2]
    size = _GROUP if max(z.max(initial=0), -z.min(initial=0)) < 1e8 else 1  # sixteen factors below 1e19 cannot overflow
    groups = -(-d // size)
    powers = np.ones((groups * size, min(n, _ROWS), 3))
    padded = np.zeros((groups * size, 3, c))
    padded[:d] = factors
    padded[:, 2] += plain
    table = np.empty((n, c))
    for at in range(0, n, _ROWS):
        part = z[at : at + _ROWS].T
        rows = powers[:, : part.shape[1]]
        np.multiply(part, part, out=rows[:d, :, 0])
        rows[:d, :, 1] = part
        cells = (rows @ padded).reshape(groups, size, part.shape[1], c)
        if plain:
            table[at : at + _ROWS] = np.log(np.multiply.reduce(cells, axis=1)).sum(0)
            continue
        while cells.shape[1] > 1:
            cells = product_less_one(*np.split(cells, 2, axis=1))
        table[at : at + _ROWS] = np.log1p(np.maximum(cells, 0)).sum((0, 1))
    return table
