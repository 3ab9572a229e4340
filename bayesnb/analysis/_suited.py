"""Whether an analysis can use an estimator, and labels some of which are missing; the errors say what it needs."""

from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils import assert_all_finite
from sklearn.utils.validation import column_or_1d

from ..core.arrays import Bool
from ..estimators._base import AbstractNB
from ..estimators.one_dependence import OneDependenceNB


class UnsuitedEstimator(TypeError, ValueError):
    """What an analysis cannot use; the message says what to give instead."""


def check_own(estimator: Any, what: str, name: str = "estimator", method: str | None = None) -> None:
    """UnsuitedEstimator unless it is an estimator of bayesnb, or its class has a method, if one is named."""
    if isinstance(estimator, AbstractNB) or (method and hasattr(type(estimator), method)):
        return
    kind = f"{estimator.__name__}, a class" if isinstance(estimator, type) else type(estimator).__name__
    advice = "Transform X first, outside of it"
    if type(estimator).__module__ == "bayesnb.drop_in":
        kind, advice = f"drop_in.{kind}", f"Give `{name}.bayes_`, which `fit` makes"
    for inside in ("estimator", "reader_", "estimator_"):
        if isinstance(getattr(estimator, inside, None), AbstractNB):
            advice = f"Give `{name}.{inside}`, which is one"
    raise UnsuitedEstimator(f"`{name}` is {kind}; {what} needs an estimator of bayesnb, such as GaussianNB(). {advice}")


def check_independent(estimator: Any, what: str) -> None:
    """UnsuitedEstimator unless it is an estimator of bayesnb; ValueError if it is `OneDependenceNB`."""
    check_own(estimator, what)
    if isinstance(estimator, OneDependenceNB):
        raise ValueError(
            f"`estimator` is OneDependenceNB, an average of models of pairs of features; {what} needs a single model. "
            "Use CategoricalNB"
        )


def split_labels(y: Any, missing_label: Any = None) -> tuple[np.ndarray, Bool[np.ndarray, " n"]]:
    """The labels that are there, and which are not; ValueError where none is, or the missing label may be a class.

    Parameters
    ----------
    missing_label : marks a missing label, besides None, NaN and pandas.NA; None for no such label
    """
    if not hasattr(y, "__array__"):
        y = np.array(y, dtype=object)  # NumPy would turn a None or NaN beside strings into a string
    y = column_or_1d(y, warn=True)
    missing = np.asarray(pd.isna(y))
    special = np.zeros_like(missing)
    if missing_label is not None:
        special[~missing] = [label == missing_label for label in y[~missing].tolist()]
    labels = pd.Series(y[~missing & ~special]).infer_objects().to_numpy()
    if not len(labels):
        raise ValueError("`y` has only missing labels; give the label of at least one row of each class")
    assert_all_finite(labels, input_name="y")
    if special.any() and (labels == labels[0]).all():
        only = labels[:1].tolist()[0]
        raise ValueError(
            f"`y` has only the label {only!r}, besides {missing_label!r}, which marks a missing label. If it is a "
            "class, set missing_label=None and mark missing labels by None or NaN"
        )
    return labels, missing | special
