"""The laws every family obeys, each run over the table in `laws.py`."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats as st
from scipy import sparse

from bayesnb._special import namespace
from bayesnb.base import from_sites, to_sites
from bayesnb.families import DirichletClasses
from bayesnb.naive_bayes import NaiveBayes
from bayesnb.statistics import one_hot

from .laws import FAMILIES, C, Case, D, Family, assert_same, case, cast, jitted, log_joint

each_family = pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
each_sparse_family = pytest.mark.parametrize(
    "family", [f for f in FAMILIES if f.sparse], ids=lambda family: family.name
)
each_missing_family = pytest.mark.parametrize(
    "family", [f for f in FAMILIES if f.missing], ids=lambda family: family.name
)


def stats_of(this: Case, rows: Any = slice(None)) -> Any:
    """Statistics of some rows of a case."""
    return this.prior.suffstats({"x": this.x[rows]}, this.r[rows])


# --- the statistics -------------------------------------------------------------------------------------------------


@each_family
def test_statistics_are_a_commutative_monoid(family: Family) -> None:
    this = case(family)
    a, b, c = stats_of(this, slice(0, 5)), stats_of(this, slice(5, 6)), stats_of(this, slice(6, None))
    assert_same(a + a.zero(), a, rtol=0, atol=0)
    assert_same(a.zero() + a, a, rtol=0, atol=0)
    assert_same(a + b, b + a)
    assert_same((a + b) + c, a + (b + c))


@each_family
def test_split_anywhere_and_merge_in_any_order(family: Family) -> None:
    this = case(family)
    for _ in range(20):
        parts = np.split(this.rng.permutation(len(this.x)), np.sort(this.rng.integers(0, len(this.x), 4)))
        merged = this.stats.zero()
        for part in parts:  # some parts are empty
            merged = merged + stats_of(this, part)
        assert_same(merged, this.stats)


@each_family
def test_forgetting_undoes_adding(family: Family) -> None:
    this = case(family)
    a, b = stats_of(this, slice(0, 15)), stats_of(this, slice(15, None))
    assert_same((a + b) - b, a)
    assert_same((a + b) - b - a, a.zero())


@each_family
def test_updates_chain(family: Family) -> None:
    this = case(family)
    a, b = stats_of(this, slice(0, 9)), stats_of(this, slice(9, None))
    assert_same(this.prior.update(a).update(b), this.posterior)
    gain = this.prior.log_marginal(a) + this.prior.update(a).log_marginal(b)
    assert gain == pytest.approx(this.prior.log_marginal(a + b), rel=1e-12)


@each_family
def test_soft_labels_dense_and_sparse(family: Family) -> None:
    this = case(family)
    soft = this.rng.dirichlet(np.ones(C), len(this.x))
    block, hard = this.block, this.r
    assert_same(block.suffstats(this.x, soft), block.suffstats(this.x, sparse.csr_array(soft)))
    assert_same(block.suffstats(this.x, hard), block.suffstats(this.x, hard.toarray()))


@each_family
def test_weights_are_repetitions(family: Family) -> None:
    this = case(family)
    w = this.rng.integers(0, 4, len(this.x))
    weighted = this.block.suffstats(this.x, one_hot(this.y, C, w))
    assert_same(weighted, this.block.suffstats(np.repeat(this.x, w, 0), one_hot(np.repeat(this.y, w), C)))


@each_sparse_family
def test_sparse_rows_equal_dense_rows(family: Family) -> None:
    this = case(family, missing=False)
    dense, rows, block = this.x, sparse.csr_array(this.x), this.posterior.blocks["x"]
    theta = block.sample(this.rng, (2,))
    for r in (this.r, this.r.toarray()):
        assert_same(block.suffstats(rows, r), block.suffstats(dense, r))
    assert_same(block.log_predictive(rows), block.log_predictive(dense))
    assert_same(block.log_likelihood(theta, rows), block.log_likelihood(theta, dense))
    assert_same(block.log_moments(rows), block.log_moments(dense))


@each_missing_family
def test_a_missing_cell_is_a_cell_left_out(family: Family) -> None:
    this = case(family, missing=False)
    x, gap = this.x[:1].copy(), 1
    x[0, gap] = np.nan
    block = this.posterior.blocks["x"]
    fewer = block.select(np.delete(np.arange(D), gap))
    short = np.delete(x, gap, 1)
    assert_same(block.log_predictive(x), fewer.log_predictive(short))
    assert_same(block.log_moments(x), fewer.log_moments(short))
    theta = block.sample(this.rng)
    part = {name: np.delete(value, gap, min(1, value.ndim - 1)) for name, value in theta.items()}
    assert_same(block.log_likelihood(theta, x), fewer.log_likelihood(part, short))
    r = np.full((1, C), 1 / C)
    evidence = block.log_marginal(block.suffstats(x, r)).sum()
    assert evidence == pytest.approx(fewer.log_marginal(fewer.suffstats(short, r)).sum(), rel=1e-12)


# --- evidence and prediction ----------------------------------------------------------------------------------------


@each_family
def test_evidence_is_the_ratio_of_normalisers(family: Family) -> None:
    this = case(family)
    stats, posterior = this.stats.blocks["x"], this.posterior.blocks["x"]
    evidence = this.block.log_marginal(stats)
    ratio = posterior.log_normalizer() - this.block.log_normalizer()
    log_h = stats.log_h if stats.log_h.shape == ratio.shape else stats.log_h.sum(0)  # pooled: one piece a feature
    np.testing.assert_allclose(evidence, ratio + log_h, rtol=1e-11)  # the ratio itself cancels a digit or two


@each_family
def test_predictive_is_a_ratio_of_evidences(family: Family) -> None:
    this = case(family)
    block = this.posterior.blocks["x"]
    table = block.log_predictive(this.x)
    for i, k in np.ndindex(5, C):
        r = np.eye(C)[[k]]
        evidence = block.log_marginal(block.suffstats(this.x[i : i + 1], r)).sum()
        assert table[i, k] == pytest.approx(evidence, rel=1e-11, abs=1e-12)


@each_family
def test_prediction_row_by_row_sums_to_the_evidence(family: Family) -> None:
    this = case(family)
    now, total = this.prior, 0.0
    for i, label in enumerate(this.y):
        total += now.log_joint({"x": this.x[i : i + 1]})[0, label]
        now = now.update(stats_of(this, slice(i, i + 1)))
    assert total == pytest.approx(this.prior.log_marginal(this.stats), rel=1e-12)
    assert_same(now, this.posterior)


def refits(this: Case, r: np.ndarray) -> np.ndarray:
    """The joint table of each row by the posterior of the others: n updates of the prior, row by row."""
    tables = []
    for i in range(len(this.x)):
        others = np.delete(np.arange(len(this.x)), i)
        posterior = this.prior.update(this.prior.suffstats({"x": this.x[others]}, r[others]))
        tables.append(posterior.log_joint({"x": this.x[[i]]})[0])
    return np.stack(tables)


@each_family
def test_leaving_a_row_out_equals_a_refit_without_it(family: Family) -> None:
    """With unit, unequal and zero weights, and with soft labels; cells are missing where the family takes that."""
    this = case(family)
    w = this.rng.choice([0.0, 0.3, 1.0, 2.5], len(this.x))
    soft = w[:, None] * this.rng.dirichlet(np.ones(C), len(this.x))
    soft[:5, 0] = 0
    for r in (this.r.toarray(), this.r.toarray() * 0.7, one_hot(this.y, C, w).toarray(), soft):
        posterior = this.prior.update(this.prior.suffstats({"x": this.x}, r))
        want = refits(this, r)
        for weights in (r, sparse.csr_array(r)):
            got = posterior.log_loo({"x": this.x}, weights)
            np.testing.assert_allclose(got, want, rtol=1e-10, atol=1e-10)
            if family.sparse:
                rows = sparse.csr_array(np.nan_to_num(this.x))
                full = this.prior.update(this.prior.suffstats({"x": rows}, weights))
                dense = full.log_loo({"x": rows.toarray()}, weights)
                np.testing.assert_allclose(full.log_loo({"x": rows}, weights), dense, rtol=1e-12, atol=1e-12)


@each_family
def test_a_row_of_no_weight_is_predicted_by_all_others(family: Family) -> None:
    this = case(family)
    nothing = sparse.csr_array((len(this.x), C))
    rows = {"x": this.x}
    assert_same(this.posterior.log_loo(rows, nothing), this.posterior.log_joint(rows), rtol=1e-11, atol=1e-11)


@each_family
def test_a_row_that_is_nearly_all_there_is_leaves_finite_numbers(family: Family) -> None:
    """Its class has a prior that is lost in rounding beside it; a covariance has to stay one."""
    this = case(family)
    tiny = jax.tree.map(lambda leaf: (1e-25 if this.block.blank is not None else 1e-14) * leaf, this.prior)
    low = {name: getattr(this.block, name) for name in ("kappa", "nu") if hasattr(this.block, name)}
    prior = NaiveBayes(this.prior.classes, {"x": replace(tiny.blocks["x"], **low)})
    if "known" in family.name:
        prior = this.prior
    rows, r = {"x": this.x[:1]}, np.eye(C)[[0]]
    table = prior.update(prior.suffstats(rows, r)).log_loo(rows, r)
    assert np.isfinite(table).all()


def predictive_cells(this: Case) -> tuple[np.ndarray, np.ndarray]:
    """Predictive probabilities (m, c) of m cells that cover the space, and the cells: points, or edges of intervals.

    Those of the prior, whose parameters are uncertain: plugging in a point would show.
    """
    block = this.block
    if this.family.support is not None:
        return np.exp(block.log_predictive(this.family.support)), this.family.support
    edges = np.array(this.family.edges)
    x, weight = (np.stack(both) for both in zip(*map(nodes, edges, edges[1:]), strict=True))
    density = np.exp(block.log_predictive(x.reshape(-1, 1))).reshape(*x.shape, C)
    return np.einsum("en,enc->ec", weight, density), edges


def nodes(a: float, b: float) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights of the double exponential rule from a to b, one of which may be infinite.

    Takahasi & Mori (1974), Publ. RIMS 9: the trapezoidal rule in t, with x = tanh(½π sinh t) on (−1, 1) and
    exp(½π sinh t) on (0, ∞). It does not mind tails that fall like a power.
    """
    t, step = np.linspace(-5, 5, 321, retstep=True)
    u, slope = np.pi / 2 * np.sinh(t), step * np.pi / 2 * np.cosh(t)
    if np.isfinite(a) and np.isfinite(b):
        return (a + b) / 2 + (b - a) / 2 * np.tanh(u), (b - a) / 2 * slope / np.cosh(u) ** 2
    return (a + np.exp(u) if np.isfinite(a) else b - np.exp(u)), slope * np.exp(u)


@pytest.mark.parametrize("family", [f for f in FAMILIES if not f.composite], ids=lambda family: family.name)
def test_predictive_sums_to_one_and_new_rows_follow_it(family: Family) -> None:
    """Pearson's χ² of 10,000 rows a class; 11 families × 3 classes at 1e-5 each: false alarms in 1 of 3,000 seeds."""
    this = case(family, d=family.d)
    p, cells = predictive_cells(this)
    np.testing.assert_allclose(p.sum(0), 1, rtol=1e-11)  # quadrature to 1e-13, or rounding
    n = 10_000
    rows = this.block.sample_predictive(this.rng, np.repeat(np.arange(C), n), **dict(family.given))
    for k, x in enumerate(rows.reshape(C, n, family.d)):
        if family.support is None:
            seen = np.histogram(x, cells)[0]
        else:
            seen = np.array([(x == row).all(1).sum() for row in cells])
        assert seen.sum() == n  # nothing outside the support
        rare = n * p[:, k] < 10  # pooled: χ² is a limit for large counts
        expected = np.append(n * p[~rare, k], n * p[rare, k].sum())
        observed = np.append(seen[~rare], seen[rare].sum())
        used = expected > 1
        statistic = ((observed - expected)[used] ** 2 / expected[used]).sum()
        assert st.chi2.sf(statistic, used.sum() - 1) > 1e-5


@each_family
def test_likelihood_is_scipys(family: Family) -> None:
    this = case(family)
    block = this.block
    theta = block.sample(this.rng, (2,))
    got = block.log_likelihood(theta, this.x)
    for s in range(2):
        one = {name: value[s] for name, value in theta.items()}
        want = family.log_pdf(to_sites(one), this.x)
        np.testing.assert_allclose(got[s], want, rtol=1e-10, atol=1e-12)  # SciPy's gammaln differences
        np.testing.assert_allclose(block.log_likelihood(one, this.x), got[s], rtol=1e-13)


@each_family
def test_scores_are_log_densities_up_to_a_term_of_the_row(family: Family) -> None:
    this = case(family)
    theta = this.block.sample(this.rng)
    joint = this.posterior.log_joint({"x": this.x})
    for density, score in [
        (this.block.log_predictive(this.x), this.block.log_score(this.x)),
        (this.block.log_likelihood(theta, this.x), this.block.log_score(this.x, theta)),
        (joint, this.posterior.log_scores({"x": this.x})),
    ]:
        term = density - score
        np.testing.assert_allclose(term, np.broadcast_to(term[:, :1], term.shape), rtol=1e-11, atol=1e-11)


# --- the NumPyro twin -----------------------------------------------------------------------------------------------


@each_family
@pytest.mark.usefixtures("x64")
def test_bayes_identity(family: Family) -> None:
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
        assert joint - posterior.log_prob(theta) == pytest.approx(evidence, rel=1e-9)
        assert float(short(sites)) == pytest.approx(joint, rel=1e-9)


def tangent(family: Family, sites: dict[str, Any]) -> dict[str, Any]:
    """Gradients along the simplex where a site lives on one."""
    return {
        name: value - value.mean(-1, keepdims=True) if name in ("pi", *family.simplex) else value
        for name, value in sites.items()
    }


@each_family
@pytest.mark.usefixtures("x64")
def test_gradient_is_zero_at_an_interior_mode(family: Family) -> None:
    """NumPyro's log joint, no Jacobian, at the closed-form mode; cells are missing, and leave no NaN behind.

    Against the gradient 1 % beside the mode, which is about 1e-2 of the curvature; at the mode rounding is left.
    """
    this = case(family)
    prior = jax.tree.map(lambda leaf: leaf + 1, this.prior)  # every concentration above 1
    posterior = prior.update(this.stats)
    assert not posterior.on_boundary()
    mode = {name: jnp.asarray(value) for name, value in posterior.to_sites(posterior.mode()).items()}
    slope = jitted(jax.grad(log_joint(prior.model, {"x": this.x}, this.y)))
    here = tangent(family, slope(mode))
    beside = tangent(family, slope({name: value * 1.01 for name, value in mode.items()}))
    for name in mode:
        if name in ("pi", *family.simplex):  # scaled along the ray the slope stays normal: step along the simplex
            step = jnp.linspace(0.99, 1.01, mode[name].shape[-1])
            beside[name] = tangent(family, slope(mode | {name: mode[name] * step}))[name]
        assert abs(here[name]).max() < 1e-9 * abs(beside[name]).max()


@each_family
def test_mode_on_the_boundary_is_a_point(family: Family) -> None:
    this = case(family)
    low = jax.tree.map(lambda leaf: 0.5 * leaf / max(abs(leaf).max(), 1), this.prior)  # no concentration above ½
    flat = NaiveBayes(DirichletClasses(np.full(C, 0.5)), low.blocks)
    sites = flat.to_sites(flat.mode())
    assert flat.on_boundary()  # at least the classes
    assert all(np.isfinite(value).all() for value in sites.values())
    np.testing.assert_allclose(sites["pi"], 1 / C)  # all below 1: no mode inside, the mean stands in
    assert np.isfinite(flat.log_joint({"x": this.x}, flat.mode())).all()


# --- draws ----------------------------------------------------------------------------------------------------------


@each_family
def test_mean_and_moments_are_those_of_draws(family: Family) -> None:
    """Within 5 Monte Carlo standard errors: 6e-7 a comparison, about 400 comparisons in all, 3e-4 over the table."""
    this = case(family)
    posterior = this.posterior
    root = np.sqrt(4000)

    means = posterior.to_sites(posterior.mean())
    for name, value in posterior.to_sites(posterior.sample(this.rng, (4000,))).items():
        assert (abs(value.mean(0) - means[name]) < 5 * value.std(0) / root).all()

    mean, variance = this.block.log_moments(this.x[:4])  # of the prior, where all terms count
    table = this.block.log_likelihood(this.block.sample(this.rng, (4000,)), this.x[:4])
    assert (abs(table.mean(0) - mean) < 5 * table.std(0) / root).all()
    squares = (table - table.mean(0)) ** 2
    assert (abs(squares.mean(0) - variance) < 5 * squares.std(0) / root).all()


@pytest.fixture(params=["numpy", "jax"])
def key(request: pytest.FixtureRequest) -> Iterator[Any]:
    """Either source of random numbers; a JAX key in double precision."""
    with jax.enable_x64(True):
        yield np.random.default_rng(3) if request.param == "numpy" else jax.random.key(3)


@each_family
def test_draws_follow_their_marginals(family: Family, key: Any) -> None:
    """Kolmogorov–Smirnov, 4,000 draws of about 30 scalars a family, at 1e-6 each: 4e-4 over table and both keys."""
    this = case(family)
    posterior = this.posterior

    def sites(key: Any) -> Any:
        return posterior.to_sites(posterior.sample(key, (4000,)))

    draws = sites(key) if isinstance(key, np.random.Generator) else jax.tree.map(np.asarray, jitted(sites)(key))
    marginals = posterior.marginals()
    assert marginals.keys() == draws.keys()
    for name, value in draws.items():
        u = marginals[name].cdf(value)  # uniform
        assert st.kstest(u.reshape(4000, -1), "uniform", axis=0).pvalue.min() > 1e-6


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


@each_family
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_numpy_and_jax_agree_in_both_precisions(family: Family, dtype: str) -> None:
    """Every number here is a sum of at most some 200 terms below 1e2: 1,000 machine epsilons cover it."""
    this = case(family)
    inputs = this.prior, this.x, this.r.toarray(), this.posterior.sample(this.rng)
    want = page(*inputs)
    tolerance = 1000 * np.finfo(dtype).eps
    with jax.enable_x64(dtype == "float64"):
        traced = jitted(page)(*cast(inputs, jnp, dtype))
        assert {leaf.dtype.name for leaf in jax.tree.leaves(traced)} == {dtype}
        assert_same(traced, want, rtol=tolerance, atol=tolerance)
    on_host = page(*cast(inputs, np, dtype))
    assert all(isinstance(leaf, np.ndarray | np.generic) for leaf in jax.tree.leaves(on_host))
    assert_same(on_host, want, rtol=tolerance, atol=tolerance)


def symmetric(step: np.ndarray) -> np.ndarray:
    """A step that leaves a covariance matrix one."""
    square = step.ndim > 1 and step.shape[-1] == step.shape[-2]
    return step + step.swapaxes(-1, -2) if square else step


@each_family
@pytest.mark.usefixtures("x64")
def test_pytrees_vmap_and_grad_over_hyperparameters(family: Family) -> None:
    this = case(family)
    leaves, tree = jax.tree.flatten(this.prior)
    assert_same(jax.tree.unflatten(tree, leaves), this.prior, rtol=0, atol=0)
    stats, theta = this.stats, this.posterior.sample(this.rng)

    def total(prior: NaiveBayes) -> Any:  # θ follows the hyperparameters to JAX, statistics may stay NumPy's
        return prior.log_marginal(stats) + prior.log_prob(cast(theta, namespace(prior.classes.alpha), float))

    prior = cast(this.prior, jnp, float)
    step = jax.tree.map(lambda leaf: jnp.asarray(symmetric(this.rng.uniform(0.5, 1, leaf.shape))), prior)
    h = 1e-5
    both = jax.tree.map(lambda at, by: jnp.stack([at - h * by, at + h * by]), prior, step)
    (low, high), slopes = jitted(jax.vmap(jax.value_and_grad(total)))(both)
    first = jax.tree.map(lambda leaf: np.asarray(leaf[0]), both)
    assert float(low) == pytest.approx(total(first), rel=1e-12)
    along = sum(jax.tree.leaves(jax.tree.map(lambda g, by: (g.mean(0) * by).sum(), slopes, step)))
    # mean slope at both ends against the rise between: h² f‴ and 1e-13/h of rounding, both about 1e-8
    assert float(along) == pytest.approx(float(high - low) / (2 * h), rel=1e-6)


def test_every_site_and_class_prior_survives_the_round_trip(rng: np.random.Generator) -> None:
    """θ → NumPyro's basis → θ, all families as blocks of one model."""
    blocks = {family.name: family.prior(rng, D) for family in FAMILIES}
    nb = NaiveBayes(DirichletClasses(np.ones(C)), blocks)
    theta = nb.sample(rng, (5,))
    assert_same(nb.from_sites(nb.to_sites(theta)), theta, rtol=1e-9)
    for name, block in blocks.items():
        assert_same(from_sites(block.parameters, to_sites(theta[name])), theta[name], rtol=1e-9)
