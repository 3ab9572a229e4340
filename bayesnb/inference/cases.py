"""What the laws compare: cases of a block and rows, differences, and derivatives by polynomials."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any

import numpy as np

from ..base import Site
from ..core.arrays import Theta
from ..statistics import one_hot
from .problem import Problem, choose

_NODES, _FEW = 33, 4  # of the polynomials that are differentiated; rows that are predicted and left out


@dataclass(frozen=True)
class Gap:
    """What was compared, and the largest difference in units of what it should be."""

    what: str
    size: float


@dataclass(frozen=True)
class Labels:
    """The class probabilities as a block: the rows have no columns, and a class has the likelihood π_c."""

    classes: Any
    no_evidence = None

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.classes, name)

    @property
    def shape(self) -> tuple[int, int]:
        """Classes, and no features."""
        return len(self.classes.log_predictive()), 0

    def sites(self) -> dict[str, Site]:
        """The site of the class probabilities."""
        from numpyro.distributions import constraints

        return {"pi": Site(constraints.simplex, ("event",))}

    def suffstats(self, x: np.ndarray, r: Any) -> np.ndarray:
        """The weight of each class."""
        return r.sum(0)

    def update(self, n: np.ndarray) -> "Labels":
        """The posterior."""
        return Labels(self.classes.update(n))

    def log_predictive(self, x: np.ndarray) -> np.ndarray:
        """The same for every row."""
        return np.tile(self.classes.log_predictive(), (len(x), 1))

    def log_loo(self, x: np.ndarray, r: Any) -> np.ndarray:
        """Without each label."""
        return self.classes.log_loo(r)

    def log_likelihood(self, theta: Theta, x: np.ndarray) -> np.ndarray:
        """log π."""
        return np.repeat(theta["log_pi"][..., None, :], len(x), -2)


@dataclass(frozen=True)
class Case:
    """A block, rows for all its classes, and the source of what is random."""

    name: str
    prior: Any
    x: np.ndarray
    y: np.ndarray
    rng: np.random.Generator
    few: np.ndarray

    @cached_property
    def r(self) -> np.ndarray:
        """One-hot labels."""
        return one_hot(self.y, self.prior.shape[0]).toarray()

    @cached_property
    def posterior(self) -> Any:
        """The block after the rows."""
        return self.prior.update(self.prior.suffstats(self.x, self.r))

    @property
    def why_not(self) -> str | None:
        """Why ratios of evidences are no predictives, so that only leave-one-out is compared."""
        kind = type(self.prior).__name__
        return None if self.prior.no_evidence is None else f"{self.name}: {kind} has no evidence of single rows"


def cases(problem: Problem, rng: np.random.Generator, few: int = _FEW) -> Iterator[Case]:
    """The blocks of a problem that have rows, and its class probabilities where they are learnt.

    A block that is about one class gives its inner block and the rows of that class.
    """
    y = problem.y
    if problem.prior.classes.marginals():
        yield Case("classes", Labels(problem.prior.classes), np.zeros((len(y), 0)), y, rng, choose(rng, len(y), few))
    for name, block in problem.prior.blocks.items():
        x, labels = np.asarray(problem.rows[name], float), y
        if block.only_class is not None:
            own = y == block.only_class
            x, labels = x[own], np.zeros(int(own.sum()), int)
        if len(labels):
            yield Case(name, block.inner, x, labels, rng, choose(rng, len(labels), few))


def kind_of(site: Site) -> str:
    """What values a site has: on a simplex, a matrix, between 0 and 1, positive, or real."""
    from numpyro.distributions import constraints

    support = site.support
    if isinstance(support, type(constraints.simplex)):
        return "simplex"
    if site.axes[-2:] == ("event", "event"):
        return "matrix"
    if isinstance(support, constraints.interval):
        return "interval"
    return "positive" if isinstance(support, constraints.greater_than) else "real"


def cut(block: Any, sites: dict[str, Site], *, classes: int, features: int, components: int) -> Any:
    """The block of its first classes and features, and of so many components where they form a simplex.

    It is a model of the same family: of fewer classes that share a variance, of the shares among fewer events.
    """
    simplex = [site.axes for site in sites.values() if kind_of(site) == "simplex"]
    width = {"class": classes, "feature": features, "level": components}
    if simplex == [("event",)]:
        width["class"] = components
    elif simplex and not any("feature" in axes for axes in simplex):
        width["feature"] = components
    elif "event" in {axis for site in sites.values() for axis in site.axes} and not simplex:
        block = block.select(np.arange(min(features, block.shape[1])))
    chosen = {}
    for name, field in block.fields_.items():
        value = getattr(block, name)
        if value is not None and np.ndim(value) == len(field.axes):
            chosen[name] = value[tuple(slice(width.get(axis)) for axis in field.axes)]
    return replace(block, **chosen)


# --- differences ----------------------------------------------------------------------------------------------------


def gap(what: str, got: Any, want: Any, scale: Any = None) -> Gap:
    """The largest |got − want| in units of `scale`: by default of `want`, and of 1 where that is smaller."""
    got, want = np.asarray(got, float), np.asarray(want, float)
    if got.shape != want.shape:
        return Gap(f"{what} of shape {got.shape} for {want.shape}", np.inf)
    unit = np.maximum(abs(want), 1) if scale is None else np.maximum(scale, 1e-300)
    same = got == want  # infinite ones too
    with np.errstate(invalid="ignore"):
        return Gap(what, float(np.max(np.where(same, 0, abs(got - want)) / unit, initial=0)))


def shared(what: str, score: Any, table: Any) -> Gap:
    """Scores against log densities, which may differ by a term of the row that all classes share."""
    want = table - table[..., :1]
    return gap(what, score - score[..., :1], want, abs(want) + 1e-6 * abs(table))


def pairs(n: int, c: int, most: int = 24) -> list[tuple[int, int]]:
    """Rows and classes to compare: all, or some that visit every row and class in turn."""
    every = [(i, k) for k in range(c) for i in range(n)]
    return every[:: -(-len(every) // most)]


def row_stats(block: Any, x: np.ndarray, classes: Any, weight: float = 1.0) -> Any:
    """Statistics of one row (1, d) with a weight in some classes."""
    r = np.zeros((1, block.shape[0]))
    r[0, classes] = weight
    return block.suffstats(x, r)


@cache
def _nodes() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Chebyshev nodes on (−1, 1), the matrix to coefficients, and derivatives 1, 2, 3 of the polynomials at 0."""
    cheb = np.polynomial.chebyshev
    nodes = np.cos(np.pi * (np.arange(_NODES) + 0.5) / _NODES)
    slopes = np.array([cheb.chebval(0.0, cheb.chebder(np.eye(_NODES - 8), k)) for k in (1, 2, 3)])
    return nodes, np.linalg.inv(cheb.chebvander(nodes, _NODES - 1)), slopes


def derivatives(f: Callable[..., Any], reach: float) -> tuple[np.ndarray, np.ndarray]:
    """First three derivatives at 0 of a function of an array of arguments, (3, …), and their rounding.

    By the polynomial through its values at nodes within ± reach. The highest coefficients are rounding, and measure it.
    """
    nodes, to_coefficients, slopes = _nodes()
    coefficients = np.tensordot(to_coefficients, np.asarray(f(reach * nodes)), 1)
    kept = slopes.shape[1]
    scale = (reach ** -np.arange(1.0, 4.0)).reshape(3, *np.ones(coefficients.ndim - 1, int))
    noise = 3 * abs(coefficients[kept:]).max(0) * abs(slopes).sum(1).reshape(scale.shape)
    return np.tensordot(slopes, coefficients[:kept], 1) * scale, noise * scale
