"""Tables (n, c) of many rows at once: cells of few levels, rows of counts, normal and Student densities.

Few rows are summed by the formula of a cell, many by loops that take the same terms.
"""

import functools
from collections.abc import Callable, Sequence
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

    # the power of two above the largest cell: for 5 it is 8, as `bit_length` of 5 is 3, and 2³ is 8
    levels = max(2, 2 ** int(largest).bit_length())

    # a table serves if it has no more entries for a class than there are cells, and is not too large
    saves_work = levels == 2 or levels * x.shape[1] <= cells.size
    is_small_enough = levels * parameters <= _MAX_NUMBERS_OF_TABLE
    return levels if saves_work and is_small_enough else 0


def look_up(x: Array | Sparse, tables: Float[Array, "*s c d k"]) -> Tables:
    """The sum over the columns of what tables have for the level of each cell: Σ_j tables_cj[x_ij], (…, n, c).

    Sparse rows are mostly empty cells, of level 0. So each row begins with the sum for a row of empty cells, and only
    its stored cells change it:

        Σ_j tables_cj[x_ij] = Σ_j tables_cj[0] + Σ_{stored j} (tables_cj[x_ij] − tables_cj[0]).

    Dense rows have no empty cells: they begin with 0, and every cell adds its own number.

    Parameters
    ----------
    x : (n, d) levels 0 … k − 1; any other cell is missing, and an empty cell of sparse rows has level 0
    tables : a number for each class, column and level, such as a log density. A level that no row of a class has may
        have no finite value in it
    """

    # this sum over some of the columns only, whose cells are given dense or sparse
    def look_up_columns(cells: Array | Sparse, columns: np.ndarray) -> Tables:
        return look_up(cells, tables[..., columns, :])

    # Terms of 10¹² nats of empty cells would lose digits when they are added and subtracted again: such columns are
    # made dense.
    is_large = has_large_terms(tables[..., 0])  # (d,)
    if is_sparse(x) and is_large.any():
        return sum_with_dense_columns(look_up_columns, x.tocsr(), is_large)

    # s draws of c tables are s·c tables, as two draws of three classes are six
    *lead, d, k = tables.shape  # `lead` is (…, c)
    flat = tables.reshape(-1, d, k)  # (s·c, d, k)

    # what an empty cell has; a number that is not finite is left out, as no row of the class has such a cell
    empty = np.zeros((len(flat), d, 1))
    if is_sparse(x):
        empty = np.where(np.isfinite(flat[..., :1]), flat[..., :1], 0)

    # each row begins as a row of empty cells; then the changes of its cells are added
    table = np.tile(empty.sum((1, 2)), (x.shape[0], 1))  # (n, s·c)
    change_of_cell = np.concatenate([flat - empty, -empty], -1)  # (s·c, d, k + 1): at each level, last where missing
    _add_changes(x, change_of_cell, table)

    # the s·c columns split again, (n, s·c) → (n, …, c), and the rows moved in front of the classes, (…, n, c)
    return np.moveaxis(table.reshape(-1, *lead), 0, -2)


def _add_changes(x: Array | Sparse, changes: Float[np.ndarray, "c d levels"], table: Float[np.ndarray, "n c"]) -> None:
    """Add to each row of a table what its cells change: table_ic += Σ_j changes_cj[x_ij], in place.

    The changes are put into a matrix with a row for each column and level. For two columns with the levels 0 and 1 it
    has the rows

        (column 0: level 0, level 1, missing; column 1: level 0, level 1, missing),

    and the cells (1, NaN) of a row of data take the rows 1 and 5 of it.

    Parameters
    ----------
    x : (n, d) dense rows, or sparse rows, of which the stored cells are taken
    changes : of each class, column and level 0, 1, …; the last entry is that of a missing cell
    table : to which the changes are added
    """
    n_classes, d, n_levels = changes.shape
    of_missing = n_levels - 1  # the number of the last entry
    change_of_level = contiguous(changes.reshape(n_classes, -1).T)  # (d · n_levels, c)

    ends, columns, cells = csr_arrays(x)  # row i has the cells ends[i] … ends[i + 1] − 1
    if use_compiled_loop(cells.size * n_classes):  # much work
        from . import _compiled

        _compiled.look_up(ends, columns, cells, change_of_level, of_missing, table)  # adds to `table`
        return

    # the row of `change_of_level` that each cell takes
    is_level = (cells >= 0) & (cells < of_missing)  # False for NaN
    level = np.where(is_level, cells, of_missing).astype(np.intp)
    column = np.tile(np.arange(d), len(table)) if columns is None else columns.astype(np.intp)  # None: dense rows
    position = level + n_levels * column

    # Sums over the cells of each row: the product with a sparse matrix that has a 1 for each of them. In the example it
    # has the row (0, 1, 0, 0, 0, 1).
    takes = sparse.csr_array((np.ones(position.size), position, ends), (len(table), len(change_of_level)))
    table += takes @ change_of_level


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
    """Log density of rows of counts under the Dirichlet–multinomial of each class, but for the multinomial coefficient.

    It is Σ_j log α_j^(x_j) − log A^(L), (n, c). a^(x) = Γ(a + x)/Γ(a) is the rising factorial, A = Σ_j α_j, and L is
    the sum of the row. In leave-one-out a row leaves the class with its weight w: its counts are taken out of the
    concentrations again, α − w x instead of α.

    Parameters
    ----------
    x : (n, d) counts, dense or sparse
    alpha : concentrations of each class
    w : (n, c) weights with which rows leave the classes; None where none does
    """
    weights = w.toarray() if is_sparse(w) else w
    total = alpha.sum(-1)  # A, (c,)

    # Many cells: a loop, which multiplies up to sixteen factors a + t before it takes a logarithm. So concentrations
    # must lie between 1e-18 and 1e18, for products of sixteen factors to stay in the range of floats.
    n_cells = x.nnz if is_sparse(x) else x.size
    is_much = namespace(x, alpha, weights) is np and use_compiled_loop(_COST_OF_FORMULA * n_cells * len(alpha))
    if is_much and alpha.min() > _SMALLEST_FACTOR and 1 / total.max() > _SMALLEST_FACTOR:
        from ._compiled import rising

        table = np.empty((x.shape[0], len(alpha)))
        contiguous_weights = None if weights is None else np.ascontiguousarray(weights, float)
        rising(*csr_arrays(x), contiguous(alpha.T), total, contiguous_weights, table)  # fills `table`
        return table

    # log (α − w x)^(x), of a cell or of a whole row; `remove_row` is α − w x, kept above 0 against rounding
    def log_rising_without_row(x: Array, w: Any, alpha: Array) -> Array:
        return log_rising(remove_row(alpha, w * x), x)

    # few cells: the formula
    length = row_totals(x)[:, None]  # L, (n, 1)
    weights = 0 * length if weights is None else weights  # (n, 1) or (n, c); 0 if no row leaves
    numerator = sum_over_cells_of(log_rising_without_row, x, weights, (alpha,))  # Σ_j over the columns, (n, c)
    denominator = log_rising_without_row(length, weights, total)
    return numerator - denominator


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
    """The formula of a cell's log density, as a function (x, not used, loc, slope, weight, level) → numbers.

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
    log_density_of_cell = _cell(student, 1)  # the formula: (x, not used, loc, slope, weight, level) → numbers
    fields = np.broadcast_arrays(loc, *terms)  # loc, slope, weight and level, (c, d) each

    # few cells: the formula. A loop is worth loading for much work, cells times classes times the cost of a term
    n_cells = x.nnz if is_sparse(x) else x.size
    cost = _COST_OF_LOG if student else _COST_OF_SQUARE
    if not use_compiled_loop(cost * n_cells * len(loc)):
        return sum_over_cells_of(log_density_of_cell, x, 1.0, fields)

    # many cells: a loop
    table = _sum_of_logs_of_sparse(x, fields, student) if is_sparse(x) else _sum_of_logs_of_dense(x, fields, student)

    # The loop multiplies factors 1 + v, and a product beyond 1e308 is infinite: such rows take the formula.
    far = np.flatnonzero(~np.isfinite(table).all(1))
    if len(far):
        table[far] = sum_over_cells_of(log_density_of_cell, x[far], 1.0, fields)
    return table


def _sum_of_logs_of_dense(x: np.ndarray, fields: Sequence[np.ndarray], student: bool) -> Float[np.ndarray, "n c"]:
    """`sum_of_logs` of many dense rows (n, d), by a compiled loop; not finite in a row where a product overflows.

    Parameters
    ----------
    fields : loc, slope, weight and level, (c, d) each
    student : False for normal densities
    """
    from . import _compiled

    loc, slope, weight, level = map(contiguous, fields)
    table = np.empty((len(x), len(loc)))
    if student:
        has_one_weight = bool((weight == weight[:, :1]).all())  # in each class: factors may share a logarithm
        _compiled.sum_logs(contiguous(x), loc, slope, weight, level, has_one_weight, table)  # fills `table`
    else:
        _compiled.sum_squares(contiguous(x), loc, slope, level, table)  # fills `table`
    return table


def _sum_of_logs_of_sparse(x: Sparse, fields: Sequence[np.ndarray], student: bool) -> Float[np.ndarray, "n c"]:
    """`sum_of_logs` of many sparse rows (n, d), by a compiled loop: an empty row, and what its stored cells change.

    Parameters
    ----------
    fields : loc, slope, weight and level, (c, d) each
    student : False for normal densities
    """
    from . import _compiled

    # this sum over some of the columns only, whose cells are given dense or sparse
    def sum_over_columns(cells: Array | Sparse, columns: np.ndarray) -> Tables:
        return sum_of_logs(cells, *(field[:, columns] for field in fields), student=student)

    # Empty cells with terms of 10¹² nats: adding and subtracting these would lose digits, so columns that have some
    # are made dense. `_cell` is the formula, here at the cell 0.
    log_density_of_empty = _cell(student, 1)(np.zeros(1), 1.0, *fields)  # (c, d)
    is_large = has_large_terms(log_density_of_empty)
    if is_large.any():
        return sum_with_dense_columns(sum_over_columns, x.tocsr(), is_large)

    # the loop fills `table` with what the stored cells change in an empty row; it reads the fields as (d, c)
    loc, slope, weight, _ = (contiguous(field.T) for field in fields)
    table = np.empty((x.shape[0], loc.shape[1]))
    _compiled.stored_logs(*csr_arrays(x), loc, slope, weight, student, table)
    return table + log_density_of_empty.sum(1)


def sum_of_own(
    x: Real[np.ndarray, "n d"],
    at: Int[np.ndarray, " m"],
    y: Int[np.ndarray, " m"],
    fields: tuple[Float[np.ndarray, "c d"], ...],
    student: bool,
) -> Float[np.ndarray, " m"]:
    """The log density of rows under their own class without them, (m,): of each row, the data of its class but itself.

    It is Σ_j level_yj + weight_yj log(1 − v) over the observed cells, with v = ((x_ij − loc_yj) slope_yj)². Here loc
    and slope are those of the data that still hold the row: taking the row out of them turns the + v of a new row into
    − v. Normal densities have −v for the logarithm.

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
