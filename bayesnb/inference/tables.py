"""The parameters of a fitted model, feature by feature, and as data frames."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base import to_sites
from ..core.arrays import Float, Scalar
from ..core.wishart import InverseWishartMarginal
from ..naive_bayes import CLASS, NaiveBayes

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Parameter:
    """A parameter of one feature: in each class, or once where the classes share it.

    Fields
    ------
    block, site, at : names of the block and of the NumPyro site in it, and the place of the feature in the site
    kind : what it is, such as "mean"
    levels : the levels of a categorical feature, [1] of a yes/no feature, else [None]
    classes, labels : (k,) place and name of each class; None and "all classes" where they share it
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
        x : (m,) numbers; the method gets them with axes of length 1 behind, so that they broadcast against the law
        """
        parameter_axes = [1] * np.ndim(self.law.mean())
        values = method(np.reshape(x, (-1, *parameter_axes)))
        # the law may have more entries: levels that only other features have, or all other features in one
        return values.reshape(len(x), len(self.classes), -1)[..., : len(self.levels)]


def parameters_of(estimator: Any, model: NaiveBayes, j: int | None) -> list[Parameter]:
    """The parameters of a feature, of every block that holds it.

    Parameters
    ----------
    model : `prior_` or `posterior_` of the estimator
    j : number of the feature; None stands for the class probabilities
    """
    if j is None:
        return _class_probabilities(estimator, model)
    # a block has the numbers of the features in its columns; several blocks may hold a feature, one for each class
    parameters: list[Parameter] = []
    for name, columns in estimator.block_columns().items():
        for position in np.flatnonzero(columns == j).tolist():
            parameters += _parameters_in_block(estimator, model.blocks[name], name, j, position)
    return parameters


def _class_probabilities(estimator: Any, model: NaiveBayes) -> list[Parameter]:
    """The parameter of the classes, in a list of one; none where their probabilities are fixed."""
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

    Parameters
    ----------
    block, name : a block of the model, and its name
    j : number of the feature
    position : of the feature among the columns of the block
    """
    inner = block.unwrapped
    cells = inner.cells_.kind
    levels: list[Any] = [None]
    if cells == "levels":
        levels = estimator.levels_of(j).tolist()
    elif cells == "yes/no":
        levels = [1]

    # the marginal model of the feature: features that share a total, such as words, need one more, of all others
    column = np.array([position])
    block_of_feature = inner.lump_other_columns(column) or inner.select(column)

    parameters = []
    for site, marginal in block_of_feature.marginals().items():
        # a parameter is of each class, of the only class of the block, or of all classes together
        has_class_axis = estimator.block_dims(name, site, np.ndim(marginal.mean()))[0].endswith("class")
        classes: list[int | None] = [None]
        if has_class_axis:
            classes = [*range(inner.shape[0])] if block.only_class is None else [block.only_class]

        # where the feature stands in the array of the site; of a covariance matrix only its variance is shown
        place: tuple[Any, ...] = (..., position, slice(None)) if cells == "levels" else (..., position)
        law = marginal
        if isinstance(marginal, InverseWishartMarginal):
            law = marginal.diagonal()
            place = (..., position, position)

        parameters.append(
            Parameter(
                block=name,
                site=site,
                at=place,
                kind=inner.names_.get(site, site),
                levels=levels,
                classes=classes,
                labels=[_class_label(estimator, inner, k) for k in classes],
                law=law,
            )
        )
    return parameters


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
    features : numbers of the features
    level : posterior mass inside the intervals
    """
    import pandas as pd

    # the estimate by block and NumPyro site: the plug-in one of the estimator, if it has one, else the posterior mean
    theta = estimator.point_estimate() or estimator.posterior_.mean()
    points = {name: to_sites(theta[name]) for name in estimator.block_columns()}
    frames = []
    for j in features:
        lines: list[tuple[Any, ...]] = []
        for parameter in parameters_of(estimator, estimator.posterior_, j):
            point = points[parameter.block][parameter.site][parameter.at]
            lines += _lines(parameter, point, level)
        frames.append(pd.DataFrame(lines, columns=["class_", "parameter", "estimate", "low", "high"]))
    return frames


def _lines(parameter: Parameter, point: np.ndarray, level: Scalar) -> list[tuple[Any, ...]]:
    """Lines of a table, for each class and level of a parameter: class, name, estimate and ends of the interval.

    Of a variance the standard deviation is shown: its interval has the roots of the ends, as the root increases.

    Parameters
    ----------
    point : the estimate, for each class and level
    level : posterior mass inside the interval
    """
    ends = parameter.of_each(parameter.law.ppf, [(1 - level) / 2, (1 + level) / 2])  # (2, classes, levels)
    numbers = np.stack([point.reshape(ends.shape[1:]), *ends], -1)  # (classes, levels, 3)
    kind = parameter.kind
    if kind == "variance":
        numbers = np.sqrt(numbers)
        kind = "sd"

    names = [kind if level_of_cell is None else f"P({level_of_cell})" for level_of_cell in parameter.levels]
    lines = []
    for label, values in zip(parameter.labels, numbers.tolist(), strict=True):
        lines += [(label, name, *line) for name, line in zip(names, values, strict=True)]
    return lines
