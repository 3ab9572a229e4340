"""A distribution over one hyperparameter, integrated by quadrature: the nodes, and the prior that they make.

With t the hyperparameter on the real line (its logarithm, where it is any positive number) the integral over t is a
sum over the t_k at which v(t) = Σ_p arcsinh((t − t_p)/s_p) takes equidistant values. The points are dense about every
mode t_p of the posterior, with its width s_p, and still reach over the prior; a mode of the prior joins where they are
too far apart for it. With one mode that is t_k = t₀ + s sinh v_k. The trapezoidal rule on smooth functions that vanish
at both ends converges exponentially. Mori & Sugihara (2001), The double-exponential transformation, J. Comput. Appl.
Math. 127. That a density integrates to one shows whether the points are close enough for it.
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
_GONE = 30.0  # nats below its maximum at which a posterior may end
_EXTREMES = 1e-40, 1e40  # of a hyperparameter
_REACH = float(np.log(_EXTREMES[1]))  # of the real line that is searched
_FINE = 0.6  # widths of a mode: the distance of nodes that resolves it
_ALL, _LOST = 1e-6, 1e-3  # of a prior, what may lie off the line: looking closer stops there; it is refused from there
_OFF = 1e-4  # by which the nodes may miss the integral of the prior: kinks converge slowly

Curve = Callable[[np.ndarray], np.ndarray]
OnTheLine = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]


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

    law = hyperparameters(nb)[name]
    on_the_line = _on_the_line(name, law)
    if stats is None:
        return at(1.0)
    with defer_jax_import():
        return _weighted(at, stats, on_the_line, f"`{name}` is {describe(law)}")


def _on_the_line(name: str, law: Any) -> OnTheLine:
    """t ↦ log p(η(t)) + log dη/dt and η(t), for t on the real line, in float64."""
    import jax
    import jax.numpy as jnp
    from numpyro.distributions import biject_to

    if law.batch_shape or law.event_shape or law.support.is_discrete or law.support.event_dim:
        raise ValueError(f"`{name}` is {describe(law)}; it needs a continuous distribution of a single number")
    to_support = biject_to(law.support)

    def evaluate(t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        with jax.enable_x64(True):
            u = jnp.asarray(t, float)
            x = to_support(u)
            found = law.log_prob(x) + to_support.log_abs_det_jacobian(u, x)
            level, value = np.asarray(found, float), np.asarray(x, float)
        return np.where((value > _EXTREMES[0]) & (value < _EXTREMES[1]) & ~np.isnan(level), level, -np.inf), value

    if not (evaluate(np.linspace(-_REACH, _REACH, 9))[1] >= 0).all():
        raise ValueError(
            f"`{name}` is {describe(law)}, which has negative values; it needs a distribution of positive numbers"
        )
    return evaluate


def _weighted(at: Callable[[float], NaiveBayes], stats: Statistics, on_the_line: OnTheLine, what: str) -> Any:
    """Nodes about the modes of posterior and prior, and their weights under the prior."""
    from ..weighted import WeightedNaiveBayes

    def log_prior(t: np.ndarray) -> np.ndarray:
        return on_the_line(t)[0]

    def log_posterior(t: np.ndarray) -> np.ndarray:
        level, value = on_the_line(t)
        return level + [float(at(x).log_marginal(stats)) for x in value.tolist()]

    line, level, mass = _line(log_prior, what)
    inside = np.flatnonzero(level > level.max() - _FALL)
    low, high = line[max(inside[0] - 1, 0)], line[min(inside[-1] + 1, len(line) - 1)]
    of_prior = _peaks(log_prior, line, level)
    about = [mode + width * np.array([-6, -3, 0, 3, 6]) for mode, width in of_prior]
    while True:
        grid = np.unique(np.clip(np.concatenate([np.linspace(low, high, 21), *about]), low, high))
        level = log_posterior(grid)
        left, right = (high - low) * (level[[0, -1]] > level.max() - _GONE)  # the data want what the prior leaves out
        wider = max(low - left, line[0]), min(high + right, line[-1])
        if wider == (low, high):
            break
        low, high = wider
    peaks: list[tuple[float, float]] = []
    for mode, width in _peaks(log_posterior, grid, level) + of_prior:
        if _STEP > _FINE * width * _slope(mode, peaks):
            peaks.append((mode, width))
    for step in _STEP / np.array([1, 2, 4, 8]):
        t, log_w = _nodes(low, high, peaks, step)
        level, nodes = on_the_line(t)
        log_w += level
        if abs(np.exp(log_w).sum() - mass) < _OFF:
            kept = np.isfinite(log_w)
            return WeightedNaiveBayes(tuple(map(at, nodes[kept].tolist())), log_normalize(log_w[kept]), nodes[kept])
    raise _not_integrated(what)


def _line(log_prior: Curve, what: str) -> tuple[np.ndarray, np.ndarray, float]:
    """Points so close that the prior integrates to one over them, its level there, and that integral."""
    for step in (0.1, 0.01, 0.001):
        line = np.arange(-_REACH, _REACH, step)
        level = log_prior(line)
        with np.errstate(over="ignore"):
            mass = float(np.exp(level).sum() * step)
        if abs(mass - 1) < _ALL:
            break
    if not abs(mass - 1) < _LOST:
        raise _not_integrated(what)
    return line, level, mass


def _not_integrated(what: str) -> ValueError:
    return ValueError(
        f"{what}, which does not integrate to 1 between {_EXTREMES[0]:g} and {_EXTREMES[1]:g}: it is too vague, has a "
        "peak narrower than a thousandth of its position, or its density is not normalised. Give another distribution, "
        "or a number"
    )


def _slope(t: Any, peaks: list[tuple[float, float]]) -> Any:
    """dv/dt of v = Σ arcsinh((t − t_p)/s_p)."""
    return sum((1 / np.hypot(width, t - mode) for mode, width in peaks), np.zeros_like(t))


def _nodes(low: float, high: float, peaks: list[tuple[float, float]], step: float) -> tuple[np.ndarray, np.ndarray]:
    """t between low and high, where v = Σ arcsinh((t − t_p)/s_p) is a multiple of a step, and log dt/dv · step."""

    def v(t: Any) -> Any:
        return sum(np.arcsinh((t - mode) / width) for mode, width in peaks)

    wanted = step * np.arange(np.ceil(v(low) / step), np.floor(v(high) / step) + 1)
    below, above = np.full_like(wanted, low), np.full_like(wanted, high)
    for _ in range(60):  # v increases: halve the interval
        t = (below + above) / 2
        less = v(t) < wanted
        below, above = np.where(less, t, below), np.where(less, above, t)
    return t, np.log(step / _slope(t, peaks))


def _peaks(objective: Curve, grid: np.ndarray, level: np.ndarray) -> list[tuple[float, float]]:
    """Modes of exp(objective), the highest first, with the standard deviations of normal densities curved like it."""
    from scipy.optimize import minimize_scalar

    found, around = [], np.pad(np.round(level, 6), 1, constant_values=-np.inf)
    tops = (around[1:-1] > around[:-2]) & (around[1:-1] >= around[2:]) & (level > level.max() - _FALL)
    highest_first = np.argsort(-level, kind="stable")
    for best in highest_first[tops[highest_first]]:
        ends = grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)]
        top = minimize_scalar(lambda t: -objective(np.array([t]))[0], bounds=ends, options={"xatol": 1e-4})
        step = 0.3
        while (fall := -top.fun - objective(top.x + step * np.array([-1, 1])).mean()) > 2 and step > 1e-3:
            step /= 2
        found.append((float(top.x), float(np.clip(step / np.sqrt(max(2 * fall, 1e-12)), 1e-3, 1.5))))
    return found
