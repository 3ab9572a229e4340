"""Contributions of features: the evidence in one row, and the weights of a linear discriminant."""

from typing import Any

import numpy as np
from scipy import sparse

from ..analysis.importance import named
from ..core.arrays import Scalar
from ..core.supports import check_least, check_level
from ..inference.explanation import OTHERS, PRIOR
from ._common import (
    Drawn,
    class_index,
    colour,
    feature_name,
    given_or_new,
    ink,
    intervals,
    legend_beside,
    list_down,
    marker,
    plain_text,
)

_GREY = "#8a8a8a"  # on white and on black


def nomogram(
    estimator: Any,
    x: Any,
    *,
    label: Any = None,
    against: Any = None,
    n: int = 12,
    level: Scalar = 0.9,
    n_draws: int = 1000,
    seed: int | np.random.Generator | None = 0,
    feature_names: Any = None,
    ax: Drawn | None = None,
) -> Drawn:
    """What each feature of one row adds to the log odds of a class, with its posterior interval.

        log p(x, y = a)/p(x, y = b) = log p(a)/p(b) + Σ_j contribution of feature j

    The points follow the current `estimate`. Their sum, the log odds of `predict_joint_log_proba`, is the last line.
    The method `explain` returns the same numbers as a table, and defines the contribution if features depend on each
    other. The intervals of contributions and sum are quantiles over the posterior of θ. "predictive" takes logarithms
    of averages, so its points need not lie in the middle.

    Parameters
    ----------
    estimator : a fitted estimator; of a calibrated one the model inside, whose log odds the map takes
    x : (1, d) a single row, as in `predict`
    label : class a, by default the predicted one
    against : class b, by default the most probable of the other classes
    n : number of features to show, those with the largest contributions; the others share one line
    level : posterior mass inside, between 0 and 1
    n_draws, seed : number and seed of the draws of θ, which give the intervals
    feature_names : (d,) names of the features, by default the columns of the data frame

    Raises
    ------
    ValueError
        if `x` is not a single row, if a label is not a class, or if a setting is out of range

    References
    ----------
    Možina, Demšar, Kattan & Zupan (2004), Nomograms for visualization of naive Bayesian classifier, PKDD.

    Examples
    --------
    >>> import bayesnb
    >>> votes = bayesnb.datasets.load("votes")
    >>> nb = bayesnb.CategoricalNB().fit(votes.X, votes.y)
    >>> ax = bayesnb.plots.nomogram(nb, votes.X[:1])
    """
    check_level(level)
    check_least(1, n=n, n_draws=n_draws)
    estimator = getattr(estimator, "estimator_", estimator)
    known = named(estimator, feature_names)
    joint = estimator.predict_joint_log_proba(x)
    if joint.shape[0] != 1:
        raise ValueError(f"`x` has {joint.shape[0]} rows; give a single row, such as X[[0]] or X.iloc[[0]]")
    a, b = _pair(estimator, joint[0], label, against)
    found, _ = estimator.contributions(
        x, against=estimator.classes_[b], focus=a, n=n, level=level, n_draws=n_draws, seed=seed
    )
    said = {PRIOR: "class prior", OTHERS: "other features"}
    names = [said[j] if j in said else _cell(known, x, j) for j in found.feature.tolist()] + ["log odds"]
    points, low, high = (
        np.append(entries[:, a], whole[0, a])
        for entries, whole in ((found.value, found.total), (found.low, found.total_low), (found.high, found.total_high))
    )
    ax = given_or_new(ax)
    at = np.arange(len(names))
    intervals(ax, at[:-1], low[:-1], points[:-1], high[:-1], color=ink(ax), marker="o")
    intervals(ax, at[-1:], low[-1:], points[-1:], high[-1:], color=colour(4), marker="D")
    ax.axvline(0, color=ink(ax), linewidth=0.8, linestyle=":")
    ax.axhline(len(names) - 1.5, color=ink(ax), linewidth=0.8)
    list_down(ax, names)
    one, other = map(plain_text, estimator.classes_[[a, b]])
    ax.set_xlabel(f"log odds of {one} against {other}, nats, {level:.0%} interval")
    return ax


def feature_weights(table: Any, n: int = 20, *, classes: Any = None, ax: Drawn | None = None) -> Drawn:
    """Weights of a linear discriminant, or information by leave-one-out, with intervals, the largest on top.

    A feature whose information is not shown to be above 0 is grey. A bar is its `elpd_gain`, what the model loses
    without it.

    Parameters
    ----------
    table : data frame of `rank_features` or `importance`, with the columns feature, weight or information, low and
        high. Weights with more than two classes also have the column class_
    n : number of features to show, those with the largest weight in any class
    classes : the two labels, such as `estimator.classes_`: a negative weight favours the first, a positive one the
        second

    Raises
    ------
    ValueError
        if a column is missing, if the table is empty, or if `n` or `classes` is out of range

    Examples
    --------
    >>> from bayesnb import BernoulliNB, plots, rank_features
    >>> nb = BernoulliNB().fit([[1, 0], [1, 1], [0, 1], [0, 1]], ["a", "a", "b", "b"])
    >>> ax = plots.feature_weights(rank_features(nb), classes=nb.classes_)
    """
    size_of = "information" if "information" in getattr(table, "columns", ()) else "weight"
    missing = [name for name in ("feature", size_of, "low", "high") if name not in getattr(table, "columns", ())]
    if missing or not len(table):
        what = f"has no column {missing[0]!r}" if missing else "is empty"
        raise ValueError(f"`table` {what}; give what `rank_features` returns, or some of its rows")
    check_least(1, n=n)
    by_class = "class_" in table.columns
    if classes is not None and (by_class or size_of == "information" or len(classes) != 2):
        raise ValueError(f"`classes` is {classes!r}; give the two labels of a table for two classes")
    size = (table[size_of] if size_of == "information" else table[size_of].abs()).groupby(table["feature"]).max()
    features = size.sort_values(ascending=False, kind="stable").index[:n].tolist()
    at = table["feature"].map({feature: i for i, feature in enumerate(features)})
    ax = given_or_new(ax)
    ax.axvline(0, color=ink(ax), linewidth=0.8, linestyle=":")
    labels = sorted(table["class_"].unique()) if by_class else [None]
    for k, label in enumerate(labels):
        own = table[at.notna() & (True if label is None else table["class_"] == label)]
        y = at[own.index] + 0.6 * ((k + 0.5) / len(labels) - 0.5)
        style = marker(k) if by_class else {"color": ink(ax), "marker": "o"}
        grey = (own["low"] <= 0) & (size_of == "information")
        for some, name, looks in ((~grey, label, style), (grey, None, {**style, "color": _GREY})):
            if some.any():
                shown = own[some]
                intervals(
                    ax,
                    y[some],
                    shown["low"],
                    shown[size_of],
                    shown["high"],
                    label=None if name is None else plain_text(name),
                    **looks,
                )
        if "elpd_gain" in own:
            ax.plot(own["elpd_gain"], y, linestyle="", marker="|", markersize=9, color=colour(4))
    list_down(ax, features)
    sides = "" if classes is None else f"\n← {plain_text(classes[0])}    {plain_text(classes[1])} →"
    if size_of == "information":
        ax.set_xlabel("information (dots) and elpd_gain (bars), nats a row\n(grey: not shown to help)")
    else:
        ax.set_xlabel(f"weight, log odds (nats) a unit of the feature{sides}")
    if by_class:
        legend_beside(ax)
    return ax


def _pair(estimator: Any, joint: np.ndarray, label: Any, against: Any) -> tuple[int, int]:
    """The classes whose odds are shown."""
    if len(joint) < 2:
        raise ValueError(
            f"`estimator` has a single class, {estimator.classes_[0]!r}, but log odds need two; fit it to two classes"
        )
    b = None if against is None else class_index(estimator, against, "against")
    best = np.argsort(-joint, kind="stable")
    a = next(int(k) for k in best if k != b) if label is None else class_index(estimator, label, "label")
    if a == b:
        raise ValueError(f"`against` is {against!r}, and so is `label`; name another class")
    return a, next(int(k) for k in best if k != a) if b is None else b


def _cell(estimator: Any, x: Any, j: int) -> str:
    """A feature and its value."""
    value = x.iloc[0, j] if hasattr(x, "iloc") else (x.tocsr() if sparse.issparse(x) else np.asarray(x, object))[0, j]
    shown = f"{value:.4g}" if isinstance(value, float | np.floating) else str(value)
    return f"{feature_name(estimator, j)} = {shown}"
