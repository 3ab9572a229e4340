"""Geometric naive Bayes."""

from typing import Any

from ..families.geometric import BetaGeometric
from ..naive_bayes import Statistics
from ._base import AbstractNB
from ._input import positive
from ._state import BLOCK


class GeometricNB(AbstractNB):
    """Naive Bayes for failures before the first success: θ_cj ~ Beta(α, β), p(x_ij | y_i = c) = θ_cj (1 − θ_cj)^x.

    Parameters
    ----------
    alpha : float or (d,), default 1
        pseudo-count of successes, one of which ends each row, positive
    beta : float or (d,), default 1
        pseudo-count of failures, positive
    prior : optional
        a prior of your own: `dist.Beta(2, 8)` of NumPyro, for the probability of success, a mapping of fields
        such as `{"a": 2, "b": 8}`, a family, or a mapping from column (name or position) to one of these;
        columns that are not named keep the default. See the guide "Which prior?". One of `alpha`, `beta` and
        `class_alpha` may itself be a distribution, such as `dist.Gamma(2, 1)`, which is integrated by quadrature
    fit_prior : bool, default True
        learn the class probabilities; False makes them equal
    class_prior, priors : (c,), optional
        fixed class probabilities, under either name
    class_alpha : float or (c,), default 1
        Dirichlet concentration of the class probabilities, used while they are learnt
    estimate : "predictive" (default), "mean", "map" or "mle"
        what prediction uses; "predictive" is the beta-geometric distribution, parameters integrated out

    Attributes
    ----------
    classes_, n_features_in_, feature_names_in_ : as in scikit-learn
    statistics_, prior_, posterior_ : sufficient statistics, and `NaiveBayes` before and after them
    log_evidence_ : log p(X, y), nats
    coef_, intercept_ : linear discriminant

    Notes
    -----
    The default prior is uniform over the probability of success: one row of one failure. A count has no unit that could
    change, so the prior need not move with the data; its predictive 1/((x+1)(x+2)) leaves room for counts of any size.
    Dense and scipy.sparse rows of whole numbers; NaN in dense rows is a missing cell and left out.

    Examples
    --------
    >>> from bayesnb import GeometricNB
    >>> tries = [[0], [1], [0], [6], [9], [4]]  # failures before a success
    >>> GeometricNB().fit(tries, ["easy"] * 3 + ["hard"] * 3).predict_proba([[2]]).round(2)
    array([[0.4, 0.6]])
    """

    _family = BetaGeometric

    def __init__(
        self,
        *,
        alpha: Any = 1.0,
        beta: Any = 1.0,
        prior: Any = None,
        fit_prior: bool = True,
        class_prior: Any = None,
        priors: Any = None,
        class_alpha: Any = 1.0,
        estimate: str = "predictive",
    ) -> None:
        self.alpha = alpha
        self.beta = beta
        self.prior = prior
        self.fit_prior = fit_prior
        self.class_prior = class_prior
        self.priors = priors
        self.class_alpha = class_alpha
        self.estimate = estimate

    def _default_blocks(self, stats: Statistics | None) -> dict[str, Any]:
        shape = len(self.classes_), self.n_features_in_
        return {BLOCK: BetaGeometric(positive("alpha", self.alpha, shape), positive("beta", self.beta, shape))}
