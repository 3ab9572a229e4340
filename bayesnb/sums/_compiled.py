"""The sums over many rows as plain loops, compiled by numba.

Rows come as CSR has them: the ends of the rows, columns and cells. Where `columns` is None rows are dense, and each has
all columns; that is decided when a loop is compiled.
"""

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from math import lgamma
from math import log as log_of_number
from typing import Any

import numpy as np
from numba import njit
from numba.core.caching import FunctionCache

from ..numerics import special

try:
    import fcntl
except ImportError:  # Windows, which refuses to replace a file that is being read: numba tries again later
    fcntl = None  # type: ignore[assignment]

FAST = {"reassoc", "contract", "nsz", "arcp"}  # sums may be taken in any order; NaN and infinity keep their meaning
_EPS = special.EPS
_HALF_LOG_2PI = 0.5 * special.LOG_2PI
_LARGEST = np.finfo(float).max
_TILE = 128  # rows of normal and Student densities that are summed together
_PRODUCT = 24  # factors to a logarithm: of cells 1e6 spreads away 1e12 each
_MULTIPLIED = 64  # counts above are few, and take Stirling's series
_FACTORS = 16  # of 1e-18 to 1e18 each that are multiplied before a logarithm


class _Cache(FunctionCache):
    """Machine code in a folder that several processes use at once.

    numba writes an index and the code one after the other, and numbers the code of several types by the index that it
    has read: two processes that compile different types could each take the other's code. Here one process at a time
    reads or writes. A folder that fails (a full disk, a damaged file) costs compiling again, and nothing else.
    """

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """A context that one process at a time is in: it holds the lock of a file in the folder."""
        if fcntl is None:  # Windows has no such locks
            yield
            return
        self._impl.locator.ensure_cache_path()
        with open(f"{self.cache_path}/bayesnb-loops.lock", "a") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The machine code for arguments of some types; None where there is none, or the folder fails."""
        with suppress(Exception), self._alone():
            return super().load_overload(sig, target_context)

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep the machine code for arguments of some types, unless the folder fails."""
        with suppress(Exception), self._alone():
            super().save_overload(sig, data)


def loop(fastmath: set[str] | bool = False, **options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Decorator of a loop: compiled by numba at its first call, its machine code kept on disk where that is allowed.

    Loops run without Python's lock, so that several threads can be in them, and divide by 0 as NumPy does.

    Parameters
    ----------
    fastmath : which liberties the compiler may take with floats, in LLVM's words
    options : more arguments of `numba.njit`
    """

    def decorate(f: Callable[..., Any]) -> Any:
        plain = inspect.unwrap(f)  # the tests check types of arguments around every function of the package
        compiled: Any = njit(nogil=True, error_model="numpy", fastmath=fastmath, **options)(plain)
        with suppress(RuntimeError):  # no folder can be written: compiled once a process
            compiled._cache = _Cache(plain)
        return compiled

    return decorate


# --- logarithms and exponentials that can be done on several numbers at once ------------------------------------------

_stirling_rest = loop(FAST)(special._stirling_rest)


@loop({"contract"})  # in any other order what is lost would be lost
def log(u: Any, lost: Any) -> Any:
    """log u + lost for u > 0, in plain arithmetic, so that the compiler can do it on several numbers at once.

    u is split into 2^k (1 + f) with √½ ≤ 1 + f < √2: 6 is 2³ · 0.75. Then, with s = f/(2 + f) and a polynomial R,

        log u = k log 2 + log(1 + f),    log(1 + f) = f − ½f² + s(½f² + R(s²)).

    The coefficients of R are those of the log of FreeBSD's libm (Sun Microsystems, 1993). The error is below 1 ulp or
    so, the distance to the next float.

    Parameters
    ----------
    u : positive
    lost : a small number that is added to the logarithm, such as what rounding has lost of u
    """
    # k and f from the 64 bits of u: those from bit 52 on are its exponent + 1023, and those below its fraction. The
    # bits of 1 are 0x3FF0000000000000, and those of √½ 0x3FE6A09E667F3BCD. Their difference is added, so that the
    # exponent rises by one at √½ instead of 1. An integer becomes a float as the last bits of 2⁵², which is 0x433 ….
    bits = np.float64(u).view(np.int64) + (0x3FF0000000000000 - 0x3FE6A09E667F3BCD)
    k = np.int64((bits >> 52) | 0x4330000000000000).view(np.float64) - 4503599627371519.0
    f = np.int64((bits & 0x000FFFFFFFFFFFFF) + 0x3FE6A09E667F3BCD).view(np.float64) - 1.0

    # R(s²), as the sum of its even and its odd powers
    s = f / (2.0 + f)
    z = s * s
    w = z * z
    even = w * (0.3999999999940941908 + w * (0.2222219843214978396 + w * 0.1531383769920937332))
    odd = z * (
        0.6666666666666735130 + w * (0.2857142874366239149 + w * (0.1818357216161805012 + w * 0.1479819860511658591))
    )

    # log 2 is the sum of two numbers, of which the first is k times without rounding
    half = 0.5 * f * f
    return k * 6.93147180369123816490e-01 - (
        (half - (s * (half + even + odd) + (k * 1.90821492927058770002e-10 + lost))) - f
    )


@loop({"contract"})
def log_of(u: Any, x: Any) -> Any:
    """log(1 + x) from both u = 1 + x as a float, and x: `log_of(1.0 + x, x)`.

    For a small x the float u has lost the last digits of x. What it lost is r = x − (u − 1), and to first order
    log(1 + x) = log(u + r) = log u + r/u. Where u is small instead, x is near −1 and u itself has all digits.
    """
    return log(u, (x - (u - 1.0)) / u if u > 0.5 else 0.0 * x)  # 0 · x: NaN stays NaN


@loop({"contract"})
def log1p(x: Any) -> Any:
    """log(1 + x) for x > −1."""
    return log_of(1.0 + x, x)


@loop({"contract"})
def exp(x: Any) -> Any:
    """eˣ for −700 < x ≤ 0, in plain arithmetic, so that the compiler can do it on several numbers at once.

    x is split into n log 2 + r with |r| ≤ ½ log 2: −1 is −1 · log 2 − 0.307. Then eˣ is 2ⁿ times Taylor's polynomial of
    eʳ, whose remainder is r¹⁴/14! < 5e-18. The error is below 1 ulp or so, the distance to the next float.
    """
    # held within −700 … 0, where neither the result nor a step underflows or overflows
    x = x if x > -700.0 else -700.0
    x = x if x < 0.0 else 0.0

    # n is x/log 2 rounded: floats near 1.5 · 2⁵² are whole numbers, so adding it rounds. n is then in the last bits.
    shifted = x * 1.4426950408889634 + 6755399441055744.0
    n = shifted - 6755399441055744.0
    r = (x - n * 6.93147180369123816490e-01) - n * 1.90821492927058770002e-10  # log 2 as a sum of two numbers

    # Σ_k r^k/k! up to r¹³, by Horner's rule
    p = (((1 / 6227020800 * r + 1 / 479001600) * r + 1 / 39916800) * r + 1 / 3628800) * r + 1 / 362880
    p = ((((p * r + 1 / 40320) * r + 1 / 5040) * r + 1 / 720) * r + 1 / 120) * r + 1 / 24
    p = (((p * r + 1 / 6) * r + 0.5) * r + 1.0) * r + 1.0

    # 2ⁿ: the exponent of a float begins at bit 52, and that of 1 is 0x3FF0000000000000
    power = np.int64((np.float64(shifted).view(np.int64) << 52) + 0x3FF0000000000000).view(np.float64)
    return p * power


# --- counts and levels ------------------------------------------------------------------------------------------------


@loop()
def by_class(ends: Any, columns: Any, cells: Any, y: Any, w: Any, out: Any) -> None:
    """Add the weighted sum of the rows of each class k to an array (c, d): out_kj += Σ_i w_i [y_i = k] x_ij.

    Parameters
    ----------
    ends, columns, cells : n rows in the CSR format; `columns` is None for dense rows
    y, w : (n,) class and weight of each row
    out : (c, d)
    """
    for i in range(len(ends) - 1):
        # All positions are made unsigned: numba then does not look whether they are negative.
        of_class = out[np.uint64(y[i])]  # (d,)
        weight = w[i]
        x = cells[ends[i] : ends[i + 1]]  # the cells of the row
        if columns is None:  # dense rows: cell j is that of column j; decided when the loop is compiled
            for j in range(len(x)):
                of_class[j] += weight * x[j]
        else:
            column = columns[ends[i] : ends[i + 1]]
            for p in range(len(column)):
                of_class[np.uint64(column[p])] += weight * x[p]


@loop()
def binarize(cells: Any, threshold: float, out: Any) -> bool:
    """out_p = [x_p > threshold] of each cell; returns whether all cells are finite."""
    odd = 0  # number of cells that are infinite or NaN
    for p in range(len(cells)):
        out[p] = cells[p] > threshold
        odd += not abs(cells[p]) <= _LARGEST
    return odd == 0


@loop()
def levels_by_class(X: Any, y: Any, w: Any, out: Any) -> None:
    """The weight of each level l in each class k and column j: out_kjl += Σ_i w_i [y_i = k] [x_ij = l].

    Parameters
    ----------
    X : (n, d) numbers of levels; any other code, such as NaN, is missing
    y, w : (n,) class and weight of each row
    out : (c, d, levels)
    """
    n, d = X.shape
    levels = out.shape[2]
    for i in range(n):
        table = out[y[i]]  # of the row's class, (d, levels)
        weight = w[i]
        for j in range(d):
            x = X[i, j]
            if 0 <= x < levels:  # False for NaN; a missing cell counts nowhere
                table[j, int(x)] += weight


@loop(FAST)
def log_coefficient(ends: Any, cells: Any, log_factorials: Any, out: Any) -> None:
    """The log multinomial coefficient of rows of counts: out_i = log L!/Π_j x_ij!, L the sum of the cells.

    Parameters
    ----------
    ends, cells : n rows in the CSR format, whose columns do not matter
    log_factorials : log 0!, log 1!, … of the first whole numbers
    out : (n,)
    """
    for i in range(len(ends) - 1):
        x = cells[ends[i] : ends[i + 1]]
        length = 0.0  # L
        total = 0.0  # Σ_j log x_ij!
        n_others = 0  # cells that are not in the table
        for p in range(len(x)):
            # A count is looked up if it is whole, k == x, and 0 ≤ k < the length of the table. The three truth values
            # are joined by `&`, without the branches of `and`, so that several cells are done at once. The position is
            # made unsigned, because numba then does not look whether it is negative.
            k = np.int32(x[p])
            is_in_table = (k == x[p]) & (0 <= k) & (k < len(log_factorials))
            length += x[p]
            total += log_factorials[np.uint64(k)] if is_in_table else 0.0
            n_others += not is_in_table

        # a row with other cells is summed anew, by the gamma function: x! = Γ(x + 1)
        if n_others:
            total = 0.0
            for p in range(len(x)):
                total += lgamma(x[p] + 1.0)
        out[i] = lgamma(length + 1.0) - total


@loop(FAST)
def byte_product(cells: Any, weights: Any, out: Any) -> None:
    """Products of dense rows of bytes with weights, without a copy of the rows as floats: out_ik = Σ_j x_ij weights_kj.

    Parameters
    ----------
    cells : (n, d)
    weights : (c, d)
    out : (n, c)
    """
    for i in range(len(cells)):
        x = cells[i]
        for k in range(len(weights)):
            w, total = weights[k], 0.0
            for j in range(len(x)):
                total += x[j] * w[j]
            out[i, k] = total


@loop(FAST)
def stored_product(ends: Any, columns: Any, cells: Any, weights: Any, out: Any) -> None:
    """Products of sparse rows with weights: out_ik += Σ_j x_ij weights_jk over the stored cells.

    Parameters
    ----------
    ends, columns, cells : n rows in the CSR format
    weights : (d, c)
    out : (n, c)
    """
    # for each row the rows of `weights` at its columns, times its cells, are added to out_i
    for i in range(len(ends) - 1):
        _add_rows(weights, columns[ends[i] : ends[i + 1]], cells[ends[i] : ends[i + 1]], out[i])


@loop(FAST)
def look_up(ends: Any, columns: Any, cells: Any, table: Any, levels: int, out: Any) -> None:
    """Add to each row what a table has for the levels of its cells: out_ik += Σ_j table[j (levels + 1) + x_ij, k].

    The table has a row for each column and level, and one for a missing cell of the column. With the levels 0 and 1,
    column 0 has the rows 0, 1, 2, and column 1 the rows 3, 4, 5. The cells (1, NaN) of a row of data take the rows 1
    and 5.

    Parameters
    ----------
    ends, columns, cells : n rows in the CSR format; `columns` is None for dense rows
    table : (d (levels + 1), c) a row for each column j and level; the last one of a column is that of all other cells
    levels : number of levels 0, 1, …
    out : (n, c)
    """
    # The rows of the table that the cells of one row point to, and their factors. The arrays grow with the longest row.
    table_row = np.empty(0, np.uint64)
    ones = np.empty(0)  # each row of the table counts once
    for i in range(len(ends) - 1):
        start = ends[i]
        x = cells[start : ends[i + 1]]
        n = len(x)
        if n > len(table_row):
            table_row = np.empty(2 * n, np.uint64)
            ones = np.ones(2 * n)
        for p in range(n):
            j = p if columns is None else columns[start + p]  # the column of the cell

            # the level, or `levels` for any other cell, such as NaN: the last row of the column
            table_row[p] = j * (levels + 1) + (int(x[p]) if (x[p] >= 0) & (x[p] < levels) else levels)
        _add_rows(table, table_row[:n], ones[:n], out[i])  # the sum of these rows, to out_i


@loop(FAST)
def _add_rows(table: Any, rows: Any, x: Any, total: Any) -> None:
    """Add multiples of rows of a table: total_k += Σ_p x_p table[rows_p, k].

    Four rows are added at a time, so that `total` is read and written once for the four. Positions are made unsigned
    (`np.uint64`), because numba then does not look whether they are negative.

    Parameters
    ----------
    table : (…, c)
    rows, x : (m,) positions of the rows in the table, and their factors
    total : (c,)
    """
    # the first 0 to 3 rows, so that the number of the others is a multiple of 4: of 6 rows the first 2
    n = len(rows)
    for p in range(n % 4):
        weights = table[np.uint64(rows[p])]
        for k in range(len(total)):
            total[k] += x[p] * weights[k]

    # all others, four at a time: their factors x0 … x3, and the rows w0 … w3, (c,) each
    for p in range(n % 4, n, 4):
        x0 = x[p]
        x1 = x[p + 1]
        x2 = x[p + 2]
        x3 = x[p + 3]
        w0 = table[np.uint64(rows[p])]
        w1 = table[np.uint64(rows[p + 1])]
        w2 = table[np.uint64(rows[p + 2])]
        w3 = table[np.uint64(rows[p + 3])]
        for k in range(len(total)):
            total[k] += (x0 * w0[k] + x1 * w1[k]) + (x2 * w2[k] + x3 * w3[k])


# --- rising factorials ------------------------------------------------------------------------------------------------


@loop(FAST, forceinline=True)
def log_rising(a: Any, x: Any) -> Any:
    """log Γ(a + x)/Γ(a), the logarithm of the rising factorial, for 1e-18 < a < 1e18; as `numerics.special.log_rising`.

    Eight steps of the recurrence Γ(a + 1) = a Γ(a) lead up to s = a + 8, where Stirling's series is accurate. Their
    factors are multiplied, so that all of them take one logarithm: that of a quotient of two products.
    """
    # Γ(a) = Γ(a + 8)/below, and with b = a + x likewise Γ(b) = Γ(b + 8)/above
    s = a + 8.0
    b = a + x
    below = a * (a + 1.0) * (a + 2.0) * (a + 3.0) * (a + 4.0) * (a + 5.0) * (a + 6.0) * (a + 7.0)
    above = b * (b + 1.0) * (b + 2.0) * (b + 3.0) * (b + 4.0) * (b + 5.0) * (b + 6.0) * (b + 7.0)

    # log Γ(s + x)/Γ(s) = (s − ½) log(1 + x/s) + x (log(s + x) − 1) + the rest of Stirling's series at both
    # Γ(a + x)/Γ(a) is that quotient times below/above. `log(u, lost)` is log u + lost, `log1p(x)` is log(1 + x)
    series = _stirling_rest(b + 8.0) - _stirling_rest(s)
    return (s - 0.5) * log1p(x / s) + x * (log(b + 8.0, 0.0) - 1.0) + series + log(below / above, 0.0 * above)


@loop(FAST)
def _remaining(whole: Any, w: Any, i: int, k: int, x: float) -> Any:
    """A concentration of class k without row i, whole − w_ik x; at least the rounding of the whole, so above 0.

    Parameters
    ----------
    whole : the concentration α_kj with the row, or the sum of all concentrations of the class
    w : (n, c) weights of the rows in the classes; None where no row leaves
    x : the count of the cell, or of the whole row
    """
    if w is None:  # decided when it is compiled
        return whole
    remaining = whole - w[i, k] * x
    return remaining if remaining > _EPS * whole else _EPS * whole


@loop(FAST)
def rising(ends: Any, columns: Any, cells: Any, alpha: Any, total: Any, w: Any, out: Any) -> None:
    """Log density of rows of counts under the Dirichlet–multinomial of each class, but for the coefficient.

    out_ik = Σ_j log a_jk^(x_ij) − log A_k^(L_i), where a^(x) = Γ(a + x)/Γ(a) is the rising factorial, and `log_rising`
    its logarithm. a are the concentrations α. In leave-one-out row i leaves them with a weight w, and a_jk is
    α_jk − w_ik x_ij, which `_remaining` computes. A is the sum of a over the columns j, and L that of the cells of the
    row. There are two kinds of cells:

    - of a whole count up to 64 the factorial is the product a (a + 1) … (a + x − 1), for the count 3 a (a + 1) (a + 2).
      The factors of several cells are multiplied, and a logarithm is taken after every sixteenth factor;
    - of any other count it is computed by Stirling's series.

    Parameters
    ----------
    ends, columns, cells : n rows of counts in the CSR format; `columns` is None for dense rows
    alpha, total : concentrations (d, c), and their sums over the columns (c,)
    w : (n, c) weights with which rows leave; None where no row leaves
    out : (n, c)
    """
    c = len(total)
    product = np.empty(c)  # of the factors whose logarithms are not in `log_p` yet
    for i in range(len(ends) - 1):
        log_p = out[i]  # (c,)
        log_p[:] = 0.0
        product[:] = 1.0
        length = 0.0  # L
        n_factors = 0
        for p in range(ends[i], ends[i + 1]):
            x = np.float64(cells[p])
            # α of the cell's column in each class, (c,); in dense rows the column is the position of the cell
            alpha_of_kind = alpha[np.uint64(p - ends[i] if columns is None else columns[p])]
            length += x

            # large and fractional counts: by Stirling's series
            if not (0 <= x <= _MULTIPLIED and x == np.floor(x)):
                for k in range(c):
                    log_p[k] += log_rising(_remaining(alpha_of_kind[k], w, i, k, x), x)
                continue

            # small whole counts: the factors a + t, t = 0 … x − 1, and after sixteen of them a logarithm
            for t in range(int(x)):
                for k in range(c):
                    product[k] *= _remaining(alpha_of_kind[k], w, i, k, x) + t
                n_factors += 1
                if n_factors % _FACTORS == 0:
                    for k in range(c):
                        log_p[k] += log(product[k], 0.0)
                    product[:] = 1.0

        # the factors that are left, and the denominator A^(L)
        for k in range(c):
            log_p[k] += log(product[k], 0.0) - log_rising(_remaining(total[k], w, i, k, length), length)


# --- normal and Student densities -------------------------------------------------------------------------------------


@loop(FAST)
def _multiply_tile(x: Any, mu: float, slope: float, less: Any) -> None:
    """Multiply a product P of each of 128 rows by 1 + v, v = ((x − μ) slope)²; a missing cell has v = 0.

    Not P is stored but P − 1, called `less`, because P (1 + v) − 1 = less + v (1 + less) keeps the digits of small v.

    Parameters
    ----------
    x : (tile,) a column of the rows; NaN is missing
    mu, slope : of this column in a class
    less : (tile,) P − 1
    """
    for i in range(_TILE):
        z = (x[i] - mu) * slope
        v = z * z if x[i] == x[i] else 0.0
        less[i] += v * (1.0 + less[i])


@loop(FAST)
def sum_squares(X: Any, mu: Any, slope: Any, level: Any, out: Any) -> None:
    """Log densities under independent normals: out_ik = Σ_j level_kj − ((x_ij − μ_kj) slope_kj)² over observed cells.

    Parameters
    ----------
    X : (n, d) rows; NaN is a missing cell
    mu, slope, level : (c, d) of each class and column
    out : (n, c)
    """
    for i in range(len(X)):
        x = X[i]  # (d,), as the three of each class
        for k in range(len(mu)):
            m = mu[k]
            g = slope[k]
            a = level[k]
            total = 0.0
            # −½ ((x − μ)/s)² is −z² with the slope √½/s; the level is −log s − ½ log 2π
            for j in range(len(x)):
                z = (x[j] - m[j]) * g[j]
                total += a[j] - z * z if x[j] == x[j] else 0.0  # NaN is not equal to itself
            out[i, k] = total


@loop(FAST)
def sum_logs(X: Any, mu: Any, slope: Any, weight: Any, level: Any, alike: bool, out: Any) -> None:
    """Log densities under independent Student distributions: out_ik = Σ_j level_kj + weight_kj log(1 + v).

    The sum is over the observed cells, and v = ((x_ij − μ_kj) slope_kj)². Work goes by tiles of 128 rows and 24
    columns, which stay in the cache:

    1. copy the cells of a tile, columns first, and count the missing cells of each column;
    2. for each class and column, subtract the level where a cell is missing, and multiply factors 1 + v. Not a product
       is stored but the product less one, so that small v keep all their digits;
    3. take the logarithm of the product: if all columns of a class have the same weight after the last column of the
       tile, because Σ_j log(1 + v) is the logarithm of a product; otherwise after each column.

    Parameters
    ----------
    X : (n, d) rows; NaN is a missing cell
    mu, slope, weight, level : (c, d) of each class and column
    alike : whether the columns of each class have one weight
    out : (n, c)
    """
    n, d = X.shape
    sum_of_levels = level.sum(1)
    tile = np.zeros((_PRODUCT, _TILE))  # cells, columns first
    less = np.zeros(_TILE)  # products of factors, less one
    total = np.zeros((len(mu), _TILE))  # the log densities of the rows of a tile, classes first
    n_missing = np.zeros(_PRODUCT, np.int64)  # in each column of the tile
    for start in range(0, n, _TILE):
        # the levels, as if no cell were missing
        for k in range(len(mu)):
            total[k] = sum_of_levels[k]
        for first in range(0, d, _PRODUCT):
            # step 1: the next tile, as floats; NaN is not equal to itself
            cells = X[start : start + _TILE, first : first + _PRODUCT]
            rows, columns = cells.shape
            n_missing[:] = 0
            for i in range(rows):
                for j in range(columns):
                    x = np.float64(cells[i, j])
                    tile[j, i] = x
                    n_missing[j] += x != x

            for k in range(len(mu)):
                for j in range(columns):
                    # step 2: a missing cell has no level; a column without missing cells skips the loop
                    for i in range(_TILE if n_missing[j] else 0):
                        total[k, i] -= 0.0 if tile[j, i] == tile[j, i] else level[k, first + j]

                    # `less` is a product of factors, less one, of each row; here it gets the factors of this column
                    _multiply_tile(tile[j], mu[k, first + j], slope[k, first + j], less)

                    # step 3: `log_of(1 + x, x)` is log(1 + x), in which a small x keeps its digits
                    if not alike or j == columns - 1:
                        w = weight[k, first + j]
                        for i in range(_TILE):
                            total[k, i] += w * log_of(1.0 + less[i], less[i])
                        less[:] = 0.0

        # copied, rows first; the last tile may have fewer rows
        for i in range(min(_TILE, n - start)):
            for k in range(len(mu)):
                out[start + i, k] = total[k, i]


@loop(FAST)
def stored_logs(ends: Any, columns: Any, cells: Any, mu: Any, slope: Any, weight: Any, student: bool, out: Any) -> None:
    """How much the log density of sparse rows differs from that of an empty row, for Student or normal densities.

    Only stored cells differ: out_ik = Σ_j weight_jk (log(1 + v) − log(1 + v⁰)) over these, with
    v = ((x_ij − μ_jk) slope_jk)², and v⁰ that of an empty cell, x = 0. The difference is one logarithm,
    log (1 + v)/(1 + v⁰) = log(1 + (v − v⁰)/(1 + v⁰)). Normal densities have v for log(1 + v), so it is v − v⁰.

    Parameters
    ----------
    ends, columns, cells : n rows in the CSR format
    mu, slope, weight : (d, c) of each column and class
    student : False for normal densities
    out : (n, c)
    """
    for i in range(len(ends) - 1):
        total = out[i]
        total[:] = 0.0
        for p in range(ends[i], ends[i + 1]):
            j = np.uint64(columns[p])
            x = np.float64(cells[p])
            m = mu[j]  # (c,), as the other two
            g = slope[j]
            w = weight[j]
            for k in range(len(total)):
                # Student densities: log(1 + v) − log(1 + v⁰) is the logarithm of the quotient (1 + v)/(1 + v⁰). Where
                # the cell is nearly 0, the quotient is nearly 1, and as a float has lost digits. So the logarithm is
                # taken of 1 + y, with y = (v − v⁰)/(1 + v⁰) as a second argument, which still has them.
                z = (x - m[k]) * g[k]  # v = z²
                z_empty = m[k] * g[k]  # v⁰ is its square
                change = z * z - z_empty * z_empty  # v − v⁰
                divisor = 1.0 + z_empty * z_empty  # 1 + v⁰
                total[k] += w[k] * (log_of((1.0 + z * z) / divisor, change / divisor) if student else change)


@loop(FAST)
def sum_own(X: Any, at: Any, y: Any, mu: Any, slope: Any, weight: Any, level: Any, student: bool, out: Any) -> None:
    """Log density of rows under their own class without them: of each row, the data of its class but itself.

    out_i = Σ_j level_kj + weight_kj log(1 − v) over the observed cells, with v = ((x_ij − μ_kj) slope_kj)². It is
    1 − v, not 1 + v, because μ and slope are those of the data that still hold the row. NaN where some v is not below
    1. Normal densities have −v for the logarithm.

    Parameters
    ----------
    X : (n, d) rows; NaN is a missing cell
    at, y : (m,) positions of the rows in X, and the class k of each
    mu, slope, weight, level : (c, d) of each class and column
    student : False for normal densities
    out : (m,)
    """
    for i in range(len(at)):
        k = np.uint64(y[i])  # unsigned: numba then does not look whether it is negative
        x = X[at[i]]  # (d,), as are the four of the row's class
        m = mu[k]
        g = slope[k]
        w = weight[k]
        a = level[k]
        total = 0.0
        for j in range(len(m)):
            z = (x[j] - m[j]) * g[j]
            v = -z * z if x[j] == x[j] else 0.0  # −v of the formula; NaN is not equal to itself
            total += a[j] if x[j] == x[j] else 0.0
            total += w[j] * (log1p(v if v > -1.0 else np.nan) if student else v)
        out[i] = total


@loop(FAST)
def moments(X: Any, y: Any, w: Any, shift: Any, n: Any, s: Any, q: Any) -> None:
    """Add up the weights, cells and squares of the rows of each class, by column: Σ w, Σ w z and Σ w z².

    z is a cell less a shift. The sums are over the observed cells, so rows come in two kinds. One without a missing
    cell has its weight in every column; such weights are summed once, and added to all columns after the loop. In any
    other row missing cells get the weight 0.

    Parameters
    ----------
    X : (n, d) rows; NaN is a missing cell
    y, w : (n,) class and weight of each row
    shift : (c, d) what is subtracted from a cell, z = x − shift, so that squares keep their digits
    n, s, q : (c, d) to which Σ w, Σ w z and Σ w z² are added
    """
    n_complete = np.zeros(len(n))  # (c,) weight of the rows without a missing cell
    for i in range(len(X)):  # in another order of these lines the loops took twice as long: measure it
        k = np.uint64(y[i])  # unsigned: numba then does not look for negative positions
        v = w[i]  # weight of the row
        total = 0.0
        # the sums that the row's class has so far, (d,) each: they are views, so the lines below add to n, s and q
        weight = n[k]
        first = s[k]
        second = q[k]
        m = shift[k]
        row = X[i]

        # The sum of a row with a missing cell is NaN, which is not equal to itself. It is cheaper to find out so than
        # to ask for each cell.
        for j in range(len(row)):
            total += row[j]
        if total == total:  # no cell is missing: the weight is the same in all columns
            n_complete[k] += v
            for j in range(len(row)):
                z = row[j] - m[j]
                first[j] += v * z
                second[j] += v * z * z
            continue

        # some cell is missing: each has a weight u of its own
        for j in range(len(row)):
            z = row[j] - m[j]
            u, z = (v, z) if z == z else (0.0, 0.0)  # NaN, a missing cell, has weight 0; 0 · NaN would be NaN
            weight[j] += u
            first[j] += u * z
            second[j] += u * z * z
    n += np.expand_dims(n_complete, 1)  # (c, 1), to all columns


# --- averages over parents --------------------------------------------------------------------------------------------


@loop(FAST)
def one_dependence(
    places: Any, label: Any, table: Any, without_unit: Any, parent_shift: Any, class_shift: Any, out: Any
) -> None:
    """Log joint density of rows and classes, averaged over models in which one feature is the parent of all others.

    In the model of a parent feature all other features depend on the class c and on the parent. Every cell u of a row
    is the parent once, and v runs over all cells of the row: table[u, v, c] is log p(v | c, u), and table[u, u, c] is
    log p(c, u). So out_ic is the log of the mean over u of exp(Σ_v table[u, v, c] + shift_u).

    A row is left out of its own class, `label[i]`: there the numbers come from `without_unit`. A row without cells
    keeps what `out` has.

    Parameters
    ----------
    places : (n, d) the place of each cell in the table, one for each column and level; below 0 for a missing cell
    label : (n,) class that the row leaves; −1 if it leaves none
    table, without_unit : (places, places, c) log terms of a cell v under a parent u, with all rows and without one
    parent_shift, class_shift : (d,) added for the parent in column j, in the other classes and in the label's
    out : (n, c)
    """
    n, d = places.shape
    n_classes = out.shape[1]
    sums = np.empty((d, n_classes))  # log joint density of the row under each parent
    for i in range(n):
        n_parents = 0
        for j in range(d):
            u = places[i, j]  # the parent
            if u < 0:
                continue

            # row `n_parents` of the sums is that of this parent; it begins with its shift, which in the row's own class
            # is another one
            for c in range(n_classes):
                sums[n_parents, c] = parent_shift[j]
            if label[i] >= 0:
                sums[n_parents, label[i]] = class_shift[j]

            # the terms of all cells of the row
            for k in range(d):
                v = places[i, k]
                if v < 0:
                    continue
                for c in range(n_classes):
                    if c == label[i]:
                        sums[n_parents, c] += without_unit[u, v, c]
                    else:
                        sums[n_parents, c] += table[u, v, c]
            n_parents += 1

        # log of the mean of exponentials over the parents, relative to the largest, so that not all underflow
        if n_parents:
            for c in range(n_classes):
                largest = sums[0, c]
                for j in range(1, n_parents):
                    largest = max(largest, sums[j, c])
                total = 0.0
                for j in range(n_parents):
                    total += np.exp(sums[j, c] - largest)
                out[i, c] = largest + log_of_number(total / n_parents)
