"""Parameters: prior and posterior densities, intervals, the simplex, the path of smoothing, what the prior predicts."""

import copy
from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats
from scipy.optimize import minimize_scalar

from ..analysis._suited import check_own
from ..analysis.importance import named
from ..base import to_sites
from ..core.supports import checked_numbers
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
_DECADES = 1.5  # of parameters on one axis, from which on it is logarithmic


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
    estimator.prior_.refuse_improper("densities of the prior to plot")
    before, *_ = _chosen(estimator, estimator.prior_, feature, parameter, category)
    found, at, quantity = _chosen(estimator, estimator.posterior_, feature, parameter, category)
    samples = None if draws is None else np.concatenate([_draws_of(draws, estimator, one, at) for one in found], 1)

    def values(some: list[Parameter], x: Any, method: str = "ppf") -> np.ndarray:
        return np.concatenate([one.of_each(getattr(one.law, method), x)[..., at] for one in some], 1)

    # all posteriors, and the middle of the priors as far as it is near them
    tails, near, support = values(found, [0.001, 0.999]), values(before, [0.1, 0.9]), values(found, [0, 1])
    start, end, half = tails.min(), tails.max(), np.ptp(tails) / 2
    start, end = np.clip(near.min(), start - half, start), np.clip(near.max(), end, end + half)
    margin = 0.05 * (end - start)
    start, end = max(start - margin, support.min()), min(end + margin, support.max())
    middle = values(found, np.linspace(0.005, 0.995, 301))  # fine enough, however narrow on these axes
    x = np.union1d(np.linspace(start, end, 301)[1:-1], middle[(middle > start) & (middle < end)])
    prior, posterior = values(before, x, "pdf"), values(found, x, "pdf")
    one_prior, ax = bool((prior == prior[:, :1]).all()), ax or new_axes()
    classes = [of for one in found for of in zip(one.classes, map(plain_text, one.labels), strict=True)]
    for i, (k, label) in enumerate(classes):
        style = {"color": ink(ax), "linestyle": "-"} if k is None else line(k)
        if i == 0 or not one_prior:
            dashes = {"color": ink(ax) if one_prior else style["color"], "linestyle": "--", "linewidth": 1.2}
            ax.plot(x, prior[:, i], **dashes, label="prior" if one_prior else f"prior, {label}")
        ax.plot(x, posterior[:, i], **style, linewidth=2, label=f"posterior, {label}")
        if samples is not None:
            ax.hist(samples[:, i], "auto", density=True, color=style["color"], alpha=0.3)
    if samples is not None:
        ax.fill_between([], [], color=ink(ax), alpha=0.3, linewidth=0, label="posterior draws")
    top = posterior[(middle[0] <= x[:, None]) & (x[:, None] <= middle[-1])].max()  # a density may have no bound
    ax.set(xlim=(start, end), ylim=(0, 1.1 * top), ylabel="density")
    name_axes(ax, plain_text(quantity, 60))
    legend(ax, inside=True, last=samples is not None)
    return ax


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
    wanted = list(range(min(20, estimator.n_features_in_)) if features is None else features)
    if not wanted:
        raise ValueError("`features` is empty; name at least one")
    rows = [_chosen(estimator, estimator.posterior_, feature, parameter) for feature in wanted]
    ax, c = ax or new_axes(), len(estimator.classes_)
    points: dict[tuple[int | None, str], list[list[float]]] = {}
    for place, (found, at, _) in enumerate(rows):
        for one in found:
            ends = one.of_each(one.law.ppf, [0.05, 0.5, 0.95])[..., at].T.tolist()
            for k, label, values in zip(one.classes, one.labels, ends, strict=True):
                shift = 0.0 if k is None else 0.6 * ((k + 0.5) / c - 0.5)
                points.setdefault((k, plain_text(label)), []).append([place + shift, *values])
    for (k, label), listed in points.items():
        style = {"color": ink(ax), "marker": "o"} if k is None else marker(k)
        intervals(ax, *np.array(listed).T, label=label, **style)
    kinds = {found[0].kind for found, *_ in rows}
    quantities = [quantity for *_, quantity in rows]
    one_kind = kinds.pop() if len(kinds) == 1 else ""
    list_down(ax, [name.removeprefix(f"{one_kind} of ") for name in quantities], has_legend=True)
    ends = np.concatenate([*points.values()])
    if ends[:, 1].min() > 0 and np.log10(ends[:, 3].max() / ends[:, 1].min()) > _DECADES:
        ax.set_xscale("log")
    name_axes(ax, f"{one_kind}: median and 90% interval".removeprefix(": "))
    legend(ax)
    return ax


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
    ax, steps, law = ax or new_axes(), 160, stats.dirichlet(concentration)
    i, j = np.nonzero(np.tri(steps)[::-1])  # i + j < steps
    p = (np.stack([i, j, steps - 1 - i - j], 1) + 1 / 3) / steps  # a little inside: the border may have density 0 or ∞
    density = law.pdf(p.T)
    at_draws = law.pdf(np.clip(law.rvs(4000, random_state=0), 1e-12, None).T)
    levels = np.quantile(at_draws, [0.1, 0.5])  # Hyndman (1996): regions of highest density from draws
    x, y = (p @ _TRIANGLE).T
    shown = np.minimum(density, np.quantile(at_draws, 0.99))
    ax.tripcolor(x, y, shown, shading="gouraud", cmap="cividis", rasterized=True)
    if levels[0] < levels[1] < density.max():
        ax.tricontour(x, y, density, levels=levels, colors="white", linewidths=(0.8, 1.6))
    places = {"mean": (concentration, "o")} | ({"mode": (concentration - 1, "X")} if concentration.min() > 1 else {})
    for name, (weights, shape) in places.items():
        x, y = weights / weights.sum() @ _TRIANGLE
        ax.plot(x, y, shape, color=colour(4), markeredgecolor="white", linestyle="", label=name)
    ax.fill(*_TRIANGLE.T, facecolor="none", edgecolor=ink(ax))
    for corner, label in zip(_TRIANGLE, labels, strict=True):
        va, away = ("bottom", 5) if corner[1] else ("top", -5)
        ax.annotate(label, corner, (0, away), textcoords="offset points", ha="center", va=va, color=ink(ax))
    ax.set(aspect="equal", xlim=(-0.1, 1.1), ylim=(-0.1, 0.96))
    ax.axis("off")
    ax.legend(frameon=False, loc="center left", bbox_to_anchor=(0, 0.6))
    return ax


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
    stats_of, path = estimator.statistics_, np.geomspace(1e-3, 1e3, 121)
    smooths = all([*block.hyperparameters] == ["alpha"] for block in estimator.prior_.blocks.values())
    if not smooths or "alpha" not in estimator.get_params(deep=False):
        what = f"`estimator` is a {type(estimator).__name__}, which has no α"
        raise ValueError(f"{what}; give BernoulliNB, CategoricalNB, MultinomialNB or ComplementNB")
    (one, *_), level, quantity = _chosen(estimator, estimator.prior_, feature, None, category)

    def prior(alpha: float) -> Any:
        other = copy.copy(estimator)
        other.alpha = alpha
        return other.prior_for(stats_of)

    def probabilities(theta: Any) -> np.ndarray:
        return to_sites(theta)["theta"][one.at].reshape(len(estimator.classes_), -1)[:, level]

    posteriors = [prior(alpha).blocks[one.block].update(stats_of.blocks[one.block]) for alpha in path]
    mean, mode = (np.array([probabilities(getattr(b, kind)()) for b in posteriors]) for kind in ("mean", "mode"))
    mle, ax = probabilities(estimator.prior_.blocks[one.block].mle(stats_of.blocks[one.block])), ax or new_axes()
    for k, label in enumerate(estimator.classes_):
        ax.plot(path, mean[:, k], linewidth=2, markevery=0.12, markersize=5, label=plain_text(label), **marker(k))
        ax.plot(path, mode[:, k], color=colour(k), linewidth=1.4, linestyle="--")
        ax.axhline(mle[k], color=colour(k), linewidth=1.4, linestyle=":")
    for estimate, dashes in (("posterior mean", "-"), ("mode (MAP)", "--"), ("maximum likelihood", ":")):
        ax.plot([], [], color=ink(ax), linestyle=dashes, label=estimate)
    best = minimize_scalar(lambda t: -float(prior(10**t).log_marginal(stats_of)), bounds=(-3, 3)).x
    if abs(best) < 2.99:
        ax.axvline(10**best, color=ink(ax), linewidth=1.2, linestyle="-.", label="α of largest evidence")
    if np.ndim(estimator.alpha) == 0 and path[0] <= estimator.alpha <= path[-1]:
        ax.axvline(estimator.alpha, color="0.5", linewidth=1.2, label="α of the model")
    ax.set(xscale="log", xlim=path[[0, -1]])
    name_axes(ax, "α, pseudo-count of each kind of event", plain_text(quantity, 60))
    legend(ax, last=len(ax.get_legend_handles_labels()[0]) - len(estimator.classes_))
    return ax


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
    cells, ax = pd.Series(column_of(drawn, j)), ax or new_axes()
    rows = cells[:0] if X is None else pd.Series(column_of(X, j)).dropna().infer_objects()
    cells, labels = cells[cells.notna()], labels[cells.notna()]
    if pd.api.types.is_numeric_dtype(cells) and pd.api.types.is_numeric_dtype(rows):
        cells, rows = cells.to_numpy(float), rows.to_numpy(float)
        low, high = np.percentile(cells, [1, 99])  # the middle of the numbers that are drawn, and all of the rows
        low, high = np.min(rows, initial=low), np.max(rows, initial=high)
        whole, step = (np.append(cells, rows) % 1 == 0).all(), max(1, np.ceil((high - low + 1) / 30))
        edges = np.arange(low - 0.5, high + step + 0.5, step) if whole else np.linspace(low, high, 41)
    else:  # levels, by their places
        names = sorted({*cells, *rows}, key=str)
        cells, rows = (pd.Index(names).get_indexer(part) for part in (cells, rows))
        edges = np.arange(len(names) + 1) - 0.5
        ax.set_xticks(range(len(names)), [plain_text(name, 14) for name in names])
        ax.tick_params("x", rotation=0 if sum(map(len, map(str, names))) < 30 else 90)

    def share(part: np.ndarray) -> np.ndarray:
        return np.histogram(part, edges)[0] / max(len(part), 1)

    if X is not None:
        ax.stairs(share(rows), edges, fill=True, color="0.7", alpha=0.6, label="rows")
    for k, label in enumerate(estimator.classes_):
        name = f"prior, {plain_text(label)}"
        ax.stairs(share(cells[labels == label]), edges, linewidth=1.8, label=name, **line(k))
    ax.set_ylim(0, None)
    name_axes(ax, plain_text(feature_name(estimator, j), 60), "share of rows")
    legend(ax)
    return ax


def _chosen(
    estimator: Any, model: Any, feature: Any, parameter: str | None, category: Any = None
) -> tuple[list[Parameter], int, str]:
    """One parameter of one feature, of each block that holds it; the place of the level; and what it is, in words."""
    j = None if feature is None else column(estimator, feature)
    name = "the class" if j is None else feature_name(estimator, j)
    every = parameters_of(estimator, model, j)
    first = {one.block: one.site for one in reversed(every)}
    found = [one for one in every if one.site == (parameter or first[one.block])]
    if not found:
        known = ", ".join(dict.fromkeys(one.site for one in every)) or "no parameter that is learnt"
        raise ValueError(f"`parameter` is {parameter!r}; {name!r} has {known}")
    levels = found[0].levels
    if category is not None and category not in levels:
        raise ValueError(
            f"`category` is {category!r}; {name!r} has the levels {[one for one in levels if one is not None]}"
        )
    at = 0 if category is None else levels.index(category)
    return found, at, f"{found[0].kind} of {name}" + ("" if levels[at] is None else f" = {levels[at]}")


def _draws_of(draws: Any, estimator: Any, one: Parameter, at: int) -> np.ndarray:
    """Draws (m, k) of a parameter, of all chains."""
    site = one.site if one.block == CLASS else estimator.posterior_.site(one.block, one.site)
    try:
        found = np.asarray(draws["posterior"][site])[one.at]
    except (KeyError, TypeError, AttributeError):
        raise ValueError(f"`draws` has no posterior of {site!r}; give what `sample_posterior` returned") from None
    return found.reshape(-1, len(one.classes), len(one.levels))[..., at]
