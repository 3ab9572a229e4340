"""The docstrings of bayesnb as reStructuredText: prose with Unicode formulas, blocks, and numpydoc's sections."""

import re
from textwrap import indent

from formulas import to_latex, typeset

_SPAN = re.compile(r"(`[^`]+`|(?<![\w*])\*[A-Za-z][\w -]*\*(?![\w*]))")  # `code` and *emphasis*
_ITEM = re.compile(r"(- |\d+\. )")
_COUNTER = re.compile(r"\(?\w+[.)](\s|$)")  # would begin a list
_RULE = re.compile(r"-{3,}$")
_ENTRY = re.compile(r"(?P<terms>\S.*?)(?: : |\s{3,}(?=\S)|$)(?P<text>.*)")
_TYPE = re.compile(r"^(\S.*?)\s{2,}(?=\S)")
_COLUMNS = re.compile(r"\S {2,}\S")
_FULL = 85  # a line of prose that ends before this column was broken on purpose


def to_rst(docstring: str) -> str:
    """A docstring, as `inspect.cleandoc` leaves it, as reStructuredText."""
    lines = docstring.splitlines()
    heads = [k for k, below in enumerate(lines[1:]) if _RULE.match(below)]
    parts = [_body("\n".join(lines[: heads[0]] if heads else lines))]
    for head, end in zip(heads, [*heads[1:], None], strict=False):
        parts += [f".. rubric:: {lines[head]}", _section(lines[head], "\n".join(lines[head + 2 : end]).strip())]
    return "\n\n".join(part for part in parts if part)


def escaped(text: str) -> str:
    """Words with nothing in them read as markup."""
    return re.sub(r"([\\*_|`])", r"\\\1", text)


def inline(text: str) -> str:
    """Prose with nothing in it read as markup but `code`, *emphasis* and formulas."""
    pieces = _SPAN.split(" ".join(text.split()))
    out = ""
    for k, piece in enumerate(pieces):
        if k % 2 == 0:
            out += typeset(piece, lambda latex: rf"\ :math:`{latex}`\ ", escaped)
        else:  # the markup ends at an escaped blank, whatever stands beside it
            out += rf"\ {piece if piece[0] == '*' else f'`{piece}`'}\ "
    return out


def _section(name: str, text: str) -> str:
    """What stands below a section's rule: names with what they are, or prose."""
    if name in ("Notes", "References"):
        return _body(text)
    if name == "Examples":
        return ".. code-block:: pycon\n\n" + indent(text, "   ")
    entries: list[list[str]] = []
    for line in text.splitlines():
        if line and not line.startswith(" "):
            entries.append([line])
        else:
            entries[-1].append(line)
    return "\n".join(_entry(*entry) for entry in entries)


def _entry(head: str, *rest: str) -> str:
    """One name, or several, and what is said of it."""
    match = _ENTRY.match(head)
    assert match is not None
    if not match["text"] and not rest:
        return inline(head)
    terms, text = match["terms"], _TYPE.sub(r"\1, ", match["text"])
    term = ", ".join(f"``{name}``" if re.fullmatch(r"\**\w+", name) else inline(name) for name in terms.split(", "))
    if any(map(_COLUMNS.search, map(str.strip, rest))):
        body = f"{inline(text)}\n\n{_literal(rest)}"
    elif rest and _is_broken(head, rest[0]):  # numpydoc's form: the type on a line of its own
        term, body = f"{term} : {inline(text)}" if text else term, inline(" ".join(rest))
    else:
        body = inline(" ".join([text, *rest]))
    return f"{term}\n" + indent(body, "   ") + "\n"


def _body(text: str) -> str:
    """Paragraphs, lists, and blocks that stand as they are: indented ones and those set in columns."""
    parts = []
    for block in re.split(r"\n\s*\n", text.strip("\n")):
        lines = block.splitlines()
        if not lines:
            continue
        if _ITEM.match(lines[0]):
            parts.append("\n".join(_items(lines)))
            continue
        start = next((i for i, line in enumerate(lines) if line.startswith("    ")), len(lines))
        prose, formulas = lines[:start], lines[start:]
        if len(prose) > 1 and (any(map(_COLUMNS.search, prose)) or any(map(_is_broken, prose, prose[1:]))):
            prose, formulas = [], lines
        if prose:
            text = inline(" ".join(prose))
            parts.append(rf"\ {text}" if _COUNTER.match(text) else text)
        if formulas:
            parts.append(_literal(formulas))
    return "\n\n".join(parts)


def _items(lines: list[str]) -> list[str]:
    """The items of a list, each on one line."""
    items: list[str] = []
    for line in lines:
        if _ITEM.match(line):
            items.append(line)
        else:
            items[-1] += " " + line.strip()
    return [f"{(mark := _ITEM.match(item)[0])}{inline(item[len(mark) :])}" for item in items]


def _is_broken(line: str, following: str) -> bool:
    """Whether a line ends though the next word had room: a formula set below another, not prose that was wrapped."""
    return len(line) + 1 + len(following.split()[0] if following.split() else "") < _FULL


def _literal(lines: list[str] | tuple[str, ...]) -> str:
    """Formulas, each on a line of its own with what is said of it beside it; other lines as they stand."""
    if displayed := _displayed([line.strip() for line in lines if line.strip()]):
        return displayed
    depth = min(len(line) - len(line.lstrip()) for line in lines if line.strip())
    return ".. code-block:: text\n   :class: formula\n\n" + indent("\n".join(line[depth:] for line in lines), "   ")


def _displayed(lines: list[str]) -> str:
    """A table of formulas and what is said of them, or "" where some line does not begin with a formula."""
    rows: list[tuple[str, str]] = []
    for line in lines:
        formula, said = re.fullmatch(r"(.*?)(?: {2,}(.*))?", line).groups("")  # type: ignore[union-attr]
        whole = re.sub(r"[,;.]? *$", "", typeset(formula, lambda latex: ""))
        if not re.fullmatch(r"[\s,;:.|]*", whole):
            return ""
        rows.append((formula, said))
    width = 2 if any(said for _, said in rows) else 1
    out = [".. list-table::", "   :class: formula", ""]
    for formula, said in rows:
        cells = [f":math:`{to_latex(formula)}`", inline(said)][:width]
        out += [f"   {'* -' if k == 0 else '  -'} {cell}" for k, cell in enumerate(cells)]
    return "\n".join(out)
