"""Habits that cost a reader, counted in the package and held where well-read libraries have them.

The limits are those of scikit-learn, NumPyro, blackjax and ArviZ (15 to 29 of all habits together in a thousand lines
of code). The counts are signs; the aim is that a stranger understands a function at the first reading.
"""

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

import bayesnb

ROOT = Path(bayesnb.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))
# files that are still to be written anew; the list may only get shorter
NOT_YET = {
    "analysis/_predicted.py",
    "analysis/_wrapper.py",
    "analysis/averaging.py",
    "analysis/half_labelled.py",
    "analysis/posterior_check.py",
    "analysis/score_split.py",
    "core/special.py",
    "core/supports.py",
    "discriminative/columns.py",
    "discriminative/softmax_regression.py",
    "drop_in.py",
    "estimators/_input.py",
    "estimators/categorical.py",
    "families/full_gaussian.py",
    "inference/against_numpyro.py",
    "inference/chains.py",
    "inference/held_out.py",
    "inference/intervals.py",
    "inference/laws.py",
    "inference/posterior.py",
    "inference/tables.py",
    "plots/predictions.py",
    "reporting.py",
    "sums/sample.py",
    "tables/alike.py",
    "testing.py",
}
LIMITS = {"several at once": 1.0, "says nothing": 3.0, "all": 20.0}  # a thousand lines of code
MAX_LINES = 60  # of code in a function
SAYS_NOTHING = set("found own some at one held known left few asked said gone kept rest res ret val tmp lost".split())
Function = ast.FunctionDef | ast.AsyncFunctionDef


def functions(tree: ast.AST) -> Iterator[Function]:
    """All functions and methods, those inside of others too."""
    return (node for node in ast.walk(tree) if isinstance(node, Function))


def body(node: Function) -> list[ast.stmt]:
    """The statements, without the docstring."""
    return node.body[1:] if ast.get_docstring(node) is not None else node.body


def length(node: Function) -> int:
    """Lines of code, without the docstring."""
    statements = body(node)
    if not statements:
        return 0
    last = statements[-1].end_lineno
    assert last is not None
    return last - statements[0].lineno + 1


def sets_several_at_once(node: ast.AST) -> bool:
    """`a, b = f(x), g(y)`: unrelated work on one line."""
    if not (isinstance(node, ast.Assign) and isinstance(node.value, ast.Tuple)):
        return False
    work = (ast.Call, ast.BinOp, ast.IfExp, ast.Subscript)
    worked = [value for value in node.value.elts if any(isinstance(part, work) for part in ast.walk(value))]
    return isinstance(node.targets[0], ast.Tuple) and len(worked) > 1


def multiplies_text(node: ast.AST) -> bool:
    """`"text" * condition`: an `if` in disguise."""
    if not (isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult)):
        return False
    sides = (node.left, node.right)
    has_text = any(isinstance(side, ast.JoinedStr | ast.List) or _is_string(side) for side in sides)
    return has_text and any(isinstance(side, ast.Compare | ast.BoolOp) for side in sides)


def _is_string(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def habits(source: str) -> Counter[str]:
    """How often each habit occurs in a file."""
    tree = ast.parse(source)
    counts: Counter[str] = Counter()
    for node in ast.walk(tree):
        counts["several at once"] += sets_several_at_once(node)
        counts["walrus"] += isinstance(node, ast.NamedExpr)
        counts["text times a condition"] += multiplies_text(node)
    for function in functions(tree):
        names = {
            node.id for node in ast.walk(function) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        }
        counts["says nothing"] += len(names & SAYS_NOTHING)
        counts["many names"] += len(names) > 15
        counts["long"] += length(function) > 40
        counts["much inside"] += any(length(inner) > 8 for inner in functions(function) if inner is not function)
    return counts


def code_lines(source: str) -> int:
    """Lines that are neither blank, nor a comment, nor part of a docstring."""
    tree = ast.parse(source)
    described: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, Function | ast.ClassDef | ast.Module) and ast.get_docstring(node) is not None:
            docstring = node.body[0]
            assert docstring.end_lineno is not None
            described |= {*range(docstring.lineno, docstring.end_lineno + 1)}
    lines = enumerate(source.splitlines(), 1)
    return sum(bool(line.strip()) and line.strip()[0] != "#" and i not in described for i, line in lines)


def a_thousand_lines(sources: list[str]) -> dict[str, float]:
    """Each habit in a thousand lines of code, and all of them together."""
    counts: Counter[str] = Counter()
    for source in sources:
        counts += habits(source)
    scale = 1000 / sum(map(code_lines, sources))
    return {name: count * scale for name, count in counts.items()} | {"all": counts.total() * scale}


def test_the_package_has_the_habits_of_libraries_that_read_well() -> None:
    sources = [path.read_text("utf-8") for path in FILES if path.relative_to(ROOT).as_posix() not in NOT_YET]
    rates = a_thousand_lines(sources)
    assert {name: rates.get(name, 0.0) for name, limit in LIMITS.items() if rates.get(name, 0.0) > limit} == {}


def test_no_function_is_longer_than_a_screen() -> None:
    too_long = [
        f"{path.relative_to(ROOT)}:{function.name}"
        for path in FILES
        for function in functions(ast.parse(path.read_text("utf-8")))
        if length(function) > MAX_LINES and path.relative_to(ROOT).as_posix() not in NOT_YET
    ]
    assert too_long == []


def test_the_list_of_files_still_to_be_written_names_files_that_need_it() -> None:
    for name in sorted(NOT_YET):
        rates = a_thousand_lines([(ROOT / name).read_text("utf-8")])
        assert any(rates.get(habit, 0.0) > limit for habit, limit in LIMITS.items()), f"{name} is done"


@pytest.mark.parametrize(
    ("line", "habit"),
    [
        ("a, b = f(x), g(y)", "several at once"),
        ("if (n := f(x)):\n        pass", "walrus"),
        ("text = 'more' * (n > 1)", "text times a condition"),
        ("found = f(x)", "says nothing"),
        ("\n    ".join(f"a{i} = {i}" for i in range(16)), "many names"),
        ("\n    ".join(["pass"] * 41), "long"),
        ("def g():\n        " + "\n        ".join(["pass"] * 9), "much inside"),
    ],
)
def test_each_habit_is_noticed(line: str, habit: str) -> None:
    assert habits(f"def function(x, y):\n    {line}\n")[habit] == 1
    assert habits("def function(x):\n    n, c = x.shape\n    return 2 * n\n").total() == 0
