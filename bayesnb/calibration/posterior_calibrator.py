"""Calibrated class probabilities of any model, learnt from rows that it has not seen."""

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import cross_val_predict
from sklearn.utils import Tags
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from ..estimators._input import checked_labels
from ..estimators._learnt import replace_learnt
from ..numerics.arrays import Scalar
from ..numerics.weights import row_weights
from ..posterior.loo import group_places
from ..posterior.predicted import IntervalDraws
from .base import (
    QUANTILES,
    AbstractCalibrated,
    drawn_maps,
    log_table_of,
    output_of,
    refuse_one_column_of_probabilities,
)
from .fitting import fit_maps
from .map import class_frequencies


class PosteriorCalibrator(AbstractCalibrated):
    """Calibrated class probabilities of any model, with a posterior: never 0, 1 or NaN, and safe from 50 rows on.

    The calibrated log odds are a power of the model's, shifts of the classes, and with enough rows a matrix; a share ε
    of the rows keeps the class frequencies. With two classes this is beta calibration with a prior. No map falls: the
    log odds of a class do not fall as its own log probability rises. The prior gives 0.4 to "the model is calibrated
    already". Predictions are averages over the posterior of the map.

    Parameters
    ----------
    estimator : a classifier, or None (default): `X` is then the table of a model's probabilities itself
    cv : folds on which clones of the classifier are fitted to predict the other rows, as a number or a splitter; the
        classifier that predicts is fitted to all rows. To take a fitted classifier as it is, pass
        `sklearn.frozen.FrozenEstimator(estimator)`; the rows must be others than it was fitted to

    Attributes
    ----------
    maps_ : the four models of the map, with their probabilities, modes and draws; `summary()` is a table of them
    model_probabilities_ : posterior probability of each of the four
    class_prior_ : (c,) class probabilities of the rows of the fit, which `with_class_prior` replaces
    estimator_ : the fitted classifier, if there is one
    classes_, n_features_in_, feature_names_in_ : as in scikit-learn

    References
    ----------
    Kull, Silva Filho & Flach (2017), Beta calibration, AISTATS.

    Examples
    --------
    >>> import numpy as np
    >>> from bayesnb import PosteriorCalibrator
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=400)
    >>> y = (rng.random(400) < 1 / (1 + np.exp(-x))).astype(int)
    >>> calibrator = PosteriorCalibrator().fit(4 * x, y)  # log odds that are four times too large
    >>> calibrator.predict_proba([4.0]).round(2)
    array([[0.29, 0.71]])
    """

    _learnt_names = frozenset(
        {"maps_", "classes_", "class_prior_", "takes_table_", "estimator_", "n_features_in_", "feature_names_in_"}
    )

    def __init__(self, estimator: Any = None, *, cv: Any = 5) -> None:
        self.estimator = estimator
        self.cv = cv

    # --- fitting ----------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Learn the map from rows that the model has not seen.

        Parameters
        ----------
        X : (n, c) class probabilities of the rows. Column k is that of the k-th of the sorted labels, as in
            `classes_` of scikit-learn; where labels are column numbers, that of label k. Or (n,) log odds
            log p(second label) − log p(first label) of two classes. NumPy, pandas, Torch and JAX are read by
            `np.asarray`. With an `estimator`, its rows
        y : (n,) labels. A table with a column for a class without rows needs y as column numbers
        sample_weight : (n,) weights of the rows: integers count rows, floats are importance. Both multiply the log
            likelihood of the map
        groups : (n,) labels of groups of rows that depend on each other, such as several rows of one person. They count
            as fewer rows, as many as their residuals show, and `cv` gets them

        Raises
        ------
        ValueError
            if the table holds no probabilities or does not match the labels, if there are fewer than two classes, or
            if a class has a single row where `cv` needs two. Also if X is one column with all values between 0 and 1:
            these are probabilities, and no log odds
        """
        # z (n, c): log probabilities of rows that the model has not seen. Without an estimator X is such a table; with
        # one they are cross-validated predictions, each row by a clone fitted to the other folds.
        y = checked_labels(y)
        if self.estimator is None:
            refuse_one_column_of_probabilities(X)
            z = log_table_of(X)
            classes = _classes_of_table(z, y)
        else:
            fitted = self._fitted_estimator(X, y, sample_weight)
            z = log_table_of(self._output_of_other_folds(fitted, X, y, sample_weight, groups))
            classes = fitted.classes_
        _check_shape(z, y, classes)
        weight = row_weights(sample_weight, len(y)).values
        _check_sample_weight(weight, z, ensure_non_negative=True)  # at least one is positive

        # All is computed before anything is set, so that a fit that fails leaves this calibrator as it was. `fit_maps`
        # regresses the labels on z, and returns four models of the map with draws of their parameters.
        index = np.searchsorted(classes, y)  # class number of each row, as classes are sorted
        group = None if groups is None else group_places(groups, len(y))  # 0 … g − 1
        class_weight = np.bincount(index, weight, len(classes))
        learnt = {
            "maps_": fit_maps(z, index, weight, group),
            "class_prior_": class_frequencies(class_weight),
        }
        if self.estimator is not None:
            return self._take_over(fitted, **learnt)  # with the estimator, its classes and its columns
        replace_learnt(self, {"classes_": classes, "takes_table_": np.ndim(X) == 2, **learnt})
        return self

    def _fitted_estimator(self, X: Any, y: np.ndarray, sample_weight: Any) -> Any:
        """The classifier that predicts, fitted to all rows; ValueError if a class is too small for cross-validation."""
        fitted = clone(self.estimator).fit(X, y, **_weights_of_fit(sample_weight))
        rarest = int(np.unique(y, return_counts=True)[1].min())  # rows of the rarest class
        if isinstance(self.cv, int) and rarest < 2:
            raise ValueError("`y` has a class with one sample; cross-validation needs two of each")
        return fitted

    def _output_of_other_folds(self, fitted: Any, X: Any, y: np.ndarray, sample_weight: Any, groups: Any) -> np.ndarray:
        """Probabilities (n, c) or log odds (n,) of each row, by a clone that was fitted to the other folds.

        Parameters
        ----------
        fitted : the classifier fitted to all rows, which shows whether it has probabilities or only scores
        X, y, sample_weight, groups : as in `fit`
        """
        # No more folds than rows of the rarest class, so that each clone knows all classes.
        folds = self.cv
        if isinstance(folds, int):
            rarest = int(np.unique(y, return_counts=True)[1].min())
            folds = min(folds, rarest)

        def cross_validated(method: str) -> np.ndarray:
            """Predictions by the method of that name, each row by a clone that was fitted to the other folds."""
            params = _weights_of_fit(sample_weight)
            return cross_val_predict(self.estimator, X, y, groups=groups, cv=folds, method=method, params=params)

        # `output_of` asks for "predict_proba" if `fitted` has it, else for "decision_function".
        return output_of(fitted, cross_validated)

    # --- prediction -------------------------------------------------------------------------------------------------

    def log_table(self, X: Any) -> np.ndarray:
        """log p of rows before calibration, (n, c), in nats. Provisional."""
        # X is a model's output itself, or rows for the fitted classifier.
        if self.estimator is None:
            if getattr(self, "takes_table_", False):  # fitted to a table, and not to log odds
                refuse_one_column_of_probabilities(X)
            z = log_table_of(X)
        else:
            fitted = self.estimator_
            z = log_table_of(output_of(fitted, lambda method: getattr(fitted, method)(X)))

        if z.shape[1] != len(self.classes_):
            raise ValueError(f"`X` has {z.shape[1]} columns; give the probabilities of {len(self.classes_)} classes")
        return z

    def predict_interval(self, X: Any, level: Scalar = 0.9) -> np.ndarray:  # type: ignore[override]
        """Equal-tailed credible interval of the calibrated probability, (n, c, 2), over the posterior of the map.

        The interval says how far the calibration rows leave the share of a label among rows like this one open. It does
        not contain the uncertainty of the model about its own parameters.

        Parameters
        ----------
        level : posterior mass inside, between 0 and 1
        """
        check_is_fitted(self, "maps_")
        return super().predict_interval(X, level)

    def interval_draws(self, X: Any) -> IntervalDraws:  # type: ignore[override]
        """Each draw of the map, and how quantiles are taken of them. Provisional."""
        z = self.log_table(X)
        return IntervalDraws(np.stack([drawn.proba(z) for drawn in drawn_maps(self.maps_)]), QUANTILES)

    def _drawn_tables(self, X: Any, n_draws: int, rng: np.random.Generator) -> np.ndarray:
        """log p of rows before calibration for each draw, (s, n, c): always the same, as the model has no posterior."""
        z = self.log_table(X)
        return np.broadcast_to(z, (n_draws, *z.shape))

    def __sklearn_tags__(self) -> Tags:
        """Tags of any estimator where X is a table of probabilities, else those that follow from the classifier."""
        return BaseEstimator.__sklearn_tags__(self) if self.estimator is None else super().__sklearn_tags__()


def _weights_of_fit(sample_weight: Any) -> dict[str, Any]:
    """Arguments of a classifier's `fit`: without weights none, as not every classifier takes them."""
    return {} if sample_weight is None else {"sample_weight": np.asarray(sample_weight)}


def _classes_of_table(z: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The label of each column of a table (n, c): column numbers if labels are such, else the sorted labels."""
    are_column_numbers = y.dtype.kind in "iu" and 0 <= y.min() <= y.max() < z.shape[1]
    if are_column_numbers:
        return np.arange(z.shape[1], dtype=y.dtype)
    return np.unique(y)


def _check_shape(z: np.ndarray, y: np.ndarray, classes: np.ndarray) -> None:
    """ValueError unless the table z is (n, c), a row for each of n labels and a column for each of c ≥ 2 classes."""
    if z.shape == (len(y), len(classes)) and len(classes) >= 2:
        return
    noun = "class" if len(classes) == 1 else "classes"
    raise ValueError(
        f"`y` has {len(y)} rows of {len(classes)} {noun}, but the probabilities have shape {z.shape}; give one row a "
        "label and one column a class, of at least two classes"
    )
