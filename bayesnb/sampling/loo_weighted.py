"""Leave-one-out under a weighted set of models: see `bayesnb.weighted`."""

from typing import Any

import numpy as np

from ..core.arrays import Sparse
from ..naive_bayes import Rows
from .complements import remaining


def weighted_tables(
    estimator: Any, rows: Rows, r: Sparse, place: np.ndarray | None, refit: bool
) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """log p(y = c | D₋ᵢ), (n, c), and log p(x_i,part | y = c, D₋ᵢ), (n, c) by name of the part.

    Rows of weight one leave in closed form. Others, and groups of rows, leave the statistics, from which the weights
    are computed anew.

    Parameters
    ----------
    place : (n,) group of each row, 0 … g−1; None where each row leaves alone
    refit : whether the prior is made anew
    """
    parts, posterior, prior = estimator.part_blocks(), estimator.posterior_, estimator.prior_
    dense = r.toarray()
    if place is None and not refit and np.isin(dense, (0, 1)).all():
        log_prior, tables = posterior.log_leave_one_out(rows, dense, list(parts.values()))
        return log_prior, dict(zip(parts, tables, strict=True))
    place = np.arange(len(dense)) if place is None else place
    log_prior, found = np.empty(dense.shape), {name: np.empty(dense.shape) for name in parts}
    for group in np.unique(place):
        at = np.flatnonzero(place == group)
        own = {name: x[at].astype(float) for name, x in rows.items()}
        left = remaining(estimator.statistics_, prior.suffstats(own, r[at]))
        model = (estimator.prior_for(left) if refit else prior).update(left)
        log_prior[at] = model.classes.log_predictive()
        for name, table in zip(parts, model.log_parts(own, list(parts.values())), strict=True):
            found[name][at] = table
    return log_prior, found
