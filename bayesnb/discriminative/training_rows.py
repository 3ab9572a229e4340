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
    """Given rows as rows that are left out one by one, or group by group; copies of a row with fractions are merged.

    Parameters
    ----------
    cells : (n, columns) encoded rows
    code : (n,) class of each
    weights : of each row; whether they are counts decides what leaves
    groups : (n,) labels of rows that leave together; None where each leaves alone
    """
    n = len(code)
    positions = np.arange(n)
    importance = replace(weights, are_counts=False)  # under which a row leaves whole

    # With groups nothing is merged. `group_places` numbers the groups 0, 1, … in the order of their first rows. If the
    # largest number is n − 1, each row is a group by itself, which is the same as no groups.
    if groups is not None:
        group = group_places(groups, n)
        has_companions = group.max(initial=0) < n - 1
        return TrainingRows(cells, code, importance, group if has_companions else None, positions)

    # Weights of an integer type, given by the user, say how many rows a row stands for: equal rows are then different
    # observations, and stay apart.
    if weights.are_counts and weights.are_given:
        return TrainingRows(cells, code, weights, None, positions)

    # Equal rows are merged into the first of them, which is their owner. Example: of the rows 0 to 3 row 2 is a copy of
    # row 0. The owners are 0 1 0 3. The different owners are 0 1 3, and `position` says which of these each row
    # belongs to: 0 1 0 2.
    owner = first_copies(cells, code)
    different_owners, position = np.unique(owner, return_inverse=True)
    if len(different_owners) == n:  # no row is a copy
        return TrainingRows(cells, code, importance, None, positions)
    weight_of_owner = np.bincount(position, weights.values)  # the weights of its copies are added
    return TrainingRows(
        cells=cells[different_owners],
        code=code[different_owners],
        weights=RowWeights(weight_of_owner, are_counts=False),
        group=None,
        position=position,
    )


def first_copies(cells: Any, code: Int[np.ndarray, " n"]) -> Int[np.ndarray, " n"]:
    """The first row that each row is a copy of, itself where there is none; only rows with fractions are copies.

    Copies agree in all cells and in class.

    Parameters
    ----------
    cells : (n, columns) encoded rows
    code : (n,) class of each
    """
    # A quick hash rules most rows out: a row whose hash no other row has is no copy. Rows of whole numbers are not
    # looked at, because they may be equal by chance.
    owner = np.arange(len(code))
    candidates = np.flatnonzero(_shares_its_hash(cells, code))
    if len(candidates):
        candidates = candidates[has_fractions(cells[candidates])]

    # The others are compared cell by cell. Example: the candidates are the rows 3 5 8, and 8 is a copy of 3. The groups
    # are 0 1 0, the first rows of these are 3 5, and so the three candidates have the owners 3 5 3.
    if len(candidates):
        group = copies(cells[candidates], code[candidates])  # the same number for copies
        _, first_of_group = np.unique(group, return_index=True)  # among the candidates
        owner_of_group = candidates[first_of_group]
        owner[candidates] = owner_of_group[group]
    return owner


def _shares_its_hash(cells: Any, code: Int[np.ndarray, " n"]) -> np.ndarray:
    """Whether another row has the same hash, (n,): copies of a row do, and few other rows.

    The hash of a row is a sum over its columns and its class: the 64 bits of a cell, as a whole number, times a random
    odd number of the column. All is modulo 2⁶⁴, as sums and products of unsigned integers are. An odd factor has an
    inverse modulo 2⁶⁴, so that different cells stay different. Sparse rows are not hashed: all of them may have copies.

    Parameters
    ----------
    cells : (n, columns) encoded rows
    code : (n,) class of each
    """
    if is_sparse(cells):
        return np.ones(len(code), bool)

    # A random odd factor for each column and one for the class.
    factors = np.random.default_rng(0).integers(1 << 62, size=cells.shape[1] + 1, dtype=np.uint64)
    factors = 2 * factors + np.uint64(1)

    hashes = code.astype(np.uint64) * factors[-1]  # (n,)
    for column, factor in zip(cells.T, factors[:-1], strict=True):
        hashes += _whole_numbers_of(column) * factor

    # How often each different hash occurs, and which of them a row has: 7 4 7 are 4 7, once and twice, and 1 0 1.
    _, which, times = np.unique(hashes, return_inverse=True, return_counts=True)
    return times[which] > 1


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
    """All rows, or enough of each class where there are many: their likelihood then knows how they were taken.

    A row of class c is taken with probability f_c, so that of the rows taken p(y = c | x, taken) ∝ f_c p(y = c | x):
    with log f_c added to the offset the sample has the coefficients of all rows, and its own uncertainty. Prentice &
    Pyke (1979), Logistic disease incidence models and case-control studies, Biometrika 66.

    Parameters
    ----------
    training : all rows; with groups all of them are taken, as a group must stay whole
    n_classes, n_parameters : of the regression: more parameters need more rows
    numbers_of_row : that the regression holds of a row, which limits the sample by memory
    """
    # How many rows to take, about: 50,000 or 1,000 for each parameter, if memory allows it. Fewer rows, and groups, are
    # taken whole, at the rate 1, whose log is 0.
    n = len(training.code)
    wanted = max(_MIN_SAMPLE, _ROWS_PER_PARAMETER * n_parameters)
    size = min(wanted, _MAX_NUMBERS // numbers_of_row)
    if training.group is not None or n <= size:
        return Sample(slice(None), np.zeros(n_classes))

    # How many of each class: its proportional part; but of a rare class at least half of an even part size/c, or all of
    # its rows if it has fewer.
    rows_of_class = np.bincount(training.code, minlength=n_classes)  # (c,)
    proportional = rows_of_class * size / n
    half_of_even = _LEAST_SHARE_OF_EVEN * size / n_classes
    quota = np.maximum(proportional, np.minimum(rows_of_class, half_of_even)).astype(int)

    # Shuffled rows, sorted by class with a stable sort, which keeps their random order within a class: the first of
    # each class are a random sample of it. Classes with 4, 2 and 3 rows begin at 0, 4 and 6.
    shuffled = np.random.default_rng(0).permutation(n)
    by_class = shuffled[np.argsort(training.code[shuffled], kind="stable")]
    starts = np.cumsum(rows_of_class) - rows_of_class  # where each class begins
    chosen = [by_class[start : start + number] for start, number in zip(starts, quota, strict=True)]

    # log f_c; of a class without rows it is 0.
    log_rate = np.log(np.maximum(quota, 1) / np.maximum(rows_of_class, 1))
    return Sample(np.sort(np.concatenate(chosen)), log_rate)
