"""The column of labels: what it holds, and labels that may be one label written in two ways."""

import difflib
import itertools
import re
from typing import NamedTuple

import numpy as np
import pandas as pd

from .columns import FEW_ROWS, LISTED, Column
from .number_text import NumberFormat, clean_word

_MANY_CLASSES = 20
_SHOWN_PAIRS = 4
_RARE_SHARE = 0.1  # a label that may stand for a missing one, or be a slip, has at most this share of rows
_NO_LABEL = re.compile(r"[\W_]*|unknown|missing", re.IGNORECASE)


class DescribedTarget(NamedTuple):
    """The column of labels, with the role "target", and notes on its labels.

    Fields
    ------
    column : with a warning if it holds measurements
    notes : one for each possible problem: labels that are spelled alike, that may stand for a missing one, or that are
        very many
    """

    column: Column
    notes: tuple[str, ...]


def described_target(known: pd.Series, column: Column) -> DescribedTarget:
    """The column of labels, with a warning if it holds measurements, and notes on what to look at.

    Parameters
    ----------
    known : the labels that are not missing
    column : the column as it was judged as a feature
    """
    if column.why.startswith("lists"):
        raise ValueError(f"column {column.name!r} holds {column.why}; choose another target")
    # The different labels: the rows of each, the most frequent first; their text; and the number that each text stands
    # for in the number format of the column, by default with a decimal point.
    counts = known.value_counts()
    words = [clean_word(str(label)) for label in counts.index]
    numbers = (column.written or NumberFormat(".")).read(words)  # NaN of labels that are none

    # Each text is "" where there is nothing to say; such notes are left out at the end. `_plain_spelling` writes labels
    # without what two spellings of one label differ in, such as case and blanks.
    warning = _warning_of_measurements(column, words, numbers, len(known))
    notes = [
        _note_on_similar_labels(column.name, counts, _plain_spelling(words, numbers)),
        _note_on_missing_labels(column.name, counts, len(known)),
    ]
    if len(counts) > _MANY_CLASSES and not warning:
        n_single = int((counts == 1).sum())
        notes.append(f"target {column.name!r} has {len(counts)} classes, {n_single} of them in a single row")
    if warning:
        notes.append(f"target {column.name!r} {warning}")

    described = Column(
        column.name, "target", f"{len(counts)} classes", len(counts), column.missing, column.example, warning
    )
    return DescribedTarget(described, tuple(filter(None, notes)))


def _warning_of_measurements(column: Column, words: list[str], numbers: np.ndarray, n: int) -> str:
    """What is said of labels that are measurements; "" if they are classes.

    Measurements are numbers with fractions, unless a currency or percent sign makes names of them; or nearly as many
    different numbers as rows.

    Parameters
    ----------
    words, numbers : the different labels as text and as numbers, NaN of text
    n : rows with a label
    """
    has_numbers = column.low is not None  # a column without a range has none
    if not has_numbers or column.words:  # or there are words among them
        return ""

    # Fractions such as 2.5 are measurements; with a sign, as in "2.5 %", they are names of classes.
    has_sign = column.written is not None and column.written.sign
    fractions = [word for word, number in zip(words, numbers, strict=True) if np.isfinite(number) and number % 1 > 0]
    if fractions and not has_sign:
        return f"holds measurements such as {fractions[0]}, not classes; bin it or name another"

    # nearly as many different numbers as rows: more than half of the rows, and more than 20
    differ_nearly_all = len(words) > max(n / 2, _MANY_CLASSES)
    if n >= FEW_ROWS and differ_nearly_all:
        return f"holds {len(words)} different numbers in {n} rows, which are measurements; bin it or name another"
    return ""


def _plain_spelling(words: list[str], numbers: np.ndarray) -> list[str]:
    """Labels without case and blanks, and numbers in one way, of the 100 most frequent ones: what two spellings share.

    Parameters
    ----------
    words, numbers : the different labels as text and as numbers, NaN of text, the most frequent first
    """
    # "2" and "2.0" both become "2.0", "Not known" and "notknown" both "notknown". Pairs of labels are compared later,
    # so that no more than 100 labels are looked at.
    plain = []
    for word, number in list(zip(words, numbers.tolist(), strict=True))[:LISTED]:
        is_number = not np.isnan(number)
        plain.append(str(number) if is_number else word.casefold().replace(" ", ""))
    return plain


def _note_on_similar_labels(name: str, counts: pd.Series, plain: list[str]) -> str:
    """What is said of labels that are spelled alike, or nearly, when one of them is rare; "" if there are none.

    Parameters
    ----------
    name : of the column
    counts : rows of each label, the most frequent first
    plain : labels in the same order, without what two spellings of a label differ in
    """
    # Each pair of labels i < j, of which i is the more frequent one. A slip in a letter is rare beside the right
    # spelling, with at most 2 rows, or a tenth of the other's; while "cat" and "bat" may both be classes.
    pairs = []
    for i, j in itertools.combinations(range(len(plain)), 2):
        n_first = counts.iloc[i]
        n_second = counts.iloc[j]
        are_equal = plain[i] == plain[j]  # but for case and blanks
        is_rare = n_second <= max(2, n_first * _RARE_SHARE)
        if are_equal or (is_rare and _one_letter_apart(plain[i], plain[j])):
            pairs.append(f"{counts.index[i]!r} ({n_first} rows) and {counts.index[j]!r} ({n_second})")
    if not pairs:
        return ""

    shown = ", ".join(pairs[:_SHOWN_PAIRS])
    if len(pairs) > _SHOWN_PAIRS:
        shown += " …"
    fault = "that differ only in how they are written, or in one letter, are classes of their own"
    return f"labels of {name!r} {fault}: {shown}"


def _note_on_missing_labels(name: str, counts: pd.Series, n: int) -> str:
    """What is said of rare labels that may stand for a missing label, such as "?"; "" if there are none.

    Parameters
    ----------
    name : of the column
    counts : rows of each label
    n : rows with a label
    """
    # At most a tenth of the rows. `_NO_LABEL` is text without a letter or digit, such as "?" or "--", or the word
    # "unknown" or "missing".
    rare = counts[counts <= n * _RARE_SHARE]
    gaps = [f"{label!r} ({m} rows)" for label, m in rare.items() if _NO_LABEL.fullmatch(str(label))]
    if not gaps:
        return ""
    return f"labels of {name!r} that may stand for a missing one: {', '.join(gaps)}; leave these cells empty"


def _one_letter_apart(word: str, other: str) -> bool:
    """Whether a letter that is added, left out or changed makes one word the other; a digit has its own meaning.

    difflib's ratio is 2 · common letters / letters of both words: 1 − 1/longest for one letter that is changed.
    """
    # Words of one or two letters, such as "a" and "b", are all near each other. Numbers such as "10" and "11" differ in
    # what they mean.
    longest = max(len(word), len(other))
    difference_of_lengths = abs(len(word) - len(other))
    has_digits = any(map(str.isdigit, word + other))
    if longest < 3 or difference_of_lengths > 1 or has_digits:
        return False
    ratio = difflib.SequenceMatcher(None, word, other).ratio()
    return ratio >= 1 - 1 / longest - 1e-9  # 1e-9 is for rounding


def is_copy_of_target(cells: pd.Series, labels: pd.Series) -> bool:
    """Whether each value of a column goes with one label, and each label with one value, in the rows that have both.

    Parameters
    ----------
    cells, labels : (n,) cells of the column, and labels, in the same rows
    """
    # `factorize` numbers the different values 0, 1, …; −1 is a missing cell.
    codes, _ = pd.factorize(cells)
    label_codes, _ = pd.factorize(labels)
    has_both = (codes >= 0) & (label_codes >= 0)  # (n,)

    # the different pairs of a value and a label; few rows, or a single pair, show nothing
    pairs = {*zip(codes[has_both].tolist(), label_codes[has_both].tolist(), strict=True)}
    if has_both.sum() < FEW_ROWS or len(pairs) < 2:
        return False

    # One to one: as many pairs as values, and as labels. A value that goes with two labels is in two pairs, so that
    # there are more pairs than values.
    n_values = len({value for value, _ in pairs})
    n_labels = len({label for _, label in pairs})
    return n_values == n_labels == len(pairs)
