"""Pieces of HTML for the page of a report, which `page.html` and `page.css` lay out."""

import re
from collections.abc import Iterable, Sequence
from html import escape
from importlib.resources import files
from string import Template
from typing import Any


def text(value: Any) -> str:
    """A value as HTML text."""
    return escape(str(value), quote=True)


def prose(value: str) -> str:
    """A sentence as HTML, with code between backticks."""
    return re.sub(r"`([^`]*)`", r"<code>\1</code>", text(value))


def number(value: float) -> str:
    """A number in three digits, never in scientific form where a reader would not expect it."""
    if value != value:
        return "–"
    shown = f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
    return shown.replace("-", "−", 1) if "e" not in shown else f"{value:.1e}"


def percent(value: float) -> str:
    """A share in percent, with one digit behind the point."""
    return f"{100 * value:.1f}\N{NO-BREAK SPACE}%"


def table(
    head: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    numbers: Sequence[int] = (),
    long: Sequence[int] = (),
    name: str = "",
) -> str:
    """A table whose cells are HTML already, in a box that scrolls by itself where the screen is narrow."""

    def kind(k: int) -> str:
        return ' class="number"' if k in numbers else ' class="long"' if k in long else ""

    top = "".join(f'<th scope="col"{kind(k)}>{cell}</th>' for k, cell in enumerate(head))
    body = "".join(
        "<tr>" + "".join(f"<td{kind(k)}>{cell}</td>" for k, cell in enumerate(row)) + "</tr>" for row in rows
    )
    whole = f"<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"
    return f'<div class="wide" tabindex="0" role="region" aria-label="{text(name)}">{whole}</div>'


def cards(pairs: Iterable[tuple[str, str]]) -> str:
    """Figures and what they are."""
    return '<div class="cards">' + "".join(f"<div><b>{v}</b><span>{k}</span></div>" for k, v in pairs) + "</div>"


def figure(svg: str, caption: str) -> str:
    """A figure with its caption, which is HTML."""
    return f"<figure>{svg}<figcaption>{caption}</figcaption></figure>"


def page(title: str, header: str, sections: Sequence[tuple[str, str, str]], footer: str) -> str:
    """The page. A section is (id, heading, HTML)."""
    links = "".join(f'<a href="#{key}">{text(heading)}</a>' for key, heading, _ in sections)
    body = "\n".join(f'<section id="{key}"><h2>{text(heading)}</h2>{html}</section>' for key, heading, html in sections)
    folder = files("bayesnb").joinpath("reporting")
    style, whole = (folder.joinpath(name).read_text("utf-8") for name in ("page.css", "page.html"))
    return Template(whole).substitute(
        title=text(title), style=f"\n{style}", header=header, links=links, sections=body, footer=footer
    )
