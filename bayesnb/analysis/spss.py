"""The naive Bayes procedure of SPSS from the raw table to the result: bins, selection, classification.

Numbers are cut into bins of equal width, empty ones eliminated (`EqualWidthBinner`). Then predictors are selected and
the model of those selected is fitted (`ForwardSelection`, where the formulas are).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils import Tags, _safe_indexing

from ..numerics.arrays import Bool
from .binning import EqualWidthBinner
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
    alpha, class_alpha, normalizer, denominator, seed
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
        """The columns of a table, (n,) each: floats if all cells are numbers, NaN for a missing cell, else objects.

        With `fresh`, in `fit`, these rows tell which columns are numbers. Later rows are read in the same way.
        """
        # series with the type that their cells have, such as floats
        columns = [_plain(_safe_indexing(X, j, axis=1)) for j in range(self.n_features_in_)]
        if fresh:
            self._numbers = [pd.api.types.is_numeric_dtype(column) for column in columns]  # (d,)

        # Later rows of a column of numbers have to be numbers, too: text is an error, not a new category.
        cells = []
        for name, column, is_number in zip(self._columns.labels.tolist(), columns, self._numbers, strict=True):
            cells.append(_finite_numbers(name, column) if is_number else column.to_numpy(object))
        return cells

    def _learn_categories(self, columns: list[np.ndarray], is_training: Bool[np.ndarray, " n"]) -> None:
        """Learn from the training rows which columns are scale, and their bins: `binner_`, or None of no column.

        Parameters
        ----------
        columns : (n,) floats or objects each, as `_read` gives them
        is_training : (n,) whether a row is for training
        """
        # a scale column is one of measurements, which is cut into bins; here its position
        self._scale = self._scale_columns([column[is_training] for column in columns])  # k positions
        self.binner_: Any = None
        if self._scale:
            numbers = np.column_stack([columns[j] for j in self._scale])  # (n, k)
            self.binner_ = EqualWidthBinner(self.n_bins).fit(numbers[is_training])

    def _categories(self, columns: list[np.ndarray]) -> list[np.ndarray]:
        """The columns as categories, (n,) each, by what `_learn_categories` has learnt.

        - A column of objects has categories already.
        - A scale column becomes numbers of bins; a missing cell stays NaN.
        - A column of numbers that is no scale, such as postal codes, has names: they become text, so that they are not
          taken for the numbers of levels.

        Parameters
        ----------
        columns : (n,) floats or objects each, as `_read` gives them
        """
        # numbers as text; scale columns, too, which become numbers of bins below
        categories = []
        for column in columns:
            holds_objects = column.dtype.kind == "O"  # NumPy's code of objects
            categories.append(column if holds_objects else _as_text(column))

        if self._scale:
            numbers = np.column_stack([columns[j] for j in self._scale])  # (n, k) of the k scale columns
            bins_by_column = self.binner_.transform(numbers).T  # (k, n) numbers of bins, NaN where a cell is missing
            for j, bins in zip(self._scale, bins_by_column, strict=True):
                categories[j] = bins
        return categories

    def _scale_columns(self, columns: list[np.ndarray]) -> list[int]:
        """Positions of the columns that are cut into bins, from the cells of the training rows of each column.

        With "auto" they are the columns of numbers with more different values than there would be bins. ValueError if
        the user has named a column that holds no numbers.
        """
        # `_read` has made floats of a column of numbers, and objects of all others
        has_numbers = [cells.dtype.kind == "f" for cells in columns]
        if isinstance(self.scale, str) and self.scale == "auto":
            positions = []
            for j, cells in enumerate(columns):
                has_many_values = pd.Series(cells).nunique() > self.n_bins  # missing cells are not counted
                if has_numbers[j] and has_many_values:
                    positions.append(j)
            return positions

        # positions of the columns named; ValueError for one that does not exist
        chosen = self._positions("scale", self.scale)
        names = self._columns.labels.tolist()
        text_columns = [names[j] for j in chosen if not has_numbers[j]]
        if text_columns:
            raise ValueError(f"`scale` has {text_columns}, which hold no numbers; leave them out")
        return sorted(chosen)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = False
        return tags


def _finite_numbers(name: Any, column: pd.Series) -> np.ndarray:
    """The cells of a column of numbers as floats, NaN where missing; ValueError on a cell that is text or infinite."""
    cells = pd.to_numeric(column, errors="coerce").to_numpy(float, na_value=np.nan)  # text becomes NaN
    # NaN now, though the column had a cell there: it was text
    is_text = np.isnan(cells) & column.notna()
    if (is_text | np.isinf(cells)).any():
        raise ValueError(f"`X` has cells in column {name!r} that are not finite numbers, as others are")
    return cells


def _as_text(numbers: np.ndarray) -> np.ndarray:
    """Numbers as names of categories; None for a missing cell."""
    missing: Any = None  # `Any`, since NumPy's types know no None here
    return np.where(np.isnan(numbers), missing, numbers.astype(str))  # (n,) objects


def _plain(cells: Any) -> pd.Series:
    """A column with the type that its cells have, even where the table holds them as categories or as objects.

    For example, a column of objects 1, 2, None becomes floats with NaN, and stays as it is if one of them is text.
    """
    column = cells if isinstance(cells, pd.Series) else pd.Series(np.asarray(cells))
    if isinstance(column.dtype, pd.CategoricalDtype) or column.dtype == object:
        # every missing cell becomes None, and pandas then finds the type that fits all cells
        return column.astype(object).where(column.notna(), None).infer_objects()
    return column
