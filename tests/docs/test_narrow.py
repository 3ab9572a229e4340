"""Pictures and cells that a phone cannot show as they are get a class for the style sheet."""

from importlib import import_module
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest
from docutils import nodes
from docutils.core import publish_doctree

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture
def narrow(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(ROOT / "docs" / "_ext")
    return import_module("narrow")


def test_wide_pictures_and_full_cells_are_marked(narrow: ModuleType) -> None:
    numbers = ["0.801 ± 0.010", "−0.04", "12 %", "∞ (0.19 %)", "+0.062 (+0.010 to +0.141)"]
    cells = [*numbers, "yes", "1 of 3", "word " * 10, "word"]
    three = "\n".join(f"   {' ' if k % 3 else '*'} - {cell}" for k, cell in enumerate(cells))
    pictures = ["figures/theory/gaussian.svg", "figures/gallery/simplex.svg", "figures/how_sure.png", "nowhere.png"]
    tables = [f".. list-table::\n\n{three}\n", f".. list-table::\n\n   * - yes\n     - {'word ' * 10}\n"]
    page = publish_doctree("\n\n".join([*(f".. image:: {path}" for path in pictures), *tables]))
    narrow.mark(SimpleNamespace(srcdir=ROOT / "docs"), page)
    assert [image["classes"] for image in page.findall(nodes.image)] == [["wide"], ["wide"], [], []]
    found = [cell["classes"] for cell in page.findall(nodes.entry)]
    assert found == [["number"]] * 5 + [[], [], ["long"], []] + [[], []]
