"""Sums over the cells of rows for the classes that they have left: mostly one a row, its own."""

from typing import Any

import numpy as np

from ._compile import FAST, loop
from .gaussian import (
    PRODUCT,
    TILE,
    add_levels,
    add_log_cells,
    add_logs,
    begin,
    four_columns,
    has_missing,
    log1p,
    multiply_seen,
    put,
)

_FACTORS = 32  # of up to 1e9 each, that are multiplied before a logarithm
_SMALL = 1 / 256  # the seventh term of the series of log(1 − v) is below rounding


@loop(FAST)
def _leave(
    column: Any, seen: Any, mine: Any, j: Any, mu: Any, own: Any, weight: Any, most: float, alike: bool, gone: Any,
    kept: Any, shared: Any,
) -> None:  # fmt: skip
    """gone = ((x − μ_jk) own_jk)² of four columns, NaN above `most`; kept + 1 is multiplied by 1 − gone."""
    for b in range(4):
        x, o, u, m, g = column[b], seen[b], gone[b], mu[j + b], own[j + b]
        for i in range(TILE):
            z = (x[i] - m[mine[i]]) * g[mine[i]]
            v = o[i] * z * z
            u[i] = v if v <= most else np.nan
        if alike:
            for i in range(TILE):
                kept[i] -= u[i] * (1.0 + kept[i])
        else:
            w = weight[0, j + b] + 0.5
            for i in range(TILE):
                shared[i] -= w * log1p(-u[i])


@loop(FAST)
def student_left(
    X: Any, mu: Any, slope: Any, weight: Any, level: Any, own: Any, level_of_own: Any, y: Any, alike: bool,
    most: float, out: Any,
) -> None:  # fmt: skip
    """`student` of rows that have left a variance that the classes share: it is multiplied by 1 − u in each column.

    With u = ((x_ij − μ_yj) own_yj)² and v as there, out_ik = Σ_j level_kj + weight_j log(1 − u + v) + rest_j, and for
    the row's own class y_i Σ_j level_of_own_yj + rest_j, where rest_j = −(weight_j + ½) log(1 − u). NaN where some u is
    more than `most`.
    """
    n, d = X.shape
    c = len(mu)
    total, product, column, seen = np.empty((c, TILE)), np.zeros((c, TILE)), np.zeros((4, TILE)), np.ones((4, TILE))
    gone, kept, shared, level_of = np.zeros((4, TILE)), np.zeros((1, TILE)), np.zeros((1, TILE)), np.empty((c, TILE))
    rest, mine, mu_of, own_of = -0.5 - weight, np.zeros(TILE, np.uint64), mu.T.copy(), own.T.copy()
    for at in range(0, n, TILE):
        tile, label = X[at : at + TILE], y[at : at + TILE]
        mine[: len(label)] = label
        missing = has_missing(tile.ravel())
        begin(level, missing, total)
        begin(level_of_own, missing, level_of)
        gone[:], kept[:], shared[:] = 0.0, 0.0, 0.0
        for j in range(0, d, 4):
            four_columns(tile, j, missing, column, seen)
            if missing:
                add_levels(seen, j, level, total)
                add_levels(seen, j, level_of_own, level_of)
            else:
                seen[:] = 1.0
            _leave(column, seen, mine, j, mu_of, own_of, weight, most, alike, gone, kept[0], shared[0])
            if not alike:
                add_log_cells(column, seen, gone, j, mu, slope, weight, 1.0, total)
                continue
            multiply_seen(column, seen, gone, j, mu, slope, 1.0, product)
            if j % PRODUCT == PRODUCT - 4 or j + 4 >= d:
                add_logs(product, weight, total)
                add_logs(kept, rest, shared)
        put(total, shared[0], at, out)
        for i in range(len(label)):
            out[at + i, mine[i]] = level_of[mine[i], i] + shared[0, i]


@loop(FAST)
def look_up_stored(ends: Any, columns: Any, cells: Any, y: Any, tables: Any, needed: Any, out: Any) -> None:
    """out_i = Σ_j tables[k, j, x_ij] over the stored cells of sparse rows; NaN for an x that is no level.

    NaN, too, unless all cells are stored that may not be empty: needed_k of class k, where tables[k, j, 0] is NaN.
    """
    levels = tables.shape[2]
    for i in range(len(ends) - 1):
        k = np.uint64(y[i])
        total, met = 0.0, 0
        for p in range(ends[i], ends[i + 1]):
            x, own = cells[p], tables[k, np.uint64(columns[p])]
            at = np.uint64(x) if 0 <= x < levels else np.uint64(0)
            total += own[at] if x == at else np.nan
            met += own[0] != own[0]
        out[i] = total if met == needed[k] else np.nan
