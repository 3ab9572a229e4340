"""Sums of normal and Student log densities: tiles of 128 rows, one column at a time, the classes inside."""

from typing import Any

import numpy as np

from ._compile import FAST, loop

TILE = 128
_PRODUCT, _FACTORS = 32, 16  # factors to a logarithm: those above 1, and those of which rounding leaves ε at least


@loop({"contract"})  # in any other order what is lost would be lost
def _log(u: Any, lost: Any) -> Any:
    """log u + lost for u > 0, in operations that can be done on several numbers at once; error below 1 ulp or so.

    With u = 2^k (1 + f), √½ ≤ 1 + f < √2 and s = f/(2 + f): k log 2 + f − ½f² + s(½f² + R(s²)). The coefficients of R
    are those of the log of FreeBSD's libm (Sun Microsystems, 1993).
    """
    bits = np.float64(u).view(np.int64) + (0x3FF0000000000000 - 0x3FE6A09E667F3BCD)
    k = np.int64((bits >> 52) | 0x4330000000000000).view(np.float64) - 4503599627371519.0
    f = np.int64((bits & 0x000FFFFFFFFFFFFF) + 0x3FE6A09E667F3BCD).view(np.float64) - 1.0
    s = f / (2.0 + f)
    z = s * s
    w = z * z
    even = w * (0.3999999999940941908 + w * (0.2222219843214978396 + w * 0.1531383769920937332))
    odd = z * (
        0.6666666666666735130 + w * (0.2857142874366239149 + w * (0.1818357216161805012 + w * 0.1479819860511658591))
    )
    half = 0.5 * f * f
    return k * 6.93147180369123816490e-01 - (
        (half - (s * (half + even + odd) + (k * 1.90821492927058770002e-10 + lost))) - f
    )


@loop({"contract"})
def log1p(x: Any) -> Any:
    """log(1 + x) for x > −1: log u, u = 1 + x, and c/u for what rounding u has lost."""
    u = 1.0 + x
    return _log(u, (x - (u - 1.0)) / u)


@loop(FAST)
def normal(X: Any, mu: Any, slope: Any, level: Any, out: Any) -> None:
    """out_ik = Σ_j level_kj − ½((x_ij − μ_kj) slope_kj)² over the observed cells."""
    n, d = X.shape
    c = len(mu)
    total, column, seen = np.empty((c, TILE)), np.zeros(TILE), np.empty(TILE)
    for at in range(0, n, TILE):
        rows = min(TILE, n - at)
        total[:] = 0.0
        for j in range(d):
            for i in range(rows):
                x = np.float64(X[at + i, j])
                seen[i] = 1.0 if x == x else 0.0
                column[i] = x if x == x else 0.0
            for k in range(c):
                m, g, a, sums = mu[k, j], slope[k, j], level[k, j], total[k]
                for i in range(TILE):
                    z = (column[i] - m) * g
                    sums[i] += seen[i] * (a - 0.5 * z * z)
        for i in range(rows):
            for k in range(c):
                out[at + i, k] = total[k, i]


@loop(FAST)
def student(
    X: Any, mu: Any, slope: Any, weight: Any, level: Any, alike: bool, y: Any, own: Any, most: float, out: Any
) -> None:
    """out_ik = Σ_j level_kj + weight_kj log(1 + v), v = ((x_ij − μ_kj) slope_kj)², over the observed cells.

    Where the columns of each class have one weight (`alike`), 32 factors are multiplied before a logarithm is taken.
    They are held less one, (1 + v)(1 + v') − 1 = v + v' + vv', so that small v keep all their digits.

    With classes y and `own` (c, d), each row has left a variance that the classes share: v is divided by
    s = 1 − min(((x_ij − μ_yj) own_yj)², most), and out_ik is less by ½ Σ_j log s.
    """
    n, d = X.shape
    c = len(mu)
    total, product, column, seen = np.empty((c, TILE)), np.zeros((c, TILE)), np.zeros(TILE), np.zeros(TILE)
    scale, shared, kept = np.zeros(TILE), np.zeros(TILE), np.ones(TILE)
    for at in range(0, n, TILE):
        rows = min(TILE, n - at)
        total[:] = 0.0
        for j in range(d):
            for i in range(rows):
                x = np.float64(X[at + i, j])
                seen[i] = scale[i] = 1.0 if x == x else 0.0
                column[i] = x if x == x else 0.0
            if len(y) > 0:
                for i in range(rows):
                    mine = np.uint64(y[at + i])
                    z = (column[i] - mu[mine, j]) * own[mine, j] * seen[i]
                    left = 1.0 - min(z * z, most)
                    scale[i] = seen[i] / np.sqrt(left)
                    kept[i] *= left
                if j % _FACTORS == _FACTORS - 1 or j == d - 1:
                    for i in range(TILE):
                        shared[i] -= 0.5 * _log(kept[i], 0.0)
                        kept[i] = 1.0
            for k in range(c):
                m, g, w, a, sums, p = mu[k, j], slope[k, j], weight[k, j], level[k, j], total[k], product[k]
                if alike:
                    for i in range(TILE):
                        z = (column[i] - m) * g * scale[i]
                        p[i] = p[i] * (1.0 + z * z) + z * z
                        sums[i] += seen[i] * a
                else:
                    for i in range(TILE):
                        z = (column[i] - m) * g * scale[i]
                        sums[i] += seen[i] * a + w * log1p(z * z)
            if alike and (j % _PRODUCT == _PRODUCT - 1 or j == d - 1):
                for k in range(c):
                    w, sums, p = weight[k, j], total[k], product[k]
                    for i in range(TILE):
                        sums[i] += w * log1p(p[i])
                        p[i] = 0.0
        for i in range(rows):
            for k in range(c):
                out[at + i, k] = total[k, i] + shared[i]
            shared[i] = 0.0


@loop(FAST)
def student_without(
    X: Any, y: Any, mu: Any, slope: Any, weight: Any, level: Any, alike: bool, most: float, out: Any
) -> None:
    """out_ik = Σ_j level_kj + weight_kj log(1 − v), v = ((x_ij − μ_kj) slope_kj)² ≤ most, for the row's own class k.

    Where the columns of each class have one weight (`alike`), a logarithm is taken of the product of the factors.
    """
    n, d = X.shape
    whole, kept, least = np.zeros(len(mu)), np.ones(d + _FACTORS), 1.0 - most
    for one in range(len(mu)):
        for j in range(d):
            whole[one] += level[one, j]
    for i in range(n):
        k = np.uint64(y[i])
        m, g, w, a = mu[k], slope[k], weight[k], level[k]
        total = 0.0
        if alike:
            for j in range(d):
                z = (np.float64(X[i, j]) - m[j]) * g[j]
                total += z * z
                kept[j] = max(1.0 - z * z, least)
            logs, left = 0.0, 1.0
            for at in range(0, d, _FACTORS):
                some = 1.0
                for j in range(_FACTORS):
                    some *= kept[at + j]
                if some < 1e-100 or left < 1e-200:
                    logs += np.log(left)
                    left = 1.0
                left *= some
            if total == total:
                out[i, k] = whole[k] + w[0] * (logs + np.log(left))
                continue
            total = 0.0  # a cell is missing
        for j in range(d):
            x = np.float64(X[i, j])
            z = (x - m[j]) * g[j] if x == x else 0.0
            total += a[j] + w[j] * log1p(-min(z * z, most)) if x == x else 0.0
        out[i, k] = total


@loop(FAST)
def normal_without(X: Any, y: Any, mu: Any, slope: Any, level: Any, out: Any) -> None:
    """out_ik = Σ_j level_kj − ½((x_ij − μ_kj) slope_kj)² over the observed cells, for the row's own class k."""
    n, d = X.shape
    for i in range(n):
        k = np.uint64(y[i])
        m, g, a = mu[k], slope[k], level[k]
        total = 0.0
        for j in range(d):
            x = np.float64(X[i, j])
            z = (x - m[j]) * g[j]
            total += a[j] - 0.5 * z * z if x == x else 0.0
        out[i, k] = total
