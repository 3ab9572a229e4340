"""Estimators fitted on parts of the rows merge to the one fitted on all of them."""

import copy

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from bayesnb import BernoulliNB, CategoricalNB, ComplementNB, GaussianNB, MixedNB, MultinomialNB, PoissonNB
from bayesnb.estimators import GaussianDA, OneDependenceNB
from bayesnb.families import NormalInverseGamma

from ..estimators_table import GIVEN_BANDWIDTH, assert_same_fit, mostly_slow, these

PARTS = [("counts", PoissonNB(), [0, 1]), ("levels", CategoricalNB(), [2]), ("reals", GaussianNB(), [3])]
BY_CLASS = [("each", {k: GaussianNB() for k in "abc"}, [0, 1]), ("rest", CategoricalNB(alpha=0.5), [2, 3])]
EVERY = [*GIVEN_BANDWIDTH, MixedNB(PARTS), MixedNB(BY_CLASS), OneDependenceNB()]
IDS = [f"{i}-{type(nb).__name__}" for i, nb in enumerate(EVERY)]
# one of each kind of statistics, and parts; the law that statistics merge in any order runs for all families
SOME = CategoricalNB(), GaussianNB(), GaussianDA(), ComplementNB(), OneDependenceNB(), MixedNB(PARTS)
QUICK = these(*map(repr, SOME))
few = pytest.mark.parametrize("nb", mostly_slow(EVERY, QUICK), ids=IDS)
CLASSES = np.array(list("abc"))


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(3)
    y = CLASSES[rng.integers(0, 3, 90)]
    y[:30] = np.where(y[:30] == "c", "a", y[:30])  # the first part has no row of one class
    X = rng.poisson(2 + np.searchsorted(CLASSES, y)[:, None], (90, 4)).astype(float)
    X[:30, 2] = np.minimum(X[:30, 2], 2)  # nor all levels
    return X, y, rng.random(90) + 0.1


def parts_of(nb, table):
    rows = np.split(np.arange(90), [30, 50])
    X, y, w = table
    return [clone(nb).partial_fit(X[i], y[i], CLASSES, w[i]) for i in rows]


@few
def test_parts_in_any_order_and_grouping_merge_to_the_fit_of_all_rows(nb, table):
    X, y, w = table
    whole, (one, two, three) = clone(nb).fit(X, y, w), parts_of(nb, table)
    for first, second in ((one, two), (two, one)):
        merged = copy.copy(first).merge(second)
        assert_same_fit(copy.copy(merged).merge(three), whole, X)  # (1 + 2) + 3, (2 + 1) + 3
        assert_same_fit(copy.copy(three).merge(merged), whole, X)  # 3 + (1 + 2), 3 + (2 + 1)
    merged = one.merge(two).merge(three)
    assert merged is one
    assert_same_fit(merged.partial_fit(X[:9], y[:9], sample_weight=w[:9]).forget(X[:9], y[:9], w[:9]), whole, X)


def test_levels_are_united_also_where_one_part_saw_none():
    a = pd.DataFrame({"s": ["x", "y", None], "t": [None, None, None], "u": ["m", "m", "n"]}, dtype=object)
    b = pd.DataFrame({"s": ["z", None, "y"], "t": ["p", "q", "p"], "u": [None, None, None]}, dtype=object)
    y = np.array([0, 1, 0])
    both = pd.concat([a, b]), np.concatenate([y, y])
    several = MixedNB([("all", CategoricalNB(), [0, 1, 2])])
    for estimator in (CategoricalNB(), CategoricalNB(min_categories=3), several, OneDependenceNB()):
        whole, one, two = clone(estimator).fit(*both), clone(estimator).fit(a, y), clone(estimator).fit(b, y)
        assert_same_fit(copy.copy(one).merge(two), whole, both[0])
        assert_same_fit(copy.copy(two).merge(one), whole, both[0])
        assert_same_fit(one.partial_fit(b, y), whole, both[0])
    levels = [one.tolist() for one in CategoricalNB().fit(b, y).merge(CategoricalNB().fit(a, y)).categories_]
    assert levels == [["y", "z", "x"], ["p", "q"], ["m", "n"]]


X2, Y2 = np.array([[1.0, 0], [0, 1], [1, 1]]), np.array([0, 1, 1])
NAMED = pd.DataFrame(X2, columns=["a", "b"])


def test_what_does_not_merge_is_named_and_nothing_changes():
    yes, named = BernoulliNB().fit(X2, Y2), BernoulliNB().fit(NAMED, Y2)
    listed = [MixedNB([("x", BernoulliNB(alpha=a), [0, 1])]).fit(X2, Y2) for a in (1, 3)]
    cases = [
        (GaussianNB().fit(X2, Y2), yes, "`other` is a BernoulliNB"),
        (yes, None, "NoneType"),
        (GaussianNB().fit(X2, Y2), GaussianNB(), "not fitted"),
        (GaussianNB(), GaussianNB().fit(X2, Y2), "not fitted"),
        (MultinomialNB().fit(X2, Y2), MultinomialNB(alpha=2).fit(X2, Y2), "`other` has alpha=2, but .* has 1.0"),
        (yes, BernoulliNB().fit(X2, Y2 + 1), r"classes \[1 2\], but this estimator has \[0 1\]"),
        (yes, BernoulliNB().fit(X2, Y2.astype(str)), "classes"),
        (yes, BernoulliNB().fit(X2[:, :1], Y2), r"features \[0\], but this estimator has \[0 1\]"),
        (named, BernoulliNB().fit(NAMED[["b", "a"]], Y2), r"features \['b' 'a'\]"),
        (named, yes, r"features \[0 1\], but this estimator has \['a' 'b'\]"),
        (MixedNB().fit(X2, Y2), MixedNB().fit(X2 + np.array([0, 0.5]), Y2), r"parts yes_no: BernoulliNB of \[0\], num"),
        (*listed, "parts="),
        (*(GaussianNB(prior=NormalInverseGamma(*np.full((4, 2, 2), v))).fit(X2, Y2) for v in (1.0, 2.0)), "prior="),
    ]
    for one, two, text in cases:
        before = dict(vars(one))
        with pytest.raises(ValueError, match=text):
            one.merge(two)
        assert vars(one).keys() == before.keys() and all(vars(one)[key] is value for key, value in before.items())


def test_equal_hyperparameters_may_be_other_objects():
    def mixed() -> MixedNB:
        return MixedNB([("x", {0: BernoulliNB(alpha=np.ones(1)), 1: BernoulliNB()}, np.array([0])), ("y", "drop", [1])])

    for make in (
        lambda: GaussianNB(prior=NormalInverseGamma(*np.ones((4, 2, 2))), priors=[0.5, 0.5]),
        lambda: ComplementNB(alpha=np.array([1, 2])),
        mixed,
    ):
        merged = make().fit(X2, Y2).merge(make().fit(X2, Y2))
        assert_same_fit(merged, make().fit(np.tile(X2, (2, 1)), np.tile(Y2, 2)), X2)
