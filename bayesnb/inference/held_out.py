"""The split of a check's rows in two halves, and how well ways to predict do on the held-out half."""

from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split
from sklearn.utils import _safe_indexing

from ..core.arrays import is_sparse
from ..core.special import log_normalize
from .report import Differences, Quality


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


def quality(name: str, features: int, joint: np.ndarray, truth: np.ndarray) -> Quality:
    """Accuracy, log loss and calibration error in ten bins of a joint table, (n, c)."""
    log_p = log_normalize(joint)
    confidence = np.exp(log_p.max(1))
    is_right = log_p.argmax(1) == truth
    bins = np.minimum((confidence * 10).astype(int), 9)
    calibration_error = abs(np.bincount(bins, confidence - is_right)).sum() / len(truth)
    log_loss = -log_p[np.arange(len(truth)), truth].mean()
    return Quality(name, features, float(is_right.mean()), float(log_loss), float(calibration_error))


def differences(joint: np.ndarray, other: np.ndarray) -> Differences:
    """How two joint tables of the same rows, (n, c), differ in what they predict."""
    difference = abs(np.exp(log_normalize(joint)) - np.exp(log_normalize(other)))
    n_changed = int((joint.argmax(1) != other.argmax(1)).sum())
    return Differences(float(difference.mean()), float(difference.max()), n_changed, len(joint))
