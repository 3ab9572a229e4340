"""`describe`: one function gives each column of a table its role, read from its cells and its name.

A wrong role costs more than a question. Columns that name the row (identifiers, names, dates) are therefore left out
unless the user asks for them.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ..core.progress import tracked
from .alike import ColumnSample, alike_columns, sample_positions
from .columns import ASKED, CONSTANT, DOCUMENTS, EMPTY, FEW_ROWS, LISTED, Column, ColumnContract, levels_of
from .labels import described_target, is_copy_of_target
from .names import COUNT_WORDS, ROLES, did_you_mean, listed
from .number_text import (
    TRUTH,
    NumberFormat,
    clean_word,
    decimals_shown,
    is_code,
    is_date,
    is_number,
    missing_signs,
    number_format,
)

COUNTED_ROWS = 50_000  # rows in which the values of a column of numbers are counted
_MOST_WORDS = 5  # so many different words may stand for missing cells among numbers,
_LEAST_NUMBERS = 10  # beside more different numbers than these,
_SHARE_OF_NUMBERS = 0.8  # in at least so many of the cells
_SHARE_OF_DATES = 0.9
_DOCUMENT_WORDS = 4  # text with so many words a cell on average is taken for documents
_IDENTIFIER = re.compile(
    r"(^|[\W_])(id|ids|uid|uuid|guid|key|nr|no|num|number|index|idx|row|rownames?|rownum|serial|account|code)($|[\W_])"
    r"|nummer$|[a-z](Id|ID|Nr|No)$"
)


def describe(
    table: Any,
    target: Any = None,
    *,
    drop: Iterable[Any] = (),
    columns: Mapping[Any, str] | None = None,
    decimal: str | None = None,
    thousands: str | None = None,
    weight: Any = None,
) -> ColumnContract:
    """Describe each column of a table: its role, the reason, its values, and possible problems.

    Columns that identify the row (identifiers, names, dates) and constants get the role "dropped". Numbers written as
    text (decimal comma, thousands, currency, percent) get the role "numbers". `ColumnContract.apply` then turns the
    table into columns that a model accepts. Notes name pairs of columns that say the same, which naive Bayes counts
    twice.

    Parameters
    ----------
    table : data frame (n, d)
    target : name of the column of labels, if it is in the table
    drop : names of columns to leave out
    columns : mapping from column name to the role that you want: "numbers", "counts", "yes/no", "levels" or "drop"
    decimal, thousands : separators in numbers written as text; by default they are found from the cells
    weight : name of a column of sample weights, which is no feature

    Raises
    ------
    ValueError
        if `drop`, `columns`, `weight` or `target` names an unknown column or role, or if a column holds text such as
        "15.018" that may mean fifteen or fifteen thousand. The message names the column and the argument to set

    Examples
    --------
    >>> import bayesnb, pandas as pd
    >>> table = pd.DataFrame({"id": range(100, 140), "weight": [1.5, 2.5] * 20, "kind": ["a", "b"] * 20})
    >>> print(bayesnb.describe(table, target="kind").to_frame()["role"].to_dict())
    {'id': 'dropped', 'weight': 'numbers', 'kind': 'target'}
    """
    frame = _as_frame(table)
    wishes = {**(columns or {}), **dict.fromkeys(drop, "drop")}
    _check_separators(decimal, thousands)
    _check_names(frame, wishes, target, weight)
    cells = {name: _cells_of(frame, name) for name in frame.columns}
    shown = _decimal_of_table([cells[name] for name in frame.columns if name != target])
    writing = _Writing(decimal, thousands, shown)
    judged: dict[Any, _Judged] = {}
    for name in tracked(frame.columns, "columns", len(frame.columns), "columns read"):
        if name == weight:
            numbers = _judged_feature(cells[name], "numbers", writing).column
            judged[name] = _Judged(replace(numbers, role="weight", why="sample weights", words=(), warning=""))
        elif name == target:
            judged[name] = _judged_target(cells[name], writing)
        else:
            judged[name] = _judged_feature(cells[name], wishes.get(name), writing)
    described = {name: judgement.column for name, judgement in judged.items()}
    notes: tuple[str, ...] = ()
    if target is not None:
        described[target], notes = described_target(cells[target].known, described[target])
        described = _with_copies_named(frame, target, described)
    samples = [ColumnSample(c.name, c.role, judged[name].sample) for name, c in described.items() if c.is_used]
    return ColumnContract(tuple(described.values()), len(frame), target, (*notes, *alike_columns(samples)))


# --- what is asked for ----------------------------------------------------------------------------------------------


def _as_frame(table: Any) -> pd.DataFrame:
    """The table as a data frame of pandas."""
    if isinstance(table, pd.DataFrame):
        return table
    if hasattr(table, "to_pandas"):
        frame: pd.DataFrame = table.to_pandas()
        return frame
    return pd.DataFrame(table)


def _check_separators(decimal: str | None, thousands: str | None) -> None:
    """Raise a ValueError unless both are one character, and differ."""
    lengths = {len(decimal or "."), len(thousands or ",")}
    if lengths != {1} or (decimal and decimal == thousands):
        raise ValueError(
            f"`decimal` and `thousands` are {decimal!r} and {thousands!r}; they need to be one character each, "
            "such as '.' or ',', and to differ"
        )


def _check_names(frame: pd.DataFrame, wishes: Mapping[Any, str], target: Any, weight: Any) -> None:
    """Raise a ValueError on a column or a role that does not exist, or on two columns of one name."""
    if not frame.columns.is_unique:
        raise ValueError(f"more than one column has the name {frame.columns[frame.columns.duplicated()][0]!r}")
    unknown_roles = {*wishes.values()} - {*ROLES, "drop"}
    if unknown_roles:
        role = min(unknown_roles)
        raise ValueError(
            f"`columns` has the role {role!r}; choose one of {', '.join(ROLES)} and drop{did_you_mean(role, ROLES)}"
        )
    for name in [*wishes, target, weight]:
        if name is not None and name not in frame.columns:
            names = list(map(str, frame.columns))
            shown = ", ".join(names[:LISTED])
            raise ValueError(f"there is no column {name!r}; the columns are {shown}{did_you_mean(name, names)}")
    if weight is not None and weight == target:
        raise ValueError(f"column {weight!r} is both the target and the weight; name two columns")


# --- the cells of a column ------------------------------------------------------------------------------------------


class _Writing(NamedTuple):
    """How numbers are written: separators that the user named, and the decimal separator that the table shows."""

    decimal: str | None
    thousands: str | None
    shown: str


@dataclass(frozen=True)
class _Cells:
    """The cells of one column.

    Fields
    ------
    name : the column
    known : the cells that are not missing, in their own type
    is_known : (n,) which cells these are
    texts : the known cells of a column of text without blanks around them; None of other columns
    words : how many cells hold each of these texts, the most frequent first, without signs of a missing cell
    signs : how many cells hold each sign that stands for a missing cell
    """

    name: str
    known: pd.Series
    is_known: np.ndarray
    texts: list[str] | None
    words: dict[str, int]
    signs: dict[str, int]

    @property
    def n_rows(self) -> int:
        """Rows of the table."""
        return len(self.is_known)

    @property
    def n_known(self) -> int:
        """Number of cells that hold a value."""
        return len(self.known) - sum(self.signs.values())

    @property
    def is_text(self) -> bool:
        """Whether the cells are text."""
        return self.texts is not None

    def first(self) -> str:
        """The first value, as text."""
        for value in self.known:
            if not self.is_text or clean_word(str(value)) not in self.signs:
                return str(value)
        return ""

    def n_distinct(self, n_rows: int | None = None) -> int:
        """Number of different values, of numbers in the first rows."""
        if self.is_text:
            return len(self.words)
        return int(self.known.iloc[:n_rows].nunique())

    def missing_share(self, n_known: int | None = None) -> float:
        """Share of cells without a value."""
        return 1 - (self.n_known if n_known is None else n_known) / max(self.n_rows, 1)

    def blank(self) -> Column:
        """The column as it is left out without a reason yet."""
        return Column(self.name, "dropped", "", 0, self.missing_share(), "")


def _cells_of(frame: pd.DataFrame, name: Any) -> _Cells:
    """The cells of one column, their words counted."""
    column = frame[name]
    is_known = column.notna().to_numpy()
    cells = column if is_known.all() else column[is_known]
    if cells.dtype == object:
        cells = cells.infer_objects()
    if not _is_text(cells):
        return _Cells(str(name), cells, is_known, None, {}, {})
    texts = [clean_word(str(value)) for value in cells.tolist()]
    counts = dict(Counter(texts).most_common())
    signs = {sign: counts.pop(sign) for sign in sorted(missing_signs(counts))}
    return _Cells(str(name), cells, is_known, texts, counts, signs)


def _is_text(known: pd.Series) -> bool:
    """Whether cells are text, or objects that are shown as text."""
    kind = known.dtype
    if isinstance(kind, pd.CategoricalDtype) or pd.api.types.is_numeric_dtype(kind) or kind.kind in "mM":
        return False
    if kind.kind != "O" or isinstance(kind, pd.StringDtype):
        return True
    return not any(isinstance(value, list | dict | set | np.ndarray) for value in known.iloc[:1000])


def _decimal_of_table(columns: Iterable[_Cells]) -> str:
    """The decimal separator that all columns agree on; "" if they show none, or both."""
    shown: set[str] = set()
    for cells in columns:
        if cells.is_text:
            shown |= decimals_shown(cells.words)
        elif cells.known.dtype.kind == "f" and (cells.known.iloc[:COUNTED_ROWS] % 1 > 0).any():
            shown.add(".")
    return shown.pop() if len(shown) == 1 else ""


# --- the role of a column -------------------------------------------------------------------------------------------


class _Judged(NamedTuple):
    """A column with its role, and its cells in some of the rows as numbers, of levels their codes; NaN is missing."""

    column: Column
    sample: np.ndarray = np.zeros(0)


def _judged_feature(cells: _Cells, wish: str | None, writing: _Writing) -> _Judged:
    """The role of a feature: the user's, or what its cells show."""
    blank = cells.blank()
    if not cells.n_known and wish not in ("levels", "drop"):
        return _Judged(replace(blank, why=EMPTY))
    if not cells.is_text and cells.known.dtype == object:
        return _Judged(replace(blank, why="lists or tables in its cells"))
    base = replace(blank, distinct=cells.n_distinct(COUNTED_ROWS), example=cells.first())
    if wish == "drop":
        return _Judged(replace(base, why="left out as asked"))
    if base.distinct == 1 and not wish and cells.n_rows >= FEW_ROWS and cells.n_distinct() == 1:
        return _Judged(replace(base, why=CONSTANT))
    dates = _are_dates(cells)
    if dates and not wish:
        return _Judged(replace(base, why="dates or times", warning=f"{base.name}=levels uses it"))
    if wish == "levels" or dates or isinstance(cells.known.dtype, pd.CategoricalDtype):
        return _judged_levels(cells, base, wish, "declared levels")
    if not cells.is_text:
        why = TRUTH if cells.known.dtype.kind == "b" else ""
        return _judged_numbers(cells, base, cells.known.to_numpy(float), wish, why)
    base = _with_number_format(cells, base, wish, writing)
    if base.written is None:
        return _judged_levels(cells, base, wish, base.why)
    return _judged_numbers(cells, base, _numbers_of_texts(cells, base.written), wish, _why_of_text(base))


def _judged_target(cells: _Cells, writing: _Writing) -> _Judged:
    """The column of labels as a feature; labels may be numbers in an unknown format."""
    try:
        return _judged_feature(cells, None, writing)
    except ValueError:
        numbers = NumberFormat(".")
        base = replace(cells.blank(), distinct=cells.n_distinct(COUNTED_ROWS), example=cells.first(), written=numbers)
        return _judged_numbers(cells, base, _numbers_of_texts(cells, numbers), None, _why_of_text(base))


def _are_dates(cells: _Cells) -> bool:
    """Whether the cells are dates, or text of dates."""
    if cells.known.dtype.kind in "mM":
        return True
    if not cells.is_text or not cells.words:
        return False
    n_dates = sum(is_date(word) for word in cells.words)
    return n_dates >= max(_SHARE_OF_DATES * len(cells.words), 1)


def _numbers_of_texts(cells: _Cells, written: NumberFormat) -> np.ndarray:
    """The numbers that cells of text hold, (n_numbers,)."""
    words = list(cells.words)
    numbers = dict(zip(words, written.read(words).tolist(), strict=True))
    values = np.array([numbers.get(text, np.nan) for text in cells.texts or ()], float)
    return values


def _why_of_text(column: Column) -> str:
    """The reason for a column of numbers written as text; "" if any parser reads them."""
    if column.written is None or column.written.is_plain:
        return ""
    if column.written.sign == TRUTH:
        return TRUTH
    return f"numbers written as text, such as {column.example}"


# --- numbers written as text ----------------------------------------------------------------------------------------


def _with_number_format(cells: _Cells, base: Column, wish: str | None, writing: _Writing) -> Column:
    """The column with the format of its numbers, if its text is numbers; otherwise `written` stays None."""
    numbers, others = _split_words(list(cells.words))
    n_numbers = sum(cells.words[word] for word in numbers)
    share = n_numbers / max(cells.n_known, 1)
    if not numbers or not (wish or _are_numbers(numbers, others, share)):
        if share > 0.5 and others and not wish:
            return base.with_warning(
                f"{share:.0%} of the cells are numbers, others such as {others[0]!r} are not; "
                f"{base.name}=numbers counts the others as missing"
            )
        return base
    codes = [word for word in numbers if is_code(word)]
    if codes and all(word.isdigit() for word in numbers) and not wish:
        return replace(base, why=f"codes with leading zeros: {codes[0]}")
    written = _format_of(base.name, numbers, wish, writing)
    if written is None:
        return base.with_warning(f"numbers in more than one format, such as {listed([numbers[0], numbers[-1]])}")
    if others:
        n_others = sum(cells.words[word] for word in others)
        base = base.with_warning(
            f"{n_others} cells are not numbers ({listed(others)}) and count as missing; {base.name}=levels keeps them"
        )
    base = base.with_warning(_said_of_signs(cells))
    return replace(base, written=written, words=(*others, *cells.signs))


def _split_words(words: list[str]) -> tuple[list[str], list[str]]:
    """Words that look like numbers, and the others; true and false are numbers if there are no other words."""
    if all(word.lower() in ("true", "false") for word in words):
        return words, []
    numbers = [word for word in words if is_number(word)]
    if len(numbers) == len(words):
        return numbers, []
    number_set = set(numbers)
    return numbers, [word for word in words if word not in number_set]


def _said_of_signs(cells: _Cells) -> str:
    """How many cells hold a sign that is read as missing; "" if none does."""
    if not cells.signs:
        return ""
    n_signs = sum(cells.signs.values())
    return f"{n_signs} cells are {listed(cells.signs)} and count as missing"


def _are_numbers(numbers: list[str], others: list[str], share: float) -> bool:
    """Whether a column of these words is one of numbers, in which a few words stand for missing cells."""
    if not others:
        return True
    return share >= _SHARE_OF_NUMBERS and len(others) <= _MOST_WORDS and len(numbers) > _LEAST_NUMBERS


def _format_of(name: str, numbers: list[str], wish: str | None, writing: _Writing) -> NumberFormat | None:
    """The format of numbers; None if they have no common one.

    Separators that the user names do not make numbers of a column that is none without them, such as versions.
    """
    try:
        if not (writing.decimal or writing.thousands):
            return number_format(numbers, clear=writing.shown)
        if not wish and not _are_numbers_in_some_format(numbers):
            return None
        return number_format(numbers, writing.decimal, writing.thousands, writing.shown)
    except ValueError as error:
        raise ValueError(f"column {name!r}: {error}, or --drop {name}") from error


def _are_numbers_in_some_format(words: list[str]) -> bool:
    """Whether there is one format, or two, in which all words are numbers."""
    try:
        return number_format(words) is not None
    except ValueError:
        return True


# --- levels ---------------------------------------------------------------------------------------------------------


def _judged_levels(cells: _Cells, base: Column, wish: str | None, why: str) -> _Judged:
    """Levels, or text that names the rows."""
    if wish not in (None, "levels"):
        raise ValueError(f"column {base.name!r} holds {base.example!r}, so it cannot be {wish}; choose the role levels")
    levels = set(levels_of(cells.known, kept=cells.words).dropna().unique())
    base = replace(base, distinct=len(levels))
    if cells.is_text and wish is None and _is_text_of_rows(len(levels), cells.n_known):
        return _Judged(_left_out_text(cells, base))
    if len(levels) > LISTED:
        base = replace(base, warning=f"{len(levels)} levels, {cells.n_known / len(levels):.0f} rows each")
    base = base.with_warning(_said_of_signs(cells))
    if wish:
        why = ASKED
    elif not why:
        why = "one of two words" if len(levels) == 2 else "text"
    listed_levels = tuple(sorted(map(str, levels))) if len(levels) <= LISTED else ()
    return _Judged(replace(base, role="levels", why=why, levels=listed_levels), _sample_of_levels(cells))


def _is_text_of_rows(n_levels: int, n: int) -> bool:
    """Whether text of so many levels in n rows names the rows: most differ, or many levels have few rows each."""
    max_levels = max(min(n / 2, max(LISTED, n / 10)), FEW_ROWS)
    return n >= FEW_ROWS and n_levels > max_levels


def _left_out_text(cells: _Cells, base: Column) -> Column:
    """A column of text that is left out: documents, or names of the rows."""
    n_words = sum(len(word.split()) * count for word, count in cells.words.items()) / max(cells.n_known, 1)
    if n_words >= _DOCUMENT_WORDS:
        return replace(base, why=f"{DOCUMENTS} of {n_words:.0f} words on average", warning=COUNT_WORDS)
    why = f"text of {base.distinct} different values in {cells.n_known} rows"
    if base.distinct == cells.n_known:
        why = "identifies the row: every value differs"
    return replace(base, why=why, warning=base.warning or f"{base.name}=levels uses it")


def _sample_of_levels(cells: _Cells) -> np.ndarray:
    """Codes of the levels in some of the rows, in the order of their first cell; NaN is missing."""
    positions = sample_positions(cells.n_rows)
    column = pd.Series(np.full(cells.n_rows, None, object))
    column[cells.is_known] = levels_of(cells.known, kept=cells.words).to_numpy(object)
    codes, _ = pd.factorize(column.to_numpy()[positions])
    return np.where(codes < 0, np.nan, codes)


# --- numbers --------------------------------------------------------------------------------------------------------


def _judged_numbers(cells: _Cells, base: Column, values: np.ndarray, wish: str | None, why: str) -> _Judged:
    """Cells that are numbers, given as an array of the known cells, NaN where a word stands for a missing cell."""
    n_numbers = int((~np.isnan(values)).sum())
    numbers = values[np.isfinite(values)]
    if wish in ("counts", "yes/no"):
        _refuse_other_than(numbers, wish, base.name)
    base = replace(base, missing=cells.missing_share(n_numbers), low=0.0, high=0.0)
    if len(numbers):
        base = replace(base, low=float(numbers.min()), high=float(numbers.max()))
    column = _with_role_of_numbers(base, numbers, wish, why, are_finite=len(numbers) == n_numbers)
    return _Judged(column, _sample(cells, values))


def _refuse_other_than(numbers: np.ndarray, wish: str, name: str) -> None:
    """Raise a ValueError on numbers that are no counts, or none of 0 and 1."""
    is_wrong = (numbers < 0) | (numbers % 1 != 0)
    if wish == "yes/no":
        is_wrong |= numbers > 1
    if is_wrong.any():
        what = f"holds {numbers[is_wrong][0]:g}, so it cannot be {wish}"
        raise ValueError(f"column {name!r} {what}; choose the role numbers or levels")


def _with_role_of_numbers(base: Column, numbers: np.ndarray, wish: str | None, why: str, are_finite: bool) -> Column:
    """The column with the role that its numbers show, or that the user asks for."""
    if wish:
        return replace(base, role=wish, why=ASKED)
    are_whole = bool((numbers % 1 == 0).all())
    has_unit = base.written is not None and base.written.sign not in ("", TRUTH)
    if are_whole and base.low in (0, 1) and base.high in (0, 1) and are_finite and not has_unit:
        return replace(base, role="yes/no", why=TRUTH if why == TRUTH else "zeros and ones")
    first = numbers[:COUNTED_ROWS]
    if are_whole and not why:
        reason = _reason_to_name_rows(base.name, first)
        if reason:
            return replace(base, why=reason, warning=f"{base.name}=numbers uses it")
    why = why or ("whole numbers" if are_whole else "numbers")
    return replace(base, role="numbers", why=why).with_warning(_codes_of_gaps(first))


def _sample(cells: _Cells, values: np.ndarray) -> np.ndarray:
    """Numbers in some of the rows; NaN is missing."""
    column = np.full(cells.n_rows, np.nan)
    column[cells.is_known] = values
    return column[sample_positions(cells.n_rows)]


def _reason_to_name_rows(name: str, values: np.ndarray) -> str:
    """Why whole numbers name the rows; "" if they do not."""
    n = len(values)
    if n < FEW_ROWS:
        return ""
    low = int(values.min())
    high = int(values.max())
    if _are_dates_as_numbers(values):
        return "dates written as numbers, YYYYMMDD"
    n_distinct = len(np.unique(values))
    if _IDENTIFIER.search(name) and n_distinct > n / 2:
        return f"an identifier by its name, {n_distinct} different values"
    if n_distinct < n:
        return ""
    if high - low + 1 <= 1.1 * n:
        return "row numbers: all differ and follow each other"
    n_round = (values % 10 == 0).mean()
    if low >= 100_000 and len(str(low)) == len(str(high)) and n_round < 0.3:
        return f"an identifier: all differ and have {len(str(low))} digits"
    return ""


def _are_dates_as_numbers(values: np.ndarray) -> bool:
    """Whether whole numbers are all dates YYYYMMDD from 1900 to 2100."""
    if values.min() < 19000101 or values.max() > 21001231:
        return False
    month = values // 100 % 100
    day = values % 100
    return bool(((month >= 1) & (month <= 12) & (day >= 1) & (day <= 31)).all())


def _codes_of_gaps(values: np.ndarray) -> str:
    """Numbers that occur three times or more, farther from the rest than the rest is wide, such as 999; "" if none."""
    codes: list[str] = []
    for sign in (1, -1):  # the upper end, and then the lower one
        distinct, counts = np.unique(sign * values, return_counts=True)
        n_codes = _number_of_codes(distinct, counts)
        if n_codes:
            last = zip(distinct[-n_codes:], counts[-n_codes:], strict=True)
            codes += [f"{sign * value:g} ({n} times)" for value, n in last]
            values = values[sign * values < distinct[-n_codes]]
    if not codes:
        return ""
    others = f"{values.min():g} to {values.max():g}"
    advice = "if this stands for a missing cell, leave the cell empty"
    return f"{', '.join(codes)} far outside of the other numbers, {others}; {advice}"


def _number_of_codes(distinct: np.ndarray, counts: np.ndarray) -> int:
    """How many of the largest three values are far above all others and occur three times or more."""
    for k in range(min(3, len(distinct) - 2), 0, -1):
        width = distinct[-k - 1] - distinct[0]
        if counts[-k:].min() >= 3 and distinct[-k] - distinct[-k - 1] > width:
            return k
    return 0


# --- copies of the target -------------------------------------------------------------------------------------------


def _with_copies_named(frame: pd.DataFrame, target: Any, described: dict[Any, Column]) -> dict[Any, Column]:
    """The columns, with a warning beside each that is the target under another name."""
    labels = frame[target].iloc[:COUNTED_ROWS]
    n_labels = labels.nunique() + int(labels.isna().sum())
    named = dict(described)
    for name, column in described.items():
        if not column.is_used or column.distinct > n_labels:
            continue
        if is_copy_of_target(frame[name].iloc[:COUNTED_ROWS], labels):
            named[name] = column.with_warning(f"a copy of the target {target!r}? {column.name}=drop leaves it out")
    return named
