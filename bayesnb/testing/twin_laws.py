"""The laws of the NumPyro twin, of draws, and of NumPy against JAX: functions of a family, which raise."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import scipy.stats as st

from ..base import as_jax, from_sites, to_sites
from ..core.special import namespace
from ..families import DirichletClasses
from ..naive_bayes import NaiveBayes
from .cases import C, Family, assert_same, case, cast, close, jitted, log_joint, require

# --- the NumPyro twin -----------------------------------------------------------------------------------------------


def likelihood_is_numpyros(family: Family) -> None:
    """log p(x | θ_c) in closed form against the observed site of the model, at parameters drawn from the prior."""
    import numpyro

    with jax.enable_x64(True):
        this = case(family)
        block, theta = this.block, this.block.sample(this.rng)
        got, sites = block.log_likelihood(theta, this.x), to_sites(theta)

        @jitted
        def of_rows(y: Any) -> Any:
            with numpyro.handlers.trace() as trace, numpyro.handlers.substitute(data=sites):
                as_jax(block).model(this.x, y)
            site = trace["x"]
            cells = site["fn"].log_prob(site["value"])
            row = next(frame.dim for frame in site["cond_indep_stack"] if frame.name == "row")
            return cells.sum([axis for axis in range(-cells.ndim, 0) if axis != row])

        for k in range(C):
            want = of_rows(np.full(len(this.x), k))
            np.testing.assert_allclose(got[:, k], want, rtol=1e-9, atol=1e-9)


def bayes_identity(family: Family) -> None:
    """log p(θ, X, y) in NumPyro − log p(θ | X, y) in closed form = log p(X, y), at θ from prior and posterior."""
    this = case(family)
    stats, posterior = this.stats, this.posterior
    evidence = this.prior.log_marginal(stats)
    long, short = (
        jitted(log_joint(this.prior.model, {"x": this.x}, this.y)),
        jitted(log_joint(this.prior.model_from_statistics, stats)),
    )
    for source in (this.prior, posterior):
        theta = source.sample(this.rng)
        sites = this.prior.to_sites(theta)
        joint = float(long(sites))
        close(joint - posterior.log_prob(theta), evidence, rel=1e-9)
        close(float(short(sites)), joint, rel=1e-9)


def tangent(family: Family, sites: dict[str, Any]) -> dict[str, Any]:
    """Gradients along the simplex where a site lives on one."""
    return {
        name: value - value.mean(-1, keepdims=True) if name in ("pi", *family.simplex) else value
        for name, value in sites.items()
    }


def gradient_is_zero_at_an_interior_mode(family: Family) -> None:
    """NumPyro's log joint, no Jacobian, at the closed-form mode; cells are missing, and leave no NaN behind.

    Against the gradient 1 % beside the mode, which is about 1e-2 of the curvature; at the mode rounding is left.
    """
    this = case(family)
    prior = jax.tree.map(lambda leaf: leaf + 1, this.prior)  # every concentration above 1
    posterior = prior.update(this.stats)
    require(not posterior.on_boundary(), "`on_boundary` says so of a posterior whose mode is inside")
    mode = {name: jnp.asarray(value) for name, value in posterior.to_sites(posterior.mode()).items()}
    slope = jitted(jax.grad(log_joint(prior.model, {"x": this.x}, this.y)))
    here = tangent(family, slope(mode))
    beside = tangent(family, slope({name: value * 1.01 for name, value in mode.items()}))
    for name in mode:
        if name in ("pi", *family.simplex):  # scaled along the ray the slope stays normal: step along the simplex
            step = jnp.linspace(0.99, 1.01, mode[name].shape[-1])
            beside[name] = tangent(family, slope(mode | {name: mode[name] * step}))[name]
        slope_here, slope_beside = abs(here[name]).max(), abs(beside[name]).max()
        require(
            slope_here < 1e-9 * slope_beside,
            f"slope of {name}: {slope_here:.1e} at the mode, {slope_beside:.1e} 1 % beside",
        )


def mode_on_the_boundary_is_a_point(family: Family) -> None:
    """Under concentrations below ½ the mode is finite, and so is the likelihood there."""
    this = case(family)
    low = jax.tree.map(lambda leaf: 0.5 * leaf / max(abs(leaf).max(), 1), this.prior)  # no concentration above ½
    flat = NaiveBayes(DirichletClasses(np.full(C, 0.5)), low.blocks)
    sites = flat.to_sites(flat.mode())
    require(flat.on_boundary(), "`on_boundary` is False")  # at least the classes are
    require(all(np.isfinite(value).all() for value in sites.values()), "the mode is not finite")
    np.testing.assert_allclose(sites["pi"], 1 / C)  # all below 1: no mode inside, the mean stands in
    table = flat.log_joint({"x": this.x}, flat.mode())
    require(np.isfinite(table).all(), "the likelihood at the mode is not finite")


# --- draws ----------------------------------------------------------------------------------------------------------


def mean_and_moments_are_those_of_draws(family: Family) -> None:
    """Within 5 Monte Carlo standard errors: 6e-7 a comparison, about 400 comparisons in all, 3e-4 over the table."""
    this = case(family)
    posterior = this.posterior
    root = np.sqrt(4000)

    means = posterior.to_sites(posterior.mean())
    for name, value in posterior.to_sites(posterior.sample(this.rng, (4000,))).items():
        near = (abs(value.mean(0) - means[name]) < 5 * value.std(0) / root).all()
        require(near, f"`mean` of {name} is not that of 4,000 draws")

    mean, variance = this.block.log_moments(this.x[:4])  # of the prior, where all terms count
    table = this.block.log_likelihood(this.block.sample(this.rng, (4000,)), this.x[:4])
    near = (abs(table.mean(0) - mean) < 5 * table.std(0) / root).all()
    require(near, "the mean of `log_moments` is not that of 4,000 draws")
    squares = (table - table.mean(0)) ** 2
    near = (abs(squares.mean(0) - variance) < 5 * squares.std(0) / root).all()
    require(near, "the variance of `log_moments` is not that of 4,000 draws")


def draws_follow_their_marginals(family: Family, source: str = "numpy") -> None:
    """Kolmogorov–Smirnov, 4,000 draws of about 30 scalars a family, at 1e-6 each: 4e-4 over table and both keys."""
    this = case(family)
    posterior = this.posterior

    def sites(key: Any) -> Any:
        return posterior.to_sites(posterior.sample(key, (4000,)))

    with jax.enable_x64(True):
        if source == "numpy":
            draws = sites(np.random.default_rng(3))
        else:
            draws = jax.tree.map(np.asarray, jitted(sites)(jax.random.key(3)))
    marginals = posterior.marginals()
    require(marginals.keys() == draws.keys(), f"`marginals` has {sorted(marginals)}, draws have {sorted(draws)}")
    for name, value in draws.items():
        u = marginals[name].cdf(value)  # uniform
        p_value = st.kstest(u.reshape(4000, -1), "uniform", axis=0).pvalue.min()
        require(p_value > 1e-6, f"draws of {name} do not follow `marginals`: p-value {p_value:.1e}")


# --- NumPy and JAX, both precisions ---------------------------------------------------------------------------------


def page(nb: NaiveBayes, x: Any, r: Any, theta: Any) -> dict[str, Any]:
    """Everything a family computes, in one function to compile once."""
    stats = nb.suffstats({"x": x}, r)
    posterior = nb.update(stats)
    block = posterior.blocks["x"]
    return {
        "stats": stats,
        "posterior": posterior,
        "evidence": nb.log_marginal(stats),
        "predictive": posterior.log_joint({"x": x}),
        "left out": posterior.log_loo({"x": x}, r),
        "likelihood": posterior.log_joint({"x": x}, theta),
        "moments": block.log_moments(x),
        "log_prob": posterior.log_prob(theta),
        "mean": posterior.to_sites(posterior.mean()),
        "mode": posterior.to_sites(posterior.mode()),
        "mle": posterior.to_sites(posterior.mle(stats)),
    }


def numpy_and_jax_agree_in_both_precisions(family: Family, dtype: str) -> None:
    """Every number here is a sum of at most some 200 terms below 1e2: 1,000 machine epsilons cover it."""
    this = case(family)
    inputs = this.prior, this.x, this.r.toarray(), this.posterior.sample(this.rng)
    want = page(*inputs)
    tolerance = float(1000 * np.finfo(dtype).eps)
    with jax.enable_x64(dtype == "float64"):
        traced = jitted(page)(*cast(inputs, jnp, dtype))
        found = {leaf.dtype.name for leaf in jax.tree.leaves(traced)}
        require(found == {dtype}, f"arrays of {dtype} give arrays of {sorted(found)}")
        assert_same(traced, want, rtol=tolerance, atol=tolerance)
    on_host = page(*cast(inputs, np, dtype))
    host = all(isinstance(leaf, np.ndarray | np.generic) for leaf in jax.tree.leaves(on_host))
    require(host, "NumPy arrays give arrays that are not NumPy's")
    assert_same(on_host, want, rtol=tolerance, atol=tolerance)


def symmetric(step: np.ndarray) -> np.ndarray:
    """A step that leaves a covariance matrix one."""
    square = step.ndim > 1 and step.shape[-1] == step.shape[-2]
    return step + step.swapaxes(-1, -2) if square else step


def pytrees_vmap_and_grad_over_hyperparameters(family: Family) -> None:
    """JAX maps and differentiates the evidence over the hyperparameters."""
    this = case(family)
    leaves, tree = jax.tree.flatten(this.prior)
    assert_same(jax.tree.unflatten(tree, leaves), this.prior, rtol=0.0, atol=0.0)
    stats, theta = this.stats, this.posterior.sample(this.rng)

    def total(prior: NaiveBayes) -> Any:  # θ follows the hyperparameters to JAX, statistics may stay NumPy's
        return prior.log_marginal(stats) + prior.log_prob(
            cast(theta, namespace(*jax.tree.leaves(prior.classes)), float)
        )

    prior = cast(this.prior, jnp, float)
    step = jax.tree.map(lambda leaf: jnp.asarray(symmetric(this.rng.uniform(0.5, 1, leaf.shape))), prior)
    h = 1e-5
    both = jax.tree.map(lambda at, by: jnp.stack([at - h * by, at + h * by]), prior, step)
    (low, high), slopes = jitted(jax.vmap(jax.value_and_grad(total)))(both)
    first = jax.tree.map(lambda leaf: np.asarray(leaf[0]), both)
    close(float(low), total(first), rel=1e-12)
    along = sum(jax.tree.leaves(jax.tree.map(lambda g, by: (g.mean(0) * by).sum(), slopes, step)))
    # mean slope at both ends against the rise between: h² f‴ and 1e-13/h of rounding, both about 1e-8
    close(float(along), float(high - low) / (2 * h), rel=1e-6)


def parameters_survive_the_round_trip_to_sites(family: Family) -> None:
    """θ → NumPyro's basis → θ."""
    this = case(family)
    theta = this.block.sample(this.rng, (5,))
    assert_same(from_sites(this.block.parameters, to_sites(theta)), theta, rtol=1e-9)
