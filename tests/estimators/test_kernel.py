"""KernelNB: its bandwidths and its default prior."""

from typing import Any

import numpy as np
import pytest
import scipy.stats as st
from sklearn.datasets import load_iris

from bayesnb.estimators import KernelNB
from bayesnb.sums.rule_of_thumb import nrd0


@pytest.fixture(scope="module")
def iris() -> Any:
    X, y = load_iris(return_X_y=True)
    return X, np.array(["setosa", "versicolor", "virginica"])[y]


# --- the rule of thumb ----------------------------------------------------------------------------------------------
MPG = """21 21 22.8 21.4 18.7 18.1 14.3 24.4 22.8 19.2 17.8 16.4 17.3 15.2 10.4 10.4 14.7 32.4 30.4 33.9 21.5 15.5 15.2
13.3 19.2 27.3 26 30.4 15.8 19.7 15 21.4"""


def counted(x: Any) -> tuple[np.ndarray, np.ndarray]:
    value, weight = np.unique(np.asarray(x, float), return_counts=True)
    return value, weight.astype(float)


def rule(x: np.ndarray) -> float:
    """R's source of bw.nrd0, line by line; NumPy's default quantile is R's type 7."""
    hi = np.std(x, ddof=1)
    low, high = np.quantile(x, [0.25, 0.75])
    lo = min(hi, (high - low) / 1.34) or hi or abs(x[0]) or 1.0
    return 0.9 * lo * len(x) ** -0.2


def test_rule_of_thumb_is_rs() -> None:
    """R prints bandwidth 2.477 for density(mtcars$mpg), by the quartiles, and 0.2736 for iris$Sepal.Length, by s."""
    mpg, sepal = np.array(MPG.split(), float), load_iris().data[:, 0]
    assert nrd0(*counted(mpg)) == pytest.approx(2.477, abs=5e-4)
    assert nrd0(*counted(sepal)) == pytest.approx(0.2736, abs=5e-5)
    for x in (mpg, sepal, [5.0, 7.0], [-3.0, -3.0], [0.0, 0.0, 0.0], [1.0] * 9 + [2.0], [1.0]):
        x = np.array(x)
        if len(x) > 1:
            assert nrd0(*counted(x)) == pytest.approx(rule(x), rel=1e-12)
        value, weight = counted(x)
        scaled = 1e6 * nrd0(value, weight) if value.any() else 0.9 * len(x) ** -0.2
        assert nrd0(1e6 * value, weight) == pytest.approx(scaled)


# --- bandwidths -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bandwidth", ["nrd0", 0.3])
def test_joint_table_is_scipys_at_the_same_bandwidth(bandwidth, iris):
    """log p(y = c) + Σ_j log of SciPy's kernel density."""
    (X, y), want = iris, []
    new = X[::7] + 0.05
    for label in np.unique(y):
        total = np.log((np.sum(y == label) + 1) / (len(y) + 3))
        for cells, column in zip(X[y == label].T, new.T, strict=True):
            width = rule(cells) if bandwidth == "nrd0" else bandwidth
            total = total + st.gaussian_kde(cells, width / cells.std(ddof=1)).logpdf(column)
        want.append(total)
    for estimate in ("predictive", "mean", "map", "mle"):
        got = KernelNB(bandwidth=bandwidth, estimate=estimate).fit(X, y).predict_joint_log_proba(new)
        np.testing.assert_allclose(got.T, want, rtol=1e-10, atol=1e-10)


def test_default_prior(iris):
    """Centre nrd0, a factor e⁴ either way, and no less than half the smallest gap: 0.05 in data rounded to 0.1."""
    X, y = iris
    block = KernelNB().fit(X, y).prior_.blocks["x"]
    widths = np.array([[rule(cells) for cells in X[y == label].T] for label in np.unique(y)])
    np.testing.assert_allclose(np.exp(block.log_h), np.maximum(widths, 0.05), rtol=1e-6)
    assert (widths < 0.05).any()
    np.testing.assert_allclose(np.exp(block.low), np.maximum(widths * np.exp(-4), 0.05), rtol=1e-6)
    np.testing.assert_allclose(np.exp(block.high), np.maximum(widths, 0.05) * np.exp(4), rtol=1e-6)
    # gaps that rounding leaves are none
    x = np.array([0.1 + 0.2, 0.3, 0.4, 0.5, 0.6, 0.7])[:, None]  # the first two differ by 5e-17
    block = KernelNB().fit(x, np.zeros(6)).prior_.blocks["x"]
    assert block.low[0, 0] == pytest.approx(np.log(0.05))


@pytest.mark.parametrize("bandwidth", ["posterior", "nrd0"])
def test_a_class_with_one_cell_or_none_has_the_width_of_all(bandwidth, iris):
    X, y = iris[0].copy(), iris[1]
    X[y == "setosa", 0] = np.nan
    X[np.flatnonzero(y == "virginica")[1:], 1] = np.nan
    X[:, 3] = np.nan  # in no class
    nb = KernelNB(bandwidth=bandwidth).fit(X, y)
    for estimate in ("mean", "map", "mle", "predictive"):
        assert np.isfinite(nb.set_params(estimate=estimate).predict_log_proba(iris[0])).all()
    width = np.exp(nb.prior_.blocks["x"].log_h)
    assert width[0, 0] == pytest.approx(rule(X[y != "setosa", 0]))
    assert width[2, 1] == pytest.approx(rule(X[~np.isnan(X[:, 1]), 1]))
