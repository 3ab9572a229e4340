"""Modes on a lattice of the scales (s, ρ) of the prior, and the share of each in the prediction.

A point has a share in proportion to (Z p(s) p(ρ) Π_i p(y_i | D₋ᵢ)^v_i)^¼. Where few rows can be separated, the
evidence alone takes scales that are far too large: there the mode, which predicts, is sure, and only the posterior
around it is not. Leave-one-out alone is too optimistic where columns outnumber rows. The lattice is searched from its
middle outwards while a neighbour matters.

Where rows tell much, one look at all of them is enough for the whole lattice. Around a mode the likelihood is

    loss(θ) ≈ loss + gᵀ(θ − θ₀) + ½ (θ − θ₀)ᵀ H (θ − θ₀)        H = Σ_i F_iᵀ S_i F_i

which gives the mode at any other scales in P³ operations, and leave-one-out by Takeuchi's correction

    Σ_i v_i log p(y_i | D₋ᵢ) ≈ −loss − tr J (∂²f)⁻¹             J = Σ_i v_i l_i ∇_i ∇_iᵀ

with ∇_i the gradient of −log p_i,y(i) and l_i the weight that leaves. Only modes that have a share are then found from
all rows, by chords: steps of Newton's method with true gradients and the matrix H.

The expansion is for leverages that are small. They add up to tr H (∂²f)⁻¹ < P, and the rows that are not certain share
them: I = Σ_i v_i (1 − Σ_c p_ic²) is their number, at most half of a row of two classes each. Where I is below 3 P an
average undecided row may have a leverage above ⅙, one step without it changes p by more than a sixth of its residual,
and the second order is no longer enough. Then each point is for itself, as it is with groups or few rows.

References
----------
Takeuchi (1976), Distribution of information statistics and validity criteria of models, Mathematical Science 153.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from scipy.special import softmax

from ..core.arrays import Float
from ..core.progress import progress
from ..sums.rows import batches
from .leave_one_out import loo_log_proba
from .softmax_regression import (
    GAIN,
    MIDDLE,
    Likelihood,
    ParameterPrecision,
    Point,
    Regression,
    WeightsMode,
    fisher_matrix,
    likelihood,
    log_evidence,
    lower_point,
    minimise,
    newton_step,
    point_at,
    precision_at,
    prior_curvature,
    residuals,
)

SHARES_POWER = 0.25  # of evidence and leave-one-out in the share of a point of the lattice
_STEP = np.log(3)  # of the lattice
_NEGLIGIBLE = 1.0  # nats of the logarithm of a share below the best point: its neighbours are not looked at
_LEAST_SHARE = 1e-3  # of a point that is kept
_SEARCH_GAIN = 1e-5  # nats: ends Newton's method on an expansion
_ROUGH_GAIN = 0.1  # nats: ends it at the centre of an expansion, which need not be a mode
_MANY_ROWS = 10  # rows times contrasts for each parameter from which on the likelihood may be expanded
_MIN_EXPANDED = 500  # rows times contrasts: for fewer it saves nothing
_START_ROWS = 2000  # rows at least that say where to begin
_MANY_STARTS = 16  # times as many rows as that from which on a sample says where to begin
_MAX_EXPANSIONS = 4
_MAX_STEPS = 100  # of Newton's method on an expansion
_LEAST_INFORMATION = 3  # undecided rows for each parameter
_BLOCK = 1 << 17  # numbers at a time

Place: TypeAlias = tuple[int, int]  # on the lattice, in steps from its middle


class Lattice(NamedTuple):
    """What was solved of the lattice.

    Fields
    ------
    modes : by place
    fisher : Σ F_iᵀ S_i F_i at the best of them; None for fewer rows than parameters
    """

    modes: dict[Place, WeightsMode]
    fisher: Any = None

    @property
    def best(self) -> Place:
        """Where the mode of the largest share is."""
        return max(self.modes, key=lambda place: score(self.modes[place]))


class Solved(NamedTuple):
    """A mode with its scores, and Σ F_iᵀ S_i F_i there."""

    mode: WeightsMode
    fisher: Any = None


Solver: TypeAlias = Callable[[Place, WeightsMode, Any], Solved]  # of a place, a start and a matrix to begin with


def score(mode: WeightsMode) -> float:
    """Logarithm of the share of a mode, up to a constant."""
    return SHARES_POWER * (mode.log_evidence + mode.elpd)


def find_modes(rows: Regression) -> tuple[WeightsMode, ...]:
    """Modes that have a share in the prediction, the most probable first."""
    middle = middle_mode(rows)
    if not _may_be_expanded(rows):
        return _with_shares(_search({(0, 0): middle}, lambda _, start, fisher: _solve(rows, start, fisher)).modes)
    nearby = _search_by_expansion(rows, middle)
    if nearby.expansion.information >= _LEAST_INFORMATION * rows.n_parameters:
        return _with_shares(_polished(rows, nearby))
    expanded = nearby.lattice

    def from_expansion(place: Place, start: WeightsMode, fisher: Any) -> Solved:
        return _solve(rows, expanded.modes.get(place, start), fisher)

    starts = {expanded.best: expanded.modes[expanded.best]}
    return _with_shares(_search(starts, from_expansion, expanded.fisher).modes)


def find_mode(rows: Regression, start: WeightsMode, gain: float = GAIN) -> WeightsMode:
    """The mode for the scales of `start`, with its evidence and leave-one-out."""
    return _solve(rows, start, gain=gain).mode


def middle_mode(rows: Regression) -> WeightsMode:
    """Where the search begins: the scales in the middle of their prior, all weights equal, no linear term."""
    _, m, j = rows.t.shape
    scales = np.exp(MIDDLE)
    return WeightsMode(scales, np.full(j, scales[0]), np.zeros((rows.z.shape[1], m)))


def _may_be_expanded(rows: Regression) -> bool:
    """Whether rows are so many that the likelihood may be quadratic around its mode."""
    n, m, _ = rows.t.shape
    return rows.group is None and n * m >= max(_MANY_ROWS * rows.n_parameters, _MIN_EXPANDED)


# --- the search -------------------------------------------------------------------------------------------------------


def _search(starts: dict[Place, WeightsMode], solve: Solver, fisher: Any = None) -> Lattice:
    """Modes from some places of the lattice outwards, while a neighbour matters."""
    modes: dict[Place, WeightsMode] = {}
    best = -np.inf
    with progress("weights of columns", unit="scales of their prior tried") as line:
        while starts:
            for place, start in starts.items():
                solved = solve(place, start, fisher)
                modes[place] = solved.mode
                line.advance()
                if score(solved.mode) > best:
                    best = score(solved.mode)
                    fisher = solved.fisher
            starts = _next_starts(modes)
    return Lattice(modes, fisher)


def _next_starts(modes: dict[Place, WeightsMode]) -> dict[Place, WeightsMode]:
    """New places beside those that matter, with the mode found there as start."""
    best = max(score(mode) for mode in modes.values())
    starts = {}
    for (x, y), mode in modes.items():
        if score(mode) <= best - _NEGLIGIBLE:
            continue
        for place in ((x + 1, y), (x - 1, y), (x, y + 1), (x, y - 1)):
            if place not in modes:
                starts[place] = replace(mode, scales=_scales(place))
    return starts


def _scales(place: Place) -> Float[np.ndarray, " 2"]:
    return np.exp(MIDDLE + _STEP * np.array(place))


def _solve(rows: Regression, start: WeightsMode, fisher: Any = None, gain: float = GAIN) -> Solved:
    """The mode of all rows, its evidence by Laplace and its leave-one-out by a step without each row."""
    point = minimise(rows, start, gain, fisher)
    p = point.likelihood.p
    precision = precision_at(rows, point.mode, p, point.slope)
    log_p = loo_log_proba(rows, point.mode, p, precision)
    elpd = float(rows.weight @ np.einsum("nc,nc->n", rows.label, log_p))
    mode = replace(point.mode, log_evidence=log_evidence(point, precision), elpd=elpd)
    return Solved(mode, precision.fisher)


def _with_shares(modes: dict[Place, WeightsMode]) -> tuple[WeightsMode, ...]:
    """Modes that have a share, the most probable first."""
    share = softmax([score(mode) for mode in modes.values()])
    share = np.where(share < _LEAST_SHARE, 0, share)
    share = share / share.sum()
    shared = [replace(mode, share=float(p)) for mode, p in zip(modes.values(), share, strict=True) if p > 0]
    return tuple(sorted(shared, key=lambda mode: -mode.share))


# --- by an expansion of the likelihood --------------------------------------------------------------------------------


class Expansion(NamedTuple):
    """−log likelihood to second order about some parameters.

    Fields
    ------
    centre : (P,) w and B there
    loss, gradient, fisher : there
    scores : J
    information : I, the number of undecided rows
    """

    centre: Float[np.ndarray, " p"]
    loss: float
    gradient: Float[np.ndarray, " p"]
    fisher: Float[np.ndarray, "p p"]
    scores: Float[np.ndarray, "p p"]
    information: float

    @classmethod
    def about(cls, rows: Regression, mode: WeightsMode) -> "Expansion":
        """The expansion of all rows at a mode."""
        at_mode = likelihood(rows, mode)
        return cls(
            centre=mode.flat,
            loss=at_mode.loss,
            gradient=at_mode.gradient,
            fisher=fisher_matrix(rows, at_mode.p),
            scores=_score_products(rows, at_mode.p),
            information=float(rows.weight @ (1 - np.square(at_mode.p).sum(1))),
        )

    def likelihood(self, mode: WeightsMode) -> Likelihood:
        """What the expansion takes for the likelihood."""
        step = mode.flat - self.centre
        bend = self.fisher @ step
        return Likelihood(self.loss + float(step @ (self.gradient + bend / 2)), self.gradient + bend)

    def solve(self, rows: Regression, start: WeightsMode) -> Solved:
        """The mode for the scales of `start`, its evidence and leave-one-out, without a look at the rows."""
        point = point_at(self.likelihood, start)
        for _ in range(_MAX_STEPS):
            precision = ParameterPrecision(rows, point.mode, self.fisher, prior_curvature(point.mode, point.slope))
            step = newton_step(point, precision)
            if step.promise < _SEARCH_GAIN:
                break
            lower = lower_point(self.likelihood, point, step)
            if lower is None:
                break
            point = lower
        return self.scored(rows, point)

    def scored(self, rows: Regression, point: Point) -> Solved:
        """Evidence and leave-one-out of a mode near the centre."""
        precision = ParameterPrecision(rows, point.mode, self.fisher, prior_curvature(point.mode, point.slope))
        elpd = -point.likelihood.loss - float(np.vdot(self.scores, precision.covariance))
        mode = replace(point.mode, log_evidence=log_evidence(point, precision), elpd=elpd)
        return Solved(mode, self.fisher)


def _score_products(rows: Regression, p: np.ndarray) -> Float[np.ndarray, "p p"]:
    """J = Σ_i v_i l_i ∇_i ∇_iᵀ with ∇_i = F_iᵀ Kᵀ(p_i − onehot y_i), some rows at a time."""
    residual = residuals(rows, p, np.sqrt(rows.weight * rows.leaving_weight))
    n_parameters = rows.n_parameters
    products = np.zeros((n_parameters, n_parameters))
    for part in batches(rows.n_rows, max(64, _BLOCK // n_parameters)):
        of_w = (residual[part, None] @ rows.t[part])[:, 0]
        of_b = (rows.z[part, :, None] * residual[part, None]).reshape(len(of_w), -1)
        gradient = np.hstack([of_w, of_b])
        products += gradient.T @ gradient
    return products


class Nearby(NamedTuple):
    """The lattice as an expansion about its best mode sees it."""

    expansion: Expansion
    lattice: Lattice


def _search_by_expansion(rows: Regression, middle: WeightsMode) -> Nearby:
    """Expansions about modes of all rows, each at the best scales of the one before; the first of a sample of rows."""
    n, m, _ = rows.t.shape
    n_start = max(_START_ROWS, _MANY_ROWS * rows.n_parameters // m)
    best: Place = (0, 0)
    centre = middle
    if n > _MANY_STARTS * n_start:
        sampled = _search_by_expansion(_sample(rows, n_start), middle).lattice
        best = sampled.best
        centre = sampled.modes[best]
    for _ in range(_MAX_EXPANSIONS):
        centre = minimise(rows, centre, _ROUGH_GAIN).mode
        nearby = _expand(rows, centre, {(0, 0): replace(centre, scales=middle.scales), best: centre})
        last = best
        best = nearby.lattice.best
        centre = nearby.lattice.modes[best]
        if max(abs(best[0] - last[0]), abs(best[1] - last[1])) <= 1:
            break
    return nearby


def _expand(rows: Regression, centre: WeightsMode, starts: dict[Place, WeightsMode]) -> Nearby:
    """The lattice by the expansion about a mode."""
    expansion = Expansion.about(rows, centre)
    return Nearby(expansion, _search(starts, lambda _, start, fisher: expansion.solve(rows, start)))


def _sample(rows: Regression, n: int) -> Regression:
    """Some rows, each as probable as any other; the same ones each time."""
    chosen = np.random.default_rng(0).permutation(rows.n_rows)[:n]
    return rows.take(np.sort(chosen))


def _polished(rows: Regression, nearby: Nearby) -> dict[Place, WeightsMode]:
    """The modes that have a share as all rows have them, by chords from those of the expansion."""
    expansion, lattice = nearby
    least = score(lattice.modes[lattice.best]) + np.log(_LEAST_SHARE)
    polished = {}
    for place, mode in lattice.modes.items():
        if score(mode) > least:
            point = minimise(rows, mode, GAIN, expansion.fisher)
            polished[place] = expansion.scored(rows, point).mode
    return polished
