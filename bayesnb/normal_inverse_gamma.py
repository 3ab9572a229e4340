"""Normal–inverse-gamma: what the models of a mean and a variance have in common.

    σ²_j ~ InverseGamma(a_j, scale b_j)
    μ_j | σ²_j ~ Normal(m_j, σ²_j / κ_j)     mean and variance of feature j

The pages of the Gaussian, the pooled Gaussian and the log-normal model add the likelihood. Murphy (2007), Conjugate
Bayesian analysis of the Gaussian distribution, §6 (with α, β for a, b).
"""

from typing import Any

import numpy as np

from .base import AbstractConjugate
from .core.arrays import Array, Float, Real, Sparse, Theta
from .core.random import Key, inverse_gamma, normal, split
from .core.special import LOG_2PI, digamma, gammaln, log_rising, log_student_t, namespace, square, trigamma
from .statistics import Moments
from .sums.gaussian import log_student_sum
from .sums.rows import sum_over_features


class AbstractNormalInverseGamma(AbstractConjugate[Moments]):
    """Normal–inverse-gamma density of means and variances, as a prior or a posterior.

    Fields
    ------
    m : (c, d)       centre of the mean, unit of the feature
    kappa : (c, d)   pseudo-rows behind the mean, positive
    a : (c, d)       shape of the variance: half the pseudo-rows behind it, positive; (d,) where the classes share it
    b : (c, d)       scale of the variance, unit of the feature squared, positive; likewise
    """

    m: Float[Array, "c d"]
    kappa: Float[Array, "c d"]
    a: Float[Array, "*c d"]
    b: Float[Array, "*c d"]

    marks_strangers = separable = True
    parameters = ("mu", "variance")

    def _growth(self, stats: Moments) -> Float[Array, "*c d"]:
        """½ ss + ½ κ n (x̄ − m)²/(κ + n), what data add to b; bₙ − b would lose it beside a large b."""
        delta = stats.mean - self.m
        return 0.5 * (stats.ss + self.kappa * stats.n / (self.kappa + stats.n) * delta * delta)

    def log_normalizer(self) -> Float[Array, "*c d"]:
        """log Γ(a) − a log b + ½ log(2π/κ)."""
        xp = namespace(self.a)
        return gammaln(self.a) - self.a * xp.log(self.b) + 0.5 * (LOG_2PI - xp.log(self.kappa))

    def log_marginal(self, stats: Moments) -> Float[Array, "*c d"]:
        """log Γ(a+n/2)/Γ(a) − a log(bₙ/b) − ½ n log(2πbₙ) + ½ log κ/κₙ; for cells log x also −Σ_i log x_i.

        Murphy (2007), (95).
        """
        xp = namespace(self.a, stats.n)
        growth = self._growth(stats)
        gamma = log_rising(self.a, stats.n / 2) - self.a * xp.log1p(growth / self.b)
        return gamma - 0.5 * stats.n * xp.log(self.b + growth) - 0.5 * xp.log1p(stats.n / self.kappa) + stats.log_h

    def log_prob(self, theta: Theta) -> Float[Array, "..."]:
        """log Normal(μ; m, σ²/κ) + log InverseGamma(σ²; a, b)."""
        variance = theta["variance"]
        xp = namespace(variance)
        energy = (self.b + 0.5 * self.kappa * xp.square(theta["mu"] - self.m)) / variance
        return -(self.a + 1.5) * xp.log(variance) - energy - self.log_normalizer()

    def sample(self, key: Key, shape: tuple[int, ...] = ()) -> Theta:
        """σ² = b / G(a), then μ = m + z √(σ²/κ)."""
        first, second = split(key, 2)
        variance = inverse_gamma(first, self.a, self.b, shape)
        z = normal(second, (*shape, *self.m.shape))
        return {"mu": self.m + z * namespace(variance).sqrt(variance / self.kappa), "variance": variance}

    def mean(self) -> Theta:
        """m and b/(a − 1); the variance has a mean only for a > 1, otherwise this is its mode b/(a + 1)."""
        xp = namespace(self.a)
        return {"mu": self.m, "variance": self.b / xp.where(self.a > 1, self.a - 1, self.a + 1)}

    def mode(self) -> Theta:
        """m and b/(a + 3/2), the joint mode."""
        return {"mu": self.m, "variance": self.b / (self.a + 1.5)}

    def mle(self, stats: Moments) -> Theta:
        """Mean and variance of the cells, x̄ and ss/n."""
        return self._point(stats, stats.n, stats.ss)

    def _point(self, stats: Moments, n: Array, ss: Array) -> Theta:
        """x̄ and ss/n, of weights and squares that belong to a variance; the means of the density without data."""
        xp, mean = namespace(stats.n), self.mean()
        spread = xp.maximum(ss / xp.where(n > 0, n, 1), xp.finfo(ss.dtype).tiny)
        return {
            "mu": xp.where(stats.n > 0, stats.mean, mean["mu"]),
            "variance": xp.where(n > 0, spread, mean["variance"]),
        }

    def marginals(self) -> dict[str, Any]:
        """Student t(2a, m, b/(aκ)) for `mu`, InverseGamma(a, b) for `variance`."""
        from scipy import stats

        df = np.broadcast_to(2 * self.a, self.m.shape)
        scale = np.sqrt(self.b / (self.a * self.kappa))
        return {"mu": stats.t(df, self.m, scale), "variance": stats.invgamma(self.a, scale=self.b)}


class AbstractNormal(AbstractNormalInverseGamma):
    """The density above, learnt from cells x ~ Normal(μ, σ²)."""

    kept_types = frozenset({"float32", "int64"})

    def suffstats(self, x: Real[Array, "n d"] | Sparse, r: Float[Array, "n c"] | Sparse) -> Moments:
        """The weight, mean and centred sum of squares of the observed cells."""
        return Moments.of(x, r)

    def log_predictive(self, x: Real[Array, "n d"] | Sparse) -> Float[Array, "n c"]:
        """Σ_j log t(x_j; 2a, m, b(κ+1)/(aκ)). Murphy (2007), (100)."""
        return log_student_sum(x, 2 * self.a, self.m, self._scale())

    def _scale(self) -> Float[Array, "c d"]:
        """√(b(κ+1)/(aκ)); b/(aκ) itself could overflow."""
        xp = namespace(self.a)
        return xp.sqrt(self.b) * xp.sqrt((1 + 1 / self.kappa) / self.a)

    def log_cells(self, x: Float[Array, " d"]) -> Float[Array, "c d"]:
        """log t(x_j; 2a, m, b(κ+1)/(aκ)) of each cell of one row, 0 if it is missing."""
        xp = namespace(x, self.a)
        scale = xp.sqrt(self.b / self.a * (1 + 1 / self.kappa))
        return xp.where(xp.isnan(x), 0, log_student_t(x, 2 * self.a, self.m, scale))

    def log_moments(self, x: Real[Array, "n d"] | Sparse) -> tuple[Float[Array, "n c"], Float[Array, "n c"]]:
        """Mean and variance of the log likelihood over θ, summed over j, with δ = x − m.

        ½(ψ(a) − log b − log 2π) − ½(aδ²/b + 1/κ)
        ¼(ψ₁(a) + aδ⁴/b² − 2δ²/b + 2/κ² + 4aδ²/(bκ))
        """
        fields = self.m, self.kappa, self.a, self.b
        return sum_over_features(log_normal_mean, x, *fields), sum_over_features(log_normal_variance, x, *fields)


def log_normal_mean(x: Array, m: Array, kappa: Array, a: Array, b: Array) -> Array:
    """Mean over θ of log Normal(x; μ, σ²): ½(ψ(a) − log b − log 2π − 1/κ − au), u = (x − m)²/b."""
    xp = namespace(b)
    return 0.5 * (digamma(a) - xp.log(b) - LOG_2PI - 1 / kappa - a * square((x - m) / xp.sqrt(b)))


def log_normal_variance(x: Array, m: Array, kappa: Array, a: Array, b: Array) -> Array:
    """Variance over θ of log Normal(x; μ, σ²): ¼(ψ₁(a) + au² − 2u + 2/κ² + 4au/κ), u = (x − m)²/b."""
    u = square((x - m) / namespace(b).sqrt(b))
    return 0.25 * (trigamma(a) + a * square(u) - 2 * u + 2 / kappa**2 + 4 * a * u / kappa)
