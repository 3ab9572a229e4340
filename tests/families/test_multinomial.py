"""Dirichlet–multinomial against its textbook page."""

from typing import Any

import mpmath as mp
import numpy as np
import numpyro
import pytest

from bayesnb.families import DirichletMultinomial
from bayesnb.sums.statistics import one_hot

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


def check(prior: Any, x: np.ndarray, y: np.ndarray, rtol: float, others: bool = False) -> None:
    """Update, evidence and predictive of a whole page; of the rows of each class, or of all others."""
    classes = range(len(prior.alpha))
    stats = prior.suffstats(x, one_hot(y, len(classes)))
    posterior, evidence, after = prior.update(stats), prior.log_marginal(stats), []
    for c, alpha in enumerate(map(exact, prior.alpha)):
        rows = [exact(row) for row in x[(y == c) != others]]
        after.append([a + sum(row[j] for row in rows) for j, a in enumerate(alpha)])
        np.testing.assert_allclose(posterior.alpha[c], np.array(after[c], float), rtol=1e-14)
        want = log_beta(*after[c]) - log_beta(*alpha) + sum(map(log_coefficient, rows))
        assert evidence[c] == pytest.approx(float(want), rel=rtol, abs=ATOL)
    for block, alphas in (prior, [*map(exact, prior.alpha)]), (posterior, after):
        table = np.array([[float(predictive(exact(row), alpha)) for alpha in alphas] for row in x])
        want = np.stack([np.delete(table, c, 1).sum(1) for c in classes], 1) if others else table
        np.testing.assert_allclose(block.log_predictive(x), want, rtol=rtol, atol=ATOL)


def test_textbook_page(rng: np.random.Generator) -> None:
    """Also with concentrations from 1e-8 to 1e8."""
    this = case(FAMILY)
    check(this.block, this.x, this.y, rtol=1e-10)
    alpha = np.concatenate([np.repeat(EXTREMES[:, None], 5, 1), rng.permuted(np.tile(EXTREMES, (3, 1)), axis=1)])
    check(DirichletMultinomial(alpha), rng.poisson(2, (20, 5)).astype(float), np.arange(20) % 8, rtol=1e-9)


def test_the_twin_draws_rows_of_given_lengths(x64: None) -> None:
    block, lengths = case(FAMILY).block, np.array([3, 0, 7])
    with numpyro.handlers.seed(rng_seed=0), numpyro.handlers.trace() as trace:
        block.model(None, np.array([0, 2, 1]), length=lengths)
    np.testing.assert_array_equal(trace["x"]["value"].sum(1), lengths)
    with pytest.raises(ValueError, match="give `length`, or the rows"), numpyro.handlers.seed(rng_seed=0):
        block.model(None, np.array([0, 2, 1]))
