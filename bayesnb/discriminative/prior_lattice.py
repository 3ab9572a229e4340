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

from ..numerics.arrays import Float
from ..numerics.progress import progress
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
    """Logarithm of the share of a mode, up to a constant: ¼ (log evidence + Σ_i v_i log p(y_i | D₋ᵢ))."""
    return SHARES_POWER * (mode.log_evidence + mode.elpd)


def find_modes(rows: Regression) -> tuple[WeightsMode, ...]:
    """The most probable w and B at each pair of scales of their priors that has a share in the prediction.

    The model is a softmax regression with positive weights w_j of columns, w_j ~ Exponential(mean s), and coefficients
    B ~ Normal(0, ρ²) of a linear term. The *mode* at some scales (s, ρ) is the most probable (w, B) there.

    The scales are on a lattice that is searched from its middle outwards. Few rows are looked at again for each of its
    points. With many, an expansion of their likelihood is searched instead; where it proves too coarse, it still says
    where a search by all rows begins.

    Returns
    -------
    modes with shares that add up to 1, the most probable first
    """
    middle = middle_mode(rows)  # the scales in the middle of the lattice, with w and B to begin from
    if not _may_be_expanded(rows):
        return _with_shares(_search_by_rows(rows, middle).modes)

    # Many rows: an *expansion*, the log likelihood to second order about one mode, stands for the rows while the
    # lattice is searched. It is exact enough where many rows are undecided, so that a single one says little;
    # `information` is their number. `_polished` then moves the modes to where the rows themselves have them.
    nearby = _search_by_expansion(rows, middle)  # the expansion, and the modes that were found with it
    if nearby.expansion.information >= _LEAST_INFORMATION * rows.n_parameters:
        return _with_shares(_polished(rows, nearby))

    # Else each mode is found from all rows, but Newton's method begins where the expansion has it.
    return _with_shares(_search_from(rows, nearby.lattice).modes)


def _search_by_rows(rows: Regression, middle: WeightsMode) -> Lattice:
    """The lattice of scales, searched from its middle; all rows are looked at for the mode at each of its points.

    Parameters
    ----------
    middle : the scales in the middle of the lattice, with w and B to begin from
    """

    def solve(_: Place, start: WeightsMode, fisher: Any) -> Solved:
        """The mode at the scales of a start; `fisher` is a Hessian of the log loss to begin with."""
        return _solve(rows, start, fisher)

    return _search({(0, 0): middle}, solve)


def _search_from(rows: Regression, approximate: Lattice) -> Lattice:
    """The lattice of scales, searched from its best point, by all rows: each mode is sought from an approximate one.

    Parameters
    ----------
    approximate : modes by an expansion of the likelihood
    """

    def solve(place: Place, start: WeightsMode, fisher: Any) -> Solved:
        """The mode at a point of the lattice: from the approximate one there, or from `start` if there is none."""
        return _solve(rows, approximate.modes.get(place, start), fisher)

    best = approximate.best
    return _search({best: approximate.modes[best]}, solve, approximate.fisher)


def find_mode(rows: Regression, start: WeightsMode, gain: float = GAIN) -> WeightsMode:
    """The mode for the scales of `start`, with its evidence and leave-one-out."""
    return _solve(rows, start, gain=gain).mode


def middle_mode(rows: Regression) -> WeightsMode:
    """Where the search begins: the scales in the middle of their prior, all weights equal, no linear term."""
    _, m, j = rows.t.shape
    scales = np.exp(MIDDLE)
    return WeightsMode(scales, np.full(j, scales[0]), np.zeros((rows.z.shape[1], m)))


def _may_be_expanded(rows: Regression) -> bool:
    """Whether rows are so many that the likelihood may be quadratic around its mode; never with groups.

    n rows have n · m contrasts, m = c − 1 numbers that the label of a row tells of: there must be ten for each
    parameter, and 500 in all.
    """
    n, m, _ = rows.t.shape
    return rows.group is None and n * m >= max(_MANY_ROWS * rows.n_parameters, _MIN_EXPANDED)


# --- the search -------------------------------------------------------------------------------------------------------


def _search(starts: dict[Place, WeightsMode], solve: Solver, fisher: Any = None) -> Lattice:
    """Modes at some places of the lattice of scales, then at their neighbours, and so on while a neighbour matters.

    A place is a pair of whole numbers (x, y): x steps in log s and y steps in log ρ from the middle of the lattice.
    Here s and ρ are the scales of the priors of w and B, and each step is a factor of 3.

    Parameters
    ----------
    starts : scales, and w and B where Newton's method begins, by place
    solve : finds the mode at a place, from a start and the matrix below
    fisher : (P, P) Hessian of the log loss near the starts. Afterwards that of the best mode so far is taken, which is
        near enough at the places beside it
    """
    modes: dict[Place, WeightsMode] = {}  # all modes that were found, by place
    best_score = -np.inf
    with progress("weights of columns", unit="scales of their prior tried") as line:
        while starts:
            for place, start in starts.items():
                solved = solve(place, start, fisher)  # the mode there, and the Hessian of the log loss at it
                modes[place] = solved.mode
                line.advance()
                # A score is the logarithm of the share that the mode gets in the prediction, up to a constant.
                if score(solved.mode) > best_score:
                    best_score = score(solved.mode)
                    fisher = solved.fisher

            # New places beside those whose share is not negligible; there are none in the end.
            starts = _next_starts(modes)
    return Lattice(modes, fisher)


def _next_starts(modes: dict[Place, WeightsMode]) -> dict[Place, WeightsMode]:
    """The next places of the search: new ones beside those whose share is not negligible, by place.

    Each starts with the scales of its place, and the w and B of its neighbour.

    Parameters
    ----------
    modes : all modes that were found, by place: steps from the middle of the lattice
    """
    best_score = max(score(mode) for mode in modes.values())  # a score is the log of a share
    starts = {}
    for (x, y), mode in modes.items():
        if score(mode) <= best_score - _NEGLIGIBLE:  # the share is below 1/e of the best one: not worth going on from
            continue
        for place in ((x + 1, y), (x - 1, y), (x, y + 1), (x, y - 1)):
            if place not in modes:
                starts[place] = replace(mode, scales=_scales(place))
    return starts


def _scales(place: Place) -> Float[np.ndarray, " 2"]:
    """(s, ρ) at a place: each step from the middle of the lattice is a factor of 3."""
    return np.exp(MIDDLE + _STEP * np.array(place))


def _solve(rows: Regression, start: WeightsMode, fisher: Any = None, gain: float = GAIN) -> Solved:
    """The mode of the posterior of w and B for the scales of `start`, with its evidence and its leave-one-out.

    The evidence is by Laplace's approximation, leave-one-out by a step of Newton's method without each row.

    Parameters
    ----------
    start : the scales, and w and B from which Newton's method begins
    fisher : (P, P) Hessian of the log loss near the mode, if there is one
    gain : nats that the last step of Newton's method may promise
    """
    # By Newton's method. `point` has the mode, with f = −log posterior and its gradient there; `precision` is the
    # Hessian of f, factored.
    point = minimise(rows, start, gain, fisher)
    p = point.likelihood.p  # class probabilities at the mode, (n, c)
    precision = precision_at(rows, point.mode, p, point.slope)

    log_p = loo_log_proba(rows, point.mode, p, precision)  # (n, c)
    elpd = float(rows.weight @ np.einsum("nc,nc->n", rows.label, log_p))  # of the label of each row
    mode = replace(point.mode, log_evidence=log_evidence(point, precision), elpd=elpd)
    return Solved(mode, precision.fisher)


def _with_shares(modes: dict[Place, WeightsMode]) -> tuple[WeightsMode, ...]:
    """Modes with their shares in the prediction, the most probable first; those with next to none are left out.

    A share is in proportion to exp(score), the scores being those of evidence and leave-one-out.
    """
    share = softmax([score(mode) for mode in modes.values()])  # exp(score) / Σ exp(score)
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
        """The expansion about w and B of a mode: one look at all rows.

        Parameters
        ----------
        rows : training rows with weights v_i
        mode : w and B, the centre; they need not be at a mode
        """
        at_mode = likelihood(rows, mode)  # the log loss, its gradient in (w, B), and class probabilities `p`
        return cls(
            centre=mode.flat,
            loss=at_mode.loss,
            gradient=at_mode.gradient,
            fisher=fisher_matrix(rows, at_mode.p),  # H = Σ F_iᵀ S_i F_i, the Hessian of the log loss
            scores=_score_products(rows, at_mode.p),  # J = Σ v_i l_i ∇_i ∇_iᵀ, products of the rows' gradients
            # Σ_i v_i (1 − Σ_c p_ic²): near 0 of a row whose class is certain, ½ of one between two classes.
            information=float(rows.weight @ (1 - np.square(at_mode.p).sum(1))),
        )

    def likelihood(self, mode: WeightsMode) -> Likelihood:
        """The log loss and its gradient at w and B of a mode, by the expansion in place of the rows.

        With δ = θ − θ₀ they are loss + gᵀδ + ½ δᵀHδ and g + Hδ, where θ is w, then B row by row.
        """
        # H is `fisher`, the Hessian of the log loss at the centre. loss + gᵀδ + ½ δᵀHδ = loss + δᵀ(g + ½ Hδ).
        step = mode.flat - self.centre  # δ, (P,)
        bend = self.fisher @ step  # Hδ
        return Likelihood(self.loss + float(step @ (self.gradient + bend / 2)), self.gradient + bend)

    def solve(self, rows: Regression, start: WeightsMode) -> Solved:
        """The mode for the scales of `start`, its evidence and leave-one-out, by Newton's method on the expansion.

        f = −log posterior has the quadratic loss + gᵀδ + ½ δᵀHδ in place of the log loss, with δ the distance of (w, B)
        from the centre: no row is looked at. More than one step is needed, as the prior of log w is not quadratic.

        Parameters
        ----------
        rows : of which only the numbers of columns matter here
        start : the scales, and w and B where the search begins
        """
        point = point_at(self.likelihood, start)  # f and its gradient there
        for _ in range(_MAX_STEPS):
            # The Hessian of f in (log w, B), factored: W H W with W = diag(w; 1), as ∂w/∂log w = w, plus the diagonal
            # that the prior adds.
            precision = ParameterPrecision(rows, point.mode, self.fisher, prior_curvature(point.mode, point.slope))

            # Newton's step −(∂²f)⁻¹ gradient. `promise` is gradientᵀ(∂²f)⁻¹ gradient: if f were quadratic, it would
            # fall by half of that. At a mode it is next to nothing, and the search ends.
            step = newton_step(point, precision)
            if step.promise < _SEARCH_GAIN:
                break

            # The step is shortened until f falls.
            lower = lower_point(self.likelihood, point, step)
            if lower is None:  # rounding forbids to go on
                break
            point = lower
        return self.scored(rows, point)

    def scored(self, rows: Regression, point: Point) -> Solved:
        """A mode near the centre with its evidence, by Laplace, and its leave-one-out, by Takeuchi.

        Σ_i v_i log p(y_i | D₋ᵢ) ≈ −loss − tr J (∂²f)⁻¹, with J the products of the rows' gradients and ∂²f the Hessian
        of f = −log posterior at the mode. v_i is the weight of row i, and D₋ᵢ are all other rows.

        Parameters
        ----------
        rows : of which only the numbers of columns matter here
        point : the mode, with the log loss, f and the gradient of f there
        """
        # The Hessian of f, factored: that of the log loss at the centre, and the diagonal that the prior adds. Its
        # `covariance` is the inverse, in w and B. The trace of a product of symmetric matrices is Σ of the products of
        # their elements, which `vdot` computes.
        precision = ParameterPrecision(rows, point.mode, self.fisher, prior_curvature(point.mode, point.slope))
        elpd = -point.likelihood.loss - float(np.vdot(self.scores, precision.covariance))
        mode = replace(point.mode, log_evidence=log_evidence(point, precision), elpd=elpd)
        return Solved(mode, self.fisher)


def _score_products(rows: Regression, p: np.ndarray) -> Float[np.ndarray, "p p"]:
    """J = Σ_i v_i l_i ∇_i ∇_iᵀ, (P, P), with ∇_i the gradient of −log p_i,y(i) in the P parameters w and B.

    v_i is the weight of a row, and l_i the weight that leaves with it. A row has the contrasts
    a_ik = Σ_j w_j t_ikj + Σ_d B_dk z_id; its loss has the gradient Kᵀ(p_i − onehot y_i), (m,), in these.

    Parameters
    ----------
    p : (n, c) class probabilities of the rows
    """
    # `residuals` gives Kᵀ(p_i − onehot y_i) times a weight. With √(v_i l_i) for the weight, the product of a gradient
    # with itself has the factor v_i l_i.
    residual = residuals(rows, p, np.sqrt(rows.weight * rows.leaving_weight))  # (n, m)
    n_parameters = rows.n_parameters
    products = np.zeros((n_parameters, n_parameters))
    for part in batches(rows.n_rows, max(64, _BLOCK // n_parameters)):
        of_contrasts = residual[part]  # (rows, m)
        z = rows.z[part]  # (rows, r)
        # Chain rule: ∂/∂w_j = Σ_k t_ikj ∂/∂a_ik, for each row a product (1, m) (m, j); and ∂/∂B_dk = z_id ∂/∂a_ik.
        of_w = (of_contrasts[:, None] @ rows.t[part])[:, 0]  # (rows, j)
        of_b = np.einsum("id,ik->idk", z, of_contrasts).reshape(len(z), -1)  # (rows, r · m), B row by row
        gradient = np.hstack([of_w, of_b])  # √(v_i l_i) ∇_i, (rows, P)
        products += gradient.T @ gradient
    return products


class Nearby(NamedTuple):
    """The lattice as an expansion about its best mode sees it."""

    expansion: Expansion
    lattice: Lattice


def _search_by_expansion(rows: Regression, middle: WeightsMode) -> Nearby:
    """The lattice of scales, searched by an expansion of the likelihood about a mode near the best of them.

    The first expansion is about a mode at the middle of the lattice, or where a sample of very many rows has its best
    scales. Each next one is about the mode at the best scales of the one before, until these move by a step at most.

    An *expansion* is the log likelihood to second order in (w, B) about some parameters, its *centre*. A *mode* is the
    most probable (w, B) at given scales (s, ρ) of their priors. A *place* is a pair of whole numbers: so many steps,
    each a factor of 3, of s and of ρ from the middle of the lattice.

    Parameters
    ----------
    rows : training rows: t (n, m, j) and z (n, r) of the regression, labels and weights
    middle : scales in the middle of the lattice, with w and B to begin from
    """
    n, m, _ = rows.t.shape  # rows, contrasts of each
    best: Place = (0, 0)  # the middle of the lattice
    centre = middle

    # With very many rows a search by a sample of them comes first, and this one begins at its best place. A sample is
    # worth that only if it is much smaller than the rows: 16 times.
    n_start = max(_START_ROWS, _MANY_ROWS * rows.n_parameters // m)
    if n > _MANY_STARTS * n_start:
        sampled = _search_by_expansion(_sample(rows, n_start), middle).lattice
        best = sampled.best
        centre = sampled.modes[best]

    for _ in range(_MAX_EXPANSIONS):
        # The centre is moved to a mode of all rows, roughly. About it the likelihood is expanded, and the lattice
        # searched again, from the middle and from the best place so far, both with the w and B of the centre.
        centre = minimise(rows, centre, _ROUGH_GAIN).mode
        starts = {(0, 0): replace(centre, scales=middle.scales), best: centre}
        nearby = _expand(rows, centre, starts)  # the expansion, and the modes on the lattice that were found with it

        # The mode at the best scales is the next centre, unless these have hardly moved on the lattice.
        last = best
        best = nearby.lattice.best
        centre = nearby.lattice.modes[best]
        steps_of_s = abs(best[0] - last[0])
        steps_of_rho = abs(best[1] - last[1])
        if max(steps_of_s, steps_of_rho) <= 1:
            break
    return nearby


def _expand(rows: Regression, centre: WeightsMode, starts: dict[Place, WeightsMode]) -> Nearby:
    """The expansion of the likelihood about w and B of `centre`, and the lattice as it sees it.

    An expansion is the log likelihood of the rows to second order. With it a mode at other scales is found without a
    look at the rows.

    Parameters
    ----------
    centre : w and B, about which the likelihood is expanded
    starts : where the search of the lattice begins: scales, w and B, by place
    """
    expansion = Expansion.about(rows, centre)

    def by_expansion(_: Place, start: WeightsMode, fisher: Any) -> Solved:
        return expansion.solve(rows, start)

    return Nearby(expansion, _search(starts, by_expansion))


def _sample(rows: Regression, n: int) -> Regression:
    """A random sample of n rows, each as probable as any other; the same ones each time."""
    chosen = np.random.default_rng(0).permutation(rows.n_rows)[:n]
    return rows.take(np.sort(chosen))


def _polished(rows: Regression, nearby: Nearby) -> dict[Place, WeightsMode]:
    """The modes of an expansion that have a share, moved to where the rows themselves have them, by place.

    An expansion is the log likelihood to second order about some parameters; its modes are close to those of the rows.
    These are found by steps of Newton's method with the gradients of the rows, and the matrix of the expansion. Their
    evidence and leave-one-out are by the matrices of the expansion too.

    Parameters
    ----------
    rows : all training rows
    nearby : the expansion of their likelihood, and the modes of the lattice as it sees them
    """
    # A score is the logarithm of a share in the prediction, up to a constant. A mode with less than a thousandth of the
    # share of the best one is left out.
    expansion, lattice = nearby
    best_score = score(lattice.modes[lattice.best])
    least = best_score + np.log(_LEAST_SHARE)

    polished = {}
    for place, mode in lattice.modes.items():
        if score(mode) > least:
            point = minimise(rows, mode, GAIN, expansion.fisher)  # the mode of all rows near this one
            polished[place] = expansion.scored(rows, point).mode  # with its evidence and leave-one-out
    return polished
