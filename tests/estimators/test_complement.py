"""ComplementNB: scikit-learn's weights, and where it goes beyond them."""

import numpy as np
import pytest
import sklearn.naive_bayes as peers
from scipy import sparse
from sklearn.datasets import load_digits

from bayesnb.estimators import ComplementNB


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X[:900], y[:900], X[900:], np.random.default_rng(0).random(900) + 0.5


@pytest.mark.parametrize("norm", [False, True])
@pytest.mark.parametrize("alpha", [1e-3, np.linspace(0.1, 6.4, 64)], ids=["1e-3", "each"])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix], ids=["dense", "sparse"])
def test_mean_is_scikit_learns(digits, norm, alpha, form):
    X, y, new, w = digits
    ours = ComplementNB(alpha=alpha, norm=norm, estimate="mean").fit(form(X), y, w)
    theirs = peers.ComplementNB(alpha=alpha, norm=norm).fit(form(X), y, w)
    np.testing.assert_allclose(ours.feature_log_prob_, theirs.feature_log_prob_, rtol=1e-12)
    np.testing.assert_allclose(ours.coef_, theirs.feature_log_prob_, rtol=1e-12)
    np.testing.assert_allclose(ours.predict_log_proba(form(new)), theirs.predict_log_proba(form(new)), atol=1e-10)
    assert (ours.predict(form(new)) == theirs.predict(form(new))).all()


@pytest.mark.parametrize("norm", [False, True])
def test_two_classes_and_one(digits, norm):
    X, y, new, _ = digits
    for keep in (y < 2, y == 7):
        ours = ComplementNB(norm=norm, estimate="mean").fit(X[keep], y[keep])
        theirs = peers.ComplementNB(norm=norm).fit(X[keep], y[keep])
        np.testing.assert_allclose(ours.predict_log_proba(new), theirs.predict_log_proba(new), atol=1e-10)
    two = ComplementNB(norm=norm, estimate="mean").fit(X[y < 2], y[y < 2])
    assert two.coef_.shape == (1, 64)
    np.testing.assert_allclose(new @ two.coef_[0] + two.intercept_, two.decision_function(new), rtol=1e-9, atol=1e-9)


def test_normalised_weights_of_every_estimate(digits):
    X, y, new, _ = digits
    nb = ComplementNB(alpha=2.0, norm=True).fit(X, y)
    np.testing.assert_array_equal(nb.feature_log_prob_, nb.set_params(estimate="mean").feature_log_prob_)
    for estimate in ("predictive", "mean", "map", "mle"):
        weights = nb.set_params(estimate=estimate).feature_log_prob_
        np.testing.assert_allclose(weights.sum(1), 1, rtol=1e-12)
        np.testing.assert_allclose(nb.predict_joint_log_proba(new), new @ weights.T - np.log(10), atol=1e-13)
    constant = ComplementNB(norm=True).fit([[1], [2], [3]], [0, 1, 2])  # one event: nothing to divide
    np.testing.assert_allclose(constant.predict_proba([[5]]), 1 / 3)


def test_no_new_rows_of_a_complement(digits):
    X, y, _, _ = digits
    with pytest.raises(NotImplementedError, match=r"rows outside a class.*multinomial"):
        ComplementNB().fit(X, y).sample(3, seed=0)
