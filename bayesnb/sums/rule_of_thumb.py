"""The prior of a bandwidth, scaled by the cells: a rule of thumb and the limits around it, with all cells or without.

    log h ~ Normal(log h⁰, 1) between log low and log high,    h⁰ = max(rule of thumb of the class, half the gap),
    low = max(h⁰ e⁻⁴, half the gap),    high = h⁰ e⁴,

where the gap is the smallest one between distinct values of the feature. A class with fewer than two distinct cells
takes the rule of thumb of the cells of all classes.

A row that is left out changes h⁰ and perhaps the gap. Both are made for all rows at once, from sums over the cells
before and after the row's own. Sums are not subtracted, so an outlier that leaves takes no digits along.

References
----------
Silverman (1986), Density Estimation for Statistics and Data Analysis, §3.4 (bandwidths).
"""

from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np

from ..numerics.arrays import Float
from .kernels import Cells
from .rows import rounding
from .sample import Sample

_LIMIT = 4.0  # natural logarithm of how far a bandwidth is from its centre at most: a factor of 55
_MIN_CENTRE = 1e-280  # of a bandwidth, so that the limits around it are numbers
_ROUNDING = 1e-9  # gaps below this share of a feature's range are not counted as gaps
_FEW_CELLS = 4  # below, what remains is computed row by row
_MAX_LOSS = 1e3  # factor by which squares may exceed those around the mean before digits are lost


class BandwidthPriors(NamedTuple):
    """Priors of log h, one for each of several cells, or classes and features.

    Fields
    ------
    centre : log h⁰
    low, high : limits of log h
    """

    centre: np.ndarray
    low: np.ndarray
    high: np.ndarray

    def select(self, rows: Any) -> Self:
        """The priors of some rows, by their positions or a mask."""
        return type(self)(*(field[rows] for field in self))

    @classmethod
    def around(cls, width: np.ndarray, half_gap: np.ndarray) -> Self:
        """The priors of log h around a rule of thumb, but not below half the smallest gap between values.

        The centre h⁰ is the larger of the two. The limits are a factor e⁴ away, the lower one at least half the gap: at
        narrower kernels the density of rounded data would be a comb.

        Parameters
        ----------
        width, half_gap : (…) the rule of thumb and half the smallest gap, in the unit of the feature
        """
        log_h = np.log(np.maximum(np.maximum(width, half_gap), _MIN_CENTRE))  # log h⁰
        low = np.maximum(log_h - _LIMIT, np.log(np.maximum(half_gap, np.finfo(float).tiny)))
        return cls(log_h, low, log_h + _LIMIT)


@dataclass(frozen=True)
class RuleOfThumb:
    """How the cells scale the prior of each bandwidth.

    Fields
    ------
    is_known : True if h⁰ is the bandwidth itself, as in R's `density`. A class whose cells are all equal then has its
        own h⁰, and gaps do not matter
    """

    is_known: bool = False

    def of_cells(self, cells: Sample) -> BandwidthPriors:
        """The priors of the bandwidths of kernel densities, one for each of c classes and d features, from all cells.

        Parameters
        ----------
        cells : the distinct values of each class and feature, and their weights
        """
        pooled = cells.pooled()  # the cells of all classes, as of a single class 0
        shape = cells.log_h.shape  # (c, d)
        width = np.ones(shape)  # the rule of thumb
        half_gap = np.zeros(shape)  # half the smallest gap between the values of all classes
        n_classes, n_features = shape
        for j in range(n_features):
            cells_of_all = Cells(*pooled.of_piece(0, j))  # `of_piece` is of one class and feature
            half_gap[:, j] = _half_gap(cells_of_all.value)
            for k in range(n_classes):
                cells_of_class = Cells(*cells.of_piece(k, j))

                # Silverman's rule of the cells of the class, or of all classes where the class has too few
                width[k, j] = self._width(cells_of_class, cells_of_all)
        return self._priors(width, half_gap)

    def _width(self, cells: Cells, pooled: Cells) -> float:
        """The rule of thumb of a class; that of all classes where its cells have none, and 1 where there are none."""
        if self._is_enough(cells.total, len(cells.value)):
            return nrd0(*cells)
        return nrd0(*pooled) if len(pooled.value) else 1.0

    def without(
        self, cells: Cells, pooled: Cells, u: np.ndarray, of_class: np.ndarray, of_all: np.ndarray
    ) -> BandwidthPriors:
        """The prior of the bandwidth of one class and feature without row 0, without row 1, and so on: (q,) of q rows.

        A row scales the prior in two ways: by the rule of thumb of its class, and by the smallest gap between the
        values of all classes.

        Parameters
        ----------
        cells, pooled : the cells of the class, and of all classes
        u : (q,) values of the rows, which are among the cells
        of_class, of_all : (q,) weights with which the rows leave the class, and all classes; 0 where they are in none
        """
        # as if no row left, (q,) each
        width = np.full(len(u), self._width(cells, pooled))  # the rule of thumb
        half_gap = np.full(len(u), _half_gap(pooled.value))  # half the smallest gap between the values of all classes
        has_own_rule = np.full(len(u), self._is_enough(cells.total, len(cells.value)))  # else that of all classes

        # Rows of the class change its rule of thumb. A `_Departure` has a number for each of several rows: what the
        # cells are without this row alone.
        rows = np.flatnonzero(of_class > 0)
        if len(rows):
            departure = _Departure.of(cells, u[rows], of_class[rows])
            width[rows] = departure.widths()
            has_own_rule[rows] = self._is_enough(departure.total, departure.n_values)

        # rows of any class change the smallest gap, and the rule of thumb of a class that has none of its own
        rows = np.flatnonzero(of_all > 0)
        if len(rows):
            departure = _Departure.of(pooled, u[rows], of_all[rows])
            half_gap[rows] = departure.half_gaps()
            needs_all = ~has_own_rule[rows]
            width[rows[needs_all]] = departure.select(needs_all).widths()
        return self._priors(width, half_gap)

    def _is_enough(self, total: Any, n_values: Any) -> Any:
        """Whether cells of this total weight and number of distinct values have a rule of thumb of their own."""
        return (total > 1) & ((n_values > 1) | self.is_known)

    def _priors(self, width: np.ndarray, half_gap: np.ndarray) -> BandwidthPriors:
        """The priors of a rule of thumb and half a gap, (…); a known bandwidth is centre and both limits."""
        if self.is_known:
            return BandwidthPriors(*3 * [np.log(width)])
        return BandwidthPriors.around(width, half_gap)


# --- of all cells -----------------------------------------------------------------------------------------------------


def nrd0(value: Float[np.ndarray, " m"], weight: Float[np.ndarray, " m"]) -> float:
    """Silverman's rule of thumb as R's `bw.nrd0` has it: 0.9 · min(s, IQR/1.34) · N^(−1/5).

    s is the standard deviation with the divisor N − 1, and the quartiles are R's type 7. Where IQR is 0, s takes the
    place of the minimum; where that is 0 too, |x₁|, and 1 where that is 0.

    Parameters
    ----------
    value : distinct values in ascending order, at least one; unit of the feature
    weight : their weights, positive: numbers of repetitions. N is their sum; fractions are allowed

    References
    ----------
    Silverman (1986), Density Estimation, (3.31). For N < 2, where s does not exist, ½N is taken for N − 1.
    """
    n = weight.sum()
    shrinkage = max(n, 1) ** -0.2
    if value[-1] == value[0]:  # a single value: |x₁|, or 1
        size = abs(value[0])
        return float(0.9 * (1.0 if size == 0 else size) * shrinkage)

    # The standard deviation, with the divisor N − 1. Fractional weights may have a sum N below 2, even below 1, where
    # N − 1 would be negative: then it is ½N. The larger of the two is right for all N.
    from_first = value - value[0]  # which keeps the digits of values far from zero
    centred = from_first - (weight @ from_first) / n
    divisor = max(n - 1, n / 2)
    s = np.sqrt(weight @ centred**2 / divisor)

    # the smaller one of it and the spread of the quartiles, unless that is 0
    low, high = _quartiles(value, weight)
    width = min(s, (high - low) / 1.34)
    if width == 0:
        width = s
    return float(0.9 * width * shrinkage)


def _quartiles(value: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """First and third quartile of repeated values, (2,): R's type 7, linear between order statistics.

    Parameters
    ----------
    value : (m,) distinct values in ascending order
    weight : (m,) how often each is repeated
    """
    # Each quartile lies between two of the repeated values in ascending order, given by their ranks 0, 1, … The value
    # of a rank is the first one whose cumulative weight is above the rank. The values 1, 4, 6 repeated 2, 1, 3 times
    # are 1, 1, 4, 6, 6, 6, with the cumulative weights 2, 3, 6: rank 2 is the value 4, as 3 is the first above 2.
    cumulative = np.cumsum(weight)  # the weight of each value and all before it
    order = _order_statistics(cumulative[-1])  # ranks below and above each quartile, and the share of the way between
    positions = np.searchsorted(cumulative, order.rank, side="right")  # (2, 2): below and above, by quartile
    lower, upper = value[np.minimum(positions, len(value) - 1)]  # (2,) each
    return lower + order.share * (upper - lower)


class _OrderStatistics(NamedTuple):
    """Where the quartiles of N repetitions are.

    Fields
    ------
    rank : (2, 2, …) numbers, from 0 on, of the repetitions below and above (axis 0) each quartile (axis 1)
    share : (2, …) how far from the lower to the upper one the quartile is
    """

    rank: np.ndarray
    share: np.ndarray


def _order_statistics(n: Any) -> _OrderStatistics:
    """The order statistics around the two quartiles of total weights n (…), by R's type 7.

    The n repetitions, in ascending order, have the places 0, 1, … n − 1. The quartiles are at the places (n − 1)/4 and
    3(n − 1)/4. With n = 4 they are at ¾ and 2¼: ¾ of the way from place 0 to 1, and ¼ of the way from place 2 to 3.
    """
    quarters = np.array([0.25, 0.75]).reshape(2, *(1,) * np.ndim(n))  # (2, 1, …)
    place = np.maximum(n - 1, 0) * quarters

    # the places below and above; the small numbers are for weights that are whole but for rounding
    below = np.floor(place + 1e-9)
    rank = np.stack([below, below + 1]) + 1e-9 * n
    return _OrderStatistics(rank, np.maximum(place - below, 0))


def _half_gap(value: np.ndarray) -> float:
    """Half the smallest gap between distinct values (m,) in ascending order; 0 if there is none."""
    if len(value) < 2:
        return 0.0
    half_gaps = np.diff(value) / 2
    return float(half_gaps[half_gaps > _least_half_gap(value)].min())  # smaller ones are rounding


def _least_half_gap(value: np.ndarray) -> float:
    """Half of what is taken for rounding, of two or more values in ascending order: below the largest gap."""
    return _ROUNDING * (value[-1] - value[0]) / 2


# --- without a row ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Departure:
    """q rows that leave the cells of a class and feature, each of them alone: row 0 leaves, or row 1, and so on.

    All properties and methods give one number for each row: what the other cells have without it.

    Fields
    ------
    cells : the m cells of all rows, in ascending order
    position : (q,) which cell each row has, 0 … m − 1
    leaving : (q,) the weight that leaves that cell with the row, positive
    """

    cells: Cells
    position: np.ndarray
    leaving: np.ndarray

    @classmethod
    def of(cls, cells: Cells, u: np.ndarray, leaving: np.ndarray) -> Self:
        """Rows at values u, which are among the cells."""
        return cls(cells, np.searchsorted(cells.value, u), leaving)

    def select(self, rows: np.ndarray) -> "_Departure":
        """Some of the rows."""
        return _Departure(self.cells, self.position[rows], self.leaving[rows])

    @property
    def remaining(self) -> np.ndarray:
        """(q,) Weight that remains at the cell of the row; 0 where only rounding does."""
        weight = self.cells.weight[self.position]
        difference = weight - self.leaving
        return np.where(difference > rounding(weight) * weight, difference, 0)

    @property
    def n_values(self) -> np.ndarray:
        """(q,) Number of distinct values that remain."""
        return len(self.cells.value) - (self.remaining == 0)

    @property
    def total(self) -> np.ndarray:
        """(q,) Weight of all cells that remain."""
        return self.cells.total_without(self.cells.value[self.position], self.leaving)

    def _sum_without(self, amount: np.ndarray) -> np.ndarray:
        """(q,) Σ_k w_k amount_k over what remains without each row, for amounts (m,) of the m cells.

        It is the sum over the cells before that of the row, over those after it, and what remains at the cell itself.
        Nothing is subtracted, so a row that carries most of the sum takes no digits along. Of w·amount = 3, 5, 7
        without the middle cell there are 3 before it and 7 after it.
        """
        weighted = self.cells.weight * amount  # (m,)
        sum_of_first = np.concatenate([[0], np.cumsum(weighted)])  # at k: over the first k cells, (m + 1,)
        sum_from = np.concatenate([np.cumsum(weighted[::-1])[::-1], [0]])  # at k: over cell k and all after it
        before = sum_of_first[self.position]  # (q,)
        after = sum_from[self.position + 1]
        return before + after + self.remaining * amount[self.position]

    def _cells_without(self, row: Any) -> Cells:
        """The cells without one row, given by its number 0 … q − 1."""
        return self.cells.without(self.position[row], self.leaving[row])

    def widths(self) -> np.ndarray:
        """(q,) Silverman's rule of thumb `nrd0` of the cells without each row; 1 where nothing remains.

        It is 0.9 · min(s, IQR/1.34) · N^(−1/5), with the standard deviation s and the quartiles of what remains, for
        all rows at once. With z the distances of the cells from the mean of all cells, the sum of squares of s is

            Σ w z² − (Σ w z)²/N,    sums over what remains.

        Where this difference loses digits, or few cells are there, `nrd0` is computed row by row.
        """
        # distances from the mean of all cells, (m,)
        value, weight = self.cells
        from_first = value - value[0]  # which keeps the digits of values far from zero
        z = from_first - (weight @ from_first) / weight.sum()

        # From here on there is a number for each row, (q,): what the cells are without it.
        n = self.total  # N
        with np.errstate(invalid="ignore", divide="ignore"):  # where nothing remains; such rows are done at the end
            # the standard deviation s; `_sum_without(a)` is Σ w a over what remains
            squares_of_mean = self._sum_without(z) ** 2 / n
            squares = self._sum_without(z**2) - squares_of_mean
            s = np.sqrt(squares / np.maximum(n - 1, n / 2))

            # the smaller one of it and the spread of the quartiles, unless that is 0
            low, high = self._quartiles_without(n)
            spread = (high - low) / 1.34
            width = np.where(spread > 0, np.minimum(s, spread), s)
            widths = 0.9 * width * np.maximum(n, 1) ** -0.2

            # The squares lose digits where they are small beside what was subtracted: an outlier that leaves moves the
            # mean far away. Up to a factor of 1000, which costs three digits, that is accepted. The quartiles lose
            # digits where what remains is small beside the weight that leaves.
            squares_have_digits = squares_of_mean < _MAX_LOSS * squares
            quartiles_have_digits = self.leaving < _MAX_LOSS * n

        # all other rows, one by one
        is_done = squares_have_digits & quartiles_have_digits & (len(value) >= _FEW_CELLS)
        for row in np.flatnonzero(~is_done):
            remaining_cells = self._cells_without(row)
            widths[row] = nrd0(*remaining_cells) if len(remaining_cells.value) else 1.0
        return widths

    def _quartiles_without(self, n: np.ndarray) -> np.ndarray:
        """(2, q) First and third quartile of the cells without row 0, without row 1, and so on: R's type 7.

        A quartile lies between two neighbours in the list of all values in ascending order, in which a cell of weight 3
        is repeated three times. `_order_statistics` gives the ranks 0, 1, … of the two in this list, and how far from
        one to the other the quartile is.

        Parameters
        ----------
        n : (q,) total weight without each row
        """
        order = _order_statistics(n)
        positions = self._positions_without(order.rank)  # of the cells at these ranks, (2, 2, q): below and above
        lower, upper = self.cells.value[positions]  # (2, q) each, of both quartiles
        return lower + order.share * (upper - lower)

    def _positions_without(self, rank: np.ndarray) -> np.ndarray:
        """The cell at a rank of the values without each row, (…, q): the first whose cumulative weight is above it.

        Cells of the weights 2, 1, 3 have the cumulative weights 2, 3, 6. A row of weight 1 leaves cell 1: then they are
        2, 2, 5. So without the row rank 1 is in cell 0, and rank 2 in cell 2.

        The cumulative weights without each row are not made. With C_k those of all rows, they are C_k before the cell
        of the row, and C_k − ρ from there on, ρ the weight of the row. And C_k − ρ > rank is C_k > rank + ρ.

        Parameters
        ----------
        rank : (…, q) ranks 0, 1, … without each row
        """
        cumulative = np.cumsum(self.cells.weight)  # with all rows, (m,)

        # the first cell with C_k > rank, if it lies before the cell of the row; otherwise the first one, from there on,
        # with C_k > rank + ρ
        first_if_before = np.searchsorted(cumulative, rank, side="right")
        first_if_later = np.searchsorted(cumulative, rank + self.leaving, side="right")
        is_before = first_if_before < self.position
        positions = np.where(is_before, first_if_before, np.maximum(self.position, first_if_later))

        # Rounding of the ranks must not lead beyond the last cell that remains. The last cell itself is gone if the row
        # was alone in it.
        last = len(cumulative) - 1
        last_is_gone = (self.position == last) & (self.remaining == 0)  # (q,)
        return np.minimum(positions, np.where(last_is_gone, last - 1, last))

    def half_gaps(self) -> np.ndarray:
        """(q,) Half the smallest gap between the values that remain without each row; 0 if there is none.

        There are three cases. Where weight remains at the row's value, the gaps stay. Where an inner value vanishes,
        the gaps on both sides of it become one. Where the first or the last value vanishes, the gap beside it is gone.
        Of the values 1, 3, 7 the gaps are 2, 4; without 3 there is the gap 6, and without 1 the gap 4.
        """
        # For each row, `position` is the number of its value among the distinct ones, 0 … m − 1, and `remaining` the
        # weight that other rows have at that value: 0 if the row was the only one with it.
        value = self.cells.value  # distinct, in ascending order
        last = len(value) - 1
        vanishes = self.remaining == 0
        is_inner = (self.position > 0) & (self.position < last)

        # the value stays: `_half_gap` is half the smallest gap between all values
        half_gaps = np.full(len(self.position), _half_gap(value))

        # the first or the last value vanishes: few rows, which are done one by one
        for row in np.flatnonzero(vanishes & ~is_inner):
            half_gaps[row] = _half_gap(self._cells_without(row).value)

        # an inner value vanishes
        inner = np.flatnonzero(vanishes & is_inner)
        if len(inner):
            half_gaps[inner] = _half_gaps_without(value, self.position[inner])
        return half_gaps


def _half_gaps_without(value: np.ndarray, position: np.ndarray) -> np.ndarray:
    """(q,) Half the smallest gap between values, without one of the inner values each; 0 if there is none.

    The two gaps beside that value become one, and the others stay. Without the value 4 of 0, 3, 4, 9, for example, the
    gaps 3, 1, 5 become 3, 6, and half the smallest one is 1.5.

    Parameters
    ----------
    value : (m,) distinct values in ascending order
    position : (q,) the value to leave out, 0 < position < m − 1
    """
    least = _least_half_gap(value)  # smaller gaps are rounding, and do not count: they are made infinite
    half_gaps = np.diff(value) / 2
    half_gaps = np.where(half_gaps > least, half_gaps, np.inf)

    # Value p lies between the gaps p − 1 and p, which become one: the first p − 1 gaps stay, and those from p + 1 on.
    smallest_of_first = np.concatenate([[np.inf], np.minimum.accumulate(half_gaps)])  # at k: of the first k gaps
    smallest_from = np.concatenate([np.minimum.accumulate(half_gaps[::-1])[::-1], [np.inf]])  # at k: of gap k and later
    others = np.minimum(smallest_of_first[position - 1], smallest_from[position + 1])  # (q,)

    joined = (value[position + 1] - value[position - 1]) / 2
    joined = np.where(joined > least, joined, np.inf)
    smallest = np.minimum(others, joined)
    return np.where(np.isfinite(smallest), smallest, 0)
