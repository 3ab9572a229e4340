"""What the two calibrators share: prediction by the posterior of a map, and tables of log probabilities."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, Self

import numpy as np
import pandas as pd
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import gen_batches
from sklearn.utils.validation import check_is_fitted

from ..estimators._wrapper import OfEstimator
from ..io import Saved
from ..numerics.arrays import Float, Scalar, Table, is_sparse
from ..numerics.random import generator
from ..numerics.special import log_normalize
from ..numerics.supports import check_level
from ..posterior.predicted import QUANTILES, OfLogProba, central_interval
from .map import MODELS, CalibrationMap

_LEAST_PROBA = 1e-9  # of the model's probabilities
_LEAST_LOG_PROBA = -690.0  # e^−690 is still a float
_ROWS_AT_A_TIME = 1 << 15  # whose draws are averaged
_SUM_TOLERANCE = 0.02  # by which the probabilities of a row may miss 1


class DrawnMap(NamedTuple):
    """A map and one draw θ (p,) of its parameters."""

    calibration: CalibrationMap
    theta: Float[np.ndarray, " p"]

    def proba(self, z: Table) -> Table:
        """Calibrated probabilities of rows with log probabilities z."""
        return self.calibration.proba(self.theta, z)


class AbstractCalibrated(OfLogProba, Saved, OfEstimator, ClassifierMixin, BaseEstimator):
    """Prediction by the posterior of a map; `fit` and the table `log_table` of rows are the subclass's."""

    maps_: tuple[CalibrationMap, ...]
    class_prior_: Float[np.ndarray, " c"]
    log_table: Any  # log p of rows before calibration, (n, c), in nats
    _drawn_tables: Any  # draws of it, (s, n, c)

    @classmethod
    def _from_file(cls, parameters: dict[str, Any], learnt: dict[str, Any]) -> Self:
        """A calibrator with the hyperparameters and learnt attributes of a file, by their names.

        Files of 0.2 have the class frequencies in their maps alone: without `class_prior_` it is taken from there.
        """
        of_old_file = {"class_prior_": learnt["maps_"][0].rho} if "maps_" in learnt else {}
        return super()._from_file(parameters, of_old_file | learnt)

    @property
    def model_probabilities_(self) -> dict[str, float]:
        """Posterior probability of each of the four models of the map."""
        return {MODELS[calibration.model]: calibration.probability for calibration in self.maps_}

    def calibrated(self, z: np.ndarray) -> np.ndarray:
        """Calibrated probabilities (n, c) of rows with log probabilities z: the posterior mean. Provisional."""
        return average(self.maps_, z)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Calibrated class probabilities, (n, c): the posterior mean. None of them is 0 or 1."""
        check_is_fitted(self, "maps_")
        return self.calibrated(self.log_table(X))

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Logarithms of the calibrated class probabilities, (n, c), in nats."""
        return np.log(self.predict_proba(X))

    def sample_proba(self, X: Any, n_draws: int = 1000, seed: int | np.random.Generator | None = None) -> np.ndarray:
        """Draws of the calibrated probability, (s, n, c), over the map, and with leave-one-out over θ too.

        There are two sources of uncertainty. Each draw takes a table of log p(y | x) at a draw of the model's own
        parameters θ, if these have a posterior, and calibrates it by a map at a draw of the map's parameters.

        Parameters
        ----------
        X : rows, or the table of a model's probabilities
        n_draws, seed : number of draws s, and where the random numbers start
        """
        check_is_fitted(self, "maps_")
        rng = generator(seed)
        tables = self._drawn_tables(X, n_draws, rng)  # log p before calibration, (s, n, c)

        # Each table goes through one of the 200 drawn maps, taken at random.
        maps = drawn_maps(self.maps_)
        chosen = rng.integers(len(maps), size=n_draws)
        return np.stack([maps[k].proba(floored(z)) for k, z in zip(chosen, tables, strict=True)])

    def summary(self, level: Scalar = 0.9) -> pd.DataFrame:
        """The parameters of the map, with credible intervals over its posterior and over its four models.

        Parameters
        ----------
        level : posterior mass inside, between 0 and 1

        Returns
        -------
        DataFrame
            one row for each parameter, with the columns `median`, `low` and `high`. The power e^u multiplies the log
            probabilities: below 1 the model is too sure of itself. b shifts a class. ε is the share of rows that the
            model knows nothing of. O[d, c] is what log p of class d adds to class c. A model of the map without a
            parameter leaves it at 1 (power) or 0. The draws are approximate: 90 % intervals hold 86 to 89 % of the
            draws of NUTS on average, and 78 % of those of the power
        """
        check_is_fitted(self, "maps_")
        check_level(level)
        draws = [_shown_parameters(drawn) for drawn in drawn_maps(self.maps_)]  # (s, shown)

        # Names in the order of `_shown_parameters`: power, c shifts, ε, c² entries of O by rows.
        labels = self.classes_
        names = ["power", *(f"b[{k}]" for k in labels), "ε"]
        for d in labels:
            names += [f"O[{d}, {k}]" for k in labels]

        # The median and the interval of each. One that is 0 throughout is not shown.
        table = pd.DataFrame(index=pd.Index(names, name="parameter"))
        table["median"] = np.quantile(draws, 0.5, axis=0, method=QUANTILES)
        table[["low", "high"]] = central_interval(draws, level, QUANTILES)
        return table[(table != 0).any(axis=1)]


def _shown_parameters(drawn: DrawnMap) -> Float[np.ndarray, " shown"]:
    """Power e^u, shifts b, ε, and the entries of e^û O by rows, (1 + c + 1 + c²,), of a drawn map.

    They are the parameters of p' = (1 − ε) softmax(e^u z + e^û Oᵀz + b) + ε ρ, as a user is shown them.
    """
    # Model 0 leaves probabilities as they are: its power is 1 and all else 0.
    calibration, theta = drawn
    c = len(calibration.rho)
    if calibration.model == 0:
        return np.concatenate([[1.0], np.zeros(c + 1 + c * c)])

    # θ is u, entries of [O; b], logit ε. [O; b] is the table (c + 1, c) of O above a row of shifts.
    table = calibration.matrix(theta)
    power = np.exp(theta[0])
    shift = table[-1]
    eps = expit(theta[-1])
    scaled_matrix = calibration.scale * table[:-1]  # e^û O
    return np.concatenate([[power], shift, [eps], scaled_matrix.ravel()])


# --- averages over the posterior --------------------------------------------------------------------------------------


def drawn_maps(maps: tuple[CalibrationMap, ...]) -> list[DrawnMap]:
    """Each map with each of its draws."""
    drawn: list[DrawnMap] = []
    for calibration in maps:
        drawn += [DrawnMap(calibration, theta) for theta in calibration.draws]
    return drawn


def average(maps: tuple[CalibrationMap, ...], z: np.ndarray) -> np.ndarray:
    """Calibrated probabilities (n, c) of rows with log probabilities z: the mean over the draws of all maps.

    Each map has draws of its parameters in proportion to its posterior probability, so that the plain mean over all
    draws is the posterior mean over maps and parameters.
    """
    drawn = drawn_maps(maps)
    means = []
    for part in _floored_parts(z):  # some rows at a time
        total = sum(drawn_map.proba(part) for drawn_map in drawn)  # (rows, c)
        means.append(total / len(drawn))
    return np.concatenate(means)


def _floored_parts(z: np.ndarray) -> Iterator[np.ndarray]:
    """Log probabilities of some rows at a time, none below −690; one empty part where there are no rows."""
    for rows in gen_batches(max(len(z), 1), _ROWS_AT_A_TIME):
        yield floored(z[rows])


# --- tables of log probabilities --------------------------------------------------------------------------------------


def floored(z: np.ndarray) -> np.ndarray:
    """Log probabilities, none below −690."""
    return np.maximum(z, _LEAST_LOG_PROBA)


def output_of(estimator: Any, predict: Callable[[str], np.ndarray]) -> np.ndarray:
    """What `predict` gives by the best method that the estimator has: class probabilities, or scores as log odds.

    Scores (n,) of two classes are returned as log odds, scores (n, c) as probabilities, their softmax.

    Parameters
    ----------
    estimator : a classifier, which is asked only what methods it has
    predict : from the name of a method, "predict_proba" or "decision_function", to its result for some rows
    """
    if hasattr(estimator, "predict_proba"):
        return predict("predict_proba")
    scores = predict("decision_function")
    return scores if scores.ndim == 1 else np.exp(log_normalize(scores))


def log_table_of(output: Any) -> np.ndarray:
    """log p (n, c) of class probabilities (n, c), or of log odds (n,) of the second of two classes.

    Raises
    ------
    TypeError
        if the output is sparse
    ValueError
        if it is neither probabilities nor finite log odds
    """
    if is_sparse(output):
        raise TypeError("`X` is sparse; give the probabilities as a dense array")
    table = np.asarray(output, float)
    # One axis: log odds a, so that log p of the first class is −log(1 + eᵃ), of the second −log(1 + e⁻ᵃ).
    if table.ndim == 1 and np.isfinite(table).all():
        return -np.logaddexp(0.0, np.column_stack([table, -table]))

    # Else rows of probabilities, which may miss the sum 1 by a little. Those of 0 become 1e-9.
    if table.ndim != 2 or not ((table >= 0).all() and (abs(table.sum(1) - 1) < _SUM_TOLERANCE).all()):
        raise ValueError(
            f"`X` has shape {table.shape} and is no table of probabilities; give (n, c) numbers between 0 and 1 that "
            "add up to 1 in each row, or (n,) finite log odds. An `estimator` makes them from rows of features"
        )
    return log_normalize(np.log(np.maximum(table, _LEAST_PROBA)))


def refuse_one_column_of_probabilities(output: Any) -> None:
    """ValueError where a single column looks like probabilities: as log odds they would say something else.

    A column (n,) is read as log odds. If all its numbers are between 0 and 1, it is more likely p of the second class.
    """
    column = np.asarray(output)
    is_one_column_of_numbers = column.ndim == 1 and len(column) and column.dtype.kind in "biuf"
    if is_one_column_of_numbers and ((column >= 0) & (column <= 1)).all():
        raise ValueError(
            "`X` is one column with all values between 0 and 1. If these are probabilities p of the second of two "
            "classes, give both columns, `np.column_stack([1 - p, p])`. If they are log odds, give "
            "`p = scipy.special.expit(X)` in this way"
        )
