"""Gamma–Poisson: independent counts without an upper bound.

    λ_cj ~ Gamma(a_cj, rate b_cj)      expected count of feature j in class c
    x_ij | y_i = c ~ Poisson(λ_cj)     independent given the class; NaN = missing, left out cell by cell

With λ integrated out one count is negative binomial. Gelman et al. (2013), Bayesian Data Analysis, 3rd ed., §2.6.
"""

from dataclasses import dataclass
from typing import Any

from ..sums.tables import log_factorial
from ._page import COUNT, Array, Cells, Conjugate, Field, Float, Totals, declare, log1p, log_rising, namespace, pytree


@pytree
@dataclass(frozen=True)
class GammaPoisson(Conjugate[Totals]):
    """Gamma density of each λ_cj, as a prior or a posterior.

    Fields
    ------
    a : (c, d)   shape: pseudo-count of events, positive
    b : (c, d)   rate: pseudo-number of rows, positive

    Formulas
    --------
    predictive : negative binomial, log Γ(a+x)/Γ(a) − log x! − a log(1 + 1/b) − x log(b+1)
    mean : a/b
    mode : (a − 1)/b; 0 where a ≤ 1
    mle : Σ_i x_i / n
    """

    a: Float[Array, "c d"]
    b: Float[Array, "c d"]

    fields_ = declare(a=Field(COUNT, public="alpha"), b=Field(COUNT, public="beta", per="alpha"))
    cells_ = Cells("counts", sparse=True)
    parameters = ("log_rate",)

    def prior(self, sample: Any, dist: Any) -> None:
        """λ ~ Gamma(a, rate b)."""
        sample("rate", dist.Gamma(self.a, self.b))

    def likelihood(self, dist: Any, rate: Array) -> Any:
        """x ~ Poisson(λ)."""
        return dist.Poisson(rate)

    def eta(self, log_rate: Array) -> tuple[Array, Array]:
        """Level −λ and slope log λ."""
        return -namespace(log_rate).exp(log_rate), log_rate

    def log_h(self, x: Array) -> Array:
        """−log x!."""
        return -log_factorial(x)

    def added(self, s: Any, a: Array, b: Array) -> tuple[Any, Any]:
        """a + Σ_i x_i, b + n."""
        return a + s.total, b + s.n

    def gain(self, s: Any, a: Array, b: Array) -> Any:
        """log Γ(a+s)/Γ(a) − (a+s) log(1 + n/b) − s log b, s = Σ_i x_i; of one count the negative binomial."""
        return log_rising(a, s.total) - (a + s.total) * log1p(s.n / b) - s.total * namespace(b).log(b)
