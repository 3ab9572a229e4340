"""Classes for the style sheet: figures too wide for a phone, cells of tables with a number or with much to read."""

import re
import struct
from pathlib import Path
from typing import Any

from docutils import nodes

WIDE = 2.2  # times as wide as high: two panels or more
LONG = 45  # characters of a cell
_NUMBER = re.compile(r"[−+~<>≈±∞(\d][\d.,:±∞×·%()−+ …to]*")
_VIEW = re.compile(r'viewBox="[-\d.]+ [-\d.]+ ([\d.]+) ([\d.]+)"')


def shape(picture: Path) -> float:
    """Width over height of a PNG or SVG; 0 where the file says neither."""
    head = picture.read_bytes()[:2000]
    if head.startswith(b"\x89PNG"):
        width, height = struct.unpack(">II", head[16:24])
        return float(width / height)
    found = _VIEW.search(head.decode("utf-8", "replace"))
    return float(found[1]) / float(found[2]) if found else 0.0


def mark(app: Any, doctree: nodes.document) -> None:
    """Give the classes to the pictures and cells of a page."""
    for image in doctree.findall(nodes.image):
        picture = Path(app.srcdir, image.get("uri", ""))
        if picture.is_file() and shape(picture) > WIDE:
            image["classes"].append("wide")
    for cell in doctree.findall(nodes.entry):
        text = cell.astext()
        if _NUMBER.fullmatch(text):
            cell["classes"].append("number")
        elif len(text) > LONG and len(cell.parent) > 2:  # two columns have room
            cell["classes"].append("long")


def setup(app: Any) -> dict[str, bool]:
    """Connect it to the build."""
    app.connect("doctree-read", mark)
    return {"parallel_read_safe": True}
