"""Posterior draws as ArviZ data: exact from the closed form, or by NUTS on the NumPyro twin."""

from functools import partial
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from ..core.random import categorical, generator
from ..core.special import log_normalize
from ..core.supports import check_choice, check_least
from ..naive_bayes import CLASS, NaiveBayes, Parameters, Rows, sum_of_pieces
from .to_arviz import as_arviz, dataset


def sample_posterior(
    estimator: Any, draws: int, seed: int, method: str, *, X: Any, y: Any, chains: int, warmup: int
) -> Any:
    """Draws of the parameters as ArviZ data; see `AbstractNB.sample_posterior`.

    Parameters
    ----------
    estimator : a fitted estimator
    seed : of all draws
    method : "exact" for independent draws from the closed form, "nuts" for chains on the NumPyro model
    X, y : rows and labels of which predictions and log likelihoods are wanted too; None for none
    chains, draws, warmup : number of chains, draws of each, and steps of NUTS before them
    """
    check_choice("method", method, ("exact", "nuts"))
    if X is None and y is not None:
        raise ValueError("`y` is given without `X`; give both, because labels belong to rows")
    check_least(1, draws=draws, chains=chains)
    prior = estimator.prior_
    posterior = estimator.posterior_
    if method == "nuts":  # an error where the prior is improper
        prior.require_proper("draws from its generative model, which method='nuts' needs (method='exact' does not)")

    # the rows and labels that are given, if any
    data = _Data(
        rows=None if X is None else estimator.encode(X),
        label=None if y is None else estimator.class_index(y),
    )
    if data.rows is not None and data.label is not None:
        n_rows = next(iter(data.rows.values())).shape[0]
        if n_rows != len(data.label):
            raise ValueError(f"`X` has {n_rows} rows, but `y` has {len(data.label)} labels; give each row its label")

    # draws of the posterior, parameters (chain, draw, …) by block
    rng = generator(seed)
    if method == "exact":
        drawn = _Drawn(theta=posterior.sample(rng, (chains, draws)), sample_stats={})
    else:
        drawn = _draw_by_nuts(estimator, data, rng, seed, chains, draws=draws, warmup=warmup)

    # as many draws of the prior, always exact; an improper prior is no density to draw from, and gives no such groups
    prior_draws = None if prior.is_improper else prior.sample(rng, (chains, draws))

    # datasets of xarray by the names that ArviZ has for them; those without variables are left out
    groups = _parameter_groups(estimator, drawn, prior_draws)
    if data.rows is not None:
        groups |= _row_groups(estimator, data, drawn, prior_draws, rng)
    return as_arviz({name: group for name, group in groups.items() if group})


class _Data(NamedTuple):
    """What `sample_posterior` was given, encoded.

    Fields
    ------
    rows : n rows, by block; None if there are none
    label : (n,) class of each, 0 … c − 1; None if there are none
    """

    rows: Rows | None
    label: np.ndarray | None


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
    estimator: Any, data: _Data, rng: np.random.Generator, seed: int, chains: int, **settings: int
) -> _Drawn:
    """Draws of NumPyro's NUTS, from the rows where both they and their labels are given, else from the statistics.

    Both models have the same posterior if these are the rows of the fit, as the statistics are sufficient.

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
    sites, sample_stats = run_nuts(Twin(model), estimator.posterior_, rng, seed, chains, **settings)
    return _Drawn(theta=estimator.posterior_.from_sites(sites), sample_stats=sample_stats)


def _parameter_groups(estimator: Any, drawn: _Drawn, prior_draws: Parameters | None) -> dict[str, xr.Dataset]:
    """ArviZ's groups of parameters: draws of the posterior and the prior, and the prior density of the former.

    Parameters
    ----------
    drawn : draws of the posterior
    prior_draws : (chain, draw, …) by block; None where the prior is improper

    Returns
    -------
    datasets "posterior", "sample_stats" of NUTS, and "prior" and "log_prior" of a prior that is proper
    """
    prior = estimator.prior_
    posterior = estimator.posterior_
    sample_stats = drawn.sample_stats
    library = "numpyro" if sample_stats else "bayesnb"  # that made the draws; exact ones have no statistics
    dims, coords = layout(estimator, posterior)  # names of the axes of each site, and labels along each axis
    groups = {"posterior": dataset(posterior.to_sites(drawn.theta), dims, coords, library=library)}
    if sample_stats:
        no_dims: dict[str, list[str]] = {name: [] for name in sample_stats}  # besides chain and draw
        groups["sample_stats"] = dataset(sample_stats, no_dims, {}, library=library)
    if prior_draws is not None:
        groups["prior"] = dataset(prior.to_sites(prior_draws), dims, coords)
        groups["log_prior"] = log_prior(prior, drawn.theta)
    return groups


def _row_groups(
    estimator: Any, data: _Data, drawn: _Drawn, prior_draws: Parameters | None, rng: np.random.Generator
) -> dict[str, xr.Dataset]:
    """ArviZ's groups of rows: labels drawn from p(y | x_i, θ) of each draw, and log p(x_i, y_i | θ).

    Parameters
    ----------
    data : rows, and their labels if there are any
    drawn : draws of the posterior
    prior_draws : (chain, draw, …) by block; None where the prior is improper
    rng : source of the labels that are drawn

    Returns
    -------
    datasets "posterior_predictive", "prior_predictive" of a prior that is proper, and of rows with labels
    "observed_data" and "log_likelihood"
    """
    posterior = estimator.posterior_
    joint = np.asarray(posterior.log_joint(data.rows, drawn.theta))  # (chain, draw, n, c)
    coords = {"row": np.arange(joint.shape[-2]), "class": estimator.classes_}

    # a label of each row for every draw of θ, from the posterior and from the prior. The log joint at given θ depends
    # on θ alone, so that the posterior may compute it for draws of the prior too
    tables = {"posterior_predictive": joint}
    if prior_draws is not None:
        tables["prior_predictive"] = posterior.log_joint(data.rows, prior_draws)
    groups = {}
    for name, table in tables.items():
        labels = categorical(rng, log_normalize(table))  # (chain, draw, n)
        groups[name] = dataset({"y": labels}, {"y": ["row"]}, coords, also=("class",))

    label = data.label
    if label is None:
        return groups
    groups["observed_data"] = dataset({"y": label}, {"y": ["row"]}, coords, sampled=False, also=("class",))

    # a kernel density has no likelihood of a training row: its density there contains the row's own kernel, whatever θ
    # is. Importance sampling cannot remove the row from it, so ArviZ gets none
    has_likelihood = not any(block.evidence_error for block in posterior.blocks.values())
    if has_likelihood:
        # log p(x_i, y_i | θ): of the c classes in the joint that of the row's label
        column_of_label = label[None, None, :, None]  # (1, 1, n, 1), with the axes of the joint
        of_label = np.take_along_axis(joint, column_of_label, axis=-1)[..., 0]  # (chain, draw, n)
        groups["log_likelihood"] = dataset({"y": of_label}, {"y": ["row"]}, coords)
    return groups


def log_prior(prior: NaiveBayes, theta: Parameters) -> xr.Dataset:
    """Log prior density of each draw: of the class probabilities, `pi`, and of the parameters of each block.

    Parameters
    ----------
    theta : draws by block, (chain, draw, …) each; a block without parameters has none
    """
    log_density = {}
    if prior.classes.marginals():  # there are none of probabilities that are fixed
        log_density["pi"] = prior.classes.log_prob(theta[CLASS])
    for name, block in prior.blocks.items():
        if theta[name]:
            log_density[name] = sum_of_pieces(block, block.log_prob(theta[name]))  # (chain, draw)
    return dataset(log_density, {name: [] for name in log_density}, {})


def layout(estimator: Any, model: NaiveBayes) -> tuple[dict[str, list[str]], dict[str, Any]]:
    """Dimension names of every NumPyro site, and the coordinates of every dimension, as xarray takes them.

    Such as {"pi": ["class"], "mu": ["class", "feature"]}, and {"class": labels of the classes, "feature": names}.

    Parameters
    ----------
    model : the prior or the posterior of the estimator
    """
    dims: dict[str, list[str]] = {"pi": ["class"]}
    coords: dict[str, Any] = {"class": estimator.classes_}
    for name, block in model.blocks.items():
        coords |= estimator.block_labels(name)  # names of features, and of levels
        for parameter, marginal in block.marginals().items():
            n_axes = np.ndim(marginal.mean())
            dims[model.site(name, parameter)] = estimator.block_dims(name, parameter, n_axes)
    return dims, coords


def dense(rows: Rows) -> dict[str, np.ndarray]:
    """Rows with sparse blocks written out: NumPyro takes dense arrays."""
    return {name: x.toarray() if hasattr(x, "toarray") else x for name, x in rows.items()}
