"""Calibrated class probabilities from exact leave-one-out: one fit, no folds.

Naive Bayes counts dependent features as independent evidence, so its class probabilities are too close to 0 and 1. A
few numbers correct most of it: a power of the likelihood, shifts of the classes, a probability that a row carries no
information. They are learnt from predictions of rows that the model does not know. Leave-one-out predictions of a
conjugate model are exact and need no refit. All rows are therefore used, and the model that predicts is the one fitted
to all rows.

    y_i | t_i, map ~ Categorical(p(t_i))        t_i = log p(x_i | y = c, D₋ᵢ), the leave-one-out table

The maps, their priors and derivatives are in `_maps`, their fit in `_map_fitting`. Every map gets a posterior (Laplace)
and an evidence; the prediction averages over both.

References
----------
Vehtari, Gelman & Gabry (2017), Practical Bayesian model evaluation using leave-one-out, §2.1, for the table.
Platt (1999); Zadrozny & Elkan (2002); Guo et al. (2017), for calibration on held-out rows.
"""

from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pandas as pd
from scipy.special import entr, expit
from scipy.stats import norm
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from ..core.arrays import Scalar
from ..core.random import generator
from ..core.special import log_normalize
from ..core.supports import check_choice, check_least, check_level
from ..estimators._base import AbstractNB
from ..estimators._state import all_or_nothing
from ..io import Saved, Take, check_loaded, require
from ..sampling.intervals import Uncertainty
from ..sampling.known_rows import check_known
from ..statistics import one_hot
from . import _maps
from ._left_out_tables import leave_out_rows
from ._map_fitting import fit_family, heaviest_kind
from ._maps import Tables
from ._part_tables import blocks_of_parts, class_log_prior, encoded, log_lengths, part_tables, tables_of_draws
from ._suited import refuse_points
from ._wrapper import AbstractWrapper

if TYPE_CHECKING:
    from ..sampling.report import CheckReport


@dataclass(eq=False, repr=False)
class CalibratedClassifierLOO(Saved, AbstractWrapper):
    """A naive Bayes classifier with class probabilities that are calibrated on its exact leave-one-out predictions.

    Parameters
    ----------
    estimator : any estimator of bayesnb, or another classifier with `loo`; a clone of it is fitted. Put transforming
        steps before this classifier: `make_pipeline(step, CalibratedClassifierLOO(estimator))`
    prior : the prior of leave-one-out. "kept" (default) keeps the prior of all rows. "refit" removes row i from the
        scale of a default prior too, which costs one update of the posterior for each row
    copies : "group" (default) leaves copies of a row out together, and they count as one row for the map. "keep" treats
        each copy as a row of its own. A second row with the same cells and label counts as a copy if it is unlikely to
        occur by chance. This is so if it has cells that are not whole numbers, or if the model expects less than 0.01
        such rows. The model is still fitted to all copies and so becomes more certain. With 50 digits five times each,
        w falls from 0.29 to 0.19
    keep_labels : True (default) averages only over maps that keep the most probable label of every row, unless the
        other maps together are more probable. False averages over all maps
    max_rows : largest number of rows for learning the map, drawn at random; the estimator is always fitted to all rows

    Attributes
    ----------
    estimator_ : the fitted estimator, without calibration
    maps_ : maps with their posterior probabilities, modes and nodes, most probable first; `summary()` is a table of
        them
    label_changes_ : share of training rows whose leave-one-out label changes by the calibration
    n_copies_ : number of training rows that are copies of another row
    loo_log_loss_ : leave-one-out log loss of the estimator and of the calibrated classifier, in nats a row. The second
        is slightly optimistic, because all rows took part in fitting the few numbers of the map
    loo_prior_ : the prior of the leave-one-out table, "refit" or "kept"
    classes_, n_features_in_, feature_names_in_ : as in scikit-learn

    Examples
    --------
    >>> import bayesnb
    >>> cancer = bayesnb.datasets.load("breast_cancer")
    >>> nb = bayesnb.CalibratedClassifierLOO(bayesnb.GaussianNB()).fit(cancer.X, cancer.y)
    >>> {name: round(loss, 2) for name, loss in nb.loo_log_loss_.items()}
    {'plain': 0.71, 'calibrated': 0.15}
    """

    _learnt_names = frozenset(
        {"estimator_", "maps_", "classes_", "n_features_in_", "feature_names_in_", "_mean_log_length", "loo_prior_"}
        | {"loo_log_loss_", "label_changes_", "n_copies_"}
    )

    estimator: Any
    _: KW_ONLY
    prior: Any = "kept"
    copies: Any = "group"
    keep_labels: Any = True
    max_rows: Any = 2_500

    # --- fitting ----------------------------------------------------------------------------------------------------

    @all_or_nothing
    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Fit a clone of the estimator to all rows, and the maps to its leave-one-out table.

        Parameters
        ----------
        X, y : rows and labels, in the form that the estimator accepts
        sample_weight : (n,) weights; they also scale the log likelihood of the map
        groups : (n,) labels of groups of rows that belong together, such as several measurements of one person. A group
            is left out as a whole

        Raises
        ------
        TypeError
            if the estimator is a pipeline or has no `loo`
        ValueError
            if a parameter is out of range, if the estimator has a setting that leave-one-out ignores (`estimate` other
            than "predictive", or `norm` of ComplementNB), or if it refuses the rows
        """
        self.check_parameters()
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}
        nb = clone(self.estimator).fit(X, y, **weights)
        return self.calibrate(nb, X, y, sample_weight, groups)

    def calibrate(self, nb: Any, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Learn the map of a fitted estimator from rows among those that it was fitted to. Provisional."""
        refuse_points(nb, "leave-one-out")
        if ignored := getattr(nb, "ignored_by_loo", ""):
            raise ValueError(
                f"`estimator` has {ignored}, which leave-one-out ignores, so the map would be learnt from other "
                "probabilities than those of `predict_proba`; set norm=False"
            )
        self._take_over(nb)
        training = leave_out_rows(self, nb, X, np.asarray(y).ravel(), sample_weight, groups)
        tables, weight = training.tables, training.weight
        self.maps_ = fit_family(tables, training.y, weight, keep_labels=self.keep_labels)
        self.loo_prior_, self.n_copies_ = training.prior, training.n_copies
        self._mean_log_length = training.mean_log_length
        own = (training.y, np.arange(len(weight)))
        log_plain, calibrated = log_normalize(tables.joint.T).T, _maps.average(self.maps_, tables)
        log_calibrated = np.log(np.maximum(calibrated, np.finfo(float).tiny))
        share = weight / weight.sum()
        self.label_changes_ = float(share @ (log_plain.argmax(0) != calibrated.argmax(0)))
        tables_of = {"plain": log_plain, "calibrated": log_calibrated}
        self.loo_log_loss_ = {name: float(share @ -table[own]) for name, table in tables_of.items()}
        return self

    def check_parameters(self) -> None:
        """Raise an error that names the parameter that is out of range, or what the estimator lacks. Provisional."""
        estimator = self.estimator
        if isinstance(estimator, Pipeline):
            raise TypeError(
                "`estimator` is a pipeline; put CalibratedClassifierLOO inside the pipeline: "
                "make_pipeline(steps, CalibratedClassifierLOO(estimator))"
            )
        if isinstance(estimator, type) or not (hasattr(estimator, "loo") and hasattr(estimator, "fit")):
            name = estimator.__name__ if isinstance(estimator, type) else type(estimator).__name__
            raise TypeError(
                f"`estimator` is {name}{', a class' * isinstance(estimator, type)}, which has no `loo`; give an "
                "estimator of bayesnb, such as GaussianNB(), or use scikit-learn's CalibratedClassifierCV"
            )
        check_choice("prior", self.prior, ("refit", "kept"))
        check_choice("copies", self.copies, ("group", "keep"))
        check_least(1, max_rows=self.max_rows)

    # --- prediction -------------------------------------------------------------------------------------------------

    def predict_proba(self, X: Any) -> np.ndarray:
        """Calibrated class probabilities, (n, c), averaged over the maps and over the posterior of each map."""
        check_is_fitted(self, "maps_")
        return np.ascontiguousarray(_maps.average(self.maps_, self._tables(X)).T)

    def calibrated(self, parts: Iterable[np.ndarray], log_prior: np.ndarray, X: Any) -> np.ndarray:
        """Logarithms of the calibrated probabilities of rows with other tables of their parts, (n, c). Provisional."""
        check_is_fitted(self, "maps_")
        lengths = self._lengths(X, list(blocks_of_parts(self.estimator_, ["x"])))
        p = _maps.average(self.maps_, Tables.of(parts, log_prior, lengths)).T
        return np.log(np.maximum(p, np.finfo(float).tiny))

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Logarithms of the calibrated class probabilities, (n, c), in nats."""
        p = self.predict_proba(X)
        with np.errstate(divide="ignore"):
            return np.log(p)

    def predict(self, X: Any) -> np.ndarray:
        """The label with the largest calibrated probability of each row, (n,)."""
        best = self.predict_proba(X).argmax(1)
        return self.classes_[best]

    def decision_function(self, X: Any) -> np.ndarray:
        """The calibrated log odds of the second of two classes, (n,), or log p(y = c) with more, (n, c); in nats."""
        log_p = np.maximum(self.predict_log_proba(X), np.log(np.finfo(float).tiny))
        return log_p[:, 1] - log_p[:, 0] if log_p.shape[1] == 2 else log_p

    def _tables(self, X: Any) -> Tables:
        """Tables of new rows."""
        parts = part_tables(self.estimator_, X)
        n, c = next(iter(parts.values())).shape
        log_prior = np.broadcast_to(class_log_prior(self.estimator_), (n, c))
        return Tables.of(parts.values(), log_prior, self._lengths(X, list(parts)))

    def _lengths(self, X: Any, parts: list[str]) -> np.ndarray | None:
        if self._mean_log_length is None:
            return None
        lengths = log_lengths(self.estimator_, encoded(self.estimator_, X), parts)
        if lengths is None:  # rows without gaps among rows with some
            lengths = np.full((len(parts), X.shape[0]), np.log1p(X.shape[1]))
        return lengths - self._mean_log_length[:, None]

    def summary(self, level: Scalar = 0.9) -> pd.DataFrame:
        """The fitted maps: the probability of each, and its parameters with credible intervals.

        Parameters
        ----------
        level : posterior mass inside, between 0 and 1

        Returns
        -------
        DataFrame
            one row for each parameter, with the columns `map`, its `probability`, `parameter`, `median`, `low` and
            `high`. The parameters are the power w of each part, the bend s, the contamination ε and the shift b of each
            class. The exponent g of a row's length is chosen, so it has no interval. The identity has one row without a
            parameter
        """
        check_is_fitted(self, "maps_")
        check_level(level)
        reach = norm.isf((1 - level) / 2)
        parts = list(blocks_of_parts(self.estimator_, ["x"]))
        found = []
        for one in self.maps_:
            head = {"map": one.kind.name, "probability": one.weight}
            if not len(one.mode):
                found.append({**head, "parameter": "", "median": np.nan, "low": np.nan, "high": np.nan})
                continue
            names = one.kind.parameters(parts, self.classes_.tolist())
            sd = np.sqrt(np.diag(one.covariance))
            for name, *values in zip(names, one.mode, one.mode - reach * sd, one.mode + reach * sd, strict=True):
                shown = values if name.startswith("b") else expit(values) if name == "ε" else np.exp(values)
                found.append({**head, "parameter": name, **dict(zip(("median", "low", "high"), shown, strict=True))})
            if self._mean_log_length is not None:
                g = one.kind.g
                found.append({**head, "parameter": "g", "median": g, "low": np.nan, "high": np.nan})
        return pd.DataFrame(found)

    # --- how sure ---------------------------------------------------------------------------------------------------

    def sample_proba(self, X: Any, n_draws: int = 1000, seed: int | np.random.Generator | None = None) -> np.ndarray:
        """Draws of the calibrated probability over the posterior of θ and of the map, (s, n, c).

        Each draw of θ gives a table log p(x | θ). A map drawn from its posterior then turns the table into
        probabilities.
        """
        check_is_fitted(self, "maps_")
        rng = generator(seed)
        draws = _maps.draw(self.maps_, rng, n_draws)
        nb = self.estimator_
        found: list[np.ndarray] = []
        lengths = None
        for (kind, theta), (parts, t, log_pi) in zip(draws, tables_of_draws(nb, X, n_draws, rng), strict=True):
            lengths = self._lengths(X, parts) if not found else lengths
            found.append(kind.proba(Tables(t, np.broadcast_to(log_pi[:, None], t.shape[1:]), lengths), theta).T)
        return np.stack(found)

    def predict_interval(
        self,
        X: Any,
        level: Scalar = 0.9,
        method: str = "auto",
        n_draws: int | None = None,
        seed: int | np.random.Generator | None = 0,
    ) -> np.ndarray:
        """Equal-tailed credible interval of the calibrated probability, (n, c, 2), over θ and the map.

        Parameters
        ----------
        level : posterior mass inside, between 0 and 1
        method : "draws" or "auto", which are the same; there is no closed form
        n_draws : number of draws of θ and of the map, by default 1,000
        seed : of the draws

        Raises
        ------
        ValueError
            if `level` or `method` is out of range
        """
        check_level(level)
        draws = self.sample_proba(X, _draws(method, n_draws), seed)
        return np.moveaxis(np.quantile(draws, [(1 - level) / 2, (1 + level) / 2], axis=0), 0, -1)

    def uncertainty(
        self,
        X: Any,
        method: str = "auto",
        n_draws: int | None = None,
        seed: int | np.random.Generator | None = 0,
    ) -> Uncertainty:
        """Entropy of the label in nats, split into `total`, `aleatoric` and `epistemic`, over θ and the map.

        The parameters are those of `predict_interval`.
        """
        p = self.sample_proba(X, _draws(method, n_draws), seed)
        total, aleatoric = entr(p.mean(0)).sum(-1), entr(p).sum(-1).mean(0)
        aleatoric = np.minimum(aleatoric, total)
        return Uncertainty(total, aleatoric, total - aleatoric)

    # --- the NumPyro side -------------------------------------------------------------------------------------------

    def numpyro_model(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> None:
        """The regression of the labels on their leave-one-out table in NumPyro, for the most probable parametric map.

        Parameters
        ----------
        X, y, sample_weight, groups : the training rows. NUTS on this model samples the posterior that Laplace's method
            approximates. The map has some of the sites `log_power`, `log_bend`, `logit_contamination` and `shift`
        """
        check_is_fitted(self, "maps_")
        nb, y = self.estimator_, np.asarray(y).ravel()
        if isinstance(nb, AbstractNB):
            check_known(nb, nb.encode(X), one_hot(nb.class_index(y), len(nb.classes_), sample_weight))
        training = leave_out_rows(self, nb, X, y, sample_weight, groups)
        _maps.model(heaviest_kind(self.maps_), training.tables, training.y, training.weight)

    @property
    def uses_lengths(self) -> bool:
        """Whether the maps depend on the number of events in a row. Provisional."""
        return self._mean_log_length is not None

    def check(self, X: Any, y: Any, seed: int = 0, *, progress_bar: bool = False) -> "CheckReport":
        """Compare the posterior of the map with NumPyro: density, mode, draws of NUTS, prediction.

        A clone is fitted to one half of the rows. The other half gives the log loss and the calibration error of the
        estimator and of the calibrated classifier. Density and mode are compared exactly. Laplace's approximation of
        posterior and prediction must be within a stated distance of NUTS. The estimator has its own `check`.

        Parameters
        ----------
        X, y : rows and labels, at least two rows
        seed : seed of the split, of the random parameters and of the chains
        progress_bar : whether NumPyro shows its progress bar
        """
        from .calibration_check import check

        return check(self, X, y, seed=seed, progress_bar=progress_bar)

    def _check_loaded(self, take: Take) -> None:
        nb = self.estimator_
        require(isinstance(nb, AbstractNB) and hasattr(nb, "statistics_"), "its estimator is not fitted")
        require(np.array_equal(self.classes_, nb.classes_), "the calibration has other classes")
        require(self.n_features_in_ == nb.n_features_in_, "the calibration has other features")
        k, c = len(nb.part_blocks()), len(self.classes_)
        require(isinstance(self.maps_, tuple) and len(self.maps_) > 0, "there are no maps")
        for one in self.maps_:
            require(isinstance(one, _maps.CalibrationMap) and 0 < one.weight <= 1, "a map without a probability")
            isotonic = isinstance(one.kind, _maps.Isotonic)
            base = one.kind.base if isotonic else one.kind
            require(isinstance(base, _maps.Kind), "a map of no kind")
            p = 0 if isotonic else len(base.prior(k, c)[0])
            shapes = one.mode.shape == (p,) and one.covariance.shape == (p, p) and one.nodes.shape[1:] == (p,)
            require(shapes and len(one.nodes) > 0, "parameters of another map")
            finite = np.isfinite(one.nodes).all() and np.isfinite(one.covariance).all()
            require(finite, "parameters that are no numbers")
        share = sum(one.weight for one in self.maps_)
        require(abs(share - 1) < 1e-9, "probabilities of maps that do not add up to one")
        mean = self._mean_log_length
        known = mean is None or (mean.shape == (k,) and np.isfinite(mean).all())
        require(known, "lengths of rows of other parts")
        check_loaded(nb, take)


def _draws(method: str, n_draws: int | None) -> int:
    """Number of draws; raises ValueError on a method that there is not, or no draws."""
    if method not in ("auto", "draws"):
        raise ValueError(
            f"`method` is {method!r}; choose 'draws' or 'auto', because a calibrated probability has no closed form"
        )
    n_draws = 1000 if n_draws is None else n_draws
    check_least(1, n_draws=n_draws)
    return n_draws
