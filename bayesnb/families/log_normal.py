"""Log-normal: positive amounts that differ by factors, such as incomes, sizes and concentrations.

    σ²_cj ~ InverseGamma(a_cj, scale b_cj)
    μ_cj | σ²_cj ~ Normal(m_cj, σ²_cj / κ_cj)
    log x_ij | y_i = c ~ Normal(μ_cj, σ²_cj)     independent given the class; NaN = missing, left out cell by cell

With z = log x the density of x is that of z divided by x. Prior, update and gain are those of the Gaussian page for z,
with −Σ log x = −n z̄ in the evidence. See Murphy (2007), Conjugate Bayesian analysis of the Gaussian distribution, §3,
for z.
"""

from dataclasses import dataclass
from typing import Any

from ._page import AMOUNT, COUNT, LOG_2PI, REAL, Array, Cells, Field, Float, Moments, declare, namespace, pytree
from .gaussian import NormalInverseGamma


@pytree
@dataclass(frozen=True)
class LogMoments(Moments):
    """Weight, mean and centred sum of squares of log x; `log_h` is −½ n log 2π − Σ_i r_ic log x_ij."""

    @property
    def log_h(self) -> Float[Array, "c d"]:
        """Base measure, nats."""
        return super().log_h - self.n * self.mean


@pytree
@dataclass(frozen=True)
class LogNormal(NormalInverseGamma):
    """Normal–inverse-gamma density of each (μ_cj, σ²_cj) of log x, as a prior or a posterior.

    Fields
    ------
    m, kappa : (c, d)   centre of the mean of log x, and pseudo-rows behind it, positive
    a, b : (c, d)       shape (half the pseudo-rows) and scale of the variance of log x, positive

    Formulas
    --------
    predictive : log t(z; 2a, m, b(κ+1)/(aκ)) − z, z = log x. Murphy (2007), (100)
    mean : m and b/(a − 1); the variance has a mean only for a > 1, otherwise this is its mode b/(a + 1)
    mode : m and b/(a + 3/2), the joint mode
    mle : z̄ and ss/n, z = log x
    """

    fields_ = declare(m=Field(REAL), kappa=Field(COUNT), a=Field(COUNT), b=Field(AMOUNT, per="a"))
    cells_ = Cells("positive")
    monoid = LogMoments

    def likelihood(self, dist: Any, mu: Array, variance: Array) -> Any:
        """log x ~ Normal(μ, σ²)."""
        return dist.LogNormal(mu, variance**0.5)

    def statistic(self, x: Array) -> Array:
        """z = log x."""
        return namespace(x).log(x)

    def log_h(self, x: Array) -> Array:
        """−½ log 2π − log x."""
        return -0.5 * LOG_2PI - self.statistic(x)

    def _change(self, x: Array) -> Float[Array, "n 1"]:
        """−Σ_j log x_j."""
        return -self._observed(self.statistic, x).sum(1)[:, None]
