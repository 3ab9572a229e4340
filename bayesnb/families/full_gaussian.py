"""Normal–inverse-Wishart: real features with a full covariance for each class; a quadratic classifier.

    Σ_c ~ InverseWishart(ν_c, S_c)
    μ_c | Σ_c ~ Normal(m_c, Σ_c / κ_c)
    x_i | y_i = c ~ Normal(μ_c, Σ_c)           rows are complete: features depend on each other, no cell may be missing

This is quadratic discriminant analysis with the uncertainty of its parameters. It is not naive: d features form one
block. With both parameters integrated out a row is multivariate Student t. Murphy (2007), Conjugate Bayesian analysis
of the Gaussian distribution, §9; Gelman et al. (2013), Bayesian Data Analysis, 3rd ed., §3.6.
"""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from ..base import as_jax, n_rows
from ..core.arrays import Array, Float, Real, Sparse, Theta, is_sparse
from ..core.pytrees import pytree
from ..core.random import Key, normal, split
from ..core.special import LOG_2PI, log1p_square, log_rising, namespace, square, tetragamma
from ..core.supports import COUNT, DEGREES, POSITIVE_DEFINITE, REAL, Field, declare
from ..core.wishart import (
    LOG_PI,
    distances,
    half_degrees,
    inverse_wishart,
    inverse_wishart_factors,
    log_det,
    log_det_gain,
    log_det_of_factor,
    log_multigamma,
    log_multigamma_ratio,
)
from ..normal_inverse_wishart import AbstractNormalInverseWishart
from ..statistics import Scatter
from ..sums.rows import downdate, shared_weight


@pytree
@dataclass(frozen=True)
class NormalInverseWishart(AbstractNormalInverseWishart):
    """Normal–inverse-Wishart density of each (μ_c, Σ_c), as a prior or a posterior.

    Fields
    ------
    m : (c, d)       centre of the mean, unit of the feature
    kappa : (c,)     pseudo-rows behind the mean, positive
    nu : (c,)        degrees of freedom: pseudo-rows behind the covariance, above d − 1
    S : (c, d, d)    scale of the covariance, positive definite, product of the units of two features
    """

    m: Float[Array, "c d"]
    kappa: Float[Array, " c"]
    nu: Float[Array, " c"]
    S: Float[Array, "c d d"]

    fields_ = declare(
        m=Field(REAL, ("class", "feature")),
        kappa=Field(COUNT, ("class",)),
        nu=Field(DEGREES, ("class",)),
        S=Field(POSITIVE_DEFINITE, ("class", "feature", "feature")),
    )

    def flat_fields(self) -> dict[str, float]:
        """Where the density is flat, in the basis of the sites."""
        return {"kappa": 0.0, "nu": -(self.shape[1] + 2.0), "S": 0.0}

    def update(self, stats: Scatter) -> Self:
        """κ + n, m + n(x̄ − m)/(κ + n), ν + n, S + ss + κn/(κ+n) (x̄ − m)(x̄ − m)ᵀ. Murphy (2007), (251)–(255)."""
        share = (stats.n / (self.kappa + stats.n))[:, None]
        m = self.m + share * (stats.mean - self.m)
        return type(self)(m, self.kappa + stats.n, self.nu + stats.n, self.S + self._growth(stats))

    def _growth(self, stats: Scatter) -> Float[Array, "c d d"]:
        """ss + κn/(κ+n) (x̄ − m)(x̄ − m)ᵀ, what data add to S."""
        delta = stats.mean - self.m
        weight = self.kappa * stats.n / (self.kappa + stats.n)
        return stats.ss + weight[:, None, None] * delta[:, :, None] * delta[:, None, :]

    def log_normalizer(self) -> Float[Array, " c"]:
        """½νd log 2 + log Γ_d(ν/2) − ½ν log |S| + ½d log(2π/κ)."""
        d = self.m.shape[1]
        shape = 0.5 * self.nu * (d * np.log(2) - log_det(self.S)) + log_multigamma(self.nu, d)
        return shape + 0.5 * d * (LOG_2PI - namespace(self.kappa).log(self.kappa))

    def log_marginal(self, stats: Scatter) -> Float[Array, " c"]:
        """log Γ_d(νₙ/2)/Γ_d(ν/2) − ½ν log |Sₙ|/|S| − ½n log |Sₙ| + ½d log κ/κₙ − ½nd log π. Murphy (2007), (266)."""
        d = self.m.shape[1]
        gain = log_det_gain(self.S, self._growth(stats))
        means = 0.5 * d * namespace(self.kappa, stats.n).log1p(stats.n / self.kappa)
        spread = 0.5 * (self.nu + stats.n) * gain + 0.5 * stats.n * (log_det(self.S) + d * LOG_PI)
        return log_multigamma_ratio(self.nu, stats.n, d) - spread - means

    def log_prob(self, theta: Theta) -> Float[Array, "*s c"]:
        """log Normal(μ; m, Σ/κ) + log InverseWishart(Σ; ν, S)."""
        sigma, delta = theta["covariance"], theta["mu"] - self.m
        xp = namespace(sigma, delta)
        inner = self.S + self.kappa[:, None, None] * delta[..., :, None] * delta[..., None, :]
        energy = xp.trace(xp.linalg.solve(sigma, inner), axis1=-2, axis2=-1)
        return -0.5 * ((self.nu + self.m.shape[1] + 2) * log_det(sigma) + energy) - self.log_normalizer()

    def log_own(self, x: Float[Array, "c d"]) -> Float[Array, " c"]:
        """log t of one row for each class, under that class: `log_predictive` if each class has its own row."""
        xp, d = namespace(x, self.m), self.m.shape[1]
        factor, delta = self._factor(), x - self.m
        size = xp.maximum(abs(delta).max(-1, keepdims=True), 1)
        white = xp.linalg.solve(factor, (delta / size)[..., None])[..., 0]
        df = self.nu - d + 1
        top = log_rising(0.5 * df, 0.5 * d) - 0.5 * (d * LOG_PI + log_det_of_factor(factor))
        return top - 0.5 * (df + d) * log1p_square(size[:, 0] * xp.sqrt(xp.square(white).sum(-1)))

    def log_loo(self, x: Real[Array, "n d"], r: Float[Array, "n c"] | Sparse) -> Float[Array, "n c"]:
        """log_predictive without row i, which is removed from the classes in which it has weight w; δ = x − m.

            κ' = κ − w,   m' = m − wδ/κ',   ν' = ν − w,   S' = S − gδδᵀ with g = wκ/κ'

        With τ = δᵀS⁻¹δ the determinant lemma gives |S'| = |S| (1 − gτ), Sherman & Morrison δᵀS'⁻¹δ = τ/(1 − gτ).
        """
        d = self.m.shape[1]
        xp = namespace(x, r, self.m)
        w, factor = r.toarray() if is_sparse(r) else r, xp.linalg.cholesky(self.S)
        tau, level = distances(x, self.m, factor), log_det_of_factor(factor)

        def left_out(tau: Array, w: Array, kappa: Array, nu: Array, level: Array) -> Array:
            left, nu = downdate(kappa, w), nu - w
            shrunk = downdate(xp.ones_like(tau), w * kappa / left * square(tau))
            top = log_rising(0.5 * (nu - d + 1), 0.5 * d) - 0.5 * d * (LOG_PI + xp.log1p(1 / left))
            tail = log1p_square(kappa / left * tau / xp.sqrt(shrunk * (1 + 1 / left)))
            return top - 0.5 * (level + xp.log(shrunk)) - 0.5 * (nu + 1) * tail

        fields = self.kappa, self.nu, level
        if xp is not np:
            return left_out(tau, w, *fields)
        table = left_out(tau, np.zeros((1, 1)), *fields)
        rows, k = np.nonzero(w)
        table[rows, k] = left_out(
            tau[rows, k], shared_weight(w[rows, k][:, None])[:, 0], *(field[k] for field in fields)
        )
        return table

    def quadratic_form(self, theta: Theta) -> tuple[Float[Array, "c d d"], Float[Array, "d c"], Float[Array, " c"]]:
        """−½Σ⁻¹, Σ⁻¹μ and −½(μᵀΣ⁻¹μ + log |Σ|): log p(x | θ) = xᵀAx + w·x + b, up to −½d log 2π."""
        mu, sigma = theta["mu"], theta["covariance"]
        precision = namespace(sigma).linalg.inv(sigma)
        weights = (precision @ mu[..., None])[..., 0]
        return -0.5 * precision, weights.T, -0.5 * ((weights * mu).sum(-1) + log_det(sigma))

    def log_third_cumulant(self, x: Real[Array, "n d"]) -> Float[Array, "n c"]:
        """Third cumulant over θ of log p(x_i | θ_c), with τ = (x − m)ᵀS⁻¹(x − m) and a sum over i = 0 … d−1.

        ⅛Σψ₂((ν−i)/2) − d/κ³ + 3τ/κ + 3τ²/2 − ν (3τ/κ² + 3τ²/κ + τ³)

        It is the coefficient of t³/3! in log E p(x | θ)^t = log Γ_d((ν+t)/2)/Γ_d(ν/2) − ½d log(1+t/κ) − ½(ν+t) log(1+v)
        and terms linear in t, where v = τt/(1+t/κ).
        """
        d = self.m.shape[1]
        xp = namespace(x, self.m)
        distance = distances(x, self.m, xp.linalg.cholesky(self.S))
        tau = xp.square(xp.minimum(distance, 1e45 if self.m.dtype == np.float64 else 3e4))
        gain = tau * (3 / self.kappa + 1.5 * tau)
        loss = self.nu * tau * (3 / self.kappa**2 + tau * (3 / self.kappa + tau))
        return tetragamma(half_degrees(self.nu, d)).sum(-1) / 8 - d / self.kappa**3 + gain - loss

    def sample(self, key: Key, shape: tuple[int, ...] = ()) -> Theta:
        """Σ = BBᵀ by Bartlett's decomposition, then μ = m + Bz/√κ."""
        first, second = split(key, 2)
        b = inverse_wishart_factors(first, self.nu, self.S, shape)
        z = normal(second, (*shape, *self.m.shape))
        mu = self.m + (b @ z[..., None])[..., 0] / namespace(b).sqrt(self.kappa)[:, None]
        return {"mu": mu, "covariance": b @ b.swapaxes(-1, -2)}

    def mode(self) -> Theta:
        """m and S/(ν + d + 2), the joint mode."""
        return {"mu": self.m, "covariance": self.S / (self.nu + self.m.shape[1] + 2)[:, None, None]}

    def mle(self, stats: Scatter) -> Theta:
        """x̄ and ss/n; singular if a class has too few rows."""
        return self._point(stats, stats.n, stats.ss)

    def sample_predictive(self, rng: np.random.Generator, y: np.ndarray, **given: Any) -> np.ndarray:
        """x_i = m + Lz √((1 + 1/κ)/χ²), S = LLᵀ, χ² with ν − d + 1 degrees of freedom."""
        d = self.m.shape[1]
        factor = np.linalg.cholesky(self.S)
        z = (factor[y] @ rng.standard_normal((len(y), d, 1)))[..., 0]
        return self.m[y] + z * np.sqrt((1 + 1 / self.kappa[y]) / rng.chisquare(self.nu[y] - d + 1))[:, None]

    def model(self, x: Real[Array, "*c n d"] | None, y: Array) -> None:
        """The same model in NumPyro, with all plates."""
        import jax.numpy as jnp
        import numpyro
        import numpyro.distributions as dist

        with numpyro.plate("class", len(self.m), dim=-1):
            sigma = numpyro.sample("covariance", inverse_wishart(self.nu, self.S))
            mu = numpyro.sample("mu", dist.MultivariateNormal(self.m, sigma / self.kappa[:, None, None]))
        factor = jnp.linalg.cholesky(sigma)
        rows = numpyro.plate("row", n_rows(x, y), dim=-1)
        if x is None or jnp.ndim(y) != 1:  # rows to draw, or labels that are enumerated
            with rows:
                x = None if x is None else as_jax(x)
                numpyro.sample("x", dist.MultivariateNormal(mu[y], scale_tril=factor[y]), obs=x)
            return
        # every class looks at all rows and counts its own: c factors to solve with, not one a row
        own = jnp.arange(len(self.m))[:, None] == jnp.asarray(y)
        with numpyro.plate("component", len(self.m), dim=-2), rows:
            normal = dist.MultivariateNormal(mu[:, None], scale_tril=factor[:, None])
            numpyro.sample("x", normal.mask(own), obs=jnp.broadcast_to(as_jax(x), (*own.shape, x.shape[-1])))
