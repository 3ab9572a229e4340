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

from ..core.arrays import (
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
from ..core.special import is_whole, namespace

_CELLS = 1 << 21  # cells of X worked on at a time: 16 MiB of float64; with fewer Python would take longer than NumPy
_HALF = 1 << 18  # cells that are worth a second core
_FEW = 1 << 15  # cells that stay in a core's cache
_FEW_CLASSES = 16  # for which a loop over bytes is faster than a product of what they are converted to

WORTH = 1 << 23  # cells times classes from which on loops are loaded, eight for a cell of a fit: NumPy takes some 20 ms

_SMALL_REST = 1e-3  # of a weight: a smaller rest of it loses digits as a difference
_LARGE_TERM = 1e3  # nats of an empty cell; adding and subtracting less than this loses 1e-13
_FAR = 16.0  # squares of the correction over what it leaves, from where on it would cost digits
Triple: TypeAlias = tuple[Array, Array, Array]

Rows: TypeAlias = Mapping[str, Any]
Sum = TypeVar("Sum")
Piece = TypeVar("Piece")
Result = TypeVar("Result")


# --- sums over cells --------------------------------------------------------------------------------------------------


def is_missing_free(x: Array | Sparse) -> bool:
    """Whether rows on the host are known to have no missing cell; False under a JAX trace, where nobody can look."""
    return namespace(x) is np and (is_sparse(x) or x.dtype.kind != "f" or not np.isnan(x).any())


def matmul(x: Array | Sparse, weights: Float[Array, "*s c d"]) -> Tables:
    """Σ_j x_ij w_cj, for dense or sparse rows; leading axes of the weights lead the result."""
    if not is_sparse(x) and (x.dtype != np.uint8 or namespace(weights) is not np):
        return x @ weights.swapaxes(-1, -2)
    flat = weights.reshape(-1, weights.shape[-1])  # (s·c, d): one product for all draws
    if not is_sparse(x) and len(flat) <= _FEW_CLASSES and use_compiled_loop(x.size * len(flat)):
        from ._compiled import byte_product

        table = np.empty((len(x), len(flat)))
        byte_product(contiguous(x), contiguous(flat), table)
    elif not is_sparse(x):
        table = x.astype(flat.dtype) @ flat.T
    elif x.format == "csr" and use_compiled_loop(x.nnz * len(flat)):
        from ._compiled import stored_product

        table = np.zeros((x.shape[0], len(flat)))
        stored_product(x.indptr, x.indices, contiguous(x.data), contiguous(flat.T), table)
    else:
        table = x @ flat.T
    return np.moveaxis(table.reshape(x.shape[0], *weights.shape[:-1]), 0, -2)


def contract(
    x: Array | Sparse, slope: Float[Array, "*s c d"], level: Float[Array, "*s c d"], total: Any = None
) -> Tables:
    """Σ_j over the observed cells of (x_ij · slope_cj + level_cj), of dense or sparse rows; `total` is Σ_j level_cj."""
    xp = namespace(x)
    if is_missing_free(x):
        return matmul(x, slope) + (level.sum(-1) if total is None else total)[..., None, :]
    is_observed = ~xp.isnan(x)
    return matmul(xp.where(is_observed, x, 0), slope) + matmul(is_observed.astype(level.dtype), level)


def sum_over_features(f: Callable[..., Array], x: Data, *fields: Array) -> Tables:
    """Σ_j f(x_ij, *fields_cj) over the observed cells; fields are (…, c, d), and the result has their leading axes."""
    shape = fields[0].shape
    flat = tuple(namespace(*fields).broadcast_to(field, shape).reshape(-1, shape[-1]) for field in fields)
    table = sum_over_cells_of(lambda x, _, *values: f(x, *values), x, 1.0, flat)
    return namespace(table).moveaxis(table.reshape(x.shape[0], *shape[:-1]), 0, -2)


def sum_over_cells_of(f: Callable[..., Any], x: Data, w: Any, fields: tuple[Array, ...]) -> Table:
    """Σ_j f(x_ij, w_ic, *fields_cj) over the observed cells, where f may have any value in a missing cell.

    On the host this takes some rows at a time, so that temporary arrays stay in a core's cache.

    Parameters
    ----------
    f : cells, their weights and fields, which broadcast → terms; of sparse rows with weights f(0) = 0
    w : one weight, or weights (n, c) or (n, 1); a missing cell has weight 0
    fields : (c, d, …) of each class
    """
    if is_sparse(x):
        return _sum_over_stored(f, x.tocsr(), w, fields)
    xp = namespace(x, *fields)
    row_fields = [field[None] for field in fields]  # (1, c, d, …), against cells (n, 1, d)
    if xp is not np:  # all at once: under `jit` no such array is made
        is_observed = ~xp.isnan(x)[:, None]
        weight = xp.asarray(w)[..., None] if np.ndim(w) else w
        terms = f(xp.where(is_observed, x[:, None], 1), is_observed * weight, *row_fields)
        return xp.where(is_observed, terms, 0).sum(-1)
    table = np.empty((len(x), fields[0].shape[0]))
    with np.errstate(invalid="ignore", divide="ignore"):  # of a missing cell
        for part in slices(len(x), fields[0].size, _FEW):
            weight = w[part][..., None] if np.ndim(w) else w
            table[part] = _sum_over_dense_cells(f, x[part], weight, row_fields)
    return table


def _sum_over_dense_cells(f: Callable[..., Array], x: np.ndarray, weight: Any, fields: Sequence[Array]) -> np.ndarray:
    """Σ_j f of a few dense rows; weights (n, c, 1) or a number, fields (1, c, d, …)."""
    is_observed = ~np.isnan(x)[:, None]
    if is_observed.all():
        return f(x[:, None], weight, *fields).sum(-1)
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
    """Σ_j f(x_ij, w_i, *fields_kj) over the observed cells of rows i = `at`, for one class k of each, y."""
    total = np.empty(len(at))
    with np.errstate(all="ignore"):  # of a missing cell
        for part in slices(len(at), x.shape[1], _FEW):
            cells = x[at[part]]
            is_observed = ~np.isnan(cells)
            terms = f(np.where(is_observed, cells, 0), w[part, None], *(field[y[part]] for field in fields))
            total[part] = np.where(is_observed, terms, 0).sum(1)
    return total


def _sum_over_stored(f: Callable[..., Array], x: Sparse, w: Any, fields: tuple[Array, ...]) -> Float[np.ndarray, "n c"]:
    """Σ_j f(x_ij, w_ic, *fields_cj) of CSR rows; time and memory follow the stored cells.

    With one weight it is the sum of an empty row, plus f(x) − f(0) of each stored cell. With a weight for each row and
    class f(0) is 0. Columns in which an empty cell has a large term are made dense; see `has_large_terms`.
    """
    if np.ndim(w) > 0:
        return _sum_of_stored_changes(f, x, w, fields, None)
    with np.errstate(all="ignore"):
        empty = np.stack([f(np.zeros(1), w, *values) for values in zip(*fields, strict=True)])
    is_large = has_large_terms(empty)
    if is_large.any():
        return sum_with_dense_columns(
            lambda x, columns: sum_over_cells_of(f, x, w, tuple(field[:, columns] for field in fields)), x, is_large
        )
    empty = np.where(np.isfinite(empty), empty, 0)  # else no row of the class has an empty cell there
    return empty.sum(1) + _sum_of_stored_changes(f, x, w, fields, empty)


def _sum_of_stored_changes(
    f: Callable[..., Array],
    x: Sparse,
    w: Any,
    fields: tuple[Array, ...],
    empty: Float[np.ndarray, "c d"] | None,
) -> Float[np.ndarray, "n c"]:
    """Σ f(x_ij, w_ic, *fields_cj) − empty_cj over the stored cells, a bounded number of them at a time."""
    n = x.shape[0]
    c = len(fields[0])
    table = np.empty((n, c))
    cells_per_row = -(-x.nnz // max(n, 1))
    for part in slices(n, cells_per_row * c, 2 * _FEW):
        cells = csr_slice(x, part)
        sum_by_row = sparse.csr_array(
            (np.ones(cells.nnz), np.arange(cells.nnz), cells.indptr), (cells.shape[0], cells.nnz)
        )
        weight = w if np.ndim(w) == 0 else (sum_by_row.T @ np.broadcast_to(w, table.shape)[part]).T
        with np.errstate(invalid="ignore", divide="ignore"):  # of cells that a class never had
            terms = f(cells.data, weight, *(field.take(cells.indices, 1) for field in fields))
        changes = terms if empty is None else terms - empty.take(cells.indices, 1)
        table[part] = sum_by_row @ changes.T
    return table


def has_large_terms(empty: Float[np.ndarray, "*k d"]) -> np.ndarray:
    """In which columns (d,) the term of an empty cell must not be added to all rows and subtracted from most again.

    A column whose centre lies 10⁶ spreads from 0 has a term of 10¹² nats in an empty cell, of which the rounding is
    10⁻⁴ nats, also in a row in which the cell is stored. Terms that are not finite are not counted.
    """
    size = np.where(np.isfinite(empty), abs(empty), 0)
    return size.max(tuple(range(empty.ndim - 1)), initial=0) > _LARGE_TERM


def sum_with_dense_columns(
    table: Callable[[Any, np.ndarray], Tables], x: Sparse, is_dense: np.ndarray
) -> Float[np.ndarray, "*s n c"]:
    """A sum over the columns of CSR rows, some of which are made dense, for a bounded number of rows at a time.

    Parameters
    ----------
    table : the sum over the columns of rows that are given, which are these columns of x
    is_dense : (d,) which columns are made dense
    """
    dense = np.flatnonzero(is_dense)
    others = np.flatnonzero(~is_dense)
    cells = x[:, dense]
    parts = slices(x.shape[0], len(dense))
    dense_sum = np.concatenate([table(csr_slice(cells, part).toarray(), dense) for part in parts], -2)
    return dense_sum + table(x[:, others], others) if len(others) else dense_sum


def row_totals(x: Array | Sparse) -> Array:
    """L_i = Σ_j x_ij, (n,)."""
    return np.asarray(x.sum(axis=1)).ravel() if is_sparse(x) else x.sum(1)


def binarize(x: Real[np.ndarray, "n d"], threshold: Scalar) -> tuple[np.ndarray, bool]:
    """[x > threshold] of each cell as bytes, and whether all cells are finite."""
    if x.dtype != np.float64 or not x.flags.c_contiguous or not use_compiled_loop(2 * x.size):
        with np.errstate(over="ignore", invalid="ignore"):
            return (x > threshold).view(np.uint8), bool(np.isfinite(x.sum()))
    from . import _compiled

    table = np.empty(x.shape, np.uint8)
    return table, _compiled.binarize(x.ravel(), float(threshold), table.ravel())


def map_cells(x: Array | Sparse, f: Callable[[Array], Array]) -> Array | Sparse:
    """f of every cell, for f(0) = 0, dense or sparse."""
    if not is_sparse(x):
        return f(x)
    mapped = copy.copy(x)  # the positions of the cells are shared, and need no second check
    mapped.data = f(x.data)
    return mapped


# --- by class ---------------------------------------------------------------------------------------------------------


def one_hot(y: Shaped[np.ndarray, " n"], n_classes: int, weights: Shaped[np.ndarray, " n"] | None = None) -> Sparse:
    """Weights r (n, c) of labels 0 … c−1, as a sparse matrix with one entry a row.

    r_ic = w_i [y_i = c]; w_i = 1 unless given.
    """
    n = len(y)
    index: Any = np.int32 if n < 1 << 31 else np.int64
    r = sparse.csr_array((n, n_classes))  # what is known to be in order need not be looked through
    r.data = np.ones(n) if weights is None else np.asarray(weights, float)
    r.indices = y.astype(index)
    r.indptr = np.arange(n + 1, dtype=index)
    return r


def by_class(r: Array | Sparse, table: Array | Sparse) -> Array:
    """rᵀ · table as a dense array: the sum of the rows of a table in each class, (c, …)."""
    shape = r.shape[1], table.shape[-1]
    uses_loop = use_compiled_loop(8 * (table.nnz if is_sparse(table) else table.size))
    if namespace(r, table) is not np or table.ndim != 2 or not is_one_hot(r) or not (uses_loop or is_sparse(table)):
        total = r.T @ table
        total = total.toarray() if is_sparse(total) else total
        # row by row, as files hold it: the last bits of a sum depend on the layout
        return np.ascontiguousarray(total) if isinstance(total, np.ndarray) else total
    if not uses_loop:
        cells, position, w = _cells(sparse.csr_array(table), r.indices, r.data)
        return np.bincount(position, w * cells, shape[0] * shape[1]).astype(r.dtype, copy=False).reshape(shape)
    from . import _compiled

    total = np.zeros(shape)
    _compiled.by_class(*csr_arrays(table), r.indices, r.data, total)
    return total


def levels_by_class(r: Array | Sparse, x: Array | Sparse, levels: int) -> Float[Array, "c d k"]:
    """Σ_i r_ic [x_ij = k]; other codes are missing, and an empty cell of sparse rows has level 0."""
    shape = r.shape[1], x.shape[1], levels
    if namespace(r, x) is not np:
        return by_class(r, (x[..., None] == np.arange(levels)).astype(r.dtype).reshape(len(x), -1)).reshape(shape)
    x, y, w = _with_one_class(x, r)
    if not is_sparse(x) and use_compiled_loop(8 * x.size):
        from . import _compiled

        total: np.ndarray = np.zeros(shape)
        _compiled.levels_by_class(contiguous(x), y, w, total)
        return total
    cells, position, cell_weight = _cells(x, y, w)
    is_level = (cells >= 0) & (cells < levels)  # False for NaN
    level_position = position * levels + np.where(is_level, cells, 0).astype(np.intp)
    total = np.bincount(level_position, cell_weight * is_level, np.prod(shape)).astype(r.dtype).reshape(shape)
    if is_sparse(x):
        stored = np.bincount(position, cell_weight, shape[0] * shape[1]).reshape(shape[:2])
        total[..., 0] += _weight_of_empty_cells(x, y, w, stored, class_totals(r))
    return total


def _weight_of_empty_cells(
    x: sparse.csr_array, y: np.ndarray, w: np.ndarray, stored: Float[np.ndarray, "c d"], n: Float[np.ndarray, " c"]
) -> Float[np.ndarray, "c d"]:
    """Σ_i w_i [y_i = k] over the rows without a stored cell: what is not stored, or where that is little a sum."""
    n = np.broadcast_to(n[:, None], stored.shape)
    empty = subtract_weight(n, stored)
    columns = small_rest(n, empty)
    if len(columns):
        is_stored = sparse.csr_array((np.ones(x.nnz), x.indices, x.indptr), shape=x.shape)[:, columns].toarray()
        r = sparse.csr_array((w, (np.arange(len(y)), y)), shape=(len(y), len(n)))
        empty[:, columns] = r.T @ (is_stored == 0)
    return empty


def _with_one_class(x: Any, r: Array | Sparse) -> tuple[Any, np.ndarray, np.ndarray]:
    """Rows on the host, the class of each and its weight: a row that has weight in several comes once for each."""
    if not is_one_hot(r):
        r = sparse.csr_array(r)
        x = x[np.repeat(np.arange(x.shape[0]), np.diff(r.indptr))]
    return sparse.csr_array(x) if is_sparse(x) else x, r.indices, r.data


def _cells(x: Any, y: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The stored cells (all of dense rows), the position of each in a table (c, d), and the weight of each."""
    d = x.shape[1]
    if is_sparse(x):
        cells_per_row = np.diff(x.indptr)
        position = np.repeat(y.astype(np.intp) * d, cells_per_row) + x.indices
        return x.data, position, np.repeat(w, cells_per_row)
    position = np.repeat(y.astype(np.intp) * d, d) + np.tile(np.arange(d), len(x))
    return x.ravel(), position, np.repeat(w, d)


def is_one_hot(r: Array | Sparse) -> TypeGuard[Sparse]:
    """Whether each row has one class, in weights as `one_hot` makes them."""
    return is_sparse(r) and r.format == "csr" and bool((r.indptr[1:] - r.indptr[:-1] == 1).all())


def class_totals(r: Array | Sparse) -> Array:
    """N_c = Σ_i r_ic: the weight of each class."""
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
    """
    if namespace(total, rest) is not np or (is_whole(total) and is_whole(rest)):
        return np.arange(0)
    return np.flatnonzero((rest < _SMALL_REST * total).any(0))


def rounding(n: Array) -> float:
    """The share of a weight that is taken for rounding, in the precision at hand."""
    return 1e-12 if n.dtype == np.float64 else 1e-5


def moments_by_class(x: Data, r: Weights) -> Triple:
    """Weight, mean and centred squares, (c, d) each, of rows x (NaN = missing) under weights r; see `Moments.of`."""
    xp = namespace(x, r)
    if xp is not np:
        w = r.T[..., None]
        return _moments(xp.asarray(x), lambda table: (w * table).sum(1), lambda mean: mean[:, None])
    dtype = np.result_type(x.dtype, r.dtype)
    shape = r.shape[1], x.shape[1]
    x, y, w = _with_one_class(x, r)
    if not is_sparse(x) and use_compiled_loop(8 * x.size):
        return _looped(contiguous(x), y, w, shape[0])
    n = np.tile(class_totals(r)[:, None], shape[1]) if is_sparse(x) else None
    cells, position, weight = _cells(x, y, w)

    def total(cells: np.ndarray) -> np.ndarray:
        return np.bincount(position, weight * cells, shape[0] * shape[1]).astype(dtype).reshape(shape)

    return _moments(cells.astype(dtype, copy=False), total, lambda mean: mean.ravel()[position], n)


def _moments(x: Array, total: Callable[[Array], Array], of_cells: Callable[[Array], Array], n: Any = None) -> Triple:
    """In two passes and one correction of each.

    Parameters
    ----------
    total : sums cells by class and column
    of_cells : gives each cell what its class has in the column
    n : weights of all cells, if those that are not in x are 0
    """
    xp = namespace(x)
    is_observed = ~xp.isnan(x)
    stored_weight = total(is_observed.astype(x.dtype))
    weight = stored_weight if n is None else n
    empty_weight = 0 if n is None else subtract_weight(n, stored_weight)  # of cells that are 0
    divisor = xp.where(weight > 0, weight, 1)
    mean = total(xp.where(is_observed, x, 0)) / divisor
    residual = xp.where(is_observed, x - of_cells(mean), 0)
    shift = (total(residual) - empty_weight * mean) / divisor
    ss = total(residual * residual) + empty_weight * mean * mean - weight * shift * shift
    return weight, mean + shift, xp.maximum(ss, 0)


def _looped(x: np.ndarray, y: Int[np.ndarray, " n"], w: np.ndarray, c: int) -> Triple:
    """The same of many dense rows; not finite where a cell is infinite.

    Sums are taken about the last row of each class, so that equal cells have no rounding. Where it lies so far from the
    mean found that squares about it would lose digits, they are taken once more about that mean.
    """
    from . import _compiled

    last = np.zeros(c, int)
    last[y] = np.arange(len(y))
    shift = np.where(np.isnan(x[last]), 0, x[last].astype(float))
    with np.errstate(invalid="ignore", over="ignore"):
        for _ in range(2):
            n, s, q = np.zeros((3, *shift.shape))
            _compiled.moments(x, y, w, shift, n, s, q)
            drift = s / np.where(n > 0, n, 1)
            ss = q - s * drift
            if not (s * drift > _FAR * ss).any():
                break
            shift = shift + drift
    return n, np.where(n > 0, shift + drift, 0), np.maximum(ss, 0)


def scatter_by_class(x: Float[Array, "n d"], r: Weights) -> Triple:
    """Weight (c,), mean (c, d) and centred cross products (c, d, d) of complete rows; see `Scatter.of`."""
    _, mean, _ = moments_by_class(x, r)
    xp = namespace(x, r)
    squares = []
    columns = sparse.csc_array(r) if xp is np else None
    for k, centre in enumerate(mean):
        if columns is None:
            z = x - centre
            w = r[:, k]
        else:  # only the rows that have weight in the class
            entries = slice(*columns.indptr[k : k + 2])
            z = x[columns.indices[entries]] - centre
            w = columns.data[entries]
        squares.append(z.T @ (w[:, None] * z))
    total = xp.stack(squares)
    return class_totals(r), mean, (total + total.swapaxes(1, 2)) / 2


# --- leaving a row out ------------------------------------------------------------------------------------------------


def floor_at_rounding(remaining: Value, whole: Value) -> Array:
    """What remains of a hyperparameter without a row, but at least the rounding of the whole.

    The floor matters if the row carries nearly all of it, because what remains is then lost in rounding.
    """
    xp = namespace(remaining, whole)
    return xp.maximum(remaining, xp.finfo(remaining.dtype).eps * abs(whole))


def remove_row(hyperparameter: Value, share: Value | Scalar) -> Array:
    """A hyperparameter minus the share of a row."""
    before = namespace(hyperparameter, share).asarray(hyperparameter)
    return floor_at_rounding(before - share, before)


def shared_weight(w: Array) -> Array:
    """Weights (n, 1) as (1, 1) where they are all equal, so that what depends on them alone is computed once."""
    return w[:1] if namespace(w) is np and len(w) and (w == w[0]).all() else w


# --- slices -----------------------------------------------------------------------------------------------------------


def slices(n: int, d: int, cells: int = 2 * _CELLS) -> list[slice]:
    """Slices of n rows, a power of two, whose d columns have a bounded number of cells."""
    step = 1 << max(cells // max(d, 1), 1).bit_length() - 1
    return [slice(0, n)] if n <= step else batches(n, step)


def batches(n: int, size: int) -> list[slice]:
    """Slices of n rows or draws of `size` each, the last one shorter; none where n is 0."""
    return [slice(start, min(start + size, n)) for start in range(0, n, size)]


def fold_rows(gather: Callable[[slice], Sum], parts: Sequence[slice]) -> Sum:
    """The sum of the statistics of slices of rows."""
    return gather(parts[0]) if len(parts) == 1 else functools.reduce(operator.add, parallel_map(gather, parts))


def by_rows(table: Callable[[slice], Array], rows: Rows, least: Callable[[], int] = int) -> Tables:
    """A table (…, n, c) made of the tables of slices of the rows."""
    parts = row_slices(rows, least)
    if len(parts) == 1:
        return table(parts[0])
    joined: Any = None
    for part, chunk in zip(parts, parallel_map(table, parts), strict=True):
        if joined is None:
            joined = np.empty((*chunk.shape[:-2], parts[-1].stop, chunk.shape[-1]), chunk.dtype)
        joined[..., part, :] = chunk
    return joined


def csr_slice(x: Sparse, part: slice) -> Sparse:
    """Some rows of a CSR matrix, whose cells are not copied."""
    start, stop, _ = part.indices(x.shape[0])
    if stop - start == x.shape[0]:
        return x
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

    Dense integers that are levels stay integers.
    """
    levels = kind in ("yes/no", "levels") and x.dtype.kind != "f" and not is_sparse(x)
    if x.dtype == like.dtype or levels or (namespace(x) is not np and x.dtype.kind not in "iu"):
        return x
    return x.astype(np.result_type(x.dtype, like.dtype) if namespace(x) is np else float)


def row_slices(rows: Rows, least: Callable[[], int] = int) -> list[slice]:
    """Slices of rows that keep every block's part within about two million cells, or `least()`, if that is more.

    There are two as soon as half of the rows is work enough for a core, and their number is even. JAX arrays, and rows
    that meet them, stay whole, and rows that are a slice already are not cut again.
    """
    if namespace(*rows.values()) is not np:
        return [slice(None)]
    n = next(iter(rows.values())).shape[0]
    width = 0  # cells of a row
    for x in rows.values():
        width = max(width, -(-x.nnz // max(n, 1)) if is_sparse(x) else x.shape[1])
    if n * width < 2 * _HALF or n * width < 2 * least() or (n * width < 2 * _CELLS and _pieces.get() > 1):
        return [slice(0, n)]
    pieces = -(-n * width // max(_CELLS, least()))
    return batches(n, -(-n // (pieces + pieces % 2)))


# --- threads and compiled loops ---------------------------------------------------------------------------------------

_pieces = contextvars.ContextVar("how many pieces the work at hand is one of; their own are done one by one", default=1)


def n_threads() -> int:
    """Threads to use: OMP_NUM_THREADS where it is set, as joblib sets it in its workers, else the cores at hand."""
    limit = os.environ.get("OMP_NUM_THREADS", "")
    if limit.isdigit() and int(limit) > 0:
        return int(limit)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def parallel_map(f: Callable[[Piece], Result], pieces: Sequence[Piece]) -> Iterator[Result]:
    """f of each piece, several at a time; an error in one is raised in its turn, and no further piece is begun."""
    if _pieces.get() > 1 or len(pieces) == 1:
        yield from map(f, pieces)
        return

    def begin(piece: Piece) -> Callable[[], Result]:
        context = contextvars.copy_context()
        context.run(_pieces.set, len(pieces))
        return functools.partial(context.run, f, piece)

    threads = min(n_threads(), len(pieces))
    if threads < 2:
        yield from (begin(piece)() for piece in pieces)
        return
    waiting: deque[Future[Result]] = deque()
    with single_threaded_products(), ThreadPoolExecutor(threads) as pool:
        try:
            for piece in pieces:
                waiting.append(pool.submit(begin(piece)))
                if len(waiting) > threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


@contextmanager
def nested_work(pieces: int) -> Iterator[None]:
    """Mark nested calls as one of `pieces` sequential parts: they start no threads."""
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
    """One thread a matrix product, as pieces share the cores or products are small; the last user undoes it."""
    global _users, _limits
    with _lock:
        _users += 1
        if _users == 1:
            _limits = _blas().limit(limits=1)
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            if not _users:
                _limits.restore_original_limits()


@functools.cache
def _blas() -> Any:
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
    """Whether compiled loops should do some work, in cells times classes, of which this is one of several pieces."""
    return _pieces.get() * work >= WORTH and available()


def contiguous(x: np.ndarray) -> np.ndarray:
    """Cells row by row in a type that loops are compiled for."""
    return np.ascontiguousarray(x, np.uint8 if x.dtype == np.uint8 else np.float64)


def csr_arrays(x: Array | Sparse) -> tuple[np.ndarray, np.ndarray | None, np.ndarray]:
    """Ends of the rows, columns and cells, as CSR has them; dense rows have all columns, which are not written out."""
    if is_sparse(x):
        x = x.tocsr()
        return x.indptr, x.indices, contiguous(x.data)
    return np.arange(len(x) + 1) * x.shape[1], None, contiguous(x).ravel()
