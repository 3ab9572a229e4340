"""Rows of the check of a calibrated classifier: the posterior of the map against NumPyro.

13. Density: log p(θ, y | z) by NumPyro equals the closed form, constants included, at random θ. Exact.
14. Mode: NumPyro's gradient is zero at the mode that Newton's method found. Exact.
15. Predictions: class probabilities averaged over NUTS draws against those of the map's own draws, which approximate
    them. The threshold is a distance that matters, not an error rate.
16. Intervals: the ends of their 90 % intervals, likewise.
"""

from functools import partial
from typing import Any

import jax
import numpy as np

from ..core.random import generator
from ..inference.against_numpyro import IDENTITY
from ..inference.chains import run_chains
from ..inference.report import CheckRow
from ._calibration_map import Labelled, fit_maps, heaviest, numpyro_model, quantiles

_GRADIENT = 1e-2  # nats a standard deviation: Newton ends where a step gains 1e-7 nats, √2e-7 ≈ 5e-4 of such units
_PROBABILITY = 0.02  # as an average over rows and classes: less than a calibration error that can be measured
_CHAINS, _DRAWS, _WARMUP = 4, 250, 250


def map_rows(
    z: np.ndarray, index: np.ndarray, weight: np.ndarray, seed: int, progress_bar: bool = False
) -> list[CheckRow]:
    """The three comparisons of the most probable map of these rows."""
    from numpyro.infer.util import log_density

    one, rng = heaviest(fit_maps(z, index, weight)), generator(seed)
    rows, (*_, mean, width) = Labelled(z, np.eye(z.shape[1])[index], weight), one.entries
    post, k = one.fitted(rows, *one.mode[[0, -1]]), len(mean)
    model = partial(numpyro_model, one, z, index, weight)

    def sites(theta: Any) -> dict[str, Any]:
        return {"u": theta[..., 0], "entries": theta[..., 1:-1], "logit_eps": theta[..., -1]}

    with jax.enable_x64(True):
        joint = jax.jit(lambda theta: log_density(model, (), {}, sites(theta))[0])
        at = mean + width * rng.standard_normal((16, k))
        ours = np.array([-one.value(rows, theta) for theta in at]) - 0.5 * k * np.log(2 * np.pi)
        theirs = np.array([float(joint(theta)) for theta in at])
        slope = float(np.max(abs(post.root.T @ np.asarray(jax.grad(joint)(post.mode)))))
    starts, order = post.mode + 0.5 * rng.standard_normal((_CHAINS, k)) @ post.root.T, np.r_[1 : k - 1, k - 1, 0]
    metric = (post.root @ post.root.T)[np.ix_(order, order)]
    chains = run_chains(model, sites(starts), metric, seed + 1, draws=_DRAWS, warmup=_WARMUP, progress_bar=progress_bar)
    nuts = np.concatenate([chains[name].reshape(_CHAINS * _DRAWS, -1) for name in sites(post.mode)], 1)[::5]
    drawn = [post.draw(partial(one.value, rows), s) for s in rng.standard_normal((200, k))]
    p = [np.array([one.proba(theta, z) for theta in some]) for some in (nuts, drawn)]
    mean_gap = float(abs(p[0].mean(0) - p[1].mean(0)).mean())
    end_gap = float(abs(np.subtract(*(quantiles(some, [0.05, 0.95]) for some in p))).mean())
    row, of_draws = CheckRow.within, "mean distance over rows and classes; the draws approximate NumPyro's"
    says = "The map of the calibration has the density, the mode and the predictions of its NumPyro model."
    worst = float(np.max(abs((ours - theirs) / theirs)))
    return [
        row("13 Map, density", says, worst, IDENTITY, "relative", "exact in theory; rounding leaves some 1e-12", ""),
        row("14 Map, mode", says, slope, _GRADIENT, "nats per sd", "Newton ends within 5e-4 standard deviations", ""),
        row("15 Map, predictions", says, mean_gap, _PROBABILITY, "probability", of_draws, ""),
        row("16 Map, 90 % intervals", says, end_gap, _PROBABILITY, "probability", of_draws, ""),
    ]
