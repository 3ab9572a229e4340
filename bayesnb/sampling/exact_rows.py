"""Rows 1 and 2 of the check, which are exact: Bayes' identity and the mode."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from scipy import optimize

from ..core.arrays import Theta
from ..naive_bayes import NaiveBayes
from .closed_estimates import kind_of
from .closed_rows import class_sites
from .nuts import unconstrained
from .problem import Problem
from .report import CheckRow

IDENTITY = 1e-9  # relative; rounding in sums of n·d logarithms is some 1e-12
GRADIENT = 1e-6  # nats a posterior standard deviation; rounding leaves about 1e-10
DISTANCE = 1e-3  # posterior standard deviations; an optimum is flat to √(rounding of the log joint) ≈ 1e-5

_jit = partial(jax.jit, compiler_options={"xla_backend_optimization_level": 0})  # most of it runs a few times
_PILOT, _PILOT_NUMBERS = 400, 20_000_000  # exact draws behind scales and the start: most draws, most numbers


def identity_row(problem: Problem, rng: np.random.Generator) -> CheckRow:
    """Row 1: Bayes' identity, at exact draws and at draws pushed three times as far from their mean."""
    from numpyro.infer.util import constrain_fn

    draws = problem.posterior.sample(rng, (16,))
    sites = problem.posterior.to_sites(draws)
    spread = unconstrained(problem.model, sites)
    with jax.enable_x64(True):
        far = jax.tree.map(lambda u: u.mean(0) + 3 * (u - u.mean(0)), spread)
        far = _jit(jax.vmap(lambda one: constrain_fn(problem.model, (), {}, one)))(far)
        joint = _jit(jax.vmap(_log_joint(problem)))
        worst = 0.0
        for thetas in (sites, jax.tree.map(np.asarray, far)):
            by_numpyro = np.asarray(joint(thetas))
            density = problem.posterior.log_prob(problem.posterior.from_sites(thetas))
            size = np.maximum.reduce([abs(by_numpyro), abs(density), np.full_like(density, abs(problem.evidence))])
            gaps = abs(by_numpyro - density - problem.evidence) / size
            worst = float(np.max(gaps, initial=worst))  # NaN stays: NumPyro may give a row no probability
    reason = "exact in theory; rounding leaves some 1e-12"
    remark = f"log evidence {problem.evidence:.6f} nats; 32 random θ"
    return CheckRow.within("1  Bayes' identity", worst, IDENTITY, "relative", reason, remark)


def mode_row(problem: Problem, rng: np.random.Generator) -> CheckRow:
    """Row 2: the jitted closed-form mode against NumPyro's gradient and an optimiser started elsewhere."""
    from numpyro.infer.util import constrain_fn, potential_energy

    posterior, model = problem.posterior, problem.model
    with jax.enable_x64(True):
        as_jax = jax.tree.map(jnp.asarray, posterior)
        mode = jax.tree.map(np.asarray, _jit(lambda nb: nb.to_sites(nb.mode()))(as_jax))
        size = sum(leaf.size for leaf in jax.tree.leaves(posterior))
        pilot = posterior.to_sites(posterior.sample(rng, (int(np.clip(_PILOT_NUMBERS // size, 32, _PILOT)),)))
        sd = {name: value.std(0) for name, value in pilot.items()}
        joint = _log_joint(problem)
        supports = _supports(posterior)
        gradient = _jit(jax.grad(joint))(_nudged(mode, supports))
        slope = _stationarity(jax.tree.map(np.asarray, gradient), mode, sd, supports)

        states = unconstrained(model, pilot)
        scale = {name: np.maximum(value.std(0), 1e-12) for name, value in states.items()}
        start = {name: value.mean(0) + 3 * (value[0] - value.mean(0)) for name, value in states.items()}
        constrain = _jit(lambda u: constrain_fn(model, (), {}, u))
        found = _minimise(lambda u: -joint(constrain_fn(model, (), {}, u)), start, scale)
        end = jax.tree.map(np.asarray, constrain(found))
        gaps = {name: abs(end[name] - mode[name]) / np.maximum(sd[name], 1e-300) for name in mode}
        lower: dict[str, np.ndarray] = {}
        if any(block.several_modes for block in posterior.blocks.values()):
            rest = _jit(jax.grad(lambda u: joint(constrain_fn(model, (), {}, u))))(found)
            lower = _lower_modes(posterior, mode, end, {name: np.asarray(rest[name]) * scale[name] for name in rest})
        distance = float(np.max([np.max(np.where(lower.get(name, False), 0, gaps[name])) for name in mode]))
        remark = f"gradient {slope:.1e} nats, optimiser {distance:.1e}, in posterior standard deviations"
        count = sum(int(ended.sum()) for ended in lower.values())
        if count:
            remark += f"; {count} parameters with several modes left out, the optimiser ended on a lower one"
        if posterior.on_boundary() and distance > DISTANCE and float(joint(mode)) > float(joint(constrain(found))):
            # below a concentration of 1 the density grows without bound towards the boundary, out of a search's reach
            distance, remark = 0.0, remark + ", where the density is lower"
        probabilities = [name for name, support in supports.items() if support.is_probability]
        if probabilities:
            other = constrain(_minimise(lambda u: potential_energy(model, (), {}, u), start, scale))
            mean = posterior.to_sites(posterior.mean())
            gap = max(float(np.max(abs(np.asarray(other[name]) - mean[name]))) for name in probabilities)
            remark += f"; with the Jacobian left in, the probabilities end at their posterior mean (within {gap:.1e})"
    reason = f"gradient ≤ {GRADIENT:g} (rounding), optimiser ≤ {DISTANCE:g} (flat optimum)"
    figure = float(np.max([slope / GRADIENT, distance / DISTANCE]))
    return CheckRow.within("2  Mode", figure, 1.0, "of tolerance", reason, remark)


def _log_joint(problem: Problem) -> Any:
    """NumPyro's log p(θ, x, y) as a function of the constrained sites."""
    from numpyro.infer.util import log_density

    return lambda sites: log_density(problem.model, (), {}, sites)[0]


@dataclass(frozen=True)
class _Support:
    """The values that a NumPyro site can have: from `low` to `high`, and on a simplex or not."""

    low: Any = -np.inf
    high: Any = np.inf
    on_simplex: bool = False

    @property
    def is_probability(self) -> bool:
        return bool(np.all(self.low == 0) and np.all(self.high == 1))


def _supports(posterior: NaiveBayes) -> dict[str, _Support]:
    """Support of every site, from NumPyro's own statements; a matrix has no limits."""
    sites = class_sites() if posterior.classes.marginals() else {}
    for name, block in posterior.blocks.items():
        sites |= {posterior.site(name, key): site for key, site in block.inner.sites().items()}
    found = {}
    for name, site in sites.items():
        kind, support = kind_of(site), site.support
        if kind in ("simplex", "interval"):
            low, high = (0.0, 1.0) if kind == "simplex" else (support.lower_bound, support.upper_bound)
            found[name] = _Support(np.asarray(low), np.asarray(high), kind == "simplex")
        else:
            found[name] = _Support(np.asarray(support.lower_bound)) if kind == "positive" else _Support()
    return found


def _nudged(mode: Theta, supports: dict[str, _Support]) -> Theta:
    """The mode a hair inside the boundary, where 0 log 0 has a derivative."""
    inside = {}
    for name, theta in mode.items():
        support = supports[name]
        theta = np.maximum(theta, 1e-300) if np.all(support.low == 0) else theta
        inside[name] = np.minimum(theta, 1 - 2**-53) if support.is_probability else theta
    return inside


def _stationarity(gradient: Theta, mode: Theta, sd: Theta, supports: dict[str, _Support]) -> float:
    """Largest slope at the mode in nats a posterior standard deviation, along directions that stay in the space.

    On a simplex only differences to the other components count. At a component on the boundary the density may rise
    outwards, never inwards.
    """
    worst = 0.0
    for name, g in gradient.items():
        support, theta = supports[name], mode[name]
        low, high = support.low, support.high
        near = np.where(low == 0, 1e-100, 1e-12 * abs(np.nan_to_num(low, posinf=0, neginf=0)))
        far = np.where(high == 1, 1e-15, 1e-12 * abs(np.nan_to_num(high, posinf=0, neginf=0)))
        outward = np.where(theta <= low + near, -1.0, np.where(theta >= high - far, 1.0, 0.0))
        if support.on_simplex:
            inside = outward == 0
            if not inside.any():
                continue
            level = np.where(inside, g, 0).sum(-1, keepdims=True) / np.maximum(inside.sum(-1, keepdims=True), 1)
            g = np.where(inside.any(-1, keepdims=True), g - level, 0)
        inwards = np.where(outward == 0, abs(g), np.maximum(-outward * g, 0))
        worst = float(np.maximum(worst, np.max(inwards * sd[name])))  # NaN stays, and fails
    return worst


def _lower_modes(posterior: NaiveBayes, mode: Theta, end: Theta, slope: Theta) -> Theta:
    """Where the optimiser ended at another mode, lower than the mode in closed form: by site, in its shape.

    Only of blocks that say they may have several modes. `slope` is that at the end, in nats a standard deviation; row 1
    has shown that the densities compared are NumPyro's.
    """
    found = {}
    for name, block in posterior.blocks.items():
        if block.several_modes:
            here, there = (block.log_prob(posterior.from_sites(sites)[name]) for sites in (mode, end))
            for parameter in block.parameters:
                site = posterior.site(name, parameter.removeprefix("log_"))
                found[site] = (there < here - 1e-6) & (abs(slope[site]) < 1e-3)
    return found


def _minimise(f: Any, start: Theta, scale: Theta) -> Theta:
    """SciPy's L-BFGS on a JAX function of unconstrained sites, in units of their scale."""
    from jax.flatten_util import ravel_pytree

    centre, unravel = ravel_pytree(start)
    size, _ = ravel_pytree(scale)
    value_and_grad = _jit(jax.value_and_grad(lambda v: f(unravel(centre + size * v))))
    result = optimize.minimize(
        lambda v: tuple(np.asarray(part, float) for part in value_and_grad(v)),
        np.zeros(len(centre)),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": 5_000, "maxfun": 10_000, "ftol": 0, "gtol": 1e-7, "maxcor": 30},
    )
    return unravel(centre + size * result.x)
