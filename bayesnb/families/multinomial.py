"""Dirichlet–multinomial: counts of d kinds of events in a row, such as words in a text.

    θ_c ~ Dirichlet(α_c1 … α_cd)                       event probabilities of class c
    x_i | y_i = c, L_i ~ Multinomial(L_i, θ_c)         L_i = Σ_j x_ij, the row's number of events, is given

The features of a row are coupled through L_i, so a missing cell has no meaning here and is refused. With θ integrated
out a row is Dirichlet–multinomial (Pólya): an event that has occurred is more likely to occur again. Plugging in the
mean of θ misses this as soon as a row has two events. See Madsen, Kauchak & Elkan (2005), ICML, eq. (3)–(5).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..base import as_jax, n_rows
from ..core.arrays import Array, Float, Int, Real, Sparse, Theta
from ..core.pytrees import pytree
from ..core.random import log_dirichlet
from ..core.supports import COUNT, GIVEN_TOTALS, Cells, Field, declare
from ..dirichlet import AbstractEvents
from ..statistics import Counts
from ..sums.by_class import by_class
from ..sums.polya import event_shares, log_coefficient, log_polya
from ..sums.rows import matmul


@pytree
@dataclass(frozen=True)
class DirichletMultinomial(AbstractEvents):
    """Dirichlet density of each θ_c, as a prior or a posterior.

    Fields
    ------
    alpha : (c, d)   pseudo-counts of the events, positive
    """

    alpha: Float[Array, "c d"]

    fields_ = declare(alpha=Field(COUNT, ("class", "feature")))
    cells_ = Cells("counts", sparse=True, measure=GIVEN_TOTALS)

    def suffstats(self, x: Real[Array, "n d"] | Sparse, r: Float[Array, "n c"] | Sparse) -> Counts:
        """n_cj = Σ_i r_ic x_ij, and the log multinomial coefficients of the rows."""
        return Counts(by_class(r, x), by_class(r, log_coefficient(x)))

    def _coefficient(self, x: Array | Sparse) -> Float[Array, "n 1"]:
        """log L!/Πx!, equal in all classes."""
        return log_coefficient(x)[:, None]

    def log_score(self, x: Real[Array, "n d"] | Sparse, theta: Theta | None = None) -> Float[Array, "*s n c"]:
        """log p without the coefficient: the gain of the row, Σ_j log α_j^(x_j) − log A^(L), or Σ_j x_j log θ_j."""
        if theta is None:
            return log_polya(x, self.alpha, by_event=self._by_event)
        return matmul(x, theta["log_theta"])

    def log_loo_score(self, x: Array | Sparse, r: Array | Sparse) -> Float[Array, "n c"]:
        """gain((1 − w) x) − gain(−w x): `log_score` with α − wx for α in the classes in which the row has weight w."""
        return log_polya(x, self.alpha, r, self._by_event)

    def log_predictive(self, x: Real[Array, "n d"] | Sparse) -> Float[Array, "n c"]:
        """log L!/Πx! + Σ_j log α_j^(x_j) − log A^(L), with rising factorials a^(x) = Γ(a+x)/Γ(a)."""
        return self._coefficient(x) + self.log_score(x)

    def log_loo(self, x: Real[Array, "n d"] | Sparse, r: Float[Array, "n c"] | Sparse) -> Float[Array, "n c"]:
        """log_predictive without row i."""
        return self._coefficient(x) + self.log_loo_score(x, r)

    def log_likelihood(self, theta: Theta, x: Real[Array, "n d"] | Sparse) -> Float[Array, "*s n c"]:
        """log L!/Πx! + Σ_j x_j log θ_j."""
        return self._coefficient(x) + self.log_score(x, theta)

    def log_contributions(
        self, x: Real[Array, "n d"] | Sparse, columns: Int[np.ndarray, " k"], theta: Theta | None = None
    ) -> Float[Array, "*s n k c"]:
        """log α_j^(x_j) − (x_j/L) log A^(L), or x_j log θ_j: each kind gets its share of the row length.

        The rule is additive, treats all kinds alike, and gives 0 to a kind that does not occur. If each event were its
        own row with L = 1, it would be x_j log θ_j. The multinomial coefficient is equal in all classes.
        """
        return event_shares(x, columns, self.alpha, None if theta is None else theta["log_theta"])

    def linear_form(self, theta: Theta) -> tuple[Float[Array, "d c"], Float[Array, " c"]]:
        """Weights log θ and intercept 0 of log p(x | θ), up to the coefficient, which is equal in all classes."""
        weights = theta["log_theta"].T
        return weights, 0 * weights.sum(0)

    def log_moments(self, x: Real[Array, "n d"] | Sparse) -> tuple[Float[Array, "n c"], Float[Array, "n c"]]:
        """Σ_j x_j ψ(α_j) − L ψ(A) (and the coefficient), Σ_j x_j² ψ₁(α_j) − L² ψ₁(A)."""
        return self._coefficient(x) + self.cumulant(x, 1), self.cumulant(x, 2)

    def log_third_cumulant(self, x: Real[Array, "n d"] | Sparse) -> Float[Array, "n c"]:
        """Σ_j x_j³ ψ₂(α_j) − L³ ψ₂(A)."""
        return self.cumulant(x, 3)

    def sample_predictive(self, rng: np.random.Generator, y: np.ndarray, **given: Any) -> np.ndarray:
        """Counts of `length` events (a number, or one a row); each row has its own draw of θ."""
        length = np.broadcast_to(given["length"], len(y)).astype(int)
        theta = np.exp(log_dirichlet(rng, self.alpha[y]))
        return rng.multinomial(length, theta / theta.sum(-1, keepdims=True)).astype(float)

    def model(self, x: Real[Array, "n d"] | None, y: Array, length: Any = None) -> None:
        """The same model in NumPyro, plates written out; where x is drawn, `length` gives the row lengths L.

        Raises
        ------
        ValueError
            if neither x nor `length` is given: the model has no distribution of row lengths
        """
        import numpyro
        import numpyro.distributions as dist

        c = self.alpha.shape[0]
        with numpyro.plate("class", c, dim=-1):
            theta = numpyro.sample("theta", dist.Dirichlet(self.alpha))
        x = None if x is None else as_jax(x)
        if x is None and length is None:
            raise ValueError(
                "`x` is None, but the model has no distribution of row lengths; give `length`, or the rows"
            )
        with numpyro.plate("row", n_rows(x, y), dim=-1):
            numpyro.sample("x", dist.Multinomial(length if x is None else x.sum(-1), theta[y]), obs=x)
