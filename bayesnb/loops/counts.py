"""Sums of counts by class, and of tables that counts look up; dense rows, and sparse ones as CSR has them."""

from typing import Any

import numpy as np

from ..core import special
from ._compile import FAST, loop
from .gaussian import log, log1p

_EPS = special.EPS
_MULTIPLIED = 64  # counts above are few, and take Stirling's series
_FACTORS = 16  # of 1e-18 to 1e18 each that are multiplied before a logarithm
_stirling_rest = loop(FAST)(special._stirling_rest)


@loop(FAST)
def by_class(X: Any, y: Any, w: Any, out: Any) -> None:
    """out_kj = Σ_i w_i [y_i = k] x_ij."""
    n, d = X.shape
    for i in range(n):
        row, v = out[y[i]], w[i]
        for j in range(d):
            row[j] += v * X[i, j]


@loop()
def stored_by_class(ends: Any, columns: Any, cells: Any, y: Any, w: Any, out: Any) -> None:
    """The same of sparse rows."""
    for i in range(len(ends) - 1):
        row, v = out[np.uint64(y[i])], w[i]
        at, x = columns[ends[i] : ends[i + 1]], cells[ends[i] : ends[i + 1]]
        for p in range(len(at)):
            row[np.uint64(at[p])] += v * x[p]


@loop()
def levels_by_class(X: Any, y: Any, w: Any, out: Any) -> None:
    """out_kjl = Σ_i w_i [y_i = k] [x_ij = l]; any other code is missing."""
    n, d = X.shape
    levels = out.shape[2]
    for i in range(n):
        table, v = out[y[i]], w[i]
        for j in range(d):
            x = X[i, j]
            if 0 <= x < levels:
                table[j, int(x)] += v


@loop(FAST)
def product(X: Any, slope: Any, level: Any, out: Any) -> None:
    """out_ik = Σ_j (x_ij slope_kj + level_kj) over the observed cells."""
    n, d = X.shape
    c = len(slope)
    whole = np.zeros(c)
    for k in range(c):
        for j in range(d):
            whole[k] += level[k, j]
    for i in range(n):
        for k in range(c):
            own = slope[k]
            total = 0.0
            for j in range(d):
                total += X[i, j] * own[j]
            if total == total:
                out[i, k] = total + whole[k]
                continue
            total = 0.0
            for j in range(d):
                x = X[i, j]
                if x == x:
                    total += x * own[j] + level[k, j]
            out[i, k] = total


@loop(FAST)
def stored_product(ends: Any, columns: Any, cells: Any, weights: Any, out: Any) -> None:
    """out_ik = Σ_j x_ij weights_jk of sparse rows, four cells at a time, for which a sum is read and written once."""
    c = out.shape[1]
    total = np.empty(c)
    for i in range(len(ends) - 1):
        total[:] = 0.0
        at, x = columns[ends[i] : ends[i + 1]], cells[ends[i] : ends[i + 1]]
        n = len(at)
        for p in range(n % 4):
            own = weights[np.uint64(at[p])]
            for k in range(c):
                total[k] += x[p] * own[k]
        for p in range(n % 4, n, 4):
            x0, x1, x2, x3 = x[p], x[p + 1], x[p + 2], x[p + 3]
            w0, w1 = weights[np.uint64(at[p])], weights[np.uint64(at[p + 1])]
            w2, w3 = weights[np.uint64(at[p + 2])], weights[np.uint64(at[p + 3])]
            for k in range(c):
                total[k] += (x0 * w0[k] + x1 * w1[k]) + (x2 * w2[k] + x3 * w3[k])
        out[i] = total


@loop(FAST, forceinline=True)
def log_rising(a: Any, x: Any) -> Any:
    """`core.special.log_rising` of 1e-18 < a < 1e18: eight steps of the recurrence are a quotient of two products."""
    s, b = a + 8.0, a + x
    below = a * (a + 1.0) * (a + 2.0) * (a + 3.0) * (a + 4.0) * (a + 5.0) * (a + 6.0) * (a + 7.0)
    above = b * (b + 1.0) * (b + 2.0) * (b + 3.0) * (b + 4.0) * (b + 5.0) * (b + 6.0) * (b + 7.0)
    series = _stirling_rest(b + 8.0) - _stirling_rest(s)
    return (s - 0.5) * log1p(x / s) + x * (log(b + 8.0, 0.0) - 1.0) + series + log(below / above, 0.0 * above)


@loop(FAST)
def rising_cells(a: Any, x: Any, out: Any) -> None:
    """The same of many cells."""
    for i in range(len(a)):
        out[i] = log_rising(a[i], x[i])


@loop(FAST)
def _left(whole: Any, w: Any, i: int, k: int, x: float, least: float) -> Any:
    """`downdate`: what row i leaves of a whole, where it has x times its weight in class k."""
    if w is None:  # decided when it is compiled
        return whole
    rest = whole - w[i, k] * x
    return rest if rest > _EPS * whole else least * whole


@loop(FAST)
def _multiply(alpha: Any, at: Any, x: Any, steps: Any, w: Any, i: int, least: Any, many: Any, found: Any) -> None:
    """found_k += log Π (α_jk − w_ik x + t) of a few factors, four at a time."""
    c, n = len(found), len(at)
    many[:] = 1.0
    for p in range(n % 4):
        own, count, t = alpha[at[p]], x[p], steps[p]
        for k in range(c):
            many[k] *= _left(own[k], w, i, k, count, least) + t
    for p in range(n % 4, n, 4):
        a0, a1, a2, a3 = alpha[at[p]], alpha[at[p + 1]], alpha[at[p + 2]], alpha[at[p + 3]]
        x0, x1, x2, x3 = x[p], x[p + 1], x[p + 2], x[p + 3]
        t0, t1, t2, t3 = steps[p], steps[p + 1], steps[p + 2], steps[p + 3]
        for k in range(c):
            first = (_left(a0[k], w, i, k, x0, least) + t0) * (_left(a1[k], w, i, k, x1, least) + t1)
            many[k] *= first * ((_left(a2[k], w, i, k, x2, least) + t2) * (_left(a3[k], w, i, k, x3, least) + t3))
    for k in range(c):
        found[k] += log(many[k], 0.0 * many[k])


@loop(FAST)
def rising(ends: Any, columns: Any, cells: Any, alpha: Any, total: Any, w: Any, least: float, out: Any) -> None:
    """out_ik = Σ_j log a_jk^(x_ij) − log A_k^(L_i) of α − w_i x_i and its sum; L the sum of the cells.

    Up to 64 factors of a whole count are multiplied, sixteen cells and more to a logarithm.

    Parameters
    ----------
    alpha, total : (d, c) and (c,)
    w : (n, c); None where no row leaves
    least : share of α that is left where a row has all of it
    """
    c = len(total)
    found, many = np.empty(c), np.empty(c)
    at, count, step = np.empty(_FACTORS, np.uint64), np.empty(_FACTORS), np.empty(_FACTORS)
    for i in range(len(ends) - 1):
        found[:] = 0.0
        length, used = 0.0, 0
        for p in range(ends[i], ends[i + 1]):
            x, j = np.float64(cells[p]), np.uint64(columns[p])
            length += x
            if not (0 <= x <= _MULTIPLIED and x == np.floor(x)):
                for k in range(c):
                    found[k] += log_rising(_left(alpha[j, k], w, i, k, x, least), x)
                continue
            for t in range(int(x)):
                at[used], count[used], step[used] = j, x, t
                used += 1
                if used == _FACTORS:
                    _multiply(alpha, at, count, step, w, i, least, many, found)
                    used = 0
        _multiply(alpha, at[:used], count[:used], step[:used], w, i, least, many, found)
        for k in range(c):
            out[i, k] = found[k] - log_rising(_left(total[k], w, i, k, length, least), length)
