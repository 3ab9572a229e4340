"""The split of a check's rows in two halves, and what predictions of the held-out half are worth."""

from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split
from sklearn.utils import _safe_indexing

from ..core.arrays import is_sparse
from ..core.special import log_normalize
from ..naive_bayes import NaiveBayes, Rows
from .intervals import intervals
from .points import log_probability_draws
from .report import CheckRow, Differences, Interval, Quality

INTERVALS = 0.02  # what the ends may be off on average: see `predict_interval`
N_DRAWN = 400  # of the predictive by draws
_DRAWS = 2_000


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
    confidence, right = np.exp(log_p.max(1)), log_p.argmax(1) == truth
    bins = np.minimum((confidence * 10).astype(int), 9)
    gaps = [abs((confidence[bins == b] - right[bins == b]).sum()) for b in range(10)]
    losses = -log_p[np.arange(len(truth)), truth]
    return Quality(name, features, float(right.mean()), float(losses.mean()), float(sum(gaps) / len(truth)))


def intervals_row(posterior: NaiveBayes, rows: Rows, level: float, rng: np.random.Generator) -> CheckRow:
    """Row 13: the ends of the credible intervals against quantiles of exact draws, on average over rows and classes."""
    got = intervals(posterior, rows, level, "auto", None, 0)
    tails = [(1 - level) / 2, (1 + level) / 2]
    parts = log_probability_draws(posterior, rows, _DRAWS, int(rng.integers(1 << 31)))
    want = np.concatenate([np.moveaxis(np.quantile(np.exp(log_p), tails, -1), 0, -1) for _, log_p in parts])
    figure = float(abs(got - want).mean())
    reason = f"moments are exact, their shape is not; {_DRAWS:,} draws leave some 0.003"
    remark = f"mean distance of {want.size} ends from those of draws; largest {float(abs(got - want).max()):.3f}"
    says = "The intervals of class probabilities agree with those of exact draws."
    return CheckRow.within("13 Intervals", says, figure, INTERVALS, "probability", reason, remark)


def drawn_predictive(
    posterior: NaiveBayes, rows: Rows, top: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """log E p(x, y | θ) by exact draws of θ, (n, c), and the probability of the class `top` of each row, (s, n)."""
    total: Any = -np.inf
    draws = []
    for _ in range(N_DRAWN):
        table = posterior.log_joint(rows, posterior.sample(rng))
        total = np.logaddexp(total, table)
        draws.append(np.exp(log_normalize(table))[np.arange(len(top)), top])
    return total - np.log(N_DRAWN), np.array(draws)


def differences(joint: np.ndarray, other: np.ndarray) -> Differences:
    """How two joint tables of the same rows, (n, c), differ in what they predict."""
    apart = abs(np.exp(log_normalize(joint)) - np.exp(log_normalize(other)))
    changed = int((joint.argmax(1) != other.argmax(1)).sum())
    return Differences(float(apart.mean()), float(apart.max()), changed, len(joint))


def widest_of_draws(
    classes: np.ndarray, truth: np.ndarray, positions: np.ndarray, p: np.ndarray, draws: np.ndarray, level: float
) -> tuple[Interval, ...]:
    """The five least certain predictions p (n, c), and draws (s, n) of the probability of the predicted class."""
    low, high = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2], axis=0)
    top, mean = p.argmax(1), draws.mean(0)
    labels = [str(label) for label in classes]
    found = []
    for i in np.argsort(p.max(1), kind="stable")[:5]:
        figures = map(float, (p[i, top[i]], low[i], high[i], mean[i]))
        found.append(Interval(int(positions[i]), labels[top[i]], labels[truth[i]], *figures))
    return tuple(found)
