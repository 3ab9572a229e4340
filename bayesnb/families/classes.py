"""The class labels: Dirichlet–categorical, or fixed probabilities.

π ~ Dirichlet(α_1 … α_C)        class probabilities; or π fixed
y_i ~ Categorical(π)
"""

import abc
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from ..numerics.arrays import Weights, is_sparse
from ..numerics.special import digamma, log_floor, log_rising, namespace, tetragamma, trigamma
from ..sums.rows import remove_row, row_totals
from ._page import COUNT, SIMPLEX, Array, Field, Float, Key, Table, Theta, Value, declare, pytree
from .conjugate import FromPrior


class AbstractClasses(abc.ABC):
    """A prior of the class labels; its statistics are the class weights N (c,). By default nothing is learnt of π."""

    parameters: ClassVar[tuple[str, ...]] = ("log_pi",)
    separable: ClassVar[bool] = False

    fields_: ClassVar[Mapping[str, Field]]
    """Support and axes of every field."""

    @abc.abstractmethod
    def mean(self) -> Theta:
        """Mean of π."""

    @abc.abstractmethod
    def model(self) -> Float[Array, " c"]:
        """π as a NumPyro statement."""

    def update(self, n: Float[Array, " c"]) -> Self:
        """The posterior given class weights."""
        return self

    def log_marginal(self, n: Float[Array, " c"]) -> Float[Value, ""]:
        """log p(y), in nats: Σ_c N_c log π_c."""
        return (n * self.log_predictive()).sum()

    def log_prob(self, theta: Theta) -> Float[Value, "*s"]:
        """Log density of π on the simplex; 0 where there is no parameter."""
        return 0 * self.log_predictive().sum()

    def log_predictive(self) -> Float[Array, " c"]:
        """log p(y = c | data) of the next label: that of the mean of π."""
        return self.mean()["log_pi"]

    def log_loo(self, r: Weights) -> Table:
        """log p(y = c | data without label i), from a posterior that contains labels with weights r."""
        return namespace(self.log_predictive(), r).broadcast_to(self.log_predictive(), r.shape)

    def sample(self, key: Key, shape: tuple[int, ...] = ()) -> Theta:
        """Independent draws of log π."""
        log_pi = self.log_predictive()
        return {"log_pi": namespace(log_pi).broadcast_to(log_pi, (*shape, *log_pi.shape))}

    def log_cumulants(self) -> tuple[Float[Array, " c"], Float[Array, " c"], Float[Array, " c"]]:
        """Mean, variance and third cumulant of log π_c, up to terms that all classes share."""
        log_pi = self.log_predictive()
        return log_pi, 0 * log_pi, 0 * log_pi

    def mode(self) -> Theta:
        """Mode of π."""
        return self.mean()

    def mle(self, n: Float[Array, " c"]) -> Theta:
        """Maximum likelihood estimate of π."""
        return self.mean()

    def on_boundary(self) -> bool:
        """Whether the mode lies on the boundary of the simplex; never where π is not estimated."""
        return False

    def marginals(self) -> dict[str, Any]:
        """Marginal distribution of each component of the site `pi`; none where π is not random."""
        return {}


@pytree
@dataclass(frozen=True)
class DirichletClasses(FromPrior, AbstractClasses):
    """Dirichlet density of the class probabilities.

    Fields
    ------
    alpha : (c,)   pseudo-rows of the classes, positive

    Formulas
    --------
    mean : α / Σ_c α_c
    mode : (α − 1)/Σ_c (α_c − 1); 0 where α_c ≤ 1; the mean where all are
    """

    alpha: Float[Array, " c"]

    fields_ = declare(alpha=Field(COUNT, ("class",)))

    def prior(self, sample: Any, dist: Any) -> None:
        """π ~ Dirichlet(α)."""
        sample("pi", dist.Dirichlet(self.alpha))

    def update(self, n: Float[Array, " c"]) -> Self:
        """α + N."""
        return type(self)(self.alpha + n)

    def log_marginal(self, n: Float[Array, " c"]) -> Float[Value, ""]:
        """The log evidence log p(y) = log B(α + N) / B(α), written with rising factorials, B the multivariate beta.

        `log_rising(a, n)` is log Γ(a + n)/Γ(a), which keeps the digits that a difference of two log Γ would lose.
        """
        return log_rising(self.alpha, n).sum() - log_rising(self.alpha.sum(), n.sum())

    def log_predictive(self) -> Float[Array, " c"]:
        """log α_c/Σα, add-α smoothing."""
        xp = namespace(self.alpha)
        return xp.log(self.alpha) - xp.log(self.alpha.sum())

    def log_loo(self, r: Weights) -> Table:
        """log (α_c − r_ic) / (Σα − Σ_c r_ic): the Dirichlet predictive without label i, as rows with these weights.

        Parameters
        ----------
        r : (n, c), weights of the labels in the counts α, dense or sparse
        """
        xp = namespace(self.alpha, r)  # numpy or jax.numpy
        log_total = xp.log(remove_row(self.alpha.sum(), row_totals(r)))[:, None]  # (n, 1)
        if not is_sparse(r):
            return xp.log(remove_row(self.alpha, r)) - log_total

        # Sparse: first as if the row had no weight in any class; then the entries of the classes in which it has some.
        # In the CSR format row i has the entries indptr[i] … indptr[i + 1] − 1 of `indices`, the classes, and of
        # `data`, the weights. With 1, 0 and 2 entries, `row` is (0, 2, 2).
        r = r.tocsr()
        table = xp.log(self.alpha) - log_total  # (n, c)
        n_entries_of_row = np.diff(r.indptr)
        row = np.repeat(np.arange(len(table)), n_entries_of_row)  # row and class of each stored weight
        label = r.indices

        # `remove_row` subtracts a weight, and keeps what remains above 0
        table[row, label] = np.log(remove_row(self.alpha[label], r.data)) - log_total[row, 0]
        return table

    def log_cumulants(self) -> tuple[Float[Array, " c"], Float[Array, " c"], Float[Array, " c"]]:
        """Mean, variance and third cumulant of log π_c, up to terms that all classes share: polygamma functions of α.

        They are ψ(α) − ψ(A), ψ₁(α) and ψ₂(α), with A = Σα.

        log π_c = log G_c − log ΣG with independent gammas G. The last term is equal in all classes. It adds −ψ₁(A) to
        every entry of the covariance and −ψ₂(A) to the third cumulants. It cancels in class probabilities, and without
        it the classes are independent.
        """
        return digamma(self.alpha) - digamma(self.alpha.sum()), trigamma(self.alpha), tetragamma(self.alpha)

    def mle(self, n: Float[Array, " c"]) -> Theta:
        """N_c / N; the mean of this density if there are no labels."""
        # the mode, from how far each α is above 1, where the Dirichlet is flat: under a flat prior that is N
        return self.mode_of_shifted_fields(self.mean(), n)

    def marginals(self) -> dict[str, Any]:
        """Beta(α_c, Σα − α_c) for each component of `pi`; a single class has nothing to learn."""
        if len(self.alpha) == 1:
            return {}
        return super().marginals()

    def model(self) -> Float[Array, " c"]:
        """π ~ Dirichlet(α); a single class has probability 1 and no site."""
        import jax.numpy as jnp
        import numpyro
        import numpyro.distributions as dist

        if len(self.alpha) == 1:  # nothing is random
            return jnp.ones(1)
        return numpyro.sample("pi", dist.Dirichlet(self.alpha))


@pytree
@dataclass(frozen=True)
class FixedClasses(AbstractClasses):
    """Fixed class probabilities: nothing is learnt from the labels.

    Fields
    ------
    pi : (c,)   probabilities, summing to one
    """

    pi: Float[Array, " c"]

    fields_ = declare(pi=Field(SIMPLEX, ("class",)))

    def mean(self) -> Theta:
        """π."""
        return {"log_pi": log_floor(self.pi)}

    def model(self) -> Float[Array, " c"]:
        """π, no statement."""
        import jax.numpy as jnp

        return jnp.asarray(self.pi)
