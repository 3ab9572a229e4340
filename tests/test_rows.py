"""Sums over the columns of rows: folded logarithms against logarithms one by one."""

import numpy as np
import pytest

from bayesnb._rows import sum_log1p, sum_log1p_square


@pytest.mark.parametrize("d", [1, 2, 7, 8, 31, 50])
@pytest.mark.parametrize("size", [1e-30, 1e-9, 1.0, 1e30, 1e100])
def test_folded_logarithms_lose_no_digits(rng, d, size):
    """Eight columns of one logarithm: products of positive terms err by some ten roundings, relative to the sum."""
    u = size * rng.normal(size=(20, d))
    for weights in (np.full(d, 3.5), rng.choice([1e10, 2.0], d), rng.random(d)):
        with np.errstate(over="ignore"):
            want = np.log1p(np.square(u.astype(np.longdouble))) @ weights
        np.testing.assert_allclose(sum_log1p_square(u, weights), want.astype(float), rtol=1e-14)
        if size < 1e100:
            np.testing.assert_allclose(sum_log1p(u * u, weights), want.astype(float), rtol=1e-14)


@pytest.mark.parametrize("most", [1e-12, 0.4, 0.999, 1 - 1e-15])
def test_folded_logarithms_of_what_is_left(rng, most):
    v = -most * rng.random((20, 13))
    weights = np.full(13, 0.5)
    want = np.log1p(v.astype(np.longdouble)) @ weights
    np.testing.assert_allclose(sum_log1p(v, weights), want.astype(float), rtol=1e-13)


def test_no_rows_and_no_columns():
    assert sum_log1p(np.ones((0, 3)), np.ones(3)).shape == (0,)
    np.testing.assert_array_equal(sum_log1p_square(np.ones((2, 0)), np.ones(0)), [0, 0])
