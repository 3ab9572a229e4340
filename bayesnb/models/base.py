"""What a model of whole rows answers, as a prior or a posterior: naive Bayes, and averages over one-dependence models.

Rows come as a mapping from the name of a block to that block's columns (n, d_block). Naive Bayes is made of such blocks
of columns; an average over one-dependence models has one table for all columns. What follows from a posterior, such as
leave-one-out, intervals and explanations, asks for these names alone where it need not know which of the two it has.
"""

import abc
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields
from functools import partial
from typing import Any, NamedTuple, Self, TypeAlias

import numpy as np

from ..families.base import AbstractConjugate
from ..families.classes import AbstractClasses
from ..numerics.arrays import Array, Float, Table, Tables, Theta, Weights
from ..numerics.random import Key
from ..numerics.supports import Cells, Field
from ..sums.rows import Rows
from ..sums.statistics import Statistics

Parameters: TypeAlias = dict[str, Theta]

CLASS = "class"  # the key of π among the parameters of the blocks


class Hyperparameter(NamedTuple):
    """An array of hyperparameters of a model, such as the means of all columns, or the pseudo-counts of the classes.

    Fields
    ------
    block : name of the block that has it; "class" for the class prior
    name : of the field there
    value : the array
    declared : its support and its axes; None where the family does not declare them
    size : function of no arguments that gives what a change of the value is compared with, broadcastable to it
    n_columns : number of columns of the block; 0 of the class prior
    """

    block: str
    name: str
    value: np.ndarray
    declared: Field | None
    size: Callable[[], Array]
    n_columns: int

    def column_at(self, index: np.ndarray) -> int | None:
        """The column of the entry at an index, its position along each axis; None if no axis is of columns.

        Example: an array with the axes (class, feature) has at the index (2, 5) the column 5.
        """
        if self.declared is None or "feature" not in self.declared.axes:
            return None
        # an array with fewer axes than declared has the columns on its last one
        axis = min(self.declared.axes.index("feature"), len(index) - 1)
        return int(index[axis])


def hyperparameters_of(name: str, density: AbstractConjugate[Any] | AbstractClasses) -> Iterator[Hyperparameter]:
    """The arrays of a block or of a class prior; settings, such as flags, are none.

    Parameters
    ----------
    name : of the block; "class" for the class prior
    density : the block itself, or the class prior
    """
    for field in fields(density):  # type: ignore[arg-type]  # each of these classes is a dataclass
        value = getattr(density, field.name)
        if not isinstance(value, np.ndarray):
            continue

        # what a change is compared with says the family; the class prior has amounts, which are their own size
        size: Callable[[], Array] = partial(abs, value)
        n_columns = 0
        if isinstance(density, AbstractConjugate):
            size = partial(density.size_of, field.name)
            n_columns = density.shape[1]
        yield Hyperparameter(name, field.name, value, density.fields_.get(field.name), size, n_columns)


class AbstractModel(abc.ABC):
    """A model of whole rows, as a prior or a posterior, which are one type."""

    classes: AbstractClasses

    @property
    @abc.abstractmethod
    def cells(self) -> dict[str, Cells]:
        """What a cell of the rows is, by the name of their block."""

    @property
    @abc.abstractmethod
    def is_improper(self) -> bool:
        """Whether some density of parameters does not integrate to one: a field is at a limit of its support."""

    @abc.abstractmethod
    def hyperparameters(self) -> list[Hyperparameter]:
        """All arrays of hyperparameters, those of the class prior first; of prior and posterior in one order."""

    @abc.abstractmethod
    def min_chunk_cells(self) -> int:
        """Smallest number of cells of rows that is worth a slice of its own."""

    # --- learning -----------------------------------------------------------------------------------------------------

    @abc.abstractmethod
    def suffstats(self, rows: Rows, r: Weights) -> Statistics:
        """Sufficient statistics of rows under weights r (n, c): one-hot label times sample weight."""

    @abc.abstractmethod
    def statistics(self, rows: Rows, r: Weights) -> Statistics:
        """The same of a few rows, in one piece."""

    @abc.abstractmethod
    def update(self, stats: Statistics) -> Self:
        """The posterior given statistics."""

    # --- rows ---------------------------------------------------------------------------------------------------------

    @abc.abstractmethod
    def log_joint(self, rows: Rows, theta: Parameters | None = None) -> Tables:
        """log p(x_i, y = c) in nats, (…, n, c), with parameters integrated out or given."""

    @abc.abstractmethod
    def log_table(self, rows: Rows, theta: Parameters | None = None, *, scores: bool = False) -> Tables:
        """The same of so few rows that they are worked on at once; `scores` may leave out what all classes share."""

    @abc.abstractmethod
    def log_parts(
        self, rows: Rows, parts: Sequence[Sequence[str]], theta: Parameters | None = None
    ) -> Float[Array, "p *s n c"]:
        """log p(x_i,part | y = c) in nats, a table for each part, which is the names of some blocks."""

    @abc.abstractmethod
    def log_loo(self, rows: Rows, r: Weights) -> Table:
        """log p(x_i, y = c | data without row i) in nats, (n, c), of rows that this posterior contains."""

    @abc.abstractmethod
    def log_loo_parts(
        self, rows: Rows, r: Weights, parts: Sequence[Sequence[str]], *, scores: bool = False
    ) -> Float[Array, "p n c"]:
        """Leave-one-out in nats: a table of log p(y = c), then of log p(x_i,part | y = c) for each part."""

    @abc.abstractmethod
    def log_contributions(
        self, rows: Rows, columns: Mapping[str, np.ndarray], theta: Parameters | None = None
    ) -> Iterator[tuple[str, Float[Array, "*s n k c"]]]:
        """What some columns of each block add to log p(x_i | y = c), with parameters integrated out or given, in nats.

        Parameters
        ----------
        rows : columns by block
        columns : by block, the positions of its k columns whose contributions are wanted
        theta : parameters by block, leading axes are draws; None integrates them out

        Yields
        ------
        name : of the block
        contributions : (…, n, k, c)
        """

    # --- parameters ---------------------------------------------------------------------------------------------------

    @abc.abstractmethod
    def sample(self, key: Key, shape: tuple[int, ...] = ()) -> Parameters:
        """Independent draws of all parameters, with `shape` in front."""
