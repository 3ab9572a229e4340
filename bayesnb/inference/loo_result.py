"""What leave-one-out found: tables, sums over rows with their standard errors, and ArviZ's form of them."""

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..core.arrays import Float, Shaped
from ..core.special import log_normalize
from ..core.supports import check_choice
from ..naive_bayes import Rows, by_rows


@dataclass(frozen=True)
class LooResult:
    """Exact leave-one-out: every row, predicted from all other rows.

    Attributes
    ----------
    classes : (c,) labels of the classes
    index : (n,) position of the label of each row in `classes`
    weight : (n,) sample weights; all sums over rows use them
    log_joint : (n, c) log p(x_i, y = c | D₋ᵢ), nats
    log_prior : (n, c) log p(y = c | D₋ᵢ), nats
    prior : "kept" or "refit": whether row i has a share in the scale of the prior, see the method `loo`

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> from bayesnb import GaussianNB
    >>> loo = GaussianNB().fit(X, y).loo(X, y)
    >>> round(loo.elpd, 2), round(loo.accuracy, 3)  # nats; share of rows predicted by all others
    (-20.26, 0.953)
    """

    classes: Shaped[np.ndarray, " c"]
    index: Shaped[np.ndarray, " n"]
    weight: Float[np.ndarray, " n"]
    log_joint: Float[np.ndarray, "n c"]
    _log_prior: Float[np.ndarray, "m c"] = field(repr=False, compare=False)
    _by_label: bool = field(repr=False, compare=False)
    _posterior: Any = field(repr=False, compare=False)
    _sizes: Rows = field(repr=False, compare=False)
    _rows_of: Callable[[slice], Rows] = field(repr=False, compare=False)
    _parts: Mapping[str, np.ndarray] | None = field(default=None, repr=False, compare=False)
    prior: str = "kept"

    @functools.cached_property
    def log_prior(self) -> Float[np.ndarray, "n c"]:
        """log p(y = c | D₋ᵢ), nats."""
        return self._log_prior[self.index] if self._by_label else self._log_prior

    @functools.cached_property
    def by_block(self) -> dict[str, np.ndarray]:
        """log p(x_i,part | y = c, D₋ᵢ) in nats, (n, c) for each part: `log_joint` is `log_prior` plus their sum.

        The names are those of `predict_part_log_likelihood`, which returns these tables for new rows: the parts of
        MixedNB, and "x" for all other estimators.
        """
        if self._parts is None:
            return {"x": self.log_joint - self.log_prior}
        return dict(self._parts)

    def _own(self, table: np.ndarray) -> np.ndarray:
        return np.take_along_axis(table, self.index[:, None], 1)[:, 0]

    @functools.cached_property
    def log_proba(self) -> Float[np.ndarray, "n c"]:
        """Log class probabilities log p(y = c | x_i, D₋ᵢ) in nats, (n, c)."""
        return log_normalize(self.log_joint)

    @property
    def proba(self) -> Float[np.ndarray, "n c"]:
        """Class probabilities p(y = c | x_i, D₋ᵢ), (n, c)."""
        return np.exp(self.log_proba)

    @property
    def predicted(self) -> Shaped[np.ndarray, " n"]:
        """The most probable label of each row, (n,)."""
        return self.classes[self.log_joint.argmax(1)]

    @property
    def pointwise(self) -> Float[np.ndarray, " n"]:
        """log p(y_i | x_i, D₋ᵢ) in nats, (n,), without the weights."""
        return self._own(self.log_proba)

    @property
    def pointwise_joint(self) -> Float[np.ndarray, " n"]:
        """log p(x_i, y_i | D₋ᵢ) in nats, (n,), without the weights."""
        return self._own(self.log_joint)

    @property
    def pointwise_fitted(self) -> Float[np.ndarray, " n"]:
        """log p(y_i | x_i, D) in nats, (n,), row i included, without the weights. Provisional."""
        return self._own(log_normalize(self._of_all))

    @property
    def pointwise_joint_fitted(self) -> Float[np.ndarray, " n"]:
        """log p(x_i, y_i | D) in nats, (n,), row i included, without the weights. Provisional."""
        return self._own(self._of_all)

    @property
    def elpd(self) -> float:
        """Expected log predictive density of the labels: Σ_i w_i log p(y_i | x_i, D₋ᵢ), in nats."""
        return float(self.weight @ self.pointwise)

    @property
    def se(self) -> float:
        """Standard error of `elpd`: √(n · variance of its n terms)."""
        return _standard_error(self.weight * self.pointwise)

    @property
    def elpd_joint(self) -> float:
        """Expected log predictive density of rows and labels: Σ_i w_i log p(x_i, y_i | D₋ᵢ), in nats."""
        return float(self.weight @ self.pointwise_joint)

    @property
    def se_joint(self) -> float:
        """Standard error of `elpd_joint`."""
        return _standard_error(self.weight * self.pointwise_joint)

    @property
    def p_loo(self) -> float:
        """Effective number of parameters: how much Σ_i w_i log p(y_i | x_i) decreases if each row is left out."""
        return float(self.weight @ self.pointwise_fitted) - self.elpd

    @property
    def p_loo_joint(self) -> float:
        """Effective number of parameters: how much Σ_i w_i log p(x_i, y_i) decreases if each row is left out."""
        return float(self.weight @ self.pointwise_joint_fitted) - self.elpd_joint

    @functools.cached_property
    def _of_all(self) -> np.ndarray:
        """log p(x_i, y = c | D), row i included: a table of predictions, made when it is asked for."""
        return by_rows(lambda part: self._posterior.log_joint(self._rows_of(part)), self._sizes)

    @property
    def accuracy(self) -> float:
        """Weighted share of the rows that are classified correctly from all other rows."""
        return float(self.weight @ (self.log_joint.argmax(1) == self.index) / self.weight.sum())

    @property
    def log_loss(self) -> float:
        """Log loss: −elpd divided by the total weight, in nats."""
        return -self.elpd / float(self.weight.sum())

    def to_arviz(self, kind: str = "conditional") -> Any:
        """The result as ArviZ's `ELPDData`, for `arviz.compare({"one": a.to_arviz(), …})` and its plots.

        Parameters
        ----------
        kind : "conditional" for log p(y_i | x_i, D₋ᵢ), "joint" for log p(x_i, y_i | D₋ᵢ). `arviz.loo` estimates the
            second from `sample_posterior(X=X, y=y)`, except for `KernelNB`

        Raises
        ------
        ValueError
            if `kind` is neither of the two
        """
        from .to_arviz import elpd_data

        check_choice("kind", kind, ("conditional", "joint"))
        if kind == "conditional":
            return elpd_data(self.weight * self.pointwise, self.p_loo)
        return elpd_data(self.weight * self.pointwise_joint, self.p_loo_joint)

    def __str__(self) -> str:
        rows = [
            ("elpd        log p(y | x)", self.elpd, self.se, self.p_loo),
            ("elpd_joint  log p(x, y)", self.elpd_joint, self.se_joint, self.p_loo_joint),
        ]
        lines = [
            f"exact leave-one-out of {len(self.index)} rows, {len(self.classes)} classes; nats",
            f"{'':24}{'sum':>12}{'se':>10}{'p_loo':>10}",
            *(f"{name:24}{elpd:12.2f}{se:10.2f}{p:10.2f}" for name, elpd, se, p in rows),
            "`elpd` scores the labels given the rows; `elpd_joint` also scores the rows, as `arviz.loo` does",
            f"accuracy {self.accuracy:.4f}, log loss {self.log_loss:.4f}",
        ]
        return "\n".join(lines)


def _standard_error(terms: np.ndarray) -> float:
    return float(np.sqrt(len(terms) * terms.var()))
