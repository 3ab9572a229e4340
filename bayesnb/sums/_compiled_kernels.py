"""Sums over Gaussian kernels in linear time, as loops compiled by numba: the fast form of the formulas of `kernels`.

All sums are over cells v_k in ascending order with weights w_k, with the kernel K(z) = exp(−½ z²/h²) without its
normaliser. Where many targets are near many cells, the line is cut into boxes of 1.5 h. A box keeps 18 moments,

    M_q = Σ_k w_k T_q(s_k),    s_k ∈ [−1, 1] the place of cell k in its box,    T_q Chebyshev's polynomials.

A kernel between two boxes is a polynomial in the places of both, K = Σ_qr E_qr T_q(s) T_r(s′), with coefficients E that
depend on the distance of the boxes alone. So the sums at all targets of a box are one polynomial of their places,
Σ_r L_r T_r(s′) with L = Σ_boxes E M. Boxes more than 8 apart, 12 h, add less than 1e-31.

References
----------
Greengard & Strain (1991), The fast Gauss transform, SIAM J. Sci. Stat. Comput. 12: sums by boxes with moments. Here
moments are Chebyshev's, whose 18 terms leave 6e-15 of the largest kernel, and cells are sorted.
"""

import math
from typing import Any

import numpy as np

from ._compiled import _LARGEST, FAST, exp, loop

_BOX = 1.5  # width of a box in bandwidths
_TERMS = 18  # Chebyshev polynomials of a box
_NEIGHBOURS = 8  # boxes on either side that are looked at
_CHUNK = 32  # cells whose polynomials are made together
_FARTHEST = 2.0**15  # boxes from the origin: beyond, places in a box lose the eleventh digit
_CLOSE = 2  # boxes: without a cell that near, sums by boxes have no digits
# largest error of a kernel between boxes that are 0, 1, … apart: twice what a lattice of places shows
_ERROR_OF_KERNEL = (1.2e-14, 6e-15, 1.6e-15, 6e-17, 8e-19, 1.4e-20, 8e-23, 1e-26, 4e-32)
_RELATIVE_ERROR = 2e-11  # of a sum: where more is possible, the sum is direct
# costs of a target and of a box in units of one kernel, measured: which sum is cheaper
_COST_OF_KERNEL = 2.5
_COST_OF_BOX = 35.0
_COST_OF_TARGET = 8.0
_SMALLEST_REMAINDER = 1e-3  # of what leaves a sum: below, subtracting would cost digits
_LARGE_SUM = 24.0  # units that leave: from here on the logarithm of what remains is a series
_MAX_ORDERS = 60
_ORDER_LOST = 1e-11  # of a term of the series
_PAIR_LOST = 30.0  # nats below a sum where a pair is lost in it
_NEARLY_ALL = 0.999  # of a sum: beyond, what remains is summed anew
_SMALLEST_PRODUCT = 1e-290  # of factors, the next of which is at least 1e-3


def _translation_table() -> np.ndarray:
    """Coefficients E that turn the kernel of two points into a polynomial in the places of both, (17, 18, 18).

    The line is cut into boxes of 1.5 bandwidths. One point, a cell of the data, is at the place s of its box, from −1
    at the left end to 1 at the right. The other one, a target at which kernels are summed, is at the place s′ of a box
    that lies o boxes to the right, o = −8 … 8. Their distance is z = 1.5 (o + (s′ − s)/2) bandwidths, and their kernel

        exp(−½ z²) = Σ_qr E[o + 8, q, r] T_q(s) T_r(s′),    q, r = 0 … 17, T_q Chebyshev's polynomials.

    E[o + 8] is found by interpolation: the kernel is computed for 18 places s and 18 places s′, and the polynomial goes
    through these values. `_values_to_coefficients` does that along one axis, so it is applied along both.

    Returns
    -------
    (17, 18, 18) by offset of the boxes, polynomial q of the cell and polynomial r of the target
    """
    # the kernel for all pairs of places and each offset, (offset, target, cell)
    place = np.cos(np.pi * (np.arange(_TERMS) + 0.5) / _TERMS)  # Chebyshev nodes, (18,)
    place_of_target = place[:, None]
    offset = np.arange(-_NEIGHBOURS, _NEIGHBOURS + 1)[:, None, None]
    distance = _BOX * (offset + (place_of_target - place) / 2)
    kernel = np.exp(-0.5 * distance**2)

    # from values to coefficients along both axes, C K Cᵀ for each offset: (offset, r of the target, q of the cell)
    to_coefficients = _values_to_coefficients()
    coefficients = to_coefficients @ kernel @ to_coefficients.T
    return np.ascontiguousarray(coefficients.swapaxes(1, 2))  # E, (offset, q, r)


def _values_to_coefficients() -> np.ndarray:
    """The matrix C (18, 18) that takes values f(t_i) of a function at Chebyshev nodes to the coefficients f_q.

    The nodes are t_i = cos(π (i + ½)/N), i = 0 … N − 1. The polynomial Σ_q f_q T_q through the values has

        f_q = Σ_i C_qi f(t_i),    C_qi = (2/N) cos(π q (i + ½)/N), and half of that for q = 0.
    """
    node = np.arange(_TERMS)  # i
    polynomial = np.arange(_TERMS)[:, None]  # q
    matrix = 2 / _TERMS * np.cos(np.pi * polynomial * (node + 0.5) / _TERMS)
    matrix[0] /= 2
    return matrix


TRANSLATIONS = _translation_table()
"""[o + 8, q, r], which the loops take as `table`: numba would not see a change of a global."""


# --- the parts of a sum by boxes --------------------------------------------------------------------------------------


@loop(FAST)
def _kernel_sum(x: float, value: Any, weight: Any, rate: float, near: float) -> float:
    """The sum of kernels at x, kernel by kernel: Σ_k w_k exp(−rate ((x − v_k)² − near)), with rate = ½/h².

    Parameters
    ----------
    value, weight : (m,) cells v_k and their weights
    near : the squared distance at which a kernel counts as 1
    """
    total = 0.0
    for k in range(len(value)):
        z = x - value[k]
        total += weight[k] * exp(-rate * (z * z - near))
    return total


@loop(FAST)
def _moments(place: Any, weight: Any, out: Any, work: Any) -> None:
    """Sums of Chebyshev's polynomials over the cells of a box, the moments: out_q = Σ_k w_k T_q(s_k).

    The polynomials begin with T_0 = 1 and T_1 = s, and each follows from the two before: T_q = 2 s T_{q−1} − T_{q−2}.
    This is done for 32 cells at a time.

    Parameters
    ----------
    place, weight : (m,) places s_k of the cells in the box, −1 … 1, and their weights
    out : (terms,)
    work : (3, chunk) room for the last three polynomials of a chunk of cells
    """
    out[:] = 0.0
    for first in range(0, len(place), _CHUNK):
        n = min(_CHUNK, len(place) - first)
        s = place[first : first + n]

        # three arrays, for w_k times T_{q−2}, T_{q−1} and T_q of each cell; each is a row of `work`
        before, now, after = work[0], work[1], work[2]

        # T_0 = 1 and T_1 = s
        total0 = 0.0
        total1 = 0.0
        for i in range(n):
            before[i] = weight[first + i]
            now[i] = weight[first + i] * s[i]
            total0 += before[i]
            total1 += now[i]
        out[0] += total0
        out[1] += total1

        for q in range(2, _TERMS):
            total = 0.0
            for i in range(n):
                after[i] = 2.0 * s[i] * now[i] - before[i]
                total += after[i]
            out[q] += total

            # for the next q: no number is copied, only the three names change their arrays
            before, now, after = now, after, before


@loop(FAST)
def _add_translated(coefficients: Any, moments: Any, out: Any) -> None:
    """out_r += Σ_q E_qr M_q: what the cells of a box, by their moments M (terms,), add to the polynomial of another.

    E (terms, terms) are the coefficients of the kernel between the two, as in `TRANSLATIONS`.
    """
    for q in range(_TERMS):
        for r in range(_TERMS):
            out[r] += coefficients[q, r] * moments[q]


@loop(FAST)
def _polynomial(place: Any, coefficients: Any, out: Any, work: Any) -> None:
    """Values of a sum of Chebyshev's polynomials at several places: out_i = Σ_r L_r T_r(s_i), r = 0 … R.

    It is Clenshaw's recurrence, which needs no polynomial: with b_{R+1} = 0 and b_R = L_R, and then
    b_r = L_r + 2 s b_{r+1} − b_{r+2} for r = R − 1 down to 1, the sum is L_0 + s b_1 − b_2.

    Parameters
    ----------
    place : (m,) places s_i, −1 … 1
    coefficients : (terms,) L
    out : (m,)
    work : (3, chunk) room for the last three b of a chunk of places
    """
    for first in range(0, len(place), _CHUNK):
        n = min(_CHUNK, len(place) - first)
        s = place[first : first + n]

        # three arrays, for b_{r+2}, b_{r+1} and b_r at each place; each is a row of `work`
        before, now, after = work[0], work[1], work[2]

        # b_{R+1} = 0 and b_R = L_R
        for i in range(n):
            before[i] = 0.0
            now[i] = coefficients[_TERMS - 1]

        # down to b_1, which is `now` at the end, with b_2 in `before`
        for r in range(_TERMS - 2, 0, -1):
            coefficient = coefficients[r]
            for i in range(n):
                after[i] = coefficient + 2.0 * s[i] * now[i] - before[i]

            # for the next r: no number is copied, only the three names change their arrays
            before, now, after = now, after, before

        # L_0 + s b_1 − b_2
        for i in range(n):
            out[first + i] = coefficients[0] + s[i] * now[i] - before[i]


@loop()
def _boxes(value: Any, origin: float, h: float, box: Any, start: Any, place: Any) -> int:
    """Sort cells into boxes of 1.5 bandwidths; returns the number b of boxes that have cells.

    Parameters
    ----------
    value : (m,) cells in ascending order
    origin, h : where box 0 begins, and the bandwidth
    box, start, place : filled with the numbers of the boxes (b), the first cell of each and the end of the last one
        (b + 1), and the place of each cell in its box, −1 … 1 (m)
    """
    n_boxes = 0
    for k in range(len(value)):
        position = (value[k] - origin) / (_BOX * h)  # in boxes: 2.25 is a quarter of the way through box 2
        number = np.floor(position)
        place[k] = 2.0 * (position - number) - 1.0  # from 0 … 1 to −1 … 1
        if n_boxes == 0 or number != box[n_boxes - 1]:  # the first cell of a new box, as cells are in ascending order
            box[n_boxes] = number
            start[n_boxes] = k
            n_boxes += 1
    start[n_boxes] = len(value)
    return n_boxes


@loop()
def _sums_by_boxes(x: Any, value: Any, weight: Any, h: float, is_relative: bool, table: Any, out: Any) -> None:
    """Kernel sums at targets in linear time, where that is cheaper: out_i = Σ_k w_k K(x_i − v_k), K(z) = exp(−½ z²/h²).

    Cells are put into boxes, each with its Chebyshev moments. Then the targets are gone through box by box:

    1. find the targets of the box, and their places in it, −1 … 1;
    2. find the boxes with cells at most 8 boxes away. Both lists are sorted, so these only move upwards;
    3. decide whether sums by boxes have digits there, and are cheaper than direct ones. If not, the sums are NaN. Boxes
       give sums an absolute error: if it must be small relative to the sum, a cell must be near, at most 2 boxes away.
       Places in boxes that are 2¹⁵ boxes from the origin have too few digits;
    4. add what the cells of each near box give as a polynomial of the places of the targets, and take its values.

    A sum is NaN too where the bound of its error is too large relative to it.

    Parameters
    ----------
    x : (n,) targets in ascending order
    value, weight : (m,) cells v_k in ascending order, and their weights
    is_relative : whether the error must be small relative to each sum, and not only to Σ w
    table : the coefficients `TRANSLATIONS`
    out : (n,)
    """
    box = np.empty(len(value))  # numbers of the boxes that have cells
    start = np.empty(len(value) + 1, np.int64)  # the first cell of each box
    place = np.empty(len(value))  # of each cell in its box
    origin = value[len(value) // 2]  # a median, so that most cells have the digits of their places
    n_boxes = _boxes(value, origin, h, box, start, place)  # fills the three
    moments = np.empty((n_boxes, _TERMS))  # made when they are needed
    is_made = np.zeros(n_boxes, np.bool_)

    coefficients = np.empty(_TERMS)
    work = np.empty((3, _CHUNK))
    target_place = np.empty(len(x))
    first = 0  # target
    low = 0  # boxes low … high − 1 are near the box of the target
    high = 0
    while first < len(x):
        # step 1: targets first … last − 1 are those of one box
        position = (x[first] - origin) / (_BOX * h)
        number = np.floor(position)
        last = first
        while last < len(x):
            position = (x[last] - origin) / (_BOX * h)
            if np.floor(position) != number:
                break
            target_place[last] = 2.0 * (position - number) - 1.0
            last += 1
        while low < n_boxes and box[low] < number - _NEIGHBOURS:  # step 2: boxes within reach
            low += 1
        high = max(low, high)
        while high < n_boxes and box[high] <= number + _NEIGHBOURS:
            high += 1
        # step 3: whether sums by boxes have digits, and are cheaper
        has_digits = not is_relative
        for b in range(low, high):
            has_digits |= abs(box[b] - number) <= _CLOSE
        has_digits &= abs(number) < _FARTHEST
        n_cells = start[high] - start[low]
        n_targets = last - first
        cost = _COST_OF_BOX * (high - low) + _COST_OF_TARGET * n_targets + n_cells
        if n_cells == 0:  # all cells are more than 8 boxes away, 12 bandwidths, where kernels are below 1e-31
            out[first:last] = 0.0
        elif has_digits and _COST_OF_KERNEL * n_cells * n_targets > cost:
            # step 4: one polynomial of the places of the targets, and a bound of its error
            coefficients[:] = 0.0
            error = 0.0
            for b in range(low, high):
                if not is_made[b]:
                    cells = slice(start[b], start[b + 1])
                    _moments(place[cells], weight[cells], moments[b], work)
                    is_made[b] = True
                offset = np.int64(number - box[b])
                _add_translated(table[offset + _NEIGHBOURS], moments[b], coefficients)
                error += _ERROR_OF_KERNEL[abs(offset)] * moments[b, 0]  # M_0 = Σ w
            _polynomial(target_place[first:last], coefficients, out[first:last], work)
            if is_relative:  # a sum that is too small for its error bound is done by the caller
                for i in range(first, last):
                    if out[i] < error / _RELATIVE_ERROR:
                        out[i] = np.nan
        else:
            out[first:last] = np.nan
        first = last


# --- logarithms of sums -----------------------------------------------------------------------------------------------


@loop()
def _squared_to_nearer(x: float, value: Any, before: int, after: int) -> float:
    """Squared distance from x to the nearer of two cells, one before x and one after it, given by their positions.

    A position outside of 0 … m − 1 is no cell. Infinite where neither is one.

    Parameters
    ----------
    value : (m,) cells in ascending order
    before, after : positions of the two
    """
    near = np.inf
    if before >= 0:
        near = (x - value[before]) ** 2
    if after < len(value):
        near = min(near, (value[after] - x) ** 2)
    return near


@loop()
def _farthest(x: float, h: float, near: float, reach: float) -> float:
    """How far from x a kernel counts in a sum: √(near + reach h²), and a little more, for rounding.

    Farther away all kernels together are lost in rounding beside that of the nearest cell.

    Parameters
    ----------
    near : squared distance from x to the nearest cell
    reach : in bandwidths, squared
    """
    return (1 + 1e-12) * math.sqrt(near + reach * h * h) + 1e-15 * abs(x)


@loop()
def _log_sum(x: float, leaving: float, value: Any, weight: Any, h: float, lost: float, reach: float) -> float:
    """The logarithm of a sum of kernels at one target x, log [Σ_k w_k K(z_k) − leaving], with z_k = x − v_k.

    Kernels are K(z) = exp(−½ z²/h²). Far from all cells each of them underflows to 0, although the logarithm of their
    sum is an ordinary number. So the largest one is factored out, as in `logsumexp`. It is that of the nearest cell:

        log Σ_k w_k K(z_k) = log [Σ_k w_k exp(−½ (z_k² − z₀²)/h²)] − ½ z₀²/h²,    z₀ the distance of the nearest cell.

    The result is −∞ where no cell is left.

    Parameters
    ----------
    leaving : the weight that leaves the cell at x, where the kernel is 1; 0 if there is no such cell
    value, weight : (m,) cells v_k in ascending order, and their weights
    lost : the share of a weight that is rounding: a cell of which no more remains has left
    reach : a squared distance in bandwidths beyond which all kernels together are lost beside the nearest
    """
    # 1. The cells before x are value[:below], and those after it value[above:]. Between them is the cell at x, if there
    # is one: of the cells 1, 4, 6 the target 4 has below = 1 and above = 2, and the target 5 has 2 for both.
    below = np.searchsorted(value, x)
    above = below
    remaining = 0.0  # what is left of the weight of the cell at x
    if below < len(value) and value[below] == x:
        above = below + 1
        remaining = weight[below] - leaving
        if remaining <= lost * weight[below]:  # only rounding is left
            remaining = 0.0
    if remaining == 0.0 and below == 0 and above == len(value):  # no cell is left
        return -np.inf

    # 2. z₀², the squared distance to the nearest cell: that at x itself, or the neighbour on either side
    near = 0.0 if remaining > 0 else _squared_to_nearer(x, value, below - 1, above)
    if np.isinf(near):  # farther than 1e154: a density of 0, whose logarithm stays a number
        return -_LARGEST

    # 3. the cells that are near enough to count: value[begin:below] before x, and value[above:end] after it
    farthest = _farthest(x, h, near, reach)
    begin = np.searchsorted(value[:below], x - farthest)
    end = above + np.searchsorted(value[above:], x + farthest)

    # 4. the sum relative to the kernel of the nearest cell: what is left at x, where K = 1, and these cells
    rate = 0.5 / (h * h)
    total = remaining
    total += _kernel_sum(x, value[begin:below], weight[begin:below], rate, near)
    total += _kernel_sum(x, value[above:end], weight[above:end], rate, near)

    # 5. its logarithm, with the kernel that was factored out
    return math.log(total) - rate * near


@loop()
def log_sums(
    x: Any, leaving: Any, value: Any, weight: Any, h: Any, lost: float, reach: float, table: Any, out: Any
) -> None:
    """Log kernel sums: out_gi = log [Σ_k w_k K(x_i − v_k) − leaving_i] for the bandwidth h_g; −∞ where no cell is left.

    There are two ways. The sums Σ_k w_k K of many targets are made together, by boxes, which are stretches of the line;
    the weight that leaves is then subtracted, and the logarithm taken. A target that the boxes do not serve, or where
    subtracting would cost digits, has a sum of its own, kernel by kernel. The relative error of a sum is about 1e-11.

    Parameters
    ----------
    x, leaving : (n,) targets in ascending order, and the weight that leaves the cell at each
    value, weight : (m,) cells v_k in ascending order, and their weights
    h : (g,) bandwidths
    lost : the share of a weight that is rounding: a cell of which no more remains has left
    reach : a squared distance in bandwidths beyond which all kernels together are lost beside the nearest
    table : the coefficients `TRANSLATIONS`
    out : (g, n)
    """
    for g in range(len(h)):
        # the sums of many targets by boxes; NaN marks a target that needs a sum of its own, as all of few targets do
        if len(x) > _NEIGHBOURS:
            _sums_by_boxes(x, value, weight, h[g], True, table, out[g])
        else:
            out[g] = np.nan

        # From sums to logarithms. The difference has digits if more than a thousandth of what leaves remains; a
        # comparison with NaN is False.
        for i in range(len(x)):
            remaining = out[g, i] - leaving[i]
            if remaining > 0 and remaining > _SMALLEST_REMAINDER * leaving[i]:
                out[g, i] = math.log(remaining)
            else:  # marked as NaN, or without digits
                out[g, i] = _log_sum(x[i], leaving[i], value, weight, h[g], lost, reach)


@loop()
def log_sums_of_each(
    x: Any, leaving: Any, value: Any, weight: Any, h: Any, lost: float, reach: float, out: Any
) -> None:
    """Log kernel sums where each target has bandwidths of its own: out_gi = log [Σ_k w_k K(x_i − v_k) − leaving_i].

    K(z) = exp(−½ z²/h²) with h = h_gi. Each sum is made kernel by kernel; it is −∞ where no cell is left.

    Parameters
    ----------
    x, leaving : (n,) targets in ascending order, and the weight that leaves the cell at each
    value, weight : (m,) cells v_k in ascending order, and their weights
    h : (g, n) bandwidths
    lost : the share of a weight that is rounding: a cell of which no more remains has left
    reach : a squared distance in bandwidths beyond which all kernels together are lost beside the nearest
    out : (g, n)
    """
    for g in range(len(h)):
        for i in range(len(x)):
            out[g, i] = _log_sum(x[i], leaving[i], value, weight, h[g, i], lost, reach)


# --- leave-one-out: what a row that leaves changes in the factors of all other cells ----------------------------------


@loop()
def _add_sums(x: Any, value: Any, weight: Any, h: float, table: Any, factor: Any, out: Any) -> None:
    """Add multiples of kernel sums: out_i += factor_i Σ_k w_k exp(−½ (x_i − v_k)²/h²).

    The absolute error of a sum is about 1e-14 Σ w. Where many targets are near many cells, sums are made together, by
    boxes; elsewhere a direct sum over the nearby cells is cheaper.

    Parameters
    ----------
    x, factor, out : (n,) targets in ascending order, the factors of their sums, and to what these are added
    value, weight : (m,) cells v_k in ascending order, and their weights
    table : the coefficients `TRANSLATIONS`
    """
    # the sums that are made together; all others are NaN after this call
    sums = np.empty(len(x))
    is_relative = False  # the error is small relative to Σ w, and not to each sum
    _sums_by_boxes(x, value, weight, h, is_relative, table, sums)

    rate = 0.5 / (h * h)
    half = 8.5 * h  # beyond this distance a kernel is below exp(−½ 8.5²) = 2e-16
    for i in range(len(x)):
        needs_direct_sum = np.isnan(sums[i])
        if needs_direct_sum:
            begin = np.searchsorted(value, x[i] - half)
            end = np.searchsorted(value, x[i] + half)
            sums[i] = _kernel_sum(x[i], value[begin:end], weight[begin:end], rate, 0.0)
        out[i] += factor[i] * sums[i]


@loop()
def _log_sum_without_two(
    k: int, unit: float, i: int, leaving: float, value: Any, weight: Any, h: float, lost: float, reach: float
) -> float:
    """The logarithm of the sum of kernels at cell k, when a weight has left cell k and another one cell i.

    It is log [Σ_l w_l K(v_k − v_l) − unit − leaving K(v_k − v_i)], −∞ where nothing is left. The sum is made over the
    weights that remain, because a difference of sums would lose digits. As in `_log_sum`, the kernel of the nearest
    remaining cell is taken out of it, so that not all kernels underflow.

    Parameters
    ----------
    k, i : the two cells, by their positions
    unit, leaving : the weights that leave cell k and cell i
    value, weight : (m,) cells in ascending order, and their weights
    lost : the share of a weight that is rounding
    reach : a squared distance in bandwidths beyond which all kernels together are lost beside the nearest
    """
    # what remains of the two cells; a share of `lost` or less is rounding
    remaining_of_k = weight[k] - unit
    if remaining_of_k <= lost * weight[k]:
        remaining_of_k = 0.0
    remaining_of_i = weight[i] - leaving
    if remaining_of_i <= lost * weight[i]:
        remaining_of_i = 0.0

    # The squared distance from cell k to the nearest cell that remains. All cells but k and i remain: of these the
    # nearest is the neighbour on either side, or the next one if the neighbour is i.
    before = k - 2 if i == k - 1 else k - 1
    after = k + 2 if i == k + 1 else k + 1
    near = _squared_to_nearer(value[k], value, before, after)
    if remaining_of_i > 0:
        near = min(near, (value[k] - value[i]) ** 2)
    if remaining_of_k > 0:
        near = 0.0
    if near == np.inf:  # no cell remains
        return -np.inf

    # the cells that are near enough to count
    farthest = _farthest(value[k], h, near, reach)
    begin = np.searchsorted(value, value[k] - farthest)
    end = np.searchsorted(value, value[k] + farthest, side="right")

    # the sum of their kernels relative to that of the nearest cell
    rate = 0.5 / (h * h)
    total = 0.0
    for cell in range(begin, end):
        z = value[k] - value[cell]
        remaining = weight[cell]
        if cell == k:
            remaining = remaining_of_k
        elif cell == i:
            remaining = remaining_of_i
        if remaining > 0:
            total += remaining * math.exp(-rate * (z * z - near))
    return math.log(total) - rate * near


@loop()
def change_of_other_factors(
    cell: Any,
    leaving: Any,
    value: Any,
    weight: Any,
    unit: Any,
    log_a: Any,
    h: float,
    lost: float,
    reach: float,
    table: Any,
    out: Any,
) -> None:
    """How a log leave-one-out product changes when a weight leaves a cell, but for that cell's factor; for many cells.

    The product has a factor A_k^w_k for each cell k of weight w_k, with A_k = Σ_l w_l K_kl − u_k the sum of kernels at
    it, without a unit of its own. If a weight ρ = ρ_e leaves cell i = i_e, the change is

        out_e = Σ_{k≠i} w_k [log(A_k − ρ K_ki) − log A_k] = Σ_{k≠i} w_k log(1 − share),    share = ρ K_ki/A_k.

    There are three ways to compute it:

    - of cells k of large A by the series log(1 − share) = −Σ_m share^m/m, whose m-th term is one sum of kernels of
      bandwidth h/√m for all i;
    - of any other cell k of weight 1 the factors 1 − share are multiplied up, so that one logarithm serves many cells;
    - of another weight, or where a share is nearly 1, pair by pair.

    Parameters
    ----------
    cell, leaving : (e,) cells in ascending order, and the weights that leave them, positive
    value, weight : (m,) all cells in ascending order, and their weights
    unit : (m,) weight that leaves each cell in the leave-one-out product
    log_a : (m,) log A_k; −∞ for a cell that is alone
    lost : the share of a weight that is rounding
    reach : a squared distance in bandwidths beyond which all kernels together are lost beside the nearest
    table : the coefficients `TRANSLATIONS`
    """
    # cells k of large A, from which on the series converges quickly
    out[:] = 0.0
    largest = leaving.max()
    bound = math.log(_LARGE_SUM * largest)
    _add_series(cell, leaving, largest, value, weight, log_a, bound, h, table, out)

    # all others: for each k the cells i near it, which are a range begin … end of the e
    target = value[cell]  # (e,)
    log_leaving = np.log(leaving)
    share = np.empty(len(cell))
    product = np.ones(len(cell))  # of the factors 1 − share whose logarithms are not in `out` yet
    smallest = 1.0  # a lower bound of the products
    log_largest = math.log(largest)
    for k in range(len(value)):
        if log_a[k] >= bound or np.isneginf(log_a[k]):  # done by the series, or alone: it has no factor
            continue

        # outside of `half`, ρ K_ki = ρ exp(−½ z²/h²) is more than `_PAIR_LOST` nats below A_k
        half = h * math.sqrt(max(0.0, 2 * (_PAIR_LOST + log_largest - log_a[k])))
        begin = np.searchsorted(target, value[k] - half)
        end = np.searchsorted(target, value[k] + half, side="right")
        near = slice(begin, end)

        # fills `share` with ρ K_ki/A_k of the cells i near k, and gives the largest of them
        largest_share = _shares(target[near], log_leaving[near], value[k], 0.5 / (h * h), log_a[k], share[near])

        # weight 1: another factor of the products, until these might underflow
        if weight[k] == 1.0 and largest_share < _NEARLY_ALL:
            _multiply(share[near], product[near])  # product_e *= 1 − share_e
            smallest *= 1.0 - largest_share
            if smallest < _SMALLEST_PRODUCT:
                _add_logs(product, out)  # adds the logarithms, and sets the products to 1
                smallest = 1.0
            continue

        # other weights, and shares of nearly 1: pair by pair
        for e in range(begin, end):
            if share[e] < _NEARLY_ALL:
                change = math.log1p(-share[e])
            else:  # 1 − share has lost digits: the sum at cell k is made anew without the weight
                log_a_without = _log_sum_without_two(k, unit[k], cell[e], leaving[e], value, weight, h, lost, reach)
                is_alone = log_a_without == -np.inf  # then cell k has no factor any more
                change = np.nan if is_alone else log_a_without - log_a[k]
            out[e] += weight[k] * change
    _add_logs(product, out)


@loop(FAST)
def _shares(target: Any, log_leaving: Any, centre: float, rate: float, log_a: float, out: Any) -> float:
    """The share that each of several cells has in the sum of kernels A at one cell, the centre; returns the largest.

    out_e = ρ_e K(x_e − centre)/A with the kernel K(z) = exp(−rate z²). It is at most 1, but 0 at the centre itself,
    which is not in the sum.

    Parameters
    ----------
    target, log_leaving : (e,) cells x_e, and log ρ_e of their weights
    rate : ½/h²
    out : (e,)

    Returns
    -------
    The largest of the shares.
    """
    largest = 0.0
    for e in range(len(target)):
        z = target[e] - centre
        share = exp(log_leaving[e] - rate * z * z - log_a)
        out[e] = 0.0 if z == 0.0 else share
        largest = max(largest, out[e])
    return largest


@loop(FAST)
def _multiply(share: Any, product: Any) -> None:
    """product_e *= 1 − share_e."""
    for e in range(len(share)):
        product[e] *= 1.0 - share[e]


@loop()
def _add_logs(product: Any, out: Any) -> None:
    """out_e += log product_e, and the products start again at 1."""
    for e in range(len(product)):
        out[e] += math.log(product[e])
        product[e] = 1.0


@loop()
def _add_series(
    cell: Any,
    leaving: Any,
    largest: float,
    value: Any,
    weight: Any,
    log_a: Any,
    bound: float,
    h: float,
    table: Any,
    out: Any,
) -> None:
    """Add to each out_i the sum Σ_{k≠i} w_k log(1 − ρ_i K_ki/A_k), over the cells k with log A_k ≥ bound, by a series.

    It is how Σ_k w_k log A_k changes when a weight ρ_i leaves cell i: A_k is the sum of kernels at cell k, and K_ki the
    kernel between the two cells. Taken literally it has a term for each pair (i, k). With log(1 − y) = −Σ_m y^m/m it is

        −Σ_m (ρ_i^m/m) Σ_{k≠i} (w_k/A_k^m) K_ki^m,    m = 1, 2, …

    The power K^m is again a Gaussian kernel, of bandwidth h/√m. So the inner sum is a sum of kernels at cell i over
    cells with the weights w_k/A_k^m, and such sums take linear time for all i together. In the code both ρ_i and A_k
    are divided by the largest ρ, R, so that their powers stay in the range of floats.

    Parameters
    ----------
    cell, leaving : (e,) cells i in ascending order, by their positions, and the weights ρ_i that leave them, positive
    largest : R
    value, weight, log_a : (m,) all cells in ascending order, their weights w_k, and log A_k
    h : bandwidth of K
    table : the coefficients `TRANSLATIONS`
    out : (e,)
    """
    members = np.flatnonzero(log_a >= bound)  # positions of the cells k
    inverse_a = np.exp(-log_a[members])  # 1/A_k
    scaled_weight = weight[members]  # w_k (R/A_k)^m, here for m = 0
    target = value[cell]
    factor = np.empty(len(cell))
    for m in range(1, _MAX_ORDERS):
        # 1. keep only the cells k whose term m is not negligible beside their first one
        if m > 1:
            matters = (largest * inverse_a) ** (m - 1) > _ORDER_LOST * m
            members = members[matters]
            inverse_a = inverse_a[matters]
            scaled_weight = scaled_weight[matters]
        if len(members) == 0:
            break

        # 2. term m: out_i += −(ρ_i/R)^m/m Σ_k w_k (R/A_k)^m K_ki^m
        scaled_weight = scaled_weight * inverse_a * largest  # one power more
        for e in range(len(cell)):
            factor[e] = -((leaving[e] / largest) ** m) / m
        _add_sums(target, value[members], scaled_weight, h / math.sqrt(m), table, factor, out)

        # 3. This sum over k has the cell k = i too, which the series has not. Its kernel is 1: subtract its weight.
        for e in range(len(cell)):
            p = np.searchsorted(members, cell[e])  # if cell i is among the members, it is number p
            is_member = p < len(members) and members[p] == cell[e]
            if is_member:
                out[e] -= factor[e] * scaled_weight[p]
