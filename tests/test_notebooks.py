"""Every notebook of notebooks/ asks, shows its answer, asserts it, and runs afresh to its end."""

import ast
import re
import resource
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest

ROOT = Path(__file__).parent.parent
PATHS = sorted(ROOT.glob("notebooks/*.ipynb"))
SECONDS = 180  # of processor time, which other work on the machine does not change
LARGEST = 400_000  # bytes: what a page loads, and what the history of the repository keeps of every version
NUMBER = re.compile(r"[-+−]?\d[\d.,]*(e[-+]?\d+)?")
OWN_FILES = re.compile(r"""(?:^|[\s'"(=\[])(?:/[\w.-]+/|[A-Za-z]:\\|~/|file:)""", re.MULTILINE)

each_notebook = pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)


def read(path: Path) -> Any:
    return nbformat.read(path, as_version=4)


def code_cells(notebook: Any) -> list[Any]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def outputs(notebook: Any) -> list[Any]:
    return [output for cell in code_cells(notebook) for output in cell.outputs]


def texts(notebook: Any) -> Iterator[str]:
    """All that is written in a notebook: its cells, and what they put out as text."""
    yield from (cell.source for cell in notebook.cells)
    for output in outputs(notebook):
        yield output.get("text", "")
        yield from (str(shown) for kind, shown in output.get("data", {}).items() if kind.startswith("text/"))


def fault(notebook: Any) -> str:
    """What is wrong with the outputs that a notebook holds; empty if nothing is."""
    cells = code_cells(notebook)
    if [cell.execution_count for cell in cells] != list(range(1, len(cells) + 1)):
        return "not run once from top to bottom"
    for output in outputs(notebook):
        if output.output_type == "error" or output.get("name") == "stderr":
            return f"an error or a warning: {output}"
    for text in texts(notebook):
        if found := OWN_FILES.search(text):
            return f"a path of one machine: {found[0]}"
    return ""


def printed(notebook: Any) -> list[str]:
    """What the cells print, without its numbers, the last digits of which are the machine's."""
    lines = []
    for cell in code_cells(notebook):
        text = "".join(output.text for output in cell.outputs if output.get("name") == "stdout")
        lines.append(" ".join(NUMBER.sub("#", text).split()))
    return lines


def processor_time() -> float:
    """Seconds of processor time of the kernels that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@each_notebook
def test_asks_first_and_asserts_last(path: Path) -> None:
    notebook = read(path)
    first, second, last = notebook.cells[0], notebook.cells[1], notebook.cells[-1]
    assert first.cell_type == "markdown" and first.source.startswith("# ") and "?" in first.source
    assert sum(re.match(r"# ", cell.source) is not None for cell in notebook.cells if cell.cell_type == "markdown") == 1
    assert any("image/png" in output.get("data", {}) for output in second.outputs), "the answer comes with its figure"
    assert last.cell_type == "code"
    assert any(isinstance(node, ast.Assert) for node in ast.walk(ast.parse(last.source)))


@each_notebook
def test_is_committed_with_what_it_put_out(path: Path) -> None:
    notebook = read(path)
    nbformat.validate(notebook)
    assert not fault(notebook)
    assert path.stat().st_size < LARGEST


@pytest.mark.slow
@each_notebook
def test_runs_afresh(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from nbclient import NotebookClient

    monkeypatch.setenv("PYTHONPATH", str(ROOT), prepend=":")
    monkeypatch.delenv("MPLBACKEND", raising=False)  # figures are part of the outputs
    before, notebook, start = read(path), read(path), processor_time()
    client = NotebookClient(notebook, timeout=600, record_timing=False, resources={"metadata": {"path": tmp_path}})
    client.execute()
    assert processor_time() - start < SECONDS
    assert not fault(notebook)
    assert printed(notebook) == printed(before), "the outputs committed are those of other code"


def test_a_fault_is_found() -> None:
    cell = nbformat.v4.new_code_cell("print(1)", execution_count=1)
    cell.outputs = [nbformat.v4.new_output("stream", text="1\n")]
    assert not fault(nbformat.v4.new_notebook(cells=[cell]))
    for change, found in (
        ({"execution_count": None}, "not run"),
        ({"outputs": [nbformat.v4.new_output("stream", name="stderr", text="slow")]}, "a warning"),
        ({"outputs": [nbformat.v4.new_output("stream", text="in /home/me/x.csv")]}, "a path"),
    ):
        assert found in fault(nbformat.v4.new_notebook(cells=[nbformat.from_dict({**cell, **change})]))
