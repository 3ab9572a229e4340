"""Rows spread over a cluster: Dask arrays and data frames.

Every chunk becomes statistics, c × d numbers however many rows it has, and a tree of additions makes them those of all
rows. What is fitted is an ordinary estimator in memory; prediction sends it to the chunks. Which scheduler or cluster
does the work is Dask's affair: the one that is active.
"""

import copy
import functools
import operator
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils.validation import check_is_fitted

from ._dask_chunks import add_in_tree, aligned_chunks, lazy_rows
from .core.arrays import Scalar
from .core.special import log_normalize
from .core.supports import check_choice
from .estimators._base import AbstractNB
from .estimators._input import check_decay, refuse_no_weight
from .estimators._state import reads_one_state
from .sampling.held_out import take_rows
from .sampling.intervals import fix_seed
from .statistics import Moments
from .streaming import united_labels


class DistributedNB(MetaEstimatorMixin, ClassifierMixin, BaseEstimator):
    """An estimator for rows in Dask arrays, dense or of scipy.sparse chunks, and Dask data frames.

    Parameters
    ----------
    estimator : any estimator of bayesnb

    Attributes
    ----------
    estimator_ : the estimator fitted to all rows, in memory; its own methods need rows in memory
    classes_ : (c,) labels

    Notes
    -----
    `fit` gives the posterior of the estimator's own `fit` on all rows, up to rounding. Rows are cut into chunks along
    the first axis. Their lengths need not be known, but a chunk must fit into the memory of a worker. Labels and
    weights are Dask collections with the chunks of X, or arrays. If a worker is lost, Dask repeats its tasks.

    Everything that an estimator learns before it counts must be the same in all chunks. For example, a column may have
    only zeros and ones in one chunk and other numbers in the next. "auto" of `MixedNB` would then differ, so list the
    parts yourself.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> from bayesnb import DistributedNB, GaussianNB
    >>> X = da.from_array(np.array([[0.0], [1.0], [5.0], [6.0]]), chunks=(2, 1))
    >>> y = da.from_array(np.array([0, 0, 1, 1]), chunks=2)
    >>> nb = DistributedNB(GaussianNB()).fit(X, y)
    >>> nb.predict(X).compute()
    array([0, 0, 1, 1])
    """

    estimator_: Any

    def __init__(self, estimator: AbstractNB) -> None:
        self.estimator = estimator

    @property
    def classes_(self) -> np.ndarray:
        """Labels, (c,)."""
        check_is_fitted(self, "estimator_")
        return self.estimator_.classes_

    # --- fitting ----------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, classes: Any = None) -> Self:
        """Fit the model to all rows, with one task a chunk and a tree of additions.

        Parameters
        ----------
        X : Dask array (n, d), or Dask data frame
        y : (n,) labels
        sample_weight : (n,) non-negative weights
        classes : all labels; with None an extra pass reads them from y

        Raises
        ------
        ValueError
            if there are no rows, if y or the weights do not match X, or if the estimator's `fit` refuses a chunk
        """
        learnt = self._learnt(X, y, sample_weight, classes)
        refuse_no_weight(learnt.class_count_)
        self.estimator_ = learnt
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None, *, decay: Any = 1.0) -> Self:
        """Add rows; the first call needs `classes`, all labels that will ever occur.

        `decay` first multiplies the weight of all earlier rows, as in `GaussianNB.partial_fit`.
        """
        check_decay(decay)
        if not hasattr(self, "estimator_"):
            if classes is None:
                raise ValueError(
                    "classes must be passed on the first call to partial_fit: give all labels that will occur"
                )
            self.estimator_ = self._learnt(X, y, sample_weight, classes)
            return self
        if classes is not None and not np.array_equal(labels := united_labels([classes]), self.classes_):
            raise ValueError(f"`classes` is {labels}, but the first call had {self.classes_}; pass the same classes")
        before = copy.copy(self.estimator_)
        if decay != 1:
            before = before.with_statistics(before.statistics_.scaled(decay))
        self.estimator_ = before.merge(self._learnt(X, y, sample_weight, self.classes_))
        return self

    def _learnt(self, X: Any, y: Any, sample_weight: Any, classes: Any) -> AbstractNB:
        import dask

        if y is None:
            raise ValueError("`y` is None; give the labels")
        rows, labels, weights = aligned_chunks(X, y=y, sample_weight=sample_weight)
        if classes is None:
            found = dask.compute(*(dask.delayed(_labels_of)(piece) for piece in labels))
        else:
            found = [classes]
        classes = united_labels(part for part in found if part is not None)
        estimator = dask.delayed(clone(self.estimator), traverse=False)
        parts = zip(rows, labels, weights, strict=True)
        total = add_in_tree(_merged, [dask.delayed(_statistics)(estimator, classes, *piece) for piece in parts])
        if total is None:
            raise ValueError("`X` has no rows; at least one is needed")
        return total.with_statistics(total.statistics_)

    # --- prediction -------------------------------------------------------------------------------------------------

    @reads_one_state
    def predict(self, X: Any) -> Any:
        """The most probable label of each row, a Dask array (n,)."""
        return self._table("predict", X, (), self.classes_.dtype)

    @reads_one_state
    def predict_joint_log_proba(self, X: Any) -> Any:
        """log p(x_i, y = c) in nats, a Dask array (n, c)."""
        return self._table("predict_joint_log_proba", X, self.classes_.shape)

    @reads_one_state
    def predict_log_proba(self, X: Any) -> Any:
        """log p(y = c | x_i) in nats, a Dask array (n, c)."""
        return self._table("predict_log_proba", X, self.classes_.shape)

    @reads_one_state
    def predict_proba(self, X: Any) -> Any:
        """p(y = c | x_i), a Dask array (n, c)."""
        return self._table("predict_proba", X, self.classes_.shape)

    @reads_one_state
    def predict_interval(
        self,
        X: Any,
        level: Scalar = 0.9,
        method: str = "auto",
        n_draws: int | None = None,
        seed: int | np.random.Generator | None = 0,
    ) -> Any:
        """Credible interval of the class probability, a Dask array (n, c, 2); all chunks use the same draws."""
        settings = {"level": level, "method": method, "n_draws": n_draws, "seed": fix_seed(seed)}
        return self._table("predict_interval", X, (*self.classes_.shape, 2), float, settings)

    def _table(self, method: str, X: Any, shape: tuple[int, ...], dtype: Any = float, settings: Any = None) -> Any:
        """What a method says of each chunk, one below the other, as a lazy Dask array."""
        import dask

        check_is_fitted(self, "estimator_")
        (rows,) = aligned_chunks(X)
        estimator = dask.delayed(self.estimator_, traverse=False)
        tables = [dask.delayed(_said)(estimator, method, piece, shape, dtype, settings or {}) for piece in rows]
        return lazy_rows(X, tables, shape, dtype)

    @reads_one_state
    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Accuracy: the weighted share of rows whose label is predicted correctly."""
        import dask

        check_is_fitted(self, "estimator_")
        estimator = dask.delayed(self.estimator_, traverse=False)
        parts = zip(*aligned_chunks(X, y=y, sample_weight=sample_weight), strict=True)
        hits, weight = add_in_tree(_sum, [dask.delayed(_hits)(estimator, *piece) for piece in parts])
        if not weight:
            raise ValueError("`X` has no rows with a positive weight; give at least one")
        return float(hits / weight)

    @reads_one_state
    def loo(
        self, X: Any, y: Any, sample_weight: Any = None, *, prior: str = "kept", groups: Any = None
    ) -> "DistributedLoo":
        """Exact leave-one-out of the training rows, chunk by chunk, given the posterior of all rows; see `LooResult`.

        Parameters
        ----------
        X, y, sample_weight : all or some of the rows, as they were fitted
        prior : "kept" (default) or "refit", as in the method `loo` of the estimator
        groups : None. Rows of a group may be in several chunks; use the estimator in memory to leave out groups

        Raises
        ------
        ValueError
            if some rows of a chunk cannot have been fitted, if `groups` is given, or if `prior` is neither of the two
        """
        if groups is not None:
            raise ValueError(
                "`groups` is given, but a group may lie in several chunks. Gather the rows in memory and call "
                "`estimator_.loo(X, y, groups=groups)`"
            )
        check_choice("prior", prior, ("kept", "refit"))
        import dask

        check_is_fitted(self, "estimator_")
        estimator = dask.delayed(self.estimator_, traverse=False)
        parts = list(zip(*aligned_chunks(X, y=y, sample_weight=sample_weight), strict=True))
        terms = add_in_tree(_sum, [dask.delayed(_loo_terms)(estimator, *piece, prior) for piece in parts])
        if terms is None:
            raise ValueError("`X` has no rows; at least one is needed")
        tables = [dask.delayed(_loo_table)(estimator, *piece, prior) for piece in parts]
        log_joint = lazy_rows(X, tables, self.classes_.shape, float)
        sums, se = (terms.n * terms.mean)[0], np.sqrt(terms.ss[0])
        elpd, elpd_joint, p_loo, p_loo_joint, hits, weight = map(float, sums)
        refuse_no_weight(weight)
        return DistributedLoo(
            elpd, float(se[0]), p_loo, elpd_joint, float(se[1]), p_loo_joint, hits / weight, -elpd / weight, log_joint
        )


@dataclass(frozen=True)
class DistributedLoo:
    """Exact leave-one-out of rows in Dask: the sums of `LooResult`, and its table as a lazy Dask array.

    Attributes
    ----------
    elpd, se, p_loo : Σ_i w_i log p(y_i | x_i, D₋ᵢ) in nats, its standard error, and the effective number of parameters
    elpd_joint, se_joint, p_loo_joint : the same for log p(x_i, y_i | D₋ᵢ)
    accuracy, log_loss : weighted share of rows classified correctly from all other rows; −elpd over the total weight
    log_joint : Dask array (n, c) of log p(x_i, y = c | D₋ᵢ), nats

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> from bayesnb import DistributedNB, GaussianNB
    >>> X = da.from_array(np.array([[0.0], [1.0], [5.0], [6.0]]), chunks=(2, 1))
    >>> y = da.from_array(np.array([0, 0, 1, 1]), chunks=2)
    >>> loo = DistributedNB(GaussianNB()).fit(X, y).loo(X, y)
    >>> loo.accuracy
    1.0
    """

    elpd: float
    se: float
    p_loo: float
    elpd_joint: float
    se_joint: float
    p_loo_joint: float
    accuracy: float
    log_loss: float
    log_joint: Any = field(repr=False)

    @property
    def proba(self) -> Any:
        """Class probabilities p(y = c | x_i, D₋ᵢ), a Dask array (n, c)."""
        return self.log_joint.map_blocks(lambda table: np.exp(log_normalize(table)), dtype=float)


# --- what is done to a chunk ----------------------------------------------------------------------------------------


def _labels_of(y: Any) -> np.ndarray | None:
    return united_labels([y]) if len(y) else None


def _rows_of(X: Any, y: Any, weights: Any, rows: np.ndarray) -> tuple[Any, np.ndarray, np.ndarray | None]:
    """Some rows of a chunk."""
    return take_rows(X, rows), np.asarray(y)[rows], None if weights is None else np.asarray(weights)[rows]


def _stacked(rows: Sequence[Any]) -> Any:
    """Rows of chunks, one below the other."""
    if sparse.issparse(rows[0]):
        return sparse.vstack(rows, "csr")
    return pd.concat(rows) if hasattr(rows[0], "columns") else np.concatenate(rows)


def _statistics(estimator: AbstractNB, classes: np.ndarray, X: Any, y: Any, weights: Any) -> AbstractNB | None:
    """The estimator with what a chunk taught it; only that travels, prior and posterior follow from it."""
    if not X.shape[0]:
        return None
    learnt = clone(estimator).partial_fit(X, y, classes=classes, sample_weight=weights)
    learnt.statistics_ = learnt.statistics_  # without prior and posterior
    return learnt


def _merged(parts: list[AbstractNB | None]) -> AbstractNB | None:
    total: AbstractNB | None = None
    for part in parts:
        if total is None:
            total = copy.copy(part)  # what another task has made is left as it is
        elif part is not None:
            total.add_statistics(part)
    return total


def _sum(parts: list[Any]) -> Any:
    present = [part for part in parts if part is not None]
    return functools.reduce(operator.add, present) if present else None


def _said(estimator: Any, method: str, X: Any, shape: tuple[int, ...], dtype: Any, settings: Any) -> np.ndarray:
    return getattr(estimator, method)(X, **settings) if X.shape[0] else np.empty((0, *shape), dtype)


def _hits(estimator: Any, X: Any, y: Any, weights: Any) -> np.ndarray:
    """Σ_i w_i [y_i predicted], and Σ_i w_i."""
    if not X.shape[0]:
        return np.zeros(2)
    w = np.ones(X.shape[0]) if weights is None else np.asarray(weights, float)
    return np.array([w @ (estimator.predict(X) == np.asarray(y)), w.sum()])


def _loo_terms(estimator: AbstractNB, X: Any, y: Any, weights: Any, prior: str) -> Moments | None:
    """Mean and squares of what is summed over rows: their sum, and its standard error √ss, follow by Chan's rule."""
    if not X.shape[0]:
        return None
    if _weightless(weights):
        return Moments.of(np.zeros((X.shape[0], 6)), np.ones((X.shape[0], 1)))
    found = estimator.loo(X, y, weights, prior=prior)
    w, own, joint = found.weight, found.pointwise_fitted, found.pointwise_joint_fitted
    terms = [found.pointwise, found.pointwise_joint, own - found.pointwise, joint - found.pointwise_joint]
    hits = found.log_joint.argmax(1) == found.index
    return Moments.of(w[:, None] * np.stack([*terms, hits, np.ones(len(w))], 1), np.ones((len(w), 1)))


def _loo_table(estimator: AbstractNB, X: Any, y: Any, weights: Any, prior: str) -> np.ndarray:
    if not X.shape[0]:
        return np.empty((0, len(estimator.classes_)))
    if _weightless(weights):  # nothing leaves
        return estimator.posterior_.log_joint(estimator.encode(X))
    return estimator.loo(X, y, weights, prior=prior).log_joint


def _weightless(weights: Any) -> bool:
    """Whether all rows of a chunk have weight 0."""
    return weights is not None and not np.any(np.asarray(weights))
