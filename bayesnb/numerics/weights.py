"""What sample weights mean where rows are left out: the one statement of the rule.

    weights of an integer type (or bool)  count rows. Row i stands for w_i equal rows, its units. One unit leaves, and
                                          the row's term counts w_i times
    weights of a float type               are importance. Row i is one row of weight w_i. The row leaves whole, and has
                                          one term
    no weights                            count one row each

With groups, all units of all rows of a group leave together, and the group has one term: the sum over its rows.

A fit needs no such rule: its sums of w_i rows and of one row of weight w_i are the same. What leaves, and how many
independent terms a sum over rows has, differ.

Standard errors. Let s_k be the weighted terms that are independent of each other, v_k their weights and q_k how often
each occurs. A unit has s = t_i, v = 1 and occurs q = w_i times; a row of importance w_i has s = w_i t_i, v = w_i,
q = 1; a group has the sums of w_i t_i and of w_i over its rows, q = 1. Then

    total = Σ_k q_k s_k,    m = total / Σ_k q_k v_k,    se(total) = √(Σ_k q_k (s_k − m v_k)²)

which is Σ_k q_k v_k times the standard error of the weighted mean m. Where all v are 1 it is √(n · variance of the n
terms). Rows of weight 0 have no term.

References
----------
Cochran (1977), Sampling Techniques, 3rd ed., eq. (6.13): the standard error of a ratio of two sums, such as m.
"""

import warnings
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any, NamedTuple, Self

import numpy as np

from .arrays import Float, Int, PerRow

_LARGE_MEAN = 20.0  # integer weights above it on average are more often survey weights than numbers of rows


class Terms(NamedTuple):
    """Terms of sums over rows that are independent of each other.

    Fields
    ------
    value : (…, k) weighted terms s_k, of one sum or of several
    weight : (k,) their weights v_k
    times : (k,) how often each of them occurs, q_k
    """

    value: Float[np.ndarray, "*sums k"]
    weight: Float[np.ndarray, " k"]
    times: Float[np.ndarray, " k"]

    def total(self) -> Any:
        """Σ_k q_k s_k, (…)."""
        return self.value @ self.times

    def mean(self) -> Any:
        """m = Σ q s / Σ q v, (…)."""
        return self.total() / max(self.weight @ self.times, 1e-300)

    def standard_error(self) -> Any:
        """√(Σ_k q_k (s_k − m v_k)²) of the total, (…)."""
        deviation = self.value - np.multiply.outer(self.mean(), self.weight)
        return np.sqrt(deviation**2 @ self.times)


@dataclass(frozen=True, eq=False)
class RowWeights:
    """Sample weights of rows, and whether they count rows or are importance.

    Fields
    ------
    values : (n,) weights, finite and non-negative
    are_counts : True if a row of weight w stands for w equal rows; False if w is the importance of one row
    are_given : False if there was no `sample_weight`, so that every row counts once. Equal rows may then be one row
        that was seen again; where weights count rows and are given, all of these are units
    """

    values: PerRow
    are_counts: bool
    are_given: bool = True

    @property
    def total(self) -> float:
        """Σ w_i: the number of rows that counts stand for."""
        return float(self.values.sum())

    @property
    def effective(self) -> float:
        """Effective number of rows: Σ w for counts, (Σ w)² / Σ w² for importance; 0 without weight."""
        # Weights relative to the largest one give the same quotient, and their squares do not overflow or underflow.
        largest = max(self.values.max(initial=0.0), 1e-300)
        squares = float((self.values / largest) ** 2 @ np.ones(len(self.values)))
        if self.are_counts or squares == 0:
            return self.total

        # (Σ w / max)² / Σ (w / max)²; all weights equal give the number of rows
        return float(self.values.sum() / self.values.max()) ** 2 / squares

    @property
    def leaving(self) -> PerRow:
        """(n,) The weight that leaves with row i, where no groups leave: of one unit, or of the whole row."""
        return np.minimum(self.values, 1.0) if self.are_counts else self.values

    @property
    def times(self) -> PerRow:
        """(n,) How many independent terms row i has, where there are no groups: w_i units, or one; 0 of weight 0."""
        return self.values if self.are_counts else (self.values > 0).astype(float)

    def rows(self, rows: Any) -> Self:
        """The weights of some of the rows: positions, a slice or a mask."""
        return replace(self, values=self.values[rows])

    def terms(self, pointwise: Float[np.ndarray, "*sums n"], groups: Int[np.ndarray, " n"] | None = None) -> Terms:
        """The independent terms of which a sum Σ_i w_i t_i over rows is made, as its standard error needs them.

        Two rows with t = 5, 7 and the weights 2, 1 have the sum 17. If the weights count rows, it is made of three
        terms 5, 5, 7: the values 5, 7, which occur 2 and 1 times. If they are importance, it is made of the two terms
        10, 7, each of which occurs once. If both rows are in one group, it is the single term 17. Rows of weight 0,
        whose t may be infinite, have none.

        Parameters
        ----------
        pointwise : (…, n) t_i, without weights, of one sum or of several
        groups : (n,) group of each row, 0 … g − 1; None if rows are independent
        """
        has_weight = self.values > 0
        w = self.values[has_weight]  # (m,)
        t = np.asarray(pointwise, float)[..., has_weight]  # (…, m)

        # groups: one term each, the sums of w t and of w over its rows
        if groups is not None:
            _, group = np.unique(groups[has_weight], return_inverse=True)  # numbers 0, 1, … without gaps

            def sum_by_group(values: np.ndarray) -> np.ndarray:  # (m,) → (g,)
                return np.bincount(group, values)

            sums = np.apply_along_axis(sum_by_group, -1, w * t)  # along the last axis, (…, g)
            group_weight = sum_by_group(w)
            return Terms(sums, group_weight, times=np.ones(len(group_weight)))

        # counts: w equal terms a row, of weight 1; importance: one term a row, of weight w
        ones = np.ones(len(w))
        if self.are_counts:
            return Terms(t, weight=ones, times=w)
        return Terms(w * t, weight=w, times=ones)

    def total_of(self, pointwise: Float[np.ndarray, "*sums n"]) -> Any:
        """Σ_i w_i t_i over the rows that have a weight, (…)."""
        return self.terms(pointwise).total()

    def standard_error(
        self, pointwise: Float[np.ndarray, "*sums n"], groups: Int[np.ndarray, " n"] | None = None
    ) -> Any:
        """Standard error of Σ_i w_i t_i, (…), of one sum or of several; the rows of a group (n,) are one term."""
        return self.terms(pointwise, groups).standard_error()

    def describe(self) -> str:
        """What the weights were taken for, in words.

        Examples
        --------
        >>> import numpy as np
        >>> from bayesnb.numerics.weights import row_weights
        >>> row_weights(np.array([1, 3]), 2).describe()
        'weights count 4 rows'
        >>> row_weights(np.array([0.5, 1.5, 2.0]), 3).describe()
        'importance weights, 3 rows, effective 2.5'
        """
        n_rows = int((self.values > 0).sum())
        if not self.are_given:
            return f"{n_rows:,} rows"
        if self.are_counts:
            return f"weights count {int(self.total):,} rows"
        return f"importance weights, {n_rows:,} rows, effective {_short(self.effective)}"


def _short(number: float) -> str:
    """A number of rows: whole from 10 on."""
    return f"{number:,.0f}" if number >= 10 else f"{number:.2g}"


def row_weights(sample_weight: Any, n: int) -> RowWeights:
    """The weights of n rows, as `sample_weight` gives them; one warning where its type may be a mistake.

    Parameters
    ----------
    sample_weight : (n,) weights, or one number for all rows: of an integer type or bool they count rows, of a float
        type they are importance. None is one for each row. `RowWeights` are returned as they are
    n : number of rows

    Raises
    ------
    ValueError
        if the weights are not one finite, non-negative number for each row

    Warns
    -----
    UserWarning
        where floats are whole and partly above 1, as counts are; where integers have none that is 1, or a mean above
        20, as survey weights are. The warning names the cast
    """
    if isinstance(sample_weight, RowWeights):  # checked already
        return sample_weight
    if sample_weight is None:  # every row counts once
        return RowWeights(np.ones(n), are_counts=True, are_given=False)
    weights = RowWeights(_checked_values(sample_weight, n), _are_integers(sample_weight))
    doubt = _doubtful_type(weights)  # a message, or nothing
    if doubt:
        warnings.warn(doubt, UserWarning, stacklevel=3)
    return weights


def _checked_values(sample_weight: Any, n: int) -> PerRow:
    """Sample weights as floats, one for each of n rows, (n,); ValueError where they are none.

    Each `if` is one way in which they may be wrong, and its message says what is needed.

    Parameters
    ----------
    sample_weight : what a user gave; a single number counts for all rows
    """
    # text, None or objects that are no numbers
    try:
        values = np.asarray(sample_weight).astype(float)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(
            f"`sample_weight` holds no numbers ({error}); give one non-negative weight for each of {n} rows"
        ) from None
    if values.ndim == 0:  # one number for all rows
        values = np.full(n, float(values))

    # one finite number that is 0 or positive for each row
    if values.shape != (n,):
        raise ValueError(f"`sample_weight` has shape {values.shape}; it needs one weight for each of {n} rows")
    if not np.isfinite(values).all():
        raise ValueError("`sample_weight` has NaN or infinite values; give each row a finite weight, 0 to ignore it")
    if (values < 0).any():
        raise ValueError(f"`sample_weight` has negative values (minimum {values.min():g}); weights are 0 or positive")
    return values


def _are_integers(sample_weight: Any) -> bool:
    """Whether the type of weights is integer or bool; of Python objects, whether each of them is."""
    array = np.asarray(sample_weight)
    if array.dtype == object:
        return all(isinstance(value, Integral | np.bool_) for value in array.ravel())
    return array.dtype.kind in "biu"


def _doubtful_type(weights: RowWeights) -> str:
    """A warning where counts are stored as floats, or survey weights as integers; empty where there is no doubt.

    The type of weights says what they mean, so these two would be taken for the other kind.
    """
    values = weights.values[weights.values > 0]  # rows of weight 0 say nothing
    if not len(values):
        return ""

    # Floats, taken for importance: all of them whole, and not only 0 and 1. Such are counts that were read from a file
    # as floats.
    if not weights.are_counts:
        if (values == np.floor(values)).all() and values.max() > 1:
            return (
                "`sample_weight` has a float type, so its weights are importance: a row leaves whole. All of them are "
                "whole numbers. If they count rows, give `sample_weight.astype(int)`; if they are importance, ignore "
                "this warning"
            )
        return ""

    # Integers, taken for counts: none of them 1, or above 20 on average. Such are survey weights, how many people a row
    # stands for.
    if values.min() > 1 or values.mean() > _LARGE_MEAN:
        return (
            f"`sample_weight` has an integer type, so its weights count rows: {int(values.sum()):,} rows in all. If "
            "they are survey or importance weights, give `sample_weight.astype(float)`; if they count rows, ignore "
            "this warning"
        )
    return ""
