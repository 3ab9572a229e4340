"""How sure a class probability is: its distribution over the posterior of the parameters, without drawing them.

The log joint ℓ_c = log p(x, y = c | θ) is a function of θ; over the posterior of θ its mean, variance and third
cumulant are closed forms. The class probabilities p(y = c | x, θ) = exp ℓ_c / Σ_k exp ℓ_k then follow from a
distribution in c dimensions with these moments, whatever the number of features and parameters:

    ℓ_c = mean_c + sd_c · T(z_c; skew_c),                z standard normal

T is a standardised Pearson III variable (a shifted gamma), in the normal's terms by Wilson & Hilferty:

    T(z; g) = (2/g) [(1 + gz/6 − g²/36)³ − 1],           T(z; 0) = z

The log of a small count's probability is far from normal, but close to that; `bayesnb.families` says where the moments
come from. For two classes only ℓ_1 − ℓ_0 matters: one dimension, and quantiles in closed form.

Where classes share a variance or a covariance, the shared part is drawn at quasi-random points. Given it the classes
are independent, and ℓ_c is a quadratic form whose distribution is exact: `numerics.quadratics`.

Above 128 classes the points are plain random numbers, because quasi-random ones do not fill so many dimensions evenly.
A row whose log joint is too skewed for a Pearson III variable then gets draws of the classes that it may belong to,
those with a probability of .001 or more, in place of draws of all parameters. The other classes keep three moments.

References
----------
Wilson & Hilferty (1931), The distribution of chi-square, PNAS 17. Kirby (1972), Computer-oriented Wilson–Hilferty
transformation that preserves the first three moments, Water Resources Research 8 (its use for skewed variables).
"""

import functools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri

from ..families.base import Block
from ..models.base import AbstractModel
from ..models.naive_bayes import NaiveBayes, Rows
from ..numerics.arrays import Bool, Float, Int, Scalar
from ..numerics.pytrees import leaves
from ..numerics.quadratics import (
    SharedQuadratic,
    normal_numbers,
    quadratic_points,
    quadratic_table,
    random_quadratic_points,
)
from ..numerics.random import generator
from ..numerics.special import log_floor, log_normalize
from ..numerics.supports import check_choice, check_least, check_level
from ..sums.rows import batches, rows_at, slices

METHODS = "auto", "analytic", "draws"

_POINTS, _DRAWS = 1024, 1000  # points and draws by default
_SKEWED_DRAWS = 4000  # by default for rows that are too skewed for points: of 1,000 draws few lie near such an end
_NODES = 128  # quantiles that stand for one dimension, to average over it
_NO_MEANS = 0  # quantiles where no average is wanted, but only the ends of intervals
_TAILS = 0.2  # excess kurtosis of ℓ_1 − ℓ_0 beyond that of its Pearson III variable: two dimensions from there on
_SKEWED, _SHARE = 1.3, 0.1  # skewness of a class from which on draws are better, if it has this share of the variance
_NEGLIGIBLE = 36.0  # nats: exp(−36) is below the rounding of 1
_MAX_CLASSES_OF_NET = 128  # above, points are random: a net of so many dimensions takes long and is no better
_NOTABLE = 1e-3  # probability of a class, from which on its own tails are drawn where there are many classes
_DRAWN = 1 << 22  # numbers of the draws of parameters that are made at a time
_MOST_DRAWN = 1 << 10  # draws of parameters that are made at a time, at most
_TABLE = 1 << 17  # numbers of a table of points worked on at a time: 1 MiB, inside a core's cache
_KEPT = 1 << 21  # probabilities kept at a time for the quantiles of draws: 16 MiB
_MOMENTS = 1 << 21  # numbers of the moments of some rows


class Uncertainty(NamedTuple):
    """Entropies of the label of each row in nats: total = aleatoric + epistemic.

    Fields
    ------
    total : (n,)       entropy of the posterior mean of the class probabilities
    aleatoric : (n,)   posterior mean of their entropy: what would be left if the parameters were known
    epistemic : (n,)   the difference, the mutual information of label and parameters: what data could still teach

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> from bayesnb import GaussianNB
    >>> found = GaussianNB().fit(X, y).uncertainty(X[[0, 70]])
    >>> found.total.round(2), found.epistemic.round(2)  # nats
    (array([0.  , 0.61]), array([0.  , 0.03]))
    """

    total: Float[np.ndarray, " n"]
    aleatoric: Float[np.ndarray, " n"]
    epistemic: Float[np.ndarray, " n"]


def intervals(
    nb: AbstractModel,
    rows: Rows,
    level: Scalar = 0.9,
    method: str = "auto",
    n_draws: int | None = None,
    seed: int | np.random.Generator | None = 0,
) -> Float[np.ndarray, "n c 2"]:
    """Equal-tailed credible intervals of p(y = c | x_i, θ) over the posterior of θ, (n, c, 2).

    Parameters
    ----------
    nb, rows : the fitted model, and n rows by block
    level : posterior mass inside, between 0 and 1
    method : "analytic" (this page), "draws" of all parameters, or "auto": draws for kernel densities, and for rows
        whose log joint is too skewed for a Pearson III variable, else analytic
    n_draws : draws, by default 1,000, or 4,000 for rows that are too skewed; or points, rounded up to a power of two,
        by default 1,024
    seed : of either; all rows share one set of points

    Raises
    ------
    ValueError   for a level, method or number of draws out of range
    """
    return _over_posterior(nb, rows, level, method, n_draws, seed, n_nodes=_NO_MEANS).ends


class MeanAndInterval(NamedTuple):
    """What the posterior says of class probabilities p(y = c | x_i, θ); both of the same points or draws of θ.

    Fields
    ------
    mean : (n, c)      posterior mean; `intervals` alone do not compute it where they are closed forms
    ends : (n, c, 2)   ends of the equal-tailed interval
    """

    mean: Float[np.ndarray, "n c"]
    ends: Float[np.ndarray, "n c 2"]


def means_and_intervals(
    nb: AbstractModel,
    rows: Rows,
    level: Scalar = 0.9,
    method: str = "auto",
    n_draws: int | None = None,
    seed: int | np.random.Generator | None = 0,
) -> MeanAndInterval:
    """`intervals` with the posterior mean that they belong to, from the same points or draws.

    The Bayes predictive averages the joint p(x, y | θ) over θ and then normalises, so that it also learns from the row
    x itself. It may lie outside of the interval.
    """
    return _over_posterior(nb, rows, level, method, n_draws, seed, n_nodes=_NODES)


def posterior_means(estimator: Any, X: Any) -> Float[np.ndarray, "n c"]:
    """The posterior mean of p(y = c | x_i, θ), (n, c): the point of `predict_interval` of any fitted estimator."""
    # a discriminative model has no such posterior, and a calibrated one, with its `maps_`, changes the probabilities:
    # of both the mean is taken over draws
    has_closed_form = hasattr(estimator, "posterior_") and not hasattr(estimator, "maps_")
    if not has_closed_form:
        p_of_draws = estimator.sample_proba(X, seed=0)  # (draws, n, c)
        means: np.ndarray = p_of_draws.mean(0)
        return means
    return means_and_intervals(estimator.posterior_, estimator.model_.encode(X)).mean


def _over_posterior(
    nb: AbstractModel,
    rows: Rows,
    level: Scalar,
    method: str,
    n_draws: int | None,
    seed: int | np.random.Generator | None,
    n_nodes: int,
) -> MeanAndInterval:
    """Posterior means of the class probabilities, (n, c), and the ends of their intervals, (n, c, 2).

    θ are the parameters, and the posterior is that of θ given the data. The method "analytic" knows the distribution of
    the log joint log p(x, y = c | θ) from its first three moments; "draws" draws θ. "auto" uses the analytic method for
    all rows, if the model has it, and then replaces the results of those rows whose log joint is too skewed for three
    moments: these are drawn.

    Parameters
    ----------
    nb, rows, level, method, n_draws, seed : as in `intervals`
    n_nodes : the closed form of two classes gives quantiles of p directly. Its mean is taken over this many equally
        likely quantiles; with `_NO_MEANS`, which is 0, no means are computed, and they are returned as 0
    """
    check_level(level)
    first_method, size = resolve_method(nb, method, n_draws)  # "analytic" or "draws", and its points or draws
    seed = fix_seed(seed)  # a number, so that every chunk of rows sees the same points or draws
    tails = np.array([(1 - level) / 2, (1 + level) / 2])  # probabilities of the two ends

    # all rows; with many classes this pass draws the notable classes of a skewed row already
    draws_notable_classes = method == "auto" and _can_draw_some_classes(nb, _shape(nb, rows)[1])
    results = _one_pass(nb, rows, first_method, size, seed, tails, n_nodes, draws_notable_classes)
    skewed = results.skewed_rows
    if method != "auto" or not len(skewed):
        return MeanAndInterval(results.mean, results.ends)

    # the rows that three moments do not describe, from draws
    n_skewed_draws = _SKEWED_DRAWS if n_draws is None else n_draws
    drawn = _one_pass(nb, rows_at(rows, skewed), "draws", n_skewed_draws, seed, tails, n_nodes)
    results.mean[skewed] = drawn.mean
    results.ends[skewed] = drawn.ends
    return MeanAndInterval(results.mean, results.ends)


class _PassResults(NamedTuple):
    """Class probabilities of rows by one method.

    Fields
    ------
    mean : (n, c) posterior means; 0 where they were not wanted
    ends : (n, c, 2) ends of the intervals
    skewed_rows : positions, in ascending order, of the rows that are too skewed for this method; none for draws
    """

    mean: Float[np.ndarray, "n c"]
    ends: Float[np.ndarray, "n c 2"]
    skewed_rows: Int[np.ndarray, " m"]


def _one_pass(
    nb: AbstractModel,
    rows: Rows,
    method: str,
    size: int,
    seed: int,
    tails: np.ndarray,
    n_nodes: int,
    draws_notable_classes: bool = False,
) -> _PassResults:
    """Posterior means of class probabilities and the ends of their intervals by one method, a chunk of rows at a time.

    Parameters
    ----------
    nb, rows : the fitted model, and n rows by block
    method, size : "analytic" or "draws", and the number of its points or draws
    seed, draws_notable_classes : as in `_log_probabilities`
    tails : (2,) probabilities of the two ends
    n_nodes : `_NO_MEANS` if no means are wanted, else as in `_over_posterior`
    """
    n, c = _shape(nb, rows)
    mean = np.zeros((n, c))
    ends = np.zeros((n, c, 2))
    skewed_rows = []  # positions, an array for each chunk
    for chunk in _log_probabilities(nb, rows, method, size, seed, tails, n_nodes, draws_notable_classes):
        log_ends = chunk.log_ends  # (m, c, 2) of the m rows, where they have a formula
        if log_ends is None:  # no formula: quantiles over the s points or draws of log_p, (m, c, s)
            quantiles = np.quantile(chunk.log_p, tails, axis=-1)  # (2, m, c)
            log_ends = np.moveaxis(quantiles, 0, -1)
        ends[chunk.rows] = np.exp(np.sort(log_ends))  # sorted, as a formula gives them in any order
        if n_nodes != _NO_MEANS:
            mean[chunk.rows] = np.exp(chunk.log_p).mean(-1)
        skewed_rows.append(chunk.rows[chunk.is_skewed])
    return _PassResults(mean, ends, np.sort(np.concatenate(skewed_rows)))


def uncertainty(
    nb: AbstractModel,
    rows: Rows,
    method: str = "auto",
    n_draws: int | None = None,
    seed: int | np.random.Generator | None = 0,
) -> Uncertainty:
    """Total, aleatoric and epistemic entropy of the label of each row; parameters as in `intervals`.

    With p the class probabilities at parameters θ and p̄ their posterior mean, total = H(p̄), aleatoric = E H(p) and
    epistemic = H(p̄) − E H(p) = E KL(p ‖ p̄), the mutual information of label and θ. H is the entropy −Σ_c p_c log p_c.
    """
    method, n_draws = resolve_method(nb, method, n_draws)  # "analytic" or "draws", and its points or draws
    n, _ = _shape(nb, rows)
    total = np.zeros(n)
    epistemic = np.zeros(n)
    for chunk in _log_probabilities(nb, rows, method, n_draws, fix_seed(seed)):  # m rows at a time
        # class probabilities p at s equally likely θ, and their mean p̄ over θ
        p = np.exp(chunk.log_p)  # (m, c, s)
        mean = p.mean(-1)  # (m, c)
        log_mean = log_floor(mean)
        total[chunk.rows] = -(mean * log_mean).sum(-1)  # entropy of p̄

        # The epistemic part is the mean over θ of KL(p ‖ p̄) = Σ_c p log(p/p̄). Its terms have both signs and would
        # cancel, so that p̄ − p is added to each. The sum stays the same, as p and p̄ both add up to 1 over the classes,
        # but no term is negative any more: p log(p/p̄) ≥ p − p̄. Two classes with p = (.6, .4) and p̄ = (.5, .5) have
        # the terms .109 and −.089, and after it .009 and .011: the sum is .020 both times
        log_ratio = np.maximum(chunk.log_p - log_mean[..., None], -1e3)  # log(p/p̄); where p is 0, p times it is 0 too
        terms = p * log_ratio - p + mean[..., None]  # (m, c, s)
        epistemic[chunk.rows] = np.maximum(terms.mean(-1), 0).sum(-1)
    epistemic = np.minimum(epistemic, total)  # rounding may exceed the total
    return Uncertainty(total, total - epistemic, epistemic)


def resolve_method(nb: AbstractModel, method: str, n_draws: int | None) -> tuple[str, int]:
    """The method that will be used, "analytic" or "draws", and its number of points or draws.

    Parameters
    ----------
    nb : the fitted model
    method, n_draws : what the user asked for: "analytic" (from moments of the log joint), "draws" (of all parameters)
        or "auto", and a number or None for the default

    Raises
    ------
    ValueError
        for an unknown method, for "analytic" where moments do not suffice, for fewer than 2 draws
    """
    check_choice("method", method, METHODS)

    # draws serve every model; "analytic" needs closed forms, and "auto" takes draws where there are none
    if method != "draws":
        moments_suffice = isinstance(nb, NaiveBayes) and all(map(_moments_suffice, nb.blocks.values()))
        if method == "analytic" and not moments_suffice:
            raise ValueError("`method` is 'analytic', but moments do not tell enough here; choose 'auto' or 'draws'")
        method = "analytic" if moments_suffice else "draws"

    if n_draws is not None:
        check_least(2, n_draws=n_draws)
        return method, n_draws
    default = _DRAWS if method == "draws" else _POINTS
    return method, default


def _moments_suffice(block: Block) -> bool:
    """Whether closed forms say how log p(x | θ) is distributed: three moments, or quadratic forms given what is shared.

    The logarithm of a kernel density is a function of its bandwidth that no few moments describe. A family without
    closed forms returns None, which it also does for a table of no rows: so a table of no rows is a cheap question.

    Parameters
    ----------
    block : the model of some columns by one family
    """
    inner = block.unwrapped  # of a block about a single class, the model of that class
    no_rows = np.zeros((0, inner.shape[1]))
    # classes that share a parameter, such as a variance, are not independent: they need the quadratic forms
    if inner.shares_parameters and not inner.is_composite:
        return inner.shared_quadratic(no_rows) is not None
    return inner.log_cumulants(no_rows) is not None


def fix_seed(seed: int | np.random.Generator | None) -> int:
    """A number that every chunk of rows starts from, so that all see the same draws; drawn unless it is given."""
    rng = generator(seed)
    return seed if isinstance(seed, int) else int(rng.integers(1 << 32))


def _shape(nb: AbstractModel, rows: Rows) -> tuple[int, int]:
    """Numbers of rows and classes: the shape (n, c) of a table of class probabilities."""
    return next(iter(rows.values())).shape[0], len(nb.classes.log_predictive())


class _Chunk(NamedTuple):
    """Log class probabilities of some rows at equally likely θ.

    Fields
    ------
    rows : (m,) positions of the rows
    log_p : (m, c, s) log p(y = c | x_i, θ) at s points
    log_ends : (m, c, 2) the ends of the interval in closed form, in any order; None where the points give them
    is_skewed : (m,) whether three moments do not tell the tails
    """

    rows: Int[np.ndarray, " m"]
    log_p: Float[np.ndarray, "m c s"]
    log_ends: Float[np.ndarray, "m c 2"] | None
    is_skewed: Bool[np.ndarray, " m"]


def _log_probabilities(
    nb: AbstractModel,
    rows: Rows,
    method: str,
    n_draws: int,
    seed: int,
    tails: np.ndarray | None = None,
    n_nodes: int = _NODES,
    draws_notable_classes: bool = False,
) -> Iterator[_Chunk]:
    """Log class probabilities of all rows at equally likely θ, a chunk of rows at a time.

    θ are draws of the parameters with the method "draws". With "analytic" there are two kinds of chunks: rows whose
    two classes have log odds with a known distribution (`_closed_form`), and all others, at quasi-random points of the
    log joint (`_at_points`). Chunks do not come in the order of the rows.

    Parameters
    ----------
    nb, rows : the fitted model, and n rows by block
    method, n_draws : "analytic" or "draws", and the number of its points or draws
    seed : where each chunk starts to draw, so that all have the same draws
    tails : (2,) probabilities of the ends of an interval; None if no interval is wanted
    n_nodes : quantiles that stand for the distribution where it has one dimension
    draws_notable_classes : whether "analytic" draws the classes that a skewed row may belong to, of many classes
    """
    if method == "draws":
        yield from _chunks_of_draws(nb, rows, n_draws, seed)
        return

    assert isinstance(nb, NaiveBayes), "one dependence has draws alone: see `resolve_method`"

    # so few rows at a time that their moments fit into memory: some 16 numbers for each row and class, or tables
    # (rows, c, c + d) where classes share a parameter
    n, c = _shape(nb, rows)
    widths = [c + block.shape[1] for block in nb.blocks.values() if block.shares_parameters]
    numbers_per_row = c * max([16, *widths])
    for part in slices(n, numbers_per_row, _MOMENTS):
        rows_of_part = rows_at(rows, part)
        moments = LogJointMoments.of(nb, rows_of_part)
        positions = np.arange(n)[part]  # of these rows among all rows

        # Two classes: the log odds may be one Pearson III variable (`single`), a shifted gamma variable, whose
        # quantiles have a formula. Quadratic forms, of classes that share a variance, rule this out.
        has_one_dimension = c == 2 and not moments.quadratics
        is_closed = moments.single if has_one_dimension else np.zeros(len(positions), bool)  # (rows of the part,)
        if is_closed.any():
            yield _closed_form(moments, positions, is_closed, tails, n_nodes)

        # all other rows: at points
        other_rows = np.flatnonzero(~is_closed)
        if len(other_rows):
            notable = _NotableClasses(nb, rows_of_part, moments, seed) if draws_notable_classes else None
            request = _PointRequest(n_draws, seed, is_for_tails=tails is not None)
            yield from _at_points(moments, positions, other_rows, request, notable)


def _chunks_of_draws(nb: AbstractModel, rows: Rows, n_draws: int, seed: int) -> Iterator[_Chunk]:
    """Log class probabilities at draws of the parameters; no row is too skewed for them, as they use no moments."""
    n, _ = _shape(nb, rows)
    for part, log_p in log_probability_draws(nb, rows, n_draws, seed):
        no_row = np.zeros(len(log_p), bool)
        yield _Chunk(rows=np.arange(n)[part], log_p=log_p, log_ends=None, is_skewed=no_row)


def _closed_form(
    moments: "LogJointMoments",
    positions: Int[np.ndarray, " n"],
    is_closed: Bool[np.ndarray, " n"],
    tails: np.ndarray | None,
    n_nodes: int,
) -> _Chunk:
    """Class probabilities of rows whose log odds, of two classes, are one Pearson III variable.

    A Pearson III variable is a shifted gamma variable; its first three moments determine it. The probability of the
    second class, 1 / (1 + e^−log odds), increases with the log odds, so its quantiles are those of the log odds,
    transformed.

    Parameters
    ----------
    moments, positions : of the log joint of n rows, and the positions of these among all rows
    is_closed : (n,) whether a row is one of these m rows
    tails : (2,) probabilities of the ends of an interval; None if no interval is wanted
    n_nodes : s, equally likely values that stand for the distribution: the quantiles at (k + ½) / s
    """
    # standard normal quantiles: first those of the two ends, if they are wanted, then those of the s nodes
    nodes = (np.arange(n_nodes) + 0.5) / max(n_nodes, 1)
    n_tails = 0 if tails is None else len(tails)
    z = ndtri(nodes if tails is None else np.concatenate([tails, nodes]))  # (n_tails + s,)

    # log odds of the second class at these quantiles
    mean, variance, third = moments.difference  # (n,) each
    log_odds = pearson_iii(z, mean[is_closed], variance[is_closed], third[is_closed])  # (m, n_tails + s)

    # log p of both classes: −log(1 + e^log odds) of the first, −log(1 + e^−log odds) of the second
    log_p = -np.logaddexp(0, np.stack([log_odds, -log_odds], 1))  # (m, 2, n_tails + s)
    at_tails = log_p[..., :n_tails]
    at_nodes = log_p[..., n_tails:]
    return _Chunk(
        rows=positions[is_closed],
        log_p=at_nodes,
        log_ends=None if tails is None else at_tails,
        is_skewed=moments.skewed[is_closed],
    )


class _PointRequest(NamedTuple):
    """Which points are wanted.

    Fields
    ------
    n_points : how many, rounded up to a power of two
    seed : of the points, which all rows have in common
    is_for_tails : whether quantiles are taken over the points
    """

    n_points: int
    seed: int
    is_for_tails: bool


class _Points(NamedTuple):
    """Standard random numbers behind the log joint of c classes, the same for all rows.

    Fields
    ------
    of_classes : (c, s) normal, one for each class, behind the Pearson III variable of its log joint
    of_quadratics : for each quadratic form what its classes share, and what each class has alone, at s points
    """

    of_classes: Float[np.ndarray, "c s"]
    of_quadratics: list[tuple[np.ndarray, np.ndarray, np.ndarray]]


def _at_points(
    moments: "LogJointMoments",
    positions: Int[np.ndarray, " n"],
    chosen: Int[np.ndarray, " m"],
    request: _PointRequest,
    notable: "_NotableClasses | None",
) -> Iterator[_Chunk]:
    """Class probabilities of some rows at quasi-random points of the log joint of all c classes.

    The log joint ℓ_c = log p(x, y = c | θ) is random because θ is. Here it is a function of a few standard random
    numbers with the right moments: a Pearson III variable (shifted gamma) for each class, and for blocks whose classes
    share a variance a quadratic form. A point is a vector of these numbers, independent, and the same for all rows.

    Parameters
    ----------
    moments, positions : of the log joint of n rows, and the positions of these among all rows
    chosen : (m,) which of the n rows
    request : how many points, and from which seed
    notable : draws classes of skewed rows; None leaves these rows to the caller
    """
    # the points; quasi-random ones fill a space evenly only if it has few dimensions
    c = moments.mean.shape[1]
    has_many_classes = c > _MAX_CLASSES_OF_NET
    make_points = _random_points if has_many_classes else _net_of_points
    points = make_points(c, moments.quadratics, request)

    # some rows at a time, each of which has a table of c · s numbers
    n_points = points.of_classes.shape[1]
    for batch in batches(len(chosen), max(1, _TABLE // (c * n_points))):  # slices
        batch_rows = chosen[batch]  # (m,)
        table = _log_joint_at(points, moments, batch_rows)  # (m, c, s)

        # classes that a skewed row may belong to are drawn, if that is wanted; then no row is left to the caller
        is_skewed = moments.skewed[batch_rows]
        if notable is not None:
            for position in np.flatnonzero(is_skewed).tolist():
                notable.put_into(table[position], int(batch_rows[position]))
            is_skewed = np.zeros(len(batch_rows), bool)

        # log class probabilities: subtract log Σ_c exp of the log joint, in place, as the table is large
        table -= table.max(1, keepdims=True)
        table -= np.log(np.exp(table).sum(1, keepdims=True))
        yield _Chunk(rows=positions[batch_rows], log_p=table, log_ends=None, is_skewed=is_skewed)


def _log_joint_at(
    points: _Points, moments: "LogJointMoments", rows: Int[np.ndarray, " m"]
) -> Float[np.ndarray, "m c s"]:
    """The log joint of m rows and c classes at s points, relative to the largest mean of the row.

    Parameters
    ----------
    points : standard random numbers, the same for all rows
    moments : of the log joint of n rows
    rows : which of these rows
    """
    mean = moments.mean[rows]  # (m, c)
    relative_mean = mean - mean.max(1, keepdims=True)  # a term of the row does not change its class probabilities

    # independent Pearson III variables of the classes, and what quadratic forms add
    table = pearson_iii(points.of_classes, relative_mean, moments.variance[rows], moments.third[rows])
    for quadratic, points_of_quadratic in zip(moments.quadratics, points.of_quadratics, strict=True):
        table += quadratic_table(quadratic, points_of_quadratic, rows)
    return table


def _net_of_points(c: int, quadratics: tuple[SharedQuadratic, ...], request: _PointRequest) -> _Points:
    """Quasi-random points of few classes.

    Each is a vector of uniform numbers, whose coordinates are read in this order:

    - c of them, as normal numbers: one for each class
    - for each quadratic form, `dimensions` of them for what its classes share, and 2c for what each class has alone

    Example: c = 2 classes and one form of 3 dimensions have the coordinates 0 1 | 2 3 4 5 6 7 8.
    """
    # s = 2^power points, rounded up: 1000 points have 999 = 1111100111 in binary, 10 bits, so that s = 2^10 = 1024;
    # four times as many where the ends of intervals are quantiles over them
    power = max(1, (request.n_points - 1).bit_length())
    if request.is_for_tails and quadratics:
        power += 2

    # the points, with the number of coordinates rounded up to a power of two: so there are few sizes of them, and
    # `_normal_points` remembers those of the last calls
    lengths = [quadratic.dimensions + 2 * c for quadratic in quadratics]
    n_coordinates = c + sum(lengths)
    n_rounded = 1 << (n_coordinates - 1).bit_length()
    z = _normal_points(n_rounded, power, request.seed)  # (n_rounded, s)

    # what each quadratic form makes of its coordinates, the next lengths[k] rows of `uniform`; the same for all rows
    uniform = ndtr(z[c:])  # normal numbers back to uniform ones, by the normal distribution function
    of_quadratics = []
    start = 0
    for quadratic, length in zip(quadratics, lengths, strict=True):
        of_quadratics.append(quadratic_points(quadratic, uniform[start : start + length], c))
        start += length
    return _Points(z[:c], of_quadratics)


def _random_points(c: int, quadratics: tuple[SharedQuadratic, ...], request: _PointRequest) -> _Points:
    """Plain random points of many classes, as many as the power of two from `n_points` on."""
    n_points = 1 << max(1, (request.n_points - 1).bit_length())
    of_classes = normal_numbers(c, n_points, request.seed)
    # each form has its own seeds, of which it uses three
    seeds = range(request.seed + 1, request.seed + 1 + 3 * len(quadratics), 3)
    of_quadratics = [
        random_quadratic_points(quadratic, seed, c, n_points) for quadratic, seed in zip(quadratics, seeds, strict=True)
    ]
    return _Points(of_classes, of_quadratics)


# --- many classes: draws of those that a row may belong to ------------------------------------------------------------


def _can_draw_some_classes(nb: AbstractModel, c: int) -> bool:
    """Whether there are many classes, each with parameters of its own, so that those of some can be drawn alone."""
    if c <= _MAX_CLASSES_OF_NET or not isinstance(nb, NaiveBayes):
        return False
    return all(block.has_independent_classes for block in nb.blocks.values())


@dataclass(frozen=True)
class _NotableClasses:
    """Draws of the log joint of the classes that a row may belong to.

    Fields
    ------
    nb : the fitted model, whose classes are independent
    rows, moments : n rows by block, and the moments of their log joint
    seed : of the draws, which start anew for each row, so that a row alone has those that it has among others
    """

    nb: Any
    rows: Rows
    moments: "LogJointMoments"
    seed: int

    def put_into(self, log_joint: Float[np.ndarray, "c s"], row: int) -> None:
        """Replace the log joint of these classes at s points, which is relative to the largest mean, by s draws."""
        mean = self.moments.mean[row]
        classes = np.flatnonzero(np.exp(log_normalize(mean)) >= _NOTABLE)
        if len(classes):
            log_joint[classes] = self._drawn(row, classes, log_joint.shape[1]) - mean.max()

    def _drawn(self, row: int, classes: Int[np.ndarray, " k"], n_draws: int) -> Float[np.ndarray, "k s"]:
        """Draws of log p(x, y = c | θ) of a row under k classes."""
        rng = np.random.default_rng([self.seed, 1])  # other numbers than those of the points

        # log π_c, by its moments: of π ~ Dirichlet(α) they tell nearly all, as α is a number of rows
        mean, variance, third = (values[classes] for values in self.nb.classes.log_cumulants())
        log_joint = pearson_iii(rng.standard_normal((len(classes), n_draws)), mean, variance, third)

        # log p(x_block | θ_c) of every block, so many draws at a time that their parameters fit into memory
        cells = rows_at(self.rows, slice(row, row + 1))
        for name, block in self.nb.blocks.items():
            some_classes = block.select_classes(classes)
            n_parameters = sum(leaf.size for leaf in leaves(some_classes))
            for batch in batches(n_draws, max(1, _DRAWN // n_parameters)):
                theta = some_classes.sample(rng, (batch.stop - batch.start,))
                log_density = some_classes.log_likelihood(theta, cells[name])  # (draws of the batch, 1, k)
                log_joint[:, batch] += log_density[:, 0].T
        return log_joint


# --- draws of all parameters ------------------------------------------------------------------------------------------


def log_probability_draws(
    nb: AbstractModel, rows: Rows, n_draws: int, seed: int
) -> Iterator[tuple[slice, Float[np.ndarray, "n c s"]]]:
    """Log class probabilities at draws of all parameters from the posterior, for a slice of the rows at a time.

    There are two loops, because memory is limited in two ways. The outer one takes so many rows that their
    probabilities at all draws fit. The inner one makes so many draws at a time that their parameters fit. All slices of
    rows see the same draws, which are made again for each from the same seed.

    Parameters
    ----------
    nb, rows : the fitted model, and n rows by block
    n_draws, seed : number of draws of the parameters, and where they start

    Yields
    ------
    slice of the rows, and log p(y = c | x_i, θ_s) of its rows in nats, (rows, c, s) with s draws
    """
    n, c = _shape(nb, rows)
    n_parameters = sum(leaf.size for leaf in leaves(nb))  # numbers in all arrays of the model
    draws_at_a_time = max(1, min(_DRAWN // n_parameters, _MOST_DRAWN))  # draws × parameters: at most 4 million numbers
    rows_at_a_time = max(1, _KEPT // (n_draws * c))  # rows × draws × classes: at most 2 million probabilities

    for part in batches(n, rows_at_a_time):  # slices of the rows
        rng = np.random.default_rng(seed)  # the same draws for every slice of rows
        rows_of_part = rows_at(rows, part)
        log_p = np.empty((part.stop - part.start, c, n_draws))
        for batch in batches(n_draws, draws_at_a_time):  # slices of the draws
            theta = nb.sample(rng, (batch.stop - batch.start,))
            table = nb.log_joint(rows_of_part, theta)  # (draws of the batch, rows, c)
            log_p[..., batch] = np.moveaxis(log_normalize(table), 0, -1)  # draws last
        yield part, log_p


# --- moments of the log joint, and points that have them ------------------------------------------------------------


def _variances_of_terms(of_others: Float[np.ndarray, "n c"]) -> Float[np.ndarray, "n c"]:
    """The variance v of a term of each class, from the sums of v over all other classes.

    Three classes with v = 1 2 3 have the sums 5 4 3 over the others. These add up to 12, in which each v is twice, so
    that the sum of all v is 12/2 = 6; and v = 6 − (5 4 3) = 1 2 3.

    Parameters
    ----------
    of_others : (n, c) sum of v over all classes but the one itself
    """
    n_classes = of_others.shape[1]
    of_all = of_others.sum(1, keepdims=True) / max(n_classes - 1, 1)  # (n, 1); a single class has no others
    return of_all - of_others


@dataclass(frozen=True)
class LogJointMoments:
    """Distribution of ℓ_c = log p(x_i, y = c | θ) over the posterior of θ, up to what all classes share.

    Fields
    ------
    mean : (n, c)   of n rows and c classes, in nats
    variance, third : (n, c)   variance and third cumulant, independent from class to class
    quadratics                 of Gaussian classes with a parameter in common: independent given it, and not in `mean`
    """

    mean: Float[np.ndarray, "n c"]
    variance: Float[np.ndarray, "n c"]
    third: Float[np.ndarray, "n c"]
    quadratics: tuple[SharedQuadratic, ...] = ()

    @classmethod
    def of(cls, nb: NaiveBayes, rows: Rows) -> "LogJointMoments":
        """Moments of log p(x_i, y = c | θ) for rows given by block.

        The log joint is a sum of independent terms, the log class probability and a log density of each block, and
        cumulants of independent terms add up.
        """
        mean, variance, third = nb.classes.log_cumulants()  # (c,) each
        quadratics: list[SharedQuadratic] = []
        for name, block in nb.blocks.items():
            # where classes share a variance, this block's terms are quadratic forms, which are kept as they are;
            # None for all other blocks, whose cumulants are added up
            quadratic = block.shared_quadratic(rows[name])
            if quadratic is not None:
                quadratics.append(quadratic)
                continue

            cumulants = block.log_cumulants(rows[name])
            assert cumulants is not None, "see `resolve_method`"
            mean_of_block, variance_of_block, third_of_block = cumulants  # (n, c) each
            if block.is_composite:
                # Complement multinomial: ℓ_c is the sum of independent terms t_k of all other classes, so that the ℓ_c
                # depend on each other. Less Σ_k t_k, which all classes share, ℓ_c is −t_c, and these are independent:
                # the variance of t_c is wanted in the place of that of ℓ_c
                variance_of_block = _variances_of_terms(variance_of_block)
            mean = mean + mean_of_block
            variance = variance + variance_of_block
            third = third + third_of_block

        shape = _shape(nb, rows)  # (n, c); a model without blocks has the same moments for all rows
        return cls(
            mean=np.broadcast_to(mean, shape),
            variance=np.maximum(np.broadcast_to(variance, shape), 0),
            third=np.broadcast_to(third, shape),
            quadratics=tuple(quadratics),
        )

    @functools.cached_property
    def skewed(self) -> Bool[np.ndarray, " n"]:
        """Whether a class with a share in the variance is so skewed that three moments do not tell the tails, (n,).

        A Pearson III variable is a shifted gamma variable with the same three moments. Log θ of an event that did not
        occur, under a concentration α < 1, is about minus an exponential variable with scale 1/α: it ends at 0. The
        log joint adds other terms to it, which go beyond that end, and a Pearson III variable cannot.
        """
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            skewness = abs(self.third / self.variance**1.5)  # (n, c)

        # a class matters if it has a chance, a probability above e^−36 of the largest one, and if its variance is at
        # least a tenth of the largest variance of the classes that have a chance
        has_chance = self.mean > self.mean.max(1, keepdims=True) - _NEGLIGIBLE
        variance = np.where(has_chance, self.variance, 0)
        matters = variance > _SHARE * variance.max(1, keepdims=True)

        # of a single class the probability is 1, whatever its moments
        has_several_classes = self.mean.shape[1] > 1
        return ((skewness > _SKEWED) & matters).any(1) & has_several_classes

    # two classes: ℓ_1 − ℓ_0

    @functools.cached_property
    def difference(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Mean, variance and third cumulant of ℓ_1 − ℓ_0, (n,) each.

        The two are independent, so that cumulants add up: those of ℓ_1, and those of −ℓ_0, whose odd ones, mean and
        third cumulant, have the other sign.
        """
        mean = self.mean[:, 1] - self.mean[:, 0]
        variance = self.variance.sum(1)
        third = self.third[:, 1] - self.third[:, 0]
        return mean, variance, third

    @functools.cached_property
    def single(self) -> Bool[np.ndarray, " n"]:
        """Whether ℓ_1 − ℓ_0 has about the tails of the Pearson III variable with its three moments, (n,).

        ℓ_c is the log joint of class c, itself about Pearson III (a shifted gamma). The difference of two skewed terms
        of about the same size is symmetric with heavy tails, and is not. The test is the fourth cumulant κ₄: a Pearson
        III variable has κ₄ = 1.5 κ₃²/κ₂, and cumulants of independent terms add.
        """
        _, variance, third = self.difference
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            # κ₃²/κ₂ of each class, as skewness² times variance², (n, 2); 0 for a class that does not vary
            skewness = np.where(self.variance > 0, self.third / self.variance**1.5, 0)
            terms = skewness**2 * self.variance**2

            # by how much the excess kurtosis κ₄/κ₂² of the difference exceeds that of one Pearson III variable with the
            # same variance and third cumulant: κ₄ = 1.5 Σ κ₃²/κ₂ against 1.5 κ₃²/κ₂
            gap = 1.5 * (terms.sum(1) / variance**2 - third**2 / variance**3)
        return ~(gap > _TAILS)  # also where both are NaN, because nothing varies


def pearson_iii(
    z: Float[np.ndarray, "*c s"],
    mean: Float[np.ndarray, " *n"],
    variance: Float[np.ndarray, " *n"],
    third: Float[np.ndarray, " *n"],
) -> Float[np.ndarray, "*n s"]:
    """Pearson III variables with these moments at quantiles z of the standard normal: mean + sd · T(z; 6e).

    A Pearson III variable is a shifted gamma variable, of skewness 6e. With q = z − e, T = q (1 + eq + (eq)²/3) where
    1 + eq ≥ 0, and T = −1/(3e), where the variable ends, beyond. This is the cube of Wilson & Hilferty, multiplied out:
    T = [(1 + eq)³ − 1] / (3e). The skewness is kept within ±6, at which the variable is a point and a long tail.

    Parameters
    ----------
    z : (s,) for all variables, or (c, s) for the last axis of the moments
    mean, variance, third : (…) moments of each variable; `third` is the third cumulant

    Returns
    -------
    (…, s)
    """
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        skewness = third / variance**1.5
        e = np.clip(np.nan_to_num(skewness / 6, nan=0.0), -1, 1)[..., None]  # 0 where nothing varies
        q = z - e  # (…, s)
        eq = np.maximum(e * q, -1)
        q = np.where(eq > -1, q, -1 / e)  # beyond the bound, where eq = −1: q = −1/e gives T = −1/(3e)

    # T = q (1 + eq + (eq)²/3), and from it the variable
    standardised = q * (1 + eq * (1 + eq / 3))
    return np.sqrt(variance)[..., None] * standardised + mean[..., None]


@functools.lru_cache(maxsize=8)
def _normal_points(dimensions: int, power: int, seed: int) -> Float[np.ndarray, "k s"]:
    """2^power scrambled Sobol points, as standard normal variables, (dimensions, 2^power).

    They fill the space more evenly than draws. The last few sets are kept, because all chunks of rows use the same.
    """
    from scipy.stats import qmc

    points = qmc.Sobol(dimensions, seed=np.random.default_rng(seed)).random_base2(power)
    return ndtri(np.clip(points, 1e-10, 1 - 1e-10)).T
