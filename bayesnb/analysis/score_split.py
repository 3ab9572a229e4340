"""The Brier score of probabilities, split into miscalibration, discrimination and uncertainty.

With x̂ the isotonic regression of the events on the probabilities, and r the share of events,

    mean score = MCB − DSC + UNC,   MCB = S(p) − S(x̂),   DSC = S(r) − S(x̂),   UNC = S(r)

S is the mean Brier score. MCB is what the best monotone map of these probabilities would gain, on the very
rows that it was fitted to. DSC is what the ordering of the rows gains on the constant r. Both are at least 0.

References
----------
Dimitriadis, Gneiting & Jordan (2021), Stable reliability diagrams for probabilistic classifiers, PNAS 118.
"""

from typing import Any, NamedTuple

import numpy as np
from sklearn.isotonic import isotonic_regression

from ..numerics.arrays import PerRow


class ScoreSplit(NamedTuple):
    """The mean Brier score of probabilities and its parts: score = miscalibration − discrimination + uncertainty."""

    score: float
    miscalibration: float
    discrimination: float
    uncertainty: float


def score_split(event: Any, probability: Any) -> ScoreSplit:
    """The Brier score of the probabilities of an event, and its parts.

    Parameters
    ----------
    event : (n,) whether the event happened
    probability : (n,) its predicted probability, by a model that has not seen the row

    Examples
    --------
    >>> from bayesnb.analysis.score_split import score_split
    >>> split = score_split([0, 1, 0, 1], [0.1, 0.6, 0.6, 0.9])
    >>> [round(part, 3) for part in split]
    [0.135, 0.01, 0.125, 0.25]
    """
    y = np.asarray(event, float)
    p = np.asarray(probability, float)
    # S(p), S(x̂) and S(r) of the split: of the probabilities, of their best monotone map, and of a constant
    score = _brier(p, y)
    best_score = _brier(monotone(y, p), y)  # of the best map of these probabilities that keeps their order
    constant_score = _brier(y.mean(), y)  # of the share of events, for every row
    # miscalibration S(p) − S(x̂), discrimination S(r) − S(x̂), uncertainty S(r)
    return ScoreSplit(score, score - best_score, constant_score - best_score, constant_score)


def _brier(p: Any, y: PerRow) -> float:
    """The mean Brier score (p_i − y_i)² of the probabilities of an event, where y_i is 1 if it happened and else 0.

    `p` is (n,), or one number for all rows.
    """
    return float(np.square(p - y).mean())


def monotone(event: PerRow, probability: PerRow) -> PerRow:
    """The share of events as a non-decreasing function of the probability, at each row, (n,): isotonic regression.

    Rows of the same probability have the same share. Where shares fall as the probability grows, neighbours are
    pooled until they do not (pool adjacent violators). For example, the events 1, 0, 1 at the probabilities 0.2, 0.4
    and 0.9 have falling shares at first, so the shares are ½, ½ and 1.
    """
    # `group` (n,) numbers the different probabilities in ascending order, and `count` has the rows of each
    _, group, count = np.unique(probability, return_inverse=True, return_counts=True)
    share = np.bincount(group, event) / count  # of events, in each group, by increasing probability
    return isotonic_regression(share, sample_weight=count)[group]
