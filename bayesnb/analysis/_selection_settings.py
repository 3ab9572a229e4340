"""The settings of forward selection: which are in range, which columns they name, how many steps they allow."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import Tags

from ..core.arrays import Float
from ..core.supports import check_choice
from ..estimators._state import reads_one_state
from ..tables import listed
from .binning import whole_number


@dataclass(kw_only=True, eq=False, repr=False)
class SelectionSettings:
    """What `ForwardSelection` and `SPSSNaiveBayes` share: parameters, which the former explains, and tags."""

    max_features: Any = "auto"
    exact_features: Any = None
    force: Any = ()
    criterion: Any = "auto"
    test_share: Any = None
    partition: Any = None
    alpha: Any = None
    class_alpha: Any = None
    normalizer: Any = "exact"
    n_simulated: Any = 1000
    denominator: Any = "N"
    seed: Any = 0

    @reads_one_state
    def predict_proba(self, X: Any) -> Float[np.ndarray, "n c"]:
        """p(y = c | x_i), (n, c); see `predict_log_proba`."""
        return np.exp(self.predict_log_proba(X))  # type: ignore[attr-defined]

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.target_tags.required = True
        tags.classifier_tags.poor_score = True
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags


def check_settings(settings: Any) -> str:
    """The criterion in force; raises ValueError on settings out of range."""
    if settings.max_features != "auto":
        whole_number("max_features", settings.max_features)
    if settings.exact_features is not None:
        whole_number("exact_features", settings.exact_features)
        if settings.max_features != "auto":
            raise ValueError("`max_features` and `exact_features` are both given; leave one of them out")
    check_choice("criterion", settings.criterion, ("auto", "bic", "test"))
    check_choice("normalizer", settings.normalizer, ("exact", "simulated"))
    check_choice("denominator", settings.denominator, ("N", "N'"))
    if settings.test_share is not None and settings.partition is not None:
        raise ValueError("`test_share` and `partition` are both given; leave one of them out")
    holds_out = settings.test_share is not None or settings.partition is not None
    if settings.criterion == "test" and not holds_out:
        raise ValueError(
            "`criterion` is 'test', but no rows are held out; give `test_share`, such as 0.3, or `partition`"
        )
    if settings.test_share is not None and not (np.isreal(settings.test_share) and 0 < settings.test_share < 1):
        raise ValueError(f"`test_share` is {settings.test_share!r}; it needs to lie between 0 and 1")
    if settings.criterion == "auto":
        return "test" if holds_out else "bic"
    return settings.criterion


def partition_column(partition: Any, names: list[Any]) -> int | None:
    """Position of the column that says which rows train; None where there is none."""
    return None if partition is None or np.ndim(partition) else position("`partition` is", partition, names)


def forced_columns(force: Any, names: list[Any]) -> list[int]:
    """Positions of the forced columns, in the order given."""
    wanted = [force] if isinstance(force, str) else list(force)
    return list(dict.fromkeys(position("`force` has", column, names) for column in wanted))


def position(found: str, column: Any, names: list[Any], advice: str = "the columns are") -> int:
    """The number of a column given by name or number; ValueError where there is no such column."""
    if column not in (names if isinstance(column, str) else range(len(names))):
        raise ValueError(f"{found} {column!r}, which is not a column of `X`; {advice} {listed(names)}")
    return names.index(column) if isinstance(column, str) else int(column)


def count_steps(settings: Any, candidates: int, usable: int) -> int:
    """How many predictors are added to the forced ones: J_max less their number."""
    if settings.exact_features is not None:
        if settings.exact_features > candidates:
            raise ValueError(
                f"`exact_features` is {settings.exact_features}, but only {candidates} predictors with at least two "
                "observed categories can be added to the forced ones; give at most that number"
            )
        return int(settings.exact_features)
    if settings.max_features != "auto":
        return min(int(settings.max_features), candidates)
    return min(candidates, 100, max(20, usable // 5))
