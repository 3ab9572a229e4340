"""The rows of forward selection: labels, weights, which are held out, cells as codes; and counts of the codes."""

from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, column_or_1d

from ..core.arrays import Bool, Float, Int
from ..estimators import CategoricalNB
from ..naive_bayes import Statistics
from ..statistics import Counts


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


def check_weights(given: Any, X: Any) -> Float[np.ndarray, " n"]:
    """Weights of the rows, 1 where none are given."""
    return _check_sample_weight(given, X, dtype=np.float64, ensure_non_negative=True)


def nothing_to_select(n: int) -> ValueError:
    """What to say where no column can tell classes apart, in n rows with a target and a value."""
    if not n:
        return ValueError("`X`, `y` have no row with a target and a predictor; give at least one")
    return ValueError(
        f"`X` has no column with two observed categories in the {n} sample(s) that can be used, so there is nothing "
        "to select from"
    )


def _has_predictor(tables: list[np.ndarray], used: Bool[np.ndarray, " n"]) -> Bool[np.ndarray, " n"]:
    """Which rows have a value of some column that has two categories in the rows used."""
    found = np.zeros(len(used), bool)
    for table in tables:
        for column in table.T:
            held = column[used & ~np.isnan(column)]
            if len(held) and held.min() < held.max():
                found |= ~np.isnan(column)
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


def category_codes(
    rows: dict[str, np.ndarray], encoder: CategoricalNB, observed: list[np.ndarray]
) -> Int[np.ndarray, "d n"]:
    """Category of each cell among the observed ones, 0 … M−1; M where it is missing or was not observed."""
    d, n = len(observed), len(next(iter(rows.values())))
    codes = np.empty((d, n), np.int32)
    for name, group in encoder.block_columns().items():
        for i, j in enumerate(group):
            levels = len(encoder.categories_[j])
            place = np.full(levels + 1, len(observed[j]), np.int32)
            place[observed[j]] = np.arange(len(observed[j]))
            cell = rows[name][:, i]
            codes[j] = place[np.where(np.isnan(cell), levels, cell).astype(np.intp)]
    return codes


def observed_levels(levels: np.ndarray, observed: Int[np.ndarray, " m"]) -> np.ndarray:
    """The levels that rows have; other whole numbers than 0 … M−1 are labels rather than codes."""
    kept = levels[observed]
    return kept if np.array_equal(kept, np.arange(len(kept))) else kept.astype(object)


def split_rows(
    tables: list[np.ndarray],
    label: Int[np.ndarray, " n"],
    given: Bool[np.ndarray, " n"],
    share: Any,
    marked: Any,
    rng: np.random.Generator,
) -> tuple[Bool[np.ndarray, " n"], Bool[np.ndarray, " n"]]:
    """Training rows and held-out ones, among the rows given, of tables of codes that are NaN where missing.

    Parameters
    ----------
    share : of each class that is held out at random, None for no rows
    marked : None, or an array whose 1s mark the training rows
    """
    seen = given & _has_predictor(tables, given)
    if not seen.any():
        held = sum((~np.isnan(table)).any(1) for table in tables) > 0
        raise nothing_to_select(int((given & held).sum()))
    held_out = draw_held_out(label, seen, share, rng) if marked is None else _marked_rows(marked, seen)
    seen &= _has_predictor(tables, seen & ~held_out)  # one that training does not drop
    return seen & ~held_out, seen & held_out


def of_counts(
    nb: CategoricalNB, levels: list[np.ndarray], cells: list[np.ndarray], class_count: Float[np.ndarray, " c"]
) -> CategoricalNB:
    """An estimator with these levels of each column, and their counts (c, levels)."""
    nb.categories_, nb.n_categories_ = levels, np.array([len(one) for one in levels])
    blocks = {
        name: Counts(np.stack([cells[j] for j in group], 1), np.zeros((len(class_count), len(group))))
        for name, group in nb.block_columns().items()
    }
    return nb.with_statistics(Statistics(class_count, blocks))


def level_counts(nb: CategoricalNB) -> list[Float[np.ndarray, "c k"]]:
    """Counts of the levels of each column, out of the statistics."""
    places = {j: (name, i) for name, group in nb.block_columns().items() for i, j in enumerate(group.tolist())}
    return [nb.statistics_.blocks[name].n[:, i] for _, (name, i) in sorted(places.items())]
