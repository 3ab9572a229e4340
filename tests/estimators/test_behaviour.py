"""What all estimators promise beyond scikit-learn: batches, forgetting, evidence, draws, and that nothing is lost."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_iris

from bayesnb import BernoulliNB, CategoricalNB, GaussianDA, GaussianNB
from bayesnb.estimators import ExponentialNB

from ..estimators_table import ALL, OF_A_COUNT, ONE_OF_EACH, TAKES_MISSING, WHOLE

# of levels, totals, events, variances, matrices; the laws of prediction, evidence and draws run for all families


@pytest.fixture(scope="module")
def table():
    X, y = load_iris(return_X_y=True)
    rng = np.random.default_rng(0)
    order = rng.permutation(len(y))
    return np.round(X[order]), np.array(["setosa", "versicolor", "virginica"])[y[order]], rng.random(len(y)) + 0.1


def evidence(fitted):
    """`log_evidence_`, and the pseudo-evidence of KernelNB, which has no attribute of that name."""
    return fitted.prior_.log_marginal(fitted.statistics_)


def test_a_missing_cell_is_a_column_left_out(table):
    for nb in TAKES_MISSING:
        X, y, _ = table
        holes = np.where(np.random.default_rng(4).random(X.shape) < 0.2, np.nan, X)
        fitted = clone(nb).fit(holes, y)
        assert np.isfinite(evidence(fitted))
        row = X[:1].copy()
        row[0, 2] = np.nan
        without = clone(nb).fit(np.delete(holes, 2, 1), y)
        np.testing.assert_allclose(
            fitted.predict_log_proba(row), without.predict_log_proba(np.delete(row, 2, 1)), atol=1e-10
        )
        empty = fitted.predict_proba(np.full((1, X.shape[1]), np.nan))
        np.testing.assert_allclose(empty[0], np.exp(fitted.posterior_.classes.log_predictive()))


def test_amounts_whose_sums_overflow_are_refused():
    for nb in OF_A_COUNT:
        for form in (np.array, sparse.csr_array):
            for bad, weights in ((1.01e300, None), (1.7e308, None), (1e290, [1e20, 1])):
                with pytest.raises(ValueError, match="Values too large to be summed"):
                    clone(nb).fit(form([[1.0, bad], [2.0, 1.0]]), [0, 1], sample_weight=weights)


def test_shapes_that_are_barely_data(table):
    for nb in ONE_OF_EACH:
        X, y, _ = table
        one_row = clone(nb).fit(X[:1], y[:1])
        np.testing.assert_allclose(one_row.predict_proba(X), 1)
        one_class = clone(nb).fit(X, np.zeros(len(y)))
        np.testing.assert_allclose(one_class.predict_proba(X), 1)
        unweighted = clone(nb).fit(X, y, (y != "setosa").astype(float))  # a class without weight
        assert np.isfinite(unweighted.predict_log_proba(X)).all()
        constant = clone(nb).fit(np.column_stack([X, np.ones(len(X))]), y)
        assert np.isfinite(constant.predict_log_proba(np.column_stack([X, np.ones(len(X))]))).all()


def test_a_constant_column_says_nothing(table):
    X, y, _ = table
    X, y = X[40:], y[40:][np.argsort(y[40:], kind="stable")]  # labels at random, classes of unequal size
    X, y = X[:90], y[:90]
    for variance in ("class", "pooled"):
        plain = GaussianNB(variance=variance).fit(X, y)
        wide = np.column_stack([X, *[np.full(len(X), 7.1)] * 50])
        got = GaussianNB(variance=variance).fit(wide, y).predict_log_proba(wide)
        # n_c of n rows move the log density of a constant column by n_c / (4 · 1e5 · n) nats, 2.5e-6 at most
        np.testing.assert_allclose(got, plain.predict_log_proba(X), atol=50 * 2.5e-6)
    X, y = table[0][:80], np.sort(table[1])[:80]  # zeros, of waiting times, in classes of unequal size
    wide = np.column_stack([X, *[np.zeros(len(X))] * 50])
    plain, got = ExponentialNB().fit(X, y), ExponentialNB().fit(wide, y)
    # n_c of n rows move the log density at 0 by log(1 + n_c / (1e5 (n + 1))) nats, 1e-5 at most
    np.testing.assert_allclose(got.predict_log_proba(wide), plain.predict_log_proba(X), atol=50 * 1e-5)


LINEAR = [nb for nb in ALL if nb._cells.kind in ("yes/no", "counts", "amounts")] + [GaussianNB(variance="pooled")]
LINEAR += [GaussianDA(covariance="shared"), GaussianDA(covariance="identity")]


@pytest.mark.parametrize("classes", [2, 3])
def test_linear_form_gives_the_log_odds(classes, table):
    for nb in LINEAR:
        X, y, _ = table
        keep = y != "setosa" if classes == 2 else y == y
        X, y = X[keep], y[keep]
        if isinstance(nb, BernoulliNB):
            X = (X > 3).astype(float)
        fitted = clone(nb).set_params(estimate="mean").fit(X, y)
        scores = X @ fitted.coef_.T + fitted.intercept_
        log_p = fitted.predict_log_proba(X)
        expected = log_p[:, 1:] - log_p[:, :1] if classes == 2 else log_p
        if classes == 3:
            scores, expected = scores - scores[:, :1], expected - expected[:, :1]
        np.testing.assert_allclose(scores, expected, atol=1e-6)  # var_smoothing is in both; sums of 4 terms of size 100


def test_whole_numbers_where_the_family_has_no_others():
    X = pd.DataFrame({"trials": [1, 2], "hours": [3, 0.5]})
    for nb in WHOLE:
        with pytest.raises(ValueError, match=r"not whole numbers.*0.5 in column 'hours'; .*ExponentialNB"):
            clone(nb).fit(X, [0, 1])


def test_the_mode_on_the_boundary_is_told_and_finite():
    X, y = np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]), [0, 0, 1]
    nb = BernoulliNB(estimate="map").fit(X, y)
    with pytest.warns(UserWarning, match="boundary"):
        p = nb.predict_proba([[0.0, 0.0]])
    np.testing.assert_allclose(p.sum(), 1)


def test_a_forgotten_level_stays_as_the_docstring_says():
    X, y = np.array([["a"], ["b"], ["a"], ["b"], ["a"], ["c"], ["c"]], object), np.array([0, 1, 0, 1, 0, 1, 0])
    left = CategoricalNB().fit(X, y).forget(X[5:], y[5:])
    refit = CategoricalNB().fit(X[:5], y[:5])
    declared = CategoricalNB().fit(pd.DataFrame({"x": pd.Categorical(X[:5, 0], ["a", "b", "c"])}), y[:5])
    assert left.categories_[0].tolist() == ["a", "b", "c"]
    assert left.log_evidence_ == pytest.approx(declared.log_evidence_, rel=1e-12)
    assert (round(left.log_evidence_, 2), round(refit.log_evidence_, 2)) == (-8.19, -6.58)  # as the docstring says


def test_classes_are_the_distinct_labels_in_order():
    numbers = np.array([7, 7, 3, 9]), np.array([-128, 127, 0], np.int8), np.array([255, 0], np.uint8)
    large = np.array([2**63 + 5, 2**63], np.uint64), np.array([-(2**63), 2**63 - 1]), np.array([2**40, 2**40 + 1])
    for y in (*numbers, *large, np.array([True, False]), np.array([1.0, 0.0]), np.array(["bee", "ant"])):
        y = np.resize(y, 600)
        nb = GaussianNB().fit(np.ones((600, 1)), y)
        want, index = np.unique(y, return_inverse=True)
        assert nb.classes_.dtype == want.dtype and (nb.classes_ == want).all()
        np.testing.assert_array_equal(nb.class_count_, np.bincount(index))
