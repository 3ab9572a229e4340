"""Normal–inverse-gamma: real features, a mean and a variance for every class and feature.

    σ²_cj ~ InverseGamma(a_cj, scale b_cj)
    μ_cj | σ²_cj ~ Normal(m_cj, σ²_cj / κ_cj)
    x_ij | y_i = c ~ Normal(μ_cj, σ²_cj)       independent given the class; NaN = missing, left out cell by cell

With both parameters integrated out one value is Student t. Murphy (2007), Conjugate Bayesian analysis of the Gaussian
distribution, §6 (there α, β for a, b and κ as here); Gelman et al. (2013), Bayesian Data Analysis, 3rd ed., §3.3.
"""

from dataclasses import dataclass
from typing import Any, Self

import jax
import numpy as np
from jaxtyping import Float, Int, Real

from .._random import Key, inverse_gamma, normal, split
from .._rows import over_classes
from .._special import LOG_2PI, digamma, gammaln, log_normal, log_rising, log_student_t, namespace, square, trigamma
from .._typing import Array, Sparse, Theta
from ..base import AbstractConjugate, observed
from ..statistics import Moments


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class NormalInverseGamma(AbstractConjugate):
    """Normal–inverse-gamma density of each (μ_cj, σ²_cj), prior or posterior.

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

    parameters = ("mu", "variance")

    def suffstats(self, x: Real[Array, "n d"], r: Float[Array, "n c"] | Sparse) -> Moments:
        """Weight, mean and centred sum of squares of the observed cells."""
        return Moments.of(x, r)

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

    def select(self, columns: Int[np.ndarray, " k"]) -> Self:
        """The block of some of its columns: features are independent given the class."""
        return type(self)(self.m[:, columns], self.kappa[:, columns], self.a[:, columns], self.b[:, columns])

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

    def log_predictive(self, x: Real[Array, "n d"]) -> Float[Array, "n c"]:
        """Σ_j log t(x_j; 2a, m, b(κ+1)/(aκ)). Murphy (2007), (100)."""
        xp = namespace(x, self.a)
        scale = xp.sqrt(self.b / self.a * (1 + 1 / self.kappa))
        return over_classes(log_student_t, x, 2 * self.a, self.m, scale)

    def log_likelihood(self, theta: Theta, x: Real[Array, "n d"]) -> Float[Array, "*s n c"]:
        """−½ Σ_j log 2πσ² + (x − μ)²/σ²."""
        sd = namespace(theta["variance"]).sqrt(theta["variance"])
        return over_classes(log_normal, x, theta["mu"], sd)

    def log_moments(self, x: Real[Array, "n d"]) -> tuple[Float[Array, "n c"], Float[Array, "n c"]]:
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
        return over_classes(mean, x, *fields), over_classes(variance, x, *fields)

    def sample(self, key: Key, shape: tuple[int, ...] = ()) -> Theta:
        """σ² = b / G(a), then μ = m + z √(σ²/κ)."""
        first, second = split(key, 2)
        variance = inverse_gamma(first, self.a, self.b, shape)
        z = normal(second, (*shape, *self.m.shape))
        return {"mu": self.m + z * namespace(variance).sqrt(variance / self.kappa), "variance": variance}

    def mean(self) -> Theta:
        """m and b/(a − 1); the variance has a mean only for a > 1, elsewhere its mode b/(a + 1) stands in."""
        xp = namespace(self.a)
        return {"mu": self.m, "variance": self.b / xp.where(self.a > 1, self.a - 1, self.a + 1)}

    def mode(self) -> Theta:
        """m and b/(a + 3/2), the mode of both together."""
        return {"mu": self.m, "variance": self.b / (self.a + 1.5)}

    def mle(self, stats: Moments) -> Theta:
        """x̄ and ss/n."""
        xp = namespace(stats.n)
        found = stats.n > 0
        spread = xp.maximum(stats.ss / xp.where(found, stats.n, 1), xp.finfo(stats.ss.dtype).tiny)
        mean = self.mean()
        return {"mu": xp.where(found, stats.mean, mean["mu"]), "variance": xp.where(found, spread, mean["variance"])}

    def on_boundary(self) -> bool:
        """Never: the density vanishes at σ² = 0."""
        return False

    def marginals(self) -> dict[str, Any]:
        """Student t(2a, m, b/(aκ)) for `mu`, InverseGamma(a, b) for `variance`."""
        from scipy import stats

        scale = np.sqrt(self.b / (self.a * self.kappa))
        return {"mu": stats.t(2 * self.a, self.m, scale), "variance": stats.invgamma(self.a, scale=self.b)}

    def sample_predictive(self, rng: np.random.Generator, y: np.ndarray, **given: Any) -> np.ndarray:
        """x_ij = m + t √(b(κ+1)/(aκ)), t with 2a degrees of freedom."""
        scale = np.sqrt(self.b / self.a * (1 + 1 / self.kappa))
        return self.m[y] + scale[y] * rng.standard_t(2 * self.a[y])

    def model(self, x: Real[Array, "n d"] | None, y: Any) -> None:
        """The same model in NumPyro, plates written out."""
        import jax.numpy as jnp
        import numpyro
        import numpyro.distributions as dist

        c, d = self.m.shape
        with numpyro.plate("class", c, dim=-2), numpyro.plate("feature", d, dim=-1):
            variance = numpyro.sample("variance", dist.InverseGamma(self.a, self.b))
            mu = numpyro.sample("mu", dist.Normal(self.m, jnp.sqrt(variance / self.kappa)))
        seen, x = observed(x)
        with numpyro.plate("row", len(y), dim=-2), numpyro.plate("feature", d, dim=-1):
            numpyro.sample("x", dist.Normal(mu[y], jnp.sqrt(variance[y])).mask(seen), obs=x)
