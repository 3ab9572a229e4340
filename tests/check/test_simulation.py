"""Simulation-based calibration passes for every family, and tells a posterior that is not the model's."""

from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from matplotlib.figure import Figure
from scipy.special import expit, logit
from scipy.stats import kstwo

from bayesnb import BernoulliNB, GaussianNB, KernelNB, MixedNB, PoissonNB, plots
from bayesnb.families import DirichletClasses, NormalInverseGamma
from bayesnb.models.naive_bayes import NaiveBayes, Parameters
from bayesnb.posterior.chains import Twin, run_chains
from bayesnb.sums.statistics import one_hot
from bayesnb.testing import random_case, simulation_based_calibration

from ..estimators_table import mostly_slow
from ..laws import FAMILIES, Family, positive

BY_NAME = {family.name: family for family in FAMILIES}
MANY = {"simulations": 1000, "false_alarm": 1e-5}


Change = Callable[[NaiveBayes, NaiveBayes, int, np.random.Generator], Parameters]


def exact(prior: NaiveBayes, posterior: NaiveBayes, draws: int, rng: np.random.Generator) -> Parameters:
    return posterior.sample(rng, (draws,))


def of_the_prior(prior: NaiveBayes, posterior: NaiveBayes, draws: int, rng: np.random.Generator) -> Parameters:
    return prior.sample(rng, (draws,))


def ten_per_cent_off(prior: NaiveBayes, posterior: NaiveBayes, draws: int, rng: np.random.Generator) -> Parameters:
    """Logarithms, logits, locations and matrices 10 % further from their mean."""
    theta = exact(prior, posterior, draws, rng)
    return theta | {"x": {name: value.mean(0) + 1.1 * (value - value.mean(0)) for name, value in theta["x"].items()}}


def calibrated(family: Family, change: Change, **settings: Any) -> Any:
    """The ranks of a family under a posterior that is changed.

    Complement draws no rows. Of two classes a row of one speaks for the other, so the multinomial draws them.
    """
    rng = np.random.default_rng(0)
    block = family.prior(rng, 2)
    if family.composite:
        block = jax.tree.map(lambda leaf: leaf[:2], block)
    c = block.shape[0]
    prior = NaiveBayes(DirichletClasses(positive(rng, c)), {"x": block})

    def model() -> None:
        if not family.composite:
            return prior.model(None, n=8, length=5)
        pi = numpyro.sample("pi", dist.Dirichlet(prior.classes.alpha))
        theta = numpyro.sample("theta", dist.Dirichlet(block.alpha).to_event(1))
        with numpyro.plate("row", 8):
            y = numpyro.sample("y", dist.Categorical(pi))
            numpyro.sample("x", dist.Multinomial(5, theta[1 - y]))

    def posterior(data: dict[str, np.ndarray], draws: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
        after = prior.update(prior.suffstats({"x": data["x"].astype(float)}, one_hot(data["y"], c)))
        return prior.to_sites(change(prior, after, draws, rng))

    return simulation_based_calibration(model, posterior, **MANY | settings)


# each of them takes seconds, most of them to compile: by default a Bernoulli model stands for all
@pytest.mark.parametrize("family", mostly_slow(FAMILIES, lambda f: f.name == "bernoulli"), ids=lambda f: f.name)
@pytest.mark.slow
def test_ranks_are_uniform(family: Family) -> None:
    row = calibrated(family, exact)
    assert row.passed, row
    assert all(((u > 0) & (u < 1)).all() and len(u) == 1000 for u in row.pit.values())


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES, ids=lambda f: f.name)
def test_ranks_of_a_wrong_posterior_are_not(family: Family) -> None:
    """The prior is told by the log likelihood alone; a scale that is ten per cent off, too."""
    row = calibrated(family, of_the_prior, simulations=200)
    assert not row.passed and row.remark.startswith("log likelihood is off")
    row = calibrated(family, ten_per_cent_off, simulations=2000)
    assert not row.passed and not row.remark.startswith("pi is off")


@pytest.mark.slow
def test_of_an_estimator() -> None:
    X, y = np.array([[0.0, 1], [1, 0], [1, 1], [0, 0]]), [0, 1, 0, 1]
    mixed = MixedNB([("counts", PoissonNB(), [0]), ("bits", BernoulliNB(), [1])]).fit(X, y)
    row = simulation_based_calibration(mixed, simulations=200, rows=6, seed=1)
    assert row.passed and set(row.pit) == {"pi", "counts.rate", "bits.theta", "log likelihood"}


def test_what_cannot_draw_rows_is_refused() -> None:
    X, y = np.array([[0.0, 1], [1, 0], [1, 1], [0, 0]]), [0, 1, 0, 1]
    with pytest.raises(ValueError, match="cannot draw rows"):
        simulation_based_calibration(KernelNB().fit(X, y))
    with pytest.raises(ValueError, match="`prior` is improper"):
        simulation_based_calibration(GaussianNB(known_variance=1.0, prior={"m": 0.0, "kappa": 0.0}).fit(X, y))


def test_of_a_family() -> None:
    block = NormalInverseGamma(0.0, 1.0, 3.0, 1.0)
    row = simulation_based_calibration(block, simulations=100, draws=9)
    assert row.pit["mu"].shape == (100, 12) and "100 simulations, 9 draws" in row.remark
    assert row.threshold == pytest.approx(0.01 / (3 * (3 + 12 + 12 + 1)))
    ax = plots.pit(row, ax=Figure().subplots())
    assert {line.get_label() for line in ax.get_lines()} >= {"pi", "mu", "variance", "log likelihood"}
    assert ax.patches[0].get_height() == pytest.approx(2 * kstwo.isf(row.threshold, 100))
    assert random_case(block).prior.blocks["x"].shape == (3, 4)


def test_a_parameter_of_few_values_has_ties() -> None:
    def model() -> None:
        z = numpyro.sample("z", dist.Bernoulli(0.3))
        numpyro.sample("x", dist.Normal(z, 1.0))

    def posterior(data: dict[str, np.ndarray], draws: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
        return {"z": (rng.random(draws) < expit(logit(0.3) + data["x"] - 0.5)).astype(int)}

    assert simulation_based_calibration(model, posterior, observed=["x"], simulations=300).passed


@pytest.mark.slow
def test_of_a_numpyro_model_by_nuts() -> None:
    def model() -> None:
        rate = numpyro.sample("rate", dist.Gamma(2.0, 1.0))
        with numpyro.plate("row", 10):
            numpyro.sample("x", dist.Poisson(rate))

    def too_many(data: dict[str, np.ndarray], draws: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
        return {"rate": rng.gamma(3.0 + data["x"].sum(), 1 / 11.0, draws)}

    assert simulation_based_calibration(model, observed=["x"], simulations=300).passed
    assert not simulation_based_calibration(model, too_many, observed=["x"]).passed


@pytest.mark.slow
def test_chains_run_on_data_of_more_than_3000_numbers() -> None:
    """Such a program is compiled with XLA's optimisation."""

    def model(x: np.ndarray) -> None:
        mean = numpyro.sample("mean", dist.Normal(0, 1))
        numpyro.sample("x", dist.Normal(mean, 1).expand(x.shape).to_event(), obs=x)

    twin = Twin(model, (np.ones(3001),))
    sites, stats = run_chains(twin, {"mean": np.ones(2)}, np.full(1, 1 / 3002), 0, draws=50, warmup=50)
    assert not twin.is_small
    assert sites["mean"].shape == stats["diverging"].shape == (2, 50)
    assert abs(sites["mean"].mean() - 3001 / 3002) < 5 / np.sqrt(3002)
