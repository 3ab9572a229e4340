"""Beta–geometric against its textbook page, with counts up to 1e15 too."""

from typing import Any

import jax
import numpy as np
import pytest

from bayesnb.base import to_sites
from bayesnb.families import BetaGeometric
from bayesnb.statistics import Totals, one_hot

from ..laws import FAMILIES, case, jitted, log_joint
from .twin import EXTREMES, check_evidence, check_fields, check_predictive, log_beta

FAMILY = next(f for f in FAMILIES if f.name == "geometric")


def update(x: list[Any], a: Any, b: Any) -> tuple[Any, ...]:
    return a + len(x), b + sum(x)


def evidence(x: list[Any], a: Any, b: Any) -> Any:
    """The ratio B(a+n, b+s)/B(a, b)."""
    return log_beta(*update(x, a, b)) - log_beta(a, b)


def predictive(x: Any, a: Any, b: Any) -> Any:
    """∫ θ (1−θ)ˣ Beta(θ; a, b) dθ = B(a+1, b+x)/B(a, b)."""
    return log_beta(a + 1, b + x) - log_beta(a, b)


def test_textbook_page() -> None:
    this = case(FAMILY)
    posterior = this.posterior.blocks["x"]
    check_fields(posterior, update, this.block, this.x, this.y)
    check_evidence(this.block, evidence, this.x, this.y)
    check_predictive(posterior, predictive, this.x)


def test_concentrations_from_1e_minus_10_to_1e10(rng: np.random.Generator) -> None:
    prior = BetaGeometric(*np.meshgrid(EXTREMES, EXTREMES))
    x, y = rng.poisson(2, (30, 5)).astype(float), np.arange(30) % 5
    check_evidence(prior, evidence, x, y, rtol=1e-9)
    check_predictive(prior, predictive, x, rtol=1e-9)
    check_predictive(prior.update(prior.suffstats(x, one_hot(y, 5))), predictive, x, rtol=1e-9)


def test_predictive_under_the_uniform_prior() -> None:
    """∫ θ (1−θ)ˣ dθ = 1/((x+1)(x+2))."""
    block, x = BetaGeometric(np.ones((1, 1)), np.ones((1, 1))), np.arange(50.0)[:, None]
    np.testing.assert_allclose(np.exp(block.log_predictive(x)), 1 / ((x + 1) * (x + 2)), rtol=1e-12)


@pytest.mark.parametrize(
    ("a", "b", "mode"),
    [(3, 2, 2 / 3), (1, 2, 0), (0.2, 1.5, 0), (2, 1, 1), (1.5, 0.2, 1), (1, 1, 1 / 2), (0.5, 0.25, 2 / 3)],
)
def test_mode(a: float, b: float, mode: float) -> None:
    """Inside, on either side, and the mean where the density rises towards both."""
    block = BetaGeometric(np.array([[a]], float), np.array([[b]], float))
    assert to_sites(block.mode())["theta"].item() == pytest.approx(mode, abs=1e-300)
    assert block.on_boundary() == (a <= 1 or b <= 1)


def test_mle_and_linear_form() -> None:
    stats = Totals(np.array([[4.0, 2.0, 0.0]]), np.array([[12.0, 0.0, 0.0]]), np.zeros((1, 3)))
    block = BetaGeometric(np.full((1, 3), 2.0), np.full((1, 3), 3.0))
    theta = block.mle(stats)
    np.testing.assert_allclose(to_sites(theta)["theta"], [[0.25, 1, 0.4]], rtol=1e-15)  # no data: the prior's mean
    x = np.array([[2.0, 0.0, 3.0]])
    weights, intercept = block.linear_form(theta)
    assert (x @ weights + intercept).item() == pytest.approx(block.log_likelihood(theta, x).item(), rel=1e-13)


@pytest.mark.usefixtures("x64")
def test_certain_success_is_possible_in_the_twin() -> None:
    """θ = 1 explains rows of zeros: NumPyro's own geometric says −∞ there, with NaN for its slope."""
    block = BetaGeometric(np.full((1, 1), 2.0), np.ones((1, 1)))
    x, y, sites = np.zeros((3, 1)), np.zeros(3, int), {"theta": np.ones((1, 1))}

    joint = log_joint(block.model, x, y)
    assert float(jitted(joint)(sites)) == pytest.approx(np.log(2), rel=1e-12)  # Beta(2, 1) at 1; the rows are certain
    assert jitted(jax.grad(joint))(sites)["theta"].item() >= 0  # never inwards


# --- long counts ----------------------------------------------------------------------------------------------------
