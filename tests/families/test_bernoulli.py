"""Beta–Bernoulli against its textbook page."""

from typing import Any

import mpmath as mp
import numpy as np
import pytest

from bayesnb.base import to_sites
from bayesnb.families import BetaBernoulli
from bayesnb.statistics import Counts, one_hot

from ..laws import FAMILIES, case
from .twin import EXTREMES, check_evidence, check_fields, check_predictive, log_beta

FAMILY = next(f for f in FAMILIES if f.name == "bernoulli")


def update(x: list[Any], a: Any, b: Any) -> tuple[Any, ...]:
    return a + sum(x), b + len(x) - sum(x)


def evidence(x: list[Any], a: Any, b: Any) -> Any:
    """BDA3 §2.4 and the ratio B(a+n₁, b+n₀)/B(a, b)."""
    return log_beta(*update(x, a, b)) - log_beta(a, b)


def predictive(x: Any, a: Any, b: Any) -> Any:
    return mp.log((a if x else b) / (a + b))


def test_textbook_page() -> None:
    this = case(FAMILY)
    posterior = this.posterior.blocks["x"]
    check_fields(posterior, update, this.block, this.x, this.y)
    check_evidence(this.block, evidence, this.x, this.y)
    check_predictive(posterior, predictive, this.x)


def test_concentrations_from_1e_minus_10_to_1e10(rng: np.random.Generator) -> None:
    prior = BetaBernoulli(*np.meshgrid(EXTREMES, EXTREMES))
    x, y = rng.integers(0, 2, (30, 5)).astype(float), np.arange(30) % 5
    check_evidence(prior, evidence, x, y, rtol=1e-9)
    check_predictive(prior, predictive, x, rtol=1e-9)
    check_predictive(prior.update(prior.suffstats(x, one_hot(y, 5))), predictive, x, rtol=1e-9)


@pytest.mark.parametrize(
    ("a", "b", "mode"),
    [(3, 2, 2 / 3), (1, 2, 0), (0.5, 2, 0), (2, 1, 1), (2, 0.5, 1), (1, 1, 1 / 2), (0.5, 0.25, 2 / 3)],
)
def test_mode(a: float, b: float, mode: float) -> None:
    """Inside, on either side, and the mean where the density rises towards both."""
    block = BetaBernoulli(np.array([[a]], float), np.array([[b]], float))
    assert to_sites(block.mode())["theta"].item() == pytest.approx(mode, abs=1e-300)
    assert block.on_boundary() == (a <= 1 or b <= 1)


def test_mle_and_linear_form() -> None:
    stats = Counts(np.array([[[3.0, 1.0], [0.0, 2.0], [0.0, 0.0]]]), np.zeros((1, 3)))
    prior = BetaBernoulli(np.full((1, 3), 2.0), np.full((1, 3), 3.0))
    theta = prior.mle(stats)
    np.testing.assert_allclose(to_sites(theta)["theta"], [[0.25, 1, 0.4]], rtol=1e-15)  # no data: the prior's mean
    x = np.array([[1.0, 1, 0], [0, 1, 1]])
    weights, intercept = prior.linear_form(theta)
    np.testing.assert_allclose(x @ weights + intercept, prior.log_likelihood(theta, x), rtol=1e-13)
