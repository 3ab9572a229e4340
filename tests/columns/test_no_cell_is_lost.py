"""No cell is lost in silence: `predict` reads as `fit` does, a sign is a missing cell, and advice names what helps."""

import io
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import bayesnb
from bayesnb import cli, datasets, describe

N = 60
KIND = ["a", "b"] * (N // 2)
RNG = np.random.default_rng(0)


def fitted(tmp_path: Path, frame: pd.DataFrame, *flags: str, **writing: Any) -> str:
    """A model of a table with the labels KIND, fitted by the command line."""
    path, model = tmp_path / "t.csv", str(tmp_path / "m")
    frame.assign(kind=KIND).to_csv(path, index=False, **writing)
    assert cli.main(["fit", str(path), "--target", "kind", "--model", "plain", "-o", model, *flags]) == 0
    return model


# --- new rows are read as the training rows were --------------------------------------------------------------------

AGES = pd.DataFrame({"age": [str(20 + i % 40) for i in range(N)], "x": (np.arange(N) % 7 / 2).round(1)})


@pytest.mark.parametrize("cell", ["29,5", "12,5", "1,250", "abc"])
def test_a_new_cell_that_is_no_number_stops_with_its_line(cell: str, tmp_path: Path, capsys: Any) -> None:
    model, rows = fitted(tmp_path, AGES, "--columns", "age=numbers"), tmp_path / "new.csv"
    pd.DataFrame({"age": ["30", cell], "x": [1.5, 2.5]}).to_csv(rows, index=False, sep=";")
    assert cli.main(["predict", model, str(rows)]) == 2
    err = capsys.readouterr().err
    assert f"{rows}, line 3: column 'age' holds '{cell}'" in err
    assert "if this file writes numbers in another way, name its --decimal or --thousands" in err


def test_a_new_file_may_have_its_own_separators(tmp_path: Path, capsys: Any) -> None:
    model, rows = fitted(tmp_path, AGES, "--columns", "age=numbers"), tmp_path / "new.csv"
    capsys.readouterr()
    pd.DataFrame({"age": ["29,5", "30"], "x": ["1,5", "2,5"]}).to_csv(rows, index=False, sep=";")
    assert cli.main(["predict", model, str(rows), "--decimal", ",", "--digits", "17"]) == 0
    predicted = pd.read_csv(io.StringIO(capsys.readouterr().out))
    nb = bayesnb.load(model)
    want = nb.predict_proba(pd.DataFrame({"age": [29.5, 30], "x": [1.5, 2.5]}))
    np.testing.assert_allclose(predicted[["p(a)", "p(b)"]], want, rtol=1e-15)


def test_a_word_that_was_missing_in_the_fit_is_missing_in_new_rows(tmp_path: Path, capsys: Any) -> None:
    frame = AGES.assign(age=["unknown", *AGES["age"][1:]])
    model, rows = fitted(tmp_path, frame, "--columns", "age=numbers"), tmp_path / "new.csv"
    assert "1 cells are not numbers ('unknown') and count as missing" in capsys.readouterr().out
    pd.DataFrame({"age": ["unknown", "", "?", "-"], "x": 1.5}).to_csv(rows, index=False)
    assert cli.main(["predict", model, str(rows)]) == 0
    predicted = pd.read_csv(io.StringIO(capsys.readouterr().out))
    assert predicted["p(a)"].nunique() == 1
    rows.write_text("age,x\nunbekannt,1.5\n")
    assert cli.main(["predict", model, str(rows)]) == 2
    assert "line 2: column 'age' holds 'unbekannt'" in capsys.readouterr().err


def test_words_further_down_are_counted_and_named(tmp_path: Path, capsys: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr("bayesnb.tables.readers.HEAD", 200)
    monkeypatch.setattr("bayesnb.tables.readers.ROWS", 20)
    frame = AGES.assign(age=[*AGES["age"][:48], *["late"] * 12])
    model = fitted(tmp_path, frame, "--columns", "age=numbers")
    assert "Column 'age': further down are 'late', which count as missing." in capsys.readouterr().out
    column = bayesnb.load(model).contract_["age"]
    assert column.missing == pytest.approx(0.2) and column.words == ("late",)


# --- separators that are named --------------------------------------------------------------------------------------


def test_named_separators_leave_dates_ids_and_text_their_roles(tmp_path: Path) -> None:
    frame = pd.DataFrame(
        {
            "when": [f"{1 + i % 28:02d}.01.2020" for i in range(N)],
            "version": ["1.2.3", "1.10.4", "2.0.0"] * 20,
            "address": [f"192.168.1.{i}" for i in range(N)],
            "price": [f"1.{100 + i},5" for i in range(N)],
            "note": ["red", "blue", "green"] * 20,
        }
    )
    with_separators = describe(frame, decimal=",", thousands=".")
    without = describe(frame)
    for column, other in zip(with_separators.columns, without.columns, strict=True):
        assert (column.name, column.role) == (other.name, other.role)
    assert [column.role for column in without.columns] == ["dropped", "levels", "dropped", "numbers", "levels"]
    fitted(tmp_path, frame, "--decimal", ",", "--thousands", ".", sep=";")


# --- signs of a missing cell ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("sign", ["?", "-", "."])
def test_a_sign_alone_is_missing_and_counted(sign: str, tmp_path: Path, capsys: Any) -> None:
    ages = [sign if i % 5 == 0 else str(20 + i % 40) for i in range(N)]
    colours = [sign if i % 4 == 0 else ["red", "blue"][i % 2] for i in range(N)]
    frame = pd.DataFrame({"age": ages, "smokes": [sign, *["0", "1", "1"] * 20][:N], "colour": colours})
    contract = describe(frame)
    assert [column.role for column in contract.columns] == ["numbers", "yes/no", "levels"]
    assert [column.missing for column in contract.columns] == pytest.approx([0.2, 1 / N, 0.25])
    assert contract["age"].warning == f"12 cells are {sign!r} and count as missing"
    assert contract["colour"].levels == ("blue", "red")
    applied = contract.apply(frame)
    assert applied.isna().sum().tolist() == [12, 1, 15]
    model = fitted(tmp_path, frame)
    out = capsys.readouterr().out
    assert "20%" in next(line for line in out.splitlines() if line[2:].startswith("age "))
    saved = bayesnb.load(model).contract_
    assert [column.missing for column in saved.columns[:3]] == pytest.approx([0.2, 1 / N, 0.25])
    nb = bayesnb.MixedNB().fit(frame, KIND)
    cleaned = bayesnb.MixedNB().fit(frame.replace(sign, np.nan), KIND)
    assert nb.log_evidence_ == pytest.approx(cleaned.log_evidence_, rel=1e-12)


def test_a_minus_beside_a_plus_is_a_level() -> None:
    contract = describe(pd.DataFrame({"rhesus": ["+", "-", "?"] * 20}))
    assert contract["rhesus"].levels == ("+", "-")
    assert contract["rhesus"].missing == pytest.approx(1 / 3)
    assert contract.apply(pd.DataFrame({"rhesus": ["-", "?"]}))["rhesus"].tolist() == ["-", None]


def test_the_share_of_missing_cells_counts_words_that_are_read_as_missing(tmp_path: Path) -> None:
    ages = [["k.A.", "?"][i % 2] if i % 5 == 0 else str(20 + i % 40) for i in range(N)]
    frame = pd.DataFrame({"age": ages, "x": AGES["x"], "kind": KIND})
    frame.loc[0, "age"] = None
    assert describe(frame, "kind")["age"].missing == pytest.approx(0.2)
    frame.to_csv(tmp_path / "t.csv", index=False)
    data = datasets.read_table(tmp_path / "t.csv", "kind")
    assert data.contract["age"].missing == pytest.approx(0.2) == pytest.approx(data.X["age"].isna().mean())


def test_far_more_missing_cells_are_named() -> None:
    contract = describe(AGES)
    other = AGES.assign(age=["?"] * 30 + ["25"] * 30)
    assert contract.differences(other) == ["column 'age': 50% of the cells are missing, 0% in the training rows."]


# --- advice that helps ----------------------------------------------------------------------------------------------


def test_copies_of_a_column_are_named(tmp_path: Path, capsys: Any) -> None:
    size = RNG.normal(size=N)
    frame = pd.DataFrame(
        {
            "size": size,
            "size_mm": 10 * size + 3,
            "log_size": np.exp(size) + 1e-3 * RNG.normal(size=N),
            "other": RNG.normal(size=N),
            "sex": ["m", "f", "f"] * 20,
            "is_male": [1, 0, 0] * 20,
            "town": ["north", "south", "east", "west"] * 15,
            "code": ["N", "S", "E", "W"] * 15,
        }
    )
    frame.loc[3, "size_mm"] = None
    contract = describe(frame)
    pairs = [note.partition(" say")[0] for note in contract.notes]
    assert pairs == [
        "columns 'size' and 'size_mm'",
        "columns 'size' and 'log_size'",
        "columns 'sex' and 'is_male'",
        "columns 'town' and 'code'",
    ]
    assert contract.notes[0] == (
        "columns 'size' and 'size_mm' say the same, which naive Bayes counts twice; size_mm=drop keeps one of them"
    )
    assert "nearly the same (correlation of ranks 0.99" in contract.notes[1]
    path = tmp_path / "t.csv"
    frame.assign(kind=KIND).to_csv(path, index=False)
    assert cli.main(["describe", str(path), "--target", "kind"]) == 0
    assert "! columns 'size' and 'size_mm' say the same" in capsys.readouterr().out
    fitted(tmp_path, frame)
    assert "! Columns 'size' and 'size_mm' say the same" in capsys.readouterr().out.partition("saved as")[2]
    page = bayesnb.report(bayesnb.GaussianNB(), frame[["size"]], KIND, contract=contract, others=None)
    assert any("'size' and 'size_mm' say the same" in text for text in page.warnings)


def test_columns_that_are_merely_correlated_are_not_named() -> None:
    size = RNG.normal(size=400)
    frame = pd.DataFrame({"size": size, "near": size + 0.3 * RNG.normal(size=400), "rare": 0, "rare2": 0})
    frame.loc[:3, "rare"], frame.loc[4:7, "rare2"] = 1, 1
    assert describe(frame).notes == ()
    gross = pd.DataFrame(RNG.normal(size=(200, 2)), columns=["a", "b"])
    gross.loc[5] = 1e9  # one cell in both columns makes a correlation of 1
    assert describe(gross).notes == ()


def test_documents_are_sent_to_word_counts(tmp_path: Path, capsys: Any) -> None:
    texts = [f"please send number {i} to the office today" for i in range(N)]
    path = tmp_path / "sms.csv"
    pd.DataFrame({"text": texts, "kind": KIND}).to_csv(path, index=False)
    assert cli.main(["fit", str(path), "--target", "kind", "-o", str(tmp_path / "m")]) == 2
    messages = [capsys.readouterr().err]
    for nb, X in ((bayesnb.GaussianNB(), pd.DataFrame({"text": texts})), (bayesnb.MultinomialNB(), texts)):
        with pytest.raises(ValueError, match="`X`") as caught:
            nb.fit(X, KIND)
        messages.append(str(caught.value))
    for message in messages:
        assert "CountVectorizer" in message and "examples/twenty_newsgroups.py" in message
    from sklearn.feature_extraction.text import HashingVectorizer

    hashed = HashingVectorizer(n_features=16).transform(texts)
    with pytest.raises(ValueError, match=r"HashingVectorizer\(alternate_sign=False\)"):
        bayesnb.MultinomialNB().fit(hashed, KIND)


def test_names_that_are_nearly_right_are_answered() -> None:
    frame = pd.DataFrame({"price": AGES["x"], "colour": ["red", "blue", "green"] * 20})
    with pytest.raises(ValueError, match=r"no column 'prize'; the columns are price, colour; did you mean 'price'\?"):
        describe(frame, columns={"prize": "numbers"})
    contract = describe(frame)
    (sentence,) = contract.differences(pd.DataFrame({"price": [1.5], "colour": ["gren"]}))
    assert sentence.endswith("('gren'), in 1 rows; did you mean 'green'.")


@pytest.mark.parametrize("cells", [["1,0", "0,0"], ["1.0", "0.0"], ["1", "0"]])
def test_zeros_and_ones_are_yes_and_no_however_they_are_written(cells: list[str]) -> None:
    frame = pd.DataFrame({"flag": cells * 30, "x": ["2,5" if "," in cells[0] else "2.5", "3"] * 30})
    assert describe(frame)["flag"].role == "yes/no"
    assert describe(frame).apply(frame)["flag"].tolist()[:2] == [1, 0]
