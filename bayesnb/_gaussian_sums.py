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
from ._typing import Array, Float, Real, Sparse
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
    alike = bool((df == df[:, :1]).all())
    return _with_far_rows(_summed(student, x, *fields, alike), cell, x, loc, scale, df)


def _summed(loop: Any, x: Array, loc: Array, *fields: Any) -> Float[Array, "n c"]:
    """The table that a loop makes of rows and of fields (c, d)."""
    table = np.empty((len(x), len(loc)))
    given = [contiguous(field) if isinstance(field, np.ndarray) else field for field in (loc, *fields)]
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
