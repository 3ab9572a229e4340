"""scikit-learn's five naive Bayes classifiers as they are, with the posterior beside them.

    from bayesnb.drop_in import GaussianNB      # was: from sklearn.naive_bayes import GaussianNB

Fitting, prediction and every documented attribute are scikit-learn's own code: relative class frequencies, add-α
smoothing, and for the Gaussian maximum likelihood plus ε. `bayes_` is the estimator of `bayesnb` with the same
settings, fitted to the same rows. What describes its posterior can be asked here too: `predict_interval`,
`sample_proba`, `loo`, `log_evidence_` and the others that are `OfThePosterior` below. The posterior is that of the
default prior: Dirichlet(1) for the classes, Dirichlet or beta with concentration α for discrete features, and the
data-scaled normal–inverse-gamma for real ones. `sample_proba(X).mean(0)` is therefore near `predict_proba(X)`, but not
equal to it.

No posterior is proper at α = 0, so it has at least α = 1e-10, scikit-learn's own bound under force_alpha=False.
"""

from typing import Any, Self

import numpy as np
import sklearn.naive_bayes as peers

from . import estimators as ours
from .estimators._base import AbstractNB

__all__ = ["BernoulliNB", "CategoricalNB", "ComplementNB", "GaussianNB", "MultinomialNB"]

_LEAST = 1e-10  # of a concentration


class OfThePosterior:
    """An attribute or method that is read of `bayes_`, where it has the same name.

    Of a class, as in `help(GaussianNB.loo)`, it is the method or property of `bayesnb`, with its documentation.
    """

    def __init__(self, original: Any) -> None:
        """The method or property of `bayesnb` that an estimator here has too."""
        self._original = original
        self.__doc__ = original.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        """Python calls this with the name in the class body: `loo` of `loo = OfThePosterior(AbstractNB.loo)`."""
        self._name = name

    def __get__(self, estimator: Any, kind: type | None = None) -> Any:
        """The attribute of `bayes_`; an AttributeError before a fit, when there is no `bayes_` yet."""
        if estimator is None:  # it is read of the class
            return self._original
        if "bayes_" not in vars(estimator):
            class_name = type(estimator).__name__
            raise AttributeError(f"{class_name!r} object has no attribute {self._name!r} yet: call `fit` first")
        return getattr(estimator.bayes_, self._name)


class _WithPosterior:
    """Fits the estimator of `bayesnb` beside scikit-learn's."""

    classes_: np.ndarray  # which scikit-learn's class sets

    # --- the posterior of `bayes_` ------------------------------------------------------------------------------------

    posterior_ = OfThePosterior(AbstractNB.posterior_)
    prior_ = OfThePosterior(AbstractNB.prior_)
    statistics_ = OfThePosterior(AbstractNB.statistics_)
    log_evidence_ = OfThePosterior(AbstractNB.log_evidence_)
    predict_interval = OfThePosterior(AbstractNB.predict_interval)
    sample_proba = OfThePosterior(AbstractNB.sample_proba)
    uncertainty = OfThePosterior(AbstractNB.uncertainty)
    novelty_score = OfThePosterior(AbstractNB.novelty_score)
    explain = OfThePosterior(AbstractNB.explain)
    loo = OfThePosterior(AbstractNB.loo)
    sample = OfThePosterior(AbstractNB.sample)
    sample_posterior = OfThePosterior(AbstractNB.sample_posterior)
    numpyro_model = OfThePosterior(AbstractNB.numpyro_model)
    tables = OfThePosterior(AbstractNB.tables)
    prior_summary = OfThePosterior(AbstractNB.prior_summary)
    check = OfThePosterior(AbstractNB.check)

    # --- both are fitted ----------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit scikit-learn's estimate, and the posterior of `bayes_`; the arguments are scikit-learn's.

        `super()` is scikit-learn's class, which each class below has as its second base.
        """
        super().fit(X, y, sample_weight)  # type: ignore[misc]
        self.bayes_ = self._new_posterior().fit(self._cells(X), y, sample_weight)
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Add a batch of rows to both; the arguments are scikit-learn's."""
        super().partial_fit(X, y, classes, sample_weight)  # type: ignore[misc]
        # the estimator of the earlier batches, or a new one; `self.bayes_` would be an error before the first batch
        nb = vars(self).get("bayes_") or self._new_posterior()
        self.bayes_ = nb.partial_fit(self._cells(X), y, self.classes_, sample_weight)
        return self

    def _cells(self, X: Any) -> Any:
        """Rows as `bayes_` takes them: here as they are. A subclass changes what scikit-learn reads otherwise."""
        return X

    def _new_posterior(self) -> Any:
        """The estimator of `bayesnb` of the same name with the same settings, not fitted.

        For example, `drop_in.GaussianNB` makes a `bayesnb.GaussianNB`.
        """
        # A pandas series goes by position, as in scikit-learn. With its index, class probabilities would be put into
        # the order of the classes by their labels.
        settings: dict[str, Any] = {}
        scikit_learn_settings = self.get_params(deep=False)  # type: ignore[attr-defined]  # of its class
        for name, value in scikit_learn_settings.items():
            is_pandas = hasattr(value, "iloc")
            settings[name] = np.asarray(value) if is_pandas else value

        if "alpha" in settings:
            settings["alpha"] = np.maximum(settings["alpha"], _LEAST)  # at α = 0 there is no proper posterior
        if "norm" in settings:  # `ComplementNB`: scikit-learn's prediction does not use its class probabilities
            settings["class_prior"] = None
        estimator_class = getattr(ours, type(self).__name__)
        return estimator_class(**settings)

    def __dir__(self) -> list[str]:
        """All names, so that an editor offers them; scikit-learn leaves out what cannot be read before a fit."""
        names = [name for name, value in vars(_WithPosterior).items() if isinstance(value, OfThePosterior)]
        return sorted({*super().__dir__(), *names})


class GaussianNB(_WithPosterior, peers.GaussianNB):
    """`sklearn.naive_bayes.GaussianNB` with the posterior."""


class MultinomialNB(_WithPosterior, peers.MultinomialNB):
    """`sklearn.naive_bayes.MultinomialNB` with the posterior."""


class ComplementNB(_WithPosterior, peers.ComplementNB):
    """`sklearn.naive_bayes.ComplementNB` with the posterior."""


class BernoulliNB(_WithPosterior, peers.BernoulliNB):
    """`sklearn.naive_bayes.BernoulliNB` with the posterior."""


class CategoricalNB(_WithPosterior, peers.CategoricalNB):
    """`sklearn.naive_bayes.CategoricalNB` with the posterior."""

    def _cells(self, X: Any) -> Any:
        # scikit-learn cuts off fractions, so that 1.5 is level 1
        return X.astype(int) if hasattr(X, "astype") else np.asarray(X, int)
