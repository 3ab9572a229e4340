"""Normal–inverse-gamma with one variance per feature, pooled over the classes: a linear classifier.

    σ²_j ~ InverseGamma(a_j, scale b_j)
    μ_cj | σ²_j ~ Normal(m_cj, σ²_j / κ_cj)
    x_ij | y_i = c ~ Normal(μ_cj, σ²_j)        independent given the class; NaN = missing, left out cell by cell

The classes share σ²_j, so evidence and density have one value a feature. This is the one-way layout of Bernardo & Smith
(1994), Bayesian Theory, §5.2 and App. A.2. Each class mean has the normal–inverse-gamma update of Murphy (2007), §6.
"""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from ..base import n_rows, observed
from ..core.arrays import Array, Float, Int, Real, Sparse, Theta, is_sparse
from ..core.pytrees import pytree
from ..core.quadratics import PooledQuadratic
from ..core.random import Key, inverse_gamma, normal, split
from ..core.special import LOG_2PI, gammaln, log1p_square, log_rising, log_rising_half, namespace, square, trigamma
from ..core.supports import AMOUNT, COUNT, REAL, Cells, Field, declare
from ..normal_inverse_gamma import AbstractNormal
from ..statistics import Moments
from ..sums.gaussian import log_normal_sum, log_student_left
from ..sums.rows import downdate, leave_one_out_table, made_dense, shared_weight, unit_labels, with_odd_rows


@pytree
@dataclass(frozen=True)
class PooledNormalInverseGamma(AbstractNormal):
    """Density of each (μ_1j … μ_Cj, σ²_j), as a prior or a posterior.

    Fields
    ------
    m : (c, d)       centre of the mean, unit of the feature
    kappa : (c, d)   pseudo-rows behind the mean, positive
    a : (d,)         shape of the variance: half the pseudo-rows behind it, positive
    b : (d,)         scale of the variance, unit of the feature squared, positive
    """

    m: Float[Array, "c d"]
    kappa: Float[Array, "c d"]
    a: Float[Array, " d"]
    b: Float[Array, " d"]

    fields_ = declare(
        m=Field(REAL, ("class", "feature")),
        kappa=Field(COUNT, ("class", "feature"), limit=0.0),
        a=Field(COUNT, ("feature",), limit=-0.5, per_class=True),
        b=Field(AMOUNT, ("feature",), limit=0.0, per="a"),
    )
    cells_ = Cells("real", sparse=True)
    couples_classes = True

    def flat_fields(self) -> dict[str, float]:
        """Where the density is flat, in the basis of the sites."""
        return {"kappa": 0.0, "a": -(1 + self.shape[0] / 2), "b": 0.0}

    def update(self, stats: Moments) -> Self:
        """κ + n, m + n(x̄ − m)/(κ + n), a + ½ Σ_c n_c, b + ½ Σ_c [ss + κ n (x̄ − m)²/(κ + n)]."""
        delta = stats.mean - self.m
        share = stats.n / (self.kappa + stats.n)
        b = self.b + self._growth(stats)
        return type(self)(self.m + share * delta, self.kappa + stats.n, self.a + stats.n.sum(0) / 2, b)

    def _growth(self, stats: Moments) -> Float[Array, " d"]:
        """½ Σ_c [ss + κ n (x̄ − m)²/(κ + n)], what data add to b; bₙ − b would lose it beside a large b."""
        delta = stats.mean - self.m
        return 0.5 * (stats.ss + self.kappa * stats.n / (self.kappa + stats.n) * delta * delta).sum(0)

    def rounding_of(self, field: str) -> Array | float:
        """For b under b = 0: the error from rounding the means of equal cells, Σ_c κ (1e-15 m)²."""
        return (self.kappa * (1e-15 * self.m) ** 2).sum(0) if field == "b" else 0.0

    def log_normalizer(self) -> Float[Array, " d"]:
        """log Γ(a) − a log b + ½ Σ_c log(2π/κ_c)."""
        xp = namespace(self.a)
        return gammaln(self.a) - self.a * xp.log(self.b) + 0.5 * (LOG_2PI - xp.log(self.kappa)).sum(0)

    def log_marginal(self, stats: Moments) -> Float[Array, " d"]:
        """log Γ(a+N/2)/Γ(a) − a log(bₙ/b) − ½ N log(2πbₙ) + ½ Σ_c log κ/κₙ, N = Σ_c n_c."""
        xp = namespace(self.a, stats.n)
        growth, n = self._growth(stats), stats.n.sum(0)
        gamma = log_rising(self.a, n / 2) - self.a * xp.log1p(growth / self.b)
        means = 0.5 * xp.log1p(stats.n / self.kappa).sum(0)
        return gamma - 0.5 * n * xp.log(self.b + growth) - means + stats.log_h.sum(0)

    def log_prob(self, theta: Theta) -> Float[Array, "*s d"]:
        """Σ_c log Normal(μ_c; m_c, σ²/κ_c) + log InverseGamma(σ²; a, b)."""
        variance = theta["variance"]
        xp = namespace(variance)
        energy = (self.b + 0.5 * (self.kappa * xp.square(theta["mu"] - self.m)).sum(-2)) / variance
        return -(self.a + 1 + len(self.m) / 2) * xp.log(variance) - energy - self.log_normalizer()

    @made_dense
    def log_loo(self, x: Real[Array, "n d"] | Sparse, r: Float[Array, "n c"] | Sparse) -> Float[Array, "n c"]:
        """log_predictive without row i: its weights w_c are removed from σ² and from each μ_c; δ_c = x − m_c.

        κ_c' = κ_c − w_c,   m_c' = m_c − w_c δ_c/κ_c',   a' = a − ½ Σ_c w_c,   b' = b − ½ Σ_c w_c κ_c δ_c²/κ_c'
        """
        xp = namespace(x, r, self.a)
        if xp is np and (y := unit_labels(r)) is not None:
            return with_odd_rows(self._log_loo_of_units(x, y), lambda odd: self._log_loo(x[odd], r[odd]))
        return self._log_loo(x, r)

    def _log_loo(self, x: Array, r: Array | Sparse) -> Float[Array, "n c"]:
        """`log_loo` of rows of any weights."""
        xp = namespace(x, r, self.a)
        weights = r.toarray() if is_sparse(r) else r

        def energy(x: Array, w: Array, m: Array, kappa: Array) -> Array:
            return 0.5 * w * kappa / downdate(kappa, w) * square(x - m)

        taken: Any = 0.0 * x
        for k, w in enumerate(weights.T):
            rows = np.flatnonzero(w) if xp is np else np.arange(len(x))
            cells = energy(x[rows], w[rows, None], self.m[k], self.kappa[k])
            if xp is np:
                taken[rows] += cells
            else:
                taken = taken + cells
        a = downdate(self.a, shared_weight(weights.sum(1, keepdims=True)) / 2)
        b = downdate(self.b, taken)

        def own(rows: Array, w: Array, m: Array, kappa: Array) -> Array:
            x, a, b = xp.moveaxis(rows, 1, 0)
            left = downdate(kappa, w)
            u = kappa / left * (x - m) / xp.sqrt(2 * b * (1 + 1 / left))
            return xp.where(xp.isnan(x), 0, -0.5 * xp.log1p(1 / left) - (a + 0.5) * log1p_square(u)).sum(1)

        def predictive(rows: Array) -> Array:
            none = np.zeros((1, 1), self.m.dtype)
            return xp.stack([own(rows, none, *one) for one in zip(self.m, self.kappa, strict=True)], -1)

        shared = xp.where(xp.isnan(x), 0, log_rising_half(a) - 0.5 * (LOG_2PI + xp.log(b))).sum(1, keepdims=True)
        rows = xp.stack([x, xp.broadcast_to(a, x.shape), b], 1)
        return shared + leave_one_out_table(predictive, own, rows, weights, self.m, self.kappa)

    def _log_loo_of_units(self, x: Real[np.ndarray, "n d"], y: Int[np.ndarray, " n"]) -> Float[np.ndarray, "n c"]:
        """`log_loo` of many rows with one class each and weight 1."""
        left, fewer = downdate(self.kappa, 1.0), np.broadcast_to(downdate(self.a, 0.5), self.m.shape)
        own = np.sqrt(0.5 * self.kappa / left / self.b)
        scale = np.sqrt(self.b) * np.sqrt((1 + 1 / self.kappa) / fewer)
        level = log_rising_half(fewer) - 0.5 * (LOG_2PI + np.log(self.b) + np.log1p(1 / left))
        return log_student_left(x, y, 2 * fewer, self.m, scale, own, level)

    def log_likelihood(self, theta: Theta, x: Real[Array, "n d"] | Sparse) -> Float[Array, "*s n c"]:
        """−½ Σ_j log 2πσ² + (x − μ)²/σ²."""
        sd = namespace(theta["variance"]).sqrt(theta["variance"])[..., None, :]
        return log_normal_sum(x, theta["mu"], sd)

    def linear_form(self, theta: Theta) -> tuple[Float[Array, "d c"], Float[Array, " c"]]:
        """Weights μ/σ² and intercept −½ Σ_j μ²/σ² of log p(x | θ), up to terms that are equal in all classes."""
        mu, variance = theta["mu"], theta["variance"]
        weights = (mu / variance).T
        return weights, -0.5 * (mu * mu / variance).sum(-1)

    def shared_quadratic(self, x: Real[Array, "n d"] | Sparse) -> PooledQuadratic:
        """Σ_j (1/κ_cj) χ′²₁(κ_cj (x_j − m_cj)²/σ_j²) given all σ²."""
        dense = x.toarray() if is_sparse(x) else x
        return PooledQuadratic.of(dense, self.m, self.kappa, self.a, self.b)

    def degrees_of_freedom(self) -> float:
        """The smallest 2a of all features: the pseudo-rows behind the parameter that the classes share."""
        return float(2 * self.a.min())

    @made_dense
    def log_covariance(self, x: Real[Array, "n d"] | Sparse) -> Float[Array, "n c c"]:
        """Covariance over θ of log p(x_i | θ_c) between classes, with u_c = (x − m_c)²/b and sums over observed j.

            ¼ Σ_j [ψ₁(a) − u_c − u_k + a u_c u_k],   and on the diagonal ¼ Σ_j [2/κ² + 4au/κ] more

        Given λ = 1/σ² the means are independent, so off the diagonal only ½(log λ − λδ²) remains. The variance of log λ
        is ψ₁(a), that of λ is a/b², and their covariance is 1/b.
        """
        xp = namespace(x, self.m)
        seen = (~xp.isnan(x)).astype(self.m.dtype)
        delta = xp.where(xp.isnan(x), 0, x)[:, None, :] - self.m
        u = xp.minimum(square(delta / xp.sqrt(self.b)), 1e140 if self.m.dtype == np.float64 else 1e14)
        u = u * seen[:, None, :]
        own = u.sum(-1)
        level = (seen @ trigamma(self.a))[:, None, None] - own[:, :, None] - own[:, None, :]
        shared = level + (self.a * u) @ u.swapaxes(-1, -2)
        alone = seen @ (2 / self.kappa**2).T + 4 * (self.a * u / self.kappa).sum(-1)
        return 0.25 * (shared + alone[..., None] * np.eye(len(self.m), dtype=self.m.dtype))

    def sample(self, key: Key, shape: tuple[int, ...] = ()) -> Theta:
        """σ² = b / G(a), then μ = m + z √(σ²/κ)."""
        first, second = split(key, 2)
        variance = inverse_gamma(first, self.a, self.b, shape)
        z = normal(second, (*shape, *self.m.shape))
        sd = namespace(variance).sqrt(variance[..., None, :] / self.kappa)
        return {"mu": self.m + z * sd, "variance": variance}

    def mode(self) -> Theta:
        """m and b/(a + 1 + C/2), the joint mode."""
        return {"mu": self.m, "variance": self.b / (self.a + 1 + len(self.m) / 2)}

    def mle(self, stats: Moments) -> Theta:
        """x̄_c and Σ_c ss_c / Σ_c n_c."""
        return self._point(stats, stats.n.sum(0), stats.ss.sum(0))

    def sample_predictive(self, rng: np.random.Generator, y: np.ndarray, **given: Any) -> np.ndarray:
        """x_ij = m + t √(b(κ+1)/(aκ)), t with 2a degrees of freedom."""
        scale = np.sqrt(self.b / self.a * (1 + 1 / self.kappa))
        return self.m[y] + scale[y] * rng.standard_t(2 * self.a, (len(y), len(self.a)))

    def model(self, x: Real[Array, "*c n d"] | None, y: Array) -> None:
        """The same model in NumPyro, with all plates."""
        import jax.numpy as jnp
        import numpyro
        import numpyro.distributions as dist

        c, d = self.m.shape
        with numpyro.plate("feature", d, dim=-1):
            variance = numpyro.sample("variance", dist.InverseGamma(self.a, self.b))
            with numpyro.plate("class", c, dim=-2):
                mu = numpyro.sample("mu", dist.Normal(self.m, jnp.sqrt(variance / self.kappa)))
        seen, x = observed(x)
        with numpyro.plate("row", n_rows(x, y), dim=-1):
            numpyro.sample("x", dist.Normal(mu[y], jnp.sqrt(variance)).mask(seen).to_event(1), obs=x)
