"""Naive Bayes with a likelihood of its own for every group of columns, and if need be for every class."""

import copy
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.utils import Tags, _safe_indexing

from ..core.pytrees import record
from ..families.one_class import OneClass
from ..naive_bayes import CLASS, Parameters, Rows, Statistics
from ..tables.names import listed
from ._automatic import as_described, automatic_contract, automatic_parts, positions
from ._base import AbstractNB
from ._fitted import State
from ._input import checked_rows
from .counts import ComplementNB


@record
@dataclass(frozen=True)
class Part:
    """Some columns, and the estimator that encodes them and makes their prior.

    Fields
    ------
    estimator : its state holds what is known of the columns, and no statistics
    at : positions of the columns
    k : the class, where it speaks of one only
    """

    name: str
    estimator: AbstractNB
    at: np.ndarray
    k: int | None = None

    @property
    def names(self) -> dict[str, str]:
        """Names of its blocks among those of all parts, by their name in the estimator."""
        block_names = list(self.estimator.block_columns())
        if len(block_names) == 1:
            return {block_names[0]: self.name}
        return {name: f"{self.name}.{name}" for name in block_names}

    def __str__(self) -> str:
        return f"{self.name}: {type(self.estimator).__name__} of {self.at.tolist()}"

    def table(self, X: Any) -> Any:
        """Its columns of X."""
        return _safe_indexing(X, self.at, axis=1)

    def state(self, whole: State) -> State:
        """What its estimator knows, with its share in the statistics of all parts."""
        stats = whole.statistics
        if stats is None:
            return self.estimator._state
        classes = slice(None) if self.k is None else [self.k]
        error = None if stats.error is None else stats.error[classes]
        blocks = {inner: stats.blocks[name] for inner, name in self.names.items()}
        of_part = Statistics(stats.n[classes], blocks, error)
        return replace(self.estimator._state, statistics=of_part, longest=whole.longest, pieces=whole.pieces)

    def inner_blocks(self, blocks: dict[str, Any]) -> dict[str, Any]:
        """Its blocks among those of all parts, by their name in the estimator."""
        of_part = {inner: blocks[name] for inner, name in self.names.items()}
        return of_part if self.k is None else {inner: block.unwrapped for inner, block in of_part.items()}

    def placed(self, block: Any, inner: Any) -> Any:
        """A block with other contents, as it is among those of all parts."""
        return inner if self.k is None else replace(block, block=inner)

    def holding(self, state: State) -> "Part":
        """The same with a copy of the estimator that holds a state."""
        estimator = copy.copy(self.estimator)
        estimator._state = state
        return replace(self, estimator=estimator)


@dataclass(eq=False, repr=False)
class MixedNB(AbstractNB):
    """Naive Bayes for mixed columns: p(x_i | y_i = c) = Π_parts p(x_i,part | y_i = c); each part has its own estimator.

    Parameters
    ----------
    parts : "auto" (default), or a list of (name, estimator, columns)
        the estimator is any estimator of bayesnb, with its own prior. A mapping from class label to estimator gives
        each class its own likelihood. "drop" leaves the columns out. Columns are a name, a position, a list of either,
        a slice, a mask, or a function of X such as `sklearn.compose.make_column_selector(dtype_include=float)`.
        Every column is in exactly one part. "auto" chooses `BernoulliNB` for columns of booleans or of zeros and ones,
        `GaussianNB` for other numbers, also those written as text in a data frame, and `CategoricalNB` for all other
        columns. It leaves out columns of a data frame that identify the row (identifiers, names, dates), that have
        the same value in every row, or no value at all.
        `contract_` lists them with the reason. With `partial_fit` the first batch decides. Where a part is a
        `BernoulliNB` with binarize=None, numbers other than 0 and 1 in rows to predict count as missing, with a warning
    fit_prior : bool, default True
        whether the class probabilities are learnt; with False they are equal
    class_prior, priors : (c,), optional
        fixed class probabilities; both names mean the same
    class_alpha : float or (c,), default 1
        Dirichlet concentration of the class probabilities; it is used when they are learnt
    estimate : "predictive" (default), "mean", "map" or "mle"
        what prediction uses in all parts. The `estimate` and the class prior of a part's estimator are ignored

    Attributes
    ----------
    parts_ : list of (name, estimator, column positions)
        the fitted parts; columns that are left out are in none of them
    contract_ : `ColumnContract` or None
        what "auto" found in a data frame; of fewer than 20 rows it leaves out no column
    classes_, n_features_in_, feature_names_in_ : as in scikit-learn
    statistics_, prior_, posterior_ : the sufficient statistics, and `NaiveBayes` before and after the rows. The blocks
        have the names of the parts
    log_evidence_ : log p(X, y) in nats

    Notes
    -----
    A part leaves out a missing cell if its likelihood allows missing cells. Features of different parts are independent
    given the class. Within a part the estimator decides: GaussianDA on two columns lets these two be correlated.

    Examples
    --------
    >>> import bayesnb
    >>> penguins = bayesnb.datasets.load("penguins")
    >>> nb = bayesnb.MixedNB().fit(penguins.X, penguins.y)
    >>> nb.predict(penguins.X[:2])
    array(['Adelie', 'Adelie'], dtype=object)
    >>> [(name, type(part).__name__) for name, part, columns in nb.parts_]
    [('numbers', 'GaussianNB'), ('levels', 'CategoricalNB')]
    """

    parts: Any = "auto"
    prior: Any = field(default=None, init=False)  # the parts have theirs

    _takes_text = True
    variants: ClassVar = {"mixed": {}}
    _most_columns = -1  # its parts are tried

    # --- parameters of the parts, as in ColumnTransformer -----------------------------------------------------------

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters; with `deep` also the parameters of the parts, as `part__parameter`."""
        params = super().get_params(deep=False)
        if not deep:
            return params
        for name, estimator, _ in self._listed():
            if isinstance(estimator, AbstractNB):
                params[name] = estimator
                params |= {f"{name}__{key}": value for key, value in estimator.get_params().items()}
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters; `part=estimator` replaces a part's estimator, `part__parameter=value` sets its parameter."""
        replaced = {name: params.pop(name) for name, _, _ in self._listed() if name in params}
        if replaced:
            self.parts = [(name, replaced.get(name, estimator), columns) for name, estimator, columns in self.parts]
        return super().set_params(**params)

    def _listed(self) -> list[Any]:
        """The parts where they are listed by name; `fit` tells what is wrong with others."""
        if not isinstance(self.parts, list):
            return []
        return [part for part in self.parts if isinstance(part, tuple) and len(part) == 3]

    @property
    def _is_automatic(self) -> bool:
        return isinstance(self.parts, str) and self.parts == "auto"

    # --- columns ----------------------------------------------------------------------------------------------------

    def _validate(self, X: Any, state: State | None, *y: Any) -> Any:
        sparse = self.__sklearn_tags__().input_tags.sparse
        fitted_columns = None if state is None else state.columns
        X, labels, columns = checked_rows(self, X, fitted_columns, *y, numbers=False, sparse=sparse)
        if self._is_automatic and isinstance(X, pd.DataFrame):
            if state is None:
                columns = replace(columns, contract=automatic_contract(X))
            if columns.contract is not None:
                X = as_described(X, columns.contract)
        if state is not None and not y:  # rows to predict
            X = _without_unseen(state, X)
        return X, labels, columns

    def _learn_encoding(self, state: State, X: Any) -> State:
        learnt: list[tuple[Part, State]] = []
        parts = self._resolve(state, X) if state.encoding is None else state.encoding
        for part in parts:
            part_state = part.state(state) if hasattr(part.estimator, "_state") else None
            rows, _, columns = part.estimator._validate(part.table(X), part_state)
            if part_state is None:
                labels = state.classes if part.k is None else state.classes[[part.k]]
                part_state = State(labels, columns)
            learnt.append((part, part.estimator._learn_encoding(part_state, rows)))
        return _of_parts(state, learnt)

    def _merge_states(self, state: State, other: State) -> State:
        parts = ", ".join(map(str, state.encoding))
        other_parts = ", ".join(map(str, other.encoding))
        if parts != other_parts:  # names, columns or kinds of estimators
            raise ValueError(
                f"`other` has the parts {other_parts}, but this estimator has {parts}; list the same parts in both"
            )
        united = []
        for part, twin in zip(state.encoding, other.encoding, strict=True):
            united.append((part, part.estimator._merge_states(part.state(state), twin.state(other))))
        return _of_parts(_without_blocks(state).with_rows(_without_blocks(other)), united)

    def _resolve(self, state: State, X: Any) -> Iterator[Part]:
        """The parts with their columns looked up in X; refuses columns in two parts or in none."""
        parts = automatic_parts(X, state.columns.contract) if self._is_automatic else self.parts
        _check_parts(parts)
        labels = state.columns.labels.tolist()
        owner: dict[int, str] = {}  # the part of each column
        for name, estimator, columns in parts:
            part_columns = positions(X, columns, name)
            for j in part_columns.tolist():
                if j in owner:
                    raise ValueError(
                        f"`parts` has column {labels[j]} in both {owner[j]!r} and {name!r}; list it in one part"
                    )
            owner |= dict.fromkeys(part_columns.tolist(), name)
            if estimator == "drop" or not len(part_columns):
                continue
            if isinstance(estimator, dict):
                yield from _parts_by_class(name, estimator, part_columns, state.classes)
            else:
                yield Part(name, _fresh(name, estimator), part_columns)
        missed = [label for j, label in enumerate(labels) if j not in owner]
        if missed:
            raise ValueError(f"`parts` leaves out the columns {listed(missed)}; give them an estimator or 'drop'")

    @property
    def parts_(self) -> list[tuple[str, AbstractNB, np.ndarray]]:
        """Name, fitted estimator and column positions of each part; one for each class if the classes differ."""
        state = self._known_state()
        return [(part.name, part.holding(part.state(state)).estimator, part.at) for part in state.encoding]

    # --- what the parts supply --------------------------------------------------------------------------------------

    def block_columns(self, state: State | None = None) -> dict[str, np.ndarray]:
        """Positions of the columns of each block. Provisional."""
        columns: dict[str, np.ndarray] = {}
        for part in (state or self._state).encoding:
            within_part = part.estimator.block_columns()
            columns |= {name: part.at[within_part[inner]] for inner, name in part.names.items()}
        return columns

    def part_estimators(self) -> list[tuple[str, Any, dict[str, str], int | None]]:
        """Those of each entry of `parts`; several of one name where the entry has an estimator for each class."""
        state = self._state
        fitted_parts = [part.holding(part.state(state)) for part in state.encoding]
        return [(part.name.split(".")[0], part.estimator, part.names, part.k) for part in fitted_parts]

    @property
    def prior_follows_rows(self) -> bool:
        """Whether the rows scale the prior of some part, so that leaving a row out changes it. Provisional."""
        return any(part.estimator.prior_follows_rows for part in self._known_state().encoding)

    def _blocks_with_rules(self, blocks: dict[str, Any]) -> dict[str, Any] | None:
        with_rules = dict(blocks)
        for part in self._known_state().encoding:
            if not part.estimator.prior_follows_rows:
                continue
            of_part = part.estimator._blocks_with_rules(part.inner_blocks(blocks))
            if of_part is None:
                return None
            with_rules |= {name: part.placed(blocks[name], of_part[inner]) for inner, name in part.names.items()}
        return with_rules

    def _rows_by_block(self, state: State, X: Any) -> Rows:
        rows: dict[str, Any] = {}
        for part in state.encoding:
            nb = part.estimator
            table = nb._validate(part.table(X), nb._state)[0]
            nb._check_finite(table)
            part_rows = nb._rows_by_block(nb._state, table)
            rows |= {name: part_rows[inner] for inner, name in part.names.items()}
        return rows

    def _traced_rows_by_block(self, state: State, X: Any) -> Rows:
        rows: dict[str, Any] = {}
        for part in state.encoding:
            part_rows = part.estimator._traced_rows_by_block(part.estimator._state, X[:, part.at])
            rows |= {name: part_rows[inner] for inner, name in part.names.items()}
        return rows

    def _blocks(self, state: State) -> dict[str, Any]:
        blocks: dict[str, Any] = {}
        for part in state.encoding:
            for inner, block in part.estimator._blocks(part.state(state)).items():
                if part.k is None:
                    blocks[part.names[inner]] = block
                else:
                    blocks[part.names[inner]] = _block_of_class(part, block, len(state.classes))
        return blocks

    def _refined(self, state: State, theta: Parameters) -> Parameters:
        for part in state.encoding:
            nb = copy.copy(part.estimator)
            nb.estimate = self.estimate
            of_part = {CLASS: theta[CLASS]} | {inner: theta[name] for inner, name in part.names.items()}
            refined = nb._refined(part.state(state), of_part)
            theta = {**theta, **{name: refined[inner] for inner, name in part.names.items()}}
        return theta

    def _as_input(self, state: State, rows: Rows) -> Any:
        n_rows = len(next(iter(rows.values())))
        cells = np.full((n_rows, state.columns.n), np.nan, object)
        for part in state.encoding:
            part_rows = {inner: rows[name] for inner, name in part.names.items()}
            table = np.asarray(part.estimator._as_input(part.estimator._state, part_rows), object)
            # a part of one class has cells in the rows of its class alone
            cells[:, part.at] = np.where(pd.isna(table), cells[:, part.at], table)
        frame = pd.DataFrame(cells, columns=state.columns.names).infer_objects()
        return frame.to_numpy() if state.columns.names is None else frame

    def weight_labels(self, names: np.ndarray | None = None) -> np.ndarray:
        """A label for each weight of `linear_form`, (k,), from names of the columns. Provisional."""
        names = super().weight_labels(names)
        return np.concatenate([part.estimator.weight_labels(names[part.at]) for part in self._state.encoding])

    def levels_of(self, feature: int) -> Any:
        """Labels of the levels of a column, None where it has no levels. Provisional."""
        for part in self._state.encoding:
            for within_part in np.flatnonzero(part.at == feature):
                levels = part.estimator.levels_of(int(within_part))
                if levels is not None:
                    return levels
        return None

    def _part_of(self, block: str) -> tuple[Part, str]:
        """The part that a block belongs to, and the block's name there."""
        for part in self._state.encoding:
            for inner, name in part.names.items():
                if name == block:
                    return part, inner
        raise KeyError(block)

    def block_labels(self, block: str) -> dict[str, np.ndarray]:
        """Coordinates of a block's dimensions by name, in the order of its axes after the class. Provisional."""
        part, inner = self._part_of(block)
        labels = {f"{part.name}_{key}": value for key, value in part.estimator.block_labels(inner).items()}
        if part.k is not None:
            labels[f"{part.name}_class"] = part.estimator.classes_
        return labels

    def block_dims(self, block: str, parameter: str, ndim: int) -> list[str]:
        """Names of the axes of a parameter: the class first, unless there is only one axis. Provisional."""
        part, inner = self._part_of(block)
        names = part.estimator.block_dims(inner, parameter, ndim)
        return [name if name == "class" and part.k is None else f"{part.name}_{name}" for name in names]

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        of_parts = []
        for _, estimator, _ in self._listed():
            estimators = estimator.values() if isinstance(estimator, dict) else [estimator]
            of_parts += [nb.__sklearn_tags__().input_tags for nb in estimators if isinstance(nb, AbstractNB)]
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.input_tags.sparse = bool(of_parts) and all(part_tags.sparse for part_tags in of_parts)
        tags.input_tags.positive_only = any(part_tags.positive_only for part_tags in of_parts)
        return tags


def _check_parts(parts: Any) -> None:
    """Raise a ValueError unless the parts are tuples of name, estimator and columns, with names that can be used."""
    is_list = isinstance(parts, list) and parts and all(isinstance(part, tuple) and len(part) == 3 for part in parts)
    if not is_list:
        raise ValueError(f"`parts` is {parts!r}; give 'auto' or a list of (name, estimator, columns)")
    names = [name for name, _, _ in parts]
    for name in names:
        if not isinstance(name, str) or names.count(name) > 1 or name == "class" or "." in name or "__" in name:
            raise ValueError(
                f"`parts` has the name {name!r}; a name must be a string without '.' and '__', and must be used once"
            )


def _parts_by_class(name: str, estimators: dict[Any, Any], columns: np.ndarray, classes: np.ndarray) -> Iterator[Part]:
    """A part for each class, from a mapping of class labels to estimators."""
    for k, label in enumerate(classes.tolist()):
        if label not in estimators:
            raise ValueError(f"`parts` has no estimator for class {label!r} in {name!r}; add one")
        yield Part(f"{name}.{label}", _fresh(name, estimators[label]), columns, k)


def _block_of_class(part: Part, block: Any, n_classes: int) -> Any:
    """The block of a part that speaks of one class only, among all classes."""
    if block.missing_value is None:
        raise ValueError(
            f"`parts` has {part.estimator!r} for one class in {part.name!r}, but its likelihood of complete rows "
            "needs all classes. Use it for all classes, or another estimator"
        )
    return OneClass(block, part.k, n_classes)  # type: ignore[abstract, arg-type]  # names are listed


def _without_blocks(state: State) -> State:
    """The state with the statistics of the classes alone."""
    return replace(state, statistics=replace(state.statistics, blocks={}))


def _of_parts(state: State, learnt: list[tuple[Part, State]]) -> State:
    """The state of all parts, from the state of each part's estimator."""
    parts: list[Part] = []
    blocks: dict[str, Any] = {}
    for part, part_state in learnt:
        with_state = part.holding(part_state.without_rows)
        parts.append(with_state)
        if part_state.statistics is not None:
            blocks |= {name: part_state.statistics.blocks[inner] for inner, name in with_state.names.items()}
    if state.statistics is None:
        return replace(state, encoding=parts)
    return replace(state, encoding=parts, statistics=replace(state.statistics, blocks=blocks))


def _fresh(name: str, estimator: Any) -> AbstractNB:
    """A clone of an estimator that may be a part."""
    if not isinstance(estimator, AbstractNB) or isinstance(estimator, MixedNB | ComplementNB):
        raise ValueError(
            f"`parts` has {estimator!r} for {name!r}; give an estimator of bayesnb with a class-conditional "
            "likelihood, or 'drop'"
        )
    return clone(estimator)


def _without_unseen(state: State, X: Any) -> Any:
    """Rows to predict, whose numbers other than 0 and 1 count as missing in columns that held only these."""
    yes_no_columns: list[int] = []
    for part in state.encoding:
        if part.estimator.cells.kind == "yes/no" and getattr(part.estimator, "binarize", None) is None:
            yes_no_columns += part.at.tolist()
    if not yes_no_columns:
        return X
    frame = pd.DataFrame(X).copy(deep=False)
    counted = []
    for j in yes_no_columns:
        cells = pd.to_numeric(frame.iloc[:, j], errors="coerce").to_numpy(float, na_value=np.nan)
        is_other = np.isfinite(cells) & (cells != 0) & (cells != 1)
        if is_other.any():
            counted.append(f"column {state.columns.label(j)}: {int(is_other.sum())} cells")
            frame.isetitem(j, frame.iloc[:, j].mask(is_other))
    if not counted:
        return X
    warnings.warn(
        f"`X` has numbers other than 0 and 1 where the training rows had only these ({', '.join(counted)}); they count "
        "as missing. To use such numbers, fit the model to rows that have them",
        stacklevel=1,  # one place, whatever predicts: Python shows it once
    )
    return frame if isinstance(X, pd.DataFrame) else frame.to_numpy()
