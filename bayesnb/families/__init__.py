"""The likelihoods: one variant, one file, one page."""

from typing import TYPE_CHECKING

from .._lazy import by_name

if TYPE_CHECKING:
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
    from .multinomial import DirichletMultinomial as DirichletMultinomial
    from .one_class import OneClass as OneClass
    from .poisson import GammaPoisson as GammaPoisson
    from .pooled_gaussian import PooledNormalInverseGamma as PooledNormalInverseGamma
    from .tied_gaussian import TiedNormalInverseWishart as TiedNormalInverseWishart

_HOME = {
    "BetaBernoulli": "bernoulli",
    "BetaGeometric": "geometric",
    "DirichletCategorical": "categorical",
    "DirichletClasses": "classes",
    "DirichletComplement": "complement",
    "DirichletMultinomial": "multinomial",
    "FixedClasses": "classes",
    "GammaExponential": "exponential",
    "GammaPoisson": "poisson",
    "KernelDensity": "kernel_density",
    "KnownVarianceNormal": "known_gaussian",
    "NormalInverseGamma": "gaussian",
    "NormalInverseWishart": "full_gaussian",
    "OneClass": "one_class",
    "PooledNormalInverseGamma": "pooled_gaussian",
    "TiedNormalInverseWishart": "tied_gaussian",
}
__all__ = [*_HOME]
__getattr__, __dir__ = by_name(__name__, _HOME)
