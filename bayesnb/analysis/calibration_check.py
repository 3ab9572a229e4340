"""The check of a calibrated classifier: that of its estimator, and the posterior of the map against NumPyro.

14. Density: log p(θ, y | z) by NumPyro equals the closed form, constants included, at random θ. Exact.
15. Mode: NumPyro's gradient is zero at the mode that Newton's method found. Exact.
16. Draws: class probabilities averaged over NUTS draws against those of the map's own draws, which approximate them.
    The threshold is a distance that matters, not an error rate.
"""

from dataclasses import replace
from functools import partial
from typing import Any

import jax
import numpy as np
from sklearn.base import clone

from ..core.random import generator
from ..inference.against_numpyro import IDENTITY
from ..inference.chains import run_chains
from ..inference.held_out import quality, split_halves, take_rows
from ..inference.report import CheckReport, CheckRow
from ._calibration_map import CalibrationMap, fit_maps, numpyro_model
from ._left_out_tables import leave_out_rows

_GRADIENT = 1e-2  # nats a standard deviation: Newton ends where a step gains 1e-7 nats, √2e-7 ≈ 5e-4 of such units
_PROBABILITY = 0.02  # as an average over rows and classes: less than a calibration error that can be measured
_CHAINS, _DRAWS, _WARMUP, _MOST_ROWS = 4, 250, 250, 500


def heaviest(maps: tuple[CalibrationMap, ...]) -> CalibrationMap:
    """The most probable of the maps with parameters."""
    return max(maps[1:], key=lambda one: one.probability)


def check(estimator: Any, X: Any, y: Any, seed: int = 0, *, progress_bar: bool = False) -> CheckReport:
    """Fit clones to one half of the rows and compare; see `CalibratedClassifierLOO.check`."""
    from numpyro.infer.util import log_density

    y = np.asarray(y).ravel()
    report = clone(estimator.estimator).check(X, y, seed, progress_bar=progress_bar)
    train, test = split_halves(y, seed)
    fitted = clone(estimator).fit(take_rows(X, train), y[train])
    found = leave_out_rows(fitted, fitted.estimator_, take_rows(X, train), y[train])
    few = np.sort(generator(seed).permutation(len(found.weight))[:_MOST_ROWS])
    z, index, weight = fitted.floored(found.log_proba[few]), found.index[few], found.weight[few]
    rows = map_rows(heaviest(fit_maps(z, index, weight)), z, index, weight, seed, log_density, progress_bar)
    test = test[np.isin(y[test], fitted.classes_)]
    truth, log_p = np.searchsorted(fitted.classes_, y[test]), fitted.predict_log_proba(take_rows(X, test))
    better = quality("calibrated", fitted.n_features_in_, log_p, truth)
    return replace(report, model=repr(estimator), rows=(*report.rows, *rows), quality=(*report.quality, better))


def map_rows(
    one: CalibrationMap, z: Any, index: Any, weight: Any, seed: int, log_density: Any, progress_bar: bool = False
) -> list[CheckRow]:
    """The three comparisons of a fitted map."""
    rng, y, k = generator(seed), np.eye(z.shape[1])[index], len(one.mode)
    model = partial(numpyro_model, one, z, index, weight)
    *_, mean, width = one.entries
    constant = np.log(width).sum() + 0.5 * k * np.log(2 * np.pi)

    def sites(theta: Any) -> dict[str, Any]:
        return {"u": theta[..., 0], "entries": theta[..., 1:-1], "logit_eps": theta[..., -1]}

    with jax.enable_x64(True):
        joint = jax.jit(lambda theta: log_density(model, (), {}, sites(theta))[0])
        ours = [-one.value(theta, z, y, weight) - constant for theta in mean + width * rng.standard_normal((16, k))]
        rng = generator(seed)
        theirs = [float(joint(theta)) for theta in mean + width * rng.standard_normal((16, k))]
        worst = float(np.max(abs(np.subtract(ours, theirs)) / np.abs(theirs)))
        slope = float(np.max(abs(one.root.T @ np.asarray(jax.grad(joint)(one.mode)))))
    starts = one.mode + 0.5 * rng.standard_normal((_CHAINS, k)) @ one.root.T
    order = np.r_[1 : k - 1, k - 1, 0]
    metric = (one.root @ one.root.T)[np.ix_(order, order)]
    chains = run_chains(model, sites(starts), metric, seed + 1, draws=_DRAWS, warmup=_WARMUP, progress_bar=progress_bar)
    draws = np.concatenate([chains[name].reshape(_CHAINS * _DRAWS, -1) for name in sites(one.mode)], 1)
    drawn = [one.draw(s, z, y, weight) for s in rng.standard_normal((100, k))]
    by_nuts, by_map = (np.mean([one.proba(theta, z) for theta in some], 0) for some in (draws[::10], drawn))
    gap, row = float(abs(by_nuts - by_map).mean()), CheckRow.within
    says = "The map of the calibration has the density, the mode and the predictions of its NumPyro model."
    return [
        row("14 Map, density", says, worst, IDENTITY, "relative", "exact in theory; rounding leaves some 1e-12", ""),
        row("15 Map, mode", says, slope, _GRADIENT, "nats per sd", "Newton ends within 5e-4 standard deviations", ""),
        row("16 Map, draws", says, gap, _PROBABILITY, "probability", "mean distance; draws approximate it", ""),
    ]
