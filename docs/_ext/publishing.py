"""What readers of documentation expect: a page for each class, links to the source of a page, notebooks to take away.

The address of the repository is the one that the metadata name (`[project.urls]`, `Repository`). Without it there are
no links to edit a page and none to Colab.
"""

import inspect
import json
import re
import tomllib
from importlib import import_module
from pathlib import Path
from typing import Any

from docstrings import inline

ROOT = Path(__file__).parent.parent.parent
SHARED = "bayesnb.estimators._base.AbstractNB"  # whose page has the methods of all estimators
ALL = "bayesnb.estimators._predicting.AbstractBayes"  # of which `OneDependenceNB` is one too, which is not naive
_CLASS = re.compile(r"^\.\. autoclass:: (bayesnb\.\S+)\n((?: +.*\n|\n)*)", re.MULTILINE)


def repository() -> str:
    """The address of the public repository, or an empty string."""
    urls = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"].get("urls", {})
    return str(urls.get("Repository", "")).rstrip("/")


# --- a page for each class -------------------------------------------------------------------------------------------


def class_pages(group: str) -> dict[str, str]:
    """The pages of the classes that a page of the reference lists, by name; the first of those with one name."""
    pages: dict[str, str] = {}
    for target, block in _CLASS.findall(group):
        pages.setdefault(target.rpartition(".")[2], _class_page(target, block))
    return pages


def group_page(name: str, group: str) -> str:
    """A page of the reference, where each class is a line that leads to its own page.

    The line keeps the anchor of the class, so addresses such as `estimators.html#bayesnb.GaussianNB` still lead there.
    A class that is listed under a second address has a second line.
    """
    if not _CLASS.search(group):
        return group
    text = _CLASS.sub(lambda found: _line(name, found[1]), group)
    entries = ["", "", ".. toctree::", "   :hidden:", "", *(f"   {name}/{one}" for one in class_pages(group))]
    role = ".. role:: html-anchor(raw)\n   :format: html\n\n"
    return role + text + "\n".join(entries) + "\n"


def _class_page(target: str, block: str) -> str:
    name = target.rpartition(".")[2]
    page = f"{name}\n{'=' * len(name)}\n\n.. autoclass:: {target}\n{block}"
    found = _object(target)
    if target != SHARED and issubclass(found, _object(ALL)):
        shared = [
            f":meth:`~{SHARED}.{method}`"
            for method, value in inspect.getmembers(_object(SHARED), inspect.isfunction)
            if not method.startswith("_") and value.__module__.startswith("bayesnb")
            if hasattr(found, method) and method not in vars(found)
        ]
        page += f"\n\n.. rubric:: Methods of all estimators\n\n{', '.join(shared)}.\n"
    return page


def _line(group: str, target: str) -> str:
    """A class in one line: anchor, link and first sentence."""
    name = target.rpartition(".")[2]
    said = inline((inspect.getdoc(_object(target)) or "").split("\n\n")[0])
    return f'\n:html-anchor:`<span id="{target}"></span>`\\ :doc:`{name} <{group}/{name}>`\n   {said}\n\n'


def _object(target: str) -> Any:
    module, _, name = target.rpartition(".")
    return getattr(import_module(module), name)


# --- notebooks to take away ------------------------------------------------------------------------------------------


def notebook_page(text: str, file: str, address: str) -> str:
    """A notebook as a page: below its title stand links to download it and to open it in Colab."""
    notebook = json.loads(text)
    links = [f"{{download}}`Download this notebook <../../notebooks/{file}>`"]
    if address.startswith("https://github.com/"):
        path = address.removeprefix("https://github.com/")
        links.append(f"[Open in Colab](https://colab.research.google.com/github/{path}/blob/main/notebooks/{file})")
    first = notebook["cells"][0]
    title, _, rest = "".join(first["source"]).partition("\n")
    first["source"] = f"{title}\n\n{' · '.join(links)}\n{rest}"
    return json.dumps(notebook, ensure_ascii=False, indent=1)


# --- links to the source ---------------------------------------------------------------------------------------------


def source_of(page: str, suffix: str) -> str:
    """The file of the repository that a page is written in, for pages that are made too."""
    folder, _, name = page.rpartition("/")
    if folder == "notebooks":
        return f"notebooks/{name}.ipynb"
    if folder == "project":
        return f"{name}.md"
    if page == "api/command_line":
        return "bayesnb/cli.py"
    if folder.startswith("api/"):
        return f"docs/{folder}.rst"
    if folder == "theory" and suffix == ".rst":
        for room in ("families", "models", "sums"):
            source = f"bayesnb/{room}/{name}.py"
            if (ROOT / source).exists():
                return source
    return f"docs/{page}{suffix}"


def edit_link(app: Any, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """The address where a page can be edited, for the theme."""
    if (address := repository()) and doctree is not None:
        context["theme_source_edit_link"] = f"{address}/edit/main/{source_of(page, context['page_source_suffix'])}"


# --- all of it -------------------------------------------------------------------------------------------------------


def write(app: Any) -> None:
    """Write the pages of the classes into the folders where Sphinx looks for them."""
    docs = Path(app.srcdir)
    made = {
        docs / "api" / path.stem / f"{name}.rst": page
        for path in sorted(docs.glob("api/*.rst"))
        for name, page in class_pages(path.read_text("utf-8")).items()
    }
    for path in set(docs.glob("api/*/*.rst")) - made.keys():
        path.unlink()
    for path, text in made.items():
        if not path.exists() or path.read_text("utf-8") != text:  # what has not changed is not built again
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, "utf-8")


def reference(app: Any, docname: str, content: list[str]) -> None:
    """A page of the reference as `group_page` makes it; a notebook with its links."""
    folder, _, name = docname.rpartition("/")
    if folder == "api":
        content[0] = group_page(name, content[0])
    if folder == "notebooks":
        content[0] = notebook_page(content[0], f"{name}.ipynb", repository())


def setup(app: Any) -> dict[str, bool]:
    """Connect all of it to the build."""
    app.connect("builder-inited", write)
    app.connect("source-read", reference)
    app.connect("html-page-context", edit_link)
    return {"parallel_read_safe": True}
