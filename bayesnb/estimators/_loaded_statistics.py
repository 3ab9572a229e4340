"""Checks of the statistics that a model file holds: whether rows could have left them."""

from typing import Any

import jax
import numpy as np

from ..core.registry import require
from ..naive_bayes import Statistics
from ..statistics import Moments, Sample, Scatter, Summed


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
    require(np.isfinite(stats.n).all() and (stats.n >= 0).all(), "negative classes")
    for held in stats.blocks.values():
        for counts in (getattr(held, name) for name in ("n", "total") if hasattr(held, name)):
            require((counts >= 0).all(), "negative counts")
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
    errors = [found.error, *(one.error for one in found.blocks.values() if isinstance(one, Summed))]
    for variance in jax.tree.leaves(errors):
        require(isinstance(variance, np.ndarray) and variance.dtype == float, "bounds of another type")
        require(not np.isnan(variance).any(), "bounds that are no numbers")
