"""The likelihoods, one file and one page each, and what a family of your own must define.

A family is a frozen dataclass whose fields are hyperparameters with the classes along the first axis. If features are
independent given the class, it is a subclass of `Conjugate`, and the author writes these names:

==========================  ===========================================================================================
`fields_`                   support and axes of every field: `declare(a=Field(COUNT, ("class", "feature")))`
`cells_`                    what a cell is, whether rows may be sparse, what the likelihood is a density of: `Cells(…)`
`parameters`                names of θ; `log_` or `logit_` in front says in which basis the closed form holds it
`prior`, `likelihood`       the model of a cell in NumPyro's terms
`added`, `gain`             the update, and by how much data raise the log normaliser of the density
`eta`                       level and slope of the log likelihood; `statistic` and `log_h`, where they are not x and 0
==========================  ===========================================================================================

Otherwise it is a subclass of `AbstractConjugate`, and the author writes tables and the NumPyro model.

Put `pytree` above `@dataclass(frozen=True)`; then JAX can compile the class and `save` can write it. Import the module
that defines the family before you load a file of such a model. `bayesnb.testing.check_family(family)` checks every law
on the family. `bayesnb.FamilyNB(family)` is its estimator. It has leave-one-out, intervals, evidence, comparison, prior
fitting, MixedNB parts, ArviZ, `save` and `check`. The page "How to add a family" of the documentation has an example.

The classes of this package are imported on first use.
"""

import functools
import re
from importlib import import_module
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from ..core.pytrees import register_pytrees

if TYPE_CHECKING:
    from ..base import AbstractConjugate as AbstractConjugate
    from ..base import n_rows as n_rows
    from ..base import observed as observed
    from ..conjugate import Conjugate as Conjugate
    from ..core.jet import log1p as log1p
    from ..core.jet import log_rising as log_rising
    from ..core.pytrees import pytree as pytree
    from ..core.random import inverse_gamma as inverse_gamma
    from ..core.random import log_dirichlet as log_dirichlet
    from ..core.random import log_gamma as log_gamma
    from ..core.random import normal as normal
    from ..core.random import split as split
    from ..core.special import digamma as digamma
    from ..core.special import gammaln as gammaln
    from ..core.special import log_beta as log_beta
    from ..core.special import log_floor as log_floor
    from ..core.special import namespace as namespace
    from ..core.special import tetragamma as tetragamma
    from ..core.special import trigamma as trigamma
    from ..core.supports import AMOUNT as AMOUNT
    from ..core.supports import COUNT as COUNT
    from ..core.supports import POSITIVE_DEFINITE as POSITIVE_DEFINITE
    from ..core.supports import REAL as REAL
    from ..core.supports import Cells as Cells
    from ..core.supports import Field as Field
    from ..core.supports import declare as declare
    from ..statistics import Moments as Moments
    from ..statistics import Totals as Totals
    from ..sums.rows import contract as contract
    from ..sums.rows import sum_over_features as sum_over_features
    from .bernoulli import BetaBernoulli as BetaBernoulli
    from .categorical import DirichletCategorical as DirichletCategorical
    from .classes import DirichletClasses as DirichletClasses
    from .classes import FixedClasses as FixedClasses
    from .complement import DirichletComplement as DirichletComplement
    from .exponential import GammaExponential as GammaExponential
    from .full_gaussian import NormalInverseWishart as NormalInverseWishart
    from .gaussian import NormalInverseGamma as NormalInverseGamma
    from .geometric import BetaGeometric as BetaGeometric
    from .kernel_density import KernelDensity as KernelDensity
    from .known_gaussian import KnownVarianceNormal as KnownVarianceNormal
    from .log_normal import LogNormal as LogNormal
    from .multinomial import DirichletMultinomial as DirichletMultinomial
    from .negative_binomial import BetaNegativeBinomial as BetaNegativeBinomial
    from .one_class import OneClass as OneClass
    from .poisson import GammaPoisson as GammaPoisson
    from .pooled_gaussian import PooledNormalInverseGamma as PooledNormalInverseGamma
    from .tied_gaussian import TiedNormalInverseWishart as TiedNormalInverseWishart


_CONTRACT = {
    name: home
    for home, names in {
        ".core.jet": "log1p log_rising",
        ".core.pytrees": "pytree",
        ".core.random": "inverse_gamma log_dirichlet log_gamma normal split",
        ".sums.rows": "contract sum_over_features",
        ".core.special": "digamma gammaln log_beta log_floor namespace tetragamma trigamma",
        ".core.supports": "AMOUNT COUNT POSITIVE_DEFINITE REAL Cells Field declare",
        ".base": "AbstractConjugate n_rows observed",
        ".conjugate": "Conjugate",
        ".statistics": "Moments Totals",
    }.items()
    for name in names.split()
}


@functools.cache
def _home() -> dict[str, str]:
    """Module by public name: of the contract, and of the pytrees that the files of this package define."""
    home = dict(_CONTRACT)
    for file in files(__name__).iterdir():
        module, _, kind = file.name.rpartition(".")
        if kind == "py" and not module.startswith("_"):
            source = file.read_text(encoding="utf-8")
            home |= dict.fromkeys(re.findall(r"^@pytree\n@dataclass\(frozen=True\)\nclass (\w+)", source, re.M), module)
    return home


def __getattr__(name: str) -> Any:
    if name == "__all__":
        return [*_home()]
    if name not in _home():
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    register_pytrees()
    module = import_module(f".{_home()[name]}", __name__)
    return module if _home()[name] == name else getattr(module, name)


def __dir__() -> list[str]:
    return sorted({*globals(), "__all__", *_home()})
