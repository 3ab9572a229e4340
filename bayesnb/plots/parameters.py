"""Parameters: prior and posterior densities, intervals, the simplex, the path of smoothing."""

import copy
from collections.abc import Iterable
from typing import Any

import numpy as np
from scipy import stats
from scipy.optimize import minimize_scalar

from ..analysis.importance import named
from ..base import to_sites
from ..core.arrays import Scalar
from ..core.supports import check_level
from ._common import (
    Drawn,
    colour,
    column,
    given_or_new,
    ink,
    intervals,
    legend_beside,
    legend_inside,
    line,
    list_down,
    marker,
    plain_text,
)
from ._parameter_cells import Cell, cells_of, column_places

_TRIANGLE = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, np.sqrt(0.75)]])  # corners of the simplex
_DECADES = 1.5  # of parameters on one axis, from which on it is logarithmic


def prior_to_posterior(
    estimator: Any,
    feature: Any = None,
    parameter: str | None = None,
    *,
    category: Any = None,
    draws: Any = None,
    feature_names: Any = None,
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
    feature_names : (d,) names of the features, by default the columns of the data frame

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
    cells = cells_of(named(estimator, feature_names), feature, parameter, category)
    samples = None if draws is None else [_draws_of(draws, cell) for cell in cells]
    ax = given_or_new(ax)
    low, high = _axis_range(cells)
    grid = np.linspace(low, high, 301)[1:-1]  # without the ends, where a density may be infinite
    priors = [cell.prior.pdf(grid) for cell in cells]
    one_prior = all(np.array_equal(prior, priors[0]) for prior in priors)
    top = 0.0
    for at, cell in enumerate(cells):
        style = {"color": ink(ax), "linestyle": "-"} if cell.k is None else line(cell.k)
        if not at or not one_prior:
            tone, label = (ink(ax), "prior") if one_prior else (style["color"], f"prior, {plain_text(cell.label)}")
            ax.plot(grid, priors[at], color=tone, linestyle="--", linewidth=1.2, label=label)
        middle = cell.posterior.ppf(np.linspace(0.005, 0.995, 301))  # fine enough, however narrow on these axes
        x = np.union1d(grid, middle[(middle > low) & (middle < high)])
        ax.plot(x, cell.posterior.pdf(x), **style, linewidth=2, label=f"posterior, {plain_text(cell.label)}")
        top = max(top, float(cell.posterior.pdf(middle).max()))
        if samples is not None:
            ax.hist(samples[at], "auto", density=True, color=style["color"], alpha=0.3)
    if samples is not None:
        ax.fill_between([], [], color=ink(ax), alpha=0.3, linewidth=0, label="posterior draws")
    ax.set(xlim=(low, high), ylim=(0, 1.1 * top), xlabel=plain_text(cells[0].quantity), ylabel="density")
    legend_inside(ax, last=samples is not None)
    return ax


def parameter_intervals(
    estimator: Any,
    features: Iterable[Any] | None = None,
    parameter: str | None = None,
    *,
    category: Any = None,
    level: Scalar = 0.9,
    feature_names: Any = None,
    ax: Drawn | None = None,
) -> Drawn:
    """Posterior median and central interval of one parameter for several features, with one interval a class.

    Each line names its quantity, such as a mean or a probability, if the features have several. For words these are the
    beta marginals of the Dirichlet posterior. The axis is logarithmic if a positive parameter spans more than one and a
    half decades.

    Parameters
    ----------
    estimator : a fitted estimator
    features : names or positions, by default the first 20
    parameter : NumPyro site, by default the first site of the features' family
    category : level of categorical features, by default the first level of each
    level : posterior mass inside, between 0 and 1
    feature_names : (d,) names of the features, by default the columns of the data frame

    Raises
    ------
    ValueError
        if there is no such feature, parameter or category, or `level` is out of range

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from bayesnb import GaussianNB, plots
    >>> X, y = load_iris(return_X_y=True)
    >>> nb = GaussianNB().fit(X, y)
    >>> ax = plots.parameter_intervals(nb, parameter="mu")
    """
    check_level(level)
    estimator = named(estimator, feature_names)
    wanted = list(range(min(20, estimator.n_features_in_)) if features is None else features)
    if not wanted:
        raise ValueError("`features` is empty; name at least one")
    rows = [cells_of(estimator, feature, parameter, category) for feature in wanted]
    ax, classes = given_or_new(ax), len(estimator.classes_)
    points: dict[int | None, list[tuple[float, ...]]] = {}
    for at, cells in enumerate(rows):
        for cell in cells:
            shift = 0.0 if cell.k is None else 0.6 * ((cell.k + 0.5) / classes - 0.5)
            tail = (1 - level) / 2
            points.setdefault(cell.k, []).append((at + shift, *cell.posterior.ppf([tail, 0.5, 1 - tail])))
    lowest, highest = np.inf, -np.inf
    for k, listed in points.items():
        y, low, middle, high = np.array(listed).T
        lowest, highest = min(lowest, low.min()), max(highest, high.max())
        style = {"color": ink(ax), "marker": "o"} if k is None else marker(k)
        label = plain_text(next(cell.label for cells in rows for cell in cells if cell.k == k))
        intervals(ax, y, low, middle, high, label=label, **style)
    kinds = {cells[0].kind for cells in rows}
    list_down(ax, [cells[0].event if len(kinds) == 1 else cells[0].quantity for cells in rows])
    if lowest > 0 and np.log10(highest / lowest) > _DECADES:
        ax.set_xscale("log")
    what = f"median and {level:.0%} interval"
    ax.set_xlabel(f"{kinds.pop()}: {what}" if len(kinds) == 1 else what)
    legend_beside(ax)
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
    try:
        concentration = np.asarray(alpha, float)
    except (TypeError, ValueError):
        concentration = np.zeros(0)
    if concentration.shape != (3,) or not (np.isfinite(concentration) & (concentration > 0)).all():
        raise ValueError(f"`alpha` is {alpha!r}; give three positive concentrations")
    labels = ["1", "2", "3"] if names is None else [plain_text(name) for name in names]
    if len(labels) != 3:
        raise ValueError(f"`names` has {len(labels)} names; give three")
    ax = given_or_new(ax)
    steps = 160
    i, j = np.meshgrid(np.arange(steps), np.arange(steps), indexing="ij")
    inside = i + j < steps
    p = np.stack([i[inside], j[inside], (steps - 1 - i - j)[inside]], 1)
    p = (p + 1 / 3) / steps  # a little inside: at its border the density is 0 or infinite where α is not 1
    law = stats.dirichlet(concentration)
    density = law.pdf(p.T)
    at_draws = law.pdf(np.clip(law.rvs(4000, random_state=0), 1e-12, None).T)
    levels = np.quantile(at_draws, [0.1, 0.5])  # Hyndman (1996): regions of highest density from draws
    x, y = (p @ _TRIANGLE).T
    shown = np.minimum(density, np.quantile(at_draws, 0.99))
    ax.tripcolor(x, y, shown, shading="gouraud", cmap="cividis", rasterized=True)
    if levels[0] < levels[1] < density.max():
        ax.tricontour(x, y, density, levels=levels, colors="white", linewidths=(0.8, 1.6))
    mean = concentration / concentration.sum()
    ax.plot(*(mean @ _TRIANGLE), "o", color=colour(4), markeredgecolor="white", linestyle="", label="mean")
    if (concentration > 1).all():
        mode = (concentration - 1) / (concentration - 1).sum()
        ax.plot(*(mode @ _TRIANGLE), "X", color=colour(4), markeredgecolor="white", linestyle="", label="mode")
    ax.fill(*_TRIANGLE.T, facecolor="none", edgecolor=ink(ax))
    for corner, label in zip(_TRIANGLE, labels, strict=True):
        va, away = ("bottom", 5) if corner[1] else ("top", -5)
        ax.annotate(label, corner, (0, away), textcoords="offset points", ha="center", va=va, color=ink(ax))
    ax.set(aspect="equal", xlim=(-0.1, 1.1), ylim=(-0.1, 0.96))
    ax.axis("off")
    ax.legend(frameon=False, loc="upper left")
    return ax


def smoothing_path(
    estimator: Any,
    feature: Any,
    *,
    category: Any = None,
    alphas: Any = None,
    feature_names: Any = None,
    ax: Drawn | None = None,
) -> Drawn:
    """Probability of one event in every class as a function of α: posterior mean, MAP and MLE.

    Let n of N events be of this kind, among K kinds. The curves are the mean (n + α)/(N + Kα), the joint mode
    max(n + α − 1, 0)/Σ max(· , 0), and n/N. Vertical lines mark the α of the estimator and the α with the largest
    evidence p(X, y | α), one for all features and classes. The second line is left out if it lies outside `alphas`. The
    plot only needs the sufficient statistics, no rows.

    Parameters
    ----------
    estimator : a fitted BernoulliNB, CategoricalNB, MultinomialNB or ComplementNB
    feature : name or position
    category : level of a categorical feature, by default its first
    alphas : positive numbers in increasing order, by default 121 from 10⁻³ to 10³
    feature_names : (d,) names of the features, by default the columns of the data frame

    Raises
    ------
    ValueError
        if the estimator has no α, or if the feature, the category or `alphas` cannot be used

    Examples
    --------
    >>> from bayesnb import MultinomialNB, plots
    >>> nb = MultinomialNB().fit([[2, 1, 0], [0, 1, 3]], ["ham", "spam"])
    >>> ax = plots.smoothing_path(nb, 2)
    """
    estimator = named(estimator, feature_names)
    j = column(estimator, feature)
    smooths = all([*block.hyperparameters] == ["alpha"] for block in estimator.prior_.blocks.values())
    if not smooths or "alpha" not in estimator.get_params(deep=False):
        raise ValueError(
            f"`estimator` is a {type(estimator).__name__}, which has no α; give BernoulliNB, CategoricalNB, "
            "MultinomialNB or ComplementNB"
        )
    path = np.geomspace(1e-3, 1e3, 121) if alphas is None else np.asarray(alphas, float)
    if path.ndim != 1 or len(path) < 2 or not (np.isfinite(path).all() and path[0] > 0 and (np.diff(path) > 0).all()):
        raise ValueError(f"`alphas` is {alphas!r}; it needs at least two positive numbers in increasing order")
    name, _ = column_places(estimator, j)[0]
    cell = cells_of(estimator, j, None, category)[0]

    def prior(alpha: float) -> Any:
        other = copy.copy(estimator)
        other.alpha = alpha
        return other.prior_for(estimator.statistics_)

    def probabilities(theta: Any) -> np.ndarray:
        every_class: Any = (slice(None), *cell.at[1:])
        return to_sites(theta)["theta"][every_class]

    posteriors = [prior(alpha).blocks[name].update(estimator.statistics_.blocks[name]) for alpha in path]
    mean = np.array([probabilities(block.mean()) for block in posteriors])
    mode = np.array([probabilities(block.mode()) for block in posteriors])
    mle = probabilities(estimator.prior_.blocks[name].mle(estimator.statistics_.blocks[name]))
    ax = given_or_new(ax)
    for k, label in enumerate(estimator.classes_):
        ax.plot(path, mean[:, k], linewidth=2, markevery=0.12, markersize=5, label=plain_text(label), **marker(k))
        ax.plot(path, mode[:, k], color=colour(k), linewidth=1.4, linestyle="--")
        ax.axhline(mle[k], color=colour(k), linewidth=1.4, linestyle=":")
    for estimate, dashes in (("posterior mean", "-"), ("mode (MAP)", "--"), ("maximum likelihood", ":")):
        ax.plot([], [], color=ink(ax), linestyle=dashes, label=estimate)
    best = minimize_scalar(
        lambda t: -float(prior(np.exp(t)).log_marginal(estimator.statistics_)),
        bounds=np.log(path[[0, -1]]),
        method="bounded",
    ).x
    if 1e-3 < (best - np.log(path[0])) / np.log(path[-1] / path[0]) < 1 - 1e-3:
        ax.axvline(np.exp(best), color=ink(ax), linewidth=1.2, linestyle="-.", label="α of largest evidence")
    if np.ndim(estimator.alpha) == 0 and path[0] <= estimator.alpha <= path[-1]:
        ax.axvline(estimator.alpha, color="0.5", linewidth=1.2, label="α of the model")
    ax.set(
        xscale="log",
        xlim=path[[0, -1]],
        xlabel="α, pseudo-count of each kind of event",
        ylabel=plain_text(cell.quantity),
    )
    legend_beside(ax, last=len(ax.get_legend_handles_labels()[0]) - len(estimator.classes_))
    return ax


def _axis_range(cells: list[Cell]) -> tuple[float, float]:
    """Ends of an axis that shows all posteriors, and the middle of the priors as far as it is near them."""
    low, high = np.array([cell.posterior.ppf([0.001, 0.999]) for cell in cells]).T
    before = np.array([cell.prior.ppf([0.1, 0.9]) for cell in cells]).T
    start, end, width = low.min(), high.max(), high.max() - low.min()
    start, end = max(min(start, before[0].min()), start - width / 2), min(max(end, before[1].max()), end + width / 2)
    margin, (least, most) = 0.05 * (end - start), cells[0].support
    return float(max(start - margin, least)), float(min(end + margin, most))


def _draws_of(draws: Any, cell: Cell) -> np.ndarray:
    """Draws of one parameter, of all chains."""
    try:
        values = np.asarray(draws["posterior"][cell.site])
    except (KeyError, TypeError, AttributeError):
        raise ValueError(f"`draws` has no posterior of {cell.site!r}; give what `sample_posterior` returned") from None
    at: tuple[Any, ...] = (..., *cell.at)
    return values[at].ravel()
