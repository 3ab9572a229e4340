"""Every public name has an example, and the examples of all docstrings run."""

import doctest
import importlib
import inspect
import re
from pathlib import Path
from typing import Any

import pytest

import bayesnb
from bayesnb import estimators, plots

OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
PUBLIC = {name: value for name in bayesnb.__all__ if not inspect.ismodule(value := getattr(bayesnb, name))}
PUBLIC |= {
    f"plots.{name}": getattr(plots, name) for name in sorted(vars(plots)) if inspect.isfunction(getattr(plots, name))
}
ROOT = Path(bayesnb.__file__).parent
MODULES = [
    ".".join(("bayesnb", *path.relative_to(ROOT).with_suffix("").parts)).removesuffix(".__init__")
    for path in sorted(ROOT.rglob("*.py"))
    if ">>>" in path.read_text("utf-8")
]


@pytest.mark.parametrize("name", PUBLIC)
def test_a_public_name_has_an_example(name: str) -> None:
    said = inspect.getdoc(PUBLIC[name]) or ""
    assert ">>>" in said or said.startswith("Deprecated")


@pytest.mark.parametrize("name", estimators.__all__)
def test_help_describes_every_parameter(name: str) -> None:
    """Entries that estimators share are written once, in `_documented.py`, and shown in full."""
    kind = getattr(estimators, name)
    said = inspect.getdoc(kind) or ""
    assert not re.search(r"^ *\{\w+\}$", said, re.MULTILINE)
    entries = re.findall(r"^([\w, ]+) : ", said, re.MULTILINE)
    described = [parameter for names in entries for parameter in names.split(", ")]
    for parameter in inspect.signature(kind).parameters:
        assert described.count(parameter) == 1, parameter


@pytest.mark.slow
@pytest.mark.parametrize("name", MODULES)
def test_the_examples_run(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    module: Any = importlib.import_module(name)
    report: list[str] = []
    runner = doctest.DocTestRunner(optionflags=OPTIONS)
    for example in doctest.DocTestFinder(exclude_empty=True).find(module):
        runner.run(example, out=report.append)
    assert runner.failures == 0, "".join(report)
