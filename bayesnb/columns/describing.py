"""`describe`: the role of each column of a table, read from its cells and its name.

A wrong role costs more than a question. Columns that name the row (identifiers, names, dates) are therefore left out
unless the user asks for them, and numbers that can be read in two ways raise an error.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from .contract import FEW_ROWS, Column, ColumnContract, read_levels, requested_roles, to_days
from .number_text import AmbiguousNumbers, NumberFormat, are_numbers, looks_like_number, number_format

_LOOKED_AT = 50_000  # rows in which the values of a column of numbers are counted
_MANY_CLASSES = 20
_LISTED = 100  # levels that a contract keeps
_MONTH = (
    r"(jan(uary?)?|jän(ner)?|feb(ruary?)?|mar(ch)?|märz?|mrz|apr(il)?|ma[iy]|jun[ei]?|jul[iy]?|aug(ust)?"
    r"|sept?(ember)?|o[ck]t(ober)?|nov(ember)?|de[cz](ember)?)\.?"
)
_MONTH_ABROAD = r"(jan|feb|m[aä]r|apr|ma[iy]|jun|jul|aug|sep|o[ck]t|nov|de[cz])[^\W\d_]*\.?"  # such as novembre
_DATE = re.compile(
    r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}([T ].*)?|\d{1,2}[-/.]\d{1,2}[-/.](\d{4}|\d{2})([T ,].*)?|\d{4}-\d{2}"
    rf"|(\d{{1,2}}[. -]+)?{_MONTH}[ ,.-]*(\d{{1,2}},? +)?(\d{{4}}|\d{{2}})"
    rf"|\d{{1,2}}[. -]+{_MONTH_ABROAD}[ ,.-]*\d{{4}}|\d{{1,2}}:\d{{2}}(:\d{{2}})?",
    re.IGNORECASE,
)
_IDENTIFIER = re.compile(
    r"(^|[\W_])(id|ids|uid|uuid|guid|key|nr|no|num|number|index|idx|row|rownames?|rownum|serial|account|code)($|[\W_])"
    r"|nummer$|[a-z](Id|ID|Nr|No)$",
)
_POSTAL = re.compile(r"(^|[\W_])(zip|zipcode|postal|postcode|plz)($|[\W_])", re.IGNORECASE)


@dataclass(frozen=True)
class _Wishes:
    """What the user has said about the columns."""

    roles: Mapping[Any, str]
    decimal: str | None
    thousands: str | None
    clear: str | None


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
    return describe_cells(_as_frame(table), target, drop, columns, decimal, thousands)


def describe_cells(
    table: pd.DataFrame,
    target: Any = None,
    drop: Iterable[Any] = (),
    columns: Mapping[Any, str] | None = None,
    decimal: str | None = None,
    thousands: str | None = None,
    clear: str | None = None,
) -> ColumnContract:
    """`describe` of a data frame; `clear` is the decimal separator that a file shows in other columns."""
    for name, value in (("decimal", decimal), ("thousands", thousands)):
        if value is not None and len(value) != 1:
            raise ValueError(f"`{name}` is {value!r}; it needs to be one character, such as '.' or ','")
    if decimal is not None and decimal == thousands:
        raise ValueError(f"`decimal` and `thousands` are both {decimal!r}; they need to differ")
    wishes = _Wishes(requested_roles(columns) | dict.fromkeys(drop, "drop"), decimal, thousands, clear)
    for name in [*wishes.roles, *([] if target is None else [target])]:
        if name not in table.columns:
            raise ValueError(f"there is no column {name!r}; the columns are {', '.join(map(str, table.columns))}")
    shown = _shown_decimals(table, target) | ({clear} - {None})
    wishes = replace(wishes, clear=shown.pop() if len(shown) == 1 else None)
    counts = pd.Series(dtype=int) if target is None else table[target].value_counts()
    found = tuple(
        _target(table[name], len(counts)) if name == target else _column(table[name], name, wishes)
        for name in table.columns
    )
    notes = () if target is None else target_notes(target, counts, found)
    return ColumnContract(found, len(table), target, notes)


def _as_frame(table: Any) -> pd.DataFrame:
    if isinstance(table, pd.DataFrame):
        return table
    return table.to_pandas() if hasattr(table, "to_pandas") else pd.DataFrame(table)


def _shown_decimals(table: pd.DataFrame, target: Any) -> set[str | None]:
    """The decimal separators of the columns of text that settle it themselves."""
    found: set[str | None] = set()
    for name in table.columns:
        if name == target or not _is_text(table[name]):
            continue
        distinct = pd.unique(table[name].dropna().iloc[:_LOOKED_AT].astype(str))
        numbers = [cell for cell in distinct if looks_like_number(cell) and not _DATE.fullmatch(cell.strip())]
        if len(numbers) < 0.8 * len(distinct):
            continue
        try:
            form = number_format(numbers)
        except AmbiguousNumbers:
            continue
        if form and any(form.decimal in cell for cell in numbers):
            found.add(form.decimal)
    return found


def _is_text(cells: pd.Series) -> bool:
    kind = cells.dtype
    if isinstance(kind, pd.CategoricalDtype) or pd.api.types.is_numeric_dtype(kind) or kind.kind in "mM":
        return False
    if kind.kind == "O":
        return any(isinstance(cell, str) for cell in cells.dropna().iloc[:1000])
    return True


# --- one column -----------------------------------------------------------------------------------------------------


def _target(cells: pd.Series, distinct: int) -> Column:
    known = cells.dropna()
    return Column(
        str(cells.name), "target", f"{distinct} classes", distinct, float(cells.isna().mean()), _example(known)
    )


def _column(cells: pd.Series, name: Any, wishes: _Wishes) -> Column:
    """The role of one column: the user's, or what its cells show."""
    if cells.dtype.kind == "O" and not isinstance(cells.dtype, pd.CategoricalDtype):
        cells = cells.infer_objects()
    known = cells if _is_complete(cells) else cells.dropna()
    if known.dtype == object and pd.api.types.infer_dtype(known) == "boolean":  # beside missing cells
        known = known.astype(bool)
    missing = 1 - len(known) / max(len(cells), 1)
    wish = wishes.roles.get(name)
    base = Column(name if isinstance(name, str) else str(name), "dropped", "", 0, missing, _example(known))
    if not len(known):
        return replace(base, why="no value in any row")
    if cells.dtype.kind == "O" and any(isinstance(cell, list | dict | set | np.ndarray) for cell in known.iloc[:1000]):
        return replace(base, role="levels", why="cells of several values")  # which is refused where it is used
    looked_at = known if not pd.api.types.is_numeric_dtype(known) else known.iloc[:_LOOKED_AT]
    distinct = _count_distinct(looked_at)
    base = replace(base, distinct=distinct)
    if wish == "drop":
        return replace(base, why="left out as asked")
    if distinct == 1 and wish is None and known.nunique() == 1:
        return replace(base, why="the same value in every row")
    if pd.api.types.is_numeric_dtype(known):
        return _numeric(base, known, looked_at, wish)
    if wish == "levels" or isinstance(cells.dtype, pd.CategoricalDtype):
        return _as_levels(base, known, wish, "declared levels")
    if cells.dtype.kind in "mM":
        return _date(base, known, wish)
    return _text(base, known, wish, wishes)


def _is_complete(cells: pd.Series) -> bool:
    """Whether no cell of a column of plain numbers is missing, at a tenth of the time of `dropna`."""
    return isinstance(cells.dtype, np.dtype) and cells.dtype.kind == "f" and not np.isnan(cells.to_numpy()).any()


def _count_distinct(known: pd.Series) -> int:
    """Different values; of plain numbers by sorting, which takes a tenth of the time of a hash table."""
    if not (isinstance(known.dtype, np.dtype) and known.dtype.kind in "fiu"):
        return int(known.nunique())
    ordered = np.sort(known.to_numpy())
    return 1 + int(np.count_nonzero(ordered[1:] != ordered[:-1]))


def _numeric(base: Column, known: pd.Series, looked_at: pd.Series, wish: str | None) -> Column:
    """Cells that are numbers."""
    cells = known.to_numpy()
    low, high = float(cells.min()), float(cells.max())
    finite = bool(np.isfinite([low, high]).all())
    warning = "" if finite else "holds infinity, which no model takes; leave the cell empty if its value is unknown"
    base = replace(base, low=low, high=high, warning=warning)
    values = looked_at.to_numpy(float)
    whole = finite and _is_whole(values)
    if wish == "levels":
        return _as_levels(base, known, wish, "")
    if wish == "counts" and (low < 0 or not _is_whole(known.to_numpy(float))):
        raise ValueError(
            f"column {base.name!r} holds {low if low < 0 else 'fractions'}; counts are whole numbers from 0 on"
        )
    if wish == "yes/no" and not known.isin([0, 1]).all():
        raise ValueError(f"column {base.name!r} holds other values than 0 and 1; choose the role numbers or levels")
    if wish:
        return replace(base, role=wish, why="as asked")
    if known.dtype.kind == "b" or (low >= 0 and high <= 1 and whole and known.isin([0, 1]).all()):
        return replace(base, role="yes/no", why="true or false" if known.dtype.kind == "b" else "zeros and ones")
    if whole and (why := _names_rows(base, values)):
        return replace(base, why=why, warning=_ask(base.name, "numbers"))
    if whole and _POSTAL.search(base.name):
        warning = f"a postal code? {base.name}=levels makes it levels"
    return replace(base, role="numbers", why="whole numbers" if whole else "numbers", warning=warning)


def _is_whole(values: np.ndarray) -> bool:
    """Whether all are whole numbers; the first ones mostly tell."""
    return all(bool((part == np.floor(part)).all()) for part in (values[:1000], values))


def _names_rows(base: Column, values: np.ndarray) -> str:
    """Why whole numbers name the rows; "" where they do not."""
    n, low, high = len(values), int(values.min()), int(values.max())
    if n < FEW_ROWS:
        return ""
    if 19000101 <= low and high <= 21001231 and base.distinct > 1:
        month, day = values // 100 % 100, values % 100
        if ((month >= 1) & (month <= 12) & (day >= 1) & (day <= 31)).all():
            return "dates written as numbers, YYYYMMDD"
    if _IDENTIFIER.search(base.name) and base.distinct > n / 2:
        return f"an identifier by its name, {base.distinct} different values"
    if base.distinct < n:
        return ""
    if high - low + 1 <= 1.1 * n:
        return "row numbers: all differ and follow each other"
    if low >= 100_000 and len(str(low)) == len(str(high)) and (values % 10 == 0).mean() < 0.3:
        return f"an identifier: all differ and have {len(str(low))} digits"
    return ""


def _text(base: Column, known: pd.Series, wish: str | None, wishes: _Wishes) -> Column:
    """Cells that are text, or Python objects."""
    counts = known.astype(str).value_counts()
    words = [word for word in counts.index if word.strip()]
    dates = [word for word in words if _DATE.fullmatch(word.strip())]
    if words and len(dates) >= 0.9 * len(words) and not (wish and wishes.decimal):
        return _date(base, known, wish)
    numbers = [word for word in words if looks_like_number(word)]
    others = [word.strip() for word in words if not looks_like_number(word)]
    share = counts[numbers].sum() / max(counts[words].sum(), 1)
    few = len(others) <= 5 and share >= 0.8 and (len(numbers) > 10 or not others)
    if numbers and (few or wish in ("numbers", "counts", "yes/no")):
        if not wish and all(word.strip().isdigit() for word in numbers) and any(_is_code(word) for word in numbers):
            return _levels(base, counts, known, f"codes with leading zeros: {next(filter(_is_code, numbers))}")
        try:
            form = number_format(numbers, wishes.decimal, wishes.thousands, wishes.clear)
        except AmbiguousNumbers as error:
            raise ValueError(
                f"column {base.name!r}: {error}, and no other cell decides it; give --decimal {error.separator} or "
                f"--thousands {error.separator} (in Python decimal={error.separator!r} or "
                f"thousands={error.separator!r}), or --drop {base.name}"
            ) from error
        if form is not None:
            return _numbers_in_text(
                base, form, numbers, others, int(counts[[w for w in words if w not in numbers]].sum()), wish
            )
        if wish:
            raise ValueError(
                f"column {base.name!r} cannot be read as {wish}: the cells are written in different formats. Write "
                "them in one format"
            )
    elif wish:
        raise ValueError(
            f"column {base.name!r} holds text such as {others[0]!r}, so it cannot be {wish}; choose the role levels"
        )
    column = _levels(base, counts, known, "")
    if share > 0.5 and others and column.role == "levels":
        return replace(column, warning=f"{share:.0%} of the cells are numbers, others such as {others[0]!r} are not")
    return column


def _is_code(word: str) -> bool:
    return len(word.strip()) > 1 and word.strip().startswith("0")


def _numbers_in_text(
    base: Column, form: NumberFormat, numbers: list[str], others: list[str], gaps: int, wish: str | None
) -> Column:
    """A column of numbers written as text."""
    values = np.array([form.number(word) for word in numbers])
    if np.isnan(values).any():
        word = numbers[int(np.isnan(values).argmax())]
        raise ValueError(
            f"column {base.name!r} holds {word!r}, which is not a number with the given separators "
            f"({form or 'decimal point'}); write all cells in the same format, or leave the column out with --drop "
            f"{base.name}"
        )
    if np.isinf(values).any():
        word = numbers[int(np.isinf(values).argmax())]
        raise ValueError(f"column {base.name!r} holds {word[:20]}…, which is too large for a float; rescale the column")
    how = str(form)
    base = replace(base, written=form, words=tuple(others), low=float(values.min()), high=float(values.max()))
    why = f"numbers written as text ({how})" if how else "numbers among text" if others else "numbers written as text"
    whole = _is_whole(values)
    warning = ""
    if others:
        listed = ", ".join(map(repr, others))
        warning = f"{gaps} cells are not numbers ({listed}) and count as missing; {base.name}=levels keeps them"
    if wish == "counts" and (base.low < 0 or not whole):  # type: ignore[operator]
        raise ValueError(f"column {base.name!r} holds {base.low}; counts are whole numbers from 0 on")
    if wish:
        return replace(base, role=wish, why="as asked", warning=warning)
    if whole and not how and (reason := _names_rows(base, values)):
        return replace(base, role="dropped", why=reason, warning=_ask(base.name, "numbers"))
    return replace(base, role="numbers", why=why, warning=warning)


def _date(base: Column, known: pd.Series, wish: str | None) -> Column:
    if wish == "numbers":
        days, why = to_days(known, base.name), "dates as days since 1970, on request"
        return replace(base, role="numbers", why=why, low=float(days.min()), high=float(days.max()))
    if wish:
        raise ValueError(f"column {base.name!r} holds dates, which cannot be {wish}; choose the role numbers or levels")
    return replace(base, why="dates or times", warning=_ask(base.name, "levels"))


def _levels(base: Column, counts: pd.Series, known: pd.Series, why: str) -> Column:
    """Levels, or what names the rows."""
    n, k = len(known), len(counts)
    if n >= FEW_ROWS and k > max(n / 2, FEW_ROWS):
        what = "every value differs" if k == n else f"{k} different values in {n} rows"
        return replace(base, why=f"identifies the row: {what}", warning=_ask(base.name, "levels"))
    column = _as_levels(base, known, None, why)
    return replace(column, warning=f"{k} levels, {n / k:.0f} rows each") if k > _LISTED else column


def _as_levels(base: Column, known: pd.Series, wish: str | None, why: str) -> Column:
    if wish not in (None, "levels"):
        raise ValueError(f"column {base.name!r} holds levels, so it cannot be {wish}; choose the role levels")
    listed, low, high = read_levels(known)
    why = "as asked" if wish else why or ("one of two words" if base.distinct == 2 else "text")
    levels = tuple(listed) if base.distinct <= _LISTED else ()
    return replace(base, role="levels", why=why, levels=levels, low=low, high=high)


def _ask(name: str, role: str) -> str:
    return f"{name}={role} uses it"


def _example(known: pd.Series) -> str:
    return "" if not len(known) else str(known.iloc[0])


# --- the target -----------------------------------------------------------------------------------------------------


def target_notes(target: Any, counts: pd.Series, columns: Iterable[Column]) -> tuple[str, ...]:
    """What to look at in the column of labels, of so many rows a class: many classes, or classes of a single row."""
    if len(counts) <= _MANY_CLASSES:
        return ()
    once = int((counts == 1).sum())
    single = f", {once} of them in a single row" if once else ""
    return (f"target {target!r} has {len(counts)} classes{single}{suggestion(columns)}",)


def measures(cells: pd.Series) -> str:
    """Why a target of whole or formatted numbers is a measurement and no class; "" where it may be a class."""
    known = cells.dropna()
    distinct = known.unique()
    if len(known) < FEW_ROWS or len(distinct) <= max(len(known) / 2, _MANY_CLASSES):
        return ""
    numbers = pd.to_numeric(pd.Series(distinct), errors="coerce").to_numpy(float)
    whole = np.isfinite(numbers).all() and _is_whole(numbers)  # fractions are refused in any number
    if not whole and not (_is_text(known) and np.isnan(numbers).any() and are_numbers([*map(str, distinct)])):
        return ""
    return f"holds {len(distinct)} different numbers in {len(known)} rows, so these are measurements, not classes"


def suggestion(columns: Iterable[Column]) -> str:
    """': did you mean …?', with the columns that have few levels."""
    names = [repr(c.name) for c in columns if c.role in ("levels", "yes/no") and 2 <= c.distinct <= _MANY_CLASSES]
    return f": did you mean {' or '.join(names[:4])}?" if names else "."
