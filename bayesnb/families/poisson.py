"""Gamma–Poisson: independent counts without an upper bound.

    λ_cj ~ Gamma(a_cj, rate b_cj)      expected count of feature j in class c
    x_ij | y_i = c ~ Poisson(λ_cj)     independent given the class; NaN = missing, left out cell by cell

With λ integrated out one count is negative binomial. Gelman et al. (2013), Bayesian Data Analysis, 3rd ed., §2.6.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..base import n_rows, observed
from ..core.arrays import Array, Float, Real, Sparse, Theta, is_sparse
from ..core.pytrees import pytree
from ..core.special import digamma, gammaln, log_floor, log_rising, namespace, tetragamma, trigamma
from ..core.supports import COUNT, Cells, Field, declare
from ..gamma import AbstractGamma
from ..independent import AbstractIndependent, Cell
from ..statistics import Totals
from ..sums.events import log_factorial, log_rising_cells, log_rising_sum
from ..sums.long_counts import log_negative_binomial, poisson_cumulants
from ..sums.rows import contract


@pytree
@dataclass(frozen=True)
class GammaPoisson(AbstractGamma, AbstractIndependent[Totals]):
    """Gamma density of each λ_cj, as a prior or a posterior.

    Fields
    ------
    a : (c, d)   shape: pseudo-count of events, positive
    b : (c, d)   rate: pseudo-number of rows, positive
    """

    a: Float[Array, "c d"]
    b: Float[Array, "c d"]

    fields_ = declare(
        a=Field(COUNT, ("class", "feature"), public="alpha"),
        b=Field(COUNT, ("class", "feature"), public="beta", per="alpha"),
    )
    cells_ = Cells("counts", sparse=True)
    long_predictive = staticmethod(log_negative_binomial)
    long_cumulants = staticmethod(poisson_cumulants)

    def log_base(self, x: Array) -> Array:
        """−log x!."""
        return -log_factorial(x)

    def updated(self, stats: Totals | Cell, a: Array, b: Array) -> tuple[Array, Array]:
        """a + Σ_i x_i, b + n."""
        return a + stats.total, b + stats.n

    def cell_predictive(self, x: Array, a: Array, b: Array) -> Array:
        """Negative binomial: log Γ(a+x)/Γ(a) − log x! − a log(1 + 1/b) − x log(b+1)."""
        xp = namespace(x, a)
        return log_rising_cells(a, x) - gammaln(x + 1) - a * xp.log1p(1 / b) - x * xp.log1p(b)

    def cumulant(self, order: int, a: Array, b: Array) -> tuple[Array | int, ...]:
        """x (ψ(a) − log b) − a/b (and −log x!), x² ψ₁(a) + a/b² − 2x/b, x³ ψ₂(a) − 2a/b³ + 3x/b²."""
        if order == 1:
            return -a / b, digamma(a) - namespace(a).log(b)
        return (a / b / b, -2 / b, trigamma(a)) if order == 2 else (-2 * a / b / b / b, 3 / b / b, 0, tetragamma(a))

    def log_marginal(self, stats: Totals) -> Float[Array, "c d"]:
        """log Γ(a+s)/Γ(a) − a log(1 + n/b) − s log(b+n) − Σ_i log x_i!, s = Σ_i x_i."""
        xp = namespace(self.a, stats.n)
        ratio = log_rising(self.a, stats.total) - self.a * xp.log1p(stats.n / self.b)
        return ratio - stats.total * xp.log(self.b + stats.n) + stats.log_h

    def log_predictive(self, x: Real[Array, "n d"] | Sparse) -> Float[Array, "n c"]:
        """Negative binomial: log Γ(a+x)/Γ(a) − log x! − a log(1 + 1/b) − x log(b+1), summed over j."""
        base = self._base_of_rows
        return self._with_long_cells(lambda part: self._log_sum(part) + base(part)[:, None], log_negative_binomial, x)

    def _log_sum(self, x: Real[Array, "n d"] | Sparse) -> Float[Array, "n c"]:
        """`log_score` by its plain formula."""
        xp = namespace(x, self.a)
        counts = x if is_sparse(x) else xp.where(xp.isnan(x), 0, x)
        line = contract(x, -xp.log1p(self.b), -self.a * xp.log1p(1 / self.b))
        return log_rising_sum(counts, self.a) + line

    def log_score(self, x: Real[Array, "n d"] | Sparse, theta: Theta | None = None) -> Float[Array, "*s n c"]:
        """Σ_j log Γ(a+x)/Γ(a) − a log(1 + 1/b) − x log(b+1), or Σ_j x log λ − λ, without the factorials of counts.

        The score includes the factorial of a cell if it has so many events that the sum would lose digits.
        """
        if theta is not None:
            log_rate = theta["log_rate"]
            return contract(x, log_rate, -namespace(log_rate).exp(log_rate))
        return self._with_long_cells(self._log_sum, log_negative_binomial, x)

    def log_likelihood(self, theta: Theta, x: Real[Array, "n d"] | Sparse) -> Float[Array, "*s n c"]:
        """Σ_j x log λ − λ − log x!."""
        return self.log_score(x, theta) + self._base_of_rows(x)[:, None]

    def linear_form(self, theta: Theta) -> tuple[Float[Array, "d c"], Float[Array, " c"]]:
        """Weights log λ and intercept −Σ_j λ of log p(x | θ), up to −Σ log x!, which is equal in all classes."""
        log_rate = theta["log_rate"]
        return log_rate.T, -namespace(log_rate).exp(log_rate).sum(-1)

    def mle(self, stats: Totals) -> Theta:
        """Σ_i x_i / n."""
        xp = namespace(stats.n)
        found = log_floor(stats.total / xp.where(stats.n > 0, stats.n, 1))
        return {"log_rate": xp.where(stats.n > 0, found, self.mean()["log_rate"])}

    def sample_predictive(self, rng: np.random.Generator, y: np.ndarray, **given: Any) -> np.ndarray:
        """x_ij ~ Poisson(λ) with λ ~ Gamma(a, rate b) drawn for each cell."""
        return rng.poisson(rng.standard_gamma(self.a[y]) / self.b[y]).astype(float)

    def model(self, x: Real[Array, "*c n d"] | None, y: Array) -> None:
        """The same model in NumPyro, with all plates."""
        import numpyro
        import numpyro.distributions as dist

        c, d = self.a.shape
        with numpyro.plate("class", c, dim=-2), numpyro.plate("feature", d, dim=-1):
            rate = numpyro.sample("rate", dist.Gamma(self.a, self.b))
        seen, x = observed(x)
        with numpyro.plate("row", n_rows(x, y), dim=-1):
            numpyro.sample("x", dist.Poisson(rate[y]).mask(seen).to_event(1), obs=x)
