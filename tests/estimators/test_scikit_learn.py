"""All that is an estimator, under scikit-learn's own checks; and its naive Bayes where both compute the same thing."""

import numpy as np
import pytest
import sklearn.naive_bayes as peers
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris
from sklearn.utils.estimator_checks import check_estimator

import bayesnb
from bayesnb import BernoulliNB, CalibratedClassifierLOO, CategoricalNB, GaussianDA, GaussianNB, MultinomialNB, families
from bayesnb.analysis.binning import EqualWidthBinner
from bayesnb.estimators import ComplementNB, FamilyNB, KernelNB, MixedNB, OneDependenceNB, PoissonNB

from ..estimators_table import DEFAULTS, mostly_slow

ALL = [
    *DEFAULTS,
    MultinomialNB(estimate="mean"),
    ComplementNB(norm=True),
    GaussianNB(variance="pooled"),
    GaussianNB(known_variance=1.0, estimate="mean"),
    GaussianDA(covariance="shared"),
    GaussianDA(covariance="identity"),
    KernelNB(bandwidth="nrd0"),
    FamilyNB(families.GammaPoisson(1.0, 1.0)),
    FamilyNB(families.NormalInverseGamma(0.0, 0.1, 1.0, 1.0), estimate="mean"),
    FamilyNB(families.DirichletCategorical(np.ones((1, 1, 20)))),
]

REAL_NUMBERS = "feeds real numbers, which are refused; on whole numbers it is the law that weights count rows"


def expected_failures(estimator):
    tags, expected = estimator.__sklearn_tags__().input_tags, {}
    if tags.positive_only or tags.categorical:
        expected["check_decision_proba_consistency"] = "feeds negative numbers whatever the tags; see the test below"
    if tags.categorical:
        expected["check_sample_weight_equivalence_on_dense_data"] = REAL_NUMBERS
        expected["check_classifiers_one_label_sample_weights"] = REAL_NUMBERS
    if tags.categorical and tags.sparse:
        expected["check_sample_weight_equivalence_on_sparse_data"] = REAL_NUMBERS
    return expected


# one of each base class: of numbers, rates, counts, levels and parts; the others are slow
FIRST = [GaussianNB(), BernoulliNB(), MultinomialNB(), ComplementNB(), CategoricalNB(), PoissonNB(), MixedNB()]

# --- the estimators of bayesnb.analysis, and what scikit-learn's checks find in them
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
FLOATS = {
    f"check_sample_weights_{name}": "float weights are importance, for which the guarantee does not hold"
    for name in ("shape", "not_overwritten")
}
AROUND = [
    (CalibratedClassifierLOO(GaussianNB()), COPIES),
    (bayesnb.ConformalClassifierLOO(GaussianNB()), FLOATS),
    (bayesnb.CostClassifier(GaussianNB()), {}),
    (EqualWidthBinner(), {}),
    (bayesnb.EvidenceBinner(), {}),
    (bayesnb.FeatureAverage(GaussianNB()), {}),
    (bayesnb.ForwardSelection(), FRACTIONS),
    (bayesnb.HalfLabelledClassifier(GaussianNB()), MINUS_ONE),
    (bayesnb.PosteriorCalibrator(GaussianNB()), {}),
    (bayesnb.SPSSNaiveBayes(), {}),
]
ALSO = [
    (bayesnb.DiscriminativeNB(), COPIES),
    (bayesnb.CostClassifier(BernoulliNB()), {}),
    (bayesnb.FeatureAverage(BernoulliNB()), {}),
    (bayesnb.HalfLabelledClassifier(BernoulliNB(), method="em"), MINUS_ONE),
]
CHECKED = [*((nb, expected_failures(nb)) for nb in [*ALL, MixedNB(), OneDependenceNB()]), *AROUND, *ALSO]
IDS = [repr(nb) for nb, _ in CHECKED]
CALIBRATED = bayesnb.PosteriorCalibrator | CalibratedClassifierLOO  # of which the checks fit hundreds
QUICK = [*map(repr, FIRST), *(repr(nb) for nb, _ in AROUND if not isinstance(nb, CALIBRATED))]


@pytest.mark.filterwarnings(
    "ignore:.sample_weight. has an? (integer|float) type:UserWarning"
)  # as some of the checks have
@pytest.mark.parametrize(("nb", "failing"), mostly_slow(CHECKED, lambda case: repr(case[0]) in QUICK), ids=IDS)
def test_scikit_learns_checks(nb, failing):
    check_estimator(nb, expected_failed_checks=failing, on_skip=None)


SOME = [OneDependenceNB(), PoissonNB(), GaussianDA(estimate="mle"), CalibratedClassifierLOO(OneDependenceNB())]


@pytest.mark.parametrize("nb", SOME, ids=repr)
def test_every_attribute_is_there_or_raises_an_attribute_error(nb):
    """Tab completion, and the page of a notebook that scikit-learn makes, ask `hasattr` of every name."""
    X, y = np.array([[0, 1], [0, 2], [1, 0], [1, 3]] * 5), np.repeat([0, 1], 10)
    assert "fit" in dir(nb)
    for rows in (X, 0 * X + 1, 10**12 + X):  # of the second there is no covariance to invert
        try:
            fitted = clone(nb).fit(rows, y)
        except ValueError:  # such rows are refused
            continue
        assert "classes_" in dir(fitted)
    assert fitted._repr_html_()


def test_settings_that_a_model_does_not_have():
    assert OneDependenceNB().get_params().keys() == {"alpha", "prior", "pair_alpha", "min_categories"}
    for nb, name in ((ComplementNB(), "class_alpha"), (KernelNB(), "prior"), (MixedNB(), "prior")):
        assert name not in nb.get_params() and hasattr(nb, name)


def test_decision_function_is_the_log_odds():
    for nb in ALL:
        X, y = load_iris(return_X_y=True)
        X = np.round(X)
        fitted = clone(nb).fit(X[y > 0], y[y > 0])
        log_p = fitted.predict_log_proba(X)
        np.testing.assert_allclose(fitted.decision_function(X), log_p[:, 1] - log_p[:, 0], rtol=1e-9, atol=1e-12)


def test_mean_is_scikit_learns_smoothing_and_mle_its_gaussian():
    X, y = load_digits(return_X_y=True)
    w = np.random.default_rng(0).random(len(y)) + 0.5
    for name, settings in (("BernoulliNB", {"binarize": 7}), ("CategoricalNB", {}), ("MultinomialNB", {})):
        settings |= {"alpha": 0.3, "class_prior": np.full(10, 0.1)}
        ours = getattr(bayesnb, name)(estimate="mean", **settings).fit(X, y, w)
        theirs = getattr(peers, name)(**settings).fit(X, y, w)
        # scikit-learn's fit sums the same counts; 64 logarithms of size 10 leave 1e-13
        np.testing.assert_allclose(ours.predict_log_proba(X), theirs.predict_log_proba(X), atol=1e-10)
    X, y = load_iris(return_X_y=True)
    ours = GaussianNB(estimate="mle").fit(X, y)
    theirs = peers.GaussianNB().fit(X, y)
    np.testing.assert_allclose(ours.predict_log_proba(X), theirs.predict_log_proba(X), atol=1e-9)
