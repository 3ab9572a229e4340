"""The likelihoods: one variant, one file, one page."""

from .bernoulli import BetaBernoulli as BetaBernoulli
from .categorical import DirichletCategorical as DirichletCategorical
from .classes import DirichletClasses as DirichletClasses
from .classes import FixedClasses as FixedClasses
from .gaussian import NormalInverseGamma as NormalInverseGamma
from .known_gaussian import KnownVarianceNormal as KnownVarianceNormal
from .multinomial import DirichletMultinomial as DirichletMultinomial
from .poisson import GammaPoisson as GammaPoisson
from .pooled_gaussian import PooledNormalInverseGamma as PooledNormalInverseGamma
