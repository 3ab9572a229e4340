"""The column contract of a table: what each column is, and how its cells become those of a model."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd

from ..core.pytrees import record
from .number_text import NumberFormat, looks_like_number

FEW_ROWS = 20  # below, no column is taken for an identifier, and no share for a difference
ROLES = ("numbers", "counts", "yes/no", "levels")
"""What a column that is used can be."""


@record
@dataclass(frozen=True)
class Column:
    """One column of a table.

    Fields
    ------
    name : as in the table
    role : "numbers", "counts" (whole and not negative), "yes/no" (0 and 1), "levels", "dropped" or "target"
    why : the reason for the role
    distinct : number of different values; for numbers in long tables, of the first 50,000 rows
    missing : share of cells without a value
    example : the first value
    warning : a possible problem of the column; "" if there is none
    written : how numbers are written as text; None if the cells are numbers already
    words : text among numbers that is read as a missing cell
    low, high : smallest and largest number, also of levels that are numbers; None if there is none
    levels : the different values of a column of levels, as text; empty if there are more than 100
    """

    name: str
    role: str
    why: str
    distinct: int
    missing: float
    example: str
    warning: str = ""
    written: NumberFormat | None = None
    words: tuple[str, ...] = ()
    low: float | None = None
    high: float | None = None
    levels: tuple[str, ...] = ()


@record
@dataclass(frozen=True)
class ColumnContract:
    """How each column of a table is used, and why; `describe` returns it.

    Fields
    ------
    columns : one `Column` for each column of the table, in its order
    rows : rows of the table
    target : name of the column of labels; None if none was named
    notes : possible problems of the target, one sentence each

    Examples
    --------
    >>> import bayesnb, pandas as pd
    >>> table = pd.DataFrame({"price": ["1,5 €", "12,25 €"], "size": [3, 4], "kind": ["a", "b"]})
    >>> contract = bayesnb.describe(table, target="kind")
    >>> contract["price"].role, str(contract["price"].written)
    ('numbers', 'decimal comma, currency €')
    >>> contract.apply(table)["price"].tolist()
    [1.5, 12.25]
    """

    columns: tuple[Column, ...]
    rows: int
    target: str | None = None
    notes: tuple[str, ...] = ()

    def __getitem__(self, name: Any) -> Column:
        return next(column for column in self.columns if column.name == name)

    @property
    def used(self) -> tuple[Column, ...]:
        """The columns that a model uses."""
        return tuple(column for column in self.columns if column.role in ROLES)

    @property
    def dropped(self) -> tuple[Column, ...]:
        """The columns that are left out."""
        return tuple(column for column in self.columns if column.role == "dropped")

    def to_frame(self) -> pd.DataFrame:
        """A data frame with one row a column: role, why, distinct values, missing share, example and warning."""
        names = ["role", "why", "distinct", "missing", "example", "warning"]
        rows = [[getattr(column, name) for name in names] for column in self.columns]
        return pd.DataFrame(rows, columns=names, index=pd.Index([c.name for c in self.columns], name="column"))

    def to_dict(self) -> dict[str, Any]:
        """The contract as plain numbers and text, for JSON, which has no infinity: such a bound is None."""
        found = asdict(self)
        for column in found["columns"]:
            column |= {end: None for end in ("low", "high") if abs(column[end] or 0) == np.inf}
        return found

    def apply(self, table: Any) -> pd.DataFrame:
        """The columns that a model uses, in the order of the contract, with cells as a model takes them.

        Numbers become floats. Levels that are numbers become a categorical. All other cells stay as they are.

        Raises
        ------
        ValueError
            if a column is missing, or if a cell in a column of numbers cannot be read as a number. The message names
            the column
        """
        table = pd.DataFrame(table)
        if missing := [repr(column.name) for column in self.used if column.name not in table.columns]:
            raise ValueError(f"`table` has no column {', '.join(missing)}; add it, because the contract needs it")
        changed = {c.name: to_numbers(table[c.name], c) for c in self.used if needs_numbers(c, table[c.name])}
        changed |= {c.name: to_levels(table[c.name]) for c in self.used if c.role == "levels" and c.low is not None}
        names = [column.name for column in self.used]
        found = table if names == list(table.columns) else table[names]
        return found.assign(**changed) if changed else found

    def differences(self, table: Any) -> list[str]:
        """How another table differs from this one, one sentence for each difference; an empty list if there is none.

        It lists new columns, new levels, numbers outside the known range, and columns with far more missing cells. All
        columns of the contract must be present.
        """
        table = pd.DataFrame(table)
        known = {column.name for column in self.columns} | {self.target}
        found = []
        if new := [repr(name) for name in table.columns if name not in known and name != "Unnamed: 0"]:
            what = ", ".join(new[:8]) + " …" * (len(new) > 8)
            found.append(f"columns that the model was not fitted to are ignored: {what}.")
        applied = self.apply(table)
        for column in self.used:
            cells = applied[column.name]
            gaps = float(cells.isna().mean())
            if gaps > column.missing + 0.2 and len(table) >= FEW_ROWS:
                found.append(
                    f"column {column.name!r}: {gaps:.0%} of the cells are missing, but {column.missing:.0%} in the "
                    "training rows."
                )
            if column.levels:
                known = set(column.levels if column.low is None else map(level, column.levels))
                new_levels = [
                    one
                    for one in cells.dropna().unique().tolist()
                    if one not in known and str(one if isinstance(one, str) else level(one)) not in column.levels
                ]
                if new_levels:
                    what = ", ".join(map(repr, new_levels[:3]))
                    found.append(
                        f"column {column.name!r}: levels that are not in the training rows ({what}), in "
                        f"{int(cells.isin(new_levels).sum())} rows."
                    )
            elif far := int(_far(column, cells).sum()):
                found.append(
                    f"column {column.name!r}: {far} rows lie far outside of {column.low:g} to {column.high:g}, the "
                    "range of the training rows."
                )
        return found

    def far_columns(self, applied: pd.DataFrame) -> list[str]:
        """A note for each row of `apply`: its numbers beyond the training range by more than that range; "" if none."""
        notes = np.full(len(applied), "", object)
        for column in self.used:
            if column.role != "levels" and (far := _far(column, applied[column.name])).any():
                what = f"column {column.name!r} lies far outside of {column.low:g} to {column.high:g}"
                notes[far] = [f"{note}; {what}" if note else what for note in notes[far]]
        return list(notes)

    def summary(self, most: int | None = None) -> str:
        """The contract as a readable table; after `most` columns, those without a warning are only counted."""
        noted = [bool(c.warning) or c.role == "dropped" for c in self.columns]
        kept = np.argsort(np.logical_not(noted), kind="stable")[:most]  # those with a note first
        shown = [c for i, c in enumerate(self.columns) if i in kept]
        rows = [("column", "role", "distinct", "missing", "example", "why")]
        for c in shown:
            why = c.why + (f"; {c.warning}" if c.warning else "")
            rows.append((_short(c.name), c.role, str(c.distinct), f"{c.missing:.0%}", _short(c.example), why))
        widths = [max(len(row[k]) for row in rows) for k in range(5)]
        lines = []
        for row, mark in zip(rows, [" ", *("!" if c.warning else " " for c in shown)], strict=True):
            cells = (
                text.rjust(width) if k in (2, 3) else text.ljust(width)
                for k, (text, width) in enumerate(zip(row, widths, strict=False))
            )
            lines.append(f"{mark} {'  '.join(cells)}  {row[5]}".rstrip())
        if left := [c for i, c in enumerate(self.columns) if i not in kept]:
            counted = ", ".join(
                f"{n} {role}" for role in (*ROLES, "dropped", "target") if (n := sum(c.role == role for c in left))
            )
            lines.append(f"  … and {len(left)} more columns ({counted})")
        return "\n".join([*lines, *(f"! {note}" for note in self.notes)])

    def __str__(self) -> str:
        return self.summary()


def needs_numbers(column: Column, cells: pd.Series) -> bool:
    """Whether the cells of a column have to be made numbers."""
    return column.role != "levels" and not pd.api.types.is_numeric_dtype(cells)


def _far(column: Column, cells: pd.Series) -> np.ndarray:
    """Whether each cell is a number beyond the training range by more than the length of that range, (n,)."""
    if column.low is None or column.high is None:
        return np.zeros(len(cells), bool)
    numbers = pd.to_numeric(cells, errors="coerce").to_numpy(float, na_value=np.nan)
    margin = column.high - column.low
    return (numbers < column.low - margin) | (numbers > column.high + margin)


def level(cell: Any) -> Any:
    """A level as it is compared: numbers, also those in text, as Python's own, and whole ones as integers.

    Floats stand for integers beside missing cells, and text for numbers beside words.
    """
    if isinstance(cell, str):
        number = NumberFormat().number(cell)
        if np.isnan(number):
            return {"True": True, "False": False}.get(cell, cell)
        return int(cell) if cell.strip().lstrip("+-").isdigit() else level(number)
    if isinstance(cell, float | Decimal):
        number = float(cell)
        return int(number) if number.is_integer() and abs(number) < 2**53 else number
    return cell


def read_levels(known: pd.Series) -> tuple[list[str], float | None, float | None]:
    """The levels that occur, as text and sorted, and the smallest and the largest where all are numbers."""
    values = known.unique().tolist()
    if not all(isinstance(one, Real | Decimal) for one in values):
        return sorted(map(str, values)), None, None
    return [*map(str, sorted(map(level, values)))], float(min(values)), float(max(values))


def to_levels(cells: pd.Series) -> pd.Series:
    """Numbers as a categorical, whose levels are the numbers that occur and not the codes 0 … max."""
    if isinstance(cells.dtype, pd.CategoricalDtype):
        return cells
    codes, distinct = pd.factorize(cells)
    known = pd.Categorical([*map(level, distinct.tolist()), None])
    return pd.Series(known.take(codes), cells.index, name=cells.name)


def to_numbers(cells: pd.Series, column: Column) -> pd.Series:
    """Text as numbers, in the format of the column; cells that the contract reads as missing become NaN.

    Raises
    ------
    ValueError
        if a cell is a number in another format, or no number where the contract knows of none such
    """
    if cells.dtype.kind == "M" or column.why.startswith("date"):
        return to_days(cells, column.name)
    form = column.written or NumberFormat()
    codes, distinct = pd.factorize(cells)
    words = list(map(str, distinct))
    values = np.array(
        [*(float(one) if isinstance(one, bool | np.bool_) else form.number(str(one)) for one in distinct), np.nan]
    )
    for word, value in zip(words, values, strict=False):
        if np.isnan(value) and looks_like_number(word):
            how = str(form) or "decimal point"
            raise ValueError(
                f"column {column.name!r} holds {word!r}, which is not a number in the format of the other cells "
                f"({how}); write all cells in the same format, or give the separators with --decimal and --thousands "
                "(decimal=, thousands=)"
            )
        if np.isnan(value) and word.strip() and word.strip() not in column.words:
            raise ValueError(f"column {column.name!r} holds {word!r}; the model was fitted to numbers there.")
    return pd.Series(values[codes], cells.index, name=cells.name)


def to_days(cells: pd.Series, name: Any) -> pd.Series:
    """Dates as days since 1970; dates written as text need to be YYYY-MM-DD."""
    try:
        dates = pd.to_datetime(cells, format=None if cells.dtype.kind == "M" else "ISO8601", utc=True)
    except (ValueError, TypeError) as error:
        raise ValueError(
            f"column {name!r} holds dates that are not written YYYY-MM-DD; write them in this form, or use "
            f"{name}=levels"
        ) from error
    return (dates - pd.Timestamp(0, tz="UTC")) / pd.Timedelta(days=1)


def requested_roles(columns: Mapping[str, str] | None) -> dict[Any, str]:
    """The roles that the user named, checked."""
    found = dict(columns or {})
    for name, role in found.items():
        if role not in (*ROLES, "drop"):
            raise ValueError(f"`columns` has {role!r} for {name!r}; choose one of {', '.join(ROLES)} and drop")
    return found


def _short(text: str, most: int = 24) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
