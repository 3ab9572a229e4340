"""The documentation builds without a warning, its links lead somewhere, and pages made from source are all of it."""

import ast
import re
import subprocess
import sys
from base64 import b64decode
from collections.abc import Iterator
from fnmatch import fnmatch
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pages
import pytest

import bayesnb

from .readability import written

ROOT = Path(__file__).parent.parent.parent
NAMES = {*bayesnb.__all__, *(f"families.{name}" for name in bayesnb.families.__all__)}
FAMILIES = sorted(path for path in ROOT.glob("bayesnb/families/*.py") if path.stem not in ("__init__", "_page"))


class Page(HTMLParser):
    """What a page of HTML refers to, and what can be referred to in it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.targets: list[str] = []
        self.anchors: list[str] = []
        self.mute: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = dict(attributes)
        self.anchors += {value for name in ("id", "name") if (value := given.get(name))}
        refers = ("href", "src", "data", "poster", "xlink:href")
        self.targets += [value for name in refers if (value := given.get(name))]
        if tag == "img" and not given.get("alt"):
            self.mute.append(given.get("src") or "")


def faults(folder: Path) -> Iterator[str]:
    """What is wrong with the pages in a folder: links, anchors and pictures that are not there, pictures without words.

    Addresses on other machines are not looked up.
    """
    known = {path.resolve(): Page(path.read_text("utf-8")) for path in sorted(folder.rglob("*.html"))}
    for path, page in known.items():
        name = path.relative_to(folder.resolve())
        yield from (f"{name}: the picture {source} has no alternative text" for source in page.mute)
        for target in page.targets:
            link = urlsplit(target)
            if link.scheme or link.netloc:
                continue
            file = (path.parent / unquote(link.path)).resolve() if link.path else path
            file = file / "index.html" if file.is_dir() else file
            if not file.is_relative_to(folder.resolve()) or not file.exists():
                yield f"{name}: {target} is not there"
            elif name.parts[0] == "_modules":  # viewcode guesses one address for all names of a module
                continue
            elif link.fragment and file in known and unquote(link.fragment) not in known[file].anchors:
                yield f"{name}: {target} has no such anchor"


def test_a_broken_link_is_found(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "b.html").write_text('<h1 id="there"><a href="../a.html?v=1#top">a</a>')
    good = '<p id="top"><a href="sub/b.html#there"></a><a href="https://nowhere.invalid"></a><img src="p.png" alt="p">'
    (tmp_path / "p.png").touch()
    (tmp_path / "a.html").write_text(good)
    assert list(faults(tmp_path)) == []
    wrong = {'<a href="sub/c.html">': "sub/c.html is not there", '<a href="../out.html">': "out.html is not there"}
    wrong |= {'<a href="sub/b.html#here">': "#here has no such anchor", '<img src="p.png">': "has no alternative text"}
    for bad, word in wrong.items():
        (tmp_path / "a.html").write_text(good + bad)
        (fault,) = faults(tmp_path)
        assert word in fault


def unbuilt(root: Path) -> Iterator[str]:
    """What a reader of the files themselves stumbles over.

    These are links to what is not there or to what only a build makes, missing anchors, and markup of Sphinx.
    """
    ignored = [line for line in (root / ".gitignore").read_text("utf-8").splitlines() if line and line[0] != "#"]

    def made(path: Path) -> bool:
        name = path.relative_to(root).as_posix()
        return any(fnmatch(name, f"{line}*" if line.endswith("/") else line) for line in ignored)

    def prose(path: Path) -> str:
        text = written(path)
        return re.sub(r"^(`{3,})(?!\{).*?^\1 *$|<script.*?</script>", "", text, flags=re.MULTILINE | re.DOTALL)

    def anchors(path: Path) -> set[str]:
        heads = re.findall(r"^#+ (.*)$", prose(path), re.MULTILINE)
        return {re.sub(r"[^\w\- ]", "", re.sub(r"\]\([^)]*\)", "", head.lower())).replace(" ", "-") for head in heads}

    for pattern in ("*.md", ".github/**/*.md", "docs/**/*.md", "docs/*.html", "notebooks/*.ipynb"):
        for path in (path for path in sorted(root.glob(pattern)) if not made(path)):
            text, name = prose(path), path.relative_to(root)
            found = re.findall(r'\]\((?!\w+:)([^)\s]+)(?: "[^"]*")?\)|(?:href|src)="(?!\w+:|#)([^"]+)"', text)
            for link in ("".join(groups) for groups in found):
                file, _, anchor = link.partition("#")
                target = (path.parent / file).resolve() if file else path
                if not target.exists() or made(target):
                    yield f"{name}: {link} is not there"
                elif anchor and target.suffix == ".md" and anchor not in anchors(target):
                    yield f"{name}: {link} has no such anchor"
            markup = re.findall(r"^ *[`:]{3,}\{.*|(?<!\$)\{[a-z:-]+\}`[^`\n]+`", text, re.MULTILINE)
            yield from (f"{name}: {one}" for one in markup)


def test_every_page_can_be_read_unbuilt() -> None:
    assert not (found := list(unbuilt(ROOT))), "\n".join(found)


def test_what_cannot_be_read_unbuilt_is_found(tmp_path: Path) -> None:
    (tmp_path / "docs" / "made").mkdir(parents=True)
    (tmp_path / ".gitignore").write_text("# made\ndocs/made/\n")
    (tmp_path / "docs" / "made" / "b.md").touch()
    good = "# A title\n\n[there](#a-title) [self](a.md) [out](https://nowhere.invalid)\n"
    (tmp_path / "docs" / "a.md").write_text(good)
    assert list(unbuilt(tmp_path)) == []
    for bad in ("[b](made/b.md)", "[c](c.md)", "[x](a.md#b)", "```{toctree}\n```", "See {class}`~x.Y`."):
        (tmp_path / "docs" / "a.md").write_text(bad + "\n")
        assert len(list(unbuilt(tmp_path))) == 1, bad


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The pages, built from nothing, warnings being errors."""
    folder = tmp_path_factory.mktemp("docs")
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html", "-d", str(folder / "doctrees")]
    run = subprocess.run([*command, str(ROOT / "docs"), str(folder / "html")], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return folder / "html"


@pytest.mark.slow
def test_every_link_leads_somewhere(built: Path) -> None:
    assert not (found := list(faults(built))), "\n".join(found)


@pytest.mark.slow
def test_every_page_of_theory_and_every_notebook_is_built(built: Path) -> None:
    found = {path.stem for folder in ("theory", "notebooks") for path in built.glob(f"{folder}/*.html")}
    assert {path.stem for path in (*FAMILIES, *ROOT.glob("notebooks/*.ipynb"))} <= found


WIDE = """  // the page, paragraphs whose last line is cut off, and the handout where it should show all its columns
    const cut = e => e.scrollHeight > e.clientHeight + 2 && getComputedStyle(e).overflowY === 'hidden';
    const beyond = e => e.scrollWidth > e.clientWidth + 1 && innerWidth > 1200;
    return [Math.max(0, document.documentElement.scrollWidth - innerWidth),
        [...document.querySelectorAll("article :is(p, td, li)")].filter(cut).length,
        [...document.querySelectorAll(".handout .table-wrapper")].filter(beyond).length]"""


@pytest.mark.slow
@pytest.mark.browser
@pytest.mark.parametrize("width", [390, 1280])
def test_pages_fit_a_phone_and_a_small_window(built: Path, driver: Any, width: int) -> None:
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    for folder in ("", "guide/", "theory/", "notebooks/", "teaching/", "project/"):
        for path in sorted(built.glob(f"{folder}*.html")):
            if path.stem not in ("search", "dirichlet_smoothing"):
                driver.get(path.as_uri())
                assert driver.execute_script(WIDE) == [0, 0, 0], path.stem
    driver.get((built / "handout.html").as_uri())
    assert len(re.findall(rb"/Type\s*/Page\b", b64decode(driver.print_page()))) == 1  # it is one sheet


def test_every_public_name_is_in_the_reference() -> None:
    text = "".join(path.read_text("utf-8") for path in ROOT.glob("docs/api/*.rst"))
    assert set(re.findall(r"auto\w+:: bayesnb\.([\w.]+)$", text, re.MULTILINE)) >= NAMES


@pytest.mark.parametrize("path", FAMILIES, ids=lambda path: path.stem)
def test_a_page_of_theory_is_the_whole_file(path: Path) -> None:
    source = path.read_text("utf-8")
    shown = {line.strip() for line in pages.theory_page(source, f"bayesnb/families/{path.name}").splitlines()}
    module = ast.parse(source)
    said = set()
    for node in ast.walk(module):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node):
            said |= set(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
    for node in module.body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            code = set(range(node.lineno, (node.end_lineno or 0) + 1)) - said
            lines = {source.splitlines()[k - 1].strip() for k in code}
            assert {line for line in lines if not line.startswith("#")} <= shown
    assert "numpyro.sample" not in source or "numpyro.sample" in "".join(shown)
