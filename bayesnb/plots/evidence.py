"""What features say: the evidence in one row, and the weights of a linear discriminant."""

from collections.abc import Iterator
from typing import Any

import jax
import numpy as np
from scipy import sparse

from ..core.arrays import Scalar
from ..core.random import generator
from ..naive_bayes import CLASS
from ._common import (
    Drawn,
    check_level,
    check_positive,
    class_index,
    colour,
    feature_name,
    given_or_new,
    ink,
    intervals,
    legend_beside,
    list_down,
    marker,
    named,
)

_CELLS = 1 << 22  # numbers of a table worked on at a time


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

        log p(x, y = a)/p(x, y = b) = log p(a)/p(b) + Σ_j log p(x_j | a)/p(x_j | b) + what the features say together

    The points are those of the current `estimate`, each feature alone, and add up to the log odds of
    `predict_joint_log_proba`, drawn last. Nothing is left for the last term where the features are independent given
    the class: with every estimate of the Bernoulli, categorical, Poisson, geometric, exponential, Gaussian and kernel
    variants, with all but "predictive" of the multinomial and the complement (integrated over one Dirichlet, its words
    depend on each other). With a full covariance it is what the correlations add. The intervals are quantiles of
    log p(x_j | a, θ)/p(x_j | b, θ) over the posterior of θ, and those of the sums; "predictive" takes logarithms of
    averages, so that its points need not lie in the middle.

    Parameters
    ----------
    estimator : fitted
    x : (1, d) one row, as in `predict`
    label : class a, by default the one predicted
    against : class b, by default the most probable of the others
    n : features shown, those of the largest evidence; all others are one line
    level : posterior mass inside, between 0 and 1
    n_draws, seed : draws of θ behind the intervals
    feature_names : (d,), by default those of the data frame fitted

    Raises
    ------
    ValueError
        if `x` is not one row, a label is no class, or a setting is out of range

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
    check_positive("n", n)
    check_positive("n_draws", n_draws)
    known = named(estimator, feature_names)
    joint = estimator.predict_joint_log_proba(x)
    if joint.shape[0] != 1:
        raise ValueError(f"`x` has {joint.shape[0]} rows; a nomogram shows one, such as X[[0]] or X.iloc[[0]]")
    a, b = _pair(estimator, joint[0], label, against)
    rows = {name: _dense(cells) for name, cells in estimator._encode(x).items()}
    posterior, theta, columns = estimator.posterior_, estimator._theta(), estimator._columns()

    def odds(table: np.ndarray) -> Any:
        return table[..., a] - table[..., b]

    alone = np.zeros(estimator.n_features_in_)
    for name, block in posterior.blocks.items():
        at = _there(block, rows[name])
        alone[columns[name][at]] += odds(_alone(block, None if theta is None else theta[name], rows[name], at))
    log_pi = posterior.classes.log_predictive() if theta is None else theta[CLASS]["log_pi"]
    prior, total = float(odds(log_pi)), float(odds(joint[0]))
    order = np.argsort(-abs(alone), kind="stable")[:n]
    shown = order[alone[order] != 0]
    rest, others = total - prior - alone[shown].sum(), np.count_nonzero(alone) - len(shown)
    coupled = abs(total - prior - alone.sum()) > 1e-9 * (1 + abs(alone).sum())

    draws = []
    for parameters in _draws(posterior, n_draws, seed):
        each = np.zeros((len(parameters[CLASS]["log_pi"]), len(alone)))
        for name, block in posterior.blocks.items():
            at = _there(block, rows[name])
            at = at[np.isin(columns[name][at], shown)]
            each[:, columns[name][at]] += odds(_alone(block, parameters[name], rows[name], at))
        whole = np.stack([odds(parameters[CLASS]["log_pi"]), odds(posterior.log_joint(rows, parameters))[:, 0]], 1)
        left = whole[:, 1:] - whole[:, :1] - each[:, shown].sum(1, keepdims=True)
        draws.append(np.concatenate([whole[:, :1], each[:, shown], left, whole[:, 1:]], 1))
    low, high = np.quantile(np.concatenate(draws), [(1 - level) / 2, (1 + level) / 2], axis=0)

    said = [f"{others} other features"] * bool(others) + ["together"] * bool(coupled)
    points, names = np.array([prior, *alone[shown], rest, total]), [_cell(known, x, j) for j in shown.tolist()]
    names = ["class prior", *names, " and ".join(said), "log odds"]
    if not said:
        points, low, high = (np.delete(values, -2) for values in (points, low, high))
        del names[-2]
    ax = given_or_new(ax)
    at = np.arange(len(names))
    intervals(ax, at[:-1], low[:-1], points[:-1], high[:-1], color=ink(ax), marker="o")
    intervals(ax, at[-1:], low[-1:], points[-1:], high[-1:], color=colour(4), marker="D")
    ax.axvline(0, color=ink(ax), linewidth=0.8, linestyle=":")
    ax.axhline(len(names) - 1.5, color=ink(ax), linewidth=0.8)
    list_down(ax, names)
    one, other = estimator.classes_[[a, b]]
    ax.set_xlabel(f"log odds of {one} against {other}, nats, {level:.0%} interval")
    return ax


def feature_weights(table: Any, n: int = 20, *, classes: Any = None, ax: Drawn | None = None) -> Drawn:
    """Weights of a linear discriminant with their posterior intervals, the largest on top.

    Parameters
    ----------
    table : data frame of `rank_features`: columns feature, weight, low, high, and class_ with more than two classes
    n : features shown, those of the largest weight of any class
    classes : the two labels, such as `estimator.classes_`: which of them a negative and a positive weight speaks for

    Raises
    ------
    ValueError
        if a column is missing, the table is empty, or `n` or `classes` is out of range

    Examples
    --------
    >>> from bayesnb import BernoulliNB, plots, rank_features
    >>> nb = BernoulliNB().fit([[1, 0], [1, 1], [0, 1], [0, 1]], ["a", "a", "b", "b"])
    >>> ax = plots.feature_weights(rank_features(nb), classes=nb.classes_)
    """
    missing = [name for name in ("feature", "weight", "low", "high") if name not in getattr(table, "columns", ())]
    if missing or not len(table):
        what = f"has no column {missing[0]!r}" if missing else "is empty"
        raise ValueError(f"`table` {what}; give what `rank_features` returns, or some of its rows")
    check_positive("n", n)
    by_class = "class_" in table.columns
    if classes is not None and (by_class or len(classes) != 2):
        raise ValueError(f"`classes` is {classes!r}; it names the two directions of a table of two classes")
    size = table["weight"].abs().groupby(table["feature"]).max()
    features = size.sort_values(ascending=False, kind="stable").index[:n].tolist()
    at = table["feature"].map({feature: i for i, feature in enumerate(features)})
    ax = given_or_new(ax)
    ax.axvline(0, color=ink(ax), linewidth=0.8, linestyle=":")
    labels = sorted(table["class_"].unique()) if by_class else [None]
    for k, label in enumerate(labels):
        own = table[at.notna() & (True if label is None else table["class_"] == label)]
        y = at[own.index] + 0.6 * ((k + 0.5) / len(labels) - 0.5)
        style = marker(k) if by_class else {"color": ink(ax), "marker": "o"}
        intervals(ax, y, own["low"], own["weight"], own["high"], label=label, **style)
    list_down(ax, features)
    sides = "" if classes is None else f"\n← {classes[0]}    {classes[1]} →"
    ax.set_xlabel(f"weight, log odds (nats) a unit of the feature{sides}")
    if by_class:
        legend_beside(ax)
    return ax


# --- one feature alone ----------------------------------------------------------------------------------------------


def _there(block: Any, x: np.ndarray) -> np.ndarray:
    """Places of a row (1, d) that hold something."""
    blank = block.missing_value
    return np.arange(x.shape[1]) if blank is None else np.flatnonzero(~np.isnan(x[0]) & (x[0] != blank))


def _alone(block: Any, theta: Any, x: np.ndarray, at: np.ndarray) -> np.ndarray:
    """log p(x_j | c), or log p(x_j | c, θ), of single features of a row (1, d): (…, m, c)."""
    if block.missing_value is None:  # rows are complete: the marginal of each feature
        tables = []
        for j in at:
            own = np.array([j])
            one, cell = block.select(own), x[:, own]
            part = theta and {k: v[..., own] if k == "mu" else v[..., own, :][..., own] for k, v in theta.items()}
            tables.append(one.log_predictive(cell) if part is None else one.log_likelihood(part, cell))
        return np.concatenate(tables, -2)
    step = max(1, _CELLS // x.shape[1])
    tables = []
    for start in range(0, max(len(at), 1), step):
        some = at[start : start + step]
        rows = np.full((len(some), x.shape[1]), block.missing_value)
        rows[np.arange(len(some)), some] = x[0, some]
        tables.append(block.log_predictive(rows) if theta is None else block.log_likelihood(theta, rows))
    return np.concatenate(tables, -2)


def _draws(posterior: Any, n: int, seed: int | np.random.Generator | None) -> Iterator[Any]:
    """Draws of all parameters, some at a time."""
    rng = generator(seed)
    step = max(1, _CELLS // sum(leaf.size for leaf in jax.tree.leaves(posterior)))
    for start in range(0, n, step):
        yield posterior.sample(rng, (min(step, n - start),))


def _pair(estimator: Any, joint: np.ndarray, label: Any, against: Any) -> tuple[int, int]:
    """The classes whose odds are shown."""
    if len(joint) < 2:
        raise ValueError(f"`estimator` knows one class, {estimator.classes_[0]!r}; odds are those of two")
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


def _dense(x: Any) -> np.ndarray:
    return x.toarray() if sparse.issparse(x) else x
