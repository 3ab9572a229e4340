"""Beta–geometric: the number of failures before the first success.

    θ_cj ~ Beta(a_cj, b_cj)                  probability of success of feature j in class c
    p(x_ij | y_i = c) = θ_cj (1 − θ_cj)^x    x = 0, 1, 2, … independent given the class; NaN = missing, left out

Counts that fall off from zero, with a longer tail than Poisson's; the exponential in whole steps. With θ integrated out
one count is beta-geometric, a ratio of beta functions. Johnson, Kemp & Kotz (2005), Univariate Discrete Distributions,
3rd ed., ch. 5 (geometric) and 6 (beta mixtures of the negative binomial, of which it is the one with k = 1).
"""

from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from scipy import sparse

from ..base import observed
from ..core.arrays import Array, Float, Real, Sparse, Theta
from ..core.pytrees import pytree
from ..core.random import Key, log_dirichlet
from ..core.special import digamma, log_beta, log_floor, log_rising, namespace, tetragamma, trigamma
from ..core.supports import COUNT, Cells, Field, declare
from ..independent import AbstractIndependent
from ..statistics import Totals
from ..sums.long_counts import (
    cumulants_by_row,
    geometric_cumulants,
    log_beta_geometric,
    log_beta_ratio,
    where_long,
    with_long_cells,
)
from ..sums.rows import contract, log_rising_cells, log_rising_sum, map_cells


@pytree
@dataclass(frozen=True)
class BetaGeometric(AbstractIndependent):
    """Beta density of each θ_cj, prior or posterior.

    Fields
    ------
    a, b : (c, d)   pseudo-counts of successes (one a row) and of failures, positive
    """

    a: Float[Array, "c d"]
    b: Float[Array, "c d"]

    fields_ = declare(
        a=Field(COUNT, ("class", "feature"), public="alpha"),
        b=Field(COUNT, ("class", "feature"), public="beta", per="alpha"),
    )
    cells_ = Cells("counts", whole=True, sparse=True)
    distribution_ = "Beta", MappingProxyType({"a": "concentration1", "b": "concentration0"})
    names_ = MappingProxyType({"theta": "stopping probability"})
    parameters = ("logit_theta",)

    def updated(self, stats: Any, a: Array, b: Array) -> tuple[Array, Array]:
        """a + n, b + Σ_i x_i."""
        return a + stats.n, b + stats.total

    def cell_predictive(self, x: Array, a: Array, b: Array) -> Array:
        """log B(a+1, b+x) / B(a, b) = log a/(a+b) + log b^(x) / (a+b+1)^(x), rising factorials."""
        plain = log_rising_cells(b, x) - log_rising_cells(a + b + 1, x) - namespace(x, a).log1p(b / a)
        return where_long(plain, log_beta_geometric, x, a, b)

    def log_normalizer(self) -> Float[Array, "c d"]:
        """log B(a, b)."""
        return log_beta(self.a, self.b)

    def log_marginal(self, stats: Totals) -> Float[Array, "c d"]:
        """log B(a+n, b+s) / B(a, b), s = Σ_i x_i, written with rising factorials."""
        n, total = stats.n, stats.total
        ratio = log_rising(self.a, n) + log_rising(self.b, total) - log_rising(self.a + self.b, n + total)
        return where_long(ratio, lambda x, n, a, b: log_beta_ratio(n, x, a, b), total, n, self.a, self.b) + stats.log_h

    def log_prob(self, theta: Theta) -> Float[Array, "*s c d"]:
        """(a−1) log θ + (b−1) log(1−θ) − log B(a, b)."""
        log_p, log_q = _log_probabilities(theta)
        return (self.a - 1) * log_p + (self.b - 1) * log_q - self.log_normalizer()

    def log_predictive(self, x: Real[Array, "n d"] | Sparse) -> Float[Array, "n c"]:
        """log B(a+1, b+x) / B(a, b) = log a/(a+b) + log b^(x) / (a+b+1)^(x), rising factorials, summed over j."""

        def plain(x: Any) -> Array:
            xp = namespace(x, self.a)
            counts = x if sparse.issparse(x) else xp.where(xp.isnan(x), 0, x)
            success = contract(x, 0 * self.a, -xp.log1p(self.b / self.a))
            return success + log_rising_sum(counts, self.b) - log_rising_sum(counts, self.a + self.b + 1)

        return with_long_cells(plain, lambda count, j: log_beta_geometric(count, self.a[:, j], self.b[:, j]), x)

    def log_likelihood(self, theta: Theta, x: Real[Array, "n d"] | Sparse) -> Float[Array, "*s n c"]:
        """Σ_j log θ + x log(1−θ)."""
        log_p, log_q = _log_probabilities(theta)
        return contract(x, log_q, log_p)

    def linear_form(self, theta: Theta) -> tuple[Float[Array, "d c"], Float[Array, " c"]]:
        """Weights log(1−θ) and intercept Σ_j log θ of log p(x | θ) = x·w + b, for rows without missing cells."""
        log_p, log_q = _log_probabilities(theta)
        return log_q.T, log_p.sum(-1)

    def log_moments(self, x: Real[Array, "n d"] | Sparse) -> tuple[Float[Array, "n c"], Float[Array, "n c"]]:
        """Σ_j ψ(a) + xψ(b) − (1+x)ψ(a+b), Σ_j ψ₁(a) + x²ψ₁(b) − (1+x)²ψ₁(a+b)."""
        whole = self.a + self.b

        def mean(x: Any) -> Array:
            return contract(x, digamma(self.b) - digamma(whole), digamma(self.a) - digamma(whole))

        def variance(x: Any) -> Array:
            squares = map_cells(x, lambda count: count * count)
            line = contract(x, -2 * trigamma(whole), trigamma(self.a) - trigamma(whole))
            return line + contract(squares, trigamma(self.b) - trigamma(whole), 0 * self.a)

        return self._cumulant(mean, 1, x), self._cumulant(variance, 2, x)

    def _cumulant(self, plain: Any, order: int, x: Real[Array, "n d"] | Sparse) -> Float[Array, "n c"]:
        """A cumulant by its plain formula, cells of many events with all their digits."""
        return with_long_cells(plain, cumulants_by_row(geometric_cumulants, order, self.a, self.b), x)

    def log_third_cumulant(self, x: Real[Array, "n d"] | Sparse) -> Float[Array, "n c"]:
        """Σ_j ψ₂(a) + x³ψ₂(b) − (1+x)³ψ₂(a+b)."""
        whole, third_b = tetragamma(self.a + self.b), tetragamma(self.b)

        def third(x: Any) -> Array:
            line = contract(x, -3 * whole, tetragamma(self.a) - whole)
            squares = contract(map_cells(x, lambda count: count * count), -3 * whole, 0 * whole)
            return (
                line + squares + contract(map_cells(x, lambda count: count * count * count), third_b - whole, 0 * whole)
            )

        return self._cumulant(third, 3, x)

    def sample(self, key: Key, shape: tuple[int, ...] = ()) -> Theta:
        """Draws of logit θ = log G(a) − log G(b)."""
        draws = log_dirichlet(key, namespace(self.a).stack([self.a, self.b], -1), shape)
        return {"logit_theta": draws[..., 0] - draws[..., 1]}

    def mean(self) -> Theta:
        """a / (a + b)."""
        xp = namespace(self.a)
        return {"logit_theta": xp.log(self.a) - xp.log(self.b)}

    def mode(self) -> Theta:
        """(a−1) / (a+b−2); 0 or 1 where a or b is at most 1, the mean where both are (no mode is inside)."""
        xp = namespace(self.a)
        p, q = xp.maximum(self.a - 1, 0), xp.maximum(self.b - 1, 0)
        return {"logit_theta": xp.where(p + q > 0, log_floor(p) - log_floor(q), self.mean()["logit_theta"])}

    def mle(self, stats: Totals) -> Theta:
        """n / (n + Σ_i x_i)."""
        xp = namespace(stats.n)
        found = log_floor(stats.n) - log_floor(stats.total)
        return {"logit_theta": xp.where(stats.n > 0, found, self.mean()["logit_theta"])}

    def on_boundary(self) -> bool:
        """Whether some a or b is at most 1."""
        return bool(((self.a <= 1) | (self.b <= 1)).any())

    def marginals(self) -> dict[str, Any]:
        """Beta(a, b) for `theta`."""
        from scipy import stats

        return {"theta": stats.beta(self.a, self.b)}

    def sample_predictive(self, rng: np.random.Generator, y: np.ndarray, **given: Any) -> np.ndarray:
        """⌊E / −log(1−θ)⌋, E a standard exponential, with θ ~ Beta(a, b) drawn afresh for every cell."""
        draws = log_dirichlet(rng, np.stack([self.a, self.b], -1)[y])
        decay = -_log_probabilities({"logit_theta": draws[..., 0] - draws[..., 1]})[1]
        return np.floor(rng.standard_exponential(decay.shape) / np.maximum(decay, 1e-300))

    def model(self, x: Real[Array, "n d"] | None, y: Any) -> None:
        """The same model in NumPyro, plates written out."""
        import jax.numpy as jnp
        import numpyro
        import numpyro.distributions as dist

        c, d = self.a.shape
        with numpyro.plate("class", c, dim=-2), numpyro.plate("feature", d, dim=-1):
            theta = numpyro.sample("theta", dist.Beta(self.a, self.b))
        theta = jnp.minimum(theta, 1 - jnp.finfo(theta.dtype).eps)  # NumPyro 0.22 has p(x = 0 | θ = 1) = 0, not 1
        seen, x = observed(x)
        with numpyro.plate("row", len(y), dim=-2), numpyro.plate("feature", d, dim=-1):
            numpyro.sample("x", dist.GeometricProbs(theta[y]).mask(seen), obs=x)


def _log_probabilities(theta: Theta) -> tuple[Array, Array]:
    """log θ and log(1−θ) from the logit, each with all its digits."""
    logit = theta["logit_theta"]
    xp = namespace(logit)
    return -xp.logaddexp(0, -logit), -xp.logaddexp(0, logit)
