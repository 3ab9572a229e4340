"""Sufficient statistics: commutative monoids with `zero`, `+` and `−`.

Statistics of two disjoint sets of rows add to those of their union, in any order and grouping; subtracting undoes
adding. Fitting in batches, on a cluster, forgetting rows and leaving one out are folds over these three operations.
All are frozen dataclasses and JAX pytrees, with classes along the first axis.

Each operation rounds. Sums that only grow have lost no more than their size and the number of operations tell. Before
rows are subtracted, `with_error` makes of that the variance of the rounding, `error`, which statistics carry from then
on, so that `forget` can say whether enough digits are left. Statistics without `error` only add and subtract.
"""

import operator
from dataclasses import dataclass, replace
from typing import Any, Self, TypeAlias, TypeVar

import numpy as np

from ..numerics.arrays import Array, Data, Float, Scalar, Weights
from ..numerics.pytrees import map_leaves, pytree
from ..numerics.special import EPS, LOG_2PI, is_whole, namespace
from .rows import class_totals as class_totals
from .rows import moments_by_class, rounding, scatter_by_class
from .rows import one_hot as one_hot
from .sample import Sample as Sample

NEVER_FITTED = (
    "`X`, `y` hold rows that were never fitted: leaving them out would give negative {}. Give rows, labels and "
    "weights as they were fitted"
)

Error: TypeAlias = Any  # variances by field, of those that are rounded; or None

Stats = TypeVar("Stats")  # of any family: a commutative monoid with `zero`, `+` and `−`


@np.errstate(over="ignore", invalid="ignore")
def rounded(*values: Array) -> Array:
    """Variance of the error that rounding makes in one operation: ½ ε times the largest number that took part, squared.

    ε = 2.2e-16 is the distance of floats near 1, so a float near x is at most ½ ε x away from x.

    Parameters
    ----------
    values : operands and results, of one shape
    """
    largest = np.maximum.reduce([abs(value) for value in values])
    return (EPS / 2 * largest) ** 2


class Summed:
    """Sums over rows whose rounding may be known: `error` has its variance by field, or is None."""

    n: Any
    error: Any

    def zero(self) -> Self:
        """Statistics of no rows, with the same shape."""
        leaves = {name: 0 * leaf for name, leaf in vars(self).items() if name != "error"}  # every array as zeros
        error: Error = None if self.error is None else {}  # known to be none, as no rows have no rounding
        return replace(self, **leaves, error=error)  # type: ignore[type-var]

    def _joined(self, other: Self, sign: int) -> Self:
        """The statistics of both sets of rows (sign 1), or of the rows of this one without those of the other (−1)."""
        raise NotImplementedError

    def __add__(self, other: Self) -> Self:
        return self._joined(other, 1)

    def __sub__(self, other: Self) -> Self:
        return self._joined(other, -1)


class _Additive(Summed):
    """Statistics that are plain sums over rows, such as counts: two of them are added field by field."""

    def _with_values(self, values: dict[str, Any], errors: list[Error], factor: Scalar = 1) -> Self:
        """New statistics with the results of a sum or a multiplication, and the variances of their rounding errors.

        If the variances of an operand are not known, neither are those of the result. A field in which all operands
        are sums of whole numbers is exact, and has no entry: with the errors {"n": 1e-30} and {} of two operands, the
        sum has an error of n, and no other.

        Parameters
        ----------
        values : the results, by name of the field
        errors : of each operand the variances of its rounding, by name; None if they are not known
        factor : what a single operand was multiplied by; 1 for a sum
        """
        if any(error is None for error in errors):
            return replace(self, **values, error=None)  # type: ignore[type-var]

        variances = {}
        for name, value in values.items():
            is_exact = factor == 1 and not any(name in error for error in errors)
            if is_exact:
                continue

            # Variances of independent errors add up, times the factor squared: Var(f e) = f² Var(e). The operation
            # itself rounds once more, with the variance `rounded(value)`.
            of_operands = sum(error.get(name, 0) for error in errors)
            variances[name] = factor**2 * of_operands + rounded(value)
        return replace(self, **values, error=variances)  # type: ignore[type-var]

    def scaled(self, factor: Scalar) -> Self:
        """Statistics of the same rows with all weights multiplied by a positive number."""
        values = {name: factor * leaf for name, leaf in vars(self).items() if name != "error"}
        return self._with_values(values, [self.error], factor)

    def _joined(self, other: Self, sign: int) -> Self:
        """Sums (sign 1) or differences (−1), field by field."""
        combine = operator.add if sign > 0 else operator.sub
        other_leaves = vars(other)
        values = {name: combine(leaf, other_leaves[name]) for name, leaf in vars(self).items() if name != "error"}
        return self._with_values(values, [self.error, other.error])

    @np.errstate(over="ignore", invalid="ignore")
    def bounded(self, rows: int, pieces: int, whole: bool) -> Self:
        """The same sums with a bound of how much rounding has changed them: a variance for each field.

        ε = 2.2e-16 is the distance of floats near 1. An addition rounds by at most ½ ε of its result, so a sum of n
        terms by at most n ½ ε of its size. Where several such sums are then added up, their roundings are independent,
        so p additions count as √p: the standard deviation is (rows + √pieces) ½ ε size. Sums of whole numbers are
        exact.

        Parameters
        ----------
        rows, pieces : rows in each sum that was made at a time, and how many such sums were added up
        whole : whether all weights are whole numbers
        """
        # The sums by name of the field. All are whole or none is, but for `log_h`: logarithms are not whole.
        sums = {name: leaf for name, leaf in vars(self).items() if name != "error"}
        are_whole = whole and all(is_whole(leaf) for name, leaf in sums.items() if name != "log_h")
        n_roundings = rows + pieces**0.5

        error = {}
        for name, leaf in sums.items():
            is_exact = (are_whole and name != "log_h") or not leaf.any()  # a sum of zeros is exact too
            if is_exact:  # no entry
                continue

            # The size of the largest number that took part: the sum itself. But of counts of levels (c, d, levels) one
            # level is computed as the total less the others, so a small count is rounded as coarsely as the total.
            size = leaf
            if leaf.ndim > 2:
                size = leaf.sum(-1, keepdims=True) + 0 * leaf  # the total, in the shape of `leaf`
            error[name] = (n_roundings * EPS / 2 * size) ** 2
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
class _Centred(Summed):
    """Weight, mean, and squares or cross products about the mean: + is Chan's rule, and − the same with −n.

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

    @property
    def own(self) -> Array:
        """Squares of single features about the mean, (c, d): `ss` itself, or the diagonals of cross products."""
        has_cross_products = self.ss.ndim > self.mean.ndim  # (c, d, d)
        return namespace(self.ss).diagonal(self.ss, 0, -2, -1) if has_cross_products else self.ss

    @property
    def log_h(self) -> Array:
        """Log base measure −½ n log 2π of each feature, −½ n d log 2π of whole rows, in nats."""
        is_of_rows = self.n.ndim < self.mean.ndim  # n is (c,), and not (c, d)
        features = self.mean.shape[-1] if is_of_rows else 1
        return -0.5 * LOG_2PI * self.n * features

    def moments(self) -> "Moments":
        """Moments of each feature by itself: of cross products their diagonals."""
        # `along` makes weights (c,) of whole rows (c, 1), which are then repeated for each feature, (c, d)
        n = namespace(self.n).broadcast_to(along(self.n, self.mean), self.mean.shape)
        return Moments(n, self.mean, self.own)

    def scaled(self, factor: Scalar) -> Self:
        """Statistics of the same rows with all weights multiplied by a positive number."""
        scaled = replace(self, n=factor * self.n, ss=factor * self.ss)  # the mean stays
        if self.error is None:  # the rounding is not followed
            return scaled

        # The two products are rounded. `rounded` is the variance of the rounding of one operation; `along` makes
        # weights (c,) of whole rows (c, 1), and `own` are the squares of single features, (c, d).
        of_products = {"n": rounded(along(scaled.n, self.mean)), "ss": rounded(scaled.own)}

        # the errors that were there before are multiplied too: Var(f e) = f² Var(e)
        error = {}
        for name in self.error | of_products:  # all names of either
            error[name] = factor**2 * self.error.get(name, 0) + of_products.get(name, 0)
        return replace(scaled, error=error)

    def _joined(self, other: Self, sign: int) -> Self:
        """Statistics of both sets of rows (sign 1), or of the rows of this one without those of the other (−1).

        Chan's rule with weights n₁ and n₂, means at a distance δ: n = n₁ + n₂, mean₁ + δ n₂/n, and
        ss₁ + ss₂ + n₁ n₂/n δδᵀ. A difference is the same with −n₂ and −ss₂.

        Parameters
        ----------
        other : statistics of the other rows: weight n, mean, and squares ss about it, or products of pairs of features
        sign : 1 or −1
        """
        xp = namespace(self.n, other.n)  # numpy, or jax.numpy for JAX arrays
        n = self.n + sign * other.n

        # A difference of weights that is no more than rounding means that no rows are left: `rounding` is the relative
        # size of it. Where `error`, the variance of the rounding, is kept, it tells more, and nothing is taken for 0.
        noise = rounding(self.n) * self.n if sign < 0 and self.error is None else 0
        has_rows = n > noise
        is_negative = n < -noise  # rows were subtracted that had never been added

        # Chan's rule; `along` gives weights (c,) the axes of the array that they multiply
        delta, square = self._distance(other)  # δ, (c, d), and its squares in the shape of ss
        share = sign * other.n / xp.where(has_rows, n, 1)  # n₂/n
        mean = self.mean + delta * along(share, delta)
        between = along(self.n * share, square) * square  # n₁ n₂/n δδᵀ
        ss = self.ss + sign * other.ss + between

        # no rows have the mean 0 and the squares 0; a negative weight stays, so that it is noticed
        joined = type(self)(
            xp.where(has_rows | is_negative, n, 0),
            xp.where(along(has_rows, mean), mean, 0),
            xp.where(along(has_rows, ss), ss, 0),
        )
        if self.error is None or other.error is None:
            return joined

        # the rounding of the result, for which only the squares of single features are needed: the diagonals of δδᵀ
        between_features = replace(joined, ss=between).own  # (c, d)
        return replace(joined, error=_joined_error(self, other, joined, between_features))

    def _distance(self, other: Self) -> tuple[Array, Array]:
        """The distance δ of two means, (c, d), and its squares as `ss` has squares.

        These are squares of single features, (c, d), or products of all pairs of features, δδᵀ, (c, d, d).
        """
        delta = other.mean - self.mean
        has_cross_products = self.ss.ndim > self.mean.ndim
        if has_cross_products:
            return delta, delta[..., :, None] * delta[..., None, :]
        return delta, delta * delta

    @np.errstate(over="ignore", invalid="ignore")
    def bounded(self, rows: int, pieces: int, whole: bool) -> Self:
        """The same statistics with a bound of how much rounding has changed them: a variance for n, Σx and ss.

        They were made of several pieces of the rows, whose statistics were then added up. With ε the relative distance
        of floats, the standard deviations are, of the errors of

            Σx    √pieces ε n |mean| + (rows + √pieces) ε √(n ss)
            ss    (½ (rows + √pieces) + 16) ε ss, and 2 ε |mean| √(n ss) where there are several pieces
            n     (rows + √pieces) ½ ε n, if weights are not whole

        A sum of r terms rounds r times, and the roundings of p pieces are independent: they count as √p. The sums of a
        piece are about its own mean, so the size of what is rounded in them is √(n ss). The last term of ss: where a
        piece moves the mean by d, the rounding of the mean moves ss by 2 n d times as much, and all n d² together are
        at most ss.

        Parameters
        ----------
        rows, pieces : rows in each sum that was made at a time, and how many such sums were added up
        whole : whether all weights are whole numbers
        """
        n = along(self.n, self.mean)  # (c, d), or (c, 1)
        ss = self.own  # squares of single features about the mean, (c, d)
        spread = np.sqrt(n * ss)  # at least Σ |x − mean|, by Cauchy–Schwarz
        merges = pieces**0.5  # independent roundings, one for each piece
        n_roundings = rows + merges

        # Σx, whose error has the name of the mean
        sd_of_sums = merges * EPS * n * abs(self.mean) + n_roundings * EPS * spread

        # ss
        sd_of_squares = (n_roundings / 2 + 16) * EPS * ss
        if pieces > 1:
            sd_of_squares = sd_of_squares + 2 * EPS * abs(self.mean) * spread

        error = {"mean": sd_of_sums**2, "ss": sd_of_squares**2}
        if not whole:  # sums of whole weights are exact
            error["n"] = (n_roundings * EPS / 2 * n) ** 2 + 0 * ss  # in the shape (c, d)
        return replace(self, error=error)


@np.errstate(over="ignore", invalid="ignore")
def _joined_error(first: _Centred, second: _Centred, joined: _Centred, between: Array) -> dict[str, Any]:
    """Variances of the rounding errors of joined statistics, from those of two sets of rows that were added or removed.

    Statistics are weight n, mean and squares ss about it. Let e_Σx and e_ss be the errors of Σx = n mean and of ss. If
    the mean moves by d, ss = Σ (x − mean)² gets the error e_ss − 2 d e_Σx. So of each operand the variances of both
    errors and their covariance are needed, and give those of the result:

        Var(e_ss − 2 d e_Σx) = Var(e_ss) − 4 d Cov(e_Σx, e_ss) + 4 d² Var(e_Σx),
        Cov(e_Σx, e_ss − 2 d e_Σx) = Cov(e_Σx, e_ss) − 2 d Var(e_Σx).

    The errors of the two operands, and that of this operation itself, are independent: their variances add up.

    Parameters
    ----------
    first, second, joined : the two operands, with their errors, and the result
    between : (c, d) what the distance of the two means adds to ss, δ² n₁ n₂/n

    Returns
    -------
    Variances of n (if weights are rounded), of Σx ("mean") and of ss, and the covariance of the last two ("cross"),
    (c, d) each.
    """
    # The rounding of this operation: `rounded` is (½ ε largest number)². `along` gives weights (c,) the axes of the
    # means, (c, 1), and `own` are the squares of single features, (c, d).
    n, n_first, n_second = (along(stats.n, stats.mean) for stats in (joined, first, second))
    var_sums = rounded(n * joined.mean, n_first * first.mean, n_second * second.mean)
    var_squares = rounded(first.own, second.own, joined.own, between)
    covariance = 0 * var_sums

    # An error of n (there is none if weights are whole) moves the mean, and with it the sums and `between`: δ² n₁ n₂/n
    # changes by the relative error of n.
    error = {}
    if "n" in first.error or "n" in second.error:
        error["n"] = first.error.get("n", 0) + second.error.get("n", 0) + rounded(n)
        var_sums = var_sums + error["n"] * (joined.mean - first.mean) ** 2
        var_squares = var_squares + error["n"] * (between / np.where(n > 0, n, 1)) ** 2

    # the errors of the operands, about the joined mean, by the two formulas
    for operand in (first, second):
        operand_sums = operand.error.get("mean", 0)  # Var(e_Σx)
        operand_cross = operand.error.get("cross", 0)  # Cov(e_Σx, e_ss)
        operand_squares = operand.error.get("ss", 0)  # Var(e_ss)
        d = joined.mean - operand.mean  # how far the mean is moved
        var_sums = var_sums + operand_sums
        covariance = covariance + operand_cross - 2 * d * operand_sums
        var_squares = var_squares + operand_squares - 4 * d * operand_cross + 4 * d**2 * operand_sums
    return error | {"mean": var_sums, "cross": covariance, "ss": var_squares}


def along(n: Array, leaf: Array) -> Array:
    """Weights n with as many axes as the array that they multiply: (c,) as (c, 1) or (c, 1, 1)."""
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

    @classmethod
    def of(cls, x: Data, r: Weights) -> Self:
        """Moments of rows x (NaN = missing) under weights r for each class, in two passes with one correction.

        The second pass is about the mean of the first. Its remaining mean corrects both moments, so a large common
        offset does no harm. Sparse rows have no missing cells. Only their stored cells are read, and the empty cells
        are merged by Chan's rule.
        """
        return cls(*moments_by_class(x, r))

    def __sub__(self, other: Self) -> Self:
        """Chan's rule with −n; rounding leaves no square below 0."""
        remaining = super().__sub__(other)
        if remaining.error is not None:
            return remaining
        return replace(remaining, ss=namespace(remaining.ss).maximum(remaining.ss, 0))

    def pooled(self) -> Self:
        """Weight, mean and centred squares of all classes together, (1, d), from those of each class.

        The mean is that of the classes' means under their weights, n_c. The squares about it are those within the
        classes and those between them, Σ_c ss_c + n_c δ_c², with δ_c the distance of a class's mean to it.
        """
        n = self.n.sum(0, keepdims=True)  # (1, d), as all results
        xp = namespace(n)  # numpy, or jax.numpy for JAX arrays
        divisor = xp.where(n > 0, n, 1)
        mean = (self.n * self.mean).sum(0, keepdims=True) / divisor

        # Σ_c n_c δ_c would be 0 without rounding; over n it is the shift by which the mean is wrong. Squares about the
        # shifted mean are n shift² less.
        delta = self.mean - mean  # δ_c, (c, d)
        weighted = self.n * delta
        shift = weighted.sum(0, keepdims=True) / divisor
        ss = (self.ss + weighted * delta).sum(0, keepdims=True) - n * shift * shift
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

    @classmethod
    def of(cls, x: Float[Array, "n d"], r: Weights) -> Self:
        """Scatter of complete rows x under weights r, in two passes as in `Moments.of`."""
        return cls(*scatter_by_class(x, r))


# --- classes and blocks together --------------------------------------------------------------------------------------


@pytree
@dataclass(frozen=True)
class Statistics(Summed):
    """Class weights and the statistics of every block: again a commutative monoid.

    Fields
    ------
    n : (c,)       weight of each class
    blocks         statistics by block name
    error : (c,)   variance of the rounding of n, 0 where weights are whole; None where nobody needs it
    """

    n: Float[Array, " c"]
    blocks: dict[str, Any]
    error: Float[Array, " c"] | None = None

    def zero(self) -> Self:
        """Statistics of no rows at all, of the same shapes."""
        blocks = {name: stats.zero() for name, stats in self.blocks.items()}
        return type(self)(0 * self.n, blocks, None if self.error is None else 0 * self.error)

    def in_floats(self) -> Self:
        """The same without what is known of their rounding."""
        return type(self)(self.n, {name: in_floats(stats) for name, stats in self.blocks.items()})

    def scaled(self, factor: float) -> Self:
        """Statistics of the same rows, their weights multiplied by a number above 0: classes and all blocks."""
        n = factor * self.n
        blocks = {name: stats.scaled(factor) for name, stats in self.blocks.items()}
        return type(self)(n, blocks, None if self.error is None else factor**2 * self.error + rounded(n))

    def _joined(self, other: Self, sign: int) -> Self:
        """Sums (sign 1) or differences (−1): of class weights, and of each block by its own rule."""
        combine: Any = operator.add if sign > 0 else operator.sub
        blocks = {name: combine(stats, other.blocks[name]) for name, stats in self.blocks.items()}
        n = combine(self.n, other.n)
        if self.error is None or other.error is None:
            return type(self)(n, blocks)

        # Variances of independent errors add, and the sum itself is rounded once more: `rounded` is the variance of
        # that. Sums of whole weights have the error 0, and stay exact.
        of_operands = self.error + other.error
        error = np.where(of_operands > 0, of_operands + rounded(n), 0)
        return type(self)(n, blocks, error)


def with_error(stats: Statistics, rows: int = 0, pieces: int = 1) -> Statistics:
    """The same statistics with bounds of how much rounding has changed their sums: variances, in the field `error`.

    Sums of whole numbers are exact, and have the variance 0.

    Parameters
    ----------
    stats : as they were summed; returned as they are if they have such a bound
    rows, pieces : rows that were summed at a time, by default as many as all weights together, and how many such sums
        were added up. None has shrunk since, or all by the same factor
    """
    if stats.error is not None:
        return stats
    are_whole = is_whole(stats.n)  # the weights of the classes
    if not rows:  # all weights together, at most a million
        rows = int(min(stats.n.sum(), 1 << 20)) + 1

    # the statistics of each block, which are columns of one family; other types than these have no error
    blocks = dict(stats.blocks)
    for name, block in stats.blocks.items():
        if isinstance(block, Counts | Totals | Moments | Scatter):
            blocks[name] = block.bounded(rows, pieces, are_whole)

    # The weights of the classes: each addition rounds by at most ½ ε of the sum. There were as many as rows in a sum,
    # and then one for each piece, which count as √pieces, because their roundings are independent.
    error = 0 * stats.n
    if not are_whole:
        error = ((rows + pieces**0.5) * EPS / 2 * stats.n) ** 2
    return Statistics(stats.n, blocks, error)


def in_floats(stats: Any) -> Any:
    """Statistics of a block without what is known of their rounding."""
    return replace(stats, error=None) if isinstance(stats, Counts | Totals | Moments | Scatter) else stats


def pooled(stats: Any) -> Any:
    """Statistics of all classes together, as of one class; of sums, as of a family of one's own, leaf by leaf."""
    if isinstance(stats, Moments | Sample):  # means, or lists of cells: no sums over classes
        return stats.pooled()
    return map_leaves(lambda leaf: leaf.sum(0, keepdims=True), in_floats(stats))


def repeated(stats: Any, n_models: int) -> Any:
    """Statistics with the c classes again for each of n models: (c, …) becomes (n · c, …), model after model."""
    if n_models == 1:
        return stats
    return map_leaves(lambda leaf: _repeat(leaf, n_models), stats)


def _repeat(leaf: Any, n_models: int) -> Any:
    """An array (c, …) n times along its first axis; a number, such as an error of 0, stays as it is."""
    if np.ndim(leaf) == 0:
        return leaf
    return np.tile(leaf, (n_models,) + (1,) * (leaf.ndim - 1))
