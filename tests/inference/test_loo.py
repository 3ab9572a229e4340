"""Exact leave-one-out: n refits, ArviZ's estimate of it, and its tables."""

import itertools
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.metrics import accuracy_score, log_loss

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
from bayesnb.families.gaussian import NormalInverseGamma
from bayesnb.inference import loo_groups
from bayesnb.inference.loo import copies, loo
from bayesnb.inference.to_arviz import import_arviz
from bayesnb.statistics import one_hot
from bayesnb.sums import kernels as _kernel_sums

from ..estimators_table import FORETELLS, WHOLE, mostly_slow, these

ROOT = Path(__file__).parents[2]
ALL = [
    *FORETELLS,
    BernoulliNB(binarize=3, alpha="clop"),
    GaussianNB(priors=[0.2, 0.3, 0.5]),
    MixedNB([("n", GaussianNB(), [0, 1]), ("k", CategoricalNB(), [2]), ("p", PoissonNB(), [3])]),
    MixedNB([("by class", dict.fromkeys("abc", GaussianNB()) | {"b": ExponentialNB()}, slice(None))]),
]


# the law that a family leaves a row out runs for all of them; here one of each kind of statistics by default
QUICK = (
    "CategoricalNB()",
    "MultinomialNB()",
    "PoissonNB()",
    "GaussianNB(variance='pooled')",
    "GaussianDA()",
    repr(ALL[-2]),
)


@pytest.fixture(scope="module")
def table():
    X, y = load_iris(return_X_y=True)
    rng = np.random.default_rng(0)
    order = rng.permutation(len(y))[:60]
    return np.round(X[order]), np.array(list("abc"))[y[order]], rng.choice([0.5, 1.0, 2.0], len(order))


def refits(nb, X, y, w):
    """log p(x_i, y = c | D without row i) by n updates of the fitted prior."""
    rows, r = nb._encode(X), one_hot(nb._class_index(y), len(nb.classes_), w)
    tables = []
    for i in range(len(y)):
        others = np.delete(np.arange(len(y)), i)
        stats = nb.prior_.suffstats({name: x[others] for name, x in rows.items()}, r[others])
        tables.append(nb.prior_.update(stats).log_joint({name: x[[i]] for name, x in rows.items()})[0])
    return np.stack(tables)


@pytest.mark.parametrize(
    ("nb", "weighted"),
    mostly_slow(itertools.product(ALL, [False, True]), lambda case: case[1] and repr(case[0]) in QUICK),
    ids=repr,
)
def test_leave_one_out_is_n_refits(nb, weighted, table):
    X, y, w = table
    fitted = clone(nb).fit(X, y, w if weighted else None)
    result = fitted.loo(X, y, w if weighted else None)
    weight = w if weighted else np.ones(len(y))
    want = refits(fitted, X, y, weight)
    np.testing.assert_allclose(result.log_joint, want, rtol=1e-10, atol=1e-10)
    p = np.exp(want - want.max(1, keepdims=True))
    p /= p.sum(1, keepdims=True)
    np.testing.assert_allclose(result.proba, p, atol=1e-10)
    own = fitted._class_index(y)
    at = np.arange(len(y)), own
    assert result.elpd == pytest.approx((weight * np.log(p[at])).sum(), rel=1e-10)
    assert result.elpd_joint == pytest.approx((weight * want[at]).sum(), rel=1e-10)
    assert result.se == pytest.approx(np.sqrt(len(y)) * np.std(weight * np.log(p[at])), rel=1e-9)
    assert result.se_joint == pytest.approx(np.sqrt(len(y)) * np.std(weight * want[at]), rel=1e-9)
    assert result.accuracy == pytest.approx(accuracy_score(y, result.predicted, sample_weight=weight))
    assert result.log_loss == pytest.approx(log_loss(own, p, sample_weight=weight, labels=[0, 1, 2]))
    inside = fitted.predict_joint_log_proba(X)
    assert result.p_loo_joint == pytest.approx(weight @ (inside - want)[at], rel=1e-8)
    assert result.p_loo == pytest.approx(weight @ (fitted.predict_log_proba(X) - np.log(p))[at], rel=1e-8, abs=1e-8)
    text = str(result)
    assert f"{result.elpd:.2f}" in text
    assert f"{result.elpd_joint:.2f}" in text


def one_only(X, y, w):
    """An outlier, a column that only row 3 varies, one that never varies, and a class that has only row 0."""
    X = X.copy()
    X[5] *= 1e3
    X[7, 1] = 1e6
    X[:, 2] = 0.1
    X[3, 2] = 7.3
    X[:, 3] = 1.7
    return X, np.array(["a", *np.where(y[1:] == "a", "b", y[1:])]), w


def with_holes(X, y, w):
    """Missing cells, and a column that only row 2 has a cell in."""
    X = np.where(np.random.default_rng(1).random(X.shape) < 0.2, np.nan, X)
    X[:, 3] = np.where(np.arange(len(X)) == 2, 4.0, np.nan)
    return X, y, w


def some_weightless(X, y, w):
    return X, y, np.where(np.arange(len(y)) % 5 == 0, 0.0, w)


REFITTED = [
    GaussianNB(),
    GaussianNB(priors=[0.2, 0.3, 0.5]),
    GaussianNB(variance="pooled"),
    GaussianNB(known_variance=[2.0, 1, 3, 0.5]),
    GaussianNB(prior=NormalInverseGamma(3.0, 0.5, 2.0, 1.0)),
    GaussianDA(),
    GaussianDA(covariance="shared"),
    GaussianDA(covariance="identity"),
    KernelNB(bandwidth="nrd0"),
    KernelNB(bandwidth=0.7),
    MixedNB([("by class", dict.fromkeys("abc", GaussianNB()) | {"b": GaussianNB(known_variance=1)}, slice(None))]),
    MixedNB([("n", GaussianNB(variance="pooled"), [0, 3]), ("g", GaussianDA(covariance="shared"), [1, 2])]),
    MixedNB([("k", CategoricalNB(min_categories=9), [0, 1]), ("n", GaussianNB(), [2, 3])]),
    BernoulliNB(binarize=3),
    BernoulliNB(binarize=3, alpha="clop"),
    CategoricalNB(min_categories=9),
    MultinomialNB(),
    ComplementNB(),
    PoissonNB(),
    PoissonNB(beta=2.0),
    ExponentialNB(),
    *WHOLE,
]


SOME = "GaussianNB()", "GaussianNB(variance='pooled')", "GaussianDA(covariance='shared')"


def unchanged(X, y, w):
    return X, y, w


def cases():
    """Every estimator with every table, alone and in groups; by default one grouped and one ungrouped table of each."""
    for i, (nb, change, grouped) in enumerate(
        itertools.product(REFITTED, [unchanged, one_only, with_holes, some_weightless], [False, True])
    ):
        quick = (change, grouped) in ((one_only, False), (with_holes, True)) and i < 8 * 8 and repr(nb) in SOME
        name = f"{i} {type(nb).__name__} {change.__name__} {'groups' if grouped else 'rows'}"
        yield pytest.param(nb, change, grouped, id=name, marks=[] if quick else pytest.mark.slow)


@pytest.mark.parametrize(("nb", "change", "grouped"), [*cases()])
def test_a_refit_without_the_row_or_its_group(nb, change, grouped, table):
    """Every group of rows against a fit on all other rows."""
    X, y, w = change(*(part[:14] for part in table))
    whole = not nb.__sklearn_tags__().input_tags.allow_nan or "GaussianDA" in repr(nb)
    counts = "CategoricalNB" in repr(nb) or nb in WHOLE
    if (change is one_only and counts) or (change is with_holes and whole):
        pytest.skip("not a table of this estimator")
    groups = np.arange(len(y)) // (3 if grouped else 1)
    order = np.random.default_rng(0).permutation(len(y))
    X, y, w, groups = X[order], y[order], w[order], groups[order]
    fitted = clone(nb).fit(X, y, w)
    result = fitted.loo(X, y, w, prior="refit", groups=groups if grouped else None)
    assert result.prior == "refit"
    want = []
    for i in range(len(y)):
        others = groups != groups[i]
        fresh = clone(nb).partial_fit(X[others], y[others], np.unique(y), w[others])
        want.append(fresh.posterior_.log_joint(fresh._encode(X[[i]]))[0])
    np.testing.assert_allclose(result.log_joint, want, rtol=1e-9, atol=1e-9)


def test_how_far_the_two_leave_one_outs_are_apart():
    """The numbers that the module says."""
    X, y = load_iris(return_X_y=True)
    few, far = X[::10, :3], X[::10, :3].copy()
    far[0, 0] = 20

    def both(X, y):
        fitted = GaussianNB().fit(X, y)
        kept, refit = fitted.loo(X, y), fitted.loo(X, y, prior="refit")
        return [abs(kept.log_proba - refit.log_proba).max(), kept.log_loss, refit.log_loss]

    np.testing.assert_allclose(both(few, y[::10]), [0.54, 0.404, 0.408], atol=5e-3)
    assert both(far, y[::10])[0] == pytest.approx(1.04, abs=5e-3)
    apart, kept, refit = both(X, y)
    assert apart == pytest.approx(0.41, abs=5e-3)
    assert refit - kept == pytest.approx(0, abs=1e-4)


@pytest.mark.parametrize(
    "nb",
    mostly_slow(
        [GaussianNB(), GaussianNB(variance="pooled"), GaussianDA(), GaussianDA(covariance="shared"), PoissonNB()],
        these("GaussianNB(variance='pooled')", "PoissonNB()"),
    ),
    ids=repr,
)
def test_many_chunks_some_rows_and_sparse_rows_refitted(nb, table, monkeypatch):
    X, y, w = table
    fitted = clone(nb).fit(X, y, w)
    whole = fitted.loo(X, y, w, prior="refit").log_joint
    few = fitted.loo(X[7:20], y[7:20], w[7:20], prior="refit").log_joint
    np.testing.assert_allclose(few, whole[7:20], rtol=1e-9, atol=1e-9)
    if nb.__sklearn_tags__().input_tags.sparse:
        thin = clone(nb).fit(sparse.csr_matrix(X), y, w).loo(sparse.csr_matrix(X), y, w, prior="refit")
        np.testing.assert_allclose(thin.log_joint, whole, rtol=1e-11, atol=1e-11)
    groups = np.arange(len(y)) % 23
    grouped = fitted.loo(X, y, w, prior="refit", groups=groups).log_joint
    monkeypatch.setattr(loo_groups, "_CELLS", 100)
    np.testing.assert_allclose(fitted.loo(X, y, w, prior="refit").log_joint, whole, rtol=1e-11, atol=1e-11)
    again = fitted.loo(X, y, w, prior="refit", groups=groups).log_joint
    np.testing.assert_allclose(again, grouped, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("nb", [MultinomialNB(), CategoricalNB(), *WHOLE], ids=repr)
def test_a_prior_that_does_not_follow_the_rows_has_nothing_to_refit(nb, table):
    X, y, w = table
    fitted = clone(nb).fit(X, y, w)
    np.testing.assert_array_equal(fitted.loo(X, y, w, prior="refit").log_joint, fitted.loo(X, y, w).log_joint)


TABLES = [
    *ALL,
    ComplementNB(norm=True),
    KernelNB(),
    GaussianNB(estimate="map"),
    CategoricalNB(estimate="mean"),
    GaussianNB(priors=[0, 0.5, 0.5]),
    MixedNB([("n", GaussianNB(), [0, 1]), ("k", CategoricalNB(), [2, 3])], estimate="mean"),
]


@pytest.mark.parametrize("nb", TABLES, ids=lambda nb: f"{type(nb).__module__} {nb!r}")
def test_a_table_for_each_part(nb, table):
    X, y, w = table
    fitted = clone(nb).fit(X, y, w)
    parts = fitted.predict_part_log_likelihood(X)
    names = list(dict.fromkeys(name.split(".")[0] for name, _, _ in fitted.parts_)) if hasattr(nb, "parts") else ["x"]
    assert list(parts) == names
    total = fitted.class_log_prior_ + sum(parts.values())
    np.testing.assert_allclose(total, fitted.predict_joint_log_proba(X), rtol=1e-12, atol=1e-12)
    result = fitted.loo(X, y, w)
    assert list(result.by_block) == names
    np.testing.assert_allclose(result.log_prior + sum(result.by_block.values()), result.log_joint, rtol=1e-12)
    for c, row in zip(result.index, result.log_prior, strict=True):
        assert (row > -800).all()
        assert row[c] <= fitted.posterior_.classes.log_predictive()[c] + 1e-12


def test_the_parts_of_a_mixture_are_those_of_its_estimators(table):
    X, y, w = table
    mixed = MixedNB([("n", GaussianNB(), [0, 1]), ("k", CategoricalNB(), [2, 3])]).fit(X, y, w)
    for name, nb, columns in [("n", GaussianNB(), [0, 1]), ("k", CategoricalNB(), [2, 3])]:
        alone = nb.fit(X[:, columns], y, w)
        want = alone.predict_part_log_likelihood(X[:, columns])["x"]
        np.testing.assert_allclose(mixed.predict_part_log_likelihood(X)[name], want, rtol=1e-11, atol=1e-11)
        for settings in ({}, {"prior": "refit"}, {"groups": np.arange(len(y)) // 3}):
            want = alone.loo(X[:, columns], y, w, **settings).by_block["x"]
            np.testing.assert_allclose(mixed.loo(X, y, w, **settings).by_block[name], want, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("nb", [BernoulliNB(), MultinomialNB(), ComplementNB(), PoissonNB()], ids=repr)
def test_sparse_rows_and_some_of_the_rows(nb, table):
    X, y, w = table
    X = np.where(X > 2, X, 0)
    rows = sparse.csr_matrix(X)
    dense, thin = clone(nb).fit(X, y, w).loo(X, y, w), clone(nb).fit(rows, y, w)
    np.testing.assert_allclose(thin.loo(rows, y, w).log_joint, dense.log_joint, rtol=1e-11, atol=1e-11)
    few = thin.loo(rows[7:20], y[7:20], w[7:20])
    np.testing.assert_allclose(few.log_joint, dense.log_joint[7:20], rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("largest", mostly_slow([3, 80], these("3")))
def test_counts_without_their_own(largest):
    """Sparse rows of weight 1: whole counts from a table, large ones and fractions each by itself."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 4, (300, 6)) * (rng.random((300, 6)) < 0.6).astype(float)
    X[::20, 2] = largest
    y = rng.integers(2, size=300)
    for rows in (X, X + 0.5 * (X > 2)):
        dense = MultinomialNB().fit(rows, y).loo(rows, y).log_joint
        thin = MultinomialNB().fit(sparse.csr_array(rows), y).loo(sparse.csr_array(rows), y).log_joint
        np.testing.assert_allclose(thin, dense, rtol=1e-11)
        np.testing.assert_allclose(thin, refits(MultinomialNB().fit(rows, y), rows, y, np.ones(300)), rtol=1e-10)


@pytest.mark.parametrize("nb", [GaussianNB(), GaussianNB(variance="pooled"), BernoulliNB(binarize=3)], ids=repr)
def test_missing_cells(nb, table):
    X, y, w = table
    X = np.where(np.random.default_rng(1).random(X.shape) < 0.2, np.nan, X)
    fitted = clone(nb).fit(X, y, w)
    np.testing.assert_allclose(fitted.loo(X, y, w).log_joint, refits(fitted, X, y, w), rtol=1e-10, atol=1e-10)


def hard_cells():
    """Twins far away, tied values, an outlier, holes, a column that one row varies, a class with one row or none."""
    rng = np.random.default_rng(4)
    X = rng.normal(size=(18, 5))
    X[0:2, 0] = 1e3, 1e3 + 1e-3
    X[2, 0] = -2e3  # the product is then some 1e5 nats, which has an absolute rounding of 1e-11
    X[:, 1] = np.round(X[:, 1])
    X[:, 2], X[3, 2] = 1.5, 2.5
    X[rng.random(18) < 0.3, 3] = np.nan
    X[:, 4] = np.round(np.exp(3 * X[:, 4]), 2)
    y = rng.choice(list("ab"), 18)
    y[5] = "c"
    X[y == "b", 3] = np.nan
    return X, y, rng.choice([0, 0.3, 1.0, 2.5], 18)


@pytest.mark.parametrize("bandwidth", mostly_slow(["nrd0", 0.6], these("nrd0")))
def test_kernel_densities_one_update_a_row(bandwidth, monkeypatch):
    X, y, w = hard_cells()
    for weights in (np.ones(18), w):
        fitted = KernelNB(bandwidth=bandwidth).partial_fit(X, y, [*"abcd"], weights)
        with np.errstate(all="raise", under="ignore"):
            found = fitted.loo(X, y, weights).log_joint
        np.testing.assert_allclose(found, refits(fitted, X, y, weights), rtol=1e-10, atol=1e-10)
    monkeypatch.setattr(_kernel_sums, "_CELLS", 64)  # tables in several blocks
    np.testing.assert_allclose(fitted.loo(X, y, w).log_joint, found, rtol=1e-12)


def test_blocks_of_rows_fit_together():
    """More rows than are worked on at a time."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(3000, 200)), rng.integers(0, 2, 3000)
    fitted = GaussianNB().fit(X, y)
    whole = fitted.loo(X, y).log_joint
    last = fitted.loo(X[2900:], y[2900:]).log_joint  # by the formula, where the loop of many rows rounds otherwise
    np.testing.assert_allclose(last, whole[2900:], rtol=1e-14)


def test_a_batch_that_was_forgotten_makes_no_difference(table):
    X, y, _ = table
    plain = GaussianNB().fit(X[:40], y[:40])
    after = GaussianNB().fit(X, y).forget(X[40:], y[40:])
    np.testing.assert_allclose(
        after.loo(X[:40], y[:40]).log_joint, plain.loo(X[:40], y[:40]).log_joint, rtol=1e-9, atol=1e-9
    )


def test_what_cannot_have_been_fitted_is_refused(table):
    X, y, w = table
    with pytest.raises(ValueError, match="never fitted"):
        PoissonNB().fit(X[:30], y[:30]).loo(X, y)
    far = X + 50.0 * (np.arange(len(X)) == 0)[:, None]
    for settings in {}, {"variance": "pooled"}, {"known_variance": 1.0}:
        with pytest.raises(ValueError, match="never fitted"):
            GaussianNB(**settings).fit(X, y).loo(far, y)
    with pytest.raises(ValueError, match="never fitted"):
        PoissonNB().fit(X, y).loo(X, y, 1 + w)
    with pytest.raises(ValueError, match="do not exist in the initial classes"):
        GaussianNB().fit(X, y).loo(X, np.full(len(y), "d"))
    with pytest.raises(ValueError, match="`kind` is 'loo'"):
        GaussianNB().fit(X, y).loo(X, y).to_arviz("loo")
    with pytest.raises(ValueError, match="`prior` is 'new'; choose 'kept' or 'refit'"):
        GaussianNB().fit(X, y).loo(X, y, prior="new")
    with pytest.raises(ValueError, match=r"`groups` has shape \(3,\); it needs one label for each of the 60 rows"):
        GaussianNB().fit(X, y).loo(X, y, groups=[1, 2, 3])
    with pytest.raises(ValueError, match="`groups` has missing labels"):
        GaussianNB().fit(X, y).loo(X, y, groups=[np.nan, *y[1:]])


@pytest.mark.parametrize("nb", [GaussianNB(), GaussianNB(variance="pooled"), GaussianDA()], ids=repr)
def test_far_rows_that_were_never_fitted_are_refused(nb, table):
    """Their weights are those of rows fitted; their squares are more than all rows have."""
    X, y, w = table
    holes = np.where(np.random.default_rng(1).random(X.shape) < 0.2, np.nan, X)
    for rows in (X,) if isinstance(nb, GaussianDA) else (X, holes):
        fitted = clone(nb).fit(rows, y, w)
        for some in (slice(3), slice(None)):  # a few of the weights, and all
            far = rows.copy()
            far[some] += np.where(y[some] == "a", 50, -50)[:, None]
            with pytest.raises(ValueError, match="would give negative squares"):
                fitted.loo(far[some], y[some], w[some])
            fitted.loo(rows[some], y[some], w[some])
    moved = clone(nb).fit(X, y).loo  # the same squares about another mean
    with pytest.raises(ValueError, match="would give negative squares"):
        moved(X + 50, y)


@pytest.mark.parametrize("grouped", [False, True])
def test_posterior_bandwidths_without_the_row_or_its_group(grouped, table):
    X, y, w = (part[:12] for part in table)
    groups = np.arange(len(y)) // (3 if grouped else 1)
    fitted = KernelNB(bandwidth="posterior").fit(X, y, w)
    found = fitted.loo(X, y, w, prior="refit", groups=groups if grouped else None).log_joint
    for i in range(len(y)):
        others = groups != groups[i]
        fresh = KernelNB(bandwidth="posterior").partial_fit(X[others], y[others], np.unique(y), w[others])
        want = fresh.posterior_.log_joint(fresh._encode(X[[i]]))[0]
        np.testing.assert_allclose(found[i], want, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    "nb",
    mostly_slow([*ALL, KernelNB(), KernelNB(bandwidth="nrd0")], these(*QUICK, "KernelNB(bandwidth='nrd0')")),
    ids=repr,
)
def test_groups_under_the_prior_that_is_kept(nb, table):
    """Groups of one to five rows in any order, one of them of equal rows."""
    X, y, w = (part[:24].copy() for part in table)
    groups = np.random.default_rng(2).choice([*"uvwxyz", "of its own"], len(y)).astype(object)
    X[10:14], y[10:14], groups[10:14] = X[10], y[10], "copies"
    fitted = clone(nb).fit(X, y, w)
    result = fitted.loo(X, y, w, groups=list(groups))
    rows, r = fitted._encode(X), one_hot(fitted._class_index(y), len(fitted.classes_), w)
    for label in np.unique(groups):
        others, own = np.flatnonzero(groups != label), np.flatnonzero(groups == label)
        stats = fitted.prior_.suffstats({name: x[others] for name, x in rows.items()}, r[others])
        without = fitted.prior_.update(stats)
        if repr(nb) == "KernelNB()":  # which keeps its bandwidths too
            kept = fitted.posterior_.blocks["x"].with_cells(stats.blocks["x"])
            without = replace(without, blocks={"x": kept})
        want = without.log_joint({name: x[own] for name, x in rows.items()})
        np.testing.assert_allclose(result.log_joint[own], want, rtol=1e-10, atol=1e-10)
    alone = fitted.loo(X, y, w, groups=np.arange(len(y)))
    np.testing.assert_allclose(alone.log_joint, fitted.loo(X, y, w).log_joint, rtol=1e-10, atol=1e-10)


def test_copies_that_leave_together(table):
    """Every row five times: leave-one-out then says what it says of single rows of five times the weight."""
    X, y, w = table
    X, y, w = (np.concatenate([part] * 5) for part in (X, y, w))
    for nb in (GaussianNB(), BernoulliNB(binarize=3), CategoricalNB(), PoissonNB()):
        fitted = clone(nb).fit(X, y)
        groups = copies(X, y)
        once = np.unique(groups, return_index=True)[1]
        weight = np.bincount(groups)
        together = fitted.loo(X, y, groups=groups).log_joint[once]
        want = clone(nb).fit(X[once], y[once], weight).loo(X[once], y[once], weight).log_joint
        np.testing.assert_allclose(together, want, rtol=1e-10)
        assert fitted.loo(X, y).elpd > fitted.loo(X, y, groups=groups).elpd


def test_rows_that_occur_more_than_once():
    nan = np.nan
    X = np.array([[1.0, nan], [2, 3], [1, nan], [-0.0, 0], [0, -0.0], [2, 3], [2, 3.5]])
    y = np.array(["a", "a", "a", "b", "b", "c", "a"])
    want = [0, 1, 0, 2, 2, 3, 4]
    for rows in (X, X.astype(np.float32), pd.DataFrame(X), pd.DataFrame(X).astype(object), np.asfortranarray(X)):
        assert copies(rows, y).tolist() == want
        assert copies(rows, list(y)).tolist() == want
    words = np.array([["u", None], ["v", "w"], ["u", None]], dtype=object)
    assert copies(words, [0, 0, 0]).tolist() == [0, 1, 0]
    assert copies(pd.DataFrame(words), pd.Series(["p", "p", "q"])).tolist() == [0, 1, 2]
    counts = sparse.csr_matrix(([1.0, 2, 0, 1, 2], ([0, 0, 1, 1, 1], [1, 3, 0, 1, 3])), shape=(3, 4))
    assert copies(counts, [0, 0, 0]).tolist() == [0, 0, 1]
    assert copies(counts, [0, 1, 0]).tolist() == [0, 1, 2]
    assert copies(sparse.csr_matrix(np.nan_to_num(X)), y).tolist() == [0, 1, 0, 2, 2, 3, 4]
    with pytest.raises(ValueError, match="`y` has 3 labels"):
        copies(X, [1, 2, 3])


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Estimated shape parameter of Pareto")  # rows of high k̂ are left out below
@pytest.mark.parametrize(
    ("nb", "data"),
    [
        (GaussianNB(), load_iris),
        (GaussianNB(variance="pooled"), load_wine),
        (BernoulliNB(binarize=1), load_iris),
        (GaussianDA(covariance="shared"), load_iris),
    ],
    ids=lambda one: getattr(one, "__name__", repr(one)),
)
def test_importance_sampling_from_exact_draws_agrees(nb, data):
    """ArviZ's PSIS-LOO where its k̂ is good: within five Monte Carlo standard errors, seen over four sets of draws."""
    X, y = data(return_X_y=True)
    fitted = clone(nb).fit(X, y)
    exact = fitted.loo(X, y)
    arviz = import_arviz()
    pointwise, good = [], np.ones(len(y), bool)
    for seed in range(4):
        draws = fitted.sample_posterior(1000, seed, X=X, y=y)
        found = arviz.loo(draws, pointwise=True)
        values = found.loo_i if hasattr(found, "loo_i") else found.elpd_i
        pointwise.append(np.asarray(values))
        good &= np.asarray(found.pareto_k) < 0.5
    pointwise = np.array(pointwise)[:, good]
    assert good.mean() > 0.8
    totals, want = pointwise.sum(1), exact.pointwise_joint[good].sum()
    assert abs(totals.mean() - want) < 5 * totals.std(ddof=1) / 2 + 0.02  # the bias of PSIS at k̂ below ½
    error = np.sqrt((pointwise.std(0, ddof=1) ** 2).mean() / 4)  # of the mean of four, over all rows
    assert np.sqrt(((pointwise.mean(0) - exact.pointwise_joint[good]) ** 2).mean()) < 2 * error


@pytest.mark.filterwarnings("ignore:The inplace keyword")  # of pandas, which ArviZ 0.23 uses
def test_arviz_compares_exact_values():
    X, y = load_breast_cancer(return_X_y=True)
    arviz = import_arviz()
    results = {
        "per class": GaussianNB().fit(X, y).loo(X, y),
        "pooled": GaussianNB(variance="pooled").fit(X, y).loo(X, y),
        "full": GaussianDA().fit(X, y).loo(X, y),
    }
    for kind in ("conditional", "joint"):
        elpds = {name: result.to_arviz(kind) for name, result in results.items()}
        values = {name: r.elpd if kind == "conditional" else r.elpd_joint for name, r in results.items()}
        best = max(values, key=values.get)
        settings = {} if int(arviz.__version__.split(".")[0]) < 1 else {"round_to": "none"}
        frame = arviz.compare(elpds, method="bb-pseudo-bma", **settings)
        assert frame.index[0] == best
        column = "elpd_loo" if "elpd_loo" in frame else "elpd"
        for name in results:
            assert frame.loc[name, column] == pytest.approx(values[name], rel=1e-9)
        assert "569" in str(elpds[best])
    assert results["full"].elpd > results["per class"].elpd


def test_the_module_function_is_the_method(table):
    X, y, _ = table
    fitted = GaussianNB().fit(X, y)
    np.testing.assert_array_equal(loo(fitted, X, y).proba, fitted.loo(X, y).proba)


def test_the_result_says_which_of_two_sums_arviz_has():
    X, y = load_iris(return_X_y=True)
    nb = GaussianNB().fit(X, y)
    found = nb.loo(X, y)
    assert re.search(rf"^elpd +log p\(y \| x\) +{found.elpd:.2f} ", str(found), re.MULTILINE)
    assert re.search(rf"^elpd_joint +log p\(x, y\) +{found.elpd_joint:.2f} ", str(found), re.MULTILINE)
    assert "`elpd_joint` also scores the rows, as `arviz.loo` does" in str(found)
    assert (round(found.elpd, 1), round(found.elpd_joint)) == (-20.3, -388)
    for said in (nb.loo.__doc__, (ROOT / "docs" / "guide" / "from_numpyro.md").read_text("utf-8")):
        assert "elpd_joint" in said and "−20.3" in said and "−388" in said
