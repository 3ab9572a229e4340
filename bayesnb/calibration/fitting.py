"""The four models of the map, fitted to rows: their probabilities, and a hundred draws shared among their modes.

The evidence of a model is the sum of those of its modes, see `modes`. Draws are shared in proportion, and are made in
pairs s and −s of standard normal numbers.

Classes are numbered by their weight and their log probabilities while the maps are fitted, so relabelled classes get
the same draws: see `core.orders.class_order`.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.special import softmax

from ..core.arrays import Float, Int, PerRow, Table
from ..core.orders import class_order
from .map import LOGIT_EPS_MEAN, PROB_UNCHANGED, WIDTHS, CalibrationMap, Labelled
from .modes import Laplace, LaplaceMixture, heavy_modes, posterior_modes, shared_draws
from .weighting import WeightedDraws, weighted_draws

_N_DRAWS = 100  # of the posterior, that a prediction averages
_MAX_WEIGHTED_PARAMETERS = 40  # with more, hardly a draw would have all of the weight
_MAX_WEIGHTED_CELLS = 10_000  # rows times classes, with more of which weights would take too long
_LARGE_EPS = 1.0  # logit ε of the starts where most rows are unexplained
_FLAT = -2.0  # u of the starts of little power
_SHARP = 1.5  # and of much
_STARTS = (  # u, logit ε
    (0.0, LOGIT_EPS_MEAN),
    (0.0, _LARGE_EPS),
    (_FLAT, LOGIT_EPS_MEAN),
    (_FLAT, _LARGE_EPS),
    (_SHARP, _LARGE_EPS),
)


class _Fitted(NamedTuple):
    """A model of the map with what is known of its posterior.

    Fields
    ------
    calibration : the map, without its draws
    log_evidence : log p(y | model)
    modes : all its modes, the heaviest first; none of the model that leaves the probabilities as they are
    posterior : which makes draws
    """

    calibration: CalibrationMap
    log_evidence: float
    modes: list[Laplace]
    posterior: "LaplaceMixture | WeightedDraws | _NoParameters"


class _NoParameters:
    """The posterior of the model that leaves the probabilities as they are."""

    def draws(self, n_draws: int, rng: np.random.Generator) -> Float[np.ndarray, "s p"]:
        """Empty rows."""
        return np.zeros((n_draws, 0))


def fit_maps(
    z: Table,
    index: Int[np.ndarray, " n"],
    weight: PerRow,
    groups: Int[np.ndarray, " n"] | None = None,
) -> tuple[CalibrationMap, ...]:
    """The four models of the map, with their probabilities and draws.

    Parameters
    ----------
    z : log probabilities of rows that the model has not seen
    index, weight : class and weight of each row
    groups : (n,) labels of groups of rows that depend on each other. All weights are then divided by the factor by
        which the residuals y − q of the rows add up in the groups: five copies of each row count as one
    """
    has_weight = weight > 0
    in_label_order = Labelled(z[has_weight], np.eye(z.shape[1])[index[has_weight]], weight[has_weight])
    order = _order_of_classes(in_label_order)
    rows = in_label_order._replace(
        z=np.asfortranarray(in_label_order.z[:, order]),
        y=np.asfortranarray(in_label_order.y[:, order]),
    )
    power = _fitted_power(rows)
    if groups is not None:
        factor = _times_that_rows_repeat(power, rows, groups[has_weight])
        rows = rows._replace(weight=rows.weight / factor)
        power = _fitted_power(rows)
    models = [_unchanged(rows), power, *(_fitted_matrix(model, power, rows) for model in range(2, len(WIDTHS) + 1))]
    return tuple(calibration.relabelled(order) for calibration in _with_draws(models))


def _order_of_classes(rows: Labelled) -> Int[np.ndarray, " c"]:
    """Classes by their weight, then by Σ w z of their column over all rows and over their own."""
    column = rows.weight @ rows.z
    own_column = rows.weight @ (rows.z * rows.y)
    return class_order(np.column_stack([column, own_column]), rows.weight @ rows.y)


# --- the models -------------------------------------------------------------------------------------------------------


def _unchanged(rows: Labelled) -> _Fitted:
    """The model that leaves the probabilities as they are: it has no parameters."""
    calibration = CalibrationMap.prior(0, rows.rho)
    of_label = (calibration.proba(calibration.mode, rows.z) * rows.y).sum(1)
    return _Fitted(calibration, float(rows.weight @ np.log(of_label)), [], _NoParameters())


def _fitted_power(rows: Labelled) -> _Fitted:
    """Power and shifts."""
    return _fitted(CalibrationMap.prior(1, rows.rho), rows, _STARTS)


def _fitted_matrix(model: int, power: _Fitted, rows: Labelled) -> _Fitted:
    """A model with O, whose scale and starts are those of the power map."""
    u = float(power.calibration.mode[0])
    starts = [(u, LOGIT_EPS_MEAN), *((mode.mode[0], mode.mode[-1]) for mode in power.modes), *_STARTS]
    return _fitted(CalibrationMap.prior(model, rows.rho, float(np.exp(u))), rows, starts)


def _fitted(calibration: CalibrationMap, rows: Labelled, starts: Iterable[tuple[float, float]]) -> _Fitted:
    """A model fitted from starts (u, logit ε), with no O and no shifts."""
    points = []
    for u, logit_eps in starts:
        theta = calibration.layout.mean.copy()
        theta[[0, -1]] = u, logit_eps
        points.append(theta)
    modes = posterior_modes(calibration, rows, points)
    posterior = _posterior(modes)
    return _Fitted(replace(calibration, mode=modes[0].mode), posterior.log_evidence, modes, posterior)


def _posterior(modes: list[Laplace]) -> LaplaceMixture | WeightedDraws:
    """Weighted draws, or Laplace's approximation where there are too many parameters or rows, or too few count."""
    laplace = LaplaceMixture(heavy_modes(modes))
    if len(modes[0].mode) > _MAX_WEIGHTED_PARAMETERS or modes[0].rows.z.size > _MAX_WEIGHTED_CELLS:
        return laplace
    weighted = weighted_draws(laplace.modes, np.random.default_rng(0))
    return weighted if weighted.n_effective >= _N_DRAWS else laplace


def _times_that_rows_repeat(power: _Fitted, rows: Labelled, groups: Int[np.ndarray, " n"]) -> float:
    """Σ_groups |Σ w (y − q)|² / Σ_rows |w (y − q)|², ≥ 1: about 1 of independent rows, of copies their number."""
    group = np.unique(groups, return_inverse=True)[1]
    calibration = power.calibration
    residual = rows.weight[:, None] * (rows.y - calibration.proba(calibration.mode, rows.z))
    of_group = np.stack([np.bincount(group, column) for column in residual.T])
    return max(1.0, float(np.square(of_group).sum() / np.square(residual).sum()))


# --- probabilities and draws ------------------------------------------------------------------------------------------


def _with_draws(models: list[_Fitted]) -> list[CalibrationMap]:
    """The maps with their posterior probabilities, and the draws that are due to each."""
    of_matrix = (1 - PROB_UNCHANGED) / len(WIDTHS)
    log_prior = np.log([PROB_UNCHANGED, *[of_matrix] * len(WIDTHS)])
    probability = softmax(np.array([model.log_evidence for model in models]) + log_prior)
    sizes = shared_draws(probability, _N_DRAWS)
    rng = np.random.default_rng(0)
    return [
        replace(model.calibration, probability=float(p), draws=model.posterior.draws(int(size), rng))
        for model, p, size in zip(models, probability, sizes, strict=True)
    ]
