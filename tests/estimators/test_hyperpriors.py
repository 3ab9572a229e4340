"""A distribution over a hyperparameter, integrated by quadrature."""

from typing import Any

import jax
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from scipy import integrate, special, stats
from sklearn.base import clone

import bayesnb
from bayesnb import (
    BernoulliNB,
    CategoricalNB,
    ComplementNB,
    ExponentialNB,
    GaussianNB,
    MixedNB,
    MultinomialNB,
    PoissonNB,
)
from bayesnb.core.mixtures import Mixture
from bayesnb.core.special import log_normalize
from bayesnb.plots._parameter_cells import cells_of
from bayesnb.sampling.posterior import log_prior

from ..estimators_table import WHOLE, mostly_slow

RNG = np.random.default_rng(0)
X = RNG.poisson([2, 3, 1, 1], (24, 4)).astype(float)
Y = np.arange(24) % 3
CASES = [
    ("alpha", MultinomialNB(alpha=dist.Gamma(2, 1)), (1e-9, 60)),
    ("alpha", BernoulliNB(binarize=1, alpha=dist.Gamma(2, 1)), (1e-9, 60)),
    ("alpha", CategoricalNB(alpha=dist.Gamma(2, 1)), (1e-9, 60)),  # blocks of several numbers of levels
    ("alpha", PoissonNB(alpha=dist.LogNormal(0, 1)), (1e-4, 1e4)),
    *(("beta", clone(nb).set_params(beta=dist.Uniform(0.5, 3)), (0.5, 3)) for nb in WHOLE),
    ("alpha", ExponentialNB(alpha=dist.Exponential(1.0)), (1e-9, 50)),
    ("alpha", ComplementNB(alpha=dist.Gamma(2, 1)), (1e-9, 60)),
    ("class_alpha", GaussianNB(class_alpha=dist.Gamma(2, 1)), (1e-9, 60)),
]


SLOW_CASES = mostly_slow(CASES, lambda case: isinstance(case[1], BernoulliNB))


def density(law: Any, value: float) -> float:
    with jax.enable_x64(True):
        return float(np.exp(law.log_prob(np.float64(value))))


@pytest.mark.parametrize(("name", "nb", "ends"), SLOW_CASES, ids=[f"{type(nb).__name__}" for _, nb, _ in CASES])
def test_the_evidence_is_the_integral_over_the_hyperparameter(name: str, nb: Any, ends: Any) -> None:
    law, fitted = getattr(nb, name), clone(nb).fit(X, Y)
    own = clone(nb).set_params(**{name: 1.0}).fit(X, Y)
    stats, level = own.statistics_, own.log_evidence_

    def integrand(t: float) -> float:
        own.set_params(**{name: float(np.exp(t))})
        prior = own._prior(stats)
        return density(law, np.exp(t)) * np.exp(t + prior.log_marginal(stats) - level)

    found = integrate.quad(integrand, *np.log(ends), epsrel=1e-8, limit=60)[0]
    assert fitted.log_evidence_ == pytest.approx(level + np.log(found), abs=1e-7)


@pytest.mark.parametrize(
    "nb",
    mostly_slow([nb for _, nb, _ in CASES], lambda nb: isinstance(nb, BernoulliNB)),
    ids=lambda nb: type(nb).__name__,
)
def test_each_row_is_left_out_of_the_weights_too(nb: Any) -> None:
    nb = clone(nb).fit(X, Y)
    loo = nb.loo(X, Y)
    for i in (0, 7):
        others = np.arange(len(Y)) != i
        stats = nb.prior_.suffstats(nb._encode(X[others]), np.eye(3)[Y[others]])
        joint = nb.prior_.update(stats).log_joint(nb._encode(X[[i]]))
        np.testing.assert_allclose(loo.log_joint[i], joint[0], atol=1e-11)
    np.testing.assert_allclose(nb.loo(X, Y, groups=np.arange(len(Y))).log_joint, loo.log_joint, atol=1e-11)


@pytest.mark.slow
def test_a_weighted_row_leaves_with_its_weight() -> None:
    weight = np.where(np.arange(24) == 3, 2.0, 1.0)
    nb = MultinomialNB(alpha=dist.Gamma(2, 1)).fit(X, Y, weight)
    twice, labels = np.concatenate([X, X[[3]]]), np.append(Y, Y[3])
    groups = np.append(np.arange(24), 3)
    copies = clone(nb).fit(twice, labels).loo(twice, labels, groups=groups)
    np.testing.assert_allclose(nb.loo(X, Y, weight).log_proba, copies.log_proba[:24], atol=1e-11)


def mixed_laws(family: Any, *arguments: list[float]) -> Any:
    return dist.MixtureSameFamily(dist.Categorical(np.array([0.5, 0.5])), family(*map(np.array, arguments)))


@pytest.mark.parametrize(
    "law",
    [
        mixed_laws(dist.Gamma, [1.0, 200.0], [10.0, 10.0]),
        pytest.param(mixed_laws(dist.LogNormal, [-5.0, 6.0], [0.05, 0.2]), marks=pytest.mark.slow),
        pytest.param(mixed_laws(dist.LogNormal, [0.0, 0.0], [0.02, 3.0]), marks=pytest.mark.slow),  # one mode
        mixed_laws(dist.LogNormal, [0.05, 3.0], [0.002, 0.5]),  # narrower than the line that is searched first
    ],
    ids=["gamma", "far", "scales", "narrow"],
)
def test_several_modes_are_all_integrated(law: Any) -> None:
    """Prior, evidence and prediction are the averages of those of the two parts."""
    parts = [type(law.component_distribution)(*map(float, pair)) for pair in zip(*arguments_of(law), strict=True)]
    both, *each = (BernoulliNB(binarize=1, alpha=one).fit(X, Y) for one in (law, *parts))
    level = [nb.log_evidence_ for nb in each]
    assert both.log_evidence_ == pytest.approx(np.logaddexp(*level) - np.log(2), abs=1e-8)
    joint = np.logaddexp(*(e + nb.predict_joint_log_proba(X) for e, nb in zip(level, each, strict=True)))
    np.testing.assert_allclose(both.predict_joint_log_proba(X), joint - np.logaddexp(*level), atol=1e-8)
    nodes = [np.log(nb.prior_.nodes) @ nb.prior_.weights for nb in (both, *each)]
    assert nodes[0] == pytest.approx(np.mean(nodes[1:]), abs=1e-7)


def arguments_of(law: Any) -> tuple[Any, Any]:
    inner = law.component_distribution
    return (inner.concentration, inner.rate) if isinstance(inner, dist.Gamma) else (inner.loc, inner.scale)


@pytest.mark.parametrize("law", [dist.LogNormal(-2.0, 0.1), dist.LogNormal(0.0, 0.001), dist.LogNormal(0.03, 0.001)])
def test_data_far_from_the_prior_are_integrated_where_they_lie(law: Any) -> None:
    """The posterior may lie where the prior has fallen by hundreds of nats; the prior may be narrow."""
    rows, labels = np.tile(X, (40, 60)), np.tile(Y, 40)
    fitted, own = MultinomialNB(alpha=law).fit(rows, labels), MultinomialNB(alpha=1.0).fit(rows, labels)
    stats = own.statistics_

    def log_integrand(t: float) -> float:
        own.set_params(alpha=float(np.exp(t)))
        level = float(own._prior(stats).log_marginal(stats))
        return level - 0.5 * ((t - law.loc) / law.scale) ** 2 - np.log(law.scale * np.sqrt(2 * np.pi))

    line = law.loc + law.scale * np.linspace(-40, 40, 321)
    level = np.array([log_integrand(t) for t in line])
    want = level.max() + np.log(integrate.trapezoid(np.exp(level - level.max()), line))
    assert level.argmax() not in (0, 320) and fitted.log_evidence_ == pytest.approx(want, abs=1e-7)


def test_prediction_averages_the_joint() -> None:
    nb = MultinomialNB(alpha=dist.Gamma(2, 1)).fit(X, Y)
    held = nb.posterior_
    tables = [np.exp(one.log_joint({"x": X})) for one in held.components]
    joint = sum(w * table for w, table in zip(held.weights, tables, strict=True))
    np.testing.assert_allclose(nb.predict_log_proba(X), log_normalize(np.log(joint)), atol=1e-12)
    np.testing.assert_allclose(held.weights.sum(), 1)
    assert nb.prior_.weights @ nb.prior_.nodes == pytest.approx(2, abs=1e-6)  # of Gamma(2, 1)


def test_draws_have_the_moments_of_the_mixture() -> None:
    nb = BernoulliNB(binarize=1, alpha=dist.Gamma(2, 1)).fit(X, Y)
    held = nb.posterior_
    theta = held.sample(np.random.default_rng(0), (20000,))["x"]["logit_theta"]
    draws, marginal = 1 / (1 + np.exp(-theta)), held.marginals()["theta"]
    se = marginal.std() / np.sqrt(20000)
    assert (abs(draws.mean(0) - marginal.mean()) < 5 * se).all()
    np.testing.assert_allclose(special.expit(held.mean()["x"]["logit_theta"]), marginal.mean(), rtol=1e-12)
    np.testing.assert_allclose(marginal.cdf(marginal.ppf(0.3)), 0.3)
    rows, labels = nb.sample(4000, 0)
    assert abs(rows.mean() - marginal.mean().mean()) < 0.03 and set(labels) == {0, 1, 2}
    low, high = np.moveaxis(nb.predict_interval(X[:3], 0.9), -1, 0)
    p = nb.sample_proba(X[:3], 4000, 1)
    assert abs(((p > low) & (p < high)).mean(0) - 0.9).max() < 0.04


def test_the_mode_is_a_peak_of_the_density() -> None:
    held = BernoulliNB(binarize=1, alpha=dist.Uniform(2.0, 8.0)).fit(X, Y).posterior_
    mode = held.mode()
    top, sites = held.log_prob(mode), held.to_sites(mode)
    for sign in (-1, 1):
        moved = {**sites, "theta": sites["theta"] + sign * 1e-4 * np.eye(3, 4)}
        assert held.log_prob(held.from_sites(moved)) < top


@pytest.mark.slow
def test_the_numpyro_model_obeys_bayes_identity() -> None:
    nb = BernoulliNB(binarize=1, alpha=dist.Gamma(2, 1)).fit(X, Y)
    theta = nb.posterior_.sample(np.random.default_rng(1), ())
    with jax.enable_x64(True):
        sites = {name: np.asarray(value) for name, value in nb.posterior_.to_sites(theta).items()}
        joint, _ = numpyro.infer.util.log_density(nb.numpyro_model, (X, Y), {}, sites)
    assert float(joint) - nb.posterior_.log_prob(theta) == pytest.approx(nb.log_evidence_, abs=1e-8)


def test_models_merge_are_saved_and_predict_point_estimates(tmp_path: Any) -> None:
    nb = MultinomialNB(alpha=dist.Gamma(2, 1)).fit(X, Y)
    parts = clone(nb).fit(X[:12], Y[:12]).merge(clone(nb).fit(X[12:], Y[12:]))
    assert parts.log_evidence_ == pytest.approx(nb.log_evidence_, abs=1e-10)
    nb.save(tmp_path / "model")
    np.testing.assert_array_equal(bayesnb.load(tmp_path / "model").predict_proba(X), nb.predict_proba(X))
    assert "alpha ~ Gamma(concentration=2, rate=1), integrated" in nb.prior_summary()
    assert nb.coef_.shape == (3, 4)
    tables = [clone(nb).set_params(estimate=estimate).fit(X, Y).predict_proba(X) for estimate in ("mean", "mle")]
    assert all(np.isfinite(table).all() for table in tables)


def test_a_class_prior_of_mixed_columns() -> None:
    nb = MixedNB([("x", PoissonNB(), [0, 1]), ("r", GaussianNB(), [2, 3])], class_alpha=dist.Gamma(2, 1)).fit(X, Y)
    i, others = 5, np.arange(24) != 5
    stats = nb.prior_.suffstats(nb._encode(X[others]), np.eye(3)[Y[others]])
    joint = nb.prior_.update(stats).log_joint(nb._encode(X[[i]]))
    np.testing.assert_allclose(nb.loo(X, Y).log_joint[i], joint[0], atol=1e-11)


def mixed(alpha: Any) -> Any:
    return MixedNB([("counts", PoissonNB(alpha=alpha), [0, 1]), ("numbers", GaussianNB(), [2, 3])]).fit(X, Y)


@pytest.mark.slow
def test_a_part_of_mixed_nb_has_a_distribution() -> None:
    law, nb = dist.Gamma(2, 1), mixed(dist.Gamma(2, 1))

    def integrand(t: float) -> float:
        return density(law, np.exp(t)) * np.exp(t + mixed(float(np.exp(t))).log_evidence_ - nb.log_evidence_)

    line = np.linspace(-6, 4, 60)  # smooth, and zero at both ends
    assert integrate.trapezoid([integrand(t) for t in line], line) == pytest.approx(1, abs=1e-6)
    assert "counts__alpha ~ Gamma(concentration=2, rate=1)" in nb.prior_summary()
    i, others = 7, np.arange(24) != 7
    stats = nb.prior_.suffstats(nb._encode(X[others]), np.eye(3)[Y[others]])
    left_out = nb.prior_.update(stats).log_joint(nb._encode(X[[i]]))
    np.testing.assert_allclose(nb.loo(X, Y).log_joint[i], left_out[0], atol=1e-11)


@pytest.mark.slow
def test_new_rows_of_mixed_nb_are_drawn_from_every_component() -> None:
    """Not from the heaviest alone: between two rows that differ, its means lie nearer to the average."""
    parts = [("counts", PoissonNB(alpha=dist.LogNormal(0, 2)), [0]), ("numbers", GaussianNB(), [1])]
    nb = MixedNB(parts).fit([[0, 1.0], [9, 2.0]], [0, 1])
    rows, labels = nb.sample(20000, 0)
    held, found = nb.posterior_, rows[labels == 0, 0]
    means = [(c := one.blocks["counts"]).a[0, 0] / c.b[0, 0] for one in held.components]
    error = found.std() / np.sqrt(len(found))
    assert abs(found.mean() - held.weights @ means) < 5 * error
    assert abs(held.weights @ means - means[int(np.argmax(held.weights))]) > 10 * error


def test_the_likelihood_at_its_maximum_is_that_of_any_prior() -> None:
    for name, nb, _ in CASES:
        if not isinstance(nb, ComplementNB):  # whose likelihood is composite
            held, plain = clone(nb).fit(X, Y), clone(nb).set_params(**{name: 1.0}).fit(X, Y)
            assert held.log_likelihood_ == pytest.approx(plain.log_likelihood_, rel=1e-10), nb
            assert held.n_parameters_ == plain.n_parameters_


def test_intervals_of_parameters_are_those_of_draws() -> None:
    rows, labels = (np.random.default_rng(0).random((14, 2)) < 0.05) * 1.0, np.arange(14) % 2
    rows[0] = 1
    nb = BernoulliNB(alpha=dist.Gamma(0.5, 0.1)).fit(rows, labels)
    theta = nb.posterior_.sample(np.random.default_rng(0), (40000,))["x"]["logit_theta"]
    ends = np.quantile(1 / (1 + np.exp(-theta[..., 0])), [0.05, 0.95], axis=0)
    np.testing.assert_allclose(nb.tables([0])[0][["low", "high"]], ends.T, atol=0.008)
    nb = BernoulliNB(class_alpha=dist.Gamma(0.5, 0.1)).fit(rows, np.arange(14) < 3)
    log_pi = nb.posterior_.sample(np.random.default_rng(0), (40000,))["class"]["log_pi"]
    found = [line[3:] for line in nb.summary().classes]
    np.testing.assert_allclose(found, np.quantile(np.exp(log_pi), [0.05, 0.95], axis=0).T, atol=0.008)


def test_quantiles_of_a_mixture() -> None:
    laws = [stats.beta([[0.5, 2.0]], [[0.8, 900.0]]), stats.beta([[30.0, 1.0]], [[2.0, 1.0]])]
    held, q = Mixture(laws, np.array([0.7, 0.3])), np.array([1e-4, 0.05, 0.5, 0.95, 1 - 1e-4])[:, None, None]
    x = held.ppf(q)
    assert x.shape == (5, 1, 2)
    np.testing.assert_allclose(sum(w * law.cdf(x) for w, law in zip((0.7, 0.3), laws, strict=True)), q + 0 * x)
    draws = np.where(np.random.default_rng(0).random((40000, 1, 1)) < 0.7, *(law.rvs((40000, 1, 2), 1) for law in laws))
    np.testing.assert_allclose(held.mean(), draws.mean(0), atol=0.01)
    np.testing.assert_allclose(held.std(), draws.std(0), atol=0.01)


@pytest.mark.parametrize("nb", [mixed, lambda law: GaussianNB(class_alpha=law).fit(X, Y)], ids=["part", "classes"])
def test_the_log_prior_of_draws_adds_up(nb: Any) -> None:
    nb = nb(dist.Gamma(2, 1))
    theta = nb.posterior_.sample(np.random.default_rng(0), (2, 3))
    groups = log_prior(nb.prior_, theta)
    assert set(groups) == {"pi", *nb.prior_.blocks}
    np.testing.assert_allclose(sum(groups[name] for name in groups), nb.prior_.log_prob(theta), rtol=1e-10)


def test_one_component_does_not_answer_for_all() -> None:
    held = PoissonNB(beta=dist.Gamma(2, 1)).fit(X, Y).posterior_
    for name in ("a", "log_prob", "log_marginal", "log_moments", "update"):
        with pytest.raises(AttributeError, match=f"`{name}` of GammaPoisson differs between the .* values"):
            getattr(held.blocks["x"], name)
    assert held.blocks["x"].shape == (3, 4)
    np.testing.assert_array_equal(held.classes.alpha, held.heaviest.classes.alpha)  # the same in all


def test_a_plot_has_the_marginals_of_the_mixture() -> None:
    nb = CategoricalNB(alpha=dist.Gamma(0.5, 0.1)).fit(X, Y)
    cell = cells_of(nb, 1, None, 2.0)[1]
    draws = np.exp(nb.posterior_.sample(np.random.default_rng(0), (40000,))[cell_block(nb, 1)]["log_theta"])
    own = draws[:, 1, [*nb.block_columns()[cell_block(nb, 1)]].index(1), cell.at[-1]]
    np.testing.assert_allclose(cell.posterior.ppf(np.array([0.05, 0.95])), np.quantile(own, [0.05, 0.95]), atol=0.01)
    assert cell.support == (0.0, 1.0)


def cell_block(nb: Any, j: int) -> str:
    return next(name for name, at in nb.block_columns().items() if j in at)


def test_what_needs_one_model_says_so() -> None:
    nb = PoissonNB(beta=dist.Gamma(2, 1))
    with pytest.raises(ValueError, match="averaging over features needs numbers"):
        bayesnb.FeatureAverage(nb).fit(X, Y)
    with pytest.raises(ValueError, match="hyperparameter that is a distribution, but the check is that of"):
        nb.check(X, Y)
    with pytest.raises(ValueError, match="`beta` of `estimator` is a distribution"):
        bayesnb.fit_prior(nb, X, Y, parameters=["alpha"])
    assert bayesnb.fit_prior(nb, X, Y).log_evidence > clone(nb).fit(X, Y).log_evidence_


@pytest.mark.parametrize(
    ("nb", "text"),
    [
        (PoissonNB(alpha=dist.Gamma(2, 1), beta=dist.Gamma(2, 1)), "only one can be integrated"),
        (PoissonNB(alpha=dist.Normal(0, 1)), "negative"),
        (PoissonNB(alpha=dist.Poisson(2.0)), "continuous"),
        (PoissonNB(alpha=dist.Gamma(np.ones(4), 1)), "a single number"),
        (PoissonNB(alpha=dist.Gamma(0.001, 0.001)), "`alpha` is Gamma.* does not integrate to 1 .*too vague"),
        (PoissonNB(alpha=dist.LogNormal(0.1, 1e-5)), "narrower than a thousandth of its position"),
        (
            MixedNB([(name, PoissonNB(alpha=dist.Gamma(2, 1)), [j, j + 1]) for name, j in (("u", 0), ("v", 2))]),
            "`u__alpha` and `v__alpha` .* Give a number for one of them$",
        ),
    ],
)
def test_what_cannot_be_integrated_is_named(nb: Any, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        nb.fit(X, Y)
    weighted = MultinomialNB(alpha=dist.Gamma(2, 1)).fit(X, Y)
    with pytest.raises(ValueError, match="draws"):
        weighted.predict_interval(X, method="analytic")
