"""Sums over the columns of normal and Student log densities, of many rows at once.

Few rows are summed by the formula of a cell, many by loops that take the same terms.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.arrays import Array, Data, Float, Int, Real, Sparse, Tables, is_sparse
from ..core.special import LOG_2PI, log_normal, namespace
from .loops import contiguous, stored, worth
from .rows import sum_over_cells_of, sum_over_features, sum_over_own

_LOG, _OWN, _SQUARE = 6, 16, 2  # cells of other sums that take as long: with a logarithm, its own class's, a square


def log_normal_sum(x: Data, mu: Float[Array, "*s c d"], sd: Float[Array, "*#s #c d"]) -> Tables:
    """Σ_j log Normal(x_ij; μ_cj, s_cj²) over the observed cells in nats; leading axes are draws."""
    if mu.ndim > 2 or namespace(x, mu, sd) is not np:
        return sum_over_features(log_normal, x, mu, sd)
    return sum_of_logs(x, mu, np.sqrt(0.5) / sd, np.array(-1.0), -0.5 * LOG_2PI - np.log(sd), student=False)


def _cell(student: bool, sign: int) -> Callable[..., Array]:
    """level + weight log(1 ± v), v = ((x − loc) slope)²; of normal densities level ± weight v."""

    def cell(x: Array, _: Any, loc: Array, slope: Array, weight: Array, level: Array) -> Array:
        v = sign * np.square((x - loc) * slope)
        return level + weight * (np.log1p(v) if student else v)

    return cell


def sum_of_logs(
    x: Real[np.ndarray, "n d"] | Sparse,
    loc: Float[np.ndarray, "c d"],
    *terms: Float[np.ndarray, "..."],
    student: bool = True,
) -> Float[np.ndarray, "n c"]:
    """Σ_j level_cj + weight_cj log(1 + v), v = ((x_ij − loc_cj) slope_cj)², over the observed cells on the host.

    Parameters
    ----------
    terms : slope, weight and level, which broadcast to the shape of `loc`
    student : False for normal densities, which have v for the logarithm and the weight −1
    """
    cell = _cell(student, 1)
    loc, slope, weight, level = np.broadcast_arrays(loc, *terms)
    size = x.nnz if is_sparse(x) else x.size
    if not worth((_LOG if student else _SQUARE) * size * len(loc)):
        return sum_over_cells_of(cell, x, 1.0, (loc, slope, weight, level))
    from . import _compiled

    table = np.empty((x.shape[0], len(loc)))
    if is_sparse(x):
        columns = (contiguous(field.T) for field in (loc, slope, weight))
        _compiled.stored_logs(*stored(x), *columns, student, table)
        return table + cell(np.zeros(1), 1.0, loc, slope, weight, level).sum(1)
    loc, slope, weight, level = map(contiguous, (loc, slope, weight, level))
    if student:
        _compiled.sum_logs(contiguous(x), loc, slope, weight, level, bool((weight == weight[:, :1]).all()), table)
    else:
        _compiled.sum_squares(contiguous(x), loc, slope, level, table)
    return table


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
    found = np.empty(len(at))
    if not worth(_OWN * x.size):
        return sum_over_own(_cell(student, -1), x, at, y, found, fields)
    from . import _compiled

    _compiled.sum_own(contiguous(x), at, y, *map(contiguous, fields), student, found)
    return found
