"""Geometric naive Bayes."""

from dataclasses import dataclass
from typing import Any, ClassVar

from ..core.supports import checked_numbers
from ..families.geometric import BetaGeometric
from ..naive_bayes import Statistics
from ._base import AbstractNB
from ._state import BLOCK


@dataclass(kw_only=True, eq=False, repr=False)
class GeometricNB(AbstractNB):
    """Naive Bayes for failures before the first success: θ_cj ~ Beta(α, β), p(x_ij | y_i = c) = θ_cj (1 − θ_cj)^x.

    Parameters
    ----------
    alpha : float or (d,), default 1
        pseudo-count of successes, positive; each row ends with one success
    beta : float or (d,), default 1
        pseudo-count of failures, positive
    prior : optional
        your own prior of the probability of success. It may be a NumPyro distribution such as `dist.Beta(2, 8)`, a
        mapping of fields such as `{"a": 2, "b": 8}`, or a family. A mapping from column (name or position) to one of
        these sets the prior of single columns. The other columns keep the default. See the guide "Which prior?"
    fit_prior : bool, default True
        whether the class probabilities are learnt; with False they are equal
    class_prior, priors : (c,), optional
        fixed class probabilities; both names mean the same
    class_alpha : float or (c,), default 1
        Dirichlet concentration of the class probabilities; it is used when they are learnt
    estimate : "predictive" (default), "mean", "map" or "mle"
        what prediction uses. "predictive" integrates the parameters out and is the beta-geometric distribution

    Attributes
    ----------
    classes_, n_features_in_, feature_names_in_ : as in scikit-learn
    statistics_, prior_, posterior_ : the sufficient statistics, and the `NaiveBayes` model before and after the rows
    log_evidence_ : log p(X, y) in nats
    coef_, intercept_ : linear discriminant

    Notes
    -----
    The default prior is uniform over the probability of success. It has the weight of one row with one failure. A count
    has no unit, so the prior need not scale with the data. Its predictive 1/((x+1)(x+2)) allows counts of any size.
    Rows hold whole numbers and may be dense or scipy.sparse. NaN in dense rows is a missing cell and is left out.

    Examples
    --------
    >>> from bayesnb import GeometricNB
    >>> tries = [[0], [1], [0], [6], [9], [4]]  # failures before a success
    >>> GeometricNB().fit(tries, ["easy"] * 3 + ["hard"] * 3).predict_proba([[2]]).round(2)
    array([[0.4, 0.6]])
    """

    alpha: Any = 1.0
    beta: Any = 1.0
    prior: Any = None
    fit_prior: bool = True
    class_prior: Any = None
    priors: Any = None
    class_alpha: Any = 1.0
    estimate: str = "predictive"

    _family = BetaGeometric
    variants: ClassVar = {"geometric": {}}

    def _default_blocks(self, stats: Statistics | None) -> dict[str, Any]:
        shape = len(self.classes_), self.n_features_in_
        return {
            BLOCK: BetaGeometric(checked_numbers("alpha", self.alpha, shape), checked_numbers("beta", self.beta, shape))
        }
