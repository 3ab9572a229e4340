"""How well rows are predicted that the model has not seen: by leave-one-out, or rows of another file."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np

from ..analysis.cut_offs import ThresholdTable, threshold_table
from ..analysis.roc import FoldScores, RocCurves, curves_of_scores, fold_scores, held_out_scores
from ..discriminative.model import DiscriminativeNB
from ..numerics.arrays import Bool, Float, Int, Scalar, Shaped
from ..numerics.weights import RowWeights, row_weights
from ..posterior.loo import group_places

_N_FOLDS = 10  # of curves, where there are as many groups


class Wishes(NamedTuple):
    """What the reader of a page asks of cut-offs and curves.

    Fields
    ------
    positive : label of the positive class
    false_positive, false_negative : costs of the two errors
    prevalence : share of positive rows where the model is used; None for that of the rows
    sensitivity : that a cut-off chosen on the rows is to have; None for no such cut-off
    thresholds : cut-offs of the table; None for the usual ones
    level : posterior mass of the intervals
    """

    positive: Any
    false_positive: Scalar
    false_negative: Scalar
    prevalence: Scalar | None
    sensitivity: Scalar | None
    thresholds: Any
    level: Scalar


@dataclass(frozen=True, eq=False)
class Predictions:
    """Rows with their labels, and class probabilities by models that have not seen them.

    Fields
    ------
    classes : (c,) labels
    index : (n,) class number of the label of each row
    log_proba : (n, c) log class probabilities
    weights : of the rows
    log_loss_error : standard error of the log loss
    curves : ROC and precision–recall curves by class: of the positive one of two classes, else of each class
    no_curves : why there are none; "" if there are
    group : (n,) number of the group of each row; None where each row is alone
    cuts : the table of cut-offs; None with more than two classes, or if weights are importance
    """

    classes: Shaped[np.ndarray, " c"]
    index: Int[np.ndarray, " n"]
    log_proba: Float[np.ndarray, "n c"]
    weights: RowWeights
    log_loss_error: float
    curves: dict[Any, RocCurves] = field(default_factory=dict)
    no_curves: str = ""
    cuts: ThresholdTable | None = None
    group: Int[np.ndarray, " n"] | None = None

    @property
    def labels(self) -> Shaped[np.ndarray, " n"]:
        """The label of each row."""
        return self.classes[self.index]

    @property
    def n(self) -> float:
        """Total weight: the number of rows where weights count rows, else the sum of their importance."""
        return self.weights.total

    @property
    def n_rows(self) -> int:
        """Number of rows, as often as weights count them; a row whose weight is its importance counts once."""
        return int(self.n) if self.weights.are_counts else len(self.index)

    @cached_property
    def proba(self) -> Float[np.ndarray, "n c"]:
        """Class probabilities."""
        return np.exp(self.log_proba)

    @cached_property
    def predicted(self) -> Int[np.ndarray, " n"]:
        """Class number of the predicted label of each row."""
        return self.log_proba.argmax(1)

    @property
    def is_right(self) -> Bool[np.ndarray, " n"]:
        """Whether each row gets its own label."""
        return self.predicted == self.index

    @property
    def accuracy(self) -> float:
        """Weighted share of the rows that get their own label."""
        return float(self.weights.values @ self.is_right / self.n)

    @property
    def accuracy_error(self) -> float:
        """Standard error of the accuracy: √(a (1 − a)/n), with the effective number of rows for n; or over groups."""
        if self.group is not None:
            return float(self.weights.terms(self.is_right.astype(float), self.group).standard_error()) / self.n
        return float(np.sqrt(self.accuracy * (1 - self.accuracy) / max(self.weights.effective, 1)))

    @property
    def log_loss(self) -> float:
        """Mean of −log p of the true label, nats a row."""
        of_label = self.log_proba[np.arange(len(self.index)), self.index]
        return -float(self.weights.total_of(of_label)) / self.n

    @cached_property
    def count(self) -> np.ndarray:
        """Rows of each class, (c,), as often as they count; of importance weights their sums."""
        count = np.bincount(self.index, self.weights.values, minlength=len(self.classes))
        return count.astype(int) if self.weights.are_counts else count


def of_leave_one_out(
    estimator: Any, X: Any, y: Any, sample_weight: Any, groups: Any, loo: Any, wishes: Wishes
) -> Predictions:
    """Predictions of the training rows by leave-one-out, with curves from stratified folds.

    Parameters
    ----------
    estimator, X, y, sample_weight : the model and its training rows
    groups : (n,) labels of groups of rows, which stay together in a fold; None for none
    loo : leave-one-out of these rows
    wishes : what is asked of cut-offs and curves
    """
    weights = row_weights(sample_weight, len(loo.index))
    predictions = Predictions(
        classes=loo.classes,
        index=loo.index,
        log_proba=loo.log_proba,
        weights=weights,
        log_loss_error=loo.se / weights.total,
        group=None if groups is None else group_places(groups, len(loo.index)),
    )
    # a discriminative model takes a second or more to fit: its rows are split into folds once
    n_repeats = 1 if isinstance(estimator, DiscriminativeNB) else None
    n_folds = _N_FOLDS if predictions.group is None else min(_N_FOLDS, int(predictions.group.max()) + 1)
    settings: dict[str, Any] = {"groups": groups, "n_folds": n_folds, "n_repeats": n_repeats}
    scores_of_folds = partial(fold_scores, estimator, X, predictions.labels, sample_weight, **settings)
    return _with_cuts(_with_curves(predictions, scores_of_folds, wishes), wishes)


def of_new_rows(estimator: Any, X: Any, y: Any, wishes: Wishes) -> Predictions:
    """Predictions of rows that the fitted model has not seen, each of which counts once.

    Parameters
    ----------
    estimator : the fitted model
    X, y : rows and labels
    wishes : what is asked of cut-offs and curves

    Raises
    ------
    ValueError
        if there are no rows, or a label that the model does not know
    """
    labels = np.asarray(y)
    classes = estimator.classes_
    number_of = {label: k for k, label in enumerate(classes.tolist())}
    unknown = sorted({str(label) for label in labels.tolist() if label not in number_of})
    if unknown or not len(labels):
        problem = f"the labels {unknown}" if unknown else "no rows"
        raise ValueError(f"`test` has {problem}; give rows with labels among {classes.tolist()}")
    index = np.array([number_of[label] for label in labels.tolist()])
    log_proba = estimator.predict_log_proba(X)
    weights = row_weights(None, len(index))
    of_label = log_proba[np.arange(len(index)), index]
    predictions = Predictions(
        classes=classes,
        index=index,
        log_proba=log_proba,
        weights=weights,
        log_loss_error=float(weights.standard_error(of_label)) / len(index),
    )
    return _with_cuts(_with_curves(predictions, partial(held_out_scores, estimator, X), wishes), wishes)


def _with_curves(predictions: Predictions, scores_of: Callable[[], FoldScores], wishes: Wishes) -> Predictions:
    """The predictions with curves: of the positive class of two, or of each of more classes that has rows.

    Parameters
    ----------
    predictions : without curves
    scores_of : computes the scores of the rows. Where it cannot, as with a class of a single row, the reason stands in
        the place of the curves
    wishes : the positive class, and the level of the intervals
    """
    labels = predictions.labels
    try:
        scores = scores_of()
        classes = [wishes.positive] if len(scores.classes) == 2 else np.unique(labels).tolist()
        curves = {
            label: curves_of_scores(scores, labels, predictions.weights, label, wishes.level) for label in classes
        }
    except (ValueError, TypeError, ArithmeticError) as error:
        return replace(predictions, no_curves=f"There are no curves: {str(error).splitlines()[0]}")
    return replace(predictions, curves=curves)


def _with_cuts(predictions: Predictions, wishes: Wishes) -> Predictions:
    """The predictions with a table of cut-offs, if there are two classes with rows, whose weights count rows."""
    has_importance = predictions.weights.are_given and not predictions.weights.are_counts
    if len(predictions.classes) != 2 or has_importance or (predictions.count == 0).any():
        return predictions
    k = predictions.classes.tolist().index(wishes.positive)
    cuts = threshold_table(
        predictions.labels,
        predictions.proba[:, k].clip(0, 1),
        sample_weight=predictions.weights if predictions.weights.are_given else None,
        positive=wishes.positive,
        thresholds=wishes.thresholds,
        false_positive=wishes.false_positive,
        false_negative=wishes.false_negative,
        prevalence=wishes.prevalence,
        sensitivity=wishes.sensitivity,
        level=wishes.level,
    )
    return replace(predictions, cuts=cuts)
