"""Class weights and the statistics of every block, as one commutative monoid."""

import operator
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from .core.arrays import Array, Float
from .core.pytrees import map_leaves, pytree
from .core.special import EPS, is_whole
from .statistics import Counts, Moments, Scatter, Summed, Totals, rounded
from .sums.sample import Sample

NEVER_FITTED = (
    "`X`, `y` hold rows that were never fitted: leaving them out would give negative {}. Give rows, labels and "
    "weights as they were fitted"
)


@pytree
@dataclass(frozen=True)
class Statistics(Summed):
    """Class weights and the statistics of every block: again a commutative monoid.

    Fields
    ------
    n : (c,)       weight of each class
    blocks         statistics by block name
    error : (c,)   variance of the rounding of n, 0 where weights are whole; None where nobody needs it
    """

    n: Float[Array, " c"]
    blocks: dict[str, Any]
    error: Float[Array, " c"] | None = None

    def zero(self) -> Self:
        """Statistics of no rows at all, of the same shapes."""
        blocks = {name: stats.zero() for name, stats in self.blocks.items()}
        return type(self)(0 * self.n, blocks, None if self.error is None else 0 * self.error)

    def in_floats(self) -> Self:
        """The same without what is known of their rounding."""
        return type(self)(self.n, {name: in_floats(stats) for name, stats in self.blocks.items()})

    def scaled(self, factor: float) -> Self:
        """Statistics of the same rows, their weights multiplied by a number above 0: classes and all blocks.

        Raises
        ------
        TypeError
            if the statistics of a family of one's own have no `scaled(factor)`
        """
        for name, stats in self.blocks.items():
            if not hasattr(stats, "scaled"):
                raise TypeError(
                    f"the statistics of {name!r} are {type(stats).__name__}, which has no method `scaled(factor)`; "
                    "define it, so that it returns the statistics with all weights multiplied by the factor"
                )
        n, blocks = factor * self.n, {name: stats.scaled(factor) for name, stats in self.blocks.items()}
        return type(self)(n, blocks, None if self.error is None else factor**2 * self.error + rounded(n))

    def _joined(self, other: Self, sign: int) -> Self:
        op: Any = operator.add if sign > 0 else operator.sub
        blocks = {name: op(stats, other.blocks[name]) for name, stats in self.blocks.items()}
        n = op(self.n, other.n)
        if self.error is None or other.error is None:
            return type(self)(n, blocks)
        error = self.error + other.error
        return type(self)(n, blocks, np.where(error > 0, error + rounded(n), 0))


def with_error(stats: Statistics, rows: Mapping[str, Any] | None = None, r: Any = None) -> Statistics:
    """Statistics on the host with the rounding of their sums; weights and cells that are whole are summed exactly.

    Parameters
    ----------
    rows, r : rows behind the statistics and their weights; by default there are as many as all weights together
    """
    if stats.error is not None:
        return stats
    many = r.shape[0] if rows is not None else int(min(stats.n.sum(), 1 << 20)) + 1
    whole, blocks = is_whole(stats.n if rows is None else r), dict(stats.blocks)
    for name, block in stats.blocks.items():
        if isinstance(block, Counts | Totals | Moments | Scatter) and block.error is None:
            cells = 0.0 if hasattr(block, "ss") else block.n if rows is None else rows[name]
            blocks[name] = block.bounded(many, whole and is_whole(cells))
    return Statistics(stats.n, blocks, 0 * stats.n if whole else (many * EPS / 2 * stats.n) ** 2)


def in_floats(stats: Any) -> Any:
    """Statistics of a block without what is known of their rounding."""
    return replace(stats, error=None) if isinstance(stats, Counts | Totals | Moments | Scatter) else stats


def pooled(stats: Any) -> Any:
    """Statistics of all classes together, as of one class; of sums, as of a family of one's own, leaf by leaf."""
    if isinstance(stats, Moments | Sample):
        return stats.pooled()
    return map_leaves(lambda leaf: leaf.sum(0, keepdims=True), in_floats(stats))
