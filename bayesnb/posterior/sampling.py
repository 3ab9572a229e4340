"""Posterior draws as ArviZ data: exact from the closed form, or by NUTS on the NumPyro twin."""

from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ..models.naive_bayes import Parameters, Rows
from ..numerics.progress import progress
from ..numerics.random import generator
from ..numerics.supports import check_choice, check_least
from .arviz_groups import RowData, parameter_groups, row_groups
from .to_arviz import as_arviz


def sample_posterior(
    estimator: Any, draws: int, seed: int, method: str, *, X: Any, y: Any, chains: int, warmup: int, sites: bool
) -> Any:
    """Draws of the parameters as ArviZ data; see `AbstractNB.sample_posterior`.

    ArviZ data are datasets, called groups, with names that ArviZ knows: "posterior" with the draws; "prior", if the
    prior can be drawn from; and, where rows are given, groups of predictions, rows and log likelihoods.

    Parameters
    ----------
    estimator : a fitted estimator
    seed : of all draws
    method : "exact" for independent draws from the closed form, "nuts" for chains on the NumPyro model
    X, y : rows and labels of which predictions and log likelihoods are wanted too; None for none
    chains, draws, warmup : number of chains, draws of each, and steps of NUTS before them
    sites : True adds the terms of the log likelihood of a row: that of its label, and that of each part of its cells
    """
    check_choice("method", method, ("exact", "nuts"))
    if X is None and y is not None:
        raise ValueError("`y` is given without `X`; give both, because labels belong to rows")
    check_least(1, draws=draws, chains=chains)
    prior = estimator.prior_
    posterior = estimator.posterior_
    if method == "nuts":  # an error where the prior is improper
        prior.require_proper("draws from its generative model, which method='nuts' needs (method='exact' does not)")

    data = _row_data(estimator, X, y)  # rows by block (the columns of one family), their names and their labels

    # draws of the posterior, parameters (chain, draw, …) by block
    rng = generator(seed)
    if method == "exact":
        drawn = _Drawn(theta=posterior.sample(rng, (chains, draws)), sample_stats={})
    else:
        drawn = _draw_by_nuts(estimator, data, rng, seed, chains, draws=draws, warmup=warmup)

    # as many draws of the prior, always exact. An improper prior has an infinite integral, as the flat prior on all
    # real numbers: nothing can be drawn from it, and the groups of the prior are left out
    prior_draws = None if prior.is_improper else prior.sample(rng, (chains, draws))

    # datasets of xarray by the names that ArviZ has for them; those without variables are left out
    groups = parameter_groups(estimator, drawn.theta, prior_draws, drawn.sample_stats)
    if data.rows is not None:
        groups |= row_groups(estimator, data, drawn.theta, prior_draws, rng, sites=sites)
    return as_arviz({name: group for name, group in groups.items() if group})


def _row_data(estimator: Any, X: Any, y: Any) -> RowData:
    """Rows by block, with the index of a data frame as their names, and the class index of each.

    Parameters
    ----------
    estimator : the fitted estimator
    X, y : rows and labels as a user gives them; None for none
    """
    import pandas as pd

    if X is None:
        return RowData(None, np.arange(0), None)
    rows = estimator.model_.encode(X)
    n_rows = next(iter(rows.values())).shape[0]
    names = X.index.to_numpy() if isinstance(X, pd.DataFrame) else np.arange(n_rows)
    if y is None:
        return RowData(rows, names, None)
    label = estimator.model_.class_index(y)
    if n_rows != len(label):
        raise ValueError(f"`X` has {n_rows} rows, but `y` has {len(label)} labels; give each row its label")
    return RowData(rows, names, label)


class _Drawn(NamedTuple):
    """Draws of the posterior.

    Fields
    ------
    theta : parameters by block, (chain, draw, …) each
    sample_stats : what NUTS says of each draw, (chain, draw), by ArviZ's names; nothing of exact draws
    """

    theta: Parameters
    sample_stats: dict[str, np.ndarray]


def _draw_by_nuts(
    estimator: Any, data: RowData, rng: np.random.Generator, seed: int, chains: int, **settings: int
) -> _Drawn:
    """Draws of NumPyro's NUTS, from the rows where both they and their labels are given, else from the statistics.

    Both models have the same posterior if these are the rows of the fit, as the statistics (sums over the rows of the
    fit) are sufficient.

    Parameters
    ----------
    estimator : a fitted estimator
    data : rows and labels, or neither
    rng, seed : of the starts of the chains, and of the chains
    settings : `draws` and `warmup` of each chain
    """
    from .chains import Twin, run_nuts  # NumPyro is loaded where it runs; exact draws do without

    # a NumPyro model that has its data already: a function without arguments
    prior = estimator.prior_
    if data.rows is not None and data.label is not None:
        model = partial(prior.model, dense(data.rows), data.label)
    else:
        model = partial(prior.model_from_statistics, estimator.statistics_)

    # draws (chains, draws, …) by NumPyro site, and what the sampler says of each draw
    with progress(f"{chains} chains of NumPyro's NUTS"):
        sites, sample_stats = run_nuts(Twin(model), estimator.posterior_, rng, seed, chains, **settings)
    return _Drawn(theta=estimator.posterior_.from_sites(sites), sample_stats=sample_stats)


def dense(rows: Rows) -> dict[str, np.ndarray]:
    """Rows with sparse blocks written out: NumPyro takes dense arrays."""
    return {name: x.toarray() if hasattr(x, "toarray") else x for name, x in rows.items()}
