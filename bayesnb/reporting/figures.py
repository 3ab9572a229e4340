"""Plots as inline SVG that takes the colours of the page around it."""

import io
import re
import textwrap
import zlib
from collections.abc import Callable
from typing import Any

from . import page

_WIDEST = 46  # letters of a line below the horizontal axis
_INK = "#0a0b0c"  # stands for the colour of the text around the figure


def inline_svg(
    draw: Callable[[Any], Any], title: str, *, width: float = 4.6, height: float = 3.2, axes: int = 1
) -> str:
    """An SVG element of what `draw` draws on the Axes that it is given; text and lines are in the page's own colour.

    Parameters
    ----------
    draw : from Axes, or an array of several, to anything
    title : what a screen reader says of it
    width, height : inches; on a narrow screen the figure is scaled down
    axes : number of Axes, one above the other
    """
    import matplotlib
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    ink = {name: _INK for name in ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color")}
    settings: Any = {
        **ink,
        "svg.fonttype": "none",
        "svg.hashsalt": title,
        "font.size": 9.0,
        "axes.facecolor": "none",
        "axes.spines.top": False,
        "axes.spines.right": False,
        "legend.facecolor": "none",
    }
    with matplotlib.rc_context(settings):
        figure = Figure(figsize=(width, height), layout="constrained")
        FigureCanvasSVG(figure)
        draw(figure.subplots(axes, 1))
        for ax in figure.axes:
            name = ax.get_xlabel().replace(r"\$", "\0")  # an escaped dollar is one letter
            ax.set_xlabel("\n".join(textwrap.wrap(name, _WIDEST)).replace("\0", r"\$"))
        text = io.StringIO()
        figure.savefig(text, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    svg = text.getvalue()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.S)
    svg = re.sub(r'(<svg[^>]*?) width="[^"]*"', r"\1", svg, count=1)
    svg = re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", svg, count=1)
    svg = re.sub(r"font: ([\d.]+)px [^;\"]*", r"font-size: \1px", svg)
    own = f"f{zlib.crc32(title.encode()):x}-"  # a name is used once on a page
    svg = re.sub(r'(\bid="|url\(#|href="#)', lambda found: found[1] + own, svg)
    svg = svg.replace(
        "<svg", f'<svg role="img" aria-label="{page.text(title)}" style="max-width: {width * 96:.0f}px"', 1
    )
    return svg.replace(_INK, "currentColor")
