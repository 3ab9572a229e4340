"""How much each column says about the label: exact leave-one-out of the column alone, and of the model without it.

Both need the table log p(x_ij | y = c, D₋ᵢ) of a column, which is leave-one-out of the block that has only this column.
"""

from collections.abc import Callable, Iterable
from copy import copy
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import sparse
from scipy.stats import norm
from sklearn.utils.validation import check_is_fitted

from ..core.arrays import Float, Int, Scalar, Table
from ..core.progress import tracked
from ..core.special import log_normalize
from ..core.supports import check_level, is_single, shortened
from ..core.weights import RowWeights, Terms, row_weights
from ..inference.folds import FittedRows, Fold, folds
from ..inference.held_out import column_of
from ..inference.loo import group_places
from ..naive_bayes import Rows
from ..one_dependence import OneDependence
from ..sums.rows import rows_at
from ._suited import check_independent, check_own


def importance(
    estimator: Any,
    X: Any,
    y: Any,
    sample_weight: Any = None,
    *,
    groups: Any = None,
    held_out: bool = False,
    level: Scalar = 0.9,
) -> pd.DataFrame:
    """How well each column alone predicts the labels, and what the model loses without it, by exact leave-one-out.

        information_j = mean over rows of log p(y_i | x_ij, D₋ᵢ) − log p(y_i | D₋ᵢ)
        elpd_gain_j   = mean over rows of log p(y_i | x_i, D₋ᵢ) − log p(y_i | x_i without x_ij, D₋ᵢ)

    Both are in nats a row. The rows are those of the fit, and each is predicted from all others, without a refit. The
    information of a column that is independent of the label is at most 0 in expectation, however many levels it has.
    Where the interval reaches 0, the column is not shown to help.

    The table is sorted by `information`. `elpd_gain` is no ranking: it is what *this* model loses without the column.
    It is small for each of several columns that say the same, and negative where the model counts dependent columns
    twice.

    Parameters
    ----------
    estimator : a fitted estimator, or a fitted `CalibratedClassifierLOO`, whose `elpd_gain` is that of the calibrated
        probabilities, by the map as it is. A `DiscriminativeNB` answers by its own method `importance`
    X, y, sample_weight : rows, labels and weights, as in the method `loo`. Weights of an integer type count rows: one
        unit of a row leaves, and its term counts w times. Weights of a float type are importance: the row leaves whole
    groups : (n,) labels of groups of rows that are left out together, such as `inference.loo.copies(X, y)`
    held_out : True if the rows were not fitted. Nothing is then left out
    level : level of the intervals, mean ± z standard errors over the rows, or over the groups

    Returns
    -------
    pandas.DataFrame
        columns feature, information, low, high, elpd_gain, gain_low and gain_high. `OneDependenceNB` has no elpd_gain:
        it is NaN

    Raises
    ------
    TypeError
        if the estimator is not one of bayesnb
    ValueError
        if the rows were never fitted and `held_out` is False, or if `level` is out of range

    Notes
    -----
    With `MultinomialNB` and `ComplementNB` a column alone is the count of one kind of event among all events of its
    row. Without the column the other events are distributed as they are given this count. `GaussianDA` and families of
    your own take the marginal model of the columns. The prior is that of the fit ("kept"). `KernelNB` keeps the
    bandwidths that it has learnt where rows leave one by one, and learns them again where groups leave.

    References
    ----------
    Vehtari, Gelman & Gabry (2017), Statistics and Computing 27, (4) and (23): elpd, and its standard error.

    Examples
    --------
    >>> import numpy as np
    >>> from bayesnb import GaussianNB, importance
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(100, 2)), np.arange(100) % 2
    >>> X[:, 1] += 3 * y
    >>> table = importance(GaussianNB().fit(X, y), X, y)
    >>> table.feature.tolist(), bool(table.low[0] > 0.4), bool(table.low[1] < 0)
    ([1, 0], True, True)
    """
    if hasattr(type(estimator), "importance"):
        if held_out:
            raise ValueError("`held_out` is True; DiscriminativeNB leaves its training rows out, so give these")
        return estimator.importance(X, y, sample_weight, groups=groups, level=level)
    calibration = getattr(estimator, "calibrated", None)
    nb = estimator if calibration is None else estimator.estimator_
    check_own(nb, "importance")
    nb = named(nb, None)
    check_level(level)

    def log_proba(log_joint: Table) -> Table:
        log_p = log_normalize(log_joint)
        return log_p if calibration is None else np.log(calibration(log_p))

    label = nb.class_index(y)
    n = len(label)
    weights = row_weights(sample_weight, n)
    group = None if groups is None else group_places(groups, n)
    data = FittedRows(nb.encode(X), label, weights, group)
    if held_out:
        predictions = _of_new_rows(nb, data)
    else:
        predictions = _left_out(nb, data, nb.loo(X, y, weights, groups=groups))
    sums = _sum_scores(data, predictions, _block_columns_of_features(nb), log_proba)
    return _table(nb.feature_names(), sums, level)


class _Predictions(NamedTuple):
    """What the model with all columns says of the rows.

    Fields
    ------
    log_prior : (n, c) log p(y = c | D₋ᵢ)
    log_joint : (n, c) log p(x_i, y = c | D₋ᵢ)
    folds : the rows, with the model that predicts them
    """

    log_prior: Table
    log_joint: Table
    folds: Iterable[Fold]


def _of_new_rows(nb: Any, data: FittedRows) -> _Predictions:
    """Predictions of rows that were not fitted, so that nothing is left out."""
    log_joint = nb.posterior_.log_joint(data.rows)
    log_prior = np.broadcast_to(nb.posterior_.classes.log_predictive(), log_joint.shape)
    return _Predictions(log_prior, log_joint, [Fold(slice(None), nb.posterior_, None)])


def _left_out(nb: Any, data: FittedRows, loo: Any) -> _Predictions:
    """Leave-one-out predictions of the rows of the fit."""
    return _Predictions(loo.log_prior, loo.log_joint, folds(nb, data, "kept"))


def _block_columns_of_features(nb: Any) -> list[list[tuple[str, int]]]:
    """For each feature, the blocks that read it and its column in each: one block, or one for each class."""
    block_columns: list[list[tuple[str, int]]] = [[] for _ in range(nb.n_features_in_)]
    for block, features in nb.block_columns().items():
        for column, feature in enumerate(features):
            block_columns[feature].append((block, column))
    return block_columns


# --- scores of columns ------------------------------------------------------------------------------------------------


@dataclass
class _ScoreSums:
    """Sums over independent terms, of which the mean scores and their standard errors are made.

    A term has the weight v, the weighted score s, and occurs q times, as in `core.weights.Terms`. There are two scores
    of each feature: its information, and the gain of the model from it. Squares are summed about a centre m₀ near the
    mean, since a difference of large sums has lost digits.

    Fields
    ------
    centre : (2, d) m₀, the mean of the first terms of each feature; NaN before there are any
    u, u_v, u_squared : (2, d) Σ q u, Σ q u v and Σ q u², u = s − m₀ v
    v, v_squared : Σ q v and Σ q v²
    """

    centre: Float[np.ndarray, "2 d"]
    u: Float[np.ndarray, "2 d"]
    u_v: Float[np.ndarray, "2 d"]
    u_squared: Float[np.ndarray, "2 d"]
    v: float = 0.0
    v_squared: float = 0.0

    @classmethod
    def zero(cls, n_features: int) -> "_ScoreSums":
        return cls(np.full((2, n_features), np.nan), *np.zeros((3, 2, n_features)))

    def add_weights(self, terms: Terms) -> None:
        """Add the weights of some terms, which are the same for all features."""
        self.v += terms.times @ terms.weight
        self.v_squared += terms.times @ terms.weight**2

    def add(self, feature: int, terms: Terms) -> None:
        """Add the scores of a feature, `terms.value` (2, k), over some terms."""
        if not len(terms.weight):
            return
        if np.isnan(self.centre[:, feature]).all():
            self.centre[:, feature] = terms.mean()
        u = terms.value - np.multiply.outer(self.centre[:, feature], terms.weight)
        self.u[:, feature] += u @ terms.times
        self.u_v[:, feature] += u @ (terms.times * terms.weight)
        self.u_squared[:, feature] += u**2 @ terms.times

    def mean(self) -> Float[np.ndarray, "2 d"]:
        """Σ q s / Σ q v."""
        return self.centre + self.u / self.v

    def standard_error(self) -> Float[np.ndarray, "2 d"]:
        """√(Σ q (s − mean v)²) / Σ q v: that of a ratio of two sums over independent terms."""
        shift = self.u / self.v
        squares = self.u_squared - 2 * shift * self.u_v + shift**2 * self.v_squared
        return np.sqrt(np.maximum(squares, 0)) / self.v


def _sum_scores(
    data: FittedRows,
    predictions: _Predictions,
    columns_of_features: list[list[tuple[str, int]]],
    log_proba: Callable[[Table], Table],
) -> _ScoreSums:
    """The scores of every feature, summed over all rows fold by fold."""
    sums = _ScoreSums.zero(len(columns_of_features))
    for fold in tracked(predictions.folds, "importance", unit="parts of the rows"):
        part = _part_of(fold, data, predictions, log_proba)
        sums.add_weights(part.terms(np.zeros((2, len(part.label)))))
        for feature, block_columns in enumerate(columns_of_features):
            tables = _tables_of_feature(fold, part, block_columns)
            information = part.of_label(log_normalize(part.log_prior + tables.alone)) - part.log_p_prior
            gain = part.log_p_whole - part.of_label(log_proba(part.log_joint - tables.loss))
            sums.add(feature, part.terms(np.stack([information, gain])))
    return sums


class _Part(NamedTuple):
    """The rows of a fold, with what holds for all features.

    Fields
    ------
    cells : by block
    label : (m,) class index of each row
    weights : of each row
    group : (m,) of each row, 0 … g−1; None where each row is a group
    leaving : (m, c) weights with which the rows leave the model; None where they have left
    log_prior, log_joint : (m, c) as in `_Predictions`
    log_p_prior, log_p_whole : (m,) log p(y_i | D₋ᵢ) and log p(y_i | x_i, D₋ᵢ)
    """

    cells: dict[str, Any]
    label: Int[np.ndarray, " m"]
    weights: RowWeights
    group: Int[np.ndarray, " m"] | None
    leaving: Float[np.ndarray, "m c"] | None
    log_prior: Table
    log_joint: Table
    log_p_prior: Float[np.ndarray, " m"]
    log_p_whole: Float[np.ndarray, " m"]

    def of_label(self, table: Table) -> Float[np.ndarray, " m"]:
        """The entry of each row in the class of its label."""
        return _of_label(table, self.label)

    def terms(self, scores: Float[np.ndarray, "2 m"]) -> Terms:
        """Independent terms of sums of scores over the rows."""
        return self.weights.terms(scores, self.group)


def _of_label(table: Table, label: Int[np.ndarray, " m"]) -> Float[np.ndarray, " m"]:
    return table[np.arange(len(label)), label]


def _part_of(fold: Fold, data: FittedRows, predictions: _Predictions, log_proba: Callable[[Table], Table]) -> _Part:
    label = data.label[fold.rows]
    log_prior = predictions.log_prior[fold.rows]
    log_joint = predictions.log_joint[fold.rows]
    return _Part(
        cells=_columnwise(rows_at(data.rows, fold.rows)),
        label=label,
        weights=data.weights.rows(fold.rows),
        group=None if data.group is None else np.unique(data.group[fold.rows], return_inverse=True)[1],
        leaving=None if fold.leaving is None else fold.leaving.toarray(),
        log_prior=log_prior,
        log_joint=log_joint,
        log_p_prior=_of_label(log_normalize(log_prior), label),
        log_p_whole=_of_label(log_proba(log_joint), label),
    )


def _columnwise(rows: Rows) -> dict[str, Any]:
    """Rows whose columns are quick to take: sparse blocks are stored column by column."""
    return {block: x.tocsc() if sparse.issparse(x) else x for block, x in rows.items()}


# --- tables of one column ---------------------------------------------------------------------------------------------


class _ColumnTables(NamedTuple):
    """What a column adds to the table of its model.

    Fields
    ------
    alone : (m, c) log p(x_ij | y = c, D₋ᵢ), the column by itself
    loss : (m, c) what log p(x_i | y = c, D₋ᵢ) has less without the column
    """

    alone: Table
    loss: Table


def _tables_of_feature(fold: Fold, part: _Part, block_columns: list[tuple[str, int]]) -> _ColumnTables:
    """The tables of a feature, added up over the blocks that read it."""
    alone, loss = np.zeros((2, *part.log_joint.shape))
    for block, column in block_columns:
        tables = _tables_of_column(fold.model, block, part.cells[block], column, part.leaving)
        alone = alone + tables.alone
        loss = loss + tables.loss
    return _ColumnTables(alone, loss)


def _tables_of_column(
    model: Any, block_name: str, x: Any, j: int, leaving: Float[np.ndarray, "m c"] | None
) -> _ColumnTables:
    """Tables of column j of a block; rows leave the model with the weights `leaving`, or have left already."""

    def log_density(block: Any, x: Any) -> Table:
        return block.log_predictive(x) if leaving is None else block.log_loo(x, leaving)

    if isinstance(model, OneDependence):
        alone = _one_dependence_table(model, block_name, x, j, leaving)
        return _ColumnTables(alone, np.full_like(alone, np.nan))

    block = model.blocks[block_name]
    column = column_of(x, j)[:, None]
    if block.missing_value == 0:  # counts that share a row: events of one kind among all
        other_events = np.reshape(x.sum(1), (-1, 1)) - column
        alone = log_density(block.lump_other_columns(np.array([j])), np.hstack([column, other_events]))
        return _ColumnTables(alone, alone)

    alone = log_density(block.select(np.array([j])), column)
    if block.unwrapped.separable:
        return _ColumnTables(alone, alone)

    whole = log_density(block, x)
    others = np.delete(np.arange(x.shape[1]), j)
    if not len(others):
        return _ColumnTables(alone, whole)
    return _ColumnTables(alone, whole - log_density(block.select(others), x[:, others]))


def _one_dependence_table(
    model: OneDependence, block_name: str, x: np.ndarray, j: int, leaving: Float[np.ndarray, "m c"] | None
) -> Table:
    """log p(x_ij | y = c, D₋ᵢ) by rows in which all other cells are missing."""
    only_j = {block_name: np.where(np.arange(x.shape[1]) == j, x, np.nan)}
    tables = model.log_parts(only_j) if leaving is None else model.log_loo_parts(only_j, leaving)
    return tables[-1]


def _table(feature_names: Any, sums: _ScoreSums, level: Scalar) -> pd.DataFrame:
    """Means and intervals of both scores, a row for each feature, the most informative first."""
    information, gain = sums.mean()
    z = norm.isf((1 - level) / 2)
    information_reach, gain_reach = z * sums.standard_error()
    table = pd.DataFrame(
        {
            "feature": feature_names,
            "information": information,
            "low": information - information_reach,
            "high": information + information_reach,
            "elpd_gain": gain,
            "gain_low": gain - gain_reach,
            "gain_high": gain + gain_reach,
        }
    )
    return table.sort_values("information", ascending=False, kind="stable", ignore_index=True)


def named(estimator: Any, names: Any, what: str = "") -> Any:
    """A copy of the estimator that calls its features by other names, if given; ValueError unless each has one.

    `what` is something that only a single naive Bayes model can have; others are refused.
    """
    if what:
        check_independent(estimator, what)
    check_is_fitted(estimator)
    estimator = copy(estimator)  # one state, whatever another thread fits meanwhile
    if names is None:
        return estimator
    if is_single(names):
        raise ValueError(f"`feature_names` is {shortened(names)}; give a list of names, one for each feature")
    if len(names) != estimator.n_features_in_:
        raise ValueError(
            f"`feature_names` has {len(names)} names, but the model has {estimator.n_features_in_} features; give one "
            "name for each"
        )
    estimator.feature_names_in_ = np.asarray(names, object)
    return estimator
