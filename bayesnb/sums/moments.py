"""Weight, mean and centred squares of columns by class."""

import itertools
from typing import Any, TypeAlias

import numpy as np
from scipy import sparse

from ..core.arrays import Array, Float, Real, Sparse, is_sparse
from ..core.special import namespace
from ..loops import contiguous, worth
from .by_class import class_totals, is_one_hot, subtract_weight

Triple: TypeAlias = tuple[Array, Array, Array]


def moments_by_class(x: Real[Array, "n d"] | Sparse, r: Float[Array, "n c"] | Sparse) -> Triple:
    """Weight, mean and centred squares, (c, d) each, of rows x (NaN = missing) under weights r; see `Moments.of`."""
    xp = namespace(x, r)
    if xp is np and not is_sparse(x) and is_one_hot(r):
        if len(x) == 1:
            return _of_one_row(x[0], int(r.indices[0]), r)
        if worth(8 * x.size):
            from ..loops.moments import moments

            return moments(contiguous(x), r.indices, r.data, r.shape[1])
    x, formula = (sparse.csr_array(x), _stored_moments) if is_sparse(x) else (x, _moments)
    leaves = zip(*(formula(x[rows], w) for rows, w in _classes(r)), strict=True)
    n, mean, ss = (xp.stack(leaf).astype(xp.result_type(x.dtype, r.dtype)) for leaf in leaves)
    return n, mean, ss


def _of_one_row(x: Real[np.ndarray, " d"], k: int, r: Sparse) -> Triple:
    """The cells themselves, in class k."""
    n, mean, ss = np.zeros((3, r.shape[1], len(x)), np.result_type(x.dtype, r.dtype))
    n[k] = np.where(np.isnan(x), 0, r.data[0])
    mean[k] = np.where(n[k] > 0, x, 0)
    return n, mean, ss


def scatter_by_class(x: Float[Array, "n d"], r: Float[Array, "n c"] | Sparse) -> Triple:
    """Weight (c,), mean (c, d) and centred cross products (c, d, d) of complete rows; see `Scatter.of`."""
    _, mean, _ = moments_by_class(x, r)
    rest = [(x[rows] - centre, w) for centre, (rows, w) in zip(mean, _classes(r), strict=True)]
    squares = namespace(x, r).stack([z.T @ (w[:, None] * z) for z, w in rest])
    return class_totals(r), mean, (squares + squares.swapaxes(1, 2)) / 2


def _classes(r: Array | Sparse) -> list[tuple[Any, Array]]:
    """The rows of each class and their weights."""
    if namespace(r) is not np:
        return [(slice(None), w) for w in r.T]
    r = sparse.csc_array(r)
    return [(r.indices[i:j], r.data[i:j]) for i, j in itertools.pairwise(r.indptr)]


def _moments(x: Real[Array, "m d"], w: Float[Array, " m"]) -> Triple:
    """Of the rows of one class, in two passes and one correction of each."""
    xp = namespace(x, w)
    seen = ~xp.isnan(x)
    n = w @ seen.astype(w.dtype)
    safe = xp.where(n > 0, n, 1)
    mean = w @ xp.where(seen, x, 0) / safe
    rest = xp.where(seen, x - mean, 0)
    shift = w @ rest / safe
    return n, mean + shift, xp.maximum(w @ (rest * rest) - n * shift * shift, 0)


def _stored_moments(x: Sparse, w: Float[np.ndarray, " m"]) -> Triple:
    """The same of sparse rows, whose empty cells are 0; only the stored ones are read."""
    weight, column, d = np.repeat(w, np.diff(x.indptr)), x.indices, x.shape[1]
    n = w.sum()
    safe = n if n > 0 else 1.0
    empty = subtract_weight(n, np.bincount(column, weight, d))
    mean = np.bincount(column, weight * x.data, d) / safe
    rest = x.data - mean[column]
    shift = (np.bincount(column, weight * rest, d) - empty * mean) / safe
    ss = np.bincount(column, weight * rest * rest, d) + empty * mean * mean - n * shift * shift
    return np.full(d, n), mean + shift, np.maximum(ss, 0)
