"""The laws every family obeys, each run over the table in `laws.py`; the laws themselves are in `bayesnb.testing`."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from bayesnb.families import COUNT, DirichletClasses, Field, GammaExponential, declare, gammaln, pytree
from bayesnb.families.base import from_sites, to_sites
from bayesnb.models.naive_bayes import NaiveBayes
from bayesnb.testing import BrokenLaw, check_family, laws_of

from .laws import FAMILIES, C, D, Family, assert_same, case

# Compiling these, or drawing, takes up to seconds a family: by default one family of each kind of parameter, and of
# JAX's own draws.
COMPILED = {
    "mode": {"poisson"},
    "draws": {"gaussian", "multinomial"},  # a second each
    "NumPy and JAX agree in float32": {"poisson"},
    "NumPy and JAX agree in float64": {"categorical", "gaussian"},
    "jax maps and differentiates the evidence": {"pooled_gaussian"},
    "draws of jax follow their marginals": {"multinomial"},
}


def marks(name: str, family: Family) -> list[pytest.MarkDecorator]:
    return [pytest.mark.slow] if family.name not in COMPILED.get(name, {family.name}) else []


CASES = [
    pytest.param(family, law, id=f"{name}-{family.name}", marks=marks(name, family))
    for family in FAMILIES
    for name, law in laws_of(family.prior(np.random.default_rng(0), D)).items()
]


@pytest.mark.parametrize(("family", "law"), CASES)
@pytest.mark.usefixtures("x64")
def test_law(family: Family, law: Any) -> None:
    law(case(family))


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_likelihood_is_scipys(family: Family) -> None:
    this = case(family)
    block = this.block
    theta = block.sample(this.rng, (2,))
    got = block.log_likelihood(theta, this.x)
    for s in range(2):
        one = {name: value[s] for name, value in theta.items()}
        assert family.log_pdf is not None
        want = family.log_pdf(to_sites(one), this.x)
        np.testing.assert_allclose(got[s], want, rtol=1e-10, atol=1e-12)  # SciPy's gammaln differences
        np.testing.assert_allclose(block.log_likelihood(one, this.x), got[s], rtol=1e-13)


def test_every_site_and_class_prior_survives_the_round_trip(rng: np.random.Generator) -> None:
    """θ → NumPyro's basis → θ, all families as blocks of one model."""
    blocks = {family.name: family.prior(rng, D) for family in FAMILIES}
    nb = NaiveBayes(DirichletClasses(np.ones(C)), blocks)
    theta = nb.sample(rng, (5,))
    assert_same(nb.from_sites(nb.to_sites(theta)), theta, rtol=1e-9)
    for name, block in blocks.items():
        assert_same(from_sites(block.parameters, to_sites(theta[name])), theta[name], rtol=1e-9)


# family: kind of its cells, whether whole, sparse, with gaps, features apart, and coupled; of each field
# the support, the axes by their letters, the improper limit, and whether `fit_prior` may search for it
DECLARED = """
bernoulli yes/no sparse gaps apart: a pos cf, b pos cf
categorical levels sparse gaps apart: alpha pos cfl
multinomial counts sparse: alpha pos cf
poisson counts sparse gaps apart: a pos cf, b pos cf
complement counts sparse coupled: alpha pos cf
exponential amounts gaps apart: a pos cf, b pos cf
geometric counts whole sparse gaps apart: a pos cf, b pos cf
negative_binomial counts whole sparse gaps apart: a pos cf, b pos cf
log_normal positive gaps apart: m rea cf, kappa pos cf, a pos cf, b pos cf
gaussian real sparse gaps apart: m rea cf, kappa pos cf 0, a pos cf -0.5, b pos cf 0
pooled_gaussian real sparse gaps apart coupled: m rea cf, kappa pos cf 0, a pos f -0.5 summed, b pos f 0
known_gaussian real sparse gaps apart: m rea cf, kappa pos cf 0, variance pos cf fixed, log_c rea cf fixed
full_gaussian real: m rea cf, kappa pos c, nu deg c, S mat cff
tied_gaussian real coupled: m rea cf, kappa pos c, nu deg o, S mat ff
"""


def test_what_the_pages_declare() -> None:
    """Validation, prior fitting, files and the estimators read it."""
    lines = []
    for family in FAMILIES:
        kind, cells = family.kind, family.kind.cells_
        flags = {"whole": cells.whole, "sparse": cells.sparse, "gaps": family.missing, "apart": kind.separable}
        flags |= {"coupled": kind.shares_parameters}
        fields = [
            " ".join(
                [name, field.support.kind[:3], "".join(axis[0] for axis in field.axes)]
                + ([] if field.limit is None else [f"{field.limit:g}"])
                + ["summed"] * field.per_class
                + ["fixed"] * (not field.fitted)
            )
            for name, field in kind.fields_.items()
        ]
        words = [family.name, cells.kind, *(word for word, holds in flags.items() if holds)]
        lines.append(f"{' '.join(words)}: {', '.join(fields)}")
    assert lines == DECLARED.strip().splitlines()


@pytree
@dataclass(frozen=True)
class Undeclared(GammaExponential):
    fields_ = declare(a=Field(COUNT))


@pytree
@dataclass(frozen=True)
class Renamed(GammaExponential):
    parameters = ("rate",)


@pytree
@dataclass(frozen=True)
class Spoilt(GammaExponential):
    def added(self, s: Any, a: Any, b: Any) -> Any:
        return a + s.n, b + 1.001 * s.total


@pytree
@dataclass(frozen=True)
class Difference(GammaExponential):
    def gain(self, s: Any, a: Any, b: Any) -> Any:
        return super().gain(s, a, b) + gammaln(a + s.n) - gammaln(a + s.n)


@pytest.mark.parametrize(
    ("family", "message"),
    [
        (Undeclared, r"`fields_` declares \['a'\], the fields are \['a', 'b'\]"),
        (Renamed, r"`parameters` has \['rate'\], `mean` \['log_rate'\]"),
        (Spoilt, "'updates chain'.*\n?.*`gain` of two steps"),
        (Difference, "`gain` takes series too: use `log_rising` and `log1p`"),
    ],
)
def test_a_mistake_in_a_family_is_named(family: Any, message: str) -> None:
    with pytest.raises(BrokenLaw, match=f"(?s){family.__name__} breaks the law.*{message}"):
        check_family(family(2.0, 3.0))


@pytest.mark.parametrize("family", [f for f in FAMILIES if f.name != "complement"], ids=lambda family: family.name)
def test_new_rows_follow_the_predictive(family: Family) -> None:
    """E_p q/(p + q) = E_q p/(p + q) for the predictives p, q of prior and posterior; the terms lie between 0 and 1."""
    this, y = case(family), np.repeat(np.arange(C), 4000)
    blocks = [model.blocks["x"] for model in (this.prior, this.posterior)]
    sides = []
    for block, other in (blocks, blocks[::-1]):
        x = block.sample_predictive(this.rng, y, length=6)
        log_ratio = (block.log_predictive(x) - other.log_predictive(x))[np.arange(len(y)), y]
        sides.append((1 / (1 + np.exp(log_ratio))).reshape(C, -1))
    gap = sides[0].mean(1) - sides[1].mean(1)
    error = np.sqrt(sum(side.var(1) for side in sides) / 4000)
    assert (abs(gap) < 4.5 * error).all(), gap / error


@pytest.mark.parametrize("family", [f for f in FAMILIES if f.name != "complement"], ids=lambda family: family.name)
def test_rows_at_given_parameters_follow_the_likelihood(family: Family) -> None:
    """E_p q/(p + q) = E_q p/(p + q) for the likelihoods p, q of two draws of the parameters."""
    this, y = case(family), np.repeat(np.arange(C), 4000)
    block = this.posterior.blocks["x"]
    theta = block.sample(this.rng, (2,))
    x = block.sample_rows(this.rng, theta, y, length=6)
    sides = []
    for s in range(2):
        log_p = block.log_likelihood(theta, x[s])[:, np.arange(len(y)), y]  # of both draws, at the rows of one
        sides.append((1 / (1 + np.exp(log_p[s] - log_p[1 - s]))).reshape(C, -1))
    gap = sides[0].mean(1) - sides[1].mean(1)
    error = np.sqrt(sum(side.var(1) for side in sides) / 4000)
    assert (abs(gap) < 4.5 * error).all(), gap / error
