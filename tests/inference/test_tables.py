"""Parameters as data frames, the likelihood at its maximum, and the summary."""

from typing import Any

import numpy as np
import pytest
from scipy import stats

import bayesnb
from tests.estimators_table import WHOLE, called, mostly_slow, these
from tests.inference.test_explanation import BITS, COUNTS, LABELS, LEVELS, MODELS, REAL, SOME, TABLE, N


def line(table: Any, label: str, parameter: str) -> Any:
    return table[(table.class_ == label) & (table.parameter == parameter)].iloc[0]


def test_tables_hold_the_marginals() -> None:
    own = LABELS == "b"
    found = line(bayesnb.BernoulliNB().fit(BITS, LABELS).tables()[1], "b", "P(1)")
    law = stats.beta(1 + BITS[own, 1].sum(), 1 + (1 - BITS[own, 1]).sum())
    np.testing.assert_allclose([found.estimate, found.low, found.high], [law.mean(), law.ppf(0.05), law.ppf(0.95)])

    found = line(bayesnb.MultinomialNB().fit(COUNTS, LABELS).tables(level=0.8)[2], "b", "probability")
    a = 1 + COUNTS[own].sum(0)
    law = stats.beta(a[2], a.sum() - a[2])
    np.testing.assert_allclose([found.estimate, found.low, found.high], [law.mean(), law.ppf(0.1), law.ppf(0.9)])

    nb = bayesnb.GaussianNB().fit(REAL, LABELS)
    block = nb.posterior_.blocks["x"]
    a, b = block.a[1, 0], block.b[1, 0]
    found = line(nb.tables()[0], "b", "sd")
    law = stats.invgamma(a, scale=b)
    np.testing.assert_allclose(
        [found.estimate, found.low, found.high], np.sqrt([b / (a - 1), law.ppf(0.05), law.ppf(0.95)])
    )
    assert line(nb.tables()[0], "b", "mean").estimate == nb.means_[1, 0]
    np.testing.assert_array_equal(nb.variances_, nb.posterior_.mean()["x"]["variance"])


def test_a_feature_of_a_covariance_has_the_tables_of_its_marginal() -> None:
    nb = bayesnb.GaussianDA().fit(REAL, LABELS)
    laws = nb.posterior_.marginals()["mu"]
    found = line(nb.tables()[2], "c", "mean")
    np.testing.assert_allclose([found.low, found.high], [laws.ppf(q)[2, 2] for q in (0.05, 0.95)])
    draws = nb.posterior_.sample(np.random.default_rng(0), (20_000,))["x"]["covariance"][:, 2, 2, 2]
    found = line(nb.tables()[2], "c", "sd")
    np.testing.assert_allclose([found.low, found.high], np.sqrt(np.quantile(draws, [0.05, 0.95])), rtol=0.02)


def test_levels_have_their_labels_in_every_part() -> None:
    nb = bayesnb.MixedNB().fit(TABLE, LABELS)
    tables = nb.tables()
    assert list(tables) == ["size", "wet", "kind"]
    assert tables["kind"].parameter.tolist() == ["P(x)", "P(y)", "P(z)"] * 3
    np.testing.assert_allclose(tables["kind"].groupby("class_").estimate.sum(), 1)
    assert list(nb.tables(["kind", 0])) == ["kind", 0]
    with pytest.raises(ValueError, match="`features` has 'colour'"):
        nb.tables(["colour"])
    average = bayesnb.OneDependenceNB(pair_alpha=9.0).fit(LEVELS, LABELS).tables()
    plain = bayesnb.CategoricalNB().fit(LEVELS, LABELS).tables()  # 9 pairs of pseudo-count 1: α = 1
    np.testing.assert_allclose(average[1][["estimate", "low", "high"]], plain[1][["estimate", "low", "high"]])


@pytest.mark.parametrize("name", mostly_slow(MODELS, these(*SOME)))
def test_every_variant_has_tables_and_a_summary(name: str) -> None:
    make, X = MODELS[name]
    nb = make().fit(X, LABELS)
    tables = nb.tables()
    assert len(tables) == nb.n_features_in_
    for table in tables.values():
        if name != "kernel, given":  # a model without parameters
            assert len(table) and (table.low <= table.high).all()
            assert ((table.low <= table.estimate) & (table.estimate <= table.high)).all()
    said = str(nb.summary())
    assert "class a" in said and f"{N:g}" in said
    assert nb.summary()._repr_html_().count("<tr>") >= 6


@pytest.mark.parametrize(
    ("name", "k"),
    mostly_slow(
        [
            ("bernoulli", 2 + 15),
            ("categorical", 2 + 3 * 3 * 2),
            ("multinomial", 2 + 3 * 4),
            ("poisson, sparse", 2 + 15),
            *((called(nb), 2 + 15) for nb in WHOLE),
            ("exponential", 2 + 9),
            ("pooled", 2 + 9 + 3),
            ("known", 2 + 9),
            ("full", 2 + 9 + 3 * 6),
            ("tied", 2 + 9 + 6),
        ],
        lambda case: case[0] in ("bernoulli", "categorical", "poisson, sparse", "pooled", "tied"),
    ),
)
def test_the_likelihood_at_its_maximum_is_that_of_the_rows(name: str, k: int) -> None:
    make, X = MODELS[name]
    nb = make().fit(X, LABELS)
    rows, index = nb.encode(X), np.unique(LABELS, return_inverse=True)[1]
    theta = nb.prior_.mle(nb.statistics_)
    joint = nb.posterior_.log_joint(rows, theta)
    wanted = joint[np.arange(N), index].sum()
    assert nb.log_likelihood_ == pytest.approx(wanted, rel=1e-9)
    assert nb.n_parameters_ == k
    assert nb.aic_ == pytest.approx(2 * k - 2 * wanted)
    assert nb.bic_ == pytest.approx(k * np.log(N) - 2 * wanted)
    rng = np.random.default_rng(0)
    for _ in range(5):  # no draw is better
        draw = nb.posterior_.sample(rng)
        assert nb.posterior_.log_joint(rows, draw)[np.arange(N), index].sum() < wanted


def test_a_likelihood_that_has_no_maximum_says_so() -> None:
    X = REAL.copy()
    X[LABELS == "a", 1] = 4.0
    with pytest.raises(AttributeError, match="no maximum likelihood"):
        _ = bayesnb.GaussianNB().fit(X, LABELS).log_likelihood_
    with pytest.raises(AttributeError, match="composite"):
        _ = bayesnb.ComplementNB().fit(COUNTS, LABELS).bic_
    with pytest.raises(AttributeError, match="no evidence"):
        _ = bayesnb.KernelNB().fit(REAL, LABELS).aic_
    with pytest.raises(AttributeError, match="OneDependence"):
        _ = bayesnb.OneDependenceNB().fit(LEVELS, LABELS).n_parameters_
    fixed = bayesnb.BernoulliNB(class_prior=[0.2, 0.3, 0.5]).fit(BITS, LABELS)
    assert fixed.n_parameters_ == 15
