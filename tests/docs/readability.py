"""The sentences of the pages and of the docstrings of public names, and how hard they are to read.

Code, tables, formulas and link targets are left out, and the examples and references of docstrings too. pyphen's
hyphenation finds the syllables and misses some. A package that counts them with a dictionary would download it.

Flesch (1948), A new readability yardstick, Journal of Applied Psychology 32.
"""

import inspect
import json
import re
from collections.abc import Iterable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import pyphen

import bayesnb

ROOT = Path(__file__).parents[2]
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md")),
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "docs" / "guide").glob("*.md")),
    *sorted((ROOT / "notebooks").glob("*.ipynb")),
]
_HYPHENS = pyphen.Pyphen(lang="en_US", left=1, right=1)
_FENCE = re.compile(r"^ *(`{3,}|:{3,}).*?^ *\1 *$|<!--.*?-->|\$\$.*?\$\$", re.MULTILINE | re.DOTALL)
_END = re.compile(r"(?<=[.?!])[\"”')*]*\s+(?=[\"“(*`A-ZΑ-Ω0-9])")
_MODULES = ("datasets", "drop_in", "families", "plots", "testing")
_SECTION = re.compile(r"^(\w+)\n-{3,}$", re.MULTILINE)
_SIGNS = r"[^\s\w.,;:?!()\[\]'\"’“”*–-]|[\d_]|\w\(|(?<!\S)\w\)"  # what makes a word a formula
_FORMULA = re.compile(rf"(?:(?<=\s)|^)(?=\S*(?:{_SIGNS}))\S+?([.,;:?!]*)(?=\s|$)")
_SHORTENED = re.compile(r"\b(e\.g|i\.e|et al|cf|vs|Fig|Eq|Sec|pp?|ed|No|Dr|St|approx)\. ")


class Prose(NamedTuple):
    """What is measured of a page."""

    sentences: list[str]

    @property
    def lengths(self) -> list[int]:
        """Words of each sentence."""
        return [len(sentence.split()) for sentence in self.sentences]

    @property
    def ease(self) -> float:
        """Flesch's reading ease: 60 to 70 is plain English, 30 to 50 is hard."""
        words = [word for sentence in self.sentences for word in re.findall(r"[A-Za-z]+(?:['’][a-z]+)?", sentence)]
        syllables = sum(_HYPHENS.inserted(word).count("-") + 1 for word in words)
        return 206.835 - 1.015 * len(words) / len(self.sentences) - 84.6 * syllables / len(words)


def paragraphs(text: str) -> Iterator[str]:
    """The prose of a Markdown page: paragraphs and the items of its lists."""
    for block in re.split(r"\n\s*\n|\n(?= *(?:[-*]|\d+\.) )", _FENCE.sub("\n\n", text)):
        lines = [line for line in block.splitlines() if not re.match(r"\s*(\||#|>>>|\.\.\.|!\[|\[\w+\]:)", line)]
        prose = " ".join(" ".join(lines).split())
        prose = re.sub(r"^(?:[-*]|\d+\.) ", "", prose)
        prose = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", prose)
        prose = re.sub(r"`[^`]*`|\$[^$]*\$", "X", re.sub(r"</?\w[^>]*>", " ", prose))
        if prose:
            yield prose.replace("**", "").replace("*", "")


def sentences(texts: Iterable[str]) -> Prose:
    """The sentences of paragraphs; what has no verb's worth of words, such as a caption of two, is left out."""
    found: list[str] = []
    for paragraph in texts:
        whole = _SHORTENED.sub(lambda match: match[0].replace(". ", ".\0"), paragraph)
        found += [sentence.replace("\0", " ") for sentence in _END.split(whole)]
    return Prose([sentence for sentence in found if len(sentence.split()) > 3])


def written(path: Path) -> str:
    """The text of a page, of a notebook that of its Markdown."""
    text = path.read_text("utf-8")
    if path.suffix == ".ipynb":
        cells = [cell for cell in json.loads(text)["cells"] if cell["cell_type"] == "markdown"]
        text = "\n\n".join("".join(cell["source"]) for cell in cells)
    return text


def prose(path: Path) -> Prose:
    """The sentences of a page."""
    return sentences(paragraphs(written(path)))


def public() -> dict[str, str]:
    """Every public docstring by the name of what it describes, the pages of the families among them."""
    homes = {"bayesnb": bayesnb, **{name: import_module(f"bayesnb.{name}") for name in _MODULES}}
    found = {name: value for name, value in homes.items()}
    for home, module in homes.items():
        names = getattr(module, "__all__", None) or [name for name in vars(module) if not name.startswith("_")]
        found |= {name if home == "bayesnb" else f"{home}.{name}": getattr(module, name) for name in names}
    for name, value in [*found.items()]:
        if inspect.isclass(value):
            bases = [base for base in reversed(value.__mro__) if base.__module__.startswith("bayesnb")]
            members = {key: one for base in bases for key, one in vars(base).items() if not key.startswith("_")}
            found |= {f"{name}.{key}": getattr(one, "__func__", one) for key, one in members.items()}
    for page in sorted((ROOT / "bayesnb" / "families").glob("[a-z]*.py")):
        found[f"families.{page.stem}"] = import_module(f"bayesnb.families.{page.stem}")
    said = {name: inspect.cleandoc(value.__doc__) for name, value in found.items() if is_ours(value) and value.__doc__}
    return {name: text for text, name in {text: name for name, text in reversed(said.items())}.items()}


def is_ours(value: Any) -> bool:
    """Whether a docstring is written in this package; properties carry their function's."""
    value = getattr(value, "fget", None) or value
    if inspect.ismodule(value):
        return value.__name__.startswith("bayesnb")
    return (inspect.isclass(value) or inspect.isroutine(value)) and value.__module__.startswith("bayesnb")


def plain(docstring: str) -> Iterator[str]:
    """The prose of a docstring: its paragraphs, and what is said of each parameter. A formula counts as one word."""
    first, *parts = _SECTION.split(docstring)
    for section, text in [("", first), *zip(parts[::2], parts[1::2], strict=True)]:
        if section in ("Examples", "References"):
            continue
        if section not in ("", "Notes"):  # names: their type is left out, and what is said of them stays
            text = re.sub(r"^(?=\S).{1,84}(?=\n +\S)|^(?=\S).*?(?: : |\s{3,}|$)", "\n\n", text, flags=re.MULTILINE)
            text = re.sub(r"^ +", "", text, flags=re.MULTILINE)
        kept = [line for line in text.splitlines() if not re.match(r"    |.*\S {2,}\S", line)]
        for paragraph in paragraphs("\n".join(kept)):
            yield re.sub(r"\bX(?: X)+\b", "X", _FORMULA.sub(lambda match: "X" + match[1], paragraph))


def docstrings() -> dict[str, Prose]:
    """The sentences of the public docstrings by name."""
    return {name: sentences(plain(text)) for name, text in public().items()}
