"""The scikit-learn shell of every variant."""

from .bernoulli import BernoulliNB as BernoulliNB
from .categorical import CategoricalNB as CategoricalNB
from .complement import ComplementNB as ComplementNB
from .exponential import ExponentialNB as ExponentialNB
from .gaussian import GaussianNB as GaussianNB
from .gaussian_da import GaussianDA as GaussianDA
from .geometric import GeometricNB as GeometricNB
from .kernel import KernelNB as KernelNB
from .mixed import MixedNB as MixedNB
from .multinomial import MultinomialNB as MultinomialNB
from .poisson import PoissonNB as PoissonNB
