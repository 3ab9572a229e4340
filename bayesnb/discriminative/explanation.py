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
    """What the largest columns of each row add to its log odds, with intervals over draws, as a table of entries.

    The log odds of a row are a sum of terms. Each row has these entries, each a sum of some terms: the class prior, the
    largest columns, pairs of columns, and all other columns. The last entry, averaging, is what remains: the prediction
    averages probabilities, and the log odds of an average are not the average of the log odds.

    Parameters
    ----------
    terms : of the log odds of n rows, (d + 3, n, c): first the d columns, then pairs of columns, all counts, and the
        class prior
    n_listed : how many columns of each row have an entry of their own
    focus : class whose terms say which columns are largest; None takes any
    level : posterior mass of the intervals
    """
    tails = [(1 - level) / 2, (1 + level) / 2]  # of 90 % intervals 0.05 and 0.95
    n_columns = terms.value.shape[0] - 3

    row: list[int] = []
    feature: list[int] = []
    entries: list[_Entry] = []
    for i in range(terms.total.shape[0]):
        # 1. Which terms each entry adds up. Positions from d on are pairs of columns, all counts, the class prior.
        listed = _largest_columns(terms.value[:n_columns, i], n_listed, focus)
        others = [*np.setdiff1d(np.arange(n_columns), listed), n_columns + 1]
        members_of = {PRIOR: [n_columns + 2]}
        members_of |= {j: [j] for j in listed.tolist()}
        members_of |= {PAIRS: [n_columns], OTHERS: others}

        # 2. Their sum by the prediction, and its interval over draws. Entries that are 0 in all draws are left out.
        for name, members in members_of.items():
            entry = _Entry.of(terms.value[members, i], terms.drawn[:, members, i], tails)
            if name in (OTHERS, PAIRS) and not entry.high.any() and not entry.low.any():
                continue
            row.append(i)
            feature.append(name)
            entries.append(entry)

        # 3. What remains. It is not a term of any draw, so that its interval is a point.
        averaging = terms.total[i] - terms.value[:, i].sum(0)  # (c,)
        row.append(i)
        feature.append(AVERAGING)
        entries.append(_Entry(averaging, averaging, averaging, averaging))

    # 4. All entries as arrays (entries, c), and the log odds themselves with their intervals.
    value, mean, low, high = np.array(entries).swapaxes(0, 1)
    drawn_total = terms.drawn.sum(1)  # of each draw, (s, n, c)
    total_low, total_high = np.quantile(drawn_total, tails, axis=0)
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
