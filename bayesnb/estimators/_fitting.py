"""Fitting: rows become statistics, and statistics condition the prior."""

import itertools
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted, column_or_1d

from ..class_statistics import with_error
from ..core.arrays import Sparse, is_sparse
from ..core.pytrees import map_leaves, register_pytrees
from ..naive_bayes import Statistics, fold_rows, row_slices
from ..statistics import Sample, one_hot
from ..sums import loops
from ..sums.rows import csr_slice, stays
from ._forgetting import check_digits, without
from ._input import (
    MOST_WEIGHT,
    alike,
    check_decay,
    checked_labels,
    checked_weights,
    classes_of,
    cut_rows,
    naming,
    refuse_no_weight,
    unit_row,
)
from ._prior_of_settings import AbstractWithPrior
from ._state import BLOCK, LazyPosterior, all_or_nothing, laid_out

_WIDE = 1 << 24  # cells of a slice that a loop goes through as they are
_CONVERTED = 1 << 21  # of one that is converted to float64 first
_MOST_TOTAL = 1e304  # of a statistic: x log x is a number


def _are_those(given: Any, classes: np.ndarray) -> bool:
    """Whether labels are plainly those known, which scikit-learn's checks would take longer to find."""
    labels = np.asarray(given) if type(given) in (list, np.ndarray) else np.empty(0)
    return labels.dtype.kind == classes.dtype.kind in "iU" and np.array_equal(labels, classes)


class AbstractFitted(AbstractWithPrior):
    """What an estimator learns: its encoding, its statistics, and the prior and posterior that follow from them.

    A subclass says which prior belongs to the statistics (`_default_blocks`). The parameters of the class prior are
    read from attributes.
    """

    _conditioned: LazyPosterior
    _wide_slices = False  # whether loops gather the statistics of rows without a table beside them

    # --- fitting ----------------------------------------------------------------------------------------------------

    @all_or_nothing
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the model: condition the prior on rows and labels.

        Parameters
        ----------
        X : (n, d) array, sparse matrix or data frame
        y : (n,) labels of any kind
        sample_weight : (n,) non-negative weights; an integer weight counts as that many copies of the row

        Raises
        ------
        ValueError
            if X or y is empty, if their lengths differ, if all weights are 0, if a value is outside the range of the
            likelihood, or if a parameter is out of range. The message names the argument
        """
        self.__dict__.pop("contract_", None)  # of other rows
        X, y = self._validate_for_slices(X, y=y, reset=True)
        y = checked_labels(y)
        self.classes_, index = classes_of(y)
        self._learn_encoding(X, reset=True)
        self._add(None, X, index, sample_weight)
        refuse_no_weight(self._conditioned.statistics.n)
        if self._conditioned.prior.is_improper:
            _ = self._conditioned.posterior  # which says so where these rows do not make it a density
        return self

    @all_or_nothing
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None, *, decay: Any = 1.0) -> Self:
        """Add rows: batches of any size and in any order give the same posterior as one `fit` to all rows.

        Parameters
        ----------
        X, y, sample_weight : as in `fit`; the weights of a batch may all be 0
        classes : all labels that will ever occur; required at the first call
        decay : above 0 and at most 1, default 1
            the weight of all earlier rows is multiplied by this number first. A row from k calls ago then has the
            weight decayᵏ, so old rows fade and the posterior follows a drift. The memory is about 1/(1 − decay) calls:
            with one row a call, 0.99 remembers about 100 rows

        Raises
        ------
        ValueError
            if `classes` is missing at the first call or differs at a later one, if y has a label outside `classes`, or
            if `decay` is out of range

        Notes
        -----
        One thread may call `partial_fit` (or `fit`, `forget`, `merge`, `set_params`) while any number of threads
        predict, sample, save or pickle. There are no locks. Each call reads one state from beginning to end: the state
        before the batch or the state after it. For several calls on the same state, take a `copy.copy(estimator)`. If
        two threads both learn, use a lock of your own; otherwise the rows of one may be lost.

        The decay is exact: the result equals `fit` to all rows with `sample_weight` decayᵏ. This raises the likelihood
        of each row to that power. `forget(X, y, sample_weight)` with the weights decay**k removes rows from k calls
        ago.

        References
        ----------
        Ibrahim & Chen (2000), Power prior distributions for regression models, Statistical Science 15, 46-60.
        """
        check_decay(decay)
        first = "_conditioned" not in vars(self)
        if first and classes is None:
            raise ValueError(
                "classes must be passed on the first call to partial_fit: give all labels that will ever occur"
            )
        if classes is not None and (first or not _are_those(classes, self.classes_)):
            with naming("classes"):
                labels = np.unique(checked_labels(column_or_1d(classes), "classes"))
            if not first and not np.array_equal(labels, self.classes_):
                raise ValueError(
                    f"`classes` is {labels}, which is not the same as on last call to partial_fit, {self.classes_}; "
                    "give the same labels in every call"
                )
        X, y = self._validate_for_slices(X, y=y, reset=first)
        y = checked_labels(y, of_classes=True)
        if first:
            self.classes_ = labels
        self._learn_encoding(X, reset=first)
        held = None if first else self._conditioned.statistics
        if held is not None and decay != 1:
            held = held.scaled(decay)
        return self._add(held, X, self._class_index(y), sample_weight)

    def _add(self, held: Statistics | None, X: Any, index: np.ndarray, sample_weight: Any) -> Self:
        """Add validated rows to the statistics of those learnt before."""
        stats = self._gather(X, index, sample_weight)
        return self._set_statistics(stats if held is None else held + stats)

    def _fitted_state(self, name: str = "posterior_") -> LazyPosterior:
        """What the rows have taught, an attribute of which is asked for. It needs no JAX, which the attributes do."""
        if "_conditioned" not in vars(self):
            check_is_fitted(self)
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r} yet: call `fit` first")
        return self._conditioned

    @property
    def prior_(self) -> Any:
        """The prior, before the training rows; it cannot be changed."""
        held = self._fitted_state("prior_")
        register_pytrees()
        return held.prior

    @property
    def statistics_(self) -> Statistics:
        """Sufficient statistics of all rows so far; everything else that is learnt follows from them."""
        held = self._fitted_state("statistics_")
        register_pytrees()
        return held.statistics

    @statistics_.setter
    def statistics_(self, stats: Statistics) -> None:
        self._conditioned = LazyPosterior(None, stats)

    @all_or_nothing
    def forget(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Remove rows: the inverse of `partial_fit`.

        The encoding stays as it is. `CategoricalNB` keeps a level that only forgotten rows had, with its share of the
        prior, as if the level had been declared. If the cells a, b, a, b, a of two alternating classes are left,
        `log_evidence_` is −8.19 nats while the level c is known, and −6.58 nats after a fit to these rows alone.

        Raises
        ------
        ValueError
            if a class or a count has less weight than would be removed: such rows were never fitted
        """
        check_is_fitted(self)
        X, y = self._validate_for_slices(X, y=y, reset=False)
        self._learn_encoding(X, reset=False)
        left, moved = self._without(self._gather(X, self._class_index(y), sample_weight))
        self._set_statistics(left)
        check_digits(self, moved)
        return self

    @all_or_nothing
    def merge(self, other: Any) -> Self:
        """Add the training rows of another estimator: the result is the posterior of both sets of rows.

        Sufficient statistics add. Fit estimators to parts of the rows, for example on several machines or at owners who
        share no rows. Merged in any order, they give the same posterior as one `fit` to all rows.

        Parameters
        ----------
        other : fitted estimator of the same kind, with the same hyperparameters, classes and features. It does not
            change. The levels of features (`CategoricalNB`) may differ: the result has the levels of both

        Raises
        ------
        ValueError
            if one of the two is not fitted, or if they are not of the same kind. The message names the difference
        """
        check_is_fitted(self)
        self._check_mergeable(other)
        return self._set_statistics(self._unite(other))

    def _check_mergeable(self, other: Any) -> None:
        """Raise a ValueError that names what differs between two estimators that are to be merged."""
        if type(other) is not type(self):
            raise ValueError(
                f"`other` is a {type(other).__name__}; a {type(self).__name__} can only merge with an estimator of "
                "its own kind"
            )
        check_is_fitted(other)
        theirs = other.get_params(deep=False)
        for name, value in self.get_params(deep=False).items():
            if not alike(value, theirs[name]):
                raise ValueError(
                    f"`other` has {name}={theirs[name]!r}, but this estimator has {value!r}; fit both with the same "
                    "value"
                )
        if not np.array_equal(self.classes_, other.classes_):
            raise ValueError(
                f"`other` has the classes {other.classes_}, but this estimator has {self.classes_}; give both fits "
                "all labels, with `partial_fit(X, y, classes=…)`"
            )
        names, found = (getattr(one, "feature_names_in_", None) for one in (self, other))
        if self.n_features_in_ != other.n_features_in_ or not np.array_equal(names, found):  # type: ignore[arg-type]
            here, there = (one.n_features_in_ if n is None else n for one, n in ((self, names), (other, found)))
            raise ValueError(
                f"`other` has the features {there}, but this estimator has {here}; fit both to the same columns"
            )

    def _unite(self, other: Any) -> Statistics:
        """Statistics of the rows of both, in an encoding that knows what either knew."""
        return self._conditioned.statistics + other.statistics_

    def _widen(self, classes: np.ndarray) -> None:
        """Know more classes, sorted, of which no row was there so far."""
        at = np.searchsorted(classes, self.classes_)

        def spread(leaf: np.ndarray) -> np.ndarray:
            wide = np.zeros((len(classes), *leaf.shape[1:]), leaf.dtype)
            wide[at] = leaf
            return wide

        held = self._conditioned.statistics
        blocks = {  # cells have a pair of arrays a class, sums an axis of classes
            name: stats.spread(at, len(classes)) if isinstance(stats, Sample) else map_leaves(spread, stats)
            for name, stats in held.blocks.items()
        }
        self.statistics_ = Statistics(spread(held.n), blocks, map_leaves(spread, held.error))
        self.classes_ = classes

    def _without(self, stats: Statistics) -> tuple[Statistics, Statistics]:
        """What is left without some rows, and the same moved by its rounding; ValueError if they were never fitted."""
        return without(self._conditioned.statistics, stats)

    def _gather(self, X: Any, index: np.ndarray, sample_weight: Any) -> Statistics:
        """Statistics of validated rows with class indices."""
        r = self._weights(X, index, sample_weight)
        prior = self._prior(None)
        cells = X.nnz if is_sparse(X) else X.shape[0] * X.shape[1]
        size = 0
        if self._wide_slices and loops.worth(8 * cells):
            size = _WIDE if stays(X, np.float64, self._family.kept_types) else _CONVERTED
        parts = row_slices({BLOCK: X}, prior.min_chunk_cells, size)

        def gather(part: slice) -> Statistics:
            piece, w = cut_rows(X, part), csr_slice(r, part)
            rows = self._rows_to_learn(piece)
            stats = prior.statistics(rows, w)
            self._refuse_learnt(piece, stats)
            return with_error(stats, rows, w)

        with np.errstate(over="ignore", invalid="ignore"):
            stats = fold_rows(gather, parts)
        for block, name in itertools.product(stats.blocks.values(), ("n", "total")):
            one = getattr(block, name, 0)
            if not -_MOST_TOTAL <= np.min(one, initial=0) <= np.max(one, initial=0) <= _MOST_TOTAL:
                raise ValueError("`X` has numbers so large that their sums overflow; rescale them")
        return stats

    def _weights(self, X: Any, index: np.ndarray, sample_weight: Any) -> Sparse:
        """Weights r (n, c) of validated rows with class indices."""
        c = len(self.classes_)
        if sample_weight is None:
            return unit_row(int(index[0]), c) if len(index) == 1 else one_hot(index, c)
        weights = checked_weights(sample_weight, X)
        if (most := weights.max(initial=0)) > MOST_WEIGHT:
            raise ValueError(
                f"`sample_weight` has {most:g}; weights may be at most {MOST_WEIGHT:g}, so divide all weights by a "
                "number"
            )
        return one_hot(index, c, weights)

    def _set_statistics(self, stats: Statistics) -> Self:
        self._check_estimate()
        stats = laid_out(stats)
        self._conditioned = LazyPosterior(self._prior(stats), stats)
        return self

    def _class_index(self, y: np.ndarray) -> np.ndarray:
        """Labels as 0 … c−1; raises ValueError on a label that was not there at the fit."""
        if y.dtype.kind == self.classes_.dtype.kind == "i" and len(self.classes_) == self.classes_[-1] + 1 <= len(y):
            if self.classes_[0] == 0 <= y.min() and y.max() < len(self.classes_):
                return y.astype(np.intp, copy=False)  # they are their own places
        try:
            index = np.minimum(self.classes_.searchsorted(y), len(self.classes_) - 1)
        except TypeError:  # dates among numbers
            advice = f"do not compare with classes of {self.classes_.dtype}; pass labels of their type"
            raise ValueError(f"y has labels of type {y.dtype}, which {advice}") from None
        unknown = self.classes_[index] != y
        if unknown.any():
            found = np.unique(y[unknown])
            raise ValueError(f"The target label(s) {found} in y do not exist in the initial classes {self.classes_}")
        return index

    @property
    def posterior_(self) -> Any:
        """The posterior, given all training rows. It is computed on first use and cannot be changed."""
        held = self._fitted_state()
        register_pytrees()
        return held.posterior

    @property
    def class_count_(self) -> np.ndarray:
        """Weight of each class, (c,)."""
        return self._fitted_state("class_count_").statistics.n
