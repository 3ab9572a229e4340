"""Features ranked by weight, and parameters counted."""

import itertools

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

from bayesnb import BernoulliNB, CategoricalNB, GaussianDA, GaussianNB, MultinomialNB, rank_features
from bayesnb.analysis.counting import count_parameters


@pytest.fixture(scope="module")
def yes_no():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 400)
    p = np.where(y[:, None] == 1, [0.9, 0.5, 0.2], [0.2, 0.5, 0.3])
    return pd.DataFrame((rng.random((400, 3)) < p).astype(int), columns=["strong", "none", "weak"]), y


def test_weights_are_the_coefficients_sorted_by_size(yes_no):
    X, y = yes_no
    nb = BernoulliNB(estimate="mean").fit(X, y)
    table = rank_features(nb)
    assert list(table.columns) == ["feature", "weight", "low", "high"]
    assert list(table["feature"]) == ["strong", "weak", "none"]
    np.testing.assert_allclose(table["weight"], nb.coef_[0][[0, 2, 1]])
    assert table["low"][0] > 0  # what speaks, speaks surely
    assert table["low"][2] < 0 < table["high"][2]
    middle = rank_features(nb.set_params(estimate="predictive"))
    assert (middle["low"] < middle["weight"]).all() and (middle["weight"] < middle["high"]).all()


@pytest.mark.slow
def test_intervals_are_those_of_the_log_odds_of_betas(yes_no):
    """w = logit θ₁ − logit θ₀ of two independent betas: quantiles of direct draws, at 5 Monte Carlo standard errors."""
    X, y = yes_no
    nb = BernoulliNB().fit(X, y)
    table = rank_features(nb, 0.8, n_draws=4000).set_index("feature")
    rng, block = np.random.default_rng(5), nb.posterior_.blocks["x"]
    theta = rng.beta(block.a[:, 2], block.b[:, 2], (400_000, 2))
    w = np.log(theta / (1 - theta)) @ [-1, 1]
    for name, q in (("low", 0.1), ("high", 0.9)):
        density = np.mean(abs(w - np.quantile(w, q)) < 0.02) / 0.04
        error = np.sqrt(q * (1 - q) / 4000) / density
        assert abs(table.loc["weak", name] - np.quantile(w, q)) < 5 * error


@pytest.mark.parametrize("nb", [GaussianNB(variance="pooled"), GaussianDA(covariance="shared"), MultinomialNB()])
def test_with_more_classes_each_has_its_contrast(nb):
    X, y = load_iris(return_X_y=True)
    nb.set_params(estimate="mean")
    table = rank_features(nb.fit(X, y), feature_names=list("abcd"), n_draws=50)
    assert table.shape == (12, 5)
    sums = table.groupby("feature")["weight"].sum()
    np.testing.assert_allclose(sums, 0, atol=1e-9 * table["weight"].abs().max())
    one = table[(table["feature"] == "c") & (table["class_"] == 2)]["weight"].item()
    assert one == pytest.approx((nb.coef_[2] - nb.coef_.mean(0))[2])


def test_levels_of_categories_are_named():
    X = pd.DataFrame({"colour": list("rrgb") * 10, "size": ["s", "l"] * 20})
    nb = CategoricalNB(estimate="mean").fit(X, (X["colour"] == "r").astype(int))
    table = rank_features(nb, n_draws=20).set_index("feature")
    assert set(table.index) == {"colour=r", "colour=g", "colour=b", "size=s", "size=l"}
    assert table["weight"].idxmax() == "colour=r"
    theta = np.exp(nb.posterior_.blocks["levels_3"].mean()["log_theta"])
    assert table.loc["colour=r", "weight"] == pytest.approx(np.log(theta[1, 0, 2] / theta[0, 0, 2]))


def test_what_cannot_be_ranked_is_told(yes_no):
    X, y = yes_no
    nb = BernoulliNB().fit(X, y)
    with pytest.raises(ValueError, match="`level` is 1"):
        rank_features(nb, 1)
    with pytest.raises(ValueError, match="`feature_names` has 2 names, but the model has 3 features"):
        rank_features(nb, feature_names=["a", "b"])


def test_parameters_are_counted_by_listing_them():
    for d, c, k in itertools.product(range(4), (1, 2, 3), (1, 2, 3)):
        cells = len(list(itertools.product(range(k), repeat=d)))
        assert count_parameters(d, c, k, naive=False) == c * cells - 1  # all cells of the joint table sum to one
        assert count_parameters(d, c, k) == c - 1 + sum(c * (k - 1) for _ in range(d))
    assert count_parameters(30) == 61
    assert count_parameters(30, naive=False) == 2**31 - 1
