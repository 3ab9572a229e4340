"""Batch by batch: rows that do not fit into memory, or that only pass by.

Statistics add, so that one batch after the other reaches the posterior that `fit` reaches on all rows at once. What is
held is a batch and the statistics; how many rows there are does not matter.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from copy import copy
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.base import clone
from sklearn.utils import _safe_indexing, gen_batches
from sklearn.utils.validation import check_is_fitted, column_or_1d

from .estimators._base import AbstractNB
from .estimators._input import check_decay, checked_labels, refuse_no_weight
from .tables import TextFile, parquet_files, parquet_pieces

Batch: TypeAlias = tuple[Any, Any, Any]  # rows, labels and weights; None where there are none

_ROWS = 1 << 16


def fit_batches(
    estimator: AbstractNB,
    source: Any,
    y: Any = None,
    sample_weight: Any = None,
    *,
    classes: Any = None,
    batch_size: int = _ROWS,
    decay: Any = 1.0,
    progress_bar: bool = False,
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
    classes : all labels that will occur. With None they are read from y first. Batches that can be read only once are
        not read twice; a new label is then added when it occurs
    batch_size : number of rows in a batch of a file or array
    decay : above 0 and at most 1. Each batch after the first multiplies the weight of all earlier rows by it, as in
        `partial_fit`. The rows of the last batch have their full weight
    progress_bar : whether tqdm shows the number of rows read

    Returns
    -------
    the fitted estimator

    Raises
    ------
    ValueError
        if the source has no rows or no labels, if `fit` refuses a batch, or if a column of numbers in a CSV file has
        text further down; the message names line and column

    Notes
    -----
    Some estimators learn from the rows before they count, such as the parts of `MixedNB("auto")`. This uses the first
    batch. Levels of `CategoricalNB` are in the order in which they occur, except for declared levels.

    Examples
    --------
    >>> import numpy as np
    >>> from bayesnb import GaussianNB, fit_batches
    >>> batches = [(np.array([[0.0], [5.0]]), [0, 1]), (np.array([[1.0], [6.0]]), [0, 1])]
    >>> fit_batches(GaussianNB(), batches).predict([[5.5]])
    array([1])
    """
    _check_size(batch_size)
    check_decay(decay)
    fresh = clone(estimator)
    grows = classes is None and isinstance(source, Iterator)
    if not grows:
        classes = united_labels(_labels_of(source, y, batch_size) if classes is None else [classes])
    with _progress(source, progress_bar) as advance:
        for X, labels, weights in _batches(source, y, sample_weight, batch_size):
            if grows:
                classes = united_labels([_needed(labels)] if classes is None else [classes, _needed(labels)])
            if hasattr(fresh, "classes_") and len(classes) > len(fresh.classes_):
                fresh.learn_classes(classes)
            fresh.partial_fit(X, _needed(labels), classes=classes, sample_weight=weights, decay=decay)
            advance(_length(X))
            del X  # before the next batch is read
    if not hasattr(fresh, "classes_"):
        raise ValueError("`source` has no rows; give at least one")
    refuse_no_weight(fresh.class_count_)
    estimator.__dict__ = vars(fresh) | estimator.get_params(deep=False)  # at once: other threads may be reading
    return estimator


def predict_batches(
    estimator: AbstractNB,
    source: Any,
    method: str = "predict_proba",
    *,
    batch_size: int = _ROWS,
    progress_bar: bool = False,
    **settings: Any,
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
    _check_size(batch_size)
    of_rows = getattr(copy(estimator), method, None)  # one state for all batches
    if not callable(of_rows):
        raise ValueError(f"`method` is {method!r}; {type(estimator).__name__} has no method with that name")
    columns = getattr(estimator, "feature_names_in_", None)

    def arrays() -> Iterator[Any]:
        with _progress(source, progress_bar) as advance:
            for X, *_ in _batches(source, None, None, batch_size, None if columns is None else columns.tolist()):
                yield of_rows(X, **settings)
                advance(_length(X))

    return arrays()


def _check_size(batch_size: Any) -> None:
    if not (isinstance(batch_size, int) and batch_size > 0):
        raise ValueError(f"`batch_size` is {batch_size!r}; it needs to be a positive whole number")


def united_labels(parts: Iterable[Any]) -> np.ndarray:
    """All labels of all parts, sorted; a ValueError where there are none, or some are numbers and some are text."""
    found: np.ndarray | None = None
    for part in parts:
        labels = np.unique(checked_labels(column_or_1d(part)))
        if found is not None and (found.dtype.kind in "biuf") != (labels.dtype.kind in "biuf"):
            raise ValueError(f"`y` has both numbers and text as labels, such as {found[0]!r} and {labels[0]!r}")
        found = labels if found is None else np.union1d(found, labels)
    if found is None:
        raise ValueError("`y` has no labels, because there are no rows; give at least one")
    return found


def _labels_of(source: Any, y: Any, size: int) -> Iterator[Any]:
    """Labels alone, read without the rows where these are stored by column."""
    if _is_path(source) and y is not None:
        yield from (_column(table, y) for table in _tables(source, size, [y]))
    elif _is_table(source) and y is not None:
        yield y if np.ndim(y) else _column(source, y)
    else:
        yield from (_needed(labels) for _, labels, _ in _batches(source, y, None, size))


def _needed(labels: Any) -> Any:
    if labels is None:
        raise ValueError("`source` has no labels; give `y`, or batches (X, y) or (X, y, sample_weight)")
    return labels


def _batches(source: Any, y: Any, weights: Any, size: int, columns: list[Any] | None = None) -> Iterator[Batch]:
    """Rows, labels and weights, none empty; of a file with the columns that are wanted, by default all."""
    if _is_path(source):
        batches: Iterable[Batch] = map(partial(_split, y=y, weights=weights), _tables(source, size, columns))
    elif _is_table(source):
        batches = _slices(source, y, weights, size)
    elif not callable(source) and not isinstance(source, Iterable):
        raise ValueError(
            f"`source` is a {type(source).__name__}; give a path, an array, or batches (X, y) as an iterable or as a "
            "function that returns one"
        )
    elif y is not None or weights is not None:
        raise ValueError("`y` and `sample_weight` are for an array or a file; batches contain them, as (X, y, w)")
    else:
        found = source() if callable(source) else source
        batches = map(lambda one: (*(one if isinstance(one, tuple) else (one,)), None, None)[:3], found)
    return filter(lambda batch: _length(batch[0]), batches)


def _slices(source: Any, y: Any, weights: Any, size: int) -> Iterator[Batch]:
    """An array or data frame, some rows at a time."""
    n, named = source.shape[0], y is not None and np.ndim(y) == 0
    beside = [None if named or column is None else np.asarray(column) for column in (y, weights)]
    for name, column in zip(("y", "sample_weight"), beside, strict=True):
        if column is not None and column.shape[:1] != (n,):
            raise ValueError(f"`{name}` has shape {column.shape}; the {n} rows of `source` need one value each")
    if sparse.issparse(source):
        source = sparse.csr_array(source)
    for part in gen_batches(n, size):
        rows = _safe_indexing(source, part)
        labels, w = (None if column is None else column[part] for column in beside)
        yield _split(rows, y, weights) if named else (rows, labels, w)


def _split(table: Any, y: Any, weights: Any) -> Batch:
    """Features, labels and weights of a data frame, by the names of the columns."""
    labels, w = (None if name is None else _column(table, name) for name in (y, weights))
    return table.drop(columns=[name for name in (y, weights) if name is not None]), labels, w


def _column(table: Any, name: Any) -> np.ndarray:
    names = getattr(table, "columns", ())
    if np.ndim(name) or name not in names:
        raise ValueError(
            f"`source` has no column {name!r}; its columns are {', '.join(map(str, names)) or 'without names'}"
        )
    return table[name].to_numpy()


def _tables(path: Any, size: int, columns: list[Any] | None) -> Iterator[pd.DataFrame]:
    """A file or folder as data frames of bounded length."""
    if not _is_text(path):
        return parquet_pieces(path, size, columns)
    pieces = TextFile(Path(path)).pieces(size, columns)
    return pieces if columns is None else map(lambda piece: piece[columns], pieces)


def _is_path(source: Any) -> bool:
    return isinstance(source, str | os.PathLike)


def _is_text(path: Any) -> bool:
    return not {".csv", ".tsv"}.isdisjoint(Path(path).suffixes)


def _is_table(source: Any) -> bool:
    return hasattr(source, "shape")


def _length(X: Any) -> int:
    return X.shape[0] if hasattr(X, "shape") else len(X)


@contextmanager
def _progress(source: Any, shown: bool) -> Iterator[Callable[[int], Any]]:
    """What is told how many rows were read."""
    if not shown:
        yield lambda _: None
        return
    from tqdm import tqdm

    total = source.shape[0] if _is_table(source) else None
    if _is_path(source) and not _is_text(source):
        total = parquet_files(source).count_rows()
    with tqdm(total=total, unit=" rows", unit_scale=True) as bar:
        yield bar.update
