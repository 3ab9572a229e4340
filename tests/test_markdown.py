"""Every Python block of README.md and docs/ runs, in order, and what a session shows is what comes out."""

import doctest
import re
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent
FENCE = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FILES = [*ROOT.glob("README.md"), *sorted(ROOT.glob("docs/**/*.md"))]
PAGES = [path for path in FILES if FENCE.search(path.read_text("utf-8"))]
QUICK = (ROOT / "docs" / "start.md",)  # what a newcomer copies first; the others are slow tests


def run_block(source: str, namespace: dict[str, Any], path: str, line: int) -> None:
    """One block, a session (`>>>`) through doctest, anything else as a script; `line` counts the lines above it."""
    if not source.startswith(">>>"):
        exec(compile("\n" * line + source, path, "exec"), namespace)
        return
    session = doctest.DocTestParser().get_doctest(source, namespace, path, path, line)
    session.globs = namespace  # not a copy: the next block goes on from here
    report: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    assert runner.run(session, out=report.append, clear_globs=False).failed == 0, "".join(report)


@pytest.mark.parametrize(
    "path",
    [pytest.param(p, id=str(p.relative_to(ROOT)), marks=[pytest.mark.slow][: p not in QUICK]) for p in PAGES],
)
def test_code_of_a_page_runs(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text, namespace = path.read_text("utf-8"), {"__name__": "__main__"}
    for block in FENCE.finditer(text):
        run_block(block[1], namespace, str(path), text.count("\n", 0, block.start(1)))


def test_no_block_is_overlooked() -> None:
    assert ROOT / "README.md" in PAGES
    for path in FILES:
        text = path.read_text("utf-8")
        assert len(re.findall(r"(?mi)^\s*(?:```|~~~)\s*\{?(?:py|pycon|ipython)", text)) == len(FENCE.findall(text)), (
            path
        )


def test_a_wrong_block_is_caught() -> None:
    namespace: dict[str, Any] = {}
    run_block("a = 1\n", namespace, "page", 3)
    run_block(">>> a + 1\n2\n>>> b = a\n", namespace, "page", 5)
    assert namespace["b"] == 1
    with pytest.raises(AssertionError, match=r'File "page", line 10'):
        run_block(">>> a + 1\n3\n", namespace, "page", 9)
    with pytest.raises(ZeroDivisionError):
        run_block("1 / 0\n", namespace, "page", 9)
