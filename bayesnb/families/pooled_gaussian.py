"""Normal–inverse-gamma with one variance per feature, pooled over the classes: a linear classifier.

    σ²_j ~ InverseGamma(a_j, scale b_j)
    μ_cj | σ²_j ~ Normal(m_cj, σ²_j / κ_cj)
    x_ij | y_i = c ~ Normal(μ_cj, σ²_j)        independent given the class; NaN = missing, left out cell by cell

The classes share σ²_j, so evidence and density have one value a feature. This is the one-way layout of Bernardo & Smith
(1994), Bayesian Theory, §5.2 and App. A.2. Each class mean has the normal–inverse-gamma update of Murphy (2007), §3.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..numerics.arrays import Array, Data, Float, Int, Real, Sparse, Table, Tables, Theta, Weights, is_sparse
from ..numerics.densities import PRIORS
from ..numerics.quadratics import PooledQuadratic
from ..numerics.special import LOG_2PI, gammaln, log_rising, namespace, polygamma
from ..sums.rows import floor_at_rounding, shared_weight
from ..sums.tables import log_normal_sum, sum_of_logs
from ._page import AMOUNT, COUNT, REAL, Cells, Field, Moments, declare, n_rows, observed, pytree
from .conjugate import CellStatistics, FromPrior
from .normals import AbstractNormals, by_slices, cumulant_of_cells, linear_of_normals, student_marginals

_ROUNDING = 1e-9  # of a field of the scale: a row that takes more than all but this was never fitted


@pytree
@dataclass(frozen=True)
class PooledNormalInverseGamma(FromPrior, AbstractNormals[Moments]):  # type: ignore[override]
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
        m=Field(REAL),
        kappa=Field(COUNT, limit=0.0),
        a=Field(COUNT, ("feature",), limit=-0.5, per_class=True),
        b=Field(AMOUNT, ("feature",), limit=0.0, per="a"),
    )
    cells_ = Cells("real", sparse=True)
    flat_ = declare(kappa=0.0, b=0.0)  # and any a: the joint mode of σ² is inside
    separable = True
    shares_parameters = True
    parameters = "mu", "variance"
    scale_ = "a", "b"

    def size_of(self, field: str) -> Array:
        """Of the means about the standard deviation √(b/a) of the cells; of all other fields their own size."""
        return np.sqrt(self.b / self.a) if field == "m" else super().size_of(field)

    def prior(self, sample: Any, dist: Any) -> None:
        """σ² ~ InverseGamma(a, scale b), μ ~ Normal(m, σ²/κ)."""
        variance = sample("variance", dist.InverseGamma(self.a, self.b))  # (d,), against (c, d) of the means
        sample("mu", dist.Normal(self.m, (variance[..., None, :] / self.kappa) ** 0.5))

    def model(self, x: Real[Array, "*c n d"] | None, y: Array) -> None:
        """The same model in NumPyro: σ²_j ~ InverseGamma, μ_cj ~ Normal(m, σ²_j/κ), x_ij ~ Normal(μ_yj, σ²_j).

        The variances are shared by the classes, so they stand outside of the plate of the classes.

        Parameters
        ----------
        x : (n, d) rows, NaN where a cell is missing; None draws them
        y : (n,) class of each row; labels that NumPyro enumerates have other axes
        """
        import jax.numpy as jnp
        import numpyro
        import numpyro.distributions as dist

        c, d = self.m.shape
        with numpyro.plate("feature", d, dim=-1):
            variance = numpyro.sample("variance", dist.InverseGamma(self.a, self.b))  # (d,)
            with numpyro.plate("class", c, dim=-2):
                mu = numpyro.sample("mu", dist.Normal(self.m, jnp.sqrt(variance / self.kappa)))  # (c, d)

        # a missing cell is masked: it adds nothing to the likelihood
        mask, filled = observed(x)  # where a cell is not missing, and x with numbers in place of NaN
        with numpyro.plate("row", n_rows(filled, y), dim=-1):
            cells = dist.Normal(mu[y], jnp.sqrt(variance)).mask(mask)
            numpyro.sample("x", cells.to_event(1), obs=filled)

    def suffstats(self, x: Data, r: Weights) -> Moments:
        """The weight, mean and centred sum of squares of the observed cells."""
        return Moments.of(x, r)

    def added(self, s: Any, a: Array, b: Array) -> tuple[Array, Array]:
        """Shape and scale of the variance after data: a + ½ N and b + ½ G.

        N = Σ_c n_c is the weight of the data, and G = Σ_c [ss + κ n (x̄ − m)²/(κ + n)] their squares about the mean.

        Parameters
        ----------
        s : N as `n`, and G as `ss`: statistics of all classes together
        """
        return a + s.n / 2, b + s.ss / 2

    def gain(self, s: Any, a: Array, b: Array) -> Array:
        """log Γ(a+N/2)/Γ(a) − ½N log b − (a + ½N) log(1 + ½G/b), N = Σ_c n_c.

        By how much data raise the log normaliser log Γ(a) − a log b of InverseGamma(a, b), the density of the variance:
        a grows by ½N and b by ½G.

        Parameters
        ----------
        s : N as `n`, and the squares G about the centres of the means as `ss`, of all classes together
        a, b : (d,) shape and scale of the variance
        """
        xp = namespace(s.ss, b)  # numpy or jax.numpy
        return log_rising(a, s.n / 2) - s.n / 2 * xp.log(b) - (a + s.n / 2) * xp.log1p(s.ss / (2 * b))

    def log_predictive(self, x: Data) -> Table:
        """Σ_j log t(x_j; 2a, m, b(κ+1)/(aκ)). Murphy (2007), (100)."""
        # in JAX by the general formula, with rows that have no weight in the posterior
        if namespace(x, self.m) is not np:
            no_weight = np.zeros((1, len(self.m)))
            return self._log_loo_of_rows(x, no_weight)

        # level − (a + ½) log(1 + slope² (x − m)²) of each cell, the log density of a Student t with 2a degrees of
        # freedom: the squared slope is ½ κ/((κ + 1) b)
        level = log_rising(self.a, 0.5) - 0.5 * (LOG_2PI + np.log(self.b) + np.log1p(1 / self.kappa))
        slope = np.sqrt(0.5 * self.kappa / (self.kappa + 1) / self.b)
        return sum_of_logs(x, self.m, slope, -(self.a + 0.5), level)

    def _log_loo_of_rows(self, x: Array, w: Array) -> Table:
        """log p of each row under each class, (n, c), without the row, which has weights w (n, c) in the classes.

        The model of a feature: σ² ~ InverseGamma(a, b) for all classes, μ_c ~ Normal(m_c, σ²/κ_c) for each. A cell of
        weight v in a class, at δ = x − m from its centre, changes κ to κ + v, a by ½v and b by ½ h δ², h = v κ/(κ + v).
        The log density of the cell in class c is computed in two steps:

        1. the row leaves all classes, with v = −w in each, because they share a and b
        2. it comes back in class c, with v = 1: log p is by how much that raises the log normaliser (the gain)

        Arrays are (c, n, d), or have length 1 where they do not differ.

        Parameters
        ----------
        x : (n, d), rows; NaN = missing
        w : (n, c), or (1, c) if all rows have the same weights; 0 for rows that the posterior does not contain
        """
        xp = namespace(x, w, self.m)  # numpy or jax.numpy
        is_observed = ~xp.isnan(x)  # (n, d)
        square = xp.where(is_observed, x - self.m[:, None], 0) ** 2  # δ², (c, n, d)

        # 1. without the row: κ' = κ − w, at least the rounding of κ; and a' and b'
        kappa = self.kappa[:, None]  # (c, 1, d), with an axis for the rows
        v = -w.T[:, :, None]  # (c, n, 1)
        remaining = floor_at_rounding(kappa + v, kappa)  # κ'
        scale = self._scale_after(v, remaining, square)  # a' and b', (n, d) or (1, d) each

        # 2. The centre without the row is m' = m − wδ/κ', so that the cell is at (κ/κ') δ from it. v = 1 gives
        # h = κ'/(κ' + 1), and the square h (κ/κ')² δ² = (κ/κ') κ/(κ' + 1) δ².
        returned = CellStatistics(1, ss=kappa / remaining * (kappa / (remaining + 1)) * square)
        gain_of_scale = self.gain(returned, *scale)
        log_p = gain_of_scale - 0.5 * (xp.log1p(1 / remaining) + LOG_2PI)  # with that of the mean, (c, n, d)
        return xp.where(is_observed, log_p, 0).sum(-1).T  # summed over the features, (n, c)

    def _scale_after(self, v: Array, kappa_after: Array, square: Array) -> list[Array]:
        """Shape a and scale b of the variances after each row has come into the classes with weights v.

        They become a + ½ Σ_c v and b + ½ Σ_c h δ², h = v κ/(κ + v). A row leaves with a negative weight.

        Parameters
        ----------
        v : (c, n, 1) weights in the classes
        kappa_after : κ + v, (c, n, d), or with length 1
        square : (c, n, d) δ², squared distances from the centres

        Returns
        -------
        a and b, (n, d) each, or (1, d)
        """
        # `shared_weight` makes (1, 1) of weights (n, 1) that are all equal, so that a is computed once
        n = shared_weight(v.sum(0))
        ss = (v * self.kappa[:, None] / kappa_after * square).sum(0)  # Σ_c h δ², (n, d)
        before = self._scale()  # a and b, (d,) each
        after = self.added(CellStatistics(n, ss=ss), *before)  # a + ½ n and b + ½ ss
        return [_remaining_scale(new, old) for new, old in zip(after, before, strict=True)]

    def log_loo(self, x: Data, r: Weights) -> Table:
        """log_predictive without row i, which is removed from the classes in which it has weight w; δ = x − m.

        κ' = κ − w,   m' = m − wδ/κ',   and Σ wκδ²/κ' is removed from the scale; NaN where it is more than that
        """
        return by_slices(self._log_loo_of_rows, self.m, x, r)

    def log_normalizer(self) -> Float[Array, " d"]:
        """log Γ(a) − a log b + ½ Σ_c log(2π/κ_c)."""
        xp = namespace(self.a)
        return gammaln(self.a) - self.a * xp.log(self.b) + 0.5 * (LOG_2PI - xp.log(self.kappa)).sum(0)

    def log_prob(self, theta: Theta) -> Float[Array, "*s d"]:
        """Σ_c log Normal(μ_c; m_c, σ²/κ_c) + log InverseGamma(σ²; a, b), a value for each feature."""
        # the log density of each site: "mu" (…, c, d), "variance" (…, d)
        terms = self._of_prior(lambda site, kind, *args: PRIORS[kind].log_prob(theta[site], *args), theta)
        return terms["variance"] + terms["mu"].sum(-2)

    def mode(self) -> Theta:
        """m and b/(a + 1 + C/2), the joint mode."""
        return {"mu": self.m, "variance": self.b / (self.a + 1 + len(self.m) / 2)}

    def log_likelihood(self, theta: Theta, x: Data) -> Tables:
        """−½ Σ_j log 2πσ² + (x − μ)²/σ²."""
        return log_normal_sum(x, theta["mu"], theta["variance"][..., None, :] ** 0.5)

    def linear_form(self, theta: Theta) -> tuple[Float[Array, "d c"], Float[Array, " c"]] | None:
        """Weights μ/σ² and intercept −½ Σ_j μ²/σ² of log p(x | θ), up to terms that are equal in all classes."""
        return linear_of_normals(theta["mu"], theta["variance"][None])

    def _cumulant(self, order: int, x: Array | Sparse) -> Table:
        """Cumulants over θ of log p(x | θ), (n, c): mean, variance and third for order 1, 2 and 3.

        log p(x | θ) = ½ log λ − ½ log 2π − ½ λ (x − μ)². With λ = 1/σ² ~ Gamma(a, rate b) the cumulants need those of
        log λ, which are polygamma functions, E λ = a/b and Cov(log λ, λ) = 1/b.

        Parameters
        ----------
        order : 1, 2 or 3
        x : (n, d) rows, dense or sparse
        """
        log_2pi_b = LOG_2PI + namespace(self.b).log(self.b) if order == 1 else 0  # only the mean depends on the unit
        psi = polygamma(order - 1, self.a) - log_2pi_b

        # summed over the features; the arguments are ψ, E λ and ½ Cov(log λ, λ), as polynomials in (x − m)² need them
        return cumulant_of_cells(order, psi, self.a / self.b, 0.5 / self.b, self.kappa, x, self.m)

    def shared_quadratic(self, x: Data) -> PooledQuadratic:
        """Σ_j (1/κ_cj) χ′²₁(κ_cj (x_j − m_cj)²/σ_j²) given all σ²."""
        return PooledQuadratic.of(x.toarray() if is_sparse(x) else x, self.m, self.kappa, self.a, self.b)

    def sample_predictive(self, rng: np.random.Generator, y: np.ndarray, **given: Any) -> np.ndarray:
        """x_ij = m + t √(b(κ+1)/(aκ)), t with 2a degrees of freedom."""
        scale = np.sqrt(self.b / self.a * (1 + 1 / self.kappa))  # (c, d)
        t = rng.standard_t(2 * self.a, (len(y), len(self.a)))  # (n, d), each cell with a draw of its own
        return self.m[y] + scale[y] * t

    def sample_rows(
        self, rng: np.random.Generator, theta: Theta, y: Int[np.ndarray, " n"], **given: Any
    ) -> Float[np.ndarray, "s n d"]:
        """New rows at given parameters: x_ij = μ_j + σ_j z."""
        mu = theta["mu"][:, y]
        return mu + np.sqrt(theta["variance"])[:, None] * rng.standard_normal(mu.shape)

    def marginals(self) -> dict[str, Any]:
        """Student t(2a, m, b/(aκ)) for `mu`, InverseGamma(a, b) for `variance`."""
        return student_marginals(self.m, self.kappa, self.a, self.b)


def _remaining_scale(after: Array, before: Array) -> Array:
    """A field of the scale without a row, at least its rounding; NaN where the row takes more than there was.

    Parameters
    ----------
    after : (n, d) or (1, d), the field after the row was subtracted
    before : (d,), the field with all rows
    """
    # a small negative number is rounding, and raised to a positive one; a row that takes more was never fitted
    xp = namespace(after, before)  # numpy or jax.numpy
    return xp.where(after > -_ROUNDING * before, floor_at_rounding(after, before), xp.nan)
