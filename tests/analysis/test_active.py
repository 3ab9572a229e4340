"""Rows are chosen by the mutual information of their label and the parameters."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.dummy import DummyClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from bayesnb import BernoulliNB, GaussianNB
from bayesnb.analysis.active import expected_information, most_informative


@pytest.fixture(scope="module")
def flowers():
    X, y = load_iris(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    return X[order], y[order]


def test_it_is_what_a_label_teaches():
    """I(y; θ | x) = Σ_c p(c) KL(θ | c ‖ θ), by quadrature, for one feature of one class with θ ~ Beta(3, 2).

    p(y = 1 | x = 1, θ) = θ / (θ + ½); the label alone, not the feature, is what is learnt from.
    """
    from scipy import stats

    from bayesnb.families import BetaBernoulli, FixedClasses
    from bayesnb.inference.intervals import uncertainty
    from bayesnb.naive_bayes import NaiveBayes

    theta = (np.arange(20_000) + 0.5) / 20_000
    prior = stats.beta(30, 20).pdf(theta) / 20_000
    gain = 0.0
    for likelihood in (theta / (theta + 0.5), 0.5 / (theta + 0.5)):
        evidence = (prior * likelihood).sum()
        after = prior * likelihood / evidence
        gain += evidence * (after * np.log(likelihood / evidence)).sum()
    block = BetaBernoulli(np.array([[1e12], [30.0]]), np.array([[1e12], [20.0]]))
    nb = NaiveBayes(FixedClasses(np.array([0.5, 0.5])), {"x": block})
    found = uncertainty(nb, {"x": np.array([[1.0]])})
    assert found.epistemic[0] == pytest.approx(gain, rel=0.02)  # 128 nodes cut the tails off


def test_the_most_informative_have_the_most(flowers):
    X, y = flowers
    nb = GaussianNB().fit(X[:15], y[:15])
    gain = expected_information(nb, X[15:])
    np.testing.assert_array_equal(gain, nb.uncertainty(X[15:]).epistemic)
    chosen = most_informative(nb, X[15:], 10)
    assert len(set(chosen)) == 10
    assert (np.diff(gain[chosen]) <= 0).all()
    assert gain[chosen].min() >= np.delete(gain, chosen).max()
    assert most_informative(nb, np.repeat(X[20:21], 3, 0), 2).tolist() == [0, 1]  # ties: the earlier
    steps = make_pipeline(FunctionTransformer(), GaussianNB()).fit(X[:15], y[:15])
    np.testing.assert_array_equal(expected_information(steps, X[15:]), gain)


def test_a_coin_toss_that_is_known_teaches_nothing():
    """Two classes alike in all features and well known: total entropy log 2, and nothing to learn from a label."""
    x = np.tile([[0.0], [1.0]], (2000, 1))
    y = np.repeat([0, 1], 2000)
    nb = BernoulliNB().fit(x, y)
    found = nb.uncertainty(x[:2])
    np.testing.assert_allclose(found.total, np.log(2), atol=1e-3)
    assert (expected_information(nb, x[:2]) < 1e-3).all()
    few = BernoulliNB().fit(x[[0, 1, 2000, 2001, 2002]], y[[0, 1, 2000, 2001, 2002]])
    assert (expected_information(few, x[:2]) > 0.02).all()


@pytest.mark.parametrize("n", [0, 136])
def test_a_number_out_of_range_is_named(n, flowers):
    X, y = flowers
    nb = GaussianNB().fit(X[:15], y[:15])
    with pytest.raises(ValueError, match=f"`n` is {n}; .* at most the 135 rows"):
        most_informative(nb, X[15:], n)


def test_estimators_without_uncertainty_are_named(flowers):
    X, y = flowers
    with pytest.raises(ValueError, match="DummyClassifier, which has no `uncertainty`"):
        expected_information(DummyClassifier().fit(X, y), X)
