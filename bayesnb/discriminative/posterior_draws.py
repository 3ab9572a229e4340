"""Draws of the weights of columns: a mode by its share, and Laplace's Gaussian around it, kept from the cliffs of f.

References
----------
Morzfeld, Tu, Atkins & Chorin (2012), A random map implementation of implicit filters, J. Comput. Phys. 231, for draws
that are moved.
"""

from typing import NamedTuple

import numpy as np

from ..core.arrays import Float
from .softmax_regression import AbstractPrecision, Point, Regression, WeightsMode, likelihood, point_at, precision_at

_GUARD_NUMBERS = 1 << 18  # of t and z of the rows that a draw is measured by
_LEAST_GUARD_ROWS = 10  # for each parameter
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
    draws: list[WeightsMode] = []
    for k, n_draws in zip(*np.unique(chosen, return_counts=True), strict=True):
        draws += _draws_around(rows, guard_rows, modes[k], int(n_draws), rng)
    return Draws(np.stack([drawn.w for drawn in draws]), np.stack([drawn.b for drawn in draws]))


def _guard_rows(rows: Regression) -> Regression:
    """Rows that tell how much a draw raises f: all, or some whose weights stand for all."""
    _, m, _ = rows.t.shape
    numbers_of_row = m * rows.t.shape[2] + rows.z.shape[1]
    n = max(_GUARD_NUMBERS // numbers_of_row, _LEAST_GUARD_ROWS * rows.n_parameters // m)
    if rows.n_rows <= n:
        return rows
    chosen = np.sort(np.random.default_rng(0).permutation(rows.n_rows)[:n])
    sample = rows.take(chosen)
    scale = rows.weight.sum() / sample.weight.sum()
    return Regression(sample.offset, sample.t, sample.z, sample.label, sample.weight * scale)


class _Guard(NamedTuple):
    """f without its linear term about a mode, so that the mode is the lowest point of a sample of rows as well."""

    rows: Regression
    lowest: Point
    tilt: Float[np.ndarray, " p"]

    def rise(self, end: WeightsMode) -> float:
        """By how much f is higher than at the mode."""
        there = point_at(lambda mode: likelihood(self.rows, mode), end)
        step = end.flat - self.lowest.mode.flat
        return there.height - self.lowest.height - float(self.tilt @ step)


def _guard(rows: Regression, mode: WeightsMode, is_sample: bool) -> _Guard:
    lowest = point_at(lambda there: likelihood(rows, there), mode)
    tilt = lowest.gradient / mode.parameter_scale if is_sample else np.zeros(len(lowest.gradient))
    return _Guard(rows, lowest, tilt)


def _draws_around(
    rows: Regression, guard_rows: Regression, mode: WeightsMode, n: int, rng: np.random.Generator
) -> list[WeightsMode]:
    """n draws from Laplace's Gaussian around a mode, moved from the cliffs."""
    precision: AbstractPrecision = precision_at(rows, mode, np.exp(rows.log_proba(mode.w, mode.b)))
    guard = _guard(guard_rows, mode, guard_rows is not rows)
    j = len(mode.w)
    variance_of_log_w = precision.variances()[:j]
    draws = []
    for _ in range(n):
        step, quadratic_rise = precision.draw(rng)
        step[:j] -= variance_of_log_w / 2
        rise = guard.rise(mode.moved(step))
        while rise > _RISE * quadratic_rise:
            step = step * max(np.sqrt(quadratic_rise / rise), _LEAST_SHRINKAGE)
            rise = guard.rise(mode.moved(step))
        draws.append(mode.moved(step))
    return draws
