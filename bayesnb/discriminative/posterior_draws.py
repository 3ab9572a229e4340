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
from ..sums.rows import single_threaded_products
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


@single_threaded_products()  # as in `find_modes`
def draw(rows: Regression, modes: tuple[WeightsMode, ...], n: int, seed: int = 0) -> Draws:
    """n draws of the weights w and the coefficients B of the regression from an approximation of their posterior.

    For each draw

    1. one of the modes is chosen, each with the probability `share`;
    2. a step from the mode is drawn from a normal density of (log w, B), Laplace's approximation around the mode;
    3. the step is made shorter if it leads to where the posterior is much lower than the normal density says.

    Parameters
    ----------
    rows : training rows, to which the modes were fitted
    modes : the most probable w and B at some scales of their priors, with shares that add up to 1
    n : number of draws s
    seed : of the choice of modes and of the steps from them
    """
    # 1. Count how often each mode was chosen. Three draws of the modes 0, 2, 0 are two of mode 0 and one of mode 2.
    rng = np.random.default_rng(seed)
    chosen = rng.choice(len(modes), n, p=[mode.share for mode in modes])
    chosen_modes, counts = np.unique(chosen, return_counts=True)

    # With very many rows, step 3 looks at a random sample of them. All modes are then near each other, so that one
    # Hessian of the log loss, (P, P), serves for step 2 at all of them.
    measured_rows = _guard_rows(rows)  # all rows, or the sample
    is_sample = measured_rows is not rows
    fisher = None  # None: each mode has a Hessian of its own
    if is_sample:
        fisher = fisher_matrix(rows, np.exp(rows.log_proba(modes[0].w, modes[0].b)))

    draws: list[WeightsMode] = []
    for k, n_draws in zip(chosen_modes, counts, strict=True):
        mode = modes[k]
        p = np.exp(rows.log_proba(mode.w, mode.b))  # class probabilities, (n, c)
        precision = precision_at(rows, mode, p, fisher=fisher)  # Hessian of −log posterior at the mode, factored
        guard = _guard(measured_rows, mode, is_sample)  # its `rise(end)`: how much −log posterior is above the mode's

        # 2. and 3. Draw steps from this mode.
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
    """A draw of the parameters from a normal density around a mode, brought nearer if it is too improbable.

    The parameters are log w (j,), then B row by row: P in all. f is −log posterior, and the normal density is Laplace's
    approximation: its mean is the mode, its covariance the inverse of the Hessian of f.

    1. Draw a step from the mode.
    2. Correct the mean: the mean of w, not of log w, is to be at the mode.
    3. Compare the rise of f from the mode with that of a quadratic f, for which the normal density would be exact.
       While f rises by more than twice as much, the step is too long and is made shorter. This happens where the
       posterior is flat at the mode, and falls steeply beside it.

    Parameters
    ----------
    guard : the mode, and `rise(end)`: f at other parameters minus f at the mode
    precision : the Hessian of f at the mode, factored; `draw` gives a step, and `variances` those of the parameters
    rng : NumPy's generator
    """
    mode = guard.mode
    j = len(mode.w)

    # 1. A step (P,), and by how much a quadratic f would rise: ½ stepᵀ ∂²f step.
    drawn = precision.draw(rng)
    step = drawn.change
    quadratic_rise = drawn.rise

    # 2. If log w ~ N(m, v), then w has the mean exp(m + v/2). With m lower by v/2 it is exp(m).
    step[:j] -= precision.variances[:j] / 2

    # 3. k times the step would make a quadratic f rise by k² times as much: k = √(quadratic rise / rise) is tried. As f
    # is not quadratic, this is repeated; and as a steep f would make k far too small, k is at least 0.3.
    rise = guard.rise(mode.moved(step))  # `moved` gives the parameters at the end of the step
    while rise > _RISE * quadratic_rise:
        k = np.sqrt(quadratic_rise / rise)
        step = step * max(k, _LEAST_SHRINKAGE)
        rise = guard.rise(mode.moved(step))
    return mode.moved(step)
