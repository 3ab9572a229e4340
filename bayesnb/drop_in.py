"""scikit-learn's five naive Bayes classifiers, with the same names, parameters and numbers, and with the posterior.

    from bayesnb.drop_in import GaussianNB      # was: from sklearn.naive_bayes import GaussianNB

`predict_proba` and every attribute that scikit-learn documents agree with scikit-learn to 1e-9. They use relative class
frequencies, add-α smoothing, and for the Gaussian maximum likelihood plus ε. They are plain attributes, and prediction
uses them. The estimators of `bayesnb` add more: `posterior_`, `predict_interval`, `sample_proba`, `loo`,
`log_evidence_`, `forget` and so on. These describe the posterior under the default prior. It is Dirichlet(1) for the
classes, and Dirichlet or beta with concentration α for discrete features. For real features it is the data-scaled
normal–inverse-gamma. `sample_proba(X).mean(0)` is therefore near `predict_proba(X)`, but not equal to it.

α = 0 is allowed, as in scikit-learn. It is the estimate without smoothing. An event that does not occur has a
`feature_log_prob_` of −∞. Prediction uses log 2.2e-308 instead, so that 0 · ∞ does not occur. No posterior is proper at
α = 0, so the posterior uses α = 1e-10. scikit-learn uses the same bound under force_alpha=False.

These classes differ where scikit-learn 1.9 is wrong:

- `GaussianNB.partial_fit` gives the result of `fit`: `epsilon_` uses all rows so far, not only the last batch.
- All counts and sums are float64, even for float32 rows. In float32 counts stop at 2²⁴ and means drift.
- All weights count, even small ones. GaussianNB of scikit-learn drops a class of total weight up to 1e-8.
- `BernoulliNB` accepts one α per feature. It computes log(1 − p) from the counts instead of 1 − exp(log p).
- `CategoricalNB.n_categories_` never shrinks. A new category in prediction is left out instead of raising an error.
- `class_prior` is checked. Constant columns, and classes without rows, give no NaN.
- A `fit` or `partial_fit` that fails leaves the model as it was.
"""

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import sklearn.naive_bayes as peers
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, check_non_negative, validate_data

from . import estimators as ours
from ._drop_in import TINY, AbstractDiscrete, AbstractDropIn, Assignable, hold_finite, log_share, log_shares, safe_log
from .class_statistics import with_sums
from .core.exact import moment_sums, sums_of_cells
from .estimators._column_types import refuse_times
from .estimators._input import refuse
from .estimators._state import BLOCK
from .families.classes import AbstractClasses, FixedClasses
from .naive_bayes import CLASS, Parameters, Rows, Statistics, by_rows
from .statistics import Counts, Moments
from .sums.by_class import by_class
from .sums.gaussian import log_normal_sum
from .sums.rows import contract

__all__ = ["BernoulliNB", "CategoricalNB", "ComplementNB", "GaussianNB", "MultinomialNB"]

_ROWS, _EVENTS = "rows", "events"  # statistics beside those of the block, for attributes that it does not determine


class GaussianNB(AbstractDropIn, ours.GaussianNB):
    """`sklearn.naive_bayes.GaussianNB` with the posterior.

    Parameters
    ----------
    priors : (c,), optional
        fixed class probabilities
    var_smoothing : float, default 1e-9
        this portion of the largest variance of all features is added to every variance

    Attributes
    ----------
    theta_, var_ : (c, d)
        means and variances, including ε. In a class without rows they are 0 and ε, as in scikit-learn. If `priors` give
        such a class a probability above 0, they are the prior expectations
    epsilon_ : float
        ε: `var_smoothing` times the largest variance of a feature over all rows so far, without weights
    class_count_, class_prior_ : (c,)
        weight and relative frequency of each class
    posterior_ and all others : as in `bayesnb.GaussianNB`

    Notes
    -----
    NaN is a missing cell and is left out; scikit-learn refuses NaN. Results are float64, also for float32 rows.
    """

    _parameter_constraints = peers.GaussianNB._parameter_constraints
    variance, known_variance, prior = "class", None, None

    def __init__(self, *, priors: Any = None, var_smoothing: Any = 1e-9) -> None:
        self.priors, self.var_smoothing = priors, var_smoothing

    def _gather(self, X: Any, index: np.ndarray, sample_weight: Any) -> Statistics:
        stats = super()._gather(X, index, sample_weight)
        if sample_weight is None:
            held = stats.blocks[BLOCK]
            rows = replace(held.pooled(), sums=held.sums.pooled())
        else:
            x, r = X.astype(float, copy=False), np.ones((X.shape[0], 1))
            rows = with_sums(Moments.of(x, r), x, r, lambda _: moment_sums(x, r))
        return replace(stats, blocks={**stats.blocks, _ROWS: rows})

    def _widen(self, classes: np.ndarray) -> None:
        rows = self.statistics_.blocks[_ROWS]
        super()._widen(classes)
        self.statistics_ = replace(self.statistics_, blocks={**self.statistics_.blocks, _ROWS: rows})

    def _set_statistics(self, stats: Statistics) -> Self:
        if _ROWS not in stats.blocks:  # soft labels, whose weights of a row add up over the classes
            stats = replace(stats, blocks={**stats.blocks, _ROWS: stats.blocks[BLOCK].pooled()})
        return super()._set_statistics(stats)

    def _learn(self, stats: Statistics) -> None:
        settled = stats.settled(always=True)  # the odds of a row far away show the last bit of ε
        rows, moments = settled.blocks[_ROWS], settled.blocks[BLOCK]
        self.epsilon_ = float(self.var_smoothing * (rows.ss / np.maximum(rows.n, 1)).max())
        self.class_prior_ = self._class_frequencies()
        found = self.prior_.blocks[BLOCK].mle(moments)
        silent = (self.class_prior_ == 0)[:, None] & (moments.n == 0)
        self.theta_ = np.where(silent, 0, found["mu"])
        self.var_ = np.where(silent, 0, found["variance"]) + self.epsilon_

    def _theta(self) -> Parameters:
        mu, variance = self.theta_[self.class_prior_ > 0], self.var_[self.class_prior_ > 0]
        # a column that is the same in all classes is left out by any variance that they share
        constant = ((variance <= TINY) & (mu == mu[0])).all(0)
        return {
            CLASS: {"log_pi": safe_log(self.class_prior_)},
            BLOCK: {"mu": self.theta_, "variance": np.where(constant, 1, np.maximum(self.var_, TINY))},
        }

    def predict_joint_log_proba(self, X: Any) -> np.ndarray:
        """log π_c + Σ_j log Normal(x_ij; θ_cj, var_cj) in nats, (n, c)."""
        rows, theta = self._encode(X)[BLOCK], self._theta()
        mu, sd = theta[BLOCK]["mu"], np.sqrt(theta[BLOCK]["variance"])
        return theta[CLASS]["log_pi"] + by_rows(lambda part: log_normal_sum(rows[part], mu, sd), {BLOCK: rows})


class MultinomialNB(AbstractDiscrete, ours.MultinomialNB):
    """`sklearn.naive_bayes.MultinomialNB` with the posterior.

    Parameters
    ----------
    alpha : float or (d,), default 1
        pseudo-count of each event in each class; 0 means no smoothing
    force_alpha : bool, default True
        with False, an alpha below 1e-10 becomes 1e-10, with a warning
    fit_prior : bool, default True
        whether the relative class frequencies are used; with False the classes are equal
    class_prior : (c,), optional
        fixed class probabilities

    Attributes
    ----------
    feature_count_, feature_log_prob_ : (c, d)
        counts of events, and log (count + α) / Σ (count + α)
    class_count_, class_log_prior_ : (c,)
        weight and log relative frequency of each class
    posterior_ and all others : as in `bayesnb.MultinomialNB`
    """

    _parameter_constraints = peers.MultinomialNB._parameter_constraints

    def _learn(self, stats: Statistics) -> None:
        super()._learn(stats)
        self.feature_count_ = stats.blocks[BLOCK].n
        self.feature_log_prob_ = log_shares(self.feature_count_ + self._smoothing())

    def _theta(self) -> Parameters:
        return {CLASS: {"log_pi": self.class_log_prior_}, BLOCK: {"log_theta": hold_finite(self.feature_log_prob_)}}

    def predict_joint_log_proba(self, X: Any) -> np.ndarray:
        """log π_c + Σ_j x_ij log θ_cj in nats, (n, c), without the multinomial coefficient.

        The coefficient is equal in all classes. The score is also given for cells below 0, as in scikit-learn, although
        these are not counts.
        """
        check_is_fitted(self)
        x = self._validate(X, reset=False, counts=False)
        return x @ hold_finite(self.feature_log_prob_).T + self.class_log_prior_


@dataclass(kw_only=True, eq=False, repr=False)
class ComplementNB(AbstractDiscrete, ours.ComplementNB):
    """`sklearn.naive_bayes.ComplementNB` with the posterior.

    Parameters
    ----------
    alpha, force_alpha : as in `MultinomialNB`, but for the complement of each class
    fit_prior, class_prior : accepted; only `class_log_prior_` follows them, as in scikit-learn
    norm : bool, default False
        whether the weights of each class are divided by their sum

    Attributes
    ----------
    feature_count_ : (c, d)
        counts of events in each class
    feature_all_ : (d,)
        counts of events in all classes
    feature_log_prob_ : (c, d)
        weights −log θ_c of the complements; `norm` divides them by their sum
    class_count_, class_log_prior_ : (c,)
        weight and log relative frequency of each class; prediction does not use them
    posterior_ and all others : as in `bayesnb.ComplementNB`, with equal class probabilities
    """

    _parameter_constraints = peers.ComplementNB._parameter_constraints
    feature_log_prob_ = Assignable()

    norm: Any = False

    def _class_prior(self) -> AbstractClasses:
        super()._class_prior()  # checks what was given
        return FixedClasses(np.full(len(self.classes_), 1 / len(self.classes_)))

    def _gather(self, X: Any, index: np.ndarray, sample_weight: Any) -> Statistics:
        stats = super()._gather(X, index, sample_weight)
        x, r = X.astype(float, copy=False), self._weights(X, index, sample_weight)
        events = by_class(r, x)
        counts = with_sums(Counts(events, 0 * events), x, r, lambda _: {"n": sums_of_cells(x, r)})
        return replace(stats, blocks={**stats.blocks, _EVENTS: counts})

    def _learn(self, stats: Statistics) -> None:
        super()._learn(stats)
        self.feature_count_ = stats.blocks[_EVENTS].n
        self.feature_all_ = self.feature_count_.sum(0)
        weights = -self._log_complement()
        if self.norm:
            total = np.minimum(weights, -np.log(TINY)).sum(1, keepdims=True)
            weights = np.minimum(weights, -np.log(TINY)) / np.where(total > 0, total, 1)
        self.feature_log_prob_ = weights

    def _log_complement(self) -> np.ndarray:
        return log_shares(self.statistics_.blocks[BLOCK].n + self._smoothing())

    def _theta(self) -> Parameters:
        c = len(self.classes_)
        return {CLASS: {"log_pi": np.full(c, -np.log(c))}, BLOCK: {"log_theta": hold_finite(self._log_complement())}}

    def predict_joint_log_proba(self, X: Any) -> np.ndarray:
        """Σ_j x_ij w_cj, (n, c): the score of Rennie et al. (2003), without a class prior, as in scikit-learn."""
        check_is_fitted(self)
        x = self._validate(X, reset=False, counts=False)
        table = x @ np.minimum(self.feature_log_prob_, -np.log(TINY)).T
        return table + self.class_log_prior_ if len(self.classes_) == 1 else table

    def predict_part_log_likelihood(self, X: Any) -> dict[str, np.ndarray]:
        """The whole score, under the name "x"; as in scikit-learn, it does not include `class_log_prior_`."""
        return {BLOCK: self.predict_joint_log_proba(X)}


@dataclass(kw_only=True, eq=False, repr=False)
class BernoulliNB(AbstractDiscrete, ours.BernoulliNB):
    """`sklearn.naive_bayes.BernoulliNB` with the posterior.

    Parameters
    ----------
    alpha, force_alpha, fit_prior, class_prior : as in `MultinomialNB`; `alpha` for ones and for zeros
    binarize : float or None, default 0
        the threshold: cells above it count as one. With None the cells are used as they are, from 0 to 1

    Attributes
    ----------
    feature_count_, feature_log_prob_ : (c, d)
        counts of ones, and log (ones + α) / (cells + 2α)
    class_count_, class_log_prior_ : (c,)
        weight and log relative frequency of each class
    posterior_ and all others : as in `bayesnb.BernoulliNB`

    Notes
    -----
    NaN is a missing cell and is left out; scikit-learn refuses NaN. With binarize=None a cell x between 0 and 1 counts
    as x of a one and 1 − x of a zero. Its likelihood is θˣ (1−θ)¹⁻ˣ.
    """

    binarize: Any = 0.0  # checked by scikit-learn's constraints

    _parameter_constraints = peers.BernoulliNB._parameter_constraints

    def _rows(self, X: Any) -> Rows:
        if self.binarize is not None:
            return super()._rows(X)
        advice = "with binarize=None all cells must be from 0 to 1. Set `binarize` to a threshold."
        refuse(self, X, lambda cell: (cell < 0) | (cell > 1), "Values outside 0 to 1", advice)
        return {BLOCK: X}

    def _learn(self, stats: Statistics) -> None:
        super()._learn(stats)
        zeros, ones = np.moveaxis(stats.blocks[BLOCK].n, -1, 0)
        self.feature_count_ = ones
        self.feature_log_prob_ = log_share(ones + self._smoothing(), zeros + self._smoothing())

    def _log_probabilities(self) -> tuple[np.ndarray, np.ndarray]:
        """log p and log(1 − p), (c, d), from log p: near p = 1 it holds 1 − p with all digits."""
        log_p = self.feature_log_prob_
        with np.errstate(divide="ignore"):
            log_q = np.where(log_p > -0.7, np.log(-np.expm1(log_p)), np.log1p(-np.exp(log_p)))
        return hold_finite(log_p), hold_finite(log_q)

    def _theta(self) -> Parameters:
        log_p, log_q = self._log_probabilities()
        return {CLASS: {"log_pi": self.class_log_prior_}, BLOCK: {"logit_theta": log_p - log_q}}

    def predict_joint_log_proba(self, X: Any) -> np.ndarray:
        """log π_c + Σ_j x_ij log p_cj + (1 − x_ij) log(1 − p_cj) in nats, (n, c)."""
        x = self._encode(X)[BLOCK]
        log_p, log_q = self._log_probabilities()
        return contract(x, log_p - log_q, log_q) + self.class_log_prior_


@dataclass(kw_only=True, eq=False, repr=False)
class CategoricalNB(AbstractDiscrete, ours.CategoricalNB):
    """`sklearn.naive_bayes.CategoricalNB` with the posterior.

    Parameters
    ----------
    alpha, force_alpha, fit_prior, class_prior : as in `MultinomialNB`; `alpha` a number
    min_categories : int or (d,), optional
        smallest number of categories of each feature

    Attributes
    ----------
    category_count_, feature_log_prob_ : lists of d arrays (c, n_categories_[j])
        counts of cells, and log (count + α) / Σ (count + α)
    n_categories_ : (d,)
        number of categories of each feature: 0 … the largest code so far
    class_count_, class_log_prior_ : (c,)
        weight and log relative frequency of each class
    posterior_ and all others : as in `bayesnb.CategoricalNB`

    Notes
    -----
    Cells are whole numbers. As in scikit-learn a fractional part is cut off, and sparse rows are refused. Prediction
    leaves out a new category, where scikit-learn raises IndexError.
    """

    _parameter_constraints = peers.CategoricalNB._parameter_constraints

    min_categories: Any = None

    def _validate(self, X: Any, **checks: Any) -> Any:
        if "y" in checks:
            self._validate_params()
        refuse_times(X)
        found = validate_data(self, X, checks.pop("y", "no_validation"), dtype="int", **checks)
        check_non_negative(found[0] if isinstance(found, tuple) else found, "CategoricalNB (input X)")
        return found

    def _learn(self, stats: Statistics) -> None:
        super()._learn(stats)
        self.category_count_ = self._counts()
        self.feature_log_prob_ = [log_shares(count + self._smoothing()) for count in self.category_count_]

    def _theta(self) -> Parameters:
        blocks = {
            name: {"log_theta": hold_finite(np.stack([self.feature_log_prob_[j] for j in group], 1))}
            for name, group in self._columns().items()
        }
        return {CLASS: {"log_pi": self.class_log_prior_}, **blocks}

    def predict_joint_log_proba(self, X: Any) -> np.ndarray:
        """log π_c + Σ_j log p(x_ij | c) in nats, (n, c)."""
        check_is_fitted(self)
        x = self._validate(X, reset=False)
        table = np.tile(self.class_log_prior_, (len(x), 1))
        for codes, log_p in zip(x.T, self.feature_log_prob_, strict=True):
            unknown = log_p.shape[1]
            table += np.pad(hold_finite(log_p), ((0, 0), (0, 1)))[:, np.minimum(codes, unknown)].T
        return table

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = False
        tags.input_tags.sparse = False
        tags.input_tags.allow_nan = False
        return tags
