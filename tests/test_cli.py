"""The command line: exit codes, one clear line for bad input, and never a traceback."""

import json

import numpy as np
import pandas as pd
import pytest

from bayesnb import cli
from bayesnb.sampling import check as checks


@pytest.fixture
def quick(monkeypatch):
    """Short chains: what the sampling finds is tested elsewhere."""
    monkeypatch.setattr(checks, "_SHORT_CHAINS", 50)
    monkeypatch.setattr(checks, "_DRAWS", 200)
    monkeypatch.setattr(checks, "_WARMUP", 100)


@pytest.fixture
def table(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"kind": ["a", "b"] * 20, "size": rng.normal(size=40), "colour": ["red", "blue"] * 20})
    path = tmp_path / "table.csv"
    frame.to_csv(path, index=False)
    return path


def test_a_file_is_checked(table, quick, capfd, monkeypatch):
    for switch in ("CI", "PYTEST_XDIST_WORKER"):  # NumPyro shows no progress bar where they are set
        monkeypatch.delenv(switch, raising=False)
    assert cli.main(["check", str(table), "--target", "kind"]) in (0, 1)  # 200 draws are too few to promise row 3b
    out, err = capfd.readouterr()
    assert "40 rows, 1 features" in out
    assert "left out: 'colour'" in out
    assert "1  Bayes' identity" in out
    assert "it/s" in err  # NumPyro's progress bar


def test_json_and_exit_code(quick, capsys, monkeypatch):
    code = cli.main(["check", "votes", "--json", "--seed", "3"])
    report = json.loads(capsys.readouterr().out)
    assert report["passed"] is (code == 0)
    assert report["settings"]["seed"] == 3
    assert report["model"] == "CategoricalNB()"

    def failing(*_, **__):
        from types import SimpleNamespace

        return SimpleNamespace(passed=False)

    monkeypatch.setattr("bayesnb.estimators._base.AbstractNB.check", failing)
    assert cli.main(["check", "iris"]) == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nothing.csv", "--target", "kind"], "there is no file"),
        (["tulips"], "not one of iris"),
        (["iris", "--target", "species"], "'class'"),
        (["TABLE", "--target", "knd"], "closest is 'kind'"),
        (["TABLE"], "--target"),
        (["TABLE", "--target", "kind", "--model", "gaussian"], "column 'colour' holds text such as 'red'"),
        (["penguins", "--model", "multinomial"], "'island' holds text"),
        (["EMPTY", "--target", "kind"], "is empty"),
        (["NOISE", "--target", "kind"], "not text"),
        (["ONE", "--target", "kind"], "at least two classes"),
        (["MISSING", "--target", "kind"], "no column with values"),
        (["INFINITE", "--target", "kind"], "infinity"),
        (["NEGATIVE", "--target", "kind", "--model", "poisson"], "-1 in column 'n'"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(arguments, message, table, tmp_path, capsys):
    files = {
        "TABLE": table.read_bytes(),
        "EMPTY": b"",
        "NOISE": bytes(range(256)),
        "ONE": b"kind,n\na,1\na,2\n",
        "MISSING": b"kind,n\na,\nb,\n",
        "INFINITE": b"kind,n\na,inf\nb,1\na,2\nb,3\n",
        "NEGATIVE": b"kind,n\na,-1\nb,-1\na,-1\nb,-1\n",
    }
    if arguments[0] in files:
        path = tmp_path / "data.csv"
        path.write_bytes(files[arguments[0]])
        arguments = [str(path), *arguments[1:]]
    assert cli.main(["check", *arguments]) == 2
    out, err = capsys.readouterr()
    assert message in err
    assert err.startswith("bayesnb: ")
    assert err.count("\n") == 1
    assert "Traceback" not in out + err


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ({"x": [0.5, 1.0]}, "GaussianNB()"),
        ({"x": [0, 1], "z": [1, None]}, "BernoulliNB(binarize=None)"),
        ({"x": ["a", "b"]}, "CategoricalNB()"),
        ({"x": ["a", "b"], "z": [1.5, 2.0]}, "GaussianNB()"),
    ],
)
def test_the_variant_is_read_from_the_columns(columns, expected):
    estimator, X, _ = cli.choose_model(pd.DataFrame(columns), "auto")
    assert repr(estimator) == expected
    assert X.shape[1] >= 1
