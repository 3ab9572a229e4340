"""Sums over the columns of rows: looked-up cells against those computed one by one."""

import numpy as np
import pytest
from scipy import sparse
from scipy.special import gammaln

from bayesnb.sums.polya import log_factorial
from bayesnb.sums.rows import distinct, map_cells, matmul


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
