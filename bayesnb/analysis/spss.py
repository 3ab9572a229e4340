"""The naive Bayes procedure of SPSS from the raw table to the result: bins, selection, classification.

Numbers are cut into bins of equal width, empty ones eliminated (`EqualWidthBinner`). Then predictors are selected and
the model of those selected is fitted (`ForwardSelection`, where the formulas are).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils import Tags, _safe_indexing

from ..core.arrays import Bool
from ._selection_rows import column_positions
from .binning import EqualWidthBinner, whole_number
from .selection import ForwardSelection


@dataclass(kw_only=True, eq=False, repr=False)
class SPSSNaiveBayes(ForwardSelection):
    """The naive Bayes procedure of SPSS, from the raw table to the result.

    Numbers are put into bins of equal width. Predictors that cannot separate the classes are dropped. Rows without a
    target or without a predictor are ignored. Predictors are then added one by one by the average log-likelihood. The
    best set is kept and classifies.

    Parameters
    ----------
    n_bins : int, default 10
        number of bins of a scale column before empty bins are removed, at least 1
    scale : "auto" or sequence of columns, by name or position, default "auto"
        the columns that are cut into bins. "auto" selects columns of numbers with more than `n_bins` different values
        in the training rows. All other columns are categories, even if they hold numbers
    max_features, exact_features, force, criterion, test_share, partition
        as in `ForwardSelection`. To use all predictors without a selection, force all of them
    alpha, class_alpha, normalizer, n_simulated, denominator, seed
        as in `ForwardSelection`

    Attributes
    ----------
    report_ : SelectionReport
        the sequence of sets and the classification table; `print` shows both
    estimator_ : CategoricalNB or None
        the model of the chosen columns: bins, and numbers that are no scale as text
    binner_ : EqualWidthBinner or None
        the bins of the scale columns, from the training rows; None if there is no scale column
    support_ : (d,) bool
        whether each column was chosen
    held_out_ : (n,) bool
        whether each row was held out
    classes_, n_features_in_, feature_names_in_ : as in scikit-learn

    Notes
    -----
    Missing cells (None, NaN, pandas.NA) are left out. Prediction also leaves out categories that are not in the
    training rows. Numbers outside the range of the training rows go to the end bins. Held-out rows have no influence on
    the bins.

    In SPSS the user states which predictors are scale. Two choices are made here: "auto", and bins from the training
    rows alone. See `ForwardSelection` for what else the chapter leaves open, and for `denominator`, the one default
    that differs from the chapter.

    References
    ----------
    IBM SPSS Statistics, chapter Naive Bayes Algorithms, and the command reference of NAIVEBAYES.

    Examples
    --------
    >>> from bayesnb import SPSSNaiveBayes, datasets
    >>> penguins = datasets.load("penguins")
    >>> model = SPSSNaiveBayes(max_features=3).fit(penguins.X, penguins.y)
    >>> model.report_.selected
    ('flipper_length_mm', 'bill_length_mm', 'island')
    >>> model.report_.classification
         sample   observed  Adelie  Chinstrap  Gentoo   correct
    0  training     Adelie   148.0        4.0     0.0  0.973684
    1  training  Chinstrap     4.0       64.0     0.0  0.941176
    2  training     Gentoo     0.0        0.0   124.0  1.000000
    """

    n_bins: Any = 10
    scale: Any = "auto"

    def _read(self, X: Any, fresh: bool = False) -> list[np.ndarray]:
        """Floats where all cells of a column are numbers; all others as objects."""
        if not fresh:
            return _columns(X, self._names(), self._numbers)
        whole_number("n_bins", self.n_bins)
        columns = _columns(X, self._names())
        self._numbers: list[bool] = [values.dtype.kind == "f" for values in columns]
        return columns

    def _categories(self, columns: list[np.ndarray], training: Any = None) -> list[np.ndarray]:
        """Bins of the scale columns; other numbers as text, so that they are names and not codes."""
        if training is not None:
            chosen = self._scale_columns([values[training] for values in columns])
            self._scale = np.flatnonzero(chosen)
            self.binner_: EqualWidthBinner | None = None
            if len(self._scale):
                values = np.column_stack([columns[j] for j in self._scale])[training]
                self.binner_ = EqualWidthBinner(self.n_bins).fit(np.repeat(values, 2, 0) if len(values) < 2 else values)
        found = [_as_text(values) if values.dtype.kind == "f" else values for values in columns]
        if self.binner_ is not None:
            bins = self.binner_.transform(np.column_stack([columns[j] for j in self._scale]))
            for j, values in zip(self._scale, bins.T, strict=True):
                found[j] = values
        return found

    def _scale_columns(self, columns: list[np.ndarray]) -> Bool[np.ndarray, " d"]:
        """Which columns are cut into bins; the one that marks training rows is not."""
        names = self._names()
        if isinstance(self.scale, str) and self.scale == "auto":
            marks = column_positions(
                "`partition` is", [] if np.ndim(self.partition) or self.partition is None else [self.partition], names
            )
            return _is_scale(columns, self.n_bins) & ~np.isin(np.arange(len(names)), marks)
        chosen = column_positions("`scale` has", self.scale, names, "choose 'auto', or columns of")
        for j in chosen:
            if columns[j].dtype.kind != "f":
                raise ValueError(f"`scale` has {names[j]!r}, but that column does not hold numbers; leave it out")
        return np.isin(np.arange(len(names)), chosen)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = False
        return tags


def scale_columns(X: Any, n_bins: int = 10) -> list[Any]:
    """The columns of a data frame that `scale="auto"` cuts into bins: numbers with more than `n_bins` values."""
    names = list(X.columns)
    return [name for name, cut in zip(names, _is_scale(_columns(X, names), n_bins), strict=True) if cut]


def _is_scale(columns: list[np.ndarray], n_bins: int) -> Bool[np.ndarray, " d"]:
    return np.array([v.dtype.kind == "f" and len(np.unique(v[~np.isnan(v)])) > n_bins for v in columns], bool)


def _columns(X: Any, names: list[Any], numbers: list[bool] | None = None) -> list[np.ndarray]:
    """The columns of a table: floats where all are numbers, NaN a missing cell; all others as objects.

    Parameters
    ----------
    numbers : which columns are numbers; read from the columns where it is not given
    """
    found = []
    for j, name in enumerate(names):
        cells = _safe_indexing(X, j, axis=1)
        column = cells if isinstance(cells, pd.Series) else pd.Series(np.asarray(cells))
        if isinstance(column.dtype, pd.CategoricalDtype) or column.dtype == object:
            column = column.astype(object).where(column.notna(), None).infer_objects()
        if not (pd.api.types.is_numeric_dtype(column) if numbers is None else numbers[j]):
            found.append(column.to_numpy(dtype=object))
            continue
        try:
            values = column.to_numpy(dtype=float, na_value=np.nan)
        except (TypeError, ValueError):
            raise ValueError(
                f"`X` has cells in column {name!r} that are not numbers, but the model was fitted to numbers there; "
                "give numbers"
            ) from None
        if np.isinf(values).any():
            raise ValueError(f"`X` has infinity in column {name!r}; give numbers, with NaN for missing ones")
        found.append(values)
    return found


def _as_text(values: np.ndarray) -> np.ndarray:
    """Numbers as text; None where they are missing."""
    return np.array([None if value != value else repr(value) for value in values.tolist()], dtype=object)
