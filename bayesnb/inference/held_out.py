"""The split of a check's rows in two halves, and how well ways to predict do on the held-out half."""

from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split
from sklearn.utils import _safe_indexing

from ..core.arrays import is_sparse
from ..core.special import log_normalize
from ..core.weights import row_weights
from .report import Differences, Quality

_MAX_COUNTED_ROWS = 1_000_000  # rows that a check makes of weights that count rows


def counted_rows(X: Any, y: np.ndarray, sample_weight: Any) -> tuple[Any, np.ndarray]:
    """Rows and labels, each as often as its weight counts it.

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
    rows = np.repeat(np.arange(len(y)), weights.values.astype(int))
    return take_rows(X, rows), y[rows]


def split_halves(y: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Positions of two halves, with the same share of each class where every class has two rows."""
    _, counts = np.unique(y, return_counts=True)
    even = counts.min() >= 2 and len(counts) <= len(y) // 2
    return tuple(train_test_split(np.arange(len(y)), test_size=0.5, random_state=seed, stratify=y if even else None))


def take_rows(X: Any, index: np.ndarray) -> Any:
    """Rows of an array, sparse matrix, list or data frame."""
    return _safe_indexing(X.tocsr() if is_sparse(X) else X, index)


def column_of(X: Any, j: int) -> np.ndarray:
    """A column of an array, sparse matrix or data frame, (n,)."""
    return X.tocsc()[:, [j]].toarray().ravel() if is_sparse(X) else np.asarray(_safe_indexing(X, j, axis=1))


def quality(name: str, rows: int, features: int, joint: np.ndarray, truth: np.ndarray) -> Quality:
    """Accuracy, log loss and calibration error in ten bins of a joint table, (n, c), after so many rows were fitted."""
    log_p = log_normalize(joint)
    confidence = np.exp(log_p.max(1))
    is_right = log_p.argmax(1) == truth
    bins = np.minimum((confidence * 10).astype(int), 9)
    calibration_error = abs(np.bincount(bins, confidence - is_right)).sum() / len(truth)
    log_loss = -log_p[np.arange(len(truth)), truth].mean()
    return Quality(name, rows, features, float(is_right.mean()), float(log_loss), float(calibration_error))


def differences(joint: np.ndarray, other: np.ndarray) -> Differences:
    """How two joint tables of the same rows, (n, c), differ in what they predict."""
    difference = abs(np.exp(log_normalize(joint)) - np.exp(log_normalize(other)))
    n_changed = int((joint.argmax(1) != other.argmax(1)).sum())
    return Differences(float(difference.mean()), float(difference.max()), n_changed, len(joint))
