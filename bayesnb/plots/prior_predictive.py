"""What the prior predicts: values of one column before any row is seen."""

from typing import Any

import numpy as np
import pandas as pd

from ..analysis.importance import named
from ..core.supports import check_least
from ..inference.held_out import column_of
from ._common import Drawn, column, feature_name, given_or_new, legend_beside, line, plain_text

_BARS = 30  # distinct whole numbers that are drawn one by one
_BINS = 40
_MIDDLE = 1, 99  # percentiles that the axis shows


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
    cells = _cells(drawn, j)
    rows = cells[:0] if X is None else _cells(X, j)
    both = np.concatenate([cells, rows])
    ax = given_or_new(ax)
    if both.dtype.kind in "biuf":
        cells, rows = cells.astype(float), rows.astype(float)
        edges = _edges(cells, rows)
    else:  # levels, by their places
        names = sorted(set(both.tolist()), key=str)
        cells, rows = (np.array([names.index(one) for one in part.tolist()], float) for part in (cells, rows))
        edges = np.arange(len(names) + 1) - 0.5
        ax.set_xticks(range(len(names)), [plain_text(name) for name in names])
    if X is not None:
        ax.stairs(_shares(rows, edges), edges, fill=True, color="0.7", alpha=0.6, label="rows")
    for k, label in enumerate(estimator.classes_):
        ax.stairs(
            _shares(cells[labels == label], edges), edges, linewidth=1.8, label=f"prior, {plain_text(label)}", **line(k)
        )
    ax.set(xlabel=plain_text(feature_name(estimator, j)), ylabel="share of rows", ylim=(0, None))
    legend_beside(ax)
    return ax


def _cells(X: Any, j: int) -> np.ndarray:
    """One column, without missing cells."""
    cells = column_of(X, j)
    return cells[~pd.isna(cells)]


def _edges(cells: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Edges of bins for the middle of the numbers that are drawn, and for all of the rows."""
    low, high = np.percentile(cells, _MIDDLE)
    low, high = np.min(rows, initial=low), np.max(rows, initial=high)
    whole = np.concatenate([cells, rows]) % 1 == 0
    if whole.all():
        step = max(1, int(np.ceil((high - low + 1) / _BARS)))
        return np.arange(low - 0.5, high + step + 0.5, step)
    return np.linspace(low, high if high > low else low + 1, _BINS + 1)


def _shares(cells: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """Share of the cells in each bin."""
    return np.histogram(cells, edges)[0] / max(cells.size, 1)
