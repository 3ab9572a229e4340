"""Columns by exact leave-one-out, against refits without each row."""

from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse, stats

import bayesnb
from bayesnb import drop_in
from bayesnb.numerics.special import log_normalize

from ..estimators_table import mostly_slow, these
from ..posterior.test_explanation import BITS, COUNTS, GAPS, LABELS, LEVELS, REAL

N = len(LABELS)


def fitted_without(make: Any, X: Any, out: np.ndarray, weight: np.ndarray | None = None) -> Any:
    """The estimator fitted to all other rows, with the prior, the levels and the columns that all rows make."""
    nb = make().fit(X, LABELS)
    kept = np.setdiff1d(np.arange(N), out)
    r = np.eye(3)[np.unique(LABELS, return_inverse=True)[1]] * (1 if weight is None else weight[:, None])
    rows = {name: x[kept] for name, x in nb.model_.encode(X).items()}
    return nb.prior_.update(nb.prior_.suffstats(rows, sparse.csr_array(r[kept])))


def by_refits(make: Any, X: Any, tables_of: Any, groups: np.ndarray | None = None) -> np.ndarray:
    """(n, 2, d) information and gain of each row, from a posterior of all other rows and tables of its columns."""
    nb, y = make().fit(X, LABELS), np.unique(LABELS, return_inverse=True)[1]
    groups = np.arange(N) if groups is None else groups
    found = []
    for i in range(N):
        left = fitted_without(make, X, np.flatnonzero(groups == groups[i]))
        row = {name: x[[i]] for name, x in nb.model_.encode(X).items()}
        log_prior = left.classes.log_predictive()
        alone, without = tables_of(left, row)  # (d, c) each
        whole = log_normalize(left.log_joint(row))[0, y[i]]
        information = log_normalize(log_prior + alone)[:, y[i]] - log_prior[y[i]]
        found.append([information, whole - log_normalize(log_prior + without)[:, y[i]]])
    return np.array(found)


def cell_by_cell(left: Any, row: Any) -> tuple[np.ndarray, np.ndarray]:
    """Of families that leave missing cells out: a column alone, and all others, by cells that are missing."""
    (x,) = (x.toarray() if sparse.issparse(x) else x for x in row.values())
    own = np.eye(x.shape[1], dtype=bool)
    alone, others = (np.where(mask, x, np.nan) for mask in (own, ~own))
    (block,) = left.blocks.values()
    return block.log_predictive(alone), block.log_predictive(others)


def marginal_t(left: Any, row: Any) -> tuple[np.ndarray, np.ndarray]:
    """Of a normal distribution per class with an inverse-Wishart prior: the marginal t distributions of SciPy."""
    block, x = left.blocks["x"], row["x"][0]
    d = len(x)

    def table(keep: np.ndarray) -> np.ndarray:
        df = block.nu - d + 1  # the marginal has the same
        scale = block.S * ((block.kappa + 1) / (block.kappa * df))[:, None, None]
        laws = zip(block.m[:, keep], scale[:, keep][:, :, keep], df, strict=True)
        return np.array([stats.multivariate_t(m, s, f).logpdf(x[keep]) for m, s, f in laws])

    own = np.eye(d, dtype=bool)
    return np.stack([table(at) for at in own]), np.stack([table(~at) for at in own])


def one_kind_of_events(left: Any, row: Any) -> tuple[np.ndarray, np.ndarray]:
    """Of counts that share a row: the beta-binomial of SciPy, and what is left of the row given that count."""
    block, x = left.blocks["x"], row["x"]
    x = (x.toarray() if sparse.issparse(x) else x)[0]
    a, rest = block.alpha, block.alpha.sum(1, keepdims=True) - block.alpha
    alone = stats.betabinom(x.sum(), a, rest).logpmf(x).T
    return alone, block.log_predictive(x[None]) - alone


REFITS: dict[str, tuple[Any, Any, Any]] = {
    "bernoulli": (bayesnb.BernoulliNB, BITS, cell_by_cell),
    "bernoulli, sparse": (bayesnb.BernoulliNB, sparse.csr_array(BITS), cell_by_cell),
    "bernoulli, gaps": (bayesnb.BernoulliNB, np.where(GAPS[:, :1] == GAPS[:, :1], BITS, np.nan), cell_by_cell),
    "categorical": (bayesnb.CategoricalNB, LEVELS, cell_by_cell),
    "poisson": (bayesnb.PoissonNB, np.tile(COUNTS, 4), cell_by_cell),  # more columns than different counts
    "poisson, sparse": (bayesnb.PoissonNB, sparse.csr_array(np.tile(COUNTS, 4)), cell_by_cell),
    "geometric": (bayesnb.GeometricNB, sparse.csr_array(COUNTS), cell_by_cell),
    "exponential": (bayesnb.ExponentialNB, abs(REAL), cell_by_cell),
    "gaussian": (bayesnb.GaussianNB, GAPS, cell_by_cell),
    "pooled": (lambda: bayesnb.GaussianNB(variance="pooled"), GAPS, cell_by_cell),
    "kernel": (partial(bayesnb.KernelNB, bandwidth=0.7), REAL, cell_by_cell),  # a posterior of it would be kept
    "full": (bayesnb.GaussianDA, REAL, marginal_t),
    "multinomial": (bayesnb.MultinomialNB, COUNTS, one_kind_of_events),
    "multinomial, sparse": (bayesnb.MultinomialNB, sparse.csr_array(np.tile(COUNTS, 4)), one_kind_of_events),
}


@pytest.mark.parametrize("name", mostly_slow(REFITS, these("bernoulli, sparse", "gaussian", "poisson", "multinomial")))
def test_it_is_what_refits_without_each_row_give(name: str) -> None:
    make, X, tables_of = REFITS[name]
    table = by_feature(bayesnb.importance(make().fit(X, LABELS), X, LABELS, level=0.8))
    check(table, by_refits(make, X, tables_of), 0.8)


def by_feature(table: pd.DataFrame) -> pd.DataFrame:
    assert table["information"].is_monotonic_decreasing
    return table.set_index("feature").sort_index()


def check(table: pd.DataFrame, terms: np.ndarray, level: float, groups: Any = None) -> None:
    """The mean over rows, and its standard error, for which the rows of a group are one sum."""
    wanted, groups = terms.mean(0), np.arange(len(terms)) if groups is None else groups
    sums = np.array([(terms[groups == one] - wanted).sum(0) for one in np.unique(groups)])
    error = stats.norm.isf((1 - level) / 2) * np.sqrt((sums**2).sum(0)) / len(terms)
    for k, names in enumerate((("information", "low", "high"), ("elpd_gain", "gain_low", "gain_high"))):
        ends = wanted[k], wanted[k] - error[k], wanted[k] + error[k]
        np.testing.assert_allclose(table[list(names)].T, ends, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", ["gaussian", "poisson, sparse"])
def test_groups_leave_together(name: str) -> None:
    make, X, tables_of = REFITS[name]
    groups = np.where(np.arange(N) < 20, np.arange(N) // 4, np.arange(N))
    table = by_feature(bayesnb.importance(make().fit(X, LABELS), X, LABELS, groups=groups, level=0.8))
    check(table, by_refits(make, X, tables_of, groups), 0.8, groups)


@pytest.mark.parametrize("name", ["gaussian", "poisson, sparse", "multinomial"])
def test_rows_that_were_not_fitted_have_plain_predictives(name: str) -> None:
    make, X, tables_of = REFITS[name]
    nb, y = make().fit(X[:30], LABELS[:30]), np.unique(LABELS, return_inverse=True)[1]
    log_prior, terms = nb.class_log_prior_, []
    for i in range(30, N):
        row = {block: x[[i]] for block, x in nb.model_.encode(X).items()}
        alone, without = (log_normalize(log_prior + t)[:, y[i]] for t in tables_of(nb.posterior_, row))
        terms.append([alone - log_prior[y[i]], nb.predict_log_proba(X[[i]])[0, y[i]] - without])
    table = by_feature(bayesnb.importance(nb, X[30:], LABELS[30:], held_out=True))
    check(table, np.array(terms), 0.9)
    with pytest.raises(ValueError, match="never fitted"):
        bayesnb.importance(nb, X * 1000, LABELS)


@pytest.mark.parametrize("kind", ["csr", "csc", "coo", "lil"])
@pytest.mark.parametrize("make", [bayesnb.MultinomialNB, bayesnb.ComplementNB, bayesnb.DiscriminativeNB])
def test_a_sparse_matrix_has_the_numbers_of_a_sparse_array(make: Any, kind: str) -> None:
    """`CountVectorizer` returns a matrix, whose sums are matrices and whose `*` is a product."""
    matrix, array = (getattr(sparse, f"{kind}_{what}")(COUNTS) for what in ("matrix", "array"))
    found, wanted = (bayesnb.importance(make().fit(X, LABELS), X, LABELS) for X in (matrix, array))
    pd.testing.assert_frame_equal(found, wanted)


def test_one_dependence_sees_a_column_alone_in_new_rows() -> None:
    X, y = LEVELS.astype(float), np.unique(LABELS, return_inverse=True)[1]
    nb, rows = bayesnb.OneDependenceNB().fit(X[:30], LABELS[:30]), np.arange(30, N)
    table = by_feature(bayesnb.importance(nb, X[rows], LABELS[rows], held_out=True))
    for j, found in table["information"].items():
        alone = nb.predict_log_proba(np.where(np.arange(3) == j, X, np.nan))
        assert found == pytest.approx((alone - nb.class_log_prior_)[rows, y[rows]].mean(), rel=1e-9)


def test_a_calibrated_model_keeps_its_map() -> None:
    X = np.c_[REAL, REAL]
    nb = bayesnb.CalibratedClassifierLOO(bayesnb.GaussianNB()).fit(X, LABELS)
    table = by_feature(bayesnb.importance(nb, X, LABELS))
    plain = by_feature(bayesnb.importance(nb.estimator_, X, LABELS))
    np.testing.assert_array_equal(table["information"], plain["information"])
    assert abs(table["elpd_gain"] - plain["elpd_gain"]).max() > 0.01
    loo, y = nb.estimator_.loo(X, LABELS), np.unique(LABELS, return_inverse=True)[1]
    one = loo.log_joint - bayesnb.GaussianNB().fit(X[:, 1:], LABELS).loo(X[:, 1:], LABELS).log_joint
    own = np.arange(N), y
    with_all, without = (np.log(nb.calibrated(log_normalize(loo.log_joint - t))[own]) for t in (0, one))
    assert table["elpd_gain"][0] == pytest.approx((with_all - without).mean(), abs=1e-9)


def test_what_is_out_of_range_is_named() -> None:
    nb = bayesnb.GaussianNB().fit(REAL, LABELS)
    with pytest.raises(ValueError, match="`level`"):
        bayesnb.importance(nb, REAL, LABELS, level=0)
    with pytest.raises(TypeError, match=r"`estimator` is FeatureAverage.* Give `estimator\.estimator_`"):
        bayesnb.importance(bayesnb.FeatureAverage(bayesnb.GaussianNB()).fit(REAL, LABELS), REAL, LABELS)
    new = drop_in.GaussianNB()
    for call in (
        lambda: bayesnb.importance(drop_in.GaussianNB().fit(REAL, LABELS), REAL, LABELS),
        lambda: bayesnb.report(new, REAL, LABELS),
        lambda: bayesnb.fit_prior(new, REAL, LABELS),
        lambda: bayesnb.CalibratedClassifierLOO(new).fit(REAL, LABELS),
    ):
        with pytest.raises(TypeError, match=r"`estimator` is drop_in\.GaussianNB; .*`estimator\.bayes_`"):
            call()
    with pytest.raises(ValueError, match=r"importance\(estimator, X, y\)"):
        bayesnb.rank_features(nb)


def test_a_column_that_no_block_has_is_not_shown_to_help() -> None:
    X = pd.DataFrame({"unused": REAL[:, 0], **{f"{k}": BITS[:, k] for k in range(5)}})
    parts = [("bits", bayesnb.BernoulliNB(), list("01234")), ("none", "drop", ["unused"])]
    table = bayesnb.importance(bayesnb.MixedNB(parts).fit(X, LABELS), X, LABELS).set_index("feature")
    alone = bayesnb.importance(bayesnb.BernoulliNB().fit(BITS, LABELS), BITS, LABELS).set_index("feature")
    np.testing.assert_allclose(table.loc[list("01234")], alone.loc[range(5)], rtol=1e-9, atol=1e-12)
    assert (table.loc["unused"] == 0).all()
