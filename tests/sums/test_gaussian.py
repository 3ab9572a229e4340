"""Sums over normal and Student densities, moments and kernels: loops and formulas against SciPy."""

import mpmath as mp
import numpy as np
import pytest
import scipy.stats as st
from scipy import sparse
from scipy.special import polygamma

from bayesnb.families import BetaBernoulli, KnownVarianceNormal, NormalInverseGamma
from bayesnb.sums import kernels
from bayesnb.sums.statistics import Moments, one_hot
from bayesnb.sums.tables import log_normal_sum, sum_of_logs, sum_of_own

from .test_counts import form as form

C, D = 3, 37  # one product of 24 factors and a rest


def student(x, df, loc, scale):
    """Σ_j log t, in the terms of `sum_of_logs`."""
    level = st.t(df, loc, scale).logpdf(loc)
    return sum_of_logs(x, loc, 1 / (np.sqrt(df) * scale), -0.5 * (df + 1), level)


@pytest.mark.parametrize("far", [0.0, 1e6])
@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("df", ["equal", "by class", "single", "firm"])
def test_student(df, missing, far, form):
    rng = np.random.default_rng(1)
    loc, scale = rng.normal(size=(C, D)) + 2, rng.gamma(3, size=(C, D))
    freedom = {
        "equal": np.full((C, D), 50.0),
        "by class": np.tile(rng.gamma(9, size=(C, 1)) * 10, D),
        "single": 30 + rng.random((C, D)),
        "firm": 3e6 + rng.random((C, D)),
    }[df]
    x = rng.normal(size=(150, D)) * 3 + 2
    x[:3] += far
    x[rng.random(x.shape) < missing] = np.nan
    cells = st.t(freedom, loc, scale).logpdf(x[:, None])
    found = student(x, freedom, loc, scale)
    assert (abs(found - np.nansum(cells, -1)) <= 1e-13 * np.nansum(abs(cells), -1)).all()
    if not missing:
        own = x[:, None] * (rng.random((150, 1, D)) < 0.3)
        dense = st.t(freedom, loc, scale).logpdf(own).sum(-1)
        np.testing.assert_allclose(student(sparse.csr_array(own[:, 0]), freedom, loc, scale), dense, rtol=1e-11)


def test_cells_whose_squares_multiply_beyond_the_largest_float(form):
    """Such as the fill values of netCDF; farther than 1e154 spreads a density is 0, which is never taken for 1."""
    x, df, one = np.zeros((200, D)), np.full((C, D), 50.0), np.ones((C, D))
    x[5, :5], x[7, 0] = 9.969e36, 1e160
    with np.errstate(over="ignore"):
        for rows in (x, sparse.csr_array(x)):
            found = student(rows, df, 0 * one, one)[[0, 5, 7]]
            np.testing.assert_allclose(found[:2, 0], st.t(50).logpdf(x[[0, 5]]).sum(1), rtol=1e-13)
            assert (found[2] == -np.inf).all()
        far = kernels.log_density(np.array([1e155, -1e155]), np.arange(3.0), np.ones(3), np.zeros(1), np.zeros(2))
    assert (far < -1e300).all()


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
def test_normal(dtype, form):
    """Also of any type and layout of the rows, and sparse."""
    rng = np.random.default_rng(3)
    x = np.repeat(rng.integers(-9, 9, size=(80, 50)), 2, axis=0).astype(dtype)
    loc, scale = rng.normal(size=(C, 50)), rng.gamma(3, size=(C, 50))
    want = st.norm(loc, scale).logpdf(x[:, None].astype(float)).sum(-1)
    for rows, these in ((x, want), (np.asfortranarray(x), want), (x[::2], want[::2])):
        np.testing.assert_allclose(log_normal_sum(rows, loc, scale), these, rtol=1e-12)
    np.testing.assert_allclose(log_normal_sum(sparse.csr_array(x.astype(float)), loc, scale), want, rtol=1e-11)
    if x.dtype.kind == "f":
        holes = np.where(rng.random(x.shape) < 0.1, np.nan, x)
        cells = st.norm(loc, scale).logpdf(holes[:, None].astype(float))
        np.testing.assert_allclose(log_normal_sum(holes, loc, scale), np.nansum(cells, -1), rtol=1e-12)
    draws = loc + rng.normal(size=(4, 1, 50))
    each = [log_normal_sum(x * 1.0, mu, scale) for mu in draws]
    np.testing.assert_allclose(log_normal_sum(x * 1.0, draws, scale), each, rtol=1e-12)


@pytest.mark.parametrize("spreads", [1e2, 1e4, 1e6])
@pytest.mark.parametrize("family", ["known variance", "variance learnt"])
def test_sparse_rows_of_columns_far_from_zero(family, spreads, form):
    """An empty cell has a density of e^(−10¹²) there: it must leave no rounding in rows in which the cell is stored."""
    rng = np.random.default_rng(4)
    full = np.ones((2, 5))
    centre = spreads + rng.normal(size=full.shape)
    centre[:, 0] = rng.normal(size=2)  # a column that may be empty
    if family == "known variance":
        block = KnownVarianceNormal(centre, 9 * full, full, 0 * full)
    else:
        block = NormalInverseGamma(centre, 9 * full, 9 * full, 9 * full)
    x = centre[0] + rng.normal(size=(400, 5))
    x[::2, 0] = 0
    x[:20, 1:3] = 0
    thin, theta = sparse.csr_array(x), block.mean()
    draws = {name: np.stack([value, value + 0.1]) for name, value in theta.items()}
    pairs = {
        "predictive": (block.log_predictive(thin), block.log_predictive(x)),
        "likelihood": (block.log_likelihood(theta, thin), block.log_likelihood(theta, x)),
        "draws": (block.log_likelihood(draws, thin), block.log_likelihood(draws, x)),
        "mean": (block.log_cumulants(thin)[0], block.log_cumulants(x)[0]),
        "variance": (block.log_cumulants(thin)[1], block.log_cumulants(x)[1]),
        "third": (block.log_cumulants(thin)[2], block.log_cumulants(x)[2]),
        "left out": (block.log_loo_of_every_class(thin[20:], 1.0), block.log_loo_of_every_class(x[20:], 1.0)),
    }
    for name, (got, want) in pairs.items():
        np.testing.assert_allclose(got[..., 20:, :], want[..., 20:, :], 1e-11, 1e-11, err_msg=name)
        np.testing.assert_allclose(got, want, 1e-11, err_msg=name)
    large = np.exp(block.log_predictive(thin)[20:, 0] - block.log_predictive(thin)[20:, 1])
    np.testing.assert_allclose(large, np.exp(np.subtract(*block.log_predictive(x)[20:].T)), 1e-11)


def test_variance_of_certain_cells_with_tiny_pseudo_counts():
    """A cell that a class never had has the variance 1/α² = 10⁸ of its log density: it leaves no rounding in others."""
    hits = np.array([[50.0, 50.0], [49.0, 20.0]])
    misses = np.array([[1e-4, 1e-4], [1.0, 30.0]])
    x = np.array([[1.0, 1.0], [1.0, 0.0]] * 20)
    block = BetaBernoulli(hits, misses)
    for order in (1, 2):  # the cumulants of log θ and of log(1 − θ) after the mean: ψ⁽ᵏ⁾(a) − ψ⁽ᵏ⁾(a + b)
        ones, zeros = polygamma(order, hits), polygamma(order, misses)
        want = (np.where(x[:, None] == 1, ones, zeros) - polygamma(order, hits + misses)).sum(-1)
        for rows in (x, sparse.csr_array(x)):
            got = block.log_cumulants(rows)[order]
            np.testing.assert_allclose(got[::2], want[::2], 1e-10, 1e-13)
            np.testing.assert_allclose(got, want, 1e-10)


def test_products_of_many_far_features(form):
    """Products of 24 factors: with cells 1e6 spreads away (1e12)^26 would be infinite."""
    x, one = np.full((200, 400), 1e6), np.ones((1, 400))
    np.testing.assert_allclose(student(x, one, 0 * one, one), 400 * st.t(1).logpdf(1e6), rtol=1e-13)


@pytest.mark.parametrize("small", [False, True])  # where the series serves, and where it does not
def test_a_row_leaves_its_own_class(small, form, rng):
    x, at, y = rng.normal(size=(60, 20)), np.arange(50) + 3, rng.integers(3, size=50)
    x[rng.random(x.shape) < 0.1] = np.nan
    loc, slope = rng.normal(size=(3, 20)), rng.random((3, 20)) * (1e-3 if small else 0.1)
    weight, level = rng.normal(size=(3, 20)) * 1e3, rng.normal(size=(3, 20))
    v = ((x[at] - loc[y]) * slope[y]) ** 2
    for known, term in ((True, np.log1p(-v)), (False, -v)):
        want = np.nansum(level[y] + weight[y] * term, 1)
        np.testing.assert_allclose(sum_of_own(x, at, y, (loc, slope, weight, level), known), want, rtol=1e-10)
    far = np.where(np.arange(20) == 4, 1e6, x)
    assert np.isnan(sum_of_own(far, at, y, (loc, slope, weight, level), True)).any()


# --- moments ----------------------------------------------------------------------------------------------------------

MOMENTS = {
    "large offset": lambda rng, z: 1e6 + z,
    "drifting": lambda rng, z: z + np.linspace(0, 1e4, len(z))[:, None],
    "last row far": lambda rng, z: np.vstack([z[:-1], z[-1:] + 1e6]),
    "gaps": lambda rng, z: np.where(rng.random(z.shape) < 0.3, np.nan, 5 + z),
    "no cell at all": lambda rng, z: np.full(z.shape, np.nan),
    "whole": lambda rng, z: np.round(z).astype(np.int64),
    "float32": lambda rng, z: (1000 + z).astype(np.float32),
    "sparse": lambda rng, z: sparse.csr_array(np.where(rng.random(z.shape) < 0.3, z, 0)),
}


@pytest.mark.parametrize("kind", MOMENTS)
def test_moments(kind, form, rng):
    y, w = rng.integers(4, size=600), rng.choice([0.0, 0.3, 1.0, 2.5], 600)
    y[y == 3] = 4  # no row of class 3
    x = MOMENTS[kind](rng, rng.normal(size=(600, 6)))
    dense = x.toarray() if kind == "sparse" else x.astype(float)
    share = rng.random((600, 1))
    for r in (one_hot(y, 5, w), sparse.csr_array(share * np.eye(5)[y] + (1 - share) * np.eye(5)[0])):
        found, weight = Moments.of(x, r), r.toarray()
        for k in range(5):
            seen = weight[:, [k]] * ~np.isnan(dense)
            n = seen.sum(0)
            mean = np.nansum(seen * dense, 0) / np.where(n > 0, n, 1)
            ss = np.nansum(seen * (dense - mean) ** 2, 0)
            size = 1e-9 if kind == "float32" and form == "formula" else 1e-12
            np.testing.assert_allclose(found.n[k], n, rtol=1e-12)
            spread = np.sqrt(ss / np.where(n > 0, n, 1))
            assert (abs(found.mean[k] - mean) <= 1e4 * size * spread + size * abs(mean)).all()
            np.testing.assert_allclose(found.ss[k], ss, rtol=1e5 * size, atol=1e-12)


# --- kernels ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["plain", "weights", "outliers", "one"])
def test_kernel_densities(kind, form):
    """New values, and cells that leave in part or as a whole."""
    rng = np.random.default_rng(1)
    value, weight = np.sort(rng.normal(size=70)), np.ones(70)
    if kind == "weights":
        weight = rng.choice([1e-8, 0.3, 1.0, 1.7, 1e8], 70)
    elif kind == "outliers":
        value = np.sort(np.append(value[:-4], [-1e6, 1e3, 1e3 + 0.1, 1e5]))
    elif kind == "one":
        value, weight = value[:1], 2.5 * weight[:1]
    t = np.log(0.3) + np.linspace(-2, 2, 5)
    u = np.sort(np.concatenate([value, value[0] + np.ptp(value) * np.linspace(-2, 3, 40), value[0] + [-1e5, 1e5]]))
    place = np.minimum(np.searchsorted(value, u), len(value) - 1)
    own = value[place] == u
    w = np.where(own, weight[place] * rng.choice([0.0, 0.2, 0.5, 1.0], len(u)), 0)
    with np.errstate(all="raise", under="ignore"):
        found = kernels.log_density(u, value, weight, t, w)
    for i in range(len(u)):
        left = weight - w[i] * (np.arange(len(value)) == place[i]) * own[i]
        left = np.where(left > 1e-12 * weight, left, 0)
        if not left.any():
            np.testing.assert_array_equal(found[:, i], 0)
            continue
        terms = np.log(np.where(left > 0, left, 1)) + np.where(left > 0, 0, -np.inf)
        terms = terms + st.norm(value, np.exp(t)[:, None]).logpdf(u[i])
        want = np.logaddexp.reduce(terms, 1) - np.log(left.sum())
        np.testing.assert_allclose(found[:, i], want, rtol=1e-10, atol=1e-9)


# --- the functions of the loops ---------------------------------------------------------------------------------------


def test_logarithm_and_exponential_of_the_loops():
    """Within 2 ε of log(1 + v) to fifty digits, and within 1 ulp of e^x."""
    from bayesnb.sums._compiled import exp, log1p

    v = np.concatenate([np.geomspace(1e-300, 1e300, 400), -np.geomspace(1e-300, 0.99, 100), [np.sqrt(2) - 1, 1.0, 0.5]])
    with mp.workdps(50):
        exact = [float(mp.log1p(mp.mpf(float(one)))) for one in v]
    np.testing.assert_allclose([log1p(one) for one in v], exact, rtol=4.5e-16)
    assert log1p(0.0) == 0 and np.isnan(log1p(np.nan))
    x = -np.concatenate([np.geomspace(1e-300, 700, 400), [0.0]])
    np.testing.assert_allclose([exp(one) for one in x], np.exp(x), rtol=2.3e-16)
    assert exp(-1e300) < 1e-300 and exp(5.0) == 1
