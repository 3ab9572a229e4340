"""One table of families, a row each, for the laws that every family obeys (`test_laws.py`).

A new family is one new row: how to make a random prior and random rows, the likelihood as SciPy writes it, and where
its predictive lives.
"""

import functools
import itertools
from collections.abc import Callable
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any

import jax
import numpy as np
import scipy.stats as st
from numpyro.infer.util import log_density

from bayesnb.base import AbstractConjugate
from bayesnb.families import (
    BetaBernoulli,
    BetaGeometric,
    BetaNegativeBinomial,
    DirichletCategorical,
    DirichletClasses,
    DirichletComplement,
    DirichletMultinomial,
    GammaExponential,
    GammaPoisson,
    KnownVarianceNormal,
    LogNormal,
    NormalInverseGamma,
    NormalInverseWishart,
    PooledNormalInverseGamma,
    TiedNormalInverseWishart,
)
from bayesnb.naive_bayes import NaiveBayes, Statistics
from bayesnb.statistics import one_hot

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
    log_pdf : (sites, x) → log p(x_i | θ_c) by SciPy, (n, c); NaN = missing
    support : rows (m, d) over which the predictive sums to one; None where it is a density
    edges : of the intervals over which such a density is integrated
    missing, sparse : whether rows may have missing cells, may be scipy.sparse
    simplex : sites that live on a simplex
    composite : whether the likelihood is no density of a row, so that the predictive need not sum to one
    given : what `sample_predictive` needs beside the labels
    d : number of features of a predictive that can be summed or integrated
    """

    name: str
    prior: Callable[[np.random.Generator, int], AbstractConjugate]
    rows: Callable[[np.random.Generator, int, int], np.ndarray]
    log_pdf: Callable[[dict[str, np.ndarray], np.ndarray], np.ndarray]
    support: np.ndarray | None = None
    edges: tuple[float, ...] = (-np.inf, *range(-5, 8, 2), np.inf)
    missing: bool = True
    sparse: bool = False
    simplex: tuple[str, ...] = ()
    composite: bool = False
    given: tuple[tuple[str, Any], ...] = ()
    d: int = 1


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


def categorical_log_pdf(sites: dict[str, np.ndarray], x: np.ndarray) -> np.ndarray:
    events = (x[:, None, :, None] == np.arange(K)).astype(float)  # NaN: no event, and log pmf 0 of none of 0
    return st.multinomial.logpmf(events, events.sum(-1), sites["theta"]).sum(-1)


def multinomial_log_pdf(sites: dict[str, np.ndarray], x: np.ndarray) -> np.ndarray:
    return st.multinomial.logpmf(x[:, None, :], x.sum(-1)[:, None], sites["theta"])


def complement_log_pdf(sites: dict[str, np.ndarray], x: np.ndarray) -> np.ndarray:
    table = multinomial_log_pdf(sites, x)
    return np.stack([np.delete(table, c, 1).sum(1) for c in range(C)], 1)


def spread(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """Random positive definite matrices with eigenvalues above 1."""
    root = rng.normal(size=shape)
    return root @ root.swapaxes(-1, -2) + np.eye(shape[-1])


def gaussian_log_pdf(sites: dict[str, np.ndarray], x: np.ndarray) -> np.ndarray:
    sigma = np.broadcast_to(sites["covariance"], (C, *sites["covariance"].shape[-2:]))
    pairs = zip(sites["mu"], sigma, strict=True)
    return np.stack([st.multivariate_normal.logpdf(x, m, v).reshape(len(x)) for m, v in pairs], -1)


FAMILIES = [
    Family(
        "bernoulli",
        lambda rng, d: BetaBernoulli(positive(rng, C, d), positive(rng, C, d)),
        lambda rng, n, d: rng.integers(0, 2, (n, d)).astype(float),
        cellwise(lambda x, sites: st.bernoulli.logpmf(x, sites["theta"])),
        support=np.array([[0.0], [1.0]]),
        sparse=True,
    ),
    Family(
        "categorical",
        lambda rng, d: DirichletCategorical(positive(rng, C, d, K)),
        lambda rng, n, d: rng.integers(0, K, (n, d)).astype(float),
        categorical_log_pdf,
        support=np.arange(K, dtype=float)[:, None],
        sparse=True,
        simplex=("theta",),
    ),
    Family(
        "multinomial",
        lambda rng, d: DirichletMultinomial(positive(rng, C, d)),
        counts,
        multinomial_log_pdf,
        support=np.array([row for row in itertools.product(range(6), repeat=3) if sum(row) == 5], float),
        missing=False,
        sparse=True,
        simplex=("theta",),
        given=(("length", 5),),
        d=3,
    ),
    Family(
        "poisson",
        lambda rng, d: GammaPoisson(positive(rng, C, d), positive(rng, C, d)),
        counts,
        cellwise(lambda x, sites: st.poisson.logpmf(x, sites["rate"])),
        support=np.arange(400.0)[:, None],  # the tail beyond falls like (1 + b)⁻ˣ with b > 0.5: below 1e-70
        sparse=True,
    ),
    Family(
        "complement",
        lambda rng, d: DirichletComplement(positive(rng, C, d)),
        counts,
        complement_log_pdf,
        composite=True,
        missing=False,
        sparse=True,
        simplex=("theta",),
    ),
    Family(
        "exponential",
        lambda rng, d: GammaExponential(positive(rng, C, d), positive(rng, C, d)),
        lambda rng, n, d: rng.gamma(0.7, 3, (n, d)),
        cellwise(lambda x, sites: st.expon.logpdf(x, scale=1 / sites["rate"])),
        edges=(0.0, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, np.inf),
    ),
    Family(
        "geometric",
        lambda rng, d: BetaGeometric(positive(rng, C, d) + 8, positive(rng, C, d)),
        counts,
        cellwise(lambda x, sites: st.geom.logpmf(x + 1, sites["theta"])),
        support=np.arange(1000.0)[:, None],  # the tail beyond is below Γ(a+b)/Γ(b) 1000⁻ᵃ with a > 8.5: below 1e-15
        sparse=True,
    ),
    Family(
        "negative_binomial",
        lambda rng, d: BetaNegativeBinomial(positive(rng, C, d), positive(rng, C, d) + 8, 2.5),
        counts,
        cellwise(lambda x, sites: st.nbinom.logpmf(x, 2.5, 1 - sites["theta"])),
        support=np.arange(1000.0)[:, None],  # the tail beyond falls like x⁻ᵇ with b > 8.5: below 1e-15
        sparse=True,
    ),
    Family(
        "log_normal",
        lambda rng, d: LogNormal(  # with a > 8 nothing to speak of lies beyond the largest and below the least float
            reals(rng, C, d), positive(rng, C, d), positive(rng, C, d) + 8, positive(rng, C, d)
        ),
        lambda rng, n, d: np.exp(reals(rng, n, d)),
        cellwise(lambda x, sites: st.lognorm.logpdf(x, np.sqrt(sites["variance"]), scale=np.exp(sites["mu"]))),
        edges=(0.0, *np.exp(np.arange(-4.0, 9.0, 2.0)), np.inf),
    ),
    Family(
        "gaussian",
        lambda rng, d: NormalInverseGamma(reals(rng, C, d), *(positive(rng, C, d) for _ in "kab")),
        reals,
        cellwise(lambda x, sites: st.norm.logpdf(x, sites["mu"], np.sqrt(sites["variance"]))),
        sparse=True,
    ),
    Family(
        "pooled_gaussian",
        lambda rng, d: PooledNormalInverseGamma(
            reals(rng, C, d), positive(rng, C, d), positive(rng, d), positive(rng, d)
        ),
        reals,
        cellwise(lambda x, sites: st.norm.logpdf(x, sites["mu"], np.sqrt(sites["variance"]))),
        sparse=True,
    ),
    Family(
        "known_gaussian",
        lambda rng, d: KnownVarianceNormal(
            reals(rng, C, d), positive(rng, C, d), np.full((C, d), 1.7), np.zeros((C, d))
        ),
        reals,
        cellwise(lambda x, sites: st.norm.logpdf(x, sites["mu"], np.sqrt(1.7))),
        sparse=True,
    ),
    Family(
        "full_gaussian",
        lambda rng, d: NormalInverseWishart(
            reals(rng, C, d), positive(rng, C), positive(rng, C) + d, spread(rng, C, d, d)
        ),
        reals,
        gaussian_log_pdf,
        missing=False,
    ),
    Family(
        "tied_gaussian",
        lambda rng, d: TiedNormalInverseWishart(
            reals(rng, C, d), positive(rng, C), positive(rng, 1) + d, spread(rng, d, d)
        ),
        reals,
        gaussian_log_pdf,
        missing=False,
    ),
]


@dataclass(frozen=True)
class Case:
    """A family with a prior, rows, labels and what follows from them."""

    family: Family
    prior: NaiveBayes
    x: np.ndarray
    y: np.ndarray
    rng: np.random.Generator

    @property
    def block(self) -> AbstractConjugate:
        return self.prior.blocks["x"]

    @property
    def r(self) -> Any:
        return one_hot(self.y, C)

    @property
    def stats(self) -> Any:
        return self.prior.suffstats({"x": self.x}, self.r)

    @property
    def posterior(self) -> NaiveBayes:
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
    """Statistics without the exact sums behind them, of which the same rows may leave different pieces."""
    if isinstance(tree, Statistics):
        return replace(tree, blocks={name: floats_alone(one) for name, one in tree.blocks.items()}, weight=None)
    return replace(tree, sums=None) if hasattr(tree, "sums") else tree


def assert_same(got: Any, want: Any, *, rtol: float = 1e-12, atol: float = 1e-12) -> None:
    """Leaf by leaf equality up to rounding: the default allows some thousand roundings of numbers of order one."""
    got, want = floats_alone(got), floats_alone(want)
    assert jax.tree.structure(got) == jax.tree.structure(want)
    for one, other in zip(jax.tree.leaves(got), jax.tree.leaves(want), strict=True):
        np.testing.assert_allclose(one, other, rtol=rtol, atol=atol)
