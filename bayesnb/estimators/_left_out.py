"""Many groups left out at once: the features of g groups side by side, as those of one block of g · d features."""

import copy
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from ..core.pytrees import map_leaves
from ..naive_bayes import Statistics
from ._priors import put_columns
from ._state import BLOCK, Columns


def side_by_side(left: Any, c: int) -> Any:
    """Statistics (g · c, d, …) of g groups, their classes in turn, as those of g · d features, (c, g · d, …)."""

    def wide(leaf: np.ndarray) -> np.ndarray:
        return leaf.reshape(-1, c, *leaf.shape[1:]).swapaxes(0, 1).reshape(c, -1, *leaf.shape[2:])

    return map_leaves(wide, left)


def by_cells(posterior: Any, d: int) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    """Rows (n, d) and the group of each (n,) → (n, c), from a block of g · d features, those of each group in turn."""

    def table(x: np.ndarray, group: np.ndarray) -> np.ndarray:
        features = group[:, None] * d + np.arange(d)
        cells = posterior.select(features.ravel()).log_cells(x.ravel())
        return cells.reshape(len(cells), *x.shape).sum(-1).T

    return table


def leave_out(
    estimator: Any, left: Any, total: np.ndarray, prior: Any
) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    """A table for rows that are left out, where the prior of a feature depends on no other feature, but on `alpha`.

    Parameters
    ----------
    left : (g · c, …) statistics of the rows that are not in a group, group by group
    total : (g,) weight of these rows
    prior : the prior that is kept; None has the estimator make it of `left`
    """
    state, g = estimator._state, len(total)
    c, d = state.shape
    stats = side_by_side(left, c)
    if prior is None:
        own = copy.copy(estimator)
        if not isinstance(own.alpha, str):
            own.alpha = np.tile(np.broadcast_to(np.asarray(own.alpha, float), (c, d)), g)
        wide = replace(state, columns=Columns(g * d), statistics=Statistics(np.zeros(c), {BLOCK: stats}))
        prior = own._default_blocks(wide)[BLOCK]
        if estimator.prior is not None:
            prior = put_columns(estimator, estimator._blocks(state.bare)[BLOCK], prior)
    else:
        prior = map_leaves(lambda leaf: np.tile(leaf, g), prior)
    return by_cells(prior.update(stats), d)
