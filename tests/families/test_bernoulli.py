"""Beta–Bernoulli against its textbook page."""

from typing import Any

import jax.numpy as jnp
import mpmath as mp
import numpy as np
import pytest
from scipy import sparse

from bayesnb.base import to_sites
from bayesnb.families import BetaBernoulli
from bayesnb.statistics import Counts, one_hot

from ..laws import FAMILIES, case
from .twin import EXTREMES, check_evidence, check_fields, check_predictive, log_beta

FAMILY = next(f for f in FAMILIES if f.name == "bernoulli")


def update(x: list[Any], a: Any, b: Any) -> tuple[Any, ...]:
    return a + sum(x), b + len(x) - sum(x)


def evidence(x: list[Any], a: Any, b: Any) -> Any:
    """BDA3 §2.4 and the ratio B(a+n₁, b+n₀)/B(a, b)."""
    return log_beta(*update(x, a, b)) - log_beta(a, b)


def predictive(x: Any, a: Any, b: Any) -> Any:
    return mp.log((a if x else b) / (a + b))


def test_textbook_page() -> None:
    this = case(FAMILY)
    posterior = this.posterior.blocks["x"]
    check_fields(posterior, update, this.block, this.x, this.y)
    check_evidence(this.block, evidence, this.x, this.y)
    check_predictive(posterior, predictive, this.x)


def test_concentrations_from_1e_minus_10_to_1e10(rng: np.random.Generator) -> None:
    prior = BetaBernoulli(*np.meshgrid(EXTREMES, EXTREMES))
    x, y = rng.integers(0, 2, (30, 5)).astype(float), np.arange(30) % 5
    check_evidence(prior, evidence, x, y, rtol=1e-9)
    check_predictive(prior, predictive, x, rtol=1e-9)
    check_predictive(prior.update(prior.suffstats(x, one_hot(y, 5))), predictive, x, rtol=1e-9)


@pytest.mark.parametrize(
    ("a", "b", "mode"),
    [(3, 2, 2 / 3), (1, 2, 0), (0.5, 2, 0), (2, 1, 1), (2, 0.5, 1), (1, 1, 1 / 2), (0.5, 0.25, 2 / 3)],
)
def test_mode(a: float, b: float, mode: float) -> None:
    """Inside, on either side, and the mean where the density rises towards both."""
    block = BetaBernoulli(np.array([[a]], float), np.array([[b]], float))
    assert to_sites(block.mode())["theta"].item() == pytest.approx(mode, abs=1e-300)
    assert block.on_boundary() == (a <= 1 or b <= 1)


def test_mle_and_linear_form() -> None:
    stats = Counts(np.array([[[3.0, 1.0], [0.0, 2.0], [0.0, 0.0]]]), np.zeros((1, 3)))
    prior = BetaBernoulli(np.full((1, 3), 2.0), np.full((1, 3), 3.0))
    theta = prior.mle(stats)
    np.testing.assert_allclose(to_sites(theta)["theta"], [[0.25, 1, 0.4]], rtol=1e-15)  # no data: the prior's mean
    x = np.array([[1.0, 1, 0], [0, 1, 1]])
    weights, intercept = prior.linear_form(theta)
    np.testing.assert_allclose(x @ weights + intercept, prior.log_likelihood(theta, x), rtol=1e-13)


# --- cells between 0 and 1 ------------------------------------------------------------------------------------------


@pytest.fixture
def shares(rng: np.random.Generator) -> tuple[BetaBernoulli, np.ndarray, np.ndarray]:
    """A posterior, and rows with cells from 0 to 1, one of them missing."""
    block = BetaBernoulli(*rng.gamma(2, 1, (2, 3, 4)))
    x, y = rng.random((12, 4)), rng.integers(0, 3, 12)
    x[0], x[1], x[2, 0] = [0, 1, 0, 0.5], 0, np.nan
    return block.update(block.suffstats(x, one_hot(y, 3))), x, y


def test_shares_have_the_predictive_and_the_cumulants_of_their_likelihood(shares: Any) -> None:
    """E θˣ(1−θ)¹⁻ˣ, and derivatives at 0 of log E [θˣ(1−θ)¹⁻ˣ]ᵗ: `BetaBernoulli` has them for 0 and 1 only."""
    block, x, _ = shares

    def powered(t: Any, x: Any, a: Any, b: Any) -> Any:
        return log_beta(a + t * x, b + t * (1 - x)) - log_beta(a, b)

    check_predictive(block, lambda x, a, b: powered(1, x, a, b), x)
    tables = *block.log_moments(x), block.log_third_cumulant(x)
    for order, table in enumerate(tables, 1):
        want = np.zeros_like(table)
        for i, c, j in np.ndindex(len(x), *block.shape):
            if not np.isnan(x[i, j]):
                cell = [mp.mpf(float(value)) for value in (x[i, j], block.a[c, j], block.b[c, j])]
                want[i, c] += float(mp.diff(lambda t, cell=cell: powered(t, *cell), 0, order))
        np.testing.assert_allclose(table, want, rtol=1e-10, atol=1e-12)
    mean, variance = block.log_moments(x)
    draws = block.log_likelihood(block.sample(np.random.default_rng(1), (20_000,)), x)
    error = draws.std(0) / np.sqrt(len(draws))
    assert (abs(draws.mean(0) - mean) < 5 * error).all()
    np.testing.assert_allclose(draws.var(0), variance, rtol=0.15)  # √(kurtosis / 20,000) is some 0.02
    np.testing.assert_allclose([block.log_cells(row).sum(1) for row in x], block.log_predictive(x), rtol=1e-12)


def test_shares_of_0_and_1_are_yes_and_no(shares: Any, rng: np.random.Generator) -> None:
    block, cells, y = shares
    plain = BetaBernoulli(block.a, block.b)
    x = np.where(np.isnan(cells), np.nan, np.round(cells))
    bytes_ = np.nan_to_num(x).astype(np.uint8)
    for rows in (x, bytes_, sparse.csr_array(bytes_.astype(float))):
        r = one_hot(y, 3, 0.1 + rng.random(12))
        for got, want in zip(_tables(block, rows, r), _tables(plain, rows, r), strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-10, atol=1e-13)


def test_shares_sparse_and_in_jax(shares: Any) -> None:
    block, x, y = shares
    x = np.where((x < 0.4) | np.isnan(x), 0, x)
    r = one_hot(y, 3)
    want = _tables(block, x, r)
    for rows, weights, fields in (
        (sparse.csr_array(x), r, (block.a, block.b)),
        (jnp.asarray(x), jnp.asarray(r.toarray()), (jnp.asarray(block.a), jnp.asarray(block.b))),
    ):
        for got, table in zip(_tables(BetaBernoulli(*fields), rows, weights), want, strict=True):
            # float32 unless JAX is set otherwise: the cubes of tetragammas lose most
            np.testing.assert_allclose(
                got, table, rtol=1e-10 if isinstance(rows, sparse.csr_array) else 1e-4, atol=1e-5
            )


def test_shares_left_out_are_those_of_a_fit_without_them(shares: Any) -> None:
    block, x, y = shares
    w = 0.5 + np.arange(12.0)
    r = one_hot(y, 3, w)
    posterior = block.update(block.suffstats(x, r))
    for rows in (x, sparse.csr_array(np.nan_to_num(x))):
        dense = x if rows is x else np.nan_to_num(x)
        posterior = block.update(block.suffstats(dense, r))
        table = posterior.log_loo(rows, r)
        for i in range(12):
            others = np.delete(np.arange(12), i)
            without = block.update(block.suffstats(dense[others], r[others]))
            np.testing.assert_allclose(table[i], without.log_predictive(dense[[i]])[0], rtol=1e-11)


def _tables(block: BetaBernoulli, x: Any, r: Any) -> tuple[Any, ...]:
    third = block.log_third_cumulant(x)
    return block.log_predictive(x), block.log_loo(x, r), *block.log_moments(x), third
