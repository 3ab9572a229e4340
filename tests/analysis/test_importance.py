"""Columns by exact leave-one-out, against refits without each row."""

from typing import Any

import numpy as np
import pytest
from scipy import sparse, stats

import bayesnb
from bayesnb.core.special import log_normalize

from ..sampling.test_explanation import BITS, COUNTS, GAPS, LABELS, LEVELS, REAL

N = len(LABELS)


def fitted_without(make: Any, X: Any, out: np.ndarray, weight: np.ndarray | None = None) -> Any:
    """The estimator fitted to all other rows, with the prior, the levels and the columns that all rows make."""
    nb = make().fit(X, LABELS)
    kept = np.setdiff1d(np.arange(N), out)
    r = np.eye(3)[np.unique(LABELS, return_inverse=True)[1]] * (1 if weight is None else weight[:, None])
    rows = {name: x[kept] for name, x in nb.encode(X).items()}
    return nb.prior_.update(nb.prior_.suffstats(rows, sparse.csr_array(r[kept])))


def by_refits(make: Any, X: Any, tables_of: Any, groups: np.ndarray | None = None) -> np.ndarray:
    """(n, 2, d) information and gain of each row, from a posterior of all other rows and tables of its columns."""
    nb, y = make().fit(X, LABELS), np.unique(LABELS, return_inverse=True)[1]
    groups = np.arange(N) if groups is None else groups
    found = []
    for i in range(N):
        left = fitted_without(make, X, np.flatnonzero(groups == groups[i]))
        row = {name: x[[i]] for name, x in nb.encode(X).items()}
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
    "kernel": (bayesnb.KernelNB, REAL, cell_by_cell),
    "full": (bayesnb.GaussianDA, REAL, marginal_t),
    "multinomial": (bayesnb.MultinomialNB, COUNTS, one_kind_of_events),
    "multinomial, sparse": (bayesnb.MultinomialNB, sparse.csr_array(np.tile(COUNTS, 4)), one_kind_of_events),
}


@pytest.mark.parametrize("name", REFITS)
def test_it_is_what_refits_without_each_row_give(name: str) -> None:
    make, X, tables_of = REFITS[name]
    table = bayesnb.importance(make().fit(X, LABELS), X, LABELS, level=0.8).set_index("feature").sort_index()
    terms = by_refits(make, X, tables_of)
    wanted, error = terms.mean(0), terms.std(0) * stats.norm.isf(0.1) / np.sqrt(N)
    for k, names in enumerate((("information", "low", "high"), ("elpd_gain", "gain_low", "gain_high"))):
        ends = wanted[k], wanted[k] - error[k], wanted[k] + error[k]
        np.testing.assert_allclose(table[list(names)].T, ends, rtol=1e-9, atol=1e-9)
