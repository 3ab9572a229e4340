"""The tables of docs/benchmarks.md, made from raw results.

    python -m tests.benchmarks.pages                # from the results that are kept in docs/data
    python -m tests.benchmarks.pages --take DIR     # keeps those of `python -m tests.benchmarks all --out DIR` first

`tests/test_benchmarks_command.py` compares the page with the files, so a number cannot be changed by hand.
"""

import argparse
import json
import re
import shutil
from pathlib import Path
from typing import Any

DATA = Path(__file__).parents[2] / "docs" / "data"
PAGE = DATA.parent / "benchmarks.md"
KEPT = ["speed.json", "formulas.json", "growth.json", "uncertainty.json", "coupled.txt", "binning-time.txt"]
KEPT += ["one-dependence.txt", "mutations.txt", "interrupts.txt", "path-of-x.txt", "power.txt", "chains.json"]
KEPT += ["cluster.txt", "cluster-2gb.txt"]

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


def speed(records: list[Record]) -> str:
    """The table of `speed`."""
    lines = ["| work | bayesnb | compared with | ratio | bar |  | memory |", "|---|---|---|---|---|---|---|"]
    for r in records:
        work = re.sub("^ +", "… ", r["work"])
        memory = "" if r["memory"] is None else f"{r['memory'] / 2**20:.0f} MiB" if r["memory"] >= 2**20 else "< 1 MiB"
        cells = [work, seconds(r["ours"]), seconds(r["theirs"]), digits(r["ratio"]), r["bar"], verdict(r), memory]
        lines.append(f"| {' | '.join(cells)} |".replace("  ", " "))
    return "\n".join(lines)


def formulas(records: list[Record]) -> str:
    """The ratios of `speed --formulas` that are against scikit-learn."""
    lines = ["| work, without compiled loops | ratio |", "|---|---|"]
    for r in records:
        if r["ratio"] is not None and not r["bar"].startswith("≤"):
            lines.append(f"| {re.sub('^ +', '… ', r['work'])} | {digits(r['ratio'])} |")
    return "\n".join(lines)


TABLES = {"speed": speed, "formulas": formulas}


def filled(page: str) -> str:
    """The page with its tables made anew from the results in docs/data."""
    for name, table in TABLES.items():
        made = table(json.loads((DATA / f"{name}.json").read_text("utf-8")))
        head, tail = f"<!-- {name}: made from data/{name}.json -->\n", f"\n<!-- end of {name} -->"
        before, rest = page.split(head)
        page = f"{before}{head}\n{made}\n{tail}{rest.split(tail)[1]}"
    return page


def main() -> None:
    """Keep results, fill the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--take", type=Path, metavar="DIR", help="folder of new results")
    given = parser.parse_args()
    if given.take:
        for name in KEPT:
            if (given.take / name).exists():
                shutil.copy(given.take / name, DATA / name)
        old, new = (json.loads((folder / "machine.json").read_text("utf-8")) for folder in (DATA, given.take))
        before = {name: {"date": old["date"], "commit": old["commit"]} | part for name, part in old["parts"].items()}
        new["parts"] = before | new["parts"]
        (DATA / "machine.json").write_text(json.dumps(new, indent=1) + "\n", encoding="utf-8")
        if (given.take / "growth.png").exists():
            shutil.copy(given.take / "growth.png", DATA.parent / "figures" / "growth.png")
    PAGE.write_text(filled(PAGE.read_text("utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
