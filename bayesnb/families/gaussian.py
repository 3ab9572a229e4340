"""Normal–inverse-gamma: real features, with a mean and a variance for each class and feature.

    σ²_cj ~ InverseGamma(a_cj, scale b_cj)
    μ_cj | σ²_cj ~ Normal(m_cj, σ²_cj / κ_cj)
    x_ij | y_i = c ~ Normal(μ_cj, σ²_cj)       independent given the class; NaN = missing, left out cell by cell

With both parameters integrated out one value is Student t. See Murphy (2007), Conjugate Bayesian analysis of the
Gaussian distribution, §6 (with α, β for a, b); Gelman et al. (2013), Bayesian Data Analysis, 3rd ed., §3.3.
"""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from ..base import n_rows, observed
from ..core.arrays import Array, Float, Real, Sparse, Theta
from ..core.pytrees import pytree
from ..core.special import LOG_2PI, log_rising_half, log_student_t, namespace, square, tetragamma
from ..core.supports import AMOUNT, COUNT, REAL, Cells, Field, declare
from ..normal_inverse_gamma import AbstractNormal
from ..statistics import Moments
from ..sums.gaussian import log_normal_sum
from ..sums.own_class import log_ratios_of_own
from ..sums.rows import downdate, leave_one_out_table, made_dense, sum_over_cells, sum_over_features


@pytree
@dataclass(frozen=True)
class NormalInverseGamma(AbstractNormal):
    """Normal–inverse-gamma density of each (μ_cj, σ²_cj), as a prior or a posterior.

    Fields
    ------
    m : (c, d)       centre of the mean, unit of the feature
    kappa : (c, d)   pseudo-rows behind the mean, positive
    a : (c, d)       shape of the variance: half the pseudo-rows behind it, positive
    b : (c, d)       scale of the variance, unit of the feature squared, positive
    """

    m: Float[Array, "c d"]
    kappa: Float[Array, "c d"]
    a: Float[Array, "c d"]
    b: Float[Array, "c d"]

    fields_ = declare(
        m=Field(REAL, ("class", "feature")),
        kappa=Field(COUNT, ("class", "feature"), limit=0.0),
        a=Field(COUNT, ("class", "feature"), limit=-0.5),
        b=Field(AMOUNT, ("class", "feature"), limit=0.0, per="a"),
    )
    cells_ = Cells("real", sparse=True)
    flat_ = declare(kappa=0.0, a=-1.5, b=0.0)

    def update(self, stats: Moments) -> Self:
        """κ + n, m + n(x̄ − m)/(κ + n), a + n/2, b + ½ ss + ½ κ n (x̄ − m)²/(κ + n). Murphy (2007), (85)–(89)."""
        delta = stats.mean - self.m
        share = stats.n / (self.kappa + stats.n)
        b = self.b + self._growth(stats)
        return type(self)(self.m + share * delta, self.kappa + stats.n, self.a + stats.n / 2, b)

    def rounding_of(self, field: str) -> Array | float:
        """For b under b = 0: the error from rounding the mean of equal cells, κ (1e-15 m)²."""
        return self.kappa * (1e-15 * self.m) ** 2 if field == "b" else 0.0

    @made_dense
    def log_loo(self, x: Real[Array, "n d"] | Sparse, r: Float[Array, "n c"] | Sparse) -> Float[Array, "n c"]:
        """log_predictive without row i, which is removed from the classes in which it has weight w; δ = x − m.

        `update` solved for the prior: κ' = κ − w, m' = m − wδ/κ', a' = a − w/2, b' = b − ½ wκδ²/κ'.
        """

        def cell(x: Array, w: Array, m: Array, kappa: Array, a: Array, b: Array) -> Array:
            left, delta = downdate(kappa, w), x - m
            a, b = downdate(a, w / 2), downdate(b, 0.5 * w * kappa / left * square(delta))
            return log_student_t(kappa / left * delta, 2 * a, 0 * a, xp.sqrt(b / a * (1 + 1 / left)))

        def units(x: Array, y: Array) -> Array:  # the evidence of all rows over that of the others
            left, fewer = downdate(self.kappa, 1.0), downdate(self.a, 0.5)
            level = log_rising_half(fewer) - 0.5 * (LOG_2PI + np.log(self.b) + np.log1p(1 / left))
            return log_ratios_of_own(x, y, self.m, np.sqrt(0.5 * self.kappa / left / self.b), fewer, level)

        xp, fields = namespace(x, r, self.a), (self.m, self.kappa, self.a, self.b)
        return leave_one_out_table(self.log_predictive, sum_over_cells(cell), x, r, *fields, units=units)

    def log_likelihood(self, theta: Theta, x: Real[Array, "n d"] | Sparse) -> Float[Array, "*s n c"]:
        """−½ Σ_j log 2πσ² + (x − μ)²/σ²."""
        return log_normal_sum(x, theta["mu"], namespace(theta["variance"]).sqrt(theta["variance"]))

    def log_third_cumulant(self, x: Real[Array, "n d"] | Sparse) -> Float[Array, "n c"]:
        """Third cumulant over θ of log p(x_i | θ_c), summed over j, with δ = x − m and u = δ²/b.

        ⅛ψ₂(a) − 1/κ³ + 3u/(2κ) + ⅜u² − 3au/κ² − 3au²/(2κ) − ¼au³

        It is the coefficient of t³/3! in log E p(x | θ)^t = log Γ(a+t/2)/Γ(a) − ½ log(1+t/κ) − (a+t/2) log(1+v) and
        terms linear in t, where v = ½ut/(1+t/κ).
        """

        def third(x: Array, m: Array, kappa: Array, a: Array, b: Array) -> Array:
            xp = namespace(b)
            u = xp.minimum(square((x - m) / xp.sqrt(b)), 1e90 if b.dtype == np.float64 else 1e9)
            gain = u * (1.5 / kappa + 0.375 * u)
            loss = a * u * (3 / kappa**2 + u * (1.5 / kappa + 0.25 * u))
            return tetragamma(a) / 8 - 1 / kappa**3 + gain - loss

        return sum_over_features(third, x, self.m, self.kappa, self.a, self.b)

    def sample_predictive(self, rng: np.random.Generator, y: np.ndarray, **given: Any) -> np.ndarray:
        """x_ij = m + t √(b(κ+1)/(aκ)), t with 2a degrees of freedom."""
        scale = self._scale()
        return self.m[y] + scale[y] * rng.standard_t(2 * self.a[y])

    def model(self, x: Real[Array, "*c n d"] | None, y: Array) -> None:
        """The same model in NumPyro, with all plates."""
        import jax.numpy as jnp
        import numpyro
        import numpyro.distributions as dist

        c, d = self.m.shape
        with numpyro.plate("class", c, dim=-2), numpyro.plate("feature", d, dim=-1):
            variance = numpyro.sample("variance", dist.InverseGamma(self.a, self.b))
            mu = numpyro.sample("mu", dist.Normal(self.m, jnp.sqrt(variance / self.kappa)))
        seen, x = observed(x)
        with numpyro.plate("row", n_rows(x, y), dim=-1):
            numpyro.sample("x", dist.Normal(mu[y], jnp.sqrt(variance[y])).mask(seen).to_event(1), obs=x)
