"""Sums of counts by class, and of tables that counts or levels look up; dense rows, and sparse ones as CSR has them."""

import math
from typing import Any

import numpy as np

from ._compile import FAST, loop
from .gaussian import log1p

_FACTORS = 32  # of rising factorials, of up to 1e9 each, that are multiplied before a logarithm


@loop(FAST)
def is_whole(cells: Any) -> bool:
    """Whether all cells that are not missing are whole numbers."""
    fractions = 0.0
    for x in cells:
        fractions += x - np.floor(x) if x == x else 0.0
    return fractions == 0


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
def look_up(X: Any, weights: Any, levels: int, out: Any) -> None:
    """out_ik = Σ_j weights[j · levels + x_ij, k] over the observed cells, eight classes at a time in registers."""
    n, d = X.shape
    c = out.shape[1]
    at = np.empty(d, np.uint64)
    for i in range(n):
        seen = 0
        for j in range(d):
            x = X[i, j]
            if 0 <= x < levels:
                at[seen] = j * levels + int(x)
                seen += 1
        if c < 8:
            for k in range(c):
                total = 0.0
                for p in range(seen):
                    total += weights[at[p], k]
                out[i, k] = total
            continue
        for block in range(0, c, 8):
            k = min(block, c - 8)  # the last eight may overlap those before
            s0 = s1 = s2 = s3 = s4 = s5 = s6 = s7 = 0.0
            for p in range(seen):
                own = weights[at[p], k : k + 8]
                s0 += own[0]
                s1 += own[1]
                s2 += own[2]
                s3 += own[3]
                s4 += own[4]
                s5 += own[5]
                s6 += own[6]
                s7 += own[7]
            row = out[i, k : k + 8]
            row[0], row[1], row[2], row[3], row[4], row[5], row[6], row[7] = s0, s1, s2, s3, s4, s5, s6, s7


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
    total = np.empty(out.shape[1])
    for i in range(len(ends) - 1):
        total[:] = 0.0
        for p in range(ends[i], ends[i + 1]):
            x, own = cells[p], weights[np.uint64(columns[p])]
            for k in range(len(total)):
                total[k] += x * own[k]
        out[i] = total


@loop(FAST)
def rising(ends: Any, columns: Any, cells: Any, alpha: Any, log_alpha: Any, largest: float, out: Any) -> bool:
    """out_ik = Σ_j log α_jk (α_jk + 1) … (α_jk + x_ij − 1), of whole counts up to `largest`; returns if all are."""
    c = alpha.shape[1]
    total, many = np.empty(c), np.ones(c)
    odd = False
    for i in range(len(ends) - 1):
        total[:] = 0.0
        used = 0
        for p in range(ends[i], ends[i + 1]):
            x, j = cells[p], np.uint64(columns[p])
            if x > largest or x != np.floor(x) or x == 0:
                odd |= x != 0
                continue
            first = log_alpha[j]
            for k in range(c):
                total[k] += first[k]
            if x == 1:
                continue
            own = alpha[j]
            for t in range(1, int(x)):
                if used == _FACTORS:
                    used = 0
                    for k in range(c):
                        total[k] += log1p(many[k] - 1.0)
                        many[k] = 1.0
                used += 1
                for k in range(c):
                    many[k] *= own[k] + t
        if used:
            for k in range(c):
                total[k] += log1p(many[k] - 1.0)
                many[k] = 1.0
        out[i] = total
    return not odd


@loop(FAST)
def log_factorials(ends: Any, cells: Any, known: Any, length: Any, out: Any) -> bool:
    """length_i = Σ_j x_ij and out_i = Σ_j log x_ij!, looked up; returns whether all x are whole and known."""
    odd = 0
    for i in range(len(ends) - 1):
        total = spent = 0.0
        for p in range(ends[i], ends[i + 1]):
            x = cells[p]
            total += x
            at = np.int64(x) if 0 <= x < len(known) else np.int64(0)  # no branch: which count comes next is chance
            odd |= x != np.float64(at)
            spent += known[np.uint64(at)]
        length[i], out[i] = total, spent
    return odd == 0


@loop(FAST)
def events_by_class(ends: Any, columns: Any, cells: Any, y: Any, w: Any, known: Any, out: Any, log_h: Any) -> bool:
    """out_kj = Σ_i w_i x_ij and log_h_k = Σ_i w_i log L_i!/Πx_ij! of the rows of class k, L_i = Σ_j x_ij.

    Dense rows come as their cells one after the other, with None for the columns. Returns whether all x are whole and
    their log x! known; only then are the sums of use.
    """
    odd = 0
    for i in range(len(ends) - 1):
        row, v = out[y[i]], w[i]
        start = ends[i]
        length = spent = 0.0
        for p in range(start, ends[i + 1]):
            x = cells[p]
            j = np.uint64(p - start) if columns is None else np.uint64(columns[p])
            row[j] += v * x
            length += x
            at = np.int64(x) if 0 <= x < len(known) else np.int64(0)
            odd |= x != np.float64(at)
            spent += known[np.uint64(at)]
        log_h[y[i]] += v * (math.lgamma(length + 1.0) - spent)
    return odd == 0


@loop(FAST)
def product_of_own(X: Any, y: Any, slope: Any, level: Any, out: Any) -> None:
    """out_ik = Σ_j (x_ij slope_kj + level_kj) for the row's own class k, of rows without missing cells."""
    n, d = X.shape
    for i in range(n):
        k = np.uint64(y[i])
        total = 0.0
        for j in range(d):
            total += X[i, j] * slope[k, j] + level[k, j]
        out[i, k] = total


@loop(FAST)
def look_up_own(X: Any, y: Any, tables: Any, out: Any) -> None:
    """out_ik = Σ_j tables[k, j, x_ij] over the observed cells, for the row's own class k."""
    n, d = X.shape
    levels = tables.shape[2]
    for i in range(n):
        k = np.uint64(y[i])
        total = 0.0
        for j in range(d):
            x = X[i, j]
            if 0 <= x < levels:
                total += tables[k, j, np.uint64(x)]
        out[i, k] = total


@loop(FAST)
def rising_without(ends: Any, columns: Any, cells: Any, y: Any, alpha: Any, largest: float, out: Any) -> bool:
    """`rising` for the row's own class k alone, from α_jk − x_ij on, of which rounding leaves ε α_jk at least."""
    for i in range(len(ends) - 1):
        k = np.uint64(y[i])
        total, many = 0.0, 1.0
        for p in range(ends[i], ends[i + 1]):
            x = cells[p]
            if x > largest or x != np.floor(x):
                return False
            whole = alpha[np.uint64(columns[p]), k]
            left = max(whole - x, 2.220446049250313e-16 * whole)
            for t in range(int(x)):
                many *= left + t
            if not 1e-100 < many < 1e100:
                total += np.log(many)
                many = 1.0
        out[i, k] = total + np.log(many)
    return True
