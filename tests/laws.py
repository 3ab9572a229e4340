"""One table of families, a row each, for the laws that every family obeys (`test_laws.py`).

A new family is one new row: how to make a random prior and random rows, and the likelihood as SciPy writes it. The laws
themselves are in `bayesnb.testing`, where `check_family` runs them on a family of one's own.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.stats as st
from numpyro.infer.util import log_density

from bayesnb import families as fam
from bayesnb.families.base import Block
from bayesnb.numerics.supports import COMPOSITE
from bayesnb.testing import C as C
from bayesnb.testing import Case, make_case
from bayesnb.testing import D as D
from bayesnb.testing import N as N
from bayesnb.testing import assert_same as assert_same
from bayesnb.testing import cast as cast
from bayesnb.testing import jitted as jitted
from bayesnb.testing import positive as positive
from bayesnb.testing import spread as spread

K = 3  # levels of a categorical feature
QUICKLY = {"xla_backend_optimization_level": 0}  # what is compiled here runs once


@dataclass(frozen=True)
class Family:
    """A row of the table.

    Fields
    ------
    prior : (rng, d) → a random prior of C classes, NumPy float64
    rows : (rng, n, d) → random rows without missing cells
    log_pdf : (sites, x) → log p(x_i | θ_c) by SciPy, (n, c); NaN = missing; None where nobody has it
    d : number of features of a row whose total is given
    """

    name: str
    prior: Callable[[np.random.Generator, int], Block]
    rows: Callable[[np.random.Generator, int, int], np.ndarray]
    log_pdf: Callable[[dict[str, np.ndarray], np.ndarray], np.ndarray] | None = None
    d: int = 1

    @property
    def kind(self) -> type[Block]:
        """The class of the family."""
        return type(self.prior(np.random.default_rng(0), D))

    @property
    def missing(self) -> bool:
        """Whether rows may have missing cells."""
        return np.isnan(self.kind.missing_value or 0.0)

    @property
    def composite(self) -> bool:
        """Whether the likelihood is no density of a row."""
        return self.kind.cells_.measure == COMPOSITE


def case(family: Family, *, d: int = D, missing: bool = True, seed: int = 0) -> Case:
    """A random case; every tenth cell missing where the family takes that."""
    rng = np.random.default_rng(seed)
    x = family.rows(rng, N, d)
    return make_case(family.prior(rng, d), x, rng, missing=missing)


def log_joint(model: Callable[..., None], *args: Any) -> Callable[[Any], Any]:
    """log p of the sites in NumPyro; to be jitted, as operation by operation compiling takes several times as long."""
    return lambda sites: log_density(model, args, {}, sites)[0]


def counts(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    """Small counts, with zeros and with counts above the eight that sparse rows unroll."""
    return rng.negative_binomial(1, 0.25, (n, d)).astype(float)


def reals(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    """Values off the origin, with a spread of 2."""
    return rng.normal(1, 2, (n, d))


def cellwise(log_pdf: Callable[..., np.ndarray]) -> Callable[[dict[str, np.ndarray], np.ndarray], np.ndarray]:
    """SciPy's density of one cell, summed over the observed cells of each row."""
    return lambda sites, x: np.nansum(log_pdf(x[:, None, :], sites), -1)


def levels_log_pdf(sites: dict[str, np.ndarray], x: np.ndarray) -> np.ndarray:
    events = (x[:, None, :, None] == np.arange(K)).astype(float)  # NaN: no event, and log pmf 0 of none of 0
    return st.multinomial.logpmf(events, events.sum(-1), sites["theta"]).sum(-1)


def words_log_pdf(sites: dict[str, np.ndarray], x: np.ndarray) -> np.ndarray:
    return st.multinomial.logpmf(x[:, None, :], x.sum(-1)[:, None], sites["theta"])


def complement_log_pdf(sites: dict[str, np.ndarray], x: np.ndarray) -> np.ndarray:
    table = words_log_pdf(sites, x)
    return np.stack([np.delete(table, c, 1).sum(1) for c in range(C)], 1)


def gaussian_log_pdf(sites: dict[str, np.ndarray], x: np.ndarray) -> np.ndarray:
    sigma = np.broadcast_to(sites["covariance"], (C, *sites["covariance"].shape[-2:]))
    pairs = zip(sites["mu"], sigma, strict=True)
    return np.stack([st.multivariate_normal.logpdf(x, m, v).reshape(len(x)) for m, v in pairs], -1)


def pair(rng: np.random.Generator, d: int) -> tuple[np.ndarray, np.ndarray]:
    return positive(rng, C, d), positive(rng, C, d)


def normal(rng: np.random.Generator, d: int) -> tuple[np.ndarray, np.ndarray]:
    return reals(rng, C, d), positive(rng, C, d)


def log_normal(rng: np.random.Generator, d: int) -> Block:
    """With a > 8 nothing to speak of lies beyond the largest and below the least float."""
    return fam.LogNormal(*normal(rng, d), positive(rng, C, d) + 8, positive(rng, C, d))


def pooled(rng: np.random.Generator, d: int) -> Block:
    return fam.PooledNormalInverseGamma(*normal(rng, d), positive(rng, d), positive(rng, d))


def known(rng: np.random.Generator, d: int) -> Block:
    return fam.KnownVarianceNormal(*normal(rng, d), np.full((C, d), 1.7), np.zeros((C, d)))


def full(rng: np.random.Generator, d: int) -> Block:
    return fam.NormalInverseWishart(reals(rng, C, d), positive(rng, C), positive(rng, C) + d, spread(rng, C, d, d))


def tied(rng: np.random.Generator, d: int) -> Block:
    return fam.TiedNormalInverseWishart(reals(rng, C, d), positive(rng, C), positive(rng, 1) + d, spread(rng, d, d))


def negative_binomial(rng: np.random.Generator, d: int) -> Block:
    return fam.BetaNegativeBinomial(positive(rng, C, d), positive(rng, C, d) + 8, 2.5)


def geometric(rng: np.random.Generator, d: int) -> Block:
    return fam.BetaGeometric(positive(rng, C, d) + 8, positive(rng, C, d))


def amounts(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    return rng.gamma(0.7, 3, (n, d))


def codes(k: int) -> Callable[[np.random.Generator, int, int], np.ndarray]:
    return lambda rng, n, d: rng.integers(0, k, (n, d)).astype(float)


CELL = {
    "bernoulli": cellwise(lambda x, at: st.bernoulli.logpmf(x, at["theta"])),
    "poisson": cellwise(lambda x, at: st.poisson.logpmf(x, at["rate"])),
    "exponential": cellwise(lambda x, at: st.expon.logpdf(x, scale=1 / at["rate"])),
    "geometric": cellwise(lambda x, at: st.geom.logpmf(x + 1, at["theta"])),
    "negative": cellwise(lambda x, at: st.nbinom.logpmf(x, 2.5, 1 - at["theta"])),
    "log": cellwise(lambda x, at: st.lognorm.logpdf(x, np.sqrt(at["variance"]), scale=np.exp(at["mu"]))),
    "normal": cellwise(lambda x, at: st.norm.logpdf(x, at["mu"], np.sqrt(at.get("variance", 1.7)))),
}
FAMILIES = [
    Family("bernoulli", lambda rng, d: fam.BetaBernoulli(*pair(rng, d)), codes(2), CELL["bernoulli"]),
    Family("categorical", lambda rng, d: fam.DirichletCategorical(positive(rng, C, d, K)), codes(K), levels_log_pdf),
    Family("multinomial", lambda rng, d: fam.DirichletMultinomial(positive(rng, C, d)), counts, words_log_pdf, d=3),
    Family("poisson", lambda rng, d: fam.GammaPoisson(*pair(rng, d)), counts, CELL["poisson"]),
    Family("complement", lambda rng, d: fam.DirichletComplement(positive(rng, C, d)), counts, complement_log_pdf),
    Family("exponential", lambda rng, d: fam.GammaExponential(*pair(rng, d)), amounts, CELL["exponential"]),
    Family("geometric", geometric, counts, CELL["geometric"]),
    Family("negative_binomial", negative_binomial, counts, CELL["negative"]),
    Family("log_normal", log_normal, lambda *size: np.exp(reals(*size)), CELL["log"]),
    Family("gaussian", lambda rng, d: fam.NormalInverseGamma(*normal(rng, d), *pair(rng, d)), reals, CELL["normal"]),
    Family("pooled_gaussian", pooled, reals, CELL["normal"]),
    Family("known_gaussian", known, reals, CELL["normal"]),
    Family("full_gaussian", full, reals, gaussian_log_pdf),
    Family("tied_gaussian", tied, reals, gaussian_log_pdf),
]
OF_WHOLE_CELLS = [kind for row in FAMILIES if (kind := row.kind).cells_.whole]
