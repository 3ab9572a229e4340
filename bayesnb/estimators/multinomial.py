"""Multinomial naive Bayes for scikit-learn users."""

from dataclasses import dataclass
from typing import Any, ClassVar

from ..families.multinomial import DirichletMultinomial
from ..naive_bayes import Rows, Statistics
from ._base import AbstractOfTotals
from ._state import BLOCK


@dataclass(kw_only=True, eq=False, repr=False)
class MultinomialNB(AbstractOfTotals):
    """Naive Bayes for counts of events, such as words: θ_c ~ Dirichlet(α), x_i | y_i = c ~ Multinomial(L_i, θ_c).

    Parameters
    ----------
    alpha : float or (d,), default 1
        pseudo-count of each event in each class, positive
    force_alpha : bool, default True
        with False, an alpha below 1e-10 becomes 1e-10, as in scikit-learn
    prior : optional
        your own prior. It may be a NumPyro distribution `dist.Dirichlet(…)` with one pseudo-count a feature, a mapping
        of fields such as `{"alpha": 0.5}`, or a family. A mapping from column (name or position) to one of these sets
        the prior of single columns. The other columns keep the default. See the guide "Which prior?"
    fit_prior : bool, default True
        whether the class probabilities are learnt; with False they are equal
    class_prior, priors : (c,), optional
        fixed class probabilities; both names mean the same
    class_alpha : float or (c,), default 1
        Dirichlet concentration of the class probabilities; it is used when they are learnt
    estimate : "predictive" (default), "mean", "map" or "mle"
        what prediction uses. "predictive" integrates the parameters out and is the Dirichlet–multinomial. "mean" is the
        add-α smoothing of scikit-learn. The two differ as soon as a row has two events

    Attributes
    ----------
    classes_, n_features_in_, feature_names_in_ : as in scikit-learn
    statistics_, prior_, posterior_ : the sufficient statistics, and the `NaiveBayes` model before and after the rows
    log_evidence_ : log p(X, y) given the row lengths, nats
    coef_, intercept_ : linear discriminant

    Notes
    -----
    Rows may be dense or scipy.sparse, and counts may be fractional. NaN is refused, because a missing cell has no
    meaning here. `sample` needs `length=`, the number of events of a new row; by default it is the average of the
    training rows.

    Examples
    --------
    >>> import numpy as np
    >>> from bayesnb import MultinomialNB
    >>> counts = np.array([[2, 1, 0], [1, 2, 0], [0, 1, 3]])  # of three words in three messages
    >>> nb = MultinomialNB().fit(counts, ["ham", "ham", "spam"])
    >>> nb.predict_proba([[0, 0, 2]]).round(3)  # parameters integrated out
    array([[0.085, 0.915]])
    >>> nb.set_params(estimate="mean").predict_proba([[0, 0, 2]]).round(3)  # plugged in
    array([[0.054, 0.946]])
    """

    alpha: Any = 1.0
    force_alpha: bool = True
    prior: Any = None
    fit_prior: bool = True
    class_prior: Any = None
    priors: Any = None
    class_alpha: Any = 1.0
    estimate: str = "predictive"

    _family = DirichletMultinomial
    variants: ClassVar = {"multinomial": {}}

    def _rows_to_learn(self, X: Any) -> Rows:
        return {BLOCK: X}

    def _refuse_learnt(self, X: Any, stats: Statistics) -> None:
        if stats.blocks[BLOCK].error is None:  # nobody has seen that all cells are whole numbers from 0 on
            self._rows(X)

    def _default_blocks(self, stats: Statistics | None) -> dict[str, Any]:
        shape = len(self.classes_), self.n_features_in_
        return {BLOCK: DirichletMultinomial(self._concentration(shape))}
