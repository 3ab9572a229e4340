"""Naive Bayes with a likelihood of its own for every group of columns, and if need be for every class."""

import itertools
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.utils import Tags, _safe_indexing
from sklearn.utils.validation import _get_feature_names

from ..columns import ColumnContract
from ..core.arrays import is_sparse
from ..families.one_class import OneClass
from ..io import Take, require
from ..naive_bayes import CLASS, NaiveBayes, Parameters, Rows, Statistics
from ._automatic import as_described, automatic_contract, automatic_parts, positions, warn_of_late_values
from ._base import AbstractNB, AbstractOfTotals
from ._input import of_any_type
from ._part import _Part
from ._state import all_or_nothing
from .complement import ComplementNB


@dataclass(eq=False, repr=False)
class MixedNB(AbstractOfTotals):
    """Naive Bayes for mixed columns: p(x_i | y_i = c) = Π_parts p(x_i,part | y_i = c); each part has its own estimator.

    Parameters
    ----------
    parts : "auto" (default), or a list of (name, estimator, columns)
        the estimator is any estimator of bayesnb, with its own prior. A mapping from class label to estimator gives
        each class its own likelihood. "drop" leaves the columns out. Columns are a name, a position, a list of either,
        a slice, a mask, or a function of X such as `sklearn.compose.make_column_selector` with a type.
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
    _: KW_ONLY
    fit_prior: bool = True
    class_prior: Any = None
    priors: Any = None
    class_alpha: Any = 1.0
    estimate: str = "predictive"

    _learnt_names = AbstractNB._learnt_names | {"_parts"}
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

    @all_or_nothing
    def set_params(self, **params: Any) -> Self:
        """Set parameters; `part=estimator` replaces a part's estimator, `part__parameter=value` sets its parameter."""
        fresh = {name: params.pop(name) for name, _, _ in self._listed() if name in params}
        if fresh:
            self.parts = [(name, fresh.get(name, estimator), columns) for name, estimator, columns in self.parts]
        return super().set_params(**params)

    def _listed(self) -> list[Any]:
        """The parts where they are listed by name; `fit` tells what is wrong with others."""
        return [p for p in self.parts if isinstance(p, tuple) and len(p) == 3] if isinstance(self.parts, list) else []

    # --- columns ----------------------------------------------------------------------------------------------------

    def _validate(self, X: Any, **checks: Any) -> Any:
        sparse_ok = "csr" if self.__sklearn_tags__().input_tags.sparse else False
        found = of_any_type(self, X, accept_sparse=sparse_ok, **checks)
        if self._is_automatic() and isinstance(X, pd.DataFrame):
            if checks["reset"]:
                self.contract_: ColumnContract | None = automatic_contract(X)
            if contract := getattr(self, "contract_", None):
                rows = as_described(X, contract)
                found = (rows, found[1]) if "y" in checks else rows
        return found if checks["reset"] or "y" in checks or is_sparse(found) else self._leave_out_unseen(found)

    def _is_automatic(self) -> bool:
        return isinstance(self.parts, str) and self.parts == "auto"

    def _leave_out_unseen(self, X: Any) -> Any:
        """Rows to predict, whose numbers other than 0 and 1 count as missing in columns that held only these."""
        unseen: dict[int, np.ndarray] = {}
        for part in self._parts:
            if part.estimator.cells.kind == "yes/no" and getattr(part.estimator, "binarize", None) is None:
                cells = np.asarray(_safe_indexing(X, part.columns, axis=1))
                if cells.dtype.kind not in "biuf":
                    cells = pd.DataFrame(cells).apply(pd.to_numeric, errors="coerce").to_numpy(float)
                wrong = np.isfinite(cells) & (cells != 0) & (cells != 1)
                unseen |= {int(part.columns[k]): wrong[:, k] for k in np.flatnonzero(wrong.any(0))}
        if not unseen:
            return X
        counted = ", ".join(f"column {self._label(j)}: {int(found.sum())} cells" for j, found in unseen.items())
        warnings.warn(
            f"`X` has numbers other than 0 and 1 where the training rows had only these ({counted}); they count as "
            "missing. To use such numbers, fit the model to rows that have them",
            UserWarning,
            stacklevel=1,  # one place, whatever predicts: Python shows it once
        )
        if not hasattr(X, "columns"):
            X = X.astype(float if X.dtype.kind in "biuf" else object)
            for j, found in unseen.items():
                X[found, j] = np.nan
            return X
        X = (
            X.copy(deep=False)
            if isinstance(X, pd.DataFrame)
            else pd.DataFrame({c: np.asarray(X[c]) for c in X.columns})
        )
        for j, found in unseen.items():
            X.isetitem(j, X.iloc[:, j].mask(found))
        return X

    def _learn_encoding(self, X: Any, reset: bool) -> None:
        if reset:
            self._parts = list(self._resolve(X))
        else:
            if isinstance(self.parts, str):
                warn_of_late_values(X, getattr(self, "contract_", None))
            self._parts = [replace(part, estimator=part.fitted(self._conditioned.statistics)) for part in self._parts]
        for part in self._parts:
            table = part.estimator._validate(_safe_indexing(X, part.columns, axis=1), reset=reset)
            part.estimator._learn_encoding(table, reset)
        if not reset:
            blocks = self._by_block(lambda part: part.estimator._conditioned.statistics.blocks)
            self.statistics_ = replace(self._conditioned.statistics, blocks=blocks)

    def _unite(self, other: Any) -> Statistics:
        parts: list[_Part] = []
        blocks: dict[str, Any] = {}
        for part, twin in itertools.zip_longest(self._parts, other._parts):
            if str(part) != str(twin):  # name, columns or kind of estimator
                here, there = (", ".join(str(p) for p in one._parts) for one in (self, other))
                raise ValueError(
                    f"`other` has the parts {there}, but this estimator has {here}; list the same parts in both"
                )
            own = part.fitted(self._conditioned.statistics)
            stats = own._unite(twin.fitted(other.statistics_))
            parts.append(part := replace(part, estimator=own))
            blocks |= {name: stats.blocks[inner] for inner, name in part.names.items()}
        self._parts = parts
        mine, theirs = (replace(one._conditioned.statistics, blocks={}) for one in (self, other))
        return replace(mine + theirs, blocks=blocks)

    def _widen(self, classes: np.ndarray) -> None:
        if any(part.k is not None for part in self._parts):
            raise ValueError("`parts` has an estimator for each class; pass all labels as `classes`")
        super()._widen(classes)
        self._parts = [replace(part, estimator=part.fitted(self._conditioned.statistics)) for part in self._parts]
        for part in self._parts:
            part.estimator.classes_ = classes

    def _resolve(self, X: Any) -> Iterator[_Part]:
        """The parts with their columns looked up in X; refuses columns in two parts or in none."""
        automatic = self._is_automatic()
        if not (automatic and isinstance(X, pd.DataFrame)):
            self.contract_ = None
        parts = automatic_parts(X, self.contract_) if automatic else self.parts
        if not isinstance(parts, list) or not parts or any(not isinstance(p, tuple) or len(p) != 3 for p in parts):
            raise ValueError(f"`parts` is {parts!r}; give 'auto' or a list of (name, estimator, columns)")
        labels = _get_feature_names(X)
        labels = np.arange(X.shape[1]) if labels is None else labels
        owner: dict[int, str] = {}
        names: set[str] = set()
        for name, estimator, columns in parts:
            if not isinstance(name, str) or name in names or name == "class" or "." in name or "__" in name:
                raise ValueError(
                    f"`parts` has the name {name!r}; a name must be a string without '.' and '__', and must be used "
                    "once"
                )
            names.add(name)
            found = positions(X, columns, name)
            for j in found:
                if j in owner:
                    raise ValueError(
                        f"`parts` has column {labels[j]!s} in both {owner[j]!r} and {name!r}; list it in one part"
                    )
                owner[j] = name
            if len(found) and not (isinstance(estimator, str) and estimator == "drop"):
                yield from self._clones(name, estimator, found)
        if missed := [str(labels[j]) for j in range(X.shape[1]) if j not in owner]:
            raise ValueError(
                f"`parts` leaves out the columns {', '.join(missed[:8])}{' …' if len(missed) > 8 else ''}; "
                "give them an estimator or 'drop'"
            )

    def _clones(self, name: str, estimator: Any, columns: np.ndarray) -> Iterator[_Part]:
        """The estimator of a part, or one for each class, cloned and told its classes."""
        if isinstance(estimator, dict):
            if missed := [label for label in self.classes_.tolist() if label not in estimator]:
                raise ValueError(f"`parts` has no estimator for class {missed[0]!r} in {name!r}; add one")
            for k, label in enumerate(self.classes_.tolist()):
                one = _checked(name, estimator[label], self.classes_[k : k + 1])
                yield _Part(f"{name}.{label}", one, columns, k)
        else:
            yield _Part(name, _checked(name, estimator, self.classes_), columns)

    @property
    def parts_(self) -> list[tuple[str, AbstractNB, np.ndarray]]:
        """Name, fitted estimator and column positions of each part; one for each class if the classes differ."""
        return [(part.name, part.estimator, part.columns) for part in self._parts]

    # --- what the parts supply --------------------------------------------------------------------------------------

    def _by_block(self, of_part: Callable[[_Part], Mapping[str, Any]]) -> dict[str, Any]:
        """What each part has for its blocks, under the names of the blocks among those of all parts."""
        found: dict[str, Any] = {}
        for part in self._parts:
            own = of_part(part)
            found |= {name: own[inner] for inner, name in part.names.items()}
        return found

    def _columns(self) -> dict[str, np.ndarray]:
        return self._by_block(lambda part: {k: part.columns[at] for k, at in part.estimator._columns().items()})

    def part_estimators(self) -> list[tuple[str, Any, dict[str, str], int | None]]:
        """Those of each entry of `parts`; several of one name where the entry has an estimator for each class."""
        parts = self._parts
        return [
            (part.name.split(".", 1)[0], part.fitted(self._conditioned.statistics), part.names, part.k)
            for part in parts
        ]

    @property
    def _prior_follows_rows(self) -> bool:
        return any(part.estimator._prior_follows_rows for part in self._parts)

    def _rows(self, X: Any) -> Rows:
        def rows(part: _Part) -> Rows:
            return part.estimator._rows(part.estimator._validate(_safe_indexing(X, part.columns, axis=1), reset=False))

        return self._by_block(rows)

    def _blocks(self, stats: Statistics | None) -> dict[str, Any]:
        blocks: dict[str, Any] = {}
        for part in self._parts:
            for inner, block in part.estimator._blocks(None if stats is None else part.view(stats)).items():
                if part.k is not None:
                    if block.missing_value is None:
                        raise ValueError(
                            f"`parts` has {part.estimator!r} for one class in {part.name!r}, but its likelihood of "
                            "complete rows needs all classes. Use it for all classes, or another estimator"
                        )
                    block = OneClass(block, part.k, len(self.classes_))  # type: ignore[abstract]  # its names are listed
                blocks[part.names[inner]] = block
        return blocks

    def _refined(self, theta: Parameters) -> Parameters:
        for part in self._parts:
            estimator = part.fitted(self._conditioned.statistics)
            estimator.estimate = self.estimate
            own = estimator._refined({CLASS: theta[CLASS], **{inner: theta[n] for inner, n in part.names.items()}})
            theta = theta | {name: own[inner] for inner, name in part.names.items()}
        return theta

    # --- model files ------------------------------------------------------------------------------------------------

    def _to_save(self) -> dict[str, Any]:
        parts = [replace(part, estimator=part.unfitted()) for part in vars(self).get("_parts", [])]
        return super()._to_save() | ({"_parts": parts} if parts else {})

    def _check_encoding(self) -> None:
        super()._check_encoding()
        labels, d, parts = self.classes_, self.n_features_in_, self._parts
        require(len({part.name for part in parts}) == len(parts), "two parts have one name")
        for part in parts:
            part.check_loaded(labels, d)

    def _check_size(self, take: Take) -> None:
        for part in self._parts:
            part.estimator._check_size(take)

    def _no_rows(self) -> dict[str, Any]:
        return self._by_block(lambda part: part.estimator._no_rows())

    # --- draws and labels -------------------------------------------------------------------------------------------

    def _draw(self, model: Any, rng: np.random.Generator, y: np.ndarray, length: Any = None) -> dict[str, np.ndarray]:
        def rows(part: _Part) -> dict[str, np.ndarray]:
            own = NaiveBayes(model.classes, {inner: model.blocks[name] for inner, name in part.names.items()})
            return part.fitted(self._conditioned.statistics)._draw(own, rng, y, length)

        return self._by_block(rows)

    def _as_input(self, rows: dict[str, np.ndarray]) -> Any:
        columns: dict[int, np.ndarray] = {}
        for part in self._parts:
            table = part.estimator._as_input({inner: rows[name] for inner, name in part.names.items()})
            for i, j in enumerate(part.columns):
                fresh = np.asarray(table[:, i])
                if j in columns:  # another class's rows of the same column
                    fresh = np.where(pd.isna(columns[j]), fresh, columns[j])
                columns[j] = fresh
        blank = np.full(len(next(iter(rows.values()))), np.nan)
        ordered = [columns.get(j, blank) for j in range(self.n_features_in_)]
        if hasattr(self, "feature_names_in_"):
            return pd.DataFrame(dict(zip(self.feature_names_in_, ordered, strict=True)))
        return np.stack(ordered, 1)

    def _weight_labels(self, names: np.ndarray | None) -> np.ndarray:
        names = super()._weight_labels(names)
        return np.concatenate([part.estimator._weight_labels(names[part.columns]) for part in self._parts])

    def levels_of(self, feature: int) -> Any:
        """Labels of the levels of a column, None where it has no levels. Provisional."""
        places = ((part.estimator, int(at)) for part in self._parts for at in np.flatnonzero(part.columns == feature))
        return next((levels for nb, at in places if (levels := nb.levels_of(at)) is not None), None)

    def _part_of(self, block: str) -> tuple[_Part, str]:
        """The part that a block belongs to, and the block's name there."""
        return next((part, inner) for part in self._parts for inner, name in part.names.items() if name == block)

    def _feature_labels(self, block: str) -> dict[str, np.ndarray]:
        part, inner = self._part_of(block)
        labels = {f"{part.name}_{key}": value for key, value in part.estimator._feature_labels(inner).items()}
        return labels if part.k is None else labels | {f"{part.name}_class": part.estimator.classes_}

    def _dims(self, block: str, parameter: str, ndim: int) -> list[str]:
        part, inner = self._part_of(block)
        names = part.estimator._dims(inner, parameter, ndim)
        return [name if name == "class" and part.k is None else f"{part.name}_{name}" for name in names]

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        each = [
            one for _, given, _ in self._listed() for one in (given.values() if isinstance(given, dict) else [given])
        ]
        inner = [one.__sklearn_tags__().input_tags for one in each if isinstance(one, AbstractNB)]
        tags.input_tags.sparse = bool(inner) and all(one.sparse for one in inner)
        tags.input_tags.positive_only = any(one.positive_only for one in inner)
        return tags


def _checked(name: str, estimator: Any, classes: np.ndarray) -> AbstractNB:
    """A clone of an estimator that may be a part."""
    if not isinstance(estimator, AbstractNB) or isinstance(estimator, MixedNB | ComplementNB):
        raise ValueError(
            f"`parts` has {estimator!r} for {name!r}; give an estimator of bayesnb with a class-conditional "
            "likelihood, or 'drop'"
        )
    own = clone(estimator)
    own.classes_ = classes
    return own
