"""What an estimator declares: the family whose cells X holds; and how input becomes rows by block, and back."""

from typing import Any

import numpy as np
from sklearn.utils import Tags, assert_all_finite

from ..base import AbstractConjugate
from ..core.pytrees import leaves
from ..core.supports import COMPOSITE, GIVEN_TOTALS, Cells
from ..naive_bayes import Rows, Statistics
from ._input import check_cells, naming, numeric
from ._state import BLOCK, JointClassifier

EXTREME = 1e280  # of a sum: what an infinite cell makes of it is beyond
_ADVICE = {  # on cells that an estimator does not know, by their kind
    "counts": "it models counts. Bin the column or use GaussianNB.",
    "amounts": "it models amounts from zero. Shift it or use GaussianNB.",
}
_WHOLE = "it models counts. Use ExponentialNB for amounts, GaussianNB for other numbers, or bin the column."


class AbstractDeclared(JointClassifier):
    """Input as the family of the estimator declares it: which cells there may be, missing and sparse ones too.

    A subclass names its family, and overrides what it takes differently.
    """

    _family: Any = AbstractConjugate  # a class, or an instance of one, whose `cells_` and `missing_value` are read
    _n_levels: int | None = None  # of cells that are levels, where the family fixes their number
    _checks_slices = False  # whether an infinite cell shows in what is computed, so that nobody has to look for it

    @property
    def _cells(self) -> Cells:
        """What a cell of X is."""
        return self._family.cells_

    def _allows_gaps(self) -> bool:
        """Whether a cell may be missing, NaN, and is then left out."""
        held = self._family.missing_value
        return held is not None and held != held

    def _validate(self, X: Any, **checks: Any) -> Any:
        """X, or X and y, as arrays, through scikit-learn's `validate_data`."""
        cells, gaps = self._cells, self._allows_gaps()
        checks.setdefault("counts", cells.kind != "real" and not gaps)
        return numeric(self, X, sparse_ok=cells.sparse, missing_ok=gaps, **checks)

    def _validate_for_slices(self, X: Any, **checks: Any) -> Any:
        """`_validate`, without a pass over a large table in whose sums an infinite cell shows: `_refuse_infinite`."""
        return self._validate(X, **checks, **({"by_slices": True} if self._checks_slices else {}))

    def _refuse_infinite(self, X: Any, *found: np.ndarray) -> None:
        """Look for infinite cells in rows validated for slices, where what was found of them may come of one."""
        for one in found if self._checks_slices else ():
            if one.size and not -EXTREME < one.min() <= one.max() < EXTREME:
                with naming():
                    assert_all_finite(X, allow_nan=True, estimator_name=type(self).__name__, input_name="X")

    def _rows(self, X: Any) -> Rows:
        """Validated input as columns by block; raises ValueError on values the likelihood does not know."""
        if self._cells.kind != "real":
            check_cells(self, X, self._cells, self._cell_advice(), self._n_levels)
        return {BLOCK: X}

    def _rows_to_learn(self, X: Any) -> Rows:
        """`_rows`, without the checks that `_refuse_learnt` makes."""
        return self._rows(X)

    def _refuse_learnt(self, X: Any, stats: Statistics) -> None:
        """Look for cells that the likelihood does not know, where their statistics may come of one."""
        self._refuse_infinite(X, *leaves(stats.blocks))

    def _cell_advice(self) -> str:
        """What to do about a cell that the likelihood does not know."""
        return _WHOLE if self._cells.whole else _ADVICE.get(self._cells.kind, f"a cell is {self._cells.describe()}.")

    def _columns(self) -> dict[str, np.ndarray]:
        """Positions of the columns of each block, by block."""
        return {BLOCK: np.arange(self.n_features_in_)}

    def _as_input(self, rows: dict[str, np.ndarray]) -> Any:
        """Rows by block as an array like the one fitted."""
        return rows[BLOCK]

    def _learn_encoding(self, X: Any, reset: bool) -> None:
        """Learn what is needed to turn input into rows, such as the levels of a feature."""

    def _feature_labels(self, block: str) -> dict[str, np.ndarray]:
        """Coordinates of a block's own dimensions, in the order of its axes after the class."""
        return {"feature": getattr(self, "feature_names_in_", np.arange(self.n_features_in_))}

    def _label(self, j: int) -> str:
        """A column as messages call it: its name in quotes, else its number."""
        names = getattr(self, "feature_names_in_", None)
        return repr(str(names[j])) if names is not None else str(j)

    def _place(self, column: Any) -> int | None:
        """The place of a column given by its name or its number; None where there is no such column."""
        names = list(getattr(self, "feature_names_in_", ()))
        if column in names:
            return names.index(column)
        numbered = isinstance(column, int | np.integer) and 0 <= column < self.n_features_in_
        return int(column) if numbered else None

    def _dims(self, block: str, parameter: str, ndim: int) -> list[str]:
        """Names of the axes of a parameter: the class first, unless there is only one axis."""
        own = list(self._feature_labels(block))
        return own[:1] if ndim == 1 else ["class", *own[: ndim - 1]]

    def __sklearn_tags__(self) -> Tags:
        tags, cells = super().__sklearn_tags__(), self._cells
        tags.input_tags.allow_nan = self._allows_gaps()
        tags.input_tags.sparse = cells.sparse
        tags.input_tags.positive_only = cells.kind != "real"
        discrete = cells.kind in ("levels", "yes/no")
        tags.input_tags.categorical = cells.whole or discrete  # to scikit-learn's checks this means whole numbers
        # on the blobs of scikit-learn's checks, as its own
        tags.classifier_tags.poor_score = discrete or cells.measure in (COMPOSITE, GIVEN_TOTALS)
        return tags
