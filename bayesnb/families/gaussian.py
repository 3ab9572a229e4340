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

from ..base import AbstractConjugate, n_rows, observed
from ..core.arrays import Array, Float, Real, Sparse, Theta
from ..core.exact import ExactSum, moment_sums
from ..core.pytrees import pytree
from ..core.random import Key, inverse_gamma, normal, split
from ..core.special import (
    LOG_2PI,
    digamma,
    gammaln,
    log_rising,
    log_student_t,
    namespace,
    square,
    tetragamma,
    trigamma,
)
from ..core.supports import AMOUNT, COUNT, REAL, Cells, Field, declare
from ..statistics import Moments
from ..sums.gaussian import log_normal_sum, log_student_sum
from ..sums.own_class import log_ratios_of_own
from ..sums.rows import downdate, leave_one_out_table, made_dense, sum_over_cells, sum_over_features


@pytree
@dataclass(frozen=True)
class NormalInverseGamma(AbstractConjugate):
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
    marks_strangers = True
    cells_ = Cells("real", sparse=True)
    flat_ = declare(kappa=0.0, a=-1.5, b=0.0)
    separable = True
    parameters = ("mu", "variance")
    kept_types = frozenset({"float32", "int64"})

    def suffstats(self, x: Real[Array, "n d"] | Sparse, r: Float[Array, "n c"] | Sparse) -> Moments:
        """The weight, mean and centred sum of squares of the observed cells."""
        return Moments.of(x, r)

    def exact_sums(
        self, x: Real[Array, "n d"] | Sparse, r: Float[Array, "n c"] | Sparse, stats: Moments
    ) -> dict[str, ExactSum]:
        """Σ_i r_ic, Σ_i r_ic x_ij and Σ_i r_ic x_ij² over the observed cells."""
        return moment_sums(x, r)

    def update(self, stats: Moments) -> Self:
        """κ + n, m + n(x̄ − m)/(κ + n), a + n/2, b + ½ ss + ½ κ n (x̄ − m)²/(κ + n). Murphy (2007), (85)–(89)."""
        delta = stats.mean - self.m
        share = stats.n / (self.kappa + stats.n)
        b = self.b + self._growth(stats)
        return type(self)(self.m + share * delta, self.kappa + stats.n, self.a + stats.n / 2, b)

    def _growth(self, stats: Moments) -> Float[Array, "c d"]:
        """½ ss + ½ κ n (x̄ − m)²/(κ + n), what data add to b; bₙ − b would lose it beside a large b."""
        delta = stats.mean - self.m
        return 0.5 * (stats.ss + self.kappa * stats.n / (self.kappa + stats.n) * delta * delta)

    def rounding_of(self, field: str) -> Any:
        """For b under b = 0: the error from rounding the mean of equal cells, κ (1e-15 m)²."""
        return self.kappa * (1e-15 * self.m) ** 2 if field == "b" else 0.0

    def log_normalizer(self) -> Float[Array, "c d"]:
        """log Γ(a) − a log b + ½ log(2π/κ)."""
        xp = namespace(self.a)
        return gammaln(self.a) - self.a * xp.log(self.b) + 0.5 * (LOG_2PI - xp.log(self.kappa))

    def log_marginal(self, stats: Moments) -> Float[Array, "c d"]:
        """log Γ(a+n/2)/Γ(a) − a log(bₙ/b) − ½ n log(2πbₙ) + ½ log κ/κₙ. Murphy (2007), (95)."""
        xp = namespace(self.a, stats.n)
        growth = self._growth(stats)
        gamma = log_rising(self.a, stats.n / 2) - self.a * xp.log1p(growth / self.b)
        return gamma - 0.5 * stats.n * xp.log(self.b + growth) - 0.5 * xp.log1p(stats.n / self.kappa) + stats.log_h

    def log_prob(self, theta: Theta) -> Float[Array, "*s c d"]:
        """log Normal(μ; m, σ²/κ) + log InverseGamma(σ²; a, b)."""
        variance = theta["variance"]
        xp = namespace(variance)
        energy = (self.b + 0.5 * self.kappa * xp.square(theta["mu"] - self.m)) / variance
        return -(self.a + 1.5) * xp.log(variance) - energy - self.log_normalizer()

    def log_predictive(self, x: Real[Array, "n d"] | Sparse) -> Float[Array, "n c"]:
        """Σ_j log t(x_j; 2a, m, b(κ+1)/(aκ)). Murphy (2007), (100)."""
        return log_student_sum(x, 2 * self.a, self.m, self._scale())

    def _scale(self) -> Float[Array, "c d"]:
        """√(b(κ+1)/(aκ)); b/(aκ) itself could overflow."""
        xp = namespace(self.a)
        return xp.sqrt(self.b) * xp.sqrt((1 + 1 / self.kappa) / self.a)

    def log_cells(self, x: Float[Array, " d"]) -> Float[Array, "c d"]:
        """log t(x_j; 2a, m, b(κ+1)/(aκ)) of each cell of one row, 0 if it is missing."""
        xp = namespace(x, self.a)
        scale = xp.sqrt(self.b / self.a * (1 + 1 / self.kappa))
        return xp.where(xp.isnan(x), 0, log_student_t(x, 2 * self.a, self.m, scale))

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
            level = log_rising(fewer, 0.5) - 0.5 * (LOG_2PI + np.log(self.b) + np.log1p(1 / left))
            return log_ratios_of_own(x, y, self.m, np.sqrt(0.5 * self.kappa / left / self.b), fewer, level)

        xp, fields = namespace(x, r, self.a), (self.m, self.kappa, self.a, self.b)
        return leave_one_out_table(self.log_predictive, sum_over_cells(cell), x, r, *fields, units=units)

    def log_likelihood(self, theta: Theta, x: Real[Array, "n d"] | Sparse) -> Float[Array, "*s n c"]:
        """−½ Σ_j log 2πσ² + (x − μ)²/σ²."""
        return log_normal_sum(x, theta["mu"], namespace(theta["variance"]).sqrt(theta["variance"]))

    def log_moments(self, x: Real[Array, "n d"] | Sparse) -> tuple[Float[Array, "n c"], Float[Array, "n c"]]:
        """Mean and variance of the log likelihood over θ, summed over j, with δ = x − m.

        ½(ψ(a) − log b − log 2π) − ½(aδ²/b + 1/κ)
        ¼(ψ₁(a) + aδ⁴/b² − 2δ²/b + 2/κ² + 4aδ²/(bκ))
        """

        def mean(x: Array, m: Array, kappa: Array, a: Array, b: Array) -> Array:
            xp = namespace(b)
            return 0.5 * (digamma(a) - xp.log(b) - LOG_2PI - 1 / kappa - a * square((x - m) / xp.sqrt(b)))

        def variance(x: Array, m: Array, kappa: Array, a: Array, b: Array) -> Array:
            u = square((x - m) / namespace(b).sqrt(b))
            return 0.25 * (trigamma(a) + a * square(u) - 2 * u + 2 / kappa**2 + 4 * a * u / kappa)

        fields = self.m, self.kappa, self.a, self.b
        return sum_over_features(mean, x, *fields), sum_over_features(variance, x, *fields)

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

    def sample(self, key: Key, shape: tuple[int, ...] = ()) -> Theta:
        """σ² = b / G(a), then μ = m + z √(σ²/κ)."""
        first, second = split(key, 2)
        variance = inverse_gamma(first, self.a, self.b, shape)
        z = normal(second, (*shape, *self.m.shape))
        return {"mu": self.m + z * namespace(variance).sqrt(variance / self.kappa), "variance": variance}

    def mean(self) -> Theta:
        """m and b/(a − 1); the variance has a mean only for a > 1, otherwise this is its mode b/(a + 1)."""
        xp = namespace(self.a)
        return {"mu": self.m, "variance": self.b / xp.where(self.a > 1, self.a - 1, self.a + 1)}

    def mode(self) -> Theta:
        """m and b/(a + 3/2), the joint mode."""
        return {"mu": self.m, "variance": self.b / (self.a + 1.5)}

    def mle(self, stats: Moments) -> Theta:
        """x̄ and ss/n."""
        xp = namespace(stats.n)
        found = stats.n > 0
        spread = xp.maximum(stats.ss / xp.where(found, stats.n, 1), xp.finfo(stats.ss.dtype).tiny)
        mean = self.mean()
        return {"mu": xp.where(found, stats.mean, mean["mu"]), "variance": xp.where(found, spread, mean["variance"])}

    def marginals(self) -> dict[str, Any]:
        """Student t(2a, m, b/(aκ)) for `mu`, InverseGamma(a, b) for `variance`."""
        from scipy import stats

        scale = np.sqrt(self.b / (self.a * self.kappa))
        return {"mu": stats.t(2 * self.a, self.m, scale), "variance": stats.invgamma(self.a, scale=self.b)}

    def sample_predictive(self, rng: np.random.Generator, y: np.ndarray, **given: Any) -> np.ndarray:
        """x_ij = m + t √(b(κ+1)/(aκ)), t with 2a degrees of freedom."""
        scale = self._scale()
        return self.m[y] + scale[y] * rng.standard_t(2 * self.a[y])

    def model(self, x: Real[Array, "*c n d"] | None, y: Any) -> None:
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
