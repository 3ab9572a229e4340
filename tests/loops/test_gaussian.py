"""Loops over normal and Student densities against the densities cell by cell."""

import mpmath as mp
import numpy as np
import pytest

from bayesnb import loops, naive_bayes
from bayesnb.core.special import log_normal, log_student_t
from bayesnb.sums import gaussian as sums
from bayesnb.sums import rows as cuts
from bayesnb.sums.rows import sum_over_features

C, D = 3, 37  # one product of 24 factors and a rest


@pytest.fixture(params=["loop", "formula"])
def form(request, monkeypatch):
    monkeypatch.setattr(loops, "WORTH", 1 if request.param == "loop" else 1 << 60)
    return request.param


def a_case(seed, *, df, missing, far=0.0, unit=1.0):
    rng = np.random.default_rng(seed)
    loc, scale = rng.normal(size=(C, D)) + 2, rng.gamma(3, size=(C, D))
    freedom = {
        "equal": np.full((C, D), 50.0),
        "by class": np.tile(rng.gamma(9, size=(C, 1)) * 10, D),
        "single": 30 + rng.random((C, D)),
        "firm": np.full((C, D), 3e6),
        "firm and single": 3e6 + rng.random((C, D)),
    }[df]
    x = rng.normal(size=(150, D)) * 3 + 2
    x[rng.random(x.shape) < missing] = np.nan
    x[:3] += far
    return x * unit, freedom, loc * unit, scale * unit


@pytest.mark.parametrize("far", [0.0, 1e3, 1e6])
@pytest.mark.parametrize("missing", [0.0, 0.2, 1.0])
@pytest.mark.parametrize("df", ["equal", "by class", "single", "firm", "firm and single"])
def test_student(df, missing, far, form):
    x, freedom, loc, scale = a_case(1, df=df, missing=missing, far=far)
    direct = sum_over_features(lambda x, loc, scale, df: log_student_t(x, df, loc, scale), x, loc, scale, freedom)
    size = sum_over_features(lambda x, loc, scale, df: abs(log_student_t(x, df, loc, scale)), x, loc, scale, freedom)
    found = sums.log_student_sum(x, freedom, loc, scale)
    assert found.shape == (150, C)
    assert (abs(found - direct) <= 1e-14 * size).all()


@pytest.mark.parametrize("far", [0.0, 1e6])
@pytest.mark.parametrize("unit", [1e-90, 1.0, 1e90])
@pytest.mark.parametrize("missing", [0.0, 0.2, 1.0])
def test_normal(missing, unit, far, form):
    x, _, loc, scale = a_case(2, df="equal", missing=missing, unit=unit, far=far)
    direct = sum_over_features(log_normal, x, loc, scale)
    size = sum_over_features(lambda *cell: abs(log_normal(*cell)), x, loc, scale)
    found = sums.log_normal_sum(x, loc, scale)
    assert np.isfinite(found).all()
    assert (abs(found - direct) <= 1e-14 * size).all()


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.int8, ">f8"])
@pytest.mark.parametrize("layout", ["C", "F", "every other row", "read only"])
def test_any_type_and_layout_of_rows(dtype, layout, form):
    rng = np.random.default_rng(3)
    x = np.repeat(rng.integers(-9, 9, size=(40, 5)), 2, axis=0).astype(dtype)
    loc, scale = rng.normal(size=(C, 5)), rng.gamma(3, size=(C, 5))
    direct = sum_over_features(log_normal, x.astype(float), loc, scale)
    if layout == "F":
        x = np.asfortranarray(x)
    elif layout == "every other row":
        x, direct = x[::2], direct[::2]
    else:
        x.flags.writeable = layout == "C"
    np.testing.assert_allclose(sums.log_normal_sum(x, loc, scale), direct, rtol=1e-13)


def test_what_is_compiled_depends_on_the_rows_and_not_on_the_threads(monkeypatch):
    """A table is the same with one thread and with two, and only large ones are summed by loops."""
    rng = np.random.default_rng(4)
    x, loc, scale = rng.normal(size=(4096, 20)), rng.normal(size=(3, 20)), rng.gamma(3, size=(3, 20))
    monkeypatch.setattr(cuts, "_CELLS", 1 << 14)
    monkeypatch.setattr(cuts, "_HALF", 1 << 12)
    monkeypatch.setattr(loops, "WORTH", 6 * x.size * 3)
    calls, looped = [], sums._looped
    monkeypatch.setattr(sums, "_looped", lambda *given: calls.append(1) or looped(*given))

    def table(rows):
        return naive_bayes.by_rows(lambda part: sums.log_student_sum(rows[part], 50 + 0 * loc, loc, scale), {"x": rows})

    found = []
    for threads in ("1", "2"):
        monkeypatch.setenv("OMP_NUM_THREADS", threads)
        found.append(table(x))
        assert len(calls) == 4, threads
        table(x[:-2048])
        assert len(calls) == 4, threads
        calls.clear()
    np.testing.assert_array_equal(*found)


def test_the_logarithm_of_the_loops():
    """Within 2 ε of log(1 + v) to fifty digits, from the least v to the largest, and below 0 for leaving out."""
    from bayesnb.loops.gaussian import log1p

    places = [np.geomspace(5e-324, 1e-300, 50), np.geomspace(1e-300, 1e300, 2000), -np.geomspace(1e-300, 0.99, 500)]
    v = np.concatenate([*places, [np.sqrt(2) - 1, 1.0, 0.5]])
    with mp.workdps(50):
        exact = [float(mp.log1p(mp.mpf(float(one)))) for one in v]
    np.testing.assert_allclose([log1p(one) for one in v], exact, rtol=4.5e-16)
    assert log1p(0.0) == 0
    assert np.isnan(log1p(np.nan))
