"""Dirichlet–multinomial log probabilities of rows with many events, which keep their digits.

The plain sum log L!/Πx! + Σ_j log α_j^(x_j) − log A^(L) is a difference of numbers as large as L log L: at 1e15 events
it is 7 nats off. Here the large parts are cancelled on paper. With s_j = x_j + α_j, T = L + A, δ the rest of Stirling's
formula, log Γ(z) = z log z − z + ρ(z), and D(x, m) = x log(x/m) + m − x ≥ 0 (the deviance of Loader, 2000),

    log p(x | α) = −Σ_j [D(x_j, s_j L/T) + D(α_j, s_j A/T)] + Σ_{j: x_j > 0} [ρ(s_j) − ρ(x_j) − ρ(α_j) − log x_j]
                   − [ρ(T) − ρ(L) − ρ(A) − log L]

All deviances have one sign, so nothing cancels between columns. Both depend on x_j A − α_j L, which is formed with
twice the digits; so are the sums A and L themselves. An empty cell adds −α_j log(1 + L/A).

References
----------
Loader (2000), Fast and accurate computation of binomial probabilities (the deviance and its series); DLMF 5.11.1.
Dekker (1971), A floating-point technique for extending the available precision, Numer. Math. 18 (exact products).
"""

from typing import Any

import numpy as np
from scipy import sparse

from ..core.arrays import Array, Float, Int, Real, Sparse, is_sparse
from ..core.special import EPS, gammaln, log_rising, namespace
from ..loops import contiguous, worth
from .events import MODEST, MULTIPLIED, log_coefficient, log_rising_cells, log_rising_lengths, log_rising_sum
from .marking import floored
from .own_class import OWN, levels_of, look_up_of_own
from .rows import as_csr, downdate, only, row_totals, slices, sum_over_cells

_LONG = 1 << 8  # events of a row from which digits are lost, where its cells have _FULL events and more on average
_FULL = 64
_VERY_LONG = 1 << 15  # events from which they are lost whatever the number of cells
_CELLS = 1 << 13  # worked on at a time: some thirty temporaries stay in a core's cache
_STIRLING = 8.0
_NEAR = 0.1  # relative distance within which the deviance is a series
_TERMS = 9  # of it: 0.1^18 is below the last digit
_HALF_LOG_2PI = 0.5 * float(np.log(2 * np.pi))
_SPLIT = 134217729.0  # 2²⁷ + 1


def is_long(x: Array | Sparse, length: Array) -> Array:
    """Whether each row has so many events that the plain sum would lose digits, (n,)."""
    cells = np.diff(x.indptr) if is_sparse(x) else x.shape[1]
    return (length > _VERY_LONG) | ((length > _LONG) & (length > _FULL * cells))


def log_coefficient_of_short(x: Array | Sparse, length: Array | None = None) -> Float[Array, " n"]:
    """log L!/Πx! of each row that is not long; 0 for long rows, whose `log_polya` has it already."""
    found = log_coefficient(x)
    if namespace(found) is np and (long := is_long(x, row_totals(x) if length is None else length)).any():
        found = np.where(long, 0, found)
    return found


def log_polya(
    x: Real[Array, "n d"] | Sparse,
    alpha: Float[Array, "c d"],
    log_alpha: Float[Array, "c d"] | None = None,
    total: Float[Array, " c"] | None = None,
    length: Float[Array, " n"] | None = None,
) -> Float[Array, "n c"]:
    """Σ_j log α_j^(x_j) − log A^(L), A = Σα, with rising factorials a^(x) = Γ(a+x)/Γ(a); of long rows + log L!/Πx!.

    The coefficient is the same in all classes, and cannot be added to the rest afterwards without a loss of digits.

    Parameters
    ----------
    x : (n, d) counts, dense or sparse
    alpha, log_alpha, total : (c, d) concentrations; their logarithms and their sums A, (c,), where they are known
    length : (n,) events L of each row, where they are known

    Notes
    -----
    On the host; a JAX array has the plain sum. Up to 1e15 events and for concentrations from 1e-50, old and new rows
    alike, the relative error of a long row's value stays below 1e-12.
    """
    length = row_totals(x) if length is None else length
    if namespace(length, alpha) is not np or not (long := is_long(x, length)).any():
        total = alpha.sum(-1) if total is None else total
        found = log_rising_sum(x, alpha, log_alpha, total)
        of_length = log_rising_lengths(total, length)
        return np.subtract(found, of_length, out=found) if namespace(found, of_length) is np else found - of_length
    x = as_csr(x)
    table = np.empty((len(length), len(alpha)))
    if not long.all():
        table[~long] = log_polya(x[~long], alpha, log_alpha, total)
    many = np.flatnonzero(long)
    whole = [_split_sum(row) for row in alpha]
    rho = stirling_rest(alpha)
    for part in slices(len(many), -(-x.nnz // x.shape[0]), _CELLS):
        rows = _stored(x[many[part]])
        cell = _Cells(rows)
        for k, row in enumerate(alpha):
            own = row[rows.indices], rho[k, rows.indices]
            table[many[part], k] = cell.log_rows(*own, *whole[k], _unseen(rows, row))
    return table


def log_polya_of_own(
    x: Sparse,
    y: Int[np.ndarray, " n"],
    alpha: Float[np.ndarray, "c d"],
    log_less: Float[np.ndarray, "c d"],
    length: Real[np.ndarray, " n"],
) -> Float[np.ndarray, " n"]:
    """Σ_j log (α_j − x_j)^(x_j) − log (A − L)^(L), A = Σα, of rows that have left their own class.

    NaN where rounding leaves less than ε of some α, and of a row with many events, of large or of broken counts.

    Parameters
    ----------
    log_less : log(α − 1), NaN where rounding leaves less than ε of α
    length : events L of each row
    """
    total = alpha.sum(-1)
    if len(total) * (longest := int(length.max(initial=0))) < len(y) and (length == np.floor(length)).all():
        lengths = np.arange(longest + 1.0)[:, None]
        gone = log_rising(downdate(total, lengths), lengths)[length.astype(np.intp), y]
    else:
        gone = log_rising(downdate(total[y], length), length)
    gone[is_long(x, length)] = np.nan
    counts = levels_of(x, alpha.size)
    if len(counts) and len(counts) > x.data.max(initial=0):
        left = alpha[..., None] - counts
        left = np.where(left > EPS * alpha[..., None], left, np.nan)
        return look_up_of_own(x, y, log_rising_cells(left, counts)) - gone
    if worth(OWN * x.nnz):
        from ..loops.leaving_out import rising_of_own

        found = np.empty(len(y))
        rising_of_own(
            x.indptr, x.indices, contiguous(x.data), y, contiguous(alpha), contiguous(log_less), MULTIPLIED, found
        )
        return found - gone
    row = np.repeat(np.arange(len(y)), np.diff(x.indptr))
    place = x.indices + alpha.shape[1] * y[row].astype(np.intp)
    cells = log_less.reshape(-1)[place]
    others = np.flatnonzero(x.data != 1)
    several, first = x.data[others], alpha.reshape(-1)[place[others]]
    left = np.where(first - several > EPS * first, first - several, np.nan)
    cells[others] = log_rising_cells(left, several)
    return np.bincount(row, cells, len(y)) - gone


def log_polya_left(x: Sparse, y: np.ndarray, alpha: Float[np.ndarray, "c d"]) -> np.ndarray | None:
    """Σ_j log α_j^(x_j) − log A^(L), A = Σα, of many rows, with α − x for α in all classes but the row's own y (n,).

    Returns
    -------
    (n, c), NaN in a class that a row cannot have left; None where a row is long or counts are large or no whole numbers
    """
    from ..loops.leaving_out import rising_of_others

    length = row_totals(x)
    if is_long(x, length).any() or alpha.max(initial=0) >= MODEST:
        return None
    table = np.empty((x.shape[0], len(alpha)))
    with np.errstate(divide="ignore", invalid="ignore"):
        by_event = contiguous(alpha.T)
        first = np.log(floored(by_event - 1, by_event))
    cells, tables = contiguous(x.data), (contiguous(alpha), by_event, first)
    if not rising_of_others(x.indptr, x.indices, cells, y, *tables, MULTIPLIED, table):
        return None
    (lengths, at), total = np.unique(length, return_inverse=True), alpha.sum(-1)
    here, gone = (log_rising(one, lengths[:, None]) for one in (total, downdate(total, lengths[:, None])))
    rows = np.arange(len(y))
    mine = table[rows, y] - here[at, y]
    table -= gone[at]
    table[rows, y] = mine
    return table


_rising_without = sum_over_cells(lambda x, w, alpha: log_rising_cells(downdate(alpha, w * x), x))


def log_polya_without(x: Array | Sparse, w: Array, alpha: Float[Array, " d"]) -> Float[Array, " n"]:
    """`log_polya` of rows of one class without their own counts: α − wx for α, (n,). For `leave_one_out_table`.

    Parameters
    ----------
    x : (n, d) rows
    w : (n, 1) or (1, 1) their weights in the class
    """
    length = row_totals(x)
    if namespace(length, alpha) is not np or not (long := is_long(x, length)).any():
        return _rising_without(x, w, alpha) - log_rising(downdate(alpha.sum(), w[:, 0] * length), length)
    found, each = np.empty(x.shape[0]), np.broadcast_to(w, (x.shape[0], 1))
    if not long.all():
        found[~long] = log_polya_without(x[~long], each[~long], alpha)
    found[long] = _long_without(x[long], each[long], alpha)
    return found


def _long_without(x: Array | Sparse, w: Array, alpha: Float[Array, " d"]) -> Float[Array, " n"]:
    """The same of long rows."""
    rows = _stored(as_csr(x))
    weight = np.broadcast_to(w[:, 0], x.shape[0])
    own = downdate(alpha[rows.indices], np.repeat(weight, np.diff(rows.indptr)) * rows.data)
    unseen = _unseen(rows, alpha)
    parts = [np.add.reduceat(np.append(piece, 0.0), rows.indptr[:-1]) for piece in _slices_of(own)]
    return _Cells(rows).log_rows(
        own, stirling_rest(own), *_two_sum(parts[0] + unseen[0], parts[1] + parts[2] + unseen[1]), unseen
    )


def _stored(x: Sparse) -> Sparse:
    """Rows without stored zeros, in float64."""
    x = only(x, np.flatnonzero(x.data)) if not x.data.all() else x
    return sparse.csr_array((x.data.astype(float), x.indices, x.indptr), shape=x.shape)


class _Cells:
    """Long rows: what of the formula at the head of the module depends on the counts alone."""

    def __init__(self, x: Sparse) -> None:
        self.x, self.ends = x.data, x.indptr
        self.row = np.repeat(np.arange(x.shape[0]), np.diff(x.indptr))
        first, second, third = (self._sums(piece) for piece in _slices_of(x.data))
        self.length, self.spare = _two_sum(first, second + third)
        self.own = stirling_rest(self.x) + np.log(self.x)
        self.of_length = stirling_rest(self.length) + np.log(self.length)

    def _sums(self, cells: Array) -> Array:
        """Sums of cells by row."""
        return np.add.reduceat(np.append(cells, 0.0), self.ends[:-1])

    def log_rows(
        self, alpha: Array, rho: Array, high: Any, low: Any, unseen: tuple[Array, Array]
    ) -> Float[Array, " n"]:
        """log p(x | α) of each row.

        Parameters
        ----------
        alpha, rho : concentrations of the stored cells, and ρ of them
        high, low : A of each row, or of all, as the sum of two numbers
        unseen : Σ α over the empty cells of each row, as two numbers
        """
        length, row, x = self.length, self.row, self.x
        high, low = (np.broadcast_to(one, len(length)) for one in (high, low))
        total = length + high
        scale = np.exp2(-np.floor(np.log2(total)))  # powers of two: nothing is rounded, and no product overflows
        unit = scale[row]
        cells, own = x * unit, alpha * unit
        first, first_rest = exact_product(cells, (scale * high)[row])
        second, second_rest = exact_product(own, (scale * length)[row])
        gap = (first - second) + (
            (first_rest - second_rest) + (cells * (scale * low)[row] - own * (scale * self.spare)[row])
        )
        gap /= unit
        gap /= (total * scale)[row]  # x − sL/T = −(α − sA/T)
        s = x + alpha
        terms = stirling_rest(s) - self.own - rho
        terms -= deviance(x, s, (length / total)[row], gap)
        terms -= deviance(alpha, s, (high / total)[row], -gap)
        level = stirling_rest(total) - self.of_length - stirling_rest(high)
        return self._sums(terms) - level - (unseen[0] + unseen[1]) * np.log1p(length / high)


def stirling_rest(z: Array) -> Array:
    """log Γ(z) − z log z + z = ½ log(2π/z) + δ(z): by Stirling's series from 8 on, and as it stands below."""
    z = np.asarray(z, float)
    large = np.maximum(z, _STIRLING)
    w = (1 / large) ** 2
    series = 1 / 12 - w * (1 / 360 - w * (1 / 1260 - w * (1 / 1680 - w * (1 / 1188 - w * (691 / 360360 - w / 156)))))
    found = _HALF_LOG_2PI - 0.5 * np.log(large) + series / large
    small = z < _STIRLING
    if small.any():
        few = z[small]
        found[small] = gammaln(few) - few * np.log(few) + few
    return found


def deviance(x: Array, s: Array, share: Array, gap: Array) -> Array:
    """x log(x/m) + m − x for positive x and m = s · share; their difference x − m is given with all its digits."""
    m = s * share
    v = gap / (x + m)
    square = v * v
    found = 1 / (2 * _TERMS + 1) * square
    for j in range(_TERMS - 1, 0, -1):
        found += 1 / (2 * j + 1)
        found *= square
    found *= 2 * x * v
    found += gap * v
    far = np.flatnonzero(abs(v) >= _NEAR)
    if far.size:
        with np.errstate(under="ignore", over="ignore", divide="ignore"):
            ratio = np.log(x[far] / m[far])
        gone = ~np.isfinite(ratio)  # the ratio, or m, is beyond the range of floats
        least = np.maximum(share[far], np.finfo(float).smallest_subnormal)
        ratio[gone] = (np.log(x[far]) - np.log(s[far]) - np.log(least))[gone]
        found[far] = x[far] * ratio - gap[far]
    return found


def exact_product(a: Array, b: Array) -> tuple[Array, Array]:
    """a · b as the sum of two numbers, without any error while neither overflows nor underflows."""
    product = a * b
    a_high, b_high = _SPLIT * a, _SPLIT * b
    a_high = a_high - (a_high - a)
    b_high = b_high - (b_high - b)
    a_low, b_low = a - a_high, b - b_high
    return product, ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low


def _two_sum(a: Any, b: Any) -> tuple[Any, Any]:
    """a + b as a rounded sum and what rounding left over."""
    total = a + b
    back = total - a
    return total, (a - (total - back)) + (b - back)


def _slices_of(v: Array) -> tuple[Array, Array, Array]:
    """v as three parts, high to low, of which sums of up to a row's length of the first two are exact."""
    if not v.size:
        return v, v, v
    bits = int(np.ceil(np.log2(v.size + 1))) + 1
    largest = float(abs(v).max())
    if not 0 < largest < 1e300:
        return v, 0 * v, 0 * v
    parts, left = [], v
    grid = float(np.exp2(np.ceil(np.log2(largest)) + bits - 52))
    for _ in range(2):
        part = np.round(left / grid) * grid
        parts.append(part)
        left = left - part
        grid = max(grid * float(np.exp2(bits - 52)), 1e-290)
    return parts[0], parts[1], left


def _split_sum(v: Array) -> tuple[float, float]:
    """Σ v as the sum of two numbers."""
    first, second, third = (float(part.sum()) for part in _slices_of(v))
    return _two_sum(first, second + third)


def _unseen(x: Sparse, alpha: Array) -> tuple[Array, Array]:
    """Σ_j α_j over the empty cells of each row, as two numbers: all cells less the stored ones, exactly."""
    first, second, third = _slices_of(alpha)
    sums = [
        part.sum() - np.add.reduceat(np.append(part[x.indices], 0.0), x.indptr[:-1]) for part in (first, second, third)
    ]
    full = np.diff(x.indptr) == x.shape[1]
    return np.where(full, 0, sums[0]), np.where(full, 0, sums[1] + sums[2])
