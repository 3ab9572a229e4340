"""Tables (n, c) of many rows at once: cells of few levels, rows of counts, normal and Student densities.

Few rows are summed by the formula of a cell, many by loops that take the same terms.
"""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from ..numerics.arrays import Array, Data, Float, Int, Real, Sparse, Table, Tables, Weights, is_sparse
from ..numerics.special import LOG_2PI, gammaln, is_whole, log_normal, log_rising, namespace
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

_MAX_LEVELS = 64
_MAX_NUMBERS_OF_TABLE = 1 << 21  # of a table of levels
_N_FACTORIALS = 1 << 10  # whole counts below have their log factorial looked up
_SMALLEST_FACTOR = 1e-18  # of those of which sixteen can be multiplied, and the inverse of the largest
_COST_OF_FORMULA = 32  # how much longer the formula takes for a cell and class than NumPy for a simple sum
# cells of other sums that take as long as one with a logarithm, one in its row's own class, and one with a square
_COST_OF_LOG = 6
_COST_OF_OWN_CLASS = 16
_COST_OF_SQUARE = 2


# --- cells of few levels: a formula is tabulated once a level, and looked up ------------------------------------------


def n_levels(x: Array | Sparse, parameters: int) -> int:
    """How many levels to tabulate for whole cells from 0 on, a power of two; 0 where a table would not serve.

    Parameters
    ----------
    x : (n, d) cells; NaN is missing
    parameters : number of classes times features
    """
    # levels are whole numbers from 0 to less than `_MAX_LEVELS`
    cells = x.data if is_sparse(x) else x
    largest = np.fmax.reduce(cells, None, initial=0)  # NaN is skipped
    smallest = np.fmin.reduce(cells, None, initial=0)
    if smallest < 0 or largest >= _MAX_LEVELS or not is_whole(cells):
        return 0

    # A table serves if it has no more entries for a class than there are cells, and is not too large. The largest cell
    # 5 gives 8 levels: `bit_length` of 5 is 3, and 1 << 3 is 8.
    levels = max(2, 1 << int(largest).bit_length())  # the power of two above the largest cell
    saves_work = levels == 2 or levels * x.shape[1] <= cells.size
    is_small_enough = levels * parameters <= _MAX_NUMBERS_OF_TABLE
    return levels if saves_work and is_small_enough else 0


def look_up(x: Array | Sparse, tables: Float[Array, "*s c d k"]) -> Tables:
    """The sum over the columns of what tables have for the level of each cell: Σ_j tables_cj[x_ij], (…, n, c).

    Each row starts with the sum for a row of empty cells, and each cell changes it by the difference to an empty one.
    The changes are put into a matrix with a row for each column and level. For two columns with the levels 0 and 1 it
    has the rows

        (column 0: level 0, level 1, missing; column 1: level 0, level 1, missing),

    and the cells (1, NaN) of a row of data take the rows 1 and 5 of it.

    Parameters
    ----------
    x : (n, d) levels 0 … k − 1; any other cell is missing, and an empty cell of sparse rows has level 0
    tables : a number for each class, column and level, such as a log density. A level that no row of a class has may
        have no finite value in it
    """
    # Terms of 10¹² nats of empty cells would lose digits when they are added and subtracted again: such columns are
    # made dense.
    is_large = has_large_terms(tables[..., 0])  # (d,)
    if is_sparse(x) and is_large.any():
        return sum_with_dense_columns(lambda x, columns: look_up(x, tables[..., columns, :]), x.tocsr(), is_large)

    # draws and classes as one axis, s·c, which is split again at the end
    *lead, d, k = tables.shape
    flat = tables.reshape(-1, d, k)  # (s·c, d, k)
    n = x.shape[0]

    # What a row of empty cells has, level 0 in all columns; dense rows have no empty cells. A term that is not finite
    # is left out: no row of the class has such a cell.
    empty = np.zeros((len(flat), d, 1))
    if is_sparse(x):
        empty = np.where(np.isfinite(flat[..., :1]), flat[..., :1], 0)
    table = np.tile(empty.sum((1, 2)), (n, 1))  # (n, s·c)

    # what a cell changes at each of its levels, and last what a missing cell does
    changes = np.concatenate([flat - empty, -empty], -1)  # (s·c, d, k + 1)
    change_of_level = contiguous(changes.reshape(len(flat), -1).T)  # (d·(k + 1), s·c)

    ends, columns, cells = csr_arrays(x)  # row i has the cells ends[i] … ends[i + 1] − 1
    if use_compiled_loop(cells.size * len(flat)):
        from . import _compiled

        _compiled.look_up(ends, columns, cells, change_of_level, k, table)  # adds to `table`
    else:
        # the row of `change_of_level` that each cell takes
        columns = np.tile(np.arange(d), n) if columns is None else columns.astype(np.intp)
        level = np.where((cells >= 0) & (cells < k), cells, k).astype(np.intp)  # k for a missing cell
        position = level + (k + 1) * columns  # each column has k + 1 rows there, the last one for missing cells

        # sums over the cells of each row: the product with a sparse matrix that has a 1 for each of them
        takes = sparse.csr_array((np.ones(position.size), position, ends), (n, len(change_of_level)))
        table += takes @ change_of_level

    # (n, s·c) → (n, …, c) → (…, n, c)
    return np.moveaxis(table.reshape(-1, *lead), 0, -2)


# --- rows of counts under Dirichlet–multinomials: a^(x) = Γ(a+x)/Γ(a) is a rising factorial ---------------------------


def log_factorial(count: Array) -> Array:
    """log x! of each count; many small whole counts on the host are looked up, which is ten times as fast."""
    # a table of log 0! … log 1023!, if all counts are whole and in it
    are_many = namespace(count) is np and count.size > _N_FACTORIALS
    if are_many and count.min() >= 0 and count.max() < _N_FACTORIALS:
        whole_count = count.astype(np.int32)  # fractions are cut off, so the comparison tells whether all are whole
        if np.array_equal(whole_count, count):
            return _log_factorials(count.dtype).take(whole_count)
    return gammaln(count + 1.0)  # 1.0, because a byte has no 256


@functools.cache
def _log_factorials(dtype: Any) -> np.ndarray:
    """log 0!, log 1!, log 2! … in a precision; made once."""
    return gammaln(np.arange(1, _N_FACTORIALS + 1, dtype=dtype))


def log_coefficient(x: Data) -> Float[Array, " n"]:
    """The log multinomial coefficient of each row of counts, log L!/Π_j x_j!, with L the sum of the row.

    It is the number of orders in which the events of a row may have come.

    Parameters
    ----------
    x : (n, d) counts, dense or sparse
    """
    # many cells: a compiled loop, which looks up log x! of whole counts in a table
    n_cells = x.nnz if is_sparse(x) else x.size
    if namespace(x) is np and use_compiled_loop(8 * n_cells):
        from ._compiled import log_coefficient

        coefficients = np.empty(x.shape[0])
        ends, _, cells = csr_arrays(x)
        log_coefficient(ends, cells, _log_factorials(np.float64), coefficients)  # fills `coefficients`
        return coefficients

    # few cells: log Γ(L + 1) − Σ_j log x_j!; `map_cells` applies a function to each cell, dense or sparse
    return gammaln(row_totals(x) + 1) - row_totals(map_cells(x, log_factorial))


def log_polya(x: Data, alpha: Float[Array, "c d"], w: Weights | None = None) -> Table:
    """Log density of counts under Dirichlet–multinomials but for the coefficient: Σ_j log α_j^(x_j) − log A^(L).

    a^(x) = Γ(a + x)/Γ(a) is the rising factorial, A = Σ_j α_j, and L is the sum of the row. A row with weight w_ic in
    class c has added w_ic x to the concentrations there. If it leaves, α − w x stands for α: it is the density of the
    row under the data without it.

    Parameters
    ----------
    x : (n, d) counts, dense or sparse
    alpha : concentrations of each class
    w : (n, c) weights with which rows leave the classes; None where none does
    """
    weights = w.toarray() if is_sparse(w) else w
    total = alpha.sum(-1)  # A, (c,)
    n_cells = x.nnz if is_sparse(x) else x.size

    # Many cells: a loop, which multiplies up to sixteen factors a + t before it takes a logarithm. So concentrations
    # must lie between 1e-18 and 1e18, for products of sixteen factors to stay in the range of floats.
    uses_loop = namespace(x, alpha, weights) is np and use_compiled_loop(_COST_OF_FORMULA * n_cells * len(alpha))
    if uses_loop and alpha.min() > _SMALLEST_FACTOR and 1 / total.max() > _SMALLEST_FACTOR:
        from ._compiled import rising

        table = np.empty((x.shape[0], len(alpha)))
        contiguous_weights = None if weights is None else np.ascontiguousarray(weights, float)
        rising(*csr_arrays(x), contiguous(alpha.T), total, contiguous_weights, table)  # fills `table`
        return table

    def log_rising_without_row(x: Array, w: Any, alpha: Array) -> Array:
        return log_rising(remove_row(alpha, w * x), x)  # log (α − w x)^(x)

    # few cells: the formula
    length = row_totals(x)[:, None]  # L, (n, 1)
    weights = 0 * length if weights is None else weights  # (n, 1) or (n, c); 0 if no row leaves
    of_kinds = sum_over_cells_of(log_rising_without_row, x, weights, (alpha,))  # (n, c)
    return of_kinds - log_rising_without_row(length, weights, total)


# --- normal and Student densities -------------------------------------------------------------------------------------


def log_normal_sum(x: Data, mu: Float[Array, "*s c d"], sd: Float[Array, "*#s #c d"]) -> Tables:
    """Log density of rows under independent normals, Σ_j log Normal(x_ij; μ_cj, s_cj²), (…, n, c) in nats.

    Parameters
    ----------
    x : (n, d) dense or sparse rows; NaN is a missing cell, which is left out
    mu, sd : means and standard deviations; leading axes are draws
    """
    if mu.ndim > 2 or namespace(x, mu, sd) is not np:  # draws, or JAX: the formula for each cell
        return sum_over_features(log_normal, x, mu, sd)

    # log Normal(x; μ, s²) = −½ log 2π − log s − ½ ((x − μ)/s)² is level + weight v, with v = ((x − μ) slope)²,
    # slope = √½/s and weight −1
    slope = np.sqrt(0.5) / sd
    weight = np.array(-1.0)
    level = -0.5 * LOG_2PI - np.log(sd)
    return sum_of_logs(x, mu, slope, weight, level, student=False)


def _cell(student: bool, sign: int) -> Callable[..., Array]:
    """The log density of a cell as a function of the cell, its weight (not used), and loc, slope, weight and level.

    It is level + weight log(1 ± v) with v = ((x − loc) slope)²; of normal densities level ± weight v.

    Parameters
    ----------
    student : whether it is a Student density, which has the logarithm
    sign : 1 or −1, for ±
    """

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
    """Log density of rows under independent Student or normal distributions, over the observed cells, on the host.

    It is Σ_j level_cj + weight_cj log(1 + v), v = ((x_ij − loc_cj) slope_cj)². Many cells are summed by compiled loops,
    few by the formula.

    Parameters
    ----------
    x : dense or sparse rows; NaN is a missing cell
    loc : centres
    terms : slope, weight and level, which broadcast to the shape of `loc`
    student : False for normal densities, which have v for the logarithm and the weight −1
    """
    cell = _cell(student, 1)  # the formula: (x, not used, loc, slope, weight, level) → log density of cells
    fields = np.broadcast_arrays(loc, *terms)  # (c, d) each
    loc, slope, weight, level = fields

    # few cells: the formula. A loop is worth loading for much work, cells times classes times the cost of a term
    n_cells = x.nnz if is_sparse(x) else x.size
    cost = _COST_OF_LOG if student else _COST_OF_SQUARE
    if not use_compiled_loop(cost * n_cells * len(loc)):
        return sum_over_cells_of(cell, x, 1.0, fields)
    from . import _compiled

    # Empty cells of sparse rows with terms of 10¹² nats: adding and subtracting these would lose digits, so columns
    # that have some are made dense.
    empty = cell(np.zeros(1), 1.0, *fields)  # (c, d)
    is_large = has_large_terms(empty)
    if is_sparse(x) and is_large.any():
        return sum_with_dense_columns(
            lambda x, columns: sum_of_logs(x, *(field[:, columns] for field in fields), student=student),
            x.tocsr(),
            is_large,
        )

    # Each loop fills `table`; that of sparse rows with what the stored cells change in an empty row.
    table = np.empty((x.shape[0], len(loc)))
    if is_sparse(x):
        columns = (contiguous(field.T) for field in (loc, slope, weight))
        _compiled.stored_logs(*csr_arrays(x), *columns, student, table)
        table += empty.sum(1)
    elif student:
        has_one_weight = bool((weight == weight[:, :1]).all())  # in each class: factors may share a logarithm
        _compiled.sum_logs(contiguous(x), *map(contiguous, fields), has_one_weight, table)
    else:
        _compiled.sum_squares(contiguous(x), *map(contiguous, (loc, slope, level)), table)

    # The loop multiplies factors 1 + v, and a product beyond 1e308 is infinite: such rows take the formula.
    far = np.flatnonzero(~np.isfinite(table).all(1))
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
    """The log density of rows in a class that they have left: Σ_j level_yj + weight_yj log(1 − v) over observed cells.

    v = ((x_ij − loc_yj) slope_yj)², with loc and slope of the data that still hold the row: taking the row out of them
    turns the + v of a new row into − v. Normal densities have −v for the logarithm.

    Parameters
    ----------
    x : (n, d) rows; NaN is a missing cell
    at, y : the rows by their positions in x, and the class that each has left
    fields : loc, slope, weight and level
    student : False for normal densities
    """
    # few cells: the formula, row by row in the row's own class
    total = np.empty(len(at))
    if not use_compiled_loop(_COST_OF_OWN_CLASS * x.size):
        no_weights = total  # the formula does not read them
        return sum_over_own(_cell(student, -1), x, at, y, no_weights, fields)
    from . import _compiled

    _compiled.sum_own(contiguous(x), at, y, *map(contiguous, fields), student, total)  # fills `total`
    return total
