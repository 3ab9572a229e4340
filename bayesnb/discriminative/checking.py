"""Rows of the check that compare the weights of columns with their columns, density, mode and NumPyro model."""

import functools
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ..check.laplace import EXACT, WEIGHTS_SAY, LaplaceAndTwin, compare_with_numpyro
from ..check.report import CheckRow
from ..numerics.arrays import Float
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
    """Four rows of a report that compare the weights of a fitted `DiscriminativeNB` with an independent computation.

    The model is a softmax regression p(y_i | x_i) with weights w of columns and coefficients B of a linear term. A
    column t_ij = log p(x_ij | y = c, D₋ᵢ) is the log density of a cell of row i, given all other rows D₋ᵢ. The rows of
    the report compare

    1. the density of w and B, with that of the same model in NumPyro;
    2. its mode, in the same way;
    3. the predictions of draws by Laplace's approximation, with those of draws by NUTS;
    4. the columns t, with those of a model from which the row was really removed.

    Parameters
    ----------
    fitted : the fitted `DiscriminativeNB`
    X, y, sample_weight : the rows that `fitted` was fitted to
    seed : of all draws
    """
    training = fitted.training(X, y, sample_weight)  # encoded cells, class numbers and weights; copies are one row
    rows = fitted.left_out(training)  # data of the regression: t, z of the linear term, labels, weights

    # The most probable w and B, and the scales of their priors, from those of the fit on.
    mode = minimise(rows, fitted.modes_[0], _MODE_GAIN).mode

    # 1 to 3. The fourth row of this comparison is about intervals, which Laplace's approximation does not promise.
    compared = compare_with_numpyro("Weights", _laplace_and_numpyro(rows, mode, seed), seed)

    # 4. The largest difference, in nats.
    worst = _worst_column(fitted, training, rows, seed)
    columns = CheckRow.within("16 Weights, columns", WEIGHTS_SAY, worst, _COLUMNS_DIFFER, "nats", EXACT, "")
    return [*compared[:3], columns]


def _laplace_and_numpyro(rows: Regression, mode: WeightsMode, seed: int) -> LaplaceAndTwin:
    """The posterior of the weights twice, to be compared: Laplace's approximation, and the same model in NumPyro.

    Parameters
    ----------
    rows : data of the softmax regression: columns t, linear term z, labels and weights
    mode : the most probable weights w and coefficients B, at some scales of their priors
    seed : of the draws of Laplace's approximation
    """
    weights = _FlatWeights(rows, mode)  # w and B as one vector (P,)

    # Laplace's approximation is a normal density around the mode. Its covariance is the inverse of the Hessian of
    # −log posterior at the mode. `solve(v)` is this inverse times v, so that unit vectors give its columns.
    hessian = precision_at(rows, mode, np.exp(rows.log_proba(mode.w, mode.b)))  # factored
    covariance = np.stack([hessian.solve(unit) for unit in np.eye(len(weights.mode_vector))])  # (P, P)

    # 200 draws of it. `draw` chooses among modes by their shares; here there is this mode only.
    only_mode = (replace(mode, share=1.0),)
    drawn = draw(rows, only_mode, _N_DRAWS, seed)
    return LaplaceAndTwin(
        model=functools.partial(numpyro_model, rows, mode.scales),
        sites=weights.sites,
        value=weights.value,
        mode=weights.mode_vector,
        covariance=covariance,
        draws={"w": drawn.w, "B": drawn.b},
        proba=weights.proba,
    )


class _FlatWeights(NamedTuple):
    """The parameters of the regression as one vector of P numbers: log w (j,), then B (r, m) row by row.

    Two columns and B = [[1, 2], [3, 4]] make the vector (log w_0, log w_1, 1, 2, 3, 4).

    Fields
    ------
    rows : data of the regression
    mode : the most probable w and B
    """

    rows: Regression
    mode: WeightsMode

    @property
    def mode_vector(self) -> Float[np.ndarray, " p"]:
        """The most probable parameters."""
        return np.concatenate([np.log(self.mode.w), self.mode.b.ravel()])

    def sites(self, vector: Any) -> dict[str, Any]:
        """Vectors (…, P) by the names in NumPyro's model: log w (…, j) and B (…, r, m)."""
        j = len(self.mode.w)
        return {"w": vector[..., :j], "B": vector[..., j:].reshape(*vector.shape[:-1], *self.mode.b.shape)}

    def value(self, vector: np.ndarray) -> float:
        """−log posterior of a vector (P,). f lacks ½ log 2π for each element of B, which NumPyro's density has."""
        point = point_at(functools.partial(likelihood, self.rows), self.mode.moved(vector - self.mode_vector))
        return point.height + self.mode.b.size * np.log(2 * np.pi) / 2

    def proba(self, w: np.ndarray, B: np.ndarray) -> np.ndarray:
        """Class probabilities of all rows at each of s draws of w and B, (s, n, c)."""
        return np.exp([self.rows.log_proba(w_of_draw, b_of_draw) for w_of_draw, b_of_draw in zip(w, B, strict=True)])


def _worst_column(fitted: Any, training: TrainingRows, rows: Regression, seed: int) -> float:
    """Largest difference, in nats, between a column t_ij = log p(x_ij | y = c, D₋ᵢ) of the fit and a real refit.

    The fit has t of all rows by formulas of leave-one-out. Here a few rows are really removed from the sums over rows
    that the densities are made of:

    1. the training rows and their class numbers, as the model of single columns takes them;
    2. for each of five rows, the model without it: sums over all rows minus the sums over this row;
    3. the log densities of the row by that model, as t.

    Parameters
    ----------
    fitted : the fitted `DiscriminativeNB`
    training : its training rows, encoded, with class numbers and weights
    rows : the same as data of the regression: `rows.t` is compared
    seed : of the choice of rows
    """
    # 1. Encoded rows are a table for each block of columns that share a prior; a column is made of one or more blocks.
    model = fitted.models_[0]
    of_single_columns = fitted.layout_.columns(training.cells).single
    encoded, code = model.model_.encode_labelled(of_single_columns, model.classes_[training.code])
    blocks_of_columns = [*model.model_.blocks_of_parts.values()]
    weight = one_hot(code, len(model.classes_), training.leaving)  # (n, c): what is removed of a row, in its class

    # Five different rows at random. The shape (5, 1) makes each `i` an array of one position, so that it selects a
    # table with one row.
    shape = (min(_LEFT_OUT, len(code)), 1)
    worst = 0.0
    for i in generator(seed).choice(len(code), shape, replace=False):
        # 2. `remaining` subtracts from the sums over all rows, and `update` makes a posterior of the prior and sums.
        row = rows_at(encoded, i)
        sums_of_row = model.prior_.suffstats(row, weight[i])
        without_row = model.prior_.update(model.model_.remaining(sums_of_row).estimate)

        # 3. log p of the cells of the row, (columns, 1, c). t has these c numbers as c − 1 *contrasts*, which say the
        # same up to a constant. Further columns of t are those of other models.
        tables = without_row.log_parts(row, blocks_of_columns)
        t = fitted.layout_.contrasts_of(tables)  # (1, c − 1, columns)
        t_of_fit = rows.t[i, :, : t.shape[2]]
        worst = max(worst, float(abs(t - t_of_fit).max()))
    return worst
