"""Power-scaling sensitivity in closed form: the posterior under prior^α, and under likelihood^α, for α near one.

A conjugate density is exp(η·T(θ)) up to its normaliser, so its power has the natural parameters αη. In the fields of a
family this is h₀ + α(h − h₀), with h₀ the value at which the density is flat: 1 for the concentrations of beta and
Dirichlet densities and the shape of a gamma density, 0 for rates, pseudo-rows and scales. Densities of several
parameters share a shape: of σ² with a mean of each class, a flat density has a = −3/2, since Normal(m, σ²/κ) gives half
a power of σ². The likelihood^α is that of statistics multiplied by α.

References
----------
Kallioinen, Paananen, Bürkner & Vehtari (2024), Detecting and diagnosing prior and likelihood sensitivity with
power-scaling, Statistics and Computing 34, 57.
Nguyen & Vreeken (2015), Non-parametric Jensen-Shannon divergence, ECML PKDD: the distance of distribution functions.
"""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from ..core.arrays import Array
from ..families import classes as of_classes
from ..families.full_gaussian import NormalInverseWishart
from ..families.one_class import OneClass
from ..families.pooled_gaussian import PooledNormalInverseGamma
from ..families.tied_gaussian import TiedNormalInverseWishart
from ..naive_bayes import NaiveBayes

_STEP = 0.01  # powers are 1/(1 + step) and 1 + step
_TAIL = 1e-4  # of a marginal on either side that is left out of the distance
_POINTS = 1000
_SENSITIVE = 0.05  # of the reference, section 4
_FLAT = {
    "BetaBernoulli": {"a": 1.0, "b": 1.0},
    "BetaGeometric": {"a": 1.0, "b": 1.0},
    "BetaNegativeBinomial": {"a": 1.0, "b": 1.0},
    "DirichletCategorical": {"alpha": 1.0},
    "DirichletMultinomial": {"alpha": 1.0},
    "DirichletComplement": {"alpha": 1.0},
    "GammaPoisson": {"a": 1.0, "b": 0.0},
    "GammaExponential": {"a": 1.0, "b": 0.0},
    "NormalInverseGamma": {"kappa": 0.0, "a": -1.5, "b": 0.0},
    "LogNormal": {"kappa": 0.0, "a": -1.5, "b": 0.0},
    "KnownVarianceNormal": {"kappa": 0.0},
}


def prior_sensitivity(estimator: Any) -> pd.DataFrame:
    """See `AbstractNB.prior_sensitivity`."""
    prior, stats = estimator.prior_, estimator.statistics_
    prior.refuse_improper("powers of it")
    base = prior.update(stats).marginals()
    found = {
        "prior": _gradient(base, *(powered(prior, power).update(stats).marginals() for power in _powers())),
        "likelihood": _gradient(base, *(prior.update(stats.scaled(power)).marginals() for power in _powers())),
    }
    table = pd.DataFrame({column: _by_label(values) for column, values in found.items()})
    strong, informed = table["prior"] >= _SENSITIVE, table["likelihood"] >= _SENSITIVE
    words = np.where(strong & informed, "potential prior-data conflict", "-")
    return table.assign(diagnosis=np.where(strong & ~informed, "strong prior or weak likelihood", words))


def powered(model: NaiveBayes, power: float) -> NaiveBayes:
    """The density prior^power, normalised: of the class probabilities and of all blocks."""
    classes = model.classes
    if isinstance(classes, of_classes.DirichletClasses):
        classes = replace(classes, alpha=1 + power * (classes.alpha - 1))
    return NaiveBayes(classes, {name: _powered(block, power) for name, block in model.blocks.items()})


def _powered(block: Any, power: float) -> Any:
    if isinstance(block, OneClass):
        return replace(block, block=_powered(block.block, power))
    fields = {name: flat + power * (getattr(block, name) - flat) for name, flat in flat_fields(block).items()}
    return replace(block, **fields)


def flat_fields(block: Any) -> dict[str, float]:
    """The hyperparameters at which the density of a family is flat, of those that its power changes."""
    c, d = block.shape
    if isinstance(block, PooledNormalInverseGamma):
        return {"kappa": 0.0, "a": -(1 + c / 2), "b": 0.0}
    if isinstance(block, NormalInverseWishart):
        return {"kappa": 0.0, "nu": -(d + 2.0), "S": 0.0}
    if isinstance(block, TiedNormalInverseWishart):
        return {"kappa": 0.0, "nu": -(d + c + 1.0), "S": 0.0}
    found = getattr(block, "flat_", None) or _FLAT.get(type(block).__name__)
    if found is None:
        raise ValueError(
            f"{type(block).__name__} has no attribute `flat_`. Define it as the fields at which the density is flat, "
            "such as {'a': 1.0, 'b': 0.0} for a gamma density"
        )
    return dict(found)


def _powers() -> tuple[float, float]:
    return 1 / (1 + _STEP), 1 + _STEP


def _gradient(base: dict[str, Any], low: dict[str, Any], high: dict[str, Any]) -> dict[str, np.ndarray]:
    """Mean distance to both neighbours for a doubling of the power, by site."""
    return {
        name: (distance(one, low[name]) + distance(one, high[name])) / (2 * np.log2(1 + _STEP))
        for name, one in base.items()
    }


def distance(p: Any, q: Any) -> Array:
    """Cumulative Jensen-Shannon distance of two distributions, element by element; the larger of x and −x.

    √((∫ P log₂ 2P/(P+Q) + Q log₂ 2Q/(P+Q)) / ∫ (P + Q)) over the range of both, for P, Q the distribution functions,
    and the same for what is left above x.
    """
    low = np.minimum(p.ppf(_TAIL), q.ppf(_TAIL))
    high = np.maximum(p.ppf(1 - _TAIL), q.ppf(1 - _TAIL))
    x = np.linspace(low, high, _POINTS)
    sides = ((p.cdf(x), q.cdf(x)), (p.sf(x), q.sf(x)))
    return np.maximum(*(_divergence(*side) for side in sides))


def _divergence(P: np.ndarray, Q: np.ndarray) -> np.ndarray:
    def part(one: np.ndarray, other: np.ndarray) -> np.ndarray:
        ratio = np.where(one > 0, 2 * one / np.where(one > 0, one + other, 1), 1)
        return one * np.log2(ratio)

    return np.sqrt(np.maximum((part(P, Q) + part(Q, P)).sum(0), 0) / (P + Q).sum(0))


def _by_label(values: dict[str, np.ndarray]) -> dict[str, float]:
    """One number for each scalar parameter: mu[0, 2]."""
    return {
        f"{name}[{', '.join(map(str, index))}]": float(value[index])
        for name, value in values.items()
        for index in np.ndindex(value.shape)
    }
