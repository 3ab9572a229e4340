"""NumPyro's samplers on the twin, in float64, with NumPy arrays at both ends."""

from collections.abc import Callable
from functools import partial
from operator import attrgetter
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from ..core.arrays import Theta
from ..naive_bayes import NaiveBayes

_FEW_CELLS = 3_000  # numbers of the data: below, XLA's optimisation takes longer than it saves
_PILOT = 400  # exact draws behind the metric and the starts of NUTS
_DISPERSED = 3.0  # how far from the posterior, in its standard deviations, its chains start

Model = Callable[[], None]
jitted = partial(jax.jit, compiler_options={"xla_backend_optimization_level": 0})  # for what runs a few times
_ABOUT = {
    "diverging": "diverging",
    "energy": "energy",
    "lp": "potential_energy",
    "n_steps": "num_steps",
    "acceptance_rate": "accept_prob",
    "step_size": "adapt_state.step_size",
}


def unconstrained(model: Model, sites: Theta) -> Theta:
    """Draws (s, …) of the sites in NumPyro's unconstrained coordinates."""
    from numpyro.infer.util import unconstrain_fn

    with jax.enable_x64(True):
        return jax.tree.map(np.asarray, jax.jit(jax.vmap(lambda one: unconstrain_fn(model, (), {}, one)))(sites))


def run_chains(
    model: Model,
    starts: Theta,
    metric: np.ndarray,
    seed: int,
    *,
    draws: int,
    warmup: int = 0,
    leapfrog: int = 0,
    thin: int = 1,
    batch: int | None = None,
) -> tuple[Theta, dict[str, np.ndarray]]:
    """Chains of NumPyro's NUTS, or of HMC with a fixed kernel.

    Parameters
    ----------
    model : NumPyro model without arguments
    starts : (chains, …) first state of each chain by site, unconstrained
    metric : variances of the same coordinates, or their covariance, by the sorted names of the sites. It changes the
        speed of a chain, not where it leads
    leapfrog : steps of a transition of HMC, whose step size is D^(−1/4) standard deviations, D parameters; 0 is NUTS
    thin : transitions of which one is kept
    batch : chains that run side by side, by default one. Thousands of small Cholesky factors side by side can lock
        XLA's threads on a CPU (jaxlib 0.10)

    Returns
    -------
    (chains, draws, …) draws by site, constrained, and what ArviZ calls `sample_stats`, (chains, draws), by its names
    """
    from numpyro.infer import HMC, NUTS
    from numpyro.infer.util import constrain_fn, potential_energy

    with jax.enable_x64(True):
        _, unravel = ravel_pytree({name: value[0] for name, value in starts.items()})
        flat = jax.vmap(lambda one: ravel_pytree(one)[0])(jax.tree.map(jnp.asarray, starts))
        # the potential is traced once, where a kernel that is given the model traces it for every step that it takes;
        # and NumPyro's own adaptation shrinks variances towards 1e-3, which stalls features of small scale
        settings: dict[str, Any] = {
            "potential_fn": jax.jit(lambda u: potential_energy(model, (), {}, unravel(u))),
            "inverse_mass_matrix": metric,
            "adapt_mass_matrix": False,
            "dense_mass": metric.ndim == 2,
        }
        if leapfrog:  # a trajectory length would decide the number of steps
            settings |= {"adapt_step_size": False, "trajectory_length": None, "num_steps": leapfrog}
            settings["step_size"] = len(metric) ** -0.25
        kernel = HMC(**settings) if leapfrog else NUTS(**settings)

        def step(state: Any, _: None) -> tuple[Any, Any]:
            state = jax.lax.fori_loop(0, thin, lambda _, now: kernel.sample(now, (), {}), state)
            about = {name: attrgetter(field)(state) for name, field in _ABOUT.items()}
            return state, (constrain_fn(model, (), {}, unravel(state.z)), about)

        cells = sum(np.size(leaf) for leaf in jax.tree.leaves(getattr(model, "args", ())))
        compiled = jitted if cells < _FEW_CELLS else jax.jit
        every = partial(jax.lax.map, batch_size=batch)
        begin = compiled(partial(every, lambda start: kernel.init(start[0], warmup, start[1], (), {})))
        advance = compiled(partial(every, partial(jax.lax.scan, step, length=warmup + draws)))
        _, path = advance(begin((jax.random.split(jax.random.key(seed), len(flat)), flat)))
        sites, found = jax.tree.map(lambda leaf: np.asarray(leaf)[:, warmup:], path)
        return sites, found | {"lp": -found["lp"]}


def run_nuts(
    model: Model, posterior: NaiveBayes, rng: np.random.Generator, seed: int, chains: int, **settings: Any
) -> tuple[Theta, dict[str, np.ndarray]]:
    """NUTS from dispersed starts, (chains, draws, …) by site; the closed form gives starts and metric."""
    size = sum(leaf[0].size for leaf in jax.tree.leaves(posterior.sample(rng, (1,))))
    least = max(_PILOT, chains, 10 * size if posterior.coupled else 0)
    pilot = posterior.to_sites(posterior.sample(rng, (least,)))
    starts, metric = start_points(model, pilot, chains, _DISPERSED, posterior.coupled)
    return run_chains(model, starts, metric, seed, **settings)


def start_points(
    model: Model, sites: Theta, chains: int, spread: float = 1.0, dense: bool = False
) -> tuple[Theta, np.ndarray]:
    """Starts for chains and the metric of the unconstrained coordinates, from exact draws of the sites.

    With spread > 1 the first `chains` draws are pushed away from their mean by that factor: dispersed starts. `dense`
    gives a covariance for a metric, for coordinates that depend on each other; it needs several draws a coordinate.
    """
    states = unconstrained(model, sites)
    starts = {name: u.mean(0) + spread * (u[:chains] - u.mean(0)) for name, u in states.items()}
    flat = np.concatenate([states[name].reshape(len(states[name]), -1) for name in sorted(states)], 1)
    floor = 1e-24
    return starts, np.cov(flat.T) + floor * np.eye(flat.shape[1]) if dense else np.maximum(flat.var(0), floor)
