"""Gamma–Poisson: independent counts without an upper bound.

    λ_cj ~ Gamma(a_cj, rate b_cj)      expected count of feature j in class c
    x_ij | y_i = c ~ Poisson(λ_cj)     independent given the class; NaN = missing, left out cell by cell

With λ integrated out one count is negative binomial. Gelman et al. (2013), Bayesian Data Analysis, 3rd ed., §2.6.
"""

from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from scipy import sparse

from ..base import observed
from ..core.arrays import Array, Float, Real, Sparse, Theta
from ..core.pytrees import pytree
from ..core.random import Key, log_gamma
from ..core.special import digamma, gammaln, log_floor, log_rising, namespace, tetragamma, trigamma
from ..core.supports import COUNT, Cells, Field, declare
from ..independent import AbstractIndependent
from ..statistics import Totals
from ..sums.long_counts import cumulants_by_row, log_negative_binomial, poisson_cumulants, where_long, with_long_cells
from ..sums.rows import contract, log_rising_cells, log_rising_sum, map_cells, row_totals


@pytree
@dataclass(frozen=True)
class GammaPoisson(AbstractIndependent):
    """Gamma density of each λ_cj, prior or posterior.

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
    distribution_ = "Gamma", MappingProxyType({"a": "concentration", "b": "rate"})
    parameters = ("log_rate",)

    def log_base(self, x: Array) -> Array:
        """−log x!."""
        return -gammaln(x + 1.0)

    def updated(self, stats: Any, a: Array, b: Array) -> tuple[Array, Array]:
        """a + Σ_i x_i, b + n."""
        return a + stats.total, b + stats.n

    def cell_predictive(self, x: Array, a: Array, b: Array) -> Array:
        """Negative binomial: log Γ(a+x)/Γ(a) − log x! − a log(1 + 1/b) − x log(b+1)."""
        xp = namespace(x, a)
        plain = log_rising_cells(a, x) - gammaln(x + 1) - a * xp.log1p(1 / b) - x * xp.log1p(b)
        return where_long(plain, log_negative_binomial, x, a, b)

    def log_normalizer(self) -> Float[Array, "c d"]:
        """log Γ(a) − a log b."""
        xp = namespace(self.a)
        return gammaln(self.a) - self.a * xp.log(self.b)

    def log_marginal(self, stats: Totals) -> Float[Array, "c d"]:
        """log Γ(a+s)/Γ(a) − a log(1 + n/b) − s log(b+n) − Σ_i log x_i!, s = Σ_i x_i."""
        xp = namespace(self.a, stats.n)
        ratio = log_rising(self.a, stats.total) - self.a * xp.log1p(stats.n / self.b)
        return ratio - stats.total * xp.log(self.b + stats.n) + stats.log_h

    def log_prob(self, theta: Theta) -> Float[Array, "*s c d"]:
        """(a − 1) log λ − bλ − log Γ(a) + a log b."""
        log_rate = theta["log_rate"]
        return (self.a - 1) * log_rate - self.b * namespace(log_rate).exp(log_rate) - self.log_normalizer()

    def log_predictive(self, x: Real[Array, "n d"] | Sparse) -> Float[Array, "n c"]:
        """Negative binomial: log Γ(a+x)/Γ(a) − log x! − a log(1 + 1/b) − x log(b+1), summed over j."""
        return self._with_long_cells(lambda part: self._log_sum(part) + _log_base(part)[:, None], x)

    def _with_long_cells(self, plain: Any, x: Real[Array, "n d"] | Sparse) -> Float[Array, "n c"]:
        """The sums of `plain`, cells of many events with all their digits and with −log x!."""
        return with_long_cells(plain, lambda count, j: log_negative_binomial(count, self.a[:, j], self.b[:, j]), x)

    def _log_sum(self, x: Real[Array, "n d"] | Sparse) -> Float[Array, "n c"]:
        """`log_score` by its plain formula."""
        xp = namespace(x, self.a)
        counts = x if sparse.issparse(x) else xp.where(xp.isnan(x), 0, x)
        line = contract(x, -xp.log1p(self.b), -self.a * xp.log1p(1 / self.b))
        return log_rising_sum(counts, self.a) + line

    def log_score(self, x: Real[Array, "n d"] | Sparse, theta: Theta | None = None) -> Float[Array, "*s n c"]:
        """Σ_j log Γ(a+x)/Γ(a) − a log(1 + 1/b) − x log(b+1), or Σ_j x log λ − λ: all but the factorials of counts.

        Without them, a cell of so many events that the sum would lose digits has its factorial in it.
        """
        if theta is not None:
            log_rate = theta["log_rate"]
            return contract(x, log_rate, -namespace(log_rate).exp(log_rate))
        return self._with_long_cells(self._log_sum, x)

    def log_likelihood(self, theta: Theta, x: Real[Array, "n d"] | Sparse) -> Float[Array, "*s n c"]:
        """Σ_j x log λ − λ − log x!."""
        return self.log_score(x, theta) + _log_base(x)[:, None]

    def linear_form(self, theta: Theta) -> tuple[Float[Array, "d c"], Float[Array, " c"]]:
        """Weights log λ and intercept −Σ_j λ of log p(x | θ), up to −Σ log x!, which is the same in all classes."""
        log_rate = theta["log_rate"]
        return log_rate.T, -namespace(log_rate).exp(log_rate).sum(-1)

    def log_moments(self, x: Real[Array, "n d"] | Sparse) -> tuple[Float[Array, "n c"], Float[Array, "n c"]]:
        """Σ_j x (ψ(a) − log b) − a/b − log x!, Σ_j x² ψ₁(a) + a/b² − 2x/b."""
        xp = namespace(self.a)
        rate = self.a / self.b

        def mean(x: Any) -> Array:
            return contract(x, digamma(self.a) - xp.log(self.b), -rate) + _log_base(x)[:, None]

        def variance(x: Any) -> Array:
            squares = map_cells(x, lambda count: count * count)
            return contract(x, -2 / self.b, rate / self.b) + contract(squares, trigamma(self.a), 0 * self.a)

        return self._cumulant(mean, 1, x), self._cumulant(variance, 2, x)

    def _cumulant(self, plain: Any, order: int, x: Real[Array, "n d"] | Sparse) -> Float[Array, "n c"]:
        """A cumulant by its plain formula, cells of many events with all their digits."""
        return with_long_cells(plain, cumulants_by_row(poisson_cumulants, order, self.a, self.b), x)

    def log_third_cumulant(self, x: Real[Array, "n d"] | Sparse) -> Float[Array, "n c"]:
        """Σ_j x³ ψ₂(a) − 2a/b³ + 3x/b²."""

        def third(x: Any) -> Array:
            cubes = map_cells(x, lambda count: count * count * count)
            line = contract(x, 3 / self.b / self.b, -2 * self.a / self.b / self.b / self.b)
            return line + contract(cubes, tetragamma(self.a), 0 * self.a)

        return self._cumulant(third, 3, x)

    def sample(self, key: Key, shape: tuple[int, ...] = ()) -> Theta:
        """Draws of log λ = log G(a) − log b."""
        return {"log_rate": log_gamma(key, self.a, shape) - namespace(self.b).log(self.b)}

    def mean(self) -> Theta:
        """a / b."""
        xp = namespace(self.a)
        return {"log_rate": xp.log(self.a) - xp.log(self.b)}

    def mode(self) -> Theta:
        """(a − 1) / b; 0 where a ≤ 1."""
        xp = namespace(self.a)
        return {"log_rate": log_floor(xp.maximum(self.a - 1, 0) / self.b)}

    def mle(self, stats: Totals) -> Theta:
        """Σ_i x_i / n."""
        xp = namespace(stats.n)
        found = log_floor(stats.total / xp.where(stats.n > 0, stats.n, 1))
        return {"log_rate": xp.where(stats.n > 0, found, self.mean()["log_rate"])}

    def on_boundary(self) -> bool:
        """Whether some a is at most 1."""
        return bool((self.a <= 1).any())

    def marginals(self) -> dict[str, Any]:
        """Gamma(a, rate b) for `rate`."""
        from scipy import stats

        return {"rate": stats.gamma(self.a, scale=1 / self.b)}

    def sample_predictive(self, rng: np.random.Generator, y: np.ndarray, **given: Any) -> np.ndarray:
        """x_ij ~ Poisson(λ) with λ ~ Gamma(a, rate b) drawn afresh for every cell."""
        return rng.poisson(rng.standard_gamma(self.a[y]) / self.b[y]).astype(float)

    def model(self, x: Real[Array, "n d"] | None, y: Any) -> None:
        """The same model in NumPyro, plates written out."""
        import numpyro
        import numpyro.distributions as dist

        c, d = self.a.shape
        with numpyro.plate("class", c, dim=-2), numpyro.plate("feature", d, dim=-1):
            rate = numpyro.sample("rate", dist.Gamma(self.a, self.b))
        seen, x = observed(x)
        with numpyro.plate("row", len(y), dim=-2), numpyro.plate("feature", d, dim=-1):
            numpyro.sample("x", dist.Poisson(rate[y]).mask(seen), obs=x)


def _log_base(x: Any) -> Array:
    """−Σ_j log x_ij! over the observed cells, (n,)."""
    if sparse.issparse(x):
        return -row_totals(map_cells(x, lambda count: gammaln(count + 1.0)))
    xp = namespace(x)
    return -gammaln(xp.where(xp.isnan(x), 0, x) + 1).sum(1)
