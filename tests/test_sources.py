"""The pages about the sources: every line of the table of methods runs, and every slip costs what the page says."""

import re
import runpy
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_iris

import bayesnb

ROOT = Path(__file__).parent.parent
ROW = re.compile(r"^\| ([^|]+?) \| (?:`([^`]+)` )?\| ([^|]+?) \|$", re.MULTILINE)


@pytest.fixture(scope="module")
def names():
    """What the lines of the table speak of."""
    X, y = load_iris(return_X_y=True)
    votes, penguins = bayesnb.datasets.load("votes"), bayesnb.datasets.load("penguins")
    counts = np.array([[3, 0, 1], [2, 1, 0], [0, 2, 2], [0, 4, 1]])
    data = {"X": X, "y": y, "B": (votes.X == "y").to_numpy(), "V": votes.X, "p": votes.y, "T": counts}
    data |= {"t": np.array(["spam", "spam", "ham", "ham"]), "P": penguins.X, "s": penguins.y, "np": np}
    said = (ROOT / "docs" / "sources.md").read_text("utf-8").split("## Every method")[1].split("\n| ")[0]
    said = " ".join(said.split())
    for names, module in re.findall(r"((?:`\w+`(?: and )?)+) (?:is |are )?in `(bayesnb\.[\w.]+)`", said):
        data |= {name: getattr(import_module(module), name) for name in re.findall(r"\w+", names) if name != "and"}
    return {name: getattr(bayesnb, name) for name in bayesnb.__all__} | data


def methods():
    table = (ROOT / "docs" / "sources.md").read_text("utf-8").split("## Every method")[1].split("\n## ")[0]
    return [
        found for found in ROW.findall(table) if found[0] not in ("method", "---") and not found[0].startswith("**")
    ]


def test_every_method_has_a_line_that_runs_and_a_status(names):
    rows = methods()
    assert len(rows) > 60
    for method, line, status in rows:
        assert re.match(r"as printed|corrected: .|not taken, because .", status), method
        assert line or status.startswith("not taken"), method
        assert eval(line or "True", dict(names)) is not None, method


def test_the_table_of_methods_overlooks_no_row():
    table = (ROOT / "docs" / "sources.md").read_text("utf-8").split("## Every method")[1].split("\n## ")[0]
    titles = table.count("\n| **") + 2  # the documents, the head and the rule under it
    assert len(methods()) == table.count("\n| ") + table.count("\n|--") - titles


@pytest.mark.slow
def test_the_page_shows_what_the_slips_cost():
    page = (ROOT / "docs" / "sources.md").read_text("utf-8")
    shown = page.split("$ python examples/slips.py\n")[1].split("```")[0].strip().splitlines()
    found = runpy.run_path(str(ROOT / "examples" / "slips.py"))["table"]().splitlines()
    assert len(shown) == len(found) > 20
    for ours, theirs in zip(shown, found, strict=True):
        assert ours[:88].rstrip("0123456789.,- ") == theirs[:88].rstrip("0123456789.,- ")
        if ours.startswith("source"):
            continue
        numbers = [[float(word.replace(",", "")) for word in line.split()[-2:]] for line in (ours, theirs)]
        np.testing.assert_allclose(*numbers, rtol=0, atol=1.5e-3)  # printed with three decimals
        assert abs(numbers[0][0] - numbers[0][1]) > 1e-3  # a slip that costs nothing is none
