"""How much each column says about the label: exact leave-one-out of the column alone, and of the model without it.

Both need the table log p(x_ij | y = c, D₋ᵢ) of a column, which is leave-one-out of the block that has only this column.
"""

from copy import copy
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse
from scipy.stats import norm
from sklearn.utils.validation import check_is_fitted

from ..core.arrays import Scalar
from ..core.special import log_normalize
from ..core.supports import check_level
from ..inference.held_out import column_of
from ..inference.loo import by_group, group_places, left_out
from ..one_dependence import OneDependence
from ..statistics import one_hot
from ..sums.rows import rows_at
from ._suited import check_independent, check_own, weights_of


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
    X, y, sample_weight : rows and labels, as in the method `loo`
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
    calibrated = getattr(estimator, "calibrated", None)
    nb = estimator if calibrated is None else estimator.estimator_
    check_own(nb, "importance")
    nb = named(nb, None)
    check_level(level)
    index, rows, columns = nb.class_index(y), nb.encode(X), nb.block_columns()
    n, c = len(index), len(nb.classes_)
    weight, place = weights_of(sample_weight, n), None if groups is None else group_places(groups, n)
    if held_out:
        joint = nb.posterior_.log_joint(rows)
        log_prior = np.broadcast_to(nb.posterior_.classes.log_predictive(), (n, c))
        leave: Any = [(slice(None), nb.posterior_, None)]
    else:
        loo = nb.loo(X, y, sample_weight, groups=groups)
        joint, log_prior = loo.log_joint, loo.log_prior
        leave = left_out(nb, rows, one_hot(index, c, weight), place, "kept")

    def log_proba(table: np.ndarray) -> np.ndarray:
        found = log_normalize(table)
        return found if calibrated is None else np.log(calibrated(found))

    # Σ s, Σ s v and Σ s² of information and gain; s = Σ w t and v = Σ w over the rows of a group, or of one row
    total, square_of_weight = np.zeros((3, 2, nb.n_features_in_)), 0.0
    for at, model, leaving in leave:
        w, cells, leaving = weight[at], rows_at(rows, at), None if leaving is None else leaving.toarray()
        own = np.arange(len(w)), index[at]
        together = None if place is None else np.unique(place[at], return_inverse=True)[1]
        v = by_group(w, together)
        square_of_weight += v @ v
        cells = {name: x.tocsc() if sparse.issparse(x) else x for name, x in cells.items()}
        before, whole = log_normalize(log_prior[at])[own], log_proba(joint[at])[own]
        for j in range(total.shape[2]):
            places = [(name, k) for name, here in columns.items() for k in np.flatnonzero(here == j).tolist()]
            found = [_tables(model, name, cells[name], k, leaving) for name, k in places]
            alone, lost = sum(found, np.zeros((2, len(w), c)))
            information = log_normalize(log_prior[at] + alone)[own] - before
            terms = np.stack([information, whole - log_proba(joint[at] - lost)[own]])
            s = by_group(w * terms, together)
            total[..., j] += np.stack([s.sum(1), s @ v, (s * s).sum(1)])
    mean = total[0] / weight.sum()
    # √(n · variance) of s − mean v, over Σw
    square = total[2] - 2 * mean * total[1] + mean**2 * square_of_weight
    reach = norm.isf((1 - level) / 2) * np.sqrt(np.maximum(square, 0)) / weight.sum()
    names = ["feature", "information", "low", "high", "elpd_gain", "gain_low", "gain_high"]
    ends = np.stack([mean, mean - reach, mean + reach], 1).reshape(6, -1)
    table = pd.DataFrame(dict(zip(names, [nb.feature_names(), *ends], strict=True)))
    return table.sort_values("information", ascending=False, kind="stable", ignore_index=True)


def _tables(model: Any, name: str, x: Any, j: int, leaving: Any) -> np.ndarray:
    """log p(x_ij | y = c, D₋ᵢ) of a column of a block, and what the table of the block loses without it, (2, n, c)."""
    block, one, others = model.blocks[name], np.array([j]), np.delete(np.arange(x.shape[1]), j)

    def table(block: Any, x: Any) -> np.ndarray:
        return block.log_predictive(x) if leaving is None else block.log_loo(x, leaving)

    if isinstance(model, OneDependence):
        alone = {name: np.where(np.arange(x.shape[1]) == j, x, np.nan)}
        parts = model.log_parts(alone) if leaving is None else model.log_loo_parts(alone, leaving)
        return np.stack([parts[-1], np.full_like(parts[-1], np.nan)])
    cells = column_of(x, j)[:, None]
    if block.missing_value == 0:  # one kind of events among all
        found = lost = table(block.merged(one), np.hstack([cells, np.reshape(x.sum(1), (-1, 1)) - cells]))
    else:
        found = lost = table(block.select(one), cells)
        if not block.inner.separable:
            lost = table(block, x) - (table(block.select(others), x[:, others]) if len(others) else 0)
    return np.stack([found, lost])


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
    if len(names) != estimator.n_features_in_:
        raise ValueError(
            f"`feature_names` has {len(names)} names, but the model has {estimator.n_features_in_} features; give one "
            "name for each"
        )
    estimator.feature_names_in_ = np.asarray(names, object)
    return estimator
