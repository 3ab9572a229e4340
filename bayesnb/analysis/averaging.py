"""Averaging over all 2^d subsets of the features, exactly and at the cost of two models.

    s_j ~ Bernoulli(ρ_j)                                  whether feature j depends on the class
    x_ij | y_i = c ~ f(θ_cj) if s_j = 1, f(θ_0j) if not   θ_0j is one parameter for all classes, of the same prior

Features are independent given the class, so the evidence of a subset is a product over the features, and so is the
posterior of s:

    odds(s_j = 1 | data) = ρ_j/(1 − ρ_j) · p(x_j | y, a parameter a class) / p(x_j | one parameter)

With w_j = p(s_j = 1 | data) the sum over all subsets of posterior times predictive is

    p(x, y = c | data) = p(y = c | data) Π_j [w_j p(x_j | y = c, data) + (1 − w_j) p(x_j | data)].

References
----------
Dash & Cooper (2002), Exact model averaging with naive Bayesian classifiers, ICML, 91–98, for categorical features.
"""

import dataclasses
from copy import copy
from typing import Any, NamedTuple, Self

import numpy as np
from scipy.special import expit, log_expit, logit
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.validation import check_is_fitted

from ..estimators._suited import check_independent
from ..estimators._wrapper import OfEstimator
from ..numerics.arrays import Float, Int, is_sparse
from ..numerics.special import log_normalize, most_probable
from ..posterior.held_out import column_of
from ..posterior.predicted import ProbaOfLog
from ..sums.statistics import pooled


class FeatureAverage(ProbaOfLog, OfEstimator, ClassifierMixin, BaseEstimator):
    """Naive Bayes averaged over all subsets of its features, as a scikit-learn classifier.

    Parameters
    ----------
    estimator : an estimator with separable features, such as GaussianNB, PoissonNB or CategoricalNB, or a MixedNB of
        these. A clone of it is fitted. Features must be independent given the class, with the same prior in all
        classes
    inclusion : float or (d,), default 0.5
        prior probability ρ_j that feature j depends on the class, 0 to 1

    Attributes
    ----------
    inclusion_ : (d,) posterior probability w_j that feature j depends on the class; ρ_j for an unused column
    log_bayes_factor_ : (d,) log evidence with one parameter per class minus log evidence with one shared parameter,
        nats
    log_evidence_ : log p(X, y), averaged over all subsets, in nats
    estimator_ : the fitted estimator, with all features
    classes_, n_features_in_, feature_names_in_ : as in scikit-learn

    Notes
    -----
    Prediction integrates the parameters out. A missing cell is left out. The default prior of the Gaussian and
    exponential variants is scaled by all rows, so the two compared models have the same prior.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> from bayesnb import FeatureAverage, GaussianNB
    >>> FeatureAverage(GaussianNB()).fit(X, y).inclusion_.round(3)  # probability that a feature depends on the class
    array([1., 1., 1., 1.])
    """

    def __init__(self, estimator: Any, *, inclusion: Any = 0.5) -> None:
        self.estimator = estimator
        self.inclusion = inclusion

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the estimator, and compare for each feature one parameter per class with one shared parameter.

        Raises
        ------
        TypeError
            if the estimator is none of bayesnb, such as a pipeline
        ValueError
            if the features of the estimator depend on each other given the class, or if its prior differs between
            classes. Also if its `estimate` is a point, or if `inclusion` is not a probability. Errors of the
            estimator's `fit` are passed on
        """
        # an estimator of bayesnb with a single model; the predictive is needed, as a point estimate has no evidence
        check_independent(self.estimator, "averaging over features")
        nb = clone(self.estimator).fit(X, y, sample_weight)
        if nb.estimate != "predictive":
            raise ValueError(
                f"`estimator` has estimate={nb.estimate!r}; averaging over features needs estimate='predictive'"
            )
        nb.prior_.require_proper("Bayes factors of features")  # ValueError: an improper prior has no evidence

        # For each feature the log evidence with parameters that classes share, and the log Bayes factor of parameters
        # by class against these. A block is one family, such as Gaussian, with the columns that it reads: the results
        # of its k columns are put to their positions among all d. A column that no block reads keeps a factor of 1.
        prior_log_odds = self._prior_log_odds(nb.n_features_in_)  # (d,) log ρ_j/(1 − ρ_j)
        blocks = [_compare_block(nb, name) for name in nb.prior_.blocks]
        log_factor = np.zeros(nb.n_features_in_)
        log_shared = np.zeros(nb.n_features_in_)
        for block in blocks:
            log_factor[block.columns] = block.log_by_class - block.log_shared
            log_shared[block.columns] = block.log_shared

        # s_j says whether feature j depends on the class. Averaged over s_j the evidence of a feature is
        # ρ p(x_j | by class) + (1 − ρ) p(x_j | shared). Relative to the second density it is ρ · factor + (1 − ρ).
        log_rho = log_expit(prior_log_odds)  # log 1/(1 + exp(−log odds))
        log_not_rho = log_expit(-prior_log_odds)
        log_mixed = np.logaddexp(log_factor + log_rho, log_not_rho)  # (d,)
        log_odds = prior_log_odds + log_factor  # (d,) of s_j = 1, after the data

        # the evidence is a product: of the labels, and of each feature averaged over s_j
        log_evidence_of_labels = nb.prior_.classes.log_marginal(nb.statistics_.n)
        return self._take_over(
            nb,
            log_bayes_factor_=log_factor,
            inclusion_=expit(log_odds),
            log_evidence_=float(log_evidence_of_labels + np.sum(log_shared + log_mixed)),
            _blocks=blocks,
            _log_odds=log_odds,
        )

    def _prior_log_odds(self, d: int) -> Float[np.ndarray, " d"]:
        """log ρ_j/(1 − ρ_j), the log odds before the data that feature j depends on the class; ±∞ of ρ_j 0 or 1."""
        # logit(ρ) = log ρ/(1 − ρ); a single number is repeated for all features
        prior = np.asarray(self.inclusion, float)  # one for all features, or (d,)
        is_probability = (prior >= 0) & (prior <= 1)
        if prior.shape not in ((), (d,)) or not is_probability.all():
            raise ValueError(
                f"`inclusion` is {self.inclusion!r}; it needs a probability, or one for each of {d} features"
            )
        return np.broadcast_to(logit(prior), d)

    def predict_joint_log_proba(self, X: Any) -> np.ndarray:
        """log p(x_i, y = c | data) averaged over all subsets, (n, c), nats."""
        check_is_fitted(self)
        return copy(self)._average(X)  # one state, whatever another thread fits meanwhile

    def _average(self, X: Any) -> np.ndarray:
        """log p(x_i, y = c | data) averaged over all subsets of the features, (n, c).

        Features are independent given the class, so the average of products is a product of averages: feature j has the
        factor w_j p(x_ij | y = c) + (1 − w_j) p(x_ij), with w_j the posterior probability that it depends on the class.
        """
        rows = self.estimator_.model_.encode(X)  # the cells (n, k) of each block
        # log p(y = c | data) comes first, and log factors are added feature by feature. `select` makes the model of
        # some columns of a block alone, and `log_predictive` its log p(cell | class, data), parameters integrated out.
        table = self.estimator_.posterior_.classes.log_predictive()  # (c,) at first, then (n, c)
        for block in self._blocks:
            encoded = rows[block.name]
            x = encoded.tocsc() if is_sparse(encoded) else encoded  # by columns, so that one is quick to take
            for j, log_odds in enumerate(self._log_odds[block.columns]):  # log w_j/(1 − w_j)
                cells = column_of(x, j)[:, None]  # (n, 1)
                log_p_by_class = block.by_class.select(np.array([j])).log_predictive(cells)  # (n, c)
                log_p_shared = block.shared.select(np.array([j])).log_predictive(cells)  # (n, 1), as for one class

                # log of w p(x | by class) + (1 − w) p(x | shared)
                log_w = log_expit(log_odds)
                log_not_w = log_expit(-log_odds)
                table = table + np.logaddexp(log_p_by_class + log_w, log_p_shared + log_not_w)
        return table

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """log p(y = c | x_i) averaged over all subsets, (n, c), nats."""
        return log_normalize(self.predict_joint_log_proba(X))

    def predict(self, X: Any) -> np.ndarray:
        """The most probable label of each row, (n,); ties go to the label with the larger class prior.

        `tie_prior` is the class prior (c,) by which `most_probable` decides where the largest entries of a row are
        equal.
        """
        state = copy(self)  # one state, whatever another thread fits meanwhile
        table = state.predict_joint_log_proba(X)
        return state.classes_[most_probable(table, state.estimator_.model_.tie_prior)]


class _ComparedBlock(NamedTuple):
    """A block of k features with parameters for each class, and the same features with parameters that classes share.

    Fields
    ------
    name, columns : of the block
    by_class, shared : posteriors of the two models; that of the second has a single class
    log_by_class, log_shared : their log evidence by feature, nats
    """

    name: str
    columns: Int[np.ndarray, " k"]
    by_class: Any
    shared: Any
    log_by_class: Float[np.ndarray, " k"]
    log_shared: Float[np.ndarray, " k"]


def _compare_block(nb: Any, name: str) -> _ComparedBlock:
    """Posterior and log evidence of each feature of a block, with parameters by class and with shared ones.

    Shared parameters are those of a single class that has all rows: the statistics of the classes add up.
    `update(statistics)` of a prior is the posterior, and `log_marginal(statistics)` the log evidence log ∫ p(x | θ)
    p(θ) dθ: both need no more of the rows than these sums.
    ValueError where features depend on each other given the class, or where classes have different priors.

    Parameters
    ----------
    nb : the fitted estimator
    name : of the block
    """
    prior = nb.prior_.blocks[name]
    if not prior.separable:  # its features depend on each other given the class
        raise ValueError(
            f"`estimator` has a {type(prior).__name__} block; averaging needs features that are independent "
            "given the class, each with its own conjugate parameters. Use GaussianNB, PoissonNB or "
            "CategoricalNB, for example"
        )
    stats = nb.statistics_.blocks[name]  # sums over the rows of each of c classes
    stats_of_all = pooled(stats)  # over all rows, as those of a single class
    shared_prior = _prior_of_one_class(prior)  # ValueError where the prior differs between classes
    return _ComparedBlock(
        name=name,
        columns=nb.model_.block_columns[name],
        by_class=nb.posterior_.blocks[name],
        shared=shared_prior.update(stats_of_all),
        log_by_class=_by_column(prior.log_marginal(stats)),
        log_shared=_by_column(shared_prior.log_marginal(stats_of_all)),
    )


def _prior_of_one_class(prior: Any) -> Any:
    """The same prior for a single class; ValueError where classes have different ones.

    A prior has fields, arrays whose first axis is that of the classes unless they share the field.
    """
    fields_of_one_class = {}
    for name, field in prior.fields_.items():
        # a field that all classes share is already that of one class
        if "class" not in field.axes:
            continue
        value = getattr(prior, name)  # (c, …)
        of_first_class = value[:1]  # (1, …)
        if not (value == of_first_class).all():
            raise ValueError(
                "`estimator` has a prior that differs between classes; averaging over features needs one prior for "
                "all classes"
            )
        fields_of_one_class[name] = of_first_class
    return dataclasses.replace(prior, **fields_of_one_class)


def _by_column(evidence: np.ndarray) -> np.ndarray:
    """Log evidence of each of k columns, (k,), from that of each class and column, (c, k), or from itself.

    The evidence of a column is a product over the classes, so logarithms add up.
    """
    return evidence.sum(0) if evidence.ndim == 2 else evidence
