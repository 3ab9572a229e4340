"""Normal with known variance: real features with known noise, such as a measurement error.

    μ_cj ~ Normal(m_cj, σ²_cj / κ_cj)
    x_ij | y_i = c ~ Normal(μ_cj, σ²_cj)       σ² given; NaN = missing, left out cell by cell

This is the normal–inverse-gamma model with a fixed variance. See Murphy (2007), Conjugate Bayesian analysis of the
Gaussian distribution, §2, with κ = σ²/σ₀² for his prior variance σ₀² of the mean.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Self

import numpy as np

from ..core.arrays import Array, Float, Real, Sparse, Theta, Value, is_sparse
from ..core.pytrees import map_leaves, pytree
from ..core.random import Key, normal
from ..core.special import LOG_2PI, log_normal, namespace
from ..core.supports import AMOUNT, COUNT, REAL, Field, declare
from ..normals import AbstractNormalCells, by_slices
from ..statistics import Moments
from ..sums.gaussian import log_normal_sum
from ..sums.rows import shared_weight


@pytree
@dataclass(frozen=True)
class KnownVarianceNormal(AbstractNormalCells):
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
    parameters = ("mu",)
    scale_ = ("variance",)
    distribution_ = "Normal", MappingProxyType({"m": "loc", "kappa": "scale"})

    def model(self, x: Real[Array, "*c n d"] | None, y: Array) -> None:
        """The same model in NumPyro, with all plates."""
        import jax.numpy as jnp
        import numpyro
        import numpyro.distributions as dist

        c, d = self.m.shape
        with numpyro.plate("class", c, dim=-2), numpyro.plate("feature", d, dim=-1):
            mu = numpyro.sample("mu", dist.Normal(self.m, jnp.sqrt(self.variance / self.kappa)))
        self.observe(x, y, mu, jnp.sqrt(jnp.asarray(self.variance))[y])

    def update(self, stats: Moments) -> Self:
        """κ + n, m + n(x̄ − m)/(κ + n); log_c grows by `gain`. Murphy (2007), (20), (24)."""
        log_c = self.log_c + self.gain(stats.n, self._growth(stats), self.variance)
        return replace(super().update(stats), log_c=log_c)

    def added(self, n: Array, growth: Array, variance: Array) -> tuple[Array]:
        """σ² stays."""
        return (variance,)

    def gain(self, n: Value | int, growth: Array, variance: Array) -> Array:
        """−½ n log σ² − ½ [ss + κn(x̄−m)²/(κ+n)]/σ², the part of Murphy (2007), (55) that σ² has."""
        return -0.5 / variance * growth - 0.5 * n * namespace(variance).log(variance)

    def log_predictive(self, x: Real[Array, "n d"] | Sparse) -> Float[Array, "n c"]:
        """Σ_j log Normal(x_j; m, σ²(1 + 1/κ)). Murphy (2007), (36)."""
        return log_normal_sum(x, self.m, namespace(x, self.m).sqrt(self.variance * (1 + 1 / self.kappa)))

    def log_normalizer(self) -> Float[Array, "c d"]:
        """½ log(2πσ²/κ), and the part of the likelihood that does not depend on μ."""
        xp = namespace(self.kappa)
        return 0.5 * (LOG_2PI + xp.log(self.variance) - xp.log(self.kappa)) + self.log_c

    def log_prob(self, theta: Theta) -> Float[Array, "*s c d"]:
        """log Normal(μ; m, σ²/κ)."""
        return log_normal(theta["mu"], self.m, namespace(self.variance).sqrt(self.variance / self.kappa))

    def mean(self) -> Theta:
        """m."""
        return {"mu": self.m}

    def mode(self) -> Theta:
        """m."""
        return {"mu": self.m}

    def variance_of(self, theta: Theta) -> Float[Array, "c d"]:
        """The known σ²."""
        return self.variance

    def precision(self) -> tuple[tuple[Array, Array, Array], Array, Array]:
        """−log 2πσ², 1/σ², and 0 for all that an unknown σ² would vary by."""
        none = 0 * self.variance
        return (-LOG_2PI - namespace(none).log(self.variance), none, none), 1 / self.variance, none

    def log_loo(self, x: Real[Array, "n d"] | Sparse, r: Float[Array, "n c"] | Sparse) -> Float[Array, "n c"]:
        """log_predictive without row i: κ' = κ − w and m' = m − w(x − m)/κ' in the classes where it has weight w."""
        if namespace(x, r, self.m) is not np:
            return super().log_loo(x, r)
        w, table = r.toarray() if is_sparse(r) else r, self.log_predictive(x)
        for k in range(len(self.m)):
            own, part = np.flatnonzero(w[:, k]), map_leaves(lambda leaf, k=k: leaf[k : k + 1], self)

            def column(x: Array, w: Array, part: Self = part) -> Array:
                return part._cells(x, shared_weight(w)).sum(-1)[0]

            table[own, k] = by_slices(column, x.shape[1], x[own], w[own, k : k + 1])
        return table

    def fields_from(self, prior: Any, place: Callable[[Any], Any] = np.asarray) -> dict[str, Any]:
        """m, and κ = σ²/s² of a Normal(m, s)."""
        found = super().fields_from(prior, place)
        return found | {"kappa": self.variance / found["kappa"] ** 2}

    def sample(self, key: Key, shape: tuple[int, ...] = ()) -> Theta:
        """μ = m + z √(σ²/κ)."""
        sd = namespace(self.variance).sqrt(self.variance / self.kappa)
        return {"mu": self.m + normal(key, (*shape, *self.m.shape)) * sd}

    def sample_predictive(self, rng: np.random.Generator, y: np.ndarray, **given: Any) -> np.ndarray:
        """x_ij ~ Normal(m, σ²(1 + 1/κ))."""
        scale = np.sqrt(self.variance * (1 + 1 / self.kappa))
        return self.m[y] + scale[y] * rng.standard_normal((len(y), self.m.shape[1]))

    def marginals(self) -> dict[str, Any]:
        """Normal(m, σ²/κ) for `mu`."""
        from scipy import stats

        return {"mu": stats.norm(self.m, np.sqrt(self.variance / self.kappa))}
