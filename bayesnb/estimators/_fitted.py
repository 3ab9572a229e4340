"""Learning: rows become statistics, and statistics condition the prior that the hyperparameters stand for.

What was learnt is one frozen object, `State`. A method that learns makes the next state from the one that is there, and
assigns it once. A method that asks reads it once, at its start. So a method that fails leaves the model as it was, and
each answer is that of one state, without a lock and without a copy.
"""

import copy
import functools
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from ..families.base import AbstractConjugate
from ..io import Saved
from ..models.naive_bayes import Rows, Statistics, fold_rows, row_slices
from ..numerics.arrays import is_sparse
from ..numerics.pytrees import record, register_pytrees
from ..numerics.supports import (
    COMPOSITE,
    COUNT,
    GIVEN_TOTALS,
    Cells,
    checked_numbers,
    improper,
)
from ..posterior.remaining import without
from ..sums.rows import csr_slice
from ..sums.statistics import one_hot, with_error
from ._forgetting import check_digits
from ._input import (
    BLOCK,
    Columns,
    Unavailable,
    align,
    alike,
    check_cells,
    check_decay,
    check_finite,
    checked_labels,
    checked_rows,
    checked_weights,
    classes_of,
    cut_rows,
    naming,
    places_of,
    refuse_no_weight,
)
from ._priors import leaves_default
from ._view import ModelView

_ADVICE = {  # on cells that an estimator does not know, by their kind
    "counts": "it models counts. Bin the column or use GaussianNB.",
    "amounts": "it models amounts from zero. Shift it or use GaussianNB.",
}
_ADVICE_ON_COUNTS = "it models counts. Use ExponentialNB for amounts, GaussianNB for other numbers, or bin the column."
_MAX_SUM = 1e150  # so that its square is a number


@record
@dataclass(frozen=True)
class State:
    """Labels, columns and their encoding, the sums of all rows, and the prior that belongs to them.

    Fields
    ------
    classes : (c,) the labels, sorted
    columns : of X
    encoding : what turns cells into rows by block: levels of each column, or parts; None where nothing is needed
    statistics : of all rows; None where only the encoding is known
    prior : the model before the rows; None until they are there
    longest, pieces : how they were summed: at most so many rows at a time, and so many such sums
    """

    classes: np.ndarray
    columns: Columns
    encoding: Any = None
    statistics: Any = None
    prior: Any = None
    longest: int = 0
    pieces: int = 1

    def __getstate__(self) -> dict[str, Any]:
        return {declared.name: getattr(self, declared.name) for declared in fields(self)}

    @property
    def shape(self) -> tuple[int, int]:
        """Number of classes and of columns."""
        return len(self.classes), self.columns.n

    def numbers(self, name: str, value: Any, support: Any = COUNT) -> np.ndarray:
        """A hyperparameter as numbers (c, d); labels of pandas are followed.

        Parameters
        ----------
        name : how an error names it
        value : as the user gave it: a number, or an array that broadcasts to (c, d)
        support : the permitted values; others are a ValueError
        """
        aligned = align(name, value, self.classes, self.columns.names)
        return checked_numbers(name, aligned, self.shape, support)

    @property
    def without_rows(self) -> Self:
        """The same labels, columns and encoding, without statistics and prior."""
        return replace(self, statistics=None, prior=None)

    @functools.cached_property
    def bounded(self) -> Statistics:
        """The statistics with bounds of their rounding, which are needed before other statistics are subtracted."""
        return with_error(self.statistics, self.longest, self.pieces)

    def with_rows(self, other: "State") -> Self:
        """The state of the rows of both: their statistics add.

        If one of the two has bounds of its rounding (`error`), the other gets them too, because only then the sum has
        them.

        Parameters
        ----------
        other : of other rows, with the same classes and columns in the same encoding
        """
        mine = self.statistics
        theirs = other.statistics
        # `error` holds variances of the rounding of each sum; None where nobody has asked for them yet. `bounded` are
        # the same statistics with them
        if (mine.error is None) != (theirs.error is None):
            mine = self.bounded
            theirs = other.bounded
        return replace(
            self,
            statistics=mine + theirs,
            longest=max(self.longest, other.longest),
            pieces=self.pieces + other.pieces,
        )

    @functools.cached_property
    def posterior(self) -> Any:
        """The model after the rows; a ValueError where an improper prior and few rows do not make it a density."""
        # the conjugate update: sufficient statistics condition the prior. A block is the columns that share one prior
        with np.errstate(divide="ignore", invalid="ignore"):  # of an improper prior, which is looked at below
            posterior = self.prior.update(self.statistics)
        if not self.prior.is_improper:
            return posterior
        for name, block in self.prior.blocks.items():
            reason = improper(posterior.blocks[name])  # in words why it has no normaliser; None if it is a density
            if reason and block.is_improper:
                raise Unavailable(
                    f"`prior` is improper, and with the rows so far the posterior is not a density: {reason}. "
                    "Give more rows of every class, or a proper prior"
                )
        return posterior


@dataclass(kw_only=True, eq=False, repr=False)
class AbstractFitted(Saved, ClassifierMixin, BaseEstimator):
    """What an estimator learns, and the hyperparameter that all of them share.

    A subclass names its family, whose declarations say what a cell of X may be, and its default prior.
    """

    prior: Any = None

    _state: State = field(init=False)

    _family: ClassVar[Any] = AbstractConjugate  # a class, or an instance of one, that says what a cell may be
    _n_levels: ClassVar[int | None] = None  # of cells that are levels, where the family fixes their number
    _takes_text: ClassVar[bool] = False
    _default_follows_rows: ClassVar[Any] = False  # whether the rows scale the default prior
    _infinite_shows: ClassVar[bool] = False  # in the result of a prediction, so that dense rows are not scanned before
    _learnt_names = frozenset({"_state"})

    # --- rows -------------------------------------------------------------------------------------------------------

    @property
    def _cells(self) -> Cells:
        """What a cell of X is, as the family of the estimator declares it; of `MixedNB` ask the parts."""
        return self._family.cells_

    def _validate(self, X: Any, state: State | None, *y: Any) -> Any:
        """Rows, labels and columns, checked.

        Parameters
        ----------
        X : rows as the user gives them
        state : with the columns that X has to have; None at the first fit
        y : the labels, if there are any

        Returns
        -------
        rows : array, sparse array or data frame, whose cells are as they were
        labels : (n,), None without y
        columns : number and names of the columns
        """
        fitted_columns = None if state is None else state.columns
        sparse = self._family.cells_.sparse  # whether the family takes sparse rows
        return checked_rows(self, X, fitted_columns, *y, numbers=not self._takes_text, sparse=sparse)

    def _learn_encoding(self, state: State, X: Any) -> State:
        """The state that knows the encoding of rows, such as their levels; statistics are recoded."""
        return state

    def _rows_by_block(self, state: State, X: Any) -> Rows:
        """Some validated rows as columns by block; raises ValueError on values that the likelihood does not know.

        Parameters
        ----------
        state : with the columns and their encoding
        X : some rows of what `_validate` returned

        Returns
        -------
        by the name of a block its columns (n, d_block), here all columns in the only block; they may be held in fewer
        bytes than float64
        """
        # an infinite cell of dense rows may show in the result (`_infinite_shows`): then log p is infinite or NaN, and
        # the caller looks for the cell only if that happens. Otherwise all cells are looked at here
        shows_later = self._infinite_shows and not is_sparse(X)
        if not shows_later:
            self._check_finite(X)
        # what the family declares of a cell: any real number needs no check, a count must not be negative, and so on
        cells = self._family.cells_
        if cells.kind != "real":
            check_cells(self, X, state.columns, cells, self._cell_advice(), self._n_levels)
        return {BLOCK: X}

    def _check_finite(self, X: Any) -> None:
        """Raise a ValueError if a cell of validated rows is infinite, or missing where it must not be."""
        # what the family takes for a missing cell: NaN, or 0, or None if no cell may be missing
        marker = self._family.missing_value
        allows_nan = marker is not None and bool(np.isnan(marker))
        if not self._takes_text:
            check_finite(self, X, gaps=allows_nan)

    def _cell_advice(self) -> str:
        """What to do about a cell that the likelihood does not know."""
        if self._cells.whole:
            return _ADVICE_ON_COUNTS
        return _ADVICE.get(self._cells.kind, f"a cell is {self._cells.describe()}.")

    def _block_columns(self, state: State) -> dict[str, np.ndarray]:
        """Positions in X of the columns of each block."""
        return {BLOCK: np.arange(state.columns.n)}

    def _float_rows_by_block(self, state: State, X: Any) -> Rows:
        """Validated rows as columns by block, in float64 and with finite cells (or missing ones, where they may be)."""
        if self._infinite_shows:  # then `_rows_by_block` leaves it to its caller to notice infinite cells
            self._check_finite(X)
        rows = self._rows_by_block(state, X)
        return {name: x.astype(float, copy=False) for name, x in rows.items()}

    # --- the prior --------------------------------------------------------------------------------------------------

    def _prior(self, state: State) -> Any:
        """The model before the rows, that the hyperparameters stand for; its scale may be that of the statistics."""
        raise NotImplementedError

    def _model_of_statistics(self, state: State) -> Any:
        """A model used only to compute statistics; its numbers do not matter."""
        raise NotImplementedError

    @property
    def _prior_follows_rows(self) -> bool:
        """Whether the rows scale the prior, so that leaving a row out changes it."""
        return bool(self._default_follows_rows) and leaves_default(self)

    def _blocks_with_rules(self, blocks: dict[str, Any]) -> dict[str, Any] | None:
        """The blocks with the rules by which rows scale their priors; None if blocks do not know such rules."""
        return None

    # --- learning ---------------------------------------------------------------------------------------------------

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
        rows, labels, columns = self._validate(X, None, y)
        classes, class_index = classes_of(labels)  # distinct labels, and the position of each row's label among them

        # step by step a new state: labels and columns, their encoding, the statistics of the rows, and the prior
        state = self._learn_encoding(State(classes, columns), rows)  # such as the levels of each column
        state = self._compute_statistics(state, rows, class_index, sample_weight)
        refuse_no_weight(state.statistics.n)  # the weights of the classes
        state = self._with_prior(state)  # which may be on the scale of the rows
        _ = state.posterior  # raises where an improper prior and these rows do not make it a density
        self._state = state  # the last step: an error before leaves the estimator as it was
        return self

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
        One thread may call `partial_fit` (or `fit`, `forget`, `merge`) while any number of threads predict, sample,
        save or pickle. There are no locks. Each call reads one state from beginning to end: the state before the batch
        or the state after it. For several calls on the same state, take a `copy.copy(estimator)`. If two threads both
        learn, use a lock of your own; otherwise the rows of one may be lost.

        The decay is exact: the result equals `fit` to all rows with `sample_weight` decayᵏ. This raises the likelihood
        of each row to that power. `forget(X, y, sample_weight)` with the weights decay**k removes rows from k calls
        ago.

        References
        ----------
        Ibrahim & Chen (2000), Power prior distributions for regression models, Statistical Science 15, 46-60.
        """
        check_decay(decay)
        state: State | None = vars(self).get("_state")
        if state is None and classes is None:
            raise ValueError(
                "classes must be passed on the first call to partial_fit: give all labels that will ever occur"
            )
        class_labels = None if classes is None else _labels_of_all_calls(classes, state)

        # the state of the batch alone. The *encoding* is what turns cells into numbers, such as the levels of a
        # column; it knows all levels so far and those that are new in the batch. Counts of earlier rows are moved to it
        rows, labels, columns = self._validate(X, state, y)
        if state is None:
            state = State(class_labels, columns)  # type: ignore[arg-type]  # the first call names them
        state = self._learn_encoding(state, rows)
        class_index = places_of(labels, state.classes)  # (n,) position of each label; an error for an unknown one
        batch = self._compute_statistics(state, rows, class_index, sample_weight)

        # statistics of disjoint sets of rows add; those of all earlier rows are scaled by the decay first
        if state.statistics is None:
            self._state = self._with_prior(batch)
            return self
        if decay != 1:
            state = replace(state, statistics=state.statistics.scaled(decay))
        self._state = self._with_prior(state.with_rows(batch))
        return self

    def forget(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Remove rows: the inverse of `partial_fit`.

        The encoding stays as it is. `CategoricalNB` keeps a level that only forgotten rows had, with its share of the
        prior, as if the level had been declared. If the cells a, b, a, b, a of two alternating classes are left,
        `log_evidence_` is −8.19 nats while the level c is known, and −6.58 nats after a fit to these rows alone.

        Parameters
        ----------
        X, y, sample_weight : rows that were fitted, with the labels and weights that they had then

        Raises
        ------
        ValueError
            if a class or a count has less weight than would be removed: such rows were never fitted
        """
        state = self._fitted()
        rows, labels, _ = self._validate(X, state, y)
        state = self._learn_encoding(state, rows)
        class_index = places_of(labels, state.classes)  # (n,)
        removed = self._compute_statistics(state, rows, class_index, sample_weight)

        # the difference of the statistics, twice: `estimate` as computed, and `moved` by what rounding may have done to
        # it. `bounded` are statistics that know how large the rounding of each sum can be. If the two posteriors differ
        # by more than 1e-9, the difference has lost its digits: `check_digits` raises an error, and no row is removed
        remaining = without(state.bounded, removed.bounded)
        after = self._with_prior(replace(state, statistics=remaining.estimate))
        check_digits(after, self._with_prior(replace(state, statistics=remaining.moved)))
        self._state = after
        return self

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
        state = self._fitted()
        if type(other) is not type(self):
            raise ValueError(f"`other` is a {type(other).__name__}; merge a {type(self).__name__} with one of its kind")
        other_state = other._fitted()

        # both have to be the same model: hyperparameters, labels and columns. `alike` compares values of any type, such
        # as arrays and priors; `_require_equal` raises an error where labels or columns differ
        settings = other.get_params(deep=False)
        for name, value in self.get_params(deep=False).items():
            if not alike(value, settings[name]):
                raise ValueError(
                    f"`other` has {name}={settings[name]!r}, but this estimator has {value!r}; "
                    "fit both with the same value"
                )
        _require_equal("classes", other_state.classes, state.classes)
        _require_equal("features", other_state.columns.labels, state.columns.labels)

        # statistics add, in an encoding that knows the levels of both; the prior may be on the scale of all rows
        self._state = self._with_prior(self._merge_states(state, other_state))
        return self

    def _merge_states(self, state: State, other: State) -> State:
        """The state of the rows of both, in an encoding that knows the levels and parts of either."""
        return state.with_rows(other)

    def _with_columns(self, X: Any, classes: Any) -> Self:
        """A copy that knows the names, number and levels of the columns beside all labels, sorted, and no rows."""
        rows, _, columns = self._validate(X, None)
        return self._holding(self._learn_encoding(State(classes, columns), rows))

    def _holding(self, state: State) -> Self:
        """A copy that holds a state."""
        other = copy.copy(self)
        other._state = state
        return other

    def _compute_statistics(self, state: State, X: Any, index: np.ndarray, sample_weight: Any) -> State:
        """The state with the statistics of these rows, and of no others.

        They are summed up a slice of rows at a time, because statistics of disjoint slices add.

        Parameters
        ----------
        state : with the encoding of the rows
        X : validated rows
        index : (n,) class index of each
        sample_weight : (n,) as the user gave it, or None
        """
        # r_ic is the weight of row i if its class is c, and otherwise 0: of two classes and the labels 0, 1, 1 it has
        # the rows (1, 0), (0, 1), (0, 1). It is sparse, (n, c)
        weights = None if sample_weight is None else checked_weights(sample_weight, X)
        r = one_hot(index, len(state.classes), weights)

        # a model has the formulas of the statistics; the numbers in it do not matter. The prior of earlier rows will
        # do, unless there is an encoding: with new levels its blocks may have other shapes than these rows need
        has_usable_prior = state.prior is not None and state.encoding is None
        model = state.prior if has_usable_prior else self._model_of_statistics(state.without_rows)

        def statistics_of_slice(part: slice) -> Statistics:
            rows = self._rows_by_block(state, cut_rows(X, part))
            return model.statistics(rows, csr_slice(r, part))

        # `row_slices` cuts the rows into slices of limited memory, and `fold_rows` adds up the statistics of all
        parts = row_slices({BLOCK: X}, model.min_chunk_cells)
        with np.errstate(over="ignore", invalid="ignore"):  # sums that overflow are refused below
            stats = fold_rows(statistics_of_slice, parts)
        # a sum is infinite if a cell is, which `_check_finite` says by its own error; or if cells are very large
        if not all(map(_can_be_squared, stats.blocks.values())):
            self._check_finite(X)
            raise ValueError(
                f"Values too large to be summed in data passed to {type(self).__name__} (input X); "
                "rescale the columns or the weights, because sums or squares overflow"
            )
        # how many rows were summed at a time, and how many such sums were added, bounds the rounding of the sums
        n_rows_of_slice = len(index[parts[0]])
        return replace(state, statistics=stats, longest=n_rows_of_slice, pieces=len(parts))

    def _with_prior(self, state: State) -> State:
        """The state with the prior that the hyperparameters give beside its statistics."""
        return replace(state, prior=self._prior(state))

    # --- model files ------------------------------------------------------------------------------------------------

    def _to_save(self) -> dict[str, Any]:
        """The attributes that a model file holds, beside the hyperparameters; none before a fit."""
        if "_state" not in vars(self):
            return {}
        return {"_state": replace(self._state, prior=None)}  # the settings and the statistics give the prior

    @classmethod
    def _from_file(cls, parameters: dict[str, Any], learnt: dict[str, Any]) -> Self:
        """The estimator of a model file: its hyperparameters, and the attributes of `_to_save`."""
        # a file has statistics but no prior, which is made anew of the settings and the statistics
        estimator = super()._from_file(parameters, learnt)
        if estimator.__sklearn_is_fitted__():
            estimator._state = estimator._with_prior(estimator._state)
            _ = estimator._state.posterior  # what cannot be updated shows here, and not in the first prediction
        return estimator

    # --- what was learnt --------------------------------------------------------------------------------------------

    @property
    def model_(self) -> ModelView:
        """What analyses may ask of the model, as it is at this moment: a frozen `ModelView`."""
        nb = copy.copy(self)  # one state, whatever another thread fits meanwhile
        return ModelView(nb, nb._known_state())

    def __sklearn_is_fitted__(self) -> bool:
        return "_state" in vars(self) and self._state.statistics is not None

    def _fitted(self) -> State:
        """The state; a NotFittedError, which is an AttributeError too, where there is none."""
        state: Any = vars(self).get("_state")
        if state is None or state.statistics is None:
            check_is_fitted(self)
        return state

    @property
    def classes_(self) -> np.ndarray:
        """The labels, sorted, (c,)."""
        return self._known_state().classes

    @property
    def n_features_in_(self) -> int:
        """Number of columns of X."""
        return self._known_state().columns.n

    @property
    def feature_names_in_(self) -> np.ndarray:
        """Names of the columns of X, (d,), if they have names."""
        names = self._known_state().columns.names
        if names is None:
            raise AttributeError("`X` had no names of columns")
        return names

    @feature_names_in_.setter
    def feature_names_in_(self, names: Any) -> None:
        state = self._fitted()
        self._state = replace(state, columns=replace(state.columns, names=np.asarray(names, object)))

    def _known_state(self) -> State:
        """The state, which may be without statistics."""
        return vars(self).get("_state") or self._fitted()

    @property
    def contract_(self) -> Any:
        """What `describe` found in the columns of a data frame; None if nobody asked. Provisional."""
        return self._known_state().columns.contract

    @contract_.setter
    def contract_(self, contract: Any) -> None:
        state = self._fitted()
        self._state = replace(state, columns=replace(state.columns, contract=contract))

    @property
    def statistics_(self) -> Statistics:
        """Sufficient statistics of all rows so far; everything else that is learnt follows from them."""
        register_pytrees()
        return self._fitted().statistics

    @property
    def prior_(self) -> Any:
        """The prior, before the training rows; it cannot be changed."""
        register_pytrees()
        return self._fitted().prior

    @property
    def posterior_(self) -> Any:
        """The posterior, given all training rows. It is computed once and cannot be changed."""
        register_pytrees()
        return self._fitted().posterior

    @property
    def class_count_(self) -> np.ndarray:
        """Weight of each class, (c,)."""
        return self._fitted().statistics.n

    def __sklearn_tags__(self) -> Tags:
        """What scikit-learn may give to the estimator: read from what the family declares of its cells.

        scikit-learn's `check_estimator` makes data by these tags. The names of two of them say something else than what
        it does with them:

        - `categorical` : it gives whole numbers, so the tag is set for every family that needs them
        - `poor_score` : it does not require a good accuracy on clouds of normal points. Models of discrete cells, or of
          counts given their total, need not have one there; scikit-learn's own have this tag too
        """
        tags = super().__sklearn_tags__()
        # `_cells` says what a cell may be. Its `measure` is GIVEN_TOTALS of counts whose sum in each row is given (the
        # multinomial), and COMPOSITE of a likelihood that is no density of rows
        cells = self._cells
        is_discrete = cells.kind in ("levels", "yes/no")
        marker = self._family.missing_value  # of a missing cell: NaN, 0 or None
        tags.input_tags.allow_nan = marker is not None and bool(np.isnan(marker))
        tags.input_tags.sparse = cells.sparse
        tags.input_tags.string = self._takes_text
        tags.input_tags.positive_only = cells.kind != "real"
        tags.input_tags.categorical = cells.whole or is_discrete
        tags.classifier_tags.poor_score = is_discrete or cells.measure in (COMPOSITE, GIVEN_TOTALS)
        return tags


def _labels_of_all_calls(classes: Any, state: State | None) -> np.ndarray:
    """The argument `classes` of `partial_fit`, sorted; ValueError if an earlier call had others.

    Parameters
    ----------
    state : after the earlier calls; None at the first one
    """
    with naming("classes"):  # an error inside names the argument
        labels = np.unique(checked_labels(classes, "classes"))
    if state is not None and not np.array_equal(labels, state.classes):
        raise ValueError(
            f"`classes` is {labels}, which is not the same as on last call to partial_fit, {state.classes}; "
            "give the same labels in every call"
        )
    return labels


def _require_equal(kind: str, theirs: np.ndarray, mine: np.ndarray) -> None:
    """Raise a ValueError where two estimators to be merged differ in their classes or features."""
    if not np.array_equal(theirs, mine):
        raise ValueError(f"`other` has the {kind} {theirs}, but this estimator has {mine}; fit both with the same")


def _can_be_squared(block: Any) -> bool:
    """Whether the sums of a block are finite, and so are their squares.

    Parameters
    ----------
    block : statistics, which have some of the fields n, total, mean and ss
    """
    for name in ("n", "total", "mean", "ss"):
        value = np.asarray(getattr(block, name, 0.0))
        # comparisons with NaN are False, so a NaN is refused too
        is_small = value.max(initial=0.0) <= _MAX_SUM and value.min(initial=0.0) >= -_MAX_SUM
        if not is_small:
            return False
    return True
