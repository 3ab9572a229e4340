"""Beta–geometric: the number of failures before the first success.

    θ_cj ~ Beta(a_cj, b_cj)                  probability of success of feature j in class c
    p(x_ij | y_i = c) = θ_cj (1 − θ_cj)^x    x = 0, 1, 2, … independent given the class; NaN = missing, left out

Such counts are most probable at zero and have a longer tail than Poisson counts. The model is the exponential in whole
steps. With θ integrated out one count is beta-geometric, a ratio of beta functions. Johnson, Kemp & Kotz (2005),
Univariate Discrete Distributions, 3rd ed., ch. 5 (geometric) and 6 (beta mixtures of the negative binomial, of which it
is the one with k = 1).
"""

from dataclasses import dataclass
from math import comb
from types import MappingProxyType
from typing import Any

import numpy as np

from ..base import n_rows, observed
from ..beta import AbstractBeta, log_failure, log_probabilities
from ..core.arrays import Array, Float, Real, Sparse, Theta, is_sparse
from ..core.pytrees import pytree
from ..core.special import digamma, log_rising, namespace, tetragamma, trigamma
from ..core.supports import COUNT, Cells, Field, declare
from ..independent import AbstractIndependent, Cell
from ..statistics import Totals
from ..sums.events import log_rising_cells, log_rising_sum
from ..sums.long_counts import geometric_cumulants, log_beta_geometric, log_beta_ratio, where_long
from ..sums.rows import contract


@pytree
@dataclass(frozen=True)
class BetaGeometric(AbstractBeta[Totals], AbstractIndependent[Totals]):
    """Beta density of each θ_cj, as a prior or a posterior.

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
    names_ = MappingProxyType({"theta": "stopping probability"})
    long_predictive = staticmethod(log_beta_geometric)
    long_cumulants = staticmethod(geometric_cumulants)

    def updated(self, stats: Totals | Cell, a: Array, b: Array) -> tuple[Array, Array]:
        """a + n, b + Σ_i x_i."""
        return a + stats.n, b + stats.total

    def cell_predictive(self, x: Array, a: Array, b: Array) -> Array:
        """log B(a+1, b+x) / B(a, b) = log a/(a+b) + log b^(x) / (a+b+1)^(x), rising factorials."""
        return log_rising_cells(b, x) - log_rising_cells(a + b + 1, x) - namespace(x, a).log1p(b / a)

    def cumulant(self, order: int, a: Array, b: Array) -> tuple[Array, ...]:
        """ψ(a) + xψ(b) − (1+x)ψ(a+b), ψ₁(a) + x²ψ₁(b) − (1+x)²ψ₁(a+b), ψ₂(a) + x³ψ₂(b) − (1+x)³ψ₂(a+b)."""
        polygamma = (digamma, trigamma, tetragamma)[order - 1]
        success, failure, whole = polygamma(a), polygamma(b), polygamma(a + b)
        return success - whole, *(-comb(order, k) * whole for k in range(1, order)), failure - whole

    def log_marginal(self, stats: Totals) -> Float[Array, "c d"]:
        """log B(a+n, b+s) / B(a, b), s = Σ_i x_i, written with rising factorials."""
        n, total = stats.n, stats.total
        ratio = log_rising(self.a, n) + log_rising(self.b, total) - log_rising(self.a + self.b, n + total)
        return where_long(ratio, lambda x, n, a, b: log_beta_ratio(n, x, a, b), total, n, self.a, self.b) + stats.log_h

    def log_predictive(self, x: Real[Array, "n d"] | Sparse) -> Float[Array, "n c"]:
        """log B(a+1, b+x) / B(a, b) = log a/(a+b) + log b^(x) / (a+b+1)^(x), rising factorials, summed over j."""

        def plain(x: Array | Sparse) -> Array:
            xp = namespace(x, self.a)
            counts = x if is_sparse(x) else xp.where(xp.isnan(x), 0, x)
            success = contract(x, 0 * self.a, -xp.log1p(self.b / self.a))
            return success + log_rising_sum(counts, self.b) - log_rising_sum(counts, self.a + self.b + 1)

        return self._with_long_cells(plain, log_beta_geometric, x)

    def log_likelihood(self, theta: Theta, x: Real[Array, "n d"] | Sparse) -> Float[Array, "*s n c"]:
        """Σ_j log θ + x log(1−θ)."""
        log_p, log_q = log_probabilities(theta["logit_theta"])
        return contract(x, log_q, log_p)

    def linear_form(self, theta: Theta) -> tuple[Float[Array, "d c"], Float[Array, " c"]]:
        """Weights log(1−θ) and intercept Σ_j log θ of log p(x | θ) = x·w + b, for rows without missing cells."""
        log_p, log_q = log_probabilities(theta["logit_theta"])
        return log_q.T, log_p.sum(-1)

    def mle(self, stats: Totals) -> Theta:
        """n / (n + Σ_i x_i)."""
        return self._share(stats.n, stats.total)

    def sample_predictive(self, rng: np.random.Generator, y: np.ndarray, **given: Any) -> np.ndarray:
        """⌊E / −log(1−θ)⌋, E a standard exponential, with θ ~ Beta(a, b) drawn for each cell."""
        logit = self._drawn(rng, np.stack([self.a, self.b], -1)[y])
        decay = -log_failure(logit)
        return np.floor(rng.standard_exponential(decay.shape) / np.maximum(decay, 1e-300))

    def model(self, x: Real[Array, "*c n d"] | None, y: Array) -> None:
        """The same model in NumPyro, with all plates."""
        import jax.numpy as jnp
        import numpyro
        import numpyro.distributions as dist

        c, d = self.a.shape
        with numpyro.plate("class", c, dim=-2), numpyro.plate("feature", d, dim=-1):
            theta = numpyro.sample("theta", dist.Beta(self.a, self.b))
        theta = jnp.minimum(theta, 1 - jnp.finfo(theta.dtype).eps)  # NumPyro 0.22 has p(x = 0 | θ = 1) = 0, not 1
        seen, x = observed(x)
        with numpyro.plate("row", n_rows(x, y), dim=-1):
            numpyro.sample("x", dist.GeometricProbs(theta[y]).mask(seen).to_event(1), obs=x)
