"""Normal with known variance against its textbook page."""

from typing import Any

import mpmath as mp
import numpy as np

from bayesnb.families import KnownVarianceNormal
from bayesnb.statistics import Moments, one_hot

from ..laws import FAMILIES, case
from .twin import EXTREMES, check_evidence, check_fields, check_predictive

FAMILY = next(f for f in FAMILIES if f.name == "known_gaussian")


def update(x: list[Any], m: Any, kappa: Any, variance: Any, log_c: Any) -> tuple[Any, ...]:
    """Murphy (2007), (20) and (24), with prior variance σ²/κ; log_c by completing the square."""
    n = len(x)
    centre = (kappa * m + sum(x)) / (kappa + n)
    energy = m * m * kappa + sum(value * value for value in x) - centre * centre * (kappa + n)
    return centre, kappa + n, variance, log_c - n * mp.log(variance) / 2 - energy / (2 * variance)


def normal(x: Any, m: Any, variance: Any) -> Any:
    return -(mp.log(2 * mp.pi * variance) + (x - m) ** 2 / variance) / 2


def predictive(x: Any, m: Any, kappa: Any, variance: Any, log_c: Any) -> Any:
    """Murphy (2007), (36): the variances of μ and of x add."""
    return normal(x, m, variance + variance / kappa)


def evidence(x: list[Any], m: Any, kappa: Any, variance: Any, log_c: Any) -> Any:
    """One value after the other, each from its predictive: the chain rule of probability."""
    total: Any = mp.mpf(0)
    now = m, kappa, variance, log_c
    for value in x:
        total += predictive(value, *now)
        now = update([value], *now)
    return total


def test_textbook_page() -> None:
    this = case(FAMILY)
    posterior = this.posterior.blocks["x"]
    check_fields(posterior, update, this.block, this.x, this.y)
    check_evidence(this.block, evidence, this.x, this.y)
    check_predictive(posterior, predictive, this.x)


def test_pseudo_rows_from_1e_minus_10_to_1e10(rng: np.random.Generator) -> None:
    kappa, variance = np.meshgrid(EXTREMES, EXTREMES)
    prior = KnownVarianceNormal(np.full((5, 5), 0.5), kappa, variance, np.zeros((5, 5)))
    x, y = rng.normal(1, 2, (30, 5)), np.arange(30) % 5
    check_evidence(prior, evidence, x, y, rtol=1e-9)
    check_predictive(prior, predictive, x, rtol=1e-9)
    check_predictive(prior.update(prior.suffstats(x, one_hot(y, 5))), predictive, x, rtol=1e-9)


def test_evidence_keeps_its_digits_beside_a_large_log_c() -> None:
    """A posterior of many rows has a large log_c; the evidence of the next row must not be a difference of two such."""
    posterior = KnownVarianceNormal(*(np.full((1, 1), value) for value in (0.0, 50.0, 1e-10, -1e12)))
    check_evidence(posterior, evidence, np.array([[1e-5]]), np.zeros(1, int))


def test_variance_stays_and_mle_is_the_mean() -> None:
    this = case(FAMILY)
    block = this.posterior.blocks["x"]
    assert (block.variance == this.block.variance).all()
    assert (block.mode()["mu"] == block.m).all() and (block.mean()["mu"] == block.m).all()
    stats = Moments(*(np.array([row]) for row in ([4.0, 0.0], [7.0, 0.0], [8.0, 0.0])))
    prior = KnownVarianceNormal(*(np.full((1, 2), value) for value in (1.0, 2.0, 3.0, 0.0)))
    np.testing.assert_array_equal(prior.mle(stats)["mu"], [[7.0, 1.0]])  # no data: the prior's centre
