"""A large file is fitted in batches: the same model as in one piece, under the contract of the first batch."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import bayesnb
from bayesnb import cli, tables
from bayesnb.datasets import read_large


@pytest.fixture
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "LARGE", 0)
    monkeypatch.setattr(tables, "ROWS", 100)


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
    frame.loc[200:299, "y"] = None  # a batch without labels
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


def test_a_later_batch_adds_levels_that_are_numbers(tmp_path: Path, small_batches: None, monkeypatch: Any) -> None:
    """Integers become floats beside the missing cell of a later batch, and truth values objects."""
    rng, n, path = np.random.default_rng(0), 350, tmp_path / "t.csv"
    frame = pd.DataFrame(
        {"zip": rng.choice([90210, 10001], n), "f": rng.random(n) < 0.3, "y": rng.choice(["a", "b"], n)}
    )
    frame[["zip", "f"]] = frame[["zip", "f"]].astype(object)
    frame.loc[200, "zip"], frame.loc[220, ["zip", "f"]] = 77, None
    frame.to_csv(path, index=False)
    found = []
    for large in (0, tables.LARGE + (1 << 40)):
        monkeypatch.setattr(tables, "LARGE", large)
        model = str(tmp_path / f"m{large}")
        assert cli.main(["fit", str(path), "--target", "y", "--columns", "zip=levels", "-o", model]) == 0
        found.append(bayesnb.load(model))
    parts, whole = found
    assert (parts.levels_of(0).tolist(), whole.levels_of(0).tolist()) == ([10001, 90210, 77], [77, 10001, 90210])
    assert parts.log_evidence_ == pytest.approx(whole.log_evidence_, rel=1e-12)
    X = parts.contract_.apply(frame)
    np.testing.assert_allclose(parts.predict_proba(X), whole.predict_proba(X), rtol=1e-12)


@pytest.mark.parametrize(
    ("cell", "message"), [("big", "line 1402: column 'x' holds 'big'"), ("inf", "column 'x' holds infinity")]
)
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
    err = capsys.readouterr().err
    assert "line 1002: column 'n' holds '15.018', which is not a number in the format of the other cells" in err
    assert "give --decimal and --thousands" in err


def test_codes_that_show_late_are_told(tmp_path: Path, capsys: Any, small_batches: None) -> None:
    """The first batch shows numbers; as levels, each cell keeps its zeros."""
    path, model = tmp_path / "t.csv", tmp_path / "m"
    frame = table(1500).assign(plz=["1001", "60601", "72201"] * 400 + ["01001", "60601", "72201"] * 100)
    frame.to_csv(path, index=False)
    arguments = ["fit", str(path), "--target", "y", "-o", str(model)]
    assert cli.main(arguments) == 2
    said = "line 1202: column 'plz' holds '01001', a code or a number; give --columns plz=levels or plz=numbers"
    assert said in capsys.readouterr().err
    assert cli.main([*arguments, "--columns", "plz=levels"]) == 0
    nb = bayesnb.load(model)
    levels = nb.levels_of(nb.feature_names_in_.tolist().index("plz"))
    assert sorted(levels) == ["01001", "1001", "60601", "72201"]
    assert cli.main([*arguments, "--columns", "plz=numbers"]) == 0
    assert cli.main([*arguments, "--drop", "plz"]) == 0


def test_whole_thousands_that_show_late_are_told(tmp_path: Path, capsys: Any, small_batches: None) -> None:
    path, model = tmp_path / "t.csv", tmp_path / "m"
    frame = table(1500)[["y", "colour"]].assign(n=["15", "7", "30"] * 400 + ["15.000", "7.000", "30"] * 100)
    frame.to_csv(path, index=False)
    arguments = ["fit", str(path), "--target", "y", "-o", str(model)]
    assert cli.main(arguments) == 2
    assert "line 1202: column 'n' holds '15.000', which is not a number in the format" in capsys.readouterr().err
    for given, most in (("decimal", 30), ("thousands", 15_000)):
        parts = read_large(path, "y", **{given: "."}).batches()
        assert max(X["n"].max() for X, _ in parts) == most


FIT = """
import sys
from bayesnb import cli
from bayesnb import tables
tables.LARGE = int(sys.argv[3])
assert cli.main(["fit", sys.argv[1], "--target", "kind", "-o", sys.argv[2]]) == 0
print(*(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="/proc tells the peak of a process")
def test_the_memory_of_a_fit_does_not_grow_with_the_file(tmp_path: Path) -> None:
    """1.4 GiB in 18 row groups of 84 MB, and a third of it; a pass over all groups at once kept 20 MB of each."""
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    rng, n = np.random.default_rng(0), tables.ROWS
    columns = {f"f{j}": rng.integers(0, 100, n) / 10 for j in range(40)}
    table, peak = pyarrow.table({**columns, "kind": np.array(["a", "b"])[np.arange(n) % 2]}), {}
    for groups, large in ((6, 0), (18, tables.LARGE)):
        path = tmp_path / "rows.parquet"
        with parquet.ParquetWriter(path, table.schema, compression="zstd", use_dictionary=False) as writer:
            for _ in range(groups):
                writer.write_table(table, row_group_size=n)
        arguments = [sys.executable, "-c", FIT, str(path), str(tmp_path / "m"), str(large)]
        out = subprocess.run(arguments, capture_output=True, text=True, check=True).stdout
        assert "Read in batches" in out
        peak[groups] = int(out.split()[-1]) / 1024
    assert peak[18] < 1000 and peak[18] < peak[6] + 120, peak
