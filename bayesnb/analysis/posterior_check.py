"""Rows of a check that compare Laplace's posterior with its NumPyro model: of a calibration's map, or of weights.

- Columns, of weights alone: t_i of some rows against the model made of the statistics without row i. Exact.
- Density: −log p(y, θ) by NumPyro equals the closed form, constants included, at random θ. Exact.
- Mode: two compiled steps of Newton's method on NumPyro's density lead from the mode nowhere else.
- Predictions: class probabilities averaged over NUTS draws against those of Laplace's draws, which approximate them.
  The threshold is a mean distance over rows and classes, not an error rate. For weights it was 0.006 to 0.052 in six
  tables of 45 to 200 rows.
- Intervals, of a map alone: the ends of the 90 % intervals of these probabilities, likewise.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from numpyro.infer.util import potential_energy
from sklearn.base import clone

from ..core.random import generator
from ..inference.against_numpyro import IDENTITY
from ..inference.chains import Twin, run_chains
from ..inference.held_out import counted_rows, quality, split_halves, take_rows
from ..inference.report import CheckReport, CheckRow
from ._predicted import QUANTILES, central_interval

_PROBABILITY = {"Map": 0.02, "Weights": 0.06}
_MODE = {"Map": 1e-2, "Weights": 1e-6}  # Newton's method ends at steps of 5e-4 standard deviations; of weights at none
_CHAINS, _DRAWS, _WARMUP, _THIN = 3, 250, 250, 4
EXACT = "exact in theory; rounding leaves some 1e-12"
_NEAR = "mean distance over rows and classes: an approximation"
WEIGHTS_SAY = "The weights have the columns, the density, the mode and the draws of their model."
_SAYS = {
    "Map": "The map of the calibration has the density, the mode and the predictions of its NumPyro model.",
    "Weights": WEIGHTS_SAY,
}


def check(
    estimator: Any,
    inner: str,
    name: str,
    X: Any,
    y: Any,
    sample_weight: Any,
    seed: int,
    model_rows: Any,
    most: int | None = None,
) -> CheckReport:
    """The check of the model `inner` of a clone fitted to one half of the rows, with the rows that it lacks.

    `model_rows` makes these of (fitted, X, y, weights, seed). Rows that weights count are units: each leaves alone,
    where equal rows without weights leave together.
    """
    X, y = counted_rows(X, np.asarray(y).ravel(), sample_weight)
    train, test = split_halves(y, seed)
    train = train[:most]
    units = None if sample_weight is None else np.ones(len(train), int)
    training = take_rows(X, train), y[train], units
    fitted = clone(estimator).fit(*training)
    report = clone(getattr(fitted, inner)).check(X, y, seed)

    test = test[np.isin(y[test], fitted.classes_)]
    truth = np.searchsorted(fitted.classes_, y[test])
    log_p = fitted.predict_log_proba(take_rows(X, test))
    better = quality(name, len(train), fitted.n_features_in_, log_p, truth)
    rows = (*report.rows, *model_rows(fitted, *training, seed))
    return replace(report, model=repr(estimator), rows=rows, quality=(*report.quality, better))


def compare_with_numpyro(
    kind: str,
    model: Callable[[], None],
    sites: Callable[[Any], Any],
    value: Callable[[np.ndarray], float],
    mode: np.ndarray,
    covariance: np.ndarray,
    draws: dict[str, Any],
    proba: Callable[..., np.ndarray],
    seed: int,
) -> list[CheckRow]:
    """Density, mode, predictions and intervals.

    Parameters
    ----------
    kind : "Map" or "Weights"
    sites : from unconstrained parameters (…, p) to those of the sites
    value : −log p(y, θ) of unconstrained parameters
    draws : of Laplace's posterior by site, constrained
    proba : from draws by site to class probabilities (s, n, c)
    """
    rng = generator(seed)
    density_error, mode_error = _errors_near_the_mode(model, sites, value, mode, rng)
    start_noise = 0.5 * rng.standard_normal((_CHAINS, len(mode))) @ np.linalg.cholesky(covariance).T
    chains = _draws_of_chains(model, sites, mode + start_noise, covariance, seed + 1)
    p = proba(**draws)
    p_of_chains = proba(**{name: chains[name] for name in draws})
    mean_error = abs(p.mean(0) - p_of_chains.mean(0)).mean()
    ends = central_interval(p, 0.9, QUANTILES)
    ends_error = abs(ends - central_interval(p_of_chains, 0.9, QUANTILES)).mean()
    figures = [
        ("density", density_error, IDENTITY, "relative", EXACT),
        ("mode", mode_error, _MODE[kind], "parameters", "Newton's method ends close to the mode"),
        ("predictions", mean_error, _PROBABILITY[kind], "probability", _NEAR),
        ("90 % intervals", ends_error, _PROBABILITY[kind], "probability", _NEAR),
    ]
    return [
        CheckRow.within(f"{i} {kind}, {name}", _SAYS[kind], figure, limit, unit, reason, "")
        for i, (name, figure, limit, unit, reason) in enumerate(figures, 13)
    ]


def _errors_near_the_mode(
    model: Callable[[], None],
    sites: Callable[[Any], Any],
    value: Callable[[np.ndarray], float],
    mode: np.ndarray,
    rng: np.random.Generator,
) -> tuple[float, float]:
    """The largest relative error of the density near the mode, and the length of Newton's step from there."""
    with jax.enable_x64(True):
        energy = jax.jit(lambda point: potential_energy(model, (), {}, sites(point)))
        step = jax.jit(lambda point: jnp.linalg.solve(jax.hessian(energy)(point), jax.grad(energy)(point)))
        points = mode + 0.1 * rng.standard_normal((8, len(mode)))
        density_error = max(abs(value(point) / float(energy(point)) - 1) for point in points)
        mode_error = float(abs(step(mode)).max())
    return density_error, mode_error


def _draws_of_chains(
    model: Callable[[], None], sites: Callable[[Any], Any], starts: np.ndarray, covariance: np.ndarray, seed: int
) -> dict[str, np.ndarray]:
    """Draws of NUTS by site, from unconstrained starts, (chains, p)."""
    order = np.asarray(ravel_pytree(sites(np.arange(len(covariance))))[0])  # NumPyro sorts the sites
    metric = covariance[np.ix_(order, order)]
    chains, _ = run_chains(Twin(model), sites(starts), metric, seed, draws=_DRAWS, warmup=_WARMUP)
    return {name: np.concatenate(draws)[::_THIN] for name, draws in chains.items()}
