"""How much each column says about the label: exact leave-one-out of the column alone, and of the model without it.

Both need the table log p(x_ij | y = c, D₋ᵢ) of a column, which is leave-one-out of the block that has only this column.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import sparse
from scipy.special import ndtri

from ..estimators._named import last_step
from ..estimators._suited import check_own, fitted_copy
from ..models.naive_bayes import Rows
from ..models.one_dependence import OneDependence
from ..numerics.arrays import Float, Int, Scalar, Table
from ..numerics.progress import tracked
from ..numerics.special import log_normalize
from ..numerics.supports import check_level
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
    feature_names: Any = None,
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
        probabilities, by the map as it is. A `DiscriminativeNB` answers by its own method `importance`. Or a fitted
        pipeline that ends in one of these: its other steps transform X first, and name the features
    X, y, sample_weight : rows, labels and weights, as in the method `loo`. Weights of an integer type count rows: one
        unit of a row leaves, and its term counts w times. Weights of a float type are importance: the row leaves whole
    groups : (n,) labels of groups of rows that are left out together, such as `posterior.loo.copies(X, y)`
    held_out : True if the rows were not fitted. Nothing is then left out
    level : level of the intervals, mean ± z standard errors over the rows, or over the groups
    feature_names : (d,) names of the features, where X has none, or the fitted pipeline or transformer that made it

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
        if the rows were never fitted and `held_out` is False, if `level` is out of range, or if there is not one name
        for each feature

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
    # of a pipeline the last step, the rows that it reads, and the names that the pipeline has for them
    step = last_step(estimator, X, feature_names)
    if hasattr(type(step.estimator), "importance"):  # `DiscriminativeNB` has a method of its own
        if held_out:
            raise ValueError("`held_out` is True; DiscriminativeNB leaves its training rows out, so give these")
        settings = {"groups": groups, "level": level, "feature_names": step.feature_names}
        return step.estimator.importance(step.X, y, sample_weight, **settings)

    # A calibrated estimator holds a fitted naive Bayes model, `estimator_`, and a map from the log class probabilities
    # of this model to calibrated probabilities, `calibrated`.
    calibration = getattr(step.estimator, "calibrated", None)
    model = step.estimator if calibration is None else step.estimator.estimator_
    check_own(model, "importance")  # TypeError, with advice, unless the estimator can do that
    nb = fitted_copy(model)  # another thread may fit it again meanwhile
    check_level(level)  # ValueError unless between 0 and 1
    names = nb.model_.labels_of_features(step.feature_names).tolist()

    def log_proba(log_joint: Table) -> Table:
        """log p(y = c | x_i), (m, c), of log p(x_i, y = c), as the estimator predicts: normalised, then calibrated."""
        log_p = log_normalize(log_joint)
        return log_p if calibration is None else np.log(calibration(log_p))

    # the rows, with class numbers (n,), weights, and numbers of the groups that are left out together
    label = nb.model_.class_index(y)
    n = len(label)
    weights = row_weights(sample_weight, n)
    group = None if groups is None else group_places(groups, n)
    data = FittedRows(nb.model_.encode(step.X), label, weights, group)

    # what the model with all columns predicts of each row
    if held_out:
        predictions = _predictions_of_new_rows(nb, data)  # by the model as it is: it has not seen the rows
    else:
        loo = nb.loo(step.X, y, weights, groups=groups)
        predictions = _leave_one_out_predictions(nb, data, loo)  # of each row by the model without it

    # then both scores of each column, from predictions by the column alone and by the model without it
    sums = _sum_scores(data, predictions, _block_columns_of_features(nb), log_proba)
    return _table(names, sums, level)


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
    return _Predictions(loo.log_prior, loo.log_joint, folds(nb.model_, data, "kept"))


def _block_columns_of_features(nb: Any) -> list[list[tuple[str, int]]]:
    """For each feature, where the model has it: names of blocks, and the position of the feature in each.

    A block is one family, such as Gaussian, with the features that it reads. For example, if block "a" reads the
    features 0 and 2, then feature 2 has the list [("a", 1)]. A feature that each class models by a family of its own is
    in several blocks.
    """
    block_columns: list[list[tuple[str, int]]] = [[] for _ in range(nb.n_features_in_)]
    for block, features in nb.model_.block_columns.items():
        for column, feature in enumerate(features):
            block_columns[feature].append((block, column))
    return block_columns


# --- scores of columns ------------------------------------------------------------------------------------------------


@dataclass
class _ScoreSums:
    """Sums over rows, of which the mean scores of the features and their standard errors are made.

    There are two scores of each of d features: its information, and what the model gains from it. A term is a row, or a
    group of rows that leave together. It has the weight v, the weighted score s = weight · score, and occurs q times:
    more than once if weights count equal rows. The mean score is Σ q s / Σ q v.

    Its standard error needs sums of squares. A difference of two large sums would have lost digits, so scores are
    measured from a centre m₀ near the mean: u = s − m₀ v.

    Fields
    ------
    centre : (2, d) m₀, the mean of the first terms of each feature; NaN before there are any
    u, u_v, u_squared : (2, d) Σ q u, Σ q u v and Σ q u²
    v, v_squared : Σ q v and Σ q v², the same for all features
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
        """Add Σ q v and Σ q v² of some terms, with v their weights and q how often each occurs."""
        self.v += terms.times @ terms.weight
        self.v_squared += terms.times @ terms.weight**2

    def add(self, feature: int, terms: Terms) -> None:
        """Add the two scores of a feature over k terms: Σ q u, Σ q u v and Σ q u², where u = s − m₀ v.

        The centre m₀ of a feature is the mean of the first terms that come: any number near the mean of all will do.

        Parameters
        ----------
        feature : number of the feature
        terms : `value` (2, k) the weighted scores s, `weight` (k,) the weights v, `times` (k,) how often each occurs, q
        """
        if not len(terms.weight):  # no row has a weight above 0
            return
        has_no_centre = np.isnan(self.centre[:, feature]).all()
        if has_no_centre:
            self.centre[:, feature] = terms.mean()

        centre = self.centre[:, feature]  # (2,) m₀ of each score
        u = terms.value - centre[:, None] * terms.weight  # (2, k) s − m₀ v
        self.u[:, feature] += u @ terms.times  # @ sums over the k terms
        self.u_v[:, feature] += u @ (terms.times * terms.weight)
        self.u_squared[:, feature] += u**2 @ terms.times

    def mean(self) -> Float[np.ndarray, "2 d"]:
        """The weighted means m = Σ q s / Σ q v of both scores of each feature.

        With u = s − m₀ v, which has been summed, this is m = m₀ + Σ q u / Σ q v.
        """
        return self.centre + self.u / self.v

    def standard_error(self) -> Float[np.ndarray, "2 d"]:
        """The standard errors √(Σ q (s − m v)²) / Σ q v of the means m of both scores of each feature.

        A mean is a ratio of two sums over independent terms, Σ q s / Σ q v. By the delta method its error is that of
        Σ q (s − m v), divided by Σ q v.
        """
        # from u = s − m₀ v, which has been summed: s − m v = u − (m − m₀) v, and its square has three terms
        shift = self.u / self.v  # (2, d) m − m₀
        squares = self.u_squared - 2 * shift * self.u_v + shift**2 * self.v_squared  # (2, d) Σ q (s − m v)²
        return np.sqrt(np.maximum(squares, 0)) / self.v  # the sum may be negative by rounding


def _sum_scores(
    data: FittedRows,
    predictions: _Predictions,
    columns_of_features: list[list[tuple[str, int]]],
    log_proba: Callable[[Table], Table],
) -> _ScoreSums:
    """The two scores of every feature, information and gain, summed over all rows, some rows at a time.

    Parameters
    ----------
    data : the rows, with labels, weights and groups
    predictions : of the model with all columns
    columns_of_features : for each feature, the blocks that read it and its column in each
    log_proba : log p(y = c | x_i) of log p(x_i, y = c), both (m, c)
    """
    sums = _ScoreSums.zero(len(columns_of_features))

    # a fold is m rows with the model that predicts them; `tracked` shows on a terminal how many folds are done
    for fold in tracked(predictions.folds, "importance", unit="parts of the rows"):
        rows = _rows_of_fold(fold, data, predictions, log_proba)  # with what is the same for every feature

        # Rows that leave together are one term of the sums. `rows.terms` makes of the scores of rows the weighted
        # scores of terms, with their weights, which are the same for every feature: these are added once.
        no_scores = np.zeros((2, len(rows.label)))
        sums.add_weights(rows.terms(no_scores))

        # the two scores of each feature
        for feature, block_columns in enumerate(columns_of_features):
            scores = _scores_of_feature(fold, rows, block_columns, log_proba)  # (2, m)
            sums.add(feature, rows.terms(scores))
    return sums


def _scores_of_feature(
    fold: Fold, rows: "_RowsOfFold", block_columns: list[tuple[str, int]], log_proba: Callable[[Table], Table]
) -> Float[np.ndarray, "2 m"]:
    """The information of a feature j in each of m rows, and what the model gains from it there, (2, m) in nats.

        information  log p(y_i | x_ij) − log p(y_i)
        gain         log p(y_i | x_i) − log p(y_i | x_i without x_ij)

    Parameters
    ----------
    fold : has the model that predicts the rows
    rows : the m rows, with the predictions by all columns
    block_columns : the blocks that read the feature, by name, and its column in each
    log_proba : makes log p(y = c | x_i) of log p(x_i, y = c), both (m, c)
    """
    # (m, c) each: `alone` is log p(x_ij | y = c), and `loss` is what log p(x_i | y = c) has less without x_ij
    tables = _tables_of_feature(fold, rows, block_columns)

    # by Bayes' theorem p(c | x_ij) ∝ p(c) p(x_ij | c); `log_normalize` makes the sum over the classes 1
    log_p_alone = log_normalize(rows.log_prior + tables.alone)  # (m, c) log p(c | x_ij)
    information = rows.of_label(log_p_alone) - rows.log_p_prior  # (m,)

    log_joint_without = rows.log_joint - tables.loss  # (m, c) log p(x_i without x_ij, c)
    log_p_without = log_proba(log_joint_without)  # (m, c) log p(c | x_i without x_ij)
    gain = rows.log_p_whole - rows.of_label(log_p_without)  # (m,)
    return np.stack([information, gain])


class _RowsOfFold(NamedTuple):
    """The m rows that one model predicts, with what holds for all features; D₋ᵢ are the data without row i.

    Fields
    ------
    cells : (m, k) of the k columns of each block, by its name
    label : (m,) class number of each row
    weights : of each row
    group : (m,) number of the group of each row, 0 … g−1; None where each row is a group
    leaving : (m, c) weight of each row in each class, to be taken out of the model before it predicts the row; None
        where the model was fitted without the rows
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


def _rows_of_fold(
    fold: Fold, data: FittedRows, predictions: _Predictions, log_proba: Callable[[Table], Table]
) -> _RowsOfFold:
    """From all n rows, the m rows of a fold, with what is computed once for them and used for every feature.

    Parameters
    ----------
    fold : the positions `rows` of m rows; and their weights `leaving`, to be taken out of the model, or None
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
    return _RowsOfFold(
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


def _tables_of_feature(fold: Fold, rows: _RowsOfFold, block_columns: list[tuple[str, int]]) -> _ColumnTables:
    """What a feature adds to the log density of m rows under c classes: the sum over the blocks that read it.

    Parameters
    ----------
    fold : has the model that predicts the rows
    rows : the m rows
    block_columns : the blocks that read the feature, by name, and its column in each
    """
    alone = np.zeros(rows.log_joint.shape)  # (m, c)
    loss = np.zeros(rows.log_joint.shape)
    for block_name, column in block_columns:
        cells = rows.cells[block_name]  # (m, k) of the columns of the block
        # an average of models of pairs of features: it has no block of a column alone
        if isinstance(fold.model, OneDependence):
            tables = _tables_of_one_dependence(fold.model, block_name, cells, column, rows.leaving)
        else:
            tables = _tables_of_column(fold.model.blocks[block_name], cells, column, rows.leaving)
        alone = alone + tables.alone
        loss = loss + tables.loss
    return _ColumnTables(alone, loss)


def _tables_of_column(block: Any, x: Any, j: int, leaving: Float[np.ndarray, "m c"] | None) -> _ColumnTables:
    """The log density of column j by itself, and what the log density of all k columns has less without it.

    Both are (m, c), for m rows and c classes. There are three kinds of models of k columns:

    - Counts of events, as in a multinomial. The column by itself is its count among all events of the row. Given this
      count the other events do not depend on it, so the loss is the same.
    - Columns that are independent given the class. The density of a row is a product, and the loss is the same again.
    - Dependent columns, as with a full covariance. The loss is the log density of all k columns, less that of the k − 1
      others.

    Parameters
    ----------
    block : the fitted model of the k columns, of one family such as Gaussian
    x : (m, k) their cells
    j : number of the column
    leaving : (m, c) weight of each row in each class, to be taken out of the model before it predicts the row; None
        where the model was fitted without the rows
    """
    column = column_of(x, j)[:, None]  # (m, 1)

    # Counts of events, such as words: a cell that is left out has the value 0. The column stands beside one column of
    # all other events. For example, of the counts (2, 1, 4) and j = 0 the two are 2 and 5.
    if block.missing_value == 0:
        other_events = np.reshape(x.sum(1), (-1, 1)) - column  # (m, 1)
        model_of_two = block.lump_other_columns(np.array([j]))  # of these two columns, from the model of all k
        alone = _log_density(model_of_two, np.hstack([column, other_events]), leaving)
        return _ColumnTables(alone, loss=alone)

    # independent columns; `select` gives the fitted model of some of the columns alone
    alone = _log_density(block.select(np.array([j])), column, leaving)
    if block.unwrapped.separable:
        return _ColumnTables(alone, loss=alone)

    # Dependent columns: the loss is log p(all) − log p(others). Of a single column nothing remains without it.
    log_p_all = _log_density(block, x, leaving)
    others = np.delete(np.arange(x.shape[1]), j)  # (k − 1,) positions
    if not len(others):
        return _ColumnTables(alone, loss=log_p_all)
    log_p_others = _log_density(block.select(others), x[:, others], leaving)
    return _ColumnTables(alone, loss=log_p_all - log_p_others)


def _log_density(block: Any, x: Any, leaving: Float[np.ndarray, "m c"] | None) -> Table:
    """log p(x_i | y = c, data without row i), (m, c), by a block of the posterior, parameters integrated out.

    Parameters
    ----------
    block : the fitted model of k columns
    x : (m, k) cells of the rows
    leaving : (m, c) weight of each row in each class, to be taken out of the model before it predicts the row; None
        where the model was fitted without the rows
    """
    if leaving is None:
        return block.log_predictive(x)
    return block.log_loo(x, leaving)  # takes each row out of the sums of the model first


def _tables_of_one_dependence(
    model: OneDependence, block_name: str, x: np.ndarray, j: int, leaving: Float[np.ndarray, "m c"] | None
) -> _ColumnTables:
    """The log density (m, c) of column j by itself, by an average of one-dependence models; the loss is NaN.

    The model leaves missing cells out. So all other cells are made missing: of the cells (1, 5, 2) and j = 1 the row
    becomes (NaN, 5, NaN).

    Parameters
    ----------
    model : of all d columns
    block_name : the name under which it takes the rows
    x : (m, d) cells of all columns
    j : number of the column
    leaving : (m, c) weight of each row in each class, to be taken out of the model before it predicts the row; None
        where the model was fitted without the rows
    """
    is_column = np.arange(x.shape[1]) == j  # (d,)
    rows = {block_name: np.where(is_column, x, np.nan)}
    if leaving is None:
        tables = model.log_parts(rows)  # (1, m, c): log p(x_i | y = c)
    else:
        tables = model.log_loo_parts(rows, leaving)  # (2, m, c): log p(y = c), and log p(x_i | y = c)
    alone = tables[-1]
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
    half_width, half_width_of_gain = z * sums.standard_error()  # (d,) each, of the intervals
    table = pd.DataFrame(
        {
            "feature": feature_names,
            "information": information,
            "low": information - half_width,
            "high": information + half_width,
            "elpd_gain": gain,
            "gain_low": gain - half_width_of_gain,
            "gain_high": gain + half_width_of_gain,
        }
    )
    return table.sort_values("information", ascending=False, kind="stable", ignore_index=True)
