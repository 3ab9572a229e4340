"""Counts of events: log factorials and rising factorials, summed over the cells of rows, dense or sparse."""

import numpy as np
from scipy import sparse

from ..core.arrays import Array, Float, Sparse
from ..core.special import gammaln, is_whole, log_rising, namespace
from ..loops import contiguous, worth
from .rows import as_csr, csr_slice, distinct, only, slices

_CELLS = 1 << 21  # cells of a temporary table
MULTIPLIED = 1 << 10  # counts above do not go through loops, which multiply all factors
_LARGEST = 128  # counts above are rare in text, and go through log Γ once for each pair of a column and a count
MODEST = 1e9  # so many numbers up to here have a product that is a number
_LEVELS = 8  # factors of a rising factorial that are multiplied before the logarithm
_FACTORIALS = 1 << 10  # whole counts below have their log factorial looked up
_STORED_SHARE = 2  # stored cells of sparse rows are worked on in temporaries of half of that


def log_factorial(count: Array) -> Array:
    """log x! = log Γ(x + 1); of whole counts on the host the first are looked up, which is ten times as fast."""
    if namespace(count) is np and count.size > _FACTORIALS and count.min() >= 0 and count.max() < _FACTORIALS:
        index = count.astype(np.int32)
        if np.array_equal(index, count):
            return gammaln(np.arange(1, _FACTORIALS + 1, dtype=count.dtype)).take(index)
    return gammaln(count + 1)


def log_rising_sum(
    x: Array | Sparse,
    alpha: Float[Array, "c d"],
    log_alpha: Float[Array, "c d"] | None = None,
    total: Float[Array, " c"] | None = None,
) -> Float[Array, "n c"]:
    """Σ_j log α_cj^(x_ij), where a^(x) = Γ(a+x)/Γ(a); dense or sparse rows.

    For whole counts a^(x) = Π_{t<x} (a+t): the sparse product of [x > 0] with log α, and `_later_factors` of the counts
    above 1. Fractional counts, and what is left of counts above 128, are computed once for every pair of a column and a
    count. `log_alpha` and `total`, Σ_j α_cj, are given where they are known.
    """
    if namespace(x, alpha) is not np:
        return log_rising(alpha[None], x[:, None, :]).sum(-1)
    x = as_csr(x)
    known = np.log(alpha) if log_alpha is None else log_alpha
    table = np.zeros((x.shape[0], len(alpha)))
    if (alpha if total is None else total).max(initial=0) < MODEST and worth(2 * x.nnz * len(alpha)):
        from ..loops.counts import rising

        cells = contiguous(x.data)
        if not rising(x.indptr, x.indices, cells, contiguous(alpha.T), contiguous(known.T), MULTIPLIED, table):
            odd = (cells > MULTIPLIED) | (cells != np.floor(cells))
            table += _rising_cells(only(x, np.flatnonzero(odd)), alpha)
        return table
    for part in slices(x.shape[0], _STORED_SHARE * -(-x.nnz // max(x.shape[0], 1))):
        cells = csr_slice(x, part)
        if not (cells.data.max(initial=0) < np.inf and is_whole(cells)):  # False for NaN
            table[part] = _rising_cells(cells, alpha)
            continue
        first = sparse.csr_array(((cells.data > 0).astype(float), cells.indices, cells.indptr), cells.shape)
        table[part] = first @ known.T
        more = np.flatnonzero(cells.data > 1)
        if more.size:
            table[part] += _later_factors(only(cells, more), alpha)
    return table


def _later_factors(x: Sparse, alpha: Array, low: int = 1) -> Array:
    """Σ_j Σ_{low≤t<x} log(α_cj + t) of whole counts above `low`: of low ≤ t < 2 low, then of the next 2 low, and so on.

    In each turn the cells that are left look up their sum over these t, up to their own count, in a table of columns.
    Where that would be too large it is made for half of the rows at a time, with the same bits.
    """
    (n, d), c = x.shape, len(alpha)
    table = np.zeros((n, c))
    while x.nnz and low < _LARGEST:
        here, column = distinct(x.indices, d)
        if n > 1 and low * len(here) * c > _CELLS:
            for part in (slice(0, n // 2), slice(n // 2, n)):
                table[part] += _later_factors(csr_slice(x, part), alpha, low)
            return table
        sums = alpha.T.take(here, axis=0) + np.arange(low, 2 * low)[:, None, None]
        np.log(sums, out=sums)
        for t in range(1, low):
            sums[t] += sums[t - 1]
        last = (np.minimum(x.data, 2 * low) - low - 1).astype(column.dtype)
        at = (last * len(here) + column).astype(x.indices.dtype)
        chosen = sparse.csr_array((np.ones(x.nnz), at, x.indptr), (n, low * len(here)))
        table += chosen @ sums.reshape(-1, c)
        low *= 2
        x = only(x, np.flatnonzero(x.data > low))
    if x.nnz:
        x.data = x.data - low
        table += _rising_cells(x, alpha + low)
    return table


def _rising_cells(x: Sparse, alpha: Array) -> Array:
    """`log_rising_sum` by the rising factorial of every distinct pair of a column and a count."""
    pairs, place = np.unique(x.indices + 1j * x.data, return_inverse=True)  # complex numbers are sorted as pairs
    chosen = sparse.csr_array((np.ones(x.nnz), place, x.indptr), shape=(x.shape[0], len(pairs)))
    table = np.zeros((x.shape[0], len(alpha)))
    step = max(1, _CELLS // len(alpha))
    for at in range(0, len(pairs), step):
        column, count = pairs.real[at : at + step].astype(np.intp), pairs.imag[at : at + step]
        table += chosen[:, at : at + step] @ log_rising_cells(alpha[:, column].T, count[:, None])
    return table


def log_rising_cells(a: Array, x: Array) -> Array:
    """log of the rising factorial a^(x), cell by cell; small whole counts on the host as log Π_{t<x} (a + t)."""
    if namespace(a, x) is not np or not (x == np.floor(x)).all():
        return log_rising(a, x)
    shape = np.broadcast_shapes(np.shape(a), np.shape(x))
    a, x = (np.broadcast_to(one, shape).ravel() for one in (a, x))
    if a.max(initial=0) > 1e35:  # the product of eight could overflow
        return log_rising(a, x).reshape(shape)
    product, total = np.where(x > 0, a, 1), np.zeros(len(x), np.result_type(a, x))
    more = np.flatnonzero(x > 1)
    for t in range(1, 4 * _LEVELS):
        if not len(more):
            break
        if t % _LEVELS == 0:
            total[more] += np.log(product[more])
            product[more] = 1
        product[more] *= a[more] + t
        more = more[x[more] > t + 1]
    total += np.log(product)
    total[more] += log_rising(a[more] + 4 * _LEVELS, x[more] - 4 * _LEVELS)
    return total.reshape(shape)
