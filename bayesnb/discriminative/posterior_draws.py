"""Draws of the weights of columns: a mode by its share, and Laplace's Gaussian around it, kept from the cliffs of f.

References
----------
Morzfeld, Tu, Atkins & Chorin (2012), A random map implementation of implicit filters, J. Comput. Phys. 231, for draws
that are moved.
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ..numerics.arrays import Float
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
    """n draws of the weights w and B: a mode by its share, and Laplace's Gaussian of (log w, B) around it.

    log w is lower by half its variance, so that the mean of w is the mode, as it is of a column that says nothing. A
    mode can be flat with a cliff beside it, where rows can be separated. A draw is therefore moved towards the mode
    until f = −log posterior has risen by no more than twice what it does under the Gaussian.

    Parameters
    ----------
    rows : training rows, as the modes were fitted to them
    modes : the modes at some scales of the prior, with shares that add up to 1
    n : number of draws s
    seed : of the choice of modes and of the steps from them
    """
    rng = np.random.default_rng(seed)
    chosen = rng.choice(len(modes), n, p=[mode.share for mode in modes])  # (s,) numbers of modes

    # How far a draw may be from the mode is measured by all rows, or by a random sample of very many. With so many rows
    # all modes are near each other, and one Hessian of the log loss, (P, P), is made for all of them.
    guard_rows = _guard_rows(rows)
    is_sample = guard_rows is not rows
    fisher = None
    if is_sample:
        fisher = fisher_matrix(rows, np.exp(rows.log_proba(modes[0].w, modes[0].b)))

    # Mode after mode: three draws of the modes 0, 2, 0 are made as two of mode 0 and one of mode 2.
    draws: list[WeightsMode] = []
    mode_numbers, counts = np.unique(chosen, return_counts=True)  # 0 2, and 2 1 in the example
    for k, n_draws in zip(mode_numbers, counts, strict=True):
        mode = modes[k]
        p = np.exp(rows.log_proba(mode.w, mode.b))  # (n, c)
        precision = precision_at(rows, mode, p, fisher=fisher)  # the Hessian of f = −log posterior, factored
        guard = _guard(guard_rows, mode, is_sample)  # tells how much f rises from the mode to a draw
        for _ in range(n_draws):
            draws.append(_draw_near(guard, precision, rng))
    return Draws(w=np.stack([drawn.w for drawn in draws]), b=np.stack([drawn.b for drawn in draws]))


def _guard_rows(rows: Regression) -> Regression:
    """Rows by which it is measured how much less probable a draw is than the mode.

    They are all rows; or a random sample of very many, always the same, with weights that add up to those of all.

    Parameters
    ----------
    rows : all training rows: t (n, m, j), z (n, r), labels and weights
    """
    # The log odds of a row are m = c − 1 numbers that its label tells of. So n rows tell of n · m numbers, and there
    # should be ten for each parameter.
    _, m, _ = rows.t.shape
    n = max(_GUARD_ROWS, _GUARD_ROWS_PER_PARAMETER * rows.n_parameters // m)
    if rows.n_rows <= n:
        return rows

    chosen = np.sort(np.random.default_rng(0).permutation(rows.n_rows)[:n])
    sample = rows.take(chosen)
    scale = rows.weight.sum() / sample.weight.sum()
    return replace(sample, weight=sample.weight * scale)


class _Guard(NamedTuple):
    """How much f = −log posterior rises from a mode, by some rows, with the slope taken off that f has at the mode.

    A sample of rows has its own mode elsewhere. Without the slope f is lowest at the mode of all rows as well.

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
        """By how much f, without its linear term about the mode, is higher at `end` than at the mode."""
        loss = loss_of(self.rows, self.rows.log_proba(end.w, end.b))
        return height(end, loss) - self.height - float(self.tilt @ (end.flat - self.mode.flat))


def _guard(rows: Regression, mode: WeightsMode, is_sample: bool) -> _Guard:
    """What tells how much f = −log posterior rises from a mode, by some rows.

    Parameters
    ----------
    rows : that f is taken of
    mode : w and B, the most probable ones by all rows
    is_sample : whether these are not all rows, to which the mode was fitted. Then f has a slope at the mode, which is
        taken off: f is convex in w and B, so that without its slope it is lowest there
    """
    lowest = point_at(lambda end: likelihood(rows, end), mode)  # f and its gradient in (log w, B)

    # The slope in w and B. By the chain rule ∂f/∂log w = ∂f/∂w · ∂w/∂log w = ∂f/∂w · w; `parameter_scale` has w for
    # the weights and 1 for B. All rows have no slope at their mode.
    tilt = lowest.gradient / mode.parameter_scale if is_sample else np.zeros(len(lowest.gradient))
    return _Guard(rows, mode, lowest.height, tilt)


def _draw_near(guard: _Guard, precision: AbstractPrecision, rng: np.random.Generator) -> WeightsMode:
    """A draw from Laplace's Gaussian around a mode, moved towards the mode where f rises more than the Gaussian says.

    f = −log posterior of the parameters log w (j,), then B row by row: P in all. Laplace's Gaussian has its mean at the
    mode, and the inverse of the Hessian of f as its covariance.

    Parameters
    ----------
    guard : the mode, and `rise`, which gives by how much f is higher at other parameters than at the mode
    precision : the Hessian of f at the mode, factored; it draws from the Gaussian and knows its variances
    rng : NumPy's generator
    """
    mode = guard.mode
    j = len(mode.w)
    drawn = precision.draw(rng)  # from N(0, (∂²f)⁻¹)
    step = drawn.change  # (P,) the change of log w and of B
    quadratic_rise = drawn.rise  # of f, were it the quadratic function of the Gaussian

    # log w ~ N(m, v) makes w lognormal, whose mean is exp(m + v/2). With m lower by v/2 the mean of w is its mode.
    step[:j] -= precision.variances[:j] / 2

    # A draw is too far out if f rises by more than twice what the Gaussian says, as where a cliff is beside a flat
    # mode. Then the step is shortened. If f were quadratic, a step k times as long would rise k² times as much, so that
    # k = √(quadratic rise / rise) would give the rise of the Gaussian at once. f is not quadratic, so this is repeated;
    # and a cliff would make k far too small, so that it is at least .3.
    rise = guard.rise(mode.moved(step))
    while rise > _RISE * quadratic_rise:
        k = np.sqrt(quadratic_rise / rise)
        step = step * max(k, _LEAST_SHRINKAGE)
        rise = guard.rise(mode.moved(step))
    return mode.moved(step)
