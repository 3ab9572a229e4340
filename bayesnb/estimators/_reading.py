"""What other parts of the package read of a fitted estimator: its rows by block, its prior for other rows, its layout.

All of it is provisional. An analysis of your own that reads these names, and no private one, works for every estimator.
"""

import copy
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted, column_or_1d

from ..core.supports import COMPOSITE, Cells
from ..naive_bayes import Parameters, Rows, Statistics
from ._explaining import AbstractExplaining
from ._state import all_or_nothing


class AbstractReadable(AbstractExplaining):
    """The provisional methods for authors of analyses."""

    @property
    def cells(self) -> Cells:
        """What a cell of X is, as the family of the estimator declares it; of `MixedNB` ask the parts. Provisional."""
        return self._cells

    variants: ClassVar[dict[str, dict[str, Any]]] = {}
    """Settings by the name of a model on the command line. A report tries all but the first as well. Provisional."""
    _most_cells = _most_columns = np.inf  # of a table that is quick enough to be tried unasked

    @classmethod
    def suits(cls, kind: str, n: int, d: int) -> bool:
        """Whether the family has cells of a kind, and n rows of d columns are few enough to try. Provisional.

        Yes and no are two levels.
        """
        if d > cls._most_columns or n * d > cls._most_cells:
            return False
        cells = cls._family.cells_
        return cells.measure != COMPOSITE and cells.kind in (kind, "levels" if kind == "yes/no" else kind)

    # --- rows and labels --------------------------------------------------------------------------------------------

    def encode(self, X: Any) -> Rows:
        """Rows as the blocks of `prior_` take them, by block and in float64. Provisional."""
        return self._encode(X)

    def class_index(self, y: Any) -> np.ndarray:
        """Places 0 … c−1 of labels among `classes_`, (n,); ValueError on a label that was not fitted. Provisional."""
        return self._class_index(column_or_1d(y))

    def validate_labelled(self, X: Any, y: Any) -> tuple[Any, np.ndarray]:
        """Rows as validated input, for `encode_validated`, and the class index of each. Provisional."""
        check_is_fitted(self)
        X, y = self._validate_for_slices(X, y=y, reset=False)
        return X, self._class_index(y)

    def encode_validated(self, X: Any) -> Rows:
        """Some rows of validated input by block, with the types that they have. Provisional."""
        return self._rows(X)

    @all_or_nothing
    def learn_columns(self, X: Any, classes: Any = None) -> Self:
        """Learn names, number and levels of the columns, and nothing else. Provisional.

        Parameters
        ----------
        classes : all labels, sorted. None widens what an estimator knows of its columns already
        """
        if fresh := classes is not None:
            self.classes_ = classes
        self._learn_encoding(self._validate(X, reset=fresh), reset=fresh)
        return self

    @all_or_nothing
    def learn_classes(self, classes: np.ndarray) -> Self:
        """Know more classes, sorted, of which no row was there so far. Provisional."""
        self._widen(classes)
        return self

    def rows_of(self, X: Any) -> Rows:
        """Rows by block with the types that they have; statistics need not be there yet. Provisional."""
        return self._rows(self._validate(X, reset=False))

    def refuse_infinite(self, rows: Any, *found: np.ndarray) -> None:
        """ValueError on infinite cells; they are looked for where `found` holds one beyond 1e280. Provisional."""
        self._refuse_infinite(rows, *found)

    # --- the prior and the statistics -------------------------------------------------------------------------------

    def prior_for(self, stats: Statistics | None = None) -> Any:
        """The prior that these settings give beside statistics; without any, one that can gather them. Provisional."""
        return self._prior(stats)

    @property
    def class_prior_parameter(self) -> str:
        """Name of the parameter that holds fixed class probabilities. Provisional."""
        return self._prior_name()

    @property
    def prior_follows_rows(self) -> bool:
        """Whether the rows scale the prior, so that leaving a row out changes it. Provisional."""
        return bool(self._prior_follows_rows)

    def with_statistics(self, stats: Statistics) -> Self:
        """A copy that has learnt the rows behind these statistics, and no others. Provisional."""
        return copy.copy(self)._set_statistics(stats)

    @all_or_nothing
    def add_statistics(self, other: Any) -> Self:
        """Add the rows of another estimator to `statistics_`, as `merge` does, but make no posterior. Provisional."""
        self._check_mergeable(other)
        self.statistics_ = self._unite(other)
        return self

    def statistics_without(self, stats: Statistics) -> Statistics:
        """`statistics_` without those of some rows; ValueError where such rows were never fitted. Provisional."""
        return self._without(stats)[0]

    def point_estimate(self) -> Parameters | None:
        """Parameters that `estimate` plugs in; None for "predictive". Provisional."""
        return self._theta()

    @property
    def ignored_by_loo(self) -> str:
        """Settings that `predict` uses and leave-one-out does not, such as "estimate='map'"; else "". Provisional."""
        return "" if self.estimate == "predictive" else f"estimate={self.estimate!r}"

    @property
    def predicts_from_posterior(self) -> bool:
        """Whether prediction is `posterior_.log_joint` with the parameters integrated out. Provisional."""
        kind = type(self)
        own = all(
            getattr(kind, name) is getattr(AbstractReadable, name) for name in ("_table", "predict_joint_log_proba")
        )
        return own and self.estimate == "predictive"

    def tie_prior(self) -> np.ndarray:
        """log p(y = c), (c,): of equally probable labels that with the larger one is predicted. Provisional."""
        return self._tie_prior()

    # --- where things stand -----------------------------------------------------------------------------------------

    def block_columns(self) -> dict[str, np.ndarray]:
        """Positions of the columns of each block. Provisional."""
        return self._columns()

    def block_labels(self, block: str) -> dict[str, np.ndarray]:
        """Coordinates of a block's dimensions by name, in the order of its axes after the class. Provisional."""
        return self._feature_labels(block)

    def block_dims(self, block: str, parameter: str, ndim: int) -> list[str]:
        """Names of the axes of a parameter. Provisional."""
        return self._dims(block, parameter, ndim)

    # --- weights ------------------------------------------------------------------------------------------------------

    def weight_labels(self, names: np.ndarray | None = None) -> np.ndarray:
        """A label for each weight of `linear_form`, (k,), from names of the columns. Provisional."""
        return self._weight_labels(names)
