"""Checks of the statistics that a model file holds: whether rows could have left them."""

from typing import Any

import jax
import numpy as np

from ..core.exact import ExactSum, Sums
from ..core.registry import require
from ..naive_bayes import Statistics
from ..statistics import Moments, Sample, Scatter, Summed, in_floats
from ._forgetting import is_negative


def check_statistics(found: Statistics, none: Statistics) -> None:
    """Statistics as rows could have left them: types and shapes of the model, no negative weights or squares.

    Parameters
    ----------
    found : as a file has it
    none : statistics of no rows, of the model's types and shapes
    """
    stats, template = found.in_floats(), none.in_floats()
    form: Any = jax.tree.structure(template)
    require(jax.tree.structure(stats) == form, "statistics of another model")
    for leaf, like in zip(jax.tree.leaves(stats), jax.tree.leaves(template), strict=True):
        require(isinstance(leaf, np.ndarray) and leaf.dtype == like.dtype, "statistics are not of float64")
        shape = (*leaf.shape[:-1], 0) if like.shape[-1] == 0 else leaf.shape  # as many distinct cells as there were
        require(shape == like.shape, f"statistics of shape {leaf.shape} in the place of {like.shape}")
    require(np.isfinite(stats.n).all() and not is_negative(stats, stats), "negative classes")
    for held in stats.blocks.values():
        require(not is_negative(held, held), "negative counts")
        if isinstance(held, Sample):
            require(held.value.shape == held.weight.shape, "cells without weights")
            require(np.array_equal(np.isnan(held.value), held.weight == 0), "cells without weights")
            require(not (np.diff(held.value) <= 0).any(), "cells that are not in order")
            continue
        require(not any(np.isnan(leaf).any() for leaf in jax.tree.leaves(held)), "statistics that are no numbers")
        if isinstance(held, Moments):
            require((held.ss >= 0).all(), "negative squares")
        if isinstance(held, Scatter):
            squares = np.diagonal(held.ss, axis1=1, axis2=2)
            require((squares >= -1e-9 * abs(squares).max(0)).all(), "negative squares")
            require(np.array_equal(held.ss, held.ss.swapaxes(1, 2), equal_nan=True), "cross products that differ")
    require(found.weight is None or _is_sum(found.weight, stats.n), "other exact weights")
    for held in found.blocks.values():
        require(not isinstance(held, Summed) or held.sums is None or _are_sums(held), "exact sums of other statistics")


def _is_sum(found: Any, value: np.ndarray) -> bool:
    """Whether an exact sum is of the size of these floats, and finite."""
    if not isinstance(found, ExactSum) or not _is_table(found.parts, value.shape, 1):
        return False
    return bool(np.isfinite(found.parts).all())


def _is_table(found: Any, shape: tuple[int, ...], more: int = 0) -> bool:
    return isinstance(found, np.ndarray) and found.dtype == float and found.shape[: found.ndim - more] == shape


def _are_sums(held: Any) -> bool:
    """Whether the sums of statistics are theirs: of their names, shapes and values."""
    sums, squares = held.sums, isinstance(held, Moments | Scatter)
    if not (isinstance(sums, Sums) and isinstance(sums.exact, dict) and isinstance(sums.error, dict)):
        return False
    names = {"n": held.n, "total": held.mean, "square": held.ss} if squares else vars(held)
    kinds = ("square", "shift", "low", "high", "ss")
    bounds = {"n": held.n} | dict.fromkeys(kinds, held.mean) if squares else vars(held)
    if not (sums.exact.keys() in ({}.keys(), names.keys()) if squares else sums.exact.keys() <= names.keys()):
        return False
    if not (sums.error.keys() <= bounds.keys() and all(_is_sum(one, names[k]) for k, one in sums.exact.items())):
        return False
    if not all(_is_table(v, bounds[k].shape) and not np.isnan(v).any() for k, v in sums.error.items()):
        return False
    found, bare = in_floats(held.from_sums()[0]), in_floats(held)
    return all(
        np.allclose(one, other, rtol=1e-6, atol=1e-6 * abs(other).max(initial=0))
        for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(bare), strict=True)
    )
