"""Parameters: prior and posterior densities, intervals, the simplex, the path of smoothing, what the prior predicts."""

import copy
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import stats
from scipy.optimize import minimize_scalar

from ..estimators._suited import check_own, fitted_copy
from ..families.base import to_sites
from ..models.naive_bayes import CLASS
from ..numerics.supports import check_least, checked_numbers
from ..posterior.given_draws import by_site
from ..posterior.held_out import column_of
from ..posterior.tables import Parameter, parameters_of
from ._common import (
    Drawn,
    colour,
    column,
    distinct_names,
    feature_name,
    in_lines,
    ink,
    intervals,
    legend,
    line,
    list_down,
    marker,
    name_axes,
    new_axes,
    plain_text,
    stacked_axes,
)

_TRIANGLE = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, np.sqrt(0.75)]])  # corners of the simplex
_SIMPLEX_STEPS = 160  # points along a side
_DECADES = 1.5  # of parameters on one axis, from which on it is logarithmic
_MAX_FEATURES = 20  # lines of a plot where none are named
_COMPARABLE = 4  # ratio of the sizes of two features that share an axis, at most
_NAME_LETTERS = 20  # of a line of a name, beside a legend
_MAX_NAME_LINES = 4
_FIGURE_WIDTH = 6.4  # inches, as all below
_MARGIN = 0.5  # of a figure, for the label below it
_PANEL_MARGIN = 0.4  # of a panel, for the numbers on its axis


def prior_to_posterior(
    estimator: Any,
    feature: Any = None,
    parameter: str | None = None,
    *,
    category: Any = None,
    draws: Any = None,
    ax: Drawn | None = None,
) -> Drawn:
    """Density of one parameter of one feature: the prior (dashed), and the posterior in each class.

    Parameters
    ----------
    estimator : a fitted estimator
    feature : name or position; None for the class probabilities
    parameter : NumPyro site, such as "theta", "mu" or "variance"; by default the first site of the feature's family.
        For "covariance" it is the variance of the feature
    category : level of a categorical feature, by default its first
    draws : ArviZ data of `sample_posterior`; the plot adds its draws as histograms
    ax : Axes to draw on, by default those of a new figure; they are returned

    Raises
    ------
    ValueError
        if there is no such feature, parameter or category

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from bayesnb import GaussianNB, plots
    >>> X, y = load_iris(return_X_y=True)
    >>> nb = GaussianNB().fit(X, y)
    >>> ax = plots.prior_to_posterior(nb, 0, "mu")
    """
    estimator = fitted_copy(estimator, what="a plot of parameters")  # another thread may fit the original meanwhile
    estimator.prior_.require_proper("densities of the prior to plot")

    # The parameter with its distributions in each of k classes (one, if they share it), before and after the data. It
    # has methods `quantiles` and `densities`, which give a column for each class.
    prior = _parameter_of_feature(estimator, estimator.prior_, feature, parameter, category)
    posterior = _parameter_of_feature(estimator, estimator.posterior_, feature, parameter, category)

    # m values at which the curves are computed: an even grid, and quantiles of the posterior of each class, so that
    # there are enough of them also where a posterior is narrow
    start, end = _plotted_range(prior, posterior)
    quantiles = posterior.quantiles(np.linspace(0.005, 0.995, 301))  # (301, k)
    quantiles_inside = quantiles[(quantiles > start) & (quantiles < end)]
    x = np.union1d(np.linspace(start, end, 301)[1:-1], quantiles_inside)  # (m,)

    posterior_density = posterior.densities(x)  # (m, k)
    samples = None if draws is None else posterior.draws(draws, estimator)  # (s, k) of s draws
    ax = ax or new_axes()
    _draw_densities(ax, posterior, x, prior.densities(x), posterior_density)
    if samples is not None:
        _draw_histograms(ax, posterior, samples)

    # The height is that of the posteriors between their outer quantiles, 0.5 % and 99.5 %: elsewhere a density may have
    # no bound, as a beta density with α < 1 has none at 0.
    lowest_quantile = quantiles[0]  # (k,)
    highest_quantile = quantiles[-1]
    is_in_middle = (lowest_quantile <= x[:, None]) & (x[:, None] <= highest_quantile)  # (m, k)
    highest = posterior_density[is_in_middle].max()
    ax.set(xlim=(start, end), ylim=(0, 1.1 * highest), ylabel="density")
    name_axes(ax, plain_text(posterior.description, 60))
    legend(ax, inside=True, last=samples is not None)
    return ax


def _plotted_range(prior: "_FeatureParameter", posterior: "_FeatureParameter") -> tuple[float, float]:
    """Where the axis of a parameter starts and ends.

    It shows the posterior of every class, and the middle 80 % of the prior as far as these lie within half a width of
    the posteriors, with a margin that stays inside the support.
    """
    # quantiles (2, k) of the k classes
    tails = posterior.quantiles([0.001, 0.999])
    prior_middle = prior.quantiles([0.1, 0.9])
    support = posterior.quantiles([0, 1])

    # The axis starts where the middle of the prior does, but at most half a width below the posteriors, and never above
    # their start; the end likewise. `np.clip(x, least, most)` does that: it is x, or the nearer bound where x is
    # outside. For example, posteriors from 4 to 6 and a prior from 0 to 5 give the start 3 and the end 6.
    half_width = np.ptp(tails) / 2  # of all posteriors together: (largest − smallest quantile) / 2
    start = np.clip(prior_middle.min(), tails.min() - half_width, tails.min())
    end = np.clip(prior_middle.max(), tails.max(), tails.max() + half_width)
    margin = 0.05 * (end - start)
    # the margin does not go beyond the support: a probability has no axis below 0
    return max(start - margin, support.min()), min(end + margin, support.max())


def _draw_densities(
    ax: Drawn, posterior: "_FeatureParameter", x: np.ndarray, prior_density: np.ndarray, posterior_density: np.ndarray
) -> None:
    """Draw the density curves of all classes: dashed for the prior, once if classes share it, solid for the posterior.

    Parameters
    ----------
    posterior : tells the classes
    x : (m,) values of the parameter
    prior_density, posterior_density : (m, k) at these values, of each of k classes
    """
    is_shared = bool((prior_density == prior_density[:, :1]).all())  # one prior for all classes
    dashed: dict[str, Any] = {"linestyle": "--", "linewidth": 1.2}
    # i is the column of the class in the tables, and k its number, which sets the colour
    for i, (k, label) in enumerate(posterior.classes()):  # k is None where the classes share the parameter
        style = _class_line(ax, k)
        if is_shared and i == 0:
            ax.plot(x, prior_density[:, i], color=ink(ax), label="prior", **dashed)
        elif not is_shared:
            ax.plot(x, prior_density[:, i], color=style["color"], label=f"prior, {label}", **dashed)
        ax.plot(x, posterior_density[:, i], **style, linewidth=2, label=f"posterior, {label}")


def _draw_histograms(ax: Drawn, posterior: "_FeatureParameter", samples: np.ndarray) -> None:
    """Draw a histogram of the draws (m, k) of each class, and one entry for all of them in the legend."""
    for i, (k, _) in enumerate(posterior.classes()):
        ax.hist(samples[:, i], "auto", density=True, color=_class_line(ax, k)["color"], alpha=0.3)
    ax.fill_between([], [], color=ink(ax), alpha=0.3, linewidth=0, label="posterior draws")  # only for the legend


def _class_line(ax: Drawn, k: int | None) -> dict[str, Any]:
    """Colour and dashes of class k; those of the text where the classes share a parameter."""
    return {"color": ink(ax), "linestyle": "-"} if k is None else line(k)


def parameter_intervals(
    estimator: Any,
    features: Iterable[Any] | None = None,
    parameter: str | None = None,
    *,
    n: int = _MAX_FEATURES,
    feature_names: Any = None,
    ax: Drawn | None = None,
) -> Drawn:
    """Posterior median and central 90 % interval of one parameter for several features, with one interval a class.

    Features in different units have panels of their own, one below the other: probabilities share one, and so do means
    or variances whose features are of comparable size, within a factor of four. The size of a mean is that of the
    values of its feature. A panel of positive numbers over more than one and a half decades has a logarithmic axis. For
    words these are the beta marginals of the Dirichlet posterior.

    Parameters
    ----------
    estimator : a fitted estimator
    features : names or positions, by default all, or the `n` whose parameter differs most clearly between the classes:
        by the distance of two medians over the width of their intervals. The figure says how many are not shown
    parameter : NumPyro site, by default the first site of the features' family
    n : largest number of features where none are named
    feature_names : (d,) names of the features, by default the columns of the data frame
    ax : Axes whose place the panels share, by default those of a new figure

    Returns
    -------
    the Axes of the first panel; `ax.figure.axes` has all of them

    Raises
    ------
    ValueError
        if there is no such feature or parameter

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from bayesnb import GaussianNB, plots
    >>> X, y = load_iris(return_X_y=True)
    >>> nb = GaussianNB().fit(X, y)
    >>> ax = plots.parameter_intervals(nb, parameter="mu")
    """
    check_least(1, n=n)  # ValueError unless a whole number of at least 1
    estimator = fitted_copy(estimator, feature_names, "a plot of parameters")
    lines = _lines_of_intervals(estimator, features, parameter, n)
    n_left_out = estimator.n_features_in_ - len(lines) if features is None else 0
    panels = _panels_of_units(lines)

    # the Axes of each panel, as high as its lines
    n_classes = len(estimator.classes_)
    is_given = ax is not None
    heights = [_panel_height(panel, n_classes) for panel in panels]
    ax = ax or new_axes(figsize=(_FIGURE_WIDTH, _MARGIN + sum(heights) + _PANEL_MARGIN * len(panels)))
    panel_axes = stacked_axes(ax, heights)

    for panel, own_ax in zip(panels, panel_axes, strict=True):
        _draw_panel(own_ax, panel, n_classes, None if is_given else _MAX_NAME_LINES)
    _name_panels(panel_axes, panels, n_left_out, estimator.n_features_in_)
    # beside the highest panel there is most room for a legend, which has all classes
    with_legend = panel_axes[int(np.argmax(heights))]
    _add_missing_classes(with_legend, panel_axes)
    legend(with_legend)
    return ax


class _Line(NamedTuple):
    """A line of a plot of intervals: the posterior of the parameter of one feature.

    Fields
    ------
    row : the parameter in each of k classes; k is 1 if they share it
    quantiles : (k, 3) its 5 %, 50 % and 95 % quantiles
    size : a positive number of its unit, to compare features by
    """

    row: "_FeatureParameter"
    quantiles: np.ndarray
    size: float

    @property
    def difference(self) -> float:
        """How clearly the classes differ: the largest |m_a − m_b| / √(w_a² + w_b²) of two of them.

        m is the median of a class and w half the width of its interval; 0 where the classes share the parameter.
        """
        low, median, high = self.quantiles.T  # (k,) each
        half_width = (high - low) / 2
        distance = abs(median[:, None] - median)  # (k, k)
        joint_width = np.hypot(half_width[:, None], half_width)
        return float((distance / np.maximum(joint_width, np.finfo(float).tiny)).max())


def _lines_of_intervals(estimator: Any, features: Any, site: str | None, n: int) -> list[_Line]:
    """The lines of the features that are named, or of all; of more than n those whose classes differ most clearly.

    Parameters
    ----------
    features : names or positions; None for all
    site : name of the parameter; None for the first of each feature
    """
    shown = list(range(estimator.n_features_in_) if features is None else features)
    if not shown:
        raise ValueError("`features` is empty; name at least one")
    lines = []
    for feature in shown:
        row = _parameter_of_feature(estimator, estimator.posterior_, feature, site)
        quantiles = row.quantiles([0.05, 0.5, 0.95]).T  # (k, 3)
        lines.append(_Line(row, quantiles, _size_of(estimator, feature, row, quantiles)))
    if features is None and len(lines) > n:
        return sorted(lines, key=lambda line: -line.difference)[:n]  # a stable sort: of equal ones the first
    return lines


def _size_of(estimator: Any, feature: Any, row: "_FeatureParameter", quantiles: np.ndarray) -> float:
    """The largest number of a parameter; of a mean also the largest standard deviation of its feature.

    A feature with a mean near 0 is therefore no smaller than its values.
    """
    largest = float(abs(quantiles).max())
    if row.kind != "mean":
        return largest
    parameters = parameters_of(estimator, estimator.posterior_, column(estimator, feature))
    variances = [p.of_each(p.law.ppf, [0.5]).max() for p in parameters if p.kind == "variance"]  # medians
    return max([largest, *np.sqrt(variances)])


def _panels_of_units(lines: list[_Line]) -> list[list[_Line]]:
    """The lines by unit: each kind of parameter, and of a kind that is no probability each order of size.

    The sizes in a panel are within a factor of four; the panel of the largest comes first. Lines keep their order.
    """
    by_kind: dict[str, list[_Line]] = {}
    for line_of_feature in lines:
        by_kind.setdefault(line_of_feature.row.kind, []).append(line_of_feature)
    panels = []
    for kind, of_kind in by_kind.items():
        if kind.endswith("probability"):  # all are numbers from 0 to 1
            panels.append(of_kind)
            continue
        sizes = sorted({line_of_feature.size for line_of_feature in of_kind}, reverse=True)
        while sizes:
            least = sizes[0] / _COMPARABLE
            largest = sizes[0]
            panels.append([one for one in of_kind if least <= one.size <= largest])
            sizes = [size for size in sizes if size < least]
    return panels


def _panel_height(panel: list[_Line], n_classes: int) -> float:
    """Inches that the lines of a panel need, each the same: for its classes, and for the longest name."""
    n_lines = max(len(in_lines(_name_of(line_of_feature), _NAME_LETTERS)) for line_of_feature in panel)
    of_name = 0.21 * min(n_lines, _MAX_NAME_LINES)
    of_classes = 0.18 + 0.1 * min(n_classes, 12)
    return len(panel) * max(of_name, of_classes)


def _draw_panel(ax: Drawn, panel: list[_Line], n_classes: int, n_name_lines: int | None) -> None:
    """Draw the intervals of all classes, in the colour and with the marker of the class; name the lines.

    Parameters
    ----------
    n_name_lines : lines of text of a name at most; None for as many as there is room for
    """
    by_class = _intervals_by_class(panel, n_classes)  # [height, 5 %, 50 %, 95 %] of each interval
    for (k, label), intervals_of_class in by_class.items():  # k is None where the classes share the parameter
        height, low, median, high = np.array(intervals_of_class).T  # one entry a feature
        intervals(ax, height, low, median, high, label=label, **_class_marker(ax, k))
    names = [_name_of(line_of_feature) for line_of_feature in panel]
    list_down(ax, names, _NAME_LETTERS, has_legend=True, n_lines=n_name_lines)

    # numbers of very different size need a logarithmic axis, if they are positive
    quantiles = np.concatenate([line_of_feature.quantiles for line_of_feature in panel])
    if quantiles.min() > 0 and np.log10(quantiles.max() / quantiles.min()) > _DECADES:
        ax.set_xscale("log")


def _name_of(line_of_feature: _Line) -> str:
    """The feature, and the level if it has some; the kind of the parameter stands at the axis."""
    row = line_of_feature.row
    return row.description.removeprefix(f"{row.kind} of ")


def _class_marker(ax: Drawn, k: int | None) -> dict[str, Any]:
    """Colour and marker of class k; those of the text where the classes share a parameter."""
    return {"color": ink(ax), "marker": "o"} if k is None else marker(k)


def _name_panels(axes: list[Drawn], panels: list[list[_Line]], n_left_out: int, n_features: int) -> None:
    """Say below each panel what it shows, and below the last what the marks are and how much is left out."""
    kinds = [panel[0].row.kind for panel in panels]
    text = f"{kinds[-1]}: median and 90% interval"
    if len(kinds) > len(set(kinds)):
        text += "\n(each panel has a scale of its own)"
    if n_left_out:
        text += f"\n({n_left_out:,} of {n_features:,} features are not shown: their classes differ less clearly)"
    for own_ax, kind in zip(axes[:-1], kinds[:-1], strict=True):
        if len(set(kinds)) > 1:
            name_axes(own_ax, kind)
    name_axes(axes[-1], text)


def _add_missing_classes(ax: Drawn, axes: list[Drawn]) -> None:
    """Give these Axes an entry of the legend for every class that only other panels have."""
    from matplotlib.artist import getp

    names = set(ax.get_legend_handles_labels()[1])
    for other in axes:
        for handle, name in zip(*other.get_legend_handles_labels(), strict=True):
            if name not in names:
                names.add(name)
                style = {key: getp(handle, key) for key in ("color", "marker")}
                ax.plot([], [], linestyle="", label=name, **style)


def _intervals_by_class(lines: list[_Line], n_classes: int) -> dict[tuple[int | None, str], list[list[float]]]:
    """Where intervals are drawn: for each class a list of [height, 5 %, 50 %, 95 %], one entry a feature.

    The key is the number and the name of the class; the number is None where classes share the parameter. The feature
    of a line i is at height i, and its classes stand above each other around it.

    Parameters
    ----------
    lines : of the features, from top to bottom
    """
    by_class: dict[tuple[int | None, str], list[list[float]]] = {}
    for height, line_of_feature in enumerate(lines):
        quantiles = line_of_feature.quantiles.tolist()  # (k, 3), a line for each class
        for (k, label), of_class in zip(line_of_feature.row.classes(), quantiles, strict=True):
            # between −0.3 and 0.3: two classes stand at −0.15 and 0.15, three at −0.2, 0 and 0.2
            shift = 0.0 if k is None else 0.6 * ((k + 0.5) / n_classes - 0.5)
            by_class.setdefault((k, label), []).append([height + shift, *of_class])
    return by_class


def simplex(alpha: Any, names: Iterable[Any] | None = None, *, ax: Drawn | None = None) -> Drawn:
    """Density of a Dirichlet distribution of three probabilities on the simplex.

    The lines enclose 50 % and 90 % of the mass. The circle is the mean α/Σα. The cross is the mode (α − 1)/Σ(α − 1), if
    all concentrations are above 1. At a corner the probability of its category is one.

    Parameters
    ----------
    alpha : (3,) positive concentrations: pseudo-counts, or pseudo-counts plus counts for a posterior
    names : names of the three categories
    ax : Axes to draw on, by default those of a new figure; they are returned

    Raises
    ------
    ValueError
        if `alpha` is not three positive numbers, or there are not three names

    Examples
    --------
    >>> from bayesnb import plots
    >>> ax = plots.simplex([3, 2, 6], ["free", "money", "thanks"])
    """
    concentration = checked_numbers("alpha", alpha, (3,))
    labels = ["1", "2", "3"] if names is None else [plain_text(name) for name in distinct_names([*names], 20)]
    if len(labels) != 3:
        raise ValueError(f"`names` has {len(labels)} names; give three")
    ax = ax or new_axes()
    _draw_dirichlet(ax, concentration)

    # the mean α/Σα as a circle, and the mode (α − 1)/Σ(α − 1) as a cross; three probabilities are a point in the
    # triangle: the mean of its corners with these weights
    points = {"mean": concentration / concentration.sum()}
    if concentration.min() > 1:
        points["mode"] = (concentration - 1) / (concentration - 1).sum()
    shapes = {"mean": "o", "mode": "X"}
    for name, probabilities in points.items():
        # p₁, p₂, p₃ as weights of the corners (0, 0), (1, 0) and (½, √¾): (1, 0, 0) is the first corner
        x, y = probabilities @ _TRIANGLE
        ax.plot(x, y, shapes[name], color=colour(4), markeredgecolor="white", linestyle="", label=name)

    # the border, and a name at each corner
    ax.fill(*_TRIANGLE.T, facecolor="none", edgecolor=ink(ax))
    for corner, label in zip(_TRIANGLE, labels, strict=True):
        # The name stands outside of the triangle: above the upper corner, and below the two others. It is centred, and
        # its bottom or its top is 5 points away from the corner.
        is_upper = corner[1] > 0
        offset = (0, 5 if is_upper else -5)
        ax.annotate(
            label,
            corner,
            offset,
            textcoords="offset points",
            ha="center",
            va="bottom" if is_upper else "top",
            color=ink(ax),
        )
    ax.set(aspect="equal", xlim=(-0.1, 1.1), ylim=(-0.1, 0.96))
    ax.axis("off")
    ax.legend(frameon=False, loc="center left", bbox_to_anchor=(0, 0.6))
    return ax


def _draw_dirichlet(ax: Drawn, concentration: np.ndarray) -> None:
    """Draw a Dirichlet density of three probabilities as colours, with lines around 50 % and 90 % of its mass.

    The region of highest density that holds a share of the mass is where the density is above a quantile of the
    densities at draws (Hyndman, 1996).

    Parameters
    ----------
    concentration : (3,) α
    """
    law = stats.dirichlet(concentration)

    # A grid on the triangle: all counts i, j and l that sum to the number of steps less 1. A third is added to each, so
    # that points lie a little inside the border, where the density may be 0 or ∞. The matrix is 1 where i + j < steps:
    # `np.tri` is 1 on and below the diagonal, and its rows are turned over. Of 3 steps they are (1, 1, 1), (1, 1, 0)
    # and (1, 0, 0).
    is_inside = np.tri(_SIMPLEX_STEPS)[::-1]
    i, j = np.nonzero(is_inside)
    counts = np.stack([i, j, _SIMPLEX_STEPS - 1 - i - j], 1)
    p = (counts + 1 / 3) / _SIMPLEX_STEPS  # (points, 3), with the sum 1
    density = law.pdf(p.T)

    # densities at draws of the distribution; a probability that is rounded to 0 has no density
    draws = law.rvs(4000, random_state=0)  # (4000, 3)
    density_of_draws = law.pdf(np.clip(draws, 1e-12, None).T)
    levels = np.quantile(density_of_draws, [0.1, 0.5])  # 90 % and 50 % of the draws have a larger density

    # colours stop at the top hundredth of the densities, which may have no bound
    x, y = (p @ _TRIANGLE).T
    shown = np.minimum(density, np.quantile(density_of_draws, 0.99))
    ax.tripcolor(x, y, shown, shading="gouraud", cmap="cividis", rasterized=True)
    if levels[0] < levels[1] < density.max():  # a uniform density has no such lines
        ax.tricontour(x, y, density, levels=levels, colors="white", linewidths=(0.8, 1.6))


def smoothing_path(
    estimator: Any,
    feature: Any,
    *,
    category: Any = None,
    feature_names: Any = None,
    ax: Drawn | None = None,
) -> Drawn:
    """Probability of one event in every class as a function of α: posterior mean, MAP and MLE.

    Let n of N events be of this kind, among K kinds. The curves are the mean (n + α)/(N + Kα), the joint mode
    max(n + α − 1, 0)/Σ max(· , 0), and n/N. Vertical lines mark the α of the estimator and the α with the largest
    evidence p(X, y | α), one for all features and classes, if they lie on the axis. The plot only needs the sufficient
    statistics, no rows.

    Parameters
    ----------
    estimator : a fitted BernoulliNB, CategoricalNB, MultinomialNB or ComplementNB
    feature : name or position
    category : level of a categorical feature, by default its first
    feature_names : (d,) names of the features, by default the columns of the data frame
    ax : Axes to draw on, by default those of a new figure; they are returned

    Raises
    ------
    ValueError
        if the estimator has no α, or if there is no such feature or category

    Examples
    --------
    >>> from bayesnb import MultinomialNB, plots
    >>> nb = MultinomialNB().fit([[2, 1, 0], [0, 1, 3]], ["ham", "spam"])
    >>> ax = plots.smoothing_path(nb, 2)
    """
    estimator = fitted_copy(estimator, feature_names, "a plot of parameters")
    statistics = estimator.statistics_  # sums over the rows, of each block

    # α has to be the only hyperparameter of every block, and a parameter of the estimator. `hyperparameters` of a block
    # has the names of the numbers that its prior is made of.
    has_only_alpha = all([*block.hyperparameters] == ["alpha"] for block in estimator.prior_.blocks.values())
    if not has_only_alpha or "alpha" not in estimator.get_params(deep=False):
        raise ValueError(
            f"`estimator` is a {type(estimator).__name__}, which has no α; "
            "give BernoulliNB, CategoricalNB, MultinomialNB or ComplementNB"
        )

    # the probability whose path is drawn, the block of the model that holds it, and the counts of this block
    event = _parameter_of_feature(estimator, estimator.prior_, feature, None, category)
    parameter = event.parameters[0]
    counts = statistics.blocks[parameter.block]

    def prior_at(alpha: float) -> Any:
        """The prior of the whole model with another α."""
        changed = copy.copy(estimator)
        changed.alpha = alpha
        # the estimator makes the prior; statistics matter only if it is scaled
        return changed.model_.prior_for(statistics)

    def probabilities(parameters: Any) -> np.ndarray:
        """Of the event in each class, (c,), from the parameters of its block."""
        # a site is a random variable of the NumPyro model; "theta" has the probabilities
        theta = to_sites(parameters)["theta"]  # of all features
        # `parameter.at` is the index of this feature in the array, whatever axes it has
        of_feature = theta[parameter.at].reshape(len(estimator.classes_), -1)  # (c, levels)
        return of_feature[:, event.level]

    # the three estimates: (a, c) at each of a values of α, and (c,) of maximum likelihood
    path = np.geomspace(1e-3, 1e3, 121)
    posteriors = [prior_at(alpha).blocks[parameter.block].update(counts) for alpha in path]
    mean = np.array([probabilities(posterior.mean()) for posterior in posteriors])
    mode = np.array([probabilities(posterior.mode()) for posterior in posteriors])
    mle = probabilities(estimator.prior_.blocks[parameter.block].mle(counts))
    ax = ax or new_axes()
    _draw_paths(ax, estimator.classes_, path, mean, mode, mle)

    # The α of the largest evidence, searched over its decimal logarithm t from −3 to 3, and the α of the estimator.
    # `log_marginal(statistics)` of a prior is the log evidence, parameters integrated out.
    log_best = minimize_scalar(lambda t: -float(prior_at(10**t).log_marginal(statistics)), bounds=(-3, 3)).x
    if abs(log_best) < 2.99:  # not at the end of the axis
        ax.axvline(10**log_best, color=ink(ax), linewidth=1.2, linestyle="-.", label="α of largest evidence")
    if np.ndim(estimator.alpha) == 0 and path[0] <= estimator.alpha <= path[-1]:
        ax.axvline(estimator.alpha, color="0.5", linewidth=1.2, label="α of the model")
    ax.set(xscale="log", xlim=path[[0, -1]])
    name_axes(ax, "α, pseudo-count of each kind of event", plain_text(event.description, 60))
    handles, _ = ax.get_legend_handles_labels()
    legend(ax, last=len(handles) - len(estimator.classes_))  # of many classes some are left out, but no other entry
    return ax


def _draw_paths(
    ax: Drawn, classes: np.ndarray, path: np.ndarray, mean: np.ndarray, mode: np.ndarray, mle: np.ndarray
) -> None:
    """Draw the three estimates of a probability in each class over the pseudo-count α.

    The posterior mean is a solid line with marks, the mode is dashed, and maximum likelihood is dotted.

    Parameters
    ----------
    classes : (c,) labels
    path : (a,) values of α
    mean, mode : (a, c) posterior mean and mode at each of them
    mle : (c,) the share n/N, whatever α
    """
    for k, label in enumerate(classes):
        ax.plot(path, mean[:, k], linewidth=2, markevery=0.12, markersize=5, label=plain_text(label), **marker(k))
        ax.plot(path, mode[:, k], color=colour(k), linewidth=1.4, linestyle="--")
        ax.axhline(mle[k], color=colour(k), linewidth=1.4, linestyle=":")
    # empty lines, so that the legend says which dashes are which estimate
    for estimate, dashes in (("posterior mean", "-"), ("mode (MAP)", "--"), ("maximum likelihood", ":")):
        ax.plot([], [], color=ink(ax), linestyle=dashes, label=estimate)


def prior(
    estimator: Any,
    feature: Any = 0,
    X: Any = None,
    *,
    ax: Drawn | None = None,
) -> Drawn:
    """Values of one column as the prior predicts them for each class, beside the values of rows.

    Each class has a line, the frequencies of values drawn from the prior predictive distribution. The grey bars are the
    cells of `X`. A prior suits a column if the bars lie in its probable range. It is vague if most of its values are
    impossible for real rows.

    Parameters
    ----------
    estimator : a fitted estimator, because its default prior may depend on the rows
    feature : name or position
    X : rows whose cells are shown for comparison, such as the training rows
    ax : Axes to draw on, by default those of a new figure; they are returned

    Raises
    ------
    ValueError
        if there is no such feature, or if the prior is improper and so cannot be sampled

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from bayesnb import GaussianNB, plots
    >>> X, y = load_iris(return_X_y=True)
    >>> nb = GaussianNB().fit(X, y)
    >>> ax = plots.prior(nb, 0)
    """
    check_own(estimator, "a plot of the prior")  # TypeError, with advice, unless the estimator can do that
    estimator = fitted_copy(estimator)  # another thread may fit the original meanwhile
    j = column(estimator, feature)  # its position

    # the cells of 4,000 rows drawn from the prior predictive, with their labels, and the cells of the rows of X
    drawn_rows, labels = estimator.sample(4000, 0, source="prior")
    all_drawn = pd.Series(column_of(drawn_rows, j))
    is_present = all_drawn.notna()
    drawn = all_drawn[is_present]
    labels_of_drawn = labels[is_present]
    of_rows = all_drawn[:0] if X is None else pd.Series(column_of(X, j)).dropna().infer_objects()

    # The edges of the bars, and both kinds of cells as positions on the axis. Numbers stand where they are; levels
    # stand at 0, 1, 2, …, in the middle of bars from −0.5 to 0.5, from 0.5 to 1.5 and so on.
    ax = ax or new_axes()
    if pd.api.types.is_numeric_dtype(drawn) and pd.api.types.is_numeric_dtype(of_rows):
        x_drawn = drawn.to_numpy(float)
        x_rows = of_rows.to_numpy(float)
        edges = _edges_of_numbers(x_drawn, x_rows)
    else:
        levels = sorted({*drawn, *of_rows}, key=str)
        x_drawn = pd.Index(levels).get_indexer(drawn)  # the position of each cell's level
        x_rows = pd.Index(levels).get_indexer(of_rows)
        edges = np.arange(len(levels) + 1) - 0.5
        ax.set_xticks(range(len(levels)), [plain_text(name) for name in distinct_names(levels, 14)])
        n_letters = sum(len(str(level)) for level in levels)
        # many letters do not fit beside each other, so that names stand upright
        ax.tick_params("x", rotation=0 if n_letters < 30 else 90)

    # grey bars for the rows, and a line for the drawn cells of each class
    if X is not None:
        ax.stairs(_shares(x_rows, edges), edges, fill=True, color="0.7", alpha=0.6, label="rows")
    for k, label in enumerate(estimator.classes_):
        name = f"prior, {plain_text(label)}"
        ax.stairs(_shares(x_drawn[labels_of_drawn == label], edges), edges, linewidth=1.8, label=name, **line(k))
    ax.set_ylim(0, None)
    name_axes(ax, plain_text(feature_name(estimator, j), 60), "share of rows")
    legend(ax)
    return ax


def _edges_of_numbers(cells: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Edges of the bars of two histograms, over the middle 98 % of the drawn cells and all cells of the rows.

    Whole numbers stand in the middle of bars that are a whole number wide, at most some 30 bars. Others have 40 bars.

    Parameters
    ----------
    cells : cells drawn from the prior, at least one
    rows : cells of the rows, perhaps none
    """
    # the range of the rows, and of the drawn cells without their tails
    low_of_drawn, high_of_drawn = np.percentile(cells, [1, 99])
    low = np.min(rows, initial=low_of_drawn)
    high = np.max(rows, initial=high_of_drawn)
    are_whole = bool((np.append(cells, rows) % 1 == 0).all())
    if are_whole:
        # for example, numbers from 0 to 2 have the edges −0.5, 0.5, 1.5 and 2.5; from 0 to 59 a bar is 2 wide
        step = max(1, np.ceil((high - low + 1) / 30))
        return np.arange(low - 0.5, high + step + 0.5, step)
    return np.linspace(low, high, 41)


def _shares(cells: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """The share of the cells in each bar between two neighbouring edges; cells beyond the edges are in none.

    All cells are counted in the divisor. Without a cell every share is 0.
    """
    counts, _ = np.histogram(cells, edges)
    return counts / max(len(cells), 1)


# --- one parameter of one feature -----------------------------------------------------------------------------------


class _FeatureParameter(NamedTuple):
    """One parameter of one feature, such as the probability of a level, in each of k classes; k is 1 if they share it.

    Fields
    ------
    parameters : of each block that holds it: one, or one for each class
    level : position of the level in a parameter of several levels, else 0
    description : what it is, in words
    """

    parameters: list[Parameter]
    level: int
    description: str

    @property
    def kind(self) -> str:
        """What the parameter is, in a word, such as "mean" or "probability"."""
        return self.parameters[0].kind

    def classes(self) -> list[tuple[int | None, str]]:
        """Position and name of each class; the position is None where the classes share the parameter.

        For example, [(0, "ham"), (1, "spam")] where each class has its own.
        """
        names: list[tuple[int | None, str]] = []
        for parameter in self.parameters:
            for k, label in zip(parameter.classes, parameter.labels, strict=True):
                names.append((k, plain_text(label)))
        return names

    def quantiles(self, levels: Any) -> np.ndarray:
        """Quantiles of the distribution in each of the k classes, (m, k), at m levels between 0 and 1."""
        return self._of_each_class("ppf", levels)  # the inverse of the distribution function

    def densities(self, x: np.ndarray) -> np.ndarray:
        """Densities in each of the k classes, (m, k), at m values."""
        return self._of_each_class("pdf", x)

    def _of_each_class(self, method: str, x: Any) -> np.ndarray:
        """A method of the distributions at m values x, (m, k), such as "ppf" or "pdf" of `scipy.stats`.

        A parameter has one distribution for each of its classes and levels, as an array of them (`law`). Of its levels
        only that of the picture is taken. Where every class has a block of its own, each adds a column.
        """
        tables = []
        for parameter in self.parameters:
            # of every class and level that the block has, (m, classes, levels)
            values = parameter.of_each(getattr(parameter.law, method), x)
            tables.append(values[..., self.level])
        return np.concatenate(tables, 1)

    def draws(self, data: Any, estimator: Any) -> np.ndarray:
        """Draws (m, k) of the parameter in each of k classes, all chains one after the other, from ArviZ data."""
        return np.concatenate([self._draws_of(parameter, data, estimator) for parameter in self.parameters], 1)

    def _draws_of(self, parameter: Parameter, data: Any, estimator: Any) -> np.ndarray:
        """Draws (m, k) of the parameter of one block, all chains one after the other, from ArviZ data.

        ValueError if the data hold no such variable.
        """
        # The name of the variable in the data: where a model has several blocks, `site` puts that of the block before
        # it.
        site = parameter.site
        if parameter.block != CLASS:
            site = estimator.posterior_.site(parameter.block, parameter.site)
        try:
            draws = np.asarray(by_site(data)[site])[parameter.at]  # of this feature
        except (KeyError, ValueError):
            raise ValueError(f"`draws` has no posterior of {site!r}; give what `sample_posterior` returned") from None
        # one axis for chains and draws; a parameter without levels has a single one
        by_level = draws.reshape(-1, len(parameter.classes), len(parameter.levels))  # (m, k, l)
        return by_level[..., self.level]


def _parameter_of_feature(
    estimator: Any, model: Any, feature: Any, site: str | None, category: Any = None
) -> _FeatureParameter:
    """One parameter of one feature, with its distributions in all classes; ValueError where there is none.

    Parameters
    ----------
    model : `prior_` or `posterior_` of the estimator, whose distributions are taken
    feature : by name or position; None for the class probabilities
    site : name of the parameter in NumPyro, such as "mu"; None for the first of the feature's family
    category : level of a categorical feature; None for its first
    """
    j = None if feature is None else column(estimator, feature)
    name = "the class" if j is None else feature_name(estimator, j)

    # All parameters of the feature, such as mean and variance; where each class has a block of its own, those of every
    # block. One of each block is taken: the one with the name, or else the first.
    all_parameters = parameters_of(estimator, model, j)
    first_sites: dict[str, str] = {}  # by block; `setdefault` keeps the first that comes
    for parameter in all_parameters:
        first_sites.setdefault(parameter.block, parameter.site)
    parameters = [p for p in all_parameters if p.site == (site or first_sites[p.block])]
    if not parameters:
        sites = ", ".join(dict.fromkeys(p.site for p in all_parameters)) or "no parameter that is learnt"
        raise ValueError(f"`parameter` is {site!r}; {name!r} has {sites}")

    # the level: a probability has one for each category; all else has a single one, 1 of a yes/no feature or None
    levels = parameters[0].levels
    if category is not None and category not in levels:
        shown = [level for level in levels if level is not None]
        raise ValueError(f"`category` is {category!r}; {name!r} has the levels {shown}")
    position = 0 if category is None else levels.index(category)

    # in words, such as "mean of petal length", or with a level "probability of colour = red"
    description = f"{parameters[0].kind} of {name}"
    if levels[position] is not None:
        description += f" = {levels[position]}"
    return _FeatureParameter(parameters, position, description)
