"""Rows 3a, 3b and 4 of the check, which are statistical tests: posterior and prediction against NumPyro's chains."""

import numpy as np
from scipy import stats
from scipy.special import logsumexp

from ..core.arrays import Theta
from ..core.special import log_normalize
from ..naive_bayes import NaiveBayes, Rows
from .drawn_rows import limit_of
from .nuts import last_states, pilot_draws, run_chains, start_points
from .problem import Problem, count_features, size_text
from .report import CheckRow

R_HAT = 1.02  # Vehtari et al. (2021) ask for 1.01 of one quantity; here it is the largest of many
ESS = 400  # Vehtari et al. (2021): what mean, quantiles and R-hat need to be read at all
HEAVY = 0.003  # a class probability counts only where no draw carries more than this share of its average

_SHORT_CHAINS, _SHORT_STEPS, _LEAPFROG, _SIDE_BY_SIDE = 4_000, 10, 5, 50
_CHAINS, _DRAWS, _WARMUP = 4, 1_000, 500
_PILOT = 400  # exact draws behind the scales and the dispersed starts


def short_chains_row(problem: Problem, rng: np.random.Generator, seed: int, rate: float) -> CheckRow:
    """Row 3a: chains started at exact draws with a fixed kernel end as exact, independent draws."""
    exact = problem.posterior.to_sites(problem.posterior.sample(rng, (_SHORT_CHAINS,)))
    starts, metric = start_points(problem.model, exact, _SHORT_CHAINS, dense=problem.prior.coupled)
    batch = _SIDE_BY_SIDE if problem.prior.coupled else None
    ends = last_states(problem.model, starts, metric, seed, steps=_SHORT_STEPS, leapfrog=_LEAPFROG, batch=batch)
    pit = _transforms(problem.posterior, ends)
    moved = np.mean([np.mean(ends[name] != exact[name]) for name in pit])
    p_values = stats.ks_1samp(np.concatenate(list(pit.values()), -1), stats.uniform.cdf, axis=0).pvalue
    figure = float(np.min(p_values))
    return CheckRow(
        "3a Posterior, exact starts",
        figure,
        rate / len(p_values),
        "p-value, at least",
        bool(figure >= rate / len(p_values) and moved > 0.5),
        f"false alarms {rate:.2%} over {len(p_values)} Kolmogorov–Smirnov tests",
        f"{_SHORT_CHAINS} chains of {_SHORT_STEPS} steps; {size_text(problem)}; {moved:.0%} of states moved"
        + _known_exactly(problem.posterior),
        pit,
        "Short NumPyro chains that start at exact draws of the parameters end as draws of the same distribution.",
    )


def run_nuts(problem: Problem, rng: np.random.Generator, seed: int, progress_bar: bool) -> Theta:
    """NUTS on the twin from dispersed starts, (chains, draws, …) by site."""
    pilot, dense = pilot_draws(problem.posterior, rng, _PILOT)
    starts, metric = start_points(problem.model, pilot, _CHAINS, spread=3.0, dense=dense)
    return run_chains(problem.model, starts, metric, seed + 1, draws=_DRAWS, warmup=_WARMUP, progress_bar=progress_bar)


def nuts_row(problem: Problem, sites: Theta, rate: float) -> CheckRow:
    """Row 3b: convergence, and mean and quantiles of every parameter within Monte Carlo error of the exact ones."""
    from numpyro.diagnostics import effective_sample_size, split_gelman_rubin

    u = uniforms(problem.posterior, sites)  # (chains, draws, parameters); uniform if the chain is right
    r_hat = float(np.max(split_gelman_rubin(u)))
    ess = float(np.min(effective_sample_size(u)))
    # the mean of the probability integral transform, and the shares of draws below three exact quantiles
    z = [_z_values(u, 0.5)] + [_z_values((u <= q).astype(float), q) for q in (0.1, 0.5, 0.9)]
    worst = float(np.max(np.abs(z)))
    count, limit = np.size(z), limit_of(np.size(z), rate)
    return CheckRow(
        "3b Posterior, NUTS",
        worst,
        limit,
        "standard errors",
        bool(worst <= limit and r_hat <= R_HAT and ess >= ESS),
        f"false alarms {rate:.2%} over {count} means and quantiles; R-hat ≤ {R_HAT}, ESS ≥ {ESS}",
        f"R-hat at most {r_hat:.4f}, ESS at least {ess:.0f}; {size_text(problem)}" + _known_exactly(problem.posterior),
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
    gap = float(np.max(abs(weights.sum((0, 1)) - exact)[steady], initial=0))
    reason = f"false alarms {rate:.2%} over {z.size} class probabilities"
    remark = (
        f"of {len(exact)} held-out rows, half cut to five cells, where no draw carries {HEAVY:.1%} of an "
        f"average; largest difference {gap:.1e}"
    )
    says = "Class probabilities by formula are those that NumPyro's draws give on rows that were not fitted."
    return CheckRow.within("4  Prediction", says, worst, limit, "standard errors", reason, remark)


def thin(problem: Problem, rows: Rows, rng: np.random.Generator) -> Rows:
    """Rows with about five cells left in every other one: averages over many cells are carried by few draws.

    A cell taken out is a missing one, and in a multinomial block a count of zero; complete rows stay as they are.
    """
    thinned = {}
    total = count_features(rows)
    for name, x in rows.items():
        out = rng.random(x.shape) >= 5 / total
        out[::2] = False
        blank = problem.prior.blocks[name].missing_value
        thinned[name] = x if blank is None else np.where(out, blank, x)
    return thinned


def uniforms(posterior: NaiveBayes, sites: Theta) -> np.ndarray:
    """Probability integral transforms of draws under the exact marginals, parameters along the last axis."""
    return np.concatenate(list(_transforms(posterior, sites).values()), -1)


def _transforms(posterior: NaiveBayes, sites: Theta) -> dict[str, np.ndarray]:
    """The same by site, without the parameters that are known exactly, such as the share of a column's only level."""
    found = {}
    for name, marginal in posterior.marginals().items():
        u = np.asarray(marginal.cdf(sites[name]))
        lead = np.ndim(sites[name]) - np.ndim(marginal.mean())
        flat = u.reshape(*u.shape[:lead], -1)
        free = ~np.isnan(flat).all(tuple(range(lead)))
        if free.any():
            found[name] = flat[..., free]
    return found


def _known_exactly(posterior: NaiveBayes) -> str:
    """What is said of the parameters that have no distribution, and are left out."""
    count = sum(int(np.isnan(one.cdf(one.mean())).sum()) for one in posterior.marginals().values())
    return f"; {count} parameters left out, which are known exactly" if count else ""


def _z_values(draws: np.ndarray, expected: float) -> np.ndarray:
    """(mean − expected) / Monte Carlo standard error of series (chains, draws, k), from their effective size."""
    from numpyro.diagnostics import effective_sample_size

    if not draws.size:
        return np.zeros(0)
    mean, sd = draws.mean((0, 1)), draws.std((0, 1))
    varies = sd > 0
    ess = effective_sample_size(draws[..., varies])
    error = np.full(len(sd), np.finfo(float).tiny)
    error[varies] = sd[varies] / np.sqrt(ess)
    return (mean - expected) / error
