"""The matrix products against the densities cell by cell."""

import mpmath as mp
import numpy as np
import pytest

from bayesnb import _gaussian_sums as sums
from bayesnb import _student_kernels, naive_bayes
from bayesnb._rows import over_classes
from bayesnb._special import log_normal, log_student_t

C, D = 3, 37  # two groups of sixteen columns and a rest


def a_case(seed, *, df, missing, far=0.0, unit=1.0):
    rng = np.random.default_rng(seed)
    loc, scale = rng.normal(size=(C, D)) + 2, rng.gamma(3, size=(C, D))
    freedom = {
        "equal": np.full((C, D), 50.0),
        "by class": np.tile(rng.gamma(9, size=(C, 1)) * 10, D),
        "single": 30 + rng.random((C, D)),
        "both": np.where(np.arange(D) % 2, 40.0, 30 + rng.random((C, D))),
        "firm": np.full((C, D), 3e6),
        "firm and single": 3e6 + rng.random((C, D)),
    }[df]
    x = rng.normal(size=(150, D)) * 3 + 2
    x[rng.random(x.shape) < missing] = np.nan
    x[:3] += far
    return x * unit, freedom, loc * unit, scale * unit


def no_kernel(*_):
    raise AssertionError("compiled")


@pytest.mark.parametrize("worth", ["compiled", "NumPy"])
@pytest.mark.parametrize("far", [0.0, 1e3, 1e12])
@pytest.mark.parametrize("missing", [0.0, 0.2, 1.0])
@pytest.mark.parametrize("df", ["equal", "by class", "single", "both", "firm", "firm and single"])
def test_student(df, missing, far, worth, monkeypatch):
    x, freedom, loc, scale = a_case(1, df=df, missing=missing, far=far)
    if worth == "compiled":
        monkeypatch.setattr(sums, "_WORTH", 1)
    else:
        monkeypatch.setattr(sums, "log_sums", no_kernel)
    direct = over_classes(lambda x, loc, scale, df: log_student_t(x, df, loc, scale), x, loc, scale, freedom)
    size = over_classes(lambda x, loc, scale, df: abs(log_student_t(x, df, loc, scale)), x, loc, scale, freedom)
    found = sums.log_student_sum(x, freedom, loc, scale)
    assert found.shape == (150, C)
    assert (abs(found - direct) <= 1e-13 * size + 1e-12).all()


@pytest.mark.parametrize(("n", "d", "c"), [(1, 1, 1), (3000, 300, 2), (700, 16, 5), (130, 17, 40)])
def test_compiled_products(n, d, c, monkeypatch):
    """Any shape: whole and broken blocks of rows, one logarithm and several."""
    rng = np.random.default_rng(3)
    x, loc, scale, df = rng.normal(size=(n, d)), rng.normal(size=(c, d)), rng.gamma(3, size=(c, d)), 9 + np.arange(c)
    x[n // 2] *= 10
    monkeypatch.setattr(_student_kernels, "_CALL", 1 << 18)
    weights, level = np.tile(-0.5 * df[:, None], d), -rng.gamma(3, size=(c, d))  # of one sign: nothing cancels

    def exact():
        return np.stack([level[k] + weights[k] * np.log1p(((x - loc[k]) / scale[k]) ** 2) for k in range(c)], 1)

    def check(one):
        found = _student_kernels.log_sums(x, 1 / scale, loc, weights, level, one)
        np.testing.assert_allclose(found, np.nansum(exact(), 2), rtol=1e-13)

    check(True)
    weights *= rng.random((c, d)) + 1
    x = np.where(rng.random((n, d)) < 0.1, np.nan, x)
    x[0, 0] = 1.0
    largest = np.nanmax(abs(x[:, None] - loc) / scale)
    for v in (1e-6, 1 / 33, 1 / 31, 0.24):
        scale = scale * largest / np.sqrt(v)
        largest = np.sqrt(v)
        check(False)
    assert np.isnan(_student_kernels.log_sums(x, 1.1 / scale, loc, weights, level, False)).all()


def test_what_is_compiled_depends_on_the_rows_and_not_on_the_threads(monkeypatch):
    """A table is the same with one thread and with two, and large ones are compiled."""
    rng = np.random.default_rng(4)
    x, loc, scale = rng.normal(size=(4096, 20)), rng.normal(size=(3, 20)), rng.gamma(3, size=(3, 20))
    monkeypatch.setattr(naive_bayes, "_CELLS", 1 << 14)
    monkeypatch.setattr(sums, "_WORTH", x.size * 3)
    calls, compiled = [], sums.log_sums
    monkeypatch.setattr(sums, "log_sums", lambda *given: calls.append(1) or compiled(*given))

    def table(rows):
        return naive_bayes.by_rows(lambda part: sums.log_student_sum(rows[part], 50 + 0 * loc, loc, scale), {"x": rows})

    found = []
    for threads in ("1", "2"):
        monkeypatch.setenv("OMP_NUM_THREADS", threads)
        found.append(table(x))
        assert len(calls) == 4, threads
        table(x[:-1024])
        assert len(calls) == 4, threads
        calls.clear()
    np.testing.assert_array_equal(*found)


@pytest.mark.parametrize("unit", [1e-90, 1.0, 1e90])
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_normal(missing, unit):
    x, _, loc, scale = a_case(2, df="equal", missing=missing, unit=unit)
    direct = over_classes(log_normal, x, loc, scale)
    np.testing.assert_allclose(sums.log_normal_sum(x, loc, scale), direct, rtol=1e-12, atol=1e-11)


def test_logarithm_near_one():
    """Within 2 ε of log(1 + v) to fifty digits, on both sides of the place where the series ends."""
    for v in (np.geomspace(1e-300, sums._SMALL, 500), np.geomspace(1e-3, 1e3, 50)):
        with mp.workdps(50):
            exact = [float(mp.log1p(mp.mpf(one))) for one in v]
        np.testing.assert_allclose(sums._log1p(v), exact, rtol=4.5e-16)
    assert sums._log1p(np.zeros(1)) == 0
