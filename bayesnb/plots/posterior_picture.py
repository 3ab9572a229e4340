"""MAP against the posterior: for each row, and along one feature."""

import copy
import warnings
from typing import Any

import numpy as np

from ..estimators._suited import check_independent, fitted_copy
from ..numerics.arrays import Float, Scalar
from ..numerics.supports import check_level
from ..posterior.intervals import means_and_intervals
from ._common import (
    PALETTE,
    Drawn,
    class_at,
    column,
    feature_name,
    intervals,
    legend,
    name_axes,
    new_axes,
    numbers_of,
    plain_text,
    rows_with_one_column,
)

_POSTERIOR, _MAP = PALETTE[0], PALETTE[4]  # blue and vermilion of Okabe & Ito
_POINTS = 201  # of a curve
_MOST_ROWS = 100  # more are one solid band


def map_against_posterior(
    estimator: Any,
    X: Any,
    *,
    label: Any = None,
    feature: Any = None,
    level: Scalar = 0.9,
    ax: Drawn | None = None,
) -> Drawn:
    """The MAP's probability of a class against the posterior's: for each row in ascending order, or along one feature.

    Blue is the posterior: for rows the posterior mean of p with its credible interval, along a feature the closed form
    `predict_proba` with a band of intervals. Orange is what the joint mode of the parameters alone says. Where the two
    are far apart, a plug-in estimate hides how little is known. Of more than 100 rows, 100 at even ranks are shown.

    Parameters
    ----------
    estimator : a fitted estimator of one naive Bayes model; its `estimate` is not used
    X : (n, d) rows; with `feature` they set its range
    label : the class, by default the second of two
    feature : name or position of a column of numbers: the curve of p along it, with all other columns missing. None
        shows the rows
    level : posterior mass of the intervals
    ax : Axes to draw on, by default those of a new figure; they are returned

    Raises
    ------
    ValueError
        if `label` is not a class, or is missing with more than two classes; if `feature` is not a column, or holds no
        numbers; if the model needs complete rows, and `feature` is one of several

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from bayesnb import GaussianNB, plots
    >>> X, y = load_iris(return_X_y=True)
    >>> nb = GaussianNB().fit(X[50::8], y[50::8])  # 13 flowers of two species
    >>> ax = plots.map_against_posterior(nb, X[50:])
    >>> ax = plots.map_against_posterior(nb, X[50:], feature=2)
    """
    check_independent(estimator, "a picture of the MAP and the posterior of one model")
    check_level(level)  # ValueError unless between 0 and 1
    estimator = fitted_copy(estimator)  # another thread may fit the original meanwhile
    if label is None and len(estimator.classes_) != 2:
        raise ValueError(f"`label` is needed with more than two classes; choose from {estimator.classes_.tolist()}")
    k = 1 if label is None else class_at(estimator, label)  # number of the class
    j = None if feature is None else column(estimator, feature)  # number of the column

    # without a feature a point for each row, else a curve along the feature
    ax = ax or new_axes()
    if j is None:
        _draw_rows(estimator, X, k, level, ax)
    else:
        _draw_curve(estimator, X, k, j, level, ax)
    ax.set_ylim(-0.02, 1.02)
    return ax


def _draw_rows(estimator: Any, X: Any, k: int, level: Scalar, ax: Drawn) -> None:
    """Draw the probability of class k for each row, in ascending order of the posterior mean.

    The posterior mean has its credible interval, and the probability by the MAP stands beside.

    Parameters
    ----------
    k : number of the class
    level : posterior mass of the intervals
    """
    # `encode` makes arrays of the cells; for each row and class a posterior mean, and the ends of an interval
    posterior = means_and_intervals(estimator.posterior_, estimator.model_.encode(X), level)
    mean = posterior.mean[:, k]  # (n,) of the probability of class k
    ends = posterior.ends[:, k]  # (n, 2) of its interval

    # Of many rows some, at even ranks; rank 0 has the smallest mean. For example, of rows with the means 0.7, 0.2 and
    # 0.5 the positions by mean are 1, 2, 0, and the ranks 0 and 2 are those of row 1 and row 0.
    n = len(mean)
    by_mean = np.argsort(mean, kind="stable")  # (n,) positions of the rows, in ascending order of the mean
    rank = np.linspace(0, n - 1, min(n, _MOST_ROWS)).round().astype(int)
    shown = by_mean[rank]  # positions of the rows with these ranks

    # the posterior as points with intervals, and the MAP as diamonds; ranks are counted from 1 on the axis
    size = float(np.clip(240 / len(shown), 2.5, 4))  # of a mark, in points: the more rows, the smaller
    low, high = ends[shown].T
    style: dict[str, Any] = {"color": _POSTERIOR, "marker": "o", "label": f"mean, {level:.0%} interval"}
    intervals(ax, rank + 1, low, mean[shown], high, upright=True, markersize=size, **style)
    by_map = _map_proba(estimator, X, k)[shown]
    ax.plot(rank + 1, by_map, linestyle="", marker="D", markersize=size, color=_MAP, label="MAP")

    shown_rows = "rows" if n <= _MOST_ROWS else f"{len(shown)} of {n} rows"
    name_axes(ax, f"{shown_rows}, by their posterior mean", f"probability of {plain_text(estimator.classes_[k])}")
    legend(ax, inside=True)


def _draw_curve(estimator: Any, X: Any, k: int, j: int, level: Scalar, ax: Drawn) -> None:
    """Draw the probability of class k along column j, with all other columns missing.

    The curves are the posterior predictive and the MAP, and the band is the credible interval. They cover the range of
    the column in X, and a tenth of it on either side.

    Parameters
    ----------
    k, j : numbers of the class and of the column
    level : posterior mass of the intervals
    """
    cells = numbers_of(estimator, X, j)
    margin = 0.1 * (cells.max() - cells.min())
    grid = np.linspace(cells.min() - margin, cells.max() + margin, _POINTS)

    # a row for each point of the grid, and what the posterior and the posterior predictive say of class k there
    rows = rows_with_one_column(estimator, X, j, grid)
    posterior = means_and_intervals(estimator.posterior_, estimator.model_.encode(rows), level)
    low, high = posterior.ends[:, k].T  # (points,) each
    # the parameters integrated out, whatever the estimator's own setting is
    predictive = copy.copy(estimator).set_params(estimate="predictive").predict_proba(rows)[:, k]

    ax.fill_between(grid, low, high, color=_POSTERIOR, alpha=0.25, linewidth=0, label=f"{level:.0%} credible interval")
    ax.plot(grid, predictive, color=_POSTERIOR, linewidth=2, label="posterior predictive")
    ax.plot(grid, _map_proba(estimator, rows, k), color=_MAP, linewidth=2, linestyle="--", label="MAP")
    name_axes(ax, plain_text(feature_name(estimator, j), 60), f"probability of {plain_text(estimator.classes_[k])}")
    legend(ax, inside=True)


def _map_proba(estimator: Any, rows: Any, k: int) -> Float[np.ndarray, " n"]:
    """Probability of class k for each row by the joint mode of the parameters.

    The warning about a mode on the boundary is not shown: the picture shows the probabilities of 0 and 1 that it makes.
    """
    # the same posterior, of which the prediction plugs in the mode
    nb = copy.copy(estimator).set_params(estimate="map")
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "the posterior mode has parameters on the boundary")
        proba: np.ndarray = nb.predict_proba(rows)
    return proba[:, k]
