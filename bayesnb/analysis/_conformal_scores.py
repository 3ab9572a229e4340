"""Leave-one-out scores of training rows against those of new rows, for the label sets of `conformal`.

Row by row for any classifier, and all at once where a row changes nothing but its own class.
"""

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import _safe_indexing, gen_batches

from ..core.arrays import Bool, Float, Int
from ..core.pytrees import leaves, map_leaves
from ..estimators._base import AbstractNB
from ..naive_bayes import Rows
from ..statistics import one_hot
from ..sums.rows import rows_at

_TIE = 1e-9  # scores this close, relative to their size, count as equal: sets can only grow by it
_NUMBERS = 1 << 21  # worked on at a time: 16 MiB


@dataclass(frozen=True)
class Training:
    """Training rows and their classifier.

    Fields
    ------
    plain, nb : the classifier before and after the fit
    X : rows
    index, group : (n,) class and group of each row
    """

    plain: Any
    nb: Any
    X: Any
    index: Int[np.ndarray, " n"]
    group: Int[np.ndarray, " n"]

    @property
    def y(self) -> np.ndarray:
        """Labels, (n,)."""
        return self.nb.classes_[self.index]


def comparisons(rows: Training, X: Any, method: str) -> Iterator[tuple[int, Bool[np.ndarray, "m c"]]]:
    """Row by row i of the training rows: whether its score is smaller than that of each new row with each label."""
    stacked = rows.group.max() + 1 == len(rows.index) and is_separable(rows.nb)
    if method == "full":
        return (_full_stacked if stacked and _knows(rows.nb, X) else _full)(rows, X)
    return (_cross_stacked if stacked else _cross)(rows, X)


def _log_odds_against(table: Float[np.ndarray, "*s c"]) -> Float[np.ndarray, "*s c"]:
    """log((1 − p_c)/p_c) of each class, from a joint table in nats; it rises with the score 1 − p_c."""
    c = table.shape[-1]
    with np.errstate(invalid="ignore"):
        parts = [np.logaddexp.reduce(np.delete(table, k, -1), axis=-1) - table[..., k] for k in range(c)]
    return np.nan_to_num(np.stack(parts, -1), nan=np.inf, posinf=np.inf, neginf=-np.inf)


def _is_smaller(one: Any, other: Float[np.ndarray, "*s"]) -> Bool[np.ndarray, "*s"]:
    """Whether a score is smaller than others, by more than rounding."""
    with np.errstate(invalid="ignore"):
        room = _TIE * (1 + np.minimum(abs(one), abs(other)))
        return one + np.where(np.isfinite(room), room, 0) < other


def _cross(rows: Training, X: Any) -> Iterator[tuple[int, np.ndarray]]:
    """From the statistics without the group where they are all there is to know, else by `forget` or another fit."""
    nb, without = rows.nb, _without
    held, new = rows.X, X
    if isinstance(nb, AbstractNB) and nb.predicts_from_posterior:
        held, new, without = nb.encode(rows.X), nb.encode(X), _without_statistics
    order = np.argsort(rows.group, kind="stable")
    for out in np.split(order, np.flatnonzero(np.diff(rows.group[order])) + 1):
        held_out = rows_at(held, out) if isinstance(held, dict) else _safe_indexing(held, out)
        left = without(rows, out, held_out)
        scores = _log_odds_against(left(new))
        own = _log_odds_against(left(held_out))
        for i, row in zip(out, own, strict=True):
            yield int(i), _is_smaller(row[rows.index[i]], scores)


def _without_statistics(rows: Training, out: np.ndarray, held_out: Rows) -> Callable[[Any], Any]:
    """The table log p(x, y = c | D₋ᵢ) as a function of encoded rows; the prior is that of D₋ᵢ."""
    nb = rows.nb
    stats = nb.statistics_ - nb.prior_.suffstats(held_out, one_hot(rows.index[out], len(nb.classes_)))
    return nb.prior_for(stats).update(stats).log_joint


def _without(rows: Training, out: np.ndarray, held_out: Any) -> Callable[[Any], np.ndarray]:
    """The table log p(y = c | x, D₋ᵢ), up to a term of the row, as a function of rows."""
    if hasattr(rows.nb, "forget"):
        return copy.copy(rows.nb).forget(held_out, rows.y[out]).predict_log_proba
    rest = np.setdiff1d(np.arange(len(rows.y)), out)
    y, classes = rows.y[rest], rows.nb.classes_
    if len(np.unique(y)) == 1:  # scikit-learn's classifiers refuse a single class
        certain = np.where(classes == y[0], 0, -np.inf)
        return lambda X: np.broadcast_to(certain, (X.shape[0], len(certain)))
    again = clone(rows.plain).fit(_safe_indexing(rows.X, rest), y)

    def table(X: Any) -> np.ndarray:
        full = np.full((X.shape[0], len(classes)), -np.inf)
        full[:, np.searchsorted(classes, again.classes_)] = again.predict_log_proba(X)
        return full

    return table


def _full(rows: Training, X: Any) -> Iterator[tuple[int, np.ndarray]]:
    """All leave-one-out scores of the training rows and one new row, new row by new row, label by label."""
    m, c, n = X.shape[0], len(rows.nb.classes_), len(rows.index)
    smaller = np.zeros((n, m, c), bool)
    every = np.arange(n)
    for t in range(m):
        row = _safe_indexing(X, [t])
        for k, label in enumerate(rows.nb.classes_):
            plus = copy.copy(rows.nb).partial_fit(row, [label])
            own = _log_odds_against(plus.loo(rows.X, rows.y).log_joint)[every, rows.index]
            new = _log_odds_against(plus.loo(row, [label]).log_joint)[0, k]
            smaller[:, t, k] = _is_smaller(own, np.broadcast_to(new, n))
    yield from enumerate(smaller)


def is_separable(nb: Any) -> bool:
    """Whether a row changes nothing but its own class.

    It does where classes are independent given the data, the prior does not depend on the rows, and the prediction is
    made from the posterior itself.
    """
    if not isinstance(nb, AbstractNB) or not nb.predicts_from_posterior:
        return False
    c, prior = len(nb.classes_), nb.prior_
    plain = nb.prior_for().blocks
    for name, block in prior.blocks.items():
        if block.no_evidence or block.couples_classes:
            return False
        if any(leaf.shape[:1] != (c,) for leaf in leaves(block)):
            return False
        if not all(np.array_equal(*pair) for pair in zip(leaves(block), leaves(plain[name]), strict=True)):
            return False
    return True


def _knows(nb: AbstractNB, X: Any) -> bool:
    """Whether new rows have no level that the training rows lack: with "full" they would add it to the model."""
    wider = copy.copy(nb).learn_columns(X)
    shapes = [
        {name: [leaf.shape for leaf in leaves(block)] for name, block in one.prior_for().blocks.items()}
        for one in (nb, wider)
    ]
    return shapes[0] == shapes[1]


def _take_classes(tree: Any, index: np.ndarray) -> Any:
    """A block, or its statistics, with the classes of that index along its first axis."""
    return map_leaves(lambda leaf: leaf[index], tree)


def _chunks(nb: AbstractNB, n: int, width: int) -> Iterator[np.ndarray]:
    """Rows that stand for a class of their own at a time: bounded parameters, and a bounded table of that width."""
    parameters = sum(leaf.size for leaf in leaves(nb.posterior_)) // len(nb.classes_)
    return (np.arange(n)[part] for part in gen_batches(n, max(1, _NUMBERS // max(parameters, width, 1))))


def _moved(
    nb: AbstractNB, rows: Rows, index: np.ndarray, sign: int, use: Callable[[Any, str], np.ndarray]
) -> np.ndarray:
    """Σ_blocks of a table of the posteriors of class `index[t]` without (−1) or with (+1) row t, t = 0 … k − 1.

    Every t is a class of its own in one block, so that one call serves all of them.
    """
    k = len(index)
    own = one_hot(np.arange(k), k)
    total: Any = 0.0
    for name, block in nb.prior_.blocks.items():
        wide = _take_classes(block, index)
        held, moved = _take_classes(nb.statistics_.blocks[name], index), wide.suffstats(rows[name], own)
        total = total + use(wide.update(held - moved if sign < 0 else held + moved), name)
    return total


def _cross_stacked(training: Training, X: Any) -> Iterator[tuple[int, np.ndarray]]:
    """Without row i only column y_i of the table of the new rows changes, and the class prior."""
    nb, index = training.nb, training.index
    rows, new, r = nb.encode(training.X), nb.encode(X), one_hot(index, len(nb.classes_))
    posterior = nb.posterior_
    own = _log_odds_against(posterior.log_loo(rows, r))
    table: Any = sum(block.log_predictive(new[name]) for name, block in posterior.blocks.items())
    log_pi = posterior.classes.log_loo(r.toarray())
    for part in _chunks(nb, len(index), len(table)):
        column = _moved(nb, rows_at(rows, part), index[part], -1, lambda block, name: block.log_predictive(new[name]))
        for at, i in enumerate(part):
            without = table + log_pi[i]
            without[:, index[i]] = column[:, at] + log_pi[i, index[i]]
            yield int(i), _is_smaller(own[i, index[i]], _log_odds_against(without))


def _full_stacked(training: Training, X: Any) -> Iterator[tuple[int, np.ndarray]]:
    """With (x, y) only column y of the table of the training rows changes, and the class prior."""
    nb, index = training.nb, training.index
    c, n = len(nb.classes_), len(index)
    rows, new, r = nb.encode(training.X), nb.encode(X), one_hot(index, c)
    posterior, every = nb.posterior_, np.arange(n)
    alone = _log_odds_against(posterior.log_joint(new))
    table = posterior.log_loo(rows, r) - posterior.classes.log_loo(r.toarray())  # each row without itself
    smaller = np.zeros((n, len(alone), c), bool)
    for k in range(c):
        log_pi = posterior.classes.update(np.eye(c)[k]).log_loo(r.toarray())
        mine, others = np.flatnonzero(index == k), np.flatnonzero(index != k)
        inside, outside = rows_at(rows, mine), rows_at(rows, others)
        for part in _chunks(nb, len(alone), n * c):

            def column(block: Any, name: str, inside: Rows = inside, outside: Rows = outside) -> np.ndarray:
                x, width = inside[name], block.shape[0]
                left = block.log_loo(x, np.ones((x.shape[0], width)))
                return np.concatenate([left, block.log_predictive(outside[name])])

            found = np.empty((n, len(part)))
            found[np.concatenate([mine, others])] = _moved(nb, rows_at(new, part), np.full(len(part), k), 1, column)
            whole = np.repeat((table + log_pi)[:, None], len(part), 1)
            whole[:, :, k] = found + log_pi[:, [k]]
            own = _log_odds_against(whole)[every, :, index]
            smaller[:, part, k] = _is_smaller(own, np.broadcast_to(alone[part, k], own.shape))
    yield from enumerate(smaller)
