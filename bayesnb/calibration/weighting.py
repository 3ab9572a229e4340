"""Weighted draws of a map's posterior: right where Laplace's approximation is too coarse.

A draw from q(θ), a mixture of Student distributions about the modes, has the weight w = p(y, θ) / q(θ). The mean of the
weights is p(y), and weighted means are means over the posterior. The distributions are then fitted anew to the weighted
draws, and draw again. A draw of any round is weighted by the mean of all rounds' q. No weight is above √s times the
mean of s weights.

The posterior then is a number of draws with equal weights: it is halved along the direction in which predictions vary
most, and so are the halves, until each part stands for one draw.

References
----------
Cornuet, Marin, Mira & Robert (2012), Adaptive multiple importance sampling, Scand. J. Statist. 39.
Ionides (2008), Truncated importance sampling, J. Comput. Graph. Statist. 17.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import gammaln, logsumexp, softmax

from ..core.arrays import Float, Int
from .map import CalibrationMap, Labelled
from .modes import Laplace

_N_OF_ROUND = 1000  # draws
_ENOUGH = 1000.0  # effective draws, at which rounds end
_MAX_ROUNDS = 8
_DEGREES_OF_FREEDOM = 5.0
_EFFECTIVE_FOR_FIT = 5.0  # draws for each parameter, that the covariance of a component is fitted to
_N_COMPONENTS = 6  # of predictions, by which draws are told apart
_TINY = 1e-300  # keeps a logarithm finite
_LEAST_SHARE = 1e-3  # of the posterior, below which a component is left out
_DISTANCES = (-3.0, -1.0, -0.3, 0.3, 1.0, 3.0)  # of reference rows from equal log probabilities, in spreads


class WeightedDraws(NamedTuple):
    """Draws of a posterior with weights.

    Fields
    ------
    calibration, rows : of which the posterior is
    theta : (s, p)
    share : (s,) weights that add up to 1
    log_evidence : log p(y), without ½ p log 2π as in `Laplace`
    """

    calibration: CalibrationMap
    rows: Labelled
    theta: Float[np.ndarray, "s p"]
    share: Float[np.ndarray, " s"]
    log_evidence: float

    @property
    def n_effective(self) -> float:
        """How many draws with equal weights say as much."""
        return float(1 / np.square(self.share).sum())

    def draws(self, n_draws: int, rng: np.random.Generator) -> Float[np.ndarray, "s p"]:
        """Draws with equal weights: each stands for a part of the posterior with like predictions."""
        points = _reference_predictions(self.calibration, self.rows, self)
        parts = _parts(points, self.share, np.arange(len(self.share)), n_draws)
        log_share = np.log(np.maximum(self.share, _TINY))
        order = log_share + rng.gumbel(size=len(log_share))  # the first of a part is drawn in proportion to the shares
        chosen = [part[order[part].argmax()] for part in parts]
        return self.theta[np.array(chosen, int)]


class _Component(NamedTuple):
    """A part of q: share, centre (p,), and a root (p, p) of the scale matrix, lower or symmetric."""

    share: float
    centre: Float[np.ndarray, " p"]
    root: Float[np.ndarray, "p p"]


# --- weighted draws ---------------------------------------------------------------------------------------------------


def weighted_draws(modes: list[Laplace], rng: np.random.Generator) -> WeightedDraws:
    """Draws about the modes of a map, weighted to be those of its posterior: in rounds until enough are effective."""
    calibration = modes[0].calibration
    rows = modes[0].rows
    shares = softmax([mode.log_evidence for mode in modes])
    about_modes = [_Component(float(share), mode.mode, mode.root) for share, mode in zip(shares, modes, strict=True)]
    of_rounds = [about_modes]
    theta = _draw(about_modes, rng)
    height = _height(calibration, rows, theta)
    log_densities = _log_density(theta, about_modes)[None]  # (rounds, s)
    log_weight = _log_weight(height, log_densities)
    while _n_effective(_truncated(log_weight)) < _ENOUGH and len(of_rounds) < _MAX_ROUNDS:
        components = _refitted(about_modes, theta, log_weight)
        drawn = _draw(components, rng)
        by_earlier = np.stack([_log_density(drawn, earlier) for earlier in of_rounds])
        of_rounds.append(components)
        theta = np.concatenate([theta, drawn])
        height = np.append(height, _height(calibration, rows, drawn))
        log_densities = np.vstack([np.hstack([log_densities, by_earlier]), _log_density(theta, components)])
        log_weight = _log_weight(height, log_densities)

    truncated = _truncated(log_weight)
    log_evidence = logsumexp(truncated) - np.log(len(theta)) - 0.5 * theta.shape[1] * np.log(2 * np.pi)
    return WeightedDraws(calibration, rows, theta, softmax(truncated), float(log_evidence))


def _height(calibration: CalibrationMap, rows: Labelled, theta: Float[np.ndarray, "s p"]) -> Float[np.ndarray, " s"]:
    """−log p(y, θ) under the prior of increasing maps: infinite where a map falls."""
    height = calibration.values(rows, theta) + np.log(calibration.increasing_share)
    height[~calibration.is_increasing(theta)] = np.inf
    return height


def _log_weight(height: Float[np.ndarray, " s"], log_densities: Float[np.ndarray, "r s"]) -> Float[np.ndarray, " s"]:
    """log p(y, θ) − log q(θ), where q is the mean of the rounds'."""
    return -height - logsumexp(log_densities, axis=0) + np.log(len(log_densities))


def _truncated(log_weight: Float[np.ndarray, " s"]) -> Float[np.ndarray, " s"]:
    """None above √s times the mean of the weights."""
    log_n = np.log(len(log_weight))
    return np.minimum(log_weight, logsumexp(log_weight) - log_n + 0.5 * log_n)


def _n_effective(log_weight: Float[np.ndarray, " s"]) -> float:
    """How many draws with equal weights say as much: 1 / Σ share²."""
    return float(1 / np.square(softmax(log_weight)).sum())


def _draw(components: list[_Component], rng: np.random.Generator) -> Float[np.ndarray, "s p"]:
    """Draws of a round, about each component in proportion to its share."""
    total = np.cumsum([component.share for component in components])
    sizes = np.diff(np.round(total / total[-1] * _N_OF_ROUND).astype(int), prepend=0)
    draws = []
    for component, size in zip(components, sizes, strict=True):
        normals = rng.standard_normal((size, len(component.centre)))
        stretch = np.sqrt(_DEGREES_OF_FREEDOM / rng.chisquare(_DEGREES_OF_FREEDOM, size))
        draws.append(component.centre + (normals * stretch[:, None]) @ component.root.T)
    return np.concatenate(draws)


def _log_density(theta: Float[np.ndarray, "s p"], components: list[_Component]) -> Float[np.ndarray, " s"]:
    """log q of a round."""
    return logsumexp([np.log(component.share) + _log_student(theta, component) for component in components], axis=0)


def _log_student(theta: Float[np.ndarray, "s p"], component: _Component) -> Float[np.ndarray, " s"]:
    """Log density of a multivariate Student distribution."""
    p = theta.shape[1]
    df = _DEGREES_OF_FREEDOM
    standard = (theta - component.centre) @ np.linalg.inv(component.root).T
    log_det = np.linalg.slogdet(component.root)[1]
    constant = gammaln((df + p) / 2) - gammaln(df / 2) - 0.5 * p * np.log(df * np.pi) - log_det
    return constant - 0.5 * (df + p) * np.log1p(np.square(standard).sum(1) / df)


def _refitted(
    components: list[_Component], theta: Float[np.ndarray, "s p"], log_weight: Float[np.ndarray, " s"]
) -> list[_Component]:
    """Components with the mean and the covariance of the weighted draws that are most probably theirs.

    Where few draws have nearly all of the weight, a power of the weights is taken, and the covariance is drawn towards
    that about the mode.
    """
    p = theta.shape[1]
    share = _flattened(log_weight, _EFFECTIVE_FOR_FIT * p)
    log_of_component = [np.log(component.share) + _log_student(theta, component) for component in components]
    responsibility = softmax(log_of_component, axis=0) * share
    refitted = []
    for component, of_draws in zip(components, responsibility, strict=True):
        total = float(of_draws.sum())
        if total < _LEAST_SHARE:
            continue
        weight = of_draws / total
        centre = weight @ theta
        off = theta - centre
        towards_mode = p / (p + 1 / np.square(weight).sum())
        covariance = (1 - towards_mode) * (off.T * weight) @ off
        covariance += towards_mode * component.root @ component.root.T
        refitted.append(_Component(total, centre, np.linalg.cholesky(covariance)))
    total_share = sum(component.share for component in refitted)
    return [component._replace(share=component.share / total_share) for component in refitted]


def _flattened(log_weight: Float[np.ndarray, " s"], n_effective: float) -> Float[np.ndarray, " s"]:
    """Shares by the largest power of the weights, of 1, .9, .81, …, at which as many draws are effective."""
    flattened = log_weight
    while _n_effective(flattened) < n_effective:
        flattened = 0.9 * flattened
    return softmax(flattened)


# --- draws with equal weights -----------------------------------------------------------------------------------------


def _reference_predictions(
    calibration: CalibrationMap, rows: Labelled, weighted: WeightedDraws
) -> Float[np.ndarray, "s k"]:
    """Leading principal components of predictions: p' of a class, of rows that favour it or rule it out.

    They do so by as much as the rows of the fit do.
    """
    c = rows.z.shape[1]
    spread = rows.weight @ rows.z.std(1) / rows.weight.sum()
    favoured = np.tile(np.arange(c), len(_DISTANCES))
    z = np.concatenate([distance * spread * np.eye(c) for distance in _DISTANCES])
    log_p = z - logsumexp(z, axis=1, keepdims=True)
    predictions = calibration.probas(weighted.theta, log_p)[:, np.arange(len(z)), favoured]
    return predictions @ _principal_axes(predictions, weighted.share)[:, -_N_COMPONENTS:]


def _principal_axes(points: Float[np.ndarray, "s k"], share: Float[np.ndarray, " s"]) -> Float[np.ndarray, "k k"]:
    """Orthogonal axes, along the last of which the points vary most; the sign of each does not depend on rounding."""
    off = points - share @ points
    axes = np.linalg.eigh((off.T * share) @ off)[1]
    reference = np.cos(np.arange(len(axes)))  # any direction that is at a right angle to none
    return axes * np.where(reference @ axes < 0, -1.0, 1.0)


def _parts(
    points: Float[np.ndarray, "s k"], share: Float[np.ndarray, " s"], members: Int[np.ndarray, " m"], n_parts: int
) -> list[Int[np.ndarray, " part"]]:
    """Parts of the members with equal shares: halves along the axis on which their points vary most, halved again."""
    if n_parts < 2 or len(members) == 1:
        return [members] * n_parts
    weight = share[members] / share[members].sum()
    along = points[members] @ _principal_axes(points[members], weight)[:, -1]
    order = np.argsort(along, kind="stable")
    n_lower = n_parts // 2
    n_members = int(np.searchsorted(np.cumsum(weight[order]), n_lower / n_parts))
    n_members = min(max(n_members, 1), len(order) - 1)
    lower = members[order[:n_members]]
    upper = members[order[n_members:]]
    return [*_parts(points, share, lower, n_lower), *_parts(points, share, upper, n_parts - n_lower)]
