"""Costs, thresholds and moved class priors give the same decisions, also through scikit-learn's tools."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import precision_score, recall_score
from sklearn.model_selection import FixedThresholdClassifier, TunedThresholdClassifierCV, train_test_split

from bayesnb import BernoulliNB, GaussianNB, cost_scorer, cost_threshold, moved_prior, with_class_prior


@pytest.fixture(scope="module")
def halves():
    X, y = load_breast_cancer(return_X_y=True)
    return train_test_split(X, np.where(y == 0, "malignant", "benign"), random_state=0)


@pytest.mark.parametrize("t", [0.01, 0.2, 0.5, 0.9])
def test_a_threshold_is_a_moved_prior(halves, t):
    X, X_test, y, _ = halves
    nb = GaussianNB().fit(X, y)
    by_threshold = np.where(nb.predict_proba(X_test)[:, 1] > t, "malignant", "benign")
    pi = np.exp(nb.posterior_.classes.log_predictive())
    moved = with_class_prior(nb, moved_prior(pi, t))
    np.testing.assert_array_equal(moved.predict(X_test), by_threshold)
    log_odds = nb.decision_function(X_test) + np.log((1 - t) / t)
    np.testing.assert_allclose(moved.decision_function(X_test), log_odds, rtol=1e-9, atol=1e-9)
    fixed = FixedThresholdClassifier(GaussianNB(), threshold=t, pos_label="malignant").fit(X, y)
    np.testing.assert_array_equal(fixed.predict(X_test), by_threshold)


def test_low_thresholds_find_more_and_err_more(halves):
    X, X_test, y, y_test = halves
    nb = GaussianNB().fit(X, y)
    pi = np.exp(nb.posterior_.classes.log_predictive())
    found = [with_class_prior(nb, moved_prior(pi, t)).predict(X_test) for t in (1e-9, 1e-3, 0.5, 1 - 1e-3)]
    recall = [recall_score(y_test, p, pos_label="malignant") for p in found]
    precision = [precision_score(y_test, p, pos_label="malignant") for p in found]
    assert recall == sorted(recall, reverse=True)
    assert recall[0] > recall[-1]
    assert precision[0] < precision[-1]


def test_the_original_is_left_as_it_was(halves):
    X, _, y, _ = halves
    nb = BernoulliNB(binarize=10).fit(X, y)
    before = nb.predict_proba(X)
    moved = with_class_prior(nb, [0.1, 0.9])
    assert nb.class_prior is None
    np.testing.assert_array_equal(nb.predict_proba(X), before)
    np.testing.assert_allclose(
        moved.predict_proba(X), BernoulliNB(binarize=10, class_prior=[0.1, 0.9]).fit(X, y).predict_proba(X)
    )
    with pytest.raises(ValueError, match="`class_prior` has shape"):
        with_class_prior(nb, [0.2, 0.3, 0.5])
    np.testing.assert_array_equal(nb.predict_proba(X), before)


def test_the_threshold_costs_least_under_the_model():
    """Over rows drawn from the model itself, no threshold on a grid costs less in expectation."""
    rng = np.random.default_rng(0)
    p = rng.beta(0.5, 0.5, 20_000)
    t = cost_threshold(1, 4)
    assert t == 0.2
    cost = {s: np.where(p > s, 1 * (1 - p), 4 * p).mean() for s in (0.05, 0.1, t, 0.3, 0.5, 0.8)}
    assert min(cost, key=cost.get) == t


def test_tuned_thresholds_take_the_scorer(halves):
    X, X_test, y, y_test = halves
    tuned = TunedThresholdClassifierCV(GaussianNB(), scoring=cost_scorer(1, 50), cv=3).fit(X, y)
    scorer = cost_scorer(1, 50)
    assert tuned.best_threshold_ < 0.5
    assert scorer(tuned, X_test, y_test) >= scorer(GaussianNB().fit(X, y), X_test, y_test)
    wrong = np.sum(GaussianNB().fit(X, y).predict(X_test) != y_test) / len(y_test)
    assert cost_scorer(1, 1)(GaussianNB().fit(X, y), X_test, y_test) == pytest.approx(-wrong)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: cost_threshold(0, 1), "`false_positive` is 0"),
        (lambda: cost_scorer(1, np.inf), "`false_negative` is inf"),
        (lambda: moved_prior([0.5, 0.2], 0.5), "`class_prior` is"),
        (lambda: moved_prior([0.5, 0.5], 1.0), "`threshold` is 1.0"),
        (lambda: cost_scorer(1, 1)._score_func([0, 1, 2], [0, 1, 1]), r"`y` has the labels \[0 1 2\]"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
