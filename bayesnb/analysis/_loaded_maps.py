"""Checks of the maps that a model file holds: whether they belong to the estimator."""

from typing import TYPE_CHECKING

import numpy as np

from ..core.registry import require
from . import _maps

if TYPE_CHECKING:
    from .calibration import CalibratedClassifierLOO


def check_maps(nb: "CalibratedClassifierLOO") -> None:
    """Maps that belong to the estimator: labels, numbers of parameters, probabilities."""
    require(np.array_equal(nb.classes_, nb.estimator_.classes_), "the calibration has other classes")
    require(nb.n_features_in_ == nb.estimator_.n_features_in_, "the calibration has other features")
    k, c = len(nb.estimator_.part_blocks()), len(nb.classes_)
    require(isinstance(nb.maps_, tuple) and len(nb.maps_) > 0, "there are no maps")
    for one in nb.maps_:
        require(isinstance(one, _maps.CalibrationMap) and 0 < one.weight <= 1, "a map without a probability")
        base = one.kind.base if isinstance(one.kind, _maps.Isotonic) else one.kind
        require(isinstance(base, _maps.Kind), "a map of no kind")
        p = 0 if isinstance(one.kind, _maps.Isotonic) else len(base.prior(k, c)[0])
        shapes = one.mode.shape == (p,) and one.covariance.shape == (p, p) and one.nodes.shape[1:] == (p,)
        require(shapes and len(one.nodes) > 0, "parameters of another map")
        require(np.isfinite(one.nodes).all() and np.isfinite(one.covariance).all(), "parameters that are no numbers")
    require(abs(sum(one.weight for one in nb.maps_) - 1) < 1e-9, "probabilities of maps that do not add up to one")
    mean = nb._mean_log_length
    require(mean is None or (mean.shape == (k,) and np.isfinite(mean).all()), "lengths of rows of other parts")
