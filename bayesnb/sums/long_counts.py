"""Cells with many events, of the Poisson and the geometric model: predictive and moments that keep their digits.

The plain sums are differences of numbers as large as x log x: at 1e15 events they are some nats off. Here the large
parts are cancelled on paper, as in `sums.long_rows`. With log Γ(z) = z log z − z + ρ(z), s = a + x and the deviance
D(x, m) = x log(x/m) + m − x ≥ 0,

    Poisson     log p(x) = ρ(s) − ρ(a) − ρ(x) − log x − D(x, s/(b+1)) − D(a, s b/(b+1))

Both deviances depend on x b − a, which is formed with twice the digits. The geometric predictive B(a+1, b+x)/B(a, b) is
that of a Dirichlet–multinomial row with the two cells 1 and x without its coefficient x + 1: four deviances, of which
each depends on x a − b.

Cumulants of log p(x | θ) over θ are sums Σ x_jᵏ ψ_{k−1}(α_j) of a leading part and a small rest, ψ(z) = log z + η₀(z),
ψ₁(z) = 1/z + η₁(z), ψ₂(z) = −1/z² + η₂(z). The leading parts are squares and cubes about the mean, such as
x²/a + a/b² − 2x/b = (x − a/b)²/a.

References
----------
Loader (2000), Fast and accurate computation of binomial probabilities: the deviance. DLMF 5.11.2 and its derivatives.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.arrays import Array, is_sparse
from ..core.special import digamma, namespace, tetragamma, trigamma
from .long_rows import deviance, exact_product, stirling_rest
from .rows import as_csr, slices

LONG = 256  # events of a cell, beyond which the plain sums lose digits
_CELLS = 1 << 16  # of rows that are made dense at a time
_ASYMPTOTIC = 12.0


def is_long(x: Any, *others: Any) -> bool:
    """Whether rows on the host have a cell with so many events."""
    if namespace(x, *others) is not np:
        return False
    with np.errstate(invalid="ignore"):
        return bool(((x.data if is_sparse(x) else x) > LONG).any())


def with_long_cells(plain: Callable[[Any], Array], long: Callable[[Array, Array], Array], x: Any) -> Array:
    """A table (n, c) of sums over the cells of a row, those with many events by a formula of their own.

    Parameters
    ----------
    plain : rows → (n, c); a missing cell adds nothing
    long : m cells and their columns → (c, m)
    """
    if not is_long(x, probe := plain(x[:0])):
        return plain(x)
    if is_sparse(x):
        x = as_csr(x)
        many = np.flatnonzero(np.bincount(np.repeat(np.arange(x.shape[0]), np.diff(x.indptr)), x.data > LONG))
        found = np.empty((x.shape[0], probe.shape[1]))
        few = np.setdiff1d(np.arange(x.shape[0]), many)
        found[few] = plain(x[few])
        for part in slices(len(many), x.shape[1], _CELLS):
            found[many[part]] = with_long_cells(plain, long, x[many[part]].toarray())
        return found
    with np.errstate(invalid="ignore"):
        row, column = np.nonzero(x > LONG)
    found = plain(np.where(x > LONG, np.nan, x))
    added = np.zeros((found.shape[1], len(x)))
    for part in slices(len(row), len(added), _CELLS):
        for total, values in zip(added, long(x[row[part], column[part]].astype(float), column[part]), strict=True):
            total += np.bincount(row[part], values, len(x))
    return (found + added.T).astype(found.dtype)


def where_long(plain: Array, long: Callable[..., Array], x: Array, *fields: Array) -> Array:
    """Values of cells, (…), those with many events by a formula of their own, long(x, *fields)."""
    if not is_long(x, plain):
        return plain
    everywhere = np.broadcast_to(x, plain.shape)
    with np.errstate(invalid="ignore"):
        far = everywhere > LONG
    found = np.array(plain)
    found[far] = long(everywhere[far], *(np.broadcast_to(field, plain.shape)[far] for field in fields))
    return found


def log_negative_binomial(x: Array, a: Array, b: Array) -> Array:
    """log Γ(a+x)/(Γ(a) x!) − a log(1 + 1/b) − x log(b+1) of positive x, a and b."""
    x, a, b = np.broadcast_arrays(x, a, b)
    s = a + x
    gap = _difference(x, b, a, 1.0) * (b / (1 + b))  # x − s/(b+1) = −(a − s b/(b+1))
    level = stirling_rest(s) - stirling_rest(a) - stirling_rest(x) - np.log(x)
    return level - _deviance(x, s, 1 / (1 + b), gap) - _deviance(a, s, b / (1 + b), -gap)


def log_beta_geometric(x: Array, a: Array, b: Array) -> Array:
    """log B(a+1, b+x)/B(a, b) of positive x, a and b."""
    return log_beta_ratio(np.ones_like(x), x, a, b)


def log_beta_ratio(n: Array, x: Array, a: Array, b: Array) -> Array:
    """log B(a+n, b+x)/B(a, b) of positive numbers: the Dirichlet–multinomial of two cells less log (n+x)!/(n! x!)."""
    n, x, a, b = np.broadcast_arrays(n, x, a, b)
    length, whole = n + x, a + b
    total = length + whole
    gap = _difference(x, a, b, n) * (a / total)  # x − (b + x) L/T = −(n − (a + n) L/T)
    found = -n * np.log(length / n) - x * np.log1p(n / x) + stirling_rest(whole) - stirling_rest(total)
    for count, alpha, difference in ((n, a, -gap), (x, b, gap)):
        s = count + alpha
        found += stirling_rest(s) - stirling_rest(alpha)
        found -= _deviance(count, s, length / total, difference)
        found -= _deviance(alpha, s, whole / total, -difference)
    return found


def _difference(x: Array, u: Array, y: Array, v: Array | float) -> Array:
    """x − y v/u of positive numbers, both products x u and y v with twice the digits."""
    scale = np.exp2(-np.floor(np.log2(np.maximum(x, y))))  # a power of two: nothing is rounded, and nothing overflows
    (first, first_rest), (second, second_rest) = exact_product(x * scale, u), exact_product(y * scale, np.asarray(v))
    return ((first - second) + (first_rest - second_rest)) / u / scale


def _deviance(*tables: Array) -> Array:
    """The deviance of tables of one shape."""
    tables = np.broadcast_arrays(*tables)
    return deviance(*(table.ravel() for table in tables)).reshape(tables[0].shape)


def poisson_cumulants(x: Array, a: Array, b: Array) -> tuple[Array, Array, Array]:
    """Mean, variance and third cumulant of x log λ − λ − log x! over λ ~ Gamma(a, rate b)."""
    x, a, b = np.broadcast_arrays(x, a, b)
    eta, eta1, eta2 = _rests(a)
    mean_rate = a / b
    gap = _difference(x, b, a, 1.0)  # x − a/b
    mean = -_deviance(x, mean_rate, np.ones_like(x), gap) + x * eta - stirling_rest(x) - np.log(x)
    variance = x * (x * eta1) + gap * (gap / a)
    return mean, variance, x * (x * (x * eta2)) - (gap / a) ** 2 * (x + 2 * mean_rate)


def geometric_cumulants(x: Array, a: Array, b: Array) -> tuple[Array, Array, Array]:
    """Mean, variance and third cumulant of log θ + x log(1−θ) over θ ~ Beta(a, b)."""
    x, a, b = np.broadcast_arrays(x, a, b)
    whole, length = a + b, x + 1
    of_a, of_b, of_whole = _rests(a), _rests(b), _rests(whole)
    mean = digamma(a) - digamma(whole) + x * (of_b[0] - of_whole[0] - np.log1p(a / b))
    gap = _difference(x, a, b, 1.0) / b  # x/b − 1/a
    share = (a / whole) * b
    spread = share * gap * gap
    variance = of_a[1] + x * (x * of_b[1]) - length * (length * of_whole[1]) + spread
    third = of_a[2] + x * (x * (x * of_b[2])) - length * (length * (length * of_whole[2]))
    return mean, variance, third - spread * ((a / whole - b / whole) * gap + 3 * (length / whole))


def _rests(z: Array) -> tuple[Array, Array, Array]:
    """ψ(z) − log z, ψ₁(z) − 1/z, ψ₂(z) + 1/z²."""
    large = np.maximum(z, _ASYMPTOTIC)
    w = 1 / large
    v = w * w
    series = (
        -w / 2 - v * (1 / 12 - v * (1 / 120 - v * (1 / 252 - v * (1 / 240 - v * (1 / 132 - v * 691 / 32760))))),
        v * (1 / 2 + w * (1 / 6 - v * (1 / 30 - v * (1 / 42 - v * (1 / 30 - v * (5 / 66 - v * 691 / 2730)))))),
        -v * w * (1 + w * (1 / 2 - v * (1 / 6 - v * (1 / 6 - v * (3 / 10 - v * (5 / 6 - v * 691 / 210)))))),
    )
    small = z < _ASYMPTOTIC
    few = np.where(small, z, 1.0)
    direct = (digamma(few) - np.log(few), trigamma(few) - 1 / few, tetragamma(few) + 1 / few**2)
    first, second, third = (np.where(small, *pair) for pair in zip(direct, series, strict=True))
    return first, second, third
