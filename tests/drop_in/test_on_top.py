"""What the posterior adds is there and is that of our estimator, and scikit-learn's own checks pass."""

import inspect
import pickle
import pydoc

import numpy as np
import pandas as pd
import pytest
import sklearn.naive_bayes as peers
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.utils.estimator_checks import check_estimator

import bayesnb
from bayesnb import drop_in

from ..estimators_table import mostly_slow, these

NAMES = drop_in.__all__
every = pytest.mark.parametrize("name", NAMES)


@pytest.fixture(scope="module")
def table():
    X, y = load_iris(return_X_y=True)
    rng = np.random.default_rng(0)
    order = rng.permutation(len(y))
    return np.round(X[order]), y[order], rng.random(len(y)) + 0.1


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@pytest.mark.filterwarnings("ignore:divide by zero:RuntimeWarning")  # of scikit-learn itself, at a class of weight 0
@pytest.mark.parametrize("name", mostly_slow(NAMES, these("GaussianNB", "MultinomialNB")))
def test_scikit_learns_checks(name):
    check_estimator(getattr(drop_in, name)())


@every
def test_posterior_is_that_of_our_estimator(name, table):
    X, y, w = table
    ours, plain = getattr(drop_in, name)().fit(X, y, w), getattr(bayesnb, name)().fit(X, y, w)
    assert ours.log_evidence_ == plain.log_evidence_
    np.testing.assert_array_equal(ours.predict_interval(X[:9]), plain.predict_interval(X[:9]))
    np.testing.assert_array_equal(ours.sample_proba(X[:9], 20, seed=1), plain.sample_proba(X[:9], 20, seed=1))
    np.testing.assert_array_equal(ours.loo(X, y, w).proba, plain.loo(X, y, w).proba)
    parts = getattr(drop_in, name)().partial_fit(X[:70], y[:70], [0, 1, 2], w[:70])
    parts.partial_fit(X[70:], y[70:], None, w[70:])
    assert parts.log_evidence_ == pytest.approx(plain.log_evidence_, rel=1e-12)


@every
def test_estimate_is_scikit_learns(name, table):
    X, y, w = table
    ours, theirs = (getattr(home, name)().fit(X, y, w) for home in (drop_in, peers))
    np.testing.assert_array_equal(ours.predict_proba(X), theirs.predict_proba(X))
    assert not hasattr(ours, "decision_function") and not hasattr(ours, "coef_")
    assert {one for one in dir(theirs) if not one.startswith("_")} <= set(dir(ours))
    assert ours.get_params() == theirs.get_params() and repr(clone(ours)) == repr(clone(theirs))


def test_labels_of_pandas_count_for_nothing(table):
    """scikit-learn goes by position, and so does the posterior beside it."""
    X, y, w = table
    pi = pd.Series([0.2, 0.3, 0.5], [2, 1, 0])
    labelled, plain = (drop_in.GaussianNB(priors=priors).fit(X, y, w) for priors in (pi, pi.to_numpy()))
    np.testing.assert_array_equal(labelled.predict_proba(X), plain.predict_proba(X))
    assert labelled.log_evidence_ == plain.log_evidence_


def test_pickles_and_clones(table):
    X, y, w = table
    nb = drop_in.MultinomialNB().fit(X, y, w)
    again = pickle.loads(pickle.dumps(nb))
    np.testing.assert_array_equal(again.predict_interval(X[:3]), nb.predict_interval(X[:3]))
    fresh = clone(nb)
    assert not hasattr(fresh, "bayes_") and not hasattr(fresh, "predict_interval")
    with pytest.raises(AttributeError, match="'predict_interval' yet: call `fit` first"):
        _ = fresh.predict_interval


@every
def test_what_is_passed_on_has_its_documentation(name, table):
    """Of the class, and `bayes_` has each of these names; an editor offers them before a fit."""
    kind = getattr(drop_in, name)
    assert "elpd" in pydoc.render_doc(kind.loo) and "elpd" in inspect.getdoc(kind.loo)
    assert list(inspect.signature(kind.loo).parameters) == ["self", "X", "y", "sample_weight", "prior", "groups"]
    X, y, _ = table
    nb = kind().fit(X, y)
    for base in kind.__mro__:
        for attribute, value in vars(base).items():
            if isinstance(value, drop_in.OfThePosterior):
                assert hasattr(nb.bayes_, attribute) and attribute in dir(kind()) and not hasattr(kind(), attribute)


@pytest.mark.parametrize("name", [name for name in NAMES if name != "GaussianNB"])
def test_without_smoothing_the_posterior_is_that_of_the_least_alpha(name, table):
    X, y, _ = table
    none, least = getattr(drop_in, name)(alpha=1e-12).fit(X, y), getattr(bayesnb, name)(alpha=1e-10).fit(X, y)
    assert none.log_evidence_ == least.log_evidence_
    assert np.isfinite(none.predict_interval(X[:5])).all()


def test_complements_have_equal_classes_in_prediction_and_posterior(table):
    """As in scikit-learn a `class_prior` is not used; what belongs to the posterior does not contradict it."""
    X, y, _ = table
    given, none = drop_in.ComplementNB(class_prior=[0.8, 0.1, 0.1]).fit(X, y), drop_in.ComplementNB().fit(X, y)
    np.testing.assert_array_equal(given.predict_interval(X), none.predict_interval(X))
