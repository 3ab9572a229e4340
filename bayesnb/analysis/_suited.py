"""Whether an estimator is of the kind that an analysis needs; the errors say which one is."""

from typing import Any

from ..estimators._base import AbstractNB
from ..estimators.one_dependence import OneDependenceNB


def check_independent(estimator: Any, what: str) -> None:
    """TypeError unless it is an estimator of bayesnb; ValueError if it is `OneDependenceNB`."""
    if not isinstance(estimator, AbstractNB):
        kind = estimator.__name__ if isinstance(estimator, type) else type(estimator).__name__
        raise TypeError(
            f"`estimator` is {kind}; {what} needs an estimator of bayesnb, such as GaussianNB(). Transform X first, "
            "outside of it"
        )
    if isinstance(estimator, OneDependenceNB):
        raise ValueError(
            f"`estimator` is OneDependenceNB, an average of models of pairs of features; {what} needs a single model. "
            "Use CategoricalNB"
        )


def refuse_points(estimator: Any, what: str) -> None:
    """ValueError for an estimator that plugs in a point estimate, where the parameters have to be integrated out."""
    if (estimate := getattr(estimator, "estimate", "predictive")) != "predictive":
        raise ValueError(
            f"`estimator` has estimate={estimate!r}; {what} uses the predictive, so set estimate='predictive'"
        )
