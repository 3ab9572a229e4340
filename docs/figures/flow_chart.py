"""Write `flow_chart.svg`, the picture of docs/guide/which_variant.md: `python docs/figures/flow_chart.py`."""

from html import escape
from pathlib import Path
from textwrap import wrap

CHART = [  # a question, and where "yes" leads: (when, estimator)
    ("Are the columns of different kinds?", [("one variant for each kind of column", "MixedNB")]),
    ("Does a cell hold yes or no?", [("", "BernoulliNB")]),
    (
        "Does a cell hold a level (text, a code)?",
        [("levels independent in a class", "CategoricalNB"), ("levels dependent in a class", "OneDependenceNB")],
    ),
    (
        "Do the cells count words or events?",
        [("few classes, or of equal size", "MultinomialNB"), ("many classes of unequal size", "ComplementNB")],
    ),
    (
        "Does a cell hold a count of its own?",
        [("spread as large as the mean", "PoissonNB"), ("long tail, failures before a success", "GeometricNB")],
    ),
    ("Does a cell hold a waiting time?", [("amounts from 0, mostly small", "ExponentialNB")]),
    (
        "Is it near normal within a class?",
        [("independent in a class, or few rows", "GaussianNB"), ("correlated in a class", "GaussianDA")],
    ),
]
LAST = ("Two peaks, or a long tail?", [("any shape", "KernelNB"), ("a family of your own", "FamilyNB")])
WHEN = ' class="when"'
STYLE = """
text { font: 16px system-ui, sans-serif; fill: #1c2126; }
text.name { font-weight: 600; fill: #0a4b94; }
text.when { font-size: 13.5px; fill: #4a525b; }
rect { fill: #f6f7f8; stroke: #6b7280; }
path { fill: none; stroke: #6b7280; stroke-width: 1.5; }
marker path { fill: #6b7280; }
"""
LEFT, WIDE, RIGHT, TARGET, BOX, STEP = 4, 200, 276, 250, 44, 54  # narrow, so that a phone shows all of it


def svg() -> str:
    """The chart: questions on the left, from top to bottom; estimators on the right."""
    parts, top = [], 8
    rows = [*CHART, LAST]
    for number, (question, targets) in enumerate(rows):
        height = STEP * len(targets)
        middle = top + height / 2 - (STEP - BOX) / 2
        parts.append(_box(LEFT, middle - BOX / 2, WIDE, wrap(question, 25)))
        for k, (when, name) in enumerate(targets):
            y = top + k * STEP + BOX / 2
            line = f"M{LEFT + WIDE} {middle} H{RIGHT - 34} V{y} H{RIGHT - 4}"
            parts.append(f'<path d="{line}" marker-end="url(#head)"/>')
            box = _box(RIGHT, y - BOX / 2, TARGET, [name], when)
            parts.append(box.replace("<text", '<text class="name"', 1))
        parts.append(f'<text x="{LEFT + WIDE + 6}" y="{middle - 6}">yes</text>')
        if number + 1 < len(rows):
            following = rows[number + 1][1]
            below = top + height + 12 + STEP * len(following) / 2 - (STEP - BOX) / 2 - BOX / 2
            x = LEFT + WIDE / 2
            parts.append(f'<path d="M{x} {middle + BOX / 2} V{below - 4}" marker-end="url(#head)"/>')
            parts.append(f'<text x="{x + 8}" y="{(middle + BOX / 2 + below) / 2 + 5}">no</text>')
        top += height + 12
    head = (
        '<marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0 0 L8 4 L0 8 z"/></marker>'
    )
    title = "<title>Flow chart: which variant fits the data. The same steps are listed below the picture.</title>"
    width = RIGHT + TARGET + 4
    opening = f'<svg xmlns="http://www.w3.org/2000/svg" role="img" width="{width}" viewBox="0 0 {width} {top}">'
    ground = f'<rect width="{width}" height="{top}" style="fill: #fff; stroke: none"/>'
    return "\n".join([opening, title, f"<style>{STYLE}</style><defs>{head}</defs>", ground, *parts, "</svg>", ""])


def _box(x: float, y: float, width: float, lines: list[str], when: str = "") -> str:
    """A box with one or two lines of text in its middle; `when` is a second line in small letters."""
    small, lines = len(lines), [*lines, when] if when else lines
    texts = [
        f'<text x="{x + width / 2}" y="{y + BOX / 2 + 5 + (17 * k - 8.5) * (len(lines) > 1)}" text-anchor="middle"'
        f"{WHEN if k >= small else ''}>{escape(line)}</text>"
        for k, line in enumerate(lines)
    ]
    return f'<rect x="{x}" y="{y}" width="{width}" height="{BOX}" rx="6"/>{"".join(texts)}'


if __name__ == "__main__":
    Path(__file__).with_suffix(".svg").write_text(svg(), "utf-8")
