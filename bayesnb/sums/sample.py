"""The observed cells themselves as sufficient statistics, of models that have no others."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Self

import numpy as np
from scipy import sparse

from ..core.arrays import Array, Float, Int, Scalar, Shaped, Sparse
from ..core.pytrees import pytree
from ..core.special import namespace
from .by_class import rounding


@pytree
@dataclass(frozen=True)
class Sample:
    """The observed cells themselves: the distinct values of every class and feature, and their weights.

    Fields
    ------
    value : (c, d, m)   distinct values in ascending order, unit of the feature; NaN behind the last one
    weight : (c, d, m)  Σ_i r_ic [x_ij = value]; 0 behind the last value

    Features are independent given the class, so the cells of a class and feature are all that matters of the rows. A
    value that occurs twice is stored once, with twice the weight. The order makes the form canonical: + commutes
    exactly. On the host m is the largest number of distinct values of any class and feature; under a JAX trace, where
    shapes may not depend on values, it is the number of rows.
    """

    value: Float[Array, "c d m"]
    weight: Float[Array, "c d m"]

    @classmethod
    def of(cls, x: Shaped[Array, "n d"], r: Float[Array, "n c"] | Sparse) -> Self:
        """Cells of rows x (NaN = missing) under weights r."""
        if namespace(x, r) is not np:
            import jax.numpy as jnp

            (n, d), c = x.shape, r.shape[1]
            value, weight = (jnp.broadcast_to(leaf, (c, d, n)) for leaf in (x.T.astype(r.dtype), r.T[:, None]))
            return cls(*_canonical(value, weight))
        r, found = sparse.csc_array(r), []
        for first, last in pairwise(r.indptr.tolist()):
            v = x[r.indices[first:last]].T.astype(np.result_type(x.dtype, r.dtype))
            found.append(_canonical(v, np.broadcast_to(r.data[first:last], v.shape)))
        shape = len(found), x.shape[1], max((v.shape[1] for v, _ in found), default=0)
        value, weight = np.full(shape, np.nan, np.result_type(x.dtype, r.dtype)), np.zeros(shape, r.dtype)
        for k, (v, w) in enumerate(found):
            value[k, :, : v.shape[1]], weight[k, :, : w.shape[1]] = v, w
        return cls(value, weight)

    @property
    def n(self) -> Float[Array, "c d m"]:
        """Weight of every distinct cell: negative where more was taken out than there was."""
        return self.weight

    @property
    def log_h(self) -> Float[Array, "c d"]:
        """Log base measure: none, 0."""
        return self.weight.sum(-1) * 0

    def zero(self) -> Self:
        """No cells at all, for the same classes and features."""
        return type(self)(self.value[..., :0], self.weight[..., :0])

    def scaled(self, factor: Scalar) -> Self:
        """The same cells, their weights multiplied by a positive number; weights that vanish are none."""
        return type(self)(*_canonical(self.value, factor * self.weight))

    def __add__(self, other: Self) -> Self:
        xp = namespace(self.value, other.value)
        value = xp.concatenate([self.value, other.value], -1)
        return type(self)(*_canonical(value, xp.concatenate([self.weight, other.weight], -1)))

    def __sub__(self, other: Self) -> Self:
        """Weights subtracted; those that cancel to rounding are dropped, those of cells never seen stay negative."""
        return self + type(self)(other.value, -other.weight)

    def select(self, columns: Int[np.ndarray, " k"]) -> Self:
        """The cells of some of the features."""
        return type(self)(self.value[:, columns], self.weight[:, columns])

    def of_piece(self, k: int, j: int) -> tuple[np.ndarray, np.ndarray]:
        """Values and weights of one class and feature, on the host."""
        there = np.asarray(self.weight[k, j]) != 0
        return np.asarray(self.value[k, j])[there], np.asarray(self.weight[k, j])[there]

    def pooled(self) -> Self:
        """The cells of all classes together, (1, d, m)."""
        xp = namespace(self.value)
        c, d, m = self.value.shape
        value, weight = (xp.moveaxis(leaf, 0, 1).reshape(1, d, c * m) for leaf in (self.value, self.weight))
        return type(self)(*_canonical(value, weight))


def _canonical(value: Float[Array, "*c d m"], weight: Float[Array, "*c d m"]) -> tuple[Array, Array]:
    """Equal values merged, those without weight dropped, the others in ascending order and NaN behind them."""
    xp = namespace(value, weight)

    def ordered(value: Array, weight: Array) -> tuple[Array, Array]:
        order = xp.argsort(value, axis=-1, stable=True)  # NaN last
        return xp.take_along_axis(value, order, -1), xp.take_along_axis(weight, order, -1)

    value, weight = ordered(xp.where(weight == 0, xp.nan, value + 0), xp.where(xp.isnan(value), 0, weight))
    if not value.size:
        return value, weight
    first = xp.concatenate([xp.ones_like(value[..., :1], bool), value[..., 1:] != value[..., :-1]], -1)
    group = xp.cumsum(first, axis=-1) - 1
    total, size = _sum_groups(group, weight), _sum_groups(group, abs(weight))
    kept = first & (abs(xp.take_along_axis(total, group, -1)) > rounding(value) * xp.take_along_axis(size, group, -1))
    weight = xp.where(kept, xp.take_along_axis(total, group, -1), 0)
    value, weight = ordered(xp.where(kept, value, xp.nan), weight)
    m = int(kept.sum(-1).max()) if xp is np else value.shape[-1]
    return value[..., :m], weight[..., :m]


def _sum_groups(group: Array, weight: Array) -> Array:
    """Sums of weights (c, d, m) by group number 0 … m−1 along the last axis."""
    if namespace(weight) is np:
        offset = np.arange(weight[..., 0].size).reshape(*weight.shape[:-1], 1) * weight.shape[-1]
        total = np.bincount((group + offset).ravel(), weight.ravel(), weight.size)
        return total.reshape(weight.shape).astype(weight.dtype)
    import jax

    flat = weight.reshape(-1, weight.shape[-1])
    add = jax.vmap(lambda g, w: jax.ops.segment_sum(w, g, weight.shape[-1]))
    return add(group.reshape(flat.shape), flat).reshape(weight.shape)
