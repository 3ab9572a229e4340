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
    """Each column of numbers that is nearly an earlier one, with the most similar of them.

    The likeness of two columns is the size of Spearman's correlation: that of their ranks. It is found in two steps:

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
    n_columns = len(columns)

    # Very many columns are screened by fewer rows, evenly spaced, so that rows × columns² stays below a limit; but by
    # 64 rows at least. Single precision is enough for that.
    n_rows = int(np.clip(_MAX_PRODUCTS / n_columns**2, 64, len(table)))
    screened_rows = np.linspace(0, len(table) - 1, n_rows).astype(int)
    ranks = _centred_ranks(table[screened_rows])  # (rows, d), with mean 0 in each column; NaN where missing

    # NaN would spoil matrix products. So a missing cell gets the rank 0, which is the mean and adds nothing to a sum of
    # products. `is_known` is 1 or 0: its products count the rows that two columns both know.
    is_known = ~np.isnan(ranks)
    ranks = np.where(is_known, ranks, 0).astype(np.float32)
    is_known = is_known.astype(np.float32)

    # A block is 1,000 neighbouring columns, which are compared with all columns up to the last of the block. So memory
    # holds 1,000 × d correlations at a time, and never d × d.
    for start in range(0, n_columns, _BLOCK):
        block = np.arange(start, min(start + _BLOCK, n_columns))
        likeness = _correlations(ranks, is_known, block)  # (block, all columns up to its end)

        # A column is compared with earlier ones only, not with itself or later ones. In the block of the columns 0, 1
        # and 2 the rows of the mask are (F, F, F), (T, F, F) and (T, T, F).
        is_earlier = np.arange(likeness.shape[1]) < block[:, None]  # (block, columns)
        likeness[~is_earlier] = 0
        most_similar = likeness.argmax(1)  # for each column of the block the earlier column that is most like it
        for row, column in enumerate(block):
            other = int(most_similar[row])
            if likeness[row, other] < _SCREENED:
                continue
            # All rows, and ranks among those that both columns know.
            correlation = _rank_correlation(table[:, other], table[:, column])
            if correlation >= _LEAST_CORRELATION:
                yield _Pair(other, int(column), correlation)


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
    """Size of the correlation of a block of columns with all up to its end, over the rows in which both are known.

    Centred ranks have mean 0, so that the correlation is Σ ab / √(Σ a² Σ b²). A missing cell is 0 and adds nothing to
    Σ ab; the other two sums are over the rows where the other column is known.

    Parameters
    ----------
    ranks : (n, d) centred ranks, 0 where missing
    is_known : (n, d) 1 where known, 0 where missing
    block : positions of the columns

    Returns
    -------
    (b, up to the last of the block), 0 where a column does not vary or fewer than 20 rows are known in both
    """
    # Below, a is a column of the block and b any column up to its end. All tables are (columns of the block, end).
    end = block[-1] + 1
    squares = ranks[:, :end] ** 2
    products = ranks[:, block].T @ ranks[:, :end]  # Σ ab
    n_both = is_known[:, block].T @ is_known[:, :end]  # number of rows known in both
    first = (ranks[:, block] ** 2).T @ is_known[:, :end]  # Σ a² over the rows in which b is known
    second = is_known[:, block].T @ squares  # Σ b² over the rows in which a is known

    # Where the correlation is not defined it is 0. The inner `where` only avoids a division by 0 there.
    scale = np.sqrt(first * second)
    is_defined = (scale > 0) & (n_both >= FEW_ROWS)
    return np.where(is_defined, np.abs(products) / np.where(is_defined, scale, 1), 0)


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
    """The smaller of both λ of Goodman & Kruskal (1954): the share of errors that knowing the other column avoids.

    λ is 1 in both directions only if each level of one column goes with one level of the other. `first` and `second`
    are (n,) codes, NaN where missing.
    """
    is_known = ~(np.isnan(first) | np.isnan(second))
    if is_known.sum() < FEW_ROWS:
        return 0.0
    a = first[is_known].astype(int)
    b = second[is_known].astype(int)
    n_a = a.max() + 1  # numbers of levels
    n_b = b.max() + 1
    if max(n_a, n_b) > 2 * min(n_a, n_b):  # no level of one can have a level of the other to itself
        return 0.0

    # The table (n_a, n_b) of how many rows have each pair of levels. A pair has the one number a n_b + b: with n_b = 3
    # the pairs (0, 0), (0, 1), (0, 2), (1, 0) have the numbers 0, 1, 2, 3.
    table = np.bincount(a * n_b + b, minlength=n_a * n_b).reshape(n_a, n_b)
    return min(_lambda(table), _lambda(table.T))


def _lambda(table: np.ndarray) -> float:
    """Goodman and Kruskal's λ of a table of counts (a, b): how much better b is guessed once a is known.

    λ = (Σ of the largest of each row − the largest column) / (n − the largest column). Whoever guesses the most
    frequent b errs in n − the largest column rows; whoever knows a guesses the most frequent b of its row.
    """
    n = table.sum()
    largest_column = table.sum(0).max()  # rows of the most frequent b
    if n == largest_column:  # b has one level only: there are no errors that could be avoided, and λ would be 0/0
        return 0.0
    return float((table.max(1).sum() - largest_column) / (n - largest_column))
