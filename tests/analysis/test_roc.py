"""ROC and precision–recall curves: on noise they know nothing, with signal they say what new rows say."""

from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, roc_auc_score, roc_curve
from sklearn.neighbors import KNeighborsClassifier

import bayesnb
from bayesnb import CalibratedClassifierLOO, DiscriminativeNB, GaussianNB, roc_curves

from ..benchmarks.roc import AREA_TOLERANCE, noise, on_noise, with_signal


def signal(n: int = 200, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3 == 0
    return rng.normal(0.8 * y[:, None], 1, (n, 3)), np.where(y, "ill", "well")


@pytest.mark.parametrize("d", [2, 20])
@pytest.mark.slow
def test_noise_has_an_area_of_a_half(d: int) -> None:
    """The mean over tables is .5 but for its standard error."""
    areas = np.array([on_noise(GaussianNB(), 50, d, seed, n_repeats=1) for seed in range(50)])
    assert abs(areas.mean() - 0.5) < AREA_TOLERANCE + 2 * areas.std() / np.sqrt(len(areas))


@pytest.mark.slow
def test_pooled_leave_one_out_ranks_rows_by_their_own_label() -> None:
    """On the same noise the area over all leave-one-out predictions is far below a half: why there are folds."""
    areas = [on_noise(GaussianNB(), 20, 2, seed, n_repeats=1) for seed in range(40)]
    pooled = []
    for seed in range(40):
        X, y = noise(seed, 20, 2)
        pooled.append(roc_auc_score(y, GaussianNB().fit(X, y).loo(X, y).log_proba[:, 1]))
    assert np.mean(pooled) < 0.44 < np.mean(areas)


@pytest.mark.slow
@pytest.mark.parametrize("nb", [CalibratedClassifierLOO(GaussianNB()), DiscriminativeNB()], ids=["calibrated", "sharp"])
def test_noise_has_an_area_of_a_half_whatever_the_model(nb: Any) -> None:
    areas = np.array([on_noise(nb, 20, 2, seed, n_repeats=1) for seed in range(25)])
    assert abs(areas.mean() - 0.5) < AREA_TOLERANCE + 2 * areas.std() / np.sqrt(len(areas))


@pytest.mark.slow
def test_with_signal_the_area_is_that_of_new_rows() -> None:
    results = np.array([with_signal(GaussianNB(), 60, 10, seed, n_repeats=1) for seed in range(30)])
    of_folds, of_new_rows = results.mean(0)
    assert abs(of_folds - of_new_rows) < 0.02


def test_rows_kept_aside_have_the_areas_and_the_curve_of_scikit_learn() -> None:
    X, y = signal()
    nb = GaussianNB().fit(X[:100], y[:100])
    curves = roc_curves(nb, X[100:], y[100:], positive="ill", held_out=True)
    score = -nb.decision_function(X[100:])
    is_ill = y[100:] == "ill"
    assert curves.roc_auc.value == pytest.approx(roc_auc_score(is_ill, score))
    assert curves.average_precision.value == pytest.approx(average_precision_score(is_ill, score))
    false_positive_rate, sensitivity, _ = roc_curve(is_ill, score, drop_intermediate=False)
    steps = [sensitivity[false_positive_rate <= t + 1e-12].max() for t in curves.roc.x]
    np.testing.assert_allclose(curves.roc.y, steps, atol=1e-12)
    assert curves.prevalence == is_ill.mean()


def test_intervals_hold_the_area_and_shrink_with_the_rows() -> None:
    widths = []
    for n in (60, 600):
        curves = roc_curves(GaussianNB(), *signal(n), positive="ill", n_repeats=1)
        area = curves.roc_auc
        assert area.low < area.value < area.high
        assert (curves.roc.low <= curves.roc.y).mean() > 0.9 and (curves.roc.y <= curves.roc.high).mean() > 0.9
        widths.append(area.high - area.low)
    assert widths[1] < 0.5 * widths[0]
    wide = roc_curves(GaussianNB(), *signal(60), positive="ill", n_repeats=1, level=0.99).roc_auc
    assert wide.high - wide.low > widths[0]


def test_sure_rows_are_still_ranked() -> None:
    """Probabilities that round to 1 differ in their log odds."""
    rng = np.random.default_rng(1)
    y = np.arange(100) % 2
    X = np.repeat(rng.normal(y, 1)[:, None], 400, axis=1)
    nb = GaussianNB().fit(X, y)
    assert (nb.predict_proba(X).max(1) == 1).mean() > 0.5
    single = roc_curves(GaussianNB(), X[:, :1], y).roc_auc.value
    assert roc_curves(GaussianNB(), X, y).roc_auc.value == pytest.approx(single, abs=0.02)


def test_counts_are_repeated_rows_kept_aside() -> None:
    X, y = signal()
    nb = GaussianNB().fit(X, y)
    times = np.random.default_rng(0).integers(0, 3, len(y))
    counted = roc_curves(nb, X, y, times, positive="ill", held_out=True)
    repeated = roc_curves(nb, X.repeat(times, axis=0), y.repeat(times), positive="ill", held_out=True)
    assert counted.roc_auc.value == pytest.approx(repeated.roc_auc.value)
    assert counted.n_positive == repeated.n_positive
    with_weights = roc_curves(GaussianNB(), X, y, times, positive="ill", n_repeats=1)
    assert 0.5 < with_weights.roc_auc.value < 1


def test_a_calibrated_model_of_two_classes_ranks_as_the_model_inside() -> None:
    """So its curves are those of the model inside, without a map for each fold."""
    X, y = signal(60)
    nb = CalibratedClassifierLOO(GaussianNB())
    curves = roc_curves(nb, X, y, positive="ill", n_repeats=1)
    assert curves.roc_auc == roc_curves(GaussianNB(), X, y, positive="ill", n_repeats=1).roc_auc
    fitted = nb.fit(X[:40], y[:40])
    held_out = roc_curves(fitted, X[40:], y[40:], positive="ill", held_out=True)
    inside = roc_curves(fitted.estimator_, X[40:], y[40:], positive="ill", held_out=True)
    assert held_out.roc_auc == inside.roc_auc


def test_groups_stay_together() -> None:
    """Rows of one person tell each other's label unless they leave together."""
    rng = np.random.default_rng(0)
    person = np.arange(200) // 4
    y = (person % 2).astype(int)
    X = rng.normal(size=(50, 30))[person] + 0.01 * rng.normal(size=(200, 30))
    neighbour = KNeighborsClassifier(1)
    apart = roc_curves(neighbour, X, y, n_repeats=1).roc_auc.value
    together = roc_curves(neighbour, X, y, groups=person, n_repeats=1).roc_auc.value
    assert apart > 0.9 and together < 0.7


def test_any_classifier_and_several_classes() -> None:
    data = bayesnb.datasets.load("penguins")
    X, y = data.X[["bill_length_mm", "body_mass_g"]].iloc[::6], data.y[::6]
    for label in np.unique(y):
        assert 0.7 < roc_curves(GaussianNB(), X, y, positive=label, n_repeats=1).roc_auc.value <= 1
    assert roc_curves(LogisticRegression(), *signal(), positive="ill", n_repeats=1).roc_auc.value > 0.7
    with pytest.raises(ValueError, match="`positive` is needed with 3 classes"):
        roc_curves(GaussianNB(), X, y)


def test_what_is_refused() -> None:
    X, y = signal(30)
    with pytest.raises(ValueError, match="`positive` is 'sick'; the classes are"):
        roc_curves(GaussianNB(), X, y, positive="sick")
    with pytest.raises(ValueError, match="`y` has 1 rows of 'rare'"):
        roc_curves(GaussianNB(), X, np.where(np.arange(30) == 3, "rare", "well"))
    with pytest.raises(ValueError, match="`n_folds`"):
        roc_curves(GaussianNB(), X, y, n_folds=1)
    nb = GaussianNB().fit(X, y)
    with pytest.raises(ValueError, match="`y` has no row of 'ill'"):
        roc_curves(nb, X[y == "well"], y[y == "well"], positive="ill", held_out=True)
