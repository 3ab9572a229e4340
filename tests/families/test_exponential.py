"""Gamma–exponential against its textbook page."""

from typing import Any

import mpmath as mp
import numpy as np
import pytest
import scipy.stats as st

from bayesnb.base import to_sites
from bayesnb.families import DirichletClasses, GammaExponential
from bayesnb.naive_bayes import NaiveBayes
from bayesnb.statistics import Totals, one_hot

from ..laws import FAMILIES, case, jitted, log_joint
from .twin import EXTREMES, check_evidence, check_fields, check_predictive

FAMILY = next(f for f in FAMILIES if f.name == "exponential")


def update(x: list[Any], a: Any, b: Any) -> tuple[Any, ...]:
    return a + len(x), b + mp.fsum(x)


def evidence(x: list[Any], a: Any, b: Any) -> Any:
    """BDA3 §2.6: Γ(a+n)/Γ(a) · bᵃ/(b+s)ᵃ⁺ⁿ."""
    after, rate = update(x, a, b)
    return mp.loggamma(after) - mp.loggamma(a) + a * mp.log(b) - after * mp.log(rate)


def predictive(x: Any, a: Any, b: Any) -> Any:
    """Lomax: (a/b) (1 + x/b)⁻⁽ᵃ⁺¹⁾."""
    return mp.log(a / b) - (a + 1) * mp.log(1 + x / b)


def test_textbook_page() -> None:
    this = case(FAMILY)
    posterior = this.posterior.blocks["x"]
    check_fields(posterior, update, this.block, this.x, this.y)
    check_evidence(this.block, evidence, this.x, this.y)
    check_predictive(posterior, predictive, this.x)


def test_concentrations_from_1e_minus_10_to_1e10(rng: np.random.Generator) -> None:
    prior = GammaExponential(*np.meshgrid(EXTREMES, EXTREMES))
    x, y = rng.gamma(0.7, 3, (30, 5)), np.arange(30) % 5
    x[::7] = 0
    check_evidence(prior, evidence, x, y, rtol=1e-9)
    check_predictive(prior, predictive, x, rtol=1e-9)
    check_predictive(prior.update(prior.suffstats(x, one_hot(y, 5))), predictive, x, rtol=1e-9)


def test_predictive_is_scipys_lomax() -> None:
    block = GammaExponential(np.array([[0.7], [3.0]]), np.array([[0.2], [5.0]]))
    x = np.array([[0.0], [1e-9], [2.0], [1e6], [1e150]])
    want = st.lomax.logpdf(x, block.a.T, scale=block.b.T)
    np.testing.assert_allclose(block.log_predictive(x), want, rtol=1e-12)


def test_mode_mle_and_linear_form() -> None:
    block = GammaExponential(np.array([[3.0, 1.0, 0.5]]), np.array([[4.0, 4.0, 4.0]]))
    np.testing.assert_allclose(to_sites(block.mode())["rate"], [[0.5, 0, 0]], rtol=1e-14, atol=1e-300)
    assert block.on_boundary()
    assert not GammaExponential(np.array([[1.5]]), np.array([[0.1]])).on_boundary()
    stats = Totals(np.array([[4.0, 2.0, 0.0]]), np.array([[8.0, 0.0, 0.0]]), np.zeros((1, 3)))
    theta = block.mle(stats)  # all cells 0: as large as has a finite square; no data: the prior's mean
    np.testing.assert_allclose(to_sites(theta)["rate"], [[0.5, np.finfo(float).tiny ** -0.5, 0.125]], rtol=1e-12)
    x = np.array([[2.0, 0.0, 3.0]])
    weights, intercept = block.linear_form(theta)
    want = block.log_likelihood(theta, x)
    assert (x @ weights + intercept).item() == pytest.approx(want.item(), rel=1e-13)


@pytest.mark.usefixtures("x64")
def test_the_twin_takes_a_cell_of_zero(rng: np.random.Generator) -> None:
    """Bayes' identity with amounts that are exactly 0, which NumPyro's exponential leaves out of its support."""
    block = GammaExponential(np.array([[3.0, 1.0], [0.5, 2.0]]), np.array([[4.0, 4.0], [1.0, 3.0]]))
    prior = NaiveBayes(DirichletClasses(np.ones(2)), {"x": block})
    x, y = np.array([[0.0, 2.0], [1.5, 0.0], [0.0, 0.0], [np.nan, 3.0]]), np.array([0, 0, 1, 1])
    stats = prior.suffstats({"x": x}, one_hot(y, 2))
    posterior = prior.update(stats)
    theta = posterior.sample(rng)
    twin = jitted(log_joint(prior.model, {"x": x}, y))(prior.to_sites(theta))
    assert float(twin) == pytest.approx(float(posterior.log_prob(theta) + prior.log_marginal(stats)), rel=1e-9)
