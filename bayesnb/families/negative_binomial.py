"""Beta–negative-binomial: counts that vary more than Poisson counts, with a known number r of stops.

    θ_cj ~ Beta(a_cj, b_cj)                               probability of the counted event of feature j in class c
    x_ij | y_i = c ~ NegativeBinomial(r, θ_cj)            events before the r-th stop, independent given the class;
                                                          NaN = missing, left out cell by cell

p(x | θ) = Γ(r+x)/(Γ(r) x!) θ^x (1−θ)^r, with mean rθ/(1−θ). The number r is known and positive, but need not be whole.
θ is the probability of the counted event, as in NumPyro. With r = 1 it is the geometric distribution with 1 − θ for its
θ. With θ integrated out one count is beta–negative-binomial. Johnson, Kemp & Kotz (2005), Univariate Discrete
Distributions, 3rd ed., ch. 6.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..base import n_rows, observed
from ..beta import AbstractBeta, log_probabilities
from ..core.arrays import Array, Float, Real, Theta
from ..core.pytrees import pytree
from ..core.special import digamma, gammaln, log_rising, tetragamma, trigamma
from ..core.supports import COUNT, Cells, Field, declare
from ..independent import AbstractIndependent, Cell
from ..statistics import Totals
from ..sums.events import log_rising_cells


@pytree
@dataclass(frozen=True)
class BetaNegativeBinomial(AbstractBeta[Totals], AbstractIndependent[Totals]):
    """Beta density of each θ_cj, as a prior or a posterior.

    Fields
    ------
    a, b : (c, d)   pseudo-counts of events and of stops (r a row), positive
    r : number of stops that end a row, positive, the same for all features
    """

    a: Float[Array, "c d"]
    b: Float[Array, "c d"]
    r: float = field(default=1.0, metadata={"static": True})

    fields_ = declare(a=Field(COUNT, ("class", "feature")), b=Field(COUNT, ("class", "feature")))
    constants_ = declare(r=COUNT)
    cells_ = Cells("counts", whole=True, sparse=True)

    def log_base(self, x: Array) -> Array:
        """log Γ(r+x)/(Γ(r) x!)."""
        return log_rising(self.r, x) - gammaln(x + 1.0)

    def updated(self, stats: Totals | Cell, a: Array, b: Array) -> tuple[Array, Array]:
        """a + Σ_i x_i, b + n r."""
        return a + stats.total, b + stats.n * self.r

    def log_marginal(self, stats: Totals) -> Float[Array, "c d"]:
        """log B(a+s, b+nr) / B(a, b) + Σ_i log Γ(r+x_i)/(Γ(r) x_i!), s = Σ_i x_i, with rising factorials."""
        total, stops = stats.total, stats.n * self.r
        ratio = log_rising(self.a, total) + log_rising(self.b, stops) - log_rising(self.a + self.b, total + stops)
        return ratio + stats.log_h

    def cell_predictive(self, x: Array, a: Array, b: Array) -> Array:
        """log B(a+x, b+r) / B(a, b) + log Γ(r+x)/(Γ(r) x!)."""
        level = log_rising(b, self.r) - log_rising(a + b, self.r)
        return level + log_rising_cells(a, x) - log_rising_cells(a + b + self.r, x) + self.log_base(x)

    def cell_likelihood(self, x: Array, logit_theta: Array) -> Array:
        """x log θ + r log(1−θ) + log Γ(r+x)/(Γ(r) x!)."""
        log_p, log_q = log_probabilities(logit_theta)
        return x * log_p + self.r * log_q + self.log_base(x)

    def linear_form(self, theta: Theta) -> tuple[Float[Array, "d c"], Float[Array, " c"]]:
        """Weights log θ and intercept r Σ_j log(1−θ) of log p(x | θ), up to terms that are equal in all classes."""
        log_p, log_q = log_probabilities(theta["logit_theta"])
        return log_p.T, self.r * log_q.sum(-1)

    def cell_moments(self, x: Array, a: Array, b: Array) -> tuple[Array, Array]:
        """xψ(a) + rψ(b) − (x+r)ψ(a+b) and x²ψ₁(a) + r²ψ₁(b) − (x+r)²ψ₁(a+b), and the base measure."""
        mean = x * digamma(a) + self.r * digamma(b) - (x + self.r) * digamma(a + b) + self.log_base(x)
        return mean, x * x * trigamma(a) + self.r**2 * trigamma(b) - (x + self.r) ** 2 * trigamma(a + b)

    def cell_third(self, x: Array, a: Array, b: Array) -> Array:
        """x³ψ₂(a) + r³ψ₂(b) − (x+r)³ψ₂(a+b)."""
        return x**3 * tetragamma(a) + self.r**3 * tetragamma(b) - (x + self.r) ** 3 * tetragamma(a + b)

    def mle(self, stats: Totals) -> Theta:
        """Σ_i x_i / (Σ_i x_i + n r)."""
        return self._share(stats.total, stats.n * self.r)

    def sample_predictive(self, rng: np.random.Generator, y: np.ndarray, **given: Any) -> np.ndarray:
        """x_ij ~ Poisson(G(r) θ/(1−θ)) with θ ~ Beta(a, b) drawn for each cell."""
        logit = self._drawn(rng, np.stack([self.a, self.b], -1)[y])
        odds = np.exp(np.minimum(logit, 40.0))  # a count of 1e17, near the most that is drawn
        return rng.poisson(rng.standard_gamma(self.r, odds.shape) * odds).astype(float)

    def model(self, x: Real[Array, "*c n d"] | None, y: Array) -> None:
        """The same model in NumPyro, with logits, because `NegativeBinomialProbs` is 1e-6 off in its log Γ ratio."""
        import jax.numpy as jnp
        import numpyro
        import numpyro.distributions as dist

        c, d = self.a.shape
        with numpyro.plate("class", c, dim=-2), numpyro.plate("feature", d, dim=-1):
            theta = numpyro.sample("theta", dist.Beta(self.a, self.b))
        logits = jnp.log(theta) - jnp.log1p(-theta)
        seen, x = observed(x)
        with numpyro.plate("row", n_rows(x, y), dim=-1):
            numpyro.sample("x", dist.NegativeBinomialLogits(self.r, logits[y]).mask(seen).to_event(1), obs=x)
