"""Beta–geometric: the number of failures before the first success.

    θ_cj ~ Beta(a_cj, b_cj)                  probability of success of feature j in class c
    p(x_ij | y_i = c) = θ_cj (1 − θ_cj)^x    x = 0, 1, 2, … independent given the class; NaN = missing, left out

Such counts are most probable at zero and have a longer tail than Poisson counts. The model is the exponential in whole
steps. With θ integrated out one count is beta-geometric, a ratio of beta functions. Johnson, Kemp & Kotz (2005),
Univariate Discrete Distributions, 3rd ed., ch. 5 (geometric) and 6 (beta mixtures of the negative binomial, of which it
is the one with k = 1).
"""

from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from ._page import COUNT, Array, Cells, Field, Float, Totals, declare, log_probabilities, log_rising, namespace, pytree
from .conjugate import Conjugate


@pytree
@dataclass(frozen=True)
class BetaGeometric(Conjugate[Totals]):
    """Beta density of each θ_cj, as a prior or a posterior.

    Fields
    ------
    a, b : (c, d)   pseudo-counts of successes (one a row) and of failures, positive

    Formulas
    --------
    predictive : log B(a+1, b+x) / B(a, b)
    mean : a/(a + b)
    mode : (a − 1)/(a + b − 2); 0 or 1 where a or b is at most 1; the mean where both are
    mle : n / (n + Σ_i x_i)
    """

    a: Float[Array, "c d"]
    b: Float[Array, "c d"]

    fields_ = declare(a=Field(COUNT, public="alpha"), b=Field(COUNT, public="beta", per="alpha"))
    cells_ = Cells("counts", whole=True, sparse=True)
    names_ = MappingProxyType({"theta": "stopping probability"})
    parameters = ("logit_theta",)

    def prior(self, sample: Any, dist: Any) -> None:
        """θ ~ Beta(a, b)."""
        sample("theta", dist.Beta(self.a, self.b))

    def likelihood(self, dist: Any, theta: Array) -> Any:
        """x ~ Geometric(θ), failures before the first success; in NumPyro 0.22 p(x = 0) is 0 at θ = 1, not 1."""
        xp = namespace(theta)
        return dist.GeometricProbs(xp.minimum(theta, 1 - xp.finfo(theta.dtype).eps))

    def eta(self, logit_theta: Array) -> tuple[Array, Array]:
        """Level log θ and slope log(1 − θ)."""
        return log_probabilities(logit_theta)

    def added(self, s: Any, a: Array, b: Array) -> tuple[Any, Any]:
        """a + n, b + Σ_i x_i."""
        return a + s.n, b + s.total

    def gain(self, s: Any, a: Array, b: Array) -> Any:
        """log B(a+n, b+s) / B(a, b), s = Σ_i x_i, by rising factorials: log_rising(a, n) is log Γ(a+n)/Γ(a)."""
        return log_rising(a, s.n) + log_rising(b, s.total) - log_rising(a + b, s.n + s.total)
