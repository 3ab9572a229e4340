"""Predictions: class probabilities with their intervals, and the regions of two features."""

from copy import copy
from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_is_fitted

from ..core.arrays import Scalar
from ..core.supports import check_choice, check_least
from ._common import (
    Drawn,
    class_index,
    colour,
    feature_name,
    given_or_new,
    ink,
    intervals,
    legend_beside,
    marker,
    plain_text,
)

_SHADES = ("total", "aleatoric", "epistemic")


def class_probabilities(
    estimator: Any, X: Any, y: Any = None, *, label: Any = None, level: Scalar = 0.9, ax: Drawn | None = None
) -> Drawn:
    """Probability of one class for each row, in ascending order, with credible intervals.

    The points are `predict_proba` under the current `estimate`. The intervals are those of `predict_interval`, over the
    posterior of the parameters. A point may therefore lie outside its interval.

    Parameters
    ----------
    estimator : a fitted estimator
    X : (n, d) rows
    y : (n,) true labels, shown by marker and colour
    label : the class, by default the second of two
    level : posterior mass inside, between 0 and 1

    Raises
    ------
    ValueError
        if `label` is not a class, or is missing with more than two classes; if X and y differ in length; or if `level`
        is out of range

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from bayesnb import GaussianNB, plots
    >>> X, y = load_iris(return_X_y=True)
    >>> nb = GaussianNB().fit(X, y)
    >>> ax = plots.class_probabilities(nb, X[50:80], y[50:80], label=1)
    """
    check_is_fitted(estimator)
    estimator = copy(estimator)  # one state, whatever another thread fits meanwhile
    if label is None and len(estimator.classes_) != 2:
        raise ValueError(f"`label` is needed with more than two classes; choose from {estimator.classes_.tolist()}")
    k = 1 if label is None else class_index(estimator, label, "label")
    p = estimator.predict_proba(X)[:, k]
    low, high = estimator.predict_interval(X, level)[:, k].T
    truth = _truth(estimator, y, len(p))
    order = np.argsort(p, kind="stable")
    p, low, high, truth = p[order], low[order], high[order], truth[order]
    ax, rank = given_or_new(ax), np.arange(1, len(p) + 1)
    size = float(np.clip(240 / len(p), 1.5, 4))
    for c in np.unique(truth).tolist():
        own = truth == c
        style, name = _class_style(estimator, c, ax)
        intervals(ax, rank[own], low[own], p[own], high[own], upright=True, markersize=size, label=name, **style)
    ax.set(ylim=(-0.02, 1.02), xlabel="rows in the order of their probability")
    ax.set_ylabel(f"probability of {plain_text(estimator.classes_[k])}, {level:.0%} interval")
    if y is not None:
        legend_beside(ax, title="true class")
    return ax


def decision_regions(
    estimator: Any,
    X: Any,
    y: Any = None,
    *,
    shade: str = "total",
    n_draws: int = 30,
    points: int = 120,
    seed: int | np.random.Generator | None = 0,
    ax: Drawn | None = None,
) -> Drawn:
    """Regions in which an estimator of two features predicts each class, with their uncertainty.

    The colour shows the predicted class. It is paler if the entropy of `uncertainty` is larger, up to log c nats. At a
    boundary two classes share the largest probability. The thick line is the boundary of the prediction. The thin lines
    are boundaries at posterior draws of the parameters.

    Parameters
    ----------
    estimator : an estimator fitted to two features
    X : (n, 2) rows, which set the limits of the axes
    y : (n,) true labels, shown by marker and colour
    shade : the entropy that is shown: "total", "aleatoric" or "epistemic"
    n_draws : number of drawn boundaries, 0 for none
    points : number of grid points in each direction
    seed : seed of the draws

    Raises
    ------
    ValueError
        if the estimator does not have two features, if X is not finite, or if a setting is out of range

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from bayesnb import GaussianNB, plots
    >>> X, y = load_iris(return_X_y=True)
    >>> nb = GaussianNB().fit(X[:, :2], y)
    >>> ax = plots.decision_regions(nb, X[:, :2], y, n_draws=10, points=20)
    """
    check_is_fitted(estimator)
    estimator = copy(estimator)  # one state, whatever another thread fits meanwhile
    if estimator.n_features_in_ != 2:
        raise ValueError(
            f"`estimator` has {estimator.n_features_in_} features; regions need an estimator that is fitted to two"
        )
    check_choice("shade", shade, _SHADES)
    check_least(0, n_draws=n_draws)
    check_least(2, points=points)
    cells = np.asarray(X, float)
    if cells.ndim != 2 or cells.shape[1] != 2 or not len(cells) or np.isnan(cells).all(0).any():
        raise ValueError(f"`X` has shape {cells.shape}; it needs two columns that hold numbers")
    truth = _truth(estimator, y, len(cells))
    low, high = np.nanmin(cells, 0), np.nanmax(cells, 0)
    margin = 0.08 * np.where(high > low, high - low, 1)
    across, up = np.linspace(low - margin, high + margin, points).T
    grid = _like(estimator, np.stack(np.meshgrid(across, up), -1).reshape(-1, 2))

    proba, c = estimator.predict_proba(grid), len(estimator.classes_)
    sure = 1 - getattr(estimator.uncertainty(grid, seed=0), shade) / max(np.log(c), np.finfo(float).tiny)
    ax = given_or_new(ax)
    image = _blended(ax, proba.argmax(1), sure).reshape(points, points, 3)
    sides = across[0], across[-1], up[0], up[-1]
    ax.imshow(image, extent=sides, origin="lower", aspect="auto", interpolation="bilinear", zorder=0)
    if n_draws:
        for draw in estimator.sample_proba(grid, n_draws, seed):
            _boundary(ax, across, up, draw, linewidths=0.5, alpha=0.25)
    _boundary(ax, across, up, proba, linewidths=2)
    for k in np.unique(truth).tolist():
        own = truth == k
        style, name = _class_style(estimator, k, ax)
        ax.scatter(cells[own, 0], cells[own, 1], 16, edgecolors="white", linewidths=0.4, label=name, zorder=3, **style)
    names = {f"{axis}label": plain_text(feature_name(estimator, j)) for j, axis in enumerate("xy")}
    ax.set(xlim=across[[0, -1]], ylim=up[[0, -1]], **names)
    if y is not None:
        handles = [*ax.get_legend_handles_labels()[0], _named_line(ax, "boundary", linewidth=2)]
        if n_draws:
            handles.append(_named_line(ax, "boundaries of\nposterior draws", linewidth=0.5))
        legend_beside(ax, handles=handles, last=1 + bool(n_draws))
    return ax


def _named_line(ax: Drawn, label: str, **style: Any) -> Any:
    """A line for the legend alone: contours have no entry there."""
    from matplotlib.lines import Line2D

    return Line2D([], [], color=ink(ax), label=label, **style)


def _truth(estimator: Any, y: Any, n: int) -> np.ndarray:
    """Class index of every row, −1 where no labels are given."""
    if y is None:
        return np.full(n, -1)
    labels = np.asarray(y)
    if labels.shape != (n,):
        raise ValueError(f"`y` has shape {labels.shape}; `X` has {n} rows, and each needs one label")
    return estimator.class_index(labels)


def _class_style(estimator: Any, k: int, ax: Drawn) -> tuple[dict[str, Any], Any]:
    """Marker and name of a class; of rows without labels, −1, a marker alone."""
    return ({"color": ink(ax), "marker": "o"}, None) if k < 0 else (marker(k), plain_text(estimator.classes_[k]))


def _like(estimator: Any, grid: np.ndarray) -> Any:
    """Rows under the names that the estimator knows its features by."""
    names = getattr(estimator, "feature_names_in_", None)
    return grid if names is None else pd.DataFrame(grid, columns=names)


def _blended(ax: Drawn, k: np.ndarray, sure: np.ndarray) -> np.ndarray:
    """Colours (n, 3) between that of the Axes, where nothing is sure, and that of the class."""
    from matplotlib.colors import to_rgb

    classes = np.array([to_rgb(colour(c)) for c in range(k.max() + 1)])
    share = 0.1 + 0.5 * np.clip(sure, 0, 1)[:, None]
    return share * classes[k] + (1 - share) * np.array(to_rgb(ax.get_facecolor()))


def _boundary(ax: Drawn, across: np.ndarray, up: np.ndarray, p: np.ndarray, **style: Any) -> None:
    """Where a class draws level with the largest of the others."""
    for k in range(p.shape[1] - (p.shape[1] == 2)):  # two classes have one boundary
        lead = p[:, k] - np.delete(p, k, 1).max(1)
        if lead.min() < 0 < lead.max():
            ax.contour(across, up, lead.reshape(len(up), -1), [0], colors=[ink(ax)], **style)
