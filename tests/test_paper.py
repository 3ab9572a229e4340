"""The paper: every citation has an entry, every figure is one of the pages, every version is the one compared."""

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parent.parent
PAPER = (ROOT / "paper" / "paper.md").read_text("utf-8")
BIBLIOGRAPHY = (ROOT / "paper" / "paper.bib").read_text("utf-8")
NUMBER = re.compile(r"[-+−]?\d[\d,]*(?:\.\d+)?")


def page(name: str) -> str:
    return (ROOT / "docs" / name).read_text("utf-8")


def section(title: str) -> str:
    return PAPER.split(f"\n# {title}\n")[1].split("\n# ")[0]


def builder() -> ModuleType:
    spec = importlib.util.spec_from_file_location("build", ROOT / "paper" / "build.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def cited(text: str) -> set[str]:
    return {key for group in re.findall(r"\[(@[^]]+)\]", text) for key in re.findall(r"@([\w-]+)", group)}


def numbers(text: str) -> set[str]:
    """Numbers of a text, without its code, its citations and the numbers of its tables."""
    text = re.sub(r"```.*?```|`[^`]*`|\[@[^]]*\]|[Tt]able \d", " ", text, flags=re.DOTALL)
    return {found.rstrip(",").lstrip("−+-") for found in NUMBER.findall(text)}


def test_citations_and_entries_are_the_same() -> None:
    entries = set(re.findall(r"^@\w+\{([\w-]+),", BIBLIOGRAPHY, re.MULTILINE))
    assert cited(PAPER) == entries
    assert cited("as [@a2001; @b2002] say") == {"a2001", "b2002"}
    for entry in re.split(r"^@", BIBLIOGRAPHY, flags=re.MULTILINE)[1:]:
        assert all(re.search(rf"^  {field} +=", entry, re.MULTILINE) for field in ("author", "title", "year")), entry


def test_header_is_that_of_the_journal() -> None:
    header = PAPER.split("---\n")[1]
    keys = re.findall(r"^(\w+):", header, re.MULTILINE)
    assert keys == ["title", "tags", "authors", "affiliations", "date", "bibliography"]
    titles = re.findall(r"^# (.+)", PAPER, re.MULTILINE)
    asked = "Summary|Statement of need|State of the field|Software design|Research impact statement"
    assert titles == f"{asked}|AI usage disclosure|Acknowledgements|References".split("|")
    assert 750 < len(PAPER.split()) < 1750


def test_tables_are_those_of_the_pages() -> None:
    build = builder()
    assert build.fill(PAPER) == PAPER, "run: python paper/build.py"
    trust, benchmarks = page("calibration.md"), page("benchmarks.md")
    other = re.sub(r"(\| loo, against CV around bayesnb \| )−", r"\1+", trust)
    assert build.tables(other, benchmarks)["study"] != build.tables(trust, benchmarks)["study"]
    other = re.sub(r"(\| BernoulliNB fit[^|]*\|[^|]*\|[^|]*\| )[\d.]+", r"\g<1>99", benchmarks)
    assert "| BernoulliNB fit, 200,000 × 500 | 99 |" in build.tables(trust, other)["speed"]


@pytest.mark.parametrize(
    ("title", "names"),
    [
        ("Research impact statement", ("calibration.md", "benchmarks.md")),
        ("State of the field", ("comparison.md",)),
    ],
)
def test_every_number_is_on_its_page(title: str, names: tuple[str, ...]) -> None:
    missing = numbers(section(title)).difference(*(numbers(page(name)) for name in names))
    assert not missing, f"{sorted(missing)} of “{title}” are not on {names}"
    assert numbers("0.31 of 1,000, −0.012 and `7`") == {"0.31", "1,000", "0.012"}


def test_versions_are_those_compared() -> None:
    compared = page("comparison.md")
    found = re.findall(r"([\w-]+) (\d+\.\d+\.\d+)", section("State of the field"))
    assert len(found) >= 7
    for package, version in found:
        row = next(line for line in compared.splitlines() if line.startswith(f"| {package}"))
        assert version in row, (package, version)


@pytest.mark.slow
def test_pdf_is_built(tmp_path: Path) -> None:
    pytest.importorskip("pypandoc", reason="pip install '.[paper]'")
    pytest.importorskip("typst", reason="pip install '.[paper]'")
    written = builder().build(tmp_path / "paper.pdf")
    assert written.read_bytes().startswith(b"%PDF")
