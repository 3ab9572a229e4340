"""What the columns of a table are: one function, `describe`, gives each its role, and a contract keeps it.

A wrong role costs more than a question. Columns that name the row (identifiers, names, dates) are therefore left out
unless the user asks for them. A cell such as "15,018" can be two numbers. A column as a whole usually settles it: "3,5"
shows a decimal comma, "1,234,567" shows thousands. If nothing settles it, an error asks, and nothing is guessed.
"""

import difflib
import itertools
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from .core.pytrees import record

FEW_ROWS = 20  # below, no column is taken for an identifier or a constant, and no share for a difference
ROLES = ("numbers", "counts", "yes/no", "levels")
"""What a column that is used can be."""

_EMPTY, _CONSTANT = "no value in any row", "the same value in every row"
_LISTED = 100  # levels that a contract keeps
_LOOKED_AT = 50_000  # rows in which the values of a column of numbers are counted
_MANY_CLASSES = 20
_COMPARED = 100  # labels, the most frequent, that are compared with each other


def shorten(value: Any, most: int = 28) -> str:
    """A value as text, a long one cut."""
    shown = f"{value:.6g}" if isinstance(value, float | np.floating) else str(value)
    return shown if len(shown) <= most else f"{shown[: most - 1]}…"


def listed(names: Iterable[Any], most: int = 8) -> str:
    """The names in quotes, the first few of many; "none" of no names."""
    quoted = [shorten(repr(name), 60) for name in names]
    more = f" and {len(quoted) - most} more" if len(quoted) > most else ""
    return (", ".join(quoted[:most]) or "none") + more


# --- numbers written as text ----------------------------------------------------------------------------------------

_SIGN = r"%|[$€£¥₹]|CHF|EUR|USD|GBP"
_INFINITY = r"[+-]?(?i:inf|infinity)"
_NUMBER = rf"[+-]?(?:{_SIGN})? ?[+-]?(?:[0-9][0-9.,' ]*|[.,][0-9]+)(?:[eE][+-]?[0-9]+)? ?(?:{_SIGN})?|{_INFINITY}"
_TWO_WAYS = r"[+-]?[1-9][0-9]{0,2}[.,][0-9]{3}"  # fifteen or fifteen thousand
_TRUTH = "true or false"
_SAME = {"\u00a0": " ", "\u202f": " ", "\u2019": "'", "\u2212": "-"}


class NumberError(ValueError):
    """Cells that can be read as two numbers, such as "15.018", or as none with the separators that were given."""


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
        if self.sign == _TRUTH:
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
    NumberError
        if the words can be read in two ways, or one of them in none with the separators that are named
    """
    if words.str.lower().isin(["true", "false"]).all():
        return NumberFormat(sign=_TRUTH)
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
        raise NumberError(f"{word!r} is no number with these separators; write all cells in one format")
    for form in fitting:
        if (two := read[form] != read[fitting[0]]).any():
            if chosen := [form for form in fitting if form.decimal == clear]:
                return chosen[0]
            word = words[two].iloc[0]
            mark = "." if "." in word else ","
            raise NumberError(
                f"{word!r} may be {word.replace(mark, '')} or {word.replace(mark, '.')}, and no other cell decides it; "
                f"give --decimal {mark} or --thousands {mark} (in Python decimal={mark!r} or thousands={mark!r} of "
                "`describe` or `read_table`)"
            )
    return fitting[0] if fitting else None


def _clean(words: pd.Series) -> pd.Series:
    """Words without blanks around them, and with the signs and blanks of a keyboard."""
    for letter, plain in _SAME.items():
        words = words.str.replace(letter, plain, regex=False)
    return words.str.strip()


# --- the contract ---------------------------------------------------------------------------------------------------


class CellError(ValueError):
    """A cell that a column of its contract cannot hold."""

    def __init__(self, name: str, cells: pd.Series, bad: Any, rest: str) -> None:
        at = int(np.asarray(bad).argmax())
        self.row = cells.index[at]
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
            words = _clean(pd.Series(distinct, dtype="str"))
            values = (self.written or NumberFormat(".")).read(words)
            values = values if self.written else values.fillna(NumberFormat(sign=_TRUTH).read(words))
            bad = values.isna() & (words != "") & ~words.isin(self.words) & (self.why != "as asked")
            if bad.any():
                rest = f", but the other cells numbers such as {self.example}" if self.example else ", not a number"
                advice = f"write all in one way, or give --columns {self.name}=levels or --drop {self.name}"
                raise CellError(self.name, cells, np.append(bad, False)[codes], f"{rest}; {advice}")
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
            return replace(self, distinct=len(levels), levels=tuple(levels) if len(levels) <= _LISTED else ())
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
    def plain(self) -> set[str]:
        """The names of columns of text that are numbers as any parser reads them."""
        numbers = (c for c in self.columns if c.written and c.written.is_plain)
        return {c.name for c in numbers if c.role != "target" and c.why != "as asked" and not c.words}

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
        names = ["role", "why", "distinct", "missing", "example", "warning"]
        rows = [[getattr(column, name) for name in names] for column in self.columns]
        return pd.DataFrame(rows, columns=names, index=pd.Index([c.name for c in self.columns], name="column"))

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
            if column.why in (_EMPTY, _CONSTANT):
                seen = f"only {column.example}" if column.distinct else "nothing"
                bad = cells.notna() & (levels_of(cells) != levels_of(pd.Series([column.example])).iloc[0])
            elif column.role == "yes/no" and pd.api.types.is_numeric_dtype(cells):
                bad = cells.notna() & ~cells.isin([0, 1])
            if bad.any():
                ask = f"name its role with --columns {column.name}=ROLE, or leave it out with --drop {column.name}"
                raise CellError(column.name, cells, bad, f", but the first rows {seen}; {ask}")

    def widened(self, applied: pd.DataFrame) -> "ColumnContract":
        """The contract after further rows, as `apply` gives them: with their ranges and levels."""
        columns = (c.widened(applied[c.name]) if c.role in ROLES else c for c in self.columns)
        return replace(self, columns=tuple(columns))

    def differences(self, table: Any) -> list[str]:
        """How another table differs from this one, one sentence for each difference; an empty list if there is none.

        It lists new columns, new levels, numbers outside the known range, and columns with far more missing cells. All
        columns of the contract must be present.
        """
        applied, found = self.apply(table), []
        names = {column.name for column in self.columns} | {self.target, "Unnamed: 0"}
        if new := [name for name in pd.DataFrame(table).columns if name not in names]:
            found.append(f"columns that the model was not fitted to are ignored: {listed(new)}.")
        for column in self.used:
            cells, where = applied[column.name], f"column {column.name!r}"
            gaps = float(cells.isna().mean())
            if gaps > column.missing + 0.2 and len(cells) >= FEW_ROWS:
                usual = f"{column.missing:.0%} in the training rows"
                found.append(f"{where}: {gaps:.0%} of the cells are missing, but {usual}.")
            if column.levels and (new := [one for one in cells.dropna().unique() if one not in column.levels]):
                n = int(cells.isin(new).sum())
                found.append(f"{where}: levels that are not in the training rows ({listed(new, 3)}), in {n} rows.")
            elif far := int(column.is_far(cells).sum()):
                span = f"{column.low:g} to {column.high:g}, the range of the training rows"
                found.append(f"{where}: {far} rows lie far outside of {span}.")
        return found

    def far_columns(self, applied: pd.DataFrame) -> list[str]:
        """A note for each row of `apply`: its numbers beyond the training range by more than that range; "" if none."""
        notes: list[list[str]] = [[] for _ in range(len(applied))]
        for column in self.used:
            for i in np.flatnonzero(column.is_far(applied[column.name])):
                notes[i].append(f"column {column.name!r} lies far outside of {column.low:g} to {column.high:g}")
        return ["; ".join(note) for note in notes]

    def summary(self, most: int | None = None) -> str:
        """The contract as a readable table; after `most` columns, those without a note are only counted."""
        noted = [bool(c.warning) or c.role in ("dropped", "target") for c in self.columns]
        kept = np.argsort(np.logical_not(noted), kind="stable")[:most]
        shown = [c for i, c in enumerate(self.columns) if i in kept or c.role == "target"]
        wide = min(max([6, *(len(c.name) for c in shown)]), 24)
        lines = [f"  {'column':{wide}}  role     distinct missing  {'example':24}  why"]
        for c in shown:
            head = (
                f"{'!' if c.warning else ' '} {shorten(c.name, 24):{wide}}  {c.role:7}  {c.distinct:8} {c.missing:7.0%}"
            )
            lines.append(f"{head}  {shorten(c.example, 24):24}  {'; '.join(filter(None, [c.why, c.warning]))}")
        if left := [c.role for c in self.columns if c not in shown]:
            counted = ", ".join(f"{left.count(role)} {role}" for role in (*ROLES, "dropped") if role in left)
            lines.append(f"  … and {len(left)} more columns ({counted})")
        return "\n".join([*lines, *(f"! {note}" for note in self.notes)])

    def __str__(self) -> str:
        return self.summary()


# --- the roles ------------------------------------------------------------------------------------------------------

_DATE = (
    r"[0-9]{4}[-/.][0-9]{1,2}[-/.][0-9]{1,2}(?:[T ].*)?|[0-9]{1,2}[-/.][0-9]{1,2}[-/.](?:[0-9]{4}|[0-9]{2})(?:[T ,].*)?"
    r"|[0-9]{4}-[0-9]{2}|[0-9]{1,2}:[0-9]{2}(?::[0-9]{2})?"
)
_IDENTIFIER = re.compile(
    r"(^|[\W_])(id|ids|uid|uuid|guid|key|nr|no|num|number|index|idx|row|rownames?|rownum|serial|account|code)($|[\W_])"
    r"|nummer$|[a-z](Id|ID|Nr|No)$"
)
_POSTAL = re.compile(r"(^|[\W_])(zip|zipcode|postal|postcode|plz)($|[\W_])", re.IGNORECASE)


def describe(
    table: Any,
    target: Any = None,
    *,
    drop: Iterable[Any] = (),
    columns: Mapping[Any, str] | None = None,
    decimal: str | None = None,
    thousands: str | None = None,
) -> ColumnContract:
    """Describe each column of a table: its role, the reason, its values, and possible problems.

    Columns that identify the row (identifiers, names, dates) and constants get the role "dropped". Numbers written as
    text (decimal comma, thousands, currency, percent) get the role "numbers". `ColumnContract.apply` then turns the
    table into columns that a model accepts.

    Parameters
    ----------
    table : data frame (n, d)
    target : name of the column of labels, if it is in the table
    drop : names of columns to leave out
    columns : mapping from column name to the role that you want: "numbers", "counts", "yes/no", "levels" or "drop"
    decimal, thousands : separators in numbers written as text; by default they are found from the cells

    Raises
    ------
    ValueError
        if `drop`, `columns` or `target` names an unknown column or role, or if a column holds text such as "15.018"
        that may mean fifteen or fifteen thousand. The message names the column and the argument to set

    Examples
    --------
    >>> import bayesnb, pandas as pd
    >>> table = pd.DataFrame({"id": range(100, 140), "weight": [1.5, 2.5] * 20, "kind": ["a", "b"] * 20})
    >>> print(bayesnb.describe(table, target="kind").to_frame()["role"].to_dict())
    {'id': 'dropped', 'weight': 'numbers', 'kind': 'target'}
    """
    if not isinstance(table, pd.DataFrame):
        table = table.to_pandas() if hasattr(table, "to_pandas") else pd.DataFrame(table)
    wishes = {**(columns or {}), **dict.fromkeys(drop, "drop")}
    if {len(decimal or "."), len(thousands or ",")} != {1} or (decimal and decimal == thousands):
        both = f"`decimal` and `thousands` are {decimal!r} and {thousands!r}"
        raise ValueError(f"{both}; they need to be one character each, such as '.' or ',', and to differ")
    if not table.columns.is_unique:
        raise ValueError(f"more than one column has the name {table.columns[table.columns.duplicated()][0]!r}")
    if wrong := {*wishes.values()} - {*ROLES, "drop"}:
        raise ValueError(f"`columns` has the role {min(wrong)!r}; choose one of {', '.join(ROLES)} and drop")
    for name in [*wishes, *([] if target is None else [target])]:
        if name not in table.columns:
            raise ValueError(f"there is no column {name!r}; the columns are {', '.join(map(str, table.columns))}")
    known = {name: table[name].dropna().infer_objects() for name in table.columns}
    words = {name: _clean(cells.astype("str")).value_counts() for name, cells in known.items() if _is_text(cells)}
    features = [name for name in known if name != target]
    shown = _decimal_shown([known[name] for name in features], [words[n].index for n in features if n in words])
    writing = decimal, thousands, shown
    found: dict[Any, Column] = {}
    for name, cells in known.items():
        base = Column(str(name), "dropped", "", 0, 1 - len(cells) / max(len(table), 1), "")
        try:
            if name in words:
                base = _written(base, words[name], wishes.get(name), writing)
            found[name] = _role(base, cells, words.get(name), wishes.get(name))
        except NumberError as error:
            if name != target:
                raise ValueError(f"column {name!r}: {error}, or --drop {name}") from error
            found[name] = replace(base, low=0.0)  # a target of numbers
    if target is None:
        return ColumnContract(tuple(found.values()), len(table))
    found[target], notes = _target(known[target], found[target], found.values())
    for name, column in found.items():
        pairs = table[[name, target]].iloc[:_LOOKED_AT].dropna() if column.role in ROLES else table.iloc[:0, :0]
        if (
            len(pairs) >= FEW_ROWS
            and len(pairs := pairs.drop_duplicates()) > 1
            and pairs.nunique().eq(len(pairs)).all()
        ):
            copy = f"a copy of the target {target!r}? {column.name}=drop leaves it out"
            found[name] = replace(column, warning="; ".join(filter(None, [column.warning, copy])))
    return ColumnContract(tuple(found.values()), len(table), target, notes)


def _is_text(known: pd.Series) -> bool:
    kind = known.dtype
    if isinstance(kind, pd.CategoricalDtype) or pd.api.types.is_numeric_dtype(kind) or kind.kind in "mM":
        return False
    return kind.kind != "O" or not any(isinstance(cell, list | dict | set | np.ndarray) for cell in known.iloc[:1000])


def _decimal_shown(known: Iterable[pd.Series], words: Iterable[pd.Index]) -> str:
    """The decimal separator that all columns agree on: floats with a fraction show a point; "" if there is none."""
    shown = {"." for one in known if one.dtype.kind == "f" and (one.iloc[:_LOOKED_AT] % 1 > 0).any()}
    for one in words:
        numbers = one[one.str.fullmatch(_NUMBER) & ~one.str.fullmatch(_DATE)]
        for mark in (r"\.", ","):  # no group of thousands begins with 0 or has other than three digits
            if numbers.str.contains(rf"(?:^|[^0-9])0?{mark}[0-9]|{mark}(?:[0-9]{{1,2}}|[0-9]{{4,}})(?:[^0-9]|$)").any():
                shown |= {mark[-1]}
    return shown.pop() if len(shown) == 1 else ""


def _role(base: Column, known: pd.Series, counts: pd.Series | None, wish: str | None) -> Column:
    """The role of one column: the user's, or what its cells show."""
    if not len(known) and wish not in ("levels", "drop"):
        return replace(base, why=_EMPTY)
    if counts is None and known.dtype == object:
        return replace(base, why="lists or tables in its cells")
    base = replace(base, distinct=int(known.iloc[:_LOOKED_AT].nunique()), example=str(next(iter(known), "")))
    if wish == "drop":
        return replace(base, why="left out as asked")
    if base.name == "Unnamed: 0" and not wish:
        return replace(base, why="row numbers: the column has no name")
    if base.distinct == 1 and not wish and len(known) >= FEW_ROWS * (1 - base.missing) and known.nunique() == 1:
        return replace(base, why=_CONSTANT)
    is_date = known.dtype.kind in "mM" or (
        counts is not None and counts.index.str.fullmatch(_DATE).sum() >= max(0.9 * len(counts), 1)
    )
    if is_date and not wish:
        return replace(base, why="dates or times", warning=f"{base.name}=levels uses it")
    if wish == "levels" or is_date or isinstance(known.dtype, pd.CategoricalDtype):
        return _levels(base, known, wish, "declared levels")
    if counts is None:
        return _numbers(base, known.to_numpy(float), wish, _TRUTH if known.dtype.kind == "b" else "")
    if base.written is None:
        return _levels(base, known, wish, base.why, counts)
    words = pd.Series(counts.index, dtype="str")
    values = _clean(known.astype("str")).map(dict(zip(words, base.written.read(words), strict=True))).dropna()
    why = f"numbers written as text, such as {base.example}" if not base.written.is_plain else ""
    return _numbers(base, values.to_numpy(float), wish, _TRUTH if base.written.sign == _TRUTH else why)


def _written(base: Column, counts: pd.Series, wish: str | None, writing: Any) -> Column:
    """The column with the format of its numbers, if its text is numbers."""
    words = pd.Series(counts.index, dtype="str")
    is_number = words.str.fullmatch(_NUMBER) | words.str.lower().isin(["true", "false"]).all()
    numbers, others = words[is_number], words[~is_number]
    share = float(counts[numbers].sum() / max(counts.sum(), 1))
    codes = numbers[numbers.str.fullmatch("0[0-9]+")] if numbers.str.fullmatch("[0-9]+").all() else numbers[:0]
    few = share >= 0.8 and len(others) <= 5 and (len(numbers) > 10 or not len(others))
    if wish in ("levels", "drop") or not (len(numbers) and (wish or few)):
        said = f"{share:.0%} of the cells are numbers, others such as {next(iter(others), '')!r} are not"
        return replace(base, warning=said) if share > 0.5 and len(others) and not wish else base
    if len(codes) and not wish:
        return replace(base, why=f"codes with leading zeros: {codes.iloc[0]}")
    form = number_format(numbers, *writing)
    if len(others) and form:
        said = f"{counts[others].sum()} cells are not numbers ({listed(others)}) and count as missing"
        base = replace(base, warning=f"{said}; {base.name}=levels keeps them", words=tuple(others))
    return replace(base, written=form)


def _levels(base: Column, known: pd.Series, wish: str | None, why: str, counts: pd.Series | None = None) -> Column:
    """Levels, or text that names the rows."""
    if wish not in (None, "levels"):
        raise ValueError(f"column {base.name!r} holds {base.example!r}, so it cannot be {wish}; choose the role levels")
    distinct = levels_of(known).unique().tolist()
    n, k = len(known), len(distinct)
    if counts is not None and n >= FEW_ROWS and k > max(min(n / 2, max(_LISTED, n / 10)), FEW_ROWS):
        what = "identifies the row: every value differs" if k == n else f"text of {k} different values in {n} rows"
        return replace(base, distinct=k, why=what, warning=f"{base.name}=levels uses it")
    warning = f"{k} levels, {n / k:.0f} rows each" if k > _LISTED else base.warning
    why = "as asked" if wish else why or ("one of two words" if k == 2 else "text")
    levels = tuple(sorted(map(str, distinct))) if k <= _LISTED else ()
    return replace(base, role="levels", why=why, distinct=k, levels=levels, warning=warning)


def _numbers(base: Column, values: np.ndarray, wish: str | None, why: str) -> Column:
    """Cells that are numbers."""
    known = values[np.isfinite(values)]
    odd = known[(known < 0) | (known % 1 != 0) | ((wish == "yes/no") & (known > 1))]
    if wish in ("counts", "yes/no") and len(odd):
        what = f"holds {odd[0]:g}, so it cannot be {wish}"
        raise ValueError(f"column {base.name!r} {what}; choose the role numbers or levels")
    low, high = (float(known.min()), float(known.max())) if len(known) else (0.0, 0.0)
    whole, base = bool((known % 1 == 0).all()), replace(base, low=low, high=high)
    if wish:
        return replace(base, role=wish, why="as asked")
    if whole and 0 <= low <= high <= 1 and why in ("", _TRUTH) and len(known) == len(values):
        return replace(base, role="yes/no", why=why or "zeros and ones")
    some = known[:_LOOKED_AT]
    if whole and not why and (reason := _names_rows(base.name, some)):
        return replace(base, why=reason, warning=f"{base.name}=numbers uses it")
    notes = [base.warning, _codes_of_gaps(some)]
    notes += ["holds infinity, which no model takes; leave the cell empty"] * (len(known) < len(values))
    notes += [f"a postal code? {base.name}=levels makes it levels"] * bool(whole and _POSTAL.search(base.name))
    why = why or ("whole numbers" if whole else "numbers")
    return replace(base, role="numbers", why=why, warning="; ".join(filter(None, notes)))


def _names_rows(name: str, values: np.ndarray) -> str:
    """Why whole numbers name the rows; "" if they do not."""
    n, distinct = len(values), len(np.unique(values))
    if n < FEW_ROWS:
        return ""
    low, high, month, day = int(values.min()), int(values.max()), values // 100 % 100, values % 100
    if 19000101 <= low and high <= 21001231 and (month - 1 < 12).all() and (month * day > 0).all() and day.max() <= 31:
        return "dates written as numbers, YYYYMMDD"
    if _IDENTIFIER.search(name) and distinct > n / 2:
        return f"an identifier by its name, {distinct} different values"
    if distinct == n and high - low + 1 <= 1.1 * n:
        return "row numbers: all differ and follow each other"
    if distinct == n and low >= 100_000 and len(str(low)) == len(str(high)) and (values % 10 == 0).mean() < 0.3:
        return f"an identifier: all differ and have {len(str(low))} digits"
    return ""


def _codes_of_gaps(values: np.ndarray) -> str:
    """Numbers that occur three times or more, farther from the rest than the rest is wide, such as 999; "" if none."""
    codes = []
    for sign in (1, -1):  # the upper end, and then the lower one
        distinct, counts = np.unique(sign * values, return_counts=True)
        for k in range(min(3, len(distinct) - 2), 0, -1):
            if counts[-k:].min() >= 3 and distinct[-k] - distinct[-k - 1] > np.ptp(distinct[:-k]):
                codes += [f"{sign * value:g} ({n} times)" for value, n in zip(distinct[-k:], counts[-k:], strict=True)]
                values = values[sign * values < distinct[-k]]
                break
    others = f"{values.min():g} to {values.max():g}" if codes else ""
    advice = "if this stands for a missing cell, leave the cell empty"
    return f"{', '.join(codes)} far outside of the other numbers, {others}; {advice}" if codes else ""


def _target(known: pd.Series, column: Column, columns: Iterable[Column]) -> tuple[Column, tuple[str, ...]]:
    """The column of labels, with a warning if it holds measurements, and what to look at.

    These are many classes, and labels that are spelled alike when one of them is rare.
    """
    if column.why.startswith("lists"):
        raise ValueError(f"column {column.name!r} holds {column.why}; choose another target")
    counts, form = known.value_counts(), column.written or NumberFormat(".")
    words = _clean(pd.Series(counts.index.astype("str"), dtype="str"))
    numbers, n, k, warning, notes = form.read(words), len(known), len(counts), "", []
    names = [repr(c.name) for c in columns if c.role in ("levels", "yes/no") and 2 <= c.distinct <= _MANY_CLASSES]
    hint = f": did you mean {' or '.join(names[:4])}?" if names else ""
    if column.low is not None and not column.words:
        if (fractions := words[numbers % 1 > 0]).any() and not form.sign:
            warning = f"holds measurements such as {fractions.iloc[0]}, not classes; bin it or name another{hint}"
        elif n >= FEW_ROWS and k > max(n / 2, _MANY_CLASSES):
            warning = f"holds {k} different numbers in {n} rows, which are measurements; bin it or name another{hint}"
    plain = words.str.casefold().str.replace(" ", "").mask(numbers.notna(), numbers.astype(str)).tolist()[:_COMPARED]
    pairs = [
        f"{counts.index[i]!r} ({counts.iloc[i]} rows) and {counts.index[j]!r} ({counts.iloc[j]})"
        for i, j in itertools.combinations(range(len(plain)), 2)  # the second is not more frequent than the first
        if plain[i] == plain[j]
        or (counts.iloc[j] <= max(2, counts.iloc[i] / 10) and _one_letter_apart(plain[i], plain[j]))
    ]
    if pairs:
        what = "that differ only in how they are written, or in one letter, are classes of their own"
        notes.append(f"labels of {column.name!r} {what}: {', '.join(pairs[:4])}{' …' * (len(pairs) > 4)}")
    if k > _MANY_CLASSES and not warning:
        once = int((counts == 1).sum())
        notes.append(f"target {column.name!r} has {k} classes{f', {once} of them in a single row' * (once > 0)}{hint}")
    notes += [f"target {column.name!r} {warning}"] if warning else []
    made = Column(column.name, "target", f"{k} classes", k, column.missing, column.example, warning)
    return made, tuple(notes)


def _one_letter_apart(one: str, other: str) -> bool:
    """Whether a letter that is added, left out or changed makes one word the other; a digit has its own meaning."""
    longest = max(len(one), len(other))
    if longest < 3 or abs(len(one) - len(other)) > 1 or any(map(str.isdigit, one + other)):
        return False
    return difflib.SequenceMatcher(None, one, other).ratio() >= 1 - 1 / longest - 1e-9
