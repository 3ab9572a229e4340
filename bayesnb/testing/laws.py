"""The laws of statistics, evidence and prediction: each is a function of a family, and raises where it is broken."""

from dataclasses import fields, replace
from typing import Any

import jax
import numpy as np
import scipy.stats as st
from scipy import sparse

from ..core.arrays import Theta
from ..core.pytrees import CLASSES
from ..naive_bayes import NaiveBayes
from ..sampling import closed_estimates, closed_forms, drawn_rows
from ..sampling.closed_forms import EXACT, Gap
from ..statistics import one_hot
from .cases import C, Case, D, Family, assert_same, case, close, require
from .quadrature import integrals


def stats_of(this: Case, rows: Any = slice(None)) -> Any:
    """Statistics of some rows of a case."""
    return this.prior.suffstats({"x": this.x[rows]}, this.r[rows])


# --- the statistics -------------------------------------------------------------------------------------------------


def statistics_are_a_commutative_monoid(family: Family) -> None:
    """Statistics add in any order and grouping, and zero adds nothing."""
    this = case(family)
    a, b, c = stats_of(this, slice(0, 5)), stats_of(this, slice(5, 6)), stats_of(this, slice(6, None))
    assert_same(a + a.zero(), a, rtol=0.0, atol=0.0)
    assert_same(a.zero() + a, a, rtol=0.0, atol=0.0)
    assert_same(a + b, b + a)
    assert_same((a + b) + c, a + (b + c))


def split_anywhere_and_merge_in_any_order(family: Family) -> None:
    """Twenty random splits of the rows, merged, are the statistics of all rows."""
    this = case(family)
    for _ in range(20):
        parts = np.split(this.rng.permutation(len(this.x)), np.sort(this.rng.integers(0, len(this.x), 4)))
        merged = this.stats.zero()
        for part in parts:  # some parts are empty
            merged = merged + stats_of(this, part)
        assert_same(merged, this.stats)


def forgetting_undoes_adding(family: Family) -> None:
    """(a + b) − b = a."""
    this = case(family)
    a, b = stats_of(this, slice(0, 15)), stats_of(this, slice(15, None))
    assert_same((a + b) - b, a)
    assert_same((a + b) - b - a, a.zero())


def updates_chain(family: Family) -> None:
    """Two updates are one with the sum; the evidence of both is the product of theirs."""
    this = case(family)
    a, b = stats_of(this, slice(0, 9)), stats_of(this, slice(9, None))
    assert_same(this.prior.update(a).update(b), this.posterior)
    gain = this.prior.log_marginal(a) + this.prior.update(a).log_marginal(b)
    close(gain, this.prior.log_marginal(a + b), rel=1e-12)


def soft_labels_dense_and_sparse(family: Family) -> None:
    """Weights may be a dense or a sparse table."""
    this = case(family)
    soft = this.rng.dirichlet(np.ones(C), len(this.x))
    block, hard = this.block, this.r
    assert_same(block.suffstats(this.x, soft), block.suffstats(this.x, sparse.csr_array(soft)))
    assert_same(block.suffstats(this.x, hard), block.suffstats(this.x, hard.toarray()))


def weights_are_repetitions(family: Family) -> None:
    """A whole weight counts as so many copies of the row."""
    this = case(family)
    w = this.rng.integers(0, 4, len(this.x))
    weighted = this.block.suffstats(this.x, one_hot(this.y, C, w))
    assert_same(weighted, this.block.suffstats(np.repeat(this.x, w, 0), one_hot(np.repeat(this.y, w), C)))


def sparse_rows_equal_dense_rows(family: Family) -> None:
    """scipy.sparse rows give what dense rows give."""
    this = case(family, missing=False)
    dense, rows, block = this.x, sparse.csr_array(this.x), this.posterior.blocks["x"]
    theta = block.sample(this.rng, (2,))
    for r in (this.r, this.r.toarray()):
        assert_same(block.suffstats(rows, r), block.suffstats(dense, r))
    assert_same(block.log_predictive(rows), block.log_predictive(dense))
    assert_same(block.log_likelihood(theta, rows), block.log_likelihood(theta, dense))
    assert_same(block.log_moments(rows), block.log_moments(dense))


def a_missing_cell_is_a_cell_left_out(family: Family) -> None:
    """A row with NaN in a column is a row of the model without that column."""
    this = case(family, missing=False)
    x, gap = this.x[:1].copy(), 1
    x[0, gap] = np.nan
    block = this.posterior.blocks["x"]
    fewer = block.select(np.delete(np.arange(D), gap))
    short = np.delete(x, gap, 1)
    assert_same(block.log_predictive(x), fewer.log_predictive(short))
    assert_same(block.log_moments(x), fewer.log_moments(short))
    theta = block.sample(this.rng)
    part = {name: np.delete(value, gap, min(1, value.ndim - 1)) for name, value in theta.items()}
    assert_same(block.log_likelihood(theta, x), fewer.log_likelihood(part, short))
    r = np.full((1, C), 1 / C)
    evidence = block.log_marginal(block.suffstats(x, r)).sum()
    close(evidence, fewer.log_marginal(fewer.suffstats(short, r)).sum(), rel=1e-12)


# --- evidence and prediction ----------------------------------------------------------------------------------------


def require_exact(gaps: list[Gap]) -> None:
    """Raise where two closed forms differ; see `bayesnb.sampling.closed_forms`, whose identities the check uses too."""
    for one in gaps:
        require(one.size <= EXACT, f"{one.what} is off by {one.size:.1e}, relative")


def evidence_is_the_ratio_of_normalisers(family: Family) -> None:
    """log_marginal = log_normalizer after − before + log base measure, and an update is a step of the evidence."""
    this = case(family)
    require_exact(closed_forms.evidence(this.block, this.x, this.r.toarray()))


def predictive_is_a_ratio_of_evidences(family: Family) -> None:
    """log_predictive of a row is the evidence of that row, under prior and posterior."""
    this = case(family)
    for block in (this.block, this.posterior.blocks["x"]):
        require_exact(closed_forms.predictive(block, this.x[:5]))


def likelihood_is_a_ratio_of_densities(family: Family) -> None:
    """log p(x | θ) = log p(θ | x, data) − log p(θ | data) + log p(x | data)."""
    this = case(family)
    for block in (this.block, this.posterior.blocks["x"]):
        require_exact(closed_forms.likelihood(block, this.x[:5], block.sample(this.rng, (3,))))


def prediction_row_by_row_sums_to_the_evidence(family: Family) -> None:
    """Each row predicted by those before it: the sum is the evidence."""
    this = case(family)
    now, total = this.prior, 0.0
    for i, label in enumerate(this.y):
        total += now.log_joint({"x": this.x[i : i + 1]})[0, label]
        now = now.update(stats_of(this, slice(i, i + 1)))
    close(total, this.prior.log_marginal(this.stats), rel=1e-12)
    assert_same(now, this.posterior)


def refits(this: Case, r: np.ndarray) -> np.ndarray:
    """The joint table of each row by the posterior of the others: n updates of the prior, row by row."""
    tables = []
    for i in range(len(this.x)):
        others = np.delete(np.arange(len(this.x)), i)
        posterior = this.prior.update(this.prior.suffstats({"x": this.x[others]}, r[others]))
        tables.append(posterior.log_joint({"x": this.x[[i]]})[0])
    return np.stack(tables)


def leaving_a_row_out_equals_a_refit_without_it(family: Family) -> None:
    """With unit, unequal and zero weights, and with soft labels; cells are missing where the family takes that."""
    this = case(family)
    w = this.rng.choice([0.0, 0.3, 1.0, 2.5], len(this.x))
    soft = w[:, None] * this.rng.dirichlet(np.ones(C), len(this.x))
    soft[:5, 0] = 0
    for r in (this.r.toarray(), this.r.toarray() * 0.7, one_hot(this.y, C, w).toarray(), soft):
        posterior = this.prior.update(this.prior.suffstats({"x": this.x}, r))
        want = refits(this, r)
        for weights in (r, sparse.csr_array(r)):
            got = posterior.log_loo({"x": this.x}, weights)
            np.testing.assert_allclose(got, want, rtol=1e-10, atol=1e-10)
            if family.sparse:
                rows = sparse.csr_array(np.nan_to_num(this.x))
                full = this.prior.update(this.prior.suffstats({"x": rows}, weights))
                dense = full.log_loo({"x": rows.toarray()}, weights)
                np.testing.assert_allclose(full.log_loo({"x": rows}, weights), dense, rtol=1e-12, atol=1e-12)


def a_row_of_no_weight_is_predicted_by_all_others(family: Family) -> None:
    """`log_loo` with weight 0 is `log_predictive`."""
    this = case(family)
    nothing = sparse.csr_array((len(this.x), C))
    rows = {"x": this.x}
    assert_same(this.posterior.log_loo(rows, nothing), this.posterior.log_joint(rows), rtol=1e-11, atol=1e-11)


def a_row_that_is_nearly_all_there_is_leaves_finite_numbers(family: Family) -> None:
    """Its class has the smallest prior that is promised to work; a covariance has to stay one."""
    this = case(family)
    tiny = jax.tree.map(lambda leaf: 1e-8 * leaf, this.prior)
    low = {name: getattr(this.block, name) for name in ("kappa", "nu") if name in this.block.fields_}
    prior = NaiveBayes(this.prior.classes, {"x": replace(tiny.blocks["x"], **low)})
    if not all(field.fitted for field in this.block.fields_.values()):  # constants stay what they are
        prior = this.prior
    rows, r = {"x": this.x[:1]}, np.eye(C)[[0]]
    table = prior.update(prior.suffstats(rows, r)).log_loo(rows, r)
    require(np.isfinite(table).all(), f"the table of that row is {table}")


def predictive_cells(this: Case) -> tuple[np.ndarray, float, np.ndarray]:
    """Predictive probabilities (m, c) of m cells that cover the space, and how far off their sum may be; the cells.

    The cells are points, or edges of intervals.

    Those of the prior, whose parameters are uncertain: plugging in a point would show. Of the posterior where the tails
    of the prior are too heavy to be summed.
    """
    block = this.posterior.blocks["x"] if this.family.of_posterior else this.block
    if this.family.support is not None:
        return np.exp(block.log_predictive(this.family.support)), 0.0, this.family.support
    logs = this.family.in_logarithms

    def density(z: np.ndarray) -> np.ndarray:
        inside = abs(z) < 700 if logs else np.isfinite(z)  # beyond, no float is left
        if block.cells_.kind == "positive" and not logs:
            inside = inside & (z > 0)
        x = np.where(inside, z, 1)
        with np.errstate(over="ignore"):  # of x² far out, where the density is 0
            log_p = block.log_predictive((np.exp(x) if logs else x)[:, None]) + (x[:, None] if logs else 0)
        return np.where(inside[:, None], np.exp(log_p), 0)

    edges = np.array(this.family.edges)
    return *integrals(density, edges, this.family.whole / 10), np.exp(edges) if logs else edges


def predictive_sums_to_one_and_new_rows_follow_it(family: Family) -> None:
    """Pearson's χ² of 10,000 rows a class; 11 families × 3 classes at 1e-5 each: false alarms in 1 of 3,000 seeds."""
    this = case(family, d=family.d)
    p, error, cells = predictive_cells(this)
    require(error < 1e-3, f"the predictive cannot be integrated: of its integral {error:.1e} does not converge")
    np.testing.assert_allclose(p.sum(0), 1, rtol=family.whole + error)  # quadrature to 1e-13, or rounding
    n = 10_000
    block = this.posterior.blocks["x"] if family.of_posterior else this.block
    rows = block.sample_predictive(this.rng, np.repeat(np.arange(C), n), **dict(family.given))
    for k, x in enumerate(rows.reshape(C, n, family.d)):
        if family.support is None:
            seen = np.histogram(x, cells)[0]
        else:
            seen = np.array([(x == row).all(1).sum() for row in cells])
        require(seen.sum() == n, f"{n - seen.sum()} of {n} drawn rows lie outside the support")
        rare = n * p[:, k] < 10  # pooled: χ² is a limit for large counts
        expected = np.append(n * p[~rare, k], n * p[rare, k].sum())
        observed = np.append(seen[~rare], seen[rare].sum())
        used = expected > 1
        statistic = ((observed - expected)[used] ** 2 / expected[used]).sum()
        p_value = st.chi2.sf(statistic, used.sum() - 1)
        require(p_value > 1e-5, f"drawn rows do not follow the predictive of class {k}: p-value {p_value:.1e}")


def scores_are_log_densities_up_to_a_term_of_the_row(family: Family) -> None:
    """`log_score` differs from the density by what all classes share."""
    this = case(family)
    theta = this.block.sample(this.rng)
    joint = this.posterior.log_joint({"x": this.x})
    for density, score in [
        (this.block.log_predictive(this.x), this.block.log_score(this.x)),
        (this.block.log_likelihood(theta, this.x), this.block.log_score(this.x, theta)),
        (joint, this.posterior.log_scores({"x": this.x})),
    ]:
        term = density - score
        np.testing.assert_allclose(term, np.broadcast_to(term[:, :1], term.shape), rtol=1e-11, atol=1e-11)


def cumulants_are_slopes_of_the_evidence(family: Family) -> None:
    """Mean, variance, third cumulant and covariance of log p(x | θ): log E p(x | θ)^t is the evidence of weight t."""
    this = case(family)
    for block in (this.block, this.posterior.blocks["x"]):
        require_exact(closed_forms.cumulants(block, this.x[:2]))


def estimates_and_marginals_are_those_of_the_density(family: Family) -> None:
    """Slopes at mode and maximum likelihood are zero, the mean and the marginals are those of the joint density."""
    this = case(family)
    block, sites = this.posterior.blocks["x"], this.block.sites()

    def log_likelihood(theta: Theta) -> np.ndarray:
        return block.log_likelihood(theta, this.x)[..., np.arange(len(this.y)), this.y].sum(-1)

    best = block.mle(this.block.suffstats(this.x, this.r))
    require_exact(closed_estimates.estimates(block, sites, log_likelihood, best))
    require_exact(closed_estimates.marginals(block, sites)[0])


def draws_follow_their_density(family: Family) -> None:
    """200,000 draws of parameters and of new rows by score tests, at 1e-6 a family: a spread 1 % too small is seen."""
    this = case(family)
    block, sites = this.posterior.blocks["x"], this.block.sites()
    found = [*drawn_rows.parameters(block, sites, this.rng), *drawn_rows.new_rows(block, sites, this.rng)]
    limit = drawn_rows.limit_of(sum(one.z.size for one in found), 1e-6)
    for one in found:
        require(one.largest <= limit, f"{one.what} is {one.largest:.1f} standard errors off")


def what_a_family_says_of_itself_is_true(family: Family) -> None:
    """Every field is declared; separable columns add up; a file can name the class; parameters are NumPyro sites."""
    this = case(family)
    block, columns = this.posterior.blocks["x"], np.arange(D)
    data = {field.name for field in fields(block) if not field.metadata.get("static")}
    require({*block.fields_} == data, f"`fields_` declares {sorted(block.fields_)}, the fields are {sorted(data)}")
    require(type(block) in CLASSES.values(), "no file can name the class: define it at the top level of a module")
    sites = {name.removeprefix("log_").removeprefix("logit_") for name in block.parameters}
    require(
        block.sites().keys() == sites, f"`model` has the sites {sorted(block.sites())}, `parameters` {sorted(sites)}"
    )
    require(block.marginals().keys() == sites, f"`marginals` has {sorted(block.marginals())}, not {sorted(sites)}")
    wrong = block.cells_.wrong(this.x, None)
    require(not wrong.any(), "`cells_` refuses cells that the family is tried on")
    if block.separable:
        parts = [block.select(columns[[j]]) for j in columns]
        tables = [part.log_predictive(this.x[:, [j]]) for j, part in enumerate(parts)]
        np.testing.assert_allclose(sum(tables), block.log_predictive(this.x), rtol=1e-10, atol=1e-10)
        stats = [part.suffstats(this.x[:, [j]], this.r) for j, part in enumerate(parts)]
        evidence = sum(part.log_marginal(one).sum() for part, one in zip(parts, stats, strict=True))
        close(evidence, block.log_marginal(block.suffstats(this.x, this.r)).sum(), rel=1e-11)
