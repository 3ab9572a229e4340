"""Exact leave-one-out: every row predicted by all others, without a refit.

    elpd       = Σ_i w_i log p(y_i | x_i, D₋ᵢ)     how well labels are predicted, rows being given
    elpd_joint = Σ_i w_i log p(x_i, y_i | D₋ᵢ)     how well rows and labels are predicted

A conjugate posterior forgets a row in closed form, so the table p(x_i, y = c | D₋ᵢ) costs little more than a table of
predictions.

Two leave-one-outs. Some estimators scale their default prior by the data: GaussianNB, GaussianDA, KernelNB.
`prior="kept"` leaves that prior as all rows made it, row i included, as `prior_` has it. `prior="refit"` takes row i
out of the prior's scale too, and equals a fit on all other rows. With all other priors the two are the same. What is
learnt of the encoding stays in both: the labels, the levels of CategoricalNB, the kind of a column in MixedNB("auto").

References
----------
Vehtari, Gelman & Gabry (2017), Practical Bayesian model evaluation using leave-one-out cross-validation and WAIC,
Statistics and Computing 27, §2.1 (elpd, its standard error and p_loo); there by importance sampling, here exactly.
"""

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from .._rows import is_missing_free
from .._special import log_normalize
from .._typing import Float, Shaped, Sparse
from ..naive_bayes import Rows, Statistics
from ..statistics import Moments, class_totals, one_hot


@dataclass(frozen=True)
class LooResult:
    """Every row predicted by all others.

    Attributes
    ----------
    classes : (c,) labels
    index : (n,) place of each row's own label among them
    weight : (n,) sample weights; sums over rows are weighted with them
    log_joint : (n, c) log p(x_i, y = c | D₋ᵢ), nats
    log_prior : (n, c) log p(y = c | D₋ᵢ), nats
    prior : "kept" or "refit": whether row i has a share in the scale of the prior, see `loo`
    """

    classes: Shaped[np.ndarray, " c"]
    index: Shaped[np.ndarray, " n"]
    weight: Float[np.ndarray, " n"]
    log_joint: Float[np.ndarray, "n c"]
    log_prior: Float[np.ndarray, "n c"]
    _log_joint_of_all: Callable[[], np.ndarray] = field(repr=False, compare=False)
    _parts: Mapping[str, np.ndarray] | None = field(default=None, repr=False, compare=False)
    prior: str = "kept"

    @functools.cached_property
    def by_block(self) -> dict[str, np.ndarray]:
        """log p(x_i,part | y = c, D₋ᵢ) in nats, (n, c) for each part: `log_joint` is `log_prior` plus their sum.

        Names are those of `predict_part_log_likelihood`, which gives the same tables of new rows: the parts of MixedNB,
        and "x" for all other estimators.
        """
        if self._parts is None:
            return {"x": self.log_joint - self.log_prior}
        return dict(self._parts)

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


def loo(
    estimator: Any, X: Any, y: Any, sample_weight: Any = None, *, prior: str = "kept", groups: Any = None
) -> LooResult:
    """Exact leave-one-out of rows that a fitted estimator has learnt from.

    Parameters
    ----------
    estimator : fitted; its posterior is used as it is, under "predictive" whatever its `estimate`
    X, y, sample_weight : rows, labels and weights as they were fitted, all of them or some. A row leaves with its whole
        weight
    prior : "kept" (default) leaves the prior as the fit made it. "refit" takes row i out of the prior's scale too,
        where the data scale it; it equals a fit on all other rows
    groups : (n,), optional
        labels of groups of rows that leave together. Row i is predicted without any row of its group that is given here

    Raises
    ------
    ValueError
        if the rows cannot all have been fitted, because a class or a count holds less weight than they have; if `prior`
        is neither "kept" nor "refit"; if `groups` has not one label for each row
    """
    if prior not in ("kept", "refit"):
        raise ValueError(f"`prior` is {prior!r}; choose 'kept' or 'refit'")
    check_is_fitted(estimator)
    X, y = estimator._validate(X, y=y, reset=False)
    weights = np.ones(len(y))
    if sample_weight is not None:
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    place = np.arange(len(y)) if groups is None else _places(groups, len(y))
    index = estimator._class_index(y)
    rows, r = estimator._rows(X), one_hot(index, len(estimator.classes_), weights)
    estimator._without(_what_is_checked(estimator, rows, r))
    posterior = estimator.posterior_
    refit = prior == "refit" and estimator._prior_follows_rows
    if groups is None and not refit:
        tables = _each_row(estimator, rows, r)
    else:
        tables = _each_group(estimator, rows, r, place, refit)
    log_prior, parts = tables[0], dict(zip(estimator._blocks_of_parts(), tables[1:], strict=True))
    total = log_prior
    for table in parts.values():
        total = total + table
    return LooResult(
        estimator.classes_,
        index,
        weights,
        total,
        log_prior,
        functools.partial(posterior.log_joint, rows),
        None if list(parts) == ["x"] else parts,
        prior,
    )


def _places(groups: Any, n: int) -> np.ndarray:
    """Labels of groups as 0 … g−1, in the order of their first rows."""
    import pandas as pd

    labels = groups if hasattr(groups, "dtype") else np.asarray(groups, dtype=object)
    if labels.shape != (n,):
        raise ValueError(f"`groups` has shape {labels.shape}; it needs one label for each of the {n} rows")
    place, _ = pd.factorize(labels)
    if (place < 0).any():
        raise ValueError("`groups` has missing labels (None, NaN or NA); give each row the label of its group")
    return place


def _each_row(estimator: Any, rows: Rows, r: Sparse) -> np.ndarray:
    """log p(y = c) and the tables of the parts, (1 + parts, n, c), each row left out and the prior kept."""
    posterior = estimator.posterior_
    log_prior = posterior.classes.log_loo(r.toarray())
    parts = list(estimator._blocks_of_parts().values())
    return np.stack([log_prior, *posterior.log_loo_parts(rows, r, parts)])


def _each_group(estimator: Any, rows: Rows, r: Sparse, place: np.ndarray, refit: bool) -> np.ndarray:
    """`_each_row` of groups that leave together: a posterior for each group, and for a refit a prior."""
    prior, parts = estimator.prior_, list(estimator._blocks_of_parts().values())
    held = Statistics(estimator.statistics_.n, {name: estimator.statistics_.blocks[name] for name in prior.blocks})
    tables = np.empty((1 + len(parts), *r.shape))
    order = np.argsort(place, kind="stable")
    for at in np.split(order, np.flatnonzero(np.diff(place[order])) + 1):
        own, w = {name: x[at] for name, x in rows.items()}, r[at]
        left = held - prior.suffstats(own, w)
        one = replace(prior, blocks=estimator._blocks(left)) if refit else prior
        posterior = one.update(left)
        tables[0, at] = posterior.classes.log_predictive()
        tables[1:, at] = posterior.log_parts(own, parts)
    return tables
