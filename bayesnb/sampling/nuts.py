"""NumPyro's samplers on the twin, in float64, with NumPy arrays at both ends."""

from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from .._typing import Theta

Model = Callable[[], None]


def unconstrained(model: Model, sites: Theta) -> Theta:
    """Draws (s, …) of the sites in NumPyro's unconstrained coordinates."""
    from numpyro.infer.util import unconstrain_fn

    with jax.enable_x64(True):
        return jax.tree.map(np.asarray, jax.jit(jax.vmap(lambda one: unconstrain_fn(model, (), {}, one)))(sites))


def run_chains(
    model: Model,
    starts: Theta,
    scale: Theta,
    seed: int,
    *,
    draws: int,
    warmup: int,
    fixed_steps: int | None = None,
    progress_bar: bool = False,
) -> Theta:
    """Chains of NumPyro's NUTS or, with a number of leapfrog steps given, of HMC with a fixed kernel.

    Parameters
    ----------
    model : NumPyro model without arguments
    starts : (chains, …) first state of each chain by site, unconstrained
    scale : standard deviations of the same coordinates, the metric. It changes the speed of a chain, not where it leads
    draws : NUTS: draws kept of each chain; fixed kernel: transitions, of which the last state is kept
    fixed_steps : leapfrog steps of a transition; the step size is then D^(−1/4) standard deviations, D parameters

    Returns
    -------
    (chains, draws, …) draws by site, constrained
    """
    from numpyro.infer import HMC, MCMC, NUTS

    chains = len(next(iter(starts.values())))
    with jax.enable_x64(True):
        names = tuple(sorted(starts))
        metric = {names: np.concatenate([np.square(scale[name]).ravel() for name in names])}
        if fixed_steps is None:
            # NumPyro's own adaptation shrinks variances towards 1e-3, which stalls features of small scale
            kernel = NUTS(model, inverse_mass_matrix=metric, adapt_mass_matrix=False)
            schedule: dict[str, Any] = {"num_warmup": warmup, "num_samples": draws}
        else:
            size = sum(scale[name].size for name in names)
            kernel = HMC(
                model,
                step_size=size**-0.25,
                num_steps=fixed_steps,
                trajectory_length=None,  # otherwise NumPyro derives the number of steps from it
                adapt_step_size=False,
                adapt_mass_matrix=False,
                inverse_mass_matrix=metric,
            )
            schedule = {"num_warmup": 0, "num_samples": draws, "thinning": draws}
        kernel.init = _jitted(kernel.init)
        # a new object each time: one rerun with other arguments and vectorized chains crashes (NumPyro 0.22)
        mcmc = MCMC(kernel, num_chains=chains, chain_method="vectorized", progress_bar=progress_bar, **schedule)
        begin = starts if chains > 1 else {name: value[0] for name, value in starts.items()}
        mcmc.run(jax.random.key(seed), init_params=begin)
        return {name: np.asarray(value) for name, value in mcmc.get_samples(group_by_chain=True).items()}


def _jitted(init: Callable[..., Any]) -> Callable[..., Any]:
    """A kernel's `init` compiled as one program: NumPyro runs it operation by operation, which costs ten seconds."""

    def begin(key: Any, warmup: int, params: Any = None, model_args: Any = (), model_kwargs: Any = None) -> Any:
        return jax.jit(lambda k, p: init(k, warmup, p, model_args, model_kwargs or {}))(key, params)

    return begin


def start_points(model: Model, sites: Theta, chains: int, spread: float = 1.0) -> tuple[Theta, Theta]:
    """Starts for chains and the scale of every unconstrained coordinate, from exact draws of the sites.

    With spread > 1 the first `chains` draws are pushed away from their mean by that factor: dispersed starts.
    """
    states = unconstrained(model, sites)
    centre = {name: value.mean(0) for name, value in states.items()}
    scale = {name: np.maximum(value.std(0), 1e-12) for name, value in states.items()}
    starts = {name: centre[name] + spread * (value[:chains] - centre[name]) for name, value in states.items()}
    return starts, scale
