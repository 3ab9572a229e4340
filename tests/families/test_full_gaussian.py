"""The full covariances, one a class and one for all, against their textbook pages."""

from typing import Any

import mpmath as mp
import numpy as np

from bayesnb import GaussianDA
from bayesnb.check.laws import Problem, closed_rows
from bayesnb.families import NormalInverseWishart
from bayesnb.sums.statistics import one_hot

from ..laws import FAMILIES, case

FULL, TIED = (next(f for f in FAMILIES if f.name == name) for name in ("full_gaussian", "tied_gaussian"))


def exact(values: Any) -> mp.matrix:
    """An array as an exact matrix, one-dimensional ones as a column."""
    return mp.matrix(np.atleast_1d(values).tolist())


def log_multigamma(nu: mp.mpf, d: int) -> mp.mpf:
    return mp.mpf(d * (d - 1)) / 4 * mp.log(mp.pi) + mp.fsum(mp.loggamma((nu - i) / 2) for i in range(d))


def accumulate(x: np.ndarray, m: mp.matrix, kappa: mp.mpf) -> tuple[mp.matrix, mp.mpf, mp.matrix]:
    """mₙ, κₙ and what the rows of one class add to S, with raw cross products. Murphy (2007), (251)–(255)."""
    total, products = m * 0, exact(np.zeros((len(m), len(m))))
    for row in x:
        total, products = total + exact(row), products + exact(row) * exact(row).T
    kappa_n = kappa + len(x)
    centre = (kappa * m + total) / kappa_n
    return centre, kappa_n, products + kappa * m * m.T - kappa_n * centre * centre.T


def evidence(n: int, nu: mp.mpf, S: mp.matrix, S_n: mp.matrix, kappas: list[tuple[mp.mpf, mp.mpf]]) -> mp.mpf:
    """Murphy (2007), (266)."""
    d = len(S)
    value = log_multigamma(nu + n, d) - log_multigamma(nu, d) - mp.mpf(n * d) / 2 * mp.log(mp.pi)
    value += nu / 2 * mp.log(mp.det(S)) - (nu + n) / 2 * mp.log(mp.det(S_n))
    return value + mp.fsum(mp.mpf(d) / 2 * mp.log(before / after) for before, after in kappas)


def close(got: Any, want: Any, rtol: float = 1e-10) -> None:
    np.testing.assert_allclose(got, np.array(want.tolist() if hasattr(want, "tolist") else want, float), rtol=rtol)


def test_textbook_page_of_a_covariance_a_class() -> None:
    this = case(FULL)
    prior, stats = this.block, this.stats.blocks["x"]
    posterior, got = prior.update(stats), prior.log_marginal(stats)
    for k in range(3):
        rows, m, S = this.x[this.y == k], exact(prior.m[k]), exact(prior.S[k])
        kappa, nu = mp.mpf(prior.kappa[k]), mp.mpf(prior.nu[k])
        centre, kappa_n, growth = accumulate(rows, m, kappa)
        close(posterior.m[k], [value[0] for value in centre.tolist()])
        close(posterior.S[k], S + growth)
        close([posterior.kappa[k], posterior.nu[k]], [kappa_n, nu + len(rows)])
        close(got[k], evidence(len(rows), nu, S, S + growth, [(kappa, kappa_n)]))


def test_textbook_page_of_one_covariance() -> None:
    this = case(TIED)
    prior, stats = this.block, this.stats.blocks["x"]
    S_n, kappas = exact(prior.S), []
    for k in range(3):
        kappa = mp.mpf(prior.kappa[k])
        _, kappa_n, growth = accumulate(this.x[this.y == k], exact(prior.m[k]), kappa)
        S_n, kappas = S_n + growth, [*kappas, (kappa, kappa_n)]
    nu = mp.mpf(prior.nu[0])
    close(prior.update(stats).S, S_n)
    close(prior.log_marginal(stats)[0], evidence(len(this.x), nu, exact(prior.S), S_n, kappas))


def test_the_mle_of_a_class_without_rows_is_that_of_the_prior() -> None:
    this = case(FULL)
    full = this.block.mle(this.block.suffstats(this.x[this.y < 2], one_hot(this.y[this.y < 2], 3)))
    np.testing.assert_allclose(full["mu"][2], this.block.m[2])
    np.testing.assert_allclose(full["covariance"][2], this.block.mean()["covariance"][2])


def test_the_mean_where_degrees_are_few() -> None:
    few = NormalInverseWishart(np.zeros((1, 2)), np.ones(1), np.array([3.0]), np.eye(2)[None])
    np.testing.assert_allclose(few.mean()["covariance"][0], np.eye(2) / 6)  # no mean at ν = d + 1
    assert np.isinf(few.marginals()["covariance"].mean()[0, 0, 0])


def test_the_quadratic_form_is_the_likelihood_but_for_a_constant() -> None:
    this = case(FULL)
    x, block = this.x, this.posterior.blocks["x"]
    theta = block.mean()
    square, weights, intercept = block.quadratic_form(theta)
    rest = block.log_likelihood(theta, x) - x @ weights - intercept - np.einsum("ni,cij,nj->nc", x, square, x)
    np.testing.assert_allclose(rest, -0.5 * x.shape[1] * np.log(2 * np.pi), rtol=1e-9)


def test_the_check_of_formulas_stays_among_covariance_matrices() -> None:
    """Columns that nearly repeat each other: an entry of the covariance moves by less than makes it singular."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 4))
    x[:, 1:] = x[:, :1] + 0.1 * x[:, 1:]
    nb = GaussianDA().fit(x, np.arange(60) % 2)
    case = Problem(nb.prior_, nb.model_.encode(x), np.arange(60) % 2)
    assert all(row.passed for row in closed_rows(case, case, rng))
