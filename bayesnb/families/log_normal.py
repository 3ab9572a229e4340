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
from ..core.arrays import Array, Float, Real, Theta
from ..core.pytrees import pytree
from ..core.random import Key, inverse_gamma, normal, split
from ..core.special import LOG_2PI, digamma, gammaln, log_normal, log_rising, log_student_t, namespace, square, trigamma
from ..core.supports import AMOUNT, COUNT, REAL, Cells, Field, declare
from ..independent import AbstractIndependent, downdate
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
class LogNormal(AbstractIndependent):
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
    parameters = ("mu", "variance")

    def statistic(self, x: Array) -> Array:
        """log x."""
        return namespace(x).log(x)

    def updated(self, stats: Any, m: Array, kappa: Array, a: Array, b: Array) -> tuple[Array, ...]:
        """κ + n, m + n(z̄ − m)/(κ + n), a + n/2, b + ½ ss + ½ κ n (z̄ − m)²/(κ + n). Murphy (2007), (85)–(89)."""
        share = stats.n / downdate(kappa, -stats.n)
        growth = 0.5 * (stats.ss + kappa * share * (stats.mean - m) ** 2)
        return m + share * (stats.mean - m), kappa + stats.n, a + stats.n / 2, b + growth

    def log_normalizer(self) -> Float[Array, "c d"]:
        """log Γ(a) − a log b + ½ log(2π/κ)."""
        log = namespace(self.a).log
        return gammaln(self.a) - self.a * log(self.b) + 0.5 * (LOG_2PI - log(self.kappa))

    def log_marginal(self, stats: LogMoments) -> Float[Array, "c d"]:
        """log Γ(a+n/2)/Γ(a) − a log(bₙ/b) − ½ n log(2πbₙ) + ½ log κ/κₙ − Σ_i log x_i. Murphy (2007), (95)."""
        xp, n, delta = namespace(self.a, stats.n), stats.n, stats.mean - self.m
        growth = 0.5 * (stats.ss + self.kappa * n / (self.kappa + n) * delta * delta)
        gamma = log_rising(self.a, n / 2) - self.a * xp.log1p(growth / self.b)
        return gamma - 0.5 * n * xp.log(self.b + growth) - 0.5 * xp.log1p(n / self.kappa) + stats.log_h

    def log_prob(self, theta: Theta) -> Float[Array, "*s c d"]:
        """log Normal(μ; m, σ²/κ) + log InverseGamma(σ²; a, b)."""
        mu, variance = theta["mu"], theta["variance"]
        energy = (self.b + 0.5 * self.kappa * (mu - self.m) ** 2) / variance
        return -(self.a + 1.5) * namespace(variance).log(variance) - energy - self.log_normalizer()

    def cell_predictive(self, x: Array, m: Array, kappa: Array, a: Array, b: Array) -> Array:
        """log t(z; 2a, m, b(κ+1)/(aκ)) − z, z = log x. Murphy (2007), (100)."""
        z = self.statistic(x)
        return log_student_t(z, 2 * a, m, namespace(a).sqrt(b / a * (1 + 1 / kappa))) - z

    def cell_likelihood(self, x: Array, mu: Array, variance: Array) -> Array:
        """log Normal(z; μ, σ²) − z."""
        return log_normal(self.statistic(x), mu, namespace(variance).sqrt(variance)) - self.statistic(x)

    def cell_moments(self, x: Array, m: Array, kappa: Array, a: Array, b: Array) -> tuple[Array, Array]:
        """½(ψ(a) − log b − log 2π − au − 1/κ) − z and ¼(ψ₁(a) + au² − 2u + 2/κ² + 4au/κ), u = (z − m)²/b."""
        z, xp = self.statistic(x), namespace(b)
        u = square((z - m) / xp.sqrt(b))
        mean = 0.5 * (digamma(a) - xp.log(b) - LOG_2PI - 1 / kappa - a * u) - z
        return mean, 0.25 * (trigamma(a) + a * square(u) - 2 * u + 2 / kappa**2 + 4 * a * u / kappa)

    def sample(self, key: Key, shape: tuple[int, ...] = ()) -> Theta:
        """σ² = b / G(a), then μ = m + z √(σ²/κ)."""
        first, second = split(key, 2)
        variance = inverse_gamma(first, self.a, self.b, shape)
        step = normal(second, variance.shape) * namespace(variance).sqrt(variance / self.kappa)
        return {"mu": self.m + step, "variance": variance}

    def mean(self) -> Theta:
        """m and b/(a − 1); the variance has a mean only for a > 1, otherwise this is its mode b/(a + 1)."""
        return {"mu": self.m, "variance": self.b / namespace(self.a).where(self.a > 1, self.a - 1, self.a + 1)}

    def mode(self) -> Theta:
        """m and b/(a + 3/2), the joint mode."""
        return {"mu": self.m, "variance": self.b / (self.a + 1.5)}

    def mle(self, stats: LogMoments) -> Theta:
        """z̄ and ss/n."""
        xp, found, mean = namespace(stats.n), stats.n > 0, self.mean()
        spread = xp.maximum(stats.ss / xp.where(found, stats.n, 1), xp.finfo(stats.ss.dtype).tiny)
        return {"mu": xp.where(found, stats.mean, mean["mu"]), "variance": xp.where(found, spread, mean["variance"])}

    def marginals(self) -> dict[str, Any]:
        """Student t(2a, m, b/(aκ)) for `mu`, InverseGamma(a, b) for `variance`."""
        from scipy import stats

        mu = stats.t(2 * self.a, self.m, np.sqrt(self.b / (self.a * self.kappa)))
        return {"mu": mu, "variance": stats.invgamma(self.a, scale=self.b)}

    def sample_predictive(self, rng: np.random.Generator, y: np.ndarray, **given: Any) -> np.ndarray:
        """log x_ij = m + t √(b(κ+1)/(aκ)), t with 2a degrees of freedom."""
        return np.exp(self.m[y] + np.sqrt(self.b / self.a * (1 + 1 / self.kappa))[y] * rng.standard_t(2 * self.a[y]))

    def model(self, x: Real[Array, "*c n d"] | None, y: Any) -> None:
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
