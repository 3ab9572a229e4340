"""Beta: what the models of a probability with a beta prior share.

    θ_cj ~ Beta(a_cj, b_cj)     probability of feature j in class c

The parameter is held as logit θ = log θ − log(1−θ), so that probabilities near 0 and near 1 keep their digits. The
pages of the Bernoulli, the geometric and the negative binomial model add the likelihood.
"""

from types import MappingProxyType
from typing import Any

from .base import AbstractConjugate
from .core.arrays import Array, Float, Theta
from .core.random import Key, log_dirichlet
from .core.special import log_beta, log_floor, namespace
from .core.supports import declare
from .statistics import Stats


class AbstractBeta(AbstractConjugate[Stats]):
    """Beta density of each θ_cj, prior or posterior.

    Fields
    ------
    a, b : (c, d)   pseudo-counts, positive
    """

    a: Float[Array, "c d"]
    b: Float[Array, "c d"]

    parameters = ("logit_theta",)
    flat_ = declare(a=1.0, b=1.0)
    distribution_ = "Beta", MappingProxyType({"a": "concentration1", "b": "concentration0"})

    def log_normalizer(self) -> Float[Array, "c d"]:
        """log B(a, b)."""
        return log_beta(self.a, self.b)

    def log_prob(self, theta: Theta) -> Float[Array, "*s c d"]:
        """(a−1) log θ + (b−1) log(1−θ) − log B(a, b)."""
        log_p, log_q = log_probabilities(theta["logit_theta"])
        return (self.a - 1) * log_p + (self.b - 1) * log_q - self.log_normalizer()

    def sample(self, key: Key, shape: tuple[int, ...] = ()) -> Theta:
        """Draws of logit θ = log G(a) − log G(b)."""
        return {"logit_theta": self._drawn(key, namespace(self.a).stack([self.a, self.b], -1), shape)}

    def _drawn(self, key: Key, pairs: Array, shape: tuple[int, ...] = ()) -> Array:
        """Draws of logit θ for each pair of a and b."""
        draws = log_dirichlet(key, pairs, shape)
        return draws[..., 0] - draws[..., 1]

    def mean(self) -> Theta:
        """a / (a + b)."""
        xp = namespace(self.a)
        return {"logit_theta": xp.log(self.a) - xp.log(self.b)}

    def mode(self) -> Theta:
        """(a−1) / (a+b−2); 0 or 1 if a or b is at most 1; the mean if both are (no mode is inside)."""
        xp = namespace(self.a)
        return self._share(xp.maximum(self.a - 1, 0), xp.maximum(self.b - 1, 0))

    def _share(self, p: Array, q: Array) -> Theta:
        """p / (p + q); the mean where both are 0."""
        xp = namespace(p)
        return {"logit_theta": xp.where(p + q > 0, log_floor(p) - log_floor(q), self.mean()["logit_theta"])}

    def on_boundary(self) -> bool:
        """Whether some a or b is at most 1."""
        return bool(((self.a <= 1) | (self.b <= 1)).any())

    def marginals(self) -> dict[str, Any]:
        """Beta(a, b) for `theta`."""
        from scipy import stats

        return {"theta": stats.beta(self.a, self.b)}


def log_probabilities(logit: Array) -> tuple[Array, Array]:
    """log θ and log(1−θ) from the logit, each with all its digits."""
    return log_failure(-logit), log_failure(logit)


def log_failure(logit: Array) -> Array:
    """log(1−θ) from the logit of θ, with all its digits."""
    return -namespace(logit).logaddexp(0, logit)
