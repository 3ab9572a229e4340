"""Sums over the columns of normal and Student log densities, of many rows at once.

Few rows are summed by the formula of a cell, many by the loop of `loops.gaussian`, which takes the same terms.
"""

from typing import Any

import numpy as np

from ..core.arrays import Array, Float, Int, Real, Sparse, is_sparse
from ..core.special import LOG_2PI, log_normal, log_rising, log_student_t, namespace
from ..loops import contiguous, worth
from .rows import sum_over_cells_of, sum_over_features, sum_over_own

_LOG = 6  # cells of other sums that take as long as a cell with its logarithm in NumPy
_OWN = 16  # the same of one for the row's own class, whose fields are gathered
_SQUARE = 2  # the same of a square


def log_normal_sum(
    x: Real[Array, "n d"] | Sparse, mu: Float[Array, "*s c d"], sd: Float[Array, "*#s #c d"]
) -> Float[Array, "*s n c"]:
    """Σ_j log Normal(x_ij; μ_cj, s_cj²) over the observed cells in nats; leading axes are draws."""
    many = mu.ndim == 2 and not is_sparse(x) and worth(_SQUARE * x.size * len(mu))
    if not many or namespace(x, mu, sd) is not np:
        return sum_over_features(log_normal, x, mu, sd)
    from ..loops.gaussian import sum_squares

    table, fields = np.empty((len(x), len(mu))), (mu, np.sqrt(0.5) / sd, -0.5 * LOG_2PI - np.log(sd))
    sum_squares(contiguous(x), *(contiguous(np.broadcast_to(field, mu.shape)) for field in fields), table)
    return table


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
) -> Float[np.ndarray, "n c"]:
    """Σ_j level_cj + weight_cj log(1 + ((x_ij − loc_cj) slope_cj)²) over the observed cells of rows on the host."""

    def cell(x: Array, _: float, loc: Array, slope: Array, weight: Array, level: Array) -> Array:
        return level + weight * np.log1p(np.square((x - loc) * slope))

    fields = loc, slope, weight, np.broadcast_to(level, loc.shape)
    if is_sparse(x) or not worth(_LOG * x.size * len(loc)):
        return sum_over_cells_of(cell, x, 1.0, fields)
    return _looped(x, np.empty(0, int), loc, fields)


def sum_of_own(
    x: Real[np.ndarray, "n d"],
    at: Int[np.ndarray, " m"],
    y: Int[np.ndarray, " m"],
    fields: tuple[Float[np.ndarray, "c d"], ...],
    student: bool,
) -> Float[np.ndarray, " m"]:
    """Σ_j level_yj + weight_yj log(1 − v), v = ((x_ij − loc_yj) slope_yj)², of rows `at` and a class y of each.

    It is what the cells of a row have in a class that they have left; normal densities have −v for the logarithm.
    """

    def cell(x: Array, _: Array, loc: Array, slope: Array, weight: Array, level: Array) -> Array:
        v = -np.square((x - loc) * slope)
        return level + weight * (np.log1p(v) if student else v)

    if worth(_OWN * x.size):
        return _looped_own(x, at, y, fields, student).sum(1)
    return sum_over_own(cell, x, at, y, np.ones(len(at)), fields)


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
    fields, rows = _student_fields(df, loc, scale), np.arange(len(x))
    levels, rest = _looped_own(x, rows, y, (loc, own, -0.5 - fields[2], level_of_own)).T
    table = _looped(x, y, own, fields)
    table[rows, y] = levels
    return table + rest[:, None]


def _student_fields(df: Array, loc: Array, scale: Array) -> tuple[Array, Array, Array, Array]:
    """Centre, slope g, weight and level of log t = level + weight log(1 + ((x − centre) g)²)."""
    level = log_rising(df / 2, 0.5) - 0.5 * np.log(df * np.pi) - np.log(scale)
    return loc, 1 / (np.sqrt(df) * scale), np.full(loc.shape, -0.5 * (df + 1)), level


def _looped(x: Array, y: Array, own: Array, fields: Any) -> Float[Array, "n c"]:
    """The table of `loops.gaussian.sum_logs`."""
    from ..loops.gaussian import sum_logs

    loc, slope, weight, level = map(contiguous, fields)
    table, alike = np.empty((len(x), len(loc))), bool((weight == weight[:, :1]).all())
    sum_logs(contiguous(x), y, contiguous(own), loc, slope, weight, level, alike, table)
    return table


def _looped_own(x: Array, at: Array, y: Array, fields: Any, student: bool = True) -> Float[Array, "m 2"]:
    """Levels and logarithms of `loops.gaussian.sum_own`."""
    from ..loops.gaussian import sum_own

    found = np.empty((len(at), 2))
    sum_own(contiguous(x), at, y, *map(contiguous, fields), student, found)
    return found
