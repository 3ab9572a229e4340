"""Tables (n, c) of many rows at once: cells of few levels, rows of counts, normal and Student densities.

Few rows are summed by the formula of a cell, many by loops that take the same terms.
"""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from ..core.arrays import Array, Data, Float, Int, Real, Sparse, Table, Tables, Weights, is_sparse
from ..core.special import LOG_2PI, gammaln, is_whole, log_normal, log_rising, namespace
from .rows import (
    contiguous,
    csr_arrays,
    has_large_terms,
    map_cells,
    remove_row,
    row_totals,
    sum_over_cells_of,
    sum_over_features,
    sum_over_own,
    sum_with_dense_columns,
    use_compiled_loop,
)

_MOST = 64  # levels
_CELLS = 1 << 21  # of a table of levels
_KNOWN = 1 << 10  # whole counts below have their log factorial looked up
_LEAST = 1e-18  # of factors of which sixteen can be multiplied, and of the inverse of the largest
_SLOW = 32  # how much longer the formula takes for a cell and class than NumPy for a simple sum
_LOG, _OWN, _SQUARE = 6, 16, 2  # cells of other sums that take as long: with a logarithm, its own class's, a square


# --- cells of few levels: a formula is tabulated once a level, and looked up ------------------------------------------


def n_levels(x: Array | Sparse, parameters: int) -> int:
    """How many levels to tabulate for whole cells from 0 on, a power of two; 0 where a table would not serve.

    Parameters
    ----------
    parameters : number of classes times features
    """
    cells = x.data if is_sparse(x) else x
    largest = np.fmax.reduce(cells, None, initial=0)  # NaN is skipped
    smallest = np.fmin.reduce(cells, None, initial=0)
    if smallest < 0 or largest >= _MOST or not is_whole(cells):
        return 0
    levels = max(2, 1 << int(largest).bit_length())
    saves_work = levels == 2 or levels * x.shape[1] <= cells.size  # the table is made once
    return levels if saves_work and levels * parameters <= _CELLS else 0


def look_up(x: Array | Sparse, tables: Float[Array, "*s c d k"]) -> Tables:
    """Σ_j tables_cjx over the cells that are levels 0 … k − 1; an empty cell of sparse rows has level 0.

    A level that no row of a class has may have no finite value in it.
    """
    is_large = has_large_terms(tables[..., 0])
    if is_sparse(x) and is_large.any():
        return sum_with_dense_columns(lambda x, columns: look_up(x, tables[..., columns, :]), x.tocsr(), is_large)
    *lead, d, k = tables.shape
    flat = tables.reshape(-1, d, k)
    n = x.shape[0]
    empty = np.zeros((len(flat), d, 1))
    if is_sparse(x):
        empty = np.where(np.isfinite(flat[..., :1]), flat[..., :1], 0)
    table = np.tile(empty.sum((1, 2)), (n, 1))
    changes = np.concatenate([flat - empty, -empty], -1)  # a cell that is no level adds nothing
    weights = contiguous(changes.reshape(len(flat), -1).T)
    ends, columns, cells = csr_arrays(x)
    if use_compiled_loop(cells.size * len(flat)):
        from . import _compiled

        _compiled.look_up(ends, columns, cells, weights, k, table)
    else:
        columns = np.tile(np.arange(d), n) if columns is None else columns.astype(np.intp)
        position = np.where((cells >= 0) & (cells < k), cells, k).astype(np.intp) + (k + 1) * columns
        table += sparse.csr_array((np.ones(position.size), position, ends), (n, len(weights))) @ weights
    return np.moveaxis(table.reshape(-1, *lead), 0, -2)


# --- rows of counts under Dirichlet–multinomials: a^(x) = Γ(a+x)/Γ(a) is a rising factorial ---------------------------


def log_factorial(count: Array) -> Array:
    """log x!; of many whole counts on the host the first are looked up, which is ten times as fast."""
    if namespace(count) is np and count.size > _KNOWN and count.min() >= 0 and count.max() < _KNOWN:
        whole_count = count.astype(np.int32)
        if np.array_equal(whole_count, count):
            return _log_factorials(count.dtype).take(whole_count)
    return gammaln(count + 1.0)  # a byte has no 256


@functools.cache
def _log_factorials(dtype: Any) -> np.ndarray:
    return gammaln(np.arange(1, _KNOWN + 1, dtype=dtype))


def log_coefficient(x: Data) -> Float[Array, " n"]:
    """log L!/Π_j x_j!, the number of orders of the events of a row."""
    if namespace(x) is np and use_compiled_loop(8 * (x.nnz if is_sparse(x) else x.size)):
        from ._compiled import log_coefficient

        coefficients = np.empty(x.shape[0])
        ends, _, cells = csr_arrays(x)
        log_coefficient(ends, cells, _log_factorials(np.float64), coefficients)
        return coefficients
    return gammaln(row_totals(x) + 1) - row_totals(map_cells(x, log_factorial))


def log_polya(x: Data, alpha: Float[Array, "c d"], w: Weights | None = None) -> Table:
    """Σ_j log α_j^(x_j) − log A^(L); of rows that leave class c with weight w_ic, α − wx stands for α.

    With the weights it is gain((1 − w) x) − gain(−w x), in one rising factorial.
    """
    weights = w.toarray() if is_sparse(w) else w
    total = alpha.sum(-1)
    n_cells = x.nnz if is_sparse(x) else x.size
    uses_loop = namespace(x, alpha, weights) is np and use_compiled_loop(_SLOW * n_cells * len(alpha))
    if uses_loop and alpha.min() > _LEAST and 1 / total.max() > _LEAST:
        from ._compiled import rising

        table = np.empty((x.shape[0], len(alpha)))
        contiguous_weights = None if weights is None else np.ascontiguousarray(weights, float)
        rising(*csr_arrays(x), contiguous(alpha.T), total, contiguous_weights, table)
        return table

    def log_rising_without_row(x: Array, w: Any, alpha: Array) -> Array:
        return log_rising(remove_row(alpha, w * x), x)

    length = row_totals(x)[:, None]
    weights = 0 * length if weights is None else weights
    of_kinds = sum_over_cells_of(log_rising_without_row, x, weights, (alpha,))
    return of_kinds - log_rising_without_row(length, weights, total)


# --- normal and Student densities -------------------------------------------------------------------------------------


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
    fields = np.broadcast_arrays(loc, *terms)
    loc, slope, weight, level = fields
    size = x.nnz if is_sparse(x) else x.size
    if not use_compiled_loop((_LOG if student else _SQUARE) * size * len(loc)):
        return sum_over_cells_of(cell, x, 1.0, fields)
    from . import _compiled

    is_large = has_large_terms(cell(np.zeros(1), 1.0, *fields))  # of an empty cell of sparse rows
    if is_sparse(x) and is_large.any():
        return sum_with_dense_columns(
            lambda x, columns: sum_of_logs(x, *(field[:, columns] for field in fields), student=student),
            x.tocsr(),
            is_large,
        )
    table = np.empty((x.shape[0], len(loc)))
    if is_sparse(x):
        columns = (contiguous(field.T) for field in (loc, slope, weight))
        _compiled.stored_logs(*csr_arrays(x), *columns, student, table)
        table += cell(np.zeros(1), 1.0, *fields).sum(1)
    elif student:
        alike = bool((weight == weight[:, :1]).all())
        _compiled.sum_logs(contiguous(x), *map(contiguous, fields), alike, table)
    else:
        _compiled.sum_squares(contiguous(x), *map(contiguous, (loc, slope, level)), table)
    far = np.flatnonzero(~np.isfinite(table).all(1))  # a product of squares beyond 1e308
    if len(far):
        table[far] = sum_over_cells_of(cell, x[far], 1.0, fields)
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
    total = np.empty(len(at))
    if not use_compiled_loop(_OWN * x.size):
        return sum_over_own(_cell(student, -1), x, at, y, total, fields)
    from . import _compiled

    _compiled.sum_own(contiguous(x), at, y, *map(contiguous, fields), student, total)
    return total
