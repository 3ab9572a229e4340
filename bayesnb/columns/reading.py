"""A user's file as a data frame: text with any delimiter, or Parquet. No cell is misread in silence.

Numbers are parsed by pandas' C parser straight from the file. The first rows are also read as text, which shows what
the parser would hide: zeros in front of a code, and numbers such as 15.018 that may be fifteen thousand. All rows of a
longer file are searched for the same (`scanning`). Columns that show either stay text, for `describe` to decide.
"""

import codecs
import csv
import io
import re
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from .scanning import columns_that_hide

PARQUET = (".parquet", ".pq")
MISSING = [
    *("", "NA", "N/A", "n/a", "<NA>", "NULL", "null", "None", "NaN", "nan", "-NaN", "-nan"),
    *("1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN", "#NA", "#N/A", "#N/A N/A"),
    *("#DIV/0!", "#VALUE!", "#REF!", "#NAME?", "#NUM!", "#NULL!"),
]
"""Cells without a value: those of pandas, and what Excel writes into a cell that it cannot compute."""

_HEAD = 1 << 20  # bytes in which header and first row are looked for
_SAMPLE = 1000  # rows that are read as text, too
_SEARCHED = 1 << 16  # rows of a column that is searched for codes, at a time
_CODE = re.compile(r"0\d+", re.ASCII)
_OPEN = re.compile(r"[+-]?[1-9]\d{0,2}\.\d{3}", re.ASCII)  # fifteen or fifteen thousand
_POINT = re.compile(r"[+-]?\d*\.\d+([eE][+-]?\d+)?", re.ASCII)
_PLAIN = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|true|false", re.ASCII | re.IGNORECASE)
_HIDDEN = re.compile(r"0\d+|[+-]?[1-9]\d{0,2}\.000", re.ASCII)  # a number does not show that its cell was written so


class TableError(ValueError):
    """Raised if a table cannot be used; the message states what was found, where, and what to do."""


def listed(names: Iterable[Any], most: int = 8) -> str:
    """The names in quotes, the first few of many; "none" of no names."""
    quoted = [repr(name) for name in names]
    more = f" and {len(quoted) - most} more" if len(quoted) > most else ""
    return (", ".join(quoted[:most]) or "none") + more


class TextFile:
    """A delimited text file: how it is written, and how its columns are read.

    Parameters
    ----------
    path : the file
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
        self.content: bytes | None = None
        """What came through a pipe, which can be read only once."""
        try:
            if not path.is_file():
                self.content = path.read_bytes()
            with self._open() as file:
                head = file.read(_HEAD)
        except OSError as error:
            raise TableError(f"{path} cannot be read ({error.strerror}).") from error
        self.encoding = encoding or (
            "utf-16" if head[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE) else "utf-8-sig"
        )
        if head.startswith(b"PAR1"):
            raise TableError(f"{path} is Parquet; save it as a file whose name ends with .parquet.")
        try:
            " ".encode(self.encoding)  # refuses codecs of no text, such as base64
            start = codecs.getincrementaldecoder(self.encoding)().decode(head)
        except UnicodeError as error:
            raise self._no_table(error) from None
        except LookupError as error:
            raise TableError(
                f"there is no encoding {encoding!r}; common ones are utf-8, latin-1 and cp1252."
            ) from error
        if not start.strip():
            raise TableError(f"{path} is empty; it needs a header and rows.")
        first_line = start.lstrip().partition("\n")[0]
        # the header decides: cells may hold commas
        self.sep = {"tab": "\t", "\\t": "\t"}.get(sep or "", sep) or max(",;\t|", key=first_line.count)
        self.points_decide = decimal == "."
        self.points_group = thousands == "." or decimal not in (None, ".")
        try:
            rows = (row for row in csv.reader(io.StringIO(start), delimiter=self.sep) if row)
            self.header, first = [name.strip() for name in next(rows)], next(rows, [])
            self.names = self._parsed(nrows=0).columns
            sample = self._parsed(nrows=_SAMPLE, dtype=str)
        except (csv.Error, ValueError, TypeError) as error:
            raise self._no_table(error) from error
        if len(first) > len(self.header):  # pandas would take the surplus for row names
            raise TableError(
                f"{path} has {len(self.header)} cells in the header and {len(first)} in the first row; name all "
                "columns in the header."
            )
        refuse_doubled(path, self.header)
        wanted = set(text)
        self.types = {name: str for name in self.names if name.strip() in wanted}
        self.settled: set[str] = set()
        """Columns that show a decimal point."""
        self.late: dict[str, tuple[str, int]] = {}
        """The first cell such as 007 or 15.000, and its row, of each column that shows none in the first rows."""
        words = set()
        for name in sample.columns[~sample.columns.isin(list(self.types))]:
            if pd.api.types.is_numeric_dtype(sample[name]):  # without a value
                continue
            cells = [cell.strip() for cell in sample[name].dropna().unique()]
            if not all(map(_PLAIN.fullmatch, cells)):
                words.add(name)
            if any(map(_CODE.fullmatch, cells)) and all(map(str.isdigit, cells)):
                self.types[name] = str
            points = [cell for cell in cells if _POINT.fullmatch(cell)]
            open_ = not self.points_decide and all(map(_OPEN.fullmatch, points))
            if points and (self.points_group or open_):
                self.types[name] = str
            elif points:
                self.settled.add(name)
        if len(sample) == _SAMPLE:
            try:
                self._search([name for name in self.names if name not in {*self.types, *self.settled, *words}])
            except (csv.Error, ValueError) as error:
                raise self._no_table(error) from error

    def _search(self, numbers: list[str]) -> None:
        """Let those columns of numbers be text that show only below the first rows how their cells are written."""
        if not numbers:
            return
        with self._open() as file, io.TextIOWrapper(file, self.encoding) as lines:
            found = columns_that_hide(lines, self.sep, len(self.names))
        if not (suspects := [self.names[j] for j in sorted(found) if self.names[j] in numbers]):
            return
        with self._parsed(chunksize=_SEARCHED, usecols=suspects, dtype=str) as pieces:
            for piece in pieces:
                for name in {*suspects} - {*self.types}:
                    cells = piece[name].dropna().astype(str).str.strip()
                    if cell := next(filter(_HIDDEN.fullmatch, cells.unique()), None):
                        self.types[name], self.late[name.strip()] = str, (cell, int((cells == cell).idxmax()))
                if {*suspects} <= {*self.types}:
                    return

    @property
    def clear(self) -> str | None:
        """The decimal separator that a column shows; None where none does."""
        return "." if self.settled else None

    def _open(self) -> io.BytesIO | io.BufferedReader:
        """The bytes of the file, from the first on."""
        return self.path.open("rb") if self.content is None else io.BytesIO(self.content)

    def _parsed(self, **given: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", pd.errors.DtypeWarning)  # `frame` looks for it itself
            return pd.read_csv(
                self.path if self.content is None else io.BytesIO(self.content),  # pandas reads a path in threads
                sep=self.sep,
                encoding=self.encoding,
                skipinitialspace=True,
                na_values=MISSING,
                keep_default_na=False,
                compression=None,
                **given,
            )

    def frame(self) -> pd.DataFrame:
        """All rows."""
        try:
            return self._finished(self._parsed(dtype=self.types))
        except (csv.Error, ValueError) as error:
            raise self._no_table(error) from error

    def pieces(self, rows: int, columns: list[str] | None = None) -> Iterator[pd.DataFrame]:
        """The rows, or some columns of them, so many at a time."""
        wanted = None if columns is None else [name for name in self.names if name.strip() in columns]
        types = {name: kind for name, kind in self.types.items() if wanted is None or name in wanted}
        with self._parsed(chunksize=rows, dtype=types, usecols=wanted) as found:
            try:
                yield from map(lambda piece: _trimmed(piece).rename(columns=str.strip), found)
            except (csv.Error, ValueError) as error:
                raise self._no_table(error) from error

    def unsettled(self, piece: pd.DataFrame) -> str:
        """The first column whose fractions may all be thousands; "" where there is none."""
        settled = {name.strip() for name in self.settled}
        for name in piece.columns:
            cells = piece[name]
            if cells.dtype.kind == "f" and name not in settled and self._may_be_grouped(cells.to_numpy()):
                return str(name)
        return ""

    def _finished(self, frame: pd.DataFrame) -> pd.DataFrame:
        """The table with those columns read again as text of which the parser has lost something."""
        mixed, rounded = [], []
        for name in frame.columns[~frame.columns.isin(list(self.types))]:
            cells = frame[name]
            if cells.dtype.kind == "O" and pd.api.types.infer_dtype(cells).startswith("mixed"):
                mixed.append(name)  # a word after the first million cells
            elif cells.dtype.kind == "f" and _is_rounded(cells):
                rounded.append(name)
            elif cells.dtype.kind == "f" and name not in self.settled:
                if self._may_be_grouped(cells.to_numpy()):
                    mixed.append(name)
                elif (cells % 1 > 0).any():
                    self.settled.add(name)
        if mixed or rounded:
            text = self._parsed(usecols=[*mixed, *rounded], dtype=dict.fromkeys([*mixed, *rounded], str))
            for name in mixed:
                frame[name] = text[name]
            for name in rounded:
                cells = text[name].str.strip()
                if cells.dropna().str.fullmatch(r"[+-]?\d+").all():  # else the file has floats, too
                    frame[name] = pd.array([int(cell) if cell == cell else None for cell in cells], dtype="Int64")
        return _trimmed(frame).rename(columns=str.strip)

    def _may_be_grouped(self, values: np.ndarray) -> bool:
        """Whether each fraction may be a number of thousands, as 15.018 may be; the text then decides."""
        if self.points_decide:
            return False
        parts = values[np.isfinite(values) & (values != np.floor(values))]
        if not len(parts) or self.points_group:
            return bool(len(parts))
        size = abs(parts)
        return bool(((size >= 1) & (size < 1000)).all() and (abs(size * 1000 - np.round(size * 1000)) < 1e-6).all())

    def _no_table(self, error: Exception) -> TableError:
        """What is wrong with a file that the parser does not take: it may have stumbled over bytes that are no text."""
        name, at = self.encoding.removesuffix("-sig"), 0
        decoder = codecs.getincrementaldecoder(name)()
        with self._open() as file:
            piece = b"\n"
            while piece:
                piece, waiting = file.read(_HEAD), len(decoder.getstate()[0])
                try:
                    decoder.decode(piece, final=not piece)
                except UnicodeDecodeError as bad:
                    return TableError(
                        f"{self.path} is not text in {name.upper()} (byte {at + bad.start - waiting} is not part of a "
                        "character); save it as CSV in UTF-8, or Parquet, or name its --encoding, such as cp1252 "
                        "(encoding='cp1252')."
                    )
                except UnicodeError as bad:
                    return TableError(
                        f"{self.path} is not text in {name.upper()} ({bad}); name its --encoding, such as utf-8 or "
                        "utf-16-le (encoding='utf-16-le')."
                    )
                at += len(piece)
        found = str(error).strip().removeprefix("Error tokenizing data. C error: ")
        return TableError(f"{self.path} is not a table ({found}); every row needs as many cells as the header.")


def _trimmed(frame: pd.DataFrame) -> pd.DataFrame:
    """The table without blanks around the text of its cells; in front of it, the parser skips them itself."""
    for name in frame.columns:
        if frame[name].dtype.kind != "O" or pd.api.types.infer_dtype(frame[name]) != "string":
            continue
        codes, found = pd.factorize(frame[name])
        distinct = pd.Series(found)
        short = distinct.str.strip()
        if (short != distinct).any():
            cells = short.mask(short.isin(MISSING)).reindex(codes)  # the code of a missing cell is -1
            frame[name] = cells.set_axis(frame.index)
    return frame


def _is_rounded(cells: pd.Series) -> bool:
    """Whether whole numbers became floats beside a missing cell, although floats do not hold all of them."""
    values = cells.to_numpy()
    most = np.nanmax(abs(values), initial=0)
    if not 2**53 <= most < 2**63:
        return False
    known = values[~np.isnan(values)]
    return bool((known == np.floor(known)).all())


def refuse_doubled(path: Path, names: list[str]) -> None:
    """Raise a TableError that names columns of one name."""
    if doubled := sorted({name for name in names if names.count(name) > 1}):
        raise TableError(f"{path} has more than one column named {listed(doubled)}; give each a name of its own.")


def read_parquet(path: Path, columns: list[str] | None = None) -> pd.DataFrame:
    """A Parquet file; integers beside missing cells become floats where these hold them exactly."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as error:
        raise TableError(
            f"{path} is a Parquet file and pyarrow is not installed; `pip install pyarrow`, or save it as CSV."
        ) from error
    if not path.is_file():
        raise TableError(f"{path} is a pipe, from which Parquet cannot be read; save it to a file first.")
    exact = {getattr(pyarrow, name.lower())(): getattr(pd, f"{name}Dtype")() for name in ("Int64", "UInt64")}
    try:
        refuse_doubled(path, parquet.read_schema(path).names)
        table = parquet.read_table(path, columns=columns)
        gaps = [field.name for field in table.schema if field.type in exact and table[field.name].null_count]
        frame = table.to_pandas()
        for name in gaps:
            cells = table.select([name]).to_pandas(types_mapper=exact.get)[name]
            if not cells.dropna().between(-(2**53), 2**53).all():  # else as pandas reads them
                frame[name] = cells.array
    except TableError:
        raise
    except Exception as error:  # of pyarrow, or of what it makes of damaged metadata
        raise TableError(f"{path} is not a Parquet file that can be read; save it again, or as CSV.") from error
    frame.columns = pd.Index([str(name) for name in frame.columns], dtype=object)  # as the file names them
    return frame
