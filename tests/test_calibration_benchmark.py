"""The calibration benchmark on small settings: its numbers are those of the definitions, worked out row by row."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

import bayesnb
from bayesnb.datasets import load

from .benchmarks import calibration


@pytest.mark.slow
def test_a_cell_by_hand(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One data set, two models, two sizes, two splits: one of the numbers again, without the benchmark's code."""
    file, figure = tmp_path / "records.json", tmp_path / "figure.png"
    settings = ["--splits", "2", "--sizes", "10", "50", "--data", "wine"]
    calibration.main([*settings, "--json", str(file), "--figure", str(figure)])
    records = json.loads(file.read_text())
    found = {(r["model"], r["size"], r["estimate"]): r for r in records}
    assert len(found) == len(records) == 2 * 2 * len(calibration.ESTIMATES)

    wine = load("wine")
    first, held_out = train_test_split(np.arange(178), test_size=0.5, stratify=wine.y, random_state=1)
    train, _ = train_test_split(first, train_size=50, stratify=wine.y[first], random_state=1)
    nb = bayesnb.GaussianNB(estimate="map").fit(wine.X.iloc[train].to_numpy(), wine.y[train])
    p, y = nb.predict_proba(wine.X.iloc[held_out].to_numpy()), wine.y[held_out]
    loss = brier = 0.0
    for row, label in zip(p, y, strict=True):
        for k, name in enumerate(nb.classes_):
            brier += (row[k] - (name == label)) ** 2 / len(y)
            loss -= math.log(row[k]) / len(y) if name == label else 0
    order = sorted(range(len(y)), key=lambda i: max(p[i]))
    ece, at = 0.0, 0
    for size in [6] * 14 + [5]:  # 89 rows in 15 bins
        part, at = order[at : at + size], at + size
        right = sum(nb.classes_[p[i].argmax()] == y[i] for i in part)
        ece += abs(sum(max(p[i]) for i in part) - right) / len(y)
    cell = {name: value[1] for name, value in found["GaussianNB", 50, "map"].items() if isinstance(value, list)}
    assert cell["log loss"] == pytest.approx(loss, rel=1e-9)
    assert cell["Brier"] == pytest.approx(brier, rel=1e-9)
    assert cell["ECE"] == pytest.approx(ece, rel=1e-9)
    assert cell["clipped"] == pytest.approx(log_loss(y, p), rel=1e-9)
    assert cell["error"] == (nb.predict(wine.X.iloc[held_out].to_numpy()) != y).mean()
    assert cell["impossible"] == 0

    assert found["GaussianDA", 10, "mle"]["log loss"] == [None, None]  # 13 features, 10 rows
    table = capsys.readouterr().out
    assert "| wine, GaussianDA, 10 rows |" in table and "| none |" in table
    assert figure.stat().st_size > 10_000


def test_calibrated_and_overconfident_forecasts(rng: np.random.Generator) -> None:
    p = rng.uniform(0.5, 1, 100_000)
    right = rng.random(len(p)) < p
    # 15 bins of 6,667 rows: a mean |gap| of at most √(2/π) ½/√6667 = 0.005 in each
    assert calibration.calibration_error(p, right) < 0.005
    assert calibration.calibration_error(np.minimum(p + 0.2, 1), right) == pytest.approx(
        np.minimum(0.2, 1 - p).mean(), abs=0.005
    )


def test_impossible_rows_are_counted_and_shown_as_infinite() -> None:
    with np.errstate(under="ignore"):
        found = calibration.measures(np.log([[1.0, 1e-305], [0.5, 0.5]]), np.array([1, 0]))
    assert found["impossible"] == 0.5
    assert found["log loss"] == pytest.approx((305 * math.log(10) + math.log(2)) / 2)
    assert found["clipped"] == pytest.approx((-math.log(np.finfo(float).eps) + math.log(2)) / 2)
    record = {name: [value, value] for name, value in found.items()}
    assert calibration.cell({"estimate": "mle", **record}, "log loss") == "∞ (50 %)"
    assert calibration.cell({"estimate": "predictive", **record}, "log loss") == "351 ± 0"
