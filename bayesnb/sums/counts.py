"""Rows of counts under Dirichlet–multinomials: log coefficients, and Σ_j log α_j^(x_j) − log A^(L), A = Σα, L = Σx.

a^(x) = Γ(a+x)/Γ(a) is a rising factorial. The formula computes it for the cells that are stored; many cells go through
one loop, which multiplies the factors of whole counts.
"""

import functools
from typing import Any

import numpy as np

from ..core.arrays import Array, Data, Float, Table, Weights, is_sparse
from ..core.special import gammaln, log_rising, namespace
from .loops import contiguous, stored, worth
from .rows import downdate, map_cells, row_totals, sum_over_cells_of

_KNOWN = 1 << 10  # whole counts below have their log factorial looked up
_SLOW = 32  # how much longer the formula takes for a cell and class than NumPy for a simple sum


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


def log_coefficient(x: Data) -> Float[Array, " n"]:
    """log L!/Π_j x_j!, the number of orders of the events of a row."""
    return gammaln(row_totals(x) + 1) - row_totals(map_cells(x, log_factorial))


def log_polya(x: Data, alpha: Float[Array, "c d"], w: Weights | None = None) -> Table:
    """Σ_j log α_j^(x_j) − log A^(L); of rows that leave class c with weight w_ic, α − wx stands for α.

    With the weights it is gain((1 − w) x) − gain(−w x), in one rising factorial.
    """
    w, total = w.toarray() if is_sparse(w) else w, alpha.sum(-1)
    size = x.nnz if is_sparse(x) else x.size
    if namespace(x, alpha, w) is np and worth(_SLOW * size * len(alpha)):
        from ._compiled import rising

        table = np.empty((x.shape[0], len(alpha)))
        rising(*stored(x), contiguous(alpha.T), total, None if w is None else np.ascontiguousarray(w, float), table)
        return table

    def left(x: Array, w: Any, alpha: Array) -> Array:
        return log_rising(downdate(alpha, w * x), x)

    length = row_totals(x)[:, None]
    w = 0 * length if w is None else w
    return sum_over_cells_of(left, x, w, (alpha,)) - left(length, w, total)
