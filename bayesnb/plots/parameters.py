"""Parameters: prior and posterior densities, intervals, the simplex, the path of smoothing, what the prior predicts."""

import copy
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
import pandas as pd
from scipy import stats
from scipy.optimize import minimize_scalar

from ..analysis.importance import named
from ..base import to_sites
from ..core.arrays import Scalar
from ..core.supports import check_least, check_level, checked_numbers
from ..core.wishart import InverseWishartMarginal
from ..families.kernel_density import GridMarginal
from ..inference.held_out import column_of
from . import _common as common
from ._common import Drawn, colour, column, feature_name, given_or_new, ink, line, marker, plain_text

_TRIANGLE = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, np.sqrt(0.75)]])  # corners of the simplex
_DECADES = 1.5  # of parameters on one axis, from which on it is logarithmic


@dataclass(frozen=True)
class _Cell:
    """One scalar parameter of a class, or of all classes together.

    Fields
    ------
    k, label : the class, None and "all classes" where they share it
    site, at : NumPyro site, and the place in it
    prior, posterior : with the methods `pdf` and `ppf`
    kind, event : what it is, and of what: "probability" of "island = Biscoe"
    """

    k: int | None
    label: str
    site: str
    at: Any
    prior: Any
    posterior: Any
    kind: str
    event: str

    @property
    def quantity(self) -> str:
        return f"{self.kind} of {self.event}"


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
    cells = _cells_of(named(estimator, feature_names), feature, parameter, category)
    samples = None if draws is None else [_draws_of(draws, cell) for cell in cells]
    ax = given_or_new(ax)
    low, high = _axis_range(cells)
    grid = np.linspace(low, high, 301)[1:-1]  # without the ends, where a density may be infinite
    priors, top = [cell.prior.pdf(grid) for cell in cells], 0.0
    one_prior = all(np.array_equal(prior, priors[0]) for prior in priors)
    if one_prior:
        ax.plot(grid, priors[0], color=ink(ax), linestyle="--", linewidth=1.2, label="prior")
    for at, cell in enumerate(cells):
        style = {"color": ink(ax), "linestyle": "-"} if cell.k is None else line(cell.k)
        if not one_prior:
            label = f"prior, {plain_text(cell.label)}"
            ax.plot(grid, priors[at], color=style["color"], linestyle="--", linewidth=1.2, label=label)
        middle = cell.posterior.ppf(np.linspace(0.005, 0.995, 301))  # fine enough, however narrow on these axes
        x = np.union1d(grid, middle[(middle > low) & (middle < high)])
        ax.plot(x, cell.posterior.pdf(x), **style, linewidth=2, label=f"posterior, {plain_text(cell.label)}")
        top = max(top, float(cell.posterior.pdf(middle).max()))
        if samples is not None:
            ax.hist(samples[at], "auto", density=True, color=style["color"], alpha=0.3)
    if samples is not None:
        ax.fill_between([], [], color=ink(ax), alpha=0.3, linewidth=0, label="posterior draws")
    ax.set(xlim=(low, high), ylim=(0, 1.1 * top), ylabel="density")
    common.name_axes(ax, plain_text(cells[0].quantity, 60))
    common.legend(ax, inside=True, last=samples is not None)
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
    rows = [_cells_of(estimator, feature, parameter, category) for feature in wanted]
    ax, classes, tail = given_or_new(ax), len(estimator.classes_), (1 - level) / 2
    points: dict[int | None, list[tuple[float, ...]]] = {}
    labels: dict[int | None, str] = {}
    for at, cells in enumerate(rows):
        for cell in cells:
            shift = 0.0 if cell.k is None else 0.6 * ((cell.k + 0.5) / classes - 0.5)
            points.setdefault(cell.k, []).append((at + shift, *cell.posterior.ppf([tail, 0.5, 1 - tail])))
            labels[cell.k] = plain_text(cell.label)
    for k, listed in points.items():
        style = {"color": ink(ax), "marker": "o"} if k is None else marker(k)
        common.intervals(ax, *np.array(listed).T, label=labels[k], **style)
    kinds = {cells[0].kind for cells in rows}
    common.list_down(ax, [cells[0].event if len(kinds) == 1 else cells[0].quantity for cells in rows], has_legend=True)
    found = np.concatenate([*points.values()])
    if found[:, 1].min() > 0 and np.log10(found[:, 3].max() / found[:, 1].min()) > _DECADES:
        ax.set_xscale("log")
    common.name_axes(ax, f"{f'{kinds.pop()}: ' if len(kinds) == 1 else ''}median and {level:.0%} interval")
    common.legend(ax)
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
    ax, steps, law = given_or_new(ax), 160, stats.dirichlet(concentration)
    i, j = np.array([(i, j) for i in range(steps) for j in range(steps - i)]).T
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
    j, stats_of = column(estimator, feature), estimator.statistics_
    smooths = all([*block.hyperparameters] == ["alpha"] for block in estimator.prior_.blocks.values())
    if not smooths or "alpha" not in estimator.get_params(deep=False):
        what = f"`estimator` is a {type(estimator).__name__}, which has no α"
        raise ValueError(f"{what}; give BernoulliNB, CategoricalNB, MultinomialNB or ComplementNB")
    path = np.geomspace(1e-3, 1e3, 121) if alphas is None else checked_numbers("alphas", alphas, np.shape(alphas))
    if path.ndim != 1 or len(path) < 2 or not (np.diff(path) > 0).all():
        raise ValueError(f"`alphas` is {alphas!r}; it needs at least two positive numbers in increasing order")
    name, cell = _column_places(estimator, j)[0][0], _cells_of(estimator, j, None, category)[0]

    def prior(alpha: float) -> Any:
        other = copy.copy(estimator)
        other.alpha = alpha
        return other.prior_for(stats_of)

    def probabilities(theta: Any) -> np.ndarray:
        return to_sites(theta)["theta"][(slice(None), *cell.at[1:])]

    posteriors = [prior(alpha).blocks[name].update(stats_of.blocks[name]) for alpha in path]
    mean, mode = (np.array([probabilities(getattr(b, kind)()) for b in posteriors]) for kind in ("mean", "mode"))
    mle, ax = probabilities(estimator.prior_.blocks[name].mle(stats_of.blocks[name])), given_or_new(ax)
    for k, label in enumerate(estimator.classes_):
        ax.plot(path, mean[:, k], linewidth=2, markevery=0.12, markersize=5, label=plain_text(label), **marker(k))
        ax.plot(path, mode[:, k], color=colour(k), linewidth=1.4, linestyle="--")
        ax.axhline(mle[k], color=colour(k), linewidth=1.4, linestyle=":")
    for estimate, dashes in (("posterior mean", "-"), ("mode (MAP)", "--"), ("maximum likelihood", ":")):
        ax.plot([], [], color=ink(ax), linestyle=dashes, label=estimate)
    bounds = start, end = np.log(path[[0, -1]])
    best = minimize_scalar(lambda t: -float(prior(np.exp(t)).log_marginal(stats_of)), bounds=bounds).x
    if 1e-3 < (best - start) / (end - start) < 1 - 1e-3:
        ax.axvline(np.exp(best), color=ink(ax), linewidth=1.2, linestyle="-.", label="α of largest evidence")
    if np.ndim(estimator.alpha) == 0 and path[0] <= estimator.alpha <= path[-1]:
        ax.axvline(estimator.alpha, color="0.5", linewidth=1.2, label="α of the model")
    ax.set(xscale="log", xlim=path[[0, -1]])
    common.name_axes(ax, "α, pseudo-count of each kind of event", plain_text(cell.quantity, 60))
    common.legend(ax, last=len(ax.get_legend_handles_labels()[0]) - len(estimator.classes_))
    return ax


def prior(
    estimator: Any,
    feature: Any = 0,
    X: Any = None,
    *,
    n_draws: int = 4000,
    seed: int = 0,
    feature_names: Any = None,
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
    n_draws : number of rows drawn from the prior
    seed : seed of the draws
    feature_names : (d,) names of the features, by default the columns of the data frame

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
    check_least(1, n_draws=n_draws)
    estimator = named(estimator, feature_names)
    j = column(estimator, feature)
    drawn, labels = estimator.sample(n_draws, seed, source="prior")
    cells, rows = (pd.Series([], dtype=object) if one is None else pd.Series(column_of(one, j)) for one in (drawn, X))
    known, ax = cells.notna(), given_or_new(ax)
    cells, rows, labels = cells[known], rows.dropna(), labels[known]
    if pd.api.types.is_numeric_dtype(cells) and pd.api.types.is_numeric_dtype(rows.infer_objects()):
        edges = _edges(cells.to_numpy(float), rows.to_numpy(float))
    else:  # levels, by their places
        names = sorted({*cells, *rows}, key=str)
        cells, rows = (part.map({name: float(i) for i, name in enumerate(names)}) for part in (cells, rows))
        edges = np.arange(len(names) + 1) - 0.5
        ax.set_xticks(range(len(names)), [plain_text(name, 14) for name in names])
        ax.tick_params("x", rotation=0 if sum(map(len, map(str, names))) < 30 else 90)

    def share(part: pd.Series) -> np.ndarray:
        return np.histogram(part.to_numpy(float), edges)[0] / max(len(part), 1)

    if X is not None:
        ax.stairs(share(rows), edges, fill=True, color="0.7", alpha=0.6, label="rows")
    for k, label in enumerate(estimator.classes_):
        name = f"prior, {plain_text(label)}"
        ax.stairs(share(cells[labels == label]), edges, linewidth=1.8, label=name, **line(k))
    ax.set_ylim(0, None)
    common.name_axes(ax, plain_text(feature_name(estimator, j), 60), "share of rows")
    common.legend(ax)
    return ax


def _edges(cells: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Edges of bins for the middle of the numbers that are drawn, and for all of the rows."""
    ends = np.percentile(cells, [1, 99])
    low, high = np.min(rows, initial=ends[0]), np.max(rows, initial=ends[1])
    if (np.append(cells, rows) % 1 == 0).all():
        step = max(1, int(np.ceil((high - low + 1) / 30)))
        return np.arange(low - 0.5, high + step + 0.5, step)
    return np.linspace(low, high if high > low else low + 1, 41)


def _axis_range(cells: list[_Cell]) -> tuple[float, float]:
    """Ends of an axis that shows all posteriors, and the middle of the priors as far as it is near them."""
    low, high = np.array([cell.posterior.ppf([0.001, 0.999]) for cell in cells]).T
    before = np.array([cell.prior.ppf([0.1, 0.9]) for cell in cells]).T
    start, end, width = low.min(), high.max(), high.max() - low.min()
    start, end = max(min(start, before[0].min()), start - width / 2), min(max(end, before[1].max()), end + width / 2)
    margin, (least, most) = 0.05 * (end - start), cells[0].posterior.support()
    return float(max(start - margin, least)), float(min(end + margin, most))


def _draws_of(draws: Any, cell: _Cell) -> np.ndarray:
    """Draws of one parameter, of all chains."""
    try:
        return np.asarray(draws["posterior"][cell.site])[(..., *cell.at)].ravel()
    except (KeyError, TypeError, AttributeError):
        raise ValueError(f"`draws` has no posterior of {cell.site!r}; give what `sample_posterior` returned") from None


# --- one parameter of one feature, class by class -------------------------------------------------------------------


def _entry_of(law: Any, at: tuple[int, ...]) -> Any:
    """One entry of the distribution of a whole site."""
    if isinstance(law, GridMarginal):
        return law.entry(at)
    if isinstance(law, InverseWishartMarginal):
        law, at = law.diagonal(), at[:-1]
    shape = np.shape(law.mean())
    args, named = jax.tree.map(lambda value: np.broadcast_to(value, shape)[at], (law.args, law.kwds))
    return law.dist(*args, **named)


def _cells_of(estimator: Any, feature: Any, parameter: str | None, category: Any) -> list[_Cell]:
    """One parameter of one feature, in every class, or once where the classes share it."""
    labels = [str(label) for label in estimator.classes_]
    estimator.prior_.refuse_improper("densities of the prior to plot")
    if feature is None:
        before, after = (nb.classes.marginals().get("pi") for nb in (estimator.prior_, estimator.posterior_))
        if parameter not in (None, "pi") or after is None:
            why = "the class probabilities are fixed" if after is None else f"{parameter!r} is a parameter of a feature"
            raise ValueError(f"`feature` is None, but {why}; name a feature")
        laws = [(_entry_of(before, (k,)), _entry_of(after, (k,))) for k in range(len(labels))]
        return [_Cell(k, labels[k], "pi", (k,), *own, "probability", "the class") for k, own in enumerate(laws)]
    cells: list[_Cell] = []
    j = column(estimator, feature)
    for name, i in _column_places(estimator, j):
        block = estimator.posterior_.blocks[name]
        before, after = estimator.prior_.blocks[name].marginals(), block.marginals()
        found = parameter or next(iter(after), "")
        if found not in after:
            known = f"has {', '.join(after)}" if after else "has no parameter that is learnt"
            raise ValueError(f"`parameter` is {parameter!r}; {feature_name(estimator, j)!r} {known}")
        inner = block.inner
        where, event = _where(estimator, inner, found, i, j, category)
        by_class = estimator.block_dims(name, found, np.ndim(after[found].mean()))[0].endswith("class")
        site, kind = estimator.posterior_.site(name, found), inner.names_.get(found, found)
        for at in [(own, *where) for own in range(inner.shape[0])] if by_class else [where]:
            k = at[0] if by_class and block.only_class is None else block.only_class
            label = "all classes" if k is None else f"{'not ' * inner.is_composite}{labels[k]}"
            cells.append(
                _Cell(k, label, site, at, _entry_of(before[found], at), _entry_of(after[found], at), kind, event)
            )
    return cells


def _column_places(estimator: Any, j: int) -> list[tuple[str, int]]:
    """Blocks that hold a column, and its place in each; one a class where every class has a likelihood of its own."""
    found = [(name, int(i)) for name, at in estimator.block_columns().items() for i in np.flatnonzero(at == j)]
    if not found:
        raise ValueError(f"`feature` {feature_name(estimator, j)!r} belongs to no part of the model; choose another")
    return found


def _where(estimator: Any, family: Any, parameter: str, i: int, j: int, category: Any) -> tuple[tuple[int, ...], str]:
    """Place of a feature's parameter after the axis of the classes, and what it is a parameter of."""
    event = feature_name(estimator, j)
    if parameter == "covariance":
        return (i, i), event
    if family.cells_.kind == "levels":
        levels = estimator.levels_of(j)
        at = np.flatnonzero(levels == category) if category is not None else np.arange(len(levels))[:1]
        if len(at) != 1:
            raise ValueError(f"`category` is {category!r}; {event!r} has the levels {levels.tolist()}")
        return (i, int(at[0])), f"{event} = {levels[at[0]]}"
    if category is not None:
        raise ValueError(f"`category` is {category!r}, but {event!r} is not categorical; leave it out")
    return (i,), f"{event} = 1" if family.cells_.kind == "yes/no" else event
