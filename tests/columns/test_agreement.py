"""`describe`, `fit` and `MixedNB.fit` give each column the same role, or refuse it for the same reason."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import bayesnb
from bayesnb import cli

N = 60
TABLES: dict[str, dict[str, Any]] = {
    "a point beside thousands": {"x": [0.5, 1.25, 3.75] * 20, "price": ["2,000 €", "1,500 €", "900 €"] * 20},
    "nothing that decides": {"x": [1, 2, 7] * 20, "price": ["2,000 €", "1,500 €", "9,000 €"] * 20},
    "a decimal comma": {"x": [1, 2, 7] * 20, "price": ["2,5", "1,75", "9,25"] * 20},
    "codes, dates and identifiers": {
        "code": ["007", "012", "100"] * 20,
        "day": [f"2026-01-{1 + i % 28:02d}" for i in range(N)],
        "name": [f"n{i}" for i in range(N)],
        "x": np.arange(N) % 7,
    },
    "true and false with gaps": {"x": [0.5, 1.5, 2.5] * 20, "ill": [True, None, False, True] * 15},
}


@pytest.mark.parametrize("name", TABLES)
def test_the_roles_are_the_same(name: str, tmp_path: Path, capsys: Any) -> None:
    path, model = str(tmp_path / "t.csv"), str(tmp_path / "m")
    pd.DataFrame(TABLES[name]).assign(y=["a", "b"] * (N // 2)).to_csv(path, index=False)
    codes = [cli.main(["describe", path, "--target", "y"]), cli.main(["fit", path, "--target", "y", "-o", model])]
    frame = pd.read_csv(path, dtype={"code": str})
    X, y = frame.drop(columns="y"), frame["y"]
    if name == "nothing that decides":
        assert codes == [2, 2]
        said = "column 'price': '2,000 €' may be 2000 € or 2.000 €, and no other cell decides it"
        assert capsys.readouterr().err.count(said) == 2
        with pytest.raises(ValueError, match=said):
            bayesnb.MixedNB().fit(X, y)
        bayesnb.MixedNB().fit(bayesnb.describe(X, thousands=",").apply(X), y)
        return
    assert codes == [0, 0]
    nb, fitted = bayesnb.MixedNB().fit(X, y), bayesnb.load(model)
    assert nb.contract_ is not None
    roles = {column.name: column.role for column in fitted.contract_.columns if column.role != "target"}
    assert {column.name: column.role for column in nb.contract_.columns} == roles
    assert {column.name: column.role for column in bayesnb.describe(frame, "y").columns} == roles | {"y": "target"}
    np.testing.assert_allclose(nb.predict_proba(X), fitted.predict_proba(fitted.contract_.apply(X)), rtol=1e-12)


def test_batches_of_a_file_keep_the_roles_of_the_first(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    frame = pd.DataFrame(TABLES["a point beside thousands"]).assign(y=["a", "b"] * (N // 2))
    frame.to_csv(path, index=False)
    nb = bayesnb.fit_batches(bayesnb.MixedNB(), path, "y", batch_size=25)
    whole = bayesnb.MixedNB().fit(frame.drop(columns="y"), frame["y"])
    assert nb.log_evidence_ == pytest.approx(whole.log_evidence_, rel=1e-12)
    assert whole.n_features_in_ == 2 and [len(at) for _, _, at in nb.parts_] == [2]


def test_a_copy_of_the_target_and_an_unknown_column_are_named() -> None:
    y = np.array(["a", "b", "c"] * 20)
    table = pd.DataFrame({"y": y, "code": np.where(y == "a", 1, np.where(y == "b", 2, 3)), "x": np.arange(60) % 6})
    contract = bayesnb.describe(table, "y")
    assert contract["code"].warning == "a copy of the target 'y'? code=drop leaves it out"
    assert contract["x"].warning == ""
    with pytest.raises(KeyError, match="there is no column 'nope'; the columns are y, code, x"):
        contract["nope"]
    with pytest.raises(ValueError, match="more than one column has the name 'x'"):
        bayesnb.describe(pd.concat([table, table[["x"]]], axis=1))


def test_a_column_that_was_constant_contradicts_its_role_with_a_line(
    tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from bayesnb import tables

    monkeypatch.setattr(tables, "LARGE", 0)
    monkeypatch.setattr(tables, "ROWS", 100)
    path, arguments = tmp_path / "t.csv", ["fit", str(tmp_path / "t.csv"), "--target", "y", "-o", str(tmp_path / "m")]
    frame = pd.DataFrame({"x": np.arange(300) % 7 / 2, "year": [2025] * 250 + [2026] * 50, "y": ["a", "b"] * 150})
    frame.to_csv(path, index=False)
    assert cli.main(arguments) == 2
    said = "line 252: column 'year' holds '2026', but the first rows only 2025; name its role with --columns year=ROLE"
    assert said in capsys.readouterr().err
    assert cli.main([*arguments, "--columns", "year=levels"]) == 0
    year = bayesnb.load(tmp_path / "m").contract_["year"]
    assert (year.levels, year.low, year.high) == (("2025", "2026"), 2025, 2026)  # of all pieces


def test_labels_that_are_spelled_alike_are_named() -> None:
    table = pd.DataFrame({"x": range(60), "y": ["yes", "no", "no"] * 19 + ["Yes", "n o", "maybe"]})
    (note,) = bayesnb.describe(table, "y").notes
    assert note.startswith("labels of 'y' that differ only by case, blanks or one letter are classes of their own: ")
    assert "'no' (38 rows) and 'n o' (1)" in note and "'yes' (19 rows) and 'Yes' (1)" in note and "maybe" not in note
    assert bayesnb.describe(table.replace({"Yes": "yes", "n o": "no"}), "y").notes == ()
