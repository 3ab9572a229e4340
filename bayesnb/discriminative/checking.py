"""Rows of the check that compare the weights of columns with their columns, density, mode and NumPyro model."""

import functools
from dataclasses import replace
from typing import Any

import numpy as np

from ..check.laplace import EXACT, WEIGHTS_SAY, LaplaceAndTwin, compare_with_numpyro
from ..check.report import CheckRow
from ..numerics.random import generator
from ..sums.rows import rows_at
from ..sums.statistics import one_hot
from .posterior_draws import draw
from .softmax_regression import (
    Regression,
    WeightsMode,
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

    The model is a softmax regression p(y_i | x_i) with weights w of columns and coefficients B of a linear term. Its
    columns are log densities t_ij = log p(x_ij | y = c, D₋ᵢ) of the cells of row i given all other rows.

    Parameters
    ----------
    fitted : the fitted `DiscriminativeNB`
    X, y, sample_weight : the rows that `fitted` was fitted to
    seed : of all draws

    Returns
    -------
    Four rows: density, mode and predictions of the weights, then their columns
    """
    training = fitted.training(X, y, sample_weight)  # encoded cells, class numbers and weights; copies are one row
    rows = fitted.left_out(training)  # what the regression reads: t, z, labels; each row left out of its own t
    mode = minimise(rows, fitted.modes_[0], _MODE_GAIN).mode  # w, B and the scales of their priors

    # Four rows of a report: densities, modes, predictions and intervals of Laplace's approximation and of NumPyro. The
    # last is left out.
    compared = compare_with_numpyro("Weights", _laplace_and_numpyro(rows, mode, seed), seed)
    worst = _worst_column(fitted, training, rows, seed)
    columns = CheckRow.within("16 Weights, columns", WEIGHTS_SAY, worst, _COLUMNS_DIFFER, "nats", EXACT, "")
    return [*compared[:3], columns]


def _laplace_and_numpyro(rows: Regression, mode: WeightsMode, seed: int) -> LaplaceAndTwin:
    """Laplace's approximation of the posterior of the weights, and NumPyro's model of them, to be compared.

    Both take the parameters as one vector of P numbers, log w (j,) and then B (r, m) row by row.

    Parameters
    ----------
    rows : that the weights are fitted to
    mode : the most probable w and B at some scales of their priors
    seed : of the draws of Laplace's approximation
    """
    j = len(mode.w)
    flat_mode = np.concatenate([np.log(mode.w), mode.b.ravel()])  # (P,)

    def sites(flat: Any) -> dict[str, Any]:
        """The parameters (…, P) by their names in NumPyro's model: log w (…, j) and B (…, r, m)."""
        return {"w": flat[..., :j], "B": flat[..., j:].reshape(*flat.shape[:-1], *mode.b.shape)}

    def value(flat: np.ndarray) -> float:
        """−log posterior at (log w, B): f, and ½ log 2π of each element of B, which f leaves out of its prior."""
        point = point_at(functools.partial(likelihood, rows), mode.moved(flat - flat_mode))
        return point.height + mode.b.size * np.log(2 * np.pi) / 2

    def proba(w: np.ndarray, B: np.ndarray) -> np.ndarray:
        """Class probabilities of all rows at each of s draws, (s, n, c)."""
        return np.exp([rows.log_proba(w_of_draw, b_of_draw) for w_of_draw, b_of_draw in zip(w, B, strict=True)])

    # Laplace's approximation is a normal density of (log w, B). Its covariance is the inverse of the Hessian of f:
    # `solve` of each unit vector gives one column of it.
    precision = precision_at(rows, mode, np.exp(rows.log_proba(mode.w, mode.b)))  # the Hessian of f, factored
    covariance = np.stack([precision.solve(unit) for unit in np.eye(len(flat_mode))])  # (P, P)

    # `draw` chooses among modes by their shares: here there is this one only.
    only_mode = (replace(mode, share=1.0),)
    drawn = draw(rows, only_mode, _N_DRAWS, seed)
    return LaplaceAndTwin(
        model=functools.partial(numpyro_model, rows, mode.scales),
        sites=sites,
        value=value,
        mode=flat_mode,
        covariance=covariance,
        draws={"w": drawn.w, "B": drawn.b},
        proba=proba,
    )


def _worst_column(fitted: Any, training: TrainingRows, rows: Regression, seed: int) -> float:
    """Largest difference, in nats, of a left-out row's columns t from those of a model that never had the row.

    Parameters
    ----------
    fitted : the fitted `DiscriminativeNB`
    training, rows : its training rows, and what the regression reads of them: t of `rows` is compared, for a few rows
    seed : of the choice of these
    """
    # The rows as the model of single columns takes them: its log densities are the first columns of t. Encoded rows are
    # arrays by the name of a block, which is the columns that share one conjugate prior.
    model = fitted.models_[0]
    of_single_columns = fitted.layout_.columns(training.cells).single
    # rows, and class numbers
    encoded, code = model.model_.encode_labelled(of_single_columns, model.classes_[training.code])
    leaving = one_hot(code, len(model.classes_), training.leaving)  # (n, c): the weight that leaves, in its class
    blocks_of_columns = [*model.model_.blocks_of_parts.values()]  # names of the blocks that make each column

    # Five rows at random, or all if there are fewer, without repetition. With the shape (5, 1) each `i` is an array of
    # one position, which selects a table of one row, where a number would select the row without its axis.
    shape = (min(_LEFT_OUT, len(code)), 1)
    worst = 0.0
    for i in generator(seed).choice(len(code), shape, replace=False):
        # The model without row i: the statistics of this row are subtracted from those of all rows, and the prior is
        # updated by the difference. No formula of leave-one-out is used, so that this is an independent check.
        row = rows_at(encoded, i)
        statistics_of_row = model.prior_.suffstats(row, leaving[i])
        without_row = model.prior_.update(model.model_.remaining(statistics_of_row).estimate)

        # log p of the cells of the row under each column's density, (columns, 1, c). Their contrasts, c − 1 numbers
        # that say the same up to a constant, should be the first columns of t.
        tables = without_row.log_parts(row, blocks_of_columns)
        t = fitted.layout_.contrasts_of(tables)  # (1, c − 1, columns)
        t_of_regression = rows.t[i, :, : t.shape[2]]
        worst = max(worst, float(abs(t - t_of_regression).max()))
    return worst
