"""The naive Bayes procedure of SPSS from the raw table to the result: bins, selection, classification.

Numbers are cut into bins of equal width, empty ones eliminated (`EqualWidthBinner`). Then predictors are selected and
the model of those selected is fitted (`ForwardSelection`, where the formulas are).
"""

import textwrap
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from ..core.arrays import Bool, Float
from ..core.random import generator
from ..estimators._input import of_any_type
from ..estimators._state import all_or_nothing, reads_one_state
from ..tables import listed
from ._selection_rows import check_labels, check_weights, split_rows
from ._selection_settings import SelectionSettings, check_settings, partition_column, position
from .binning import EqualWidthBinner, whole_number
from .selection import ForwardSelection, SelectionReport


@dataclass(frozen=True, eq=False)
class SPSSReport:
    """The result of the procedure; `print` shows it as a table.

    Fields
    ------
    selection : SelectionReport
        the sequence of sets of predictors, the chosen set, and what was left out
    scale : columns that were cut into bins, by name or position
    classification : data frame, one row a class and sample
        its columns are `sample` ("training" or "test"), the class `observed`, the weight of its rows by predicted
        class, and the share `correct`

    Examples
    --------
    >>> import bayesnb
    >>> votes = bayesnb.datasets.load("votes")
    >>> report = bayesnb.SPSSNaiveBayes().fit(votes.X, votes.y).report_
    >>> type(report.selection).__name__
    'SelectionReport'
    """

    selection: SelectionReport
    scale: tuple[Any, ...]
    classification: pd.DataFrame

    def to_dict(self) -> dict[str, Any]:
        """The report as plain lists and dictionaries, for JSON."""
        table = self.classification.astype(object)
        return self.selection.to_dict() | {
            "scale": list(self.scale),
            "classification": table.where(table.notna(), None).rename(columns=str).to_dict("records"),
        }

    def __str__(self) -> str:
        """The sequence, the set chosen and the classification table, at most 120 columns wide."""
        lines = [str(self.selection)]
        if self.scale:
            text = f"cut into bins: {listed(self.scale, len(self.scale))}"
            lines += textwrap.wrap(text, 118, initial_indent="  ", subsequent_indent="    ")
        lines += ["", "  observed class by predicted class"]
        with pd.option_context("display.width", 116, "display.max_columns", 12, "display.max_rows", 60):
            table = self.classification.to_string(index=False, float_format="{:.6g}".format, max_cols=12, max_rows=60)
        return "\n".join([*lines, textwrap.indent(table, "  ")])


@dataclass(kw_only=True, eq=False, repr=False)
class SPSSNaiveBayes(SelectionSettings, ClassifierMixin, BaseEstimator):
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
    report_ : SPSSReport
        the sequence of sets and the classification table; `print` shows both
    selection_ : ForwardSelection
        the selection, fitted to the table of categories
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
    >>> model.report_.selection.selected
    ('flipper_length_mm', 'bill_length_mm', 'island')
    >>> model.report_.classification
         sample   observed  Adelie  Chinstrap  Gentoo   correct
    0  training     Adelie   148.0        4.0     0.0  0.973684
    1  training  Chinstrap     4.0       64.0     0.0  0.941176
    2  training     Gentoo     0.0        0.0   124.0  1.000000
    """

    n_bins: Any = 10
    scale: Any = "auto"

    @all_or_nothing
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Cut numbers into bins, select predictors, and fit the model of the selected ones.

        Parameters
        ----------
        X : (n, d) numbers, strings or categoricals, as an array or a data frame
        y : (n,) labels; rows where it is missing are ignored
        sample_weight : (n,) non-negative weights; an integer weight counts as that many copies of the row

        Raises
        ------
        ValueError
            if `n_bins` or `scale` is out of range, or if X holds infinities. Errors of `ForwardSelection.fit` are
            passed on
        """
        settings = self.get_params()
        n_bins, _ = whole_number("n_bins", settings.pop("n_bins")), settings.pop("scale")
        selection = ForwardSelection(**settings)
        check_settings(selection)
        X = of_any_type(self, X, reset=True)
        labels, labelled = check_labels(y)
        check_consistent_length(X, labels)
        weight = check_weights(sample_weight, X)
        given = labelled & (weight > 0)
        names = getattr(self, "feature_names_in_", np.arange(self.n_features_in_)).tolist()
        column = partition_column(selection.partition, names)

        columns = _columns(X, names)
        self._numbers = [values.dtype.kind == "f" for values in columns]
        raw = np.column_stack([_as_codes(values) for values in columns])
        marked = selection.partition
        if column is not None:
            marked, raw[:, column] = _safe_indexing(X, column, axis=1), np.nan
        label = np.zeros(len(labels), int)
        label[given] = np.unique(labels[given], return_inverse=True)[1]
        training, held_out = split_rows([raw], label, given, selection.test_share, marked, generator(self.seed))

        chosen = self._scale_columns([values[training] for values in columns], names, n_bins, column)
        self._scale = np.flatnonzero(chosen)
        self.binner_: EqualWidthBinner | None = None
        if len(self._scale):
            values = np.column_stack([columns[j] for j in self._scale])[training]
            self.binner_ = EqualWidthBinner(n_bins).fit(values if len(values) > 1 else np.repeat(values, 2, axis=0))
        table = self._categories(columns)
        if column is not None:
            table.isetitem(column, (pd.Series(np.asarray(marked, object)) == 1).astype(int))
        elif held_out.any():
            selection.set_params(partition=~held_out, test_share=None)
        self.selection_ = selection.fit(table, y, sample_weight)
        self.classes_, self.support_ = selection.classes_, selection.support_
        self.held_out_ = selection.held_out_
        samples = {"training": training, "test": held_out} if held_out.any() else {"training": training}
        predicted = selection.predict(table)
        parts = [
            _classification(name, labels[rows], predicted[rows], weight[rows], self.classes_)
            for name, rows in samples.items()
        ]
        self.report_ = SPSSReport(
            selection.report_, tuple(names[j] for j in self._scale), pd.concat(parts, ignore_index=True)
        )
        return self

    @reads_one_state
    def predict_log_proba(self, X: Any) -> Float[np.ndarray, "n c"]:
        """log p(y = c | x_i) in nats, (n, c), given the selected predictors that are present in the row."""
        table = self._encode(X)
        return self.selection_.predict_log_proba(table)

    @reads_one_state
    def predict(self, X: Any) -> np.ndarray:
        """The most probable label of each row, (n,); ties go to the label with the larger π."""
        table = self._encode(X)
        return self.selection_.predict(table)

    # --- the table as categories ------------------------------------------------------------------------------------

    def _encode(self, X: Any) -> pd.DataFrame:
        check_is_fitted(self)
        X = of_any_type(self, X, reset=False)
        names = getattr(self, "feature_names_in_", np.arange(self.n_features_in_)).tolist()
        columns = _columns(X, names, self._numbers)
        return self._categories(columns)

    def _categories(self, columns: list[np.ndarray]) -> pd.DataFrame:
        """Bins of the scale columns; other numbers as text, so that they are names and not codes."""
        table = {j: _as_text(values) if values.dtype.kind == "f" else values for j, values in enumerate(columns)}
        if self.binner_ is not None:
            codes = self.binner_.transform(np.column_stack([columns[j] for j in self._scale]))
            table |= dict(zip(self._scale.tolist(), codes.T, strict=True))
        frame = pd.DataFrame(table)
        if hasattr(self, "feature_names_in_"):
            frame.columns = self.feature_names_in_
        return frame

    def _scale_columns(
        self, columns: list[np.ndarray], names: list[Any], n_bins: int, partition: int | None
    ) -> Bool[np.ndarray, " d"]:
        """Which columns are cut into bins; the one that marks training rows is not."""
        if isinstance(self.scale, str) and self.scale == "auto":
            return _is_scale(columns, n_bins) & (np.arange(len(names)) != partition)
        chosen = np.zeros(len(names), bool)
        for one in [self.scale] if isinstance(self.scale, str) else self.scale:
            j = position("`scale` has", one, names, "choose 'auto', or columns of")
            if columns[j].dtype.kind != "f":
                raise ValueError(f"`scale` has {one!r}, but that column does not hold numbers; leave it out")
            chosen[j] = True
        return chosen


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


def _as_codes(values: np.ndarray) -> Float[np.ndarray, " n"]:
    """A number for each different cell; NaN where it is missing."""
    codes = pd.factorize(values)[0]
    return np.where(codes < 0, np.nan, codes)


def _as_text(values: np.ndarray) -> np.ndarray:
    """Numbers as text; None where they are missing."""
    return np.array([None if value != value else repr(value) for value in values.tolist()], dtype=object)


def _classification(
    sample: str, observed: np.ndarray, predicted: np.ndarray, weight: np.ndarray, classes: np.ndarray
) -> pd.DataFrame:
    """Weight of the rows of each observed class by predicted class, and the share that is correct."""
    counts = np.zeros((len(classes), len(classes)))
    np.add.at(counts, (np.searchsorted(classes, observed), np.searchsorted(classes, predicted)), weight)
    total = counts.sum(1)
    correct = np.divide(counts.diagonal(), total, out=np.full(len(classes), np.nan), where=total > 0)
    columns = dict(zip(classes.tolist(), counts.T, strict=True))
    return pd.DataFrame({"sample": sample, "observed": classes, **columns, "correct": correct})
