"""`describe`, `fit` and `MixedNB.fit` give each column the same role, or refuse it for the same reason.

What a careful colleague would point out is said in `describe`, at the end of `fit`, and in the report.
"""

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import bayesnb
from bayesnb import cli, datasets, describe

N = 60
KIND = ["a", "b"] * (N // 2)
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
    frame = pd.DataFrame(TABLES[name])
    frame.assign(y=KIND).to_csv(path, index=False)
    fit = ["fit", path, "--target", "y", "--model", "plain", "-o", model]
    codes = [cli.main(["describe", path, "--target", "y"]), cli.main(fit)]
    frame = pd.read_csv(path, dtype={"code": str})
    X, y = frame.drop(columns="y"), frame["y"]
    if name == "nothing that decides":
        assert codes == [2, 2]
        said = "column 'price': '2,000 €' may be 2000 € or 2.000 €, and no other cell decides it; give --decimal ,"
        assert capsys.readouterr().err.count(said) == 2
        for fit in (bayesnb.MixedNB().fit, lambda *_: bayesnb.fit_batches(bayesnb.MixedNB(), path, "y")):
            with pytest.raises(ValueError, match=said):
                fit(X, y)
        bayesnb.MixedNB().fit(describe(X, thousands=",").apply(X), y)
        return
    assert codes == [0, 0]
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        nb, fitted = bayesnb.MixedNB().fit(X, y), bayesnb.load(model)
        parts = bayesnb.fit_batches(bayesnb.MixedNB(), path, "y", batch_size=25)
    assert ["leaves out 'day', 'name'; `contract_.cautions` says why" in str(one.message) for one in said] == [True] * (
        2 * name.startswith("codes")
    )
    assert nb.contract_ is not None
    roles = {column.name: column.role for column in fitted.contract_.columns if column.role != "target"}
    assert {column.name: column.role for column in nb.contract_.columns} == roles
    assert {column.name: column.role for column in describe(frame, "y").columns} == roles | {"y": "target"}
    np.testing.assert_allclose(nb.predict_proba(X), fitted.predict_proba(fitted.contract_.apply(X)), rtol=1e-12)
    assert parts.log_evidence_ == pytest.approx(nb.log_evidence_, rel=1e-12)
    assert (cells := [len(at) for _, _, at in parts.parts_]) == [len(at) for _, _, at in nb.parts_], cells


TABLE = pd.DataFrame(
    {
        "share": [0.5, 1.5, 2.25, 0.75] * 5,
        "debt": [-1, 2, 3, 4] * 5,
        "few": [0, 1, 1, 2] * 5,
        "day": pd.to_datetime(["2026-01-01", "2026-01-02", "2026-02-01", "2026-03-01"] * 5),
        "town": pd.Categorical(["north", "south"] * 10),
        "word": ["red", "blue", "green", "red"] * 5,
        "price": ["1,50", "2,25", "3.75", "4,00"] * 5,
        "huge": ["1" + "0" * 400 + ".5", "2.5", "3.5", "4.5"] * 5,
    }
)


@pytest.mark.parametrize(
    ("column", "role", "said"),
    [
        ("share", "counts", r"column 'share' holds 0\.5, so it cannot be counts; choose the role numbers or levels"),
        ("debt", "counts", "column 'debt' holds -1, so it cannot be counts"),
        ("debt", "yes/no", "column 'debt' holds -1, so it cannot be yes/no"),
        ("day", "counts", "column 'day' holds '2026-01-01 00:00:00', so it cannot be counts; choose the role levels"),
        ("word", "numbers", "column 'word' holds 'red', so it cannot be numbers; choose the role levels"),
        ("price", "numbers", "column 'price' holds '1,50', so it cannot be numbers"),
    ],
)
def test_roles_that_a_column_contradicts(column: str, role: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        describe(TABLE[[column]], columns={column: role})
    assert describe(TABLE[["few"]], columns={"few": "counts"})["few"].role == "counts"


def test_what_is_asked_for_has_to_make_sense() -> None:
    for wrong, said in (
        ({"decimal": "comma"}, "`decimal` and `thousands` are 'comma' and None; they need to be one character each"),
        ({"decimal": ",", "thousands": ","}, "`decimal` and `thousands` are ',' and ','.* and to differ"),
        ({"columns": {"prize": "numbers"}}, "there is no column 'prize'; the columns are share, debt, few"),
        ({"columns": {"word": "words"}}, "`columns` has the role 'words'; choose one of numbers, counts"),
        ({"decimal": ",", "columns": {"price": "numbers"}}, r"column 'price': '3\.75' is no number with"),
    ):
        with pytest.raises(ValueError, match=said):
            describe(TABLE[["price"]] if "decimal" in wrong else TABLE, **wrong)
    with pytest.raises(ValueError, match=r"column 'huge' holds '1000.*…', infinity or too large for a float"):
        describe(TABLE[["huge"]]).apply(TABLE)
    asked = describe(TABLE[["day", "town"]], columns={"day": "levels"})
    assert [column.role for column in asked.columns] == ["levels", "levels"]
    assert asked["day"].levels[0] == "2026-01-01 00:00:00"
    made = TABLE[["day"]].assign(place=[str(k) for k in range(1, 21)], cells=[[1, 2]] * 20, none=None, one=5)
    found = {column.name: column for column in describe(made).columns}
    assert {column.role for column in found.values()} == {"dropped"}
    assert "follow each other" in found["place"].why and found["cells"].why == "lists or tables in its cells"
    with pytest.raises(KeyError, match="there is no column 'nope'; the columns are day, place, cells"):
        describe(made)["nope"]
    with pytest.raises(ValueError, match="more than one column has the name 'day'"):
        describe(pd.concat([TABLE, TABLE[["day"]]], axis=1))


@pytest.mark.parametrize(
    ("name", "values", "why"),
    [
        ("order_id", np.arange(500, 560) * 3, "an identifier by its name, 60 different values"),
        ("customerNo", np.arange(500, 560) * 3, "an identifier by its name, 60 different values"),
        ("Kundennummer", np.arange(500, 560) * 3, "an identifier by its name, 60 different values"),
        ("x", np.arange(7, 67), "row numbers: all differ and follow each other"),
        ("x", 300_001 + 7919 * np.arange(60), "an identifier: all differ and have 6 digits"),
        ("x", 20240101 + 100 * (np.arange(60) % 12) + np.arange(60) % 28, "dates written as numbers, YYYYMMDD"),
        ("x", np.arange(60) * 3, ""),
        ("x", np.arange(60) * 2, ""),  # steps of one size
        ("x", np.arange(60) + np.arange(60) // 2, "row numbers: all differ and rise from row to row"),
        ("x", (np.arange(60) + np.arange(60) // 2)[::-1], ""),  # an order that says nothing of rows
        ("EmployeeNumber", np.arange(500, 560)[::-1] * 3, "an identifier by its name: all differ"),
        ("CarbonNumber", np.arange(500, 560) // 2 * 3, ""),
        ("id", np.arange(60) % 30, ""),  # half of them differ
        ("x", 300_000 + 10 * np.arange(0, 600, 10), ""),  # rounded amounts
        ("x", 20240101 + 100 * (np.arange(60) % 13), ""),  # a month of 13
        ("video", np.arange(60) * 3, ""),
    ],
)
def test_whole_numbers_that_name_the_row(name: str, values: np.ndarray, why: str) -> None:
    column = describe(pd.DataFrame({name: values}))[name]
    assert (column.role, column.why) == (("dropped", why) if why else ("numbers", "whole numbers"))
    assert describe(pd.DataFrame({name: values}), columns={name: "numbers"})[name].role == "numbers"
    assert describe(pd.DataFrame({name: values[:19]}))[name].role == "numbers"  # too few rows to tell


@pytest.mark.parametrize(
    ("levels", "rows", "role"),
    [(30, 61, "levels"), (32, 60, "dropped"), (100, 999, "levels"), (101, 900, "dropped"), (101, 1200, "levels")],
)
def test_text_of_many_levels_is_left_out(levels: int, rows: int, role: str) -> None:
    column = describe(pd.DataFrame({"note": [f"remark {i % levels}" for i in range(rows)]}))["note"]
    assert (column.role, column.distinct) == (role, levels)
    if role == "dropped":
        assert column.why == f"text of {levels} different values in {rows} rows"
        assert column.warning == "note=levels uses it"
    else:
        assert column.warning == ("101 levels, 12 rows each" if levels > 100 else "")
        assert len(column.levels) == (0 if levels > 100 else levels)


def test_words_among_numbers_are_missing_if_they_are_few() -> None:
    for others, share, role in ((5, 0.1, "numbers"), (6, 0.1, "levels"), (1, 0.3, "levels")):
        odd = int(200 * share)
        cells = [f"w{i % others}" for i in range(odd)] + [str(i % 40) for i in range(200 - odd)]
        column = describe(pd.DataFrame({"c": cells}))["c"]
        assert (column.role, len(column.words)) == (role, others if role == "numbers" else 0)
        said = (
            f"{odd} cells are not numbers ('w0'" if role == "numbers" else f"{1 - share:.0%} of the cells are numbers"
        )
        assert column.warning.startswith(said)
    two = describe(pd.DataFrame({"c": ["u", "v"] * 20, "d": ["u", "v", "w", "w"] * 10}))
    assert (two["c"].why, two["d"].why) == ("one of two words", "text")
    assert describe(pd.DataFrame({"c": [*map(str, range(10)), "w"] * 10}))["c"].role == "levels"  # ten numbers are few


def test_what_no_format_fits_is_said() -> None:
    """Signs that differ, negative numbers in brackets; a version has dots, but no decimal point."""
    mixed = describe(pd.DataFrame({"p": ["3 €", "$ 4"] * 20}))["p"]
    assert (mixed.role, mixed.warning) == ("levels", "numbers in more than one format, such as '3 €', '$ 4'")
    cells = [f"{1.37 * i:.2f}" if i % 4 else f"({1.1 * i:.2f})" for i in range(100)]
    column = describe(pd.DataFrame({"b": cells}))["b"]
    assert column.role == "dropped" and column.warning.endswith("are not; b=numbers counts the others as missing")
    with pytest.raises(ValueError, match=r"'15\.018' may be 15018 or"):
        describe(pd.DataFrame({"price": ["15.018", "7.250"] * 20, "version": ["1.2.3", "1.10.4"] * 20}))


def test_labels_that_say_nothing_are_named() -> None:
    y = ["a", "b"] * 48 + ["?", "?", "-", "unknown"]
    (note,) = describe(pd.DataFrame({"x": np.arange(100) % 7, "y": y}), "y").notes
    assert note.endswith("a missing one: '?' (2 rows), '-' (1 rows), 'unknown' (1 rows); leave these cells empty")
    assert describe(pd.DataFrame({"x": np.arange(100) % 7, "y": ["+", "-"] * 50}), "y").notes == ()


def test_copies_of_the_target_and_measurements_are_named() -> None:
    y = np.array(["a", "b", "c"] * 20)
    table = pd.DataFrame({"y": y, "code": np.where(y == "a", 1, np.where(y == "b", 2, 3)), "x": np.arange(60) % 6})
    contract = describe(table, "y")
    assert contract["code"].warning == "a copy of the target 'y'? code=drop leaves it out"
    assert contract["x"].warning == "" == describe(table[:19], "y")["code"].warning
    measured = describe(table.assign(y=np.linspace(0, 1, 60)), "y")
    (note,) = measured.notes
    assert note.startswith("target 'y' holds measurements such as 0.01") and "code" not in note
    many = describe(table.assign(y=np.arange(0, 120, 2)), "y").notes
    assert many == ("target 'y' holds 60 different numbers in 60 rows, which are measurements; bin it or name another",)
    words = describe(table.assign(y=[f"w{i % 25}" for i in range(60)], kind=y), "y").notes[-1]
    assert words == "target 'y' has 25 classes, 0 of them in a single row"
    with pytest.raises(ValueError, match="column 'y' holds lists"):
        describe(table.assign(y=[[1]] * 60), "y")


@pytest.mark.parametrize(
    ("labels", "rare", "noted"),
    [
        (["yes", "Yes"], 30, True),  # whatever their number
        (["n o", "no"], 30, True),
        (["1", "1.0"], 30, True),
        (["007", "7"], 30, True),
        (["walk", "talk"], 2, True),
        (["yes", "yess"], 2, True),
        (["yes", "yes."], 2, True),
        (["walk", "talk"], 20, False),
        (["male", "female"], 2, False),
        (["group 1", "group 2"], 2, False),
        (["a", "b"], 2, False),
        (["form", "farms"], 2, False),
    ],
)
def test_labels_that_are_nearly_another_are_named(labels: list[str], rare: int, noted: bool) -> None:
    y = [labels[1]] * rare + [labels[0]] * (N - rare)
    contract = describe(pd.DataFrame({"x": np.arange(N) % 7, "y": y}), "y")
    pair = f"{labels[0]!r} ({N - rare} rows) and {labels[1]!r} ({rare})" if rare < 30 else labels[1]
    assert [pair in note for note in contract.notes] == [True] * noted
    if noted:
        assert contract.cautions[0].startswith("Labels of 'y' that differ only in how they are written")


@pytest.mark.parametrize(
    ("codes", "said"),
    [
        ([999] * 3, "999 (3 times) far outside of the other numbers, "),
        ([-1000] * 4, "-1000 (4 times) far"),
        ([998, 999] * 3, "998 (3 times), 999 (3 times) far"),
        ([-99, 999] * 3, "999 (3 times), -99 (3 times) far"),
        ([999] * 2, "999 is far from all other numbers, 17 to 79: a slip?"),
        ([-300], "-300 is far from all other numbers, "),
        ([262], ""),  # less than three times as far as the others are apart
        ([130] * 3, ""),  # not farther from the rest than the rest is wide
    ],
)
def test_numbers_far_outside_that_recur_are_named(codes: list[float], said: str) -> None:
    age = np.append(np.random.default_rng(0).integers(17, 80, 120), [17, 79]).astype(float)
    age[: len(codes)] = codes
    frame = pd.DataFrame({"Age": age})
    warning = describe(frame)["Age"].warning
    assert warning.startswith(said) if said else not warning
    assert describe(frame.astype({"Age": str}))["Age"].warning == warning  # numbers written as text
    few = describe(pd.DataFrame({"stage": [1, 2] * 30 + [9, 9, 9]}))["stage"].warning
    assert few.startswith("9 (3 times) far outside of the other numbers, 1 to 2")


def test_fit_says_it_at_its_end_and_the_report_too(tmp_path: Path, capsys: Any) -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"Age": rng.integers(17, 80, 120).astype(float), "size": rng.normal(size=120).round(3)})
    frame = frame.assign(kind=["yes", "no"] * 60, note=[f"remark {i % 90}" for i in range(120)])
    frame.loc[:4, "Age"], frame.loc[5, "kind"], frame.loc[7, "kind"] = 999, "noo", None
    path = tmp_path / "t.csv"
    frame.to_csv(path, index=False)
    assert cli.main(["fit", str(path), "--target", "kind", "--model", "plain", "-o", str(tmp_path / "m")]) == 0
    end = capsys.readouterr().out.partition("saved as ")[2].splitlines()[1:]
    assert end[0].endswith("are classes of their own: 'no' (58 rows) and 'noo' (1).")
    assert end[1].startswith("! Column 'Age': 999 (5 times) far outside of the other numbers")
    assert end[2] == "! Column 'note' is left out: text of 90 different values in 119 rows; note=levels uses it."
    data = datasets.read_table(path, "kind")
    about: Any = {"contract": data.contract, "lines": data.lines, "others": None}
    html = bayesnb.report(bayesnb.GaussianNB(), data.X, data.y, **about).html
    careful = html.partition('<section id="careful"')[2].partition("</section>")[0]
    assert "999 (5 times) far outside" in careful and "is left out: text of 90 different values" in careful
    assert html.count("<td>target</td>") == 1
    assert data.notes == ("1 of 120 rows have no value in 'kind' and were left out.",)
    p = bayesnb.GaussianNB().fit(data.X, data.y).loo(data.X, data.y).proba
    line = data.lines[int(np.argsort(p.max(1), kind="stable")[0])]
    assert f"Line {line}: the other rows predict" in html


def test_the_target_is_shown_among_many_columns() -> None:
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 60)).round(3)).add_prefix("x")
    contract = describe(frame.assign(kind=KIND), "kind")
    assert " target " in contract.summary(most=12) and "… and 49 more columns" in contract.summary(most=12)
    assert len(str(contract).splitlines()) == 62


def test_how_another_table_differs() -> None:
    frame = pd.DataFrame({"x": np.arange(40) % 9 / 2, "w": ["u", "v"] * 20, "y": ["a", "b"] * 20})
    contract = describe(frame, "y")
    assert contract.differences(frame) == []
    other = frame.drop(columns="y").assign(more=1)
    other.loc[13, "x"], other.loc[14, "x"], other.loc[3, "w"] = 8.1, -3.9, "z"
    assert contract.differences(other) == [
        "columns that the model was not fitted to are ignored: 'more'.",
        "column 'x': 1 rows lie far outside of 0 to 4, the range of the training rows.",
        "column 'w': levels that are not in the training rows ('z'), in 1 rows.",
    ]
    assert contract.far_columns(contract.apply(other))[12:15] == ["", "column 'x' lies far outside of 0 to 4", ""]
    with pytest.raises(ValueError, match="`table` has no columns 'x', 'w', which the model was fitted to"):
        contract.apply(frame[["y"]])
    assert list(contract.to_frame().loc["x"])[:4] == ["numbers", "numbers", 9, 0]


def test_zeros_and_ones_with_a_decimal_comma() -> None:
    """1,0 and 0,0 are yes/no, as 1.0 and 0.0 are, with missing cells too and beside whole numbers."""
    for words in (["1,0", "0,0"], ["1.0", "0.0"], ["1,0", "0"], ["1,0", "0,0", None], ["1,0", "0,0", "?"]):
        table = pd.DataFrame({"ill": (words * 40)[:60], "price": ["2,5", "3,75", "1,2"] * 20})
        column = describe(table[["ill"]])["ill"]
        assert (column.role, column.why) == ("yes/no", "zeros and ones"), words
        if "," in words[0]:
            assert describe(table)["ill"].role == "yes/no"
            assert describe(table).apply(table)["ill"].dropna().unique().tolist() == [1.0, 0.0]
