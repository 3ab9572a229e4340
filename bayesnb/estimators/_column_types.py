"""Types of columns: dates, durations and text among numbers are refused; levels of another type are warned of."""

import numbers
import re
import warnings
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

_NUMBERS = "biufc"  # kinds of NumPy and pandas
_TIMES = re.compile("date|time|period|duration", re.IGNORECASE)  # types of NumPy, pandas, polars and Arrow
_DURATIONS = re.compile("timedelta|duration", re.IGNORECASE)


def refuse_times(X: Any) -> None:
    """Raise a ValueError that names a column of dates or durations.

    As numbers they would be in a unit that nobody chose, and a missing one would be −2⁶³ of them.
    """
    for j, label, dtype in _columns(X):
        if isinstance(dtype, pd.CategoricalDtype):
            dtype = dtype.categories.dtype
        kind = str(dtype)
        if isinstance(dtype, np.dtypes.ObjectDType):  # a first cell tells: no float is made of a date among numbers
            known = next((cell for cell in _cells(X, j) if pd.isna(cell) is not True), None)
            kind = pd.api.types.infer_dtype([known])
        if _DURATIONS.match(kind):
            raise ValueError(
                f"`X` has durations in column {label} ({kind}); make them numbers in a unit of your choice, such as "
                "seconds with `.dt.total_seconds()`"
            )
        if _TIMES.match(kind):
            raise ValueError(
                f"`X` has dates or times in column {label} ({kind}); leave the column out, or make numbers of it, such "
                'as days with `(column - pd.Timestamp("2020-01-01")).dt.days`'
            )


def named_text(X: Any, error: ValueError) -> ValueError | None:
    """An error that names the column of text behind another error, and says what to do; None if there is none."""
    if "could not convert string to float" not in str(error):
        return None
    X = X if hasattr(X, "shape") else np.asarray(X, dtype=object)
    for j, label, _ in _columns(X):
        column = np.asarray(_cells(X, j), dtype=object)
        for cell in column[[isinstance(cell, str | bytes) for cell in column]]:
            try:
                float(cell)
            except ValueError as reason:
                return ValueError(
                    f"`X` has text in column {label}: {reason}. Leave the column out, make numbers of it, or use "
                    "CategoricalNB for text; MixedNB takes columns of text beside columns of numbers"
                )
    return None


def warn_of_types(cells: np.ndarray, levels: np.ndarray, label: str) -> None:
    """Warn of a column without a known level if cells are text and levels are numbers, or the other way round."""
    asked, known = cells[~pd.isna(cells)].tolist(), levels.tolist()
    kinds = [_text_or_numbers(values) for values in (asked, known)]
    if set(kinds) == {"text", "numbers"}:
        warnings.warn(
            f"`X` has {kinds[0]} in column {label}, such as {asked[0]!r}, but its levels are {kinds[1]}, such as "
            f"{known[0]!r}. No cell is a known level, so the whole column is left out; convert it to the type that was "
            "fitted",
            stacklevel=2,
        )


def _text_or_numbers(values: list[Any]) -> str | None:
    """What all values are; None if they are neither, or both, or there are none."""
    for kind, name in ((str, "text"), (numbers.Number, "numbers")):
        if values and all(isinstance(value, kind) for value in values):
            return name
    return None


def _columns(X: Any) -> Iterator[tuple[int, str, Any]]:
    """Place, label and type of the columns of a table, as far as these may not be numbers."""
    schema: Any = getattr(X, "schema", None) if hasattr(X, "shape") else None  # a lazy frame warns of its schema
    names: Any = ()
    types: Any = ()
    if isinstance(X, np.ndarray):
        if X.ndim == 2 and X.dtype.kind not in _NUMBERS:
            names, types = range(X.shape[1]), [X.dtype] * X.shape[1]
    elif isinstance(X, pd.DataFrame):
        names, types = map(str, X.columns), X.dtypes
    elif isinstance(schema, Mapping):  # polars
        names, types = schema.keys(), schema.values()
    elif hasattr(schema, "types"):  # Arrow
        names, types = schema.names, schema.types
    for j, (name, dtype) in enumerate(zip(names, types, strict=True)):
        if getattr(dtype, "kind", "O") not in _NUMBERS:
            yield j, repr(name), dtype


def _cells(X: Any, j: int) -> np.ndarray:
    """The cells of a column."""
    if isinstance(X, pd.DataFrame):
        return X.iloc[:, j].to_numpy(dtype=object)
    return np.asarray(X.column(j) if hasattr(X, "column_names") else X[:, j])
