"""Calibration by leave-one-out: its table, the prediction, the methods of a model, scikit-learn's checks."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import bayesnb
from bayesnb import (
    BernoulliNB,
    CalibratedClassifierLOO,
    CategoricalNB,
    ComplementNB,
    GaussianNB,
    MultinomialNB,
    PosteriorCalibrator,
)
from bayesnb.calibration.map import CalibrationMap

from .test_posterior_calibrator import cancer as cancer

# --- the classifier ---------------------------------------------------------------------------------------------------


def without_row(fitted, table, y, w):
    """p' of each row, averaged over draws of the map: weights 1 / p'(y_i)^w_i, none above √s times their mean."""
    z = np.maximum(table, -690)
    p = np.array([one.proba(theta, z) for one in fitted.maps_ for theta in one.draws])
    weight = p[:, np.arange(len(y)), y] ** -w
    weight = np.minimum(weight, np.sqrt(len(p)) * weight.mean(0))
    return np.einsum("sn,snc->nc", weight, p) / weight.sum(0)[:, None]


@pytest.mark.parametrize("weighted", [False, True])
def test_the_map_is_that_of_the_table(weighted, cancer):
    """The same map from the public leave-one-out table, floored at 1e-300; weights are importance."""
    X, X_new, y, _ = cancer
    w = np.random.default_rng(0).gamma(2, 1, len(y)) if weighted else np.ones(len(y))
    fitted, nb = CalibratedClassifierLOO(GaussianNB()).fit(X, y, w), GaussianNB().fit(X, y, w)
    table, log_p = nb.loo(X, y, w).log_proba, np.maximum(nb.predict_log_proba(X_new), -690)
    z = np.maximum(table, -690)
    odds = PosteriorCalibrator().fit(z[:, 1] - z[:, 0], y, w)
    found = odds.predict_proba(log_p[:, 1] - log_p[:, 0])
    np.testing.assert_allclose(fitted.predict_proba(X_new), found, atol=1e-9)
    own = np.arange(len(y)), y
    losses = {"plain": -table[own], "calibrated": -np.log(without_row(fitted, table, y, w)[own])}
    assert fitted.loo_log_loss_ == pytest.approx({name: np.average(loss, weights=w) for name, loss in losses.items()})
    np.testing.assert_allclose(np.exp(fitted.predict_log_proba(X_new)), found, atol=1e-9)
    log_odds = np.log(found[:, 1] / found[:, 0])
    np.testing.assert_allclose(fitted.decision_function(X_new), log_odds, rtol=1e-5)


@pytest.mark.slow
def test_copies_leave_together_and_count_once():
    """Every row five times: the map is that of the table without all five copies, with one row for the five."""
    X, y = load_digits(return_X_y=True)
    X, X_new, y, y_new = train_test_split(X, y, train_size=50, test_size=500, stratify=y, random_state=0)
    five, own = (np.tile(X, (5, 1)), np.tile(y, 5)), (np.arange(500), y_new)
    fitted = CalibratedClassifierLOO(GaussianNB()).fit(*five)
    assert fitted.n_copies_ == 200
    table = fitted.estimator_.loo(*five, groups=np.tile(np.arange(50), 5)).log_proba[:50]
    assert fitted.loo_log_loss_["plain"] == pytest.approx(-table[np.arange(50), y].mean())
    alone = CalibratedClassifierLOO(GaussianNB()).fit(*five, groups=np.arange(250))
    losses = [-nb.predict_log_proba(X_new)[own].mean() for nb in (fitted, alone, fitted.estimator_)]
    assert losses[0] < 0.6 * losses[1] < losses[2]


@pytest.mark.parametrize("model", [GaussianNB(), BernoulliNB(binarize=0.5)])
def test_counts_are_repeated_rows(model):
    """The map, its probabilities and leave-one-out; rows repeated are kept apart by groups of one."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = rng.integers(2, size=60)
    times = rng.integers(1, 4, 60)
    rows = np.repeat(np.arange(60), times)
    alone = np.arange(len(rows))
    counted = CalibratedClassifierLOO(model).fit(X, y, times)
    repeated = CalibratedClassifierLOO(model).fit(X[rows], y[rows], groups=alone)
    np.testing.assert_allclose(counted.predict_proba(X), repeated.predict_proba(X), atol=1e-9)
    assert counted.loo_log_loss_ == pytest.approx(repeated.loo_log_loss_, rel=1e-9)
    np.testing.assert_allclose(counted.class_prior_, repeated.class_prior_, rtol=1e-12)


def test_a_frequency_table():
    """Two levels with 90, 10, 20 and 80 rows: p(n) of about .9 and .2."""
    cells = np.array([["a"], ["a"], ["b"], ["b"]])
    with pytest.warns(UserWarning, match="its weights count rows: 200 rows"):
        fitted = CalibratedClassifierLOO(CategoricalNB()).fit(cells, ["n", "s", "n", "s"], [90, 10, 20, 80])
    np.testing.assert_allclose(fitted.predict_proba(cells[[0, 2]])[:, 0], [0.89, 0.21], atol=0.01)


def test_copies_are_one_term_of_the_standard_error():
    """Twenty copies of each row tell no more than one."""
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=50)
    X = rng.normal(size=(50, 2)) + y[:, None]
    copied = np.tile(X, (20, 1)), np.tile(y, 20)
    fitted = CalibratedClassifierLOO(GaussianNB()).fit(*copied)
    result = fitted.loo(*copied)
    grouped = fitted.loo(*copied, groups=np.tile(np.arange(50), 20))
    assert result.elpd == pytest.approx(grouped.elpd, rel=1e-12)
    assert result.se == pytest.approx(grouped.se, rel=1e-12)
    apart = fitted.loo(*copied, groups=np.arange(1000))
    assert result.se > 3.5 * apart.se


@pytest.mark.slow
def test_copies_of_whole_numbers_may_be_chance():
    """Two columns of yes and no have four kinds of rows: equal rows are no copies."""
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=200)
    X = (rng.random((200, 2)) < 0.3 + 0.4 * y[:, None]).astype(int)
    assert CalibratedClassifierLOO(BernoulliNB()).fit(X, y).n_copies_ == 0
    counts, label = rng.poisson(20, (50, 10)), rng.integers(2, size=50)
    twice = np.concatenate([counts, counts]), np.concatenate([label, label])
    assert CalibratedClassifierLOO(MultinomialNB()).fit(*twice).n_copies_ == 50
    assert CalibratedClassifierLOO(MultinomialNB()).fit(sparse.csr_array(twice[0]), twice[1]).n_copies_ == 50


@pytest.mark.parametrize("c", [2, 3])
@pytest.mark.slow
def test_a_row_leaves_the_map(c):
    """Weighted draws against maps that are fitted to the other rows of the table: within .01 nats of 40 rows."""
    rng = np.random.default_rng(c)
    y = rng.integers(c, size=40)
    X = rng.normal(size=(40, 4)) + 0.5 * y[:, None]
    fitted = CalibratedClassifierLOO(GaussianNB()).fit(X, y)
    table = np.exp(fitted.estimator_.loo(X, y).log_proba)
    losses = []
    for i in range(40):
        others = np.arange(40) != i
        refitted = PosteriorCalibrator().fit(table[others], y[others])
        losses.append(-np.log(refitted.predict_proba(table[i : i + 1])[0, y[i]]))
    with_row = -np.log(fitted.calibrated(np.log(table)))[np.arange(40), y].mean()
    assert fitted.loo_log_loss_["calibrated"] == pytest.approx(np.mean(losses), abs=0.012)
    assert fitted.loo_log_loss_["calibrated"] > with_row


def test_a_group_leaves_the_map():
    """Five rows of each of 30 persons, who share a label: the map without a person is less sure of it."""
    rng = np.random.default_rng(0)
    person = np.repeat(np.arange(30), 5)
    y = rng.integers(2, size=30)[person]
    X = rng.normal(size=(150, 3)) + rng.normal(size=(30, 3))[person]
    fitted = CalibratedClassifierLOO(GaussianNB()).fit(X, y, groups=person)
    found = fitted.loo(X, y, groups=person)
    assert found.log_loss == pytest.approx(fitted.loo_log_loss_["calibrated"], rel=1e-9)
    with_row = np.log(fitted.calibrated(fitted.estimator_.loo(X, y, groups=person).log_proba))
    assert found.log_loss > -with_row[np.arange(150), y].mean()


def test_no_map_falls():
    """Rows whose table favours the wrong class: calibrated probabilities still rise with those of the model."""
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=60)
    wrong = rng.normal(size=60) - 2 * (2 * y - 1)
    fitted = PosteriorCalibrator().fit(wrong, y)
    p = fitted.predict_proba(np.linspace(-5, 5, 41))[:, 1]
    assert (np.diff(p) >= 0).all()
    assert p[-1] - p[0] < 0.3
    three = np.exp(rng.normal(size=(90, 3)))
    three /= three.sum(1, keepdims=True)
    fitted = PosteriorCalibrator().fit(three, three.argmin(1))
    steps = np.log(three[:20, None]) + np.linspace(0, 3, 7)[:, None] * np.eye(3)[0]  # of class 0, (20, 7, 3)
    p = fitted.predict_proba((np.exp(steps) / np.exp(steps).sum(-1, keepdims=True)).reshape(-1, 3)).reshape(20, 7, 3)
    odds = np.log(p[:, :, :1] / p[:, :, 1:])
    assert (np.diff(odds, axis=1) > -0.02).all()  # of the average; each map rises


def test_groups_leave_together():
    """Ten rows a person, almost alike: rows left out one by one are predicted by the person's other rows."""
    rng = np.random.default_rng(0)
    person = np.repeat(np.arange(40), 10)
    label = rng.integers(2, size=40)[person]
    X = rng.normal(size=(40, 5))[person] + 0.3 * label[:, None] + 0.01 * rng.normal(size=(400, 5))
    alone = CalibratedClassifierLOO(GaussianNB()).fit(X, label)
    together = CalibratedClassifierLOO(GaussianNB()).fit(X, label, groups=person)
    assert together.loo_log_loss_["plain"] > alone.loo_log_loss_["plain"]
    with pytest.raises(ValueError, match="`groups` has shape"):
        alone.fit(X, label, groups=person[:3])
    with pytest.raises(ValueError, match="`groups` has missing labels"):
        alone.fit(X, label, groups=np.where(person == 1, np.nan, person))


def test_a_draw_is_a_map_at_a_draw_of_the_model(cancer):
    X, X_new, y, _ = cancer
    fitted = CalibratedClassifierLOO(GaussianNB()).fit(X, y)
    p = fitted.estimator_.sample_proba(X_new[:4], 3, np.random.default_rng(0))
    with np.errstate(divide="ignore"):
        z = np.maximum(np.log(p), -690)
    for draw, table in zip(fitted.sample_proba(X_new[:4], 3, np.random.default_rng(0)), z, strict=True):
        assert min(abs(draw - one.proba(theta, table)).max() for one in fitted.maps_ for theta in one.draws) < 1e-12


def test_what_is_refused(cancer):
    X, _, y, _ = cancer
    with pytest.raises(TypeError, match=r"is Pipeline; .* such as GaussianNB\(\). Transform X first, outside"):
        CalibratedClassifierLOO(make_pipeline(StandardScaler(), GaussianNB())).fit(X, y)
    with pytest.raises(TypeError, match=r"is LogisticRegression; .*unlike PosteriorCalibrator, needs an est"):
        CalibratedClassifierLOO(LogisticRegression()).fit(X, y)
    with pytest.raises(TypeError, match="GaussianNB, a class"):
        CalibratedClassifierLOO(GaussianNB).fit(X, y)
    with pytest.raises(ValueError, match="estimate='mean'"):
        CalibratedClassifierLOO(GaussianNB(estimate="mean")).fit(X, y)
    with pytest.raises(ValueError, match="has norm=True, which leave-one-out ignores"):
        CalibratedClassifierLOO(ComplementNB(norm=True)).fit(X, y)
    inside = make_pipeline(StandardScaler(), CalibratedClassifierLOO(GaussianNB())).fit(X, y)
    assert inside.score(X, y) > 0.9


# --- a model like others ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def table():
    data = bayesnb.datasets.load("breast_cancer")
    X, y = data.X.iloc[::3, :8], np.asarray(data.y)[::3]
    return CalibratedClassifierLOO(GaussianNB()).fit(X, y), X, y


def test_leave_one_out_is_that_of_the_calibrated_probabilities(table):
    nb, X, y = table
    found, plain = nb.loo(X, y), nb.estimator_.loo(X, y)
    np.testing.assert_allclose(found.proba, without_row(nb, plain.log_proba, found.index, 1.0), atol=1e-12)
    assert found.log_loss == pytest.approx(nb.loo_log_loss_["calibrated"])
    of_rows = [np.logaddexp.reduce(one.log_joint, axis=1) for one in (found, plain)]  # log p(x) does not change
    np.testing.assert_allclose(*of_rows, atol=1e-9)
    assert np.isfinite(found.p_loo)
    fitted = nb.predict_log_proba(X)[np.arange(len(y)), found.index]
    assert found.p_loo == pytest.approx(found.weight @ fitted - found.elpd)
    compared = bayesnb.compare({"plain": nb.estimator_, "calibrated": nb}, X, y, fitted=True).table
    assert compared.index[0] == "calibrated"


def test_what_calibration_does_not_change_is_that_of_the_model(table):
    nb, X, _ = table
    assert nb.explain(X[:2], n_draws=50).equals(nb.estimator_.explain(X[:2], n_draws=50))
    assert nb.posterior_ is nb.estimator_.posterior_
    assert nb.model_.feature_names == [*X.columns]
    for name in ("predict_joint_log_proba", "partial_fit", "nothing"):
        assert not hasattr(nb, name)
    assert not hasattr(CalibratedClassifierLOO(GaussianNB()), "posterior_")


@pytest.mark.slow
def test_check_passes_and_can_fail(cancer, monkeypatch):
    X, _, y, _ = cancer
    X = X[:, :4]
    report = CalibratedClassifierLOO(GaussianNB()).check(X, y)
    assert report.passed, report
    assert [row.name.split()[1] for row in report.rows[-4:]] == ["Map,"] * 4
    losses = {one.name: one.log_loss for one in report.quality}
    assert losses["calibrated"] < losses["predictive"]
    assert "calibrated" in report.explain(verbose=True)
    value = CalibrationMap.value
    monkeypatch.setattr(CalibrationMap, "value", lambda self, rows, theta: value(self, rows, 1.1 * theta))
    wrong = CalibratedClassifierLOO(GaussianNB()).check(X, y)
    assert [row.passed for row in wrong.rows[:-4]] == [True] * (len(wrong.rows) - 4)
    assert not wrong.rows[-4].passed


def test_numpyro_model_takes_rows(cancer):
    from numpyro import handlers

    X, _, y, _ = cancer
    fitted = CalibratedClassifierLOO(GaussianNB()).fit(X, y)
    trace = handlers.trace(handlers.seed(fitted.numpyro_model, 0)).get_trace(X, y)
    assert trace["theta"]["value"].shape in {(4,), (8,)}
    assert trace["y"]["value"].shape == (len(y),)
