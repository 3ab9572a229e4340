"""An argument of a wrong type or size is named in the error, and the error is a ValueError or TypeError."""

import inspect

import numpy as np
import pytest
from sklearn.datasets import load_iris

from bayesnb import CategoricalNB, GaussianNB, MultinomialNB
from bayesnb.numerics.random import generator

X, Y = load_iris(return_X_y=True)
X, Y = X[::10], Y[::10]
NB = GaussianNB().fit(X, Y)
TOO_LARGE = 10**400


@pytest.mark.parametrize("estimator", [GaussianNB(), MultinomialNB()], ids=repr)
def test_a_whole_number_that_no_float_holds(estimator):
    rows = X.astype(object)
    rows[3, 1] = TOO_LARGE
    with pytest.raises(ValueError, match="`X`"):
        estimator.fit(rows, Y)


@pytest.mark.parametrize("method", ["fit", "loo", "partial_fit"])
def test_a_weight_that_no_float_holds(method):
    weights = [TOO_LARGE] + [1] * (len(Y) - 1)
    nb = GaussianNB().fit(X, Y)
    with pytest.raises(ValueError, match="`sample_weight`"):
        getattr(nb, method)(X, Y, sample_weight=weights)


@pytest.mark.parametrize("seed", ["x", -1, 2.5, {"a": 1}])
def test_what_is_no_seed(seed):
    """While the tests run, wrong types stop at the annotations of a method; a user's get as far as this function."""
    with pytest.raises(ValueError, match=r"`seed` is .*whole number"):
        inspect.unwrap(generator)(seed)


@pytest.mark.parametrize(
    "call",
    [
        lambda seed: NB.explain(X[:2], seed=seed),
        lambda seed: NB.sample(3, seed=seed),
        lambda seed: NB.sample_proba(X[:2], seed=seed),
        lambda seed: NB.predict_interval(X[:2], seed=seed),
        lambda seed: NB.uncertainty(X[:2], seed=seed),
        lambda seed: NB.sample_posterior(draws=3, seed=seed),
    ],
)
def test_a_negative_seed(call):
    with pytest.raises(ValueError, match=r"`seed` is -1.*whole number"):
        call(-1)


@pytest.mark.parametrize("value", [None, "x", 0, 1.5, True])
def test_numbers_of_draws(value):
    with pytest.raises(ValueError, match="`n_draws` is"):
        NB.model_.contributions(X[:2], n_draws=value)


@pytest.mark.parametrize("value", [0, True])
def test_numbers_of_draws_of_probabilities(value):
    with pytest.raises(ValueError, match="`n_draws` is"):
        NB.sample_proba(X[:2], n_draws=value)


@pytest.mark.parametrize("against", [[], [[1, 2]], {"a": 1}, "x"])
def test_against(against):
    with pytest.raises(ValueError, match="`against` is"):
        NB.explain(X[:2], against=against)


def test_a_number_of_features_beyond_any_array_lists_all():
    whole = NB.explain(X[:2], n_draws=20)
    assert NB.explain(X[:2], n=TOO_LARGE, n_draws=20).equals(whole)


def test_one_feature_or_several():
    assert [*NB.tables(features=2)] == [*NB.tables(features=[2])] == [2]
    for features in (5, -1, 2.5, object(), [0, 7]):
        with pytest.raises(ValueError, match="`features` has"):
            NB.tables(features=features)


@pytest.mark.parametrize("weights", [{}, "x", object(), {"a": 1}, [None] * len(Y)])
def test_weights_of_leave_one_out(weights):
    with pytest.raises(ValueError, match="`sample_weight`"):
        NB.loo(X, Y, sample_weight=weights)


@pytest.mark.parametrize("value", [-1, 1.5, "x", [1, 2]])
def test_min_categories(value):
    with pytest.raises(ValueError, match="`min_categories` is"):
        CategoricalNB(min_categories=value).fit(np.round(X), Y)
