"""What the laws are tried on: random priors and rows of a family, and what follows from them."""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import jax
import numpy as np
from numpyro.infer.util import log_density

from ..base import Block
from ..class_statistics import in_floats
from ..core.arrays import Scalar, Sparse
from ..families import DirichletClasses
from ..naive_bayes import NaiveBayes, Statistics
from ..statistics import one_hot

C, D, K, N = 3, 4, 3, 24  # classes, features, levels of a categorical feature, rows: few shapes, few compilations


QUICKLY = {"xla_backend_optimization_level": 0}  # what is compiled here runs once
jitted = functools.partial(jax.jit, compiler_options=QUICKLY)


def log_joint(model: Callable[..., None], *args: Any) -> Callable[[Any], Any]:
    """log p of the sites in NumPyro; to be jitted, as operation by operation compiling takes several times as long."""
    return lambda sites: log_density(model, args, {}, sites)[0]


@dataclass(frozen=True)
class Family:
    """A row of the table.

    Fields
    ------
    prior : (rng, d) → a random prior of C classes, NumPy float64
    rows : (rng, n, d) → random rows without missing cells
    log_pdf : (sites, x) → log p(x_i | θ_c) by SciPy, (n, c); NaN = missing; None where nobody has it
    support : rows (m, d) over which the predictive sums to one; None where it is a density
    edges : of the intervals over which such a density is integrated
    missing, sparse : whether rows may have missing cells, may be scipy.sparse
    simplex : sites that live on a simplex
    composite : whether the likelihood is no density of a row, so that the predictive need not sum to one
    given : what `sample_predictive` needs beside the labels
    d : number of features of a predictive that can be summed or integrated
    whole : relative tolerance of its sum
    of_posterior : whether it is that of the posterior, whose tails are lighter than those of the prior
    in_logarithms : whether `edges` are logarithms of cells
    """

    name: str
    prior: Callable[[np.random.Generator, int], Block]
    rows: Callable[[np.random.Generator, int, int], np.ndarray]
    log_pdf: Callable[[dict[str, np.ndarray], np.ndarray], np.ndarray] | None = None
    support: np.ndarray | None = None
    edges: tuple[float, ...] = (-np.inf, *range(-5, 8, 2), np.inf)
    missing: bool = True
    sparse: bool = False
    simplex: tuple[str, ...] = ()
    composite: bool = False
    given: tuple[tuple[str, Any], ...] = ()
    d: int = 1
    whole: float = 1e-11
    of_posterior: bool = False
    in_logarithms: bool = False


def positive(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """Random hyperparameters between about 0.5 and 6: some sharp, some vague."""
    return rng.gamma(2, 1, shape) + 0.5


def counts(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    """Small counts, with zeros and with counts above the eight that sparse rows unroll."""
    return rng.negative_binomial(1, 0.25, (n, d)).astype(float)


def reals(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    """Values off the origin, with a spread of 2."""
    return rng.normal(1, 2, (n, d))


def cellwise(log_pdf: Callable[..., np.ndarray]) -> Callable[[dict[str, np.ndarray], np.ndarray], np.ndarray]:
    """SciPy's density of one cell, summed over the observed cells of each row."""
    return lambda sites, x: np.nansum(log_pdf(x[:, None, :], sites), -1)


def spread(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """Random positive definite matrices with eigenvalues above 1."""
    root = rng.normal(size=shape)
    return root @ root.swapaxes(-1, -2) + np.eye(shape[-1])


@dataclass(frozen=True)
class Case:
    """A family with a prior, rows, labels and what follows from them."""

    family: Family
    prior: NaiveBayes
    x: np.ndarray
    y: np.ndarray
    rng: np.random.Generator

    @property
    def block(self) -> Block:
        """The only block of the prior."""
        return self.prior.blocks["x"]

    @property
    def r(self) -> Sparse:
        """One-hot labels, sparse."""
        return one_hot(self.y, C)

    @property
    def stats(self) -> Statistics:
        """Statistics of all rows."""
        return self.prior.suffstats({"x": self.x}, self.r)

    @property
    def posterior(self) -> NaiveBayes:
        """The prior after all rows."""
        return self.prior.update(self.stats)


def case(family: Family, *, d: int = D, missing: bool = True, seed: int = 0) -> Case:
    """A random case; every tenth cell missing where the family takes that."""
    rng = np.random.default_rng(seed)
    x, y = family.rows(rng, N, d), rng.permutation(np.arange(N) % C)
    if missing and family.missing:
        x[rng.random(x.shape) < 0.1] = np.nan
    return Case(family, NaiveBayes(DirichletClasses(positive(rng, C)), {"x": family.prior(rng, d)}), x, y, rng)


def cast(tree: Any, xp: ModuleType, dtype: Any) -> Any:
    """Every leaf in another namespace and precision."""
    return jax.tree.map(lambda leaf: xp.asarray(leaf, dtype), tree)


def floats_alone(tree: Any) -> Any:
    """Statistics without what is known of their rounding, which depends on the batches."""
    return tree.in_floats() if isinstance(tree, Statistics) else in_floats(tree)


def require(holds: Any, what: str) -> None:
    """Raise an AssertionError that says what does not hold, also under `python -O`."""
    if not holds:
        raise AssertionError(what)


def close(got: Any, want: Any, *, rel: float, abs: float = 1e-12) -> None:
    """Two numbers that agree within the larger of a relative and an absolute tolerance."""
    got, want = float(got), float(want)
    size = max(rel * np.abs(want), abs)
    require(np.abs(got - want) <= size, f"{got!r} differs from {want!r} by {got - want:.1e}, more than {size:.1e}")


def assert_same(got: Any, want: Any, *, rtol: Scalar = 1e-12, atol: Scalar = 1e-12) -> None:
    """Leaf by leaf equality up to rounding: the default allows some thousand roundings of numbers of order one."""
    got, want = floats_alone(got), floats_alone(want)
    alike: Any = jax.tree.structure(got)
    require(alike == jax.tree.structure(want), f"{got} has not the structure of {want}")
    for one, other in zip(jax.tree.leaves(got), jax.tree.leaves(want), strict=True):
        np.testing.assert_allclose(one, other, rtol=rtol, atol=atol)
