"""Calibration by leave-one-out: derivatives, maps, what the prediction promises, and scikit-learn's checks."""

import itertools

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import expit, log_softmax, softmax
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import bayesnb
from bayesnb import (
    BernoulliNB,
    CalibratedClassifierLOO,
    CategoricalNB,
    ComplementNB,
    GaussianNB,
    MixedNB,
    MultinomialNB,
)
from bayesnb.analysis import _map_fitting, _maps
from bayesnb.analysis._maps import Kind, Prepared, Tables

COPIES = "repeats rows: copies of a row are one row for the map; `test_a_weight_is_as_many_rows_of_a_group` has the law"


def expected_failures(estimator):
    tags, expected = estimator.__sklearn_tags__().input_tags, {}
    expected["check_sample_weight_equivalence_on_dense_data"] = COPIES
    if tags.sparse:
        expected["check_sample_weight_equivalence_on_sparse_data"] = COPIES
    if tags.positive_only:
        expected["check_decision_proba_consistency"] = "feeds negative numbers whatever the tags"
    return expected


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks([CalibratedClassifierLOO(GaussianNB())], expected_failed_checks=expected_failures)
def test_scikit_learns_checks(estimator, check):
    check(estimator)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks([CalibratedClassifierLOO(MultinomialNB())], expected_failed_checks=expected_failures)
def test_scikit_learns_checks_on_counts(estimator, check):
    check(estimator)


# --- the maps -------------------------------------------------------------------------------------------------------

KINDS = [
    Kind(joint=joint, shifts=shifts, contaminated=contaminated, squashed=squashed, g=0.5)
    for joint, shifts, contaminated, squashed in itertools.product((False, True), repeat=4)
]


def drawn_tables(rng, k, c, n):
    """Tables of rows whose labels follow a power of 0.3."""
    t = 5 * rng.normal(size=(k, c, n))
    log_prior = np.log(rng.dirichlet(np.full(c, 5.0), n)).T
    tables = Tables(t, log_prior, 0.5 * rng.normal(size=(k, n)))
    p = softmax(0.3 * t.sum(0) + log_prior, axis=0)
    index = np.array([rng.choice(c, p=one) for one in p.T])
    return tables, index, rng.random(n) + 0.5


def textbook(kind, tables, theta):
    """p_ic written out row by row, in the symbols of the page."""
    k, c, n = tables.t.shape
    theta, p = list(theta), np.empty((c, n))
    lengths = np.zeros((k, n)) if tables.log_length is None else tables.log_length
    w = np.exp([theta.pop(0) for _ in range(0 if kind.identity else 1 if kind.joint else k)])
    if kind.identity:
        return softmax(tables.t.sum(0) + tables.log_prior, axis=0)
    s = np.exp(theta.pop(0)) if kind.squashed else None
    eps = expit(theta.pop(0)) if kind.contaminated else 0.0
    b = np.array(theta) if kind.shifts else np.zeros(c)
    for i in range(n):
        log_pi = tables.log_prior[:, i]
        if kind.joint:
            m = w[0] * np.exp(-kind.g * lengths[:, i].mean()) * (tables.t[:, :, i].sum(0) + log_pi)
            offset, rho = b, np.full(c, 1 / c)
        else:
            length = np.exp(-kind.g * lengths[:, i])
            m = sum(w[j] * length[j] * (tables.t[j, :, i] - tables.t[j, :, i].max()) for j in range(k))
            offset, rho = log_pi + b, softmax(log_pi)
        if kind.squashed:
            m = -s * np.log1p((m.max() - m) / s)
        p[:, i] = (1 - eps) * softmax(m + offset) + eps * rho
    return p


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
@pytest.mark.parametrize(("k", "c"), [(1, 2), (1, 4), (2, 3)])
def test_a_map_and_its_derivatives(kind, k, c):
    rng = np.random.default_rng(0)
    tables, index, weight = drawn_tables(rng, k, c, 30)
    prepared, y = Prepared.of(kind, tables), _maps.one_hot_rows(index, c)
    mean, sd = kind.prior(len(prepared.m), c)
    theta = mean + 0.5 * sd * rng.normal(size=len(mean))
    np.testing.assert_allclose(prepared.proba(theta), textbook(kind, tables, theta), atol=1e-13)
    value, gradient, hessian = prepared.derivatives(theta, y, weight)
    own = textbook(kind, tables, theta)[index, np.arange(len(index))]
    assert value == pytest.approx(-weight @ np.log(own), rel=1e-12)
    h = 1e-5
    ends = [
        [prepared.derivatives(theta + sign * step, y, weight) for sign in (1, -1)] for step in h * np.eye(len(mean))
    ]
    # central differences err by h² times the third derivative, and by rounding / h
    np.testing.assert_allclose(gradient, [(up[0] - down[0]) / (2 * h) for up, down in ends], atol=1e-6)
    np.testing.assert_allclose(hessian, [(up[1] - down[1]) / (2 * h) for up, down in ends], atol=1e-6)


@pytest.mark.parametrize("kind", KINDS[::3], ids=lambda kind: kind.name)
def test_newton_ends_at_the_mode(kind):
    tables, index, weight = drawn_tables(np.random.default_rng(1), 1, 3, 80)
    prepared, y = Prepared.of(kind, tables), _maps.one_hot_rows(index, 3)
    fit = _map_fitting.fit_map(prepared, y, weight)
    found = minimize(lambda theta: -_map_fitting.log_density(prepared, theta, y, weight), fit.mode + 0.1)
    assert _map_fitting.log_density(prepared, fit.mode, y, weight) >= -found.fun - 1e-6
    np.testing.assert_allclose(fit.mode, found.x, atol=2e-3)  # BFGS with differences ends that far from the optimum


def test_evidence_is_the_integral():
    """One parameter: Laplace against quadrature. The posterior of 80 rows is close to a Gaussian, not equal to it."""
    tables, index, weight = drawn_tables(np.random.default_rng(2), 1, 3, 80)
    prepared, y = Prepared.of(Kind(), tables), _maps.one_hot_rows(index, 3)
    fit = _map_fitting.fit_map(prepared, y, weight)
    grid = np.linspace(fit.mode[0] - 2, fit.mode[0] + 2, 2001)
    density = [_map_fitting.log_density(prepared, np.array([u]), y, weight) for u in grid]
    exact = np.logaddexp.reduce(density) + np.log(grid[1] - grid[0])
    assert fit.log_evidence == pytest.approx(exact, abs=0.02)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind.joint and not kind.shifts], ids=lambda kind: kind.name)
def test_joint_maps_keep_labels(kind):
    rng = np.random.default_rng(3)
    tables, *_ = drawn_tables(rng, 2, 4, 500)
    mean, sd = kind.prior(2, 4)
    for theta in mean + sd * rng.normal(size=(10, len(mean))):
        np.testing.assert_array_equal(kind.proba(tables, theta).argmax(0), tables.joint.argmax(0))


def test_isotonic_steps_rise_and_stay_inside():
    rng = np.random.default_rng(4)
    tables, index, weight = drawn_tables(rng, 1, 3, 400)
    y = _maps.one_hot_rows(index, 3)
    fit = _map_fitting.fit_map(Prepared.of(Kind(shifts=True), tables), y, weight)
    found = _map_fitting.fit_isotonic(fit, fit.kind.proba(tables, fit.mode), y, weight)
    for at, share in zip(found.log_odds, found.share, strict=True):
        assert (np.diff(at) > 0).all()
        assert share.min() > 0
        assert share.max() < 1
    p = found.proba(tables, np.zeros(0))
    np.testing.assert_allclose(p.sum(0), 1, atol=1e-12)


def test_rows_of_one_score_are_on_one_isotonic_step():
    """Whatever their order, here with the labels in ascending order."""
    score, y = np.repeat([[-1.0, 0.0, 1.0]], 20, axis=1), np.tile(np.repeat([0.0, 1.0], [8, 12]), 3)[None]
    (at,), (share,) = _map_fitting._isotonic_steps(score, y, np.ones(60))
    np.testing.assert_allclose(at, [0])  # all scores have the same share
    np.testing.assert_allclose(share, [(36 + 0.6) / 61])


# --- the classifier -------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return train_test_split(X, y, train_size=200, stratify=y, random_state=0)


def losses(estimator, X, X_new, y, y_new, **settings):
    fitted = CalibratedClassifierLOO(estimator, **settings).fit(X, y)
    own = np.arange(len(y_new)), np.searchsorted(fitted.classes_, y_new)
    plain, calibrated = (-nb.predict_log_proba(X_new)[own].mean() for nb in (fitted.estimator_, fitted))
    return fitted, plain, calibrated


def test_breast_cancer(cancer):
    fitted, plain, calibrated = losses(GaussianNB(), *cancer)
    assert calibrated < 0.25 < 0.7 < plain
    assert fitted.loo_log_loss_["plain"] > 2 * fitted.loo_log_loss_["calibrated"]
    power = fitted.summary().query("parameter == 'w'")
    assert (power["high"] < 0.5).all()
    assert (power["low"] < power["median"]).all()


def test_the_maps_are_those_of_the_table(cancer):
    """Weights, modes and predictions again from the public leave-one-out table."""
    X, X_new, y, _ = cancer
    fitted = CalibratedClassifierLOO(GaussianNB()).fit(X, y)
    nb = GaussianNB().fit(X, y)
    table = nb.loo(X, y)
    again = _map_fitting.fit_family(Tables.of([table.by_block["x"]], table.log_prior), table.index, np.ones(len(y)))
    assert [one.kind for one in again] == [one.kind for one in fitted.maps_]
    t, log_prior = nb.predict_part_log_likelihood(X_new)["x"], nb.class_log_prior_
    mean = 0
    for one in fitted.maps_:
        for theta in one.nodes:
            p = textbook(one.kind, Tables.of([t], np.broadcast_to(log_prior, t.shape)), theta)
            mean = mean + one.weight / len(one.nodes) * p.T
    np.testing.assert_allclose(fitted.predict_proba(X_new), mean, atol=1e-12)
    assert sum(one.weight for one in fitted.maps_) == pytest.approx(1)


def test_twenty_rows_of_wine_have_a_finite_loss():
    X, y = load_wine(return_X_y=True)
    for seed in range(5):
        data = train_test_split(X, y, train_size=20, stratify=y, random_state=seed)
        _, plain, calibrated = losses(GaussianNB(), *data)
        assert np.isfinite(calibrated)
        assert calibrated < plain + 0.1


def test_a_rare_class_does_not_get_worse():
    X, y = load_digits(return_X_y=True)
    X, y = X[:, 20:24], (y == 8).astype(int)
    gain = []
    for seed in range(6):
        data = train_test_split(X, y, train_size=50, test_size=800, stratify=y, random_state=seed)
        _, plain, calibrated = losses(GaussianNB(), *data)
        gain.append(plain - calibrated)
    assert np.mean(gain) > 0


def test_labels_are_kept_where_that_is_as_good(cancer):
    X, X_new, y, _ = cancer
    fitted = CalibratedClassifierLOO(GaussianNB()).fit(X, y)
    assert fitted.label_changes_ == 0
    np.testing.assert_array_equal(fitted.predict(X_new), fitted.estimator_.predict(X_new))
    every = clone(fitted).set_params(keep_labels=False).fit(X, y)
    assert any(not getattr(one.kind, "joint", False) for one in every.maps_ if one.kind.name != "identity")


def test_changes_of_labels_are_reported():
    """Four pixels, one class in ten: the labels of the model are worse than those of the prior."""
    X, y = load_digits(return_X_y=True)
    fitted = CalibratedClassifierLOO(GaussianNB()).fit(X[:600, 20:24], y[:600] == 8)
    table = fitted.estimator_.loo(X[:600, 20:24], y[:600] == 8)
    tables = Tables.of([table.by_block["x"]], table.log_prior)
    changed = _maps.average(fitted.maps_, tables).argmax(0) != table.log_joint.argmax(1)
    assert fitted.n_copies_ == 0
    assert fitted.label_changes_ == pytest.approx(changed.mean())
    assert fitted.label_changes_ > 0.02


def test_copies_leave_together_and_count_once():
    """Every row five times: the map is that of the table without all five copies, with one row for the five."""
    X, y = load_digits(return_X_y=True)
    X, X_new, y, y_new = train_test_split(X, y, train_size=50, test_size=500, stratify=y, random_state=0)
    five = np.tile(X, (5, 1)), np.tile(y, 5)
    fitted, plain, grouped = losses(GaussianNB(), five[0], X_new, five[1], y_new)
    assert fitted.n_copies_ == 200
    table = fitted.estimator_.loo(*five, groups=np.tile(np.arange(50), 5))
    tables = Tables.of([table.by_block["x"][:50]], table.log_prior[:50])
    again = _map_fitting.fit_family(tables, table.index[:50], np.ones(50))
    assert [one.kind for one in again] == [one.kind for one in fitted.maps_]
    np.testing.assert_allclose(again[0].mode, fitted.maps_[0].mode, rtol=1e-5)
    _, _, alone = losses(GaussianNB(), five[0], X_new, five[1], y_new, copies="keep")
    assert grouped < 0.6 * alone < plain


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


def test_a_weight_is_as_many_rows_of_a_group(cancer):
    X, X_new, y, _ = cancer
    times = np.random.default_rng(0).integers(0, 4, len(y))
    weighted = CalibratedClassifierLOO(GaussianNB()).fit(X, y, times)
    rows = np.repeat(np.arange(len(y)), times)
    repeated = CalibratedClassifierLOO(GaussianNB()).fit(X[rows], y[rows], groups=rows)
    np.testing.assert_allclose(weighted.predict_proba(X_new), repeated.predict_proba(X_new), atol=1e-8)


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


def test_missing_cells_weaken_the_power(cancer):
    X, X_new, y, y_new = cancer
    rng = np.random.default_rng(0)
    holes = [rng.random(Z.shape) < rng.uniform(0, 0.95, (len(Z), 1)) for Z in (X, X_new)]
    X, X_new = (np.where(out, np.nan, Z) for out, Z in zip(holes, (X, X_new), strict=True))
    fitted, plain, calibrated = losses(GaussianNB(), X, X_new, y, y_new)
    assert calibrated < 0.25 < plain
    assert fitted.summary().query("parameter == 'g'")["median"].max() > 0
    assert np.isfinite(fitted.predict_proba(X_new[:1])).all()
    assert np.isfinite(fitted.predict_proba(np.full((1, 30), np.nan))).all()


def test_rows_of_words():
    mail = bayesnb.datasets.load_spam()
    X, X_new, y, y_new = train_test_split(mail.X.tocsr(), mail.y, train_size=200, stratify=mail.y, random_state=0)
    fitted, plain, calibrated = losses(MultinomialNB(), X, X_new, np.asarray(y), np.asarray(y_new))
    assert calibrated < 0.35 < 10 < plain
    g = fitted.summary().query("parameter == 'g'")["median"]
    assert g.max() == 1
    dense = CalibratedClassifierLOO(MultinomialNB()).fit(X.toarray(), np.asarray(y))
    np.testing.assert_allclose(dense.predict_proba(X_new.toarray()), fitted.predict_proba(X_new), atol=1e-6)


def test_each_part_has_a_power():
    X, y = load_breast_cancer(return_X_y=True)
    X = np.column_stack([X, X[:, :10] > np.median(X[:, :10], 0)])
    parts = [("sizes", GaussianNB(), list(range(30))), ("large", BernoulliNB(), list(range(30, 40)))]
    fitted = CalibratedClassifierLOO(MixedNB(parts), keep_labels=False).fit(X, y)
    assert {"w[sizes]", "w[large]"} <= set(fitted.summary()["parameter"])
    assert fitted.loo_log_loss_["calibrated"] < 0.5 * fitted.loo_log_loss_["plain"]
    p = fitted.sample_proba(X[:5], 20, 0)
    assert p.shape == (20, 5, 2)


def test_levels_in_a_data_frame():
    votes = bayesnb.datasets.load("votes")
    fitted = CalibratedClassifierLOO(CategoricalNB()).fit(votes.X, votes.y)
    assert fitted.loo_log_loss_["calibrated"] < 0.3 < fitted.loo_log_loss_["plain"]
    np.testing.assert_array_equal(fitted.feature_names_in_, votes.X.columns)
    assert isinstance(fitted.summary(), pd.DataFrame)


def test_intervals_and_uncertainty(cancer):
    X, X_new, y, _ = cancer
    fitted = CalibratedClassifierLOO(GaussianNB()).fit(X, y)
    draws = fitted.sample_proba(X_new[:20], 400, 0)
    np.testing.assert_allclose(draws.sum(-1), 1, atol=1e-12)
    low, high = np.moveaxis(fitted.predict_interval(X_new[:20], n_draws=400, seed=0), -1, 0)
    np.testing.assert_allclose([low, high], np.quantile(draws, [0.05, 0.95], axis=0), atol=1e-12)
    found = fitted.uncertainty(X_new[:20], n_draws=400, seed=0)
    np.testing.assert_allclose(found.total, found.aleatoric + found.epistemic)
    assert (found.epistemic > 0).all()
    # the average over θ and map is not the prediction, where θ is integrated out first; with 200 rows they are close
    assert abs(draws.mean(0) - fitted.predict_proba(X_new[:20])).mean() < 0.03
    with pytest.raises(ValueError, match="`method` is 'analytic'"):
        fitted.predict_interval(X_new, method="analytic")
    with pytest.raises(ValueError, match="`level` is 2"):
        fitted.predict_interval(X_new, level=2)


def test_draws_of_a_map_with_its_own_table(cancer):
    """Each draw is the textbook map at one θ: with one map, its mode, and one draw of θ."""
    X, X_new, y, _ = cancer
    fitted = CalibratedClassifierLOO(GaussianNB()).fit(X, y)
    nb = fitted.estimator_
    rng = np.random.default_rng(0)
    draws = _maps.draw(fitted.maps_, rng, 3)
    theta = nb.posterior_.sample(rng, (3,))
    joint = nb.posterior_.log_joint({"x": X_new[:4]}, theta)
    log_pi = theta["class"]["log_pi"]
    again = fitted.sample_proba(X_new[:4], 3, np.random.default_rng(0))
    for s, (kind, of_map) in enumerate(draws):
        given = Tables.of([joint[s] - log_pi[s]], np.broadcast_to(log_pi[s], joint[s].shape))
        np.testing.assert_allclose(again[s], textbook(kind, given, of_map).T, atol=1e-10)


def test_what_is_refused(cancer):
    X, _, y, _ = cancer
    with pytest.raises(TypeError, match="put CalibratedClassifierLOO inside the pipeline"):
        CalibratedClassifierLOO(make_pipeline(StandardScaler(), GaussianNB())).fit(X, y)
    with pytest.raises(TypeError, match="LogisticRegression, which has no `loo`"):
        CalibratedClassifierLOO(LogisticRegression()).fit(X, y)
    with pytest.raises(TypeError, match="GaussianNB, a class"):
        CalibratedClassifierLOO(GaussianNB).fit(X, y)
    with pytest.raises(ValueError, match="estimate='mean'"):
        CalibratedClassifierLOO(GaussianNB(estimate="mean")).fit(X, y)
    with pytest.raises(ValueError, match="has norm=True, which leave-one-out ignores"):
        CalibratedClassifierLOO(ComplementNB(norm=True)).fit(X, y)
    with pytest.raises(ValueError, match="has norm=True"):
        CalibratedClassifierLOO(ComplementNB()).calibrate(ComplementNB(norm=True).fit(X, y), X, y)
    for settings in ({"prior": "all"}, {"copies": "some"}, {"max_rows": 0}, {"max_rows": None}, {"max_rows": 9.5}):
        with pytest.raises(ValueError, match=f"`{next(iter(settings))}` is"):
            CalibratedClassifierLOO(GaussianNB(), **settings).fit(X, y)
    inside = make_pipeline(StandardScaler(), CalibratedClassifierLOO(GaussianNB())).fit(X, y)
    assert inside.score(X, y) > 0.9


def test_grid_search(cancer):
    X, _, y, _ = cancer
    grid = {"estimator__variance": ["class", "pooled"], "keep_labels": [True, False]}
    search = GridSearchCV(CalibratedClassifierLOO(GaussianNB()), grid, scoring="neg_log_loss", cv=3).fit(X, y)
    assert -search.best_score_ < 0.3


def test_leave_one_out_with_the_prior_refitted():
    X, y = load_iris(return_X_y=True)
    X, y = X[::10], y[::10]
    kept, refit = (CalibratedClassifierLOO(GaussianNB(), prior=prior).fit(X, y) for prior in ("kept", "refit"))
    assert (kept.loo_prior_, refit.loo_prior_) == ("kept", "refit")
    alone = [
        GaussianNB().fit(np.delete(X, i, 0), np.delete(y, i)).predict_log_proba(X[[i]])[0, y[i]] for i in range(len(y))
    ]
    assert refit.loo_log_loss_["plain"] == pytest.approx(-np.mean(alone), rel=1e-9)
    assert kept.loo_log_loss_["plain"] != pytest.approx(-np.mean(alone), rel=1e-3)


def test_a_sample_of_many_rows():
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=3000)
    X = np.repeat(rng.normal(size=(3000, 2)) + y[:, None], 3, axis=1) + 0.1 * rng.normal(size=(3000, 6))
    every, some = (CalibratedClassifierLOO(GaussianNB(), max_rows=most).fit(X, y) for most in (5000, 1500))
    assert abs(every.predict_proba(X) - some.predict_proba(X)).mean() < 0.02
    groups = np.arange(3000) // 10
    fitted = CalibratedClassifierLOO(GaussianNB(), max_rows=200).fit(X, y, groups=groups)
    assert fitted.loo_log_loss_["calibrated"] < fitted.loo_log_loss_["plain"]


class NearestMean(ClassifierMixin, BaseEstimator):
    """A classifier of somebody else's, with the four methods that calibration needs."""

    def fit(self, X, y):
        self.classes_, index = np.unique(y, return_inverse=True)
        self.class_count_ = np.bincount(index)
        self.means_ = np.stack([X[index == c].mean(0) for c in range(len(self.classes_))])
        self.n_features_in_ = X.shape[1]
        return self

    def predict_joint_log_proba(self, X):
        log_prior = np.log(self.class_count_ / self.class_count_.sum())
        return log_prior - 5 * ((X[:, None] - self.means_) ** 2).sum(-1)

    def predict_proba(self, X):
        return np.exp(log_softmax(self.predict_joint_log_proba(X), axis=1))

    def sample_proba(self, X, n_draws, seed):
        return np.tile(self.predict_proba(X), (n_draws, 1, 1))

    def loo(self, X, y, sample_weight=None):
        table = np.stack(
            [
                clone(self).fit(np.delete(X, i, 0), np.delete(y, i)).predict_joint_log_proba(X[[i]])[0]
                for i in range(len(y))
            ]
        )
        index = np.searchsorted(self.classes_, y)
        return type("Loo", (), {"log_joint": table, "index": index, "weight": np.ones(len(y))})


def test_any_estimator_with_leave_one_out():
    X, y = load_iris(return_X_y=True)
    fitted = CalibratedClassifierLOO(NearestMean(), prior="refit").fit(X[::2], y[::2])
    assert fitted.loo_prior_ == "kept"
    assert fitted.loo_log_loss_["calibrated"] <= fitted.loo_log_loss_["plain"] + 0.01
    assert fitted.sample_proba(X[:3], 5, 0).shape == (5, 3, 3)
    with pytest.raises(ValueError, match="loo cannot leave out groups"):
        fitted.fit(X, y, groups=np.arange(len(y)) // 2)


# --- files, clusters, NumPyro, plots --------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [200, 1200])
def test_a_file_holds_it(tmp_path, n):
    X, y = load_digits(return_X_y=True)
    fitted = CalibratedClassifierLOO(GaussianNB(), keep_labels=n > 500).fit(X[:n, 20:26], y[:n] % 2)
    fitted.save(tmp_path / "model")
    again = bayesnb.load(tmp_path / "model")
    assert repr(again) == repr(fitted)
    for name in ("predict_proba", "predict"):
        np.testing.assert_array_equal(getattr(again, name)(X[n:, 20:26]), getattr(fitted, name)(X[n:, 20:26]))
    np.testing.assert_array_equal(again.sample_proba(X[n:, 20:26], 5, 0), fitted.sample_proba(X[n:, 20:26], 5, 0))
    assert again.loo_log_loss_ == fitted.loo_log_loss_
    again.save(tmp_path / "twice")
    assert (tmp_path / "twice").read_bytes() == (tmp_path / "model").read_bytes()
    again.maps_ = ()
    with pytest.raises(ValueError, match="there are no maps"):
        again.save(tmp_path / "never")


@pytest.mark.parametrize("kind", [KINDS[7], KINDS[11]], ids=lambda kind: kind.name)
def test_numpyro_has_the_same_density(kind):
    import jax
    from numpyro.infer.util import log_density

    from bayesnb.analysis.calibration_check import _sites

    rng = np.random.default_rng(0)
    tables, index, weight = drawn_tables(rng, 2, 3, 40)
    prepared, y = Prepared.of(kind, tables), _maps.one_hot_rows(index, 3)
    k = len(prepared.m)
    mean, sd = kind.prior(k, 3)
    with jax.enable_x64(True):
        for theta in mean + sd * rng.normal(size=(3, len(mean))):
            theirs, _ = log_density(_maps.model, (kind, tables, index, weight), {}, _sites(kind, k, 3, theta))
            assert _map_fitting.log_density(prepared, theta, y, weight) == pytest.approx(float(theirs), rel=1e-10)


@pytest.mark.slow
def test_check_passes_and_can_fail(cancer, monkeypatch):
    X, _, y, _ = cancer
    report = CalibratedClassifierLOO(GaussianNB()).check(X, y)
    assert report.passed, report
    assert report.quality[1].log_loss < report.quality[0].log_loss
    assert "calibrated" in report.explain(verbose=True)
    prior = _maps.Kind.prior

    def other(self, k, c):  # in the closed form alone, not in NumPyro's model
        mean, sd = prior(self, k, c)
        return mean + 0.5, sd

    monkeypatch.setattr(_maps.Kind, "prior", other)
    wrong = CalibratedClassifierLOO(GaussianNB()).check(X, y)
    assert not wrong.rows[0].passed
    assert not wrong.rows[1].passed


def test_numpyro_model_takes_rows(cancer):
    from numpyro import handlers

    X, _, y, _ = cancer
    fitted = CalibratedClassifierLOO(GaussianNB()).fit(X, y)
    trace = handlers.trace(handlers.seed(fitted.numpyro_model, 0)).get_trace(X, y)
    assert "log_power" in trace
    assert trace["y"]["value"].shape == (len(y),)


def test_the_plot_draws_the_map_and_its_parameters(cancer):
    pytest.importorskip("matplotlib").use("Agg")
    import matplotlib.pyplot as plt

    X, _, y, _ = cancer
    fitted = CalibratedClassifierLOO(GaussianNB()).fit(X, y)
    axes = plt.subplots(1, 2)[1]
    assert list(bayesnb.plots.calibration_map(fitted, axes=axes)) == list(axes)
    before, after = (line.get_ydata() for line in axes[0].get_lines())
    x = axes[0].get_lines()[0].get_xdata()
    t = np.stack([0 * x, x], 1)
    log_prior = np.broadcast_to(fitted.estimator_.class_log_prior_, t.shape)
    np.testing.assert_allclose(before, softmax(t + log_prior, axis=1)[:, 1], atol=1e-12)
    np.testing.assert_allclose(after, _maps.average(fitted.maps_, Tables.of([t], log_prior))[1], atol=1e-12)
    assert len(axes[1].get_yticks()) == (fitted.summary()["parameter"] != "").sum()
    plt.close("all")
    X, y = load_digits(return_X_y=True)
    pair = bayesnb.plots.calibration_map(CalibratedClassifierLOO(GaussianNB()).fit(X[:300], y[:300]))
    assert len(pair[0].get_lines()) == 20
    plt.close("all")
    with pytest.raises(ValueError, match="give two"):
        bayesnb.plots.calibration_map(fitted, axes=[1])
