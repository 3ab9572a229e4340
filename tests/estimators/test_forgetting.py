"""Forgetting equals refitting: the rows that are left, fitted alone, give the same posterior, evidence and prediction.

Refitting means: the same classes, and the levels of a feature that are known.
"""

import math
import sys
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from bayesnb import (
    BernoulliNB,
    CategoricalNB,
    GaussianDA,
    GaussianNB,
    KernelNB,
    MixedNB,
    MultinomialNB,
    OneDependenceNB,
    drop_in,
)
from bayesnb.core.exact import ExactSum, moment_sums, product_sums
from bayesnb.core.pytrees import leaves
from bayesnb.naive_bayes import Statistics
from bayesnb.statistics import one_hot

from ..estimators_table import DEFAULTS, called, mostly_slow

GAUSSIAN = {
    "class": GaussianNB(),
    "pooled": GaussianNB(variance="pooled"),
    "known": GaussianNB(known_variance=2.0),
    "drop-in": drop_in.GaussianNB(),
    "full": GaussianDA(),
    "shared": GaussianDA(covariance="shared"),
    "identity": GaussianDA(covariance="identity"),
    "mixed": MixedNB([("one", GaussianNB(), [0]), ("other", KernelNB(bandwidth=1.0), [1])]),
}
AMOUNTS = {
    **{called(nb): nb for nb in DEFAULTS if nb.cells.kind in ("amounts", "counts")},
    "drop-in": drop_in.MultinomialNB(),
    "drop-in complement": drop_in.ComplementNB(),
}
LEVELS = {
    "bernoulli": BernoulliNB(),
    "categorical": CategoricalNB(min_categories=4),
    "one-dependence": OneDependenceNB(min_categories=4),
}
WHOLE = [name for name, nb in AMOUNTS.items() if nb.cells.kind == "counts" and nb.cells.measure == "probabilities"]


def column(rng, n, amounts):
    """A column as sensors and people make them: noise, few values, stuck, offset, one cell far out."""
    x = rng.gamma(1.0, size=n) if amounts else rng.normal(size=n)
    if rng.random() < 0.3:
        x = np.round(x, int(rng.integers(0, 3)))
    if rng.random() < 0.4:  # it got stuck
        at = int(rng.integers(0, n))
        x[at:] = x[at] if rng.random() < 0.5 else rng.choice([0.0, 0.1, 1 / 3])
    if rng.random() < 0.3:
        x += 10.0 ** rng.integers(0, 10)
    if rng.random() < 0.3:
        x[rng.integers(0, n)] += 10.0 ** rng.integers(1, 13)
    return x


def window(rng, kind):
    """Rows, labels, weights, and which rows are left."""
    n = int(rng.integers(2, 40))
    X = np.stack([column(rng, n, kind != "gaussian") for _ in range(2)], 1)
    if kind == "levels":
        X = rng.integers(0, 2, (n, 2)).astype(float)
    if kind == "whole":
        X = np.floor(X)
    y = rng.integers(0, 2, n)
    if rng.random() < 0.2:
        y.sort()  # the window leaves one class behind
    w = None if rng.random() < 0.6 else rng.choice([0.1, 0.3, 1.0, 2.0], n)
    kept = np.zeros(n, bool)
    kept[int(rng.integers(1, n)) :] = True
    if rng.random() < 0.3:
        kept = rng.random(n) < 0.5
    if rng.random() < 0.1:
        kept[:] = False
        kept[rng.integers(0, n)] = True
    return X, y, w, kept


def forgotten(nb, rng, X, y, w, kept):
    """Fitted on all rows in a few batches, of which those not kept are forgotten in a few more."""
    nb = clone(nb)
    for part in np.array_split(np.arange(len(y)), int(rng.integers(1, 4))):
        if len(part):
            nb.partial_fit(X[part], y[part], [0, 1], None if w is None else w[part])
    for part in np.array_split(rng.permutation(np.flatnonzero(~kept)), int(rng.integers(1, 3))):
        if len(part):
            nb.forget(X[part], y[part], None if w is None else w[part])
    return nb


def evidence(nb):
    """The log evidence; None where there is none, or where it would be rounding of large factorials."""
    try:
        return nb.log_evidence_
    except ValueError as error:
        assert "log factorials" in str(error)
        return None
    except AttributeError:
        return None


def assert_same(nb, other, X):
    def same(a, b, what):
        a, b = (np.nan_to_num(np.asarray(one, float)) for one in (a, b))  # the least number for log 0
        np.testing.assert_allclose(
            np.asarray(a, float) / np.maximum(1, abs(np.asarray(b, float))),
            np.asarray(b, float) / np.maximum(1, abs(np.asarray(b, float))),
            rtol=0,
            atol=1e-9,
            err_msg=what,
        )

    for one, two in zip(leaves(nb.posterior_), leaves(other.posterior_), strict=True):
        same(one, two, "posterior")
    if hasattr(type(nb), "log_evidence_"):
        found, wanted = evidence(nb), evidence(other)
        assert (found is None) == (wanted is None)
        if wanted is not None:
            same(found, wanted, "evidence")
    same(nb.predict_proba(X), other.predict_proba(X), "probabilities")
    same(nb.predict_log_proba(X), other.predict_log_proba(X), "log probabilities")


def check_windows(nb, kind, windows, seed):
    rng = np.random.default_rng(seed)
    for _ in range(windows):
        X, y, w, kept = window(rng, kind)
        if not kept.any():
            continue
        after = forgotten(nb, rng, X, y, w, kept)
        refit = clone(nb).partial_fit(X[kept], y[kept], [0, 1], None if w is None else w[kept])
        assert_same(after, refit, X)
        assert after.digits_lost_ == 0


CASES = [
    *((nb, "gaussian") for nb in GAUSSIAN.values()),
    *((nb, "whole" if name in WHOLE else "amounts") for name, nb in AMOUNTS.items()),
    *((nb, "levels") for nb in LEVELS.values()),
]


FEW = [GAUSSIAN["class"], AMOUNTS["poisson"]]


@pytest.mark.parametrize(
    ("nb", "kind"),
    mostly_slow(CASES, lambda case: case[0] in [*FEW, LEVELS["categorical"]]),
    ids=lambda one: repr(one) if not isinstance(one, str) else one,
)
def test_forgetting_is_refitting(nb, kind):
    check_windows(nb, kind, 8, seed=0)


@pytest.mark.slow
@pytest.mark.parametrize(("nb", "kind"), CASES, ids=lambda one: repr(one) if not isinstance(one, str) else one)
def test_forgetting_is_refitting_at_length(nb, kind):
    check_windows(nb, kind, 100, seed=1)


# --- the cases that were wrong --------------------------------------------------------------------------------------


def test_a_sensor_that_got_stuck():
    rng = np.random.default_rng(0)
    y = np.arange(200) % 2
    stuck = np.r_[np.round(rng.normal(size=100), 1), np.full(100, 0.1)]
    X = np.c_[rng.normal(size=200) + y, stuck]
    window, refit = GaussianNB().fit(X, y).forget(X[:100], y[:100]), GaussianNB().fit(X[100:], y[100:])
    assert window.log_evidence_ == refit.log_evidence_
    np.testing.assert_array_equal(window.predict_proba(X), refit.predict_proba(X))


@pytest.mark.parametrize("value", mostly_slow([0.0, 0.1, -7.25, 1e9], lambda value: value == 0.1))
def test_a_sensor_stuck_at_any_value(value):
    rng = np.random.default_rng(1)
    y = np.arange(60) % 2
    X = np.c_[rng.normal(size=60) + y, np.r_[value + rng.normal(size=30) * 10, np.full(30, value)]]
    for nb in GAUSSIAN.values():
        assert_same(clone(nb).fit(X, y).forget(X[:30], y[:30]), clone(nb).fit(X[30:], y[30:]), X)


def test_rows_added_and_forgotten_leave_nothing():
    nb = GaussianNB().partial_fit([[-2.5]], [0], classes=[0, 1])
    before = nb.predict_proba([[-1.5]])
    rows, y = [[-0.8], [-0.3], [-1.3]], [0, 1, 1]
    nb.partial_fit(rows, y).forget(rows, y)
    np.testing.assert_array_equal(nb.predict_proba([[-1.5]]), before)


@pytest.mark.parametrize("far", mostly_slow([1e5, 1e8, 1e9, 1e12], lambda far: far in (1e5, 1e12)))
@pytest.mark.parametrize("nb", GAUSSIAN.values(), ids=repr)
def test_an_outlier_that_was_there(nb, far):
    rng = np.random.default_rng(2)
    y = np.arange(100) % 2
    X = rng.normal(size=(100, 2)) + y[:, None]
    after = clone(nb).fit(X, y).partial_fit([[far, -far]], [0]).forget([[far, -far]], [0])
    assert_same(after, clone(nb).fit(X, y), X)


def test_a_covariance_of_which_no_row_is_left():
    nb = GaussianDA().partial_fit([[1e9, 1e9]], [0], classes=[0, 1]).forget([[1e9, 1e9]], [0])
    np.testing.assert_array_equal(nb.predict_proba([[0.0, 1.0]]), [[0.5, 0.5]])


def test_a_weight_written_in_two_ways_is_forgotten():
    nb = GaussianNB().fit([[1.0], [2.0], [5.0]], [0, 1, 0], sample_weight=[0.1, 1.0, 0.2])
    nb.partial_fit([[1.0]], [0], sample_weight=[0.2]).forget([[1.0], [5.0]], [0, 0], sample_weight=[0.3, 0.2])
    assert nb.class_count_[0] == 0 and (nb.statistics_.blocks["x"].ss[0] == 0).all()


def test_little_beside_much_is_not_nothing():
    """What is left is small beside what is gone, and no rounding: a small amount, or a small weight."""
    X, y, w = [[0.0, 0.8], [1.0, 1e12], [4.0, 0.8]], [1, 1, 0], [0.1, 1.0, 0.3]
    nb = MultinomialNB().partial_fit(X, y, [0, 1], w).forget(X[1:2], y[1:2], w[1:2])
    assert_same(nb, MultinomialNB().partial_fit([X[0], X[2]], [1, 0], [0, 1], [0.1, 0.3]), np.array(X))
    assert nb.forget(X[:1], y[:1], w[:1]).class_count_[1] == 0
    nb = GaussianNB().fit([[1.0], [2.0], [3.0]], [0, 0, 1], [1e13, 0.5, 1.0]).forget([[1.0]], [0], [1e13])
    np.testing.assert_array_equal(nb.class_count_, [0.5, 1.0])


# --- batches that are too large to be summed exactly ----------------------------------------------------------------


def large(n=40_000):
    rng = np.random.default_rng(3)
    return rng.normal(size=(n, 2)) + np.array([0.0, 100.0]), np.arange(n) % 2


@pytest.mark.parametrize("nb", [GaussianNB(), GaussianNB(variance="pooled"), GaussianDA()], ids=repr)
def test_a_large_batch_forgets_to_nine_digits_or_refuses(nb):
    """What is left of it by the thousand agrees with a refit; what is left by the row has lost too many digits."""
    X, y = large()
    nb = clone(nb).fit(X, y)
    assert 0 < nb.digits_lost_ < 6
    assert_same(clone(nb).fit(X, y).forget(X[:30_000], y[:30_000]), clone(nb).fit(X[30_000:], y[30_000:]), X[:50])
    before = nb.posterior_, nb.predict_proba(X[:50])
    with pytest.raises(ValueError, match="too few digits of the statistics in column"):
        nb.forget(X[4:], y[4:])
    assert nb.posterior_ is before[0]
    np.testing.assert_array_equal(nb.predict_proba(X[:50]), before[1])


def test_a_constant_column_of_a_large_batch_stays_constant():
    X, y = large()
    X[:, 1] = 0.1
    assert_same(GaussianNB().fit(X, y).forget(X[:30_000], y[:30_000]), GaussianNB().fit(X[30_000:], y[30_000:]), X[:50])


def test_lost_digits_are_seen_to_come():
    """Each forgotten half of what was summed in floats costs digits; the refusal comes where they run out."""
    X, y = large()
    nb, lost, end = GaussianNB().fit(X, y), [], len(X)
    with pytest.raises(ValueError, match="too few digits"):
        while end > 2:
            lost.append(nb.digits_lost_)
            nb.forget(X[end // 2 : end], y[end // 2 : end])
            end //= 2
    assert np.all(np.diff(lost) > 0) and 4 < lost[-1] < 6.5


def test_a_model_without_exact_sums_is_taken_as_rounded():
    """As one from an older file: its sums may have been rounded."""
    X, y = large(4_000)
    nb = GaussianNB().fit(X, y)
    nb.statistics_ = Statistics(nb.statistics_.n, {"x": replace(nb.statistics_.blocks["x"], sums=None)})
    nb._set_statistics(nb.statistics_)
    assert nb.digits_lost_ > 0
    assert_same(clone(nb).fit(X, y).forget(X[:500], y[:500]), nb.forget(X[:500], y[:500]), X[:50])


# --- exact sums -----------------------------------------------------------------------------------------------------


def fractions_of(sums):
    return [sum(map(Fraction, parts.tolist())) for parts in sums.parts.reshape(-1, sums.parts.shape[-1])]


@pytest.mark.parametrize("weights", [None, "fractions"])
def test_sums_are_exact(weights):
    rng = np.random.default_rng(4)
    x, y = rng.normal(size=(50, 2)) * 10.0 ** rng.integers(-12, 12, (50, 2)), rng.integers(0, 2, 50)
    w = np.ones(50) if weights is None else rng.random(50) * 10.0 ** rng.integers(-9, 9, 50)
    r = one_hot(y, 2, w)
    moments, products = moment_sums(x, r), product_sums(x, r)
    dense = [(Fraction(w[i]), [Fraction(v) for v in x[i].tolist()], y[i]) for i in range(50)]
    for name, power in (("n", 0), ("total", 1), ("square", 2)):
        want = [sum(v * row[j] ** power for v, row, k in dense if k == c) for c in range(2) for j in range(2)]
        assert fractions_of(moments[name]) == want
    pairs = [(c, i, j) for c in range(2) for i in range(2) for j in range(2)]
    assert fractions_of(products["square"]) == [
        sum(v * row[i] * row[j] for v, row, k in dense if k == c) for c, i, j in pairs
    ]
    for sparse_rows in (sparse.csr_array(x), sparse.csc_array(x).tocsr()):
        assert fractions_of(moment_sums(sparse_rows, r)["square"]) == fractions_of(moments["square"])
    both = moments["square"] + moments["total"] - moments["square"]
    assert fractions_of(both) == fractions_of(moments["total"])
    factor = rng.normal(size=(2, 2))
    scaled = [one * Fraction(f) for one, f in zip(fractions_of(moments["total"]), factor.ravel().tolist(), strict=True)]
    assert fractions_of(moments["total"].times(factor)) == scaled


def test_values_depend_on_the_exact_sum_alone():
    rng = np.random.default_rng(5)
    terms = rng.normal(size=(40, 3)) * 10.0 ** rng.integers(-9, 9, (40, 3))
    one = ExactSum.of(terms, (3,))
    other = ExactSum.of(terms[:7], (3,)) + ExactSum.of(rng.permutation(terms[7:]), (3,))
    np.testing.assert_array_equal(one.value(), other.value())
    np.testing.assert_array_equal(one.value(), [math.fsum(column) for column in terms.T.tolist()])


if __name__ == "__main__":  # python -m tests.estimators.test_forgetting 5000
    for case in CASES:
        check_windows(*case, int(sys.argv[1]), seed=2)
        print(f"{case[1]:9} {sys.argv[1]} windows agree with a refit to 1e-9: {case[0]!r}", flush=True)
