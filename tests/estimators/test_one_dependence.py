"""OneDependenceNB: the page against a textbook loop and against the blocks of each parent; the estimator's promises."""

import copy
import itertools

import jax
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

import bayesnb
from bayesnb import CategoricalNB, EqualWidthBinner, OneDependenceNB
from bayesnb.one_dependence import BLOCK, OneDependence, stacked_weights
from bayesnb.statistics import one_hot

from ..laws import jitted, log_joint
from .test_scikit_learn import expected_failures

SIZES = (2, 3, 4, 3, 1)
ALPHA = np.array([0.7, 1.0, 2.5, 0.3, 1.0])
TOTAL = 1.5
C, N = 3, 60


def table(seed: int = 0, missing: float = 0.15, n: int = N) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows of levels with missing cells, class indices and weights; the last row has no cell at all."""
    rng = np.random.default_rng(seed)
    x = rng.integers(0, SIZES, (n, len(SIZES))).astype(float)
    x[rng.random(x.shape) < missing] = np.nan
    if missing:
        x[-1] = np.nan
    return x, rng.permutation(np.arange(n) % C), rng.choice([0.5, 1.0, 2.0], n)


def page(v: np.ndarray | None = None) -> OneDependence:
    d = len(SIZES)
    return OneDependence.prior(C, SIZES, ALPHA, TOTAL, np.full(d, 1 / d) if v is None else v)


def textbook(x: np.ndarray, y: np.ndarray, w: np.ndarray, row: np.ndarray, v: np.ndarray) -> np.ndarray:
    """p(y, x) of one row by counting, as the paper writes it."""
    d, total = len(SIZES), np.zeros(C)
    for c in range(C):
        terms = []
        for j in range(d):
            if np.isnan(row[j]):
                continue
            has = ~np.isnan(x[:, j])
            here = (y == c) & (x[:, j] == row[j])
            p = (w[here].sum() + TOTAL / (C * SIZES[j])) / (w[has].sum() + TOTAL)
            for i in range(d):
                if i != j and not np.isnan(row[i]):
                    known = here & ~np.isnan(x[:, i])
                    p *= (w[known & (x[:, i] == row[i])].sum() + ALPHA[i]) / (w[known].sum() + SIZES[i] * ALPHA[i])
            terms.append((v[j], p))
        if terms:
            total[c] = sum(weight * p for weight, p in terms) / sum(weight for weight, _ in terms)
        else:
            total[c] = (w[y == c].sum() + TOTAL / C) / (w.sum() + TOTAL)
    return total


@pytest.fixture(params=["uniform", "unequal"])
def v(request: pytest.FixtureRequest) -> np.ndarray:
    return np.full(5, 0.2) if request.param == "uniform" else np.array([0.4, 0.1, 0.0, 0.3, 0.2])


# --- the page -----------------------------------------------------------------------------------------------------


def test_prediction_is_the_textbooks(v):
    x, y, w = table()
    new = table(seed=1)[0]
    prior = page(v)
    posterior = prior.update(prior.suffstats({BLOCK: x}, one_hot(y, C, w)))
    want = np.log([textbook(x, y, w, row, v) for row in new])
    np.testing.assert_allclose(posterior.log_joint({BLOCK: new}), want, rtol=0, atol=1e-10)


def test_leaving_one_out_is_a_refit(v):
    x, y, w = table()
    prior = page(v)
    posterior = prior.update(prior.suffstats({BLOCK: x}, one_hot(y, C, w)))
    found = posterior.log_loo({BLOCK: x}, one_hot(y, C, w))
    for i in range(N):
        others = np.arange(N) != i
        want = np.log(textbook(x[others], y[others], w[others], x[i], v))
        np.testing.assert_allclose(found[i], want, rtol=0, atol=1e-10)


@pytest.mark.parametrize("j", range(len(SIZES)))
def test_each_model_is_naive_bayes_of_pairs(j):
    """Prediction, leave-one-out and evidence of a parent are those of its `NaiveBayes`, rows without it left out."""
    x, y, w = table(seed=2)
    prior = page()
    stats = prior.suffstats({BLOCK: x}, one_hot(y, C, w))
    posterior, there = prior.update(stats), ~np.isnan(x[:, j])
    pair = y[there] * SIZES[j] + x[there, j].astype(int)
    rows, r = prior.parent_rows(j, {BLOCK: x[there]}), one_hot(pair, C * SIZES[j], w[there])
    own, model = prior.parent(j).suffstats(rows, r), posterior.parent(j)
    jax.tree.map(np.testing.assert_array_equal, prior.parent_statistics(j, stats), own)
    jax.tree.map(np.testing.assert_allclose, prior.parent(j).update(own), model)
    assert prior.log_marginal(stats)[j] == pytest.approx(prior.parent(j).log_marginal(own), rel=1e-12)

    columns = np.arange(C) * SIZES[j] + x[there, j, None].astype(int)
    tables = {"log_parents": posterior.log_parents({BLOCK: x})}
    tables["log_loo_parents"] = posterior.log_loo_parents({BLOCK: x}, one_hot(y, C, w))
    wants = {"log_parents": model.log_joint(rows), "log_loo_parents": model.log_loo(rows, r)}
    for name, parts in tables.items():
        found = np.concatenate([part for _, part in parts])[:, j]
        assert (found[~there] == -np.inf).all()
        want = np.take_along_axis(wants[name], columns, 1)
        np.testing.assert_allclose(found[there], want, rtol=0, atol=1e-10, err_msg=name)


@pytest.mark.parametrize("j", [0, 2])
def test_bayes_identity_of_each_parent(j, x64):
    """log p(θ, x, y) by the NumPyro twin − log p(θ | x, y) in closed form is the closed-form evidence, at any θ."""
    x, y, _ = table(seed=3)
    x[:, j] = np.where(np.isnan(x[:, j]), 0, x[:, j])
    prior = page()
    stats = prior.suffstats({BLOCK: x}, one_hot(y, C))
    posterior, evidence = prior.update(stats).parent(j), prior.log_marginal(stats)[j]
    twin = jitted(log_joint(lambda: prior.model({BLOCK: x}, y, j)))
    for theta in (prior.parent(j).sample(np.random.default_rng(1)), posterior.sample(np.random.default_rng(2))):
        total = float(twin(posterior.to_sites(theta))) - posterior.log_prob(theta)
        assert total == pytest.approx(evidence, abs=1e-9 * abs(evidence))


def test_the_predictive_of_each_parent_sums_to_one():
    prior = page()
    x, y, w = table()
    posterior = prior.update(prior.suffstats({BLOCK: x}, one_hot(y, C, w)))
    every = np.array(list(itertools.product(*map(range, SIZES))), float)
    of_parents = np.concatenate([part for _, part in posterior.log_parents({BLOCK: every})])
    np.testing.assert_allclose(np.exp(of_parents).sum((0, 2)), 1, rtol=1e-12)


def test_one_row_after_the_other_gives_the_evidence():
    """Π p_j(x_i, y_i | rows before i) is the evidence of parent j."""
    x, y, w = table(missing=0, n=12)
    prior, so_far = page(), 0.0
    posterior = prior
    for i in range(len(x)):
        row, r = {BLOCK: x[i : i + 1]}, one_hot(y[i : i + 1], C)
        (_, part), *_ = posterior.log_parents(row)
        so_far = so_far + part[0, :, y[i]]
        posterior = posterior.update(prior.suffstats(row, r))
    np.testing.assert_allclose(so_far, prior.log_marginal(prior.suffstats({BLOCK: x}, one_hot(y, C))), rtol=1e-12)


def test_statistics_add():
    x, y, w = table()
    prior, r = page(), one_hot(y, C, w)
    whole = prior.suffstats({BLOCK: x}, r)
    a, b = (prior.suffstats({BLOCK: x[part]}, r[part]) for part in (slice(0, 25), slice(25, None)))
    for one, other in ((a + b, whole), (b + a, whole), (whole - b, a), (a + whole.zero(), a)):
        jax.tree.map(lambda p, q: np.testing.assert_allclose(p, q, atol=1e-12), one, other)
    np.testing.assert_allclose(
        prior.update(a).update(b).log_joint({BLOCK: x}), prior.update(whole).log_joint({BLOCK: x}), rtol=1e-12
    )


def test_soft_labels_are_weights():
    x, _, _ = table()
    r = np.random.default_rng(0).dirichlet(np.ones(C), N)
    found, prior = page().suffstats({BLOCK: x}, r), page()
    want = sum(prior.suffstats({BLOCK: x}, one_hot(np.full(N, c), C, r[:, c])).blocks[BLOCK].n for c in range(C))
    np.testing.assert_allclose(found.blocks[BLOCK].n, want, rtol=1e-12)


# --- stacking -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
def test_stacked_weights_obey_kuhn_and_tucker(seed):
    rng = np.random.default_rng(seed)
    log_p = -rng.gamma(1, 2, (300, 9)) * rng.gamma(1, 3, 9)
    log_p[:, 4] = log_p[:, 3]  # two parents that say the same
    w = rng.choice([0.0, 1.0, 3.0], 300)
    v = stacked_weights(log_p, w)
    g = w @ (np.exp(log_p) / (np.exp(log_p) @ v)[:, None]) / w.sum()
    assert v.sum() == pytest.approx(1, abs=1e-12)
    assert (v >= 0).all()
    assert g.max() <= 1 + 2e-10
    assert (v * abs(g - 1)).sum() < 1e-6
    np.testing.assert_array_equal(v, stacked_weights(log_p, w))


def test_stacking_beats_every_other_average_of_probabilities():
    """The score that the weights maximise, computed by refits."""
    rng = np.random.default_rng(5)
    X = rng.integers(0, 3, (90, 4))
    y = ((X[:, 0] + X[:, 1]) % 3 == 0) ^ (rng.random(90) < 0.1)
    nb = OneDependenceNB(weights="loo", min_categories=3).fit(X, y)
    p = np.empty((90, 4))
    for i in range(90):
        others = np.arange(90) != i
        refit = OneDependenceNB(min_categories=3).fit(X[others], y[others])
        p[i] = np.exp(refit.predict_parents_log_proba(X[i : i + 1]))[0, :, int(y[i])]
    best = np.log(p @ nb.weights_).sum()
    for other in [
        np.full(4, 0.25),
        *np.eye(4),
        *rng.dirichlet(np.ones(4), 200),
        *rng.dirichlet(100 * nb.weights_ + 0.1, 200),
    ]:
        assert np.log(p @ other).sum() <= best + 1e-7
    assert best > np.log(p @ np.full(4, 0.25)).sum() + 1


def test_stacking_needs_all_rows(tmp_path):
    X, y = np.arange(12).reshape(6, 2) % 3, np.arange(6) % 2
    nb = OneDependenceNB(weights="loo").fit(X, y)
    for method in ("partial_fit", "forget", "merge"):
        with pytest.raises(AttributeError) as error:
            getattr(nb, method)
        assert "weights='uniform'" in str(error.value.__cause__)
    with pytest.raises(ValueError, match="`weights` is 'stacked'; choose"):
        OneDependenceNB(weights="stacked").fit(X, y)
    nb.save(tmp_path / "nb")
    np.testing.assert_array_equal(bayesnb.load(tmp_path / "nb").weights_, nb.weights_)


# --- the estimator ------------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks([OneDependenceNB(), OneDependenceNB(weights="loo")], expected_failed_checks=expected_failures)
def test_scikit_learns_checks(estimator, check):
    check(estimator)
