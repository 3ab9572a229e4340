"""Rising factorials of rows of counts that have left the concentrations of some classes."""

from typing import Any

import numpy as np

from ._compile import FAST, loop
from .counts import _add_rows
from .gaussian import _log as log

_FACTORS = 32  # of up to 1e9 each, that are multiplied before a logarithm


@loop(FAST)
def _add_logarithms(columns: Any, steps: Any, alpha: Any, many: Any, total: Any) -> None:
    """total_k += log Π (α_jk + t); NaN where a factor is not positive."""
    c, n = len(total), len(columns)
    many[:] = 1.0
    for p in range(n):
        j, t = columns[p], steps[p]
        for k in range(c):
            factor = alpha[j, k] + t
            many[k] *= factor if factor > 0 else 0.0
    for k in range(c):
        total[k] += log(many[k], 0.0) if many[k] > 0 else np.nan


@loop(FAST)
def rising_without(
    ends: Any, columns: Any, cells: Any, y: Any, by_class: Any, alpha: Any, log_first: Any, own: bool, largest: float,
    out: Any,
) -> bool:  # fmt: skip
    """out_ik = Σ_j log (α_jk)^(x_ij) in some classes, and Σ_j log (α_jk − x_ij)^(x_ij) in those that the row has left.

    It has left its own class k = y_i, or with `own` false all others. Factors start from α or from α − 1 downwards,
    whose logarithm `log_first` is for the classes that are not the row's own. NaN where rounding leaves less than ε of
    some α, which come by event and `by_class`. Returns whether all x are whole and at most `largest`.
    """
    c = alpha.shape[1]
    total, many = np.empty(c), np.empty(c)
    factor, step = np.empty(_FACTORS, np.uint64), np.empty(_FACTORS)
    here, count = np.empty(0, np.uint64), np.empty(0)
    for i in range(len(ends) - 1):
        start, stop, mine_is = ends[i], ends[i + 1], np.uint64(y[i])
        if stop - start > len(here):
            here, count = np.empty(2 * (stop - start), np.uint64), np.empty(2 * (stop - start))
        n: Any = 0
        sound, mine, product = True, 0.0, 1.0
        for p in range(start, stop):
            x, j = np.float64(cells[p]), np.uint64(columns[p])
            sound &= (x <= largest) & (x == np.floor(x)) & (x >= 0)
            here[n], count[n] = j, x
            n += x > 0
        if not sound:
            return False
        total[:] = 0.0
        _add_rows(log_first, here[:n], total)
        used = 0
        for p in range(n):
            x, whole = count[p], by_class[mine_is, here[p]]
            first = whole - x if own else whole
            product *= first if first > 2.220446049250313e-16 * whole else np.nan
            for t in range(1, int(x)):
                product *= first + t
                if used == _FACTORS:
                    _add_logarithms(factor, step, alpha, many, total)
                    used = 0
                factor[used], step[used] = here[p], t if own else -t - 1.0
                used += 1
                if not 1e-100 < product < 1e100:
                    mine += np.log(product)
                    product = 1.0
            if not 1e-100 < product < 1e100:
                mine += np.log(product)
                product = 1.0
        if used:
            _add_logarithms(factor[:used], step[:used], alpha, many, total)
        out[i] = total
        out[i, mine_is] = mine + np.log(product)
    return True
