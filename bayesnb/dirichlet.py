"""Dirichlet: what the models of shares with a Dirichlet prior have in common.

    θ ~ Dirichlet(α_1 … α_K)     probabilities of K kinds, α along the last axis

The parameter is held as log θ, so that small probabilities keep their digits. The pages of the class labels, the
categorical, the multinomial and the complement model add the likelihood. Gelman et al. (2013), Bayesian Data Analysis,
3rd ed., §3.4.
"""

from functools import cached_property
from types import MappingProxyType
from typing import Any, ClassVar, Self

import numpy as np

from .base import AbstractConjugate
from .core.arrays import Array, Float, Int, Real, Sparse, Theta, Value
from .core.random import Key, log_dirichlet
from .core.special import digamma, gammaln, log_rising, log_shares, namespace, tetragamma, trigamma
from .loops import contiguous
from .statistics import Counts
from .sums.by_class import by_class
from .sums.polya import event_shares, log_coefficient, log_polya, merge_others
from .sums.rows import map_cells, matmul, row_totals


class DirichletDensity:
    """Dirichlet density of each θ, prior or posterior.

    Fields
    ------
    alpha : (c,), (c, d) or (c, d, k)   pseudo-counts, positive
    """

    alpha: Float[Array, "..."]
    parameters: ClassVar[tuple[str, ...]]

    def log_normalizer(self) -> Float[Value, "..."]:
        """log B(α) = Σ_k log Γ(α_k) − log Γ(Σ_k α_k)."""
        return gammaln(self.alpha).sum(-1) - gammaln(self.alpha.sum(-1))

    def gain(self, n: Float[Array, "..."]) -> Float[Value, "..."]:
        """log B(α + n) / B(α) = Σ_k log α_k^(n_k) − log A^(Σn), A = Σα, with rising factorials a^(n) = Γ(a+n)/Γ(a)."""
        return log_rising(self.alpha, n).sum(-1) - log_rising(self.alpha.sum(-1), n.sum(-1))

    def log_prob(self, theta: Theta) -> Float[Value, "..."]:
        """Σ_k (α_k − 1) log θ_k − log B(α)."""
        return ((self.alpha - 1) * theta[self.parameters[0]]).sum(-1) - self.log_normalizer()

    def sample(self, key: Key, shape: tuple[int, ...] = ()) -> Theta:
        """Draws of log θ by normalised log-gammas."""
        return {self.parameters[0]: log_dirichlet(key, self.alpha, shape)}

    def mean(self) -> Theta:
        """α / Σ_k α_k: add-α smoothing."""
        xp = namespace(self.alpha)
        return {self.parameters[0]: xp.log(self.alpha) - xp.log(self.alpha.sum(-1, keepdims=True))}

    def mode(self) -> Theta:
        """(α − 1) / Σ_k (α_k − 1); 0 if α_k ≤ 1; the mean if all are (no mode is inside)."""
        return self._shares(namespace(self.alpha).maximum(self.alpha - 1, 0))

    def _shares(self, weight: Array) -> Theta:
        """Weights over their sum; the mean where all are 0."""
        return {name: log_shares(weight, mean) for name, mean in self.mean().items()}

    def on_boundary(self) -> bool:
        """Whether some α is at most 1."""
        return bool((self.alpha <= 1).any())

    def marginals(self) -> dict[str, Any]:
        """Beta(α_k, Σα − α_k) for each component of θ."""
        from scipy import stats

        rest = self.alpha.sum(-1, keepdims=True) - self.alpha
        return {self.parameters[0].removeprefix("log_"): stats.beta(self.alpha, rest)}


class AbstractDirichlet(DirichletDensity, AbstractConjugate[Counts]):
    """A block whose parameters are shares with a Dirichlet density; its statistics are counts of each kind."""

    parameters = ("log_theta",)
    distribution_ = "Dirichlet", MappingProxyType({"alpha": "concentration"})

    def update(self, stats: Counts) -> Self:
        """α + n, with n the counts of each kind."""
        return type(self)(self.alpha + stats.n)  # type: ignore[call-arg]

    def log_marginal(self, stats: Counts) -> Float[Array, "..."]:
        """log B(α + n) / B(α) + Σ_i log h(x_i), written with rising factorials; h counts orders, 1 for levels."""
        return self.gain(stats.n) + stats.log_h

    def mle(self, stats: Counts) -> Theta:
        """n_k / Σ_k n_k; the mean of the prior where nothing was counted."""
        return self._shares(stats.n)


class AbstractEvents(AbstractDirichlet):
    """Rows are counts of events, of which each kind has its share: the gain of a row in one Dirichlet density.

    A cell that is not there is a count of zero.
    """

    missing_value = 0.0

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

    def merged(self, columns: Int[np.ndarray, " k"]) -> Self:
        """The block in which some kinds of events are merged into one kind, with the sum of their α."""
        return type(self)(merge_others(self.alpha, columns))  # type: ignore[call-arg]

    def _by_event(self) -> np.ndarray:
        """α event by event, on the host, copied once for all rows."""
        return self._transposed

    @cached_property
    def _transposed(self) -> np.ndarray:
        return contiguous(self.alpha.T)

    @cached_property
    def _mean(self) -> Theta:
        return super().mean()

    def mean(self) -> Theta:
        """α / Σ_k α_k: add-α smoothing; its logarithms are taken once for all rows."""
        return dict(self._mean)

    def cumulant(self, x: Any, order: int) -> Float[Array, "n c"]:
        """Σ_j x_j^k ψ_{k−1}(α_j) − L^k ψ_{k−1}(A), k = 1, 2 or 3: that of Σ_j x_j log θ_cj over θ."""
        polygamma, length = (digamma, trigamma, tetragamma)[order - 1], row_totals(x)[:, None]
        powers = x if order == 1 else map_cells(x, lambda count: count**order)
        return matmul(powers, polygamma(self.alpha)) - length**order * polygamma(self.alpha.sum(-1))
