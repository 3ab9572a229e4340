"""The tables by name, and every way in which a user's file can be unusable."""

import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import bayesnb
from bayesnb.datasets import NAMES, TableError, load, load_spam, read_table


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
        "\ufeff" + "\n".join(map(delimiter.join, [["a", " kind"], ["1.5", "x"], ["", " y"]])), encoding="utf-8"
    )
    data = read_table(path, "kind")
    assert data.y.tolist() == ["x", "y"]
    np.testing.assert_array_equal(data.X["a"], [1.5, np.nan])
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
    assert data.y.tolist() == [0, 1, 1]
    assert data.y.dtype.kind == "i"
    assert data.notes == (
        "The first column has no name; it was taken for row numbers and left out.",
        "1 of 4 rows have no value in 'y' and were left out.",
        "Columns without a single value were left out: 'void'.",
    )


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b" \n\n", "is empty"),
        (b"a,y\n", "no rows below the header"),
        (bytes(range(256)), r"not text in UTF-8 \(byte 128"),
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
        (b"y\n1\n2\n", "no column with values beside the target 'y'"),
        (b"a,y\n,1\n,2\n", "no column with values beside the target 'y'"),
    ],
)
def test_unusable_text(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "table.csv"
    path.write_bytes(content)
    with pytest.raises(TableError, match=message) as caught:
        read_table(path, "y")
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_unusable_paths(tmp_path: Path) -> None:
    with pytest.raises(TableError, match=r"no file .*absent\.csv; check the path, or take one of iris"):
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
