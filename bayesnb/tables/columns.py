"""The column contract: the role of each column of a table, and how its cells become numbers or levels."""

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ..numerics.pytrees import record
from .dates import ORDERS, date_parts, date_words, moment
from .names import DATE, ROLES, as_sentence, did_you_mean, listed, shorten
from .number_text import MISSING_SIGNS, TRUTH, NumberFormat, clean_word

FEW_ROWS = 20  # below, no column is taken for an identifier or a constant, and a class is called rare
LISTED = 100  # levels that a contract keeps
EMPTY, CONSTANT = "no value in any row", "the same value in every row"
ASKED = "as asked"
DOCUMENTS = "documents"
_MORE_MISSING = 0.2  # a share of missing cells that is larger by this than in the training rows is named,
_MANY_MISSING = 5  # if it is this many cells


class CellError(ValueError):
    """A cell that a column of its contract cannot hold.

    Fields
    ------
    name : the column
    row : the label of the cell in the index of its table
    is_unread : whether the cell is text that is not read as a number, so that naming separators may help
    """

    def __init__(self, name: str, cells: pd.Series, is_wrong: Any, reason: str, is_unread: bool = False) -> None:
        """Make the message, which names the first cell that is wrong: "column 'age' holds 'old'" and then the reason.

        Parameters
        ----------
        name : of the column
        cells : (n,) all cells of the column, or of some rows of it
        is_wrong : (n,) which cells the column cannot hold; at least one
        reason : the rest of the message after the quoted cell. It begins with its own comma, such as ", not a number"
        is_unread : whether the cell is text that is not read as a number
        """
        position = int(np.asarray(is_wrong).argmax())  # of the first True
        self.name = name
        self.row = cells.index[position]
        self.is_unread = is_unread
        super().__init__(f"column {name!r} holds {shorten(str(cells.iloc[position]).strip())!r}{reason}")


# --- one column -----------------------------------------------------------------------------------------------------


@record
@dataclass(frozen=True)
class Column:
    """One column of a table.

    Fields
    ------
    name : as in the table
    role : "numbers", "counts" (whole and not negative), "yes/no" (0 and 1), "levels", "dropped", "target" or "weight";
        "date" if columns of its parts are used in its stead
    why : the reason for the role
    distinct : number of different values; for numbers in long tables, of the first 50,000 rows
    missing : share of cells without a value, those included that hold a word or sign which is read as missing
    example : the first value
    warning : a possible problem of the column; "" if there is none
    written : how numbers are written as text; None if the cells are numbers already
    words : text among numbers that is read as a missing cell
    low, high : smallest and largest finite number; None if there is none
    levels : the different values of a column of levels, as text; empty if there are more than 100
    date_order : of a date the order of its numbers, "ymd", "dmy" or "mdy"; "" of other columns
    source, part : of a part of a date the column that it is made of, and "year", "month", "weekday" or "hour"; else ""
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
    date_order: str = ""
    source: str = ""
    part: str = ""

    @property
    def name_in_table(self) -> str:
        """The column of the table that holds the cells: of a part of a date that of the date."""
        return self.source or self.name

    @property
    def is_used(self) -> bool:
        """Whether a model uses the column."""
        return self.role in ROLES

    def why_left_out(self) -> str:
        """The name and the reason of a column that is left out, with what to do about documents."""
        if self.why.startswith(DOCUMENTS):
            return f"{self.name!r}: {self.why}; {self.warning}"
        return f"{self.name!r}: {self.why}"

    def with_warning(self, text: str) -> "Column":
        """The column with one more possible problem; "" is none."""
        return replace(self, warning="; ".join(filter(None, [self.warning, text])))

    def read(self, cells: pd.Series) -> pd.Series:
        """Cells as a model takes them: numbers, or levels, which are text; a CellError where a cell is neither.

        A CellError is a ValueError that names the column, the row and the cell.

        Parameters
        ----------
        cells : (n,) cells of this column in some table, as they stand there; missing ones may be NaN or None
        """
        # Levels: text. The signs "?", "-" and "." are missing cells, unless the training rows had one as a level.
        if self.role == "levels":
            return levels_of(cells, kept=self.levels)

        # All other roles are numbers. Text is read in the format of the column, such as "1.234,5".
        numbers = cells
        if not pd.api.types.is_numeric_dtype(cells):
            numbers = self._numbers_of_text(cells)

        # No model takes an infinite number; "1e400" is read as one. The message quotes the cell before the reason.
        is_infinite = np.isinf(numbers.to_numpy(float, na_value=np.nan))
        if is_infinite.any():
            reason = ", infinity or too large for a float; leave the cell empty if its value is unknown"
            raise CellError(self.name, cells, is_infinite, reason)
        return numbers

    def _numbers_of_text(self, cells: pd.Series) -> pd.Series:
        """Text as numbers, NaN where a sign such as "?" or a word stands for a missing cell; a CellError on other text.

        The cells "3,5", "?", None, "3,5" of a column with decimal comma become 3.5, NaN, NaN, 3.5.

        Parameters
        ----------
        cells : (n,) text, in which an empty cell is None or NaN
        """
        # Each different word is read once. In the example the words are "3,5" and "?", and `codes` are 0, 1, −1, 0: the
        # position of each cell's word, and −1 of an empty cell.
        codes, words = distinct_words(cells)
        values = self.numbers_of(words)  # (words,), NaN of a word that is no number
        is_missing = np.array([self._is_missing(word) for word in words], bool)
        is_wrong = np.isnan(values) & ~is_missing  # (words,)

        # Index −1 is the last entry in NumPy. So an entry for empty cells is appended: NaN as their number, and False
        # below, as they are not wrong.
        values_and_empty = np.append(values, np.nan)  # in the example 3.5, NaN, NaN
        if is_wrong.any():
            reason = ", not a number"  # the message quotes the cell before it
            if self.example:
                reason = f", but the other cells numbers such as {self.example}"
            wrong_cells = np.append(is_wrong, False)[codes]  # (n,)
            raise CellError(self.name, cells, wrong_cells, f"{reason}; write all cells in one way", is_unread=True)
        return pd.Series(values_and_empty[codes], cells.index, name=cells.name)  # 3.5, NaN, NaN, 3.5

    def read_date(self, cells: pd.Series, parts: Iterable[str]) -> dict[str, pd.Series]:
        """Some parts of dates, by name, (n,) each; a CellError where a cell is no date in the order of this column.

        Parameters
        ----------
        cells : (n,) cells of this column in some table, as they stand there
        parts : of "year", "month", "weekday" and "hour"
        """
        dates = date_words(cells)
        is_wrong = np.array([moment(word, self.date_order) is None for word in dates.words], bool)
        if is_wrong.any():
            reason = f", not a date written as {ORDERS[self.date_order]}; leave the cell empty if it is unknown"
            raise CellError(self.name, cells, np.append(is_wrong, False)[dates.codes], reason)
        return date_parts(dates, self.date_order, parts, cells.index)

    def numbers_of(self, words: Iterable[str]) -> np.ndarray:
        """The numbers that words stand for in the format of the column, NaN for words that are none.

        A format is a decimal separator, a separator of thousands and a sign, as in "1.234,5 €". A column that was not
        text when it was described has none: a word is then a plain number, or true or false.
        """
        if self.written:  # the format
            return self.written.read(words)
        words = list(words)
        numbers = NumberFormat(".").read(words)  # NaN of words that are none
        truths = NumberFormat(sign=TRUTH).read(words)  # 1 of true, 0 of false, NaN of others
        return np.where(np.isnan(numbers), truths, numbers)

    def _is_missing(self, word: str) -> bool:
        """Whether a word in a column of numbers stands for a missing cell."""
        return word in ("", *MISSING_SIGNS) or word in self.words

    def accepting(self, cells: pd.Series) -> "Column":
        """The column after further cells of its table: words among them count as missing if the user wants numbers.

        A table is described by its first rows, and then read piece by piece. If the user has asked for numbers, each
        word that is none, such as "unknown", counts as a missing cell, and is added to `words`. In a column that is
        numbers by its own cells a word is an error, which `read` raises; the column stays as it is here.

        Parameters
        ----------
        cells : (n,) cells of the column in the next piece of the table
        """
        wants_numbers = self.why == ASKED and self.role != "levels"  # `ASKED`: the user has named the role
        if not wants_numbers or pd.api.types.is_numeric_dtype(cells):
            return self

        # The different words that are no numbers, and that are not known to stand for a missing cell.
        _, words = distinct_words(cells)
        is_no_number = np.isnan(self.numbers_of(words))  # (words,): `numbers_of` gives NaN for a word that is none
        new_words = []
        for word, has_none in zip(words, is_no_number, strict=True):
            if has_none and not self._is_missing(word):
                new_words.append(word)
        if not new_words:
            return self
        column = replace(self, words=(*self.words, *new_words))
        return column.with_warning(f"further down are {listed(new_words, 3)}, which count as missing")

    def is_far(self, cells: pd.Series) -> np.ndarray:
        """Whether each cell is a number beyond the training range by more than the length of that range, (n,).

        With a training range of 10 to 14, cells below 6 or above 18 are far. A missing cell is not.
        """
        if self.low is None or self.high is None:  # the column has no range: it has levels, or no finite number
            return np.zeros(len(cells), bool)
        numbers = cells.to_numpy(float, na_value=np.nan)
        margin = self.high - self.low
        # Comparisons with NaN are False.
        return (numbers < self.low - margin) | (numbers > self.high + margin)

    def widened(self, cells: pd.Series) -> "Column":
        """The column after further cells of its table: its range `low` to `high`, or its levels, include theirs.

        Parameters
        ----------
        cells : (n,) as `read` gives them: numbers, or levels as text
        """
        # Levels: new ones are added to the list. More than 100 are not listed: `levels` is then empty, and stays so.
        lists_all_levels = len(self.levels) == self.distinct  # `distinct` is the number of levels
        if self.role == "levels" and lists_all_levels:
            levels = sorted({*self.levels, *cells.dropna().unique()})
            listed_levels = tuple(levels) if len(levels) <= LISTED else ()
            return replace(self, distinct=len(levels), levels=listed_levels)

        # Numbers: the range gets wider, if it has to. A column without a range stays as it is.
        if self.low is None or self.high is None:
            return self
        numbers = cells.to_numpy(float, na_value=np.nan)
        low = float(np.fmin.reduce(numbers, initial=self.low))  # `fmin` and `fmax` ignore NaN
        high = float(np.fmax.reduce(numbers, initial=self.high))
        if (low, high) == (self.low, self.high):
            return self
        return replace(self, low=low, high=high)

    def with_missing(self, n_missing: int, n_rows: int) -> "Column":
        """The column with so many missing cells among so many rows."""
        return replace(self, missing=n_missing / max(n_rows, 1))


class DistinctWords(NamedTuple):
    """The different words of a column of text.

    Fields
    ------
    codes : (n,) position of the word of each cell among `words`, −1 of a missing cell
    words : the different words, without blanks around them
    """

    codes: np.ndarray
    words: list[str]


def distinct_words(cells: pd.Series) -> DistinctWords:
    """The different words of a column, and which of them each cell holds.

    The cells "b", " a", None, "b" have the words "b" and "a", in the order of their first cells, and the codes 0, 1,
    −1, 0.
    """
    texts = cells.astype(object).map(str, na_action="ignore")  # a missing cell stays missing
    codes, distinct = pd.factorize(texts)  # numbers the different texts 0, 1, …; a missing cell has the code −1
    return DistinctWords(codes, [clean_word(text) for text in distinct])


def levels_of(cells: pd.Series, kept: Collection[str] = MISSING_SIGNS) -> pd.Series:
    """Cells as levels: text, in which a whole number has no point, however a file writes it.

    The signs "?", "-" and "." stand for missing cells, except for those that are kept. The cells 3.0, NaN, 4.0 become
    "3", None, "4".

    Parameters
    ----------
    cells : (n,) of any type
    kept : signs that are levels here, as the training rows had them; by default all signs are kept
    """
    # A categorical of pandas declares its levels: only their names are turned into text, and no cell is touched.
    if isinstance(cells.dtype, pd.CategoricalDtype):
        categories = [level_text(value) for value in cells.cat.categories]
        return cells.cat.rename_categories(categories)

    # Each different value is turned into text once. `codes` is the position of each cell's value among them, and −1
    # where the cell is missing. For the cells 3.0, NaN, 4.0 the values are 3.0 and 4.0, and the codes 0, −1, 1.
    codes, distinct = pd.factorize(cells)
    levels: list[str | None] = []
    for value in distinct:
        level = level_text(value)
        is_missing = level in MISSING_SIGNS and level not in kept
        levels.append(None if is_missing else level)

    # as an index −1 takes the last entry, so None is appended for missing cells
    levels_and_missing = np.array([*levels, None], object)
    return pd.Series(levels_and_missing[codes], cells.index, dtype=object, name=cells.name)


def level_text(value: Any) -> str:
    """A value as the name of a level: "3.0" is "3", as whole numbers become floats beside a missing cell."""
    return re.sub(r"^([+-]?[0-9]+)\.0$", r"\1", str(value))


# --- all columns ----------------------------------------------------------------------------------------------------


@record
@dataclass(frozen=True)
class ColumnContract:
    """How each column of a table is used, and why; `describe` returns it.

    Fields
    ------
    columns : one `Column` for each column of the table, in its order; the parts of a date stand behind it
    rows : rows of the table
    target : name of the column of labels; None if none was named
    notes : possible problems of the target, and of columns that say the same, one sentence each

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
        # the message names all columns, and the one that is spelled most like it
        names = [column.name for column in self.columns]
        raise KeyError(f"there is no column {name!r}; the columns are {', '.join(names)}{did_you_mean(name, names)}")

    @property
    def used(self) -> tuple[Column, ...]:
        """The columns that a model uses."""
        return tuple(column for column in self.columns if column.is_used)

    @property
    def dropped(self) -> tuple[Column, ...]:
        """The columns that are left out."""
        return tuple(column for column in self.columns if column.role == "dropped")

    @property
    def plain(self) -> set[str]:
        """The names of columns of text that are numbers as any parser reads them, without words among the numbers.

        A file of text can then give these columns to pandas as numbers, which is quicker than to read them as text.
        """
        names = set()
        for column in self.columns:
            # `written` is the format of numbers in text, None if the cells are no text. A column that the user asked
            # to be numbers may have words further down, which pandas would not read: it stays text for now.
            are_plain_numbers = column.is_used and column.written is not None and column.written.is_plain
            if are_plain_numbers and column.why != ASKED and not column.words:
                names.add(column.name)
        return names

    @property
    def cautions(self) -> list[str]:
        """What to look at before a model is trusted, a sentence each: first the target, then the columns."""
        texts = [*self.notes]
        for column in self.columns:
            if not column.warning:
                continue
            # "column 'id' is left out: identifies the row; …" or "column 'age': …", and then the warning
            reason = f" is left out: {column.why}; " if column.role == "dropped" else ": "
            texts.append(f"column {column.name!r}{reason}{column.warning}")
        return [as_sentence(text) for text in texts]

    def first_cautions(self, most: int) -> list[str]:
        """The first cautions, and how many more there are."""
        cautions = self.cautions
        if len(cautions) <= most:
            return cautions
        return [*cautions[:most], f"… and {len(cautions) - most:,} more columns to look at; `describe` shows them."]

    def to_frame(self) -> pd.DataFrame:
        """A data frame with one row a column: role, why, distinct values, missing share, example and warning."""
        names = ["name", "role", "why", "distinct", "missing", "example", "warning"]
        return pd.DataFrame([*map(vars, self.columns)], columns=names).set_index("name").rename_axis("column")

    # --- reading rows -------------------------------------------------------------------------------------------------

    def apply(self, table: Any, used_only: bool = True) -> pd.DataFrame:
        """The columns that a model uses, in the order of the contract, with cells as a model takes them.

        Numbers become floats, and levels text. With used_only=False the table keeps all its columns.

        Parameters
        ----------
        table : data frame (n, d), or what pandas makes one of
        used_only : False also keeps columns that the contract leaves out or does not know, with their cells as they are

        Raises
        ------
        ValueError
            if a column is missing, or if a cell in a column of numbers cannot be read as a number. The message names
            the column
        """
        frame = self.with_date_parts(pd.DataFrame(table))
        used = {column.name: column for column in self.used}
        needed = {column.name: column.name_in_table for column in self.used}
        missing = [*dict.fromkeys(needed[name] for name in used if name not in frame.columns)]
        if missing:
            noun = "column" if len(missing) == 1 else "columns"
            raise ValueError(
                f"`table` has no {noun} {listed(missing)}, which the model was fitted to; "
                f"add what is missing{did_you_mean(missing[0], frame.columns)}"
            )

        # Columns that the contract does not use are passed on as they are.
        names = list(used) if used_only else list(frame.columns)
        cells = {}
        for name in names:
            # `read` turns text into numbers or levels, by the role and the number format of the column.
            cells[name] = used[name].read(frame[name]) if name in used else frame[name]
        return pd.DataFrame(cells, index=frame.index, columns=names)

    def with_date_parts(self, frame: pd.DataFrame) -> pd.DataFrame:
        """A table with a column for each part of a date that is used; the table itself if it has them already.

        Parameters
        ----------
        frame : rows as they stand in the table

        Raises
        ------
        CellError
            if a cell is neither a date, in the order that the training rows had, nor missing
        """
        new_columns: dict[str, pd.Series] = {}
        for column in self.columns:
            if column.role != DATE or column.name not in frame.columns:
                continue
            parts = {part.part: part.name for part in self.used if part.source == column.name}
            for part, cells in column.read_date(frame[column.name], parts).items():
                new_columns[parts[part]] = cells
        return frame.assign(**new_columns) if new_columns else frame

    def refuse_contradictions(self, piece: pd.DataFrame, applied: pd.DataFrame) -> None:
        """Raise a CellError on a cell, further down in the table, that its role has no place for.

        The first rows gave the roles. Three kinds of column can be contradicted by later rows:

        - empty in the first rows, and so left out: it is to stay empty
        - constant in the first rows, and so left out: it is to hold the same value, which is its `example`
        - "yes/no": it is to hold only 0 and 1

        Parameters
        ----------
        piece : further rows of the table
        applied : these rows as `apply` gives them
        """
        for column in self.columns:
            if column.source:  # a part of a date may be the same in the first rows, such as the year
                continue
            # which cells contradict the first rows, `is_wrong` (n,), and what those held, `expected`
            cells = piece[column.name]
            if column.why in (EMPTY, CONSTANT):
                # Cells are compared as text, in which 3 and 3.0 are the same. `example` is the value of a constant
                # column, and "" of an empty one: no cell has this text, so every cell that is not missing is wrong.
                texts = levels_of(cells, kept=())  # None of a missing cell
                expected_text = levels_of(pd.Series([column.example])).iloc[0]
                is_wrong = (texts.notna() & (texts != expected_text)).to_numpy()
                expected = "nothing" if column.why == EMPTY else f"only {column.example}"
            elif column.role == "yes/no":
                numbers = applied[column.name].to_numpy(float, na_value=np.nan)
                is_wrong = ~np.isnan(numbers) & (numbers != 0) & (numbers != 1)
                expected = "only 0 and 1"
            else:
                continue

            if is_wrong.any():
                raise CellError(column.name, cells, is_wrong, f", but the first rows {expected}")

    def accepting(self, piece: pd.DataFrame) -> "ColumnContract":
        """The contract after further rows of its table: other words in columns that were asked for as numbers."""
        columns = [column.accepting(piece[column.name]) if column.is_used else column for column in self.columns]
        return replace(self, columns=tuple(columns))

    def widened(self, applied: pd.DataFrame) -> "ColumnContract":
        """The contract after further rows, as `apply` gives them: with their ranges and levels."""
        columns = [column.widened(applied[column.name]) if column.is_used else column for column in self.columns]
        return replace(self, columns=tuple(columns))

    def with_missing(self, n_missing: pd.Series, n_rows: int) -> "ColumnContract":
        """The contract with the number of missing cells of each used column, by its name, among all rows."""
        counts = n_missing.to_dict()  # of used columns only; the others stay as they are
        columns = [
            column.with_missing(counts[column.name], n_rows) if column.is_used else column for column in self.columns
        ]
        return replace(self, columns=tuple(columns))

    # --- other rows ---------------------------------------------------------------------------------------------------

    def differences(self, table: Any) -> list[str]:
        """How another table differs from this one, one sentence for each difference; an empty list if there is none.

        It lists new columns, new levels, numbers outside the known range, and columns with far more missing cells. All
        columns of the contract must be present.
        """
        applied = self.apply(table)  # cells of the used columns as numbers or levels

        # Columns that the contract does not know.
        names = {column.name for column in self.columns}
        new_names = [name for name in pd.DataFrame(table).columns if name not in names]
        sentences = []
        if new_names:
            sentences.append(f"columns that the model was not fitted to are ignored: {listed(new_names)}.")

        # Up to three sentences on each column; a text is "" where there is nothing to say.
        for column in self.used:
            cells = applied[column.name]
            texts = (
                _new_levels(column, cells),
                _far_numbers(column, cells),  # far outside of the training range
                _more_missing(column, cells),
            )
            for text in filter(None, texts):
                sentences.append(f"column {column.name!r}: {text}.")
        return sentences

    def far_columns(self, applied: pd.DataFrame) -> list[str]:
        """A note for each row of `apply`: its numbers beyond the training range by more than that range; "" if none.

        Parameters
        ----------
        applied : (n, d) new rows as `apply` gives them, numbers as floats
        """
        notes: list[list[str]] = [[] for _ in range(len(applied))]  # of each row what is said of its columns
        for column in self.used:
            is_far = column.is_far(applied[column.name])  # (n,) beyond the range by more than the range is long
            for row in np.flatnonzero(is_far):
                notes[row].append(f"column {column.name!r} lies far outside of {_span(column)}")
        return ["; ".join(texts) for texts in notes]

    # --- the contract as text -----------------------------------------------------------------------------------------

    def shown(self, most: int | None = None) -> tuple[pd.DataFrame, str]:
        """The contract as a table of text, `!` beside what to look at; of many columns the target and those first.

        Parameters
        ----------
        most : columns that are shown; None shows all

        Returns
        -------
        the table, and a line that says how many columns it leaves out, or ""
        """

        # Which columns are shown: first target and weight, then those with a warning, then the others. The sort is by
        # two booleans, of which False comes before True.
        def comes_late(column: Column) -> tuple[bool, bool]:
            return column.role not in ("target", "weight"), not column.warning

        most_needed = sorted(self.columns, key=comes_late)[:most]
        names = {column.name for column in most_needed}
        rows = [_shown_row(column) for column in self.columns if column.name in names]  # in the order of the table
        table = pd.DataFrame(rows, columns=["", "column", "role", "distinct", "missing", "example", "why"])

        n_more = len(self.columns) - len(rows)
        more = f"… and {n_more} more columns" if n_more else ""
        return table, more

    def summary(self, most: int | None = None) -> str:
        """The contract as a readable text, with at most so many columns."""
        table, more = self.shown(most)  # text, and how many columns it leaves out
        in_columns = "{:1} {:28}  {:7}  {:>8} {:>7}  {:28}  {}".format  # widths of the cells of a line
        lines = [in_columns(*row) for row in (table.columns, *table.to_numpy())]
        if more:
            lines.append(more)
        return "\n".join([*lines, *(f"! {note}" for note in self.notes)])

    def __str__(self) -> str:
        return self.summary()


def _shown_row(column: Column) -> tuple[str, ...]:
    """One line of the contract."""
    mark = "!" if column.warning else ""
    about = "; ".join(filter(None, [column.why, column.warning]))
    values = str(column.distinct), f"{column.missing:.0%}", shorten(column.example)
    return (mark, shorten(column.name), column.role, *values, about)


def _span(column: Column) -> str:
    """The training range of a column of numbers."""
    return f"{column.low:g} to {column.high:g}"


def _new_levels(column: Column, cells: pd.Series) -> str:
    """What is said of levels that the training rows do not have; "" if there are none, or if not all are known.

    Parameters
    ----------
    column : of the contract
    cells : of other rows, as `Column.read` gives them
    """
    if not column.levels:  # a contract lists no levels if there are more than 100: then nobody knows which are new
        return ""
    new = [level for level in cells.dropna().unique() if level not in column.levels]
    if not new:
        return ""
    similar = did_you_mean(new[0], column.levels).rstrip("?")
    n_rows = int(cells.isin(new).sum())
    return f"levels that are not in the training rows ({listed(new, 3)}), in {n_rows} rows{similar}"


def _far_numbers(column: Column, cells: pd.Series) -> str:
    """How many numbers are far outside of the training range; "" if none is."""
    n_far = int(column.is_far(cells).sum())
    if not n_far:
        return ""
    return f"{n_far} rows lie far outside of {_span(column)}, the range of the training rows"


def _more_missing(column: Column, cells: pd.Series) -> str:
    """How many cells are missing; "" if they are not far more than in the training rows."""
    n_missing = int(cells.isna().sum())
    share = n_missing / max(len(cells), 1)
    # It is worth a sentence if 5 cells or more are missing, and their share is larger than in the training rows by .2.
    if n_missing < _MANY_MISSING or share <= column.missing + _MORE_MISSING:
        return ""
    return f"{share:.0%} of the cells are missing, {column.missing:.0%} in the training rows"
