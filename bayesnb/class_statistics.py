"""Class weights and the statistics of every block, as one commutative monoid, and what it takes to subtract rows."""

import operator
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Self

from .core.arrays import Array, Float, Sparse, is_sparse
from .core.exact import ExactSum, Sums, is_whole
from .core.pytrees import leaves, map_leaves, pytree
from .statistics import Counts, Moments, Summed, Totals, in_floats
from .sums.by_class import whole_cells
from .sums.sample import Sample

_EXACT = 1 << 16  # cells that are summed exactly, which takes twenty times as long
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
            name: stats.from_sums()[0]
            if isinstance(stats, Summed) and (stats.sums is not None if always else stats.is_far)
            else stats
            for name, stats in self.blocks.items()
        }
        n = self.n if self.weight is None or is_whole(self.n) else self.weight.value()
        return type(self)(n, blocks, self.weight)

    def in_floats(self) -> Self:
        """The same without exact sums."""
        return type(self)(self.n, {name: in_floats(stats) for name, stats in self.blocks.items()})

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


def with_sums(stats: Any, x: Any, r: Array | Sparse, exact: Callable[[Any], dict[str, ExactSum]]) -> Any:
    """Statistics of rows, with what it takes to subtract them again without a loss of digits.

    Few rows are summed exactly. Of many, which would take long, the rounding is bounded. What is no sum of rows, as a
    family of one's own may have it, stays as it is.
    """
    if not isinstance(stats, Summed):
        return stats
    size = max(x.nnz if is_sparse(x) else x.size, max(leaf.size for leaf in leaves(stats)))
    with suppress(OverflowError):
        if size <= _EXACT and (found := exact(stats)):
            return replace(stats, sums=Sums(found))
    return with_bounds(stats, x.shape[0], is_whole(r) and sums_whole_cells(stats, x))


def with_bounds(stats: Any, rows: int, whole: bool) -> Any:
    """Statistics of so many rows, with bounds on their rounding unless they have some; `whole`: of integers alone."""
    if not isinstance(stats, Summed) or stats.sums is not None:
        return stats
    return replace(stats, sums=stats.rounded_sums(rows, whole))


def sums_whole_cells(stats: Any, x: Any) -> bool:
    """Whether the fields that are sums of cells are sums of integers; moments have none but their weights."""
    if not isinstance(stats, Counts | Totals) or stats.sums is not None or x.dtype.kind in "biu":
        return True
    return whole_cells(x.data if is_sparse(x) else x)


def pooled(stats: Any) -> Any:
    """Statistics of all classes together, as of one class; of sums, as of a family of one's own, leaf by leaf."""
    if isinstance(stats, Moments | Sample):
        return stats.pooled()
    return map_leaves(lambda leaf: leaf.sum(0, keepdims=True), in_floats(stats))
