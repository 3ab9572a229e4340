"""The lectures at the head of the theory pages: each has all its parts, and its results come from the files."""

import re
from pathlib import Path

import pages
import pytest

ROOT = Path(__file__).parent.parent.parent
LECTURES = sorted(ROOT.glob("docs/theory/lectures/*.md"))
FAMILIES = {path.stem for path in ROOT.glob("bayesnb/families/*.py")} - {"__init__", "one_class"}
IN_FULL = {"bernoulli", "categorical", "multinomial", "poisson", "gaussian", "full_gaussian"}
PARTS = "A worked example", "From prior to posterior", "Exercises"
STEPS = "The model", "Likelihood × prior", "The update, step by step", "The evidence", "The predictive"
SOLVED = r"(?m)^\*\*(\d+)\.\*\* .+\n\n<details><summary>Solution</summary>\n\n(?:.+\n|\n)+?</details>"


def test_lectures_are_about_families() -> None:
    """A family may come without one: its page is then the file alone."""
    assert {path.stem for path in LECTURES} <= FAMILIES and IN_FULL <= {path.stem for path in LECTURES}


@pytest.mark.parametrize("path", LECTURES, ids=lambda path: path.stem)
def test_a_lecture_has_all_its_parts(path: Path) -> None:
    text = path.read_text("utf-8")
    heads = re.findall(r"^## (.+)$", text, re.MULTILINE)
    assert heads == [*(STEPS if path.stem in IN_FULL else ["What changes"]), "Mode against mean", *PARTS]
    assert (path.parent / re.findall(r"!\[.+\]\((.+\.svg)\)", text)[0]).exists()
    exercises = re.findall(r"^\*\*(\d+)\.\*\* ", text, re.MULTILINE)
    assert len(exercises) >= (3 if path.stem in IN_FULL else 2)
    assert exercises == re.findall(SOLVED, text)
    # a model in plain NumPyro, equal to twelve digits; tests/test_markdown.py runs it
    _, found, by_hand = text.partition(">>> def by_hand_model(x, y):\n")
    statements, found_too, comparison = by_hand.partition("\n>>> ")
    assert found and found_too, "the lecture has no `by_hand_model`"
    assert "numpyro.plate(" in statements and "numpyro.sample(" in statements and "bayesnb" not in statements
    assert "print(np.isclose(by_page, written_by_hand, rtol=1e-12, atol=0))\nTrue" in comparison


@pytest.mark.parametrize("path", LECTURES, ids=lambda path: path.stem)
def test_results_are_the_formulas_of_the_docstrings(path: Path) -> None:
    """Nothing that a lecture takes is lost, and each of the five results is there."""
    text = path.read_text("utf-8")
    shown = pages.lecture(text, path.stem)
    assert not re.search(r'^\[.*\.py "', shown, re.MULTILINE)
    results = re.findall(r"\*\*(\w+)\.\*\* (.+)", shown.replace("numpyro", ""))
    formulas = {name: said for name, said in results if not name.isdigit()}
    assert {"Update", "Evidence", "Predictive", "Mode", "Mean"} <= formulas.keys()
    for name, said in formulas.items():
        in_words = path.stem == "kernel_density" or said.strip("\\ .") == "m"
        assert ":math:" in said or in_words, (name, said)
    assert "sample(" in shown and "dist." in shown


def test_an_unknown_formula_is_noticed() -> None:
    with pytest.raises(AttributeError, match="nowhere"):
        pages.lecture('[Mode](bernoulli.py "BetaBernoulli.nowhere")', "bernoulli")
