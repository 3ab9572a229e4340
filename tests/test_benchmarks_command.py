"""One command reproduces the figures: it knows all benchmarks and all command lines of the pages."""

import gzip
import json
import re
import shlex
from pathlib import Path

import numpy as np
import pytest

from .benchmarks import __main__ as command
from .benchmarks import calibration, calibrators, pages

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
OWN = {"--json", "--figure", "--csv", "--page"}  # options whose value is a file


def plain(arguments: list[str]) -> list[str]:
    """Arguments without those that name a file."""
    kept = [word for i, word in enumerate(arguments) if word not in OWN and (i == 0 or arguments[i - 1] not in OWN)]
    return [word for word in kept if word not in ("--show", "--kept-aside")]


def test_every_benchmark_is_a_part() -> None:
    modules = {path.stem for path in (ROOT / "tests" / "benchmarks").glob("*.py")}
    others = "__init__ __main__ arguments pages mutants timing".split()
    assert {part.module for part in command.PARTS.values()} == modules - {*others}
    assert all((DOCS / part.page).exists() for part in command.PARTS.values())


def test_commands_of_the_pages_are_those_that_run() -> None:
    known = [(part.module, plain(part.full.split())) for part in command.PARTS.values()]
    known += [(module, []) for module, _ in known]  # a page may name a benchmark without its arguments
    known.append(("pages", ["--take", "results"]))
    known.append(("speed", ["--table", "sharp", "--repeats", "1"]))
    stated = 0
    for path in [*DOCS.glob("*.md"), *DOCS.glob("guide/*.md")]:
        for line in re.findall(r"python -m tests\.benchmarks\.(\w+[^`\n|#]*)", path.read_text("utf-8")):
            module, *arguments = shlex.split(line.split("  ")[0])
            assert (module, plain(arguments)) in known, f"{path.name}: {line}"
            stated += bool(arguments)
    assert stated >= 8


def test_pages_say_which_file_each_number_is_from() -> None:
    page = (DOCS / "benchmarks.md").read_text("utf-8")
    table = page.split("\n| part |")[1].split("\n\n")[0]
    rows = dict(re.findall(r"^\| `([\w-]+)` \| (.+) \|$", table, re.MULTILINE))
    assert rows.keys() == command.PARTS.keys()
    for name, cells in rows.items():
        assert command.PARTS[name].page.split("/")[-1].split(".")[0] in cells, name
        for file in re.findall(r"\]\((data/[^)]+)\)", cells):
            assert (DOCS / file).exists()
        assert "](data/" in cells or "not recorded" in cells


def test_tables_of_the_page_are_their_raw_results() -> None:
    page = pages.PAGE.read_text("utf-8")
    assert pages.filled(page) == page
    assert page.count(": met |") >= 10
    records = json.loads((DOCS / "data" / "speed.json").read_text("utf-8"))
    assert f"| {records[1]['work']} | {pages.seconds(records[1]['ours'])} |" in page
    records = json.loads((DOCS / "data" / "formulas.json").read_text("utf-8"))
    ratios = [r["ratio"] for r in records if r["ratio"] and r["bar"].startswith("≥")]
    assert f"{min(ratios):.1f} to {max(ratios):.0f} times as fast as scikit-learn" in page


def rows_in(page: str) -> list[str]:
    return [line for line in page.splitlines() if line.startswith("| ")]


def test_tables_of_calibration_are_their_raw_results() -> None:
    """The files are made from the records, and the page shows rows of the files."""
    page, data = (DOCS / "calibration.md").read_text("utf-8"), DOCS / "data"
    records = json.loads(gzip.decompress((data / "calibration.json.gz").read_bytes()))
    known = [{k: np.array(v, float) if isinstance(v, list) else v for k, v in record.items()} for record in records]
    made = {"calibration.txt": calibration.tables(known)}
    made["calibrators.txt"] = calibrators.show(json.loads(gzip.decompress((data / "calibrators.json.gz").read_bytes())))
    for file, start, least in (("calibration.txt", "| log loss in nats |", 8), ("calibrators.txt", "| rows |", 7)):
        assert (data / file).read_text("utf-8") == made[file] + "\n"
        shown = rows_in(start + page.split(start)[1].split("\n\n")[0])
        assert len(shown) >= least and {*shown} <= {*made[file].splitlines()}
    coverage = (data / "calibrators-coverage.txt").read_text("utf-8")
    found = re.findall(r"^\| (.+) \| \d \| \d+ \| (0\.\d+) \| (0\.\d+) \|$", coverage, re.MULTILINE)
    for truth in {name for name, *_ in found}:
        cells = " | ".join(f"{inside} ({near})" for name, inside, near in found if name == truth)
        assert f"| {truth} | {cells} |" in page


def test_tables_of_sets_are_their_raw_results() -> None:
    page = (DOCS / "guide" / "not_sure.md").read_text("utf-8")
    for name, count in (("sets", 12), ("sets-both", 10)):
        lines = (DOCS / "data" / f"{name}.txt").read_text("utf-8").splitlines()[1:]
        cells = np.array([re.findall(r"([\d.]+) ± [\d.]+\s+([\d.]+)", line) for line in lines], float)
        assert len(cells) == count and "low" not in "".join(lines)  # as the page says
        for (held, size), (most, largest), asked in zip(cells.min(0), cells.max(0), ("80", "90", "95"), strict=True):
            row = f"| {asked} % | {held:.3f} to {most:.3f} | {size:.2f} to {largest:.2f} |"
            assert row in page or name == "sets-both"


def test_intervals_of_coupled_classes_are_their_raw_results() -> None:
    page = " ".join((DOCS / "guide" / "not_sure.md").read_text("utf-8").split())
    lines = (DOCS / "data" / "coupled.txt").read_text("utf-8").splitlines()
    rows = [line.strip("| ").split(" | ") for line in lines if line.startswith("| ")][1:]
    mean, largest, *draws = np.array([row[3:] for row in rows], float).max(0)
    assert f"[{len(rows)} settings](../data/coupled.txt) the mean distance is at most {mean:.4f}" in page
    assert f"the largest {largest:.3f}. With 1,000 draws they are {draws[0]:.4f} and {draws[1]:.3f}." in page


def test_figures_of_the_check_are_their_raw_results() -> None:
    page, data = " ".join((DOCS / "check.md").read_text("utf-8").split()), DOCS / "data"
    mutations = (data / "mutations.txt").read_text("utf-8").splitlines()
    assert len(mutations) > 30 and mutations[-1].endswith(" mutations, 0 not found.") and mutations[-1] in page
    power = [line.strip("| ").split(" | ") for line in (data / "power.txt").read_text("utf-8").splitlines()]
    found = {(cells[0], int(cells[1])): cells[2:] for cells in power if len(cells) == 7 and cells[0] != "sabotaged"}
    assert len(found) == 25
    narrow = {n: shares for (name, n), shares in found.items() if name.startswith("sample")}
    exact = {name for name, _ in found if all(found[name, n][0] == "100%" for n in (10, 30, 100, 300, 1000))}
    assert f"exact rows find {['two', 'three', 'four', 'five'][len(exact) - 2]} of the five errors" in page
    assert all(shares[3] == "0%" for shares in found.values()) and "Row 4 found none of the five" in page
    assert [shares[4] for shares in narrow.values()] == ["100%"] * 4 + ["0%"]
    assert "in every repeat with 10 to 300 rows, never with 1,000" in page
    marginals = [shares[1:3] for (name, _), shares in found.items() if name.startswith("marginals")]
    assert marginals == [["100%", "100%"], ["90%", "40%"], *[["0%", "0%"]] * 3]
    assert "Rows 3a and 3b find them in every repeat with 10 rows, in 90 % and 40 % with 30, and never" in page
    by_draws = {cells[0]: cells[1:] for cells in power if len(cells) == 6}
    assert [by_draws[n][3] for n in ("100", "300")] == ["40%", "0%"] and "in 40 % of the repeats with 100 rows" in page


def test_a_wrong_prior_is_found_as_often_as_the_page_says() -> None:
    page = " ".join((DOCS / "check.md").read_text("utf-8").split())
    lines = (DOCS / "data" / "right_and_wrong.txt").read_text("utf-8").splitlines()
    cells = [line.strip("| ").split(" | ") for line in lines if line.startswith("| ")]
    rows = [row for row in cells if row[0] in ("α = 0.05, times 1.3", "α = 1, times 1.3", "scale, times 1.1")]
    places = ("all thirty columns", "one of thirty columns", "one class of two")
    assert len(rows) == 9 and {(row[1], row[2]) for row in rows} == {(place, "10") for place in places}
    # rows 1 and 2
    assert all(row[3:6] == ["100%"] * 3 for row in rows) and "found it in 10 of 10 tables of each kind" in page
    of_chains = [int(share.strip("%")) for row in rows if row[1] == places[1] for share in row[6:]]
    assert f"in one of thirty columns in at most {max(of_chains) // 10} of 10 tables" in page

    # the second table: α, rows, models, how many of them were condemned, and by which rows
    right = [row for row in cells if row[0] in ("0.001", "0.01", "0.05", "1")]
    models, condemned = (sum(int(row[column]) for row in right) for column in (2, 3))
    assert f"Of {models} right models, with α from .001 to 1 and 5 to 100 rows, {condemned} were condemned" in page


def test_times_of_a_cluster_are_their_raw_results() -> None:
    page = " ".join((DOCS / "scale.md").read_text("utf-8").split())
    for name, digits in (("cluster", 1), ("cluster-2gb", 2)):
        text = (DOCS / "data" / f"{name}.txt").read_text("utf-8")
        one, two = (f"{float(median):.{digits}f}" for median in re.findall(r"median ([\d.]+) s", text))
        assert f"{one} s with one worker" in page if digits == 1 else f"takes {one} and {two} s" in page
        assert f"{two} s with two" in page or digits == 2


def test_runs_and_records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(command.PARTS, "usage", command.Part("pages", "benchmarks.md", "", "--help"))
    assert command.main(["all", "--out", str(tmp_path / "new"), "--quick", "--only", "usage", "mutations"]) == 0
    record = json.loads((tmp_path / "new" / "machine.json").read_text("utf-8"))
    assert record["quick"] and record["versions"]["jax"] and record["python"] and record["cores"] >= 1
    assert list(record["parts"]) == ["usage"]  # mutations have no small setting
    assert record["parts"]["usage"]["exit"] == 0
    assert "--take" in (tmp_path / "new" / "usage.txt").read_text("utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["calibration", "power", "sets", "trust-page"])
def test_small_settings(name: str, tmp_path: Path) -> None:
    assert command.main(["all", "--out", str(tmp_path), "--quick", "--only", name]) == 0
    if name == "calibration":
        assert (tmp_path / "calibration.png").stat().st_size > 1000
        assert json.loads((tmp_path / "calibration.json").read_text("utf-8"))[0]["data"] == "wine"
    if name == "trust-page":  # the page from its raw results is the page
        assert (tmp_path / "calibration.md").read_text("utf-8") == (DOCS / "calibration.md").read_text("utf-8")
