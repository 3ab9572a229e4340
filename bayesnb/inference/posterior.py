"""Posterior draws as ArviZ data: exact from the closed form, or by NUTS on the NumPyro twin."""

from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ..core.random import generator
from ..core.supports import check_choice, check_least
from ..naive_bayes import Parameters, Rows
from .arviz_groups import RowData, parameter_groups, row_groups
from .to_arviz import as_arviz


def sample_posterior(
    estimator: Any, draws: int, seed: int, method: str, *, X: Any, y: Any, chains: int, warmup: int, sites: bool
) -> Any:
    """See `AbstractNB.sample_posterior`."""
    check_choice("method", method, ("exact", "nuts"))
    if X is None and y is not None:
        raise ValueError("`y` is given without `X`; give both, because labels belong to rows")
    check_least(1, draws=draws, chains=chains)
    prior = estimator.prior_
    posterior = estimator.posterior_
    if method == "nuts":
        prior.require_proper("draws from its generative model, which method='nuts' needs (method='exact' does not)")
    data = _row_data(estimator, X, y)
    rng = generator(seed)
    if method == "exact":
        drawn = _Drawn(posterior.sample(rng, (chains, draws)), {})
    else:
        drawn = _draw_by_nuts(estimator, data, rng, seed, chains, draws=draws, warmup=warmup)
    prior_draws = None if prior.is_improper else prior.sample(rng, (chains, draws))
    groups = parameter_groups(estimator, drawn.theta, prior_draws, drawn.sample_stats)
    if data.rows is not None:
        groups |= row_groups(estimator, data, drawn.theta, prior_draws, rng, sites=sites)
    return as_arviz({name: group for name, group in groups.items() if group})


def _row_data(estimator: Any, X: Any, y: Any) -> RowData:
    """Rows by block, with the index of a data frame as their names, and the class index of each."""
    import pandas as pd

    if X is None:
        return RowData(None, np.arange(0), None)
    rows = estimator.encode(X)
    n_rows = next(iter(rows.values())).shape[0]
    names = X.index.to_numpy() if isinstance(X, pd.DataFrame) else np.arange(n_rows)
    if y is None:
        return RowData(rows, names, None)
    label = estimator.class_index(y)
    if n_rows != len(label):
        raise ValueError(f"`X` has {n_rows} rows, but `y` has {len(label)} labels; give each row its label")
    return RowData(rows, names, label)


class _Drawn(NamedTuple):
    """Draws of the parameters, (chain, draw, …), and what NUTS says of each; nothing of exact draws."""

    theta: Parameters
    sample_stats: dict[str, np.ndarray]


def _draw_by_nuts(
    estimator: Any, data: RowData, rng: np.random.Generator, seed: int, chains: int, **settings: int
) -> _Drawn:
    """Draws of NumPyro's NUTS, from the rows where both they and their labels are given, else from the statistics."""
    from .chains import Twin, run_nuts  # NumPyro is loaded where it runs; exact draws do without

    prior = estimator.prior_
    if data.rows is not None and data.label is not None:
        model = partial(prior.model, dense(data.rows), data.label)
    else:
        model = partial(prior.model_from_statistics, estimator.statistics_)
    sites, sample_stats = run_nuts(Twin(model), estimator.posterior_, rng, seed, chains, **settings)
    return _Drawn(estimator.posterior_.from_sites(sites), sample_stats)


def dense(rows: Rows) -> dict[str, np.ndarray]:
    """Rows with sparse blocks written out: NumPyro takes dense arrays."""
    return {name: x.toarray() if hasattr(x, "toarray") else x for name, x in rows.items()}
