"""Class weights and the statistics of every block, as one commutative monoid."""

import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

from .core.arrays import Array, Float
from .core.exact import ExactSum, is_whole
from .core.pytrees import pytree

NEVER_FITTED = (
    "`X`, `y` hold rows that were never fitted: leaving them out would give negative {}. Give rows, labels and "
    "weights as they were fitted"
)


@pytree
@dataclass(frozen=True)
class Statistics:
    """Class weights and the statistics of every block: again a commutative monoid.

    Fields
    ------
    n : (c,)   weight of each class
    blocks     statistics by block name
    weight     the exact sum behind n, where rows may have to be subtracted again
    """

    n: Float[Array, " c"]
    blocks: dict[str, Any]
    weight: ExactSum | None = None

    def zero(self) -> Self:
        """Statistics of no rows at all, of the same shapes."""
        return type(self)(0 * self.n, {name: stats.zero() for name, stats in self.blocks.items()})

    def settled(self, always: bool = False) -> Self:
        """The same with means and squares taken from their exact sums: where floats would show their rounding, or all.

        What is taken from exact sums depends on the rows alone, to the last bit, and not on the order of batches.
        """
        blocks = {
            name: stats.from_sums()[0] if _shows_rounding(stats, always) else stats
            for name, stats in self.blocks.items()
        }
        n = self.n if self.weight is None or is_whole(self.n) else self.weight.value()
        return type(self)(n, blocks, self.weight)

    def scaled(self, factor: float) -> Self:
        """Statistics of the same rows, their weights multiplied by a number above 0: classes and all blocks.

        Raises
        ------
        TypeError
            if the statistics of a family of one's own have no `scaled(factor)`
        """
        blocks = {}
        for name, stats in self.blocks.items():
            if not hasattr(stats, "scaled"):
                raise TypeError(
                    f"the statistics of {name!r} are {type(stats).__name__}, which has no method `scaled(factor)`; "
                    "define it, so that it returns the statistics with all weights multiplied by the factor"
                )
            blocks[name] = stats.scaled(factor)
        return type(self)(factor * self.n, blocks, None if self.weight is None else self.weight.scaled(factor))

    def _joined(self, op: Callable[[Any, Any], Any], other: Self) -> Self:
        blocks = {name: op(stats, other.blocks[name]) for name, stats in self.blocks.items()}
        known = self.weight is not None and other.weight is not None
        return type(self)(op(self.n, other.n), blocks, op(self.weight, other.weight) if known else None)

    def __add__(self, other: Self) -> Self:
        return self._joined(operator.add, other)

    def __sub__(self, other: Self) -> Self:
        return self._joined(operator.sub, other)


def _shows_rounding(stats: Any, always: bool) -> bool:
    return getattr(stats, "sums", None) is not None if always else getattr(stats, "is_far", False)
