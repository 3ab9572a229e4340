"""The pooled variance against its textbook page."""

from typing import Any

import jax
import mpmath as mp
import numpy as np
import pytest

from bayesnb.families import PooledNormalInverseGamma
from bayesnb.statistics import Moments, one_hot

from ..laws import FAMILIES, case
from .test_gaussian import predictive
from .twin import ATOL, EXTREMES, check_predictive, column, hyper

FAMILY = next(f for f in FAMILIES if f.name == "pooled_gaussian")


def check(prior: PooledNormalInverseGamma, x: np.ndarray, y: np.ndarray, rtol: float) -> None:
    """Update and evidence of one feature after the other: one σ², a mean a class, raw sums of squares."""
    c, d = prior.shape
    stats = prior.suffstats(x, one_hot(y, c))
    posterior, got = prior.update(stats), prior.log_marginal(stats)
    for j in range(d):
        a_n, b_n = hyper(prior, 0, j)[2:]
        a, b = a_n, b_n
        evidence: Any = 0
        for k in range(c):
            m, kappa, _, _ = hyper(prior, k, j)
            cells = column(x, y, k, j)
            n = len(cells)
            centre = (kappa * m + sum(cells)) / (kappa + n)
            a_n += mp.mpf(n) / 2
            b_n += (m * m * kappa + sum(value * value for value in cells) - centre * centre * (kappa + n)) / 2
            evidence += mp.log(kappa / (kappa + n)) / 2 - mp.log(2 * mp.pi) * n / 2
            assert posterior.m[k, j] == pytest.approx(float(centre), rel=1e-10)
            assert posterior.kappa[k, j] == pytest.approx(float(kappa + n), rel=1e-10)
        assert posterior.a[j] == pytest.approx(float(a_n), rel=1e-10)
        assert posterior.b[j] == pytest.approx(float(b_n), rel=1e-10)
        evidence += mp.loggamma(a_n) - mp.loggamma(a) + a * mp.log(b) - a_n * mp.log(b_n)
        assert got[j] == pytest.approx(float(evidence), rel=rtol, abs=ATOL)
    check_predictive(prior, predictive, x, rtol=rtol)
    check_predictive(posterior, predictive, x, rtol=rtol)


def test_textbook_page() -> None:
    this = case(FAMILY)
    check(this.block, this.x, this.y, rtol=1e-10)


@pytest.mark.parametrize("b", [1e-10, 1.0, 1e10])
def test_pseudo_rows_from_1e_minus_10_to_1e10(rng: np.random.Generator, b: float) -> None:
    kappa = rng.permuted(np.tile(EXTREMES, (3, 1)), axis=1)
    prior = PooledNormalInverseGamma(np.full((3, 5), 0.5), kappa, EXTREMES, np.full(5, b))
    check(prior, rng.normal(1, 2, (20, 5)), np.arange(20) % 3, rtol=1e-9)


def test_one_class_is_the_unpooled_page() -> None:
    """With a single class there is nothing to pool."""
    unpooled = case(next(f for f in FAMILIES if f.name == "gaussian"))
    one = jax.tree.map(lambda leaf: leaf[:1], unpooled.block)
    pooled = PooledNormalInverseGamma(one.m, one.kappa, one.a[0], one.b[0])
    stats = one.suffstats(unpooled.x, np.ones((len(unpooled.x), 1)))
    np.testing.assert_allclose(pooled.log_marginal(stats), one.log_marginal(stats)[0], rtol=1e-14)
    after, before = pooled.update(stats), one.update(stats)
    np.testing.assert_allclose(after.log_predictive(unpooled.x), before.log_predictive(unpooled.x), rtol=1e-14)
    np.testing.assert_allclose(after.mode()["variance"], before.mode()["variance"][0], rtol=1e-14)


def test_mean_mode_mle_and_linear_form() -> None:
    columns = np.array([[1.0], [2.0]])
    block = PooledNormalInverseGamma(columns, np.full((2, 1), 3.0), np.array([2.0]), np.array([6.0]))
    assert block.mean()["variance"].item() == 6.0
    assert block.mode()["variance"].item() == 1.5  # b/(a + 1 + C/2)
    stats = Moments(np.array([[3.0], [5.0]]), np.array([[1.0], [4.0]]), np.array([[6.0], [10.0]]))
    theta = block.mle(stats)
    np.testing.assert_allclose(theta["mu"], stats.mean)
    assert theta["variance"].item() == 2.0
    empty = block.mle(stats.zero())
    assert (empty["variance"].item(), *empty["mu"].ravel()) == (6.0, 1.0, 2.0)
    x = np.array([[0.5], [3.0]])
    weights, intercept = block.linear_form(theta)
    shift = block.log_likelihood(theta, x) - (x @ weights + intercept)
    np.testing.assert_allclose(shift[:, 0], shift[:, 1], rtol=1e-13)  # what is left is the same in all classes
