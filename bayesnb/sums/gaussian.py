"""Sums over the columns of normal and Student log densities, of many rows at once.

Few rows are summed by the formula of a cell, many by the loop of `loops.gaussian`, which takes the same terms.
"""

from typing import Any

import numpy as np

from ..core.arrays import Array, Float, Int, Real, Sparse, is_sparse
from ..core.special import LOG_2PI, log_normal, log_rising, log_student_t, namespace
from ..loops import contiguous, worth
from .rows import is_missing_free, slices, sum_over_cells_of, sum_over_features

_LOG = 6  # cells of other sums that take as long as a cell with its logarithm in NumPy
_CELLS = 1 << 16  # of a table at a time: 512 KiB, which stay in a core's cache
_SQUARE = 2  # the same of a square


def log_normal_sum(
    x: Real[Array, "n d"] | Sparse, mu: Float[Array, "*s c d"], sd: Float[Array, "*#s #c d"]
) -> Float[Array, "*s n c"]:
    """Σ_j log Normal(x_ij; μ_cj, s_cj²) over the observed cells in nats; leading axes are draws."""
    many = mu.ndim == 2 and not is_sparse(x) and worth(_SQUARE * x.size * len(mu))
    if not many or namespace(x, mu, sd) is not np:
        return sum_over_features(log_normal, x, mu, sd)
    level = -0.5 * LOG_2PI - np.log(sd)
    return _looped(x, mu, np.sqrt(0.5) / sd, np.full(mu.shape, -1.0), level, both=0.0)


def log_student_sum(
    x: Real[Array, "n d"] | Sparse, df: Float[Array, "*#c d"], loc: Float[Array, "c d"], scale: Float[Array, "c d"]
) -> Float[Array, "n c"]:
    """Σ_j log t(x_ij; ν_cj, m_cj, s_cj) over the observed cells in nats."""
    if namespace(x, df, loc, scale) is not np:
        return sum_over_features(lambda x, loc, scale, df: log_student_t(x, df, loc, scale), x, loc, scale, df)
    return sum_of_logs(x, *_student_fields(df, loc, scale))


def sum_of_logs(
    x: Real[np.ndarray, "n d"] | Sparse,
    loc: Float[np.ndarray, "c d"],
    slope: Float[np.ndarray, "c d"],
    weight: Float[np.ndarray, "c d"],
    level: Float[np.ndarray, "c d"],
    sign: float = 1.0,
) -> Float[np.ndarray, "n c"]:
    """Σ_j level_cj + weight_cj log(1 ± v) over the observed cells of rows on the host, v = ((x_ij − loc_cj) slope_cj)².

    Student densities have the sign 1; those of the cells of a class without these cells have the sign −1.
    """

    def cell(x: Array, _: float, loc: Array, slope: Array, weight: Array, level: Array) -> Array:
        return level + weight * np.log1p(sign * np.square((x - loc) * slope))

    if is_sparse(x) or not worth(_LOG * x.size * len(loc)):
        return sum_over_cells_of(cell, x, 1.0, (loc, slope, weight, level))
    return _looped(x, loc, slope, weight, level, sign)


def log_student_left(
    x: Real[np.ndarray, "n d"],
    y: Int[np.ndarray, " n"],
    df: Float[np.ndarray, "c d"],
    loc: Float[np.ndarray, "c d"],
    scale: Float[np.ndarray, "c d"],
    own: Float[np.ndarray, "c d"],
    level_of_own: Float[np.ndarray, "c d"],
) -> Float[np.ndarray, "n c"]:
    """Σ_j log t(x_ij; ν_j, m_cj, s_cj √r_ij) of rows that have left a scale, r_ij = 1 − ((x_ij − m_yj) o_yj)².

    With s² r for s² and ν the same in all classes, log t = level + w log(r + v) − (w + ½) log r, w = −½(ν + 1). For the
    row's own class y it is the evidence of all rows over that of the others, l_yj − (w + ½) log r.
    """
    loc, slope, weight, level = _student_fields(df, loc, scale)
    from ..loops.gaussian import scale_by_class

    table, none = np.empty((len(x), len(loc))), np.zeros((1, x.shape[1]))
    for part in slices(len(x), x.shape[1], _CELLS):
        rows, mine = contiguous(x[part]), y[part]
        u, each = np.empty(rows.shape), np.arange(len(mine))
        scale_by_class(rows, mine, contiguous(loc), contiguous(own), u)
        rest = _looped(u, none, none + 1, -0.5 - weight[:1], none, -1.0)
        found = _looped(rows, loc, slope, weight, level, gone=np.multiply(u, u, out=u))
        found[each, mine] = _levels(rows, level_of_own)[each, mine]
        np.add(found, rest, out=table[part])
    return table


def _student_fields(df: Array, loc: Array, scale: Array) -> tuple[Array, Array, Array, Array]:
    """Centre, slope g, weight and level of log t = level + weight log(1 + ((x − centre) g)²)."""
    level = log_rising(df / 2, 0.5) - 0.5 * np.log(df * np.pi) - np.log(scale)
    return loc, 1 / (np.sqrt(df) * scale), np.full(loc.shape, -0.5 * (df + 1)), level


def _levels(x: Array, level: Array) -> Float[Array, "n c"]:
    """Σ_j level_cj over the observed cells."""
    if is_missing_free(x):
        return np.tile(level.sum(1), (len(x), 1))
    return (~np.isnan(x)).astype(float) @ np.where(np.isfinite(level), level, 0).T


def _looped(
    x: Array, loc: Array, slope: Array, weight: Array, level: Array, sign: float = 1.0, both: float = 1.0,
    gone: Any = None,
) -> Float[Array, "n c"]:  # fmt: skip
    """The levels of the observed cells, and what `loops.gaussian.add_logs` adds."""
    from ..loops.gaussian import add_logs

    fields = (contiguous(np.broadcast_to(field, loc.shape)) for field in (loc, slope, weight))
    table, gone = _levels(x, np.broadcast_to(level, loc.shape)), np.empty((0, 0)) if gone is None else gone
    add_logs(contiguous(x), gone, *fields, sign, both, bool((weight == weight[:, :1]).all()), table)
    return table
