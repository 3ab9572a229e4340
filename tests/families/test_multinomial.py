"""Dirichlet–multinomial against its textbook page."""

from typing import Any

import jax
import jax.numpy as jnp
import mpmath as mp
import numpy as np
import numpyro
import pytest
from scipy import sparse

from bayesnb.base import to_sites
from bayesnb.families import DirichletMultinomial
from bayesnb.statistics import Counts, one_hot
from bayesnb.sums.tables import log_polya

from ..laws import FAMILIES, case
from .test_pages import ATOL, EXTREMES, log_beta

FAMILY = next(f for f in FAMILIES if f.name == "multinomial")


def exact(values: np.ndarray) -> list[Any]:
    return [mp.mpf(float(value)) for value in values]


def log_coefficient(row: list[Any]) -> Any:
    """log L!/Π x_j!."""
    return mp.loggamma(sum(row) + 1) - sum(mp.loggamma(count + 1) for count in row)


def predictive(row: list[Any], alpha: list[Any]) -> Any:
    """Madsen et al. (2005), eq. (3): L!/Πx! · Γ(A)/Γ(L+A) · Π_j Γ(x_j+α_j)/Γ(α_j)."""
    parts = sum(mp.loggamma(count + a) - mp.loggamma(a) for count, a in zip(row, alpha, strict=True))
    return log_coefficient(row) + mp.loggamma(sum(alpha)) - mp.loggamma(sum(row) + sum(alpha)) + parts


def check(prior: DirichletMultinomial, x: np.ndarray, y: np.ndarray, rtol: float) -> None:
    """Update, evidence and predictive of a whole page."""
    stats = prior.suffstats(x, one_hot(y, len(prior.alpha)))
    posterior, evidence = prior.update(stats), prior.log_marginal(stats)
    for c, alpha in enumerate(map(exact, prior.alpha)):
        rows = [exact(row) for row in x[y == c]]
        after = [a + sum(row[j] for row in rows) for j, a in enumerate(alpha)]
        np.testing.assert_allclose(posterior.alpha[c], np.array(after, float), rtol=1e-14)
        want = log_beta(*after) - log_beta(*alpha) + sum(map(log_coefficient, rows))
        assert evidence[c] == pytest.approx(float(want), rel=rtol, abs=ATOL)
        for block, row_alpha in (prior, alpha), (posterior, after):
            table = [float(predictive(exact(row), row_alpha)) for row in x]
            np.testing.assert_allclose(block.log_predictive(x)[:, c], table, rtol=rtol, atol=ATOL)


def test_textbook_page() -> None:
    this = case(FAMILY)
    check(this.block, this.x, this.y, rtol=1e-10)


def test_concentrations_from_1e_minus_8_to_1e8(rng: np.random.Generator) -> None:
    alpha = np.concatenate([np.repeat(EXTREMES[:, None], 5, 1), rng.permuted(np.tile(EXTREMES, (3, 1)), axis=1)])
    check(DirichletMultinomial(alpha), rng.poisson(2, (20, 5)).astype(float), np.arange(20) % 8, rtol=1e-9)


@pytest.mark.parametrize("weights", ["units", "shares", "soft", "most classes"])
def test_rows_without_their_own_counts(weights: str, rng: np.random.Generator) -> None:
    """Cell by cell against log Γ(α + (1−w)x) − log Γ(α − wx), with fractions and large counts among the cells."""
    x = rng.poisson(rng.gamma(0.5, 4, (30, 5))).astype(float)
    x[3, 2], x[4, 1], x[5] = 0.5, 3000, 0
    r = one_hot(rng.integers(4, size=30), 4, np.ones(30) if weights == "units" else rng.random(30) + 0.1).toarray()
    r = rng.dirichlet(np.ones(4), 30) if weights == "soft" else r
    r = r.sum(1, keepdims=True) - r if weights == "most classes" else r
    alpha = r.T @ x + rng.gamma(2, 1, (4, 5)) + 0.1
    want = np.zeros((30, 4))
    for i, k in np.ndindex(30, 4):
        a, w = [mp.mpf(float(v)) for v in alpha[k]], mp.mpf(float(r[i, k]))
        row, total, length = exact(x[i]), sum(a), sum(exact(x[i]))
        cells = [mp.loggamma(b + (1 - w) * n) - mp.loggamma(b - w * n) for b, n in zip(a, row, strict=True)]
        of_length = mp.loggamma(total + (1 - w) * length) - mp.loggamma(total - w * length)
        want[i, k] = float(sum(cells) - of_length)
    for rows in (x, sparse.csr_array(x)):
        np.testing.assert_allclose(log_polya(rows, alpha, r), want, rtol=1e-10)
        np.testing.assert_allclose(log_polya(rows, alpha, sparse.csr_array(r)), want, rtol=1e-10)


def test_leave_one_out_has_gradients_without_nan(x64: None) -> None:
    this = case(FAMILY)
    y, alpha = jnp.asarray(this.r.toarray()), this.posterior.blocks["x"].alpha
    total = jax.jit(lambda a: DirichletMultinomial(a).log_loo(jnp.asarray(this.x), y).sum())
    slope = jax.jit(jax.grad(total))(jnp.asarray(alpha))
    step = 1e-6 * np.eye(alpha.size).reshape(-1, *alpha.shape)
    want = [(total(jnp.asarray(alpha + e)) - total(jnp.asarray(alpha - e))) / 2e-6 for e in step[:5]]
    np.testing.assert_allclose(np.ravel(slope)[:5], want, rtol=1e-5, atol=1e-6)
    assert np.isfinite(slope).all()


def test_plugging_in_the_mean_is_not_the_predictive() -> None:
    """Equal for one event, and not for two: an event that has occurred is more likely to occur again."""
    block = DirichletMultinomial(np.array([[1.0, 1.0]]))
    one, two = np.array([[1.0, 0.0]]), np.array([[2.0, 0.0]])
    assert block.log_predictive(one) == pytest.approx(block.log_likelihood(block.mean(), one), rel=1e-14)
    assert np.exp(block.log_predictive(two)) == pytest.approx(1 / 3)
    assert np.exp(block.log_likelihood(block.mean(), two)) == pytest.approx(1 / 4)


def test_mode_mle_and_linear_form() -> None:
    block = DirichletMultinomial(np.array([[3.0, 2.0, 1.0], [0.5, 1.0, 0.5], [2.0, 2.0, 2.0]]))
    want = [[2 / 3, 1 / 3, 0], [1 / 4, 1 / 2, 1 / 4], [1 / 3] * 3]  # a face, the mean, inside
    np.testing.assert_allclose(to_sites(block.mode())["theta"], want, rtol=1e-14, atol=1e-300)
    assert block.on_boundary()
    theta = block.mle(Counts(np.array([[1.0, 3.0, 0.0], [0.0, 0.0, 0.0], [2.0, 1.0, 1.0]]), np.zeros(3)))
    want = [[0.25, 0.75, 0], [1 / 4, 1 / 2, 1 / 4], [0.5, 0.25, 0.25]]
    np.testing.assert_allclose(to_sites(theta)["theta"], want, rtol=1e-14, atol=1e-300)
    x = np.array([[1.0, 2.0, 1.0]])
    weights, intercept = block.linear_form(theta)
    shift = block.log_likelihood(theta, x) - (x @ weights + intercept)
    np.testing.assert_allclose(shift, np.log(12), rtol=1e-12)  # 4!/(1! 2! 1!), the same in all classes


def test_the_twin_draws_rows_of_given_lengths(x64: None) -> None:
    block, lengths = case(FAMILY).block, np.array([3, 0, 7])
    with numpyro.handlers.seed(rng_seed=0), numpyro.handlers.trace() as trace:
        block.model(None, np.array([0, 2, 1]), length=lengths)
    np.testing.assert_array_equal(trace["x"]["value"].sum(1), lengths)
    with pytest.raises(ValueError, match="give `length`"), numpyro.handlers.seed(rng_seed=0):
        block.model(None, np.array([0, 2, 1]))
