"""Sums over the columns of normal and Student log densities, of many rows at once.

Few rows are summed class by class in NumPy, many by the loops of `loops.gaussian`, which take the same terms. Rows so
far away that a square overflows there are summed by the densities of `core.special`, which keep them finite.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.arrays import Array, Float, Int, Real, Sparse, is_sparse
from ..core.special import EPS, LOG_2PI, log_normal, log_rising, log_student_t, namespace
from ..loops import contiguous, worth
from .rows import slices, sum_over_cells_of, sum_over_features, with_odd_rows

_CELLS = 1 << 15  # at a time: 256 KiB of float64, which stay in a core's cache
_OWN = 4  # cells of other sums that NumPy takes as long for as for one of a row that has left all classes


def log_normal_sum(
    x: Real[Array, "n d"] | Sparse, mu: Float[Array, "*s c d"], sd: Float[Array, "*#s #c d"]
) -> Float[Array, "*s n c"]:
    """Σ_j log Normal(x_ij; μ_cj, s_cj²) over the observed cells in nats; leading axes are draws."""
    if namespace(x, mu, sd) is not np or is_sparse(x) or mu.ndim > 2:
        return sum_over_features(log_normal, x, mu, sd)
    sd = np.broadcast_to(sd, mu.shape)
    with np.errstate(all="ignore"):
        fields = mu, np.sqrt(0.5) / sd, -0.5 * LOG_2PI - np.log(sd)
        if worth(x.size * len(mu)):
            from ..loops.gaussian import normal

            table = _summed(normal, x, *fields)
        else:
            table = _by_class(lambda v: v, x, *fields[:2], np.full(mu.shape, -1.0), fields[2])
    return with_odd_rows(table, lambda far: sum_over_features(log_normal, x[far], mu, sd))


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

    fields = loc, slope, weight, level
    with np.errstate(all="ignore"):
        if is_sparse(x):
            return sum_over_cells_of(cell, x, 1.0, fields)
        if worth(6 * x.size * len(loc)):
            from ..loops.gaussian import student

            table = _summed(student, x, *fields, _alike(weight), sign)
        else:
            table = _by_class(lambda v: np.log1p(sign * v), x, *fields)
        # a product was infinite, or the level of a missing cell
        return with_odd_rows(table, lambda odd: sum_over_cells_of(cell, x[odd], 1.0, fields))


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
    row's own class y it is the evidence of all rows over that of the others, l_yj − (w + ½) log r. NaN where rounding
    leaves less than ε of some r; of few rows also where a cell is missing.
    """
    fields = _student_fields(df, loc, scale)
    with np.errstate(all="ignore"):
        if worth(_OWN * x.size * len(loc)):
            from ..loops.leaving_out import student_left

            return _summed(student_left, x, *fields, own, level_of_own, y, _alike(df), 1 - EPS)
        table = np.empty((len(x), len(loc)))
        for part in slices(len(x), x.shape[1], _CELLS):
            rows, mine = x[part], y[part]
            u = np.square((rows - loc[mine]) * own[mine])
            u[u > 1 - EPS] = np.nan
            rest = np.log1p(-u) @ (0.5 * df[0])
            for k, (m, slope, weight, level) in enumerate(zip(*fields, strict=True)):
                table[part, k] = level.sum() + np.log1p(np.square((rows - m) * slope) - u) @ weight + rest
            table[part][np.arange(len(mine)), mine] = level_of_own.sum(1)[mine] + rest
    return table


def _student_fields(df: Array, loc: Array, scale: Array) -> tuple[Array, Array, Array, Array]:
    """Centre, slope g, weight and level of log t = level + weight log(1 + ((x − centre) g)²)."""
    level = log_rising(df / 2, 0.5) - 0.5 * np.log(df * np.pi) - np.log(scale)
    return loc, 1 / (np.sqrt(df) * scale), np.full(loc.shape, -0.5 * (df + 1)), level


def _alike(df: Array) -> bool:
    """Whether the columns of each class have one number of degrees of freedom."""
    return bool((df == df[..., :1]).all())


def _by_class(
    f: Callable[[Array], Array], x: Array, loc: Array, slope: Array, weight: Array, level: Array
) -> Float[Array, "n c"]:
    """Σ_j level_cj + weight_cj f(((x_ij − loc_cj) slope_cj)²) over the observed cells."""
    table = np.empty((len(x), len(loc)))
    for part in slices(x.shape[0], x.shape[1], _CELLS):
        rows = np.ascontiguousarray(x[part])  # one layout: the last bits of a sum depend on it
        missing = np.isnan(rows) if np.isnan(rows.min(initial=0)) else None
        if missing is not None:
            rows = np.where(missing, 0, rows)
        table[part] = level.sum(1) if missing is None else (~missing).astype(float) @ level.T
        for k in range(len(loc)):
            v = np.square((rows - loc[k]) * slope[k])
            if missing is not None:
                v[missing] = 0
            table[part, k] += (f(v) * weight[k]).sum(1)  # a row has the same bits among any others
    return table


def _summed(loop: Any, x: Array, loc: Array, *fields: Any) -> Float[Array, "n c"]:
    """The table that a loop makes of rows and of fields (c, d), to which columns of zeros are added: see `normal`."""
    table, more = np.empty((len(x), len(loc))), np.zeros((len(loc), -x.shape[1] % 4))
    tables = [isinstance(one, np.ndarray) and one.shape == loc.shape for one in (loc, *fields)]
    given = [
        contiguous(np.concatenate([one, more], 1)) if wide else one
        for one, wide in zip((loc, *fields), tables, strict=True)
    ]
    loop(contiguous(x), *given, table)
    return table
