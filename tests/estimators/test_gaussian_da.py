"""Gaussian discriminant analysis: scikit-learn's numbers at flat priors, boundaries, and what it refuses."""

import numpy as np
import pytest
from sklearn.datasets import load_iris, load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis

from bayesnb import GaussianDA
from bayesnb.families import NormalInverseWishart


@pytest.fixture(scope="module")
def wine():
    return load_wine(return_X_y=True)


@pytest.mark.parametrize("classes", [2, 3])
def test_shared_covariance_is_scikit_learns_lda(wine, classes):
    X, y = (part[wine[1] < classes] for part in wine)
    theirs = LinearDiscriminantAnalysis(solver="lsqr").fit(X, y)
    ours = GaussianDA(covariance="shared", priors=theirs.priors_, estimate="mle").fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-8)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-8)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("how", ["mle", "flat prior"])
def test_covariance_a_class_is_scikit_learns_qda(wine, classes, how):
    X, y = (part[wine[1] < classes] for part in wine)
    theirs = QuadraticDiscriminantAnalysis(store_covariance=True).fit(X, y)
    by_n = np.isclose(theirs.covariance_[0][0, 0], X[y == 0, 0].var())  # scikit-learn divided by n − 1 before 1.8
    d = X.shape[1]
    # the posterior mean S/(ν + n − d − 1) at a prior that weighs nothing: S/n or S/(n − 1)
    scale = np.tile(1e-13 * np.diag(X.var(0)), (classes, 1, 1))
    nu = np.full(classes, float(d + by_n))
    prior = NormalInverseWishart(np.tile(X.mean(0), (classes, 1)), np.full(classes, 1e-13), nu, scale)
    if how == "mle" and by_n:
        ours = GaussianDA(priors=theirs.priors_, estimate="mle").fit(X, y)
    else:
        ours = GaussianDA(priors=theirs.priors_, prior=prior, estimate="mean").fit(X, y)
    np.testing.assert_allclose(ours.predict_log_proba(X), theirs.predict_log_proba(X), rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(-2 * ours.quadratic_ @ ours.covariance_, np.tile(np.eye(d), (classes, 1, 1)), atol=1e-8)
    np.testing.assert_allclose(ours.covariance_, theirs.covariance_, rtol=1e-8)
    np.testing.assert_allclose(ours.means_, theirs.means_, rtol=1e-8)


def test_identity_is_the_nearest_mean_for_equal_classes_only():
    X, y = load_iris(return_X_y=True)
    means = np.stack([X[y == k].mean(0) for k in range(3)])
    distance = ((X[:, None] - means) ** 2).sum(-1)
    nearest = GaussianDA(covariance="identity", estimate="mle", priors=[1 / 3] * 3).fit(X, y)
    np.testing.assert_array_equal(nearest.predict(X), distance.argmin(1))
    np.testing.assert_allclose(nearest.coef_, means, rtol=1e-12)
    np.testing.assert_array_equal(nearest.covariance_, np.eye(4))
    # unequal classes: the boundary leaves the perpendicular bisector by log odds over the distance of the means
    pi = np.array([0.9, 0.1])
    moved = GaussianDA(covariance="identity", estimate="mle", priors=pi).fit(X[y < 2], y[y < 2])
    middle = (means[0] + means[1]) / 2
    assert moved.decision_function([middle])[0] == pytest.approx(np.log(pi[1] / pi[0]), rel=1e-9)


def test_a_model_has_the_discriminants_that_it_uses(wine):
    assert not hasattr(GaussianDA(estimate="mle").fit(*wine), "coef_")
    for covariance in ("shared", "identity"):
        with pytest.raises(AttributeError, match="no quadratic term"):
            _ = GaussianDA(covariance=covariance).fit(*wine).quadratic_


def test_a_singular_covariance_is_told(rng):
    X, y = rng.normal(size=(12, 3)), np.arange(12) % 2
    flat = X * [1, 0, 1]
    with pytest.raises(ValueError, match=r"covariance of class 0 .* is singular under estimate='mle': rank 2 of 3"):
        GaussianDA(estimate="mle").fit(flat, y).predict(flat)
    assert np.isfinite(GaussianDA().fit(flat, y).predict_log_proba(flat)).all()
    few = GaussianDA(estimate="mle").fit(X[:5], y[:5])
    with pytest.raises(ValueError, match=r"\(2 rows\) .* rank 1 of 3\. Use estimate='predictive'"):
        few.predict(X)
    few.set_params(estimate="predictive").predict(X)
    twins = np.column_stack([X, X[:, 0]])
    with pytest.raises(ValueError, match="rank 3 of 4"):
        GaussianDA(covariance="shared", estimate="mle").fit(twins, y).predict(twins)
    assert np.isfinite(GaussianDA().fit(twins, y).predict_log_proba(twins)).all()


def test_a_prior_of_one_feature_may_be_a_number():
    """S of a single feature is 1 × 1: a number says it, and a negative one is named."""
    X = np.random.default_rng(0).normal(size=(20, 1))
    y = np.arange(20) % 2
    prior = {"m": 0.0, "kappa": 1.0, "nu": 3.0, "S": 2.0}
    given = GaussianDA(prior=prior).fit(X, y)
    written_out = GaussianDA(prior=prior | {"S": [[2.0]]}).fit(X, y)
    np.testing.assert_array_equal(given.predict_proba(X), written_out.predict_proba(X))
    with pytest.raises(ValueError, match=r"`prior\.S` is -1"):
        GaussianDA(prior=prior | {"S": -1.0}).fit(X, y)
