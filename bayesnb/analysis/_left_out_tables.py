"""The leave-one-out table that a calibration map is fitted to: copies, groups and a sample of the rows."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

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


def leave_out_rows(
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
    some, total, n_copies = np.arange(n), weight, 0
    if groups is not None:
        groups = group_places(groups, n)
    elif settings.copies == "group" and (owner := _copies(nb, rows, y)) is not None:
        # copies that leave together are one row that leaves with the weight of all; they count as one row
        some, owner, count = np.unique(owner, return_index=True, return_inverse=True, return_counts=True)[1:]
        total = np.bincount(owner, weight)
        weight, n_copies = total / count, n - len(some)
    chosen = np.flatnonzero(weight > 0)
    if len(chosen) > settings.max_rows:
        chosen = np.sort(np.random.default_rng(0).permutation(chosen)[: settings.max_rows])
        if groups is not None:  # whole groups
            kept = np.unique(groups[chosen])
            kept = kept[: max(1, settings.max_rows * len(kept) // len(np.unique(groups)))]
            chosen = np.flatnonzero(np.isin(groups, kept) & (weight > 0))
    some, total, weight = some[chosen], total[chosen], weight[chosen]
    if groups is not None:
        groups = np.unique(groups[chosen], return_inverse=True)[1]
    if len(some) < n:
        rows = {name: take_rows(x, some) for name, x in rows.items()}
    found = leave_out(nb, rows, nb.class_index(y[some]), total, groups, settings.prior, scores=True)
    return LeftOutTable(found.log_proba, found.index, weight, groups, n_copies)


def _copies(nb: Any, rows: Rows, y: np.ndarray) -> np.ndarray | None:
    """Group of each row: rows that copy each other share one; None where there are no copies."""
    owner = copies(rows, y)
    count = np.bincount(owner)
    if count.max() == 1:
        return None
    again = np.flatnonzero(count[owner] > 1)
    chance = again[~np.any([_has_fractions(take_rows(x, again)) for x in rows.values()], axis=0)]
    if len(chance):
        # of a row of whole numbers: how many such rows the model expects in the class
        some, index = {name: take_rows(x, chance) for name, x in rows.items()}, nb.class_index(y)
        own = nb.posterior_.log_parts(some, [list(some)])[0]
        expected = np.log(np.bincount(index)[index[chance]]) + own[np.arange(len(chance)), index[chance]]
        single = chance[expected > np.log(_SAME_BY_CHANCE)]
        owner[single] = owner.max() + 1 + np.arange(len(single))
    return owner if len(np.unique(owner)) < len(owner) else None


def _has_fractions(X: Any) -> np.ndarray:
    """Whether a row has a cell that is no whole number."""
    if is_sparse(X):
        rows = sparse.csr_array(X)
        uneven = sparse.csr_array((rows.data % 1 != 0, rows.indices, rows.indptr), rows.shape)
        return np.asarray(uneven.sum(1)).ravel() > 0
    return (np.isfinite(X) & (np.nan_to_num(X) % 1 != 0)).any(1)
