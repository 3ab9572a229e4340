"""Sums over the cells of rows for the classes that they have left: mostly one a row, its own."""

from typing import Any

import numpy as np

from ..core.special import EPS
from ._compile import FAST, loop
from .counts import add_rows
from .gaussian import (
    PRODUCT,
    TILE,
    add_levels,
    add_log_cells,
    add_logs,
    begin,
    four_columns,
    has_missing,
    log,
    log1p,
    multiply_seen,
    put,
)

_FACTORS = 32  # of up to 1e9 each, that are multiplied before a logarithm
_SMALL = 1 / 256  # the seventh term of the series of log(1 − v) is below rounding


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
def rising_of_others(
    ends: Any, columns: Any, cells: Any, y: Any, by_class: Any, alpha: Any, log_less: Any, largest: float, out: Any
) -> bool:
    """out_ik = Σ_j log (α_jk − x_ij)^(x_ij), but Σ_j log α_jk^(x_ij) for the row's own class k = y_i.

    α comes by event and `by_class`, log(α − 1) by event. NaN where rounding leaves less than ε of some α. Returns
    whether all x are whole and at most `largest`.
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
        add_rows(log_less, here[:n], total)
        used = 0
        for p in range(n):
            x, whole = count[p], by_class[mine_is, here[p]]
            product *= whole
            for t in range(1, int(x)):
                product *= whole + t
                if used == _FACTORS:
                    _add_logarithms(factor, step, alpha, many, total)
                    used = 0
                factor[used], step[used] = here[p], -t - 1.0
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


@loop(FAST)
def rising_of_own(
    ends: Any, columns: Any, cells: Any, y: Any, alpha: Any, log_less: Any, largest: float, out: Any
) -> None:
    """out_i = Σ_j log (α_kj − x_ij)^(x_ij) for the row's own class k.

    The first of the factors α − 1, α − 2 … α − x comes as its logarithm. NaN where rounding leaves less than ε of some
    α, or an x is not whole or more than `largest`.
    """
    several, count = np.empty(0, np.uint64), np.empty(0)
    for i in range(len(ends) - 1):
        whole, logs = alpha[np.uint64(y[i])], log_less[np.uint64(y[i])]
        start, stop = ends[i], ends[i + 1]
        if stop - start > len(several):
            several, count = np.empty(2 * (stop - start), np.uint64), np.empty(2 * (stop - start))
        n: Any = 0
        total, odd = 0.0, False
        for p in range(start, stop):
            x, j = np.float64(cells[p]), np.uint64(columns[p])
            several[n], count[n] = j, x
            n += x != 1
            total += logs[j]
        product = 1.0
        for q in range(n):
            x, first = count[q], whole[several[q]]
            odd |= not ((x <= largest) & (x == np.floor(x)) & (x > 0)) | (first - x <= EPS * first)
            for t in range(2, 1 + int(0.0 if odd else x)):
                product *= first - t
                if not 1e-100 < product < 1e100:
                    total += np.log(product)
                    product = 1.0
        out[i] = np.nan if odd else total + np.log(product)


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
def normal_without(X: Any, y: Any, mu: Any, slope: Any, level: Any, out: Any) -> None:
    """out_i = Σ_j level_kj − ½((x_ij − μ_kj) slope_kj)² over the observed cells, for the row's own class k."""
    n, d = X.shape
    for i in range(n):
        k = np.uint64(y[i])
        m, g, a = mu[k], slope[k], level[k]
        total = 0.0
        for j in range(d):
            x = np.float64(X[i, j])
            z = (x - m[j]) * g[j]
            total += a[j] - 0.5 * z * z if x == x else 0.0
        out[i] = total


@loop(FAST)
def look_up_own(X: Any, y: Any, tables: Any, unknown: float, out: Any) -> None:
    """out_i = Σ_j tables[k, j, x_ij] over the observed cells, for the row's own class k; `unknown` for any other x."""
    n, d = X.shape
    levels = tables.shape[2]
    for i in range(n):
        k = np.uint64(y[i])
        total = 0.0
        for j in range(d):
            x = X[i, j]
            at = np.uint64(x) if 0 <= x < levels else np.uint64(0)
            total += tables[k, j, at] if x == at else (unknown if x == x else 0.0)
        out[i] = total


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
