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
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from ..estimators._input import alike, as_table, checked_labels, naming, refuse_no_weight
from ..estimators._predicting import AbstractBayes
from ..estimators._wrapper import AbstractWrapper
from ..io import Saved
from ..models.naive_bayes import Rows
from ..numerics.arrays import Bool, Float, Int, PerRow, Table, is_sparse
from ..numerics.progress import progress
from ..numerics.supports import check_choice, check_level
from ..numerics.weights import RowWeights, row_weights
from ..posterior.folds import FittedRows, remainders
from ..posterior.loo import group_places, leave_out
from ..posterior.predicted import log_odds_against
from ..posterior.stacks import remainder_stacks
from ..sums.rows import rows_at
from ..sums.statistics import one_hot

_TIE = 1e-9  # scores this close, relative to their size, count as equal: sets can only grow by it
_LEVEL_ROUNDING = 1e-12  # 1 − 0.9 is 0.09999999999999998
_MAX_SCORES = 1 << 21  # numbers that are worked on at a time, of new rows under several models: 16 MiB
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

        # 1. Check the arguments. Rows become a table whose rows can be picked by number, and groups become numbers
        # 0 … g − 1. `counts` has a number of equal rows for each row, (n,), 1 by default.
        with naming("X"):  # an error that is raised inside names this argument
            rows = _as_rows(X)
        labels = checked_labels(y)
        counts = _counts(sample_weight, len(labels))
        group = None if groups is None else group_places(groups, len(labels))
        _check_two(counts, group)  # leave-one-out needs two rows, or two groups

        # 2. Fit a clone.
        fitted = _fit(clone(self.estimator), rows, labels, counts)

        # 3. Keep the rows: to predict, each of them is left out in turn. `_take_over` sets `estimator_`, `classes_` and
        # `_training` of this object, now that nothing can fail any more.
        training = TrainingTable(rows, labels, counts.values, counts.are_given, group)
        return self._take_over(fitted, _training=training)

    def _check_settings(self, groups: Any) -> None:
        """ValueError for a parameter out of range, or an estimator that lacks a method that `method` needs."""
        check_choice("method", self.method, tuple(_NEEDED))  # ValueError unless it is one of these
        check_choice("class_conditional", self.class_conditional, (False, True))
        for name in _NEEDED[self.method]:  # methods, such as `predict_log_proba`
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
        check_level(coverage, "coverage")  # ValueError unless between 0 and 1
        alpha = 1 - float(coverage)
        return self.predict_p_values(X) > alpha + _LEVEL_ROUNDING

    def predict_p_values(self, X: Any) -> Table:
        """Conformal p-value of each label of each row, (m, c); the set at coverage 1 − α has the labels with p > α.

            p(x, y) = (1 + #{i : s₋ᵢ(x_i, y_i) ≥ s₋ᵢ(x, y)}) / (n + 1)

        with the scores s₋ᵢ(x, y) = 1 − p(y | x, D₋ᵢ) of the model that knows all rows but row i. A small value means
        that hardly any training row fits its own label as badly as x fits y. One call is enough for all coverages.
        """
        check_is_fitted(self)
        n_new, n_classes = self.estimator_.predict_log_proba(X).shape  # (m, c); ValueError if X does not fit the model
        training = self._training

        # 1. How much each training row counts in the # above, for a new row under each label, (n, c). It is 1; with
        # groups the rows of a group count 1 together; with `class_conditional` only rows of the label count.
        share = training.shares(self._labels, n_classes, self.class_conditional)

        # 2. Count the training rows i with a smaller score, s₋ᵢ(x_i, y_i) < s₋ᵢ(x, y). The comparisons come in blocks:
        # a block has some of the training rows, and some of the new rows (`block.new`) and labels (`block.classes`).
        n_smaller = np.zeros((n_new, n_classes))
        n_rows = int(np.count_nonzero(training.counts))
        with progress("label sets", n_rows * n_new * n_classes, unit="comparisons") as line:
            for block in self._scored(_as_rows(X)):
                n_smaller[block.new, block.classes] += block.smaller(share)
                line.advance(block.n_comparisons)

        # 3. All other training rows have a score at least as large, and so has the new row itself. With 9 training rows
        # of which 8 have a smaller score, the p-value is (9 + 1 − 8) / (9 + 1) = 2/10.
        total = share.sum(0)  # n in the formula, under each label, (c,)
        return (total + 1 - n_smaller) / (total + 1)

    @property
    def _labels(self) -> Int[np.ndarray, " n"]:
        """Class number of each training row; `classes_` are sorted, so that a search finds it."""
        return np.searchsorted(self.classes_, self._training.y)

    def _scored(self, X: Any) -> "Iterator[ScoreBlock]":
        """Scores to be compared: of training rows under their own labels, and of the new rows X under the same model.

        A `ScoreBlock` holds the scores of some training rows, and beside each of them those of new rows under labels.

        - Method "full": a new row joins the training rows under a label, and all n + 1 rows are left out in turn.
        - Method "cross": only training rows, or groups of them, are left out in turn. There are three ways to make the
          model without a row:

              bayesnb                      subtract the row from the sums over rows; the posterior predicts
              bayesnb, plug-in estimates   subtract it too; the estimator predicts by its own estimate
              any other classifier         fit it again to the other rows
        """
        training = self._training  # the rows, their labels, counts and groups
        label = self._labels  # class number of each training row, (n,)
        if self.method == "full":
            return _full_scores(self.estimator_, training, label, X)

        # Each of the three has a method that yields the predictions of one model after the other.
        models: _CrossModels
        is_of_bayesnb = isinstance(self.estimator_, AbstractBayes)
        if not is_of_bayesnb:
            models = _Refits(self.estimator, training, label, X, len(self.classes_))
        elif self.estimator_.model_.ignored_by_loo:  # such as estimate="mean": leave-one-out has the posterior alone
            models = _PointEstimates(self.estimator_, training, label, X)
        else:
            models = _Remainders(self.estimator_, training, label, X)
        return _cross_scores(models, label)

    def _to_save(self) -> dict[str, Any]:
        """What was learnt, as a file holds it: the training rows as arrays and lists."""
        learnt = super()._to_save()
        if learnt:
            learnt["_training"] = self._training.to_save()
        return learnt

    @classmethod
    def _from_file(cls, parameters: dict[str, Any], learnt: dict[str, Any]) -> Self:
        """The classifier that `_to_save` took apart; `learnt` is empty where it was not fitted."""
        if learnt:
            learnt = learnt | {"_training": TrainingTable.from_file(learnt["_training"])}
        return super()._from_file(parameters, learnt)


# --- what is fitted ---------------------------------------------------------------------------------------------------


def _counts(sample_weight: Any, n: int) -> RowWeights:
    """How many equal rows each of n rows stands for, as checked integers; 1 each if `sample_weight` is None.

    Raises
    ------
    ValueError
        if weights are of a float type, all 0, negative, or not n numbers
    """
    with naming("sample_weight"):  # an error that is raised inside names this argument
        values = np.asarray(sample_weight)  # of None an array of objects, which passes the checks below
    if sample_weight is not None:
        refuse_no_weight(values)  # ValueError if all are 0

    # Floats are refused first: `row_weights` would warn of floats that are whole numbers.
    if values.dtype.kind == "f":
        raise ValueError(_FLOAT_WEIGHTS)

    # `row_weights` refuses negative numbers and a wrong length. It takes integers for counts, and any others, such as
    # fractions, for importance.
    weights = row_weights(sample_weight, n)
    if not weights.are_counts:
        raise ValueError(_FLOAT_WEIGHTS)
    return weights


def _check_two(counts: RowWeights, group: Int[np.ndarray, " n"] | None) -> None:
    """ValueError unless there are two rows, or with groups two groups, to be left out in turn."""
    # `total` is the sum of the counts; of groups only those count that have a row with weight
    has_weight = counts.values > 0
    n_folds = counts.total if group is None else len(np.unique(group[has_weight]))  # rows, as often as they count
    if n_folds < 2:
        raise ValueError(
            f"{counts.total:.0f} sample(s) in one group; leave-one-out needs two rows, of two groups, so add rows"
        )


def _fit(estimator: Any, X: Any, y: np.ndarray, counts: RowWeights) -> Any:
    """The estimator, fitted to rows as often as they count.

    A row that counts 0 times is left out. Where `fit` takes no weights, rows are repeated.

    Parameters
    ----------
    X, y : n rows and their labels
    counts : how often each row counts, (n,), and whether the user gave these numbers
    """
    if not counts.are_given:  # each row counts once
        return estimator.fit(X, y)
    # positions of the rows that count at all, and how often
    rows = np.flatnonzero(counts.values > 0)
    times = counts.values[rows].astype(int)
    if has_fit_parameter(estimator, "sample_weight"):
        return estimator.fit(_safe_indexing(X, rows), y[rows], sample_weight=times)
    repeated = np.repeat(rows, times)  # rows 3 and 5 that count 2 and 1 times are 3, 3, 5
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
        """The counts as weights: of a row that stands for several, one unit leaves at a time."""
        return RowWeights(self.counts, True, self.are_given)

    def shares(self, label: Int[np.ndarray, " n"], n_classes: int, class_conditional: bool) -> Float[np.ndarray, "n c"]:
        """What each training row counts when a new row is compared with it under each of c classes, (n, c).

        - Without groups a row counts as many units as it stands for.
        - With groups every group counts 1 in all, shared out among its rows, as the new row is one of a new group.
        - If `class_conditional`, a new row under class c is compared only with the rows of this class. All others count
          0 there.

        Parameters
        ----------
        label : class number of each row
        """
        # (n, c) the count of each row, the same under every class
        share = np.repeat(self.counts[:, None], n_classes, axis=1)
        if self.group is not None:
            group_weight = np.bincount(self.group, self.counts)  # (g,)
            weight_of_own_group = group_weight[self.group, None]  # (n, 1)
            share /= np.maximum(weight_of_own_group, 1)  # not 0: a group without weight has rows of weight 0 alone
        if class_conditional:
            share *= np.eye(n_classes)[label]  # (n, c): 1 in the class of the row, 0 in all others
        return share

    def folds(self) -> Iterator[Int[np.ndarray, " m"]]:
        """Positions of the m rows that are left out together: of one row, or of a group.

        Rows that count 0 times are in no fold.
        """
        rows = np.flatnonzero(self.counts > 0)
        group = np.arange(len(self.y)) if self.group is None else self.group  # without groups each row is one

        # Rows in the order of their groups are cut where the group changes. For example, the groups 1, 0, 1 have the
        # order of rows 1, 0, 2, whose groups 0, 1, 1 change before position 1: the folds are (1,) and (0, 2).
        ordered = rows[np.argsort(group[rows], kind="stable")]
        is_other_group = np.diff(group[ordered]) != 0  # than the row before
        yield from np.split(ordered, np.flatnonzero(is_other_group) + 1)

    def counts_without(self, members: Int[np.ndarray, " m"]) -> RowWeights:
        """The counts of all n rows when one unit of the row `members` is left out, or all units of a group of rows.

        A row that counts w times stands for w equal rows, its units. For example, with the counts (2, 1, 1), leaving
        row 0 out gives (1, 1, 1), and leaving the group of the rows 0 and 1 gives (0, 0, 1).
        """
        counts = self.counts.copy()
        if self.group is None:
            counts[members] -= 1
        else:
            counts[members] = 0
        return RowWeights(counts, are_counts=True, are_given=self.are_given)

    def to_save(self) -> dict[str, Any]:
        """The rows as a file can hold them: arrays and lists by name. A data frame or sparse array is taken apart."""
        return {
            "X": _table_to_save(self.X),
            "y": self.y,
            "counts": self.counts,
            "are_given": self.are_given,
            "group": self.group,
        }

    @classmethod
    def from_file(cls, saved: dict[str, Any]) -> Self:
        """The training rows from what `to_save` made of them."""
        return cls(_table_from_file(saved["X"]), saved["y"], saved["counts"], saved["are_given"], saved["group"])


# --- scores -----------------------------------------------------------------------------------------------------------


class ScoreBlock(NamedTuple):
    """Scores of some training rows, and beside each those of some new rows under some labels, by the same model.

    The score of a row under a label is log((1 − p)/p), with p the probability of the label: large where it does not
    fit. A block is a part of the comparison of all n training rows with all m new rows under all c labels.

    Fields
    ------
    rows : positions of i training rows, or a slice of them
    scores : (i,) their scores, under their own label
    new : slice of the t new rows among all m
    classes : slice of the k labels among all c
    new_scores : (i, t, k) scores of these rows under these labels, by the model that scored the training row; (1, t, k)
        where one model scored all
    """

    rows: Any
    scores: Float[np.ndarray, " i"]
    new: slice
    classes: slice
    new_scores: Float[np.ndarray, "#i t k"]

    @property
    def n_comparisons(self) -> int:
        """How many pairs of a training row, and a new row under a label, are compared."""
        _, n_new, n_labels = self.new_scores.shape
        return len(self.scores) * n_new * n_labels

    def smaller(self, share: Float[np.ndarray, "n c"]) -> Float[np.ndarray, "t k"]:
        """The total share of the i training rows whose score is smaller than that of a new row and label.

        Scores that differ only by rounding count as equal, which favours the label.

        Parameters
        ----------
        share : what each of all n training rows counts for a new row of each class
        """
        # every training row beside every new row and label: (i, 1, 1) and (i, t, k)
        scores = self.scores[:, None, None]
        # (i, t, k) by how much a score has to be smaller to count: a relative error, but no less than that of scores of
        # 1
        tolerance = _TIE * (1 + np.minimum(abs(scores), abs(self.new_scores)))
        is_smaller = scores + tolerance < self.new_scores

        share_of_rows = share[self.rows][:, self.classes]  # (i, k)
        return np.einsum("ik,itk->tk", share_of_rows, is_smaller)  # Σ over the training rows


class _LeftOut(NamedTuple):
    """Log class probabilities in nats, up to a term of each row, under b models that do not know some training rows.

    Fields
    ------
    members : (k,) positions of the training rows that one of the models does not know
    model_of_member : (k,) number of that model, 0 … b − 1
    table : (k, c) of these rows
    new_tables : (b, m, c) of the new rows under each model
    """

    members: Int[np.ndarray, " k"]
    model_of_member: Int[np.ndarray, " k"]
    table: Table
    new_tables: Float[np.ndarray, "b m c"]

    @classmethod
    def of_one_model(
        cls, members: Int[np.ndarray, " k"], table: Float[np.ndarray, "k c"], new_table: Float[np.ndarray, "m c"]
    ) -> Self:
        """What a single model predicts: (k, c) for the rows that it does not know, and (m, c) for the new rows."""
        return cls(members, np.zeros(len(members), int), table, new_table[None])


class _CrossModels(ABC):
    """The models of the method "cross": one for each row, or group of rows, that is left out."""

    @abstractmethod
    def tables(self) -> Iterator[_LeftOut]:
        """What each model predicts: for the training rows that it does not know, and for all new rows.

        Every training row that counts is left out of exactly one of the models.
        """


def _cross_scores(models: _CrossModels, label: Int[np.ndarray, " n"]) -> Iterator[ScoreBlock]:
    """Scores to be compared by the method "cross": by each model, of the rows it lacks and of all new rows.

    A training row i, or its group, is left out of a model. That model gives the score of row i under its own label
    y_i, and those of m new rows under all c labels. A score is log((1 − p)/p), with p the probability of the label.

    Parameters
    ----------
    models : `tables` yields the predictions of some models at a time
    label : class number of each of the n training rows
    """
    for left_out in models.tables():
        # The k training rows that these models lack: from log p (k, c) to log((1 − p)/p), of which the entry of the own
        # label is wanted.
        members = left_out.members  # their positions, (k,)
        own_label = label[members]
        scores = log_odds_against(left_out.table)[np.arange(len(members)), own_label]  # (k,)

        # The m new rows by each of the b models, (b, m, c). `log_odds_against` takes a table (rows, c).
        n_models, n_new, n_classes = left_out.new_tables.shape
        all_new_rows = left_out.new_tables.reshape(n_models * n_new, n_classes)
        new_scores = log_odds_against(all_new_rows).reshape(n_models, n_new, n_classes)

        # Beside each of the k rows the scores of all new rows and labels by the model that lacks it, (k, m, c).
        yield ScoreBlock(
            rows=members,
            scores=scores,
            new=slice(None),
            classes=slice(None),
            new_scores=new_scores[left_out.model_of_member],
        )


@dataclass
class _Remainders(_CrossModels):
    """Models by subtraction: the statistics of all rows less those that are left out.

    Rows are encoded once. A prior that is scaled by the rows is that of the other rows.

    Fields
    ------
    estimator : fitted to the training rows
    label : class number of each of them
    X : the new rows
    """

    estimator: AbstractBayes
    training: TrainingTable
    label: Int[np.ndarray, " n"]
    X: Any

    def tables(self) -> Iterator[_LeftOut]:
        """What the model without each training row, or group of rows, predicts for these rows and for the new rows.

        No model is fitted again: it is made of the sums over all rows minus the sums over the rows that are left out.
        """
        # 1. Encode the training rows and the new rows: an array of cells for each block of columns of one family.
        rows = self.estimator.model_.encode(self.training.X)
        new_rows = self.estimator.model_.encode(self.X)
        data = FittedRows(rows, self.label, self.training.weights, self.training.group)

        # 2. How many models may be evaluated at a time, so that their tables of scores fit into memory.
        n_new = self.X.shape[0]
        n_classes = len(self.estimator.classes_)
        max_models = max(1, _MAX_SCORES // ((n_new + 1) * n_classes**2))

        # 3. b models at a time, each without one row or group. "refit" scales a prior that follows the data by the
        # rows that the model knows.
        for stack in remainder_stacks(self.estimator.model_, data, "refit", max_models):
            members = stack.members  # (k,) all rows that one of these models lacks
            n_members = len(members)

            # 4. log p by every model, of these k rows and then of the m new rows, (b, k + m, c). Each of the k rows
            # needs the model that lacks it alone.
            log_p = stack.log_tables(_stacked(rows_at(rows, members), new_rows))
            yield _LeftOut(
                members=members,
                model_of_member=stack.model_of_member,
                table=log_p[stack.model_of_member, np.arange(n_members)],  # (k, c)
                new_tables=log_p[:, n_members:],  # (b, m, c)
            )


@dataclass
class _PointEstimates(_CrossModels):
    """Models by subtraction that predict by themselves: estimators that plug in an estimate, as estimate="mean" does.

    Fields
    ------
    estimator, training, label, X : as in `_Remainders`
    """

    estimator: AbstractBayes
    training: TrainingTable
    label: Int[np.ndarray, " n"]
    X: Any

    def tables(self) -> Iterator[_LeftOut]:
        """What the estimator without each training row, or group of rows, predicts for these rows and the new rows.

        It is not fitted again: its sums are those over all rows minus those over the rows that are left out. It
        predicts by its own estimate of the parameters, such as the posterior mean.
        """
        rows = self.estimator.model_.encode(self.training.X)  # an array of cells for each block of columns
        data = FittedRows(rows, self.label, self.training.weights, self.training.group)

        # A remainder has the positions of the rows that are left out, and the sums over all other rows. "refit" scales
        # a prior that follows the data by these other rows.
        for remainder in remainders(self.estimator.model_, data, "refit"):
            model = self.estimator.model_.with_statistics(remainder.statistics)  # a copy, as if fitted to the others
            members = _safe_indexing(self.training.X, remainder.members)  # the rows that are left out
            table = model.predict_log_proba(members)
            new_table = model.predict_log_proba(self.X)
            yield _LeftOut.of_one_model(remainder.members, table, new_table)


@dataclass
class _Refits(_CrossModels):
    """Models of any other classifier: a clone is fitted to all other rows.

    Fields
    ------
    estimator : is cloned
    label : class number of each training row, of `n_classes`
    X : the new rows
    """

    estimator: Any
    training: TrainingTable
    label: Int[np.ndarray, " n"]
    X: Any
    n_classes: int

    def tables(self) -> Iterator[_LeftOut]:
        """What a clone that was fitted without each training row, or group of rows, predicts for these and new rows.

        The clone is fitted again for each of them: this is leave-one-out by its definition, and slow.
        """
        training = self.training
        for members in training.folds():  # positions of the rows that are left out together
            # 1. The other rows: those that still count when these are left out, and how often.
            counts = training.counts_without(members)  # of all n rows
            rows = np.flatnonzero(counts.values > 0)
            classes = np.unique(self.label[rows])  # numbers of the k classes that occur there

            # 2. Fit a clone to them. Many classifiers refuse a single class, which `DummyClassifier` always predicts.
            classifier = clone(self.estimator) if len(classes) > 1 else DummyClassifier()
            fitted = _fit(classifier, _safe_indexing(training.X, rows), training.y[rows], counts.rows(rows))

            # 3. Predict. The clone knows k classes; the columns of the others are filled with log 0.
            log_p = fitted.predict_log_proba(_safe_indexing(training.X, members))  # (·, k)
            new_log_p = fitted.predict_log_proba(self.X)
            table = self._all_classes(log_p, classes)  # (·, c)
            new_table = self._all_classes(new_log_p, classes)
            yield _LeftOut.of_one_model(members, table, new_table)

    def _all_classes(self, table: Float[np.ndarray, "n k"], classes: Int[np.ndarray, " k"]) -> Table:
        """Log probabilities of all c classes, (n, c), from those of k classes: the others have the probability 0."""
        full = np.full((len(table), self.n_classes), -np.inf)  # log 0
        full[:, classes] = table
        return full


def _full_scores(
    estimator: AbstractBayes, training: TrainingTable, label: Int[np.ndarray, " n"], X: Any
) -> Iterator[ScoreBlock]:
    """Scores to be compared by the method "full": a new row joins the training rows under a label, for all pairs.

    For each new row t and each label k:

    1. Add the row, with this label, to the sums over the n training rows: a model of n + 1 rows.
    2. Leave each of the n + 1 rows out in turn, and take log((1 − p)/p) as its score, with p the probability of its
       label by the model without it.
    3. Yield the n scores of the training rows, to be compared with the score of the new row.

    Parameters
    ----------
    estimator : fitted to the n training rows
    training : these rows, and how often each counts
    label : class number of each of them
    X : (m, d) new rows
    """
    n = len(label)
    n_classes = len(estimator.classes_)
    counts = RowWeights(np.append(training.counts, 1.0), are_counts=True)  # (n + 1,), as the new row counts once
    encoder = _Encoder(estimator, training.X)  # encodes the training rows once for all new rows
    for t in range(X.shape[0]):
        row = _safe_indexing(X, [t])  # (1, d)
        joined = encoder.joined(row)  # an estimator that knows the levels of this row too, and all n + 1 encoded rows
        new_row = joined.estimator.model_.encode(row)
        for k in range(n_classes):
            # 1. The statistics of the new row are sums with the weight 1 in class k and 0 in all others.
            added = joined.estimator.prior_.suffstats(new_row, one_hot(np.array([k]), n_classes))
            model = joined.estimator.model_.with_statistics(joined.estimator.statistics_ + added)

            # 2. `loo.log_joint` is log p(x_i, y = c) of each row i by the model without it, (n + 1, c). "kept": a prior
            # that is scaled by the data stays that of all n + 1 rows. `scores` leaves out terms that all classes share.
            loo = leave_out(
                model.model_,
                joined.rows,
                index=np.append(label, k),
                weights=counts,
                group=None,  # each row is left out alone
                prior="kept",
                scores=True,
            )
            scores = log_odds_against(loo.log_joint)[np.arange(n + 1), loo.index]  # of the row's own label, (n + 1,)

            # 3. The block has all training rows, the new row t, and the label k.
            yield ScoreBlock(
                rows=slice(None),
                scores=scores[:n],
                new=slice(t, t + 1),
                classes=slice(k, k + 1),
                new_scores=scores[n:, None, None],  # (1, 1, 1)
            )


class _Joined(NamedTuple):
    """The training rows and a new row.

    Fields
    ------
    estimator : fitted to the training rows alone; it knows the levels of the new row too
    rows : all n + 1 rows as arrays by block, the new one last
    """

    estimator: AbstractBayes
    rows: Rows


@dataclass
class _Encoder:
    """Training rows, encoded once, and again only where a new row has a level that none of them has."""

    estimator: AbstractBayes
    X: Any

    @cached_property
    def rows(self) -> Rows:
        """The cells of the training rows as arrays, by block (the columns of one family). Computed at the first use."""
        return self.estimator.model_.encode(self.X)

    def joined(self, row: Any) -> _Joined:
        """An estimator that knows the levels of a new row, but not the row; and the training rows with this row below.

        Levels are the values that a categorical column may have. A fit of the row with weight 0 learns its levels and
        adds nothing to the statistics. Where no level is new, the training rows stay encoded as they are.

        Parameters
        ----------
        row : (1, d) the new row
        """
        some_label = self.estimator.classes_[:1]  # of weight 0 any will do
        wider = copy.copy(self.estimator).partial_fit(row, some_label, sample_weight=[0])

        # `alike` says whether the levels of a column are the same before and after, or are None of a column of numbers
        features = range(self.estimator.n_features_in_)
        has_no_new_level = all(alike(wider.model_.levels_of(j), self.estimator.model_.levels_of(j)) for j in features)
        rows = self.rows if has_no_new_level else wider.model_.encode(self.X)
        return _Joined(wider, _stacked(rows, wider.model_.encode(row)))


# --- tables of rows ---------------------------------------------------------------------------------------------------


def _as_rows(X: Any) -> Any:
    """Rows that can be picked by number: an array, a sparse array in CSR format, or a data frame of pandas."""
    if is_sparse(X):
        return X.tocsr()
    return as_table(X if hasattr(X, "shape") else np.asarray(X))


def _stacked(rows: Rows, more: Rows) -> Rows:
    """Encoded rows (n, …) and (m, …) one below the other, (n + m, …), block by block: both have the same blocks."""
    stacked = {}
    for name, x in rows.items():
        if is_sparse(x):
            stacked[name] = sparse.vstack([x, more[name]], format="csr")
        else:
            stacked[name] = np.concatenate([x, more[name]])
    return stacked


def _table_to_save(X: Any) -> dict[str, Any]:
    """A table as arrays and lists, which a file can hold: the parts of a sparse array, columns, or cells."""
    if is_sparse(X):
        # CSR format: the stored cells row by row, the column of each, and for each row where its cells begin
        return {"data": X.data, "indices": X.indices, "indptr": X.indptr, "shape": list(X.shape)}
    if isinstance(X, pd.DataFrame):
        return {"names": X.columns.tolist(), "columns": [_column_to_save(X.iloc[:, j]) for j in range(X.shape[1])]}
    return {"cells": X}


def _column_to_save(column: pd.Series) -> dict[str, Any]:
    """A column of a data frame as arrays: its cells, or the declared levels and the code of each cell.

    Types that pandas has beside NumPy's become floats, with NaN for a missing cell, or objects, with None.
    """
    # each cell of a categorical is a code: its position among the levels, −1 where it is missing
    if isinstance(column.dtype, pd.CategoricalDtype):
        levels = column.cat.categories.to_numpy(dtype=object)
        return {"levels": levels, "codes": column.cat.codes.to_numpy(), "is_ordered": bool(column.cat.ordered)}
    if isinstance(column.dtype, np.dtype):  # a type of NumPy stays as it is
        return {"cells": column.to_numpy()}
    if pd.api.types.is_numeric_dtype(column.dtype):
        return {"cells": column.to_numpy(dtype=float, na_value=np.nan)}
    return {"cells": column.to_numpy(dtype=object, na_value=None)}


def _table_from_file(saved: dict[str, Any]) -> Any:
    """The table that `_table_to_save` took apart: a sparse array, an array, or a data frame."""
    # which of the three it was is known by the names of its parts
    if "indptr" in saved:
        return sparse.csr_array((saved["data"], saved["indices"], saved["indptr"]), shape=tuple(saved["shape"]))
    if "cells" in saved:
        return saved["cells"]
    columns = dict(enumerate(map(_column_from_file, saved["columns"])))  # by number: names may occur twice
    table = pd.DataFrame(columns)
    table.columns = pd.Index(saved["names"])
    return table


def _column_from_file(saved: dict[str, Any]) -> Any:
    """A column from what `_column_to_save` made of it: a categorical where levels were declared, else its cells."""
    if "levels" in saved:
        return pd.Categorical.from_codes(saved["codes"], pd.Index(saved["levels"]), ordered=saved["is_ordered"])
    return saved["cells"]
