"""Naive Bayes with the whole posterior: closed form and NumPyro, side by side.

Names are imported on first use, so importing the package loads neither JAX nor scikit-learn nor ArviZ.
"""

from importlib import import_module

TYPE_CHECKING = False  # as in `typing`, which takes time to import
if TYPE_CHECKING:
    from . import datasets as datasets
    from . import drop_in as drop_in
    from . import families as families
    from . import plots as plots
    from .analysis.active import expected_information as expected_information
    from .analysis.active import most_informative as most_informative
    from .analysis.averaging import FeatureAverage as FeatureAverage
    from .analysis.binning import EqualWidthBinner as EqualWidthBinner
    from .analysis.binning import EvidenceBinner as EvidenceBinner
    from .analysis.calibration import CalibratedClassifierLOO as CalibratedClassifierLOO
    from .analysis.calibrator import PosteriorCalibrator as PosteriorCalibrator
    from .analysis.comparison import Comparison as Comparison
    from .analysis.comparison import compare as compare
    from .analysis.conformal import ConformalClassifierLOO as ConformalClassifierLOO
    from .analysis.counting import count_parameters as count_parameters
    from .analysis.decisions import CostClassifier as CostClassifier
    from .analysis.decisions import cost_scorer as cost_scorer
    from .analysis.decisions import cost_threshold as cost_threshold
    from .analysis.decisions import decide as decide
    from .analysis.decisions import expected_costs as expected_costs
    from .analysis.decisions import moved_prior as moved_prior
    from .analysis.decisions import with_class_prior as with_class_prior
    from .analysis.half_labelled import HalfLabelledClassifier as HalfLabelledClassifier
    from .analysis.importance import importance as importance
    from .analysis.prior_fitting import PriorDraws as PriorDraws
    from .analysis.prior_fitting import PriorFit as PriorFit
    from .analysis.prior_fitting import fit_prior as fit_prior
    from .analysis.ranking import rank_features as rank_features
    from .analysis.selection import ForwardSelection as ForwardSelection
    from .analysis.selection import SelectionReport as SelectionReport
    from .analysis.spss import SPSSNaiveBayes as SPSSNaiveBayes
    from .analysis.spss import SPSSReport as SPSSReport
    from .columns import ColumnContract as ColumnContract
    from .describing import describe as describe
    from .distributed import DistributedLoo as DistributedLoo
    from .distributed import DistributedNB as DistributedNB
    from .estimators import BernoulliNB as BernoulliNB
    from .estimators import CategoricalNB as CategoricalNB
    from .estimators import ComplementNB as ComplementNB
    from .estimators import ExponentialNB as ExponentialNB
    from .estimators import FamilyNB as FamilyNB
    from .estimators import GaussianDA as GaussianDA
    from .estimators import GaussianNB as GaussianNB
    from .estimators import GeometricNB as GeometricNB
    from .estimators import KernelNB as KernelNB
    from .estimators import MixedNB as MixedNB
    from .estimators import MultinomialNB as MultinomialNB
    from .estimators import OneDependenceNB as OneDependenceNB
    from .estimators import PoissonNB as PoissonNB
    from .io import load as load
    from .naive_bayes import NaiveBayes as NaiveBayes
    from .reporting.report import Report as Report
    from .reporting.report import report as report
    from .sampling.intervals import Uncertainty as Uncertainty
    from .sampling.loo import LooResult as LooResult
    from .sampling.report import CheckReport as CheckReport
    from .sampling.summary import Summary as Summary
    from .sampling.to_arviz import as_arviz as as_arviz
    from .streaming import fit_batches as fit_batches
    from .streaming import predict_batches as predict_batches

__version__ = "0.1.0"

_HOME = {
    "BernoulliNB": "estimators",
    "CalibratedClassifierLOO": "analysis.calibration",
    "CategoricalNB": "estimators",
    "CheckReport": "sampling.report",
    "ColumnContract": "columns",
    "Comparison": "analysis.comparison",
    "ComplementNB": "estimators",
    "ConformalClassifierLOO": "analysis.conformal",
    "CostClassifier": "analysis.decisions",
    "DistributedLoo": "distributed",
    "DistributedNB": "distributed",
    "EqualWidthBinner": "analysis.binning",
    "EvidenceBinner": "analysis.binning",
    "ExponentialNB": "estimators",
    "FamilyNB": "estimators",
    "FeatureAverage": "analysis.averaging",
    "ForwardSelection": "analysis.selection",
    "GaussianDA": "estimators",
    "GaussianNB": "estimators",
    "GeometricNB": "estimators",
    "HalfLabelledClassifier": "analysis.half_labelled",
    "KernelNB": "estimators",
    "LooResult": "sampling.loo",
    "MixedNB": "estimators",
    "MultinomialNB": "estimators",
    "NaiveBayes": "naive_bayes",
    "OneDependenceNB": "estimators",
    "PoissonNB": "estimators",
    "PosteriorCalibrator": "analysis.calibrator",
    "PriorDraws": "analysis.prior_fitting",
    "PriorFit": "analysis.prior_fitting",
    "Report": "reporting.report",
    "SPSSNaiveBayes": "analysis.spss",
    "SPSSReport": "analysis.spss",
    "SelectionReport": "analysis.selection",
    "Summary": "sampling.summary",
    "Uncertainty": "sampling.intervals",
    "as_arviz": "sampling.to_arviz",
    "compare": "analysis.comparison",
    "cost_scorer": "analysis.decisions",
    "cost_threshold": "analysis.decisions",
    "count_parameters": "analysis.counting",
    "datasets": "datasets",
    "decide": "analysis.decisions",
    "describe": "describing",
    "drop_in": "drop_in",
    "expected_costs": "analysis.decisions",
    "expected_information": "analysis.active",
    "families": "families",
    "fit_batches": "streaming",
    "fit_prior": "analysis.prior_fitting",
    "importance": "analysis.importance",
    "load": "io",
    "most_informative": "analysis.active",
    "moved_prior": "analysis.decisions",
    "plots": "plots",
    "predict_batches": "streaming",
    "rank_features": "analysis.ranking",
    "report": "reporting.report",
    "with_class_prior": "analysis.decisions",
}
_PROVISIONAL = ("FamilyNB",)  # names that may change in a minor version; all others change by deprecation alone
__all__ = [*_HOME]


def __getattr__(name: str) -> object:
    """A public name, imported when it is first asked for."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = import_module(f".{_HOME[name]}", __name__)
    return module if _HOME[name] == name else getattr(module, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
