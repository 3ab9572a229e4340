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

from ..columns import listed
from ..core.pytrees import record
from ..families.one_class import OneClass
from ..naive_bayes import CLASS, Parameters, Rows, Statistics
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
        inner = list(self.estimator.block_columns())
        return {name: self.name if len(inner) == 1 else f"{self.name}.{name}" for name in inner}

    def __str__(self) -> str:
        return f"{self.name}: {type(self.estimator).__name__} of {self.at.tolist()}"

    def table(self, X: Any) -> Any:
        """Its columns of X."""
        return _safe_indexing(X, self.at, axis=1)

    def state(self, whole: State) -> State:
        """What its estimator knows, with its share in the statistics of all parts."""
        if (stats := whole.statistics) is None:
            return self.estimator._state
        own = slice(None) if self.k is None else [self.k]
        blocks = {inner: stats.blocks[name] for inner, name in self.names.items()}
        held = Statistics(stats.n[own], blocks, None if stats.error is None else stats.error[own])
        return replace(self.estimator._state, statistics=held, longest=whole.longest, pieces=whole.pieces)

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
        found = super().get_params(deep=False)
        for name, estimator, _ in self._listed() if deep else ():
            if isinstance(estimator, AbstractNB):
                found |= {name: estimator} | {f"{name}__{key}": v for key, v in estimator.get_params().items()}
        return found

    def set_params(self, **params: Any) -> Self:
        """Set parameters; `part=estimator` replaces a part's estimator, `part__parameter=value` sets its parameter."""
        fresh = {name: params.pop(name) for name, _, _ in self._listed() if name in params}
        if fresh:
            self.parts = [(name, fresh.get(name, estimator), columns) for name, estimator, columns in self.parts]
        return super().set_params(**params)

    def _listed(self) -> list[Any]:
        """The parts where they are listed by name; `fit` tells what is wrong with others."""
        return [p for p in self.parts if isinstance(p, tuple) and len(p) == 3] if isinstance(self.parts, list) else []

    @property
    def _is_automatic(self) -> bool:
        return isinstance(self.parts, str) and self.parts == "auto"

    # --- columns ----------------------------------------------------------------------------------------------------

    def _checked(self, X: Any, state: State | None, *y: Any) -> Any:
        sparse = self.__sklearn_tags__().input_tags.sparse
        known = None if state is None else state.columns
        X, labels, columns = checked_rows(self, X, known, *y, numbers=False, sparse=sparse)
        if self._is_automatic and isinstance(X, pd.DataFrame):
            if state is None:
                columns = replace(columns, contract=automatic_contract(X))
            if columns.contract is not None:
                X = as_described(X, columns.contract)
        return X if state is None or y else _without_unseen(state, X), labels, columns

    def _learn_encoding(self, state: State, X: Any) -> State:
        learnt: list[tuple[Part, State]] = []
        for part in self._resolve(state, X) if state.encoding is None else state.encoding:
            own = part.state(state) if hasattr(part.estimator, "_state") else None
            rows, _, columns = part.estimator._checked(part.table(X), own)
            labels = state.classes if part.k is None else state.classes[[part.k]]
            learnt.append((part, part.estimator._learn_encoding(own or State(labels, columns), rows)))
        return _of_parts(state, learnt)

    def _united(self, state: State, other: State) -> State:
        here, there = (", ".join(map(str, one.encoding)) for one in (state, other))
        if here != there:  # names, columns or kinds of estimators
            raise ValueError(
                f"`other` has the parts {there}, but this estimator has {here}; list the same parts in both"
            )
        pairs = zip(state.encoding, other.encoding, strict=True)
        united = [(part, part.estimator._united(part.state(state), twin.state(other))) for part, twin in pairs]
        mine, theirs = (replace(one, statistics=replace(one.statistics, blocks={})) for one in (state, other))
        return _of_parts(mine.with_rows(theirs), united)

    def _resolve(self, state: State, X: Any) -> Iterator[Part]:
        """The parts with their columns looked up in X; refuses columns in two parts or in none."""
        parts = automatic_parts(X, state.columns.contract) if self._is_automatic else self.parts
        if not isinstance(parts, list) or not parts or any(not isinstance(p, tuple) or len(p) != 3 for p in parts):
            raise ValueError(f"`parts` is {parts!r}; give 'auto' or a list of (name, estimator, columns)")
        names, owner, labels = [name for name, _, _ in parts], dict[int, str](), state.columns.labels.tolist()
        for name, estimator, columns in parts:
            if not isinstance(name, str) or names.count(name) > 1 or name == "class" or "." in name or "__" in name:
                needs = "a name must be a string without '.' and '__', and must be used once"
                raise ValueError(f"`parts` has the name {name!r}; {needs}")
            at = positions(X, columns, name)
            if twice := [f"{labels[j]} in both {owner[j]!r} and {name!r}" for j in at.tolist() if j in owner]:
                raise ValueError(f"`parts` has column {twice[0]}; list it in one part")
            owner |= dict.fromkeys(at.tolist(), name)
            if estimator == "drop" or not len(at):
                continue
            if not isinstance(estimator, dict):
                yield Part(name, _fresh(name, estimator), at)
                continue
            for k, label in enumerate(state.classes.tolist()):
                if label not in estimator:
                    raise ValueError(f"`parts` has no estimator for class {label!r} in {name!r}; add one")
                yield Part(f"{name}.{label}", _fresh(name, estimator[label]), at, k)
        if missed := [label for j, label in enumerate(labels) if j not in owner]:
            raise ValueError(f"`parts` leaves out the columns {listed(missed)}; give them an estimator or 'drop'")

    @property
    def parts_(self) -> list[tuple[str, AbstractNB, np.ndarray]]:
        """Name, fitted estimator and column positions of each part; one for each class if the classes differ."""
        state = self._known()
        return [(part.name, part.holding(part.state(state)).estimator, part.at) for part in state.encoding]

    # --- what the parts supply --------------------------------------------------------------------------------------

    def block_columns(self, state: State | None = None) -> dict[str, np.ndarray]:
        """Positions of the columns of each block. Provisional."""
        found: dict[str, np.ndarray] = {}
        for part in (state or self._state).encoding:
            own = part.estimator.block_columns()
            found |= {name: part.at[own[inner]] for inner, name in part.names.items()}
        return found

    def part_estimators(self) -> list[tuple[str, Any, dict[str, str], int | None]]:
        """Those of each entry of `parts`; several of one name where the entry has an estimator for each class."""
        state = self._state
        held = [part.holding(part.state(state)) for part in state.encoding]
        return [(part.name.split(".")[0], part.estimator, part.names, part.k) for part in held]

    @property
    def prior_follows_rows(self) -> bool:
        """Whether the rows scale the prior of some part, so that leaving a row out changes it. Provisional."""
        return any(part.estimator.prior_follows_rows for part in self._known().encoding)

    def _rows(self, state: State, X: Any) -> Rows:
        found: dict[str, Any] = {}
        for part in state.encoding:
            nb = part.estimator
            table = nb._checked(part.table(X), nb._state)[0]
            nb._check_finite(table)
            own = nb._rows(nb._state, table)
            found |= {name: own[inner] for inner, name in part.names.items()}
        return found

    def _blocks(self, state: State) -> dict[str, Any]:
        blocks: dict[str, Any] = {}
        for part in state.encoding:
            for inner, block in part.estimator._blocks(part.state(state)).items():
                if part.k is not None:
                    if block.missing_value is None:
                        raise ValueError(
                            f"`parts` has {part.estimator!r} for one class in {part.name!r}, but its likelihood of "
                            "complete rows needs all classes. Use it for all classes, or another estimator"
                        )
                    block = OneClass(block, part.k, len(state.classes))  # type: ignore[abstract]  # names are listed
                blocks[part.names[inner]] = block
        return blocks

    def _refined(self, state: State, theta: Parameters) -> Parameters:
        for part in state.encoding:
            own = {CLASS: theta[CLASS], **{inner: theta[name] for inner, name in part.names.items()}}
            nb = copy.copy(part.estimator)
            nb.estimate = self.estimate
            own = nb._refined(part.state(state), own)
            theta = {**theta, **{name: own[inner] for inner, name in part.names.items()}}
        return theta

    def _as_input(self, state: State, rows: Rows) -> Any:
        found = np.full((len(next(iter(rows.values()))), state.columns.n), np.nan, object)
        for part in state.encoding:
            own = {inner: rows[name] for inner, name in part.names.items()}
            table = np.asarray(part.estimator._as_input(part.estimator._state, own), object)
            found[:, part.at] = np.where(pd.isna(table), found[:, part.at], table)  # of the rows of its class
        frame = pd.DataFrame(found, columns=state.columns.names).infer_objects()
        return frame.to_numpy() if state.columns.names is None else frame

    def weight_labels(self, names: np.ndarray | None = None) -> np.ndarray:
        """A label for each weight of `linear_form`, (k,), from names of the columns. Provisional."""
        names = super().weight_labels(names)
        return np.concatenate([part.estimator.weight_labels(names[part.at]) for part in self._state.encoding])

    def levels_of(self, feature: int) -> Any:
        """Labels of the levels of a column, None where it has no levels. Provisional."""
        places = ((part.estimator, int(i)) for part in self._state.encoding for i in np.flatnonzero(part.at == feature))
        return next((levels for nb, i in places if (levels := nb.levels_of(i)) is not None), None)

    def _part_of(self, block: str) -> tuple[Part, str]:
        """The part that a block belongs to, and the block's name there."""
        return next((p, inner) for p in self._state.encoding for inner, name in p.names.items() if name == block)

    def block_labels(self, block: str) -> dict[str, np.ndarray]:
        """Coordinates of a block's dimensions by name, in the order of its axes after the class. Provisional."""
        part, inner = self._part_of(block)
        labels = {f"{part.name}_{key}": value for key, value in part.estimator.block_labels(inner).items()}
        return labels if part.k is None else labels | {f"{part.name}_class": part.estimator.classes_}

    def block_dims(self, block: str, parameter: str, ndim: int) -> list[str]:
        """Names of the axes of a parameter: the class first, unless there is only one axis. Provisional."""
        part, inner = self._part_of(block)
        names = part.estimator.block_dims(inner, parameter, ndim)
        return [name if name == "class" and part.k is None else f"{part.name}_{name}" for name in names]

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        each = [nb for _, given, _ in self._listed() for nb in (given.values() if isinstance(given, dict) else [given])]
        inner = [nb.__sklearn_tags__().input_tags for nb in each if isinstance(nb, AbstractNB)]
        tags.input_tags.categorical = tags.input_tags.string = True
        tags.input_tags.sparse = bool(inner) and all(one.sparse for one in inner)
        tags.input_tags.positive_only = any(one.positive_only for one in inner)
        return tags


def _of_parts(state: State, known: list[tuple[Part, State]]) -> State:
    """A state of what the estimators of all parts know."""
    parts: list[Part] = []
    blocks: dict[str, Any] = {}
    for part, own in known:
        parts.append(part := part.holding(own.bare))
        if own.statistics is not None:
            blocks |= {name: own.statistics.blocks[inner] for inner, name in part.names.items()}
    stats = state.statistics
    return replace(state, encoding=parts, statistics=stats if stats is None else replace(stats, blocks=blocks))


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
    yes_no = [part for part in state.encoding if part.estimator.cells.kind == "yes/no"]
    asked = [j for part in yes_no if getattr(part.estimator, "binarize", None) is None for j in part.at.tolist()]
    if not asked:
        return X
    frame, counted = pd.DataFrame(X).copy(deep=False), []
    for j in asked:
        cells = pd.to_numeric(frame.iloc[:, j], errors="coerce").to_numpy(float, na_value=np.nan)
        if (wrong := np.isfinite(cells) & (cells != 0) & (cells != 1)).any():
            counted.append(f"column {state.columns.label(j)}: {int(wrong.sum())} cells")
            frame.isetitem(j, frame.iloc[:, j].mask(wrong))
    if not counted:
        return X
    warnings.warn(
        f"`X` has numbers other than 0 and 1 where the training rows had only these ({', '.join(counted)}); they count "
        "as missing. To use such numbers, fit the model to rows that have them",
        stacklevel=1,  # one place, whatever predicts: Python shows it once
    )
    return frame if isinstance(X, pd.DataFrame) else frame.to_numpy()
