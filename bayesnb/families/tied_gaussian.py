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

from ..base import as_jax, n_rows
from ..core.arrays import Array, Float, Real, Sparse, Theta, is_sparse
from ..core.pytrees import pytree
from ..core.quadratics import TiedQuadratic
from ..core.random import Key, normal, split
from ..core.special import LOG_2PI, log_rising, namespace, trigamma
from ..core.supports import COUNT, DEGREES, POSITIVE_DEFINITE, REAL, Field, declare
from ..core.wishart import (
    LOG_PI,
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
from ..sums.rows import downdate, shared_weight, slices

_CELLS = 1 << 17  # of rows for all classes at a time: they stay in a core's cache


@pytree
@dataclass(frozen=True)
class TiedNormalInverseWishart(AbstractNormalInverseWishart):
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

    couples_classes = True

    def flat_fields(self) -> dict[str, float]:
        """Where the density is flat, in the basis of the sites."""
        return {"kappa": 0.0, "nu": -(sum(self.shape) + 1.0), "S": 0.0}

    def _matrices(self, sigma: Float[Array, "*s d d"]) -> Float[Array, "*s 1 d d"]:
        """The one covariance as that of each class."""
        return sigma[..., None, :, :]

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

    def log_loo(self, x: Real[Array, "n d"], r: Float[Array, "n c"] | Sparse) -> Float[Array, "n c"]:
        """log_predictive without row i: its weights w_c are removed from Σ and from each μ_c; δ_c = x − m_c.

            κ_c' = κ_c − w_c,   m_c' = m_c − w_c δ_c/κ_c',   ν' = ν − Σ_c w_c
            S' = S − Σ_c g_c δ_c δ_cᵀ,   g_c = w_c κ_c/κ_c'

        The classes are removed one after the other. T_kl = δ_kᵀS⁻¹δ_l changes by Sherman & Morrison, T + g T_·c T_c· /
        (1 − gT_cc). |S| changes by the determinant lemma, times 1 − gT_cc.
        """
        d = self.m.shape[1]
        xp = namespace(x, r, self.m)
        w = r.toarray() if is_sparse(r) else r
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
            y, rows, tau, cross = (w != 0).argmax(1), np.arange(len(x)), np.empty(w.shape), np.empty(w.shape)
            for part in slices(len(x), w.shape[1] * x.shape[1], _CELLS):
                z = np.stack([(x[part] - m) @ whiten for m in self.m])
                gone = z[y[part], np.arange(z.shape[1])]
                tau[part], cross[part] = (np.einsum("knj,knj->nk", z, one) for one in (z, gone[None]))
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

    def linear_form(self, theta: Theta) -> tuple[Float[Array, "d c"], Float[Array, " c"]]:
        """Weights Σ⁻¹μ and intercept −½μᵀΣ⁻¹μ of log p(x | θ), up to terms that are equal in all classes."""
        mu = theta["mu"]
        weights = namespace(mu).linalg.solve(theta["covariance"], mu.T)
        return weights, -0.5 * (mu * weights.T).sum(-1)

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

    def sample(self, key: Key, shape: tuple[int, ...] = ()) -> Theta:
        """Σ = BBᵀ by Bartlett's decomposition, then μ_c = m_c + Bz_c/√κ_c."""
        first, second = split(key, 2)
        b = inverse_wishart_factors(first, self.nu[0], self.S, shape)
        z = normal(second, (*shape, *self.m.shape)) / namespace(b).sqrt(self.kappa)[:, None]
        return {"mu": self.m + z @ b.swapaxes(-1, -2), "covariance": b @ b.swapaxes(-1, -2)}

    def mode(self) -> Theta:
        """m and S/(ν + d + C + 1), the joint mode."""
        c, d = self.m.shape
        return {"mu": self.m, "covariance": self.S / (self.nu + d + c + 1)}

    def mle(self, stats: Scatter) -> Theta:
        """x̄_c and Σ_c ss_c / Σ_c n_c; singular if there are too few rows."""
        return self._point(stats, stats.n.sum(), stats.ss.sum(0))

    def sample_predictive(self, rng: np.random.Generator, y: np.ndarray, **given: Any) -> np.ndarray:
        """x_i = m + Lz √((1 + 1/κ)/χ²), S = LLᵀ, χ² with ν − d + 1 degrees of freedom."""
        d = self.m.shape[1]
        z = rng.standard_normal((len(y), d)) @ np.linalg.cholesky(self.S).T
        return self.m[y] + z * np.sqrt((1 + 1 / self.kappa[y]) / rng.chisquare(self.nu - d + 1, len(y)))[:, None]

    def model(self, x: Real[Array, "*c n d"] | None, y: Array) -> None:
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
