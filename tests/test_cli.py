"""The command line: exit codes, one clear line for bad input, and never a traceback."""

import io
import json
import os
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import bayesnb
from bayesnb import cli
from bayesnb.check import against_numpyro, check
from bayesnb.cli import MODELS
from bayesnb.datasets import load
from bayesnb.estimators._by_name import choose_model, variants
from bayesnb.numerics import progress
from bayesnb.posterior import intervals


@pytest.fixture
def quick(monkeypatch):
    """Short chains: what the sampling finds is tested elsewhere."""
    monkeypatch.setattr(against_numpyro, "_SHORT_CHAINS", 50)
    monkeypatch.setattr(check, "_DRAWS", 200)
    monkeypatch.setattr(check, "_WARMUP", 100)


@pytest.fixture
def table(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"kind": ["a", "b"] * 20, "size": rng.normal(size=40), "colour": ["red", "blue"] * 20})
    path = tmp_path / "table.csv"
    frame.to_csv(path, index=False)
    return path


def is_one_line(capsys, message):
    out, err = capsys.readouterr()
    assert message in err
    assert err.startswith("bayesnb: ") and err.count("\n") == 1 and len(err) < 1100 and "Traceback" not in out + err


@pytest.mark.slow
def test_a_file_is_checked(table, quick, capfd, monkeypatch):
    asked = ["check", str(table), "--target", "kind", "--seed", "3"]
    printed_before_the_model_predicts = []
    predict = check._prediction_tables

    def tables(*args):
        printed_before_the_model_predicts.append(capfd.readouterr().out)
        return predict(*args)

    monkeypatch.setattr(check, "_prediction_tables", tables)
    code = cli.main([*asked, "--verbose"])
    out = "".join(printed_before_the_model_predicts) + capfd.readouterr().out
    assert "12 Intervals" in printed_before_the_model_predicts[0]  # each row when it is done
    assert out.count("12 Intervals") == 1
    assert code == ("FAIL" in out) and "40 rows, 2 features" in out
    assert "1  Bayes' identity" in out and "rounding leaves some 1e-12" in out  # what --verbose adds
    assert len(re.findall(r"posterior mean {5,}\d", out)) == 1  # the chains take all rows and columns: not said twice


class Checked:
    """What a check says of an estimator."""

    def __init__(self, nb, passed=True):
        self.nb, self.passed = nb, passed

    def explain(self, verbose, first=0):
        return f"checked {self.nb}"


@pytest.mark.parametrize(
    ("name", "estimator", "sentence"),
    [
        ("breast_cancer", bayesnb.GaussianNB(), "by 78%: use CalibratedClassifierLOO, or --calibrate."),
        ("penguins", bayesnb.MixedNB(), "Calibration changes little: it is not needed for this model."),
    ],
)
def test_the_check_says_what_calibration_would_gain(name, estimator, sentence, capsys, monkeypatch):
    monkeypatch.setattr("bayesnb.estimators._base.AbstractNB.check", lambda nb, *_, **__: Checked(nb, passed=False))
    assert cli.main(["check", name]) == 1
    out = capsys.readouterr().out
    assert sentence in out and f"checked {estimator}" in out


FILES = {
    "NEGATIVE": b"kind,n\na,-1\nb,-2\na,-1\nb,-2\n",
    "NOTED": b"note,size,colour\nx,1,red\n",
    "SHORT": b"size\n1\n",
    "TEXT": b"size,colour\n1,red\nbig,red\n",
}
TARGET = ["--target", "kind"]


def test_bad_input_is_one_line_and_exit_code_2(table, saved, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, content in (FILES | {"TABLE": table.read_bytes(), "MODEL": saved.read_bytes()}).items():
        Path(name).write_bytes(content)
    bayesnb.GaussianNB().fit([[0.0], [1], [2]], [0, 1, 0]).save("ARRAY")
    for arguments, message in (
        (["check", "iris", "--target", "species"], "'class'"),
        (["compare", "iris", "--models", "gaussian,gausian"], "'gausian' is not one of bernoulli"),
        (["fit", "iris", "--set", "alpha", "-o", "OUT"], "Invalid parameter 'alpha'"),
        (["describe", "TABLE", "--columns", "kind"], "has the role 'kind'; choose one of numbers"),
        (["check", "TABLE", *TARGET, "--model", "gaussian"], "column 'colour' holds text such as 'red'"),
        (["check", "NEGATIVE", *TARGET, "--model", "poisson"], "-1 in column 'n'"),
        (["select", "TABLE", *TARGET, "--force", "colour,weight"], "'weight', which is not a column"),
        (["select", "iris", "--bins", "0"], "`n_bins` is 0"),
        (["compare", "votes", "--models", "gaussian"], "gaussian cannot use this table: column 'handi"),
        (["compare", "iris", "--models", "bernoulli,categorical"], "Values other than 0 and 1"),
        (["fit", "TABLE", "-o", "OUT"], "--target"),
        (["fit", "iris", "--set", "class_alpha=" + "9" * 5000, "-o", "OUT"], "class_alpha"),
        (["fit", "TABLE", *TARGET, "-o", "OUT/model"], "there is no folder"),
        (["fit", "iris", "--set", "var_smoothing=much", "-o", "OUT"], "`var_smoothing` is 'much'"),
        (["fit", "iris", "--model", "poisson", "-o", "."], "directory"),
        (["predict", "OUT", "iris"], "there is no file"),
        (["predict", "MODEL", "nothing.csv"], "there is no file nothing.csv"),
        (["predict", "MODEL", "SHORT"], "has no column 'colour', which the model was fitted to"),
        (["predict", "MODEL", "TEXT"], "line 3: column 'size' holds 'big', where numbers are expected"),
        (["check", "iris", "--weight", "w", "--counts", "n"], "both --counts n and --weight w are given"),
        (["describe", "TABLE", "--target", "kinds"], "did you mean 'kind'?"),
        (["predict", "MODEL", "TABLE", "-o", "OUT/rows.csv"], "there is no folder"),
        (["predict", "ARRAY", "TABLE"], "fit it to a data frame"),
        (["predict", "MODEL", "TABLE", "-o", "OUT.csv.gz"], "--output is OUT.csv.gz, but predict writes .csv files"),
        (["predict", "MODEL", "TABLE", "-o", "OUT.Parquet"], "but predict writes .csv files; change the ending"),
        (["predict", "MODEL", "TABLE", "-o", "OUT.tsv"], "but predict writes .csv files"),
        (["fit", "iris", "-o", "OUT.csv"], "--output is OUT.csv, but fit writes .safetensors files"),
        (["report", "iris", "-o", "OUT.pq"], "but report writes .html files"),
        (
            ["predict", "MODEL", "NOTED", "--id", "note", "--interval", "0.9"],
            "--id is 'note', also a column of the predictions; rename it in NOTED",
        ),
        (["predict", "MODEL", "TABLE", "--interval", "1"], "`level` is 1.0; it needs to lie between 0 and 1"),
    ):
        assert cli.main(arguments) == 2, arguments
        is_one_line(capsys, message)
        assert not [*Path().glob("OUT*")]


def test_the_names_of_models_are_those_of_the_estimators():
    assert MODELS == ("auto", *sorted(variants()))


def test_printed_numbers_have_six_digits_unless_more_are_asked_for(table, saved, capsys):
    for flags, digits in (([], 6), (["--digits", "3"], 3)):
        assert cli.main(["predict", str(saved), str(table), *flags]) == 0
        cells = [cell for line in capsys.readouterr().out.splitlines()[1:] for cell in line.split(",")[1:]]
        assert max(len(re.sub(r"e.*|^0\.0*|\.", "", cell)) for cell in cells) == digits
    assert cli.main(["predict", str(saved), str(table), "--digits", "0"]) == 2
    is_one_line(capsys, "--digits is 0; it needs to be 1 or more")


def test_the_variant_is_read_from_the_columns():
    for columns, expected in (
        ({"x": [0.5, 1.0]}, "GaussianNB()"),
        ({"x": [0, 1, 1], "z": [1, None, 0]}, "BernoulliNB(binarize=None)"),
        ({"x": ["a", "b"]}, "CategoricalNB()"),
        ({"x": ["a", "b"], "z": [1.5, 2.0]}, "MixedNB()"),
    ):
        X = pd.DataFrame(columns)
        assert repr(choose_model(X, "auto", bayesnb.describe(X))) == expected
    X = pd.DataFrame({"x": [0, 1, 1, 0, 1], "z": [1, 1, 0, 1, 0]})
    for model in MODELS:
        assert choose_model(X, model, bayesnb.describe(X)).fit(X, [0, 1, 0, 1, 0]).predict(X).shape == (5,)


def test_selection_with_forced_columns(capsys):
    assert cli.main(["select", "penguins", "--force", "island,sex", "--force", "year"]) == 0
    assert "'island', 'sex', 'year'" in capsys.readouterr().out


@pytest.mark.parametrize("command", ["fit", "check", "report"])
@pytest.mark.slow
def test_a_calibrated_model_is_made(command, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(
        "bayesnb.calibration.leave_one_out.CalibratedClassifierLOO.check", lambda nb, *_, **__: Checked(nb)
    )
    model, X = tmp_path / "model", load("penguins").X
    output = [] if command == "check" else ["-o", str(model)]
    assert cli.main([command, "penguins", "--calibrate", "--drop", "year", *output]) == 0
    out = capsys.readouterr().out
    if command == "fit":
        assert "CalibratedClassifierLOO(estimator=MixedNB()), rows a class: 152 'Adelie'" in out
        want = bayesnb.CalibratedClassifierLOO(bayesnb.MixedNB()).fit(X.drop(columns="year"), load("penguins").y)
        X = X[::9].drop(columns="year")
        X.to_csv(tmp_path / "rows.csv", index=False)
        asked = ["--interval", "0.5", "--digits", "17"]
        assert cli.main(["predict", str(model), str(tmp_path / "rows.csv"), *asked]) == 0
        out, err = capsys.readouterr()
        found = predictions(out)
        np.testing.assert_allclose(found["p(Adelie)"], want.predict_proba(X)[:, 0], rtol=1e-9)
        np.testing.assert_allclose(found["high(Adelie)"], want.predict_interval(X, 0.5)[:, 0, 1], rtol=1e-9)
        np.testing.assert_allclose(found["mean(Adelie)"], want.sample_proba(X, seed=0).mean(0)[:, 0], rtol=1e-9)
        assert err == f"note: {want.interval_coverage}\n"  # the contract of the file is in the model
    elif command == "check":
        assert "checked CalibratedClassifierLOO(estimator=MixedNB())" in out and "after calibration" not in out
    else:
        assert "<code>CalibratedClassifierLOO(estimator=MixedNB())</code>" in model.read_text("utf-8")


@pytest.mark.slow
def test_all_models_that_fit_are_tried(capsys):
    assert cli.main(["compare", "penguins", "--drop", "year,island"]) == 0
    out = capsys.readouterr().out
    table, _, notes = out.partition("stacking\n")[2].partition("note: ")
    assert {line.split()[0] for line in table.splitlines()[1:]} == {
        *("mixed", "mixed:pooled", "mixed:kernel", "calibrated", "discriminative")
    }
    assert notes.startswith("mixed:kernel has no evidence")
    assert re.search(r"bernoulli, .*shared-da cannot use this table: column 'sex' holds text", notes)
    assert "; mixed:gaussian-da, mixed:shared-da cannot use this table: Input X contains NaN" in notes


def test_a_model_is_listed_once(tmp_path, capsys):
    """Of zeros and ones, levels of a categorical model are those of a Bernoulli model."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.integers(0, 2, (60, 3)), columns=["x", "y", "z"])
    frame.assign(kind=["a", "b"] * 30).to_csv(tmp_path / "t.csv", index=False)
    names = ["--models", "bernoulli,categorical"]
    for flags, n_listed in (([], 1), (names, 2)):
        assert cli.main(["compare", str(tmp_path / "t.csv"), "--target", "kind", *flags]) == 0
        out = capsys.readouterr().out.partition("stacking\n")[2]
        assert len(re.findall(r"^(?:bernoulli|categorical) ", out, re.MULTILINE)) == n_listed
        assert ("note: categorical is the same model as bernoulli here" in out) == (n_listed == 1)
        assert re.search(r"^mixed ", out, re.MULTILINE) is None  # which is bernoulli


# --- the model that predicts best -----------------------------------------------------------------------------------


@pytest.fixture
def copied(tmp_path):
    """A table with five copies of one column and a level: plain naive Bayes is too sure of itself."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 90)
    x = rng.normal(size=90) + y
    frame = pd.DataFrame({f"x{j}": (x + 0.1 * rng.normal(size=90)).round(3) for j in range(5)})
    frame = frame.assign(colour=rng.choice(["red", "blue"], 90), kind=np.where(y == 1, "b", "a"))
    frame.to_csv(tmp_path / "copied.csv", index=False)
    return tmp_path / "copied.csv"


def test_fit_takes_the_model_that_predicts_best(copied, tmp_path, capsys):
    path = str(tmp_path / "model")
    assert cli.main(["fit", str(copied), "--target", "kind", "-o", path]) == 0
    out = capsys.readouterr().out
    data = bayesnb.datasets.read_table(copied, "kind")
    choice = bayesnb.choose_predictor(bayesnb.MixedNB(), data.X, data.y)
    assert choice.kind == "calibrated" and f"taken: {choice.kind}. " in out
    for name, loss in choice.table["log_loss"].items():
        assert re.search(rf"^{name} +{loss:.4f} ", out, re.MULTILINE)
    assert "CalibratedClassifierLOO(estimator=MixedNB()), rows a class: " in out and f"saved as {path}" in out
    saved = bayesnb.load(path)
    assert isinstance(saved, bayesnb.CalibratedClassifierLOO) and saved.estimator_.contract_ is not None
    np.testing.assert_allclose(saved.predict_proba(data.X), choice.estimator.predict_proba(data.X))
    assert cli.main(["predict", path, str(copied), "--interval", "0.9"]) == 0
    assert f"note: {saved.interval_coverage}" in capsys.readouterr().err
    assert cli.main(["predict", path, str(copied)]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("flags", "model"),
    [
        (["--model", "plain"], "MixedNB()"),
        (["--model", "calibrated"], "CalibratedClassifierLOO(estimator=MixedNB())"),
        (["--set", "class_alpha=2"], "MixedNB(class_alpha=2)"),
    ],
)
def test_a_named_model_is_taken(flags, model, copied, tmp_path, capsys):
    assert cli.main(["fit", str(copied), "--target", "kind", *flags, "-o", str(tmp_path / "model")]) == 0
    out = capsys.readouterr().out
    assert f"{model}, rows a class: " in out and "taken:" not in out


def test_a_large_table_stays_plain(copied, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(cli, "_MAX_CHOSEN_CELLS", 100)
    assert cli.main(["fit", str(copied), "--target", "kind", "-o", str(tmp_path / "model")]) == 0
    out = capsys.readouterr().out
    assert "note: a large table: plain is fitted" in out and "MixedNB(), rows a class: " in out


def test_a_calibrated_model_is_not_calibrated_again(copied, tmp_path, capsys):
    for model in ("calibrated", "discriminative"):
        asked = ["fit", str(copied), "--target", "kind", "--model", model, "--calibrate", "-o", str(tmp_path / "model")]
        assert cli.main(asked) == 2
        is_one_line(capsys, f"--calibrate is not for --model {model}, which is calibrated already")


def test_results_are_printed_as_data(copied, capsys, monkeypatch):
    class Passed(Checked):
        def to_dict(self):
            return {"passed": True, "rows": [{"figure": np.float64(0.5)}]}

    monkeypatch.setattr("bayesnb.estimators._base.AbstractNB.check", lambda nb, *_, **__: Passed(nb))
    found = {}
    for command in ("describe", "check", "select"):
        assert cli.main([command, str(copied), "--target", "kind", "--json"]) == 0
        found[command] = json.loads(capsys.readouterr().out)
    assert cli.main(["compare", str(copied), "--target", "kind", "--models", "mixed,mixed:kernel", "--json"]) == 0
    found["compare"] = json.loads(capsys.readouterr().out)
    columns = {column["column"]: column["role"] for column in found["describe"]["columns"]}
    assert columns == {**{f"x{j}": "numbers" for j in range(5)}, "colour": "levels", "kind": "target"}
    assert found["check"]["passed"] and found["check"]["rows"] == [{"figure": 0.5}]
    assert found["check"]["calibration"].startswith("Leave-one-out log loss: ")
    data = {"data": "copied", "target": "kind", "n_rows": 90, "n_features": 6}
    assert all(found[command].items() >= data.items() for command in ("check", "select", "compare"))
    assert found["select"]["steps"][0]["n_features"] == 0 and found["select"]["selected"]
    models = {model["model"]: model for model in found["compare"]["models"]}
    assert models["mixed:kernel"]["log_evidence"] is None and models["mixed"]["elpd"] < 0
    assert any(note.startswith("mixed:kernel has no evidence") for note in found["compare"]["notes"])


def test_quiet_hides_progress(monkeypatch):
    seen = []
    monkeypatch.setattr(cli, "describe", lambda options: seen.append(progress._is_quiet.get()))
    for flags in ([], ["--quiet"]):
        assert cli.main(["describe", "iris", *flags]) == 0
    assert seen == [False, True]


# --- fit and predict ------------------------------------------------------------------------------------------------


@pytest.fixture
def saved(table, tmp_path, capsys):
    """A model of the table."""
    path = tmp_path / "model"
    assert cli.main(["fit", str(table), "--target", "kind", "--model", "plain", "-o", str(path)]) == 0
    capsys.readouterr()
    return path


def predictions(text):
    return pd.read_csv(io.StringIO(text))


def test_a_model_is_fitted_and_predicts(table, tmp_path, capsys):
    path = str(tmp_path / "model")
    assert cli.main(["fit", str(table), "--target", "kind", "--model", "plain", "-o", path]) == 0
    out, err = capsys.readouterr()
    assert "40 rows, 2 features, target 'kind'" in out
    assert f"MixedNB(), rows a class: 20 'a', 20 'b'\nsaved as {path}" in out
    assert err == ""
    frame = pd.read_csv(table)
    nb = bayesnb.MixedNB().fit(frame[["size", "colour"]], frame["kind"])
    assert cli.main(["predict", path, str(table), "--interval", "0.8", "--digits", "17"]) == 0
    found = predictions(capsys.readouterr().out)
    names = ["mean", "low", "high"]
    tables = [f"{n}({c})" for c in "ab" for n in ("p", *names)]
    assert list(found) == ["predicted", "probability", *names, *tables, "note"]
    assert found["note"].isna().all()
    top = found["predicted"]
    for name, of_top in {"p": "probability", **dict(zip(names, names, strict=True))}.items():
        assert (found[of_top] == np.where(top == "a", found[f"{name}(a)"], found[f"{name}(b)"])).all()
    mean = nb.sample_proba(frame[["size", "colour"]], 4000, seed=0).mean(0)
    np.testing.assert_allclose(found[["mean(a)", "mean(b)"]], mean, atol=0.01)  # 4 standard errors
    assert (found["predicted"] == nb.predict(frame[["size", "colour"]])).all()
    assert (found[["p(a)", "p(b)"]] == nb.predict_proba(frame[["size", "colour"]])).all(axis=None)
    ends = nb.predict_interval(frame[["size", "colour"]], 0.8)
    assert (found[["low(a)", "high(a)"]] == ends[:, 0]).all(axis=None)
    assert (found[["low(b)", "high(b)"]] == ends[:, 1]).all(axis=None)


def test_a_model_without_moments_has_intervals_of_draws(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(intervals, "_DRAWS", 50)
    X = pd.DataFrame({"size": list("smsmlm"), "colour": list("rrgggr")})
    nb = bayesnb.OneDependenceNB().fit(X, list("abbaab"))
    nb.save(tmp_path / "model")
    X.to_csv(tmp_path / "rows.csv", index=False)
    asked = ["--interval", "0.8", "--digits", "17"]
    assert cli.main(["predict", str(tmp_path / "model"), str(tmp_path / "rows.csv"), *asked]) == 0
    found = predictions(capsys.readouterr().out)
    np.testing.assert_allclose(found[["low(a)", "high(a)"]], nb.predict_interval(X, 0.8)[:, 0])
    np.testing.assert_allclose(found[["mean(a)", "mean(b)"]], nb.sample_proba(X, 50, seed=0).mean(0))


@pytest.mark.parametrize("level", [0.5, 0.9])
@pytest.mark.parametrize("name", ["breast_cancer", "penguins"])
def test_the_mean_that_is_shown_belongs_to_its_interval(name, level, tmp_path, capsys):
    """The mean of a probability p is at most high + (1 − high)(1 − level)/2, as p ≤ 1 in the upper tail; so below."""
    model = str(tmp_path / "model")
    assert cli.main(["fit", name, "--model", "plain", "-o", model]) == 0
    capsys.readouterr()
    assert cli.main(["predict", model, name, "--interval", str(level), "--digits", "17"]) == 0
    found = predictions(capsys.readouterr().out)
    tail = (1 - level) / 2
    rounding = 1e-12

    def is_outside(point, of_class):
        low, high = found[f"low({of_class})"], found[f"high({of_class})"]
        return (point > high + tail * (1 - high) + rounding) | (point < low * (1 - tail) - rounding)

    classes = [column[4:-1] for column in found if column.startswith("low(")]
    for of_class in classes:
        assert not is_outside(found[f"mean({of_class})"], of_class).any()
    if name == "breast_cancer":  # the joint average is another point
        assert any(is_outside(found[f"p({of_class})"], of_class).any() for of_class in classes)


def test_a_cell_far_outside_of_the_training_rows_has_no_interval(tmp_path, capsys):
    rng = np.random.default_rng(0)
    kind, salary = ["a", "b"] * 20, rng.normal(3e4, 5e3, 40) + np.tile([0.0, 1e4], 20)
    frame = pd.DataFrame(
        {"kind": kind, "salary": salary, "age": rng.normal(40, 9, 40), "level": rng.choice([3, 7], 40)}
    )
    path, model, rows = (tmp_path / name for name in ("t.csv", "model", "rows.csv"))
    frame.to_csv(path, index=False)
    fit = ["fit", str(path), "--target", "kind", "--model", "plain"]
    assert cli.main([*fit, "--columns", "level=levels", "-o", str(model)]) == 0
    span = np.ptp(salary)
    new = frame.iloc[:5].copy()
    new["salary"] = [1e9, salary.max() + 0.99 * span, salary.min() - 1.01 * span, np.nan, salary[4]]
    new["age"] = [40, 40, -500, 40, 40]
    new["level"] = [3, 3, 3, 10_000, 7]  # an unseen level is missing, and far from nothing
    new.to_csv(rows, index=False)
    capsys.readouterr()
    assert cli.main(["predict", str(model), str(rows), "--interval", "0.9", "--id", "salary"]) == 0
    found = predictions(capsys.readouterr().out)
    assert found[["probability", "p(a)", "p(b)"]].notna().all(axis=None)
    of_mean = [name for name in found if name.startswith(("mean", "low", "high"))]
    assert len(of_mean) == 9
    assert found.loc[[0, 2], of_mean].isna().all(axis=None)
    assert found.loc[[1, 3, 4], of_mean].notna().all(axis=None)
    assert found["note"].isna().tolist() == [False, True, False, True, True]
    reach = f"column 'salary' lies far outside of {salary.min():g} to {salary.max():g}"
    assert found["note"][0] == reach
    assert found["note"][2].startswith(f"{reach}; column 'age' lies far outside of ")


@pytest.mark.parametrize("command", ["fit", "report", "predict"])
def test_no_output_replaces_an_input_or_goes_into_its_folder(command, table, saved, tmp_path, capsys, monkeypatch):
    pytest.importorskip("pyarrow")
    monkeypatch.chdir(tmp_path)
    for name in ("pq/deep/part.parquet", "store/other.parquet", "far.parquet"):
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        pd.read_csv(table).to_parquet(name)
    links = {"pq/linked": "store", "pq/far": "far.parquet", "link": "pq", "outside": "pq/deep/new"}
    for link, name in (links | {"symbolic": "table.csv"}).items():
        Path(link).symlink_to(tmp_path / name)
    os.link("pq/deep/part.parquet", "hard")
    os.link("table.csv", "hard.csv")
    inside = "pq/deep/part.parquet pq/new link/new outside hard pq/linked/new store/other.parquet pq/far far.parquet"

    def kept():
        return {path: path.is_file() and (path.read_bytes(), path.lstat().st_ino) for path in tmp_path.rglob("*")}

    before = kept()
    for name, of, outputs in (
        ("pq", "in the input pq", inside),
        ("link", "in the input link", inside),
        ("table.csv", "the input table.csv", f"table.csv ../{tmp_path.name}/table.csv symbolic hard.csv"),
        *[("table.csv", "the input model", "model")] * (command == "predict"),
    ):
        given = ["model", name] if command == "predict" else [name, "--target", "kind"]
        for output in outputs.split():
            assert cli.main([command, *given, "-o", output]) == 2, output
            is_one_line(capsys, f"the output {output} is {of}, which it would damage; name another file")
            assert kept() == before
    if command == "predict":  # beside the folder
        assert cli.main([command, "model", "pq", "-o", "pq2"]) == 0


def test_an_output_may_have_the_name_of_a_data_set(table, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "iris").write_text("an older model")
    assert cli.main(["fit", "iris", "--model", "plain", "-o", "iris"]) == 0  # the data set, and a file of its name
    assert (
        cli.main(["fit", str(table), "--target", "kind", "--model", "plain", "-o", "iris"]) == 0
    )  # a file that is no input
    assert bayesnb.load("iris").feature_names_in_.tolist() == ["size", "colour"]


def test_settings(tmp_path, capsys):
    path = str(tmp_path / "model")
    settings = ["--set", "priors=[0.2, 0.3, 0.5]", "--set", "estimate=mean", "--set", "variance='pooled'"]
    assert cli.main(["fit", "iris", "--model", "gaussian", *settings, "-o", path]) == 0
    assert f"50 'setosa', 50 'versicolor', 50 'virginica'\nsaved as {path}" in capsys.readouterr().out
    nb = bayesnb.load(path)
    assert (nb.priors, nb.estimate, nb.variance) == ([0.2, 0.3, 0.5], "mean", "pooled")
    assert cli.main(["predict", path, "iris"]) == 0
    assert (predictions(capsys.readouterr().out)["predicted"] == nb.predict(load("iris").X)).all()


def test_columns_are_found_by_name(table, saved, tmp_path, capsys):
    frame = pd.read_csv(table)
    assert cli.main(["predict", str(saved), str(table)]) == 0
    before = capsys.readouterr().out
    frame[["colour", "size"]].assign(more=1).to_csv(table, index=True)
    assert cli.main(["predict", str(saved), str(table), "-o", str(tmp_path / "out.csv")]) == 0
    assert capsys.readouterr().out == ""
    assert (tmp_path / "out.csv").read_text() == before
    pytest.importorskip("pyarrow")
    frame[["colour", "size"]].to_parquet(tmp_path / "rows.parquet")
    assert cli.main(["predict", str(saved), str(tmp_path / "rows.parquet")]) == 0
    assert capsys.readouterr().out == before


def test_cells_are_read_as_they_were_fitted(tmp_path, capsys):
    """What pandas would read as numbers, in the rows at hand, is text where the model learnt text, and vice versa."""
    data, rows, path = tmp_path / "data.csv", tmp_path / "rows.csv", str(tmp_path / "model")
    data.write_text("kind,code ,flag,level\n" + "a,007,True,1\nb,x,False,0\n" * 9)
    assert cli.main(["fit", str(data), "--target", "kind", "--model", "categorical", "-o", path]) == 0
    capsys.readouterr()
    rows.write_text("level,flag,code \n1,True,007\n,,\n")
    assert cli.main(["predict", path, str(rows)]) == 0
    found = predictions(capsys.readouterr().out)
    exact = 0.5 * (10 / 11) ** 3 / (0.5 * (10 / 11) ** 3 + 0.5 * (1 / 11) ** 3)
    assert found["p(a)"][0] == pytest.approx(exact, abs=1e-6)  # 1 - p has four digits
    assert found["p(a)"][1] == pytest.approx(0.5)


# --- the column contract --------------------------------------------------------------------------------------------


@pytest.fixture
def orders(tmp_path):
    """A table with a customer number, a decimal comma and a percent sign."""
    rng = np.random.default_rng(0)
    kind = rng.choice(["a", "b"], 60)
    size = [f"{x:.1f}".replace(".", ",") for x in rng.normal(3, 1, 60) + 2 * (kind == "b")]
    share = [f"{x} %" for x in rng.integers(0, 50, 60)]
    frame = pd.DataFrame({"customer_no": 7001 + 13 * np.arange(60), "size": size, "share": share, "kind": kind})
    frame.to_csv(path := tmp_path / "orders.csv", index=False, sep=";")
    return path


def test_describe(orders, capsys):
    assert cli.main(["describe", str(orders), "--target", "kind"]) == 0
    out, err = capsys.readouterr()
    assert "4 columns, by the first 60 rows" in out
    assert re.search("^! customer_no +dropped", out, re.MULTILINE) and err == ""
    assert cli.main(["describe", str(orders), "--columns", "share=levels,size=drop"]) == 0
    lines = capsys.readouterr().out.splitlines()[2:6]
    assert [line[2:].split()[1] for line in lines] == ["dropped", "dropped", "levels", "levels"]


def test_new_rows_are_read_by_the_contract_of_the_model(orders, tmp_path, capsys):
    model, rows = str(tmp_path / "model"), tmp_path / "rows.csv"
    assert cli.main(["fit", str(orders), "--target", "kind", "--model", "plain", "-o", model]) == 0
    capsys.readouterr()
    assert [column.role for column in bayesnb.load(model).contract_.columns] == [
        "dropped", "numbers", "numbers", "target",
    ]  # fmt: skip
    rows.write_text("size;share;customer_no;more\n5,0;10 %;007;1\n900;11 %;008;2\n")
    assert cli.main(["predict", model, str(rows), "--id", "customer_no"]) == 0
    out, err = capsys.readouterr()
    found = pd.read_csv(io.StringIO(out), dtype={"customer_no": str})
    assert list(found) == ["customer_no", "predicted", "probability", "p(a)", "p(b)"]
    assert found["customer_no"].tolist() == ["007", "008"]
    assert "columns that the model was not fitted to are ignored: 'more'." in err
    rows.write_text("size,share\n5.5,10 %\n")
    assert cli.main(["predict", model, str(rows)]) == 2
    assert "column 'size' holds '5.5', but the other cells numbers such as" in capsys.readouterr().err
    assert cli.main(["predict", model, str(rows), "--decimal", "."]) == 0
    capsys.readouterr()
    assert cli.main(["predict", model, str(rows), "--decimal", ".", "--id", "nr"]) == 2
    assert "no column 'nr' for --id" in capsys.readouterr().err
