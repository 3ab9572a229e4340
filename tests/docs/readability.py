"""The sentences of the pages, and how hard they are to read.

Code, tables, formulas and link targets are left out. pyphen's hyphenation finds the syllables and misses some. A
package that counts them with a dictionary would download it.

Flesch (1948), A new readability yardstick, Journal of Applied Psychology 32.
"""

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import pyphen

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
