"""What forward selection is given: its settings, labels, and which rows train and which are held out."""

from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from ..columns import listed
from ..core.arrays import Bool, Int
from ..core.supports import check_choice
from .binning import whole_number


def check_settings(settings: Any) -> str:
    """The criterion in force; raises ValueError on settings out of range."""
    if settings.max_features != "auto":
        whole_number("max_features", settings.max_features)
    if settings.exact_features is not None:
        whole_number("exact_features", settings.exact_features)
        if settings.max_features != "auto":
            raise ValueError("`max_features` and `exact_features` are both given; leave one of them out")
    if settings.normalizer == "simulated":
        whole_number("n_simulated", settings.n_simulated)
    check_choice("criterion", settings.criterion, ("auto", "bic", "test"))
    check_choice("normalizer", settings.normalizer, ("exact", "simulated"))
    check_choice("denominator", settings.denominator, ("N", "N'"))
    if settings.test_share is not None and settings.partition is not None:
        raise ValueError("`test_share` and `partition` are both given; leave one of them out")
    holds_out = settings.test_share is not None or settings.partition is not None
    if settings.criterion == "test" and not holds_out:
        raise ValueError(
            "`criterion` is 'test', but no rows are held out; give `test_share`, such as 0.3, or `partition`"
        )
    if settings.test_share is not None and not (np.isreal(settings.test_share) and 0 < settings.test_share < 1):
        raise ValueError(f"`test_share` is {settings.test_share!r}; it needs to lie between 0 and 1")
    if settings.criterion == "auto":
        return "test" if holds_out else "bic"
    return settings.criterion


def column_positions(found: str, columns: Any, names: list[Any], advice: str = "the columns are") -> list[int]:
    """Numbers of columns given by name or number, in the order given; ValueError where there is no such column."""
    positions: dict[int, None] = {}
    for column in [columns] if isinstance(columns, str) else columns:
        if column not in (names if isinstance(column, str) else range(len(names))):
            raise ValueError(f"{found} {column!r}, which is not a column of `X`; {advice} {listed(names)}")
        positions[names.index(column) if isinstance(column, str) else int(column)] = None
    return list(positions)


def count_steps(settings: Any, candidates: int, usable: int) -> int:
    """How many predictors are added to the forced ones: J_max less their number."""
    if settings.exact_features is not None:
        if settings.exact_features > candidates:
            raise ValueError(
                f"`exact_features` is {settings.exact_features}, but only {candidates} predictors with at least two "
                "observed categories can be added to the forced ones; give at most that number"
            )
        return int(settings.exact_features)
    if settings.max_features != "auto":
        return min(int(settings.max_features), candidates)
    return min(candidates, 100, max(20, usable // 5))


def check_labels(y: Any) -> tuple[np.ndarray, Bool[np.ndarray, " n"]]:
    """Labels as an array, and where they are there."""
    if y is None:
        raise ValueError("ForwardSelection requires y to be passed, but the target y is None")
    y = column_or_1d(y, warn=True)
    there = ~pd.isna(y)
    if y.dtype.kind == "f" and np.isinf(y).any():
        raise ValueError("`y` contains infinity; give labels, with None or NaN for missing ones")
    if not there.any():
        raise ValueError("`y` has no label, and rows without a label are ignored; give at least one label")
    if y.dtype == object:  # numbers beside None
        found = pd.Series(y[there]).infer_objects().to_numpy()
        filled = np.full(len(y), found[0], dtype=found.dtype)
        filled[there] = found
        y = filled
    check_classification_targets(y[there])
    return y, there


def _has_predictor(codes: Int[np.ndarray, "d n"], used: Bool[np.ndarray, " n"]) -> Bool[np.ndarray, " n"]:
    """Which rows have a value of some column that has two categories in the rows used."""
    found = np.zeros(len(used), bool)
    for row in codes:
        if len(np.unique(row[used & (row >= 0)])) > 1:
            found |= row >= 0
    return found


def _marked_rows(partition: Any, used: Bool[np.ndarray, " n"]) -> Bool[np.ndarray, " n"]:
    """Rows of the test sample: those used whose value is not 1 (or True); ValueError where one sample is empty."""
    value = pd.Series(np.asarray(partition, dtype=object))
    if len(value) != len(used):
        raise ValueError(f"`partition` has {len(value)} values for the {len(used)} rows of `X`; give one for each row")
    held_out = used & ~(value == 1).to_numpy()
    for rows, what in ((used & ~held_out, "training rows, which have 1"), (held_out, "rows to hold out")):
        if not rows.any():
            raise ValueError(f"`partition` leaves no {what} among the {used.sum()} usable rows; mark others")
    return held_out


def draw_held_out(
    label: Int[np.ndarray, " n"], used: Bool[np.ndarray, " n"], share: Any, rng: np.random.Generator
) -> Bool[np.ndarray, " n"]:
    """Rows of the test sample: a share of each class, but never all of it."""
    held_out = np.zeros(len(label), bool)
    if share is None:
        return held_out
    for k in np.unique(label[used]):
        rows = np.flatnonzero(used & (label == k))
        held_out[rng.choice(rows, min(round(share * len(rows)), len(rows) - 1), replace=False)] = True
    if not held_out.any():
        raise ValueError(f"`test_share` is {share}, which holds out none of {used.sum()} rows; give a larger share")
    return held_out


def split_rows(
    codes: Int[np.ndarray, "d n"],
    label: Int[np.ndarray, " n"],
    given: Bool[np.ndarray, " n"],
    share: Any,
    marked: Any,
    rng: np.random.Generator,
) -> tuple[Bool[np.ndarray, " n"], Bool[np.ndarray, " n"]]:
    """Training rows and held-out ones, among the rows given, of codes that are −1 where a cell is missing.

    Parameters
    ----------
    share : of each class that is held out at random, None for no rows
    marked : None, or an array whose 1s mark the training rows
    """
    seen = given & _has_predictor(codes, given)
    if seen.any():
        held_out = draw_held_out(label, seen, share, rng) if marked is None else _marked_rows(marked, seen)
        seen &= _has_predictor(codes, seen & ~held_out)  # one that training does not drop
        if seen.any():
            return seen & ~held_out, seen & held_out
    n = int((given & (codes >= 0).any(0)).sum())
    if not n:
        raise ValueError("`X`, `y` have no row with a target and a predictor; give at least one")
    raise ValueError(
        f"`X` has no column with two observed categories in the {n} sample(s) that can be used, so there is nothing "
        "to select from"
    )
