"""Parameters: prior and posterior densities, intervals, the simplex, the path of smoothing, what the prior predicts."""

import copy
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import stats
from scipy.optimize import minimize_scalar

from ..analysis._suited import check_own
from ..analysis.importance import named
from ..base import to_sites
from ..core.supports import checked_numbers
from ..inference.given_draws import by_site
from ..inference.held_out import column_of
from ..inference.tables import Parameter, parameters_of
from ..naive_bayes import CLASS
from ._common import (
    Drawn,
    colour,
    column,
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
)

_TRIANGLE = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, np.sqrt(0.75)]])  # corners of the simplex
_SIMPLEX_STEPS = 160  # points along a side
_DECADES = 1.5  # of parameters on one axis, from which on it is logarithmic
_MAX_FEATURES = 20  # lines of a plot where none are named


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
    estimator = named(estimator, None, "a plot of parameters")
    estimator.prior_.require_proper("densities of the prior to plot")
    prior = _parameter_of_feature(estimator, estimator.prior_, feature, parameter, category)
    posterior = _parameter_of_feature(estimator, estimator.posterior_, feature, parameter, category)
    middle = posterior.quantiles(np.linspace(0.005, 0.995, 301))
    start, end = _plotted_range(prior, posterior)
    # quantiles of the posteriors as well, so that the grid is fine enough for a narrow one
    x = np.union1d(np.linspace(start, end, 301)[1:-1], middle[(middle > start) & (middle < end)])
    posterior_density = posterior.densities(x)
    samples = None if draws is None else posterior.draws(draws, estimator)
    ax = ax or new_axes()
    _draw_densities(ax, posterior, x, prior.densities(x), posterior_density)
    if samples is not None:
        _draw_histograms(ax, posterior, samples)
    is_in_middle = (middle[0] <= x[:, None]) & (x[:, None] <= middle[-1])
    highest = posterior_density[is_in_middle].max()  # elsewhere a density may have no bound
    ax.set(xlim=(start, end), ylim=(0, 1.1 * highest), ylabel="density")
    name_axes(ax, plain_text(posterior.description, 60))
    legend(ax, inside=True, last=samples is not None)
    return ax


def _plotted_range(prior: "_FeatureParameter", posterior: "_FeatureParameter") -> tuple[float, float]:
    """All posteriors, and the middle of the priors as far as it is near them, with a margin inside the support."""
    tails = posterior.quantiles([0.001, 0.999])
    prior_middle = prior.quantiles([0.1, 0.9])
    support = posterior.quantiles([0, 1])
    half_width = np.ptp(tails) / 2
    start = np.clip(prior_middle.min(), tails.min() - half_width, tails.min())
    end = np.clip(prior_middle.max(), tails.max(), tails.max() + half_width)
    margin = 0.05 * (end - start)
    return max(start - margin, support.min()), min(end + margin, support.max())


def _draw_densities(
    ax: Drawn, posterior: "_FeatureParameter", x: np.ndarray, prior_density: np.ndarray, posterior_density: np.ndarray
) -> None:
    """The curves of all classes: dashed for the prior, once if the classes share it, and solid for the posterior."""
    is_shared = bool((prior_density == prior_density[:, :1]).all())
    for i, (k, label) in enumerate(posterior.classes()):
        style = _class_line(ax, k)
        if is_shared and i == 0:
            ax.plot(x, prior_density[:, i], color=ink(ax), linestyle="--", linewidth=1.2, label="prior")
        elif not is_shared:
            ax.plot(
                x, prior_density[:, i], color=style["color"], linestyle="--", linewidth=1.2, label=f"prior, {label}"
            )
        ax.plot(x, posterior_density[:, i], **style, linewidth=2, label=f"posterior, {label}")


def _draw_histograms(ax: Drawn, posterior: "_FeatureParameter", samples: np.ndarray) -> None:
    """A histogram of the draws (m, k) of each class, and one entry for all of them in the legend."""
    for i, (k, _) in enumerate(posterior.classes()):
        ax.hist(samples[:, i], "auto", density=True, color=_class_line(ax, k)["color"], alpha=0.3)
    ax.fill_between([], [], color=ink(ax), alpha=0.3, linewidth=0, label="posterior draws")


def _class_line(ax: Drawn, k: int | None) -> dict[str, Any]:
    """Colour and dashes of class k; those of the text where the classes share a parameter."""
    return {"color": ink(ax), "linestyle": "-"} if k is None else line(k)


def parameter_intervals(
    estimator: Any,
    features: Iterable[Any] | None = None,
    parameter: str | None = None,
    *,
    feature_names: Any = None,
    ax: Drawn | None = None,
) -> Drawn:
    """Posterior median and central 90 % interval of one parameter for several features, with one interval a class.

    Each line names its quantity, such as a mean or a probability, if the features have several. For words these are the
    beta marginals of the Dirichlet posterior. The axis is logarithmic if a positive parameter spans more than one and a
    half decades.

    Parameters
    ----------
    estimator : a fitted estimator
    features : names or positions, by default the first 20
    parameter : NumPyro site, by default the first site of the features' family
    feature_names : (d,) names of the features, by default the columns of the data frame

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
    estimator = named(estimator, feature_names, "a plot of parameters")
    shown = list(range(min(_MAX_FEATURES, estimator.n_features_in_)) if features is None else features)
    if not shown:
        raise ValueError("`features` is empty; name at least one")
    rows = [_parameter_of_feature(estimator, estimator.posterior_, feature, parameter) for feature in shown]
    ax = ax or new_axes()
    ends: list[list[float]] = []  # 5 %, 50 % and 95 % of each interval drawn
    for (k, label), lines in _intervals_by_class(rows, len(estimator.classes_)).items():
        style = {"color": ink(ax), "marker": "o"} if k is None else marker(k)
        intervals(ax, *np.array(lines).T, label=label, **style)
        ends += [quantiles for _, *quantiles in lines]
    kinds = {row.kind for row in rows}
    kind = kinds.pop() if len(kinds) == 1 else ""
    list_down(ax, [row.description.removeprefix(f"{kind} of ") for row in rows], has_legend=True)
    smallest = np.min(ends)
    largest = np.max(ends)
    if smallest > 0 and np.log10(largest / smallest) > _DECADES:
        ax.set_xscale("log")
    name_axes(ax, f"{kind}: median and 90% interval" if kind else "median and 90% interval")
    legend(ax)
    return ax


def _intervals_by_class(
    rows: "list[_FeatureParameter]", n_classes: int
) -> dict[tuple[int | None, str], list[list[float]]]:
    """Height, 5 %, 50 % and 95 % of each interval, by position and name of the class; None where classes share it."""
    by_class: dict[tuple[int | None, str], list[list[float]]] = {}
    for height, row in enumerate(rows):
        quantiles = row.quantiles([0.05, 0.5, 0.95]).T.tolist()
        for (k, label), of_class in zip(row.classes(), quantiles, strict=True):
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
    labels = ["1", "2", "3"] if names is None else [plain_text(name) for name in names]
    if len(labels) != 3:
        raise ValueError(f"`names` has {len(labels)} names; give three")
    ax = ax or new_axes()
    _draw_dirichlet(ax, concentration)
    marks = {"mean": (concentration, "o")}
    if concentration.min() > 1:
        marks["mode"] = (concentration - 1, "X")
    for name, (weights, shape) in marks.items():
        x, y = weights / weights.sum() @ _TRIANGLE
        ax.plot(x, y, shape, color=colour(4), markeredgecolor="white", linestyle="", label=name)
    ax.fill(*_TRIANGLE.T, facecolor="none", edgecolor=ink(ax))
    for corner, label in zip(_TRIANGLE, labels, strict=True):
        is_on_top = corner[1] > 0
        ax.annotate(
            label,
            corner,
            (0, 5 if is_on_top else -5),
            textcoords="offset points",
            ha="center",
            va="bottom" if is_on_top else "top",
            color=ink(ax),
        )
    ax.set(aspect="equal", xlim=(-0.1, 1.1), ylim=(-0.1, 0.96))
    ax.axis("off")
    ax.legend(frameon=False, loc="center left", bbox_to_anchor=(0, 0.6))
    return ax


def _draw_dirichlet(ax: Drawn, concentration: np.ndarray) -> None:
    """The density as colours, and the lines around 50 % and 90 % of the mass."""
    law = stats.dirichlet(concentration)
    i, j = np.nonzero(np.tri(_SIMPLEX_STEPS)[::-1])  # i + j < steps
    # a little inside the border, where the density may be 0 or ∞
    p = (np.stack([i, j, _SIMPLEX_STEPS - 1 - i - j], 1) + 1 / 3) / _SIMPLEX_STEPS
    density = law.pdf(p.T)
    density_of_draws = law.pdf(np.clip(law.rvs(4000, random_state=0), 1e-12, None).T)
    levels = np.quantile(density_of_draws, [0.1, 0.5])  # Hyndman (1996): regions of highest density from draws
    x, y = (p @ _TRIANGLE).T
    shown = np.minimum(density, np.quantile(density_of_draws, 0.99))
    ax.tripcolor(x, y, shown, shading="gouraud", cmap="cividis", rasterized=True)
    if levels[0] < levels[1] < density.max():
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
    estimator = named(estimator, feature_names, "a plot of parameters")
    statistics = estimator.statistics_
    smooths = all([*block.hyperparameters] == ["alpha"] for block in estimator.prior_.blocks.values())
    if not smooths or "alpha" not in estimator.get_params(deep=False):
        raise ValueError(
            f"`estimator` is a {type(estimator).__name__}, which has no α; "
            "give BernoulliNB, CategoricalNB, MultinomialNB or ComplementNB"
        )
    event = _parameter_of_feature(estimator, estimator.prior_, feature, None, category)
    (theta,) = event.parameters[:1]
    counts = statistics.blocks[theta.block]

    def prior_at(alpha: float) -> Any:
        changed = copy.copy(estimator)
        changed.alpha = alpha
        return changed.prior_for(statistics)

    def probabilities(parameters: Any) -> np.ndarray:
        """Of the event, (c,), from the parameters of its block."""
        by_class = to_sites(parameters)["theta"][theta.at].reshape(len(estimator.classes_), -1)
        return by_class[:, event.level]

    path = np.geomspace(1e-3, 1e3, 121)
    posteriors = [prior_at(alpha).blocks[theta.block].update(counts) for alpha in path]
    mean = np.array([probabilities(posterior.mean()) for posterior in posteriors])
    mode = np.array([probabilities(posterior.mode()) for posterior in posteriors])
    mle = probabilities(estimator.prior_.blocks[theta.block].mle(counts))
    ax = ax or new_axes()
    _draw_paths(ax, estimator.classes_, path, mean, mode, mle)
    log_best = minimize_scalar(lambda t: -float(prior_at(10**t).log_marginal(statistics)), bounds=(-3, 3)).x
    if abs(log_best) < 2.99:  # not at the end of the axis
        ax.axvline(10**log_best, color=ink(ax), linewidth=1.2, linestyle="-.", label="α of largest evidence")
    if np.ndim(estimator.alpha) == 0 and path[0] <= estimator.alpha <= path[-1]:
        ax.axvline(estimator.alpha, color="0.5", linewidth=1.2, label="α of the model")
    ax.set(xscale="log", xlim=path[[0, -1]])
    name_axes(ax, "α, pseudo-count of each kind of event", plain_text(event.description, 60))
    legend(ax, last=len(ax.get_legend_handles_labels()[0]) - len(estimator.classes_))
    return ax


def _draw_paths(
    ax: Drawn, classes: np.ndarray, path: np.ndarray, mean: np.ndarray, mode: np.ndarray, mle: np.ndarray
) -> None:
    """The curves (a, c) of the mean and the mode over the values of α, and the lines (c,) of n/N."""
    for k, label in enumerate(classes):
        ax.plot(path, mean[:, k], linewidth=2, markevery=0.12, markersize=5, label=plain_text(label), **marker(k))
        ax.plot(path, mode[:, k], color=colour(k), linewidth=1.4, linestyle="--")
        ax.axhline(mle[k], color=colour(k), linewidth=1.4, linestyle=":")
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
    check_own(estimator, "a plot of the prior")
    estimator = named(estimator, None)
    j = column(estimator, feature)
    drawn, labels = estimator.sample(4000, 0, source="prior")
    cells = pd.Series(column_of(drawn, j))
    rows = cells[:0] if X is None else pd.Series(column_of(X, j)).dropna().infer_objects()
    labels = labels[cells.notna()]
    cells = cells[cells.notna()]
    ax = ax or new_axes()
    if pd.api.types.is_numeric_dtype(cells) and pd.api.types.is_numeric_dtype(rows):
        cells = cells.to_numpy(float)
        rows = rows.to_numpy(float)
        edges = _edges_of_numbers(cells, rows)
    else:
        names = sorted({*cells, *rows}, key=str)  # of levels, which stand at 0, 1, 2, …
        cells = pd.Index(names).get_indexer(cells)
        rows = pd.Index(names).get_indexer(rows)
        edges = np.arange(len(names) + 1) - 0.5
        ax.set_xticks(range(len(names)), [plain_text(name, 14) for name in names])
        ax.tick_params("x", rotation=0 if sum(map(len, map(str, names))) < 30 else 90)
    if X is not None:
        ax.stairs(_shares(rows, edges), edges, fill=True, color="0.7", alpha=0.6, label="rows")
    for k, label in enumerate(estimator.classes_):
        name = f"prior, {plain_text(label)}"
        ax.stairs(_shares(cells[labels == label], edges), edges, linewidth=1.8, label=name, **line(k))
    ax.set_ylim(0, None)
    name_axes(ax, plain_text(feature_name(estimator, j), 60), "share of rows")
    legend(ax)
    return ax


def _edges_of_numbers(cells: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Edges of the bars: the middle of the numbers that are drawn, and all of the rows."""
    low, high = np.percentile(cells, [1, 99])
    low = np.min(rows, initial=low)
    high = np.max(rows, initial=high)
    if (np.append(cells, rows) % 1 == 0).all():
        step = max(1, np.ceil((high - low + 1) / 30))
        return np.arange(low - 0.5, high + step + 0.5, step)
    return np.linspace(low, high, 41)


def _shares(cells: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """The share of the cells between the edges."""
    return np.histogram(cells, edges)[0] / max(len(cells), 1)


# --- one parameter of one feature -----------------------------------------------------------------------------------


class _FeatureParameter(NamedTuple):
    """One parameter of one feature, such as the probability of a level.

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
        """Such as "mean" or "probability"."""
        return self.parameters[0].kind

    def classes(self) -> list[tuple[int | None, str]]:
        """Position and name of each class; the position is None where the classes share the parameter."""
        listed: list[tuple[int | None, str]] = []
        for parameter in self.parameters:
            listed += zip(parameter.classes, map(plain_text, parameter.labels), strict=True)
        return listed

    def quantiles(self, levels: Any) -> np.ndarray:
        """Quantiles (q, k) of the k classes."""
        return self._of_each_class("ppf", levels)

    def densities(self, x: np.ndarray) -> np.ndarray:
        """Densities (x, k) of the k classes."""
        return self._of_each_class("pdf", x)

    def _of_each_class(self, method: str, x: Any) -> np.ndarray:
        tables = []
        for parameter in self.parameters:
            tables.append(parameter.of_each(getattr(parameter.law, method), x)[..., self.level])
        return np.concatenate(tables, 1)

    def draws(self, data: Any, estimator: Any) -> np.ndarray:
        """Draws (m, k) of all chains, from ArviZ data."""
        return np.concatenate([self._draws_of(parameter, data, estimator) for parameter in self.parameters], 1)

    def _draws_of(self, parameter: Parameter, data: Any, estimator: Any) -> np.ndarray:
        site = parameter.site
        if parameter.block != CLASS:
            site = estimator.posterior_.site(parameter.block, parameter.site)
        try:
            draws = np.asarray(by_site(data)[site])[parameter.at]
        except (KeyError, ValueError):
            raise ValueError(f"`draws` has no posterior of {site!r}; give what `sample_posterior` returned") from None
        return draws.reshape(-1, len(parameter.classes), len(parameter.levels))[..., self.level]


def _parameter_of_feature(
    estimator: Any, model: Any, feature: Any, site: str | None, category: Any = None
) -> _FeatureParameter:
    """A parameter by the name of its site, of a feature by name or position; the class probabilities for None."""
    j = None if feature is None else column(estimator, feature)
    name = "the class" if j is None else feature_name(estimator, j)
    all_parameters = parameters_of(estimator, model, j)
    first_site = {parameter.block: parameter.site for parameter in reversed(all_parameters)}
    parameters = [p for p in all_parameters if p.site == (site or first_site[p.block])]
    if not parameters:
        sites = ", ".join(dict.fromkeys(p.site for p in all_parameters)) or "no parameter that is learnt"
        raise ValueError(f"`parameter` is {site!r}; {name!r} has {sites}")
    levels = parameters[0].levels
    if category is not None and category not in levels:
        shown = [level for level in levels if level is not None]
        raise ValueError(f"`category` is {category!r}; {name!r} has the levels {shown}")
    place = 0 if category is None else levels.index(category)
    description = f"{parameters[0].kind} of {name}"
    if levels[place] is not None:
        description += f" = {levels[place]}"
    return _FeatureParameter(parameters, place, description)
