"""Sufficient statistics: commutative monoids with `zero`, `+` and `−`.

Statistics of two disjoint sets of rows add to those of their union, in any order and grouping; subtracting undoes
adding. Fitting in batches, on a cluster, forgetting rows and leaving one out are folds over these three operations.
All are frozen dataclasses and JAX pytrees, with classes along the first axis.

Floats lose digits where nearly all of a sum is subtracted. What an estimator has learnt therefore carries the exact
sums of its rows (`sums`), from which `from_sums` makes the statistics of the rows that are left. Rows that are too many
to be summed exactly come with a bound on their rounding. Statistics without `sums` add and subtract in floats.
"""

import operator
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from typing import Any, Protocol, Self, TypeAlias, TypeVar, runtime_checkable

import numpy as np

from .core.arrays import Array, Float, Real, Scalar, Sparse
from .core.exact import EPS, ExactSum, Sums, product
from .core.pytrees import pytree
from .core.special import LOG_2PI, namespace
from .sums.by_class import class_totals as class_totals
from .sums.by_class import one_hot as one_hot
from .sums.by_class import rounding
from .sums.moments import moments_by_class, scatter_by_class
from .sums.sample import Sample as Sample

_FAR = 1e3  # spreads between a mean and 0, from where on its rounding is worth avoiding


@runtime_checkable
class Monoid(Protocol):
    """What statistics of any family can do."""

    def zero(self) -> Self:
        """Statistics of no rows, with the same shape."""

    def __add__(self, other: Self, /) -> Self: ...

    def __sub__(self, other: Self, /) -> Self: ...


Stats = TypeVar("Stats", bound=Monoid)


def _both(op: Callable[[Sums, Sums], Sums], one: Sums | None, other: Sums | None) -> Sums | None:
    """Exact sums of the result, where both sides have them and they are not too large."""
    with suppress(OverflowError):
        return None if one is None or other is None else op(one, other)
    return None


class _Additive:
    """Statistics that are plain sums: field by field addition."""

    sums: Sums | None

    @property
    def is_far(self) -> bool:
        """Whether some sum is so large that its rounding matters in an evidence."""
        return self.sums is not None and any(abs(getattr(self, name)).max(initial=0) > _FAR for name in self.sums.exact)

    def _values(self) -> dict[str, Array]:
        return {one.name: getattr(self, one.name) for one in fields(self) if one.name != "sums"}  # type: ignore[arg-type]

    def zero(self) -> Self:
        """Statistics of no rows, with the same shape."""
        return type(self)(**{name: 0 * leaf for name, leaf in self._values().items()})

    def scaled(self, factor: Scalar) -> Self:
        """Statistics of the same rows with all weights multiplied by a positive number."""
        values = {name: factor * leaf for name, leaf in self._values().items()}
        sums = None if self.sums is None else self.sums.scaled(float(factor))
        for name, leaf in values.items():
            if sums is not None and name not in sums.exact and leaf.any():
                sums = sums.also(name, EPS * abs(leaf))
        return type(self)(**values, sums=sums)  # type: ignore[call-arg]

    def _joined(self, op: Callable[[Any, Any], Any], other: Self) -> Self:
        mine, theirs = self._values(), other._values()
        values = {name: op(leaf, theirs[name]) for name, leaf in mine.items()}
        sums = _both(op, self.sums, other.sums)
        if self.sums is not None and other.sums is not None and sums is not None:
            for name in {*sums.error, *self.sums.exact, *other.sums.exact} - sums.exact.keys():  # added in floats
                sums = sums.also(name, EPS * (abs(mine[name]) + abs(theirs[name])))
        return type(self)(**values, sums=sums)  # type: ignore[call-arg]

    def __add__(self, other: Self) -> Self:
        return self._joined(operator.add, other)

    def __sub__(self, other: Self) -> Self:
        return self._joined(operator.sub, other)

    def rounded_sums(self, rows: int, whole: bool) -> Sums:
        """Bounds on the rounding of the fields, as sums of so many rows; none where all cells are whole numbers."""
        return Sums(
            {},
            {
                name: rows * EPS / 2 * abs(leaf)
                for name, leaf in self._values().items()
                if not (whole and name != "log_h" and -(2**53) < leaf.min() <= leaf.max() < 2**53) and leaf.any()
            },
        )

    def from_sums(self) -> tuple[Any, dict[str, Array]]:
        """The statistics from exact sums, with bounds on the rounding of their fields."""
        assert self.sums is not None
        return replace(self, **{name: one.value() for name, one in self.sums.exact.items()}), self.sums.error  # type: ignore[type-var]


@pytree
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
    sums: Sums | None = None


@pytree
@dataclass(frozen=True)
class Totals(_Additive):
    """Sum of a count variable, and the number of cells in the sum.

    Fields
    ------
    n : (c, d)      Σ_i r_ic over the observed cells
    total : (c, d)  Σ_i r_ic x_ij, counts
    log_h : (c, d)  Σ_i r_ic log h(x_ij) in nats
    """

    n: Float[Array, "c d"]
    total: Float[Array, "c d"]
    log_h: Float[Array, "c d"]
    sums: Sums | None = None


@dataclass(frozen=True)
class _Centred:
    """Weight, mean, and squares or cross products about the mean: + is Chan's rule, − the same solved for a summand.

    References
    ----------
    Chan, Golub & LeVeque (1983), American Statistician 37, eq. (2.1): the merge of two such triples.
    """

    n: Array
    mean: Array
    ss: Array
    sums: Sums | None = None

    @staticmethod
    def _square(delta: Array) -> Array:
        raise NotImplementedError

    @staticmethod
    def _products(total: ExactSum, factor: Array) -> ExactSum:
        """Exact products of the sums of all features with floats, in the shape of the squares."""
        raise NotImplementedError

    @staticmethod
    def _own(squares: Array) -> Array:
        """Squares of single features, (c, d)."""
        return squares

    def zero(self) -> Self:
        """Statistics of no rows, with the same shape."""
        return type(self)(0 * self.n, 0 * self.mean, 0 * self.ss)

    def scaled(self, factor: Scalar) -> Self:
        """Statistics of the same rows with all weights multiplied by a positive number; vanishing weights become 0."""
        xp = namespace(self.n, factor)
        n = factor * self.n
        held = n > xp.finfo(n.dtype).tiny / xp.finfo(n.dtype).eps
        n, mean, ss = (xp.where(_along(held, one), one, 0) for one in (n, self.mean, factor * self.ss))
        return type(self)(n, mean, ss, None if self.sums is None else self.sums.scaled(float(factor)).where(held))

    @property
    def is_far(self) -> bool:
        """Whether some mean is so far from 0, in units of its spread, that its rounding matters."""
        return self.sums is not None and not self.sums.error and self.lies_far_out

    @property
    def lies_far_out(self) -> bool:
        """Whether some mean is more than a thousand spreads from 0."""
        weight = _along(self.n, self.mean)
        return bool((weight * self.mean**2 > _FAR**2 * self._own(self.ss)).any())

    def rounded_sums(self, rows: int, whole: bool) -> Sums:
        """n, Σ w x and Σ w x² of this mean and these squares, with bounds on the rounding of a fit to so many rows.

        `square` bounds the rounding of the squares about the mean. `shift` bounds n times the rounding of the mean,
        which matters more if other rows are far from it. `low` and `high` are the range of the mean.
        """
        weight = np.broadcast_to(_along(self.n, self.mean), self.mean.shape)
        try:
            total = ExactSum.of(product(weight, self.mean), self.mean.shape)
            square = ExactSum.exactly(self.ss) + self._products(total, self.mean)
        except OverflowError:  # squares near the largest float: nothing can be subtracted from them
            return Sums({}, {"ss": np.full(self.mean.shape, np.inf)})
        size = self._own(self.ss)
        error = {
            "square": (rows / 2 + 16) * EPS * size,
            "shift": 4 * EPS * weight * abs(self.mean) + rows * EPS * np.sqrt(weight * size),
            "low": np.where(weight > 0, self.mean, np.inf),
            "high": np.where(weight > 0, self.mean, -np.inf),
        }
        if not whole:
            error["n"] = rows * EPS / 2 * self.n
        return Sums({"n": ExactSum.exactly(self.n), "total": total, "square": square}, error)

    def from_sums(self) -> tuple[Any, dict[str, Array]]:
        """The statistics from exact sums, with bounds on the rounding of their fields.

        With any float m near the mean, Σ w (x − m) = Σ w x − n m and Σ w (x − m)² are exact until they are rounded
        once. The first then corrects both the mean and the squares about it.
        """
        assert self.sums is not None
        sums = self.sums
        if not sums.exact:
            return self, sums.error
        weight, total, square = (sums.exact[name] for name in ("n", "total", "square"))
        n, mean = weight.value(), total.value()
        held = n > 0
        safe = np.where(held, n, 1)
        mean = mean / _along(safe, mean)
        rest = total - (weight if n.ndim == mean.ndim else ExactSum(weight.parts[:, None])).times(mean)
        turned = self._products(rest, mean)
        if square.parts.ndim > rest.parts.ndim:
            turned = ExactSum(turned.parts.swapaxes(1, 2))
        ss, shift = (square - self._products(total, mean) - turned).value(), rest.value()
        ss = ss - self._square(shift) / _along(safe, ss)
        mean = mean + shift / _along(safe, shift)
        bounds = {name: sums.error[name] for name in ("n",) if name in sums.error}
        if "square" in sums.error:
            reach = np.maximum(sums.error["high"] - mean, mean - sums.error["low"]).clip(0)
            bounds["ss"] = sums.error["square"] + 2 * sums.error["shift"] * reach
        mean, ss = (np.where(_along(held, leaf), leaf, 0) for leaf in (mean, ss))
        return replace(self, n=n, mean=mean, ss=ss), bounds

    def __add__(self, other: Self) -> Self:
        xp = namespace(self.n, other.n)
        n = self.n + other.n
        share = other.n / xp.where(n > 0, n, 1)
        delta = other.mean - self.mean
        between = _along(self.n * share, self.ss) * self._square(delta)
        mean = self.mean + delta * _along(share, delta)
        return type(self)(n, mean, self.ss + other.ss + between, _both(operator.add, self.sums, other.sums))

    def __sub__(self, other: Self) -> Self:
        """Weights that cancel to rounding leave exact zeros."""
        xp = namespace(self.n, other.n)
        n = self.n - other.n
        noise = rounding(self.n) * self.n
        left = n > noise
        share = other.n / xp.where(left, n, 1)
        delta = self.mean - other.mean
        mean = self.mean + delta * _along(share, delta)
        ss = self.ss - other.ss - _along(self.n * share, self.ss) * self._square(delta)
        keep_negative = n < -noise  # rows that were never there: the caller must be able to see it
        return type(self)(
            xp.where(left | keep_negative, n, 0),
            xp.where(_along(left, mean), mean, 0),
            xp.where(_along(left, ss), ss, 0),
            _both(operator.sub, self.sums, other.sums),
        )


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

    Σx² is never formed: in float32, with data near 1e4 and a spread of 1, it has no digits left.
    """

    n: Float[Array, "c d"]
    mean: Float[Array, "c d"]
    ss: Float[Array, "c d"]
    sums: Sums | None = None

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

    @staticmethod
    def _products(total: ExactSum, factor: Array) -> ExactSum:
        return total.times(factor)

    def __sub__(self, other: Self) -> Self:
        """Chan's rule solved for the first summand; rounding leaves no square below 0."""
        left = super().__sub__(other)
        return replace(left, ss=namespace(left.ss).maximum(left.ss, 0))

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
    """

    n: Float[Array, " c"]
    mean: Float[Array, "c d"]
    ss: Float[Array, "c d d"]
    sums: Sums | None = None

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

    @staticmethod
    def _products(total: ExactSum, factor: Array) -> ExactSum:
        return ExactSum(total.parts[:, None]).times(factor[:, :, None])

    @staticmethod
    def _own(squares: Array) -> Array:
        return np.diagonal(squares, axis1=1, axis2=2)

    def moments(self) -> Moments:
        """Those of each feature by itself."""
        n = namespace(self.n).broadcast_to(self.n[:, None], self.mean.shape)
        return Moments(n, self.mean, namespace(self.ss).diagonal(self.ss, axis1=1, axis2=2))


Summed: TypeAlias = Counts | Totals | Moments | Scatter  # what may hold the exact sums of the rows behind it


def in_floats(stats: Any) -> Any:
    """Statistics without the exact sums behind them, of which the same rows may leave different pieces."""
    return replace(stats, sums=None) if isinstance(stats, Summed) else stats
