"""Naive Bayes for counts and amounts: Poisson, geometric, exponential, multinomial, and Rennie's complement."""

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from ..families.classes import AbstractClasses, FixedClasses
from ..families.complement import DirichletComplement
from ..families.exponential import GammaExponential
from ..families.geometric import BetaGeometric
from ..families.multinomial import DirichletMultinomial
from ..families.poisson import GammaPoisson
from ..models.naive_bayes import Parameters
from ..numerics.special import log_normalize
from ._base import AbstractNB
from ._documented import documented
from ._fitted import State
from ._input import BLOCK, boolean

_EMPTY_PSEUDO_ROWS = 1e5  # pseudo-rows of a column of zeros, for every row fitted
_MIN_MEAN = 1e-280  # of a mean, so that a rate is a number; below, a column counts as one of zeros


@dataclass(kw_only=True, eq=False, repr=False)
class AbstractRates(AbstractNB):
    """Naive Bayes of cells with a rate. A subclass names its family and the β that the rows give it."""

    alpha: Any = 1.0
    beta: Any = None

    def _shape_and_rate(self, alpha: np.ndarray, n: np.ndarray, total: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Shape and rate (c, d) of the default prior, on the scale of the rows.

        Parameters
        ----------
        alpha : (c, d), the argument `alpha`
        n, total : (d,), number and sum of the cells of each feature, in all classes together
        """
        raise NotImplementedError

    def _default_blocks(self, state: State) -> dict[str, Any]:
        """The prior with shape α and rate β; where β is not given, the rows give it.

        The family of a subclass has two fields, a and b, (c, d) each: these are α and β.

        Parameters
        ----------
        state : with classes and columns; its statistics, if there are any, are those of the rows
        """
        alpha = state.numbers("alpha", self.alpha)  # (c, d)
        # a *block* is the conjugate prior of some columns, here of all. β is the user's, checked against the range that
        # the family declares for its field b; or any number, before there are rows; or that of the rows
        if self.beta is not None:
            beta = state.numbers("beta", self.beta, self._family.fields_["b"].support)
            return {BLOCK: self._family(alpha, beta)}
        if state.statistics is None:  # a prior that only computes statistics
            return {BLOCK: self._family(alpha, alpha)}
        totals = state.statistics.blocks[BLOCK]  # number and sum of the cells, (c, d) each
        shape, rate = self._shape_and_rate(alpha, totals.n.sum(0), totals.total.sum(0))  # sums over the classes, (d,)
        return {BLOCK: self._family(shape, rate)}

    @property
    def _default_follows_rows(self) -> bool:
        return self.beta is None


@documented
@dataclass(kw_only=True, eq=False, repr=False)
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
        fields such as `{"a": 2, "b": 1}`, or a family.
        {prior_of_columns}
    {class_parameters}
    {estimate}
        The predictive is the negative binomial

    Attributes
    ----------
    {learnt}
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
    _variants: ClassVar = {"poisson": {}}

    def _shape_and_rate(self, alpha: np.ndarray, n: np.ndarray, total: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """α, and β = α (n + 1)/(Σx + ½): the prior mean α/β is close to the mean count of all rows."""
        return alpha, np.maximum(alpha * (n + 1) / (total + 0.5), 1e-300)  # 1/β stays finite


@documented
@dataclass(kw_only=True, eq=False, repr=False)
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
        fields such as `{"a": 2, "b": 1}`, or a family.
        {prior_of_columns}
    {class_parameters}
    {estimate}
        The predictive is the Lomax distribution

    Attributes
    ----------
    {learnt}
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
    _variants: ClassVar = {"exponential": {}}

    def _shape_and_rate(self, alpha: np.ndarray, n: np.ndarray, total: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Shape α, and rate β = α x̄ with x̄ the mean of the feature over all rows: α pseudo-rows of the value x̄.

        A column of zeros has no scale. It gets pseudo-rows of the value 1, so many that the classes hardly differ in
        it.

        Parameters
        ----------
        alpha : (c, d), the argument `alpha`
        n, total : (d,), number and sum of the cells of each feature, in all classes together
        """
        # the prior mean of the rate λ is shape/rate = α/(α x̄) = 1/x̄, and an exponential of rate 1/x̄ has the mean x̄
        mean = total / np.where(n > 0, n, 1)  # (d,)
        is_positive = mean > _MIN_MEAN
        pseudo_rows = np.broadcast_to(_EMPTY_PSEUDO_ROWS * (1 + n), alpha.shape)  # (c, d)
        return np.where(is_positive, alpha, pseudo_rows), np.where(is_positive, alpha * mean, pseudo_rows)


@documented
@dataclass(kw_only=True, eq=False, repr=False)
class GeometricNB(AbstractRates):
    """Naive Bayes for failures before the first success: θ_cj ~ Beta(α, β), p(x_ij | y_i = c) = θ_cj (1 − θ_cj)^x.

    Parameters
    ----------
    alpha : float or (d,), default 1
        pseudo-count of successes, positive; each row ends with one success
    beta : float or (d,), default 1
        pseudo-count of failures, positive
    prior : optional
        your own prior of the probability of success. It may be a NumPyro distribution such as `dist.Beta(2, 8)`, a
        mapping of fields such as `{"a": 2, "b": 8}`, or a family.
        {prior_of_columns}
    {class_parameters}
    {estimate}
        The predictive is the beta-geometric distribution

    Attributes
    ----------
    {learnt}
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

    beta: Any = 1.0

    _family = BetaGeometric
    _variants: ClassVar = {"geometric": {}}


@documented
@dataclass(kw_only=True, eq=False, repr=False)
class MultinomialNB(AbstractNB):
    """Naive Bayes for counts of events, such as words: θ_c ~ Dirichlet(α), x_i | y_i = c ~ Multinomial(L_i, θ_c).

    Parameters
    ----------
    alpha : float or (d,), default 1
        pseudo-count of each event in each class, positive
    {force_alpha}
    prior : optional
        your own prior. It may be a NumPyro distribution `dist.Dirichlet(…)` with one pseudo-count a feature, a mapping
        of fields such as `{"alpha": 0.5}`, or a family.
        {prior_of_columns}
    {class_parameters}
    {estimate}
        The predictive is the Dirichlet–multinomial. "mean" is the add-α smoothing of scikit-learn. The two differ as
        soon as a row has two events

    Attributes
    ----------
    {learnt}
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

    _family = DirichletMultinomial
    _variants: ClassVar = {"multinomial": {}}

    def _default_blocks(self, state: State) -> dict[str, Any]:
        return {BLOCK: self._family(self._concentration(state, state.shape))}


@documented
@dataclass(kw_only=True, eq=False, repr=False)
class ComplementNB(AbstractNB):
    """Naive Bayes for counts; each class is learnt from the rows of all other classes, as in Rennie et al. (2003).

    θ_c ~ Dirichlet(α) are the event probabilities of the complement of class c. A row of class c counts as one
    multinomial row in the complement of every other class. This makes a composite likelihood.

    Parameters
    ----------
    alpha : float or (d,), default 1
        pseudo-count of each event in each complement, positive
    {force_alpha}
    prior : optional
        your own prior. It may be a NumPyro distribution `dist.Dirichlet(…)` with one pseudo-count a feature, a mapping
        of fields such as `{"alpha": 0.5}`, or a family.
        {prior_of_columns}
    fit_prior : bool, default True
        accepted as in scikit-learn. It has no effect in either library: see class_prior
    class_prior, priors : (c,), optional
        fixed class probabilities; both names mean the same. With None they are equal, because the rule of Rennie et al.
        has no class probabilities. scikit-learn ignores this argument; bayesnb uses it
    norm : bool, default False
        whether the weights of each class are divided by their sum, as in scikit-learn. The weights then no longer come
        from a likelihood. Only prediction and the linear form use them. With estimate="predictive" they use the
        posterior mean. Draws, evidence, leave-one-out and the posterior do not change
    {estimate}
        The predictive is the composite of Dirichlet–multinomials. "mean" is the add-α smoothing of scikit-learn

    Attributes
    ----------
    {learnt}
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
    norm: bool = False
    class_alpha: Any = field(default=1.0, init=False)  # the rule has no class probabilities to learn

    _family = DirichletComplement
    _variants: ClassVar = {"complement": {}}

    def _default_blocks(self, state: State) -> dict[str, Any]:
        boolean("norm", self.norm)
        return {BLOCK: self._family(self._concentration(state, state.shape))}

    def _class_prior(self, state: State) -> AbstractClasses:
        """Fixed class probabilities: those given, otherwise equal ones."""
        if getattr(self, self._class_prior_parameter) is not None:
            return super()._class_prior(state)
        n_classes = len(state.classes)
        return FixedClasses(np.full(n_classes, 1 / n_classes))

    def _joint_table(self, X: Any, scores: bool = False, normalized: bool = False) -> np.ndarray:
        """As in `AbstractNB`; with `norm` the linear scores x·w + b instead, (n, c).

        Normalised weights come from no likelihood, so these scores are no log probabilities of the rows.

        Parameters
        ----------
        X : rows as the user gives them
        scores : has no effect with `norm`
        normalized : True subtracts a number from each row, so that the exponentials of the scores sum to one
        """
        if not self.norm:
            return super()._joint_table(X, scores, normalized)
        state = self._fitted()
        weights, intercept = self.model_.linear_form()  # w (d, c), divided by their sums because of `norm`, and b (c,)
        rows, _, _ = self._validate(X, state)
        counts = self._float_rows_by_block(state, rows)[BLOCK]
        scores_by_class = counts @ weights + intercept
        return log_normalize(scores_by_class) if normalized else scores_by_class

    def _linear_form(self, state: State, theta: Parameters | None) -> tuple[Any, Any]:
        """Weights (k, c) and intercepts (c,) of the discriminant, divided by their sum with `norm`."""
        weights, intercept = super()._linear_form(state, theta)  # (d, c), −log θ of the complements; and (c,)
        if self.norm:
            # weights −log θ are ≥ 0; their sum is 0 only if there is a single feature, whose θ is 1
            total = weights.sum(0)  # (c,)
            weights = weights / np.where(total > 0, total, 1)
        return weights, intercept

    @property
    def _ignored_by_loo(self) -> str:
        """Settings that `predict` uses and leave-one-out does not: `estimate` and `norm`."""
        settings = [super()._ignored_by_loo, "norm=True" if self.norm else ""]
        return " and ".join(setting for setting in settings if setting)

    def _check_likelihood(self) -> None:
        """Raise a ValueError with `norm`, whose weights come from no likelihood."""
        if self.norm:
            raise ValueError("`norm` is True, and such weights have no likelihood to explain; set it to False")

    @property
    def feature_log_prob_(self) -> np.ndarray:
        """Weights −log θ (c, d) under the current estimate; `norm` divides them by their sum, as in scikit-learn."""
        weights, _ = self.model_.linear_form()
        return weights.T
