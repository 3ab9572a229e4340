"""Hyperparameters that were found, in the parameters of the estimator, and their draws as ArviZ data."""

import copy
from dataclasses import replace
from typing import Any

import jax
import numpy as np

from ..base import as_jax
from ..estimators._state import BLOCK
from ._prior_evidence import Coordinates, EvidenceOfPrior, declared_fields, is_centre, prior_on_host


def with_prior(nb: Any, problem: EvidenceOfPrior, z: Coordinates, over: str) -> tuple[Any, dict[str, Any]]:
    """The estimator with hyperparameters at the coordinates, fitted; and all of these in their shortest shapes."""
    blocks = prior_on_host(problem, z)
    with jax.enable_x64(True):
        values = replace(problem, start=as_jax(problem.start)).hyperparameters(as_jax(z))
    found = {name: _compact(np.asarray(value), over) for name, value in values.items()}
    whole = whole_prior(nb)
    parameters = found if whole is None else {whole: blocks[BLOCK]}
    if whole is None and "prior" in nb.get_params(deep=False):
        parameters = {**found, "prior": None}
    return copy.copy(nb).set_params(**parameters).with_statistics(nb.statistics_), found


def whole_prior(nb: Any) -> str | None:
    """The parameter that takes a block as the prior; None where the estimator has one for each hyperparameter."""
    own = nb.get_params(deep=False)
    if "family" in own:
        return "family"
    named = {name for block in nb.prior_.blocks.values() for name in block.hyperparameters}
    return None if named <= own.keys() else "prior"


def _compact(full: np.ndarray, over: str) -> Any:
    """A hyperparameter (c, d) as a float, (d,) or (c, 1), where it is the same for all, all classes or all columns."""
    if over == "scalar" and (full == full[0, 0]).all():
        return float(full[0, 0])
    if over == "class" and (full == full[:, :1]).all():
        return full[:, :1]
    return full[0] if (full == full[:1]).all() else full


def as_draws(nb: Any, problem: EvidenceOfPrior, sampled: dict[str, np.ndarray], over: str) -> Any:
    """Draws of the hyperparameters that have coordinates, as ArviZ data."""
    from ..inference.to_arviz import as_arviz, dataset

    flat = {name: value.reshape(-1, *value.shape[2:]) for name, value in sampled.items()}
    lead = next(iter(sampled.values())).shape[:2]
    full = problem.free.all()
    shapes, declared = {}, declared_fields(problem.blocks)
    for name in sampled:
        relative = {name, declared[name].per or name} & set(sampled)
        plain = full and not is_centre(declared[name]) and all((problem.unit[k] == 1).all() for k in relative)
        short = {"feature": "feature", "scalar": "", "class": "class"}
        wide = {"feature": "feature", "scalar": "feature", "class": "all"}
        shapes[name] = (short if plain else wide)[over]
    cut = {"": (0, 0), "feature": (0,), "class": (slice(None), 0), "all": ()}
    dims = {"": [], "feature": ["feature"], "class": ["class"], "all": ["class", "feature"]}
    with jax.enable_x64(True):
        host = replace(problem, start=as_jax(problem.start))

        @jax.jit
        def one(z: Coordinates) -> dict[str, Any]:
            values = host.hyperparameters(z)
            return {name: values[name][cut[shapes[name]]] for name in sampled}

        values = jax.lax.map(one, as_jax(flat))
    arrays = {name: np.asarray(value).reshape(*lead, *value.shape[1:]) for name, value in values.items()}
    names = getattr(nb, "feature_names_in_", None)
    coords = {"class": nb.classes_, "feature": np.arange(nb.n_features_in_) if names is None else names}
    return as_arviz({"posterior": dataset(arrays, {name: dims[shapes[name]] for name in sampled}, coords)})
