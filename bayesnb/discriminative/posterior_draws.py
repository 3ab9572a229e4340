"""Draws of the weights of columns: a mode by its share, and Laplace's Gaussian around it, kept from the cliffs of f.

References
----------
Morzfeld, Tu, Atkins & Chorin (2012), A random map implementation of implicit filters, J. Comput. Phys. 231, for draws
that are moved.
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ..core.arrays import Float
from .softmax_regression import (
    AbstractPrecision,
    Regression,
    WeightsMode,
    fisher_matrix,
    height,
    likelihood,
    loss_of,
    point_at,
    precision_at,
)

_GUARD_ROWS = 2000  # that a draw is measured by, if there are more
_GUARD_ROWS_PER_PARAMETER = 10  # or so many
_LEAST_SHRINKAGE = 0.3  # of a step that is too long, at a time
_RISE = 2.0  # a draw may raise f by so many times what it does under the Gaussian


class Draws(NamedTuple):
    """Draws of the weights w and of B."""

    w: Float[np.ndarray, "s j"]
    b: Float[np.ndarray, "s r m"]


def draw(rows: Regression, modes: tuple[WeightsMode, ...], n: int, seed: int = 0) -> Draws:
    """n draws, a mode by its share, and Laplace's Gaussian around it.

    log w is lower by half its variance, so that the mean of w is the mode, as it is of a column that says nothing. A
    mode can be flat with a cliff beside it, where rows can be separated. A draw is therefore moved towards the mode
    until f has risen by no more than twice what it does under the Gaussian.
    """
    rng = np.random.default_rng(seed)
    chosen = rng.choice(len(modes), n, p=[mode.share for mode in modes])
    guard_rows = _guard_rows(rows)
    fisher = None
    if guard_rows is not rows:  # so many rows that all modes are near each other
        fisher = fisher_matrix(rows, np.exp(rows.log_proba(modes[0].w, modes[0].b)))
    draws: list[WeightsMode] = []
    for k, n_draws in zip(*np.unique(chosen, return_counts=True), strict=True):
        p = np.exp(rows.log_proba(modes[k].w, modes[k].b))
        precision = precision_at(rows, modes[k], p, fisher=fisher)
        guard = _guard(guard_rows, modes[k], guard_rows is not rows)
        draws += [_draw_near(guard, precision, rng) for _ in range(n_draws)]
    return Draws(np.stack([drawn.w for drawn in draws]), np.stack([drawn.b for drawn in draws]))


def _guard_rows(rows: Regression) -> Regression:
    """Rows that tell how much a draw raises f: all, or some whose weights stand for all."""
    _, m, _ = rows.t.shape
    n = max(_GUARD_ROWS, _GUARD_ROWS_PER_PARAMETER * rows.n_parameters // m)
    if rows.n_rows <= n:
        return rows
    chosen = np.sort(np.random.default_rng(0).permutation(rows.n_rows)[:n])
    sample = rows.take(chosen)
    scale = rows.weight.sum() / sample.weight.sum()
    return replace(sample, weight=sample.weight * scale)


class _Guard(NamedTuple):
    """f without its linear term about a mode, so that the mode is the lowest point of a sample of rows as well.

    Fields
    ------
    rows : that f is taken of
    mode, height : the mode, and f there
    tilt : (P,) ∂f/∂(w, B) of a sample of rows there; 0 of all rows
    """

    rows: Regression
    mode: WeightsMode
    height: float
    tilt: Float[np.ndarray, " p"]

    def rise(self, end: WeightsMode) -> float:
        """By how much f is higher than at the mode."""
        loss = loss_of(self.rows, self.rows.log_proba(end.w, end.b))
        return height(end, loss) - self.height - float(self.tilt @ (end.flat - self.mode.flat))


def _guard(rows: Regression, mode: WeightsMode, is_sample: bool) -> _Guard:
    lowest = point_at(lambda end: likelihood(rows, end), mode)
    tilt = lowest.gradient / mode.parameter_scale if is_sample else np.zeros(len(lowest.gradient))
    return _Guard(rows, mode, lowest.height, tilt)


def _draw_near(guard: _Guard, precision: AbstractPrecision, rng: np.random.Generator) -> WeightsMode:
    """A draw from Laplace's Gaussian around a mode, moved from the cliffs."""
    mode = guard.mode
    j = len(mode.w)
    step, quadratic_rise = precision.draw(rng)
    step[:j] -= precision.variances[:j] / 2
    rise = guard.rise(mode.moved(step))
    while rise > _RISE * quadratic_rise:
        step = step * max(np.sqrt(quadratic_rise / rise), _LEAST_SHRINKAGE)
        rise = guard.rise(mode.moved(step))
    return mode.moved(step)
