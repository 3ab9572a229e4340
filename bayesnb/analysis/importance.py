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
from scipy.special import ndtri
from sklearn.utils.validation import check_is_fitted

from ..estimators._suited import check_independent, check_own
from ..models.naive_bayes import Rows
from ..models.one_dependence import OneDependence
from ..numerics.arrays import Float, Int, Scalar, Table
from ..numerics.progress import tracked
from ..numerics.special import log_normalize
from ..numerics.supports import check_level, is_single, shortened
from ..numerics.weights import RowWeights, Terms, row_weights
from ..posterior.folds import FittedRows, Fold, folds
from ..posterior.held_out import column_of
from ..posterior.loo import group_places
from ..sums.rows import rows_at


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

    Both are in nats a row. The rows are those of the fit, and each is predicted from all others, D₋ᵢ, without a refit.
    The information of a column that is independent of the label is at most 0 in expectation, however many levels it
    has. Where the interval reaches 0, the column is not shown to help.

    The table is sorted by `information`. `elpd_gain` is no ranking: it is what *this* model loses without the column.
    It is small for each of several columns that say the same, and negative where the model counts dependent columns
    twice.

    Parameters
    ----------
    estimator : a fitted estimator, or a fitted `CalibratedClassifierLOO`, whose `elpd_gain` is that of the calibrated
        probabilities, by the map as it is. A `DiscriminativeNB` answers by its own method `importance`
    X, y, sample_weight : rows, labels and weights, as in the method `loo`. Weights of an integer type count rows: one
        unit of a row leaves, and its term counts w times. Weights of a float type are importance: the row leaves whole
    groups : (n,) labels of groups of rows that are left out together, such as `posterior.loo.copies(X, y)`
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
    if hasattr(type(estimator), "importance"):  # `DiscriminativeNB` has a method of its own
        if held_out:
            raise ValueError("`held_out` is True; DiscriminativeNB leaves its training rows out, so give these")
        return estimator.importance(X, y, sample_weight, groups=groups, level=level)

    # a calibrated estimator holds the fitted naive Bayes model, and a map from its log probabilities to probabilities
    calibration = getattr(estimator, "calibrated", None)
    model = estimator if calibration is None else estimator.estimator_
    check_own(model, "importance")  # TypeError, with advice, unless the estimator can do that
    nb = fitted_copy(model)  # another thread may fit it again meanwhile
    check_level(level)  # ValueError unless between 0 and 1

    def log_proba(log_joint: Table) -> Table:
        """log p(y = c | x_i), (m, c), of log p(x_i, y = c), as the estimator predicts: normalised, then calibrated."""
        log_p = log_normalize(log_joint)
        return log_p if calibration is None else np.log(calibration(log_p))

    # the rows as the blocks of the model read them, with class numbers (n,), weights, and groups that leave together
    label = nb.class_index(y)
    n = len(label)
    weights = row_weights(sample_weight, n)
    group = None if groups is None else group_places(groups, n)
    data = FittedRows(nb.encode(X), label, weights, group)

    # what the model of all columns predicts; then, for each column, the scores by it alone and without it
    if held_out:
        # nothing is left out: the fitted model predicts all rows
        predictions = _predictions_of_new_rows(nb, data)
    else:
        # each row by the model without it; `nb.loo` has the predictions by all columns
        predictions = _leave_one_out_predictions(nb, data, nb.loo(X, y, weights, groups=groups))
    # for each feature the blocks that read it, and its column there; a block is the columns of one family
    sums = _sum_scores(data, predictions, _block_columns_of_features(nb), log_proba)
    return _table(nb.feature_names(), sums, level)


class _Predictions(NamedTuple):
    """What the model with all columns says of n rows, each by the data D₋ᵢ without row i.

    Fields
    ------
    log_prior : (n, c) log p(y = c | D₋ᵢ)
    log_joint : (n, c) log p(x_i, y = c | D₋ᵢ)
    folds : the rows in parts, each with the model that predicts it
    """

    log_prior: Table
    log_joint: Table
    folds: Iterable[Fold]


def _predictions_of_new_rows(nb: Any, data: FittedRows) -> _Predictions:
    """Predictions of rows that were not fitted: all by the posterior as it is, since nothing is left out.

    All rows are one fold: rows with the model that predicts them. `leaving` are the weights with which rows have to be
    taken out of this model first; None says that it does not have them.
    """
    log_joint = nb.posterior_.log_joint(data.rows)  # (n, c)
    # log p(y = c | data), (c,), the same for every row
    log_prior = np.broadcast_to(nb.posterior_.classes.log_predictive(), log_joint.shape)
    all_rows = Fold(slice(None), nb.posterior_, leaving=None)
    return _Predictions(log_prior, log_joint, [all_rows])


def _leave_one_out_predictions(nb: Any, data: FittedRows, loo: Any) -> _Predictions:
    """Predictions of the rows of the fit, each from all others; `loo` is the result of the estimator's method `loo`.

    `folds` cuts the rows into parts that one model can predict. Where rows leave one by one, a fold has many rows, the
    model of all, and the weights `leaving` that each row has in it. Where groups leave, a fold has the rows of a group
    and the model of all others, and nothing has to leave. The prior stays as it was fitted ("kept").
    """
    return _Predictions(loo.log_prior, loo.log_joint, folds(nb, data, "kept"))


def _block_columns_of_features(nb: Any) -> list[list[tuple[str, int]]]:
    """For each feature, the blocks that read it, by name, and its column in each: one block, or one for each class.

    For example, where block "a" reads the features 0 and 2, feature 2 has [("a", 1)].
    A block is the columns of one family, such as Gaussian, with their posterior.
    """
    block_columns: list[list[tuple[str, int]]] = [[] for _ in range(nb.n_features_in_)]
    for block, features in nb.block_columns().items():
        for column, feature in enumerate(features):
            block_columns[feature].append((block, column))
    return block_columns


# --- scores of columns ------------------------------------------------------------------------------------------------


@dataclass
class _ScoreSums:
    """Sums over independent terms, of which the mean scores and their standard errors are made.

    A term has the weight v, the weighted score s, and occurs q times, as in `numerics.weights.Terms`. There are two
    scores of each feature: its information, and the gain of the model from it. Squares are summed about a centre m₀
    near the mean, since a difference of large sums has lost digits.

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
        """Sums over no terms: all are 0, and there is no centre yet."""
        shape = (2, n_features)
        return cls(centre=np.full(shape, np.nan), u=np.zeros(shape), u_v=np.zeros(shape), u_squared=np.zeros(shape))

    def add_weights(self, terms: Terms) -> None:
        """Add the weights v of some terms, and their squares; they are the same for all features."""
        # `times` is q, how often a term occurs, as in rows that count several times
        self.v += terms.times @ terms.weight
        self.v_squared += terms.times @ terms.weight**2

    def add(self, feature: int, terms: Terms) -> None:
        """Add the two scores of a feature over k terms: three sums of u = s − m₀ v.

        The centre m₀ of a feature is the mean of the first terms that come: any number near the mean of all will do.

        Parameters
        ----------
        feature : number of the feature
        terms : weighted scores s (2, k), with weights v (k,), and how often each term occurs, q (k,)
        """
        # a fold without rows of weight has no terms, and so no mean for a centre
        if not len(terms.weight):
            return
        if np.isnan(self.centre[:, feature]).all():
            self.centre[:, feature] = terms.mean()
        # `outer` is the table of products m₀ v, a line for each score: sums over the k terms follow by @
        u = terms.value - np.multiply.outer(self.centre[:, feature], terms.weight)  # (2, k) s − m₀ v
        self.u[:, feature] += u @ terms.times
        self.u_v[:, feature] += u @ (terms.times * terms.weight)
        self.u_squared[:, feature] += u**2 @ terms.times

    def mean(self) -> Float[np.ndarray, "2 d"]:
        """Σ q s / Σ q v, the weighted means of both scores of each feature.

        Sums are of u = s − m₀ v, so the mean is m₀ + Σ q u / Σ q v.
        """
        return self.centre + self.u / self.v

    def standard_error(self) -> Float[np.ndarray, "2 d"]:
        """√(Σ q (s − m v)²) / Σ q v, the standard error of the mean m: of a ratio of two sums over independent terms.

        It is the delta method for a ratio of sums: the error of Σ s / Σ v is that of Σ (s − m v), divided by Σ v.

        The sums are about a centre m₀, of u = s − m₀ v. With shift = m − m₀ it is s − m v = u − shift v, whose square
        is u² − 2 shift u v + shift² v².
        """
        shift = self.u / self.v
        # (2, d) Σ q (s − m v)², never negative but for rounding
        squares = self.u_squared - 2 * shift * self.u_v + shift**2 * self.v_squared
        return np.sqrt(np.maximum(squares, 0)) / self.v


def _sum_scores(
    data: FittedRows,
    predictions: _Predictions,
    columns_of_features: list[list[tuple[str, int]]],
    log_proba: Callable[[Table], Table],
) -> _ScoreSums:
    """The two scores of every feature, information and gain, summed over all rows fold by fold.

    Parameters
    ----------
    data : the rows, with labels, weights and groups
    predictions : of the model with all columns
    columns_of_features : for each feature, the blocks that read it and its column in each
    log_proba : log p(y = c | x_i) of log p(x_i, y = c), both (m, c)
    """
    sums = _ScoreSums.zero(len(columns_of_features))
    # `tracked` yields the items, and shows on a terminal how many are done
    for fold in tracked(predictions.folds, "importance", unit="parts of the rows"):
        # the m rows of the fold, with what is the same for every feature: labels, weights, predictions
        part = _part_of_fold(fold, data, predictions, log_proba)
        no_scores = np.zeros((2, len(part.label)))
        sums.add_weights(part.terms(no_scores))  # the weights of the m rows are the same for all features

        for feature, block_columns in enumerate(columns_of_features):
            tables = _tables_of_feature(fold, part, block_columns)  # (m, c) each: `alone` and `loss`

            # Information: log p(y_i | x_ij) − log p(y_i), (m,). By Bayes' theorem p(c | x_ij) ∝ p(c) p(x_ij | c), and
            # `log_normalize` makes the sum over the classes 1.
            log_p_alone = log_normalize(part.log_prior + tables.alone)  # (m, c)
            information = part.of_label(log_p_alone) - part.log_p_prior

            # Gain: log p(y_i | x_i) − log p(y_i | x_i without x_ij), (m,). Less the loss, log p(x_i, c) is that of the
            # row without the cell.
            log_p_without = log_proba(part.log_joint - tables.loss)  # (m, c)
            gain = part.log_p_whole - part.of_label(log_p_without)
            sums.add(feature, part.terms(np.stack([information, gain])))
    return sums


class _Part(NamedTuple):
    """The m rows of a fold, with what holds for all features; D₋ᵢ are the data without row i.

    Fields
    ------
    cells : by block
    label : (m,) class number of each row
    weights : of each row
    group : (m,) of each row, 0 … g−1; None where each row is a group
    leaving : (m, c) weights with which the rows leave the model; None where they have left
    log_prior, log_joint : (m, c) log p(y = c | D₋ᵢ) and log p(x_i, y = c | D₋ᵢ), by all columns
    log_p_prior, log_p_whole : (m,) log p(y_i | D₋ᵢ) and log p(y_i | x_i, D₋ᵢ), of the label that the row has
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
        """From a table (m, c), the entry of each row in the class of its label, (m,)."""
        return _entry_of_label(table, self.label)

    def terms(self, scores: Float[np.ndarray, "2 m"]) -> Terms:
        """Independent terms of weighted sums of two scores over the rows: a term for each row, or for each group."""
        return self.weights.terms(scores, self.group)


def _entry_of_label(table: Table, label: Int[np.ndarray, " m"]) -> Float[np.ndarray, " m"]:
    """From a table (m, c), the entry of each row in the class of its label, (m,): table[i, label_i]."""
    return table[np.arange(len(label)), label]


def _part_of_fold(
    fold: Fold, data: FittedRows, predictions: _Predictions, log_proba: Callable[[Table], Table]
) -> _Part:
    """The rows of a fold, with all that is computed once for them and used for every feature.

    Parameters
    ----------
    fold : positions of m rows, and the weights (m, c) with which they leave the model, or None
    data, predictions : of all n rows
    log_proba : makes log p(y = c | x_i) of log p(x_i, y = c), both (m, c)
    """
    label = data.label[fold.rows]  # (m,)
    log_prior = predictions.log_prior[fold.rows]  # (m, c)
    log_joint = predictions.log_joint[fold.rows]  # (m, c)

    group = None
    if data.group is not None:
        # numbered again, 0 … g − 1 within the fold: the groups 7, 4, 7 become 1, 0, 1
        _, group = np.unique(data.group[fold.rows], return_inverse=True)
    return _Part(
        cells=_columnwise(rows_at(data.rows, fold.rows)),
        label=label,
        weights=data.weights.rows(fold.rows),
        group=group,
        leaving=None if fold.leaving is None else fold.leaving.toarray(),
        log_prior=log_prior,
        log_joint=log_joint,
        log_p_prior=_entry_of_label(log_normalize(log_prior), label),
        log_p_whole=_entry_of_label(log_proba(log_joint), label),
    )


def _columnwise(rows: Rows) -> dict[str, Any]:
    """Encoded rows, by block, whose columns are quick to take: sparse ones are stored column by column (CSC format)."""
    return {block: x.tocsc() if sparse.issparse(x) else x for block, x in rows.items()}


# --- tables of one column ---------------------------------------------------------------------------------------------


class _ColumnTables(NamedTuple):
    """What a column adds to the log density of m rows under each class; D₋ᵢ are the data without row i.

    Fields
    ------
    alone : (m, c) log p(x_ij | y = c, D₋ᵢ), the column by itself
    loss : (m, c) what log p(x_i | y = c, D₋ᵢ) has less without the column
    """

    alone: Table
    loss: Table


def _tables_of_feature(fold: Fold, part: _Part, block_columns: list[tuple[str, int]]) -> _ColumnTables:
    """What a feature adds to the log density of m rows under c classes: the sum over the blocks that read it.

    Parameters
    ----------
    fold : has the model that predicts the rows
    part : the m rows
    block_columns : the blocks that read the feature, by name, and its column in each
    """
    alone, loss = np.zeros((2, *part.log_joint.shape))  # (m, c) each
    for block_name, column in block_columns:
        # an average of models of pairs of features: it has no block of a column alone
        if isinstance(fold.model, OneDependence):
            tables = _tables_of_one_dependence(fold.model, block_name, part.cells[block_name], column, part.leaving)
        else:
            block = fold.model.blocks[block_name]
            tables = _tables_of_column(block, part.cells[block_name], column, part.leaving)
        alone = alone + tables.alone
        loss = loss + tables.loss
    return _ColumnTables(alone, loss)


def _tables_of_column(block: Any, x: Any, j: int, leaving: Float[np.ndarray, "m c"] | None) -> _ColumnTables:
    """The log density of column j of a block by itself, and what the log density of the row has less without it.

    - Counts of events that share a row, as in a multinomial: the column by itself is its count among all events of the
      row. Given this count the other events do not depend on it, so the loss is the same.
    - Columns that are independent given the class: the density of a row is a product, and the loss is the same again.
    - Dependent columns, such as of a full covariance: the loss is the log density of all k columns, less that of the
      k − 1 others.

    Parameters
    ----------
    block : of the posterior that predicts the rows
    x : (m, k) the cells of its columns
    leaving : (m, c) weights with which the rows leave the model; None where they have left it already
    """
    # `select(columns)` is the model of some columns of a block alone, with their part of the posterior
    column = column_of(x, j)[:, None]  # (m, 1)

    # Counts of events, as of words, where leaving a cell out means a count of 0: column j beside one column for all
    # other events. For example, of the counts (2, 1, 4) and j = 0 the two columns are 2 and 5.
    if block.missing_value == 0:
        other_events = np.reshape(x.sum(1), (-1, 1)) - column  # (m, 1)
        two_kinds = block.lump_other_columns(np.array([j]))  # the same model of these two columns
        alone = _log_density(two_kinds, np.hstack([column, other_events]), leaving)
        return _ColumnTables(alone, loss=alone)

    alone = _log_density(block.select(np.array([j])), column, leaving)
    if block.unwrapped.separable:  # columns are independent given the class
        return _ColumnTables(alone, loss=alone)

    # Dependent columns: by the chain rule log p(x_ij | others) = log p(all) − log p(others). Of a single column nothing
    # remains without it.
    whole = _log_density(block, x, leaving)
    others = np.delete(np.arange(x.shape[1]), j)  # (k − 1,) positions
    if not len(others):
        return _ColumnTables(alone, loss=whole)
    without = _log_density(block.select(others), x[:, others], leaving)
    return _ColumnTables(alone, loss=whole - without)


def _log_density(block: Any, x: Any, leaving: Float[np.ndarray, "m c"] | None) -> Table:
    """log p(x_i | y = c, data without row i), (m, c), by a block of the posterior, parameters integrated out.

    Where the model has been fitted without the rows, it is the plain predictive. Else each row is taken out of the sums
    of the model first, with its weight in each class.

    Parameters
    ----------
    x : (m, k) cells of the rows, in the columns of the block
    leaving : (m, c) weights with which the rows leave the model; None where they have left it already
    """
    if leaving is None:
        return block.log_predictive(x)
    return block.log_loo(x, leaving)


def _tables_of_one_dependence(
    model: OneDependence, block_name: str, x: np.ndarray, j: int, leaving: Float[np.ndarray, "m c"] | None
) -> _ColumnTables:
    """The log density of column j by itself, by an average of one-dependence models, which has no loss: that is NaN.

    A model leaves missing cells out, so all other cells are made missing.

    Parameters
    ----------
    x : (m, d) cells of all columns
    leaving : (m, c) weights with which the rows leave the model; None where they have left it already
    """
    # for example, of the cells (1, 5, 2) and j = 1 the row becomes (NaN, 5, NaN)
    is_column = np.arange(x.shape[1]) == j
    only_j = {block_name: np.where(is_column, x, np.nan)}
    tables = model.log_parts(only_j) if leaving is None else model.log_loo_parts(only_j, leaving)
    alone = tables[-1]  # (m, c) of the cells; a table of the classes may stand before it
    return _ColumnTables(alone, loss=np.full_like(alone, np.nan))


def _table(feature_names: Any, sums: _ScoreSums, level: Scalar) -> pd.DataFrame:
    """Means and intervals of both scores in nats a row, a line for each feature, the most informative first.

    An interval is mean ± z standard errors, with the z that gives it the probability `level` under a normal density.

    Parameters
    ----------
    feature_names : (d,) names
    sums : of both scores over all rows, which give means and standard errors (2, d)
    level : level of the intervals, such as 0.9
    """
    information, gain = sums.mean()  # (d,) each, one number a feature
    z = -ndtri((1 - level) / 2)  # 1.64 for 0.9
    information_reach, gain_reach = z * sums.standard_error()  # (d,) each, half the width of the intervals
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


def fitted_copy(estimator: Any, names: Any = None, what: str = "") -> Any:
    """A copy of a fitted estimator that calls its features by other names.

    Parameters
    ----------
    names : one for each feature; None keeps those that it has
    what : what is asked of the estimator, for the error message, if only a single naive Bayes model can have it

    Raises
    ------
    ValueError
        if there is not one name for each feature; with `what`, if the estimator averages several models
    UnsuitedEstimator
        with `what`, if the estimator is none of bayesnb
    """
    if what:
        check_independent(estimator, what)
    check_is_fitted(estimator)
    # a shallow copy has the same posterior; only its names are replaced
    renamed = copy(estimator)  # one state, whatever another thread fits meanwhile
    if names is None:
        return renamed

    if is_single(names):  # a string, say, whose letters would be taken for names
        raise ValueError(f"`feature_names` is {shortened(names)}; give a list of names, one for each feature")
    if len(names) != renamed.n_features_in_:
        raise ValueError(
            f"`feature_names` has {len(names)} names, but the model has {renamed.n_features_in_} features; give one "
            "name for each"
        )
    renamed.feature_names_in_ = np.asarray(names, object)
    return renamed
