"""What a careful colleague would point out: in `describe`, at the end of `fit`, and in the report."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import bayesnb
from bayesnb import cli, describe
from bayesnb.reporting import inline_svg

N = 120


def table() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    kind = np.array(["yes", "no"])[np.arange(N) % 2]
    age = rng.integers(17, 80, N).astype(float) + 5 * (kind == "yes")
    return pd.DataFrame({"Age": age, "size": rng.normal(size=N).round(3), "kind": kind})


@pytest.mark.parametrize(
    ("odd", "named"),
    [
        (["Yes", " no", "yess", "n"], ["'Yes' (1)", "'yess' (1)", "'n' (1)"]),  # blanks are no part of a cell
        (["YES", "yes.", "nno", "maybe"], ["'YES' (1)", "'yes.' (1)", "'nno' (1)"]),
    ],
)
def test_labels_that_are_nearly_another_are_named(odd: list[str], named: list[str], tmp_path: Path) -> None:
    frame = table()
    frame.loc[: len(odd) - 1, "kind"] = odd
    frame.to_csv(tmp_path / "t.csv", index=False)
    contract = bayesnb.datasets.read_table(tmp_path / "t.csv", "kind").contract
    (note,) = contract.notes
    assert all(one in note for one in named if one != "'n' (1)") and "maybe" not in note
    assert note in " ".join(contract.cautions).replace("Labels", "labels")


@pytest.mark.parametrize(
    "labels", [["cat", "car"], ["group 1", "group 2"], ["a", "b"], ["male", "female"], ["7", "8"], ["walk", "talk"]]
)
def test_labels_that_are_both_frequent_or_numbered_are_not(labels: list[str]) -> None:
    frame = table().assign(kind=np.array(labels)[np.arange(N) % 2])
    assert describe(frame, "kind").notes == ()
    numbered = labels[0][-1].isdigit() or len(labels[0]) == 1
    frame.loc[2:, "kind"] = labels[0]  # now the second is rare
    assert bool(describe(frame, "kind").notes) == (not numbered and labels != ["male", "female"])


@pytest.mark.parametrize(
    ("codes", "said"),
    [
        ([999] * 3, "999 (3 times) far outside of the other numbers, "),
        ([-1000] * 4, "-1000 (4 times) far"),
        ([998, 999] * 3, "998 (3 times), 999 (3 times) far"),
        ([-99, 999] * 3, "999 (3 times), -99 (3 times) far"),
        ([999] * 2, ""),
        ([100] * 5, ""),
        ([500, 600, 999], ""),
    ],
)
def test_a_number_that_stands_for_a_gap_is_named(codes: list[float], said: str) -> None:
    frame = table()
    frame.loc[: len(codes) - 1, "Age"] = codes
    warning = describe(frame, "kind")["Age"].warning
    assert warning.startswith(said) if said else not warning
    assert describe(frame.astype({"Age": str}), "kind")["Age"].warning == warning  # numbers written as text


def test_fit_says_it_at_its_end_and_the_report_too(tmp_path: Path, capsys: Any) -> None:
    frame = table().assign(note=[f"remark {i % 90}" for i in range(N)])
    frame.loc[:4, "Age"], frame.loc[5, "kind"], frame.loc[7, "kind"] = 999, "noo", None
    path, page = tmp_path / "t.csv", tmp_path / "page.html"
    frame.to_csv(path, index=False)
    assert cli.main(["fit", str(path), "--target", "kind", "-o", str(tmp_path / "m")]) == 0
    end = capsys.readouterr().out.partition("saved as ")[2].splitlines()[1:]
    assert [line[:2] for line in end] == ["! ", "! ", "! "]
    assert end[0].endswith("classes of their own: 'no' (58 rows) and 'noo' (1).")
    assert end[1].startswith("! Column 'Age': 999 (5 times) far outside of the other numbers")
    assert end[2] == "! Column 'note' is left out: text of 90 different values in 119 rows; note=levels uses it."
    assert cli.main(["report", str(path), "--target", "kind", "-o", str(page)]) == 0
    html = page.read_text("utf-8")
    careful = html.partition('<section id="careful">')[2].partition("</section>")[0]
    assert "999 (5 times) far outside" in careful and "is left out: text of 90 different values" in careful
    assert html.count("<td>target</td>") == 1
    data = bayesnb.datasets.read_table(path, "kind")
    assert data.lines is not None and data.lines[5:8].tolist() == [7, 8, 10]  # line 9 has no label
    p = bayesnb.GaussianNB().fit(data.X, data.y).loo(data.X, data.y).proba
    line = data.lines[int(np.argsort(p.max(1), kind="stable")[0])]
    assert f"Line {line}: the other rows predict" in html


def test_the_target_is_shown_among_many_columns(tmp_path: Path) -> None:
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 60)).round(3)).add_prefix("x")
    contract = describe(frame.assign(kind=["a", "b"] * 30), "kind")
    assert "target" in contract.summary(most=12)
    page = bayesnb.report(bayesnb.GaussianNB(), frame, ["a", "b"] * 30, contract=contract, others=None)
    assert page.html.count("<td>target</td>") == 1


def test_long_texts_of_a_figure_are_cut() -> None:
    def draw(ax: Any) -> None:
        ax.barh(["a very long name of a level that nobody reads to its end", "b"], [1, 2], label="z" * 60)
        ax.legend()

    svg = inline_svg(draw, "bars")
    assert "nobody reads" not in svg and "z" * 40 not in svg and "a very long name of a level" in svg
