"""The modes of a map's posterior, and Laplace's approximation about each.

With f = −log p(y, θ) and its Hessian H at a mode θ̂

    log p(y) ≈ −f(θ̂) + ½ p log 2π − ½ log det H,   θ given y ≈ Normal(θ̂, H⁻¹)

f need not be convex: `search` looks for all of its modes, and Newton's method ends each descent. The mode where f is
least need not be the one of the largest evidence, so each is kept whose evidence is not below e⁻⁵ of the largest.

The prior is restricted to increasing maps, see `map`. The share of these among the draws about a mode multiplies its
evidence, the share among draws of the prior divides it, and only these are drawn. A mode with next to none of them is
left out.

A mode can be flat with a cliff beside it. A draw is therefore moved towards the mode until f has risen by no more than
|s|²/2, as it does under the Gaussian.

References
----------
MacKay (1992), The evidence framework applied to classification networks, Neural Computation 4.
Morzfeld, Tu, Atkins & Chorin (2012), A random map implementation of implicit filters, J. Comput. Phys. 231.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy import linalg
from scipy.special import logsumexp, softmax

from ..numerics.arrays import Float, Int
from .map import CalibrationMap, Derivatives, Labelled
from .search import End, ends_of_descents

_MAX_STEPS = 100  # of Newton's method
_LONGEST_STEP = 2.0  # in any parameter
_LEAST_CURVATURE = 1e-3  # of f, that a step of Newton's method takes for granted
_TINY = 1e-300  # instead of no step at all
_LEAST_GAIN = 1e-12  # nats that a step is expected to gain, below which a mode is reached
_HOPELESS = 50.0  # nats of f above the lowest mode, where no other is looked for
_NOT_LOWER = 1e-3  # nats
_SAME_MODE = 0.5  # f at one mode under the Gaussian about another, in nats: below, the two are one
_LEAST_MODE_CURVATURE = 0.1  # at a mode: a prior's precision is larger, but the likelihood may take some away
_EVIDENCE_RANGE = 5.0  # nats below the largest evidence, within which a mode is kept
_MAX_SHORTER = 8  # times that a draw is moved towards the mode
_ALLOWED_RISE = 1.1  # of f at a draw, in parts of |s|²/2
_N_SHARE_DRAWS = 1_000  # about a mode, by which the share of increasing maps is known to .015
_LEAST_INCREASING = 0.05  # of the draws about a mode, below which the mode is left out


class Point(NamedTuple):
    """Parameters θ (p,) with f, its gradient and its Hessian there."""

    theta: Float[np.ndarray, " p"]
    derivatives: Derivatives


@dataclass(frozen=True, eq=False)
class Laplace:
    """The posterior of a map about one of its modes.

    Fields
    ------
    calibration, rows : which make f
    mode : (p,) θ̂
    root : (p, p) symmetric root of H⁻¹
    height : f(θ̂)
    log_evidence : −f(θ̂) − ½ log det H: without ½ p log 2π, which the normaliser of a Gaussian prior cancels
    """

    calibration: CalibrationMap
    rows: Labelled
    mode: Float[np.ndarray, " p"]
    root: Float[np.ndarray, "p p"]
    height: float
    log_evidence: float

    @cached_property
    def log_increasing_evidence(self) -> float:
        """The log evidence of this mode under the prior of increasing maps alone; −inf where they are next to none.

        An increasing map never lowers the odds of a class as its probability rises. Restricting the prior to these maps
        multiplies the evidence by the posterior share of them and divides it by their prior share.
        """
        # The posterior share, by 1,000 draws θ̂ + H^−½ s of the Gaussian about the mode, with the same s in each call.
        normals = np.random.default_rng(0).standard_normal((_N_SHARE_DRAWS, len(self.mode)))
        share = self.calibration.is_increasing(self.mode + normals @ self.root).mean()
        if share < _LEAST_INCREASING:
            return -np.inf
        return self.log_evidence + float(np.log(share)) - self.calibration.log_increasing_share

    def value(self, theta: Float[np.ndarray, " p"]) -> float:
        """f at other parameters."""
        return self.calibration.value(self.rows, theta)

    def increasing_draws(self, n_draws: int, rng: np.random.Generator) -> list[Float[np.ndarray, " p"]]:
        """Draws that are increasing maps, of pairs s and −s of standard normal numbers.

        The mean of a pair is the mode, so that means over the draws have less noise (antithetic variates).

        Parameters
        ----------
        n_draws : how many draws are returned, each (p,)
        rng : source of the normal numbers
        """
        # Rejection: maps that are not increasing are dropped, so that it takes several rounds, each of as many pairs as
        # are still missing.
        draws: list[Float[np.ndarray, " p"]] = []
        while len(draws) < n_draws:
            half = rng.standard_normal(((n_draws - len(draws) + 1) // 2, len(self.mode)))
            normals = np.concatenate([half, -half])
            is_increasing = self.calibration.is_increasing(self.mode + normals @ self.root)
            draws += [self._increasing_draw(s) for s in normals[is_increasing]]
        return draws[:n_draws]

    def _increasing_draw(self, s: Float[np.ndarray, " p"]) -> Float[np.ndarray, " p"]:
        """The draw of normals s, or the Gaussian's where a step towards the mode would leave the increasing maps."""
        theta = self.draw(s)
        return theta if self.calibration.is_increasing(theta[None])[0] else self.mode + self.root @ s

    def draw(self, s: Float[np.ndarray, " p"]) -> Float[np.ndarray, " p"]:
        """A draw of the parameters θ from Laplace's Gaussian, θ̂ + H^−½ s, for standard normal numbers s.

        H is the Hessian of f = −log posterior at the mode, and `root` is H^−½. The draw is moved towards the mode θ̂
        until f is higher than at the mode by about |s|²/2 at most, as it is under the Gaussian.
        """
        step = self.root @ s
        expected_rise = 0.5 * s @ s
        for _ in range(_MAX_SHORTER):
            rise = self.value(self.mode + step) - self.height
            if rise <= _ALLOWED_RISE * expected_rise:
                break

            # If f is quadratic along the step, a step t times as long rises t² as much, so that t = √(expected / rise)
            # makes its rise the expected one. It is at least 0.3.
            step = step * max(np.sqrt(expected_rise / rise), 0.3)
        return self.mode + step


class LaplaceMixture(NamedTuple):
    """The posterior of a map as the sum of those about its modes, restricted to increasing maps."""

    modes: list[Laplace]

    @property
    def log_evidence(self) -> float:
        """log p(y): the evidences of the modes add up."""
        return float(logsumexp([mode.log_increasing_evidence for mode in self.modes]))

    def draws(self, n_draws: int, rng: np.random.Generator) -> Float[np.ndarray, "s p"]:
        """Draws about each mode in proportion to its evidence, all of them increasing maps, (n_draws, p).

        The evidence of a mode is the part of p(y) that lies about it, so its share is the posterior probability that θ
        is about this mode.
        """
        n_parameters = len(self.modes[0].mode)
        if n_draws == 0:
            return np.zeros((0, n_parameters))

        # `shared_draws` gives the number of draws about each mode.
        share = softmax([mode.log_increasing_evidence for mode in self.modes])
        draws: list[Float[np.ndarray, " p"]] = []
        for mode, size in zip(self.modes, shared_draws(share, n_draws), strict=True):
            draws += mode.increasing_draws(int(size), rng)
        return np.array(draws)


def shared_draws(share: Float[np.ndarray, " k"], n_draws: int) -> Int[np.ndarray, " k"]:
    """How many of the draws each share gets; rounding the cumulative shares makes the numbers add up to `n_draws`.

    Of 5 draws the shares 0.5 0.3 0.2 have the cumulative numbers 2.5 4 5, rounded 2 4 5, and so get 2 2 1.
    """
    return np.diff(np.round(np.cumsum(share) * n_draws).astype(int), prepend=0)


def posterior_modes(
    calibration: CalibrationMap, rows: Labelled, starts: Iterable[Float[np.ndarray, " p"]]
) -> list[Laplace]:
    """Laplace's approximation about each mode of the posterior of a map's parameters θ, the largest evidence first.

    Parameters
    ----------
    calibration : the model of the map, with its prior
    rows : log probabilities and labels that it is fitted to
    starts : θ from which descents of f = −log posterior begin; `search` adds more of them
    """
    ends = sorted(ends_of_descents(calibration, rows, starts), key=lambda end: end.height)

    # Ends of descents, the lowest first; each is an approximate minimum of f, θ with its height f(θ). Newton's method
    # takes it to the mode, but not where it is beside a mode that is there already, or 50 nats above the lowest.
    points: list[Point] = []
    for end in ends:
        if end.height < ends[0].height + _HOPELESS and not _is_near_a_mode(end, points):
            points.append(_mode_from(calibration, rows, end.theta))
    posteriors = [_laplace(calibration, rows, point) for point in _distinct_points(points)]
    return sorted(posteriors, key=lambda posterior: -posterior.log_evidence)


def laplace_about(calibration: CalibrationMap, rows: Labelled, theta: Float[np.ndarray, " p"]) -> Laplace:
    """The posterior about the mode that Newton's method reaches from θ."""
    return _laplace(calibration, rows, _mode_from(calibration, rows, theta))


def heavy_modes(posteriors: list[Laplace]) -> list[Laplace]:
    """Those whose evidence is within 5 nats of the largest."""
    largest = max(posterior.log_evidence for posterior in posteriors)
    return [posterior for posterior in posteriors if posterior.log_evidence >= largest - _EVIDENCE_RANGE]


def _distinct_points(points: list[Point]) -> list[Point]:
    """The points from the lowest f on, without those that are within the Gaussian about a lower one.

    Newton's method may lead from two ends to the same mode; one point of it is kept.
    """
    chosen: list[Point] = []
    for point in sorted(points, key=lambda point: point.derivatives.height):
        if not _is_near_a_mode(End(point.theta, point.derivatives.height), chosen):
            chosen.append(point)
    return chosen


def _is_near_a_mode(end: End, modes: list[Point]) -> bool:
    """Whether an end of a descent is within the Gaussian about a mode, and so leads to the same mode.

    It is if f would rise by less than 0.5 from the mode to the end, were f quadratic. An end that is lower than the
    mode leads elsewhere.
    """
    for mode in modes:
        is_as_high = end.height > mode.derivatives.height - _NOT_LOWER
        if is_as_high and _gaussian_rise(mode, end.theta) < _SAME_MODE:
            return True
    return False


def _gaussian_rise(mode: Point, theta: Float[np.ndarray, " p"]) -> float:
    """½ (θ − θ̂)ᵀ H (θ − θ̂): by how much f rises from the mode to θ, were it quadratic."""
    difference = theta - mode.theta
    return float(0.5 * difference @ mode.derivatives.hessian @ difference)


def _mode_from(calibration: CalibrationMap, rows: Labelled, theta: Float[np.ndarray, " p"]) -> Point:
    """The mode of f = −log p(y, θ) that Newton's method with damping reaches from θ.

    After Levenberg and Marquardt: a step that lowers f is taken and damping falls to a tenth; one that does not is
    refused, and tenfold damping makes the next step shorter and closer to the steepest descent. The first damping after
    none is a tenth of the size of the Hessian: of its largest row sum, which no eigenvalue exceeds.

    Parameters
    ----------
    calibration, rows : which make f: a model of the map, and the rows that it is fitted to
    theta : (p,) parameters where the search begins
    """
    point = _point(calibration, rows, theta)  # θ, with f, its gradient and its Hessian
    damping = 0.0  # what is added to the diagonal of the Hessian
    for _ in range(_MAX_STEPS):
        gradient = point.derivatives.gradient
        hessian = point.derivatives.hessian

        # Newton's step −(|H| + damping)⁻¹ ∇f, shortened so that no parameter moves by more than 2.
        step = _newton_step(hessian, gradient, damping)
        step *= min(1.0, _LONGEST_STEP / max(abs(step).max(), _TINY))

        # A step with next to no gain is the last one: whether it lowers f is lost in rounding.
        if -(gradient @ step) < _LEAST_GAIN:
            return _point(calibration, rows, point.theta + step)

        # f at the end of the step against f where it began: take the step, or damp the next one more.
        if calibration.value(rows, point.theta + step) < point.derivatives.height:
            point = _point(calibration, rows, point.theta + step)
            damping /= 10
        else:
            largest_row_sum = float(np.linalg.norm(hessian, np.inf))
            damping = max(10 * damping, 0.1 * largest_row_sum)
    return point


def _point(calibration: CalibrationMap, rows: Labelled, theta: Float[np.ndarray, " p"]) -> Point:
    """θ with f, its gradient and its Hessian there."""
    return Point(theta, calibration.derivatives(rows, theta))


def _newton_step(
    hessian: Float[np.ndarray, "k k"], gradient: Float[np.ndarray, " k"], damping: float
) -> Float[np.ndarray, " k"]:
    """Newton's step −(|H| + damping)⁻¹ ∇f, which leads downwards where f is not convex too.

    |H| has the eigenvectors of the Hessian H, and the absolute values of its eigenvalues. With H = V diag(c) Vᵀ the
    step is −V diag(1 / (|c| + damping)) Vᵀ ∇f; |c| is at least 1e-3, so that no step is endless.
    """
    # Where f is convex |H| = H, and Cholesky's method is enough.
    try:
        factor = linalg.cho_factor(hessian + damping * np.eye(len(gradient)))
        return -linalg.cho_solve(factor, gradient)
    except linalg.LinAlgError:  # not convex there
        curvature, vectors = np.linalg.eigh(hessian)
        damped = np.maximum(abs(curvature), _LEAST_CURVATURE) + damping
        return -vectors @ ((vectors.T @ gradient) / damped)


def _laplace(calibration: CalibrationMap, rows: Labelled, point: Point) -> Laplace:
    """Laplace's approximation of a map's posterior about a mode θ̂: Normal(θ̂, H⁻¹), and its evidence.

    H is the Hessian of f = −log posterior. With H = V diag(c) Vᵀ, the root of H⁻¹ is V diag(c)^−½ Vᵀ, and log det H is
    Σ log c. An eigenvalue c below 0.1 is taken for 0.1.

    Parameters
    ----------
    calibration, rows : which make f: a model of the map, and the rows that it is fitted to
    point : θ̂ with f and H there
    """
    height = point.derivatives.height  # f
    curvature, vectors = np.linalg.eigh(point.derivatives.hessian)
    curvature = np.maximum(curvature, _LEAST_MODE_CURVATURE)
    return Laplace(
        calibration,
        rows,
        mode=point.theta,
        root=(vectors / np.sqrt(curvature)) @ vectors.T,  # symmetric: a vector's sign would change all draws
        height=height,
        log_evidence=float(-height - 0.5 * np.log(curvature).sum()),
    )
