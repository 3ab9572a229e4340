"""From probabilities to decisions: what costs least on average, and when to abstain.

With the cost [k, a] of deciding a where class k is true, the decision with the least expected cost is

    argmin_a Σ_k p(y = k | x) cost[k, a]

or to decide nothing where that costs less. Berger (1985), Statistical Decision Theory and
Bayesian Analysis, 2nd ed., §4.4; Chow (1970), On optimum recognition error and reject tradeoff, IEEE Trans. Inf. Theory
16 (abstention).

For two classes costs, thresholds and moved class priors are one thing. Predicting the second class where
p(y = 1 | x) > t costs least on average for t = a / (a + b), a the cost of a false positive and b that of a false
negative. The same decisions come from the threshold ½ after the prior odds of the second class are multiplied by
(1 − t)/t. Duda, Hart & Stork (2001), Pattern Classification, 2nd ed., §2.2; Elkan (2001), The
foundations of cost-sensitive learning, IJCAI, theorem 2.
"""

import copy
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted, column_or_1d

from ..core.arrays import Float, Int, Scalar
from ..core.supports import as_numbers
from ..estimators._base import AbstractNB
from ..estimators._input import align
from ._wrapper import AbstractWrapper

ABSTAIN = -1  # the index of no class


def cost_threshold(false_positive: Scalar, false_negative: Scalar) -> float:
    """The threshold on p(y = 1 | x) with the least expected cost, t = a / (a + b).

    Use it in `sklearn.model_selection.FixedThresholdClassifier(nb, threshold=t)`.

    Parameters
    ----------
    false_positive, false_negative : costs a and b of the two errors, positive, in any unit

    Raises
    ------
    ValueError
        if a cost is not positive and finite

    Examples
    --------
    >>> from bayesnb.analysis.decisions import cost_threshold
    >>> cost_threshold(false_positive=1, false_negative=4)  # call it positive from this probability on
    0.2
    """
    if not (0 < false_positive < np.inf and 0 < false_negative < np.inf):
        raise ValueError(f"the costs are {false_positive} and {false_negative}; they need to be positive and finite")
    return false_positive / (false_positive + false_negative)


def moved_prior(class_prior: Any, threshold: Scalar) -> Float[np.ndarray, " 2"]:
    """The class prior at which p(y = 1 | x) > ½ is the same decision as p(y = 1 | x) > t under the given prior.

    π₁'/π₀' = π₁/π₀ · (1 − t)/t

    Parameters
    ----------
    class_prior : (2,) probabilities of the two classes
    threshold : t, between 0 and 1. A low threshold finds more rows of the second class (recall). With a high threshold
        fewer of the rows found are wrong (precision)

    Raises
    ------
    ValueError
        if `class_prior` is not two probabilities that sum to one, or if t is not between 0 and 1

    Examples
    --------
    >>> from bayesnb.analysis.decisions import moved_prior
    >>> moved_prior([0.5, 0.5], 0.9)  # the prior under which 1/2 is the threshold that 0.9 was
    array([0.9, 0.1])
    """
    pi = np.asarray(class_prior, float)
    if pi.shape != (2,) or not (pi > 0).all() or not np.isclose(pi.sum(), 1):
        raise ValueError(f"`class_prior` is {class_prior!r}; it needs two positive probabilities that sum to one")
    if not 0 < threshold < 1:
        raise ValueError(f"`threshold` is {threshold}; it needs to lie between 0 and 1")
    weight = pi * np.array([threshold, 1 - threshold])
    return weight / weight.sum()


def with_class_prior(estimator: Any, class_prior: Any) -> Any:
    """A copy of a fitted estimator with fixed class probabilities, without a new fit.

    Only p(y) is replaced; the posterior of the feature parameters stays. Use it if the class frequencies of new rows
    differ from those of the training rows.

    Parameters
    ----------
    class_prior : (c,) probabilities

    Raises
    ------
    TypeError
        if `estimator` is not an estimator of bayesnb, such as a pipeline
    ValueError
        if `class_prior` does not have one probability for each class, or does not sum to one. Also if the estimator
        has no class prior (`OneDependenceNB`)

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> from bayesnb import GaussianNB, with_class_prior
    >>> nb = GaussianNB().fit(X, y)
    >>> with_class_prior(nb, [0.1, 0.1, 0.8]).predict_proba(X[70:71]).round(2)
    array([[0.  , 0.05, 0.95]])
    """
    if not isinstance(estimator, AbstractNB):
        raise TypeError(
            f"`estimator` is a {type(estimator).__name__}; only an estimator of bayesnb has a class prior to replace. "
            "Of a pipeline, replace the last step. Give a wrapper an estimator with `class_prior`, and fit it again"
        )
    check_is_fitted(estimator)
    moved = copy.copy(estimator)
    pi = np.asarray(align("class_prior", class_prior, moved.classes_), float)
    moved.set_params(**{moved.class_prior_parameter: pi})
    return moved.with_statistics(moved.statistics_)


# --- any number of classes ------------------------------------------------------------------------------------------


def decide(p: Any, costs: Any = None, abstain_cost: Scalar | None = None) -> Int[np.ndarray, " n"]:
    """Index of the class with the least expected cost for each row, or −1 if abstaining costs less.

    Parameters
    ----------
    p : (n, c) class probabilities, or (c,) of one row
    costs : (c, c) finite numbers; entry [k, a] is the cost of deciding class a if class k is true. With None each error
        costs 1
    abstain_cost : cost of abstaining, whichever class is true; None never abstains

    Notes
    -----
    If costs are equal, the first class is decided, and a class is preferred to abstaining.

    Raises
    ------
    ValueError
        if the costs are not finite or have another shape

    Examples
    --------
    >>> import numpy as np
    >>> from bayesnb import decide
    >>> decide(np.array([[0.7, 0.3], [0.4, 0.6]]))
    array([0, 1])
    >>> decide(np.array([[0.7, 0.3]]), costs=np.array([[0, 1], [5, 0]]))
    array([1])
    """
    p = np.atleast_2d(as_numbers("p", p, "class probabilities, (n, c)"))
    prices = p @ _checked(costs, abstain_cost, p.shape[1])
    best = prices.argmin(1)
    return best if abstain_cost is None else np.where(abstain_cost < prices.min(1), ABSTAIN, best)


def _checked(costs: Any, abstain_cost: Any, c: int, classes: Any = None) -> Float[np.ndarray, "c c"]:
    """The table of costs; ValueError unless all costs are finite."""
    costs = align("costs", costs, classes, classes)
    table = 1 - np.eye(c) if costs is None else as_numbers("costs", costs, f"finite numbers, ({c}, {c})")
    if table.shape != (c, c):
        raise ValueError(f"`costs` has shape {table.shape}; {c} classes need ({c}, {c})")
    if not np.isfinite([*table.flat, as_numbers("abstain_cost", abstain_cost or 0, "a finite number")]).all():
        raise ValueError("`costs` and `abstain_cost` need to be finite; to rule out a decision give it a large cost")
    return table


@dataclass(eq=False, repr=False)
class CostClassifier(AbstractWrapper):
    """A classifier that predicts the label with the least expected cost, and may abstain.

    The costs change the decision, not the probabilities: `predict_proba` is that of the estimator.

    Parameters
    ----------
    estimator : classifier with `predict_proba`; a clone of it is fitted. To use a fitted estimator as it is, pass
        `sklearn.frozen.FrozenEstimator(estimator)`
    costs : (c, c), in the order of `classes_`; entry [k, a] is the cost of deciding class a if class k is true. With
        None each error costs 1
    abstain_cost : cost of abstaining, whichever class is true. With None the classifier never abstains, otherwise
        `predict` gives an array of objects, None where it abstains

    Attributes
    ----------
    estimator_ : the fitted estimator
    classes_, n_features_in_, feature_names_in_ : as in scikit-learn

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> from bayesnb import CostClassifier, GaussianNB
    >>> costs = [[0, 1, 1], [1, 0, 1], [1, 5, 0]]  # of class i called class j: rows are true classes
    >>> CostClassifier(GaussianNB(), costs=costs).fit(X, y).predict(X[70:71])
    array([2])
    """

    estimator: Any
    costs: Any = None
    _: KW_ONLY
    abstain_cost: Any = None

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit a clone of the estimator.

        Raises
        ------
        ValueError
            if a parameter is out of range or does not fit the classes
        """
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}
        fitted = clone(self.estimator).fit(X, y, **weights)
        self._table(fitted.classes_)
        return self._take_over(fitted)

    def _table(self, classes: np.ndarray) -> Float[np.ndarray, "c c"]:
        return _checked(self.costs, self.abstain_cost, len(classes), classes)

    def predict(self, X: Any) -> np.ndarray:
        """The label with the least expected cost of each row, or None, (n,)."""
        check_is_fitted(self)
        fitted = self.estimator_
        found = decide(fitted.predict_proba(X), self._table(fitted.classes_), self.abstain_cost)
        labels, none = fitted.classes_[found], np.array(None)
        return labels if self.abstain_cost is None else np.where(found == ABSTAIN, none, labels)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Minus the average cost of a row; larger is better, as `GridSearchCV` expects."""
        check_is_fitted(self)
        fitted, y = self.estimator_, column_or_1d(y)
        if (unknown := ~np.isin(y, fitted.classes_)).any():
            raise ValueError(f"`y` has the labels {np.unique(y[unknown])}, which are no classes; leave them out")
        table = self._table(fitted.classes_)
        found = decide(fitted.predict_proba(X), table, self.abstain_cost)
        costs = table[np.searchsorted(fitted.classes_, y), found]
        return -float(np.average(np.where(found == ABSTAIN, self.abstain_cost, costs), weights=sample_weight))
