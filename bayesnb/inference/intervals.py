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

Where classes share a variance or a covariance, the shared part is drawn at quasi-random points. Given it the classes
are independent, and ℓ_c is a quadratic form whose distribution is exact: `core.quadratics`.

References
----------
Wilson & Hilferty (1931), The distribution of chi-square, PNAS 17. Kirby (1972), Computer-oriented Wilson–Hilferty
transformation that preserves the first three moments, Water Resources Research 8 (its use for skewed variables).
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy.special import expit, ndtri

from ..base import Block
from ..core.arrays import Bool, Float, Int, Scalar
from ..core.random import generator
from ..core.special import log_floor
from ..core.supports import check_choice, check_least, check_level
from ..naive_bayes import Rows
from ..sums.rows import rows_at, slices
from .log_joint_moments import pearson_iii, sixth_of_skewness
from .points import Model, log_joint_points, log_probability_draws, row_groups, table_shape

NODES = 128  # quantiles that stand for one dimension
_FREEDOM = 30  # degrees of freedom of a shared variance from which on it is taken as normal
_MISFIT, _NARROW = 0.5, 1e-3  # excess kurtosis beyond the fitted that is too much, and widths at which that matters
_POINTS, _DRAWS = 1024, 1000  # points and draws by default
METHODS = "auto", "analytic", "draws"


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
    nb: Model,
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
    method : "analytic" (this page), "draws" of all parameters, or "auto": draws for kernel densities, and for rows
        whose log joint is too skewed for a Pearson III variable, else analytic
    n_draws : draws, by default 1,000; or points, rounded up to a power of two, by default 1,024
    seed : of either; all rows share one set of points

    Raises
    ------
    ValueError   for a level, method or number of draws out of range
    """
    asked, given = method, n_draws
    method, n_draws = resolve_method(nb, method, n_draws)
    check_level(level)
    seed, tail = fix_seed(seed), (1 - level) / 2
    tails = np.array([tail, 1 - tail])
    n, c = table_shape(nb, rows)
    found = np.zeros((n, c, 2))
    if method == "draws":
        for part, log_p in log_probability_draws(nb, rows, n_draws, seed):
            found[part] = _quantiles(log_p, tails)
        return found
    skewed = []
    for at, classes, shapes in row_groups(nb, rows):  # type: ignore[arg-type]
        where = at[:, None], classes
        if asked == "auto" and classes.shape[1] > 1:
            skewed.append(at[shapes.skewed])
        if classes.shape[1] == 1:
            found[where] = 1
        elif shapes.simple:
            found[where] = shapes.two_class_quantiles(tails)
        elif shapes.quadratics:  # whose tails three moments do not tell
            for part, table in log_joint_points(shapes, 4 * n_draws, seed, np.float32):
                found[at[part, None], classes[part]] = _quantiles(to_log_probabilities(table), tails)
        else:
            left = []
            for part, table in log_joint_points(shapes, max(n_draws // 4, 2), seed, np.float32):
                ends, fits = _pearson_quantiles(_to_log_odds(table), ndtri(tails))
                found[at[part, None], classes[part]] = ends
                left.append(part.start + np.flatnonzero(~fits))
            rest = np.concatenate(left)
            everything = np.broadcast_to(np.arange(classes.shape[1]), (len(rest), classes.shape[1]))
            for part, table in log_joint_points(shapes.take(rest, everything), n_draws, seed, np.float32):
                found[at[rest[part], None], classes[rest[part]]] = _quantiles(to_log_probabilities(table), tails)
    if len(late := np.sort(np.concatenate([*skewed, np.zeros(0, int)]))):
        found[late] = intervals(nb, rows_at(rows, late), level, "draws", given, seed)
    return found


def uncertainty(
    nb: Model,
    rows: Rows,
    method: str = "auto",
    n_draws: int | None = None,
    seed: int | np.random.Generator | None = 0,
) -> Uncertainty:
    """Total, aleatoric and epistemic entropy of the label of each row; parameters as in `intervals`."""
    method, n_draws = resolve_method(nb, method, n_draws)
    seed, (n, _) = fix_seed(seed), table_shape(nb, rows)
    total, epistemic = np.zeros(n), np.zeros(n)

    def split(log_p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        total, epistemic = np.zeros((2, len(log_p)))
        for some in _classes(log_p):
            p = np.exp(log_p[:, some])
            mean = p.mean(-1)
            log_mean = log_floor(mean)
            total -= (mean * log_mean).sum(-1)
            # Σ_c p log(p/p̄) − p + p̄ is the mutual information in terms that are not negative: no digits cancel
            gain = p * np.maximum(log_p[:, some] - log_mean[..., None], -1e3) - p + mean[..., None]
            epistemic += np.maximum(gain.mean(-1), 0).sum(-1)
        return total, epistemic

    for at, _, log_p in _log_probabilities(nb, rows, method, n_draws, seed):
        total[at], epistemic[at] = split(log_p)
    epistemic = np.minimum(epistemic, total)
    return Uncertainty(total, total - epistemic, epistemic)


def mean_probabilities(nb: Model, rows: Rows) -> Float[np.ndarray, "n c"]:
    """Posterior mean of p(y = c | x_i, θ), ∫ p(y | x, θ) p(θ | D) dθ: what a credible interval belongs to.

    The Bayes predictive averages the joint p(x, y | θ) over θ and then normalises; it may lie outside of the interval.
    """
    method, n_draws = resolve_method(nb, "auto", None)
    found = np.zeros(table_shape(nb, rows))
    for at, classes, log_p in _log_probabilities(nb, rows, method, n_draws, 0):
        found[at[:, None], classes] = np.exp(log_p).mean(-1)
    return found


def _log_probabilities(
    nb: Model, rows: Rows, method: str, n_draws: int, seed: int
) -> Iterator[tuple[Int[np.ndarray, " m"], Int[np.ndarray, "m k"], Float[np.ndarray, "m k s"]]]:
    """Rows, the classes that matter to them, and log p(y = c | x_i, θ) at equally likely θ."""
    n, c = table_shape(nb, rows)
    if method == "draws":
        for part, log_p in log_probability_draws(nb, rows, n_draws, seed):
            at = np.arange(n)[part]
            yield at, np.broadcast_to(np.arange(c), (len(at), c)), log_p
        return
    nodes = ndtri((np.arange(NODES) + 0.5) / NODES)
    for at, classes, shapes in row_groups(nb, rows):  # type: ignore[arg-type]
        if classes.shape[1] == 1:
            yield at, classes, np.zeros((len(at), 1, 1))
        elif shapes.simple:
            log_odds = shapes.two_class_log_odds(nodes)
            yield at, classes, -np.logaddexp(0, np.stack([log_odds, -log_odds], 1))
        else:
            for part, table in log_joint_points(shapes, n_draws, seed):
                yield at[part], classes[part], to_log_probabilities(table)


def resolve_method(nb: Model, method: str, n_draws: int | None) -> tuple[str, int]:
    """Method and number of draws or points that will be used; raises ValueError where they are none."""
    check_choice("method", method, METHODS)
    if method == "auto":
        method = "analytic" if all(_moments_suffice(block) for block in nb.blocks.values()) else "draws"
    if n_draws is not None:
        check_least(2, n_draws=n_draws)
    return method, n_draws or (_DRAWS if method == "draws" else _POINTS)


def _moments_suffice(block: Block) -> bool:
    """Whether closed forms say how log p(x | θ) is distributed: three moments, or quadratic forms given what is shared.

    The logarithm of a kernel density is a function of its bandwidth that no few moments describe.
    """
    no_rows = np.zeros((0, block.inner.shape[1]))
    if block.shared_quadratic(no_rows) is not None:
        return True
    inner = block.inner
    known = inner.couples_classes or inner.log_third_cumulant(no_rows) is not None
    return inner.degrees_of_freedom() >= _FREEDOM and known


def fix_seed(seed: int | np.random.Generator | None) -> int:
    """A number that every block of rows starts from."""
    return seed if isinstance(seed, int) else int(generator(seed).integers(1 << 32))


def _quantiles(log_p: Float[np.ndarray, "n c s"], tails: Float[np.ndarray, " 2"]) -> Float[np.ndarray, "n c 2"]:
    """Quantiles of the probabilities along the last axis, which is sorted in place: faster than `np.quantile`."""
    log_p.sort(-1)
    at = tails * (log_p.shape[-1] - 1)
    below = np.floor(at).astype(int)
    low, high = log_p[..., below], log_p[..., np.ceil(at).astype(int)]
    return np.exp(low + (at - below) * (high - low))


def _pearson_quantiles(
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
    slant = sixth_of_skewness(variance, third)[..., None]
    ends = expit(
        mean[..., None] + np.sqrt(variance)[..., None] * pearson_iii(np.broadcast_to(z, (*mean.shape, 2)), slant)
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        gap = abs(fourth / variance**2 - 3 - 1.5 * third**2 / variance**3)
    sd = np.sqrt(variance)  # whatever the level, so that intervals of different levels contain each other
    wide = expit(mean + 2 * sd) - expit(mean - 2 * sd) > _NARROW
    return ends, ~((gap > _MISFIT) & wide).any(1)


def to_log_probabilities(table: Float[np.ndarray, "n c s"]) -> Float[np.ndarray, "n c s"]:
    """`log_normalize` along the middle axis, in place."""
    table -= table.max(1, keepdims=True)
    table -= np.log(sum(np.exp(table[:, some]).sum(1, keepdims=True) for some in _classes(table)))
    return table


def _classes(table: Float[np.ndarray, "n c s"]) -> list[slice]:
    """So many classes at a time that temporaries take some MiB."""
    n, c, s = table.shape
    return slices(c, n * s)


def _to_log_odds(table: Float[np.ndarray, "n c s"]) -> Float[np.ndarray, "n c s"]:
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
