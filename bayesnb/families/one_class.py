"""A block that speaks of one class only: the class-conditional of class k, whatever the other classes have.

    x_i | y_i = k ~ the block's model;   rows of other classes are not this block's business

Its table is the inner block's in column k and zero elsewhere, so that the blocks of all classes add up to a Bayes
classifier with a likelihood of its own for every class. All formulas are the inner block's, which has one class.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from .._pytree import pytree
from .._random import Key
from .._special import namespace
from .._support import Field
from .._typing import Array, Float, Int, Real, Sparse, Theta
from ..base import AbstractConjugate, as_jax
from ..exact import ExactSum


@pytree
@dataclass(frozen=True)
class OneClass(AbstractConjugate):
    """A block of a single class at its place among all classes.

    Fields
    ------
    block : the conjugate block with one class, of a family that can leave cells out
    k : its class
    c : number of classes
    """

    block: Any
    k: int = field(metadata={"static": True})
    c: int = field(metadata={"static": True})

    @property
    def parameters(self) -> tuple[str, ...]:  # type: ignore[override]
        """The inner block's."""
        return self.block.parameters

    @property
    def blank(self) -> float | None:  # type: ignore[override]
        """The inner block's."""
        return self.block.blank

    @property
    def fields_(self) -> Mapping[str, Field]:  # type: ignore[override]
        """The inner block's."""
        return self.block.fields_

    @property
    def is_improper(self) -> bool:
        """The inner block's."""
        return self.block.is_improper

    @property
    def no_evidence(self) -> str | None:
        """The inner block's."""
        return self.block.no_evidence

    def _with(self, block: Any) -> Self:
        return type(self)(block, self.k, self.c)

    def _place(self, column: Float[Array, "*s n 1"]) -> Float[Array, "*s n c"]:
        """The column at place k, zeros elsewhere."""
        return column * (np.arange(self.c) == self.k)

    def suffstats(self, x: Real[Array, "n d"] | Sparse, r: Float[Array, "n c"] | Sparse) -> Any:
        """The inner block's, of the rows of class k."""
        return self.block.suffstats(x, r[:, [self.k]])

    def exact_sums(
        self, x: Real[Array, "n d"] | Sparse, r: Float[Array, "n c"] | Sparse, stats: Any
    ) -> dict[str, ExactSum]:
        """The inner block's, of the rows of class k."""
        return self.block.exact_sums(x, r[:, [self.k]], stats)

    def update(self, stats: Any) -> Self:
        """The inner block's."""
        return self._with(self.block.update(stats))

    def select(self, columns: Int[np.ndarray, " k"]) -> Self:
        """The inner block's."""
        return self._with(self.block.select(columns))

    def log_normalizer(self) -> Float[Array, " *pieces"]:
        """The inner block's."""
        return self.block.log_normalizer()

    def log_marginal(self, stats: Any) -> Float[Array, " *pieces"]:
        """The inner block's."""
        return self.block.log_marginal(stats)

    def log_prob(self, theta: Theta) -> Float[Array, " *pieces"]:
        """The inner block's."""
        return self.block.log_prob(theta)

    def log_predictive(self, x: Real[Array, "n d"] | Sparse) -> Float[Array, "n c"]:
        """The inner block's at place k, zero elsewhere."""
        return self._place(self.block.log_predictive(x))

    def log_loo(self, x: Real[Array, "n d"] | Sparse, r: Float[Array, "n c"] | Sparse) -> Float[Array, "n c"]:
        """The inner block's at place k, zero elsewhere."""
        return self._place(self.block.log_loo(x, r[:, [self.k]]))

    def log_likelihood(self, theta: Theta, x: Real[Array, "n d"] | Sparse) -> Float[Array, "*s n c"]:
        """The inner block's at place k, zero elsewhere."""
        return self._place(self.block.log_likelihood(theta, x))

    def log_moments(self, x: Real[Array, "n d"] | Sparse) -> tuple[Float[Array, "n c"], Float[Array, "n c"]]:
        """The inner block's at place k, zero elsewhere."""
        mean, variance = self.block.log_moments(x)
        return self._place(mean), self._place(variance)

    def log_third_cumulant(self, x: Real[Array, "n d"] | Sparse) -> Float[Array, "n c"]:
        """The inner block's at place k, zero elsewhere; zero where it has none."""
        own = getattr(self.block, "log_third_cumulant", lambda x: 0 * self.block.log_moments(x)[0])
        return self._place(own(x))

    def sample(self, key: Key, shape: tuple[int, ...] = ()) -> Theta:
        """The inner block's."""
        return self.block.sample(key, shape)

    def mean(self) -> Theta:
        """The inner block's."""
        return self.block.mean()

    def mode(self) -> Theta:
        """The inner block's."""
        return self.block.mode()

    def mle(self, stats: Any) -> Theta:
        """The inner block's."""
        return self.block.mle(stats)

    def on_boundary(self) -> bool:
        """The inner block's."""
        return self.block.on_boundary()

    def marginals(self) -> dict[str, Any]:
        """The inner block's."""
        return self.block.marginals()

    def sample_predictive(self, rng: np.random.Generator, y: np.ndarray, **given: Any) -> np.ndarray:
        """Rows of class k; NaN for the other classes."""
        rows = np.full((len(y), self.block.shape[1]), np.nan)
        own = y == self.k
        rows[own] = self.block.sample_predictive(rng, np.zeros(own.sum(), int), **given)
        return rows

    def model(self, x: Real[Array, "n d"] | None, y: Any) -> None:
        """The inner block's statements; the cells of other classes are blank."""
        import jax.numpy as jnp

        y = jnp.asarray(y)
        if x is not None:
            x = as_jax(x.toarray() if hasattr(x, "toarray") else x)
            x = namespace(x).where((y == self.k)[:, None], x, self.block.blank)
        self.block.model(x, jnp.zeros_like(y))
