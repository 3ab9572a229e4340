"""Weight, mean and centred squares of columns by class."""

import itertools
from typing import Any, TypeAlias

import numpy as np
from scipy import sparse

from ..core.arrays import Array, Float, Real, Sparse, is_sparse
from ..core.special import namespace
from ..loops import contiguous, worth
from .by_class import is_one_hot, subtract_weight

Triple: TypeAlias = tuple[Array, Array, Array]


def moments_by_class(x: Real[Array, "n d"] | Sparse, r: Float[Array, "n c"] | Sparse) -> Triple:
    """Weight, mean and centred squares, (c, d) each, of rows x (NaN = missing) under weights r; see `Moments.of`."""
    if namespace(x, r) is not np:
        return _stacked([_moments(x, w) for w in r.T])
    if is_sparse(x):
        x, dtype = sparse.csr_array(x), np.result_type(x.dtype, r.dtype)
        return _stacked([_stored_moments(x[rows], w) for rows, w in _classes(r)], dtype)
    if len(x) == 1 and is_one_hot(r):
        return _of_one_row(x[0], int(r.indices[0]), r)
    if worth(8 * x.size) and is_one_hot(r):
        from ..loops.moments import moments

        return moments(contiguous(x), r.indices, r.data, r.shape[1])
    return _stacked([_moments(x[rows], w) for rows, w in _classes(r)])


def _of_one_row(x: Real[np.ndarray, " d"], k: int, r: Sparse) -> Triple:
    """The cells themselves, in class k."""
    n, mean, ss = np.zeros((3, r.shape[1], len(x)), np.result_type(x.dtype, r.dtype))
    n[k] = np.where(np.isnan(x), 0, r.data[0])
    mean[k] = np.where(n[k] > 0, x, 0)
    return n, mean, ss


def scatter_by_class(x: Float[Array, "n d"], r: Float[Array, "n c"] | Sparse) -> Triple:
    """Weight (c,), mean (c, d) and centred cross products (c, d, d) of complete rows; see `Scatter.of`."""
    if namespace(x, r) is not np:
        return _stacked([_scatter(x, w) for w in r.T])
    return _stacked([_scatter(x[rows], w) for rows, w in _classes(r)])


def _scatter(x: Float[Array, "m d"], w: Float[Array, " m"]) -> Triple:
    """Of the rows of one class, in two passes and one correction of each."""
    xp = namespace(x, w)
    n = xp.asarray(w.sum())
    safe = xp.where(n > 0, n, 1)
    mean = w @ x / safe
    rest = x - mean
    shift = w @ rest / safe
    squares = rest.T @ (w[:, None] * rest) - n * shift[:, None] * shift
    return n, mean + shift, (squares + squares.T) / 2


def _classes(r: Array | Sparse) -> list[tuple[np.ndarray, np.ndarray]]:
    """The rows of each class and their weights."""
    r = sparse.csc_array(r)
    return [(r.indices[i:j], r.data[i:j]) for i, j in itertools.pairwise(r.indptr)]


def _moments(x: Real[Array, "m d"], w: Float[Array, " m"]) -> Triple:
    """Of the rows of one class, in two passes and one correction of each."""
    xp = namespace(x, w)
    total = w @ x
    n, seen = xp.broadcast_to(w.sum(), total.shape), None
    if xp is not np or np.isnan(total).any():  # which tells of missing cells
        seen = ~xp.isnan(x)
        n, total = w @ seen.astype(x.dtype), w @ xp.where(seen, x, 0)
    safe = xp.where(n > 0, n, 1)
    mean = total / safe
    rest = x - mean if seen is None else xp.where(seen, x - mean, 0)
    shift = w @ rest / safe
    return n, mean + shift, xp.maximum(w @ (rest * rest) - n * shift * shift, 0)


def _stored_moments(x: Sparse, w: Float[np.ndarray, " m"]) -> Triple:
    """The same of sparse rows: those of the stored cells, to which Chan's rule adds the empty ones."""
    weight, column, d = np.repeat(w, np.diff(x.indptr)), x.indices, x.shape[1]
    n = np.bincount(column, weight, d)
    safe = np.where(n > 0, n, 1)
    mean = np.bincount(column, weight * x.data, d) / safe
    rest = x.data - mean[column]
    shift = np.bincount(column, weight * rest, d) / safe
    ss = np.maximum(np.bincount(column, weight * rest * rest, d) - n * shift * shift, 0)
    mean = mean + shift
    full = np.bincount(column, minlength=d) == len(w)  # where nothing is empty, no rounding may seem to be
    empty = np.where(full, 0, subtract_weight(w.sum(), n))
    whole = n + empty
    share = empty / np.where(whole > 0, whole, 1)
    return whole, mean - mean * share, ss + n * share * mean * mean


def _stacked(classes: list[Triple], dtype: Any = None) -> Triple:
    """The tables of all classes along a first axis."""
    xp = namespace(*classes[0])
    n, mean, ss = (xp.stack(leaf).astype(dtype or leaf[0].dtype) for leaf in zip(*classes, strict=True))
    return n, mean, ss
