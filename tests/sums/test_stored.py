"""Sums over stored cells against dense rows."""

import tracemalloc

import numpy as np
import pytest
from scipy import sparse

from bayesnb.sums import rows as sums


def log_ratio(x, loc, slope, weight):
    return weight * np.log1p(np.square((x - loc) * slope))


@pytest.mark.parametrize("cells", [7, 1 << 15])
def test_stored_cells_are_those_of_dense_rows(cells, rng, monkeypatch):
    """Empty rows first, last and between; stored zeros; columns whose centre is 1e6 spreads away from 0."""
    monkeypatch.setattr(sums, "_FEW", cells)
    x = rng.normal(size=(40, 9)) * (rng.random((40, 9)) < 0.3)
    x[[0, 1, 17, 39]] = 0
    rows = sparse.csr_array(x)
    rows.data[3] = 0
    loc, slope, weight = rng.normal(size=(3, 9)), rng.gamma(1, size=(3, 9)), -rng.gamma(2, size=(3, 9))
    loc[:, 4] = 1e6
    got = sums.sum_over_features(log_ratio, rows, loc, slope, weight)
    want = log_ratio(rows.toarray()[:, None], loc, slope, weight).sum(-1)
    np.testing.assert_allclose(got, want, rtol=1e-11)


def test_memory_follows_the_rows_and_not_the_columns(rng):
    """Dense, the rows would take 160 MB; all terms of the stored cells at once 80 MB."""
    rows = sparse.random_array((1000, 20_000), density=0.1, format="csr", rng=rng)
    fields = (np.ones((2, 20_000)),) * 3
    tracemalloc.start()
    try:
        sums.sum_over_features(log_ratio, rows, *fields)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 10e6
