"""Sufficient statistics: commutative monoids with `zero`, `+` and `−`.

Statistics of two disjoint sets of rows add to those of their union, in any order and grouping; subtracting undoes
adding. Fitting in batches, on a cluster, forgetting rows and leaving one out are folds over these three operations.
All are frozen dataclasses and JAX pytrees, with classes along the first axis.
"""

import operator
from dataclasses import dataclass
from typing import Self

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int, Shaped
from scipy import sparse

from ._special import LOG_2PI, namespace
from ._typing import Array, Sparse


def one_hot(y: Shaped[np.ndarray, " n"], n_classes: int, weights: Shaped[np.ndarray, " n"] | None = None) -> Sparse:
    """Weights r (n, c) of labels 0 … c−1, as a sparse matrix with one entry a row.

    r_ic = w_i [y_i = c]; w_i = 1 unless given.
    """
    n = len(y)
    data = np.ones(n) if weights is None else np.asarray(weights, float)
    return sparse.csr_array((data, y, np.arange(n + 1)), shape=(n, n_classes))


def by_class(r: Array | Sparse, table: Array | Sparse) -> Array:
    """rᵀ · table as a dense array: the sum of the rows of a table in each class, (c, …)."""
    total = r.T @ table
    return total.toarray() if sparse.issparse(total) else total


def class_totals(r: Array | Sparse) -> Array:
    """N_c = Σ_i r_ic: the weight of each class."""
    return np.asarray(r.sum(axis=0)).ravel() if sparse.issparse(r) else r.sum(axis=0)


class _Additive:
    """Statistics that are plain sums: leaf by leaf addition."""

    def zero(self) -> Self:
        """Statistics of no rows at all, of the same shape."""
        return jax.tree.map(lambda leaf: 0 * leaf, self)

    def __add__(self, other: Self) -> Self:
        return jax.tree.map(operator.add, self, other)

    def __sub__(self, other: Self) -> Self:
        return jax.tree.map(operator.sub, self, other)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Counts(_Additive):
    """Weighted number of events by class and kind.

    Fields
    ------
    n : (c, …)      Σ_i r_ic [event], counts
    log_h : (c, …)  log base measure Σ_i r_ic log h(x_i) in nats, constants such as multinomial coefficients
    """

    n: Float[Array, "c ..."]
    log_h: Float[Array, " c *pieces"]


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Totals(_Additive):
    """Sum of a count variable and the number of cells it was summed over.

    Fields
    ------
    n : (c, d)      Σ_i r_ic over the observed cells
    total : (c, d)  Σ_i r_ic x_ij, counts
    log_h : (c, d)  Σ_i r_ic log h(x_ij) in nats
    """

    n: Float[Array, "c d"]
    total: Float[Array, "c d"]
    log_h: Float[Array, "c d"]


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Moments:
    """Weight, mean and centred sum of squares by class and feature.

    Fields
    ------
    n : (c, d)     Σ_i r_ic over the observed cells
    mean : (c, d)  Σ_i r_ic x_ij / n, unit of the feature; 0 where n = 0
    ss : (c, d)    Σ_i r_ic (x_ij − mean)², unit of the feature squared

    Σx² is never formed: in float32, with data near 1e4 and a spread of 1, it has no digits left.

    References
    ----------
    Chan, Golub & LeVeque (1983), American Statistician 37, eq. (2.1): the merge of two such triples.
    """

    n: Float[Array, "c d"]
    mean: Float[Array, "c d"]
    ss: Float[Array, "c d"]

    @classmethod
    def of(cls, x: Float[Array, "n d"], r: Float[Array, "n c"] | Sparse) -> Self:
        """Moments of rows x (NaN = missing) under weights r, in two passes and one correction of each.

        The second pass is about the first mean, and what is left of the mean there corrects both moments, which makes
        the result insensitive to a large common offset.
        """
        xp = namespace(x, r)
        seen = ~xp.isnan(x)
        n = by_class(r, seen.astype(x.dtype))
        safe = xp.where(n > 0, n, 1)
        mean = by_class(r, xp.where(seen, x, 0)) / safe
        if sparse.issparse(r) and np.array_equal(np.diff(r.indptr), np.ones(len(x))):  # hard labels: one class a row
            rest = xp.where(seen, x - mean[r.indices], 0)
            shift, ss = by_class(r, rest), by_class(r, rest * rest)
        else:
            weights = xp.asarray(r.toarray() if sparse.issparse(r) else r)
            rest = [xp.where(seen, x - m, 0) for m in mean]
            shift = xp.stack([w @ z for w, z in zip(weights.T, rest, strict=True)])
            ss = xp.stack([w @ (z * z) for w, z in zip(weights.T, rest, strict=True)])
        shift = shift / safe
        return cls(n, mean + shift, xp.maximum(ss - n * shift * shift, 0))

    @property
    def log_h(self) -> Float[Array, "c d"]:
        """Log base measure −½ n log 2π, in nats."""
        return -0.5 * LOG_2PI * self.n

    def zero(self) -> Self:
        """Moments of no rows at all, of the same shape."""
        return jax.tree.map(lambda leaf: 0 * leaf, self)

    def __add__(self, other: Self) -> Self:
        xp = namespace(self.n, other.n)
        n = self.n + other.n
        share = other.n / xp.where(n > 0, n, 1)
        delta = other.mean - self.mean
        return type(self)(n, self.mean + delta * share, self.ss + other.ss + delta * delta * self.n * share)

    def __sub__(self, other: Self) -> Self:
        """Chan's rule solved for the first summand; weights that cancel to rounding leave exact zeros."""
        xp = namespace(self.n, other.n)
        n = self.n - other.n
        rounding = (1e-12 if self.n.dtype == np.float64 else 1e-5) * self.n
        left = n > rounding
        share = other.n / xp.where(left, n, 1)
        delta = self.mean - other.mean
        ss = xp.maximum(self.ss - other.ss - delta * delta * self.n * share, 0)
        keep_negative = n < -rounding  # rows that were never there: the caller must be able to see it
        return type(self)(
            xp.where(left | keep_negative, n, 0), xp.where(left, self.mean + delta * share, 0), xp.where(left, ss, 0)
        )

    def pooled(self) -> Self:
        """Moments of all classes together, (1, d): the fold of `+` over the class axis."""
        n = self.n.sum(0, keepdims=True)
        xp = namespace(n)
        mean = (self.n * self.mean).sum(0, keepdims=True) / xp.where(n > 0, n, 1)
        delta = self.mean - mean
        shift = (self.n * delta).sum(0, keepdims=True) / xp.where(n > 0, n, 1)  # what rounding left in the mean
        ss = (self.ss + self.n * delta * delta).sum(0, keepdims=True) - n * shift * shift
        return type(self)(n, mean + shift, xp.maximum(ss, 0))


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Scatter:
    """Weight, mean and centred cross products by class: `Moments` of whole rows.

    Fields
    ------
    n : (c,)        Σ_i r_ic
    mean : (c, d)   Σ_i r_ic x_i / n, unit of the feature; 0 where n = 0
    ss : (c, d, d)  Σ_i r_ic (x_i − mean)(x_i − mean)ᵀ, product of the units of two features

    References
    ----------
    Chan, Golub & LeVeque (1983), American Statistician 37, eq. (2.1), with products in the place of squares.
    """

    n: Float[Array, " c"]
    mean: Float[Array, "c d"]
    ss: Float[Array, "c d d"]

    @classmethod
    def of(cls, x: Float[Array, "n d"], r: Float[Array, "n c"] | Sparse) -> Self:
        """Scatter of complete rows x under weights r, in two passes as in `Moments.of`."""
        xp = namespace(x, r)
        n = class_totals(r)
        safe = xp.where(n > 0, n, 1)
        mean = by_class(r, x) / safe[:, None]
        shift, ss = [], []
        for k, centre in enumerate(mean):
            if sparse.issparse(r):
                column = r[:, [k]].tocoo()  # the rows of this class
                weight, rest = column.data, x[column.coords[0]] - centre
            else:
                weight, rest = r[:, k], x - centre
            shift.append(weight @ rest)
            ss.append(rest.T @ (weight[:, None] * rest))
        drift = xp.stack(shift) / safe[:, None]
        squares = xp.stack(ss) - n[:, None, None] * drift[:, :, None] * drift[:, None, :]
        return cls(n, mean + drift, (squares + squares.swapaxes(-1, -2)) / 2)

    @property
    def log_h(self) -> Float[Array, " c"]:
        """Log base measure −½ n d log 2π, in nats."""
        return -0.5 * LOG_2PI * self.mean.shape[-1] * self.n

    def zero(self) -> Self:
        """Scatter of no rows at all, of the same shape."""
        return jax.tree.map(lambda leaf: 0 * leaf, self)

    def __add__(self, other: Self) -> Self:
        xp = namespace(self.n, other.n)
        n = self.n + other.n
        share = other.n / xp.where(n > 0, n, 1)
        delta = other.mean - self.mean
        between = (self.n * share)[:, None, None] * delta[:, :, None] * delta[:, None, :]
        return type(self)(n, self.mean + delta * share[:, None], self.ss + other.ss + between)

    def __sub__(self, other: Self) -> Self:
        """Chan's rule solved for the first summand; weights that cancel to rounding leave exact zeros."""
        xp = namespace(self.n, other.n)
        n = self.n - other.n
        rounding = (1e-12 if self.n.dtype == np.float64 else 1e-5) * self.n
        left = n > rounding
        share = other.n / xp.where(left, n, 1)
        delta = self.mean - other.mean
        ss = self.ss - other.ss - (self.n * share)[:, None, None] * delta[:, :, None] * delta[:, None, :]
        keep_negative = n < -rounding  # rows that were never there: the caller must be able to see it
        return type(self)(
            xp.where(left | keep_negative, n, 0),
            xp.where(left[:, None], self.mean + delta * share[:, None], 0),
            xp.where(left[:, None, None], ss, 0),
        )
