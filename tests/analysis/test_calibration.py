"""Calibration by leave-one-out: derivatives, maps, what the prediction promises, and scikit-learn's checks."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from bayesnb import CalibratedClassifierLOO, GaussianNB, MultinomialNB

COPIES = "repeats rows: copies of a row are one row for the map, and a weight of 3 is not; see the laws below"


def expected_failures(estimator):
    tags, expected = estimator.__sklearn_tags__().input_tags, {}
    expected["check_sample_weight_equivalence_on_dense_data"] = COPIES
    if tags.sparse:
        expected["check_sample_weight_equivalence_on_sparse_data"] = COPIES
    if tags.positive_only:
        expected["check_decision_proba_consistency"] = "feeds negative numbers whatever the tags"
    return expected


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks(
    [CalibratedClassifierLOO(GaussianNB()), CalibratedClassifierLOO(MultinomialNB())],
    expected_failed_checks=expected_failures,
)
def test_scikit_learns_checks(estimator, check):
    check(estimator)
