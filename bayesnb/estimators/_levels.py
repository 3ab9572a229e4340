"""Features with levels: which levels a column has, and the position of each cell among them.

The levels of a column are, by the first rule that applies:

    declared    its type names them: the categories of pandas, of polars' Enum, and of Arrow's dictionaries. All of them
                count, whether they occur or not
    codes       its cells are whole numbers: 0 … max, and at least `min_categories` of them
    values      other cells: the values that occur, sorted. So too of polars' Categorical, which declares none
    unseen      it has no cell: `min_categories` codes, until a cell shows what its levels are
"""

import itertools
import numbers
import warnings
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import sparse

from ..models.naive_bayes import Rows
from ._fitted import State
from ._predicting import AbstractBayes

_MAX_LEVELS = 1 << 20  # of a feature of whole numbers


class AbstractLevels(AbstractBayes):
    """What estimators of features with levels share: the levels, in the order in which they are counted.

    The encoding is a list of the levels of each column. Codes 0 … K−1 are an array of signed integers, those of a
    column without a cell an array of unsigned ones, and declared levels and values are an array of objects. A subclass
    says how its counts are moved to other levels (`_move_counts`).
    """

    min_categories: Any
    _takes_text = True
    _advice = "Bin the column, or pass it as strings (on the command line: --columns NAME=levels)."

    @property
    def categories_(self) -> list[np.ndarray]:
        """Levels of each feature; of a column without a cell `min_categories` codes, at least the code 0."""
        return shown_levels(self._known_state())

    def _levels_of(self, state: State, feature: int) -> Any:
        """Labels of the levels of a column, (k,)."""
        return shown_levels(state)[feature]

    @property
    def n_categories_(self) -> np.ndarray:
        """Number of levels of each feature, (d,)."""
        return sizes_of(self._known_state())

    # --- learning levels ----------------------------------------------------------------------------------------------

    def _learn_encoding(self, state: State, X: Any) -> State:
        """The state that knows the levels of these rows, after those that it has known before.

        The levels of a column are, by the first case that applies:

        1. those that its type declares (categories of pandas), as an array of objects
        2. its distinct values, if its cells are no numbers, as an array of objects
        3. placeholders, if it has no cell: codes 0 … `min_categories` − 1, until a cell shows what the levels are. They
           are an array of *unsigned* integers, by which all other functions of this module know them
        4. codes 0 … max, if its cells are whole numbers ≥ 0, as an array of signed integers
        5. otherwise the numbers are no codes, such as −1 or 0.5, and are refused

        Parameters
        ----------
        state : its encoding is the list of the levels of each column, None before the first rows
        X : validated rows
        """
        min_levels = self._min_levels(state.columns.n)  # `min_categories` of each column, 0 where it is not given
        levels = []  # of each column
        refused = []  # (smallest number that is no code, position of the column)
        for j, column in enumerate(columns_of(_largest_codes(X))):
            # `column` has the cells, and the levels that its type declares, or None. `codes` are the known cells as
            # floats; None if they are no numbers, or the type declares levels
            codes = _codes_in(column)
            if column.declared is not None:
                levels.append(column.declared)  # case 1
            elif codes is None:
                levels.append(_distinct(column.cells))  # case 2: the values, sorted
            elif not len(codes):
                levels.append(np.arange(min_levels[j], dtype=np.uint64))  # case 3
            elif not _is_no_code(codes).any():
                n_levels = max(int(codes.max()) + 1, min_levels[j])  # case 4
                levels.append(np.arange(n_levels))
            else:  # case 5
                refused.append((codes[_is_no_code(codes)].min(), j))
        if refused:  # the message shows the smallest such number of all columns
            smallest, j = min(refused)
            self._refuse_codes(state, smallest, j)

        # levels that were known before keep their positions; new ones follow. `_recode` gives the state these levels,
        # and moves the counts of earlier rows to them
        if state.encoding is None:
            return self._recode(state, levels)
        all_levels = [_union(before, new) for before, new in zip(state.encoding, levels, strict=True)]
        return self._recode(state, all_levels)

    def _refuse_codes(self, state: State, value: float, j: int) -> None:
        """Raise the ValueError for a number in column j that is no code.

        Parameters
        ----------
        state : with the names of the columns
        value : the number
        j : position of its column
        """
        name = type(self).__name__
        # scikit-learn's checks of estimators look for these words if a number is negative
        start = f"Negative values in data passed to {name}: " if value < 0 else ""
        raise ValueError(
            f"{start}`X` has {value:g} in column {state.columns.label(j)}; {name} takes whole numbers as codes "
            f"0 … K−1. {self._advice}"
        )

    def _min_levels(self, d: int) -> list[int]:
        """The argument `min_categories`, checked, as a number for each of d features; 0 where it is None.

        It is the least number of levels of a feature whose levels are codes 0 … K−1.

        Parameters
        ----------
        d : number of features
        """
        # whole numbers (kinds i, u): one for all features, of shape (), or one for each, of shape (d,)
        value = np.asarray(0 if self.min_categories is None else self.min_categories)
        is_whole = value.dtype.kind in "iu" and value.shape in ((), (d,))
        if not is_whole or value.min(initial=0) < 0 or value.max(initial=0) > _MAX_LEVELS:
            raise ValueError(
                f"`min_categories` is {self.min_categories!r}; it needs whole numbers from 0 to {_MAX_LEVELS}, "
                f"of shape () or ({d},)"
            )
        return np.broadcast_to(value, d).tolist()

    # --- moving counts to other levels --------------------------------------------------------------------------------

    def _recode(self, state: State, levels: list[np.ndarray]) -> State:
        """The state with other levels; its counts, if there are any, move to the positions that their levels get.

        Parameters
        ----------
        state : its encoding is the list of the levels of each column; its statistics are counts by class and level
        levels : of each column, all that the state knows among them
        """
        after = replace(state, encoding=levels)
        if state.statistics is None or all(map(np.array_equal, levels, state.encoding)):
            return after  # no counts to move, or no level is new
        # a block of statistics is the counts of some columns; each level keeps its counts at its new position
        blocks = self._move_counts(state, after)
        return replace(after, statistics=replace(state.statistics, blocks=blocks))

    def _move_counts(self, state: State, after: State) -> dict[str, Any]:
        """The counts of a state, by block, in the encoding of another state, with 0 for levels that are new.

        Parameters
        ----------
        state : with counts; its encoding is the list of the levels of each column
        after : the same columns with all levels of `state` and new ones; its own statistics are not read
        """
        raise NotImplementedError

    def _merge_states(self, state: State, other: State) -> State:
        """The state of the rows of both, with the levels that either knows: counts are moved to these, and added."""
        levels = [*map(_union, state.encoding, other.encoding)]
        return super()._merge_states(self._recode(state, levels), self._recode(other, levels))

    # --- rows ---------------------------------------------------------------------------------------------------------

    def _codes(self, state: State, X: Any) -> np.ndarray:
        """The position of each cell among the levels of its column, (n, d); NaN where it is missing or unknown.

        Parameters
        ----------
        state : its encoding is the list of the levels of each column
        X : validated rows
        """
        # quickly for an array of numbers (booleans b, integers i and u, floats f), if the levels of all columns are
        # codes 0 … K−1: a cell is its own position
        if isinstance(X, np.ndarray) and X.dtype.kind in "biuf" and all(map(are_codes, state.encoding)):
            n_levels = np.array([*map(len, state.encoding)])
            return _code_table(X, n_levels)

        # otherwise column by column: each cell is looked up among the levels that the fit knows
        codes = []  # of each column (n,)
        for j, (column, levels) in enumerate(zip(columns_of(X), state.encoding, strict=True)):
            codes.append(_positions(column.cells, levels, state.columns.label(j)))
        return np.stack(codes, 1)

    def _as_input(self, state: State, rows: Rows) -> np.ndarray:
        """Rows of codes by block as an array of levels, (n, d): the inverse of `_rows_by_block`.

        Parameters
        ----------
        state : its encoding is the list of the levels of each column
        rows : by the name of a block the codes (n, columns of the block)
        """
        # a block is some columns, whose positions in X `_block_columns` has. Blocks are taken apart into columns
        codes: dict[int, np.ndarray] = {}  # of each column, (n,)
        for name, columns in self._block_columns(state).items():
            codes_of_block = rows[name].T.astype(int)  # (columns of the block, n)
            codes |= dict(zip(columns.tolist(), codes_of_block, strict=True))

        # a code is the position of the level that it stands for
        levels_by_column = shown_levels(state)
        return np.stack([levels[codes[j]] for j, levels in enumerate(levels_by_column)], 1)


# --- levels of a fit --------------------------------------------------------------------------------------------------


def are_codes(levels: np.ndarray) -> bool:
    """Whether the levels of a column are codes 0 … K−1; else they are names."""
    return levels.dtype.kind in "iu"


def _are_unseen(levels: np.ndarray) -> bool:
    """Whether levels are placeholders of a column without a cell: unsigned integers, or none at all."""
    return levels.dtype.kind == "u" or not len(levels)


def shown_levels(state: State) -> list[np.ndarray]:
    """Levels of each column as the user sees them; of a column without a cell its placeholders, at least the code 0."""
    shown = []
    for levels in state.encoding:
        shown.append(np.arange(max(1, len(levels))) if _are_unseen(levels) else levels)
    return shown


def sizes_of(state: State) -> np.ndarray:
    """Number of levels of each column, at least one, (d,)."""
    return np.array([*map(len, shown_levels(state))])


def counted_levels(levels: np.ndarray) -> np.ndarray:
    """The levels that may have counts: none in a column without a cell."""
    return levels[:0] if _are_unseen(levels) else levels


def places_among(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """Positions of levels among others, which hold them: of b, c among a, b, c they are 1, 2."""
    return pd.Index(after).get_indexer(pd.Index(before))


def _union(old: np.ndarray, new: np.ndarray) -> np.ndarray:
    """All levels of a column: the old ones in their order, then those that are new.

    The levels of a column are held in one of three ways, which the type of the array tells:

    - *codes*: the numbers 0 … K−1, signed integers, where cells are whole numbers
    - *names*: any values, such as texts, as objects
    - *placeholders*: the numbers 0 … `min_categories` − 1, unsigned integers, where the column has had no cell so far,
      so that nobody knows its levels

    For the names a, c and c, b the result is a, c, b. For 3 and 5 codes it is the 5 codes.

    Parameters
    ----------
    old, new : levels that two sets of rows gave to the same column
    """
    # placeholders give way to levels that cells have shown; of two sets of placeholders the longer one stays
    if _are_unseen(old) and _are_unseen(new):
        return max(old, new, key=len)
    if _are_unseen(old):
        return new
    if _are_unseen(new):
        return old

    # codes 0 … K−1: the longer of the two holds the other
    if are_codes(old) and are_codes(new):
        return max(old, new, key=len)

    # names, or codes beside names: then the codes become names, and the array one of objects. A set finds quickly which
    # of the new levels are not among the old ones
    old_levels = set(old.tolist())
    added = [level for level in new.tolist() if level not in old_levels]
    if not added:
        return old
    return np.concatenate([old.astype(object), np.array(added, dtype=object)])


# --- columns of a table -----------------------------------------------------------------------------------------------


class Column(NamedTuple):
    """A column of a table.

    Fields
    ------
    cells : (n,) its cells; of a sparse column the stored ones, and a zero
    declared : (k,) the levels that its type declares; None if it declares none
    """

    cells: np.ndarray
    declared: np.ndarray | None


def columns_of(X: Any) -> list[Column]:
    """Columns of an array, sparse array or data frame.

    Of a sparse column only the stored cells and one 0 are given, in place of all its empty cells. So it shows which
    levels the column has, but not how many rows.

    Parameters
    ----------
    X : validated rows (n, d)
    """
    if isinstance(X, np.ndarray):  # its type declares no levels
        return [Column(cells, None) for cells in X.T]
    if sparse.issparse(X):
        # compressed columns (CSC) hold the stored cells column after column: those of column j are
        # data[indptr[j] : indptr[j + 1]]. With 2, 0 and 3 cells in three columns `indptr` is 0, 2, 2, 5
        X = sparse.csc_array(X)
        columns = []
        for start, end in itertools.pairwise(X.indptr):
            cells = np.append(X.data[start:end], 0)
            columns.append(Column(cells, None))
        return columns
    return [_column_of_frame(column) for _, column in X.items()]


def _column_of_frame(column: Any) -> Column:
    """A column of a data frame of pandas, with the levels that its type declares.

    Parameters
    ----------
    column : a Series of pandas, (n,)
    """
    if not isinstance(column.dtype, pd.CategoricalDtype):
        return Column(column.to_numpy(dtype=object), None)
    # the categories as objects, so that numbers among them are names and no codes
    declared = column.dtype.categories.to_numpy(dtype=object)
    # pandas holds each cell as the position of its category, and a missing one as −1. As an index −1 takes the last
    # entry, which is the NaN that is appended: with the categories a, b the positions 1, −1, 0 give b, NaN, a. pandas'
    # own conversion would make floats of whole numbers beside a missing cell
    cells = np.append(declared, np.nan)[column.cat.codes]
    return Column(cells, declared)


def _largest_codes(X: Any) -> Any:
    """A table with the same levels, but quicker to go through, if X is an array of integers; otherwise X.

    Integers are codes 0 … max, so a single row with the largest cell of each column has the same levels. If a column
    has a negative cell, which is an error, the row has that cell: as unsigned integers negative ones are the largest.
    """
    is_whole = isinstance(X, np.ndarray) and X.dtype.kind in "iu" and X.size
    if not is_whole:
        return X
    largest = _as_unsigned(X).max(0, keepdims=True)  # (1, d)
    return largest.astype(X.dtype)  # as signed integers again


def _as_unsigned(X: np.ndarray) -> np.ndarray:
    """The same bytes read as unsigned integers: −1 becomes 255 of int8, so negative numbers are the largest."""
    return X.view(X.dtype.str.replace("i", "u"))


def _codes_in(column: Column) -> np.ndarray | None:
    """The cells that are not missing as floats, if all are numbers and the type declares no levels; else None."""
    if column.declared is not None:
        return None
    return _as_numbers(column.cells[~pd.isna(column.cells)])


def _is_no_code(codes: np.ndarray) -> np.ndarray:
    """Whether each number is no code 0 … K−1 of a level: it is below 0, not whole, or larger than a million."""
    return (codes < 0) | (codes != np.floor(codes)) | (codes >= _MAX_LEVELS)


def _as_numbers(values: np.ndarray) -> np.ndarray | None:
    """Values (m,) of any type as floats, if all of them are real numbers; otherwise None.

    Parameters
    ----------
    values : (m,), none of them missing, of any type
    """
    # booleans, integers, floats and fractions of Python and NumPy are `numbers.Real`
    if values.dtype == object and not all(isinstance(value, numbers.Real) for value in values.tolist()):
        return None
    if values.dtype.kind not in "biufO":  # not booleans, integers, floats or objects: text or times
        return None
    try:
        return values.astype(float)
    except OverflowError:  # a whole number too large for a float is a name
        return None


def _distinct(cells: np.ndarray) -> np.ndarray:
    """The values of a column, sorted; values of different types by the name of the type first."""

    def type_and_value(value: Any) -> tuple[str, Any]:
        return type(value).__name__, value  # values of different types cannot be compared

    values = set(cells[~pd.isna(cells)].tolist())
    return np.array(sorted(values, key=type_and_value), dtype=object)


# --- positions of cells -----------------------------------------------------------------------------------------------


def _code_table(X: np.ndarray, n_levels: np.ndarray) -> np.ndarray:
    """Codes (n, d): X itself if all cells are levels 0 … K−1 of their column, else floats with NaN for the others.

    Integers need one comparison a column: as unsigned integers negative cells are larger than any level.

    Parameters
    ----------
    X : (n, d), numbers
    n_levels : (d,), K of each column
    """
    # integers (i, u) of which all are levels are codes already
    if X.dtype.kind in "iu" and X.size and (_as_unsigned(X).max(0) < n_levels).all():
        return X
    return _valid(X.astype(float), n_levels)


def _valid(codes: np.ndarray, n_levels: Any) -> np.ndarray:
    """Numbers that are levels 0 … K−1 as they are; NaN for others."""
    is_level = (codes >= 0) & (codes < n_levels) & (codes == np.floor(codes))
    return np.where(is_level, codes, np.nan)


def _positions(cells: np.ndarray, levels: np.ndarray, label: str) -> np.ndarray:
    """Position of each cell among the levels, (n,); NaN where it is missing or unknown.

    Warns where all are unknown because one side is text and the other is numbers.

    Parameters
    ----------
    cells, levels : (n,) and (k,), of one column
    label : how the warning names the column
    """
    # among codes 0 … K−1 a number is its own position, and NaN if it is none of them. `codes` is None where some cell
    # is no number
    if are_codes(levels):
        codes = _as_numbers(np.where(pd.isna(cells), np.nan, cells))
        if codes is not None:
            return _valid(codes, len(levels))

    # other cells are looked up by pandas, which gives −1 to those that are not among the levels
    positions = pd.Index(levels).get_indexer(pd.Index(cells, dtype=object)).astype(float)
    if len(positions) and positions.max() < 0:
        _warn_of_types(cells, levels, label)
    return np.where(positions < 0, np.nan, positions)


def _warn_of_types(cells: np.ndarray, levels: np.ndarray, label: str) -> None:
    """Warn if the cells of a column are text and its levels are numbers, or the other way round.

    The first of each is looked at, because all cells of a column have one type as a rule.

    Parameters
    ----------
    cells, levels : (n,) and (k,), of one column
    label : how the warning names the column
    """
    values = cells[~pd.isna(cells)].tolist()  # known cells
    level_names = counted_levels(levels).tolist()  # without the placeholders of a column that had no cell
    if values and level_names and isinstance(values[0], str) != isinstance(level_names[0], str):
        warnings.warn(
            f"`X` has no known level in column {label}, because text is not a number: it has {values[0]!r}, and the "
            f"levels are like {level_names[0]!r}. The column is left out; convert it to the type that was fitted",
            stacklevel=2,
        )
