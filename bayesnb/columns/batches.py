"""A large file piece by piece, every piece under the contract of the first: memory is that of one piece.

Pieces go through `map`: a generator would hold the piece that it has given while the next is read.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from .reading import PARQUET, TableError, TextFile

LARGE = 1 << 30
"""Bytes of a table, of Parquet before compression, from which on it is fitted in batches."""

ROWS = 1 << 18
"""Rows of a batch."""


def is_large(path: Path) -> bool:
    """Whether a file is read in batches."""
    if not path.is_file():  # a pipe: it can be read only once
        return False
    try:
        if path.suffix in PARQUET:
            from pyarrow import parquet

            found = parquet.ParquetFile(path).metadata
            return sum(found.row_group(i).total_byte_size for i in range(found.num_row_groups)) > LARGE
        return path.stat().st_size > LARGE
    except Exception:  # the error is raised when the file is read
        return False


def _runs(rows: list[int]) -> Iterator[list[int]]:
    """Row groups that follow each other, with as many rows together as a batch where they are small."""
    run: list[int] = []
    for i, n in enumerate(rows):
        if run and sum(rows[j] for j in run) + n > ROWS:
            yield run
            run = []
        run.append(i)
    if run:
        yield run


def thousands_hint(name: str) -> str:
    """What to do about a column of numbers that may be thousands."""
    return f"which may be fifteen or fifteen thousand; give --decimal . or --thousands ., or --drop {name}."


def pieces_of(
    path: Path, text: list[str], given: dict[str, Any]
) -> tuple[Callable[..., Iterator[Any]], str | None, dict[str, tuple[str, int]]]:
    """What reads the file, or some of its columns, in pieces; `clear` and `late` of a text file."""
    if path.suffix in PARQUET:

        def groups(columns: list[str] | None = None) -> Iterator[pd.DataFrame]:
            import pyarrow
            from pyarrow import parquet

            file = parquet.ParquetFile(path, pre_buffer=False)
            for some in _runs([file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)]):
                # one pass over many row groups would keep some of each: memory would grow with the file
                yield from map(pyarrow.RecordBatch.to_pandas, file.iter_batches(ROWS, row_groups=some, columns=columns))

        return groups, None, {}
    file = TextFile(path, text, **given)

    def settled(piece: pd.DataFrame) -> pd.DataFrame:
        if open_ := file.unsettled(piece):
            raise TableError(f"{path}: column {open_!r} holds numbers such as 15.018, {thousands_hint(open_)}")
        return piece

    def parts(columns: list[str] | None = None) -> Iterator[pd.DataFrame]:
        found = file.pieces(ROWS, columns)
        return map(settled, found) if columns is None else found

    return parts, file.clear, file.late
