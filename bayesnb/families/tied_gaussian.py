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

from ..numerics.arrays import Array, Float, Int, Real, Table, Theta, Weights
from ..numerics.quadratics import TiedQuadratic
from ..numerics.wishart import whitened
from ..sums.rows import floor_at_rounding, shared_weight
from ._page import COUNT, DEGREES, POSITIVE_DEFINITE, REAL, Field, declare, namespace, pytree
from .normals import AbstractNormalRows, by_slices


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
    shares_parameters = True

    def log_loo(self, x: Real[Array, "n d"], r: Weights) -> Table:
        """log_predictive without row i: its weights w_c are removed from Σ and from each μ_c; δ_c = x − m_c.

        The posterior of the mean of class c has the centre m_c with κ_c pseudo-rows. The covariance, which all classes
        share, is inverse Wishart with ν degrees of freedom and scale S. Removing a row undoes its update:

            κ_c' = κ_c − w_c,   m_c' = m_c − w_c δ_c/κ_c',   ν' = ν − Σ_c w_c
            S' = S − Σ_c g_c δ_c δ_cᵀ,   g_c = w_c κ_c/κ_c'

        The classes are removed one after the other. With z = L⁻¹δ, S = LLᵀ, and ρ = 1 − g zᵀz of the class that leaves,
        |S'| = |S| ρ by the determinant lemma. Sherman & Morrison give δ_kᵀS'⁻¹δ_k, the square of

            z_k' = z_k + g/(√ρ(1 + √ρ)) (zᵀz_k) z,   z_k'ᵀz_k' = z_kᵀz_k + g/ρ (zᵀz_k)²

        Parameters
        ----------
        x, r : rows that this posterior contains, and the weights (n, c) that they had in `update`
        """
        # some rows at a time, so that temporary arrays stay in a core's cache
        return by_slices(self._log_loo_of_rows, self.m, x, r)

    def _log_loo_of_rows(self, x: Array, w: Array) -> Table:
        """Leave-one-out log density of rows x (n, d) under each class, (n, c), with their weights w (n, c) in the data.

        All classes share the covariance, Σ ~ InverseWishart(ν, S), and each has its mean μ_k ~ Normal(m_k, Σ/κ_k). A
        row is Student t with both integrated out, and that needs two numbers: log |S| and the squares z_kᵀz_k of
        z_k = L⁻¹(x − m_k), with S = LLᵀ. Both are updated as the row leaves.

        Removing the row with weight w from a class changes S by −g δδᵀ, a matrix of rank one, δ = x − m and
        g = wκ/(κ − w). So the classes are left one after the other. Let z be that of the class that is left in a step,
        and ρ = 1 − g zᵀz. For all classes k,

            |S'| = |S| ρ                                by the determinant lemma
            z_k'ᵀz_k' = z_kᵀz_k + g/ρ (zᵀz_k)²          by Sherman & Morrison
            z_k' = z_k + g/(√ρ(1 + √ρ)) (zᵀz_k) z       has these squares
        """
        inverse_root, log_det_of_fit = self._root()  # L⁻¹ and log |S|, S = LLᵀ
        xp = namespace(x, w, inverse_root)  # numpy or jax.numpy
        remaining = floor_at_rounding(self.kappa - w, self.kappa)  # κ' = κ − w, (n, c), at least the rounding of κ
        g = w * self.kappa / remaining  # (n, c)

        # with the row: z_k = L⁻¹(x − m_k), and the sum over d of z · z for each class k and row n
        z = whitened(x, self.m, inverse_root)  # (c, n, d)
        squares = xp.einsum("knd,knd->kn", z, z)  # (c, n)
        log_det = log_det_of_fit[:, None]  # (1, 1)

        # in each step every row leaves one class; usually there is one step, as a row has weight in one class
        rows = np.arange(len(x))
        steps = _classes_to_remove(w)  # (steps, n)
        for step, leaving in enumerate(steps, 1):  # (n,), the class that each row leaves
            z_leaving = z[leaving, rows]  # z of that class, (n, d)
            g_leaving = g[rows, leaving]  # (n,)
            cross = xp.einsum("knd,nd->kn", z, z_leaving)  # zᵀz_k, (c, n)
            rho = floor_at_rounding(1 - g_leaving * cross[leaving, rows], xp.ones(()))  # 1 − g zᵀz = |S'|/|S|, (n,)
            squares = squares + g_leaving / rho * cross**2
            log_det = log_det + xp.log(rho)

            has_next_step = step < len(steps)  # which needs the new z
            if has_next_step:
                factor = g_leaving / (xp.sqrt(rho) * (1 + xp.sqrt(rho))) * cross  # (c, n)
                z = z + factor[:, :, None] * z_leaving

        # ν' = ν − Σ_c w_c; `shared_weight` makes (1, 1) of weights (n, 1) that are all equal
        nu = self.nu - shared_weight(w.sum(1, keepdims=True))

        # the centre without the row is m' = m − wδ/κ', so that x − m' = (κ/κ') δ; log of a multivariate t
        squares_about_new_centre = squares.T * (self.kappa / remaining) ** 2  # (n, c)
        return self._log_t(squares_about_new_centre, remaining, nu, log_det.T)

    def shared_quadratic(self, x: Real[Array, "n d"]) -> TiedQuadratic:
        """(1/κ_c) χ′²_d(κ_c (x − m_c)ᵀΣ⁻¹(x − m_c)) given Σ."""
        return TiedQuadratic.of(x, self.m, self.kappa, float(self.nu[0]), self.S)

    def linear_form(self, theta: Theta) -> tuple[Float[Array, "d c"], Float[Array, " c"]]:
        """Weights Σ⁻¹μ and intercept −½μᵀΣ⁻¹μ of log p(x | θ), up to terms that are equal in all classes."""
        # log Normal(x; μ, Σ) = xᵀΣ⁻¹μ − ½μᵀΣ⁻¹μ − ½xᵀΣ⁻¹x and constants; the last terms are the same in all classes
        mu = theta["mu"]
        weights = namespace(mu).linalg.solve(theta["covariance"], mu.T)  # Σ⁻¹μ, (d, c)
        return weights, -0.5 * (mu * weights.T).sum(-1)


def _classes_to_remove(w: Float[Array, "n c"]) -> Int[np.ndarray, "steps n"]:
    """The classes that each row leaves, one in each step.

    On the host there are only as many steps as a row has classes with weight; a row with fewer leaves classes in which
    it has weight 0, which changes nothing. In JAX, where weights are not known, there is a step for each class.
    """
    n, c = w.shape
    if namespace(w) is not np:
        return np.tile(np.arange(c)[:, None], n)

    # `w == 0` is False for classes with weight, and False is sorted first: the weights (0, 2, 1) give the order
    # (1, 2, 0), of which a row with weight in two classes needs two steps
    n_steps = np.count_nonzero(w, 1).max(initial=0)
    with_weight_first = np.argsort(w == 0, 1, kind="stable")  # (n, c), classes of each row
    return with_weight_first[:, :n_steps].T
