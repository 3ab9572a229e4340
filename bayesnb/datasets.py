"""Data sets for trying the models: six tables by name, your CSV, TSV or Parquet file, and word counts of e-mails.

A file is read piece by piece, by `fit_batches` and the command line alike. The first lines of a text file are read as
text, because a parser hides how a cell is written: zeros in front of a code, and 15.018 that may be fifteen thousand.
They give each column its role. All pieces are then read by these roles, with numbers parsed by pandas.
"""

import codecs
import contextlib
import csv
import gzip
import io
import re
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from importlib.resources import files
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.utils import Bunch

from .columns import CellError, listed
from .describing import describe

HEAD = 1 << 22
"""Letters of a text file that are read first, and bytes of a piece, about."""

ROWS = 1 << 16
"""Rows of a piece, at most."""

_MISSING = ("", *"NA N/A n/a #N/A NaN nan NULL null None".split())  # as for pandas, which does not see them with blanks
_INTEGER = re.compile(r"0|-?[1-9]\d{0,17}", re.ASCII)  # as Python writes it


class TableError(ValueError):
    """Raised if a table cannot be used; the message states what was found, where, and what to do."""


@dataclass
class Dataset:
    """A table with a target column.

    Fields
    ------
    name : the name of the data set
    X : data frame (n, d)   the features, under their own names; missing cells are NaN
    y : (n,)                the class labels, as in the source
    target : name of the target column
    source : the origin of the rows, in one line
    notes : what was left out while reading, one sentence each
    contract : how each column of your file is used, and why
    lines : (n,) the line of each row in your file
    """

    name: str
    X: pd.DataFrame
    y: np.ndarray
    target: str
    source: str
    notes: tuple[str, ...] = ()
    contract: Any = None
    lines: np.ndarray | None = None


def load(name: str) -> Dataset:
    """Load the data set with this name.

    Raises
    ------
    ValueError   if the name is not in `NAMES`
    """
    if name not in NAMES:
        raise ValueError(f"there is no data set {name!r}; the names are {', '.join(NAMES)}.")
    if name in _SHIPPED:
        target, source = _SHIPPED[name]
        with files("bayesnb").joinpath("data", f"{name}.csv").open(encoding="utf-8") as file:
            frame = pd.read_csv(file)
        return Dataset(name, frame.drop(columns=target), frame[target].to_numpy(), target, source)
    from sklearn import datasets

    bunch: Any = getattr(datasets, f"load_{name}")(as_frame=True)
    labels = np.asarray(bunch.target_names).astype(str)
    return Dataset(name, bunch.data, labels[bunch.target.to_numpy()], "class", f"scikit-learn: {_SCIKIT_LEARN[name]}")


def load_spam() -> Bunch:
    """Word counts of 6,046 e-mails, in the order of the folders; shuffle them before you split.

    Fields
    ------
    X : sparse rows (6046, 2000)   how often each word occurs in each e-mail
    y : (6046,)                    "spam" or "ham"
    folder : (6046,)               the folder of each e-mail in the source
    vocabulary : (2000,)           the words
    source : the origin of the texts, in one line
    """
    path = files("bayesnb").joinpath("data", "spam.npz")
    with path.open("rb") as file, np.load(file, allow_pickle=False) as found:
        parts = found["counts"].astype(np.int32), found["indices"].astype(np.int32), found["indptr"]
        folder, vocabulary = found["folder"], found["vocabulary"]
    X = sparse.csr_array(parts, shape=(len(folder), len(vocabulary)))
    y = np.where(np.char.startswith(folder, "spam"), "spam", "ham")
    source = "Apache SpamAssassin public corpus, the 2,000 words found in most mails"
    return Bunch(X=X, y=y, folder=folder, vocabulary=vocabulary, source=source)


_SCIKIT_LEARN = {
    "iris": "Fisher (1936), 3 species of iris, 4 measurements in cm",
    "wine": "Forina et al. (1991), 3 cultivars, 13 chemical measurements",
    "breast_cancer": "Street, Wolberg & Mangasarian (1993), 30 measurements of cell nuclei",
    "digits": "Alpaydin & Kaynak (1998), handwritten digits, 8 x 8 grey values from 0 to 16",
}
_SHIPPED = {
    "votes": ("party", "UCI: 16 votes of the United States House of Representatives in 1984"),
    "penguins": ("species", "Gorman, Williams & Fraser (2014), 3 species of penguin at Palmer Station"),
}

NAMES = (*_SCIKIT_LEARN, *_SHIPPED)
"""The names that `load` knows."""

# --- files ----------------------------------------------------------------------------------------------------------


def open_table(path: str | Path, **writing: Any) -> Any:
    """A table as pieces: a data set by name, Parquet (a folder, `.parquet`, `.pq`), or text in any other file.

    Parameters
    ----------
    path : the name or the file
    writing : `sep` and `encoding` of a text file, found in it by default

    Raises
    ------
    TableError   if the file is missing, empty or not a table, or has two columns of one name
    """
    if path in NAMES:
        data = load(str(path))
        table = data.X.assign(**{data.target: data.y})
        about = {"names": [*table], "first": table, "target": data.target, "source": data.source}
        return SimpleNamespace(pieces=lambda numbers, columns=None: iter([table[_names(columns, table)]]), **about)
    path = Path(path)
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise TableError(f"{path} is a pipe or a device; save what it gives to a file first.")
    if not path.exists():
        raise TableError(f"there is no file {path}; check the path, or choose one of {', '.join(NAMES)}.")
    return ParquetFile(path) if path.is_dir() or path.suffix in (".parquet", ".pq") else TextFile(path, **writing)


def _names(columns: Any, names: Iterable[str]) -> list[str]:
    """The columns that are wanted: all, some, or one."""
    return [*names] if columns is None else columns if isinstance(columns, list) else [columns]


class TextFile:
    """A delimited text file. `first` has the rows of its first lines, with all cells as text."""

    target = None

    def __init__(self, path: Path, sep: str | None = None, encoding: str | None = None) -> None:
        self.path, self.source, self.encoding = path, str(path), encoding or "utf-8-sig"
        with self._readable():
            with self._bytes() as file:
                start = file.peek(2)[:2]
                if start == b"PK":
                    raise TableError(f"{path} is a workbook or an archive; save its sheet as CSV.")
                if encoding is None and start in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
                    self.encoding = "utf-16"
                head = codecs.getreader(self.encoding)(file).read(HEAD)
            if not head.strip():
                raise TableError(f"{path} is empty; it needs a header and rows.")
            lines = max(head.count("\n"), head.count("\r"), 1)
            self._rows = int(np.clip(HEAD * lines // len(head), 100, ROWS))
            first_line = head.lstrip().partition("\n")[0]  # the header decides: cells may hold commas
            self._sep = {"tab": "\t", "\\t": "\t"}.get(sep or "", sep) or max(",;\t|", key=first_line.count)
            rows = (row for row in csv.reader(io.StringIO(head), delimiter=self._sep) if row)
            header, row = next(rows), next(rows, [])
            self.names = [name.strip() or f"Unnamed: {j}" for j, name in enumerate(header)]
            if doubled := sorted({name for name in self.names if self.names.count(name) > 1}):
                raise TableError(f"{path} has more than one column named {listed(doubled)}; rename all but one.")
            if len(row) > len(header):  # pandas would take the surplus for row names
                many = f"{len(header)} cells in the header and {len(row)} in the first row"
                raise TableError(f"{path} has {many}; name all columns in the header.")
            if not row:
                raise TableError(f"{path} has no rows below the header; add rows to learn from.")
            self.first = next(self.pieces((), rows=lines))

    def _bytes(self) -> Any:
        """The bytes of the file, from the first on."""
        return gzip.open(self.path) if self.path.suffix == ".gz" else self.path.open("rb")

    def pieces(self, numbers: Any = None, columns: Any = None, rows: int | None = None) -> Iterator[pd.DataFrame]:
        """The rows, piece by piece: numbers in these columns, by default as the first lines show; else text.

        Of one column by its name, the cells beside it are not even counted.
        """
        numbers, names = describe(self.first).plain if numbers is None else {*numbers}, _names(columns, self.names)
        if unknown := [name for name in names if name not in self.names]:
            raise TableError(f"{self.path} has no column {listed(unknown)}; the columns are {listed(self.names)}.")
        settings: dict[str, Any] = {"names": self.names, "header": 0, "skipinitialspace": True, "low_memory": False}
        settings |= {} if columns is None or isinstance(columns, list) else {"usecols": names}
        types = dict.fromkeys({*self.names} - (numbers & {*names}), str)
        settings |= {"sep": self._sep, "encoding": self.encoding, "dtype": types, "chunksize": rows or self._rows}
        checked = partial(self._checked, numbers=numbers, names=names)
        with naming(self, False), self._readable(), self._bytes() as file, pd.read_csv(file, **settings) as found:
            yield from map(checked, found)  # a loop would hold a piece while the next is read

    def _checked(self, piece: pd.DataFrame, numbers: set[str], names: list[str]) -> pd.DataFrame:
        """A piece without blanks around its text, unless there is text among its numbers."""
        read: dict[str, pd.Series] = {}
        for name in names:
            cells = piece[name]
            if name not in numbers:
                text = cells.str.strip()
                read[name] = text.mask(text.isin(_MISSING))
            elif cells.dtype.kind not in "iuf":
                found = pd.to_numeric(cells.astype(object).map(str, na_action="ignore"), errors="coerce")
                bad = cells.notna() & found.isna() & (piece[self.target].notna() if self.target in piece else True)
                if bad.any():
                    raise CellError(name, cells, bad, ", where numbers are expected; write all cells in one way")
                read[name] = found.astype(float)
        return piece[names].assign(**read)

    def lines(self, rows: Any) -> np.ndarray:
        """The line at which each of these rows begins; there may be blank lines, and lines within quotes."""
        found, begin = [], 1
        with contextlib.suppress(csv.Error), io.TextIOWrapper(self._bytes(), self.encoding, newline="") as text:
            for row in (table := csv.reader(text, delimiter=self._sep)):
                found += [begin] if len(row) > 1 or "".join(row).strip() else []
                begin = table.line_num + 1
        return np.array(found)[rows + 1] if len(found) > np.max(rows) + 1 else rows + 2

    @contextlib.contextmanager
    def _readable(self) -> Iterator[None]:
        """Let an error say what is wrong with the file, or with its encoding."""
        try:
            yield
        except (TableError, CellError):
            raise
        except Exception as error:  # of the disk, a damaged archive, an encoding, or a parser
            why, is_parsed = " ".join(str(error).split()), isinstance(error, pd.errors.ParserError)
            advice = "give each row as many cells as the header" if is_parsed else "name its --encoding, such as cp1252"
            what = f"{self.path} is not a table in {self.encoding.removesuffix('-sig').upper()}"
            raise TableError(f"{what} ({why.removeprefix('Error tokenizing data. C error: ')}); {advice}.") from error


class ParquetFile:
    """A Parquet file, or a folder of them in the order of their names, with the types that hold all that they hold."""

    target = None

    def __init__(self, path: Path) -> None:
        try:
            from pyarrow import dataset, unify_schemas

            settings: dict[str, Any] = {"format": "parquet", "partitioning": "hive"}
            table = dataset.dataset(path, **settings)
            each = [table.schema, *(file.physical_schema for file in table.get_fragments())]
            self._table = dataset.dataset(path, unify_schemas(each, promote_options="permissive"), **settings)
        except Exception as error:  # there is no pyarrow, or whatever it makes of damaged metadata
            why = str(error).partition("\n")[0]
            raise TableError(f"{path} is not a Parquet file that can be read ({why}).") from error
        self.names, self.source = [str(name) for name in self._table.schema.names], str(path)
        self.first = next(self.pieces(), pd.DataFrame(columns=self.names))

    def pieces(self, numbers: Any = None, columns: Any = None, rows: int | None = None) -> Iterator[pd.DataFrame]:
        """Row group by row group, for Arrow left to itself reads ahead until the whole file is in memory."""
        from pyarrow.dataset import ParquetFragmentScanOptions

        options: Any = {"fragment_scan_options": ParquetFragmentScanOptions(pre_buffer=False)}
        options |= {"columns": _names(columns, self._table.schema.names), "batch_size": rows or ROWS}
        for file in self._table.get_fragments():
            for group in file.split_by_row_group():
                for batch in group.to_batches(self._table.schema, **options):
                    piece = batch.to_pandas(integer_object_nulls=True)  # integers beside missing cells stay integers
                    yield piece.set_axis([str(name) for name in piece.columns], axis=1)


@contextlib.contextmanager
def naming(file: Any, ask: bool = True) -> Iterator[None]:
    """Let the errors of a table name its file, and the line of a cell; `ask` for another role of its column."""
    try:
        yield
    except CellError as error:
        row = f"line {file.lines(np.array([error.row]))[0]}" if isinstance(file, TextFile) else f"row {error.row + 1}"
        name = shlex.quote(error.name)
        how = f"; name its role with --columns {name}=ROLE, or leave it out with --drop {name}" * ask
        raise TableError(f"{file.source}, {row}: {error}{how}.") from error
    except TableError:
        raise
    except ValueError as error:
        raise TableError(f"{file.source}: {str(error).rstrip('.')}.") from error


# --- files with labels ----------------------------------------------------------------------------------------------


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
) -> Dataset:
    """Read features and target from your file: Parquet, or text with comma, semicolon, tab or bar between the cells.

    Labels keep the form that they have in the file, without blanks around them. They become integers or booleans if
    Python writes these in the same way (7, True). Otherwise they stay text (007, 1e30, 2.0, 9999999999999999999).

    `contract` states what each column is, see `bayesnb.describe`. The first 4 MiB of text, or 65,536 rows of Parquet,
    give the roles. A later cell that contradicts them is an error that names its line. Some rows and columns are left
    out: rows without a target, columns without a value, and constants. So are columns that identify the row
    (identifiers, names, dates), unless `columns` asks for them.

    Parameters
    ----------
    path : the file. `.parquet` and `.pq` are read with pyarrow, any other file as text with a header row
    target : name of the column with the class labels
    drop, columns, decimal, thousands : as in `bayesnb.describe`
    encoding, sep : encoding and separator of a text file. By default the encoding is UTF-8 or UTF-16, and the header
        shows the separator

    Raises
    ------
    TableError
        if the file is missing, empty or not a table, or if it has no such target, two columns of one name or fewer than
        two classes. Also if the target is a measurement. Also if numbers can be read in two ways, or if no feature has
        a value
    """
    wishes = {"drop": drop, "columns": columns, "decimal": decimal, "thousands": thousands}
    return LabelledTable(path, target, **wishes, encoding=encoding, sep=sep).load(lines=True)


class LabelledTable:
    """The rows of a table that have a label, under its column contract, whole or in batches.

    `n_rows` counts all rows, `notes` says which are left out, `labels` has all labels, sorted.
    """

    def __init__(
        self, source: Any, target: str | None, *, encoding: Any = None, sep: Any = None, **wishes: Any
    ) -> None:
        self._file = open_table(source, encoding=encoding, sep=sep)
        if (target := target or self._file.target) is None:
            raise TableError(f"{str(source)!r} is not one of {', '.join(NAMES)}; for a file, name its --target column.")
        self.name, self.source, self.target, self.n_rows = Path(source).stem, self._file.source, target, 0
        names, first, where = self._file.names, self._file.first, f"{source}: column {target!r}"
        if target not in names:
            raise TableError(f"{source} has no column {target!r}; the columns are {listed(names)}.")
        self._file.target = target
        with naming(self._file):
            self.contract = describe(first[first[target].notna()], target, **wishes)
        if warning := self.contract[target].warning:
            raise TableError(f"{where} {warning}")
        counts: Counter[Any] = Counter()
        for piece in self._file.pieces((), target):
            self.n_rows += len(piece)
            counts.update(piece[target].dropna().tolist())
        if len(counts) < 2:
            what = f"holds {next(iter(counts))} in every row" if counts else "has no value in any row"
            raise TableError(f"{where} {what}; a classifier needs at least two classes. Choose another target.")
        if not self.contract.used:
            why = "; ".join(f"{column.name!r}: {column.why}" for column in self.contract.dropped[:4])
            raise TableError(f"{source} has no column to learn from ({why}); ask for one with --columns NAME=ROLE.")
        self._labels, self.n_labelled = _labels([*counts], isinstance(self._file, TextFile)), counts.total()
        self.labels = np.unique(_array([*self._labels.values()]))
        left = f"{self.n_rows - self.n_labelled} of {self.n_rows} rows have no value in {target!r} and were left out."
        self.notes = (left,) * (self.n_labelled < self.n_rows)

    def batches(self) -> Iterator[tuple[pd.DataFrame, np.ndarray]]:
        """Features and labels, so many rows at a time; the contract then knows the ranges and levels of all rows."""
        contract = self.contract
        with naming(self._file):
            for piece in self._file.pieces(contract.plain):
                labelled = piece[piece[self.target].notna()]
                contract.refuse_contradictions(labelled)
                X = contract.apply(labelled)
                self.contract = self.contract.widened(X)
                yield X, _array([self._labels[cell] for cell in labelled[self.target].tolist()])

    def load(self, lines: bool = False) -> Dataset:
        """All rows, and if asked the lines of a text file, which is then read again."""
        X, y = zip(*self.batches(), strict=True)
        rows = pd.concat(X)
        at = self._file.lines(rows.index.to_numpy()) if lines and isinstance(self._file, TextFile) else None
        about = self.name, rows.reset_index(drop=True), np.concatenate(y), self.target, self.source
        return Dataset(*about, self.notes, self.contract, at)


def _labels(cells: list[Any], is_text: bool) -> dict[Any, Any]:
    """The label that each cell stands for: integers and booleans as Python writes them in a text file, else text."""
    if is_text and {*cells} <= {"True", "False"}:
        return {cell: cell == "True" for cell in cells}
    if is_text and all(map(_INTEGER.fullmatch, cells)):
        return {cell: int(cell) for cell in cells}
    if all(isinstance(cell, float) and cell.is_integer() and abs(cell) <= 2**53 for cell in cells):
        return {cell: int(cell) for cell in cells}  # they became floats beside a missing cell
    return {cell: cell if isinstance(cell, int | str) else str(cell) for cell in cells}


def _array(labels: list[Any]) -> np.ndarray:
    return np.array(labels, object if any(isinstance(label, str) for label in labels) else None)
