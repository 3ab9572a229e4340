"""The choice of the model that predicts best: its rule, its figures, and what it says."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

import bayesnb
from bayesnb.choice import _largest_row, _notes, _Rows, _table, _taken
from bayesnb.numerics.weights import row_weights

Tables = tuple[pd.DataFrame, np.ndarray]


def copied_columns(n: int = 120, seed: int = 0) -> Tables:
    """Five copies of one column: plain naive Bayes is too sure of itself."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    x = rng.normal(size=n) + y
    return pd.DataFrame({f"x{j}": x + 0.1 * rng.normal(size=n) for j in range(5)}), y


def independent_columns(n: int = 200, seed: int = 0) -> Tables:
    """What naive Bayes assumes."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    return pd.DataFrame({f"x{j}": rng.normal(size=n) * (1 + y) + 0.5 * y for j in range(4)}), y


@pytest.fixture(scope="module")
def choice() -> Any:
    return bayesnb.choose_predictor(bayesnb.GaussianNB(), *copied_columns())


def test_figures_are_those_of_leave_one_out(choice: Any) -> None:
    X, y = copied_columns()
    plain = bayesnb.GaussianNB().fit(X, y).loo(X, y)
    sharp = bayesnb.DiscriminativeNB([("all", bayesnb.GaussianNB(), slice(None))]).fit(X, y).loo(X, y)
    table = choice.table
    assert [*table.index] == ["class frequencies", "plain", "calibrated", "discriminative"]
    np.testing.assert_allclose(table["log_loss"].iloc[[1, 3]], [plain.log_loss, sharp.log_loss], rtol=1e-9)
    share = np.bincount(y) / len(y)
    assert table["log_loss"]["class frequencies"] == pytest.approx(-share @ np.log(share))
    best = table["log_loss"][1:].idxmin()
    calibrated = choice.estimators["calibrated"].loo(X, y)
    gap = {"calibrated": calibrated, "discriminative": sharp}[best].pointwise - plain.pointwise
    assert table["se"]["plain"] == pytest.approx(np.sqrt(len(y)) * gap.std() / len(y))
    assert table["difference"]["plain"] == pytest.approx(gap.mean())
    assert np.isnan(table["se"][best]) and table["difference"][best] == 0
    assert choice.kind == best != "plain"
    text = str(choice)
    assert f"{plain.log_loss:.4f}" in text and "approximate" in text and f"taken: {choice.kind}. It predicts" in text


def test_what_is_taken_predicts_as_it_was_judged(choice: Any) -> None:
    X, y = copied_columns()
    assert choice.estimator is choice.estimators[choice.kind]
    assert choice.estimator.predict_proba(X).shape == (len(y), 2)
    new, label = copied_columns(seed=1)
    loss = {kind: -nb.predict_log_proba(new)[np.arange(120), label].mean() for kind, nb in choice.estimators.items()}
    assert loss[choice.kind] < loss["plain"] - 0.05


@pytest.mark.parametrize(
    ("losses", "few", "kind"),
    [
        ((0.69, 0.50, 0.52, 0.515), "", "plain"),  # the best
        ((0.69, 0.509, 0.52, 0.50), "", "plain"),  # near the best
        ((0.69, 0.511, 0.52, 0.50), "", "discriminative"),
        ((0.69, 0.55, 0.50, 0.51), "", "calibrated"),
        ((0.69, 0.695, 0.693, 0.691), "", "discriminative"),  # near the best, but above class frequencies
        ((0.69, 0.50, 0.52, 0.40), "there are 9 rows", "calibrated"),
    ],
)
def test_the_rule(losses: tuple[float, ...], few: str, kind: str) -> None:
    names = ("class frequencies", "plain", "calibrated", "discriminative")
    assert _taken(dict(zip(names, losses, strict=True)), few, is_plain_trusted=True).kind == kind


@pytest.mark.slow
def test_plain_is_not_taken_of_few_rows() -> None:
    losses = {"class frequencies": 0.69, "plain": 0.40, "calibrated": 0.50, "discriminative": 0.49}
    taken = _taken(losses, "", is_plain_trusted=False)
    assert taken.kind == "discriminative" and "plain aside" in taken.reason
    for n_rows, is_taken in ((98, False), (100, True)):
        X, y = independent_columns(n_rows, seed=5)
        choice = bayesnb.choose_predictor(bayesnb.GaussianNB(), X, y)
        loss = choice.table["log_loss"]
        assert loss["plain"] < loss["class frequencies"] and loss["plain"] < loss["discriminative"] + 0.01
        assert (choice.kind == "plain") == is_taken


def test_plain_is_taken_where_naive_bayes_is_right() -> None:
    choice = bayesnb.choose_predictor(bayesnb.GaussianNB(), *independent_columns())
    assert choice.kind == "plain" and isinstance(choice.estimator, bayesnb.GaussianNB)


@pytest.mark.parametrize(
    ("n_rows", "reason"), [((10, 15), "there are 25 independent rows"), ((40, 9), "class 1 has 9 independent rows")]
)
def test_few_rows_take_the_calibrated_model(n_rows: tuple[int, int], reason: str) -> None:
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], n_rows)
    choice = bayesnb.choose_predictor(bayesnb.GaussianNB(), rng.normal(size=(len(y), 3)) + y[:, None], y)
    assert choice.kind == "calibrated" and reason in choice.reason
    assert {*choice.estimators} == {"plain", "calibrated"}


@pytest.mark.slow
def test_copies_groups_and_counts_are_rows_once_each_in_their_way() -> None:
    X, y = copied_columns(28)
    copies = np.repeat(np.arange(28), 3)
    repeated = X.iloc[copies].reset_index(drop=True)
    thrice = bayesnb.choose_predictor(bayesnb.GaussianNB(), repeated, y[copies])
    assert "there are 28 independent rows" in thrice.reason
    counted = bayesnb.choose_predictor(bayesnb.GaussianNB(), X, y, np.tile([1, 5], 14))
    assert "discriminative" in counted.estimators
    grouped = bayesnb.choose_predictor(bayesnb.GaussianNB(), repeated, y[copies], groups=copies // 2)
    assert "there are 14 independent rows" in grouped.reason
    plain = bayesnb.GaussianNB().fit(repeated, y[copies]).loo(repeated, y[copies], groups=copies)
    assert thrice.table["log_loss"]["plain"] == pytest.approx(plain.log_loss)


def test_a_row_that_makes_the_difference_is_named() -> None:
    _, y = copied_columns()
    gap = np.full(120, 0.001)
    gap[7] = -40
    rows = _Rows(np.arange(2), y, row_weights(None, 120), None)
    row = _largest_row(rows, gap)
    assert row.position == 7 and row.share == pytest.approx(40 / (40 - 0.119))
    by_pairs = rows._replace(group=np.arange(120) // 2, weights=row_weights(np.full(120, 0.5), 120))
    assert _largest_row(by_pairs, gap).position == 6  # the first of its group
    iris = bayesnb.datasets.load("iris")
    choice = bayesnb.choose_predictor(bayesnb.GaussianNB(), iris.X, iris.y, lines=np.arange(150) + 2)
    plain, sharp = (choice.estimators[kind].loo(iris.X, iris.y).pointwise for kind in ("plain", "discriminative"))
    share = (sharp - plain)[106] / (sharp - plain).sum()
    assert share > 1 / 3
    note = f"line 108 makes {share:.0%} of the difference between plain and discriminative: look at it first."
    assert note in choice.notes


def test_a_row_is_not_named_where_two_models_are_as_good() -> None:
    """Of log losses that are the same to three digits nobody asks which row makes the difference."""
    _, y = copied_columns()
    rows = _Rows(np.arange(2), y, row_weights(None, 120), None)
    best = np.full(120, -0.3)
    for gap, n_notes in ((0.04, 0), (0.08, 1)):  # nats of one row, over 120 rows
        log_p = {"plain": best, "calibrated": best - gap * (np.arange(120) == 7)}
        notes = list(_notes(rows, log_p, _table(rows, log_p), [f"row {i}" for i in range(120)]))
        assert len(notes) == n_notes


def test_levels_gaps_and_parts() -> None:
    penguins = bayesnb.datasets.load("penguins")
    X, y = penguins.X[::2], penguins.y[::2]
    choice = bayesnb.choose_predictor(bayesnb.MixedNB(), X, y)
    assert choice.estimators["discriminative"].parts == "auto"
    assert choice.estimator.predict(X[:3]).shape == (3,)


def test_no_discriminative_model_is_a_note() -> None:
    X, y = copied_columns()
    by_class = {0: bayesnb.GaussianNB(), 1: bayesnb.GaussianNB()}
    choice = bayesnb.choose_predictor(bayesnb.MixedNB([("numbers", by_class, slice(None))]), X, y)
    assert {*choice.estimators} == {"plain", "calibrated"}
    assert choice.notes[0].startswith("there is no discriminative model: `parts` has an estimator for each class")


def test_what_is_no_plain_model_is_refused() -> None:
    X, y = copied_columns()
    with pytest.raises(TypeError, match=r"Give `estimator\.estimator`"):
        bayesnb.choose_predictor(bayesnb.CalibratedClassifierLOO(bayesnb.GaussianNB()), X, y)
    with pytest.raises(ValueError, match="estimate='mle'"):
        bayesnb.choose_predictor(bayesnb.GaussianNB(estimate="mle"), X, y)


def test_noise_is_said() -> None:
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(60, 20)), np.arange(60) % 2
    choice = bayesnb.choose_predictor(bayesnb.GaussianNB(), X, y)
    assert choice.kind != "plain"
    if choice.table["difference"]["class frequencies"] <= 0:
        assert any("say little about the label" in note for note in choice.notes)
