"""Sums of normal and Student log densities, in tiles of 128 rows and 24 columns."""

from typing import Any

import numpy as np

from ._compile import FAST, loop

TILE = 128  # rows
_SMALL = 1 / 256  # the seventh term of the series of log(1 − v) is below rounding
PRODUCT = 24  # factors to a logarithm: of cells 1e6 spreads away 1e12 each


@loop({"contract"})  # in any other order what is lost would be lost
def log(u: Any, lost: Any) -> Any:
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
def log_of(u: Any, x: Any) -> Any:
    """log u for u = 1 + x, of which rounding has lost some of x; near 0 u has all digits, and x has not."""
    return log(u, (x - (u - 1.0)) / u if u > 0.5 else 0.0)


@loop({"contract"})
def log1p(x: Any) -> Any:
    """log(1 + x) for x > −1."""
    return log_of(1.0 + x, x)


@loop(FAST)
def _multiply(x: Any, mu: float, slope: float, product: Any) -> None:
    """Multiply product_0 + 1 by 1 + v, v = ((x − μ) slope)²."""
    less = product[0]
    for i in range(TILE):
        z = (x[i] - mu) * slope
        v = z * z if x[i] == x[i] else 0.0
        less[i] += v * (1.0 + less[i])


@loop(FAST)
def _multiply_left(x: Any, gone: Any, mu: float, slope: float, product: Any) -> None:
    """Multiply product_0 + 1 and product_1 by 1 + v, v = ((x − μ) slope)² − gone."""
    less, whole = product[0], product[1]
    for i in range(TILE):
        z = (x[i] - mu) * slope
        v = z * z - gone[i]
        v = v if v > -1.0 else np.nan
        v = v if x[i] == x[i] else 0.0
        less[i] += v * (1.0 + less[i])
        whole[i] *= 1.0 + v


@loop(FAST)
def _add(product: Any, weight: float, left: bool, sums: Any) -> None:
    """Add the weight times the logarithm of the product to the sums, and begin a new product.

    What rounding has lost of a product near 1 is in product_0, the product less one; near 0 that has no digits.
    """
    less, whole = product[0], product[1]
    if left:
        for i in range(TILE):
            sums[i] += weight * log_of(whole[i], less[i])
    else:
        for i in range(TILE):
            sums[i] += weight * log_of(1.0 + less[i], less[i])
    less[:], whole[:] = 0.0, 1.0


@loop(FAST)
def _add_levels(tile: Any, level: Any, missing: bool, sums: Any) -> None:
    """Add the levels of the observed cells to the sums."""
    total = 0.0
    for j in range(len(level)):
        x = tile[j]
        if not missing:
            total += level[j]
        for i in range(TILE if missing else 0):
            sums[i] += level[j] if x[i] == x[i] else 0.0
    for i in range(TILE):
        sums[i] += total


@loop(FAST)
def sum_logs(X: Any, y: Any, own: Any, mu: Any, slope: Any, weight: Any, level: Any, alike: bool, out: Any) -> None:
    """out_ik = Σ_j level_kj + weight_kj log(1 + v), v = ((x_ij − μ_kj) slope_kj)² − u_ij, over the observed cells.

    With labels y the rows have left a scale that the classes share: u_ij = ((x_ij − μ_yj) own_yj)²; otherwise u = 0.
    Where the columns of each class have one weight (`alike`), 24 factors are multiplied before a logarithm is taken.
    They are held less one, (1 + v)(1 + v') − 1 = v + v' + vv', so that small v keep all their digits. NaN where some v
    is not above −1.
    """
    (n, d), left = X.shape, len(y) > 0
    tile, gone, product = np.zeros((PRODUCT, TILE)), np.zeros((PRODUCT, TILE)), np.zeros((2, TILE))
    product[1] = 1.0
    total = np.zeros((len(mu), TILE))
    for at in range(0, n, TILE):
        total[:] = 0.0
        for first in range(0, d, PRODUCT):
            cells = X[at : at + TILE, first : first + PRODUCT]
            rows, columns = cells.shape
            missing = 0
            for i in range(rows):
                for j in range(columns):
                    x = np.float64(cells[i, j])
                    tile[j, i] = x
                    missing += x != x
            for i in range(rows if left else 0):
                m, g = mu[y[at + i]], own[y[at + i]]
                for j in range(columns):
                    z = (cells[i, j] - m[first + j]) * g[first + j]
                    gone[j, i] = z * z
            for k in range(len(mu)):
                _add_levels(tile, level[k, first : first + columns], missing > 0, total[k])
                for j in range(columns):
                    if left:
                        _multiply_left(tile[j], gone[j], mu[k, first + j], slope[k, first + j], product)
                    else:
                        _multiply(tile[j], mu[k, first + j], slope[k, first + j], product)
                    if not alike or j == columns - 1:
                        _add(product, weight[k, first + j], left, total[k])
        for i in range(min(TILE, n - at)):
            row = out[at + i]
            for k in range(len(mu)):
                row[k] = total[k, i]


@loop(FAST)
def sum_squares(X: Any, mu: Any, slope: Any, level: Any, out: Any) -> None:
    """out_ik = Σ_j level_kj − ((x_ij − μ_kj) slope_kj)² over the observed cells: normal densities."""
    whole = np.zeros(len(mu))
    for k in range(len(mu)):
        for j in range(mu.shape[1]):
            whole[k] += level[k, j]
    for i in range(len(X)):
        x, missing = X[i], 0
        for j in range(len(x)):
            missing += x[j] != x[j]
        for k in range(len(mu)):
            m, g, a = mu[k], slope[k], level[k]
            total = 0.0 if missing else whole[k]
            if missing:
                for j in range(len(m)):
                    z = (x[j] - m[j]) * g[j]
                    total += a[j] - z * z if x[j] == x[j] else 0.0
            else:
                for j in range(len(m)):
                    z = (x[j] - m[j]) * g[j]
                    total -= z * z
            out[i, k] = total


@loop(FAST)
def sum_own(X: Any, at: Any, y: Any, mu: Any, slope: Any, weight: Any, level: Any, student: bool, out: Any) -> None:
    """Of rows `at` and a class k of each, y: out_i0 = Σ_j level_kj and out_i1 = Σ_j weight_kj log(1 − v).

    v = ((x_ij − μ_kj) slope_kj)². NaN where some v is not below 1. Where it is not for `student` densities but for
    normal ones, −v is taken for its logarithm. In a class of many rows all v are small, and six terms of the series of
    the logarithm have all its digits.
    """
    for i in range(len(at)):
        k = np.uint64(y[i])
        x, m, g, w, a = X[at[i]], mu[k], slope[k], weight[k], level[k]
        levels = squares = logs = large = 0.0
        for j in range(len(m)):
            z = (x[j] - m[j]) * g[j]
            v = z * z if x[j] == x[j] else 0.0
            levels += a[j] if x[j] == x[j] else 0.0
            squares -= w[j] * v
            logs -= w[j] * (v * (1 + v * (1 / 2 + v * (1 / 3 + v * (1 / 4 + v * (1 / 5 + v * (1 / 6)))))))
            large += 1.0 if v > _SMALL else 0.0
        if large and student:
            logs = 0.0
            for j in range(len(m)):
                z = (x[j] - m[j]) * g[j]
                v = -z * z if x[j] == x[j] else 0.0
                logs += w[j] * log1p(v if v > -1.0 else np.nan)
        out[i, 0], out[i, 1] = levels, logs if student else squares
