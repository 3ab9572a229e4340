"""Normal–inverse-Wishart: real features with a full covariance for each class; a quadratic classifier.

    Σ_c ~ InverseWishart(ν_c, S_c)
    μ_c | Σ_c ~ Normal(m_c, Σ_c / κ_c)
    x_i | y_i = c ~ Normal(μ_c, Σ_c)           rows are complete: features depend on each other, no cell may be missing

This is quadratic discriminant analysis with the uncertainty of its parameters. It is not naive: d features form one
block. With both parameters integrated out a row is multivariate Student t. Murphy (2007), Conjugate Bayesian analysis
of the Gaussian distribution, §9; Gelman et al. (2013), Bayesian Data Analysis, 3rd ed., §3.6.
"""

from dataclasses import dataclass

from ..numerics.supports import COUNT, DEGREES, POSITIVE_DEFINITE, REAL, Field, declare
from ..numerics.wishart import log_det, squares
from ..sums.rows import floor_at_rounding
from ._page import Array, Float, Real, Table, Theta, Weights, is_sparse, namespace, pytree
from .normals import AbstractNormalRows


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

    Formulas
    --------
    update : κ + n, m + n(x̄ − m)/(κ + n), ν + n, S + ss + κn/(κ+n) (x̄ − m)(x̄ − m)ᵀ. Murphy (2007), (251)–(255)
    predictive : multivariate t(x; ν−d+1, m, S(κ+1)/(κ(ν−d+1))). Murphy (2007), (258)
    mode : m and S/(ν + d + 2), the joint mode
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

    def log_loo(self, x: Real[Array, "n d"], r: Weights) -> Table:
        """log_predictive without row i, which is removed from the classes in which it has weight w; δ = x − m.

        The posterior of class c has mean centre m with κ pseudo-rows, and an inverse Wishart covariance with ν degrees
        of freedom and scale S. Removing the row undoes its update:

            κ' = κ − w,   m' = m − wδ/κ',   ν' = ν − w,   S' = S − gδδᵀ with g = wκ/κ'

        With τ = δᵀS⁻¹δ the determinant lemma gives |S'| = |S| (1 − gτ), Sherman & Morrison δᵀS'⁻¹δ = τ/(1 − gτ).

        Parameters
        ----------
        x, r : rows that this posterior contains, and the weights (n, c) that they had in `update`
        """
        inverse_root, log_det = self._root()  # L⁻¹ and log |S| of each class, S = LLᵀ
        w = r.toarray() if is_sparse(r) else r  # (n, c), as all arrays below
        xp = namespace(x, w, inverse_root)  # numpy or jax.numpy

        # `floor_at_rounding` keeps a difference positive: it is at least the rounding of the second argument
        remaining = floor_at_rounding(self.kappa - w, self.kappa)  # κ' = κ − w

        # with the row: τ = δᵀS⁻¹δ; without it: |S'|/|S| = 1 − gτ, and δᵀS'⁻¹δ = τ/(1 − gτ)
        tau = squares(x, self.m, inverse_root)
        det_ratio = floor_at_rounding(1 - w * self.kappa / remaining * tau, xp.ones(()))  # g = wκ/κ'

        # the row is at x − m' = (κ/κ') δ from the centre without it, because m' = m − wδ/κ'
        square = tau / det_ratio * (self.kappa / remaining) ** 2  # (x − m')ᵀS'⁻¹(x − m')

        # log density of a multivariate t, from this square, κ', ν' = ν − w and log |S'|
        return self._log_t(square, remaining, self.nu - w, log_det + xp.log(det_ratio))

    def quadratic_form(self, theta: Theta) -> tuple[Float[Array, "c d d"], Float[Array, "d c"], Float[Array, " c"]]:
        """A, w and b of log p(x | θ) = xᵀAx + w·x + b, up to −½d log 2π, for each class.

        They are −½Σ⁻¹, Σ⁻¹μ and −½(μᵀΣ⁻¹μ + log |Σ|).

        Parameters
        ----------
        theta : "mu" (c, d) and "covariance" (c, d, d)
        """
        # log Normal(x; μ, Σ) = −½ (x − μ)ᵀΣ⁻¹(x − μ) − ½ log |Σ| − ½ d log 2π, multiplied out
        mu = theta["mu"]  # (c, d)
        sigma = theta["covariance"]  # (c, d, d)
        precision = namespace(sigma).linalg.inv(sigma)  # (c, d, d)
        weights = (precision @ mu[..., None])[..., 0]  # (c, d)
        intercept = -0.5 * ((weights * mu).sum(-1) + log_det(sigma))
        return -0.5 * precision, weights.T, intercept
