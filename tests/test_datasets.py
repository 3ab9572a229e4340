"""The tables by name, and every way in which a user's file is read piece by piece, or cannot be used."""

import datetime
import gzip
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import bayesnb
from bayesnb import cli
from bayesnb.datasets import NAMES, TableError, load, load_spam, read_table
from bayesnb.tables import readers
from bayesnb.tables.labelled import LabelledTable
from bayesnb.tables.readers import open_table

from .estimators_table import mostly_slow
from .sums.test_processes import result, start

DIGITS = (178, 182, 177, 183, 181, 182, 181, 179, 174, 180)


@pytest.mark.parametrize(
    ("name", "shape", "classes", "missing"),
    [
        ("iris", (150, 4), {"setosa": 50, "versicolor": 50, "virginica": 50}, 0),
        ("wine", (178, 13), {"class_0": 59, "class_1": 71, "class_2": 48}, 0),
        ("breast_cancer", (569, 30), {"malignant": 212, "benign": 357}, 0),
        ("digits", (1797, 64), dict(zip("0123456789", DIGITS, strict=True)), 0),
        ("votes", (435, 16), {"democrat": 267, "republican": 168}, 392),
        ("penguins", (344, 7), {"Adelie": 152, "Gentoo": 124, "Chinstrap": 68}, 19),
    ],
)  # fmt: skip
def test_load(name: str, shape: tuple[int, int], classes: dict[str, int], missing: int) -> None:
    data = load(name)
    assert (data.name, data.X.shape) == (name, shape) and data.source
    assert data.target not in data.X.columns
    assert data.X.isna().to_numpy().sum() == missing
    assert Counter(data.y.tolist()) == classes
    read = read_table(name, data.target)  # as the command line reads it
    assert Counter(read.y.tolist()) == classes and read.source == data.source and read.lines is None


def test_every_name_is_loaded_above() -> None:
    assert NAMES == ("iris", "wine", "breast_cancer", "digits", "votes", "penguins")
    with pytest.raises(ValueError, match=r"no data set 'iriss'; the names are iris, wine, .*penguins"):
        load("iriss")


def test_spam() -> None:
    spam = load_spam()
    assert spam.X.shape == (len(spam.y), len(spam.vocabulary)) == (6046, 2000)
    folders = {"easy-ham-1": 2500, "easy-ham-2": 1400, "hard-ham-1": 250, "spam-1": 500, "spam-2": 1396}
    assert Counter(spam.folder.tolist()) == folders
    assert ((spam.y == "spam") == np.char.startswith(spam.folder, "spam")).all()
    assert (spam.X.nnz, spam.X.data.min(), spam.X.data.max()) == (994_810, 1, 3131)
    guarantee = spam.X[:, spam.vocabulary.tolist().index("guarantee")].toarray() > 0
    assert (spam.y[guarantee.ravel()] == "spam").mean() > 0.8  # each word stands at its own column
    path = Path(bayesnb.__file__).parent / "data" / "spam.npz"
    assert path.stat().st_size < 1_500_000
    with np.load(path, allow_pickle=False) as arrays:
        assert {arrays[name].dtype.kind for name in arrays.files} == {"i", "u", "U"}  # no code


# --- how a file is written ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_delimiters_and_blanks(tmp_path: Path, delimiter: str) -> None:
    """Blanks around a cell are no part of it, in quotes either; a byte-order mark is no part of the first name."""
    path = tmp_path / "table.txt"
    rows = [["a", " kind "], ["1.5", "x"], ["", " y"], ['" 2.5"', '" x "'], ["3", "y\t " if delimiter != "\t" else "y"]]
    path.write_text("\ufeff" + "\n".join(map(delimiter.join, rows)), encoding="utf-8")
    data = read_table(path, "kind")
    assert data.y.tolist() == ["x", "y", "x", "y"]
    np.testing.assert_array_equal(data.X["a"], [1.5, np.nan, 2.5, 3])
    assert (data.notes, data.source, data.name) == ((), str(path), "table")
    path.write_text("kind,word,x\na, red ,1\na,blue,2\nb,NA ,3\nb,'',4\n", encoding="utf-8")
    assert read_table(path, "kind").X["word"].fillna("-").tolist() == ["red", "blue", "-", "''"]


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (["0.5", "007"], [0.5, 7]),
        (["-3", "05"], [-3, 5]),
        (["1_000", "5"], ["1_000", "5"]),
        (["0x1F", "5"], ["0x1F", "5"]),
        (["- 5", "5"], ["- 5", "5"]),
        (["٣", "5"], ["٣", "5"]),
        (["True", "false"], [1, 0]),
        (["9007199254740993", "1e16"], [9007199254740992.0, 1e16]),
    ],
)
def test_cells_that_are_numbers_or_are_not(column: list[str], expected: list[Any], tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    pd.DataFrame({"c": column * 30, "x": np.arange(60) % 7, "y": list("aab") * 20}).to_csv(path, index=False)
    assert read_table(path, "y").X["c"].tolist()[:2] == expected
    asked = read_table(path, "y", columns={"c": "levels"})  # each level keeps its digits
    assert asked.X["c"].tolist()[:2] == column


# --- labels ---------------------------------------------------------------------------------------------------------


LABELS: list[list[Any]] = [
    *(["1e30", "2e30", "5"], ["9223372036854775808", "18446744073709551615", "1"], ["1" * 400, "2" * 400]),
    *(["007", "008"], ["+1", "-1"], ["0.0", "1.0"], ["TRUE", "FALSE"], ["yes", "1", "1.0"], ["1_000", "1000"]),
    *(["-0", "1"], ["2020-01-01", "2020-01-02"], [7, -3, 0], [9007199254740993, 9007199254740992], [True, False]),
]


def test_labels_are_kept_as_they_stand(tmp_path: Path) -> None:
    """Integers and truth values where Python writes them so; a row without a label is no float in between."""
    path = tmp_path / "table.csv"
    for cells in LABELS:
        for known in (cells, [cells[0], "", *cells[1:]], [f"{cells[0]} ", *cells[1:], "NA"]):
            path.write_text("y,a\n" + "".join(f"{cell},{i}\n" for i, cell in enumerate(known)), encoding="utf-8")
            found = read_table(path, "y").y.tolist()
            assert found == cells and [*map(type, found)] == [*map(type, cells)]


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
    assert read(["7", None, "8"]) == ["7", "8"]  # the file knows the type
    assert read(["u", None, "v"], pyarrow.dictionary(pyarrow.int8(), pyarrow.string())) == ["u", "v"]
    assert read([b"a", b"b"]) == ["b'a'", "b'b'"]
    assert read([datetime.date(2020, 1, 1), datetime.date(2021, 1, 1)]) == ["2020-01-01", "2021-01-01"]
    for values, message in (
        ([0.5, 1.5], "holds measurements such as 0.5"),
        ([[1], [2]], "column 'y' holds lists or tables in its cells"),
    ):
        with pytest.raises(TableError, match=message):
            read(values)


def test_odd_columns_in_parquet(tmp_path: Path, capsys: Any) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    path, model = tmp_path / "table.parquet", str(tmp_path / "m")
    for cell in ([], [1, 2], {"k": 1}):
        parquet.write_table(pyarrow.table({"y": ["u", "v"], "a": [1, 2], "odd": [None, cell]}), path)
        data = read_table(path, "y")
        assert list(data.X) == ["a"] and data.contract["odd"].why == "lists or tables in its cells"
    assert cli.main(["fit", str(path), "--target", "y", "--model", "plain", "-o", model]) == 0
    parquet.write_table(pyarrow.table({"a": [[1, 2], [3]]}), path)
    assert cli.main(["predict", model, str(path)]) == 2
    assert "column 'a' holds '[1 2]', but the other cells numbers such as 1" in capsys.readouterr().err
    parquet.write_table(pyarrow.Table.from_arrays([[1, 2], [3, 4], ["u", "v"]], ["a", "a", "y"]), path)
    with pytest.raises(TableError, match="duplicate field names"):
        read_table(path, "y")
    parquet.write_table(pyarrow.table({"y": ["u", "v"], "a": pyarrow.array([2**53 + 1, None], pyarrow.int64())}), path)
    assert open_table(path).first["a"].tolist()[0] == 2**53 + 1  # beside a missing cell, too


# --- files that cannot be used --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b" \n\n", "is empty"),
        (b"a,y\n", "no rows below the header"),
        (bytes(range(256)), r"is not a table in UTF-8 \(.*position 128.*\); name its --encoding, such as cp1252"),
        ("a,y\n1,größe\n2,v\n".encode("latin-1"), r"is not a table in UTF-8 \(.*byte 0xf6.*\); name its --encoding"),
        (b"PAR1" + bytes(99), "has no rows below the header"),
        (b"a,y\n1,2\n1,2,3,4\n", r"not a table in UTF-8 \(Expected 2 fields in line 3, saw 4\)"),
        (b"a,y\n1,2,3\n4,5,6\n", "2 cells in the header and 3 in the first row"),
        (b'a,y\n"1,2\n3,4\n', "not a table"),
        (b"x" * 200_000, "not a table"),
        (b"a,y,a\n1,2,3\n", "more than one column named 'a'"),
        (b"a,b\n1,2\n", "no column 'y'; the columns are 'a', 'b'"),
        (b",".join(b"c%d" % i for i in range(20)) + b"\n" + b",".join([b"1"] * 20), "'c7' and 12 more"),
        (b"a,y\n1,\n2,\n", "'y' has no value in any row"),
        (b"a,y\n1,ham\n2,ham\n3,\n", "'y' holds ham in every row; a classifier needs at least two classes"),
        (b"y\n1\n2\n", "no column to learn from"),
        (b"a,y\n,1\n,2\n", r"no column to learn from \('a': no value in any row\); ask for one with --columns"),
        (b"a,y\ninf,u\n2,v\n", "line 2: column 'a' holds 'inf', infinity or too large for a float; leave the cell"),
    ],
    ids=lambda value: value[:12] if isinstance(value, bytes) else "",
)
def test_unusable_text(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "table.csv"
    path.write_bytes(content)
    with pytest.raises(TableError, match=message) as caught:
        read_table(path, "y")
    assert str(path) in str(caught.value) and "\n" not in str(caught.value)


def test_an_encoding_that_the_file_has_not(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_bytes("a~y\n1~u\n2~v\n".encode("utf-16-le"))
    for encoding in ("utf-16", "utf-32-le", "nonsense"):
        said = rf"is not a table in {encoding.upper()} \(.*\); name its --encoding, such as cp1252"
        with pytest.raises(TableError, match=said):
            read_table(path, "y", encoding=encoding)
    assert read_table(path, "y", encoding="utf-16-le", sep="~").y.tolist() == ["u", "v"]


def test_unusable_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(TableError, match="is a pipe or a device; save"):
        read_table("/dev/null", "y")
    with pytest.raises(TableError, match=r"no file .*absent\.csv; check the path, or choose one of iris"):
        read_table(tmp_path / "absent.csv", "y")
    with pytest.raises(TableError, match=r"is not a Parquet file that can be read|has no column 'y'"):
        read_table(tmp_path, "y")
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(b"a,y\n" + b"1,u\n2,v\n" * 1000)[:-20])
    with pytest.raises(TableError, match=r"t\.csv\.gz is not a table in UTF-8 \(Compressed file ended"):
        read_table(path, "y")
    path = tmp_path / "table.parquet"
    path.write_bytes(b"PAR1 and no more")
    with pytest.raises(TableError, match="is not a Parquet file"):
        read_table(path, "y")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(TableError, match="pyarrow"):
        read_table(path, "y")


def test_a_row_without_a_label_is_not_judged_and_lines_are_those_of_the_file(tmp_path: Path, capsys: Any) -> None:
    """A total at the foot, blank lines, breaks within quotes; the advice can be pasted into a shell."""
    path = tmp_path / "t.csv"
    rows = "".join(f'"n{i}\n",{i},{i % 7 / 2},{"ab"[i % 2]}\n' + "\n" * (i == 3) for i in range(60))
    path.write_text(f"note,order id,x,y\n{rows}sum,Total,Sum,\n")
    data = read_table(path, "y")
    assert data.X["x"].tolist() == [i % 7 / 2 for i in range(60)] and data.contract["order id"].role == "dropped"
    assert data.lines is not None and data.lines[:6].tolist() == [2, 4, 6, 8, 11, 13]
    path.write_text(path.read_text().replace("x,y", "the x,y") + "n,1,inf,b\n")
    assert cli.main(["fit", str(path), "--target", "y", "--model", "plain", "-o", str(tmp_path / "m")]) == 2
    assert f"{path}, line 124: column 'the x' holds 'inf'" in (err := capsys.readouterr().err)
    assert "--columns 'the x'=ROLE, or leave it out with --drop 'the x'." in err
    path.write_bytes(b"PK\3\4" + bytes(60))
    with pytest.raises(TableError, match="is a workbook or an archive; save its sheet as CSV"):
        read_table(path, "y")


# --- piece by piece -------------------------------------------------------------------------------------------------


def table(n: int = 350) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    label = rng.choice(["007", "1", "23"], n)
    frame = pd.DataFrame({"id": range(n), "x": rng.normal(size=n).round(3), "price": rng.choice(["1,5 €", "12 €"], n)})
    frame["x"] += label == "23"
    return frame.assign(colour=rng.choice(["red", "blue"], n), y=np.where(rng.random(n) < 0.05, None, label))


@pytest.fixture
def short_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """The roles come from about 80 rows, and a piece has 100."""
    monkeypatch.setattr(readers, "HEAD", 2000)
    monkeypatch.setattr(readers, "ROWS", 100)


@pytest.mark.parametrize("suffix", ["csv", "csv.gz", "parquet"])
def test_pieces_give_the_model_of_all_rows(suffix: str, tmp_path: Path, request: Any, capsys: Any) -> None:
    path, frame = tmp_path / f"t.{suffix}", table()
    frame.loc[200:299, "y"] = None  # a piece without labels
    frame.loc[320, "colour"], frame.loc[330, "x"] = "green", 99
    (frame.to_parquet if suffix == "parquet" else frame.to_csv)(path, index=False)
    models = []
    for name in ("whole", "pieces"):
        assert cli.main(["fit", str(path), "--target", "y", "--model", "plain", "-o", str(tmp_path / name)]) == 0
        assert "t: 239 rows, 3 features, target 'y'" in capsys.readouterr().out.replace("t.csv: 2", "t: 2")
        models.append(bayesnb.load(tmp_path / name))
        request.getfixturevalue("short_pieces")
    one, other = models
    assert one.classes_.tolist() == other.classes_.tolist() == ["007", "1", "23"]
    said = [[(c.name, c.role, c.levels, c.high) for c in model.contract_.used] for model in models]
    assert said[0] == said[1] and said[0][0][3] == 99 and said[0][2][2] == ("blue", "green", "red")
    X = one.contract_.apply(frame)
    np.testing.assert_allclose(other.predict_proba(X), one.predict_proba(X), rtol=1e-10)
    data = read_table(path, "y")
    pd.testing.assert_frame_equal(data.X, X[frame["y"].notna()].reset_index(drop=True), check_dtype=False)
    assert data.lines is None if suffix == "parquet" else data.lines.tolist() == list(X.index[frame["y"].notna()] + 2)
    parts = [len(batch.X) for batch in LabelledTable(path, "y").batches()]
    assert len(parts) == 4 and parts[2] == 0 and sum(parts) == 239


@pytest.mark.parametrize(
    ("column", "first", "late", "said"),
    mostly_slow(
        [
            ("x", "1", "big", "column 'x' holds 'big', where numbers are expected; write all cells in one way; name"),
            ("x", "1.5", "inf", "column 'x' holds 'inf', infinity or too large for a float"),
            (
                "x",
                "2,5",
                "1.5",
                "column 'x' holds '1.5', but the other cells numbers such as 2,5; write all cells in one way; name",
            ),
            (
                "x",
                "0",
                "2",
                "column 'x' holds '2', but the first rows only 0 and 1; name its role with --columns x=ROLE",
            ),
            ("x", "True", "maybe", "column 'x' holds 'maybe', but the other cells numbers such as True"),
            ("year", "2025", "2026", "column 'year' holds '2026', but the first rows only 2025; name its role with"),
            ("year", "", "2026", "column 'year' holds '2026', but the first rows nothing; name its role"),
        ],
        lambda case: case[2] in ("big", "2"),
    ),
)
def test_a_later_cell_that_contradicts_a_role_is_named(
    column: str, first: str, late: str, said: str, tmp_path: Path, capsys: Any, short_pieces: None
) -> None:
    other = {"0": "1", "1": "7", "1.5": "3.5", "2,5": "7,5", "True": "False"}.get(first, first)
    frame = table(1500).assign(**{column: [first, other] * 700 + [late] * 100})
    path, model = tmp_path / "t.csv", str(tmp_path / "m")
    frame.to_csv(path, index=False)
    arguments = ["fit", str(path), "--target", "y", "--model", "plain", "-o", model]
    labelled = next(i for i in range(1400, 1500) if frame["y"][i] is not None)
    line = 1402 if "expected" in said else labelled + 2  # the reader sees rows without a label, too
    for command in (arguments, ["select", *arguments[1:4]]):
        assert cli.main(command) == 2
        assert f"{path}, line {line}: {said}" in capsys.readouterr().err
    assert cli.main([*arguments, "--drop", column]) == 0
    assert cli.main([*arguments, "--columns", f"{column}=levels"]) == 0
    nb = bayesnb.load(model)
    assert late in nb.contract_[column].levels
    if late == "big":  # a word counts as missing where numbers are asked for
        assert cli.main([*arguments, "--columns", "x=numbers"]) == 0
        assert bayesnb.load(model).contract_["x"].why == "as asked"


FIT = """
from bayesnb import cli
assert cli.main(["fit", {!r}, "--target", "kind", "--model", "plain", "-o", {!r}]) == 0
print(*(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="/proc tells the peak of a process")
@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_the_memory_of_a_fit_does_not_grow_with_the_file(suffix: str, tmp_path: Path) -> None:
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    rng, n = np.random.default_rng(0), 1 << 16
    frame = pd.DataFrame({f"f{j}": rng.integers(0, 100, n) / 10 for j in range(40)})
    rows, peak = frame.assign(kind=np.array(["a", "b"])[np.arange(n) % 2]), {}
    for groups in (4, 24):  # 430 MB more, of which two fifths may not stay; the allocators differ by up to 80 MB
        path = tmp_path / f"rows.{suffix}"
        if suffix == "csv":
            with path.open("w") as file:
                file.writelines(rows.to_csv(index=False, header=k == 0) for k in range(groups))
        else:
            made = pyarrow.Table.from_pandas(rows)
            with parquet.ParquetWriter(path, made.schema, compression="zstd", use_dictionary=False) as writer:
                for _ in range(groups):
                    writer.write_table(made, row_group_size=n)
        out = result(start(FIT.format(str(path), str(tmp_path / "m"))))
        peak[groups] = int(out.split()[-1]) / 1024
    assert peak[24] < 1000 and peak[24] < peak[4] + 180, peak
