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

from ..numerics.arrays import Float, Int
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
        """Draws with equal weights: each stands for a part of the posterior with like predictions.

        This is stratified sampling. The weighted draws are divided into as many parts as draws are wanted, each with
        about the same share of the posterior. Of each part one draw is taken, with probability in proportion to its
        share. The Gumbel trick does that: the largest of log share + Gumbel noise is draw k with probability
        share_k / Σ share.

        Parameters
        ----------
        n_draws : number of parts, and of draws returned
        rng : source of the noise
        """
        points = _reference_predictions(self.calibration, self.rows, self)  # (s, k): what each draw predicts
        with_share = np.flatnonzero(self.share > 0)  # the others are maps that fall
        parts = _equal_parts(points, self.share, with_share, n_draws)  # positions of the draws of each
        log_share = np.log(np.maximum(self.share, _TINY))
        noisy_share = log_share + rng.gumbel(size=len(log_share))
        chosen = [part[noisy_share[part].argmax()] for part in parts]
        return self.theta[np.array(chosen, int)]


class _Component(NamedTuple):
    """A part of q: share, centre (p,), and a root (p, p) of the scale matrix, lower or symmetric."""

    share: float
    centre: Float[np.ndarray, " p"]
    root: Float[np.ndarray, "p p"]


# --- weighted draws ---------------------------------------------------------------------------------------------------


def weighted_draws(modes: list[Laplace], rng: np.random.Generator) -> WeightedDraws:
    """Draws about the modes of a map, weighted to be those of its posterior: in rounds until enough are effective.

    Each round draws 1,000 times from its own q, a mixture of Student distributions. A draw of any round has the weight
    p(y, θ) / q(θ), with q the mean over all rounds. So the weights of earlier draws change with each round.

    Parameters
    ----------
    modes : Laplace's approximation about each mode: the q of the first round
    """
    calibration = modes[0].calibration
    rows = modes[0].rows

    # The first round is about the modes, each in proportion to its evidence: a Student distribution about θ̂ with the
    # scale matrix H⁻¹, of which `root` is the root.
    shares = softmax([mode.log_evidence for mode in modes])
    about_modes = [_Component(float(share), mode.mode, mode.root) for share, mode in zip(shares, modes, strict=True)]
    of_rounds = [about_modes]  # the mixture q of each round, as its components
    theta = _draw_round(about_modes, rng)  # (s, p)
    height = _height(calibration, rows, theta)  # −log p(y, θ), (s,)
    log_densities = _log_density(theta, about_modes)[None]  # log q of each round at all draws, (rounds, s)
    log_weight = _log_weight(height, log_densities)

    # Further rounds are about the components as fitted to all weighted draws so far. A map that falls has the weight 0.
    while _n_effective(_truncated(log_weight)) < _ENOUGH and len(of_rounds) < _MAX_ROUNDS:
        if np.isfinite(log_weight).any():
            components = _refitted(about_modes, theta, log_weight)
        else:  # every map so far falls somewhere; the modes do not
            components = _nearer_to_modes(about_modes, len(of_rounds))
        drawn = _draw_round(components, rng)

        # The table of log densities (rounds, s) grows by columns, the new draws under the q of earlier rounds; and then
        # by a row, all draws under the new q.
        new_columns = np.stack([_log_density(drawn, earlier) for earlier in of_rounds])
        theta = np.concatenate([theta, drawn])
        new_row = _log_density(theta, components)
        log_densities = np.vstack([np.hstack([log_densities, new_columns]), new_row])

        of_rounds.append(components)
        height = np.append(height, _height(calibration, rows, drawn))
        log_weight = _log_weight(height, log_densities)

    if not np.isfinite(log_weight).any():
        return _draws_at_modes(modes)

    # p(y) is the mean of the weights, times (2π)^(−p/2), which `_height` leaves out of the density of the prior.
    truncated = _truncated(log_weight)
    log_mean_weight = logsumexp(truncated) - np.log(len(theta))
    log_evidence = float(log_mean_weight - 0.5 * theta.shape[1] * np.log(2 * np.pi))
    return WeightedDraws(calibration, rows, theta, softmax(truncated), log_evidence)


def _nearer_to_modes(about_modes: list[_Component], n_rounds: int) -> list[_Component]:
    """The components of the first round, half as wide for each round that has been drawn."""
    return [component._replace(root=component.root / 2**n_rounds) for component in about_modes]


def _draws_at_modes(modes: list[Laplace]) -> WeightedDraws:
    """The modes themselves, each as often as its share of the evidence, where no map that was drawn rises.

    The modes are then in a corner of the maps that rise, and draws about them fall.
    """
    shares = softmax([mode.log_evidence for mode in modes])
    times = np.maximum(np.round(shares * _N_OF_ROUND), 1).astype(int)
    theta = np.repeat([mode.mode for mode in modes], times, axis=0)
    equal_share = np.full(len(theta), 1 / len(theta))
    log_evidence = float(logsumexp([mode.log_evidence for mode in modes]))
    return WeightedDraws(modes[0].calibration, modes[0].rows, theta, equal_share, log_evidence)


def _height(calibration: CalibrationMap, rows: Labelled, theta: Float[np.ndarray, "s p"]) -> Float[np.ndarray, " s"]:
    """−log p(y, θ) of each draw under the prior of increasing maps: infinite where a map falls.

    Restricted to increasing maps, a prior density is divided by their share in the whole prior.
    """
    height = calibration.values(rows, theta) + calibration.log_increasing_share
    height[~calibration.is_increasing(theta)] = np.inf
    return height


def _log_weight(height: Float[np.ndarray, " s"], log_densities: Float[np.ndarray, "r s"]) -> Float[np.ndarray, " s"]:
    """log p(y, θ) − log q(θ) of each draw, where q is the mean of those of the rounds: log q = logsumexp − log r.

    Parameters
    ----------
    height : −log p(y, θ)
    log_densities : log q of each of r rounds
    """
    return -height - logsumexp(log_densities, axis=0) + np.log(len(log_densities))


def _truncated(log_weight: Float[np.ndarray, " s"]) -> Float[np.ndarray, " s"]:
    """Log weights of which none is above √s times the mean of the weights, so that their variance is finite."""
    # log of mean · √s = logsumexp − log s + ½ log s
    log_n = np.log(len(log_weight))
    return np.minimum(log_weight, logsumexp(log_weight) - log_n + 0.5 * log_n)


def _n_effective(log_weight: Float[np.ndarray, " s"]) -> float:
    """How many draws with equal weights say as much: 1 / Σ share², and 0 if no draw has a weight."""
    if not np.isfinite(log_weight).any():
        return 0.0
    return float(1 / np.square(softmax(log_weight)).sum())


def _draw_round(components: list[_Component], rng: np.random.Generator) -> Float[np.ndarray, "s p"]:
    """The 1,000 draws of a round, about each component in proportion to its share.

    A multivariate Student draw is centre + √(ν/χ²) L s with s standard normal, L the root of the scale matrix, and χ² a
    chi-square number with ν degrees of freedom, drawn anew for each. Its tails are heavier than a normal's, so that no
    weight p(y, θ) / q(θ) gets too large.
    """
    # Rounding the cumulative shares, and not the shares, makes the sizes add up to 1,000.
    total = np.cumsum([component.share for component in components])
    sizes = np.diff(np.round(total / total[-1] * _N_OF_ROUND).astype(int), prepend=0)

    draws = []
    for component, size in zip(components, sizes, strict=True):
        normals = rng.standard_normal((size, len(component.centre)))
        stretch = np.sqrt(_DEGREES_OF_FREEDOM / rng.chisquare(_DEGREES_OF_FREEDOM, size))
        draws.append(component.centre + (normals * stretch[:, None]) @ component.root.T)
    return np.concatenate(draws)


def _log_density(theta: Float[np.ndarray, "s p"], components: list[_Component]) -> Float[np.ndarray, " s"]:
    """log q of a round at each draw: of the mixture of its components."""
    return logsumexp([np.log(component.share) + _log_student(theta, component) for component in components], axis=0)


def _log_student(theta: Float[np.ndarray, "s p"], component: _Component) -> Float[np.ndarray, " s"]:
    """Log density of a multivariate Student distribution at each draw.

    With δ = L⁻¹(θ − centre) and L the root of the scale matrix it is
    log Γ((ν+p)/2) − log Γ(ν/2) − p/2 log νπ − log |L| − (ν+p)/2 log(1 + |δ|²/ν)
    """
    p = theta.shape[1]
    df = _DEGREES_OF_FREEDOM
    standard = (theta - component.centre) @ np.linalg.inv(component.root).T  # δ, (s, p)
    log_det = np.linalg.slogdet(component.root)[1]
    constant = gammaln((df + p) / 2) - gammaln(df / 2) - 0.5 * p * np.log(df * np.pi) - log_det
    return constant - 0.5 * (df + p) * np.log1p(np.square(standard).sum(1) / df)


def _refitted(
    components: list[_Component], theta: Float[np.ndarray, "s p"], log_weight: Float[np.ndarray, " s"]
) -> list[_Component]:
    """The mixture q of the next round: its components, fitted anew to all weighted draws so far.

    This is a step of the EM algorithm for a mixture. Bayes' rule divides the weight of each draw among the components;
    each component is then fitted to its part of the weights (`_fitted_component`). Where few draws have nearly all of
    the weight, a power of the weights is taken first, which evens them.

    Parameters
    ----------
    components : of the first round, about the modes
    theta, log_weight : (s, p) all draws so far, and (s,) their log weights

    Returns
    -------
    the components anew, with shares that add up to 1; those with next to no share are left out
    """
    n_parameters = theta.shape[1]
    share = _flattened_shares(log_weight, _EFFECTIVE_FOR_FIT * n_parameters)  # of each draw, (s,), adds up to 1

    # How much of its share each draw gives to each component, (components, s): Bayes' rule says which one it is of.
    log_joint = [np.log(component.share) + _log_student(theta, component) for component in components]
    probability = softmax(log_joint, axis=0)  # of each component, given the draw
    share_in_component = probability * share

    refitted = []
    for component, of_draws in zip(components, share_in_component, strict=True):
        if float(of_draws.sum()) >= _LEAST_SHARE:
            refitted.append(_fitted_component(component, theta, of_draws))

    # Without the components that were left out, the shares add up to 1 again.
    total_share = sum(component.share for component in refitted)
    return [component._replace(share=component.share / total_share) for component in refitted]


def _fitted_component(
    component: _Component, theta: Float[np.ndarray, "s p"], of_draws: Float[np.ndarray, " s"]
) -> _Component:
    """A component fitted to weighted draws: their mean for a centre, their covariance for a scale matrix.

    The covariance is drawn towards the scale matrix that the component had about its mode: it is an average of both, in
    which the one of the draws counts as its effective draws, n = 1 / Σ weight², and the one about the mode as p draws,
    where p is the number of parameters.

    Parameters
    ----------
    component : as it is about its mode
    theta : (s, p) draws
    of_draws : (s,) shares of the draws that belong to the component; their sum is its new share
    """
    total = float(of_draws.sum())
    weight = of_draws / total
    centre = weight @ theta
    difference = theta - centre  # (s, p)

    # p/(p + n) · root rootᵀ + n/(p + n) · Σ weight · difference differenceᵀ.
    p = theta.shape[1]
    n_effective = 1 / np.square(weight).sum()
    part_of_mode = p / (p + n_effective)
    covariance = ((1 - part_of_mode) * (difference.T * weight)) @ difference
    covariance += (part_of_mode * component.root) @ component.root.T
    return _Component(total, centre, np.linalg.cholesky(covariance))


def _flattened_shares(log_weight: Float[np.ndarray, " s"], n_effective: float) -> Float[np.ndarray, " s"]:
    """Shares by the largest power of the weights, of 1, .9, .81, …, at which at least `n_effective` draws count.

    A power below 1 evens the weights: weights 1 and 100 become 1 and 10 by the power ½. Weights of 0 stay, so that of
    few draws with a weight at most half are asked for.
    """
    n_with_weight = int(np.isfinite(log_weight).sum())
    n_effective = min(n_effective, 0.5 * n_with_weight)
    flattened = log_weight
    while _n_effective(flattened) < n_effective:
        flattened = 0.9 * flattened
    return softmax(flattened)


# --- draws with equal weights -----------------------------------------------------------------------------------------


def _reference_predictions(
    calibration: CalibrationMap, rows: Labelled, weighted: WeightedDraws
) -> Float[np.ndarray, "s k"]:
    """Few numbers that tell what each draw predicts: the leading principal components of some of its predictions.

    The predictions are calibrated probabilities of a class, for made-up rows that favour the class or rule it out by as
    much as the rows of the fit do. Draws of the parameters that predict alike have nearly the same components, however
    different the parameters are.

    Parameters
    ----------
    calibration : the map, whose parameters were drawn
    rows : of the fit, with log probabilities z (n, c)
    weighted : s draws with their shares

    Returns
    -------
    k components of each draw, the leading one last
    """
    # A made-up row for each distance and class: the class has other log odds than all others by this distance, in
    # spreads of the rows. With two classes and the distance −3 the rows of z are (−3, 0) and (0, −3) times the spread.
    c = rows.z.shape[1]
    spread = rows.weight @ rows.z.std(1) / rows.weight.sum()
    z = np.concatenate([distance * spread * np.eye(c) for distance in _DISTANCES])
    log_p = z - logsumexp(z, axis=1, keepdims=True)
    class_of_row = np.tile(np.arange(c), len(_DISTANCES))  # 0 1 0 1 … with two classes

    # The probability of each row's class, by each draw, (s, made-up rows); then its last, leading components.
    proba = calibration.probas(weighted.theta, log_p)  # (s, made-up rows, c)
    predictions = proba[:, np.arange(len(z)), class_of_row]
    axes = _principal_axes(predictions, weighted.share)  # the leading one last
    return predictions @ axes[:, -_N_COMPONENTS:]


def _principal_axes(points: Float[np.ndarray, "s k"], share: Float[np.ndarray, " s"]) -> Float[np.ndarray, "k k"]:
    """Eigenvectors of the covariance of weighted points: along the last of them the points vary most.

    An eigenvector may have either sign. Each gets the one by which its product with a fixed vector is positive, so that
    the sign does not depend on rounding.
    """
    off = points - share @ points
    axes = np.linalg.eigh((off.T * share) @ off)[1]
    reference = np.cos(np.arange(len(axes)))  # any direction that is at a right angle to none
    return axes * np.where(reference @ axes < 0, -1.0, 1.0)


def _equal_parts(
    points: Float[np.ndarray, "s k"], share: Float[np.ndarray, " s"], members: Int[np.ndarray, " m"], n_parts: int
) -> list[Int[np.ndarray, " part"]]:
    """Divide weighted draws into parts of about equal weight, each of draws with similar points.

    The members are cut in two along the axis on which their points vary most, and each side is divided in the same way
    (by this function itself) until each part stands for one of `n_parts`. For three parts the lower side has a third of
    the weight and is one part, the upper one has two thirds and is cut again.

    Parameters
    ----------
    points, share : of all draws
    members : positions of the draws that are divided
    n_parts : a single member that has to be several parts is repeated
    """
    if n_parts < 2 or len(members) == 1:
        return [members] * n_parts

    # Sort the members along the axis.
    weight = share[members] / share[members].sum()
    along = points[members] @ _principal_axes(points[members], weight)[:, -1]
    order = np.argsort(along, kind="stable")

    # The lower side is to become `n_lower` of the parts, and gets so many members that it has this part of the weight,
    # about. Each side has a member at least.
    n_lower = n_parts // 2
    weight_up_to = np.cumsum(weight[order])  # of the members up to each along the axis; 1 at the last
    n_members = int(np.searchsorted(weight_up_to, n_lower / n_parts))
    n_members = min(max(n_members, 1), len(order) - 1)
    lower = members[order[:n_members]]
    upper = members[order[n_members:]]
    lower_parts = _equal_parts(points, share, lower, n_lower)
    upper_parts = _equal_parts(points, share, upper, n_parts - n_lower)
    return [*lower_parts, *upper_parts]
