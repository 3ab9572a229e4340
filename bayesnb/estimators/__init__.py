"""The scikit-learn shell of every variant."""

from typing import TYPE_CHECKING

from ..core.lazy import by_name

if TYPE_CHECKING:
    from .bernoulli import BernoulliNB as BernoulliNB
    from .categorical import CategoricalNB as CategoricalNB
    from .complement import ComplementNB as ComplementNB
    from .exponential import ExponentialNB as ExponentialNB
    from .family import FamilyNB as FamilyNB
    from .gaussian import GaussianNB as GaussianNB
    from .gaussian_da import GaussianDA as GaussianDA
    from .geometric import GeometricNB as GeometricNB
    from .kernel import KernelNB as KernelNB
    from .mixed import MixedNB as MixedNB
    from .multinomial import MultinomialNB as MultinomialNB
    from .one_dependence import OneDependenceNB as OneDependenceNB
    from .poisson import PoissonNB as PoissonNB

_HOME = {
    "BernoulliNB": "bernoulli",
    "CategoricalNB": "categorical",
    "ComplementNB": "complement",
    "ExponentialNB": "exponential",
    "FamilyNB": "family",
    "GaussianDA": "gaussian_da",
    "GaussianNB": "gaussian",
    "GeometricNB": "geometric",
    "KernelNB": "kernel",
    "MixedNB": "mixed",
    "MultinomialNB": "multinomial",
    "OneDependenceNB": "one_dependence",
    "PoissonNB": "poisson",
}
__all__ = [*_HOME]
__getattr__, __dir__ = by_name(__name__, _HOME)
