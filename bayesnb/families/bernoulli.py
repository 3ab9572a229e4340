"""Beta–Bernoulli: features with the values yes and no.

    θ_cj ~ Beta(a_cj, b_cj)             probability that feature j is 1 in class c
    x_ij | y_i = c ~ Bernoulli(θ_cj)    independent given the class; NaN = missing, left out cell by cell

This is the conjugate pair of Gelman et al. (2013), Bayesian Data Analysis, 3rd ed., §2.4, for each class and feature.
"""

from dataclasses import dataclass
from typing import Any, Self

from ..numerics.pytrees import pytree
from ..numerics.supports import COUNT, Cells, Field, declare
from ..sums.rows import by_class, small_rest, subtract_weight
from ._page import (
    Array,
    CellStatistics,
    Conjugate,
    Counts,
    Data,
    Float,
    Totals,
    Weights,
    is_sparse,
    log_failure,
    log_rising,
)
from ._page import namespace as namespace


@pytree
@dataclass(frozen=True)
class BetaBernoulli(Conjugate[Counts]):
    """Beta density of each θ_cj, as a prior or a posterior.

    Fields
    ------
    a, b : (c, d)   pseudo-counts of ones and of zeros, positive

    Formulas
    --------
    predictive : x log a/(a+b) + (1−x) log b/(a+b), the mean plugged in; with a = b = 1 it is Laplace's rule
    mean : a/(a + b)
    mode : (a − 1)/(a + b − 2); 0 or 1 where a or b is at most 1; the mean where both are
    mle : n₁/(n₀ + n₁)
    """

    a: Float[Array, "c d"]
    b: Float[Array, "c d"]

    fields_ = declare(a=Field(COUNT, public="alpha"), b=Field(COUNT, public="alpha"))
    cells_ = Cells("yes/no", sparse=True)
    parameters = ("logit_theta",)

    def prior(self, sample: Any, dist: Any) -> None:
        """θ ~ Beta(a, b)."""
        sample("theta", dist.Beta(self.a, self.b))

    def likelihood(self, dist: Any, theta: Array) -> Any:
        """x ~ Bernoulli(θ)."""
        return dist.Bernoulli(theta)

    def eta(self, logit_theta: Array) -> tuple[Array, Array]:
        """Level log(1 − θ) and slope logit θ."""
        return log_failure(logit_theta), logit_theta

    def suffstats(self, x: Data, r: Weights) -> Counts:
        """n_cj0 = Σ_i r_ic (1 − x_ij) and n_cj1 = Σ_i r_ic x_ij over the observed cells: zeros and ones, (c, d, 2).

        Parameters
        ----------
        x : (n, d), cells 0 and 1; NaN = missing; dense or sparse
        r : (n, c), weights of the rows in the classes
        """
        # (c, d) each: `n`, the weight of the observed cells, and `total`, their weighted sum, which is that of the
        # ones. The zeros are the difference
        totals: Totals = super().suffstats(x, r)  # type: ignore[assignment]
        zeros = subtract_weight(totals.n, totals.total)  # n − n₁, and exactly 0 where the difference is only rounding

        # in columns in which nearly all cells are ones, the difference loses digits: there the zeros are counted.
        # `small_rest` gives the columns in which the zeros are less than 0.001 of n and weights are not whole
        columns = small_rest(totals.n, zeros)
        if len(columns):
            cells = x[:, columns].toarray() if is_sparse(x) else x[:, columns]
            zeros[:, columns] = by_class(r, (cells == 0).astype(float))  # rᵀ[x = 0], (c, columns)
        return Counts(namespace(zeros).stack([zeros, totals.total], -1), totals.log_h)

    def update(self, stats: Counts) -> Self:
        """The beta posterior a + n₁, b + n₀, from the counts of ones and zeros.

        n₀ is counted, so a small one has all its digits; `added`, which has sums only, takes the difference n − n₁.
        """
        return self.of(self.a + stats.n[..., 1], self.b + stats.n[..., 0])

    def sums(self, stats: Counts) -> CellStatistics:
        """n = n₀ + n₁ and Σ_i x_i = n₁, from the counts of zeros and ones, (c, d, 2)."""
        return CellStatistics(stats.n.sum(-1), stats.n[..., 1])

    def added(self, s: Any, a: Array, b: Array) -> tuple[Any, Any]:
        """a + n₁, b + n₀."""
        return a + s.total, b + (s.n - s.total)

    def gain(self, s: Any, a: Array, b: Array) -> Any:
        """log B(a+n₁, b+n₀) / B(a, b), written with rising factorials; of one cell log a/(a+b) or log b/(a+b)."""
        return log_rising(a, s.total) + log_rising(b, s.n - s.total) - log_rising(a + b, s.n)
