"""The column contract: the role of each column of a table, and how its cells become numbers or levels.

A cell such as "15,018" can be two numbers. A column as a whole usually settles it: "3,5" shows a decimal comma,
"1,234,567" shows thousands. If nothing settles it, an error asks, and nothing is guessed.
"""

import itertools
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from .core.pytrees import record

FEW_ROWS = 20  # below, no column is taken for an identifier or a constant, and a class is called rare
ROLES = ("numbers", "counts", "yes/no", "levels")
"""What a column that is used can be."""

EMPTY, CONSTANT = "no value in any row", "the same value in every row"
LISTED = 100  # levels that a contract keeps


def shorten(value: Any, most: int = 28) -> str:
    """A value as text, a long one cut."""
    shown = str(value)
    return shown if len(shown) <= most else f"{shown[: most - 1]}…"


def listed(names: Iterable[Any], most: int = 8) -> str:
    """The names in quotes, the first few of many; "none" of no names."""
    quoted = [shorten(repr(name), 60) for name in names]
    more = f" and {len(quoted) - most} more" if len(quoted) > most else ""
    return (", ".join(quoted[:most]) or "none") + more


# --- numbers written as text ----------------------------------------------------------------------------------------

_SIGN = r"%|[$€£¥₹]|CHF|EUR|USD|GBP"
_INFINITY = r"[+-]?(?i:inf|infinity)"
NUMBER = rf"[+-]?(?:{_SIGN})? ?[+-]?(?:[0-9][0-9.,' ]*|[.,][0-9]+)(?:[eE][+-]?[0-9]+)? ?(?:{_SIGN})?|{_INFINITY}"
_TWO_WAYS = r"[+-]?[1-9][0-9]{0,2}[.,][0-9]{3}"  # fifteen or fifteen thousand
TRUTH = "true or false"
_KEYBOARD = str.maketrans("\u00a0\u202f\u2019\u2212", "  '-")


@record
@dataclass(frozen=True)
class NumberFormat:
    """How the numbers of a column of text are written.

    Fields
    ------
    decimal : the decimal separator, "." or ","; "" if no cell has one
    thousands : what separates groups of three digits; "" if nothing does
    sign : the currency or percent sign beside the numbers, or "true or false"; "" if there is none
    """

    decimal: str = ""
    thousands: str = ""
    sign: str = ""

    @property
    def is_plain(self) -> bool:
        """Whether any parser reads such numbers."""
        return self.decimal != "," and not self.thousands and not self.sign

    def read(self, words: pd.Series) -> pd.Series:
        """The numbers that the words stand for; NaN if one stands for none in this format, or for two."""
        if self.sign == TRUTH:
            return words.str.lower().map({"true": 1.0, "false": 0.0}).astype(float)
        point, group = re.escape(self.decimal or "."), re.escape(self.thousands)
        whole = rf"[1-9][0-9]{{0,2}}(?:{group}[0-9]{{3}})+|[0-9]+" if group else "[0-9]+"
        digits = words.str.replace(rf" ?{re.escape(self.sign)} ?", "", regex=True) if self.sign else words
        number = rf"[+-]?(?:(?:{whole})(?:{point}[0-9]*)?|{point}[0-9]+)(?:[eE][+-]?[0-9]+)?|{_INFINITY}"
        fits = digits.str.fullmatch(number) & (bool(self.decimal) | ~digits.str.fullmatch(_TWO_WAYS))
        for mark, plain in ((self.thousands, ""), (self.decimal, ".")):
            digits = digits.str.replace(mark, plain, regex=False) if mark else digits
        return pd.to_numeric(digits.where(fits), errors="coerce").astype(float)


def number_format(
    words: pd.Series, decimal: str | None = None, thousands: str | None = None, clear: str | None = None
) -> NumberFormat | None:
    """The one format in which all words are numbers, or None if there is none.

    Parameters
    ----------
    words : text of numbers
    decimal, thousands : separators that the user has named
    clear : the decimal separator that other columns of the same table show, for columns that do not settle it

    Raises
    ------
    ValueError
        if the words can be read in two ways, or one of them in none with the separators that are named
    """
    if words.str.lower().isin(["true", "false"]).all():
        return NumberFormat(sign=TRUTH)
    signs = {*words.str.extract(rf"({_SIGN})", expand=False).fillna("")}
    if len(signs - {""}) > 1 or {"%", ""} <= signs:
        return None
    marks = [mark for mark in ",.' " if words.str.contains(rf"{re.escape(mark)}[0-9]").any()]
    pairs = itertools.product(decimal or (".," if marks else [""]), [thousands] if thousands else ["", *marks])
    forms = [NumberFormat(point, group, max(signs)) for point, group in pairs if not point or point != group]
    read = {form: form.read(words) for form in forms}
    fitting = [form for form, numbers in read.items() if numbers.notna().all()]
    if not fitting and (decimal or thousands):
        word = words[read[forms[0]].isna()].iloc[0]
        raise ValueError(f"{word!r} is no number with these separators; write all cells in one format")
    for form in fitting:
        if (two := read[form] != read[fitting[0]]).any():
            if chosen := [form for form in fitting if form.decimal == clear]:
                return chosen[0]
            word = words[two].iloc[0]
            mark = "." if "." in word else ","
            two_ways = f"{word.replace(mark, '')} or {word.replace(mark, '.')}, and no other cell decides it"
            raise ValueError(
                f"{word!r} may be {two_ways}; give --decimal {mark} or --thousands {mark}, "
                "in Python to `describe` or `read_table`"
            )
    return fitting[0] if fitting else None


def clean(words: pd.Series) -> pd.Series:
    """Words without blanks around them, and with the signs and blanks of a keyboard."""
    return words.str.translate(_KEYBOARD).str.strip()


# --- the contract ---------------------------------------------------------------------------------------------------


class CellError(ValueError):
    """A cell that a column of its contract cannot hold."""

    def __init__(self, name: str, cells: pd.Series, bad: Any, rest: str) -> None:
        at = int(np.asarray(bad).argmax())
        self.name, self.row = name, cells.index[at]
        super().__init__(f"column {name!r} holds {shorten(str(cells.iloc[at]).strip())!r}{rest}")


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
    low, high : smallest and largest finite number; None if there is none
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

    def read(self, cells: pd.Series) -> pd.Series:
        """Cells as a model takes them: numbers, or levels, which are text."""
        if self.role == "levels":
            return levels_of(cells)
        numbers = cells
        if not pd.api.types.is_numeric_dtype(cells):
            codes, distinct = pd.factorize(cells.astype(object).map(str, na_action="ignore"))
            words = clean(pd.Series(distinct, dtype="str"))
            values = (self.written or NumberFormat(".")).read(words)
            values = values if self.written else values.fillna(NumberFormat(sign=TRUTH).read(words))
            bad = values.isna() & (words != "") & ~words.isin(self.words) & (self.why != "as asked")
            if bad.any():
                rest = f", but the other cells numbers such as {self.example}" if self.example else ", not a number"
                raise CellError(self.name, cells, np.append(bad, False)[codes], f"{rest}; write all cells in one way")
            numbers = pd.Series(np.append(values, np.nan)[codes], cells.index, name=cells.name)
        if (bad := np.isinf(numbers.to_numpy(float, na_value=np.nan))).any():
            rest = ", infinity or too large for a float; leave the cell empty if its value is unknown"
            raise CellError(self.name, cells, bad, rest)
        return numbers

    def is_far(self, cells: pd.Series) -> np.ndarray:
        """Whether each cell is a number beyond the training range by more than the length of that range, (n,)."""
        if self.low is None or self.high is None:
            return np.zeros(len(cells), bool)
        numbers, margin = cells.to_numpy(float, na_value=np.nan), self.high - self.low
        return (numbers < self.low - margin) | (numbers > self.high + margin)

    def widened(self, cells: pd.Series) -> "Column":
        """The column after further cells, as `read` gives them: with their range, and with their levels."""
        if self.role == "levels" and len(self.levels) == self.distinct:
            levels = sorted({*self.levels, *cells.dropna().unique()})
            return replace(self, distinct=len(levels), levels=tuple(levels) if len(levels) <= LISTED else ())
        if self.low is None or self.high is None:
            return self
        return replace(self, low=float(np.fmin(self.low, cells.min())), high=float(np.fmax(self.high, cells.max())))


def levels_of(cells: pd.Series) -> pd.Series:
    """Cells as levels: text, in which a whole number has no point, however a file writes it."""
    if isinstance(cells.dtype, pd.CategoricalDtype):
        return cells.cat.rename_categories(levels_of(pd.Series(cells.cat.categories, dtype=object)).tolist())
    codes, distinct = pd.factorize(cells)
    words = [re.sub(r"^([+-]?[0-9]+)\.0$", r"\1", str(one)) for one in distinct]
    return pd.Series(np.array([*words, None], object)[codes], cells.index, dtype=object, name=cells.name)


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
    >>> contract["price"].role, contract["price"].written.decimal
    ('numbers', ',')
    >>> contract.apply(table)["price"].tolist()
    [1.5, 12.25]
    """

    columns: tuple[Column, ...]
    rows: int
    target: str | None = None
    notes: tuple[str, ...] = ()

    def __getitem__(self, name: Any) -> Column:
        columns = {column.name: column for column in self.columns}
        if name not in columns:
            raise KeyError(f"there is no column {name!r}; the columns are {', '.join(columns)}")
        return columns[name]

    @property
    def used(self) -> tuple[Column, ...]:
        """The columns that a model uses."""
        return tuple(column for column in self.columns if column.role in ROLES)

    @property
    def dropped(self) -> tuple[Column, ...]:
        """The columns that are left out."""
        return tuple(column for column in self.columns if column.role == "dropped")

    @property
    def plain(self) -> set[str]:
        """The names of columns of text that are numbers as any parser reads them."""
        numbers = (c for c in self.columns if c.written and c.written.is_plain and c.role in ROLES)
        return {c.name for c in numbers if c.why != "as asked" and not c.words}

    @property
    def cautions(self) -> list[str]:
        """What to look at before a model is trusted, a sentence each: first the target, then the columns."""
        said = [*self.notes]
        for c in self.columns:
            left = f" is left out: {c.why}; " if c.role == "dropped" else ": "
            said += [f"column {c.name!r}{left}{c.warning}"] if c.warning else []
        return [f"{sentence[:1].upper()}{sentence[1:]}" + "." * (sentence[-1] not in "?.") for sentence in said]

    def to_frame(self) -> pd.DataFrame:
        """A data frame with one row a column: role, why, distinct values, missing share, example and warning."""
        names = ["name", "role", "why", "distinct", "missing", "example", "warning"]
        return pd.DataFrame([*map(vars, self.columns)], columns=names).set_index("name").rename_axis("column")

    def apply(self, table: Any, used_only: bool = True) -> pd.DataFrame:
        """The columns that a model uses, in the order of the contract, with cells as a model takes them.

        Numbers become floats, and levels text. With used_only=False the table keeps all its columns.

        Raises
        ------
        ValueError
            if a column is missing, or if a cell in a column of numbers cannot be read as a number. The message names
            the column
        """
        table = pd.DataFrame(table)
        names = [column.name for column in self.used]
        if missing := [name for name in names if name not in table.columns]:
            what = f"{'columns' if len(missing) > 1 else 'column'} {listed(missing)}"
            raise ValueError(f"`table` has no {what}, which the model was fitted to; add what is missing")
        read = {column.name: column.read(table[column.name]) for column in self.used}
        return (table[names] if used_only else table).assign(**read)

    def refuse_contradictions(self, piece: pd.DataFrame) -> None:
        """Raise a CellError on a cell, further down in the table, that its role has no place for."""
        for column in self.columns:
            cells, seen = piece[column.name], "only 0 and 1"
            bad = np.zeros(len(cells), bool)
            if column.why in (EMPTY, CONSTANT):
                seen = f"only {column.example}" if column.distinct else "nothing"
                bad = cells.notna() & (levels_of(cells) != levels_of(pd.Series([column.example])).iloc[0])
            elif column.role == "yes/no" and pd.api.types.is_numeric_dtype(cells):
                bad = cells.notna() & ~cells.isin([0, 1])
            if bad.any():
                raise CellError(column.name, cells, bad, f", but the first rows {seen}")

    def widened(self, applied: pd.DataFrame) -> "ColumnContract":
        """The contract after further rows, as `apply` gives them: with their ranges and levels."""
        columns = (c.widened(applied[c.name]) if c.role in ROLES else c for c in self.columns)
        return replace(self, columns=tuple(columns))

    def differences(self, table: Any) -> list[str]:
        """How another table differs from this one, one sentence for each difference; an empty list if there is none.

        It lists new columns, new levels, numbers outside the known range, and columns with far more missing cells. All
        columns of the contract must be present.
        """
        applied, names = self.apply(table), {column.name for column in self.columns}
        new = [name for name in pd.DataFrame(table).columns if name not in names]
        found = [f"columns that the model was not fitted to are ignored: {listed(new)}."] * bool(new)
        for column in self.used:
            cells, where = applied[column.name], f"column {column.name!r}"
            if column.levels and (new := [one for one in cells.dropna().unique() if one not in column.levels]):
                what = f"levels that are not in the training rows ({listed(new, 3)})"
                found.append(f"{where}: {what}, in {cells.isin(new).sum()} rows.")
            elif n := int(column.is_far(cells).sum()):
                span = f"{column.low:g} to {column.high:g}, the range of the training rows"
                found.append(f"{where}: {n} rows lie far outside of {span}.")
        return found

    def far_columns(self, applied: pd.DataFrame) -> list[str]:
        """A note for each row of `apply`: its numbers beyond the training range by more than that range; "" if none."""
        notes = np.full(len(applied), "", object)
        for c in self.used:
            if (far := c.is_far(applied[c.name])).any():
                notes[far] += f"; column {c.name!r} lies far outside of {c.low:g} to {c.high:g}"
        return [note[2:] for note in notes]

    def shown(self, most: int | None = None) -> tuple[pd.DataFrame, str]:
        """The contract as a table of text, `!` beside what to look at; of many columns the target and those first."""
        kept = {c.name for c in sorted(self.columns, key=lambda c: (c.role != "target", not c.warning))[:most]}
        rows = []
        for c in (c for c in self.columns if c.name in kept):
            cells = shorten(c.name), c.role, str(c.distinct), f"{c.missing:.0%}", shorten(c.example)
            rows.append(("!" * bool(c.warning), *cells, "; ".join(filter(None, [c.why, c.warning]))))
        table = pd.DataFrame(rows, columns=["", "column", "role", "distinct", "missing", "example", "why"])
        return table, f"… and {len(self.columns) - len(rows)} more columns" * (len(rows) < len(self.columns))

    def summary(self, most: int | None = None) -> str:
        """The contract as a readable text, with at most so many columns."""
        table, more = self.shown(most)
        line = "{:1} {:28}  {:7}  {:>8} {:>7}  {:28}  {}".format
        lines = [line(*row) for row in (table.columns, *table.to_numpy())]
        return "\n".join([*lines, *[more] * bool(more), *(f"! {note}" for note in self.notes)])

    def __str__(self) -> str:
        return self.summary()
