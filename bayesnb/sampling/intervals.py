"""How sure a class probability is: its distribution over the posterior of the parameters, without drawing them.

The log joint ℓ_c = log p(x, y = c | θ) is a function of θ; over the posterior of θ its mean, variance and third
cumulant are closed forms, and so are the covariances between classes where they share a parameter. The class
probabilities p(y = c | x, θ) = exp ℓ_c / Σ_k exp ℓ_k then follow from a distribution in c dimensions with these
moments, whatever the number of features and parameters:

    ℓ_c = mean_c + sd_c · T(z_c; skew_c) + (R z')_c,     z, z' standard normal, RRᵀ = covariance by shared parameters

T is a standardised Pearson III variable (a shifted gamma), in the normal's terms by Wilson & Hilferty:

    T(z; g) = (2/g) [(1 + gz/6 − g²/36)³ − 1],           T(z; 0) = z

The log of a small count's probability is far from normal, but close to that; `bayesnb.families` says where the moments
come from. For two classes only ℓ_1 − ℓ_0 matters: one dimension, and quantiles in closed form.

References
----------
Wilson & Hilferty (1931), The distribution of chi-square, PNAS 17. Kirby (1972), Computer-oriented Wilson–Hilferty
transformation that preserves the first three moments, Water Resources Research 8 (its use for skewed variables).
"""

import functools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import numpy as np
from scipy.special import expit, ndtri

from .._random import generator
from .._special import log_floor, log_normalize
from .._typing import Bool, Float, Int, Scalar
from ..base import AbstractConjugate
from ..naive_bayes import NaiveBayes, Rows, row_slices

_DRAWN = 1 << 22  # parameters drawn at a time
_TABLE = 1 << 17  # numbers of a table of points worked on at a time: 1 MiB, inside a core's cache
_KEPT = 1 << 24  # probabilities kept at a time for the quantiles of draws: 128 MiB
_NODES = 128  # quantiles that stand for one dimension
_TAILS = 0.2  # excess kurtosis of ℓ_1 − ℓ_0 beyond that of its Pearson III variable: two dimensions from there on

_FREEDOM = 30  # degrees of freedom of a shared variance from which on it is taken as normal
_FAR = 6.0  # standard deviations beyond which no point lies
_NEGLIGIBLE = 36.0  # nats: exp(−36) is below the rounding of 1
_LIMIT = 1e15  # differences of logarithms beyond make no difference to a probability
_MISFIT, _NARROW = 0.5, 1e-3  # excess kurtosis beyond the fitted that is too much, and widths at which that matters
_POINTS, _DRAWS = 1024, 1000  # points and draws by default
METHODS = "auto", "analytic", "draws"


class Uncertainty(NamedTuple):
    """Entropies of the label of each row, in nats; total = aleatoric + epistemic.

    Fields
    ------
    total : (n,)       entropy of the posterior mean of the class probabilities
    aleatoric : (n,)   posterior mean of their entropy: what would be left if the parameters were known
    epistemic : (n,)   the difference, the mutual information of label and parameters: what data could still teach
    """

    total: Float[np.ndarray, " n"]
    aleatoric: Float[np.ndarray, " n"]
    epistemic: Float[np.ndarray, " n"]


def intervals(
    nb: NaiveBayes,
    rows: Rows,
    level: Scalar = 0.9,
    method: str = "auto",
    n_draws: int | None = None,
    seed: int | np.random.Generator | None = 0,
) -> Float[np.ndarray, "n c 2"]:
    """Equal-tailed credible intervals of p(y = c | x_i, θ) over the posterior of θ.

    Parameters
    ----------
    level : posterior mass inside, between 0 and 1
    method : "analytic" (this page), "draws" of all parameters, or "auto": draws where the moments are no guide, for
        kernel densities and for a parameter that the classes share with less than 30 degrees of freedom, else analytic
    n_draws : draws, by default 1,000; or points, rounded up to a power of two, by default 1,024
    seed : of either; all rows share one set of points

    Raises
    ------
    ValueError   for a level, method or number of draws out of range
    """
    method, n_draws = _method(nb, method, n_draws)
    if not 0 < level < 1:
        raise ValueError(f"`level` is {level}; it needs to lie between 0 and 1, such as 0.9")
    seed, tail = _fixed(seed), (1 - level) / 2
    tails = np.array([tail, 1 - tail])
    n, c = _size(nb, rows)
    found = np.zeros((n, c, 2))
    if method == "draws":
        for part, log_p in _draws(nb, rows, n_draws, seed):
            found[part] = _quantiles(log_p, tails)
        return found
    for at, classes, shapes in _groups(nb, rows):
        where = at[:, None], classes
        if classes.shape[1] == 1:
            found[where] = 1
        elif shapes.simple:
            found[where] = shapes.two_class_quantiles(tails)
        else:
            left = []
            for part, table in _points(shapes, max(n_draws // 4, 2), seed, np.float32):
                ends, fits = _fitted(_log_odds(table), ndtri(tails))
                found[at[part, None], classes[part]] = ends
                left.append(part.start + np.flatnonzero(~fits))
            rest = np.concatenate(left)
            everything = np.broadcast_to(np.arange(classes.shape[1]), (len(rest), classes.shape[1]))
            for part, table in _points(shapes.take(rest, everything), n_draws, seed, np.float32):
                found[at[rest[part], None], classes[rest[part]]] = _quantiles(_log_normalize(table), tails)
    return found


def uncertainty(
    nb: NaiveBayes,
    rows: Rows,
    method: str = "auto",
    n_draws: int | None = None,
    seed: int | np.random.Generator | None = 0,
) -> Uncertainty:
    """Total, aleatoric and epistemic entropy of the label of each row; parameters as in `intervals`."""
    method, n_draws = _method(nb, method, n_draws)
    seed, (n, _) = _fixed(seed), _size(nb, rows)
    total, epistemic = np.zeros(n), np.zeros(n)

    def split(log_p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        p = np.exp(log_p)
        mean = p.mean(-1)
        log_mean = log_floor(mean)
        # Σ_c p log(p/p̄) − p + p̄ is the mutual information in terms that are not negative: no digits cancel
        gain = p * np.maximum(log_p - log_mean[..., None], -1e3) - p + mean[..., None]
        return -(mean * log_mean).sum(-1), np.maximum(gain.mean(-1), 0).sum(-1)

    if method == "draws":
        for part, log_p in _draws(nb, rows, n_draws, seed):
            total[part], epistemic[part] = split(log_p)
    else:
        nodes = ndtri((np.arange(_NODES) + 0.5) / _NODES)
        for at, classes, shapes in _groups(nb, rows):
            if classes.shape[1] == 1:
                continue
            if shapes.simple:
                log_odds = shapes.two_class_log_odds(nodes)
                total[at], epistemic[at] = split(-np.logaddexp(0, np.stack([log_odds, -log_odds], 1)))
            else:
                for part, table in _points(shapes, n_draws, seed):
                    total[at[part]], epistemic[at[part]] = split(_log_normalize(table))
    epistemic = np.minimum(epistemic, total)
    return Uncertainty(total, total - epistemic, epistemic)


def _method(nb: NaiveBayes, method: str, n_draws: int | None) -> tuple[str, int]:
    """Method and number of draws or points that will be used; raises ValueError where they are none."""
    if method not in METHODS:
        raise ValueError(f"`method` is {method!r}; choose 'auto', 'analytic' or 'draws'")
    if n_draws is not None and n_draws < 2:
        raise ValueError(f"`n_draws` is {n_draws}; it needs to be at least 2, better 1,000")
    if method == "auto":
        method = "analytic" if all(_moments_suffice(block.inner) for block in nb.blocks.values()) else "draws"
    return method, n_draws or (_DRAWS if method == "draws" else _POINTS)


def _moments_suffice(block: AbstractConjugate) -> bool:
    """Whether three moments of log p(x | θ), or two where a parameter is shared, say how it is distributed.

    A shared variance adds a term without its skewness, which has to be small; the logarithm of a kernel density is a
    function of its bandwidth that no few moments describe.
    """
    no_rows = np.zeros((0, block.shape[1]))
    return block.degrees_of_freedom() >= _FREEDOM and (
        block.couples_classes or block.log_third_cumulant(no_rows) is not None
    )


def _fixed(seed: int | np.random.Generator | None) -> int:
    """A number that every block of rows starts from."""
    return seed if isinstance(seed, int) else int(generator(seed).integers(1 << 32))


def _size(nb: NaiveBayes, rows: Rows) -> tuple[int, int]:
    return next(iter(rows.values())).shape[0], len(nb.classes.log_predictive())


def _quantiles(log_p: Float[np.ndarray, "n c s"], tails: Float[np.ndarray, " 2"]) -> Float[np.ndarray, "n c 2"]:
    """Quantiles of the probabilities along the last axis, which is sorted in place: faster than `np.quantile`."""
    log_p.sort(-1)
    at = tails * (log_p.shape[-1] - 1)
    below = np.floor(at).astype(int)
    low, high = log_p[..., below], log_p[..., np.ceil(at).astype(int)]
    return np.exp(low + (at - below) * (high - low))


def _fitted(
    log_odds: Float[np.ndarray, "n c s"], z: Float[np.ndarray, " 2"]
) -> tuple[Float[np.ndarray, "n c 2"], Bool[np.ndarray, " n"]]:
    """Quantiles of the probabilities by a Pearson III variable for their log odds, and the rows where it fits.

    Three moments over few points are as good as a quantile over four times as many. It does not fit where the fourth
    cumulant is another one, as where classes change places.
    """
    mean = log_odds.mean(-1)
    delta = log_odds - mean[..., None]
    square = np.minimum(delta * delta, 1e9)
    moments = (np.einsum("ncs,ncs->nc", square, power) for power in (np.ones_like(square[:1, :1]), delta, square))
    variance, third, fourth = (moment.astype(float) / delta.shape[-1] for moment in moments)
    mean = mean.astype(float)
    slant = _slant(variance, third)[..., None]
    ends = expit(mean[..., None] + np.sqrt(variance)[..., None] * _pearson(np.broadcast_to(z, (*mean.shape, 2)), slant))
    with np.errstate(divide="ignore", invalid="ignore"):
        gap = abs(fourth / variance**2 - 3 - 1.5 * third**2 / variance**3)
    sd = np.sqrt(variance)  # whatever the level, so that intervals of different levels contain each other
    wide = expit(mean + 2 * sd) - expit(mean - 2 * sd) > _NARROW
    return ends, ~((gap > _MISFIT) & wide).any(1)


# --- the moments ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Shapes:
    """Distribution of ℓ over the posterior for some rows, up to what all classes share.

    Fields
    ------
    mean : (n, c)
    variance, third : (n, c)   of the part that is independent from class to class
    shared : (n, c, c) or None   covariance of the part that is not, taken as normal
    """

    mean: Float[np.ndarray, "n c"]
    variance: Float[np.ndarray, "n c"]
    third: Float[np.ndarray, "n c"]
    shared: Float[np.ndarray, "n c c"] | None

    @classmethod
    def of(cls, nb: NaiveBayes, rows: Rows) -> "_Shapes":
        """Sums over the class prior and the blocks."""
        mean, variance, third = nb.classes.log_cumulants()
        shared: Any = None
        for name, block in nb.blocks.items():
            x = rows[name]
            mean_of, variance_of, third_of = block.log_cumulants(x)
            mean = mean + mean_of
            if block.couples_classes:
                covariance = block.log_covariance(x)
                variance_of = np.diagonal(covariance, axis1=1, axis2=2)
                if np.count_nonzero(covariance) > np.count_nonzero(variance_of):
                    shared = covariance if shared is None else shared + covariance
                    continue
            variance, third = variance + variance_of, third + third_of
        variance, third = np.broadcast_to(variance, mean.shape), np.broadcast_to(third, mean.shape)
        return cls(mean, np.maximum(variance, 0), third, shared)

    def take(self, at: Int[np.ndarray, " m"], classes: Int[np.ndarray, "m k"]) -> "_Shapes":
        """Those of some rows, and of each of them some classes."""
        pick = at[:, None], classes
        shared = None if self.shared is None else self.shared[at[:, None, None], classes[:, :, None], classes[:, None]]
        return type(self)(self.mean[pick], self.variance[pick], self.third[pick], shared)

    def bounds(self) -> tuple[Float[np.ndarray, "n c"], Float[np.ndarray, "n c"]]:
        """Values between which every ℓ_c lies, but for a few times in 10⁹ draws."""
        half = np.zeros_like(self.mean)
        if (root := self.root) is not None:
            half = _FAR * np.sqrt(np.square(root).sum(-1))
        ends = np.sqrt(self.variance) * _pearson(np.array([-_FAR, _FAR])[:, None, None], self.slant)
        return self.mean + ends[0] - half, self.mean + ends[1] + half

    @property
    def slant(self) -> Float[np.ndarray, "n c"]:
        """A sixth of the skewness of each class."""
        return _slant(self.variance, self.third)

    @property
    def root(self) -> Float[np.ndarray, "n c c"] | None:
        """A square root of the shared covariance, less what all classes share (which may be far larger)."""
        if self.shared is None:
            return None
        c = self.mean.shape[1]
        centre = np.eye(c) - 1 / c
        values, vectors = np.linalg.eigh(centre @ self.shared @ centre)
        return vectors * np.sqrt(np.maximum(values, 0))[:, None, :]

    # two classes: ℓ_1 − ℓ_0

    @functools.cached_property
    def difference(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Mean, variance and third cumulant of ℓ_1 − ℓ_0, (n,) each."""
        variance = self.variance.sum(1)
        if self.shared is not None:
            v = self.shared
            variance = variance + np.maximum(v[:, 0, 0] - v[:, 0, 1] - v[:, 1, 0] + v[:, 1, 1], 0)
        return self.mean[:, 1] - self.mean[:, 0], variance, self.third[:, 1] - self.third[:, 0]

    @property
    def simple(self) -> bool:
        """Whether there are two classes, and for all rows ℓ_1 − ℓ_0 is taken as one Pearson III variable."""
        return self.mean.shape[1] == 2 and bool(self.single.all())

    @functools.cached_property
    def single(self) -> Bool[np.ndarray, " n"]:
        """Whether ℓ_1 − ℓ_0 has about the tails of the Pearson III variable with its three moments.

        It has not where two skewed terms of about the same size meet: their difference is symmetric with heavy tails.
        A Pearson III variable has the fourth cumulant 1.5 κ₃²/κ₂; those of independent terms add.
        """
        _, variance, third = self.difference
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            terms = np.where(self.variance > 0, self.third / self.variance**1.5, 0) ** 2 * self.variance**2
            gap = 1.5 * (terms.sum(1) / variance**2 - third**2 / variance**3)
        return ~(gap > _TAILS)

    def two_class_log_odds(self, z: Float[np.ndarray, " s"]) -> Float[np.ndarray, "n s"]:
        """ℓ_1 − ℓ_0 at quantiles z of the standard normal."""
        mean, variance, third = self.difference
        slant = _slant(variance, third)[:, None]
        return mean[:, None] + np.sqrt(variance)[:, None] * _pearson(np.broadcast_to(z, (len(mean), len(z))), slant)

    def two_class_quantiles(self, tails: Float[np.ndarray, " 2"]) -> Float[np.ndarray, "n 2 2"]:
        """Quantiles of both class probabilities: the logistic function is monotone."""
        log_odds = self.two_class_log_odds(ndtri(tails))
        return np.stack([expit(-log_odds[:, ::-1]), expit(log_odds)], 1)


def _slant(variance: np.ndarray, third: np.ndarray) -> np.ndarray:
    """A sixth of the skewness, kept within ±1 (a Pearson III variable of skewness 6 is a point and a long tail)."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        slant = third / variance**1.5 / 6
    return np.clip(np.nan_to_num(slant, nan=0.0), -1, 1)


def _pearson(z: np.ndarray, e: np.ndarray) -> np.ndarray:
    """T(z; 6e) = q (1 + eq + (eq)²/3) with q = z − e, where 1 + eq is not negative, and its bound −1/(3e) beyond."""
    q = z - e
    if (abs(e).max(initial=0) * abs(q).max(initial=0)) > 1:
        with np.errstate(divide="ignore"):
            bound = -1 / e
        q = np.where(e > 0, np.maximum(q, bound), np.where(e < 0, np.minimum(q, bound), q))
    step = e * q
    return q * (1 + step * (1 + step / 3))


# --- points and draws -----------------------------------------------------------------------------------------------


def _groups(nb: NaiveBayes, rows: Rows) -> Iterator[tuple[Int[np.ndarray, " m"], Int[np.ndarray, "m k"], _Shapes]]:
    """Rows, the classes that matter to them, and their moments; rows with equally many such classes together.

    A class matters unless even its upper bound is 36 nats below some class's lower bound: a probability below 1e-15,
    which is given as 0. With two classes both always do: there the answer is as cheap.
    """
    parts = _parts(nb, rows)
    for part in parts:
        shapes = _Shapes.of(nb, rows if len(parts) == 1 else {name: x[part] for name, x in rows.items()})
        n, c = shapes.mean.shape
        if c == 2 and shapes.simple:
            yield part.start + np.arange(n), np.broadcast_to([0, 1], (n, 2)), shapes
            continue
        if c == 2:
            order, count = np.broadcast_to([0, 1], (n, 2)), np.full(n, 2)
        else:
            low, high = shapes.bounds()
            order = np.argsort(-high, 1)
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
    """Slices of rows; 32 times those that are good for a cache where no block has tables of (n, c, d)."""
    parts = row_slices(rows)
    wide = any(block.couples_classes for block in nb.blocks.values())
    return (
        parts
        if wide
        else [slice(p.start, q.stop) for p, q in zip(parts[::32], [*parts[31::32], parts[-1]], strict=False)]
    )


@functools.lru_cache(maxsize=8)
def _normals(dimensions: int, power: int, seed: int) -> Float[np.ndarray, "k s"]:
    """2^power scrambled Sobol points, as standard normal variables: more even than draws."""
    from scipy.stats import qmc

    points = qmc.Sobol(dimensions, seed=np.random.default_rng(seed)).random_base2(power)
    z = ndtri(np.clip(points, 1e-10, 1 - 1e-10)).T.copy()
    z.flags.writeable = False
    return z


def _points(
    shapes: _Shapes, n_draws: int, seed: int, dtype: type = np.float64
) -> Iterator[tuple[slice, Float[np.ndarray, "n c s"]]]:
    """ℓ, up to what all classes share, at the same points for all rows.

    Single precision costs a probability 1e-6 at most, where the points themselves cost 1e-3.
    """
    n, c = shapes.mean.shape
    root, power = shapes.root, max(1, (n_draws - 1).bit_length())
    z: np.ndarray = _normals(c if root is None else 2 * c, power, seed).astype(dtype)
    mean = np.clip(shapes.mean - shapes.mean.max(1, keepdims=True), -_LIMIT, _LIMIT)
    scale, e = np.clip(np.sqrt(shapes.variance), 0, _LIMIT), shapes.slant
    # q (1 + eq + (eq)²/3) with q = z − e, in powers of z
    cubic = -e * (1 - e**2 + e**4 / 3), (1 - e**2) ** 2, e * (1 - e**2), e**2 / 3
    terms = np.stack([scale * factor for factor in cubic], -1)
    terms[..., 0] += mean
    terms = np.moveaxis(terms, 1, 0).astype(dtype)  # (c, n, 4)
    powers = np.stack([np.ones_like(z[:c]), z[:c], z[:c] ** 2, z[:c] ** 3], 1)  # (c, 4, s)
    bounds = None
    if abs(e).max(initial=0) * (abs(z).max(initial=0) + abs(e).max(initial=0)) > 1:
        with np.errstate(divide="ignore"):
            end = (mean - scale / (3 * e)).T[..., None].astype(dtype)
        slant = e.T[..., None]
        bounds = np.where(slant > 0, end, -np.inf), np.where(slant < 0, end, np.inf)
    root = None if root is None else np.moveaxis(np.clip(root, -_LIMIT, _LIMIT), 1, 0).astype(dtype)
    step = max(1, _TABLE // (c << power))
    for at in range(0, n, step):
        part = slice(at, min(at + step, n))
        table = terms[:, part] @ powers
        if bounds is not None:
            np.clip(table, *(bound[:, part] for bound in bounds), out=table)
        if root is not None:
            table += root[:, part] @ z[c:]
        yield part, np.moveaxis(table, 0, 1)


def _log_normalize(table: Float[np.ndarray, "n c s"]) -> Float[np.ndarray, "n c s"]:
    """`log_normalize` along the middle axis, in place."""
    table -= table.max(1, keepdims=True)
    table -= np.log(np.exp(table).sum(1, keepdims=True))
    return table


def _log_odds(table: Float[np.ndarray, "n c s"]) -> Float[np.ndarray, "n c s"]:
    """ℓ_c − log Σ_{k≠c} exp ℓ_k, in place; of the largest ℓ without a difference of numbers about equal."""
    table -= table.max(1, keepdims=True)
    top = table == 0
    p = np.exp(table)
    np.copyto(p, 0, where=top)
    rest = p.sum(1, keepdims=True) + (top.sum(1, keepdims=True, dtype=p.dtype) - 1)
    others = rest + 1 - p
    np.copyto(others, np.maximum(rest, np.finfo(p.dtype).tiny), where=top)
    table -= np.log(others)
    return table


def _draws(nb: NaiveBayes, rows: Rows, n_draws: int, seed: int) -> Iterator[tuple[slice, Float[np.ndarray, "n c s"]]]:
    """Log class probabilities at draws of all parameters; blocks of rows see the same draws, made again for each."""
    n, c = _size(nb, rows)
    size = sum(leaf.size for leaf in jax.tree.leaves(nb))
    step = max(1, _KEPT // (n_draws * c))
    few = max(1, min(_DRAWN // size, 1 << 10))
    for at in range(0, n, step):
        part, rng = slice(at, min(at + step, n)), np.random.default_rng(seed)
        cut = {name: x[part] for name, x in rows.items()}
        log_p = np.empty((part.stop - at, c, n_draws))
        for first in range(0, n_draws, few):
            some = slice(first, min(first + few, n_draws))
            table = nb.log_joint(cut, nb.sample(rng, (some.stop - first,)))
            log_p[..., some] = np.moveaxis(log_normalize(table), 0, -1)
        yield part, log_p
