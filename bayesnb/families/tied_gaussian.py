"""Normal–inverse-Wishart with one covariance for all classes: a linear classifier.

    Σ ~ InverseWishart(ν, S)
    μ_c | Σ ~ Normal(m_c, Σ / κ_c)
    x_i | y_i = c ~ Normal(μ_c, Σ)             rows are complete: features depend on each other, no cell may be missing

This is linear discriminant analysis with the uncertainty of its parameters. It is not naive: d features form one block,
with one posterior of Σ for all classes. Each class mean has the update of Murphy (2007), Conjugate Bayesian analysis of
the Gaussian distribution, §9. The contributions to S and ν are added over the classes: Geisser (1964), JRSS B 26,
69–76.
"""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy import sparse

from ..base import AbstractConjugate, as_jax, n_rows
from ..core.arrays import Array, Float, Int, Real, Sparse, Theta
from ..core.exact import ExactSum, product_sums
from ..core.pytrees import pytree
from ..core.quadratics import TiedQuadratic
from ..core.random import Key, normal, split
from ..core.special import LOG_2PI, digamma, log_rising, namespace, square, trigamma
from ..core.supports import COUNT, DEGREES, POSITIVE_DEFINITE, REAL, Field, declare
from ..core.wishart import (
    LOG_PI,
    InverseWishartMarginal,
    distances,
    half_degrees,
    inverse_wishart,
    inverse_wishart_factors,
    log_det,
    log_det_gain,
    log_det_of_factor,
    log_multigamma,
    log_multigamma_ratio,
    log_multivariate_t,
    log_prefixes,
)
from ..statistics import Scatter
from ..sums.rows import downdate, shared_weight


@pytree
@dataclass(frozen=True)
class TiedNormalInverseWishart(AbstractConjugate):
    """Density of (μ_1 … μ_C, Σ), as a prior or a posterior.

    Fields
    ------
    m : (c, d)     centre of the mean, unit of the feature
    kappa : (c,)   pseudo-rows behind the mean, positive
    nu : (1,)      degrees of freedom: pseudo-rows behind the covariance, above d − 1
    S : (d, d)     scale of the covariance, positive definite, product of the units of two features
    """

    m: Float[Array, "c d"]
    kappa: Float[Array, " c"]
    nu: Float[Array, " 1"]
    S: Float[Array, "d d"]

    fields_ = declare(
        m=Field(REAL, ("class", "feature")),
        kappa=Field(COUNT, ("class",)),
        nu=Field(DEGREES, ("one",)),
        S=Field(POSITIVE_DEFINITE, ("feature", "feature")),
    )

    marks_strangers = True
    parameters = ("mu", "covariance")
    missing_value = None
    couples_classes = True

    def flat_fields(self) -> dict[str, float]:
        """Where the density is flat, in the basis of the sites."""
        return {"kappa": 0.0, "nu": -(sum(self.shape) + 1.0), "S": 0.0}

    def suffstats(self, x: Real[Array, "n d"], r: Float[Array, "n c"] | Sparse) -> Scatter:
        """The weight, mean and centred cross products of the rows."""
        return Scatter.of(x, r)

    def exact_sums(self, x: Real[Array, "n d"], r: Float[Array, "n c"] | Sparse, stats: Scatter) -> dict[str, ExactSum]:
        """Σ_i r_ic, Σ_i r_ic x_i and Σ_i r_ic x_i x_iᵀ."""
        return product_sums(x, r)

    def update(self, stats: Scatter) -> Self:
        """κ + n, m + n(x̄ − m)/(κ + n), ν + Σ_c n_c, S + Σ_c [ss + κn/(κ+n) (x̄ − m)(x̄ − m)ᵀ]."""
        share = (stats.n / (self.kappa + stats.n))[:, None]
        m = self.m + share * (stats.mean - self.m)
        return type(self)(m, self.kappa + stats.n, self.nu + stats.n.sum(), self.S + self._growth(stats))

    def _growth(self, stats: Scatter) -> Float[Array, "d d"]:
        """Σ_c [ss + κn/(κ+n) (x̄ − m)(x̄ − m)ᵀ], what data add to S."""
        delta = stats.mean - self.m
        weight = self.kappa * stats.n / (self.kappa + stats.n)
        return stats.ss.sum(0) + delta.T @ (weight[:, None] * delta)

    def select(self, columns: Int[np.ndarray, " k"]) -> Self:
        """Σ_JJ ~ InverseWishart(ν − (d − k), S_JJ): the marginal of k of the features."""
        fewer = self.m.shape[1] - len(columns)
        return type(self)(self.m[:, columns], self.kappa, self.nu - fewer, self.S[np.ix_(columns, columns)])

    def log_normalizer(self) -> Float[Array, " 1"]:
        """½νd log 2 + log Γ_d(ν/2) − ½ν log |S| + ½d Σ_c log(2π/κ_c)."""
        d = self.m.shape[1]
        shape = 0.5 * self.nu * (d * np.log(2) - log_det(self.S)) + log_multigamma(self.nu, d)
        return shape + 0.5 * d * (LOG_2PI - namespace(self.kappa).log(self.kappa)).sum()

    def log_marginal(self, stats: Scatter) -> Float[Array, " 1"]:
        """log Γ_d(νₙ/2)/Γ_d(ν/2) − ½ν log |Sₙ|/|S| − ½N log |Sₙ| + ½d Σ_c log κ/κₙ − ½Nd log π, N = Σ_c n_c."""
        d, n = self.m.shape[1], stats.n.sum()
        gain = log_det_gain(self.S, self._growth(stats))
        means = 0.5 * d * namespace(self.kappa, stats.n).log1p(stats.n / self.kappa).sum()
        spread = 0.5 * (self.nu + n) * gain + 0.5 * n * (log_det(self.S) + d * LOG_PI)
        return log_multigamma_ratio(self.nu, n + 0 * self.nu, d) - spread - means

    def log_prob(self, theta: Theta) -> Float[Array, "*s 1"]:
        """Σ_c log Normal(μ_c; m_c, Σ/κ_c) + log InverseWishart(Σ; ν, S)."""
        sigma, delta = theta["covariance"], theta["mu"] - self.m
        xp = namespace(sigma, delta)
        c, d = self.m.shape
        inner = self.S + delta.swapaxes(-1, -2) @ (self.kappa[:, None] * delta)
        energy = xp.trace(xp.linalg.solve(sigma, inner), axis1=-2, axis2=-1)[..., None]
        return -0.5 * ((self.nu + d + c + 1) * log_det(sigma)[..., None] + energy) - self.log_normalizer()

    def log_predictive(self, x: Real[Array, "n d"]) -> Float[Array, "n c"]:
        """log t(x; ν−d+1, m_c, S(κ_c+1)/(κ_c(ν−d+1))), multivariate. Geisser (1964)."""
        xp = namespace(self.S, self.kappa)
        factor = xp.linalg.cholesky(self.S) * xp.sqrt(1 + 1 / self.kappa)[:, None, None]
        return log_multivariate_t(x, self.nu - self.m.shape[1] + 1, self.m, factor)

    def log_loo(self, x: Real[Array, "n d"], r: Float[Array, "n c"] | Sparse) -> Float[Array, "n c"]:
        """log_predictive without row i: its weights w_c are removed from Σ and from each μ_c; δ_c = x − m_c.

            κ_c' = κ_c − w_c,   m_c' = m_c − w_c δ_c/κ_c',   ν' = ν − Σ_c w_c
            S' = S − Σ_c g_c δ_c δ_cᵀ,   g_c = w_c κ_c/κ_c'

        The classes are removed one after the other. T_kl = δ_kᵀS⁻¹δ_l changes by Sherman & Morrison, T + g T_·c T_c· /
        (1 − gT_cc). |S| changes by the determinant lemma, times 1 − gT_cc.
        """
        d = self.m.shape[1]
        xp = namespace(x, r, self.m)
        w = r.toarray() if sparse.issparse(r) else r
        left = downdate(self.kappa, w)
        factor = xp.linalg.cholesky(self.S)
        tau, shrunk = self._without(x, w, w * self.kappa / left, xp.linalg.inv(factor).T)
        nu = self.nu - shared_weight(w.sum(1, keepdims=True))
        tail = 0.5 * (nu + 1) * xp.log1p(tau * xp.square(self.kappa / left) / (1 + 1 / left))
        top = log_rising(0.5 * (nu - d + 1), 0.5 * d) - 0.5 * d * (LOG_PI + xp.log1p(1 / left))
        return top - 0.5 * (log_det_of_factor(factor) + xp.log(shrunk)[:, None]) - tail

    def _without(self, x: Array, w: Array, g: Array, whiten: Array) -> tuple[Float[Array, "n c"], Float[Array, " n"]]:
        """δ_kᵀS'⁻¹δ_k of each class, and |S'|/|S|."""
        c, xp = len(self.m), namespace(x, w, self.m)
        if xp is np and ((w != 0).sum(1) == 1).all():  # only products with the one vector that leaves
            y, z = (w != 0).argmax(1), np.empty(x.shape)
            tau, cross, rows = np.empty(w.shape), np.empty(w.shape), np.arange(len(x))
            for k, m in enumerate(self.m):
                z[y == k] = (x[y == k] - m) @ whiten
            for k, m in enumerate(self.m):
                other = (x - m) @ whiten
                tau[:, k], cross[:, k] = (np.einsum("ij,ij->i", other, one) for one in (other, z))
            kept = downdate(np.ones(len(x)), g[rows, y] * tau[rows, y])
            return tau + (g[rows, y] / kept)[:, None] * np.square(cross), kept
        z = (x[:, None] - self.m) @ whiten  # (n, c, d)
        table, shrunk = z @ z.swapaxes(-1, -2), xp.ones_like(z[:, 0, 0])
        for k in range(c):
            column = table[:, :, k]
            kept = downdate(xp.ones_like(shrunk), g[:, k] * column[:, k])
            table = table + (g[:, k] / kept)[:, None, None] * column[:, :, None] * column[:, None, :]
            shrunk = shrunk * kept
        return xp.diagonal(table, axis1=-2, axis2=-1), shrunk

    def log_likelihood(self, theta: Theta, x: Real[Array, "n d"]) -> Float[Array, "*s n c"]:
        """−½ [d log 2π + log |Σ| + (x − μ)ᵀΣ⁻¹(x − μ)]."""
        mu = theta["mu"]
        xp = namespace(theta["covariance"])
        factor = xp.linalg.cholesky(theta["covariance"])
        level = self.m.shape[1] * LOG_2PI + log_det_of_factor(factor)
        factors = xp.broadcast_to(factor[..., None, :, :], (*mu.shape, mu.shape[-1]))
        return -0.5 * (level[..., None, None] + square(distances(x, mu, factors)))

    def linear_form(self, theta: Theta) -> tuple[Float[Array, "d c"], Float[Array, " c"]]:
        """Weights Σ⁻¹μ and intercept −½μᵀΣ⁻¹μ of log p(x | θ), up to terms that are equal in all classes."""
        mu = theta["mu"]
        weights = namespace(mu).linalg.solve(theta["covariance"], mu.T)
        return weights, -0.5 * (mu * weights.T).sum(-1)

    def log_moments(self, x: Real[Array, "n d"]) -> tuple[Float[Array, "n c"], Float[Array, "n c"]]:
        """Mean and variance of the log likelihood over θ, with τ = (x − m)ᵀS⁻¹(x − m) and sums over i = 0 … d−1.

            ½ [Σψ((ν−i)/2) − log |S| − d log π − d/κ − ντ]
            ¼ [Σψ₁((ν−i)/2) − 4τ + 2d/κ² + 4ντ/κ + 2ντ²]

        They are as with one covariance a class. In addition the classes are correlated through Σ.
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

    def shared_quadratic(self, x: Real[Array, "n d"] | Sparse) -> TiedQuadratic:
        """(1/κ_c) χ′²_d(κ_c (x − m_c)ᵀΣ⁻¹(x − m_c)) given Σ."""
        return TiedQuadratic.of(x, self.m, self.kappa, float(self.nu[0]), self.S)

    def degrees_of_freedom(self) -> float:
        """ν − d + 1: the pseudo-rows behind the parameter that the classes share."""
        return float(self.nu[0] - self.m.shape[1] + 1)

    def log_covariance(self, x: Real[Array, "n d"]) -> Float[Array, "n c c"]:
        """Covariance over θ of log p(x_i | θ_c) between classes, with τ_ck = (x − m_c)ᵀS⁻¹(x − m_k).

            ¼ [Σψ₁((ν−i)/2) − 2τ_cc − 2τ_kk + 2ντ_ck²],   and on the diagonal ¼ [2d/κ² + 4ντ/κ] more

        Given Λ = Σ⁻¹ the means are independent, so off the diagonal only ½(log |Λ| − δᵀΛδ) remains. log |Λ| has the
        variance Σψ₁ and the covariance 2τ_cc with δ_cᵀΛδ_c. Two such forms have the covariance 2ντ_ck² (Wishart).
        """
        d = self.m.shape[1]
        xp = namespace(x, self.m)
        limit = 1e70 if self.m.dtype == np.float64 else 1e7
        delta = (x[:, None, :] - self.m) @ xp.linalg.inv(xp.linalg.cholesky(self.S)).T
        white = xp.clip(delta, -limit, limit)
        tau = white @ white.swapaxes(-1, -2)
        own = xp.diagonal(tau, axis1=-2, axis2=-1)
        level = trigamma(half_degrees(self.nu, d)).sum(-1) - 2 * own[:, :, None] - 2 * own[:, None, :]
        shared = level + 2 * self.nu * tau * tau
        alone = 2 * d / self.kappa**2 + 4 * self.nu * own / self.kappa
        return 0.25 * (shared + alone[..., None] * np.eye(len(self.m), dtype=self.m.dtype))

    def log_prefixes(
        self, x: Real[Array, "n d"], order: Int[np.ndarray, " d"], theta: Theta | None = None
    ) -> Float[Array, "*s n d c"]:
        """log t or log Normal of the first k features in an order, k = 1 … d, from one Cholesky factor of all."""
        if theta is None:
            scale = self.S * (1 + 1 / self.kappa)[:, None, None]
            df = np.repeat(self.nu - self.m.shape[1] + 1, len(self.m))
            return log_prefixes(x, order, self.m, scale, df)
        return log_prefixes(x, order, theta["mu"], theta["covariance"][..., None, :, :])

    def sample(self, key: Key, shape: tuple[int, ...] = ()) -> Theta:
        """Σ = BBᵀ by Bartlett's decomposition, then μ_c = m_c + Bz_c/√κ_c."""
        first, second = split(key, 2)
        b = inverse_wishart_factors(first, self.nu[0], self.S, shape)
        z = normal(second, (*shape, *self.m.shape)) / namespace(b).sqrt(self.kappa)[:, None]
        return {"mu": self.m + z @ b.swapaxes(-1, -2), "covariance": b @ b.swapaxes(-1, -2)}

    def mean(self) -> Theta:
        """m and S/(ν − d − 1); the covariance has a mean only for ν > d + 1, otherwise this is S/(ν + d + 1)."""
        xp, d = namespace(self.nu), self.m.shape[1]
        return {"mu": self.m, "covariance": self.S / xp.where(self.nu > d + 1, self.nu - d - 1, self.nu + d + 1)}

    def mode(self) -> Theta:
        """m and S/(ν + d + C + 1), the joint mode."""
        c, d = self.m.shape
        return {"mu": self.m, "covariance": self.S / (self.nu + d + c + 1)}

    def mle(self, stats: Scatter) -> Theta:
        """x̄_c and Σ_c ss_c / Σ_c n_c; singular if there are too few rows."""
        xp = namespace(stats.n)
        n, mean = stats.n.sum(), self.mean()
        spread = stats.ss.sum(0) / xp.where(n > 0, n, 1)
        return {
            "mu": xp.where((stats.n > 0)[:, None], stats.mean, mean["mu"]),
            "covariance": xp.where(n > 0, spread, mean["covariance"]),
        }

    def marginals(self) -> dict[str, Any]:
        """Student t(ν−d+1, m, S_jj/(κ(ν−d+1))) for each component of `mu`, InverseWishart(ν, S) for `covariance`."""
        from scipy import stats

        df = np.broadcast_to(self.nu - self.m.shape[1] + 1, self.m.shape)
        scale = np.sqrt(np.diagonal(self.S) / (self.kappa[:, None] * df))
        return {"mu": stats.t(df, self.m, scale), "covariance": InverseWishartMarginal(self.nu[0], self.S)}

    def sample_predictive(self, rng: np.random.Generator, y: np.ndarray, **given: Any) -> np.ndarray:
        """x_i = m + Lz √((1 + 1/κ)/χ²), S = LLᵀ, χ² with ν − d + 1 degrees of freedom."""
        d = self.m.shape[1]
        z = rng.standard_normal((len(y), d)) @ np.linalg.cholesky(self.S).T
        return self.m[y] + z * np.sqrt((1 + 1 / self.kappa[y]) / rng.chisquare(self.nu - d + 1, len(y)))[:, None]

    def model(self, x: Real[Array, "*c n d"] | None, y: Any) -> None:
        """The same model in NumPyro, with all plates."""
        import jax.numpy as jnp
        import numpyro
        import numpyro.distributions as dist

        sigma = numpyro.sample("covariance", inverse_wishart(self.nu[0], self.S))
        with numpyro.plate("class", len(self.m), dim=-1):
            mu = numpyro.sample("mu", dist.MultivariateNormal(self.m, sigma / self.kappa[:, None, None]))
        with numpyro.plate("row", n_rows(x, y), dim=-1):
            x = None if x is None else as_jax(x)
            numpyro.sample("x", dist.MultivariateNormal(mu[y], scale_tril=jnp.linalg.cholesky(sigma)), obs=x)
