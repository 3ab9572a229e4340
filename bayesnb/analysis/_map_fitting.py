"""Fitting the maps of `_maps` to a leave-one-out table: mode, Laplace's evidence, and the weight of each map.

References
----------
MacKay (1992), The evidence framework applied to classification networks, Neural Computation 4, §2–3: Laplace's
approximation of posterior and evidence.
Meyer & Woodroofe (2000), On the degrees of freedom in shape-restricted regression, Annals of Statistics 28: the number
of steps.
"""

import dataclasses
import math
from collections.abc import Iterable
from typing import Any

import numpy as np
from sklearn.isotonic import isotonic_regression

from ..core.arrays import Float, Int
from ._maps import CalibrationMap, Isotonic, Kind, Prepared, Tables, logit, one_hot_rows, softmax

KEEPING = (Kind(joint=True), Kind(joint=True, squashed=True), Kind(joint=True, contaminated=True))
FREE = (Kind(squashed=True, shifts=True), Kind(contaminated=True, shifts=True))
_PRIOR = {"identity": 0.5, "keeping": 0.25, "free": 0.2, "isotonic": 0.05}  # probability of each group of maps
_SIZE = {"identity": 1, "keeping": len(KEEPING), "free": len(FREE)}  # maps of a group, equally probable
_ISOTONIC_ROWS = 1000  # from which on an isotonic map is tried
_LEAST_WEIGHT = 0.01  # of a map in the average
_HOPELESS = 10.0  # nats behind another map
_EXPONENTS = (0.0, 0.5, 1.0)  # g of rows of different lengths; the best is chosen
_STEPS, _SMALL_GAIN = 60, 1e-9  # Newton steps; nats of gain below which the search ends
_LIKE = ("joint", "squashed", "g", "contaminated")  # steps in which maps are alike, the weightiest first
_PAIRS = 8  # of posterior nodes, placed symmetrically


def heaviest_kind(maps: Iterable[CalibrationMap]) -> Kind:
    """Kind of the first map with parameters; the maps come by their weights."""
    return next((one.kind.base for one in maps if not one.kind.base.identity), KEEPING[0])


@dataclasses.dataclass(frozen=True)
class FittedMap:
    """The posterior of a map, Gaussian about its mode.

    Fields
    ----------
    kind : the steps of the map
    mode : (p,) log w, log s, logit ε, b
    covariance : (p, p)
    log_evidence : log ∫ p(y | θ) p(θ) dθ, nats
    log_likelihood : Σ_i weight_i log p_iy at the mode, nats
    """

    kind: Any
    mode: Float[np.ndarray, " p"]
    covariance: Float[np.ndarray, "p p"]
    log_evidence: float
    log_likelihood: float


def fit_map(
    prepared: Prepared, y: Float[np.ndarray, "c n"], weight: Float[np.ndarray, " n"], start: Any = None
) -> FittedMap:
    """Mode, covariance and evidence of one map by Newton's method, damped where the Hessian is not positive.

    Parameters
    ----------
    prepared : tables as the map takes them
    y : one-hot labels
    weight : of each row's log likelihood
    start : parameters where the search begins
    """
    k, c, _ = prepared.m.shape
    mean, sd = prepared.kind.prior(k, c)
    precision = sd**-2

    def objective(theta: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        value, gradient, hessian = prepared.derivatives(theta, y, weight)
        off = (theta - mean) * precision
        return value + 0.5 * float(off @ (theta - mean)), gradient + off, hessian + np.diag(precision)

    theta = np.array(mean if start is None else start, float)
    value, gradient, hessian = objective(theta)
    damping = 0.0
    for _ in range(_STEPS):
        values, vectors = np.linalg.eigh(hessian)
        curve = np.maximum(abs(values), precision.min() * 0.1) + damping
        step = -vectors @ ((vectors.T @ gradient) / curve)
        if (longest := abs(step).max()) > 3:
            step *= 3 / longest
        gain = -float(gradient @ step) / 2
        if gain < _SMALL_GAIN:
            break
        tried = objective(theta + step)
        if tried[0] < value:
            theta, (value, gradient, hessian) = theta + step, tried
            damping = 0.0 if damping < 1e-3 * curve.max() else damping / 10
        else:
            damping = max(10 * damping, 0.1 * curve.max())
    values, vectors = np.linalg.eigh(hessian)
    values = np.maximum(values, 0.5 * precision.min())
    covariance = (vectors / values) @ vectors.T
    log_evidence = -value - float(np.log(sd).sum()) - 0.5 * float(np.log(values).sum())
    log_likelihood = -(value - 0.5 * float((theta - mean) ** 2 @ precision))
    return FittedMap(prepared.kind, theta, covariance, log_evidence, log_likelihood)


def fit_family(
    tables: Tables, index: Int[np.ndarray, " n"], weight: Float[np.ndarray, " n"], *, keep_labels: bool = True
) -> tuple[CalibrationMap, ...]:
    """The maps of the family with their posterior probabilities, the heaviest first; light ones are left out.

    Before the data the identity has probability 1/2, the maps that keep labels 1/4 together, the others 1/5, and the
    isotonic map, which is tried from 1,000 rows on, 1/20.

    Parameters
    ----------
    tables : leave-one-out tables
    index : class of each row
    weight : of each row's log likelihood
    keep_labels : leave out the maps that can change labels, unless they are together more probable than the others
    """
    _, c, n = tables.t.shape
    identity = Kind(identity=True)
    if c == 1 or n == 0:
        return (with_nodes(FittedMap(identity, np.zeros(0), np.zeros((0, 0)), 0.0, 0.0), 1.0),)
    y = one_hot_rows(index, c)
    own = np.log(np.maximum(np.einsum("cn,cn->n", identity.proba(tables, np.zeros(0)), y), 1e-300))
    plain = float(weight @ own)
    unchanged = FittedMap(identity, np.zeros(0), np.zeros((0, 0)), plain, plain)

    fitted: dict[Kind, FittedMap] = {}
    prepared: dict[tuple[bool, float], Prepared] = {}

    def fit(kind: Kind) -> FittedMap:
        if kind not in fitted:
            like = kind.joint, kind.g
            prepared[like] = dataclasses.replace(prepared.get(like) or Prepared.of(kind, tables), kind=kind)
            fitted[kind] = fit_map(prepared[like], y, weight, _start(prepared[like], fitted, y, weight))
        return fitted[kind]

    g = 0.0
    if tables.log_length is not None:
        g = max(_EXPONENTS, key=lambda g: fit(dataclasses.replace(KEEPING[0], g=g)).log_evidence)
    keeping = [fit(dataclasses.replace(kind, g=g)) for kind in KEEPING]
    # of the free maps those whose counterpart that keeps labels is not hopeless
    hope = max(one.log_evidence for one in keeping[1:]) - _HOPELESS
    chosen = [kind for kind, like in zip(FREE, keeping[1:], strict=True) if like.log_evidence > hope]
    groups = {
        "identity": [unchanged],
        "keeping": keeping,
        "free": [fit(dataclasses.replace(kind, g=g)) for kind in chosen],
    }
    score = {
        name: [one.log_evidence + math.log(_PRIOR[name] / _SIZE[name]) for one in group]
        for name, group in groups.items()
    }
    if n >= _ISOTONIC_ROWS:
        # it has no evidence; its expected gain over the best map on other rows is added to the evidence of that map. A
        # likelihood is too good by one nat for each parameter (Akaike), and a step counts as one (Meyer & Woodroofe)
        best = max(groups["free"] + groups["keeping"], key=lambda one: one.log_evidence)
        p = best.kind.proba(tables, best.mode)
        steps = fit_isotonic(best, p, y, weight)
        own = np.log(np.maximum(np.einsum("cn,cn->n", steps.of(p), y), 1e-300))
        n_steps = sum(len(one) for one in steps.share)
        gain = float(weight @ own) - n_steps - (best.log_likelihood - len(best.mode))
        score["isotonic"] = [best.log_evidence + gain + math.log(_PRIOR["isotonic"])]
        groups["isotonic"] = [FittedMap(steps, np.zeros(0), np.zeros((0, 0)), best.log_evidence + gain, 0.0)]
    free = [value for name in score if name in ("free", "isotonic") for value in score[name]]
    if keep_labels and np.logaddexp.reduce(score["identity"] + score["keeping"]) >= np.logaddexp.reduce(free):
        groups = {name: group for name, group in groups.items() if name in ("identity", "keeping")}
    together = [one for group in groups.values() for one in group]
    log_share = np.concatenate([score[name] for name in groups])
    share = np.exp(log_share - log_share.max())
    share[share < _LEAST_WEIGHT * share.sum()] = 0
    share /= share.sum()
    return tuple(
        with_nodes(together[at], float(share[at])) for at in np.argsort(-share, kind="stable") if share[at] > 0
    )


def _start(prepared: Prepared, fitted: dict[Kind, FittedMap], y: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Where the search begins: at the parameters of the maps fitted so far that are most like this one."""
    kind, (k, c, _) = prepared.kind, prepared.m.shape
    theta, _ = kind.prior(k, c)
    if not fitted:
        theta[:k] = starting_power(prepared, y, weight)
        return theta
    own = kind.places(k, c)
    for one in sorted(fitted.values(), key=lambda one: [getattr(one.kind, n) == getattr(kind, n) for n in _LIKE]):
        for name, at in one.kind.places(k, c).items():
            if name in own:
                theta[own[name]] = one.mode[at]
    return theta


def log_density(
    prepared: Prepared, theta: Float[np.ndarray, " p"], y: Float[np.ndarray, "c n"], weight: Float[np.ndarray, " n"]
) -> float:
    """log p(y, θ | t) in nats, constants of the prior included."""
    mean, sd = prepared.kind.prior(len(prepared.m), prepared.m.shape[1])
    z = (theta - mean) / sd
    log_prior = -0.5 * float(z @ z) - float(np.log(sd).sum()) - 0.5 * len(z) * math.log(2 * math.pi)
    return log_prior - prepared.derivatives(theta, y, weight)[0]


def with_nodes(fit: FittedMap, share: float) -> CalibrationMap:
    """A map of the average, with the draws of its posterior that predictions average over."""
    p = len(fit.mode)
    nodes = fit.mode[None]
    if p:
        z = np.random.default_rng(0).standard_normal((_PAIRS, p))
        nodes = fit.mode + np.concatenate([z, -z]) @ np.linalg.cholesky(fit.covariance).T
    return CalibrationMap(fit.kind, share, fit.mode, fit.covariance, nodes, fit.log_evidence)


def starting_power(prepared: Prepared, y: Float[np.ndarray, "c n"], weight: Float[np.ndarray, " n"]) -> float:
    """log w with the smallest loss of a power alone, the same for all parts, on a coarse grid."""
    one = prepared[:: max(1, len(weight) // 500)]
    y, weight, m = y[:, :: max(1, len(weight) // 500)], weight[:: max(1, len(weight) // 500)], one.m.sum(0)

    def loss(u: float) -> float:
        p = np.einsum("cn,cn->n", softmax(math.exp(u) * m + one.offset), y)
        return -float(weight @ np.log(np.maximum(p, 1e-300))) + u**2 / 2

    return float(min(np.arange(0.5, -8.1, -0.75), key=loss))


def fit_isotonic(base: FittedMap, p: np.ndarray, y: np.ndarray, weight: np.ndarray) -> Isotonic:
    """An isotonic map, fitted to probabilities p (c, n) of the base and one-hot labels."""
    chosen = slice(1, 2) if len(p) == 2 else slice(None)
    log_odds, share = _isotonic_steps(logit(p[chosen]), y[chosen], weight)
    return Isotonic(base.kind, base.mode, tuple(log_odds), tuple(share))


def _isotonic_steps(score: np.ndarray, y: np.ndarray, weight: np.ndarray) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Steps of isotonic regressions of each row of y on that of a score (k, n): mean score and smoothed share of y.

    One regression has all rows: in each y is larger by 2 than in the one before, so that no step crosses over.
    """
    order = np.lexsort((-y, score), axis=1)  # ones first among rows of the same score, so that a step holds them all
    score, y = (np.take_along_axis(one, order, 1).ravel() for one in (score, y))
    curve, weight = np.repeat(np.arange(len(order)), order.shape[1]), weight[order].ravel()
    overall = np.bincount(curve, weight * y) / np.bincount(curve, weight)
    level = isotonic_regression(y + 2.0 * curve, sample_weight=weight)
    step = np.append(0, np.cumsum(np.diff(level) > 0))
    n, ones, total = (np.bincount(step, weight * value) for value in (np.ones_like(y), y, score))
    first = step[:: order.shape[1]]
    share = (ones + np.repeat(overall, np.diff(np.append(first, len(n))))) / (n + 1)
    return np.split(total / n, first[1:]), np.split(share, first[1:])
