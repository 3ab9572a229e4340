"""Forgetting rows: what is left of the statistics, or a refusal where too few of its digits would be known."""

from dataclasses import fields, replace
from typing import Any

import numpy as np

from ..class_statistics import NEVER_FITTED
from ..core.exact import EPS, is_whole, least_variance
from ..naive_bayes import Statistics
from ..statistics import Counts, Moments, Scatter, Summed

_SURE = 4e-10  # relative rounding of a sum up to which its statistics agree with those of a refit to 1e-9
_DOUBT = 1e-6  # relative rounding of an evidence that is refused
_RESIDUE = 4 * EPS  # of the weight forgotten: what is left of a weight written in another way, such as 0.1 + 0.2
_ROUNDED = 1e-13  # the same where the weights were summed in floats
_NO_EVENT = 1e-12  # events, of rows whose amounts may be far apart


def is_negative(after: Any, before: Any) -> bool:
    """Whether counts have fallen below zero by more than the rounding of what they were."""
    for name in ("n", "total"):
        if hasattr(after, name):
            left, held = getattr(after, name), getattr(before, name)
            scale = held if held.shape == left.shape else held.max(initial=0)  # distinct cells, of which fewer are left
            if (left < -1e-9 * np.maximum(scale, 1)).any():
                return True
    return False


def without(estimator: Any, held: Statistics, gone: Statistics) -> Statistics:
    """The statistics of the rows that are left: those of a fit to these rows alone, to 1e-9.

    Raises
    ------
    ValueError
        if rows to be forgotten were never fitted, or if rounding leaves too few digits of what would remain
    """
    left = held - gone
    pairs = [(left, held), *((block, held.blocks[name]) for name, block in left.blocks.items())]
    if any(is_negative(after, before) for after, before in pairs):
        raise ValueError(NEVER_FITTED.format("counts"))
    held = Statistics(held.n, {name: _with_sums(block) for name, block in held.blocks.items()}, held.weight)
    left = held - gone
    weight = None if left.weight is None else left.weight.where(~_emptied(left.weight.value(), gone.n))
    n = np.where(_emptied(left.n, gone.n, _ROUNDED), 0, left.n) if weight is None else weight.value()
    blocks = {
        name: _left(estimator, name, block, held, gone) if isinstance(block, Summed) and block.sums else block
        for name, block in left.blocks.items()
    }
    return Statistics(np.maximum(n, 0), blocks, weight)


def digits_lost(stats: Statistics) -> float:
    """Decimal digits that rounding may have taken from the least certain sum, of the sixteen of a float."""
    worst = EPS
    for block in stats.blocks.values():
        block = _with_sums(block)
        if isinstance(block, Summed) and block.sums and block.sums.error:
            found, bounds = block.from_sums()
            for name, bound in bounds.items():
                value = np.broadcast_to(_size(found, name), np.shape(bound))
                doubtful = (bound > 0) & ~_is_constant(found, name, bound)
                if doubtful.any():
                    worst = max(worst, float((bound[doubtful] / np.maximum(value[doubtful], bound[doubtful])).max()))
    return float(np.log10(worst / EPS))


def with_digits(evidence: float, stats: Statistics) -> float:
    """A log evidence that is not mostly rounding.

    It holds −Σ log x! of the counts, or the logarithms of multinomial coefficients, as floats. For large counts these
    are far larger than the evidence.

    Raises
    ------
    ValueError
        if rounding them may change the evidence by more than a millionth of it
    """
    size = sum(float(abs(block.log_h).sum()) for block in stats.blocks.values() if hasattr(block, "log_h"))
    if 4 * EPS * size > _DOUBT * max(abs(evidence), 1):
        raise ValueError(
            f"`X` holds counts so large that their log factorials add up to {size:.2g} nats: rounding them may change "
            f"log_evidence_, {evidence:.4g} nats, by {4 * EPS * size:.1g}. Predictions and `loo` are accurate; for an "
            "evidence, model counts beyond about 1e9 as amounts, with ExponentialNB or GaussianNB"
        )
    return evidence


def _with_sums(block: Any) -> Any:
    """Statistics of which only floats are known, as those of older files, with what their rounding can have been."""
    if not isinstance(block, Summed) or block.sums is not None:
        return block
    return replace(block, sums=block.rounded_sums(int(min(block.n.sum(), 1 << 20)) + 1, is_whole(block.n)))


def _emptied(left: np.ndarray, gone: np.ndarray, residue: float = _RESIDUE) -> np.ndarray:
    """Where nothing is left of a weight."""
    return (left <= residue * gone) & (gone > 0)


def _size(stats: Any, name: str) -> np.ndarray:
    """What the rounding of a field is held against."""
    if name == "log_h":
        return np.maximum(abs(stats.log_h), 1)
    value = getattr(stats, name)
    return np.diagonal(value, axis1=1, axis2=2) if isinstance(stats, Scatter) and name == "ss" else value


def _is_constant(stats: Any, name: str, bound: np.ndarray) -> np.ndarray:
    """Where the bound is small enough to see that nothing is left, or a column that never varies."""
    if name == "log_h":
        return np.zeros(np.shape(bound), bool)
    if name != "ss":
        return _size(stats, name) <= bound
    n = stats.n if stats.n.ndim == stats.mean.ndim else stats.n[:, None]
    return _size(stats, name) + bound <= n * least_variance(stats.mean)


def _left(estimator: Any, name: str, block: Any, held: Statistics, gone: Statistics) -> Any:
    """What is left of one block."""
    before, taken = held.blocks[name], gone.blocks[name]
    exact = "n" in block.sums.exact
    n = block.sums.exact["n"].value() if exact else block.n
    emptied = _emptied(n, taken.n, _RESIDUE if exact else _ROUNDED)
    if isinstance(block, Counts) and exact:  # a small amount that is left beside a large one that is gone is an amount
        emptied &= n <= _NO_EVENT
    found, bounds = replace(block, sums=block.sums.where(~emptied)).from_sums()
    if isinstance(found, Counts):  # a count that is no more than rounding is none
        nothing = emptied | (found.n <= bounds.get("n", 0))
        found = replace(found, n=np.where(nothing, 0, found.n))
    if isinstance(found, Moments | Scatter):
        far = _size(found, "ss")
        allowed = (
            1e-3 * _size(before, "ss")
            + (before.n if before.n.ndim == far.ndim else before.n[:, None]) * (1e-6 * before.mean) ** 2
        )
        if (far < -allowed - bounds.get("ss", 0)).any():
            raise ValueError(NEVER_FITTED.format("squares"))
        if isinstance(found, Moments):
            found = replace(found, ss=np.maximum(found.ss, 0))
    else:
        values = {one.name: getattr(found, one.name) for one in fields(found) if one.name not in ("sums", "log_h")}
        found = replace(found, **{field: np.maximum(value, 0) for field, value in values.items()})
    for field, bound in bounds.items():
        doubtful = (bound > _SURE * _size(found, field)) & ~_is_constant(found, field, bound)
        if doubtful.any():
            column = np.argwhere(doubtful)[0][1:2]
            where = f" in column {estimator._label(int(column[0]))}" if name == "x" and column.size else ""
            raise ValueError(
                f"Forgetting `X`, `y` would leave too few digits of the statistics{where}: the remaining rows are "
                "small compared with a large batch, or there were numbers beyond 1e130. Fit the remaining rows again."
            )
    return found
