"""Loops over counts and levels against the formulas."""

import numpy as np
import pytest
from scipy import sparse
from scipy.special import gammaln

from bayesnb import BernoulliNB, MultinomialNB, loops
from bayesnb.estimators.bernoulli import binarized
from bayesnb.families.bernoulli import BetaBernoulli
from bayesnb.families.categorical import DirichletCategorical
from bayesnb.families.multinomial import DirichletMultinomial
from bayesnb.statistics import one_hot
from bayesnb.sums.by_class import by_class
from bayesnb.sums.polya import log_coefficient, log_polya, rising_cells
from bayesnb.sums.rows import contract, matmul


@pytest.fixture
def looped(monkeypatch):
    """The same call by a loop and by the formula."""

    def both(f):
        monkeypatch.setattr(loops, "WORTH", 1)
        loop = f()
        monkeypatch.setattr(loops, "WORTH", 1 << 60)
        return loop, f()

    return both


def weights(rng, n, kind):
    return {"units": None, "random": rng.random(n), "zeros": rng.integers(0, 2, n), "huge": rng.random(n) * 1e8}[kind]


@pytest.mark.parametrize("kind", ["units", "random", "zeros", "huge"])
@pytest.mark.parametrize(("n", "d", "c"), [(1, 1, 1), (300, 7, 5), (20, 3, 10_000), (3, 100_000, 2)])
@pytest.mark.parametrize("form", ["float64", "float32", "int64", "uint8", "csr", "csc"])
def test_sums_by_class(form, n, d, c, kind, rng, looped):
    x = rng.integers(0, 5, (n, d)) * (rng.random((n, d)) < 0.5)
    rows = getattr(sparse, f"{form}_array")(x.astype(float)) if form.startswith("cs") else x.astype(form)
    r = one_hot(rng.integers(c, size=n), c, weights(rng, n, kind))
    loop, formula = looped(lambda: by_class(r, rows))
    np.testing.assert_allclose(loop, formula, rtol=1e-13)


@pytest.mark.parametrize("dtype", ["int64", "float64", "int8"])
@pytest.mark.parametrize(("n", "d", "c", "levels"), [(1, 1, 1, 1), (300, 7, 5, 12), (20, 3, 10_000, 2), (50, 9, 19, 3)])
def test_levels(n, d, c, levels, dtype, rng, looped):
    x = rng.integers(-1, levels + 1, (n, d)).astype(dtype)  # codes of no level are missing
    if dtype == "float64":
        x[rng.random((n, d)) < 0.1] = np.nan
    r = one_hot(rng.integers(c, size=n), c, rng.random(n))
    prior = DirichletCategorical(rng.random((c, d, levels)) + 0.5)
    loop, formula = looped(lambda: prior.suffstats(x, r))
    np.testing.assert_allclose(loop.n, formula.n, rtol=1e-13)
    loop, formula = looped(lambda: prior.log_predictive(x))
    np.testing.assert_allclose(loop, formula, rtol=1e-13)


@pytest.mark.parametrize("missing", [0.0, 0.1, 1.0])
@pytest.mark.parametrize(("n", "d", "c"), [(1, 1, 1), (300, 37, 5), (20, 3, 1000), (3, 10_000, 2)])
def test_yes_and_no(n, d, c, missing, rng, looped):
    raw = rng.normal(size=(n, d))
    raw[rng.random((n, d)) < missing] = np.nan
    raw[0, 0] = 5e-324
    r = one_hot(rng.integers(c, size=n), c, rng.random(n))
    prior = BetaBernoulli(rng.random((c, d)) + 0.5, rng.random((c, d)) + 0.5)
    rows, formula = looped(lambda: binarized(BernoulliNB(), raw, 0.0))
    np.testing.assert_array_equal(rows, formula)
    assert rows.dtype == (np.float64 if np.isnan(raw).any() else np.uint8)
    loop, formula = looped(lambda: prior.suffstats(rows, r).n)
    np.testing.assert_allclose(loop, formula, rtol=1e-13, atol=1e-12)
    loop, formula = looped(lambda: prior.log_predictive(rows))
    np.testing.assert_allclose(loop, formula, rtol=1e-13)


@pytest.mark.parametrize("cell", [np.inf, -np.inf])
@pytest.mark.parametrize("other", [0.0, np.nan])
@pytest.mark.parametrize("worth", [1, 1 << 60])
def test_an_infinite_cell_is_found(cell, other, worth, monkeypatch):
    monkeypatch.setattr(loops, "WORTH", worth)
    with pytest.raises(ValueError, match="infinity"):
        binarized(BernoulliNB(), np.array([[1.0, other], [cell, 2.0]]), 0.0)


@pytest.mark.parametrize("c", [1, 2, 3, 8, 20])
@pytest.mark.parametrize("most", [1, 2, 40, 500])
def test_products_and_rising_factorials(c, most, rng, looped):
    x = sparse.csr_array(rng.poisson(rng.gamma(0.3, most, (200, 30))).astype(float))
    x.data[:3] = 0  # stored, and 0
    w, alpha = rng.normal(size=(c, 30)), rng.gamma(1, size=(c, 30)) + 1e-6
    loop, formula = looped(lambda: matmul(x, w))
    np.testing.assert_allclose(loop, formula, rtol=1e-13, atol=1e-12)
    r = rng.random((200, c)) * (rng.random((200, c)) < 0.5)
    for w in (None, r, sparse.csr_array(r)):
        whole = alpha if w is None else alpha + r.T @ x
        loop, formula = looped(lambda w=w, whole=whole: log_polya(x, whole, w))
        np.testing.assert_allclose(loop, formula, rtol=1e-12, atol=1e-12)
    exact = gammaln(x.sum(1) + 1) - gammaln(x.toarray() + 1).sum(1)
    np.testing.assert_allclose(log_coefficient(x), exact, rtol=1e-12, atol=1e-10)


@pytest.mark.parametrize("form", ["float64", "float32", "int64", "csr"])
@pytest.mark.parametrize("odd", [None, 0.5, 2000.0])
def test_events_and_their_coefficients(form, odd, rng, looped):
    x = rng.poisson(rng.gamma(0.3, 9, (200, 30))).astype(float)
    if odd is not None and (form, odd) != ("int64", 0.5):
        x[3, 4] = odd
    rows = sparse.csr_array(x) if form == "csr" else x.astype(form)
    r, prior = one_hot(rng.integers(7, size=200), 9, rng.random(200)), DirichletMultinomial(np.ones((9, 30)))
    loop, formula = looped(lambda: prior.suffstats(rows, r))
    np.testing.assert_allclose(loop.n, formula.n, rtol=1e-13)
    np.testing.assert_allclose(loop.log_h, formula.log_h, rtol=1e-12 if form != "float32" else 1e-6)
    assert not loop.n[7:].any() and not loop.log_h[7:].any()


@pytest.mark.parametrize("odd", [1e-3, 0.5, 64.0, 65.0, 3000.0, 1e6])
@pytest.mark.parametrize("form", ["csr", "float64", "float32", "int64"])
@pytest.mark.parametrize("left", [False, True])
def test_any_count_takes_the_loop(left, form, odd, rng, looped):
    """Fractions and large counts among the others, also where most of the concentration is the row's own."""
    x = rng.integers(0, 3, (50, 9)).astype(float)
    x[7, 3] = np.floor(odd) if form == "int64" else odd
    rows = sparse.csr_array(x) if form == "csr" else x.astype(form)
    r = one_hot(rng.integers(3, size=50), 3, rng.random(50) + 0.1).toarray() if left else None
    alpha = 10 ** rng.uniform(-8, 8, (3, 9)) + (r.T @ x if left else 0)
    loop, formula = looped(lambda: log_polya(rows, alpha, r))
    np.testing.assert_allclose(loop, formula, rtol=1e-12, atol=4e-16 * 20 * odd + 1e-9 * left + 1e-12)
    if not left:
        want = (gammaln(alpha + x[:, None]) - gammaln(alpha)).sum(-1)
        want -= gammaln(alpha.sum(1) + x.sum(1)[:, None]) - gammaln(alpha.sum(1))
        np.testing.assert_allclose(loop, want, rtol=1e-6, atol=1e-5)


def test_rising_factorials_of_many_cells(rng, looped):
    a, x = 10 ** rng.uniform(-17, 17, 5000), 10 ** rng.uniform(-8, 8, 5000)
    loop, formula = looped(lambda: rising_cells(a, x))
    np.testing.assert_allclose(loop, formula, rtol=4e-15, atol=1e-14)


def test_dense_products_leave_missing_cells_out(rng, looped):
    x, slope, level = rng.normal(size=(90, 20)), rng.normal(size=(4, 20)), rng.normal(size=(4, 20))
    x[rng.random(x.shape) < 0.2] = np.nan
    x[5] = np.nan
    loop, formula = looped(lambda: contract(x, slope, level))
    np.testing.assert_allclose(loop, formula, rtol=1e-13, atol=1e-12)
    np.testing.assert_array_equal(loop[5], 0)


@pytest.mark.parametrize("bad", [-1.0, np.nan, np.inf, 2e300])
@pytest.mark.parametrize("form", ["dense", "csr"])
def test_counts_that_a_loop_has_not_seen_to_be_whole_are_refused_as_others(form, bad, rng, looped):
    x = rng.poisson(1.0, (40, 3)).astype(float)
    x[39, 2] = bad
    rows = sparse.csr_array(x) if form == "csr" else x

    def message():
        with pytest.raises(ValueError, match="X") as caught:
            MultinomialNB().fit(rows, np.arange(40) % 2)
        return str(caught.value)

    loop, formula = looped(message)
    assert loop == formula
