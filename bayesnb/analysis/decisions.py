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
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils.validation import check_is_fitted, column_or_1d

from ..estimators._input import align
from ..estimators._predicting import AbstractBayes
from ..estimators._wrapper import AbstractWrapper, OfEstimator
from ..numerics.arrays import Float, Int, Scalar
from ..numerics.special import log_normalize
from ..numerics.supports import as_numbers
from ..posterior.predicted import IntervalDraws, OfLogProba

ABSTAIN = -1  # the index of no class
_SUM_TOLERANCE = 0.02  # by which the probabilities of a row may miss 1


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

    # Weights with the ratio π₁ (1 − t) / (π₀ t), then as probabilities. For example, π = (½, ½) and t = 0.9: the
    # weights are ½ · 0.9 and ½ · 0.1, and the result is (0.9, 0.1).
    weight = pi * np.array([threshold, 1 - threshold])
    return weight / weight.sum()


# --- other class frequencies ----------------------------------------------------------------------------------------


def with_class_prior(estimator: Any, class_prior: Any, old: Any = None) -> Any:
    """A copy of a fitted classifier for rows in which the classes have other frequencies, without a new fit.

    In an estimator of bayesnb p(y) is replaced; the posterior of the feature parameters stays. The probabilities of any
    other classifier, calibrated ones and those of `DiscriminativeNB` among them, are multiplied and normalised:

        p'(y = c | x) ∝ p(y = c | x) · new_c / old_c

    This assumes that p(x | y) is the same in the new rows, and that the odds p are calibrated for the old ones.

    Parameters
    ----------
    estimator : a fitted classifier; or a table of its class probabilities (n, c), and a table is then returned
    class_prior : (c,) new class probabilities in the order of `classes_`, or a dictionary of them by label
    old : (c,) class probabilities of the rows that the classifier was fitted to, or a dictionary. By default those that
        it was fitted with are taken: its `class_prior_`, in which the sample weights are, or what was given to it as
        `class_prior`. They have to be given for a table, for a classifier that does not know them (as
        `LogisticRegression`), and where `class_weight` was used. An estimator of bayesnb takes none

    Returns
    -------
    an estimator of the same class, a `MovedClassPrior`, or a table

    Raises
    ------
    TypeError
        if `estimator` is neither a classifier with `predict_proba` nor a table, or decides by costs
    ValueError
        if `class_prior` does not have one probability for each class, or does not sum to one; if `old` is not known and
        not given, or a class that it says never occurs gets a probability. Also if the estimator has no class prior
        (`OneDependenceNB`)

    References
    ----------
    Saerens, Latinne & Decaestecker (2002), Adjusting the outputs of a classifier to new a priori probabilities, Neural
    Computation 14, eq. (2.4).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> from bayesnb import CalibratedClassifierLOO, GaussianNB, with_class_prior
    >>> nb = GaussianNB().fit(X, y)
    >>> with_class_prior(nb, [0.1, 0.1, 0.8]).predict_proba(X[70:71]).round(2)
    array([[0.  , 0.05, 0.95]])
    >>> calibrated = CalibratedClassifierLOO(GaussianNB()).fit(X, y)
    >>> with_class_prior(calibrated, {0: 0.1, 1: 0.1, 2: 0.8}).predict(X[70:71])
    array([2])
    >>> with_class_prior([[0.5, 0.5]], [0.9, 0.1], old=[0.5, 0.5])  # a table of any classifier
    array([[0.9, 0.1]])
    """
    # an estimator of bayesnb has p(y) as a part that can be replaced
    if isinstance(estimator, AbstractBayes):
        return _with_replaced_prior(estimator, class_prior, old)

    # what cannot be fitted is a table of probabilities, unless it is a class by mistake, GaussianNB for GaussianNB()
    if isinstance(estimator, type):
        raise TypeError(f"`estimator` is the class {estimator.__name__}; give a fitted classifier")
    if not hasattr(estimator, "fit"):
        return _moved_table(estimator, class_prior, old)

    # Any other classifier is put into a `MovedClassPrior`, which multiplies its probabilities by new/old. One that
    # decides by costs is refused: it does not predict the most probable label.
    if not hasattr(estimator, "predict_proba") or isinstance(estimator, CostClassifier):
        raise TypeError(
            f"`estimator` is a {type(estimator).__name__}; only a classifier that predicts the most probable label has "
            "a class prior to replace. Give the classifier inside, and put what is returned into the wrapper, as "
            "`sklearn.frozen.FrozenEstimator(moved)`"
        )

    check_is_fitted(estimator)
    if not isinstance(estimator, MovedClassPrior):
        # `take` only stores the classifier and both class priors: nothing is fitted again
        return MovedClassPrior(estimator, class_prior, old=old).take(estimator)

    # One that was moved before is moved anew: the classifier inside, from its first class frequencies. The
    # probabilities are thus multiplied by new/first once, and not by new/second on top of second/first.
    inside = estimator.estimator_
    first_prior = estimator.old_prior_ if old is None else old
    return MovedClassPrior(inside, class_prior, old=first_prior).take(inside)


def _with_replaced_prior(estimator: AbstractBayes, class_prior: Any, old: Any) -> AbstractBayes:
    """A copy of a fitted estimator of bayesnb with fixed class probabilities and the same posterior of all else.

    Parameters
    ----------
    class_prior : (c,) new class probabilities, or a dictionary of them by label
    old : has to be None, as the estimator knows its class probabilities
    """
    if old is not None:
        raise ValueError(
            f"`old` is {old!r}, but {type(estimator).__name__} knows its class probabilities, which are replaced; "
            "leave `old` out"
        )
    check_is_fitted(estimator)
    moved = copy.copy(estimator)
    probabilities = _in_order("class_prior", class_prior, moved.classes_)  # (c,)
    # the setting has another name in some estimators: `class_prior`, or `priors` as in scikit-learn's GaussianNB
    moved.set_params(**{moved.model_.class_prior_parameter: probabilities})
    return moved.model_.with_statistics(moved.statistics_)  # fitted again, from the sums over rows that it holds


def _moved_table(table: Any, class_prior: Any, old: Any) -> Float[np.ndarray, "n c"]:
    """A table of class probabilities with other class frequencies: p'(c | x) ∝ p(c | x) · new_c / old_c.

    Parameters
    ----------
    table : (n, c) class probabilities of each row; what the user gave as `estimator`
    class_prior, old : new and old probabilities of the classes 0 … c − 1, in this order or by number
    """
    p = as_numbers("estimator", table, "a fitted classifier, or a table of class probabilities (n, c)")
    is_table = p.ndim == 2 and (p >= 0).all() and np.allclose(p.sum(1), 1, atol=_SUM_TOLERANCE)
    if not is_table:
        raise ValueError(
            f"`estimator` is a table of shape {p.shape}; it needs class probabilities (n, c), each row with the sum 1"
        )
    if old is None:
        raise ValueError("`old` is None; a table does not know the class frequencies it was made for, so give them")

    labels = np.arange(p.shape[1])  # a table has no labels, so its classes are 0 … c − 1
    new_prior = _class_probabilities("class_prior", class_prior, labels)  # (c,)
    old_prior = _old_prior(old, labels)  # (c,)

    # p'(c | x) ∝ p(c | x) · new_c / old_c, which is Bayes' theorem with the same p(x | c) and another p(c)
    log_ratio = np.log(new_prior) - np.log(old_prior)  # (c,)
    with np.errstate(divide="ignore"):  # a probability of 0 has the logarithm −∞, and stays 0
        log_p = np.log(p) + log_ratio  # (n, c) but for a constant of each row
        return np.exp(log_normalize(log_p))  # over the classes of each row the sum is 1


def _in_order(name: str, prior: Any, classes: np.ndarray) -> np.ndarray:
    """Class probabilities as numbers in the order of `classes`, from a dictionary by label or a list in this order.

    `name` is the argument that gives them, for the error message.
    """
    values = prior
    if isinstance(prior, Mapping):
        # a series of numbers with labels, which `align` puts into the order of the classes
        values = pd.Series(list(prior.values()), index=pd.Index(list(prior), dtype=object))
    return as_numbers(name, align(name, values, classes), f"{len(classes)} class probabilities")


def _class_probabilities(name: str, prior: Any, classes: np.ndarray) -> Float[np.ndarray, " c"]:
    """One positive probability for each class, with the sum 1 exactly; ValueError where `prior` is something else.

    `name` is the argument that gives it, for the error message.
    """
    pi = _in_order(name, prior, classes)
    if pi.shape != (len(classes),) or not (pi > 0).all() or not np.isclose(pi.sum(), 1):
        raise ValueError(f"`{name}` is {prior!r}; it needs {len(classes)} positive probabilities that sum to one")
    return pi / pi.sum()


def _old_prior(old: Any, classes: np.ndarray) -> Float[np.ndarray, " c"]:
    """The class probabilities that the argument `old` gives, in the order of the classes.

    A dictionary by label, or a list (c,); ValueError unless they are positive with the sum 1.
    """
    return _class_probabilities("old", old, classes)


def _known_prior(estimator: Any) -> Any:
    """The class probabilities (c,) that a fitted classifier was fitted with; None where it does not tell them.

    They are a public attribute: `class_prior_`, or as in scikit-learn `class_log_prior_` or `priors_`. With the setting
    `class_weight` the predicted probabilities are for other class frequencies than these, so it is None again.
    """
    last = estimator
    if hasattr(estimator, "steps"):  # a pipeline: a list of (name, estimator), of which the last is the classifier
        _, last = estimator.steps[-1]

    if getattr(last, "class_weight", None) is not None:  # it multiplied the frequencies of the classes in the fit
        return None
    if hasattr(last, "class_prior_"):
        return last.class_prior_
    if hasattr(last, "class_log_prior_"):
        return np.exp(last.class_log_prior_)
    return getattr(last, "priors_", None)  # of discriminant analysis; None where nothing tells


class MovedClassPrior(OfLogProba, OfEstimator, MetaEstimatorMixin, ClassifierMixin, BaseEstimator):
    """A classifier for rows in which the classes have other frequencies than where it was fitted.

    `with_class_prior` makes it of a fitted classifier. Its `fit` fits a clone, and moves the class prior then.

    Parameters
    ----------
    estimator : a classifier with `predict_proba`
    class_prior : (c,) new class probabilities in the order of `classes_`, or a dictionary of them by label
    old : (c,) those of the rows of the fit; None if the classifier knows them

    Attributes
    ----------
    estimator_ : the fitted classifier
    old_prior_, class_prior_ : (c,) class probabilities before and now
    classes_, n_features_in_, feature_names_in_ : as in scikit-learn

    Notes
    -----
    There is no `loo`: the training rows have the old frequencies. That of the classifier inside scores them.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from bayesnb import DiscriminativeNB
    >>> from bayesnb.analysis.decisions import MovedClassPrior
    >>> X, y = load_iris(return_X_y=True)
    >>> nb = MovedClassPrior(DiscriminativeNB(), [0.98, 0.01, 0.01]).fit(X, y)
    >>> nb.old_prior_.round(2)
    array([0.33, 0.33, 0.33])
    """

    _lacks = " (its class prior was moved: it only predicts; ask `estimator_`, which is for the old class frequencies)"
    old_prior_: np.ndarray
    class_prior_: np.ndarray

    def __init__(self, estimator: Any, class_prior: Any, *, old: Any = None) -> None:
        self.estimator = estimator
        self.class_prior = class_prior
        self.old = old

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit a clone of the classifier to rows of the old class frequencies, and hold the new ones for prediction.

        Raises
        ------
        ValueError
            as in `with_class_prior`
        """
        # not every classifier takes weights, so that none are passed on unless given
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}
        return self.take(clone(self.estimator).fit(X, y, **weights))

    def take(self, fitted: Any) -> Self:
        """Become fitted: hold a fitted classifier, with its old class probabilities and the new ones. Provisional.

        The old class probabilities are `self.old`, or if that is None those that the classifier was fitted with.

        Raises
        ------
        ValueError
            if `self.old` is None and the classifier does not tell them
        """
        old = _known_prior(fitted) if self.old is None else self.old  # (c,), or a dictionary by label; None if unknown
        if old is None:
            raise ValueError(
                f"`old` is None, and {type(fitted).__name__} does not know the class frequencies that its "
                "probabilities are for; give them. Without weights they are `np.bincount(y) / len(y)`, where "
                "`class_weight` or weights were used those that they made"
            )
        # Both in the order of the classes, checked: positive, with the sum 1. `_take_over` then sets all attributes.
        old_prior = _old_prior(old, fitted.classes_)  # (c,)
        class_prior = _class_probabilities("class_prior", self.class_prior, fitted.classes_)  # (c,)
        return self._take_over(fitted, old_prior_=old_prior, class_prior_=class_prior)

    def _moved(self, log_p: np.ndarray) -> np.ndarray:
        """Log class probabilities (…, c) at the new frequencies: p'_c ∝ p_c · new_c / old_c.

        By Bayes' theorem p(c | x) ∝ p(x | c) p(c), so that with the same p(x | c) only the ratio of the priors changes.
        `log_p` has any leading axes, such as rows, or draws and rows.
        """
        return log_normalize(log_p + np.log(self.class_prior_) - np.log(self.old_prior_))

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """log p(y = c | x_i) at the new class frequencies in nats, (n, c)."""
        check_is_fitted(self)
        fitted = self.estimator_
        # some classifiers of scikit-learn have probabilities alone
        if hasattr(fitted, "predict_log_proba"):
            return self._moved(fitted.predict_log_proba(X))
        with np.errstate(divide="ignore"):  # a probability of 0 stays 0
            return self._moved(np.log(fitted.predict_proba(X)))

    def sample_proba(self, X: Any, n_draws: int = 1000, seed: int | np.random.Generator | None = None) -> np.ndarray:
        """Draws of the class probability, (s, n, c): those of the classifier, each moved by itself.

        TypeError if the classifier has no posterior to draw from.
        """
        check_is_fitted(self)
        self._require_draws()
        return self._moved_draws(self.estimator_.sample_proba(X, n_draws, seed))

    def interval_draws(self, X: Any, **draws: Any) -> IntervalDraws:
        """Draws of class probabilities for intervals: those of the classifier, each moved by itself. Provisional.

        A classifier with an `interval_draws` of its own also says how quantiles are taken of them.
        """
        check_is_fitted(self)
        self._require_draws()
        # then they are those of `sample_proba`, with NumPy's default quantiles
        if not hasattr(self.estimator_, "interval_draws"):
            return super().interval_draws(X, **draws)
        of_fitted = self.estimator_.interval_draws(X, **draws)
        return IntervalDraws(self._moved_draws(of_fitted.proba), of_fitted.quantiles)

    def _require_draws(self) -> None:
        """TypeError where the classifier has no posterior to draw from."""
        if not hasattr(self.estimator_, "sample_proba"):
            kind = type(self.estimator_).__name__
            raise TypeError(f"{kind} has no draws of its probabilities; `PosteriorCalibrator({kind}(…))` has")

    def _moved_draws(self, proba: np.ndarray) -> np.ndarray:
        """Draws of class probabilities (s, n, c) at the new frequencies."""
        with np.errstate(divide="ignore"):  # a probability of 0 stays 0
            return np.exp(self._moved(np.log(proba)))


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
    proba = np.atleast_2d(as_numbers("p", p, "class probabilities, (n, c)"))  # one row becomes (1, c)
    table = _cost_table(costs, abstain_cost, proba.shape[1])  # (c, c) by true class and decision
    expected_cost = proba @ table  # (n, c) of deciding each class
    best = expected_cost.argmin(1)
    if abstain_cost is None:
        return best
    # where abstaining costs less than the best class, −1 stands in place of it
    return np.where(abstain_cost < expected_cost.min(1), ABSTAIN, best)


def _cost_table(costs: Any, abstain_cost: Any, c: int, classes: Any = None) -> Float[np.ndarray, "c c"]:
    """The cost of deciding class a if class k is true, entry [k, a]; ValueError unless all costs are finite.

    Parameters
    ----------
    costs : (c, c), which a data frame may give by label; None is 1 for each error
    abstain_cost : only checked
    c : number of classes
    classes : their labels, in the order of the rows and columns of the table; None if they have none
    """
    # a data frame is put into the order of the classes by its labels, rows and columns; all else stays as it is
    aligned = align("costs", costs, classes, classes)
    if aligned is None:
        table = 1 - np.eye(c)  # each error costs 1
    else:
        table = as_numbers("costs", aligned, f"finite numbers, ({c}, {c})")
    if table.shape != (c, c):
        raise ValueError(f"`costs` has shape {table.shape}; {c} classes need ({c}, {c})")
    price = 0.0 if abstain_cost is None else as_numbers("abstain_cost", abstain_cost, "a finite number")
    # with an infinite cost, 0 · ∞ would make the expected cost of a row NaN
    if not np.isfinite([*table.flat, price]).all():
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
        self._table(fitted.classes_)  # raises where the costs do not fit the classes
        return self._take_over(fitted)

    def _table(self, classes: np.ndarray) -> Float[np.ndarray, "c c"]:
        """The cost of deciding class a if class k is true, entry [k, a]."""
        return _cost_table(self.costs, self.abstain_cost, len(classes), classes)

    def predict(self, X: Any) -> np.ndarray:
        """The label with the least expected cost of each row, or None, (n,)."""
        check_is_fitted(self)
        fitted = self.estimator_
        table = self._table(fitted.classes_)  # (c, c)
        decision = decide(fitted.predict_proba(X), table, self.abstain_cost)  # (n,) class numbers, or −1 for abstaining
        labels = fitted.classes_[decision]  # −1 picks the last label, which None replaces below
        if self.abstain_cost is None:
            return labels
        return np.where(decision == ABSTAIN, np.array(None), labels)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Minus the average cost of a row; larger is better, as `GridSearchCV` expects."""
        check_is_fitted(self)
        fitted = self.estimator_
        labels = column_or_1d(y)
        # a label that the classifier does not know has no row in the table of costs: ValueError
        unknown = np.unique(labels[~np.isin(labels, fitted.classes_)])
        if len(unknown):
            raise ValueError(f"`y` has the labels {unknown}, which are no classes; leave them out")

        # the true class and the decision of each row; classes are sorted, so that a search finds their numbers
        table = self._table(fitted.classes_)  # (c, c) cost by true class and decision
        true_class = np.searchsorted(fitted.classes_, labels)  # (n,)
        decision = decide(fitted.predict_proba(X), table, self.abstain_cost)  # (n,) class number, or −1 for abstaining

        # For example, the true classes (0, 1) and the decisions (1, −1) cost table[0, 1] and `abstain_cost`. The index
        # −1 picks the last column of the table, which means nothing, and is replaced.
        costs_of_classes = table[true_class, decision]  # (n,)
        abstains = decision == ABSTAIN
        costs = np.where(abstains, self.abstain_cost, costs_of_classes)
        return -float(np.average(costs, weights=sample_weight))
