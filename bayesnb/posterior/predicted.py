"""What follows from log class probabilities, and from draws of them, whatever they come from."""

from typing import Any, NamedTuple

import numpy as np
from scipy.special import entr, logsumexp

from ..numerics.arrays import Scalar, Table
from ..numerics.supports import check_level
from .intervals import Uncertainty

_LARGEST = 1e300  # log odds against a class without probability
QUANTILES: Any = "weibull"  # of draws: an interval holds its level in expectation, also of few draws


def log_odds_against(table: Table) -> Table:
    """log((1 − p_c)/p_c) of each class, (n, c), from a joint table log p(x_i, y = c) in nats.

    It falls with p_c, and tells 1 − 1e-20 from 1. With p_c ∝ exp t_c it is log Σ_{k≠c} exp t_k − t_c, so
    that the table needs no normalisation.

    Parameters
    ----------
    table : (n, c) entries t_c of each row, which may lack a term that all classes of the row share
    """
    # For example, with t = (log 1, log 2, log 3) the entry of the first class is log((2 + 3)/1).
    is_same_class = np.eye(table.shape[1], dtype=bool)  # (c, c)
    with np.errstate(invalid="ignore", divide="ignore"):
        # for each class c a copy of the row in which t_c is log 0, so that the sum is over the other classes
        t_of_others = np.where(is_same_class, -np.inf, table[:, None])  # (n, c, c)
        log_sum_of_others = logsumexp(t_of_others, axis=2)  # (n, c)
        # infinite where a probability is 0 or 1, and NaN (∞ − ∞) where all are 0: large numbers, which can be compared
        return np.nan_to_num(log_sum_of_others - table, nan=_LARGEST, posinf=_LARGEST, neginf=-_LARGEST)


class IntervalDraws(NamedTuple):
    """Draws of class probabilities that an interval is taken over.

    Fields
    ------
    proba : (s, n, c) s draws of the probability of each class, for each row
    quantiles : how quantiles are taken of them, a `method` of `numpy.quantile`
    """

    proba: np.ndarray
    quantiles: Any


class ProbaOfLog:
    """Probabilities of a classifier that has their logarithms."""

    predict_log_proba: Any

    def predict_proba(self, X: Any) -> np.ndarray:
        """p(y = c | x_i), (n, c); see `predict_log_proba`."""
        return np.exp(self.predict_log_proba(X))


class OfLogProba(ProbaOfLog):
    """Prediction of a classifier that has `predict_log_proba` and `sample_proba`.

    A subclass sets `_lacks`, the end of the error message about attributes that it does not have. `interval_coverage`
    says what share of true probabilities its 90 % intervals were measured to hold.
    """

    classes_: np.ndarray
    sample_proba: Any
    interval_coverage = ""
    _lacks = ""

    def __getattr__(self, name: str) -> Any:
        # Python asks here only for what the object itself does not have
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}{self._lacks}")

    def predict(self, X: Any) -> np.ndarray:
        """The most probable label of each row, (n,)."""
        best = self.predict_log_proba(X).argmax(1)  # (n,) class numbers
        return self.classes_[best]

    def decision_function(self, X: Any) -> np.ndarray:
        """The log odds of the second of two classes, (n,), or log p(y = c) with more, (n, c); in nats."""
        log_p = self.predict_log_proba(X)
        # scikit-learn wants one number a row of two classes, and its sign to say which of them is predicted
        if log_p.shape[1] == 2:
            return log_p[:, 1] - log_p[:, 0]
        return log_p

    def predict_interval(self, X: Any, level: Scalar = 0.9, **draws: Any) -> np.ndarray:
        """Equal-tailed credible interval of the class probability, (n, c, 2), over the draws of `sample_proba`.

        Parameters
        ----------
        level : posterior mass inside, between 0 and 1
        draws : `n_draws` and `seed` (0 by default) of `sample_proba`
        """
        check_level(level)  # ValueError unless between 0 and 1
        draws_of_rows = self.interval_draws(X, **draws)  # (s, n, c), and how quantiles are taken of them
        return central_interval(draws_of_rows.proba, level, draws_of_rows.quantiles)

    def interval_draws(self, X: Any, **draws: Any) -> IntervalDraws:
        """What `predict_interval` is over. Provisional.

        Draws (s, n, c) of the class probabilities by `sample_proba`, with NumPy's default way to take quantiles of
        them. A subclass whose draws are few, or have weights, says another way.
        """
        settings = {"seed": 0} | draws  # a seed in `draws` goes before
        return IntervalDraws(self.sample_proba(X, **settings), "linear")

    def uncertainty(self, X: Any, **draws: Any) -> Uncertainty:
        """Entropy of the label in nats, split into `total`, `aleatoric` and `epistemic`, over `sample_proba`.

        `draws` are `n_draws` and `seed` (0 by default) of `sample_proba`.
        """
        settings = {"seed": 0} | draws  # a seed in `draws` goes before
        p = self.sample_proba(X, **settings)  # (s, n, c)

        # entr is −p log p, whose sum over the classes is the entropy. Total = aleatoric + epistemic: entropy of the
        # mean = mean entropy + mutual information of label and parameters.
        total = entr(p.mean(0)).sum(-1)  # (n,) entropy of the mean probabilities
        mean_entropy = entr(p).sum(-1).mean(0)  # (n,) mean of the entropies of the draws
        aleatoric = np.minimum(mean_entropy, total)  # it is never larger, but for rounding: entropy is concave
        return Uncertainty(total, aleatoric, total - aleatoric)


def central_interval(draws: Any, level: Scalar, method: Any = "linear") -> np.ndarray:
    """Equal-tailed interval over the first axis of draws (s, …), as (…, 2): its lower and upper end.

    `level` is the mass inside, and `method` is that of NumPy's quantiles.
    """
    tails = [(1 - level) / 2, (1 + level) / 2]
    ends = np.quantile(draws, tails, axis=0, method=method)  # (2, …)
    return np.moveaxis(ends, 0, -1)


class Known:
    """A stand-in for the posterior of a `LooResult`: its `log_joint` returns its argument, as an array.

    `LooResult` gives its rows to the method `log_joint` of its posterior, and gets the table log p(x_i, y = c), (n, c).
    Where this table is computed already, it is stored in the place of the rows, and this class in that of the
    posterior.
    """

    log_joint = staticmethod(np.asarray)
