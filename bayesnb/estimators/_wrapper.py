"""A classifier that fits an estimator, and predicts as that estimator does."""

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.utils import Tags, get_tags
from sklearn.utils.validation import check_is_fitted

from ._learnt import replace_learnt


class OfEstimator:
    """A classifier around an estimator, whose classes, columns and tags it has."""

    estimator: Any
    estimator_: Any
    classes_: np.ndarray

    def _take_over(self, fitted: Any, **learnt: Any) -> Any:
        """Become fitted: hold a fitted estimator, its classes and columns, and all else that was learnt.

        Attributes that an earlier fit has left go.

        Parameters
        ----------
        fitted : becomes `estimator_`
        learnt : further attributes by name
        """
        names = ("n_features_in_", "feature_names_in_")  # the second only where columns have names
        columns = {name: getattr(fitted, name) for name in names if hasattr(fitted, name)}
        replace_learnt(self, {"estimator_": fitted, "classes_": fitted.classes_, **columns, **learnt})
        return self

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        # what rows it takes (sparse, missing cells, text) and what classes: the estimator inside decides
        tags_of_estimator = get_tags(self.estimator)
        tags.input_tags = tags_of_estimator.input_tags
        tags.classifier_tags = tags_of_estimator.classifier_tags
        return tags


class AbstractWrapper(OfEstimator, MetaEstimatorMixin, ClassifierMixin, BaseEstimator):
    """Prediction by the fitted `estimator_`; `fit` is the subclass's."""

    def predict(self, X: Any) -> np.ndarray:
        """Label with the largest probability for each row, (n,)."""
        check_is_fitted(self)
        return self.estimator_.predict(X)

    def predict_proba(self, X: Any) -> np.ndarray:
        """p(y = c | x_i) of the fitted estimator, (n, c)."""
        check_is_fitted(self)
        return self.estimator_.predict_proba(X)

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """log p(y = c | x_i) of the fitted estimator in nats, (n, c)."""
        check_is_fitted(self)
        return self.estimator_.predict_log_proba(X)
