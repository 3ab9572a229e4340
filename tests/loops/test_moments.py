"""Moments by a loop against those by the formula, in the cases that cost digits."""

import numpy as np
import pytest

from bayesnb import loops
from bayesnb.statistics import Moments, one_hot


def both(x, y, c, monkeypatch, w=None):
    r = one_hot(y, c, w)
    monkeypatch.setattr(loops, "WORTH", 1)
    loop = Moments.of(x, r)
    monkeypatch.setattr(loops, "WORTH", 1 << 60)
    return loop, Moments.of(x.astype(float), r)


def check(loop, formula, rtol=1e-12):
    scale = np.sqrt(formula.ss / np.where(formula.n > 0, formula.n, 1)) + 1e-15 * abs(formula.mean)
    np.testing.assert_allclose(loop.n, formula.n, rtol=1e-14)
    assert (abs(loop.mean - formula.mean) <= rtol * scale + 1e-300).all()
    np.testing.assert_allclose(loop.ss, formula.ss, rtol=rtol, atol=1e-320)  # squares below 1e-308 are rounded more


CASES = {
    "plain": lambda rng, z: z,
    "large offset": lambda rng, z: 1e8 + 1e-2 * z,
    "drifting": lambda rng, z: z + np.linspace(0, 1e4, len(z))[:, None],
    "first row far": lambda rng, z: np.vstack([z[:1] + 1e6, z[1:]]),
    "gaps": lambda rng, z: np.where(rng.random(z.shape) < 0.3, np.nan, 5 + z),
    "a gap in the last row": lambda rng, z: np.vstack([z[:-1], np.full((1, z.shape[1]), np.nan)]),
    "no cell at all": lambda rng, z: np.full(z.shape, np.nan),
    "zeros of both signs": lambda rng, z: np.where(z > 0, 0.0, -0.0),
    "subnormal": lambda rng, z: 1e-160 * z,
    "large": lambda rng, z: 1e150 * z,
    "whole": lambda rng, z: np.round(z).astype(np.int64),
    "float32": lambda rng, z: (1000 + z).astype(np.float32),
}


@pytest.mark.parametrize("order", ["mixed", "sorted"])
@pytest.mark.parametrize("case", CASES)
def test_hard_cases(case, order, rng, monkeypatch):
    y = rng.integers(4, size=2000)
    y[y == 3] = 4  # no row of class 3
    x = CASES[case](rng, rng.normal(size=(2000, 6)))
    loop, formula = both(x, np.sort(y) if order == "sorted" else y, 5, monkeypatch)
    check(loop, formula)


@pytest.mark.parametrize(("n", "d", "c"), [(1, 1, 1), (1, 7, 3), (50, 2, 10_000), (3, 100_000, 2)])
def test_shapes(n, d, c, rng, monkeypatch):
    check(*both(rng.normal(size=(n, d)), rng.integers(c, size=n), c, monkeypatch), rtol=1e-11)


@pytest.mark.parametrize("kind", ["random", "zeros", "huge"])
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_weights(kind, missing, rng, monkeypatch):
    w = {"random": rng.random(500), "zeros": rng.integers(0, 2, 500) * 1.0, "huge": rng.random(500) * 1e100}[kind]
    x = rng.normal(size=(500, 6))
    x[rng.random(x.shape) < missing] = np.nan
    check(*both(x, rng.integers(3, size=500), 3, monkeypatch, w))


@pytest.mark.parametrize("value", [0.1, 1e8 + 0.1, -1e-300])
def test_a_constant_column_has_no_spread_at_all(value, monkeypatch):
    loop, _ = both(np.full((777, 2), value), np.arange(777) % 3, 3, monkeypatch)
    np.testing.assert_array_equal(loop.ss, 0)
    np.testing.assert_array_equal(loop.mean, value)


@pytest.mark.slow
def test_two_million_float32_rows(monkeypatch):
    x = np.random.default_rng(0).normal(1000, 1, (2_000_000, 1)).astype(np.float32)
    check(*both(x, np.zeros(len(x), int), 1, monkeypatch))


@pytest.mark.parametrize("cell", [np.inf, -np.inf])
def test_an_infinite_cell_shows(cell, rng, monkeypatch):
    x = rng.normal(size=(100, 3))
    x[60, 1], x[61, 1] = cell, -cell
    with np.errstate(invalid="ignore"):
        loop, _ = both(x, np.zeros(100, int), 1, monkeypatch)
    assert not np.isfinite(loop.mean[0, 1])
