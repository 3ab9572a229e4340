"""How an estimator takes over what was learnt: all of it at once, and only after everything has succeeded."""

from collections.abc import Mapping
from typing import Any


def replace_learnt(estimator: Any, learnt: Mapping[str, Any]) -> None:
    """Replace all that an estimator has learnt; its settings stay, and what scikit-learn has noted during a fit.

    It is a single assignment, so another thread sees either all old attributes or all new ones.

    Parameters
    ----------
    learnt : the learnt attributes by name, such as `vars` of a fitted copy, whose settings are passed over
    """
    # as in scikit-learn, names of learnt attributes end in an underscore; those of an earlier fit go
    kept = {name: value for name, value in vars(estimator).items() if not name.endswith("_")}
    settings = estimator.get_params(deep=False)
    new = {name: value for name, value in learnt.items() if name not in settings}
    estimator.__dict__ = {**kept, **new}
