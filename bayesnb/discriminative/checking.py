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
    """The comparisons of a fitted `DiscriminativeNB`."""
    training = fitted.training(X, y, sample_weight)
    rows = fitted.left_out(training)
    mode = minimise(rows, fitted.modes_[0], _MODE_GAIN).mode
    j = len(mode.w)
    flat = np.concatenate([np.log(mode.w), mode.b.ravel()])

    def sites(at: Any) -> dict[str, Any]:
        return {"w": at[..., :j], "B": at[..., j:].reshape(*at.shape[:-1], *mode.b.shape)}

    def value(at: np.ndarray) -> float:
        point = point_at(functools.partial(likelihood, rows), mode.moved(at - flat))
        return point.height + mode.b.size * np.log(2 * np.pi) / 2

    def proba(w: np.ndarray, B: np.ndarray) -> np.ndarray:
        return np.exp([rows.log_proba(*draws) for draws in zip(w, B, strict=True)])

    precision = precision_at(rows, mode, np.exp(rows.log_proba(mode.w, mode.b)))
    covariance = np.stack([precision.solve(unit) for unit in np.eye(len(flat))])
    drawn = draw(rows, (replace(mode, share=1.0),), _N_DRAWS, seed)
    compared = compare_with_numpyro(
        "Weights",
        LaplaceAndTwin(
            model=functools.partial(numpyro_model, rows, mode.scales),
            sites=sites,
            value=value,
            mode=flat,
            covariance=covariance,
            draws={"w": drawn.w, "B": drawn.b},
            proba=proba,
        ),
        seed,
    )
    worst = _worst_column(fitted, training, rows, seed)
    columns = CheckRow.within("16 Weights, columns", WEIGHTS_SAY, worst, _COLUMNS_DIFFER, "nats", EXACT, "")
    return [*compared[:3], columns]


def _worst_column(fitted: Any, training: TrainingRows, rows: Regression, seed: int) -> float:
    """Largest difference of a column of a row from the model made of the statistics without the row, nats."""
    model = fitted.models_[0]
    encoded, code = model.encode_labelled(fitted.layout_.columns(training.cells)[0], model.classes_[training.code])
    leaving = one_hot(code, len(model.classes_), training.leaving)
    worst = 0.0
    for i in generator(seed).choice(len(code), (min(_LEFT_OUT, len(code)), 1), replace=False):
        row = rows_at(encoded, i)
        without = model.prior_.update(model.statistics_without(model.prior_.suffstats(row, leaving[i])))
        t = fitted.layout_.contrasts_of(without.log_parts(row, [*model.part_blocks().values()]))
        worst = max(worst, float(abs(t - rows.t[i, :, : t.shape[2]]).max()))
    return worst
