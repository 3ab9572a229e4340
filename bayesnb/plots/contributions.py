"""What features add to the log odds: of one row, and of one feature over its range."""

import contextlib
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ..calibration.base import AbstractCalibrated
from ..estimators._predicting import AbstractBayes
from ..estimators._suited import check_own, fitted_copy
from ..models.naive_bayes import NaiveBayes
from ..numerics.arrays import Scalar
from ..posterior.explanation import AVERAGING, OTHERS, PAIRS, PRIOR, Contributions
from ..posterior.held_out import column_of, take_rows
from ._common import (
    Drawn,
    class_at,
    colour,
    column,
    feature_name,
    ink,
    intervals,
    legend,
    line,
    list_down,
    name_axes,
    new_axes,
    numbers_of,
    plain_text,
    rows_with_one_column,
    shorten_middle,
    zero_line,
)

_MAX_FEATURES = 12  # of a nomogram
_NUMBERS = 1 << 24  # of all draws of all terms that are held at once
_EFFECT_POINTS = 61  # of a curve
_MAX_TICKS = 100  # rows that are marked on an axis
MAX_CURVES = 7  # classes, as many as there are colours


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

        log p(y = a | x)/p(y = b | x) = log p(a)/p(b) + Σ_j contribution of feature j

    The intervals are quantiles over draws from the posterior. The sum of the points is the last line, and a vertical
    mark there is the log odds of `predict_proba`. The 12 largest contributions are shown, and the others share one
    line. The method `explain` returns the contributions as a table, and defines them if features depend on each other.

    - *Naive Bayes*: the points are posterior means. The default `predict_proba` takes the logarithm of an average over
      the parameters, so it also learns from the row, and the mark may lie outside of the interval.
    - *A calibrated model*: a line says what calibration adds to the log odds of the model inside. The last line is the
      calibrated log odds.
    - *A discriminative model*: the points are the contributions of `explain`, which add up to the mark.

    Parameters
    ----------
    estimator : a fitted estimator, also a calibrated or a discriminative one
    x : (1, d) a single row, as in `predict`
    label, against : classes a and b, by default the most probable ones
    level : posterior mass inside, between 0 and 1
    n_draws : number of draws, which give the means and the intervals
    feature_names : (d,) names of the features, by default the columns of the data frame
    ax : Axes to draw on, by default those of a new figure; they are returned

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
    model = estimator
    if isinstance(estimator, AbstractCalibrated):
        model = getattr(estimator, "estimator_", estimator)
    check_own(model, "a nomogram", method="explain")  # TypeError, with advice, unless the estimator can do that
    with_names = fitted_copy(model, feature_names)  # another thread may fit the original meanwhile
    a, b = _two_classes(model, x, label, against)  # class numbers
    (draw,) = _nomograms(estimator, model, with_names, x, [(a, b)], level, n_draws)
    return draw(ax=ax or new_axes())


def nomograms(
    estimator: Any, X: Any, classes: Sequence[tuple[Any, Any]], *, level: Scalar, n_draws: int, feature_names: Any
) -> "list[Callable[..., Drawn]]":
    """A function for each row that draws its `nomogram` on `ax`; the parameters are drawn once for all rows.

    Parameters
    ----------
    X : (n, d) rows
    classes : n pairs of labels, whose log odds are shown
    """
    model = estimator.estimator_ if isinstance(estimator, AbstractCalibrated) else estimator
    with_names = fitted_copy(model, feature_names)
    numbers = [(class_at(model, label), class_at(model, against)) for label, against in classes]
    return _nomograms(estimator, model, with_names, X, numbers, level, n_draws)


def _nomograms(
    estimator: Any,
    model: Any,
    with_names: Any,
    X: Any,
    classes: Sequence[tuple[int, int]],
    level: Scalar,
    n_draws: int,
) -> "list[Callable[..., Drawn]]":
    """`nomograms` of class numbers, with the model inside of a calibrated one, and that with the names to show."""
    focus = [a for a, _ in classes]
    against = [model.classes_[b] for _, b in classes]
    settings: dict[str, Any] = {"n": _MAX_FEATURES, "level": level, "n_draws": n_draws}
    drawings: list[Callable[..., Drawn]] = []
    contributions_of_rows = model.model_.contributions_of_each_row(X, against, focus, **settings)
    for i, ((a, b), parts) in enumerate(zip(classes, contributions_of_rows, strict=True)):
        x = take_rows(X, np.array([i])) if len(classes) > 1 else X
        table = _lines_of_nomogram(parts, model, with_names, x, a)
        if isinstance(estimator, AbstractCalibrated):
            table = _with_calibration(table, estimator, x, a, b, level, n_draws)
        log_p = estimator.predict_log_proba(x)[0]
        names = (model.classes_[a], model.classes_[b])
        drawings.append(partial(_draw_nomogram, table, log_p[a] - log_p[b], names, level))
    return drawings


def _draw_nomogram(
    table: pd.DataFrame, log_odds: float, classes: tuple[Any, Any], level: Scalar, *, ax: Drawn
) -> Drawn:
    """Draw the lines of a nomogram.

    Parameters
    ----------
    table : `point`, `low` and `high` of each line, the last of them the sum
    log_odds : of `predict_proba`
    classes : the labels of the log odds
    level : posterior mass of the intervals
    """
    # a line for each entry, and below a ruler the last one, which is their sum
    height = np.arange(len(table))
    entries, total = table.iloc[:-1], table.iloc[-1]
    intervals(ax, height[:-1], entries["low"], entries["point"], entries["high"], color=ink(ax), marker="o")
    intervals(ax, height[-1:], total["low"], total["point"], total["high"], color=colour(4), marker="D")
    ax.plot(log_odds, height[-1], linestyle="", marker="|", markersize=12, color=colour(4))
    zero_line(ax)
    ax.axhline(height[-1] - 0.5, color=ink(ax), linewidth=0.8)

    list_down(ax, table.index, 36)  # names down the vertical axis
    name_a, name_b = (plain_text(label, 40) for label in classes)
    name_axes(
        ax,
        f"log odds of {name_a} against {name_b}, nats, {level:.0%} interval\n(bar in the last line: predict_proba)",
    )
    return ax


def _lines_of_nomogram(parts: Contributions, model: Any, with_names: Any, x: Any, a: int) -> pd.DataFrame:
    """What is drawn of one row: `point`, `low` and `high` of each entry, by its name, and last of the log odds.

    The entries are the class prior, the 12 features that contribute most to class a, and all others.

    Parameters
    ----------
    parts : what the features add to the log odds
    model : a naive Bayes or discriminative model
    with_names : the same, with the names of the features to show
    x : a single row
    a : number of the class whose log odds are shown
    """
    special = {PRIOR: "class prior", OTHERS: "other features", PAIRS: "pairs of columns", AVERAGING: "averaging"}
    names = [special.get(j) or _cell(with_names, x, j) for j in parts.feature.tolist()]
    # The means of a discriminative model are over weights of which a few may be huge; its prediction is not their mean.
    is_own = isinstance(model, AbstractBayes)
    point = parts.mean if is_own else parts.value
    total = parts.total_mean if is_own else parts.total
    lines = np.stack([point[:, a], parts.low[:, a], parts.high[:, a]], 1)  # (entries, 3)
    last = np.array([[total[0, a], parts.total_low[0, a], parts.total_high[0, a]]])
    return pd.DataFrame(np.concatenate([lines, last]), [*names, "log odds"], ["point", "low", "high"])


def _with_calibration(
    table: pd.DataFrame, estimator: Any, x: Any, a: int, b: int, level: Scalar, n_draws: int
) -> pd.DataFrame:
    """The lines of the model inside with one more, what calibration adds, and with the calibrated log odds as the last.

    Parameters
    ----------
    table : lines of the model inside
    estimator : the calibrated model
    x : a single row
    a, b : class numbers of the log odds
    level, n_draws : posterior mass of the intervals; number of draws
    """
    # the same draws of the parameters of the model inside, before and after calibration
    before = _drawn_log_odds(estimator.estimator_, x, a, b, n_draws)  # (n_draws,)
    after = _drawn_log_odds(estimator, x, a, b, n_draws)
    tails = [(1 - level) / 2, (1 + level) / 2]
    added = after - before
    entries = table.iloc[:-1]
    lines = {
        "calibration": [after.mean() - entries["point"].sum(), *np.quantile(added, tails)],
        "log odds": [after.mean(), *np.quantile(after, tails)],
    }
    return pd.concat([entries, pd.DataFrame.from_dict(lines, "index", columns=entries.columns)])


def _drawn_log_odds(estimator: Any, x: Any, a: int, b: int, n_draws: int) -> np.ndarray:
    """Draws of the log odds of class a against class b for a single row, (n_draws,)."""
    p = estimator.sample_proba(x, n_draws, np.random.default_rng(0))[:, 0]  # (n_draws, c)
    log_p = np.log(np.maximum(p, np.finfo(float).tiny))
    return log_p[:, a] - log_p[:, b]


def _two_classes(estimator: Any, x: Any, label: Any, against: Any) -> tuple[int, int]:
    """Numbers (a, b) of the two classes whose log odds are shown for a single row x.

    - a is the class `label`, and b the class `against`, where these are given.
    - Where one is None, the most probable class that is not taken yet is used, for a first.

    ValueError where `x` has more rows, or there are no two classes.
    """
    log_p = estimator.predict_log_proba(x)  # (1, c)
    if log_p.shape[0] != 1:
        raise ValueError(f"`x` has {log_p.shape[0]} rows; give a single row, such as X[[0]] or X.iloc[[0]]")
    a = None if label is None else class_at(estimator, label)
    b = None if against is None else class_at(estimator, against)

    # The classes that are not taken yet, the most probable one first. For example, with the log probabilities
    # (−3, −1, −2) they are 1, 2, 0; without `label` and `against`, a is 1 and b is 2.
    by_probability = np.argsort(-log_p[0], kind="stable").tolist()
    remaining = [k for k in by_probability if k not in (a, b)]
    if a is None and remaining:
        a = remaining.pop(0)
    if b is None and remaining:
        b = remaining.pop(0)
    if a is None or b is None or a == b:
        raise ValueError(f"`label` and `against` are {label!r} and {against!r}; log odds need two classes")
    return a, b


def _cell(estimator: Any, x: Any, j: int) -> str:
    """Feature j of a single row x and its value, as "name = value"."""
    row = x if hasattr(x, "shape") else np.asarray(x)
    value = column_of(row, j)[0]
    shown = f"{value:.4g}" if isinstance(value, float | np.floating) else shorten_middle(value, 24)
    return f"{feature_name(estimator, j)} = {shown}"


# --- one feature over its range ---------------------------------------------------------------------------------------


def feature_effect(
    estimator: Any,
    X: Any,
    feature: Any,
    *,
    label: Any = None,
    level: Scalar = 0.9,
    n_draws: int = 400,
    ax: Drawn | None = None,
) -> Drawn:
    """What one column of numbers adds to the log odds of a class, over its range, with its posterior interval.

    The curve is the posterior mean of the contribution where all other cells are missing, and the band its interval. Of
    a discriminative model the curve is the contribution of `explain`. With two classes the odds are against the other
    class, with more against the geometric mean of all others. The ticks on the axis are rows of X, 100 at most, at even
    ranks.

    Parameters
    ----------
    estimator : a fitted model whose columns are independent within a class, or a discriminative model; of a calibrated
        one the model inside, before calibration
    X : rows, which set the range and the ticks
    feature : name or position of a column of numbers
    label : the class, by default the second of two; without it each of more classes has a curve without a band, or the
        seven on which the column has the largest effect
    level : posterior mass of the interval, between 0 and 1
    n_draws : number of draws behind it
    ax : Axes to draw on, by default those of a new figure; they are returned

    Raises
    ------
    ValueError
        if `feature` is not a column, holds no numbers, or is one whose contribution depends on other columns; or if
        `label` is not a class

    Examples
    --------
    >>> import bayesnb
    >>> cancer = bayesnb.datasets.load("breast_cancer")
    >>> nb = bayesnb.GaussianNB().fit(cancer.X, cancer.y)
    >>> ax = bayesnb.plots.feature_effect(nb, cancer.X, "worst radius")
    """
    model = _model_of_effects(estimator)
    j = column(model, feature)
    effect_of_column = _effect_of(model, X, j, feature_name(model, j))
    (effect,) = _with_values(model, X, [effect_of_column], level, n_draws)
    k = None if label is None else class_at(model, label)
    return _draw_effect(model, effect, k, ax=ax or new_axes())


def feature_effects(
    estimator: Any, X: Any, features: Mapping[int, str], n: int, *, label: Any, level: Scalar, n_draws: int
) -> "dict[int, Callable[..., Drawn]]":
    """For each of the first n features that have a `feature_effect`, by position, a function that draws it on `ax`.

    The parameters are drawn once for several features.

    Parameters
    ----------
    features : names of columns by position, in the order in which they are tried
    label : as in `feature_effect`
    """
    model = _model_of_effects(estimator)
    k = None if label is None else class_at(model, label)
    with_picture: list[_Effect] = []
    for j, name in features.items():
        if len(with_picture) == n:
            break
        with contextlib.suppress(ValueError, TypeError):  # words, or a column that depends on others
            with_picture.append(_effect_of(model, X, j, name))
    effects = _with_values(model, X, with_picture, level, n_draws)
    return {effect.column: partial(_draw_effect, model, effect, k) for effect in effects}


class _Effect(NamedTuple):
    """What one column adds to the log odds of each class, at values over its range.

    Fields
    ------
    column, name : its position and its name
    cells : its finite cells, of all rows
    grid : (points,) ascending values
    value, low, high : (points, c) what they add, with the ends of the interval
    """

    column: int
    name: str
    cells: np.ndarray
    grid: np.ndarray
    value: np.ndarray | None = None
    low: np.ndarray | None = None
    high: np.ndarray | None = None


def _model_of_effects(estimator: Any) -> Any:
    """A copy of the model whose columns add up: of a calibrated one the model inside."""
    model = estimator.estimator_ if isinstance(estimator, AbstractCalibrated) else estimator
    check_own(model, "a plot of what a feature adds", method="explain")
    return fitted_copy(model)  # another thread may fit the original meanwhile


def _effect_of(model: Any, X: Any, j: int, name: str) -> _Effect:
    """The cells and the grid of column j, and what it is called; ValueError where it has no curve."""
    _refuse_dependent_column(model, j)
    cells = numbers_of(model, X, j)
    return _Effect(j, name, cells, _grid_over(cells))


def _with_values(model: Any, X: Any, effects: Sequence[_Effect], level: Scalar, n_draws: int) -> list[_Effect]:
    """The effects with their values; several columns share the draws, as many as memory allows."""
    numbers_of_column = n_draws * (model.n_features_in_ + 3) * _EFFECT_POINTS * len(model.classes_)
    n_at_once = max(1, _NUMBERS // numbers_of_column)
    completed = []
    for start in range(0, len(effects), n_at_once):
        some = effects[start : start + n_at_once]
        tables = [rows_with_one_column(model, X, effect.column, effect.grid) for effect in some]
        rows = pd.concat(tables, ignore_index=True) if hasattr(X, "iloc") else np.concatenate(tables)
        parts, _ = model.model_.contributions(rows, level=level, n_draws=n_draws)
        values = parts.mean if isinstance(model, AbstractBayes) else parts.value
        first_row = 0
        for effect in some:
            end = first_row + len(effect.grid)
            is_own = (parts.feature == effect.column) & (first_row <= parts.row) & (parts.row < end)
            entries = np.flatnonzero(is_own)
            # in ascending order of the rows, which are the points of the grid
            entries = entries[np.argsort(parts.row[entries], kind="stable")]
            completed.append(effect._replace(value=values[entries], low=parts.low[entries], high=parts.high[entries]))
            first_row = end
    return completed


def _draw_effect(model: Any, effect: _Effect, k: int | None, *, ax: Drawn) -> Drawn:
    """Draw the curve of class k with its band; without a class a curve for each, or for some of many."""
    value, low, high = effect.value, effect.low, effect.high
    assert value is not None and low is not None and high is not None
    grid = effect.grid
    shown = [k] if k is not None else _classes_with_curves(value)
    ax.axhline(0, color=ink(ax), linewidth=0.8, linestyle=":")
    for k in shown:
        style = line(k) if len(shown) > 1 else {"color": colour(0)}
        if len(shown) == 1:
            ax.fill_between(grid, low[:, k], high[:, k], color=style["color"], alpha=0.25, linewidth=0)
        ax.plot(grid, value[:, k], linewidth=1.8, label=plain_text(model.classes_[k]), **style)
    _draw_ticks(ax, effect.cells)
    name_axes(ax, plain_text(effect.name, 60), _effect_in_words(model, shown))
    if len(shown) > 1:
        n_more = len(model.classes_) - len(shown)
        if n_more:
            ax.plot([], [], linestyle="", label=f"and {n_more} more")
        legend(ax, last=1 if n_more else 0)
    return ax


def _classes_with_curves(value: np.ndarray) -> list[int]:
    """Class numbers that have a curve: the second of two, or all; of many classes those with the largest range.

    Parameters
    ----------
    value : (points, c) contribution to each class
    """
    n_classes = value.shape[1]
    if n_classes == 2:
        return [1]
    order = np.argsort(-np.ptp(value, axis=0), kind="stable")
    return sorted(order[:MAX_CURVES].tolist())


def _refuse_dependent_column(model: Any, j: int) -> None:
    """ValueError where what column j adds depends on other columns: then it has no curve of its own."""
    if not isinstance(model, AbstractBayes):  # a discriminative model adds up columns
        return
    posterior = model.posterior_
    for name, columns in model.model_.block_columns.items():
        # an average over one-dependence models has no blocks, and all of its columns depend on each other
        is_naive = isinstance(posterior, NaiveBayes)
        is_separable = is_naive and posterior.blocks[name].unwrapped.separable
        if j in columns and not is_separable and len(columns) > 1:
            raise ValueError(
                f"`feature` is {feature_name(model, j)!r}; in {type(model).__name__} what it adds depends on the other "
                "columns; `plots.nomogram` shows it for a single row"
            )


def _grid_over(cells: np.ndarray) -> np.ndarray:
    """Values from the smallest to the largest cell, at even distances; whole numbers if the cells are."""
    grid = np.linspace(cells.min(), cells.max(), _EFFECT_POINTS)
    if (cells % 1 == 0).all():
        return np.unique(grid.round())
    return grid


def _draw_ticks(ax: Drawn, cells: np.ndarray) -> None:
    """A tick on the horizontal axis for each cell, of many cells for some at even ranks."""
    ranks = np.linspace(0, len(cells) - 1, min(len(cells), _MAX_TICKS)).round().astype(int)
    shown = np.sort(cells)[ranks]
    style: dict[str, Any] = {"color": ink(ax), "markersize": 6, "alpha": 0.3, "clip_on": False}
    ax.plot(shown, np.zeros(len(shown)), "|", transform=ax.get_xaxis_transform(), **style)


def _effect_in_words(model: Any, shown: list[int]) -> str:
    """The label of the vertical axis: the classes of the log odds."""
    if len(shown) > 1:
        return "adds to the log odds of each class, nats"
    k = shown[0]
    text = f"adds to the log odds of {plain_text(model.classes_[k])}, nats"
    if len(model.classes_) == 2:
        text += f"\n(against {plain_text(model.classes_[1 - k])})"
    return text
