"""`describe`: one function gives each column its role, read from its cells and its name."""

import itertools
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd

from .columns import (
    FEW_ROWS,
    LISTED,
    ROLES,
    Column,
    ColumnContract,
    to_days,
    to_level,
)
from .number_text import AmbiguousNumbers, is_code, looks_like_number, number_format

_DATE = re.compile(
    r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}([T ].*)?|\d{1,2}[-/.]\d{1,2}[-/.](\d{4}|\d{2})([T ,].*)?|\d{4}-\d{2}"
    r"|\d{1,2}:\d{2}(:\d{2})?"
)
_IDENTIFIER = re.compile(
    r"(^|[\W_])(id|ids|uid|uuid|guid|key|nr|no|num|number|index|idx|row|rownames?|rownum|serial|account|code)($|[\W_])"
    r"|nummer$|[a-z](Id|ID|Nr|No)$"
)
_POSTAL = re.compile(r"(^|[\W_])(zip|zipcode|postal|postcode|plz)($|[\W_])", re.IGNORECASE)
_LOOKED_AT = 50_000  # rows in which the values of a column of numbers are counted
_MANY_CLASSES = 20
_COMPARED = 200  # labels, the most frequent, that are compared with each other


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
    for name, value in (("decimal", decimal), ("thousands", thousands)):
        if value is not None and len(value) != 1:
            raise ValueError(f"`{name}` is {value!r}; it needs to be one character, such as '.' or ','")
    if decimal is not None and decimal == thousands:
        raise ValueError(f"`decimal` and `thousands` are both {decimal!r}; they need to differ")
    if not table.columns.is_unique:
        raise ValueError(f"more than one column has the name {table.columns[table.columns.duplicated()][0]!r}")
    wishes = {**(columns or {}), **dict.fromkeys(drop, "drop")}
    for name, role in wishes.items():
        if role not in (*ROLES, "drop"):
            raise ValueError(f"`columns` has {role!r} for {name!r}; choose one of {', '.join(ROLES)} and drop")
    for name in [*wishes, *([] if target is None else [target])]:
        if name not in table.columns:
            raise ValueError(f"there is no column {name!r}; the columns are {', '.join(map(str, table.columns))}")
    cells = {name: _known(table[name]) for name in table.columns}
    words = {name: one.astype(str).value_counts() for name, one in cells.items() if name != target and _is_text(one)}
    shown = {_shown_decimal(cells[name], words.get(name)) for name in table.columns if name != target} - {""}
    writing = decimal, thousands, shown.pop() if len(shown) == 1 else None
    found = []
    for name, known in cells.items():
        missing = 1 - len(known) / max(len(table), 1)
        example = str(known.iloc[0]) if len(known) else ""
        nested = known.dtype.kind == "O" and name not in words and name != target
        distinct = 0 if nested else int(known.iloc[:_LOOKED_AT].nunique())
        base = Column(str(name), "dropped", "", distinct, missing, example)
        if name == target:
            k = int(known.nunique())
            found.append(replace(base, role="target", why=f"{k} classes", distinct=k))
            continue
        column = _role(base, known, words.get(name), wishes.get(name), writing)
        if target is not None and column.role in ROLES and _is_copy(table[name], table[target]):
            warning = f"a copy of the target {target!r}? {column.name}=drop leaves it out"
            column = replace(column, warning="; ".join(filter(None, [column.warning, warning])))
        found.append(column)
    notes = () if target is None else _target_notes(target, cells[target], found)
    return ColumnContract(tuple(found), len(table), target, notes)


def _known(cells: pd.Series) -> pd.Series:
    """The cells that have a value, with the type of what they hold."""
    if cells.dtype.kind == "f" and isinstance(cells.dtype, np.dtype) and not np.isnan(cells.to_numpy()).any():
        return cells  # at a tenth of the time of `dropna`
    known = cells.dropna()
    return known.infer_objects() if known.dtype == object else known


def _is_text(known: pd.Series) -> bool:
    kind = known.dtype
    if isinstance(kind, pd.CategoricalDtype) or pd.api.types.is_numeric_dtype(kind) or kind.kind in "mM":
        return False
    return kind.kind != "O" or not any(isinstance(cell, list | dict | set | np.ndarray) for cell in known.iloc[:1000])


def _shown_decimal(known: pd.Series, counts: pd.Series | None) -> str:
    """The decimal separator that a column settles itself; floats with a fraction show a point."""
    if counts is None:
        if known.dtype.kind != "f":
            return ""
        values = known.iloc[:_LOOKED_AT].to_numpy(float)
        return "." if (values != np.floor(values)).any() else ""
    numbers = [cell for cell in counts.index if looks_like_number(cell) and not _DATE.fullmatch(cell.strip())]
    try:
        form = number_format(numbers) if len(numbers) >= 0.8 * len(counts) else None
    except AmbiguousNumbers:
        return ""
    return form.decimal if form and any(form.decimal in cell for cell in numbers) else ""


def _is_copy(cells: pd.Series, target: pd.Series) -> bool:
    """Whether each value of a column stands for one label, and each label for one value."""
    pairs = pd.DataFrame({"cell": cells, "label": target}).iloc[:_LOOKED_AT].dropna()
    if pairs["cell"].iloc[:1000].nunique() > pairs["label"].iloc[:1000].nunique() or len(pairs) < FEW_ROWS:
        return False
    pairs = pairs.drop_duplicates()
    return len(pairs) > 1 and pairs["cell"].is_unique and pairs["label"].is_unique


def _role(base: Column, known: pd.Series, counts: pd.Series | None, wish: str | None, writing: Any) -> Column:
    """The role of one column: the user's, or what its cells show."""
    if not len(known):
        return replace(base, why="no value in any row")
    if counts is None and known.dtype == object:
        return replace(base, role="levels", why="cells of several values")  # which is refused where it is used
    if wish == "drop":
        return replace(base, why="left out as asked")
    if base.distinct == 1 and wish is None and known.nunique() == 1:
        return replace(base, why="the same value in every row")
    numeric = pd.api.types.is_numeric_dtype(known)
    if wish == "levels" or isinstance(known.dtype, pd.CategoricalDtype):
        return _levels(base, known, wish, "declared levels")
    if numeric:
        return _numbers(base, known.to_numpy(float), wish, "true or false" if known.dtype.kind == "b" else "")
    if counts is None:
        return _date(base, known, wish)
    return _text(base, known, counts, wish, writing)


def _numbers(base: Column, values: np.ndarray, wish: str | None, why: str) -> Column:
    """Cells that are numbers."""
    low, high = float(values.min()), float(values.max())
    finite = bool(np.isfinite([low, high]).all())
    whole = finite and bool((values[:1000] % 1 == 0).all() and (values % 1 == 0).all())
    base = replace(base, low=low, high=high)
    if not finite:
        base = replace(
            base, warning="holds infinity, which no model takes; leave the cell empty if its value is unknown"
        )
    if wish == "counts" and (low < 0 or not whole):
        wrong = low if low < 0 else "fractions"
        raise ValueError(f"column {base.name!r} holds {wrong}; counts are whole numbers from 0 on")
    is_truth = whole and 0 <= low and high <= 1
    if wish == "yes/no" and not is_truth:
        raise ValueError(f"column {base.name!r} holds other values than 0 and 1; choose the role numbers or levels")
    if wish:
        return replace(base, role=wish, why="as asked")
    if is_truth and not (why and base.written):
        return replace(base, role="yes/no", why=why or "zeros and ones")
    if whole and not why and (reason := _names_rows(base.name, values[:_LOOKED_AT])):
        return replace(base, why=reason, warning=f"{base.name}=numbers uses it")
    if whole and not base.warning and _POSTAL.search(base.name):
        base = replace(base, warning=f"a postal code? {base.name}=levels makes it levels")
    if finite and (codes := _codes_of_gaps(values)):
        base = replace(base, warning="; ".join(filter(None, [base.warning, codes])))
    return replace(base, role="numbers", why=why or ("whole numbers" if whole else "numbers"))


def _codes_of_gaps(values: np.ndarray) -> str:
    """Numbers that occur three times or more, farther from the rest than the rest is wide, such as 999; "" if none."""
    if min((values == values.min()).sum(), 3) + min((values == values.max()).sum(), 3) < 3:
        return ""
    rest, counts = np.unique(values, return_counts=True)
    codes = []
    for _ in range(2):  # the upper end, and then the lower one
        for k in (3, 2, 1):
            inner = rest[:-k]
            if len(inner) > 1 and (counts[-k:] >= 3).all() and abs(rest[-k] - inner[-1]) > abs(inner[-1] - inner[0]):
                codes += [f"{value:g} ({count} times)" for value, count in zip(rest[-k:], counts[-k:], strict=True)]
                rest, counts = inner, counts[:-k]
                break
        rest, counts = rest[::-1], counts[::-1]
    others = f"{rest.min():g} to {rest.max():g}"
    advice = "if this stands for a missing cell, leave the cell empty"
    return f"{', '.join(codes)} far outside of the other numbers, {others}; {advice}" if codes else ""


def _names_rows(name: str, values: np.ndarray) -> str:
    """Why whole numbers name the rows; "" where they do not."""
    n, low, high, distinct = len(values), int(values.min()), int(values.max()), len(np.unique(values))
    if n < FEW_ROWS:
        return ""
    if 19000101 <= low and high <= 21001231:
        month, day = values // 100 % 100, values % 100
        if ((month >= 1) & (month <= 12) & (day >= 1) & (day <= 31)).all():
            return "dates written as numbers, YYYYMMDD"
    if _IDENTIFIER.search(name) and distinct > n / 2:
        return f"an identifier by its name, {distinct} different values"
    if distinct == n and high - low + 1 <= 1.1 * n:
        return "row numbers: all differ and follow each other"
    if distinct == n and low >= 100_000 and len(str(low)) == len(str(high)) and (values % 10 == 0).mean() < 0.3:
        return f"an identifier: all differ and have {len(str(low))} digits"
    return ""


def _text(base: Column, known: pd.Series, counts: pd.Series, wish: str | None, writing: Any) -> Column:
    """Cells that are text, or Python objects."""
    words = [word for word in counts.index if word.strip()]
    dates = [word for word in words if _DATE.fullmatch(word.strip())]
    if words and len(dates) >= 0.9 * len(words) and not (wish and writing[0]):
        return _date(base, known, wish)
    numbers = [word for word in words if looks_like_number(word)]
    others = [word for word in words if not looks_like_number(word)]
    share = counts[numbers].sum() / max(counts[words].sum(), 1)
    few = len(others) <= 5 and share >= 0.8 and (len(numbers) > 10 or not others)
    if not numbers or not (few or wish):
        if wish:
            what = f"text such as {others[0]!r}, so it cannot be {wish}; choose the role levels"
            raise ValueError(f"column {base.name!r} holds {what}")
        column = _levels(base, known, None, "", counts)
        warning = f"{share:.0%} of the cells are numbers, others such as {next(iter(others), '')!r} are not"
        return replace(column, warning=warning) if share > 0.5 and others and column.role == "levels" else column
    codes = [word.strip() for word in numbers if is_code(word)]
    if codes and not wish and all(word.strip().isdigit() for word in numbers):
        return _levels(base, known, None, f"codes with leading zeros: {codes[0]}", counts)
    try:
        form = number_format(numbers, *writing)
    except AmbiguousNumbers as error:
        one = error.separator
        raise ValueError(
            f"column {base.name!r}: {error}, and no other cell decides it; give --decimal {one} or --thousands {one} "
            f"(in Python decimal={one!r} or thousands={one!r} of `describe` or `read_table`), or --drop {base.name}"
        ) from error
    if form is None:
        if not wish:
            return _levels(base, known, None, "", counts)
        raise ValueError(
            f"column {base.name!r} cannot be read as {wish}: the cells are written in different formats. Write them in "
            "one format"
        )
    value = {word: form.number(word) for word in numbers}
    for word, number in value.items():
        if np.isnan(number):
            raise ValueError(
                f"column {base.name!r} holds {word!r}, which is not a number with the given separators "
                f"({str(form) or 'decimal point'}); write all cells in one format, or leave it out with "
                f"--drop {base.name}"
            )
        if np.isinf(number):
            raise ValueError(
                f"column {base.name!r} holds {word[:20]}…, which is too large for a float; rescale the column"
            )
    how = str(form)
    if others:
        gaps = int(counts[others].sum())
        said = f"{gaps} cells are not numbers ({', '.join(map(repr, others))}) and count as missing"
        base = replace(base, warning=f"{said}; {base.name}=levels keeps them", words=tuple(map(str.strip, others)))
    why = f"numbers written as text ({how})" if how else ""
    values = known.astype(str).map(value).dropna().to_numpy(float)
    return _numbers(replace(base, written=form), values, wish, why)


def _date(base: Column, known: pd.Series, wish: str | None) -> Column:
    if wish == "numbers":
        days, why = to_days(known, base.name), "dates as days since 1970, on request"
        return replace(base, role="numbers", why=why, low=float(days.min()), high=float(days.max()))
    if wish:
        raise ValueError(f"column {base.name!r} holds dates, which cannot be {wish}; choose the role numbers or levels")
    return replace(base, why="dates or times", warning=f"{base.name}=levels uses it")


def _levels(base: Column, known: pd.Series, wish: str | None, why: str, counts: pd.Series | None = None) -> Column:
    """Levels, or text that names the rows."""
    if wish not in (None, "levels"):
        raise ValueError(f"column {base.name!r} holds levels, so it cannot be {wish}; choose the role levels")
    distinct = known.unique().tolist()
    n, k = len(known), len(distinct)
    if counts is not None and n >= FEW_ROWS and k > max(min(n / 2, max(LISTED, n / 10)), FEW_ROWS):
        what = "identifies the row: every value differs" if k == n else f"text of {k} different values in {n} rows"
        return replace(base, distinct=k, why=what, warning=f"{base.name}=levels uses it")
    low = high = None
    if all(isinstance(one, Real | Decimal) for one in distinct):
        low, high, distinct = float(min(distinct)), float(max(distinct)), sorted(map(to_level, distinct))
    warning = f"{k} levels, {n / k:.0f} rows each" if k > LISTED else ""
    levels = tuple(map(str, distinct if low is not None else sorted(map(str, distinct)))) if k <= LISTED else ()
    why = "as asked" if wish else why or ("one of two words" if k == 2 else "text")
    return replace(base, role="levels", why=why, distinct=k, levels=levels, low=low, high=high, warning=warning)


# --- the target -----------------------------------------------------------------------------------------------------


def _target_notes(target: Any, known: pd.Series, columns: Iterable[Column]) -> tuple[str, ...]:
    """What to look at in the column of labels: many classes, classes of a single row, labels that are spelled alike."""
    counts, notes = known.value_counts(), []
    plain = {label: "".join(str(label).casefold().split()) for label in counts.index[:_COMPARED]}
    alike = []
    for one, other in itertools.combinations(plain, 2):  # the second is not more frequent than the first
        is_rare = counts[other] <= max(2, counts[one] / 10)
        if plain[one] == plain[other] or (is_rare and _one_letter_apart(plain[one], plain[other])):
            alike.append(f"{one!r} ({counts[one]} rows) and {other!r} ({counts[other]})")
    if alike:
        what = "that differ only by case, blanks or one letter are classes of their own"
        notes.append(f"labels of {target!r} {what}: {', '.join(alike[:4])}{' …' * (len(alike) > 4)}")
    if len(counts) > _MANY_CLASSES:
        once = int((counts == 1).sum())
        single = f", {once} of them in a single row" if once else ""
        notes.append(f"target {target!r} has {len(counts)} classes{single}{suggestion(columns)}")
    return tuple(notes)


def _one_letter_apart(one: str, other: str) -> bool:
    """Whether a letter that is added, left out or changed makes one word the other; a digit has its own meaning."""
    if abs(len(one) - len(other)) > 1 or max(len(one), len(other)) < 3 or any(map(str.isdigit, one + other)):
        return False
    if len(one) == len(other):
        return sum(a != b for a, b in zip(one, other, strict=True)) == 1
    short, long = sorted([one, other], key=len)
    return any(long[:i] + long[i + 1 :] == short for i in range(len(long)))


def measures(cells: pd.Series, decimal: str | None = None, thousands: str | None = None) -> str:
    """Why a target of numbers is a measurement and no class; "" where it may be a class."""
    known = cells.dropna()
    if not all(isinstance(one, str | Real) for one in known.unique()):
        return ""
    distinct = [str(one).strip() for one in known.unique()]
    many = len(known) >= FEW_ROWS and len(distinct) > max(len(known) / 2, _MANY_CLASSES)
    try:
        form = number_format(distinct, decimal, thousands) if all(map(looks_like_number, distinct)) else None
    except AmbiguousNumbers:
        form = None
    else:
        if form is None:
            return ""
    if form and not form.sign and (cell := next((one for one in distinct if form.number(one) % 1 > 0), "")):
        return f"holds measurements such as {cell}, not classes"
    return f"holds {len(distinct)} different numbers in {len(known)} rows, so these are measurements" if many else ""


def suggestion(columns: Iterable[Column]) -> str:
    """': did you mean …?', with the columns that have few levels."""
    names = [repr(c.name) for c in columns if c.role in ("levels", "yes/no") and 2 <= c.distinct <= _MANY_CLASSES]
    return f": did you mean {' or '.join(names[:4])}?" if names else "."
