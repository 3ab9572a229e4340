"""The scikit-learn shell of every variant."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

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


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_HOME[name]}", __name__), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
