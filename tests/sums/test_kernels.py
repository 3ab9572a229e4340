"""Sums over Gaussian kernels in linear time, against sums kernel by kernel."""

import numpy as np
import pytest
from scipy.special import logsumexp

from bayesnb.sums import rows
from bayesnb.sums.kernels import Cells, change_of_other_factors, log_sums
from bayesnb.sums.rule_of_thumb import RuleOfThumb, nrd0

CELLS = {
    "normal": lambda rng, n: rng.normal(size=n),
    "log-normal": lambda rng, n: np.exp(2 * rng.normal(size=n)),
    "Cauchy": lambda rng, n: rng.standard_cauchy(n),
    "clusters": lambda rng, n: rng.choice([0.0, 1.0, 100.0], n) + 1e-3 * rng.normal(size=n),
    "lone cells": lambda rng, n: np.r_[rng.normal(size=n - 3), -500.0, 60.0, 1e4],
}


@pytest.mark.parametrize("weights", ["one", "wide"])
@pytest.mark.parametrize("cells", CELLS)
def test_sums_in_linear_time_have_ten_digits(cells: str, weights: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Relative error 3e-11, from far narrower to far wider kernels than the gaps; the cell's own kernel may leave."""
    monkeypatch.setattr(rows, "WORTH", 0)
    rng = np.random.default_rng([*CELLS].index(cells))
    value = np.unique(CELLS[cells](rng, 400))
    weight = np.ones(len(value)) if weights == "one" else 10 ** rng.uniform(-8, 8, len(value))
    new = np.sort(np.r_[value[::3], value[0] - 3, rng.uniform(value[0], value[-1], 50), value[-1] + 3])
    for h in np.quantile(np.diff(value), 0.5) * np.array([0.3, 10, 300, 3000]):
        for u, leaving in ((value, weight), (new, np.zeros(len(new)))):
            others = np.where(value == u[:, None], (weight - leaving) if u is value else weight, weight)
            with np.errstate(divide="ignore"):
                want = logsumexp(-0.5 * ((u[:, None] - value) / h) ** 2 + np.log(others), axis=1)
            got = log_sums(u, leaving, Cells(value, weight), np.array([h]))[0]
            np.testing.assert_allclose(got, want, rtol=1e-13, atol=3e-11)


def test_numpy_and_compiled_sums_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    if not rows.available():
        pytest.skip("needs numba")
    rng = np.random.default_rng(0)
    cells = Cells(np.sort(rng.normal(size=200)), rng.gamma(1, size=200))
    h = np.array([0.01, 0.1, 1.0])
    sums = []
    for work in (0, 1 << 60):
        monkeypatch.setattr(rows, "WORTH", work)
        sums.append(log_sums(cells.value, np.minimum(cells.weight, 1), cells, h))
    np.testing.assert_allclose(*sums, rtol=1e-13, atol=3e-11)


@pytest.mark.parametrize("weights", ["one", "counts", "importance"])
@pytest.mark.parametrize("cells", ["normal", "log-normal", "Cauchy"])
def test_what_a_departure_changes_at_other_cells(cells: str, weights: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Series, products and single pairs of the compiled loop, against the sums with and without the row."""
    if not rows.available():
        pytest.skip("needs numba")
    monkeypatch.setattr(rows, "WORTH", 0)
    rng = np.random.default_rng([*CELLS].index(cells))
    value = np.unique(CELLS[cells](rng, 150))
    draws = {
        "one": np.ones(150),
        "counts": rng.integers(1, 4, 150) * 1.0,
        "importance": rng.gamma(0.5, size=150) + 1e-3,
    }
    weight = draws[weights]
    unit = np.minimum(weight, 1)
    leaving_cells = np.array([0, 3, 70, 149])
    for h in (0.01, 0.1, 1.0, 10.0):
        squared = -0.5 * ((value[:, None] - value) / h) ** 2
        log_a = log_sums_of(squared, np.tile(weight, (150, 1)) - np.diag(unit))
        changes = []
        for i in leaving_cells:
            others = np.tile(weight, (150, 1)) - np.diag(unit)
            others[:, i] -= unit[i]
            terms = weight * (log_sums_of(squared, others) - log_a)
            terms[i] = 0
            changes.append(terms.sum())
        got = change_of_other_factors(
            leaving_cells, unit[leaving_cells], Cells(value, weight), log_a[None], np.array([h])
        )
        np.testing.assert_allclose(got[0], changes, rtol=1e-10, atol=1e-10)


def log_sums_of(squared: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """log Σ_k w_k exp(squared_k) of each row; weights that are rounding are none."""
    with np.errstate(divide="ignore"):
        return logsumexp(squared + np.log(np.where(weight > 1e-12, weight, 0)), axis=1)


@pytest.mark.parametrize("kind", ["normal", "rounded", "outlier", "two values"])
def test_rule_of_thumb_and_gap_without_each_row(kind: str) -> None:
    rng = np.random.default_rng(0)
    draws = {
        "normal": rng.normal(size=20),
        "rounded": rng.normal(size=20).round(1),
        "outlier": np.append(rng.normal(size=19), 1e7),
        "two values": np.repeat([2.0, 5.0], [19, 1]),
    }
    x = draws[kind]
    weight_of_row = rng.choice([0.25, 1.0, 3.0], 20)
    value, index = np.unique(x, return_inverse=True)
    weight = np.bincount(index, weight_of_row)
    cells = Cells(value, weight)
    got = RuleOfThumb(is_known=True).without(cells, cells, x, weight_of_row, weight_of_row).centre
    low = RuleOfThumb().without(cells, cells, x, weight_of_row, weight_of_row).low
    for i in range(20):
        remaining = weight - weight_of_row[i] * (value == x[i])
        rest = Cells(value[remaining > 1e-9], remaining[remaining > 1e-9])
        width = nrd0(*rest)
        half_gap = np.diff(rest.value).min(initial=np.inf) / 2 if len(rest.value) > 1 else 0.0
        assert got[i] == pytest.approx(np.log(width), abs=1e-10)
        centre = np.log(max(width, half_gap))
        with np.errstate(divide="ignore"):
            assert low[i] == pytest.approx(max(centre - 4, np.log(half_gap)), abs=1e-10)
