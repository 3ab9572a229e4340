"""The parameters of a fitted model as data frames, the number of its free parameters, and its likelihood."""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base import Block, to_sites
from ..core.arrays import Scalar, Theta
from ..core.supports import AMOUNT, DENSITIES
from .intervals import Model
from .laws import kind_of

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Fit:
    """How well a model fits at its maximum likelihood estimate.

    Fields
    ------
    log_likelihood : in nats
    n_parameters : free parameters
    n : weight of all rows
    """

    log_likelihood: float
    n_parameters: int
    n: float

    @property
    def aic(self) -> float:
        """2 k − 2 log p(X, y | θ̂)."""
        return 2 * self.n_parameters - 2 * self.log_likelihood

    @property
    def bic(self) -> float:
        """k log n − 2 log p(X, y | θ̂)."""
        return self.n_parameters * float(np.log(self.n)) - 2 * self.log_likelihood


def count_free(model: Model) -> int:
    """Free parameters: a simplex of k probabilities has k − 1, a symmetric matrix d(d + 1)/2."""
    total = len(model.classes.log_predictive()) - 1 if model.classes.marginals() else 0
    for block in model.blocks.values():
        inner = block.inner
        sites, theta = inner.sites(), to_sites(inner.mean())
        for name, value in theta.items():
            events = sum(axis == "event" for axis in sites[name].axes)
            lead, k = math.prod(value.shape[: value.ndim - events]), value.shape[-1]
            numbers = {"simplex": lead * (k - 1), "matrix": lead * k * (k + 1) // 2}
            total += numbers.get(kind_of(sites[name]), value.size)
    return total


def fit_of(estimator: Any) -> Fit:
    """Log likelihood of the rows behind the statistics at its maximum: log p(X, y | θ̂).

    By Bayes' identity it is log p(X, y) + log p(θ̂ | X, y) − log p(θ̂), which needs the statistics alone. The identity
    holds for every prior.

    Raises
    ------
    AttributeError
        if the model has no evidence, is no density of the rows, or the likelihood has no largest value
    """
    prior, posterior, stats = estimator.prior_, estimator.posterior_, estimator.statistics_
    name = type(estimator).__name__
    for block in prior.blocks.values():
        if block.no_evidence or block.is_composite:
            why = block.no_evidence or "its likelihood is composite, which is no density of the rows"
            raise AttributeError(f"{name} has no likelihood to maximise: {why}")
    with np.errstate(all="ignore"):
        theta = prior.mle(stats)
        total = prior.classes.log_marginal(stats.n)
        total += posterior.classes.log_prob(theta["class"]) - prior.classes.log_prob(theta["class"])
        for key, block in prior.blocks.items():
            try:
                gain = posterior.blocks[key].log_prob(theta[key]) - block.log_prob(theta[key])
            except np.linalg.LinAlgError:
                gain = np.full(1, np.nan)
            total += (block.log_marginal(stats.blocks[key]) + gain).sum()
        if not all(_is_inside(block, theta[key]) for key, block in prior.blocks.items()):
            total = np.nan
    if not np.isfinite(total):
        raise AttributeError(
            f"{name} has no maximum likelihood: a variance of zero makes the likelihood infinite, because a feature "
            "is constant within a class or a covariance has fewer rows than features. Compare models by log_evidence_ "
            "or `loo`"
        )
    return Fit(float(total), count_free(prior), float(stats.n.sum()))


def _is_inside(block: Block, theta: Theta) -> bool:
    """Whether the likelihood has a largest value: no variance is 0, and no correlation matrix is singular."""
    from numpyro.distributions import constraints

    if block.inner.cells_.measure != DENSITIES:
        return True
    sites = block.inner.sites()
    for name, value in to_sites(theta).items():
        if sites[name].support is constraints.positive and (value < AMOUNT.low).any():
            return False
        if sites[name].support is constraints.positive_definite:
            sd = np.sqrt(np.diagonal(value, axis1=-2, axis2=-1))
            scaled = value / sd[..., :, None] / sd[..., None, :]
            if not np.isfinite(scaled).all() or np.linalg.matrix_rank(scaled, hermitian=True).min() < value.shape[-1]:
                return False
    return True


def tables(estimator: Any, features: list[int], level: Scalar) -> "list[pd.DataFrame]":
    """One data frame of the parameters of each feature, with equal-tailed intervals of the posterior."""
    import pandas as pd

    theta = estimator.point_estimate() or estimator.posterior_.mean()
    places: dict[int, list[tuple[str, int]]] = {}
    for name, at in estimator.block_columns().items():
        for i, j in enumerate(at.tolist()):
            places.setdefault(j, []).append((name, i))
    found = []
    for j in features:
        lines: list[tuple[Any, ...]] = []
        for name, i in places.get(j, []):
            block = estimator.posterior_.blocks[name]
            only = block.only_class
            lines += _of_feature(estimator, block.inner, theta[name], i, j, only, level)
        found.append(pd.DataFrame(lines, columns=["class_", "parameter", "estimate", "low", "high"]))
    return found


def _of_feature(
    estimator: Any, block: Block, theta: Theta, i: int, j: int, only: int | None, level: Scalar
) -> list[tuple[Any, ...]]:
    """Lines of the table of a feature, the i-th of a block."""
    columns = np.array([i])
    small = block.merged(columns) or block.select(columns)
    point, sites = to_sites(block.take(theta, columns)), block.sites()
    tails = (1 - level) / 2, (1 + level) / 2
    lines: list[tuple[Any, ...]] = []
    for site, law in small.marginals().items():
        what = block.names_.get(site, site)
        by_class = "class" in sites[site].axes
        low, middle, high = law.ppf(tails[0]), point[site], law.ppf(tails[1])
        root = np.sqrt if what == "variance" else np.asarray
        what = "sd" if what == "variance" else what
        for k in range(block.shape[0]) if by_class else [None]:
            label = "all classes" if k is None else estimator.classes_[k if only is None else only]
            if block.is_composite:
                label = f"not {label}"
            values = [root(np.ravel(one if k is None else one[k])) for one in (middle, low, high)]
            names = [what] * len(values[0])
            if block.cells_.kind == "levels":
                names = [f"P({one})" for one in estimator.levels_of(j)]
            elif block.cells_.kind == "yes/no":
                names = ["P(1)"]
            lines += [(label, name, *map(float, each)) for name, *each in zip(names, *values, strict=False)]
    return lines
