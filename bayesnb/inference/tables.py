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
    levels : the levels of a categorical feature, 1 of a yes/no feature, else None
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
        """A method of `law` at values (m,), for each class and level."""
        found = method(np.reshape(x, (-1, *[1] * np.ndim(self.law.mean()))))
        return found.reshape(len(x), len(self.classes), -1)[..., : len(self.levels)]


def parameters_of(estimator: Any, model: NaiveBayes, j: int | None) -> list[Parameter]:
    """The parameters of a feature, of every block that holds it; None stands for the class probabilities.

    Parameters
    ----------
    model : `prior_` or `posterior_` of the estimator
    """
    if j is None:
        labels, law = estimator.classes_.tolist(), model.classes.marginals().get("pi")
        every = [Parameter(CLASS, "pi", (), "probability", [None], [*range(len(labels))], labels, law)]
        return every if law else []
    found = []
    for name, i in ((name, int(i)) for name, at in estimator.block_columns().items() for i in np.flatnonzero(at == j)):
        block, only = model.blocks[name].inner, model.blocks[name].only_class
        what = block.cells_.kind
        levels = estimator.levels_of(j).tolist() if what == "levels" else [1] if what == "yes/no" else [None]
        for site, law in (block.merged(np.array([i])) or block.select(np.array([i]))).marginals().items():
            classes: list[int | None] = [only] if only is not None else [*range(block.shape[0])]
            by_class = estimator.block_dims(name, site, np.ndim(law.mean()))[0].endswith("class")
            classes = classes if by_class else [None]
            labels = ["all classes" if k is None else estimator.classes_[k] for k in classes]
            labels = [f"not {label}" for label in labels] if block.is_composite else labels
            at: tuple[Any, ...] = (..., i, slice(None)) if what == "levels" else (..., i)
            if isinstance(law, InverseWishartMarginal):
                law, at = law.diagonal(), (..., i, i)
            found.append(Parameter(name, site, at, block.names_.get(site, site), levels, classes, labels, law))
    return found


def tables(estimator: Any, features: list[int], level: Scalar) -> "list[pd.DataFrame]":
    """One data frame of the parameters of each feature, with equal-tailed intervals of the posterior."""
    import pandas as pd

    theta = estimator.point_estimate() or estimator.posterior_.mean()
    points = {name: to_sites(theta[name]) for name in estimator.block_columns()}
    found = []
    for j in features:
        lines: list[tuple[Any, ...]] = []
        for one in parameters_of(estimator, estimator.posterior_, j):
            ends = one.of_each(one.law.ppf, [(1 - level) / 2, (1 + level) / 2])
            numbers = np.stack([points[one.block][one.site][one.at].reshape(ends.shape[1:]), *ends], -1)
            numbers = np.sqrt(numbers) if one.kind == "variance" else numbers
            plain = "sd" if one.kind == "variance" else one.kind
            names = [plain if label is None else f"P({label})" for label in one.levels]
            for label, values in zip(one.labels, numbers.tolist(), strict=True):
                lines += [(label, name, *line) for name, line in zip(names, values, strict=True)]
        found.append(pd.DataFrame(lines, columns=["class_", "parameter", "estimate", "low", "high"]))
    return found
