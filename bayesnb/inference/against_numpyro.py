"""Rows 1 to 4 of the check: density, mode, posterior and prediction by NumPyro against the closed form.

Rows 1 and 2 are exact. Rows 3 and 4 are statistical tests. Short chains that start at exact draws end as exact draws if
kernel and model are right, so a Kolmogorov–Smirnov test is valid as it stands.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import optimize
from scipy.special import logsumexp

from ..core.arrays import Theta
from ..core.special import log_normalize
from ..naive_bayes import NaiveBayes, Rows
from .chains import jitted, run_chains, start_points, unconstrained
from .draws import uniform_row
from .laws import Problem, limit_of
from .report import CheckRow

IDENTITY = 1e-9  # relative; rounding in sums of n·d logarithms is some 1e-12
_HIGHER, _ROUNDING = 1e-6, 1e-12  # an optimiser may end so many nats above the mode, and this share of the log joint
_PILOT, _PILOT_NUMBERS = 400, 20_000_000  # exact draws behind scales and the start: most draws, most numbers
_INFINITE = 650.0  # an unconstrained coordinate that stands for infinity (e^−650 is above the least float)
R_HAT = 1.02  # Vehtari et al. (2021) ask for 1.01 of one quantity; here it is the largest of many
ESS = 400  # Vehtari et al. (2021): what mean, quantiles and R-hat need to be read at all
HEAVY = 0.003  # a class probability counts only where no draw carries more than this share of its average
_SHORT_CHAINS, _SHORT_STEPS, _LEAPFROG, _SIDE_BY_SIDE = 4_000, 10, 5, 50


def identity_row(problem: Problem, rng: np.random.Generator) -> CheckRow:
    """Row 1: Bayes' identity, at exact draws."""
    import jax

    sites = problem.posterior.to_sites(problem.posterior.sample(rng, (32,)))
    with jax.enable_x64(True):
        by_numpyro = np.asarray(jitted(jax.vmap(_log_joint(problem)))(sites))
    density = problem.posterior.log_prob(problem.posterior.from_sites(sites))
    size = np.maximum(np.maximum(abs(by_numpyro), abs(density)), abs(problem.evidence))
    worst = float(np.max(abs(by_numpyro - density - problem.evidence) / size))  # NaN stays, and fails
    says = "At random parameters, NumPyro's model and the formulas give the same probability of data and parameters."
    reason = "exact in theory; rounding leaves some 1e-12"
    remark = f"log evidence {problem.evidence:.6f} nats; 32 random θ"
    return CheckRow.within("1  Bayes' identity", says, worst, IDENTITY, "relative", reason, remark)


def mode_row(problem: Problem, rng: np.random.Generator) -> CheckRow:
    """Row 2: an optimiser that starts elsewhere finds no higher density than that of the jitted closed-form mode.

    It looks at unconstrained coordinates u in units of their posterior spread, at NumPyro's density of θ(u) without its
    Jacobian.
    """
    import jax
    from jax.flatten_util import ravel_pytree
    from numpyro.infer.util import constrain_fn

    posterior, model = problem.posterior, problem.model
    with jax.enable_x64(True):
        as_jax = jax.tree.map(jax.numpy.asarray, posterior)
        mode = jax.tree.map(lambda leaf: np.asarray(leaf)[None], jitted(lambda nb: nb.to_sites(nb.mode()))(as_jax))
        size = sum(leaf.size for leaf in jax.tree.leaves(posterior))
        pilot = posterior.to_sites(posterior.sample(rng, (int(np.clip(_PILOT_NUMBERS // size, 32, _PILOT)),)))
        states, at_mode = unconstrained(model, pilot), unconstrained(model, mode)
        at_mode = {name: np.nan_to_num(u[0], posinf=_INFINITE, neginf=-_INFINITE) for name, u in at_mode.items()}
        start = {name: u.mean(0) + 3 * (u[0] - u.mean(0)) for name, u in states.items()}
        scale = {name: np.maximum(u.std(0), 1e-12) for name, u in states.items()}
        (centre, unravel), (unit, _), (u, _) = map(ravel_pytree, (start, scale, at_mode))
        joint = _log_joint(problem)

        def energy(v: Any) -> Any:
            return -joint(constrain_fn(model, (), {}, unravel(centre + unit * v)))

        value_and_grad = jitted(jax.value_and_grad(energy))
        found = [float(value_and_grad((u - centre) / unit)[0])]

        def visited(v: np.ndarray) -> tuple[np.ndarray, ...]:
            value, gradient = (np.asarray(part, float) for part in value_and_grad(v))
            found.append(float(value))
            return value, gradient

        options = {"maxiter": 5_000, "maxfun": 10_000, "ftol": 0, "gtol": 1e-7, "maxcor": 30}
        optimize.minimize(visited, np.zeros(len(centre)), jac=True, method="L-BFGS-B", options=options)
    # a density without a bound takes the search out of the numbers
    best = np.min(found, where=np.isfinite(found), initial=np.inf)
    above, allowed = found[0] - best, _HIGHER + _ROUNDING * abs(found[0])
    says = "The most probable parameters by formula are where NumPyro's density is highest: a search finds none higher."
    reason = "rounding leaves some 1e-12 of the log joint"
    remark = f"the optimiser ends {abs(above):.1e} nats {'above' if above > 0 else 'below'} the mode"
    return CheckRow.within("2  Mode", says, float(above), allowed, "nats", reason, remark)


def _log_joint(problem: Problem) -> Callable[[Theta], Any]:
    """NumPyro's log p(θ, x, y) as a function of the constrained sites."""
    from numpyro.infer.util import log_density

    return lambda sites: log_density(problem.model, (), {}, sites)[0]


def short_chains_row(problem: Problem, rng: np.random.Generator, seed: int, rate: float) -> CheckRow:
    """Row 3a: chains started at exact draws with a fixed kernel end as exact, independent draws."""
    exact = problem.posterior.to_sites(problem.posterior.sample(rng, (_SHORT_CHAINS,)))
    coupled = problem.prior.coupled
    starts, metric = start_points(problem.model, exact, _SHORT_CHAINS, dense=coupled)
    batch = _SIDE_BY_SIDE if coupled else _SHORT_CHAINS
    kernel: dict[str, Any] = {"leapfrog": _LEAPFROG, "thin": _SHORT_STEPS, "batch": batch}
    ends = {k: v[:, 0] for k, v in run_chains(problem.model, starts, metric, seed, draws=1, **kernel)[0].items()}
    pit = transforms(problem.posterior, ends)
    moved = np.mean([np.mean(ends[name] != exact[name]) for name in pit])
    says = "Short NumPyro chains that start at exact draws of the parameters end as draws of the same distribution."
    remark = f"{_SHORT_CHAINS} chains of {_SHORT_STEPS} steps; {problem.width} features, {len(problem.y)} rows; "
    remark += f"{moved:.0%} of states moved"
    row = uniform_row("3a Posterior, exact starts", says, pit, rate, remark)
    return replace(row, passed=row.passed and bool(moved > 0.5))


def nuts_row(problem: Problem, sites: Theta, rate: float) -> CheckRow:
    """Row 3b: convergence, and mean and quantiles of every parameter within Monte Carlo error of the exact ones."""
    from numpyro.diagnostics import effective_sample_size, split_gelman_rubin

    u = np.concatenate(list(transforms(problem.posterior, sites).values()), -1)  # uniform if the chain is right
    r_hat, ess = float(np.max(split_gelman_rubin(u))), float(np.min(effective_sample_size(u)))
    # the mean of the probability integral transform, and the shares of draws below three exact quantiles
    z = [_z_values(u, 0.5)] + [_z_values((u <= q).astype(float), q) for q in (0.1, 0.5, 0.9)]
    worst, limit = float(np.max(np.abs(z))), limit_of(np.size(z), rate)
    return CheckRow(
        "3b Posterior, NUTS",
        worst,
        limit,
        "standard errors",
        bool(worst <= limit and r_hat <= R_HAT and ess >= ESS),
        f"false alarms {rate:.2%} over {np.size(z)} means and quantiles; R-hat ≤ {R_HAT}, ESS ≥ {ESS}",
        f"R-hat at most {r_hat:.4f}, ESS at least {ess:.0f}; {problem.width} features, {len(problem.y)} rows",
        meaning="NumPyro's sampler, started far away, finds the posterior distribution that the formulas state.",
    )


def prediction_row(problem: Problem, sites: Theta, rows: Rows, rate: float) -> CheckRow:
    """Row 4: the joint averaged over NUTS draws and then normalised, against the closed form.

    p̂_c = Σ_s w_sc / Σ_s Σ_c w_sc with w = p(x, c | θ_s) is a ratio; its Monte Carlo error is that of the mean of
    (w_sc − p_c Σ_c w_sc) / mean weight (delta method).
    """
    joint = problem.posterior.log_joint(rows, problem.posterior.from_sites(sites))  # (chains, draws, n, c)
    exact = np.exp(log_normalize(problem.posterior.log_joint(rows)))
    weights = np.exp(joint - logsumexp(joint, axis=(0, 1, 3), keepdims=True))
    total = weights.sum(-1, keepdims=True)
    # a mean that a few draws carry has no normal error: neither the class's own nor that of the sum may be such a one
    # (a class that every draw calls impossible has the sum 0 and is left out too)
    steady = (weights.max((0, 1)) < HEAVY * weights.sum((0, 1))) & (total.max((0, 1)) < HEAVY)
    steady &= (exact > 1e-250) & (exact < exact.max(1, keepdims=True))  # the likeliest is one minus the others
    # in units of the probability itself: the square of 1e-200 is zero
    scaled = weights[:, :, steady] / exact[steady] - np.broadcast_to(total, weights.shape)[:, :, steady]
    z = _z_values(scaled, 0.0)
    worst, limit = (float(np.max(abs(z))), limit_of(z.size, rate)) if z.size else (0.0, 0.0)
    apart = float(np.max(abs(weights.sum((0, 1)) - exact)[steady], initial=0))
    says = "Class probabilities by formula are those that NumPyro's draws give on rows that were not fitted."
    reason = f"false alarms {rate:.2%} over {z.size} class probabilities"
    remark = f"of {len(exact)} held-out rows, half cut to five cells, where no draw carries {HEAVY:.1%} of an average; "
    remark += f"largest difference {apart:.1e}"
    return CheckRow.within("4  Prediction", says, worst, limit, "standard errors", reason, remark)


def thin(prior: NaiveBayes, rows: Rows, rng: np.random.Generator) -> Rows:
    """Rows with about five cells left in every other one: averages over many cells are carried by few draws.

    A cell taken out is a missing one, and in a multinomial block a count of zero; complete rows stay as they are.
    """
    thinned, total = {}, sum(x.shape[1] for x in rows.values())
    for name, x in rows.items():
        out = rng.random(x.shape) >= 5 / total
        out[::2] = False
        blank = prior.blocks[name].missing_value
        thinned[name] = x if blank is None else np.where(out, blank, x)
    return thinned


def transforms(posterior: NaiveBayes, sites: Theta) -> dict[str, np.ndarray]:
    """Probability integral transforms of draws under the exact marginals by site, parameters along the last axis.

    Without the parameters that are known exactly, such as the share of a column's only level.
    """
    found = {}
    for name, marginal in posterior.marginals().items():
        u, lead = np.asarray(marginal.cdf(sites[name])), np.ndim(sites[name]) - np.ndim(marginal.mean())
        flat = u.reshape(*u.shape[:lead], -1)
        free = ~np.isnan(flat).all(tuple(range(lead)))
        if free.any():
            found[name] = flat[..., free]
    return found


def _z_values(draws: np.ndarray, expected: float) -> np.ndarray:
    """(mean − expected) / Monte Carlo standard error of series (chains, draws, k), from their effective size."""
    from numpyro.diagnostics import effective_sample_size

    if not draws.size:
        return np.zeros(0)
    mean, sd = draws.mean((0, 1)), draws.std((0, 1))
    varies, error = sd > 0, np.full(len(sd), np.finfo(float).tiny)
    error[varies] = sd[varies] / np.sqrt(effective_sample_size(draws[..., varies]))
    return (mean - expected) / error
