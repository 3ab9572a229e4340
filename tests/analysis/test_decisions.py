"""Costs, thresholds and moved class priors give the same decisions, also through scikit-learn's tools."""

import numpy as np
import pandas as pd
import pytest
import scipy.stats as st
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import FixedThresholdClassifier, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from bayesnb import (
    CalibratedClassifierLOO,
    CostClassifier,
    DiscriminativeNB,
    GaussianNB,
    OneDependenceNB,
    PosteriorCalibrator,
    decide,
    most_informative,
    with_class_prior,
)
from bayesnb.analysis.decisions import cost_threshold, moved_prior

from ..estimators_table import mostly_slow


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
    for n, needed in {0: "at least 1", 131: "at most the 130 rows"}.items():
        with pytest.raises(ValueError, match=f"`n` is {n}; .*{needed}"):
            most_informative(nb, rows, n)


# --- other class frequencies ----------------------------------------------------------------------------------------


def drawn_rows(rng, n, share):
    """Two correlated numbers, of which the second class has a share."""
    y = (rng.random(n) < share).astype(int)
    X = rng.normal(size=(n, 2)) + rng.normal(size=(n, 1)) + 0.8 * y[:, None]
    return X, np.array(["no", "yes"])[y]


CLASSIFIERS = {
    "leave-one-out": CalibratedClassifierLOO(GaussianNB()),
    "calibrator": PosteriorCalibrator(GaussianNB()),
    "discriminative": DiscriminativeNB(),
    "logistic": LogisticRegression(),
}


@pytest.mark.parametrize("name", CLASSIFIERS)
@pytest.mark.slow
def test_a_moved_model_is_as_good_as_a_fit_there(name, rng):
    """Rows drawn anew with another share of the classes."""
    few, even = drawn_rows(rng, 4000, 0.06), drawn_rows(rng, 4000, 0.5)
    X, y = drawn_rows(rng, 4000, 0.5)
    fitted = clone(CLASSIFIERS[name]).fit(*few)
    old = [0.94, 0.06] if name == "logistic" else None
    moved = with_class_prior(fitted, {"yes": 0.5, "no": 0.5}, old)
    there = clone(CLASSIFIERS[name]).fit(*even)
    losses = [log_loss(y, model.predict_proba(X)) for model in (moved, there, fitted)]
    assert losses[0] < losses[1] + 0.02 < losses[2] - 0.2
    assert moved.predict_proba(X)[:, 1].mean() == pytest.approx(0.5, abs=0.03)
    assert set(moved.predict(X)) == {"no", "yes"}


@pytest.mark.parametrize("name", mostly_slow(CLASSIFIERS, lambda name: name != "discriminative"))
def test_there_and_back(name, rng):
    X, y = drawn_rows(rng, 200, 0.3)
    fitted = clone(CLASSIFIERS[name]).fit(X, y)
    old = np.array([0.7, 0.3]) if name == "logistic" else fitted.class_prior_
    moved = with_class_prior(fitted, [0.1, 0.9], old)
    np.testing.assert_allclose(moved.predict_proba(X), with_class_prior(fitted.predict_proba(X), [0.1, 0.9], old))
    back = with_class_prior(moved, old)
    np.testing.assert_allclose(back.predict_proba(X), fitted.predict_proba(X), atol=1e-12)
    table = with_class_prior(moved.predict_proba(X), {0: old[0], 1: old[1]}, old=[0.1, 0.9])
    np.testing.assert_allclose(table, fitted.predict_proba(X), atol=1e-12)
    with pytest.raises(AttributeError, match="its class prior was moved"):
        moved.loo(X, y)
    if name == "logistic":
        with pytest.raises(TypeError, match="LogisticRegression has no draws"):
            moved.predict_interval(X)
        return
    draws = fitted.sample_proba(X[:3], 20, 0)
    odds = draws * np.array([0.1, 0.9]) / old
    expected = odds / odds.sum(-1, keepdims=True)
    np.testing.assert_allclose(moved.sample_proba(X[:3], 20, 0), expected, rtol=1e-9)
    np.testing.assert_allclose(back.predict_interval(X[:3]), fitted.predict_interval(X[:3]), atol=1e-12)
    low, high = np.moveaxis(moved.predict_interval(X[:3]), -1, 0)
    assert (low <= high).all()


def test_the_prior_of_the_fit_has_the_weights(rng):
    X, y = drawn_rows(rng, 200, 0.3)
    w = np.where(y == "yes", 3, 1)
    share = (w @ (y == "yes") + 1) / (w.sum() + 2)
    for fitted in (CalibratedClassifierLOO(GaussianNB()).fit(X, y, w), DiscriminativeNB().fit(X, y, w)):
        np.testing.assert_allclose(fitted.class_prior_, [1 - share, share], rtol=1e-9)
    own = make_pipeline(StandardScaler(), GaussianNB(class_prior=[0.2, 0.8])).fit(X, y)
    moved, inside = with_class_prior(own, [0.5, 0.5]), with_class_prior(own[-1], [0.5, 0.5])
    np.testing.assert_allclose(moved.old_prior_, [0.2, 0.8])
    np.testing.assert_allclose(moved.predict_proba(X), inside.predict_proba(own[0].transform(X)), atol=1e-12)


def test_a_class_prior_that_cannot_be_moved_is_refused():
    X, y = load_iris(return_X_y=True)
    third = [0.98, 0.01, 0.01]
    forest = RandomForestClassifier(5, class_weight="balanced", random_state=0).fit(X, y)
    for fitted, prior, error, message in [
        (OneDependenceNB().fit(X.astype(int), y), third, ValueError, "no class prior to set; give a `sample_weight`"),
        (CostClassifier(GaussianNB()).fit(X, y), third, TypeError, "`estimator` is a CostClassifier"),
        (LinearSVC().fit(X, y), third, TypeError, "`estimator` is a LinearSVC"),
        (GaussianNB, third, TypeError, "the class GaussianNB; give a fitted classifier"),
        (LogisticRegression(max_iter=500).fit(X, y), third, ValueError, "`old` is None, and LogisticRegression does"),
        (forest, third, ValueError, "`old` is None, and RandomForestClassifier does not know"),
        (np.full((2, 3), 1 / 3), third, ValueError, "`old` is None; a table does not know"),
        (np.full((2, 3), 1.0), third, ValueError, "a table of shape"),
        (CalibratedClassifierLOO(GaussianNB()).fit(X, y), [0.5, 0.5], ValueError, "`class_prior` is .*3 positive prob"),
        (CalibratedClassifierLOO(GaussianNB()).fit(X, y), {0: 0.5, 7: 0.5}, ValueError, "`class_prior` has the labels"),
        (GaussianNB().fit(X, y), {0: 0.5, 7: 0.5}, ValueError, "`class_prior` has the labels"),
    ]:
        with pytest.raises(error, match=message):
            with_class_prior(fitted, prior)
    with pytest.raises(ValueError, match=r"`old` is .*GaussianNB knows its class probabilities"):
        with_class_prior(GaussianNB().fit(X, y), third, old=third)
    named = with_class_prior(GaussianNB().fit(X, y), {2: 0.01, 0: 0.98, 1: 0.01})
    np.testing.assert_allclose(np.exp(named.class_log_prior_), third)


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
