"""Posterior draws as ArviZ data: exact from the closed form, or by NUTS on the NumPyro twin."""

from functools import partial
from typing import Any

import numpy as np
import xarray as xr

from ..core.random import categorical, generator
from ..core.special import log_normalize
from ..naive_bayes import NaiveBayes, Parameters, Rows
from .nuts import pilot_draws, run_chains, start_points
from .to_arviz import as_arviz, dataset

_PILOT = 200  # exact draws behind the metric of NUTS
_DISPERSED = 3.0  # how far from the posterior, in its standard deviations, chains start


def sample_posterior(
    estimator: Any,
    draws: int,
    seed: int,
    method: str,
    *,
    X: Any,
    y: Any,
    chains: int,
    warmup: int,
    progress_bar: bool,
) -> Any:
    """See `AbstractNB.sample_posterior`."""
    if method not in ("exact", "nuts"):
        raise ValueError(f"`method` is {method!r}; choose 'exact' or 'nuts'")
    if (X is None) != (y is None):
        raise ValueError("`X` and `y` go together; one of them is missing")
    for name, value in (("draws", draws), ("chains", chains)):
        if value < 1:
            raise ValueError(f"`{name}` is {value}; at least 1 is needed")
    prior, posterior = estimator.prior_, estimator.posterior_
    proper = not prior.is_improper
    if method == "nuts":
        prior.refuse_improper("draws from its generative model, which method='nuts' needs (method='exact' does not)")
    rows = None if X is None else estimator._encode(X)
    index = None if y is None else estimator._class_index(np.asarray(y))
    rng = generator(seed)
    if method == "exact":
        theta = posterior.sample(rng, (chains, draws))
    else:
        if rows is None:
            model = partial(prior.model_from_statistics, estimator.statistics_)
        else:
            model = partial(prior.model, dense(rows), index)
        pilot, coupled = pilot_draws(posterior, rng, max(_PILOT, chains))
        starts, metric = start_points(model, pilot, chains, _DISPERSED, coupled)
        sites = run_chains(model, starts, metric, seed, draws=draws, warmup=warmup, progress_bar=progress_bar)
        theta = posterior.from_sites(sites)
    dims, coords = layout(estimator, posterior)
    groups = {"posterior": dataset(posterior.to_sites(theta), dims, coords)}
    if proper:
        groups["prior"] = dataset(prior.to_sites(prior.sample(rng, (chains, draws))), dims, coords)
    if rows is not None:
        groups |= pointwise(estimator, posterior, theta, rows, index, rng)
    return as_arviz({name: data for name, data in groups.items() if data})


def pointwise(
    estimator: Any, posterior: NaiveBayes, theta: Parameters, rows: Rows, index: Any, rng: np.random.Generator
) -> dict[str, xr.Dataset]:
    """Groups that speak of single rows: log p(x_i, y_i | θ), a label drawn from p(y | x_i, θ), the label observed."""
    joint = posterior.log_joint(rows, theta)  # (chain, draw, n, c)
    chosen = np.take_along_axis(joint, index[None, None, :, None], axis=-1)[..., 0]
    drawn = categorical(rng, log_normalize(joint))
    coords = {"row": np.arange(len(index))}
    dims = {"y": ["row"], "joint": ["row"]}
    return {
        "posterior_predictive": dataset({"y": estimator.classes_[drawn]}, dims, coords),
        "log_likelihood": dataset({"joint": chosen}, dims, coords),
        "observed_data": dataset({"y": estimator.classes_[index]}, dims, coords, sampled=False),
    }


def layout(estimator: Any, model: NaiveBayes) -> tuple[dict[str, list[str]], dict[str, Any]]:
    """Dimension names of every site and the coordinates of every dimension."""
    dims: dict[str, list[str]] = {"pi": ["class"]}
    coords: dict[str, Any] = {"class": estimator.classes_}
    for name, block in model.blocks.items():
        coords |= estimator._feature_labels(name)
        for parameter, value in block.marginals().items():
            dims[model.site(name, parameter)] = estimator._dims(name, parameter, np.ndim(value.mean()))
    return dims, coords


def dense(rows: Rows) -> dict[str, np.ndarray]:
    """Rows with sparse blocks written out: NumPyro takes dense arrays."""
    return {name: x.toarray() if hasattr(x, "toarray") else x for name, x in rows.items()}
