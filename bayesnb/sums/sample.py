"""The observed cells themselves as sufficient statistics, of models that have no others."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy import sparse

from ..numerics.arrays import Array, Float, Int, Scalar, Shaped, Weights
from ..numerics.pytrees import pytree
from ..numerics.special import namespace
from .rows import rounding


@pytree
@dataclass(frozen=True)
class Sample:
    """The observed cells themselves: the distinct values of every class and feature, and their weights.

    Fields
    ------
    value : (d, m) by class   distinct values in ascending order, unit of the feature; NaN behind the last one
    weight : (d, m) by class  Σ_i r_ic [x_ij = value]; 0 behind the last value

    Features are independent given the class, so the cells of a class and feature are all that matters of the rows. A
    value that occurs twice is stored once, with twice the weight. The order makes the form canonical: + commutes
    exactly. On the host m is the largest number of distinct values that a feature has in this class, so a class with
    many rows makes no other class longer. Under a JAX trace, where shapes may not depend on values, m is the number of
    rows.
    """

    value: tuple[Float[Array, "d _"], ...]
    weight: tuple[Float[Array, "d _"], ...]

    @classmethod
    def none(cls, c: int, d: int) -> Self:
        """No cells at all, of c classes and d features."""
        return cls((np.zeros((d, 0)),) * c, (np.zeros((d, 0)),) * c)

    @classmethod
    def of(cls, x: Shaped[Array, "n d"], r: Weights) -> Self:
        """The distinct values of each class and feature in rows, and their weights.

        Parameters
        ----------
        x : (n, d) rows; NaN is a missing cell
        r : (n, c) weights of the rows in the classes, dense or sparse
        """
        if namespace(x, r) is not np:  # JAX: every row in every class, with its weight there, which may be 0
            return cls._of_classes((x.T.astype(r.dtype), w) for w in r.T)

        # On the host only the rows that have weight in a class. In the CSC format column k, a class, has the entries
        # indptr[k] … indptr[k + 1] − 1 of `indices`, the rows, and of `data`, their weights.
        dtype = np.result_type(x.dtype, r.dtype)
        by_class = sparse.csc_array(r)
        cells = []
        for k in range(by_class.shape[1]):
            entries = slice(by_class.indptr[k], by_class.indptr[k + 1])
            rows = by_class.indices[entries]
            cells_of_class = x[rows].T  # (d, m)
            weights = by_class.data[entries].astype(dtype)  # (m,)
            cells.append((cells_of_class, weights))
        return cls._of_classes(cells)  # which merges equal values

    @classmethod
    def _of_classes(cls, cells: Iterable[tuple[Array, Array]]) -> Self:
        """The sample of the cells of each class and their weights, which may be in any order and repeated.

        Parameters
        ----------
        cells : for each class a pair: cells (d, m) of d features, and weights (d, m), or (m,) of whole rows
        """
        values = []
        weights = []
        for v, w in cells:
            weight_of_cell = w + 0 * v  # (d, m): a weight for every cell; NaN in a missing one, as 0 · NaN is
            value, weight = _canonical(v, weight_of_cell)  # distinct values in ascending order
            values.append(value)
            weights.append(weight)
        return cls(tuple(values), tuple(weights))

    @property
    def n(self) -> Float[Array, " _"]:
        """Weight of every distinct cell: negative where more was removed than there was."""
        return namespace(*self.weight).concatenate([w.ravel() for w in self.weight])

    @property
    def log_h(self) -> Float[Array, "c d"]:
        """Log base measure: none, 0."""
        return 0 * namespace(*self.weight).stack([w.sum(-1) for w in self.weight])

    def zero(self) -> Self:
        """No cells at all, for the same classes and features."""
        return type(self)(tuple(v[:, :0] for v in self.value), tuple(w[:, :0] for w in self.weight))

    def scaled(self, factor: Scalar) -> Self:
        """The same cells, their weights multiplied by a positive number; weights that vanish are none."""
        return self._of_classes((v, factor * w) for v, w in zip(self.value, self.weight, strict=True))

    def __add__(self, other: Self) -> Self:
        """The cells of both; equal values are merged, class by class."""
        if not self.n.size or not other.n.size:  # one of them has no cells
            return other if other.n.size else self

        # class by class the cells of one after those of the other, (d, m + m′)
        xp = namespace(*self.value, *other.value)  # numpy, or jax.numpy for JAX arrays
        values = [xp.concatenate(pair, -1) for pair in zip(self.value, other.value, strict=True)]
        weights = [xp.concatenate(pair, -1) for pair in zip(self.weight, other.weight, strict=True)]

        # sorts the cells of each class, and merges equal values into one with the sum of their weights
        return self._of_classes(zip(values, weights, strict=True))

    def __sub__(self, other: Self) -> Self:
        """Weights subtracted; those that cancel to rounding are dropped, those of cells never seen stay negative."""
        return self + type(self)(other.value, tuple(-w for w in other.weight))

    def select(self, columns: Int[np.ndarray, " k"]) -> Self:
        """The cells of some of the features."""
        return type(self)(tuple(v[columns] for v in self.value), tuple(w[columns] for w in self.weight))

    def of_piece(self, k: int, j: Any) -> tuple[Float[Array, " m"], Float[Array, " m"]]:
        """Values and weights of class k and feature j; on the host without the padding behind the last value."""
        value = self.value[k][j]
        weight = self.weight[k][j]

        # padding has weight 0; in JAX, where shapes may not depend on values, it stays: `value[:None]` is all of it
        m = np.count_nonzero(weight) if namespace(value) is np else None
        return value[:m], weight[:m]

    def pooled(self) -> Self:
        """The cells of all classes together, as of one class."""
        xp = namespace(*self.value)
        return self._of_classes([(xp.concatenate(self.value, -1), xp.concatenate(self.weight, -1))])


def _canonical(value: Float[Array, "d m"], weight: Float[Array, "d m"]) -> tuple[Array, Array]:
    """Cells of d features in their canonical form: the distinct values of each in ascending order, and their weights.

    Equal values are merged, and those whose weights cancel are dropped. Features with fewer distinct values than
    others have NaN with weight 0 behind the last one.

    Parameters
    ----------
    value, weight : in any order; a cell with weight 0 or NaN is missing
    """
    if namespace(value, weight) is not np:  # JAX: arrays keep their length
        import jax

        return jax.vmap(_canonical_traced)(value, weight)  # feature by feature

    # feature by feature the distinct values, which are of several lengths, and the total weight of each
    features = [_distinct(v, w, rounding(weight)) for v, w in zip(value, weight, strict=True)]

    # put into arrays as long as the longest, which are filled up with NaN and with 0
    max_values = max((len(distinct) for distinct, _ in features), default=0)
    shape = len(features), max_values
    all_values = np.full(shape, np.nan, weight.dtype)
    all_weights = np.zeros(shape, weight.dtype)
    for j, (distinct, total) in enumerate(features):
        all_values[j, : len(distinct)] = distinct
        all_weights[j, : len(distinct)] = total
    return all_values, all_weights


def _distinct(
    value: Float[np.ndarray, " m"], weight: Float[np.ndarray, " m"], tolerance: float
) -> tuple[Float[np.ndarray, " k"], Float[np.ndarray, " k"]]:
    """The distinct values of a feature in ascending order, and the total weight of each, where it does not cancel.

    Parameters
    ----------
    value, weight : cells and their weights, some of which may be negative; with weight 0 or NaN a cell is missing
    tolerance : the share of the absolute weights of a value up to which a total is rounding
    """
    is_cell = ~np.isnan(weight) & (weight != 0)
    if not is_cell.any():
        return value[:0], weight[:0]  # NumPy counts nothing in integers, whatever the weights are

    # The total weight of each distinct value, and of the absolute weights, which tell its rounding. The values 3, 2, 3
    # have the distinct ones (2, 3) and the groups (1, 0, 1), by which `bincount` sums the weights.
    distinct, group = np.unique(value[is_cell] + 0.0, return_inverse=True)  # −0 becomes 0
    total = np.bincount(group, weight[is_cell], len(distinct))
    size = np.bincount(group, abs(weight[is_cell]), len(distinct))
    remains = abs(total) > tolerance * size
    return distinct[remains], total[remains]


def _canonical_traced(value: Float[Array, " m"], weight: Float[Array, " m"]) -> tuple[Array, Array]:
    """The distinct values of one feature in ascending order and the total weight of each, in JAX.

    The values 3, 2, 3 with the weights 1, 1, 1 become 2, 3, NaN with the weights 1, 2, 0. In JAX shapes may not depend
    on values, so the result is as long as the input: it is filled up with NaN of weight 0 at the end.

    1. Sort the cells, so that equal values are neighbours.
    2. Number the groups of equal values: the sorted values 2, 3, 3 are the groups 0, 1, 1.
    3. Sum the weights of each group: 1, 2.
    4. The first cell of each group gets the sum; all others become NaN of weight 0. Sorting again puts them last.
    """
    import jax.numpy as jnp

    # 1. in ascending order; a cell without weight is missing, which is NaN, and stands last
    value = jnp.where(weight == 0, jnp.nan, value + 0)  # + 0: −0 becomes 0
    value, weight = _sorted_cells(value, weight)

    # 2. A cell is the first of its group where its value differs from the one before it. The very first cell is
    # compared with NaN, from which every number differs. Each missing cell is a group too, of weight 0.
    is_first = jnp.diff(value, prepend=jnp.nan) != 0
    group = jnp.cumsum(is_first) - 1  # (m,)

    # 3. Σ weight and Σ |weight| of each group, then for each cell that of its group: the sums 1, 2 are 1, 2, 2 by cell
    zeros = jnp.zeros_like(weight)
    total = zeros.at[group].add(weight)[group]
    size = zeros.at[group].add(abs(weight))[group]

    # 4. the first of each group, unless its weights cancel but for rounding
    remains = is_first & (abs(total) > rounding(value) * size)
    return _sorted_cells(jnp.where(remains, value, jnp.nan), total)


def _sorted_cells(value: Float[Array, " m"], weight: Float[Array, " m"]) -> tuple[Array, Array]:
    """Values in ascending order with their weights, in JAX; NaN comes last, with weight 0."""
    import jax.numpy as jnp

    order = jnp.argsort(value, stable=True)
    weight_of_numbers = jnp.where(jnp.isnan(value), 0, weight)
    return value[order], weight_of_numbers[order]
