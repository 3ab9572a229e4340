"""Text, tables and pictures as HTML."""

import html as _html
import io
import re
import zlib
from collections.abc import Callable
from typing import Any

import pandas as pd

_INK = "#0a0b0c"  # stands for the colour of the text around a figure


def as_text(value: Any) -> str:
    """A value as text that HTML shows letter by letter: "<" becomes "&lt;"."""
    return _html.escape(str(value))


def as_table(frame: pd.DataFrame, name: str, index: bool = False) -> str:
    """A table as HTML, in a box that scrolls by itself where the screen is narrow; `name` is for screen readers."""
    table = frame.to_html(index=index, border=0, justify="left", na_rep="–", float_format=_number)
    return f'<div class="wide" tabindex="0" role="region" aria-label="{name}">{table}</div>'


def _number(value: float) -> str:
    """A number with three digits after the point, and with a minus, not a hyphen, where it is negative."""
    return f"{value:,.3f}".replace("-", "−")


def as_figure(svg: str, caption: str) -> str:
    """A picture, as an SVG element, and the text below it, as HTML."""
    return f"<figure>{svg}<figcaption>{caption}</figcaption></figure>"


def inline_svg(draw: Callable[..., Any], title: str, height: float = 3.2, width: float = 4.6) -> str:
    """An SVG element of what `draw` draws on Axes; text and lines are in the colour of the page.

    Parameters
    ----------
    draw : a function with the argument `ax`, such as a plot of `bayesnb.plots` with all else given
    title : what the picture is, for screen readers; each on a page has another one
    height, width : of the figure, in inches
    """
    import matplotlib
    from matplotlib.figure import Figure

    ink_settings = ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color")
    settings: Any = {
        **dict.fromkeys(ink_settings, _INK),
        "svg.fonttype": "none",  # text stays text, in the font of the page
        "svg.hashsalt": title,  # the same names of elements at every run
        "font.size": 9.0,
        "axes.facecolor": "none",
        "axes.spines.top": False,
        "axes.spines.right": False,
    }
    buffer = io.StringIO()
    with matplotlib.rc_context(settings):
        figure = Figure(figsize=(width, height), layout="constrained")
        draw(ax=figure.subplots())
        no_metadata = dict.fromkeys(["Date", "Creator", "Format", "Type"])
        figure.savefig(buffer, format="svg", transparent=True, metadata=no_metadata)
    # From the start of the element on, without what stands before it in a file. Its width and height in points are
    # taken out, so that it fills its place, and so is the font, of which the size stays.
    svg = buffer.getvalue().partition("<svg")[2]
    svg = re.sub(r'^([^>]*?) width="[^"]*" height="[^"]*"', r"\1", svg)
    svg = re.sub(r"font: ([\d.]+)px [^;\"]*", r"font-size: \1px", svg)
    # Several pictures stand on one page, where a name (id) may be used once: each picture has a prefix of its own, made
    # of the title. The pattern finds where names are given, and where they are referred to: url(#name) and
    # href="#name".
    prefix = f"f{zlib.crc32(title.encode()):x}-"
    svg = re.sub(r'(\bid="|url\(#|href="#)', lambda match: match[1] + prefix, svg)
    attributes = f'role="img" aria-label="{as_text(title)}" style="max-width: {96 * width:.0f}px"'
    return f"<svg {attributes}{svg}".replace(_INK, "currentColor")
