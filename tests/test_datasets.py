"""The tables by name, and every way in which a user's file can be unusable."""

import datetime
import os
import sys
from collections import Counter
from decimal import Decimal
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import pandas as pd
import pytest

import bayesnb
from bayesnb import cli
from bayesnb.datasets import NAMES, TableError, load, load_spam, read_rows, read_table


@pytest.mark.parametrize(
    ("name", "shape", "classes", "missing"),
    [
        ("iris", (150, 4), {"setosa": 50, "versicolor": 50, "virginica": 50}, 0),
        ("wine", (178, 13), {"class_0": 59, "class_1": 71, "class_2": 48}, 0),
        ("breast_cancer", (569, 30), {"malignant": 212, "benign": 357}, 0),
        (
            "digits",
            (1797, 64),
            dict(zip("0123456789", (178, 182, 177, 183, 181, 182, 181, 179, 174, 180), strict=True)),
            0,
        ),
        ("votes", (435, 16), {"democrat": 267, "republican": 168}, 392),
        ("penguins", (344, 7), {"Adelie": 152, "Gentoo": 124, "Chinstrap": 68}, 19),
    ],
)
def test_load(name: str, shape: tuple[int, int], classes: dict[str, int], missing: int) -> None:
    data = load(name)
    assert data.name == name
    assert data.X.shape == shape
    assert data.target not in data.X.columns
    assert data.X.isna().to_numpy().sum() == missing
    assert Counter(data.y.tolist()) == classes
    assert data.source


def test_every_name_is_loaded_above() -> None:
    assert NAMES == ("iris", "wine", "breast_cancer", "digits", "votes", "penguins")
    with pytest.raises(ValueError, match=r"no data set 'iriss'; the names are iris, wine, .*penguins"):
        load("iriss")


def test_spam() -> None:
    spam = load_spam()
    assert spam.X.shape == (len(spam.y), len(spam.vocabulary)) == (6046, 2000)
    assert Counter(spam.y.tolist()) == {"spam": 1896, "ham": 4150}
    assert {f: Counter(spam.y[spam.folder == f].tolist()) for f in set(spam.folder.tolist())} == {
        "easy-ham-1": {"ham": 2500},
        "easy-ham-2": {"ham": 1400},
        "hard-ham-1": {"ham": 250},
        "spam-1": {"spam": 500},
        "spam-2": {"spam": 1396},
    }
    assert spam.X.has_canonical_format
    assert (spam.X.nnz, spam.X.data.min(), spam.X.data.max()) == (994_810, 1, 3131)
    assert spam.X.dtype == np.int32  # room to add up
    assert len(set(spam.vocabulary.tolist())) == 2000
    seen = (spam.X > 0).astype(float)
    share = seen.T @ (spam.y == "spam") / seen.sum(0)  # of the mails with a word, those that are spam
    words = dict(zip(spam.vocabulary.tolist(), share, strict=True))
    assert words["guarantee"] > 0.8 > 0.1 > words["wrote"]  # each word stands at its own column
    assert spam.source


def test_spam_is_small_and_holds_no_code() -> None:
    path = Path(bayesnb.__file__).parent / "data" / "spam.npz"
    assert path.stat().st_size < 1_500_000
    with np.load(path, allow_pickle=False) as arrays:
        assert {arrays[name].dtype.kind for name in arrays.files} == {"i", "u", "U"}


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_delimiters(tmp_path: Path, delimiter: str) -> None:
    path = tmp_path / "table.txt"
    path.write_text(
        "\ufeff" + "\n".join(map(delimiter.join, [["a", " kind"], ["1.5", "x"], ["", " y"], ["2.5", "x"]])),
        encoding="utf-8",
    )
    data = read_table(path, "kind")
    assert data.y.tolist() == ["x", "y", "x"]
    np.testing.assert_array_equal(data.X["a"], [1.5, np.nan, 2.5])
    assert data.notes == ()


def test_parquet(tmp_path: Path) -> None:
    path = tmp_path / "table.parquet"
    load("penguins").X.to_parquet(path)
    data = read_table(path, "island")
    assert data.X.shape == (344, 6)
    assert set(data.y) == {"Biscoe", "Dream", "Torgersen"}


def test_what_is_left_out_is_told(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    pd.DataFrame({"a": [1, 2, 3, 4], "void": None, "y": [0, 1, None, 1]}).to_csv(path)
    data = read_table(path, "y")
    assert list(data.X.columns) == ["a"]
    assert data.X.index.tolist() == [0, 1, 2]
    assert data.y.tolist() == ["0.0", "1.0", "1.0"]  # as pandas writes them beside a missing cell
    assert data.notes == (
        "The first column has no name, so it counts as row numbers and was left out.",
        "1 of 4 rows have no value in 'y' and were left out.",
        "Columns without any value were left out: 'void'.",
    )


def labels(path: Path, cells: list[str]) -> list[object]:
    """The labels of a table whose target has these cells."""
    path.write_text("y,a\n" + "".join(f"{cell},{i}\n" for i, cell in enumerate(cells)), encoding="utf-8")
    return read_table(path, "y").y.tolist()


@pytest.mark.parametrize(
    "cells",
    [
        ["1e30", "2e30", "5"],
        ["9007199254740993", "9007199254740992", "9007199254740994"],
        ["9223372036854775808", "18446744073709551615", "1"],
        ["1" * 400, "2" * 400],
        ["007", "008"],
        ["+1", "-1"],
        ["0.0", "1.0"],
        ["1e999999999999999999999", "2"],
        ["TRUE", "FALSE"],
        ["yes", "1", "1.0"],
        ["1_000", "1000"],
        ["0x10", "16"],
        ["-0", "1"],
        ["2020-01-01", "2020-01-02"],
    ],
    ids=lambda cells: cells[0][:20],
)
def test_labels_are_kept_as_they_stand(cells: list[str], tmp_path: Path) -> None:
    assert [str(label) for label in labels(tmp_path / "table.csv", cells)] == cells
    assert [str(label) for label in labels(tmp_path / "table.csv", ["", *cells])] == cells  # blank: no float in between


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["7", "-3 ", "0"], [7, -3, 0]),
        (["9007199254740993", "", "9007199254740992"], [9007199254740993, 9007199254740992]),
        (["True", "False", "NA"], [True, False]),
    ],
)
def test_labels_that_python_writes_the_same_way_have_its_types(
    cells: list[str], expected: list[object], tmp_path: Path
) -> None:
    found = labels(tmp_path / "table.csv", cells)
    assert found == expected
    assert [type(label) for label in found] == [type(label) for label in expected]


@pytest.mark.parametrize("cells", [["1", "1.0", "2"], ["1e30", "1E30", "2"], ["007", "7", "8"], ["True", "TRUE", "no"]])
def test_one_value_written_in_two_ways_is_two_labels_for_nobody(cells: list[str], tmp_path: Path) -> None:
    if "no" in cells:  # a word among them: all are words
        assert labels(tmp_path / "table.csv", cells) == cells
        cells = [*cells[:2], "False"]
    with pytest.raises(TableError, match=rf"writes one value in two ways, {cells[0]!r} and {cells[1]!r}"):
        labels(tmp_path / "table.csv", cells)


def test_levels_beyond_floats_keep_their_digits_beside_a_missing_one(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("a,b,c,y\n9007199254740993,9007199254740993,1,u\n9007199254740992,1e16,2,v\n,,,u\n")
    table = read_table(path, "y", columns={"a": "levels"}).X
    assert table["a"].dropna().tolist() == ["9007199254740993", "9007199254740992"]
    assert table["b"].dtype == float  # the file has floats there
    assert table["c"].dtype == float  # floats hold all these integers
    pytest.importorskip("pyarrow")
    table.assign(a=pd.array([2**53 + 1, 2**53, None], "Int64")).to_parquet(tmp_path / "table.parquet")
    assert read_rows(tmp_path / "table.parquet")["a"].dropna().tolist() == [2**53 + 1, 2**53]


def test_a_long_column_has_one_type(tmp_path: Path) -> None:
    """In pieces, pandas makes numbers of the first million cells and leaves those beside a word as they stand."""
    path = tmp_path / "table.csv"
    path.write_text("code,y\n" + "007,u\n007,v\n" * 300_000 + "x,v\n")
    assert set(read_table(path, "y").X["code"]) == {"007", "x"}


def test_labels_in_parquet(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "table.parquet"

    def read(values: list[object], kind: object = None) -> list[object]:
        y = pyarrow.array(values, kind)
        parquet.write_table(pyarrow.table({"y": y, "a": range(len(values))}), path)
        return read_table(path, "y").y.tolist()

    assert read([2**53 + 1, None, 2**53]) == [2**53 + 1, 2**53]
    assert read([2**64 - 1, None, 2**64 - 2], pyarrow.uint64()) == [2**64 - 1, 2**64 - 2]
    assert read([1.0, None, 2.0]) == [1, 2]
    assert read([1e30, 2e30, 5.0]) == ["1e+30", "2e+30", "5.0"]
    assert read([True, None, False]) == [True, False]
    assert read(["007", None, "8"]) == ["007", "8"]
    assert read(["u", None, "v"], pyarrow.dictionary(pyarrow.int8(), pyarrow.string())) == ["u", "v"]
    assert read([Decimal("1.10"), Decimal("2.20")]) == ["1.10", "2.20"]
    assert read([datetime.date(2020, 1, 1), datetime.date(2021, 1, 1)]) == ["2020-01-01", "2021-01-01"]
    for values, message in (
        ([0.5, 1.5], "holds measurements such as 0.5"),
        ([b"a", b"b"], "holds bytes such as b'a'; save the labels as text"),
        ([[1], [2]], "column 'y' holds lists in its cells"),
        ([{"k": 1}, {"k": 2}], "column 'y' holds tables in its cells"),
    ):
        with pytest.raises(TableError, match=message):
            read(values)


def test_odd_columns_in_parquet(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "table.parquet"
    for cell, what in (([], "lists"), ([1, 2], "lists"), ({"k": 1}, "tables")):
        parquet.write_table(pyarrow.table({"y": ["u", "v"], "a": [1, 2], "odd": [None, cell]}), path)
        with pytest.raises(TableError, match=f"column 'odd' holds {what} in its cells; leave the column out"):
            read_table(path, "y")
    frame = pd.DataFrame([["u", 1], ["v", 2]], columns=pd.MultiIndex.from_tuples([("y", ""), ("a", "b")]))
    frame.to_parquet(path)
    data = read_table(path, "('y', '')")  # the name that the file has
    assert list(data.X) == ["('a', 'b')"]
    assert data.y.tolist() == ["u", "v"]
    parquet.write_table(pyarrow.Table.from_arrays([[1, 2], [3, 4], ["u", "v"]], ["a", "a", "y"]), path)
    with pytest.raises(TableError, match="more than one column named 'a'"):
        read_table(path, "y")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b" \n\n", "is empty"),
        (b"a,y\n", "no rows below the header"),
        (bytes(range(256)), r"not text in UTF-8 \(byte 128"),
        (b"PAR1" + bytes(99), "is Parquet; save it as a file whose name ends with .parquet"),
        (b"a,y\n1,2\n1,2,3,4\n", r"not a table \(Expected 2 fields in line 3, saw 4\)"),
        (b"a,y\n1,2,3\n4,5,6\n", "2 cells in the header and 3 in the first row"),
        (b'a,y\n"1,2\n3,4\n', "not a table"),
        (b"x" * 200_000, "not a table"),
        (b"a,y,a\n1,2,3\n", "more than one column named 'a'"),
        (b"a,Y\n1,2\n", "no column 'y'; the closest is 'Y'"),
        (b"a,b\n1,2\n", "no column 'y'; the columns are 'a', 'b'"),
        (b",".join(b"c%d" % i for i in range(20)) + b"\n" + b",".join([b"1"] * 20), "'c7' and 12 more"),
        (b"a,y\n1,\n2,\n", "'y' has no value in any of the 2 rows"),
        (b"a,y\n1,ham\n2,ham\n3,\n", "'y' holds ham in every row"),
        (b"a,y\n1,0.25\n2,1.5\n", "'y' holds measurements such as 0.25"),
        (b"y\n1\n2\n", "no column with values besides the target 'y'"),
        (b"a,y\n,1\n,2\n", "no column with values besides the target 'y'"),
    ],
)
def test_unusable_text(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "table.csv"
    path.write_bytes(content)
    with pytest.raises(TableError, match=message) as caught:
        read_table(path, "y")
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("encoding", "message"),
    [
        (
            "utf-16",
            r"is not text in UTF-16 \(UTF-16 stream does not start with BOM\); name its --encoding, such as",
        ),
        ("utf-32-le", r"is not text in UTF-32-LE \(byte 0 is not part of a character\)"),
        ("punycode", r"is not text in PUNYCODE"),
        ("base64", "there is no encoding 'base64'; common ones are utf-8"),
        ("nonsense", "there is no encoding 'nonsense'; common ones are utf-8"),
    ],
)
def test_an_encoding_that_the_file_has_not(encoding: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_bytes("a,y\n1,u\n2,v\n".encode("utf-16-le"))
    with pytest.raises(TableError, match=message) as caught:
        read_table(path, "y", encoding=encoding)
    if not message.startswith("there"):
        assert str(path) in str(caught.value)
    assert read_table(path, "y", encoding="utf-16-le").y.tolist() == ["u", "v"]


@pytest.mark.skipif(os.name != "posix", reason="pipes with names")
def test_a_pipe_is_read_once(tmp_path: Path, capsys: Any) -> None:
    def piped(content: bytes, name: str) -> Path:
        os.mkfifo(path := tmp_path / name)
        Thread(target=lambda: path.write_bytes(content), daemon=True).start()
        return path

    rows = "".join(f"{i % 7};{i % 5 / 2:g}".replace(".", ",") + f";{'uv'[i % 2]}\n" for i in range(1500))
    text = f"a;b;y\n{rows}0{rows}"
    for encoding in ("utf-8-sig", "utf-16"):
        data = read_table(piped(text.encode(encoding), f"t-{encoding}"), "y")
        assert data.X.shape == (3000, 2)
        assert set(data.X["a"]) == {*"0123456", "00"}
        assert data.X["b"].max() == 2
    path = tmp_path / "t.parquet"
    path.write_bytes(b"PAR1" + bytes(100) + b"PAR1")
    with pytest.raises(TableError, match=r"p is Parquet; save it as a file whose name ends with \.parquet"):
        read_table(piped(path.read_bytes(), "p"), "y")
    assert cli.main(["fit", str(piped(b"", "p.parquet")), "--target", "y", "-o", str(tmp_path / "m")]) == 2
    assert "p.parquet is a pipe, from which Parquet cannot be read; save it to a file" in capsys.readouterr().err


def test_unusable_paths(tmp_path: Path) -> None:
    with pytest.raises(TableError, match=r"no file .*absent\.csv; check the path, or choose one of iris"):
        read_table(tmp_path / "absent.csv", "y")
    with pytest.raises(TableError, match="is a folder"):
        read_table(tmp_path, "y")


def test_unusable_parquet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "table.parquet"
    path.write_bytes(b"PAR1 and no more")
    with pytest.raises(TableError, match="is not a Parquet file"):
        read_table(path, "y")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(TableError, match="pyarrow is not installed"):
        read_table(path, "y")
