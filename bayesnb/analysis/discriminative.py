"""Naive Bayes whose columns have weights, fitted to exact leave-one-out: as sharp as logistic regression and boosting.

Naive Bayes counts dependent columns as independent evidence, and uses columns that only matter beside others in no way.
Both are cured by a softmax regression on the columns' log densities, with a weight for each column, and a linear term:

    η_ic = log p(y_i = c) + Σ_j w_j t_ijc + (linear term)_ic        p(y_i = c | x_i) = softmax η_i
    t_ijc = log p(x_ij | y = c, D₋ᵢ), relative to the best class and not below −log n

Columns j are: each number under its own family; each number in bins of equally many rows, which no label chose; each
level; and the whole row under one-dependence on quarters, which sees pairs. The linear term has standardised numbers
and one-hot levels z. Exact leave-one-out makes t_i a prediction of a row that its densities do not know, for all rows,
and so the weights can be fitted to the rows that the densities were fitted to. New rows take densities of all rows.

The weights are positive. Leaving row i out lowers the density of its own class, so that a negative weight would read
the label. z involves no label, so its coefficients may have any sign.

References
----------
Fan, Feng, Jiang & Tong (2016), Feature augmentation via nonparametrics and selection in high-dimensional classification,
JASA 111; there with half of the rows for the densities.
Raina, Shen, Ng & McCallum (2003), Classification with hybrid generative/discriminative models, NIPS.
Zaidi, Cerquides, Carman & Webb (2013), Alleviating naive Bayes attribute independence assumption by attribute
weighting, JMLR 14.
"""

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pandas as pd
from scipy import linalg, sparse
from scipy.special import entr, logsumexp
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils import Tags, gen_batches, get_tags
from sklearn.utils.extmath import randomized_svd
from sklearn.utils.validation import check_is_fitted

from ..core.arrays import Scalar, is_sparse
from ..core.pytrees import record
from ..core.random import generator
from ..core.supports import check_least, check_level
from ..estimators import CategoricalNB, GaussianNB, MixedNB, MultinomialNB, OneDependenceNB
from ..inference.copies import copies
from ..inference.intervals import Uncertainty
from ..inference.loo import LooResult, group_places
from ..io import Saved, Take, check_loaded, require
from ._column_weights import Regression, WeightsMode, contrasts, find_modes, left_out_log_proba

if TYPE_CHECKING:
    from ..inference.report import CheckReport

_MOST_PARAMETERS = 1500  # of the linear term, or rows: a step of the fit costs the cube of the smaller number
_MOST_CELLS, _MOST_AXES = 200, 256  # columns of counts that are also numbers; principal axes of more
_MOST_LEVELS = 600  # of the columns whose pairs are looked at
_FAR = 6.0  # standard deviations
_ROWS = 1 << 12  # to predict at a time
PAIRS, AVERAGING, PRIOR = "(pairs of columns)", "(averaging)", "(class prior)"


@dataclass(frozen=True)
class _Cells:
    """Encoded rows: numbers, codes of levels, and rows of counts that are one column."""

    x: np.ndarray
    codes: np.ndarray
    whole: Any

    def __len__(self) -> int:
        return len(self.x)

    def __getitem__(self, part: Any) -> "_Cells":
        return _Cells(self.x[part], self.codes[part], self.whole[part])


@record
@dataclass(frozen=True, eq=False)
class ColumnLayout:
    """How encoded rows become columns of the regression.

    Fields
    ------
    used : (d,) whether a number varies
    edges, quarters : upper ends of the bins of each number that varies
    centre, scale : of these numbers
    shares : of the levels of each column of levels
    cut : log n
    axes : directions of the linear term; None for all of its columns
    """

    used: np.ndarray
    edges: list[np.ndarray]
    quarters: list[np.ndarray]
    centre: np.ndarray
    scale: np.ndarray
    shares: list[np.ndarray]
    cut: float
    axes: Any = None

    @classmethod
    def of(cls, cells: _Cells, sizes: list[int], weight: np.ndarray, c: int) -> "ColumnLayout":
        n = weight.sum()
        k = int(np.clip(round(np.sqrt(n / c) / 1.5), 3, 12))
        seen = [(x[there], weight[there]) for x in cells.x.T for there in [~np.isnan(x) & (weight > 0)]]
        mean = [np.average(x, weights=v) if len(x) else 0.0 for x, v in seen]
        scale = np.sqrt([np.average((x - m) ** 2, weights=v) if len(x) else 0.0 for (x, v), m in zip(seen, mean)])
        used = scale > 1e-12 * np.abs(mean)
        seen = [one for one, varies in zip(seen, used, strict=True) if varies]
        shares = [
            np.bincount(codes[there].astype(int), weight[there], size) / max(weight[there].sum(), 1e-300)
            for codes, size in zip(cells.codes.T, sizes, strict=True)
            for there in [~np.isnan(codes)]
        ]
        centre = np.array([_quantiles(x, v, [0.5])[0] for x, v in seen])
        edges, quarters = ([_quantiles(x, v, np.arange(1, one) / one) for x, v in seen] for one in (k, 4))
        return cls(used, edges, quarters, centre, scale[used], shares, float(np.log(max(n, 2.0))))

    def columns(self, cells: _Cells) -> tuple[Any, np.ndarray]:
        """Rows as the naive Bayes model takes them, and as the model of pairs does."""
        x = cells.x[:, self.used]
        wide = [_binned(x, self.edges), cells.whole]
        both = cells.whole if is_sparse(cells.whole) else np.hstack([x, cells.codes, *wide])
        return both, np.hstack([_binned(x, self.quarters), cells.codes])

    def raw(self, cells: _Cells) -> Any:
        """The columns of the linear term, before they are rotated; a missing cell is 0."""
        x = np.clip((cells.x[:, self.used] - self.centre) / self.scale, -_FAR, _FAR)
        hot = [
            np.where(np.isnan(codes), 0, (codes == level) - share)
            for codes, shares in zip(cells.codes.T, self.shares, strict=True)
            for level, share in enumerate(shares)
        ]
        if cells.whole.shape[1] <= _MOST_CELLS:
            return np.column_stack([np.nan_to_num(x), *hot])
        logs = sparse.csr_array(cells.whole, dtype=float, copy=True)
        logs.data = np.log1p(logs.data)
        length = np.sqrt(np.asarray(logs.power(2).sum(1))).ravel()
        return sparse.diags_array(10 / np.maximum(length, 1e-300)) @ logs

    def linear(self, cells: _Cells) -> np.ndarray:
        """z, and a last column of ones."""
        raw = self.raw(cells)
        return np.column_stack([raw if self.axes is None else raw @ self.axes, np.ones(len(cells))])

    def with_axes(self, cells: _Cells, weight: np.ndarray, m: int) -> "ColumnLayout":
        """Principal axes, of which there are no more than rows, where the columns are more."""
        raw, n = self.raw(cells), len(cells)
        most = n if n * m <= _MOST_PARAMETERS else min(n, _MOST_PARAMETERS // m)
        root = np.sqrt(weight)[:, None]
        if is_sparse(raw):
            most = min(most, _MOST_AXES, *raw.shape)
            return replace(self, axes=randomized_svd(raw * root, most, random_state=0)[2].T)
        if raw.shape[1] <= most:
            return self
        return replace(self, axes=linalg.svd(raw * root, full_matrices=False)[2][:most].T)


def _quantiles(x: np.ndarray, weight: np.ndarray, at: Any) -> np.ndarray:
    """Distinct weighted quantiles, all of them cells."""
    return np.unique(np.quantile(x, at, weights=weight, method="inverted_cdf"))


def _binned(x: np.ndarray, edges: list[np.ndarray]) -> np.ndarray:
    codes = [np.where(np.isnan(v), np.nan, np.searchsorted(e, v)) for v, e in zip(x.T, edges, strict=True)]
    return np.column_stack([np.empty((len(x), 0)), *codes])


class DiscriminativeNB(Saved, ClassifierMixin, BaseEstimator):
    """Naive Bayes with a weight for each column, fitted to its exact leave-one-out densities, and a linear term."""

    _learnt_names = frozenset(
        {"reader_", "columns_", "pairs_", "layout_", "modes_", "classes_", "n_features_in_", "feature_names_in_"}
    )

    def __init__(self, parts: Any = "auto", *, max_rows: Any = 10_000) -> None:
        self.parts = parts
        self.max_rows = max_rows

    # --- fitting ----------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        check_least(1, max_rows=self.max_rows)
        reader = self._reader(X).fit(X, y, sample_weight)
        if len(reader.classes_) < 2:
            raise ValueError(f"`y` has one class, {reader.classes_[0]!r}; DiscriminativeNB needs rows of two classes")
        self.reader_, self.classes_, self.n_features_in_ = reader, reader.classes_, reader.n_features_in_
        if hasattr(reader, "feature_names_in_"):
            self.feature_names_in_ = reader.feature_names_in_
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        cells, index, weight, groups, _ = self._training(X, y, sample_weight, groups)
        c, (own, sizes) = len(self.classes_), self._families()
        layout = ColumnLayout.of(cells, sizes, weight, c)
        bins, quarters = ([len(e) + 1 for e in edges] for edges in (layout.edges, layout.quarters))
        kinds = [one for one, varies in zip(own, layout.used, strict=True) if varies]
        kinds += [CategoricalNB(min_categories=k) for k in (*sizes, *bins)]
        parts = [(str(i), one, [i]) for i, one in enumerate(kinds)]
        if cells.whole.shape[1]:
            parts.append((str(len(parts)), self._whole(), slice(len(parts), None)))
        both, few = layout.columns(cells)
        every = np.arange(c)
        self.columns_ = MixedNB(parts).partial_fit(both, index, every, weight)
        self.pairs_ = None
        if few.shape[1] > 1 and sum(quarters) + sum(sizes) <= _MOST_LEVELS:
            self.pairs_ = OneDependenceNB(min_categories=[*quarters, *sizes]).partial_fit(few, index, every, weight)
        if len(cells) > self.max_rows:
            place = np.arange(len(cells)) if groups is None else groups
            rank = np.random.default_rng(0).permutation(place.max() + 1)[place]
            some = rank <= np.sort(rank)[self.max_rows - 1]
            cells, index, weight = cells[some], index[some], weight[some]
            groups = None if groups is None else groups[some]
        self.layout_ = layout.with_axes(cells, weight, c - 1)
        self.modes_ = find_modes(self._left_out(cells, index, weight, groups))
        return self

    def _reader(self, X: Any = None) -> MixedNB:
        automatic = is_sparse(X) and isinstance(self.parts, str) and self.parts == "auto"
        return MixedNB([("counts", MultinomialNB(), slice(None))] if automatic else self.parts)

    def _blocks(self, kind: str) -> Iterator[tuple[str, Any]]:
        """Names of the reader's blocks, and their estimators, whose columns are numbers, levels or whole rows."""
        for name, estimator, names, k in self.reader_.part_estimators():
            if k is not None:
                raise ValueError(f"`parts` has an estimator for each class in {name!r}; give one for all classes")
            for block in names.values():
                own = "levels" if estimator.cells.kind in ("levels", "yes/no") else "numbers"
                if own == "numbers" and not self.reader_.prior_.blocks[block].inner.separable:
                    own = "whole"
                if own == kind:
                    yield block, estimator

    def _families(self) -> tuple[list[Any], list[int]]:
        """An estimator for each number, and the number of levels of each column of levels."""
        at, blocks = self.reader_.block_columns(), self.reader_.prior_.blocks
        own = [clone(one) for block, one in self._blocks("numbers") for _ in at[block]]
        own += [GaussianNB() for block, _ in self._blocks("whole") if len(at[block]) <= _MOST_CELLS for _ in at[block]]
        sizes = [
            (block, 2 if one.cells.kind == "yes/no" else blocks[block].alpha.shape[-1])
            for block, one in self._blocks("levels")
        ]
        return own, [size for block, size in sizes for _ in at[block]]

    def _whole(self) -> Any:
        return clone(next(one for _, one in self._blocks("whole")))

    def _cells(self, X: Any) -> _Cells:
        rows = self.reader_.encode(X)
        x, codes, whole = ([rows[block] for block, _ in self._blocks(kind)] for kind in ("numbers", "levels", "whole"))
        none = np.empty((next(iter(rows.values())).shape[0], 0))
        many = whole[0] if whole else none
        if whole and many.shape[1] <= _MOST_CELLS:
            many = many.toarray() if is_sparse(many) else many
            x = [*x, many]
        return _Cells(np.hstack([none, *x]), np.hstack([none, *codes]), many)

    def _training(self, X: Any, y: Any, sample_weight: Any, groups: Any) -> tuple[_Cells, Any, Any, Any, Any]:
        """Cells, class, weight and group of training rows, copies merged into one; and where each given row is."""
        index, cells = self.reader_.class_index(y), self._cells(X)
        n = len(index)
        weight = np.ones(n) if sample_weight is None else np.asarray(sample_weight, float)
        if groups is not None:
            return cells, index, weight, group_places(groups, n), np.arange(n)
        place = copies(np.hstack([cells.x, cells.codes]), index)
        plain = (np.nan_to_num(cells.x) % 1 == 0).all(1)  # rows of whole numbers may be equal by chance
        place[plain] = n + np.arange(plain.sum())
        _, first, place = np.unique(place, return_index=True, return_inverse=True)
        return cells[first], index[first], np.bincount(place, weight), None, place

    def _left_out(self, cells: _Cells, index: np.ndarray, weight: np.ndarray, groups: Any) -> Regression:
        """What the regression reads of training rows, each of them left out of its own columns."""
        both, few = self.layout_.columns(cells)
        found = self.columns_.loo(both, index, weight, groups=groups)
        tables = list(found.by_block.values())
        if self.pairs_ is not None:
            tables.append(self.pairs_.loo(few, index, weight, groups=groups).by_block["x"])
        return self._regression(cells, tables, found.log_prior, np.eye(len(self.classes_))[index], weight)

    def _regression(
        self, cells: _Cells, tables: Any, log_prior: Any, label: Any = None, weight: Any = None
    ) -> Regression:
        t = np.stack(tables, 2)
        t = np.maximum(t - t.max(1, keepdims=True), -self.layout_.cut)
        t = np.einsum("ck,ncj->nkj", contrasts(t.shape[1]), t)
        return Regression(
            np.broadcast_to(log_prior, (len(cells), len(self.classes_))), t, self.layout_.linear(cells), label, weight
        )

    def _new(self, cells: _Cells) -> Regression:
        """What the regression reads of new rows."""
        both, few = self.layout_.columns(cells)
        tables = list(self.columns_.predict_part_log_likelihood(both).values())
        if self.pairs_ is not None:
            tables.append(self.pairs_.predict_part_log_likelihood(few)["x"])
        return self._regression(cells, tables, self.columns_.class_log_prior_)

    # --- prediction -------------------------------------------------------------------------------------------------

    def _averaged(self, rows: Regression) -> np.ndarray:
        return logsumexp([np.log(one.share) + rows.log_proba(one.w, one.b) for one in self.modes_], axis=0)

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """log p(y = c | x_i) in nats, (n, c): the average of the modes over their scales."""
        check_is_fitted(self, "modes_")
        cells = self._cells(X)
        return np.concatenate([self._averaged(self._new(cells[part])) for part in gen_batches(len(cells), _ROWS)])

    def predict_proba(self, X: Any) -> np.ndarray:
        return np.exp(self.predict_log_proba(X))

    def predict(self, X: Any) -> np.ndarray:
        best = self.predict_log_proba(X).argmax(1)
        return self.classes_[best]
