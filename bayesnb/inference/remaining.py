"""What remains of statistics when rows are subtracted, and how many of its digits are certain.

A difference of two sums has the rounding of both. The statistics know the variance of their rounding, so that what is
left is known up to a bound: zeros can be told from small numbers, and a posterior that would have lost its digits is
refused.
"""

from dataclasses import fields, replace
from typing import Any, NamedTuple

import numpy as np

from ..core.arrays import Array, Bool, Float
from ..naive_bayes import Statistics
from ..statistics import NEVER_FITTED, Counts, Moments, Scatter, Totals, along

_BOUND = 4.0  # standard deviations of the rounding that count as its bound
_SURE = 1e-9  # relative bound on the rounding of a field of the posterior
_NO_DOUBT = 1e-10  # bound on the rounding of statistics below which no field of a posterior can pass `_SURE`
_NOISE = 1e-12  # a spread within its bound is 0 for certain where the bound is this share of the mean
_NO_EVENT = 1e-9  # a weight within its bound is 0 for certain where the bound is below this


class Remaining(NamedTuple):
    """Statistics of the rows that are left.

    Fields
    ------
    estimate : the difference, exactly 0 where no row is left
    moved : the same, moved by the bound of its rounding
    """

    estimate: Any
    moved: Any


def without(fitted: Statistics, removed: Statistics) -> Remaining:
    """The statistics of the rows that are left; both arguments know their rounding.

    Raises
    ------
    ValueError
        if rows to be forgotten were never fitted
    """
    difference: Any = fitted - removed
    weight = _remaining_weight(difference.n, _BOUND * np.sqrt(difference.error))
    blocks = {name: _remaining(block) for name, block in difference.blocks.items()}
    estimate = Statistics(
        weight.estimate,
        {name: block.estimate for name, block in blocks.items()},
        np.where(weight.estimate > 0, difference.error, 0),
    )
    return Remaining(estimate, Statistics(weight.moved, {name: block.moved for name, block in blocks.items()}))


# --- what is left of a block ------------------------------------------------------------------------------------------


def _remaining(difference: Any) -> Remaining:
    """What is left of a block, from the difference of its statistics."""
    match difference:
        case Moments() | Scatter():
            return _remaining_moments(difference)
        case Totals():
            return _remaining_totals(difference)
        case Counts():
            return _remaining_counts(difference)
    # distinct cells, or statistics of a family of one's own: their rounding is not known
    _remaining_weight(np.asarray(getattr(difference, "n", 0)), _NO_EVENT)
    return Remaining(difference, difference)


def _remaining_weight(n: Array, bound: Any) -> Remaining:
    """Weights, 0 where they are within their bound."""
    if (n < -bound).any():
        raise ValueError(NEVER_FITTED.format("counts"))
    is_zero = n <= bound
    is_certain = is_zero & (bound <= _NO_EVENT)
    estimate = np.where(is_zero, 0, n)
    return Remaining(estimate, estimate + np.where(is_certain, 0, bound))


def _remaining_counts(difference: Counts) -> Remaining:
    n = _remaining_weight(difference.n, _bound(difference, "n", difference.n))
    estimate = replace(difference, n=n.estimate, error=difference.error or {})
    log_h = difference.log_h + _bound(difference, "log_h", difference.log_h)
    return Remaining(estimate, replace(estimate, n=n.moved, log_h=log_h))


def _remaining_totals(difference: Totals) -> Remaining:
    n = _remaining_weight(difference.n, _bound(difference, "n", difference.n))
    total_bound = _bound(difference, "total", difference.total)
    log_h_bound = _bound(difference, "log_h", difference.log_h)
    if (difference.total < -total_bound).any():
        raise ValueError(NEVER_FITTED.format("counts"))
    is_empty = n.estimate <= 0
    total = np.where(is_empty, 0, np.maximum(difference.total, 0))
    log_h = np.where(is_empty, 0, difference.log_h)
    estimate = replace(difference, n=n.estimate, total=total, log_h=log_h, error=_error_of_rows(difference, is_empty))
    moved = replace(
        estimate,
        n=n.moved,
        total=total + np.where(is_empty, 0, total_bound),
        log_h=log_h + np.where(is_empty, 0, log_h_bound),
    )
    return Remaining(estimate, moved)


def _remaining_moments(difference: Moments | Scatter) -> Remaining:
    """Of weight, mean and squares, or cross products: a column that became constant has no spread."""
    n_bound = _bound(difference, "n", difference.mean)
    n = _remaining_weight(difference.n, n_bound.reshape(*difference.n.shape, -1).max(-1))
    if (difference.own < -_bound(difference, "ss", difference.mean)).any():
        raise ValueError(NEVER_FITTED.format("squares"))

    is_empty = n.estimate <= 0
    weight = along(n.estimate, difference.mean) + np.zeros_like(difference.mean)
    ss_bound = _zero_where(is_empty, _bound(difference, "ss", difference.mean))
    # the error of "mean" is that of n·mean
    mean_bound = _zero_where(is_empty, _bound(difference, "mean", difference.mean)) / _safe(weight)

    columns = _constant_columns(difference, weight, mean_bound, ss_bound)
    mean_bound = np.where(columns.is_certain, 0, mean_bound)
    ss_bound = np.where(columns.is_certain, 0, ss_bound)
    mean = np.where(columns.is_constant, columns.value, difference.mean)
    estimate = replace(
        difference,
        n=n.estimate,
        mean=_zero_where(is_empty, mean),
        ss=_zero_where(is_empty, _squares(difference, columns.is_constant)),
        error=_error_of_rows(difference, is_empty),
    )
    if isinstance(difference, Scatter):
        ss_bound = ss_bound[..., None] * np.eye(ss_bound.shape[-1])
    return Remaining(estimate, replace(estimate, n=n.moved, mean=estimate.mean + mean_bound, ss=estimate.ss + ss_bound))


class _ConstantColumns(NamedTuple):
    """Columns whose remaining cells are all equal, as far as rounding lets one see.

    Fields
    ------
    is_constant : (d,) whether all squares, and differences of class means, are within their bounds
    is_certain : (d,) whether the bounds are so small that a refit would find the same
    value : (d,) the value of the column, exactly 0 if that is within its bound
    """

    is_constant: Bool[np.ndarray, " d"]
    is_certain: Bool[np.ndarray, " d"]
    value: Float[np.ndarray, " d"]


def _constant_columns(
    difference: Moments | Scatter, weight: np.ndarray, mean_bound: np.ndarray, ss_bound: np.ndarray
) -> _ConstantColumns:
    value = (weight * difference.mean).sum(0) / np.maximum(weight.sum(0), 1e-300)
    largest_bound = abs(mean_bound).max(0)
    no_spread = difference.own <= ss_bound
    same_mean = abs(difference.mean - value) <= mean_bound + largest_bound
    is_constant = (no_spread & same_mean | (weight <= 0)).all(0)

    value = np.where(is_constant & (abs(value) <= largest_bound), 0, value)
    ss_is_sure = ss_bound <= _safe(weight) * (_NOISE * value) ** 2
    mean_is_sure = mean_bound <= _NOISE * abs(value)
    return _ConstantColumns(is_constant, is_constant & (ss_is_sure & mean_is_sure).all(0), value)


def _squares(difference: Moments | Scatter, is_constant: Bool[np.ndarray, " d"]) -> np.ndarray:
    """Squares, or cross products, that are 0 in constant columns; rounding leaves no square below 0."""
    if isinstance(difference, Scatter):
        return np.where(is_constant | is_constant[:, None], 0, difference.ss)
    return np.where(is_constant, 0, np.maximum(difference.ss, 0))


def _bound(stats: Any, name: str, like: Array) -> np.ndarray:
    """The bound on the rounding of a field, in the shape of `like`; 0 where it is exact."""
    variance = (stats.error or {}).get(name, 0.0)
    return 0 * like + _BOUND * np.sqrt(np.maximum(variance, 0))


def _error_of_rows(stats: Any, is_empty: np.ndarray) -> dict[str, Any]:
    """Variances of the rounding, 0 where no row is left; that of the weight stays."""
    error = stats.error or {}
    return {name: value if name == "n" else _zero_where(is_empty, value) for name, value in error.items()}


def _zero_where(is_empty: np.ndarray, values: Any) -> np.ndarray:
    """Values that are 0 for the classes, or cells, of which no row is left."""
    trailing_axes = (1,) * (np.ndim(values) - is_empty.ndim)
    return np.where(is_empty.reshape(is_empty.shape + trailing_axes), 0, values)


def _safe(weight: np.ndarray) -> np.ndarray:
    """Weights to divide by: 1 where there is none."""
    return np.where(weight > 0, weight, 1)


# --- digits of the posterior ------------------------------------------------------------------------------------------


def is_certain(remaining: Remaining) -> bool:
    """Whether rounding moves sums and spreads by so little of themselves that no field of a posterior is in doubt.

    A posterior only adds to them. Of cross products it can not be seen: columns may nearly be multiples of each other.
    """
    pairs = [(remaining.estimate.n, remaining.moved.n)]
    for name, block in remaining.estimate.blocks.items():
        moved = remaining.moved.blocks[name]
        match block:
            case Moments():
                spread = np.sqrt(block.ss / _safe(block.n))
                if (abs(moved.mean - block.mean) > _NO_DOUBT * spread).any():
                    return False
                pairs += [(block.n, moved.n), (block.ss, moved.ss)]
            case Totals():
                pairs += [(block.n, moved.n), (block.total, moved.total)]
            case Counts():
                pairs.append((block.n, moved.n))
            case _:
                return False
    return all((abs(moved - value) <= _NO_DOUBT * value).all() for value, moved in pairs)


class Doubt(NamedTuple):
    """A field of a posterior that is known to less than nine digits.

    Fields
    ------
    block : name of its block; empty for the class prior
    column : position of the column in the block; None where the field is that of all columns
    """

    block: str
    column: int | None


def find_doubt(posterior: Any, moved: Any) -> Doubt | None:
    """The first field that rounding may move by more than 1e-9 of it, to that of `moved`; None if there is none."""
    pairs = {"": (posterior.classes, moved.classes)}
    for name, block in posterior.blocks.items():
        pairs[name] = (block.unwrapped, moved.blocks[name].unwrapped)
    for name, (block, moved_block) in pairs.items():
        for field in fields(block):
            value = getattr(block, field.name)
            if not isinstance(value, np.ndarray):
                continue
            is_doubtful = _is_doubtful(field.name, value, getattr(moved_block, field.name), block)
            if is_doubtful.any():
                return Doubt(name, _column_of(block, field.name, np.argwhere(is_doubtful)[0]))
    return None


def _column_of(block: Any, field: str, position: np.ndarray) -> int | None:
    """The column of an entry of a field; None if the field has no axis of columns."""
    declared = block.fields_.get(field)
    if declared is None or "feature" not in declared.axes:
        return None
    return int(position[min(declared.axes.index("feature"), len(position) - 1)])


def _is_doubtful(name: str, value: np.ndarray, moved: np.ndarray, block: Any) -> np.ndarray:
    """Where a field of a posterior is known to less than nine digits: of a mean, in units of the spread."""
    with np.errstate(all="ignore"):
        change = abs(moved - value)
        if name == "S":
            change = change.diagonal(axis1=-2, axis2=-1)
            scale = _conditional_scale(block)
        elif name == "m" and hasattr(block, "S"):
            scale = np.sqrt(_conditional_scale(block) / block.nu[:, None])
        elif name == "m":
            scale = np.sqrt(block.variance if hasattr(block, "variance") else block.b / block.a)
        else:
            scale = abs(value)
        return np.asarray(change > _SURE * scale)


def _conditional_scale(block: Any) -> np.ndarray:
    """The part of the scale matrix S that is each column's own, given all others: 1/(S⁻¹)_jj, (c, d)."""
    return 1 / np.linalg.inv(block.S).diagonal(axis1=-2, axis2=-1)
