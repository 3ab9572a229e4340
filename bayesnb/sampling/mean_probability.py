"""The posterior mean of the class probabilities, ∫ p(y | x, θ) p(θ | D) dθ: what a credible interval belongs to.

The Bayes predictive averages the joint p(x, y | θ) over θ and then normalises; it may lie outside of the interval.
"""

import numpy as np
from scipy.special import ndtri

from ..core.arrays import Float
from ..naive_bayes import NaiveBayes, Rows
from .intervals import NODES, resolve_method, to_log_probabilities
from .points import log_joint_points, log_probability_draws, row_groups, table_shape


def mean_probabilities(nb: NaiveBayes, rows: Rows) -> Float[np.ndarray, "n c"]:
    """Posterior mean of p(y = c | x_i, θ), (n, c), by the moments or the draws behind `intervals`."""
    method, n_draws = resolve_method(nb, "auto", None)
    found = np.zeros(table_shape(nb, rows))
    if method == "draws":
        for part, log_p in log_probability_draws(nb, rows, n_draws, 0):
            found[part] = np.exp(log_p).mean(-1)
        return found
    nodes = ndtri((np.arange(NODES) + 0.5) / NODES)
    for at, classes, shapes in row_groups(nb, rows):
        where = at[:, None], classes
        if classes.shape[1] == 1:
            found[where] = 1
        elif shapes.simple:
            log_odds = shapes.two_class_log_odds(nodes)
            found[where] = np.exp(-np.logaddexp(0, np.stack([log_odds, -log_odds], 1))).mean(-1)
        else:
            for part, table in log_joint_points(shapes, n_draws, 0):
                found[at[part, None], classes[part]] = np.exp(to_log_probabilities(table)).mean(-1)
    return found
