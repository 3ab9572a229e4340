"""Categorical naive Bayes for scikit-learn users."""

import copy
import functools
import itertools
import numbers
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.utils import Tags

from ..core.pytrees import map_leaves
from ..core.threads import in_order
from ..families.categorical import DirichletCategorical
from ..naive_bayes import Rows, Statistics
from ..statistics import Counts
from ..sums.rows import slices
from ._base import AbstractNB
from ._column_types import warn_of_types
from ._input import of_any_type


class AbstractLevels(AbstractNB):
    """What estimators of features with levels share: the levels, in the order in which they are counted.

    A subclass says how its statistics count them (`_counts`), and moves them to other levels (`_recode`).
    """

    categories_: list[np.ndarray]
    n_categories_: np.ndarray
    min_categories: Any
    _advice = "Bin the column, or pass it as strings (on the command line: --columns NAME=levels)."

    def _validate(self, X: Any, **checks: Any) -> Any:
        return of_any_type(self, X, accept_sparse="csr" if self._cells.sparse else False, **checks)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        return tags

    def _counts(self) -> list[np.ndarray]:
        """Counts (c, k_j) of every feature, out of the statistics."""
        raise NotImplementedError

    def _recode(self, levels: list[np.ndarray]) -> None:
        """Statistics by other levels, which hold all that were known."""
        raise NotImplementedError

    def _learn_encoding(self, X: Any, reset: bool) -> None:
        columns = columns_of(_ends(X))
        codes = [None if declared is not None else _as_numbers(cells[~pd.isna(cells)]) for cells, declared in columns]
        for j, seen in enumerate(codes):
            if seen is not None and seen.min(initial=0) < 0:
                raise ValueError(
                    f"Negative values in data passed to {type(self).__name__}: `X` has {seen.min():g} in column "
                    f"{self._label(j)}; whole numbers must be codes 0 … K−1. {self._advice}"
                )
        least = self._least(len(columns))
        found = [self._levels(j, *column, codes[j], least[j]) for j, column in enumerate(columns)]
        if reset:
            self._set_levels(found)
        else:
            self._recode([_union(old, new) for old, new in zip(self._known(), found, strict=True)])

    def _levels(self, j: int, values: np.ndarray, declared: Any, codes: np.ndarray | None, least: int) -> np.ndarray:
        """Levels of a feature: declared ones, else 0 … max of whole numbers, else the values seen, sorted; or none."""
        if declared is not None:
            return declared  # declared numbers are names; only codes 0 … K−1 are an array of integers
        label = self._label(j)
        if codes is None:
            seen = values[~pd.isna(values)]
            with _hashable(seen, label):
                levels = sorted(set(seen.tolist()), key=lambda value: (type(value).__name__, value))
            return np.array(levels, dtype=object)
        if (odd := (codes != np.floor(codes)) | (codes >= _MOST)).any():
            needs = f"{type(self).__name__} takes whole numbers as codes 0 … K−1. {self._advice}"
            raise ValueError(f"`X` has {codes[odd][0]:g} in column {label}; {needs}")
        return np.arange(max(int(codes.max()) + 1, least) if len(codes) else 0)

    def _set_levels(self, levels: list[np.ndarray]) -> None:
        """A feature of which nothing is known yet has its codes, at least one level."""
        least = self._least(len(levels))
        levels = [one if len(one) else np.arange(max(k, 1)) for one, k in zip(levels, least, strict=True)]
        self.categories_ = levels
        self.n_categories_ = np.array([len(one) for one in levels])

    def _known(self) -> list[np.ndarray]:
        """Levels of each feature; none where all cells so far were missing."""
        least = self._least(self.n_features_in_)
        return [
            levels[:0] if levels.dtype.kind == "i" and len(levels) <= max(k, 1) and not counts.any() else levels
            for levels, counts, k in zip(self.categories_, self._counts(), least, strict=True)
        ]

    def _codes(self, X: Any) -> np.ndarray:
        """The place of each cell among the levels of its column, (n, d); NaN where it is missing or unknown."""
        if isinstance(X, np.ndarray) and X.dtype.kind in "biuf" and all(v.dtype.kind == "i" for v in self.categories_):
            return code_table(X, self.n_categories_)
        pairs = zip(columns_of(X), self.categories_, strict=True)
        return np.stack([codes_of(cells, levels, self._label(j)) for j, ((cells, _), levels) in enumerate(pairs)], 1)

    def _unite(self, other: Any) -> Statistics:
        other = copy.copy(other)
        levels = [_union(*pair) for pair in zip(self._known(), other._known(), strict=True)]
        for one in (self, other):
            one._recode(levels)
        return self._conditioned.statistics + other.statistics_

    def _least(self, d: int) -> list[int]:
        """`min_categories` for each feature."""
        value = np.asarray(0 if self.min_categories is None else self.min_categories)
        if not np.issubdtype(value.dtype, np.integer) or value.shape not in ((), (d,)):
            raise ValueError(
                f"`min_categories` is {self.min_categories!r}; 'min_categories' should have shape ({d},), or be one "
                "number, and be whole"
            )
        if value.min(initial=0) < 0 or value.max(initial=0) > _MOST:
            raise ValueError(f"`min_categories` is {self.min_categories!r}; it needs to be from 0 to {_MOST}")
        return np.broadcast_to(value, d).tolist()


@dataclass(kw_only=True, eq=False, repr=False)
class CategoricalNB(AbstractLevels):
    """Naive Bayes for features with levels: θ_cj ~ Dirichlet(α), x_ij | y_i = c ~ Categorical(θ_cj).

    Parameters
    ----------
    alpha : float or (d,), default 1
        pseudo-count of each level in each class, positive
    force_alpha : bool, default True
        with False, an alpha below 1e-10 becomes 1e-10, as in scikit-learn
    prior : optional
        your own prior. It may be a NumPyro distribution such as `dist.Dirichlet([5, 1, 1])`, with one pseudo-count a
        level, a mapping of fields such as `{"alpha": [5, 1, 1]}`, or a family. A mapping from column (name or
        position), or from (column, level), to one of these sets the prior of single columns. The other columns keep the
        default. See the guide "Which prior?"
    fit_prior : bool, default True
        whether the class probabilities are learnt; with False they are equal
    class_prior, priors : (c,), optional
        fixed class probabilities; both names mean the same
    min_categories : int, (d,) or None, default None
        smallest number of levels of a feature of whole numbers; its levels are 0 … max
    class_alpha : float or (c,), default 1
        Dirichlet concentration of the class probabilities; it is used when they are learnt
    estimate : "predictive" (default), "mean", "map" or "mle"
        what prediction uses

    Attributes
    ----------
    categories_ : list of d arrays
        levels of each feature. Whole numbers have the levels 0 … max, and a pandas categorical has its declared
        categories. Other features have the values that occur, sorted
    n_categories_ : (d,)
        number of levels of each feature
    classes_, n_features_in_, feature_names_in_ : as in scikit-learn
    statistics_, prior_, posterior_ : the sufficient statistics, and `NaiveBayes` before and after the rows. Features
        with the same number k of levels form the block `levels_k`
    log_evidence_ : log p(X, y) in nats

    Notes
    -----
    Cells are strings, pandas categoricals or whole numbers. A data frame or an object array may mix them. NaN, None and
    pandas.NA are missing cells and are left out. Prediction also leaves out a level that was not in the training rows;
    it warns if no cell of a column is known because one side is text and the other is numbers.
    `partial_fit` adds new levels when they occur. Sparse rows hold whole numbers; an empty cell is level 0.

    Examples
    --------
    >>> import pandas as pd
    >>> from bayesnb import CategoricalNB
    >>> X = pd.DataFrame({"sky": ["sun", "sun", "rain", "rain"], "wind": ["weak", "strong", "weak", "strong"]})
    >>> nb = CategoricalNB().fit(X, ["play", "play", "play", "stay"])
    >>> nb.predict_proba(X[-1:]).round(3)
    array([[0.419, 0.581]])
    """

    alpha: Any = 1.0
    force_alpha: bool = True
    prior: Any = None
    fit_prior: bool = True
    class_prior: Any = None
    priors: Any = None
    min_categories: Any = None
    class_alpha: Any = 1.0
    estimate: str = "predictive"

    _family = DirichletCategorical
    variants: ClassVar = {"categorical": {}}

    def _recode(self, levels: list[np.ndarray]) -> None:
        """Statistics by other levels, which hold all that were known."""
        before, held = self._known(), self._by_feature()
        self._set_levels(levels)

        def moved(table: np.ndarray, j: Any) -> np.ndarray:
            found = np.zeros((len(table), len(self.categories_[j]), *table.shape[2:]))
            found[:, pd.Index(self.categories_[j]).get_indexer(pd.Index(before[j]))] = table[:, : len(before[j])]
            return found

        blocks = {}
        for name, group in self._columns().items():
            blocks[name] = _joined([map_leaves(functools.partial(moved, j=j), held[j]) for j in group])
        self.statistics_ = replace(self._conditioned.statistics, blocks=blocks)

    def _columns(self) -> dict[str, np.ndarray]:
        """Features of each block: those with the same number of levels."""
        return {f"levels_{k}": np.flatnonzero(self.n_categories_ == k) for k in np.unique(self.n_categories_)}

    def _counts(self) -> list[np.ndarray]:
        return [one.n for one in self._by_feature()]

    def _by_feature(self) -> list[Counts]:
        """Counts (c, k_j) of every feature, out of the blocks, and what is known of their sums."""
        found: dict[int, Any] = {}
        for name, group in self._columns().items():
            stats = self._conditioned.statistics.blocks[name]
            for i, j in enumerate(group):
                error = stats.error and {k: v[:, i] for k, v in stats.error.items() if k == "n"}
                found[j] = Counts(stats.n[:, i], stats.n[:, i], error)
        return [found[j] for j in range(len(found))]

    def _rows(self, X: Any) -> Rows:
        if sparse.issparse(X):
            if named := [j for j, levels in enumerate(self.categories_) if levels.dtype.kind != "i"]:
                label = self._label(named[0])
                raise ValueError(
                    f"`X` is sparse, but column {label} has levels that are not codes 0 … K−1; pass dense rows"
                )
            codes = sparse.csr_array(X, dtype=float, copy=True)
            codes.data[codes.data != np.floor(codes.data)] = np.nan
            return {name: codes[:, group] for name, group in self._columns().items()}
        groups, table = self._columns(), self._codes(X)
        return {name: table if len(groups) == 1 else table[:, group] for name, group in groups.items()}

    def _default_blocks(self, stats: Statistics | None) -> dict[str, Any]:
        c = len(self.classes_)
        alpha = self._concentration((self.n_features_in_,))
        return {
            name: DirichletCategorical(
                np.broadcast_to(alpha[None, group, None], (c, len(group), self.n_categories_[group[0]]))
            )
            for name, group in self._columns().items()
        }

    def _as_input(self, rows: dict[str, np.ndarray]) -> np.ndarray:
        columns: dict[int, np.ndarray] = {}
        for name, group in self._columns().items():
            columns |= {j: self.categories_[j][rows[name][:, i].astype(int)] for i, j in enumerate(group)}
        return np.stack([columns[j] for j in range(len(columns))], 1)

    def _feature_labels(self, block: str) -> dict[str, np.ndarray]:
        names = super()._feature_labels(block)["feature"]
        if len(self._columns()) == 1:
            return {"feature": names, "level": np.arange(self.n_categories_[0])}
        k = int(block.removeprefix("levels_"))
        return {f"{block}_feature": names[self._columns()[block]], f"{block}_level": np.arange(k)}

    def _weight_labels(self, names: np.ndarray | None) -> np.ndarray:
        names, order = super()._weight_labels(names), np.concatenate([*self._columns().values()])
        return np.array([f"{names[j]}={level}" for j in order for level in self.categories_[j]])


_MOST = 1 << 20  # levels of a feature of whole numbers
_PASSED = 1 << 18  # cells that are gone through several times while they are in a core's cache


def columns_of(X: Any) -> list[tuple[np.ndarray, np.ndarray | None]]:
    """Columns of an array or data frame, each with the levels that its type declares, if any."""
    if isinstance(X, np.ndarray):
        return [(column, None) for column in X.T]
    if sparse.issparse(X):  # the stored cells; 0 is a level of every column in any case
        X = sparse.csc_array(X)
        return [(X.data[start:end], None) for start, end in itertools.pairwise(X.indptr)]
    if not isinstance(X, pd.DataFrame):  # another data frame: its columns know how to become arrays
        return [(np.asarray(X[name].to_numpy()), None) for name in X.columns]
    columns = []
    for j in range(X.shape[1]):
        column = X.iloc[:, j]
        if isinstance(column.dtype, pd.CategoricalDtype):
            declared = column.dtype.categories.to_numpy(dtype=object)  # beside a gap pandas would make floats of them
            columns.append((np.append(declared, np.nan)[column.cat.codes], declared))
        else:
            columns.append((column.to_numpy(dtype=object), None))
    return columns


def _ends(X: Any) -> Any:
    """Of an array of whole numbers some cell below 0, if there is one, and the largest of each column.

    Its levels depend on nothing else.
    """
    if not isinstance(X, np.ndarray) or X.dtype.kind not in "iuf" or not X.size:
        return X

    def ends(part: slice) -> np.ndarray | None:
        some = X[part]
        if X.dtype.kind == "i":  # without a sign a number below 0 is the largest: one pass finds both
            top = some.view(X.dtype.str.replace("i", "u")).max(0).astype(X.dtype)
            if (top >= 0).all():
                return np.stack([top, top])
        whole = X.dtype.kind != "f" or (some == np.floor(some)).all()
        return np.stack([some.min(0), some.max(0)]) if whole else None

    n, d = X.shape
    found = list(in_order(ends, slices(n, d, _PASSED)))
    of_whole = [one for one in found if one is not None]
    return np.stack([np.min(of_whole, (0, 1)), np.max(of_whole, (0, 1))]) if len(of_whole) == len(found) else X


def code_table(X: np.ndarray, n_levels: np.ndarray) -> np.ndarray:
    """Whole numbers as they are where all are levels 0 … K−1 of their column, else with NaN for those that are not."""
    if X.dtype.kind in "iu" and X.size:
        if X.flags.forc and X.view(f"u{X.itemsize}").max() < n_levels.min():  # a number below 0 is large without a sign
            return X
        if (X.min(0) >= 0).all() and (X.max(0) < n_levels).all():
            return X
    table = X.astype(float)
    table[~((table >= 0) & (table < n_levels) & (table == np.floor(table)))] = np.nan
    return table


def _as_numbers(values: np.ndarray) -> np.ndarray | None:
    """Values as floats if all are numbers, else None."""
    if values.dtype.kind in "biuf":
        return values.astype(float)
    if values.dtype.kind == "c" or any(isinstance(value, complex) for value in values.tolist()):
        raise ValueError("`X` has complex numbers; pass their real and imaginary parts as two columns")
    if values.dtype == object and all(isinstance(value, numbers.Number) for value in values.tolist()):
        try:
            return values.astype(float)
        except OverflowError:
            raise ValueError("`X` has a whole number too large for a float; pass the column as strings") from None
    return None


@contextmanager
def _hashable(values: np.ndarray, label: str) -> Iterator[None]:
    """Errors about cells that cannot be levels, such as lists and mappings, name the column."""
    try:
        yield
    except TypeError:
        kinds = sorted({type(value).__name__ for value in values.tolist()})
        raise ValueError(
            f"`X` has cells of type {', '.join(kinds)} in column {label}, which cannot be compared as levels. Make "
            "them strings, or split them into several columns"
        ) from None


def codes_of(values: np.ndarray, levels: np.ndarray, label: str) -> np.ndarray:
    """Position of each value among the levels; NaN where it is missing or unknown.

    Warns where all are unknown because one side is text and the other is not.
    """
    if levels.dtype.kind == "i" and (codes := _as_numbers(np.where(pd.isna(values), np.nan, values))) is not None:
        return np.where((codes >= 0) & (codes < len(levels)) & (codes == np.floor(codes)), codes, np.nan)
    with _hashable(values, label):
        code = pd.Index(levels).get_indexer(pd.Index(values, dtype=object)).astype(float)
    if len(code) and code.max() < 0:
        warn_of_types(values, levels, label)
    return np.where(code < 0, np.nan, code)


def _union(old: np.ndarray, new: np.ndarray) -> np.ndarray:
    """Old levels in their order, then those that are new."""
    if old.dtype.kind == new.dtype.kind == "i":
        return max(old, new, key=len)
    known = set(old.tolist())
    added = [level for level in new.tolist() if level not in known]
    return np.concatenate([old.astype(object), np.array(added, dtype=object)]) if added else old


def _joined(features: list[Counts]) -> Counts:
    """The counts of features with equally many levels as those of one block."""
    n = np.stack([one.n for one in features], 1)
    known: Any = [one.error for one in features]
    error: Any = None if None in known else {}
    if error is not None and any(known):
        error = {"n": np.stack([e.get("n", 0 * one.n) for e, one in zip(known, features, strict=True)], 1)}
    return Counts(n, np.zeros(n.shape[:2]), error)
