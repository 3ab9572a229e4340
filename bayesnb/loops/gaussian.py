"""Sums of normal log densities, and of Student ones in tiles of 128 rows, four columns at a time, classes inside."""

from typing import Any

import numpy as np

from ._compile import FAST, loop

TILE = 128
PRODUCT = 32  # factors above 1 to a logarithm


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
def log1p(x: Any) -> Any:
    """log(1 + x) for x > −1: log u, u = 1 + x, and c/u for what rounding u has lost."""
    u = 1.0 + x
    return log(u, (x - (u - 1.0)) / u)


@loop(FAST)
def has_missing(cells: Any) -> bool:
    """Whether a cell is missing: the one pass in the order of memory, which brings rows into a core's cache."""
    missing = 0
    for i in range(len(cells)):  # an iterator is compiled to slower code
        missing += cells[i] != cells[i]
    return missing > 0


@loop(FAST)
def four_columns(tile: Any, j: Any, missing: bool, column: Any, seen: Any) -> None:
    """Columns j to j + 3 of a tile, 0 where a cell is missing; beyond the last column the last again."""
    x0, x1, x2, x3 = column[0], column[1], column[2], column[3]
    last = tile.shape[1] - 1
    if len(tile) == TILE and j + 3 <= last:  # known numbers make better machine code
        for i in range(TILE):
            x0[i] = tile[i, j]
            x1[i] = tile[i, j + 1]
            x2[i] = tile[i, j + 2]
            x3[i] = tile[i, j + 3]
    else:
        for b in range(4):
            for i in range(len(tile)):
                column[b, i] = tile[i, min(j + b, last)]
    if missing:
        for b in range(4):
            x, o = column[b], seen[b]
            for i in range(TILE):
                o[i] = 1.0 if x[i] == x[i] else 0.0
                x[i] = x[i] if x[i] == x[i] else 0.0


@loop(FAST)
def sums_of(level: Any) -> Any:
    """Σ_j level_kj of each class."""
    total = np.zeros(len(level))
    for k in range(len(level)):
        for j in range(level.shape[1]):
            total[k] += level[k, j]
    return total


@loop(FAST)
def begin(level: Any, missing: bool, total: Any) -> None:
    """The sums of the levels, or 0 where each is added with its cell."""
    for k in range(len(total)):
        whole = 0.0
        for j in range(level.shape[1]):
            whole += level[k, j]
        total[k] = 0.0 if missing else whole


@loop(FAST)
def _multiply(column: Any, j: Any, mu: Any, slope: Any, sign: float, product: Any) -> None:
    """Multiply product + 1 by 1 + sign ((x − μ) slope)² of four columns."""
    x0, x1, x2, x3 = column[0], column[1], column[2], column[3]
    for k in range(len(product)):
        m0, m1, m2, m3 = mu[k, j], mu[k, j + 1], mu[k, j + 2], mu[k, j + 3]
        g0, g1, g2, g3 = slope[k, j], slope[k, j + 1], slope[k, j + 2], slope[k, j + 3]
        p = product[k]
        for i in range(TILE):
            z0, z1, z2, z3 = (x0[i] - m0) * g0, (x1[i] - m1) * g1, (x2[i] - m2) * g2, (x3[i] - m3) * g3
            v0, v1, v2, v3 = sign * z0 * z0, sign * z1 * z1, sign * z2 * z2, sign * z3 * z3
            q = p[i] * (1.0 + v0) + v0
            q = q * (1.0 + v1) + v1
            q = q * (1.0 + v2) + v2
            p[i] = q * (1.0 + v3) + v3


@loop(FAST)
def multiply_seen(column: Any, seen: Any, gone: Any, j: Any, mu: Any, slope: Any, sign: float, product: Any) -> None:
    """The same of the cells that are seen (1, otherwise 0), each factor being less by what is gone of it."""
    x0, x1, x2, x3, o0, o1, o2, o3 = column[0], column[1], column[2], column[3], seen[0], seen[1], seen[2], seen[3]
    u0, u1, u2, u3 = gone[0], gone[1], gone[2], gone[3]
    for k in range(len(product)):
        m0, m1, m2, m3 = mu[k, j], mu[k, j + 1], mu[k, j + 2], mu[k, j + 3]
        g0, g1, g2, g3 = slope[k, j], slope[k, j + 1], slope[k, j + 2], slope[k, j + 3]
        p = product[k]
        for i in range(TILE):
            z0, z1, z2, z3 = (x0[i] - m0) * g0, (x1[i] - m1) * g1, (x2[i] - m2) * g2, (x3[i] - m3) * g3
            v0, v1, v2, v3 = (
                sign * o0[i] * z0 * z0 - u0[i],
                sign * o1[i] * z1 * z1 - u1[i],
                sign * o2[i] * z2 * z2 - u2[i],
                sign * o3[i] * z3 * z3 - u3[i],
            )
            q = p[i] * (1.0 + v0) + v0
            q = q * (1.0 + v1) + v1
            q = q * (1.0 + v2) + v2
            p[i] = q * (1.0 + v3) + v3


@loop(FAST)
def add_logs(product: Any, weight: Any, total: Any) -> None:
    """Add weight log(1 + product) to total, and begin a new product."""
    for k in range(len(total)):
        w, sums, p = weight[k, 0], total[k], product[k]
        for i in range(TILE):
            sums[i] += w * log1p(p[i])
            p[i] = 0.0


@loop(FAST)
def add_log_cells(
    column: Any, seen: Any, gone: Any, j: Any, mu: Any, slope: Any, weight: Any, sign: float, total: Any
) -> None:
    """Add weight log(1 + v − gone), v = sign ((x − μ) slope)², of the cells of four columns that are seen to total."""
    for k in range(len(total)):
        sums = total[k]
        for b in range(4):
            x, o, u, m, g, w = column[b], seen[b], gone[b], mu[k, j + b], slope[k, j + b], weight[k, j + b]
            for i in range(TILE):
                z = (x[i] - m) * g
                sums[i] += w * log1p(sign * o[i] * z * z - u[i])


@loop(FAST)
def add_levels(seen: Any, j: Any, level: Any, total: Any) -> None:
    """Add the level of each observed cell of four columns."""
    o0, o1, o2, o3 = seen[0], seen[1], seen[2], seen[3]
    for k in range(len(total)):
        a0, a1, a2, a3, sums = level[k, j], level[k, j + 1], level[k, j + 2], level[k, j + 3], total[k]
        for i in range(TILE):
            sums[i] += o0[i] * a0 + o1[i] * a1 + o2[i] * a2 + o3[i] * a3


@loop(FAST)
def put(total: Any, shared: Any, at: Any, out: Any) -> None:
    """The sums of a tile, and what they share, in their places."""
    for i in range(min(TILE, len(out) - at)):
        row = out[at + i]
        for k in range(len(total)):
            row[k] = total[k, i] + shared[i]


@loop(FAST)
def _observed_squares(x: Any, mu: Any, slope: Any, level: Any) -> float:
    """Σ_j level_j − ((x_j − μ_j) slope_j)² over the observed cells of a row."""
    total = 0.0
    for j in range(len(x)):
        z = (x[j] - mu[j]) * slope[j]
        total += level[j] - z * z if x[j] == x[j] else 0.0
    return total


@loop(FAST)
def normal(X: Any, mu: Any, slope: Any, level: Any, out: Any) -> None:
    """out_ik = Σ_j level_kj − ((x_ij − μ_kj) slope_kj)² over the observed cells.

    Two rows and two classes at a time, so that each number serves twice; the last one alone is computed twice.
    """
    n, d = X.shape
    c, whole = len(mu), sums_of(level)
    for i in range(0, n, 2):
        below = min(i + 1, n - 1)
        x, y = X[i], X[below]
        if has_missing(x) or has_missing(y):
            for k in range(c):
                out[i, k] = _observed_squares(x, mu[k], slope[k], level[k])
                out[below, k] = _observed_squares(y, mu[k], slope[k], level[k])
            continue
        for k in range(0, c, 2):
            other = min(k + 1, c - 1)
            m, g, o, h = mu[k], slope[k], mu[other], slope[other]
            xk = yk = xo = yo = 0.0
            for j in range(d):
                zx, zy, ux, uy = (x[j] - m[j]) * g[j], (y[j] - m[j]) * g[j], (x[j] - o[j]) * h[j], (y[j] - o[j]) * h[j]
                xk += zx * zx
                yk += zy * zy
                xo += ux * ux
                yo += uy * uy
            out[i, k], out[below, k] = whole[k] - xk, whole[k] - yk
            out[i, other], out[below, other] = whole[other] - xo, whole[other] - yo


@loop(FAST)
def student(X: Any, mu: Any, slope: Any, weight: Any, level: Any, alike: bool, sign: float, out: Any) -> None:
    """out_ik = Σ_j level_kj + weight_kj log(1 + v), v = ± ((x_ij − μ_kj) slope_kj)², over the observed cells.

    Where the columns of each class have one weight (`alike`), 32 factors are multiplied before a logarithm is taken.
    They are held less one, (1 + v)(1 + v') − 1 = v + v' + vv', so that small v keep all their digits.
    """
    n, d = X.shape
    c = len(mu)
    total, product, column, seen = np.empty((c, TILE)), np.zeros((c, TILE)), np.zeros((4, TILE)), np.ones((4, TILE))
    nothing, shared = np.zeros((4, TILE)), np.zeros(TILE)
    for at in range(0, n, TILE):
        tile = X[at : at + TILE]
        missing = has_missing(tile.ravel())
        begin(level, missing, total)
        for j in range(0, d, 4):
            four_columns(tile, j, missing, column, seen)
            if missing:
                add_levels(seen, j, level, total)
            else:
                seen[:] = 1.0
            if not alike:
                add_log_cells(column, seen, nothing, j, mu, slope, weight, sign, total)
                continue
            if missing:
                multiply_seen(column, seen, nothing, j, mu, slope, sign, product)
            else:
                _multiply(column, j, mu, slope, sign, product)
            if j % PRODUCT == PRODUCT - 4 or j + 4 >= d:
                add_logs(product, weight, total)
        put(total, shared, at, out)
