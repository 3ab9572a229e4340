"""The evidence as a function of hyperparameters: their coordinates, units and limits, and the prior at coordinates.

The coordinates are those of `prior_fitting`. All of it works on NumPy and on JAX.
"""

from dataclasses import dataclass, replace
from typing import Any

import jax
import numpy as np

from ..core.special import namespace
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
    blocks, stats    the estimator's own prior, and the statistics, by block
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

    @classmethod
    def of(cls, nb: Any) -> "EvidenceOfPrior":
        """The estimator's own prior, its statistics, and the units of its hyperparameters."""
        blocks, columns, shape = nb.prior_.blocks, nb.block_columns(), (len(nb.classes_), nb.n_features_in_)
        declared, stats = declared_fields(blocks), nb.statistics_.blocks
        start, unit = {name: np.empty(shape) for name in declared}, {name: np.ones(shape) for name in declared}
        free, centre = np.ones(shape[1], bool), np.zeros(shape)
        for key, block in blocks.items():
            held, at = stats[key], columns[key]
            for name, fields in block.hyperparameters.items():
                own = getattr(block, fields[0])
                start[name][:, at] = own[..., 0] if own.ndim == 3 else own
            amounts = [name for name in block.hyperparameters if declared[name].support is AMOUNT]
            if isinstance(held, Moments):
                mean, spread = column_scale(held)
                free[at], centre[:, at] = spread > 0, mean
                for name in block.hyperparameters:
                    if is_centre(declared[name]) or name in amounts:
                        power = 0.5 if is_centre(declared[name]) else 1
                        unit[name][:, at] = np.where(spread > 0, spread, 1) ** power
            elif isinstance(held, Totals) and amounts:
                free[at] = held.total.sum(0) > 0
        if nb.get_params(deep=False).get("beta", 1) is None:
            unit["beta"] = start["beta"] / start["alpha"]
        if not free.any():
            raise ValueError("`X` has only constant columns, so there is no prior to fit; give a column that varies")
        return cls(blocks, stats, columns, start, unit, centre, free)

    def hyperparameters(self, z: Coordinates) -> dict[str, Any]:
        """Every hyperparameter (c, d) at the coordinates; those without a coordinate as the estimator has them."""
        found, declared = dict(self.start), declared_fields(self.blocks)
        for name in sorted(z, key=lambda name: declared[name].per != ""):  # a shape comes before what is relative to it
            xp, per = namespace(z[name]), declared[name].per
            value = self.unit[name] * (z[name] if is_centre(declared[name]) else xp.exp(z[name]))
            value = value + self.centre if is_centre(declared[name]) else value * found[per] if per in z else value
            found[name] = xp.where(self.free, value, self.start[name])
        return found

    def prior(self, z: Coordinates) -> dict[str, Any]:
        """Prior blocks at the coordinates."""
        values, found = self.hyperparameters(z), {}
        for key, block in self.blocks.items():
            changes = {}
            for name, field in ((name, field) for name, fields in block.hyperparameters.items() for field in fields):
                own, value = getattr(block, field), values[name][:, self.columns[key]]
                value = value[0] if own.ndim == 1 else value[..., None] if own.ndim == 3 else value  # shared; of levels
                changes[field] = namespace(value).broadcast_to(value, own.shape)
            found[key] = replace(block, **changes)
        return found

    def log_evidence(self, z: Coordinates) -> Any:
        """log p(X | y, η), nats: all of the evidence that depends on η."""
        return sum(block.log_marginal(self.stats[name]).sum() for name, block in self.prior(z).items())

    def begin(
        self, names: list[str], over: str, bounds: tuple[float, float]
    ) -> tuple[Coordinates, dict[str, tuple[float, float]]]:
        """Coordinates of the estimator's own prior, averaged where it has more of them than `over`; their limits."""
        z, limits, declared = {}, {}, declared_fields(self.blocks)
        for name in names:
            value, per = self.start[name], declared[name].per
            if is_centre(declared[name]):
                value, limits[name] = (value - self.centre) / self.unit[name], (-np.inf, np.inf)
            else:
                value = np.log(value / self.unit[name] / (self.start[per] if per in names else 1))
                limits[name] = np.log(bounds[0]), np.log(bounds[1])
            mean = {
                "class": value[:, self.free].mean(1, keepdims=True),
                "scalar": np.asarray(value[:, self.free].mean()),
            }
            z[name] = np.clip(mean.get(over, np.where(self.free, value.mean(0), 0)), *limits[name])
        return z, limits


def declared_fields(blocks: dict[str, Any]) -> dict[str, Field]:
    """What the families declare of each hyperparameter, by its public name."""
    return {name: block.fields_[f[0]] for block in blocks.values() for name, f in block.hyperparameters.items()}


def is_centre(field: Field) -> bool:
    """Whether a hyperparameter is the centre of a density: any real number, in the unit of the feature."""
    return field.support.kind == "real"
