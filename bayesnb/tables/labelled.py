"""The rows of a table that have a label, whole or in batches, under its column contract."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ..numerics.progress import progress
from ..numerics.weights import RowWeights
from .columns import CellError, ColumnContract
from .datasets import Dataset
from .describing import describe
from .names import DATA_SETS, did_you_mean, listed
from .readers import TableError, TextFile, errors_of, open_table

_INTEGER = re.compile(r"0|-?[1-9]\d{0,17}", re.ASCII)  # as Python writes it
_LARGEST_EXACT = 2**53  # floats hold all integers up to it


def read_table(
    path: str | Path,
    target: str,
    *,
    drop: Iterable[str] = (),
    columns: Mapping[str, str] | None = None,
    decimal: str | None = None,
    thousands: str | None = None,
    encoding: str | None = None,
    sep: str | None = None,
    counts: str | None = None,
    weight: str | None = None,
) -> Dataset:
    """Read features and target from your file: Parquet, Excel, or text with comma, semicolon, tab or bar between cells.

    Labels keep the form that they have in the file, without blanks around them. They become integers or booleans if
    Python writes these in the same way (7, True). Otherwise they stay text (007, 1e30, 2.0, 9999999999999999999).

    `contract` states what each column is, see `bayesnb.describe`. The first 4 MiB of text, or 65,536 rows of Parquet,
    give the roles. A later cell that contradicts them is an error that names its line. Some rows and columns are left
    out: rows without a target, columns without a value, and constants. So are columns that identify the row
    (identifiers, names, dates), unless `columns` asks for them.

    Parameters
    ----------
    path : the file. `.parquet` and `.pq` are read with pyarrow, the first sheet of `.xlsx` and `.xlsm` with openpyxl,
        and any other file as text with a header row
    target : name of the column with the class labels
    drop, columns, decimal, thousands : as in `bayesnb.describe`
    encoding, sep : encoding and separator of a text file. By default the encoding is UTF-8 or UTF-16, and the header
        shows the separator
    counts, weight : name of a column of sample weights, which is no feature: `counts` of whole numbers that say how
        many rows a row stands for, `weight` of the importance of each row. `sample_weight` of the result has them

    Raises
    ------
    TableError
        if the file is missing, empty or not a table, or if it has no such target, two columns of one name or fewer than
        two classes. Also if the target is a measurement. Also if numbers can be read in two ways, or if no feature has
        a value. Also if a weight is missing or negative, or a count has a fraction
    """
    wishes = {"drop": drop, "columns": columns, "decimal": decimal, "thousands": thousands}
    table = LabelledTable(path, target, **wishes, encoding=encoding, sep=sep, counts=counts, weight=weight)
    return table.load(with_lines=True)


class Batch(NamedTuple):
    """Some of the rows that have a label.

    Fields
    ------
    X : data frame (n, d) of features as a model takes them
    y : (n,) labels
    weight : (n,) integers that count rows, floats that are importance, or None if there are no weights
    """

    X: pd.DataFrame
    y: np.ndarray
    weight: np.ndarray | None


class WeightColumn(NamedTuple):
    """The column of sample weights: its name, and whether its weights count rows or are importance."""

    name: str
    are_counts: bool

    def read(self, contract: ColumnContract, rows: pd.DataFrame) -> np.ndarray:
        """The weights of rows of a table, (n,), integers if they count rows; a CellError where a cell is no weight.

        Parameters
        ----------
        contract : how numbers are written in the column of weights
        rows : rows of the table, as they stand there
        """
        cells = rows[self.name]
        # `read` gives numbers, by the number format of the column; a missing cell is NaN.
        numbers = contract[self.name].read(cells).to_numpy(float, na_value=np.nan)

        # Each fault with the cells, (n,) booleans, that have it. The message is "column … holds …" and then the fault,
        # hence the comma; it names the first fault that any cell has.
        cells_with_fault = {
            ", but each row with a label needs a weight; 0 leaves the row out": np.isnan(numbers),
            ", a negative weight": numbers < 0,
        }
        if self.are_counts:
            cells_with_fault[", but counts are whole numbers; --weight takes others"] = numbers % 1 > 0
        for fault, has_fault in cells_with_fault.items():
            if has_fault.any():
                raise CellError(self.name, cells, has_fault, fault)
        return numbers.astype(np.int64) if self.are_counts else numbers

    def describe(self, weights: np.ndarray) -> str:
        """What the weights are, in words: how many rows they count, or their effective number."""
        return RowWeights(weights.astype(float), self.are_counts).describe()


def weight_column(counts: str | None, weight: str | None) -> WeightColumn | None:
    """The column of sample weights; None if none is named.

    Parameters
    ----------
    counts, weight : name of the column of whole numbers that count rows, or of the column of importance; one at most
    """
    # Weights either count rows (a row of weight 3 stands for three rows) or are their importance: not both.
    if counts is not None and weight is not None:
        raise TableError(
            f"both --counts {counts} and --weight {weight} are given; whole numbers of rows are --counts, "
            "the importance of rows is --weight"
        )
    if counts is not None:
        return WeightColumn(counts, are_counts=True)
    if weight is not None:
        return WeightColumn(weight, are_counts=False)
    return None


class LabelledTable:
    """The rows of a table that have a label, under its column contract, whole or in batches.

    Fields
    ------
    name, source, target : of the table, as in `Dataset`
    contract : how each column is used; after `batches` it knows the ranges, levels and missing cells of all rows
    n_rows, n_labelled : number of all rows, and of those with a label
    labels : all labels, sorted
    notes : which rows are left out, one sentence each
    """

    def __init__(
        self,
        source: Any,
        target: str | None,
        *,
        encoding: Any = None,
        sep: Any = None,
        counts: str | None = None,
        weight: str | None = None,
        **wishes: Any,
    ) -> None:
        """Open a table, give each column its role by the first rows, and read the labels of all rows.

        Parameters
        ----------
        source, target : the file, or a data set by its name; and its column of labels, which a data set has by itself
        encoding, sep, counts, weight : as in `read_table`
        wishes : `drop`, `columns`, `decimal` and `thousands`, as in `describe`
        """
        # The open file gives its rows piece by piece. It has to know its column of labels, because text among numbers
        # is no error in a row without a label. The contract is the role of each column, such as "numbers", by the first
        # rows.
        self._weight = weight_column(counts, weight)
        self._file = open_table(source, encoding=encoding, sep=sep)
        self.name = Path(source).stem
        self.source: str = self._file.source
        self.target = _checked_target(self._file, source, target)
        self._file.target = self.target
        self.contract = self._described(wishes)

        # The column of labels is read to its end, as all labels decide whether they are integers, booleans or text.
        label_counts = self._counted_labels()  # the number of rows with each different cell
        self._check_classes(source, label_counts)  # a TableError where there are fewer than two classes
        self._check_features(source)  # a TableError where no column can be used
        # the label that each different cell stands for, such as 7 for the text "7"; and all labels, sorted
        self._label_of = _labels([*label_counts], isinstance(self._file, TextFile))
        self.labels = np.unique(_array([*self._label_of.values()]))

        # Rows without a label are left out, which a note says.
        self.n_labelled = label_counts.total()
        self.notes: tuple[str, ...] = ()
        if self.n_labelled < self.n_rows:
            n_left_out = self.n_rows - self.n_labelled
            self.notes = (f"{n_left_out} of {self.n_rows} rows have no value in {self.target!r} and were left out.",)

    def _described(self, wishes: dict[str, Any]) -> ColumnContract:
        """The contract that the first rows with a label give; a TableError where labels are measurements.

        Parameters
        ----------
        wishes : arguments of `describe`: `drop`, `columns`, `decimal` and `thousands`
        """
        # `first` is a data frame of the first rows of the file, with all cells of a text file as text. Rows without a
        # label are left out of it. Errors within `errors_of` get the name of the file.
        first = self._file.first
        if self._weight is not None:
            wishes = wishes | {"weight": self._weight.name}
        with errors_of(self._file, "fit"):
            contract = describe(first[first[self.target].notna()], self.target, **wishes)
        warning = contract[self.target].warning  # of a target there is one warning: it holds measurements
        if warning:
            raise TableError(f"{self._file.source}: column {self.target!r} {warning}")
        return contract

    def _counted_labels(self) -> Counter[Any]:
        """How many rows have each label, as it stands in the file; `n_rows`, of all rows, is set."""
        label_counts: Counter[Any] = Counter()
        self.n_rows = 0  # counted below, rows without a label included
        with progress("labels", unit="rows read") as line:
            for piece in self._file.pieces((), self.target):  # of the target alone, as text
                self.n_rows += len(piece)
                label_counts.update(piece[self.target].dropna().tolist())
                line.advance(len(piece))
        return label_counts

    def _check_classes(self, source: Any, label_counts: Counter[Any]) -> None:
        """Raise a TableError where there are fewer than two classes; `label_counts` has the rows of each label.

        Parameters
        ----------
        source : of the table, for the message
        label_counts : number of rows with each label, as it stands in the file
        """
        if len(label_counts) >= 2:
            return

        # The message says whether there is no label at all, or the same one in every row.
        fault = "has no value in any row"
        if label_counts:
            fault = f"holds {next(iter(label_counts))} in every row"
        raise TableError(
            f"{source}: column {self.target!r} {fault}; a classifier needs at least two classes. Choose another target."
        )

    def _check_features(self, source: Any) -> None:
        """Raise a TableError where no column can be used."""
        if self.contract.used:
            return
        reasons = "; ".join(column.why_left_out() for column in self.contract.dropped[:4])
        raise TableError(f"{source} has no column to learn from ({reasons}); ask for one with --columns NAME=ROLE.")

    def batches(self) -> Iterator[Batch]:
        """Features, labels and weights, so many rows at a time."""
        for rows, X in self._read_pieces():
            yield Batch(X, self._labels_of(rows), self._weights_of(rows))

    def _read_pieces(self) -> Iterator[tuple[pd.DataFrame, pd.DataFrame]]:
        """Rows with a label, piece by piece, as they stand in the table and as a model takes them.

        `contract` learns from each piece before it is given out: words that count as missing, ranges, levels, and how
        many cells are missing. A cell must not contradict the roles, which are those of the first rows.
        """
        # `errors_of` turns an error into a TableError with the name of the file and the line of the cell.
        contract_of_first_rows = self.contract
        n_rows = 0
        n_missing: Any = 0  # 0, and then a series: missing cells of each column in all rows so far, by its name
        with errors_of(self._file, "fit"):
            # `plain` are the names of columns of plain numbers, which pandas reads as numbers
            for piece in self._file.pieces(contract_of_first_rows.plain):
                rows = contract_of_first_rows.with_date_parts(piece[piece[self.target].notna()])

                # 1. Words that count as missing, in columns that the user wants to be numbers.
                contract = self.contract.accepting(rows)
                # 2. The cells as numbers and levels.
                X = contract.apply(rows)
                # 3. A CellError where a cell contradicts its role, such as a value in a column that was empty so far.
                contract_of_first_rows.refuse_contradictions(rows, X)
                # 4. The ranges, levels and shares of missing cells of all rows so far.
                n_rows += len(X)
                n_missing = n_missing + X.isna().sum()
                self.contract = contract.widened(X).with_missing(n_missing, n_rows)
                yield rows, X

    def _labels_of(self, rows: pd.DataFrame) -> np.ndarray:
        """The label of each row, (n,)."""
        return _array([self._label_of[cell] for cell in rows[self.target].tolist()])

    def _weights_of(self, rows: pd.DataFrame) -> np.ndarray | None:
        """The weight of each row, (n,); None if the table has no column of weights."""
        if self._weight is None:
            return None
        with errors_of(self._file):
            return self._weight.read(self.contract, rows)

    def described_weights(self, weights: np.ndarray | None) -> str:
        """What the weights of rows are, in words; "" if the table has none."""
        if self._weight is None or weights is None:
            return ""
        return self._weight.describe(weights)

    def load(self, with_lines: bool = False, id_column: str | None = None, group_column: str | None = None) -> Dataset:
        """All rows as one data set, with their labels and weights.

        Parameters
        ----------
        with_lines : True also finds the line of each row in a text file, which is then read again, and counts rows that
            equal an earlier one in all columns
        id_column : name of the column that names the rows, whose cells are kept; None for none
        group_column : name of the column whose equal cells name rows that belong together; None for none
        """
        for option, name in (("--id", id_column), ("--groups", group_column)):
            if name is not None and name not in self._file.names:
                similar = did_you_mean(name, self._file.names) or "."
                raise TableError(f"{self.source} has no column {name!r} for {option}{similar}")
        # `_read_pieces` gives rows with a label as they stand in the file, and their features as a model takes them
        # of each piece, one below the other
        features = []
        labels = []
        weights: list[Any] = []
        hashes = []
        ids = []
        groups = []
        with progress("table", self.n_rows, "rows read") as line:
            for rows, X in self._read_pieces():
                features.append(X)
                labels.append(self._labels_of(rows))
                if self._weight is not None:
                    weights.append(self._weights_of(rows))
                if with_lines:
                    hashes.append(_hash_of_rows(rows))
                if id_column is not None:
                    ids.append(rows[id_column].to_numpy(object))
                if group_column is not None:
                    groups.append(self._groups_of(rows, group_column))
                line.advance(len(rows))
        X = pd.concat(features)

        # Rows with the same hash count as copies: of 5 rows with the hashes a, b, a, a, c two are copies.
        n_copies = None
        if with_lines:
            different_hashes = np.unique(np.concatenate(hashes))
            n_copies = len(X) - len(different_hashes)

        # The index of the features is the number of the row in the file, where rows without a label count too. `lines`
        # gives the line at which each row begins: a text in quotes may go over several lines.
        lines = None
        if with_lines and isinstance(self._file, TextFile):
            lines = self._file.lines(X.index.to_numpy())
        return Dataset(
            name=self.name,
            X=X.reset_index(drop=True),
            y=np.concatenate(labels),
            target=self.target,
            source=self.source,
            notes=self.notes,
            contract=self.contract,
            lines=lines,
            sample_weight=None if self._weight is None else np.concatenate(weights),
            n_copies=n_copies,
            ids=None if id_column is None else np.concatenate(ids),
            groups=None if group_column is None else np.concatenate(groups),
        )

    def _groups_of(self, rows: pd.DataFrame, name: str) -> np.ndarray:
        """The cells of the column of groups, (n,); a TableError with the line of a missing one."""
        cells = rows[name]
        is_missing = cells.isna().to_numpy()
        with errors_of(self._file):
            if is_missing.any():
                raise CellError(name, cells, is_missing, ", but each row with a label needs the group that it is of")
        return cells.to_numpy(object)


def _checked_target(file: Any, source: Any, target: str | None) -> str:
    """The name of the column of labels; a TableError where none is named, or the file has no such column.

    Parameters
    ----------
    file : the open table. A data set knows its target, a file does not
    source, target : as the user gave them
    """
    name = target or file.target
    if name is None:  # a file, as a data set has a target; perhaps its path is a misspelt name of a data set
        raise TableError(f"{str(source)!r} is not one of {', '.join(DATA_SETS)}; for a file, name its --target column.")
    if name not in file.names:
        similar = did_you_mean(name, file.names) or "."
        raise TableError(f"{source} has no column {name!r}; the columns are {listed(file.names)}{similar}")
    return str(name)


def _hash_of_rows(rows: pd.DataFrame) -> np.ndarray:
    """A 64-bit hash of each row over all columns, (n,): equal rows have the same one, other rows hardly ever."""
    try:
        return pd.util.hash_pandas_object(rows, index=False).to_numpy()
    except TypeError:  # lists in the cells
        return pd.util.hash_pandas_object(rows.astype(str), index=False).to_numpy()


def _labels(cells: list[Any], is_text: bool) -> dict[Any, Any]:
    """The label that each cell stands for: integers and booleans as Python writes them in a text file, else text.

    Parameters
    ----------
    cells : the different cells of the target
    is_text : whether they are of a text file. Cells of other files have types, which they keep
    """
    # Text that Python writes for booleans or integers.
    if is_text and {*cells} <= {"True", "False"}:
        return {cell: cell == "True" for cell in cells}
    if is_text and all(_INTEGER.fullmatch(cell) for cell in cells):
        return {cell: int(cell) for cell in cells}

    # Integers of a typed file become floats beside a missing cell. Up to 2⁵³ a float holds them exactly, so that they
    # can be made integers again.
    if all(isinstance(cell, float) and cell.is_integer() and abs(cell) <= _LARGEST_EXACT for cell in cells):
        return {cell: int(cell) for cell in cells}

    # Else integers (booleans are such) and text as they are, and all other types as text.
    return {cell: cell if isinstance(cell, int | str) else str(cell) for cell in cells}


def _array(labels: list[Any]) -> np.ndarray:
    """Labels as an array: of objects if some are text, so that 7 beside "a" stays an integer."""
    return np.array(labels, object if any(isinstance(label, str) for label in labels) else None)
