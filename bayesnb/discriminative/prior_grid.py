"""Modes on a grid of the scales (s, ρ) of the prior, and the share of each in the prediction.

A point has a share in proportion to (Z p(s) p(ρ) Π_i p(y_i | D₋ᵢ)^v_i)^¼. Where few rows can be separated, the
evidence alone takes scales that are far too large: there the mode, which predicts, is sure, and only the posterior
around it is not. Leave-one-out alone is too optimistic where columns outnumber rows. The grid is searched from its
middle outwards while a neighbour matters.

Where rows tell much, one look at all of them is enough for the whole grid. Around a mode the log loss is nearly

    loss(θ) ≈ loss + gᵀ(θ − θ₀) + ½ (θ − θ₀)ᵀ H (θ − θ₀)        H = Σ_i F_iᵀ S_i F_i

which gives the mode at any other scales in P³ operations, and leave-one-out by Takeuchi's correction

    Σ_i v_i log p(y_i | D₋ᵢ) ≈ −loss − tr J (∂²f)⁻¹             J = Σ_i v_i l_i ∇_i ∇_iᵀ

with ∇_i the gradient of −log p_i,y(i) and l_i the weight that leaves. Only modes that have a share are then found from
all rows, by chords: steps of Newton's method with true gradients and the matrix H.

This approximation is for leverages that are small. They add up to tr H (∂²f)⁻¹ < P, and the rows that are not certain
share them: I = Σ_i v_i (1 − Σ_c p_ic²) is their number, at most half of a row of two classes each. Where I is below 3 P
an average undecided row may have a leverage above ⅙, one step without it changes p by more than a sixth of its
residual, and the second order is no longer enough. Then each point is for itself, as it is with groups or few rows.

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
from ..sums.rows import batches, single_threaded_products
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

SHARES_POWER = 0.25  # of evidence and leave-one-out in the share of a grid point
_STEP = np.log(3)  # of the grid
_NEGLIGIBLE = 1.0  # nats of the logarithm of a share below the best point: its neighbours are not looked at
_LEAST_SHARE = 1e-3  # of a point that is kept
_SEARCH_GAIN = 1e-5  # nats: ends Newton's method on a quadratic log loss
_ROUGH_GAIN = 0.1  # nats: ends it where the log loss is approximated, which need not be a mode
_MANY_ROWS = 10  # rows times contrasts for each parameter from which on the log loss may be approximated
_MIN_APPROXIMATED = 500  # rows times contrasts: for fewer it saves nothing
_START_ROWS = 2000  # rows at least that say where to begin
_MANY_STARTS = 16  # times as many rows as that from which on a sample says where to begin
_MAX_APPROXIMATIONS = 4  # one after the other
_MAX_STEPS = 100  # of Newton's method on a quadratic log loss
_LEAST_INFORMATION = 3  # undecided rows for each parameter
_BLOCK = 1 << 17  # numbers at a time

GridPoint: TypeAlias = tuple[int, int]  # steps of log s and of log ρ from the middle of the grid


class SearchedGrid(NamedTuple):
    """The modes that were found on the grid of scales.

    Fields
    ------
    modes : by grid point
    fisher : Σ F_iᵀ S_i F_i at the best of them; None for fewer rows than parameters
    """

    modes: dict[GridPoint, WeightsMode]
    fisher: Any = None

    @property
    def best(self) -> GridPoint:
        """Where the mode of the largest share is."""
        return max(self.modes, key=lambda grid_point: log_share(self.modes[grid_point]))


class Solved(NamedTuple):
    """A mode with its evidence and leave-one-out, and Σ F_iᵀ S_i F_i there, the Hessian of the log loss."""

    mode: WeightsMode
    fisher: Any = None


Solver: TypeAlias = Callable[[GridPoint, WeightsMode, Any], Solved]  # of a grid point, a start and a Hessian


def log_share(mode: WeightsMode) -> float:
    """Logarithm of the share of a mode, up to a constant: ¼ (log evidence + Σ_i v_i log p(y_i | D₋ᵢ))."""
    return SHARES_POWER * (mode.log_evidence + mode.elpd)


@single_threaded_products()  # threads for such small products wait for a core, on a busy machine 30 times as long
def find_modes(rows: Regression) -> tuple[WeightsMode, ...]:
    """The fits of a softmax regression over which the prediction averages: one for each useful pair of prior scales.

    The regression has positive weights w_j ~ Exponential(mean s) and coefficients B ~ Normal(0, ρ²). The scales (s, ρ)
    are not known. On a grid of them, the *mode* at a point is the most probable (w, B) there. Its share in the
    prediction depends on how well it predicts rows that are left out, and on its evidence.

    The grid is searched from its middle outwards, in one of three ways, the first that is accurate enough:

    1. few rows: each mode is found from all rows;
    2. many rows: the log loss is approximated by a quadratic function of (w, B), the grid is searched with it, and only
       the modes that have a share are then found from all rows;
    3. many rows, but nearly all of them certain of their class, so that a quadratic is too coarse: each mode is found
       from all rows, beginning where the quadratic has it.

    Returns
    -------
    modes with shares that add up to 1, the most probable first
    """
    start = middle_mode(rows)  # scales in the middle of the grid, with w and B to begin from

    # 1. Few rows, or groups of rows.
    if not _may_be_approximated(rows):
        return _with_shares(_search_by_rows(rows, start).modes)

    # 2. `information` is about the number of rows that are undecided between classes: at least 3 for each parameter.
    approximate = _search_by_quadratic(rows, start)
    if approximate.quadratic.information >= _LEAST_INFORMATION * rows.n_parameters:
        return _with_shares(_refined(rows, approximate))

    # 3. Too many rows are certain.
    return _with_shares(_search_from(rows, approximate.grid).modes)


def _search_by_rows(rows: Regression, middle: WeightsMode) -> SearchedGrid:
    """The grid of scales, searched from its middle; all rows are looked at for the mode at each of its points.

    Parameters
    ----------
    middle : the scales in the middle of the grid, with w and B to begin from
    """

    def solve(_: GridPoint, start: WeightsMode, fisher: Any) -> Solved:
        """The mode at the scales of a start; `fisher` is a Hessian of the log loss to begin with."""
        return _solve(rows, start, fisher)

    return _search({(0, 0): middle}, solve)


def _search_from(rows: Regression, approximate: SearchedGrid) -> SearchedGrid:
    """The grid of scales, searched from its best point, by all rows: each mode is sought from an approximate one.

    Parameters
    ----------
    approximate : modes by a quadratic log loss
    """

    def solve(grid_point: GridPoint, start: WeightsMode, fisher: Any) -> Solved:
        """The mode at a grid point: from the approximate one there, or from `start` if there is none."""
        return _solve(rows, approximate.modes.get(grid_point, start), fisher)

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


def _may_be_approximated(rows: Regression) -> bool:
    """Whether rows are so many that the log loss may be quadratic around its mode; never with groups.

    n rows have n · m contrasts, m = c − 1 numbers that the label of a row tells of: there must be ten for each
    parameter, and 500 in all.
    """
    n, m, _ = rows.t.shape
    return rows.group is None and n * m >= max(_MANY_ROWS * rows.n_parameters, _MIN_APPROXIMATED)


# --- the search -------------------------------------------------------------------------------------------------------


def _search(starts: dict[GridPoint, WeightsMode], solve: Solver, fisher: Any = None) -> SearchedGrid:
    """The modes at some grid points of the scales, then at their neighbours, and so on while a neighbour matters.

    A grid point is a pair of whole numbers: so many steps of log s and of log ρ from the middle of the grid, where s
    and ρ are the scales of the priors of w and B. A mode is the most probable (w, B) there.

    1. Find the modes at the points of `starts`.
    2. Take the new neighbours of all points whose mode has a share in the prediction that is not negligible.
    3. Go on with these until there are none.

    Parameters
    ----------
    starts : by grid point the scales, and the w and B from which the mode is sought
    solve : finds the mode at a grid point, from a start and a Hessian
    fisher : (P, P) Hessian of the log loss near the starts
    """
    modes: dict[GridPoint, WeightsMode] = {}
    best = -np.inf  # the largest log share so far
    with progress("weights of columns", unit="scales of their prior tried") as line:
        while starts:
            for grid_point, start in starts.items():
                solved = solve(grid_point, start, fisher)
                modes[grid_point] = solved.mode
                line.advance()

                # The Hessian at the best mode so far is near enough for its neighbours to begin with.
                if log_share(solved.mode) > best:
                    best = log_share(solved.mode)
                    fisher = solved.fisher
            starts = _next_starts(modes)
    return SearchedGrid(modes, fisher)


def _next_starts(modes: dict[GridPoint, WeightsMode]) -> dict[GridPoint, WeightsMode]:
    """The next grid points of the search: new ones beside those whose share is not negligible.

    Each starts with the scales of its point, and the w and B of its neighbour.

    Parameters
    ----------
    modes : all modes that were found, by grid point
    """
    best = max(log_share(mode) for mode in modes.values())
    starts = {}
    for (x, y), mode in modes.items():
        if log_share(mode) <= best - _NEGLIGIBLE:  # below 1/e of the best share: not worth going on from
            continue
        for neighbour in ((x + 1, y), (x - 1, y), (x, y + 1), (x, y - 1)):
            if neighbour not in modes:
                starts[neighbour] = replace(mode, scales=_scales(neighbour))
    return starts


def _scales(grid_point: GridPoint) -> Float[np.ndarray, " 2"]:
    """(s, ρ) at a grid point: each step from the middle of the grid is a factor of 3."""
    return np.exp(MIDDLE + _STEP * np.array(grid_point))


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


def _with_shares(modes: dict[GridPoint, WeightsMode]) -> tuple[WeightsMode, ...]:
    """Modes with their shares in the prediction, the most probable first; those with next to none are left out.

    A share is in proportion to exp(log share), which is known up to a constant.
    """
    share = softmax([log_share(mode) for mode in modes.values()])
    share = np.where(share < _LEAST_SHARE, 0, share)
    share = share / share.sum()
    shared = [replace(mode, share=float(p)) for mode, p in zip(modes.values(), share, strict=True) if p > 0]
    return tuple(sorted(shared, key=lambda mode: -mode.share))


# --- by a quadratic approximation of the log loss ---------------------------------------------------------------------


class QuadraticLoss(NamedTuple):
    """The log loss of all rows as a quadratic function of the parameters θ = (w, B), near some θ₀.

        loss(θ) ≈ loss + gᵀδ + ½ δᵀHδ,    δ = θ − θ₀

    Fields
    ------
    centre : θ₀, (P,)
    loss, gradient, fisher : the log loss, its gradient g and its Hessian H at θ₀
    gradient_products : J = Σ_i v_i l_i ∇_i ∇_iᵀ of the gradients ∇_i of the rows, for leave-one-out
    information : I, the number of undecided rows
    """

    centre: Float[np.ndarray, " p"]
    loss: float
    gradient: Float[np.ndarray, " p"]
    fisher: Float[np.ndarray, "p p"]
    gradient_products: Float[np.ndarray, "p p"]
    information: float

    @classmethod
    def about(cls, rows: Regression, mode: WeightsMode) -> "QuadraticLoss":
        """The approximation near w and B of a mode: the only look at the rows, of which it takes a few sums.

        Parameters
        ----------
        rows : training rows with weights v_i, of which l_i is removed in leave-one-out
        mode : w and B; they need not be exactly at a mode
        """
        at_mode = likelihood(rows, mode)  # log loss, its gradient, and class probabilities p (n, c)

        # H = Σ_i F_iᵀ S_i F_i, the Hessian of the log loss, and J = Σ_i v_i l_i ∇_i ∇_iᵀ with ∇_i the gradient of the
        # loss of row i: (P, P) both.
        hessian = fisher_matrix(rows, at_mode.p)
        gradient_products = _gradient_products(rows, at_mode.p)

        # I = Σ_i v_i (1 − Σ_c p_ic²). A row that is certain of its class adds 0, one between two classes ½.
        information = float(rows.weight @ (1 - np.square(at_mode.p).sum(1)))
        return cls(
            centre=mode.flat,
            loss=at_mode.loss,
            gradient=at_mode.gradient,
            fisher=hessian,
            gradient_products=gradient_products,
            information=information,
        )

    def likelihood(self, mode: WeightsMode) -> Likelihood:
        """The approximate log loss loss + gᵀδ + ½ δᵀHδ at w and B of a mode, and its gradient g + Hδ."""
        step = mode.flat - self.centre  # δ, (P,)
        bend = self.fisher @ step  # Hδ
        return Likelihood(self.loss + float(step @ (self.gradient + bend / 2)), self.gradient + bend)

    def find_mode(self, rows: Regression, start: WeightsMode) -> Solved:
        """The most probable w and B for the prior scales of `start`, by Newton's method with the approximate log loss.

        f = −log posterior(log w, B) is the log loss, here a quadratic function of (w, B), minus the log prior. It is
        not quadratic in log w, so that Newton's method takes more than one step:

        1. Make the Hessian of f, and with it Newton's step −(∂²f)⁻¹ ∇f.
        2. Stop if the step promises next to nothing.
        3. Take the step, or a shorter one in its direction that lowers f.

        Parameters
        ----------
        rows : of which only the numbers of columns matter here
        start : the scales, and w and B where the search begins
        """
        point = point_at(self.likelihood, start)  # f and its gradient at the start
        for _ in range(_MAX_STEPS):
            # 1. H is the Hessian of the log loss in (w, B). In (log w, B) it is W H W with W = diag(w; 1), as
            # ∂w/∂log w = w. The prior adds a diagonal. `hessian` has the sum, factored.
            of_prior = prior_curvature(point.mode, point.slope)
            hessian = ParameterPrecision(rows, point.mode, self.fisher, of_prior)
            step = newton_step(point, hessian)

            # 2. `promise` is ∇fᵀ(∂²f)⁻¹∇f, twice the fall of f if f were quadratic.
            if step.promise < _SEARCH_GAIN:
                break

            # 3. The step is halved until f falls.
            lower = lower_point(self.likelihood, point, step)
            if lower is None:  # because of rounding no step lowers f
                break
            point = lower
        return self.with_evidence(rows, point)

    def with_evidence(self, rows: Regression, point: Point) -> Solved:
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
        elpd = -point.likelihood.loss - float(np.vdot(self.gradient_products, precision.covariance))
        mode = replace(point.mode, log_evidence=log_evidence(point, precision), elpd=elpd)
        return Solved(mode, self.fisher)


def _gradient_products(rows: Regression, p: np.ndarray) -> Float[np.ndarray, "p p"]:
    """J = Σ_i v_i l_i ∇_i ∇_iᵀ, (P, P): products of the gradients of the losses of single rows, for leave-one-out.

    ∇_i is the gradient of −log p_i,y(i) in the P parameters w and B. They act on m = c − 1 numbers of a row,

        a_ik = Σ_j w_j t_ikj + Σ_d B_dk z_id        for k = 1 … m

    so that with the gradient g_ik of the loss in a_ik the chain rule gives

        ∂/∂w_j = Σ_k g_ik t_ikj        ∂/∂B_dk = z_id g_ik

    Parameters
    ----------
    rows : t (n, m, j), z (n, r), weights v_i, and the weights l_i that are removed in leave-one-out
    p : (n, c) class probabilities of the rows
    """
    # g of each row, times √(v_i l_i): products of two of them then have the factor v_i l_i.
    g = residuals(rows, p, np.sqrt(rows.weight * rows.leaving_weight))  # (n, m)

    # Batches of rows, as all gradients together may be too large for memory.
    n_parameters = rows.n_parameters
    products = np.zeros((n_parameters, n_parameters))
    for part in batches(rows.n_rows, max(64, _BLOCK // n_parameters)):
        # Σ_k g_ik t_ikj is the product of a row (1, m) and a table (m, j), for each i.
        of_w = (g[part][:, None] @ rows.t[part])[:, 0]  # (rows, j)

        # z_id g_ik at (i, d, k); then d and k become one axis, B row by row.
        z = rows.z[part]
        of_b = np.einsum("id,ik->idk", z, g[part]).reshape(len(z), -1)  # (rows, r · m)

        gradient = np.hstack([of_w, of_b])  # (rows, P)
        products += gradient.T @ gradient
    return products


class ApproximateSearch(NamedTuple):
    """A quadratic approximation of the log loss, and the modes on the grid that were found with it."""

    quadratic: QuadraticLoss
    grid: SearchedGrid


def _search_by_quadratic(rows: Regression, middle: WeightsMode) -> ApproximateSearch:
    """The grid of prior scales (s, ρ), searched with a quadratic approximation of the log loss in place of the rows.

    The approximation is good near the parameters (w, B) about which it is made, the *centre*. This should be the mode
    at the best scales, which are not known yet. So both are improved in turn:

    1. Begin in the middle of the grid; with very many rows, at the best scales for a sample of them.
    2. Move the centre to the mode of all rows at these scales, roughly, and approximate the log loss about it.
    3. Search the grid with this approximation.
    4. Stop if the best scales are the same as before or a step beside them; otherwise go on from them with 2.

    Parameters
    ----------
    rows : training rows: t (n, m, j) and z (n, r) of the regression, labels and weights
    middle : scales in the middle of the grid, with w and B to begin from
    """
    # 1. A grid point is a pair of whole numbers: steps of s and of ρ from the middle of the grid. A sample is worth its
    # time only if there are 16 times as many rows.
    best: GridPoint = (0, 0)
    centre = middle
    n, m, _ = rows.t.shape
    n_sample = max(_START_ROWS, _MANY_ROWS * rows.n_parameters // m)
    if n > _MANY_STARTS * n_sample:
        of_sample = _search_by_quadratic(_sample(rows, n_sample), middle).grid
        best = of_sample.best
        centre = of_sample.modes[best]

    for _ in range(_MAX_APPROXIMATIONS):
        # 2. and 3. The search begins in the middle and at the best scales so far, both with w and B of the centre.
        centre = minimise(rows, centre, _ROUGH_GAIN).mode
        starts = {(0, 0): replace(centre, scales=middle.scales), best: centre}
        approximate = _search_near(rows, centre, starts)  # the approximation, and the modes on the grid by it

        # 4. Compare the best scales with those before.
        last = best
        best = approximate.grid.best
        centre = approximate.grid.modes[best]
        steps_of_s = abs(best[0] - last[0])
        steps_of_rho = abs(best[1] - last[1])
        if max(steps_of_s, steps_of_rho) <= 1:
            break
    return approximate


def _search_near(rows: Regression, centre: WeightsMode, starts: dict[GridPoint, WeightsMode]) -> ApproximateSearch:
    """The quadratic approximation of the log loss about w and B of `centre`, and the modes on the grid by it.

    With it a mode at other scales is found without a look at the rows.

    Parameters
    ----------
    centre : w and B, about which the log loss is approximated
    starts : where the search of the grid begins: scales, w and B, by grid point
    """
    quadratic = QuadraticLoss.about(rows, centre)

    def solve(_: GridPoint, start: WeightsMode, fisher: Any) -> Solved:
        return quadratic.find_mode(rows, start)

    return ApproximateSearch(quadratic, _search(starts, solve))


def _sample(rows: Regression, n: int) -> Regression:
    """A random sample of n rows, each as probable as any other; the same ones each time."""
    chosen = np.random.default_rng(0).permutation(rows.n_rows)[:n]
    return rows.take(np.sort(chosen))


def _refined(rows: Regression, approximate: ApproximateSearch) -> dict[GridPoint, WeightsMode]:
    """The modes of all rows that have a share in the prediction, from those by a quadratic log loss, by grid point.

    The modes by the approximation are close to those of the rows. Only those are refined whose share is at least a
    thousandth of the largest. Newton's method takes gradients from the rows, and the Hessian from the approximation.

    Parameters
    ----------
    rows : all training rows
    approximate : the quadratic approximation of their log loss, and the modes on the grid by it
    """
    quadratic, grid = approximate
    largest = log_share(grid.modes[grid.best])  # the logarithm of its share, up to a constant
    refined = {}
    for grid_point, mode in grid.modes.items():
        if log_share(mode) > largest + np.log(_LEAST_SHARE):
            point = minimise(rows, mode, GAIN, quadratic.fisher)  # Newton's method from the approximate mode
            refined[grid_point] = quadratic.with_evidence(rows, point).mode  # evidence and leave-one-out of it
    return refined
