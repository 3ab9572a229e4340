"""Sums over the columns of normal and Student log densities, of many rows at once.

Few rows are summed class by class by the formulas of `_special`, many by the loops of `loops.gaussian`. Rows so far
away that a square overflows in a loop are summed by the formula again.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from ._rows import over_classes
from ._special import LOG_2PI, log_normal, log_rising, log_student_t, namespace
from ._typing import Array, Float, Int, Real, Sparse
from .exact import EPS
from .loops import contiguous, worth


def log_normal_sum(
    x: Real[Array, "n d"] | Sparse, mu: Float[Array, "*s c d"], sd: Float[Array, "*#s #c d"]
) -> Float[Array, "*s n c"]:
    """Σ_j log Normal(x_ij; μ_cj, s_cj²) over the observed cells in nats; leading axes are draws."""
    if namespace(x, mu, sd) is not np or sparse.issparse(x) or mu.ndim > 2 or not worth(x.size * len(mu)):
        return over_classes(log_normal, x, mu, sd)
    from .loops.gaussian import normal

    sd = np.broadcast_to(sd, mu.shape)
    with np.errstate(all="ignore"):
        fields = mu, 1 / sd, -0.5 * LOG_2PI - np.log(sd)
    return _with_far_rows(_summed(normal, x, *fields), log_normal, x, mu, sd)


def log_student_sum(
    x: Real[Array, "n d"] | Sparse, df: Float[Array, "c d"], loc: Float[Array, "c d"], scale: Float[Array, "c d"]
) -> Float[Array, "n c"]:
    """Σ_j log t(x_ij; ν_cj, m_cj, s_cj) over the observed cells in nats."""

    def cell(x: Array, loc: Array, scale: Array, df: Array) -> Array:
        return log_student_t(x, df, loc, scale)

    if namespace(x, df, loc, scale) is not np or sparse.issparse(x) or not worth(2 * x.size * len(loc)):
        return over_classes(cell, x, loc, scale, df)
    from .loops.gaussian import student

    with np.errstate(all="ignore"):
        level = log_rising(df / 2, 0.5) - 0.5 * np.log(df * np.pi) - np.log(scale)
        fields = loc, 1 / (np.sqrt(df) * scale), -0.5 * (df + 1), level
    return _with_far_rows(_summed(student, x, *fields, _alike(df), *_NOBODY), cell, x, loc, scale, df)


def _alike(df: Array) -> bool:
    """Whether the columns of each class have one number of degrees of freedom."""
    return bool((df == df[:, :1]).all())


_NOBODY = np.zeros(0, np.int32), np.zeros((0, 0)), 1.0  # no row leaves a variance that classes share


def log_student_without(
    x: Real[np.ndarray, "n d"],
    y: Int[np.ndarray, " n"],
    df: Float[np.ndarray, "c d"],
    loc: Float[np.ndarray, "c d"],
    scale: Float[np.ndarray, "c d"],
    own: Float[np.ndarray, "c d"],
) -> Float[np.ndarray, "n c"]:
    """Σ_j log t(x_ij; ν_cj, m_cj, s_cj √r_ij) of rows that have left a scale, r_ij = 1 − ((x_ij − m_yj) o_yj)²."""
    from .loops.gaussian import student

    with np.errstate(all="ignore"):
        level = log_rising(df / 2, 0.5) - 0.5 * np.log(df * np.pi) - np.log(scale)
        fields = loc, 1 / (np.sqrt(df) * scale), -0.5 * (df + 1), level
    return _summed(student, x, *fields, _alike(df), y, own, 1 - EPS)


def put_log_ratios(
    table: Float[np.ndarray, "n c"],
    x: Real[np.ndarray, "n d"],
    y: Int[np.ndarray, " n"],
    loc: Float[np.ndarray, "c d"],
    slope: Float[np.ndarray, "c d"],
    weight: Float[np.ndarray, "c d"],
    level: Float[np.ndarray, "c d"],
) -> None:
    """Σ_j l_cj + w_cj log(1 − v) over the observed cells, v = ((x_ij − m_cj) g_cj)², for the class of each row.

    Rounding leaves ε at least of 1 − v. The sums are put in their places in a table of all classes.
    """
    from .loops.gaussian import student_without

    fields = (contiguous(field) for field in (loc, slope, weight, level))
    student_without(contiguous(x), y, *fields, 1 - EPS, table)


def _summed(loop: Any, x: Array, loc: Array, *fields: Any) -> Float[Array, "n c"]:
    """The table that a loop makes of rows and of fields (c, d)."""
    table = np.empty((len(x), len(loc)))
    given = [contiguous(one) if isinstance(one, np.ndarray) and one.ndim == 2 else one for one in (loc, *fields)]
    loop(contiguous(x), *given, table)
    return table


def _with_far_rows(
    table: Float[Array, "n c"], cell: Callable[..., Array], x: Array, *fields: Array
) -> Float[Array, "n c"]:
    """A table whose rows that are not finite have been summed by the formula of a cell."""
    far = ~np.isfinite(table).all(1)
    if far.any():
        table[far] = over_classes(cell, x[far], *fields)
    return table
