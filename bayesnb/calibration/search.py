"""Where a map's posterior may have modes: ends of many descents of f = −log p(y, θ).

A row is either explained by q or left to ε ρ, and each choice of the rows that are left may have a mode of its own. So
descents start

- at a grid of (u, logit ε), with O = 0 and no shifts,
- along a path: logit ε is fixed, f falls in the other parameters, and the next logit ε starts where this one ended.
  Upwards one row after the other is left to ε, downwards one after the other is explained,
- about the lowest end, at the distance of a draw of the posterior and beyond.

Paths and points about the lowest end are taken anew until they find nothing lower.

A descent is by L-BFGS, in coordinates in which f is round about the first end. That takes half of the steps.

References
----------
Blake & Zisserman (1987), Visual Reconstruction, for paths of a parameter. Wales & Doye (1997), J. Phys. Chem. A 101,
for descents about the lowest end. Liu & Nocedal (1989), Math. Programming 45, for L-BFGS.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..numerics.arrays import Float
from .map import CalibrationMap, Labelled

_UPWARDS = (-8.0, -4.0, -2.0, -1.0, 0.0, 1.0)  # values of logit ε
_DISTANCES = (2.0, 3.0, 1.0)  # of starts about the lowest end, in draws of the posterior
_FOR_EACH_END = 2  # points about the lowest end, for each distinct end and one more
_MAX_NEAR = 20  # and in all
_MAX_ROUNDS = 8  # of paths, and of points about the lowest end
_LOWER = 1e-3  # nats by which an end is lower than another
_APART = 0.01  # nats of f between ends that are counted as distinct
_FAR = 1e100  # f where numbers overflow
_LEAST_CURVATURE = 0.1  # of f about the first end
_PRECISE = {"ftol": 1e-7, "gtol": 1e-4, "maxiter": 200, "maxcor": 10}  # of a descent; relative to f
_COARSE = {"ftol": 1e-5, "gtol": 1e-3, "maxiter": 60, "maxcor": 10}  # of a step along a path


class End(NamedTuple):
    """Parameters θ (p,) where a descent ends, and f there."""

    theta: Float[np.ndarray, " p"]
    height: float


def ends_of_descents(
    calibration: CalibrationMap, rows: Labelled, starts: Iterable[Float[np.ndarray, " p"]]
) -> list[End]:
    """Where descents of f = −log posterior of a map end: from the starts, along paths of ε, and about the lowest end.

    A descent lowers f until it finds a minimum; its end is θ there, with f(θ) as its height. f may have several minima,
    and all are wanted. ε is the share of rows that the map leaves to the class frequencies. A path of ε, up or down, is
    a list of parameters: each has one fixed value of logit ε and fits the rows as well as it can with it. A descent
    with ε free then begins at each. Paths and points about the lowest end are taken anew until they find nothing lower.

    Parameters
    ----------
    calibration, rows : which make f: a model of the map, and the rows that it is fitted to
    starts : parameters θ (p,), at least one

    Returns
    -------
    ends in the order in which they were found, the same one perhaps several times
    """
    # The first descent is in units of the prior's widths. The curvature where it ends gives better coordinates.
    first_start, *other_starts = starts
    first = _descend(calibration, rows, first_start, np.diag(calibration.layout.width), _PRECISE)
    search = _Search.about(calibration, rows, first)
    ends = [first, *search.descents(other_starts)]  # `descents`: one end for each start

    for _ in range(_MAX_ROUNDS):
        # Descents from the points of a path upwards, which begins with the parameters of the lowest end.
        lowest = min(ends, key=lambda end: end.height)
        points_upwards = search.along(_UPWARDS, lowest)  # one point for each value of logit ε
        ends += search.descents(points_upwards)
        if _n_distinct(ends) == 1:  # nearly always there is no other
            break

        # If some end is another mode, also from a path downwards, and from random points about the lowest end.
        points_downwards = search.along(_UPWARDS[::-1], lowest)
        ends += search.descents(points_downwards)
        random_points = search.near(ends)
        ends += search.descents(random_points)
        if not _has_lower(ends, lowest):
            break
    return ends


@dataclass(frozen=True)
class _Search:
    """Descents of f in coordinates s, θ = start + root · s, in which it is round about a first end.

    Fields
    ------
    calibration, rows : which make f
    root : (p, p) symmetric root of H⁻¹
    root_of_others : (p, p) the same without logit ε, which then stays as it is
    """

    calibration: CalibrationMap
    rows: Labelled
    root: Float[np.ndarray, "p p"]
    root_of_others: Float[np.ndarray, "p p"]

    @classmethod
    def about(cls, calibration: CalibrationMap, rows: Labelled, first: End) -> "_Search":
        """A search in the coordinates of the Hessian H at an end: θ = start + H^−½ s.

        In s the Hessian at the end is H^−½ H H^−½ = I, so that f is equally curved in all directions.
        """
        curvature = calibration.derivatives(rows, first.theta).hessian
        root_of_others = np.zeros_like(curvature)
        root_of_others[:-1, :-1] = _root_of_inverse(curvature[:-1, :-1])  # logit ε is the last parameter
        return cls(calibration, rows, _root_of_inverse(curvature), root_of_others)

    def descents(self, starts: Iterable[Float[np.ndarray, " p"]]) -> list[End]:
        """The end of a descent from each start."""
        return [_descend(self.calibration, self.rows, start, self.root, _PRECISE) for start in starts]

    def along(self, path: tuple[float, ...], start: End) -> Iterator[Float[np.ndarray, " p"]]:
        """The parameters that fit each value of logit ε on a path, each found from the one before.

        Along the path one row after the other changes from being explained by the map to being left to ε, or back, so
        that f can fall into other minima than from a single start.

        Parameters
        ----------
        path : values of logit ε, in their order
        start : its other parameters begin the path
        """
        theta = start.theta
        for logit_eps in path:
            with_this_eps = np.append(theta[:-1], logit_eps)
            # The coordinates `root_of_others` do not move logit ε.
            theta = _descend(self.calibration, self.rows, with_this_eps, self.root_of_others, _COARSE).theta
            yield theta

    def near(self, ends: list[End]) -> Iterator[Float[np.ndarray, " p"]]:
        """Random points about the lowest end: more, the more distinct ends there are.

        They are the end plus a draw of Laplace's posterior about the first end, Normal(0, H⁻¹), times 2, 3 or 1 in
        turn. The random numbers are the same in each call.
        """
        rng = np.random.default_rng(0)
        lowest = min(ends, key=lambda end: end.height)
        n_points = min(_FOR_EACH_END * (1 + _n_distinct(ends)), _MAX_NEAR)
        for k in range(n_points):
            distance = _DISTANCES[k % len(_DISTANCES)]
            yield lowest.theta + distance * self.root @ rng.standard_normal(len(lowest.theta))


def _has_lower(ends: list[End], lowest: End) -> bool:
    """Whether an end is lower than the one that was the lowest, by more than rounding."""
    return min(end.height for end in ends) < lowest.height - _LOWER


def _n_distinct(ends: list[End]) -> int:
    """How many different values f has at the ends: sorted, a new one begins at each gap of more than 0.01 nats.

    Of the heights 5, 5.001, 7 there are two.
    """
    heights = np.sort([end.height for end in ends])
    return 1 + int((np.diff(heights) > _APART).sum())


def _descend(
    calibration: CalibrationMap,
    rows: Labelled,
    start: Float[np.ndarray, " p"],
    root: Float[np.ndarray, "p p"],
    options: dict[str, float],
) -> End:
    """Lower f = −log posterior of the parameters θ of a map by L-BFGS; the end is θ there, with f.

    It works in coordinates s, θ = start + root · s, in which f is about as curved in all directions: a descent then
    takes few steps.

    Parameters
    ----------
    calibration, rows : which make f: a model of the map, and the rows that it is fitted to
    start : θ where it begins, s = 0
    root : the coordinates. A parameter whose row is 0 stays as it is
    options : of SciPy's L-BFGS: when it ends
    """
    from scipy.optimize import minimize  # not at the top, as predictions need none of it

    def slope(s: Float[np.ndarray, " p"]) -> tuple[float, Float[np.ndarray, " p"]]:
        """f and its gradient in s, which is rootᵀ ∂f/∂θ."""
        height, gradient = calibration.slope(rows, start + root @ s)
        if not np.isfinite(height):
            return _FAR, np.zeros_like(s)
        return height, root.T @ gradient

    with np.errstate(over="ignore", invalid="ignore"):  # a step may be far too long: it is shortened
        result = minimize(slope, np.zeros(len(start)), jac=True, method="L-BFGS-B", options=options)
    return End(start + root @ result.x, float(result.fun))


def _root_of_inverse(hessian: Float[np.ndarray, "k k"]) -> Float[np.ndarray, "k k"]:
    """The symmetric root of H⁻¹; curvatures below `_LEAST_CURVATURE`, negative ones too, are taken for it."""
    # With H = V diag(c) Vᵀ the root is V diag(c)^−½ Vᵀ.
    curvature, vectors = np.linalg.eigh(hessian)
    return (vectors / np.sqrt(np.maximum(curvature, _LEAST_CURVATURE))) @ vectors.T
