"""The four models of the map, fitted to rows: their probabilities, and two hundred draws in all.

The evidence of a model and its draws are those of `weighting`, of few parameters and rows. Of many they are Laplace's,
see `modes`: draws are shared among the modes in proportion to their evidence.

Classes are numbered by their weight and their log probabilities while the maps are fitted, so relabelled classes get
the same draws: see `numerics.orders.class_order`.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy.special import softmax

from ..numerics.arrays import Float, Int, PerRow, Table
from ..numerics.orders import class_order
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


class _FittedPower(NamedTuple):
    """The power map, and all modes of its posterior, the heaviest first: models with a matrix start there."""

    fitted: _Fitted
    modes: list[Laplace]


@single_threaded_products()  # threads for such small products cost twice the time
def fit_maps(
    z: Table,
    index: Int[np.ndarray, " n"],
    weight: PerRow,
    groups: Int[np.ndarray, " n"] | None = None,
) -> tuple[CalibrationMap, ...]:
    """The four models of the map, with their posterior probabilities, modes, and 200 draws in all.

    A map takes the log probabilities z of a classifier to calibrated probabilities p', by a regression of the labels on
    z: p' = (1 − ε) softmax(e^u z + e^û Oᵀz + b) + ε ρ. Model 0 leaves the probabilities as they are. Model 1, power and
    shifts, has u, b and ε. Models 2 and 3 also have the matrix O; its scale e^û and the starts of the search come from
    model 1, which is fitted again where groups change the weights.

    Parameters
    ----------
    z : (n, c) log probabilities of rows that the model has not seen
    index, weight : (n,) class and weight of each row
    groups : (n,) labels of groups of rows that depend on each other. All weights are then divided by the factor by
        which the residuals y − q of the rows add up in the groups: five copies of each row count as one
    """
    # Rows without weight are left out. Classes are numbered by their rows and not by their labels, so that relabelled
    # classes get the same draws. Tables in Fortran order are quicker here.
    has_weight = weight > 0
    one_hot_label = np.eye(z.shape[1])[index[has_weight]]
    in_label_order = Labelled(z[has_weight], one_hot_label, weight[has_weight])
    order = _order_of_classes(in_label_order)  # (c,) positions of the classes
    rows = in_label_order._replace(
        z=np.asfortranarray(in_label_order.z[:, order]),
        y=np.asfortranarray(in_label_order.y[:, order]),
    )

    # Model 1, the power map. Its residuals show how much rows of a group repeat each other. With smaller weights it is
    # another map, and is fitted again.
    power = _fitted_power(rows)
    if groups is not None:
        factor = times_that_rows_repeat(power.fitted.calibration, rows, groups[has_weight])
        rows = rows._replace(weight=rows.weight / factor)
        power = _fitted_power(rows)

    # Models 2 and 3, with a narrow and a wide prior of the matrix, are fitted from the modes of the power map.
    matrices = [_fitted_matrix(model, power.modes, rows) for model in range(2, len(WIDTHS) + 1)]

    # The posteriors of all four, more exact where that matters, then their probabilities and draws. The classes are
    # given back in the order of the labels.
    models = _weighted_where_probable([_unchanged(rows), power.fitted, *matrices])
    return tuple(calibration.relabelled(order) for calibration in _with_draws(models))


def _order_of_classes(rows: Labelled) -> Int[np.ndarray, " c"]:
    """Positions of the classes, sorted by their weight, then by Σ w z of their column over all rows and over their own.

    This order does not depend on how the classes are called, so that the same draws belong to the same class. z (n, c)
    are log probabilities, y (n, c) one-hot labels and w (n,) weights; each sum has a number for each class.
    """
    over_all_rows = rows.weight @ rows.z  # (c,)
    over_own_rows = rows.weight @ (rows.z * rows.y)
    class_weight = rows.weight @ rows.y
    return class_order(np.column_stack([over_all_rows, over_own_rows]), class_weight)


# --- the models -------------------------------------------------------------------------------------------------------


def _unchanged(rows: Labelled) -> _Fitted:
    """The model that leaves the probabilities as they are: its evidence is the likelihood of the labels by z alone."""
    calibration = CalibrationMap.prior(0, rows.rho)
    of_label = (calibration.proba(calibration.mode, rows.z) * rows.y).sum(1)  # p of the label of each row, (n,)
    return _Fitted(calibration, _Unchanged(float(rows.weight @ np.log(of_label))))


def _fitted_power(rows: Labelled) -> _FittedPower:
    """Power and shifts, model 1 of the map, with Laplace's approximation about each of its modes."""
    calibration = CalibrationMap.prior(1, rows.rho)
    modes = posterior_modes(calibration, rows, _points(calibration, _STARTS))
    return _FittedPower(_about(calibration, modes), modes)


def _fitted_matrix(model: int, modes_of_power: list[Laplace], rows: Labelled) -> _Fitted:
    """A model with a matrix O, whose scale e^û and starts are those of the power map.

    In η = e^u z + e^û Oᵀz + b, û is fixed at the u of the best power map. Searches for modes start at that u and at
    the (u, logit ε) of each mode of the power map, with O = 0 and no shifts, and at the starts that all models have.

    Parameters
    ----------
    model : 2 for the narrow, 3 for the wide prior of O
    modes_of_power : modes of the power map, the heaviest first; θ begins with u and ends with logit ε
    rows : that the map is fitted to
    """
    u = float(modes_of_power[0].mode[0])  # û
    of_power = [(float(mode.mode[0]), float(mode.mode[-1])) for mode in modes_of_power]  # (u, logit ε) of each
    calibration = CalibrationMap.prior(model, rows.rho, scale=float(np.exp(u)))
    points = _points(calibration, [(u, LOGIT_EPS_MEAN), *of_power, *_STARTS])
    return _about(calibration, posterior_modes(calibration, rows, points))


def _points(calibration: CalibrationMap, starts: Iterable[tuple[float, float]]) -> list[Float[np.ndarray, " p"]]:
    """Parameters θ = (u, entries of O and b, logit ε) with these (u, logit ε); the entries are 0, their prior mean."""
    middle = calibration.layout.mean[1:-1]
    return [np.concatenate([[u], middle, [logit_eps]]) for u, logit_eps in starts]


def _about(calibration: CalibrationMap, modes: list[Laplace]) -> _Fitted:
    """A model with Laplace's approximation (a Gaussian) about each of its modes, the one of the largest evidence first.

    Modes whose evidence is more than 5 nats below the largest are left out.
    """
    return _Fitted(replace(calibration, mode=modes[0].mode), LaplaceMixture(heavy_modes(modes)))


def times_that_rows_repeat(power: CalibrationMap, rows: Labelled, groups: Int[np.ndarray, " n"]) -> float:
    """By how much rows of a group repeat each other: about 1 where they are independent, k for k copies of each row.

    It is Σ_groups |Σ w (y − q)|² / Σ_rows |w (y − q)|², at least 1, with the residuals y − q of labels and
    probabilities. Independent residuals of k rows, with mean 0, have a sum with k times the square of one; k equal
    residuals have a sum with k² times that. The denominator is k times the square of one in both cases.

    Parameters
    ----------
    power : the fitted power map, which gives q at its mode
    rows : labels y, weights w and log probabilities
    groups : (n,) group of each row
    """
    _, group = np.unique(groups, return_inverse=True)  # 0 … g − 1
    residual = rows.weight[:, None] * (rows.y - power.proba(power.mode, rows.z))  # w (y − q), (n, c)
    # `bincount` with weights adds up the residuals of a class in each group
    of_group = np.stack([np.bincount(group, column) for column in residual.T])  # sums over rows, (c, g)
    return max(1.0, float(np.square(of_group).sum() / np.square(residual).sum()))


# --- probabilities and draws ------------------------------------------------------------------------------------------


def _weighted_where_probable(models: list[_Fitted]) -> list[_Fitted]:
    """The models, with weighted draws in place of Laplace's approximation where that does not rule the model out.

    By Laplace's approximation each model has a posterior probability. One below 0.001 does not matter, and is left as
    it is.
    """
    improved = []
    for model, probability in zip(models, _probabilities(models), strict=True):
        posterior = _weighted(model.posterior) if probability > _NEGLIGIBLE else model.posterior
        improved.append(model._replace(posterior=posterior))
    return improved


def _weighted(posterior: Any) -> _Unchanged | LaplaceMixture | WeightedDraws:
    """Weighted draws of a posterior, which are more exact than Laplace's approximation; else the posterior as it is.

    It stays as it is without parameters; with more than 40 parameters, where hardly a draw would have all of the
    weight; with many rows, where Laplace's approximation is close; and where the weighted draws are worth fewer than
    100 with equal weights.
    """
    if isinstance(posterior, _Unchanged):
        return posterior
    heaviest = posterior.modes[0]
    n_cells = heaviest.rows.weight.sum() * heaviest.rows.z.shape[1]
    if len(heaviest.mode) > _MAX_WEIGHTED_PARAMETERS or n_cells > _MAX_WEIGHTED_CELLS:
        return posterior
    weighted = weighted_draws(posterior.modes, np.random.default_rng(0))
    return weighted if weighted.n_effective >= _LEAST_EFFECTIVE else posterior


def _probabilities(models: list[_Fitted]) -> Float[np.ndarray, " k"]:
    """Posterior probabilities of the models: in proportion to prior probability times evidence (Bayes' theorem).

    The first model, which leaves probabilities as they are, has the prior 0.4, the others share the rest equally.
    """
    of_each_other = (1 - PROB_UNCHANGED) / len(WIDTHS)
    log_prior = np.log([PROB_UNCHANGED, *[of_each_other] * len(WIDTHS)])
    return softmax(np.array([model.posterior.log_evidence for model in models]) + log_prior)


def _with_draws(models: list[_Fitted]) -> list[CalibrationMap]:
    """The maps with their posterior probabilities, and as many of the 200 draws as are due to each.

    A model with the probability 0.3 gets 60 draws of its parameters, so that a plain mean over all 200 draws averages
    over the models too.
    """
    probabilities = _probabilities(models)
    sizes = shared_draws(probabilities, _N_DRAWS)  # number of draws of each model, in proportion
    rng = np.random.default_rng(0)
    maps = []
    for model, probability, size in zip(models, probabilities, sizes, strict=True):
        draws = model.posterior.draws(int(size), rng)  # (size, p)
        maps.append(replace(model.calibration, probability=float(probability), draws=draws))
    return maps
