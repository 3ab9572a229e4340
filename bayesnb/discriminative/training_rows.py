"""Training rows as the regression takes them: what a row weighs, what leaves with it, and which rows it is fitted to.

Rows with fractions that occur more than once are one row seen again, unless their weights are declared as counts or
`groups` keep them apart: they become one row of the sum of their weights, which leaves whole. Rows of whole numbers may
be equal by chance, and stay apart.
"""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from ..calibration.leave_one_out import has_fractions
from ..numerics.arrays import Float, Int, is_sparse
from ..numerics.weights import RowWeights
from ..posterior.loo import copies, group_places

_MIN_SAMPLE = 50_000  # rows that the weights of columns are fitted to, if there are more
_ROWS_PER_PARAMETER = 1000  # or so many: P parameters cost P/2I nats of log loss a row, I being the undecided rows
_MAX_NUMBERS = 1 << 25  # of t and z of these rows: 256 MiB
_LEAST_SHARE_OF_EVEN = 0.5  # a class keeps so much of an even share of the sample, if it has the rows


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """Rows that the densities and the weights are fitted to, copies merged.

    Fields
    ------
    cells : (n, …) encoded rows
    code : (n,) class of each, as the regression numbers them
    weights : of these rows: counts, of which one leaves, or the sums of what leaves whole
    group : (n,) 0 … g−1 of rows that leave together; None where each leaves alone
    position : (n given,) which of these rows each given row is
    """

    cells: Any
    code: Int[np.ndarray, " n"]
    weights: RowWeights
    group: Any
    position: Int[np.ndarray, " given"]

    @property
    def weight(self) -> Float[np.ndarray, " n"]:
        """w_i of sums over rows."""
        return self.weights.values

    @property
    def leaving(self) -> Float[np.ndarray, " n"]:
        """The part of w_i that leaves when the row is left out."""
        return self.weights.leaving

    @property
    def has_merged_copies(self) -> bool:
        """Whether some given rows are one row here."""
        return len(self.position) > len(self.code)

    def take(self, rows: Any) -> "TrainingRows":
        """Some of the rows, by positions or a slice.

        They forget which of the rows that the user gave they stand for: `position` becomes 0, 1, 2, ….
        """
        code = self.code[rows]
        return TrainingRows(
            cells=self.cells[rows],
            code=code,
            weights=self.weights.rows(rows),
            group=None if self.group is None else self.group[rows],
            position=np.arange(len(code)),
        )


def training_rows(cells: Any, code: Int[np.ndarray, " n"], weights: RowWeights, groups: Any) -> TrainingRows:
    """Training rows with what leave-one-out removes of each: one count of it, all of it, or its whole group.

    1. If groups are given, all rows of a group are removed together.
    2. If weights are given as integers, they count equal rows, of which one is removed at a time.
    3. Otherwise equal rows with fractions are copies, one observation that was entered again. They are merged into one
       row with the sum of their weights, which is removed as a whole.

    Parameters
    ----------
    cells : (n, columns) encoded rows
    code : (n,) class number of each
    weights : of each row, with `are_counts` if they are integers
    groups : (n,) labels of groups of rows; None without groups

    Returns
    -------
    TrainingRows, whose `position` says for each of the n rows which row it has become
    """
    n = len(code)
    unchanged = np.arange(n)
    whole = replace(weights, are_counts=False)  # all of the weight of a row is removed with it

    # 1. The groups get the numbers 0, 1, … in the order of their first rows. If there are as many as rows, each row is
    # a group by itself, which is the same as no groups.
    if groups is not None:
        group = group_places(groups, n)
        has_companions = group.max(initial=0) < n - 1
        return TrainingRows(cells, code, whole, group if has_companions else None, unchanged)

    # 2. Counts: equal rows are different observations and stay apart.
    if weights.are_counts and weights.are_given:
        return TrainingRows(cells, code, weights, None, unchanged)

    # 3. Example: of the rows 0 to 3, row 2 is a copy of row 0. The first rows of their kind are 0 1 0 3. Without
    # repetition these are 0 1 3, and `position` says which of the three each row has become: 0 1 0 2.
    first = first_copies(cells, code)
    merged, position = np.unique(first, return_inverse=True)
    if len(merged) == n:  # no row is a copy
        return TrainingRows(cells, code, whole, None, unchanged)
    sum_of_weights = np.bincount(position, weights.values)
    return TrainingRows(
        cells=cells[merged],
        code=code[merged],
        weights=RowWeights(sum_of_weights, are_counts=False),
        group=None,
        position=position,
    )


def first_copies(cells: Any, code: Int[np.ndarray, " n"]) -> Int[np.ndarray, " n"]:
    """For each row the position of the first row that equals it in all cells and in class, itself if there is none.

    Only rows with fractions are compared: equal measurements are one observation that was entered again, but rows of
    whole numbers may be equal by chance. Rows 0 to 3 of which row 2 is a copy of row 0 give 0 1 0 3.

    Parameters
    ----------
    cells : (n, columns) encoded rows
    code : (n,) class number of each
    """
    first = np.arange(len(code))

    # 1. Candidates: rows with fractions whose hash another row has too. This is quick and rules most rows out.
    candidates = np.flatnonzero(_shares_its_hash(cells, code))  # positions
    if len(candidates):
        candidates = candidates[has_fractions(cells[candidates])]

    # 2. Compare the candidates cell by cell. Example: the candidates are the rows 3 5 8, and 8 is a copy of 3. `copies`
    # numbers them 0 1 0. The numbers 0 and 1 first occur in the rows 3 and 5, which gives 3 5 3.
    if len(candidates):
        number = copies(cells[candidates], code[candidates])
        _, first_of_number = np.unique(number, return_index=True)  # positions among the candidates
        first[candidates] = candidates[first_of_number][number]
    return first


def _shares_its_hash(cells: Any, code: Int[np.ndarray, " n"]) -> np.ndarray:
    """Whether another row has the same hash as a row, (n,): a quick test that all equal rows pass, and few others.

        hash of row i = Σ_j factor_j · whole number of cell ij + factor · class of row i    (modulo 2⁶⁴)

    The factors are random odd numbers. An odd factor has an inverse modulo 2⁶⁴, so that two rows which differ in a
    single cell never have the same hash. Sparse rows are not tested: the answer is True for all of them.

    Parameters
    ----------
    cells : (n, columns) encoded rows
    code : (n,) class number of each
    """
    if is_sparse(cells):
        return np.ones(len(code), bool)

    # 1. A random odd factor 2 k + 1 for each column, and one more for the class.
    factors = np.random.default_rng(0).integers(1 << 62, size=cells.shape[1] + 1, dtype=np.uint64)
    factors = 2 * factors + np.uint64(1)

    # 2. The sum. Products and sums of unsigned 64-bit integers are modulo 2⁶⁴ by themselves.
    hashes = code.astype(np.uint64) * factors[-1]  # (n,)
    for column, factor in zip(cells.T, factors[:-1], strict=True):
        hashes += _whole_numbers_of(column) * factor  # the same whole number for equal cells, else different ones

    # 3. How often the hash of each row occurs. The hashes 7 4 7 are 4 once and 7 twice: the rows have 2 1 2.
    _, number, times = np.unique(hashes, return_inverse=True, return_counts=True)
    return times[number] > 1


def _whole_numbers_of(column: np.ndarray) -> np.ndarray:
    """A whole number (64 bits) for each cell of a column of floats: the same for equal cells, and for no others.

    They are the bits of the float, mixed. Missing cells are equal to each other.
    """
    # Equal cells must have equal bits: infinity stands for every NaN, and adding 0 makes 0 of −0.
    canonical = np.where(np.isnan(column), np.inf, column + 0.0)
    bits = canonical.view(np.uint64)

    # The low bits of a short fraction such as 0.5 are all 0, and a product would keep them so. `^` is the exclusive or
    # of two numbers, bit by bit: it fills the low bits from those 29 places higher. It can be undone from the top bits
    # down, so that different cells stay different.
    return bits ^ (bits >> np.uint64(29))


class Sample(NamedTuple):
    """The rows that the weights of columns are fitted to.

    Fields
    ------
    rows : their positions, ascending; a slice of all
    log_rate : (c,) log of the share of its rows that each class has in the sample
    """

    rows: Any
    log_rate: Float[np.ndarray, " c"]


def sample_of(training: TrainingRows, n_classes: int, n_parameters: int, numbers_of_row: int) -> Sample:
    """The rows that a softmax regression is fitted to: all, or of very many rows a sample with enough of each class.

    Rare classes are sampled at a higher rate f_c than others. This can be corrected for: among the sampled rows
    p(y = c | x) is proportional to f_c p(y = c | x) of all rows, so that log f_c is added to the log odds of the
    regression as a known offset. Its coefficients are then those of all rows (Prentice & Pyke 1979, Logistic disease
    incidence models and case-control studies, Biometrika 66).

    Parameters
    ----------
    training : all rows; with groups all of them are taken, as a group must stay whole
    n_classes, n_parameters : of the regression: more parameters need more rows
    numbers_of_row : that the regression holds of a row, which limits the sample by memory

    Returns
    -------
    The positions of the rows, and log f_c (c,)
    """
    # 1. The size of the sample: 50,000 rows or 1,000 for each parameter, but no more than memory allows. If there are
    # no more rows than that, all are taken at the rate 1, whose log is 0.
    n = len(training.code)
    wanted = max(_MIN_SAMPLE, _ROWS_PER_PARAMETER * n_parameters)
    size = min(wanted, _MAX_NUMBERS // numbers_of_row)
    if training.group is not None or n <= size:
        return Sample(slice(None), np.zeros(n_classes))

    # 2. How many rows of each class: in proportion to its rows, but at least half of an even share of the sample, or
    # all its rows if there are fewer.
    rows_of_class = np.bincount(training.code, minlength=n_classes)  # (c,)
    proportional = rows_of_class * size / n
    half_of_even = _LEAST_SHARE_OF_EVEN * size / n_classes
    n_sampled = np.maximum(proportional, np.minimum(rows_of_class, half_of_even)).astype(int)  # (c,)

    # 3. Random rows of each class: all rows are shuffled, and then sorted by class. The sort is stable, so that the
    # rows of a class stay in random order, and the first ones can be taken. Classes of 4, 2, 3 rows begin at 0, 4, 6.
    shuffled = np.random.default_rng(0).permutation(n)
    by_class = shuffled[np.argsort(training.code[shuffled], kind="stable")]
    starts = np.cumsum(rows_of_class) - rows_of_class
    chosen = [by_class[start : start + number] for start, number in zip(starts, n_sampled, strict=True)]

    # 4. log f_c = log (sampled rows / rows), 0 for a class without rows.
    log_rate = np.log(np.maximum(n_sampled, 1) / np.maximum(rows_of_class, 1))
    return Sample(np.sort(np.concatenate(chosen)), log_rate)
