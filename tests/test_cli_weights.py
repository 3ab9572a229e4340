"""Frequency tables and importance weights from the command line: --counts and --weight."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import bayesnb
from bayesnb import cli
from bayesnb.check.report import CheckReport
from bayesnb.datasets import TableError, read_table
from bayesnb.reporting import calibration_gain

RNG = np.random.default_rng(1)
ROWS = pd.DataFrame(
    {
        "colour": RNG.choice(["red", "blue", "green"], 40),
        "size": RNG.normal(size=40).round(3),
        "n": RNG.integers(1, 9, 40),
        "w": RNG.uniform(0.1, 2, 40).round(3),
        "kind": ["a", "b"] * 20,
    }
)
FEATURES = ["colour", "size"]


@pytest.fixture
def path(tmp_path: Path) -> str:
    ROWS.to_csv(tmp_path / "t.csv", index=False)
    return str(tmp_path / "t.csv")


def run(capsys: Any, *arguments: str) -> str:
    """What a command prints."""
    code = cli.main(list(arguments))
    out, err = capsys.readouterr()
    assert code == 0, err
    return str(out)


def test_a_fit_to_counts_is_that_of_repeated_rows(path: str, tmp_path: Path, capsys: Any) -> None:
    model = str(tmp_path / "m")
    out = run(capsys, "fit", path, "--target", "kind", "--counts", "n", "--drop", "w", "--model", "plain", "-o", model)
    assert f"weights count {ROWS['n'].sum()} rows" in out
    nb = bayesnb.load(model)
    assert nb.feature_names_in_.tolist() == FEATURES
    repeated = ROWS.loc[ROWS.index.repeat(ROWS["n"])]
    want = bayesnb.MixedNB().fit(repeated[FEATURES], repeated["kind"])
    assert nb.log_evidence_ == pytest.approx(want.log_evidence_, rel=1e-12)
    run(capsys, "predict", model, path)


def test_a_fit_to_weights_is_that_of_sample_weight(path: str, tmp_path: Path, capsys: Any) -> None:
    model = str(tmp_path / "m")
    for flags in (("--model", "plain"), ("--calibrate",)):
        out = run(capsys, "fit", path, "--target", "kind", "--weight", "w", "--drop", "n", "-o", model, *flags)
        effective = ROWS["w"].sum() ** 2 / (ROWS["w"] ** 2).sum()
        assert f"importance weights, 40 rows, effective {effective:.0f}" in out
    nb = bayesnb.load(model)
    want = bayesnb.CalibratedClassifierLOO(bayesnb.MixedNB()).fit(ROWS[FEATURES], ROWS["kind"], ROWS["w"].to_numpy())
    np.testing.assert_allclose(nb.predict_proba(ROWS[FEATURES]), want.predict_proba(ROWS[FEATURES]), rtol=1e-9)


@pytest.mark.slow
def test_the_column_of_weights_is_no_feature_in_any_command(path: str, tmp_path: Path, capsys: Any) -> None:
    said = f"weights count {ROWS['n'].sum()} rows"
    flags = ["--target", "kind", "--counts", "n", "--drop", "w"]
    out = run(capsys, "describe", path, *flags)
    assert said in out and "  n                             weight " in out
    out = run(capsys, "compare", path, *flags, "--models", "mixed,mixed:pooled")
    repeated = ROWS.loc[ROWS.index.repeat(ROWS["n"])].reset_index(drop=True)
    evidence = bayesnb.MixedNB().fit(repeated[FEATURES], repeated["kind"]).log_evidence_
    assert said in out and f"{evidence:.2f}" in out
    out = run(capsys, "select", path, *flags)
    assert said in out and "'n'" not in out
    out = run(capsys, "report", path, *flags, "--model", "plain", "-o", str(tmp_path / "page.html"))
    page = (tmp_path / "page.html").read_text("utf-8")
    assert said in out and f"Rows have weights: {said}." in page and f"<dd>{ROWS['n'].sum():,} ({said})</dd>" in page


@pytest.mark.parametrize(
    ("flags", "counts", "said"),
    [
        (["--counts", "n", "--drop", "w"], ROWS["n"].tolist(), f"weights count {ROWS['n'].sum()} rows"),
        (["--weight", "w", "--drop", "n"], None, "note: the check takes each row once, as NumPyro's model has no"),
    ],
)
@pytest.mark.parametrize("model", [[], ["--calibrate"]])
def test_the_check_takes_counted_rows(
    model: list[str], flags: list[str], counts: Any, said: str, path: str, capsys: Any, monkeypatch: Any
) -> None:
    """What the check does with counts is tested beside it."""
    given = {}

    def checked(nb: Any, X: Any, y: Any, seed: int = 0, **settings: Any) -> CheckReport:
        given.update(settings, columns=list(X), rows=len(y))
        return CheckReport("", (), (), dict.fromkeys("rows_fitted rows_held_out features classes seed".split(), 1))

    for estimator in (bayesnb.MixedNB, bayesnb.CalibratedClassifierLOO):
        monkeypatch.setattr(estimator, "check", checked)
    out = run(capsys, "check", path, "--target", "kind", *flags, *model)
    weight = given["sample_weight"]
    assert said in out and (None if weight is None else weight.tolist()) == counts
    assert given["columns"] == FEATURES and given["rows"] == 40
    if not model:
        weights = ROWS["w"].to_numpy() if counts is None else ROWS["n"].to_numpy()
        gain = calibration_gain(bayesnb.MixedNB(), ROWS[FEATURES], ROWS["kind"], weights)
        assert gain in out


@pytest.mark.parametrize(
    ("cell", "flag", "said"),
    [
        ("2.5", "counts", "column 'n' holds '2.5', but counts are whole numbers; --weight takes others"),
        ("-1", "weight", "column 'n' holds '-1', a negative weight"),
        ("", "counts", "each row with a label needs a weight; 0 leaves the row out"),
        ("many", "counts", "column 'n' holds 'many'"),
    ],
)
def test_what_is_no_weight_stops_with_its_line(cell: str, flag: str, said: str, path: str) -> None:
    frame = ROWS.astype({"n": str})
    frame.loc[5, "n"] = cell
    frame.to_csv(path, index=False)
    with pytest.raises(TableError, match="line 7: ") as caught:
        read_table(path, "kind", **{flag: "n"})
    assert said in str(caught.value)


def test_counts_and_weights_are_read_in_their_types(path: str) -> None:
    assert (read_table(path, "kind", counts="n").sample_weight == ROWS["n"]).all()
    counts, weights = read_table(path, "kind", counts="n"), read_table(path, "kind", weight="n")
    assert counts.sample_weight is not None and counts.sample_weight.dtype.kind == "i"
    assert weights.sample_weight is not None and weights.sample_weight.dtype.kind == "f"
    assert "n" not in counts.X and counts.contract["n"].role == "weight"
    with pytest.raises(TableError, match="both --counts n and --weight w are given"):
        read_table(path, "kind", counts="n", weight="w")
    with pytest.raises(TableError, match="there is no column 'm'"):
        read_table(path, "kind", counts="m")
