"""Rows 1 and 2 of the check, which tie the closed form to NumPyro: Bayes' identity and the mode. Both are exact."""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from scipy import optimize

from ..base import Site
from ..core.arrays import Theta
from ..naive_bayes import NaiveBayes
from .cases import Labels, kind_of
from .nuts import unconstrained
from .problem import Problem
from .report import CheckRow

IDENTITY = 1e-9  # relative; rounding in sums of n·d logarithms is some 1e-12
GRADIENT = 1e-6  # nats a posterior standard deviation; rounding leaves about 1e-10
HIGHER, ROUNDING = 1e-6, 1e-12  # an optimiser may end so many nats above the mode, and this share of the log joint

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
    says = "At random parameters, NumPyro's model and the formulas give the same probability of data and parameters."
    reason = "exact in theory; rounding leaves some 1e-12"
    remark = f"log evidence {problem.evidence:.6f} nats; 32 random θ"
    return CheckRow.within("1  Bayes' identity", says, worst, IDENTITY, "relative", reason, remark)


def mode_row(problem: Problem, rng: np.random.Generator) -> CheckRow:
    """Row 2: at the jitted closed-form mode NumPyro's gradient is zero, and an optimiser finds no higher density."""
    from numpyro.infer.util import constrain_fn

    posterior, model = problem.posterior, problem.model
    with jax.enable_x64(True):
        as_jax = jax.tree.map(jnp.asarray, posterior)
        mode = jax.tree.map(np.asarray, _jit(lambda nb: nb.to_sites(nb.mode()))(as_jax))
        size = sum(leaf.size for leaf in jax.tree.leaves(posterior))
        pilot = posterior.to_sites(posterior.sample(rng, (int(np.clip(_PILOT_NUMBERS // size, 32, _PILOT)),)))
        limits = {name: _limits(site) for name, site in _sites(posterior).items()}
        inside = {  # a hair inside the boundary, where 0 log 0 has a derivative
            name: np.clip(theta, np.where(low == 0, 1e-300, low), np.where(high == 1, 1 - 2**-53, high))
            for name, theta in mode.items()
            for low, high, _ in [limits[name]]
        }
        joint = _log_joint(problem)
        value, gradient = _jit(jax.value_and_grad(joint))(inside)
        slopes = [_slope(np.asarray(gradient[name]), mode[name], pilot[name].std(0), *limits[name]) for name in mode]

        states = unconstrained(model, pilot)
        scale = {name: np.maximum(value.std(0), 1e-12) for name, value in states.items()}
        start = {name: value.mean(0) + 3 * (value[0] - value.mean(0)) for name, value in states.items()}
        above = float(_highest(lambda u: joint(constrain_fn(model, (), {}, u)), start, scale) - value)
    slope, allowed = float(np.max(slopes)), HIGHER + ROUNDING * abs(float(value))
    figure = float(np.max([slope / GRADIENT, above / allowed]))  # NaN stays, and fails
    says = "The most probable parameters by formula are where NumPyro's density is highest: a search finds none higher."
    reason = f"gradient ≤ {GRADIENT:g} nats a standard deviation, optimiser ≤ {allowed:.1g} nats above (rounding)"
    where = "above" if above > 0 else "below"
    remark = f"gradient {slope:.1e}; the optimiser ends {abs(above):.1e} nats {where} the mode"
    return CheckRow.within("2  Mode", says, figure, 1.0, "of tolerance", reason, remark)


def _log_joint(problem: Problem) -> Any:
    """NumPyro's log p(θ, x, y) as a function of the constrained sites."""
    from numpyro.infer.util import log_density

    return lambda sites: log_density(problem.model, (), {}, sites)[0]


def _sites(posterior: NaiveBayes) -> dict[str, Site]:
    """The sites of a model, by their names in it."""
    sites = Labels(posterior.classes).sites() if posterior.classes.marginals() else {}
    for name, block in posterior.blocks.items():
        sites |= {posterior.site(name, key): site for key, site in block.inner.sites().items()}
    return sites


def _limits(site: Site) -> tuple[np.ndarray, np.ndarray, bool]:
    """The least and the largest value of a site by NumPyro's own statement, and whether it is a simplex."""
    if kind_of(site) == "simplex":
        return np.zeros(()), np.ones(()), True
    low, high = (getattr(site.support, f"{end}_bound", limit) for end, limit in (("lower", -np.inf), ("upper", np.inf)))
    return np.asarray(low), np.asarray(high), False


def _slope(g: np.ndarray, theta: np.ndarray, sd: np.ndarray, low: Any, high: Any, on_simplex: bool) -> Any:
    """Largest slope at the mode in nats a posterior standard deviation, along directions that stay in the space.

    On a simplex only differences to the other components count. At a component on the boundary the density may rise
    outwards, never inwards.
    """
    near, far = (np.where(np.isfinite(end), 1e-12 * abs(end), 0.0) for end in (low, high))
    at_low, at_high = theta <= low + np.maximum(near, 1e-100), theta >= high - np.where(high == 1, 1e-15, far)
    if on_simplex:
        inside = ~(at_low | at_high)
        level = np.where(inside, g, 0).sum(-1, keepdims=True) / np.maximum(inside.sum(-1, keepdims=True), 1)
        g = np.where(inside.any(-1, keepdims=True), g - level, 0)
    return np.max(np.where(at_low, np.maximum(g, 0), np.where(at_high, np.maximum(-g, 0), abs(g))) * sd)


def _highest(f: Any, start: Theta, scale: Theta) -> Any:
    """The largest value that SciPy's L-BFGS finds of a JAX function of unconstrained sites, in units of their scale."""
    from jax.flatten_util import ravel_pytree

    centre, unravel = ravel_pytree(start)
    size, _ = ravel_pytree(scale)
    value_and_grad = _jit(jax.value_and_grad(lambda v: -f(unravel(centre + size * v))))
    found = [-np.inf]

    def visited(v: np.ndarray) -> tuple[np.ndarray, ...]:
        value, gradient = (np.asarray(part, float) for part in value_and_grad(v))
        if np.isfinite(value):  # a density without a bound takes the search out of the numbers
            found[0] = max(found[0], -float(value))
        return value, gradient

    options = {"maxiter": 5_000, "maxfun": 10_000, "ftol": 0, "gtol": 1e-7, "maxcor": 30}
    optimize.minimize(visited, np.zeros(len(centre)), jac=True, method="L-BFGS-B", options=options)
    return found[0]
