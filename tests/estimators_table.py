"""One table of estimators, a row each, for what all of them promise (`laws.py` is that of families).

A test takes the rows that it is about, by what their families declare of a cell. A new estimator is one new row. Where
one or two of them exercise what is tested, `mostly_slow` leaves the others to the slow tests.
"""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pytest

from bayesnb import BernoulliNB, CategoricalNB, GaussianDA, GaussianNB, MultinomialNB, PoissonNB
from bayesnb.estimators import ComplementNB, ExponentialNB, GeometricNB, KernelNB

ALL = [
    BernoulliNB(binarize=3),
    CategoricalNB(),
    MultinomialNB(),
    ComplementNB(),
    PoissonNB(),
    ExponentialNB(),
    GeometricNB(),
    GaussianNB(),
    GaussianNB(variance="pooled"),
    GaussianNB(known_variance=2.0),
    GaussianDA(),
    GaussianDA(covariance="shared"),
    GaussianDA(covariance="identity"),
    KernelNB(),
    KernelNB(bandwidth="nrd0"),
    KernelNB(bandwidth=0.5),
]
TAKES_MISSING = [nb for nb in ALL if not isinstance(nb, MultinomialNB | ComplementNB | GaussianDA)]
FORETELLS = [nb for nb in ALL if not isinstance(nb, KernelNB)]  # a leave-one-out product is no density of the data
OF_A_COUNT = [nb for nb in ALL if nb._cells.kind == "counts"]
# a cell is a whole number; each has a beta prior of one cell, with the settings alpha and beta
WHOLE = [nb for nb in ALL if nb._cells.whole]
# every class once, as it is without settings
DEFAULTS = [kind() for kind in dict.fromkeys(map(type, ALL))]
# how a bandwidth is found is of no interest here
GIVEN_BANDWIDTH = [nb for nb in ALL if getattr(nb, "bandwidth", 0.5) == 0.5]
# one of each kind of statistics, and of each way in
ONE_OF_EACH = [nb for nb in GIVEN_BANDWIDTH if getattr(nb, "covariance", "class") == "class"]


def called(nb: Any) -> str:
    """A short name: "poisson" for PoissonNB()."""
    return type(nb).__name__.removesuffix("NB").lower()


def mostly_slow(cases: Iterable[Any], by_default: Callable[[Any], bool]) -> list[Any]:
    """The cases of a parametrised test, of which only some run by default; the others are slow."""
    return [case if by_default(case) else pytest.param(*_arguments(case), marks=pytest.mark.slow) for case in cases]


def these(*texts: str) -> Callable[[Any], bool]:
    """Whether an estimator is one of those written here, or a text one of these."""
    return lambda case: (case if isinstance(case, str) else repr(case)) in texts


def assert_same_fit(got: Any, want: Any, X: Any) -> None:
    """Classes and their weights, log probabilities of rows and the evidence are the same."""
    np.testing.assert_array_equal(got.classes_, want.classes_)
    np.testing.assert_allclose(got.class_count_, want.class_count_, rtol=1e-13)
    np.testing.assert_allclose(got.predict_log_proba(X), want.predict_log_proba(X), rtol=1e-12, atol=1e-12)
    evidence = [nb.prior_.log_marginal(nb.statistics_) for nb in (got, want)]
    assert evidence[0] == pytest.approx(evidence[1], rel=1e-12)


def _arguments(case: Any) -> tuple[Any, ...]:
    return case if isinstance(case, tuple) else (case,)
