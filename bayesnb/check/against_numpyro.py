"""Rows 1 to 4 of the check: density, mode, posterior and prediction by NumPyro against the closed form.

Rows 1 and 2 are exact. Rows 3 and 4 are statistical tests. Short chains that start at exact draws end as exact draws if
kernel and model are right, so a Kolmogorov–Smirnov test is valid as it stands.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import jax
import numpy as np
from jax.flatten_util import ravel_pytree
from scipy import optimize
from scipy.special import logsumexp

from ..models.naive_bayes import CLASS, NaiveBayes, Rows
from ..numerics.arrays import Bool, Theta
from ..numerics.special import log_normalize
from ..posterior.chains import (
    Twin,
    constrain,
    jitted,
    log_joint,
    program,
    run_short_chains,
    sites_in_floats,
    start_points,
)
from .draws import marginal_transforms, uniform_row
from .laws import Problem, limit_of
from .report import CheckRow

IDENTITY = 1e-9  # relative; rounding in sums of n·d logarithms is some 1e-12
R_HAT = 1.02  # Vehtari et al. (2021) ask for 1.01 of one quantity; here it is the largest of many
ESS = 400  # Vehtari et al. (2021): what mean, quantiles and R-hat need to be read at all
HEAVY = 0.003  # a class probability counts only where no draw carries more than this share of its average

_HIGHER = 1e-6  # nats that an optimiser may end above the mode
_ROUNDING = 1e-12  # and this share of the log joint
_PILOT = 400  # exact draws behind scales and the start of the search, at most
_PILOT_NUMBERS = 20_000_000  # numbers in these draws, at most
_AT_BOUNDARY = 100.0  # an unconstrained coordinate beyond this belongs to a parameter of 0 or 1
_INFINITE = 650.0  # where such a coordinate is held: e^−650 is above the least float
_LEAST_SHARE = np.exp(-_AT_BOUNDARY)  # of a simplex, likewise
_SHORT_CHAINS, _SHORT_STEPS, _LEAPFROG = 2_000, 6, 4
_LEAST_MOVED = 0.5  # share of the states that short chains have to leave


# --- row 1 ----------------------------------------------------------------------------------------------------------


def identity_row(problem: Problem, rng: np.random.Generator) -> CheckRow:
    """Row 1: Bayes' identity, log p(θ, data) = log p(θ | data) + log p(data), at exact draws of θ.

    The left side is a density of NumPyro, the right side one of the formulas: the two share no code. So a wrong
    likelihood, a wrong posterior or a wrong evidence shows.

    Parameters
    ----------
    problem : prior, rows and labels, from which posterior, evidence and NumPyro model (`twin`) follow
    """
    # 32 draws of θ from the exact posterior, by NumPyro site (a named random variable of its model). Draws are moved a
    # little where a float has no digits for them, as for a probability of 1 − 1e-20
    posterior = problem.posterior
    sites = sites_in_floats(posterior, posterior.sample(rng, (32,)))
    by_numpyro = problem.twin.log_joint(sites)  # (32,)
    density = posterior.log_prob(posterior.from_sites(sites))  # (32,)

    # relative to the largest of the three terms, as each has rounding of its own size
    size = np.maximum(np.maximum(abs(by_numpyro), abs(density)), abs(problem.evidence))
    worst = float(np.max(abs(by_numpyro - density - problem.evidence) / size))  # NaN stays, and fails
    says = "At random parameters, NumPyro's model and the formulas give the same probability of data and parameters."
    return CheckRow.within(
        name="1  Bayes' identity",
        meaning=says,
        figure=worst,
        threshold=IDENTITY,
        unit="relative",
        reason="exact in theory; rounding leaves some 1e-12",
        remark=f"log evidence {problem.evidence:.6f} nats; 32 random θ",
    )


# --- row 2 ----------------------------------------------------------------------------------------------------------


class _Search(NamedTuple):
    """Where an optimiser looks for a higher density than that of the mode.

    Fields
    ------
    mode : unconstrained coordinates of the mode by site; those of parameters of 0 or 1 at ±650
    inwards : the same, with those at ±650 a step nearer to 0
    start, scale : where the search starts, and the posterior standard deviations, by site. The search leaves parameters
        on the boundary, and those without a mode, at the mode: their scale is 0
    """

    mode: Theta
    inwards: Theta
    start: Theta
    scale: Theta


def mode_row(problem: Problem, rng: np.random.Generator) -> CheckRow:
    """Row 2: an optimiser that starts elsewhere finds no higher density than that of the jitted closed-form mode.

    It looks at unconstrained coordinates u in units of their posterior spread, at NumPyro's density of θ(u) without its
    Jacobian. Parameters whose mode is 0 or 1 stay there; a step away from there finds no higher density either.

    Parameters
    ----------
    problem : prior, rows and labels, from which posterior, evidence and NumPyro model (`twin`) follow
    """
    # the log joint, log p(θ, data), at the mode, at a point a step inside of the boundary, and at all points that an
    # optimiser visits; `_plan_search` says where these are
    with jax.enable_x64(True):
        search = _plan_search(problem, rng)
        log_p_mode = _log_joint_at(problem.twin, search.mode)
        log_p_inwards = _log_joint_at(problem.twin, search.inwards)
        log_p_others = [log_p_inwards, *_log_joints_of_search(problem.twin, search)]

    # a density without a bound takes the search out of the numbers, so only finite values count
    is_number = np.isfinite(log_p_others)
    best = np.max(log_p_others, where=is_number, initial=log_p_mode)  # of the mode and the other points
    best_other = np.max(log_p_others, where=is_number, initial=-np.inf)
    above = best - log_p_mode  # at least 0
    nearest = abs(best_other - log_p_mode)
    says = "The most probable parameters by formula are where NumPyro's density is highest: a search finds none higher."
    return CheckRow.within(
        name="2  Mode",
        meaning=says,
        figure=float(above),
        threshold=_HIGHER + _ROUNDING * abs(log_p_mode),
        unit="nats",
        reason="rounding leaves some 1e-12 of the log joint",
        remark=f"the optimiser ends {nearest:.1e} nats {'above' if above > 0 else 'below'} the mode",
    )


@program
def _mode_program() -> Any:
    """The compiled program: posterior → the mode by the closed form, as NumPyro's sites."""
    return jitted(lambda posterior: posterior.to_sites(posterior.mode()))


def _plan_search(problem: Problem, rng: np.random.Generator) -> _Search:
    """Where the search for a higher density starts, in which units it moves, and which parameters it leaves alone.

    Exact draws of the posterior, the pilot, say where it lies and how wide it is.

    Parameters
    ----------
    problem : prior, rows and labels, from which posterior, evidence and NumPyro model (`twin`) follow
    """
    posterior = problem.posterior
    mode_of = _mode_program()  # compiled once
    mode_by_site = mode_of(jax.tree.map(np.asarray, posterior))
    mode = {name: np.asarray(value)[None] for name, value in mode_by_site.items()}  # as a single draw, (1, …)

    # 400 exact draws, unconstrained, (n_pilot, …) by site; fewer, but at least 32, where there are many parameters
    n_parameters = sum(leaf.size for leaf in jax.tree.leaves(posterior))
    n_pilot = int(np.clip(_PILOT_NUMBERS // n_parameters, 32, _PILOT))
    pilot = problem.twin.unconstrained(sites_in_floats(posterior, posterior.sample(rng, (n_pilot,))))

    search = _Search(mode={}, inwards={}, start={}, scale={})  # filled site by site
    for name, u in problem.twin.unconstrained(mode).items():
        # parameters that stay where they are: those on the boundary, and those whose density has no mode. u[0] drops
        # the axis of the single draw
        finite_u, is_on_boundary = _finite_coordinates(u[0], mode[name][0])  # ±650 for infinite coordinates
        is_fixed = is_on_boundary | _has_no_mode(posterior, name, finite_u.shape)

        # a coordinate held at ±650 moves to ±649 for the step inwards
        is_infinite = abs(finite_u) == _INFINITE
        search.mode[name] = finite_u
        search.inwards[name] = np.where(is_infinite, finite_u * (1 - 1 / _INFINITE), finite_u)

        # the search starts at the first draw, moved three times as far from the mean, so that it starts off the mode
        draws = pilot[name]
        mean = draws.mean(0)
        far_from_mean = mean + 3 * (draws[0] - mean)
        sd = np.maximum(draws.std(0), 1e-12)
        search.start[name] = np.where(is_fixed, finite_u, far_from_mean)
        search.scale[name] = np.where(is_fixed, 0.0, sd)
    return search


def _finite_coordinates(u: np.ndarray, value: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A mode in unconstrained coordinates, made finite, and which of these coordinates an optimiser must leave alone.

    Unconstrained coordinates u are real numbers that stand for parameters in a smaller space: the logarithm of a
    positive number, the logit of a probability. A mode may lie on the boundary of its space: a probability is 0, and
    its logit −∞. An optimiser cannot start there, so that the coordinate is set to −650, where the probability is about
    e^−650. A site is an array of parameters with one name; there are three kinds:

    - a real number or a matrix: nothing lies on a boundary
    - a positive number (u its logarithm) or a number between 0 and 1 (u its logit): u beyond ±100 is on the boundary
    - K shares that add up to 1: see `_finite_coordinates_of_shares`

    Parameters
    ----------
    u : the mode in unconstrained coordinates, infinite where a parameter is 0 or 1
    value : the mode as the site holds it, of the same shape; of K shares, with one more entry than u

    Returns
    -------
    coordinates inside ±650, and booleans of the same shape: True where the parameter is on the boundary
    """
    is_real = u.shape == value.shape and np.array_equal(u, value)  # it is its own coordinate
    is_matrix = u.ndim != value.ndim  # a matrix has more axes than its coordinates
    if is_real or is_matrix:
        return u, np.zeros(u.shape, bool)

    finite_u = np.nan_to_num(np.clip(u, -_INFINITE, _INFINITE))
    are_shares = u.shape != value.shape
    if are_shares:
        return _finite_coordinates_of_shares(finite_u, value)

    # a number that is positive, or between 0 and 1
    is_on_boundary = ~(abs(u) < _AT_BOUNDARY)  # also where u is NaN
    return finite_u, is_on_boundary


def _finite_coordinates_of_shares(finite_u: np.ndarray, value: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The same for K shares that add up to 1, with K − 1 coordinates: all of these are left alone if a share is 0.

    The coordinates are logits of the breaks of a stick of length 1. Break k = 1 … K − 1 cuts share k from what remains
    of the stick, the sum of the shares k … K: with the shares 0.5 0.3 0.2 the lengths before each break are 1 and 0.5.

    Parameters
    ----------
    finite_u : (…, K − 1) the mode in unconstrained coordinates
    value : (…, K) the shares at the mode
    """
    # what remains before each break, added up from the last share, so that small shares keep their digits
    remaining = np.flip(np.cumsum(np.flip(value, -1), -1), -1)  # (…, K); the last share has no break

    # where nothing remains, as after a share of 1, any coordinate gives the same shares; 0 is taken
    is_empty = remaining[..., :-1] < _LEAST_SHARE  # (…, K − 1)
    finite_u = np.where(is_empty, 0.0, finite_u)

    # the mode of a Dirichlet density has a share 0 where the concentration of that share is at most 1. Below 1 the
    # density grows without bound as the share shrinks, and every other coordinate can shrink it, by what it leaves of
    # the stick. An optimiser would follow it to infinity, so all coordinates of such shares are left alone
    has_empty_share = (value < _LEAST_SHARE).any(-1, keepdims=True)
    return finite_u, np.broadcast_to(has_empty_share, finite_u.shape)


def _has_no_mode(posterior: NaiveBayes, site: str, shape: tuple[int, ...]) -> Bool[np.ndarray, "..."]:
    """Coordinates of parameters whose density has peaks on the boundary alone: no concentration is above 1.

    Such is Beta(½, ½), whose density is largest at 0 and at 1 and has no mode inside; an optimiser would only find that
    it grows without bound. Parameters without a beta marginal have a mode.

    Parameters
    ----------
    site : name of a NumPyro site
    shape : that of its unconstrained coordinates, and of the result
    """
    # marginals are frozen distributions of scipy.stats, whose `dist.name` is such as "beta", or classes of this package
    # without `dist`
    marginal = posterior.marginals()[site]
    is_beta = getattr(getattr(marginal, "dist", None), "name", "") == "beta"
    if not is_beta:
        return np.zeros(shape, bool)
    a, b = map(np.asarray, marginal.args)  # the two concentrations of beta distributions
    if a.shape == shape:  # a probability of its own for each coordinate
        return (a <= 1) & (b <= 1)

    # K shares that add up to 1 have K − 1 coordinates. Share k of Dirichlet(α) is Beta(α_k, Σ_j α_j − α_k), so that a
    # has the concentrations. If none is above 1 all K − 1 coordinates have no mode, else all have one
    has_no_mode = (a <= 1).all(-1, keepdims=True)
    return np.broadcast_to(has_no_mode, shape)


def _log_joint_at(twin: Twin, u: Theta) -> float:
    """NumPyro's log p(θ(u), data) at coordinates u by site; the Jacobian of θ(u) is no part of it.

    Parameters
    ----------
    twin : a NumPyro model and its data
    u : unconstrained coordinates by site, such as logarithms of positive parameters
    """
    energy_and_slope = _energy_and_slope(twin.function)  # the compiled −log p and its slope, at centre + scale · v
    flat_u, _ = ravel_pytree(u)  # (D,)
    no_step = np.zeros(flat_u.shape)  # v = 0 is the centre, u, whatever the scale: u stands for it too
    energy, _ = energy_and_slope(twin.data, u, u, no_step)
    return -float(energy)


@program
def _energy_and_slope(function: Callable[..., Any]) -> Any:
    """The compiled program: data, centre, scale, v → −log p(θ(u), data) and its slope in v, at u = centre + scale · v.

    `centre` and `scale` are unconstrained coordinates by site (a named array of parameters of the NumPyro model), v and
    the slope flat vectors (D,) of all of them. `jax.value_and_grad` gives value and gradient, in argument 3, v.
    """

    def energy(data: tuple[Any, ...], centre: Theta, scale: Theta, v: Any) -> Any:
        """−log p(θ(u), data) at u = centre + scale · v."""
        flat_centre, unravel = ravel_pytree(centre)  # (D,), and the way back to coordinates by site
        flat_scale, _ = ravel_pytree(scale)
        sites = constrain(function, data, unravel(flat_centre + flat_scale * v))
        return -log_joint(function, data, sites)

    return jitted(jax.value_and_grad(energy, argnums=3))


def _log_joints_of_search(twin: Twin, search: _Search) -> list[float]:
    """NumPyro's log joint at all points that an optimiser visits, from the start of the search on.

    All of them count, not only the last: a single one above the mode shows that the mode is wrong. The optimiser
    (L-BFGS-B) minimises −log p over v (D,), with the coordinates start + scale · v; where the scale is 0 they do not
    move.

    Parameters
    ----------
    twin : a NumPyro model and its data
    search : by site, the unconstrained coordinates where it starts (`start`), off the mode, and their posterior
        standard deviations (`scale`), 0 for parameters that are to stay

    Returns
    -------
    log p(θ, data) in nats at each visited point, in the order of the visits
    """
    energy_and_slope = _energy_and_slope(twin.function)  # compiled: −log p and its gradient in v, (D,)
    log_p_visited: list[float] = []  # grows while the optimiser runs: `minimize` returns the last point only

    def visit(v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """−log p and its slope at v, as the optimiser asks for them; log p is appended to `log_p_visited`."""
        energy, slope = energy_and_slope(twin.data, search.start, search.scale, v)
        log_p_visited.append(-float(energy))
        return np.asarray(energy, float), np.asarray(slope, float)

    # no tolerance on the energy: it stops where the slope is 0, or where no step is better
    options = {"maxiter": 5_000, "maxfun": 10_000, "ftol": 0, "gtol": 1e-7, "maxcor": 30}
    origin = np.zeros(ravel_pytree(search.start)[0].shape)  # v = 0, (D,): all sites as one flat vector
    optimize.minimize(visit, origin, jac=True, method="L-BFGS-B", options=options)
    return log_p_visited


# --- which columns NumPyro's chains can have -------------------------------------------------------------------------

_LEAST_CONCENTRATION = 0.05 * (1 - 1e-9)  # of a beta, Dirichlet or gamma density on which NUTS mixes
_LEAST_UPPER = 0.3  # of Beta(a, b) with a site of its own, b: NumPyro takes 1 − θ, which has no digits below 1e-16
SPARSE = f"as NumPyro's chains do not mix where a concentration is below {0.05:g}, or {_LEAST_UPPER:g} next to 1"


def sparse_columns(block: Any) -> Bool[np.ndarray, " d"]:
    """Columns of a posterior block with a concentration that is too small for NumPyro's chains, (d,) booleans.

    A block is the model of some columns by one family. Concentrations are the parameters of its beta, Dirichlet and
    gamma densities: the smaller one is, the more mass lies next to 0, where the sampler does not mix.
    """
    n_columns = block.shape[1]
    is_sparse = np.zeros(n_columns, bool)
    for concentration in _concentrations(block):  # divided by the smallest that chains need, so too small below 1
        is_small = concentration < 1
        if is_small.ndim < 2:  # a parameter that all columns have in common
            is_sparse |= bool(is_small.any())
        else:  # (classes, columns) or more axes: a column is sparse if any of its entries is small
            all_axes_but_columns = (0, *range(2, is_small.ndim))
            is_sparse |= is_small.any(all_axes_but_columns)
    return is_sparse


def has_sparse_classes(posterior: NaiveBayes) -> bool:
    """Whether a concentration of the class probabilities is too small for NumPyro's chains."""
    # concentrations are in units of the least that chains need, so too small below 1
    return any(bool((concentration < 1).any()) for concentration in _concentrations(posterior.classes))


def _concentrations(block: Any) -> list[np.ndarray]:
    """Concentrations of a block's parameters, divided by the smallest with which NumPyro's chains mix.

    So those below 1 are too small: the mass of a parameter θ piles up at an end of its range. Which of them count
    depends on the marginal of θ and on how the block holds it:

        held as       marginal of θ      ends that count
        logit_theta   Beta(a, b)         0, by a, and 1, by b
        log_theta     Beta(a, b)         0, by a. It is one of K shares; near 1 all others are near 0, and are counted
        log_rate …    Gamma(a, …)        0, by a

    Returns
    -------
    for each parameter and end an array in the shape of the parameter, such as (c, d)
    """
    marginals = block.marginals()  # by the name of θ, frozen distributions of `scipy.stats`
    concentrations = []
    for parameter in block.parameters:
        theta = parameter.removeprefix("log_").removeprefix("logit_")
        marginal = marginals.get(theta)
        law = getattr(getattr(marginal, "dist", None), "name", "")  # such as "beta"; "" of any other object
        has_end_at_0 = law in ("beta", "gamma")
        has_end_at_1 = law == "beta" and parameter.startswith("logit_")
        if has_end_at_0:
            a = np.asarray(marginal.args[0])
            concentrations.append(a / _LEAST_CONCENTRATION)
        if has_end_at_1:
            b = np.asarray(marginal.args[1])
            concentrations.append(b / _LEAST_UPPER)
    return concentrations


# --- row 3 ----------------------------------------------------------------------------------------------------------


def short_chains_row(problem: Problem, rng: np.random.Generator, rate: float) -> CheckRow:
    """Row 3a: chains started at exact draws with a fixed kernel end as exact, independent draws.

    A Markov chain that leaves a density unchanged, and starts at a draw from it, ends at a draw from it, after however
    few steps. So each parameter θ of the ends, as F(θ) with its exact posterior distribution function F, has to be
    uniform on (0, 1). If the formulas had another posterior than NumPyro's density, the chains would leave it for that
    of NumPyro. The row also fails if few states have moved, because draws that stay where they are test nothing.

    Parameters
    ----------
    problem : prior, rows and labels, from which posterior, evidence and NumPyro model (`twin`) follow
    rng : source of the exact draws and of the chains
    rate : probability of a false alarm
    """
    # exact draws, (chains, …) by site, and a metric for the chains that start there
    posterior = problem.posterior
    exact = sites_in_floats(posterior, posterior.sample(rng, (_SHORT_CHAINS,)))
    starts, metric = start_points(problem.twin, exact, _SHORT_CHAINS, dense=problem.prior.coupled)

    # their ends, (chains, …) by site, as uniform numbers (chains, parameters) by site
    ends = run_short_chains(problem.twin, starts, metric, rng, transitions=_SHORT_STEPS, leapfrog=_LEAPFROG)
    pit = probability_transforms(posterior, ends)
    moved = float(np.mean([np.mean(ends[name] != exact[name]) for name in pit]))  # mean share of a site's numbers
    remark = f"{_SHORT_CHAINS:,} chains of {_SHORT_STEPS} steps; {moved:.0%} of states moved; {problem.size_in_words}"
    says = (
        "Short chains on NumPyro's density that start at exact draws of the parameters end as draws of the same kind."
    )
    row = uniform_row("3a Posterior, exact starts", says, pit, rate, remark, scores=True)
    return replace(row, passed=row.passed and moved > _LEAST_MOVED)


def nuts_row(problem: Problem, sites: Theta, rate: float) -> CheckRow:
    """Row 3b: convergence, and mean and quantiles of every parameter within Monte Carlo error of the exact ones.

    Draws θ of a parameter are compared as u = F(θ), F the exact posterior distribution function (the probability
    integral transform). If the chain is right, u is uniform on (0, 1), whatever the parameter: its mean is ½, and a
    share q of the draws is below q.

    Parameters
    ----------
    problem : prior, rows and labels, from which posterior, evidence and NumPyro model (`twin`) follow
    sites : (chains, draws, …) draws of NUTS by site
    rate : probability of a false alarm
    """
    from numpyro.diagnostics import effective_sample_size, split_gelman_rubin

    # u of the parameters of all sites, side by side, (chains, draws, parameters)
    u_by_site = probability_transforms(problem.posterior, sites)
    u = np.concatenate(list(u_by_site.values()), -1)
    r_hat = float(np.max(split_gelman_rubin(u)))
    ess = float(np.min(effective_sample_size(u)))

    # how many standard errors the mean of u is off ½, and how many the shares of draws below the exact 10 %, 50 % and
    # 90 % quantiles are off 0.1, 0.5 and 0.9: four arrays (parameters,). `_z_values` is (mean − expected) / Monte Carlo
    # standard error, which allows for the dependence of the draws of a chain. Their standard deviation is that of a
    # uniform number, and of an event of probability q; that of the draws is too small where they miss a tail
    z = [_z_values(u, 0.5, sd=math.sqrt(1 / 12))]
    for q in (0.1, 0.5, 0.9):
        z.append(_z_values((u <= q).astype(float), q, sd=math.sqrt(q * (1 - q))))
    worst = float(np.max(np.abs(z)))
    limit = limit_of(np.size(z), rate)  # for the largest of all of them
    return CheckRow(
        name="3b Posterior, NUTS",
        figure=worst,
        threshold=limit,
        unit="standard errors",
        passed=bool(worst <= limit and r_hat <= R_HAT and ess >= ESS),
        reason=f"false alarms {rate:.2%} over {np.size(z)} means and quantiles; R-hat ≤ {R_HAT}, ESS ≥ {ESS}",
        remark=f"R-hat at most {r_hat:.4f}, ESS at least {ess:.0f}; {problem.size_in_words}",
        meaning="NumPyro's sampler, started far away, finds the posterior distribution that the formulas state.",
    )


def prediction_row(problem: Problem, sites: Theta, rows: Rows, rate: float) -> CheckRow:
    """Row 4: the joint averaged over NUTS draws and then normalised, against the closed form.

    The closed form is p_c = p(y = c | x, data). From draws θ_s of NUTS it is estimated by p̂_c = Σ_s w_sc / Σ_s Σ_k w_sk
    with w_sc = p(x, y = c | θ_s). This is a ratio of means. By the delta method its Monte Carlo error is that of the
    mean over s of (w_sc − p_c Σ_k w_sk) / (mean over draws of Σ_k w_sk).

    Parameters
    ----------
    problem : prior, rows and labels, from which posterior, evidence and NumPyro model (`twin`) follow
    sites : (chains, draws, …) draws of NUTS by site
    rows : n held-out rows by block
    rate : probability of a false alarm
    """
    joint = problem.posterior.log_joint(rows, problem.posterior.from_sites(sites))  # (chains, draws, n, c)
    exact = np.exp(log_normalize(problem.posterior.log_joint(rows)))  # p_c, (n, c)
    errors = _errors_of_estimates(joint, exact)
    z = _z_values(errors.of_draws, 0.0)  # (k,) in standard errors

    worst = float(np.max(abs(z), initial=0))
    limit = limit_of(z.size, rate) if z.size else 0.0  # where nothing is compared, 0 is within the limit 0
    remark = f"of {len(exact)} held-out rows, half cut to five cells, where no draw carries {HEAVY:.1%} of an average; "
    remark += f"largest difference {errors.largest:.1e}"
    return CheckRow.within(
        name="4  Prediction",
        meaning="Class probabilities by formula are those that NumPyro's draws give on rows that were not fitted.",
        figure=worst,
        threshold=limit,
        unit="standard errors",
        reason=f"false alarms {rate:.2%} over {z.size} class probabilities",
        remark=remark,
    )


class _Errors(NamedTuple):
    """How far k class probabilities, estimated from draws, are off.

    Fields
    ------
    of_draws : (chains, draws, k) numbers whose mean over the draws should be 0
    largest : difference of an estimate from the exact probability
    """

    of_draws: np.ndarray
    largest: float


def _errors_of_estimates(joint: np.ndarray, exact: np.ndarray) -> _Errors:
    """Errors of p̂_c = Σ_s w_sc / Σ_s Σ_k w_sk with w_sc = p(x, y = c | θ_s), of those p_c that no few draws decide.

    Parameters
    ----------
    joint : (chains, draws, n, c) log w
    exact : (n, c) p_c
    """
    # weights w of a row, so scaled that their sum over draws and classes is 1: summed over draws they are p̂_c
    weights = np.exp(joint - logsumexp(joint, axis=(0, 1, 3), keepdims=True))
    total = weights.sum(-1, keepdims=True)  # Σ_k w_sk, (chains, draws, n, 1)
    estimate = weights.sum((0, 1))  # p̂_c, (n, c)

    # a mean that a few draws carry has no normal error: no draw may have more than a share HEAVY of the sum over draws,
    # neither of the class (estimate) nor of all classes (1)
    largest_of_class = weights.max((0, 1))  # (n, c)
    largest_of_row = total.max((0, 1))  # (n, 1)
    is_steady = (largest_of_class < HEAVY * estimate) & (largest_of_row < HEAVY)  # (n, c)

    # a class that every draw calls impossible is left out, and the likeliest class: it is one minus the others
    is_possible = exact > 1e-250
    is_less_likely = exact < exact.max(1, keepdims=True)
    is_compared = is_steady & is_possible & is_less_likely

    # terms of the delta method for the k class probabilities that are compared, (w_sc − p_c Σ_k w_sk) / p_c. They are
    # divided by p_c because the square of 1e-200 is zero in floats
    totals = np.broadcast_to(total, weights.shape)
    of_draws = weights[:, :, is_compared] / exact[is_compared] - totals[:, :, is_compared]
    difference = abs(estimate - exact)[is_compared]
    return _Errors(of_draws, float(np.max(difference, initial=0)))


def thin(prior: NaiveBayes, rows: Rows, rng: np.random.Generator) -> Rows:
    """Rows with about five cells left in every other one, for `prediction_row`.

    The likelihood of a row of many cells differs so much from draw to draw that few draws carry its average, and
    nothing could be compared.

    A removed cell is NaN, or a count of zero in a multinomial block. A block whose cells may not be missing stays as it
    is.

    Parameters
    ----------
    prior : the model, whose blocks (models of some columns each) say what marks a missing cell
    rows : (n, d) cells by block
    rng : chooses the cells
    """
    n_columns = sum(x.shape[1] for x in rows.values())
    thinned = {}
    for name, x in rows.items():
        is_removed = rng.random(x.shape) >= 5 / n_columns  # a cell stays with probability 5 / n_columns
        is_removed[::2] = False  # rows 0, 2, … keep all cells
        missing_value = prior.blocks[name].missing_value  # None where cells may not be missing
        thinned[name] = x if missing_value is None else np.where(is_removed, missing_value, x)
    return thinned


def probability_transforms(posterior: NaiveBayes, sites: Theta) -> dict[str, np.ndarray]:
    """Probability integral transforms of draws under the exact marginals by site, parameters along the last axis.

    That is F(θ) with the posterior distribution function F of each scalar parameter, uniform for draws from the
    posterior. A site is an array of parameters that NumPyro knows by one name. Parameters that are known exactly, such
    as the share of a column's only level, are left out.

    Parameters
    ----------
    sites : draws by site; their leading axes stay in front
    """
    theta = posterior.from_sites(sites)  # by block
    blocks = {CLASS: posterior.classes, **posterior.blocks}
    pit: dict[str, np.ndarray] = {}
    for name, block in blocks.items():
        # u = F(θ), (…, parameters of the site), by the name of the parameter
        for parameter, u in marginal_transforms(block, theta[name]).items():
            site = parameter if name == CLASS else posterior.site(name, parameter)  # the name that NumPyro has for it
            if u.shape[-1]:  # some of the site's parameters are not known exactly
                pit[site] = u
    return pit


def _z_values(draws: np.ndarray, expected: float, sd: float | None = None) -> np.ndarray:
    """(mean − expected) / Monte Carlo standard error of each of k series, (k,).

    The standard error of the mean of dependent draws is their standard deviation over the root of their effective
    number, here NumPyro's estimate of it. A constant series has the error 0, for which the smallest positive float
    stands: a mean that is not the expected one is then beyond every limit, and one that is has z = 0.

    Parameters
    ----------
    draws : (chains, draws, k)
    expected : what the mean of every series should be
    sd : standard deviation of a draw, where it is known; otherwise that of the draws is taken
    """
    from numpyro.diagnostics import effective_sample_size

    if not draws.size:
        return np.zeros(0)
    # sd / √(effective number of independent draws) where the series varies, and the smallest positive float elsewhere
    mean = draws.mean((0, 1))  # (k,)
    sd_of_draws = draws.std((0, 1))  # (k,)
    varies = sd_of_draws > 0
    sd_of_one = sd_of_draws[varies] if sd is None else sd
    error = np.full(len(mean), np.finfo(float).tiny)
    error[varies] = sd_of_one / np.sqrt(effective_sample_size(draws[..., varies]))
    return (mean - expected) / error
