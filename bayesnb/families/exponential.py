"""Gamma–exponential: waiting times, durations, distances and other amounts that pile up near zero.

    λ_cj ~ Gamma(a_cj, rate b_cj)          rate of feature j in class c, one over its mean
    x_ij | y_i = c ~ Exponential(λ_cj)     independent given the class; NaN = missing, left out cell by cell

With λ integrated out one amount is Lomax (Pareto from zero), whose tail is a power. A class of few rows therefore does
not make a long wait impossible. Gelman et al. (2013), Bayesian Data Analysis, 3rd ed., §2.6.
"""

from dataclasses import dataclass
from typing import Any

from ..sums.statistics import Totals
from ._page import AMOUNT, COUNT, Array, Cells, Conjugate, Field, Float, declare, log1p, log_rising, namespace, pytree


@pytree
@dataclass(frozen=True)
class GammaExponential(Conjugate[Totals]):
    """Gamma density of each λ_cj, as a prior or a posterior.

    Fields
    ------
    a : (c, d)   shape: pseudo-number of rows, positive
    b : (c, d)   rate: pseudo-sum of the feature, in its unit, positive

    Formulas
    --------
    predictive : Lomax, log a/b − (a+1) log(1 + x/b)
    mean : a/b
    mode : (a − 1)/b; 0 where a ≤ 1
    mle : n / Σ_i x_i; √max of the type if all cells are 0
    """

    a: Float[Array, "c d"]
    b: Float[Array, "c d"]

    fields_ = declare(a=Field(COUNT, public="alpha"), b=Field(AMOUNT, public="beta", per="alpha"))
    cells_ = Cells("amounts")
    parameters = ("log_rate",)

    def prior(self, sample: Any, dist: Any) -> None:
        """λ ~ Gamma(a, rate b)."""
        sample("rate", dist.Gamma(self.a, self.b))

    def likelihood(self, dist: Any, rate: Array) -> Any:
        """x ~ Exponential(λ)."""
        return dist.Exponential(rate)

    def eta(self, log_rate: Array) -> tuple[Array, Array]:
        """Level log λ and slope −λ."""
        return log_rate, -namespace(log_rate).exp(log_rate)

    def added(self, s: Any, a: Array, b: Array) -> tuple[Any, Any]:
        """a + n, b + Σ_i x_i."""
        return a + s.n, b + s.total

    def gain(self, s: Any, a: Array, b: Array) -> Any:
        """log Γ(a+n)/Γ(a) − (a+n) log(1 + s/b) − n log b, s = Σ_i x_i; of one amount Lomax."""
        return log_rising(a, s.n) - (a + s.n) * log1p(s.total / b) - s.n * namespace(b).log(b)
