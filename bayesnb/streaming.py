"""Batch by batch: rows that do not fit into memory, or that only pass by.

Statistics add, so that one batch after the other reaches the posterior that `fit` reaches on all rows at once. What is
held is a batch and the statistics; how many rows there are does not matter.
"""

import os
from collections.abc import Iterable, Iterator
from copy import copy
from functools import partial
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.base import clone
from sklearn.utils import _safe_indexing, gen_batches
from sklearn.utils.validation import _num_samples, check_is_fitted

from .estimators._input import check_decay, checked_labels, refuse_no_weight
from .estimators._learnt import replace_learnt
from .estimators._predicting import AbstractBayes
from .numerics.progress import progress
from .numerics.supports import check_least
from .tables.readers import errors_of, open_table

Batch: TypeAlias = tuple[Any, Any, Any]  # rows, labels and weights; None where there are none

_ROWS = 1 << 16


def fit_batches(
    estimator: AbstractBayes,
    source: Any,
    y: Any = None,
    sample_weight: Any = None,
    *,
    classes: Any = None,
    batch_size: int = _ROWS,
    decay: Any = 1.0,
) -> Any:
    """Fit an estimator to rows that are read batch by batch; it gives the result of `fit` in the memory of one batch.

    Parameters
    ----------
    estimator : the estimator to fit. Its earlier state is replaced when all rows are read; a failure leaves it
        unchanged
    source : where the rows are. It may be the path of a Parquet file, of a folder of them, or of a CSV file (`.csv`,
        `.tsv`, compressed or not). It may be an array, memory map, sparse matrix or data frame, which is read
        `batch_size` rows at a time. It may be an iterable of batches (X, y) or (X, y, sample_weight), such as a
        generator. Or it is a function without arguments that returns a new iterable of that kind at each call
    y : (n,) labels of an array, or the name of the label column in a file or data frame. It is None if the batches have
        labels
    sample_weight : (n,) weights, or the name of their column
    classes : all labels that will occur. With None they are read from y first. An iterator, such as a generator, can be
        read only once and needs them
    batch_size : number of rows in a batch of a file or array
    decay : above 0 and at most 1. Each batch after the first multiplies the weight of all earlier rows by it, as in
        `partial_fit`. The rows of the last batch have their full weight

    Returns
    -------
    the fitted estimator

    Raises
    ------
    ValueError
        if the source has no rows or no labels, if an iterator comes without `classes`, or if `fit` refuses a batch;
        also if a column of numbers in a CSV file has text further down. The message names line and column

    Notes
    -----
    Some estimators learn from the rows before they count, such as the parts of `MixedNB("auto")`. This uses the first
    batch. Levels of `CategoricalNB` are in the order in which they occur, except for declared levels.

    After three seconds a terminal shows how many rows have been read. TQDM_DISABLE=1 in the environment hides it.

    Examples
    --------
    >>> import numpy as np
    >>> from bayesnb import GaussianNB, fit_batches
    >>> batches = [(np.array([[0.0], [5.0]]), [0, 1]), (np.array([[1.0], [6.0]]), [0, 1])]
    >>> fit_batches(GaussianNB(), batches).predict([[5.5]])
    array([1])
    """
    check_least(1, batch_size=batch_size)  # ValueError unless a whole number of at least 1
    check_decay(decay)  # before a source is read for its labels
    if classes is None:
        classes = _classes_of_source(source, y, batch_size)

    # Each batch adds its statistics, sums over its rows, to those of the batches before. The posterior depends on the
    # rows by these sums alone, so that at the end it is that of all rows at once.
    fitted = clone(estimator)
    with progress("fit", _number_of_rows(source), "rows") as line:  # shown on a terminal while it lasts
        for X, labels, weights in _batches(source, y, sample_weight, batch_size):
            fitted.partial_fit(X, _required_labels(labels), classes=classes, sample_weight=weights, decay=decay)
            line.advance(_num_samples(X))
            del X  # before the next batch is read

    was_fitted = hasattr(fitted, "classes_")  # False if there was no batch
    if not was_fitted:
        raise ValueError("`source` has no rows; give at least one")
    refuse_no_weight(fitted.class_count_)  # ValueError if all weights are 0
    replace_learnt(estimator, vars(fitted))  # at once: other threads may be reading
    return estimator


def predict_batches(
    estimator: AbstractBayes, source: Any, method: str = "predict_proba", *, batch_size: int = _ROWS, **settings: Any
) -> Iterator[Any]:
    """Call a method of a fitted estimator on rows that are read batch by batch: one array a batch, in order.

    Parameters
    ----------
    source : as in `fit_batches`. Batches are X, or tuples whose first element is X. From a file only the fitted columns
        are read
    method : name of the method, such as "predict", "predict_log_proba" or "predict_interval"
    settings : further arguments of the method, such as `level=0.5`

    Raises
    ------
    ValueError
        if the estimator is not fitted or has no such method, or if the method refuses a batch

    Examples
    --------
    >>> import numpy as np
    >>> from bayesnb import GaussianNB, predict_batches
    >>> nb = GaussianNB().fit([[0.0], [1.0], [5.0], [6.0]], [0, 0, 1, 1])
    >>> list(predict_batches(nb, np.array([[0.5], [5.5]]), batch_size=1))
    [array([[0.87058176, 0.12941824]]), array([[0.12941824, 0.87058176]])]
    """
    check_is_fitted(estimator)
    check_least(1, batch_size=batch_size)  # ValueError unless a whole number of at least 1
    # a copy keeps what was learnt, even if the estimator is fitted again while batches come
    method_of_copy = getattr(copy(estimator), method, None)
    if not callable(method_of_copy):
        raise ValueError(f"`method` is {method!r}; {type(estimator).__name__} has no method with that name")

    # the names of the fitted columns; None if they have none
    names = [*getattr(estimator, "feature_names_in_", ())] or None
    # This is a generator: a batch is read when its result is asked for. The checks above are made at the call.
    return _predictions(partial(method_of_copy, **settings), source, batch_size, names)


def _predictions(of_rows: Any, source: Any, batch_size: int, names: Any) -> Iterator[Any]:
    """The result of each batch, one after the other, computed when it is asked for.

    Parameters
    ----------
    of_rows : the function of the rows of a batch
    source, batch_size : where the rows are, and how many are read at a time
    names : of the columns that are read of a file; None reads all
    """
    with progress("predict", _number_of_rows(source), "rows") as line:  # shown on a terminal while it lasts
        for X, _, _ in _batches(source, None, None, batch_size, names):
            yield of_rows(X)
            line.advance(_num_samples(X))


def _number_of_rows(source: Any) -> int | None:
    """How many rows an array or data frame has, for the progress; None of what is read only as it comes."""
    return source.shape[0] if hasattr(source, "shape") else None


# --- labels ---------------------------------------------------------------------------------------------------------


def _classes_of_source(source: Any, y: Any, batch_size: int) -> np.ndarray:
    """All labels of a source of rows, sorted, (c,): the source is read to its end for them, before it is read to fit.

    ValueError for an iterator, such as a generator, as it can be read only once.
    """
    if isinstance(source, Iterator):
        raise ValueError("`source` can be read only once; give all labels as `classes`, or a function as `source`")
    is_file = isinstance(source, str | os.PathLike)
    columns = y if is_file else None  # of a file the column of labels alone is read
    batches = _batches(source, y, None, batch_size, columns)  # (rows, labels, weights) each
    return united_labels(_required_labels(labels) for _, labels, _ in batches)


def united_labels(parts: Iterable[Any]) -> np.ndarray:
    """All labels of all parts, sorted, (c,); a ValueError where there are none, or some are numbers and some are text.

    Parameters
    ----------
    parts : labels of some rows each, such as of a batch
    """
    classes = np.zeros(0)
    for part in parts:
        labels = np.unique(checked_labels(part))
        if not len(classes):  # of the first part that has rows
            classes = labels
            continue

        # Numbers beside text are refused, since `union1d` would make text of them: 1 and "a" would become "1" and "a".
        # "biuf" are NumPy's codes of bool, whole numbers with and without sign, and floats.
        are_numbers = classes.dtype.kind in "biuf"
        new_are_numbers = labels.dtype.kind in "biuf"
        if are_numbers != new_are_numbers:
            raise ValueError(f"`y` has both numbers and text as labels, such as {classes[0]!r} and {labels[0]!r}")
        classes = np.union1d(classes, labels)
    if not len(classes):
        raise ValueError("`y` has no labels, because there are no rows; give at least one")
    return classes


def _required_labels(labels: Any) -> Any:
    """The labels of a batch as they are; a ValueError where it has none, since a fit needs them."""
    if labels is None:
        raise ValueError("`source` has no labels; give `y`, or batches (X, y) or (X, y, sample_weight)")
    return labels


# --- batches --------------------------------------------------------------------------------------------------------


def _batches(source: Any, y: Any, weights: Any, size: int, columns: Any = None) -> Iterator[Batch]:
    """Rows, labels and weights of each batch that is not empty, one batch in memory at a time.

    Parameters
    ----------
    source, y, weights : as in `fit_batches`: y and weights are (n,), names of columns, or None
    size : rows of a batch of a file or an array
    columns : names of the columns that are read of a file, or one name; None reads all
    """
    # A file, an array, or batches themselves; all else is refused. `map` reads nothing yet: a batch is made when it is
    # asked for.
    is_file = isinstance(source, str | os.PathLike)
    is_array = hasattr(source, "shape")
    gives_batches = callable(source) or isinstance(source, Iterable)
    batches: Iterable[Batch]
    if is_file:
        split = partial(_split_columns, y=y, weights=weights)  # takes the columns of labels and weights out of a table
        batches = map(split, _pieces_of_file(os.fspath(source), columns, size))
    elif is_array:
        batches = _slices(source, y, weights, size)
    elif not gives_batches:
        raise ValueError(
            f"`source` is a {type(source).__name__}; give a path, an array, or batches (X, y) as an iterable or as a "
            "function that returns one"
        )
    elif y is not None or weights is not None:
        raise ValueError("`y` and `sample_weight` are for an array or a file; batches contain them, as (X, y, w)")
    else:
        batches = map(_as_batch, source() if callable(source) else source)

    # a loop would hold a batch in its variable while the next one is read; `map` and `filter` do not
    return filter(_has_rows, batches)


def _as_batch(batch: Any) -> Batch:
    """A batch as three things, rows, labels and weights, with None for what is not there.

    It may be given as rows X alone, as (X, y) or as (X, y, weights).
    """
    parts = batch if isinstance(batch, tuple) else (batch,)
    with_none = (*parts, None, None)  # (X, y) becomes (X, y, None, None)
    X, y, weights = with_none[:3]
    return X, y, weights


def _has_rows(batch: Batch) -> bool:
    """Whether a batch is not empty."""
    return bool(_num_samples(batch[0]))


def _pieces_of_file(path: str, columns: Any, size: int) -> Iterator[pd.DataFrame]:
    """The rows of a file, piece by piece; an error names the line of a cell that cannot be read."""
    file = open_table(path)
    with errors_of(file):
        yield from file.pieces(columns=columns, rows=size)


def _slices(source: Any, y: Any, weights: Any, size: int) -> Iterator[Batch]:
    """An array, sparse matrix or data frame, some rows at a time, with their labels and weights.

    Parameters
    ----------
    source : (n, d) rows
    y, weights : (n,) of each row; or names of columns of a data frame; or None
    size : rows of a batch
    """
    is_name = y is not None and np.ndim(y) == 0  # a single value: the name of a column of a data frame
    if is_name:
        source, y, weights = _split_columns(source, y, weights)  # takes these columns out of the data frame
    n = source.shape[0]
    labels = _checked_column("y", y, n)
    weights = _checked_column("sample_weight", weights, n)

    if sparse.issparse(source):
        source = sparse.csr_array(source)  # other forms cannot be cut into rows
    for part in gen_batches(n, size):  # slices: of 5 rows by 2 they are 0:2, 2:4 and 4:5
        batch_labels = None if labels is None else labels[part]
        batch_weights = None if weights is None else weights[part]
        yield _safe_indexing(source, part), batch_labels, batch_weights


def _checked_column(name: str, column: Any, n: int) -> np.ndarray | None:
    """Labels or weights as an array (n,), None if there are none; a ValueError unless there is one for each row."""
    if column is None:
        return None
    if np.shape(column)[:1] != (n,):
        raise ValueError(f"`{name}` has shape {np.shape(column)}; the {n} rows of `source` need one value each")
    return np.asarray(column)


def _split_columns(table: Any, y: Any, weights: Any) -> Batch:
    """Features, labels and weights of a data frame, by the names of their columns; a name may be None.

    ValueError for a name that is no column. The features are all columns but those of labels and weights.
    """
    columns = getattr(table, "columns", ())  # an array has none
    names = [name for name in (y, weights) if name is not None]
    for name in names:
        is_array = np.ndim(name) > 0  # an array is no name
        if is_array or name not in columns:
            shown = ", ".join(map(str, columns)) or "without names"
            raise ValueError(f"`source` has no column {name!r}; its columns are {shown}")

    # what remains are the features
    labels = None if y is None else table[y].to_numpy()
    row_weights = None if weights is None else table[weights].to_numpy()
    return table.drop(columns=names), labels, row_weights
