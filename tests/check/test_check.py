"""The check can fail: an update, a mode, a NumPyro prior and a predictive are broken in turn, and each is caught."""

import json
import re
from dataclasses import replace

import jax
import numpy as np
import pytest
from scipy.special import ndtr, ndtri
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.metrics import log_loss

from bayesnb import (
    BernoulliNB,
    CalibratedClassifierLOO,
    CategoricalNB,
    DiscriminativeNB,
    GaussianNB,
    MixedNB,
    OneDependenceNB,
)
from bayesnb.check import against_numpyro, check
from bayesnb.check.against_numpyro import identity_row, mode_row
from bayesnb.check.draws import drawn_rows, uniform_row
from bayesnb.check.laws import EXACT, Problem, cases, choose, closed_rows, estimates, kind_of
from bayesnb.check.report import CheckReport, CheckRow, Dependence, Pair
from bayesnb.families import (
    BetaBernoulli,
    DirichletClasses,
    DirichletMultinomial,
    NormalInverseGamma,
    NormalInverseWishart,
)
from bayesnb.models.naive_bayes import NaiveBayes
from bayesnb.posterior.chains import forget_programs, run_chains, start_points
from bayesnb.posterior.held_out import Differences, differences, quality, split_halves

from ..estimators_table import mostly_slow

RATE = 0.01


@pytest.fixture(autouse=True)
def _programs_anew():
    """Some tests replace methods that compiled programs call."""
    forget_programs()
    yield
    forget_programs()


def problem(prior, x, y):
    return Problem(NaiveBayes(DirichletClasses(np.full(2, 1.5)), {"x": prior}), {"x": x}, y)


@pytest.fixture
def yes_no():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 30)
    x = (rng.random((30, 2)) < np.where(y[:, None] == 1, 0.7, 0.3)).astype(float)
    prior = BetaBernoulli(np.full((2, 2), 1.3), np.full((2, 2), 1.7))
    return problem(prior, x, y)


@pytest.fixture
def real():
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 30)
    x = 1e3 * (rng.normal(size=(30, 2)) + y[:, None])
    shape = (2, 2)
    prior = NormalInverseGamma(np.zeros(shape), np.full(shape, 0.5), np.full(shape, 2.0), np.full(shape, 1e6))
    return problem(prior, x, y)


@pytest.fixture(params=["yes_no", "real"])
def sound(request):
    return request.getfixturevalue(request.param)


def exact_chains(this, rng, chains=4, length=1000):
    return this.posterior.to_sites(this.posterior.sample(rng, (chains, length)))


def test_an_update_off_by_one_and_a_wrong_evidence_fail_row_1(sound, rng):
    block = sound.posterior.blocks["x"]
    name, broken = "a" if isinstance(block, BetaBernoulli) else "kappa", replace(sound)
    off = replace(block, **{name: getattr(block, name) + 1})
    vars(broken)["posterior"] = replace(sound.posterior, blocks={"x": off})
    assert not identity_row(broken, rng).passed
    vars(sound)["evidence"] = sound.evidence + 1e-5
    assert not identity_row(sound, rng).passed


def test_the_mean_for_the_mode_fails_row_2(real, rng, monkeypatch):
    assert abs(real.posterior.blocks["x"].m).max() > 650  # a location of this size is no parameter on a boundary
    assert mode_row(real, rng).passed
    forget_programs()
    monkeypatch.setattr(NormalInverseGamma, "mode", NormalInverseGamma.mean)
    assert not mode_row(real, rng).passed


@pytest.mark.slow
def test_a_wrong_numpyro_prior_fails_rows_1_and_3a(yes_no, rng, monkeypatch):
    sound = against_numpyro.short_chains_row(yes_no, rng, RATE)
    assert sound.passed, sound
    model = BetaBernoulli.model

    def other(self, x, y):
        model(replace(self, a=self.a + 0.3), x, y)  # 1.6 for 1.3

    monkeypatch.setattr(BetaBernoulli, "model", other)
    forget_programs()
    broken = against_numpyro.short_chains_row(yes_no, rng, RATE)
    assert not broken.passed
    assert not identity_row(yes_no, rng).passed


def test_chains_of_another_posterior_fail_row_3b(sound, rng):
    assert against_numpyro.nuts_row(sound, exact_chains(sound, rng), RATE).passed
    one_way = {name: np.sort(value, axis=1) for name, value in exact_chains(sound, rng).items()}
    assert not against_numpyro.nuts_row(sound, one_way, RATE).passed
    first, rest = (exact_chains(sound, rng, 100, length) for length in (20, 80))
    apart = {name: np.concatenate([np.sort(first[name], axis=0), rest[name]], 1) for name in rest}
    row = against_numpyro.nuts_row(sound, apart, RATE)
    assert not row.passed and row.figure < row.threshold and "R-hat at most 1.04" in row.remark
    fewer = Problem(sound.prior, {"x": sound.rows["x"][1:]}, sound.y[1:])
    assert not against_numpyro.nuts_row(sound, exact_chains(fewer, rng, length=20_000), RATE).passed


def test_a_plug_in_for_the_predictive_fails_row_4(real, rng, monkeypatch):
    sites = exact_chains(real, rng, length=5000)
    # the second rows are so far out that each draw calls the class impossible, and few draws carry the average
    rows, far = ({"x": real.rows["x"] * np.array(scale)} for scale in ([1.5, 1.5], [1.0, 100.0]))
    near = against_numpyro.prediction_row(real, sites, rows, RATE)
    assert near.passed and float(near.remark.split("largest difference ")[1]) < 0.01
    assert against_numpyro.prediction_row(real, sites, far, RATE).passed
    monkeypatch.setattr(NormalInverseGamma, "log_predictive", lambda self, x: self.log_likelihood(self.mode(), x))
    assert not against_numpyro.prediction_row(real, sites, rows, RATE).passed


@pytest.mark.slow
def test_report():
    X, y = load_iris(return_X_y=True, as_frame=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    report = GaussianNB().check(X, names, seed=0)
    assert report.passed, str(report)
    done = []
    assert GaussianNB().check(X, names, seed=0, on_row=done.append).rows == report.rows == tuple(done)
    assert [row.name[:2].strip() for row in report.rows] == ["1", "2", "3a", "3b", "4", *map(str, range(5, 13))]
    text, detail = str(report), report.explain(verbose=True)
    assert text.endswith("13 of 13 rows pass: the check passes")
    assert "rounding leaves" in detail and "rounding leaves" not in text
    assert max(map(len, [*text.splitlines(), *detail.splitlines()])) <= 120
    again = json.loads(json.dumps(report.to_dict(), allow_nan=False))
    assert again["passed"] is True
    names_and_rows = [(q["name"], q["rows"], q["features"]) for q in again["quality"]]
    assert names_and_rows[:3] == [("MAP", 75, 4), ("predictive", 75, 4), ("posterior mean", 75, 4)]
    assert names_and_rows[3:] == [("posterior mean", 40, 4), ("posterior mean by NUTS", 40, 4)]
    plug_in, closed, mean, *of_chains = report.quality
    assert closed.log_loss != plug_in.log_loss and abs(of_chains[0].log_loss - of_chains[1].log_loss) < 0.01
    assert again["by_nuts"]["mean"] < 0.003 < again["plug_in"]["mean"]
    assert "posterior mean by NUTS and by exact draws: differ by 0.00" in text
    train, test = split_halves(names, 0)
    nb = GaussianNB().fit(X.iloc[train], names[train])
    p = nb.predict_proba(X.iloc[test])
    apart = abs(nb.set_params(estimate="map").predict_proba(X.iloc[test]) - p)
    assert again["plug_in"] == pytest.approx({"mean": apart.mean(), "largest": apart.max(), "labels": 0, "rows": 75})
    assert closed.log_loss == pytest.approx(log_loss(names[test], p))
    exact = nb.sample_proba(X.iloc[test], 1000, seed=0).mean(0)
    assert mean.log_loss == pytest.approx(log_loss(names[test], exact))
    assert again["dependence"]["beyond"] > 0 and again["dependence"]["compared"] == 6
    assert not replace(report, rows=(replace(report.rows[0], passed=False),)).passed


def test_modes_on_the_boundary_pass_row_2(rng):
    x, y = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 0.0], [1.0, 1.0]]), np.array([0, 0, 1, 1])
    nb = BernoulliNB().fit(x, y)
    assert nb.posterior_.on_boundary()
    assert mode_row(Problem(nb.prior_, nb.model_.encode(x), y), rng).passed


@pytest.mark.slow
def test_the_columns_of_the_chains_are_drawn_by_the_seed_and_named():
    rng = np.random.default_rng(0)
    x = rng.integers(0, 3, (80, 12)).astype(float)
    x[:, ::2] = x[:, ::2] > 1  # blocks of two and of three levels
    y = rng.integers(0, 2, 80)
    reports = [CategoricalNB().check(x, y, seed=seed) for seed in (0, 0, 1)]
    assert all(report.passed for report in reports)
    named = [set(re.findall(r"column \d+", report.rows[3].remark)) for report in reports]
    assert len(named[0]) == 8 and named[0] == named[1] != named[2]


@pytest.mark.slow
@pytest.mark.parametrize("alpha", [0.001, 0.01, 0.05, 1])
@pytest.mark.parametrize("n", [5, 20, 100])
def test_a_right_model_of_small_concentrations_passes(alpha, n):
    """Half of the shares of alpha = .001 are below the least double, a sixth of .05 are within 1e-16 of 1."""
    rng = np.random.default_rng(n)
    x, y = rng.integers(0, 3, (n, 3)), np.arange(n) % 2
    report = CategoricalNB(alpha=alpha).check(x, y)
    assert report.passed, str(report)
    train, _ = split_halves(y, 0)
    without_a_cell = {f"column {j}" for j in range(3) if has_an_empty_level(x[train, j], y[train])}
    of_chains = next(row for row in report.rows if row.name.startswith("3a"))
    left_out = of_chains.remark.partition("left out: ")[2]
    assert set(re.findall(r"column \d", left_out)) == (without_a_cell if alpha < 0.05 else set())
    assert ("NumPyro's chains do not mix" in left_out) is (alpha < 0.05 and len(without_a_cell) > 0)


def has_an_empty_level(cells, y):
    """Whether a class has no cell of a level: its posterior concentration is then the prior's."""
    return any((cells[y == label] != level).all() for label in np.unique(y) for level in range(cells.max() + 1))


@pytest.mark.parametrize("alpha", mostly_slow([1e-3, 0.01, 0.05], lambda alpha: alpha == 0.01))
@pytest.mark.slow
def test_draws_of_small_concentrations_follow_their_marginals(alpha):
    rng = np.random.default_rng(0)
    x, y = rng.integers(0, 3, (10, 3)), np.arange(10) % 2
    nb = CategoricalNB(alpha=alpha, class_alpha=alpha).fit(x, y)
    for row in drawn_rows(Problem(nb.prior_, nb.model_.encode(x), y), rng, 1e-4):
        assert row.passed, row


def test_a_mode_at_a_share_of_0_passes_row_9():
    """A class of one row at α = .001: the mode holds two shares at 1e-305, where draws are 0 in doubles."""
    x, y = np.array([[0, 1], [2, 2]]), np.array([0, 1])
    nb = CategoricalNB(alpha=1e-3, min_categories=3).fit(x, y)
    this = Problem(nb.prior_, nb.model_.encode(x), y)
    for seed in range(5):
        gaps = [gap for case in cases(this, np.random.default_rng(seed)) for gap in estimates(case)]
        assert max(gap.size for gap in gaps) < EXACT, gaps


def test_bad_settings_are_named():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match=r"`false_alarm` is 1\.5"):
        GaussianNB().check(X, y, false_alarm=1.5)
    with pytest.raises(ValueError, match="`y` has 1 row"):
        GaussianNB().check(X[:1], y[:1])


@pytest.fixture
def no_rows(monkeypatch):
    """A check that only says what its rows would compare: the problems that it gave to them."""
    problems = []
    for name in ("identity_row", "mode_row", "closed_rows", "drawn_rows", "intervals_row", "_add_chain_rows"):
        result = check._Chains() if name == "_add_chain_rows" else []
        monkeypatch.setattr(check, name, lambda problem, *_, result=result: problems.append(problem) or result)
    monkeypatch.setattr(check._Rows, "add", lambda *_: None)
    return problems


def counted_table():
    """Rows that counts stand for, with a row of count 0: rows, labels and counts, and the repeated rows and labels."""
    rng = np.random.default_rng(3)
    X, y = rng.integers(0, 2, (12, 3)).astype(float), np.arange(12) % 2
    counts = np.array([1, 3, 0, 4, 1, 2, 5, 1, 1, 6, 2, 1])
    return X, y, counts, np.repeat(X, counts, 0), np.repeat(y, counts)


def test_counts_are_checked_as_repeated_rows(no_rows):
    X, y, counts, rows, labels = counted_table()
    report, repeated = BernoulliNB().check(X, y, sample_weight=counts), BernoulliNB().check(rows, labels)
    assert report.to_dict() == repeated.to_dict()
    assert report.settings["rows_fitted"] + report.settings["rows_held_out"] == counts.sum() == len(labels)
    whole, of_repeated = no_rows[0], no_rows[len(no_rows) // 2]
    assert np.array_equal(whole.rows["x"], of_repeated.rows["x"])
    assert whole.evidence == of_repeated.evidence


@pytest.mark.parametrize(
    ("estimator", "rows_of_model"),
    [
        (CalibratedClassifierLOO(BernoulliNB()), "bayesnb.calibration.checking.map_rows"),
        pytest.param(
            DiscriminativeNB([("x", BernoulliNB(), [0, 1, 2])]),
            "bayesnb.discriminative.checking.weight_rows",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_counted_rows_of_a_calibration_leave_one_by_one(estimator, rows_of_model, monkeypatch):
    """As repeated rows do that are said to be different ones; equal rows of which nothing is said leave together."""
    X, y, counts, rows, labels = counted_table()
    of_classes = CheckReport("", (), (), {}, None)
    monkeypatch.setattr("bayesnb.estimators._base.AbstractNB.check", lambda nb, *_, **__: of_classes)
    fits = []
    monkeypatch.setattr(rows_of_model, lambda *training: fits.append(training) or [])
    quality = estimator.check(X, y, sample_weight=counts).quality[0]

    train, test = split_halves(labels, 0)
    expected = clone(estimator).fit(rows[train], labels[train], groups=np.arange(len(train)))
    expected_loss = log_loss(labels[test], expected.predict_proba(rows[test]))
    assert quality.log_loss == pytest.approx(expected_loss, rel=1e-9)
    fitted, *training, _ = fits[0]
    for given, wanted in zip(training, (rows[train], labels[train], np.ones(len(train), int)), strict=True):
        assert np.array_equal(given, wanted)
    assert fitted.predict_proba(rows) == pytest.approx(expected.predict_proba(rows), rel=1e-9)


@pytest.mark.parametrize("estimator", [GaussianNB(), OneDependenceNB(), CalibratedClassifierLOO(GaussianNB())])
@pytest.mark.parametrize(
    ("weight", "text"),
    [
        (np.full(12, 0.5), r"float type.*`sample_weight.astype\(int\)`.*leave them out"),
        (np.full(12, 10**6), r"`sample_weight` counts 12,000,000 rows, .* at most 1,000,000; give it a sample"),
        ({}, "`sample_weight` holds no numbers"),
    ],
)
@pytest.mark.filterwarnings("ignore:`sample_weight` has")
def test_weights_that_no_model_of_rows_has_are_refused(estimator, weight, text):
    X, y, *_ = counted_table()
    with pytest.raises(ValueError, match=text):
        estimator.check(X, y, sample_weight=weight)


def test_parameters_that_are_known_exactly_are_left_out_of_the_statistics(rng):
    """A text column of one level: its share is 1, and has no distribution to compare."""
    x, y = np.column_stack([rng.integers(0, 2, 30), np.zeros(30)]).astype(float), np.arange(30) % 2
    nb = MixedNB([("a", CategoricalNB(), [0]), ("b", CategoricalNB(), [1])]).fit(x, y)
    this = Problem(nb.prior_, nb.model_.encode(x), y)
    row = against_numpyro.nuts_row(this, exact_chains(this, rng), RATE)
    assert row.passed, row
    assert all(row.passed for row in closed_rows(this, this, rng))
    assert all(row.passed for row in drawn_rows(this, rng, RATE))


def test_a_report_says_what_fails_and_what_it_found_of_the_data():
    """In plain words, and what it found never as a failure."""
    sizes = {n: 1 for n in ("rows_fitted", "rows_held_out", "features", "classes", "seed")}
    row = CheckRow("7  Leave-one-out", 0.1, 1e-7, "relative", False, "exact", "log_loo is off", meaning="M.")
    text = str(CheckReport("GaussianNB()", (row,), (), sizes))
    assert "does not compute what it claims to compute: Leave-one-out. Do not rely" in " ".join(text.split())
    assert "log_loo is off" in text  # the detail of what fails, without --verbose
    row = CheckRow("1  Bayes' identity", 0.0, 1e-9, "relative", True, "exact", meaning="M.")
    report = CheckReport("GaussianNB()", (row,), (), sizes, Differences(0.0123, 0.5, 3, 75))
    assert "differ by 0.0123 on average, by 0.5000 at most; 3 of 75 labels change" in str(report)
    pair = Pair("height", "weight " * 20, "tall", 0.9, -0.2, 0.3)
    for found, said in (
        (Dependence((pair,), 1, 3, 99), "1 of 3 pairs of columns are correlated more or less"),
        (Dependence((pair,), 0, 3, 99, "the 100 of 300 columns"), "None of 3 pairs of columns"),
        (Dependence(remark="no class varies"), "not shown, because no class varies"),
    ):
        text = str(replace(report, dependence=found))
        assert said in " ".join(text.split()) and found.remark in text and "the check passes" in text
        assert max(map(len, text.splitlines())) <= 120


@pytest.mark.slow
def test_false_alarms_are_as_rare_as_claimed(yes_no, rng):
    """60 runs of rows 3b and 4 on NumPyro's own chains, at a rate of 10 % each: more than 14 have probability 6e-4."""
    groups, rate = 60, 0.1
    exact = {name: value[0] for name, value in exact_chains(yes_no, rng, chains=1, length=1000).items()}
    starts, scale = start_points(yes_no.twin, exact, 4 * groups, spread=3.0)
    sites, _ = run_chains(yes_no.twin, starts, scale, 1, draws=1000, warmup=500)
    rows = {"x": yes_no.rows["x"][:10]}
    chains, predictions = [], []
    for at in range(0, 4 * groups, 4):
        some = jax.tree.map(lambda value, at=at: value[at : at + 4], sites)
        chains.append(against_numpyro.nuts_row(yes_no, some, rate))
        predictions.append(against_numpyro.prediction_row(yes_no, some, rows, rate))
    assert sum(not row.passed for row in chains) <= 14
    assert sum(not row.passed for row in predictions) <= 14
    assert np.median([row.figure for row in predictions]) > 0.5  # in standard errors: the error bars are not too wide


@pytest.mark.parametrize("scores", [False, True])
@pytest.mark.slow
def test_tests_of_uniform_variables_raise_few_alarms_and_see_a_spread(scores, rng):
    """500 runs at 10 %: more than 75 alarms have probability 1e-4. The spread is found by normal scores alone."""
    u = {"a": rng.random((500, 400, 3)), "b": rng.random((500, 400, 2))}

    def found(pit):
        return uniform_row("name", "M.", pit, 0.1, "sizes", scores=scores)

    rows = [found({name: value[s] for name, value in u.items()}) for s in range(500)]
    alarms = sum(not row.passed for row in rows)
    assert 15 < alarms <= 75
    assert rows[0].threshold == pytest.approx(0.1 / (15 if scores else 5))
    wide = found({"a": u["a"][0], "b": ndtr(1.15 * ndtri(u["b"][1]))})
    assert wide.passed is not scores and (not scores or wide.remark == "b is off; sizes")
    assert not found({"a": u["a"][0], "b": np.sqrt(u["b"][0])}).passed


@pytest.mark.slow
def test_a_density_without_a_bound_passes_row_2(rng, monkeypatch):
    """Below a concentration of 1 it grows towards 0 without end: no search arrives, and none finds a better point."""
    x, y = rng.poisson([9, 9, 1, 1, 1, 0, 0, 0], (30, 8)).astype(float), np.repeat([0, 1], 15)
    unbounded = problem(DirichletMultinomial(np.full((2, 8), 0.5)), x, y)
    row = mode_row(unbounded, rng)
    assert row.passed, row
    assert "nats below the mode" in row.remark
    forget_programs()
    monkeypatch.setattr(DirichletMultinomial, "mode", DirichletMultinomial.mean)  # a wrong mode is still a wrong mode
    assert not mode_row(unbounded, rng).passed


@pytest.mark.slow
def test_coupled_features_have_a_dense_metric(rng):
    x, y = rng.normal(size=(40, 2)), np.repeat([0, 1], 20)
    eye = np.tile(np.eye(2), (2, 1, 1))
    full = problem(NormalInverseWishart(np.zeros((2, 2)), np.ones(2), np.full(2, 4.0), eye), x, y)
    assert full.prior.coupled
    row = against_numpyro.short_chains_row(full, rng, RATE)
    assert row.passed, row
    broken = problem(NormalInverseWishart(np.zeros((2, 2)), np.ones(2), np.full(2, 9.0), 3 * eye), x, y)
    vars(broken)["posterior"] = full.posterior  # NumPyro's prior is another than the closed form's
    assert not against_numpyro.short_chains_row(broken, rng, RATE).passed


def test_how_well_a_table_predicts_and_how_two_differ():
    """By hand: confidences .7 and .74 share a bin, in which one of the two is right; a sure row is in the last bin."""
    p = np.array([[0.7, 0.3], [0.26, 0.74], [0.6, 0.4], [0.0, 1.0], [0.15, 0.85]])
    with np.errstate(divide="ignore"):
        joint = np.log(p) + np.arange(5)[:, None]
    found = quality("model", 9, 3, joint, np.array([0, 0, 1, 1, 1]))
    assert (found.name, found.rows, found.features, found.accuracy) == ("model", 9, 3, 0.6)
    assert found.log_loss == pytest.approx(-np.log([0.7, 0.26, 0.4, 1.0, 0.85]).mean())
    assert found.calibration_error == pytest.approx((abs(0.7 + 0.74 - 1) + 0.6 + 0.15) / 5)
    other = np.log([[0.6, 0.4], [0.26, 0.74], [0.3, 0.7], [0.1, 0.9], [0.15, 0.85]])
    apart = differences(joint, other)
    assert (apart.mean, apart.largest, apart.labels, apart.rows) == pytest.approx((0.1, 0.3, 1, 5))


def test_every_other_row_keeps_about_five_cells(real, rng):
    kept = ~np.isnan(against_numpyro.thin(real.prior, {"x": rng.normal(size=(400, 20))}, rng)["x"])
    assert kept[::2].all() and kept[1::2].sum(1).mean() == pytest.approx(5, abs=0.6)


def test_which_rows_are_tried_and_what_values_a_site_has(rng):
    assert len({*choose(rng, 9, 8)}) == 8 and choose(rng, 3, 8).tolist() == [0, 1, 2]
    ones, eye = np.ones((2, 3)), np.tile(np.eye(3), (2, 1, 1))
    for block, kinds in (
        (BetaBernoulli(ones, ones), {"theta": "interval"}),
        (DirichletMultinomial(ones), {"theta": "simplex"}),
        (NormalInverseGamma(ones, ones, ones, ones), {"mu": "real", "variance": "positive"}),
        (NormalInverseWishart(ones, np.ones(2), np.full(2, 4.0), eye), {"mu": "real", "covariance": "matrix"}),
    ):
        assert {name: kind_of(site) for name, site in block.sites().items()} == kinds
