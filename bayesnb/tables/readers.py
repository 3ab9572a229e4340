"""Files of cells, piece by piece: delimited text, Parquet, and workbooks of Excel.

The first lines of a text file are read as text, because a parser hides how a cell is written: zeros in front of a code,
and 15.018 that may be fifteen thousand. They give each column its role. All pieces are then read by these roles, with
numbers parsed by pandas.
"""

import codecs
import contextlib
import csv
import gzip
import io
import shlex
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from .columns import CellError
from .describing import describe
from .names import DATA_SETS, did_you_mean, listed
from .number_text import MISSING_SIGNS

HEAD = 1 << 22
"""Letters of a text file that are read first, and bytes of a piece, about."""

ROWS = 1 << 16
"""Rows of a piece, at most."""

_MISSING_WORDS = ("", *"NA N/A n/a #N/A NaN nan NULL null None".split())
# as for pandas, which does not see them with blanks around them


class TableError(ValueError):
    """Raised if a table cannot be used; the message states what was found, where, and what to do."""


def open_table(path: str | Path, **writing: Any) -> Any:
    """A table as pieces: a data set, Parquet (a folder, `.parquet`, `.pq`), Excel (`.xlsx`, `.xlsm`), or a text file.

    Parameters
    ----------
    path : the name or the file
    writing : `sep` and `encoding` of a text file, found in it by default

    Returns
    -------
    `NamedTable`, `ParquetFile`, `ExcelFile` or `TextFile`. Each has `names`, `first`, `target` and `source`,
    and gives its rows by `pieces`

    Raises
    ------
    TableError   if the file is missing, empty or not a table, or has two columns of one name
    """
    if path in DATA_SETS:
        return NamedTable(str(path))

    # What cannot be read: no file, or one that can be read only once, as tables are read twice.
    path = Path(path)
    if not path.exists():
        names = ", ".join(DATA_SETS)
        beside = [str(file) for file in path.parent.iterdir()] if path.parent.is_dir() else []
        similar = did_you_mean(path, [*DATA_SETS, *beside])
        raise TableError(f"there is no file {path}; check the path, or choose one of {names}{similar}")
    if not (path.is_file() or path.is_dir()):
        raise TableError(f"{path} is a pipe or a device; save what it gives to a file first.")

    if path.is_dir() or path.suffix in (".parquet", ".pq"):
        return ParquetFile(path)
    if path.suffix.lower() in (".xlsx", ".xlsm"):
        return ExcelFile(path)
    return TextFile(path, **writing)


@contextlib.contextmanager
def errors_of(file: Any, command: str = "") -> Iterator[None]:
    """Let the errors of a table name its file, and the line of a cell.

    It is for `with errors_of(file): …`. The block of the `with` runs at the `yield`. If an error is raised in it, that
    error appears here, and is raised again as a TableError.

    Parameters
    ----------
    file : the open table
    command : what the message gives advice for: "fit", where a column can have another role; "predict", where numbers
        can be written in another way; "" for neither
    """
    try:
        yield
    except CellError as error:  # a cell that its column cannot hold; `row` is its row in the data frame, from 0 on
        place = f"row {error.row + 1}"
        if isinstance(file, TextFile):  # an editor shows lines, which differ from rows by the header and blank lines
            place = f"line {file.lines(np.array([error.row]))[0]}"
        elif isinstance(file, ExcelFile):  # rows of a sheet are numbered from 1 on, and the first is the header
            place = f"row {error.row + 2}"
        raise TableError(f"{file.source}, {place}: {error}{_advice(error, command)}.") from error
    except TableError:  # names its file already; it is a ValueError too
        raise
    except ValueError as error:
        raise TableError(f"{file.source}: {str(error).rstrip('.')}.") from error


def _advice(error: CellError, command: str) -> str:
    """What to do about a cell that cannot be read, as flags of the command line; "" where there is no advice.

    Parameters
    ----------
    error : names the column, and says whether the cell is text that is no number (`is_unread`)
    command : "fit", "predict" or ""
    """
    name = shlex.quote(error.name)  # in quotes where the shell needs them
    if command == "fit":
        return f"; name its role with --columns {name}=ROLE, or leave it out with --drop {name}"
    if command == "predict" and error.is_unread:
        return "; if this file writes numbers in another way, name its --decimal or --thousands"
    return ""


def _chosen_names(columns: Any, names: Iterable[str]) -> list[str]:
    """The columns that are wanted, as a list.

    Parameters
    ----------
    columns : None for all, a list of names, or a single name
    names : of all columns
    """
    if columns is None:
        return [*names]
    return columns if isinstance(columns, list) else [columns]


class NamedTable:
    """A data set by its name, in one piece."""

    def __init__(self, name: str) -> None:
        """Load the data set; its target is a column like the others."""
        from .datasets import load

        data = load(name)  # with features `X`, labels `y`, and the name of the column of labels
        self.target = data.target
        self.source = data.source
        self.first = data.X.assign(**{data.target: data.y})
        self.names = [*self.first]

    def pieces(self, numbers: Any = None, columns: Any = None, rows: int | None = None) -> Iterator[pd.DataFrame]:
        """The rows, all at once; only `columns` matters, None for all, a list of names, or one name."""
        yield self.first[_chosen_names(columns, self.names)]


# --- text -----------------------------------------------------------------------------------------------------------


class TextFile:
    """A delimited text file.

    Fields
    ------
    names : the columns
    first : the rows of the first lines, with all cells as text
    target : the column of labels, if it is known: text among numbers is no error in a row without a label
    source : the path, as it is named in messages
    """

    def __init__(self, path: Path, sep: str | None = None, encoding: str | None = None) -> None:
        """Read the first lines: encoding, separator and names of the columns, and the rows of these lines.

        Parameters
        ----------
        sep, encoding : of the file; by default they are found in it
        """
        self.path = path
        self.source = str(path)
        self.target: str | None = None
        # Within `_errors_of_reading` an error of the disk, the encoding or the parser becomes a TableError with advice.
        with self._errors_of_reading(encoding or "utf-8-sig"):
            self.encoding = encoding or self._encoding_of_start()

        with self._errors_of_reading(self.encoding):
            head = self._head()
            self._separator = _separator_of(head, sep)
            self.names = _names_of(head, self._separator, path)

            # A piece is to have about 4 MiB, `HEAD`, and 100 to 65,536 rows: the 4 MiB divided by the mean length of a
            # line of `head`, which is letters / lines. A line may also end in "\r".
            n_lines = max(head.count("\n"), head.count("\r"), 1)
            self._rows = int(np.clip(HEAD * n_lines // len(head), 100, ROWS))

            # the first piece: as many rows as there are lines in `head`; with numbers=() all of its cells are text
            self.first = next(self.pieces((), rows=n_lines))

    def _bytes(self) -> Any:
        """The bytes of the file, from the first on."""
        return gzip.open(self.path) if self.path.suffix == ".gz" else self.path.open("rb")

    def _encoding_of_start(self) -> str:
        """UTF-16 or UTF-8, by the first two bytes; a TableError where these are of an archive."""
        with self._bytes() as file:
            start = file.peek(2)[:2]
        if start == b"PK":  # of ZIP archives, which the workbooks of spreadsheet programs are
            raise TableError(f"{self.path} is a workbook or an archive; save its sheet as CSV.")
        is_utf16 = start in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
        return "utf-16" if is_utf16 else "utf-8-sig"

    def _head(self) -> str:
        """The first letters of the file, about four million; a TableError where there are none."""
        with self._bytes() as file:
            head = codecs.getreader(self.encoding)(file).read(HEAD)
        if not head.strip():
            raise TableError(f"{self.path} is empty; it needs a header and rows.")
        return head

    def pieces(self, numbers: Any = None, columns: Any = None, rows: int | None = None) -> Iterator[pd.DataFrame]:
        """The rows, piece by piece; a CellError names text among numbers.

        A piece is a data frame of some thousand rows, in the order of the file. Its index goes on from piece to piece.

        Parameters
        ----------
        numbers : names of the columns to read as numbers; by default those that the first lines show. Others are text
        columns : names of the columns of the pieces, all by default. With one name instead of a list, the cells beside
            it are not even counted
        rows : of a piece
        """
        # The names of the columns of numbers, and of those that are wanted, each of which must be there. `plain` are
        # the names of columns that hold numbers as any parser reads them, by the first rows.
        number_names = describe(self.first).plain if numbers is None else {*numbers}
        names = _chosen_names(columns, self.names)
        unknown = [name for name in names if name not in self.names]
        if unknown:
            similar = did_you_mean(unknown[0], self.names) or "."
            raise TableError(
                f"{self.path} has no column {listed(unknown)}; the columns are {listed(self.names)}{similar}"
            )

        # All columns are read as text, except for numbers that are wanted, whose type pandas finds.
        wanted_numbers = number_names & {*names}
        text_names = {*self.names} - wanted_numbers
        settings: dict[str, Any] = {
            "names": self.names,
            "header": 0,  # line 0 is the header, whose names ours replace
            "skipinitialspace": True,
            "low_memory": False,  # a column of a piece gets one type
            "sep": self._separator,
            "encoding": self.encoding,
            "dtype": dict.fromkeys(text_names, str),
            "chunksize": rows or self._rows,  # rows of a piece; `read_csv` then gives an iterator of pieces
        }
        # One name instead of a list: pandas skips the other columns, and does not count the cells of a row.
        is_one_name = columns is not None and not isinstance(columns, list)
        if is_one_name:
            settings["usecols"] = names

        # `_clean_piece` takes blanks off text, and checks numbers. `map` calls it when the caller asks for the next
        # piece; the file stays open until the last one is given, as this function is a generator.
        clean_piece = partial(self._clean_piece, numbers=number_names, names=names)
        with (
            self._errors_of_reading(self.encoding),
            self._bytes() as file,
            pd.read_csv(file, **settings) as chunks,
        ):
            yield from map(clean_piece, chunks)  # a loop would hold a piece while the next is read

    def _clean_piece(self, piece: pd.DataFrame, numbers: set[str], names: list[str]) -> pd.DataFrame:
        """A piece without blanks around its text; a CellError where there is text among its numbers.

        Parameters
        ----------
        piece : rows as pandas reads them
        numbers : names of columns of numbers
        names : of the columns of the result
        """
        columns: dict[str, pd.Series] = {}
        for name in names:
            cells = piece[name]
            are_parsed = cells.dtype.kind in "iuf"  # NumPy's codes of integers and floats
            if name not in numbers:  # text: blanks are taken off, and words such as "NA" become missing
                cells = _without_blanks(cells)
            elif not are_parsed:  # pandas has left them as text, as one of them is no number
                has_label = piece[self.target].notna() if self.target in piece else True
                cells = _parsed_numbers(name, cells, has_label)
            columns[name] = cells
        return pd.DataFrame(columns, index=piece.index, columns=names)

    def lines(self, rows: np.ndarray) -> np.ndarray:
        """The line of the file at which each of these rows begins, (n,), counted from 1 on.

        A blank line is no row, and a row with a text in quotes may go over several lines. For example, if the header is
        at line 1, a row at the lines 2 and 3, and a row at line 5 below a blank one, then row 0 begins at line 2, and
        row 1 at line 5.

        Parameters
        ----------
        rows : (n,) numbers of rows, from 0 on, without the header
        """
        # The CSV reader counts lines while it reads rows: `line_num` is the last line of the row that it has just read,
        # and the next row begins one line later. A blank line gives an empty row, which does not count.
        starts: list[int] = []  # of the header and of each row: in the example 1, 2, 5
        start = 1
        with contextlib.suppress(csv.Error), io.TextIOWrapper(self._bytes(), self.encoding, newline="") as text:
            table = csv.reader(text, delimiter=self._separator)
            for cells in table:
                is_blank = len(cells) <= 1 and not "".join(cells).strip()
                if not is_blank:
                    starts.append(start)
                start = table.line_num + 1

        # An error of the reader (`csv.Error`) ends the loop early, and some rows have no start. Then one line for each
        # row is the best guess: row 0 is at line 2, below the header.
        starts_are_missing = len(starts) <= np.max(rows) + 1
        if starts_are_missing:
            return rows + 2
        return np.array(starts)[rows + 1]  # the header comes first

    @contextlib.contextmanager
    def _errors_of_reading(self, encoding: str) -> Iterator[None]:
        """Let an error say what is wrong with the file, or with its encoding.

        It is for `with`, by a decorator of `contextlib`: the block runs at the `yield`, and an error of it is raised
        again as a TableError with advice.

        Parameters
        ----------
        encoding : in which the block reads the file, for the message
        """
        try:
            yield
        except (TableError, CellError):  # these say it already
            raise
        except Exception as error:  # of the disk, a damaged archive, an encoding, or a parser
            # The reason on one line, without the words that pandas begins with.
            reason = " ".join(str(error).split()).removeprefix("Error tokenizing data. C error: ")
            advice = "name its --encoding, such as cp1252"
            if isinstance(error, pd.errors.ParserError):
                advice = "give each row as many cells as the header"
            fault = f"{self.path} is not a table in {encoding.removesuffix('-sig').upper()}"
            raise TableError(f"{fault} ({reason}); {advice}.") from error


def _separator_of(head: str, sep: str | None) -> str:
    """The separator of the cells: as named, or the most frequent one of the header, as cells may hold commas."""
    if sep:  # a tab may be named in words, as it is hard to type in a shell
        return {"tab": "\t", "\\t": "\t"}.get(sep, sep)
    header = head.lstrip().partition("\n")[0]
    return max(",;\t|", key=header.count)


def _names_of(head: str, separator: str, path: Path) -> list[str]:
    """The names in the header; a TableError where they do not fit the first row.

    Parameters
    ----------
    head : the first lines of the file
    separator : of cells
    path : of the file, for the messages
    """
    rows = (row for row in csv.reader(io.StringIO(head), delimiter=separator) if row)  # without blank lines
    header = next(rows)  # the cells of the first line
    row = next(rows, [])  # those of the second; [] if there is none

    names = [name.strip() or f"Unnamed: {j}" for j, name in enumerate(header)]  # as pandas names them
    if len(set(names)) < len(names):
        doubled = sorted({name for name in names if names.count(name) > 1})
        raise TableError(f"{path} has more than one column named {listed(doubled)}; rename all but one.")
    if len(row) > len(header):  # pandas would take the surplus for row names
        raise TableError(
            f"{path} has {len(header)} cells in the header and {len(row)} in the first row; name all columns in the "
            "header."
        )
    if not row:
        raise TableError(f"{path} has no rows below the header; add rows to learn from.")
    return names


def _without_blanks(cells: pd.Series) -> pd.Series:
    """Text without blanks around it; words for a missing cell are missing. Cells without either are not copied.

    Parameters
    ----------
    cells : (n,) text; a missing cell is None or NaN
    """
    values = cells.tolist()
    words = [value.strip() if isinstance(value, str) else value for value in values]

    # Usually there is nothing to do, and the cells are returned as they are. This is found quickly: `strip` gives a
    # text without blanks back as the same object, and `is` is faster than a comparison of texts.
    has_no_blanks = all(word is value for word, value in zip(words, values, strict=True))
    has_no_missing_words = not any(word in _MISSING_WORDS for word in words)
    if has_no_blanks and has_no_missing_words:
        return cells
    cleaned = [None if word in _MISSING_WORDS else word for word in words]
    return pd.Series(cleaned, cells.index, dtype=cells.dtype, name=cells.name)


def _parsed_numbers(name: str, cells: pd.Series, has_label: Any) -> pd.Series:
    """The cells of a column as numbers, NaN where a sign such as "?" stands for a missing one.

    It is for a column that pandas has left as text, as one of the cells is no number. Other text is a CellError.

    Parameters
    ----------
    name : of the column, for the message
    cells : of the column
    has_label : (n,) whether each row has a label, or True for all: other text is no error in a row without one
    """
    texts = cells.astype(object).map(lambda value: str(value).strip(), na_action="ignore")
    numbers = pd.to_numeric(texts, errors="coerce").astype(float)  # NaN of other text

    # wrong is text that is no number, no sign of a missing cell, and in a row with a label
    is_no_number = cells.notna() & numbers.isna()  # a cell that was there became NaN
    is_wrong = is_no_number & ~texts.isin(MISSING_SIGNS) & has_label
    if is_wrong.any():
        reason = ", where numbers are expected; write all cells in one way"
        raise CellError(name, cells, is_wrong, reason, is_unread=True)
    return numbers


# --- Excel ----------------------------------------------------------------------------------------------------------


class ExcelFile:
    """The first sheet of a workbook, in one piece; cells have the types that they have there: numbers, text, dates."""

    target = None

    def __init__(self, path: Path) -> None:
        """Read the sheet, whose first row is the header; a TableError where openpyxl is missing or cannot read it."""
        try:
            with pd.ExcelFile(path, engine="openpyxl") as book:
                sheets = [str(name) for name in book.sheet_names]
                header = pd.read_excel(book, header=None, nrows=1, dtype=str)
                table = pd.read_excel(book, header=None, skiprows=1)
        except ImportError as error:
            raise TableError(
                f"{path} is a workbook, which the package openpyxl reads: `pip install openpyxl`, or save its sheet as "
                "CSV."
            ) from error
        except Exception as error:  # a damaged archive, or another file by that name
            reason = " ".join(str(error).split())
            raise TableError(f"{path} is not a workbook that can be read ({reason}); save its sheet as CSV.") from error

        self.source = str(path) if len(sheets) == 1 else f"{path}, sheet {sheets[0]!r}"
        if header.empty or table.empty:
            raise TableError(f"{self.source} has no rows below a header; put the table into the first sheet.")
        self.names = _names_of_sheet(header.iloc[0].tolist(), table.shape[1], self.source)
        self.first = table.set_axis(self.names, axis=1).apply(_without_blanks_in_text)

    def pieces(self, numbers: Any = None, columns: Any = None, rows: int | None = None) -> Iterator[pd.DataFrame]:
        """The rows, all at once; only `columns` matters, None for all, a list of names, or one name."""
        yield self.first[_chosen_names(columns, self.names)]


def _names_of_sheet(header: list[Any], n_columns: int, source: str) -> list[str]:
    """The names of the columns in the first row of a sheet; a TableError if two are equal.

    Parameters
    ----------
    header : the cells of the first row, NaN where there is none
    n_columns : of the rows below
    source : the file and sheet, for the message
    """
    cells = [*header, *[None] * (n_columns - len(header))]
    names = [f"Unnamed: {j}" if pd.isna(cell) else str(cell).strip() for j, cell in enumerate(cells)]
    doubled = sorted({name for name in names if names.count(name) > 1})
    if doubled:
        raise TableError(f"{source} has more than one column named {listed(doubled)}; rename all but one.")
    return names


def _without_blanks_in_text(cells: pd.Series) -> pd.Series:
    """A column without blanks around its text; words for a missing cell are missing, and numbers and dates stay."""
    return cells if cells.dtype.kind in "iufbM" else _without_blanks(cells)


# --- Parquet --------------------------------------------------------------------------------------------------------


class ParquetFile:
    """A Parquet file, or a folder of them in the order of their names, with the types that hold all that they hold."""

    target = None

    def __init__(self, path: Path) -> None:
        """Open a file or a folder, and read its first rows; a TableError where pyarrow cannot read it."""
        try:
            from pyarrow import dataset, unify_schemas

            # Files of a folder may hold a column with different types, such as integers in one and floats in another.
            # `unify_schemas` finds for each column one type that holds them all, and the folder is opened again with
            # these types. "hive" takes folder names such as "year=2024" for cells of a column "year".
            settings: dict[str, Any] = {"format": "parquet", "partitioning": "hive"}
            table = dataset.dataset(path, **settings)
            schemas = [table.schema, *(file.physical_schema for file in table.get_fragments())]
            self._table = dataset.dataset(path, unify_schemas(schemas, promote_options="permissive"), **settings)
        except Exception as error:  # there is no pyarrow, or whatever it makes of damaged metadata
            reason = str(error).partition("\n")[0]
            raise TableError(f"{path} is not a Parquet file that can be read ({reason}).") from error
        self.names = [str(name) for name in self._table.schema.names]
        self.source = str(path)
        self.first = next(self.pieces(), pd.DataFrame(columns=self.names))

    def pieces(self, numbers: Any = None, columns: Any = None, rows: int | None = None) -> Iterator[pd.DataFrame]:
        """The rows, piece by piece, each a data frame.

        A Parquet file stores its rows in *row groups*, each of which can be read by itself. Arrow calls a file of the
        table a *fragment*, and some rows of it a *batch*, which becomes one piece here. Groups are read one by one:
        Arrow left to itself reads ahead until all is in memory.

        Parameters
        ----------
        numbers : not used, as the file has types; text files need it
        columns : names of the columns of the pieces, or one name; all by default
        rows : of a piece, at most
        """
        from pyarrow.dataset import ParquetFragmentScanOptions

        settings: dict[str, Any] = {
            "fragment_scan_options": ParquetFragmentScanOptions(pre_buffer=False),  # reads a column when it is needed
            "columns": _chosen_names(columns, self._table.schema.names),
            "batch_size": rows or ROWS,
        }
        # a batch has the types of the whole table, its `schema`, whatever those of its file are
        for file in self._table.get_fragments():
            for group in file.split_by_row_group():
                for batch in group.to_batches(self._table.schema, **settings):
                    piece = batch.to_pandas(integer_object_nulls=True)  # integers beside missing cells stay integers
                    yield piece.set_axis([str(name) for name in piece.columns], axis=1)
