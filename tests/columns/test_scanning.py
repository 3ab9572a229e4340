"""What a number hides of its cell is found in all rows of a long file, in the column that it is in."""

import csv
import io
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from bayesnb.columns import scanning
from bayesnb.columns.reading import TableError
from bayesnb.datasets import read_rows, read_table

CELLS = ["1", "0", "0.5", "-05", "1e-05", "2024-01-05", "1005", "10.0001", "x", "", "100", "-0"]
HIDING = ["007", " 00", "15.000", '"09"', '" 012 "', "1.000 "]
QUOTED = ['"a, 05"', '"say ""05"" x"', '"two\n05"', '""', ' "a"', '"1\n2,007"']


@pytest.mark.parametrize("block", [64, 300, scanning._BLOCK])
@pytest.mark.parametrize("sep", [",", ";", "\t", "│"])
def test_every_column_that_hides_a_cell_is_found(block: int, sep: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scanning, "_BLOCK", block)
    rng = np.random.default_rng(0)
    for k in range(60):
        width = 2 + k % 5
        some = [cell.replace(",", sep) for cell in CELLS + (QUOTED if k % 2 else [])]
        rows = [rng.choice(some, width).tolist() for _ in range(1 + k)]
        hidden = {}
        for j in rng.permutation(width)[: k % 3].tolist():
            i = int(rng.integers(len(rows)))
            rows[i][j] = hidden[j] = str(rng.choice(HIDING))
        text = "\n".join(map(sep.join, rows)) + "\n" * (k % 2)
        found = scanning.columns_that_hide(io.StringIO(text), sep, width)
        assert set(hidden) <= found, text
        if sep != "│" and block > 64:  # the columns stay open where a block ends between quotes, or has no separator
            parsed = list(csv.reader(io.StringIO(text), delimiter=sep, skipinitialspace=True))
            inside = re.compile(r'(^|[\s",;])0\d|\.000')
            assert found <= {j for row in parsed for j, cell in enumerate(row) if inside.search(cell)}, text


@pytest.mark.parametrize(
    "text",
    [
        'x,5" p,1\nq,r,007\ny,6" p,7\n',  # inches are no quotes
        'x,"a"b",1\nq,r,007\ny,"6",7\n',
        "a,b,c\n1,2\n3,007\n",  # a row that is short
        'a,b,c\n1,"2,007\n',  # a quote that is not closed
    ],
)
def test_where_the_bounds_of_cells_are_open_any_column_may_hide_one(text: str) -> None:
    assert scanning.columns_that_hide(io.StringIO(text), ",", 3) == {0, 1, 2}


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
