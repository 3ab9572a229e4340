"""Predictions: class probabilities, regions of two features, contributions of features, and how good a model is."""

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import stats

from ..analysis.score_split import monotone, score_split
from ..estimators._input import places_of
from ..estimators._suited import check_own, fitted_copy
from ..numerics.arrays import Float
from ..numerics.supports import check_least
from ..posterior.intervals import posterior_means
from ._common import (
    Drawn,
    class_at,
    colour,
    feature_name,
    ink,
    intervals,
    legend,
    legend_above,
    line,
    list_down,
    marker,
    name_axes,
    new_axes,
    plain_text,
    zero_line,
)

_MAX_ROWS = 100  # of class probabilities: more are one solid band
_GREY = "#8a8a8a"  # on white and on black


def class_probabilities(estimator: Any, X: Any, y: Any = None, *, label: Any = None, ax: Drawn | None = None) -> Drawn:
    """Probability of one class for each row, in ascending order, with 90 % credible intervals.

    A point is the posterior mean of the class probability, and its interval is that of `predict_interval`, over the
    same points or draws of the parameters. The dash is `predict_proba` under the current `estimate`. Its default, the
    Bayes predictive, also learns from the new row, so it may lie outside the interval. Of more than 100 rows, 100 at
    even ranks are shown.

    Parameters
    ----------
    estimator : a fitted estimator
    X : (n, d) rows
    y : (n,) true labels, shown by marker and colour
    label : the class, by default the second of two
    ax : Axes to draw on, by default those of a new figure; they are returned

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
    estimator = fitted_copy(estimator)  # another thread may fit the original meanwhile
    if label is None and len(estimator.classes_) != 2:
        raise ValueError(f"`label` is needed with more than two classes; choose from {estimator.classes_.tolist()}")
    k = 1 if label is None else class_at(estimator, label)  # number of the class

    # posterior mean of its probability in each row, (n,), and the ends of the interval: (n, 2), turned into two arrays
    mean = posterior_means(estimator, X)[:, k]
    low, high = estimator.predict_interval(X)[:, k].T
    truth = _truth(estimator, y, len(mean))  # (n,) class numbers, or −1

    # Rows in ascending order of the mean, and the rank of each row, from 1: the argsort of an order is its inverse, and
    # says at which place each row comes. For example, rows with the means 0.7, 0.2 and 0.5 have the order 1, 2, 0 (row
    # 1 comes first) and the ranks 3, 1, 2 (row 0 comes third).
    ax = ax or new_axes()
    order = np.argsort(mean, kind="stable")  # (n,) positions
    rank = np.argsort(order) + 1  # (n,)

    # of many rows those at even ranks
    n = len(mean)
    shown = order[np.linspace(0, n - 1, min(n, _MAX_ROWS)).round().astype(int)]  # positions

    # points and intervals, by true class; then the dashes of all rows
    size = float(np.clip(240 / len(shown), 1.5, 4))  # of a mark, in points: the more rows, the smaller
    for c in np.unique(truth[shown]).tolist():
        rows = shown[truth[shown] == c]  # positions of the rows of this class, in ascending order of the mean
        style = _class_style(estimator, c, ax)
        intervals(ax, rank[rows], low[rows], mean[rows], high[rows], upright=True, markersize=size, **style)
    ax.scatter(rank[shown], estimator.predict_proba(X)[shown, k], s=size**2, marker="_", color=_GREY)

    ax.set_ylim(-0.02, 1.02)
    label_text = plain_text(estimator.classes_[k])
    shown_rows = "rows" if len(shown) == n else f"{len(shown)} of {n:,} rows"
    name_axes(
        ax,
        f"{shown_rows}; dash is predict_proba,\nwhich also learns from the row",
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
    ax : Axes to draw on, by default those of a new figure; they are returned

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
    estimator = fitted_copy(estimator)  # another thread may fit the original meanwhile
    d = estimator.n_features_in_
    if d != 2:
        raise ValueError(f"`estimator` has {d} features; regions need an estimator that is fitted to two")
    check_own(estimator, "a map of uncertainty", method="uncertainty")
    check_least(0, n_draws=n_draws)  # ValueError unless a whole number of at least 0
    check_least(2, points=points)
    # a cell may be missing, but a column without any number has no range
    cells = np.asarray(X, float)
    if cells.ndim != 2 or cells.shape[1] != 2 or not len(cells) or np.isnan(cells).all(0).any():
        raise ValueError(f"`X` has shape {cells.shape}; it needs two columns that hold numbers")
    truth = _truth(estimator, y, len(cells))  # (n,) class numbers, or −1

    # what the estimator predicts at each point of a grid around the rows
    grid = _Grid.around(cells, points)
    rows = grid.rows(getattr(estimator, "feature_names_in_", None))  # (points², 2)
    proba = estimator.predict_proba(rows)  # (points², c)
    entropy = estimator.uncertainty(rows, seed=0).total  # (points²,) of the label, in nats

    # colours, then the boundaries of single draws, then that of the prediction
    ax = ax or new_axes()
    _draw_regions(ax, grid, proba, entropy)
    if n_draws:
        for drawn_proba in estimator.sample_proba(rows, n_draws, seed=0):  # (points², c) by one draw of the parameters
            _draw_boundary(ax, grid, drawn_proba, linewidths=0.5, alpha=0.25)
    _draw_boundary(ax, grid, proba, linewidths=2)

    # the rows on top
    edge: Any = {"markersize": 4, "markeredgecolor": "white", "markeredgewidth": 0.4, "zorder": 3}
    for k in np.unique(truth).tolist():
        ax.plot(*cells[truth == k].T, linestyle="", **edge, **_class_style(estimator, k, ax))

    ax.set(xlim=grid.sides[:2], ylim=grid.sides[2:])
    name_axes(ax, *(plain_text(feature_name(estimator, j), 60) for j in range(2)))
    if y is not None:
        _legend_of_regions(ax, has_draws=n_draws > 0)
    return ax


class _Grid(NamedTuple):
    """Points at equal distances along two axes, in the order of a picture: line by line.

    Fields
    ------
    across, up : (k,) the coordinates on the horizontal and on the vertical axis
    """

    across: Float[np.ndarray, " k"]
    up: Float[np.ndarray, " k"]

    @classmethod
    def around(cls, cells: Float[np.ndarray, "n 2"], points: int) -> "_Grid":
        """A grid of points × points that leaves a margin of 8 % around the cells (n, 2), on each side."""
        low = np.nanmin(cells, 0)  # (2,) of each axis
        high = np.nanmax(cells, 0)
        margin = 0.08 * np.where(high > low, high - low, 1)  # of a constant column 0.08
        across, up = np.linspace(low - margin, high + margin, points).T  # (k,) each
        return cls(across, up)

    @property
    def sides(self) -> tuple[float, float, float, float]:
        """Left, right, lower and upper end."""
        return self.across[0], self.across[-1], self.up[0], self.up[-1]

    def rows(self, names: Any) -> Any:
        """The points as rows of two features, (k², 2); a data frame if the features have names."""
        across, up = np.meshgrid(self.across, self.up)  # (k, k) each: the coordinates of every point
        # line by line: (a₁, u₁), (a₂, u₁), … (a₁, u₂), …
        points = np.stack([across, up], -1).reshape(-1, 2)
        return points if names is None else pd.DataFrame(points, columns=names)


def _draw_regions(ax: Drawn, grid: _Grid, proba: np.ndarray, entropy: np.ndarray) -> None:
    """Colour each point of a grid by its most probable class, paler where the label is less certain.

    Parameters
    ----------
    proba : (k², c) class probabilities at the points
    entropy : (k²,) of the label there, in nats; the largest possible one is log c
    """
    from matplotlib.colors import to_rgba_array

    max_entropy = max(np.log(proba.shape[1]), np.finfo(float).tiny)  # not 0 for a single class
    certainty = np.clip(1 - entropy / max_entropy, 0, 1)

    # red, green, blue and opacity of each point, which is from 0.1 to 0.6
    colours = [colour(k) for k in proba.argmax(1).tolist()]
    # the points came line by line, so that a reshape gives the picture (lines, columns, 4); line 0 is at the bottom
    image = to_rgba_array(colours, 0.1 + 0.5 * certainty).reshape(len(grid.up), len(grid.across), 4)
    ax.imshow(image, extent=grid.sides, origin="lower", aspect="auto", interpolation="bilinear", zorder=0)


def _draw_boundary(ax: Drawn, grid: _Grid, p: np.ndarray, **style: Any) -> None:
    """Draw where a class is as probable as the most probable of the others.

    Parameters
    ----------
    p : (k², c) class probabilities at the points of the grid
    style : of the lines, as in Matplotlib's `contour`
    """
    n_classes = p.shape[1]
    n_boundaries = 1 if n_classes == 2 else n_classes  # of two classes it is the same line
    for k in range(n_boundaries):
        # Its probability less that of the best of the others, (k²,): 0 on the boundary, where the contour is drawn.
        lead = p[:, k] - np.delete(p, k, 1).max(1)
        if lead.min() < 0 < lead.max():  # otherwise the grid has no such point
            ax.contour(grid.across, grid.up, lead.reshape(len(grid.up), -1), [0], colors=[ink(ax)], **style)


def _legend_of_regions(ax: Drawn, has_draws: bool) -> None:
    """A legend of the classes and the boundaries, which get empty lines: a contour has no entry of its own."""
    widths = {"boundary": 2.0}
    if has_draws:
        widths["boundaries of\nposterior draws"] = 0.5
    for name, width in widths.items():
        ax.plot([], [], color=ink(ax), linewidth=width, label=name)
    # of many classes some may be left out of the legend, but not these lines
    legend(ax, last=len(widths))


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
    ax : Axes to draw on, by default those of a new figure; they are returned

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
    # the table of `importance` has a column "information", and that of `rank_features` a column "weight"
    size_of = "information" if "information" in getattr(table, "columns", ()) else "weight"
    _check_columns("table", table, ["feature", size_of, "low", "high"], "`rank_features` returns, or some of its rows")
    check_least(1, n=n)  # ValueError unless a whole number of at least 1
    has_classes = "class_" in table.columns
    is_information = size_of == "information"
    if classes is not None and (has_classes or is_information or len(classes) != 2):
        raise ValueError(f"`classes` is {classes!r}; give the two labels of a table for two classes")

    # A line of the plot for each feature that is shown, from the top. The size of a weight is its absolute value.
    size = table[size_of] if is_information else table[size_of].abs()
    features = _largest_features(table["feature"], size, n)
    line_of = {feature: i for i, feature in enumerate(features)}

    # the rows of the table that are drawn, with the height of each, and whether it is grey: an information that is not
    # shown to be above 0 is; a weight never
    rows = table[table["feature"].isin(features)]
    shown = rows.assign(
        line=rows["feature"].map(line_of),
        size=rows[size_of],
        is_grey=(rows["low"] <= 0) & is_information,
    )

    ax = ax or new_axes()
    zero_line(ax)  # a feature of weight 0 says nothing
    if has_classes:
        labels = sorted(shown["class_"].unique())
        for k, label in enumerate(labels):
            of_class = shown[shown["class_"] == label]
            offset = 0.6 * ((k + 0.5) / len(labels) - 0.5)  # from −0.3 to 0.3, so that classes stand beside each other
            style = marker(k) | {"label": plain_text(label)}
            _draw_weights(ax, of_class.assign(line=of_class["line"] + offset), style)
    else:
        _draw_weights(ax, shown, {"color": ink(ax), "marker": "o"})
    if "elpd_gain" in shown:
        ax.plot(shown["elpd_gain"], shown["line"], linestyle="", marker="|", markersize=9, color=colour(4))

    list_down(ax, features, 24 if has_classes else 30, has_legend=has_classes)  # names down the vertical axis
    name_axes(ax, _axis_of_weights(is_information, classes))
    if has_classes:
        legend(ax)
    return ax


def _largest_features(feature: pd.Series, size: pd.Series, n: int) -> list[Any]:
    """The n features with the largest size in any row, largest first; of equal ones those whose names come first.

    Parameters
    ----------
    feature, size : the feature of each row of a table, and a size of it; a feature may have several rows
    """
    # by feature, in the order of the names, which the stable sort keeps where sizes are equal
    largest_size = size.groupby(feature).max()
    return largest_size.sort_values(ascending=False, kind="stable").index[:n].tolist()


def _draw_weights(ax: Drawn, table: pd.DataFrame, style: dict[str, Any]) -> None:
    """Draw the size of each row of a table with its interval, in a style, or in grey where the row says so.

    Parameters
    ----------
    table : columns line (its height), size, low, high and is_grey
    style : colour, marker and perhaps label of the points
    """
    grey = style | {"color": _GREY}
    # the rows in the style, then the grey ones; with none of a kind nothing is drawn, so that no legend entry is empty
    for rows, style_of_rows in ((table[~table["is_grey"]], style), (table[table["is_grey"]], grey)):
        if len(rows):
            intervals(ax, rows["line"], rows["low"], rows["size"], rows["high"], **style_of_rows)


def _axis_of_weights(is_information: bool, classes: Any) -> str:
    """The label of the axis of a plot of weights, or of information; `classes` are two labels, or None."""
    if is_information:
        return "information (dots) and elpd_gain (bars), nats a row\n(grey: not shown to help)"
    sides = "" if classes is None else f"\n← {plain_text(classes[0], 40)}    {plain_text(classes[1], 40)} →"
    return f"weight, log odds (nats) a unit of the feature{sides}"


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
    ax : Axes to draw on, by default those of a new figure; they are returned

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
    given_p = np.asarray(probability, float)
    given_y = np.asarray(event)
    is_probability = (given_p >= 0) & (given_p <= 1)
    if given_p.ndim != 1 or not len(given_p) or not is_probability.all():
        raise ValueError(f"`probability` has shape {given_p.shape}; it needs numbers between 0 and 1, one a row")
    if given_y.shape != given_p.shape or not np.isin(given_y, [0, 1]).all():
        raise ValueError(f"`event` has shape {given_y.shape}; it needs True or False for each of {len(given_p)} rows")

    # in ascending order of the probability
    order = np.argsort(given_p, kind="stable")
    p = given_p[order]
    y = given_y[order].astype(float)  # 1 where the event happened

    # What the curve looks like if the probabilities are right: isotonic regressions of events that are drawn from them,
    # 1 with probability p_i. `monotone` gives at each row the share of events as a non-decreasing function of p.
    rng = np.random.default_rng(0)
    curves = [monotone((rng.random(len(p)) < p).astype(float), p) for _ in range(200)]
    low, high = np.quantile(curves, [0.05, 0.95], axis=0)  # (n,) each, at the probability of each row

    # of a single probability the curve is a point, and the band is a line that has a width of its own
    is_point = p[0] == p[-1]
    band_style: Any = {"color": colour(5), "alpha": 0.4, "linewidth": 6 if is_point else 0}
    ax = ax or new_axes()
    ax.plot([0, 1], [0, 1], color=ink(ax), linewidth=0.8, linestyle=":", label="calibrated")
    ax.fill_between(p, low, high, label="90% band", **band_style)
    ax.plot(p, monotone(y, p), color=ink(ax), linewidth=1.5, marker="o" if is_point else "", label="share of events")
    ax.plot(p, np.zeros_like(p), "|", color=ink(ax), markersize=6, alpha=0.3, clip_on=False)  # a tick for each row

    ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), xlabel="predicted probability", ylabel="share of events")

    # the Brier score and its parts stand above the legend, outside of the curve
    split = score_split(y, p)
    parts = f"MCB {split.miscalibration:.3f} − DSC {split.discrimination:.3f} + UNC {split.uncertainty:.3f}"
    legend_above(ax, columns=2, title=f"Brier {split.score:.3f} = {parts}")
    return ax


def comparison(result: Any, *, axes: Any = None) -> Any:
    """Compare models: leave-one-out relative to the best, and evidence relative to the largest, one row a model.

    Evidence has a panel if at least two models have one; of two Axes that are given, the second else says why it is
    empty.

    Parameters
    ----------
    result : result of `bayesnb.compare`, or its table
    axes : two Axes to draw on

    Returns
    -------
    array of two Axes, or of one
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
    # the result of `compare` holds its table; what has none is taken for the table itself
    table = getattr(result, "table", result)
    _check_columns("result", table, ["elpd_diff", "se_diff", "log_bayes_factor"], "`bayesnb.compare` returns")
    is_given = axes is not None
    has_evidence = table["log_bayes_factor"].notna().sum() >= 2  # a Bayes factor compares two models
    if not is_given:
        n_panels = 2 if has_evidence else 1
        axes = new_axes(n_panels, sharey=True, figsize=(4 * n_panels, 1.2 + 0.4 * len(table)))
    # two Axes, as a list or as Matplotlib's array of any shape
    pair = np.asarray(axes, object).ravel()
    if is_given and len(pair) != 2:
        raise ValueError(f"`axes` has {len(pair)} Axes; give two")

    difference = table["elpd_diff"].to_numpy()  # (models,) nats, as all below
    difference_error = table["se_diff"].to_numpy()
    log_factor = table["log_bayes_factor"].to_numpy(float)
    no_error = 0 * log_factor  # evidence has no standard error
    _draw_models(pair[0], table.index, difference, difference_error)
    pair[0].set_xlabel("elpd difference ± standard error, nats")
    if len(pair) == 2 and not has_evidence:
        pair[1].set_axis_off()
        text = "Fewer than two models\nhave an evidence."
        pair[1].text(0.5, 0.5, text, ha="center", va="center", color=ink(pair[1]), transform=pair[1].transAxes)
    elif len(pair) == 2:
        _draw_models(pair[1], table.index, log_factor, no_error)
        pair[1].set_xlabel("log Bayes factor, nats")
    return pair


def _draw_models(ax: Drawn, names: Any, point: np.ndarray, error: np.ndarray) -> None:
    """Draw a number of each model with plus and minus its standard error, a line a model, the first on top.

    Parameters
    ----------
    names : of the models, from top to bottom
    point, error : (models,) the numbers and their standard errors; a number that is NaN is not drawn
    """
    zero_line(ax)
    intervals(ax, np.arange(len(names)), point - error, point, point + error, color=ink(ax), marker="o")
    list_down(ax, names)  # names down the vertical axis


def pit(report: Any, *, ax: Drawn | None = None) -> Drawn:
    """Where the short chains of a check end under the exact posterior: ECDF of their transforms minus the uniform.

    Each parameter has one curve. The states x of row 3a become u = F(x), with F the posterior distribution function in
    closed form. If the closed form and the sampler agree, u is uniform. The band belongs to the Kolmogorov–Smirnov
    tests of this row. It is simultaneous over u and, by Bonferroni, over the parameters. A curve leaves the band
    exactly if row 3a fails.

    Parameters
    ----------
    report : result of `estimator.check`, or of `testing.simulation_based_calibration`, which has ranks in place of u
    ax : Axes to draw on, by default those of a new figure; they are returned

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
    # the first row of a report that has transforms; what simulation_based_calibration returns is such a row itself
    candidates = getattr(report, "rows", (report,))
    row = next((row for row in candidates if getattr(row, "pit", None)), None)
    if row is None:
        kind = type(report).__name__
        raise ValueError(f"`report` is a {kind} without transforms; give what `estimator.check` returns")

    # A site is a parameter of the model with any number p of components, such as "mu" of all features; u, (n, p), has
    # the n transforms u = F(x) of each. The distribution function of n numbers jumps by 1/n at each of them, so the
    # curve has two points there: below and above the jump. Of two numbers, the curve passes 0 and ½ at the first, and ½
    # and 1 at the second: the fractions 0, ½, 1 are doubled to 0, 0, ½, ½, 1, 1, and the first and the last one are
    # left out.
    ax = ax or new_axes()
    for k, (site, u) in enumerate(row.pit.items()):
        n = len(u)
        steps = np.repeat(np.arange(n + 1) / n, 2)[1:-1]  # (2n,) 0, 1/n, 1/n, 2/n, 2/n, … 1
        for i, transforms in enumerate(np.sort(u, 0).T):  # (n,) of one parameter, ascending
            x = np.repeat(transforms, 2)  # (2n,)
            name = plain_text(site) if i == 0 else None
            ax.plot(x, steps - x, linewidth=0.7, alpha=0.8, label=name, rasterized=True, **line(k))

    # The largest distance from the uniform that passes the Kolmogorov–Smirnov test: its p-value is then the threshold
    # of the row. `kstwo` is the distribution of the distance of n numbers, and `isf` the inverse of its upper tail. All
    # sites have the same n.
    edge = float(stats.kstwo.isf(row.threshold, n))
    ax.axhspan(-edge, edge, color=colour(5), alpha=0.2, zorder=0, linewidth=0, label="band of the test")
    ax.axhline(0, color=ink(ax), linewidth=0.8, linestyle=":")
    ax.set(xlim=(0, 1), xlabel="probability under the exact posterior", ylabel="distribution function − uniform")
    legend(ax, title="parameter", last=1)
    return ax


def _check_columns(name: str, table: Any, columns: list[str], source: str) -> None:
    """Raise a ValueError unless the table has rows, and these columns.

    Parameters
    ----------
    name : of the argument that gives the table, for the message
    table : a data frame, or anything else that the user gave
    columns : names that it needs to have
    source : what to give, for the message, such as "`rank_features` returns"
    """
    existing = getattr(table, "columns", ())  # none if it is no data frame
    missing = [column for column in columns if column not in existing]
    if missing or not len(table):
        problem = f"no column {missing[0]!r}" if missing else "no rows"
        raise ValueError(f"`{name}` has {problem}; give what {source}")


def _truth(estimator: Any, y: Any, n: int) -> np.ndarray:
    """Class number of each of n rows, (n,), from their labels; −1 of all rows if `y` is None."""
    if y is None:
        return np.full(n, -1)
    if np.shape(y) != (n,):
        raise ValueError(f"`y` has shape {np.shape(y)}; `X` has {n} rows, and each needs one label")
    # the position of each label in `classes_`; ValueError for a label that is no class
    return places_of(np.asarray(y), estimator.classes_)


def _class_style(estimator: Any, k: int, ax: Drawn) -> dict[str, Any]:
    """Marker and name of class k, for a plot; of rows without labels, whose k is −1, a marker alone."""
    if k < 0:
        return {"color": ink(ax), "marker": "o"}
    return marker(k) | {"label": plain_text(estimator.classes_[k])}
