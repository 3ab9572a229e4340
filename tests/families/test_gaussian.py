"""Normal–inverse-gamma against its textbook page."""

from typing import Any

import mpmath as mp
import numpy as np
import pytest

from bayesnb.families import NormalInverseGamma
from bayesnb.statistics import Moments, one_hot

from ..laws import FAMILIES, case
from .twin import EXTREMES, check_evidence, check_fields, check_predictive

FAMILY = next(f for f in FAMILIES if f.name == "gaussian")


def update(x: list[Any], m: Any, kappa: Any, a: Any, b: Any) -> tuple[Any, ...]:
    """Murphy (2007), (85)–(89), in his raw form: β_n = β + ½ (m²κ + Σx² − m_n²κ_n)."""
    n = len(x)
    centre = (kappa * m + sum(x)) / (kappa + n)
    energy = m * m * kappa + sum(value * value for value in x) - centre * centre * (kappa + n)
    return centre, kappa + n, a + mp.mpf(n) / 2, b + energy / 2


def evidence(x: list[Any], m: Any, kappa: Any, a: Any, b: Any) -> Any:
    """Murphy (2007), (95)."""
    _, kappa_n, a_n, b_n = update(x, m, kappa, a, b)
    ratio = mp.loggamma(a_n) - mp.loggamma(a) + a * mp.log(b) - a_n * mp.log(b_n)
    return ratio + mp.log(kappa / kappa_n) / 2 - mp.log(2 * mp.pi) * len(x) / 2


def predictive(x: Any, m: Any, kappa: Any, a: Any, b: Any) -> Any:
    """Murphy (2007), (100): Student t with 2a degrees of freedom and squared scale b(κ+1)/(aκ)."""
    nu, s2 = 2 * a, b * (kappa + 1) / (a * kappa)
    constant = mp.loggamma((nu + 1) / 2) - mp.loggamma(nu / 2) - mp.log(nu * mp.pi * s2) / 2
    return constant - (nu + 1) / 2 * mp.log(1 + (x - m) ** 2 / (nu * s2))


def test_textbook_page() -> None:
    this = case(FAMILY)
    posterior = this.posterior.blocks["x"]
    check_fields(posterior, update, this.block, this.x, this.y)
    check_evidence(this.block, evidence, this.x, this.y)
    check_predictive(posterior, predictive, this.x)


@pytest.mark.parametrize("b", [1e-10, 1.0, 1e10])
def test_pseudo_rows_from_1e_minus_10_to_1e10(rng: np.random.Generator, b: float) -> None:
    kappa, a = np.meshgrid(EXTREMES, EXTREMES)
    prior = NormalInverseGamma(np.full((5, 5), 0.5), kappa, a, np.full((5, 5), b))
    x, y = rng.normal(1, 2, (30, 5)), np.arange(30) % 5
    check_evidence(prior, evidence, x, y, rtol=1e-9)
    check_predictive(prior, predictive, x, rtol=1e-9)
    check_predictive(prior.update(prior.suffstats(x, one_hot(y, 5))), predictive, x, rtol=1e-9)


def test_mean_mode_and_mle() -> None:
    block = NormalInverseGamma(*(np.array([row]) for row in ([1.0, 2.0], [3.0, 3.0], [2.0, 0.5], [6.0, 6.0])))
    np.testing.assert_allclose(block.mean()["variance"], [[6.0, 4.0]])  # b/(a−1); the mode b/(a+1) where a ≤ 1
    np.testing.assert_allclose(block.mode()["variance"], [[6 / 3.5, 3.0]])
    theta = block.mle(Moments(np.array([[4.0, 0.0]]), np.array([[7.0, 0.0]]), np.array([[8.0, 0.0]])))
    np.testing.assert_allclose(theta["mu"], [[7.0, 2.0]])
    np.testing.assert_allclose(theta["variance"], [[2.0, 4.0]])  # no data: the prior's mean
    assert not block.on_boundary()
