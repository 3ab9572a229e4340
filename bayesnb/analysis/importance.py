"""How much each column says about the label: exact leave-one-out of the column alone, and of the model without it.

Both need the table log p(x_ij | y = c, D₋ᵢ) of a column, which is leave-one-out of the block that has only this column.
"""

from collections.abc import Callable
from copy import copy
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse
from scipy.special import gammaln
from scipy.stats import norm
from sklearn.utils import gen_batches
from sklearn.utils.validation import check_is_fitted

from ..conjugate import Conjugate
from ..core.arrays import Scalar
from ..core.special import log_normalize
from ..core.supports import check_level
from ..estimators._base import AbstractNB
from ..inference.loo import group_places, left_out
from ..naive_bayes import Rows
from ..one_dependence import OneDependence
from ..statistics import one_hot
from ..sums.rows import rows_at

_CELLS = 1 << 18  # numbers of a table worked on at a time


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
    X, y, sample_weight : rows and labels, as in the method `loo`
    groups : (n,) labels of groups of rows that are left out together, such as `inference.loo.copies(X, y)`
    held_out : True if the rows were not fitted. Nothing is then left out
    level : level of the intervals, mean ± z standard errors over the rows
    feature_names : (d,) names of the columns, by default those of the data frame, otherwise 0 … d−1

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
        if the rows were never fitted and `held_out` is False, if `level` is out of range, or if the numbers of names
        and of columns differ

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
        return estimator.importance(X, y, sample_weight, groups=groups, level=level, feature_names=feature_names)
    calibrated = getattr(estimator, "calibrated", None)
    nb = estimator if calibrated is None else estimator.estimator_
    if not isinstance(nb, AbstractNB):
        raise TypeError(f"`estimator` is {type(nb).__name__}; give an estimator of bayesnb or CalibratedClassifierLOO")
    nb = named(nb, feature_names)
    check_level(level)
    index, rows, columns = nb.class_index(y), nb.encode(X), nb.block_columns()
    n, c = len(index), len(nb.classes_)
    weight = np.ones(n) if sample_weight is None else np.asarray(sample_weight, float)
    if held_out:
        joint = nb.posterior_.log_joint(rows)
        log_prior = np.broadcast_to(nb.posterior_.classes.log_predictive(), (n, c))
        leave: Any = [(np.arange(n), nb.posterior_, None)]
    else:
        loo = nb.loo(X, y, sample_weight, groups=groups)
        joint, log_prior = loo.log_joint, loo.log_prior
        place = None if groups is None else group_places(groups, n)
        leave = left_out(nb, rows, one_hot(index, c, weight), place, "kept")

    def log_proba(table: np.ndarray) -> np.ndarray:
        found = log_normalize(table)
        return found if calibrated is None else np.log(calibrated(found.reshape(-1, c))).reshape(found.shape)

    total = np.zeros((3, 2, nb.n_features_in_))
    for at, model, leaving in leave:
        leaving = None if leaving is None else leaving.toarray()
        tables = log_prior[at], joint[at], index[at], weight[at]
        total += _sums(total.shape[2], model, rows_at(rows, at), columns, *tables, leaving, log_proba)
    mean = total[0] / weight.sum()
    # √(n · variance) of w (t − mean), over Σw
    square = total[2] - 2 * mean * total[1] + mean**2 * (weight**2).sum()
    reach = norm.isf((1 - level) / 2) * np.sqrt(np.maximum(square, 0)) / weight.sum()
    names = ("information", "low", "high"), ("elpd_gain", "gain_low", "gain_high")
    table = {"feature": nb.feature_names()}
    for k, heads in enumerate(names):
        table |= dict(zip(heads, (mean[k], mean[k] - reach[k], mean[k] + reach[k]), strict=True))
    return pd.DataFrame(table).iloc[np.argsort(-mean[0], kind="stable")].reset_index(drop=True)


def _sums(
    d: int,
    model: Any,
    rows: Rows,
    columns: dict[str, np.ndarray],
    log_prior: np.ndarray,
    joint: np.ndarray,
    index: np.ndarray,
    weight: np.ndarray,
    leaving: np.ndarray | None,
    log_proba: Callable[[np.ndarray], np.ndarray],
) -> np.ndarray:
    """Σ w t, Σ w² t and Σ w² t² of information and gain t of each column over the rows, (3, 2, d).

    Parameters
    ----------
    d : number of columns
    model : posterior that predicts the rows
    columns : positions of the columns of each block
    log_prior, joint : (n, c) log p(y = c | D₋ᵢ) and log p(x_i, y = c | D₋ᵢ)
    leaving : (n, c) weights that leave `model` with each row; None where it does not know the rows
    log_proba : from joint tables to log p(y = c | x_i, D₋ᵢ)
    """
    (n, c), own = joint.shape, np.arange(len(index))
    cells = {k: x.tocsc() if sparse.issparse(x) else x for k, x in rows.items()}
    before, whole = log_normalize(log_prior)[own, index, None], log_proba(joint)[own, index, None]
    found = np.zeros((3, 2, d))
    for some in gen_batches(d, max(1, _CELLS // (n * c))):
        alone, lost = np.zeros((2, n, min(some.stop, d) - some.start, c))
        for name, block in model.blocks.items():
            k = np.flatnonzero((columns[name] >= some.start) & (columns[name] < some.stop))
            here = columns[name][k] - some.start
            if len(k):
                table, less = _tables(model, name, block, cells[name], k, leaving, index)
                alone[:, here] += table
                lost[:, here] += less
        information = log_normalize(log_prior[:, None] + alone)[own, :, index] - before
        terms = np.stack([information, whole - log_proba(joint[:, None] - lost)[own, :, index]])
        found[..., some] = np.stack([weight @ terms, weight**2 @ terms, weight**2 @ terms**2])
    return found


def _tables(
    model: Any, name: str, block: Any, x: Any, k: np.ndarray, leaving: np.ndarray | None, index: np.ndarray
) -> tuple[np.ndarray, Any]:
    """log p(x_ik | y = c, D₋ᵢ) of some columns of a block, (n, k, c), and what its table loses without each."""
    events = block.missing_value == 0
    by_cell = isinstance(block, Conjugate) and all(np.ndim(getattr(block, field)) == 2 for field in block.fields_)
    if not block.couples_classes if events else by_cell:
        found = _of_cells(block, x, k, leaving, index)
        return found, found

    def table(block: Any, x: Any) -> np.ndarray:
        x = x.toarray() if sparse.issparse(x) else x
        return block.log_predictive(x) if leaving is None else block.log_loo(x, leaving)

    found, lost = np.empty((2, x.shape[0], len(k), model.classes.log_predictive().size))
    for i, j in enumerate(k):
        others = np.delete(np.arange(x.shape[1]), j)
        if isinstance(model, OneDependence):
            alone = {name: np.where(np.arange(x.shape[1]) == j, x, np.nan)}
            parts = model.log_parts(alone) if leaving is None else model.log_loo_parts(alone, leaving)
            found[:, i], lost[:, i] = parts[0], np.nan
        elif events:  # one kind of events among all
            count = _dense(x[:, [j]])
            found[:, i] = lost[:, i] = table(block.merged(np.array([j])), np.hstack([count, _lengths(x) - count]))
        else:
            found[:, i] = lost[:, i] = table(block.select(np.array([j])), x[:, [j]])
            if not block.inner.separable:
                rest = table(block.select(others), x[:, others]) if len(others) else 0
                lost[:, i] = table(block, x) - rest
    return found, lost


def _of_cells(block: Any, x: Any, k: np.ndarray, leaving: np.ndarray | None, index: np.ndarray) -> np.ndarray:
    """The tables of all columns at once, of families that have a formula of a cell.

    Rows have few kinds of cells where these are levels or counts. The formula is then asked once for each kind.
    """
    cells, own, at = _dense(x[:, k]), np.arange(len(index)), np.arange(len(k))
    seen, is_events = ~np.isnan(cells), block.missing_value == 0
    filled, length = np.where(seen, cells, 1), _lengths(x)[:, 0] if is_events else np.zeros(len(index))
    w = np.zeros(len(index)) if leaving is None else leaving[own, index]
    of_row, row = np.unique(np.c_[length, w], axis=0, return_inverse=True)
    values, value = np.unique(filled, return_inverse=True)
    kinds, kind = np.unique(value.reshape(filled.shape) * len(of_row) + row[:, None], return_inverse=True)
    if few := 4 * len(kinds) < len(index):
        length, w = of_row[kinds % len(of_row)].T
        filled = values[kinds // len(of_row), None]
    cell, length, w = filled[..., None], length[:, None, None], w[:, None, None]
    with np.errstate(all="ignore"):  # of cells that a class does not have
        if is_events:  # beta-binomial, one kind of events among all, without the coefficient
            alpha, total = block.alpha[:, k].T, block.alpha.sum(1)
            pairs = (alpha, cell), (total - alpha, length - cell), (total, length)
            terms = [[gammaln(a + (1 - u) * m) - gammaln(a - u * m) for a, m in pairs] for u in (0.0, w)]
            found, left = (one + other - both for one, other, both in terms)
        else:
            fields = [getattr(block, field)[:, k].T for field in block.fields_]
            found, left = block.predictive(cell, 1.0, *fields), block.left_out(cell, w, *fields)
    if few:
        kind = kind.reshape(len(index), len(k))
        found, left = found[kind, at], left[kind, at, index[:, None]]
    else:
        left = left[own, :, index]
    if leaving is not None:
        found[own, :, index] = left
    return np.where(seen[..., None], found, 0)


def _lengths(x: Any) -> np.ndarray:
    return np.asarray(x.sum(1), float).reshape(-1, 1)


def _dense(x: Any) -> np.ndarray:
    return x.toarray() if sparse.issparse(x) else x


def named(estimator: Any, names: Any) -> Any:
    """A copy of the estimator that calls its features by other names, if given; ValueError unless each has one."""
    check_is_fitted(estimator)
    estimator = copy(estimator)  # one state, whatever another thread fits meanwhile
    if names is None:
        return estimator
    if len(names) != estimator.n_features_in_:
        raise ValueError(
            f"`feature_names` has {len(names)} names, but the model has {estimator.n_features_in_} features; give one "
            "name for each"
        )
    estimator.feature_names_in_ = np.asarray(names, object)
    return estimator
