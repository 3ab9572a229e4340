"""A user's file as a data frame, whole or piece by piece: text with any separator, or Parquet.

pandas parses the numbers. The first lines are also read as text, because a parser hides how a cell is written: zeros in
front of a code, and numbers such as 15.018 that may be fifteen thousand. Columns that show either stay text.
"""

import bz2
import codecs
import csv
import gzip
import io
import lzma
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

PARQUET = (".parquet", ".pq")
LARGE = 1 << 26
"""Bytes of a text file from which on it is fitted piece by piece; Parquet: in memory."""

ROWS = 1 << 16
"""Rows of a piece, at most."""

MISSING = [
    *("", "NA", "N/A", "n/a", "<NA>", "NULL", "null", "None", "NaN", "nan", "-NaN", "-nan"),
    *("#N/A", "#NA", "#N/A N/A", "1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN"),
]
"""Cells without a value, as for pandas."""

_OPEN: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
TRUTH = {"true": True, "false": False}
_HEAD = 1 << 20  # bytes that show how a file is written
_PIECE = 1 << 22  # bytes of a piece, about
_CODE = re.compile(r"0\d+", re.ASCII)
_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}\.\d{3}", re.ASCII)  # fifteen or fifteen thousand
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?inf(inity)?", re.ASCII | re.IGNORECASE)
_LONG = re.compile(r"[+-]?\d{16,}", re.ASCII)  # floats do not hold all of them


class TableError(ValueError):
    """Raised if a table cannot be used; the message states what was found, where, and what to do."""


class ContradictionError(TableError):
    """A cell, below the first lines, that the columns of the first lines cannot hold."""

    def __init__(self, path: Path, cells: dict[str, tuple[int, str]]) -> None:
        self.columns = list(cells)
        name, (row, cell) = next(iter(cells.items()))
        name, seen = name.strip(), "numbers without a point" if _THOUSANDS.fullmatch(cell) else "numbers"
        ask = "; give --decimal . or --thousands ." if _THOUSANDS.fullmatch(cell) else ""
        super().__init__(
            f"{path}, line {row + 2}: column {name!r} holds {cell!r}, but {seen} in the first lines{ask}; write all "
            f"cells in one way, or leave the column out with --drop {name}."
        )


def listed(names: Iterable[Any], most: int = 8) -> str:
    """The names in quotes, the first few of many; "none" of no names."""
    quoted = [repr(name) for name in names]
    more = f" and {len(quoted) - most} more" if len(quoted) > most else ""
    return (", ".join(quoted[:most]) or "none") + more


class TextFile:
    """A delimited text file: how it is written, and how its columns are read.

    Parameters
    ----------
    path : the file, plain or compressed
    text : names of columns whose cells are text as it stands, such as 007
    sep, encoding : as the user names them; found in the file if None
    decimal, thousands : separators in numbers that the user names; numbers that show them stay text here
    """

    def __init__(
        self,
        path: Path,
        text: Iterable[str] = (),
        *,
        sep: str | None = None,
        encoding: str | None = None,
        decimal: str | None = None,
        thousands: str | None = None,
    ) -> None:
        self.path = path
        try:
            self._piped = None if path.is_file() else path.read_bytes()  # which can be read only once
            with self._bytes() as file:
                head = file.read(_HEAD)
        except (OSError, EOFError, lzma.LZMAError) as error:
            raise TableError(f"{path} cannot be read ({getattr(error, 'strerror', None) or error}).") from error
        found = "utf-16" if head[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE) else "utf-8-sig"
        self.encoding = encoding or found
        if head.startswith(b"PAR1"):
            raise TableError(f"{path} is Parquet; save it as a file whose name ends with .parquet.")
        try:
            " ".encode(self.encoding)  # refuses codecs of no text, such as base64
            start = codecs.getincrementaldecoder(self.encoding)().decode(head)
        except LookupError:
            known = "common ones are utf-8, latin-1 and cp1252."
            raise TableError(f"there is no encoding {encoding!r}; {known}") from None
        except UnicodeError as error:
            at = f"byte {error.start} is not part of a character" if hasattr(error, "start") else error
            raise self._no_text(at) from None
        if not start.strip():
            raise TableError(f"{path} is empty; it needs a header and rows.")
        lines = max(start.count("\n"), start.count("\r"), 1)
        self.rows = int(np.clip(_PIECE * lines // len(head), 100, ROWS))
        """Rows of a piece."""
        first_line = start.lstrip().partition("\n")[0]  # the header decides: cells may hold commas
        self.sep = {"tab": "\t", "\\t": "\t"}.get(sep or "", sep) or max(",;\t|", key=first_line.count)
        self._has_point, self._groups = decimal == ".", thousands == "." or decimal not in (None, ".")
        try:
            rows = (row for row in csv.reader(io.StringIO(start), delimiter=self.sep) if row)
            header, first = [name.strip() for name in next(rows)], next(rows, [])
            with self._bytes() as file:
                sample = self._parsed(file, nrows=lines, dtype=str)
        except (csv.Error, ValueError, TypeError) as error:
            raise self._no_table(error) from error
        if len(first) > len(header):  # pandas would take the surplus for row names
            raise TableError(
                f"{path} has {len(header)} cells in the header and {len(first)} in the first row; name all columns in "
                "the header."
            )
        refuse_doubled(path, header)
        self.names, wanted = list(sample.columns), set(text)
        self._settled: set[str] = set()  # columns that show a decimal point
        self._truth: set[str] = set()  # columns of true and false
        self._text = {name for name in self.names if name.strip() in wanted or self._stays_text(sample[name])}

    def _stays_text(self, sample: pd.Series) -> bool:
        """Whether the first cells are no plain numbers, or hide something as numbers."""
        cells = [str(cell).strip() for cell in sample.dropna().unique()]
        if cells and all(cell.lower() in TRUTH for cell in cells):
            self._truth |= {str(sample.name)}
            return False
        points = [cell for cell in cells if "." in cell]
        if not all(_NUMBER.fullmatch(cell) and not _LONG.fullmatch(cell) for cell in cells):
            return True
        if points and (self._groups or not (self._has_point or any(not _THOUSANDS.fullmatch(cell) for cell in points))):
            return True
        self._settled |= {str(sample.name)} if points else set()
        return any(map(_CODE.fullmatch, cells)) and all(map(str.isdigit, cells))

    def _bytes(self) -> Any:
        """The bytes of the file, from the first on."""
        if self._piped is not None:
            return io.BytesIO(self._piped)
        return _OPEN.get(self.path.suffix, open)(self.path, "rb")

    def _parsed(self, file: Any, **given: Any) -> Any:
        return pd.read_csv(
            file,
            sep=self.sep,
            encoding=self.encoding,
            skipinitialspace=True,
            na_values=MISSING,
            keep_default_na=False,
            low_memory=False,
            **given,
        )

    def pieces(self, rows: int | None = None, columns: Iterable[str] | None = None) -> Iterator[pd.DataFrame]:
        """The rows, or some columns of them, so many at a time; each piece with the types of the first lines."""
        wanted = {name.strip() for name in self.names} if columns is None else {*columns}
        names = [name for name in self.names if name.strip() in wanted]
        if unknown := wanted - {name.strip() for name in names}:
            raise TableError(f"{self.path} has no column {listed(unknown)}; the columns are {listed(self.names)}.")
        types = {name: str for name in names if name in self._text | self._truth}
        try:
            settings = {"chunksize": rows or self.rows, "usecols": names, "dtype": types}
            with self._bytes() as file, self._parsed(file, **settings) as found:
                yield from map(self._checked, found)  # a loop would hold a piece while the next is read
        except TableError:
            raise
        except (csv.Error, ValueError, OSError, EOFError) as error:
            raise self._no_table(error) from error

    def frame(self) -> pd.DataFrame:
        """All rows; a column of numbers that holds something else further down is text."""
        while True:
            try:
                return pd.concat(list(self.pieces()), ignore_index=True)
            except ContradictionError as error:
                self._text |= {name for name in self.names if name in error.columns}

    def _checked(self, piece: pd.DataFrame) -> pd.DataFrame:
        """A piece without blanks around its text, unless a column contradicts the first lines."""
        wrong: dict[str, tuple[int, str]] = {}
        for name, cells in piece.items() if len(piece) else ():
            if name in self._text:
                piece[name] = _trimmed(cells)
                continue
            if name in self._truth:
                truth = cells.str.strip().str.lower().map(TRUTH)
                bad = (truth.isna() & cells.notna()).to_numpy()
                if not bad.any():
                    piece[name] = truth.astype(bool) if truth.notna().all() else truth
                    continue
            elif cells.dtype.kind in "iu":
                continue
            elif cells.dtype.kind == "f":
                if name in self._settled or self._has_point:
                    continue
                values = abs(cells.to_numpy())
                bad = np.isfinite(values) & (values != np.floor(values))
                thousands = (values[bad] >= 1) & (values[bad] < 1000) & (abs(values[bad] * 1000 % 1 - 0.5) > 0.4999)
                if not bad.any() or not (thousands.all() or self._groups):
                    self._settled |= {str(name)} if bad.any() else set()
                    continue
            else:
                bad = (pd.to_numeric(cells, errors="coerce").isna() & cells.notna()).to_numpy()
                bad = bad if bad.any() else cells.notna().to_numpy()  # true and false
            at = int(bad.argmax())
            cell = cells.iloc[at]
            wrong[str(name)] = int(piece.index[at]), f"{cell:.3f}" if cells.dtype.kind == "f" else str(cell).strip()
        if wrong:
            raise ContradictionError(self.path, wrong)
        return piece.rename(columns=str.strip)

    def _no_text(self, why: Any) -> TableError:
        name = self.encoding.removesuffix("-sig").upper()
        return TableError(
            f"{self.path} is not text in {name} ({why}); name its --encoding, such as "
            "cp1252 or utf-16-le (encoding='cp1252'), or save it as CSV in UTF-8."
        )

    def _no_table(self, error: Exception) -> TableError:
        """What is wrong with a file that the parser does not take."""
        if isinstance(error, UnicodeError):
            return self._no_text("some bytes are not part of a character")
        found = str(error).strip().removeprefix("Error tokenizing data. C error: ")
        return TableError(f"{self.path} is not a table ({found}); every row needs as many cells as the header.")


def _trimmed(cells: pd.Series) -> pd.Series:
    """Text without blanks around it; in front of it, the parser skips them itself."""
    codes, distinct = pd.factorize(cells)
    short = pd.Series(distinct, dtype=object).astype(str).str.strip()
    if not len(short) or (short.to_numpy(object) == np.asarray(distinct, object)).all():
        return cells
    return short.mask(short.isin(MISSING)).reindex(codes).set_axis(cells.index)  # the code of a missing cell is -1


def refuse_doubled(path: Path, names: list[str]) -> None:
    """Raise a TableError that names columns of one name."""
    if doubled := sorted({name for name in names if names.count(name) > 1}):
        raise TableError(f"{path} has more than one column named {listed(doubled)}; give each a name of its own.")


# --- Parquet --------------------------------------------------------------------------------------------------------


def read_parquet(path: Path) -> pd.DataFrame:
    """A Parquet file; integers beside missing cells stay integers."""
    try:
        from pyarrow import parquet
    except ImportError as error:
        advice = "`pip install pyarrow`, or save it as CSV."
        raise TableError(f"{path} is a Parquet file and pyarrow is not installed; {advice}") from error
    if not path.is_file():
        raise TableError(f"{path} is a pipe, from which Parquet cannot be read; save it to a file first.")
    try:
        refuse_doubled(path, parquet.read_schema(path).names)
        frame = parquet.read_table(path).to_pandas(integer_object_nulls=True)
    except TableError:
        raise
    except Exception as error:  # of pyarrow, or of what it makes of damaged metadata
        raise TableError(f"{path} is not a Parquet file that can be read; save it again, or as CSV.") from error
    frame.columns = pd.Index([str(name) for name in frame.columns], dtype=object)  # as the file names them
    return frame


def parquet_files(path: Any) -> Any:
    """A Parquet file, or a folder of them in the order of their names, with the types that hold all that they hold."""
    from pyarrow import dataset, unify_schemas

    settings = {"format": "parquet", "partitioning": "hive"}
    files = dataset.dataset(path, **settings)
    each = [files.schema, *(file.physical_schema for file in files.get_fragments())]
    return dataset.dataset(path, unify_schemas(each, promote_options="permissive"), **settings)


def parquet_pieces(path: Any, rows: int | None = None, columns: list[Any] | None = None) -> Iterator[pd.DataFrame]:
    """Row group by row group, for Arrow left to itself reads ahead until the whole file is in memory."""
    from pyarrow.dataset import ParquetFragmentScanOptions

    table = parquet_files(path)
    unbuffered = ParquetFragmentScanOptions(pre_buffer=False)
    for file in table.get_fragments():
        for group in file.split_by_row_group():
            found = group.to_batches(
                table.schema, columns=columns, batch_size=rows or ROWS, fragment_scan_options=unbuffered
            )
            yield from (batch.to_pandas() for batch in found)


def is_large(path: Path) -> bool:
    """Whether a file is read in pieces."""
    try:
        if not path.is_file() or path.suffix not in PARQUET:
            return path.is_file() and path.stat().st_size > LARGE
        from pyarrow import parquet

        found = parquet.ParquetFile(path).metadata
        return sum(found.row_group(i).total_byte_size for i in range(found.num_row_groups)) > LARGE
    except Exception:  # the error is raised when the file is read
        return False
