"""Sums of tables that the levels of cells look up; dense rows, and sparse ones as CSR has them."""

from typing import Any

import numpy as np

from ._compile import FAST, loop


@loop(FAST)
def highest(cells: Any) -> float:
    """The largest cell, −1 where some cell is not a whole number from 0 on; missing cells are left out."""
    top, sound = 0.0, True
    for i in range(len(cells)):
        x = np.float64(cells[i])
        sound &= (x != x) | ((x >= 0) & (x == np.floor(x)))
        top = x if x > top else top
    return top if sound else -1.0


@loop(FAST)
def look_up(X: Any, weights: Any, levels: int, out: Any) -> None:
    """out_ik += Σ_j weights[j (levels + 1) + x_ij, k]; any other cell has the place of one level more."""
    n, d = X.shape
    at = np.empty(d, np.uint64)
    for i in range(n):
        for j in range(d):
            x = X[i, j]
            at[j] = j * (levels + 1) + (int(x) if (x >= 0) & (x < levels) else levels)
        add_rows(weights, at, out[i])


@loop(FAST)
def look_up_stored(ends: Any, columns: Any, cells: Any, weights: Any, levels: int, out: Any) -> None:
    """The same of the stored cells of sparse rows."""
    at = np.empty(0, np.uint64)
    for i in range(len(ends) - 1):
        start, stop = ends[i], ends[i + 1]
        if stop - start > len(at):
            at = np.empty(2 * (stop - start), np.uint64)
        for p in range(start, stop):
            x = cells[p]
            at[p - start] = columns[p] * (levels + 1) + (int(x) if (x >= 0) & (x < levels) else levels)
        add_rows(weights, at[: stop - start], out[i])


@loop(FAST)
def add_rows(table: Any, at: Any, total: Any) -> None:
    """total_k += Σ_p table[at_p, k], four rows at a time, for which a sum is read and written once."""
    n = len(at)
    if len(total) == 1:
        found = 0.0
        for p in range(n):
            found += table[at[p], 0]
        total[0] += found
        return
    for p in range(n % 4):
        own = table[at[p]]
        for k in range(len(total)):
            total[k] += own[k]
    for p in range(n % 4, n, 4):
        w0, w1, w2, w3 = table[at[p]], table[at[p + 1]], table[at[p + 2]], table[at[p + 3]]
        for k in range(len(total)):
            total[k] += (w0[k] + w1[k]) + (w2[k] + w3[k])
