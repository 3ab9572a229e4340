"""The likelihoods: one variant, one file, one page."""

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
