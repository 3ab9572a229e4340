"""The pages of cells against textbooks: one table of updates and predictives, as loops with 50 digits.

The evidence follows by the chain rule: each value from its predictive, given those before it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import mpmath as mp
import numpy as np
import pytest

from bayesnb import families
from bayesnb.families.base import to_sites
from bayesnb.sums.statistics import Counts, Moments, Totals, one_hot

from ..laws import FAMILIES, assert_same, case, jitted, log_joint

mp.mp.dps = 50  # the tests' own precision; nothing else uses mpmath
EXTREMES = np.array([1e-8, 1e-3, 1.0, 1e3, 1e8])
ATOL = 1e-12  # an error of 1e-12 in a log is one of 1e-12 of the probability; some logs here are 1e-20


def log_beta(*alpha: Any) -> Any:
    """log B(α) = Σ_k log Γ(α_k) − log Γ(Σ_k α_k)."""
    return mp.fsum(map(mp.loggamma, alpha)) - mp.loggamma(mp.fsum(alpha))


def log_choose(n: Any, k: Any) -> Any:
    return mp.loggamma(n + 1) - mp.loggamma(k + 1) - mp.loggamma(n - k + 1)


def normal_update(x: Any, m: Any, kappa: Any) -> tuple[Any, Any, Any]:
    """Centre, pseudo-rows, and Σx² + m²κ − m_n²κ_n. Murphy (2007), (85)–(89), in his raw form."""
    centre = (kappa * m + x) / (kappa + 1)
    return centre, kappa + 1, m * m * kappa + x * x - centre * centre * (kappa + 1)


def gaussian_update(x: Any, m: Any, kappa: Any, a: Any, b: Any) -> tuple[Any, ...]:
    centre, rows, energy = normal_update(x, m, kappa)
    return centre, rows, a + mp.mpf(1) / 2, b + energy / 2


def known_update(x: Any, m: Any, kappa: Any, variance: Any, log_c: Any) -> tuple[Any, ...]:
    centre, rows, energy = normal_update(x, m, kappa)
    return centre, rows, variance, log_c - mp.log(variance) / 2 - energy / (2 * variance)


def student(x: Any, m: Any, kappa: Any, a: Any, b: Any) -> Any:
    """Murphy (2007), (100): Student t with 2a degrees of freedom and squared scale b(κ+1)/(aκ)."""
    nu, s2 = 2 * a, b * (kappa + 1) / (a * kappa)
    constant = mp.loggamma((nu + 1) / 2) - mp.loggamma(nu / 2) - mp.log(nu * mp.pi * s2) / 2
    return constant - (nu + 1) / 2 * mp.log(1 + (x - m) ** 2 / (nu * s2))


@dataclass(frozen=True)
class Page:
    """A family as its textbook has it.

    Fields
    ------
    update : (cell, *hyperparameters) → hyperparameters
    predictive : (cell, *hyperparameters) → log p
    extreme : two tables of extremes → prior
    modes : hyperparameters → parameters at the joint mode
    mle : statistics, and parameters there under a prior of 2 and 3; without a cell the prior's mean
    """

    update: Callable[..., tuple[Any, ...]]
    predictive: Callable[..., Any]
    extreme: Callable[[np.ndarray, np.ndarray], Any]
    modes: tuple[tuple[tuple[Any, ...], Any], ...] = ()
    mle: tuple[Any, Any] | None = None


BETA = tuple(
    (given, (mode,))
    for given, mode in (((3, 2), 2 / 3), ((1, 2), 0), ((2, 0.5), 1), ((1, 1), 1 / 2), ((0.5, 0.25), 2 / 3))
)
GAMMA = ((3.0, 4.0), (0.5,)), ((1.0, 4.0), (0.0,)), ((0.5, 4.0), (0.0,)), ((1.5, 0.1), (5.0,))
NONE = np.zeros((1, 3))
MOMENTS = Moments(*(np.array([row]) for row in ([4.0, 0.0], [7.0, 0.0], [8.0, 0.0])))
PAGES = {
    "bernoulli": Page(  # BDA3 §2.4
        lambda x, a, b: (a + x, b + 1 - x),
        lambda x, a, b: mp.log((a if x else b) / (a + b)),
        families.BetaBernoulli,
        BETA,
        (Counts(np.array([[[3.0, 1.0], [0.0, 2.0], [0.0, 0.0]]]), NONE), [[0.25, 1, 0.4]]),
    ),
    "categorical": Page(  # BDA3 §3.4
        lambda x, alpha: ([a + (x == k) for k, a in enumerate(alpha)],),
        lambda x, alpha: mp.log(alpha[int(x)] / sum(alpha)),
        lambda a, b: families.DirichletCategorical(np.stack([a, b, np.ones_like(a)], -1)),
        tuple(
            ((alpha,), (mode,))
            for alpha, mode in (
                ([3, 2, 2], [1 / 2, 1 / 4, 1 / 4]), ([3, 2, 1], [2 / 3, 1 / 3, 0]), ([3, 0.5, 0.2], [1, 0, 0]),
                ([1, 1, 1], [1 / 3] * 3), ([0.5, 0.25, 0.25], [0.5, 0.25, 0.25]),
            )
        ),
    ),
    "poisson": Page(  # BDA3 §2.6: negative binomial
        lambda x, a, b: (a + x, b + 1),
        lambda x, a, b: log_choose(a + x - 1, x) + a * mp.log(b / (b + 1)) - x * mp.log(b + 1),
        families.GammaPoisson,
        GAMMA,
        (Totals(np.array([[4.0, 2.0, 0.0]]), np.array([[6.0, 0.0, 0.0]]), NONE), [[1.5, 0, 2 / 3]]),
    ),
    "exponential": Page(  # Lomax
        lambda x, a, b: (a + 1, b + x),
        lambda x, a, b: mp.log(a / b) - (a + 1) * mp.log(1 + x / b),
        families.GammaExponential,
        GAMMA,
        (Totals(np.array([[4.0, 2.0, 0.0]]), np.array([[8.0, 1.0, 0.0]]), NONE), [[0.5, 2.0, 2 / 3]]),
    ),
    "geometric": Page(  # B(a+1, b+x)/B(a, b)
        lambda x, a, b: (a + 1, b + x),
        lambda x, a, b: log_beta(a + 1, b + x) - log_beta(a, b),
        families.BetaGeometric,
        BETA,
        (Totals(np.array([[4.0, 2.0, 0.0]]), np.array([[12.0, 0.0, 0.0]]), NONE), [[0.25, 1, 0.4]]),
    ),
    "negative_binomial": Page(  # with 2.5 stops
        lambda x, a, b: (a + x, b + 2.5),
        lambda x, a, b: log_choose(x + 1.5, x) + log_beta(a + x, b + 2.5) - log_beta(a, b),
        lambda a, b: families.BetaNegativeBinomial(a, b, 2.5),
        BETA,
    ),
    "gaussian": Page(
        gaussian_update,
        student,
        lambda kappa, a: families.NormalInverseGamma(0 * a + 0.5, kappa, a, 0 * a + 1e-3),
        (((1.0, 3.0, 2.0, 6.0), (1.0, 6 / 3.5)), ((2.0, 3.0, 0.5, 6.0), (2.0, 3.0))),
        (MOMENTS, [[7.0, 2.0], [2.0, 1.5]]),
    ),
    "log_normal": Page(
        lambda x, *given: gaussian_update(mp.log(x), *given),
        lambda x, *given: student(mp.log(x), *given) - mp.log(x),
        lambda kappa, a: families.LogNormal(0 * a + 0.5, kappa, a, 0 * a + 1e3),
    ),
    "known_gaussian": Page(  # Murphy (2007), (36): the variances of μ and of x add
        known_update,
        lambda x, m, kappa, v, _: mp.log(mp.npdf(x, m, mp.sqrt(v + v / kappa))),
        lambda kappa, v: families.KnownVarianceNormal(0 * v + 0.5, kappa, v, 0 * v),
        (((1.0, 2.0, 3.0, 0.0), (1.0,)),),
        (MOMENTS, [[7.0, 2.0]]),
    ),
}  # fmt: skip


def exact(block: Any, c: int, j: int) -> list[Any]:
    """Hyperparameters of cell (c, j), as exact numbers; a list of them where the field has one."""
    fields = [leaf[c, j] for leaf in jax.tree.leaves(block)]
    return [[*map(mp.mpf, field.tolist())] if np.ndim(field) else mp.mpf(float(field)) for field in fields]


def check(page: Page, prior: Any, x: np.ndarray, y: np.ndarray, rtol: float) -> None:
    """Update, evidence and predictive, cell by cell."""
    stats = prior.suffstats(x, one_hot(y, prior.shape[0]))
    posterior, evidence = prior.update(stats), np.zeros(prior.shape)
    tables = {id(block): np.zeros((len(x), prior.shape[0])) for block in (prior, posterior)}
    for c, j in np.ndindex(prior.shape):
        first = given = exact(prior, c, j)
        for value in x[y == c, j]:
            if not np.isnan(value):
                evidence[c, j] += float(page.predictive(mp.mpf(float(value)), *given))
                given = page.update(mp.mpf(float(value)), *given)
        for got, want in zip(exact(posterior, c, j), given, strict=True):
            np.testing.assert_allclose(np.array(got, float), np.array(want, float), rtol=1e-10, atol=ATOL)
        for block, fields in ((prior, first), (posterior, given)):
            for i in np.flatnonzero(~np.isnan(x[:, j])):
                tables[id(block)][i, c] += float(page.predictive(mp.mpf(float(x[i, j])), *fields))
    np.testing.assert_allclose(prior.log_marginal(stats), evidence, rtol=rtol, atol=ATOL)
    for block in (prior, posterior):
        np.testing.assert_allclose(block.log_predictive(x), tables[id(block)], rtol=rtol, atol=ATOL)


@pytest.mark.parametrize("name", PAGES)
def test_textbook_page(name: str, rng: np.random.Generator) -> None:
    """Also with concentrations from 1e-8 to 1e8."""
    family = next(f for f in FAMILIES if f.name == name)
    this, prior = case(family), PAGES[name].extreme(*np.meshgrid(EXTREMES, EXTREMES))
    check(PAGES[name], this.block, this.x, this.y, rtol=1e-10)
    check(PAGES[name], prior, family.rows(rng, 12, 5), np.arange(12) % 5, rtol=1e-9)


@pytest.mark.parametrize("name", [name for name, page in PAGES.items() if page.modes])
def test_modes(name: str) -> None:
    """Inside, on either side, and the mean where the density rises towards all sides."""
    page = PAGES[name]
    like = page.extreme(np.ones((1, 1)), np.ones((1, 1)))
    for given, modes in page.modes:
        block = like.of(*(np.array([[value]], float) for value in given))
        sites = to_sites(block.mode())
        for value, mode in zip(sites.values(), modes, strict=True):
            np.testing.assert_allclose(value[0, 0], mode, rtol=1e-14, atol=1e-300)
        if name in ("bernoulli", "categorical", "geometric", "negative_binomial"):
            assert block.on_boundary() == (np.min(given[0]) <= 1 or np.min(given) <= 1)
        else:
            assert block.on_boundary() == (given[0] <= 1 and "gauss" not in name)


@pytest.mark.parametrize("name", [name for name, page in PAGES.items() if page.mle])
def test_maximum_of_the_likelihood(name: str) -> None:
    """The prior's mean where there is no cell; and the linear form there."""
    page = PAGES[name]
    assert page.mle is not None
    stats, want = page.mle
    two = np.full(stats.n.shape[:2], 2.0)
    prior = page.extreme(two, 0 * two + 3)
    if "gauss" in name:
        prior = prior.of(two, *(0 * two + value for value in (3.0, 3.0, 3.0)))
    theta = prior.mle(stats)
    np.testing.assert_allclose(np.concatenate([*to_sites(theta).values()]), want, rtol=1e-14, atol=1e-300)
    x = np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0]])[:, : two.shape[1]]
    form = prior.linear_form(theta)
    assert (form is None) == (name == "gaussian")
    if form is not None:
        rest = prior.log_likelihood(theta, x) - (x @ form[0] + form[1])
        np.testing.assert_allclose(rest, rest[:, :1] if name != "known_gaussian" else rest, rtol=1e-12, atol=1e-12)


# --- what single pages have besides --------------------------------------------------------------------------------


@pytest.mark.usefixtures("x64")
def test_codes_outside_the_levels_are_missing() -> None:
    """Also in the NumPyro twin."""
    this = case(next(f for f in FAMILIES if f.name == "categorical"))
    other, block = np.where(np.isnan(this.x), np.array([-1.0, 3.0, 7.0, 3.0]), this.x), this.posterior.blocks["x"]
    assert_same(block.suffstats(other, this.r), block.suffstats(this.x, this.r), rtol=0)
    assert_same(block.log_predictive(other), block.log_predictive(this.x), rtol=0)
    assert_same(block.log_predictive(jnp.asarray(other)), block.log_predictive(this.x))
    sites = this.prior.to_sites(this.prior.sample(this.rng))
    joints = [float(jitted(log_joint(this.prior.model, {"x": x}, this.y))(sites)) for x in (other, this.x)]
    assert joints[0] == pytest.approx(joints[1], rel=1e-12)


def test_class_prior_page() -> None:
    """(N_c + α_c)/(N + Σα), p(y) as one draw after the other, and the mode."""
    alpha, y = np.array([0.5, 2.0, 1.0]), [0, 0, 1, 0]
    total, seen = mp.mpf(0), [mp.mpf(a) for a in alpha]
    for label in y:
        total += mp.log(seen[label] / sum(seen))
        seen[label] += 1
    n = np.bincount(y, minlength=3).astype(float)
    assert families.DirichletClasses(alpha).log_marginal(n) == pytest.approx(float(total), rel=1e-14)
    posterior = families.DirichletClasses(alpha).update(n)
    want = [float(mp.log(a / sum(seen))) for a in seen]
    np.testing.assert_allclose(posterior.log_predictive(), want, rtol=1e-14)
    np.testing.assert_allclose(posterior.mean()["log_pi"], want, rtol=1e-14)
    np.testing.assert_allclose(np.exp(posterior.mode()["log_pi"]), [2.5 / 4.5, 2 / 4.5, 0], atol=1e-300)
    np.testing.assert_allclose(np.exp(posterior.mle(n)["log_pi"]), [0.75, 0.25, 0], atol=1e-300)
    assert posterior.on_boundary() and not families.DirichletClasses(alpha + 1).on_boundary()


@pytest.mark.usefixtures("x64")
def test_certain_success_is_possible_in_the_twin() -> None:
    """θ = 1 explains rows of zeros: NumPyro's own geometric says −∞ there, with NaN for its slope."""
    block = families.BetaGeometric(np.full((1, 1), 2.0), np.ones((1, 1)))
    x, y, sites = np.zeros((3, 1)), np.zeros(3, int), {"theta": np.ones((1, 1))}
    joint = log_joint(block.model, x, y)
    assert float(jitted(joint)(sites)) == pytest.approx(np.log(2), rel=1e-12)  # Beta(2, 1) at 1; the rows are certain
    assert jitted(jax.grad(joint))(sites)["theta"].item() >= 0  # never inwards


def test_evidence_keeps_its_digits_beside_a_large_log_c() -> None:
    """A posterior of many rows has a large log_c; the evidence of the next row must not be a difference of two such."""
    posterior = families.KnownVarianceNormal(*(np.full((1, 1), value) for value in (0.0, 50.0, 1e-8, -1e12)))
    check(PAGES["known_gaussian"], posterior, np.array([[1e-5]]), np.zeros(1, int), rtol=1e-10)
