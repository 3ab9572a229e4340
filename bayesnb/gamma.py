"""Gamma: what the models of a rate with a gamma prior share.

    λ_cj ~ Gamma(a_cj, rate b_cj)     rate of feature j in class c

The parameter is held as log λ, so that small rates keep their digits. The pages of the Poisson and the exponential
model add the likelihood.
"""

from types import MappingProxyType
from typing import Any

from .base import AbstractConjugate
from .core.arrays import Array, Float, Theta
from .core.random import Key, log_gamma
from .core.special import gammaln, log_floor, namespace
from .core.supports import declare
from .statistics import Totals


class AbstractGamma(AbstractConjugate[Totals]):
    """Gamma density of each λ_cj, prior or posterior.

    Fields
    ------
    a, b : (c, d)   shape, and rate in the unit of 1/λ; positive
    """

    a: Float[Array, "c d"]
    b: Float[Array, "c d"]

    parameters = ("log_rate",)
    flat_ = declare(a=1.0, b=0.0)
    distribution_ = "Gamma", MappingProxyType({"a": "concentration", "b": "rate"})

    def log_normalizer(self) -> Float[Array, "c d"]:
        """log Γ(a) − a log b."""
        xp = namespace(self.a)
        return gammaln(self.a) - self.a * xp.log(self.b)

    def log_prob(self, theta: Theta) -> Float[Array, "*s c d"]:
        """(a − 1) log λ − bλ − log Γ(a) + a log b."""
        log_rate = theta["log_rate"]
        return (self.a - 1) * log_rate - self.b * namespace(log_rate).exp(log_rate) - self.log_normalizer()

    def sample(self, key: Key, shape: tuple[int, ...] = ()) -> Theta:
        """Draws of log λ = log G(a) − log b."""
        return {"log_rate": log_gamma(key, self.a, shape) - namespace(self.b).log(self.b)}

    def mean(self) -> Theta:
        """a / b."""
        xp = namespace(self.a)
        return {"log_rate": xp.log(self.a) - xp.log(self.b)}

    def mode(self) -> Theta:
        """(a − 1) / b; 0 where a ≤ 1."""
        xp = namespace(self.a)
        return {"log_rate": log_floor(xp.maximum(self.a - 1, 0) / self.b)}

    def on_boundary(self) -> bool:
        """Whether some a is at most 1."""
        return bool((self.a <= 1).any())

    def marginals(self) -> dict[str, Any]:
        """Gamma(a, rate b) for `rate`."""
        from scipy import stats

        return {"rate": stats.gamma(self.a, scale=1 / self.b)}
