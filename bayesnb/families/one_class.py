"""A block of a single class: the model of the rows of class k; other classes have their own blocks.

    x_i | y_i = k ~ the block's model;   rows of other classes are not this block's business

Its table has the values of the inner block in column k and zeros elsewhere. The blocks of all classes therefore add up
to a Bayes classifier in which each class has its own likelihood. All formulas are those of the inner block, which has
one class.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from ..numerics.special import namespace
from ..sums.statistics import Stats
from ._page import (
    AbstractConjugate,
    Array,
    Cells,
    Data,
    Field,
    Float,
    Int,
    Key,
    Real,
    Table,
    Tables,
    Theta,
    Weights,
    as_jax,
    is_sparse,
    pytree,
)
from .base import Block


@pytree
@dataclass(frozen=True)
class OneClass(AbstractConjugate[Stats]):
    """A block of a single class, at its position among all classes.

    Fields
    ------
    block : the conjugate block with one class, of a family that can leave cells out
    k : its class
    c : number of classes
    """

    block: AbstractConjugate[Stats]
    k: int = field(metadata={"static": True})
    c: int = field(metadata={"static": True})

    # --- what is that of the inner block ------------------------------------------------------------------------------

    @property
    def unwrapped(self) -> Block:
        """The inner block, which has the fields."""
        return self.block.unwrapped

    @property
    def parameters(self) -> tuple[str, ...]:  # type: ignore[override]  # a family declares it for the class
        """The inner block's."""
        return self.block.parameters

    @property
    def missing_value(self) -> float | None:  # type: ignore[override]
        """The inner block's."""
        return self.block.missing_value

    @property
    def fields_(self) -> Mapping[str, Field]:  # type: ignore[override]
        """The inner block's."""
        return self.block.fields_

    @property
    def cells_(self) -> Cells:  # type: ignore[override]
        """The inner block's."""
        return self.block.cells_

    @property
    def names_(self) -> Mapping[str, str]:  # type: ignore[override]
        """The inner block's."""
        return self.block.names_

    @property
    def is_improper(self) -> bool:
        """Whether the inner block is."""
        return self.block.is_improper

    @property
    def evidence_error(self) -> str | None:
        """The reason of the inner block."""
        return self.block.evidence_error

    def size_of(self, field: str) -> Array:
        """The size of the inner block."""
        return self.block.size_of(field)

    def log_normalizer(self) -> Float[Array, " *pieces"]:
        """That of the inner block."""
        return self.block.log_normalizer()

    def log_marginal(self, stats: Stats) -> Float[Array, " *pieces"]:
        """The log evidence of the inner block: of the rows of class k."""
        return self.block.log_marginal(stats)

    def log_prob(self, theta: Theta) -> Float[Array, " *pieces"]:
        """The log density of the parameters of class k."""
        return self.block.log_prob(theta)

    def sample(self, key: Key, shape: tuple[int, ...] = ()) -> Theta:
        """Draws of the parameters of class k."""
        return self.block.sample(key, shape)

    def mean(self) -> Theta:
        """The mean of the parameters of class k."""
        return self.block.mean()

    def mode(self) -> Theta:
        """The joint mode of the parameters of class k."""
        return self.block.mode()

    def mle(self, stats: Stats) -> Theta:
        """The maximum likelihood estimate of the parameters of class k."""
        return self.block.mle(stats)

    def on_boundary(self) -> bool:
        """Whether the mode of the inner block lies on the boundary."""
        return self.block.on_boundary()

    def marginals(self) -> dict[str, Any]:
        """Marginal distributions of the parameters of class k."""
        return self.block.marginals()

    # --- what has a place among all classes ---------------------------------------------------------------------------

    @property
    def only_class(self) -> int:
        """k."""
        return self.k

    def _place(self, column: Float[Array, "*s n 1"]) -> Tables:
        """The column at place k, zeros elsewhere, (…, n, c)."""
        is_class = np.arange(self.c) == self.k
        return column * is_class

    def log_predictive(self, x: Data) -> Table:
        """The value of the inner block in column k, zero in all other columns."""
        return self._place(self.block.log_predictive(x))

    def log_likelihood(self, theta: Theta, x: Data) -> Tables:
        """The value of the inner block in column k, zero in all other columns."""
        return self._place(self.block.log_likelihood(theta, x))

    def log_contributions(
        self, x: Data, columns: Int[np.ndarray, " k"], theta: Theta | None = None
    ) -> Float[Array, "*s n k c"]:
        """The values of the inner block in column k, zero in all other columns."""
        return self._place(self.block.log_contributions(x, columns, theta))

    def suffstats(self, x: Data, r: Weights) -> Stats:
        """Statistics of the inner block, the model of class k alone, from the weights (n, 1) of the rows in class k."""
        return self.block.suffstats(x, r[:, [self.k]])

    def update(self, stats: Stats) -> Self:
        """The result of the inner block."""
        return replace(self, block=self.block.update(stats))

    def select(self, columns: Int[np.ndarray, " k"]) -> Self:
        """The result of the inner block."""
        return replace(self, block=self.block.select(columns))

    def log_loo(self, x: Data, r: Weights) -> Table:
        """The value of the inner block in column k, zero in all other columns."""
        return self._place(self.block.log_loo(x, r[:, [self.k]]))

    def log_moments(self, x: Data) -> tuple[Table, Table]:
        """The value of the inner block in column k, zero in all other columns."""
        mean, variance = self.block.log_moments(x)
        return self._place(mean), self._place(variance)

    def _cumulant(self, order: int, x: Data) -> Table | None:
        """The cumulant of the inner block in column k, zero in all other columns; None if it has none."""
        cumulant = self.block._cumulant(order, x)
        return None if cumulant is None else self._place(cumulant)

    def sample_predictive(self, rng: np.random.Generator, y: np.ndarray, **given: Any) -> np.ndarray:
        """New rows of class k; NaN for the other classes, whose own blocks draw them.

        Parameters
        ----------
        rng : NumPy's generator
        y : (n,) class index of each row, among all classes
        given : settings of the family, such as `length` of multinomial rows
        """
        rows = np.full((len(y), self.block.shape[1]), np.nan)
        is_of_class = y == self.k
        labels_of_inner_block = np.zeros(is_of_class.sum(), int)  # in the inner block class k is class 0, the only one
        rows[is_of_class] = self.block.sample_predictive(rng, labels_of_inner_block, **given)
        return rows

    def sample_rows(
        self, rng: np.random.Generator, theta: Theta, y: Int[np.ndarray, " n"], **given: Any
    ) -> Float[np.ndarray, "s n d"]:
        """New rows of class k at given parameters; NaN for the other classes, whose own blocks draw them.

        Parameters
        ----------
        rng : NumPy's generator
        theta : draws of the parameters of the inner block, which has class k alone, (s, 1, …)
        y : class index of each row, among all classes
        """
        is_of_class = y == self.k

        # in the inner block class k is class 0, the only one; (s, rows of the class, d)
        of_class = self.block.sample_rows(rng, theta, np.zeros(is_of_class.sum(), int), **given)
        rows = np.full((len(of_class), len(y), of_class.shape[-1]), np.nan)
        rows[:, is_of_class] = of_class
        return rows

    def model(self, x: Real[Array, "*c n d"] | None, y: Array) -> None:
        """The statements of the inner block; cells of rows of other classes are missing, so they add nothing.

        Parameters
        ----------
        x : rows; with None they are drawn
        y : (n,) class index among all classes
        """
        import jax.numpy as jnp

        y = jnp.asarray(y)
        if x is not None:
            x = as_jax(x.toarray() if is_sparse(x) else x)
            is_of_class = (y == self.k)[..., None]  # with an axis of features; enumerated labels have more axes
            x = namespace(x).where(is_of_class, x, self.block.missing_value)
        self.block.model(x, jnp.zeros_like(y))  # all rows have label 0, the only class of the inner block
