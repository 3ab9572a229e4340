"""Sums of counts by class, and of tables that counts look up; dense rows, and sparse ones as CSR has them."""

import math
from typing import Any

import numpy as np

from ._compile import FAST, loop
from .gaussian import log
from .levels import add_rows

_LARGEST = np.finfo(float).max
_FACTORS = 32  # of rising factorials, of up to 1e9 each, that are multiplied before a logarithm


@loop()
def above(cells: Any, threshold: float, out: Any) -> bool:
    """[x > threshold] of each cell; returns whether all are finite."""
    odd = 0
    for p in range(len(cells)):
        x = cells[p]
        out[p] = x > threshold
        odd += not abs(x) <= _LARGEST
    return odd == 0


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


@loop(FAST)
def _add_logarithms(columns: Any, steps: Any, alpha: Any, many: Any, total: Any) -> None:
    """total_k += log Π (α_jk + t) of so few factors that their product is a number, four at a time."""
    c, n = len(total), len(columns)
    many[:] = 1.0
    for p in range(n % 4):
        own, t = alpha[columns[p]], steps[p]
        for k in range(c):
            many[k] *= own[k] + t
    for p in range(n % 4, n, 4):
        w0, w1, w2, w3 = alpha[columns[p]], alpha[columns[p + 1]], alpha[columns[p + 2]], alpha[columns[p + 3]]
        t0, t1, t2, t3 = steps[p], steps[p + 1], steps[p + 2], steps[p + 3]
        for k in range(c):
            many[k] *= ((w0[k] + t0) * (w1[k] + t1)) * ((w2[k] + t2) * (w3[k] + t3))
    for k in range(c):
        total[k] += log(many[k], 0.0)


@loop(FAST)
def rising(ends: Any, columns: Any, cells: Any, alpha: Any, log_alpha: Any, largest: float, out: Any) -> bool:
    """out_ik = Σ_j log α_jk (α_jk + 1) … (α_jk + x_ij − 1), of whole counts up to `largest`; returns if all are.

    Which cells have one event and which have more is written down without a branch: which count comes next is chance.
    """
    c = alpha.shape[1]
    total, many = np.empty(c), np.empty(c)
    factor, step = np.empty(_FACTORS, np.uint64), np.empty(_FACTORS)
    here, several, count = np.empty(0, np.uint64), np.empty(0, np.uint64), np.empty(0)
    sound = True
    for i in range(len(ends) - 1):
        total[:] = 0.0
        at, row = columns[ends[i] : ends[i + 1]], cells[ends[i] : ends[i + 1]]
        if len(at) > len(here):
            here, several = np.empty(2 * len(at), np.uint64), np.empty(2 * len(at), np.uint64)
            count = np.empty(2 * len(at))
        n = more = 0
        for p in range(len(at)):
            x, j = row[p], np.uint64(at[p])
            known = (x <= largest) & (x == np.floor(x)) & (x >= 0)
            sound &= known
            here[n], several[more], count[more] = j, j, x
            n += known & (x > 0)
            more += known & (x > 1)
        add_rows(log_alpha, here[:n], total)
        used = 0
        for p in range(more):
            for t in range(1, int(count[p])):
                if used == _FACTORS:
                    _add_logarithms(factor, step, alpha, many, total)
                    used = 0
                factor[used], step[used] = several[p], t
                used += 1
        if used:
            _add_logarithms(factor[:used], step[:used], alpha, many, total)
        out[i] = total
    return sound


@loop()
def log_coefficients(ends: Any, cells: Any, known: Any, out: Any) -> None:
    """out_i = log L_i!/Πx_ij!, L_i = Σ_j x_ij; log x! of small whole numbers is looked up."""
    for i in range(len(ends) - 1):
        length = spent = 0.0
        for p in range(ends[i], ends[i + 1]):
            x = np.float64(cells[p])
            length += x
            if 0 <= x < len(known) and x == np.floor(x):
                spent += known[int(x)]
            else:
                spent += math.lgamma(x + 1.0)
        out[i] = math.lgamma(length + 1.0) - spent
