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
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from numpyro.infer.util import potential_energy
from sklearn.base import clone

from ..numerics.random import generator
from ..posterior.chains import Twin, run_chains
from ..posterior.held_out import counted_rows, quality, split_halves, take_rows
from ..posterior.predicted import QUANTILES, central_interval
from .against_numpyro import IDENTITY
from .report import CheckReport, CheckRow

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
    """The check of an estimator with a naive Bayes model inside: the report of that model, and more rows.

    The estimator is fitted to one half of the rows, and how well it predicts is measured on the other half. Rows that
    weights count are units: by leave-one-out each leaves alone, where equal rows without weights leave together.

    Parameters
    ----------
    estimator : a clone of it is fitted
    inner : the attribute of the fitted clone that holds the naive Bayes model
    name : of the estimator's prediction, in the table of qualities
    X, y, sample_weight : rows, labels, and counts of the rows or None
    model_rows : makes the rows that the report lacks of (fitted, X, y, weights, seed)
    most : largest number of rows to fit; None for no limit
    """
    cells, labels = counted_rows(X, np.asarray(y).ravel(), sample_weight)  # each row as often as it counts

    # one half of the rows makes the fit, and the report of the model inside
    half, other_half = split_halves(labels, seed)  # positions of the rows
    train = half[:most]
    units = None if sample_weight is None else np.ones(len(train), int)  # weights of integers: every row is a unit
    training = (take_rows(cells, train), labels[train], units)
    fitted = clone(estimator).fit(*training)
    report = clone(getattr(fitted, inner)).check(cells, labels, seed)

    # the other half tells how well the whole estimator predicts; a class of a single row may not be in the fit
    test = other_half[np.isin(labels[other_half], fitted.classes_)]
    # classes are sorted, so that a search finds the number of each label
    truth = np.searchsorted(fitted.classes_, labels[test])  # (n,) class numbers
    log_p = fitted.predict_log_proba(take_rows(cells, test))  # (n, c)
    # accuracy, log loss and the like of these predictions, a line of the report
    estimator_quality = quality(name, len(train), fitted.n_features_in_, log_p, truth)

    rows = (*report.rows, *model_rows(fitted, *training, seed))
    return replace(report, model=repr(estimator), rows=rows, quality=(*report.quality, estimator_quality))


@dataclass(frozen=True)
class LaplaceAndTwin:
    """Laplace's posterior of p parameters θ, its NumPyro model, and what is predicted from them.

    Laplace's posterior is a normal distribution around the mode. Its coordinates are unconstrained: any real numbers.
    NumPyro has the parameters by site, the name of a random variable in its model.

    Fields
    ------
    model : the NumPyro model, without arguments
    sites : from unconstrained parameters (…, p) to those of each site, by name
    value : −log p(y, θ) in closed form, of unconstrained parameters (p,)
    mode, covariance : (p,) and (p, p) of Laplace's posterior
    draws : of Laplace's posterior by site, constrained, with s draws on the first axis
    proba : from draws by site, as keywords, to class probabilities (s, n, c)
    """

    model: Callable[[], None]
    sites: Callable[[Any], Any]
    value: Callable[[np.ndarray], float]
    mode: np.ndarray
    covariance: np.ndarray
    draws: dict[str, Any]
    proba: Callable[..., np.ndarray]


class _Figure(NamedTuple):
    """A distance that is compared with a limit: a row of the report passes if the figure is at most the limit.

    Fields
    ------
    name : what is compared
    value, limit : the distance that was found, and the largest one that passes
    unit : of both, in words
    reason : why the limit is not 0
    """

    name: str
    value: float
    limit: float
    unit: str
    reason: str


def compare_with_numpyro(kind: str, laplace: LaplaceAndTwin, seed: int) -> list[CheckRow]:
    """Rows 13 to 16 of the report: Laplace's posterior against its NumPyro model.

    - Row 13: −log p(y, θ) is the same near the mode.
    - Row 14: the mode is the same.
    - Row 15: the mean class probabilities of draws of both posteriors are close. Those of NumPyro are by NUTS.
    - Row 16: the ends of their 90 % intervals are close.

    Parameters
    ----------
    kind : "Map" or "Weights", of which the posterior is
    seed : of NumPyro's chains and of the points at which densities are compared
    """
    rng = generator(seed)
    errors = _errors_near_the_mode(laplace, rng)  # of −log p(y, θ), and of the mode
    distances = _distances_of_predictions(laplace, rng, seed)  # of the mean class probabilities, and of intervals

    max_difference = _PROBABILITY[kind]
    figures = [
        _Figure("density", errors.density, IDENTITY, "relative", EXACT),
        _Figure("mode", errors.mode, _MODE[kind], "parameters", "Newton's method ends close to the mode"),
        _Figure("predictions", distances.mean, max_difference, "probability", _NEAR),
        _Figure("90 % intervals", distances.ends, max_difference, "probability", _NEAR),
    ]
    rows = []
    for number, figure in enumerate(figures, 13):  # rows 1 to 12 are those of naive Bayes
        title = f"{number} {kind}, {figure.name}"
        # a row that passes if its figure is within the limit, and says what that shows
        rows.append(CheckRow.within(title, _SAYS[kind], figure.value, figure.limit, figure.unit, figure.reason, ""))
    return rows


class _Distances(NamedTuple):
    """How far predictions by draws of Laplace's posterior are from those by NUTS, on average over rows and classes.

    Fields
    ------
    mean : of the mean class probabilities
    ends : of the ends of their 90 % intervals
    """

    mean: float
    ends: float


def _distances_of_predictions(laplace: LaplaceAndTwin, rng: np.random.Generator, seed: int) -> _Distances:
    """How far class probabilities by draws of Laplace's posterior are from those by draws of NUTS on NumPyro's model.

    Parameters
    ----------
    rng : source of the points where NUTS starts
    seed : of its chains
    """
    # NUTS starts around the mode, half as spread as Laplace's posterior: with L a root of its covariance, Σ = L Lᵀ, and
    # standard normals z, the vector L z has this covariance
    root = np.linalg.cholesky(laplace.covariance)
    start_noise = 0.5 * rng.standard_normal((_CHAINS, len(laplace.mode))) @ root.T  # (chains, p)
    nuts_draws = _draws_of_nuts(laplace, laplace.mode + start_noise, seed + 1)  # by site

    # Class probabilities (s, n, c) by draws of both posteriors. Sites are the random variables of the NumPyro model; of
    # its draws those that Laplace's posterior has, too.
    proba = laplace.proba(**laplace.draws)
    nuts_proba = laplace.proba(**{site: nuts_draws[site] for site in laplace.draws})
    mean_error = abs(proba.mean(0) - nuts_proba.mean(0)).mean()

    # the 5 % and 95 % quantiles over the draws of each row and class
    ends = central_interval(proba, 0.9, QUANTILES)  # (n, c, 2)
    nuts_ends = central_interval(nuts_proba, 0.9, QUANTILES)
    return _Distances(mean_error, abs(ends - nuts_ends).mean())


class _ModeErrors(NamedTuple):
    """How far a closed form is from its NumPyro model near the mode.

    Fields
    ------
    density : largest relative error of −log p(y, θ) at points near the mode
    mode : largest coordinate of a Newton step that starts at the mode, by NumPyro's density; 0 at its own mode
    """

    density: float
    mode: float


def _errors_near_the_mode(laplace: LaplaceAndTwin, rng: np.random.Generator) -> _ModeErrors:
    """How far −log p(y, θ) and its mode are from those of the NumPyro model, by eight random points near the mode.

    The points are the mode plus normal noise of the standard deviation 0.1 in each coordinate, drawn by `rng`.
    """
    with jax.enable_x64(True):
        # NumPyro's −log p(y, θ), and Newton's step H⁻¹ g at a point, with its gradient g and Hessian H. `sites` makes
        # values by site of the p coordinates, as the potential energy takes them.
        energy = jax.jit(lambda point: potential_energy(laplace.model, (), {}, laplace.sites(point)))
        step = jax.jit(lambda point: jnp.linalg.solve(jax.hessian(energy)(point), jax.grad(energy)(point)))

        points = laplace.mode + 0.1 * rng.standard_normal((8, len(laplace.mode)))  # (8, p)
        # |a/b − 1| is the relative error; a Newton step from the mode of the same density would be 0
        density_error = max(abs(laplace.value(point) / float(energy(point)) - 1) for point in points)
        mode_error = float(abs(step(laplace.mode)).max())
    return _ModeErrors(density_error, mode_error)


def _draws_of_nuts(laplace: LaplaceAndTwin, starts: np.ndarray, seed: int) -> dict[str, np.ndarray]:
    """Draws by NumPyro's NUTS, by site with s draws on the first axis: all chains one after the other.

    Parameters
    ----------
    starts : (chains, p) unconstrained parameters, the first state of each chain
    """
    # NumPyro puts the parameters in the order of the names of the sites: if site "b" has the coordinates 0 and 1 here,
    # and site "a" coordinate 2, its order is 2 0 1. The numbers 0 1 2 in place of the parameters show that order.
    numbers_by_site = laplace.sites(np.arange(len(laplace.covariance)))
    order, _ = ravel_pytree(numbers_by_site)  # all sites as one vector, (p,)
    order = np.asarray(order)

    # Laplace's covariance in that order is the metric of NUTS.
    metric = laplace.covariance[np.ix_(order, order)]
    # states by site, (chains, draws, …)
    chains, _ = run_chains(Twin(laplace.model), laplace.sites(starts), metric, seed, draws=_DRAWS, warmup=_WARMUP)
    # one chain after the other, and of these draws every fourth, as neighbours in a chain are dependent
    return {site: np.concatenate(draws)[::_THIN] for site, draws in chains.items()}
