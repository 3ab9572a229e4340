"""Public names, and where they are: read by type checkers, and by `lazy_loader` on first use."""

from . import datasets as datasets
from . import drop_in as drop_in
from . import families as families
from . import plots as plots
from . import testing as testing
from .analysis.active import most_informative as most_informative
from .analysis.averaging import FeatureAverage as FeatureAverage
from .analysis.binning import EvidenceBinner as EvidenceBinner
from .analysis.comparison import compare as compare
from .analysis.cut_offs import threshold_table as threshold_table
from .analysis.decisions import CostClassifier as CostClassifier
from .analysis.decisions import decide as decide
from .analysis.decisions import with_class_prior as with_class_prior
from .analysis.explaining import explain as explain
from .analysis.half_labelled import HalfLabelledClassifier as HalfLabelledClassifier
from .analysis.importance import importance as importance
from .analysis.map_or_posterior import map_or_posterior as map_or_posterior
from .analysis.prior_fitting import fit_prior as fit_prior
from .analysis.ranking import rank_features as rank_features
from .analysis.roc import roc_curves as roc_curves
from .analysis.selection import ForwardSelection as ForwardSelection
from .analysis.spss import SPSSNaiveBayes as SPSSNaiveBayes
from .calibration.conformal import ConformalClassifierLOO as ConformalClassifierLOO
from .calibration.leave_one_out import CalibratedClassifierLOO as CalibratedClassifierLOO
from .calibration.posterior_calibrator import PosteriorCalibrator as PosteriorCalibrator
from .choice import choose_predictor as choose_predictor
from .discriminative.model import DiscriminativeNB as DiscriminativeNB
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
from .models.naive_bayes import NaiveBayes as NaiveBayes
from .reporting import report as report
from .streaming import fit_batches as fit_batches
from .streaming import predict_batches as predict_batches
from .tables.describing import describe as describe

__version__: str
_PROVISIONAL: tuple[str, ...]
