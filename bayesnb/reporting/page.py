"""The page of a report: its style, and pieces of HTML."""

import re
from collections.abc import Iterable, Sequence
from html import escape
from string import Template
from typing import Any

STYLE = """
:root { color-scheme: light dark; --ink: #1c1e21; --soft: #5b626b; --line: #d9dde2; --card: #f5f6f8; --paper: #ffffff;
  --blue: #0072b2; --warn: #a84300; --bar: #7fb8d8; }
@media (prefers-color-scheme: dark) { :root { --ink: #e8eaed; --soft: #a3abb5; --line: #3a4048; --card: #22262b;
  --paper: #16181b; --blue: #6ec1f0; --warn: #ffab70; --bar: #2f6d91; } }
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body { margin: 0 auto; max-width: 68rem; padding: 1rem 1rem 4rem; background: var(--paper); color: var(--ink);
  font: 1rem/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: 0.5rem 0; overflow-wrap: anywhere; }
h2 { font-size: 1.2rem; margin: 2.2rem 0 0.4rem; padding-top: 0.8rem; border-top: 1px solid var(--line); }
h3 { font-size: 1rem; margin: 1rem 0 0.2rem; }
p { margin: 0.4rem 0; max-width: 46rem; }
a { color: var(--blue); }
.soft { color: var(--soft); }
.cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(9.5rem, 1fr)); gap: 0.7rem; margin: 1rem 0; }
.cards div { background: var(--card); border-radius: 0.5rem; padding: 0.6rem 0.8rem; }
.cards b { display: block; font-size: 1.35rem; font-variant-numeric: tabular-nums; }
.cards span { color: var(--soft); font-size: 0.85rem; }
.pair { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 21rem), 1fr)); gap: 1rem; }
.pair > * { min-width: 0; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: 0.9rem; font-variant-numeric: tabular-nums; }
th, td { padding: 0.3rem 0.7rem 0.3rem 0; text-align: left; border-bottom: 1px solid var(--line); vertical-align: top; }
th { font-weight: 600; }
td.number, th.number { text-align: right; white-space: nowrap; }
td.long { min-width: 12rem; }
td:first-child { min-width: 7rem; }
.warn { color: var(--warn); }
.bar { display: block; height: 0.8rem; background: var(--bar); border-radius: 0.2rem; min-width: 1px; }
.confusion td { text-align: right; padding: 0.4rem 0.7rem; border: 1px solid var(--line); min-width: 3.2rem; }
figure { margin: 0.6rem 0; break-inside: avoid; }
figcaption { font-size: 0.9rem; color: var(--soft); max-width: 30rem; }
svg { display: block; width: 100%; height: auto; color: var(--ink);
  font-family: system-ui, -apple-system, "Segoe UI", Roboto, Arial, sans-serif; }
pre { background: var(--card); border-radius: 0.5rem; padding: 0.8rem; overflow-x: auto; font-size: 0.85rem; }
code { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; overflow-wrap: anywhere; }
pre code { overflow-wrap: normal; }
ul { padding-left: 1.2rem; max-width: 46rem; } li { margin: 0.3rem 0; }
nav { font-size: 0.9rem; } nav a { display: inline-block; padding: 0.2rem 0.8rem 0.2rem 0; }
@media print { :root { color-scheme: light; --ink: #000; --soft: #444; --line: #bbb; --card: #f2f2f2; --paper: #fff;
  --blue: #0072b2; --warn: #a84300; --bar: #7fb8d8; } nav { display: none; } body { max-width: none; }
  h2 { break-after: avoid; } .wide { overflow: visible; } }
"""

PAGE = Template("""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="data:,">
<title>$title</title>
<style>$style</style>
</head>
<body>
<header>$header</header>
<nav aria-label="Sections">$links</nav>
<main>
$sections
</main>
<footer><p class="soft">$footer</p></footer>
</body>
</html>
""")


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
    return PAGE.substitute(title=text(title), style=STYLE, header=header, links=links, sections=body, footer=footer)
