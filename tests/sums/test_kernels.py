"""Sums over Gaussian kernels in linear time, against sums kernel by kernel."""

import numpy as np
import pytest
from scipy.special import logsumexp

from bayesnb.sums import rows
from bayesnb.sums.kernels import Cells, log_sums

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
