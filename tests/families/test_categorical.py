"""Dirichlet–categorical against its textbook page."""

from typing import Any

import jax
import mpmath as mp
import numpy as np
import pytest

from bayesnb.base import to_sites
from bayesnb.families import DirichletCategorical, DirichletClasses
from bayesnb.statistics import Counts, one_hot

from ..laws import FAMILIES, assert_same, case, jitted, log_joint
from .twin import EXTREMES, check_evidence, check_fields, check_predictive, log_beta

FAMILY = next(f for f in FAMILIES if f.name == "categorical")


def update(x: list[Any], alpha: list[Any]) -> tuple[Any, ...]:
    return ([a + x.count(k) for k, a in enumerate(alpha)],)


def evidence(x: list[Any], alpha: list[Any]) -> Any:
    """BDA3 §3.4: B(α + n)/B(α)."""
    return log_beta(*update(x, alpha)[0]) - log_beta(*alpha)


def predictive(x: Any, alpha: list[Any]) -> Any:
    return mp.log(alpha[int(x)] / sum(alpha))


def test_textbook_page() -> None:
    this = case(FAMILY)
    posterior = this.posterior.blocks["x"]
    check_fields(posterior, update, this.block, this.x, this.y)
    check_evidence(this.block, evidence, this.x, this.y)
    check_predictive(posterior, predictive, this.x)


def test_concentrations_from_1e_minus_10_to_1e10(rng: np.random.Generator) -> None:
    alpha = np.stack(np.broadcast_arrays(EXTREMES[:, None], EXTREMES, 1.0), -1)  # (5, 5, 3): every pair, beside a 1
    prior = DirichletCategorical(alpha)
    x, y = rng.integers(0, 3, (30, 5)).astype(float), np.arange(30) % 5
    check_evidence(prior, evidence, x, y, rtol=1e-9)
    check_predictive(prior, predictive, x, rtol=1e-9)
    check_predictive(prior.update(prior.suffstats(x, one_hot(y, 5))), predictive, x, rtol=1e-9)


@pytest.mark.parametrize("unseen", [-1.0, 3.0, 7.0])
@pytest.mark.usefixtures("x64")
def test_codes_outside_the_levels_are_missing(unseen: float) -> None:
    """Also in the NumPyro twin."""
    this = case(FAMILY)
    other = np.where(np.isnan(this.x), unseen, this.x)
    block = this.posterior.blocks["x"]
    assert_same(block.suffstats(other, this.r), block.suffstats(this.x, this.r), rtol=0)
    assert_same(block.log_predictive(other), block.log_predictive(this.x), rtol=0)
    assert_same(block.log_predictive(jax.numpy.asarray(other)), block.log_predictive(this.x))
    sites = this.prior.to_sites(this.prior.sample(this.rng))
    joints = [float(jitted(log_joint(this.prior.model, {"x": x}, this.y))(sites)) for x in (other, this.x)]
    assert joints[0] == pytest.approx(joints[1], rel=1e-12)


@pytest.mark.parametrize(
    ("alpha", "mode"),
    [([3, 2, 2], [1 / 2, 1 / 4, 1 / 4]), ([3, 2, 1], [2 / 3, 1 / 3, 0]), ([3, 0.5, 0.2], [1, 0, 0]),
     ([1, 1, 1], [1 / 3] * 3), ([0.5, 0.25, 0.25], [0.5, 0.25, 0.25])],
)  # fmt: skip
def test_mode(alpha: list[float], mode: list[float]) -> None:
    """Inside, on a face, in a corner, and the mean where no α is above 1."""
    block = DirichletCategorical(np.array([[alpha]], float))
    np.testing.assert_allclose(to_sites(block.mode())["theta"][0, 0], mode, rtol=1e-14, atol=1e-300)
    assert block.on_boundary() == (min(alpha) <= 1)
    pi = DirichletClasses(np.array(alpha, float))
    np.testing.assert_allclose(to_sites(pi.mode())["pi"], mode, rtol=1e-14, atol=1e-300)
    assert pi.on_boundary() == (min(alpha) <= 1)


def test_mle_and_linear_form() -> None:
    prior = DirichletCategorical(np.full((1, 2, 2), 2.0))
    theta = prior.mle(Counts(np.array([[[1.0, 3.0], [0.0, 0.0]]]), np.zeros((1, 2))))
    np.testing.assert_allclose(to_sites(theta)["theta"], [[[0.25, 0.75], [0.5, 0.5]]])  # no data: the prior's mean
    weights, intercept = prior.linear_form(theta)
    x = np.array([[1.0, 0.0]])
    hot = np.array([[0.0, 1.0, 1.0, 0.0]])
    np.testing.assert_allclose(hot @ weights + intercept, prior.log_likelihood(theta, x), rtol=1e-14)


def test_class_prior_page() -> None:
    """(N_c + α_c)/(N + Σα), and p(y) as one draw after the other."""
    alpha, y = np.array([0.5, 2.0, 1.0]), [0, 0, 1, 0]
    total, seen = mp.mpf(0), [mp.mpf(a) for a in alpha]
    for label in y:
        total += mp.log(seen[label] / sum(seen))
        seen[label] += 1
    n = np.bincount(y, minlength=3).astype(float)
    assert DirichletClasses(alpha).log_marginal(n) == pytest.approx(float(total), rel=1e-14)
    want = [float(mp.log(a / sum(seen))) for a in seen]
    np.testing.assert_allclose(DirichletClasses(alpha).update(n).log_predictive(), want, rtol=1e-14)
