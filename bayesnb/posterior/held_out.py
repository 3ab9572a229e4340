"""The split of a check's rows in two halves, and how well ways to predict do on the held-out half."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing

from ..numerics.arrays import is_sparse
from ..numerics.special import log_normalize
from ..numerics.weights import row_weights

_MAX_COUNTED_ROWS = 1_000_000  # rows that a check makes of weights that count rows


@dataclass(frozen=True)
class Quality:
    """How well a way to predict does on the held-out rows, after so many rows and features were fitted."""

    name: str
    rows: int
    features: int
    accuracy: float
    log_loss: float  # nats a row
    calibration_error: float  # mean |confidence − accuracy| over ten bins of confidence, weighted by their rows


@dataclass(frozen=True)
class Differences:
    """How the class probabilities of two ways to predict differ, over held-out rows and classes."""

    mean: float
    largest: float
    labels: int  # rows whose most probable class is another
    rows: int


def counted_rows(X: Any, y: np.ndarray, sample_weight: Any) -> tuple[Any, np.ndarray]:
    """Rows and labels, each as often as its weight counts it; without weights, as they are.

    Parameters
    ----------
    X, y : rows, as an array, sparse matrix, list or data frame, and their labels
    sample_weight : (n,) of an integer type, which counts rows; None for none

    Raises
    ------
    ValueError
        if the weights are importance: NumPyro's model, which the check compares with, has rows and no weights. Also if
        they count more than a million rows
    """
    if sample_weight is None:
        return X, y
    weights = row_weights(sample_weight, len(y))
    if not weights.are_counts:
        raise ValueError(
            "`sample_weight` has a float type, so its weights are importance, but the check compares with a NumPyro "
            "model in which each row occurs once. If they count rows, give `sample_weight.astype(int)`; if they are "
            "importance, leave them out: the formulas are the same"
        )
    if weights.total > _MAX_COUNTED_ROWS:
        raise ValueError(
            f"`sample_weight` counts {int(weights.total):,} rows, but the check takes at most {_MAX_COUNTED_ROWS:,}; "
            "give it a sample of them"
        )
    rows = np.repeat(np.arange(len(y)), weights.values.astype(int))  # positions
    return take_rows(X, rows), y[rows]


def split_halves(y: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Positions of two halves of the rows, at random; with the same share of each class in both where that can be.

    It can where every class has two rows, and a half has room for a row of every class.

    Parameters
    ----------
    y : (n,) labels
    """
    from sklearn.model_selection import train_test_split  # which imports all metrics of scikit-learn

    _, counts = np.unique(y, return_counts=True)  # rows of each class
    can_stratify = counts.min() >= 2 and len(counts) <= len(y) // 2
    strata = y if can_stratify else None
    positions = np.arange(len(y))
    return tuple(train_test_split(positions, test_size=0.5, random_state=seed, stratify=strata))


def take_rows(X: Any, index: np.ndarray) -> Any:
    """Rows, at positions `index`, of an array, sparse matrix, list or data frame, as the same type."""
    return _safe_indexing(X.tocsr() if is_sparse(X) else X, index)


def column_of(X: Any, j: int) -> np.ndarray:
    """Column j of an array, sparse matrix or data frame, (n,)."""
    if is_sparse(X):
        return X.tocsc()[:, [j]].toarray().ravel()
    return np.asarray(_safe_indexing(X, j, axis=1))


def quality(name: str, rows: int, features: int, joint: np.ndarray, truth: np.ndarray) -> Quality:
    """How well a way to predict does: its accuracy, log loss in nats, and calibration error.

    The calibration error is that of the most probable label: in ten bins of its probability, the mean difference
    between this confidence and the accuracy, weighted by the rows of each bin.

    Parameters
    ----------
    name, rows, features : of the way to predict, of the fit, and its number of features, as the report shows them
    joint : (n, c) log p(x_i, y = c), up to a term of the row
    truth : (n,) class of each row, 0 … c − 1
    """
    log_p = log_normalize(joint)  # log class probabilities, (n, c)
    confidence = np.exp(log_p.max(1))  # (n,) probability of the most probable label
    is_right = log_p.argmax(1) == truth  # (n,)

    # the bin 0 … 9 of each row; a confidence of 1 belongs to the last one
    bins = np.minimum((confidence * 10).astype(int), 9)

    # Σ (confidence − is_right) over the rows of each bin: the difference of mean confidence and accuracy there, times
    # the number of rows, which is the weight of the bin
    excess = np.bincount(bins, confidence - is_right)
    calibration_error = abs(excess).sum() / len(truth)

    log_loss = -log_p[np.arange(len(truth)), truth].mean()
    return Quality(
        name=name,
        rows=rows,
        features=features,
        accuracy=float(is_right.mean()),
        log_loss=float(log_loss),
        calibration_error=float(calibration_error),
    )


def differences(joint: np.ndarray, other: np.ndarray) -> Differences:
    """How two ways to predict differ on the same rows: in class probabilities, and in the most probable label.

    Parameters
    ----------
    joint, other : (n, c) log p(x_i, y = c) of both, up to a term of the row
    """
    difference = abs(np.exp(log_normalize(joint)) - np.exp(log_normalize(other)))  # of probabilities
    n_changed = int((joint.argmax(1) != other.argmax(1)).sum())
    return Differences(
        mean=float(difference.mean()), largest=float(difference.max()), labels=n_changed, rows=len(joint)
    )
