"""What remains of statistics when rows are subtracted, and how many of its digits are certain.

A difference of two sums has the rounding of both. The statistics know the variance of their rounding, so that what is
left is known up to a bound: zeros can be told from small numbers, and a posterior that would have lost its digits is
refused.
"""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ..models.base import AbstractModel
from ..models.naive_bayes import Statistics
from ..numerics.arrays import Array, Bool, Float
from ..sums.statistics import NEVER_FITTED, Counts, Moments, Scatter, Totals, along

_BOUND = 4.0  # standard deviations of the rounding that count as its bound
_SURE = 1e-9  # relative bound on the rounding of a field of the posterior
_NO_DOUBT = 1e-10  # bound on the rounding of statistics below which no field of a posterior can pass `_SURE`
_NOISE = 1e-12  # a spread within its bound is 0 for certain where the bound is this share of the mean
_NO_EVENT = 1e-9  # a weight within its bound is 0 for certain where the bound is below this


class Remaining(NamedTuple):
    """Statistics of the rows that are left, twice: as computed, and with every field moved by its possible rounding.

    A posterior of each of the two tells how many digits of it are certain.

    Fields
    ------
    estimate : the difference, exactly 0 where no row is left
    moved : the same, moved by the bound of its rounding
    """

    estimate: Any
    moved: Any


def without(fitted: Statistics, removed: Statistics, n_models: int = 1) -> Remaining:
    """The statistics of the rows that are left when some of the fitted rows are removed: their difference.

    Statistics are sums over rows: the weight of each class, and for each block (the columns of one family) sums such as
    squares or counts. So they subtract. The result holds them twice, as computed and moved by their possible rounding.

    Parameters
    ----------
    fitted, removed : statistics of all rows, and of those to remove; both hold the variances of their rounding
        (`error`), and their difference then holds the sum of these
    n_models : how many models the classes belong to, the first c to the first one. A column may be constant in one
        model and vary in the next

    Raises
    ------
    ValueError
        if rows to be forgotten were never fitted: more would leave than there is
    """
    difference: Any = fitted - removed

    # what is left of the class weights (c,), whose `error` is the variance of their rounding, and of each block
    weight = _remaining_weight(difference.n, _BOUND * np.sqrt(difference.error))
    blocks = {name: _remaining(block, n_models) for name, block in difference.blocks.items()}

    # all estimates together, and all that was moved. A class without rows has the weight 0 exactly, and so no error
    estimate = Statistics(
        n=weight.estimate,
        blocks={name: block.estimate for name, block in blocks.items()},
        error=np.where(weight.estimate > 0, difference.error, 0),
    )
    moved = Statistics(n=weight.moved, blocks={name: block.moved for name, block in blocks.items()})
    return Remaining(estimate, moved)


# --- what is left of a block ------------------------------------------------------------------------------------------


def _remaining(difference: Any, n_models: int) -> Remaining:
    """What is left of a block, from the difference of its statistics, by the type of these statistics.

    - moments or cross products of real cells, totals of counts, numbers of events: their rounding is known
    - any others, such as distinct cells, or statistics of a family of the user's own: their rounding is not known, so
      they are left as they are. Only their weight n, if they have one, must not be negative: see `suffstats` in
      `families.base`

    Raises
    ------
    ValueError
        if more would leave than there is
    """
    match difference:
        case Moments() | Scatter():
            return _remaining_moments(difference, n_models)
        case Totals():
            return _remaining_totals(difference)
        case Counts():
            return _remaining_counts(difference)
        case object(n=weight):
            _check_weight(np.asarray(weight), _NO_EVENT)
            return Remaining(estimate=difference, moved=difference)
        case _:
            return Remaining(estimate=difference, moved=difference)


def _check_weight(n: Array, bound: Any) -> None:
    """ValueError if a weight is negative by more than the bound on its rounding: such rows were never fitted."""
    if (n < -bound).any():
        raise ValueError(NEVER_FITTED.format("counts"))


def _remaining_weight(n: Array, bound: Any) -> Remaining:
    """Weights that are left, set to 0 where they are within the bound on their rounding.

    Parameters
    ----------
    n : difference of two sums of weights, of any shape
    bound : what rounding may have added to each, or to all of them

    Returns
    -------
    `estimate` and `moved`, arrays of the shape of n. A weight that is 0 for certain, because its bound is below 1e-9,
    is not moved

    Raises
    ------
    ValueError
        if a weight is negative beyond its rounding: such rows were never fitted
    """
    _check_weight(n, bound)
    is_zero = n <= bound
    is_certainly_zero = is_zero & (bound <= _NO_EVENT)
    estimate = np.where(is_zero, 0, n)
    moved = estimate + np.where(is_certainly_zero, 0, bound)
    return Remaining(estimate, moved)


def _remaining_counts(difference: Counts) -> Remaining:
    """What is left of numbers of events n, and of their log base measure `log_h`, of any shape.

    A number of events is treated as a weight. `log_h` may have either sign, so that nothing about it can be wrong.
    """
    # `_bound` is how much rounding may have added to a field of the statistics, in the shape of the last argument
    n_bound = _bound(difference, "n", difference.n)
    log_h_bound = _bound(difference, "log_h", difference.log_h)

    # both fields as computed, and moved by these bounds
    n = _remaining_weight(difference.n, n_bound)
    estimate = replace(difference, n=n.estimate, error=difference.error or {})
    moved = replace(estimate, n=n.moved, log_h=difference.log_h + log_h_bound)
    return Remaining(estimate, moved)


def _remaining_totals(difference: Totals) -> Remaining:
    """What is left of sums of counts: numbers of cells n, their sum and their log base measure, (c, d) each.

    `difference` is that of the statistics of all rows and of the removed ones. The log base measure is Σ log h(x_i),
    the factor of the likelihood without parameters, such as −log x! of Poisson counts. A sum without cells is exactly
    0, and so is its rounding.

    Returns
    -------
    the statistics twice, as computed (`estimate`) and with every sum larger by the bound of its rounding (`moved`)
    """
    n = _remaining_weight(difference.n, _bound(difference, "n", difference.n))
    total_bound = _bound(difference, "total", difference.total)  # (c, d)
    log_h_bound = _bound(difference, "log_h", difference.log_h)  # (c, d)

    # a sum of counts is not negative; if it is, beyond rounding, more was removed than fitted
    if (difference.total < -total_bound).any():
        raise ValueError(NEVER_FITTED.format("counts"))

    is_empty = n.estimate <= 0  # no cell is left of the class and column
    total = np.where(is_empty, 0, np.maximum(difference.total, 0))  # rounding leaves no sum below 0
    log_h = np.where(is_empty, 0, difference.log_h)
    estimate = replace(difference, n=n.estimate, total=total, log_h=log_h, error=_error_of_rows(difference, is_empty))
    moved = replace(
        estimate,
        n=n.moved,
        total=total + np.where(is_empty, 0, total_bound),
        log_h=log_h + np.where(is_empty, 0, log_h_bound),
    )
    return Remaining(estimate, moved)


def _remaining_moments(difference: Moments | Scatter, n_models: int) -> Remaining:
    """What is left of the weight, mean and squares of columns when rows are subtracted, as computed and as moved.

    c classes, d columns. `Moments` hold the weight n, the mean, and ss, the sum of squares about the mean, (c, d) each.
    `Scatter` holds n (c,), the mean (c, d) and the cross products ss (c, d, d). In both, `own` are the squares of each
    column, (c, d).

    A column whose remaining cells are all equal has squares of 0, and these cells as its mean. In a difference of sums
    rounding is left of both, which would count as spread. So where rounding explains all of the spread, such a constant
    column is set to the exact values.

    Returns
    -------
    `estimate`, and `moved`, in which n, mean and squares are larger by the bound of their rounding
    """
    # how much rounding may have added to the weight: a scatter has one weight for all columns of a class, which takes
    # the largest of their bounds
    n_bound = _bound(difference, "n", difference.mean)  # (c, d)
    is_scatter = isinstance(difference, Scatter)
    n = _remaining_weight(difference.n, n_bound.max(-1) if is_scatter else n_bound)

    # sums of squares are not negative; if one is, beyond rounding, other rows were removed than fitted
    ss_bound = _bound(difference, "ss", difference.mean)  # (c, d)
    if (difference.own < -ss_bound).any():
        raise ValueError(NEVER_FITTED.format("squares"))

    # bounds on squares and mean, 0 where no row is left; what is known is the rounding of the sum n·mean, under the
    # name "mean", so that its bound is divided by n
    is_empty = n.estimate <= 0  # of the shape of n: (c, d) or (c,)
    weight = along(n.estimate, difference.mean) + np.zeros_like(difference.mean)  # n by class and column, (c, d)
    bounds = _MomentBounds(
        mean=_zero_where(is_empty, _bound(difference, "mean", difference.mean)) / _safe(weight),
        ss=_zero_where(is_empty, ss_bound),
    )

    # constant columns get their value as the mean, and no squares
    columns = _constant_columns(difference, weight, bounds, n_models)
    mean = np.where(columns.is_constant, columns.value, difference.mean)
    estimate = replace(
        difference,
        n=n.estimate,
        mean=_zero_where(is_empty, mean),
        ss=_zero_where(is_empty, _squares(difference, columns.is_constant)),
        error=_error_of_rows(difference, is_empty),
    )

    # moved by the bounds; not where a column is constant for certain, and of cross products only the diagonal
    mean_shift = np.where(columns.is_certain, 0, bounds.mean)  # (c, d)
    ss_shift = np.where(columns.is_certain, 0, bounds.ss)  # (c, d)
    if is_scatter:
        ss_shift = ss_shift[..., None] * np.eye(ss_shift.shape[-1])  # (c, d, d)
    moved = replace(estimate, n=n.moved, mean=estimate.mean + mean_shift, ss=estimate.ss + ss_shift)
    return Remaining(estimate, moved)


class _MomentBounds(NamedTuple):
    """How much rounding may have added to mean and squares of each class and column, (c, d) both."""

    mean: np.ndarray
    ss: np.ndarray


class _ConstantColumns(NamedTuple):
    """Columns whose remaining cells are all equal, as far as rounding lets one see.

    Fields
    ------
    is_constant : (c, d) whether all squares, and differences of class means, are within their bounds; the same in all
        classes of a model
    is_certain : (c, d) whether the bounds are so small that a refit would find the same
    value : (c, d) the value of the column, exactly 0 if that is within its bound
    """

    is_constant: Bool[np.ndarray, "c d"]
    is_certain: Bool[np.ndarray, "c d"]
    value: Float[np.ndarray, "c d"]


def _constant_columns(
    difference: Moments | Scatter, weight: np.ndarray, bounds: _MomentBounds, n_models: int
) -> _ConstantColumns:
    """Which columns have one value in all remaining cells, of all classes, and that value.

    In exact arithmetic such a column has squares of 0 about its mean, and the same mean in every class. Here both are
    known up to a bound on their rounding. So a column is called constant if rounding alone explains its squares in
    every class, and the differences of the class means from the common mean. Example: squares of 3e-10 with the bound
    4e-10 count as 0, squares of 5e-10 do not.

    Parameters
    ----------
    difference : statistics of the remaining rows; `own` are their squares by class and column
    weight : (c, d) weight of the cells
    bounds : how much rounding may have added to their mean and squares, (c, d) both
    n_models : how many models the classes belong to, as in `without`
    """
    # all arrays with an axis of models in front, (models, classes of each, d)
    by_model = (n_models, -1, weight.shape[1])
    weight = weight.reshape(by_model)
    mean = difference.mean.reshape(by_model)
    squares = difference.own.reshape(by_model)
    mean_bound = bounds.mean.reshape(by_model)
    ss_bound = bounds.ss.reshape(by_model)

    # the value of a column is the weighted mean of all classes of a model, whose rounding is at most that of the worst
    # of them; both (models, 1, d)
    total = np.maximum(weight.sum(1, keepdims=True), 1e-300)
    common_mean = (weight * mean).sum(1, keepdims=True) / total
    bound_of_common_mean = abs(mean_bound).max(1, keepdims=True)

    # constant: in each class that has cells, rounding explains the squares, and how far the mean is from the common one
    has_no_spread = squares <= ss_bound
    has_same_mean = abs(mean - common_mean) <= mean_bound + bound_of_common_mean
    has_no_cells = weight <= 0
    is_constant = ((has_no_spread & has_same_mean) | has_no_cells).all(1, keepdims=True)  # (models, 1, d)

    # a value within its bound is taken for 0
    is_zero = is_constant & (abs(common_mean) <= bound_of_common_mean)
    value = np.where(is_zero, 0, common_mean)

    # certainly constant: the bounds allow no cell to differ from the value by more than 1e-12 of it. Cells that all
    # differ by so much have squares of weight · (1e-12 · value)²; `_safe` puts 1 for a weight of 0
    ss_is_certain = ss_bound <= _safe(weight) * (_NOISE * value) ** 2  # (models, classes, d)
    mean_is_certain = mean_bound <= _NOISE * abs(value)
    is_certain = is_constant & (ss_is_certain & mean_is_certain).all(1, keepdims=True)  # (models, 1, d)

    # all classes of a model have the same answer: back to the axes (c, d)
    def for_all_classes(answer: np.ndarray) -> np.ndarray:
        return np.broadcast_to(answer, weight.shape).reshape(difference.mean.shape)

    return _ConstantColumns(for_all_classes(is_constant), for_all_classes(is_certain), for_all_classes(value))


def _squares(difference: Moments | Scatter, is_constant: Bool[np.ndarray, "c d"]) -> np.ndarray:
    """Squares (c, d), or cross products (c, d, d), that are 0 in constant columns.

    Rounding leaves no square below 0; cross products stay as they are, as they may have either sign.
    """
    if isinstance(difference, Scatter):
        # an entry (j, k) is 0 if column j or column k is constant: (c, 1, d) along the columns of the matrix, or
        # (c, d, 1) along its rows
        return np.where(is_constant[:, None, :] | is_constant[:, :, None], 0, difference.ss)
    return np.where(is_constant, 0, np.maximum(difference.ss, 0))


def _bound(stats: Any, name: str, like: Array) -> np.ndarray:
    """The bound on the rounding of the field `name`, 4 standard deviations, in the shape of `like`; 0 if it is exact.

    `stats.error` holds the variance of the rounding of each field by name; it lacks those that are exact.
    """
    variance = (stats.error or {}).get(name, 0.0)
    zeros = 0 * like  # gives the result its shape, as the variance may be a single number
    return zeros + _BOUND * np.sqrt(np.maximum(variance, 0))


def _error_of_rows(stats: Any, is_empty: np.ndarray) -> dict[str, Any]:
    """Variances of the rounding of each field by name, 0 where no row is left; that of the weight stays."""
    errors = {}
    for name, variance in (stats.error or {}).items():
        errors[name] = variance if name == "n" else _zero_where(is_empty, variance)
    return errors


def _zero_where(is_empty: np.ndarray, values: Any) -> np.ndarray:
    """Values that are 0 for the classes, or cells, of which no row is left.

    `values` have the axes of `is_empty`, and perhaps more after them, over which it is repeated: `is_empty` (c,) is
    reshaped to (c, 1, 1) for values (c, d, d).
    """
    trailing_axes = (1,) * (np.ndim(values) - is_empty.ndim)
    return np.where(is_empty.reshape(is_empty.shape + trailing_axes), 0, values)


def _safe(weight: np.ndarray) -> np.ndarray:
    """Weights to divide by: 1 where there is none."""
    return np.where(weight > 0, weight, 1)


# --- digits of the posterior ------------------------------------------------------------------------------------------


def is_certain(remaining: Remaining) -> bool:
    """Whether the statistics alone show that rounding leaves nine digits of every field of a posterior.

    A field is one array of a posterior's hyperparameters. The answer is True if rounding moves every sum by at most
    1e-10 of itself, and every mean by at most 1e-10 standard deviations. Why this suffices:

    - a field other than a mean is a sum s of the rows plus an amount a ≥ 0 of the prior. If s has the error e, the
      relative error of the field is e / (s + a) ≤ e / s
    - a posterior mean is a weighted average of the prior mean and the mean of the rows, so it moves by no more than the
      latter

    The limit is 1e-10, not 1e-9, to leave a factor of ten. False does not mean doubt, only that the two posteriors have
    to be compared entry by entry, by `find_doubt`. It is always the answer for cross products, because columns that are
    nearly multiples of each other lose digits in the inverse matrix, and for statistics whose rounding is not known.

    Parameters
    ----------
    remaining : statistics of the rows that are left, and the same moved by the bound of their rounding
    """
    # every sum with its moved copy: the class weights, then the sums of each block (the columns of one family)
    sums = [(remaining.estimate.n, remaining.moved.n)]
    for name, block in remaining.estimate.blocks.items():
        moved = remaining.moved.blocks[name]
        match block:
            case Moments():  # weight, mean and squares
                # a mean may be 0, so its change is measured in standard deviations of the cells
                standard_deviation = np.sqrt(block.ss / _safe(block.n))
                if (abs(moved.mean - block.mean) > _NO_DOUBT * standard_deviation).any():
                    return False
                sums += [(block.n, moved.n), (block.ss, moved.ss)]
            case Totals():  # sums of counts
                sums += [(block.n, moved.n), (block.total, moved.total)]
            case Counts():  # numbers of events
                sums.append((block.n, moved.n))
            case _:  # cross products, or statistics of unknown rounding
                return False

    changes_are_small = [(abs(moved - value) <= _NO_DOUBT * value).all() for value, moved in sums]
    return all(changes_are_small)


class Doubt(NamedTuple):
    """A field of a posterior that is known to less than nine digits.

    Fields
    ------
    block : name of its block; "class" for the class prior
    column : position of the column in the block; None where the field is that of all columns
    """

    block: str
    column: int | None


def find_doubt(posterior: AbstractModel, moved: AbstractModel) -> Doubt | None:
    """The first field of a posterior that is known to fewer than nine digits; None if there is none.

    A field is one array of hyperparameters, such as the means of the columns. The posterior was computed twice: from
    the statistics as they are, and from statistics moved by the bound of their rounding. Where the two differ, rounding
    can matter.

    Parameters
    ----------
    posterior : that of the remaining statistics
    moved : that of the same statistics, moved by the bound of their rounding. Where a field of the two differs by more
        than 1e-9 of itself, it is in doubt
    """
    for field, moved_field in zip(posterior.hyperparameters(), moved.hyperparameters(), strict=True):
        # by entry: whether it changes by more than 1e-9 of its size. The family says what that is: of a mean a standard
        # deviation, of most other fields the value itself
        with np.errstate(all="ignore"):
            change = abs(moved_field.value - field.value)
            is_doubtful = change > _SURE * field.size()
        if is_doubtful.any():
            first_entry = np.argwhere(is_doubtful)[0]  # its index along each axis
            return Doubt(field.block, field.column_at(first_entry))
    return None
