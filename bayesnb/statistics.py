"""Sufficient statistics: commutative monoids with `zero`, `+` and `−`.

Statistics of two disjoint sets of rows add to those of their union, in any order and grouping; subtracting undoes
adding. Fitting in batches, on a cluster, forgetting rows and leaving one out are folds over these three operations.
All are frozen dataclasses and JAX pytrees, with classes along the first axis.

Floats lose digits where nearly all of a sum is subtracted. What an estimator has learnt therefore carries the exact
sums of its rows (`sums`), from which `from_sums` makes the statistics of the rows that are left. Rows that are too many
to be summed exactly come with a bound on their rounding. Statistics without `sums` add and subtract in floats.
"""

import itertools
import operator
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any, Self

import numpy as np
from scipy import sparse

from .core.arrays import Array, Float, Int, Real, Shaped, Sparse, Value
from .core.exact import EPS, ExactSum, Sums, add_up, is_whole, product
from .core.pytrees import leaves, pytree
from .core.special import LOG_2PI, namespace
from .loops import contiguous, worth

_EXACT = 1 << 16  # cells that are summed exactly, which takes twenty times as long
_SMALL = 1 << 8  # cells of weights that are written out
_FAR = 1e3  # spreads between a mean and 0, from where on its rounding is worth avoiding


def one_hot(y: Shaped[np.ndarray, " n"], n_classes: int, weights: Shaped[np.ndarray, " n"] | None = None) -> Sparse:
    """Weights r (n, c) of labels 0 … c−1, as a sparse matrix with one entry a row.

    r_ic = w_i [y_i = c]; w_i = 1 unless given.
    """
    n = len(y)
    data = np.ones(n) if weights is None else np.asarray(weights, float)
    index = np.int32 if n < 1 << 31 else np.int64
    return sparse.csr_array((data, y.astype(index), np.arange(n + 1, dtype=index)), shape=(n, n_classes))


def by_class(r: Array | Sparse, table: Array | Sparse) -> Array:
    """rᵀ · table as a dense array: the sum of the rows of a table in each class, (c, …)."""
    if namespace(r, table) is np and table.ndim == 2 and worth(8 * table.size) and is_one_hot(r):
        from .loops import counts

        total = np.zeros((r.shape[1], table.shape[1]))
        if sparse.issparse(table):
            x = table.tocsr()
            counts.stored_by_class(x.indptr, x.indices, contiguous(x.data), r.indices, r.data, total)
        else:
            counts.by_class(contiguous(table), r.indices, r.data, total)
        return total
    return add_up(r, table)


def levels_by_class(r: Array | Sparse, x: Array | Sparse, levels: int) -> Float[np.ndarray, "c d k"] | None:
    """Σ_i r_ic [x_ij = k] of many dense rows with one class each, where a loop serves; other codes are missing."""
    if namespace(r, x) is not np or sparse.issparse(x) or not (worth(8 * x.size) and is_one_hot(r)):
        return None
    from .loops.counts import levels_by_class as loop

    total = np.zeros((r.shape[1], x.shape[1], levels))
    loop(contiguous(x), r.indices, r.data, total)
    return total


def is_one_hot(r: Array | Sparse) -> bool:
    """Whether each row has one class, in weights as `one_hot` makes them."""
    return sparse.issparse(r) and r.format == "csr" and np.array_equal(np.diff(r.indptr), np.ones(r.shape[0]))


def _written_out(r: Sparse) -> np.ndarray:
    """Weights with one class each as a dense table: SciPy takes longer to multiply a small one."""
    table = np.zeros(r.shape)
    table[np.arange(r.shape[0]), r.indices] = r.data
    return table


def class_totals(r: Array | Sparse) -> Array:
    """N_c = Σ_i r_ic: the weight of each class."""
    if not sparse.issparse(r):
        return r.sum(axis=0)
    r = r.tocsr()
    return np.bincount(r.indices, r.data, r.shape[1]).astype(r.dtype)  # whole numbers where there are no rows


def subtract_weight(total: Value, part: Array) -> Array:
    """What is left of a weight without a part of it: exactly 0 where the difference is no more than rounding."""
    left = total - part
    return namespace(left).where(left > _rounding(left) * total, left, 0)


def _rounding(n: Array) -> float:
    """The share of a weight that is taken for rounding, in the precision at hand."""
    return 1e-12 if n.dtype == np.float64 else 1e-5


def _both(op: Callable[[Sums, Sums], Sums], one: Sums | None, other: Sums | None) -> Sums | None:
    """Exact sums of the result, where both sides have them and they are not too large."""
    if one is None or other is None:
        return None
    try:
        return op(one, other)
    except OverflowError:
        return None


class _Additive:
    """Statistics that are plain sums: field by field addition."""

    sums: Sums | None

    @property
    def is_far(self) -> bool:
        """Whether some sum is so large that its rounding shows in an evidence; known exactly as well."""
        return self.sums is not None and any(abs(getattr(self, name)).max(initial=0) > _FAR for name in self.sums.exact)

    def _values(self) -> dict[str, Array]:
        return {one.name: getattr(self, one.name) for one in fields(self) if one.name != "sums"}  # type: ignore[arg-type]

    def zero(self) -> Self:
        """Statistics of no rows at all, of the same shape."""
        return type(self)(**{name: 0 * leaf for name, leaf in self._values().items()})

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
                if leaf.any() and not (whole and name != "log_h" and abs(leaf).max() < 2**53)
            },
        )

    def from_sums(self) -> tuple[Any, dict[str, Array]]:
        """The statistics by their exact sums, and bounds on the rounding of their fields."""
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
        """Statistics of no rows at all, of the same shape."""
        return type(self)(0 * self.n, 0 * self.mean, 0 * self.ss)

    @property
    def is_far(self) -> bool:
        """Whether some mean lies so far out, in units of its spread, that rounding it shows; known exactly as a sum."""
        return self.sums is not None and not self.sums.error and self.lies_far_out

    @property
    def lies_far_out(self) -> bool:
        """Whether some mean is more than a thousand spreads from 0."""
        weight = _along(self.n, self.mean)
        return bool((weight * self.mean**2 > _FAR**2 * self._own(self.ss)).any())

    def rounded_sums(self, rows: int, whole: bool) -> Sums:
        """n, Σ w x and Σ w x² of this mean and these squares, with bounds on the rounding of a fit to so many rows.

        `square` bounds what rounding did to the squares about the mean. `shift` bounds n times that of the mean, which
        matters the more the further other rows lie from it: `low` and `high` tell where it was.
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
        """The statistics by their exact sums, and bounds on the rounding of their fields.

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
        rounding = _rounding(self.n) * self.n
        left = n > rounding
        share = other.n / xp.where(left, n, 1)
        delta = self.mean - other.mean
        mean = self.mean + delta * _along(share, delta)
        ss = self.ss - other.ss - _along(self.n * share, self.ss) * self._square(delta)
        keep_negative = n < -rounding  # rows that were never there: the caller must be able to see it
        return type(self)(
            xp.where(left | keep_negative, n, 0),
            xp.where(_along(left, mean), mean, 0),
            xp.where(_along(left, ss), ss, 0),
            _both(operator.sub, self.sums, other.sums),
        )


def _along(n: Array, leaf: Array) -> Array:
    """Weights with as many axes as what they multiply."""
    return n.reshape(n.shape + (1,) * (leaf.ndim - n.ndim))


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
        """Moments of rows x (NaN = missing) under weights r, in two passes and one correction of each.

        The second pass is about the first mean, and what is left of the mean there corrects both moments, which makes
        the result insensitive to a large common offset. Of sparse rows, which have no missing cells, only the stored
        cells are gone through; the empty ones are merged by Chan's rule.
        """
        if sparse.issparse(x):
            return cls._of_sparse(x, r)
        xp = namespace(x, r)
        if is_one_hot(r):
            if xp is not np or not worth(8 * x.size):
                return cls._of_labelled(x, r)
            from .loops.moments import moments

            return cls(*moments(contiguous(x), r.indices, r.data, r.shape[1]))
        seen = ~xp.isnan(x)
        n = by_class(r, seen.astype(x.dtype))
        safe = xp.where(n > 0, n, 1)
        mean = by_class(r, xp.where(seen, x, 0)) / safe
        weights = xp.asarray(r.toarray() if sparse.issparse(r) else r)
        rest = [xp.where(seen, x - m, 0) for m in mean]
        shift = xp.stack([w @ z for w, z in zip(weights.T, rest, strict=True)]) / safe
        ss = xp.stack([w @ (z * z) for w, z in zip(weights.T, rest, strict=True)])
        return cls(n, mean + shift, xp.maximum(ss - n * shift * shift, 0))

    @classmethod
    def _of_labelled(cls, x: np.ndarray, r: Sparse) -> Self:
        """The same of rows with one class each, whatever the number of classes; NaN in a sum tells of missing cells."""
        by_class, seen = r.T if r.shape[0] * r.shape[1] > _SMALL else _written_out(r).T, None
        total = by_class @ x
        n = np.broadcast_to(class_totals(r)[:, None], total.shape)
        if np.isnan(total).any():
            seen = ~np.isnan(x)
            n, total = by_class @ seen.astype(x.dtype), by_class @ np.where(seen, x, 0)
        safe = np.where(n > 0, n, 1)
        mean = total / safe
        rest = mean[r.indices]
        np.subtract(x, rest, out=rest)
        if seen is not None:
            rest[~seen] = 0
        shift = by_class @ rest / safe
        ss = by_class @ np.square(rest, out=rest)
        return cls(n, mean + shift, np.maximum(ss - n * shift * shift, 0))

    @classmethod
    def _of_sparse(cls, x: Sparse, r: Float[Array, "n c"] | Sparse) -> Self:
        x, r = sparse.csr_array(x), sparse.csc_array(r)
        d = x.shape[1]
        classes = []
        for start, end in itertools.pairwise(r.indptr):  # class by class
            w, cells = r.data[start:end], x[r.indices[start:end]]
            weight, column = np.repeat(w, np.diff(cells.indptr)), cells.indices
            n = np.bincount(column, weight, d)
            safe = np.where(n > 0, n, 1)
            mean = np.bincount(column, weight * cells.data, d) / safe
            rest = cells.data - mean[column]
            shift = np.bincount(column, weight * rest, d) / safe
            ss = np.bincount(column, weight * rest * rest, d) - n * shift * shift
            full = np.bincount(column, minlength=d) == len(w)  # where nothing is empty, no rounding may seem to be
            classes.append((n, mean + shift, np.maximum(ss, 0), np.where(full, 0, subtract_weight(w.sum(), n))))
        dtype = np.result_type(x.dtype, r.dtype)
        n, mean, ss, empty = (np.stack(leaf).astype(dtype) for leaf in zip(*classes, strict=True))
        return cls(n, mean, ss) + cls(empty, 0 * mean, 0 * ss)

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

    def pooled(self) -> Self:
        """Moments of all classes together, (1, d): the fold of `+` over the class axis."""
        n = self.n.sum(0, keepdims=True)
        xp = namespace(n)
        mean = (self.n * self.mean).sum(0, keepdims=True) / xp.where(n > 0, n, 1)
        delta = self.mean - mean
        shift = (self.n * delta).sum(0, keepdims=True) / xp.where(n > 0, n, 1)  # what rounding left in the mean
        ss = (self.ss + self.n * delta * delta).sum(0, keepdims=True) - n * shift * shift
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


def with_sums(stats: Any, x: Any, r: Array | Sparse, exact: Callable[[Any], dict[str, ExactSum]]) -> Any:
    """Statistics of rows, with what it takes to subtract them again without a loss of digits.

    Few rows are summed exactly. Of many, which would take long, the rounding is bounded. What is no sum of rows, as a
    family of one's own may have it, stays as it is.
    """
    if not isinstance(stats, Counts | Totals | Moments | Scatter):
        return stats
    size = max(x.nnz if sparse.issparse(x) else x.size, max(leaf.size for leaf in leaves(stats)))
    try:
        found = exact(stats) if size <= _EXACT else {}
    except OverflowError:
        found = {}
    if found:
        return replace(stats, sums=Sums(found))
    return with_bounds(stats, x.shape[0], is_whole(r) and sums_whole_cells(stats, x))


def with_bounds(stats: Any, rows: int, whole: bool) -> Any:
    """Statistics of so many rows, with bounds on their rounding; `whole` where all cells and weights are integers."""
    if not isinstance(stats, Counts | Totals | Moments | Scatter):
        return stats
    return replace(stats, sums=stats.rounded_sums(rows, whole))


def sums_whole_cells(stats: Any, x: Any) -> bool:
    """Whether the fields that are sums of cells are sums of integers; moments have none but their weights."""
    if not isinstance(stats, Counts | Totals) or x.dtype.kind in "biu":
        return True
    cells = x.data if sparse.issparse(x) else x
    if not worth(8 * cells.size):
        return is_whole(x)
    from .loops.counts import is_whole as loop

    return bool(loop(contiguous(cells).ravel()))


@pytree
@dataclass(frozen=True)
class Sample:
    """The observed cells themselves: the distinct values of every class and feature, and their weights.

    Fields
    ------
    value : (c, d, m)   distinct values in ascending order, unit of the feature; NaN behind the last one
    weight : (c, d, m)  Σ_i r_ic [x_ij = value]; 0 behind the last value

    Features are independent given the class, so the cells of a class and feature are all that matters of the rows, and
    a value that comes twice is stored once, with twice the weight. The order makes the form canonical: + commutes
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
            wide = (jnp.broadcast_to(leaf, (c, d, n)) for leaf in (x.T.astype(r.dtype), r.T[:, None, :]))
            return cls(*_canonical(*wide))
        dtype = np.result_type(x.dtype, r.dtype)
        entries = sparse.coo_array(r)
        rows, classes = entries.coords
        found = []
        for column in x.T:
            seen = ~np.isnan(column)
            levels, place = np.unique(column[seen] + 0.0, return_inverse=True)  # −0 becomes 0
            index = np.zeros(len(column), int)
            index[seen] = place
            here = seen[rows]
            at = classes[here] * len(levels) + index[rows[here]]
            total = np.bincount(at, entries.data[here], r.shape[1] * len(levels)).reshape(r.shape[1], len(levels))
            found.append([(levels[w != 0], w[w != 0]) for w in total])
        m = max((len(w) for pairs in found for _, w in pairs), default=0)
        shape = r.shape[1], x.shape[1], m
        cells = cls(np.full(shape, np.nan, dtype), np.zeros(shape, dtype))
        for j, pairs in enumerate(found):
            for k, (v, w) in enumerate(pairs):
                cells.value[k, j, : len(v)], cells.weight[k, j, : len(v)] = v, w
        return cells

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

    def pooled(self) -> Self:
        """The cells of all classes together, (1, d, m)."""
        xp = namespace(self.value)
        c, d, m = self.value.shape
        value, weight = (xp.moveaxis(leaf, 0, 1).reshape(1, d, c * m) for leaf in (self.value, self.weight))
        return type(self)(*_canonical(value, weight))


def _canonical(value: Float[Array, "c d m"], weight: Float[Array, "c d m"]) -> tuple[Array, Array]:
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
    kept = first & (abs(xp.take_along_axis(total, group, -1)) > _rounding(value) * xp.take_along_axis(size, group, -1))
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
