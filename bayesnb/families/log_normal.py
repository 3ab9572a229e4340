"""Log-normal: positive amounts that differ by factors, such as incomes, sizes and concentrations.

    σ²_cj ~ InverseGamma(a_cj, scale b_cj)
    μ_cj | σ²_cj ~ Normal(m_cj, σ²_cj / κ_cj)
    log x_ij | y_i = c ~ Normal(μ_cj, σ²_cj)     independent given the class; NaN = missing, left out cell by cell

With z = log x the density of x is that of z divided by x. The formulas are those of the normal–inverse-gamma for z,
with −Σ log x = −n z̄ in the evidence. See Murphy (2007), Conjugate Bayesian analysis of the Gaussian distribution, §6,
for z.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..base import n_rows, observed
from ..core.arrays import Array, Float, Real
from ..core.pytrees import pytree
from ..core.special import log_normal, log_student_t, namespace
from ..core.supports import AMOUNT, COUNT, REAL, Cells, Field, declare
from ..independent import AbstractIndependent, Cell, downdate
from ..normal_inverse_gamma import AbstractNormalInverseGamma, log_normal_mean, log_normal_variance
from ..statistics import Moments


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
class LogNormal(AbstractNormalInverseGamma, AbstractIndependent[Moments]):
    """Normal–inverse-gamma density of each (μ_cj, σ²_cj) of log x, as a prior or a posterior.

    Fields
    ------
    m, kappa : (c, d)   centre of the mean of log x, and pseudo-rows behind it, positive
    a, b : (c, d)       shape (half the pseudo-rows) and scale of the variance of log x, positive
    """

    m: Float[Array, "c d"]
    kappa: Float[Array, "c d"]
    a: Float[Array, "c d"]
    b: Float[Array, "c d"]

    fields_ = declare(
        m=Field(REAL, ("class", "feature")),
        kappa=Field(COUNT, ("class", "feature")),
        a=Field(COUNT, ("class", "feature")),
        b=Field(AMOUNT, ("class", "feature"), per="a"),
    )
    cells_ = Cells("positive")
    flat_ = declare(kappa=0.0, a=-1.5, b=0.0)
    monoid = LogMoments

    def statistic(self, x: Array) -> Array:
        """log x."""
        return namespace(x).log(x)

    def updated(self, stats: Moments | Cell, m: Array, kappa: Array, a: Array, b: Array) -> tuple[Array, ...]:
        """κ + n, m + n(z̄ − m)/(κ + n), a + n/2, b + ½ ss + ½ κ n (z̄ − m)²/(κ + n). Murphy (2007), (85)–(89)."""
        share = stats.n / downdate(kappa, -stats.n)
        growth = 0.5 * (stats.ss + kappa * share * (stats.mean - m) ** 2)
        return m + share * (stats.mean - m), kappa + stats.n, a + stats.n / 2, b + growth

    def cell_predictive(self, x: Array, m: Array, kappa: Array, a: Array, b: Array) -> Array:
        """log t(z; 2a, m, b(κ+1)/(aκ)) − z, z = log x. Murphy (2007), (100)."""
        z = self.statistic(x)
        return log_student_t(z, 2 * a, m, namespace(a).sqrt(b / a * (1 + 1 / kappa))) - z

    def cell_likelihood(self, x: Array, mu: Array, variance: Array) -> Array:
        """log Normal(z; μ, σ²) − z."""
        return log_normal(self.statistic(x), mu, namespace(variance).sqrt(variance)) - self.statistic(x)

    def cell_moments(self, x: Array, m: Array, kappa: Array, a: Array, b: Array) -> tuple[Array, Array]:
        """½(ψ(a) − log b − log 2π − au − 1/κ) − z and ¼(ψ₁(a) + au² − 2u + 2/κ² + 4au/κ), u = (z − m)²/b."""
        cell = self.statistic(x), m, kappa, a, b
        return log_normal_mean(*cell) - cell[0], log_normal_variance(*cell)

    def sample_predictive(self, rng: np.random.Generator, y: np.ndarray, **given: Any) -> np.ndarray:
        """log x_ij = m + t √(b(κ+1)/(aκ)), t with 2a degrees of freedom."""
        return np.exp(self.m[y] + np.sqrt(self.b / self.a * (1 + 1 / self.kappa))[y] * rng.standard_t(2 * self.a[y]))

    def model(self, x: Real[Array, "*c n d"] | None, y: Array) -> None:
        """The same model in NumPyro, with all plates."""
        import numpyro
        import numpyro.distributions as dist

        c, d = self.m.shape
        with numpyro.plate("class", c, dim=-2), numpyro.plate("feature", d, dim=-1):
            variance = numpyro.sample("variance", dist.InverseGamma(self.a, self.b))
            mu = numpyro.sample("mu", dist.Normal(self.m, (variance / self.kappa) ** 0.5))
        seen, x = observed(x, fill=1.0)
        with numpyro.plate("row", n_rows(x, y), dim=-1):
            numpyro.sample("x", dist.LogNormal(mu[y], variance[y] ** 0.5).mask(seen).to_event(1), obs=x)
