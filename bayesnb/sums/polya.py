"""Rows of counts under Dirichlet–multinomials: log coefficients, and Σ_j log α_j^(x_j) − log A^(L), A = Σα, L = Σx.

a^(x) = Γ(a+x)/Γ(a) is a rising factorial. The formula computes it for the cells that are stored, a few
classes at a time; many cells go through one loop, which multiplies the factors of whole counts.
"""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from ..core.arrays import Array, Float, Int, Real, Sparse, is_sparse
from ..core.special import gammaln, log_rising, namespace
from ..loops import contiguous, worth
from .rows import batches, downdate, map_cells, row_totals

_KNOWN = 1 << 10  # whole counts below have their log factorial looked up
_SLOW = 32  # how much longer the formula takes for a cell and class than NumPy for a simple sum
_CELLS = 1 << 18  # numbers of a temporary table: 2 MiB
_LARGE = 1e18  # concentrations of which a loop multiplies sixteen


def log_factorial(count: Array) -> Array:
    """log x!; of many whole counts on the host the first are looked up, which is ten times as fast."""
    if namespace(count) is np and count.size > _KNOWN and count.min() >= 0 and count.max() < _KNOWN:
        place = count.astype(np.int32)
        if np.array_equal(place, count):
            return _log_factorials(count.dtype).take(place)
    return gammaln(count + 1)


@functools.cache
def _log_factorials(dtype: Any) -> np.ndarray:
    return gammaln(np.arange(1, _KNOWN + 1, dtype=dtype))


def log_coefficient(x: Real[Array, "n d"] | Sparse) -> Float[Array, " n"]:
    """log L!/Π_j x_j!, the number of orders of the events of a row."""
    return gammaln(row_totals(x) + 1) - row_totals(map_cells(x, log_factorial))


def rising_cells(a: Float[np.ndarray, " n"], x: Real[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
    """log a^(x) cell by cell on the host; of many by a loop."""
    if not worth(_SLOW * a.size) or a.min() * _LARGE < 1 or a.max() > _LARGE:
        return log_rising(a, x)
    from ..loops import counts

    found = np.empty(len(a))
    counts.rising_cells(contiguous(a), contiguous(x), found)
    return found


def log_polya(
    x: Real[Array, "n d"] | Sparse,
    alpha: Float[Array, "c d"],
    w: Float[Array, "n c"] | Sparse | None = None,
    by_event: Callable[[], np.ndarray] | None = None,
) -> Float[Array, "n c"]:
    """Σ_j log α_j^(x_j) − log A^(L); of rows that leave class c with weight w_ic, α − wx stands for α.

    With the weights it is gain((1 − w) x) − gain(−w x), in one rising factorial.

    Parameters
    ----------
    by_event : gives α as (d, c), which a loop takes where it serves
    """
    w, total = w.toarray() if is_sparse(w) else w, alpha.sum(-1)
    if namespace(x, alpha, w) is not np:
        length = row_totals(x)[:, None]
        w = 0 * length if w is None else w
        cells = log_rising(downdate(alpha, w[..., None] * x[:, None]), x[:, None])
        return cells.sum(-1) - log_rising(downdate(total, w * length), length)
    (ends, columns, cells), table = _stored(x), np.empty((x.shape[0], len(alpha)))
    n, c = table.shape
    if worth(_SLOW * cells.size * c) and alpha.min() * _LARGE > 1 and total.max() < _LARGE:
        from ..loops.counts import rising

        own = contiguous(alpha.T) if by_event is None else by_event()
        weights = None if w is None else np.ascontiguousarray(w, float)
        rising(ends, columns, cells, own, total, weights, float(downdate(np.ones(1), 1)[0]), table)
        return table
    add = sparse.csr_array((np.ones(cells.size), np.arange(cells.size), ends), (n, cells.size))
    row, x = np.repeat(np.arange(n), np.diff(ends)), cells[:, None]
    w, length = np.broadcast_to(0.0, table.shape) if w is None else w, add @ x
    for k in batches(c, max(1, _CELLS // max(1, cells.size))):
        terms = log_rising(downdate(alpha[k].T[columns], w[row, k] * x), x)
        table[:, k] = add @ terms - log_rising(downdate(total[k], w[:, k] * length), length)
    return table


def _stored(x: Array | Sparse) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Ends of the rows, columns and cells, as CSR has them; dense rows have all cells."""
    if is_sparse(x):
        x = x.tocsr()
        return x.indptr, x.indices, np.ascontiguousarray(x.data, float)
    index = np.int32 if x.size < 1 << 31 else np.int64
    ends = np.arange(len(x) + 1, dtype=index) * x.shape[1]
    return ends, np.tile(np.arange(x.shape[1], dtype=index), len(x)), np.ascontiguousarray(x, float).ravel()


def event_shares(
    x: Real[Array, "n d"] | Sparse, columns: Int[np.ndarray, " k"], alpha: Float[Array, "c d"], log_theta: Any = None
) -> Float[Array, "*s n k c"]:
    """log α_j^(x_j) − (x_j/L) log A^(L), or x_j log θ_j: shares of log p of a row of events."""
    cells = x[:, columns].toarray() if is_sparse(x) else x[:, columns]
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
