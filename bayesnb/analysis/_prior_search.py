"""The search for hyperparameters: the maximum of their evidence by L-BFGS-B, and draws of them by NUTS."""

import warnings
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning

from ..base import as_jax
from ._prior_evidence import Coordinates, EvidenceOfPrior, declared_fields, is_centre

HYPERPRIOR_SD = 2.0  # standard deviation of the hyperprior of a coordinate
_FIRST = np.log([1.0, 1e-2, 1e-1, 1e1, 1e2])  # multiples of the estimator's own pseudo-counts that are tried first


@jax.jit
def _objective(z: Coordinates, problem: EvidenceOfPrior, precision: Any) -> tuple[Any, Coordinates]:
    """−log p(X | y, η) + ½ precision Σ z², and its gradient."""

    def energy(z: Coordinates) -> Any:
        return 0.5 * precision * sum((value**2).sum() for value in z.values()) - problem.log_evidence(z)

    return jax.value_and_grad(energy)(z)


def minimise(
    z: Coordinates, limits: dict[str, tuple[float, float]], problem: EvidenceOfPrior, precision: float
) -> tuple[Coordinates, int]:
    """Coordinates of least energy, and how many evaluations that took."""
    _, unravel = ravel_pytree(as_jax(z))
    evaluations, declared = 0, declared_fields(problem.blocks)

    def energy(flat: np.ndarray) -> tuple[float, np.ndarray]:
        nonlocal evaluations
        evaluations += 1
        value, slope = _objective(unravel(jnp.asarray(flat)), problem, precision)
        return float(value), np.asarray(ravel_pytree(slope)[0])

    def moved(shift: float) -> np.ndarray:
        counts = {name: shift * (not is_centre(declared[name]) and declared[name].per not in z) for name in z}
        return np.asarray(ravel_pytree({k: np.clip(v + counts[k], *limits[k]) for k, v in z.items()})[0])

    begin = min((moved(shift) for shift in _FIRST), key=lambda flat: energy(flat)[0])
    box = [pair for name in sorted(z) for pair in [limits[name]] * z[name].size]
    result = minimize(
        energy, begin, jac=True, method="L-BFGS-B", bounds=box, options={"ftol": 1e-14, "gtol": 1e-6, "maxiter": 1000}
    )
    if result.status == 1:  # out of iterations; a line search that ends in rounding (2) is at the maximum
        warnings.warn(
            f"The evidence was still increasing after {evaluations} evaluations. Fit fewer hyperparameters: set "
            "`parameters` or `over`",
            ConvergenceWarning,
            stacklevel=3,
        )
    return {name: np.asarray(value) for name, value in unravel(jnp.asarray(result.x)).items()}, evaluations


def draw_coordinates(
    mode: Coordinates, problem: EvidenceOfPrior, draws: int, warmup: int, chains: int, seed: int
) -> dict[str, np.ndarray]:
    """Draws (chains, draws, …) of the coordinates by NUTS, from around the mode, its curvature the metric."""
    import numpyro
    import numpyro.distributions as dist

    from ..inference.chains import run_chains

    def model() -> None:
        z = {
            name: numpyro.sample(
                name, dist.Normal(0.0, HYPERPRIOR_SD).expand(mode[name].shape).to_event(mode[name].ndim)
            )
            for name in sorted(mode)
        }
        numpyro.factor("data", problem.log_evidence(z))

    flat, unravel = ravel_pytree(as_jax(mode))
    curvature = (
        jax.jit(jax.hessian(lambda at: -problem.log_evidence(unravel(at))))(flat) + np.eye(flat.size) / HYPERPRIOR_SD**2
    )
    values, vectors = np.linalg.eigh(np.asarray(curvature))
    values = np.maximum(values, HYPERPRIOR_SD**-2)
    noise = np.random.default_rng(seed).standard_normal((chains, flat.size))
    starts = np.asarray(flat) + noise / np.sqrt(values) @ vectors.T
    metric = (vectors / values) @ vectors.T
    begin = jax.vmap(unravel)(jnp.asarray(starts))
    found = run_chains(model, begin, metric, seed, draws=draws, warmup=warmup)
    return {name: found[name].reshape(chains, draws, *mode[name].shape) for name in mode}
