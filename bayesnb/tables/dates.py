"""Dates as columns that a model can use: the year as a number; month, weekday and hour as levels.

Month, weekday and hour are circular: December is beside January. As levels they have no order, and so no far ends.
"""

import datetime
import re
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import pandas as pd

from .number_text import MISSING_SIGNS

PARTS = {"year": "numbers", "month": "levels", "weekday": "levels", "hour": "levels"}
"""What is made of a date, with the role of each column."""

ORDERS = {"ymd": "year, month, day", "dmy": "day, month, year", "mdy": "month, day, year"}
"""How text writes a date, by the order of its numbers."""

# English on every machine, unlike those of the locale
_MONTHS = "January February March April May June July August September October November December".split()
_WEEKDAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
_FIRST_CENTURY_20 = 69  # of years of two digits: 69 is 1969 and 68 is 2068, as for Python's `strptime`
_CLOCK = r"(?P<hour>\d{1,2}):\d{2}(?::\d{2}(?:[.,]\d+)?)?(?: ?(?P<half>[AaPp])\.?[Mm]\.?)?"  # 8:15 or 08:15:00.5 pm
_TIME = rf"(?:[T ,]+{_CLOCK}(?:Z| ?[+-]\d{{2}}:?\d{{2}})?)?"  # with a time zone, or no time at all
_DATE = re.compile(r"(?P<first>\d{1,4})[-/.](?P<second>\d{1,2})[-/.](?P<third>\d{1,4})" + _TIME)
_DIGITS = re.compile(r"(?P<first>\d{4})(?P<second>\d{2})(?P<third>\d{2})(?:\.0)?" + _TIME)  # 20240131


class DateWords(NamedTuple):
    """The different words of a column of dates, and which of them each cell holds.

    Fields
    ------
    codes : (n,) position of the word of each cell among `words`, −1 of a missing cell
    words : the different words, as text
    """

    codes: np.ndarray
    words: list[str]


def date_words(cells: pd.Series) -> DateWords:
    """The different dates of a column, as text. A cell is text, a number such as 20240131, or a date of pandas."""
    texts = cells.astype(object).map(lambda value: str(value).strip(), na_action="ignore")
    texts = texts.where(~texts.isin(("", *MISSING_SIGNS)), None)
    codes, words = pd.factorize(texts)
    return DateWords(codes, [str(word) for word in words])


def date_order(words: Iterable[str]) -> str:
    """The order in which most words are dates: "ymd", "dmy" or "mdy".

    A year of four digits shows its place, and a day of 13 and more too. Points are written between day and month, in
    this order.

    Raises
    ------
    ValueError
        if nothing shows whether the day or the month is in front: 01/02/2024 is in January or in February
    """
    words = list(words)
    n_dates = {order: sum(moment(word, order) is not None for word in words) for order in ORDERS}
    n_most = max(n_dates.values())
    fitting = [order for order, n in n_dates.items() if n == n_most]  # "ymd" is the first, if it is among them
    is_undecided = n_most > 0 and {"dmy", "mdy"} <= {*fitting}
    if not is_undecided:
        return fitting[0]
    if any("." in word for word in words):
        return "dmy"
    raise ValueError(f"{words[0]!r} may have the day or the month in front, and no other cell decides it")


def moment(word: str, order: str) -> datetime.datetime | None:
    """The date and hour that a word stands for; None if it stands for none in this order.

    Parameters
    ----------
    word : such as "2024-01-31", "31.1.24 8:15" or "20240131"
    order : of year, month and day: "ymd", "dmy" or "mdy"
    """
    match = _DATE.fullmatch(word) or _DIGITS.fullmatch(word)
    if match is None:
        return None
    # "dmy" and the numbers 31, 1, 24 give d = "31", m = "1", y = "24"
    number_of = dict(zip(order, (match["first"], match["second"], match["third"]), strict=True))
    if len(number_of["y"]) not in (2, 4) or len(number_of["d"]) > 2:
        return None
    year = int(number_of["y"])
    if len(number_of["y"]) == 2:
        year += 1900 if year >= _FIRST_CENTURY_20 else 2000

    hour = int(match["hour"] or 0)
    if match["half"]:  # 12 am is midnight, and 12 pm is noon
        hour = hour % 12 + (12 if match["half"] in "Pp" else 0)
    try:
        return datetime.datetime(year, int(number_of["m"]), int(number_of["d"]), hour)
    except ValueError:  # there is no 31 April
        return None


def has_hours(words: Iterable[str], order: str) -> bool:
    """Whether a date has an hour other than midnight; files write days without a time as 2024-01-31 00:00:00."""
    moments = [moment(word, order) for word in words]
    return any(when is not None and when.hour > 0 for when in moments)


def part_of(when: datetime.datetime | None, part: str) -> float | str | None:
    """The year of a date as a number, or its month, weekday or hour as a word; missing of None.

    Months and weekdays have English names. An hour is written "08h", as plain digits would be taken for numbers.
    """
    if part == "year":
        return np.nan if when is None else float(when.year)
    if when is None:
        return None
    if part == "month":
        return _MONTHS[when.month - 1]
    if part == "weekday":
        return _WEEKDAYS[when.weekday()]
    return f"{when.hour:02d}h"


def date_parts(dates: DateWords, order: str, parts: Iterable[str], index: pd.Index) -> dict[str, pd.Series]:
    """Some parts of each date, by name: (n,) each, missing where the cell is missing or no date.

    Parameters
    ----------
    dates : the words of the column
    order : of their numbers: "ymd", "dmy" or "mdy"
    parts : of "year", "month", "weekday" and "hour"
    index : of the rows
    """
    moments = [moment(word, order) for word in dates.words]
    columns = {}
    for part in parts:
        values = [part_of(when, part) for when in [*moments, None]]  # the last is that of a missing cell, code −1
        kind = float if part == "year" else object
        columns[part] = pd.Series(np.array(values, kind)[dates.codes], index)
    return columns
