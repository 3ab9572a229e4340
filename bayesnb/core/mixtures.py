"""Mixtures of the distributions of a parameter: what is known of it where a hyperparameter has a distribution."""

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np

from .arrays import Array, Scalar, Value

_STEPS = 200  # of the search for a quantile
_ROUNDING = 1e-13  # relative: a step that changes a quantile no more is the last


@dataclass(frozen=True)
class Mixture:
    """A mixture of frozen `scipy.stats` distributions of one kind."""

    parts: list[Any]
    weights: np.ndarray

    @functools.cached_property
    def _arguments(self) -> list[np.ndarray]:
        """Each argument of the distributions, (k, *shape)."""
        shape = np.shape(self.parts[0].mean())
        arguments = zip(*((*one.args, *one.kwds.values()) for one in self.parts), strict=True)
        return [np.stack([np.broadcast_to(value, shape) for value in values]) for values in arguments]

    def _of_parts(self, method: str, *x: Array | Scalar) -> np.ndarray:
        """What a method of each distribution returns, (k, …); axes of x in front of those of the mixture stay there."""
        first, (k, *shape) = self.parts[0], self._arguments[0].shape
        leading = max(np.ndim(x[0]) - len(shape), 0) if x else 0
        values = [value.reshape(k, *[1] * leading, *shape) for value in self._arguments]
        positional = len(first.args)
        named = dict(zip(first.kwds, values[positional:], strict=True))
        return np.asarray(getattr(first.dist, method)(*x, *values[:positional], **named))

    def _sum(self, method: str, *x: Array | Scalar) -> Value:
        return np.tensordot(self.weights, self._of_parts(method, *x), 1)

    def mean(self) -> Value:
        """Mean."""
        return self._sum("mean")

    def var(self) -> Value:
        """Variance."""
        second = self._of_parts("var") + (self._of_parts("mean") - self.mean()) ** 2
        return np.tensordot(self.weights, second, 1)

    def std(self) -> Value:
        """Standard deviation."""
        return np.sqrt(self.var())

    def pdf(self, x: Array | Scalar) -> Value:
        """Density."""
        return self._sum("pdf", x)

    def cdf(self, x: Array | Scalar) -> Value:
        """Distribution function."""
        return self._sum("cdf", x)

    def ppf(self, q: Array | Scalar) -> Value:
        """Quantiles, by Newton's steps between those of the components; each third step halves what is left."""
        ends = self._of_parts("ppf", q)
        low, high = ends.min(0), ends.max(0)
        x = (low + high) / 2
        for i in range(_STEPS):
            above = self.cdf(x) - q
            low, high = np.where(above < 0, x, low), np.where(above < 0, high, x)
            with np.errstate(all="ignore"):
                newton = x - above / self.pdf(x)
            last = (abs(newton - x) <= _ROUNDING * abs(x)) | (high - low <= _ROUNDING * abs(x))
            if last.all():
                break
            inside = (newton >= low) & (newton <= high) & (i % 3 != 2)
            x = np.where(last, x, np.where(inside, newton, (low + high) / 2))
        return x

    def support(self) -> tuple[Value, Value]:
        """Ends of the values that some component may have."""
        low, high = zip(*(one.support() for one in self.parts), strict=True)
        return np.min(low, 0), np.max(high, 0)

    def interval(self, level: float) -> tuple[Value, Value]:
        """Equal-tailed interval."""
        return self.ppf((1 - level) / 2), self.ppf((1 + level) / 2)
