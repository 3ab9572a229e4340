"""The pages that are made, not written: theory from the source files, the command line from its parser, and copies."""

import argparse
import ast
import os
import re
from dataclasses import is_dataclass
from functools import cache
from importlib import import_module
from inspect import cleandoc, getsource, isfunction
from pathlib import Path
from textwrap import dedent, indent
from typing import Any

from docstrings import escaped, inline, to_rst
from formulas import typeset

ROOT = Path(__file__).parent.parent.parent
FOUNDATIONS = [  # what the variants are written in, and the models that join them: pages of theory after the variants
    "bayesnb/families/base.py",
    "bayesnb/families/conjugate.py",
    "bayesnb/families/normals.py",
    "bayesnb/families/classes.py",
    "bayesnb/families/one_class.py",
    "bayesnb/models/naive_bayes.py",
    "bayesnb/models/one_dependence.py",
    "bayesnb/sums/statistics.py",
]
COPIED = {"notebooks/*.ipynb": "notebooks", "CHANGELOG.md": "project", "CONTRIBUTING.md": "project"}
PLACES = {
    "README.md": "/index.md",
    "bayesnb/cli.py": "/api/command_line.rst",
    "notebooks": "/notebooks.md",
    "bayesnb/families": "/theory/index.md",
    "docs/theory/lectures": "/theory/index.md",
}
GLANCE = {  # what the head of a family's page shows, and the methods one of which has the docstring that says it
    "Update": ("update", "updated", "added"),
    "Evidence": ("log_marginal", "gain"),
    "Predictive": ("predictive", "log_predictive", "cell_predictive"),
    "Mean": ("mean",),
    "Mode": ("mode",),
    "Maximum likelihood": ("mle",),
}
_TAKEN = re.compile(r'^\[([\w ]+)\]\(\S+\.py "(\w+)\.?(\w*)"\)$', re.MULTILINE)  # a link where nothing is built
_NAMED = re.compile(
    r"""^[ ]*(`{3,}|:{3,}|~{3,})[^\n]*\n[\s\S]*?^[ ]*\1[^\n]*$ | ^\#+[ ].*$ | !?\[[^\]]*\]\([^)]*\) | <[^>\n]+>
    | (?<!`)`(?P<name>[^`\n]+)`(?!`)""",
    re.MULTILINE | re.VERBOSE,
)
_LINK = re.compile(r"\]\((?!\w+:|#|/)([^)\s#]+)(#[^)\s]*)?\)")


# --- theory ----------------------------------------------------------------------------------------------------------


def theory_page(source: str, file: str, lecture: str = "") -> str:
    """A source file as a page of theory: what is said and the code that computes it, side by side.

    A lecture, where there is one, comes first: the name of its file, as the page finds it.
    """
    module = ast.parse(source)
    title, lead, rest = _opening(source)
    parts = [_heading(title, "="), inline(f"{lead} This page is the file `{file}`."), to_rst(rest)]
    if lecture:
        parts[1] = inline(f"{lead} First comes a lecture, then the file `{file}`.")
        parts.insert(2, f".. include:: {lecture}\n   :parser: myst_parser.sphinx_\n\n{_heading('The file', '-')}")
    for node in module.body:
        if isinstance(node, ast.ClassDef):
            parts.append(_class(node, source, file))
        elif isinstance(node, ast.FunctionDef):
            parts.append(_pair(node, source, "-"))
    return "\n\n".join(part for part in parts if part) + "\n"


def lecture(text: str, stem: str) -> str:
    """A lecture with what it takes from the file of its family: formulas of docstrings, and the model in NumPyro.

    So a formula is written once, beside the code that computes it.
    """
    module = import_module(f"bayesnb.families.{stem}")

    def taken(match: re.Match[str]) -> str:
        title, name, method = match.groups()
        family = getattr(module, name)
        if method:
            said = to_rst(_said(family, method))
            rst = f".. container:: result\n\n   **{title}.** {said}"
        else:
            drawn = cleandoc(module.__doc__).split("\n\n")[1]
            rst = _columns(to_rst(drawn), _code(_model(family)), "glance")
        return f"````{{eval-rst}}\n{rst}\n````"

    return _TAKEN.sub(taken, text)


def theory_table() -> str:
    """The contents of the theory, in Markdown: what each file is about."""
    lines = []
    for heading, paths in (("The variants", variants()), ("What they are written in", foundations())):
        lines += ["", f"### {heading}", "", "| page | about |", "|---|---|"]
        for path in paths:
            title, lead, _ = _opening(path.read_text("utf-8"))
            lines.append(f"| [{title}](/theory/{path.stem}.rst) | {lead} |")
    return "\n".join([*lines, ""])


def theory_sources() -> list[Path]:
    """The files that have a page of theory, in the order of the pages."""
    return [*variants(), *foundations()]


@cache
def variants() -> list[Path]:
    """The files of the likelihoods; every link on every page is compared with them."""
    return [path for path in sorted(ROOT.glob("bayesnb/families/[a-z]*.py")) if path not in foundations()]


@cache
def foundations() -> list[Path]:
    """The files of `FOUNDATIONS`."""
    return [ROOT / name for name in FOUNDATIONS]


def _opening(source: str) -> tuple[str, str, str]:
    """The title and the lead of a module docstring that begins `Name: what it is.`, and the paragraphs after it."""
    docstring = ast.get_docstring(ast.parse(source))
    assert docstring is not None
    first, _, rest = docstring.partition("\n\n")
    title, _, lead = first.rstrip(".").partition(": ")
    return title, f"{lead[:1].upper()}{lead[1:]}.", rest


def _said(family: type, method: str) -> str:
    """A formula as the class says it under "Formulas", else as the docstring of a method does."""
    _, _, formulas = cleandoc(family.__doc__ or "").partition("Formulas\n--------\n")
    known = dict(line.split(" : ", 1) for line in formulas.splitlines() if " : " in line)
    return f"{known[method]}." if method in known else cleandoc(getattr(family, method).__doc__ or "").split("\n\n")[0]


def _model(family: type) -> str:
    """The NumPyro statements of a family: its `model`, or the prior and the likelihood that a base puts in plates."""
    parts = ["prior", "likelihood"] if "model" not in vars(family) and hasattr(family, "likelihood") else ["model"]
    sources = [dedent(getsource(getattr(family, name))) for name in parts]
    return "\n".join(_source(ast.parse(source).body[0], source) for source in sources)


def _class(node: ast.ClassDef, source: str, file: str) -> str:
    """A class: its docstring, its formulas beside the NumPyro model, its fields, then one method after the other."""
    methods = {part.name: part for part in node.body if isinstance(part, ast.FunctionDef)}
    parts = [_heading(node.name, "-"), to_rst(ast.get_docstring(node) or "")]
    is_page = "model" in methods and not any("abstract" in ast.unparse(m) for m in methods["model"].decorator_list)
    module = file.removesuffix(".py").replace("/", ".")
    family = getattr(import_module(module), node.name)
    inherits = is_dataclass(family) and hasattr(family, "model")  # such as a covariance for all classes
    if is_page or inherits or ("likelihood" in methods and node.name != "Conjugate"):
        said = []
        for name, known in GLANCE.items():
            own = min(known, key=lambda method: method not in methods)  # what the page says, else what a base does
            if isfunction(getattr(family, own, None)):
                formula = to_rst(_said(family, own))
                said.append(f":{name}: " + indent(formula, "   ").strip())
        parts.append(_columns("\n".join(said), _code(_model(family)), "glance"))
    first = min(part.lineno for part in (node, *node.decorator_list))
    head = source.splitlines()[first - 1 : node.body[0].lineno - 1]
    fields = [indent(_source(part, source), "    ") for part in node.body[1:] if not isinstance(part, ast.FunctionDef)]
    parts.append(_code("\n".join([*head, *fields])))
    return "\n\n".join([*parts, *(_pair(method, source, "~") for method in methods.values())])


def _pair(node: ast.FunctionDef, source: str, underline: str) -> str:
    """A function: its name, and its docstring beside its code."""
    return f"{_heading(node.name, underline)}\n\n" + _columns(to_rst(_docstring(node)), _code(_source(node, source)))


def _docstring(node: ast.FunctionDef) -> str:
    return ast.get_docstring(node) or ""


def _source(node: ast.stmt, source: str) -> str:
    """The lines of a statement, without its docstring."""
    first = min(part.lineno for part in (node, *getattr(node, "decorator_list", [])))
    lines = source.splitlines()[first - 1 : node.end_lineno]
    if isinstance(node, ast.FunctionDef) and ast.get_docstring(node):
        start, end = node.body[0].lineno, node.body[0].end_lineno
        assert end is not None
        del lines[start - first : end - first + 1]
    return dedent("\n".join(lines)).strip("\n")


def _columns(said: str, code: str, *kind: str) -> str:
    """Two columns where there is room for them, one above the other elsewhere."""
    inner = f".. container:: said\n\n{indent(said or '..', '   ')}\n\n.. container:: code\n\n{indent(code, '   ')}"
    return f".. container:: {' '.join(('columns', *kind))}\n\n{indent(inner, '   ')}"


def _code(source: str) -> str:
    return f".. code-block:: python\n\n{indent(source, '   ')}"


def _heading(title: str, underline: str) -> str:
    return f"{escaped(title)}\n{underline * (2 * len(title))}"


# --- the command line ------------------------------------------------------------------------------------------------


def command_line_page(parser: argparse.ArgumentParser) -> str:
    """What `--help` prints, for the command and for each of its own."""
    (commands,) = (action for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    parts = [_heading("Command line", "="), _help(parser)]
    for name, one in commands.choices.items():
        parts += [_heading(f"{parser.prog} {name}", "-"), _help(one)]
    return "\n\n".join(parts) + "\n"


def _help(parser: argparse.ArgumentParser) -> str:
    parser.formatter_class = lambda prog: argparse.HelpFormatter(prog, width=80)  # not the width of some terminal
    return f".. code-block:: text\n\n{indent(parser.format_help(), '   ')}"


# --- the gallery -----------------------------------------------------------------------------------------------------


def gallery(text: str) -> str:
    """The page of the pictures, with the code that drew each below it."""
    source = (ROOT / "docs" / "figures" / "gallery.py").read_text("utf-8")
    drawn = {node.name: node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)}

    def with_code(match: re.Match[str]) -> str:
        code = _source(drawn[match[1]], source)
        return f"{match[0]}\n\n<details><summary>Code</summary>\n\n```python\n{code}\n```\n\n</details>"

    return re.sub(r"!\[[^\]]+\]\(figures/gallery/(\w+)\.\w+\)", with_code, text)


def live_page(app: Any, failure: Exception | None) -> None:
    """In the live page, which is copied, the links to pages of a clone lead to the pages built."""
    for path in Path(app.srcdir).glob("*.html"):
        if (copy := Path(app.outdir) / path.name).exists():
            copy.write_text(re.sub(r'(href="[\w/]+)\.md"', r'\1.html"', path.read_text("utf-8")), "utf-8")


# --- what only the built pages have ----------------------------------------------------------------------------------


def built(app: Any, docname: str, content: list[str]) -> None:
    """The navigation of `conf.py`, links from the names of classes, the code of the gallery, the table of the theory.

    A place that shows the files unbuilt knows none of these, so the pages are written without them.
    """
    if docname == "gallery":
        content[0] = gallery(content[0])
    if docname == "theory/index":
        content[0] += theory_table()
    if Path(app.env.doc2path(docname)).suffix == ".md":
        content[0] = with_names(content[0]) + navigation(app.config.navigation.get(docname, {}))


def navigation(groups: dict[str, list[str]]) -> str:
    """Hidden trees of pages, by caption; a pattern stands for the files that it matches below docs/."""
    docs, text = ROOT / "docs", ""
    for caption, entries in groups.items():
        options = f":hidden:\n:caption: {caption}" if caption else ":hidden:"
        lines = []
        for entry in entries:
            if entry == "theory/*.rst":
                lines += [f"{title_of(path)} </theory/{path.stem}>" for path in theory_sources()]
            elif "*" in entry:
                lines += [f"/{name}" for name in _matching(docs, entry)]
            else:
                lines.append(f"/{entry}")
        text += "\n".join(["", "", f"```{{toctree}}\n{options}\n", *lines, "```", ""])
    return text


def title_of(path: Path) -> str:
    """The title of a source file's page of theory."""
    title, _, _ = _opening(path.read_text("utf-8"))
    return title


def _matching(docs: Path, pattern: str) -> list[str]:
    return [path.relative_to(docs).with_suffix("").as_posix() for path in sorted(docs.glob(pattern))]


def with_names(text: str) -> str:
    """Markdown in which the first mention of each public name leads to its page of the reference."""
    import bayesnb

    seen: set[str] = set()

    def link(match: re.Match[str]) -> str:
        name = match["name"]
        if name is None or name in seen or name not in bayesnb.__all__ or name.islower():
            return match[0]
        seen.add(name)
        return f"{{py:obj}}`~bayesnb.{name}`"

    return _NAMED.sub(link, text)


# --- links -----------------------------------------------------------------------------------------------------------


def links(app: Any, docname: str, content: list[str]) -> None:
    """The links of a page, see `linked`."""
    content[0] = linked(content[0], docname.rpartition("/")[0])


def linked(text: str, parent: str) -> str:
    """Make links between files of the repository, which work where it is browsed, work in the pages built as well."""
    folder = {"notebooks": ROOT / "notebooks", "project": ROOT}.get(parent, ROOT / "docs" / parent)

    def link(match: re.Match[str]) -> str:
        path = Path(os.path.normpath(folder / match[1]))
        if not path.exists() or not path.is_relative_to(ROOT):
            return match[0]
        target = f"{_address(path, parent)}{match[2] or ''}"
        return f"]({re.sub('^page:(?=.*#)', 'place:', target)})"

    return _LINK.sub(link, text).replace("\n\n```\n", "\n```\n")  # a session ends with a blank line


def _address(path: Path, parent: str) -> str:
    """Where a file of the repository is found by a page in a folder of the documentation."""
    inside = path.relative_to(ROOT)
    for pattern, folder in COPIED.items():
        if inside.match(pattern):
            return f"/{folder}/{path.name}"
    if path in theory_sources():
        return f"/theory/{path.stem}.rst"
    if inside.as_posix() in PLACES:
        return PLACES[inside.as_posix()]
    if inside.parts[0] != "docs":
        return os.path.relpath(path, ROOT / "docs" / parent)
    if path.suffix == ".html":  # copied as it is: an address, not a file to download
        return f"page:{os.path.relpath(path, ROOT / 'docs' / parent)}"
    return f"/{path.relative_to(ROOT / 'docs').as_posix()}"


# --- formulas --------------------------------------------------------------------------------------------------------

_BAR = "\1"  # between the cells of a table, where it is no condition
_AS_THEY_ARE = re.compile(
    r"""(
      ^[ ]*(`{3,}|:{3,})[^\n]*\n[\s\S]*?^[ ]*\2[^\n]*$   # a block of code or a directive
    | (`+)[^`][\s\S]*?\3(?!`)                            # `code`
    | \$\$[\s\S]*?\$\$ | \$[^$\n]+\$ | ^\#+[ ].*$       # LaTeX, a heading
    | !?\[[^\]]*\]\([^)\s]*\) | https?:\S+               # a link
    | <[^>\n]+>                                          # HTML
    )""",
    re.MULTILINE | re.VERBOSE,
)


def formulas(app: Any, docname: str, content: list[str]) -> None:
    """Formulas in the prose of a Markdown page as LaTeX."""
    if Path(app.env.doc2path(docname)).suffix == ".md":
        content[0] = with_formulas(content[0])


def with_formulas(text: str) -> str:
    """Markdown with the formulas of its prose as LaTeX."""
    text = re.sub(r"^ *\|.*$", lambda row: row[0].replace("|", _BAR), text, flags=re.MULTILINE)
    step = _AS_THEY_ARE.groups + 1
    return "".join(
        typeset(piece, lambda latex: f"${latex}$") if k % step == 0 else piece if k % step == 1 else ""
        for k, piece in enumerate(_AS_THEY_ARE.split(text))
        if piece is not None
    ).replace(_BAR, "|")


# --- all of it -------------------------------------------------------------------------------------------------------


def write(app: Any) -> None:
    """Write the pages that are made into the folders where Sphinx looks for them."""
    from bayesnb.cli import make_parser

    docs = Path(app.srcdir)
    copied = [(folder, path) for pattern, folder in COPIED.items() for path in sorted(ROOT.glob(pattern))]
    made = {docs / "api" / "command_line.rst": command_line_page(make_parser())}
    lectures = docs / "theory" / "lectures"
    for path in theory_sources():
        told = lectures / f"{path.stem}.md"
        included = f"lectures/{path.stem}.txt" if told.exists() else ""
        page = theory_page(path.read_text("utf-8"), path.relative_to(ROOT).as_posix(), included)
        made[docs / "theory" / f"{path.stem}.rst"] = page
        if included:
            text = linked(told.read_text("utf-8"), "theory/lectures")
            made[told.with_suffix(".txt")] = with_formulas(lecture(text, path.stem))
    for folder, path in copied:
        made[docs / folder / path.name] = path.read_text("utf-8")
    for path in {*docs.glob("theory/*.rst"), *docs.glob("notebooks/*.ipynb")} - made.keys():
        path.unlink()
    for path, text in made.items():
        if not path.exists() or path.read_text("utf-8") != text:  # what has not changed is not built again
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, "utf-8")
