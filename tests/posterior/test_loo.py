"""Exact leave-one-out: n refits, ArviZ's estimate of it, and its tables."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.metrics import accuracy_score, log_loss

from bayesnb import BernoulliNB, CategoricalNB, GaussianDA, GaussianNB, MixedNB, MultinomialNB, PoissonNB
from bayesnb.estimators import ComplementNB, ExponentialNB, KernelNB, OneDependenceNB
from bayesnb.posterior.loo import copies
from bayesnb.posterior.to_arviz import import_arviz
from bayesnb.sums.statistics import one_hot

from ..estimators_table import FORETELLS, mostly_slow, these

ROOT = Path(__file__).parents[2]
BY_CLASS = MixedNB([("by class", dict.fromkeys("abc", GaussianNB()) | {"b": ExponentialNB()}, slice(None))])
ALL = [
    *FORETELLS,
    BernoulliNB(binarize=3, alpha="clop"),
    GaussianNB(priors=[0.2, 0.3, 0.5]),
    OneDependenceNB(),
    MixedNB([("n", GaussianNB(), [0, 1]), ("k", CategoricalNB(), [2]), ("p", PoissonNB(), [3])]),
    BY_CLASS,
]
SOME = MultinomialNB(), PoissonNB(), GaussianNB(variance="pooled"), GaussianDA(), OneDependenceNB(), BY_CLASS
QUICK = [repr(nb) for nb in SOME]


@pytest.fixture(scope="module")
def table():
    X, y = load_iris(return_X_y=True)
    rng = np.random.default_rng(0)
    order = rng.permutation(len(y))[:60]
    return np.round(X[order]), np.array(list("abc"))[y[order]], rng.choice([0.5, 1.0, 2.0], len(order))


def without(nb, X, y, w, out):
    """Rows that are left out, the posterior of all others under the prior of the fit, and their statistics."""
    rows, r = nb.model_.encode(X), one_hot(nb.model_.class_index(y), len(nb.classes_), w)
    others = np.setdiff1d(np.arange(len(y)), out)
    stats = nb.prior_.suffstats({name: x[others] for name, x in rows.items()}, r[others])
    return {name: x[out] for name, x in rows.items()}, nb.prior_.update(stats), stats


def refits(nb, X, y, w):
    """log p(x_i, y = c | D without row i) by n updates of the fitted prior."""
    found = (without(nb, X, y, w, [i]) for i in range(len(y)))
    return np.concatenate([posterior.log_joint(row) for row, posterior, _ in found])


def se_of_importance(w, terms):
    """Σw times the standard error of the weighted mean."""
    return np.sqrt(((w * (terms - w @ terms / w.sum())) ** 2).sum())


@pytest.mark.parametrize("nb", mostly_slow(ALL, these(*QUICK)), ids=repr)
def test_leave_one_out_is_n_refits(nb, table):
    X, y, w = table
    for weight in (w, np.ones(len(y))):
        fitted = clone(nb).fit(X, y, weight)
        result = fitted.loo(X, y, weight)
        want = refits(fitted, X, y, weight)
        np.testing.assert_allclose(result.log_joint, want, rtol=1e-10, atol=1e-10)
        np.testing.assert_allclose(fitted.loo(X, y, weight, groups=np.arange(len(y))).log_joint, want, rtol=1e-10)
    np.testing.assert_array_equal(fitted.loo(X, y).log_joint, fitted.loo(X, y, weight).log_joint)


def test_sums_over_the_rows(table):
    X, y, w = table
    whole = GaussianNB().fit(*load_iris(return_X_y=True)).loo(*load_iris(return_X_y=True))
    assert (round(whole.elpd, 1), round(whole.elpd_joint)) == (-20.3, -388)
    for said in (GaussianNB.loo.__doc__, (ROOT / "docs" / "guide" / "from_numpyro.md").read_text("utf-8")):
        assert "elpd_joint" in said and "−20.3" in said and "−388" in said
    fitted = GaussianNB().fit(X, y, w)
    result, own = fitted.loo(X, y, w), fitted.model_.class_index(y)
    want, at = refits(fitted, X, y, w), (np.arange(len(y)), own)
    p = np.exp(want - want.max(1, keepdims=True))
    p /= p.sum(1, keepdims=True)
    np.testing.assert_allclose(result.proba, p, atol=1e-10)
    assert result.elpd == pytest.approx((w * np.log(p[at])).sum(), rel=1e-10)
    assert result.elpd_joint == pytest.approx((w * want[at]).sum(), rel=1e-10)
    assert result.se == pytest.approx(se_of_importance(w, np.log(p[at])), rel=1e-9)
    assert result.se_joint == pytest.approx(se_of_importance(w, want[at]), rel=1e-9)
    assert result.accuracy == pytest.approx(accuracy_score(y, result.predicted, sample_weight=w))
    assert result.log_loss == pytest.approx(log_loss(own, p, sample_weight=w, labels=[0, 1, 2]))
    inside = fitted.predict_joint_log_proba(X)
    assert result.p_loo_joint == pytest.approx(w @ (inside - want)[at], rel=1e-8)
    assert result.p_loo == pytest.approx(w @ (fitted.predict_log_proba(X) - np.log(p))[at], rel=1e-8, abs=1e-8)
    text = str(result)
    numbers = result.elpd, result.se, result.p_loo, result.elpd_joint, result.se_joint, result.p_loo_joint
    assert re.search(r"elpd .*{:.2f} +{:.2f} +{:.2f}\n.*elpd_joint .*{:.2f} +{:.2f} +{:.2f}".format(*numbers), text)
    assert f"accuracy {result.accuracy:.4f}, log loss {result.log_loss:.4f}" in text


def hard(X, y, w):
    """Outliers of 1e4 spreads, a column that one row varies and one that none does, a class of one row, no weight."""
    X, w = X.copy(), np.where(np.arange(len(y)) % 5 == 2, 0.0, w)
    X[5] *= 1e3
    X[7, 1] = 1e4
    X[:, 2] = 0.1
    X[3, 2] = 7.3
    X[:, 3] = np.arange(len(X)) == 9
    return X, np.array(["a", *np.where(y[1:] == "a", "b", y[1:])]), w


def with_gaps(X, y, w):
    """Missing cells, and a column in which only row 2 has a cell."""
    X = np.where(np.random.default_rng(1).random(X.shape) < 0.2, np.nan, X)
    X[:, 3] = np.where(np.arange(len(X)) == 2, 4.0, np.nan)
    return X, y, w


REFITTED = [
    GaussianNB(),
    GaussianNB(variance="pooled"),
    GaussianNB(known_variance=[2.0, 1, 3, 0.5]),
    GaussianDA(),
    GaussianDA(covariance="shared"),
    KernelNB(),
    KernelNB(bandwidth="nrd0"),
    MixedNB([("by class", dict.fromkeys("abc", GaussianNB()) | {"b": GaussianNB(known_variance=1)}, slice(None))]),
    MixedNB([("n", GaussianNB(variance="pooled"), [0, 3]), ("g", GaussianDA(covariance="shared"), [1, 2])]),
    MixedNB([("k", CategoricalNB(min_categories=9), [0, 1]), ("n", GaussianNB(), [2, 3])]),
    OneDependenceNB(min_categories=9),
    BernoulliNB(binarize=3, alpha="clop"),
    PoissonNB(),
    ExponentialNB(),
]


@pytest.mark.parametrize(
    ("nb", "change"),
    mostly_slow(
        [
            *((nb, None) for nb in REFITTED),
            *((nb, hard) for nb in REFITTED if not re.search("Categorical|Dependence", repr(nb))),
            *((nb, with_gaps) for nb in REFITTED if not re.search("Categorical|Dependence|GaussianDA", repr(nb))),
        ],
        lambda case: case[1] is not None and repr(case[0]) in ("GaussianNB()", "GaussianNB(variance='pooled')"),
    ),
    ids=lambda case: getattr(case, "__name__", repr(case)[:50]),
)
def test_a_refit_without_the_row_or_its_group(nb, change, table):
    """Every row, and every group of three rows, against a fit on all other rows."""
    X, y, w = (part[:14] for part in table)
    X, y, w = (X, y, w) if change is None else change(X, y, w)
    order = np.random.default_rng(0).permutation(len(y))
    X, y, w = X[order], y[order], w[order]
    fitted = clone(nb).fit(X, y, w)
    for groups in (np.arange(len(y)), np.arange(len(y)) // 3):
        grouped = {} if groups.max() == len(y) - 1 else {"groups": groups}
        result = fitted.loo(X, y, w, prior="refit", **grouped)
        assert result.prior == "refit"
        want = []
        for i in range(len(y)):
            others = groups != groups[i]
            fresh = clone(nb).partial_fit(X[others], y[others], np.unique(y), w[others])
            want.append(fresh.posterior_.log_joint(fresh.model_.encode(X[[i]]))[0])
        np.testing.assert_allclose(result.log_joint, want, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    "nb", mostly_slow([*ALL, KernelNB(), KernelNB(bandwidth="nrd0")], these(*QUICK, "KernelNB()")), ids=repr
)
def test_groups_under_the_prior_that_is_kept(nb, table):
    """Groups of one to five rows in any order, one of them of equal rows; given labels of any type."""
    X, y, w = (part[:24].copy() for part in table)
    groups = np.random.default_rng(2).choice([*"uvwxyz", "of its own"], len(y)).astype(object)
    X[10:14], y[10:14], groups[10:14] = X[10], y[10], "copies"
    fitted = clone(nb).fit(X, y, w)
    result = fitted.loo(X, y, w, groups=list(groups))
    for label in np.unique(groups):
        own = np.flatnonzero(groups == label)
        rows, posterior, _ = without(fitted, X, y, w, own)
        want = posterior.log_joint(rows)
        np.testing.assert_allclose(result.log_joint[own], want, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(result.log_prior + sum(result.by_block.values()), result.log_joint, rtol=1e-12)


def test_a_small_pseudo_count_is_not_lost_beside_the_rows():
    """scikit-learn's α = 0 counts as 1e-10: a one that only row 99 of its class has leaves that behind."""
    X, y = (np.arange(200) >= 99)[:, None] * 1.0, np.repeat([0, 1], 100)
    fitted = BernoulliNB(alpha=1e-10).fit(X, y)
    want = without(fitted, X, y, np.ones(200), [99])[1].log_joint({"x": X[[99]]})
    np.testing.assert_allclose(fitted.loo(X, y).log_joint[[99]], want, rtol=1e-13)


def test_a_table_for_each_part(table):
    X, y, w = table
    rest = ComplementNB(norm=True), KernelNB(), OneDependenceNB(), GaussianNB(estimate="map")
    rest += (GaussianNB(priors=[0, 0.5, 0.5]),)
    for nb, names in ((ALL[-2], ["n", "k", "p"]), (BY_CLASS, ["by class"]), *((nb, ["x"]) for nb in rest)):
        fitted = clone(nb).fit(X, y, w)
        parts, result = fitted.predict_part_log_likelihood(X), fitted.loo(X, y, w)
        if not getattr(nb, "norm", False):  # which is no likelihood
            total = fitted.class_log_prior_ + sum(parts.values())
            np.testing.assert_allclose(total, fitted.predict_joint_log_proba(X), rtol=1e-12, atol=1e-12)
        assert list(result.by_block) == list(parts) == names
        np.testing.assert_allclose(result.log_prior + sum(result.by_block.values()), result.log_joint, rtol=1e-12)
        assert (result.log_prior > -800).all()
        own = result.log_prior[np.arange(len(y)), result.index]
        assert (own <= fitted.posterior_.classes.log_predictive()[result.index] + 1e-12).all()


@pytest.mark.parametrize("nb", [BernoulliNB(), MultinomialNB(), ComplementNB(), PoissonNB()], ids=repr)
def test_sparse_rows_and_some_of_the_rows(nb, table):
    X, y, w = table
    X = np.where(X > 2, X, 0)
    rows = sparse.csr_matrix(X)
    dense, thin = clone(nb).fit(X, y, w), clone(nb).fit(rows, y, w)
    for settings in ({}, {"prior": "refit", "groups": np.arange(len(y)) // 4}):
        whole = dense.loo(X, y, w, **settings).log_joint
        np.testing.assert_allclose(thin.loo(rows, y, w, **settings).log_joint, whole, rtol=1e-11, atol=1e-11)
    few = thin.loo(rows[7:20], y[7:20], w[7:20]).log_joint
    np.testing.assert_allclose(few, dense.loo(X, y, w).log_joint[7:20], rtol=1e-11, atol=1e-11)


def test_what_cannot_have_been_fitted_is_refused(table):
    X, y, w = table
    fitted, four = GaussianNB().fit(X, y), np.arange(4.0)[:, None]
    improper = GaussianNB(known_variance=1.0, prior={"m": 0.0, "kappa": 0.0}).fit(four, [0, 0, 0, 1])
    for call, message in (
        (lambda: PoissonNB().fit(X[:30], y[:30]).loo(X, y), "never fitted"),
        (lambda: PoissonNB().fit(X, y).loo(X, y, 1 + w), "never fitted"),
        (lambda: fitted.loo(X, y, 1 + w), "would give negative counts"),
        (lambda: GaussianNB(known_variance=1.0).fit(X, y).loo(X + 50, y), "never fitted"),
        (lambda: fitted.loo(X + 50, y, groups=y), "would give negative squares"),
        (lambda: fitted.loo(X + 1, y), "would give negative squares"),  # the same squares about another mean
        (lambda: GaussianDA().fit(X, y).loo(X[:3] + 50, y[:3]), "would give negative squares"),
        (lambda: GaussianNB(variance="pooled").fit(X, y).loo(X[:3] + 50, y[:3]), "would give negative squares"),
        (lambda: fitted.loo(np.where(X > 6, np.inf, X), y), "infinity"),
        (lambda: fitted.loo(X, np.full(len(y), "d")), "do not exist in the initial classes"),
        (lambda: fitted.loo(X, y).to_arviz("loo"), "`kind` is 'loo'"),
        (lambda: fitted.loo(X, y, prior="new"), "`prior` is 'new'; choose 'kept' or 'refit'"),
        (lambda: fitted.loo(X, y, groups=[1, 2, 3]), r"`groups` has shape \(3,\); it needs one label for each of the"),
        (lambda: fitted.loo(X, y, groups=[np.nan, *y[1:]]), "`groups` has missing labels"),
        (lambda: improper.loo(four, [0, 0, 0, 1]), "improper, and without row 3 of `X`"),
    ):
        with pytest.raises(ValueError, match=message):
            call()


def test_rows_that_occur_more_than_once():
    X = np.array([[1.0, np.nan], [2, 3], [1, np.nan], [-0.0, 0], [0, -0.0], [2, 3], [2, 3.5]])
    y = np.array(["a", "a", "a", "b", "b", "c", "a"])
    want = [0, 1, 0, 2, 2, 3, 4]
    for rows in (X, X.astype(np.float32), pd.DataFrame(X).astype(object), np.asfortranarray(X)):
        assert copies(rows, list(y)).tolist() == want
    words = np.array([["u", None], ["v", "w"], ["u", None]], dtype=object)
    assert copies(words, [0, 0, 0]).tolist() == [0, 1, 0]
    assert copies(pd.DataFrame(words), pd.Series(["p", "p", "q"])).tolist() == [0, 1, 2]
    counts = sparse.csr_matrix(([1.0, 2, 0, 1, 2], ([0, 0, 1, 1, 1], [1, 3, 0, 1, 3])), shape=(3, 4))
    assert copies(counts, [0, 0, 0]).tolist() == [0, 0, 1]
    assert copies(counts, [0, 1, 0]).tolist() == [0, 1, 2]
    assert copies({"a": counts, "b": np.array([[1], [2], [2]])}, [0, 0, 0]).tolist() == [0, 1, 2]
    assert copies(sparse.csr_matrix(np.nan_to_num(X)), y).tolist() == [0, 1, 0, 2, 2, 3, 4]
    with pytest.raises(ValueError, match="`y` has 3 labels"):
        copies(X, [1, 2, 3])


@pytest.mark.filterwarnings("ignore:The inplace keyword")  # of pandas, which ArviZ 0.23 uses
def test_arviz_compares_exact_values():
    X, y = load_breast_cancer(return_X_y=True)
    arviz = import_arviz()
    models = {"per class": GaussianNB(), "pooled": GaussianNB(variance="pooled"), "full": GaussianDA()}
    results = {name: nb.fit(X, y).loo(X, y) for name, nb in models.items()}
    old = int(arviz.__version__.split(".")[0]) < 1
    for kind, value in (("y_given_x", "elpd"), ("joint", "elpd_joint")):
        elpds = {name: result.to_arviz(kind) for name, result in results.items()}
        frame = arviz.compare(elpds, **({} if old else {"round_to": "none"}))
        assert frame.index[0] == "full" and frame.weight.sum() == pytest.approx(1)
        for name, result in results.items():
            column = frame.loc[name, "elpd_loo" if "elpd_loo" in frame else "elpd"]
            assert column == pytest.approx(getattr(result, value), rel=1e-9)
        assert "569" in str(elpds["full"])
