"""The loop over kernels against the formula."""

import numpy as np
import pytest

from bayesnb import loops
from bayesnb.sums import kernels as sums


def cells(kind: str) -> tuple[np.ndarray, np.ndarray, float]:
    """Distinct values in ascending order, their weights, and a bandwidth that suits them."""
    rng = np.random.default_rng(0)
    value, weight, width = np.sort(rng.normal(size=70)), np.ones(70), 0.3
    if kind == "far from zero":
        value, width = 1e4 + 1e-2 * value, 3e-3
    elif kind == "weights":
        weight = rng.choice([1e-8, 0.3, 1.0, 1.7, 1e8], 70)
    elif kind == "outliers":
        value = np.sort(np.append(value[:-4], [-1e6, 1e3, 1e3 + 0.1, 1e5]))
    elif kind == "rounded":
        value, weight = (part.astype(float) for part in np.unique(np.round(value, 1), return_counts=True))
    elif kind in ("one", "two"):
        value, weight = value[: 1 + (kind == "two")], 2.5 * weight[: 1 + (kind == "two")]
    return value, weight, width


KINDS = ["plain", "far from zero", "weights", "outliers", "rounded", "one", "two"]


def both_forms(f, monkeypatch):
    found = []
    for worth in (1, 1 << 60):
        monkeypatch.setattr(loops, "WORTH", worth)
        with np.errstate(all="raise", under="ignore"):
            found.append(f())
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_densities(kind, monkeypatch):
    """New values, and cells that leave in part or as a whole."""
    rng = np.random.default_rng(1)
    value, weight, width = cells(kind)
    t = np.log(width) + np.linspace(-3, 2, 9)
    new = np.concatenate([value, value[0] + np.ptp(value) * np.linspace(-2, 3, 40), value[0] + np.array([-1e5, 1e5])])
    u = np.sort(np.append(new, value))
    place = np.minimum(np.searchsorted(value, u), len(value) - 1)
    w = np.where(value[place] == u, weight[place] * rng.choice([0.0, 0.2, 0.5, 1.0], len(u)), 0)
    loop, formula = both_forms(lambda: sums.log_density(u, value, weight, t, w), monkeypatch)
    assert loop.shape == (len(t), len(u)) and np.isfinite(loop).all()
    np.testing.assert_allclose(loop, formula, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("kind", KINDS)
def test_leave_one_out_densities(kind, monkeypatch):
    """One unit of weight leaves each cell: both forms against the definition."""
    value, weight, width = cells(kind)
    t, own = np.log(width) + np.linspace(-3, 2, 9), np.minimum(weight, 1)
    loop, formula = both_forms(lambda: sums.log_density(value, value, weight, t, own), monkeypatch)
    np.testing.assert_allclose(loop, formula, rtol=1e-11, atol=1e-11)
    for i in range(len(value)):
        left = weight - own[i] * (np.arange(len(value)) == i)
        a = ((value[i] - value) / np.exp(t)[:, None]) ** 2
        density = np.exp(-0.5 * a) @ left / (np.sqrt(2 * np.pi) * np.exp(t))
        usual = density > 1e-300
        np.testing.assert_allclose(loop[usual, i], np.log(density[usual] / left.sum()), rtol=1e-10, atol=1e-10)


def test_no_number_of_threads_changes_a_bit(monkeypatch):
    from bayesnb import KernelNB

    monkeypatch.setattr(loops, "WORTH", 1)
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 3)), rng.integers(3, size=200)
    X[rng.random(X.shape) < 0.1] = np.nan
    X[y == 2, 1] = np.nan  # a class without a cell
    found = []
    for threads in ("1", "3"):
        monkeypatch.setenv("OMP_NUM_THREADS", threads)
        nb = KernelNB().fit(X, y)
        found.append(
            [nb.predict_log_proba(X), nb.loo(X, y).log_proba, nb.posterior_.blocks["x"].mode()["log_bandwidth"]]
        )
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)


def test_the_exponential_of_the_loops():
    """Within 1 ulp of e^x, and 0 or nearly so far below."""
    from bayesnb.loops.kernels import exp

    x = -np.concatenate([np.geomspace(1e-300, 700, 3000), [0.0]])
    np.testing.assert_allclose([exp(one) for one in x], np.exp(x), rtol=2.3e-16)
    assert exp(-1e300) < 1e-300 and exp(5.0) == 1
