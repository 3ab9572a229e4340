"""Examples worked in textbooks, with the numbers printed there, each to the digits printed."""

from typing import Any

import numpy as np
import pytest

from bayesnb.families import (
    BetaBernoulli,
    DirichletClasses,
    DirichletMultinomial,
    GammaPoisson,
    NormalInverseGamma,
)
from bayesnb.families.base import to_sites
from bayesnb.models.naive_bayes import CLASS, NaiveBayes
from bayesnb.sums.statistics import Totals, one_hot


def printed(value: Any, *numbers: float, digits: int) -> None:
    """The values, rounded to the decimals printed in the book, are the numbers printed there."""
    np.testing.assert_allclose(np.round(np.ravel(value), digits), numbers, rtol=0, atol=10.0**-digits / 1000)


def cell(value: float) -> np.ndarray:
    """One class, one feature."""
    return np.full((1, 1), value, float)


def beta(a: float, b: float, ones: int, zeros: int) -> BetaBernoulli:
    """Posterior of a coin after some throws."""
    prior = BetaBernoulli(cell(a), cell(b))
    x = np.repeat([1.0, 0.0], [ones, zeros])[:, None]
    return prior.update(prior.suffstats(x, np.ones((len(x), 1))))


# Manning, Raghavan & Schütze (2008), Introduction to Information Retrieval, Cambridge University Press, Table 13.1.
WORDS = ["Beijing", "Chinese", "Japan", "Macao", "Shanghai", "Tokyo"]
DOCUMENTS = ["Chinese Beijing Chinese", "Chinese Chinese Shanghai", "Chinese Macao", "Tokyo Japan Chinese"]
CHINA = np.array([0, 0, 0, 1])  # classes c = China, c̄
COUNTS = np.array([[text.split().count(word) for word in WORDS] for text in DOCUMENTS], float)
D5 = np.array([["Chinese Chinese Chinese Tokyo Japan".split().count(word) for word in WORDS]], float)


def test_multinomial_china() -> None:
    """Manning et al. (2008), §13.2, Example 13.1: add-one smoothing is the posterior mean under Dirichlet(1)."""
    nb = NaiveBayes(DirichletClasses(np.ones(2)), {"x": DirichletMultinomial(np.ones((2, 6)))})
    stats = nb.suffstats({"x": COUNTS}, one_hot(CHINA, 2))
    theta = nb.update(stats).mean() | {CLASS: nb.mle(stats)[CLASS]}  # the book smooths words, not classes
    sites = nb.to_sites(theta)
    np.testing.assert_allclose(sites["pi"], [3 / 4, 1 / 4])
    np.testing.assert_allclose(sites["theta"][:, [1, 5, 2]], [[3 / 7, 1 / 14, 1 / 14], [2 / 9, 2 / 9, 2 / 9]])
    orders = 20  # 5!/(3! 1! 1!), which the book leaves out
    printed(np.exp(nb.log_joint({"x": D5}, theta)) / orders, 0.0003, 0.0001, digits=4)


def test_beta_placenta_previa() -> None:
    """Gelman et al. (2013), Bayesian Data Analysis, 3rd ed., §2.4, pp. 37–38: 437 girls among 980 births."""
    posterior = beta(1, 1, ones=437, zeros=980 - 437)
    assert (posterior.a.item(), posterior.b.item()) == (438, 544)
    marginal = posterior.marginals()["theta"]
    printed(to_sites(posterior.mean())["theta"], 0.446, digits=3)
    printed([marginal.std(), marginal.median()], 0.016, 0.446, digits=3)
    printed(marginal.interval(0.95), 0.415, 0.477, digits=3)


@pytest.mark.parametrize(
    ("deaths", "exposure", "shape", "rate", "mean", "above"),
    [(3, 2.0, 6, 7, 0.86, 0.30), (30, 20.0, 33, 25, 1.32, 0.93)],
)
def test_poisson_asthma(deaths: float, exposure: float, shape: float, rate: float, mean: float, above: float) -> None:
    """Gelman et al. (2013), §2.6: asthma mortality per 100,000 a year under Gamma(3, 5), after one year and after ten.

    Exposure takes the place of the number of rows. `above` is Pr(θ > 1 | y).
    """
    posterior = GammaPoisson(cell(3.0), cell(5.0)).update(Totals(cell(exposure), cell(deaths), cell(0.0)))
    assert (posterior.a.item(), posterior.b.item()) == (shape, rate)
    printed(to_sites(posterior.mean())["rate"], mean, digits=2)
    printed(posterior.marginals()["rate"].sf(1), above, digits=2)


WINGS = np.array([[1.64], [1.70], [1.72], [1.74], [1.82], [1.82], [1.82], [1.90], [2.08]])  # millimetres


def test_normal_midge_wings() -> None:
    """Hoff (2009), §5.3: κ₀ = ν₀ = 1, μ₀ = 1.9, σ₀² = 0.01; a = ν/2 and b = νσ²/2 here."""
    prior = NormalInverseGamma(cell(1.9), cell(1.0), cell(0.5), cell(0.005))
    stats = prior.suffstats(WINGS, np.ones((9, 1)))
    printed(stats.mean, 1.804, digits=3)
    printed(stats.ss / 8, 0.0169, digits=4)
    posterior = prior.update(stats)
    assert (posterior.kappa.item(), 2 * posterior.a.item()) == (10, 10)
    printed(posterior.m, 1.814, digits=3)
    printed(posterior.b / posterior.a, 0.015, digits=3)
