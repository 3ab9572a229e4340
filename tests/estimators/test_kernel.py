"""KernelNB: its bandwidths, its default prior, its errors, and that memory and time stay bounded."""

import tracemalloc
import warnings
from typing import Any

import numpy as np
import pytest
import scipy.stats as st
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris
from sklearn.metrics import log_loss

from bayesnb.estimators import GaussianNB, KernelNB
from bayesnb.estimators.kernel import nrd0


@pytest.fixture(scope="module")
def iris() -> Any:
    X, y = load_iris(return_X_y=True)
    return X, np.array(["setosa", "versicolor", "virginica"])[y]


def kde_table(X: np.ndarray, y: np.ndarray, new: np.ndarray, width: Any) -> np.ndarray:
    """log p(y = c) + Σ_j log of SciPy's kernel density with bandwidths width(cells)."""
    columns = []
    for label in np.unique(y):
        rows = X[y == label]
        parts = [st.gaussian_kde(cells, width(cells) / cells.std(ddof=1)) for cells in rows.T]
        table = sum(kde.logpdf(column) for kde, column in zip(parts, new.T, strict=True))
        columns.append(table + np.log((len(rows) + 1) / (len(y) + len(np.unique(y)))))
    return np.stack(columns, 1)


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
    from sklearn.datasets import load_iris

    mpg, sepal = np.array(MPG.split(), float), load_iris().data[:, 0]
    assert nrd0(*counted(mpg)) == pytest.approx(2.477, abs=5e-4)
    assert nrd0(*counted(sepal)) == pytest.approx(0.2736, abs=5e-5)
    for x in (mpg, sepal, [5.0, 7.0], [-3.0, -3.0], [0.0, 0.0, 0.0], [1.0] * 9 + [2.0], [1.0]):
        x = np.array(x)
        if len(x) > 1:
            assert nrd0(*counted(x)) == pytest.approx(rule(x), rel=1e-12)
        value, weight = counted(x)
        assert nrd0(1e200 * value, weight) == pytest.approx(
            1e200 * nrd0(value, weight) if value.any() else 0.9 * len(x) ** -0.2
        )


def test_rule_of_thumb_of_random_repetitions(rng: np.random.Generator) -> None:
    for n in range(2, 40):
        x = np.round(rng.normal(size=n), 1)
        assert nrd0(*counted(x)) == pytest.approx(rule(x), rel=1e-12)


# --- bandwidths -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bandwidth", ["nrd0", 0.3])
def test_joint_table_is_scipys_at_the_same_bandwidth(bandwidth, iris):
    X, y = iris
    rule_or_number = rule if bandwidth == "nrd0" else lambda cells: 0.3
    new = X[::7] + 0.05
    want = kde_table(X, y, new, rule_or_number)
    for estimate in ("predictive", "mean", "map", "mle"):
        got = KernelNB(bandwidth=bandwidth, estimate=estimate).fit(X, y).predict_joint_log_proba(new)
        np.testing.assert_allclose(got, want, rtol=1e-10, atol=1e-10)


def test_bandwidths_a_feature_and_a_class(iris):
    X, y = iris
    per_cell = np.arange(1, 13).reshape(3, 4) / 10
    got = KernelNB(bandwidth=per_cell).fit(X, y).posterior_.blocks["x"]
    np.testing.assert_allclose(np.exp(got.log_h), per_cell)
    per_feature = KernelNB(bandwidth=per_cell[0]).fit(X, y).posterior_.blocks["x"]
    np.testing.assert_allclose(np.exp(per_feature.log_h), np.tile(per_cell[0], (3, 1)))


def test_plug_in_estimates_are_those_of_the_bandwidth(iris):
    X, y = iris
    nb = KernelNB().fit(X, y)
    block, new = nb.posterior_.blocks["x"], X[::7] + 0.05
    thetas = {"mean": block.mean(), "map": block.mode(), "mle": nb.prior_.blocks["x"].mle(block.cells)}
    for estimate, theta in thetas.items():
        widths = iter(np.exp(theta["log_bandwidth"]).ravel())
        want = kde_table(X, y, new, lambda _, widths=widths: next(widths))
        np.testing.assert_allclose(nb.set_params(estimate=estimate).predict_joint_log_proba(new), want, rtol=1e-9)


def test_default_prior(iris):
    """Centre nrd0, a factor e⁴ either way, and no less than half the smallest gap: 0.05 in data rounded to 0.1."""
    X, y = iris
    block = KernelNB().fit(X, y).prior_.blocks["x"]
    widths = np.array([[rule(cells) for cells in X[y == label].T] for label in np.unique(y)])
    np.testing.assert_allclose(np.exp(block.log_h), np.maximum(widths, 0.05), rtol=1e-6)
    assert (widths < 0.05).any()
    np.testing.assert_allclose(np.exp(block.low), np.maximum(widths * np.exp(-4), 0.05), rtol=1e-6)
    np.testing.assert_allclose(np.exp(block.high), np.maximum(widths, 0.05) * np.exp(4), rtol=1e-6)


def test_gaps_that_rounding_leaves_are_no_gaps():
    x = np.array([0.1 + 0.2, 0.3, 0.4, 0.5, 0.6, 0.7])[:, None]  # the first two differ by 5e-17
    block = KernelNB().fit(x, np.zeros(6)).prior_.blocks["x"]
    assert block.low[0, 0] == pytest.approx(np.log(0.05))


def test_scale_changes_no_probability(iris):
    X, y = iris
    nb, per_column = KernelNB().fit(X, y), np.array([1e-100, 1e-3, 1.0, 1e100])
    scaled = KernelNB().fit(X * per_column, y)
    np.testing.assert_allclose(scaled.predict_log_proba(X * per_column), nb.predict_log_proba(X), rtol=1e-9, atol=1e-9)
    moved = KernelNB().fit(X + 1024.0, y)
    np.testing.assert_allclose(moved.predict_log_proba(X + 1024.0), nb.predict_log_proba(X), rtol=1e-6, atol=1e-9)


@pytest.mark.slow
def test_rounded_data_end_at_the_lower_limit_and_predict():
    """Digits: 17 levels, pixels that are blank in a whole class; the leave-one-out product alone would take h to 0."""
    X, y = load_digits(return_X_y=True)
    nb = KernelNB().fit(X[::2], y[::2])
    block = nb.posterior_.blocks["x"]
    mode = block.mode()["log_bandwidth"]
    assert (mode == block.low).mean() > 0.5
    assert np.isfinite(nb.predict_log_proba(X[1::2])).all()
    assert nb.score(X[1::2], y[1::2]) > GaussianNB().fit(X[::2], y[::2]).score(X[1::2], y[1::2])


def test_a_constant_column_says_nothing(iris):
    X, y = iris
    wide = np.column_stack([X[40:], np.full(len(X) - 40, 7.1)])  # classes of unequal size
    got, plain = KernelNB().fit(wide, y[40:]), KernelNB().fit(X[40:], y[40:])
    np.testing.assert_allclose(got.predict_log_proba(wide), plain.predict_log_proba(X[40:]), atol=1e-12)
    for bandwidth in ("nrd0", 2.0):
        assert np.isfinite(KernelNB(bandwidth=bandwidth).fit(wide, y[40:]).predict_log_proba(wide)).all()


@pytest.mark.parametrize("bandwidth", ["posterior", "nrd0", 0.2])
def test_a_class_with_one_cell_or_none_in_a_feature(bandwidth, iris):
    X, y = iris[0].copy(), iris[1]
    X[y == "setosa", 0] = np.nan
    X[np.flatnonzero(y == "virginica")[1:], 1] = np.nan
    X[:, 3] = np.nan  # in no class
    nb = KernelNB(bandwidth=bandwidth).fit(X, y)
    assert np.isfinite(nb.predict_log_proba(iris[0])).all()
    for estimate in ("mean", "map", "mle"):
        assert np.isfinite(nb.set_params(estimate=estimate).predict_log_proba(iris[0])).all()
    if bandwidth != 0.2:
        width = np.exp(nb.prior_.blocks["x"].log_h)
        assert width[0, 0] == pytest.approx(rule(X[y != "setosa", 0]))
        assert width[2, 1] == pytest.approx(rule(X[~np.isnan(X[:, 1]), 1]))
    only_first = np.full((2, 4), np.nan)
    only_first[:, 0] = [5.0, 6.5]
    table = nb.set_params(estimate="predictive").predict_joint_log_proba(only_first)
    pooled = KernelNB(bandwidth=bandwidth).fit(X[y != "setosa"], np.zeros(100)).predict_joint_log_proba(only_first)
    if bandwidth != "posterior":  # there the class has the prior of that bandwidth, and all rows its posterior
        np.testing.assert_allclose(table[:, 0] - nb.posterior_.classes.log_predictive()[0], pooled[:, 0], rtol=1e-10)


@pytest.mark.parametrize("estimate", ["predictive", "mean", "map", "mle"])
def test_a_row_far_away_has_finite_probabilities(estimate, iris):
    for bandwidth in ("posterior", "nrd0", 1e-3):
        nb = KernelNB(bandwidth=bandwidth, estimate=estimate).fit(*iris)
        table = nb.predict_joint_log_proba([[1e6, -1e6, 1e6, -1e6]])
        assert np.isfinite(table).all()


@pytest.mark.slow
def test_the_average_over_bandwidths_beats_one(iris):
    """Held-out log loss of the predictive against plugging in the mode, ten folds: that is what the average is for."""
    from sklearn.model_selection import cross_val_score

    X, y = iris
    predictive, mode = (
        cross_val_score(KernelNB(estimate=estimate), X, y, cv=10, scoring="neg_log_loss").mean()
        for estimate in ("predictive", "map")
    )
    assert predictive > mode


# --- the rest of an estimator ---------------------------------------------------------------------------------------


def test_there_is_no_evidence_and_the_error_says_why(iris):
    nb = KernelNB().fit(*iris)
    assert not hasattr(nb, "log_evidence_")
    with pytest.raises(AttributeError, match=r"KernelNB has no log_evidence_: .*not a normalised density"):
        _ = nb.log_evidence_


@pytest.mark.parametrize(
    ("bandwidth", "found"),
    [
        (0, "`bandwidth` is 0;"),
        (-1.5, "`bandwidth` is -1.5;"),
        (np.nan, "`bandwidth` is nan;"),
        (np.inf, "`bandwidth` is inf;"),
        (None, "`bandwidth` is None;"),
        ("silverman", "`bandwidth` is 'silverman';"),
        ("0.5", "`bandwidth` is '0.5';"),
        ([0.1, 0.2], r"`bandwidth` is \[0.1, 0.2\] of shape \(2,\);"),
        ([0.1, 0.2, 0.0, 1.0], r"`bandwidth` is \[0.1, 0.2, 0.0, 1.0\] of shape \(4,\);"),
    ],
    ids=repr,
)
def test_bad_bandwidths_are_named(bandwidth, found, iris):
    nb = KernelNB(bandwidth=bandwidth)
    with pytest.raises(ValueError, match=found + r" choose 'posterior' or 'nrd0', or .* \(4,\), .* \(3, 4\)"):
        nb.fit(*iris)
    assert not hasattr(nb, "classes_")


def test_infinite_cells_are_refused(iris):
    X = iris[0].copy()
    X[3, 1] = np.inf
    with pytest.raises(ValueError, match="infinity"):
        KernelNB().fit(X, iris[1])


def test_a_model_without_data_draws_no_rows(iris):
    nb = KernelNB().fit(*iris)
    with pytest.raises(ValueError, match="without data cannot draw rows"):
        nb.sample(3, source="prior")


@pytest.mark.slow
@pytest.mark.parametrize("method", ["exact", "nuts"])
def test_posterior_draws_for_arviz(method, iris):
    X, y = iris
    nb = KernelNB().fit(X[::5, :2], y[::5])
    settings = {"chains": 2, "warmup": 100, "progress_bar": False}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        posterior = nb.sample_posterior(200, 1, method, **settings)["posterior"]
    width = posterior["bandwidth"]
    assert width.dims == ("chain", "draw", "class", "feature")
    mean, sd = nb.posterior_.marginals()["bandwidth"].mean(), nb.posterior_.marginals()["bandwidth"].std()
    assert (abs(width.values.mean((0, 1)) - mean) < 6 * sd / np.sqrt(80)).all()  # of 400 draws at least 80 count


def test_a_fixed_bandwidth_has_no_site(iris):
    nb = KernelNB(bandwidth=0.4).fit(*iris)
    assert nb.posterior_.marginals().keys() == {"pi"}
    assert nb.sample_proba(iris[0][:3], n_draws=5, seed=0).shape == (5, 3, 3)


@pytest.mark.slow
def test_memory_stays_bounded():
    """4,000 cells under 4,000 kernels would be 128 MB in one table."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(8_000, 1)), rng.integers(0, 2, 8_000)
    nb = KernelNB(bandwidth="nrd0").fit(X, y)
    tracemalloc.start()
    try:
        table = nb.predict_log_proba(X)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert np.isfinite(table).all()
    assert peak < 30e6  # four tables of 2 MiB at a time, and some columns


def mode_row(X: np.ndarray, y: np.ndarray, seed: int) -> tuple[Any, Any]:
    """Row 2 of the check, and the block's posterior."""
    from bayesnb.inference import against_numpyro, laws

    nb = KernelNB().fit(X, y)
    problem = laws.Problem(nb.prior_, {"x": X}, nb._class_index(y))
    return against_numpyro.mode_row(problem, np.random.default_rng(seed)), nb.posterior_.blocks["x"]


@pytest.mark.slow
def test_check_knows_a_mode_at_the_lower_limit():
    X = np.random.default_rng(0).integers(0, 3, (60, 2)).astype(float)
    row, block = mode_row(X, np.arange(60) % 2, 0)
    assert (block.mode()["log_bandwidth"] == block.low).all()
    assert row.passed, row


@pytest.mark.slow
def test_check_knows_that_an_optimiser_may_end_on_a_lower_mode():
    """Phenols of 36 wines, six of them 2.20: narrow kernels for the ties, or broad ones for the rest."""
    x = np.array(
        """1.38 1.38 1.45 1.6 1.61 1.63 1.65 1.85 1.88 1.9 1.92 1.95 1.98 2 2.02 2.11 2.13 2.2 2.2 2.2 2.2 2.2
        2.2 2.22 2.42 2.45 2.5 2.53 2.55 2.56 2.6 2.74 2.85 2.98 3.18 3.18""".split(),
        float,
    )
    y = np.zeros(36)
    rows = [mode_row(np.column_stack([x, x]), y, seed)[0] for seed in range(2)]
    assert all(row.passed for row in rows), rows
    assert any("nats below the mode" in row.remark for row in rows)


def test_check_of_a_model_without_parameters_says_so(iris):
    with pytest.raises(ValueError, match="has no free parameter with these settings"):
        KernelNB(bandwidth=0.4, fit_prior=False).check(*iris)


@pytest.mark.slow
@pytest.mark.parametrize("bandwidth", ["posterior", "nrd0"])
def test_check_passes(bandwidth, iris):
    report = clone(KernelNB(bandwidth=bandwidth)).check(*iris, seed=0)
    assert report.passed, str(report)


def test_equal_rows_predict_each_other_and_what_the_docstring_says_of_it() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 100)
    X, labels = rng.normal(y[:, None] * 1.5, 1, (100, 2)), np.arange(400) % 2
    new = rng.normal(labels[:, None] * 1.5, 1, (400, 2))

    def loss(nb: KernelNB, rows: np.ndarray, w: Any = None) -> float:
        return log_loss(labels, nb.fit(X[rows], y[rows], w).predict_proba(new))

    once, twice, two, some = np.arange(100), np.repeat(np.arange(100), 2), np.full(100, 2.0), rng.integers(1, 4, 100)
    assert loss(KernelNB(), once) == pytest.approx(0.33, abs=0.005)
    assert loss(KernelNB(), once, two) == pytest.approx(6.7, abs=0.05)
    assert loss(KernelNB(), twice) == pytest.approx(6.7, abs=0.05)
    copied = KernelNB().fit(X[twice], y[twice])
    assert copied.loo(X[twice], y[twice]).log_loss < 0.02  # predicted by the copy
    assert copied.loo(X[twice], y[twice], groups=twice).log_loss > 6
    for w in (two, some):
        assert loss(KernelNB(), once, w / w.max()) < 0.34
        assert loss(KernelNB(bandwidth="nrd0"), once, w) < 0.34
    assert loss(KernelNB(bandwidth="nrd0"), twice) < 0.34
