"""What our estimators add is there, belongs to the posterior they promise, and scikit-learn's own checks pass."""

import pickle

import numpy as np
import pytest
import sklearn
import sklearn.naive_bayes as peers
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.utils.estimator_checks import parametrize_with_checks

import bayesnb
from bayesnb import drop_in

NAMES = drop_in.__all__
every = pytest.mark.parametrize("name", NAMES)
ALL = [getattr(drop_in, name)() for name in NAMES]


@pytest.fixture(scope="module")
def table():
    X, y = load_iris(return_X_y=True)
    rng = np.random.default_rng(0)
    order = rng.permutation(len(y))
    return np.round(X[order]), y[order], rng.random(len(y)) + 0.1


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks([nb for nb in ALL if type(nb).__name__ in ("GaussianNB", "CategoricalNB")])
def test_scikit_learns_checks(estimator, check):
    check(estimator)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks([nb for nb in ALL if type(nb).__name__ not in ("GaussianNB", "CategoricalNB")])
def test_scikit_learns_checks_of_another(estimator, check):
    check(estimator)


@every
def test_posterior_is_that_of_our_estimator(name, table):
    X, y, w = table
    ours, plain = getattr(drop_in, name)().fit(X, y, w), getattr(bayesnb, name)().fit(X, y, w)
    assert ours.log_evidence_ == pytest.approx(plain.log_evidence_, rel=1e-12)
    np.testing.assert_array_equal(ours.predict_interval(X[:9]), plain.predict_interval(X[:9]))
    np.testing.assert_array_equal(ours.sample_proba(X[:9], 20, seed=1), plain.sample_proba(X[:9], 20, seed=1))
    np.testing.assert_array_equal(ours.loo(X, y, w).proba, plain.loo(X, y, w).proba)


@every
def test_linear_form_is_that_of_the_prediction(name, table):
    X, y, _ = table
    nb = getattr(drop_in, name)().fit(X, y)
    if name in ("GaussianNB", "CategoricalNB"):
        assert not hasattr(nb, "coef_")
        return
    x = X > 0 if name == "BernoulliNB" else X
    score, joint = x @ nb.coef_.T + nb.intercept_, nb.predict_joint_log_proba(X)
    np.testing.assert_allclose(score - score[:, :1], joint - joint[:, :1], atol=1e-10)


@every
def test_forgetting_is_the_inverse_of_batches(name, table):
    X, y, w = table
    whole = getattr(drop_in, name)().fit(X, y, w)
    part = getattr(drop_in, name)().fit(X[:100], y[:100], w[:100])
    whole.forget(X[100:], y[100:], w[100:])
    np.testing.assert_allclose(whole.predict_proba(X), part.predict_proba(X), atol=1e-9)
    with pytest.raises(ValueError, match="never fitted"):
        whole.forget(X, y, 2 * w)


@every
def test_a_fit_that_fails_changes_nothing(name, table):
    X, y, _ = table
    nb = getattr(drop_in, name)().fit(X, y)
    before = pickle.dumps(nb)
    with pytest.raises(ValueError, match="Number of priors"):
        nb.set_params(**{nb._prior_name(): [0.5, 0.5]}).fit(X, y)
    nb.set_params(**{nb._prior_name(): None})
    with pytest.raises(ValueError, match="do not exist in the initial classes"):
        nb.partial_fit(X, y + 1)
    assert pickle.dumps(nb) == before


@every
def test_pickles_clones_and_routes(name, table):
    X, y, w = table
    nb = getattr(drop_in, name)().fit(X, y, w)
    again = pickle.loads(pickle.dumps(nb))
    np.testing.assert_array_equal(again.predict_proba(X), nb.predict_proba(X))
    assert not hasattr(clone(nb), "classes_") and not hasattr(clone(nb), "class_count_")
    assert nb.__class__.__module__ == "bayesnb.drop_in"
    with sklearn.config_context(enable_metadata_routing=True):
        asked = clone(nb).set_fit_request(sample_weight=True).get_metadata_routing()
        assert asked.fit.requests["sample_weight"] is True


@pytest.mark.parametrize("name", [name for name in NAMES if name != "GaussianNB"])
def test_without_smoothing_the_posterior_is_that_of_the_least_alpha(name, table):
    X, y, _ = table
    none, least = getattr(drop_in, name)(alpha=0).fit(X, y), getattr(bayesnb, name)(alpha=1e-10).fit(X, y)
    assert none.log_evidence_ == least.log_evidence_
    assert np.isfinite(none.predict_interval(X[:5])).all()
    assert np.isfinite(none.predict_proba(X)).all()


def test_complements_have_equal_classes_in_prediction_and_posterior(table):
    """As in scikit-learn a `class_prior` is not used; what belongs to the posterior does not contradict it."""
    X, y, _ = table
    given, none = drop_in.ComplementNB(class_prior=[0.8, 0.1, 0.1]).fit(X, y), drop_in.ComplementNB().fit(X, y)
    np.testing.assert_array_equal(given.predict_proba(X), none.predict_proba(X))
    np.testing.assert_array_equal(given.predict_interval(X), none.predict_interval(X))


def test_classes_that_are_given_without_rows():
    """With `priors` a class counts before its first row: as the prior expects it, not as a spike at 0."""
    nb = drop_in.GaussianNB(priors=[0.5, 0.5]).partial_fit([[1.0], [2.0], [3.0]], [0, 0, 0], classes=[0, 1])
    p = nb.predict_proba([[0.0], [2.0]])
    assert (p > 0.01).all()


def test_classes_are_loaded_when_they_are_asked_for():
    assert bayesnb.drop_in.GaussianNB is drop_in.GaussianNB
    assert "drop_in" in dir(bayesnb)


def test_bernoulli_cells_between_0_and_1_are_learnt_and_predicted_but_have_no_interval():
    """Their predictive is not linear in the cell, as that of 0 and 1 is: a wrong number would look like a right one."""
    X, y = np.random.default_rng(0).random((20, 3)), np.arange(20) % 2
    nb = drop_in.BernoulliNB(binarize=None).fit(X, y)
    np.testing.assert_allclose(nb.predict_proba(X), peers.BernoulliNB(binarize=None).fit(X, y).predict_proba(X))
    for ask in (nb.predict_interval, nb.uncertainty, lambda X: nb.loo(X, y)):
        with pytest.raises(ValueError, match="0 or 1"):
            ask(X)
