"""Beta–Bernoulli: features with the values yes and no.

    θ_cj ~ Beta(a_cj, b_cj)             probability that feature j is 1 in class c
    x_ij | y_i = c ~ Bernoulli(θ_cj)    independent given the class; NaN = missing, left out cell by cell

This is the conjugate pair of Gelman et al. (2013), Bayesian Data Analysis, 3rd ed., §2.4, for each class and feature.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np

from ..base import n_rows, observed, to_sites
from ..beta import AbstractBeta, log_failure
from ..core.arrays import Array, Float, Real, Sparse, Theta
from ..core.pytrees import pytree
from ..core.special import EPS, digamma, log_rising, namespace, tetragamma, trigamma
from ..core.supports import COUNT, Cells, Field, declare
from ..statistics import Counts
from ..sums.by_class import by_class, class_totals, subtract_weight
from ..sums.own_class import yes_no_of_own
from ..sums.rows import contract, downdate, leave_one_out_table, sum_over_cells


@pytree
@dataclass(frozen=True)
class BetaBernoulli(AbstractBeta[Counts]):
    """Beta density of each θ_cj, as a prior or a posterior.

    Fields
    ------
    a, b : (c, d)   pseudo-counts of ones and of zeros, positive
    """

    a: Float[Array, "c d"]
    b: Float[Array, "c d"]

    fields_ = declare(
        a=Field(COUNT, ("class", "feature"), public="alpha"), b=Field(COUNT, ("class", "feature"), public="alpha")
    )
    marks_strangers = True
    cells_ = Cells("yes/no", sparse=True)
    separable = True
    kept_types = frozenset({"uint8"})

    def suffstats(self, x: Real[Array, "n d"] | Sparse, r: Float[Array, "n c"] | Sparse) -> Counts:
        """n_cj1 = Σ_i r_ic x_ij and n_cj0 = Σ_i r_ic (1 − x_ij) over the observed cells, last axis (0, 1)."""
        xp = namespace(x, r)
        with np.errstate(invalid="ignore"):
            ones = by_class(r, x) if xp is np else None
        if ones is not None and not np.isnan(ones).any():  # no cell is missing
            zeros = subtract_weight(class_totals(r)[:, None], ones)
        else:
            seen = ~xp.isnan(x)
            ones = by_class(r, xp.where(seen, x, 0))
            zeros = by_class(r, xp.where(seen, 1 - x, 0))
        return Counts(xp.stack([zeros, ones], -1), 0 * ones)

    def update(self, stats: Counts) -> Self:
        """a + n₁, b + n₀."""
        return type(self)(self.a + stats.n[..., 1], self.b + stats.n[..., 0])

    def log_marginal(self, stats: Counts) -> Float[Array, "c d"]:
        """log B(a+n₁, b+n₀) / B(a, b), written with rising factorials."""
        zeros, ones = stats.n[..., 0], stats.n[..., 1]
        return log_rising(self.a, ones) + log_rising(self.b, zeros) - log_rising(self.a + self.b, ones + zeros)

    def log_predictive(self, x: Real[Array, "n d"] | Sparse) -> Float[Array, "n c"]:
        """Σ_j x log a/(a+b) + (1−x) log b/(a+b): the posterior mean plugged in. With a = b = 1 it is Laplace's rule."""
        return contract(x, *self._at_mean)

    @cached_property
    def _at_mean(self) -> tuple[Float[Array, "c d"], Float[Array, "c d"]]:
        """logit θ and log(1−θ) at the mean, taken once for all blocks of rows; logits as sparse sums want them."""
        logit = self.mean()["logit_theta"]
        return np.asfortranarray(logit) if namespace(logit) is np else logit, log_failure(logit)

    def log_cells(self, x: Float[Array, " d"]) -> Float[Array, "c d"]:
        """x log a/(a+b) + (1−x) log b/(a+b) of each cell of one row, 0 if it is missing."""
        xp = namespace(x, self.a)
        level = x * xp.log(self.a) + (1 - x) * xp.log(self.b) - xp.log(self.a + self.b)
        return xp.where(xp.isnan(x), 0, level)

    def log_loo(self, x: Real[Array, "n d"] | Sparse, r: Float[Array, "n c"] | Sparse) -> Float[Array, "n c"]:
        """log_predictive without row i: a − wx for a and b − w(1−x) for b in the classes where the row has weight w."""

        def cell(x: Array, w: Array, a: Array, b: Array) -> Array:
            p, q = downdate(a, w * x), downdate(b, w * (1 - x))
            return x * xp.log(p) + (1 - x) * xp.log(q) - xp.log(downdate(a + b, w))

        def empty(w: Array, a: Array, b: Array) -> Array:
            return xp.log(downdate(b, w)) - xp.log(downdate(a + b, w))

        def units(x: Array | Sparse, y: Array) -> Array:
            return yes_no_of_own(x, y, *self._without_one)

        xp = namespace(x, r, self.a)
        own = sum_over_cells(cell, empty)
        return leave_one_out_table(self.log_predictive, own, x, r, self.a, self.b, units=units)

    @cached_property
    def _without_one(self) -> tuple[Float[Array, "c d"], ...]:
        """log (b−1)/(a+b−1) and log (a−1)/(a+b−1), what a row of weight 1 leaves; NaN where that is rounding."""
        left = (np.where(value - 1 > EPS * value, value - 1, np.nan) for value in (self.b, self.a))
        whole = np.log(downdate(self.a + self.b, 1.0))
        return tuple(np.log(value) - whole for value in left)

    def log_likelihood(self, theta: Theta, x: Real[Array, "n d"] | Sparse) -> Float[Array, "*s n c"]:
        """Σ_j x log θ + (1−x) log(1−θ)."""
        logit = theta["logit_theta"]
        return contract(x, logit, log_failure(logit))

    def linear_form(self, theta: Theta) -> tuple[Float[Array, "d c"], Float[Array, " c"]]:
        """Weights logit θ and intercept Σ_j log(1−θ) of log p(x | θ) = x·w + b, for rows without missing cells."""
        return theta["logit_theta"].T, log_failure(theta["logit_theta"]).sum(-1)

    def log_moments(self, x: Real[Array, "n d"] | Sparse) -> tuple[Float[Array, "n c"], Float[Array, "n c"]]:
        """Σ_j ψ(a or b) − ψ(a+b) and Σ_j ψ₁(a or b) − ψ₁(a+b), a where x = 1 and b where x = 0."""
        whole = self.a + self.b
        mean_p, mean_q = digamma(self.a) - digamma(whole), digamma(self.b) - digamma(whole)
        var_p, var_q = trigamma(self.a) - trigamma(whole), trigamma(self.b) - trigamma(whole)
        return contract(x, mean_p - mean_q, mean_q), contract(x, var_p - var_q, var_q)

    def log_third_cumulant(self, x: Real[Array, "n d"] | Sparse) -> Float[Array, "n c"]:
        """Σ_j ψ₂(a or b) − ψ₂(a+b), a where x = 1 and b where x = 0: the skewness of log p(x_i | θ_c)."""
        whole = tetragamma(self.a + self.b)
        third_p, third_q = tetragamma(self.a) - whole, tetragamma(self.b) - whole
        return contract(x, third_p - third_q, third_q)

    def mle(self, stats: Counts) -> Theta:
        """n₁ / (n₀ + n₁)."""
        return self._share(stats.n[..., 1], stats.n[..., 0])

    def sample_predictive(self, rng: np.random.Generator, y: np.ndarray, **given: Any) -> np.ndarray:
        """x_ij = 1 with probability a/(a+b)."""
        p = to_sites(self.mean())["theta"]
        return (rng.random((len(y), p.shape[1])) < p[y]).astype(float)

    def model(self, x: Real[Array, "*c n d"] | None, y: Array) -> None:
        """The same model in NumPyro, with all plates."""
        import numpyro
        import numpyro.distributions as dist

        c, d = self.a.shape
        with numpyro.plate("class", c, dim=-2), numpyro.plate("feature", d, dim=-1):
            theta = numpyro.sample("theta", dist.Beta(self.a, self.b))
        seen, x = observed(x)
        with numpyro.plate("row", n_rows(x, y), dim=-1):
            numpyro.sample("x", dist.Bernoulli(theta[y]).mask(seen).to_event(1), obs=x)
