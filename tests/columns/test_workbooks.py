"""Workbooks of Excel on the command line and in `read_table`: as a text file with the same cells."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from bayesnb.cli import main
from bayesnb.datasets import read_table
from bayesnb.tables.readers import TableError

pytest.importorskip("openpyxl")
N = 40
RNG = np.random.default_rng(0)
TABLE = pd.DataFrame(
    {
        "ordered": pd.Timestamp("2024-01-05") + pd.to_timedelta(RNG.integers(0, 300, N), unit="D"),
        "size": RNG.normal(size=N).round(2),
        "colour": RNG.choice(["red ", " blue", "NA"], N),
        "kind": RNG.choice([1, 2], N),
    }
)
TABLE.loc[2, "size"] = np.nan


def test_a_sheet_is_read_as_its_csv(tmp_path: Path):
    TABLE.to_excel(tmp_path / "orders.xlsx", index=False)
    TABLE.to_csv(tmp_path / "orders.csv", index=False)
    settings = {"target": "kind", "columns": {"ordered": "date"}}
    book, text = (read_table(tmp_path / f"orders.{ending}", **settings) for ending in ("xlsx", "csv"))
    pd.testing.assert_frame_equal(book.X, text.X)
    np.testing.assert_array_equal(book.y, text.y)
    assert [column.role for column in book.contract.columns] == [column.role for column in text.contract.columns]


def test_fit_and_predict(tmp_path: Path, capsys):
    book, model = str(tmp_path / "orders.xlsx"), str(tmp_path / "model.safetensors")
    with pd.ExcelWriter(book) as writer:
        TABLE.to_excel(writer, index=False, sheet_name="Orders")
        TABLE.to_excel(writer, index=False, sheet_name="More")
    assert main(["fit", book, "--target", "kind", "--model", "plain", "-o", model]) == 0
    assert "orders.xlsx, sheet 'Orders')" in capsys.readouterr().out
    assert main(["describe", book, "--target", "kind"]) == 0
    assert "orders.xlsx, sheet 'Orders': 4 columns" in capsys.readouterr().out
    assert main(["predict", model, book, "--id", "ordered"]) == 0
    assert capsys.readouterr().out.splitlines()[0] == "ordered,predicted,probability,p(1),p(2)"
    wrong = TABLE.astype({"size": object})
    wrong.loc[5, "size"] = "large"
    wrong.to_excel(book, index=False)
    assert main(["predict", model, book]) == 2
    assert "row 7: column 'size' holds 'large'" in capsys.readouterr().err  # as Excel numbers its rows


def test_what_is_no_table_is_named(tmp_path: Path, monkeypatch):
    path = tmp_path / "orders.xlsx"
    for content, message in [
        (TABLE.rename(columns={"size": "kind "}), "more than one column named 'kind'"),
        (TABLE.iloc[:0], "has no rows below a header"),
        (None, "is not a workbook that can be read"),
    ]:
        if content is None:
            path.write_text("kind,size\n")
        else:
            content.to_excel(path, index=False)
        with pytest.raises(TableError, match=message):
            read_table(path, "kind")
    with pytest.raises(TableError, match=r"there is no file .*orders.xslx; .*did you mean '.*orders.xlsx'"):
        read_table(tmp_path / "orders.xslx", "kind")
    TABLE.to_excel(path, index=False)
    monkeypatch.setitem(__import__("sys").modules, "openpyxl", None)  # as if it were not installed
    with pytest.raises(TableError, match="the package openpyxl reads: `pip install openpyxl`"):
        read_table(path, "kind")
