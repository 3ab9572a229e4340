"""Rows as classes have them: weights r (n, c) of rows; sums, moments and cross products of rows by class."""

from collections.abc import Callable
from typing import Any, TypeAlias, TypeGuard

import numpy as np
from scipy import sparse

from ..core.arrays import Array, Data, Float, Int, Real, Shaped, Sparse, Value, Weights, is_sparse
from ..core.special import namespace
from .rows import contiguous, stored, worth

_FAR = 16.0  # squares of the correction over what it leaves, from where on it would cost digits
Triple: TypeAlias = tuple[Array, Array, Array]


def one_hot(y: Shaped[np.ndarray, " n"], n_classes: int, weights: Shaped[np.ndarray, " n"] | None = None) -> Sparse:
    """Weights r (n, c) of labels 0 … c−1, as a sparse matrix with one entry a row.

    r_ic = w_i [y_i = c]; w_i = 1 unless given.
    """
    n = len(y)
    index: Any = np.int32 if n < 1 << 31 else np.int64
    r = sparse.csr_array((n, n_classes))  # what is known to be in order need not be looked through
    r.data = np.ones(n) if weights is None else np.asarray(weights, float)
    r.indices, r.indptr = y.astype(index), np.arange(n + 1, dtype=index)
    return r


def by_class(r: Array | Sparse, table: Array | Sparse) -> Array:
    """rᵀ · table as a dense array: the sum of the rows of a table in each class, (c, …)."""
    size = table.nnz if is_sparse(table) else table.size
    if namespace(r, table) is not np or table.ndim != 2 or not worth(8 * size) or not is_one_hot(r):
        total = r.T @ table
        total = total.toarray() if is_sparse(total) else total
        # row by row, as files hold it: the last bits of a sum depend on the layout
        return np.ascontiguousarray(total) if isinstance(total, np.ndarray) else total
    from . import _compiled

    total = np.zeros((r.shape[1], table.shape[1]))
    _compiled.by_class(*stored(table), r.indices, r.data, total)
    return total


def levels_by_class(r: Array | Sparse, x: Array | Sparse, levels: int) -> Float[np.ndarray, "c d k"] | None:
    """Σ_i r_ic [x_ij = k] of many dense rows with one class each, where a loop serves; other codes are missing."""
    if namespace(r, x) is not np or is_sparse(x) or not (worth(8 * x.size) and is_one_hot(r)):
        return None
    from . import _compiled

    total = np.zeros((r.shape[1], x.shape[1], levels))
    _compiled.levels_by_class(contiguous(x), r.indices, r.data, total)
    return total


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
    left = total - part
    return namespace(left).where(left > rounding(left) * total, left, 0)


def rounding(n: Array) -> float:
    """The share of a weight that is taken for rounding, in the precision at hand."""
    return 1e-12 if n.dtype == np.float64 else 1e-5


def moments_by_class(x: Data, r: Weights) -> Triple:
    """Weight, mean and centred squares, (c, d) each, of rows x (NaN = missing) under weights r; see `Moments.of`."""
    xp = namespace(x, r)
    if xp is not np:
        w = r.T[..., None]
        return _moments(x, lambda table: (w * table).sum(1), lambda mean: mean[:, None])
    dtype = np.result_type(x.dtype, r.dtype)
    if not is_one_hot(r):  # a row that has weight in several classes comes once for each
        r = sparse.csr_array(r)
        x = x[np.repeat(np.arange(x.shape[0]), np.diff(r.indptr))]
        r = sparse.csr_array((r.data, r.indices, np.arange(r.nnz + 1)), (r.nnz, r.shape[1]))
    y, w, c = r.indices, r.data, r.shape[1]
    if is_sparse(x):
        return _stored_moments(sparse.csr_array(x), y, w, class_totals(r))
    if worth(8 * x.size):
        return _looped(contiguous(x), y, w, c)
    return _moments(x.astype(dtype, copy=False), r.T.__matmul__, lambda mean: mean[y])


def _moments(x: Real[Array, "n d"], total: Callable[[Array], Array], of_rows: Callable[[Array], Array]) -> Triple:
    """In two passes and one correction of each; `total` sums by class, `of_rows` gives each row what its class has."""
    xp = namespace(x)
    seen = ~xp.isnan(x)
    n = total(seen.astype(x.dtype))
    safe = xp.where(n > 0, n, 1)
    mean = total(xp.where(seen, x, 0)) / safe
    rest = xp.where(seen, x - of_rows(mean), 0)
    shift = total(rest) / safe
    return n, mean + shift, xp.maximum(total(rest * rest) - n * shift * shift, 0)


def _stored_moments(x: Sparse, y: np.ndarray, w: np.ndarray, n: Float[np.ndarray, " c"]) -> Triple:
    """The same of sparse rows, whose empty cells are 0; only the stored ones are read."""
    shape, stored = (len(n), x.shape[1]), np.diff(x.indptr)
    place = np.repeat(y.astype(np.intp) * shape[1], stored) + x.indices
    weight, n = np.repeat(w, stored), np.tile(n[:, None], shape[1])

    def total(cells: np.ndarray) -> np.ndarray:
        return np.bincount(place, weight * cells, n.size).reshape(shape)

    safe, empty = np.where(n > 0, n, 1), subtract_weight(n, total(np.ones(1)))
    mean = total(x.data) / safe
    rest = x.data - mean.ravel()[place]
    shift = (total(rest) - empty * mean) / safe
    return n, mean + shift, np.maximum(total(rest * rest) + empty * mean * mean - n * shift * shift, 0)


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
    xp, squares = namespace(x, r), []
    columns = sparse.csc_array(r) if xp is np else None
    for k, centre in enumerate(mean):
        if columns is None:
            z, w = x - centre, r[:, k]
        else:
            own = slice(*columns.indptr[k : k + 2])
            z, w = x[columns.indices[own]] - centre, columns.data[own]
        squares.append(z.T @ (w[:, None] * z))
    total = xp.stack(squares)
    return class_totals(r), mean, (total + total.swapaxes(1, 2)) / 2
