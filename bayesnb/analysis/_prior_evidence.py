"""The evidence as a function of hyperparameters: their coordinates, units and limits, and the prior at coordinates.

The coordinates are those of `prior_fitting`.
"""

from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..base import as_jax
from ..core.supports import AMOUNT, Field
from ..estimators.gaussian import column_scale
from ..statistics import Moments, Totals

Coordinates = dict[str, Any]  # by hyperparameter: (), (d,) or (c, 1)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class EvidenceOfPrior:
    """The evidence as a function of the coordinates of the hyperparameters.

    Fields
    ------
    blocks, stats    the estimator's own prior and the statistics, by block
    columns          positions among all features of the columns of each block
    start : (c, d)   each hyperparameter as the estimator has it
    unit : (c, d)    of each hyperparameter
    centre : (c, d)  where the coordinate of m is 0
    free : (d,)      columns whose prior is fitted; one that never varies keeps the firm prior that silences it
    """

    blocks: dict[str, Any]
    stats: dict[str, Any]
    columns: dict[str, Any]
    start: dict[str, Any]
    unit: dict[str, Any]
    centre: Any
    free: Any

    def hyperparameters(self, z: Coordinates) -> dict[str, Any]:
        """Every hyperparameter (c, d) at the coordinates; those without a coordinate as the estimator has them."""
        found, declared = dict(self.start), declared_fields(self.blocks)
        for name in sorted(z, key=lambda name: declared[name].per != ""):  # a shape comes before what is relative to it
            if is_centre(declared[name]):
                value = self.centre + self.unit[name] * z[name]
            else:
                value = self.unit[name] * jnp.exp(z[name])
                if declared[name].per in z:
                    value = value * found[declared[name].per]
            found[name] = jnp.where(self.free, value, self.start[name])
        return found

    def prior(self, z: Coordinates) -> dict[str, Any]:
        """Prior blocks at the coordinates."""
        values = self.hyperparameters(z)
        return {name: _with_values(block, values, self.columns[name]) for name, block in self.blocks.items()}

    def log_evidence(self, z: Coordinates) -> Any:
        """log p(X | y, η), nats: all of the evidence that depends on η."""
        return sum(block.log_marginal(self.stats[name]).sum() for name, block in self.prior(z).items())


def declared_fields(blocks: dict[str, Any]) -> dict[str, Field]:
    """What the families declare of each hyperparameter, by its public name."""
    return {
        name: block.fields_[fields[0]] for block in blocks.values() for name, fields in block.hyperparameters.items()
    }


def is_centre(field: Field) -> bool:
    """Whether a hyperparameter is the centre of a density: any real number, in the unit of the feature."""
    return field.support.kind == "real"


def _with_values(block: Any, values: dict[str, Any], columns: Any) -> Any:
    """A block with hyperparameters (c, d) of all features in the place of its own."""
    changes = {}
    for name, fields in block.hyperparameters.items():
        for field in fields:
            own, value = getattr(block, field), values[name][:, columns]
            if own.ndim == 1:  # shared by the classes
                value = value[0]
            changes[field] = jnp.broadcast_to(value[..., None] if own.ndim == 3 else value, own.shape)
    return replace(block, **changes)


def evidence_of_prior(nb: Any) -> EvidenceOfPrior:
    """The estimator's own prior, its statistics, and the units of its hyperparameters, on the host."""
    blocks = nb.prior_.blocks
    shape = len(nb.classes_), nb.n_features_in_
    columns = nb.block_columns()
    start: dict[str, np.ndarray] = {}
    for block_name, block in blocks.items():
        for name, fields in block.hyperparameters.items():
            own = getattr(block, fields[0])
            start.setdefault(name, np.empty(shape))[:, columns[block_name]] = own[..., 0] if own.ndim == 3 else own
    unit = {name: np.ones(shape) for name in start}
    free, centre = np.ones(shape[1], bool), np.zeros(shape)
    for block_name, block in blocks.items():
        held, at = nb.statistics_.blocks[block_name], columns[block_name]
        declared = declared_fields({block_name: block})
        amounts = [name for name, field in declared.items() if field.support is AMOUNT]
        if isinstance(held, Moments):
            mean, spread = column_scale(held)
            free[at], centre[:, at] = spread > 0, mean
            safe = np.where(spread > 0, spread, 1)
            for name, field in declared.items():
                if is_centre(field):
                    unit[name][:, at] = np.sqrt(safe)
                elif name in amounts:
                    unit[name][:, at] = safe
        elif isinstance(held, Totals) and amounts:
            free[at] = held.total.sum(0) > 0
    if nb.get_params(deep=False).get("beta", 1) is None:
        unit["beta"] = start["beta"] / start["alpha"]
    if not free.any():
        raise ValueError("`X` has only constant columns, so there is no prior to fit; give a column that varies")
    return EvidenceOfPrior(blocks, nb.statistics_.blocks, columns, start, unit, centre, free)


def start_coordinates(
    problem: EvidenceOfPrior, names: list[str], over: str, bounds: tuple[float, float]
) -> tuple[Coordinates, dict[str, tuple[float, float]]]:
    """Coordinates of the estimator's own prior, averaged where it has more of them than `over`, and their limits."""
    z, limits, declared = {}, {}, declared_fields(problem.blocks)
    for name in names:
        value, per = problem.start[name], declared[name].per
        if is_centre(declared[name]):
            value, limits[name] = (value - problem.centre) / problem.unit[name], (-np.inf, np.inf)
        else:
            value = np.log(value / problem.unit[name] / (problem.start[per] if per in names else 1))
            limits[name] = np.log(bounds[0]), np.log(bounds[1])
        if over == "feature":
            value = np.where(problem.free, value.mean(0), 0)
        else:
            value = value[:, problem.free]
            value = value.mean(1, keepdims=True) if over == "class" else np.asarray(value.mean())
        z[name] = np.clip(value, *limits[name])
    return z, limits


def prior_on_host(problem: EvidenceOfPrior, z: Coordinates) -> dict[str, Any]:
    """Prior blocks at the coordinates as NumPy arrays, whatever precision the session has."""
    with jax.enable_x64(True):
        return jax.tree.map(
            lambda leaf: np.asarray(leaf, float), replace(problem, start=as_jax(problem.start)).prior(z)
        )
