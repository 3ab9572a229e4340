"""What the columns of a table are: the role of each, why, and how its cells become numbers or levels.

A wrong role costs more than a question. Columns that name the row (identifiers, names, dates) are therefore left out
unless the user asks for them, and numbers that can be read in two ways raise an error.
"""

from dataclasses import asdict, dataclass, replace
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd

from .core.pytrees import record
from .number_text import NumberFormat, is_code, looks_like_number
from .tables import TRUTH

FEW_ROWS = 20  # below, no column is taken for an identifier, and no share for a difference
ROLES = ("numbers", "counts", "yes/no", "levels")
"""What a column that is used can be."""

LISTED = 100  # levels that a contract keeps


def shorten(value: Any, most: int = 28) -> str:
    """A value as text, a long one cut."""
    shown = f"{value:.6g}" if isinstance(value, float | np.floating) else str(value)
    return shown if len(shown) <= most else f"{shown[: most - 1]}…"


class CellError(ValueError):
    """A cell that a column of its contract cannot hold."""

    def __init__(self, name: str, cells: pd.Series, bad: Any, rest: str) -> None:
        at = int(np.asarray(bad).argmax())
        self.row = cells.index[at]
        super().__init__(f"column {name!r} holds {str(cells.iloc[at]).strip()!r}{rest}")


# --- the contract ---------------------------------------------------------------------------------------------------


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
        for column in self.columns:
            if column.name == name:
                return column
        raise KeyError(f"there is no column {name!r}; the columns are {', '.join(c.name for c in self.columns)}")

    @property
    def used(self) -> tuple[Column, ...]:
        """The columns that a model uses."""
        return tuple(column for column in self.columns if column.role in ROLES)

    @property
    def dropped(self) -> tuple[Column, ...]:
        """The columns that are left out."""
        return tuple(column for column in self.columns if column.role == "dropped")

    @property
    def text(self) -> set[str]:
        """The names of columns whose cells are read as text: numbers written as text, and levels that are text."""
        return {c.name for c in self.used if c.written or (c.role == "levels" and c.low is None)}

    @property
    def cautions(self) -> list[str]:
        """What to look at before a model is trusted, a sentence each: first the target, then the columns."""
        said = [note.rstrip(".") for note in self.notes]
        for c in self.columns:
            left = f" is left out: {c.why}" if c.role == "dropped" else ""
            said += [f"column {c.name!r}{left}{'; ' if left else ': '}{c.warning.rstrip('.')}"] if c.warning else []
        return [f"{sentence[:1].upper()}{sentence[1:]}." for sentence in said]

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
        names = [column.name for column in self.used]
        if missing := [repr(name) for name in names if name not in table.columns]:
            one, them = ("column", "it") if len(missing) == 1 else ("columns", "them")
            raise ValueError(f"`table` has no {one} {', '.join(missing)}, which the model was fitted to; add {them}")
        return read_cells(self, table if names == list(table.columns) else table[names])

    def differences(self, table: Any) -> list[str]:
        """How another table differs from this one, one sentence for each difference; an empty list if there is none.

        It lists new columns, new levels, numbers outside the known range, and columns with far more missing cells. All
        columns of the contract must be present.
        """
        table = pd.DataFrame(table)
        names = {column.name for column in self.columns} | {self.target, "Unnamed: 0"}
        found = []
        if new := [repr(name) for name in table.columns if name not in names]:
            what = ", ".join(new[:8]) + " …" * (len(new) > 8)
            found.append(f"columns that the model was not fitted to are ignored: {what}.")
        applied = self.apply(table)
        for column in self.used:
            cells, where = applied[column.name], f"column {column.name!r}"
            gaps = float(cells.isna().mean())
            if gaps > column.missing + 0.2 and len(table) >= FEW_ROWS:
                found.append(
                    f"{where}: {gaps:.0%} of the cells are missing, but {column.missing:.0%} in the training rows."
                )
            if column.levels:
                new = [
                    one for one in cells.dropna().unique().tolist() if str(to_level(one, column)) not in column.levels
                ]
                if new:
                    what, n = ", ".join(map(repr, new[:3])), int(cells.isin(new).sum())
                    found.append(f"{where}: levels that are not in the training rows ({what}), in {n} rows.")
            elif far := int(_far(column, cells).sum()):
                span = f"{column.low:g} to {column.high:g}, the range of the training rows."
                found.append(f"{where}: {far} rows lie far outside of {span}")
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
        """The contract as a readable table; after `most` columns, those without a note are only counted."""
        noted = [bool(c.warning) or c.role in ("dropped", "target") for c in self.columns]
        kept = np.argsort(np.logical_not(noted), kind="stable")[:most]
        shown = [c for i, c in enumerate(self.columns) if i in kept or c.role == "target"]
        rows = [(" ", "column", "role", "distinct", "missing", "example", "why")]
        for c in shown:
            name, example = (text if len(text) <= 24 else f"{text[:23]}…" for text in (c.name, c.example))
            why = c.why + (f"; {c.warning}" if c.warning else "")
            rows.append(("!" if c.warning else " ", name, c.role, str(c.distinct), f"{c.missing:.0%}", example, why))
        wide = [max(len(row[k]) for row in rows) for k in range(6)]
        lines = [
            f"{mark} {name:{wide[1]}}  {role:{wide[2]}}  {n:>{wide[3]}}  {gaps:>{wide[4]}}  {cell:{wide[5]}}  {why}"
            for mark, name, role, n, gaps, cell, why in rows
        ]
        if left := [c.role for c in self.columns if c not in shown]:
            counted = ", ".join(f"{left.count(role)} {role}" for role in (*ROLES, "dropped") if role in left)
            lines.append(f"  … and {len(left)} more columns ({counted})")
        return "\n".join([*map(str.rstrip, lines), *(f"! {note}" for note in self.notes)])

    def __str__(self) -> str:
        return self.summary()


def read_cells(contract: ColumnContract, table: pd.DataFrame) -> pd.DataFrame:
    """The table with the cells of its used columns as a model takes them; all columns, in the order they have."""
    changed = {}
    for column in contract.used:
        cells = table[column.name]
        if column.role != "levels":
            if not pd.api.types.is_numeric_dtype(cells):
                changed[column.name] = _to_numbers(cells, column)
        elif column.low is not None:
            changed[column.name] = to_levels(cells)
        elif pd.api.types.is_numeric_dtype(cells.dropna().infer_objects()):  # numbers where the levels are text
            changed[column.name] = cells.astype(object).map(lambda cell: str(to_level(cell)), na_action="ignore")
    return table.assign(**changed) if changed else table


def refuse_contradictions(contract: ColumnContract, piece: pd.DataFrame) -> None:
    """Raise a CellError on a cell, further down in the table, that its role has no place for."""
    for column in contract.columns:
        cells, bad = piece[column.name], None
        rest = f"; name its role with --columns {column.name}=ROLE, or leave it out with --drop {column.name}"
        if column.role == "dropped" and column.distinct <= 1 and column.why != "left out as asked":
            same = str(to_level(column.example))
            bad = cells.notna() & ~cells.isin([c for c in cells.unique().tolist() if str(to_level(c)) == same])
            rest = f", but the first rows {f'only {column.example}' if column.distinct else 'nothing'}{rest}"
        elif column.role == "yes/no" and pd.api.types.is_numeric_dtype(cells):
            bad, rest = ~(cells.isna() | cells.isin([0, 1])), f", but the first rows only 0 and 1{rest}"
        if bad is not None and bad.any():
            raise CellError(column.name, cells, bad, rest)


def widened(contract: ColumnContract, applied: pd.DataFrame) -> ColumnContract:
    """The contract after further rows, as `apply` gives them: with their ranges, and with their levels."""
    found = []
    for column in contract.columns:
        if column.low is not None and column.role in ROLES and len(known := applied[column.name].dropna()):
            numbers = known.astype(float).to_numpy()
            low, high = min(column.low, float(numbers.min())), max(column.high or 0, float(numbers.max()))
            column = replace(column, low=low, high=high)
        if column.levels:
            more = {str(to_level(one, column)) for one in applied[column.name].dropna().unique().tolist()}
            levels = sorted({*column.levels} | more, key=lambda one: to_level(one, column))
            column = replace(column, levels=tuple(levels) if len(levels) <= LISTED else ())
        found.append(column)
    return replace(contract, columns=tuple(found))


def _far(column: Column, cells: pd.Series) -> np.ndarray:
    """Whether each cell is a number beyond the training range by more than the length of that range, (n,)."""
    if column.low is None or column.high is None:
        return np.zeros(len(cells), bool)
    numbers, margin = pd.to_numeric(cells, errors="coerce").to_numpy(float), column.high - column.low
    return (numbers < column.low - margin) | (numbers > column.high + margin)


def to_level(cell: Any, column: Column | None = None) -> Any:
    """A level as it is compared: whole numbers as integers, and text beside levels that are numbers as numbers."""
    if isinstance(cell, str) and (column is None or column.low is not None):
        number = NumberFormat(".").number(cell)
        return TRUTH.get(cell.lower(), cell) if np.isnan(number) else int(cell) if cell.isdigit() else to_level(number)
    if isinstance(cell, float | Decimal) and float(cell).is_integer() and abs(float(cell)) < 2**53:
        return int(cell)
    return cell


def to_levels(cells: pd.Series) -> pd.Series:
    """Numbers as a categorical, whose levels are the numbers that occur and not the codes 0 … max."""
    if isinstance(cells.dtype, pd.CategoricalDtype):
        return cells
    codes, distinct = pd.factorize(cells)
    known = pd.Categorical([*map(to_level, distinct.tolist()), None])
    return pd.Series(known.take(codes), cells.index, name=cells.name)


def _to_numbers(cells: pd.Series, column: Column) -> pd.Series:
    """Text as numbers, in the format of the column; cells that the contract reads as missing become NaN."""
    if cells.dtype.kind == "M" or column.why.startswith("date"):
        return to_days(cells, column.name)
    form = column.written or NumberFormat(".")
    codes, distinct = pd.factorize(cells)
    words = [str(cell).strip() for cell in distinct]
    values = [float(TRUTH.get(word.lower(), form.number(word))) for word in words]
    ask = f"give --columns {column.name}=levels or {column.name}=numbers"
    for k, (word, value) in enumerate(zip(words, values, strict=True)):
        if np.isnan(value) and looks_like_number(word):
            how: str = f"which is not a number in the format of the other cells ({str(form) or 'decimal point'})"
            advice = "write all cells in one format, or give --decimal and --thousands (decimal=, thousands=)"
            raise CellError(column.name, cells, codes == k, f", {how}; {advice}")
        if np.isnan(value) and word and word not in column.words:
            raise CellError(column.name, cells, codes == k, "; the model was fitted to numbers there")
        if is_code(word) and column.why != "as asked" and all(map(str.isdigit, words)):
            raise CellError(column.name, cells, codes == k, f", a code or a number; {ask}")
    return pd.Series(np.array([*values, np.nan])[codes], cells.index, name=cells.name)


def to_days(cells: pd.Series, name: Any) -> pd.Series:
    """Dates as days since 1970; dates written as text need to be YYYY-MM-DD."""
    try:
        dates = pd.to_datetime(cells, format=None if cells.dtype.kind == "M" else "ISO8601", utc=True)
    except (ValueError, TypeError) as error:
        advice = f"write them in this form, or use {name}=levels"
        raise ValueError(f"column {name!r} holds dates that are not written YYYY-MM-DD; {advice}") from error
    return (dates - pd.Timestamp(0, tz="UTC")) / pd.Timedelta(days=1)
