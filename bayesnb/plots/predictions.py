"""Predictions: class probabilities, regions of two features, contributions of features, and how good a model is."""

from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from ..analysis._suited import check_own
from ..analysis.importance import named
from ..analysis.score_split import monotone, score_split
from ..core.arrays import Scalar
from ..core.supports import check_least
from ..estimators._input import places_of
from ..inference.explanation import OTHERS, PRIOR
from ..inference.held_out import column_of
from ..inference.intervals import posterior_means
from ._common import (
    Drawn,
    class_at,
    colour,
    feature_name,
    ink,
    intervals,
    legend,
    line,
    list_down,
    marker,
    name_axes,
    new_axes,
    plain_text,
    shorten_middle,
    zero_line,
)

_GREY = "#8a8a8a"  # on white and on black


def class_probabilities(estimator: Any, X: Any, y: Any = None, *, label: Any = None, ax: Drawn | None = None) -> Drawn:
    """Probability of one class for each row, in ascending order, with 90 % credible intervals.

    A point is the posterior mean of the class probability, and its interval is that of `predict_interval`, over the
    same points or draws of the parameters. The dash is `predict_proba` under the current `estimate`. Its default, the
    Bayes predictive, also learns from the new row, so it may lie outside the interval.

    Parameters
    ----------
    estimator : a fitted estimator
    X : (n, d) rows
    y : (n,) true labels, shown by marker and colour
    label : the class, by default the second of two

    Raises
    ------
    ValueError
        if `label` is not a class, or is missing with more than two classes; or if X and y differ in length

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from bayesnb import GaussianNB, plots
    >>> X, y = load_iris(return_X_y=True)
    >>> nb = GaussianNB().fit(X, y)
    >>> ax = plots.class_probabilities(nb, X[50:80], y[50:80], label=1)
    """
    check_own(estimator, "a plot of intervals", method="predict_interval")
    estimator = named(estimator, None)
    if label is None and len(estimator.classes_) != 2:
        raise ValueError(f"`label` is needed with more than two classes; choose from {estimator.classes_.tolist()}")
    k = 1 if label is None else class_at(estimator, label)
    mean = posterior_means(estimator, X)[:, k]
    low, high = estimator.predict_interval(X)[:, k].T
    truth = _truth(estimator, y, len(mean))
    ax = ax or new_axes()
    order = np.argsort(mean, kind="stable")
    rank = np.argsort(order) + 1
    size = float(np.clip(240 / len(mean), 1.5, 4))
    for c in np.unique(truth).tolist():
        rows = order[truth[order] == c]
        style = _class_style(estimator, c, ax)
        intervals(ax, rank[rows], low[rows], mean[rows], high[rows], upright=True, markersize=size, **style)
    ax.scatter(rank, estimator.predict_proba(X)[:, k], s=size**2, marker="_", color=_GREY)
    ax.set_ylim(-0.02, 1.02)
    label_text = plain_text(estimator.classes_[k])
    name_axes(
        ax,
        "rows; dash is predict_proba,\nwhich also learns from the row",
        f"mean probability of {label_text}, 90% interval",
    )
    if y is not None:
        legend(ax, title="true class")
    return ax


def decision_regions(
    estimator: Any,
    X: Any,
    y: Any = None,
    *,
    n_draws: int = 30,
    points: int = 120,
    ax: Drawn | None = None,
) -> Drawn:
    """Regions in which an estimator of two features predicts each class, with their uncertainty.

    The colour shows the predicted class. It is paler if the total entropy of `uncertainty` is larger, up to log c nats.
    At a boundary two classes share the largest probability. The thick line is the boundary of the prediction. The thin
    lines are boundaries at posterior draws of the parameters.

    Parameters
    ----------
    estimator : an estimator fitted to two features
    X : (n, 2) rows, which set the limits of the axes
    y : (n,) true labels, shown by marker and colour
    n_draws : number of drawn boundaries, 0 for none
    points : number of grid points in each direction

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
    from matplotlib.colors import to_rgba_array

    estimator = named(estimator, None)
    if (d := estimator.n_features_in_) != 2:
        raise ValueError(f"`estimator` has {d} features; regions need an estimator that is fitted to two")
    check_own(estimator, "a map of uncertainty", method="uncertainty")
    check_least(0, n_draws=n_draws)
    check_least(2, points=points)
    cells = np.asarray(X, float)
    if cells.ndim != 2 or cells.shape[1] != 2 or not len(cells) or np.isnan(cells).all(0).any():
        raise ValueError(f"`X` has shape {cells.shape}; it needs two columns that hold numbers")
    truth = _truth(estimator, y, len(cells))
    low, high = np.nanmin(cells, 0), np.nanmax(cells, 0)
    margin = 0.08 * np.where(high > low, high - low, 1)
    across, up = np.linspace(low - margin, high + margin, points).T
    grid: Any = np.stack(np.meshgrid(across, up), -1).reshape(-1, 2)
    if (names := getattr(estimator, "feature_names_in_", None)) is not None:
        grid = pd.DataFrame(grid, columns=names)
    proba, c = estimator.predict_proba(grid), len(estimator.classes_)
    sure = 1 - estimator.uncertainty(grid, seed=0).total / max(np.log(c), np.finfo(float).tiny)
    ax, sides = ax or new_axes(), (across[0], across[-1], up[0], up[-1])
    image = to_rgba_array([colour(k) for k in proba.argmax(1).tolist()], 0.1 + 0.5 * np.clip(sure, 0, 1))
    image = image.reshape(points, points, 4)
    ax.imshow(image, extent=sides, origin="lower", aspect="auto", interpolation="bilinear", zorder=0)
    for draw in estimator.sample_proba(grid, n_draws, seed=0) if n_draws else ():
        _boundary(ax, across, up, draw, linewidths=0.5, alpha=0.25)
    _boundary(ax, across, up, proba, linewidths=2)
    for k in np.unique(truth).tolist():
        edge: Any = {"markersize": 4, "markeredgecolor": "white", "markeredgewidth": 0.4, "zorder": 3}
        ax.plot(*cells[truth == k].T, linestyle="", **edge, **_class_style(estimator, k, ax))
    ax.set(xlim=sides[:2], ylim=sides[2:])
    name_axes(ax, *(plain_text(feature_name(estimator, j), 60) for j in range(2)))
    if y is not None:  # contours have no entry
        lines = {"boundary": 2.0} | ({"boundaries of\nposterior draws": 0.5} if n_draws else {})
        for name, wide in lines.items():
            ax.plot([], [], color=ink(ax), linewidth=wide, label=name)
        legend(ax, last=len(lines))
    return ax


def nomogram(
    estimator: Any,
    x: Any,
    *,
    label: Any = None,
    against: Any = None,
    level: Scalar = 0.9,
    n_draws: int = 1000,
    feature_names: Any = None,
    ax: Drawn | None = None,
) -> Drawn:
    """What each feature of one row adds to the log odds of a class, with its posterior interval.

        log p(x, y = a)/p(x, y = b) = log p(a)/p(b) + Σ_j contribution of feature j

    The points are posterior means, and the intervals are quantiles of the same draws of θ. The sum of the points is the
    last line. A vertical mark there is the log odds of `predict_proba` under the current `estimate`. The default,
    "predictive", takes the logarithm of an average over θ, so it also learns from the row, and may lie outside. The 12
    largest contributions are shown, and the others share one line. The method `explain` returns the contributions to
    `predict_proba` as a table, and defines the contribution if features depend on each other.

    Parameters
    ----------
    estimator : a fitted estimator; of a calibrated one the model inside, whose log odds the map takes
    x : (1, d) a single row, as in `predict`
    label, against : classes a and b, by default the most probable ones
    level : posterior mass inside, between 0 and 1
    n_draws : number of draws of θ, which give the means and the intervals
    feature_names : (d,) names of the features, by default the columns of the data frame

    Raises
    ------
    ValueError
        if `x` is not a single row, or if a label is not a class or both are the same

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
    if not hasattr(estimator, "predict_joint_log_proba"):
        estimator = getattr(estimator, "estimator_", estimator)
    check_own(estimator, "a nomogram")
    known = named(estimator, feature_names)
    joint = estimator.predict_joint_log_proba(x)
    if joint.shape[0] != 1:
        raise ValueError(f"`x` has {joint.shape[0]} rows; give a single row, such as X[[0]] or X.iloc[[0]]")
    best = np.argsort(-joint[0], kind="stable").tolist()
    given = [None if one is None else class_at(estimator, one) for one in (label, against)]
    rest = [k for k in best if k not in given]
    a, b = (rest.pop(0) if k is None and rest else k for k in given)
    if a == b or b is None:
        raise ValueError(f"`label` and `against` are {label!r} and {against!r}; log odds need two classes")
    found, _ = estimator.contributions(x, against=estimator.classes_[b], focus=a, n=12, level=level, n_draws=n_draws)
    said = {PRIOR: "class prior", OTHERS: "other features"}
    names = [said.get(j) or _cell(known, x, j) for j in found.feature.tolist()] + ["log odds"]
    low = np.append(found.low[:, a], found.total_low[0, a])
    mean = np.append(found.mean[:, a], found.total_mean[0, a])
    high = np.append(found.high[:, a], found.total_high[0, a])
    ax = ax or new_axes()
    lines = np.arange(len(names))
    intervals(ax, lines[:-1], low[:-1], mean[:-1], high[:-1], color=ink(ax), marker="o")
    intervals(ax, lines[-1:], low[-1:], mean[-1:], high[-1:], color=colour(4), marker="D")
    ax.plot(found.total[0, a], lines[-1], linestyle="", marker="|", markersize=12, color=colour(4))
    zero_line(ax)
    ax.axhline(len(names) - 1.5, color=ink(ax), linewidth=0.8)
    list_down(ax, names, 36)
    one, other = (plain_text(label, 16) for label in estimator.classes_[[a, b]])
    name_axes(
        ax,
        f"log odds of {one} against {other}, nats, {level:.0%} interval\n"
        "(bar in the last line: predict_proba, which also learns from the row)",
    )
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
    _check_columns("table", table, ["feature", size_of, "low", "high"], "`rank_features` returns, or some of its rows")
    check_least(1, n=n)
    by_class, informs = "class_" in table.columns, size_of == "information"
    if classes is not None and (by_class or informs or len(classes) != 2):
        raise ValueError(f"`classes` is {classes!r}; give the two labels of a table for two classes")
    size = (table[size_of] if informs else table[size_of].abs()).groupby(table["feature"]).max()
    features = size.sort_values(ascending=False, kind="stable").index[:n].tolist()
    table, ax = table[table["feature"].isin(features)], ax or new_axes()
    at = table["feature"].map({feature: i for i, feature in enumerate(features)})
    zero_line(ax)
    labels = sorted(table["class_"].unique()) if by_class else [None]
    for k, label in enumerate(labels):
        style = marker(k) | {"label": plain_text(label)} if by_class else {"color": ink(ax), "marker": "o"}
        grey = (table["low"] <= 0) & informs
        for some, looks in ((~grey, style), (grey, {**style, "color": _GREY})):
            own = table[some & (table["class_"] == label if by_class else True)]
            y = at[own.index] + 0.6 * ((k + 0.5) / len(labels) - 0.5)
            if len(own):
                intervals(ax, y, own["low"], own[size_of], own["high"], **looks)
    if "elpd_gain" in table:
        ax.plot(table["elpd_gain"], at, linestyle="", marker="|", markersize=9, color=colour(4))
    list_down(ax, features, has_legend=by_class)
    sides = "" if classes is None else f"\n← {plain_text(classes[0])}    {plain_text(classes[1])} →"
    said = "information (dots) and elpd_gain (bars), nats a row\n(grey: not shown to help)"
    name_axes(ax, said if informs else f"weight, log odds (nats) a unit of the feature{sides}")
    if by_class:
        legend(ax)
    return ax


def reliability(event: Any, probability: Any, *, ax: Drawn | None = None) -> Drawn:
    """Reliability diagram without bins: the share of events as a non-decreasing function of the probability.

    The curve is the isotonic regression of the events (pool adjacent violators). The band holds 90 % of 200 such
    curves of events that are drawn from the probabilities, at each probability: where the curve leaves it, the
    probabilities are not what they say. The Brier score is split into miscalibration (MCB), discrimination (DSC)
    and uncertainty (UNC): score = MCB − DSC + UNC. The ticks on the axis are the rows.

    Parameters
    ----------
    event : (n,) whether the event happened: `y == "spam"`, or `estimator.predict(X) == y` for the most probable label
    probability : (n,) its predicted probability, by a model that has not seen the row: `p[:, 1]`, or `p.max(1)`

    Raises
    ------
    ValueError
        if `event` and `probability` differ in length or hold other values

    References
    ----------
    Dimitriadis, Gneiting & Jordan (2021), Stable reliability diagrams for probabilistic classifiers, PNAS 118.

    Examples
    --------
    >>> import numpy as np
    >>> from bayesnb import plots
    >>> p = np.random.default_rng(0).random(500)
    >>> ax = plots.reliability(np.random.default_rng(1).random(500) < p**2, p)
    """
    y, p = np.asarray(event), np.asarray(probability, float)
    if p.ndim != 1 or not len(p) or not ((p >= 0) & (p <= 1)).all():
        raise ValueError(f"`probability` has shape {p.shape}; it needs numbers between 0 and 1, one a row")
    if y.shape != p.shape or not np.isin(y, [0, 1]).all():
        raise ValueError(f"`event` has shape {y.shape}; it needs True or False for each of {len(p)} rows")
    order = np.argsort(p, kind="stable")
    y, p = y[order].astype(float), p[order]
    rng = np.random.default_rng(0)
    curves = [monotone((rng.random(len(p)) < p).astype(float), p) for _ in range(200)]
    low, high = np.quantile(curves, [0.05, 0.95], axis=0)
    ax, one = ax or new_axes(), p[0] == p[-1]  # of one probability curve and band have no width
    ax.plot([0, 1], [0, 1], color=ink(ax), linewidth=0.8, linestyle=":", label="calibrated")
    ax.fill_between(p, low, high, color=colour(5), alpha=0.4, linewidth=6 * one, label="90% band")
    ax.plot(p, monotone(y, p), color=ink(ax), linewidth=1.5, marker="o" if one else "", label="share of events")
    ax.plot(p, np.zeros_like(p), "|", color=ink(ax), markersize=6, alpha=0.3, clip_on=False)
    ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), xlabel="predicted probability", ylabel="share of events")
    said = "Brier {:.3f}\nMCB {:.3f}\nDSC {:.3f}\nUNC {:.3f}".format(*score_split(y, p))
    ax.text(0.97, 0.05, said, transform=ax.transAxes, ha="right", color=ink(ax))
    ax.legend(frameon=False, loc="upper left")
    return ax


def comparison(result: Any, *, axes: Any = None) -> Any:
    """Compare models: leave-one-out relative to the best, and evidence relative to the largest, one row a model.

    Parameters
    ----------
    result : result of `bayesnb.compare`, or its table
    axes : two Axes to draw on

    Returns
    -------
    array of two Axes
        elpd_diff ± se_diff, and log_bayes_factor, in nats. A model without an evidence has no point

    Raises
    ------
    ValueError
        if `result` is not such a table, or `axes` are not two

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from bayesnb import GaussianDA, GaussianNB, compare, plots
    >>> X, y = load_iris(return_X_y=True)
    >>> found = compare({"independent": GaussianNB(), "covariance": GaussianDA()}, X, y)
    >>> axes = plots.comparison(found)
    """
    table = getattr(result, "table", result)
    _check_columns("result", table, ["elpd_diff", "se_diff", "log_bayes_factor"], "`bayesnb.compare` returns")
    made = new_axes(2, sharey=True, figsize=(8, 1.2 + 0.4 * len(table))) if axes is None else axes
    pair = np.asarray(made, object).ravel()
    if len(pair) != 2:
        raise ValueError(f"`axes` has {len(pair)} Axes; give two")
    at, diff, error = np.arange(len(table)), table["elpd_diff"].to_numpy(), table["se_diff"].to_numpy()
    factor = table["log_bayes_factor"].to_numpy(float)
    for ax, point, spread in ((pair[0], diff, error), (pair[1], factor, 0 * factor)):
        zero_line(ax)
        intervals(ax, at, point - spread, point, point + spread, color=ink(ax), marker="o")
        list_down(ax, table.index)
    pair[0].set_xlabel("elpd difference ± standard error, nats")
    pair[1].set_xlabel("log Bayes factor, nats")
    return pair


def pit(report: Any, *, ax: Drawn | None = None) -> Drawn:
    """Where the short chains of a check end under the exact posterior: ECDF of their transforms minus the uniform.

    Each parameter has one curve. The states x of row 3a become u = F(x), with F the posterior distribution function in
    closed form. If the closed form and the sampler agree, u is uniform. The band belongs to the Kolmogorov–Smirnov
    tests of this row. It is simultaneous over u and, by Bonferroni, over the parameters. A curve leaves the band
    exactly if row 3a fails.

    Parameters
    ----------
    report : result of `estimator.check`, or of `testing.simulation_based_calibration`, which has ranks in place of u

    Raises
    ------
    ValueError
        if the report has no transforms

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from bayesnb import GaussianNB, plots
    >>> X, y = load_iris(return_X_y=True)
    >>> nb = GaussianNB().fit(X, y)
    >>> ax = plots.pit(nb.check(X, y, seed=0))
    """
    row = next((row for row in getattr(report, "rows", (report,)) if getattr(row, "pit", None)), None)
    if row is None:
        what = f"`report` is a {type(report).__name__} without transforms"
        raise ValueError(f"{what}; give what `estimator.check` returns")
    ax = ax or new_axes()
    for k, (site, u) in enumerate(row.pit.items()):
        n = len(u)
        steps = np.repeat(np.arange(n + 1) / n, 2)[1:-1]  # before and after each jump
        for i, column in enumerate(np.sort(u, 0).T):
            x = np.repeat(column, 2)
            name = plain_text(site) if i == 0 else None
            ax.plot(x, steps - x, linewidth=0.7, alpha=0.8, label=name, rasterized=True, **line(k))
    edge = float(stats.kstwo.isf(row.threshold, n))
    ax.axhspan(-edge, edge, color=colour(5), alpha=0.2, zorder=0, linewidth=0, label="band of the test")
    ax.axhline(0, color=ink(ax), linewidth=0.8, linestyle=":")
    ax.set(xlim=(0, 1), xlabel="probability under the exact posterior", ylabel="distribution function − uniform")
    legend(ax, title="parameter", last=1)
    return ax


def _check_columns(name: str, table: Any, columns: list[str], source: str) -> None:
    """Raise a ValueError that names the argument unless the table has rows, and these columns."""
    missing = [column for column in columns if column not in getattr(table, "columns", ())]
    if missing or not len(table):
        what = f"no column {missing[0]!r}" if missing else "no rows"
        raise ValueError(f"`{name}` has {what}; give what {source}")


def _truth(estimator: Any, y: Any, n: int) -> np.ndarray:
    """Class index of every row, −1 if no labels are given."""
    if y is None:
        return np.full(n, -1)
    if np.shape(y) != (n,):
        raise ValueError(f"`y` has shape {np.shape(y)}; `X` has {n} rows, and each needs one label")
    return places_of(np.asarray(y), estimator.classes_)


def _class_style(estimator: Any, k: int, ax: Drawn) -> dict[str, Any]:
    """Marker and name of a class; of rows without labels, −1, a marker alone."""
    return {"color": ink(ax), "marker": "o"} if k < 0 else marker(k) | {"label": plain_text(estimator.classes_[k])}


def _boundary(ax: Drawn, across: np.ndarray, up: np.ndarray, p: np.ndarray, **style: Any) -> None:
    """Where a class draws level with the largest of the others."""
    for k in range(p.shape[1] - (p.shape[1] == 2)):  # two classes have one boundary
        lead = p[:, k] - np.delete(p, k, 1).max(1)
        if lead.min() < 0 < lead.max():
            ax.contour(across, up, lead.reshape(len(up), -1), [0], colors=[ink(ax)], **style)


def _cell(estimator: Any, x: Any, j: int) -> str:
    """A feature and its value."""
    value = column_of(x if hasattr(x, "shape") else np.asarray(x), j)[0]
    shown = f"{value:.4g}" if isinstance(value, float | np.floating) else shorten_middle(value, 12)
    return f"{shorten_middle(feature_name(estimator, j), 20)} = {shown}"
