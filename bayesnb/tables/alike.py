"""Columns that say the same: exact and near copies, which naive Bayes counts twice.

Two columns of numbers are near copies if the correlation of their ranks is .99 or more in size: ranks see a copy in
another unit, on a log scale, or of the other sign, and no gross cell hides or feigns one. Two columns of levels are
near copies if each level of one goes with one level of the other, up to a few rows.
"""

import itertools
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from .columns import FEW_ROWS

SAMPLE_ROWS = 2_000  # rows that are compared, evenly spaced
_LEAST_CORRELATION = 0.99
_SCREENED = 0.98  # correlation of the ranks of all known cells, from which a pair is ranked by itself
_LEAST_GAIN = 0.98  # share of rows outside of the largest level that the other column tells
_EXACT = 1 - 1e-9  # a correlation that is 1 but for rounding
_MAX_COLUMNS = 10_000  # columns of numbers that are compared
_MAX_LEVELS = 150  # columns of levels that are compared
_MAX_PRODUCTS = 4e9  # rows × columns², at most; beyond, fewer rows are compared
_BLOCK = 1_000  # columns compared with all others at a time
_SHOWN_PAIRS = 6


class ColumnSample(NamedTuple):
    """A column in some of the rows.

    Fields
    ------
    name, role : as in the contract
    values : (n,) numbers, of levels their codes; NaN is missing
    """

    name: str
    role: str
    values: np.ndarray


class _Pair(NamedTuple):
    """Two columns, by their positions in the list that is compared, and how alike they are: 1 for exact copies."""

    first: int
    second: int
    likeness: float


def sample_positions(n: int) -> np.ndarray:
    """Positions of the rows that are compared, of a table of n rows: all of them, or 2,000 that are evenly spaced."""
    if n <= SAMPLE_ROWS:
        return np.arange(n)
    return np.linspace(0, n - 1, SAMPLE_ROWS).astype(int)


def alike_columns(columns: Sequence[ColumnSample]) -> list[str]:
    """One sentence for each column that is an exact or near copy of an earlier one; the first few of many.

    Numbers are compared with numbers, and levels with levels; all columns have the same rows.

    Parameters
    ----------
    columns : in the order of the table, with codes in place of levels
    """
    if len(columns) < 2 or len(columns[0].values) < FEW_ROWS:
        return []

    # Columns of two levels, 0 and 1, are as good as numbers. Time grows with the square of the number of columns, so
    # columns after the first 10,000 of numbers and 150 of levels are not compared.
    numbers = [column for column in columns if _is_ordered(column)][:_MAX_COLUMNS]
    levels = [column for column in columns if not _is_ordered(column)][:_MAX_LEVELS]

    # Each pair is two positions in the list that was compared, and how alike the two are: 1 if they are exact copies.
    # The second column of a pair is the copy of the first, which stands earlier in the table.
    sentences = []
    for pair in _pairs_of_numbers([column.values for column in numbers]):
        sentences.append(_sentence(numbers[pair.first].name, numbers[pair.second].name, pair.likeness))
    for pair in _pairs_of_levels([column.values for column in levels]):
        sentences.append(_sentence(levels[pair.first].name, levels[pair.second].name, pair.likeness))

    if len(sentences) > _SHOWN_PAIRS:
        n_more = len(sentences) - _SHOWN_PAIRS
        return [*sentences[:_SHOWN_PAIRS], f"{n_more:,} more columns are copies or near copies of an earlier one"]
    return sentences


def _is_ordered(column: ColumnSample) -> bool:
    """Whether a column is numbers, or has at most two levels, which a 0 and a 1 stand for."""
    return column.role != "levels" or bool(np.nanmax(column.values, initial=0) <= 1)


def _sentence(first: str, second: str, likeness: float) -> str:
    """What is said of a pair."""
    kind = "say the same"
    if likeness < _EXACT:
        kind = f"say nearly the same (correlation of ranks {min(likeness, 0.999):.3f})"
    return f"columns {first!r} and {second!r} {kind}, which naive Bayes counts twice; {second}=drop keeps one of them"


# --- numbers --------------------------------------------------------------------------------------------------------


def _pairs_of_numbers(columns: list[np.ndarray]) -> Iterator[_Pair]:
    """Each column of numbers that is nearly a copy of an earlier one, with the most similar of the earlier ones.

    The likeness of two columns is the size of Spearman's correlation, that of their ranks. It is found in two steps:

    1. Screening. Each column is ranked once, over all of its known cells, and the correlations of all pairs are matrix
       products. This is quick but not exact, because the ranks of a pair should be those of the rows known in both.
    2. Only a pair that is screened at .98 or more is ranked by itself, over the rows in which both cells are known. It
       is given out if the correlation is .99 or more.

    Parameters
    ----------
    columns : (n,) numbers of each column, NaN where missing
    """
    if len(columns) < 2:
        return
    table = np.column_stack(columns)  # (n, d)

    # 1. Screening, 1,000 columns at a time, so that memory holds 1,000 × d correlations, and never d × d.
    screened = _ranks_for_screening(table)
    n_columns = len(columns)
    for start in range(0, n_columns, _BLOCK):
        block = np.arange(start, min(start + _BLOCK, n_columns))  # numbers of these columns
        likeness = _correlations(screened.ranks, screened.is_known, block)  # (block, all columns up to its last)

        # A column is compared with earlier ones only, not with itself or later ones: of the columns 0, 1 and 2, column
        # 0 with none, column 1 with 0, and column 2 with 0 and 1.
        is_earlier = np.arange(likeness.shape[1]) < block[:, None]  # (block, columns)
        likeness[~is_earlier] = 0
        most_similar = likeness.argmax(1)  # (block,) number of the earlier column that is most like it

        # 2. The few pairs that may be copies, by the ranks among the rows that both columns know.
        for row, column in enumerate(block):
            other = int(most_similar[row])
            if likeness[row, other] < _SCREENED:
                continue
            correlation = _rank_correlation(table[:, other], table[:, column])
            if correlation >= _LEAST_CORRELATION:
                yield _Pair(other, int(column), correlation)


class _Ranks(NamedTuple):
    """Ranks of the cells of d columns, in single precision, so that matrix products give correlations.

    Fields
    ------
    ranks : (rows, d) less their mean in the column; 0 where missing, as this adds nothing to a sum of products
    is_known : (rows, d) 1 where known, 0 where missing: sums of products count the rows that two columns both know
    """

    ranks: np.ndarray
    is_known: np.ndarray


def _ranks_for_screening(table: np.ndarray) -> _Ranks:
    """The ranks of the cells in each column of a table (n, d), in all rows or some of them, evenly spaced.

    Of very many columns there are fewer rows, so that rows × columns² stays below a limit; but at least 64.
    """
    n, n_columns = table.shape
    n_rows = int(np.clip(_MAX_PRODUCTS / n_columns**2, 64, n))
    rows = np.linspace(0, n - 1, n_rows).astype(int)
    ranks = _centred_ranks(table[rows])  # with mean 0 in each column; NaN where missing
    is_known = ~np.isnan(ranks)
    return _Ranks(np.where(is_known, ranks, 0).astype(np.float32), is_known.astype(np.float32))


def _rank_correlation(first: np.ndarray, second: np.ndarray) -> float:
    """Size of Spearman's correlation over the rows in which both columns are known."""
    pair = pd.DataFrame({"first": first, "second": second}).dropna().rank()
    return abs(float(pair["first"].corr(pair["second"])))


def _centred_ranks(table: np.ndarray) -> np.ndarray:
    """Ranks of the known cells in each column of a table (n, d), less their mean; NaN stays.

    The column 5, 9, NaN, 7 has the ranks 1, 3, NaN, 2, whose mean is 2. So it becomes −1, 1, NaN, 0.
    """
    ranks = pd.DataFrame(table).rank().to_numpy()  # equal cells share the mean of their ranks; NaN has none
    n_known = np.maximum((~np.isnan(ranks)).sum(0), 1)  # (d,); at least 1, as a column may have no known cell
    return ranks - (np.nansum(ranks, 0) / n_known)


def _correlations(ranks: np.ndarray, is_known: np.ndarray, block: np.ndarray) -> np.ndarray:
    """The size |r| of the correlation of some columns a with all columns b up to the last of them, (columns a, b).

    With ranks less their mean it is r = Σ ab / √(Σ a² Σ b²), where all three sums are over the rows in which both cells
    are known. It is 0 where a column does not vary, or fewer than 20 rows are known in both.

    Parameters
    ----------
    ranks : (n, d) ranks less their mean in the column, 0 where missing
    is_known : (n, d) 1 where known, 0 where missing
    block : numbers of the columns a, which are neighbours
    """
    end = block[-1] + 1
    a = ranks[:, block]  # (n, columns a)
    b = ranks[:, :end]  # (n, columns b)
    knows_a = is_known[:, block]
    knows_b = is_known[:, :end]

    # a missing cell is 0 and adds nothing to a sum; where only the other one is missing, `knows_…` makes its term 0
    sum_ab = a.T @ b  # (columns a, b), as are all tables below
    sum_aa = (a**2).T @ knows_b
    sum_bb = knows_a.T @ b**2
    n_both = knows_a.T @ knows_b  # number of rows known in both

    scale = np.sqrt(sum_aa * sum_bb)
    is_defined = (scale > 0) & (n_both >= FEW_ROWS)
    divisor = np.where(is_defined, scale, 1)  # 1 only avoids a division by 0
    return np.where(is_defined, np.abs(sum_ab) / divisor, 0)


# --- levels ---------------------------------------------------------------------------------------------------------


def _pairs_of_levels(columns: list[np.ndarray]) -> Iterator[_Pair]:
    """Each column of levels that goes one to one with an earlier one, up to a few rows.

    Parameters
    ----------
    columns : (n,) codes of each column, NaN where missing
    """
    copies = set()  # columns that have been given out, each once
    for first, second in itertools.combinations(range(len(columns)), 2):  # first < second
        if second in copies:  # a column that is a copy of several earlier ones is named once
            continue
        likeness = _likeness_of_levels(columns[first], columns[second])
        if likeness >= _LEAST_GAIN:
            copies.add(second)
            yield _Pair(first, second, likeness)


def _likeness_of_levels(first: np.ndarray, second: np.ndarray) -> float:
    """How well two columns of levels tell each other, 0 to 1: the smaller of both λ of Goodman & Kruskal (1954).

    λ is the share of the errors in guessing one column that is avoided by knowing the other. Both are 1 only if each
    level of one column goes with one level of the other.

    Parameters
    ----------
    first, second : (n,) codes 0, 1, … of the levels, NaN where missing
    """
    is_known = ~(np.isnan(first) | np.isnan(second))
    if is_known.sum() < FEW_ROWS:
        return 0.0
    a = first[is_known].astype(int)
    b = second[is_known].astype(int)
    n_a = a.max() + 1  # numbers of levels
    n_b = b.max() + 1
    if max(n_a, n_b) > 2 * min(n_a, n_b):  # many more levels: they cannot go one to one
        return 0.0

    # The table of how many rows have each pair of levels. Its entries are numbered line by line: with n_b = 3 the pairs
    # (0, 0), (0, 1), (0, 2), (1, 0) have the numbers 0, 1, 2, 3.
    pair = a * n_b + b  # (known rows,)
    table = np.bincount(pair, minlength=n_a * n_b).reshape(n_a, n_b)
    return min(_lambda(table), _lambda(table.T))


def _lambda(table: np.ndarray) -> float:
    """Goodman and Kruskal's λ of a table of counts (a, b): how much better b is guessed once a is known.

    λ is the share of errors that are avoided: (right with a − right without a) / (n − right without a). For example, in
    the table of rows (8, 1) and (2, 9) a guess without a is b = 0 or b = 1, right in 10 of 20 rows, and with a it is
    right in 8 + 9. So λ = (17 − 10) / (20 − 10) = 0.7.
    """
    n = table.sum()
    right_without_a = table.sum(0).max()  # who always guesses the most frequent b
    right_with_a = table.max(1).sum()  # who guesses the most frequent b beside each a
    if n == right_without_a:  # b has one level only: there are no errors that could be avoided, and λ would be 0/0
        return 0.0
    return float((right_with_a - right_without_a) / (n - right_without_a))
