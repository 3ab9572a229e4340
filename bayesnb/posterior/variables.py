"""Names of ArviZ's variables: parameters and cells of a fitted model, by part and column, with words for levels.

Most sites of the NumPyro twin are one variable each, under their own names: `mu`, or `numbers.mu` of a part of MixedNB.
Columns of levels differ in their number of levels and in the words of them, so that no array has labels for all of
them. Each then has variables of its own, named by the column: `island.theta` with the axes (class, island_level). Only
where all columns of a part have the same levels do they share one array `theta`, (class, feature, level).

The attributes of a column's variable say which site it is a slice of, so that `given_draws` finds the way back.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..models.naive_bayes import NaiveBayes, Rows
from ..numerics.arrays import Theta

SITE, COLUMN = "numpyro_site", "column_of_site"  # attributes of a variable that is one column of a site
_WHOLE_KINDS = "counts", "yes/no", "levels"  # of cells that are whole numbers


class Variable(NamedTuple):
    """An array with the names of its axes.

    Fields
    ------
    values : the array; of draws the axes chain and draw come first
    dims : names of the axes after those
    also : names of coordinates that go with it though no axis has them: the words of whole numbers
    attrs : attributes, kept in files
    """

    values: np.ndarray
    dims: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    attrs: Mapping[str, Any] = {}


class _LevelColumn(NamedTuple):
    """A column of levels that has variables of its own.

    Fields
    ------
    name : the first half of the names of its variables
    levels : (k,) the words of its levels
    """

    name: str
    levels: np.ndarray

    @property
    def dim(self) -> str:
        """Name of the axis of its levels."""
        return f"{self.name.replace('.', '_')}_level"


@dataclass(frozen=True)
class Variables:
    """How the sites and cells of a model are named for ArviZ.

    Fields
    ------
    fitted, model : view (`ModelView`) of the fitted estimator, and its prior or posterior
    columns : columns that have variables of their own, by block; blocks without any are not listed
    """

    fitted: Any
    model: NaiveBayes
    columns: dict[str, list[_LevelColumn]]

    @property
    def coords(self) -> dict[str, np.ndarray]:
        """The coordinates (labels of the entries) of all axes but chain, draw and row, by the name of the axis."""
        coords: dict[str, np.ndarray] = {"class": self.fitted.classes}
        for block in self.model.blocks:
            coords |= self.fitted.block_labels(block)
            coords |= {column.dim: column.levels for column in self.columns.get(block, [])}
        return coords

    def parameters(self, sites: Theta) -> dict[str, Variable]:
        """Arrays of parameters, and the names of their axes, for ArviZ.

        A site is an array of parameters that NumPyro knows by one name, such as "mu" with the axes (class, feature). It
        is one variable, under its own name. Where the columns of a block (the columns of one family) differ in their
        levels, the site "theta" (class, feature, level) is cut into one variable for each column, such as
        "island.theta" with the axes (class, island_level).

        Parameters
        ----------
        sites : (chain, draw, …) draws by NumPyro site
        """
        named = {"pi": Variable(sites["pi"], ("class",))} if "pi" in sites else {}  # not where they are fixed
        for name, block in self.model.blocks.items():
            for parameter, law in block.marginals().items():
                site = self.model.site(name, parameter)  # its name in NumPyro, such as "numbers.mu" in MixedNB
                # names of the axes of one draw, such as ["class", "feature"]; the mean shows how many there are
                dims = self.fitted.block_dims(name, parameter, np.ndim(law.mean()))
                if name not in self.columns:  # the whole site is one variable
                    named[site] = Variable(sites[site], tuple(dims))
                    continue

                # one variable for each column, cut out of (chain, draw, class, feature, level). The attributes say
                # which column of which site it is, so that the site can be put together again
                for i, column in enumerate(self.columns[name]):
                    of_column = sites[site][..., i, :]  # (chain, draw, class, level)
                    attrs = {SITE: site, COLUMN: i}
                    named[f"{column.name}.{parameter}"] = Variable(of_column, (dims[0], column.dim), attrs=attrs)
        return named

    def cells(self, rows: Rows) -> dict[str, Variable]:
        """Arrays of cells, and the names of their axes, for ArviZ; counts and levels without gaps become whole numbers.

        Parameters
        ----------
        rows : dense rows (…, n, d) by block; a block has the d columns of one family
        """
        named: dict[str, Variable] = {}
        for name, x in rows.items():
            are_whole_numbers = self.model.blocks[name].cells_.kind in _WHOLE_KINDS and not np.isnan(x).any()
            cells = x.astype(int) if are_whole_numbers else x

            # columns that differ in their levels: a variable for each, with the words of its levels beside it
            if name in self.columns:
                for i, column in enumerate(self.columns[name]):
                    named[f"{column.name}.x"] = Variable(cells[..., i], ("row",), also=(column.dim,))
                continue

            # one variable for the block, (…, n, d). `block_labels` has the names of its axes after the class: that of
            # the features, and perhaps that of levels, whose words go with the cells
            feature, *others = self.fitted.block_labels(name)
            words = tuple(dim for dim in others if dim.endswith("level"))
            named[self.model.site(name, "x")] = Variable(cells, ("row", feature), also=words)
        return named


def variables_of(fitted: Any, model: NaiveBayes) -> Variables:
    """How ArviZ's variables of a fitted model are named: above all, which columns have variables of their own.

    Columns of levels that do not all have the same levels cannot share an array with labels. Each gets a name of its
    own, such as "island", or "numbers.spam.island" where the column is modelled for the class "spam" alone.

    A part is a set of columns with an estimator of its own, as in MixedNB; other estimators are one part. An estimator
    has blocks, each with the columns of one family and, if cells are levels, of one number of levels.

    Parameters
    ----------
    fitted, model : view (`ModelView`) of a fitted estimator, and its prior or posterior
    """
    columns: dict[str, list[_LevelColumn]] = {}  # by block, only of blocks whose columns differ in their levels
    taken = {*model.blocks}  # names that are in use
    positions = fitted.block_columns  # by block, the positions of its columns in X
    labels = fitted.feature_names  # of the columns of X

    for part in fitted.parts:
        levels = _levels_by_block(part.model)  # of each column of each block, None for a column of numbers
        levels_of_columns = [of_column for of_block in levels.values() for of_column in of_block]
        if not _differ(levels_of_columns):
            continue  # the columns of the part share an array

        # each column of each block gets a variable; `inner` is the block's name in the estimator of the part
        prefix = "" if part.only_class is None else f"{part.name}.{part.model.classes[0]}."
        for inner, name in part.block_names.items():
            columns[name] = []
            for j, words in zip(positions[name].tolist(), levels[inner], strict=True):  # column j of X, and its levels
                variable = _free_name(prefix + _column_text(labels[j]), j, taken)
                taken.add(variable)
                columns[name].append(_LevelColumn(variable, as_coordinate(words)))
    return Variables(fitted, model, columns)


def _free_name(name: str, j: int, taken: set[str]) -> str:
    """A name for column j that is not taken: if another column has this name, with the position of the column."""
    return f"{name}_{j}" if name in taken else name


def _levels_by_block(fitted: Any) -> dict[str, list[Any]]:
    """The levels of each column by block; None of a column without levels."""
    positions = fitted.block_columns
    return {name: [fitted.levels_of(j) for j in of_block.tolist()] for name, of_block in positions.items()}


def _differ(levels: list[Any]) -> bool:
    """Whether columns have levels, and not all the same."""
    if any(of_column is None for of_column in levels):
        return False
    return any(of_column.tolist() != levels[0].tolist() for of_column in levels)


def _column_text(label: Any) -> str:
    """A column in the name of a variable, where files do not take "/"; the numbers of columns get a word in front."""
    return label.replace("/", "_") if isinstance(label, str) else f"column_{label}"


def as_coordinate(values: Any) -> np.ndarray:
    """Labels as numbers, dates or texts, which ArviZ and its files take."""
    # an array of Python objects gets the type of its entries; tuples, such as names of two levels, become texts. The
    # kinds of NumPy types "biufUM" are booleans, whole numbers, floats, texts and dates
    labels = np.asarray(values)
    if labels.dtype == object:
        values = labels.tolist()
        is_nested = any(isinstance(value, tuple) for value in values)
        labels = np.array([str(value) for value in values]) if is_nested else np.array(values)
    return labels if labels.dtype.kind in "biufUM" else labels.astype(str)
