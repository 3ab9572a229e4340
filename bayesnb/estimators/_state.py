"""What an estimator has learnt, as one frozen object: what lets a model learn in one thread while others ask it.

A method that learns makes the next state from the one that is there, and assigns it once. A method that asks reads it
once, at its start. So a method that fails leaves the model as it was, and each answer is that of one state, without a
lock and without a copy.
"""

import functools
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from ..core.pytrees import record
from ..core.supports import improper

BLOCK = "x"  # the block of an estimator that has only one


class Unavailable(AttributeError, ValueError):
    """What an estimator does not have with these settings and rows; the message gives the reason."""


@record
@dataclass(frozen=True)
class Columns:
    """The columns of X.

    Fields
    ------
    n : how many there are
    names : (n,) their names, None where they have none
    contract : what `describe` found in the columns of a data frame, if somebody asked
    """

    n: int
    names: np.ndarray | None = None
    contract: Any = None

    @property
    def labels(self) -> np.ndarray:
        """Names of the columns, or their numbers."""
        return np.arange(self.n) if self.names is None else self.names

    def label(self, j: Any) -> str:
        """A column as messages call it: its name in quotes, else its number."""
        return str(j) if self.names is None else repr(str(self.names[j]))

    def place(self, column: Any) -> int | None:
        """The place of a column given by its name or its number; None where there is no such column."""
        names = [] if self.names is None else self.names.tolist()
        if column in names:
            return names.index(column)
        numbered = isinstance(column, int | np.integer) and 0 <= column < self.n
        return int(column) if numbered else None

    def take(self, at: np.ndarray) -> "Columns":
        """Some of the columns."""
        return Columns(len(at), None if self.names is None else self.names[at])


@record
@dataclass(frozen=True)
class State:
    """Labels, columns and their encoding, the sums of all rows, and the prior that belongs to them.

    Fields
    ------
    classes : (c,) the labels, sorted
    columns : of X
    encoding : what turns cells into rows by block: levels of each column, or parts; None where nothing is needed
    statistics : of all rows; None where only the encoding is known
    prior : the model before the rows; None until they are there
    """

    classes: np.ndarray
    columns: Columns
    encoding: Any = None
    statistics: Any = None
    prior: Any = None

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in [*vars(self).items()] if name != "posterior"}

    @property
    def shape(self) -> tuple[int, int]:
        """Number of classes and of columns."""
        return len(self.classes), self.columns.n

    @property
    def bare(self) -> Self:
        """The same without rows."""
        return replace(self, statistics=None, prior=None)

    @functools.cached_property
    def posterior(self) -> Any:
        """The model after the rows; a ValueError where an improper prior and few rows do not make it a density."""
        with np.errstate(divide="ignore", invalid="ignore"):
            posterior = self.prior.update(self.statistics)
        for name, block in self.prior.blocks.items():
            if (why := improper(posterior.blocks[name])) and block.is_improper:
                what = f"`prior` is improper, and with the rows so far the posterior is not a density: {why}"
                raise Unavailable(f"{what}. Give more rows of every class, or a proper prior")
        return posterior
