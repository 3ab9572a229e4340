"""The scikit-learn shell of every variant."""

from .bernoulli import BernoulliNB as BernoulliNB
from .categorical import CategoricalNB as CategoricalNB
from .gaussian import GaussianNB as GaussianNB
from .multinomial import MultinomialNB as MultinomialNB
from .poisson import PoissonNB as PoissonNB
