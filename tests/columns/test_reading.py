"""What a number hides of its cell is found, in the column that it is in."""

import csv
import gzip
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from bayesnb import tables
from bayesnb.datasets import TableError, read_rows, read_table


def long(path: Path, cells: list[str], first: str = "1001", **write: object) -> Path:
    """A table whose column `code` shows these cells only from row 1,501 on."""
    column = [first, "60601", "72201"] * 500 + cells * 30
    n = len(column)
    frame = pd.DataFrame(
        {"code": column, "x": np.arange(n) % 7 / 2, "n": np.arange(n) % 5, "y": np.where(np.arange(n) % 3, "a", "b")}
    )
    frame.to_csv(path, index=False, **write)  # type: ignore[call-overload]
    return path


@pytest.mark.parametrize("write", [{}, {"sep": ";"}, {"encoding": "utf-16"}, {"quoting": csv.QUOTE_ALL}])
@pytest.mark.parametrize("cells", [["01001", "5"], ["", "00", "12"], ["7", " 007 "]])
def test_codes_keep_their_zeros_in_any_row(cells: list[str], write: dict[str, object], tmp_path: Path) -> None:
    data = read_table(long(tmp_path / "t.csv", cells, **write), "y")
    assert data.contract is not None
    assert data.contract["code"].role == "levels"
    assert "codes with leading zeros" in data.contract["code"].why
    assert set(data.X["code"].dropna()) == {"1001", "60601", "72201", *(cell.strip() for cell in cells if cell)}
    assert data.X["n"].dtype.kind == "i"


def test_zeros_in_front_of_numbers_that_are_no_codes(tmp_path: Path) -> None:
    for cells in (["0.5", "007"], ["-3", "05"]):
        data = read_table(long(tmp_path / "t.csv", cells), "y")
        assert data.contract is not None
        assert data.contract["code"].role == "numbers"
        assert data.X["code"].tolist()[-2:] == [float(cell) for cell in cells]


def test_whole_thousands_are_not_read_as_small_numbers(tmp_path: Path) -> None:
    path = long(tmp_path / "t.csv", ["15.000", "7.000"], columns=["code", "n", "y"])
    with pytest.raises(TableError, match=r"column 'code': '15\.000' may be 15000 or 15\.000"):
        read_table(path, "y")
    assert read_table(path, "y", thousands=".").X["code"].tolist()[-2:] == [15000, 7000]
    assert read_table(path, "y", decimal=".").X["code"].tolist()[-2:] == [15, 7]
    path = long(tmp_path / "t.csv", ["-15.000", "-7.000"], columns=["code", "n", "y"])
    assert read_table(path, "y", thousands=".").X["code"].tolist()[-2:] == [-15000, -7000]


def test_a_decimal_point_below_the_first_rows_is_seen(tmp_path: Path) -> None:
    """It contradicts the decimal comma of another column, so that 15.018 stays open."""
    path = tmp_path / "t.csv"
    n = 1200
    late = [str(i % 9) if i < 1100 else "0.25" for i in range(n)]
    frame = pd.DataFrame({"late": late, "comma": "0,5", "open": "15.018", "y": ["a", "b"] * (n // 2)})
    frame.loc[::2, ["comma", "open"]] = ["2,5", "7.250"]
    frame.to_csv(path, sep=";", index=False)
    with pytest.raises(TableError, match=r"column 'open': '7\.250' may be"):
        read_table(path, "y")


@pytest.mark.parametrize("cell", ["0x1F", "1_000", "1d5", "True", "big", "- 5", "٣"])
def test_a_late_cell_that_is_no_number_is_kept(cell: str, tmp_path: Path) -> None:
    assert cell in set(read_rows(long(tmp_path / "t.csv", [cell, "5"]))["code"])


def test_blanks_around_cells_are_no_part_of_them(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    rows = ["a,red ,1", "b ,red,2", ' a," red",3', "b, blue ,4", "a,NA ,5", 'b,"  ",6', '"a ",blue\t,7']
    path.write_text("y,colour,x\n" + "\n".join(rows) + "\n", encoding="utf-8")
    data = read_table(path, "y")
    assert data.y.tolist() == ["a", "b", "a", "b", "a", "b", "a"]
    assert data.X["colour"].fillna("-").tolist() == ["red", "red", "red", "blue", "-", "-", "blue"]


@pytest.mark.parametrize(
    ("first", "late", "text"),
    [("12", "big", True), ("12", "15.018", True), ("12", "0.5", False), ("1.5", "15.018", False), ("True", "x", True)],
)
def test_a_cell_that_the_first_lines_have_no_place_for(
    first: str, late: str, text: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A whole file is read again, with that column as text; a piece names the line."""
    monkeypatch.setattr(tables, "_HEAD", 20)
    monkeypatch.setattr(tables, "ROWS", 100)
    path = tmp_path / "t.csv.gz"
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.write("a,b\n" + f"{first},1\n" * 249 + f"{late},1\n")
    cells = read_rows(path)["a"]
    assert (cells.iloc[0], cells.iloc[-1]) == ((first, late) if text else (float(first), float(late)))
    pieces = tables.TextFile(path).pieces()
    if text:
        with pytest.raises(TableError, match=rf"t.csv.gz, line 251: column 'a' holds '{late}', but "):
            list(pieces)
    else:
        assert [len(piece) for piece in pieces] == [100, 100, 50]
