"""Names of features that rows do not carry, such as the words behind sparse counts: of a list, or of a pipeline."""

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..numerics.supports import is_single, shortened


def is_pipeline(estimator: Any) -> bool:
    """Whether it is a pipeline of scikit-learn, whose module loads only where someone asks."""
    from sklearn.pipeline import Pipeline

    return isinstance(estimator, Pipeline)


def given_names(feature_names: Any, n_features: int) -> np.ndarray:
    """One name for each feature, (d,), as objects.

    Parameters
    ----------
    feature_names : (d,) names; or a fitted pipeline or transformer, whose output has the names
    n_features : d, the number of features of the model

    Raises
    ------
    ValueError
        if there is not one name for each feature, or if a step of the pipeline does not name its output
    """
    names = feature_names
    if hasattr(type(feature_names), "fit"):  # a pipeline or a transformer
        names = names_of_output(feature_names)
    if is_single(names):  # a string, say, whose letters would be taken for names
        raise ValueError(f"`feature_names` is {shortened(names)}; give a list of names, one for each feature")
    if len(names) != n_features:
        raise ValueError(
            f"`feature_names` has {len(names)} names, but the model has {n_features} features; give one name for each"
        )
    return np.asarray(names, object)


def names_of_output(transformer: Any) -> np.ndarray:
    """The names of the columns that a fitted transformer makes, (d,); of a pipeline those that its last step reads.

    ValueError if it does not name them, as `HashingVectorizer` does not know its words.
    """
    named = transformer
    # the last step of a pipeline may be a classifier, which makes no columns
    if is_pipeline(transformer) and not hasattr(transformer[-1], "transform"):
        named = transformer[:-1]
    try:
        return named.get_feature_names_out()
    except (AttributeError, ValueError) as error:
        kind = type(transformer).__name__
        reason = str(error).partition(". ")[0].rstrip(".")
        raise ValueError(
            f"`feature_names` is a {kind} that does not name its columns ({reason}); give a list of names, or fit it"
        ) from error


class LastEstimator(NamedTuple):
    """The last step of a pipeline, or an estimator that is in none.

    Fields
    ------
    estimator : fitted
    feature_names : (d,) names of the columns that it reads; None if nobody names them
    """

    estimator: Any
    feature_names: Any


def last_estimator(estimator: Any, feature_names: Any = None) -> LastEstimator:
    """The model that does the work, and what the other steps of its pipeline call its features.

    Parameters
    ----------
    estimator : a fitted estimator, or a fitted pipeline that ends in one
    feature_names : names that the user gives, which come first
    """
    if not is_pipeline(estimator):
        return LastEstimator(estimator, feature_names)
    model = estimator[-1]
    check_is_fitted(model)
    if feature_names is not None or len(estimator.steps) == 1:
        return LastEstimator(model, feature_names)
    try:
        return LastEstimator(model, estimator[:-1].get_feature_names_out())
    except AttributeError:  # a step without names, such as `HashingVectorizer`
        return LastEstimator(model, None)


class LastStep(NamedTuple):
    """The last step of a pipeline, and the rows that it reads; of another estimator itself and the rows as they are.

    Fields
    ------
    estimator : fitted
    X : (n, d) rows after all steps before it
    feature_names : (d,) names of the columns of these rows; None if nobody names them
    """

    estimator: Any
    X: Any
    feature_names: Any


def last_step(estimator: Any, X: Any, feature_names: Any = None) -> LastStep:
    """The model that does the work, the rows as it reads them, and the names of their columns.

    Parameters
    ----------
    estimator, feature_names : as in `last_estimator`
    X : rows as `estimator.predict` takes them, such as texts
    """
    model, names = last_estimator(estimator, feature_names)
    rows = X
    if is_pipeline(estimator) and len(estimator.steps) > 1:
        rows = estimator[:-1].transform(X)
    return LastStep(model, rows, names)
