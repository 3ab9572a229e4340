"""Input as arrays: rows, labels and hyperparameters, checked where they enter; each error names its argument."""

import functools
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import is_dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
from pandas import DataFrame, factorize, isna
from sklearn.base import BaseEstimator
from sklearn.utils import _safe_indexing, assert_all_finite
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, _check_y, check_consistent_length, validate_data

from ..core import distributions
from ..core.arrays import Sparse, is_sparse
from ..core.supports import COUNT, Cells, as_numbers, checked_numbers, shortened
from ..statistics import one_hot
from ..sums.rows import csr_slice, distinct
from ._column_types import named_text, refuse_times

_NUMBERS = [np.float64, np.float32, *(f"{kind}{size}" for kind in ("int", "uint") for size in (8, 16, 32, 64))]
MOST_WEIGHT = 1e100  # of a row; sums of larger ones could overflow
FEW = 1 << 10  # cells
_LARGE = 1 << 20  # cells that are better looked through slice by slice, while they are in a core's cache
_FEW_STORED = 1 << 16  # cells of sparse rows
_MOST_AMOUNT = np.float64(1e300)  # of a cell, of which float32 would make infinity


# --- rows and labels ------------------------------------------------------------------------------------------------


def refuse(estimator: Any, X: Any, bad: Any, what: str, advice: str) -> None:
    """Raise a ValueError that names the first column with a value the likelihood does not know.

    Parameters
    ----------
    bad : function from cells to whether each is one of them
    """
    found = bad(X.data if is_sparse(X) else X)
    if not found.any():
        return
    if is_sparse(X):
        columns, values = X.indices[found], X.data[found]
    else:
        columns, values = np.nonzero(found)[1], X[found]
    label, value, name = estimator._label(int(columns[0])), values[0], type(estimator).__name__
    raise ValueError(f"{what} in data passed to {name} (input X): `X` has {value:g} in column {label}; {advice}")


def check_nonnegative(estimator: Any, X: Any, advice: str) -> None:
    """Raise a ValueError on cells below zero, and on those whose sums and factorials would overflow.

    Of an estimator that knows no missing cells also on NaN and infinity.
    """
    cells = X.data if is_sparse(X) else X
    if not cells.size or _in_range(cells):  # without a table of which are not
        return
    if not estimator.__sklearn_tags__().input_tags.allow_nan:
        with naming():
            assert_all_finite(X, estimator_name=type(estimator).__name__, input_name="X")
    refuse(estimator, X, lambda v: v < 0, "Negative values", advice)
    large = f"rescale the column, because sums and factorials of numbers beyond {_MOST_AMOUNT:g} overflow."
    refuse(estimator, X, lambda v: v > _MOST_AMOUNT, "Values too large", large)


def check_cells(estimator: Any, X: Any, cells: Cells, advice: str, levels: int | None = None) -> None:
    """Raise a ValueError on what is no cell of the kind, other than "real", that a family declares."""
    check_nonnegative(estimator, X, advice)
    if cells.whole or cells.kind not in ("counts", "amounts"):
        what = "Values other than 0 and 1" if cells.kind == "yes/no" else "Values that the family does not know"
        what = "Values that are not whole numbers" if cells.whole else what
        refuse(estimator, X, lambda v: cells.wrong(v, levels), what, advice)


def _in_range(cells: np.ndarray) -> bool:
    """Whether cells are from 0 to the largest amount, none missing: floats of one sign are in the order of their bits.

    A sign, NaN and infinity all are bits beyond, so that one pass sees them all.
    """
    if cells.dtype == np.float64 and cells.flags.forc:
        return bool(cells.view(np.uint64).max() <= _MOST_AMOUNT.view(np.uint64))
    return bool(cells.min() >= 0 and cells.max() <= _MOST_AMOUNT)


def of_any_type(estimator: Any, X: Any, **checks: Any) -> Any:
    """scikit-learn's `validate_data` for cells of any type, missing ones too; a data frame keeps the types it has."""
    _refuse_lazy(X)
    if not hasattr(X, "columns"):
        return _validated(estimator, X, dtype=None, ensure_all_finite=False, **checks)
    checks.pop("accept_sparse", None)
    y = checks.get("y")
    _validated(estimator, X, skip_check_array=True, **checks)
    if not all(X.shape):
        raise ValueError("`X` has {} rows and {} columns; give at least one of each".format(*X.shape))
    if y is None:
        return X
    with naming():
        y = _check_y(y, estimator=estimator)
        check_consistent_length(X, y)
    return X, y


def numeric(
    estimator: Any,
    X: Any,
    *,
    sparse_ok: bool,
    missing_ok: bool = True,
    by_slices: bool = False,
    counts: bool = False,
    **checks: Any,
) -> Any:
    """scikit-learn's `validate_data` for numbers; dense rows may hold NaN unless the likelihood forbids it.

    Integers and float32 stay as they are: what is computed of them is float64, some rows at a time. With `by_slices`
    nobody looks for infinite cells of a large array here; nor with `counts`, which `check_nonnegative` sees all.
    """
    if (sparse_ok or not is_sparse(X)) and (found := _as_they_are(estimator, X, **checks)) is not None:
        return found
    missing_ok = missing_ok and not is_sparse(X)
    large = by_slices and type(X) is np.ndarray and X.ndim == 2 and X.dtype.char in "fd" and X.size >= _LARGE
    finite = not (counts or large) and ("allow-nan" if missing_ok else True)
    checks |= {"dtype": _NUMBERS, "ensure_all_finite": finite}
    refuse_times(X)
    try:
        return _validated(estimator, X, accept_sparse="csr" if sparse_ok else False, **checks)
    except ValueError as error:
        if named := named_text(X, error):
            raise named from error
        raise


def _as_they_are(estimator: Any, X: Any, reset: bool, **checks: Any) -> Any:
    """X, or X and y, of a few rows in which `validate_data` would find nothing to change or to refuse; else None.

    It takes longer than to learn a row, and in a new process longer than to fit a small table: scikit-learn looks
    through all installed packages for types of data frames. Here only float64 arrays of finite cells count, dense or
    CSR, and labels that are whole numbers or strings.
    """
    cells = X.data if is_sparse(X) and X.format == "csr" and X.has_canonical_format else X
    most = FEW if cells is X else _FEW_STORED
    if type(cells) is not np.ndarray or cells.dtype != np.float64 or not 0 < cells.size <= most or X.ndim != 2:
        return None
    learnt = vars(estimator)
    if not (reset or X.shape[1] == learnt.get("n_features_in_")) or "feature_names_in_" in learnt:
        return None
    labelled, y = "y" in checks, checks.pop("y", None)
    plain = type(y) is np.ndarray and y.dtype.kind in "biuU" and y.shape == X.shape[:1]
    if checks or (labelled and not plain) or not np.isfinite(cells).all():
        return None
    if reset:
        estimator.n_features_in_ = X.shape[1]
    return (X, y) if labelled else X


def _validated(estimator: Any, X: Any, **checks: Any) -> Any:
    """`validate_data`; of sparse rows each cell in one piece, and no cell missing unless that is allowed."""
    _refuse_lazy(X)
    with naming(), np.errstate(over="ignore", invalid="ignore"):  # it sums the cells to see whether all are finite
        found = validate_data(estimator, _with_nan(X), **checks)
    rows, *y = found if isinstance(found, tuple) else (found,)
    if is_sparse(rows):
        summed = not rows.has_canonical_format
        if summed:
            rows = rows.copy()
            rows.sum_duplicates()
        if checks["ensure_all_finite"] and (summed or rows is not X) and not np.isfinite(rows.data).all():
            raise ValueError(
                "`X` is sparse and has cells that are NaN or infinite; pass dense rows with NaN for missing cells, or "
                "replace them by 0"
            )
    return (rows, *y) if y else rows


def _refuse_lazy(X: Any) -> None:
    """Raise a ValueError on a query of polars that has no rows yet."""
    if type(X).__name__ == "LazyFrame":
        raise ValueError("`X` is a LazyFrame, a query without rows; pass X.collect()")


def checked_labels(y: np.ndarray, name: str = "y", of_classes: bool = False) -> np.ndarray:
    """Labels that are all strings or all numbers, none of them missing.

    Strings, and where classes are given all labels but floats, are not asked whether they might be a regression's.
    """
    if of_classes and y.dtype.kind in "biuU":
        return y
    if y.dtype.kind in "fOmM" and isna(y).any():
        raise ValueError(f"`{name}` has missing labels (None, NaN or NA); leave out these rows")
    if y.dtype == object:
        types = set(map(type, y))
        if not all(issubclass(kind, str) for kind in types):
            kinds = ", ".join(sorted(kind.__name__ for kind in types))
            raise ValueError(
                f"Unknown label type: `{name}` has objects of type {kinds}; make all of them strings, or all of them "
                "integers"
            )
        return y  # text, of which every value is a class
    dense = y.dtype.kind in "iu" and y.size > 0 and int(y.max()) - int(y.min()) < y.size // 2  # several rows a label
    if name == "y" and not dense and y.dtype.kind not in "US":
        with np.errstate(invalid="ignore"):  # it casts numbers to int64, however large
            check_classification_targets(y)
    return y


@functools.lru_cache(maxsize=1024)
def unit_row(k: int, n_classes: int) -> Sparse:
    """Weights (1, c) of one row of class k, which nobody changes: SciPy takes longer to make them than to use them."""
    return one_hot(np.array([k]), n_classes)


def classes_of(y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The distinct labels in order, and the place of each label among them; of small whole numbers without sorting."""
    if y.dtype.kind in "iu":
        low, high = int(y.min()), int(y.max())
        if max(abs(low), abs(high)) < 1 << 62 and high - low < len(y):
            key = y.astype(np.int64)
            if low:
                key -= low
            classes, index = distinct(key, high - low + 1)
            return (classes + low).astype(y.dtype), index
    if y.dtype == object:  # text: found by hashing, without sorting the rows
        index, found = factorize(y)
        order = np.argsort(found)
        place = np.empty_like(order)
        place[order] = np.arange(len(order))
        return found[order], place[index]
    classes, index = np.unique(y, return_inverse=True)
    if y.dtype.kind in "US" and 2 * len(classes) > len(y):
        check_classification_targets(y)  # which warns of so many classes
    return classes, index


def checked_weights(sample_weight: Any, X: Any) -> np.ndarray:
    """Weights of rows, (n,), not negative; all may be 0, as in one batch of many."""
    with naming("sample_weight"):
        given = np.asarray(sample_weight)
        nothing = given.dtype.kind in "biuf" and given.size > 0 and not given.any()
        some = np.ones_like(given) if nothing else sample_weight  # scikit-learn refuses weights that are all 0
        weights = _check_sample_weight(some, X, dtype=np.float64, ensure_non_negative=True)
    return 0 * weights if nothing else weights


def refuse_no_weight(total: Any) -> None:
    """Raise a ValueError where the weights of all rows are 0."""
    if not np.any(total):
        raise ValueError("`sample_weight` is zero for all rows; give at least one row a weight above 0")


def _with_nan(X: Any) -> Any:
    """Masked cells, None and pandas.NA as NaN: scikit-learn overlooks masks, and stumbles on NA among objects."""
    if isinstance(X, np.ma.MaskedArray):
        return np.ma.filled(X.astype(float if X.dtype.kind in "biuf" else object), np.nan)
    if isinstance(X, np.ndarray) and X.dtype == object:
        return np.where(isna(X), np.nan, X)
    if isinstance(X, DataFrame):
        for j in np.flatnonzero([isinstance(dtype, np.dtypes.ObjectDType) for dtype in X.dtypes]):
            X = X.copy(deep=False)
            X.isetitem(j, _with_nan(X.iloc[:, j].to_numpy()))
    return X


@contextmanager
def naming(*names: str) -> Iterator[None]:
    """Errors of scikit-learn's checks that name no argument say whose they are."""
    try:
        yield
    except (TypeError, ValueError) as error:
        names = names or ("X", "y")
        if re.search(rf"\b({'|'.join(names)})\b", str(error)):
            raise
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"{', '.join(f'`{name}`' for name in names)}: {error}") from error


def cut_rows(X: Any, part: slice) -> Any:
    """Some rows of validated input; all of them as they are, of which there is no copy to make."""
    if part.start == 0 and part.stop >= X.shape[0]:
        return X
    if is_sparse(X) and X.format == "csr":
        return csr_slice(X, part)
    return X[part] if isinstance(X, np.ndarray) else _safe_indexing(X, part)


# --- hyperparameters ------------------------------------------------------------------------------------------------


def boolean(name: str, value: Any) -> bool:
    """A switch, or a ValueError that names it: a string or an array is neither on nor off."""
    if isinstance(value, bool | np.bool_ | Integral):
        return bool(value)
    raise ValueError(f"`{name}` is {shortened(value)}; it needs to be True or False")


def check_decay(decay: Any) -> None:
    """Raise a ValueError unless `decay` is above 0 and at most 1."""
    if isinstance(decay, bool | np.bool_) or not isinstance(decay, Real) or not 0 < float(decay) <= 1:
        raise ValueError(
            f"`decay` is {shortened(decay)}; it needs a number above 0 and at most 1, which multiplies the weight of "
            "all earlier rows"
        )


def concentration(alpha: Any, force_alpha: Any, shape: tuple[int, ...]) -> np.ndarray:
    """scikit-learn's `alpha` and `force_alpha`, as concentrations of a Dirichlet or beta prior.

    With force_alpha=False values below 1e-10 are raised to it, as in scikit-learn; a proper prior has no zeros.
    """
    given = as_numbers("alpha", alpha, f"numbers ({COUNT.describe()}) that broadcast to {shape}")
    if not boolean("force_alpha", force_alpha):
        return checked_numbers("alpha", np.maximum(given, 1e-10), shape)
    if np.any(given == 0):
        hint = "estimate='mle' is the estimate without smoothing"
        raise ValueError(f"`alpha` is {alpha!r}; alpha must be > 0, {COUNT.describe()}. {hint}")
    return checked_numbers("alpha", alpha, shape)


def alike(a: Any, b: Any) -> bool:
    """Whether two hyperparameters say the same: numbers, arrays, priors, estimators, and lists and mappings of them."""
    if distributions.is_distribution(a) and distributions.is_distribution(b):
        return distributions.alike(a, b)
    if isinstance(a, BaseEstimator) or is_dataclass(a):
        return type(a) is type(b) and alike(vars(a), vars(b))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(alike(value, b[key]) for key, value in a.items())
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        return len(a) == len(b) and all(map(alike, a, b))
    return a is b or bool(np.array_equal(a, b))
