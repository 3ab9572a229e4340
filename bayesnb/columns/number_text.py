"""Numbers written as text: decimal commas, thousands, currency and percent signs.

One cell such as "15,018" can be two numbers. A column as a whole usually settles it: "3,5" shows a decimal comma,
"1,234,567" shows thousands. Where no cell settles it, `AmbiguousNumbers` is raised, and nothing is guessed.
"""

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass

from ..core.pytrees import record

_CURRENCY = r"[$€£¥₹]|CHF|EUR|USD|GBP"
_CELL = re.compile(
    rf"(?P<sign>[+\-\u2212]?)\s*(?:(?P<before>{_CURRENCY})\s*(?P<minus>-?))?"
    r"(?P<body>(?:\d[\d.,'\u2019 \u00a0\u202f]*|[.,]\d+))(?P<power>[eE][+-]?\d+)?\s*"
    rf"(?P<after>%|{_CURRENCY})?"
)
_SPACES = str.maketrans({"\u00a0": " ", "\u202f": " ", "\u2019": "'"})


class AmbiguousNumbers(ValueError):
    """Cells such as "15.018" that may be fifteen or fifteen thousand, where no other cell of the column decides."""

    def __init__(self, cell: str, separator: str) -> None:
        self.cell, self.separator = cell, separator
        super().__init__(f"{cell!r} may be {cell.replace(separator, '')} or {cell.replace(separator, '.')}")


@record
@dataclass(frozen=True)
class NumberFormat:
    """How the numbers of a column are written.

    Fields
    ------
    decimal : the decimal separator, "." or ","
    thousands : what separates groups of three digits; "" where nothing does
    sign : the currency or percent sign beside the numbers; "" where there is none
    """

    decimal: str = "."
    thousands: str = ""
    sign: str = ""

    def number(self, cell: str) -> float:
        """The number that a cell stands for; NaN where it stands for none in this format."""
        found = _CELL.fullmatch(cell.strip())
        if found is None or not {found["before"], found["after"]} <= {self.sign, None}:
            return math.nan
        whole, point, fraction = found["body"].translate(_SPACES).strip().partition(self.decimal)
        if self.thousands and self.thousands in whole:
            if not re.fullmatch(rf"\d{{1,3}}(?:{re.escape(self.thousands)}\d{{3}})+", whole):
                return math.nan
            whole = whole.replace(self.thousands, "")
        if not re.fullmatch(r"\d*", whole + fraction, re.ASCII):
            return math.nan
        value = float(f"{whole}.{fraction}0{found['power'] or ''}" if point else f"{whole}{found['power'] or ''}")
        return -value if "-" in (found["minus"], found["sign"]) or found["sign"] == "\u2212" else value

    def __str__(self) -> str:
        names = {",": "comma", ".": "point", " ": "space", "'": "apostrophe"}
        parts = ["decimal comma"] if self.decimal == "," else []
        parts += [f"thousands separated by {names[self.thousands]}"] if self.thousands else []
        parts += ["percent sign"] if self.sign == "%" else [f"currency {self.sign}"] if self.sign else []
        return ", ".join(parts)


def looks_like_number(cell: str) -> bool:
    """Whether a cell is a number in some format."""
    return _CELL.fullmatch(cell.strip()) is not None


def are_numbers(cells: list[str]) -> bool:
    """Whether all cells are numbers in one format, even if it is open which."""
    try:
        return number_format(cells) is not None
    except AmbiguousNumbers:
        return True


def first_fraction(cells: list[str], **separators: str | None) -> str:
    """The first cell that is no whole number in the one format of all, without a sign such as %; "" if there is none.

    `separators` are those of `number_format`.
    """
    try:
        form = number_format(cells, **separators)
    except AmbiguousNumbers:
        return ""
    if form is None or form.sign:
        return ""
    return next((cell for cell in cells if form.number(cell) % 1 > 0), "")


def number_format(
    cells: Iterable[str], decimal: str | None = None, thousands: str | None = None, clear: str | None = None
) -> NumberFormat | None:
    """The one format in which all cells are numbers, or None where there is none.

    Parameters
    ----------
    cells : text of numbers, each of which `looks_like_number`
    decimal, thousands : separators that the user has named
    clear : the decimal separator that other columns of the same file show, for columns that do not settle it

    Raises
    ------
    AmbiguousNumbers
        if the cells can be read in two ways
    """
    points: set[str] = set()
    groups: set[str] = set()
    open_: dict[str, str] = {}  # separator -> a cell that may have it as either
    signs: set[str] = set()
    for cell in cells:
        found = _CELL.fullmatch(cell.strip())
        if found is None:
            return None
        signs.add(found["before"] or found["after"] or "")
        body = found["body"].translate(_SPACES).strip()
        used = [one for one in body if not one.isdigit()]
        kinds = list(dict.fromkeys(used))
        if not used:
            continue
        whole = body.rpartition(kinds[-1])[0] if len(kinds) == 2 else body
        grouped = re.fullmatch(rf"\d{{1,3}}(?:{re.escape(kinds[0])}\d{{3}})+", whole)
        if len(kinds) > 2 or ((len(kinds) == 2 or kinds[0] not in ".," or len(used) > 1) and not grouped):
            return None
        if len(kinds) == 2:
            groups.add(kinds[0])
            points.add(kinds[1])
        elif kinds[0] not in ".," or len(used) > 1:
            groups.add(kinds[0])
        elif found["power"] or not re.fullmatch(r"[1-9]\d{0,2}[.,]\d{3}", body):
            points.add(kinds[0])
        else:
            open_.setdefault(kinds[0], cell.strip())
    if len(signs - {""}) > 1 or ("%" in signs and len(signs) > 1):
        return None
    sign = max(signs, default="")
    if decimal or thousands:
        other = {".": ",", ",": "."}
        decimal = decimal or other.get(thousands or "", ".")
        found_groups = groups - {decimal} | ({thousands} if thousands else set())
        group = thousands or next(iter(found_groups or open_.keys() - {decimal}), "")
        return NumberFormat(decimal, group, sign)
    if points & groups or len(points) > 1 or len(groups) > 1:
        return None
    for separator, cell in open_.items():
        if separator in points or separator in groups:
            continue
        if points or (groups & {".", ","}):  # the other one has the other part
            (groups if points else points).add(separator)
        elif clear:
            (points if separator == clear else groups).add(separator)
        else:
            raise AmbiguousNumbers(cell, separator)
    if points & groups or len(points) > 1 or len(groups) > 1:
        return None
    return NumberFormat(next(iter(points), "," if "." in groups else "."), next(iter(groups), ""), sign)
