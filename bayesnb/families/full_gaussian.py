"""Normal–inverse-Wishart: real features with a full covariance for each class; a quadratic classifier.

    Σ_c ~ InverseWishart(ν_c, S_c)
    μ_c | Σ_c ~ Normal(m_c, Σ_c / κ_c)
    x_i | y_i = c ~ Normal(μ_c, Σ_c)           rows are complete: features depend on each other, no cell may be missing

This is quadratic discriminant analysis with the uncertainty of its parameters. It is not naive: d features form one
block. With both parameters integrated out a row is multivariate Student t. Murphy (2007), Conjugate Bayesian analysis
of the Gaussian distribution, §9; Gelman et al. (2013), Bayesian Data Analysis, 3rd ed., §3.6.
"""

from dataclasses import dataclass

from ..core.supports import COUNT, DEGREES, POSITIVE_DEFINITE, REAL, Field, declare
from ..core.wishart import log_det, log_gain, squares
from ..normals import AbstractNormalRows, kept
from ._page import Array, Float, Real, Table, Theta, Weights, as_jax, is_sparse, n_rows, namespace, pytree


@pytree
@dataclass(frozen=True)
class NormalInverseWishart(AbstractNormalRows):
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
        m=Field(REAL),
        kappa=Field(COUNT, ("class",)),
        nu=Field(DEGREES, ("class",)),
        S=Field(POSITIVE_DEFINITE, ("class", "feature", "feature")),
    )

    def model(self, x: Real[Array, "*c n d"] | None, y: Array) -> None:
        """The same model in NumPyro, with all plates."""
        import jax.numpy as jnp
        import numpyro
        import numpyro.distributions as dist

        with numpyro.plate("class", len(self.m), dim=-1):
            sigma = numpyro.sample("covariance", dist.InverseWishart(self.nu, self.S))
            mu = numpyro.sample("mu", dist.MultivariateNormal(self.m, sigma / self.kappa[:, None, None]))
        with numpyro.plate("row", n_rows(x, y), dim=-1):
            x = None if x is None else as_jax(x)
            numpyro.sample("x", dist.MultivariateNormal(mu[y], scale_tril=jnp.linalg.cholesky(sigma)[y]), obs=x)

    def added(self, n: Array, growth: Array, nu: Array, S: Array) -> tuple[Array, Array]:
        """κ + n, m + n(x̄ − m)/(κ + n), ν + n, S + ss + κn/(κ+n) (x̄ − m)(x̄ − m)ᵀ. Murphy (2007), (251)–(255)."""
        return nu + n, S + growth

    def gain(self, n: Array, growth: Array, nu: Array, S: Array) -> Float[Array, " c"]:
        """log Γ_d((ν+n)/2)/Γ_d(ν/2) − ½(ν+n) log |S+G|/|S| − ½n log |S/2|. Murphy (2007), (266)."""
        return log_gain(nu, n, S, growth)

    def log_loo(self, x: Real[Array, "n d"], r: Weights) -> Table:
        """log_predictive without row i, which is removed from the classes in which it has weight w; δ = x − m.

            κ' = κ − w,   m' = m − wδ/κ',   ν' = ν − w,   S' = S − gδδᵀ with g = wκ/κ'

        With τ = δᵀS⁻¹δ the determinant lemma gives |S'| = |S| (1 − gτ), Sherman & Morrison δᵀS'⁻¹δ = τ/(1 − gτ).
        """
        (root, level), w = self._root(), r.toarray() if is_sparse(r) else r
        xp, tau = namespace(x, w, root), squares(x, self.m, root)

        left = kept(self.kappa - w, self.kappa)
        rest = kept(1 - w * self.kappa / left * tau, xp.ones(()))
        return self._log_t(tau / rest * (self.kappa / left) ** 2, left, self.nu - w, level + xp.log(rest))

    def mode(self) -> Theta:
        """m and S/(ν + d + 2), the joint mode."""
        return {"mu": self.m, "covariance": self.S / (self.nu + self.m.shape[1] + 2)[:, None, None]}

    def quadratic_form(self, theta: Theta) -> tuple[Float[Array, "c d d"], Float[Array, "d c"], Float[Array, " c"]]:
        """−½Σ⁻¹, Σ⁻¹μ and −½(μᵀΣ⁻¹μ + log |Σ|): log p(x | θ) = xᵀAx + w·x + b, up to −½d log 2π."""
        mu, sigma = theta["mu"], theta["covariance"]
        precision = namespace(sigma).linalg.inv(sigma)
        weights = (precision @ mu[..., None])[..., 0]
        return -0.5 * precision, weights.T, -0.5 * ((weights * mu).sum(-1) + log_det(sigma))
