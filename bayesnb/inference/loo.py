"""Exact leave-one-out: every row predicted by all others, without a refit.

    elpd       = Σ_i w_i log p(y_i | x_i, D₋ᵢ)     how well labels are predicted, rows being given
    elpd_joint = Σ_i w_i log p(x_i, y_i | D₋ᵢ)     how well rows and labels are predicted

A conjugate posterior forgets a row in closed form, so the table p(x_i, y = c | D₋ᵢ) costs little more than a table of
predictions.

There are two leave-one-outs. Some estimators scale their default prior by the data: GaussianNB, GaussianDA, KernelNB,
PoissonNB, ExponentialNB, and BernoulliNB with alpha="clop". `prior="kept"` leaves that prior as all rows made it, row i
included, as `prior_` has it. `prior="refit"` takes row i out of the prior's scale too, and equals a fit on all other
rows. With all other priors the two are the same. Both keep the encoding: the labels, the levels of CategoricalNB, the
columns of MixedNB("auto").

The difference matters for few rows. With GaussianNB on 15 irises (every tenth row, three columns) a log class
probability log p(y = c | x_i, D₋ᵢ) differs by up to 0.54 nats, and by up to 1.04 where one cell is an outlier (20 cm
for 5.1). The log loss is 0.404 (kept) and 0.408 (refit). On all 150 irises single values still differ by up to 0.41
nats, the log losses by 0.0001.

The price, in tables of predictions: "kept" a few; "refit" some tens for GaussianNB, where every row has a prior of its
own, and one Cholesky factor a row and class for GaussianDA; for KernelNB one posterior of the bandwidths a row. "kept"
keeps KernelNB's posterior of the bandwidths as well.

References
----------
Vehtari, Gelman & Gabry (2017), Practical Bayesian model evaluation using leave-one-out cross-validation and WAIC,
Statistics and Computing 27, §2.1 (elpd, its standard error and p_loo); there by importance sampling, here exactly.
"""

from functools import partial
from typing import Any

import numpy as np
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from ..core.arrays import Sparse
from ..core.supports import check_choice
from ..naive_bayes import Rows, by_rows
from ..statistics import Moments, one_hot
from ..sums.loops import worth
from ..sums.rows import rows_at, some_rows
from .copies import copies as copies
from .known_rows import check_known, check_weights
from .loo_groups import left_out_tables, needs_refits
from .loo_result import LooResult as LooResult

_WIDE = 1 << 22  # cells of a slice that loops go through without a table beside it


def loo(
    estimator: Any, X: Any, y: Any, sample_weight: Any = None, *, prior: str = "kept", groups: Any = None
) -> LooResult:
    """Exact leave-one-out of training rows of a fitted estimator.

    Parameters
    ----------
    estimator : a fitted estimator. Its posterior is used as it is, always with estimate="predictive" and without the
        option `norm` of ComplementNB
    X, y, sample_weight : all or some of the rows, labels and weights, as they were fitted. A row is left out with its
        whole weight
    prior : "kept" (default) keeps the prior of the fit. "refit" removes row i from the scale of the prior too, if the
        data scale it. The result equals a fit on all other rows
    groups : (n,), optional
        labels of groups of rows that are left out together. Row i is predicted without all given rows of its group

    Raises
    ------
    ValueError
        if a class has less weight than its rows, or a row would leave negative counts or squares, because such rows
        were never fitted; if `prior` is neither "kept" nor "refit"; or if `groups` does not have one label for each row

    Notes
    -----
    "kept" subtracts a row from a posterior. This loses digits if an outlier makes up nearly all of a sum of squares
    under a narrow prior of your own: 7e-4 nats for a cell 10⁶ prior scales away. "refit" adds up the other rows instead
    and loses no digits.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from bayesnb import GaussianNB
    >>> X, y = load_iris(return_X_y=True)
    >>> X, y = X[::10, :3], y[::10]
    >>> nb = GaussianNB().fit(X, y)
    >>> round(nb.loo(X, y).log_loss, 3), round(nb.loo(X, y, prior="refit").log_loss, 3)
    (0.404, 0.408)
    >>> without = GaussianNB().fit(X[1:], y[1:])  # row 0 predicted by all others
    >>> bool(abs(nb.loo(X, y, prior="refit").log_proba[0] - without.predict_log_proba(X[:1])[0]).max() < 1e-12)
    True
    """
    check_choice("prior", prior, ("kept", "refit"))
    check_is_fitted(estimator)
    X, index = estimator.validate_labelled(X, y)
    weights = np.ones(len(index))
    if sample_weight is not None:
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    place = None if groups is None else group_places(groups, len(index))
    r = one_hot(index, len(estimator.classes_), weights)
    rows = estimator.encode_validated(X)
    blocks = [block.inner for block in estimator.posterior_.blocks.values()]
    squares = all(getattr(one, "monoid", None) is Moments and "variance" in one.parameters for one in blocks)
    if not (squares and leaves_alone(estimator, place, prior)):
        check_known(estimator, rows, r)
        return _result(estimator, rows, r, place, prior)
    check_weights(estimator, r)
    with np.errstate(invalid="ignore", divide="ignore"):
        result = _one_by_one(estimator, rows, r, prior)
    if not np.isfinite(result.log_joint.sum()):  # more squares than all that were learnt have no gain
        check_known(estimator, rows, r)
    return result


def leave_out(
    estimator: Any,
    rows: Rows,
    index: np.ndarray,
    weights: np.ndarray,
    place: np.ndarray | None,
    prior: str,
    scores: bool = False,
) -> LooResult:
    """`loo` of encoded rows that were fitted.

    Parameters
    ----------
    rows, index, weights : rows by block, class and weight of each
    place : (n,) group of each row, 0 … g−1; None where each row leaves alone
    scores : True may leave out terms of a row that are the same in all classes: enough for class probabilities
    """
    return _result(estimator, rows, one_hot(index, len(estimator.classes_), weights), place, prior, scores)


def leaves_alone(estimator: Any, place: np.ndarray | None, prior: str) -> bool:
    """Whether each row leaves by itself a posterior whose prior stays and is not lost beside the rows."""
    before, after = estimator.prior_, estimator.posterior_
    return place is None and prior == "kept" and not (before.is_improper or needs_refits(before, after))


def _result(
    estimator: Any, rows: Rows, r: Sparse, place: np.ndarray | None, prior: str, scores: bool = False
) -> LooResult:
    if leaves_alone(estimator, place, prior):
        return _one_by_one(estimator, rows, r, prior, scores)
    log_prior, parts = left_out_tables(estimator, rows, r, place, prior == "refit")
    by_part = None if list(parts) == ["x"] else parts
    return _found(estimator, rows, r, log_prior + sum(parts.values()), log_prior, False, by_part, prior)


def _one_by_one(estimator: Any, rows: Rows, r: Sparse, prior: str, scores: bool = False) -> LooResult:
    """Each row without itself, in closed form."""
    posterior, parts = estimator.posterior_, estimator.part_blocks()
    alike, single = bool((r.data == 1).all()), list(parts) == ["x"]  # rows of a class leave the same behind, if alike
    log_prior = posterior.classes.log_loo(np.eye(r.shape[1]) if alike else r.toarray())

    def table(part: slice) -> np.ndarray:
        w = some_rows(r, part)
        found = posterior.loo_tables(rows_at(rows, part), w, list(parts.values()), scores=scores)
        if single:
            found[0] += log_prior.take(w.indices, 0) if alike else log_prior[part]
        return found

    size = _WIDE if alike and worth(8 * next(iter(rows.values())).size) else 0
    tables = by_rows(table, rows, posterior.min_chunk_cells, size)
    if single:
        return _found(estimator, rows, r, tables[0], log_prior, alike, None, prior)
    total = sum(tables) + (log_prior[r.indices] if alike else log_prior)
    return _found(estimator, rows, r, total, log_prior, alike, dict(zip(parts, tables, strict=True)), prior)


def _found(
    estimator: Any, rows: Rows, r: Sparse, table: np.ndarray, log_prior: np.ndarray, alike: bool, parts: Any, prior: str
) -> LooResult:
    rows_of, posterior = partial(rows_at, rows), estimator.posterior_
    return LooResult(
        estimator.classes_, r.indices, r.data, table, log_prior, alike, posterior, rows, rows_of, parts, prior
    )


def group_places(groups: Any, n: int) -> np.ndarray:
    """Labels of groups as 0 … g−1, in the order of their first rows."""
    import pandas as pd

    labels = groups if hasattr(groups, "dtype") else np.asarray(groups, dtype=object)
    if labels.shape != (n,):
        raise ValueError(f"`groups` has shape {labels.shape}; it needs one label for each of the {n} rows")
    place, _ = pd.factorize(labels)
    if (place < 0).any():
        raise ValueError("`groups` has missing labels (None, NaN or NA); give each row the label of its group")
    return place
