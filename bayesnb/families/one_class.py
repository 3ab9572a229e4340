"""A block of a single class: the model of the rows of class k; other classes have their own blocks.

    x_i | y_i = k ~ the block's model;   rows of other classes are not this block's business

Its table has the values of the inner block in column k and zeros elsewhere. The blocks of all classes therefore add up
to a Bayes classifier in which each class has its own likelihood. All formulas are those of the inner block, which has
one class.
"""

import functools
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from ..base import AbstractConjugate, as_jax
from ..core.arrays import Array, Float, Int, Real, Sparse, is_sparse
from ..core.pytrees import pytree
from ..core.special import namespace
from ..statistics import Stats


def _of_inner(name: str) -> Any:
    """An attribute or method that is the inner block's own."""
    return property(lambda self: getattr(self.block, name), doc="The inner block's.")


def _placed(name: str) -> Any:
    """A method of the inner block, whose table gets zeros in the other columns."""

    @functools.wraps(getattr(AbstractConjugate, name))
    def method(self: Any, *args: Any, **given: Any) -> Array:
        return self._place(getattr(self.block, name)(*args, **given))

    method.__isabstractmethod__ = False  # type: ignore[attr-defined]
    method.__doc__ = "The value of the inner block in column k, zero in all other columns."
    return method


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

    inner = _of_inner("inner")
    only_class = property(lambda self: self.k, doc="k.")
    parameters = _of_inner("parameters")
    missing_value = _of_inner("missing_value")
    fields_ = _of_inner("fields_")
    cells_ = _of_inner("cells_")
    names_ = _of_inner("names_")
    several_modes = _of_inner("several_modes")
    is_improper = _of_inner("is_improper")
    no_evidence = _of_inner("no_evidence")
    log_normalizer = _of_inner("log_normalizer")
    log_marginal = _of_inner("log_marginal")
    log_prob = _of_inner("log_prob")
    sample = _of_inner("sample")
    mean = _of_inner("mean")
    mode = _of_inner("mode")
    mle = _of_inner("mle")
    on_boundary = _of_inner("on_boundary")
    marginals = _of_inner("marginals")

    def _place(self, column: Float[Array, "*s n 1"]) -> Float[Array, "*s n c"]:
        """The column at place k, zeros elsewhere."""
        return column * (np.arange(self.c) == self.k)

    def suffstats(self, x: Real[Array, "n d"] | Sparse, r: Float[Array, "n c"] | Sparse) -> Stats:
        """Those of the inner block, from the rows of class k."""
        return self.block.suffstats(x, r[:, [self.k]])

    def update(self, stats: Stats) -> Self:
        """The result of the inner block."""
        return replace(self, block=self.block.update(stats))

    def select(self, columns: Int[np.ndarray, " k"]) -> Self:
        """The result of the inner block."""
        return replace(self, block=self.block.select(columns))

    log_predictive = _placed("log_predictive")
    log_likelihood = _placed("log_likelihood")
    log_contributions = _placed("log_contributions")

    def log_loo(self, x: Real[Array, "n d"] | Sparse, r: Float[Array, "n c"] | Sparse) -> Float[Array, "n c"]:
        """The value of the inner block in column k, zero in all other columns."""
        return self._place(self.block.log_loo(x, r[:, [self.k]]))

    def log_moments(self, x: Real[Array, "n d"] | Sparse) -> tuple[Float[Array, "n c"], Float[Array, "n c"]]:
        """The value of the inner block in column k, zero in all other columns."""
        mean, variance = self.block.log_moments(x)
        return self._place(mean), self._place(variance)

    def log_third_cumulant(self, x: Real[Array, "n d"] | Sparse) -> Float[Array, "n c"] | None:
        """The value of the inner block in column k, zero in all other columns."""
        third = self.block.log_third_cumulant(x)
        return None if third is None else self._place(third)

    def sample_predictive(self, rng: np.random.Generator, y: np.ndarray, **given: Any) -> np.ndarray:
        """Rows of class k; NaN for the other classes."""
        rows = np.full((len(y), self.block.shape[1]), np.nan)
        own = y == self.k
        rows[own] = self.block.sample_predictive(rng, np.zeros(own.sum(), int), **given)
        return rows

    def model(self, x: Real[Array, "*c n d"] | None, y: Array) -> None:
        """The statements of the inner block; the cells of other classes are blank."""
        import jax.numpy as jnp

        y = jnp.asarray(y)
        if x is not None:
            x = as_jax(x.toarray() if is_sparse(x) else x)
            x = namespace(x).where((y == self.k)[..., None], x, self.block.missing_value)
        self.block.model(x, jnp.zeros_like(y))
