"""A map without the row that it predicts: draws of its posterior, weighted.

The posterior of a map given the other rows is that given all rows, divided by the likelihood of what leaves:

    p(θ | D₋ᵢ) ∝ p(θ | D) / Π_j p'(y_j | z_j, θ)^{w_j}    over the rows j that leave with row i, row i among them

so that a mean over it is a weighted mean of draws given all rows. With one row of weight 1 the probability of its own
label is the harmonic mean of its probabilities at the draws. No weight is above √s times the mean of s weights.

What stays as it was: the log probabilities z of the other rows, which row i has part in, and the class frequencies.

References
----------
Gelfand, Dey & Chang (1992), Model determination using predictive distributions, Bayesian Statistics 4: eq. (9).
Ionides (2008), Truncated importance sampling, J. Comput. Graph. Statist. 17.
"""

from typing import NamedTuple

import numpy as np

from ..numerics.arrays import Float, Int, PerRow, Table
from .base import DrawnMap, average, drawn_maps, floored
from .map import CalibrationMap


class LeavingRows(NamedTuple):
    """Rows, and what leaves the map when each of them is predicted.

    Fields
    ------
    z : (n, c) log probabilities of the rows by a model that has not seen them
    label : (n,) class of each row
    weight : (n,) weight of the row in the log likelihood of the map that leaves with it; 0 if the map never had it
    group : (n,) rows that leave together share a number 0 … g−1; None where each row leaves alone
    """

    z: Table
    label: Int[np.ndarray, " n"]
    weight: PerRow
    group: Int[np.ndarray, " n"] | None


def average_without_rows(maps: tuple[CalibrationMap, ...], rows: LeavingRows) -> Table:
    """Calibrated probabilities (n, c) of rows, each by the posterior of the maps without what leaves with it.

    Importance sampling: the posterior of the parameters θ without some rows is that with them, divided by the
    likelihood of these rows. So a mean over it is a mean over the draws of θ, each with the weight 1 / likelihood.

    Parameters
    ----------
    maps : fitted models of the map, each with draws of its parameters
    rows : log probabilities, class and weight of each row, and which rows leave together
    """
    # Rows that no map was fitted to have no weight: they are predicted by the posterior as it is.
    proba = average(maps, rows.z)
    in_map = np.flatnonzero(rows.weight > 0)
    if len(in_map) == 0:
        return proba

    # The others by a mean over the draws, weighted for each row by 1 / likelihood of what leaves with it.
    chosen = LeavingRows(
        z=floored(rows.z[in_map]),
        label=rows.label[in_map],
        weight=rows.weight[in_map],
        group=None if rows.group is None else rows.group[in_map],
    )
    drawn = drawn_maps(maps)  # each map with each of its draws, s in all
    share = _shares(_log_likelihood_of_leaving(drawn, chosen))  # (s, rows)
    without_row = np.zeros_like(chosen.z)
    for drawn_map, share_in_row in zip(drawn, share, strict=True):
        without_row += share_in_row[:, None] * drawn_map.proba(chosen.z)
    proba[in_map] = without_row
    return proba


def _log_likelihood_of_leaving(drawn: list[DrawnMap], rows: LeavingRows) -> Float[np.ndarray, "s n"]:
    """Σ_j w_j log p'(y_j | z_j, θ_s) over the rows j that leave with row i, for each draw s.

    Parameters
    ----------
    drawn : s maps, each with one draw of its parameters
    rows : log probabilities z, class y and weight w of n rows; rows with the same group leave together
    """
    total = np.empty((len(drawn), len(rows.label)))
    every_row = np.arange(len(rows.label))
    for s, drawn_map in enumerate(drawn):
        of_label = drawn_map.proba(rows.z)[every_row, rows.label]  # p'(y_j), (n,)
        log_likelihood = rows.weight * np.log(of_label)
        # each row gets the sum of its group: terms 1, 5, 2 of the groups 0 1 0 have the sums 3 5, and by row 3 5 3
        if rows.group is not None:
            log_likelihood = np.bincount(rows.group, log_likelihood)[rows.group]
        total[s] = log_likelihood
    return total


def _shares(log_likelihood: Float[np.ndarray, "s n"]) -> Float[np.ndarray, "s n"]:
    """The weights 1 / likelihood of the draws, none above √s times their mean; they add up to 1 for each row.

    Cutting the largest weights keeps the variance of the weighted mean finite (truncated importance sampling).
    """
    weight = np.exp(log_likelihood.min(0) - log_likelihood)  # 1 at most: a factor of a row does not change its shares
    weight = np.minimum(weight, np.sqrt(len(weight)) * weight.mean(0))
    return weight / weight.sum(0)
