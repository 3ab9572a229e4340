"""The four models of the map, fitted to rows: their probabilities, and two hundred draws in all.

The evidence of a model and its draws are those of `weighting`, of few parameters and rows. Of many they are Laplace's,
see `modes`: draws are shared among the modes in proportion to their evidence.

Classes are numbered by their weight and their log probabilities while the maps are fitted, so relabelled classes get
the same draws: see `core.orders.class_order`.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy.special import softmax

from ..core.arrays import Float, Int, PerRow, Table
from ..core.orders import class_order
from ..sums.rows import single_threaded_products
from .map import LOGIT_EPS_MEAN, PROB_UNCHANGED, WIDTHS, CalibrationMap, Labelled
from .modes import Laplace, LaplaceMixture, heavy_modes, posterior_modes, shared_draws
from .weighting import WeightedDraws, weighted_draws

_N_DRAWS = 200  # of the posterior, that a prediction averages
_LEAST_EFFECTIVE = 100  # weighted draws, below which Laplace's approximation is taken
_NEGLIGIBLE = 1e-3  # probability of a model, by Laplace's approximation
_MAX_WEIGHTED_PARAMETERS = 40  # with more, hardly a draw would have all of the weight
_MAX_WEIGHTED_CELLS = 2_000  # weight of the rows times classes: with more, Laplace's approximation is close
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


class _Unchanged(NamedTuple):
    """The posterior of the model that leaves the probabilities as they are: it has no parameters."""

    log_evidence: float

    def draws(self, n_draws: int, rng: np.random.Generator) -> Float[np.ndarray, "s p"]:
        """Empty rows."""
        return np.zeros((n_draws, 0))


class _Fitted(NamedTuple):
    """A model of the map with its posterior, whose `log_evidence` is log p(y | model)."""

    calibration: CalibrationMap
    posterior: _Unchanged | LaplaceMixture | WeightedDraws


@single_threaded_products()  # threads for such small products cost twice the time
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
    power, modes_of_power = _fitted_power(rows)
    if groups is not None:
        factor = times_that_rows_repeat(power.calibration, rows, groups[has_weight])
        rows = rows._replace(weight=rows.weight / factor)
        power, modes_of_power = _fitted_power(rows)
    matrices = [_fitted_matrix(model, modes_of_power, rows) for model in range(2, len(WIDTHS) + 1)]
    models = _weighted_where_probable([_unchanged(rows), power, *matrices])
    return tuple(calibration.relabelled(order) for calibration in _with_draws(models))


def _order_of_classes(rows: Labelled) -> Int[np.ndarray, " c"]:
    """Classes by their weight, then by Σ w z of their column over all rows and over their own."""
    column = rows.weight @ rows.z
    own_column = rows.weight @ (rows.z * rows.y)
    return class_order(np.column_stack([column, own_column]), rows.weight @ rows.y)


# --- the models -------------------------------------------------------------------------------------------------------


def _unchanged(rows: Labelled) -> _Fitted:
    """The model that leaves the probabilities as they are."""
    calibration = CalibrationMap.prior(0, rows.rho)
    of_label = (calibration.proba(calibration.mode, rows.z) * rows.y).sum(1)
    return _Fitted(calibration, _Unchanged(float(rows.weight @ np.log(of_label))))


def _fitted_power(rows: Labelled) -> tuple[_Fitted, list[Laplace]]:
    """Power and shifts, and all of its modes, the heaviest first."""
    calibration = CalibrationMap.prior(1, rows.rho)
    modes = posterior_modes(calibration, rows, _points(calibration, _STARTS))
    return _about(calibration, modes), modes


def _fitted_matrix(model: int, modes_of_power: list[Laplace], rows: Labelled) -> _Fitted:
    """A model with O, whose scale and starts are those of the power map."""
    u = float(modes_of_power[0].mode[0])
    of_power = [(float(mode.mode[0]), float(mode.mode[-1])) for mode in modes_of_power]
    calibration = CalibrationMap.prior(model, rows.rho, float(np.exp(u)))
    points = _points(calibration, [(u, LOGIT_EPS_MEAN), *of_power, *_STARTS])
    return _about(calibration, posterior_modes(calibration, rows, points))


def _points(calibration: CalibrationMap, starts: Iterable[tuple[float, float]]) -> list[Float[np.ndarray, " p"]]:
    """Parameters with these (u, logit ε), no O and no shifts."""
    middle = calibration.layout.mean[1:-1]
    return [np.concatenate([[u], middle, [logit_eps]]) for u, logit_eps in starts]


def _about(calibration: CalibrationMap, modes: list[Laplace]) -> _Fitted:
    """A model with Laplace's approximation about its modes."""
    return _Fitted(replace(calibration, mode=modes[0].mode), LaplaceMixture(heavy_modes(modes)))


def times_that_rows_repeat(power: CalibrationMap, rows: Labelled, groups: Int[np.ndarray, " n"]) -> float:
    """Σ_groups |Σ w (y − q)|² / Σ_rows |w (y − q)|², ≥ 1: about 1 of independent rows, of copies their number."""
    group = np.unique(groups, return_inverse=True)[1]
    residual = rows.weight[:, None] * (rows.y - power.proba(power.mode, rows.z))
    of_group = np.stack([np.bincount(group, column) for column in residual.T])
    return max(1.0, float(np.square(of_group).sum() / np.square(residual).sum()))


# --- probabilities and draws ------------------------------------------------------------------------------------------


def _weighted_where_probable(models: list[_Fitted]) -> list[_Fitted]:
    """The models, with weighted draws of those that Laplace's approximation does not rule out."""
    probabilities = _probabilities(models)
    return [
        model._replace(posterior=_weighted(model.posterior)) if probability > _NEGLIGIBLE else model
        for model, probability in zip(models, probabilities, strict=True)
    ]


def _weighted(posterior: Any) -> _Unchanged | LaplaceMixture | WeightedDraws:
    """Weighted draws, but not of many parameters or rows, nor where few draws have all of the weight."""
    if isinstance(posterior, _Unchanged):
        return posterior
    mode = posterior.modes[0]
    n_cells = mode.rows.weight.sum() * mode.rows.z.shape[1]
    if len(mode.mode) > _MAX_WEIGHTED_PARAMETERS or n_cells > _MAX_WEIGHTED_CELLS:
        return posterior
    weighted = weighted_draws(posterior.modes, np.random.default_rng(0))
    return weighted if weighted.n_effective >= _LEAST_EFFECTIVE else posterior


def _probabilities(models: list[_Fitted]) -> Float[np.ndarray, " k"]:
    """Posterior probabilities of the models."""
    of_matrix = (1 - PROB_UNCHANGED) / len(WIDTHS)
    log_prior = np.log([PROB_UNCHANGED, *[of_matrix] * len(WIDTHS)])
    return softmax(np.array([model.posterior.log_evidence for model in models]) + log_prior)


def _with_draws(models: list[_Fitted]) -> list[CalibrationMap]:
    """The maps with their posterior probabilities, and the draws that are due to each."""
    probabilities = _probabilities(models)
    sizes = shared_draws(probabilities, _N_DRAWS)
    rng = np.random.default_rng(0)
    return [
        replace(model.calibration, probability=float(probability), draws=model.posterior.draws(int(size), rng))
        for model, probability, size in zip(models, probabilities, sizes, strict=True)
    ]
