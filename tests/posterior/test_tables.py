"""Parameters as data frames."""

from typing import Any

import numpy as np
import pytest
from scipy import stats

import bayesnb
from tests.estimators_table import mostly_slow, these
from tests.posterior.test_explanation import BITS, COUNTS, LABELS, LEVELS, MODELS, REAL, SOME, TABLE


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
    want = np.sqrt([b / (a - 1), law.ppf(0.05), law.ppf(0.95)])
    np.testing.assert_allclose([found.estimate, found.low, found.high], want)
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
def test_every_variant_has_tables(name: str) -> None:
    make, X = MODELS[name]
    nb = make().fit(X, LABELS)
    tables = nb.tables()
    assert len(tables) == nb.n_features_in_
    for table in tables.values():
        if name != "kernel, given":  # a model without parameters
            assert len(table) and (table.low <= table.high).all()
            assert ((table.low <= table.estimate) & (table.estimate <= table.high)).all()
