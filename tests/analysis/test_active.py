"""Rows are chosen by the mutual information of their label and the parameters."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.dummy import DummyClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from bayesnb import GaussianNB
from bayesnb.analysis.active import expected_information, most_informative


@pytest.fixture(scope="module")
def flowers():
    X, y = load_iris(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    return X[order], y[order]


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
