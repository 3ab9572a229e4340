"""NumPyro's samplers on the twin, in float64, with NumPy arrays at both ends."""

from collections.abc import Callable
from functools import partial
from operator import attrgetter
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..core.arrays import Theta
from ..naive_bayes import NaiveBayes

_FEW_CELLS = 3_000  # numbers of the data: below, XLA's optimisation takes longer than it saves

Model = Callable[[], None]
Metric = dict[tuple[str, ...], np.ndarray]
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
    metric: Metric,
    seed: int,
    *,
    draws: int,
    warmup: int,
    progress_bar: bool = False,
    about: dict[str, np.ndarray] | None = None,
) -> Theta:
    """Chains of NumPyro's NUTS; with a bar they run step by step, else as one program.

    Parameters
    ----------
    model : NumPyro model without arguments
    starts : (chains, …) first state of each chain by site, unconstrained
    metric : variances of the same coordinates, or their covariance, by the sorted names of the sites. It changes the
        speed of a chain, not where it leads
    about : filled with what ArviZ calls `sample_stats`, (chains, draws) each, by ArviZ's names

    Returns
    -------
    (chains, draws, …) draws by site, constrained
    """
    from numpyro.infer import NUTS

    with jax.enable_x64(True):
        potential, constrain, flat = _flattened(model, starts)
        matrix = next(iter(metric.values()))
        # NumPyro's own adaptation shrinks variances towards 1e-3, which stalls features of small scale
        kernel = NUTS(
            potential_fn=potential, inverse_mass_matrix=matrix, adapt_mass_matrix=False, dense_mass=matrix.ndim == 2
        )

        def begin(key: Any, start: Any) -> Any:
            return kernel.init(key, warmup, start, (), {})

        def step(state: Any, _: None = None) -> tuple[Any, Any]:
            state = kernel.sample(state, (), {})
            return state, (constrain(state.z), {name: attrgetter(field)(state) for name, field in _ABOUT.items()})

        def chain(key: Any, start: Any) -> Any:
            _, path = jax.lax.scan(step, begin(key, start), length=warmup + draws)
            return jax.tree.map(lambda leaf: leaf[warmup:], path)

        keys = jax.random.split(jax.random.key(seed), len(flat))
        if progress_bar:
            first = partial(_compiled(jax.vmap(begin), model), keys, flat)
            path = _with_bar(first, _compiled(jax.vmap(step), model), draws, warmup)
        else:  # as one program, whose loop compiles in half the time of NumPyro's three
            path = _compiled(lambda *each: jax.lax.map(lambda one: chain(*one), each), model)(keys, flat)
        sites, found = jax.tree.map(np.asarray, path)
        if about is not None:
            about |= found | {"lp": -found["lp"]}
        return sites


def _with_bar(begin: Callable[[], Any], step: Any, draws: int, warmup: int) -> Any:
    """The same draws step by step, chains side by side, under a bar that names its phase from the first moment on."""
    from tqdm.auto import tqdm

    kept = []
    with tqdm(total=warmup + draws, desc="compiling") as bar:
        state = begin()
        advance = step.lower(state).compile()
        bar.reset()  # the seconds of compiling are no part of the rate
        for i in range(warmup + draws):
            if i in (0, warmup):
                bar.set_description("warm-up" if i < warmup else "sampling")
            state, found = advance(state)
            if i >= warmup:
                kept.append(jax.tree.map(np.asarray, found))
            bar.update()
    return jax.tree.map(lambda *leaves: np.stack(leaves, 1), *kept)


def _flattened(model: Model, starts: Theta) -> tuple[Callable[[Any], Any], Callable[[Any], Theta], Any]:
    """The potential energy of the model at one vector, the sites at it, and the starts as such vectors (chains, k).

    The potential is traced once, where a kernel that is given the model traces it for every step that it takes.
    """
    from jax.flatten_util import ravel_pytree
    from numpyro.infer.util import constrain_fn, potential_energy

    _, unravel = ravel_pytree({name: value[0] for name, value in starts.items()})
    flat = jax.vmap(lambda one: ravel_pytree(one)[0])(jax.tree.map(jnp.asarray, starts))
    potential = jax.jit(lambda u: potential_energy(model, (), {}, unravel(u)))
    return potential, lambda u: constrain_fn(model, (), {}, unravel(u)), flat


def _compiled(f: Callable[..., Any], model: Model) -> Callable[..., Any]:
    """f compiled; with little effort where the data are so few that compiling takes longer than running."""
    cells = sum(np.size(leaf) for leaf in jax.tree.leaves(getattr(model, "args", ())))
    return jax.jit(f, compiler_options={"xla_backend_optimization_level": 0} if cells < _FEW_CELLS else None)


def last_states(
    model: Model, starts: Theta, metric: Metric, seed: int, *, steps: int, leapfrog: int, batch: int | None = None
) -> Theta:
    """Last states of many short chains of NumPyro's HMC with a fixed kernel.

    Parameters
    ----------
    model, starts, metric : as in `run_chains`
    steps : transitions of each chain, of `leapfrog` steps each; the step size is D^(−1/4) standard deviations, D
        parameters
    batch : chains that run side by side; all of them unless given. Thousands of small Cholesky factors side by side
        can lock XLA's threads on a CPU (jaxlib 0.10)

    Returns
    -------
    (chains, …) last state of each chain by site, constrained
    """
    from numpyro.infer import HMC

    with jax.enable_x64(True):
        potential, constrain, flat = _flattened(model, starts)
        matrix = next(iter(metric.values()))
        kernel = HMC(
            potential_fn=potential,
            step_size=len(matrix) ** -0.25,
            num_steps=leapfrog,
            trajectory_length=None,  # otherwise NumPyro derives the number of steps from it
            adapt_step_size=False,
            adapt_mass_matrix=False,
            inverse_mass_matrix=matrix,
            dense_mass=matrix.ndim == 2,
        )

        def last(key: Any, start: Any) -> Theta:
            state = kernel.init(key, 0, start, (), {})
            state = jax.lax.fori_loop(0, steps, lambda _, now: kernel.sample(now, (), {}), state)
            return constrain(state.z)

        keys = jax.random.split(jax.random.key(seed), len(flat))
        every = jax.jit(lambda *each: jax.lax.map(lambda one: last(*one), each, batch_size=batch or len(flat)))
        return jax.tree.map(np.asarray, every(keys, flat))


def pilot_draws(posterior: NaiveBayes, rng: np.random.Generator, least: int) -> tuple[Theta, bool]:
    """Exact draws by site behind a metric, and whether it has to be a covariance: ten draws a coordinate then."""
    size = sum(leaf[0].size for leaf in jax.tree.leaves(posterior.sample(rng, (1,))))
    draws = posterior.sample(rng, (max(least, 10 * size) if posterior.coupled else least,))
    return posterior.to_sites(draws), posterior.coupled


def start_points(
    model: Model, sites: Theta, chains: int, spread: float = 1.0, dense: bool = False
) -> tuple[Theta, Metric]:
    """Starts for chains and the metric of the unconstrained coordinates, from exact draws of the sites.

    With spread > 1 the first `chains` draws are pushed away from their mean by that factor: dispersed starts. `dense`
    gives a covariance for a metric, for coordinates that depend on each other; it needs several draws a coordinate.
    """
    states = unconstrained(model, sites)
    centre = {name: value.mean(0) for name, value in states.items()}
    starts = {name: centre[name] + spread * (value[:chains] - centre[name]) for name, value in states.items()}
    names = tuple(sorted(states))
    flat = np.concatenate([states[name].reshape(len(states[name]), -1) for name in names], 1)
    floor = 1e-24
    if dense:
        return starts, {names: np.cov(flat.T) + floor * np.eye(flat.shape[1])}
    return starts, {names: np.maximum(flat.var(0), floor)}
