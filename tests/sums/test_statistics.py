"""Moments where sums of squares have no digits left, and the edges of the monoids."""

import functools
import operator
from fractions import Fraction
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from bayesnb import BernoulliNB, CategoricalNB, OneDependenceNB
from bayesnb.sums.statistics import Counts, Moments, one_hot

from ..laws import assert_same


def exact(x: np.ndarray, w: np.ndarray | None = None) -> tuple[float, float, float]:
    """n, mean and centred sum of squares of one column in rational arithmetic, NaN left out."""
    weights = np.ones(len(x)) if w is None else w
    cells = [(Fraction(float(v)), Fraction(float(u))) for v, u in zip(x, weights, strict=True) if not np.isnan(v)]
    n = sum(u for _, u in cells)
    mean = sum(u * v for v, u in cells) / n
    return float(n), float(mean), float(sum(u * (v - mean) ** 2 for v, u in cells))


@pytest.mark.parametrize(
    ("offset", "spread", "dtype"), [(1e8, 1e-2, "float64"), (1e4, 1.0, "float32")], ids=["float64", "float32"]
)
@pytest.mark.parametrize("how", ["hard", "dense", "jax"])
def test_a_large_offset_costs_no_digits(
    offset: float, spread: float, dtype: str, how: str, rng: np.random.Generator
) -> None:
    """Against rational arithmetic on the very numbers: n exactly, mean and spread to 100 epsilons.

    The bound for ss is 100 epsilons of Σ(x−x̄)², and what a mean off by half an epsilon of the offset would add.
    """
    n = 600
    x, y = rng.normal(offset, spread, (n, 2)).astype(dtype), np.arange(n) % 2
    x[rng.random(x.shape) < 0.1] = np.nan
    r: Any = one_hot(y, 2)
    with jax.enable_x64(dtype == "float64"):
        if how == "dense":
            r = r.toarray().astype(dtype)
        if how == "jax":
            got = jax.tree.map(np.asarray, jax.jit(Moments.of)(jnp.asarray(x), jnp.asarray(r.toarray(), dtype)))
        else:
            got = Moments.of(x, r)
    eps = float(np.finfo(dtype).eps)
    for c, j in np.ndindex(2, 2):
        weight, mean, ss = exact(x[y == c, j])
        assert got.n[c, j] == weight
        assert abs(float(got.mean[c, j]) - mean) <= 0.51 * eps * offset  # the nearest number, but for rounding of it
        assert float(got.ss[c, j]) == pytest.approx(ss, rel=100 * eps)


def test_merging_and_pooling_keep_the_digits(rng: np.random.Generator) -> None:
    x = rng.normal(1e8, 1e-2, (500, 1))
    y = rng.integers(0, 3, 500)
    parts = [Moments.of(x[at], one_hot(y[at], 3)) for at in np.array_split(np.arange(500), 7)]
    merged = parts[0]
    for part in parts[1:]:
        merged = merged + part
    _, mean, ss = exact(x[:, 0])
    for pooled in (merged.pooled(), Moments.of(x, np.ones((500, 1)))):
        assert pooled.n.item() == 500
        assert pooled.mean.item() == pytest.approx(mean, rel=1e-16, abs=2e-8)  # an epsilon of 1e8
        # seven merges move means by an epsilon of 1e8 = 1.5e-8 each, against a spread of 1e-2: 1e-6 to first order
        assert pooled.ss.item() == pytest.approx(ss, rel=1e-6)


@pytest.mark.parametrize("value", [0.1, 1e8 + 0.1, -1e100, 1e-300])
def test_a_constant_column_has_no_spread_at_all(value: float) -> None:
    """Exactly zero, whichever way the rows are split."""
    x = np.full((30, 1), value)
    got = Moments.of(x, one_hot(np.arange(30) % 3, 3))
    assert (got.ss == 0).all() and (got.mean == value).all()
    split = Moments.of(x[:7], np.ones((7, 1))) + Moments.of(x[7:], np.ones((23, 1)))
    assert (split.ss == 0).all() and (split.pooled().ss == 0).all()


def test_a_class_without_weight_is_zero(rng: np.random.Generator) -> None:
    x, r = rng.normal(1e6, 1, (10, 2)), np.tile([1.0, 0.0], (10, 1))
    for weights in (r, sparse.csr_array(r), one_hot(np.zeros(10, int), 2)):
        got = Moments.of(x, weights)
        assert all((leaf[1] == 0).all() for leaf in jax.tree.leaves(got))
        assert_same(got + got.zero(), got, rtol=0, atol=0)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_subtracting_everything_leaves_exact_zeros(dtype: str, rng: np.random.Generator) -> None:
    """Also where the weights do not cancel exactly: thirds, in another order."""
    x, w = rng.normal(1e4, 1, (50, 1)).astype(dtype), (rng.integers(1, 9, (50, 1)) / 3).astype(dtype)
    whole, again = Moments.of(x, w), Moments.of(x[::-1], w[::-1])
    rest = whole - again
    assert all((leaf == 0).all() for leaf in jax.tree.leaves(rest))
    assert rest.n.dtype == dtype


def test_subtracting_rows_that_were_never_there_shows() -> None:
    """The weight goes negative, for the caller to refuse."""
    few, many = Moments.of(np.ones((2, 1)), np.ones((2, 1))), Moments.of(np.ones((5, 1)), np.ones((5, 1)))
    assert (few - many).n.item() == -3
    counts = Counts(np.ones((1, 2)), np.zeros((1, 2)))
    assert ((counts - counts - counts).n == -1).all()


@pytest.mark.parametrize("nb", [BernoulliNB(binarize=None), CategoricalNB(), OneDependenceNB()], ids=repr)
def test_whole_weights_are_forgotten_exactly(nb: Any) -> None:
    X, y, weight = np.array([[1, 1], [1, 1], [0, 0]]), np.array([0, 0, 1]), np.array([4097, 1e8, 1])
    found = clone(nb).fit(X, y, sample_weight=weight).forget(X[[1]], y[[1]], sample_weight=weight[[1]])
    kept = clone(nb).fit(X[[0, 2]], y[[0, 2]], sample_weight=weight[[0, 2]])
    np.testing.assert_array_equal(found.class_count_, kept.class_count_)
    (left,), (expected,) = (one.statistics_.blocks.values() for one in (found, kept))
    np.testing.assert_array_equal(left.n, expected.n)


@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_rounding_of_many_sums_is_within_its_bound(offset: float, rng: np.random.Generator) -> None:
    """Pieces of five rows that drift, against exact sums."""
    x = rng.normal(size=2000) + np.linspace(0, 9, 2000) + offset
    pieces = [Moments.of(part[:, None], one_hot(np.zeros(5, int), 1)) for part in x.reshape(-1, 5)]
    found = functools.reduce(operator.add, pieces)
    error = found.bounded(rows=5, pieces=len(pieces), whole=True).error
    n, mean, ss = exact(x)
    for name, value, want in (("mean", n * found.mean.item(), n * mean), ("ss", found.ss.item(), ss)):
        gap, bound = abs(value - want), 4 * np.sqrt(error[name].item())
        assert gap <= bound <= 1e-9 * want, (name, gap, bound)
