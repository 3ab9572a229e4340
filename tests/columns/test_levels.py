"""Numbers that the user declares levels: names, of which only the ones that occur count, however they are written."""

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from bayesnb import cli

N = 120
KIND = np.repeat(["a", "b"], N // 2)
LEVELS = {
    "postal codes": [90210, 10001, 60601],
    "halves": [0.5, 1.5, 3.0],
    "truth": [True, False, True],
    "long": [2**60 + 1, 2**60 + 3, 2**60 + 5],  # floats hold no difference
}


def rows(levels: list[Any]) -> pd.DataFrame:
    rng = np.random.default_rng(3)
    places = np.where(KIND == "a", rng.choice(3, N, p=[0.6, 0.2, 0.2]), rng.choice(3, N, p=[0.1, 0.2, 0.7]))
    return pd.DataFrame({"s": np.array(levels)[places], "x": rng.normal(size=N).round(3), "kind": KIND})


def probabilities(out: str) -> np.ndarray:
    return pd.read_csv(io.StringIO(out))["p(a)"].to_numpy()


OTHERS: dict[str, Callable[[pd.Series], Any]] = {
    "as it is": lambda s: s,
    "a gap": lambda s: s.astype(object).where(s.index != 3),
    "a word": lambda s: s.astype(object).where(s.index != 3, "unknown"),
    "floats": lambda s: s.astype(float) if s.dtype.kind in "if" and abs(s).max() < 2**53 else s,
    "floats beside a word": lambda s: OTHERS["floats"](s).astype(object).where(s.index != 3, "unknown"),
    "text": lambda s: s.astype(str),
    "declared": lambda s: s.astype("category"),
    "a level of its own": lambda s: s.astype(object).where(s.index != 3, 77),
}


@pytest.mark.parametrize(
    ("name", "suffix"),
    [("postal codes", "csv"), ("halves", "parquet"), ("truth", "csv"), ("truth", "parquet"), ("long", "parquet")],
)
def test_new_rows_may_write_them_otherwise(name: str, suffix: str, tmp_path: Path, capsys: Any) -> None:
    table, path, model = rows(LEVELS[name]), tmp_path / "t.csv", str(tmp_path / "m")
    table.to_csv(path, index=False)
    assert (
        cli.main(["fit", str(path), "--target", "kind", "--model", "plain", "--columns", "s=levels", "-o", model]) == 0
    )
    capsys.readouterr()
    assert cli.main(["predict", model, str(path)]) == 0
    out, err = capsys.readouterr()
    known = probabilities(out)
    assert err == ""
    assert len(np.unique(known.round(12))) > 3 * 20  # both columns matter
    for how, write in OTHERS.items():
        other = table[["s", "x"]].assign(s=write(table["s"]))
        if suffix == "parquet" and pd.api.types.infer_dtype(other["s"]).startswith("mixed"):
            other["s"] = other["s"].astype(str)  # a file with types has no word among numbers
        rows_at = tmp_path / f"other.{suffix}"
        (other.to_csv if suffix == "csv" else other.to_parquet)(rows_at, index=False)
        assert cli.main(["predict", model, str(rows_at)]) == 0
        out, err = capsys.readouterr()
        changed = "gap" in how or "word" in how or "own" in how
        assert np.flatnonzero(probabilities(out) != known).tolist() == [3] * changed, how
        assert ("levels that are not in the training rows" in err) == ("word" in how or "own" in how), (how, err)
        assert err.count("in 1 rows") == err.count("\n"), (how, err)
