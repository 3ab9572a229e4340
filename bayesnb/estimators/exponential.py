"""Exponential naive Bayes."""

from typing import ClassVar

import numpy as np

from ..families.exponential import GammaExponential
from ._rates import AbstractRates

_FIRM = 1e5  # pseudo-rows of a column of zeros, for every row fitted
_LEAST = 1e-280  # of a mean, so that a rate is a number; below, a column counts as one of zeros


class ExponentialNB(AbstractRates):
    """Naive Bayes for waiting times and other amounts ≥ 0: λ_cj ~ Gamma(α, rate β_j), x_ij ~ Exponential(λ_cj).

    Parameters
    ----------
    alpha : float or (d,), default 1
        shape of the gamma prior: the number of pseudo-rows, positive
    beta : float, (d,) or None, default None
        rate of the gamma prior: the sum of the pseudo-rows, in the unit of the feature, positive. With None it is β_j =
        α_j x̄_j, where x̄_j is the (weighted) mean of feature j over all rows; see the Notes
    prior : optional
        your own prior. It may be a NumPyro distribution such as `dist.Gamma(2, 1)` (shape and rate), a mapping of
        fields such as `{"a": 2, "b": 1}`, or a family. A mapping from column (name or position) to one of these sets
        the prior of single columns. The other columns keep the default. See the guide "Which prior?"
    fit_prior : bool, default True
        whether the class probabilities are learnt; with False they are equal
    class_prior, priors : (c,), optional
        fixed class probabilities; both names mean the same
    class_alpha : float or (c,), default 1
        Dirichlet concentration of the class probabilities; it is used when they are learnt
    estimate : "predictive" (default), "mean", "map" or "mle"
        what prediction uses. "predictive" integrates the parameters out and is the Lomax distribution

    Attributes
    ----------
    classes_, n_features_in_, feature_names_in_ : as in scikit-learn
    statistics_, prior_, posterior_ : the sufficient statistics, and the `NaiveBayes` model before and after the rows
    log_evidence_ : log p(X, y) in nats
    coef_, intercept_ : linear discriminant

    Notes
    -----
    The default prior has the weight of α rows with the feature's average value. A class without rows therefore looks
    like all rows together. The prior is proper, so the evidence exists. β scales with the data, so rescaling a feature
    changes no probability. A column of zeros has no information about the class. Its prior has 100,000 pseudo-rows for
    every row, so the classes differ in it by at most 1e-5 nats. Rows must be dense. NaN is a missing cell and is left
    out.

    Examples
    --------
    >>> from bayesnb import ExponentialNB
    >>> minutes = [[0.5], [1.2], [0.8], [9.0], [14.0], [6.5]]
    >>> ExponentialNB().fit(minutes, ["short"] * 3 + ["long"] * 3).predict([[3.0]])
    array(['short'], dtype='<U5')
    """

    _family = GammaExponential
    variants: ClassVar = {"exponential": {}}

    def _scaled(self, alpha: np.ndarray, n: np.ndarray, total: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        mean = total / np.where(n > 0, n, 1)
        mean = np.where(mean > _LEAST, mean, 0)
        firm = np.broadcast_to(_FIRM * (1 + n), alpha.shape)
        return np.where(mean > 0, alpha, firm), np.where(mean > 0, alpha * mean, firm)
