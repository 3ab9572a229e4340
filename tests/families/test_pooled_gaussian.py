"""The pooled variance against its textbook page."""

import mpmath as mp
import numpy as np
import pytest

from bayesnb.families import PooledNormalInverseGamma
from bayesnb.sums.statistics import one_hot

from ..laws import FAMILIES, case
from .test_pages import ATOL, EXTREMES, normal_update, student

FAMILY = next(f for f in FAMILIES if f.name == "pooled_gaussian")


def check(prior: PooledNormalInverseGamma, x: np.ndarray, y: np.ndarray, rtol: float) -> None:
    """One cell after the other, each from its predictive: one σ² a feature, a mean for each class."""
    stats = prior.suffstats(x, one_hot(y, len(prior.m)))
    posterior, got, table = prior.update(stats), prior.log_marginal(stats), np.zeros((len(x), len(prior.m)))
    for j in range(x.shape[1]):
        m, kappa = ([mp.mpf(float(value)) for value in field[:, j]] for field in (prior.m, prior.kappa))
        a, b, total = mp.mpf(float(prior.a[j])), mp.mpf(float(prior.b[j])), mp.mpf(0)
        for k, value in zip(y, x[:, j], strict=True):
            if not np.isnan(value):
                total += student(mp.mpf(float(value)), m[k], kappa[k], a, b)
                m[k], kappa[k], energy = normal_update(mp.mpf(float(value)), m[k], kappa[k])
                a, b = a + mp.mpf(1) / 2, b + energy / 2
        assert got[j] == pytest.approx(float(total), rel=rtol, abs=ATOL)
        found = [*posterior.m[:, j], *posterior.kappa[:, j], posterior.a[j], posterior.b[j]]
        np.testing.assert_allclose(found, np.array([*m, *kappa, a, b], float), rtol=1e-10)
        for i, k in np.ndindex(table.shape):
            if not np.isnan(x[i, j]):
                table[i, k] += float(student(mp.mpf(float(x[i, j])), m[k], kappa[k], a, b))
    np.testing.assert_allclose(posterior.log_predictive(x), table, rtol=rtol, atol=ATOL)


def test_textbook_page(rng: np.random.Generator) -> None:
    """Also with pseudo-rows from 1e-8 to 1e8."""
    this = case(FAMILY)
    check(this.block, this.x, this.y, rtol=1e-10)
    for b in (1e-8, 1e8):
        kappa = rng.permuted(np.tile(EXTREMES, (3, 1)), axis=1)
        prior = PooledNormalInverseGamma(np.full((3, 5), 0.5), kappa, EXTREMES, np.full(5, b))
        check(prior, rng.normal(1, 2, (20, 5)), np.arange(20) % 3, rtol=1e-9)


def test_the_mle_of_no_rows_is_the_mean_of_the_prior() -> None:
    columns = np.array([[1.0], [2.0]])
    block = PooledNormalInverseGamma(columns, np.full((2, 1), 3.0), np.array([2.0]), np.array([6.0]))
    empty = block.mle(block.suffstats(np.zeros((0, 1)), np.zeros((0, 2))))
    assert (empty["variance"].item(), *empty["mu"].ravel()) == (6.0, 1.0, 2.0)
    assert not block.on_boundary()
