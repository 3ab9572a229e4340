"""Normal–inverse-gamma: real features, with a mean and a variance for each class and feature.

    σ²_cj ~ InverseGamma(a_cj, scale b_cj)
    μ_cj | σ²_cj ~ Normal(m_cj, σ²_cj / κ_cj)
    x_ij | y_i = c ~ Normal(μ_cj, σ²_cj)       independent given the class; NaN = missing, left out cell by cell

With both parameters integrated out one value is Student t. See Murphy (2007), Conjugate Bayesian analysis of the
Gaussian distribution, §6 (with α, β for a, b); Gelman et al. (2013), Bayesian Data Analysis, 3rd ed., §3.3.
"""

from dataclasses import dataclass
from typing import Any

from ..core.arrays import Array, Float, Real, Sparse, Theta
from ..normal import ConjugateNormal
from ..normals import growth
from ..sums.gaussian import log_normal_sum
from ._page import AMOUNT, COUNT, LOG_2PI, REAL, Cells, Field, Moments, declare, log1p, log_rising, namespace, pytree


@pytree
@dataclass(frozen=True)
class NormalInverseGamma(ConjugateNormal):
    """Normal–inverse-gamma density of each (μ_cj, σ²_cj), as a prior or a posterior.

    Fields
    ------
    m : (c, d)       centre of the mean, unit of the feature
    kappa : (c, d)   pseudo-rows behind the mean, positive
    a : (c, d)       shape of the variance: half the pseudo-rows behind it, positive
    b : (c, d)       scale of the variance, unit of the feature squared, positive

    Formulas
    --------
    predictive : log t(x; 2a, m, b(κ+1)/(aκ)). Murphy (2007), (100)
    mean : m and b/(a − 1); the variance has a mean only for a > 1, otherwise this is its mode b/(a + 1)
    mode : m and b/(a + 3/2), the joint mode
    mle : x̄ and ss/n
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
    kept_types = frozenset({"float32", "int64"})
    monoid = Moments

    def prior(self, sample: Any, dist: Any) -> None:
        """σ² ~ InverseGamma(a, scale b), μ ~ Normal(m, σ²/κ)."""
        variance = sample("variance", dist.InverseGamma(self.a, self.b))
        sample("mu", dist.Normal(self.m, variance**0.5 / self.kappa**0.5))

    def likelihood(self, dist: Any, mu: Array, variance: Array) -> Any:
        """x ~ Normal(μ, σ²)."""
        return dist.Normal(mu, variance**0.5)

    def log_h(self, x: Array) -> Array:
        """−½ log 2π."""
        return 0 * x - 0.5 * LOG_2PI

    def added(self, s: Any, m: Array, kappa: Array, a: Array, b: Array) -> tuple[Any, ...]:
        """m + n(x̄ − m)/(κ + n), κ + n, a + n/2, b + ½ ss + ½ κ n (x̄ − m)²/(κ + n). Murphy (2007), (85)–(89)."""
        return m + s.n / (kappa + s.n) * (s.mean - m), kappa + s.n, a + s.n / 2, b + growth(s, m, kappa)

    def gain(self, s: Any, m: Array, kappa: Array, a: Array, b: Array) -> Any:
        """log Γ(a+n/2)/Γ(a) − (a+n/2) log(bₙ/b) − ½ n log b − ½ log(1 + n/κ). Murphy (2007), (95).

        Of one cell, with −½ log 2π, it is log t(x; 2a, m, b(κ+1)/(aκ)), (100).
        """
        spread = log1p(growth(s, m, kappa) / b) * (a + s.n * 0.5) + s.n * (0.5 * namespace(b).log(b))
        return log_rising(a, s.n * 0.5) - spread - 0.5 * log1p(s.n / kappa)

    def log_likelihood(self, theta: Theta, x: Real[Array, "n d"] | Sparse) -> Float[Array, "*s n c"]:
        """−½ Σ_j log 2πσ² + (x − μ)²/σ²."""
        return log_normal_sum(x, theta["mu"], theta["variance"] ** 0.5)
