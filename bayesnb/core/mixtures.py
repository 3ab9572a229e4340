"""Mixtures of the distributions of a parameter: what is known of it where a hyperparameter has a distribution."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from .arrays import Array, Scalar, Value


@dataclass(frozen=True)
class Mixture:
    """A mixture of frozen `scipy.stats` distributions."""

    parts: list[Any]
    weights: np.ndarray

    def _sum(self, method: str, *args: Array | Scalar) -> Value:
        return sum(w * getattr(one, method)(*args) for w, one in zip(self.weights, self.parts, strict=True))

    def mean(self) -> Value:
        """Mean."""
        return self._sum("mean")

    def var(self) -> Value:
        """Variance."""
        means = [one.mean() for one in self.parts]
        square = sum(w * (one.var() + m**2) for w, one, m in zip(self.weights, self.parts, means, strict=True))
        return square - self.mean() ** 2

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
        """Quantiles, by bisection between those of the components."""
        ends = np.array([one.ppf(q) for one in self.parts])
        low, high = ends.min(0), ends.max(0)
        for _ in range(100):
            middle = (low + high) / 2
            below = self.cdf(middle) < q
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        return (low + high) / 2

    def support(self) -> tuple[Value, Value]:
        """Ends of the values that some component may have."""
        low, high = zip(*(one.support() for one in self.parts), strict=True)
        return np.min(low, 0), np.max(high, 0)

    def interval(self, level: float) -> tuple[Value, Value]:
        """Equal-tailed interval."""
        return self.ppf((1 - level) / 2), self.ppf((1 + level) / 2)
