"""Features with levels: which levels a column has, and the place of each cell among them."""

import itertools
import numbers
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from ..naive_bayes import Rows
from ._base import AbstractNB
from ._fitted import State

_MOST = 1 << 20  # levels of a feature of whole numbers


class AbstractLevels(AbstractNB):
    """What estimators of features with levels share: the levels, in the order in which they are counted.

    The encoding is a list of the levels of each column; it is empty for a column of which no cell was seen. A subclass
    says how its counts are moved to other levels (`_moved`).
    """

    min_categories: Any
    _takes_text = True
    _advice = "Bin the column, or pass it as strings (on the command line: --columns NAME=levels)."

    @property
    def categories_(self) -> list[np.ndarray]:
        """Levels of each feature; of a column without a single cell the code 0."""
        return _known_levels(self._known())

    def levels_of(self, feature: int) -> Any:
        """Labels of the levels of a column. Provisional."""
        return self.categories_[feature]

    @property
    def n_categories_(self) -> np.ndarray:
        """Number of levels of each feature, (d,)."""
        return sizes_of(self._known())

    def _recode(self, state: State, levels: list[np.ndarray]) -> State:
        """The state by other levels, which hold all that were known; with its statistics, if there are any."""
        after, held = replace(state, encoding=levels), state.statistics
        if held is None or all(map(np.array_equal, levels, state.encoding)):
            return after
        return replace(after, statistics=replace(held, blocks=self._moved(state, after)))

    def _moved(self, state: State, after: State) -> dict[str, Any]:
        """The counts of a state at the levels of another one."""
        raise NotImplementedError

    def _learn_encoding(self, state: State, X: Any) -> State:
        """Declared levels, else 0 … max of whole numbers, else the values seen, sorted; or none."""
        least, levels, bad = self._least(state.columns.n), [], []
        for j, (cells, declared) in enumerate(columns_of(_largest(X))):
            found = _as_numbers(cells[~pd.isna(cells)]) if declared is None else None
            if declared is not None:
                levels.append(declared)  # declared numbers are names; only codes 0 … K−1 are an array of integers
            elif found is None:
                levels.append(_distinct(cells))
            elif (odd := (found < 0) | (found != np.floor(found)) | (found >= _MOST)).any():
                bad.append((found[odd].min(), j))
            else:
                levels.append(np.arange(max(int(found.max()) + 1, least[j]) if len(found) else 0))
        if bad:
            (value, j), name = min(bad), type(self).__name__
            what = f"Negative values in data passed to {name}: " if value < 0 else ""
            codes = f"{name} takes whole numbers as codes 0 … K−1. {self._advice}"
            raise ValueError(f"{what}`X` has {value:g} in column {state.columns.label(j)}; {codes}")
        return self._recode(state, levels if state.encoding is None else [*map(_union, state.encoding, levels)])

    def _united(self, state: State, other: State) -> State:
        levels = [*map(_union, state.encoding, other.encoding)]
        return super()._united(self._recode(state, levels), self._recode(other, levels))

    def _codes(self, state: State, X: Any) -> np.ndarray:
        """The place of each cell among the levels of its column, (n, d); NaN where it is missing or unknown."""
        if isinstance(X, np.ndarray) and X.dtype.kind in "biuf" and all(v.dtype.kind == "i" for v in state.encoding):
            return _code_table(X, np.array([len(levels) for levels in state.encoding]))
        pairs = zip(columns_of(X), state.encoding, strict=True)
        return np.stack([_codes_of(c, levels, state.columns.label(j)) for j, ((c, _), levels) in enumerate(pairs)], 1)

    def _as_input(self, state: State, rows: Rows) -> np.ndarray:
        codes: dict[int, np.ndarray] = {}
        for name, at in self.block_columns(state).items():
            codes |= dict(zip(at.tolist(), rows[name].T.astype(int), strict=True))
        return np.stack([levels[codes[j]] for j, levels in enumerate(_known_levels(state))], 1)

    def _least(self, d: int) -> list[int]:
        """`min_categories` for each feature."""
        value = np.asarray(0 if self.min_categories is None else self.min_categories)
        whole = value.dtype.kind in "iu" and value.shape in ((), (d,))
        if not whole or value.min(initial=0) < 0 or value.max(initial=0) > _MOST:
            needs = f"whole numbers from 0 to {_MOST}, of shape () or ({d},)"
            raise ValueError(f"`min_categories` is {self.min_categories!r}; it needs {needs}")
        return np.broadcast_to(value, d).tolist()


def _known_levels(state: State) -> list[np.ndarray]:
    return [levels if len(levels) else np.arange(1) for levels in state.encoding]


def sizes_of(state: State) -> np.ndarray:
    """Number of levels of each column, at least one, (d,)."""
    return np.array([*map(len, _known_levels(state))])


def places_among(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """Where levels stand among others, which hold them."""
    return pd.Index(after).get_indexer(pd.Index(before))


def columns_of(X: Any) -> list[tuple[np.ndarray, np.ndarray | None]]:
    """Columns of an array or data frame, each with the levels that its type declares, if any."""
    if isinstance(X, np.ndarray):
        return [(column, None) for column in X.T]
    if sparse.issparse(X):  # the stored cells, and a zero
        X = sparse.csc_array(X)
        return [(np.append(X.data[start:end], 0), None) for start, end in itertools.pairwise(X.indptr)]
    columns: list[Any] = []
    for _, column in X.items():
        if isinstance(column.dtype, pd.CategoricalDtype):
            declared = column.dtype.categories.to_numpy(dtype=object)  # beside a gap pandas would make floats of them
            columns.append((np.append(declared, np.nan)[column.cat.codes], declared))
        else:
            columns.append((column.to_numpy(dtype=object), None))
    return columns


def _largest(X: Any) -> Any:
    """Of an array of integers one cell below 0 or the largest of each column: its levels depend on nothing else."""
    is_whole = isinstance(X, np.ndarray) and X.dtype.kind in "iu" and X.size
    return _as_unsigned(X).max(0, keepdims=True).astype(X.dtype) if is_whole else X


def _as_unsigned(X: np.ndarray) -> np.ndarray:
    """The same integers, of which those below 0 are larger than any other."""
    return X.view(X.dtype.str.replace("i", "u"))


def _code_table(X: np.ndarray, n_levels: np.ndarray) -> np.ndarray:
    """Whole numbers as they are where all are levels 0 … K−1 of their column, else with NaN for those that are not."""
    if X.dtype.kind in "iu" and X.size and (_as_unsigned(X).max(0) < n_levels).all():
        return X
    return _valid(X.astype(float), n_levels)


def _valid(codes: np.ndarray, n_levels: Any) -> np.ndarray:
    """Numbers that are levels 0 … K−1; NaN for others."""
    return np.where((codes >= 0) & (codes < n_levels) & (codes == np.floor(codes)), codes, np.nan)


def _as_numbers(values: np.ndarray) -> np.ndarray | None:
    """Values as floats if all are real numbers, else None."""
    if values.dtype == object and not all(isinstance(value, numbers.Real) for value in values.tolist()):
        return None
    try:
        return values.astype(float) if values.dtype.kind in "biufO" else None
    except OverflowError:  # a whole number too large for a float is a name
        return None


def _distinct(cells: np.ndarray) -> np.ndarray:
    """The values of a column, sorted."""
    seen = cells[~pd.isna(cells)]
    return np.array(sorted(set(seen.tolist()), key=lambda one: (type(one).__name__, one)), dtype=object)


def _codes_of(values: np.ndarray, levels: np.ndarray, label: str) -> np.ndarray:
    """Position of each value among the levels; NaN where it is missing or unknown.

    Warns where all are unknown because one side is text and the other is numbers.
    """
    if levels.dtype.kind == "i" and (codes := _as_numbers(np.where(pd.isna(values), np.nan, values))) is not None:
        return _valid(codes, len(levels))
    code = pd.Index(levels).get_indexer(pd.Index(values, dtype=object)).astype(float)
    if len(code) and code.max() < 0:
        asked, known = values[~pd.isna(values)].tolist(), levels.tolist()
        if asked and known and isinstance(asked[0], str) != isinstance(known[0], str):
            warnings.warn(
                f"`X` has no known level in column {label}, because text is not a number: it has {asked[0]!r}, and the "
                f"levels are like {known[0]!r}. The column is left out; convert it to the type that was fitted",
                stacklevel=2,
            )
    return np.where(code < 0, np.nan, code)


def _union(old: np.ndarray, new: np.ndarray) -> np.ndarray:
    """Old levels in their order, then those that are new."""
    if not len(old) or not len(new) or old.dtype.kind == new.dtype.kind == "i":
        return max(old, new, key=len)
    known = set(old.tolist())
    added = [level for level in new.tolist() if level not in known]
    return np.concatenate([old.astype(object), np.array(added, dtype=object)]) if added else old
