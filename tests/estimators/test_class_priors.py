"""Class probabilities by one name on all estimators, and ties, which go to the larger of them."""

import functools

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris

import bayesnb
from bayesnb import families
from bayesnb.estimators import BernoulliNB, CategoricalNB, ComplementNB, FamilyNB, MixedNB
from bayesnb.numerics.special import most_probable

from ..estimators_table import DEFAULTS

ALL = [*map(type, DEFAULTS), *(MixedNB, functools.partial(FamilyNB, families.GammaPoisson(1.0, 1.0)))]
PI = [0.2, 0.3, 0.5]


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    return np.round(X), y


def class_probabilities(nb):
    return np.exp(nb.posterior_.classes.log_predictive())


def test_three_names_on_all(iris):
    for kind in ALL:
        X, y = iris[0][:120], iris[1][:120]
        for name in ("class_prior", "priors"):
            nb = clone(kind(**{name: PI})).fit(X, y)
            np.testing.assert_allclose(class_probabilities(nb), PI)
            moved = bayesnb.with_class_prior(nb, [0.1, 0.1, 0.8])
            np.testing.assert_allclose(class_probabilities(moved), [0.1, 0.1, 0.8])
        np.testing.assert_allclose(class_probabilities(kind(fit_prior=False).fit(X, y)), [1 / 3] * 3)
        if kind is not ComplementNB:  # whose rule has no class prior of its own
            np.testing.assert_allclose(class_probabilities(kind().fit(X, y)), np.array([51, 51, 21]) / 123)


def test_only_one_of_the_two_names_is_taken(iris):
    for kind in ALL:
        with pytest.raises(ValueError, match=r"`class_prior` and `priors` mean the same, and both are given"):
            kind(class_prior=PI, priors=PI).fit(*iris)


# --- ties ---


def test_ties_go_to_the_larger_prior():
    log_prior = np.log([0.3, 0.5, 0.2])
    table = np.log([[0.2, 0.2, 0.6], [0.4, 0.4, 0.2], [0.3, 0.5, 0.5], [0.4, 0.2, 0.4]])
    assert most_probable(table, log_prior).tolist() == [2, 1, 1, 0]
    nearly = table + np.array([[0, 0, 0], [1e-15, 0, 0], [0, 0, 1e-15], [0, 0, 1e-15]])  # as rounding may have it
    assert most_probable(nearly, log_prior).tolist() == [2, 1, 1, 0]
    assert most_probable(table + np.array([0, 0, 1e-6]), log_prior).tolist() == [2, 1, 2, 2]
    assert most_probable(table, np.log([1 / 3] * 3)).tolist() == [2, 0, 1, 0]  # the first
    assert most_probable(np.full((2, 3), -np.inf), log_prior).tolist() == [1, 1]


def test_every_estimator_follows_the_rule():
    """At x = 1: ⅓ · 1 = ⅔ · ½ on paper, for four kinds of features."""
    X, y = np.array([[1], [1], [1], [1], [0], [0]]), [0, 0, 1, 1, 1, 1]
    for nb in (
        BernoulliNB(estimate="mle"),
        CategoricalNB(estimate="mle"),
        MixedNB([("x", BernoulliNB(), [0])], estimate="mle"),
        BernoulliNB(class_prior=[1 / 3, 2 / 3], estimate="mle"),
    ):
        nb.fit(X, y)
        joint = nb.predict_joint_log_proba([[1]])[0]
        assert joint[0] == pytest.approx(joint[1], abs=1e-14)
        assert nb.predict([[1]]).tolist() == [1]
    # counts 3 and 2, class_alpha 1 and 3: the larger class is the first by "mle", the second else
    nb = BernoulliNB(class_alpha=[1, 3], estimate="mle").fit([[0], [1]] * 2 + [[0]], [0, 0, 1, 1, 0])
    assert nb.model_.tie_prior.argmax() == 0
    assert nb.set_params(estimate="predictive").model_.tie_prior.argmax() == 1
    average = bayesnb.FeatureAverage(BernoulliNB()).fit([[0], [1], [0]], [0, 1, 1])
    np.testing.assert_allclose(np.exp(average.estimator_.model_.tie_prior), [0.4, 0.6])
    X, y = np.array([["a", "a"]] * 2 + [["a", "a"]] * 2 + [["b", "b"]] * 2, dtype=object), [0, 0, 1, 1, 1, 1]
    assert bayesnb.OneDependenceNB().fit(X, y).model_.tie_prior.argmax() == 1
