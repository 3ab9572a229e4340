"""What analyses do with an estimator before they use it: check that they can, copy it, split labels."""

from copy import copy
from inspect import signature
from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils import assert_all_finite
from sklearn.utils.validation import check_is_fitted, column_or_1d

from ..numerics.arrays import Bool
from ._named import given_names, is_pipeline
from ._predicting import AbstractBayes
from .one_dependence import OneDependenceNB


class UnsuitedEstimator(TypeError, ValueError):
    """What an analysis cannot use; the message says what to give instead."""


def check_own(estimator: Any, what: str, name: str = "estimator", method: str | None = None) -> None:
    """UnsuitedEstimator unless it is an estimator of bayesnb, or its class has a method, if one is named.

    The message says what was given and what to give instead:

    - a class of `bayesnb.drop_in`: the estimator of bayesnb that its `fit` makes, `bayes_`
    - an object that holds an estimator of bayesnb in `estimator`, `reader_` or `estimator_`: the last of these
    - anything else, such as a pipeline: X is to be transformed first, outside of it

    Parameters
    ----------
    what : the analysis that needs the estimator, for the message
    name : of the argument that gives it, for the message
    method : a method by which another class is suited too
    """
    if isinstance(estimator, AbstractBayes):
        return
    # For example, a calibrated classifier is none of bayesnb's estimators, but has a method `loo`. A class of
    # `bayesnb.drop_in` only passes such a method on to `bayes_`
    is_drop_in = any(base.__module__ == "bayesnb.drop_in" for base in type(estimator).__mro__)
    if method is not None and hasattr(type(estimator), method) and not is_drop_in:
        return

    # what was given, in words, and the advice, which becomes more special where more is known of it
    kind = type(estimator).__name__
    advice = "Transform X first, outside of it"
    if isinstance(estimator, type):  # a class in place of an object of it
        kind = f"{estimator.__name__}, a class"
    # scikit-learn's classifier with the estimator of bayesnb beside it
    if type(estimator).__module__ == "bayesnb.drop_in":
        kind = f"drop_in.{kind}"
        advice = f"Give `{name}.bayes_`, which `fit` makes"
    # A wrapper holds the model as a setting, or learnt. The loop goes on, so that the fitted one, `estimator_`, is
    # named rather than the setting.
    for inside in ("estimator", "reader_", "estimator_"):
        if isinstance(getattr(estimator, inside, None), AbstractBayes):
            advice = f"Give `{name}.{inside}`, which is one"
    raise UnsuitedEstimator(f"`{name}` is {kind}; {what} needs an estimator of bayesnb, such as GaussianNB(). {advice}")


def check_independent(estimator: Any, what: str) -> None:
    """UnsuitedEstimator unless it is an estimator of bayesnb; ValueError if it is `OneDependenceNB`.

    `what` is the analysis that needs a single model, for the message.
    """
    check_own(estimator, what)  # UnsuitedEstimator, if it is none of bayesnb
    if isinstance(estimator, OneDependenceNB):
        raise ValueError(
            f"`estimator` is OneDependenceNB, an average of models of pairs of features; {what} needs a single model. "
            "Use CategoricalNB"
        )


def fit_settings(estimator: Any, sample_weight: Any, groups: Any) -> dict[str, Any]:
    """What `fit` takes beside X and y, by name: weights, and groups where the fit itself leaves rows out.

    A calibrated or a discriminative model learns which rows belong together; plain naive Bayes need not. A pipeline
    gives its last step what is called by the name of the step: "multinomialnb__sample_weight".

    Parameters
    ----------
    estimator : a model or a pipeline that ends in one, fitted or not
    sample_weight, groups : (n,) weights of the rows, and labels of groups of them; None for none
    """
    model = estimator
    prefix = ""
    if is_pipeline(estimator):
        model = estimator[-1]
        prefix = f"{estimator.steps[-1][0]}__"
    settings = {f"{prefix}sample_weight": sample_weight}
    if "groups" in signature(model.fit).parameters:
        settings[f"{prefix}groups"] = groups
    return settings


def split_labels(
    y: Any, missing_label: Any = None, is_one_enough: bool = False
) -> tuple[np.ndarray, Bool[np.ndarray, " n"]]:
    """The labels that are there, and which of the n rows have none.

    Parameters
    ----------
    y : (n,) labels
    missing_label : marks a missing label, besides None, NaN and pandas.NA; None for no such label
    is_one_enough : whether all rows may have the same label; False asks if the mark is a label too

    Returns
    -------
    labels : (m,) of the rows that have one, in their order
    is_missing : (n,) whether the label of a row is missing

    Raises
    ------
    ValueError
        if no row has a label, if a label is infinite, or if all rows have the same one and the mark of missing labels
        may be meant as a class
    """
    # a list becomes an array of objects, as NumPy would turn a None or NaN beside strings into a string
    as_array = y if hasattr(y, "__array__") else np.array(y, dtype=object)
    cells = column_or_1d(as_array, warn=True)  # (n,)

    # A label is missing if it is None, NaN or NA, or if it equals the mark. Only real values can be compared with that,
    # so the comparison is made for these, and its results are put back to where they stand among all n. For example,
    # the labels (a, None, −1) with the mark −1: is_nothing is (0, 1, 0), the values are (a, −1), and is_mark of all is
    # (0, 0, 1). The labels that are there are (a,).
    is_nothing = np.asarray(pd.isna(cells))  # (n,)
    values = cells[~is_nothing]
    is_mark = np.zeros(len(cells), bool)  # (n,)
    if missing_label is not None:
        is_mark[~is_nothing] = [value == missing_label for value in values.tolist()]
    is_missing = is_nothing | is_mark

    # labels of object type become numbers, if all of them are numbers
    labels = pd.Series(cells[~is_missing]).infer_objects().to_numpy()
    if not len(labels):
        raise ValueError("`y` has only missing labels; give the label of at least one row of each class")
    assert_all_finite(labels, input_name="y")

    # a mark such as −1 beside a single label may be the second class
    if not is_one_enough and is_mark.any() and (labels == labels[0]).all():
        only = labels[:1].tolist()[0]
        raise ValueError(
            f"`y` has only the label {only!r}, besides {missing_label!r}, which marks a missing label. If it is a "
            "class, set missing_label=None and mark missing labels by None or NaN"
        )
    return labels, is_missing


def fitted_copy(estimator: Any, names: Any = None, what: str = "") -> Any:
    """A copy of a fitted estimator that calls its features by other names.

    Parameters
    ----------
    names : one for each feature, or what made the rows, as `given_names` takes them; None keeps those that it has
    what : what is asked of the estimator, for the error message, if only a single naive Bayes model can have it

    Raises
    ------
    ValueError
        if there is not one name for each feature; with `what`, if the estimator averages several models
    UnsuitedEstimator
        with `what`, if the estimator is none of bayesnb
    """
    if what:
        check_independent(estimator, what)
    check_is_fitted(estimator)
    # a shallow copy has the same posterior; only its names are replaced
    renamed = copy(estimator)  # one state, whatever another thread fits meanwhile
    if names is None:
        return renamed

    renamed.feature_names_in_ = given_names(names, renamed.n_features_in_)
    return renamed
