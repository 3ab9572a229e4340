"""Rows spread over a cluster: Dask arrays and data frames.

Every chunk becomes statistics, c × d numbers however many rows it has, and a tree of additions makes them those of all
rows. What is fitted is an ordinary estimator in memory; prediction sends it to the chunks. Which scheduler or cluster
does the work is Dask's affair: the one that is active.
"""

import copy
from typing import Any, Self

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils.validation import check_is_fitted

from .estimators._input import check_decay, refuse_no_weight
from .estimators._predicting import AbstractBayes
from .posterior.intervals import fix_seed
from .streaming import united_labels

_MERGED_AT_ONCE = 8  # parts that one task adds


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

    def __init__(self, estimator: AbstractBayes) -> None:
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
        learnt = self._fitted_to_all_chunks(X, y, sample_weight, classes)
        refuse_no_weight(learnt.class_count_)
        self.estimator_ = learnt
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None, *, decay: Any = 1.0) -> Self:
        """Add rows; `classes` of the first call are all labels that will ever occur, by default those of its rows.

        `decay` first multiplies the weight of all earlier rows, as in `GaussianNB.partial_fit`.
        """
        check_decay(decay)
        is_first_call = not hasattr(self, "estimator_")
        if is_first_call:
            self.estimator_ = self._fitted_to_all_chunks(X, y, sample_weight, classes)
            return self

        # later calls may repeat the classes of the first one, in any order, but not change them
        if classes is not None:
            labels = united_labels([classes])  # sorted, as `classes_` are
            if not np.array_equal(labels, self.classes_):
                raise ValueError(
                    f"`classes` is {labels}, but the first call had {self.classes_}; pass the same classes"
                )

        # The posterior depends on the rows by sums over them, its statistics. Those of earlier and of new rows add up:
        # `merge` adds the sums of another estimator. The old one is not changed, as others may be reading it.
        before = copy.copy(self.estimator_)
        if decay != 1:
            before = before.model_.with_statistics(before.statistics_.scaled(decay))
        of_new_rows = self._fitted_to_all_chunks(X, y, sample_weight, self.classes_)
        self.estimator_ = before.merge(of_new_rows)
        return self

    def _fitted_to_all_chunks(self, X: Any, y: Any, sample_weight: Any, classes: Any) -> AbstractBayes:
        """The estimator fitted to all rows: one is fitted to each chunk, where the chunk is, and these are merged.

        Dask is lazy. `dask.delayed(function)(…)` makes no call, but an object that stands for its result; the call is
        made later, on the machine that has the chunk. `dask.compute` and `compute()` ask for the calls to be made.

        Parameters
        ----------
        X, y, sample_weight : as in `fit`
        classes : all labels; with None they are read from y, chunk by chunk, before the rows are
        """
        import dask

        # `merge` makes one estimator of two that were fitted to different rows, which some estimators cannot
        if not hasattr(self.estimator, "merge"):
            name = type(self.estimator).__name__
            raise ValueError(f"`estimator` is a {name}, which needs all rows at once; fit it on rows in memory")
        if y is None:
            raise ValueError("`y` is None; give the labels")

        # rows, labels and weights chunk by chunk, cut at the same rows
        rows = _row_chunks(X)
        labels = _chunks_beside(X, "y", y)
        weights = [None] * len(rows)
        if sample_weight is not None:
            weights = _chunks_beside(X, "sample_weight", sample_weight)

        # all chunks must know the same classes: the different labels of each chunk are brought here, and united
        labels_of_chunks: Any = [classes]
        if classes is None:
            different_labels = dask.delayed(pd.unique)  # of a chunk
            labels_of_chunks = dask.compute(*map(different_labels, labels))
        all_classes = united_labels(chunk for chunk in labels_of_chunks if len(chunk))

        # for each chunk the estimator fitted to it, or None of a chunk without rows; they are computed in the last step
        estimator = dask.delayed(clone(self.estimator), traverse=False)  # sent once; Dask does not look into it
        fitted = []
        for X_chunk, y_chunk, weight_chunk in zip(rows, labels, weights, strict=True):
            fitted.append(dask.delayed(_fitted_to_chunk)(estimator, all_classes, X_chunk, y_chunk, weight_chunk))
        total = _merged_in_tree(fitted)
        if total is None:
            raise ValueError("`X` has no rows; at least one is needed")
        return total

    # --- prediction -------------------------------------------------------------------------------------------------

    def predict(self, X: Any) -> Any:
        """The most probable label of each row, a Dask array (n,)."""
        return self._table("predict", X, (), self.classes_.dtype)

    def predict_joint_log_proba(self, X: Any) -> Any:
        """log p(x_i, y = c) in nats, a Dask array (n, c)."""
        return self._table("predict_joint_log_proba", X, self.classes_.shape)

    def predict_log_proba(self, X: Any) -> Any:
        """log p(y = c | x_i) in nats, a Dask array (n, c)."""
        return self._table("predict_log_proba", X, self.classes_.shape)

    def predict_proba(self, X: Any) -> Any:
        """p(y = c | x_i), a Dask array (n, c)."""
        return self._table("predict_proba", X, self.classes_.shape)

    def predict_interval(self, X: Any, *, seed: int | np.random.Generator | None = 0, **settings: Any) -> Any:
        """Credible interval of the class probability, a Dask array (n, c, 2); all chunks use the same draws.

        Parameters
        ----------
        settings : as in `GaussianNB.predict_interval`, such as `level=0.5`
        """
        settings["seed"] = fix_seed(seed)
        return self._table("predict_interval", X, (*self.classes_.shape, 2), float, settings)

    def _table(self, method: str, X: Any, shape: tuple[int, ...], dtype: Any = float, settings: Any = None) -> Any:
        """What a method predicts for all n rows, as a Dask array (n, *shape) whose numbers are computed later.

        A Dask array is a list of chunks, each of which is a call that is not made before `compute` asks for the
        numbers. Here a chunk is the call of the method on one chunk of rows.

        Parameters
        ----------
        method : name of a method of the estimator, such as "predict_proba"
        X : Dask array or data frame of rows
        shape, dtype : of the result of one row, as Dask has to know them before anything is computed
        settings : further arguments of the method, by name
        """
        import dask
        import dask.array as da

        check_is_fitted(self, "estimator_")
        chunks = _row_chunks(X)  # the rows chunk by chunk, each with all columns
        sizes = _chunk_sizes(X)  # the number of rows of each; NaN of a data frame, where only reading it would tell
        estimator = dask.delayed(self.estimator_, traverse=False)  # sent as one object that Dask does not look into
        tables = []
        for n_rows, chunk in zip(sizes, chunks, strict=True):
            # a call of `_predicted` that is made later, on the machine that has the chunk, and an array of its result
            predicted = dask.delayed(_predicted)(estimator, method, chunk, shape, dtype, settings or {})
            tables.append(da.from_delayed(predicted, (n_rows, *shape), dtype))
        return da.concatenate(tables, allow_unknown_chunksizes=True)  # one below the other

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Accuracy: the weighted share of rows whose label is predicted correctly. All labels come into memory."""
        import dask

        (predicted,) = dask.compute(self.predict(X))  # one after the other: Dask warns of mixed kinds of collections
        (labels,) = dask.compute(y)
        (weights,) = dask.compute(sample_weight)
        return float(np.average(predicted == np.asarray(labels), weights=weights))


# --- what is done to a chunk ----------------------------------------------------------------------------------------


def _fitted_to_chunk(
    estimator: AbstractBayes, classes: np.ndarray, X: Any, y: Any, weights: Any
) -> AbstractBayes | None:
    """A copy of the estimator that is fitted to one chunk; None if the chunk has no rows.

    It runs on the machine that has the chunk, and `classes` (c,) are those of all chunks: one may have rows of a few.
    """
    if not X.shape[0]:
        return None
    return clone(estimator).partial_fit(X, y, classes=classes, sample_weight=weights)


def _merged(parts: list[Any]) -> Any:
    """The estimators that were fitted to some chunks as one, fitted to all their rows; None if no chunk has a row.

    A part is None where its chunk has no rows. `merge` adds the statistics of another estimator to its own.
    """
    with_rows = [part for part in parts if part is not None]
    if not with_rows:
        return None
    total = copy.copy(with_rows[0])  # the result of a task must not change: Dask may use it again
    for other in with_rows[1:]:
        total.merge(other)
    return total


def _predicted(estimator: Any, method: str, X: Any, shape: tuple[int, ...], dtype: Any, settings: Any) -> np.ndarray:
    """What a method predicts for the rows of a chunk, (rows, *shape)."""
    if not X.shape[0]:  # estimators refuse a chunk without rows
        return np.empty((0, *shape), dtype)
    return getattr(estimator, method)(X, **settings)


# --- how collections are cut into chunks of rows ------------------------------------------------------------------


def _merged_in_tree(parts: list[Any]) -> Any:
    """The estimators of all chunks merged into one, which is brought here; None if no chunk has a row.

    Eight at a time become one, until one is left. They are merged where they are, so that no machine holds all of them;
    the order, and so the last bit, is always the same.
    """
    import dask

    while len(parts) > 1:
        # One task, computed later, for each group of eight: 20 parts become 3, which become 1.
        parts = [
            dask.delayed(_merged)(parts[first : first + _MERGED_AT_ONCE])
            for first in range(0, len(parts), _MERGED_AT_ONCE)
        ]
    return parts[0].compute()  # now all tasks run


def _chunk_sizes(X: Any) -> tuple[int | float, ...]:
    """Number of rows of each chunk, NaN where it is not known: for example, (5, 5, 2), or (NaN, NaN, NaN)."""
    if hasattr(X, "chunks"):  # an array: the lengths of its chunks along each axis, of which axis 0 is that of rows
        return X.chunks[0]
    return (np.nan,) * X.npartitions  # a data frame knows only how many chunks it has


def _delayed_chunks(collection: Any) -> list[Any]:
    """The chunks of an array or data frame, each a value that Dask computes later."""
    # a list of a data frame; of an array an array of objects, with as many axes as it has, of which `flat` makes a list
    chunks = collection.to_delayed()
    chunks = list(getattr(chunks, "flat", chunks))

    # Dask joins small pieces of a file of which few columns are read, unless told not to. Labels could then have other
    # chunks than the rows that they belong to.
    has_joined_chunks = len(chunks) != collection.npartitions
    if has_joined_chunks:
        chunks = list(collection.to_delayed(optimize_graph=False))
    return chunks


def _row_chunks(X: Any) -> list[Any]:
    """The rows of X chunk by chunk, each with all its columns, as values that Dask computes later.

    ValueError unless X is a Dask array with two axes, or a Dask data frame.
    """
    import dask
    import dask.array as da

    # `to_delayed` gives the chunks of a Dask array or data frame
    if not dask.is_dask_collection(X) or not hasattr(X, "to_delayed"):
        raise ValueError(f"`X` is a {type(X).__name__}; give a Dask array or data frame, or use the estimator itself")
    if isinstance(X, da.Array):
        if X.ndim != 2:
            raise ValueError(f"`X` has {X.ndim} dimensions; it needs 2, rows and columns")
        X = X.rechunk({1: -1})  # one chunk along the columns: a row must not be cut
    return _delayed_chunks(X)


def _chunks_beside(X: Any, name: str, column: Any) -> list[Any]:
    """Labels or weights chunk by chunk, cut at the rows at which X is, as values that Dask computes later.

    Parameters
    ----------
    X : Dask array or data frame of rows
    name : "y" or "sample_weight", for the messages
    column : (n,) labels or weights, as a Dask collection or an array
    """
    import dask
    import dask.array as da

    # a Dask collection; an array becomes one of a single chunk
    spread = column
    if not dask.is_dask_collection(column):
        spread = da.from_array(np.asarray(column), chunks=-1)

    # If the lengths of all chunks are known, the column is cut where X is: one chunk of 5 rows becomes chunks of 2, 2
    # and 1 rows.
    sizes = _chunk_sizes(X)  # numbers of rows, NaN where not known
    sizes_of_column = _chunk_sizes(spread)
    are_known = not np.isnan([*sizes, *sizes_of_column]).any()
    if are_known:
        if spread.shape[0] != sum(sizes):
            raise ValueError(f"`{name}` has {spread.shape[0]} rows and `X` has {sum(sizes)}; give one for each")
        spread = spread.rechunk({0: sizes})

    # Otherwise it has to be cut there already. The number of chunks is checked here; a chunk of another length is found
    # when it is fitted.
    chunks = _delayed_chunks(spread)
    if len(chunks) != len(sizes):
        raise ValueError(
            f"`{name}` has {len(chunks)} chunks and `X` has {len(sizes)}, and some lengths are unknown; "
            "give both the same chunks, or call `compute_chunk_sizes()`"
        )
    return chunks
