"""Names of roles and data sets, and how names are shown in messages; importing this loads no other package."""

import difflib
from collections.abc import Iterable
from typing import Any

ROLES = ("numbers", "counts", "yes/no", "levels")
"""What a column that is used can be."""

DATE = "date"
"""The role of a column whose year, month, weekday and hour are used instead of it."""

DATE_ROLES = (DATE, "date:ymd", "date:dmy", "date:mdy")
"""It as the user asks for it: with the order of year, month and day where no cell shows it."""

MODEL_KINDS = ("plain", "calibrated", "discriminative")
"""Models of all columns, each by its own role: what `choose_predictor` chooses from."""

DATA_SETS = ("iris", "wine", "breast_cancer", "digits", "votes", "penguins")
"""The names that `bayesnb.datasets.load` knows."""

COUNT_WORDS = (
    "count the words with scikit-learn's CountVectorizer and give the counts to MultinomialNB, as "
    "examples/twenty_newsgroups.py does"
)
"""What to do with documents."""


def shorten(value: Any, most: int = 28) -> str:
    """A value as text, a long one cut."""
    text = str(value)
    if len(text) <= most:
        return text
    return f"{text[: most - 1]}…"


def listed(names: Iterable[Any], most: int = 8) -> str:
    """The names in quotes, the first few of many: "'a', 'b' and 3 more"; "none" of no names.

    Parameters
    ----------
    names : any values; each is shown as Python writes it, cut to 60 letters
    most : number of names to show
    """
    quoted = [shorten(repr(name), 60) for name in names]
    text = ", ".join(quoted[:most]) or "none"
    if len(quoted) > most:
        return f"{text} and {len(quoted) - most} more"
    return text


def did_you_mean(name: Any, names: Iterable[Any]) -> str:
    """The question "; did you mean 'price'?" about a name that is nearly one of the names; "" if it is near none."""
    similar = difflib.get_close_matches(str(name), [str(other) for other in names], n=1)
    if not similar:
        return ""
    return f"; did you mean {similar[0]!r}?"


def as_sentence(text: str) -> str:
    """Text with a capital letter and a full stop."""
    sentence = text[:1].upper() + text[1:]
    if sentence.endswith((".", "?")):
        return sentence
    return f"{sentence}."
