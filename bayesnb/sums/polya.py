"""Rows of counts under Dirichlet–multinomials: log coefficients, and Σ_j log α_j^(x_j) − log A^(L), A = Σα, L = Σx.

a^(x) = Γ(a+x)/Γ(a) is a rising factorial. It is computed once for every distinct pair of a column and a count, and a
product with sparse rows adds the pairs up. Many cells go through the loop of `loops.counts`, which multiplies the
factors of whole counts.
"""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from ..core.arrays import Array, Float, Int, Real, Sparse, is_sparse
from ..core.special import gammaln, log_rising, namespace
from ..loops import contiguous, worth
from .rows import as_csr, csr_slice, downdate, row_totals, slices

_CELLS = 1 << 21  # cells of a temporary table
_STORED = 1 << 19  # stored cells at a time: temporaries of 4 MiB
_KNOWN = 1 << 10  # whole counts below are levels, and have their log factorial looked up
_FACTORS = 16  # of a rising factorial that are multiplied before a logarithm
_LARGE = 1e9  # from here on the product of a loop's factors could overflow


def log_coefficient(x: Real[Array, "n d"] | Sparse) -> Float[Array, " n"]:
    """log L!/Π_j x_j!, the number of orders of the events of a row."""
    length = row_totals(x)
    if namespace(x) is not np:
        return gammaln(length + 1) - gammaln(x + 1).sum(1)
    if not is_sparse(x) and x.size > _STORED and len(x) > 1:
        return np.concatenate([log_coefficient(x[part]) for part in slices(len(x), x.shape[1], _STORED)])
    x, found = as_csr(x), np.empty(len(length))
    if worth(8 * x.nnz):
        from ..loops.counts import log_coefficients

        log_coefficients(x.indptr, contiguous(x.data), _log_factorials(), found)
        return found
    levels, place = _levels(x.data)
    row = np.repeat(np.arange(len(length)), np.diff(x.indptr))
    return gammaln(length + 1) - np.bincount(row, gammaln(levels + 1)[place], len(length))


@functools.cache
def _log_factorials() -> np.ndarray:
    """log x! of the whole numbers from 0 on."""
    return gammaln(np.arange(1.0, _KNOWN + 1))


def _levels(v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Values among which all of v are, and the place of each."""
    if v.size and 0 <= v.min() and v.max() < _KNOWN and np.array_equal(place := v.astype(np.intp), v):
        return np.arange(place.max() + 1.0), place
    return np.unique(v, return_inverse=True)


def distinct(key: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray]:
    """The distinct keys below `size`, in order, and the place of each key among them."""
    if size > 16 * key.size:  # sorting them takes less than a pass over all that there could be
        return np.unique(key, return_inverse=True)
    here = np.bincount(key, minlength=size) > 0
    return np.flatnonzero(here), (np.cumsum(here) - 1)[key]


def log_polya(
    x: Real[Array, "n d"] | Sparse,
    alpha: Float[Array, "c d"],
    by_event: Callable[[], tuple[np.ndarray, np.ndarray]] | None = None,
    w: Float[np.ndarray, " n"] | None = None,
) -> Float[Array, "n c"]:
    """Σ_j log α_j^(x_j) − log A^(L).

    Parameters
    ----------
    by_event : gives α and log α as (d, c), which a loop takes where it serves
    w : on the host α − w_i x_i stands for α
    """
    total, length = alpha.sum(-1), row_totals(x)
    if namespace(x, alpha) is not np:
        return log_rising(alpha, x[:, None]).sum(-1) - log_rising(total, length[:, None])
    x, table = as_csr(x), np.empty((len(length), len(alpha)))
    by_loop = by_event is not None and total.max(initial=0) < _LARGE and worth(4 * x.nnz * len(alpha))
    if not (by_loop and by_event is not None and _rising_by_loop(x, *by_event(), table)):
        _rising_by_pairs(x, alpha, 0 * length if w is None else w, table)
    pairs, at = np.unique(length + 1j * (0 if w is None else w), return_inverse=True)
    left = downdate(total, (pairs.imag * pairs.real)[:, None])
    table -= log_rising(left, pairs.real[:, None])[at]
    return table


def _rising_by_loop(x: Sparse, alpha: np.ndarray, log_alpha: np.ndarray, table: np.ndarray) -> bool:
    """Σ_j log α_j^(x_j) into the table; False if a count is no whole number below 1,024."""
    from ..loops.counts import rising

    return bool(rising(x.indptr, x.indices, contiguous(x.data), alpha, log_alpha, float(_KNOWN), table))


def _rising_by_pairs(x: Sparse, alpha: np.ndarray, w: np.ndarray, table: np.ndarray) -> None:
    """Σ_j log (α_j − wx_j)^(x_j) into the table, half of the rows at a time where there are many cells or pairs."""
    n, d = x.shape
    halves = slice(0, n // 2), slice(n // 2, n)
    if n > 1 and x.nnz > _STORED:
        for part in halves:
            _rising_by_pairs(csr_slice(x, part), alpha, w[part], table[part])
        return
    counts, of_count = _levels(x.data)
    weights, of_weight = np.unique(w, return_inverse=True)
    cells = of_count + len(counts) * x.indices.astype(np.intp)
    cells = np.repeat(of_weight, np.diff(x.indptr)) + len(weights) * cells
    pairs, place = distinct(cells, d * len(counts) * len(weights))
    if n > 1 and len(pairs) * len(alpha) > _CELLS:
        for part in halves:
            _rising_by_pairs(csr_slice(x, part), alpha, w[part], table[part])
        return
    column, count = pairs // (len(weights) * len(counts)), counts[pairs // len(weights) % len(counts)]
    left = alpha.T[column]
    if w.any():
        left = downdate(left, (weights[pairs % len(weights)] * count)[:, None])
    table[:] = sparse.csr_array((np.ones(x.nnz), place, x.indptr), shape=(n, len(pairs))) @ _rising(left, count)


def _rising(a: np.ndarray, x: np.ndarray) -> np.ndarray:
    """log a^(x) of a (p, …) and x (p,): the logarithm of a product, of few factors as counts mostly have them."""
    product, few = a.copy(), (x >= 1) & (x <= _FACTORS) & (x == np.floor(x))
    for t in range(1, _FACTORS):
        more = np.flatnonzero(few & (x > t))
        if not len(more):
            break
        product[more] *= a[more] + t
    found, odd = np.log(product), np.flatnonzero(~few)
    found[odd] = log_rising(a[odd], x[odd].reshape(-1, *(1,) * (a.ndim - 1)))
    return found


def log_polya_without(
    x: Real[Array, "n d"] | Sparse,
    alpha: Float[Array, "c d"],
    w: Float[Array, "n c"] | Sparse,
    by_event: Callable[[], tuple[np.ndarray, np.ndarray]] | None = None,
) -> Float[Array, "n c"]:
    """Σ_j log (α_j − wx_j)^(x_j) − log (A − wL)^(L) of rows that leave class c with weight w_ic.

    It is gain((1 − w) x) − gain(−w x), in one rising factorial. On the host all classes of a row are computed with the
    weight that most of them have; the others are computed alone.
    """
    w = w.toarray() if is_sparse(w) else w
    if namespace(x, alpha, w) is not np:
        length = row_totals(x)[:, None]
        cells = log_rising(downdate(alpha, w[..., None] * x[:, None]), x[:, None])
        return cells.sum(-1) - log_rising(downdate(alpha.sum(-1), w * length), length)
    x, usual = as_csr(x), w.max(1, initial=0) * (2 * (w != 0).sum(1) > w.shape[1])
    table = log_polya(x, alpha, None, usual) if usual.any() else log_polya(x, alpha, by_event)
    rows, k = np.nonzero(w != usual[:, None])
    if len(rows):
        own = x if len(rows) == len(w) and (rows == np.arange(len(w))).all() else x[rows]
        table[rows, k] = _of_class(own, alpha, k, w[rows, k])
    return table


def _of_class(x: Sparse, alpha: np.ndarray, k: np.ndarray, w: np.ndarray) -> Float[np.ndarray, " n"]:
    """The same of each row for a class of its own, half of the rows at a time where there are many cells."""
    n = len(k)
    if n > 1 and x.nnz > _STORED:
        halves = slice(0, n // 2), slice(n // 2, n)
        return np.concatenate([_of_class(csr_slice(x, part), alpha, k[part], w[part]) for part in halves])
    row, length = np.repeat(np.arange(len(k)), np.diff(x.indptr)), row_totals(x)
    cells = _rising(downdate(alpha[k[row], x.indices], w[row] * x.data), x.data)
    return np.bincount(row, cells, len(k)) - log_rising(downdate(alpha.sum(-1)[k], w * length), length)


def chosen_cells(x: Real[Array, "n d"] | Sparse, columns: Int[np.ndarray, " k"]) -> Float[Array, "n k"]:
    """Some columns, dense."""
    return x[:, columns].toarray() if is_sparse(x) else x[:, columns]


def event_shares(
    x: Real[Array, "n d"] | Sparse, columns: Int[np.ndarray, " k"], alpha: Float[Array, "c d"], log_theta: Any = None
) -> Float[Array, "*s n k c"]:
    """log α_j^(x_j) − (x_j/L) log A^(L), or x_j log θ_j: shares of log p of a row of events."""
    cells = chosen_cells(x, columns)
    if log_theta is not None:
        return cells[..., None] * log_theta[..., columns].swapaxes(-1, -2)[..., None, :, :]
    length = row_totals(x)[:, None]
    share = cells / np.where(length > 0, length, 1)
    whole = log_rising(alpha.sum(-1), length)
    return log_rising(alpha.T[columns], cells[..., None]) - share[..., None] * whole[:, None, :]


def merge_others(alpha: Float[Array, "c d"], columns: Int[np.ndarray, " k"]) -> Float[Array, "c k1"]:
    """Concentrations of some kinds of events, and of all others put together."""
    rest = np.delete(alpha, columns, axis=1).sum(1, keepdims=True)
    return np.concatenate([alpha[:, columns], np.maximum(rest, 1e-50)], 1)
