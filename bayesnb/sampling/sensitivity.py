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

from typing import Any

import numpy as np
import pandas as pd

from ..core.arrays import Array
from ..core.wishart import InverseWishartMarginal
from ..naive_bayes import NaiveBayes

_STEP = 0.01  # powers are 1/(1 + step) and 1 + step
_TAIL = 1e-4  # of a marginal on either side that is left out of the distance
_POINTS = 1000
_SENSITIVE = 0.05  # of the reference, section 4


def prior_sensitivity(estimator: Any) -> pd.DataFrame:
    """See `AbstractNB.prior_sensitivity`."""
    prior, stats = estimator.prior_, estimator.statistics_
    if not isinstance(prior, NaiveBayes):
        raise AttributeError(
            f"{type(estimator).__name__} averages several models, but `prior_sensitivity` scales the prior of one. "
            "Use a single model: numbers for `alpha` and `beta`, or an estimator of one posterior"
        )
    prior.refuse_improper("powers of it")
    base = prior.update(stats).marginals()
    found = {
        "prior": _gradient(base, *(powered(prior, power).update(stats).marginals() for power in _powers())),
        "likelihood": _gradient(base, *(prior.update(stats.scaled(power)).marginals() for power in _powers())),
    }
    matrices = {name for name, one in base.items() if isinstance(one, InverseWishartMarginal)}
    table = pd.DataFrame({column: _by_label(values, matrices) for column, values in found.items()})
    strong, informed = table["prior"] >= _SENSITIVE, table["likelihood"] >= _SENSITIVE
    words = np.where(strong & informed, "potential prior-data conflict", "-")
    return table.assign(diagnosis=np.where(strong & ~informed, "strong prior or weak likelihood", words))


def powered(model: NaiveBayes, power: float) -> NaiveBayes:
    """The density prior^power, normalised: of the class probabilities and of all blocks."""
    blocks = {name: block.powered(power) for name, block in model.blocks.items()}
    return NaiveBayes(model.classes.powered(power), blocks)


def _powers() -> tuple[float, float]:
    return 1 / (1 + _STEP), 1 + _STEP


def _scalars(marginal: Any) -> Any:
    """The marginal of each number; of a covariance matrix that of each variance."""
    return marginal.diagonal() if isinstance(marginal, InverseWishartMarginal) else marginal


def _gradient(base: dict[str, Any], low: dict[str, Any], high: dict[str, Any]) -> dict[str, np.ndarray]:
    """Mean distance to both neighbours for a doubling of the power, by site."""
    return {
        name: sum(distance(_scalars(one), _scalars(near[name])) for near in (low, high)) / (2 * np.log2(1 + _STEP))
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


def _by_label(values: dict[str, np.ndarray], matrices: set[str]) -> dict[str, float]:
    """One number for each scalar parameter: mu[0, 2], and covariance[0, 2, 2] for a variance in a matrix."""
    found = {}
    for name, value in values.items():
        for index in np.ndindex(value.shape):
            label = (*index, index[-1]) if name in matrices else index
            found[f"{name}[{', '.join(map(str, label))}]"] = float(value[index])
    return found
