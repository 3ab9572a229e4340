"""Normal–inverse-Wishart: what the models of a mean and a covariance matrix have in common.

    Σ ~ InverseWishart(ν, S)
    μ_c | Σ ~ Normal(m_c, Σ / κ_c)     of every class, or Σ shared by all classes

The pages of the full and the tied Gaussian say which, and add the likelihood. Murphy (2007), Conjugate Bayesian
analysis of the Gaussian distribution, §9.
"""

from typing import Any, Self

import numpy as np

from .base import AbstractConjugate
from .core.arrays import Array, Float, Int, Real, Sparse, Theta, Value
from .core.special import LOG_2PI, digamma, namespace, square, trigamma
from .core.wishart import (
    LOG_PI,
    InverseWishartMarginal,
    distances,
    half_degrees,
    log_det_of_factor,
    log_multivariate_t,
    log_prefixes,
)
from .statistics import Scatter


class AbstractNormalInverseWishart(AbstractConjugate[Scatter]):
    """Normal–inverse-Wishart density of means and covariances, as a prior or a posterior; rows are complete.

    Fields
    ------
    m : (c, d)       centre of the mean, unit of the feature
    kappa : (c,)     pseudo-rows behind the mean, positive
    nu : (c,)        degrees of freedom: pseudo-rows behind the covariance, above d − 1; (1,) where classes share it
    S : (c, d, d)    scale of the covariance, positive definite; (d, d) where classes share it
    """

    m: Float[Array, "c d"]
    kappa: Float[Array, " c"]
    nu: Float[Array, " k"]
    S: Float[Array, "*c d d"]

    marks_strangers = True
    parameters = ("mu", "covariance")
    missing_value = None

    def _by_matrix(self, value: Value) -> Array:
        """One number for each covariance, with the axes of S."""
        return namespace(value).reshape(value, (*self.S.shape[:-2], 1, 1))

    def _matrices(self, sigma: Float[Array, "..."]) -> Float[Array, "..."]:
        """Covariances (…, c, d, d) of the classes, from those of the site."""
        return sigma

    def suffstats(self, x: Real[Array, "n d"], r: Float[Array, "n c"] | Sparse) -> Scatter:
        """The weight, mean and centred cross products of the rows."""
        return Scatter.of(x, r)

    def select(self, columns: Int[np.ndarray, " k"]) -> Self:
        """Σ_JJ ~ InverseWishart(ν − (d − k), S_JJ): the marginal of k of the features."""
        fewer = self.m.shape[1] - len(columns)
        some = self.S[..., columns, :][..., columns]
        return type(self)(self.m[:, columns], self.kappa, self.nu - fewer, some)  # type: ignore[call-arg]

    def log_predictive(self, x: Real[Array, "n d"]) -> Float[Array, "n c"]:
        """log t(x; ν−d+1, m, S(κ+1)/(κ(ν−d+1))), multivariate. Murphy (2007), (258)."""
        return log_multivariate_t(x, self.nu - self.m.shape[1] + 1, self.m, self._factor())

    def _factor(self) -> Float[Array, "c d d"]:
        """Cholesky factor of S(κ+1)/κ of each class."""
        xp = namespace(self.S, self.kappa)
        return xp.linalg.cholesky(self.S) * xp.sqrt(1 + 1 / self.kappa)[:, None, None]

    def log_likelihood(self, theta: Theta, x: Real[Array, "n d"]) -> Float[Array, "*s n c"]:
        """−½ [d log 2π + log |Σ| + (x − μ)ᵀΣ⁻¹(x − μ)]."""
        mu, xp = theta["mu"], namespace(theta["covariance"])
        factor = self._matrices(xp.linalg.cholesky(theta["covariance"]))
        level = self.m.shape[1] * LOG_2PI + log_det_of_factor(factor)
        factors = xp.broadcast_to(factor, (*mu.shape, mu.shape[-1]))
        return -0.5 * (level[..., None, :] + square(distances(x, mu, factors)))

    def log_prefixes(
        self, x: Real[Array, "n d"], order: Int[np.ndarray, " d"], theta: Theta | None = None
    ) -> Float[Array, "*s n d c"]:
        """log t or log Normal of the first k features in an order, k = 1 … d, from one Cholesky factor of all."""
        if theta is not None:
            return log_prefixes(x, order, theta["mu"], self._matrices(theta["covariance"]))
        scale = self.S * (1 + 1 / self.kappa)[:, None, None]
        df = np.broadcast_to(self.nu - self.m.shape[1] + 1, self.kappa.shape)
        return log_prefixes(x, order, self.m, scale, df)

    def log_moments(self, x: Real[Array, "n d"]) -> tuple[Float[Array, "n c"], Float[Array, "n c"]]:
        """Mean and variance of the log likelihood over θ, with τ = (x − m)ᵀS⁻¹(x − m) and sums over i = 0 … d−1.

            ½ [Σψ((ν−i)/2) − log |S| − d log π − d/κ − ντ]
            ¼ [Σψ₁((ν−i)/2) − 4τ + 2d/κ² + 4ντ/κ + 2ντ²]

        Here log p = ½ (log |Λ| − Q) up to a constant, with Λ = Σ⁻¹. Given Λ, κQ is a noncentral χ² with d degrees of
        freedom and noncentrality κ(x−m)ᵀΛ(x−m). The noncentrality itself is κτ times a χ² with ν. log |Λ| has variance
        Σψ₁ and covariance 2τ with Q. Where the classes share Σ they are correlated in addition.
        """
        d = self.m.shape[1]
        xp = namespace(x, self.m)
        factor = xp.linalg.cholesky(self.S)
        tau = square(distances(x, self.m, xp.broadcast_to(factor, (*self.m.shape, d))))
        half = half_degrees(self.nu, d)
        level = digamma(half).sum(-1) - log_det_of_factor(factor) - d * LOG_PI - d / self.kappa
        spread = trigamma(half).sum(-1) + 2 * d / self.kappa**2
        variance = spread - 4 * tau + 4 * self.nu * tau / self.kappa + 2 * self.nu * square(tau)
        return 0.5 * (level - self.nu * tau), 0.25 * variance

    def mean(self) -> Theta:
        """m and S/(ν − d − 1); the covariance has a mean only for ν > d + 1, otherwise this is S/(ν + d + 1)."""
        xp, d = namespace(self.nu), self.m.shape[1]
        rows = xp.where(self.nu > d + 1, self.nu - d - 1, self.nu + d + 1)
        return {"mu": self.m, "covariance": self.S / self._by_matrix(rows)}

    def _point(self, stats: Scatter, n: Value, ss: Array) -> Theta:
        """x̄ and ss/n, of weights and products that belong to a covariance; the means of the density without data."""
        xp, mean, n = namespace(stats.n), self.mean(), self._by_matrix(n)
        return {
            "mu": xp.where((stats.n > 0)[:, None], stats.mean, mean["mu"]),
            "covariance": xp.where(n > 0, ss / xp.where(n > 0, n, 1), mean["covariance"]),
        }

    def marginals(self) -> dict[str, Any]:
        """Student t(ν−d+1, m, S_jj/(κ(ν−d+1))) for each component of `mu`, InverseWishart(ν, S) for `covariance`."""
        from scipy import stats

        df = np.broadcast_to((self.nu - self.m.shape[1] + 1)[:, None], self.m.shape)
        scale = np.sqrt(np.diagonal(self.S, axis1=-2, axis2=-1) / (self.kappa[:, None] * df))
        nu = np.reshape(self.nu, self.S.shape[:-2])
        return {"mu": stats.t(df, self.m, scale), "covariance": InverseWishartMarginal(nu, self.S)}
