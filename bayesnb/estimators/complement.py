"""Complement naive Bayes for scikit-learn users."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from ..families.classes import AbstractClasses, FixedClasses
from ..families.complement import DirichletComplement
from ..naive_bayes import Parameters, Statistics
from ..statistics import Counts
from ._base import AbstractNB
from ._input import boolean
from ._state import BLOCK


@dataclass(kw_only=True, eq=False, repr=False)
class ComplementNB(AbstractNB):
    """Naive Bayes for counts; each class is learnt from the rows of all other classes, as in Rennie et al. (2003).

    θ_c ~ Dirichlet(α) are the event probabilities of the complement of class c. A row of class c counts as one
    multinomial row in the complement of every other class. This makes a composite likelihood.

    Parameters
    ----------
    alpha : float or (d,), default 1
        pseudo-count of each event in each complement, positive
    force_alpha : bool, default True
        with False, an alpha below 1e-10 becomes 1e-10, as in scikit-learn
    prior : optional
        your own prior. It may be a NumPyro distribution `dist.Dirichlet(…)` with one pseudo-count a feature, a mapping
        of fields such as `{"alpha": 0.5}`, or a family. A mapping from column (name or position) to one of these sets
        the prior of single columns. The other columns keep the default. See the guide "Which prior?"
    fit_prior : bool, default True
        accepted as in scikit-learn. It has no effect in either library: see class_prior
    class_prior, priors : (c,), optional
        fixed class probabilities; both names mean the same. With None they are equal, because the rule of Rennie et al.
        has no class probabilities. scikit-learn ignores this argument; bayesnb uses it
    norm : bool, default False
        whether the weights of each class are divided by their sum, as in scikit-learn. The weights then no longer come
        from a likelihood. Only prediction and the linear form use them. With estimate="predictive" they use the
        posterior mean. Draws, evidence, leave-one-out and the posterior do not change
    estimate : "predictive" (default), "mean", "map" or "mle"
        what prediction uses. "predictive" integrates the parameters out and is the composite of Dirichlet–multinomials.
        "mean" is the add-α smoothing of scikit-learn

    Attributes
    ----------
    classes_, n_features_in_, feature_names_in_ : as in scikit-learn
    statistics_, prior_, posterior_ : the sufficient statistics, and the `NaiveBayes` model before and after the rows
    log_evidence_ : composite log evidence in nats. It compares settings of this estimator, but not different estimators
    coef_, intercept_ : linear discriminant
    feature_log_prob_ : the weights of every class, (c, d)

    Notes
    -----
    Rows may be dense or scipy.sparse, and counts may be fractional. NaN is refused, because a missing cell has no
    meaning here. `sample` raises an error: this model describes the complement of a class, not the class itself.

    Examples
    --------
    >>> import numpy as np
    >>> from bayesnb import ComplementNB
    >>> counts = np.array([[2, 1, 0], [1, 2, 0], [0, 1, 3]])
    >>> ComplementNB().fit(counts, ["ham", "ham", "spam"]).predict([[0, 0, 2]])
    array(['spam'], dtype='<U4')
    """

    alpha: Any = 1.0
    force_alpha: bool = True
    prior: Any = None
    fit_prior: bool = True
    class_prior: Any = None
    priors: Any = None
    norm: bool = False
    estimate: str = "predictive"

    _family = DirichletComplement
    variants: ClassVar = {"complement": {}}

    def _default_blocks(self, stats: Statistics | None) -> dict[str, Any]:
        shape = len(self.classes_), self.n_features_in_
        boolean("norm", self.norm)
        return {BLOCK: DirichletComplement(self._concentration(shape))}

    def _widen(self, classes: np.ndarray) -> None:
        old = self.classes_
        if len(old) == 1:
            raise ValueError(
                f"`classes` is not given, and so far there is only the class {old.tolist()[0]!r}, which is not enough "
                "for ComplementNB. Pass all labels as `classes`."
            )
        held = self._conditioned.statistics.blocks[BLOCK]
        super()._widen(classes)
        new = ~np.isin(classes, old)  # every row so far is outside them: each was outside all old classes but its own
        wide = self._conditioned.statistics.blocks
        n = np.where(new[:, None], held.n.sum(0) / (len(old) - 1), wide[BLOCK].n)
        log_h = np.where(new, held.log_h.sum(0) / (len(old) - 1), wide[BLOCK].log_h)
        self.statistics_ = replace(self._conditioned.statistics, blocks={**wide, BLOCK: Counts(n, log_h)})

    def _class_prior(self) -> AbstractClasses:
        if getattr(self, self._prior_name()) is not None:
            return super()._class_prior()
        return FixedClasses(np.full(len(self.classes_), 1 / len(self.classes_)))

    def _table(self, X: Any, method: Callable[..., np.ndarray]) -> np.ndarray:
        """With `norm` the linear score."""
        if not self.norm:
            return super()._table(X, method)
        x = self._encode(X)[BLOCK]
        weights, intercept = self._linear_form()
        return x @ weights + intercept

    def linear_form(self, theta: Parameters) -> tuple[np.ndarray, np.ndarray]:
        """Weights (k, c) and intercepts (c,) of the discriminant at given parameters. Provisional."""
        weights, intercept = super().linear_form(theta)
        if self.norm:
            total = weights.sum(0)
            weights = weights / np.where(total > 0, total, 1)
        return weights, intercept

    @property
    def ignored_by_loo(self) -> str:
        """Settings that `predict` uses and leave-one-out does not: `estimate` and `norm`. Provisional."""
        settings = [super().ignored_by_loo, "norm=True" if self.norm else ""]
        return " and ".join(filter(None, settings))

    @property
    def _refine(self) -> Any:
        return self._normed if self.norm else None

    def _normed(self, theta: Any) -> Any:
        """Parameters whose weights −log θ are divided by their sum."""
        theta = theta or self._fitted_state().posterior.mean()
        weights = theta[BLOCK]["log_theta"]
        total = -weights.sum(-1, keepdims=True)
        return {**theta, BLOCK: {"log_theta": weights / np.where(total > 0, total, 1)}}

    @property
    def feature_log_prob_(self) -> np.ndarray:
        """Weights −log θ (c, d) under the current estimate; `norm` divides them by their sum, as in scikit-learn."""
        return self._linear_form()[0].T
