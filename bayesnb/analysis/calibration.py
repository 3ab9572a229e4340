"""Calibrated class probabilities: of any model, and of naive Bayes from exact leave-one-out, with one fit and no folds.

The map has few parameters and a posterior: see `_calibration_map`. `PosteriorCalibrator` learns it from rows that a
model has not seen. `CalibratedClassifierLOO` sets no rows aside. Naive Bayes counts dependent features as independent
evidence, so its class probabilities are too close to 0 and 1. Exact leave-one-out gives its predictions of rows that it
does not know, without a refit. All rows are therefore used, and the model that predicts is the one fitted to all rows.

    y_i | z_i, map ~ Categorical(p'(z_i))        z_i = log p(y | x_i, D₋ᵢ), the leave-one-out table

References
----------
Vehtari, Gelman & Gabry (2017), Practical Bayesian model evaluation using leave-one-out, §2.1, for the table.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pandas as pd
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.model_selection import cross_val_predict
from sklearn.utils import Tags, gen_batches
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from ..core.arrays import Scalar, is_sparse
from ..core.random import generator
from ..core.special import log_normalize
from ..core.supports import check_level
from ..core.weights import row_weights
from ..estimators._input import checked_labels
from ..inference.loo import LooResult, copies, group_places, leave_out
from ..io import Saved
from ..naive_bayes import Rows
from ..sums.rows import rows_at
from ._calibration_map import MODELS, QUANTILES, CalibrationMap, fit_maps, heaviest, numpyro_model
from ._predicted import Known, OfLogProba, central_interval
from ._suited import check_own
from ._wrapper import OfEstimator

if TYPE_CHECKING:
    from ..inference.report import CheckReport

_FLOOR = 1e-9  # of the model's probabilities
_ROWS = 1 << 15  # whose draws are averaged at a time
_MOST_ROWS = 2_500  # of a leave-one-out table that a map is learnt from
_SAME_BY_CHANCE = 0.01  # expected number of rows like this one, below which a second one is a copy


class AbstractCalibrated(OfLogProba, Saved, OfEstimator, ClassifierMixin, BaseEstimator):
    """Prediction by the posterior of a map; `fit` and the table `log_table` of rows are the subclass's."""

    maps_: tuple[CalibrationMap, ...]
    log_table: Any  # log p of rows before calibration, (n, c), in nats
    _drawn_tables: Any  # draws of it, (s, n, c)

    @property
    def model_probabilities_(self) -> dict[str, float]:
        """Posterior probability of each of the four models of the map."""
        return {MODELS[one.model]: one.probability for one in self.maps_}

    def calibrated(self, z: np.ndarray) -> np.ndarray:
        """Calibrated probabilities (n, c) of rows with log probabilities z: the posterior mean. Provisional."""
        return average(self.maps_, z)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Calibrated class probabilities, (n, c): the posterior mean. None of them is 0 or 1."""
        check_is_fitted(self, "maps_")
        return self.calibrated(self.log_table(X))

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Logarithms of the calibrated class probabilities, (n, c), in nats."""
        return np.log(self.predict_proba(X))

    def sample_proba(self, X: Any, n_draws: int = 1000, seed: int | np.random.Generator | None = None) -> np.ndarray:
        """Draws of the calibrated probability, (s, n, c), over the map, and with leave-one-out over θ too.

        Each draw is a table of log p(y | x), of θ if it has a posterior, which a map drawn from its posterior
        calibrates.
        """
        check_is_fitted(self, "maps_")
        rng = generator(seed)
        tables, maps = self._drawn_tables(X, n_draws, rng), _drawn(self.maps_)
        chosen = [maps[at] for at in rng.integers(len(maps), size=n_draws)]
        return np.stack([one.proba(theta, floored(z)) for (one, theta), z in zip(chosen, tables, strict=True)])

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
            parameter leaves it at 1 (power) or 0. The draws are approximate: 90 % intervals hold 86 to 89 % of the
            draws of NUTS on average, and 78 % of those of the power
        """
        check_is_fitted(self, "maps_")
        check_level(level)
        c, parts = len(self.classes_), []
        for one, theta in _drawn(self.maps_):
            v = one.matrix(theta) if one.model else np.zeros((c + 1, c))
            u, logit = theta[[0, -1]] if one.model else (0.0, -np.inf)
            parts.append([np.exp(u), *v[-1], expit(logit), *one.scale * v[:-1].ravel()])
        names = ["power", *(f"b[{k}]" for k in self.classes_), "ε"]
        names += [f"O[{d}, {k}]" for d in self.classes_ for k in self.classes_]
        table = pd.DataFrame(index=pd.Index(names, name="parameter"))
        table["median"] = np.quantile(parts, 0.5, axis=0, method=QUANTILES)
        table[["low", "high"]] = central_interval(parts, level, QUANTILES)
        return table[(table != 0).any(axis=1)]


class PosteriorCalibrator(AbstractCalibrated):
    """Calibrated class probabilities of any model, with a posterior: never 0, 1 or NaN, and safe from 50 rows on.

    The calibrated log odds are a power of the model's, shifts of the classes, and with enough rows a matrix; a share ε
    of the rows keeps the class frequencies. With two classes this is beta calibration with a prior. The prior gives
    0.4 to "the model is calibrated already". Predictions are averages over the posterior of the map.

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

    def __init__(self, estimator: Any = None, *, cv: Any = 5) -> None:
        self.estimator = estimator
        self.cv = cv

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
        y, fitted, output = checked_labels(y), None, X
        if self.estimator is not None:
            fitted, output = self._predicted(X, y, sample_weight, groups)
        z = log_table_of(output)
        is_number = y.dtype.kind in "iu" and 0 <= y.min() <= y.max() < z.shape[1]  # of a column of the table
        classes = np.arange(z.shape[1], dtype=y.dtype) if is_number else np.unique(y)
        classes = classes if fitted is None else fitted.classes_
        if z.shape != (len(y), len(classes)) or len(classes) < 2:
            raise ValueError(
                f"`y` has {len(y)} rows of {len(classes)} class{'es' * (len(classes) != 1)}, but the probabilities "
                f"have shape {z.shape}; give one row a label and one column a class, of at least two classes"
            )
        weight = _check_sample_weight(sample_weight, z, dtype=np.float64, ensure_non_negative=True)
        place = None if groups is None else group_places(groups, len(y))
        maps = fit_maps(z, np.searchsorted(classes, y), weight, place)
        if fitted is not None:
            return self._take_over(fitted, maps_=maps)
        self.maps_, self.classes_ = maps, classes
        return self

    def _predicted(self, X: Any, y: np.ndarray, weight: Any, groups: Any) -> tuple[Any, np.ndarray]:
        """The fitted classifier, and its output for rows that it has not seen."""
        params = {} if weight is None else {"sample_weight": np.asarray(weight, float)}
        fitted = clone(self.estimator).fit(X, y, **params)
        rarest = int(np.unique(y, return_counts=True)[1].min())
        if isinstance(self.cv, int) and rarest < 2:
            raise ValueError("`y` has a class with one sample; cross-validation needs two of each")
        folds = min(self.cv, rarest) if isinstance(self.cv, int) else self.cv
        predict = partial(cross_val_predict, self.estimator, X, y, groups=groups, cv=folds, params=params)
        return fitted, _output_of(fitted, lambda method: predict(method=method))

    def log_table(self, X: Any) -> np.ndarray:
        """log p of rows before calibration, (n, c), in nats. Provisional."""
        output = X
        if self.estimator is not None:
            fitted = self.estimator_
            output = _output_of(fitted, lambda method: getattr(fitted, method)(X))
        z = log_table_of(output)
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
        check_level(level)
        z = self.log_table(X)
        return central_interval([one.proba(theta, z) for one, theta in _drawn(self.maps_)], level, QUANTILES)

    def _drawn_tables(self, X: Any, n_draws: int, rng: np.random.Generator) -> np.ndarray:
        z = self.log_table(X)
        return np.broadcast_to(z, (n_draws, *z.shape))

    def __sklearn_tags__(self) -> Tags:
        return BaseEstimator.__sklearn_tags__(self) if self.estimator is None else super().__sklearn_tags__()


class CalibratedClassifierLOO(AbstractCalibrated):
    """A naive Bayes classifier with class probabilities that are calibrated on its exact leave-one-out predictions.

    It has the methods of a model. `loo`, `importance`, `report` and `check` are about the calibrated probabilities.
    `explain`, `tables`, `prior_summary` and `posterior_` are those of the model inside: the log odds that `explain`
    splits are the ones that the map takes.

    Parameters
    ----------
    estimator : any estimator of bayesnb; a clone of it is fitted. For other classifiers there is `PosteriorCalibrator`.
        Put transforming steps before this classifier: `make_pipeline(step, CalibratedClassifierLOO(estimator))`

    Attributes
    ----------
    estimator_ : the fitted estimator, without calibration
    maps_ : the four models of the map, with their probabilities, modes and draws; `summary()` is a table of them
    model_probabilities_ : posterior probability of each of the four
    n_copies_ : number of training rows that are copies of another row
    loo_log_loss_ : leave-one-out log loss of the estimator and of the calibrated classifier, in nats a row. The second
        is slightly optimistic, because all rows took part in fitting the few numbers of the map
    classes_, n_features_in_, feature_names_in_ : as in scikit-learn

    Notes
    -----
    Copies of a row leave together and count as one row for the map; `groups=np.arange(len(y))` keeps them apart. A
    second row with the same cells and label is a copy if it is unlikely to occur by chance. This is so if it has cells
    that are not whole numbers, or if the model expects less than 0.01 such rows. The model is still
    fitted to all copies and so becomes more certain. The prior of leave-one-out is that of all rows. The map learns
    from at most 2,500 rows, at random.

    Examples
    --------
    >>> import bayesnb
    >>> cancer = bayesnb.datasets.load("breast_cancer")
    >>> nb = bayesnb.CalibratedClassifierLOO(bayesnb.GaussianNB()).fit(cancer.X, cancer.y)
    >>> {name: round(loss, 2) for name, loss in nb.loo_log_loss_.items()}
    {'plain': 0.71, 'calibrated': 0.15}
    """

    _learnt_names = frozenset(
        {"estimator_", "maps_", "classes_", "n_features_in_", "feature_names_in_", "loo_log_loss_", "n_copies_"}
    )
    _inside = "estimator_"
    _of_inside = (
        "explain contributions tables prior_summary prior_ posterior_ class_count_ class_log_prior_ feature_names "
        "block_columns part_blocks levels_of encode class_index ignored_by_loo"
    )

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    # --- fitting ----------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Fit a clone of the estimator to all rows, and the map to its leave-one-out table.

        Parameters
        ----------
        X, y : rows and labels, in the form that the estimator accepts
        sample_weight : (n,) weights; they also scale the log likelihood of the map
        groups : (n,) labels of groups of rows that belong together, such as several measurements of one person. A group
            is left out as a whole, and counts as fewer rows for the map, as many as its residuals show

        Raises
        ------
        TypeError
            if the estimator is not one of bayesnb
        ValueError
            if the estimator has a setting that leave-one-out ignores (`estimate` other
            than "predictive", or `norm` of ComplementNB), or if it refuses the rows
        """
        check_own(self.estimator, "CalibratedClassifierLOO, unlike PosteriorCalibrator,")
        nb = clone(self.estimator).fit(X, y, sample_weight)
        if ignored := nb.ignored_by_loo:
            raise ValueError(
                f"`estimator` has {ignored}, which leave-one-out ignores, so the map would be learnt from other "
                "probabilities than those of `predict_proba`; leave it out"
            )
        z, index, weight, place, n_copies = left_out_table(nb, X, y, sample_weight, groups)
        maps = fit_maps(floored(z), index, weight, place)
        own, share = np.arange(len(index)), weight / weight.sum()
        tables = {"plain": z, "calibrated": np.log(average(maps, z))}
        losses = {name: float(share @ -log_p[own, index]) for name, log_p in tables.items()}
        return self._take_over(nb, maps_=maps, n_copies_=n_copies, loo_log_loss_=losses)

    # --- prediction -------------------------------------------------------------------------------------------------

    def log_table(self, X: Any) -> np.ndarray:
        """log p of rows before calibration, (n, c), in nats. Provisional."""
        return self.estimator_.predict_log_proba(X)

    def _drawn_tables(self, X: Any, n_draws: int, rng: np.random.Generator) -> np.ndarray:
        with np.errstate(divide="ignore"):
            return np.log(self.estimator_.sample_proba(X, n_draws, rng))

    # --- a model like others ----------------------------------------------------------------------------------------

    def loo(self, X: Any, y: Any, sample_weight: Any = None, *, prior: str = "kept", groups: Any = None) -> LooResult:
        """Exact leave-one-out of the model, calibrated by the map, which all rows took part in. See `LooResult`.

        Parameters
        ----------
        X, y, sample_weight, prior, groups : as in `loo` of the estimator
        """
        check_is_fitted(self, "maps_")
        found = self.estimator_.loo(X, y, sample_weight, prior=prior, groups=groups)
        rows = self.estimator_.posterior_.log_joint(self.estimator_.encode(X))
        left, known = (j - (z := log_normalize(j)) + np.log(self.calibrated(z)) for j in (found.log_joint, rows))
        return replace(found, by_block={"x": left - found.log_prior}, _posterior=Known, _rows=known)

    def numpyro_model(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> None:
        """The regression of the labels on their leave-one-out table in NumPyro, for the most probable map.

        Parameters
        ----------
        X, y, sample_weight, groups : the training rows. NUTS on this model samples the posterior that the draws of
            `maps_` approximate. Its site `theta` has u, the entries of O and b with a prior, and logit ε
        """
        numpyro_model(heaviest(self.maps_), *self.left_out(X, y, sample_weight, groups))

    def left_out(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> tuple[np.ndarray, ...]:
        """Log probabilities (n, c) of training rows by all other rows, with their classes and weights. Provisional."""
        z, index, weight, *_ = left_out_table(self.estimator_, X, y, sample_weight, groups)
        return floored(z), index, weight

    def check(self, X: Any, y: Any, seed: int = 0) -> "CheckReport":
        """The check of the estimator, and of the map against NumPyro: density, mode, and draws of NUTS.

        Clones are fitted to one half of the rows. The other half gives the log loss and the calibration error of the
        estimator and of the calibrated classifier.

        Parameters
        ----------
        X, y : rows and labels, at least two rows
        seed : seed of the split, of the random parameters and of the chains
        """
        from .posterior_check import check

        return check(self, "estimator_", "calibrated", X, y, seed)


# --- tables of log probabilities -------------------------------------------------------------------------------------


def _output_of(estimator: Any, predict: Callable[[str], np.ndarray]) -> np.ndarray:
    """What `predict` gives by the best method that the estimator has: class probabilities, or scores as log odds."""
    if hasattr(estimator, "predict_proba"):
        return predict("predict_proba")
    scores = predict("decision_function")
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


def average(maps: tuple[CalibrationMap, ...], z: np.ndarray) -> np.ndarray:
    """Calibrated probabilities (n, c) of rows with log probabilities z: the mean over the draws of all maps."""
    every = _drawn(maps)
    parts = [floored(z[some]) for some in gen_batches(max(len(z), 1), _ROWS)]
    return np.concatenate([sum(one.proba(theta, part) for one, theta in every) / len(every) for part in parts])


def _drawn(maps: tuple[CalibrationMap, ...]) -> list[tuple[CalibrationMap, np.ndarray]]:
    """Each map with each of its draws."""
    return [(one, theta) for one in maps for theta in one.draws]


def floored(z: np.ndarray) -> np.ndarray:
    """Log probabilities, none below −690: e^−690 is still a float."""
    return np.maximum(z, -690.0)


def left_out_table(nb: Any, X: Any, y: Any, sample_weight: Any, groups: Any) -> tuple[Any, ...]:
    """log p(y = c | x_i, D₋ᵢ) of fitted rows, with class, weight and group of each; and how many rows are copies.

    Parameters
    ----------
    groups : (n,) labels of groups of rows that leave together; None for no groups, and None is then returned
    """
    rows, index = nb.encode(X), nb.class_index(y)
    n = len(index)
    weights = row_weights(sample_weight, n)
    weight = counted = weights.values
    if groups is None and weights.are_counts and weights.are_given:
        place = np.arange(n)  # units that the user counted
    elif groups is None:
        weights = replace(weights, are_counts=False)
        place = _copies(nb, rows, index)
        counted = weight / np.bincount(place)[place]  # copies count as one row
    else:
        place = group_places(groups, n)
    some = np.flatnonzero(weight > 0)
    if len(some) > _MOST_ROWS:  # whole groups
        every = np.random.default_rng(0).permutation(np.unique(place[some]))
        some = some[np.isin(place[some], every[: max(1, _MOST_ROWS * len(every) // len(some))])]
    together: np.ndarray | None = np.unique(place[some], return_inverse=True)[1]
    if groups is None and weights.are_counts:
        together = None
    found = leave_out(nb, rows_at(rows, some), index[some], weights.rows(some), together, "kept", scores=True)
    own = found.log_proba, found.index, counted[some]
    return (*own, None, n - place.max() - 1) if groups is None else (*own, place[some], 0)


def _copies(nb: Any, rows: Rows, index: np.ndarray) -> np.ndarray:
    """Group of each row, 0 … g−1: rows that copy each other share one."""
    owner = copies(rows, index)
    again = np.flatnonzero(np.bincount(owner)[owner] > 1)
    again = again[~np.any([has_fractions(x) for x in rows_at(rows, again).values()], axis=0)]
    if len(again):
        # of a row of whole numbers: how many such rows the model expects in the class
        some, label = rows_at(rows, again), index[again]
        own = nb.posterior_.log_parts(some, [list(some)])[0][np.arange(len(again)), label]
        single = again[np.log(np.bincount(index)[label]) + own > np.log(_SAME_BY_CHANCE)]
        owner[single] = len(index) + np.arange(len(single))
    return np.unique(owner, return_inverse=True)[1]


def has_fractions(X: Any) -> np.ndarray:
    """Whether a row has a cell that is no whole number."""
    rest = X - X.floor() if is_sparse(X) else X - np.floor(X)
    return np.asarray((rest > 0).sum(1)).ravel() > 0
