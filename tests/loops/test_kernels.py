"""Loops over kernels against the formulas."""

import numpy as np
import pytest

from bayesnb import loops
from bayesnb.sums import kernels as sums

WIDE = (-np.inf, np.inf)


def cells(kind: str) -> tuple[np.ndarray, np.ndarray, float]:
    """Distinct values in ascending order, their weights, and a bandwidth that suits them."""
    rng = np.random.default_rng(0)
    value, weight, width = np.sort(rng.normal(size=70)), np.ones(70), 0.3
    if kind == "far from zero":
        value, width = 1e8 + 1e-2 * value, 3e-3
    elif kind == "weights":
        weight = rng.choice([0.3, 1.0, 1.7, 5.0], 70)
    elif kind == "huge weights":
        weight = rng.choice([1e-3, 1.0, 1e100], 70, p=[0.4, 0.58, 0.02])
    elif kind == "outliers":
        value = np.sort(np.append(value[:-4], [-1e6, 1e3, 1e3 + 0.1, 1e12]))
    elif kind == "pairs":  # each cell is most of the kernels around another
        value = np.sort(np.append(np.arange(35) * 40.0, np.arange(35) * 40.0 + 1))
    elif kind == "rounded":
        value, weight = (part.astype(float) for part in np.unique(np.round(value, 1), return_counts=True))
    elif kind in ("one", "two"):
        value, weight = value[: 1 + (kind == "two")], 2.5 * weight[: 1 + (kind == "two")]
    return value, weight, width


KINDS = ["plain", "far from zero", "weights", "huge weights", "outliers", "pairs", "rounded", "one", "two"]
BOUNDS = {
    "none": lambda v, h: None,
    "below": lambda v, h: (v[0] - h, np.inf),
    "above": lambda v, h: (-np.inf, v[-1]),
    "both": lambda v, h: (v[0], v[-1] + h),
    "close": lambda v, h: (v[0] - h / 9, v[-1] + h / 9),
}


QUICK = [("outliers", "none"), ("weights", "below"), ("one", "close")]


@pytest.fixture(
    params=[
        pytest.param((kind, bound), marks=() if (kind, bound) in QUICK else pytest.mark.slow, id=f"{kind}-{bound}")
        for kind in KINDS
        for bound in BOUNDS
        if bound in ("none", "close") or (kind, bound) in QUICK or kind == "pairs"
    ]
)
def piece(request):
    """Cells, the logarithm of their scale, bandwidths, and bounds."""
    kind, bound = request.param
    value, weight, width = cells(kind)
    bounds = BOUNDS[bound](value, width)
    t = np.log(width) + np.linspace(-3, 2, 9)
    if bounds is not None and np.isfinite(bounds).all():
        t = np.minimum(t, np.log(sums.WIDEST * (bounds[1] - bounds[0])))
    return value, weight, np.log(width), t, bounds


def both_forms(f, monkeypatch):
    found = []
    for worth in (1, 1 << 60):
        monkeypatch.setattr(loops, "WORTH", worth)
        with np.errstate(all="raise", under="ignore"):
            found.append(f())
    return found


def assert_close(one, other, size=0.0):
    assert np.isfinite(one).all()
    assert (abs(one - other) <= 1e-12 * np.maximum(abs(other), 1 + size)).all(), abs(one - other).max()


def test_densities(piece, monkeypatch):
    value, weight, log_scale, t, bounds = piece
    low, high = bounds or WIDE
    new = np.concatenate([value, value[0] + np.ptp(value) * np.linspace(-2, 3, 40), value[0] + np.array([-1e9, 1e300])])
    u = np.sort(np.clip(new, low, high))
    assert_close(*both_forms(lambda: sums.log_density(u, value, weight, log_scale, t, bounds), monkeypatch))


def test_leave_one_out_products_and_their_slopes(piece, monkeypatch):
    value, weight, log_scale, t, bounds = piece
    limits = None if bounds is None else tuple(np.array([bound]) for bound in bounds)
    args = value[None], weight[None], np.array([log_scale]), t[:, None], limits
    for order in (0, 1, 2):
        loop, formula = both_forms(lambda order=order: sums.products(*args, order=order), monkeypatch)
        assert len(loop) == order + 1
        for one, other in zip(loop, formula, strict=True):
            assert_close(one, other, weight.sum())


@pytest.mark.parametrize("leaving", ["whole cells", "parts of cells", "some"])
def test_products_without_a_cell(piece, leaving, monkeypatch):
    value, weight, log_scale, t, bounds = piece
    rng = np.random.default_rng(1)
    at, w = np.arange(len(value)), weight
    if leaving == "parts of cells":
        at = np.sort(rng.integers(len(value), size=50))
        w = weight[at] * rng.choice([0.2, 0.5, 1.0], 50)
    elif leaving == "some":
        at, w = at[::3], np.minimum(weight, 1)[::3]
    loop, formula = both_forms(lambda: sums.products_without(value, weight, log_scale, t, at, w, bounds), monkeypatch)
    size = [weight.sum() * abs(t).max(), 0]
    for one, other, scale in zip(loop, formula, size, strict=True):
        assert_close(one, other, scale)
    for q in range(0, len(at), 7):  # and the definition
        left = weight.copy()
        left[at[q]] = sums.cells_left(weight, at[[q]], w[[q]])[0]
        there = left > 0
        if left.sum() <= 1e-12 * weight.sum():
            continue
        rest, mass = (value[there], left[there]), left[there]
        limits = None if bounds is None else tuple(np.array([bound]) for bound in bounds)
        product = sums.products(rest[0][None], mass[None], np.array([log_scale]), t[:, None], limits)[0][:, 0]
        assert_close(loop[0][:, q], product, 100 * weight.sum())
        log_f = sums.log_density(value[at[[q]]], *rest, log_scale, t, bounds)[:, 0]
        assert_close(loop[1][:, q], log_f)
    only = sums.log_density_without(value, weight, log_scale, t, at, w, bounds)
    assert_close(only, loop[1])


def test_no_number_of_threads_changes_a_bit(monkeypatch):
    from bayesnb import KernelNB

    monkeypatch.setattr(loops, "WORTH", 1)
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 3)), rng.integers(3, size=200)
    X[rng.random(X.shape) < 0.1] = np.nan
    X[y == 2, 1] = np.nan  # a class without a cell
    X = np.sort(X, 0)
    found = []
    for threads in ("1", "3"):
        monkeypatch.setenv("OMP_NUM_THREADS", threads)
        nb = KernelNB(bounds=(-9, None)).fit(X, y)
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
