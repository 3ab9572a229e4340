"""Stacked weights of models: those of the best score of averaged probabilities.

References
----------
Yao, Vehtari, Simpson & Gelman (2018), Using stacking to average Bayesian predictive distributions, Bayesian Analysis
13, eq. (4): weights that maximise the leave-one-out score.
"""

import numpy as np
from scipy import linalg

from .arrays import Float

_GAP = 1e-10  # nats a row by which stacked weights may miss the best score
_STEPS = 200  # of Newton's method; some 20 are usual


def stacked_weights(log_p: Float[np.ndarray, "n d"], weight: Float[np.ndarray, " n"]) -> Float[np.ndarray, " d"]:
    """Weights v ≥ 0, Σ v_j = 1, that maximise the score Σ_i w_i log Σ_j v_j p_ij, which is concave in v.

    With W = Σ w_i, the gradient of the mean score is g_j = (1/W) Σ_i w_i p_ij / Σ_k v_k p_ik. The weights are best
    when g_j ≤ 1 for all j, with equality where v_j > 0 (Kuhn–Tucker). Any v with Σ v_j = 1 has a mean score of at most
    max_j g_j − 1 nats below the best: the fit stops when that is no more than 1e-10.

    Newton's method for −(1/W) Σ_i w_i log (Pv)_i + Σ_j v_j over v ≥ 0, whose minimum has Σ_j v_j = 1 by itself. The
    multipliers of v ≥ 0 are unknowns of their own (a primal-dual interior point method). The start is uniform, and
    nothing is random.

    Parameters
    ----------
    log_p : log p_ij, nats; finite
    weight : w_i, non-negative

    References
    ----------
    Kim, Carbonetto, Stephens & Anitescu (2020), A fast algorithm for maximum likelihood estimation of mixture
    proportions using sequential quadratic programming, JCGS 29, §2 (the sum that takes the place of the constraint).
    Nocedal & Wright (2006), Numerical Optimization, 2nd ed., §16.6 (the method).
    """
    d = log_p.shape[1]
    if d == 1 or not weight.sum() > 0:
        return np.full(d, 1 / d)
    share, p = weight / weight.sum(), np.exp(log_p - log_p.max(1, keepdims=True))
    v, s = np.full(d, 1 / d), np.ones(d)
    for _ in range(_STEPS):
        ratio = p / (p @ (v / v.sum()))[:, None]
        g = share @ ratio
        if g.max() - 1 <= _GAP:
            break
        ratio = p / (p @ v)[:, None]
        g = share @ ratio
        mu = 0.1 * (v @ s) / d
        hessian = ratio.T @ (share[:, None] * ratio)
        hessian[np.diag_indices(d)] += s / v
        step = linalg.solve(hessian, g - 1 + mu / v, assume_a="pos")
        of_s = (mu - s * step) / v - s
        v = v + _length(v, step) * step
        s = s + _length(s, of_s) * of_s
    return v / v.sum()


def _length(v: np.ndarray, step: np.ndarray) -> float:
    """The longest part of a step that keeps all numbers positive, at most all of it."""
    down = step < 0
    return float(min(1.0, 0.995 * np.min(-v[down] / step[down], initial=np.inf)))
