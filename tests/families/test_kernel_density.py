"""Kernel density against SciPy's, R's rule of thumb, and its bandwidth posterior as textbook loops."""

from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats as st
from numpyro.infer.util import log_density
from scipy.special import logsumexp

from bayesnb.families import KernelDensity
from bayesnb.models.naive_bayes import NaiveBayes
from bayesnb.sums.statistics import Sample, one_hot
from bayesnb.testing import laws_of

from ..estimators_table import mostly_slow, these
from ..laws import C, D, Family, assert_same, case, cast, jitted, log_joint, reals


def random_prior(rng: np.random.Generator, d: int) -> KernelDensity:
    log_h = rng.normal(-0.5, 0.3, (C, d))
    return KernelDensity(
        log_h, Sample.none(C, d), log_h - rng.uniform(1.5, 3, (C, d)), log_h + rng.uniform(1.5, 3, (C, d))
    )


FAMILY = Family("kernel_density", random_prior, reals)  # its density: see test_density_is_scipys


LAWS = laws_of(random_prior(np.random.default_rng(0), D))


OF_ALL = ["statistics add and subtract", "updates chain", "weights count rows", "a missing cell is a cell left out"]
OF_ALL += ["bayes' identity", "mode", "draws", "draws of jax follow their marginals"]
SLOW = pytest.param("jax maps and differentiates the evidence", marks=pytest.mark.slow)


@pytest.mark.parametrize("name", [*OF_ALL, SLOW])
@pytest.mark.usefixtures("x64")
def test_law_of_all_families(name: str) -> None:
    """The laws that need no density of the data; the others come below, on a posterior instead of a prior."""
    LAWS[name](case(FAMILY))


# --- the density ----------------------------------------------------------------------------------------------------


def test_density_is_scipys() -> None:
    this = case(FAMILY)
    block = this.posterior.blocks["x"]
    theta = block.sample(this.rng, (2,))
    grid = np.linspace(-4, 6, 15)
    for s, k, j in np.ndindex(2, *block.shape):
        x = np.full((15, block.shape[1]), np.nan)  # one feature alone
        x[:, j] = grid
        cells, h = this.x[this.y == k, j], np.exp(theta["log_bandwidth"][s, k, j])
        cells = cells[~np.isnan(cells)]
        want = st.gaussian_kde(cells, h / cells.std(ddof=1)).logpdf(grid)
        np.testing.assert_allclose(block.log_likelihood(theta, x)[s, :, k], want, rtol=1e-10, atol=1e-10)


def test_predictive_integrates_to_one_and_new_rows_follow_it() -> None:
    """Pearson's χ² of 4,000 rows a class at 1e-6: three classes, 3e-6 in all."""
    this = case(FAMILY, d=1)
    block = this.posterior.blocks["x"]
    grid = np.linspace(-80, 80, 16_001)  # the narrowest kernels have a standard deviation of 0.03, the widest of 8
    p = np.exp(block.log_predictive(grid[:, None])) * 0.01  # smooth and gone at both ends: the sum is spectrally exact
    np.testing.assert_allclose(p.sum(0), 1, rtol=1e-10)
    edges = np.linspace(-12, 14, 27)
    parts = np.diff([np.interp(edges - 0.005, grid, column) for column in np.cumsum(p, 0).T])
    rows = block.sample_predictive(this.rng, np.repeat(np.arange(C), 4000)).reshape(C, 4000)
    for k in range(C):
        seen = np.histogram(rows[k], edges)[0]
        expected = parts[k] * 4000
        used = expected > 5
        statistic = ((seen - expected)[used] ** 2 / expected[used]).sum()
        assert st.chi2.sf(statistic, used.sum() - 1) > 1e-6


# --- leave-one-out --------------------------------------------------------------------------------------------------


def log_density_without(x: np.ndarray, others: np.ndarray, w: np.ndarray, h: np.ndarray) -> np.ndarray:
    """log of the density at x of the kernels on all other cells, one by one, at every h; 0 where there is none."""
    if not w.sum():
        return np.zeros(len(h))
    u = (x - others[:, None]) / h[None]
    return logsumexp(-0.5 * u**2, 0, b=w[:, None]) - np.log(w.sum() * h * np.sqrt(2 * np.pi))


@pytest.mark.parametrize(("labels", "place"), [("one class", "host"), ("soft", "host"), ("soft", "traced")])
def test_leave_one_out_is_the_sum_over_the_other_rows(labels: str, place: str, rng: np.random.Generator) -> None:
    """Row by row, refitted to all others; values repeat, cells are missing, and weights are fractions or above 1.

    Class 2 has one row, so without it the cells of all others serve; feature 2 has a cell in class 0 alone.
    """
    x = rng.normal(size=(14, 3)).round(1)
    x[rng.random(x.shape) < 0.1] = np.nan
    x[1:, 2], x[0, 2] = np.nan, 1.0
    r = one_hot(np.append(np.arange(13) % 2, 2), 3, rng.choice([0.5, 1.0, 2.0], 14)).toarray()
    if labels == "soft":
        r[:, :2] += rng.dirichlet(np.ones(2), 14)
    log_h = rng.normal(-0.5, 0.3, (3, 3))
    prior = KernelDensity(log_h, Sample.none(3, 3), log_h - 2, log_h + 2)
    block = prior.update(prior.suffstats(x, r))
    want = np.zeros((14, 3))
    for i in range(14):
        others = np.arange(14) != i
        want[i] = prior.update(prior.suffstats(x[others], r[others])).log_predictive(x[[i]])[0]
    with jax.enable_x64(True):
        got = block.log_loo(x, r) if place == "host" else jitted(lambda b, x, r: b.log_loo(x, r))(block, x, r)
    np.testing.assert_allclose(got, want, rtol=1e-10, atol=1e-10)


def dense_average(block: KernelDensity, x: float, n: int = 6001) -> float:
    """log predictive of one cell of a block with one class and feature, on a dense grid between the limits."""
    assert block.low is not None and block.high is not None
    t = np.linspace(block.low[0, 0], block.high[0, 0], n)
    density = block._log_density(t[:, None, None])[:, 0, 0]
    log_f = block.log_likelihood({"log_bandwidth": t[:, None, None]}, np.array([[x]]))[:, 0, 0]
    weight = np.r_[0.5, np.ones(n - 2), 0.5]
    return float(logsumexp(density + log_f, b=weight) - logsumexp(density, b=weight))


@pytest.mark.parametrize("spreads", [1, 3, 6, 10])
def test_far_cells_are_averaged_where_their_integrand_is(spreads: int, rng: np.random.Generator) -> None:
    """The bandwidths that reach a far cell are improbable: beyond the range of the posterior."""
    x = rng.normal(size=(400, 1))
    log_h = np.log([[0.3]])
    block = KernelDensity(log_h, Sample.none(1, 1), log_h - 3, log_h + 4).update(Sample.of(x, np.ones((400, 1))))
    far = x.max() + spreads
    assert block.log_predictive(np.array([[far]]))[0, 0] == pytest.approx(dense_average(block, far), abs=1e-8)


# --- the posterior of the bandwidth ---------------------------------------------------------------------------------


def log_product(x: np.ndarray, h: np.ndarray) -> np.ndarray:
    """Σ_i log of the density at x_i of the kernels on all the others, one by one, at every h."""
    total = np.zeros(len(h))
    for i in range(len(x)):
        u = (x[i] - np.delete(x, i)[:, None]) / h
        total += logsumexp(-0.5 * u**2, 0) - np.log((len(x) - 1) * h * np.sqrt(2 * np.pi))
    return total


@pytest.mark.parametrize("kind", ["smooth", "rounded", "repeated"])
def test_posterior_is_the_leave_one_out_product_times_the_prior(kind: str, rng: np.random.Generator) -> None:
    x = np.repeat([0.0, 1.0], 8) if kind == "repeated" else rng.normal(size=15).round(0 if kind == "rounded" else 9)
    log_h, low, high = np.log([[0.3]]), np.log([[0.05]]), np.log([[4.0]])
    prior = KernelDensity(log_h, Sample.none(1, 1), low, high)
    posterior = prior.update(prior.suffstats(x[:, None], np.ones((len(x), 1))))
    t = np.linspace(low[0, 0], high[0, 0], 4001)
    product = log_product(x, np.exp(t))
    log_f = product - product.max() - 0.5 * (t - log_h[0, 0]) ** 2
    f = np.exp(log_f)
    cdf = np.concatenate([[0], np.cumsum((f[1:] + f[:-1]) / 2)]) * (t[1] - t[0])

    at = t[::500]
    theta = {"log_bandwidth": at[:, None, None]}
    evidence = np.log(cdf[-1] / np.sqrt(2 * np.pi) / np.diff(st.norm.cdf([low[0, 0], high[0, 0]], log_h[0, 0]))[0])
    marginal = prior.log_marginal(prior.suffstats(x[:, None], np.ones((len(x), 1))))[0, 0]
    assert marginal == pytest.approx(evidence + product.max(), abs=1e-3)  # 33 nodes, a few where the peak is an edge
    want = log_f[::500] - np.log(cdf[-1]) - at
    np.testing.assert_allclose(posterior.log_prob(theta)[:, 0, 0], want, atol=1e-3)
    assert (posterior.log_prob({"log_bandwidth": np.array([[[-3.1]], [[1.5]]])}) == -np.inf).all()

    q = np.array([0.01, 0.1, 0.5, 0.9, 0.99])
    marginals = posterior.marginals()["bandwidth"]
    at = marginals.ppf(q[:, None, None])
    np.testing.assert_allclose(np.log(at)[:, 0, 0], np.interp(q, cdf / cdf[-1], t), atol=1e-3)
    np.testing.assert_allclose(marginals.cdf(at)[:, 0, 0], q, atol=1e-12)
    mean = (f * np.exp(t)).sum() / f.sum()
    assert marginals.mean()[0, 0] == pytest.approx(mean, rel=1e-3)
    assert np.exp(posterior.mean()["log_bandwidth"])[0, 0] == pytest.approx(mean, rel=1e-3)

    assert posterior.mode()["log_bandwidth"][0, 0] == pytest.approx(t[np.argmax(log_f - t)], abs=2 * (t[1] - t[0]))
    mle = prior.mle(posterior.cells)["log_bandwidth"][0, 0]
    assert mle == pytest.approx(t[np.argmax(product)], abs=2 * (t[1] - t[0]))


def test_fractional_weights_leave_at_most_one_unit_out(rng: np.random.Generator) -> None:
    value, w = np.array([0.0, 0.7, 1.0, 2.5]), np.array([0.4, 2.6, 1.0, 1.7])
    block = KernelDensity(np.log([[0.6]]), Sample.none(1, 1))
    total = 0.0
    for i in range(4):
        left = w - np.minimum(w, 1) * (np.arange(4) == i)
        total += w[i] * np.log(left @ st.norm.pdf(value[i], value, 0.6) / left.sum())
    assert block.log_marginal(block.suffstats(value[:, None], w[:, None]))[0, 0] == pytest.approx(total, rel=1e-12)


@pytest.mark.parametrize("prior", mostly_slow(["data", "given", "given, data"], these("given", "given, data")))
@pytest.mark.slow
def test_bayes_identity_with_data_behind_the_prior_and_with_a_given_bandwidth(prior: str, x64: None) -> None:
    this = case(FAMILY)
    parts = slice(9), slice(9, None)
    first, second = (this.prior.suffstats({"x": this.x[part]}, this.r[part]) for part in parts)
    given = NaiveBayes(this.prior.classes, {"x": replace(this.block, low=None, high=None)})
    assert given.blocks["x"].parameters == ()
    start = given if "given" in prior else this.prior
    start = start.update(first) if "data" in prior else start
    end = start.update(second)
    theta = end.sample(this.rng)
    sites = end.to_sites(theta)
    assert sites.keys() == start.marginals().keys()
    joint = float(jitted(log_joint(start.model, {"x": this.x[9:]}, this.y[9:]))(sites))
    assert joint - end.log_prob(theta) == pytest.approx(start.log_marginal(second), rel=1e-9)
    short = float(jitted(log_joint(start.model_from_statistics, second))(sites))
    assert short == pytest.approx(joint, rel=1e-9)


def test_a_given_bandwidth_is_a_model_without_parameters(rng: np.random.Generator) -> None:
    this = case(FAMILY)
    block = replace(this.posterior.blocks["x"], low=None, high=None)
    for theta in (block.sample(rng), block.sample(rng, (3,)), block.mean(), block.mode(), block.mle(block.cells)):
        assert theta == {}
    assert block.marginals() == {} and not block.on_boundary()
    want = block.log_likelihood({"log_bandwidth": block.log_h}, this.x)
    assert_same(block.log_predictive(this.x), want)
    assert block.log_normalizer().shape == block.log_prob({}).shape == block.shape


def test_under_a_trace_the_rows_are_the_same_factor(x64: None) -> None:
    """Labels and rows that are traced cannot be merged; the numbers stay."""
    this = case(FAMILY)
    x = this.x.round()
    sites = cast(this.prior.to_sites(this.prior.sample(this.rng)), jnp, float)

    def joint(x: Any, y: Any) -> Any:
        return log_density(this.prior.model, ({"x": x}, y), {}, sites)[0]

    merged = jitted(log_joint(this.prior.model, {"x": x}, this.y))(sites)
    assert float(jitted(joint)(x, this.y)) == pytest.approx(float(merged), rel=1e-12)


# --- what is barely data --------------------------------------------------------------------------------------------


def barely() -> tuple[KernelDensity, np.ndarray]:
    """Class 0: three cells, class 1: one, class 2: none in feature 0; feature 1 never varies, feature 2 is empty."""
    x = np.full((5, 3), np.nan)
    x[:4, 0], x[:, 1] = [0.0, 1.0, 3.0, 5.0], 7.0
    log_h = np.zeros((3, 3))
    prior = KernelDensity(log_h, Sample.none(3, 3), log_h - 2, log_h + 2)
    return prior.update(prior.suffstats(x, one_hot(np.array([0, 0, 0, 1, 2]), 3))), prior.log_h


@pytest.mark.parametrize("place", ["host", "traced"])
def test_classes_with_one_cell_or_none(place: str) -> None:
    block, log_h = barely()
    x = np.array([[0.5, 7.0, 1.0], [2.0, 3.0, np.nan]])

    def table(block: KernelDensity, x: Any) -> Any:
        return block.log_likelihood({"log_bandwidth": log_h}, x), block.log_predictive(x), block.log_normalizer()

    with jax.enable_x64(True):
        numbers = table(block, x) if place == "host" else jax.jit(table)(*cast((block, x), jnp, float))
    likelihood, predictive, log_z = (np.asarray(number) for number in numbers)
    seven = st.norm.logpdf(x[:, 1], 7, 1)  # three times the same: the feature says nothing
    first = [st.norm.pdf(x[:, [0]], cells, 1).mean(1) for cells in ([0, 1, 3], [5], [0, 1, 3, 5])]
    np.testing.assert_allclose(likelihood, np.log(first).T + seven[:, None], rtol=1e-10)
    assert np.isfinite(predictive).all()
    prior = np.log(np.sqrt(2 * np.pi) * (2 * st.norm.cdf(2) - 1))
    told = np.zeros((3, 3), bool)
    told[0, 0] = True
    np.testing.assert_allclose(log_z[~told], prior, rtol=1e-12)  # nothing learnt about these bandwidths
    assert abs(log_z[0, 0] - prior) > 1
    x = np.column_stack([np.full(3, np.nan), [7.0, 7.5, -90.0], np.full(3, np.nan)])  # that never varies
    np.testing.assert_allclose(np.ptp(block.log_predictive(x), 1), 0, atol=1e-12)


def test_no_rows_before_data() -> None:
    this = case(FAMILY)
    np.testing.assert_array_equal(this.block.log_predictive(this.x), 0)
    with pytest.raises(ValueError, match="near its cells, and a prior has none; use source='posterior'"):
        this.block.sample_predictive(this.rng, this.y)
    with pytest.raises(ValueError, match="`x` is None"), jax.enable_x64(True):
        log_density(this.prior.model, (None, this.y), {}, this.prior.to_sites(this.prior.mean()))
    block, _ = barely()
    rows = block.sample_predictive(this.rng, np.array([0, 1, 2]))
    np.testing.assert_array_equal(np.isnan(rows), [[False, False, True]] * 3)


# --- the cells as statistics ----------------------------------------------------------------------------------------


def test_cells_are_sorted_merged_and_canonical() -> None:
    x = np.array([[2.0, np.nan], [-0.0, np.nan], [2.0, 1.0], [0.0, np.nan]])
    cells = Sample.of(x, one_hot(np.array([0, 0, 0, 1]), 2))
    want = Sample(([[0, 2], [1, np.nan]], [[0], [np.nan]]), ([[1, 2], [1, 0]], [[1], [0]]))
    assert_same(cells, jax.tree.map(np.array, want, is_leaf=lambda leaf: isinstance(leaf, list)), rtol=0, atol=0)
    assert not np.signbit(cells.value[0][0, 0])
    np.testing.assert_array_equal(cells.pooled().weight[0], [[2, 2], [1, 0]])
    assert_same(cells - cells, Sample.none(2, 2))
    np.testing.assert_array_equal((cells.zero() - cells).n.min(), -2)  # never seen: negative, not lost
    assert_same(cells + cells - cells, cells, rtol=0, atol=0)


def test_cells_under_a_trace_are_those_of_the_host(rng: np.random.Generator) -> None:
    x = rng.integers(0, 4, (12, 2)).astype(float)
    x[rng.random(x.shape) < 0.2] = np.nan
    r = rng.dirichlet(np.ones(3), 12)
    host = Sample.of(x, r) + Sample.of(x[:5], r[:5])
    with jax.enable_x64(True):
        traced = jax.jit(lambda x, r: Sample.of(x, r) + Sample.of(x[:5], r[:5]))(x, r)
    for leaf, want in zip(jax.tree.leaves(traced), jax.tree.leaves(host), strict=True):
        m, blank = want.shape[-1], np.asarray(leaf)[:, want.shape[-1] :]
        assert_same(np.asarray(leaf)[:, :m], want)
        assert (np.isnan(blank) | (blank == 0)).all()


def test_rows_at_given_bandwidths_follow_the_likelihood(rng: np.random.Generator) -> None:
    """E_p q/(p + q) = E_q p/(p + q) for the densities p, q of two draws; none of a prior, which has no cells."""
    prior = random_prior(rng, 2)
    c = prior.shape[0]
    block = prior.update(prior.suffstats(rng.normal(0, 2, (20, 2)), one_hot(np.arange(20) % c, c)))
    y = np.repeat(np.arange(c), 4000)
    theta = block.sample(rng, (2,))
    x = block.sample_rows(rng, theta, y)
    sides = []
    for s in range(2):
        log_p = block.log_likelihood(theta, x[s])[:, np.arange(len(y)), y]
        sides.append((1 / (1 + np.exp(log_p[s] - log_p[1 - s]))).reshape(c, -1))
    gap = sides[0].mean(1) - sides[1].mean(1)
    assert (abs(gap) < 4.5 * np.sqrt(sum(side.var(1) for side in sides) / 4000)).all()
    with pytest.raises(NotImplementedError, match="near its cells"):
        prior.sample_rows(rng, theta, y)
