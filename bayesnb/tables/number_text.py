"""Numbers written as text: decimal commas, thousands, currencies and percent signs.

A cell such as "15,018" can be two numbers. A column as a whole usually settles it: "3,5" shows a decimal comma,
"1,234,567" shows thousands. If nothing settles it, an error asks, and nothing is guessed.
"""

import functools
import itertools
import math
import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass

import numpy as np

from ..numerics.pytrees import record

_SIGN = r"%|[$€£¥₹]|CHF|EUR|USD|GBP"
_INFINITY = r"[+-]?(?i:inf|infinity)"
_EXPONENT = r"(?:[eE][+-]?[0-9]+)?"
_FIND_SIGN = re.compile(_SIGN)
_NUMBER = re.compile(rf"[+-]?(?:{_SIGN})? ?[+-]?(?:[0-9][0-9.,' ]*|[.,][0-9]+){_EXPONENT} ?(?:{_SIGN})?|{_INFINITY}")
_PLAIN = re.compile(rf"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+){_EXPONENT}")  # as any parser reads it
_TWO_WAYS = re.compile(r"[+-]?[1-9][0-9]{0,2}[.,][0-9]{3}")  # fifteen or fifteen thousand
_CODE = re.compile(r"0[0-9]+")
_DATE = re.compile(
    r"[0-9]{4}[-/.][0-9]{1,2}[-/.][0-9]{1,2}(?:[T ].*)?|[0-9]{1,2}[-/.][0-9]{1,2}[-/.](?:[0-9]{4}|[0-9]{2})(?:[T ,].*)?"
    r"|[0-9]{4}-[0-9]{2}|[0-9]{1,2}:[0-9]{2}(?::[0-9]{2})?"
)
# a mark behind 0, or before other than three digits, is no separator of thousands
_DECIMAL_MARK = {
    mark: re.compile(rf"(?<![1-9])(?<![0-9]0){re.escape(mark)}[0-9]|{re.escape(mark)}(?![0-9]{{3}}(?![0-9]))[0-9]")
    for mark in ".,"
}
_MARKS = ",.' "  # what may separate groups of three digits
_KEYBOARD = str.maketrans("\u00a0\u202f\u2019\u2212", "  '-")

TRUTH = "true or false"
MISSING_SIGNS = ("?", "-", ".")
"""Cells that hold one of these signs alone are missing."""


@record
@dataclass(frozen=True)
class NumberFormat:
    """How the numbers of a column of text are written.

    Fields
    ------
    decimal : the decimal separator, "." or ","; "" if no cell has one
    thousands : what separates groups of three digits; "" if nothing does
    sign : the currency or percent sign beside the numbers, or "true or false"; "" if there is none
    """

    decimal: str = ""
    thousands: str = ""
    sign: str = ""

    @property
    def is_plain(self) -> bool:
        """Whether any parser reads such numbers."""
        return self.decimal != "," and not self.thousands and not self.sign

    def read(self, words: Iterable[str]) -> np.ndarray:
        """The numbers that the words stand for, (n,); NaN if one stands for none in this format, or for two."""
        return np.array([self.number(word) for word in words], float)

    def number(self, word: str) -> float:
        """The number that one word stands for; NaN if it stands for none in this format, or for two.

        In the format with decimal "," and thousands "." the word "1.234,5" is 1234.5.

        Parameters
        ----------
        word : text without blanks around it
        """
        if self.sign == TRUTH:
            return {"true": 1.0, "false": 0.0}.get(word.lower(), math.nan)

        # without its currency or percent sign: "1.234,5 €" becomes "1.234,5"
        digits = word
        if self.sign:
            digits = re.sub(rf" ?{re.escape(self.sign)} ?", "", word)

        # Whether it is a number with these separators. Without a decimal separator no word has a fraction: the mark in
        # 15.018, or 15,018, may then be either separator.
        if not _number_pattern(self.decimal, self.thousands).fullmatch(digits):
            return math.nan
        if not self.decimal and _TWO_WAYS.fullmatch(digits):
            return math.nan

        # as Python writes it, without a separator of thousands, and with a decimal point: "1.234,5" becomes "1234.5"
        if self.thousands:
            digits = digits.replace(self.thousands, "")
        if self.decimal:
            digits = digits.replace(self.decimal, ".")
        return float(digits)


@functools.cache
def _number_pattern(decimal: str, thousands: str) -> re.Pattern[str]:
    """The regular expression of numbers with these separators; without a decimal separator a point is one.

    A number is a sign, then an integer with or without a fraction, or a fraction alone, then an exponent; or infinity.

    Parameters
    ----------
    decimal, thousands : the separators, "" for none: with "," and "." the pattern fits 1.234,5 and ,5 and 12
    """
    point = re.escape(decimal or ".")
    integer = "[0-9]+"
    if thousands:
        # 1 to 3 digits, of which the first is not 0, and then groups of three; or no groups at all.
        integer = rf"[1-9][0-9]{{0,2}}(?:{re.escape(thousands)}[0-9]{{3}})+|[0-9]+"
    return re.compile(rf"[+-]?(?:(?:{integer})(?:{point}[0-9]*)?|{point}[0-9]+){_EXPONENT}|{_INFINITY}")


# --- the format of a column -----------------------------------------------------------------------------------------


def number_format(
    words: Iterable[str], decimal: str | None = None, thousands: str | None = None, clear: str | None = None
) -> NumberFormat | None:
    """The one format in which all words are numbers, or None if there is none.

    A format is a decimal separator, a separator of thousands and a sign, such as "," and "." and "€" of "1.234,5 €".
    All formats with the marks that occur in the words are tried on all words.

    Parameters
    ----------
    words : text of numbers
    decimal, thousands : separators that the user has named
    clear : the decimal separator that other columns of the same table show, for columns that do not settle it

    Raises
    ------
    ValueError
        if the words can be read in two ways, or one of them in none with the separators that are named
    """
    # 1. Nearly all columns are plain numbers, or true and false.
    words = list(words)
    is_asked = bool(decimal or thousands)
    if not is_asked and _are_plain(words):
        return _plain_format(words)
    if all(word.lower() in ("true", "false") for word in words):
        return NumberFormat(sign=TRUTH)

    # 2. The sign, "" of a word without one. Two different signs make no column of numbers. A currency may be left out
    # in some cells, but a percent sign may not: 5 % is not 5.
    signs = {_sign_of(word) for word in words}
    has_two_signs = len(signs - {""}) > 1
    has_some_percent = {"%", ""} <= signs
    if has_two_signs or has_some_percent:
        return None
    sign = max(signs)  # the only sign, or ""; the empty text sorts first

    # 3. All words are read in each format that is possible, NaN where a word is no number. A format fits if it reads
    # them all.
    numbers = {form: form.read(words) for form in _possible_formats(words, sign, decimal, thousands)}  # (words,) each
    fitting = [form for form, values in numbers.items() if not np.isnan(values).any()]
    if not fitting and is_asked:  # with separators that the user named this is an error; the first unread word is shown
        is_unread = np.isnan(next(iter(numbers.values())))
        first_unread = words[int(is_unread.argmax())]
        raise ValueError(f"{first_unread!r} is no number with these separators; write all cells in one format")
    if not fitting:
        return None

    # 4. Several formats that give the same numbers are as good as one. If a number differs, the decimal separator of
    # the other columns of the table decides, `clear`; an error is raised where they show none.
    first_format = fitting[0]
    for form in fitting:
        differs = numbers[form] != numbers[first_format]  # (words,)
        if differs.any():
            first_word = words[int(differs.argmax())]
            return _format_as_elsewhere(fitting, clear, first_word)
    return first_format


def _are_plain(words: list[str]) -> bool:
    """Whether any parser reads all words as numbers, and in one way: some word shows that points are decimal."""
    if not all(_PLAIN.fullmatch(word) for word in words):  # digits, a point, an exponent, and nothing else
        return False
    # 15.018 alone may be fifteen thousand, but beside 3.5 its point must be decimal.
    with_point = [word for word in words if "." in word]
    return not with_point or any(_DECIMAL_MARK["."].search(word) for word in with_point)


def _plain_format(words: list[str]) -> NumberFormat:
    """The format of plain numbers: whether some have a decimal point."""
    return NumberFormat("." if any("." in word for word in words) else "")


def _sign_of(word: str) -> str:
    """The currency or percent sign in a word; "" if there is none."""
    match = _FIND_SIGN.search(word)
    return match.group() if match else ""


def _possible_formats(words: list[str], sign: str, decimal: str | None, thousands: str | None) -> list[NumberFormat]:
    """Formats with the separators that occur in the words, or that the user has named.

    Parameters
    ----------
    sign : the currency or percent sign of the words, or ""
    decimal, thousands : separators that the user has named, or None
    """
    # Which of ",", ".", "'" and blank stand before a digit in some word: for the words "1.234,5" and "7" these marks
    # are "," and ".".
    marks = []
    for mark in _MARKS:
        before_digit = re.compile(rf"{re.escape(mark)}[0-9]")
        if any(before_digit.search(word) for word in words):
            marks.append(mark)

    # The separator of thousands is the user's, or any of the marks, or there is none, "".
    groups = [thousands] if thousands else ["", *marks]

    # The decimal separator is the user's, or a point or a comma; words without marks show none.
    if decimal:
        decimals = [decimal]
    elif marks:
        decimals = [".", ","]
    else:
        decimals = [""]

    # All pairs of a decimal separator and one of thousands, except for those in which one mark is both. In the example
    # these are (".", ""), (".", ","), (",", "") and (",", ".").
    formats = []
    for point, group in itertools.product(decimals, groups):
        is_one_mark = point != "" and point == group
        if not is_one_mark:
            formats.append(NumberFormat(point, group, sign))
    return formats


def _format_as_elsewhere(fitting: list[NumberFormat], clear: str | None, word: str) -> NumberFormat:
    """Choose among formats that read a column in different ways: the one that is written as the rest of the table.

    A column of "15,018" and "2,500" can be fifteen and two and a half, or thousands. If the other columns of the table
    show a decimal comma, as "3,5" does, the comma is decimal here too.

    Parameters
    ----------
    fitting : two or more formats in which all words of the column are numbers
    clear : the decimal separator, "." or ",", that the other columns make clear. Both None and "" mean that none is: ""
        if the other columns show none or both, None if the caller does not know of other columns
    word : the first word that is another number in another format, for the message

    Raises
    ------
    ValueError
        if none of the formats has the decimal separator of the other columns; the message asks the user for one
    """
    # all formats here have a decimal separator, which "" and None never equal
    for form in fitting:
        if form.decimal == clear:
            return form

    # Nothing decides: 15.018 may be 15018 or 15.018. The message shows both, without the mark and with it as a point.
    mark = "." if "." in word else ","
    two_ways = f"{word.replace(mark, '')} or {word.replace(mark, '.')}, and no other cell decides it"
    raise ValueError(
        f"{word!r} may be {two_ways}; give --decimal {mark} or --thousands {mark}, "
        "in Python to `describe` or `read_table`"
    )


# --- words ----------------------------------------------------------------------------------------------------------


def clean_word(word: str) -> str:
    """A word without blanks around it, and with the signs and blanks of a keyboard."""
    return word.translate(_KEYBOARD).strip()


def missing_signs(words: Collection[str]) -> set[str]:
    """Those of the words that stand for a missing cell: "?", "-" and "."; a minus beside a plus is a level."""
    signs = {word for word in words if word in MISSING_SIGNS}
    # In a column such as the results "+" and "-" of a test, the minus is a value.
    if "-" in signs and "+" in words:
        signs.remove("-")
    return signs


def is_number(word: str) -> bool:
    """Whether a word looks like a number in some format."""
    return _NUMBER.fullmatch(word) is not None


def is_date(word: str) -> bool:
    """Whether a word looks like a date, or a time of day."""
    return _DATE.fullmatch(word) is not None


def is_code(word: str) -> bool:
    """Whether a word is digits with a zero in front."""
    return _CODE.fullmatch(word) is not None


def decimals_shown(words: Collection[str]) -> set[str]:
    """The marks "." and "," that can be nothing but a decimal separator in some of the words."""
    return {mark for mark in _DECIMAL_MARK if any(_shows_decimal(word, mark) for word in words)}


def _shows_decimal(word: str, mark: str) -> bool:
    """Whether a word is a number in which the mark can be nothing but a decimal separator."""
    # A mark that occurs twice separates thousands. One mark is decimal if it follows a single 0 or no digit, or if
    # other than three digits follow it: 0.123, .123 and 12.5 show it, and 12.500 does not.
    if word.count(mark) != 1 or _DECIMAL_MARK[mark].search(word) is None:
        return False
    return is_number(word) and not is_date(word)
