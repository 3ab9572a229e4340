"""Naive Bayes with a likelihood of its own for every group of columns, and if need be for every class."""

import copy
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.utils import Tags, _safe_indexing

from ..families.one_class import OneClass
from ..models.naive_bayes import CLASS, Parameters, Rows, Statistics
from ..numerics.pytrees import record
from ..tables.names import listed
from ._automatic import as_described, automatic_contract, automatic_parts, positions
from ._base import AbstractNB
from ._documented import documented
from ._fitted import State
from ._input import checked_rows
from ._predicting import AbstractBayes
from ._view import ModelView, PartView
from .counts import ComplementNB


@record
@dataclass(frozen=True)
class Part:
    """Some columns, and the estimator that encodes them and makes their prior.

    The model of an estimator consists of *blocks*: one, or one for each number of levels. `MixedNB` has the blocks of
    all parts, so a block has two names: the *inner* one within the estimator, and the *outer* one among those of all
    parts, which begins with the name of the part.

    Fields
    ------
    name : of the part, as the user lists it; with the label of its class where it is for one only
    estimator : its state holds what is known of the columns, and no statistics
    at : positions of the columns
    k : position of the class, if the part is for one class only
    """

    name: str
    estimator: AbstractNB
    at: np.ndarray
    k: int | None = None

    @property
    def model(self) -> ModelView:
        """What its estimator says of the columns of the part, without statistics."""
        return ModelView(self.estimator, self.estimator._state)

    @property
    def names(self) -> dict[str, str]:
        """The outer names of its blocks by their inner names, such as {"levels_3": "pet.levels_3"}.

        A single block has the name of the part.
        """
        block_names = list(self.model.block_columns)
        if len(block_names) == 1:
            return {block_names[0]: self.name}
        return {name: f"{self.name}.{name}" for name in block_names}

    def __str__(self) -> str:
        return f"{self.name}: {type(self.estimator).__name__} of {self.at.tolist()}"

    def table(self, X: Any) -> Any:
        """The columns of X that belong to the part, as a table of the same kind."""
        return _safe_indexing(X, self.at, axis=1)

    def state(self, whole: State) -> State:
        """The state of its estimator, with its share in the statistics of all parts.

        The estimator in `Part` holds labels, columns and encoding. The statistics of all parts are in one `State`, that
        of `MixedNB`, from which those of the part are taken here.

        Parameters
        ----------
        whole : the state of all parts
        """
        # before there are rows: the estimator's own state, which has labels, columns and encoding
        stats = whole.statistics
        if stats is None:
            return self.estimator._state

        # the weights of the classes, (c,), and the variances of their rounding: of all classes, or of the only class of
        # the part. `inner` picks the statistics of its own blocks. `longest` and `pieces` say how the sums were made
        classes = slice(None) if self.k is None else [self.k]
        error = None if stats.error is None else stats.error[classes]
        of_part = Statistics(stats.n[classes], self.inner(stats.blocks), error)
        return replace(self.estimator._state, statistics=of_part, longest=whole.longest, pieces=whole.pieces)

    def inner(self, by_block: Mapping[str, Any]) -> dict[str, Any]:
        """The entries of its own blocks, of a mapping from the outer names of all blocks; by their inner names."""
        return {inner: by_block[name] for inner, name in self.names.items()}

    def outer(self, by_inner_block: Mapping[str, Any]) -> dict[str, Any]:
        """The inverse of `inner`: a mapping from the inner names of its blocks, by their outer names."""
        return {name: by_inner_block[inner] for inner, name in self.names.items()}

    def inner_blocks(self, blocks: dict[str, Any]) -> dict[str, Any]:
        """Its blocks as the estimator has them: a part of one class without the wrapper `OneClass`."""
        of_part = self.inner(blocks)
        if self.k is None:
            return of_part
        return {inner: block.unwrapped for inner, block in of_part.items()}

    def placed(self, block: Any, inner: Any) -> Any:
        """A block of the estimator, `inner`, as it is among those of all parts: in the wrapper of `block`, if any."""
        return inner if self.k is None else replace(block, block=inner)

    def holding(self, state: State) -> "Part":
        """The same with a copy of the estimator that holds a state."""
        return replace(self, estimator=self.estimator._holding(state))


@documented
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
    {class_parameters}
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
    _variants: ClassVar = {"mixed": {}}
    _most_columns = -1  # its parts are tried

    # --- parameters of the parts, as in ColumnTransformer -----------------------------------------------------------

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters; with `deep` also the parameters of the parts, as `part__parameter`."""
        params = super().get_params(deep=False)  # `parts` and those of the labels
        if not deep:
            return params
        for name, estimator, _ in self._listed():
            if isinstance(estimator, AbstractBayes):  # not "drop", nor a mapping of estimators by class
                params[name] = estimator
                params |= {f"{name}__{key}": value for key, value in estimator.get_params().items()}
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters; `part=estimator` replaces a part's estimator, `part__parameter=value` sets its parameter."""
        # whole estimators first, by the name of their part; scikit-learn sets all other parameters afterwards, so that
        # `part__parameter` sets those of the new estimators
        replaced = {name: params.pop(name) for name, _, _ in self._listed() if name in params}
        if replaced:
            self.parts = [(name, replaced.get(name, estimator), columns) for name, estimator, columns in self.parts]
        return super().set_params(**params)

    def _listed(self) -> list[Any]:
        """The (name, estimator, columns) of each part, as the user lists them; without those that `fit` will refuse."""
        if not isinstance(self.parts, list):
            return []
        return [part for part in self.parts if isinstance(part, tuple) and len(part) == 3]

    @property
    def _is_automatic(self) -> bool:
        """Whether the parts follow from the columns, and are not listed."""
        return isinstance(self.parts, str) and self.parts == "auto"

    # --- columns ----------------------------------------------------------------------------------------------------

    def _validate(self, X: Any, state: State | None, *y: Any) -> Any:
        """Rows, labels and columns, checked; cells may be of any type.

        With parts="auto" a data frame has a *contract*: a list of what each of its columns is (numbers, levels, yes/no,
        dropped) and how its numbers are written as text. It is made of the first rows, and kept with the columns. All
        rows are read by it, so that the text "1,5" is a number in the second batch too.

        Parameters
        ----------
        X : rows as the user gives them
        state : with the columns that X has to have; None at the first fit
        y : the labels, one argument, if rows are learnt; none if they are to be predicted

        Returns
        -------
        rows : array, sparse array or data frame
        labels : (n,), None without y
        columns : number, names and contract of the columns
        """
        takes_sparse = self.__sklearn_tags__().input_tags.sparse  # whether all parts do
        fitted_columns = None if state is None else state.columns
        rows, labels, columns = checked_rows(self, X, fitted_columns, *y, numbers=False, sparse=takes_sparse)

        # a list of `parts` needs no contract, and an array has cells of one type. `as_described` gives the cells as the
        # contract reads them: numbers as floats, levels as text
        if self._is_automatic and isinstance(rows, pd.DataFrame):
            if state is None:  # the first rows
                columns = replace(columns, contract=automatic_contract(rows))
            if columns.contract is not None:  # there is none if two columns have the same name
                rows = as_described(rows, columns.contract)

        # in rows to predict, numbers that a yes/no part has not seen count as missing; in rows to learn they are an
        # error
        if state is not None and not y:
            rows = _without_unseen(state, rows)
        return rows, labels, columns

    def _learn_encoding(self, state: State, X: Any) -> State:
        """The state with the parts, whose estimators know the encoding of their columns.

        The encoding of a `MixedNB` is its list of parts. Each part has an estimator with a state of its own, in which
        the encoding of its columns is kept, such as the levels of a `CategoricalNB`.

        Parameters
        ----------
        state : with labels and columns; its encoding is the list of parts, None at the first rows
        X : validated rows
        """
        # a part is some columns with an estimator. A state is what an estimator has learnt: the part's state has the
        # statistics of its own columns, which are kept by `MixedNB` and handed down here
        learnt: list[tuple[Part, State]] = []  # each part, and the state that its estimator gets
        is_first = state.encoding is None
        parts = self._resolve(state, X) if is_first else state.encoding
        for part in parts:
            # a new estimator has no state. `_validate` checks the columns of the part as the estimator needs them, and
            # `_learn_encoding` adds the levels that are new in these rows
            part_state = part.state(state) if hasattr(part.estimator, "_state") else None
            rows, _, columns = part.estimator._validate(part.table(X), part_state)
            if part_state is None:  # a new estimator; that of a part for one class knows only the label of this class
                labels = state.classes if part.k is None else state.classes[[part.k]]
                part_state = State(labels, columns)
            learnt.append((part, part.estimator._learn_encoding(part_state, rows)))
        return _state_of_parts(state, learnt)

    def _merge_states(self, state: State, other: State) -> State:
        """The state of the rows of both: each part merges with its twin, and the class weights add.

        The encoding of a state is its list of parts, each with an estimator that knows the encoding of its columns,
        such as their levels. So every part merges by the rule of its estimator: `CategoricalNB` takes the levels of
        both.

        Parameters
        ----------
        state, other : what two estimators with the same parts have learnt
        """
        # the text of a part has its name, its columns and the kind of its estimator, as "levels: CategoricalNB of [2]".
        # Equal texts mean that the two have the same parts in the same order
        parts = ", ".join(map(str, state.encoding))
        other_parts = ", ".join(map(str, other.encoding))
        if parts != other_parts:
            raise ValueError(
                f"`other` has the parts {other_parts}, but this estimator has {parts}; list the same parts in both"
            )
        merged = []  # each part, and the state of its estimator after both sets of rows
        for part, twin in zip(state.encoding, other.encoding, strict=True):
            state_of_part = part.state(state)
            state_of_twin = twin.state(other)
            merged.append((part, part.estimator._merge_states(state_of_part, state_of_twin)))

        # the weights of the classes belong to no part: they add, without the statistics of columns. `_state_of_parts`
        # then puts the statistics of all parts into this state
        class_weights = _without_blocks(state).with_rows(_without_blocks(other))
        return _state_of_parts(class_weights, merged)

    def _resolve(self, state: State, X: Any) -> Iterator[Part]:
        """The parts with their columns looked up in X, one after the other.

        This is a generator that also checks the parts: a ValueError is raised at the part whose column has a part
        already, and after the last part if a column has none.

        Parameters
        ----------
        state : with labels and columns, before parts are known
        X : validated rows
        """
        # "auto" makes a list of (name, estimator, columns) as well, from the roles of the columns
        parts = automatic_parts(X, state.columns.contract) if self._is_automatic else self.parts
        _check_parts(parts)
        labels = state.columns.labels.tolist()  # names of the columns, or their numbers
        part_of_column: dict[int, str] = {}  # name of the part by position of the column, of all parts so far
        for name, estimator, columns in parts:
            part_columns = positions(X, columns, name)  # (m,), positions in X of the columns that the user names
            _refuse_taken(part_columns, part_of_column, labels, name)
            part_of_column |= dict.fromkeys(part_columns.tolist(), name)

            # columns that are dropped count as listed, but make no part; nor does an empty selection
            if estimator == "drop" or not len(part_columns):
                continue
            if isinstance(estimator, dict):  # an estimator for each class
                yield from _parts_by_class(name, estimator, part_columns, state.classes)
            else:
                yield Part(name, _fresh(name, estimator), part_columns)

        missed = [label for j, label in enumerate(labels) if j not in part_of_column]
        if missed:
            raise ValueError(f"`parts` leaves out the columns {listed(missed)}; give them an estimator or 'drop'")

    @property
    def parts_(self) -> list[tuple[str, AbstractNB, np.ndarray]]:
        """Name, fitted estimator and column positions of each part; one for each class if the classes differ."""
        # estimators of the parts keep no statistics: `holding` gives a copy of the part whose estimator has those of
        # its columns
        state = self._known_state()
        parts = []
        for part in state.encoding:
            fitted = part.holding(part.state(state)).estimator
            parts.append((part.name, fitted, part.at))
        return parts

    # --- what the parts supply --------------------------------------------------------------------------------------

    def _block_columns(self, state: State) -> dict[str, np.ndarray]:
        """Positions in X of the columns of each block.

        Parameters
        ----------
        state : its encoding is the list of parts
        """
        block_columns: dict[str, np.ndarray] = {}
        for part in state.encoding:
            # the estimator numbers the columns of its part 0, 1, …; `part.at` are their positions in X: in a part with
            # the columns 2, 5, 7 of X, a block of the columns 0 and 2 has the columns 2 and 7 of X
            columns_within_part = part.outer(part.model.block_columns)  # by the names of the blocks here
            for name, within_part in columns_within_part.items():
                block_columns[name] = part.at[within_part]
        return block_columns

    def _part_views(self, state: State) -> list[PartView]:
        """Those of each entry of `parts`; several of one name where the entry has an estimator for each class."""
        views = []
        for part in state.encoding:  # the list of parts; `holding` puts the statistics of its columns into a copy
            fitted = part.holding(part.state(state))
            name = part.name.split(".")[0]  # without the label of the class, as in "numbers.spam"
            views.append(PartView(name, fitted.model, part.names, part.k))
        return views

    @property
    def _prior_follows_rows(self) -> bool:
        """Whether the rows scale the prior of some part, so that leaving a row out changes it."""
        return any(part.estimator._prior_follows_rows for part in self._known_state().encoding)

    def _blocks_with_rules(self, blocks: dict[str, Any]) -> dict[str, Any] | None:
        """The blocks of all parts with the rules by which rows scale their priors; None if a part has no such rules.

        A part whose prior does not follow the rows stays as it is.

        Parameters
        ----------
        blocks : prior or posterior blocks of all parts, by name
        """
        with_rules = dict(blocks)
        for part in self._known_state().encoding:  # the list of parts, each with an estimator of its own
            if not part.estimator._prior_follows_rows:
                continue
            # a rule says how the rows scale a prior, so that leave-one-out can make the prior without a row. The
            # estimator of the part knows it. It gets its blocks by the names that they have there, a block for one
            # class without the wrapper that `MixedNB` puts around it
            inner_blocks = part.inner_blocks(blocks)
            inner_with_rules = part.estimator._blocks_with_rules(inner_blocks)
            if inner_with_rules is None:
                return None
            # back under their names among the blocks of all parts, in the wrapper again
            for name, block in part.outer(inner_with_rules).items():
                with_rules[name] = part.placed(blocks[name], block)
        return with_rules

    def _rows_by_block(self, state: State, X: Any) -> Rows:
        """Some validated rows as columns by block: the estimator of each part encodes the columns of its part.

        Parameters
        ----------
        state : its encoding is the list of parts
        X : array, sparse array or data frame with all columns
        """
        rows: dict[str, Any] = {}
        for part in state.encoding:
            # the estimator of a part has a `_state` of its own, which knows the encoding of its columns, such as their
            # levels. It gives its rows as arrays by the names that its blocks have there
            nb = part.estimator
            part_rows, _, _ = nb._validate(part.table(X), nb._state)
            nb._check_finite(part_rows)
            part_blocks = nb._rows_by_block(nb._state, part_rows)
            rows |= part.outer(part_blocks)  # under the names that these blocks have among those of all parts
        return rows

    def _traced_rows_by_block(self, state: State, X: Any) -> Rows:
        """Rows (n, d) that JAX traces as columns by block; see `_rows_by_block`. They have no values to check."""
        rows: dict[str, Any] = {}
        for part in state.encoding:
            nb = part.estimator
            part_blocks = nb._traced_rows_by_block(nb._state, X[:, part.at])
            rows |= part.outer(part_blocks)
        return rows

    def _blocks(self, state: State) -> dict[str, Any]:
        """The prior blocks of all parts, by name.

        Parameters
        ----------
        state : its encoding is the list of parts; its statistics, if there are any, scale the priors
        """
        blocks: dict[str, Any] = {}
        for part in state.encoding:
            # a block is the conjugate prior of some columns. `outer` puts the name of the part in front of its name
            blocks_of_part = part.estimator._blocks(part.state(state))
            for name, block in part.outer(blocks_of_part).items():
                if part.k is None:
                    blocks[name] = block
                else:  # the part is for class k only, so its block has one class
                    blocks[name] = _block_of_class(part, block, len(state.classes))
        return blocks

    def _refined(self, state: State, theta: Parameters) -> Parameters:
        """The point estimate as prediction uses it: each part refines its parameters, under the `estimate` of all.

        `GaussianNB` smooths variances, for example, and `GaussianDA` refuses singular covariances.

        Parameters
        ----------
        state : its encoding is the list of parts
        theta : by block the mapping from parameter to array
        """
        all_refined = theta
        for part in state.encoding:
            nb = copy.copy(part.estimator)  # the user's own estimator does not change
            nb.estimate = self.estimate  # which an error message names
            # parameters of the labels, and of the blocks of the part by the names that they have in its estimator
            theta_of_part = {CLASS: theta[CLASS], **part.inner(theta)}
            refined = nb._refined(part.state(state), theta_of_part)
            all_refined = {**all_refined, **part.outer(refined)}
        return all_refined

    def _as_input(self, state: State, rows: Rows) -> Any:
        """Rows by block as a table of all columns: a data frame if the columns have names, else an array.

        Parameters
        ----------
        state : its encoding is the list of parts
        rows : by the name of a block its columns (n, d_block), as the model draws them
        """
        # all cells as objects, because parts have numbers or text; missing at first
        n_rows = len(next(iter(rows.values())))
        cells = np.full((n_rows, state.columns.n), np.nan, object)
        for part in state.encoding:
            nb = part.estimator
            table = np.asarray(nb._as_input(nb._state, part.inner(rows)), object)  # (n, columns of the part)
            # several parts may describe the same columns, each for one class. Such a part has NaN in the rows of other
            # classes, and there the cells of the other parts stay
            cells[:, part.at] = np.where(pd.isna(table), cells[:, part.at], table)
        frame = pd.DataFrame(cells, columns=state.columns.names).infer_objects()  # numbers are no objects any more
        return frame.to_numpy() if state.columns.names is None else frame

    def _weight_labels(self, state: State, names: np.ndarray) -> np.ndarray:
        """A label for each weight of the linear form, (k,), from names of the columns, (d,)."""
        labels = [part.estimator._weight_labels(part.estimator._state, names[part.at]) for part in state.encoding]
        return np.concatenate(labels)

    def _levels_of(self, state: State, feature: int) -> Any:
        """Labels of the levels of a column, (k,); None where it has no levels.

        Parameters
        ----------
        state : its encoding is the list of parts
        feature : position of the column in X
        """
        for part in state.encoding:
            # `part.at` has the positions in X of the columns of the part. Its estimator numbers them 0, 1, …: the
            # column 5 of X is number 1 in a part of the columns 2, 5. `flatnonzero` is empty if the part has it not
            for within_part in np.flatnonzero(part.at == feature):
                levels = part.model.levels_of(int(within_part))
                if levels is not None:
                    return levels
        return None

    def _part_of(self, state: State, block: str) -> tuple[Part, str]:
        """The part that a block belongs to, and the block's name in the estimator of that part.

        For the block "pet.levels_3" of the part "pet" the second is "levels_3".

        Parameters
        ----------
        state : its encoding is the list of parts
        block : name among the blocks of all parts
        """
        for part in state.encoding:
            for inner, name in part.names.items():  # from the names in the estimator to those here
                if name == block:
                    return part, inner
        raise KeyError(block)

    def _block_labels(self, state: State, block: str) -> dict[str, np.ndarray]:
        """Coordinates of a block's dimensions by name, in the order of its axes after the class.

        The names of dimensions begin with the part, as in "numbers_feature", because parts have different columns.
        """
        part, inner = self._part_of(state, block)  # and the name that the block has in the estimator of the part
        labels = {f"{part.name}_{key}": value for key, value in part.model.block_labels(inner).items()}
        if part.k is not None:  # a part for one class has an axis of this class alone
            labels[f"{part.name}_class"] = part.estimator.classes_
        return labels

    def _block_dims(self, state: State, block: str, parameter: str, ndim: int) -> list[str]:
        """Names of the axes of a parameter: the class first, unless there is only one axis.

        The names begin with the part, as in "numbers_feature", except for the axis of all classes.
        """
        # the names come from the estimator of the part, in which the block has another name, `inner`. If the part is
        # for one class, `k`, its axis of classes has length 1 and is not that of all classes
        part, inner = self._part_of(state, block)
        dims = []
        for name in part.model.block_dims(inner, parameter, ndim):
            is_axis_of_all_classes = name == "class" and part.k is None
            dims.append(name if is_axis_of_all_classes else f"{part.name}_{name}")
        return dims

    def __sklearn_tags__(self) -> Tags:
        """What scikit-learn may give to the estimator: sparse rows if all parts take them.

        Cells must be ≥ 0 if some part needs that. With parts="auto" no part is listed, and rows must be dense.
        """
        # the input tags of all estimators that `parts` lists; `isinstance` leaves out "drop", and entries that `fit`
        # will refuse
        tags_of_parts = []  # whether each estimator takes sparse rows, negative numbers, and so on
        for _, estimator, _ in self._listed():
            is_by_class = isinstance(estimator, dict)  # a mapping from class label to estimator
            estimators = estimator.values() if is_by_class else [estimator]
            for nb in estimators:
                if isinstance(nb, AbstractBayes):
                    tags_of_parts.append(nb.__sklearn_tags__().input_tags)

        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.input_tags.sparse = bool(tags_of_parts) and all(part_tags.sparse for part_tags in tags_of_parts)
        tags.input_tags.positive_only = any(part_tags.positive_only for part_tags in tags_of_parts)
        return tags


def _check_parts(parts: Any) -> None:
    """Raise a ValueError unless the parts are tuples of name, estimator and columns, with names that can be used.

    Parameters
    ----------
    parts : as the user gave them, or as "auto" has made them
    """
    # a list that is not empty, of tuples (name, estimator, columns)
    is_list_of_triples = (
        isinstance(parts, list) and parts and all(isinstance(part, tuple) and len(part) == 3 for part in parts)
    )
    if not is_list_of_triples:
        raise ValueError(f"`parts` is {parts!r}; give 'auto' or a list of (name, estimator, columns)")
    names = [name for name, _, _ in parts]
    for name in names:
        # "class" is the name of the labels; "." and "__" separate parts of names
        if not isinstance(name, str) or names.count(name) > 1 or name == "class" or "." in name or "__" in name:
            raise ValueError(
                f"`parts` has the name {name!r}; a name must be a string without '.' and '__', and must be used once"
            )


def _refuse_taken(columns: np.ndarray, part_of_column: dict[int, str], labels: list[Any], name: str) -> None:
    """Raise a ValueError if a part lists a column that another part has already.

    Parameters
    ----------
    columns : positions of the columns of the part
    part_of_column : name of the part of each column that has one
    labels : names of all columns, for the message
    name : of the part
    """
    for j in columns.tolist():
        if j in part_of_column:
            first = part_of_column[j]
            raise ValueError(f"`parts` has column {labels[j]} in both {first!r} and {name!r}; list it in one part")


def _parts_by_class(name: str, estimators: dict[Any, Any], columns: np.ndarray, classes: np.ndarray) -> Iterator[Part]:
    """A part for each class, from a mapping of class labels to estimators.

    Parameters
    ----------
    name, columns : of the entry of `parts`; columns are positions in X
    estimators : of each class label its estimator
    classes : (c,), all labels

    Raises
    ------
    ValueError
        if a class has no estimator
    """
    for k, label in enumerate(classes.tolist()):
        if label not in estimators:
            raise ValueError(f"`parts` has no estimator for class {label!r} in {name!r}; add one")
        yield Part(f"{name}.{label}", _fresh(name, estimators[label]), columns, k)


def _block_of_class(part: Part, block: Any, n_classes: int) -> Any:
    """The block of a part that is for one class only, in a wrapper that has a table of all classes.

    Other classes have log p = 0 in its table, because their own parts describe the same columns.

    Parameters
    ----------
    part : with the position `k` of its class
    block : a prior block of its estimator, which knows one class
    n_classes : number of all classes
    """
    # of rows of other classes the part knows nothing: in new rows that the model draws its cells are missing there. So
    # the family must know missing cells
    if block.missing_value is None:
        raise ValueError(
            f"`parts` has {part.estimator!r} for one class in {part.name!r}, but its likelihood of complete rows "
            "needs all classes. Use it for all classes, or another estimator"
        )
    return OneClass(block, part.k, n_classes)  # type: ignore[arg-type]


def _without_blocks(state: State) -> State:
    """The state with the statistics of the classes alone: their weights, without the sums of any column."""
    return replace(state, statistics=replace(state.statistics, blocks={}))


def _state_of_parts(state: State, learnt: list[tuple[Part, State]]) -> State:
    """The state of all parts, from the state of each part's estimator.

    The estimators keep labels, columns and encoding. Their statistics are put together, by block, in the state of all.

    Parameters
    ----------
    state : labels, columns and class weights
    learnt : each part, and the state that its estimator has learnt
    """
    # a block is the columns of a part that share one prior; statistics are kept by the name of the block
    parts: list[Part] = []
    blocks: dict[str, Any] = {}
    for part, part_state in learnt:
        with_state = part.holding(part_state.without_rows)  # a copy of the part, whose estimator has this state
        parts.append(with_state)
        if part_state.statistics is not None:  # by the names that its blocks have among those of all parts
            blocks |= with_state.outer(part_state.statistics.blocks)
    if state.statistics is None:
        return replace(state, encoding=parts)
    return replace(state, encoding=parts, statistics=replace(state.statistics, blocks=blocks))


def _fresh(name: str, estimator: Any) -> AbstractNB:
    """A clone, without rows, of the estimator of a part; ValueError if it cannot be one.

    A part must have a likelihood of its rows given the class, which `ComplementNB` has not; and no parts of its own. It
    must be naive Bayes, whose blocks become blocks of the whole.

    Parameters
    ----------
    name : of the part, for the message
    estimator : as the user gave it
    """
    is_naive = isinstance(estimator, AbstractNB)
    if isinstance(estimator, AbstractBayes) and not is_naive:
        raise ValueError(
            f"{type(estimator).__name__} averages models, so it cannot be a part of another model; use CategoricalNB"
        )
    if not is_naive or isinstance(estimator, MixedNB | ComplementNB):
        raise ValueError(
            f"`parts` has {estimator!r} for {name!r}; give an estimator of bayesnb with a class-conditional "
            "likelihood, or 'drop'"
        )
    return clone(estimator)


def _without_unseen(state: State, X: Any) -> Any:
    """Rows to predict, in which numbers other than 0 and 1 are missing in columns that had only these at the fit.

    Warns of such cells, because nothing was learnt about them.

    Parameters
    ----------
    state : after the fit; its encoding is the list of parts
    X : array, sparse array or data frame, which does not change

    Returns
    -------
    X itself if it has no such cells, otherwise a copy: a data frame if X is one, else an array
    """
    # columns of `BernoulliNB(binarize=None)`; with a threshold any number is a 0 or a 1
    yes_no_columns: list[int] = []
    for part in state.encoding:
        if part.estimator._cells.kind == "yes/no" and getattr(part.estimator, "binarize", None) is None:
            yes_no_columns += part.at.tolist()
    if not yes_no_columns:
        return X

    # in a copy such cells become missing; the copy shares the columns with X until they are replaced
    frame = pd.DataFrame(X).copy(deep=False)
    columns_with_others = []  # for the warning
    for j in yes_no_columns:
        # NaN where a cell is missing or is text; only finite numbers can be other than 0 and 1. `mask` makes them
        # missing in the copy
        cells = pd.to_numeric(frame.iloc[:, j], errors="coerce").to_numpy(float, na_value=np.nan)
        is_other = np.isfinite(cells) & (cells != 0) & (cells != 1)
        if is_other.any():
            columns_with_others.append(f"column {state.columns.label(j)}: {int(is_other.sum())} cells")
            frame.isetitem(j, frame.iloc[:, j].mask(is_other))
    if not columns_with_others:
        return X
    warnings.warn(
        "`X` has numbers other than 0 and 1 where the training rows had only these "
        f"({', '.join(columns_with_others)}); they count as missing. To use such numbers, fit the model to rows that "
        "have them",
        stacklevel=1,  # one place, whatever predicts: Python shows it once
    )
    return frame if isinstance(X, pd.DataFrame) else frame.to_numpy()
