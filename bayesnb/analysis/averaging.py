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
        # TypeError unless it is an estimator of this package with a single model
        check_independent(self.estimator, "averaging over features")
        nb = clone(self.estimator).fit(X, y, sample_weight)
        if nb.estimate != "predictive":
            raise ValueError(
                f"`estimator` has estimate={nb.estimate!r}; averaging over features needs estimate='predictive'"
            )
        nb.prior_.require_proper("Bayes factors of features")  # ValueError: an improper prior has no evidence

        # For each feature two log evidences: with a parameter for each class, and with one that all classes share. The
        # features come in blocks, each of which is one family, such as Gaussian, with the k columns that it reads.
        # Their results are put to their positions among all d features. A column that no block reads keeps 0 and 0.
        prior_log_odds = self._prior_log_odds(nb.n_features_in_)  # (d,) log ρ_j/(1 − ρ_j)
        blocks = [_compare_block(nb, name) for name in nb.prior_.blocks]
        log_bayes_factor = np.zeros(nb.n_features_in_)
        log_shared = np.zeros(nb.n_features_in_)
        for block in blocks:
            log_bayes_factor[block.columns] = block.log_by_class - block.log_shared
            log_shared[block.columns] = block.log_shared

        # Feature j depends on the class with probability ρ_j. So its evidence is ρ p(x_j | by class) +
        # (1 − ρ) p(x_j | shared), which is p(x_j | shared) times the sum below, ρ · Bayes factor + (1 − ρ).
        log_rho = log_expit(prior_log_odds)  # log ρ of the log odds
        log_not_rho = log_expit(-prior_log_odds)  # log(1 − ρ)
        log_sum = np.logaddexp(log_bayes_factor + log_rho, log_not_rho)  # (d,)
        log_evidence_of_features = np.sum(log_shared + log_sum)

        # Bayes' theorem: posterior odds = prior odds · Bayes factor
        log_odds = prior_log_odds + log_bayes_factor  # (d,) that feature j depends on the class
        log_evidence_of_labels = nb.prior_.classes.log_marginal(nb.statistics_.n)
        return self._take_over(
            nb,
            log_bayes_factor_=log_bayes_factor,
            inclusion_=expit(log_odds),
            log_evidence_=float(log_evidence_of_labels + log_evidence_of_features),
            _blocks=blocks,
            _log_odds=log_odds,
        )

    def _prior_log_odds(self, d: int) -> Float[np.ndarray, " d"]:
        """log ρ_j/(1 − ρ_j), the log odds before the data that feature j depends on the class; ±∞ of ρ_j 0 or 1."""
        prior = np.asarray(self.inclusion, float)  # one for all features, or (d,)
        is_probability = (prior >= 0) & (prior <= 1)
        if prior.shape not in ((), (d,)) or not is_probability.all():
            raise ValueError(
                f"`inclusion` is {self.inclusion!r}; it needs a probability, or one for each of {d} features"
            )
        return np.broadcast_to(logit(prior), d)  # logit(ρ) = log ρ/(1 − ρ); a single number is repeated

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
        # A block is one family, such as Gaussian, with its k columns. Their log factors are added to
        # log p(y = c | data), which is (c,) at first, and then (n, c).
        log_joint = self.estimator_.posterior_.classes.log_predictive()
        for block in self._blocks:
            encoded = rows[block.name]
            x = encoded.tocsc() if is_sparse(encoded) else encoded  # by columns, so that one is quick to take
            log_odds_of_columns = self._log_odds[block.columns]  # (k,) log w_j/(1 − w_j)
            for j, log_odds in enumerate(log_odds_of_columns):
                cells = column_of(x, j)[:, None]  # (n, 1)
                log_joint = log_joint + _log_factor(block, j, cells, log_odds)
        return log_joint

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


def _log_factor(block: _ComparedBlock, j: int, cells: Any, log_odds: float) -> Float[np.ndarray, "n c"]:
    """log[w p(x_i | y = c, data) + (1 − w) p(x_i | data)] of the cells x_i of column j of a block, (n, c).

    Parameters
    ----------
    block : has the model in which the column depends on the class, and the one in which it does not
    j : number of the column in the block
    cells : (n, 1) of the column
    log_odds : log w/(1 − w), where w is the posterior probability that the column depends on the class
    """
    # `select` gives the model of this column alone; `log_predictive` has its parameters integrated out
    column = np.array([j])
    log_p_by_class = block.by_class.select(column).log_predictive(cells)  # (n, c)
    log_p_shared = block.shared.select(column).log_predictive(cells)  # (n, 1), the same for all classes
    log_w = log_expit(log_odds)
    log_not_w = log_expit(-log_odds)  # log(1 − w)
    return np.logaddexp(log_p_by_class + log_w, log_p_shared + log_not_w)


def _compare_block(nb: Any, name: str) -> _ComparedBlock:
    """Posterior and log evidence of some features under two models: a parameter for each class, and a shared one.

    The features are those of a block, which is one family, such as Gaussian, with its k columns. The model with shared
    parameters is that of a single class that has all rows, so the statistics (sums over rows) of the classes add up.
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
    # `update(statistics)` of a prior is the posterior, `log_marginal(statistics)` is log ∫ p(x | θ) p(θ) dθ
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
