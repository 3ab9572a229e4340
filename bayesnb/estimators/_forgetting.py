"""Forgetting rows: what is left of the statistics, to nine digits, or a refusal."""

from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..naive_bayes import Statistics
from ..statistics import NEVER_FITTED, Moments, Scatter, Summed
from ._input import BLOCK

if TYPE_CHECKING:
    from ._fitted import State

_BOUND = 4.0  # standard deviations of the rounding that count as its bound
_SURE = 1e-9  # relative bound on the rounding of a field of the posterior
_NOISE = 1e-12  # a spread within its bound is 0 for certain where the bound is this share of the mean
_NO_EVENT = 1e-9  # a weight within its bound is 0 for certain where the bound is below this


def without(held: Statistics, gone: Statistics) -> tuple[Statistics, Statistics]:
    """The statistics of the rows that are left, and the same moved by the bounds of their rounding; both know theirs.

    Raises
    ------
    ValueError
        if rows to be forgotten were never fitted
    """
    left: Any = held - gone
    pairs = {name: _left(block) for name, block in left.blocks.items()}
    n, more = _emptied(left.n, _BOUND * np.sqrt(left.error))
    found = Statistics(n, {name: block for name, (block, _) in pairs.items()}, np.where(n > 0, left.error, 0))
    return found, Statistics(n + more, {name: moved for name, (_, moved) in pairs.items()})


def check_digits(after: "State", moved: "State") -> None:
    """Raise a ValueError if rounding may move a field of the posterior by more than 1e-9 of it: to that of `moved`."""
    with np.errstate(all="ignore"):  # an improper prior without rows: `posterior_` refuses it
        known, other = (state.prior.update(state.statistics) for state in (after, moved))
    pairs = {"": (known.classes, other.classes)}
    pairs |= {name: (block.inner, other.blocks[name].inner) for name, block in known.blocks.items()}
    for name, (block, changed) in pairs.items():
        for field in fields(block):
            value, new = getattr(block, field.name), getattr(changed, field.name)
            if isinstance(value, np.ndarray) and (doubtful := _doubtful(field.name, value, new, block)).any():
                column = np.argwhere(doubtful)[0][-1 if doubtful.ndim == 1 else 1]
                where = f" in column {after.columns.label(int(column))}" if name == BLOCK else ""
                raise ValueError(
                    f"Forgetting `X`, `y` would leave fewer than nine digits of the statistics{where}: what remains is "
                    "small compared with what was added and removed. Fit the remaining rows again"
                )


def _doubtful(name: str, value: np.ndarray, after: np.ndarray, block: Any) -> np.ndarray:
    """Where a field of a posterior is known to less than nine digits: of a mean, in units of the spread."""
    with np.errstate(all="ignore"):
        change, scale = abs(after - value), abs(value)
        if name in ("m", "S") and hasattr(block, "S"):  # the spread of each column given the others
            alone = 1 / np.linalg.inv(block.S).diagonal(axis1=-2, axis2=-1)
            change = change if name == "m" else change.diagonal(axis1=-2, axis2=-1)
            scale = alone if name == "S" else np.sqrt(alone / block.nu[:, None])
        elif name == "m":
            scale = np.sqrt(block.variance if hasattr(block, "variance") else block.b / block.a)
        return np.asarray(change > _SURE * scale)


def _emptied(n: np.ndarray, bound: Any) -> tuple[np.ndarray, np.ndarray]:
    """Weights, 0 where they are within their bound, and the bounds of those that may be something else."""
    if (n < -bound).any():
        raise ValueError(NEVER_FITTED.format("counts"))
    empty = n <= bound
    return np.where(empty, 0, n), np.where(empty & (bound <= _NO_EVENT), 0, bound)


def _left(given: Any) -> tuple[Any, Any]:
    """What is left of one block, and the same moved by the bounds of its rounding."""
    block: Any = given
    if not isinstance(given, Summed):  # distinct cells, or of a family of one's own
        _emptied(np.asarray(getattr(block, "n", 0)), _NO_EVENT)
        return block, block
    centred = isinstance(block, Moments | Scatter)
    zero: Any = 0 * block.mean if centred else 0 * block.n
    bound = {name: _BOUND * np.sqrt(np.maximum(one, 0)) for name, one in (block.error or {}).items()}
    n, more = _emptied(block.n, (zero + bound.get("n", 0)).reshape(*block.n.shape, -1).max(-1))
    gone = (n <= 0) if centred or hasattr(block, "total") else np.zeros(n.shape[:1], bool)

    def kept(leaf: Any) -> Any:  # nothing of rows of which none is left
        return np.where(gone.reshape(gone.shape + (1,) * (np.ndim(leaf) - gone.ndim)), 0, leaf)

    error = {name: one if name == "n" else kept(one) for name, one in (block.error or {}).items()}
    found, change = replace(block, n=n, error=error), {"n": n + more}
    if centred:
        if (block.own < -bound.get("ss", 0.0)).any():
            raise ValueError(NEVER_FITTED.format("squares"))
        weight = (n if n.ndim == zero.ndim else n[:, None]) + zero
        safe = np.where(weight > 0, weight, 1)
        far, shift = kept(zero + bound.get("ss", 0.0)), kept(zero + bound.get("mean", 0.0)) / safe
        # a column without a spread that rounding leaves certain is constant, as it would be in a refit
        centre = (weight * block.mean).sum(0) / np.maximum(weight.sum(0), 1e-300)
        still = (block.own <= far) & (abs(block.mean - centre) <= shift + abs(shift).max(0)) | (weight <= 0)
        flat = still.all(0)
        centre = np.where(flat & (abs(centre) <= abs(shift).max(0)), 0, centre)  # a column of zeros
        sure = flat & ((far <= safe * (_NOISE * centre) ** 2) & (shift <= _NOISE * abs(centre))).all(0)
        far, shift = np.where(sure, 0, far), np.where(sure, 0, shift)
        squares = np.where(flat, 0, block.ss if isinstance(block, Scatter) else np.maximum(block.ss, 0))
        squares = np.where(flat[:, None], 0, squares) if isinstance(block, Scatter) else squares
        found = replace(found, mean=kept(np.where(flat, centre, block.mean)), ss=kept(squares))
        change["mean"] = found.mean + shift
        change["ss"] = found.ss + (far[..., None] * np.eye(far.shape[-1]) if isinstance(block, Scatter) else far)
    else:
        for name in {"total", "log_h"} & vars(block).keys():
            value, most = getattr(block, name), bound.get(name, 0.0)
            if name == "total" and (value < -most).any():
                raise ValueError(NEVER_FITTED.format("counts"))
            found = replace(found, **{name: kept(np.maximum(value, 0) if name == "total" else value)})
            change[name] = getattr(found, name) + kept(most + 0 * value)
    return found, replace(found, **change)
