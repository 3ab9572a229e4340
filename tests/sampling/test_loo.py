"""Exact leave-one-out: n refits, ArviZ's estimate of it, and its tables."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.metrics import accuracy_score, log_loss

from bayesnb import drop_in
from bayesnb.estimators import (
    BernoulliNB,
    CategoricalNB,
    ComplementNB,
    ExponentialNB,
    GaussianDA,
    GaussianNB,
    GeometricNB,
    KernelNB,
    MixedNB,
    MultinomialNB,
    PoissonNB,
)
from bayesnb.families.gaussian import NormalInverseGamma
from bayesnb.sampling.loo import loo
from bayesnb.sampling.to_arviz import import_arviz
from bayesnb.statistics import one_hot

ALL = [
    BernoulliNB(binarize=3),
    BernoulliNB(binarize=3, alpha="clop"),
    CategoricalNB(),
    MultinomialNB(),
    ComplementNB(),
    PoissonNB(),
    ExponentialNB(),
    GeometricNB(),
    GaussianNB(),
    GaussianNB(priors=[0.2, 0.3, 0.5]),
    GaussianNB(variance="pooled"),
    GaussianNB(known_variance=2.0),
    GaussianDA(),
    GaussianDA(covariance="shared"),
    GaussianDA(covariance="identity"),
    MixedNB([("n", GaussianNB(), [0, 1]), ("k", CategoricalNB(), [2]), ("p", PoissonNB(), [3])]),
    MixedNB([("by class", dict.fromkeys("abc", GaussianNB()) | {"b": ExponentialNB()}, slice(None))]),
]


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


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("nb", ALL, ids=repr)
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
    GeometricNB(),
    drop_in.GaussianNB(),
]


@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("change", [lambda *rows: rows, one_only, with_holes, some_weightless])
@pytest.mark.parametrize("nb", REFITTED, ids=lambda nb: f"{type(nb).__module__} {nb!r}")
def test_a_refit_without_the_row_or_its_group(nb, change, grouped, table):
    """Every group of rows against a fit on all other rows."""
    X, y, w = change(*(part[:18] for part in table))
    whole = not nb.__sklearn_tags__().input_tags.allow_nan or "GaussianDA" in repr(nb)
    counts = any(name in repr(nb) for name in ("CategoricalNB", "GeometricNB"))
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


TABLES = [
    *ALL,
    ComplementNB(norm=True),
    KernelNB(),
    GaussianNB(estimate="map"),
    CategoricalNB(estimate="mean"),
    GaussianNB(priors=[0, 0.5, 0.5]),
    MixedNB([("n", GaussianNB(), [0, 1]), ("k", CategoricalNB(), [2, 3])], estimate="mean"),
    drop_in.GaussianNB(),
    drop_in.MultinomialNB(class_prior=[0, 0.5, 0.5]),
    drop_in.CategoricalNB(),
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


def test_the_complement_of_scikit_learn_has_no_class_prior(table):
    X, y, _ = table
    fitted = drop_in.ComplementNB().fit(X, y)
    np.testing.assert_array_equal(fitted.predict_part_log_likelihood(X)["x"], fitted.predict_joint_log_proba(X))


@pytest.mark.parametrize("nb", [BernoulliNB(), MultinomialNB(), ComplementNB(), PoissonNB()], ids=repr)
def test_sparse_rows_and_some_of_the_rows(nb, table):
    X, y, w = table
    X = np.where(X > 2, X, 0)
    rows = sparse.csr_matrix(X)
    dense, thin = clone(nb).fit(X, y, w).loo(X, y, w), clone(nb).fit(rows, y, w)
    np.testing.assert_allclose(thin.loo(rows, y, w).log_joint, dense.log_joint, rtol=1e-11, atol=1e-11)
    few = thin.loo(rows[7:20], y[7:20], w[7:20])
    np.testing.assert_allclose(few.log_joint, dense.log_joint[7:20], rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("nb", [GaussianNB(), GaussianNB(variance="pooled"), BernoulliNB(binarize=3)], ids=repr)
def test_missing_cells(nb, table):
    X, y, w = table
    X = np.where(np.random.default_rng(1).random(X.shape) < 0.2, np.nan, X)
    fitted = clone(nb).fit(X, y, w)
    np.testing.assert_allclose(fitted.loo(X, y, w).log_joint, refits(fitted, X, y, w), rtol=1e-10, atol=1e-10)


def test_kernel_densities_one_update_a_row(table):
    X, y, w = (part[:12] for part in table)
    fitted = KernelNB().fit(X, y, w)
    np.testing.assert_allclose(fitted.loo(X, y, w).log_joint, refits(fitted, X, y, w), rtol=1e-10, atol=1e-10)


def test_blocks_of_rows_fit_together():
    """More rows than are worked on at a time."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(3000, 200)), rng.integers(0, 2, 3000)
    fitted = GaussianNB().fit(X, y)
    whole = fitted.loo(X, y).log_joint
    np.testing.assert_array_equal(fitted.loo(X[2900:], y[2900:]).log_joint, whole[2900:])


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
