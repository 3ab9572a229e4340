"""Poisson naive Bayes."""

from typing import ClassVar

import numpy as np

from ..families.poisson import GammaPoisson
from ._rates import AbstractRates


class PoissonNB(AbstractRates):
    """Naive Bayes for independent counts: λ_cj ~ Gamma(α, rate β_j), x_ij | y_i = c ~ Poisson(λ_cj).

    Parameters
    ----------
    alpha : float or (d,), default 1
        shape of the gamma prior: the pseudo-count of events, positive
    beta : float, (d,) or None, default None
        rate of the gamma prior: the number of pseudo-rows, positive. With None it is β_j = α_j (n_j + 1)/(Σ_i x_ij +
        ½). The prior mean is then close to the overall mean count of the feature; half an event is added so that it is
        never zero
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
        what prediction uses. "predictive" integrates the parameters out and is the negative binomial

    Attributes
    ----------
    classes_, n_features_in_, feature_names_in_ : as in scikit-learn
    statistics_, prior_, posterior_ : the sufficient statistics, and the `NaiveBayes` model before and after the rows
    log_evidence_ : log p(X, y) in nats
    coef_, intercept_ : linear discriminant

    Notes
    -----
    Rows may be dense or scipy.sparse, and counts may be fractional. NaN in dense rows is a missing cell and is left
    out.

    Examples
    --------
    >>> from bayesnb import PoissonNB
    >>> calls = [[2, 0], [3, 1], [9, 4], [7, 5]]  # an hour, on two lines
    >>> nb = PoissonNB().fit(calls, ["night", "night", "day", "day"])
    >>> nb.predict_proba([[5, 2]]).round(2)
    array([[0.63, 0.37]])
    """

    _family = GammaPoisson
    variants: ClassVar = {"poisson": {}}

    def _scaled(self, alpha: np.ndarray, n: np.ndarray, total: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return alpha, np.maximum(alpha * (n + 1) / (total + 0.5), 1e-300)  # 1/b stays finite
