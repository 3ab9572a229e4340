"""Truncated Taylor series in one variable t, so that cumulants are read from a formula that is written once.

log E p(x | θ)^t is the cumulant generating function of log p(x | θ) over θ. Its Taylor coefficients at t = 0, times 1,
2 and 6, are the mean, the variance and the third cumulant.
"""

from typing import Any

import numpy as np

from .special import digamma, namespace, tetragamma, trigamma
from .special import log_rising as log_rising_of_numbers


class Jet:
    """The series a₀ + a₁t + a₂t² + a₃t³ and its arithmetic; the coefficients are arrays that broadcast."""

    __array_ufunc__ = None  # an array times a jet is a jet

    def __init__(self, *a: Any) -> None:
        self.a = (*a, *(0.0,) * (4 - len(a)))

    def __add__(self, other: Any) -> "Jet":
        return Jet(*(x + y for x, y in zip(self.a, _as_jet(other).a, strict=True)))

    def __mul__(self, other: Any) -> "Jet":
        if not isinstance(other, Jet):
            return Jet(*(x * other for x in self.a))
        return Jet(*(sum(self.a[i] * other.a[k - i] for i in range(k + 1)) for k in range(4)))

    def __truediv__(self, other: Any) -> "Jet":
        if not isinstance(other, Jet):
            return Jet(*(x / other for x in self.a))
        quotient: list[Any] = []
        for k in range(4):
            rest = self.a[k] - sum(quotient[i] * other.a[k - i] for i in range(k))
            quotient.append(rest / other.a[0])
        return Jet(*quotient)

    def __neg__(self) -> "Jet":
        return self * -1.0

    def __sub__(self, other: Any) -> "Jet":
        return self + -_as_jet(other)

    def __rsub__(self, other: Any) -> "Jet":
        return -self + other

    __radd__, __rmul__ = __add__, __mul__


def _as_jet(x: Any) -> Jet:
    return x if isinstance(x, Jet) else Jet(x)


def log1p(v: Any) -> Any:
    """log(1 + v) of numbers v > −1, or of a jet that begins at 0."""
    if isinstance(v, Jet):
        return v - v * v * 0.5 + v * v * v * (1 / 3)
    xp = namespace(v)
    return xp.log1p(_inside(v, 1.0, xp))


def log_rising(a: Any, n: Any) -> Any:
    """log Γ(a + n)/Γ(a) of numbers n > −a, or of a jet n that begins at 0."""
    if isinstance(n, Jet):
        return digamma(a) * n + trigamma(a) / 2 * (n * n) + tetragamma(a) / 6 * (n * n * n)
    return log_rising_of_numbers(a, n if isinstance(n, int | float) and n >= 0 else _inside(n, a, namespace(n, a)))


def _inside(n: Any, a: Any, xp: Any) -> Any:
    """n, moved up by rounding where a + n is 0 but for rounding: a row may carry all of a hyperparameter."""
    n = xp.asarray(n)
    least = (4 * xp.finfo(n.dtype).eps - 1) * a
    if xp is np and (n > least).all():
        return n
    return xp.where(abs(n + a) < least + a, least, n)
