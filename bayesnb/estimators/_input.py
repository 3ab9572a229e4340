"""Input as arrays: rows, labels and hyperparameters, checked where they enter; each error names its argument."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, is_dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse import csr_array, spmatrix
from sklearn.base import BaseEstimator
from sklearn.utils import _safe_indexing, assert_all_finite, check_array
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    _check_feature_names,
    _check_sample_weight,
    _check_y,
    _get_feature_names,
    check_consistent_length,
)

from ..numerics import distributions
from ..numerics.arrays import Scalar, is_sparse
from ..numerics.pytrees import record
from ..numerics.supports import Cells, shortened
from ..sums.rows import csr_slice, parallel_map, row_slices
from ..tables.names import COUNT_WORDS

_NUMBERS = [np.float64, np.float32, *(f"{kind}{size}" for kind in ("int", "uint") for size in (8, 16, 32, 64))]
_TIMES = re.compile("date|time|period|duration", re.IGNORECASE)  # types of NumPy, pandas, polars and Arrow

BLOCK = "x"  # the block of an estimator that has only one


class Unavailable(AttributeError, ValueError):
    """What an estimator does not have with these settings and rows; the message gives the reason."""


# --- rows and columns -----------------------------------------------------------------------------------------------


@record
@dataclass(frozen=True)
class Columns:
    """The columns of X.

    Fields
    ------
    n : how many there are
    names : (n,) their names, None where they have none
    contract : a `ColumnContract`, which says how each column of a data frame is read; None where nobody made one
    """

    n: int
    names: np.ndarray | None = None
    contract: Any = None

    @property
    def labels(self) -> np.ndarray:
        """Names of the columns, or their numbers."""
        return np.arange(self.n) if self.names is None else self.names

    def label(self, j: Any) -> str:
        """A column as messages call it: its name in quotes, else its number."""
        return str(j) if self.names is None else repr(str(self.names[j]))

    def place(self, column: Any) -> int | None:
        """The position of a column given by its name or its number; None where there is no such column.

        A number that is the name of a column means that column, whatever its position.

        Parameters
        ----------
        column : name or number
        """
        names = [] if self.names is None else self.names.tolist()
        # names first: a data frame may have numbers as names
        if column in names:
            return names.index(column)  # of the first, if several columns have the name
        is_number = isinstance(column, int | np.integer)
        if is_number and 0 <= column < self.n:
            return int(column)
        return None

    def take(self, positions: np.ndarray) -> "Columns":
        """Some of the columns."""
        names = None if self.names is None else self.names[positions]
        return Columns(len(positions), names)


def checked_rows(
    estimator: Any, X: Any, fitted: Columns | None, *y: Any, numbers: bool, sparse: bool
) -> tuple[Any, Any, Columns]:
    """Rows as an array, sparse array or data frame of pandas, labels as an array, and what the columns are.

    Integers and float32 stay as they are: what is computed of them is float64, some rows at a time.

    Parameters
    ----------
    estimator : whose class is named in errors
    X : rows as the user gives them
    fitted : the columns of the fit, which these have to be; None at the first fit
    y : labels, one argument or none; without it None is returned
    numbers : whether cells have to be numbers. Otherwise they may be of any type, and a data frame stays as it is
    sparse : whether rows may be sparse

    Returns
    -------
    rows : (n, d), with each cell of a sparse array stored once
    labels : (n,), or None
    columns : those of the fit, or those of X at the first fit
    """
    table = as_table(X)  # a data frame of pandas, an array or a sparse array; or a list, as it is
    labels = None
    # several checks are scikit-learn's. Inside this `with` their errors get the name of the argument in front
    with naming("X", "y"):
        # names of the columns, which have to be those of the fit; None where X has none
        names = None if isinstance(table, np.ndarray) else _get_feature_names(table)
        if numbers:
            _refuse_times(table, names)  # a ValueError on columns of dates
        # scikit-learn compares the names with those that the estimator has; no names on either side is not an error
        if fitted is not None and (names is not None or fitted.names is not None):
            _check_feature_names(estimator, table, reset=False)

        if y:
            labels = checked_labels(*y)

        # cells: numbers, or anything that a data frame holds. A frame of any cells stays as it is, unless it is empty
        if numbers or not isinstance(table, pd.DataFrame):
            rows = _checked_array(estimator, table, names, numbers, sparse)
        elif all(table.shape):
            rows = table
        else:
            raise ValueError("`X` has {} rows and {} columns; give at least one of each".format(*table.shape))
        if y:
            check_consistent_length(rows, labels)

    if fitted is not None and fitted.n != rows.shape[1]:
        kind = type(estimator).__name__
        raise ValueError(f"X has {rows.shape[1]} features, but {kind} is expecting {fitted.n} features as input")
    return _canonical(rows), labels, fitted or Columns(rows.shape[1], names)


def _checked_array(estimator: Any, table: Any, names: np.ndarray | None, numbers: bool, sparse: bool) -> Any:
    """Rows as an array or a sparse array, by scikit-learn's check.

    Infinite and missing cells are allowed here: `check_finite` looks for them later, some rows at a time.

    Parameters
    ----------
    estimator : whose class is named in errors
    table : rows in a form that scikit-learn knows
    names : of the columns, for errors; None if they have none
    numbers : whether cells have to be numbers
    sparse : whether rows may be sparse
    """
    try:
        return check_array(
            table,
            accept_sparse="csr" if sparse else False,
            dtype=_NUMBERS if numbers else None,
            ensure_all_finite=False,  # NaN and infinity are looked for later
            estimator=estimator,
            input_name="X",
        )
    except ValueError as error:
        _refuse_text(table, names, error)  # a better message, if text was the reason
        raise


def _canonical(rows: Any) -> Any:
    """Sparse rows as an array of SciPy with each cell stored once; others as they are."""
    # a `spmatrix` of SciPy's older interface has sums that are matrices, and its `*` is a matrix product
    if isinstance(rows, spmatrix):
        rows = csr_array(rows)
    # a sparse array may hold a cell in several entries, which mean their sum; `sum_duplicates` makes one of them
    if is_sparse(rows) and not rows.has_canonical_format:
        rows = rows.copy()  # the user's own rows do not change
        rows.sum_duplicates()
    return rows


def align(name: str, value: Any, *labels: Any) -> Any:
    """A pandas hyperparameter in the order of the labels of its last axes; a default index, or None, stays.

    Parameters
    ----------
    name : how an error names the hyperparameter
    value : anything; what is no Series or DataFrame is returned as it is
    labels : of each axis the labels in the order that is needed, such as classes and columns; None if it has none. A
        Series, of one axis, is aligned with the last of them
    """
    is_pandas = hasattr(value, "iloc")
    if not is_pandas:
        return value
    # axis by axis: the same labels in another order are put in order, other labels are an error. A Series has one axis,
    # and `labels[-1:]` is its counterpart, the last one. An index 0, 1, 2 … is the default of pandas and names nothing
    aligned = value
    for axis, expected in enumerate(labels[-value.ndim :]):
        index = value.axes[axis]
        is_default = isinstance(index, pd.RangeIndex) and index.equals(pd.RangeIndex(len(index)))
        if expected is None or is_default:
            continue
        if not index.is_unique or {*index} != {*pd.Index(expected)}:
            requirement = f"it needs each of {shortened(expected.tolist())} once, or `.to_numpy()` of it in this order"
            raise ValueError(f"`{name}` has the labels {shortened(index.tolist())}; {requirement}")
        aligned = aligned.reindex(expected, axis=axis)
    return aligned


def as_table(X: Any) -> Any:
    """Rows in one of few forms: every data frame as one of pandas, every missing cell as NaN.

    Libraries are told apart by the methods that their tables have, in this order:

    - a LazyFrame of polars is refused, because its rows are not computed yet
    - a Table of Arrow and a DataFrame of polars become data frames of pandas
    - in data frames of pandas and in arrays, cells that are masked, None or pandas.NA become NaN
    - all else, such as sparse arrays and lists, stays as it is

    Levels that a type declares stay declared: those of Arrow's dictionaries, and of polars' Enum. polars and Arrow need
    not be installed, so they are not imported: their tables are recognised by methods that only they have.

    Parameters
    ----------
    X : rows as the user gives them
    """
    # a lazy frame comes first, because to ask it for `columns`, as below, costs time and makes polars warn
    is_polars_lazy = hasattr(X, "collect_schema") and hasattr(X, "collect")
    if is_polars_lazy:
        raise ValueError(f"`X` is a {type(X).__name__}, whose rows are not computed yet; give `X.collect()`")

    is_arrow = hasattr(X, "column_names") and hasattr(X, "to_pandas")
    if is_arrow:
        return X.to_pandas()  # with NaN for missing cells, and a categorical for a column with a dictionary of levels

    is_polars = hasattr(X, "columns") and hasattr(X, "get_column")
    if is_polars:
        columns = {name: _column_of_polars(X.get_column(name)) for name in X.columns}
        return _plain_frame(pd.DataFrame(columns))
    if isinstance(X, pd.DataFrame):
        return _plain_frame(X)
    if isinstance(X, np.ndarray):
        return _plain_array(X)
    return X


def _plain_array(X: np.ndarray) -> np.ndarray:
    """An array with NaN where a cell is masked, None or pandas.NA; other arrays as they are, without a copy."""
    # a masked array marks missing cells by a second array of booleans. NaN needs floats, or objects beside text
    if isinstance(X, np.ma.MaskedArray):
        holds_numbers = X.dtype.kind in "biuf"
        return np.ma.filled(X.astype(float if holds_numbers else object), np.nan)
    if X.dtype == object:
        return np.where(pd.isna(X), np.nan, X)
    return X


def _plain_frame(frame: pd.DataFrame) -> pd.DataFrame:
    """A data frame in which two kinds of columns are made plain; other columns stay.

    - a column of objects gets NaN where a cell is None or pandas.NA
    - a column that pandas holds as a dictionary of Arrow, `ArrowDtype(dictionary<…>)`, becomes a categorical of pandas
      with the same levels

    Parameters
    ----------
    frame : of pandas; it does not change
    """
    new_columns = {}  # cells by position of the column
    for j, dtype in enumerate(frame.dtypes):
        cells = frame.iloc[:, j]
        # objects are Python values of any type; the name of a type that holds a dictionary begins with "dictionary<"
        if isinstance(dtype, np.dtypes.ObjectDType):
            new_columns[j] = _plain_array(cells.to_numpy())
        elif str(dtype).startswith("dictionary<"):
            # `__arrow_array__` is pandas' protocol for the Arrow array behind a column; Arrow's own conversion makes
            # a categorical of it
            arrow_array = cells.array.__arrow_array__()
            new_columns[j] = arrow_array.to_pandas().array
    if not new_columns:
        return frame
    plain = frame.copy(deep=False)  # the columns are shared, and those of the user do not change
    for j, cells in new_columns.items():
        plain.isetitem(j, cells)
    return plain


def _column_of_polars(column: Any) -> Any:
    """The cells of a column of polars: a categorical of pandas for an Enum, with its levels; otherwise an array."""
    if type(column.dtype).__name__ == "Enum":
        return pd.Categorical(column.to_list(), categories=column.dtype.categories.to_list())
    return column.to_numpy()


def _refuse_times(X: Any, names: np.ndarray | None) -> None:
    """Raise a ValueError that names a column of dates or durations.

    As numbers they would be in a unit that nobody chose, and a missing one would be −2⁶³ of them.

    Parameters
    ----------
    names : of the columns, for the message; None if they have none
    """
    # only data frames, and arrays of objects (O), durations (m) or dates (M) can hold times
    # (the kinds of NumPy's types). The types of the columns are looked at as those of a data frame
    may_have_times = isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "OmM"
    frame = pd.DataFrame(X) if may_have_times else X
    if not isinstance(frame, pd.DataFrame):
        return

    for j, dtype in enumerate(frame.dtypes):
        # the name of the type of the cells, or of the levels of a categorical, such as "datetime64[ns]"
        kind = str(dtype.categories.dtype if isinstance(dtype, pd.CategoricalDtype) else dtype)
        if kind == "object":
            # the first cell decides; a date further down is refused later, when floats are made of the cells
            kind = pd.api.types.infer_dtype(frame.iloc[:, j].dropna()[:1])
        if _TIMES.match(kind):
            raise ValueError(
                f"`X` has dates, times or durations in column {Columns(0, names).label(j)} ({kind}); leave the column "
                "out, or make numbers of it in a unit of your choice, such as days with `.dt.days` of a difference"
            )


def _refuse_text(X: Any, names: np.ndarray | None, error: ValueError) -> None:
    """Raise a ValueError that names the column of text, if text is the reason of an error of NumPy.

    Parameters
    ----------
    names : of the columns; None if they have none
    error : what was raised when numbers were made of X
    """
    # a list of documents in place of a table: scikit-learn says that it has one dimension, and its first item is text
    if "Expected 2D array, got 1D array" in str(error) and _is_text(np.asarray(X, dtype=object)[:1]):
        raise ValueError(f"`X` is a list of texts, such as {shortened(np.asarray(X)[0])}; {COUNT_WORDS}") from error
    if "could not convert string to float" not in str(error):
        return

    # the first column with a cell that is neither missing nor a number: `to_numeric` makes NaN of it
    table = pd.DataFrame(X if hasattr(X, "shape") else np.asarray(X, dtype=object))
    for j in range(table.shape[1]):
        cells = table.iloc[:, j]
        is_text = cells.notna() & pd.to_numeric(cells, errors="coerce").isna()
        if is_text.any():
            raise ValueError(
                f"`X` has text in column {Columns(0, names).label(j)}, such as {cells[is_text].iloc[0]!r}. Leave the "
                "column out, make numbers of it, or use CategoricalNB for a few different words; MixedNB takes columns "
                f"of text beside columns of numbers. Of documents, {COUNT_WORDS}"
            ) from error


def _is_text(values: np.ndarray) -> bool:
    """Whether all values are text."""
    return len(values) > 0 and all(isinstance(value, str) for value in values.ravel())


@np.errstate(over="ignore", invalid="ignore")  # scikit-learn sums up the cells to see whether all are finite
def check_finite(estimator: Any, X: Any, gaps: bool) -> None:
    """Raise a ValueError if a cell is infinite, or missing where it must not be.

    The rows are checked a slice at a time, several slices at once in threads.

    Parameters
    ----------
    estimator : whose class is named in the error
    X : array or sparse array
    gaps : whether cells of dense rows may be missing (NaN)
    """
    if X.dtype.kind != "f":  # integers and booleans are finite
        return
    # arguments of scikit-learn's `assert_all_finite`, which raises the error and names the estimator and X
    options = {
        "allow_nan": gaps and not is_sparse(X),
        "estimator_name": type(estimator).__name__,
        "input_name": "X",
    }

    def check_slice(part: slice) -> None:
        assert_all_finite(cut_rows(X, part), **options)

    slices = row_slices({BLOCK: X})
    list(parallel_map(check_slice, slices))  # an iterator: `list` runs all checks, and raises the first error


def check_cells(estimator: Any, X: Any, columns: Columns, cells: Cells, advice: str, levels: int | None = None) -> None:
    """Raise a ValueError if a cell is outside the range of a family, such as a negative count.

    The message shows one such cell and its column: the first negative one, or the first one if none is negative. A
    missing cell, NaN, is no error here.

    Parameters
    ----------
    estimator, columns : for the message: the class, and the names of the columns
    X : array or sparse array (n, d), checked to hold numbers
    cells : what the family declares of a cell
    advice : what to do, the end of the message
    levels : number of levels, if the family fixes it
    """
    # an empty cell of sparse rows is 0, which every family of sparse rows allows: only stored cells are looked at, (m,)
    values = X.data if is_sparse(X) else X

    # a shortcut: counts and amounts that need not be whole only have to be ≥ 0. If the minimum is, all cells are, and a
    # minimum is quicker than the mask below. If a cell is missing, NumPy's minimum is NaN, and NaN >= 0 is False: then
    # the shortcut is not taken, although no cell need be wrong, and the mask below decides
    needs_sign_only = cells.kind in ("counts", "amounts") and not cells.whole
    if needs_sign_only and values.size and values.min() >= 0:
        return
    is_wrong = cells.wrong(values, levels)  # a mask of the shape of `values`; False for missing cells
    if not is_wrong.any():
        return

    # the cell that the message shows: the first negative one if there is one, because its message can say more. Its
    # column: of a sparse array in CSR form `indices` has the column of each stored cell; of an array `nonzero` gives
    # the rows and the columns of all True cells of the mask, in the order in which the mask selects values
    is_negative = is_wrong & (values < 0)
    is_shown = is_negative if is_negative.any() else is_wrong
    value = values[is_shown][0]
    column_of_shown = X.indices[is_shown] if is_sparse(X) else np.nonzero(is_shown)[1]
    hint = ""
    if value < 0 and is_sparse(X):
        hint = " If they are hashed features, use HashingVectorizer(alternate_sign=False)."
    raise ValueError(
        f"{_wrong_values(value, cells)} in data passed to {type(estimator).__name__} (input X): `X` has {value:g} in "
        f"column {columns.label(column_of_shown[0])}; {advice}{hint}"
    )


def _wrong_values(value: Scalar, cells: Cells) -> str:
    """What is wrong with a cell that the family does not know: the begin of a message.

    Parameters
    ----------
    value : the cell
    cells : what the family declares of a cell: its kind, and whether it has to be a whole number
    """
    if value < 0:
        return "Negative values"
    if cells.kind == "yes/no":
        return "Values other than 0 and 1"
    return "Values that are not whole numbers" if cells.whole else "Values that the family does not know"


def cut_rows(X: Any, part: slice) -> Any:
    """A slice of the rows of an array, sparse array or data frame; X itself, without a copy, if it is all of them.

    Parameters
    ----------
    X : (n, d) rows
    part : slice with a start and a stop; positions from 0 on
    """
    if part.start == 0 and part.stop >= X.shape[0]:
        return X
    # sparse rows in CSR form are cut without a copy of their cells; `_safe_indexing` of scikit-learn knows data frames
    if is_sparse(X) and X.format == "csr":
        return csr_slice(X, part)
    if isinstance(X, np.ndarray):
        return X[part]
    return _safe_indexing(X, part)


@contextmanager
def naming(*names: str) -> Iterator[None]:
    """Put the names of arguments in front of an error that names none of them, in the block of a `with`.

    In `with naming("X"): …` the error "wrong shape" becomes "`X`: wrong shape", and "X is empty" stays as it is.
    The block of the `with` runs at the `yield`, and an error in it appears there. A whole number that no float can hold
    is an OverflowError, and becomes a ValueError.

    Parameters
    ----------
    names : of the arguments that are checked, such as "X"
    """
    try:
        yield
    except (TypeError, ValueError, OverflowError) as error:
        has_name = re.search(rf"\b({'|'.join(names)})\b", str(error))  # one of the names as a word of its own
        if has_name:  # the message says which argument is wrong already
            raise
        kind = TypeError if isinstance(error, TypeError) else ValueError
        quoted_names = ", ".join(f"`{name}`" for name in names)
        raise kind(f"{quoted_names}: {error}") from error


# --- labels and weights -----------------------------------------------------------------------------------------------


def checked_labels(y: Any, name: str = "y") -> np.ndarray:
    """Labels that are all strings or all numbers, none of them missing; a ValueError on those of a regression.

    `dtype.kind` of NumPy is one letter for each kind of type: b boolean, i and u integer, f float, S bytes, U text, O
    any Python objects, which is what pandas uses for text.

    Parameters
    ----------
    y : labels as the user gives them: a list, an array, a Series
    name : of the argument, for the message: "y", or "classes" where all labels are listed

    Returns
    -------
    (n,) array
    """
    # arrays of booleans, integers, bytes or text have no value that means "missing", as NaN and None do. In all other
    # labels such values are looked for, and are an error
    cannot_be_missing = isinstance(y, np.ndarray) and y.dtype.kind in "biuSU"
    if not cannot_be_missing:
        _refuse_missing(y, name)

    # labels as an array (n,). An array of such a type with one axis is what is needed. All else goes through
    # scikit-learn's check, which makes an array of lists and of columns (n, 1), and refuses tables
    if cannot_be_missing and y.ndim == 1:
        labels = y
    else:
        with naming(name):
            labels = _check_y(y)

    # objects have to be texts: those of several types, such as 1 and "a", cannot be sorted
    if labels.dtype == object:
        kind = pd.api.types.infer_dtype(labels)  # pandas looks at all objects: "string", "mixed", "date" …
        if kind != "string":
            raise ValueError(f"Unknown label type: `{name}` has objects ({kind}); make all strings, or all integers")

    # floats have to be whole numbers: others are the targets of a regression, which scikit-learn refuses. It does so
    # for labels of rows only; `classes` is a list of labels that the user has made, each once
    if name == "y" and labels.dtype.kind == "f":
        with np.errstate(invalid="ignore"):  # scikit-learn casts numbers to int64, however large
            check_classification_targets(labels)
    return labels


def _refuse_missing(y: Any, name: str) -> None:
    """Raise a ValueError that lists the rows without a label.

    Parameters
    ----------
    y : labels in any form; what has no single axis is left to other checks
    name : of the argument, for the message
    """
    # one boolean for each label. `pd.isna` looks at the items of arrays and of pandas objects. Of a list or of a Series
    # of polars it would not, so that these are first made arrays of objects
    is_known_to_pandas = hasattr(y, "dtype") and not type(y).__module__.startswith("polars")
    is_missing = pd.isna(y if is_known_to_pandas else np.asarray(y, object))
    if np.ndim(is_missing) != 1 or not is_missing.any():
        return

    # the message lists the first eight such rows
    rows = np.flatnonzero(is_missing)
    listed = ", ".join(map(str, rows[:8]))
    if len(rows) > 8:
        listed += ", …"
    raise ValueError(
        f"`{name}` has missing labels (None, NaN or NA) in {len(rows)} rows, counted from 0: {listed}; leave out these "
        "rows"
    )


def classes_of(y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The distinct labels in order, (c,), and the position of each label among them, (n,).

    Warns if there are more classes than half of the rows.

    Parameters
    ----------
    y : (n,) labels, checked
    """
    # integers and objects (kinds i, u, O; in the byte order of the machine) are hashed by pandas, which then sorts the
    # few classes only; `np.unique` sorts all rows. For b, a, b both give the classes a, b and the positions 1, 0, 1
    can_be_hashed = y.dtype.kind in "iuO" and y.dtype.isnative
    if can_be_hashed:
        index, classes = pd.factorize(y, sort=True)
    else:
        classes, index = np.unique(y, return_inverse=True)
    if 2 * len(classes) > len(y):
        check_classification_targets(y)  # it is scikit-learn that warns
    return classes, index


def places_of(y: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """The position of each label among the classes, (n,); a ValueError on a label that is not among them.

    Parameters
    ----------
    classes : (c,), sorted
    """
    try:
        # a binary search tells where each label would have to stand among the sorted classes; one that is larger than
        # all would stand behind the last, and is sent to the last. The label is known if it does stand there: of the
        # classes 1, 3 the labels 3 and 2 both get place 1, which holds 3, so 2 is unknown
        index = np.minimum(classes.searchsorted(y), len(classes) - 1)
        unknown = y[classes[index] != y]
    except TypeError:  # labels and classes cannot be compared, such as dates and numbers: no label is known
        unknown = y
    if len(unknown):
        raise ValueError(f"The target label(s) {np.unique(unknown)} in y do not exist in the initial classes {classes}")
    return index


def checked_weights(sample_weight: Any, X: Any) -> np.ndarray:
    """Weights of rows, (n,), not negative; all may be 0, as in one batch of many.

    Parameters
    ----------
    sample_weight : as the user gave it: (n,), or one number for all rows
    X : the rows, whose number the weights must have
    """
    with naming("sample_weight"):
        # scikit-learn refuses weights that are all 0, so ones are checked in their place, and made 0 again at the end
        values = np.asarray(sample_weight)  # numbers of the kinds boolean, integer and float are compared with 0
        all_zero = values.dtype.kind in "biuf" and values.size > 0 and not values.any()
        to_check = np.ones_like(values) if all_zero else sample_weight
        weights = _check_sample_weight(to_check, X, dtype=np.float64, ensure_non_negative=True)
    if not np.isfinite(weights).all():  # scikit-learn checks this for an array of weights, but not for a single number
        raise ValueError("`sample_weight` has NaN or infinite values; give each row a finite weight, 0 to ignore it")
    return 0 * weights if all_zero else weights


def refuse_no_weight(total: Any) -> None:
    """Raise a ValueError where the weights of all rows are 0."""
    if not np.any(total):
        raise ValueError("`sample_weight` is zero for all rows; give at least one row a weight above 0")


# --- hyperparameters ------------------------------------------------------------------------------------------------


def boolean(name: str, value: Any) -> bool:
    """A switch, or a ValueError that names it: a string or an array is neither on nor off."""
    if isinstance(value, bool | np.bool_ | Integral):
        return bool(value)
    raise ValueError(f"`{name}` is {shortened(value)}; it needs to be True or False")


def check_decay(decay: Any) -> None:
    """Raise a ValueError unless `decay` is above 0 and at most 1."""
    is_number = isinstance(decay, Real) and not isinstance(decay, bool | np.bool_)
    if not is_number or not bool(0 < decay <= 1):  # compared as it is: no float holds every whole number
        raise ValueError(f"`decay` is {shortened(decay)}; it needs to be a number above 0 and at most 1")


def alike(a: Any, b: Any) -> bool:
    """Whether two hyperparameters say the same: numbers, arrays, priors, estimators, and lists and mappings of them.

    `==` is not enough: of arrays it gives an array, and two equal estimators or priors are different objects.

    Parameters
    ----------
    a, b : values of the same hyperparameter of two estimators
    """
    if distributions.is_distribution(a) and distributions.is_distribution(b):  # of NumPyro
        return distributions.alike(a, b)

    # lists, mappings, estimators and dataclasses (such as priors) have parts, by position or name, and are compared
    # part by part: both must have the same names. Of numbers, arrays and texts `_parts_of` is None: they are compared
    # as they are
    parts_of_a = _parts_of(a)
    parts_of_b = _parts_of(b)
    if parts_of_a is None or parts_of_b is None:
        return a is b or bool(np.array_equal(a, b))
    if parts_of_a.keys() != parts_of_b.keys():
        return False
    return all(alike(value, parts_of_b[key]) for key, value in parts_of_a.items())


def _parts_of(value: Any) -> dict[Any, Any] | None:
    """What a hyperparameter is made of, by name or position; None of a number, a text or an array.

    The parts of an object include its class, under the name "".
    """
    if isinstance(value, list | tuple):  # by position: ["a", 1] has the parts {0: "a", 1: 1}
        return dict(enumerate(value))
    if isinstance(value, BaseEstimator):
        return {"": type(value), **value.get_params(deep=False)}
    if is_dataclass(value):
        return {"": type(value), **vars(value)}
    return value if isinstance(value, dict) else None
