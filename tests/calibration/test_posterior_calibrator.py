"""The map from probabilities to calibrated ones: formula, derivatives, posterior, NumPyro model; the estimator."""

from functools import partial

import numpy as np
import pytest
from scipy.special import entr, expit, log_softmax, softmax
from sklearn.datasets import load_breast_cancer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

import bayesnb
from bayesnb import CalibratedClassifierLOO, GaussianNB, PosteriorCalibrator
from bayesnb.calibration import map as page
from bayesnb.calibration import weighting
from bayesnb.calibration.map import CalibrationMap, Labelled, numpyro_model
from bayesnb.calibration.modes import laplace_about

from ..benchmarks import calibrators
from .test_modes import table_of_law

# --- the map --------------------------------------------------------------------------------------------------------


def log_table(rng, n, c, width=2.0):
    return np.log(softmax(width * rng.normal(size=(n, c)), axis=1))


def labels(rng, p):
    return (rng.random(len(p))[:, None] > np.cumsum(p, 1)[:, :-1]).sum(1)


def a_map(rng, model, c, width=0.5):
    """A map with random parameters, and these."""
    one = CalibrationMap.prior(model, rng.dirichlet(np.full(c, 5.0)), 0.7)
    return one, one.layout.mean + width * one.layout.width * rng.normal(size=len(one.mode))


def textbook(one, theta, z):
    """p' written out row by row, in the symbols of the page."""
    c, p, at = len(one.rho), np.empty_like(z), 1
    matrix, b = np.zeros((c, c)), np.zeros(c)
    t_o, t_x, _ = page.WIDTHS[one.model - 1]
    for k in range(c):
        for d in range(c):
            if t_o if d == k else t_x and c <= page.MAX_FULL_CLASSES:
                matrix[d, k], at = theta[at], at + 1
        b[k], at = theta[at], at + 1
    assert at == len(theta) - 1
    for i, row in enumerate(z):
        eta = [
            np.exp(theta[0]) * row[k] + one.scale * sum(row[d] * matrix[d, k] for d in range(c)) + b[k]
            for k in range(c)
        ]
        p[i] = (1 - expit(theta[-1])) * softmax(eta) + expit(theta[-1]) * one.rho
    return p


@pytest.mark.parametrize("model", [1, 2, 3])
@pytest.mark.parametrize("c", [2, 3, 13])
def test_a_map_and_its_derivatives(model, c):
    rng = np.random.default_rng(model)
    (one, theta), z = a_map(rng, model, c), log_table(rng, 30, c)
    np.testing.assert_allclose(one.proba(theta, z), textbook(one, theta, z), atol=3e-9)
    rows = Labelled(z, np.eye(c)[labels(rng, np.exp(z))], rng.random(30) + 0.5)
    value, gradient, hessian = one.derivatives(rows, theta)
    assert value == pytest.approx(one.value(rows, theta), rel=1e-12)
    moved = theta + np.eye(len(theta))[-1]
    fit, other = (rows.weight @ np.log((one.proba(at, z) * rows.y).sum(1)) for at in (theta, moved))
    pull = ((theta[-1] + 5) ** 2 - (theta[-1] + 4) ** 2) / 8  # logit ε ~ Normal(−4, 2)
    assert one.value(rows, moved) - value == pytest.approx(fit - other + pull, abs=1e-6)  # `proba` keeps above 1e-9
    h = 1e-5
    ends = [[one.derivatives(rows, theta + sign * step) for sign in (1, -1)] for step in h * np.eye(len(theta))]
    np.testing.assert_allclose(gradient, [(up[0] - down[0]) / (2 * h) for up, down in ends], atol=1e-6)
    np.testing.assert_allclose(hessian, [(up[1] - down[1]) / (2 * h) for up, down in ends], atol=1e-6)


@pytest.mark.parametrize("model", [1, 2, 3])
def test_newton_ends_at_the_mode_and_draws_stay_on_the_hill(model):
    rng = np.random.default_rng(1)
    z = log_table(rng, 200, 3)
    rows = Labelled(z, np.eye(3)[labels(rng, softmax(0.4 * z, axis=1))], np.ones(200))
    one = CalibrationMap.prior(model, np.full(3, 1 / 3))
    post, value = laplace_about(one, rows, one.mode), partial(one.value, rows)
    height, gradient, hessian = one.derivatives(rows, post.mode)
    assert abs(np.linalg.solve(hessian, gradient)).max() < 1e-3
    assert height == pytest.approx(post.height)
    np.testing.assert_allclose(post.root @ post.root.T, np.linalg.inv(hessian), rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(post.log_evidence, -height - 0.5 * np.linalg.slogdet(hessian)[1], rtol=1e-9)
    for s in 2 * rng.normal(size=(20, len(post.mode))):
        assert value(post.draw(s)) - height <= 0.55 * s @ s


def test_numpyro_has_the_same_density():
    import jax
    from numpyro.infer.util import log_density

    rng = np.random.default_rng(0)
    z = log_table(rng, 40, 3)
    index, weight = labels(rng, np.exp(z)), rng.random(40) + 0.5
    for model in (1, 2, 3):
        one, _ = a_map(rng, model, 3)
        gaps = []
        with jax.enable_x64(True):
            for _ in range(3):
                theta = one.layout.mean + one.layout.width * rng.normal(size=len(one.mode))
                theirs, _ = log_density(numpyro_model, (one, z, index, weight), {}, {"theta": theta})
                gaps.append(float(theirs) + one.value(Labelled(z, np.eye(3)[index], weight), theta))
        constant = -0.5 * len(one.mode) * np.log(2 * np.pi)
        np.testing.assert_allclose(gaps, constant, rtol=1e-10)


# --- its posterior ----------------------------------------------------------------------------------------------------


def test_a_calibrated_table_stays_as_it_is():
    rng = np.random.default_rng(0)
    for c in (2, 5):
        p = np.exp(log_table(rng, 1000, c))
        calibrator = PosteriorCalibrator().fit(p, labels(rng, p))
        assert calibrator.model_probabilities_["unchanged"] > 0.8
        assert abs(calibrator.predict_proba(p) - p).mean() < 0.01


def test_a_table_too_sure_of_itself_is_brought_back():
    rng = np.random.default_rng(0)
    for c in (2, 4):
        z = log_table(rng, 3000, c)
        y = labels(rng, np.exp(z))
        sure = softmax(4 * z, axis=1)
        calibrator = PosteriorCalibrator().fit(sure[:1000], y[:1000])
        assert calibrator.model_probabilities_["unchanged"] < 0.01
        found, best, before = (log_loss(y[1000:], p[1000:]) for p in (calibrator.predict_proba(sure), np.exp(z), sure))
        assert found < best + 0.01 < before
        power = calibrator.summary().loc["power"]
        assert power["low"] < power["median"] < power["high"] < 0.6


def test_the_summary_is_the_map_in_the_units_of_log_p():
    rng = np.random.default_rng(0)
    z = log_table(rng, 2000, 3)
    y = labels(rng, softmax(z + np.outer(z[:, 0], [0, 0, 0.5]) + [1, 0, -1], axis=1))
    found = PosteriorCalibrator().fit(softmax(4 * z, axis=1), y)
    power, *b, eps = (table := found.summary())["median"].iloc[:5]
    z = log_softmax(4 * z, axis=1)
    q = softmax(power * z + z @ table["median"].iloc[5:].to_numpy().reshape(3, 3) + b, axis=1)
    assert table.index[6] == "O[0, 1]" and table["low"].lt(table["median"]).all()
    gap = abs((1 - eps) * q + eps * np.bincount(y) / 2000 - found.calibrated(z)).mean()
    assert gap < 0.01


@pytest.mark.parametrize("c", [2, pytest.param(20, marks=pytest.mark.slow)])
def test_never_0_or_1_or_nan(c):
    """A perfect model of tables of 0 and 1, and new rows that it gets wrong."""
    rng = np.random.default_rng(0)
    index = rng.integers(c, size=60)
    index[:c] = np.arange(c)
    table = np.eye(c)[index]
    for y in (index, rng.permutation(index)):
        calibrator = PosteriorCalibrator().fit(table, y)
        for p in (calibrator.predict_proba(table), calibrator.predict_interval(table)):
            assert np.isfinite(p).all()
            assert p.min() > 0
            assert p.max() < 1
        np.testing.assert_allclose(calibrator.predict_proba(table).sum(1), 1)
    scores = np.array([-1e6, -1e3, 0, 1e3, 1e6])
    p = PosteriorCalibrator().fit(scores, [0, 0, 1, 1, 1]).predict_proba(scores)
    assert (p > 0).all()
    assert (p < 1).all()


@pytest.mark.slow
def test_a_weight_is_as_many_rows_and_a_group_of_copies_is_one():
    rng = np.random.default_rng(0)
    p = np.exp(log_table(rng, 200, 3))
    y = labels(rng, softmax(0.5 * np.log(p), axis=1))
    times = rng.integers(0, 4, 200)
    rows = np.repeat(np.arange(200), times)
    weighted, repeated = PosteriorCalibrator().fit(p, y, times), PosteriorCalibrator().fit(p[rows], y[rows])
    np.testing.assert_allclose(weighted.predict_proba(p), repeated.predict_proba(p), atol=1e-9)
    single, five = PosteriorCalibrator().fit(p, y), np.repeat(np.arange(200), 5)
    grouped = PosteriorCalibrator().fit(p[five], y[five], groups=five)
    # one row in 200 less of ρ's extra row for each class, and Newton's last step
    np.testing.assert_allclose(grouped.predict_proba(p), single.predict_proba(p), atol=1e-3)
    copied = PosteriorCalibrator().fit(p[five], y[five])
    width = [np.diff(one.predict_interval(p)).mean() for one in (single, grouped, copied)]
    assert width[1] == pytest.approx(width[0], rel=1e-2)
    assert width[2] < width[0]  # without groups five copies are five rows
    share = [one.model_probabilities_["matrix, wide prior"] for one in (single, copied)]
    assert share[0] < 0.05 and share[1] > 0.5


def test_the_interval_is_that_of_the_draws():
    rng = np.random.default_rng(0)
    p = np.exp(log_table(rng, 100, 3))
    calibrator = PosteriorCalibrator().fit(p, labels(rng, softmax(0.3 * np.log(p), axis=1)))
    z = np.log(p)
    draws = [textbook(one, theta, z) if one.model else p for one in calibrator.maps_ for theta in one.draws]
    assert len(draws) == 200
    np.testing.assert_allclose(calibrator.predict_proba(p), np.mean(draws, 0), atol=1e-8)
    ends = np.moveaxis(np.quantile(draws, [0.1, 0.9], axis=0, method="weibull"), 0, -1)
    np.testing.assert_allclose(calibrator.predict_interval(p, 0.8), ends, atol=1e-8)
    assert sum(calibrator.model_probabilities_.values()) == pytest.approx(1)


# --- around a classifier ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return train_test_split(X, y, train_size=200, stratify=y, random_state=0)


def test_around_a_classifier_fitted_or_not(cancer):
    X, X_new, y, y_new = cancer
    plain = GaussianNB().fit(X, y)
    folds = PosteriorCalibrator(GaussianNB()).fit(X, y)
    np.testing.assert_array_equal(folds.estimator_.predict_proba(X_new), plain.predict_proba(X_new))
    assert log_loss(y_new, folds.predict_proba(X_new)) < 0.4 * log_loss(y_new, plain.predict_proba(X_new))
    first = GaussianNB().fit(X[:100], y[:100])
    table = PosteriorCalibrator().fit(first.predict_proba(X[100:]), y[100:])
    expected = table.predict_proba(first.predict_proba(X_new))
    frozen = PosteriorCalibrator(FrozenEstimator(first)).fit(X[100:], y[100:])
    np.testing.assert_allclose(frozen.predict_proba(X_new), expected, atol=1e-12)
    assert (frozen.predict(X_new) == y_new).mean() > 0.9
    np.testing.assert_allclose(np.exp(frozen.predict_log_proba(X_new)), expected)


def test_labels_of_any_kind_and_classes_without_rows():
    rng = np.random.default_rng(0)
    p = np.exp(log_table(rng, 60, 3))
    y = np.array(["a", "b", "c"])[labels(rng, p)]
    assert set(PosteriorCalibrator().fit(p, y).predict(p)) <= {"a", "b", "c"}
    few = PosteriorCalibrator().fit(p, np.arange(60) % 2)
    np.testing.assert_array_equal(few.classes_, [0, 1, 2])


def test_what_is_refused(cancer):
    X, p, y = cancer[0], np.full((4, 2), 0.5), [0, 1, 0, 1]
    for one, given, message in [
        (PosteriorCalibrator(), (X[:4], y), "no table of probabilities"),
        (PosteriorCalibrator(), (-p, y), "no table"),
        (PosteriorCalibrator(), ([np.nan, 1.0, 1, 1], y), "no table"),
        (PosteriorCalibrator(), ([0.2, 1.0, 0.0, 0.3], y), r"one column with all values between 0 and 1.*column_stack"),
        (PosteriorCalibrator(), (p, ["a"] * 4), "`y` has 4 rows of 1 class, but the probabilities have shape"),
        (PosteriorCalibrator(), (p, y[:3]), "`y` has 3 rows"),
        (PosteriorCalibrator(), (p, y, np.zeros(4)), "at least one non-zero"),
        (PosteriorCalibrator(), (p, y, None, [1, 2]), "`groups` has shape"),
        (PosteriorCalibrator(GaussianNB()), (X[:5], [0, 1, 1, 1, 1]), "a class with one sample"),
    ]:
        with pytest.raises(ValueError, match=message):
            one.fit(*given)
    with pytest.raises(ValueError, match="has 3 columns"):
        PosteriorCalibrator().fit(p, y).predict_proba(np.full((2, 3), 1 / 3))
    with pytest.raises(ValueError, match="one column with all values between 0 and 1"):
        PosteriorCalibrator().fit(p, y).predict_proba(p[:, 1])
    assert PosteriorCalibrator().fit([-2.0, 2, 1, 3], y).predict_proba([0.5]).shape == (1, 2)  # log odds, as in `fit`
    with pytest.raises(ValueError, match="`level` is 2"):
        PosteriorCalibrator().fit(p, y).predict_interval(p, 2)


def test_draws_of_the_map_and_uncertainty():
    rng = np.random.default_rng(0)
    p = np.exp(log_table(rng, 100, 3))
    calibrator = PosteriorCalibrator().fit(p, labels(rng, softmax(0.3 * np.log(p), axis=1)))
    draws = calibrator.sample_proba(p, 400, 0)
    assert draws.mean(0) == pytest.approx(calibrator.predict_proba(p), abs=0.03)
    every = [one.proba(theta, np.log(p)) for one in calibrator.maps_ for theta in one.draws]
    assert all(min(abs(draw - one).max() for one in every) < 1e-12 for draw in draws[:3])
    found = calibrator.uncertainty(p, n_draws=400)
    np.testing.assert_allclose(found.total, entr(draws.mean(0)).sum(-1))
    np.testing.assert_allclose(found.aleatoric, entr(draws).sum(-1).mean(0))
    np.testing.assert_array_equal(calibrator.decision_function(p), calibrator.predict_log_proba(p))


def test_few_or_none_of_the_draws_are_increasing_maps(monkeypatch):
    """Rounds go on nearer to the modes; if no map of any round rises, the modes are all there is."""
    z, y = table_of_law(43)
    expected = PosteriorCalibrator().fit(np.exp(z), y).predict_proba(np.exp(z))
    is_increasing = CalibrationMap.is_increasing
    first_rounds = []

    def none_in_the_first_rounds(self, theta):
        if len(theta) == 1000 and len(first_rounds) < 2:
            first_rounds.append(theta)
            return np.zeros(len(theta), bool)
        return is_increasing(self, theta)

    monkeypatch.setattr(CalibrationMap, "is_increasing", none_in_the_first_rounds)
    p = PosteriorCalibrator().fit(np.exp(z), y).predict_proba(np.exp(z))
    assert len(first_rounds) == 2 and abs(p - expected).max() < 0.05
    monkeypatch.setattr(weighting, "_height", lambda calibration, rows, theta: np.full(len(theta), np.inf))
    p = PosteriorCalibrator().fit(np.exp(z), y).predict_proba(np.exp(z))
    assert (p > 0).all()
    np.testing.assert_allclose(p.sum(1), 1, rtol=1e-12)


@pytest.mark.parametrize(("c", "model", "scale"), [(2, 3, 1.0), (3, 2, 3.0), (9, 3, 0.3), (12, 3, 1.0), (13, 3, 1.0)])
def test_share_of_the_prior_that_increases(c, model, scale):
    """The integral is the share of draws from the prior; there are 40,000, so that it is known to .0025."""
    prior = CalibrationMap.prior(model, np.full(c, 1 / c), scale)
    rng = np.random.default_rng(c)
    mean, width = prior.layout.mean, prior.layout.width
    shares = [prior.is_increasing(mean + width * rng.normal(size=(2000, len(mean)))).mean() for _ in range(20)]
    standard_error = np.std(shares, ddof=1) / np.sqrt(len(shares))
    assert abs(np.exp(prior.log_increasing_share) - np.mean(shares)) < 4 * standard_error
    assert 0.01 < np.mean(shares) < 0.99


@pytest.mark.slow
def test_maps_that_increase_are_a_tiny_part_of_the_prior():
    """Nine classes that the model tells apart, p with two digits: next to no map of the prior rises."""
    z, y = table_of_law(89)
    calibrator = PosteriorCalibrator().fit(np.exp(z), y)
    assert np.exp([one.log_increasing_share for one in calibrator.maps_]).min() < 1e-3
    assert sum(one.probability for one in calibrator.maps_) == pytest.approx(1)
    assert (calibrator.predict(np.exp(z)) == y).mean() > 0.95


def test_a_share_too_small_for_a_double_has_a_logarithm():
    assert -1e5 < CalibrationMap.prior(3, np.full(3000, 1 / 3000), scale=1e6).log_increasing_share < -30


def test_a_file_holds_it(tmp_path, cancer):
    X, X_new, y, y_new = cancer
    p = GaussianNB().fit(X, y).predict_proba(X_new)
    for one, rows in (
        (PosteriorCalibrator().fit(p, y_new), p),
        (PosteriorCalibrator(GaussianNB()).fit(X, y), X_new),
        (CalibratedClassifierLOO(GaussianNB()).fit(X, y), X_new),
    ):
        one.save(tmp_path / "model")
        again = bayesnb.load(tmp_path / "model")
        assert repr(again) == repr(one)
        for method in ("predict_proba", "predict_interval", "predict"):
            np.testing.assert_array_equal(getattr(again, method)(rows), getattr(one, method)(rows))
        np.testing.assert_array_equal(again.sample_proba(rows, 5, 0), one.sample_proba(rows, 5, 0))
        assert getattr(again, "loo_log_loss_", None) == getattr(one, "loo_log_loss_", None)
        again.save(tmp_path / "twice")
        assert (tmp_path / "twice").read_bytes() == (tmp_path / "model").read_bytes()
    other = PosteriorCalibrator(LogisticRegression()).fit(X / X.std(0), y)
    with pytest.raises(ValueError, match="a file cannot hold"):
        other.save(tmp_path / "other")


# --- coverage ---------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_coverage_of_truths_from_the_prior():
    """Of two classes and 50 rows; `python -m tests.benchmarks.calibrators --coverage 400` has larger tables too."""
    line = next(calibrators.coverage(150, 2, 50))
    assert line.startswith("| the prior |")
    assert 0.86 <= float(line.split("|")[4]) <= 0.94
