"""Rows of the check that compare the most probable map of a calibration with its NumPyro model."""

from functools import partial
from typing import Any

import numpy as np

from ..check.laplace import LaplaceAndTwin, compare_with_numpyro
from ..check.report import CheckRow
from ..numerics.arrays import Int, PerRow, Table
from ..numerics.random import generator
from .fitting import fit_maps
from .map import CalibrationMap, Labelled, most_probable, numpyro_model
from .modes import laplace_about

_MAX_ROWS = 500
_N_DRAWS = 200  # of Laplace's approximation


def map_rows(fitted: Any, X: Any, y: np.ndarray, sample_weight: Any = None, seed: int = 0) -> list[CheckRow]:
    """The rows of a check that compare a calibration with NumPyro: density, mode, predictions and intervals.

    A map is a regression of labels on log probabilities. One is fitted to at most 500 rows of the calibration, and the
    most probable of its models with parameters is compared with NumPyro's model of it: its density −log p(y, θ), and
    the mode of that; and the predictions of draws from Laplace's approximation with those of draws by NUTS.

    Parameters
    ----------
    fitted : a fitted `CalibratedClassifierLOO`
    X, y, sample_weight : the rows that it was fitted to
    seed : of the choice of rows and of all draws
    """
    left_out = fitted.left_out(X, y, sample_weight)  # log probabilities z (n, c) of rows that the model has not seen
    sample = np.sort(generator(seed).permutation(len(left_out.code))[:_MAX_ROWS])
    z = left_out.z[sample]
    index = left_out.code[sample]  # class of each row
    weight = left_out.weight[sample]
    calibration = most_probable(fit_maps(z, index, weight))
    both = _laplace_and_numpyro(calibration, z, index, weight, seed)
    return compare_with_numpyro("Map", both, seed)  # it evaluates NumPyro's density, and runs NUTS


def _laplace_and_numpyro(
    calibration: CalibrationMap, z: Table, index: Int[np.ndarray, " n"], weight: PerRow, seed: int
) -> LaplaceAndTwin:
    """Laplace's approximation of the posterior of a map's parameters θ, and NumPyro's model of them, to be compared.

    Parameters
    ----------
    calibration : the map
    z, index, weight : log probabilities (n, c), class and weight of the rows that it is fitted to
    seed : of the draws of Laplace's approximation
    """
    # `laplace_about` climbs to the mode and takes the Gaussian there, with the covariance H⁻¹ = root rootᵀ, where H is
    # the Hessian of f = −log p(y, θ).
    one_hot_label = np.eye(z.shape[1])[index]
    posterior = laplace_about(calibration, Labelled(z, one_hot_label, weight), calibration.mode)
    n_parameters = len(posterior.mode)

    def value(theta: np.ndarray) -> float:
        """−log p(y, θ): f, and ½ log 2π of each parameter, which f leaves out of its normal prior."""
        return posterior.value(theta) + n_parameters * np.log(2 * np.pi) / 2

    def proba(theta: np.ndarray) -> np.ndarray:
        """Calibrated probabilities at s draws of the parameters, (s, n, c)."""
        return np.array([calibration.proba(draw, z) for draw in theta])

    normals = generator(seed).standard_normal((_N_DRAWS, n_parameters))
    return LaplaceAndTwin(
        model=partial(numpyro_model, calibration, z, index, weight),
        sites=lambda theta: {"theta": theta},  # NumPyro's name of the parameters
        value=value,
        mode=posterior.mode,
        covariance=posterior.root @ posterior.root.T,
        draws={"theta": np.array([posterior.draw(s) for s in normals])},
        proba=proba,
    )
