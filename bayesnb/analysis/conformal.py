"""Conformal label sets: a set of labels that holds the right one with a stated probability, whatever the distribution.

Rows (x_1, y_1) … (x_n, y_n) are known, and for a new row x the label y is wanted. The score of a row is

    s₋ᵢ(x, y) = 1 − p(y | x, D₋ᵢ),    D₋ᵢ all rows but row i

Every guarantee below holds for any distribution of the rows and for any model, right or wrong. It needs one thing: the
n + 1 rows are exchangeable, which means that each order of them is equally probable. A better model gives smaller sets.

method="cross"   C(x) = {y : #{i : s₋ᵢ(x_i, y_i) < s₋ᵢ(x, y)} < (1 − α)(n + 1)},  i = 1 … n
                 P(y_{n+1} ∈ C(x_{n+1})) ≥ 1 − 2α; close to 1 − α where no single row changes the model much
method="full"    y ∈ C(x) where #{i : s_i < s_{n+1}} < (1 − α)(n + 1),  i = 1 … n + 1
                 s_i = 1 − p(y_i | x_i, D⁺₋ᵢ), D⁺ the n rows and (x, y): all n + 1 leave-one-out scores
                 P(y_{n+1} ∈ C(x_{n+1})) ≥ 1 − α

The second rule is the same as #{i : s_i ≥ s_{n+1}} > α(n + 1). It holds because a rule that treats n + 1 exchangeable
rows alike makes each rank of s_{n+1} equally probable. For the first rule, let R_kl be the score of row k under all n
+ 1 rows without k and l. Call row k strange if R_kl > R_lk for at least (1 − α)(n + 1) other rows l. If t rows are
strange, they exceed each other at most t²/2 times in all, and rows that are not strange at most t(n + 1 − t) times. So
t(1 − α)(n + 1) ≤ t²/2 + t(n + 1 − t), which is t ≤ 2α(n + 1), and the new row is strange with probability at most 2α.

With groups of rows, g = 1 … G of n_g rows, a whole group is left out, and "cross" becomes

    C(x) = {y : Σ_g (1/n_g) #{i ∈ g : s₋g(x_i, y_i) < s₋g(x, y)} < (1 − α)(G + 1)}

The same argument holds with weights 1/n_g: the new row is a random row of a new group, and the G + 1 groups are
exchangeable.

References
----------
Barber, Candès, Ramdas & Tibshirani (2021), Predictive inference with the jackknife+, Annals of Statistics 49(1):
486–507. Theorem 1 has 1 − 2α for intervals, section 6 its proof, and remark 1 says that the proof holds for n-fold
cross-conformal sets too. The proof above is the same argument for scores.
Romano, Sesia & Candès (2020), Classification with valid and adaptive coverage, NeurIPS 33: jackknife+ and CV+ for sets
of labels, with another score, which adapts to how hard a row is.
Vovk, Gammerman & Shafer (2005), Algorithmic learning in a random world: "full", and Mondrian (class-conditional) sets.
Lee, Barber & Willett (2023), Distribution-free inference with hierarchical data: groups.
"""

import copy
from collections.abc import Callable, Iterator
from typing import Any, Self

import numpy as np
from scipy.special import logsumexp
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_is_fitted

from ..core.arrays import Bool, Table, is_sparse
from ..core.supports import check_choice, check_level
from ..estimators._base import AbstractNB
from ..estimators._input import checked_labels
from ..inference.loo import group_places
from ..statistics import one_hot
from ._wrapper import AbstractWrapper

_TIE = 1e-9  # scores this close, relative to their size, count as equal: sets can only grow by it
_LARGEST = 1e300  # score, where a label has no probability


class ConformalClassifierLOO(AbstractWrapper):
    """Label sets that contain the true label with a stated probability, from leave-one-out scores of naive Bayes.

        s₋ᵢ(x, y) = 1 − p(y | x, D₋ᵢ)
        C(x) = {y : #{i : s₋ᵢ(x_i, y_i) < s₋ᵢ(x, y)} < (1 − α)(n + 1)},   1 − α = coverage

    No data are set aside for calibration: each training row is scored by the posterior of all other rows.

    Parameters
    ----------
    estimator : a classifier of bayesnb; a clone of it is fitted. With method="cross" any classifier with
        `predict_log_proba` works, for example a pipeline or a calibrated classifier. A classifier without `forget` is
        fitted again for each row or group that is left out
    method : "cross" (default) or "full"
        "cross" is cross-conformal prediction with one fold for each row. It guarantees a coverage of 1 − 2α, and is
        close to 1 − α unless single rows change the model much. "full" guarantees 1 − α. It adds each new row with each
        label to the training rows, which takes about c times as long
    class_conditional : bool, default False
        whether a label is compared only with the training rows of that label. The guarantee then holds within each
        class separately, even in a rare one. Sets become larger

    Attributes
    ----------
    estimator_ : the fitted clone; `predict` and `predict_proba` are its methods
    classes_, n_features_in_, feature_names_in_ : as in scikit-learn

    Notes
    -----
    The theorem needs exchangeable rows. Independent draws from one distribution are exchangeable. Three things break
    the guarantee. The first are copied rows and repeated measures, unless their groups are given to `fit`. The second
    is a new row from another time, place or instrument than the training rows. The third are training rows that were
    selected by their label; if only the class frequencies differ, use class_conditional=True. The guarantee is an
    average over training sets and new rows. It does not hold for a given x.

    With "cross", a prior that is scaled by the data is scaled by D₋ᵢ, so row i has no influence on it. With "full" it
    is scaled by all n + 1 rows, which treats them alike. The classes and the levels of categorical columns are taken
    from all rows, as if they were known before.

    Scores are compared as log((1 − p)/p), which distinguishes 1 − 1e-20 from 1. Equal scores count in favour of a
    label.

    A set may be empty. Then no label fits the row as well as most training rows fit their own label. With n rows, a
    coverage above n/(n + 1) gives all labels.

    Sample weights are not supported, because a row with weight 2 is a copied row. The classifier keeps the training
    rows.

    References
    ----------
    Barber et al. (2021); Romano, Sesia & Candès (2020); Vovk et al. (2005). See the top of the module for the theorems
    with their proofs.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from bayesnb import ConformalClassifierLOO, GaussianNB
    >>> X, y = load_iris(return_X_y=True)
    >>> sets = ConformalClassifierLOO(GaussianNB()).fit(X[::2], y[::2])
    >>> sets.predict_set(X[51:58:2], coverage=0.95)
    array([[False,  True, False],
           [False,  True, False],
           [False,  True, False],
           [False,  True, False]])
    """

    def __init__(self, estimator: Any, *, method: Any = "cross", class_conditional: Any = False) -> None:
        self.estimator = estimator
        self.method = method
        self.class_conditional = class_conditional

    def fit(self, X: Any, y: Any, *, groups: Any = None) -> Self:
        """Fit a clone of the estimator and keep the rows.

        Parameters
        ----------
        X : (n, d) rows in the form that the estimator accepts: dense, sparse or a data frame; at least two rows
        y : (n,) labels
        groups : (n,) labels of groups of rows that belong together, such as the measures of one patient, at least two
            groups. Each time a whole group is left out. A new row then counts as a row of a new group

        Raises
        ------
        ValueError
            if a parameter is out of range, or if the estimator cannot do what the method needs. The message gives the
            reason
        """
        check_choice("method", self.method, ("cross", "full"))
        check_choice("class_conditional", self.class_conditional, (False, True))
        for name in ("predict_log_proba", "partial_fit", "loo")[: 3 if self.method == "full" else 1]:
            if not hasattr(self.estimator, name):
                kind = type(self.estimator).__name__
                raise ValueError(f"`estimator` is {kind}, which has no `{name}`; method={self.method!r} needs it")
        if groups is not None and (self.method == "full" or self.class_conditional):
            raise ValueError("`groups` is given; its guarantee needs method='cross' and class_conditional=False")
        fitted, y = clone(self.estimator).fit(X, y), checked_labels(y)
        places = np.arange(len(y)) if groups is None else group_places(groups, len(y))
        if places.max() == 0:
            raise ValueError(
                f"{len(y)} sample(s) in one group; leave-one-out needs two rows, of two groups, so add rows"
            )
        return self._take_over(fitted, _X=_as_rows(X), _y=y, _groups=places)

    def predict_set(self, X: Any, coverage: Any = 0.9) -> Bool[np.ndarray, "m c"]:
        """Whether each label is in the set of each row, (m, c); the columns are in the order of `classes_`.

        Parameters
        ----------
        X : (m, d) new rows
        coverage : 1 − α, between 0 and 1. The set contains the true label with a probability of at least 1 − α with
            method="full", and of at least 1 − 2α with "cross"

        Raises
        ------
        ValueError
            if `coverage` is not between 0 and 1
        """
        check_level(coverage, "coverage")
        return self.predict_p_values(X) > (1 - float(coverage)) + 1e-12  # 1 − 0.9 is 0.09999999999999998

    def predict_p_values(self, X: Any) -> Table:
        """Conformal p-value of each label of each row, (m, c); the set at coverage 1 − α has the labels with p > α.

            p(x, y) = (1 + #{i : s₋ᵢ(x_i, y_i) ≥ s₋ᵢ(x, y)}) / (n + 1)

        A small value means that hardly any training row fits its own label as badly as x fits y. One call is enough for
        all coverages.
        """
        check_is_fitted(self)
        m, c = self.estimator_.predict_log_proba(X).shape  # it refuses rows that are none
        index = np.searchsorted(self.classes_, np.asarray(self._y))
        share = np.eye(c)[index] if self.class_conditional else np.ones((len(index), c))
        share /= np.bincount(self._groups)[self._groups, None]
        smaller, total = np.zeros((m, c)), share.sum(0)
        for rows, t, k, own, new in (self._cross if self.method == "cross" else self._full)(_as_rows(X), index):
            own = own[:, None, None]
            is_smaller = own + _TIE * (1 + np.minimum(abs(own), abs(new))) < new
            smaller[t, k] += np.einsum("ik,itk->tk", share[rows, k], is_smaller)
        return (total + 1 - smaller) / (total + 1)

    def _cross(self, X: Any, index: np.ndarray) -> Iterator[Any]:
        """Positions of some training rows, of new rows and of labels; the scores of the first and of the others.

        Each group of rows is left out in turn, and scored by the model of all others.
        """
        c, every = len(self.classes_), slice(None)
        order = np.argsort(self._groups, kind="stable")
        for out in np.split(order, np.flatnonzero(np.diff(self._groups[order])) + 1):
            table = self._without(out, index)
            own = _log_odds_against(table(_safe_indexing(self._X, out)))
            yield out, every, every, own[np.arange(len(out)), index[out]], _log_odds_against(table(X)).reshape(-1, c)

    def _full(self, X: Any, index: np.ndarray) -> Iterator[Any]:
        """The same, where each new row joins the training rows with each label in turn."""
        every = slice(None)
        for t in range(X.shape[0]):
            row = _safe_indexing(X, [t])
            for k, label in enumerate(self.classes_):
                plus = copy.copy(self.estimator_).partial_fit(row, [label])
                own = _log_odds_against(plus.loo(self._X, self._y).log_joint)[np.arange(len(index)), index]
                new = _log_odds_against(plus.loo(row, [label]).log_joint)[0, k]
                yield every, slice(t, t + 1), slice(k, k + 1), own, new

    def _without(self, out: np.ndarray, index: np.ndarray) -> Callable[[Any], np.ndarray]:
        """The table log p(y = c | x, D₋ᵢ) as a function of rows: by a statistic that is subtracted, or by a new fit."""
        nb, c = self.estimator_, len(self.classes_)
        if isinstance(nb, AbstractNB):  # its prior is that of D₋ᵢ
            leaving = nb.prior_.suffstats(nb.encode(_safe_indexing(self._X, out)), one_hot(index[out], c))
            return nb.with_statistics(nb.statistics_ - leaving).predict_log_proba
        rest = np.setdiff1d(np.arange(len(index)), out)
        known = np.unique(index[rest])
        again = clone(self.estimator) if len(known) > 1 else DummyClassifier()  # others refuse a single class
        again.fit(_safe_indexing(self._X, rest), self._y[rest])

        def table(X: Any) -> np.ndarray:
            found = again.predict_log_proba(X)
            full = np.full((len(found), c), -np.inf)
            full[:, known] = found
            return full

        return table


def _log_odds_against(table: Table) -> Table:
    """log((1 − p_c)/p_c) of each class, from a joint table in nats; it rises with the score 1 − p_c."""
    with np.errstate(invalid="ignore", divide="ignore"):
        others = logsumexp(np.where(np.eye(table.shape[1], dtype=bool), -np.inf, table[:, None]), axis=2)
        return np.nan_to_num(others - table, nan=_LARGEST, posinf=_LARGEST, neginf=-_LARGEST)


def _as_rows(X: Any) -> Any:
    """Rows that can be picked by number."""
    if is_sparse(X):
        return X.tocsr()
    return X if hasattr(X, "shape") else np.asarray(X)
