"""Posterior draws as ArviZ data: exact from the closed form, or by NUTS on the NumPyro twin."""

from functools import partial
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from ..core.progress import progress
from ..core.random import categorical, generator
from ..core.special import log_normalize
from ..core.supports import check_choice, check_least
from ..naive_bayes import CLASS, NaiveBayes, Parameters, Rows, sum_of_pieces
from .to_arviz import as_arviz, dataset


def sample_posterior(
    estimator: Any, draws: int, seed: int, method: str, *, X: Any, y: Any, chains: int, warmup: int
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
    data = _Data(
        rows=None if X is None else estimator.encode(X),
        label=None if y is None else estimator.class_index(y),
    )
    if data.rows is not None and data.label is not None:
        n_rows = next(iter(data.rows.values())).shape[0]
        if n_rows != len(data.label):
            raise ValueError(f"`X` has {n_rows} rows, but `y` has {len(data.label)} labels; give each row its label")
    rng = generator(seed)
    if method == "exact":
        drawn = _Drawn(posterior.sample(rng, (chains, draws)), {})
    else:
        drawn = _draw_by_nuts(estimator, data, rng, seed, chains, draws=draws, warmup=warmup)
    prior_draws = None if prior.is_improper else prior.sample(rng, (chains, draws))
    groups = _parameter_groups(estimator, drawn, prior_draws)
    if data.rows is not None:
        groups |= _row_groups(estimator, data, drawn, prior_draws, rng)
    return as_arviz({name: group for name, group in groups.items() if group})


class _Data(NamedTuple):
    """Rows by block, and the class of each; either may be missing."""

    rows: Rows | None
    label: np.ndarray | None


class _Drawn(NamedTuple):
    """Draws of the parameters, (chain, draw, …), and what NUTS says of each; nothing of exact draws."""

    theta: Parameters
    sample_stats: dict[str, np.ndarray]


def _draw_by_nuts(
    estimator: Any, data: _Data, rng: np.random.Generator, seed: int, chains: int, **settings: int
) -> _Drawn:
    """Draws of NumPyro's NUTS, from the rows where both they and their labels are given, else from the statistics."""
    from .chains import Twin, run_nuts  # NumPyro is loaded where it runs; exact draws do without

    prior = estimator.prior_
    if data.rows is not None and data.label is not None:
        model = partial(prior.model, dense(data.rows), data.label)
    else:
        model = partial(prior.model_from_statistics, estimator.statistics_)
    with progress(f"{chains} chains of NumPyro's NUTS"):
        sites, sample_stats = run_nuts(Twin(model), estimator.posterior_, rng, seed, chains, **settings)
    return _Drawn(estimator.posterior_.from_sites(sites), sample_stats)


def _parameter_groups(estimator: Any, drawn: _Drawn, prior_draws: Parameters | None) -> dict[str, xr.Dataset]:
    """ArviZ's groups of parameters."""
    prior = estimator.prior_
    posterior = estimator.posterior_
    sample_stats = drawn.sample_stats
    library = "numpyro" if sample_stats else "bayesnb"
    dims, coords = layout(estimator, posterior)
    groups = {"posterior": dataset(posterior.to_sites(drawn.theta), dims, coords, library=library)}
    if sample_stats:
        groups["sample_stats"] = dataset(sample_stats, {name: [] for name in sample_stats}, {}, library=library)
    if prior_draws is not None:
        groups["prior"] = dataset(prior.to_sites(prior_draws), dims, coords)
        groups["log_prior"] = log_prior(prior, drawn.theta)
    return groups


def _row_groups(
    estimator: Any, data: _Data, drawn: _Drawn, prior_draws: Parameters | None, rng: np.random.Generator
) -> dict[str, xr.Dataset]:
    """ArviZ's groups of rows: labels drawn from p(y | x_i, θ) of each draw, and log p(x_i, y_i | θ)."""
    posterior = estimator.posterior_
    joint = np.asarray(posterior.log_joint(data.rows, drawn.theta))  # (chain, draw, n, c)
    coords = {"row": np.arange(joint.shape[-2]), "class": estimator.classes_}
    tables = {"posterior_predictive": joint}
    if prior_draws is not None:
        tables["prior_predictive"] = posterior.log_joint(data.rows, prior_draws)
    groups = {}
    for name, table in tables.items():
        labels = categorical(rng, log_normalize(table))
        groups[name] = dataset({"y": labels}, {"y": ["row"]}, coords, also=("class",))
    label = data.label
    if label is not None:
        groups["observed_data"] = dataset({"y": label}, {"y": ["row"]}, coords, sampled=False, also=("class",))
        # a kernel density has no likelihood of a training row: its density there contains the row's own kernel,
        # whatever θ is. Importance sampling cannot remove the row from it, so ArviZ gets none
        if not any(block.evidence_error for block in posterior.blocks.values()):
            of_label = np.take_along_axis(joint, label[None, None, :, None], axis=-1)[..., 0]
            groups["log_likelihood"] = dataset({"y": of_label}, {"y": ["row"]}, coords)
    return groups


def log_prior(prior: NaiveBayes, theta: Parameters) -> xr.Dataset:
    """Log prior density of each draw: of the class probabilities, `pi`, and of the parameters of each block."""
    log_density = {}
    if prior.classes.marginals():
        log_density["pi"] = prior.classes.log_prob(theta[CLASS])
    for name, block in prior.blocks.items():
        if theta[name]:
            log_density[name] = sum_of_pieces(block, block.log_prob(theta[name]))
    return dataset(log_density, {name: [] for name in log_density}, {})


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
