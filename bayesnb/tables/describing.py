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

from ..numerics.progress import tracked
from .alike import ColumnSample, alike_columns, sample_positions
from .columns import ASKED, CONSTANT, DOCUMENTS, EMPTY, FEW_ROWS, LISTED, Column, ColumnContract, level_text, levels_of
from .dates import ORDERS, PARTS, date_order, date_words, has_hours, moment
from .labels import described_target, is_copy_of_target
from .names import COUNT_WORDS, DATE, DATE_ROLES, ROLES, did_you_mean, listed
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
_WISHES = (*ROLES, *DATE_ROLES, "drop")  # what a user can ask for
_MOST_WORDS = 5  # so many different words may stand for missing cells among numbers,
_LEAST_NUMBERS = 10  # beside more different numbers than these,
_SHARE_OF_NUMBERS = 0.8  # in at least so many of the cells
_SHARE_OF_DATES = 0.9
_MAX_SPAN_OF_RISING = 2  # so many times the rows: numbers that rise from row to row and name these, with gaps
_FAR = 3  # times the width of all other numbers that the gap beside a far one has at least
_MIN_VALUES_BESIDE = 10  # different numbers, below which a gap says little
_DOCUMENT_WORDS = 4  # text with so many words a cell on average is taken for documents
_IDENTIFIER = re.compile(
    r"(^|[\W_])(id|ids|uid|uuid|guid|key|nr|no|num|number|index|idx|row|rownames?|rownum|serial|account|code)($|[\W_])"
    r"|nummer$|[a-z](Id|ID|Nr|No)$"
)
# such as EmployeeNumber; a CarbonNumber has equal ones
_IDENTIFIER_IF_ALL_DIFFER = re.compile(r"[a-z](Number|Key|Code|Index)$")


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
    columns : mapping from column name to the role that you want: "numbers", "counts", "yes/no", "levels" or "drop".
        With "date" the year, month, weekday and hour of dates become columns, such as "ordered.month". If no cell
        shows whether day or month is in front, "date:dmy" or "date:mdy" says it
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
    wishes = {**(columns or {}), **dict.fromkeys(drop, "drop")}  # the role that the user wants of a column, by its name
    _check_separators(decimal, thousands)
    # a date that the user wants becomes several columns, its parts, which stand behind it in the table
    dates = _dates_of(frame, {name: wish for name, wish in wishes.items() if name not in (target, weight)})
    frame = _with_parts(frame, dates)
    parts = {part.name: part for date in dates.values() for part in date.parts}
    _check_names(frame, wishes, target, weight)

    # "1,234" may be a decimal number or one with thousands. Where a column does not settle it, the decimal separator
    # that the other columns show, `of_table`, decides.
    cells = {name: _cells_of(frame, name) for name in frame.columns}
    of_table = _decimal_of_table([cells[name] for name in frame.columns if name != target])
    separators = _Separators(decimal, thousands, of_table)

    # Each column is judged by itself. A judgement is the `Column`, with its role and the reason, and `sample`: its
    # cells in some rows as numbers. The column of weights must be numbers, and that of labels may be anything.
    judged: dict[Any, _Judgement] = {}
    for name in tracked(frame.columns, "columns", len(frame.columns), "columns read"):
        if name == weight:
            numbers = _judge_feature(cells[name], "numbers", separators).column
            judged[name] = _Judgement(replace(numbers, role="weight", why="sample weights", words=(), warning=""))
        elif name == target:
            judged[name] = _judge_target(cells[name], separators)
        elif name in dates:
            judged[name] = _Judgement(dates[name].column)
        elif name in parts:
            judged[name] = _judge_part(cells[name], parts[name], wishes.get(name), separators)
        else:
            judged[name] = _judge_feature(cells[name], wishes.get(name), separators)
    described = {name: judgement.column for name, judgement in judged.items()}

    # Now columns are looked at beside each other. `described_target` gives the column of labels the role "target" and
    # notes on its labels; `_with_copies_named` warns of features that are copies of the labels; and `alike_columns`
    # gives one sentence for each feature that is a copy of an earlier one.
    notes: tuple[str, ...] = ()
    if target is not None:
        labels = described_target(cells[target].known, described[target])
        notes = labels.notes
        described[target] = labels.column
        described = _with_copies_named(frame, target, described)
    samples = [
        ColumnSample(column.name, column.role, judged[name].sample)
        for name, column in described.items()
        if column.is_used
    ]
    return ColumnContract(tuple(described.values()), len(frame), target, (*notes, *alike_columns(samples)))


# --- what is asked for ----------------------------------------------------------------------------------------------


def _as_frame(table: Any) -> pd.DataFrame:
    """The table as a data frame of pandas; tables of polars and Arrow have a method that makes one."""
    if isinstance(table, pd.DataFrame):
        return table
    if hasattr(table, "to_pandas"):
        frame: pd.DataFrame = table.to_pandas()
        return frame
    return pd.DataFrame(table)


def _check_separators(decimal: str | None, thousands: str | None) -> None:
    """Raise a ValueError unless both separators are one character, and differ; None is one that nobody named."""
    are_characters = all(len(separator) == 1 for separator in (decimal, thousands) if separator)
    are_the_same = bool(decimal) and decimal == thousands
    if not are_characters or are_the_same:
        raise ValueError(
            f"`decimal` and `thousands` are {decimal!r} and {thousands!r}; they need to be one character each, "
            "such as '.' or ',', and to differ"
        )


def _check_names(frame: pd.DataFrame, wishes: Mapping[Any, str], target: Any, weight: Any) -> None:
    """Raise a ValueError on a column or a role that does not exist, or on two columns of one name.

    Parameters
    ----------
    frame : the table
    wishes : role that the user wants of a column, by its name
    target, weight : names of the columns of labels and of sample weights, or None
    """
    if not frame.columns.is_unique:
        doubled = frame.columns[frame.columns.duplicated()][0]
        raise ValueError(f"more than one column has the name {doubled!r}")

    # Roles that the user asks for, without those that there are: numbers, counts, yes/no, levels, date and drop.
    unknown_roles = {role for role in wishes.values() if role not in _WISHES}
    if unknown_roles:
        role = min(unknown_roles)  # always the same one of several
        similar = did_you_mean(role, _WISHES)  # "; did you mean …?", or ""
        choice = f"choose one of {', '.join((*ROLES, DATE))} and drop"
        raise ValueError(f"`columns` has the role {role!r}; {choice}{similar}")

    # Each column that the user names, for a role, as labels or as weights, is in the table.
    for name in [*wishes, target, weight]:
        if name is not None and name not in frame.columns:
            names = list(map(str, frame.columns))
            shown = ", ".join(names[:LISTED])
            similar = did_you_mean(name, names)
            raise ValueError(f"there is no column {name!r}; the columns are {shown}{similar}")
    if weight is not None and weight == target:
        raise ValueError(f"column {weight!r} is both the target and the weight; name two columns")


# --- dates ----------------------------------------------------------------------------------------------------------


class _PartOfDate(NamedTuple):
    """A column that is made of a date: its name, such as "ordered.month", the date, and "month"."""

    name: str
    source: str
    part: str


class _Date(NamedTuple):
    """A date that the user wants, its parts, and their cells by name, (n,) each."""

    column: Column
    parts: list[_PartOfDate]
    cells: dict[str, pd.Series]


def _dates_of(frame: pd.DataFrame, wishes: Mapping[Any, str]) -> dict[Any, _Date]:
    """The dates that the user wants, by name.

    Parameters
    ----------
    frame : the table
    wishes : role that the user wants of a column, by its name; names that are not in the table are left out here
    """
    names = [name for name, wish in wishes.items() if wish in DATE_ROLES and name in frame.columns]
    return {name: _date(frame[name], wishes[name]) for name in names}


def _date(cells: pd.Series, wish: str) -> _Date:
    """A column of dates, with its parts. The hour is one of them if a cell has a time.

    Parameters
    ----------
    cells : (n,) of the column
    wish : "date", or with the order of year, month and day, such as "date:dmy"

    Raises
    ------
    ValueError
        if a cell is no date, or if nothing shows whether day or month is in front. The message names the column
    """
    name = str(cells.name)
    dates = date_words(cells)
    _, _, order = wish.partition(":")
    if not order:
        try:
            order = date_order(dates.words)
        except ValueError as error:
            raise ValueError(f"column {name!r}: {error}; ask for {name}=date:dmy or {name}=date:mdy") from error

    parts = [part for part in PARTS if part != "hour" or has_hours(dates.words, order)]
    column = Column(
        name=name,
        role=DATE,
        why=f"its {', '.join(parts)}; written as {ORDERS[order]}",
        distinct=len(dates.words),
        missing=float((dates.codes < 0).mean()) if len(dates.codes) else 0.0,
        example=dates.words[0] if dates.words else "",
        date_order=order,
    )
    of_date = [_PartOfDate(f"{name}.{part}", name, part) for part in parts]
    by_part = column.read_date(cells, parts)
    return _Date(column, of_date, {part.name: by_part[part.part] for part in of_date})


def _with_parts(frame: pd.DataFrame, dates: Mapping[Any, _Date]) -> pd.DataFrame:
    """The table with the parts of each date behind it; a ValueError where a column has such a name already."""
    if not dates:
        return frame
    columns: dict[Any, pd.Series] = {}
    for name in frame.columns:
        columns[name] = frame[name]
        if name not in dates:
            continue
        for part_name, cells in dates[name].cells.items():
            if part_name in frame.columns:
                raise ValueError(f"there is a column {part_name!r}, which is a part of the date {name!r}; rename it")
            columns[part_name] = cells
    return pd.DataFrame(columns, index=frame.index)


def _use_of_date(base: Column) -> str:
    """How to use a column of dates: by its parts, if its example is a date; times of day and lengths of time have none.

    `base` is the column as far as it is described.
    """
    if any(moment(base.example, order) is not None for order in ORDERS):
        return f"{base.name}=date uses its year, month, weekday and hour"
    return f"{base.name}=levels uses it"


# --- the cells of a column ------------------------------------------------------------------------------------------


class _Separators(NamedTuple):
    """How numbers are written: separators that the user named, and the decimal separator that the table shows."""

    decimal: str | None
    thousands: str | None
    of_table: str


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
        """Number of different values: of text in all rows, of numbers in the first `n_rows`, or in all by default."""
        # The words of text have been counted already; numbers have not, which takes time in a long table.
        if self.is_text:
            return len(self.words)
        return int(self.known.iloc[:n_rows].nunique())

    def missing_share(self, n_known: int | None = None) -> float:
        """Share of cells without a value.

        Parameters
        ----------
        n_known : number of cells with a value, where it is smaller than that of the cells that hold something: in a
            column of numbers a word such as "unknown" is no value
        """
        if n_known is None:
            n_known = self.n_known
        return 1 - n_known / max(self.n_rows, 1)

    def blank(self) -> Column:
        """The column with the role "dropped", without a reason, values or an example: what a judgement starts from."""
        return Column(self.name, "dropped", "", 0, self.missing_share(), "")


def _cells_of(frame: pd.DataFrame, name: Any) -> _Cells:
    """The cells of one column: those that are known, and of text how often each word occurs.

    In columns of text a cell such as "?" is missing too: such signs are counted apart from the words.

    Parameters
    ----------
    frame : the table
    name : of the column
    """
    column = frame[name]
    is_known = column.notna().to_numpy()
    cells = column if is_known.all() else column[is_known]  # a column without gaps is not copied
    if cells.dtype == object:
        cells = cells.infer_objects()  # numbers that stood as objects beside a missing cell get their own type
    if not _is_text(cells):
        return _Cells(str(name), cells, is_known, None, {}, {})

    # How many cells hold each word, the most frequent first. A word is the whole text of a cell.
    texts = [clean_word(str(value)) for value in cells.tolist()]
    counts = dict(Counter(texts).most_common())

    # signs such as "?" leave these counts, and get counts of their own
    signs = {}
    for sign in sorted(missing_signs(counts)):
        signs[sign] = counts.pop(sign)
    return _Cells(str(name), cells, is_known, texts, counts, signs)


def _is_text(known: pd.Series) -> bool:
    """Whether cells are text, or objects that are shown as text, such as paths; lists, dictionaries, sets are not.

    Parameters
    ----------
    known : cells of a column, none of them missing
    """
    # Declared levels, numbers, dates and lengths of time have types of their own, and are no text.
    dtype = known.dtype
    are_times = dtype.kind in "mM"  # NumPy's codes of lengths of time and of dates
    if isinstance(dtype, pd.CategoricalDtype) or pd.api.types.is_numeric_dtype(dtype) or are_times:
        return False

    # Text has a type of pandas for strings, or is held as objects (kind "O"). Objects are taken for text, unless one of
    # the first is a container.
    if dtype.kind != "O" or isinstance(dtype, pd.StringDtype):
        return True
    return not any(isinstance(value, list | dict | set | np.ndarray) for value in known.iloc[:1000])


def _decimal_of_table(columns: Iterable[_Cells]) -> str:
    """The decimal separator that all columns agree on, "." or ","; "" if they show none, or both.

    Text shows it by its numbers, such as "3,5"; numbers that pandas has read were written with a point.

    Parameters
    ----------
    columns : the cells of each column; `words` are the different texts of a column of text
    """
    shown: set[str] = set()  # "." and ",", as far as some column shows them
    for cells in columns:
        if cells.is_text:
            shown |= decimals_shown(cells.words)  # the marks that can be nothing but a decimal separator in some word
        elif cells.known.dtype.kind == "f":  # floats show a point, if there are fractions among them
            first = cells.known.iloc[:COUNTED_ROWS]
            if (first % 1 > 0).any():
                shown.add(".")
    return shown.pop() if len(shown) == 1 else ""


# --- the role of a column -------------------------------------------------------------------------------------------


class _Judgement(NamedTuple):
    """A column with its role, and its cells in some of the rows as numbers, of levels their codes; NaN is missing."""

    column: Column
    sample: np.ndarray = np.zeros(0)


def _judge_feature(cells: _Cells, wish: str | None, separators: _Separators) -> _Judgement:
    """The role of a feature: the user's, or what its cells show.

    The first of these cases decides:

    1. no cell has a value: left out, but levels if the user wants them
    2. the cells are lists or tables: left out
    3. the user leaves the column out
    4. all cells of 20 or more rows are the same: left out, unless the user wants a role
    5. dates or times: left out, as they name the row, unless the user wants levels
    6. the user wants levels, or the type of the cells is that of levels
    7. the type of the cells is that of numbers, or of true and false
    8. the cells are text: numbers if there is a format that reads them, else levels

    Parameters
    ----------
    cells : of the column
    wish : role that the user wants, "drop" or None
    separators : how numbers in text are written

    Returns
    -------
    the column with its role and the reason, and a sample of its cells as numbers if it is used
    """
    # 1 to 3: what no model can use, or is not to use. `blank` has the role "dropped" and no reason yet; `base` has also
    # the number of different values and the first one. `wish` is the role that the user wants.
    blank = cells.blank()
    if not cells.n_known and wish not in ("levels", "drop"):
        return _Judgement(replace(blank, why=EMPTY))
    if not cells.is_text and cells.known.dtype == object:
        return _Judgement(replace(blank, why="lists or tables in its cells"))
    base = replace(blank, distinct=cells.n_distinct(COUNTED_ROWS), example=cells.first())
    if wish == "drop":
        return _Judgement(replace(base, why="left out as asked"))

    # 4: constants. `distinct` counts the values of the first 50,000 rows only. Where these are all the same, it takes a
    # look at all rows to know that the column is constant. Fewer than 20 rows may be equal by chance.
    may_be_constant = base.distinct == 1 and cells.n_rows >= FEW_ROWS
    if may_be_constant and not wish and cells.n_distinct() == 1:
        return _Judgement(replace(base, why=CONSTANT))

    # 5: dates. With a wish they go on to case 6: they can be levels, and `_judge_levels` raises an error if the user
    # wants another role.
    are_dates = _are_dates(cells)
    if are_dates and not wish:
        return _Judgement(replace(base, why="dates or times", warning=_use_of_date(base)))

    # 6: levels. A categorical of pandas has declared that its cells are levels.
    if wish == "levels" or are_dates or isinstance(cells.known.dtype, pd.CategoricalDtype):
        return _judge_levels(cells, base, wish, "declared levels")

    # 7: numbers by their type: integers, floats, or booleans (kind "b"), which become 1 and 0.
    if not cells.is_text:
        why = TRUTH if cells.known.dtype.kind == "b" else ""
        return _judge_numbers(cells, base, cells.known.to_numpy(float), wish, why)

    # 8: text. `_with_number_format` sets `written`, the format of the numbers (separators and sign), if the text is
    # numbers with a few words for missing cells. Otherwise `written` stays None, and the words are levels.
    base = _with_number_format(cells, base, wish, separators)
    if base.written is None:
        return _judge_levels(cells, base, wish, base.why)
    return _judge_numbers(cells, base, _numbers_of_texts(cells, base.written), wish, _reason_for_numbers(base))


def _judge_part(cells: _Cells, part: _PartOfDate, wish: str | None, separators: _Separators) -> _Judgement:
    """A part of a date, judged as a feature with the role of such parts; one that never changes is left out.

    Parameters
    ----------
    cells : of the column
    part : which part of which date
    wish : role that the user wants of the part itself, or None
    separators : how numbers in text are written
    """
    is_constant = cells.n_rows >= FEW_ROWS and cells.n_distinct() <= 1
    role = wish if wish or is_constant else PARTS[part.part]
    judgement = _judge_feature(cells, role, separators)
    example = level_text(judgement.column.example)  # of the year 2024, not 2024.0
    column = replace(judgement.column, source=part.source, part=part.part, example=example)
    if column.is_used and not wish:
        column = replace(column, why=f"{part.part} of {part.source!r}")
    return judgement._replace(column=column)


def _judge_target(cells: _Cells, separators: _Separators) -> _Judgement:
    """The column of labels, judged as if it were a feature.

    Where numbers can be read in two ways a feature is an error. Labels need no such decision, so they are then read
    with a decimal point.

    Parameters
    ----------
    cells : of the column of labels
    separators : how numbers in text are written
    """
    try:
        return _judge_feature(cells, None, separators)
    except ValueError:
        # Such as "15.018", which may be fifteen or fifteen thousand: here it is fifteen. What follows are the steps of
        # `_judge_feature` for text that is numbers.
        numbers = NumberFormat(".")
        base = replace(cells.blank(), distinct=cells.n_distinct(COUNTED_ROWS), example=cells.first(), written=numbers)
        return _judge_numbers(cells, base, _numbers_of_texts(cells, numbers), None, _reason_for_numbers(base))


def _are_dates(cells: _Cells) -> bool:
    """Whether the cells are dates or lengths of time, or text of which nine in ten different words are dates.

    Parameters
    ----------
    cells : of a column; `words` are its different texts, if it is text
    """
    if cells.known.dtype.kind in "mM":
        return True
    if not cells.is_text or not cells.words:
        return False
    n_dates = sum(is_date(word) for word in cells.words)
    # `max(…, 1)`: without any date the column is none of dates.
    return n_dates >= max(_SHARE_OF_DATES * len(cells.words), 1)


def _numbers_of_texts(cells: _Cells, written: NumberFormat) -> np.ndarray:
    """The numbers that the cells of a column of text hold, (known cells,); NaN of text that is none in this format.

    Parameters
    ----------
    cells : `texts` is the text of each cell that is not missing, and `words` are the different ones of them
    written : the format of the numbers, such as a decimal comma
    """
    # each different word is read once, and then looked up for each cell
    words = list(cells.words)
    number_of = dict(zip(words, written.read(words).tolist(), strict=True))
    return np.array([number_of.get(text, np.nan) for text in cells.texts or ()], float)


def _reason_for_numbers(column: Column) -> str:
    """The reason for a column of numbers written as text; "" if any parser reads them.

    Parameters
    ----------
    column : `written` is the format of its numbers, None if the cells are no text; `example` is its first value
    """
    if column.written is None or column.written.is_plain:
        return ""
    if column.written.sign == TRUTH:  # the words true and false, which count as 1 and 0
        return TRUTH
    return f"numbers written as text, such as {column.example}"


# --- numbers written as text ----------------------------------------------------------------------------------------


def _with_number_format(cells: _Cells, base: Column, wish: str | None, separators: _Separators) -> Column:
    """Decide whether a column of text is numbers, such as "1,5 €", and if so in which format they are written.

    A *word* is here the whole text of a cell. The first of these cases decides:

    1. no word is a number, or too many are none: text
    2. whole numbers with leading zeros, such as postal codes: text
    3. the numbers have no common format: text
    4. otherwise numbers, among which a few other words count as missing

    A wish of the user for numbers leads past case 2, and past case 1 if a single word is a number.

    Parameters
    ----------
    cells : of the column, text
    base : the column as far as it is described; `written`, the format of its numbers, is None
    wish : role that the user wants: "numbers", "counts" or "yes/no"; None if there is no wish
    separators : the separators that the user named, and the decimal separator that the table shows

    Returns
    -------
    the column. In the cases 1 to 3 `written` is still None. In case 4 it is the format, `words` are the words that are
    read as missing, and a warning names them
    """
    # `cells.words` has the number of cells with each different word, so that `share` is a share of cells.
    numbers, others = _split_words(list(cells.words))  # different words
    n_numbers = sum(cells.words[word] for word in numbers)
    share = n_numbers / max(cells.n_known, 1)

    # 1: too few numbers. They are enough if there are no other words, or only a few (`_is_column_of_numbers`), or if
    # the user wants numbers. Of text with many numbers in it the user is warned.
    are_enough = bool(wish) or _is_column_of_numbers(numbers, others, share)
    if not numbers or not are_enough:
        has_many_numbers = share > 0.5 and bool(others)
        if has_many_numbers and not wish:
            return base.with_warning(
                f"{share:.0%} of the cells are numbers, others such as {others[0]!r} are not; "
                f"{base.name}=numbers counts the others as missing"
            )
        return base

    # 2: digits with a zero in front, such as the postal code 01067, would lose it as numbers. All words must be digits:
    # beside 0.5 the word 01 is a number.
    codes = [word for word in numbers if is_code(word)]
    if codes and all(word.isdigit() for word in numbers) and not wish:
        return replace(base, why=f"codes with leading zeros: {codes[0]}")

    # 3: `_format_of` gives the one format in which all words are numbers. It is None if there is none, as of "1.5" and
    # "1,5", which stay text. It raises a ValueError if there are two formats and nothing decides between them.
    written = _format_of(base.name, numbers, wish, separators)
    if written is None:
        return base.with_warning(f"numbers in more than one format, such as {listed([numbers[0], numbers[-1]])}")

    # 4: numbers. The user is told what counts as missing among them: other words, and signs such as "?".
    if others:
        n_others = sum(cells.words[word] for word in others)
        base = base.with_warning(
            f"{n_others} cells are not numbers ({listed(others)}) and count as missing; {base.name}=levels keeps them"
        )
    base = base.with_warning(_warning_of_signs(cells))
    return replace(base, written=written, words=(*others, *cells.signs))


class _SplitWords(NamedTuple):
    """The different words of a column: those that look like numbers, and the others."""

    numbers: list[str]
    others: list[str]


def _split_words(words: list[str]) -> _SplitWords:
    """Words that look like numbers, and the others; true and false are numbers if there are no other words.

    Parameters
    ----------
    words : the different texts of the cells of a column
    """
    if all(word.lower() in ("true", "false") for word in words):
        return _SplitWords(words, [])
    # `is_number`: the word looks like a number in some format, such as "1.234,5 €".
    numbers = [word for word in words if is_number(word)]
    if len(numbers) == len(words):
        return _SplitWords(numbers, [])
    number_set = set(numbers)  # a look-up in a set takes the same time however many words there are
    return _SplitWords(numbers, [word for word in words if word not in number_set])


def _warning_of_signs(cells: _Cells) -> str:
    """How many cells hold a sign that is read as missing; "" if none does."""
    if not cells.signs:
        return ""
    n_signs = sum(cells.signs.values())
    return f"{n_signs} cells are {listed(cells.signs)} and count as missing"


def _is_column_of_numbers(numbers: list[str], others: list[str], share: float) -> bool:
    """Whether a column of these words is one of numbers, in which a few words stand for missing cells.

    Parameters
    ----------
    numbers, others : different words that look like numbers, and that do not
    share : of the cells that hold numbers
    """
    if not others:
        return True
    are_in_most_cells = share >= _SHARE_OF_NUMBERS  # 80 %
    others_are_few = len(others) <= _MOST_WORDS  # 5
    numbers_are_many = len(numbers) > _LEAST_NUMBERS  # 10
    return are_in_most_cells and others_are_few and numbers_are_many


def _format_of(name: str, numbers: list[str], wish: str | None, separators: _Separators) -> NumberFormat | None:
    """The format of numbers written as text; None if they have no common one.

    Separators that the user names do not make numbers of a column that is none without them, such as versions.

    Parameters
    ----------
    name : of the column, for messages
    numbers : the different words that look like numbers
    wish : role that the user wants of the column, or None
    separators : the separators that the user named, and the decimal separator that the table shows
    """
    # `number_format` gives the one format in which all words are numbers, and None if there is none.
    try:
        if not (separators.decimal or separators.thousands):
            return number_format(numbers, clear=separators.of_table)
        # With separators of the user a column such as 1.2.3 must not become the number 123: without a wish for numbers
        # it has to be one of numbers in some format that does not know the user's separators.
        if not wish and not _are_numbers_in_some_format(numbers):
            return None
        return number_format(numbers, separators.decimal, separators.thousands, separators.of_table)
    except ValueError as error:  # two ways to read the numbers, or none: the message gets the column's name
        raise ValueError(f"column {name!r}: {error}, or --drop {name}") from error


def _are_numbers_in_some_format(words: list[str]) -> bool:
    """Whether there is a format in which all words are numbers."""
    try:
        return number_format(words) is not None
    except ValueError:  # there are two, and nothing decides between them
        return True


# --- levels ---------------------------------------------------------------------------------------------------------


def _judge_levels(cells: _Cells, base: Column, wish: str | None, why: str) -> _Judgement:
    """A column of levels; or one that is left out, as its text names the rows.

    Parameters
    ----------
    cells : of the column
    base : the column as far as it is described
    wish : role that the user wants, "levels" or None; ValueError on another one, which text cannot have
    why : the reason for levels; "" if it is only that the cells are text
    """
    if wish not in (None, "levels"):
        raise ValueError(f"column {base.name!r} holds {base.example!r}, so it cannot be {wish}; choose the role levels")
    # The different levels, without signs such as "?" that stand for a missing cell. Names of rows are left out.
    levels = set(levels_of(cells.known, kept=cells.words).dropna().unique())
    base = replace(base, distinct=len(levels))
    if cells.is_text and wish is None and _names_the_rows(len(levels), cells.n_known):
        return _Judgement(_left_out_text(cells, base))

    # With more than 100 levels a warning takes the place of earlier ones, as the number of levels matters most. Then a
    # warning of signs that are read as missing is added.
    if len(levels) > LISTED:
        rows_of_level = cells.n_known / len(levels)
        base = replace(base, warning=f"{len(levels)} levels, {rows_of_level:.0f} rows each")
    base = base.with_warning(_warning_of_signs(cells))

    # The reason, and the levels themselves unless they are very many.
    if wish:
        why = ASKED
    elif not why:
        why = "one of two words" if len(levels) == 2 else "text"
    listed_levels = tuple(sorted(map(str, levels))) if len(levels) <= LISTED else ()
    return _Judgement(replace(base, role="levels", why=why, levels=listed_levels), _sample_of_levels(cells))


def _names_the_rows(n_levels: int, n: int) -> bool:
    """Whether text of so many levels in n rows names the rows: most differ, or many levels have few rows each.

    More than 20 levels do if they are more than half of the rows, or more than 100 with fewer than 10 rows on average.
    """
    # how many levels a column may have: 30 of 60 rows, 100 of 400 rows, and 500 of 5,000 rows
    half_of_rows = n / 2
    many_levels = max(LISTED, n / 10)
    max_levels = max(min(half_of_rows, many_levels), FEW_ROWS)
    return n >= FEW_ROWS and n_levels > max_levels


def _left_out_text(cells: _Cells, base: Column) -> Column:
    """A column of text that is left out, with the reason: documents, or names of the rows.

    Parameters
    ----------
    cells : of the column
    base : the column as far as it is described, with its number of different values
    """
    # Documents are cells of many words. `cells.words` has each different text, and how many cells hold it.
    n_words = sum(len(text.split()) * n_cells for text, n_cells in cells.words.items())  # in all cells together
    mean_words = n_words / max(cells.n_known, 1)
    if mean_words >= _DOCUMENT_WORDS:
        return replace(base, why=f"{DOCUMENTS} of {mean_words:.0f} words on average", warning=COUNT_WORDS)

    why = f"text of {base.distinct} different values in {cells.n_known} rows"
    if base.distinct == cells.n_known:
        why = "identifies the row: every value differs"
    return replace(base, why=why, warning=base.warning or f"{base.name}=levels uses it")


def _sample_of_levels(cells: _Cells) -> np.ndarray:
    """Numbers of the levels in some of the rows, evenly spaced, 0, 1, … in the order of their first cell.

    NaN is a missing cell: the cells b, None, a, b have the codes 0, NaN, 1, 0.
    """
    # all n rows; `known` are the cells that are not missing, and `is_known` (n,) says in which rows they are
    column = pd.Series(np.full(cells.n_rows, None, object))
    column[cells.is_known] = levels_of(cells.known, kept=cells.words).to_numpy(object)

    sample = column.to_numpy()[sample_positions(cells.n_rows)]
    codes, _ = pd.factorize(sample)  # −1 of a missing cell
    return np.where(codes < 0, np.nan, codes)


# --- numbers --------------------------------------------------------------------------------------------------------


def _judge_numbers(cells: _Cells, base: Column, values: np.ndarray, wish: str | None, why: str) -> _Judgement:
    """A column of numbers with its range, its missing cells, and its role; and a sample of its numbers.

    The role is the user's. Without a wish zeros and ones are "yes/no", whole numbers that name the rows are "dropped",
    and all others are "numbers".

    Parameters
    ----------
    cells : of the column
    base : the column as far as it is described
    values : (known cells,) their numbers, NaN where a word stands for a missing cell
    wish : role that the user wants, or None
    why : the reason to call them numbers; "" if their type is
    """
    n_numbers = int((~np.isnan(values)).sum())  # infinite ones included
    finite = values[np.isfinite(values)]
    # Counts have to be whole and not negative, and "yes/no" has to be 0 and 1: others are a ValueError.
    if wish in ("counts", "yes/no"):
        _refuse_other_than(finite, wish, base.name)

    # The range is that of the finite numbers; it is 0 to 0 of a column that has only infinite ones. The share of
    # missing cells counts words that are read as missing too.
    low = float(finite.min()) if len(finite) else 0.0
    high = float(finite.max()) if len(finite) else 0.0
    with_range = replace(base, missing=cells.missing_share(n_numbers), low=low, high=high)

    column = _with_role_of_numbers(with_range, finite, wish, why, are_finite=len(finite) == n_numbers)
    return _Judgement(column, _sample_of_numbers(cells, values))


def _refuse_other_than(numbers: np.ndarray, wish: str, name: str) -> None:
    """Raise a ValueError where the user wants "counts" or "yes/no" of a column, and a number is none.

    Parameters
    ----------
    numbers : finite numbers of the column
    wish : "counts", which are whole and not negative, or "yes/no", which is 0 or 1
    name : of the column, for the message
    """
    is_wrong = (numbers < 0) | (numbers % 1 != 0)  # negative, or with a fraction
    if wish == "yes/no":
        is_wrong |= numbers > 1
    if is_wrong.any():
        what = f"holds {numbers[is_wrong][0]:g}, so it cannot be {wish}"
        raise ValueError(f"column {name!r} {what}; choose the role numbers or levels")


def _with_role_of_numbers(base: Column, numbers: np.ndarray, wish: str | None, why: str, are_finite: bool) -> Column:
    """The column with the role that its numbers show, or that the user asks for.

    Parameters
    ----------
    base : the column with its range
    numbers : the finite numbers of its cells
    wish : role that the user wants, or None
    why : the reason to call the cells numbers; "" if they have no need of one
    are_finite : whether no cell is infinite
    """
    if wish:
        return replace(base, role=wish, why=ASKED)

    # Zeros and ones are yes/no, unless they are percentages or amounts of money, which have a sign such as "%". (The
    # sign of a column of "true" and "false" is `TRUTH`.)
    are_whole = bool((numbers % 1 == 0).all())
    are_0_and_1 = are_whole and base.low in (0, 1) and base.high in (0, 1) and are_finite
    has_unit = base.written is not None and base.written.sign not in ("", TRUTH)
    if are_0_and_1 and not has_unit:
        return replace(base, role="yes/no", why=TRUTH if why == TRUTH else "zeros and ones")

    # Whole numbers may name the rows: they are dates, identifiers or row numbers. The first 50,000 show it. `why` is ""
    # if the cells are numbers by their type; text with a currency, say, names no rows.
    first = numbers[:COUNTED_ROWS]
    if are_whole and not why:
        reason = _reason_to_name_rows(base.name, first)
        if reason:
            use = _use_of_date(base) if _are_yyyymmdd(first) else f"{base.name}=numbers uses it"
            return replace(base, why=reason, warning=use)
    # All others are numbers, with a warning of codes such as 999 that may stand for missing cells.
    why = why or ("whole numbers" if are_whole else "numbers")
    return replace(base, role="numbers", why=why).with_warning(
        _warning_of_missing_codes(first) or _warning_of_far_cell(first)
    )


def _sample_of_numbers(cells: _Cells, values: np.ndarray) -> np.ndarray:
    """Numbers in some of the rows, evenly spaced, (rows,); NaN is missing.

    Parameters
    ----------
    values : (known cells,) the numbers of the cells that are not missing
    """
    column = np.full(cells.n_rows, np.nan)
    column[cells.is_known] = values  # `is_known`, (n,), says which rows these are
    return column[sample_positions(cells.n_rows)]


def _reason_to_name_rows(name: str, values: np.ndarray) -> str:
    """Why whole numbers name the rows; "" if they do not.

    They do if they are dates, or if the column's name says so; or if all differ, and either follow each other, or rise
    from row to row with few gaps, or are long numbers of one length.

    Parameters
    ----------
    name : of the column
    values : (n,) whole numbers in the order of the rows, none of them missing
    """
    n = len(values)
    if n < FEW_ROWS:  # few rows may look like identifiers by chance
        return ""
    low = int(values.min())
    high = int(values.max())

    # Dates, or a name such as "id" beside many different numbers.
    if _are_yyyymmdd(values):
        return "dates written as numbers, YYYYMMDD"
    n_distinct = len(np.unique(values))
    if _IDENTIFIER.search(name) and n_distinct > n / 2:
        return f"an identifier by its name, {n_distinct} different values"
    if n_distinct < n:
        return ""
    if _IDENTIFIER_IF_ALL_DIFFER.search(name):
        return "an identifier by its name: all differ"

    # All differ from here on. n numbers that follow each other span high − low + 1 = n; a tenth more allows for rows
    # that have been left out. Numbers that rise from row to row may leave out more: a table is rarely sorted by a
    # measurement without two equal ones. But steps of one size are those of a measurement, such as a time.
    span = high - low + 1
    steps = np.diff(values)
    is_rising = 0 < steps.min() < steps.max()
    if span <= 1.1 * n:
        return "row numbers: all differ and follow each other"
    if is_rising and span <= _MAX_SPAN_OF_RISING * n:
        return "row numbers: all differ and rise from row to row"

    # Identifiers are long and of one length. So may be measurements of six digits and more, but these are often rounded
    # to tens: where 30 % of the numbers or more end in 0, they are taken for measurements.
    share_of_tens = (values % 10 == 0).mean()
    if low >= 100_000 and len(str(low)) == len(str(high)) and share_of_tens < 0.3:
        return f"an identifier: all differ and have {len(str(low))} digits"
    return ""


def _are_yyyymmdd(values: np.ndarray) -> bool:
    """Whether whole numbers are all dates YYYYMMDD from 1900 to 2100."""
    if values.min() < 19000101 or values.max() > 21001231:
        return False
    # 20240131 // 100 is 202401, of which % 100 leaves the month 01; 20240131 % 100 is the day 31.
    month = values // 100 % 100
    day = values % 100
    return bool(((month >= 1) & (month <= 12) & (day >= 1) & (day <= 31)).all())


def _warning_of_missing_codes(values: np.ndarray) -> str:
    """A warning of numbers that may be codes of missing cells, such as 999; "" if there are none.

    They occur three times or more, and are farther from the rest than the rest is wide.

    Parameters
    ----------
    values : (n,) finite numbers of a column
    """
    # First at the upper end, such as 999. Then with all signs changed, so that −999 at the lower end is the largest.
    others = values  # without the codes that have been found
    codes: list[str] = []
    for sign in (1, -1):
        distinct, counts = np.unique(sign * others, return_counts=True)  # ascending
        n_codes = _count_missing_codes(distinct, counts)  # how many of the largest 3 values are far above all others
        if n_codes:
            largest = zip(distinct[-n_codes:], counts[-n_codes:], strict=True)
            codes += [f"{sign * value:g} ({n} times)" for value, n in largest]
            smallest_code = distinct[-n_codes]
            others = others[sign * others < smallest_code]
    if not codes:
        return ""

    span = f"{others.min():g} to {others.max():g}"
    advice = "if this stands for a missing cell, leave the cell empty"
    return f"{', '.join(codes)} far outside of the other numbers, {span}; {advice}"


def _count_missing_codes(distinct: np.ndarray, counts: np.ndarray) -> int:
    """How many of the largest three values are far above all others and occur three times or more.

    Parameters
    ----------
    distinct : (k,) the different values, ascending
    counts : (k,) how often each occurs
    """
    # The last k values may be codes: k = 3 is tried first, then 2, then 1, with at least two other values, so that
    # these have a width. Of 1 2 5 999 the last is a code, as it is 994 above the 5, and the others are only 4 wide.
    max_codes = min(3, len(distinct) - 2)
    for k in range(max_codes, 0, -1):
        smallest_code = distinct[-k]
        largest_other = distinct[-k - 1]
        width_of_others = largest_other - distinct[0]
        is_far = smallest_code - largest_other > width_of_others
        is_frequent = counts[-k:].min() >= 3
        if is_far and is_frequent:
            return k
    return 0


def _warning_of_far_cell(values: np.ndarray) -> str:
    """A warning of the number that is far from all others, on one side or the other; "" if there is none.

    It is three times as far from the nearest other number as the others are apart. Such a gap is hardly chance: of
    1,000 samples of 100 normal numbers none has one, of log-normal numbers 1 %.

    Parameters
    ----------
    values : (n,) finite numbers of a column
    """
    distinct = np.unique(values)  # ascending
    if len(distinct) <= _MIN_VALUES_BESIDE:
        return ""
    for far, others in ((distinct[-1], distinct[:-1]), (distinct[0], distinct[1:])):
        width = others[-1] - others[0]
        gap = abs(others - far).min()
        if gap > _FAR * width:
            span = f"{others[0]:g} to {others[-1]:g}"
            return f"{far:g} is far from all other numbers, {span}: a slip? Class odds of such a cell are no evidence"
    return ""


# --- copies of the target -------------------------------------------------------------------------------------------


def _with_copies_named(frame: pd.DataFrame, target: Any, described: dict[Any, Column]) -> dict[Any, Column]:
    """The columns by name, with a warning beside each that is the target under another name.

    Parameters
    ----------
    frame : the table, of which the first rows are compared
    target : name of the column of labels
    described : the columns, by name
    """
    # A column with more values than there are labels cannot be a copy, which saves the comparison. A row without a
    # label may have any value.
    labels = frame[target].iloc[:COUNTED_ROWS]
    max_distinct = labels.nunique() + int(labels.isna().sum())

    named = dict(described)
    for name, column in described.items():
        if not column.is_used or column.distinct > max_distinct:
            continue
        # each value goes with one label, and each label with one value
        is_copy = is_copy_of_target(frame[name].iloc[:COUNTED_ROWS], labels)
        if is_copy:
            named[name] = column.with_warning(f"a copy of the target {target!r}? {column.name}=drop leaves it out")
    return named
