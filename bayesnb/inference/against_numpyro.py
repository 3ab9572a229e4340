"""Rows 1 to 4 of the check: density, mode, posterior and prediction by NumPyro against the closed form.

Rows 1 and 2 are exact. Rows 3 and 4 are statistical tests. Short chains that start at exact draws end as exact draws if
kernel and model are right, so a Kolmogorov–Smirnov test is valid as it stands.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import jax
import numpy as np
from jax.flatten_util import ravel_pytree
from scipy import optimize
from scipy.special import logsumexp

from ..core.arrays import Bool, Theta
from ..core.special import log_normalize
from ..naive_bayes import CLASS, NaiveBayes, Rows
from .chains import Twin, constrain, jitted, log_joint, program, run_short_chains, sites_in_floats, start_points
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

    The left side is a density of NumPyro, the right side one of the formulas: the two share no code.
    """
    # 32 draws by NumPyro site, moved a little where a float has no digits for them
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
    """
    with jax.enable_x64(True):
        search = _plan_search(problem, rng)
        log_p_mode = _log_joint_at(problem.twin, search.mode)
        log_p_inwards = _log_joint_at(problem.twin, search.inwards)
        others = [log_p_inwards, *_visited(problem.twin, search)]

    # a density without a bound takes the search out of the numbers, so only finite values count
    is_number = np.isfinite(others)
    best = np.max(others, where=is_number, initial=log_p_mode)
    above = best - log_p_mode  # at least 0
    nearest = abs(np.max(others, where=is_number, initial=-np.inf) - log_p_mode)
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
    """
    posterior = problem.posterior
    mode_by_site = _mode_program()(jax.tree.map(np.asarray, posterior))
    mode = {name: np.asarray(value)[None] for name, value in mode_by_site.items()}  # as a single draw, (1, …)

    # at least 32 draws, and fewer than 400 where there are many parameters
    n_parameters = sum(leaf.size for leaf in jax.tree.leaves(posterior))
    n_pilot = int(np.clip(_PILOT_NUMBERS // n_parameters, 32, _PILOT))
    pilot = problem.twin.unconstrained(sites_in_floats(posterior, posterior.sample(rng, (n_pilot,))))

    search = _Search({}, {}, {}, {})
    for name, u in problem.twin.unconstrained(mode).items():
        # parameters that stay where they are: those on the boundary, and those whose density has no mode
        finite_u, is_on_boundary = _within_boundary(u[0], mode[name][0])
        is_fixed = is_on_boundary | _has_no_mode(posterior, name, finite_u.shape)

        # a coordinate held at ±650 moves to ±649 for the step inwards
        is_infinite = abs(finite_u) == _INFINITE
        search.mode[name] = finite_u
        search.inwards[name] = np.where(is_infinite, finite_u * (1 - 1 / _INFINITE), finite_u)

        # the search starts at the first draw, three times as far from the mean
        mean = pilot[name].mean(0)
        search.start[name] = np.where(is_fixed, finite_u, mean + 3 * (pilot[name][0] - mean))
        search.scale[name] = np.where(is_fixed, 0.0, np.maximum(pilot[name].std(0), 1e-12))
    return search


def _within_boundary(u: np.ndarray, value: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A site's mode in unconstrained coordinates that are finite, and which of them belong to parameters of 0 or 1.

    Parameters
    ----------
    u : the mode in unconstrained coordinates, infinite where a parameter is 0 or 1
    value : the mode as the site holds it, of the same shape; of K shares, with one more entry than u

    Returns
    -------
    coordinates inside ±650, and booleans of the same shape
    """
    is_real = u.shape == value.shape and np.array_equal(u, value)
    if is_real or u.ndim != value.ndim:  # a location or a matrix has no boundary to arrive at
        return u, np.zeros(u.shape, bool)

    # a number that is positive, or between 0 and 1
    finite_u = np.nan_to_num(np.clip(u, -_INFINITE, _INFINITE))
    is_fixed = ~(abs(u) < _AT_BOUNDARY)  # also where u is NaN
    if u.shape == value.shape:
        return finite_u, is_fixed

    # K shares of a stick, which K − 1 breaks divide: where nothing remains to be broken, the break may be anywhere
    remaining = np.flip(np.cumsum(np.flip(value, -1), -1), -1)  # before each break, added up from the last share
    is_empty = remaining[..., :-1] < _LEAST_SHARE
    finite_u = np.where(is_empty, 0.0, finite_u)
    # beside a share of 0 the density is unbounded in all the others
    has_empty_share = (value < _LEAST_SHARE).any(-1, keepdims=True)
    return finite_u, np.broadcast_to(has_empty_share, u.shape)


def _has_no_mode(posterior: NaiveBayes, site: str, shape: tuple[int, ...]) -> Bool[np.ndarray, "..."]:
    """Coordinates of parameters whose density has peaks on the boundary alone: no concentration is above 1.

    Parameters
    ----------
    site : name of a NumPyro site
    shape : that of its unconstrained coordinates, and of the result. Where it is not that of the parameters, they are
        shares of a simplex, each with a beta marginal: the shares stay or move together
    """
    # marginals are frozen distributions of scipy.stats, or classes of this package without `dist`
    marginal = posterior.marginals()[site]
    if getattr(getattr(marginal, "dist", None), "name", "") != "beta":
        return np.zeros(shape, bool)
    a, b = map(np.asarray, marginal.args)  # the two concentrations of beta distributions
    if a.shape == shape:
        return (a <= 1) & (b <= 1)
    return np.broadcast_to((a <= 1).all(-1, keepdims=True), shape)


def _log_joint_at(twin: Twin, u: Theta) -> float:
    """NumPyro's log p(θ(u), data) at coordinates u by site; the Jacobian of θ(u) is no part of it."""
    no_step = np.zeros(ravel_pytree(u)[0].shape)
    energy, _ = _energy_and_slope(twin.function)(twin.data, u, u, no_step)  # any scale does
    return -float(energy)


@program
def _energy_and_slope(function: Callable[..., Any]) -> Any:
    """The compiled program: data, centre, scale, v → −log p(θ(u), data) and its slope in v, at u = centre + scale · v.

    `centre` and `scale` are coordinates by site, v and the slope flat vectors (D,) of all of them.
    """

    def energy(data: tuple[Any, ...], centre: Theta, scale: Theta, v: Any) -> Any:
        flat, unravel = ravel_pytree(centre)
        sites = constrain(function, data, unravel(flat + ravel_pytree(scale)[0] * v))
        return -log_joint(function, data, sites)

    return jitted(jax.value_and_grad(energy, argnums=3))


def _visited(twin: Twin, search: _Search) -> list[float]:
    """NumPyro's log joint at all points that an optimiser visits, from the start of the search on.

    The optimiser minimises −log p over v, with the coordinates start + scale · v.
    """
    energy_and_slope = _energy_and_slope(twin.function)
    log_p: list[float] = []

    def visit(v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """−log p and its slope at v, as the optimiser asks for them; log p is noted."""
        energy, slope = energy_and_slope(twin.data, search.start, search.scale, v)
        log_p.append(-float(energy))
        return np.asarray(energy, float), np.asarray(slope, float)

    # no tolerance on the energy: it stops where the slope is 0, or where no step is better
    options = {"maxiter": 5_000, "maxfun": 10_000, "ftol": 0, "gtol": 1e-7, "maxcor": 30}
    origin = np.zeros(ravel_pytree(search.start)[0].shape)
    optimize.minimize(visit, origin, jac=True, method="L-BFGS-B", options=options)
    return log_p


# --- which columns NumPyro's chains can have -------------------------------------------------------------------------

_LEAST_CONCENTRATION = 0.05 * (1 - 1e-9)  # of a beta, Dirichlet or gamma density on which NUTS mixes
_LEAST_UPPER = 0.3  # of Beta(a, b) with a site of its own, b: NumPyro takes 1 − θ, which has no digits below 1e-16
SPARSE = f"as NumPyro's chains do not mix where a concentration is below {0.05:g}, or {_LEAST_UPPER:g} next to 1"


def sparse_columns(block: Any) -> Bool[np.ndarray, " d"]:
    """Columns of a posterior block with a concentration that is too small for NumPyro's chains, (d,) booleans."""
    n_columns = block.shape[1]
    is_sparse = np.zeros(n_columns, bool)
    for least in _concentrations(block):  # below 1 where too small
        if least.ndim < 2:  # a parameter that all columns have in common
            is_sparse |= bool((least < 1).any())
        else:  # (classes, columns, …): a column counts if any of its entries is small
            axes = (0, *range(2, least.ndim))
            is_sparse |= (least < 1).any(axes)
    return is_sparse


def has_sparse_classes(posterior: NaiveBayes) -> bool:
    """Whether a concentration of the class probabilities is too small for NumPyro's chains."""
    return any(bool((least < 1).any()) for least in _concentrations(posterior.classes))


def _concentrations(block: Any) -> list[np.ndarray]:
    """Concentrations of a block's beta, Dirichlet and gamma marginals, in units of the least that chains need.

    So those below 1 are too small. An array for each set of them, in the shape of the parameter; a Dirichlet vector
    has the concentrations of its beta marginals.
    """
    marginals = block.marginals()
    concentrations = []
    for parameter in block.parameters:
        marginal = marginals.get(parameter.removeprefix("log_").removeprefix("logit_"))
        law = getattr(getattr(marginal, "dist", None), "name", "")  # as `scipy.stats` calls it
        if law in ("beta", "gamma"):
            concentrations.append(np.asarray(marginal.args[0]) / _LEAST_CONCENTRATION)
        if law == "beta" and parameter.startswith("logit_"):  # θ near 1 counts too; of shares, 1 − θ is a sum of others
            concentrations.append(np.asarray(marginal.args[1]) / _LEAST_UPPER)
    return concentrations


# --- row 3 ----------------------------------------------------------------------------------------------------------


def short_chains_row(problem: Problem, rng: np.random.Generator, rate: float) -> CheckRow:
    """Row 3a: chains started at exact draws with a fixed kernel end as exact, independent draws.

    Each parameter of the ends, put into its exact marginal distribution function, has to be uniform on (0, 1). The row
    also fails if few states have moved, because draws that stay where they are test nothing.

    Parameters
    ----------
    rate : probability of a false alarm
    """
    posterior = problem.posterior
    exact = sites_in_floats(posterior, posterior.sample(rng, (_SHORT_CHAINS,)))  # (chains, …) by site
    starts, metric = start_points(problem.twin, exact, _SHORT_CHAINS, dense=problem.prior.coupled)
    ends = run_short_chains(problem.twin, starts, metric, rng, transitions=_SHORT_STEPS, leapfrog=_LEAPFROG)
    pit = transforms(posterior, ends)  # uniform numbers (chains, parameters) by site
    moved = float(np.mean([np.mean(ends[name] != exact[name]) for name in pit]))
    remark = f"{_SHORT_CHAINS:,} chains of {_SHORT_STEPS} steps; {moved:.0%} of states moved; {problem.size_in_words}"
    says = (
        "Short chains on NumPyro's density that start at exact draws of the parameters end as draws of the same kind."
    )
    row = uniform_row("3a Posterior, exact starts", says, pit, rate, remark, scores=True)
    return replace(row, passed=row.passed and moved > _LEAST_MOVED)


def nuts_row(problem: Problem, sites: Theta, rate: float) -> CheckRow:
    """Row 3b: convergence, and mean and quantiles of every parameter within Monte Carlo error of the exact ones.

    Parameters
    ----------
    sites : (chains, draws, …) draws of NUTS by site
    rate : probability of a false alarm
    """
    from numpyro.diagnostics import effective_sample_size, split_gelman_rubin

    # (chains, draws, parameters), uniform on (0, 1) if the chain is right
    u = np.concatenate(list(transforms(problem.posterior, sites).values()), -1)
    r_hat = float(np.max(split_gelman_rubin(u)))
    ess = float(np.min(effective_sample_size(u)))

    # the mean of the probability integral transform, and the shares of draws below three exact quantiles
    z = [_z_values(u, 0.5)]
    for q in (0.1, 0.5, 0.9):
        z.append(_z_values((u <= q).astype(float), q))
    worst = float(np.max(np.abs(z)))
    limit = limit_of(np.size(z), rate)
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

    p̂_c = Σ_s w_sc / Σ_s Σ_c w_sc with w = p(x, c | θ_s) is a ratio; its Monte Carlo error is that of the mean of
    (w_sc − p_c Σ_c w_sc) / mean weight (delta method).

    Parameters
    ----------
    sites : (chains, draws, …) draws of NUTS by site
    rows : n held-out rows by block
    rate : probability of a false alarm
    """
    joint = problem.posterior.log_joint(rows, problem.posterior.from_sites(sites))  # (chains, draws, n, c)
    exact = np.exp(log_normalize(problem.posterior.log_joint(rows)))  # (n, c)

    # weights of a row, so scaled that their sum over draws and classes is 1: summed over draws they are p̂_c
    weights = np.exp(joint - logsumexp(joint, axis=(0, 1, 3), keepdims=True))
    total = weights.sum(-1, keepdims=True)  # (chains, draws, n, 1)
    estimate = weights.sum((0, 1))  # (n, c)

    # a mean that a few draws carry has no normal error: neither the class's own nor that of the sum may be such a one
    # (a class that every draw calls impossible has the sum 0 and is left out too)
    is_steady = (weights.max((0, 1)) < HEAVY * estimate) & (total.max((0, 1)) < HEAVY)  # (n, c)
    is_steady &= (exact > 1e-250) & (exact < exact.max(1, keepdims=True))  # the likeliest is one minus the others

    # terms of the delta method in units of the probability itself: the square of 1e-200 is zero
    totals = np.broadcast_to(total, weights.shape)
    scaled = weights[:, :, is_steady] / exact[is_steady] - totals[:, :, is_steady]  # (chains, draws, k)
    z = _z_values(scaled, 0.0)

    worst = float(np.max(abs(z), initial=0))
    limit = limit_of(z.size, rate) if z.size else 0.0
    largest_difference = float(np.max(abs(estimate - exact)[is_steady], initial=0))
    remark = f"of {len(exact)} held-out rows, half cut to five cells, where no draw carries {HEAVY:.1%} of an average; "
    remark += f"largest difference {largest_difference:.1e}"
    return CheckRow.within(
        name="4  Prediction",
        meaning="Class probabilities by formula are those that NumPyro's draws give on rows that were not fitted.",
        figure=worst,
        threshold=limit,
        unit="standard errors",
        reason=f"false alarms {rate:.2%} over {z.size} class probabilities",
        remark=remark,
    )


def thin(prior: NaiveBayes, rows: Rows, rng: np.random.Generator) -> Rows:
    """Rows with about five cells left in every other one: averages over many cells are carried by few draws.

    A cell taken out is a missing one, and in a multinomial block a count of zero; complete rows stay as they are.
    """
    n_columns = sum(x.shape[1] for x in rows.values())
    thinned = {}
    for name, x in rows.items():
        is_removed = rng.random(x.shape) >= 5 / n_columns  # a cell stays with probability 5 / n_columns
        is_removed[::2] = False
        missing_value = prior.blocks[name].missing_value  # None where cells may not be missing
        thinned[name] = x if missing_value is None else np.where(is_removed, missing_value, x)
    return thinned


def transforms(posterior: NaiveBayes, sites: Theta) -> dict[str, np.ndarray]:
    """Probability integral transforms of draws under the exact marginals by site, parameters along the last axis.

    That is F(θ) with the posterior distribution function F of each scalar parameter, uniform for draws from the
    posterior. Without the parameters that are known exactly, such as the share of a column's only level.

    Parameters
    ----------
    sites : draws by site; their leading axes stay in front
    """
    theta = posterior.from_sites(sites)
    blocks = {CLASS: posterior.classes, **posterior.blocks}
    pit: dict[str, np.ndarray] = {}
    for name, block in blocks.items():
        for site, u in marginal_transforms(block, theta[name]).items():
            if u.shape[-1]:  # some of the site's parameters are not known exactly
                pit[site if name == CLASS else posterior.site(name, site)] = u
    return pit


def _z_values(draws: np.ndarray, expected: float) -> np.ndarray:
    """(mean − expected) / Monte Carlo standard error of each of k series, (k,).

    The standard error of the mean of dependent draws is their standard deviation over the root of their effective
    number. A constant series has the error 0, for which the smallest number stands, so that any difference shows.

    Parameters
    ----------
    draws : (chains, draws, k)
    expected : what the mean of every series should be
    """
    from numpyro.diagnostics import effective_sample_size

    if not draws.size:
        return np.zeros(0)
    mean = draws.mean((0, 1))  # (k,)
    sd = draws.std((0, 1))
    varies = sd > 0
    error = np.full(len(sd), np.finfo(float).tiny)
    error[varies] = sd[varies] / np.sqrt(effective_sample_size(draws[..., varies]))
    return (mean - expected) / error
