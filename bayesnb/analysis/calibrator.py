"""Calibrating the class probabilities of any model, from rows that the model has not seen.

The map has few parameters and a posterior: see `_calibration_map`. It needs no model of its own, so it takes the
probabilities of any library, or goes around a classifier.
"""

from typing import Any, Self

import numpy as np
import pandas as pd
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.model_selection import check_cv, cross_val_predict
from sklearn.utils import Tags, assert_all_finite, gen_batches
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, column_or_1d

from ..core.arrays import Scalar, is_sparse
from ..core.special import log_normalize
from ..core.supports import check_least, check_level
from ..inference.loo import group_places
from ..io import Saved, Take, check_loaded, require
from ._calibration_map import MODELS, CalibrationMap, check_maps, fit_maps, sample_maps
from ._wrapper import OfEstimator

_FLOOR = 1e-9  # of the model's probabilities
_ROWS = 1 << 15  # whose draws are averaged at a time


class AbstractCalibrated(Saved, OfEstimator, ClassifierMixin, BaseEstimator):
    """Prediction by the posterior of a map; `fit` and the table `log_table` of rows are the subclass's."""

    maps_: tuple[CalibrationMap, ...]

    def log_table(self, X: Any) -> np.ndarray:
        """log p of rows before calibration, (n, c), in nats. Provisional."""
        raise NotImplementedError

    @property
    def model_probabilities_(self) -> dict[str, float]:
        """Posterior probability of each of the four models of the map."""
        check_is_fitted(self, "maps_")
        return {MODELS[one.model]: one.probability for one in self.maps_}

    def calibrated(self, z: np.ndarray) -> np.ndarray:
        """Calibrated probabilities (n, c) of rows with log probabilities z: the posterior mean. Provisional."""
        parts = [floored(z[some]) for some in gen_batches(max(len(z), 1), _ROWS)]
        n_draws = sum(len(one.draws) for one in self.maps_)
        return np.concatenate([sum(sample_maps(self.maps_, part)) / n_draws for part in parts])

    def predict_proba(self, X: Any) -> np.ndarray:
        """Calibrated class probabilities, (n, c): the posterior mean. None of them is 0 or 1."""
        check_is_fitted(self, "maps_")
        return self.calibrated(self.log_table(X))

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Logarithms of the calibrated class probabilities, (n, c), in nats."""
        return np.log(self.predict_proba(X))

    def predict(self, X: Any) -> np.ndarray:
        """The label with the largest calibrated probability of each row, (n,)."""
        best = self.predict_proba(X).argmax(1)
        return self.classes_[best]

    def summary(self, level: Scalar = 0.9) -> pd.DataFrame:
        """The parameters of the map, with credible intervals over its posterior and over its four models.

        Parameters
        ----------
        level : posterior mass inside, between 0 and 1

        Returns
        -------
        DataFrame
            one row for each parameter, with the columns `median`, `low` and `high`. The power e^u multiplies the log
            probabilities: below 1 the model is too sure of itself. b shifts a class. ε is the share of rows that the
            model knows nothing of. O[d, c] is what log p of class d adds to class c. A model of the map without a
            parameter leaves it at 1 (power) or 0
        """
        check_is_fitted(self, "maps_")
        check_level(level)
        c, parts = len(self.classes_), []
        for one in self.maps_:
            for theta in one.draws:
                v = one.matrix(theta) if one.model else np.zeros((c + 1, c))
                u, logit = theta[[0, -1]] if one.model else (0.0, -np.inf)
                parts.append([np.exp(u), *v[-1], expit(logit), *v[:-1].ravel()])
        names = ["power", *(f"b[{k}]" for k in self.classes_), "ε"]
        names += [f"O[{d}, {k}]" for d in self.classes_ for k in self.classes_]
        found = quantiles(np.array(parts), [0.5, (1 - level) / 2, (1 + level) / 2])
        table = pd.DataFrame(found.T, index=pd.Index(names, name="parameter"), columns=["median", "low", "high"])
        return table[(table != 0).any(axis=1)]

    def _check_loaded(self, take: Take) -> None:
        labels = self.classes_
        require(isinstance(labels, np.ndarray) and labels.ndim == 1 and len(labels) > 1, "classes_ are no labels")
        check_maps(self.maps_, len(labels))
        if inner := vars(self).get("estimator_"):
            require(np.array_equal(inner.classes_, labels), "it calibrates a model of other classes")
            check_loaded(inner, take)


class PosteriorCalibrator(AbstractCalibrated):
    """Calibrated class probabilities of any model, with a posterior: never 0, 1 or NaN, and safe from 50 rows on.

    The calibrated log odds are a power of the model's, shifts of the classes, and with enough rows a matrix; a share ε
    of the rows keeps the class frequencies. With two classes this is beta calibration with a prior. The prior gives
    0.4 to "the model is calibrated already". Predictions are averages over the posterior of the map.

    Parameters
    ----------
    estimator : a classifier, or None (default): `X` is then the table of a model's probabilities itself
    cv : folds on which clones of the classifier are fitted to predict the other rows, as a number or a splitter; the
        classifier that predicts is fitted to all rows. "prefit" takes the classifier as it is, and the rows must be
        others than it was fitted to
    n_draws : draws of the posterior that a prediction averages
    random_state : seed of these draws

    Attributes
    ----------
    maps_ : the four models of the map, with their probabilities, modes and draws; `summary()` is a table of them
    model_probabilities_ : posterior probability of each of the four
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

    _learnt_names = frozenset({"maps_", "classes_", "estimator_", "n_features_in_", "feature_names_in_"})

    def __init__(self, estimator: Any = None, *, cv: Any = 5, n_draws: Any = 100, random_state: Any = 0) -> None:
        self.estimator = estimator
        self.cv = cv
        self.n_draws = n_draws
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Learn the map from rows that the model has not seen.

        Parameters
        ----------
        X : (n, c) class probabilities of the rows, columns in the order of the sorted labels; or (n,) log odds of the
            second of two classes. NumPy, pandas, Torch and JAX are read by `np.asarray`. With an `estimator`, its rows
        y : (n,) labels. A table with a column for a class without rows needs y as column numbers
        sample_weight : (n,) weights of the rows
        groups : (n,) labels of groups of rows that depend on each other, such as several rows of one person. They count
            as fewer rows, as many as their residuals show, and `cv` gets them

        Raises
        ------
        ValueError
            if the table holds no probabilities or does not match the labels, if there are fewer than two classes, or
            if a class has a single row where `cv` needs two
        """
        check_least(2, n_draws=self.n_draws)
        y = column_or_1d(y, warn=True)
        assert_all_finite(y, input_name="y")
        check_classification_targets(y)
        fitted, output = None, X
        if self.estimator is not None:
            fitted, output = self._predicted(X, y, sample_weight, groups)
        z = log_table_of(output)
        classes = np.unique(y) if fitted is None else fitted.classes_
        if (
            fitted is None
            and len(classes) < z.shape[1]
            and y.dtype.kind in "iu"
            and 0 <= y.min() <= y.max() < z.shape[1]
        ):
            classes = np.arange(z.shape[1])
        if z.shape != (len(y), len(classes)) or len(classes) < 2:
            raise ValueError(
                f"`y` has {len(y)} rows of {len(classes)} class{'es' * (len(classes) != 1)}, but the probabilities "
                f"have shape {z.shape}; give one row a label and one column a class, of at least two classes"
            )
        weight = _check_sample_weight(sample_weight, z, dtype=np.float64, ensure_non_negative=True)
        place = None if groups is None else group_places(groups, len(y))
        self.maps_ = fit_maps(z, np.searchsorted(classes, y), weight, place, self.n_draws, self.random_state)
        self.classes_ = classes
        if fitted is not None:
            self._take_over(fitted)
        return self

    def _predicted(self, X: Any, y: np.ndarray, weight: Any, groups: Any) -> tuple[Any, np.ndarray]:
        """The fitted classifier, and its output for rows that it has not seen."""
        params = {} if weight is None else {"sample_weight": np.asarray(weight, float)}
        if isinstance(self.cv, str) and self.cv == "prefit":
            check_is_fitted(self.estimator)
            return self.estimator, output_of(self.estimator, X)
        fitted = clone(self.estimator).fit(X, y, **params)
        rarest = int(np.unique(y, return_counts=True)[1].min())
        if len(fitted.classes_) < 2 or (isinstance(self.cv, int) and rarest < 2):
            raise ValueError(
                f"`y` has {len(fitted.classes_)} class(es), the rarest with {rarest} row(s); cross-validation needs "
                "two classes with two rows each"
            )
        folds = check_cv(min(self.cv, rarest) if isinstance(self.cv, int) else self.cv, y, classifier=True)
        method = "predict_proba" if hasattr(fitted, "predict_proba") else "decision_function"
        found = cross_val_predict(self.estimator, X, y, groups=groups, cv=folds, method=method, params=params)
        return fitted, found if method == "predict_proba" else _of_scores(found)

    def log_table(self, X: Any) -> np.ndarray:
        """log p of rows before calibration, (n, c), in nats. Provisional."""
        z = log_table_of(X if self.estimator is None else output_of(self.estimator_, X))
        if z.shape[1] != len(self.classes_):
            raise ValueError(f"`X` has {z.shape[1]} columns; give the probabilities of {len(self.classes_)} classes")
        return z

    def predict_interval(self, X: Any, level: Scalar = 0.9) -> np.ndarray:
        """Equal-tailed credible interval of the calibrated probability, (n, c, 2), over the posterior of the map.

        The interval says how far the calibration rows leave the share of a label among rows like this one open. It does
        not contain the uncertainty of the model about its own parameters.

        Parameters
        ----------
        level : posterior mass inside, between 0 and 1
        """
        check_is_fitted(self, "maps_")
        check_level(level)
        draws = np.stack([*sample_maps(self.maps_, self.log_table(X))])
        return np.moveaxis(quantiles(draws, [(1 - level) / 2, (1 + level) / 2]), 0, -1)

    def __sklearn_tags__(self) -> Tags:
        return BaseEstimator.__sklearn_tags__(self) if self.estimator is None else super().__sklearn_tags__()


def output_of(estimator: Any, X: Any) -> np.ndarray:
    """Class probabilities of rows, or scores that stand for log odds."""
    if hasattr(estimator, "predict_proba"):
        return estimator.predict_proba(X)
    return _of_scores(estimator.decision_function(X))


def _of_scores(scores: np.ndarray) -> np.ndarray:
    return scores if scores.ndim == 1 else np.exp(log_normalize(scores))


def log_table_of(output: Any) -> np.ndarray:
    """log p (n, c) of class probabilities (n, c), or of log odds (n,)."""
    if is_sparse(output):
        raise TypeError("`X` is sparse; give the probabilities as a dense array")
    table = np.asarray(output, float)
    if table.ndim == 1 and np.isfinite(table).all():
        return -np.logaddexp(0.0, np.column_stack([table, -table]))
    if table.ndim != 2 or not ((table >= 0).all() and (abs(table.sum(1) - 1) < 0.02).all()):
        raise ValueError(
            f"`X` has shape {table.shape} and is no table of probabilities; give (n, c) numbers between 0 and 1 that "
            "add up to 1 in each row, or (n,) finite log odds. An `estimator` makes them from rows of features"
        )
    return log_normalize(np.log(np.maximum(table, _FLOOR)))


def floored(z: np.ndarray) -> np.ndarray:
    """Log probabilities, none below −690: e^−690 is still a float."""
    return np.maximum(z, -690.0)


def quantiles(draws: np.ndarray, at: list[Any]) -> np.ndarray:
    """Quantiles of a sample whose expected mass is `at`, also of few draws."""
    return np.quantile(draws, at, axis=0, method="weibull")
