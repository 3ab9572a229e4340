"""Numbers written as text: decimal commas, thousands, currency and percent signs.

One cell such as "15,018" can be two numbers. A column as a whole usually settles it: "3,5" shows a decimal comma,
"1,234,567" shows thousands. Where no cell settles it, `AmbiguousNumbers` is raised, and nothing is guessed.
"""

import functools
import re
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from .core.pytrees import record

_CURRENCY = r"(?:[$€£¥₹]|CHF|EUR|USD|GBP)"
_SIGN = re.compile(f"%|{_CURRENCY}")
_CELL = re.compile(
    rf"[+-]?\s*(?:{_CURRENCY}\s*-?)?(?:\d[\d.,' ]*|[.,]\d+)(?:[eE][+-]?\d+)?\s*(?:%|{_CURRENCY})?", re.ASCII
)
_OPEN = re.compile(r"[1-9]\d{0,2}[.,]\d{3}", re.ASCII)  # fifteen or fifteen thousand
_CODE = re.compile(r"0\d+", re.ASCII)
_SAME = str.maketrans({"\u00a0": " ", "\u202f": " ", "\u2019": "'", "\u2212": "-"})


class AmbiguousNumbers(ValueError):
    """Cells such as "15.018" that may be fifteen or fifteen thousand, where no other cell of the column decides."""

    def __init__(self, cell: str) -> None:
        self.separator = "." if "." in cell else ","
        super().__init__(f"{cell!r} may be {cell.replace(self.separator, '')} or {cell.replace(self.separator, '.')}")


@record
@dataclass(frozen=True)
class NumberFormat:
    """How the numbers of a column are written.

    Fields
    ------
    decimal : the decimal separator, "." or ","; "" where no cell has one
    thousands : what separates groups of three digits; "" where nothing does
    sign : the currency or percent sign beside the numbers; "" where there is none
    """

    decimal: str = ""
    thousands: str = ""
    sign: str = ""

    def number(self, cell: str) -> float:
        """The number that a cell stands for; NaN where it stands for none in this format, or for two."""
        found = _pattern(self).fullmatch(cell.translate(_SAME).strip())
        if found is None or (not self.decimal and _OPEN.fullmatch(found[3])):
            return np.nan
        digits = found[3].replace(self.thousands, "").replace(self.decimal or ".", ".")
        return float(digits + (found[4] or "")) * (-1 if "-" in found[1] + found[2] else 1)

    def __str__(self) -> str:
        names = {",": "comma", ".": "point", " ": "space", "'": "apostrophe"}
        parts = ["decimal comma"] if self.decimal == "," else []
        parts += [f"thousands separated by {names.get(self.thousands, self.thousands)}"] if self.thousands else []
        parts += ["percent sign"] if self.sign == "%" else [f"currency {self.sign}"] if self.sign else []
        return ", ".join(parts)


@functools.cache
def _pattern(form: NumberFormat) -> re.Pattern[str]:
    group, point, sign = map(re.escape, (form.thousands, form.decimal or ".", form.sign))
    whole = rf"(?:[1-9]\d{{0,2}}(?:{group}\d{{3}})+|\d+)" if group else r"\d+"
    sign = rf"(?:{sign}\s*)?"
    return re.compile(rf"([+-]?)\s*{sign}(-?)({whole}(?:{point}\d*)?|{point}\d+)([eE][+-]?\d+)?\s*{sign}", re.ASCII)


def looks_like_number(cell: str) -> bool:
    """Whether a cell is a number in some format."""
    return _CELL.fullmatch(cell.translate(_SAME).strip()) is not None


def is_code(cell: str) -> bool:
    """Whether a cell is digits with a zero in front, such as 007."""
    return _CODE.fullmatch(cell.strip()) is not None


def number_format(
    cells: Iterable[str], decimal: str | None = None, thousands: str | None = None, clear: str | None = None
) -> NumberFormat | None:
    """The one format in which all cells are numbers, or None where there is none.

    Parameters
    ----------
    cells : text of numbers
    decimal, thousands : separators that the user has named
    clear : the decimal separator that other columns of the same table show, for columns that do not settle it

    Raises
    ------
    AmbiguousNumbers
        if the cells can be read in two ways
    """
    cells = [cell.translate(_SAME).strip() for cell in cells]
    signs = {found[0] if (found := _SIGN.search(cell)) else "" for cell in cells}
    if len(signs - {""}) > 1 or ("%" in signs and len(signs) > 1):
        return None
    sign = max(signs, default="")
    if not (decimal or thousands or any(re.search(r"[.,']|\d \d", cell) for cell in cells)):
        return NumberFormat(sign=sign)
    forms = [
        NumberFormat(point, group, sign)
        for point in decimal or ".,"
        for group in ([thousands] if thousands else ["", ",", ".", "'", " "])
        if point != group
    ]
    forms = [form for form in forms if not any(np.isnan(form.number(cell)) for cell in cells)] or (
        forms[:1] if decimal or thousands else []
    )
    for cell in cells:
        if len({form.number(cell) for form in forms} - {np.nan}) > 1:
            if not (chosen := [form for form in forms if form.decimal == clear]):
                raise AmbiguousNumbers(cell)
            return chosen[0]
    return forms[0] if forms else None
