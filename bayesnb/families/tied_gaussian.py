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

import numpy as np

from ..core.arrays import Array, Float, Real, Table, Theta, Weights
from ..core.quadratics import TiedQuadratic
from ..core.wishart import whitened
from ..normals import AbstractNormalRows, by_slices
from ..sums.rows import kept, shared_weight
from ._page import COUNT, DEGREES, POSITIVE_DEFINITE, REAL, Field, declare, namespace, pytree


@pytree
@dataclass(frozen=True)
class TiedNormalInverseWishart(AbstractNormalRows):
    """Density of (μ_1 … μ_C, Σ), as a prior or a posterior.

    Fields
    ------
    m : (c, d)     centre of the mean, unit of the feature
    kappa : (c,)   pseudo-rows behind the mean, positive
    nu : (1,)      degrees of freedom: pseudo-rows behind the covariance, above d − 1
    S : (d, d)     scale of the covariance, positive definite, product of the units of two features

    Formulas
    --------
    update : κ + n, m + n(x̄ − m)/(κ + n), ν + Σ_c n_c, S + Σ_c [ss + κn/(κ+n) (x̄ − m)(x̄ − m)ᵀ]
    mode : m and S/(ν + d + C + 1), the joint mode
    """

    m: Float[Array, "c d"]
    kappa: Float[Array, " c"]
    nu: Float[Array, " 1"]
    S: Float[Array, "d d"]

    fields_ = declare(
        m=Field(REAL),
        kappa=Field(COUNT, ("class",)),
        nu=Field(DEGREES, ("one",)),
        S=Field(POSITIVE_DEFINITE, ("feature", "feature")),
    )
    couples_classes = True

    def log_loo(self, x: Real[Array, "n d"], r: Weights) -> Table:
        """log_predictive without row i: its weights w_c are removed from Σ and from each μ_c; δ_c = x − m_c.

            κ_c' = κ_c − w_c,   m_c' = m_c − w_c δ_c/κ_c',   ν' = ν − Σ_c w_c
            S' = S − Σ_c g_c δ_c δ_cᵀ,   g_c = w_c κ_c/κ_c'

        The classes are removed one after the other. With z = L⁻¹δ, S = LLᵀ, and ρ = 1 − g zᵀz of the class that leaves,
        |S'| = |S| ρ by the determinant lemma. Sherman & Morrison give δ_kᵀS'⁻¹δ_k, the square of

            z_k' = z_k + g/(√ρ(1 + √ρ)) (zᵀz_k) z,   z_k'ᵀz_k' = z_kᵀz_k + g/ρ (zᵀz_k)²
        """
        root, level = self._root()

        def left_out(x: Array, w: Array) -> Array:
            xp, rows = namespace(x, w, root), np.arange(len(x))
            left, z, total = kept(self.kappa - w, self.kappa), whitened(x, self.m, root), level[:, None]
            g, tau = w * self.kappa / left, xp.einsum("knd,knd->kn", z, z)
            order = np.tile(np.arange(w.shape[1]), (len(x), 1))
            if xp is np:  # only classes in which a row has weight
                order = np.argsort(w == 0, 1, kind="stable")[:, : np.count_nonzero(w, 1).max(initial=0)]
            for step, k in enumerate(order.T, 1):
                u, h = z[k, rows], g[rows, k]
                cross = xp.einsum("knd,nd->kn", z, u)
                rest = kept(1 - h * cross[k, rows], xp.ones(()))
                tau, total = tau + h / rest * cross**2, total + xp.log(rest)
                if step < order.shape[1]:
                    z = z + (h / (xp.sqrt(rest) * (1 + xp.sqrt(rest))) * cross)[:, :, None] * u
            nu = self.nu - shared_weight(w.sum(1, keepdims=True))
            return self._log_t(tau.T * (self.kappa / left) ** 2, left, nu, total.T)

        return by_slices(left_out, self.m, x, r)

    def shared_quadratic(self, x: Real[Array, "n d"]) -> TiedQuadratic:
        """(1/κ_c) χ′²_d(κ_c (x − m_c)ᵀΣ⁻¹(x − m_c)) given Σ."""
        return TiedQuadratic.of(x, self.m, self.kappa, float(self.nu[0]), self.S)

    def linear_form(self, theta: Theta) -> tuple[Float[Array, "d c"], Float[Array, " c"]]:
        """Weights Σ⁻¹μ and intercept −½μᵀΣ⁻¹μ of log p(x | θ), up to terms that are equal in all classes."""
        mu = theta["mu"]
        weights = namespace(mu).linalg.solve(theta["covariance"], mu.T)
        return weights, -0.5 * (mu * weights.T).sum(-1)
