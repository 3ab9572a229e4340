"""From probabilities to decisions for two classes: costs, thresholds and moved class priors are one thing.

Predicting the second class where p(y = 1 | x) > t costs least on average for t = a / (a + b), a the cost of a false
positive and b that of a false negative. The same decisions come from the threshold ½ after the prior odds of the second
class are multiplied by (1 − t)/t. Duda, Hart & Stork (2001), Pattern Classification, 2nd ed., §2.2; Elkan (2001), The
foundations of cost-sensitive learning, IJCAI, theorem 2.
"""

import copy
from typing import Any

import numpy as np
from jaxtyping import Float
from sklearn.metrics import confusion_matrix, make_scorer
from sklearn.utils.validation import check_is_fitted

from .._typing import Scalar
from ..families import FixedClasses


def cost_threshold(false_positive: Scalar, false_negative: Scalar) -> float:
    """The threshold on p(y = 1 | x) with the least expected cost, t = a / (a + b).

    For `sklearn.model_selection.FixedThresholdClassifier(nb, threshold=t)`.

    Parameters
    ----------
    false_positive, false_negative : costs a, b of the two errors, positive, any unit

    Raises
    ------
    ValueError
        if a cost is not positive and finite
    """
    for name, cost in (("false_positive", false_positive), ("false_negative", false_negative)):
        if not (np.isfinite(cost) and cost > 0):
            raise ValueError(f"`{name}` is {cost}; a cost needs to be positive and finite")
    return false_positive / (false_positive + false_negative)


def cost_scorer(false_positive: Scalar, false_negative: Scalar) -> Any:
    """A scikit-learn scorer for two classes: minus the average cost of a row.

    For `sklearn.model_selection.TunedThresholdClassifierCV(nb, scoring=cost_scorer(1, 5))`, which looks for the
    threshold on held-out rows. With honest probabilities it finds `cost_threshold`.

    Parameters
    ----------
    false_positive, false_negative : costs of the two errors, positive, any unit

    Raises
    ------
    ValueError
        if a cost is not positive and finite, or at scoring if the labels have more than two classes
    """
    cost_threshold(false_positive, false_negative)

    def gain(y: Any, predicted: Any) -> float:
        table = confusion_matrix(y, predicted, labels=(labels := np.union1d(y, predicted)))
        if len(labels) > 2:
            raise ValueError(f"`y` has the labels {labels}; false positives and negatives are those of two classes")
        if len(labels) == 1:
            return 0.0
        return -float(false_positive * table[0, 1] + false_negative * table[1, 0]) / len(y)

    return make_scorer(gain)


def moved_prior(class_prior: Any, threshold: Scalar) -> Float[np.ndarray, " 2"]:
    """The class prior at which p(y = 1 | x) > ½ is the decision p(y = 1 | x) > t under the prior given.

    π₁'/π₀' = π₁/π₀ · (1 − t)/t

    Parameters
    ----------
    class_prior : (2,) probabilities of the two classes
    threshold : t, between 0 and 1. Low ones find more of the second class (recall), high ones err less (precision)

    Raises
    ------
    ValueError
        if there are not two probabilities that sum to one, or t does not lie between 0 and 1
    """
    pi = np.asarray(class_prior, float)
    if pi.shape != (2,) or not (pi > 0).all() or not np.isclose(pi.sum(), 1):
        raise ValueError(f"`class_prior` is {class_prior!r}; it needs two positive probabilities that sum to one")
    if not 0 < threshold < 1:
        raise ValueError(f"`threshold` is {threshold}; it needs to lie between 0 and 1")
    weight = pi * np.array([threshold, 1 - threshold])
    return weight / weight.sum()


def with_class_prior(estimator: Any, class_prior: Any) -> Any:
    """A copy of a fitted estimator with fixed class probabilities; nothing is refitted.

    What the rows say about the features stays; only p(y) is replaced, as when the classes are more or less frequent
    where the model is used than where it was fitted.

    Parameters
    ----------
    class_prior : (c,) probabilities

    Raises
    ------
    ValueError
        if they are not one for each class, or do not sum to one
    """
    check_is_fitted(estimator)
    moved = copy.copy(estimator)
    name = "priors" if hasattr(estimator, "priors") else "class_prior"
    moved.set_params(**{name: np.asarray(class_prior, float)})
    assert isinstance(moved._class_prior(), FixedClasses)
    return moved._set_statistics(moved.statistics_)
