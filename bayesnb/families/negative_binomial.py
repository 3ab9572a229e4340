"""Beta–negative-binomial: counts that vary more than Poisson counts, with a known number r of stops.

    θ_cj ~ Beta(a_cj, b_cj)                               probability of the counted event of feature j in class c
    x_ij | y_i = c ~ NegativeBinomial(r, θ_cj)            events before the r-th stop, independent given the class;
                                                          NaN = missing, left out cell by cell

p(x | θ) = Γ(r+x)/(Γ(r) x!) θ^x (1−θ)^r, with mean rθ/(1−θ). The number r is known and positive, but need not be whole.
θ is the probability of the counted event, as in NumPyro. With r = 1 it is the geometric distribution with 1 − θ for its
θ. With θ integrated out one count is beta–negative-binomial. Johnson, Kemp & Kotz (2005), Univariate Discrete
Distributions, 3rd ed., ch. 6.
"""

from dataclasses import dataclass, field
from typing import Any

from ..numerics.densities import log_probabilities
from ._page import COUNT, Array, Cells, Conjugate, Field, Float, Totals, declare, gammaln, log_floor, log_rising, pytree


@pytree
@dataclass(frozen=True)
class BetaNegativeBinomial(Conjugate[Totals]):
    """Beta density of each θ_cj, as a prior or a posterior.

    Fields
    ------
    a, b : (c, d)   pseudo-counts of events and of stops (r a row), positive
    r : number of stops that end a row, positive, the same for all features

    Formulas
    --------
    predictive : log B(a+x, b+r) / B(a, b) + log Γ(r+x)/(Γ(r) x!)
    mean : a/(a + b)
    mode : (a − 1)/(a + b − 2); 0 or 1 where a or b is at most 1; the mean where both are
    mle : Σ_i x_i / (Σ_i x_i + n r)
    """

    a: Float[Array, "c d"]
    b: Float[Array, "c d"]
    r: float = field(default=1.0, metadata={"static": True})

    fields_ = declare(a=Field(COUNT), b=Field(COUNT))
    constants_ = declare(r=COUNT)
    cells_ = Cells("counts", whole=True, sparse=True)
    parameters = ("logit_theta",)

    def prior(self, sample: Any, dist: Any) -> None:
        """θ ~ Beta(a, b)."""
        sample("theta", dist.Beta(self.a, self.b))

    def likelihood(self, dist: Any, theta: Array) -> Any:
        """x ~ NegativeBinomial(r, θ), by logits: `NegativeBinomialProbs` of NumPyro is 1e-6 off in its log Γ ratio."""
        return dist.NegativeBinomialLogits(self.r, log_floor(theta) - log_floor(1 - theta))

    def eta(self, logit_theta: Array) -> tuple[Array, Array]:
        """Level r log(1 − θ) and slope log θ."""
        log_p, log_q = log_probabilities(logit_theta)
        return self.r * log_q, log_p

    def log_h(self, x: Array) -> Array:
        """log Γ(r+x)/(Γ(r) x!)."""
        return log_rising(self.r, x) - gammaln(x + 1.0)

    def added(self, s: Any, a: Array, b: Array) -> tuple[Any, Any]:
        """a + Σ_i x_i, b + n r."""
        return a + s.total, b + s.n * self.r

    def gain(self, s: Any, a: Array, b: Array) -> Any:
        """log B(a+s, b+nr) / B(a, b), s = Σ_i x_i, written with rising factorials."""
        stops = s.n * self.r
        return log_rising(a, s.total) + log_rising(b, stops) - log_rising(a + b, s.total + stops)
