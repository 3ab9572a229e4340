"""Averaging over all subsets of the features: the sum over 2^d models."""

import dataclasses
import itertools

import numpy as np
import pytest
import scipy.special as sp
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline

from bayesnb import OneDependenceNB
from bayesnb.analysis.averaging import FeatureAverage
from bayesnb.estimators import (
    BernoulliNB,
    CategoricalNB,
    ComplementNB,
    ExponentialNB,
    GaussianDA,
    GaussianNB,
    KernelNB,
    MixedNB,
    MultinomialNB,
    PoissonNB,
)
from bayesnb.sums.statistics import one_hot

from ..estimators_table import WHOLE, mostly_slow

ALL = [
    BernoulliNB(binarize=3),
    CategoricalNB(),
    PoissonNB(),
    ExponentialNB(),
    *WHOLE,
    GaussianNB(),
    GaussianNB(variance="pooled"),
    GaussianNB(known_variance=2.0, priors=[0.2, 0.3, 0.5]),
    MixedNB([("n", GaussianNB(), [3, 0]), ("k", CategoricalNB(), [1]), ("p", PoissonNB(), [2])]),
]
SOME = [ALL[0], ALL[1], ALL[-4], ALL[-3], ALL[-1]]
INCLUSION = np.array([0.5, 0.1, 0.9, 0.3])


@pytest.fixture(scope="module")
def table():
    """Few rows, so that no subset has all the probability; every tenth cell is missing."""
    X, y = load_iris(return_X_y=True)
    rng = np.random.default_rng(0)
    order = rng.permutation(len(y))[:14]
    X, y = np.round(X[order]), np.array(list("abc"))[y[order]]
    X[rng.random(X.shape) < 0.1] = np.nan
    return X, y, rng.choice([0.5, 1.0, 2.0], len(y))


def one_column(nb, X, j):
    """The estimator's rows of one column: block, that column of it, and its cells."""
    for name, columns in nb.model_.block_columns.items():
        for i in np.flatnonzero(columns == j):
            return name, np.array([i]), nb.model_.encode(X)[name][:, [i]]


def by_hand(nb, X, y, w):
    """log p(y) and for each feature: log evidence and log predictive, with a parameter a class and with one."""
    r = one_hot(nb.model_.class_index(y), 3, w)
    features = []
    for j in range(X.shape[1]):
        name, at, x = one_column(nb, X, j)
        block = nb.prior_.blocks[name].select(at)
        stats = block.suffstats(x, r)
        pair = [(block.log_marginal(stats).sum(), block.update(stats).log_predictive(x))]
        whole = np.asarray(r.sum(1)).reshape(-1, 1)
        fields = {
            key: value[:1] if np.ndim(value) > 1 else value
            for key, value in ((f.name, getattr(block, f.name)) for f in dataclasses.fields(block))
        }
        single = type(block)(**fields)
        stats = single.suffstats(x, whole)
        pair.append((single.log_marginal(stats).sum(), single.update(stats).log_predictive(x)))
        features.append(pair[::-1])  # first without, then with the feature
    return features


@pytest.mark.parametrize("nb", mostly_slow(ALL, lambda nb: nb in SOME), ids=repr)
def test_it_is_the_sum_over_all_subsets(nb, table):
    X, y, w = table
    average = FeatureAverage(nb, inclusion=INCLUSION).fit(X, y, sample_weight=w)
    fitted = clone(nb).fit(X, y, w)
    certain = FeatureAverage(nb, inclusion=1).fit(X, y, w)
    np.testing.assert_allclose(certain.predict_log_proba(X), fitted.predict_log_proba(X), atol=1e-12)
    assert certain.log_evidence_ == pytest.approx(fitted.log_evidence_, rel=1e-12)
    features = by_hand(fitted, X, y, w)
    log_y = fitted.prior_.classes.log_marginal(fitted.statistics_.n)
    evidence, tables, subsets = [], [], list(itertools.product([0, 1], repeat=4))
    for subset in subsets:
        prior = np.log(np.where(subset, INCLUSION, 1 - INCLUSION)).sum()
        evidence.append(prior + log_y + sum(features[j][s][0] for j, s in enumerate(subset)))
        predictive = sum(features[j][s][1] for j, s in enumerate(subset))
        tables.append(fitted.posterior_.classes.log_predictive() + predictive)
    posterior = np.exp(np.array(evidence) - sp.logsumexp(evidence))
    assert 1e-6 < posterior.max() < 1 - 1e-6
    want = sp.logsumexp(tables, axis=0, b=posterior[:, None, None])
    np.testing.assert_allclose(average.predict_joint_log_proba(X), want, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(average.inclusion_, posterior @ np.array(subsets), rtol=1e-10)
    assert average.log_evidence_ == pytest.approx(sp.logsumexp(evidence), rel=1e-11)
    p = np.exp(want - sp.logsumexp(want, axis=1, keepdims=True))
    np.testing.assert_allclose(average.predict_proba(X), p, atol=1e-10)
    np.testing.assert_array_equal(average.predict(X), fitted.classes_[p.argmax(1)])
    assert average.score(X, y) == (average.predict(X) == y).mean()


def test_sparse_rows():
    nb = PoissonNB()
    rng = np.random.default_rng(0)
    X, y = rng.negative_binomial(1, 0.6, (50, 5)).astype(float), rng.integers(0, 3, 50)
    dense, thin = FeatureAverage(nb).fit(X, y), FeatureAverage(nb).fit(sparse.csr_matrix(X), y)
    np.testing.assert_allclose(thin.inclusion_, dense.inclusion_, rtol=1e-12)
    got = thin.predict_joint_log_proba(sparse.csr_matrix(X))
    np.testing.assert_allclose(got, dense.predict_joint_log_proba(X), rtol=1e-12)


@pytest.mark.parametrize("nb", [GaussianNB(), PoissonNB(), CategoricalNB(), ALL[-1]], ids=repr)
def test_counts_are_repeated_rows(nb, table):
    X, y, _ = table
    counts = np.arange(len(y)) % 4  # a row in four has none
    counted = FeatureAverage(nb, inclusion=INCLUSION).fit(X, y, counts)
    repeated = FeatureAverage(nb, inclusion=INCLUSION).fit(np.repeat(X, counts, 0), np.repeat(y, counts))
    assert counted.log_evidence_ == pytest.approx(repeated.log_evidence_, rel=1e-12)
    np.testing.assert_allclose(counted.log_bayes_factor_, repeated.log_bayes_factor_, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(counted.predict_log_proba(X), repeated.predict_log_proba(X), rtol=1e-12, atol=1e-12)


def test_a_column_that_is_not_used_keeps_its_prior(table):
    X, y, _ = table
    parts = [("n", GaussianNB(), [0, 2]), ("none", "drop", [1, 3])]
    average = FeatureAverage(MixedNB(parts), inclusion=INCLUSION).fit(X, y)
    np.testing.assert_allclose(average.inclusion_[[1, 3]], INCLUSION[[1, 3]], rtol=1e-12)
    np.testing.assert_array_equal(average.log_bayes_factor_[[1, 3]], 0)
    without = FeatureAverage(GaussianNB(), inclusion=INCLUSION[[0, 2]]).fit(X[:, [0, 2]], y)
    assert average.log_evidence_ == pytest.approx(without.log_evidence_, rel=1e-12)


def test_other_settings_that_make_no_sense_are_refused(table):
    X, y, _ = table
    with pytest.raises(ValueError, match=r"estimate='mle'.* needs estimate='predictive'"):
        FeatureAverage(GaussianNB(estimate="mle")).fit(X, y)
    with pytest.raises(ValueError, match=r"`estimator` is OneDependenceNB.* a single model"):
        FeatureAverage(OneDependenceNB()).fit(X, y)
    with pytest.raises(TypeError, match=r"`estimator` is Pipeline; .* needs an estimator of bayesnb"):
        FeatureAverage(make_pipeline(GaussianNB())).fit(X, y)
    for bad in (1.5, [0.5, 0.5], [0.1, 0.1, 0.1, np.nan]):
        with pytest.raises(ValueError, match="`inclusion` is"):
            FeatureAverage(GaussianNB(), inclusion=bad).fit(X, y)
    with pytest.raises(ValueError, match="differs between classes"):
        FeatureAverage(GaussianNB(known_variance=[[1.0], [2.0], [3.0]])).fit(X, y)
    for nb in (MultinomialNB(), ComplementNB(), GaussianDA(), GaussianDA(covariance="shared"), KernelNB()):
        with pytest.raises(ValueError, match="independent given the class"):
            FeatureAverage(nb).fit(np.nan_to_num(X), y)
    per_class = {"a": GaussianNB(), "b": GaussianNB(), "c": ExponentialNB()}
    with pytest.raises(ValueError, match="OneClass"):
        FeatureAverage(MixedNB([("x", per_class, slice(None))])).fit(X, y)
