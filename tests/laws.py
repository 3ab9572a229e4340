"""One table of families, a row each, for the laws that every family obeys (`test_laws.py`).

A new family is one new row: how to make a random prior and random rows, the likelihood as SciPy writes it, and where
its predictive lives. The laws themselves are in `bayesnb.testing`, where `check_family` runs them on a family of one's
own.
"""

import itertools

import numpy as np
import scipy.stats as st

from bayesnb.families import (
    BetaBernoulli,
    BetaGeometric,
    BetaNegativeBinomial,
    DirichletCategorical,
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
from bayesnb.testing.cases import (
    QUICKLY as QUICKLY,
)
from bayesnb.testing.cases import (
    C as C,
)
from bayesnb.testing.cases import (
    Case as Case,
)
from bayesnb.testing.cases import (
    D as D,
)
from bayesnb.testing.cases import (
    Family as Family,
)
from bayesnb.testing.cases import (
    K as K,
)
from bayesnb.testing.cases import (
    N as N,
)
from bayesnb.testing.cases import (
    assert_same as assert_same,
)
from bayesnb.testing.cases import (
    case as case,
)
from bayesnb.testing.cases import (
    cast as cast,
)
from bayesnb.testing.cases import (
    cellwise as cellwise,
)
from bayesnb.testing.cases import (
    counts as counts,
)
from bayesnb.testing.cases import (
    floats_alone as floats_alone,
)
from bayesnb.testing.cases import (
    jitted as jitted,
)
from bayesnb.testing.cases import (
    log_joint as log_joint,
)
from bayesnb.testing.cases import (
    positive as positive,
)
from bayesnb.testing.cases import (
    reals as reals,
)
from bayesnb.testing.cases import (
    spread as spread,
)


def categorical_log_pdf(sites: dict[str, np.ndarray], x: np.ndarray) -> np.ndarray:
    events = (x[:, None, :, None] == np.arange(K)).astype(float)  # NaN: no event, and log pmf 0 of none of 0
    return st.multinomial.logpmf(events, events.sum(-1), sites["theta"]).sum(-1)


def multinomial_log_pdf(sites: dict[str, np.ndarray], x: np.ndarray) -> np.ndarray:
    return st.multinomial.logpmf(x[:, None, :], x.sum(-1)[:, None], sites["theta"])


def complement_log_pdf(sites: dict[str, np.ndarray], x: np.ndarray) -> np.ndarray:
    table = multinomial_log_pdf(sites, x)
    return np.stack([np.delete(table, c, 1).sum(1) for c in range(C)], 1)


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
OF_WHOLE_CELLS = [kind for row in FAMILIES if (kind := type(row.prior(np.random.default_rng(0), D))).cells_.whole]
