"""A large file is fitted in batches: the same model as in one piece, under the contract of the first batch."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import bayesnb
from bayesnb import cli
from bayesnb.columns import batches


@pytest.fixture
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "LARGE", 0)
    monkeypatch.setattr(batches, "ROWS", 100)


def table(n: int = 350) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    label = rng.choice(["007", "1", "23"], n)
    frame = pd.DataFrame({"id": range(n), "x": rng.normal(size=n).round(3), "price": rng.choice(["1,5 €", "12 €"], n)})
    frame["x"] += label == "23"
    return frame.assign(colour=rng.choice(["red", "blue"], n), y=np.where(rng.random(n) < 0.05, None, label))


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_batches_give_the_model_of_all_rows(suffix: str, tmp_path: Path, capsys: Any, request: Any) -> None:
    path, whole, parts = tmp_path / f"t.{suffix}", tmp_path / "whole", tmp_path / "parts"
    frame = table()
    (frame.to_csv if suffix == "csv" else frame.to_parquet)(path, index=False)
    assert cli.main(["fit", str(path), "--target", "y", "-o", str(whole)]) == 0
    assert "Read in batches" not in capsys.readouterr().out
    request.getfixturevalue("small_batches")
    assert cli.main(["fit", str(path), "--target", "y", "-o", str(parts)]) == 0
    assert "Read in batches" in capsys.readouterr().out
    one, other = bayesnb.load(whole), bayesnb.load(parts)
    assert one.classes_.tolist() == other.classes_.tolist() == ["007", "1", "23"]
    assert [c.role for c in one.contract_.columns] == [c.role for c in other.contract_.columns]
    X = one.contract_.apply(frame)
    np.testing.assert_allclose(other.predict_proba(X), one.predict_proba(X), rtol=1e-10)


@pytest.mark.parametrize(("cell", "message"), [("big", "column 'x' holds 'big'"), ("inf", "column 'x' holds infinity")])
def test_a_later_batch_that_differs_is_told(
    cell: str, message: str, tmp_path: Path, capsys: Any, small_batches: None
) -> None:
    path = tmp_path / "t.csv"
    frame = table(1500)
    frame["x"] = frame["x"].astype(object)
    frame.loc[1400, "x"] = cell
    frame.to_csv(path, index=False)
    assert cli.main(["fit", str(path), "--target", "y", "-o", str(tmp_path / "m")]) == 2
    assert message in capsys.readouterr().err


def test_thousands_that_show_late_are_told(tmp_path: Path, capsys: Any, small_batches: None) -> None:
    path = tmp_path / "t.csv"
    frame = table(1500).assign(n=[*range(0, 3000, 3)] + [f"{15 + i}.018" for i in range(500)])
    frame.to_csv(path, index=False)
    assert cli.main(["fit", str(path), "--target", "y", "-o", str(tmp_path / "m"), "--drop", "x"]) == 2
    assert "--decimal . or --thousands ." in capsys.readouterr().err
