"""Costs, thresholds and moved class priors give the same decisions, also through scikit-learn's tools."""

import numpy as np
import pandas as pd
import pytest
import scipy.stats as st
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.model_selection import FixedThresholdClassifier, train_test_split
from sklearn.pipeline import make_pipeline

from bayesnb import CostClassifier, GaussianNB, OneDependenceNB, decide, most_informative, with_class_prior
from bayesnb.analysis.decisions import cost_threshold, moved_prior


@pytest.fixture(scope="module")
def halves():
    X, y = load_breast_cancer(return_X_y=True)
    return train_test_split(X, np.where(y == 0, "malignant", "benign"), random_state=0)


@pytest.mark.parametrize("t", [0.01, 0.9])
def test_a_threshold_is_a_moved_prior_and_a_pair_of_costs(halves, t):
    X, X_test, y, _ = halves
    assert cost_threshold(1, 4) == 0.2
    nb = GaussianNB().fit(X, y)
    by_threshold = np.where(nb.predict_proba(X_test)[:, 1] > t, "malignant", "benign")
    pi = np.exp(nb.posterior_.classes.log_predictive())
    moved = with_class_prior(nb, moved_prior(pi, t))
    np.testing.assert_array_equal(moved.predict(X_test), by_threshold)
    log_odds = nb.decision_function(X_test) + np.log((1 - t) / t)
    np.testing.assert_allclose(moved.decision_function(X_test), log_odds, rtol=1e-9, atol=1e-9)
    fixed = FixedThresholdClassifier(GaussianNB(), threshold=t, pos_label="malignant").fit(X, y)
    np.testing.assert_array_equal(fixed.predict(X_test), by_threshold)
    costs = CostClassifier(GaussianNB(), [[0, t], [1 - t, 0]]).fit(X, y)
    np.testing.assert_array_equal(costs.predict(X_test), by_threshold)


# --- any number of classes ------------------------------------------------------------------------------------------


def brute_force(p, costs):
    """The cheapest decision, by a loop; −1 for the last column of a wide table."""
    found = []
    for row in p:
        prices = [sum(row[k] * costs[k, a] for k in range(len(row))) for a in range(costs.shape[1])]
        best = prices.index(min(prices))
        found.append(-1 if best == len(row) else best)
    return np.array(found)


def test_the_cheapest_decision_is_brute_force(rng):
    p = rng.dirichlet(np.ones(4), 200)
    costs = rng.gamma(1, 1, (4, 4))
    np.testing.assert_array_equal(decide(p, costs), brute_force(p, costs))
    wide = np.column_stack([costs, np.full(4, 0.5)])
    np.testing.assert_array_equal(decide(p, costs, 0.5), brute_force(p, wide))
    assert (decide(p, costs, 0.5) == -1).any()
    np.testing.assert_array_equal(decide(p), p.argmax(1))
    np.testing.assert_array_equal(decide(p, None, 0.4) == -1, p.max(1) < 0.6)  # Chow's rule


@pytest.fixture(scope="module")
def flowers():
    X, y = load_iris(return_X_y=True)
    return train_test_split(X, np.array(["setosa", "versicolor", "virginica"])[y], train_size=20, random_state=0)


def test_abstaining(flowers):
    X, X_test, y, y_test = flowers
    eager = CostClassifier(GaussianNB()).fit(X, y)
    np.testing.assert_array_equal(eager.predict(X_test), GaussianNB().fit(X, y).predict(X_test))
    assert eager.score(X_test, y_test) == pytest.approx(np.mean(eager.predict(X_test) == y_test) - 1)
    careful = CostClassifier(GaussianNB(), abstain_cost=0.1).fit(X, y)
    silent = careful.predict_proba(X_test).max(1) < 0.9
    np.testing.assert_array_equal(decide(careful.predict_proba(X_test), None, 0.1) == -1, silent)
    assert 0 < silent.sum() < len(silent) / 2
    assert (careful.predict(X_test)[silent] == None).all()  # noqa: E711
    wrong = (careful.predict(X_test) != y_test) & ~silent
    assert careful.score(X_test, y_test) == pytest.approx(-(wrong.sum() + 0.1 * silent.sum()) / len(silent))
    w = np.random.default_rng(0).random(len(y_test))
    loss = np.where(silent, 0.1, wrong)
    assert careful.score(X_test, y_test[:, None], w) == pytest.approx(-np.average(loss, weights=w))


def test_the_most_informative_have_the_most(flowers):
    X, y = flowers[0], flowers[2]
    nb = GaussianNB().fit(X, y)
    rows = flowers[1]
    gain, chosen = nb.uncertainty(rows).epistemic, most_informative(nb, rows, 10)
    assert (np.diff(gain[chosen]) <= 0).all()
    assert gain[chosen].min() >= np.delete(gain, chosen).max()
    assert most_informative(nb, np.repeat(rows[:1], 3, 0).tolist(), 2).tolist() == [0, 1]  # ties: the earlier
    for n in (0, 131):
        with pytest.raises(ValueError, match=f"`n` is {n}; .* at most the 130 rows"):
            most_informative(nb, rows, n)


def test_a_class_prior_that_nothing_uses_is_refused():
    X, y = load_iris(return_X_y=True)
    wrapped = CostClassifier(GaussianNB()).fit(X, y)
    for fitted, error, message in [
        (OneDependenceNB().fit(X.astype(int), y), ValueError, "no class prior to set; give a `sample_weight`"),
        (make_pipeline(GaussianNB()).fit(X, y), TypeError, "`estimator` is a Pipeline.*replace the last step"),
        (wrapped, TypeError, "`estimator` is a CostClassifier"),
    ]:
        with pytest.raises(error, match=message):
            with_class_prior(fitted, [0.98, 0.01, 0.01])


def test_novelty_is_the_log_density_of_the_row(flowers):
    """By SciPy's densities; rows a long way off have a low score and no −∞."""
    X, X_test, y, _ = flowers
    nb = GaussianNB(var_smoothing=0).fit(X, y)
    block, pi = nb.posterior_.blocks["x"], np.exp(nb.posterior_.classes.log_predictive())
    scale = np.sqrt(block.b / block.a * (1 + 1 / block.kappa))
    each = [st.t(2 * block.a[k], block.m[k], scale[k]).pdf(X_test) for k in range(3)]
    density = sum(p * np.prod(f, 1) for p, f in zip(pi, each, strict=True))
    np.testing.assert_allclose(nb.novelty_score(X_test), np.log(density), rtol=1e-9)
    far = nb.novelty_score([[1e3, -1e3, 0, 0]])
    assert np.isfinite(far).all() and far < nb.novelty_score(X_test).min()


def test_bad_input_is_named(flowers):
    X, _, y, _ = flowers
    for call, message in [
        (lambda: CostClassifier(GaussianNB()).fit(X, y).score(X, ["rose"] * 20), r"`y` has the labels \['rose'\]"),
        (lambda: cost_threshold(0, 1), "costs are 0 and 1"),
        (lambda: cost_threshold(1, np.inf), "positive and finite"),
        (lambda: moved_prior([0.5, 0.2], 0.5), "`class_prior` is"),
        (lambda: moved_prior([0.5, 0.5], 1.0), "`threshold` is 1.0"),
        (lambda: decide([["a", "b"]]), "`p` is .*; it needs class probabilities"),
    ]:
        with pytest.raises(ValueError, match=message):
            call()
    for settings, message in [
        ({"costs": np.ones((2, 2))}, r"`costs` has shape \(2, 2\); 3 classes need \(3, 3\)"),
        ({"costs": np.full((3, 3), np.inf)}, "need to be finite"),
        ({"abstain_cost": np.nan}, "need to be finite"),
        ({"abstain_cost": "a"}, "`abstain_cost` is 'a'; it needs a finite number"),
        ({"costs": {"rose": 1}}, "`costs` is {'rose': 1}; it needs finite numbers"),
        ({"costs": pd.DataFrame(np.ones((3, 3)), [*"abc"], [*"abc"])}, r"`costs` has the labels \['a', 'b', 'c'\]"),
    ]:
        with pytest.raises(ValueError, match=message):
            CostClassifier(GaussianNB(), **settings).fit(X, y)
    assert decide([[0.5, 0.6]]).tolist() == decide([0.5, 0.6]).tolist() == [1]


def test_labelled_costs_go_by_their_labels(flowers):
    X, X_test, y, y_test = flowers
    costs = pd.DataFrame([[0, 1, 1], [1, 0, 1], [1, 50, 0]], *[np.unique(y)] * 2)
    plain, mixed = (CostClassifier(GaussianNB(), costs=c).fit(X, y) for c in (costs.to_numpy(), costs.iloc[::-1]))
    np.testing.assert_array_equal(mixed.predict(X_test), plain.predict(X_test))
    assert mixed.score(X_test, y_test) == plain.score(X_test, y_test)
