"""Sums of counts and levels: loops, formulas and dense NumPy say the same."""

import tracemalloc

import numpy as np
import pytest
from scipy import sparse
from scipy.special import gammaln

from bayesnb import CategoricalNB
from bayesnb.sums import rows as loops
from bayesnb.sums.rows import (
    binarize,
    by_class,
    contract,
    levels_by_class,
    map_cells,
    matmul,
    subtract_weight,
    sum_over_cells_of,
)
from bayesnb.sums.statistics import one_hot
from bayesnb.sums.tables import log_coefficient, log_factorial, log_polya, look_up, n_levels

SHAPES = [(1, 1, 1), (300, 7, 5), (3, 2000, 2), (20, 3, 1000)]  # rows, columns, classes


@pytest.fixture(params=["loop", "formula"])
def form(request, monkeypatch):
    monkeypatch.setattr(loops, "WORTH", 1 if request.param == "loop" else 1 << 60)
    return request.param


@pytest.mark.parametrize(("n", "d", "c"), SHAPES)
def test_sums_by_class(n, d, c, form, rng):
    x = rng.integers(0, 5, (n, d)) * (rng.random((n, d)) < 0.5)
    y, w = rng.integers(c, size=n), rng.integers(0, 3, n) * rng.random(n)
    want = np.eye(c)[y].T @ (w[:, None] * x)
    r = one_hot(y, c, w)
    for rows in (x, x * 1.0, x.astype("float32"), x.astype("uint8"), sparse.csr_array(x * 1.0), sparse.csc_array(x)):
        np.testing.assert_allclose(by_class(r, rows), want, rtol=1e-13)
    soft = rng.random((n, c))
    np.testing.assert_allclose(by_class(soft, x), soft.T @ x, rtol=1e-13)


@pytest.mark.parametrize(("n", "d", "c"), SHAPES)
def test_levels(n, d, c, form, rng):
    """Codes outside of the levels and NaN are no level."""
    k = 3
    x = rng.integers(-1, k + 1, (n, d)) * 1.0
    x[rng.random((n, d)) < 0.1] = np.nan
    here = x[..., None] == np.arange(k)
    y, tables = rng.integers(c, size=n), rng.normal(size=(c, d, k))
    r = one_hot(y, c, rng.random(n))
    thin = sparse.csr_array(np.where(x > 0, x, 0))
    dense = thin.toarray()
    for weights in (r, r.toarray(), rng.random((n, c)) if c < 9 else r):
        full = weights.toarray() if sparse.issparse(weights) else weights
        np.testing.assert_allclose(levels_by_class(weights, x, k), np.einsum("nc,ndk->cdk", full, here), rtol=1e-12)
        count = np.einsum("nc,ndk->cdk", full, dense[..., None] == np.arange(k))
        np.testing.assert_allclose(levels_by_class(weights, thin, k), count, rtol=1e-12, atol=1e-12)
    want = np.einsum("ndk,cdk->nc", here, tables)
    np.testing.assert_allclose(look_up(x, tables), want, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(look_up(thin, tables), look_up(dense, tables), rtol=1e-12, atol=1e-12)
    lacking = np.where(np.arange(k) == k - 1, -np.inf, tables)  # of a level that these rows do not have
    assert np.isfinite(look_up(np.minimum(dense, k - 2), lacking)).all()


def test_a_small_weight_of_empty_cells(form):
    """One row of weight .01 has an empty cell beside rows of 1e8: its weight is summed, a difference would lose it."""
    y = np.array([0, 0, 0, 1, 1])
    x = np.array([[1, 2], [1, 1], [0, 0], [1, 0], [2, 1.0]])
    w = np.array([1e8, 3.0, 0.01, 1.0, 1.0])
    sparse_model = CategoricalNB().fit(sparse.csr_array(x), y, w)
    dense_model = CategoricalNB().fit(x, y, w)
    np.testing.assert_allclose(sparse_model.predict_log_proba(x), dense_model.predict_log_proba(x), rtol=1e-12)
    table = levels_by_class(one_hot(y, 2, w), sparse.csr_array(x), 3)
    assert table[0, :, 0].tolist() == [0.01, 0.01]


def test_cells_above_a_threshold(form, rng):
    x = rng.normal(size=(50, 7))
    for rows in (x, x.T, x.astype("float32"), rng.integers(-2, 3, (9, 4))):
        table, finite = binarize(rows, 0.25)
        assert table.dtype == np.uint8 and finite
        np.testing.assert_array_equal(table, rows > 0.25)
    for odd in (np.nan, np.inf, -np.inf):
        x[3, 2] = odd
        table, finite = binarize(x, 0.25)
        assert not finite and table.sum() == (x > 0.25).sum()


@pytest.mark.parametrize(("dtype", "noise"), [("float64", 1e-13), ("float32", 1e-6)])
def test_what_is_left_of_a_weight(dtype, noise):
    """Nothing where the difference is rounding."""
    left = subtract_weight(np.ones(2, dtype), (1 - np.array([noise, 1e3 * noise])).astype(dtype))
    assert left[0] == 0 < left[1]


def test_log_coefficients(form, rng):
    """Whole counts, large ones and others; rows without an event have one order."""
    x = rng.poisson(2.0, (40, 6)) * 1.0
    x[0], x[1, 2], x[2, 3], x[3] = 0, 0.5, 5000, 1e6 + 0.25
    want = gammaln(x.sum(1) + 1) - gammaln(x + 1).sum(1)
    for rows in (x, sparse.csr_array(x), sparse.csc_array(x)):
        np.testing.assert_allclose(log_coefficient(rows), want, rtol=1e-13, atol=1e-12)


def test_how_many_levels_are_tabulated():
    x = np.tile([0.0, 1.0, 5.0, np.nan], (100, 1))
    assert n_levels(x, 8) == 8 and n_levels(x == 1, 8) == 2 and n_levels(sparse.csr_array(np.nan_to_num(x)), 8) == 8
    assert n_levels(x + 0.5, 8) == n_levels(-x, 8) == n_levels(x * 13, 8) == 0
    assert n_levels(x, 1 << 20) == n_levels(x[:7], 8) == 0  # larger than it is worth
    assert n_levels(x[:1] == 1, 8) == 2  # made once, also for rows that come one by one


@pytest.mark.parametrize("c", [1, 2, 3, 9])
def test_products(c, form, rng):
    """Of sparse rows, of bytes, and of dense rows whose missing cells are left out."""
    x, slope, level = rng.poisson(0.5, (90, 21)) * 1.0, rng.normal(size=(2, c, 21)), rng.normal(size=(2, c, 21))
    want = np.einsum("nd,scd->snc", x, slope)
    for rows in (x, np.asfortranarray(x.astype("uint8")), sparse.csr_array(x), sparse.coo_array(x)):
        np.testing.assert_allclose(matmul(rows, slope), want, rtol=1e-13, atol=1e-12)
        np.testing.assert_allclose(contract(rows, slope, level), want + level.sum(-1)[:, None], rtol=1e-12, atol=1e-12)
    x[rng.random(x.shape) < 0.2] = np.nan
    x[5] = np.nan
    found = contract(x, slope[0], level[0])
    terms = x[:, None] * slope[0] + level[0]
    np.testing.assert_allclose(found, np.nansum(terms, -1), rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(found[5], 0)


@pytest.mark.parametrize("odd", [None, 0.5, 64.0, 65.0, 3000.0, 1e6])
def test_rising_factorials(odd, form, rng):
    """Σ_j log α_j^(x_j) − log A^(L), whole or with a row's share taken out, for any count."""
    x, alpha = rng.poisson(rng.gamma(0.3, 9, (60, 9))) * 1.0, 10 ** rng.uniform(-8, 8, (3, 9))
    x[3, 4] = x[3, 4] if odd is None else odd
    r = rng.random((60, 3)) * (rng.random((60, 3)) < 0.7)

    def direct(alpha):
        cells = (gammaln(alpha + x[:, None]) - gammaln(alpha)).sum(-1)
        return cells - gammaln(alpha.sum(-1) + x.sum(1)[:, None]) + gammaln(alpha.sum(-1))

    for rows in (x, x.astype(int) if odd != 0.5 else x, sparse.csr_array(x), sparse.csc_array(x)):
        np.testing.assert_allclose(log_polya(rows, alpha), direct(alpha), rtol=1e-6, atol=1e-5)
        for w in (r, sparse.csr_array(r)):
            left = log_polya(rows, alpha + r.T @ x, w)
            np.testing.assert_allclose(left[0], log_polya(rows, alpha + r[1:].T @ x[1:])[0], rtol=1e-9)
    if form == "loop":
        for w in (None, r):
            table = log_polya(x, alpha + r.T @ x, w)
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(loops, "WORTH", 1 << 60)
                np.testing.assert_allclose(table, log_polya(x, alpha + r.T @ x, w), rtol=1e-12, atol=1e-11)


@pytest.mark.parametrize("alpha", [1e-40, 1e-10, 1.0, 1e20, 1e40])
def test_rising_factorials_of_pseudo_counts_of_any_size(alpha, form, rng):
    """Sixteen of which multiply beyond the floats: α^(x) is α (x − 1)! if α is small, and αˣ if it is large."""
    x, fields = rng.integers(0, 3, (50, 40)) * 1.0, np.full((2, 40), alpha)
    wanted = gammaln(fields[0] + x).sum(1) - gammaln(alpha) * 40 - gammaln(40 * alpha + x.sum(1)) + gammaln(40 * alpha)
    if alpha > 1:
        wanted = -x.sum(1) * np.log(40)
    np.testing.assert_allclose(log_polya(x, fields), np.tile(wanted[:, None], 2), rtol=1e-12)


def test_bytes_do_not_wrap(form):
    x = np.array([[255, 1, 3]], np.uint8)
    np.testing.assert_allclose(log_factorial(x), gammaln(x + 1.0), rtol=1e-14)
    np.testing.assert_allclose(log_coefficient(x), log_coefficient(x * 1.0), rtol=1e-14)


def test_factorials(rng):
    """Whole numbers in either type, some beyond the table, and fractions."""
    count = rng.integers(0, 2000, 5000)
    for x in (count, count + 0.0, count + 0.5, count % 1024, count % 1024 - 0.5):
        np.testing.assert_allclose(log_factorial(x), gammaln(x + 1.0), rtol=1e-14)
    thin = sparse.csr_array(count.reshape(50, 100))
    np.testing.assert_allclose(map_cells(thin, np.sqrt).toarray(), np.sqrt(thin.toarray()))


@pytest.mark.parametrize("weighted", [False, True])
def test_any_formula_of_sparse_rows(weighted, rng):
    """What empty cells add and stored cells change."""
    x, fields = rng.poisson(0.3, (300, 8)) / 3, (rng.normal(size=(3, 8)), rng.gamma(2.0, size=(3, 8)))
    w = rng.random((300, 3)) if weighted else 1.0

    def f(x, w, a, b):
        return w * (a * np.sqrt(x) + b * x) + b * (not weighted)

    want, here = sum_over_cells_of(f, x, w, fields), w[7, 2] if weighted else w
    np.testing.assert_allclose(want[7, 2], f(x[7], here, fields[0][2], fields[1][2]).sum())
    np.testing.assert_allclose(sum_over_cells_of(f, sparse.csr_array(x), w, fields), want, rtol=1e-12)


def test_memory_of_stored_cells_follows_the_rows_and_not_the_columns(rng):
    """Dense, the rows would take 160 MB; all terms of the stored cells at once 80 MB."""
    rows, fields = sparse.random_array((1000, 20_000), density=0.1, format="csr", rng=rng), (np.ones((2, 20_000)),) * 2
    tracemalloc.start()
    try:
        sum_over_cells_of(lambda x, w, a, b: a * np.log1p(x * x * b), rows, 1.0, fields)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 10e6
