"""Chains on the log density of a NumPyro model, in float64, with NumPy arrays at both ends.

A program is compiled once for each model function, shape of its data and setting, and serves later data of that shape.

Coordinates are NumPyro's unconstrained ones. Two differences keep the digits that small concentrations need. Shares on
a simplex are computed as logarithms, where NumPyro cuts each fraction of the stick at 1 − 2e-16: of a share with the
density Beta(.05, 10), 17 % are smaller than that. And the exact draws behind starts and scales stay above e^−600.
"""

import functools
from collections.abc import Callable
from operator import attrgetter
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from numpyro import handlers
from numpyro.distributions import biject_to, constraints
from numpyro.distributions.transforms import StickBreakingTransform, Transform
from numpyro.infer import NUTS
from numpyro.infer.util import log_density

from ..models.naive_bayes import NaiveBayes
from ..numerics.arrays import Array, Float, JaxArray, Theta

_MANY_CELLS = 3_000  # numbers of the data: below, XLA's optimisation takes longer than it saves
_PILOT = 400  # exact draws behind the metric and the starts of NUTS
_DISPERSED = 3.0  # how far from the posterior, in its standard deviations, its chains start
_LEAST_VARIANCE = 1e-24  # of a coordinate, so that a constant one can be divided by
_SIDE_BY_SIDE = 50  # short chains of coupled features
_STEP_SIZES = 3  # of short chains: one, a half and a quarter, at random

jitted = functools.partial(jax.jit, compiler_options={"xla_backend_optimization_level": 0})  # for what runs a few times

_PROGRAMS: list[Any] = []  # what makes and keeps compiled programs


def program(make: Callable[..., Any]) -> Any:
    """A decorator of functions that make a program to compile: each is made once for its arguments, and then kept.

    JAX compiles a program anew if it gets another function object, though the code may be the same.

    Parameters
    ----------
    make : a function that returns a jitted program; its arguments must be hashable, as they are the keys of the cache
    """
    cached = functools.lru_cache(maxsize=64)(make)
    _PROGRAMS.append(cached)
    return cached


def forget_programs() -> None:
    """Empty the caches of all functions decorated by `program`, so that programs are compiled anew.

    This is needed after a method of a family was replaced, as a test does: its class, the key, is still the same.
    """
    for cached in _PROGRAMS:
        cached.cache_clear()


_SAMPLE_STATS = {  # ArviZ's names of NumPyro's fields
    "diverging": "diverging",
    "energy": "energy",
    "lp": "potential_energy",
    "n_steps": "num_steps",
    "acceptance_rate": "accept_prob",
    "step_size": "adapt_state.step_size",
}


class Twin(NamedTuple):
    """A NumPyro model and its data.

    Fields
    ------
    function : the model, called with the data
    data : its arguments, trees of arrays; a program compiled for the function serves other data of the same shapes
    """

    function: Callable[..., Any]
    data: tuple[Any, ...] = ()

    @property
    def is_small(self) -> bool:
        """Whether its data have so few numbers that XLA's optimisation does not pay."""
        return sum(np.size(leaf) for leaf in jax.tree.leaves(self.data)) < _MANY_CELLS

    def log_joint(self, sites: Theta) -> Float[np.ndarray, " s"]:
        """NumPyro's log p(θ, data), (s,), at s draws (s, …) of the constrained sites, θ."""
        with jax.enable_x64(True):
            return np.asarray(_log_joints(self.function)(self.data, sites))

    def unconstrained(self, sites: Theta) -> Theta:
        """Draws (s, …) of the sites in unconstrained coordinates, (s, …) by site."""
        with jax.enable_x64(True):
            return jax.tree.map(np.asarray, _unconstrained(self.function)(self.data, sites))


# --- the density of a model in unconstrained coordinates ------------------------------------------------------------


class _LogStickBreaking(StickBreakingTransform):
    """NumPyro's transform from K − 1 real numbers to K shares, with shares down to e^−708 on either side of a break.

    A stick of length 1 is broken K − 1 times. Coordinate k = 0, 1, … is the logit of the fraction of the remaining
    stick that share k takes, plus log(K − 1 − k), by which equal shares have the coordinates 0. Fractions f_0 and f_1
    make the three shares f_0, (1 − f_0) f_1 and (1 − f_0)(1 − f_1).
    """

    def __call__(self, x: Any) -> Any:
        """Shares (…, K) at coordinates (…, K − 1), by way of their logarithms."""
        # With K = 3 shares there are two coordinates, from which log 2 and log 1 are subtracted: x = (0, 0) gives the
        # logits of the fractions 1/3 and 1/2, and so three equal shares
        n_breaks = x.shape[-1]  # K − 1
        logit_fraction = x - jnp.log(n_breaks - jnp.arange(n_breaks))  # (…, K − 1), as the arrays below

        # a break takes the fraction f of the stick and leaves 1 − f; sigmoid of a logit is f, of minus the logit 1 − f
        log_fraction = jax.nn.log_sigmoid(logit_fraction)
        log_left = jax.nn.log_sigmoid(-logit_fraction)

        # the length of the stick after each break, a product, and before it: 1, and then what the last one left
        log_after = jnp.cumsum(log_left, -1)
        log_before = jnp.concatenate([jnp.zeros_like(log_after[..., :1]), log_after[..., :-1]], -1)

        # a share is the fraction of what there was before its break; the last share is what remains at the end
        log_share = jnp.concatenate([log_before + log_fraction, log_after[..., -1:]], -1)  # (…, K)
        return jnp.exp(log_share)

    def _inverse(self, y: Any) -> Any:
        """Coordinates (…, K − 1) of shares (…, K): logit = log share − log of what remains after it.

        Share k takes the fraction f = share / (share + remaining) of its stick, so that the odds f / (1 − f) are
        share / remaining. Shares 0.5 0.3 0.2 have the remaining lengths 0.5 0.2 after them.
        """
        # the sum of the shares after each one, added up from the last one, so that no digit is lost
        last_to_second = jnp.flip(y[..., 1:], -1)
        remaining = jnp.flip(jnp.cumsum(last_to_second, -1), -1)  # (…, K − 1)

        # the logit of the fraction, and the shift by which equal shares have the coordinates 0
        n_breaks = remaining.shape[-1]
        shift = jnp.log(n_breaks - jnp.arange(n_breaks))
        return jnp.log(y[..., :-1]) - jnp.log(remaining) + shift


def transforms_of(function: Callable[..., Any], data: tuple[Any, ...]) -> dict[str, Transform]:
    """The transform from unconstrained coordinates to each parameter of a NumPyro model, by name of its site.

    NumPyro calls each random variable of a model a site. Unconstrained coordinates are real numbers that stand for it,
    such as the logarithm of a positive parameter. Sites that are observed are data, and need none.

    Parameters
    ----------
    function, data : the model and its arguments. It is run once, with any draws, to see its sites and their supports
    """
    trace = handlers.trace(handlers.seed(function, 0)).get_trace(*data)  # a record of each statement, by site name
    transforms: dict[str, Transform] = {}
    for name, site in trace.items():
        if site["type"] != "sample" or site["is_observed"]:
            continue
        support = site["fn"].support  # the space of a draw, such as the positive numbers
        is_simplex = isinstance(support, type(constraints.simplex))
        transforms[name] = _LogStickBreaking() if is_simplex else biject_to(support)
    return transforms


def constrain(function: Callable[..., Any], data: tuple[Any, ...], u: Theta) -> Theta:
    """The parameters θ(u) of a NumPyro model, by site, at one point u of its unconstrained coordinates, by site too.

    Unconstrained coordinates are real numbers, such as the logarithm of a positive parameter.
    """
    return {name: transform(u[name]) for name, transform in transforms_of(function, data).items()}


def log_joint(function: Callable[..., Any], data: tuple[Any, ...], sites: Theta) -> Any:
    """NumPyro's log p(θ, data), a scalar, at one point θ of the sites."""
    return log_density(function, data, {}, sites)[0]


def potential(function: Callable[..., Any], data: tuple[Any, ...], u: Theta) -> Any:
    """−log p(u, data), a scalar: what Hamiltonian chains take for the energy of one point u.

    Change of variables: p(u, data) = p(θ(u), data) |dθ/du|, with a Jacobian determinant for each site. u are
    unconstrained coordinates of the parameters θ, such as logarithms of positive ones.
    """
    transforms = transforms_of(function, data)
    sites = {name: transform(u[name]) for name, transform in transforms.items()}
    log_p = log_joint(function, data, sites)
    for name, transform in transforms.items():
        log_p += transform.log_abs_det_jacobian(u[name], sites[name]).sum()
    return -log_p


@program
def _log_joints(function: Callable[..., Any]) -> Any:
    """The compiled program: data, sites (s, …) → log p(θ, data) of each, (s,)."""

    def run(data: tuple[Any, ...], sites: Theta) -> JaxArray:
        return jax.vmap(lambda point: log_joint(function, data, point))(sites)

    return jitted(run)


@program
def _unconstrained(function: Callable[..., Any]) -> Any:
    """The compiled program: data, sites (s, …) → unconstrained coordinates (s, …) by site."""

    def run(data: tuple[Any, ...], sites: Theta) -> Theta:
        return {name: transform.inv(sites[name]) for name, transform in transforms_of(function, data).items()}

    return jitted(run)


# --- NUTS -----------------------------------------------------------------------------------------------------------


class _NutsSettings(NamedTuple):
    """What a program of NUTS is compiled for, besides the model and the shapes.

    Fields
    ------
    draws, warmup : numbers of states that are kept of a chain, and of those before them, in which the step size adapts
    thin : transitions from one of these states to the next
    is_dense : whether the metric is a covariance matrix, not variances
    """

    draws: int
    warmup: int
    thin: int
    is_dense: bool


def run_chains(
    twin: Twin, starts: Theta, metric: np.ndarray, seed: int, *, draws: int, warmup: int = 0, thin: int = 1
) -> tuple[Theta, dict[str, np.ndarray]]:
    """Chains of NumPyro's NUTS, one after the other.

    Parameters
    ----------
    twin : a NumPyro model and its data
    starts : (chains, …) first state of each chain by site (a named array of parameters), unconstrained, such as the
        logarithm of a positive parameter
    metric : (D,) variances of the D coordinates of a state, or their (D, D) covariance, by the sorted names of the
        sites. It changes the speed of a chain, not where it leads
    seed : of the random keys of the chains
    draws, warmup : numbers of states that are returned of each chain, and of those before them, which are dropped
    thin : transitions from one of these states to the next

    Returns
    -------
    (chains, draws, …) draws by site, constrained, and what ArviZ calls `sample_stats`, (chains, draws), by its names
    """
    settings = _NutsSettings(draws=draws, warmup=warmup, thin=thin, is_dense=metric.ndim == 2)
    with jax.enable_x64(True):
        chains = len(next(iter(starts.values())))
        keys = jax.random.split(jax.random.key(seed), chains)  # one for each chain
        run = _nuts_program(twin.function, twin.is_small, settings)
        path = run(twin.data, starts, metric, keys)  # (sites, statistics), arrays (chains, warmup + draws, …)

        # without the warmup, as NumPy arrays (chains, draws, …)
        sites, stats = jax.tree.map(lambda leaf: np.asarray(leaf)[:, warmup:], path)
    return sites, stats | {"lp": -stats["lp"]}  # ArviZ's lp is the log density, NumPyro's energy is minus it


@program
def _nuts_program(function: Callable[..., Any], is_small: bool, settings: _NutsSettings) -> Any:
    """The compiled program: data, starts, metric and keys → sites and statistics of all transitions of all chains.

    With little data (`is_small`) it is compiled without XLA's optimisation, which would take longer than it saves.
    """
    run = functools.partial(_nuts_paths, function, settings)
    return jitted(run) if is_small else jax.jit(run)


def _nuts_paths(
    function: Callable[..., Any],
    settings: _NutsSettings,
    data: tuple[Any, ...],
    starts: Theta,
    metric: JaxArray,
    keys: JaxArray,
) -> Any:
    """Sites and statistics of all states of all chains, two dictionaries of arrays (chains, warmup + draws, …).

    There are three loops, all compiled by JAX:

    - `jax.lax.map` over the chains, one after the other, each from its own key and start
    - `jax.lax.scan` over the states of a chain: it calls `next_state` again and again with the state before, and stacks
      what is kept of each state along a first axis
    - `jax.lax.fori_loop` over the `thin` transitions from one kept state to the next

    Parameters
    ----------
    function, data : a NumPyro model and its arguments
    settings : numbers of draws, of steps of warmup, and of transitions between them (`thin`)
    starts : (chains, …) unconstrained first states, by site
    metric : (D,) variances or (D, D) covariance of the coordinates
    keys : (chains,) random keys
    """
    # NUTS moves a flat vector (D,) of all coordinates; `unravel` turns it into coordinates by site. It is made from
    # the first start, as all chains have the same sites and shapes
    first_start = jax.tree.map(lambda leaf: leaf[0], starts)
    _, unravel = ravel_pytree(first_start)

    # −log of the density of a flat vector, and NumPyro's NUTS for it. NumPyro's own adaptation of the metric shrinks
    # variances towards 1e-3, which stalls features of small scale, so that it is off
    kernel = NUTS(
        potential_fn=lambda flat: potential(function, data, unravel(flat)),
        inverse_mass_matrix=metric,
        adapt_mass_matrix=False,
        dense_mass=settings.is_dense,
    )

    # `init` and `sample` of the kernel also take arguments of a model: there are none, () and {}
    def transition(_: Any, state: Any) -> Any:
        """The state after one transition of NUTS; its number is not used."""
        return kernel.sample(state, (), {})

    def next_state(before: Any, _: None) -> tuple[Any, Any]:
        """The state after `thin` transitions, and what is kept of it: its sites and statistics."""
        after = jax.lax.fori_loop(0, settings.thin, transition, before)
        sites = constrain(function, data, unravel(after.z))  # z is the flat vector of coordinates, (D,)
        stats = {name: attrgetter(field)(after) for name, field in _SAMPLE_STATS.items()}
        return after, (sites, stats)

    def chain(key_and_start: tuple[JaxArray, Theta]) -> Any:
        """What is kept of all states of a chain, arrays (warmup + draws, …)."""
        key, start = key_and_start
        flat_start, _ = ravel_pytree(start)  # (D,)
        # the step size adapts in the first `warmup` steps
        first_state = kernel.init(key, settings.warmup, flat_start, (), {})
        _, path = jax.lax.scan(next_state, first_state, length=settings.warmup + settings.draws)
        return path

    return jax.lax.map(chain, (keys, starts))  # one chain after the other


def run_nuts(
    twin: Twin, posterior: NaiveBayes, rng: np.random.Generator, seed: int, chains: int, **settings: Any
) -> tuple[Theta, dict[str, np.ndarray]]:
    """Draws of NumPyro's NUTS from dispersed starts, so that R-hat shows whether the chains have converged.

    The starts and the metric come from exact draws of the posterior, the pilot. They change how quickly the chains
    converge, not where they lead.

    Parameters
    ----------
    twin : a NumPyro model and its data
    posterior : the closed form of what the chains draw from
    rng, seed : of the pilot, and of the chains
    settings : `draws`, `warmup` and `thin` of `run_chains`

    Returns
    -------
    (chains, draws, …) draws by site, and sampler statistics, (chains, draws), by ArviZ's names
    """
    # How many exact draws: one for each start at least. Where parameters are dependent (`coupled`, as in a model with
    # covariance matrices), the metric is a covariance of all parameters, which takes ten draws for each of them
    one_draw = posterior.sample(rng, (1,))
    n_parameters = sum(leaf[0].size for leaf in jax.tree.leaves(one_draw))
    n_for_covariance = 10 * n_parameters if posterior.coupled else 0
    n_pilot = max(_PILOT, chains, n_for_covariance)

    # the draws, (n_pilot, …) by site, kept away from the ends of the floats
    pilot = sites_in_floats(posterior, posterior.sample(rng, (n_pilot,)))

    # unconstrained starts (chains, …) by site, and variances or a covariance of the coordinates
    starts, metric = start_points(twin, pilot, chains, spread=_DISPERSED, dense=posterior.coupled)
    return run_chains(twin, starts, metric, seed, **settings)


# --- starts and scales ----------------------------------------------------------------------------------------------


def sites_in_floats(model: NaiveBayes, theta: Any) -> Theta:
    """Parameters as NumPyro's sites, moved to where NumPyro's densities are finite in floats.

    A site is an array of parameters with one name, on their own scale (theta), where a block, the model of some
    columns, may hold their logarithm or logit. Logarithms stay above −600, and logits between −600 and 30: of a larger
    logit 1 − θ has no digits left.

    Parameters
    ----------
    model : the prior or posterior, which knows the names of its sites
    theta : parameters by block and name; a name such as log_theta or logit_theta says on which scale they are held

    Returns
    -------
    constrained values by NumPyro site, with the same leading axes of draws
    """
    moved: dict[str, Any] = {}
    for block, values in theta.items():
        moved[block] = {name: _within_limits(name, value) for name, value in values.items()}
    return model.to_sites(moved)


def _within_limits(parameter: str, value: Array) -> Array:
    """Values of a parameter inside the limits of `sites_in_floats` for its scale, which the start of its name tells."""
    if parameter.startswith("logit_"):
        return np.clip(value, -600.0, 30.0)
    if parameter.startswith("log_"):
        return np.maximum(value, -600.0)
    return value


def start_points(
    twin: Twin, sites: Theta, chains: int, spread: float = 1.0, dense: bool = False
) -> tuple[Theta, np.ndarray]:
    """Starts for chains and the metric of the unconstrained coordinates, from exact draws of the sites.

    Parameters
    ----------
    twin : a NumPyro model and its data
    sites : (s, …) exact draws by site, at least as many as chains
    chains : how many of the draws become starts: the first ones
    spread : factor by which starts are pushed away from the mean of the draws; above 1 they are dispersed
    dense : True gives a covariance for a metric, for coordinates that depend on each other; it needs several draws a
        coordinate

    Returns
    -------
    (chains, …) unconstrained starts by site; and the metric, (D,) variances or a (D, D) covariance of all coordinates,
    by the sorted names of the sites
    """
    coordinates = twin.unconstrained(sites)  # (s, …) by site: real numbers, such as logarithms of positive parameters

    # with `spread` 3 a start is three times as far from the mean as the draw it is made of, in each coordinate
    starts = {}
    for name, u in coordinates.items():
        mean = u.mean(0)
        starts[name] = mean + spread * (u[:chains] - mean)

    # the coordinates of each draw as one vector of length D, in the order in which JAX flattens a dictionary
    by_site = [coordinates[name] for name in sorted(coordinates)]
    flat = np.concatenate([u.reshape(len(u), -1) for u in by_site], axis=1)  # (s, D)

    # the metric; a small number on the diagonal keeps a covariance invertible, and a variance above 0
    if dense:
        return starts, np.cov(flat.T) + _LEAST_VARIANCE * np.eye(flat.shape[1])
    return starts, np.maximum(flat.var(0), _LEAST_VARIANCE)


# --- short chains ---------------------------------------------------------------------------------------------------


def run_short_chains(
    twin: Twin, starts: Theta, metric: np.ndarray, rng: np.random.Generator, *, transitions: int, leapfrog: int
) -> Theta:
    """The last states, (chains, …) by site, of many short Hamiltonian chains with a kernel that nothing adapts.

    Without adaptation each transition leaves the posterior unchanged: starts drawn from it have ends drawn from it.

    A transition takes `leapfrog` steps of D^(−1/4) standard deviations, where D is the number of coordinates: with this
    power of D the share of accepted transitions stays about the same (Neal, §5.4.4). For each transition the step is
    multiplied by 1, ½ or ¼ at random, because the density of a small share falls steeply on one side, where only short
    steps are accepted.

    Parameters
    ----------
    twin, starts, metric : as of `run_chains`: the model, (chains, …) first states in unconstrained coordinates by site,
        and variances (D,) or a covariance (D, D) of these coordinates
    rng : source of momenta, step sizes and decisions to accept
    transitions, leapfrog : transitions of a chain, and steps of each

    References
    ----------
    Neal (2011), MCMC using Hamiltonian dynamics, Handbook of Markov Chain Monte Carlo, ch. 5, §5.3.2 and §5.4.4.
    """
    chains = len(next(iter(starts.values())))
    d = len(metric)
    is_dense = metric.ndim == 2  # a covariance, else variances

    # all random numbers, drawn by NumPy: a compiled program would take as long to compile its generator as all the rest
    noise = _Noise(
        z=rng.standard_normal((chains, transitions, d)),
        step=d**-0.25 * 0.5 ** rng.integers(0, _STEP_SIZES, (chains, transitions)),  # halved 0, 1 or 2 times
        log_uniform=-rng.standard_exponential((chains, transitions)),  # −log U is exponential
    )

    # by this root of the covariance the coordinates are whitened, so that unit masses suit them
    root = np.linalg.cholesky(metric) if is_dense else np.sqrt(metric)

    # how many chains run at once: all, or few with covariances, as thousands of small Cholesky factors side by side can
    # lock XLA's threads on a CPU (jaxlib 0.10)
    batch = _SIDE_BY_SIDE if is_dense else chains
    with jax.enable_x64(True):
        # a compiled function of data, starts, root and noise that moves every chain to its end (`_short_chain`); it is
        # compiled once, and kept
        run = _short_program(twin.function, leapfrog, batch)
        ends = run(twin.data, starts, root, noise)  # constrained sites, (chains, …)
        return jax.tree.map(np.asarray, ends)


class _Noise(NamedTuple):
    """What is random in short chains.

    Fields
    ------
    z : (chains, transitions, D) standard normal momenta of whitened coordinates
    step : (chains, transitions) step sizes
    log_uniform : (chains, transitions) logarithms of uniform variables
    """

    z: Array
    step: Array
    log_uniform: Array


@program
def _short_program(function: Callable[..., Any], leapfrog: int, batch: int) -> Any:
    """The compiled program: data, starts, root of the metric and noise → sites at the end of each chain, (chains, …).

    Parameters
    ----------
    function : the NumPyro model
    leapfrog : steps of a transition
    batch : chains that run side by side
    """

    def run(data: tuple[Any, ...], starts: Theta, root: JaxArray, noise: _Noise) -> Theta:
        # starts as flat vectors, (chains, D); `unravel` turns one of them into coordinates by site. It is made from the
        # first start, leaf[0], as all have the same shapes
        _, unravel = ravel_pytree(jax.tree.map(lambda leaf: leaf[0], starts))
        flat_starts = jax.vmap(lambda start: ravel_pytree(start)[0])(starts)

        # every chain gets its own start and its own slice of the noise
        chain = functools.partial(_short_chain, function, data, unravel, root, leapfrog)
        return jax.lax.map(chain, (flat_starts, noise), batch_size=batch)

    return jitted(run)


def _short_chain(
    function: Callable[..., Any],
    data: tuple[Any, ...],
    unravel: Callable[[JaxArray], Theta],
    root: JaxArray,
    leapfrog: int,
    start_and_noise: tuple[JaxArray, _Noise],
) -> Theta:
    """The parameters θ, by site, at the end of one chain of Hamiltonian transitions.

    The chain moves in whitened coordinates v, with u = start + root · v and θ = θ(u). If Σ is the covariance of the
    unconstrained coordinates u and root rootᵀ = Σ, then v has about the unit matrix for covariance.

    Parameters
    ----------
    function, data : a NumPyro model and its arguments
    unravel : from a flat vector (D,) to unconstrained coordinates u by site
    root : (D,) standard deviations, or (D, D) Cholesky factor of the covariance of u
    leapfrog : steps of a transition
    start_and_noise : u at the start, (D,), and the noise of this chain, with a first axis of transitions
    """
    start, noise = start_and_noise

    def u_of(v: JaxArray) -> Theta:
        """Unconstrained coordinates by site at whitened coordinates v."""
        return unravel(start + (root @ v if root.ndim == 2 else root * v))

    energy_and_slope = jax.value_and_grad(lambda v: potential(function, data, u_of(v)))  # −log p and its gradient in v

    # the scan goes through the transitions. It carries v (D,), which starts at 0, where u = start; each transition gets
    # its own slice of the noise
    transition = functools.partial(_transition, energy_and_slope, leapfrog)
    v_end, _ = jax.lax.scan(transition, jnp.zeros_like(start), noise)
    return constrain(function, data, u_of(v_end))


def _transition(energy_and_slope: Any, leapfrog: int, v: JaxArray, noise: _Noise) -> tuple[JaxArray, None]:
    """One transition of Hamiltonian Monte Carlo from whitened coordinates v (D,), with unit masses.

    1. Draw momenta z, standard normal.
    2. Follow Hamilton's equations from (v, z) by leapfrog steps.
    3. Accept the end with probability min(1, exp(−increase)), by how much the total energy U(v) + ½ |p|² has increased.
       U = −log p is the potential energy, and p are the momenta.

    Parameters
    ----------
    energy_and_slope : from v to U(v) and its gradient (D,)
    leapfrog : steps of the trajectory
    noise : of this transition, drawn before: z (D,), the size of the steps, and the log of a uniform number

    Returns
    -------
    v after the transition; None is what `jax.lax.scan` collects
    """
    # 1. the start of the trajectory; its energies are not known yet, and are filled in on the way
    not_yet = jnp.zeros_like(noise.step)
    start = _Moving(v=v, p=noise.z, energy_at_start=not_yet, energy=not_yet)

    # 2. The trajectory. Momenta move once more than coordinates, because they move by half a step at both ends: with 2
    # steps p, v, p, v, p. So 2 steps are 3 iterations (0, 1, 2) of `_leap`, each of which moves p and then v, but the
    # last one p only.
    leap = functools.partial(_leap, energy_and_slope, leapfrog, noise.step)  # called as leap(i, moving)
    end = jax.lax.fori_loop(0, leapfrog + 1, leap, start)

    # 3. a number is below min(1, exp(−increase)) if its logarithm is below −increase; False where that is no number
    increase = end.energy - end.energy_at_start + (end.p @ end.p - noise.z @ noise.z) / 2
    is_accepted = noise.log_uniform < -increase
    return jnp.where(is_accepted, end.v, v), None


class _Moving(NamedTuple):
    """A trajectory of D coordinates on its way.

    Fields
    ------
    v, p : (D,) coordinates and momenta
    energy_at_start, energy : −log p at the start of the trajectory, and where it was evaluated last
    """

    v: JaxArray
    p: JaxArray
    energy_at_start: JaxArray
    energy: JaxArray


def _leap(energy_and_slope: Any, leapfrog: int, step: JaxArray, i: JaxArray, moving: _Moving) -> _Moving:
    """Iteration i = 0 … leapfrog of a leapfrog trajectory: momenta move by the slope, then coordinates by momenta.

    Hamilton's equations dv/dt = p and dp/dt = −∂E/∂v are solved in steps of time, where E is −log of the density of v.
    Half steps of momenta at both ends and full steps between them make `leapfrog` steps of coordinates; the last
    iteration moves only momenta. With two steps: p by ½, v; p by 1, v; p by ½.

    Parameters
    ----------
    energy_and_slope : from coordinates to −log p and its gradient (D,)
    leapfrog, step : number and size of the steps
    moving : the trajectory before this iteration
    """
    is_first = i == 0
    is_last = i == leapfrog

    # momenta move by the slope, half a step at both ends. The slope at the start is computed in the loop too, as each
    # copy of the density takes time to compile
    energy, slope = energy_and_slope(moving.v)
    share_of_step = jnp.where(is_first | is_last, 0.5, 1.0)
    p = moving.p - share_of_step * step * slope

    # coordinates move by the momenta, but not in the last iteration
    v = jnp.where(is_last, moving.v, moving.v + step * p)
    energy_at_start = jnp.where(is_first, energy, moving.energy_at_start)
    return _Moving(v=v, p=p, energy_at_start=energy_at_start, energy=energy)
