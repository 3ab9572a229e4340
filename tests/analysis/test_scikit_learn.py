"""scikit-learn's checks of everything in the room that is an estimator."""

import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.utils.estimator_checks import check_estimator

from bayesnb import (
    BernoulliNB,
    CalibratedClassifierLOO,
    ConformalClassifierLOO,
    CostClassifier,
    DiscriminativeNB,
    EvidenceBinner,
    FeatureAverage,
    ForwardSelection,
    GaussianNB,
    HalfLabelledClassifier,
    PosteriorCalibrator,
    SPSSNaiveBayes,
)
from bayesnb.analysis.binning import EqualWidthBinner

from ..estimators_table import mostly_slow

FRACTIONS = {
    "check_sample_weight_equivalence_on_dense_data": "fractions are no levels",
    "check_classifiers_one_label_sample_weights": "fractions are no levels",
}
# a row that occurs twice is predicted by its copy, or leaves with it; a row of weight 2 does neither
COPIES = {
    f"check_sample_weight_equivalence_on_{kind}_data": "copies leave together, and count as one row"
    for kind in ("dense", "sparse")
}
MINUS_ONE = {"check_classifiers_classes": "has a class −1, which stands for a missing label here"}
SOLVER = {"check_sample_weight_equivalence_on_sparse_data": "its solver ends 1e-4 from the optimum"}
CHECKED = [
    (CalibratedClassifierLOO(GaussianNB()), COPIES),
    (ConformalClassifierLOO(GaussianNB()), {}),
    (CostClassifier(GaussianNB()), {}),
    (EqualWidthBinner(), {}),
    (EvidenceBinner(), {}),
    (FeatureAverage(GaussianNB()), {}),
    (ForwardSelection(), FRACTIONS),
    (HalfLabelledClassifier(GaussianNB()), MINUS_ONE),
    (PosteriorCalibrator(GaussianNB()), {}),
    (SPSSNaiveBayes(), {}),
    (DiscriminativeNB(), {}),
    (CostClassifier(BernoulliNB()), {}),
    (FeatureAverage(BernoulliNB()), {}),
    (HalfLabelledClassifier(BernoulliNB(), method="em"), MINUS_ONE),
    (PosteriorCalibrator(LogisticRegression()), SOLVER),
]


@pytest.mark.parametrize(("estimator", "failing"), mostly_slow(CHECKED, lambda case: case in CHECKED[:10]), ids=repr)
def test_scikit_learns_checks(estimator, failing):
    check_estimator(estimator, expected_failed_checks=failing, on_skip=None)
