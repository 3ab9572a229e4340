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
from collections.abc import Iterator
from copy import copy
from typing import Any, Self

import jax.numpy as jnp
import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.validation import check_is_fitted

from ..base import as_jax
from ..core.special import log_normalize, most_probable
from ..statistics import pooled
from ._suited import check_independent, refuse_points
from ._wrapper import OfEstimator


@dataclasses.dataclass(frozen=True)
class _Part:
    """A block of columns twice over: with a parameter for each class, and with one for all."""

    name: str
    columns: np.ndarray
    each: tuple[Any, Any]  # prior and posterior, c classes
    shared: tuple[Any, Any]  # prior and posterior, one class
    log_bayes_factor: np.ndarray  # evidence of the first over that of the second, by column


class FeatureAverage(OfEstimator, ClassifierMixin, BaseEstimator):
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
    inclusion_ : (d,) posterior probability w_j that feature j depends on the class; NaN for an unused column
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
        check_independent(self.estimator, "averaging over features")
        nb = clone(self.estimator).fit(X, y, sample_weight)
        refuse_points(nb, "averaging over features")
        nb.prior_.refuse_improper("Bayes factors of features")
        d = nb.n_features_in_
        prior = np.asarray(self.inclusion, float)
        if prior.shape not in ((), (d,)) or not ((prior >= 0) & (prior <= 1)).all():
            raise ValueError(
                f"`inclusion` is {self.inclusion!r}; it needs a probability, or one for each of {d} features"
            )
        with np.errstate(divide="ignore"):  # a feature that is certainly in or out
            prior_odds = np.broadcast_to(np.log(prior) - np.log1p(-prior), d)
        parts, factor = [*_parts(nb)], np.full(d, np.nan)
        for part in parts:
            factor[part.columns] = part.log_bayes_factor
        odds = prior_odds + factor
        return self._take_over(
            nb,
            log_bayes_factor_=factor,
            inclusion_=np.exp(-np.logaddexp(0, -odds)),
            _parts=parts,
            _prior_odds=prior_odds,
            _odds=odds,
        )

    @property
    def log_evidence_(self) -> float:
        """log p(X, y) in nats: the evidence averaged over all subsets, weighted by their prior."""
        self = copy(self)
        stats, prior = self.estimator_.statistics_, self.estimator_.prior_
        total = prior.classes.log_marginal(stats.n)
        for part in self._parts:
            odds, shared = self._prior_odds[part.columns], part.shared[0].log_marginal(pooled(stats.blocks[part.name]))
            mixed = np.logaddexp(part.log_bayes_factor - np.logaddexp(0, -odds), -np.logaddexp(0, odds))
            total = total + (_by_column(shared) + mixed).sum()
        return float(total)

    def predict_joint_log_proba(self, X: Any) -> np.ndarray:
        """log p(x_i, y = c | data) averaged over all subsets, (n, c), nats."""
        check_is_fitted(self)
        self = copy(self)  # one state, whatever another thread fits meanwhile
        rows = self.estimator_.encode(X)
        n = next(iter(rows.values())).shape[0]
        table = np.tile(self.estimator_.posterior_.classes.log_predictive(), (n, 1))
        for part in self._parts:
            x = sparse.csc_array(rows[part.name]) if sparse.issparse(rows[part.name]) else rows[part.name]
            for j, odds in enumerate(self._odds[part.columns]):
                cells, one = x[:, [j]], np.array([j])
                cells = cells.toarray() if sparse.issparse(cells) else cells
                each, shared = (of[1].select(one).log_predictive(cells) for of in (part.each, part.shared))
                table += np.logaddexp(each - np.logaddexp(0, -odds), shared - np.logaddexp(0, odds))
        return table

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """log p(y = c | x_i) averaged over all subsets, (n, c), nats."""
        return log_normalize(self.predict_joint_log_proba(X))

    def predict_proba(self, X: Any) -> np.ndarray:
        """p(y = c | x_i) averaged over all subsets, (n, c)."""
        return np.exp(self.predict_log_proba(X))

    def predict(self, X: Any) -> np.ndarray:
        """The most probable label of each row, (n,); ties go to the label with the larger class prior."""
        self, table = copy(self), self.predict_joint_log_proba(X)
        return self.classes_[most_probable(table, self.estimator_.tie_prior())]

    def numpyro_model(self, X: Any, y: Any = None) -> None:
        """The same model in NumPyro, which enumerates s at small d: the site `included`, and both sets of parameters.

        Parameters of each class have the prefix `each`, and shared parameters have the prefix `shared`. The model masks
        the part of the data that a value of s does not use.

        Parameters
        ----------
        X : rows as in `predict`
        y : labels as in `fit`; with None they are a latent discrete site
        """
        import numpyro
        import numpyro.distributions as dist

        check_is_fitted(self)
        nb = self.estimator_
        rows = nb.encode(X)
        index = None if y is None else nb.class_index(np.asarray(y))
        with numpyro.plate("column", self.n_features_in_, dim=-1):
            probability = np.broadcast_to(np.asarray(self.inclusion, float), self.n_features_in_)
            included = numpyro.sample("included", dist.Bernoulli(jnp.asarray(probability)))
        pi = as_jax(nb.prior_.classes).model()
        with numpyro.plate("row", next(iter(rows.values())).shape[0], dim=-1):
            label = numpyro.sample("y", dist.Categorical(pi), obs=index)
        for part in self._parts:
            x = rows[part.name]
            x = as_jax(x.toarray() if sparse.issparse(x) else x)
            chosen = included[part.columns] == 1
            name = "" if len(self._parts) == 1 else f".{part.name}"
            for scope, block, seen, labels in (
                ("each", part.each[0], chosen, label),
                ("shared", part.shared[0], ~chosen, jnp.zeros_like(label)),
            ):
                with numpyro.handlers.scope(prefix=scope + name, divider="."):
                    as_jax(block).model(jnp.where(seen, x, jnp.nan), labels)


def _parts(nb: Any) -> Iterator[_Part]:
    """The blocks of a fitted estimator, each with its twin that has one parameter for all classes."""
    columns = nb.block_columns()
    for name, prior in nb.prior_.blocks.items():
        kind = type(prior).__name__
        if not prior.separable:
            raise ValueError(
                f"`estimator` has a {kind} block; averaging needs features that are independent given the class, each "
                "with its own conjugate parameters. Use GaussianNB, PoissonNB or CategoricalNB, for example"
            )
        stats = nb.statistics_.blocks[name]
        one = _first_class(prior)
        together = pooled(stats)
        factor = _by_column(prior.log_marginal(stats)) - _by_column(one.log_marginal(together))
        yield _Part(name, columns[name], (prior, nb.posterior_.blocks[name]), (one, one.update(together)), factor)


def _first_class(prior: Any) -> Any:
    """The prior of a single class; ValueError where classes have different ones."""

    def first(leaf: np.ndarray) -> np.ndarray:
        if not (leaf == leaf[:1]).all():
            raise ValueError(
                "`estimator` has a prior that differs between classes; averaging over features needs one prior for "
                "all classes"
            )
        return leaf[:1]

    fields = {name: getattr(prior, name) for name, field in prior.fields_.items() if "class" in field.axes}
    return dataclasses.replace(prior, **{name: first(value) for name, value in fields.items()})


def _by_column(evidence: np.ndarray) -> np.ndarray:
    """Log evidence by column, summed over the classes where they are apart."""
    return evidence.sum(0) if evidence.ndim == 2 else evidence
