"""The pages of the classes, the links of the notebooks and the addresses of the sources."""

import json
import re
from pathlib import Path
from types import SimpleNamespace

import publishing
import pytest

ROOT = Path(__file__).parent.parent.parent
ADDRESS = "https://github.com/someone/bayesnb"


def test_each_class_of_the_reference_has_a_page_and_keeps_its_address() -> None:
    count = 0
    for path in sorted(ROOT.glob("docs/api/*.rst")):
        text = path.read_text("utf-8")
        listed = re.findall(r"^\.\. autoclass:: (\S+)$", text, re.MULTILINE)
        pages, group = publishing.class_pages(text), publishing.group_page(path.stem, text)
        first = {target.rpartition(".")[2]: target for target in reversed(listed)}
        assert all(f".. autoclass:: {target}\n" in pages[name] for name, target in first.items())
        assert all(f"   {path.stem}/{name.rpartition('.')[2]}\n" in group for name in listed)
        assert "autoclass" not in group and all(f'<span id="{target}"></span>' in group for target in listed)
        assert group.count("autofunction") == text.count("autofunction")
        count += len(listed)
    assert count > 40


@pytest.mark.parametrize("address", ["", ADDRESS])
def test_a_notebook_can_be_taken_away(address: str) -> None:
    (path,) = ROOT.glob("notebooks/01_*.ipynb")
    text = path.read_text("utf-8")
    before, after = json.loads(text)["cells"], json.loads(publishing.notebook_page(text, path.name, address))["cells"]
    lines = after[0]["source"].splitlines()
    assert lines[0] == "# Smoothing is a posterior" and f"<../../notebooks/{path.name}>" in lines[2]
    colab = f"https://colab.research.google.com/github/someone/bayesnb/blob/main/notebooks/{path.name}"
    assert (colab in lines[2]) == bool(address)
    assert after[1:] == before[1:] and lines[3:] == "".join(before[0]["source"]).splitlines()[1:]


def test_a_page_is_edited_where_it_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    pages = dict.fromkeys(("index", "guide/which_variant", "theory/index", "project/CHANGELOG"), ".md")
    pages |= dict.fromkeys(("api/estimators/GaussianNB", "api/command_line", "theory/one_dependence"), ".rst")
    for page, suffix in (pages | {"notebooks/04_text": ".ipynb"}).items():
        assert (ROOT / publishing.source_of(page, suffix)).exists(), page
    assert publishing.source_of("theory/gaussian", ".rst") == "bayesnb/families/gaussian.py"

    context = {"page_source_suffix": ".rst"}
    for address, found in (("", None), (ADDRESS, f"{ADDRESS}/edit/main/docs/api/estimators.rst")):
        monkeypatch.setattr(publishing, "repository", lambda address=address: address)
        publishing.edit_link(None, "api/estimators", "page.html", context, SimpleNamespace())
        assert context.get("theme_source_edit_link") == found
