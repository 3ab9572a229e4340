"""Gamma–Poisson against its textbook page."""

from typing import Any

import mpmath as mp
import numpy as np
import pytest

from bayesnb.base import to_sites
from bayesnb.families import GammaPoisson
from bayesnb.statistics import Totals, one_hot

from ..laws import FAMILIES, case
from .twin import EXTREMES, check_evidence, check_fields, check_predictive

FAMILY = next(f for f in FAMILIES if f.name == "poisson")


def update(x: list[Any], a: Any, b: Any) -> tuple[Any, ...]:
    return a + sum(x), b + len(x)


def evidence(x: list[Any], a: Any, b: Any) -> Any:
    """BDA3 §2.6: Γ(a+s)/Γ(a) · bᵃ/(b+n)ᵃ⁺ˢ / Π x!."""
    after, rate = update(x, a, b)
    ratio = mp.loggamma(after) - mp.loggamma(a) + a * mp.log(b) - after * mp.log(rate)
    return ratio - sum(mp.loggamma(count + 1) for count in x)


def predictive(x: Any, a: Any, b: Any) -> Any:
    """Negative binomial: C(a+x−1, x) (b/(b+1))ᵃ (1/(b+1))ˣ."""
    choose = mp.loggamma(a + x) - mp.loggamma(a) - mp.loggamma(x + 1)
    return choose + a * mp.log(b / (b + 1)) - x * mp.log(b + 1)


def test_textbook_page() -> None:
    this = case(FAMILY)
    posterior = this.posterior.blocks["x"]
    check_fields(posterior, update, this.block, this.x, this.y)
    check_evidence(this.block, evidence, this.x, this.y)
    check_predictive(posterior, predictive, this.x)


def test_concentrations_from_1e_minus_10_to_1e10(rng: np.random.Generator) -> None:
    prior = GammaPoisson(*np.meshgrid(EXTREMES, EXTREMES))
    x, y = rng.poisson(2, (30, 5)).astype(float), np.arange(30) % 5
    check_evidence(prior, evidence, x, y, rtol=1e-9)
    check_predictive(prior, predictive, x, rtol=1e-9)
    check_predictive(prior.update(prior.suffstats(x, one_hot(y, 5))), predictive, x, rtol=1e-9)


def test_mode_mle_and_linear_form() -> None:
    block = GammaPoisson(np.array([[3.0, 1.0, 0.5]]), np.array([[4.0, 4.0, 4.0]]))
    np.testing.assert_allclose(to_sites(block.mode())["rate"], [[0.5, 0, 0]], rtol=1e-14, atol=1e-300)
    assert block.on_boundary()
    assert not GammaPoisson(np.array([[1.5]]), np.array([[0.1]])).on_boundary()
    stats = Totals(np.array([[4.0, 2.0, 0.0]]), np.array([[6.0, 0.0, 0.0]]), np.zeros((1, 3)))
    theta = block.mle(stats)  # the prior's mean where there are no data
    np.testing.assert_allclose(to_sites(theta)["rate"], [[1.5, 0, 0.125]], rtol=1e-14, atol=1e-300)
    x = np.array([[2.0, 0.0, 3.0]])
    weights, intercept = block.linear_form(theta)
    want = block.log_likelihood(theta, x)
    assert (x @ weights + intercept - np.log(2) - np.log(6)).item() == pytest.approx(want.item(), rel=1e-13)
