"""Simulation-based calibration of every family: the posterior of simulated rows covers what they were simulated from.

    θ ~ p(θ),   (X, y) ~ p(X, y | θ),   θ_1 … θ_L ~ p(θ | X, y)

Then θ, θ_1 … θ_L are exchangeable, so that the rank of q(θ) among q(θ_1) … q(θ_L) is uniform on 0 … L, for every
scalar q. NumPyro's half of a page draws θ, X and y; the closed form updates and draws θ_1 … θ_L: a wrong statement,
update or sampler each leaves other ranks. The scalars are all parameters and log p(X, y | θ), without which the prior,
returned as the posterior, would pass.

By hand: simuk 0.3, ArviZ's library for this, runs NumPyro's `MCMC` afresh on every data set, so that it is NUTS that
is tested, at seconds each; it ranks one parameter at a time, so never the log likelihood; and it needs CPython 3.12.

The error rate is that of all families and quantities together. At it, 500 simulations tell a posterior that is a third
of its standard deviation off in three of four cases; the log likelihood tells what no single parameter does.

Not here: a kernel density, whose bandwidth has a leave-one-out product for a likelihood. That is no distribution of
rows given a bandwidth, so there is nothing to draw the rows from.

References
----------
Talts, Betancourt, Simpson, Vehtari & Gelman (2018), arXiv:1804.06788, theorem 1 and algorithm 1.
Modrák et al. (2023), Bayesian Analysis, doi:10.1214/23-BA1404, §3: the log likelihood among the quantities.
"""

import functools
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import jax
import numpy as np
import pytest
import scipy.stats as st
from numpyro.handlers import uncondition
from numpyro.infer import Predictive

from bayesnb.core.supports import COMPOSITE, GIVEN_TOTALS
from bayesnb.families import (
    BetaBernoulli,
    DirichletClasses,
    DirichletComplement,
    DirichletMultinomial,
)
from bayesnb.naive_bayes import NaiveBayes, Parameters, Statistics
from bayesnb.statistics import one_hot

from ..laws import FAMILIES, C, Family, jitted, positive

SIMULATIONS, DRAWS, BINS, ROWS, FEATURES = 500, 99, 20, 8, 2
FEWER, MORE = 200, 1000  # simulations for what is told at once, and for what is hard to tell
FALSE_ALARMS = 1e-4  # of all families and quantities together: Bonferroni

QUICK = ("bernoulli",)  # a family takes 5 to 10 seconds, half of them to compile NumPyro's samplers
each_family = pytest.mark.parametrize(
    "family", [pytest.param(f, id=f.name, marks=() if f.name in QUICK else pytest.mark.slow) for f in FAMILIES]
)

Draw = Callable[[NaiveBayes, Statistics, np.random.Generator], Parameters]


@dataclass(frozen=True)
class Simulated:
    """Parameters by NumPyro site (s, …), rows (s, n, d) and labels (s, n), all from one prior."""

    prior: NaiveBayes
    sites: dict[str, np.ndarray]
    x: np.ndarray
    y: np.ndarray


def simulate(prior: NaiveBayes, rows: np.ndarray | None, seed: int = 0) -> Simulated:
    """Everything drawn by the NumPyro model; of given rows only the lengths are used."""
    with jax.enable_x64(True):
        given = None if rows is None else {"x": rows}
        twin = Predictive(uncondition(prior.model), num_samples=MORE, parallel=True)

        def draw(key: Any) -> Any:
            return twin(key, given, n=ROWS)

        drawn = (draw if given else jitted(draw))(jax.random.key(seed))  # NumPyro needs lengths that it can read
        found = {name: np.array(value) for name, value in drawn.items()}
    x, y = found.pop("x"), found.pop("y")
    return Simulated(prior, found, x.astype(float), y)


@functools.cache
def simulated(name: str) -> Simulated:
    """The data sets of a family; every tenth cell missing where it takes that."""
    family = next(family for family in FAMILIES if family.name == name)
    rng, d = np.random.default_rng(0), max(FEATURES, family.d)
    block, alpha = family.prior(rng, d), positive(rng, C)
    if family.composite:  # a row speaks for all other classes: a likelihood only where there is one other
        block, alpha = jax.tree.map(lambda leaf: leaf[:2], (block, alpha))
    shared = block.cells_.measure in (GIVEN_TOTALS, COMPOSITE)  # counts of a row whose total is given
    lengths = family.rows(rng, ROWS, d) if shared else None
    found = simulate(NaiveBayes(DirichletClasses(alpha), {"x": block}), lengths)
    x = found.x
    if family.composite:  # the twin has drawn a row of each class; the one seen is of the class that it is not
        x = np.take_along_axis(x, (1 - found.y)[..., None, None], 2)[:, :, 0]
    if family.missing:
        x[rng.random(x.shape) < 0.1] = np.nan
    return replace(found, x=x)


def exact(prior: NaiveBayes, stats: Statistics, rng: np.random.Generator) -> Parameters:
    """Posterior draws."""
    return prior.update(stats).sample(rng, (DRAWS,))


def of_the_prior(prior: NaiveBayes, stats: Statistics, rng: np.random.Generator) -> Parameters:
    """What looks at no data."""
    return prior.sample(rng, (DRAWS,))


def quantities(prior: NaiveBayes, theta: Parameters, x: np.ndarray, y: np.ndarray) -> dict[str, np.ndarray]:
    """Every parameter and the log likelihood, (s,) each."""
    found = {}
    for name, value in prior.to_sites(theta).items():
        found |= {f"{name}{list(at)}": value[:, *at] for at in np.ndindex(value.shape[1:])}
    table = prior.log_joint({"x": x}, theta)
    return found | {"log likelihood": table[:, np.arange(len(y)), y].sum(-1)}


def p_values(data: Simulated, draw: Draw = exact, simulations: int = SIMULATIONS) -> dict[str, float]:
    """Pearson's χ² of the ranks of each quantity, in bins of equally many ranks."""
    rng = np.random.default_rng(1)
    ranks: dict[str, list[int]] = {}
    for s, x, y in zip(range(simulations), data.x, data.y, strict=False):
        truth = data.prior.from_sites({name: value[s : s + 1] for name, value in data.sites.items()})
        stats = data.prior.suffstats({"x": x}, one_hot(y, len(data.prior.classes.mean()["log_pi"])))
        theta = jax.tree.map(lambda *parts: np.concatenate(parts), truth, draw(data.prior, stats, rng))
        for name, values in quantities(data.prior, theta, x, y).items():
            ranks.setdefault(name, []).append(int((values[1:] < values[0]).sum()))
    width = (DRAWS + 1) // BINS
    counts = {name: np.bincount(np.array(found) // width, minlength=BINS) for name, found in ranks.items()}
    return {name: float(st.chisquare(seen).pvalue) for name, seen in counts.items()}


def off(found: dict[str, float]) -> dict[str, float]:
    """Quantities whose ranks are not uniform, at this family's and each quantity's share of the false alarms."""
    return {name: p for name, p in found.items() if p < FALSE_ALARMS / len(FAMILIES) / len(found)}


@pytest.mark.slow
@each_family
def test_ranks_are_uniform(family: Family) -> None:
    assert off(p_values(simulated(family.name))) == {}


# --- what it can tell -----------------------------------------------------------------------------------------------


@pytest.mark.slow
@each_family
def test_the_prior_as_posterior_is_told_by_the_log_likelihood_alone(family: Family) -> None:
    assert off(p_values(simulated(family.name), of_the_prior, FEWER)).keys() == {"log likelihood"}


def one_count_too_many(prior: NaiveBayes, stats: Statistics, rng: np.random.Generator) -> Parameters:
    posterior = prior.update(stats)
    block = posterior.blocks["x"]
    assert isinstance(block, BetaBernoulli)
    return replace(posterior, blocks={"x": replace(block, a=block.a + 1)}).sample(rng, (DRAWS,))


def means_of_other_variances(prior: NaiveBayes, stats: Statistics, rng: np.random.Generator) -> Parameters:
    """Both marginals are right, but μ does not know its σ²."""
    theta = exact(prior, stats, rng)
    return theta | {"x": theta["x"] | {"mu": np.roll(theta["x"]["mu"], 1, 0)}}


@pytest.mark.parametrize(
    ("name", "draw", "simulations", "told_by"),
    [
        ("bernoulli", one_count_too_many, FEWER, "theta"),
        pytest.param("gaussian", means_of_other_variances, MORE, "log likelihood", marks=pytest.mark.slow),
    ],
)
def test_a_wrong_update_or_sampler_is_told(name: str, draw: Draw, simulations: int, told_by: str) -> None:
    found = off(p_values(simulated(name), draw, simulations))
    assert {quantity.split("[")[0] for quantity in found} >= {told_by}
    assert not any(quantity.startswith("pi") for quantity in found)  # the classes are right


def test_a_twin_that_says_another_prior_is_told() -> None:
    data = simulated("bernoulli")
    block = data.prior.blocks["x"]
    assert isinstance(block, BetaBernoulli)
    other = replace(data, prior=replace(data.prior, blocks={"x": replace(block, b=block.b + 1)}))
    assert {quantity.split("[")[0] for quantity in off(p_values(other, simulations=FEWER))} >= {"theta"}


@pytest.mark.slow
def test_the_complement_of_three_classes_is_no_posterior() -> None:
    """Why it has two classes above: with more it pools rows of several classes, as if of one distribution of words.

    Rows of the multinomial model; the truth about class c is the words of all others, mixed as π mixes them.
    """
    data = simulated("multinomial")
    pi, block = data.sites["pi"][..., None], data.prior.blocks["x"]
    assert isinstance(block, DirichletMultinomial)
    mixed = pi * data.sites["theta"]
    others = (mixed.sum(1, keepdims=True) - mixed) / (1 - pi)
    prior = replace(data.prior, blocks={"x": DirichletComplement(block.alpha)})
    found = off(p_values(replace(data, prior=prior, sites=data.sites | {"theta": others})))
    assert {quantity.split("[")[0] for quantity in found} >= {"theta"}
