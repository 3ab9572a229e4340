"""What each column adds to the log odds under a discriminative model, from draws of its weights and densities.

    log odds of draw s = Σ_k term_k of draw s        k: the columns of X, pairs of columns, all counts, the class prior

A term is linear in the log densities of its column, so that the mean of the terms over the draws adds up to the mean of
the log odds.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..numerics.arrays import Float, Int, Scalar
from ..posterior.explanation import AVERAGING, OTHERS, PAIRS, PRIOR, Contributions


class Terms(NamedTuple):
    """Terms of the log odds of n rows, or of log p.

    They are of the d columns of X, of pairs of columns, of all counts, and of the class prior.

    Fields
    ------
    value : (d + 3, n, c) by the prediction; they add up to its log odds, but for the averaging
    drawn : (s, d + 3, n, c) by each draw
    total : (n, c) log odds of the prediction
    """

    value: Float[np.ndarray, "k n c"]
    drawn: Float[np.ndarray, "s k n c"]
    total: Float[np.ndarray, "n c"]

    def of_row(self, i: int) -> "Terms":
        """The terms of one row; n is 1."""
        return Terms(self.value[:, [i]], self.drawn[:, :, [i]], self.total[[i]])

    def in_odds(self, odds: Callable[[np.ndarray], np.ndarray]) -> "Terms":
        """The terms of log odds from those of log p: `odds` is linear, and so can be applied term by term."""
        return Terms(odds(self.value), odds(self.drawn), odds(self.total))


def contributions_of(terms: Terms, n_listed: int, focus: int | None, level: Scalar) -> Contributions:
    """The terms of each row as entries: the class prior, the largest columns, pairs of columns, all others, averaging.

    Averaging is what the log odds of an average of probabilities have beyond the average of the log odds. It is not a
    term of any draw, and so has no interval.

    Parameters
    ----------
    terms : of the log odds
    n_listed : columns that are listed of each row; the others share one entry
    focus : class whose terms say which are largest; None takes any
    level : posterior mass of the intervals
    """
    tails = [(1 - level) / 2, (1 + level) / 2]
    n_columns = terms.value.shape[0] - 3
    drawn_total = terms.drawn.sum(1)  # (s, n, c)
    total_low, total_high = np.quantile(drawn_total, tails, axis=0)

    row: list[int] = []
    feature: list[int] = []
    entries: list[_Entry] = []
    for i in range(terms.total.shape[0]):
        listed = _largest_columns(terms.value[:n_columns, i], n_listed, focus)
        others = [*np.setdiff1d(np.arange(n_columns), listed), n_columns + 1]
        members_of = {PRIOR: [n_columns + 2], **{j: [j] for j in listed.tolist()}, PAIRS: [n_columns], OTHERS: others}
        for name, members in members_of.items():
            entry = _Entry.of(terms.value[members, i], terms.drawn[:, members, i], tails)
            if name in (OTHERS, PAIRS) and not entry.high.any() and not entry.low.any():  # there are none
                continue
            row.append(i)
            feature.append(name)
            entries.append(entry)
        averaging = terms.total[i] - terms.value[:, i].sum(0)
        row.append(i)
        feature.append(AVERAGING)
        entries.append(_Entry(averaging, averaging, averaging, averaging))

    value, mean, low, high = np.array(entries).swapaxes(0, 1)  # (t, c) each
    return Contributions(
        row=np.array(row),
        feature=np.array(feature),
        value=value,
        mean=mean,
        low=low,
        high=high,
        total=terms.total,
        total_mean=drawn_total.mean(0),
        total_low=total_low,
        total_high=total_high,
    )


class _Entry(NamedTuple):
    """What some terms of one row add together to the log odds of each class, (c,) each.

    Fields
    ------
    value : by the prediction
    mean, low, high : over the draws, with the ends of the interval
    """

    value: Float[np.ndarray, " c"]
    mean: Float[np.ndarray, " c"]
    low: Float[np.ndarray, " c"]
    high: Float[np.ndarray, " c"]

    @classmethod
    def of(cls, value: Float[np.ndarray, "k c"], drawn: Float[np.ndarray, "s k c"], tails: list[float]) -> "_Entry":
        """The sum of k terms, by the prediction and over s draws."""
        drawn_sum = drawn.sum(1)
        low, high = np.quantile(drawn_sum, tails, axis=0)
        return cls(value.sum(0), drawn_sum.mean(0), low, high)


def _largest_columns(value: Float[np.ndarray, "d c"], n_listed: int, focus: int | None) -> Int[np.ndarray, " k"]:
    """Positions of the columns of one row with the largest terms, the largest first; equal ones in their order."""
    size = abs(value).max(1) if focus is None else abs(value[:, focus])
    return np.argsort(-size, kind="stable")[:n_listed]
