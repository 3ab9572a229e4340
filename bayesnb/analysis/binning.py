"""Equal-width bins that turn measurements into the levels of a categorical model."""

import numbers
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from .._typing import Float


class EqualWidthBinner(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Each numeric column cut into bins of equal width over its range in the training rows, none of them empty.

        inner boundaries b_i = min + i (max − min) / n_bins,  i = 1 … n_bins − 1
        bins (−∞, b_1], (b_1, b_2], …, (b_{n_bins−1}, ∞)

    Equal widths may leave bins without a training row. They are eliminated by moving boundaries: a run of empty bins
    between two that hold rows goes, and the two boundaries at its ends become one at their middle. The first and the
    last bin hold the smallest and the largest value, so that every bin that is left holds training rows, and a gap in
    the data is shared out between the bins beside it.

    Parameters
    ----------
    n_bins : int, default 10
        bins of each column before empty ones are eliminated, at least 1

    Attributes
    ----------
    edges_ : list of d arrays
        boundaries of each column, ascending, the smallest and the largest training value at the ends; K bins have
        K + 1 boundaries, a column without a single value has none
    n_bins_ : (d,)
        number of bins of each column, 0 for a column without a single value
    n_features_in_, feature_names_in_ : as in scikit-learn

    Notes
    -----
    `transform` gives codes 0 … K−1 as floats, which `CategoricalNB` takes as they are. Values outside the training
    range go to the end bins; NaN stays NaN, a missing cell, and so does every cell of a column without a training
    value.

    The naive Bayes procedure of SPSS distributes scale predictors into 10 bins unless told otherwise (IBM SPSS
    Statistics, command reference of NAIVEBAYES), and eliminates empty ones. How it does is not in that reference: the
    middle of the gap is the reading chosen here.
    """

    def __init__(self, n_bins: Any = 10) -> None:
        self.n_bins = n_bins

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the boundaries of each column.

        Parameters
        ----------
        X : (n, d) numbers, at least two rows; NaN where a cell is missing
        y : ignored

        Raises
        ------
        ValueError
            if `n_bins` is not a whole number of at least 1, a column is constant, or X holds text or infinities
        """
        n_bins = _whole("n_bins", self.n_bins)
        X = self._validate(X, reset=True, ensure_min_samples=2)
        names = getattr(self, "feature_names_in_", np.arange(X.shape[1])).tolist()
        edges = []
        for name, values in zip(names, X.T, strict=True):
            seen = values[~np.isnan(values)]
            if len(seen) and seen.min() == seen.max():
                raise ValueError(
                    f"bins were asked for the constant column {name!r} of `X`, which is {seen[0]:g} in all {len(seen)} "
                    "rows with a value; it cannot tell classes apart. Drop the column"
                )
            edges.append(_boundaries(seen, n_bins) if len(seen) else np.empty(0))
        self.edges_: list[np.ndarray] = edges
        self.n_bins_ = np.array([max(len(e) - 1, 0) for e in edges])
        return self

    def transform(self, X: Any) -> Any:
        """Number of the bin of each cell, 0 … K−1 as floats, (n, d); NaN where the cell is missing."""
        check_is_fitted(self)
        X = self._validate(X, reset=False)
        codes = np.full(X.shape, np.nan)
        for j, edges in enumerate(self.edges_):
            if len(edges):
                codes[:, j] = np.where(np.isnan(X[:, j]), np.nan, _bin(X[:, j], edges[1:-1]))
        return codes

    def _validate(self, X: Any, **checks: Any) -> Float[np.ndarray, "n d"]:
        return validate_data(self, X, dtype=np.float64, ensure_all_finite="allow-nan", **checks)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def _bin(values: Float[np.ndarray, " n"], inner: Float[np.ndarray, " m"]) -> np.ndarray:
    """Number of inner boundaries below each value: bins are closed on the right."""
    return np.searchsorted(inner, values, side="left")


def _boundaries(seen: Float[np.ndarray, " n"], n_bins: int) -> Float[np.ndarray, " m"]:
    """Boundaries of equal width over the range of the values, then without the bins that hold none of them."""
    low, high = seen.min(), seen.max()
    share = np.arange(1, n_bins) / n_bins
    inner = np.clip(low * (1 - share) + high * share, low, high)  # high − low itself may overflow
    inner = np.maximum.accumulate(inner)  # rounding may put neighbours out of order
    held = np.unique(_bin(seen, inner))  # bins with training rows, ascending
    left, right = inner[held[:-1]], inner[held[1:] - 1]  # where one such bin ends and the next begins
    return np.concatenate([[low], np.clip(left / 2 + right / 2, left, right), [high]])


def _whole(name: str, value: Any, least: int = 1) -> int:
    """A parameter as a whole number, or a ValueError that names it."""
    if not isinstance(value, numbers.Integral) or isinstance(value, bool) or value < least:
        raise ValueError(f"`{name}` is {value!r}; it needs to be a whole number of at least {least}")
    return int(value)
