"""Rows, dense or sparse: sums over their cells and by class, and how they are cut into slices for all cores.

Rows are cut here, and nowhere else: statistics of slices are added, tables are put side by side. NumPy, SciPy and the
compiled loops let go of Python's lock while they compute, so threads are enough: nothing is copied or pickled. What is
computed does not depend on the number of threads.

Each loop of `_compiled` stands for a formula of this package, which is its slow twin in the tests: the function that a
page calls decides between the two by the work at hand. `_compiled` imports numba, and is imported where it is used.
"""

import contextvars
import copy
import functools
import operator
import os
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeAlias, TypeGuard, TypeVar

import numpy as np
from scipy import sparse

from ..numerics.arrays import (
    Array,
    Data,
    Float,
    Int,
    Real,
    Scalar,
    Shaped,
    Sparse,
    Table,
    Tables,
    Value,
    Weights,
    is_sparse,
)
from ..numerics.special import is_whole, namespace

_CELLS_OF_SLICE = 1 << 21  # worked on at a time: 16 MiB of float64; with fewer Python takes longer than NumPy
_CELLS_FOR_A_CORE = 1 << 18  # cells that are worth a second core
_CELLS_IN_CACHE = 1 << 15  # cells that stay in a core's cache
_MAX_CLASSES_OF_BYTE_LOOP = 16  # for which a loop over bytes is faster than a product of what they are converted to

WORTH = 1 << 23  # cells times classes from which on loops are loaded, eight for a cell of a fit: NumPy takes some 20 ms

_SMALL_SHARE = 1e-3  # of a weight: what remains of it loses digits as a difference where it is less
_LARGE_TERM = 1e3  # nats of an empty cell; adding and subtracting less than this loses 1e-13
_MAX_CORRECTION = 16.0  # squares of the correction over what it leaves, from where on it would cost digits
Triple: TypeAlias = tuple[Array, Array, Array]  # weight, mean, and squares or cross products about the mean

Rows: TypeAlias = Mapping[str, Any]
Sum = TypeVar("Sum")
Piece = TypeVar("Piece")
Result = TypeVar("Result")


# --- sums over cells --------------------------------------------------------------------------------------------------


def is_missing_free(x: Array | Sparse) -> bool:
    """Whether rows on the host are known to have no missing cell; False under a JAX trace, where nobody can look."""
    return namespace(x) is np and (is_sparse(x) or x.dtype.kind != "f" or not np.isnan(x).any())


def matmul(x: Array | Sparse, weights: Float[Array, "*s c d"]) -> Tables:
    """The products of rows with a weight vector of each class: Σ_j x_ij w_cj, for dense or sparse rows.

    Parameters
    ----------
    x : (n, d) rows
    weights : (…, c, d) weights of c classes; axes in front of the classes, such as draws, are kept

    Returns
    -------
    (…, n, c)
    """
    # Dense numbers: the product that NumPy or JAX has, x (n, d) times (…, d, c). Dense bytes are left for below,
    # because NumPy would first copy all of them as floats; JAX would not.
    if not is_sparse(x) and (x.dtype != np.uint8 or namespace(weights) is not np):
        return x @ weights.swapaxes(-1, -2)

    # Sparse rows and bytes are read once for all draws: s draws of c weight vectors are s·c vectors of one product.
    # `_unfolded` splits the last axis of its result again, (n, s·c) → (s, n, c).
    flat = weights.reshape(-1, weights.shape[-1])  # (s·c, d)
    table = _product_of_sparse(x, flat) if is_sparse(x) else _product_of_bytes(x, flat)  # (n, s·c)
    return _unfolded(table, weights.shape[:-1])


def _product_of_bytes(x: Array, weights: Array) -> Array:
    """x weightsᵀ, (n, c), of dense bytes x (n, d) and weights (c, d).

    NumPy multiplies floats only, so it needs a copy of all cells as floats. For few classes a loop over the bytes is
    faster.
    """
    # many classes, or too little work to load the loop for: NumPy's product of floats
    n_classes = len(weights)
    if n_classes > _MAX_CLASSES_OF_BYTE_LOOP or not use_compiled_loop(x.size * n_classes):
        return x.astype(weights.dtype) @ weights.T

    from ._compiled import byte_product

    table = np.empty((len(x), n_classes))
    byte_product(contiguous(x), contiguous(weights), table)  # fills `table`
    return table


def _product_of_sparse(x: Sparse, weights: Array) -> Array:
    """x weightsᵀ, (n, c), of sparse rows x (n, d) and weights (c, d): by a loop where many CSR cells are stored.

    The loop's time follows the stored cells, and it runs without Python's lock, so that threads can share the rows.
    """
    # the loop reads the CSR format only, and is worth loading for much work; otherwise SciPy's product
    n_classes = len(weights)
    if x.format != "csr" or not use_compiled_loop(x.nnz * n_classes):
        return x @ weights.T

    from ._compiled import stored_product

    table = np.zeros((x.shape[0], n_classes))
    stored_product(x.indptr, x.indices, contiguous(x.data), contiguous(weights.T), table)  # adds to `table`
    return table


def _unfolded(table: Array, lead: tuple[int, ...]) -> Array:
    """A table (n, s·c) as (…, n, c): undoes the folding of the axes (…, c), draws and classes, into one.

    With 2 draws and 3 classes, a table (n, 6) is reshaped to (n, 2, 3), and the axis of rows moved to (2, n, 3).

    Parameters
    ----------
    lead : lengths of the axes (…, c) that were folded
    """
    by_row = table.reshape(table.shape[0], *lead)  # (n, …, c)
    return namespace(table).moveaxis(by_row, 0, -2)  # the rows in front of the last axis


def contract(
    x: Array | Sparse, slope: Float[Array, "*s c d"], level: Float[Array, "*s c d"], total: Any = None
) -> Tables:
    """Sums over the observed cells of functions that are linear in a cell: Σ_j (slope_cj · x_ij + level_cj), (…, n, c).

    Parameters
    ----------
    x : (n, d) dense or sparse rows; NaN is a missing cell
    slope, level : (…, c, d) of each class and feature
    total : (…, c) Σ_j level_cj, if it is known already
    """
    xp = namespace(x)  # numpy, or jax.numpy for JAX arrays
    if is_missing_free(x):  # every row has all levels
        sum_of_levels = level.sum(-1) if total is None else total  # (…, c)
        return matmul(x, slope) + sum_of_levels[..., None, :]  # (…, n, c) + (…, 1, c)

    # A missing cell adds neither: its x is 0 in the first product, its indicator is 0 in the second.
    is_observed = ~xp.isnan(x)
    return matmul(xp.where(is_observed, x, 0), slope) + matmul(is_observed.astype(level.dtype), level)


def sum_over_features(f: Callable[..., Array], x: Data, *fields: Array) -> Tables:
    """Sums of a function of a cell over the observed cells of each row, for each class: Σ_j f(x_ij, *fields_cj).

    Such a function is the log density of a cell. The result is (…, n, c).

    Parameters
    ----------
    f : a cell and the fields of a class and feature → a term, for arrays that broadcast
    x : (n, d) rows
    fields : parameters of each class and feature, (…, c, d) each; axes in front of the classes, such as draws, lead
        the result
    """
    # s draws of c classes are s·c "classes" for the sum, as two draws of three classes are six
    shape = fields[0].shape  # (…, c, d)
    xp = namespace(*fields)  # numpy, or jax.numpy for JAX arrays
    flat = tuple(xp.broadcast_to(field, shape).reshape(-1, shape[-1]) for field in fields)  # (s·c, d) each

    # the sum hands over the weight of a cell too, which f does not take
    def f_without_weight(cells: Array, _: Any, *values: Array) -> Array:
        return f(cells, *values)

    table = sum_over_cells_of(f_without_weight, x, 1.0, flat)  # (n, s·c)
    return _unfolded(table, shape[:-1])  # the s·c columns split again, (s, n, c)


def sum_over_cells_of(f: Callable[..., Any], x: Data, w: Any, fields: tuple[Array, ...]) -> Table:
    """Sums of a function of a cell over the observed cells of each row, for each class: Σ_j f(x_ij, w_ic, *fields_cj).

    Such a function is the log density of a cell; in a missing cell it may have any value. The result is (n, c).
    On the host it is made some rows at a time, so that temporary arrays stay in a core's cache.

    Parameters
    ----------
    f : cells, their weights and fields, which broadcast → terms; of sparse rows with weights f(0) = 0
    x : (n, d) dense or sparse rows; NaN is a missing cell
    w : one weight, or weights (n, c) or (n, 1); a missing cell has weight 0
    fields : parameters of each class and feature, (c, d, …) each
    """
    if is_sparse(x):  # time and memory of the stored cells only
        return _sum_over_stored(f, x.tocsr(), w, fields)

    # f makes a term for each row, class and feature, (n, c, d): cells are (n, 1, d), and fields (1, c, d, …)
    row_fields = [field[None] for field in fields]
    if namespace(x, *fields) is not np:  # JAX, all rows at once: under `jit` no array (n, c, d) is made
        return _sum_over_traced_cells(f, x, w, row_fields)

    # NumPy, some rows at a time: slices so short that arrays (rows, c, d) have about 2¹⁵ cells
    n_classes = fields[0].shape[0]
    table = np.empty((len(x), n_classes))
    with np.errstate(invalid="ignore", divide="ignore"):  # of a missing cell
        for part in slices(len(x), fields[0].size, _CELLS_IN_CACHE):
            weight = w[part][..., None] if np.ndim(w) else w  # (rows, c, 1), or a number
            table[part] = _sum_over_dense_cells(f, x[part], weight, row_fields)
    return table


def _sum_over_traced_cells(f: Callable[..., Array], x: Array, w: Any, fields: Sequence[Array]) -> Array:
    """Σ_j f over the observed cells of dense rows, (n, c), in JAX, where no value may decide what is computed.

    Parameters
    ----------
    f : cells (n, 1, d), weights and fields → terms (n, c, d)
    x : (n, d); NaN is a missing cell
    w : one weight, or weights (n, c) or (n, 1)
    fields : parameters of each class and feature, (1, c, d, …) each
    """
    xp = namespace(x, *fields)  # jax.numpy
    is_observed = ~xp.isnan(x)[:, None]  # (n, 1, d)
    weight = xp.asarray(w)[..., None] if np.ndim(w) else w  # (n, c, 1), or a number

    # f gets 1 for a missing cell, a value that every distribution has; its term is then dropped
    terms = f(xp.where(is_observed, x[:, None], 1), is_observed * weight, *fields)  # (n, c, d)
    return xp.where(is_observed, terms, 0).sum(-1)


def _sum_over_dense_cells(f: Callable[..., Array], x: np.ndarray, weight: Any, fields: Sequence[Array]) -> np.ndarray:
    """Σ_j f over the observed cells of a few dense rows, (n, c).

    Parameters
    ----------
    f : cells (n, 1, d), weights and fields → terms (n, c, d)
    x : (n, d)
    weight : (n, c, 1), or a number
    fields : parameters of each class and feature, (1, c, d, …) each
    """
    is_observed = ~np.isnan(x)[:, None]  # (n, 1, d)
    if is_observed.all():
        return f(x[:, None], weight, *fields).sum(-1)

    # f gets 1 for a missing cell, a value that every distribution has; its term is then dropped
    terms = f(np.where(is_observed, x[:, None], 1), weight, *fields)
    return np.where(is_observed, terms, 0).sum(-1)


def sum_over_own(
    f: Callable[..., Array],
    x: Real[np.ndarray, "n d"],
    at: Int[np.ndarray, " m"],
    y: Int[np.ndarray, " m"],
    w: Float[np.ndarray, " m"],
    fields: Sequence[Array],
) -> Float[np.ndarray, " m"]:
    """Sums over the observed cells of rows, each in one class only: Σ_j f(x_ij, w, *fields_yj) for i = at, (m,).

    Parameters
    ----------
    f : cells, weights and fields, which broadcast → terms
    x : (n, d) rows
    at, y, w : m rows by their positions in x, the class of each, and the weight that it has there
    fields : parameters of each class and feature, (c, d) each
    """
    total = np.empty(len(at))
    with np.errstate(all="ignore"):  # of a missing cell
        for part in slices(len(at), x.shape[1], _CELLS_IN_CACHE):  # temporary arrays stay in a core's cache
            # each row meets the fields of its own class only, so arrays are (m, d) and not (m, c, d)
            cells = x[at[part]]  # (m, d)
            labels = y[part]  # (m,)
            fields_of_label = [field[labels] for field in fields]  # (m, d) each: row k of a field for the class k

            # f gets 0 for a missing cell; its term is then dropped
            is_observed = ~np.isnan(cells)
            terms = f(np.where(is_observed, cells, 0), w[part, None], *fields_of_label)  # (m, d)
            total[part] = np.where(is_observed, terms, 0).sum(1)
    return total


def _sum_over_stored(f: Callable[..., Array], x: Sparse, w: Any, fields: tuple[Array, ...]) -> Float[np.ndarray, "n c"]:
    """Sums of a function over all cells of sparse rows, Σ_j f(x_ij, w_ic, *fields_cj), (n, c): quick where most are 0.

    Only the stored cells are read; all others are 0. With one weight for all rows, the sum of a row is that of an empty
    row, and what each stored cell changes in it:

        Σ_j f(x_ij) = Σ_j f(0) + Σ_{stored j} [f(x_ij) − f(0)].

    With a weight for each row and class f(0) is 0. Columns in which an empty cell has a large term, above 1000 nats,
    are made dense: such a term, added for all rows and subtracted for stored cells, would cost digits.

    Parameters
    ----------
    f : cells, their weights and fields, which broadcast → terms
    x : (n, d) CSR rows, whose empty cells are 0
    w : one weight, or weights (n, c) or (n, 1)
    fields : parameters of each class and feature, (c, d, …) each
    """
    if np.ndim(w) > 0:  # f(0) is 0
        return _sum_of_stored_changes(f, x, w, fields, None)

    # f(0) of each class and feature, class by class
    with np.errstate(all="ignore"):
        of_classes = [f(np.zeros(1), w, *values) for values in zip(*fields, strict=True)]  # (d,) each
        empty = np.stack(of_classes)  # (c, d)

    # this sum over some of the columns only, whose cells are given dense or sparse
    def sum_over_columns(cells: Any, columns: np.ndarray) -> Tables:
        return sum_over_cells_of(f, cells, w, tuple(field[:, columns] for field in fields))

    # A large f(0) would lose digits when it is added for the empty row and subtracted for a stored cell.
    is_large = has_large_terms(empty)  # (d,)
    if is_large.any():
        return sum_with_dense_columns(sum_over_columns, x, is_large)
    empty = np.where(np.isfinite(empty), empty, 0)  # not finite: no row of the class has an empty cell there
    return empty.sum(1) + _sum_of_stored_changes(f, x, w, fields, empty)


def _sum_of_stored_changes(
    f: Callable[..., Array],
    x: Sparse,
    w: Any,
    fields: tuple[Array, ...],
    empty: Float[np.ndarray, "c d"] | None,
) -> Float[np.ndarray, "n c"]:
    """How much the stored cells of sparse rows change the sum of an empty row: Σ f(x_ij, w_ic, *fields_cj) − empty_cj.

    The sum is over the stored cells of each row, (n, c). It is made for some rows at a time.

    Parameters
    ----------
    f : cells, their weights and fields, which broadcast → terms
    x : (n, d) CSR rows
    w : one weight, or weights (n, c) or (n, 1)
    fields : parameters of each class and feature, (c, d, …) each
    empty : the terms f(0) of empty cells; None if they are 0
    """
    # slices of rows that hold so few stored cells q that arrays (c, q) stay in a core's cache
    n = x.shape[0]
    c = len(fields[0])
    table = np.empty((n, c))
    weights = np.broadcast_to(np.asarray(w, float), (n, c)) if np.ndim(w) else w  # (n, c), or a number
    cells_per_row = _rounded_up(x.nnz, max(n, 1))  # on average
    for part in slices(n, cells_per_row * c, 2 * _CELLS_IN_CACHE):
        cells = csr_slice(x, part)  # m rows with q stored cells: `data` has these, and `indices` their columns

        # what each cell needs, (c, q): the weights of its row, and the fields of its column
        weight = weights
        if np.ndim(w):  # each row of the weights as often as the row has cells
            weight = np.repeat(weights[part], np.diff(cells.indptr), axis=0).T
        fields_of_cells = [field.take(cells.indices, 1) for field in fields]  # (c, q, …) each

        # f(x) − f(0) of each cell
        with np.errstate(invalid="ignore", divide="ignore"):  # of cells that a class never had
            changes = f(cells.data, weight, *fields_of_cells)  # (c, q)
        if empty is not None:
            changes = changes - empty.take(cells.indices, 1)

        # Summed by row, as the product with a matrix (m, q) that has a 1 where a cell belongs to a row: for two rows
        # with 2 and 1 cells [[1, 1, 0], [0, 0, 1]].
        ones = np.ones(cells.nnz)
        is_of_row = sparse.csr_array((ones, np.arange(cells.nnz), cells.indptr), (cells.shape[0], cells.nnz))
        table[part] = is_of_row @ changes.T
    return table


def has_large_terms(empty: Float[np.ndarray, "*k d"]) -> np.ndarray:
    """In which columns (d,) the term of an empty cell must not be added to all rows and subtracted from most again.

    A column whose centre lies 10⁶ spreads from 0 has a term of 10¹² nats in an empty cell, of which the rounding is
    10⁻⁴ nats, also in a row in which the cell is stored. Terms that are not finite are not counted.

    Parameters
    ----------
    empty : (…, d) log densities of an empty cell, in nats
    """
    size = np.where(np.isfinite(empty), abs(empty), 0)  # (…, d)
    all_but_columns = tuple(range(empty.ndim - 1))
    return size.max(all_but_columns, initial=0) > _LARGE_TERM  # the largest of each column


def sum_with_dense_columns(
    table: Callable[[Any, np.ndarray], Tables], x: Sparse, is_dense: np.ndarray
) -> Float[np.ndarray, "*s n c"]:
    """A sum over the columns of CSR rows, some of which are made dense, for a bounded number of rows at a time.

    Parameters
    ----------
    table : (rows (m, k) that hold k columns of x, the numbers of these columns) → their sum, (…, m, c)
    x : (n, d) CSR rows
    is_dense : (d,) which columns are made dense
    """
    dense = np.flatnonzero(is_dense)  # numbers of columns
    others = np.flatnonzero(~is_dense)

    # the columns that are made dense, slice by slice of the rows
    cells = x[:, dense]  # still sparse
    sums = []
    for part in slices(x.shape[0], len(dense)):
        dense_cells = csr_slice(cells, part).toarray()  # (m, k)
        sums.append(table(dense_cells, dense))  # (…, m, c)
    dense_sum = np.concatenate(sums, -2)  # (…, n, c)

    # and those that stay sparse
    if not len(others):
        return dense_sum
    return dense_sum + table(x[:, others], others)


def row_totals(x: Array | Sparse) -> Array:
    """The sum of the cells of each row, L_i = Σ_j x_ij, (n,), of dense or sparse rows (n, d)."""
    return np.asarray(x.sum(axis=1)).ravel() if is_sparse(x) else x.sum(1)


def binarize(x: Real[np.ndarray, "n d"], threshold: Scalar) -> tuple[np.ndarray, bool]:
    """[x > threshold] of each cell as bytes, (n, d), and whether all cells of x are finite.

    Many cells are read once, by a compiled loop that answers both; few are read by NumPy, once for each answer.

    Parameters
    ----------
    x : cells; NaN is not above any threshold
    threshold : cells above it become 1, all others 0
    """
    # The loop takes only floats of 64 bits that lie row by row in memory, and only many of them.
    if x.dtype != np.float64 or not x.flags.c_contiguous or not use_compiled_loop(2 * x.size):
        with np.errstate(over="ignore", invalid="ignore"):
            # a NaN or infinite cell makes the sum NaN or infinite, which is quicker than a look at each cell
            return (x > threshold).view(np.uint8), bool(np.isfinite(x.sum()))

    from . import _compiled  # a loop that reads the cells once for both answers

    # `ravel` gives views of the cells in memory order: the loop fills `table`, and returns whether all cells are finite
    table = np.empty(x.shape, np.uint8)
    return table, _compiled.binarize(x.ravel(), float(threshold), table.ravel())


def map_cells(x: Array | Sparse, f: Callable[[Array], Array]) -> Array | Sparse:
    """f of every cell of dense or sparse rows, of the same form; f(0) is 0, so that empty cells stay empty."""
    if not is_sparse(x):
        return f(x)
    mapped = copy.copy(x)  # the positions of the cells are shared, and need no second check
    mapped.data = f(x.data)
    return mapped


# --- by class ---------------------------------------------------------------------------------------------------------


def one_hot(y: Shaped[np.ndarray, " n"], n_classes: int, weights: Shaped[np.ndarray, " n"] | None = None) -> Sparse:
    """Weights r (n, c) of labels 0 … c−1, as a sparse matrix with one entry a row: r_ic = w_i [y_i = c].

    Parameters
    ----------
    y : class index of each row
    n_classes : c
    weights : w_i of each row, by default 1
    """
    n = len(y)

    # positions of 32 bits where they are enough, as SciPy has them
    index_type: Any = np.int32 if n < 1 << 31 else np.int64

    # The three arrays of the CSR format are set directly: SciPy's constructor would check that they are in order.
    r = sparse.csr_array((n, n_classes))
    r.data = np.ones(n) if weights is None else np.asarray(weights, float)
    r.indices = y.astype(index_type)  # the column of each entry: the class
    r.indptr = np.arange(n + 1, dtype=index_type)  # row i has the single entry i
    return r


def by_class(r: Array | Sparse, table: Array | Sparse) -> Array:
    """The sum of the rows of a table in each class, Σ_i r_ic table_i, as a dense array.

    It is the matrix product rᵀ · table. Where each row has one class it is computed as a sum over cells by position.

    Parameters
    ----------
    r : (n, c) weights of rows in classes
    table : (n, d) dense or sparse; dense tables may have more axes

    Returns
    -------
    (c, d)
    """
    # a matrix product: in JAX, and where a row has several classes
    if namespace(r, table) is not np or table.ndim != 2 or not is_one_hot(r):
        return _product_by_class(r, table)

    # Each row has one class: `indices` are the classes of the rows, and `data` their weights. Much work is done by a
    # loop, which adds to `total`.
    shape = r.shape[1], table.shape[-1]  # (c, d)
    n_cells = table.nnz if is_sparse(table) else table.size
    if use_compiled_loop(8 * n_cells):
        from . import _compiled

        total = np.zeros(shape)
        _compiled.by_class(*csr_arrays(table), r.indices, r.data, total)
        return total
    if not is_sparse(table):
        return _product_by_class(r, table)

    # Few stored cells: `_cells` gives the value of each, its position k d + j in the flat result, for class k and
    # column j, and its weight. `bincount` sums the weighted values by position.
    cells, position, w = _cells(sparse.csr_array(table), r.indices, r.data)  # (q,) each
    flat = np.bincount(position, w * cells, shape[0] * shape[1])
    return flat.astype(r.dtype, copy=False).reshape(shape)


def _product_by_class(r: Array | Sparse, table: Array | Sparse) -> Array:
    """The matrix product rᵀ · table of weights (n, c) and a table (n, d), as a dense array (c, d)."""
    total = r.T @ table
    if is_sparse(total):
        total = total.toarray()
    if not isinstance(total, np.ndarray):  # of JAX
        return total
    return np.ascontiguousarray(total)  # row by row, as files hold it: the last bits of a sum depend on the layout


def levels_by_class(r: Array | Sparse, x: Array | Sparse, levels: int) -> Float[Array, "c d k"]:
    """The weight of each level k in each class and feature, Σ_i r_ic [x_ij = k].

    Parameters
    ----------
    r : (n, c) weights of rows in classes
    x : (n, d) levels 0 … `levels` − 1; other codes are missing, and an empty cell of sparse rows has level 0
    levels : number of levels
    """
    c = r.shape[1]
    d = x.shape[1]
    shape = c, d, levels
    if namespace(r, x) is not np:  # JAX: indicators [x_ij = k], summed by class
        has_level = (x[..., None] == np.arange(levels)).astype(r.dtype)  # (n, d, k)

        # `by_class` is rᵀ times the indicators as a matrix (n, d·k)
        return by_class(r, has_level.reshape(len(x), -1)).reshape(shape)

    # `_with_one_class` repeats a row for each of its classes; y, w: the class of each row, and its weight there
    x, y, w = _with_one_class(x, r)
    if not is_sparse(x) and use_compiled_loop(8 * x.size):
        from . import _compiled

        total: np.ndarray = np.zeros(shape)
        _compiled.levels_by_class(contiguous(x), y, w, total)  # adds to `total`
        return total

    # `_cells` gives each cell the position (class · d + column) in a flat table (c, d). There every position has
    # `levels` positions of the flat result: with 3 levels, level 2 at position 4 has the position 4·3 + 2 = 14.
    # `bincount` sums weights by position. Missing cells count as level 0 with weight 0.
    cells, position, cell_weight = _cells(x, y, w)  # (q,) each
    is_level = (cells >= 0) & (cells < levels)  # False for NaN
    level = np.where(is_level, cells, 0).astype(np.intp)
    total = np.bincount(position * levels + level, cell_weight * is_level, c * d * levels)
    total = total.astype(r.dtype).reshape(shape)

    # Only the stored cells of sparse rows were counted so far. All others are 0, which is level 0.
    if is_sparse(x):
        stored_weight = np.bincount(position, cell_weight, c * d).reshape(c, d)
        total[..., 0] += _weight_of_empty_cells(x, y, w, stored_weight, class_totals(r))
    return total


def _weight_of_empty_cells(
    x: sparse.csr_array, y: np.ndarray, w: np.ndarray, stored: Float[np.ndarray, "c d"], n: Float[np.ndarray, " c"]
) -> Float[np.ndarray, "c d"]:
    """The weight of the empty cells of sparse rows by class and column: that of the class less that of stored cells.

    A class of weight 10, whose stored cells of a column have the weight 3, has empty cells of the weight 7 there. Where
    a difference is small beside its terms, it has lost digits: then the empty cells are found and their weights summed.

    Parameters
    ----------
    x : (n, d)
    y, w : (n,) the class of each row, and its weight
    stored : the weight of the stored cells
    n : the weight of each class
    """
    n = np.broadcast_to(n[:, None], stored.shape)  # (c, d)
    empty = subtract_weight(n, stored)  # the difference, 0 where it is only rounding

    # columns in which the difference has lost digits: it is less than 0.001 of the weight of the class
    columns = small_rest(n, empty)
    if not len(columns):
        return empty

    # which of their cells are empty, (n, k): not those where a copy of x with all stored cells as 1 has a 1
    ones_where_stored = sparse.csr_array((np.ones(x.nnz), x.indices, x.indptr), shape=x.shape)
    is_empty = ones_where_stored[:, columns].toarray() == 0

    # the weights of the rows whose cell is empty, summed by class
    r = sparse.csr_array((w, (np.arange(len(y)), y)), shape=(len(y), len(n)))  # (n, c): w_i in the class of row i
    empty[:, columns] = r.T @ is_empty
    return empty


def _with_one_class(x: Any, r: Array | Sparse) -> tuple[Any, np.ndarray, np.ndarray]:
    """Rows with one class each: a row that has weight in several classes is repeated, once for each of them.

    Parameters
    ----------
    x : (n, d) rows
    r : (n, c) weights of rows in classes

    Returns
    -------
    The m rows, in the CSR format if x is sparse; the class of each (m,); and the weight that it has there (m,).
    """
    # The CSR format has an entry for each class of a row, row after row: `indices` has the classes, `data` the weights,
    # and row i has the entries indptr[i] … indptr[i + 1] − 1. Rows in 2, 0 and 1 classes have indptr (0, 2, 2, 3): the
    # first one is taken twice, the second one is dropped, and the third one is taken once, which are the rows 0, 0, 2.
    if not is_one_hot(r):
        r = sparse.csr_array(r)
        n_classes_of_row = np.diff(r.indptr)
        x = x[np.repeat(np.arange(x.shape[0]), n_classes_of_row)]
    return sparse.csr_array(x) if is_sparse(x) else x, r.indices, r.data


def _cells(x: Any, y: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The cells of rows one after the other, ready for `numpy.bincount` by class and column.

    A cell in column j of a row of class k has the position k d + j. With d = 3 columns, the rows [4, 5, 6] of class 1
    and [7, 8, 9] of class 0 have the cells 4, 5, 6, 7, 8, 9 at the positions 3, 4, 5, 0, 1, 2.

    Parameters
    ----------
    x : (n, d) dense rows, of which all cells are taken, or CSR rows, of which the stored ones are
    y, w : (n,) the class of each row, and its weight

    Returns
    -------
    Of q cells their values, their positions in a flat table (c, d), and their weights, (q,) each.
    """
    d = x.shape[1]
    start_of_class = y.astype(np.intp) * d  # where the row's class begins in the flat table
    if is_sparse(x):
        cells_per_row = np.diff(x.indptr)  # `indices` are the columns j of the stored cells, row by row
        position = np.repeat(start_of_class, cells_per_row) + x.indices
        return x.data, position, np.repeat(w, cells_per_row)
    position = np.repeat(start_of_class, d) + np.tile(np.arange(d), len(x))
    return x.ravel(), position, np.repeat(w, d)


def is_one_hot(r: Array | Sparse) -> TypeGuard[Sparse]:
    """Whether each row has one class, in weights as `one_hot` makes them."""
    return is_sparse(r) and r.format == "csr" and bool((r.indptr[1:] - r.indptr[:-1] == 1).all())


def class_totals(r: Array | Sparse) -> Array:
    """N_c = Σ_i r_ic: the weight of each class, (c,), from weights (n, c) of rows in classes."""
    if not is_sparse(r):
        return r.sum(axis=0)
    r = r.tocsr()
    return np.bincount(r.indices, r.data, r.shape[1]).astype(r.dtype)  # whole numbers where there are no rows


def subtract_weight(total: Value, part: Array) -> Array:
    """What is left of a weight without a part of it: exactly 0 where the difference is no more than rounding."""
    remaining = total - part
    return namespace(remaining).where(remaining > rounding(remaining) * total, remaining, 0)


def small_rest(total: Array, rest: Array) -> np.ndarray:
    """Columns of (c, d) weights whose rest is so small a part of the total that a difference of sums loses digits.

    Whole numbers lose none. Under a JAX trace, where nobody can look, there are none.

    Parameters
    ----------
    total, rest : (c, d) weights, and what remained of them after a subtraction
    """
    if namespace(total, rest) is not np or (is_whole(total) and is_whole(rest)):
        return np.arange(0)
    return np.flatnonzero((rest < _SMALL_SHARE * total).any(0))


def rounding(n: Array) -> float:
    """The share of a weight that is taken for rounding, in the precision at hand."""
    return 1e-12 if n.dtype == np.float64 else 1e-5


def moments_by_class(x: Data, r: Weights) -> Triple:
    """Weight n, mean and squares about the mean of each class and feature, (c, d) each.

    n_cj = Σ_i r_ic over the observed cells, mean_cj = Σ_i r_ic x_ij/n_cj, and ss_cj = Σ_i r_ic (x_ij − mean_cj)².

    Parameters
    ----------
    x : (n, d) dense or sparse rows; NaN is a missing cell
    r : (n, c) weights of rows in classes
    """
    if namespace(x, r) is not np:
        return _moments_in_jax(x, r)

    # `_with_one_class` repeats a row for each of its classes; y, w: the class of each row, and its weight there
    rows, y, w = _with_one_class(x, r)
    if not is_sparse(rows) and use_compiled_loop(8 * rows.size):  # much work
        return _moments_by_loop(contiguous(rows), y, w, r.shape[1])
    return _moments_by_position(rows, y, w, class_totals(r), np.result_type(x.dtype, r.dtype))


def _moments_in_jax(x: Array, r: Array) -> Triple:
    """Weight, mean and squares about the mean of rows (n, d) in JAX, (c, d) each.

    Every row counts in every class, with its weight there, which is often 0: tables are (c, n, d).
    """
    w = r.T[..., None]  # (c, n, 1)

    def sum_by_class(values: Array) -> Array:  # (n, d) or (c, n, d) → (c, d)
        return (w * values).sum(1)

    def at_cells(mean: Array) -> Array:  # (c, d) → (c, 1, d), which broadcasts against the rows
        return mean[:, None]

    return _moments(namespace(x, r).asarray(x), sum_by_class, at_cells)


def _moments_by_position(x: Any, y: np.ndarray, w: np.ndarray, n: Float[np.ndarray, " c"], dtype: Any) -> Triple:
    """Weight, mean and squares about the mean of rows with one class each, (c, d) each, summed by `numpy.bincount`.

    Parameters
    ----------
    x : (n, d) dense rows, or CSR rows, of which only the stored cells are read
    y, w : (n,) the class of each row, and its weight
    n : the weight of each class
    dtype : type of the result
    """
    c = len(n)
    d = x.shape[1]

    # The cells one after the other, dense or stored, with their weights. A cell of class k and column j has the
    # position k d + j in a flat table (c, d).
    cells, position, weight = _cells(x, y, w)  # (q,) each

    def sum_by_class(values: np.ndarray) -> np.ndarray:  # (q,) → the weighted sums by class and column, (c, d)
        return np.bincount(position, weight * values, c * d).astype(dtype).reshape(c, d)

    def at_cells(mean: np.ndarray) -> np.ndarray:  # (c, d) → the number of each cell's class and column, (q,)
        return mean.ravel()[position]

    weight_of_all = np.tile(n[:, None], d) if is_sparse(x) else None  # (c, d), that of the empty cells included
    return _moments(cells.astype(dtype, copy=False), sum_by_class, at_cells, weight_of_all)


def _moments(
    x: Array, sum_by_class: Callable[[Array], Array], at_cells: Callable[[Array], Array], n: Any = None
) -> Triple:
    """Weight, mean and squares about the mean of each class and feature, (c, d) each, in two passes over the cells.

    The second pass sums residuals about the mean of the first. Their sum would be 0 without rounding. What it is
    instead, divided by the weight n, is the shift by which the mean is wrong, so

        mean ← mean + shift,    ss = Σ w residual² − n shift².

    Parameters
    ----------
    x : cells in any arrangement; NaN is a missing cell
    sum_by_class : numbers, one for each cell → their weighted sums by class and feature, (c, d)
    at_cells : means (c, d) → for each cell the mean of its class and feature
    n : (c, d) weights of all cells, if x has only those that are not 0, as of sparse rows; None if x has all cells
    """
    xp = namespace(x)  # numpy, or jax.numpy for JAX arrays
    is_observed = ~xp.isnan(x)
    stored_weight = sum_by_class(is_observed.astype(x.dtype))  # Σ w over the observed cells of x, (c, d)
    if n is None:
        weight = stored_weight
        zero_weight: Any = 0
    else:  # cells that are not in x are 0, and have what remains of the weight
        weight = n
        zero_weight = subtract_weight(n, stored_weight)
    divisor = xp.where(weight > 0, weight, 1)

    # first pass: cells that are 0 add nothing to the sum
    mean = sum_by_class(xp.where(is_observed, x, 0)) / divisor

    # second pass: a cell that is 0 and not in x has the residual −mean
    residual = xp.where(is_observed, x - at_cells(mean), 0)
    shift = (sum_by_class(residual) - zero_weight * mean) / divisor
    ss = sum_by_class(residual * residual) + zero_weight * mean * mean - weight * shift * shift
    return weight, mean + shift, xp.maximum(ss, 0)


def _moments_by_loop(x: np.ndarray, y: Int[np.ndarray, " n"], w: np.ndarray, c: int) -> Triple:
    """Weight, mean and squares about the mean of many dense rows, (c, d) each; not finite where a cell is infinite.

    Sums are taken about one row of each class, its last one, so that equal cells have no rounding. With z = x − shift
    and drift = Σ w z/n, the mean is shift + drift, and the squares about it are Σ w z² − n drift². Where this
    difference would lose digits, because that row lies far from the mean, the sums are taken once more about the mean.

    Parameters
    ----------
    x : (n, d) cells; NaN is missing
    y, w : (n,) the class of each row, 0 … c − 1, and its weight
    c : number of classes
    """
    from . import _compiled

    # The number of the last row of each class: later rows replace earlier ones. With the classes 0, 1, 0 it is (2, 1).
    last = np.zeros(c, int)
    last[y] = np.arange(len(y))
    shift = np.where(np.isnan(x[last]), 0, x[last].astype(float))  # (c, d), about which sums are taken

    with np.errstate(invalid="ignore", over="ignore"):
        for _ in range(2):  # once, and if need be once more about the mean
            n, sum_z, sum_of_squares = np.zeros((3, *shift.shape))  # Σ w, Σ w z and Σ w z², (c, d) each
            _compiled.moments(x, y, w, shift, n, sum_z, sum_of_squares)  # adds to the three

            drift = sum_z / np.where(n > 0, n, 1)
            correction = sum_z * drift  # n drift²
            ss = sum_of_squares - correction
            has_lost_digits = correction > _MAX_CORRECTION * ss  # more than 16 times what remains is subtracted
            if not has_lost_digits.any():
                break
            shift = shift + drift
    return n, np.where(n > 0, shift + drift, 0), np.maximum(ss, 0)


def scatter_by_class(x: Float[Array, "n d"], r: Weights) -> Triple:
    """Weight (c,), mean (c, d) and cross products about the mean (c, d, d) of complete rows, for each class.

    The cross products of class k are Σ_i r_ik (x_i − mean_k)(x_i − mean_k)ᵀ.

    Parameters
    ----------
    x : (n, d) rows without missing cells
    r : (n, c) weights of rows in classes; where JAX is not used they may be sparse
    """
    _, mean, _ = moments_by_class(x, r)  # (c, d)
    xp = namespace(x, r)  # numpy, or jax.numpy for JAX arrays

    # In the CSC format column k, a class, has the entries indptr[k] … indptr[k + 1] − 1 of `indices`, which are the
    # rows that have weight in the class, and of `data`, which are their weights.
    by_column = sparse.csc_array(r) if xp is np else None

    products = []  # of each class, (d, d)
    for k, centre in enumerate(mean):
        if by_column is None:  # JAX: all rows, with their weights in the class
            z = x - centre
            w = r[:, k]
        else:  # NumPy: only the m rows that have weight in the class
            entries = slice(by_column.indptr[k], by_column.indptr[k + 1])
            z = x[by_column.indices[entries]] - centre  # (m, d)
            w = by_column.data[entries]  # (m,)
        products.append(z.T @ (w[:, None] * z))  # Σ_i w_i z_i z_iᵀ

    # rounding may leave the entries (i, j) and (j, i) of a product different: both become their mean
    total = xp.stack(products)  # (c, d, d)
    symmetric = (total + total.swapaxes(1, 2)) / 2
    return class_totals(r), mean, symmetric


# --- leaving a row out ------------------------------------------------------------------------------------------------


def floor_at_rounding(remaining: Value, whole: Value) -> Array:
    """What remains of a hyperparameter without a row, but at least the rounding of the whole.

    The floor matters if the row carries nearly all of it, because what remains is then lost in rounding.
    """
    xp = namespace(remaining, whole)
    return xp.maximum(remaining, xp.finfo(remaining.dtype).eps * abs(whole))


def remove_row(hyperparameter: Value, share: Value | Scalar) -> Array:
    """A hyperparameter minus the share of a row, but at least the rounding of the hyperparameter."""
    before = namespace(hyperparameter, share).asarray(hyperparameter)
    return floor_at_rounding(before - share, before)


def shared_weight(w: Array) -> Array:
    """Weights (n, 1) as (1, 1) where they are all equal, so that what depends on them alone is computed once."""
    return w[:1] if namespace(w) is np and len(w) and (w == w[0]).all() else w


# --- slices -----------------------------------------------------------------------------------------------------------


def slices(n: int, d: int, cells: int = 2 * _CELLS_OF_SLICE) -> list[slice]:
    """Slices of n rows with d columns each; none has more than `cells` cells, unless it is a single row.

    The number of rows of a slice is a power of two: at most 100 cells in 7 columns make slices of 8 rows, not 14.
    """
    most_rows = max(cells // max(d, 1), 1)
    step = 1 << most_rows.bit_length() - 1  # the largest power of two that is not above it
    return [slice(0, n)] if n <= step else batches(n, step)


def batches(n: int, size: int) -> list[slice]:
    """Slices of n rows or draws of `size` each, the last one shorter; none where n is 0."""
    return [slice(start, min(start + size, n)) for start in range(0, n, size)]


def fold_rows(gather: Callable[[slice], Sum], parts: Sequence[slice]) -> Sum:
    """The sum of the statistics of slices of rows, which several threads gather.

    Parameters
    ----------
    gather : a slice of the rows → their statistics, which have a `+`
    parts : the slices
    """
    if len(parts) == 1:
        return gather(parts[0])
    return functools.reduce(operator.add, parallel_map(gather, parts))


def by_rows(table: Callable[[slice], Array], rows: Rows, least: Callable[[], int] = int) -> Tables:
    """A table (…, n, c) put together from the tables of slices of the rows, which several threads make.

    Parameters
    ----------
    table : a slice of the rows → their table, (…, m, c)
    rows : the cells of n rows by the names of blocks of features
    least : → the fewest cells that a slice should have, where there are many; see `row_slices`
    """
    parts = row_slices(rows, least)  # slices of about two million cells
    if len(parts) == 1:
        return table(parts[0])

    # the tables of the slices, in order, are written into one array
    joined: Any = None
    for part, chunk in zip(parts, parallel_map(table, parts), strict=True):
        if joined is None:  # the first chunk tells the other axes and the type; the last part ends at row n
            joined = np.empty((*chunk.shape[:-2], parts[-1].stop, chunk.shape[-1]), chunk.dtype)
        joined[..., part, :] = chunk
    return joined


def csr_slice(x: Sparse, part: slice) -> Sparse:
    """Some rows of a CSR matrix, whose cells are not copied: SciPy's own slicing would copy them.

    If the rows have 2, 0, 3 and 1 cells, the ends of all rows are 0, 2, 2, 5, 6. The last two rows have the cells
    2 … 5, and the ends 0, 3, 4.

    Parameters
    ----------
    x : (n, d) matrix in SciPy's CSR format
    part : which rows, without a step
    """
    start, stop, _ = part.indices(x.shape[0])  # as numbers: slice(None) is 0 … n
    if stop - start == x.shape[0]:
        return x

    # The CSR format has three arrays: `data`, the cells row by row, `indices`, their columns, and `indptr`, the ends:
    # row i has the cells indptr[i] … indptr[i + 1] − 1. Cells and columns of the rows are a slice of those of the
    # matrix, without a copy; the ends count from the first of them, so that number is subtracted.
    ends = x.indptr[start : stop + 1]
    cells = slice(ends[0], ends[-1])
    rows = type(x)((stop - start, x.shape[1]), dtype=x.dtype)
    rows.data = x.data[cells]
    rows.indices = x.indices[cells]
    rows.indptr = ends - ends[0]
    return rows


def block_rows_at(x: Any, part: slice | np.ndarray) -> Any:
    """Some of the rows: a slice of them, without a copy where that is possible, or those at some positions."""
    if isinstance(part, slice) and is_sparse(x) and x.format == "csr":
        return csr_slice(x, part)
    return x if isinstance(part, slice) and part == slice(None) else x[part]


def rows_at(rows: Rows, part: slice | np.ndarray) -> dict[str, Any]:
    """Some of the rows of all blocks."""
    return {name: block_rows_at(x, part) for name, x in rows.items()}


def as_compute_dtype(x: Any, like: Array | Sparse, kind: str = "") -> Any:
    """A slice of rows in the precision of their table; integers and float32 are never widened as a whole.

    Three kinds of cells stay as they are: those that have this precision already, dense integers that are levels or 0
    and 1, and floats of JAX.

    Parameters
    ----------
    x : cells of a slice of rows
    like : an array of the precision in which the table is computed
    kind : what the cells are, such as "counts" or "levels"
    """
    # codes of levels only select an entry of a table, whatever their type
    are_codes = kind in ("yes/no", "levels") and x.dtype.kind != "f" and not is_sparse(x)
    is_jax_float = namespace(x) is not np and x.dtype.kind not in "iu"
    if x.dtype == like.dtype or are_codes or is_jax_float:
        return x

    # NumPy: the wider of the two types; integers of JAX: its own float
    dtype = np.result_type(x.dtype, like.dtype) if namespace(x) is np else float
    return x.astype(dtype)


def row_slices(rows: Rows, least: Callable[[], int] = int) -> list[slice]:
    """Slices of rows for threads, of at most about two million cells each; a single slice of all rows if they are few.

    Their number is even, so that two cores have as much to do: 5 million cells are cut into 4 slices, although 3 would
    do.

    Parameters
    ----------
    rows : the cells (n, d) of n rows by the names of blocks of features
    least : → a number of cells that a slice may have, if that is above two million; a function, because it may take
        time and is needed for many rows only
    """
    if namespace(*rows.values()) is not np:  # JAX compiles a program for arrays of one shape, so rows stay whole
        return [slice(None)]

    n = next(iter(rows.values())).shape[0]
    n_cells = n * _cells_of_row(rows, n)

    # a single slice: each of two cores would have too little to do
    if n_cells < 2 * _CELLS_FOR_A_CORE or n_cells < 2 * least():
        return [slice(0, n)]

    # A single slice: the rows are a part of the work already, and other threads have the other parts, so that all cores
    # are busy. Only a part that is too large for memory is cut.
    is_part_of_work = _pieces.get() > 1
    if is_part_of_work and n_cells < 2 * _CELLS_OF_SLICE:
        return [slice(0, n)]

    n_slices = _rounded_up(n_cells, max(_CELLS_OF_SLICE, least()))
    n_slices = n_slices + n_slices % 2  # even
    return batches(n, _rounded_up(n, n_slices))


def _cells_of_row(rows: Rows, n: int) -> int:
    """How many cells a row has in the widest of its blocks; of sparse rows the stored ones, on average.

    Parameters
    ----------
    n : number of rows
    """
    cells = [_rounded_up(x.nnz, max(n, 1)) if is_sparse(x) else x.shape[1] for x in rows.values()]
    return max(0, *cells)


def _rounded_up(a: int, b: int) -> int:
    """a/b rounded up to a whole number: 7/2 is 4."""
    return -(-a // b)


# --- threads and compiled loops ---------------------------------------------------------------------------------------

_pieces = contextvars.ContextVar("how many pieces the work at hand is one of; their own are done one by one", default=1)


def n_threads() -> int:
    """Threads to use: OMP_NUM_THREADS where it is set, as joblib sets it in its workers, else the cores at hand."""
    limit = os.environ.get("OMP_NUM_THREADS", "")
    if limit.isdigit() and int(limit) > 0:
        return int(limit)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def parallel_map(f: Callable[[Piece], Result], pieces: Sequence[Piece]) -> Iterator[Result]:
    """f of each piece in order, several at a time in threads; at most one result more than threads is kept waiting.

    A piece is any part of the work, such as a slice of the rows, and `map(f, pieces)` would give the same. An error in
    one piece is raised in its turn, and no further piece is begun. Inside of a piece, or with a single piece or core,
    there are no threads.

    Parameters
    ----------
    f : a piece → its result; it should spend its time in NumPy, SciPy or compiled loops, which run without Python's
        lock
    pieces : the parts of the work
    """
    # The context variable `_pieces` is how many pieces the work at hand is one of. Above 1 this call is inside of a
    # piece, whose neighbours keep the other cores busy: no threads of its own.
    if _pieces.get() > 1 or len(pieces) == 1:
        yield from map(f, pieces)
        return

    # A single core: one after the other. Each f runs in a context in which `_pieces` is n_pieces, so that calls inside
    # of it see that they are in a piece.
    n_pieces = len(pieces)
    threads = min(n_threads(), n_pieces)
    if threads < 2:
        for piece in pieces:
            yield _context_of_piece(n_pieces).run(f, piece)
        return
    yield from _map_in_threads(f, pieces, threads)


def _map_in_threads(f: Callable[[Piece], Result], pieces: Sequence[Piece], threads: int) -> Iterator[Result]:
    """f of each piece in order, by several threads; at most one result more than there are threads is kept waiting.

    Pieces are handed to the threads in order, and `waiting` holds their futures, the oldest one first. A future is a
    result that may not be there yet. As soon as there are more than `threads` of them, the oldest one is waited for and
    yielded. So results come in order, and those of a long list of pieces do not fill the memory.
    """
    n_pieces = len(pieces)
    waiting: deque[Future[Result]] = deque()

    # matrix products use one thread meanwhile; in its context each f sees that it is one of several pieces
    with single_threaded_products(), ThreadPoolExecutor(threads) as pool:
        try:
            for piece in pieces:
                waiting.append(pool.submit(_context_of_piece(n_pieces).run, f, piece))
                if len(waiting) > threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:  # after an error, or if the caller stops early
            for future in waiting:
                future.cancel()


def _context_of_piece(n_pieces: int) -> contextvars.Context:
    """A copy of the caller's context variables in which nested calls see that they are one of several pieces.

    `context.run(f, piece)` calls f there. A thread has no context variables of its caller unless it runs in such a
    copy.
    """
    context = contextvars.copy_context()
    context.run(_pieces.set, n_pieces)
    return context


@contextmanager
def nested_work(pieces: int) -> Iterator[None]:
    """A context in which the work is one of `pieces` parts that are done one by one: nested calls start no threads.

    Nested calls also multiply their work by `pieces` to decide whether a compiled loop is worth loading.
    """
    # a context variable that says how many pieces the work at hand is one of; nested pieces multiply
    token = _pieces.set(pieces * _pieces.get())
    try:
        yield
    finally:
        _pieces.reset(token)


_lock = threading.Lock()
_users = 0
_limits: Any = None


@contextmanager
def single_threaded_products() -> Iterator[None]:
    """A context in which a matrix product uses one thread, because other threads use the cores, or products are small.

    The libraries for products (BLAS) would otherwise start as many threads as there are cores in each of our threads.
    The limit holds for the whole process, and several of our threads may be in such a context at once. So they are
    counted, in `_users`: the first one sets the limit, and the last one undoes it.
    """
    global _users, _limits

    # enter: `limit` sets one thread, and returns an object that can restore the number of threads before
    with _lock:
        _users += 1
        if _users == 1:
            _limits = _blas().limit(limits=1)
    try:
        yield
    finally:  # leave, also after an error
        with _lock:
            _users -= 1
            if _users == 0:
                _limits.restore_original_limits()


@functools.cache
def _blas() -> Any:
    """What sets the number of threads of libraries that multiply matrices; made once, as looking for them is slow."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController().select(user_api="blas")


@functools.cache
def available() -> bool:
    """Whether numba is there and may compile; all formulas work without it."""
    try:
        from numba import config
    except Exception:  # no wheel for this Python, or a system that forbids to make code at run time
        return False
    return not getattr(config, "DISABLE_JIT", 0)


def use_compiled_loop(work: int) -> bool:
    """Whether compiled loops should do some work: whether it is worth loading them, and numba is there.

    Parameters
    ----------
    work : cells times classes of this piece of work, of which there may be several
    """
    return _pieces.get() * work >= WORTH and available()


def contiguous(x: np.ndarray) -> np.ndarray:
    """Cells row by row in a type that loops are compiled for."""
    return np.ascontiguousarray(x, np.uint8 if x.dtype == np.uint8 else np.float64)


def csr_arrays(x: Array | Sparse) -> tuple[np.ndarray, np.ndarray | None, np.ndarray]:
    """Rows (n, d) as compiled loops read them, dense or sparse: in the arrays of the CSR format.

    Returns
    -------
    ends : (n + 1,) row i has the cells ends[i] … ends[i + 1] − 1
    columns : column of each cell; None of dense rows, each of which has all columns
    cells : value of each cell
    """
    if is_sparse(x):
        x = x.tocsr()
        return x.indptr, x.indices, contiguous(x.data)
    return np.arange(len(x) + 1) * x.shape[1], None, contiguous(x).ravel()
