"""Dirichlet complement: each class is learnt from the events of all other classes, with a composite likelihood.

    θ_c ~ Dirichlet(α_c1 … α_cd)                     event probabilities of the complement of class c
    x_i | y_i ≠ c, L_i ~ Multinomial(L_i, θ_c)       for every c but the row's own; L_i = Σ_j x_ij is given

A row therefore counts C − 1 times: log p(x_i | y_i = c, θ) := Σ_{k≠c} log Multinomial(x_i; L_i, θ_k). The sum over all
k is equal in all classes. What remains is −log Multinomial(x_i; L_i, θ_c). This is the rule of Rennie et al.: a row
belongs to the class whose complement fits it worst. A complement has more rows than a class, and complements differ
less in size than classes. This makes the weights of small classes more stable. With two classes the model is the
multinomial itself, because the complement of one class is the other.

A product of C − 1 densities of the same row is not a density of the row. The predictive of one row therefore does not
sum to one, and new rows cannot be drawn. The evidence is composite: it compares priors of this family, but not
families. The θ_c are independent a posteriori, although they were learnt from shared rows. Given this likelihood,
everything else is exact.

The gain of a row in one complement is that of a multinomial model, from `AbstractEvents`. This page puts these sums
together.

References
----------
Rennie, Shih, Teevan & Karger (2003), Tackling the poor assumptions of naive Bayes text classifiers, ICML, §3.1;
without their transforms of the counts (§4), and with a Dirichlet where they smooth.
Varin, Reid & Firth (2011), An overview of composite likelihood methods, Statistica Sinica 21.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..numerics.pytrees import map_leaves, pytree
from ..numerics.supports import COMPOSITE, COUNT, Cells, Field, declare
from ..sums.statistics import Counts
from ._page import Array, Data, Float, Int, Real, Sparse, Table, Tables, Theta, Weights, as_jax, is_sparse, namespace
from .multinomial import AbstractEvents


@pytree
@dataclass(frozen=True)
class DirichletComplement(AbstractEvents):
    """Dirichlet density of each θ_c, as a prior or a posterior.

    Fields
    ------
    alpha : (c, d)   pseudo-counts of the events outside class c, positive

    Formulas
    --------
    mean : α / Σ_j α_j, add-α smoothing
    mode : (α − 1)/Σ_j (α_j − 1); 0 where α_j ≤ 1; the mean where all are
    mle : n_j / Σ_j n_j
    """

    alpha: Float[Array, "c d"]

    fields_ = declare(alpha=Field(COUNT))
    cells_ = Cells("counts", sparse=True, measure=COMPOSITE)
    shares_parameters = True

    def suffstats(self, x: Data, r: Weights) -> Counts:
        """n_cj = Σ_{k≠c} Σ_i r_ik x_ij: events outside class c; the log multinomial coefficients likewise."""
        return map_leaves(_others, super().suffstats(x, r))

    def _coefficient(self, x: Array | Sparse) -> Float[Array, "n 1"]:
        """(C − 1) log L!/Πx!, of all others together."""
        return (len(self.alpha) - 1) * super()._coefficient(x)

    def log_score(self, x: Data, theta: Theta | None = None) -> Tables:
        """The row in the complements of all classes k but its own: Σ_{k≠c} Σ_j log α_kj^(x_j) − log A_k^(L), A = Σα.

        At given θ it is Σ_{k≠c} Σ_j x_j log θ_kj. a^(x) = Γ(a + x)/Γ(a) is the rising factorial, and L = Σ_j x_j.
        """
        # the multinomial model of each complement, (…, n, c); for each class the sum over all others
        return _others(super().log_score(x, theta), -1)

    def log_loo_score(self, x: Array | Sparse, r: Array | Sparse) -> Table:
        """The log density of each row under each class, (n, c), without this row and without multinomial coefficients.

        A class is judged by the complements of all other classes. The row is in the counts of every complement but that
        of its own class, so it is removed from those.

        Parameters
        ----------
        x, r : rows that this posterior contains, and their weights (n, c) in the classes, dense or sparse
        """
        # A row of class k is in the counts of the complement of every class but k: its weight in the complement of
        # class c is the sum of its weights over all classes but c. `_others` makes such sums.
        weights = r.toarray() if is_sparse(r) else r
        weights_in_complements = _others(weights, -1)  # (n, c)

        # the log density of the row in each complement, without the row; for each class the sum over all others
        return _others(super().log_loo_score(x, weights_in_complements), -1)

    def log_contributions(
        self, x: Data, columns: Int[np.ndarray, " k"], theta: Theta | None = None
    ) -> Float[Array, "*s n k c"]:
        """−[log α_j^(x_j) − (x_j/L) log A^(L)] or −x_j log θ_j, of the complement: as in the multinomial model."""
        return -super().log_contributions(x, columns, theta)

    def linear_form(self, theta: Theta) -> tuple[Float[Array, "d c"], Float[Array, " c"]]:
        """Rennie's weights −log θ and intercept 0 of log p(x | θ), up to terms that are equal in all classes."""
        weights, intercept = super().linear_form(theta)
        return -weights, intercept

    def _cumulant(self, order: int, x: Any) -> Table:
        """Mean, variance or third cumulant over θ of log p(x_i | y = c), by the order, (n, c).

        Write t_k = log p(x | θ_k) for the log density of a row under the complement of class k. A class is judged by
        the complements of all other classes: of three classes, log p(x | y = 0) = t_1 + t_2. The θ_k are independent,
        so that cumulants of t_1 and t_2 add up.

        The mean and the variance are these sums. The third cumulant is used for class probabilities, in which terms
        that all classes share do not count. Up to such a term, t_0 + t_1 + t_2, the logarithm is −t_0, and the third
        cumulant that is returned is that of −t_c: unlike t_1 + t_2 and t_0 + t_2, the terms −t_c are independent.

        Parameters
        ----------
        order : 1 for the mean, 2 for the variance, 3 for the third cumulant
        x : (n, d) counts, dense or sparse
        """
        # the cumulant of t_k for each complement k, (n, c), without the multinomial coefficient
        of_complements = self._of_events(order, x)
        if order == 1:
            return self._coefficient(x) + _others(of_complements, -1)  # for each class the sum over all others
        if order == 2:
            return _others(of_complements, -1)
        return -of_complements  # the third cumulant of −t has the other sign

    def sample_predictive(self, rng: np.random.Generator, y: np.ndarray, **given: Any) -> np.ndarray:
        """Always raises an error: this model cannot draw rows.

        Raises
        ------
        NotImplementedError   always: the model describes the complement of a class, not the class itself
        """
        raise NotImplementedError(
            "the complement model describes the rows outside a class, so it cannot draw rows of the class; use the "
            "multinomial model to draw new rows"
        )

    def sample_rows(
        self, rng: np.random.Generator, theta: Theta, y: Int[np.ndarray, " n"], **given: Any
    ) -> Float[np.ndarray, "s n d"]:
        """Always raises an error, as `sample_predictive` does."""
        return self.sample_predictive(rng, y)

    def model(self, x: Real[Array, "*c n d"] | None, y: Array) -> None:
        """The same model in NumPyro, plates written out; the row lengths L are data, so x is required.

        θ_c are event probabilities of the complement of class c, which are all rows of other classes. A row of class k
        is an observation of every complement but that of k, so it has a multinomial term for each class c ≠ k.

        Parameters
        ----------
        x : (n, d) counts
        y : (n,) class index of each row, or with other axes where NumPyro enumerates labels
        """
        import jax.numpy as jnp
        import numpyro
        import numpyro.distributions as dist

        c = self.alpha.shape[0]
        with numpyro.plate("class", c, dim=-1):
            theta = numpyro.sample("theta", dist.Dirichlet(self.alpha))  # (c, d), of the complement of each class
        if x is None:
            raise ValueError("`x` is None, but a composite likelihood cannot draw rows; give the rows")

        # A row has a term for each class, (n, c); the mask drops that of its own class, and `to_event` adds the terms
        # of a row up.
        counts = as_jax(x)[:, None]  # (n, 1, d), against θ (c, d)
        is_outside = jnp.asarray(y)[..., None] != jnp.arange(c)  # (n, c)
        multinomial = dist.Multinomial(counts.sum(-1), theta)
        with numpyro.plate("row", len(counts), dim=-1):
            numpyro.sample("x", multinomial.mask(is_outside).to_event(1), obs=counts)


def _others(table: Array, axis: int = 0) -> Array:
    """For each class the sum over all other classes, which lie along an axis; the shape stays.

    Three classes with the numbers a, b, c have the sums b + c, a + c and a + b. To subtract each class from the whole
    would leave rounding where the others have nothing. So each is the sum of the classes before, 0, a, a + b, plus that
    of the classes after, b + c, c, 0.

    Parameters
    ----------
    table : numbers of each class
    axis : of the classes
    """
    xp = namespace(table)  # numpy or jax.numpy

    def sum_before(by_class: Array) -> Array:
        """For each class the sum of those before it: 0, a, a + b."""
        nothing = xp.zeros_like(by_class[:1])
        return xp.concatenate([nothing, xp.cumsum(by_class[:-1], 0)])

    # the sums of the classes after are the same in reversed order: 0, c, c + b, which turned round are c + b, c, 0
    by_class = xp.moveaxis(table, axis, 0)  # the classes first
    sum_after = sum_before(by_class[::-1])[::-1]
    return xp.moveaxis(sum_before(by_class) + sum_after, 0, axis)
