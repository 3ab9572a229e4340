"""Costs, thresholds and moved class priors give the same decisions, also through scikit-learn's tools."""

import numpy as np
import pytest
import scipy.stats as st
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.dummy import DummyClassifier
from sklearn.model_selection import FixedThresholdClassifier, TunedThresholdClassifierCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from bayesnb import GaussianNB, OneDependenceNB, with_class_prior
from bayesnb.analysis.decisions import CostClassifier, cost_scorer, cost_threshold, decide, expected_costs, moved_prior


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


def test_tuned_thresholds_take_the_scorer(halves):
    X, X_test, y, y_test = halves
    tuned = TunedThresholdClassifierCV(GaussianNB(), scoring=cost_scorer(1, 50), cv=3).fit(X, y)
    scorer = cost_scorer(1, 50)
    assert tuned.best_threshold_ < 0.5
    assert scorer(tuned, X_test, y_test) >= scorer(GaussianNB().fit(X, y), X_test, y_test)
    wrong = np.sum(GaussianNB().fit(X, y).predict(X_test) != y_test) / len(y_test)
    nb, w = GaussianNB().fit(X, y), np.arange(len(y)) % 3
    assert cost_scorer(1, 1)(nb, X_test, y_test) == pytest.approx(-wrong)
    copies = np.repeat(np.arange(len(y)), w)
    assert scorer(nb, X, y, sample_weight=w) == pytest.approx(scorer(nb, X[copies], y[copies]), rel=1e-12)


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
    wide = np.column_stack([costs, rng.gamma(1, 0.5, 4)])
    np.testing.assert_array_equal(decide(p, wide), brute_force(p, wide))
    np.testing.assert_array_equal(decide(p, costs, 0.5), brute_force(p, np.column_stack([costs, np.full(4, 0.5)])))
    assert (decide(p, wide) == -1).any()
    np.testing.assert_array_equal(decide(p), p.argmax(1))
    np.testing.assert_array_equal(decide(p, None, 0.4) == -1, p.max(1) < 0.6)  # Chow's rule
    np.testing.assert_allclose(expected_costs(p, costs), np.einsum("ik,ka->ia", p, costs))


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
    silent = careful.decide(X_test) == -1
    np.testing.assert_array_equal(silent, careful.predict_proba(X_test).max(1) < 0.9)
    assert 0 < silent.sum() < len(silent) / 2
    assert (careful.predict(X_test)[silent] == None).all()  # noqa: E711
    wrong = (careful.predict(X_test) != y_test) & ~silent
    assert careful.score(X_test, y_test) == pytest.approx(-(wrong.sum() + 0.1 * silent.sum()) / len(silent))
    named = CostClassifier(GaussianNB(), abstain_cost=0.1, abstain_label="ask").fit(X, y).predict(X_test)
    assert named.dtype.kind == "U"
    np.testing.assert_array_equal(named == "ask", silent)
    w = np.random.default_rng(0).random(len(y_test))
    loss = np.where(silent, 0.1, wrong)
    assert careful.score(X_test, y_test[:, None], w) == pytest.approx(-np.average(loss, weights=w))


def test_abstaining_where_the_parameters_leave_it_open(flowers):
    X, X_test, y, y_test = flowers
    nb = GaussianNB().fit(X, y)
    open_ = nb.uncertainty(X_test).epistemic > 0.02
    assert 0 < open_.sum() < len(open_)
    for inner, rows in ((GaussianNB(), X), (make_pipeline(FunctionTransformer(), GaussianNB()), X)):
        fitted = CostClassifier(inner, max_epistemic=0.02).fit(rows, y)
        np.testing.assert_array_equal(fitted.decide(X_test) == -1, open_)
    wrong = nb.predict(X_test)[~open_] != y_test[~open_]
    assert fitted.score(X_test, y_test) == pytest.approx(-wrong.mean())  # what has no cost is left out
    never = fitted.set_params(max_epistemic=0.0)
    assert (never.decide(X_test) == -1).all() and never.score(X_test, y_test) == 0
    assert CostClassifier(GaussianNB(), max_epistemic=0, abstain_label=-1).fit(X, np.arange(20) % 2).predict(
        X_test
    ).tolist() == [-1] * len(X_test)


def test_a_class_prior_that_nothing_uses_is_refused():
    X, y = load_iris(return_X_y=True)
    wrapped = CostClassifier(GaussianNB()).fit(X, y)
    for fitted, error, message in [
        (OneDependenceNB().fit(X.astype(int), y), ValueError, "no class prior to set"),
        (make_pipeline(GaussianNB()).fit(X, y), TypeError, "`estimator` is a Pipeline.*replace the last step"),
        (wrapped, TypeError, "`estimator` is a CostClassifier"),
    ]:
        with pytest.raises(error, match=message):
            with_class_prior(fitted, [0.98, 0.01, 0.01])


@pytest.mark.parametrize("estimate", ["predictive", "mean"])
def test_novelty_is_the_log_density_of_the_row(estimate, flowers):
    """By SciPy's densities; rows a long way off have a low score and no −∞."""
    X, X_test, y, _ = flowers
    nb = GaussianNB(estimate=estimate, var_smoothing=0).fit(X, y)
    block, pi = nb.posterior_.blocks["x"], np.exp(nb.posterior_.classes.log_predictive())
    if estimate == "predictive":
        scale = np.sqrt(block.b / block.a * (1 + 1 / block.kappa))
        each = [st.t(2 * block.a[k], block.m[k], scale[k]).pdf(X_test) for k in range(3)]
    else:
        each = [st.norm(block.m[k], np.sqrt(block.b[k] / (block.a[k] - 1))).pdf(X_test) for k in range(3)]
    density = sum(p * np.prod(f, 1) for p, f in zip(pi, each, strict=True))
    np.testing.assert_allclose(nb.novelty_score(X_test), np.log(density), rtol=1e-9)
    far = nb.novelty_score([[1e3, -1e3, 0, 0], [1e300, 0, 0, 0]])
    assert np.isfinite(far).all() and (far < nb.novelty_score(X_test).min()).all()


def test_bad_input_is_named(flowers):
    X, _, y, _ = flowers
    for call, message in [
        (lambda: CostClassifier(DummyClassifier(), max_epistemic=0.1).fit(X, y).predict(X), "DummyClassifier, which"),
        (lambda: CostClassifier(GaussianNB()).fit(X, y).score(X, ["rose"] * 20), r"`y` has the labels \['rose'\]"),
        (lambda: cost_threshold(0, 1), "`false_positive` is 0"),
        (lambda: cost_scorer(1, np.inf), "`false_negative` is inf"),
        (lambda: moved_prior([0.5, 0.2], 0.5), "`class_prior` is"),
        (lambda: moved_prior([0.5, 0.5], 1.0), "`threshold` is 1.0"),
        (lambda: cost_scorer(1, 1)._score_func([0, 1, 2], [0, 1, 1]), r"`y` has the labels \[0 1 2\]"),
    ]:
        with pytest.raises(ValueError, match=message):
            call()
    for settings, message in [
        ({"costs": np.ones((2, 2))}, r"`costs` has shape \(2, 2\); 3 classes need \(3, 3\), or \(3, 4\)"),
        ({"costs": np.full((3, 3), np.inf)}, "`costs` has entries that are not finite"),
        ({"abstain_cost": np.nan}, "`abstain_cost` is nan"),
        ({"costs": np.ones((3, 4)), "abstain_cost": 1.0}, "leave out one of them"),
        ({"max_epistemic": -1}, "`max_epistemic` is -1"),
        ({"abstain_label": "setosa"}, "`abstain_label` is 'setosa', which is one of the classes"),
    ]:
        with pytest.raises(ValueError, match=message):
            CostClassifier(GaussianNB(), **settings).fit(X, y)
