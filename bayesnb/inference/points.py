"""The log joint at quasi-random points of its moments, and the class probabilities at draws of all parameters."""

import functools
import itertools
from collections.abc import Iterator
from typing import TypeAlias

import numpy as np
from scipy.special import ndtr, ndtri

from ..core.arrays import Float, Int
from ..core.pytrees import leaves
from ..core.quadratics import quadratic_points, quadratic_table
from ..core.special import log_normalize
from ..naive_bayes import NaiveBayes, Rows
from ..one_dependence import OneDependence
from ..sums.rows import batches, rows_at, slices
from .log_joint_moments import LogJointMoments

Model: TypeAlias = NaiveBayes | OneDependence  # what an estimator learns

_DRAWN = 1 << 22  # parameters drawn at a time
_TABLE = 1 << 17  # numbers of a table of points worked on at a time: 1 MiB, inside a core's cache
_KEPT = 1 << 22  # probabilities kept at a time for the quantiles of draws: 32 MiB
_MOMENTS = 1 << 21  # numbers of the moments of some rows
_NEGLIGIBLE = 36.0  # nats: exp(−36) is below the rounding of 1
_LIMIT = 1e15  # differences of logarithms beyond make no difference to a probability


def row_groups(
    nb: NaiveBayes, rows: Rows
) -> Iterator[tuple[Int[np.ndarray, " m"], Int[np.ndarray, "m k"], LogJointMoments]]:
    """Rows, the classes that matter to them, and their moments; rows with equally many such classes together.

    A class matters unless even its upper bound is 36 nats below some class's lower bound: a probability below 1e-15,
    which is given as 0. With two classes both always do: there the answer is as cheap.
    """
    for part in _parts(nb, rows):
        shapes = LogJointMoments.of(nb, rows_at(rows, part))
        n, c = shapes.mean.shape
        if shapes.quadratics or shapes.simple:  # tails that have no bound, or two classes
            yield part.start + np.arange(n), np.broadcast_to(np.arange(c), (n, c)), shapes
            continue
        if c == 2:
            order, count = np.broadcast_to([0, 1], (n, 2)), np.full(n, 2)
        else:
            low, high = shapes.bounds()
            order = np.argsort(-np.round(high, 9), 1, kind="stable")  # equal up to rounding are equal
            count = (high >= low.max(1, keepdims=True) - _NEGLIGIBLE).sum(1)
        kind = 2 * count
        for k in np.unique(count):
            at = np.flatnonzero(count == k)
            if k == 2:
                kind[at] += ~shapes.take(at, order[at, :2]).single
        for k in np.unique(kind):
            at = np.flatnonzero(kind == k)
            classes = order[at, : k // 2]
            yield part.start + at, classes, shapes.take(at, classes)


def _parts(nb: NaiveBayes, rows: Rows) -> list[slice]:
    """Slices of rows whose moments take some MiB: tables (n, c, c + d) where classes share a parameter."""
    n, c = table_shape(nb, rows)
    wide = max((c + block.shape[1] for block in nb.blocks.values() if block.couples_classes), default=0)
    return slices(n, c * max(wide, 16), _MOMENTS)


@functools.lru_cache(maxsize=8)
def _normal_points(dimensions: int, power: int, seed: int) -> Float[np.ndarray, "k s"]:
    """2^power scrambled Sobol points, as standard normal variables: more even than draws."""
    from scipy.stats import qmc

    engine, z = qmc.Sobol(dimensions, seed=np.random.default_rng(seed)), np.empty((dimensions, 1 << power), np.float32)
    for part in slices(1 << power, dimensions, _TABLE):
        points = engine.random(len(range(1 << power)[part]))
        z[:, part] = ndtri(np.clip(points, 1e-10, 1 - 1e-10)).T
    z.flags.writeable = False
    return z


def log_joint_points(
    shapes: LogJointMoments, n_draws: int, seed: int, dtype: type = np.float64
) -> Iterator[tuple[slice, Float[np.ndarray, "n c s"]]]:
    """ℓ, up to what all classes share, at the same points for all rows; the next table takes the place of the last.

    Single precision costs a probability 1e-6 at most, where the points themselves cost 1e-3.
    """
    n, c = shapes.mean.shape
    root, power = shapes.root, max(1, (n_draws - 1).bit_length())
    ends = np.cumsum([c if root is None else 2 * c, *(one.dimensions + 2 * c for one in shapes.quadratics)])
    dimensions = int(ends[-1])
    wide = max(dimensions, min(1 << (dimensions - 1).bit_length(), 1 << 10))  # few sizes, each made once
    z: np.ndarray = _normal_points(wide, power, seed)[:dimensions]
    uniform = [ndtr(z[at:end].astype(float)) for at, end in itertools.pairwise(ends)]
    quadratics = [(one, quadratic_points(one, u, c)) for one, u in zip(shapes.quadratics, uniform, strict=True)]
    mean = np.clip(shapes.mean - shapes.mean.max(1, keepdims=True), -_LIMIT, _LIMIT)
    scale, e = np.clip(np.sqrt(shapes.variance), 0, _LIMIT), shapes.slant
    # q (1 + eq + (eq)²/3) with q = z − e, in powers of z
    cubic = -e * (1 - e**2 + e**4 / 3), (1 - e**2) ** 2, e * (1 - e**2), e**2 / 3
    terms = np.stack([scale * factor for factor in cubic], -1)
    terms[..., 0] += mean
    terms = np.moveaxis(terms, 1, 0).astype(dtype)  # (c, n, 4)
    classes = slices(c, 1 << power, 4 * _TABLE)

    def powers(some: slice) -> np.ndarray:
        own: np.ndarray = z[:c][some].astype(dtype)
        return np.stack([np.ones_like(own), own, own**2, own**3], 1)  # (k, 4, s)

    first = powers(classes[0]) if len(classes) == 1 else None
    bounds = None
    if abs(e).max(initial=0) * (abs(z).max(initial=0) + abs(e).max(initial=0)) > 1:
        with np.errstate(divide="ignore"):
            end = (mean - scale / (3 * e)).T[..., None].astype(dtype)
        slant = e.T[..., None]
        bounds = np.where(slant > 0, end, -np.inf), np.where(slant < 0, end, np.inf)
    root = None if root is None else np.moveaxis(np.clip(root, -_LIMIT, _LIMIT), 1, 0).astype(dtype)
    step = max(1, _TABLE // (c << power))
    tables = np.empty((c, min(step, n), 1 << power), dtype)
    for part in batches(n, step):
        table = tables[:, : part.stop - part.start]
        for some in classes:
            np.matmul(terms[some, part], powers(some) if first is None else first, out=table[some])
        if bounds is not None:
            np.clip(table, *(bound[:, part] for bound in bounds), out=table)
        if root is not None:
            table += root[:, part] @ z[c : 2 * c].astype(dtype, copy=False)
        for one, points in quadratics:
            added = quadratic_table(one, points, part)
            table += np.moveaxis(added - added.max(1, keepdims=True), 1, 0)  # which drops out of every probability
        yield part, np.moveaxis(table, 0, 1)


def log_probability_draws(
    nb: Model, rows: Rows, n_draws: int, seed: int
) -> Iterator[tuple[slice, Float[np.ndarray, "n c s"]]]:
    """Log class probabilities at draws of all parameters; blocks of rows see the same draws, made again for each."""
    n, c = table_shape(nb, rows)
    size = sum(leaf.size for leaf in leaves(nb))
    few = max(1, min(_DRAWN // size, 1 << 10))
    for part in batches(n, max(1, _KEPT // (n_draws * c))):
        rng, cut = np.random.default_rng(seed), rows_at(rows, part)
        log_p = np.empty((part.stop - part.start, c, n_draws))
        for some in batches(n_draws, few):
            table = nb.log_joint(cut, nb.sample(rng, (some.stop - some.start,)))
            log_p[..., some] = np.moveaxis(log_normalize(table), 0, -1)
        yield part, log_p


def table_shape(nb: Model, rows: Rows) -> tuple[int, int]:
    """Rows and classes of a table of class probabilities."""
    return next(iter(rows.values())).shape[0], len(nb.classes.log_predictive())
