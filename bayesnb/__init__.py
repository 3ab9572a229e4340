"""Naive Bayes with the whole posterior: closed form and NumPyro, side by side.

Names are looked up on first use, so that importing the package loads neither JAX nor scikit-learn nor ArviZ.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import datasets as datasets
    from . import families as families
    from .estimators import BernoulliNB as BernoulliNB
    from .estimators import CategoricalNB as CategoricalNB
    from .estimators import GaussianNB as GaussianNB
    from .estimators import MultinomialNB as MultinomialNB
    from .estimators import PoissonNB as PoissonNB
    from .naive_bayes import NaiveBayes as NaiveBayes
    from .sampling.report import CheckReport as CheckReport
    from .sampling.to_arviz import as_arviz as as_arviz

__version__ = "0.1.0"

_HOME = {
    "BernoulliNB": "estimators",
    "CategoricalNB": "estimators",
    "GaussianNB": "estimators",
    "MultinomialNB": "estimators",
    "PoissonNB": "estimators",
    "NaiveBayes": "naive_bayes",
    "CheckReport": "sampling.report",
    "as_arviz": "sampling.to_arviz",
}
__all__ = [*_HOME, "datasets", "families"]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(f".{_HOME[name]}", __name__), name)
    if name in ("datasets", "families"):
        return import_module(f".{name}", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
