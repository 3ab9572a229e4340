"""Posterior draws as ArviZ data: exact from the closed form, or by NUTS on the NumPyro twin."""

from functools import partial
from typing import Any

import numpy as np
import xarray as xr

from ..core.random import categorical, generator
from ..core.special import log_normalize
from ..core.supports import check_choice, check_least
from ..naive_bayes import CLASS, NaiveBayes, Parameters, Rows, sum_of_pieces
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
    check_choice("method", method, ("exact", "nuts"))
    if X is None and y is not None:
        raise ValueError("`y` is given without `X`; give both, because labels belong to rows")
    check_least(1, draws=draws, chains=chains)
    prior, posterior = estimator.prior_, estimator.posterior_
    proper = not prior.is_improper
    if method == "nuts":
        prior.refuse_improper("draws from its generative model, which method='nuts' needs (method='exact' does not)")
    rows = None if X is None else estimator.encode(X)
    index = None if y is None else estimator.class_index(np.asarray(y))
    rng = generator(seed)
    about: dict[str, np.ndarray] = {}
    if method == "exact":
        theta = posterior.sample(rng, (chains, draws))
    else:
        if rows is None or index is None:
            model = partial(prior.model_from_statistics, estimator.statistics_)
        else:
            model = partial(prior.model, dense(rows), index)
        pilot, coupled = pilot_draws(posterior, rng, max(_PILOT, chains))
        starts, metric = start_points(model, pilot, chains, _DISPERSED, coupled)
        settings: dict[str, Any] = {"draws": draws, "warmup": warmup, "progress_bar": progress_bar}
        theta = posterior.from_sites(run_chains(model, starts, metric, seed, **settings, about=about))
    library = "numpyro" if about else "bayesnb"
    dims, coords = layout(estimator, posterior)
    groups = {"posterior": dataset(posterior.to_sites(theta), dims, coords, library=library)}
    if about:
        groups["sample_stats"] = dataset(about, {name: [] for name in about}, {}, library=library)
    before = prior.sample(rng, (chains, draws)) if proper else None
    if before is not None:
        groups["prior"] = dataset(prior.to_sites(before), dims, coords)
        groups["log_prior"] = log_prior(prior, theta)
    if rows is not None:
        groups |= pointwise(estimator, posterior, theta, rows, index, rng)
        if before is not None:
            groups["prior_predictive"] = labels(estimator, posterior.log_joint(rows, before), rng)
    return as_arviz({name: data for name, data in groups.items() if data})


def pointwise(
    estimator: Any, posterior: NaiveBayes, theta: Parameters, rows: Rows, index: Any, rng: np.random.Generator
) -> dict[str, xr.Dataset]:
    """Groups that speak of single rows: a label drawn from p(y | x_i, θ); of labelled rows log p(x_i, y_i | θ) too.

    A kernel density has no such likelihood of a training row: its density there contains the row's own kernel, whatever
    θ is. Importance sampling cannot remove the row from it, so ArviZ gets none.
    """
    joint = np.asarray(posterior.log_joint(rows, theta))  # (chain, draw, n, c)
    found = {"posterior_predictive": labels(estimator, joint, rng)}
    if index is None:
        return found
    coords = {"row": np.arange(len(index)), "class": estimator.classes_}
    found["observed_data"] = dataset({"y": index}, {"y": ["row"]}, coords, sampled=False, also=("class",))
    if not any(block.no_evidence for block in posterior.blocks.values()):
        chosen = np.take_along_axis(joint, index[None, None, :, None], axis=-1)[..., 0]
        found["log_likelihood"] = dataset({"y": chosen}, {"y": ["row"]}, coords)
    return found


def labels(estimator: Any, joint: np.ndarray, rng: np.random.Generator) -> xr.Dataset:
    """Class indices drawn for each draw of θ and row, from a table (chain, draw, n, c); `class` has their names."""
    coords = {"row": np.arange(joint.shape[-2]), "class": estimator.classes_}
    return dataset({"y": categorical(rng, log_normalize(joint))}, {"y": ["row"]}, coords, also=("class",))


def log_prior(prior: NaiveBayes, theta: Parameters) -> xr.Dataset:
    """Log prior density of each draw: of the class probabilities, `pi`, and of the parameters of each block."""
    names = (*([CLASS] if prior.classes.marginals() else []), *(name for name in prior.blocks if theta[name]))
    found = {"pi" if name == CLASS else name: _log_prob(prior, name, theta) for name in names}
    return dataset(found, {name: [] for name in found}, {})


def _log_prob(model: NaiveBayes, name: str, theta: Parameters) -> np.ndarray:
    """Log density of the class probabilities, or of the parameters of a block."""
    if name == CLASS:
        return model.classes.log_prob(theta[CLASS])
    return sum_of_pieces(model.blocks[name], model.blocks[name].log_prob(theta[name]))


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
