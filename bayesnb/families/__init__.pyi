"""Public names of the families, and where they are: read by type checkers, and by `lazy_loader` on first use."""

from ._page import (
    AMOUNT as AMOUNT,
)
from ._page import (
    COUNT as COUNT,
)
from ._page import (
    POSITIVE_DEFINITE as POSITIVE_DEFINITE,
)
from ._page import (
    REAL as REAL,
)
from ._page import (
    AbstractConjugate as AbstractConjugate,
)
from ._page import (
    Cells as Cells,
)
from ._page import (
    Conjugate as Conjugate,
)
from ._page import (
    Field as Field,
)
from ._page import (
    Moments as Moments,
)
from ._page import (
    Totals as Totals,
)
from ._page import (
    contract as contract,
)
from ._page import (
    declare as declare,
)
from ._page import (
    digamma as digamma,
)
from ._page import (
    gammaln as gammaln,
)
from ._page import (
    inverse_gamma as inverse_gamma,
)
from ._page import (
    log1p as log1p,
)
from ._page import (
    log_beta as log_beta,
)
from ._page import (
    log_dirichlet as log_dirichlet,
)
from ._page import (
    log_floor as log_floor,
)
from ._page import (
    log_gamma as log_gamma,
)
from ._page import (
    log_rising as log_rising,
)
from ._page import (
    n_rows as n_rows,
)
from ._page import (
    namespace as namespace,
)
from ._page import (
    normal as normal,
)
from ._page import (
    observed as observed,
)
from ._page import (
    pytree as pytree,
)
from ._page import (
    split as split,
)
from ._page import (
    sum_over_features as sum_over_features,
)
from ._page import (
    tetragamma as tetragamma,
)
from ._page import (
    trigamma as trigamma,
)
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
from .log_normal import LogMoments as LogMoments
from .log_normal import LogNormal as LogNormal
from .multinomial import DirichletMultinomial as DirichletMultinomial
from .negative_binomial import BetaNegativeBinomial as BetaNegativeBinomial
from .one_class import OneClass as OneClass
from .poisson import GammaPoisson as GammaPoisson
from .pooled_gaussian import PooledNormalInverseGamma as PooledNormalInverseGamma
from .tied_gaussian import TiedNormalInverseWishart as TiedNormalInverseWishart
