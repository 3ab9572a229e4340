"""Sums of counts by class, and of tables that counts or levels look up; dense rows, and sparse ones as CSR has them."""

from math import log
from typing import Any

import numpy as np

from ._compile import FAST, loop

_FACTORS = 16  # of rising factorials that are multiplied before a logarithm


@loop()
def is_whole(cells: Any) -> bool:
    """Whether all cells that are not missing are whole numbers."""
    fractional = 0
    for x in cells:
        fractional += (x == x) & (x != np.floor(x))
    return fractional == 0


@loop()
def above(X: Any, threshold: float, out: Any) -> int:
    """[x > threshold] of each cell; returns 1 if some cell is missing, 2 and more if one is infinite."""
    n, d = X.shape
    missing = infinite = 0
    for i in range(n):
        for j in range(d):
            x = X[i, j]
            out[i, j] = x > threshold
            missing |= x != x
            infinite |= (x == x) & (x - x != 0)
    return missing + 2 * infinite


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
        row, v = out[y[i]], w[i]
        for p in range(ends[i], ends[i + 1]):
            row[columns[p]] += v * cells[p]


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
def look_up(X: Any, tables: Any, out: Any) -> None:
    """out_ik = Σ_j tables[j, x_ij, k] over the observed cells."""
    n, d = X.shape
    levels, c = tables.shape[1:]
    for i in range(n):
        row = out[i]
        for k in range(c):
            row[k] = 0.0
        for j in range(d):
            x = X[i, j]
            if 0 <= x < levels:
                own = tables[j, int(x)]
                for k in range(c):
                    row[k] += own[k]


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
    """out_ik = Σ_j x_ij weights_jk of sparse rows."""
    c = weights.shape[1]
    for i in range(len(ends) - 1):
        row = out[i]
        for k in range(c):
            row[k] = 0.0
        for p in range(ends[i], ends[i + 1]):
            x, own = cells[p], weights[columns[p]]
            for k in range(c):
                row[k] += x * own[k]


@loop(FAST)
def rising(ends: Any, columns: Any, cells: Any, alpha: Any, log_alpha: Any, largest: float, out: Any) -> bool:
    """out_ik = Σ_j log α_jk (α_jk + 1) … (α_jk + x_ij − 1), of whole counts up to `largest`; returns if all are.

    Of any other count as many factors are taken as there are, up to so many.
    """
    c = alpha.shape[1]
    many = np.ones(c)
    odd = 0
    for i in range(len(ends) - 1):
        row = out[i]
        used = 0
        for k in range(c):
            row[k] = 0.0
        for p in range(ends[i], ends[i + 1]):
            x, j = cells[p], columns[p]
            if x == 0.0:
                continue
            own = log_alpha[j]
            for k in range(c):
                row[k] += own[k]
            if x == 1.0:
                continue
            odd |= (x > largest) | (x != np.floor(x))
            own = alpha[j]
            for t in range(1, int(min(x, largest))):
                for k in range(c):
                    many[k] *= own[k] + t
                used += 1
                if used == _FACTORS:
                    used = 0
                    for k in range(c):
                        row[k] += log(many[k])
                        many[k] = 1.0
        if used:
            for k in range(c):
                row[k] += log(many[k])
                many[k] = 1.0
    return odd == 0


@loop(FAST)
def log_factorials(ends: Any, cells: Any, known: Any, length: Any, out: Any) -> bool:
    """length_i = Σ_j x_ij and out_i = Σ_j log x_ij!, looked up; returns whether all x are whole and known."""
    odd = 0
    for i in range(len(ends) - 1):
        total = spent = 0.0
        for p in range(ends[i], ends[i + 1]):
            x = cells[p]
            total += x
            if x != 1.0:
                at = int(x) if 0 <= x < len(known) else 0
                odd |= x != at
                spent += known[at]
        length[i], out[i] = total, spent
    return odd == 0
