"""Pages are plain: short sentences, a median of fifteen words at most, easy words, no blunder."""

import json
import statistics
import subprocess
import sys
from pathlib import Path

import pytest

from .readability import PAGES, Prose, prose

LONGEST = 35  # words in a sentence
MEDIAN = 15
EASE = 50  # Flesch; 50 to 60 is fairly difficult, and the names of models have many syllables
CHECKS = {  # of proselint; quotes and dots in the pages are those of code, and a discriminant is a term of statistics
    "typography": False,
    "dates_times.dates": False,
    "needless_variants": False,
    "weasel_words.very": False,  # "very strong" evidence is a term of Kass & Raftery
}


def faults(found: Prose) -> list[str]:
    """What is hard to read about the sentences of a page."""
    said = [f"{len(text.split())} words: {text}" for text in found.sentences if len(text.split()) > LONGEST]
    if (median := statistics.median(found.lengths)) > MEDIAN:
        said.append(f"half of the sentences have more than {median:g} words")
    if found.ease < EASE:
        said.append(f"Flesch's reading ease is {found.ease:.0f}")
    return said


def linted(folder: Path, pages: dict[str, str]) -> str:
    """What proselint says about texts by name."""
    (config := folder / "proselint.json").write_text(json.dumps({"checks": CHECKS}), "utf-8")
    for name, text in pages.items():
        (folder / name).write_text(text, "utf-8")
    command = [sys.executable, "-m", "proselint", "check", "--config", str(config), "--output-format", "compact"]
    run = subprocess.run([*command, *(str(folder / name) for name in pages)], capture_output=True, text=True)
    return run.stdout + run.stderr


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_sentences_are_short_and_plain(path: Path) -> None:
    assert not faults(prose(path))


def test_proselint_finds_nothing(tmp_path: Path) -> None:
    found = linted(tmp_path, {f"{path.stem}.md": " ".join(prose(path).sentences) + "\n" for path in PAGES})
    assert not found, found


def test_hard_prose_is_found(tmp_path: Path) -> None:
    long = "The model " + "of the rows " * 12 + "predicts."
    hard = "Notwithstanding heteroscedasticity, regularisation necessitates hyperparameterisation."
    said = faults(Prose([long, hard]))
    assert [text.split()[0] for text in said] == ["39", "half", "Flesch's"]
    assert not faults(Prose(["The model predicts the label of each new row."]))
    found = linted(tmp_path, {"bad.md": "This is the most unique model.\n", "good.md": "This is a model of rows.\n"})
    assert "bad.md" in found and "good.md" not in found
