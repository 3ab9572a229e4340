"""The leave-one-out tables that calibration maps are fitted to: copies, groups and a sample of the rows."""

import inspect
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from ..estimators._base import AbstractNB
from ..naive_bayes import Rows
from ..sampling.copies import copies
from ..sampling.held_out import take_rows
from ..sampling.loo import group_places, leave_out
from ._maps import Tables
from ._part_tables import class_log_prior, encoded, log_lengths, part_tables

_SAME_BY_CHANCE = 0.01  # expected number of rows like this one, below which a second one is a copy
_SAME_LENGTH = 0.01  # difference of log lengths that is none


class TrainingTables(NamedTuple):
    """What the maps are fitted to: tables, class index and weight of each row; and where they come from."""

    tables: Tables
    y: np.ndarray
    weight: np.ndarray
    n_copies: int
    prior: str
    mean_log_length: np.ndarray | None


def leave_out_rows(
    settings: Any, nb: Any, X: Any, y: np.ndarray, sample_weight: Any = None, groups: Any = None
) -> TrainingTables:
    """Leave-one-out tables of rows that an estimator was fitted to.

    Parameters
    ----------
    settings : what has the parameters `prior`, `copies` and `max_rows` of `CalibratedClassifierLOO`
    groups : (n,) labels of groups of rows that leave together, None for no groups
    """
    n = len(y)
    weight = np.ones(n) if sample_weight is None else np.asarray(sample_weight, float)
    rows = encoded(nb, X)
    some, total, n_copies = np.arange(n), weight, 0
    if groups is not None:
        groups = group_places(groups, n)
    elif settings.copies == "group" and (owner := _copies(nb, rows, y)) is not None:
        # copies that leave together are one row that leaves with the weight of all; they count as one row
        first, owner, count = np.unique(owner, return_index=True, return_inverse=True, return_counts=True)[1:]
        some, total = first, np.bincount(owner, weight)
        weight = total / count
        n_copies = n - len(first)
    if len(some) > settings.max_rows:
        some, total, weight, groups = _draw_rows(settings.max_rows, some, total, weight, groups)
    if (used := weight > 0).any() and not used.all():
        some, total, weight = some[used], total[used], weight[used]
        groups = None if groups is None else groups[used]
    if len(some) < n:
        rows = {name: take_rows(x, some) for name, x in rows.items()}
    parts, log_prior, index, prior = _call_loo(nb, rows, y[some], total, settings.prior, groups)
    lengths, mean = log_lengths(nb, rows, list(parts)), None
    if lengths is not None:
        mean = np.average(lengths, axis=1, weights=weight)
        lengths = lengths - mean[:, None]
        if abs(lengths).max() < _SAME_LENGTH:
            lengths = mean = None
    tables = Tables.of(parts.values(), log_prior, lengths)
    return TrainingTables(tables, index, weight, n_copies, prior, mean)


def _call_loo(nb: Any, rows: Rows, y: np.ndarray, weights: np.ndarray, prior: str, groups: np.ndarray | None) -> Any:
    """Leave-one-out of any estimator that has it; `prior` and `groups` where its `loo` knows them.

    It returns tables by part, (n, c), the class prior of each row, its class, and the prior that was used. `rows` are
    encoded rows by block, or the only block "x" of an estimator that is not bayesnb's.
    """
    if isinstance(nb, AbstractNB):
        if groups is not None:
            groups = np.unique(groups, return_inverse=True)[1]
        found = leave_out(nb, rows, nb.class_index(y), weights, groups, prior, scores=True)
        return found.by_block, found.log_prior, found.index, prior
    known = inspect.signature(nb.loo).parameters
    settings: dict[str, Any] = {"prior": prior} if "prior" in known else {}
    if (weights != 1).any():
        settings["sample_weight"] = weights
    if groups is not None:
        if "groups" not in known:
            raise ValueError(f"`groups` is given, but {type(nb).__name__}.loo cannot leave out groups; set groups=None")
        settings["groups"] = groups
    found = nb.loo(rows["x"], y, **settings)
    log_prior = getattr(found, "log_prior", None)
    if log_prior is None:
        log_prior = np.broadcast_to(class_log_prior(nb), found.log_joint.shape)
    parts = getattr(found, "by_block", None) or {"x": found.log_joint - log_prior}
    return parts, log_prior, found.index, settings.get("prior", "kept")


def _copies(nb: Any, rows: Rows, y: np.ndarray) -> np.ndarray | None:
    """Group of each row: rows that copy each other share one; None where there are no copies."""
    owner = copies(rows, y)
    count = np.bincount(owner)
    if count.max() == 1:
        return None
    index = np.searchsorted(nb.classes_, y)
    again = np.flatnonzero(count[owner] > 1)
    chance = again[~np.any([_has_fractions(take_rows(x, again)) for x in rows.values()], axis=0)]
    if len(chance):
        # of a row of whole numbers: how many such rows the model expects in the class
        some = {name: take_rows(x, chance) for name, x in rows.items()}
        if isinstance(nb, AbstractNB):
            own = nb.posterior_.log_parts(some, [list(some)])[0]
        else:
            own = part_tables(nb, some["x"])["x"]
        expected = np.log(np.bincount(index)[index[chance]]) + own[np.arange(len(chance)), index[chance]]
        single = chance[expected > np.log(_SAME_BY_CHANCE)]
        owner[single] = owner.max() + 1 + np.arange(len(single))
    return owner if len(np.unique(owner)) < len(owner) else None


def _draw_rows(
    size: int, some: np.ndarray, total: np.ndarray, weight: np.ndarray, groups: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray | None]:
    """A random sample of the rows, of whole groups where there are groups."""
    order = np.random.default_rng(0).permutation(len(some))
    chosen = np.sort(order[:size])
    if groups is not None:
        keep = np.unique(groups[chosen])
        chosen = np.flatnonzero(np.isin(groups, keep[: max(1, size * len(keep) // len(groups))]))
        groups = groups[chosen]
    return some[chosen], total[chosen], weight[chosen], groups


def _has_fractions(X: Any) -> np.ndarray:
    """Whether a row has a cell that is no whole number."""
    if sparse.issparse(X):
        rows = sparse.csr_array(X)
        uneven = sparse.csr_array((rows.data % 1 != 0, rows.indices, rows.indptr), rows.shape)
        return np.asarray(uneven.sum(1)).ravel() > 0
    cells = np.asarray(X)
    if cells.dtype.kind != "f":
        return np.zeros(len(cells), bool)
    with np.errstate(invalid="ignore"):
        return (np.isfinite(cells) & (cells % 1 != 0)).any(1)
