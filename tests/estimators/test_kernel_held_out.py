"""KernelNB on unseen rows: leave-one-out against refits, cells far from all others, what calibration promises."""

import math

import numpy as np
import pytest
from scipy.special import logsumexp

from bayesnb import CalibratedClassifierLOO, GaussianNB, MixedNB, compare
from bayesnb.estimators import KernelNB
from bayesnb.estimators._view import ModelView

from ..benchmarks.noise import noise, promise, share_in_sets

HALF_LOG_2PI = 0.5 * math.log(2 * math.pi)


# --- the formulas, without anything of the library --------------------------------------------------------------------


def panels(low: float, high: float, n_panels: int = 50) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and log weights of Gauss–Legendre quadrature on many short panels."""
    place, weight = np.polynomial.legendre.leggauss(12)
    edges = np.linspace(low, high, n_panels + 1)
    half = np.diff(edges)[:, None] / 2
    middle = edges[:-1, None] + half
    return (middle + half * place).ravel(), np.log(half * weight).ravel()


def log_kernel_sums(u: np.ndarray, value: np.ndarray, weight: np.ndarray, t: np.ndarray) -> np.ndarray:
    """log Σ_k w_k exp(−½ (u − v_k)²/h²), (g, q), kernel by kernel; weights (m,) or (q, m)."""
    squared = -0.5 * (u[:, None] - value) ** 2
    with np.errstate(divide="ignore"):
        log_weight = np.log(weight)
    return np.stack([logsumexp(squared * np.exp(-2 * s) + log_weight, axis=-1) for s in t])


def log_product(value: np.ndarray, weight: np.ndarray, t: np.ndarray) -> np.ndarray:
    """Σ_k w_k log f_−k(v_k; eᵗ): one unit leaves each cell, or all of it where that is less."""
    unit = np.minimum(weight, 1)
    others = np.tile(weight, (len(value), 1))
    others[np.diag_indices(len(value))] -= unit
    log_sum = log_kernel_sums(value, value, others, t)
    mass = weight.sum() - unit
    log_mass = np.log(np.where(mass > 0, mass, 1))
    log_f = np.where(np.isneginf(log_sum), 0, log_sum - log_mass - t[:, None] - HALF_LOG_2PI)
    return log_f @ weight


def log_predictive(
    u: np.ndarray, value: np.ndarray, weight: np.ndarray, prior: tuple[float, float, float], n_panels: int = 50
) -> np.ndarray:
    """log of the density at u, averaged over the posterior of the bandwidth under prior (centre, low, high)."""
    centre, low, high = prior
    t, log_weight = panels(low, high, n_panels)
    log_posterior = -0.5 * (t - centre) ** 2 + log_product(value, weight, t) + log_weight
    log_f = log_kernel_sums(u, value, weight, t) - math.log(weight.sum()) - t[:, None] - HALF_LOG_2PI
    return logsumexp(log_posterior[:, None] + log_f, axis=0) - logsumexp(log_posterior)


def prior_of(nb: KernelNB) -> tuple[float, float, float]:
    """Centre and limits of log h, of the first class and feature."""
    block = nb.prior_.blocks["x"]
    return tuple(float(field[0, 0]) for field in (block.log_h, block.low, block.high))


CELLS = {
    "normal": lambda rng, n: rng.normal(size=n),
    "log-normal": lambda rng, n: np.exp(1.5 * rng.normal(size=n)),
    "Cauchy": lambda rng, n: rng.standard_cauchy(n),
    "two clusters": lambda rng, n: np.r_[0.01 * rng.normal(size=n // 2), 100 + rng.normal(size=n - n // 2)],
    "rounded": lambda rng, n: np.round(rng.normal(size=n), 1),
    "copies": lambda rng, n: np.repeat(rng.normal(size=n), 2)[:n],
    "a lone cell": lambda rng, n: np.r_[rng.normal(size=n - 1), 40.0],
}
WEIGHTS = {
    "none": lambda rng, n: None,
    "counts": lambda rng, n: rng.integers(1, 4, n),
    "importance": lambda rng, n: rng.gamma(0.5, size=n) + 1e-3,
}


@pytest.mark.filterwarnings("ignore:`sample_weight` has")
@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("cells", CELLS)
def test_a_row_left_out_is_predicted_by_all_others(cells: str, weights: str) -> None:
    """The prior stays; the row leaves the kernels and every factor of the bandwidth's posterior. 1e-8 nats a row."""
    rng = np.random.default_rng([*CELLS].index(cells) + 10 * [*WEIGHTS].index(weights))
    x = CELLS[cells](rng, 24)
    w = WEIGHTS[weights](rng, 24)
    nb = KernelNB().fit(x[:, None], np.zeros(24), w)
    loo = nb.loo(x[:, None], np.zeros(24), w)
    value, index = np.unique(x, return_inverse=True)
    values = np.ones(24) if w is None else w.astype(float)
    leaving = values if weights == "importance" else np.ones(24)
    for i in (0, 7, 23):
        remaining = np.bincount(index, values)
        remaining[index[i]] -= leaving[i]
        stays = remaining > 1e-12
        want = log_predictive(x[[i]], value[stays], remaining[stays], prior_of(nb))[0]
        assert loo.by_block["x"][i, 0] == pytest.approx(want, abs=1e-8)


@pytest.mark.parametrize("cells", ["normal", "log-normal", "two clusters", "copies"])
def test_cells_far_from_all_others(cells: str) -> None:
    """A wider kernel is improbable but reaches further: the average is taken where its integrand is. 1e-9 nats."""
    rng = np.random.default_rng(5)
    x = CELLS[cells](rng, 60)
    nb = KernelNB().fit(x[:, None], np.zeros(60))
    value, weight = np.unique(x, return_counts=True)
    far = value[-1] + x.std() * np.array([0.0, 1, 3, 6, 10, 30, 100])
    want = log_predictive(far, value, weight.astype(float), prior_of(nb), 150)
    got = nb.predict_part_log_likelihood(far[:, None])["x"][:, 0]
    np.testing.assert_allclose(got, want, rtol=0, atol=1e-9)


def test_a_cell_between_two_peaks_of_the_integrand() -> None:
    """Far from a narrow cluster and from a wide one, kernels of two widths reach the cell."""
    rng = np.random.default_rng(0)
    x = np.r_[0.01 * rng.normal(size=40), 100 + rng.normal(size=40)]
    nb = KernelNB().fit(x[:, None], np.zeros(80))
    new = np.array([0.5, 2.0, 10.0, 30.0, 50.0, 80.0, 90.0])
    want = log_predictive(new, *(part.astype(float) for part in np.unique(x, return_counts=True)), prior_of(nb), 150)
    got = nb.predict_part_log_likelihood(new[:, None])["x"][:, 0]
    np.testing.assert_allclose(got, want, rtol=0, atol=1e-9)


@pytest.mark.parametrize("prior", ["kept", "refit"])
def test_leave_one_out_of_noise_is_refits(prior: str) -> None:
    """Small errors of every bandwidth add up over columns: 60 of them promised a log loss of 0.4, refits have 4.9."""
    X, y = noise(3, 50, 12)
    nb = KernelNB().fit(X, y)
    loo = nb.loo(X, y, prior=prior)
    for i in (0, 49):
        others = np.arange(50) != i
        if prior == "refit":
            want = KernelNB().fit(X[others], y[others]).predict_part_log_likelihood(X[[i]])["x"][0]
        else:
            block = nb.prior_.blocks["x"]
            without = block.update(block.suffstats(X[others], np.eye(2)[y[others]]))
            want = without.log_predictive(X[[i]])[0]
        np.testing.assert_allclose(loo.by_block["x"][i], want, rtol=0, atol=1e-8)
    assert loo.log_loss > 1
    assert loo.accuracy < 0.6


# --- the prior without the row ----------------------------------------------------------------------------------------


def two_columns(cells: str) -> tuple[np.ndarray, np.ndarray]:
    """24 rows of two classes; the second column lacks cells, and class 1 has a single value in it."""
    rng = np.random.default_rng([*CELLS].index(cells))
    X = np.column_stack([CELLS[cells](rng, 24), CELLS[cells](rng, 24)])
    y = np.arange(24) % 2
    X[::7, 1] = np.nan
    X[y == 1, 1] = X[1, 1]
    return X, y


@pytest.mark.parametrize("bandwidth", ["posterior", "nrd0"])
@pytest.mark.parametrize("cells", CELLS)
def test_a_prior_without_the_row_is_a_refit(cells: str, bandwidth: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """`prior="refit"`: the row leaves the rule of thumb and the limits of the bandwidth too, without a fit."""
    X, y = two_columns(cells)
    nb = KernelNB(bandwidth=bandwidth).fit(X, y)
    want = {}
    for i in (0, 1, 23):
        others = np.arange(24) != i
        fresh = KernelNB(bandwidth=bandwidth).fit(X[others], y[others])
        want[i] = fresh.predict_part_log_likelihood(X[[i]])["x"][0]
    monkeypatch.setattr(ModelView, "with_statistics", None)  # which refits use
    got = nb.loo(X, y, prior="refit").by_block["x"]
    for i, row in want.items():
        np.testing.assert_allclose(got[i], row, rtol=0, atol=1e-8)


def test_parts_of_kernels_leave_their_priors_too() -> None:
    """A mixed model does so where all its scaled parts can, also parts of one class; beside others it keeps them."""
    X, y = two_columns("normal")
    X[:, 1] = np.arange(24) % 5
    kernels = {0: KernelNB(), 1: KernelNB(bandwidth="nrd0")}
    nb = MixedNB([("all", KernelNB(), [0]), ("each", kernels, [1])]).fit(X, y)
    assert nb.model_.loo_prior == "refit"
    got = nb.loo(X, y, prior="refit").log_joint
    others = np.arange(24) != 5
    want = MixedNB([("all", KernelNB(), [0]), ("each", kernels, [1])]).fit(X[others], y[others])
    np.testing.assert_allclose(got[5], want.predict_joint_log_proba(X[[5]])[0], rtol=0, atol=1e-8)
    beside = MixedNB([("all", KernelNB(), [0]), ("normal", GaussianNB(), [1])]).fit(X, y)
    assert beside.model_.loo_prior == "kept"


def test_analyses_leave_the_prior_too() -> None:
    X, y = noise(0, 30, 2)
    nb = KernelNB().fit(X, y)
    want = nb.loo(X, y, prior="refit").log_loss
    assert want != nb.loo(X, y).log_loss
    assert compare({"kernel": nb}, X, y, fitted=True).loo["kernel"].log_loss == want
    calibrated = CalibratedClassifierLOO(KernelNB()).fit(X, y)
    assert calibrated.loo_log_loss_["plain"] == pytest.approx(want, abs=1e-9)
    assert compare({"map": calibrated}, X, y, fitted=True).loo["map"].prior == "refit"


@pytest.mark.slow
def test_what_calibration_promises_of_noise_holds_on_new_rows() -> None:
    """`tests.benchmarks.noise` on a few narrow tables: a log loss within 0.02 of new rows'."""
    promises = [promise(seed, 8) for seed in range(5)]
    assert np.mean([table.new - table.promised for table in promises]) <= 0.02


@pytest.mark.slow
def test_sets_of_noise_hold_new_rows() -> None:
    """Sets of 90 % hold 88 %, over two tables of `tests.benchmarks.noise` with few columns."""
    assert np.mean([share_in_sets(seed, 4) for seed in range(2)]) >= 0.88
