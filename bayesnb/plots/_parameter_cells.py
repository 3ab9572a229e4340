"""One parameter of one feature, class by class: its place, its prior and its posterior."""

from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from scipy import stats

from ..bandwidth import GridMarginal
from ..core.wishart import InverseWishartMarginal
from ._common import column, feature_name


@dataclass(frozen=True)
class Cell:
    """One scalar parameter of a class, or of all classes together.

    Fields
    ------
    k, label : the class, None and "all classes" where they share it
    site, at : NumPyro site, and the place in it
    prior, posterior : with the methods `pdf` and `ppf`
    kind, event : what it is, and of what: "probability" of "island = Biscoe"
    """

    k: int | None
    label: str
    site: str
    at: tuple[int, ...]
    prior: Any
    posterior: Any
    kind: str
    event: str

    @property
    def quantity(self) -> str:
        return f"{self.kind} of {self.event}"

    @property
    def support(self) -> tuple[float, float]:
        return self.posterior.support()


@dataclass(frozen=True)
class _Entry:
    """One entry of a distribution that gives the values of all, (c, d), at a time."""

    whole: Any
    at: tuple[int, ...]

    def pdf(self, x: Any) -> np.ndarray:
        return self.whole.pdf(np.asarray(x)[..., None, None])[(..., *self.at)]

    def ppf(self, q: Any) -> np.ndarray:
        return self.whole.ppf(np.asarray(q)[..., None, None])[(..., *self.at)]

    def support(self) -> tuple[float, float]:
        return 0.0, np.inf  # that of a length, such as a bandwidth


def _entry_of(law: Any, at: tuple[int, ...]) -> Any:
    """One entry of the distribution of a whole site."""
    if isinstance(law, InverseWishartMarginal):  # Σ_jj ~ InverseGamma((ν − d + 1)/2, S_jj/2)
        nu = np.broadcast_to(law.nu, law.scale.shape[:-2])[at[:-2]]
        return stats.invgamma((nu - law.scale.shape[-1] + 1) / 2, scale=law.scale[at] / 2)
    if isinstance(law, GridMarginal):
        return _Entry(law, at)
    shape = np.shape(law.mean())
    args, named = jax.tree.map(lambda value: np.broadcast_to(value, shape)[at], (law.args, law.kwds))
    return law.dist(*args, **named)


def cells_of(estimator: Any, feature: Any, parameter: str | None, category: Any) -> list[Cell]:
    """One parameter of one feature, in every class, or once where the classes share it."""
    labels = [str(label) for label in estimator.classes_]
    estimator.prior_.refuse_improper("densities of the prior to plot")
    if feature is None:
        if parameter not in (None, "pi"):
            raise ValueError(f"`feature` is None, but {parameter!r} is a parameter of a feature; name a feature")
        before, after = (nb.classes.marginals().get("pi") for nb in (estimator.prior_, estimator.posterior_))
        if after is None:
            raise ValueError("`feature` is None, but the class probabilities of this model are fixed; name a feature")
        return [
            Cell(k, label, "pi", (k,), _entry_of(before, (k,)), _entry_of(after, (k,)), "probability", "the class")
            for k, label in enumerate(labels)
        ]
    cells: list[Cell] = []
    j = column(estimator, feature)
    for name, i in column_places(estimator, j):
        block = estimator.posterior_.blocks[name]
        before, after = estimator.prior_.blocks[name].marginals(), block.marginals()
        found = parameter or next(iter(after), "")
        if found not in after:
            known = f"has {', '.join(after)}" if after else "has no parameter that is learnt"
            raise ValueError(f"`parameter` is {parameter!r}; {feature_name(estimator, j)!r} {known}")
        inner = block.inner
        where, event = _where(estimator, inner, name, found, i, j, category)
        by_class = estimator.block_dims(name, found, np.ndim(after[found].mean()))[0].endswith("class")
        whose: list[int | None] = [*range(inner.shape[0])] if by_class else [None]
        for own in whose:
            at = where if own is None else (own, *where)
            k = own if block.only_class is None else block.only_class
            label = "all classes" if k is None else labels[k]
            if inner.is_composite:
                label = f"not {label}"
            laws = _entry_of(before[found], at), _entry_of(after[found], at)
            site = estimator.posterior_.site(name, found)
            cells.append(Cell(k, label, site, at, *laws, inner.names_.get(found, found), event))
    return cells


def column_places(estimator: Any, j: int) -> list[tuple[str, int]]:
    """Blocks that hold a column, and its place in each; one a class where every class has a likelihood of its own."""
    found = [(name, int(i)) for name, at in estimator.block_columns().items() for i in np.flatnonzero(at == j)]
    if not found:
        raise ValueError(f"`feature` {feature_name(estimator, j)!r} belongs to no part of the model; choose another")
    return found


def _where(
    estimator: Any, family: Any, name: str, parameter: str, i: int, j: int, category: Any
) -> tuple[tuple[int, ...], str]:
    """Place of a feature's parameter after the axis of the classes, and what it is a parameter of."""
    event = feature_name(estimator, j)
    if parameter == "covariance":
        return (i, i), event
    if family.cells_.kind == "levels":
        levels = estimator.levels_of(j)
        at = np.flatnonzero(levels == category) if category is not None else np.arange(len(levels))[:1]
        if len(at) != 1:
            raise ValueError(f"`category` is {category!r}; {event!r} has the levels {levels.tolist()}")
        return (i, int(at[0])), f"{event} = {levels[at[0]]}"
    if category is not None:
        raise ValueError(f"`category` is {category!r}, but {event!r} is not categorical; leave it out")
    return (i,), f"{event} = 1" if family.cells_.kind == "yes/no" else event
