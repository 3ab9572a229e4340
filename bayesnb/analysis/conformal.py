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

Row i may stand for w_i equal rows, its units. One unit is left out at a time, and each # counts units: with n = Σ w_i

    p(x, y) = (1 + Σ_i w_i 1[s₋ᵢ(x_i, y_i) ≥ s₋ᵢ(x, y)]) / (1 + Σ_i w_i),    C(x) = {y : p(x, y) > α}

which is what w_i repeated rows give.

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
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
import pandas as pd
from scipy import sparse
from scipy.special import logsumexp
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from ..core.arrays import Bool, Float, Int, PerRow, Table, is_sparse
from ..core.progress import tracked
from ..core.supports import check_choice, check_level
from ..core.weights import RowWeights, row_weights
from ..estimators._base import AbstractNB
from ..estimators._input import alike, as_table, checked_labels, naming, refuse_no_weight
from ..inference.folds import FittedRows, remainders
from ..inference.loo import group_places, leave_out
from ..io import Saved
from ..naive_bayes import Rows
from ..statistics import one_hot
from ._wrapper import AbstractWrapper

_TIE = 1e-9  # scores this close, relative to their size, count as equal: sets can only grow by it
_LEVEL_ROUNDING = 1e-12  # 1 − 0.9 is 0.09999999999999998
_LARGEST = 1e300  # score, where a label has no probability
_NEEDED = {"cross": ("predict_log_proba",), "full": ("predict_log_proba", "partial_fit", "loo")}
_FLOAT_WEIGHTS = (
    "`sample_weight` has a float type, so its weights are importance, and the guarantee does not hold for them. If "
    "they count rows, give `sample_weight.astype(int)`; otherwise leave them out"
)


class ConformalClassifierLOO(Saved, AbstractWrapper):
    """Label sets that contain the true label with a stated probability, from leave-one-out scores of naive Bayes.

        s₋ᵢ(x, y) = 1 − p(y | x, D₋ᵢ)
        C(x) = {y : #{i : s₋ᵢ(x_i, y_i) < s₋ᵢ(x, y)} < (1 − α)(n + 1)},   1 − α = coverage

    No data are set aside for calibration: each training row is scored by the posterior of all other rows.

    Parameters
    ----------
    estimator : a classifier of bayesnb; a clone of it is fitted. With method="cross" any classifier with
        `predict_log_proba` works, for example a pipeline or a calibrated classifier. A classifier without `forget` is
        fitted again for each row or group that is left out
    method : "cross" (default) or "full"
        "cross" is cross-conformal prediction with one fold for each row. It guarantees a coverage of 1 − 2α, and is
        close to 1 − α unless single rows change the model much. "full" guarantees 1 − α. It adds each new row with each
        label to the training rows, which takes about c times as long
    class_conditional : bool, default False
        whether a label is compared only with the training rows of that label. The guarantee then holds within each
        class separately, even in a rare one. Sets become larger

    Attributes
    ----------
    estimator_ : the fitted clone; `predict` and `predict_proba` are its methods
    classes_, n_features_in_, feature_names_in_ : as in scikit-learn

    Notes
    -----
    The theorem needs exchangeable rows. Independent draws from one distribution are exchangeable. Three things break
    the guarantee. The first are copied rows and repeated measures, unless their groups are given to `fit`. The second
    is a new row from another time, place or instrument than the training rows. The third are training rows that were
    selected by their label; if only the class frequencies differ, use class_conditional=True. The guarantee is an
    average over training sets and new rows. It does not hold for a given x.

    With "cross", a prior that is scaled by the data is scaled by D₋ᵢ, so row i has no influence on it. With "full" it
    is scaled by all n + 1 rows, which treats them alike. The classes and the levels of categorical columns are taken
    from all rows, as if they were known before.

    Scores are compared as log((1 − p)/p), which distinguishes 1 − 1e-20 from 1. Equal scores count in favour of a
    label.

    A set may be empty. Then no label fits the row as well as most training rows fit their own label. With n rows, a
    coverage above n/(n + 1) gives all labels.

    Sample weights of an integer type count rows: the sets are those of repeated rows. Weights of a float type are
    refused, because with unequal rows the theorem needs the weight of the new row.

    The classifier keeps the training rows, and so does a file that `save` writes.

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

    _learnt_names = frozenset({"estimator_", "classes_", "n_features_in_", "feature_names_in_", "_training"})
    _training: "TrainingTable"

    def __init__(self, estimator: Any, *, method: Any = "cross", class_conditional: Any = False) -> None:
        self.estimator = estimator
        self.method = method
        self.class_conditional = class_conditional

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, groups: Any = None) -> Self:
        """Fit a clone of the estimator and keep the rows.

        Parameters
        ----------
        X : (n, d) rows in the form that the estimator accepts: dense, sparse or a data frame; at least two rows
        y : (n,) labels
        sample_weight : (n,) how many equal rows each row stands for, of an integer type; by default 1
        groups : (n,) labels of groups of rows that belong together, such as the measures of one patient, at least two
            groups. Each time a whole group is left out. A new row then counts as a row of a new group

        Raises
        ------
        ValueError
            if a parameter is out of range, if weights are of a float type, or if the estimator cannot do what the
            method needs. The message gives the reason
        """
        self._check_settings(groups)
        with naming("X"):
            X = _as_rows(X)
        y = checked_labels(y)
        counts = _counts(sample_weight, len(y))
        group = None if groups is None else group_places(groups, len(y))
        _check_two(counts, group)
        fitted = _fit(clone(self.estimator), X, y, counts)
        return self._take_over(fitted, _training=TrainingTable(X, y, counts.values, counts.are_given, group))

    def _check_settings(self, groups: Any) -> None:
        """ValueError for a parameter out of range, or an estimator that lacks a method."""
        check_choice("method", self.method, tuple(_NEEDED))
        check_choice("class_conditional", self.class_conditional, (False, True))
        for name in _NEEDED[self.method]:
            if not hasattr(self.estimator, name):
                kind = type(self.estimator).__name__
                raise ValueError(f"`estimator` is {kind}, which has no `{name}`; method={self.method!r} needs it")
        if groups is not None and (self.method == "full" or self.class_conditional):
            raise ValueError("`groups` is given; its guarantee needs method='cross' and class_conditional=False")

    def predict_set(self, X: Any, coverage: Any = 0.9) -> Bool[np.ndarray, "m c"]:
        """Whether each label is in the set of each row, (m, c); the columns are in the order of `classes_`.

        Parameters
        ----------
        X : (m, d) new rows
        coverage : 1 − α, between 0 and 1. The set contains the true label with a probability of at least 1 − α with
            method="full", and of at least 1 − 2α with "cross"

        Raises
        ------
        ValueError
            if `coverage` is not between 0 and 1
        """
        check_level(coverage, "coverage")
        return self.predict_p_values(X) > (1 - float(coverage)) + _LEVEL_ROUNDING

    def predict_p_values(self, X: Any) -> Table:
        """Conformal p-value of each label of each row, (m, c); the set at coverage 1 − α has the labels with p > α.

            p(x, y) = (1 + #{i : s₋ᵢ(x_i, y_i) ≥ s₋ᵢ(x, y)}) / (n + 1)

        A small value means that hardly any training row fits its own label as badly as x fits y. One call is enough for
        all coverages.
        """
        check_is_fitted(self)
        n_new, n_classes = self.estimator_.predict_log_proba(X).shape  # it refuses rows that are none
        training = self._training
        label = self._labels
        share = training.shares(label, n_classes, self.class_conditional)
        n_smaller = np.zeros((n_new, n_classes))
        for block in tracked(self._scored(_as_rows(X)), "label sets", unit="models"):
            n_smaller[block.new, block.classes] += block.smaller(share)
        total = share.sum(0)
        return (total + 1 - n_smaller) / (total + 1)

    @property
    def _labels(self) -> Int[np.ndarray, " n"]:
        """Class index of each training row."""
        return np.searchsorted(self.classes_, self._training.y)

    def _scored(self, X: Any) -> "Iterator[ScoreBlock]":
        """Scores of training rows and of new rows under the same models."""
        training = self._training
        if self.method == "full":
            return _full_scores(self.estimator_, training, self._labels, X)
        if isinstance(self.estimator_, AbstractNB) and not self.estimator_.ignored_by_loo:
            return _cross_scores(_Remainders(self.estimator_, training, self._labels, X), self._labels)
        if isinstance(self.estimator_, AbstractNB):
            return _cross_scores(_PointEstimates(self.estimator_, training, self._labels, X), self._labels)
        return _cross_scores(_Refits(self.estimator, training, self._labels, X, len(self.classes_)), self._labels)

    def _to_save(self) -> dict[str, Any]:
        learnt = super()._to_save()
        if learnt:
            learnt["_training"] = self._training.to_save()
        return learnt

    @classmethod
    def _from_file(cls, parameters: dict[str, Any], learnt: dict[str, Any]) -> Self:
        if learnt:
            learnt = learnt | {"_training": TrainingTable.from_file(learnt["_training"])}
        return super()._from_file(parameters, learnt)


# --- what is fitted ---------------------------------------------------------------------------------------------------


def _counts(sample_weight: Any, n: int) -> RowWeights:
    """Weights that count rows; ValueError for weights of another type."""
    with naming("sample_weight"):
        values = np.asarray(sample_weight)
    if sample_weight is not None:
        refuse_no_weight(values)
    if values.dtype.kind == "f":  # before `row_weights` warns of floats that are whole
        raise ValueError(_FLOAT_WEIGHTS)
    weights = row_weights(sample_weight, n)
    if not weights.are_counts:
        raise ValueError(_FLOAT_WEIGHTS)
    return weights


def _check_two(counts: RowWeights, group: Int[np.ndarray, " n"] | None) -> None:
    """ValueError unless there are two rows, of two groups, to be left out in turn."""
    has_weight = counts.values > 0
    n_folds = counts.total if group is None else len(np.unique(group[has_weight]))
    if n_folds < 2:
        raise ValueError(
            f"{counts.total:.0f} sample(s) in one group; leave-one-out needs two rows, of two groups, so add rows"
        )


def _fit(estimator: Any, X: Any, y: np.ndarray, counts: RowWeights) -> Any:
    """The estimator, fitted to rows as often as they count."""
    if not counts.are_given:
        return estimator.fit(X, y)
    rows = np.flatnonzero(counts.values > 0)
    times = counts.values[rows].astype(int)
    if has_fit_parameter(estimator, "sample_weight"):
        return estimator.fit(_safe_indexing(X, rows), y[rows], sample_weight=times)
    repeated = np.repeat(rows, times)
    return estimator.fit(_safe_indexing(X, repeated), y[repeated])


@dataclass(frozen=True, eq=False)
class TrainingTable:
    """The training rows.

    Fields
    ------
    X : (n, d) array, sparse array or data frame of pandas
    y : (n,) labels
    counts : (n,) how many equal rows each row stands for
    are_given : whether the counts were given, and not 1 by default
    group : (n,) group of each row, 0 … g − 1; None where each unit of a row is left out alone
    """

    X: Any
    y: np.ndarray
    counts: PerRow
    are_given: bool
    group: Int[np.ndarray, " n"] | None

    @property
    def weights(self) -> RowWeights:
        """The counts, with the rule of what leaves."""
        return RowWeights(self.counts, True, self.are_given)

    def shares(self, label: Int[np.ndarray, " n"], n_classes: int, class_conditional: bool) -> Float[np.ndarray, "n c"]:
        """What each row counts for a new row of each class: its units, or their share of a group of weight 1."""
        share = np.repeat(self.counts[:, None], n_classes, axis=1)
        if self.group is not None:
            group_weight = np.bincount(self.group, self.counts)
            share /= np.maximum(group_weight[self.group, None], 1)  # a group without weight has rows of weight 0 alone
        if class_conditional:
            share *= np.eye(n_classes)[label]
        return share

    def folds(self) -> Iterator[Int[np.ndarray, " m"]]:
        """Positions of the rows that are left out together; rows that count 0 times are in no fold."""
        rows = np.flatnonzero(self.counts > 0)
        group = np.arange(len(self.y)) if self.group is None else self.group
        ordered = rows[np.argsort(group[rows], kind="stable")]
        yield from np.split(ordered, np.flatnonzero(np.diff(group[ordered])) + 1)

    def counts_without(self, members: Int[np.ndarray, " m"]) -> RowWeights:
        """The counts when a unit of a row, or all units of a group, are left out."""
        counts = self.counts.copy()
        counts[members] -= 1 if self.group is None else counts[members]
        return RowWeights(counts, True, self.are_given)

    def to_save(self) -> dict[str, Any]:
        """The rows as a file can hold them: arrays and lists."""
        return {
            "X": _table_to_save(self.X),
            "y": self.y,
            "counts": self.counts,
            "are_given": self.are_given,
            "group": self.group,
        }

    @classmethod
    def from_file(cls, saved: dict[str, Any]) -> Self:
        """The rows of `to_save`."""
        return cls(_table_from_file(saved["X"]), saved["y"], saved["counts"], saved["are_given"], saved["group"])


# --- scores -----------------------------------------------------------------------------------------------------------


class ScoreBlock(NamedTuple):
    """Scores of some training rows and of some new rows, as log((1 − p)/p).

    Fields
    ------
    rows : positions of the training rows, or a slice
    scores : (i,) their scores, under their own label
    new, classes : slices: which new rows, and which of their labels
    new_scores : (t, k) scores of these rows and labels
    """

    rows: Any
    scores: Float[np.ndarray, " i"]
    new: slice
    classes: slice
    new_scores: Float[np.ndarray, "t k"]

    def smaller(self, share: Float[np.ndarray, "n c"]) -> Float[np.ndarray, "t k"]:
        """The total share of the training rows whose score is smaller than that of a new row and label."""
        scores = self.scores[:, None, None]
        tolerance = _TIE * (1 + np.minimum(abs(scores), abs(self.new_scores)))
        is_smaller = scores + tolerance < self.new_scores
        return np.einsum("ic,itc->tc", share[self.rows][:, self.classes], is_smaller)


class _LeftOut(NamedTuple):
    """Log class probabilities in nats, up to a term of each row, under a model that does not know some training rows.

    Fields
    ------
    members : (k,) positions of the training rows that the model does not know
    table : (k, c) of these rows
    new_table : (m, c) of the new rows
    """

    members: Int[np.ndarray, " k"]
    table: Table
    new_table: Table


class _CrossModels(ABC):
    """The models of the method "cross": one for each row, or group of rows, that is left out."""

    @abstractmethod
    def tables(self) -> Iterator[_LeftOut]:
        """What each model predicts."""


def _cross_scores(models: _CrossModels, label: Int[np.ndarray, " n"]) -> Iterator[ScoreBlock]:
    """Each unit of a row, or each group of rows, is left out in turn, and scored by the model of all others."""
    for left_out in models.tables():
        own_label = label[left_out.members]
        scores = _log_odds_against(left_out.table)[np.arange(len(own_label)), own_label]
        new_scores = _log_odds_against(left_out.new_table)
        yield ScoreBlock(left_out.members, scores, slice(None), slice(None), new_scores)


@dataclass
class _Remainders(_CrossModels):
    """Posteriors from statistics that subtract; the rows are encoded once, and the prior is that of the other rows."""

    estimator: AbstractNB
    training: TrainingTable
    label: Int[np.ndarray, " n"]
    X: Any

    def tables(self) -> Iterator[_LeftOut]:
        rows = self.estimator.encode(self.training.X)
        new_rows = self.estimator.encode(self.X)
        data = FittedRows(rows, self.label, self.training.weights, self.training.group)
        for remainder in remainders(self.estimator, data, "refit"):
            members_and_new_rows = _stacked(_rows_at(rows, remainder.members), new_rows)
            table = remainder.model.log_table(members_and_new_rows, scores=True)
            n_members = len(remainder.members)
            yield _LeftOut(remainder.members, table[:n_members], table[n_members:])


@dataclass
class _PointEstimates(_CrossModels):
    """The same for estimators that plug in an estimate, such as estimate="mean": they predict by themselves."""

    estimator: AbstractNB
    training: TrainingTable
    label: Int[np.ndarray, " n"]
    X: Any

    def tables(self) -> Iterator[_LeftOut]:
        rows = self.estimator.encode(self.training.X)
        data = FittedRows(rows, self.label, self.training.weights, self.training.group)
        for remainder in remainders(self.estimator, data, "refit"):
            model = self.estimator.with_statistics(remainder.statistics)
            members = _safe_indexing(self.training.X, remainder.members)
            yield _LeftOut(remainder.members, model.predict_log_proba(members), model.predict_log_proba(self.X))


@dataclass
class _Refits(_CrossModels):
    """Any other classifier: fitted again to all other rows."""

    estimator: Any
    training: TrainingTable
    label: Int[np.ndarray, " n"]
    X: Any
    n_classes: int

    def tables(self) -> Iterator[_LeftOut]:
        for members in self.training.folds():
            counts = self.training.counts_without(members)
            classes = np.unique(self.label[counts.values > 0])
            # other classifiers refuse a single class
            classifier = clone(self.estimator) if len(classes) > 1 else DummyClassifier()
            rows = np.flatnonzero(counts.values > 0)
            fitted = _fit(classifier, _safe_indexing(self.training.X, rows), self.training.y[rows], counts.rows(rows))
            table = self._all_classes(fitted.predict_log_proba(_safe_indexing(self.training.X, members)), classes)
            yield _LeftOut(members, table, self._all_classes(fitted.predict_log_proba(self.X), classes))

    def _all_classes(self, table: Float[np.ndarray, "n k"], classes: Int[np.ndarray, " k"]) -> Table:
        """The table with the classes that no other row has, whose probability is 0."""
        full = np.full((len(table), self.n_classes), -np.inf)
        full[:, classes] = table
        return full


def _full_scores(
    estimator: AbstractNB, training: TrainingTable, label: Int[np.ndarray, " n"], X: Any
) -> Iterator[ScoreBlock]:
    """Each new row joins the training rows with each label in turn: leave-one-out scores of all of them."""
    encoder = _Encoder(estimator, training.X)
    n = len(label)
    n_classes = len(estimator.classes_)
    counts = RowWeights(np.append(training.counts, 1.0), True)
    for t in range(X.shape[0]):
        row = _safe_indexing(X, [t])
        wider, rows = encoder.joined(row)
        new_row = wider.encode(row)
        for k in range(n_classes):
            added = wider.prior_.suffstats(new_row, one_hot(np.array([k]), n_classes))
            model = wider.with_statistics(wider.statistics_ + added)
            loo = leave_out(model, rows, np.append(label, k), counts, None, "kept", scores=True)
            scores = _log_odds_against(loo.log_joint)[np.arange(n + 1), loo.index]
            yield ScoreBlock(slice(None), scores[:n], slice(t, t + 1), slice(k, k + 1), scores[n:, None])


@dataclass
class _Encoder:
    """Training rows, encoded once, and again only where a new row has a level that none of them has."""

    estimator: AbstractNB
    X: Any

    @cached_property
    def rows(self) -> Rows:
        """The training rows by block."""
        return self.estimator.encode(self.X)

    def joined(self, row: Any) -> tuple[AbstractNB, Rows]:
        """An estimator that knows the levels of a new row, but not the row; and the training rows with this row."""
        wider = copy.copy(self.estimator).partial_fit(row, self.estimator.classes_[:1], sample_weight=[0])
        features = range(self.estimator.n_features_in_)
        is_same = all(alike(wider.levels_of(j), self.estimator.levels_of(j)) for j in features)
        rows = self.rows if is_same else wider.encode(self.X)
        return wider, _stacked(rows, wider.encode(row))


def _log_odds_against(table: Table) -> Table:
    """log((1 − p_c)/p_c) of each class, from a joint table in nats; it rises with the score 1 − p_c."""
    with np.errstate(invalid="ignore", divide="ignore"):
        others = logsumexp(np.where(np.eye(table.shape[1], dtype=bool), -np.inf, table[:, None]), axis=2)
        return np.nan_to_num(others - table, nan=_LARGEST, posinf=_LARGEST, neginf=-_LARGEST)


# --- tables of rows ---------------------------------------------------------------------------------------------------


def _as_rows(X: Any) -> Any:
    """Rows that can be picked by number: an array, a sparse array in CSR format, or a data frame of pandas."""
    if is_sparse(X):
        return X.tocsr()
    return as_table(X if hasattr(X, "shape") else np.asarray(X))


def _rows_at(rows: Rows, positions: Int[np.ndarray, " k"]) -> Rows:
    return {name: x[positions] for name, x in rows.items()}


def _stacked(rows: Rows, more: Rows) -> Rows:
    """Encoded rows, one below the other."""
    stacked = {}
    for name, x in rows.items():
        if is_sparse(x):
            stacked[name] = sparse.vstack([x, more[name]], format="csr")
        else:
            stacked[name] = np.concatenate([x, more[name]])
    return stacked


def _table_to_save(X: Any) -> dict[str, Any]:
    """A table as arrays and lists."""
    if is_sparse(X):
        return {"data": X.data, "indices": X.indices, "indptr": X.indptr, "shape": list(X.shape)}
    if isinstance(X, pd.DataFrame):
        return {"names": X.columns.tolist(), "columns": [_column_to_save(X.iloc[:, j]) for j in range(X.shape[1])]}
    return {"cells": X}


def _column_to_save(column: pd.Series) -> dict[str, Any]:
    """A column of a data frame: its cells, or the declared levels and the code of each cell."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        levels = column.cat.categories.to_numpy(dtype=object)
        return {"levels": levels, "codes": column.cat.codes.to_numpy(), "is_ordered": bool(column.cat.ordered)}
    if isinstance(column.dtype, np.dtype):
        return {"cells": column.to_numpy()}
    cells = column.to_numpy(dtype=object, na_value=None)
    if pd.api.types.is_numeric_dtype(column.dtype):
        return {"cells": column.to_numpy(dtype=float, na_value=np.nan)}
    return {"cells": cells}


def _table_from_file(saved: dict[str, Any]) -> Any:
    """The table of `_table_to_save`."""
    if "indptr" in saved:
        return sparse.csr_array((saved["data"], saved["indices"], saved["indptr"]), shape=tuple(saved["shape"]))
    if "cells" in saved:
        return saved["cells"]
    columns = dict(enumerate(map(_column_from_file, saved["columns"])))
    table = pd.DataFrame(columns)
    table.columns = pd.Index(saved["names"])
    return table


def _column_from_file(saved: dict[str, Any]) -> Any:
    """The column of `_column_to_save`."""
    if "levels" in saved:
        return pd.Categorical.from_codes(saved["codes"], pd.Index(saved["levels"]), ordered=saved["is_ordered"])
    return saved["cells"]
