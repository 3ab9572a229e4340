"""Exact leave-one-out: every row predicted by all others, without a refit.

    elpd       = Σ_i w_i log p(y_i | x_i, D₋ᵢ)     how well labels are predicted, rows being given
    elpd_joint = Σ_i w_i log p(x_i, y_i | D₋ᵢ)     how well rows and labels are predicted

A conjugate posterior forgets a row in closed form, so the table p(x_i, y = c | D₋ᵢ) costs little more than a table of
predictions. The prior is held fixed: where an estimator scales its default prior by the data, it is the prior of all
rows, row i included, as `prior_` has it.

References
----------
Vehtari, Gelman & Gabry (2017), Practical Bayesian model evaluation using leave-one-out cross-validation and WAIC,
Statistics and Computing 27, §2.1 (elpd, its standard error and p_loo); there by importance sampling, here exactly.
"""

import functools
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from .._rows import is_missing_free
from .._special import log_normalize
from .._support import AMOUNT, COUNT, undefined
from .._typing import Float, Shaped, Sparse
from ..naive_bayes import NaiveBayes, Rows, Statistics
from ..statistics import Moments, class_totals, one_hot

_LOST = 1e-7  # a pseudo-count below is lost beside the weight of a row
_ROUNDING = 1e-14  # of statistics from which a row has been taken


@dataclass(frozen=True)
class LooResult:
    """Every row predicted by all others.

    Attributes
    ----------
    classes : (c,) labels
    index : (n,) place of each row's own label among them
    weight : (n,) sample weights; sums over rows are weighted with them
    log_joint : (n, c) log p(x_i, y = c | D₋ᵢ), nats
    """

    classes: Shaped[np.ndarray, " c"]
    index: Shaped[np.ndarray, " n"]
    weight: Float[np.ndarray, " n"]
    log_joint: Float[np.ndarray, "n c"]
    _log_joint_of_all: Callable[[], np.ndarray] = field(repr=False, compare=False)

    def _own(self, table: np.ndarray) -> np.ndarray:
        return np.take_along_axis(table, self.index[:, None], 1)[:, 0]

    @functools.cached_property
    def log_proba(self) -> Float[np.ndarray, "n c"]:
        """log p(y = c | x_i, D₋ᵢ), nats."""
        return log_normalize(self.log_joint)

    @property
    def proba(self) -> Float[np.ndarray, "n c"]:
        """Class probabilities p(y = c | x_i, D₋ᵢ)."""
        return np.exp(self.log_proba)

    @property
    def predicted(self) -> Shaped[np.ndarray, " n"]:
        """The most probable label of each row."""
        return self.classes[self.log_joint.argmax(1)]

    @property
    def pointwise(self) -> Float[np.ndarray, " n"]:
        """log p(y_i | x_i, D₋ᵢ), nats, not yet weighted."""
        return self._own(self.log_proba)

    @property
    def pointwise_joint(self) -> Float[np.ndarray, " n"]:
        """log p(x_i, y_i | D₋ᵢ), nats, not yet weighted."""
        return self._own(self.log_joint)

    @property
    def elpd(self) -> float:
        """Σ_i w_i log p(y_i | x_i, D₋ᵢ), nats."""
        return float(self.weight @ self.pointwise)

    @property
    def se(self) -> float:
        """Standard error of `elpd`: √(n · variance of its n terms)."""
        return _standard_error(self.weight * self.pointwise)

    @property
    def elpd_joint(self) -> float:
        """Σ_i w_i log p(x_i, y_i | D₋ᵢ), nats."""
        return float(self.weight @ self.pointwise_joint)

    @property
    def se_joint(self) -> float:
        """Standard error of `elpd_joint`."""
        return _standard_error(self.weight * self.pointwise_joint)

    @property
    def p_loo(self) -> float:
        """Effective number of parameters: what row i's own presence adds to Σ_i w_i log p(y_i | x_i)."""
        return float(self.weight @ self._own(log_normalize(self._of_all))) - self.elpd

    @property
    def p_loo_joint(self) -> float:
        """Effective number of parameters in Σ_i w_i log p(x_i, y_i)."""
        return float(self.weight @ self._own(self._of_all)) - self.elpd_joint

    @functools.cached_property
    def _of_all(self) -> np.ndarray:
        """log p(x_i, y = c | D), row i included: a table of predictions, made when it is asked for."""
        return self._log_joint_of_all()

    @property
    def accuracy(self) -> float:
        """Weighted share of the rows that all others classify correctly."""
        return float(self.weight @ (self.log_joint.argmax(1) == self.index) / self.weight.sum())

    @property
    def log_loss(self) -> float:
        """−elpd for each unit of weight, nats."""
        return -self.elpd / float(self.weight.sum())

    def to_arviz(self, kind: str = "conditional") -> Any:
        """ArviZ's `ELPDData`, for `arviz.compare({"one": a.to_arviz(), …})` and its plots.

        Parameters
        ----------
        kind : "conditional" for log p(y_i | x_i, D₋ᵢ), "joint" for log p(x_i, y_i | D₋ᵢ), which is what `arviz.loo`
            estimates from `sample_posterior(X=X, y=y)`

        Raises
        ------
        ValueError
            if `kind` is neither
        """
        from .to_arviz import elpd_data

        if kind not in ("conditional", "joint"):
            raise ValueError(f"`kind` is {kind!r}; choose 'conditional' or 'joint'")
        if kind == "conditional":
            return elpd_data(self.weight * self.pointwise, self.p_loo)
        return elpd_data(self.weight * self.pointwise_joint, self.p_loo_joint)

    def __str__(self) -> str:
        rows = [
            ("log p(y | x)", self.elpd, self.se, self.p_loo),
            ("log p(x, y)", self.elpd_joint, self.se_joint, self.p_loo_joint),
        ]
        lines = [
            f"exact leave-one-out of {len(self.index)} rows, {len(self.classes)} classes; nats",
            f"{'':14}{'elpd':>12}{'se':>10}{'p_loo':>10}",
            *(f"{name:14}{elpd:12.2f}{se:10.2f}{p:10.2f}" for name, elpd, se, p in rows),
            f"accuracy {self.accuracy:.4f}, log loss {self.log_loss:.4f}",
        ]
        return "\n".join(lines)


def _standard_error(terms: np.ndarray) -> float:
    return float(np.sqrt(len(terms) * terms.var()))


def _what_is_checked(estimator: Any, rows: Rows, r: Sparse) -> Statistics:
    """Statistics whose weights are those of the rows; where all cells are there, of moments only these are gathered."""
    held, prior = estimator.statistics_, estimator.prior_
    plain = all(isinstance(stats, Moments) and len(stats.n) == r.shape[1] for stats in held.blocks.values())
    if not plain or not all(is_missing_free(x) for x in rows.values()):
        return prior.suffstats(rows, r)
    n = class_totals(r)
    blocks = {k: Moments(n[:, None] + 0 * stats.n, stats.mean, 0 * stats.ss) for k, stats in held.blocks.items()}
    return Statistics(n, blocks)


def _needs_refits(prior: NaiveBayes, posterior: NaiveBayes) -> bool:
    """Whether a hyperparameter of the prior is lost beside the rows, so that taking a row out would not leave it.

    1e-50 + 3 − 3 is 0 in float64; 1e-50 + (3 − 3) is right.
    """
    pairs: list[tuple[Any, Any]] = [(prior.classes, posterior.classes)]
    pairs += [(block, posterior.blocks[name]) for name, block in prior.blocks.items()]
    for before, after in pairs:
        before, after = (getattr(one, "block", one) for one in (before, after))
        for name, declared in before.fields_.items():
            if declared.support in (COUNT, AMOUNT):
                value, grown = getattr(before, name), getattr(after, name)
                if (value < (_LOST if declared.support is COUNT else 1e-9 * grown)).any():
                    return True
    return False


def _log_joint_by_refits(estimator: Any, rows: Rows, r: Sparse) -> Float[np.ndarray, "n c"]:
    """`NaiveBayes.log_loo` by an update with the statistics of all other rows, one row at a time.

    Raises
    ------
    ValueError
        where an improper prior and all rows but one do not make the posterior a density
    """
    held, prior = estimator.statistics_, estimator.prior_
    table = np.empty(r.shape)
    for i in range(r.shape[0]):
        row = {name: x[[i]].astype(float) for name, x in rows.items()}
        left = held - prior.suffstats(row, r[[i]])
        n = np.where(left.n > _ROUNDING * held.n, left.n, 0)
        blocks = {name: _floored(stats, held.blocks[name]) for name, stats in left.blocks.items()}
        with np.errstate(divide="ignore", invalid="ignore"):
            posterior = prior.update(Statistics(n, blocks))
        for name, block in prior.blocks.items():
            if block.is_improper and (why := undefined(posterior.blocks[name])):
                raise ValueError(
                    f"`prior` is improper, and without row {i} of `X` the posterior is no density: {why}. Give more "
                    "rows of every class, or a proper prior"
                )
        table[i] = posterior.log_joint(row)[0]
    return table


def _floored(left: Any, held: Any) -> Any:
    """Statistics in which what rounding has left of a weight, a total or a sum of squares is 0."""
    names = [name for name in ("n", "total", "ss") if hasattr(left, name)]
    pairs = {name: (getattr(left, name), getattr(held, name)) for name in names}
    if any(one.shape != two.shape for one, two in pairs.values()):
        return left
    return replace(left, **{k: np.where(abs(one) > _ROUNDING * abs(two), one, 0) for k, (one, two) in pairs.items()})


def loo(estimator: Any, X: Any, y: Any, sample_weight: Any = None) -> LooResult:
    """Exact leave-one-out of rows that a fitted estimator has learnt from.

    Parameters
    ----------
    estimator : fitted; its posterior is used as it is, under "predictive" whatever its `estimate`
    X, y, sample_weight : rows, labels and weights as they were fitted, all of them or some. A row leaves with its whole
        weight

    Raises
    ------
    ValueError
        if the rows cannot all have been fitted, because a class or a count holds less weight than they have
    """
    check_is_fitted(estimator)
    X, y = estimator._validate(X, y=y, reset=False)
    weights = np.ones(len(y))
    if sample_weight is not None:
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    index = estimator._class_index(y)
    rows, r = estimator._rows(X), one_hot(index, len(estimator.classes_), weights)
    estimator._without(_what_is_checked(estimator, rows, r))
    posterior = estimator.posterior_
    if estimator.prior_.is_improper or _needs_refits(estimator.prior_, posterior):
        table = _log_joint_by_refits(estimator, rows, r)
    else:
        table = posterior.log_loo(rows, r)
    return LooResult(estimator.classes_, index, weights, table, functools.partial(posterior.log_joint, rows))
