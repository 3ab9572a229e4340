"""ROC and precision–recall curves of rows that the model has not seen, from stratified folds.

A positive row is compared with the negative rows of its own fold only, which the same model predicts:

    u_i = share of the negative rows compared with positive row i that rank above it, ties counting half
    sensitivity at the false positive rate t = share of the positive rows with u_i ≤ t
    area under the ROC curve = 1 − mean of u_i
    precision at the recall r = π r / (π r + (1 − π) u₍r₎)        u₍r₎ the r-quantile of u, π the share of positives

u_i is the placement value of row i (Pepe & Cai 2004). With repeated folds it is over all comparisons of the row. Curves
over leave-one-out predictions of all rows would compare rows that different models predict. Each of these models lacks
the row that it predicts, so that it knows one row less of that row's class. A row then ranks by its own label: on noise
such an area is .39 to .43 (20 to 200 rows), and the area within folds is .50.

Intervals are those of the Bayesian bootstrap: each draw gives the rows weights from a Dirichlet distribution. They say
how much the curves depend on the rows that happened to be predicted, not on those that the model was fitted to.

References
----------
Pepe & Cai (2004), The analysis of placement values for evaluating discriminatory measures, Biometrics 60.
Airola, Pahikkala, Waegeman, De Baets & Salakoski (2011), An experimental comparison of cross-validation techniques for
estimating the area under the ROC curve, Computational Statistics & Data Analysis 55: why pairs of one fold.
Rubin (1981), The Bayesian bootstrap, Annals of Statistics 9.
"""

import math
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.special import logit
from sklearn.base import clone
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold

from ..estimators._predicting import AbstractBayes
from ..numerics.arrays import Bool, Float, Int, Scalar
from ..numerics.progress import progress
from ..numerics.random import generator
from ..numerics.supports import check_least, check_level
from ..numerics.weights import RowWeights, row_weights
from ..posterior.held_out import take_rows
from ..posterior.predicted import log_odds_against

_N_DRAWS = 400  # of the weights of the rows, for intervals
_DRAWN_NUMBERS = 1 << 24  # draws times rows, at most: of very many rows there are fewer draws, 50 at least
_LEAST_DRAWS = 50
_GRID = np.linspace(0, 1, 201)  # where curves are computed
_REPEATED_ROWS = 600  # rows times repeats, about, where the number of repeats is not given
_MAX_REPEATS = 5


class Area(NamedTuple):
    """The area under a curve, with its interval.

    Fields
    ------
    value : the area
    low, high : ends of its interval
    """

    value: float
    low: float
    high: float


class Curve(NamedTuple):
    """A curve with its band.

    Fields
    ------
    x : (g,) false positive rates, or recalls, from 0 to 1
    y : (g,) sensitivity, or precision
    low, high : (g,) ends of the interval of y at each x
    """

    x: Float[np.ndarray, " g"]
    y: Float[np.ndarray, " g"]
    low: Float[np.ndarray, " g"]
    high: Float[np.ndarray, " g"]


@dataclass(frozen=True, eq=False)
class RocCurves:
    """How well a model ranks rows that it has not seen: ROC and precision–recall curves, with their areas.

    Fields
    ------
    positive : the label of the positive class
    n_positive, n_negative : rows of this class and of all others, as often as they count
    roc : sensitivity against false positive rate
    precision_recall : precision against recall, at the share of positives in the file
    roc_auc : area under the ROC curve: the probability that a positive row ranks above a negative one
    average_precision : area under the precision–recall curve; a model that knows nothing has the share of positives
    level : of the intervals
    source : which predictions these are, in words
    """

    positive: Any
    n_positive: float
    n_negative: float
    roc: Curve
    precision_recall: Curve
    roc_auc: Area
    average_precision: Area
    level: float
    source: str

    @property
    def prevalence(self) -> float:
        """Share of positive rows."""
        return self.n_positive / (self.n_positive + self.n_negative)

    def __str__(self) -> str:
        """Both areas with their intervals, and what they are of."""
        areas = {"area under the ROC curve": self.roc_auc, "average precision": self.average_precision}
        lines = [f"{self.positive!r}: {self.n_positive:.15g} positive and {self.n_negative:.15g} negative rows"]
        for name, area in areas.items():
            lines.append(f"{name:26}{area.value:.3f}  ({self.level:.0%} interval {area.low:.3f} to {area.high:.3f})")
        return "\n".join([*lines, f"from {self.source}"])


def roc_curves(
    estimator: Any,
    X: Any,
    y: Any,
    sample_weight: Any = None,
    *,
    positive: Any = None,
    held_out: bool = False,
    groups: Any = None,
    n_folds: int = 10,
    n_repeats: int | None = None,
    level: Scalar = 0.9,
    seed: int | np.random.Generator | None = 0,
) -> RocCurves:
    """ROC and precision–recall curves with their areas, from repeated stratified folds, or of rows kept aside.

    A clone of the estimator is fitted without each fold and ranks the rows of that fold. A positive row is compared
    with the negative rows of its fold only. Any classifier with `predict_proba` will do, calibrated and discriminative
    ones included.

    Parameters
    ----------
    estimator : a classifier
    X, y, sample_weight : rows, labels and weights. Weights of an integer type count rows; a row is in one fold with all
        its units. Without weights none are passed to `fit`
    positive : label of the positive class, by default the second of two
    held_out : True if X are rows that the fitted estimator has not seen: it predicts them, and there are no folds
    groups : (n,) labels of groups of rows that stay together in one fold, such as all rows of a person
    n_folds : number of folds; of a class with fewer rows, as many as it has rows
    n_repeats : how often the rows are split into folds; by default five times up to 120 rows, once from 600 rows on
    level : posterior mass of the intervals, which are over the rows: the fitted models are taken as they are
    seed : seed of folds and of intervals

    Raises
    ------
    ValueError
        if there is no such class, if it or its counterpart has fewer than two rows (with `held_out`, none), or if a
        number is out of range

    Examples
    --------
    >>> import bayesnb
    >>> cancer = bayesnb.datasets.load("breast_cancer")
    >>> curves = bayesnb.roc_curves(bayesnb.GaussianNB(), cancer.X, cancer.y, positive="malignant")
    >>> print(curves)
    'malignant': 212 positive and 357 negative rows
    area under the ROC curve  0.986  (90% interval 0.979 to 0.991)
    average precision         0.979  (90% interval 0.970 to 0.987)
    from 10 stratified folds, repeated 2 times, averaged within folds
    """
    check_level(level)  # ValueError unless between 0 and 1
    check_least(2, n_folds=n_folds)
    labels = np.asarray(y)
    class_labels = estimator.classes_ if held_out else np.unique(labels)
    label = positive_label(positive, class_labels)
    weights = row_weights(sample_weight, len(labels))
    if held_out:
        scores = held_out_scores(estimator, X)
    else:
        scores = fold_scores(
            estimator, X, labels, sample_weight, groups=groups, n_folds=n_folds, n_repeats=n_repeats, seed=seed
        )
    return curves_of_scores(scores, labels, weights, label, level)


def positive_label(positive: Any, classes: np.ndarray) -> Any:
    """The label of the positive class: the one that is given, or the second of two; ValueError where there is none."""
    names = classes.tolist()
    if positive is None and len(names) == 2:
        return names[1]
    if positive is None:
        raise ValueError(f"`positive` is needed with {len(names)} classes; choose one of {names}")
    if positive not in names:
        raise ValueError(f"`positive` is {positive!r}; the classes are {names}")
    return positive


# --- scores of rows ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class FoldScores:
    """Log odds of rows by models that have not seen them.

    Fields
    ------
    classes : (c,) labels
    log_odds : (s, n, c) log odds of each class against all others, in each of s repeats
    fold : (s, n) number of the fold of each row; only rows of one fold are comparable
    source : which predictions these are, in words
    """

    classes: np.ndarray
    log_odds: Float[np.ndarray, "s n c"]
    fold: Int[np.ndarray, "s n"]
    source: str


def held_out_scores(estimator: Any, X: Any) -> FoldScores:
    """Log odds of rows that a fitted estimator has not seen: one model, so that all rows are one fold."""
    log_odds = _log_odds(estimator, X)  # (n, c)
    fold = np.zeros((1, len(log_odds)), int)
    return FoldScores(estimator.classes_, log_odds[None], fold, f"{len(log_odds):,} rows that the model has not seen")


def fold_scores(
    estimator: Any,
    X: Any,
    y: np.ndarray,
    sample_weight: Any = None,
    *,
    groups: Any = None,
    n_folds: int = 10,
    n_repeats: int | None = None,
    seed: int | np.random.Generator | None = 0,
) -> FoldScores:
    """Log odds of each row by a clone that is fitted without the fold of the row.

    Parameters
    ----------
    estimator, X, y, sample_weight, groups, n_folds, n_repeats, seed : as in `roc_curves`
    """
    classes, index, n_rows_of_class = np.unique(y, return_inverse=True, return_counts=True)
    if len(classes) < 2 or n_rows_of_class.min() < 2:
        rarest = classes.tolist()[n_rows_of_class.argmin()]
        raise ValueError(f"`y` has {n_rows_of_class.min()} rows of {rarest!r}; each of at least two classes needs two")
    n = len(index)
    folds_of_class = min(n_folds, int(n_rows_of_class.min()))
    if n_repeats is None:
        n_repeats = min(math.ceil(_REPEATED_ROWS / n), _MAX_REPEATS)
    check_least(1, n_repeats=n_repeats)

    ranker = _same_ranking(estimator, len(classes))
    rng = generator(seed)
    log_odds = np.empty((n_repeats, n, len(classes)))
    fold = np.empty((n_repeats, n), int)
    with progress("folds for the ROC curve", total=n_repeats * folds_of_class, unit="fits") as line:
        for repeat in range(n_repeats):
            for number, rows in enumerate(_folds(index, groups, folds_of_class, int(rng.integers(1 << 31)))):
                fold[repeat, rows] = number
                _check_remaining_classes(classes, np.delete(index, rows))
                fitted = _fitted_without(ranker, X, y, sample_weight, rows)
                log_odds[repeat, rows] = _log_odds(fitted, take_rows(X, rows))
                line.advance()
    times = f", repeated {n_repeats} times" if n_repeats > 1 else ""
    return FoldScores(classes, log_odds, fold, f"{folds_of_class} stratified folds{times}, averaged within folds")


def _check_remaining_classes(classes: np.ndarray, index: Int[np.ndarray, " m"]) -> None:
    """ValueError where a class has no row among those that a fold leaves; `index` are their class numbers."""
    is_lost = np.bincount(index, minlength=len(classes)) == 0
    if is_lost.any():
        label = classes.tolist()[int(is_lost.argmax())]
        raise ValueError(f"all rows of {label!r} are in one fold, so that no other rows tell what they are like")


def _same_ranking(estimator: Any, n_classes: int) -> Any:
    """A model that ranks rows as the estimator does and is quicker to fit, or the estimator itself.

    The map of a calibrated model is increasing. Of two classes it therefore ranks rows of one fold as the model inside.
    """
    if n_classes == 2 and hasattr(type(estimator), "calibrated") and isinstance(estimator.estimator, AbstractBayes):
        return estimator.estimator
    return estimator


def _folds(index: np.ndarray, groups: Any, n_folds: int, seed: int) -> Iterator[Int[np.ndarray, " m"]]:
    """Positions of the rows of each fold, which has the same share of each class as far as can be.

    Parameters
    ----------
    index : (n,) class number of each row
    groups : (n,) labels of groups that stay together; None for none
    """
    if groups is None:
        splitter: Any = StratifiedKFold(n_folds, shuffle=True, random_state=seed)
    else:
        splitter = StratifiedGroupKFold(n_folds, shuffle=True, random_state=seed)
    for _, rows in splitter.split(np.zeros((len(index), 1)), index, groups):
        yield rows


def _fitted_without(estimator: Any, X: Any, y: np.ndarray, sample_weight: Any, rows: np.ndarray) -> Any:
    """A clone of the estimator that is fitted to all rows but these; its warnings are those of the fit to all rows."""
    remaining = np.setdiff1d(np.arange(len(y)), rows)
    weights = {} if sample_weight is None else {"sample_weight": np.asarray(sample_weight)[remaining]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return clone(estimator).fit(take_rows(X, remaining), y[remaining], **weights)


def _log_odds(estimator: Any, X: Any) -> Float[np.ndarray, "n c"]:
    """Log odds of each class against all others, in nats.

    They still differ where probabilities round to 1.
    """
    if not hasattr(estimator, "predict_log_proba"):
        return logit(estimator.predict_proba(X))
    return -log_odds_against(estimator.predict_log_proba(X))


# --- curves of scores -------------------------------------------------------------------------------------------------


def curves_of_scores(scores: FoldScores, y: np.ndarray, weights: RowWeights, positive: Any, level: Scalar) -> RocCurves:
    """The curves of one class against all others.

    Parameters
    ----------
    scores : log odds of n rows by models that have not seen them
    y : (n,) labels
    weights : of the rows
    positive : label of the class
    level : posterior mass of the intervals
    """
    is_positive = y == positive
    n_positive = float(weights.values[is_positive].sum())
    n_negative = float(weights.values[~is_positive].sum())
    if n_positive == 0 or n_negative == 0:
        missing = "no row" if n_positive == 0 else "only rows"
        raise ValueError(f"`y` has {missing} of {positive!r}; a ROC curve needs rows of this class and of others")

    # The rows as they are come first, then draws of the Bayesian bootstrap; each draw has a curve and two areas.
    drawn_weights = np.concatenate([weights.values[None], _drawn_weights(weights)])  # (1 + draws, n)
    k = scores.classes.tolist().index(positive)
    placements = _placements(scores.log_odds[..., k], scores.fold, is_positive, drawn_weights)
    prevalence = n_positive / (n_positive + n_negative)
    drawn = _curves_of_placements(placements, prevalence)

    return RocCurves(
        positive=positive,
        n_positive=n_positive,
        n_negative=n_negative,
        roc=_curve_with_band(drawn.sensitivity, level),
        precision_recall=_curve_with_band(drawn.precision, level),
        roc_auc=_area_with_interval(drawn.roc_auc, level),
        average_precision=_area_with_interval(drawn.average_precision, level),
        level=float(level),
        source=scores.source,
    )


def _drawn_weights(weights: RowWeights) -> Float[np.ndarray, "draws n"]:
    """Draws of the weights of the rows, by the Bayesian bootstrap; the draws are the same at every call.

    The weight of a row that counts w times is the sum of w standard exponential numbers, a gamma number of shape w.
    The weight of a row of importance w is w times one such number.
    """
    n = len(weights.values)
    n_draws = max(_LEAST_DRAWS, min(_N_DRAWS, _DRAWN_NUMBERS // n))
    rng = np.random.default_rng(0)
    if weights.are_counts:
        return rng.standard_gamma(weights.values, size=(n_draws, n))
    return weights.values * rng.standard_exponential((n_draws, n))


class _Placements(NamedTuple):
    """Placement values of p positive rows, by each of s sets of weights.

    Fields
    ------
    value : (s, p) weighted share of the negative rows compared with the row that rank above it, ascending
    weight : (s, p) weight of the row, with the sum 1
    """

    value: Float[np.ndarray, "s p"]
    weight: Float[np.ndarray, "s p"]


def _placements(
    log_odds: Float[np.ndarray, "repeats n"],
    fold: Int[np.ndarray, "repeats n"],
    is_positive: Bool[np.ndarray, " n"],
    weights: Float[np.ndarray, "s n"],
) -> _Placements:
    """The placement value of each positive row, over all negative rows that it is compared with.

    Parameters
    ----------
    log_odds, fold : score and fold of each row, in each repeat
    is_positive : whether each row is of the positive class
    weights : sets of weights of the rows
    """
    above = np.zeros((len(weights), len(is_positive)))  # weight of the negative rows above each row
    compared = np.zeros((len(weights), len(is_positive)))  # and of all that it is compared with
    for scores, fold_of_row in zip(log_odds, fold, strict=True):
        for number in np.unique(fold_of_row):
            members = fold_of_row == number
            positives = np.flatnonzero(members & is_positive)
            negatives = np.flatnonzero(members & ~is_positive)
            weights_of_negatives = weights[:, negatives]
            above[:, positives] += _weight_above(scores[positives], scores[negatives], weights_of_negatives)
            compared[:, positives] += weights_of_negatives.sum(1, keepdims=True)

    # left out: positive rows of weight 0, and those that no negative row is compared with, as their folds have none
    is_compared = is_positive & (weights[0] > 0) & (compared > 0).all(0)
    value = np.clip(above[:, is_compared] / compared[:, is_compared], 0, 1)
    weight = weights[:, is_compared]
    order = np.argsort(value, axis=1, kind="stable")
    return _Placements(
        value=np.take_along_axis(value, order, 1),
        weight=np.take_along_axis(weight / weight.sum(1, keepdims=True), order, 1),
    )


def _weight_above(
    positives: Float[np.ndarray, " p"], negatives: Float[np.ndarray, " m"], weights: Float[np.ndarray, "s m"]
) -> Float[np.ndarray, "s p"]:
    """Total weight of the negative rows that score above each positive row; rows of equal score count half.

    Parameters
    ----------
    positives, negatives : scores
    weights : sets of weights of the negative rows
    """
    order = np.argsort(-negatives, kind="stable")  # the highest score first
    descending = -negatives[order]  # ascending, as `searchsorted` needs it
    n_above = np.searchsorted(descending, -positives, "left")  # (p,) negative rows above each positive one
    n_not_below = np.searchsorted(descending, -positives, "right")
    # total weight of the first 0, 1, … m negative rows, (s, m + 1)
    totals = np.concatenate([np.zeros((len(weights), 1)), weights[:, order].cumsum(1)], axis=1)
    return (totals[:, n_above] + totals[:, n_not_below]) / 2


class _DrawnCurves(NamedTuple):
    """Curves and areas for each of s sets of weights; the first set are the weights as they are.

    Fields
    ------
    sensitivity, precision : (s, g) at the points of the grid of false positive rates, or of recalls
    roc_auc, average_precision : (s,)
    """

    sensitivity: Float[np.ndarray, "s g"]
    precision: Float[np.ndarray, "s g"]
    roc_auc: Float[np.ndarray, " s"]
    average_precision: Float[np.ndarray, " s"]


def _curves_of_placements(placements: _Placements, prevalence: float) -> _DrawnCurves:
    """Both curves on the grid, and both areas, from the placement values of the positive rows."""
    recall = placements.weight.cumsum(1)  # (s, p) share of the positive rows up to each of them
    precision = _precision(recall, placements.value, prevalence)
    sensitivity_on_grid = np.empty((len(recall), len(_GRID)))
    precision_on_grid = np.empty((len(recall), len(_GRID)))
    for i, (u, recall_of_draw) in enumerate(zip(placements.value, recall, strict=True)):
        n_found = np.searchsorted(u, _GRID, "right")  # (g,) positive rows with u ≤ t
        sensitivity_on_grid[i] = np.concatenate([[0.0], recall_of_draw])[n_found]
        # the first positive row at which the recall r is reached; rounding may leave the last recall below 1
        first = np.minimum(np.searchsorted(recall_of_draw, _GRID, "left"), len(u) - 1)
        precision_on_grid[i] = _precision(np.maximum(_GRID, recall_of_draw[0]), u[first], prevalence)
    return _DrawnCurves(
        sensitivity=np.minimum(sensitivity_on_grid, 1.0),
        precision=precision_on_grid,
        roc_auc=1 - (placements.weight * placements.value).sum(1),
        average_precision=(placements.weight * precision).sum(1),
    )


def _precision(recall: np.ndarray, placement: np.ndarray, prevalence: float) -> np.ndarray:
    """Share of positives among the rows found, π r / (π r + (1 − π) u), from recall r and false positive rate u."""
    true_positives = prevalence * recall
    return true_positives / (true_positives + (1 - prevalence) * placement)


def _curve_with_band(drawn: Float[np.ndarray, "s g"], level: Scalar) -> Curve:
    """The first of s curves, with the band that holds the others at each point of the grid."""
    low, high = np.quantile(drawn[1:], [(1 - level) / 2, (1 + level) / 2], axis=0)
    return Curve(_GRID, drawn[0], low, high)


def _area_with_interval(drawn: Float[np.ndarray, " s"], level: Scalar) -> Area:
    """The first of s areas, with the interval that holds the others."""
    low, high = np.quantile(drawn[1:], [(1 - level) / 2, (1 + level) / 2])
    return Area(float(drawn[0]), float(low), float(high))
