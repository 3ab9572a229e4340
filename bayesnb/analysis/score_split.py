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

from ..core.arrays import PerRow


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
    y, p = np.asarray(event, float), np.asarray(probability, float)

    def mean(x: Any) -> float:
        return float(np.square(x - y).mean())

    best, total, none = mean(monotone(y, p)), mean(p), mean(y.mean())
    return ScoreSplit(total, total - best, none - best, none)


def monotone(event: PerRow, probability: PerRow) -> PerRow:
    """The share of events as a non-decreasing function of the probability, at each row: pool adjacent violators."""
    _, place, count = np.unique(probability, return_inverse=True, return_counts=True)
    return isotonic_regression(np.bincount(place, event) / count, sample_weight=count)[place]
