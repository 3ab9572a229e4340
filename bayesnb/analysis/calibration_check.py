"""The check of a calibrated classifier: the posterior of its map in closed form against NumPyro.

1. Density: log p(θ, y | t) by NumPyro equals the closed form, constants included, at random θ. Exact.
2. Mode: NumPyro's gradient is zero at the mode that Newton's method found. Exact.
3. Posterior: mean of each parameter over NUTS draws against the mode, in standard deviations of Laplace's Gaussian.
4. Prediction: class probabilities averaged over NUTS draws against the average over the nodes fixed by the fit.

Rows 3 and 4 compare an approximation with its target: their thresholds are distances that matter, not error rates.
"""

from functools import partial
from typing import Any

import jax
import numpy as np
from sklearn.base import clone

from ..core.random import generator
from ..core.special import log_floor
from ..sampling.exact_rows import IDENTITY
from ..sampling.held_out import quality, split_halves, take_rows, widest_of_draws
from ..sampling.nuts import run_chains
from ..sampling.report import CheckReport, CheckRow
from . import _map_fitting, _maps
from ._left_out_tables import leave_out_rows

_GRADIENT = 1e-3  # nats a standard deviation: Newton ends where a step gains 1e-9 nats, √2e-9 ≈ 4e-5 of such units
_MEAN = 0.5  # standard deviations: less than the posterior itself leaves open
_PROBABILITY = 0.02  # as an average over rows and classes: less than a calibration error that can be measured
_CHAINS, _DRAWS, _WARMUP, _MOST_ROWS = 4, 500, 300, 2_000
_LEVEL = 0.9


def check(estimator: Any, X: Any, y: Any, *, seed: int = 0, progress_bar: bool = False) -> CheckReport:
    """Fit a clone on one half of the rows and compare; see `CalibratedClassifierLOO.check`.

    Raises
    ------
    ValueError
        if there are fewer than two rows
    """
    from numpyro.infer.util import log_density

    y = np.asarray(y).ravel()
    if len(y) < 2:
        raise ValueError(f"`y` has {len(y)} rows; the check fits one half and predicts the other, so give at least two")
    rng = generator(seed)
    train, test = split_halves(y, seed)
    fitted = clone(estimator).fit(take_rows(X, train), y[train])
    test = test[np.isin(y[test], fitted.classes_)]
    training = leave_out_rows(fitted, fitted.estimator_, take_rows(X, train), y[train])
    few = np.sort(rng.permutation(len(training.weight))[:_MOST_ROWS])
    tables, index, weight = training.tables[few], training.y[few], training.weight[few]
    kind, c = _map_fitting.heaviest_kind(fitted.maps_), len(fitted.classes_)
    prepared, one_hot = _maps.Prepared.of(kind, tables), _maps.one_hot_rows(index, c)
    fit = _map_fitting.fit_map(prepared, one_hot, weight)
    sites = partial(_sites, kind, len(prepared.m), c)
    model = partial(_maps.model, kind, tables, index, weight)
    sd = np.sqrt(np.diag(fit.covariance))
    k, spread = len(fit.mode), np.linalg.cholesky(fit.covariance)

    with jax.enable_x64(True):
        joint = jax.jit(lambda theta: log_density(model, (), {}, sites(theta))[0])
        worst = 0.0
        for theta in fit.mode + 3 * rng.standard_normal((16, k)) @ spread.T:
            ours, theirs = _map_fitting.log_density(prepared, theta, one_hot, weight), float(joint(theta))
            worst = max(worst, abs(ours - theirs) / max(abs(ours), abs(theirs)))
        slope = float(np.max(abs(np.asarray(jax.grad(joint)(fit.mode))) * sd))
    names = list(sites(fit.mode))
    start = fit.mode + 2 * rng.standard_normal((_CHAINS, k)) @ spread.T
    starts = {name: np.stack([np.asarray(sites(one)[name]) for one in start]) for name in names}
    order = np.concatenate([np.ravel(sites(np.arange(k))[name]) for name in sorted(names)]).astype(int)
    metric = {tuple(sorted(names)): fit.covariance[np.ix_(order, order)]}
    chains = run_chains(model, starts, metric, seed + 1, draws=_DRAWS, warmup=_WARMUP, progress_bar=progress_bar)
    draws = np.concatenate([chains[name].reshape(_CHAINS * _DRAWS, -1) for name in names], 1)
    apart = float(np.max(abs(draws.mean(0) - fit.mode) / sd))
    nodes = _map_fitting.with_nodes(fit, 1.0)
    by_nuts = np.mean([prepared.proba(theta) for theta in draws[:: len(draws) // 200]], 0)
    gap = float(np.mean(abs(by_nuts - _maps.average((nodes,), tables))))

    held_out = take_rows(X, test)
    truth, p = np.searchsorted(fitted.classes_, y[test]), fitted.predict_proba(held_out)
    drawn = fitted.sample_proba(held_out, 200, 0)[:, np.arange(len(p)), p.argmax(1)]
    d = fitted.n_features_in_
    rows = (
        _row("1  Density", worst, IDENTITY, "relative", "exact in theory; rounding leaves some 1e-12", kind.name),
        _row("2  Mode", slope, _GRADIENT, "nats per sd", "Newton ends within 4e-5 standard deviations", ""),
        _row("3  Posterior, NUTS", apart, _MEAN, "standard dev.", "Laplace's Gaussian has its mean at the mode", ""),
        _row("4  Prediction", gap, _PROBABILITY, "probability", "mean absolute difference over rows and classes", ""),
    )
    return CheckReport(
        model=repr(estimator),
        rows=rows,
        quality=(
            quality("estimator, plain", d, fitted.estimator_.predict_log_proba(held_out), truth),
            quality("calibrated", d, log_floor(p), truth),
        ),
        widest=widest_of_draws(fitted.classes_, truth, test, p, drawn, _LEVEL),
        level=_LEVEL,
        settings={
            "seed": seed,
            "rows_fitted": len(train),
            "rows_held_out": len(test),
            "features": d,
            "classes": c,
            "nuts_rows": len(few),
        },
    )


def _row(name: str, figure: float, threshold: float, unit: str, reason: str, remark: str) -> CheckRow:
    return CheckRow(name, figure, threshold, unit, bool(figure <= threshold), reason, remark)


def _sites(kind: _maps.Kind, k: int, c: int, theta: Any) -> dict[str, Any]:
    """Parameters by NumPyro site, in their order."""
    names = {"w": "log_power", "s": "log_bend", "ε": "logit_contamination", "b": "shift"}
    places = kind.places(k, c).items()
    return {names[name]: theta[at.start] if name in ("s", "ε") else theta[at] for name, at in places}
