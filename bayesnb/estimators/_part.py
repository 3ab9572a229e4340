"""A part of MixedNB: some columns and the estimator that models them."""

import copy
from dataclasses import dataclass

import numpy as np

from ..core.pytrees import CLASSES
from ..io import require
from ..naive_bayes import Statistics
from ._base import AbstractNB


@dataclass(frozen=True)
class _Part:
    """Columns, and the estimator that encodes them and makes their prior; `k` where it speaks of one class only."""

    name: str
    estimator: AbstractNB
    columns: np.ndarray
    k: int | None = None

    @property
    def names(self) -> dict[str, str]:
        """Names of its blocks among those of all parts, by their name in the estimator."""
        inner = list(self.estimator._columns())
        return {name: self.name if len(inner) == 1 else f"{self.name}.{name}" for name in inner}

    def __str__(self) -> str:
        return f"{self.name}: {type(self.estimator).__name__} of {self.columns.tolist()}"

    def view(self, stats: Statistics) -> Statistics:
        """Its share in the statistics of all parts."""
        n = stats.n if self.k is None else stats.n[self.k : self.k + 1]
        return Statistics(n, {inner: stats.blocks[name] for inner, name in self.names.items()})

    def fitted(self, stats: Statistics) -> AbstractNB:
        """A copy of the estimator that holds its share of the statistics, as if it had been fitted alone."""
        own = copy.copy(self.estimator)
        own.statistics_ = self.view(stats)
        return own

    def unfitted(self) -> AbstractNB:
        """A copy of the estimator that holds its encoding and no statistics."""
        own = copy.copy(self.estimator)
        own.__dict__.pop("_conditioned", None)
        return own

    def check_loaded(self, labels: np.ndarray, d: int) -> None:
        """Refuse a part, read from a file, that does not belong to an estimator of these classes and d features."""
        k, columns, nb = self.k, self.columns, self.estimator
        require(k is None or (type(k) is int and 0 <= k < len(labels)), f"a part of class {k!r}")
        own = labels if k is None else labels[k : k + 1]
        require(np.array_equal(nb.classes_, own), f"part {self.name!r} has other classes")
        require(columns.dtype.kind == "i" and columns.shape == (nb.n_features_in_,), "columns of a part")
        require(len(set(columns.tolist())) == len(columns), "a part has a column twice")
        require(((columns >= 0) & (columns < d)).all(), f"part {self.name!r} has columns beyond the {d} features")
        nb._check_encoding()


CLASSES["_Part"] = _Part
