"""Gamma–exponential: waiting times, durations, distances and other amounts that pile up near zero.

    λ_cj ~ Gamma(a_cj, rate b_cj)          rate of feature j in class c, one over its mean
    x_ij | y_i = c ~ Exponential(λ_cj)     independent given the class; NaN = missing, left out cell by cell

With λ integrated out one amount is Lomax (Pareto from zero), whose tail is a power. A class of few rows therefore does
not make a long wait impossible. Gelman et al. (2013), Bayesian Data Analysis, 3rd ed., §2.6.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..base import n_rows, observed
from ..core.arrays import Array, Float, Real, Theta
from ..core.pytrees import pytree
from ..core.random import log_gamma
from ..core.special import digamma, log_floor, log_rising, namespace, tetragamma, trigamma
from ..core.supports import AMOUNT, COUNT, Cells, Field, declare
from ..gamma import AbstractGamma
from ..independent import AbstractIndependent, Cell
from ..statistics import Totals
from ..sums.rows import contract


@pytree
@dataclass(frozen=True)
class GammaExponential(AbstractGamma, AbstractIndependent[Totals]):
    """Gamma density of each λ_cj, as a prior or a posterior.

    Fields
    ------
    a : (c, d)   shape: pseudo-number of rows, positive
    b : (c, d)   rate: pseudo-sum of the feature, in its unit, positive
    """

    a: Float[Array, "c d"]
    b: Float[Array, "c d"]

    fields_ = declare(
        a=Field(COUNT, ("class", "feature"), public="alpha"),
        b=Field(AMOUNT, ("class", "feature"), public="beta", per="alpha"),
    )
    cells_ = Cells("amounts")

    def updated(self, stats: Totals | Cell, a: Array, b: Array) -> tuple[Array, Array]:
        """a + n, b + Σ_i x_i."""
        return a + stats.n, b + stats.total

    def cell_predictive(self, x: Array, a: Array, b: Array) -> Array:
        """Lomax: log a/b − (a+1) log(1 + x/b); x/b must not overflow."""
        xp = namespace(x, a)
        return xp.log(a) - xp.log(b) - (a + 1) * xp.log1p(x / b)

    def log_marginal(self, stats: Totals) -> Float[Array, "c d"]:
        """log Γ(a+n)/Γ(a) − a log(1 + s/b) − n log(b+s), s = Σ_i x_i."""
        xp = namespace(self.a, stats.n)
        ratio = log_rising(self.a, stats.n) - self.a * xp.log1p(stats.total / self.b)
        return ratio - stats.n * xp.log(self.b + stats.total) + stats.log_h

    def log_likelihood(self, theta: Theta, x: Real[Array, "n d"]) -> Float[Array, "*s n c"]:
        """Σ_j log λ − λx."""
        log_rate = theta["log_rate"]
        return contract(x, -namespace(log_rate).exp(log_rate), log_rate)

    def linear_form(self, theta: Theta) -> tuple[Float[Array, "d c"], Float[Array, " c"]]:
        """Weights −λ and intercept Σ_j log λ of log p(x | θ) = x·w + b, for rows without missing cells."""
        log_rate = theta["log_rate"]
        return -namespace(log_rate).exp(log_rate).T, log_rate.sum(-1)

    def log_moments(self, x: Real[Array, "n d"]) -> tuple[Float[Array, "n c"], Float[Array, "n c"]]:
        """Σ_j ψ(a) − log b − xa/b, Σ_j ψ₁(a) + x²a/b² − 2x/b.

        The covariance behind the last term: E[λ log λ] = (a/b)(ψ(a+1) − log b), and ψ(a+1) − ψ(a) = 1/a.
        """
        rate = self.a / self.b
        mean = contract(x, -rate, digamma(self.a) - namespace(self.a).log(self.b))
        variance = contract(x, -2 / self.b, trigamma(self.a)) + contract(x * x, rate / self.b, 0 * self.a)
        return mean, variance

    def log_third_cumulant(self, x: Real[Array, "n d"]) -> Float[Array, "n c"]:
        """Σ_j ψ₂(a) − 2a x³/b³ + 3x²/b²."""
        squares = contract(x * x, 3 / self.b / self.b, tetragamma(self.a))
        return squares + contract(x * x * x, -2 * self.a / self.b / self.b / self.b, 0 * self.a)

    def mle(self, stats: Totals) -> Theta:
        """n / Σ_i x_i. If all cells are 0 the likelihood has no maximum, and λ is √max of the type."""
        xp = namespace(stats.n)
        largest = -0.5 * log_floor(0 * stats.n)
        found = xp.minimum(xp.log(xp.where(stats.n > 0, stats.n, 1)) - log_floor(stats.total), largest)
        return {"log_rate": xp.where(stats.n > 0, found, self.mean()["log_rate"])}

    def sample_predictive(self, rng: np.random.Generator, y: np.ndarray, **given: Any) -> np.ndarray:
        """x_ij ~ Exponential(λ) with λ ~ Gamma(a, rate b) drawn for each cell."""
        log_rate = log_gamma(rng, self.a[y]) - np.log(self.b[y])
        return rng.standard_exponential(log_rate.shape) * np.exp(np.minimum(-log_rate, -log_floor(0.0) - 5))

    def model(self, x: Real[Array, "*c n d"] | None, y: Array) -> None:
        """The same model in NumPyro, with all plates."""
        import numpyro
        import numpyro.distributions as dist

        c, d = self.a.shape
        with numpyro.plate("class", c, dim=-2), numpyro.plate("feature", d, dim=-1):
            rate = numpyro.sample("rate", dist.Gamma(self.a, self.b))
        seen, x = observed(x)
        amounts = dist.Exponential(rate[y], validate_args=False)  # NumPyro's support leaves out 0
        with numpyro.plate("row", n_rows(x, y), dim=-1):
            numpyro.sample("x", amounts.mask(seen).to_event(1), obs=x)
