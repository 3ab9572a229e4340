"""Sums over the columns of rows: looked-up cells against those computed one by one."""

import numpy as np
import pytest
from scipy import sparse
from scipy.special import gammaln

from bayesnb.sums.events import log_factorial, log_rising_cells
from bayesnb.sums.rows import distinct, map_cells, matmul


@pytest.mark.parametrize("top", [1, 7, 8, 9, 31, 32, 33, 90])
def test_rising_factorials_of_whole_counts_as_products(rng, top):
    """Against a difference of log gammas, with counts up to and beyond those that are multiplied out."""
    x = rng.integers(0, top + 1, (40, 3)).astype(float)
    x[0] = top
    a = 10 ** rng.uniform(-2, 4, 3)
    want = gammaln(a + x) - gammaln(a)
    np.testing.assert_allclose(log_rising_cells(a, x), want, rtol=1e-11, atol=1e-10)
    np.testing.assert_allclose(log_rising_cells(a, x + 0.5), gammaln(a + x + 0.5) - gammaln(a), rtol=1e-11, atol=1e-10)
    np.testing.assert_allclose(log_rising_cells(1e60 * a, x), x * np.log(1e60 * a), rtol=1e-12)


def test_log_factorials_of_many_counts(rng):
    """Whole numbers in either type, some beyond the table, and fractions."""
    count = rng.integers(0, 2000, 5000)
    for x in (count, count + 0.0, count + 0.5):
        np.testing.assert_allclose(log_factorial(x), gammaln(x + 1.0), rtol=1e-14)
    thin = map_cells(sparse.csr_array(count.reshape(50, 100)), log_factorial)
    np.testing.assert_allclose(thin.toarray(), gammaln(count + 1.0).reshape(50, 100), rtol=1e-14)


@pytest.mark.parametrize("c", [1, 2, 3, 4])
def test_sparse_product_with_few_columns(rng, c):
    x, weights = rng.poisson(0.5, (20, 7)) + 0.0, rng.normal(size=(c, 7))
    np.testing.assert_allclose(matmul(sparse.csr_array(x), weights), x @ weights.T, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("size", [5, 40, 1 << 20])  # all there, some, and so few that they are sorted
def test_keys_are_found_in_order_however_many_there_could_be(size, rng):
    key = rng.integers(min(size, 1000), size=40)
    here, place = distinct(key, size)
    assert here.tolist() == sorted(set(key.tolist()))
    np.testing.assert_array_equal(here[place], key)
