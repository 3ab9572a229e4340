"""A distribution over one hyperparameter, integrated by quadrature: the nodes, and the prior that they make.

With t the hyperparameter on the real line (its logarithm, where it is any positive number) the integral over t is a
sum over t_k = t₀ + s sinh v_k with equidistant v_k. The points are dense where the data put the posterior, about its
mode t₀ with its width s, and still reach over the prior. The trapezoidal rule on smooth functions that vanish at both
ends converges exponentially. Mori & Sugihara (2001), The double-exponential transformation, J. Comput. Appl. Math. 127.
"""

import copy
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from ..core.distributions import describe, is_distribution
from ..core.pytrees import defer_jax_import
from ..core.special import log_normalize
from ..naive_bayes import NaiveBayes, Statistics

_NAMES = "alpha", "beta", "class_alpha"  # the first two of a part of MixedNB as well
_SAMPLED = ", or sample both: `bayesnb.fit_prior(…, collapsed=True)`"
_STEP = 0.15  # between nodes, in v
_FALL = 46.0  # nats below its maximum at which a density is taken as 0
_REACH = 60.0  # of the real line that is searched
_EXTREMES = 1e-40, 1e40  # of a hyperparameter


def hyperparameters(nb: Any) -> dict[str, Any]:
    """The hyperparameters that may be a distribution, by name; those of a part of MixedNB as `part__name`."""
    found = {name: getattr(nb, name, None) for name in _NAMES}
    for part in getattr(nb, "_parts", ()):
        found |= {f"{part.name}__{name}": getattr(part.estimator, name, None) for name in _NAMES[:2]}
    return found


def with_hyperparameter(nb: Any, name: str, value: float) -> Any:
    """A copy of an estimator that has a number for one of its hyperparameters."""
    own, (of_part, _, inner) = copy.copy(nb), name.rpartition("__")
    if not of_part:
        setattr(own, name, value)
        return own
    own._parts = [
        replace(part, estimator=with_hyperparameter(part.estimator, inner, value)) if part.name == of_part else part
        for part in nb._parts
    ]
    return own


def hyperprior_of(nb: Any) -> str | None:
    """The hyperparameter that is a distribution, if there is one; ValueError where there are several."""
    found = [name for name, value in hyperparameters(nb).items() if is_distribution(value)]
    if len(found) > 1:
        raise ValueError(
            f"`{found[0]}` and `{found[1]}` are distributions, but only one can be integrated by quadrature. Give a "
            f"number for one of them{'' if hasattr(nb, '_parts') else _SAMPLED}"
        )
    return found[0] if found else None


def prior_of(nb: Any, stats: Statistics | None) -> Any:
    """The prior of an estimator: a `NaiveBayes`, or a weighted set of them where a hyperparameter is a distribution."""
    name = hyperprior_of(nb)
    if name is None:
        return NaiveBayes(nb._class_prior(), nb._blocks(stats))

    def at(value: float) -> NaiveBayes:
        own = with_hyperparameter(nb, name, value)
        return NaiveBayes(own._class_prior(), own._blocks(stats))

    log_density, place = _on_the_line(name, hyperparameters(nb)[name])
    if stats is None:
        return at(1.0)
    with defer_jax_import():
        return _weighted(at, stats, log_density, place)


def _on_the_line(name: str, law: Any) -> tuple[Callable[[Any], np.ndarray], Callable[[Any], np.ndarray]]:
    """log p(η(t)) + log dη/dt, and η(t), for t on the real line, in float64."""
    import jax
    import jax.numpy as jnp
    from numpyro.distributions import biject_to

    if law.batch_shape or law.event_shape or law.support.is_discrete or law.support.event_dim:
        raise ValueError(f"`{name}` is {describe(law)}; it needs a continuous distribution of a single number")
    to_support = biject_to(law.support)

    def evaluate(t: Any) -> tuple[np.ndarray, np.ndarray]:
        with jax.enable_x64(True):
            t = jnp.asarray(np.asarray(t, float))
            value = to_support(t)
            found = law.log_prob(value) + to_support.log_abs_det_jacobian(t, value)
            return np.asarray(found, float), np.asarray(value, float)

    if not (evaluate(np.linspace(-_REACH, _REACH, 9))[1] >= 0).all():
        raise ValueError(
            f"`{name}` is {describe(law)}, which has negative values; it needs a distribution of positive numbers"
        )

    def log_density(t: Any) -> np.ndarray:
        level, value = evaluate(t)
        return np.where((value > _EXTREMES[0]) & (value < _EXTREMES[1]) & ~np.isnan(level), level, -np.inf)

    return log_density, lambda t: evaluate(t)[1]


def _weighted(
    at: Callable[[float], NaiveBayes],
    stats: Statistics,
    log_density: Callable[[Any], np.ndarray],
    place: Callable[[Any], np.ndarray],
) -> Any:
    """Nodes about the posterior mode, and their weights under the prior."""
    from ..weighted import WeightedNaiveBayes

    line = np.linspace(-_REACH, _REACH, 1201)
    level = log_density(line)
    inside = line[level > level.max() - _FALL]
    low, high = inside[0], inside[-1]

    def objective(t: float) -> float:
        return float(log_density(t)) + float(at(float(place(t))).log_marginal(stats))

    mode, width = _peak(objective, low, high)
    ends = np.arcsinh((np.array([low, high]) - mode) / width)
    v = _STEP * np.arange(np.floor(ends[0] / _STEP), np.ceil(ends[1] / _STEP) + 1)
    t = mode + width * np.sinh(v)
    log_w = log_density(t) + np.log(width * _STEP * np.cosh(v))
    nodes, kept = place(t), np.isfinite(log_w)
    return WeightedNaiveBayes(tuple(at(float(x)) for x in nodes[kept]), log_normalize(log_w[kept]), nodes[kept])


def _peak(objective: Callable[[float], float], low: float, high: float) -> tuple[float, float]:
    """Mode of exp(objective), and the standard deviation of the normal density with its curvature there."""
    from scipy.optimize import minimize_scalar

    grid = np.linspace(low, high, 25)
    best = int(np.argmax([objective(t) for t in grid]))
    ends = grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)]
    mode = minimize_scalar(lambda t: -objective(t), bounds=ends, method="bounded", options={"xatol": 1e-4}).x
    top, step = objective(mode), 0.3
    while (fall := top - (objective(mode - step) + objective(mode + step)) / 2) > 2 and step > 1e-3:
        step /= 2
    return float(mode), float(np.clip(step / np.sqrt(max(2 * fall, 1e-12)), 1e-3, 1.5))
