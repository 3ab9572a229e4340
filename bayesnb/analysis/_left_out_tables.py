"""The leave-one-out table that a calibration map is fitted to: copies, groups and a sample of the rows."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core.arrays import Float, Int, is_sparse
from ..inference.held_out import take_rows
from ..inference.loo import copies, group_places, leave_out
from ..naive_bayes import Rows

_SAME_BY_CHANCE = 0.01  # expected number of rows like this one, below which a second one is a copy


@dataclass(frozen=True)
class LeftOutTable:
    """log p(y = c | x_i, D₋ᵢ) of rows, with class, weight and group of each; and how many rows are copies of others."""

    log_proba: Float[np.ndarray, "n c"]
    index: Int[np.ndarray, " n"]
    weight: Float[np.ndarray, " n"]
    groups: Int[np.ndarray, " n"] | None
    n_copies: int


def left_out_table(
    settings: Any, nb: Any, X: Any, y: np.ndarray, sample_weight: Any = None, groups: Any = None
) -> LeftOutTable:
    """The table of rows that an estimator was fitted to.

    Parameters
    ----------
    settings : what has the parameters `prior`, `copies` and `max_rows` of `CalibratedClassifierLOO`
    groups : (n,) labels of groups of rows that leave together, None for no groups
    """
    n, rows = len(y), nb.encode(X)
    weight = np.ones(n) if sample_weight is None else np.asarray(sample_weight, float)
    place, counted = np.arange(n), weight
    if groups is not None:
        place = group_places(groups, n)
    elif settings.copies == "group":  # they leave together, and count as one row
        place = _copies(nb, rows, y)
        counted = weight / np.bincount(place)[place]
    some, n_copies = np.flatnonzero(weight > 0), n - len(np.unique(place)) if groups is None else 0
    if len(some) > settings.max_rows:  # whole groups
        every = np.random.default_rng(0).permutation(np.unique(place[some]))
        some = some[np.isin(place[some], every[: max(1, settings.max_rows * len(every) // len(some))])]
    leaving = None if len(np.unique(place[some])) == len(some) else np.unique(place[some], return_inverse=True)[1]
    rows = {name: take_rows(x, some) for name, x in rows.items()}
    found = leave_out(nb, rows, nb.class_index(y[some]), weight[some], leaving, settings.prior, scores=True)
    return LeftOutTable(found.log_proba, found.index, counted[some], None if groups is None else place[some], n_copies)


def _copies(nb: Any, rows: Rows, y: np.ndarray) -> np.ndarray:
    """Group of each row, 0 … g−1: rows that copy each other share one."""
    owner = copies(rows, y)
    again = np.flatnonzero(np.bincount(owner)[owner] > 1)
    chance = again[~np.any([_has_fractions(take_rows(x, again)) for x in rows.values()], axis=0)]
    if len(chance):
        # of a row of whole numbers: how many such rows the model expects in the class
        some, index = {name: take_rows(x, chance) for name, x in rows.items()}, nb.class_index(y)
        own = nb.posterior_.log_parts(some, [list(some)])[0][np.arange(len(chance)), index[chance]]
        single = chance[np.log(np.bincount(index)[index[chance]]) + own > np.log(_SAME_BY_CHANCE)]
        owner[single] = len(y) + np.arange(len(single))
    return np.unique(owner, return_inverse=True)[1]


def _has_fractions(X: Any) -> np.ndarray:
    """Whether a row has a cell that is no whole number."""
    rest = X - X.floor() if is_sparse(X) else X - np.floor(X)
    return np.asarray((rest > 0).sum(1)).ravel() > 0
