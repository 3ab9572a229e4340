"""The observed cells themselves as sufficient statistics, of models that have no others."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy import sparse

from ..core.arrays import Array, Float, Int, Scalar, Shaped, Weights
from ..core.pytrees import pytree
from ..core.special import namespace
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
        """Cells of rows x (NaN = missing) under weights r (n, c) of the rows in the classes."""
        if namespace(x, r) is not np:  # JAX: every row in every class, with its weight there, which may be 0
            return cls._of_classes((x.T.astype(r.dtype), w) for w in r.T)

        # on the host only the rows that have weight in a class
        dtype = np.result_type(x.dtype, r.dtype)
        by_class = sparse.csc_array(r)
        members = [slice(*by_class.indptr[k : k + 2]) for k in range(by_class.shape[1])]  # entries of each class
        return cls._of_classes((x[by_class.indices[k]].T, by_class.data[k].astype(dtype)) for k in members)

    @classmethod
    def _of_classes(cls, cells: Iterable[tuple[Array, Array]]) -> Self:
        """From the cells of each class, (d, m), and their weights, (d, m) or (m,), in any order and repeated or not."""
        # w + 0 v has the shape of v, and is NaN in a missing cell
        value, weight = zip(*(_canonical(v, w + 0 * v) for v, w in cells), strict=True)
        return cls(value, weight)

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
        if not self.n.size or not other.n.size:
            return other if other.n.size else self
        xp = namespace(*self.value, *other.value)
        leaves = zip(self.value, other.value, self.weight, other.weight, strict=True)  # (d, m) each, by class
        return self._of_classes((xp.concatenate([a, b], -1), xp.concatenate([v, w], -1)) for a, b, v, w in leaves)

    def __sub__(self, other: Self) -> Self:
        """Weights subtracted; those that cancel to rounding are dropped, those of cells never seen stay negative."""
        return self + type(self)(other.value, tuple(-w for w in other.weight))

    def select(self, columns: Int[np.ndarray, " k"]) -> Self:
        """The cells of some of the features."""
        return type(self)(tuple(v[columns] for v in self.value), tuple(w[columns] for w in self.weight))

    def of_piece(self, k: int, j: Any) -> tuple[Float[Array, " m"], Float[Array, " m"]]:
        """Values and weights of class k and feature j; on the host without those behind the last."""
        value = self.value[k][j]
        weight = self.weight[k][j]
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
    if namespace(value, weight) is not np:
        import jax

        return jax.vmap(_canonical_traced)(value, weight)  # feature by feature

    features = [_distinct(v, w, rounding(weight)) for v, w in zip(value, weight, strict=True)]
    shape = len(features), max((len(distinct) for distinct, _ in features), default=0)
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
    distinct, group = np.unique(value[is_cell] + 0.0, return_inverse=True)  # −0 becomes 0
    total = np.bincount(group, weight[is_cell], len(distinct))
    size = np.bincount(group, abs(weight[is_cell]), len(distinct))
    remains = abs(total) > tolerance * size
    return distinct[remains], total[remains]


def _canonical_traced(value: Float[Array, " m"], weight: Float[Array, " m"]) -> tuple[Array, Array]:
    """`_canonical` of one feature in JAX, where shapes may not depend on values: still m values, NaN behind the last.

    Of equal values the first one gets the total weight, and the others become NaN with weight 0.
    """
    import jax.numpy as jnp

    def ordered(value: Array, weight: Array) -> tuple[Array, Array]:
        order = jnp.argsort(value, stable=True)  # NaN last
        return value[order], jnp.where(jnp.isnan(value), 0, weight)[order]

    value, weight = ordered(jnp.where(weight == 0, jnp.nan, value + 0), weight)  # −0 becomes 0

    # equal values are neighbours now: number them by groups, and give each the total of its group
    is_first = jnp.diff(value, prepend=jnp.nan) != 0
    group = jnp.cumsum(is_first) - 1
    total = jnp.zeros_like(weight).at[group].add(weight)[group]
    size = jnp.zeros_like(weight).at[group].add(abs(weight))[group]

    remains = abs(total) > rounding(value) * size  # otherwise weights cancelled
    return ordered(jnp.where(is_first & remains, value, jnp.nan), total)
