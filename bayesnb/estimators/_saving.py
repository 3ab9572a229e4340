"""What a model file holds of an estimator, and what is checked of it when a file is read."""

import os
from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_is_fitted

from ..columns import ColumnContract
from ..core.pytrees import branches, leaves, map_leaves, record
from ..io import require, save
from ..naive_bayes import Statistics
from ..statistics import Moments, Sample, Scatter, Summed
from ._reading import AbstractReadable
from ._state import reads_one_state

Take = Callable[[int], None]  # counts bytes before they are allocated, and refuses more than a file can mean


class Saved:
    """An estimator that a model file can hold: what the format asks of it."""

    _learnt_names: ClassVar[frozenset[str]]
    """Attributes that a fit sets and a file holds; all others follow from them."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        record(cls)

    @classmethod
    def _from_file(cls, parameters: dict[str, Any], learnt: dict[str, Any]) -> Self:
        """An estimator with the hyperparameters and the learnt attributes of a file, which are not checked yet."""
        found = cls(**parameters)
        for name, value in learnt.items():
            require(name in cls._learnt_names, f"an attribute {name!r} that cannot be learnt")
            require(name != "statistics_" or isinstance(value, Statistics), "statistics of another model")
            setattr(found, name, value)
        return found

    def _to_save(self) -> dict[str, Any]:
        """What was learnt, by the name of the attribute."""
        return {name: getattr(self, name) for name in sorted(self._learnt_names) if hasattr(self, name)}

    def _set_later(self, again: Any) -> list[str]:
        """What it shows and its copy, made anew from what was learnt, does not; the estimator inside first."""
        found: list[str] = []
        for name in sorted(self._learnt_names):
            if isinstance(inner := getattr(self, name, None), Saved):
                found += inner._set_later(getattr(again, name))
        shown = {"prior_", *(name for name in vars(self) if not name.startswith("_"))}
        derived = sorted(shown - self.get_params().keys() - self._learnt_names)  # type: ignore[attr-defined]
        return found + [name for name in derived if not _same(*(getattr(nb, name, None) for nb in (self, again)))]

    def _check_loaded(self, take: Take) -> None:
        """Check what was read, and compute from it what follows; a ValueError says why it is no model."""
        raise NotImplementedError

    @reads_one_state
    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted estimator to a safetensors file, which `bayesnb.load` reads.

        The file holds the hyperparameters, the sufficient statistics, labels and names, but no code. An older file of
        that name is replaced only when the new file is complete.

        Raises
        ------
        ValueError
            if the estimator is not fitted, or if its class was defined inside a function. Also if a hyperparameter was
            set after the fit, or if a file cannot hold it, such as a function. The message names it
        OSError
            if the file cannot be written
        """
        check_is_fitted(self)
        save(self, path)


def _same(a: Any, b: Any) -> bool:
    """Whether two trees are equal; NaN equals NaN."""
    one, other = (dict(enumerate(tree)) if type(tree) is list else branches(tree) for tree in (a, b))
    if one is None or other is None:
        return one is other and np.array_equal(a, b, equal_nan=True)
    return one.keys() == other.keys() and all(_same(value, other[key]) for key, value in one.items())


def check_loaded(nb: Saved, take: Take) -> None:
    """Check an estimator that another one holds; a ValueError says why it is no model."""
    nb._check_loaded(take)


class AbstractSaved(Saved, AbstractReadable):
    """An estimator whose learnt state are its encoding and its statistics."""

    _learnt_names = frozenset(
        {
            "statistics_",
            "classes_",
            "n_features_in_",
            "feature_names_in_",
            "categories_",
            "n_categories_",
            "contract_",  # of the table that the command line fitted, or MixedNB("auto")
        }
    )

    def _check_loaded(self, take: Take) -> None:
        self._check_encoding()
        self._check_size(take)
        _check_statistics(self.statistics_, Statistics(np.zeros(len(self.classes_)), self._no_rows()))
        self._set_statistics(self.statistics_)
        _ = self.posterior_  # what cannot be updated shows here, and not in the first prediction

    def _check_encoding(self) -> None:
        """Labels, names and levels that belong together."""
        labels, d, learnt = self.classes_, self.n_features_in_, vars(self)
        require(isinstance(labels, np.ndarray) and labels.ndim == 1 and len(labels) > 0, "classes_ are no labels")
        require(np.array_equal(np.unique(labels), labels), "classes_ are not in order")
        require(isinstance(d, int) and d > 0, f"n_features_in_ is {d!r}")
        require(isinstance(learnt.get("contract_"), ColumnContract | None), "contract_ is no column contract")
        if "feature_names_in_" in learnt:
            require(np.shape(self.feature_names_in_) == (d,), "feature_names_in_ are not one a feature")
        if "categories_" in learnt:
            levels = learnt["categories_"]
            require(isinstance(levels, list) and len(levels) == d, "categories_ are not one a feature")
            require(all(np.ndim(one) == 1 and pd.Index(one).is_unique for one in levels), "categories_ repeat")
            require(np.array_equal(learnt["n_categories_"], [len(one) for one in levels]), "n_categories_ differ")

    def _check_size(self, take: Take) -> None:
        """No more features than a file of this length can describe: what is checked next allocates an array of them."""
        take(8 * len(self.classes_) * self._prior_cells())

    def _prior_cells(self) -> int:
        """How many numbers the largest field of the prior has for a class."""
        return self.n_features_in_

    def _no_rows(self) -> dict[str, Any]:
        """Statistics of no rows, by block: their types and shapes."""
        cell = {"levels": np.nan, "positive": 1.0}.get(self._cells.kind, 0.0)  # which the family knows
        row = np.full((1, self.n_features_in_), cell)
        return self._gather(row, np.zeros(1, int), None).zero().blocks


def _check_statistics(found: Statistics, none: Statistics) -> None:
    """Statistics as rows could have left them: types and shapes of the model, finite, no negative weights or squares.

    Parameters
    ----------
    found : as a file has it
    none : statistics of no rows, of the model's types and shapes
    """
    stats, template = found.in_floats(), none.in_floats()
    require(_form(stats) == _form(template), "statistics of another model")
    for leaf, like in zip(leaves(stats), leaves(template), strict=True):
        require(isinstance(leaf, np.ndarray) and leaf.dtype == like.dtype, "statistics are not of float64")
        shape = (*leaf.shape[:-1], 0) if like.shape[-1] == 0 else leaf.shape  # as many distinct cells as there were
        require(shape == like.shape, f"statistics of shape {leaf.shape} in the place of {like.shape}")
    require(np.isfinite(stats.n).all() and (stats.n >= 0).all(), "negative classes")
    for held in stats.blocks.values():
        for counts in (getattr(held, name) for name in ("n", "total", "weight") if hasattr(held, name)):
            require((counts >= 0).all(), "negative counts")
        if isinstance(held, Sample):
            require(held.value.shape == held.weight.shape, "cells without weights")
            require(np.array_equal(np.isnan(held.value), held.weight == 0), "cells without weights")
            require(not (np.diff(held.value) <= 0).any(), "cells that are not in order")
            require(not np.isinf([held.value, held.weight]).any(), "cells that are infinite")
            continue
        require(all(np.isfinite(leaf).all() for leaf in leaves(held)), "statistics that are no numbers")
        if isinstance(held, Moments):
            require((held.ss >= 0).all(), "negative squares")
        if isinstance(held, Scatter):
            squares = np.diagonal(held.ss, axis1=1, axis2=2)
            require((squares >= -1e-9 * abs(squares).max(0)).all(), "negative squares")
            require(np.array_equal(held.ss, held.ss.swapaxes(1, 2)), "cross products that differ")
    errors = [found.error, *(one.error for one in found.blocks.values() if isinstance(one, Summed))]
    for variance in leaves(tuple(errors)):
        require(isinstance(variance, np.ndarray) and variance.dtype == float, "bounds of another type")
        require(not np.isnan(variance).any(), "bounds that are no numbers")


def _form(tree: Any) -> Any:
    """A tree with the same value in the place of each leaf."""
    return map_leaves(lambda _: 0, tree)
