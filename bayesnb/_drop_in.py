"""What the five classifiers of `drop_in` share: fitted attributes, class frequencies, α, logarithms."""

import warnings
from dataclasses import dataclass, field, replace
from numbers import Real
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import column_or_1d

from .estimators._base import AbstractNB
from .estimators._state import all_or_nothing
from .naive_bayes import Statistics

TINY = np.finfo(float).tiny
_ALPHA_MIN = 1e-10  # scikit-learn's bound, and the least α of a posterior


class Assignable:
    """A fitted attribute that can be assigned and replaces an inherited property."""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is None:
            return self
        raise AttributeError(f"{type(instance).__name__!r} object has no attribute {self.name!r}")


class AbstractDropIn(AbstractNB):
    """scikit-learn's numbers in front of one of our estimators."""

    estimate = "mean"
    class_alpha = 1.0
    fit_prior: Any = True
    class_count_ = Assignable()

    @property
    def decision_function(self) -> Any:
        """Not available, because `CalibratedClassifierCV` and scorers would use it instead of `predict_proba`."""
        raise AttributeError(f"{type(self).__name__!r} object has no attribute 'decision_function', as in scikit-learn")

    def _validate(self, X: Any, **checks: Any) -> Any:
        if "y" in checks:
            self._validate_params()
        return super()._validate(X, **checks)

    @all_or_nothing
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:  # type: ignore[override]
        """Add rows: batches in any order and grouping reach the numbers that `fit` reaches on all rows at once."""
        self._check_classes(classes)
        return super().partial_fit(X, y, classes, sample_weight)

    def _check_classes(self, classes: Any) -> None:
        """Raise a ValueError on `classes` that scikit-learn refuses."""

    def _set_statistics(self, stats: Statistics) -> Self:
        super()._set_statistics(stats)
        self.class_count_ = self.statistics_.n
        self._learn(self.statistics_)
        return self

    def _learn(self, stats: Statistics) -> None:
        """Set scikit-learn's attributes."""
        raise NotImplementedError

    def _class_frequencies(self) -> np.ndarray:
        """π: as given, equal, or N_c / N; without any rows equal."""
        given, c = getattr(self, self._prior_name()), len(self.classes_)
        if given is not None:
            return np.array(given, float)
        total = self.class_count_.sum()
        if not self.fit_prior or not total > 0:
            return np.full(c, 1 / c)
        return self.class_count_ / total

    def _tie_prior(self) -> np.ndarray:
        return np.zeros(len(self.classes_))  # the first label, as in scikit-learn

    def _without(self, stats: Statistics) -> tuple[Statistics, Statistics]:
        aside = {name: held.zero() for name, held in self.statistics_.blocks.items() if name not in stats.blocks}
        return super()._without(replace(stats, blocks={**stats.blocks, **aside}))


@dataclass(kw_only=True, eq=False, repr=False)
class AbstractDiscrete(AbstractDropIn):
    """What the four classifiers with `alpha` share."""

    class_log_prior_ = Assignable()

    alpha: Any = 1.0
    force_alpha: Any = True
    fit_prior: Any = True
    class_prior: Any = None

    # not in scikit-learn, and so no parameters
    prior: Any = field(default=None, init=False)
    priors: Any = field(default=None, init=False)
    class_alpha: Any = field(default=1.0, init=False)
    estimate: str = field(default="mean", init=False)

    def _check_classes(self, classes: Any) -> None:
        if classes is not None:
            labels, count = np.unique(column_or_1d(classes), return_counts=True)
            if (count > 1).any():
                known = getattr(self, "classes_", labels)
                raise ValueError(
                    f"`classes` has {labels[count > 1]} more than once, which is not the same as on last call to "
                    f"partial_fit, {known}; pass each label once"
                )

    def _check_alpha(self) -> np.ndarray:
        """α with scikit-learn's checks, sentences and bound."""
        alpha = np.asarray(self.alpha, float)
        if not isinstance(self.alpha, Real):
            if alpha.shape != (self.n_features_in_,):
                raise ValueError(
                    f"When alpha is an array, it should contains `n_features`, {self.n_features_in_}; its shape is "
                    f"{alpha.shape}"
                )
            if not (alpha >= 0).all():
                raise ValueError(f"All values in alpha must be greater than 0. `alpha` is {self.alpha!r}")
        if not self.force_alpha and alpha.min() < _ALPHA_MIN:
            warnings.warn(
                f"alpha too small will result in numeric errors, setting alpha = {_ALPHA_MIN:.1e}. Use "
                "`force_alpha=True` to keep alpha unchanged.",
                stacklevel=2,
            )
        return self._smoothing()

    def _smoothing(self) -> np.ndarray:
        """α as the attributes take it."""
        return np.asarray(self.alpha if self.force_alpha else np.maximum(self.alpha, _ALPHA_MIN), float)

    def _concentration(self, shape: tuple[int, ...]) -> np.ndarray:
        return np.broadcast_to(np.maximum(self._smoothing(), _ALPHA_MIN), shape)

    def _gather(self, X: Any, index: np.ndarray, sample_weight: Any) -> Statistics:
        self._check_alpha()
        return super()._gather(X, index, sample_weight)

    def _learn(self, stats: Statistics) -> None:
        self.class_log_prior_ = safe_log(self._class_frequencies())


def safe_log(p: np.ndarray) -> np.ndarray:
    """log p, −∞ at 0."""
    with np.errstate(divide="ignore"):
        return np.log(p)


def hold_finite(log_p: np.ndarray) -> np.ndarray:
    """Logarithms of zero held at that of the smallest positive number."""
    return np.maximum(log_p, np.log(TINY))


def log_shares(count: np.ndarray) -> np.ndarray:
    """log of counts over their sum along the last axis; equal shares where there is nothing."""
    total = count.sum(-1, keepdims=True)
    return np.where(total > 0, safe_log(count) - np.log(np.where(total > 0, total, 1)), -np.log(count.shape[-1]))


def log_share(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """log p/(p+q) with all digits of q/p where that is small; log ½ where both are 0."""
    p, q = np.where(p + q > 0, p, 1), np.where(p + q > 0, q, 1)
    return np.where(p < q, safe_log(p) - np.log(p + q), -np.log1p(q / np.maximum(p, q)))
