"""Sufficient statistics: commutative monoids with `zero`, `+` and `−`.

Statistics of two disjoint sets of rows add to those of their union, in any order and grouping; subtracting undoes
adding. Fitting in batches, on a cluster, forgetting rows and leaving one out are folds over these three operations.
All are frozen dataclasses and JAX pytrees, with classes along the first axis.

Each operation rounds. Statistics of an estimator therefore carry `error`, the variance of the rounding of their sums,
so that `forget` can say whether enough digits are left. Statistics without `error` only add and subtract.
"""

import operator
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any, Protocol, Self, TypeAlias, TypeVar, runtime_checkable

import numpy as np

from .core.arrays import Array, Float, Real, Scalar, Sparse
from .core.pytrees import pytree
from .core.special import EPS, LOG_2PI, namespace
from .sums.by_class import class_totals as class_totals
from .sums.by_class import one_hot as one_hot
from .sums.by_class import rounding
from .sums.moments import moments_by_class, scatter_by_class
from .sums.sample import Sample as Sample

Error: TypeAlias = dict[str, Any] | None
_WHOLE = 2.0**53  # beyond, sums of whole numbers are rounded


@runtime_checkable
class Monoid(Protocol):
    """What statistics of any family can do."""

    def zero(self) -> Self:
        """Statistics of no rows, with the same shape."""

    def __add__(self, other: Self, /) -> Self: ...

    def __sub__(self, other: Self, /) -> Self: ...


Stats = TypeVar("Stats", bound=Monoid)


@np.errstate(over="ignore", invalid="ignore")
def rounded(*values: Array) -> Array:
    """Variance of the rounding of an operation, from its operands and its result: ½ ε times the largest, squared."""
    return (EPS / 2 * np.maximum.reduce([abs(value) for value in values])) ** 2


class _Additive:
    """Statistics that are plain sums: field by field addition."""

    error: Error

    def _values(self) -> dict[str, Array]:
        return {one.name: getattr(self, one.name) for one in fields(self) if one.name != "error"}  # type: ignore[arg-type]

    def zero(self) -> Self:
        """Statistics of no rows, with the same shape."""
        values = {name: 0 * leaf for name, leaf in self._values().items()}
        return type(self)(**values, error=None if self.error is None else {})  # type: ignore[call-arg]

    def scaled(self, factor: Scalar) -> Self:
        """Statistics of the same rows with all weights multiplied by a positive number."""
        values = {name: factor * leaf for name, leaf in self._values().items()}
        error = self.error and {name: factor**2 * one for name, one in self.error.items()}
        if self.error is not None:
            error = {name: (error or {}).get(name, 0) + rounded(value) for name, value in values.items()}
        return type(self)(**values, error=error)  # type: ignore[call-arg]

    def _joined(self, op: Callable[[Any, Any], Any], other: Self) -> Self:
        mine, theirs = self._values(), other._values()
        values = {name: op(leaf, theirs[name]) for name, leaf in mine.items()}
        error = None
        if self.error is not None and other.error is not None:
            error = {
                name: self.error.get(name, 0) + other.error.get(name, 0) + rounded(mine[name], theirs[name], value)
                for name, value in values.items()
                if name in self.error or name in other.error or abs(value).max(initial=0) >= _WHOLE
            }
        return type(self)(**values, error=error)  # type: ignore[call-arg]

    def __add__(self, other: Self) -> Self:
        return self._joined(operator.add, other)

    def __sub__(self, other: Self) -> Self:
        return self._joined(operator.sub, other)

    @np.errstate(over="ignore", invalid="ignore")
    def bounded(self, rows: int, whole: bool) -> Self:
        """The same with the rounding of sums of so many rows; whole numbers are summed exactly."""
        error = {}
        for name, leaf in self._values().items():
            if not (whole and name != "log_h" and abs(leaf).max(initial=0) < _WHOLE) and leaf.any():
                size = leaf.sum(-1, keepdims=True) + 0 * leaf if leaf.ndim > 2 else leaf  # levels, one by subtraction
                error[name] = (rows * EPS / 2 * size) ** 2
        return replace(self, error=error)  # type: ignore[type-var]


@pytree
@dataclass(frozen=True)
class Counts(_Additive):
    """Weighted number of events by class and kind.

    Fields
    ------
    n : (c, …)      Σ_i r_ic [event], counts
    log_h : (c, …)  log base measure Σ_i r_ic log h(x_i) in nats, constants such as multinomial coefficients
    error : variance of the rounding of each field that is rounded, by name; None where nobody needs it
    """

    n: Float[Array, "c ..."]
    log_h: Float[Array, " c *pieces"]
    error: Error = None


@pytree
@dataclass(frozen=True)
class Totals(_Additive):
    """Sum of a count variable, and the number of cells in the sum.

    Fields
    ------
    n : (c, d)      Σ_i r_ic over the observed cells
    total : (c, d)  Σ_i r_ic x_ij, counts
    log_h : (c, d)  Σ_i r_ic log h(x_ij) in nats
    error : as in `Counts`
    """

    n: Float[Array, "c d"]
    total: Float[Array, "c d"]
    log_h: Float[Array, "c d"]
    error: Error = None


@dataclass(frozen=True)
class _Centred:
    """Weight, mean, and squares or cross products about the mean: + is Chan's rule, − the same solved for a summand.

    `error` holds the variances of the rounding of n, of Σx = n·mean and of ss by feature, and `cross`, the covariance
    of the last two. If the mean moves by d while the sums stay, the error of ss changes by −2 d times that of Σx. So
    the four numbers follow from Chan's rule like the statistics themselves.

    References
    ----------
    Chan, Golub & LeVeque (1983), American Statistician 37, eq. (2.1): the merge of two such triples.
    """

    n: Array
    mean: Array
    ss: Array
    error: Error = None

    @staticmethod
    def _square(delta: Array) -> Array:
        raise NotImplementedError

    @property
    def own(self) -> Array:
        """Squares of single features, (c, d)."""
        return self.ss

    def zero(self) -> Self:
        """Statistics of no rows, with the same shape."""
        return type(self)(0 * self.n, 0 * self.mean, 0 * self.ss, None if self.error is None else {})

    def scaled(self, factor: Scalar) -> Self:
        """Statistics of the same rows with all weights multiplied by a positive number; vanishing weights become 0."""
        xp = namespace(self.n, factor)
        n = factor * self.n
        held = n > xp.finfo(n.dtype).tiny / xp.finfo(n.dtype).eps
        n, mean, ss = (xp.where(_along(held, one), one, 0) for one in (n, self.mean, factor * self.ss))
        found = type(self)(n, mean, ss)
        if self.error is None:
            return found
        error = {name: factor**2 * one for name, one in self.error.items()}
        more = {"n": rounded(_along(found.n, found.mean)), "ss": rounded(found.own)}
        return replace(found, error=error | {name: error.get(name, 0) + one for name, one in more.items()})

    def __add__(self, other: Self) -> Self:
        xp = namespace(self.n, other.n)
        n = self.n + other.n
        share = other.n / xp.where(n > 0, n, 1)
        delta = other.mean - self.mean
        between = _along(self.n * share, self.ss) * self._square(delta)
        mean = self.mean + delta * _along(share, delta)
        return self._with_error(other, type(self)(n, mean, self.ss + other.ss + between), between)

    def __sub__(self, other: Self) -> Self:
        """Weights that cancel to rounding leave exact zeros."""
        xp = namespace(self.n, other.n)
        n = self.n - other.n
        noise = rounding(self.n) * self.n if self.error is None else 0  # of which `error` tells more
        left = n > noise
        share = other.n / xp.where(left, n, 1)
        delta = self.mean - other.mean
        mean = self.mean + delta * _along(share, delta)
        between = _along(self.n * share, self.ss) * self._square(delta)
        keep_negative = n < -noise  # rows that were never there: the caller must be able to see it
        found = type(self)(
            xp.where(left | keep_negative, n, 0),
            xp.where(_along(left, mean), mean, 0),
            xp.where(_along(left, between), self.ss - other.ss - between, 0),
        )
        return self._with_error(other, found, between)

    @np.errstate(over="ignore", invalid="ignore")
    def _with_error(self, other: Self, found: Self, between: Array) -> Self:
        """The result of + or −, with what is known of its rounding."""
        if self.error is None or other.error is None:
            return found
        n, parts = _along(found.n, found.mean), (self, other)
        square = replace(found, ss=between).own
        error = {
            "mean": rounded(*(_along(one.n, one.mean) * one.mean for one in (*parts, found))),
            "cross": np.zeros(n.shape),
            "ss": rounded(self.own, other.own, found.own, square),
        }
        for one in parts:
            sums, cross, ss = (one.error.get(name, 0) for name in ("mean", "cross", "ss"))  # type: ignore[union-attr]
            moved = found.mean - one.mean
            error["mean"] = error["mean"] + sums
            error["cross"] = error["cross"] + cross - 2 * moved * sums
            error["ss"] = error["ss"] + ss - 4 * moved * cross + 4 * moved**2 * sums
        if "n" in self.error or "n" in other.error:
            weights = [_along(one.n, one.mean) for one in (*parts, found)]
            error["n"] = self.error.get("n", 0) + other.error.get("n", 0) + rounded(*weights)
            error["mean"] = error["mean"] + error["n"] * (found.mean - self.mean) ** 2
            error["ss"] = error["ss"] + error["n"] * (square / np.where(n > 0, n, 1)) ** 2
        held = n > 0
        return replace(found, error={k: np.where(held, v, 0) if k != "n" else v for k, v in error.items()})

    @np.errstate(over="ignore", invalid="ignore")
    def bounded(self, rows: int, whole: bool) -> Self:
        """The same with the rounding of sums of so many rows; whole weights are summed exactly."""
        n, size = _along(self.n, self.mean), self.own
        sums = EPS * n * abs(self.mean) + rows * EPS * np.sqrt(n * size)
        error = {"mean": sums**2, "ss": ((rows / 2 + 16) * EPS * size) ** 2}
        if not whole or n.max(initial=0) >= _WHOLE:
            error["n"] = (rows * EPS / 2 * n) ** 2 + 0 * size
        return replace(self, error=error)


def _along(n: Array, leaf: Array) -> Array:
    """Weights with as many axes as what they multiply."""
    return n if n.ndim == leaf.ndim else n.reshape(n.shape + (1,) * (leaf.ndim - n.ndim))


@pytree
@dataclass(frozen=True)
class Moments(_Centred):
    """Weight, mean and centred sum of squares by class and feature.

    Fields
    ------
    n : (c, d)     Σ_i r_ic over the observed cells
    mean : (c, d)  Σ_i r_ic x_ij / n, unit of the feature; 0 where n = 0
    ss : (c, d)    Σ_i r_ic (x_ij − mean)², unit of the feature squared
    error : variances of the rounding of n, n·mean and ss; None where nobody needs them

    Σx² is never formed: in float32, with data near 1e4 and a spread of 1, it has no digits left.
    """

    n: Float[Array, "c d"]
    mean: Float[Array, "c d"]
    ss: Float[Array, "c d"]
    error: Error = None

    @classmethod
    def of(cls, x: Real[Array, "n d"] | Sparse, r: Float[Array, "n c"] | Sparse) -> Self:
        """Moments of rows x (NaN = missing) under weights r for each class, in two passes with one correction.

        The second pass is about the mean of the first. Its remaining mean corrects both moments, so a large common
        offset does no harm. Sparse rows have no missing cells. Only their stored cells are read, and the empty cells
        are merged by Chan's rule.
        """
        return cls(*moments_by_class(x, r))

    @property
    def log_h(self) -> Float[Array, "c d"]:
        """Log base measure −½ n log 2π, in nats."""
        return -0.5 * LOG_2PI * self.n

    @staticmethod
    def _square(delta: Array) -> Array:
        return delta * delta

    def __sub__(self, other: Self) -> Self:
        """Chan's rule solved for the first summand; rounding leaves no square below 0."""
        left = super().__sub__(other)
        return left if left.error is not None else replace(left, ss=namespace(left.ss).maximum(left.ss, 0))

    def moments(self) -> Self:
        """Themselves, for they are of each feature by itself."""
        return self

    def pooled(self) -> Self:
        """Moments of all classes together, (1, d): the fold of `+` over the class axis."""
        n = self.n.sum(0, keepdims=True)
        xp = namespace(n)
        safe = xp.where(n > 0, n, 1)
        mean = (self.n * self.mean).sum(0, keepdims=True) / safe
        delta = self.mean - mean
        moved = self.n * delta
        shift = moved.sum(0, keepdims=True) / safe  # what rounding left in the mean
        ss = (self.ss + moved * delta).sum(0, keepdims=True) - n * shift * shift
        return type(self)(n, mean + shift, xp.maximum(ss, 0))


@pytree
@dataclass(frozen=True)
class Scatter(_Centred):
    """Weight, mean and centred cross products by class: `Moments` of whole rows.

    Fields
    ------
    n : (c,)        Σ_i r_ic
    mean : (c, d)   Σ_i r_ic x_i / n, unit of the feature; 0 where n = 0
    ss : (c, d, d)  Σ_i r_ic (x_i − mean)(x_i − mean)ᵀ, product of the units of two features
    error : as in `Moments`
    """

    n: Float[Array, " c"]
    mean: Float[Array, "c d"]
    ss: Float[Array, "c d d"]
    error: Error = None

    @classmethod
    def of(cls, x: Float[Array, "n d"], r: Float[Array, "n c"] | Sparse) -> Self:
        """Scatter of complete rows x under weights r, in two passes as in `Moments.of`."""
        return cls(*scatter_by_class(x, r))

    @property
    def log_h(self) -> Float[Array, " c"]:
        """Log base measure −½ n d log 2π, in nats."""
        return -0.5 * LOG_2PI * self.mean.shape[-1] * self.n

    @staticmethod
    def _square(delta: Array) -> Array:
        return delta[:, :, None] * delta[:, None, :]

    @property
    def own(self) -> Array:
        """Squares of single features, (c, d)."""
        return namespace(self.ss).diagonal(self.ss, axis1=1, axis2=2)

    def moments(self) -> Moments:
        """Those of each feature by itself."""
        return Moments(namespace(self.n).broadcast_to(self.n[:, None], self.mean.shape), self.mean, self.own)


Summed: TypeAlias = Counts | Totals | Moments | Scatter  # sums whose rounding is known
