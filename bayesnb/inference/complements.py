"""Statistics of all rows but some: for each of many sets of rows those of all others, without a subtraction."""

from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

import numpy as np

from ..core.pytrees import leaves, map_leaves
from ..naive_bayes import Statistics
from ..statistics import Stats

_ROUNDING = 1e-13  # of a weight, a total or a square, below which nothing is left of it


def remaining(held: Stats, given: Stats) -> Stats:
    """Statistics held without those given; what rounding leaves of a weight, a total or a square is 0."""
    return _floored(held - given, held)


def _floored(left: Any, held: Any) -> Any:
    if isinstance(left, Statistics):
        n = np.where(left.n > _ROUNDING * held.n, left.n, 0)
        return Statistics(n, {name: _floored(stats, held.blocks[name]) for name, stats in left.blocks.items()})
    names = {one.name for one in fields(left)} & {"n", "total", "ss"}
    pairs = {name: (getattr(left, name), getattr(held, name)) for name in names}
    if any(one.shape != two.shape for one, two in pairs.values()):  # distinct cells, of which fewer are left
        return left
    return replace(left, **{k: np.where(abs(one) > _ROUNDING * abs(two), one, 0) for k, (one, two) in pairs.items()})


def stack(stats: list[Stats]) -> Stats:
    """Statistics (c, …) of several sets of rows as one, their classes in turn."""
    return map_leaves(lambda *leaf: np.concatenate(leaf), *stats)


def take(stats: Stats, sets: slice | np.ndarray, c: int) -> Stats:
    """Some of the sets of stacked statistics."""
    return map_leaves(lambda leaf: leaf.reshape(-1, c, *leaf.shape[1:])[sets].reshape(-1, *leaf.shape[1:]), stats)


def complements(stats: Stats, c: int, outside: Callable[[Stats], Stats]) -> Stats:
    """For each of g stacked sets of rows the statistics of all other rows, (g · c, …).

    Up a binary tree go sums of pairs; down goes what is outside of a branch: what is outside of its parent, and its
    sibling. So it takes 3 g additions and not one subtraction.

    Parameters
    ----------
    stats : (g · c, …) statistics
    outside : from the statistics of all sets (c, …) to those of the rows that are in none of them
    """

    def interleaved(*sides: np.ndarray) -> np.ndarray:
        sets = [leaf.reshape(-1, 1, c, *leaf.shape[1:]) for leaf in sides]
        return np.concatenate(sets, 1).reshape(-1, *sides[0].shape[1:])

    g = next(leaves(stats)).shape[0] // c
    full = 1 << max(g - 1, 0).bit_length()
    level = map_leaves(lambda leaf: np.pad(leaf, [(0, (full - g) * c)] + [(0, 0)] * (leaf.ndim - 1)), stats)
    pairs = []
    while next(leaves(level)).shape[0] > c:
        pairs.append((take(level, slice(0, None, 2), c), take(level, slice(1, None, 2), c)))
        level = pairs[-1][0] + pairs[-1][1]
    found = outside(level)
    for left, right in reversed(pairs):
        found = map_leaves(interleaved, found + right, found + left)
    return take(found, slice(g), c)
