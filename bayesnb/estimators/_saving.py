"""What a model file holds of an estimator, and what is checked of it when a file is read."""

import os
from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_is_fitted

from ..core.registry import ESTIMATORS, register, require
from ..naive_bayes import Statistics
from ._reading import AbstractReadable
from ._state import reads_one_state

Take = Callable[[int], None]  # counts bytes before they are allocated, and refuses more than a file can mean


class Saved:
    """An estimator that a model file can hold: what the format asks of it."""

    _learnt_names: ClassVar[frozenset[str]]
    """Attributes that a fit sets and a file holds; all others follow from them."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        register(ESTIMATORS, cls)

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
        from ..core.model_file import save
        from . import _codecs  # noqa: F401  (types of data frames enter themselves)

        check_is_fitted(self)
        save(self, path)


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
        from ._loaded_statistics import check_statistics  # which needs JAX

        self._check_encoding()
        self._check_size(take)
        check_statistics(self.statistics_, Statistics(np.zeros(len(self.classes_)), self._no_rows()))
        self._set_statistics(self.statistics_)
        _ = self.posterior_  # what cannot be updated shows here, and not in the first prediction

    def _check_encoding(self) -> None:
        """Labels, names and levels that belong together."""
        from ..columns.contract import ColumnContract

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
