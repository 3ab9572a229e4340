r"""Mutants of some files, drawn by a seed, and the tests that notice them: `docs/testing.md`.

    python -m tests.benchmarks.mutants --seed 31 --count 200 --jobs 2 \
        --tests "-x -q -n0 tests/families tests/sums" bayesnb/families/conjugate.py bayesnb/families/*.py

A mutant changes one operator, comparison, number, condition or value that a function returns. Docstrings, annotations
and messages stay. Each is written into a copy of the working tree, where pytest runs with the arguments that are given;
it survives if all tests pass. What each survivor changes is printed.
"""

import argparse
import ast
import copy
import os
import random
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
SWAPS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.MatMult: ast.Mult, ast.Pow: ast.Mult,
    ast.FloorDiv: ast.Mult, ast.Mod: ast.Mult, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.LShift: ast.RShift,
    ast.RShift: ast.LShift, ast.And: ast.Or, ast.Or: ast.And, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Lt: ast.GtE,
    ast.GtE: ast.Lt, ast.Gt: ast.LtE, ast.LtE: ast.Gt, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}  # fmt: skip
MESSAGES = ast.Raise, ast.Import, ast.ImportFrom, ast.JoinedStr


def places(tree: ast.AST) -> Iterator[tuple[ast.AST, str, Any]]:
    """Node, field and new value of every change of a file."""
    for node in code_of(tree):
        match node:
            case ast.BinOp(op=op) | ast.BoolOp(op=op) if type(op) in SWAPS:
                yield node, "op", SWAPS[type(op)]()
            case ast.UnaryOp(op=ast.USub()):
                yield node, "op", ast.UAdd()
            case ast.Compare(ops=[op]) if type(op) in SWAPS:
                yield node, "ops", [SWAPS[type(op)]()]
            case ast.Constant(value=bool(value)):
                yield node, "value", not value
            case ast.Constant(value=int(value) | float(value)):
                yield node, "value", value + 1
            case ast.If(test=test) | ast.IfExp(test=test) | ast.While(test=test):
                yield node, "test", ast.UnaryOp(ast.Not(), test)
            case ast.Return(value=ast.expr() as value) if not isinstance(value, ast.Constant):
                yield node, "value", ast.Constant(None)


def code_of(node: ast.AST) -> Iterator[ast.AST]:
    """What runs: no annotation, default, decorator or string, and none of what only types or messages need."""
    skipped = ("annotation", "returns", "decorator_list", "args")
    for name, value in ast.iter_fields(node):
        if name in skipped and not isinstance(node, ast.Call | ast.Lambda):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not isinstance(child, MESSAGES):
                yield child
                yield from code_of(child)


def mutant(path: Path, text: str, at: int) -> tuple[str, str]:
    """The text of a file with one change, and what it is."""
    tree = ast.parse(text)
    node, field, value = [*places(tree)][at]
    line, whole = getattr(node, "lineno", 0), copy.deepcopy(node)
    setattr(node, field, value)
    before, after = (" ".join(ast.unparse(ast.fix_missing_locations(one)).split())[:90] for one in (whole, node))
    return ast.unparse(tree), f"{path.relative_to(ROOT)}:{line}: {before}  →  {after}"


def killed(path: Path, folder: Path, text: str, tests: list[str], limit: float) -> bool:
    """Whether a test fails, or takes far too long, in a copy of the tree whose file has this text."""
    kept = path.read_text(encoding="utf-8")
    path.write_text(text, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *tests]
    environment = os.environ | {"PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, timeout=limit, check=False)
        return done.returncode != 0
    except subprocess.TimeoutExpired:
        return True
    finally:
        path.write_text(kept, encoding="utf-8")


def main() -> None:
    """Draw, run, and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--tests", required=True, type=shlex.split, help="arguments of pytest")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--limit", type=float, default=300.0, help="seconds for each, after which it counts as killed")
    given = parser.parse_args()
    texts = {path.resolve(): path.read_text(encoding="utf-8") for path in given.files}
    every = [(path, text, at) for path, text in texts.items() for at in range(len([*places(ast.parse(text))]))]
    drawn = random.Random(given.seed).sample(every, min(given.count, len(every)))
    with tempfile.TemporaryDirectory() as home, ThreadPoolExecutor(given.jobs) as pool:

        def survivors(job: int) -> list[str]:
            folder = Path(shutil.copytree(ROOT, f"{home}/{job}", ignore=shutil.ignore_patterns(".git", ".venv")))
            found = []
            for path, text, at in drawn[job :: given.jobs]:
                changed, what = mutant(path, text, at)
                if not killed(folder / path.relative_to(ROOT), folder, changed, given.tests, given.limit):
                    print(f"survived: {what}", flush=True)
                    found.append(what)
            return found

        alive = sum(len(found) for found in pool.map(survivors, range(given.jobs)))
    print(f"{len(drawn)} of {len(every)} mutants tried, {len(drawn) - alive} killed, {alive} survived")


if __name__ == "__main__":
    main()
