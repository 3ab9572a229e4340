"""Poisson naive Bayes."""

from typing import Any

import numpy as np

from ..core.supports import checked_numbers
from ..families.poisson import GammaPoisson
from ..naive_bayes import Statistics
from ._base import AbstractNB
from ._left_out import leave_out
from ._state import BLOCK, keep_arguments


class PoissonNB(AbstractNB):
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
        the prior of single columns. The other columns keep the default. See the guide "Which prior?". One of `alpha`,
        `beta` and `class_alpha` may be a distribution, such as `dist.Gamma(2, 1)`. It is then integrated out by
        quadrature
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

    def __init__(
        self,
        *,
        alpha: Any = 1.0,
        beta: Any = None,
        prior: Any = None,
        fit_prior: bool = True,
        class_prior: Any = None,
        priors: Any = None,
        class_alpha: Any = 1.0,
        estimate: str = "predictive",
    ) -> None:
        keep_arguments(locals())

    def _default_blocks(self, stats: Statistics | None) -> dict[str, Any]:
        shape = len(self.classes_), self.n_features_in_
        alpha = checked_numbers("alpha", self.alpha, shape)
        if self.beta is not None:
            beta = checked_numbers("beta", self.beta, shape)
        elif stats is None:
            beta = alpha
        else:
            seen = stats.blocks[BLOCK]
            beta = np.maximum(alpha * (seen.n.sum(0) + 1) / (seen.total.sum(0) + 0.5), 1e-300)  # 1/b stays finite
        return {BLOCK: GammaPoisson(alpha, beta)}

    @property
    def _default_follows_rows(self) -> bool:
        return self.beta is None

    _leave_out = leave_out
