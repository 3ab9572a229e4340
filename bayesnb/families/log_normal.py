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

from ..core.arrays import Array, Float, Real, Theta
from ..normal import ConjugateNormal
from ..normals import growth
from ..sums.gaussian import log_normal_sum
from ._page import AMOUNT, COUNT, LOG_2PI, REAL, Cells, Field, Moments, declare, log1p, log_rising, namespace, pytree


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
class LogNormal(ConjugateNormal):
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
    monoid = LogMoments

    def prior(self, sample: Any, dist: Any) -> None:
        """σ² ~ InverseGamma(a, scale b), μ ~ Normal(m, σ²/κ)."""
        variance = sample("variance", dist.InverseGamma(self.a, self.b))
        sample("mu", dist.Normal(self.m, variance**0.5 / self.kappa**0.5))

    def likelihood(self, dist: Any, mu: Array, variance: Array) -> Any:
        """log x ~ Normal(μ, σ²)."""
        return dist.LogNormal(mu, variance**0.5)

    def statistic(self, x: Array) -> Array:
        """z = log x."""
        return namespace(x).log(x)

    def log_h(self, x: Array) -> Array:
        """−½ log 2π − log x."""
        return -0.5 * LOG_2PI - self.statistic(x)

    def added(self, s: Any, m: Array, kappa: Array, a: Array, b: Array) -> tuple[Any, ...]:
        """m + n(z̄ − m)/(κ + n), κ + n, a + n/2, b + ½ ss + ½ κ n (z̄ − m)²/(κ + n). Murphy (2007), (85)–(89)."""
        return m + s.n / (kappa + s.n) * (s.mean - m), kappa + s.n, a + s.n / 2, b + growth(s, m, kappa)

    def gain(self, s: Any, m: Array, kappa: Array, a: Array, b: Array) -> Any:
        """log Γ(a+n/2)/Γ(a) − (a+n/2) log(bₙ/b) − ½ n log b − ½ log(1 + n/κ). Murphy (2007), (95)."""
        spread = log1p(growth(s, m, kappa) / b) * (a + s.n * 0.5) + s.n * (0.5 * namespace(b).log(b))
        return log_rising(a, s.n * 0.5) - spread - 0.5 * log1p(s.n / kappa)

    def log_predictive(self, x: Real[Array, "n d"]) -> Float[Array, "n c"]:
        """Σ_j log t(z_j; 2a, m, b(κ+1)/(aκ)) − z_j."""
        if namespace(x, self.m) is not np:
            return super().log_predictive(x)
        return super().log_predictive(np.log(x)) - self._observed(self.statistic, x).sum(1)[:, None]

    def own_left_out(self, x: Array, at: np.ndarray, y: np.ndarray, w: np.ndarray) -> np.ndarray:
        """The same without the row."""
        if (w != 1).any():
            return super().own_left_out(x, at, y, w)
        return super().own_left_out(np.log(x), at, y, w) - self._observed(self.statistic, x).sum(1)[at]

    def log_likelihood(self, theta: Theta, x: Real[Array, "n d"]) -> Float[Array, "*s n c"]:
        """Σ_j log Normal(z; μ, σ²) − z."""
        table = log_normal_sum(namespace(x).log(x), theta["mu"], theta["variance"] ** 0.5)
        return table - self._observed(self.statistic, x).sum(1)[:, None]
