"""Rows of the check that compare the weights of columns with their columns, density, mode and NumPyro model."""

import functools
from dataclasses import replace
from typing import Any

import numpy as np

from ..analysis.posterior_check import EXACT, WEIGHTS_SAY, LaplaceAndTwin, compare_with_numpyro
from ..core.random import generator
from ..inference.report import CheckRow
from ..statistics import one_hot
from ..sums.rows import rows_at
from .posterior_draws import draw
from .softmax_regression import (
    Regression,
    likelihood,
    minimise,
    numpyro_model,
    point_at,
    precision_at,
)
from .training_rows import TrainingRows

_LEFT_OUT = 5  # rows whose columns are compared
_COLUMNS_DIFFER = 1e-8  # nats
_MODE_GAIN = 1e-16  # nats
_N_DRAWS = 200  # of Laplace's approximation


def weight_rows(fitted: Any, X: Any, y: np.ndarray, sample_weight: Any = None, seed: int = 0) -> list[CheckRow]:
    """The rows of a check that compare the weights of a fitted `DiscriminativeNB` with NumPyro.

    The density and its mode are to be those of NumPyro's model. Draws by Laplace's approximation are to predict as
    draws of NUTS do. And the columns, log densities of a row left out, are to be those of a model that lacks the row.

    Parameters
    ----------
    X, y, sample_weight : the rows that `fitted` was fitted to
    seed : of all draws

    Returns
    -------
    Four rows: density, mode and predictions of the weights, then their columns
    """
    training = fitted.training(X, y, sample_weight)
    rows = fitted.left_out(training)
    mode = minimise(rows, fitted.modes_[0], _MODE_GAIN).mode  # at the most probable scales

    # NumPyro's chains run on one vector (P,) of unconstrained parameters: log w, then B row by row.
    j = len(mode.w)
    flat_mode = np.concatenate([np.log(mode.w), mode.b.ravel()])

    def sites(flat: Any) -> dict[str, Any]:
        """Unconstrained parameters (…, P) cut into those of both sites, log w (…, j) and B (…, r, m)."""
        return {"w": flat[..., :j], "B": flat[..., j:].reshape(*flat.shape[:-1], *mode.b.shape)}

    def value(flat: np.ndarray) -> float:
        # −log posterior: NumPyro has ½ log 2π of each normal prior of B, which f leaves out.
        point = point_at(functools.partial(likelihood, rows), mode.moved(flat - flat_mode))
        return point.height + mode.b.size * np.log(2 * np.pi) / 2

    def proba(w: np.ndarray, B: np.ndarray) -> np.ndarray:
        return np.exp([rows.log_proba(w_of_draw, b_of_draw) for w_of_draw, b_of_draw in zip(w, B, strict=True)])

    # Laplace's approximation at the mode: its covariance (P, P), column by column, and draws.
    precision = precision_at(rows, mode, np.exp(rows.log_proba(mode.w, mode.b)))  # the Hessian of f, factored
    covariance = np.stack([precision.solve(unit) for unit in np.eye(len(flat_mode))])
    drawn = draw(rows, (replace(mode, share=1.0),), _N_DRAWS, seed)

    compared = compare_with_numpyro(
        "Weights",
        LaplaceAndTwin(
            model=functools.partial(numpyro_model, rows, mode.scales),
            sites=sites,
            value=value,
            mode=flat_mode,
            covariance=covariance,
            draws={"w": drawn.w, "B": drawn.b},
            proba=proba,
        ),
        seed,
    )
    worst = _worst_column(fitted, training, rows, seed)
    columns = CheckRow.within("16 Weights, columns", WEIGHTS_SAY, worst, _COLUMNS_DIFFER, "nats", EXACT, "")
    return [*compared[:3], columns]  # in place of the fourth, of intervals


def _worst_column(fitted: Any, training: TrainingRows, rows: Regression, seed: int) -> float:
    """Largest difference, in nats, of a left-out row's columns t from those of a model that never had the row.

    Parameters
    ----------
    fitted : the fitted `DiscriminativeNB`
    training, rows : its training rows, and what the regression reads of them: t of `rows` is compared, for a few rows
    seed : of the choice of these
    """
    # The rows as the model of single columns takes them: its columns are the first of t.
    model = fitted.models_[0]
    of_single_columns = fitted.layout_.columns(training.cells).single
    encoded, code = model.encode_labelled(of_single_columns, model.classes_[training.code])  # rows, and class numbers
    leaving = one_hot(code, len(model.classes_), training.leaving)  # (n, c): the weight that leaves, in its class

    # A few rows at random, without repetition; each is an array of one position, so that it selects a table of one row.
    shape = (min(_LEFT_OUT, len(code)), 1)
    worst = 0.0
    for i in generator(seed).choice(len(code), shape, replace=False):
        # The posterior of the prior and the statistics without the row, in place of the formulas of leave-one-out.
        row = rows_at(encoded, i)
        without = model.prior_.update(model.statistics_without(model.prior_.suffstats(row, leaving[i])))

        t = fitted.layout_.contrasts_of(without.log_parts(row, [*model.part_blocks().values()]))  # (1, c − 1, columns)
        worst = max(worst, float(abs(t - rows.t[i, :, : t.shape[2]]).max()))
    return worst
