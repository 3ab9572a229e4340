"""Model comparison: Bayes factors, leave-one-out differences, and likelihoods that are comparable at all."""

import jaxtyping
import numpy as np
import pandas as pd
import pytest
import scipy.special as sp
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import bayesnb
from bayesnb import drop_in
from bayesnb.analysis.comparison import _lucky_best, compare, stacked_weights
from bayesnb.analysis.importance import importance
from bayesnb.estimators import (
    ComplementNB,
    GaussianDA,
    GaussianNB,
    GeometricNB,
    KernelNB,
    MixedNB,
    MultinomialNB,
    PoissonNB,
)

from ..estimators_table import WHOLE

MODELS = {
    "class": GaussianNB(),
    "pooled": GaussianNB(variance="pooled"),
    "full": GaussianDA(),
    "shared": GaussianDA(covariance="shared"),
}


@pytest.fixture(scope="module")
def wine():
    X, y = load_wine(return_X_y=True)
    return X, y, np.random.default_rng(0).choice([0.5, 1.0, 2.0], len(y))


@pytest.mark.parametrize("weighted", [False, True])
def test_the_table_is_made_of_evidence_and_leave_one_out(weighted, wine):
    X, y, w = wine
    w = w if weighted else None
    found = compare(MODELS, X, y, w)
    assert list(found.table.index) == sorted(MODELS, key=lambda name: -found.table.loc[name, "elpd"])
    fits = {name: clone(nb).fit(X, y, w) for name, nb in MODELS.items()}
    loos = {name: nb.loo(X, y, w) for name, nb in fits.items()}
    top = max(nb.log_evidence_ for nb in fits.values())
    total = sp.logsumexp([nb.log_evidence_ for nb in fits.values()])
    best = loos[max(loos, key=lambda name: loos[name].elpd)]
    for name, row in found.table.iterrows():
        assert row["log_evidence"] == fits[name].log_evidence_
        assert row["log_bayes_factor"] == fits[name].log_evidence_ - top
        assert row["probability"] == pytest.approx(np.exp(fits[name].log_evidence_ - total), rel=1e-9)
        assert (row["elpd"], row["se"], row["accuracy"]) == (loos[name].elpd, loos[name].se, loos[name].accuracy)
        assert row["elpd_diff"] == pytest.approx(loos[name].elpd - best.elpd, rel=1e-9, abs=1e-9)
        weight, terms = loos[name].weight, loos[name].pointwise - best.pointwise
        mean = weight @ terms / weight.sum()  # of importance weights; without weights it is the plain mean
        assert row["se_diff"] == pytest.approx(np.sqrt(((weight * (terms - mean)) ** 2).sum()), rel=1e-9)
    assert found.table["elpd_diff"].iloc[0] == found.table["se_diff"].iloc[0] == 0
    assert found.notes == ()
    assert "log_evidence" in str(found)


def test_what_is_fitted_is_used_as_it_is(wine):
    X, y, _ = wine
    nb = GaussianNB().fit(X, y)
    with pytest.raises(ValueError, match="is empty"):
        compare({}, X, y)
    found = compare({"nb": nb}, X, y, fitted=True)
    assert found.estimators["nb"] is nb
    with pytest.raises(ValueError, match="not fitted"):
        compare({"nb": GaussianNB()}, X, y, fitted=True)
    with pytest.raises(ValueError, match="never fitted"):
        compare({"nb": GaussianNB().fit(X[:90], y[:90])}, X[:90].repeat(2, 0), y[:90].repeat(2), fitted=True)


@pytest.mark.parametrize(
    ("nb", "advice"),
    [
        (bayesnb.FeatureAverage(GaussianNB()), r"Give `estimators\['m'\]\.estimator`"),
        (bayesnb.HalfLabelledClassifier(GaussianNB()), r"Give `estimators\['m'\]\.estimator`"),
        (bayesnb.PosteriorCalibrator(GaussianNB()), r"Give `estimators\['m'\]\.estimator`"),
        (bayesnb.ConformalClassifierLOO(GaussianNB()), r"Give `estimators\['m'\]\.estimator`"),
        (drop_in.GaussianNB(), r"Give `estimators\['m'\]\.bayes_`"),
        (LogisticRegression(), "Transform X"),
        (make_pipeline(GaussianNB()), "Transform X"),
    ],
    ids=lambda one: "" if isinstance(one, str) else type(one).__name__,
)
def test_what_has_no_leave_one_out_is_refused(nb, advice, wine):
    X, y, _ = wine
    with pytest.raises(TypeError, match=rf"`estimators\['m'\]` is .*{type(nb).__name__}; compare needs .*{advice}"):
        compare({"m": nb}, X, y)


def test_a_list_of_models_is_refused(wine, monkeypatch):
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)  # which refuses it first, in its own words
    with pytest.raises(ValueError, match="`estimators` is a list; give a mapping from name to estimator"):
        compare([GaussianNB()], *wine[:2])


def test_evidence_that_does_not_compare_is_told():
    X, y = load_iris(return_X_y=True)
    X = np.round(X)
    found = compare({"complement": ComplementNB(), "poisson": PoissonNB()}, X, y)
    assert np.isnan(found.table.loc["complement", ["log_evidence", "log_bayes_factor", "probability"]].to_list()).all()
    assert found.table.loc["poisson", "probability"] == 1
    assert "complement has no evidence" in found.notes[0]
    kernel = compare({"kernel": KernelNB(bandwidth="nrd0"), "gaussian": GaussianNB()}, X[::5], y[::5])
    assert "kernel has no evidence: KernelNB has no log_evidence_: the leave-one-out product of" in kernel.notes[0]
    assert kernel.table["elpd"].notna().all()
    assert kernel.table.loc["gaussian", "probability"] == 1
    own_kind = compare({"one": ComplementNB(), "two": ComplementNB(alpha=2)}, X, y)
    assert own_kind.table["log_evidence"].notna().all()
    mixed = compare({"gaussian": GaussianNB(), "poisson": PoissonNB(), "multinomial": MultinomialNB()}, X, y)
    assert "multinomial: probabilities given the row totals" in mixed.notes[0]
    assert compare({repr(nb): nb for nb in (PoissonNB(), PoissonNB(beta=2), *WHOLE)}, X, y).notes == ()
    parts = MixedNB([("p", PoissonNB(), [0, 1]), ("g", GaussianNB(), [2, 3])])
    assert "densities and probabilities" in compare({"g": GaussianNB(), "m": parts}, X, y).notes[0]


def test_stacked_weights_of_counts_are_those_of_repeated_rows():
    """To rounding, and the slope of the score is that of the optimum; also where two models are nearly alike."""
    for seed in range(40):
        rng = np.random.default_rng(seed)
        log_p = np.log(rng.uniform(0.02, 1, (4, 30)))
        if seed % 4 == 0:
            log_p[1] = log_p[0] + rng.normal(0, 1e-3, 30)
        counts = rng.integers(1, 6, 30)
        v = stacked_weights([*log_p], counts.astype(float))
        repeated = stacked_weights([*np.repeat(log_p, counts, 1)], np.ones(counts.sum()))
        np.testing.assert_allclose(v, repeated, atol=1e-12)
        p = np.exp(log_p)
        slope = p @ (counts / counts.sum() / (v @ p))
        assert slope.max() <= 1 + 1e-12 and abs(slope[v > 0] - 1).max() < 1e-12


@pytest.mark.parametrize("seed", range(2))
def test_stacked_weights_have_the_largest_score(seed):
    """No step to one of the models raises the mean score; a model that says −∞ has no weight."""
    rng = np.random.default_rng(seed)
    log_p = -rng.gamma(1, 2, (300, 9)) * rng.uniform(1, 1.5, 9)
    log_p[:, 4] = log_p[:, 3]  # two models that say the same
    w, impossible = rng.choice([0.0, 1.0, 3.0], 300), np.where(np.arange(300) == 3, -np.inf, -1.0)
    w[3] = 1.0  # a row without weight would not count
    v = stacked_weights([impossible, *log_p.T], w)
    assert np.isnan(v[0]) and np.isnan(stacked_weights([impossible], w)).all()
    v = v[1:]
    assert v.sum() == pytest.approx(1, abs=1e-12)
    assert (v >= 0).all()

    def score(v):
        return w @ np.log(np.exp(log_p) @ v) / w.sum()

    for step in (1e-2, 1e-4, 1e-6):
        assert max(score(v + step * (one - v)) for one in np.eye(9)) <= score(v) + 1e-12
    assert score(v) > max(score(one) for one in np.eye(9)) + 1e-3


def test_a_model_with_the_largest_evidence_that_predicts_worse_is_told():
    X, y = load_breast_cancer(return_X_y=True)
    found = compare({"shared": GaussianDA(covariance="shared"), "each": GaussianDA()}, X, y)
    assert found.table["log_evidence"].idxmax() == "each"
    diff, se = found.table.loc["each", ["elpd_diff", "se_diff"]]
    assert diff < -2 * se
    assert found.notes == (
        "evidence and elpd disagree: each has the largest evidence (by 999.2 nats), but shared predicts the labels "
        f"better (by {-diff:.1f} nats, standard error {se:.1f}). To predict labels, follow elpd: shared. To say which "
        "model wrote the table, rows and labels, follow the evidence: each",
    )
    # of one mind, or in doubt, or not of the same kind: nothing is said of the two verdicts
    assert compare({"gaussian": GaussianNB(), "each": GaussianDA()}, X, y).notes == ()
    for models in ({"a": GaussianDA(), "b": GaussianDA(covariance="shared")}, {"a": GaussianNB(), "b": PoissonNB()}):
        few = compare(models, np.round(X[::20, :5]), y[::20])
        assert not [note for note in few.notes if "disagree" in note], few


def test_settings_that_leave_one_out_ignores_are_told(wine):
    """Such models predict differently, although all their numbers here agree."""
    X, y, _ = wine
    models = {"pred": GaussianNB(), "map": GaussianNB(estimate="map"), "mle": GaussianNB(estimate="mle")}
    found = compare(models, X, y)
    assert found.table["elpd"].nunique() == 1
    assert [note.split(",")[0] for note in found.notes] == [
        "map predicts with estimate='map'",
        "mle predicts with estimate='mle'",
    ]
    X = np.round(X[:, :5])
    normed = {"plain": ComplementNB(), "norm": ComplementNB(norm=True), "both": ComplementNB(norm=True, estimate="mle")}
    told = compare(normed, X, y).notes
    assert len(told) == 2
    assert told[0].startswith("norm predicts with norm=True, which leave-one-out ignores")
    assert told[1].startswith("both predicts with estimate='mle' and norm=True, which")


@pytest.mark.filterwarnings("ignore:`sample_weight` has a float type")
def test_copies_that_leave_together_are_one_row_of_their_weight(rng):
    """In every sum, standard error and interval: nothing was learnt from a copy."""
    y = np.arange(60) % 2
    X, w, groups = rng.normal(y[:, None] * [0.8, 0.0], 1.0, (60, 2)), np.full(60, 20.0), np.tile(np.arange(60), 20)
    copies, labels = np.tile(X, (20, 1)), np.tile(y, 20)
    models = {"by class": GaussianNB(), "pooled": GaussianNB(variance="pooled")}
    found, want = compare(models, copies, labels, groups=groups), compare(models, X, y, w)
    pd.testing.assert_frame_equal(found.table, want.table, rtol=1e-9)
    assert found.loo["pooled"].se_joint == pytest.approx(want.loo["pooled"].se_joint, rel=1e-9)
    assert found.loo["pooled"].to_arviz("y_given_x").se == pytest.approx(want.loo["pooled"].se, rel=1e-9)
    table = importance(GaussianNB().fit(copies, labels), copies, labels, groups=groups)
    pd.testing.assert_frame_equal(table, importance(GaussianNB().fit(X, y, w), X, y, w), rtol=1e-9)


# --- rows that do not match, and luck ---------------------------------------------------------------------------------


def test_rows_that_do_not_match_name_the_model() -> None:
    X, y = load_iris(return_X_y=True)
    models = {"all": GaussianNB(), "some": (GaussianNB(), X[:100])}
    with pytest.raises(ValueError, match=r"`estimators\['some'\]` and `y` have 100 rows and 150 labels"):
        compare(models, X, y)
    with pytest.raises(ValueError, match=r"`estimators\['counts'\]`: Values that are not whole numbers"):
        compare({"all": GaussianNB(), "counts": GeometricNB()}, X, y)


def elpd_of(values: list[float]) -> dict[str, float]:
    return {f"m{i}": value for i, value in enumerate(values)}


def test_the_best_of_many_equal_models_may_be_lucky() -> None:
    rng = np.random.default_rng(0)
    said = 0
    for _ in range(400):
        said += bool(_lucky_best(elpd_of(rng.normal(-100, 1, 21).tolist()), 150))
    # d_max ≤ Φ⁻¹(1 − 1/(2K)) σ: the bound is 1.96 for K = 20, near the median of the largest of 20 normal draws, 1.87
    assert 0.3 < said / 400 < 0.8
    (note,) = _lucky_best(elpd_of([*np.linspace(-101, -99, 21)]), 150)
    assert note.startswith("m20 may be best by luck: its elpd is 1.0 nats above the model in the middle")


def test_a_clearly_better_model_is_no_luck() -> None:
    values = np.random.default_rng(1).normal(-100, 1, 20).tolist()
    assert _lucky_best(elpd_of([*values, -80.0]), 150) == []


def test_few_models_and_models_far_below_are_not_counted() -> None:
    even = np.linspace(-101, -99, 12).tolist()
    assert _lucky_best(elpd_of(even[:11]), 150) == []
    assert len(_lucky_best(elpd_of(even), 150)) == 1
    far = -100 - 10 * np.sqrt(150) - 5
    assert _lucky_best(elpd_of([*even[:11], far, -np.inf, np.nan]), 150) == []


def test_many_models_get_the_note() -> None:
    X, y = load_iris(return_X_y=True)
    models = {f"smoothing 1e-{k}": GaussianNB(var_smoothing=10.0**-k) for k in range(6, 18)}
    assert any("may be best by luck" in note for note in compare(models, X, y).notes)
    few = dict([*models.items()][:11])
    assert not any("may be best by luck" in note for note in compare(few, X, y).notes)
