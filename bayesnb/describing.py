"""`describe`: one function gives each column of a table its role, read from its cells and its name.

A wrong role costs more than a question. Columns that name the row (identifiers, names, dates) are therefore left out
unless the user asks for them.
"""

import difflib
import itertools
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from .columns import (
    CONSTANT,
    EMPTY,
    FEW_ROWS,
    LISTED,
    NUMBER,
    ROLES,
    TRUTH,
    Column,
    ColumnContract,
    NumberFormat,
    clean,
    levels_of,
    listed,
    number_format,
)

_LOOKED_AT = 50_000  # rows in which the values of a column of numbers are counted
_MANY_CLASSES = 20
_DATE = (
    r"[0-9]{4}[-/.][0-9]{1,2}[-/.][0-9]{1,2}(?:[T ].*)?|[0-9]{1,2}[-/.][0-9]{1,2}[-/.](?:[0-9]{4}|[0-9]{2})(?:[T ,].*)?"
    r"|[0-9]{4}-[0-9]{2}|[0-9]{1,2}:[0-9]{2}(?::[0-9]{2})?"
)
_IDENTIFIER = re.compile(
    r"(^|[\W_])(id|ids|uid|uuid|guid|key|nr|no|num|number|index|idx|row|rownames?|rownum|serial|account|code)($|[\W_])"
    r"|nummer$|[a-z](Id|ID|Nr|No)$"
)
_NO_LABEL = re.compile(r"[\W_]*|unknown|missing", re.IGNORECASE)


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
    for name in [*wishes, target]:
        if name is not None and name not in table.columns:
            raise ValueError(f"there is no column {name!r}; the columns are {', '.join(map(str, table.columns))}")
    known = {name: table[name].dropna().infer_objects() for name in table.columns}
    words = {name: clean(cells.astype("str")).value_counts() for name, cells in known.items() if _is_text(cells)}
    shown = _decimal_shown(*({n: one for n, one in cells.items() if n != target} for cells in (known, words)))
    writing = decimal, thousands, shown
    found: dict[Any, Column] = {}
    for name, cells in known.items():
        base, wish = Column(str(name), "dropped", "", 0, 1 - len(cells) / max(len(table), 1), ""), wishes.get(name)
        try:
            base = _written(base, words[name], wish, writing) if name in words else base
        except ValueError as error:
            if name != target:
                raise ValueError(f"column {name!r}: {error}, or --drop {name}") from error
            base = replace(base, written=NumberFormat("."))  # a target of numbers in an unknown format
        found[name] = _role(base, cells, words.get(name), wish)
    if target is None:
        return ColumnContract(tuple(found.values()), len(table))
    found[target], notes = _target(known[target], found[target])
    for name, column in found.items():
        if column.role not in ROLES:
            continue
        pairs = table[[name, target]].iloc[:_LOOKED_AT].dropna()
        distinct = pairs.drop_duplicates()
        if len(pairs) >= FEW_ROWS and len(distinct) > 1 and distinct.nunique().eq(len(distinct)).all():
            copy = f"a copy of the target {target!r}? {column.name}=drop leaves it out"
            found[name] = replace(column, warning="; ".join(filter(None, [column.warning, copy])))
    return ColumnContract(tuple(found.values()), len(table), target, notes)


def _is_text(known: pd.Series) -> bool:
    kind = known.dtype
    if isinstance(kind, pd.CategoricalDtype) or pd.api.types.is_numeric_dtype(kind) or kind.kind in "mM":
        return False
    return kind.kind != "O" or not any(isinstance(cell, list | dict | set | np.ndarray) for cell in known.iloc[:1000])


def _decimal_shown(known: dict[Any, pd.Series], words: dict[Any, pd.Series]) -> str:
    """The decimal separator that all columns agree on: floats with a fraction show a point; "" if there is none."""
    shown = {"." for one in known.values() if one.dtype.kind == "f" and (one.iloc[:_LOOKED_AT] % 1 > 0).any()}
    for one in (counts.index for counts in words.values()):
        numbers = one[one.str.fullmatch(NUMBER) & ~one.str.fullmatch(_DATE)]
        for mark in (r"\.", ","):  # no group of thousands begins with 0 or has other than three digits
            alone = numbers[numbers.str.count(mark) == 1]  # not the marks of a version or an address
            if alone.str.contains(rf"(?<![1-9])(?<![0-9]0){mark}[0-9]|{mark}(?![0-9]{{3}}(?![0-9]))[0-9]").any():
                shown |= {mark[-1]}
    return shown.pop() if len(shown) == 1 else ""


def _role(base: Column, known: pd.Series, counts: pd.Series | None, wish: str | None) -> Column:
    """The role of one column: the user's, or what its cells show."""
    if not len(known) and wish not in ("levels", "drop"):
        return replace(base, why=EMPTY)
    if counts is None and known.dtype == object:
        return replace(base, why="lists or tables in its cells")
    base = replace(base, distinct=int(known.iloc[:_LOOKED_AT].nunique()), example=str(next(iter(known), "")))
    if wish == "drop":
        return replace(base, why="left out as asked")
    if base.distinct == 1 and not wish and len(known) >= FEW_ROWS * (1 - base.missing) and known.nunique() == 1:
        return replace(base, why=CONSTANT)
    is_date = known.dtype.kind in "mM" or (
        counts is not None and counts.index.str.fullmatch(_DATE).sum() >= max(0.9 * len(counts), 1)
    )
    if is_date and not wish:
        return replace(base, why="dates or times", warning=f"{base.name}=levels uses it")
    if wish == "levels" or is_date or isinstance(known.dtype, pd.CategoricalDtype):
        return _levels(base, known, wish, "declared levels")
    if counts is None:
        return _numbers(base, known.to_numpy(float), wish, TRUTH if known.dtype.kind == "b" else "")
    if base.written is None:
        return _levels(base, known, wish, base.why, counts)
    words = pd.Series(counts.index, dtype="str")
    values = clean(known.astype("str")).map(dict(zip(words, base.written.read(words), strict=True))).dropna()
    why = f"numbers written as text, such as {base.example}" if not base.written.is_plain else ""
    return _numbers(base, values.to_numpy(float), wish, TRUTH if base.written.sign == TRUTH else why)


def _written(base: Column, counts: pd.Series, wish: str | None, writing: Any) -> Column:
    """The column with the format of its numbers, if its text is numbers."""
    words = pd.Series(counts.index, dtype="str")
    is_number = words.str.fullmatch(NUMBER) | words.str.lower().isin(["true", "false"]).all()
    numbers, others = words[is_number], words[~is_number]
    share = float(counts[numbers].sum() / max(counts.sum(), 1))
    codes = numbers[numbers.str.fullmatch("0[0-9]+")] if numbers.str.fullmatch("[0-9]+").all() else numbers[:0]
    few = share >= 0.8 and len(others) <= 5 and (len(numbers) > 10 or not len(others))
    if wish in ("levels", "drop") or not (len(numbers) and (wish or few)):
        said = f"{share:.0%} of the cells are numbers, others such as {next(iter(others), '')!r} are not"
        said += f"; {base.name}=numbers counts the others as missing"
        return replace(base, warning=said) if share > 0.5 and len(others) and not wish else base
    if len(codes) and not wish:
        return replace(base, why=f"codes with leading zeros: {codes.iloc[0]}")
    form = number_format(numbers, *writing)
    if form is None:
        return replace(base, warning=f"numbers in more than one format, such as {listed(numbers.iloc[[0, -1]])}")
    if len(others):
        said = f"{counts[others].sum()} cells are not numbers ({listed(others)}) and count as missing"
        base = replace(base, warning=f"{said}; {base.name}=levels keeps them", words=tuple(others))
    return replace(base, written=form)


def _levels(base: Column, known: pd.Series, wish: str | None, why: str, counts: pd.Series | None = None) -> Column:
    """Levels, or text that names the rows."""
    if wish not in (None, "levels"):
        raise ValueError(f"column {base.name!r} holds {base.example!r}, so it cannot be {wish}; choose the role levels")
    distinct = levels_of(known).unique().tolist()
    n, k = len(known), len(distinct)
    if counts is not None and n >= FEW_ROWS and k > max(min(n / 2, max(LISTED, n / 10)), FEW_ROWS):
        what = "identifies the row: every value differs" if k == n else f"text of {k} different values in {n} rows"
        return replace(base, distinct=k, why=what, warning=base.warning or f"{base.name}=levels uses it")
    warning = f"{k} levels, {n / k:.0f} rows each" if k > LISTED else base.warning
    why = "as asked" if wish else why or ("one of two words" if k == 2 else "text")
    levels = tuple(sorted(map(str, distinct))) if k <= LISTED else ()
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
    if whole and 0 <= low <= high <= 1 and why in ("", TRUTH) and len(known) == len(values):
        return replace(base, role="yes/no", why=why or "zeros and ones")
    some = known[:_LOOKED_AT]
    if whole and not why and (reason := _names_rows(base.name, some)):
        return replace(base, why=reason, warning=f"{base.name}=numbers uses it")
    notes = [base.warning, _codes_of_gaps(some)]
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


def _target(known: pd.Series, column: Column) -> tuple[Column, tuple[str, ...]]:
    """The column of labels, with a warning if it holds measurements, and what to look at.

    These are many classes, and labels that are spelled alike when one of them is rare.
    """
    if column.why.startswith("lists"):
        raise ValueError(f"column {column.name!r} holds {column.why}; choose another target")
    counts, form = known.value_counts(), column.written or NumberFormat(".")
    words = clean(pd.Series(counts.index.astype("str"), dtype="str"))
    numbers, n, k, warning, notes = form.read(words), len(known), len(counts), "", []
    if column.low is not None and not column.words:
        if (fractions := words[numbers % 1 > 0]).any() and not form.sign:
            warning = f"holds measurements such as {fractions.iloc[0]}, not classes; bin it or name another"
        elif n >= FEW_ROWS and k > max(n / 2, _MANY_CLASSES):
            warning = f"holds {k} different numbers in {n} rows, which are measurements; bin it or name another"
    plain = words.str.casefold().str.replace(" ", "").mask(numbers.notna(), numbers.astype(str)).tolist()[:LISTED]
    pairs = [
        f"{counts.index[i]!r} ({counts.iloc[i]} rows) and {counts.index[j]!r} ({counts.iloc[j]})"
        for i, j in itertools.combinations(range(len(plain)), 2)  # the second is not more frequent than the first
        if plain[i] == plain[j]
        or (counts.iloc[j] <= max(2, counts.iloc[i] / 10) and _one_letter_apart(plain[i], plain[j]))
    ]
    if pairs:
        what = "that differ only in how they are written, or in one letter, are classes of their own"
        notes.append(f"labels of {column.name!r} {what}: {', '.join(pairs[:4])}{' …' * (len(pairs) > 4)}")
    rare = counts[counts <= n / 10].items()
    if gaps := [f"{label!r} ({m} rows)" for label, m in rare if _NO_LABEL.fullmatch(str(label))]:
        what = f"labels of {column.name!r} that may stand for a missing one"
        notes.append(f"{what}: {', '.join(gaps)}; leave these cells empty")
    if k > _MANY_CLASSES and not warning:
        notes.append(f"target {column.name!r} has {k} classes, {(counts == 1).sum()} of them in a single row")
    notes += [f"target {column.name!r} {warning}"] if warning else []
    made = Column(column.name, "target", f"{k} classes", k, column.missing, column.example, warning)
    return made, tuple(notes)


def _one_letter_apart(one: str, other: str) -> bool:
    """Whether a letter that is added, left out or changed makes one word the other; a digit has its own meaning."""
    longest = max(len(one), len(other))
    if longest < 3 or abs(len(one) - len(other)) > 1 or any(map(str.isdigit, one + other)):
        return False
    return difflib.SequenceMatcher(None, one, other).ratio() >= 1 - 1 / longest - 1e-9
