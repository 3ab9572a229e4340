"""Rows as classes have them: weights r (n, c) of rows, and sums of rows by class."""

from typing import Any, TypeGuard

import numpy as np
from scipy import sparse

from ..core.arrays import Array, Float, Shaped, Sparse, Value, is_sparse
from ..core.special import namespace
from .loops import contiguous, stored, worth


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
