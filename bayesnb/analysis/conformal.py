"""Conformal label sets: a set of labels that holds the right one with a stated probability, whatever the distribution.

Rows (x_1, y_1) … (x_n, y_n) are known, and for a new row x the label y is wanted. The score of a row is

    s₋ᵢ(x, y) = 1 − p(y | x, D₋ᵢ),    D₋ᵢ all rows but row i

Every guarantee below holds for any distribution of the rows and for any model, right or wrong. It needs one thing: the
n + 1 rows are exchangeable, which means that each order of them is equally probable. A better model gives smaller sets.

method="cross"   C(x) = {y : #{i : s₋ᵢ(x_i, y_i) < s₋ᵢ(x, y)} < (1 − α)(n + 1)},  i = 1 … n
                 P(y_{n+1} ∈ C(x_{n+1})) ≥ 1 − 2α; close to 1 − α where no single row changes the model much
method="full"    y ∈ C(x) where #{i : s_i < s_{n+1}} < (1 − α)(n + 1),  i = 1 … n + 1
                 s_i = 1 − p(y_i | x_i, D⁺₋ᵢ), D⁺ the n rows and (x, y): all n + 1 leave-one-out scores
                 P(y_{n+1} ∈ C(x_{n+1})) ≥ 1 − α

The second rule is the same as #{i : s_i ≥ s_{n+1}} > α(n + 1). It holds because a rule that treats n + 1 exchangeable
rows alike makes each rank of s_{n+1} equally probable. For the first rule, let R_kl be the score of row k under all n
+ 1 rows without k and l. Call row k strange if R_kl > R_lk for at least (1 − α)(n + 1) other rows l. If t rows are
strange, they exceed each other at most t²/2 times in all, and rows that are not strange at most t(n + 1 − t) times. So
t(1 − α)(n + 1) ≤ t²/2 + t(n + 1 − t), which is t ≤ 2α(n + 1), and the new row is strange with probability at most 2α.

With groups of rows, g = 1 … G of n_g rows, a whole group is left out, and "cross" becomes

    C(x) = {y : Σ_g (1/n_g) #{i ∈ g : s₋g(x_i, y_i) < s₋g(x, y)} < (1 − α)(G + 1)}

The same argument holds with weights 1/n_g: the new row is a random row of a new group, and the G + 1 groups are
exchangeable.

References
----------
Barber, Candès, Ramdas & Tibshirani (2021), Predictive inference with the jackknife+, Annals of Statistics 49(1):
486–507. Theorem 1 has 1 − 2α for intervals, section 6 its proof, and remark 1 says that the proof holds for n-fold
cross-conformal sets too. The proof above is the same argument for scores.
Romano, Sesia & Candès (2020), Classification with valid and adaptive coverage, NeurIPS 33: jackknife+ and CV+ for sets
of labels, with another score, which adapts to how hard a row is.
Vovk, Gammerman & Shafer (2005), Algorithmic learning in a random world: "full", and Mondrian (class-conditional) sets.
Lee, Barber & Willett (2023), Distribution-free inference with hierarchical data: groups.
"""

import copy
from collections.abc import Callable, Iterator
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.utils import _safe_indexing
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d

from .._pytree import leaves, map_leaves
from .._typing import Bool, Float, Int
from ..estimators._base import AbstractNB
from ..estimators._state import all_or_nothing
from ..naive_bayes import NaiveBayes, Rows
from ..statistics import one_hot
from ._wrapper import AbstractWrapper

_TIE = 1e-9  # scores this close, relative to their size, count as equal: sets can only grow by it
_NUMBERS = 1 << 21  # worked on at a time: 16 MiB


class ConformalClassifierLOO(AbstractWrapper):
    """Label sets that hold the right label with a stated probability, from leave-one-out scores of a naive Bayes model.

        s₋ᵢ(x, y) = 1 − p(y | x, D₋ᵢ)
        C(x) = {y : #{i : s₋ᵢ(x_i, y_i) < s₋ᵢ(x, y)} < (1 − α)(n + 1)},   1 − α = coverage

    No data are set aside for calibration: each training row is scored by the posterior of all others.

    Parameters
    ----------
    estimator : a classifier of bayesnb's, of which a clone is fitted
        Any classifier with `predict_log_proba` works with method="cross", a pipeline or a calibrated one too; without
        `forget` it is fitted again for every row, or group, left out
    method : "cross" (default) or "full"
        "cross" is cross-conformal with a fold for each row. It guarantees a coverage of 1 − 2α, and comes close to
        1 − α unless single rows change the model. "full" guarantees 1 − α. It adds each new row with each label to the
        training rows, which takes about c times as long
    class_conditional : bool, default False
        compare a label only with the training rows of that label. The guarantee then holds within each class
        separately, also within a rare one. Sets become larger

    Attributes
    ----------
    estimator_ : the fitted clone; `predict` and `predict_proba` are its own
    classes_, n_features_in_, feature_names_in_ : as in scikit-learn

    Notes
    -----
    The theorem needs exchangeable rows: independent draws from one distribution are. What breaks this, and so the
    guarantee: copied rows and repeated measures, unless their groups are given to `fit`; a new row from another time,
    place or instrument than the training rows; training rows that were selected by their label (for classes alone use
    class_conditional=True). The guarantee is an average over training sets and new rows. It does not hold for a given
    x.

    Which prior: with "cross", a prior that is scaled by the data is scaled by D₋ᵢ, so that row i has no part in it.
    With "full" it is scaled by all n + 1 rows, which treats them alike. Classes, and the levels of categorical
    columns, are those of all rows, as if they were known beforehand.

    Scores are compared as log((1 − p)/p), which tells 1 − 1e-20 from 1. Equal scores are counted in favour of a label.

    A set may be empty: no label fits the row as well as labels fit most training rows. With n rows, a coverage above
    n/(n + 1) gives all labels.

    Sample weights are not supported: a row that counts twice is a copied row. The training rows are kept.

    References
    ----------
    Barber et al. (2021); Romano, Sesia & Candès (2020); Vovk et al. (2005). See the top of the module for the theorems
    with their proofs.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from bayesnb import ConformalClassifierLOO, GaussianNB
    >>> X, y = load_iris(return_X_y=True)
    >>> sets = ConformalClassifierLOO(GaussianNB()).fit(X[::2], y[::2])
    >>> sets.predict_set(X[51:58:2], coverage=0.95)
    array([[False,  True, False],
           [False,  True, False],
           [False,  True, False],
           [False,  True, False]])
    """

    def __init__(self, estimator: Any, *, method: Any = "cross", class_conditional: Any = False) -> None:
        self.estimator = estimator
        self.method = method
        self.class_conditional = class_conditional

    @all_or_nothing
    def fit(self, X: Any, y: Any, *, groups: Any = None, **unknown: Any) -> Self:
        """Fit a clone of the estimator and keep the rows.

        Parameters
        ----------
        X : (n, d) rows as the estimator takes them, dense, sparse or a data frame; at least two
        y : (n,) labels
        groups : (n,) labels of groups of rows that belong together, such as the measures of one patient, at least two
            groups. A whole group is left out at a time. The new row is then a row of a new group

        Raises
        ------
        ValueError
            if a parameter is out of range, or the estimator cannot do what the method needs; the message says why
        TypeError
            on `sample_weight`: no guarantee is known for weighted rows
        """
        _refuse(unknown)
        if self.method not in ("cross", "full"):
            raise ValueError(f"`method` is {self.method!r}; choose 'cross' or 'full'")
        if not isinstance(self.class_conditional, bool | np.bool_):
            raise ValueError(f"`class_conditional` is {self.class_conditional!r}; choose True or False")
        name = type(self.estimator).__name__
        if not hasattr(self.estimator, "predict_log_proba"):
            raise ValueError(f"`estimator` is {name}, which has no predict_log_proba; use a classifier with it")
        if self.method == "full" and not (hasattr(self.estimator, "partial_fit") and hasattr(self.estimator, "loo")):
            raise ValueError(
                f"`estimator` is {name}, which has no `partial_fit` and `loo`; method='full' needs both, because each "
                "new row joins the training rows, and a map or a scaling that was fitted without it would treat it "
                "unlike them. Use method='cross'"
            )
        if groups is not None and (self.method == "full" or self.class_conditional):
            raise ValueError(
                "`groups` needs method='cross' and class_conditional=False; no guarantee is known otherwise"
            )
        self._take_over(clone(self.estimator).fit(X, y))
        y = column_or_1d(y)
        check_classification_targets(y)
        self._X, self._y = _as_rows(X), y
        n = len(y)
        if n < 2:
            raise ValueError(f"`X` has {n} sample; leave-one-out needs at least two rows")
        self._groups = np.arange(n)
        if groups is not None:
            groups = column_or_1d(groups)
            check_consistent_length(y, groups)
            self._groups = np.unique(groups, return_inverse=True)[1]
            if self._groups.max() == 0:
                raise ValueError(
                    f"`groups` is {groups.tolist()[0]!r} in all rows; leave-one-out needs at least two groups"
                )
        return self

    def predict_set(self, X: Any, coverage: Any = 0.9) -> Bool[np.ndarray, "m c"]:
        """Whether each label is in the set of each row, (m, c); columns in the order of `classes_`.

        Parameters
        ----------
        X : (m, d) new rows
        coverage : 1 − α, between 0 and 1. The probability that the set holds the label is at least 1 − α with
            method="full" and at least 1 − 2α with "cross"

        Raises
        ------
        ValueError
            if `coverage` is not between 0 and 1
        """
        if isinstance(coverage, bool) or not isinstance(coverage, int | float | np.number) or not 0 < coverage < 1:
            raise ValueError(f"`coverage` is {coverage!r}; it needs to be between 0 and 1, such as 0.9")
        return self.predict_p_values(X) > (1 - float(coverage)) + 1e-12  # 1 − 0.9 is 0.09999999999999998

    def predict_p_values(self, X: Any) -> Float[np.ndarray, "m c"]:
        """Conformal p-value of each label of each row, (m, c): the set at coverage 1 − α holds the labels with p > α.

            p(x, y) = (1 + #{i : s₋ᵢ(x_i, y_i) ≥ s₋ᵢ(x, y)}) / (n + 1)

        A small value says that hardly any training row fits its own label as badly as x fits y. One call serves all
        coverages.
        """
        check_is_fitted(self)
        nb = self.estimator_
        m, c = nb.predict_log_proba(X).shape  # it refuses rows that are none
        X = _as_rows(X)
        index = np.searchsorted(self.classes_, self._y)
        smaller, total = np.zeros((m, c)), np.zeros(c)
        weight = 1 / np.bincount(self._groups)[self._groups]
        for i, fits in self._comparisons(X, index):
            labels = [index[i]] if self.class_conditional else slice(None)
            smaller[:, labels] += weight[i] * fits[:, labels]
            total[labels] += weight[i]
        return (total + 1 - smaller) / (total + 1)

    def _comparisons(self, X: Any, index: Int[np.ndarray, " n"]) -> Iterator[tuple[int, Bool[np.ndarray, "m c"]]]:
        """Row by row i: whether its score is smaller than that of each new row with each label."""
        stacked = self._groups.max() + 1 == len(index) and _is_separable(self.estimator_)
        if self.method == "full":
            stacked = stacked and _knows(self.estimator_, X)
            return _full_stacked(self, X, index) if stacked else _full(self, X, index)
        return _cross_stacked(self, X, index) if stacked else _cross(self, X, index)


def _refuse(unknown: dict[str, Any]) -> None:
    """TypeError on arguments of `fit` that mean nothing here; without weights, `sample_weight=None` does no harm."""
    if unknown.pop("sample_weight", None) is not None:
        raise TypeError(
            "`sample_weight` was given, and ConformalClassifierLOO takes no weights: its guarantee needs exchangeable "
            "rows, and a row that counts twice is a copied row. Leave the weights out; for copied rows or repeated "
            "measures give `groups`"
        )
    if unknown:
        raise TypeError(f"`fit` takes X, y and groups, not {', '.join(map(repr, unknown))}; leave that out")


def _as_rows(X: Any) -> Any:
    """Rows that can be picked by number."""
    if sparse.issparse(X):
        return X.tocsr()
    return X if hasattr(X, "shape") else np.asarray(X)


# --- scores -----------------------------------------------------------------------------------------------------------


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


# --- row by row -------------------------------------------------------------------------------------------------------


def _cross(self: ConformalClassifierLOO, X: Any, index: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
    """From the statistics without the group where they are all there is to know, else by `forget` or another fit."""
    nb, without = self.estimator_, _without
    rows, new = self._X, X
    if isinstance(nb, AbstractNB) and _predicts_from_posterior(nb):
        rows, new, without = nb._encode(self._X), nb._encode(X), _without_statistics
    order = np.argsort(self._groups, kind="stable")
    for out in np.split(order, np.flatnonzero(np.diff(self._groups[order])) + 1):
        held_out = _cut(rows, out) if isinstance(rows, dict) else _safe_indexing(rows, out)
        left = without(self, out, held_out, index)
        scores = _log_odds_against(left(new))
        own = _log_odds_against(left(held_out))
        for i, row in zip(out, own, strict=True):
            yield int(i), _is_smaller(row[index[i]], scores)


def _without_statistics(
    self: ConformalClassifierLOO, out: np.ndarray, held_out: Rows, index: np.ndarray
) -> Callable[[Any], np.ndarray]:
    """The table log p(x, y = c | D₋ᵢ) as a function of encoded rows; the prior is that of D₋ᵢ."""
    nb = self.estimator_
    stats = nb.statistics_ - nb.prior_.suffstats(held_out, one_hot(index[out], len(self.classes_)))
    return NaiveBayes(nb._class_prior(), nb._blocks(stats)).update(stats).log_joint


def _without(
    self: ConformalClassifierLOO, out: np.ndarray, held_out: Any, index: np.ndarray
) -> Callable[[Any], np.ndarray]:
    """The table log p(y = c | x, D₋ᵢ), up to a term of the row, as a function of rows."""
    if hasattr(self.estimator_, "forget"):
        return copy.copy(self.estimator_).forget(held_out, self._y[out]).predict_log_proba
    rest = np.setdiff1d(np.arange(len(self._y)), out)
    y = self._y[rest]
    if len(np.unique(y)) == 1:  # scikit-learn's classifiers refuse a single class
        certain = np.where(self.classes_ == y[0], 0, -np.inf)
        return lambda X: np.broadcast_to(certain, (X.shape[0], len(certain)))
    again = clone(self.estimator).fit(_safe_indexing(self._X, rest), y)

    def table(X: Any) -> np.ndarray:
        full = np.full((X.shape[0], len(self.classes_)), -np.inf)
        full[:, np.searchsorted(self.classes_, again.classes_)] = again.predict_log_proba(X)
        return full

    return table


def _full(self: ConformalClassifierLOO, X: Any, index: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
    """All leave-one-out scores of the training rows and one new row, new row by new row, label by label."""
    m, c, n = X.shape[0], len(self.classes_), len(index)
    smaller = np.zeros((n, m, c), bool)
    every = np.arange(n)
    for t in range(m):
        row = _safe_indexing(X, [t])
        for k, label in enumerate(self.classes_):
            plus = copy.copy(self.estimator_).partial_fit(row, [label])
            own = _log_odds_against(plus.loo(self._X, self._y).log_joint)[every, index]
            new = _log_odds_against(plus.loo(row, [label]).log_joint)[0, k]
            smaller[:, t, k] = _is_smaller(own, np.broadcast_to(new, n))
    yield from enumerate(smaller)


# --- all at once ------------------------------------------------------------------------------------------------------


def _is_separable(nb: Any) -> bool:
    """Whether a row changes nothing but its own class.

    It does where classes are independent given the data, the prior does not depend on the rows, and the prediction is
    made from the posterior itself.
    """
    if not isinstance(nb, AbstractNB) or not _predicts_from_posterior(nb):
        return False
    c, prior = len(nb.classes_), nb.prior_
    plain = nb._blocks(None)
    for name, block in prior.blocks.items():
        if block.no_evidence or block.couples_classes:
            return False
        if any(leaf.shape[:1] != (c,) for leaf in leaves(block)):
            return False
        if not all(np.array_equal(*pair) for pair in zip(leaves(block), leaves(plain[name]), strict=True)):
            return False
    return True


def _predicts_from_posterior(nb: AbstractNB) -> bool:
    """Whether the table of an estimator is `log_joint` of its posterior, with the parameters integrated out."""
    kind = type(nb)
    own = kind._table is AbstractNB._table and kind.predict_joint_log_proba is AbstractNB.predict_joint_log_proba
    return own and nb.estimate == "predictive"


def _knows(nb: AbstractNB, X: Any) -> bool:
    """Whether new rows have no level that the training rows lack: with "full" they would add it to the model."""
    wider = copy.copy(nb)
    wider._learn_encoding(wider._validate(X, reset=False), reset=False)
    shapes = [
        {name: [leaf.shape for leaf in leaves(block)] for name, block in one._blocks(None).items()}
        for one in (nb, wider)
    ]
    return shapes[0] == shapes[1]


def _take(tree: Any, index: np.ndarray) -> Any:
    """A block, or its statistics, with the classes of that index along its first axis."""
    return map_leaves(lambda leaf: leaf[index], tree)


def _chunks(nb: AbstractNB, n: int, width: int) -> Iterator[np.ndarray]:
    """Rows that stand for a class of their own at a time: bounded parameters, and a bounded table of that width."""
    parameters = sum(leaf.size for leaf in leaves(nb.posterior_)) // len(nb.classes_)
    step = max(1, _NUMBERS // max(parameters, width, 1))
    for start in range(0, n, step):
        yield np.arange(start, min(start + step, n))


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
        wide = _take(block, index)
        held, moved = _take(nb.statistics_.blocks[name], index), wide.suffstats(rows[name], own)
        total = total + use(wide.update(held - moved if sign < 0 else held + moved), name)
    return total


def _likelihoods(posterior: NaiveBayes, rows: Rows) -> np.ndarray:
    """log p(x_i | y = c, data), (n, c), without the class prior."""
    return sum(block.log_predictive(rows[name]) for name, block in posterior.blocks.items())


def _cut(rows: Rows, part: np.ndarray) -> dict[str, Any]:
    return {name: x[part] for name, x in rows.items()}


def _cross_stacked(self: ConformalClassifierLOO, X: Any, index: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
    """Without row i only column y_i of the table of the new rows changes, and the class prior."""
    nb, c = self.estimator_, len(self.classes_)
    rows, new, r = nb._encode(self._X), nb._encode(X), one_hot(index, c)
    posterior = nb.posterior_
    own = _log_odds_against(posterior.log_loo(rows, r))
    table, log_pi = _likelihoods(posterior, new), posterior.classes.log_loo(r.toarray())
    for part in _chunks(nb, len(index), len(table)):
        column = _moved(nb, _cut(rows, part), index[part], -1, lambda block, name: block.log_predictive(new[name]))
        for at, i in enumerate(part):
            without = table + log_pi[i]
            without[:, index[i]] = column[:, at] + log_pi[i, index[i]]
            yield int(i), _is_smaller(own[i, index[i]], _log_odds_against(without))


def _full_stacked(self: ConformalClassifierLOO, X: Any, index: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
    """With (x, y) only column y of the table of the training rows changes, and the class prior."""
    nb, c, n = self.estimator_, len(self.classes_), len(index)
    rows, new, r = nb._encode(self._X), nb._encode(X), one_hot(index, c)
    posterior, every = nb.posterior_, np.arange(n)
    alone = _log_odds_against(posterior.log_joint(new))
    table = posterior.log_loo(rows, r) - posterior.classes.log_loo(r.toarray())  # each row without itself
    smaller = np.zeros((n, len(alone), c), bool)
    for k in range(c):
        log_pi = posterior.classes.update(np.eye(c)[k]).log_loo(r.toarray())
        mine, others = np.flatnonzero(index == k), np.flatnonzero(index != k)
        inside, outside = _cut(rows, mine), _cut(rows, others)
        for part in _chunks(nb, len(alone), n * c):

            def column(block: Any, name: str, inside: Rows = inside, outside: Rows = outside) -> np.ndarray:
                x, width = inside[name], block.shape[0]
                left = block.log_loo(x, np.ones((x.shape[0], width)))
                return np.concatenate([left, block.log_predictive(outside[name])])

            found = np.empty((n, len(part)))
            found[np.concatenate([mine, others])] = _moved(nb, _cut(new, part), np.full(len(part), k), 1, column)
            whole = np.repeat((table + log_pi)[:, None], len(part), 1)
            whole[:, :, k] = found + log_pi[:, [k]]
            own = _log_odds_against(whole)[every, :, index]
            smaller[:, part, k] = _is_smaller(own, np.broadcast_to(alone[part, k], own.shape))
    yield from enumerate(smaller)
