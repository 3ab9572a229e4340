"""Dirichlet–multinomial: counts of d kinds of events in a row, such as words in a text.

    θ_c ~ Dirichlet(α_c1 … α_cd)                       event probabilities of class c
    x_i | y_i = c, L_i ~ Multinomial(L_i, θ_c)         L_i = Σ_j x_ij, the row's number of events, is given

The features of a row are coupled through L_i, so a missing cell has no meaning here and is refused. With θ integrated
out a row is Dirichlet–multinomial (Pólya): an event that has occurred is more likely to occur again. Plugging in the
mean of θ misses this as soon as a row has two events. See Madsen, Kauchak & Elkan (2005), ICML, eq. (3)–(5).

The gain is that of whole rows: log L!/Πx! + Σ_j log α_j^(x_j) − log A^(L), A = Σα, with rising factorials
a^(x) = Γ(a+x)/Γ(a). `AbstractEvents` has what the multinomial and the complement page share.
"""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from ..numerics.arrays import Array, Data, Float, Int, Real, Sparse, Table, Tables, Theta, Weights, is_sparse
from ..numerics.special import polygamma
from ..numerics.supports import COUNT, GIVEN_TOTALS, Cells, Field, declare
from ..sums.rows import by_class, map_cells, matmul, row_totals
from ..sums.tables import log_coefficient, log_polya
from ._page import CellStatistics, Conjugate, Counts, as_jax, log_dirichlet, log_rising, n_rows, pytree


class AbstractEvents(Conjugate[Counts]):
    """Rows are counts of events, of which each kind has its share: the gain of a row in one Dirichlet density.

    A cell that is not there is a count of zero.
    """

    alpha: Float[Array, "c d"]

    parameters = ("log_theta",)
    missing_value = 0.0
    separable = False

    def prior(self, sample: Any, dist: Any) -> None:
        """θ ~ Dirichlet(α)."""
        sample("theta", dist.Dirichlet(self.alpha))

    def suffstats(self, x: Data, r: Weights) -> Counts:
        """n_cj = Σ_i r_ic x_ij, and the log multinomial coefficients of the rows; `by_class(r, t)` is rᵀt, (c, …)."""
        return Counts(by_class(r, x), by_class(r, log_coefficient(x)))

    def sums(self, stats: Counts) -> CellStatistics:
        """L = Σ_j n_j and the counts of the kinds."""
        return CellStatistics(stats.n.sum(-1), stats.n)

    def added(self, s: Any, alpha: Array) -> tuple[Array]:
        """α + n."""
        return (alpha + s.total,)

    def gain(self, s: Any, alpha: Array) -> Float[Array, " c"]:
        """log B(α + n) / B(α) = Σ_j log α_j^(n_j) − log A^(L)."""
        return log_rising(alpha, s.total).sum(-1) - log_rising(alpha.sum(-1), s.n)

    def _coefficient(self, x: Array | Sparse) -> Float[Array, "n 1"]:
        """log L!/Πx!, equal in all classes."""
        return log_coefficient(x)[:, None]

    def log_score(self, x: Data, theta: Theta | None = None) -> Tables:
        """log p without the multinomial coefficient: Σ_j log α_j^(x_j) − log A^(L), or at given θ Σ_j x_j log θ_j.

        a^(x) = Γ(a + x)/Γ(a) is the rising factorial, A = Σ_j α_j and L = Σ_j x_j.
        """
        return log_polya(x, self.alpha) if theta is None else matmul(x, theta["log_theta"])

    def log_loo_score(self, x: Array | Sparse, r: Array | Sparse) -> Table:
        """The log density of each row without this row, less the multinomial coefficient, (n, c).

        In the classes in which the row has weight w, it has added w x to the concentrations α, so α − w x stands for α:
        Σ_j log (α_j − w x_j)^(x_j) − log (A − w L)^(L), with rising factorials a^(x) = Γ(a + x)/Γ(a).

        Parameters
        ----------
        x, r : rows that this posterior contains, and their weights (n, c) in the classes
        """
        return log_polya(x, self.alpha, r)

    def log_predictive(self, x: Data) -> Table:
        """log L!/Πx! + Σ_j log α_j^(x_j) − log A^(L)."""
        return self._coefficient(x) + self.log_score(x)

    def log_loo(self, x: Data, r: Weights) -> Table:
        """log_predictive without row i."""
        return self._coefficient(x) + self.log_loo_score(x, r)

    def log_likelihood(self, theta: Theta, x: Data) -> Tables:
        """log L!/Πx! + Σ_j x_j log θ_j."""
        return self._coefficient(x) + self.log_score(x, theta)

    def log_contributions(
        self, x: Data, columns: Int[np.ndarray, " k"], theta: Theta | None = None
    ) -> Float[Array, "*s n k c"]:
        """Contributions of some kinds j of events to log p(x_i | y = c), (…, n, k, c).

        Given θ it is x_j log θ_j. With θ integrated out it is log α_j^(x_j) − (x_j/L) log A^(L): the term of the row
        length L is divided in proportion to the counts.

        a^(x) = Γ(a + x)/Γ(a) is a rising factorial, A = Σ_j α_j and L = Σ_j x_j. The rule is additive, treats all kinds
        alike, and gives 0 to a kind that does not occur. If each event were its own row with L = 1, it would be
        x_j log θ_j. The multinomial coefficient is equal in all classes.

        Parameters
        ----------
        x : (n, d), counts, dense or sparse
        columns : the k kinds whose contributions are returned
        theta : `log_theta`, (…, c, d), leading axes are draws; None integrates θ out
        """
        counts = x[:, columns].toarray() if is_sparse(x) else x[:, columns]
        cells = counts[..., None]  # (n, k, 1), against classes along the last axis

        # given θ: x_j log θ_j, (…, n, k, c)
        if theta is not None:
            log_theta = theta["log_theta"][..., columns].swapaxes(-1, -2)  # (…, k, c)
            return cells * log_theta[..., None, :, :]  # (n, k, 1) times (…, 1, k, c)

        # θ integrated out: the rising factorial of each kind, log α_j^(x_j); `log_rising(a, x)` is log a^(x)
        alpha = self.alpha.T[columns]  # (k, c)
        of_kinds = log_rising(alpha, cells)  # (n, k, c)

        # and its share x_j/L of that of the row, log A^(L)
        length = row_totals(x)[:, None, None]  # L, (n, 1, 1)
        share = cells / np.where(length > 0, length, 1)  # of a row without events 0
        of_rows = log_rising(self.alpha.sum(-1), length)  # (n, 1, c)
        return of_kinds - share * of_rows

    def linear_form(self, theta: Theta) -> tuple[Float[Array, "d c"], Float[Array, " c"]]:
        """Weights log θ and intercept 0 of log p(x | θ), up to the coefficient, which is equal in all classes."""
        weights = theta["log_theta"].T  # (d, c): log p(x | θ_c) = Σ_j x_j log θ_cj
        return weights, 0 * weights.sum(0)

    def _of_events(self, order: int, x: Any) -> Table:
        """The cumulant of Σ_j x_j log θ_cj over θ, (n, c): Σ_j x_j^k ψ_{k−1}(α_j) − L^k ψ_{k−1}(A), k the order.

        ψ_{k−1} are polygamma functions, α_j the concentrations, A their sum and L = Σ_j x_j. The shares θ_j are
        G_j/S, with independent gammas G_j of shape α_j and their sum S, a gamma of shape A that is independent of θ.
        Log G_j has the cumulants ψ_{k−1}(α_j). As log G_j = log θ_j + log S,

            Σ_j x_j log G_j = Σ_j x_j log θ_j + L log S

        Cumulants of independent terms add, and a factor x_j comes out as x_j^k. So the cumulant of the left side is
        Σ_j x_j^k ψ_{k−1}(α_j), that of the last term L^k ψ_{k−1}(A), and the difference is that of Σ_j x_j log θ_j.

        Parameters
        ----------
        order : k: 1 is the mean, 2 the variance, 3 the third cumulant
        x : (n, d), counts, dense or sparse; L is the sum of a row
        """
        powers = map_cells(x, lambda count: count**order)  # x_j^k of each cell, (n, d), dense or sparse
        length = row_totals(x)[:, None]  # L, (n, 1)
        of_length = length**order * polygamma(order - 1, self.alpha.sum(-1))  # (n, c)

        # `matmul(x, a)` is Σ_j x_ij a_cj, (n, c)
        return matmul(powers, polygamma(order - 1, self.alpha)) - of_length

    def _cumulant(self, order: int, x: Any) -> Table:
        """`_of_events`; the mean has the multinomial coefficient too."""
        cumulant = self._of_events(order, x)
        return cumulant + self._coefficient(x) if order == 1 else cumulant

    def lump_other_columns(self, columns: Int[np.ndarray, " k"]) -> Self:
        """The block in which all other kinds of events are merged into one kind, the last, with the sum of their α."""
        alpha_of_others = np.delete(self.alpha, columns, axis=1).sum(1, keepdims=True)  # (c, 1)
        positive = np.maximum(alpha_of_others, 1e-50)  # where there are no others

        # a sum of components of a Dirichlet vector is again a component of one, with the sum of their concentrations
        return self.of(np.concatenate([self.alpha[:, columns], positive], 1))


@pytree
@dataclass(frozen=True)
class DirichletMultinomial(AbstractEvents):
    """Dirichlet density of each θ_c, as a prior or a posterior.

    Fields
    ------
    alpha : (c, d)   pseudo-counts of the events, positive

    Formulas
    --------
    mean : α / Σ_j α_j, add-α smoothing
    mode : (α − 1)/Σ_j (α_j − 1); 0 where α_j ≤ 1; the mean where all are
    mle : n_j / Σ_j n_j
    """

    alpha: Float[Array, "c d"]

    fields_ = declare(alpha=Field(COUNT))
    cells_ = Cells("counts", sparse=True, measure=GIVEN_TOTALS)

    def sample_predictive(self, rng: np.random.Generator, y: np.ndarray, **given: Any) -> np.ndarray:
        """Counts of `length` events (a number, or one a row); each row has its own draw of θ.

        Parameters
        ----------
        rng : NumPy's generator
        y : (n,) class of each new row
        given : `length`, the number of events of each row
        """
        length = np.broadcast_to(given["length"], len(y)).astype(int)
        theta = np.exp(log_dirichlet(rng, self.alpha[y]))  # (n, d)
        theta_of_sum_one = theta / theta.sum(-1, keepdims=True)  # to all digits, as NumPy requires
        return rng.multinomial(length, theta_of_sum_one).astype(float)

    def sample_rows(
        self, rng: np.random.Generator, theta: Theta, y: Int[np.ndarray, " n"], **given: Any
    ) -> Float[np.ndarray, "s n d"]:
        """New rows at given parameters: counts of `length` events, a number or one a row.

        Parameters
        ----------
        rng : NumPy's generator
        theta : `log_theta`, (s, c, d), of s draws
        y : class of each new row
        given : `length`, the number of events of each row
        """
        share = np.exp(theta["log_theta"])[:, y]  # (s, n, d)
        share /= share.sum(-1, keepdims=True)  # to all digits, as NumPy requires
        length = np.broadcast_to(given["length"], share.shape[:-1]).astype(int)
        return rng.multinomial(length, share).astype(float)

    def model(self, x: Real[Array, "n d"] | None, y: Array, length: Any = None) -> None:
        """The same model in NumPyro: θ_c ~ Dirichlet(α_c), x_i ~ Multinomial(L_i, θ_y).

        Parameters
        ----------
        x : (n, d) counts; None draws them
        y : (n,) class of each row; labels that NumPyro enumerates have other axes
        length : the row lengths L, where x is drawn; of data they are the sums of the rows

        Raises
        ------
        ValueError
            if neither x nor `length` is given: the model has no distribution of row lengths
        """
        import numpyro
        import numpyro.distributions as dist

        c = self.alpha.shape[0]
        with numpyro.plate("class", c, dim=-1):
            theta = numpyro.sample("theta", dist.Dirichlet(self.alpha))  # (c, d)

        # the rows: without data and without lengths the model does not say how many events a row has
        counts = None if x is None else as_jax(x)
        if counts is None and length is None:
            raise ValueError(
                "`x` is None, but the model has no distribution of row lengths; give `length`, or the rows"
            )
        n_events = length if counts is None else counts.sum(-1)  # L, (n,)
        with numpyro.plate("row", n_rows(counts, y), dim=-1):
            numpyro.sample("x", dist.Multinomial(n_events, theta[y]), obs=counts)
