"""The parameters of a fitted model, feature by feature, and as data frames."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..families.base import to_sites
from ..models.naive_bayes import CLASS, NaiveBayes
from ..numerics.arrays import Float, Scalar
from ..numerics.wishart import InverseWishartMarginal

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Parameter:
    """A parameter of one feature: in each class, or once where the classes share it.

    Fields
    ------
    block, site : names of the block, and of the NumPyro site in it
    at : index that picks the feature from an array of the site, such as [..., 2]: to all classes and levels
    kind : what it is, such as "mean"
    levels : the l levels of a categorical feature, [1] of a yes/no feature, else [None]
    classes, labels : position and name of each of k classes; [None] and ["all classes"] where they share it
    law : the distributions, with the methods of `scipy.stats`
    """

    block: str
    site: str
    at: tuple[Any, ...]
    kind: str
    levels: list[Any]
    classes: list[int | None]
    labels: list[Any]
    law: Any

    def of_each(self, method: Callable[[Any], Any], x: Any) -> Float[np.ndarray, "m k l"]:
        """A method of `law`, such as `pdf`, at m values, for each of k classes and l levels.

        Parameters
        ----------
        method : a method of `law`; its result has the shape of its argument, broadcast against the parameters
        x : (m,) numbers

        Returns
        -------
        (m, k, l)
        """
        # x as (m, 1, …, 1), with an axis for each axis of the parameters: 3 numbers for parameters (k, l) are (3, 1, 1)
        parameter_axes = [1] * np.ndim(self.law.mean())
        values = method(np.reshape(x, (-1, *parameter_axes)))  # (m, *shape of the parameters)

        # All axes after that of the class are made one: parameters (k, 1, l) or (k, l) give (m, k, l), and parameters
        # (k,) give (m, k, 1).
        by_class = values.reshape(len(x), len(self.classes), -1)

        # The law may have more entries than l: levels that only other features have, or all other features merged to
        # one. These come last, and are cut off.
        return by_class[..., : len(self.levels)]


def parameters_of(estimator: Any, model: NaiveBayes, j: int | None) -> list[Parameter]:
    """The parameters of a feature, of every block that holds it.

    Parameters
    ----------
    estimator : a fitted estimator
    model : `prior_` or `posterior_` of the estimator
    j : number of the feature; None stands for the class probabilities
    """
    if j is None:
        return _class_probabilities(estimator, model)

    # a block is the model of some columns by one family, and `block_columns` has the number of the feature in each of
    # its columns; several blocks may hold a feature, one for each class
    parameters: list[Parameter] = []
    for name, columns in estimator.model_.block_columns.items():
        for position in np.flatnonzero(columns == j).tolist():
            parameters += _parameters_in_block(estimator, model.blocks[name], name, j, position)
    return parameters


def _class_probabilities(estimator: Any, model: NaiveBayes) -> list[Parameter]:
    """The parameter of the classes, their probabilities, in a list of one; no parameter where these are fixed.

    Parameters
    ----------
    estimator, model : a fitted estimator, and its `prior_` or `posterior_`
    """
    law = model.classes.marginals().get("pi")  # a beta distribution for each class
    if not law:
        return []
    labels = estimator.classes_.tolist()
    return [
        Parameter(
            block=CLASS,
            site="pi",
            at=(),
            kind="probability",
            levels=[None],
            classes=[*range(len(labels))],
            labels=labels,
            law=law,
        )
    ]


def _parameters_in_block(estimator: Any, block: Any, name: str, j: int, position: int) -> list[Parameter]:
    """The parameters of a feature in a block, one for each NumPyro site.

    A site is an array of parameters with one name, such as "mu" (class, feature); a parameter here is the slice of it
    that belongs to the feature, with its marginal distributions.

    Parameters
    ----------
    estimator : the fitted estimator, with the names of classes and levels
    block, name : a block of the model (the columns of one family), and its name
    j : number of the feature
    position : of the feature among the columns of the block
    """
    inner = block.unwrapped  # of a block about a single class, the model of that class
    levels = _shown_levels(estimator, inner.cells_.kind, j)

    # the marginal model of the feature: features that share a total, such as words, need one more, of all others. Other
    # families cannot merge columns, so that `lump_other_columns` is None, and have a model of the feature alone
    column = np.array([position])
    block_of_feature = inner.lump_other_columns(column) or inner.select(column)

    parameters = []
    for site, marginal in block_of_feature.marginals().items():
        # names of the axes of the site, such as ["class", "feature"]
        axes = estimator.model_.block_dims(name, site, np.ndim(marginal.mean()))
        classes = _classes_of(block, axes)

        # where the feature is in the array of the site: on the last axis, or, where there are levels, on the last but
        # one. Of a covariance matrix only the diagonal is shown, the variance of the feature
        law = marginal
        index: tuple[Any, ...] = (..., position)
        if inner.cells_.kind == "levels":
            index = (..., position, slice(None))
        if isinstance(marginal, InverseWishartMarginal):
            law = marginal.diagonal()
            index = (..., position, position)

        parameters.append(
            Parameter(
                block=name,
                site=site,
                at=index,
                kind=inner.names_.get(site, site),
                levels=levels,
                classes=classes,
                labels=[_class_label(estimator, inner, k) for k in classes],
                law=law,
            )
        )
    return parameters


def _classes_of(block: Any, axes: list[str]) -> list[int | None]:
    """The positions of the classes that have a parameter of their own; [None] if all classes share one.

    Parameters
    ----------
    block : the model of some columns, for all classes or for a single one
    axes : names of the axes of the parameter; the first is that of the classes unless they share it
    """
    has_class_axis = axes[0].endswith("class")
    if not has_class_axis:
        return [None]
    if block.only_class is not None:
        return [block.only_class]
    return [*range(block.unwrapped.shape[0])]


def _shown_levels(estimator: Any, kind: str, j: int) -> list[Any]:
    """The levels of feature j that a table has a line for: all, only the 1 of yes/no, or [None] for numbers.

    Parameters
    ----------
    estimator : the fitted estimator, with the names of the levels
    kind : what a cell is: "levels", "yes/no", or a kind of number
    """
    if kind == "levels":
        return list(estimator.model_.levels_of(j).tolist())
    return [1] if kind == "yes/no" else [None]


def _class_label(estimator: Any, block: Any, k: int | None) -> Any:
    """What a table calls the class of a parameter: its label, "not …" in a model of the complement, or "all classes".

    Parameters
    ----------
    k : position of the class; None where the classes share the parameter
    """
    label = "all classes" if k is None else estimator.classes_[k]
    return f"not {label}" if block.is_composite else label


def tables(estimator: Any, features: list[int], level: Scalar) -> "list[pd.DataFrame]":
    """One data frame of the parameters of each feature, with equal-tailed intervals of the posterior.

    Parameters
    ----------
    estimator : a fitted estimator
    features : numbers of the features
    level : posterior mass inside the intervals
    """
    import pandas as pd

    # the estimate by block and NumPyro site: the plug-in one of the estimator, if it has one, else the posterior mean
    theta = estimator.model_.point_estimate() or estimator.posterior_.mean()
    # `to_sites` goes from the scale of a block, such as log_theta, to that of NumPyro's site theta
    points = {name: to_sites(theta[name]) for name in estimator.model_.block_columns}
    frames = []
    for j in features:
        lines: list[tuple[Any, ...]] = []
        for parameter in parameters_of(estimator, estimator.posterior_, j):
            point = points[parameter.block][parameter.site][parameter.at]  # of each class and level
            lines += _lines(parameter, point, level)
        frames.append(pd.DataFrame(lines, columns=["class_", "parameter", "estimate", "low", "high"]))
    return frames


def _lines(parameter: Parameter, point: np.ndarray, level: Scalar) -> list[tuple[Any, ...]]:
    """Lines of a table, for each class and level of a parameter: class, name, estimate and ends of the interval.

    Of a variance the standard deviation is shown: its interval has the roots of the ends, as the root increases.
    Example: a mean in the classes "a" and "b" gives the lines ("a", "mean", …) and ("b", "mean", …).

    Parameters
    ----------
    parameter : one parameter of a feature, with its distributions for each class and level
    point : the estimate, for each class and level
    level : posterior mass inside the interval
    """
    # the ends of the interval: quantiles of the marginal distributions at both tails, (classes, levels) each
    tails = [(1 - level) / 2, (1 + level) / 2]
    low, high = parameter.of_each(parameter.law.ppf, tails)
    estimate = point.reshape(low.shape)  # it may lack an axis of length 1

    kind = parameter.kind
    if kind == "variance":
        estimate = np.sqrt(estimate)
        low = np.sqrt(low)
        high = np.sqrt(high)
        kind = "sd"

    # a line for each class and level; a parameter without levels has one column, called by its kind
    names = [kind if cell_level is None else f"P({cell_level})" for cell_level in parameter.levels]
    lines = []
    for i, label in enumerate(parameter.labels):
        for j, name in enumerate(names):
            lines.append((label, name, float(estimate[i, j]), float(low[i, j]), float(high[i, j])))
    return lines
