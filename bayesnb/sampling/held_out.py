"""The split of a check's rows in two halves, and what predictions of the held-out half are worth."""

from typing import Any

import jax
import numpy as np
from scipy import sparse
from scipy.special import logsumexp
from sklearn.model_selection import train_test_split
from sklearn.utils import _safe_indexing

from ..core.special import log_normalize
from ..naive_bayes import NaiveBayes, Rows
from .report import Interval, Quality


def split_halves(y: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Positions of two halves, with the same share of each class where every class has two rows."""
    _, counts = np.unique(y, return_counts=True)
    even = counts.min() >= 2 and len(counts) <= len(y) // 2
    return tuple(train_test_split(np.arange(len(y)), test_size=0.5, random_state=seed, stratify=y if even else None))


def take_rows(X: Any, index: np.ndarray) -> Any:
    """Rows of an array, sparse matrix, list or data frame."""
    return _safe_indexing(X.tocsr() if sparse.issparse(X) else X, index)


def average_joint(model: NaiveBayes, rows: Rows, draws: Any) -> np.ndarray:
    """log of the joint averaged over draws, (n, c)."""
    size = len(draws["class"]["log_pi"])
    table = np.full((1, 1), -np.inf)
    for at in range(0, size, 256):  # some draws at a time: (draws, n, c) is large
        some = jax.tree.map(lambda leaf, at=at: leaf[at : at + 256], draws)
        table = np.logaddexp(table, logsumexp(model.log_joint(rows, some), axis=0))
    return table - np.log(size)


def quality(name: str, features: int, joint: np.ndarray, truth: np.ndarray) -> Quality:
    """Accuracy, log loss and calibration error in ten bins of a joint table, (n, c)."""
    log_p = log_normalize(joint)
    confidence, right = np.exp(log_p.max(1)), log_p.argmax(1) == truth
    bins = np.minimum((confidence * 10).astype(int), 9)
    gaps = [abs((confidence[bins == b] - right[bins == b]).sum()) for b in range(10)]
    losses = -log_p[np.arange(len(truth)), truth]
    return Quality(name, features, float(right.mean()), float(losses.mean()), float(sum(gaps) / len(truth)))


def widest_intervals(
    fitted: Any, rows: Rows, truth: np.ndarray, positions: np.ndarray, rng: np.random.Generator, level: float
) -> tuple[Interval, ...]:
    """The five held-out rows whose most probable class has the widest credible interval."""
    p = np.exp(log_normalize(fitted.posterior_.log_joint(rows)))
    top = p.argmax(1)
    draws = []
    for _ in range(400):
        table = fitted.posterior_.log_joint(rows, fitted.posterior_.sample(rng))
        draws.append(np.exp(log_normalize(table))[np.arange(len(top)), top])
    low, high = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2], axis=0)
    mean = np.mean(draws, axis=0)
    order = np.argsort(low - high, kind="stable")[:5]
    labels = [str(label) for label in fitted.classes_]
    return tuple(
        Interval(
            int(positions[i]),
            labels[top[i]],
            labels[truth[i]],
            float(p[i, top[i]]),
            float(low[i]),
            float(high[i]),
            float(mean[i]),
        )
        for i in order
    )
