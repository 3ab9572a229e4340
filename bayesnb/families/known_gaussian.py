"""Normal with known variance: real features with known noise, such as a measurement error.

    μ_cj ~ Normal(m_cj, σ²_cj / κ_cj)
    x_ij | y_i = c ~ Normal(μ_cj, σ²_cj)       σ² given; NaN = missing, left out cell by cell

This is the normal–inverse-gamma model with a fixed variance. See Murphy (2007), Conjugate Bayesian analysis of the
Gaussian distribution, §2, with κ = σ²/σ₀² for his prior variance σ₀² of the mean.
"""

from collections.abc import Callable
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from ..base import n_rows, observed
from ..core.arrays import Array, Float, Real, Sparse, Theta
from ..core.pytrees import pytree
from ..core.random import Key, normal
from ..core.special import LOG_2PI, log_normal, namespace, square
from ..core.supports import AMOUNT, COUNT, REAL, Cells, Field, declare
from ..independent import AbstractIndependent, Cell
from ..statistics import Moments
from ..sums.gaussian import log_normal_sum
from ..sums.own_class import log_normals_of_own
from ..sums.rows import downdate, leave_one_out_table, made_dense, sum_over_cells


@pytree
@dataclass(frozen=True)
class KnownVarianceNormal(AbstractIndependent[Moments]):
    """Normal density of each μ_cj, as a prior or a posterior.

    Fields
    ------
    m : (c, d)         centre of the mean, unit of the feature
    kappa : (c, d)     pseudo-rows behind the mean, positive
    variance : (c, d)  the known σ², unit of the feature squared, positive
    log_c : (c, d)     logarithm of the part of the likelihood of all data so far that does not depend on μ, in nats;
                       zero in a prior. It is what an unknown σ² would have learnt from.
    """

    m: Float[Array, "c d"]
    kappa: Float[Array, "c d"]
    variance: Float[Array, "c d"]
    log_c: Float[Array, "c d"]

    fields_ = declare(
        m=Field(REAL, ("class", "feature")),
        kappa=Field(COUNT, ("class", "feature"), limit=0.0),
        variance=Field(AMOUNT, ("class", "feature"), fitted=False),
        log_c=Field(REAL, ("class", "feature"), fitted=False),
    )
    cells_ = Cells("real", sparse=True)
    flat_ = declare(kappa=0.0)
    monoid = Moments
    parameters = ("mu",)
    distribution_ = "Normal", MappingProxyType({"m": "loc", "kappa": "scale"})

    def fields_from(self, prior: Any, place: Callable[[Any], Any] = np.asarray) -> dict[str, Any]:
        """m, and κ = σ²/s² of a Normal(m, s)."""
        found = super().fields_from(prior, place)
        return found | {"kappa": self.variance / found["kappa"] ** 2}

    def updated(
        self, stats: Moments | Cell, m: Array, kappa: Array, variance: Array, log_c: Array
    ) -> tuple[Array, ...]:
        """κ + n, m + n(x̄ − m)/(κ + n). Murphy (2007), (20), (24)."""
        share = stats.n / downdate(kappa, -stats.n)
        return m + share * (stats.mean - m), kappa + stats.n, variance, log_c + _gain(stats, m, kappa, variance)

    def log_normalizer(self) -> Float[Array, "c d"]:
        """½ log(2πσ²/κ), and the part of the likelihood that does not depend on μ."""
        xp = namespace(self.kappa)
        return 0.5 * (LOG_2PI + xp.log(self.variance) - xp.log(self.kappa)) + self.log_c

    def log_marginal(self, stats: Moments) -> Float[Array, "c d"]:
        """−½ n log 2πσ² − ½ [ss + κn(x̄−m)²/(κ+n)]/σ² − ½ log(1 + n/κ). Murphy (2007), (55)."""
        return (
            _gain(stats, self.m, self.kappa, self.variance)
            - 0.5 * namespace(self.kappa, stats.n).log1p(stats.n / self.kappa)
            + stats.log_h
        )

    def log_prob(self, theta: Theta) -> Float[Array, "*s c d"]:
        """log Normal(μ; m, σ²/κ)."""
        xp = namespace(self.variance)
        return log_normal(theta["mu"], self.m, xp.sqrt(self.variance / self.kappa))

    def log_predictive(self, x: Real[Array, "n d"] | Sparse) -> Float[Array, "n c"]:
        """Σ_j log Normal(x_j; m, σ²(1 + 1/κ)). Murphy (2007), (36)."""
        xp = namespace(x, self.m)
        return log_normal_sum(x, self.m, xp.sqrt(self.variance * (1 + 1 / self.kappa)))

    @made_dense
    def log_loo(self, x: Real[Array, "n d"] | Sparse, r: Float[Array, "n c"] | Sparse) -> Float[Array, "n c"]:
        """log_predictive without row i: κ' = κ − w and m' = m − w(x − m)/κ' in the classes where it has weight w."""

        def cell(x: Array, w: Array, m: Array, kappa: Array, variance: Array) -> Array:
            left = downdate(kappa, w)
            return log_normal(kappa / left * (x - m), 0 * m, xp.sqrt(variance * (1 + 1 / left)))

        def units(x: Array, y: Array) -> Array:
            left = downdate(self.kappa, 1.0)
            sd = np.sqrt(self.variance * (1 + 1 / left))
            return log_normals_of_own(x, y, self.m, left / self.kappa * sd, -0.5 * LOG_2PI - np.log(sd))

        xp, fields = namespace(x, r, self.m), (self.m, self.kappa, self.variance)
        return leave_one_out_table(self.log_predictive, sum_over_cells(cell), x, r, *fields, units=units)

    def log_likelihood(self, theta: Theta, x: Real[Array, "n d"] | Sparse) -> Float[Array, "*s n c"]:
        """−½ Σ_j log 2πσ² + (x − μ)²/σ²."""
        return log_normal_sum(x, theta["mu"], namespace(self.variance).sqrt(self.variance))

    def linear_form(self, theta: Theta) -> tuple[Float[Array, "d c"], Float[Array, " c"]] | None:
        """Weights μ/σ² and intercept −½ Σ_j μ²/σ² of log p(x | θ), up to terms that are equal in all classes.

        It is None if σ² differs between classes, because log p is then quadratic in x.
        """
        if (self.variance != self.variance[:1]).any():
            return None
        mu = theta["mu"]
        return (mu / self.variance).T, -0.5 * (mu * mu / self.variance).sum(-1)

    def cell_predictive(self, x: Array, m: Array, kappa: Array, variance: Array, log_c: Array) -> Array:
        """log Normal(x; m, σ²(1 + 1/κ)). Murphy (2007), (36)."""
        return log_normal(x, m, namespace(variance).sqrt(variance * (1 + 1 / kappa)))

    def cell_moments(self, x: Array, m: Array, kappa: Array, variance: Array, log_c: Array) -> tuple[Array, Array]:
        """−½ (log 2πσ² + δ²/σ² + 1/κ) and 1/(2κ²) + δ²/(κσ²), δ = x − m."""
        xp = namespace(variance)
        u = square((x - m) / xp.sqrt(variance))
        return -0.5 * (LOG_2PI + xp.log(variance) + u + 1 / kappa), 0.5 / kappa**2 + u / kappa

    def cell_third(self, x: Array, m: Array, kappa: Array, variance: Array, log_c: Array) -> Array:
        """−1/κ³ − 3δ²/(κ²σ²), δ = x − m: κ(x − μ)²/σ² is a noncentral χ² with one degree of freedom."""
        return -(1 / kappa**3) - 3 * square((x - m) / namespace(variance).sqrt(variance)) / kappa**2

    def sample(self, key: Key, shape: tuple[int, ...] = ()) -> Theta:
        """μ = m + z √(σ²/κ)."""
        sd = namespace(self.variance).sqrt(self.variance / self.kappa)
        return {"mu": self.m + normal(key, (*shape, *self.m.shape)) * sd}

    def mean(self) -> Theta:
        """m."""
        return {"mu": self.m}

    def mode(self) -> Theta:
        """m."""
        return {"mu": self.m}

    def mle(self, stats: Moments) -> Theta:
        """x̄."""
        return {"mu": namespace(stats.n).where(stats.n > 0, stats.mean, self.m)}

    def marginals(self) -> dict[str, Any]:
        """Normal(m, σ²/κ) for `mu`."""
        from scipy import stats

        return {"mu": stats.norm(self.m, np.sqrt(self.variance / self.kappa))}

    def sample_predictive(self, rng: np.random.Generator, y: np.ndarray, **given: Any) -> np.ndarray:
        """x_ij ~ Normal(m, σ²(1 + 1/κ))."""
        scale = np.sqrt(self.variance * (1 + 1 / self.kappa))
        return self.m[y] + scale[y] * rng.standard_normal((len(y), self.m.shape[1]))

    def model(self, x: Real[Array, "*c n d"] | None, y: Array) -> None:
        """The same model in NumPyro, with all plates."""
        import jax.numpy as jnp
        import numpyro
        import numpyro.distributions as dist

        c, d = self.m.shape
        with numpyro.plate("class", c, dim=-2), numpyro.plate("feature", d, dim=-1):
            mu = numpyro.sample("mu", dist.Normal(self.m, jnp.sqrt(self.variance / self.kappa)))
        sd = jnp.sqrt(jnp.asarray(self.variance))
        seen, x = observed(x)
        with numpyro.plate("row", n_rows(x, y), dim=-1):
            numpyro.sample("x", dist.Normal(mu[y], sd[y]).mask(seen).to_event(1), obs=x)


def _gain(stats: Moments | Cell, m: Array, kappa: Array, variance: Array) -> Array:
    """−½ n log σ² − ½ [ss + κn(x̄−m)²/(κ+n)]/σ², what data add to log_c."""
    delta = stats.mean - m
    energy = stats.ss + kappa * stats.n / (kappa + stats.n) * delta * delta
    return -0.5 * (stats.n * namespace(variance).log(variance) + energy / variance)
