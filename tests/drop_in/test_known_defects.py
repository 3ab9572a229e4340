"""Defects known elsewhere, each a test that `bayesnb` passes.

Where a docstring says that scikit-learn 1.9.1 fails, it does so on the very numbers of the test.
"""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris

import bayesnb

FIVE = [getattr(bayesnb, name)() for name in bayesnb.drop_in.__all__]


# --- GaussianNB -----------------------------------------------------------------------------------------------------


def test_long_data_in_single_precision():
    """scikit-learn 1.9.1: sums in float32 give mean 10,021.5 for 10,000 and variance 463 for 1."""
    rng = np.random.default_rng(0)
    X = (10_000 + rng.normal(size=(1_000_000, 2))).astype(np.float32)
    y = np.zeros(len(X), int)
    y[::2] = 1
    block = bayesnb.GaussianNB().fit(X, y).statistics_.blocks["x"]
    for label in (0, 1):
        rows = X[y == label].astype(float)
        np.testing.assert_allclose(block.mean[label], rows.mean(0), rtol=1e-14)
        np.testing.assert_allclose(block.ss[label] / block.n[label], rows.var(0), rtol=1e-10)


@pytest.mark.parametrize("nb", FIVE, ids=repr)
def test_counts_go_on_beyond_2_to_the_24(nb):
    """scikit-learn 1.9.1: `class_count_` of GaussianNB is float32 for float32 rows and stays at 16,777,216."""
    X, y = np.array([[1, 0], [0, 1]], np.float32), [0, 1]
    nb.partial_fit(X, y, classes=[0, 1], sample_weight=np.full(2, 2.0**24, np.float32))
    for _ in range(3):
        nb.partial_fit(X, y)
    np.testing.assert_array_equal(nb.class_count_, 2**24 + 3)


@pytest.mark.parametrize("scale", [1e-8, 1e-10])
def test_small_weights_are_weights(scale):
    """scikit-learn 1.9.1: classes of total weight up to 1e-8 keep mean 0 and variance ε; accuracy on iris is 1/3."""
    X, y = load_iris(return_X_y=True)
    nb, w = bayesnb.GaussianNB(estimate="mle"), np.random.default_rng(0).random(len(y)) + 0.5
    wanted = clone(nb).fit(X, y, w).predict_log_proba(X)
    np.testing.assert_allclose(nb.fit(X, y, w * scale).predict_log_proba(X), wanted, rtol=1e-9, atol=1e-9)


# --- discrete features ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("d", [2, 3])
def test_bernoulli_with_one_alpha_per_feature(d):
    """scikit-learn 1.9.1: raises ValueError; with as many features as classes α goes to the classes: p = 1."""
    X = np.array([[1, 0, 1], [1, 1, 0], [0, 0, 1], [0, 1, 1], [1, 1, 1]])[:, :d]
    y, alpha = np.array([0, 0, 1, 1, 1]), np.array([0.5, 2.0, 0.1])[:d]
    joint = bayesnb.BernoulliNB(alpha=alpha, class_prior=[0.5, 0.5]).fit(X, y).predict_joint_log_proba(X)
    ones = np.array([X[y == k].sum(0) for k in (0, 1)])
    p = (ones + alpha) / (np.array([[2], [3]]) + 2 * alpha)
    np.testing.assert_allclose(joint, (np.log(p) @ X.T + np.log(1 - p) @ (1 - X).T).T + np.log(0.5), atol=1e-13)


@pytest.mark.parametrize("alpha", [1e-8, 1e-14])
def test_a_probability_next_to_one_or_to_zero_keeps_its_digits(alpha):
    """scikit-learn 1.9.1: log(1 − exp(log p)) is 0.06 nats off at α = 1e-13, and NaN comes out from 1e-14 on."""
    X, y = np.repeat([[1, 0]], 100, 0), np.repeat([0, 1], 50)
    joint = bayesnb.BernoulliNB(alpha=alpha).fit(X, y).predict_joint_log_proba([[0, 1], [1, 0]])
    least = np.log(alpha) - np.log(50 + 2 * alpha)
    most = -np.log1p(alpha / (50 + alpha))
    np.testing.assert_allclose(joint, np.log(0.5) + 2 * np.array([[least] * 2, [most] * 2]), rtol=1e-14)
