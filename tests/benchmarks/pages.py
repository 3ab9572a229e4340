"""Tables of pages, made from raw results, and those of docs/benchmarks.md.

    python -m tests.benchmarks.pages                # from the results that are kept in docs/data
    python -m tests.benchmarks.pages --take DIR     # keeps those of `python -m tests.benchmarks all --out DIR` first

`tests/test_benchmarks_command.py` compares the page with the files, so a number cannot be changed by hand.
"""

import json
import re
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from .arguments import arguments

DATA = Path(__file__).parents[2] / "docs" / "data"
PAGE = DATA.parent / "benchmarks.md"

Record = dict[str, Any]


def seconds(value: float | None) -> str:
    """A time with its unit, three digits."""
    if value is None:
        return ""
    return f"{1000 * value:.3g} ms" if value < 0.9995 else f"{value:.3g} s"


def digits(value: float | None) -> str:
    """Two digits, or whole hundreds and thousands."""
    if value is None:
        return ""
    return f"{value:.2f}" if value < 1 else f"{value:.1f}" if value < 10 else f"{float(f'{value:.3g}'):,.0f}"


def verdict(record: Record) -> str:
    """Whether the bar is met."""
    if record["ratio"] is None or not record["bar"].split()[1:]:
        return ""
    sign, limit = record["bar"].split()
    met = record["ratio"] >= float(limit) if sign == "≥" else record["ratio"] <= float(limit)
    return "met" if met else "missed"


def markdown(head: list[str], rows: Iterable[list[str]]) -> str:
    """A table."""
    first, *others = (f"| {' | '.join(cells)} |" for cells in (head, *rows))
    return "\n".join([first, f"|{'---|' * len(head)}", *others])


def fill(page: str, tables: dict[str, str]) -> str:
    """The page with the text between the marks of each table made anew."""
    for name, table in tables.items():
        start, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
        if page.count(start) != 1 or page.count(end) != 1:
            raise ValueError(f"the page should have the marks {start} and {end} once each")
        before, rest = page.split(start)
        page = f"{before}{start}\n\n{table}\n\n{end}{rest.split(end)[1]}"
    return page


def speed(records: list[Record]) -> str:
    """The table of `speed`."""
    rows = []
    for r in records:
        work, bar = re.sub("^ +", "… ", r["work"]), f"{r['bar']}{': ' * bool(verdict(r))}{verdict(r)}"
        rows.append([work, seconds(r["ours"]), seconds(r["theirs"]), digits(r["ratio"]), bar])
    return markdown(["work", "bayesnb", "compared with", "ratio", "bar"], rows).replace("  ", " ")


def filled(page: str) -> str:
    """The page of benchmarks with its table made anew from the results in docs/data."""
    return fill(page, {"speed": speed(json.loads((DATA / "speed.json").read_text("utf-8")))})


def main() -> None:
    """Keep results, fill the page."""
    new = arguments(__doc__, take=None).take
    if new:
        for file in (DATA / path.name for path in new.iterdir() if path.name != "machine.json"):
            if file.exists():
                shutil.copy(new / file.name, file)
        old, machine = (json.loads((folder / "machine.json").read_text("utf-8")) for folder in (DATA, new))
        machine["parts"] = old["parts"] | machine["parts"]
        (DATA / "machine.json").write_text(json.dumps(machine, indent=1) + "\n", encoding="utf-8")
    PAGE.write_text(filled(PAGE.read_text("utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
