"""Posterior draws as ArviZ data: exact from the closed form, or by NUTS on the NumPyro twin."""

from functools import partial
from typing import Any

import numpy as np
import xarray as xr

from ..core.random import categorical, generator
from ..core.special import log_normalize
from ..core.supports import check_choice, check_least
from ..naive_bayes import CLASS, NaiveBayes, Parameters, Rows, sum_of_pieces
from .chains import Twin, run_nuts
from .to_arviz import as_arviz, dataset


def sample_posterior(
    estimator: Any, draws: int, seed: int, method: str, *, X: Any, y: Any, chains: int, warmup: int
) -> Any:
    """See `AbstractNB.sample_posterior`."""
    check_choice("method", method, ("exact", "nuts"))
    if X is None and y is not None:
        raise ValueError("`y` is given without `X`; give both, because labels belong to rows")
    check_least(1, draws=draws, chains=chains)
    prior, posterior = estimator.prior_, estimator.posterior_
    if method == "nuts":
        prior.refuse_improper("draws from its generative model, which method='nuts' needs (method='exact' does not)")
    rows = None if X is None else estimator.encode(X)
    index = None if y is None else estimator.class_index(y)
    if rows is not None and index is not None:
        n_rows = next(iter(rows.values())).shape[0]
        if n_rows != len(index):
            raise ValueError(f"`X` has {n_rows} rows, but `y` has {len(index)} labels; give each row its label")
    rng = generator(seed)
    about: dict[str, np.ndarray] = {}
    if method == "exact":
        theta = posterior.sample(rng, (chains, draws))
    else:
        model = partial(prior.model_from_statistics, estimator.statistics_)
        if rows is not None and index is not None:
            model = partial(prior.model, dense(rows), index)
        sites, about = run_nuts(Twin(model), posterior, rng, seed, chains, draws=draws, warmup=warmup)
        theta = posterior.from_sites(sites)
    library = "numpyro" if about else "bayesnb"
    dims, coords = layout(estimator, posterior)
    groups = {"posterior": dataset(posterior.to_sites(theta), dims, coords, library=library)}
    if about:
        groups["sample_stats"] = dataset(about, {name: [] for name in about}, {}, library=library)
    before = None if prior.is_improper else prior.sample(rng, (chains, draws))
    if before is not None:
        groups["prior"] = dataset(prior.to_sites(before), dims, coords)
        groups["log_prior"] = log_prior(prior, theta)
    if rows is not None:
        # labels drawn from p(y | x_i, θ) of each draw, and log p(x_i, y_i | θ). A kernel density has no such likelihood
        # of a training row: its density there contains the row's own kernel, whatever θ is. Importance sampling cannot
        # remove the row from it, so ArviZ gets none
        joint = np.asarray(posterior.log_joint(rows, theta))  # (chain, draw, n, c)
        coords = {"row": np.arange(joint.shape[-2]), "class": estimator.classes_}
        tables = {"posterior_predictive": joint}
        if before is not None:
            tables["prior_predictive"] = posterior.log_joint(rows, before)
        for name, table in tables.items():
            drawn = categorical(rng, log_normalize(table))
            groups[name] = dataset({"y": drawn}, {"y": ["row"]}, coords, also=("class",))
        if index is not None:
            groups["observed_data"] = dataset({"y": index}, {"y": ["row"]}, coords, sampled=False, also=("class",))
            if not any(block.no_evidence for block in posterior.blocks.values()):
                chosen = np.take_along_axis(joint, index[None, None, :, None], axis=-1)[..., 0]
                groups["log_likelihood"] = dataset({"y": chosen}, {"y": ["row"]}, coords)
    return as_arviz({name: data for name, data in groups.items() if data})


def log_prior(prior: NaiveBayes, theta: Parameters) -> xr.Dataset:
    """Log prior density of each draw: of the class probabilities, `pi`, and of the parameters of each block."""
    found = {"pi": prior.classes.log_prob(theta[CLASS])} if prior.classes.marginals() else {}
    for name, block in prior.blocks.items():
        if theta[name]:
            found[name] = sum_of_pieces(block, block.log_prob(theta[name]))
    return dataset(found, {name: [] for name in found}, {})


def layout(estimator: Any, model: NaiveBayes) -> tuple[dict[str, list[str]], dict[str, Any]]:
    """Dimension names of every site and the coordinates of every dimension."""
    dims: dict[str, list[str]] = {"pi": ["class"]}
    coords: dict[str, Any] = {"class": estimator.classes_}
    for name, block in model.blocks.items():
        coords |= estimator.block_labels(name)
        for parameter, value in block.marginals().items():
            dims[model.site(name, parameter)] = estimator.block_dims(name, parameter, np.ndim(value.mean()))
    return dims, coords


def dense(rows: Rows) -> dict[str, np.ndarray]:
    """Rows with sparse blocks written out: NumPyro takes dense arrays."""
    return {name: x.toarray() if hasattr(x, "toarray") else x for name, x in rows.items()}
