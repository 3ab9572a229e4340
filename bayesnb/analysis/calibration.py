"""Calibrated class probabilities from exact leave-one-out: one fit, no folds.

Naive Bayes counts dependent features as independent evidence, so its class probabilities are too close to 0 and 1. The
map of `_calibration_map` corrects them. It is learnt from predictions of rows that the model does not know. Exact
leave-one-out gives these without a refit. All rows are therefore used, and the model that predicts is the one fitted to
all rows.

    y_i | z_i, map ~ Categorical(p'(z_i))        z_i = log p(y | x_i, D₋ᵢ), the leave-one-out table

References
----------
Vehtari, Gelman & Gabry (2017), Practical Bayesian model evaluation using leave-one-out, §2.1, for the table.
"""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from scipy.special import entr
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from ..core.arrays import Scalar
from ..core.random import generator
from ..core.special import log_normalize
from ..core.supports import check_choice, check_least, check_level
from ..estimators._base import AbstractNB
from ..inference.intervals import Uncertainty
from ..inference.loo import LooResult
from ._calibration_map import fit_maps, heaviest, numpyro_model
from ._left_out_tables import left_out_table
from ._suited import refuse_points
from .calibrator import AbstractCalibrated, floored

if TYPE_CHECKING:
    from ..inference.report import CheckReport

_OF_THE_MODEL = frozenset(
    {"explain", "contributions", "tables", "prior_summary", "prior_", "posterior_", "class_count_", "class_log_prior_"}
    | {"feature_names", "block_columns", "part_blocks", "levels_of", "encode", "class_index", "ignored_by_loo"}
)


class CalibratedClassifierLOO(AbstractCalibrated):
    """A naive Bayes classifier with class probabilities that are calibrated on its exact leave-one-out predictions.

    It has the methods of a model. `loo`, `importance`, `report` and `check` are about the calibrated probabilities.
    `explain`, `tables`, `prior_summary` and `posterior_` are those of the model inside: the log odds that `explain`
    splits are the ones that the map takes.

    Parameters
    ----------
    estimator : any estimator of bayesnb; a clone of it is fitted. For other classifiers there is `PosteriorCalibrator`.
        Put transforming steps before this classifier: `make_pipeline(step, CalibratedClassifierLOO(estimator))`
    prior : the prior of leave-one-out. "kept" (default) keeps the prior of all rows. "refit" removes row i from the
        scale of a default prior too, which costs one update of the posterior for each row
    copies : "group" (default) leaves copies of a row out together, and they count as one row for the map. "keep" treats
        each copy as a row of its own. A second row with the same cells and label counts as a copy if it is unlikely to
        occur by chance. This is so if it has cells that are not whole numbers, or if the model expects less than 0.01
        such rows. The model is still fitted to all copies and so becomes more certain
    max_rows : largest number of rows for learning the map, drawn at random; the estimator is always fitted to all rows

    Attributes
    ----------
    estimator_ : the fitted estimator, without calibration
    maps_ : the four models of the map, with their probabilities, modes and draws; `summary()` is a table of them
    model_probabilities_ : posterior probability of each of the four
    n_copies_ : number of training rows that are copies of another row
    loo_log_loss_ : leave-one-out log loss of the estimator and of the calibrated classifier, in nats a row. The second
        is slightly optimistic, because all rows took part in fitting the few numbers of the map
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
        {"estimator_", "maps_", "classes_", "n_features_in_", "feature_names_in_", "loo_log_loss_", "n_copies_"}
    )

    def __init__(self, estimator: Any, *, prior: Any = "kept", copies: Any = "group", max_rows: Any = 2_500) -> None:
        self.estimator = estimator
        self.prior = prior
        self.copies = copies
        self.max_rows = max_rows

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
            if a parameter is out of range, if the estimator has a setting that leave-one-out ignores (`estimate` other
            than "predictive", or `norm` of ComplementNB), or if it refuses the rows
        """
        self._check_parameters()
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}
        nb = clone(self.estimator).fit(X, y, **weights)
        refuse_points(nb, "leave-one-out")
        if ignored := nb.ignored_by_loo:
            raise ValueError(
                f"`estimator` has {ignored}, which leave-one-out ignores, so the map would be learnt from other "
                "probabilities than those of `predict_proba`; set norm=False"
            )
        table = left_out_table(self, nb, X, np.asarray(y).ravel(), sample_weight, groups)
        self.maps_ = fit_maps(floored(table.log_proba), table.index, table.weight, table.groups)
        self.n_copies_ = table.n_copies
        self._take_over(nb)
        own, share = np.arange(len(table.index)), table.weight / table.weight.sum()
        tables = {"plain": table.log_proba, "calibrated": np.log(self.calibrated(table.log_proba))}
        self.loo_log_loss_ = {name: float(share @ -log_p[own, table.index]) for name, log_p in tables.items()}
        return self

    def _check_parameters(self) -> None:
        estimator = self.estimator
        if not isinstance(estimator, AbstractNB):
            name = f"{estimator.__name__}, a class" if isinstance(estimator, type) else type(estimator).__name__
            raise TypeError(
                f"`estimator` is {name}; give an estimator of bayesnb, such as GaussianNB(). Put transforming steps "
                "before: make_pipeline(steps, CalibratedClassifierLOO(estimator)). For other classifiers use "
                "PosteriorCalibrator(estimator), which calibrates on folds"
            )
        check_choice("prior", self.prior, ("refit", "kept"))
        check_choice("copies", self.copies, ("group", "keep"))
        check_least(1, max_rows=self.max_rows)

    # --- prediction -------------------------------------------------------------------------------------------------

    def log_table(self, X: Any) -> np.ndarray:
        """log p of rows before calibration, (n, c), in nats. Provisional."""
        return self.estimator_.predict_log_proba(X)

    def decision_function(self, X: Any) -> np.ndarray:
        """The calibrated log odds of the second of two classes, (n,), or log p(y = c) with more, (n, c); in nats."""
        log_p = self.predict_log_proba(X)
        return log_p[:, 1] - log_p[:, 0] if log_p.shape[1] == 2 else log_p

    def sample_proba(self, X: Any, n_draws: int = 1000, seed: int | np.random.Generator | None = None) -> np.ndarray:
        """Draws of the calibrated probability over the posterior of θ and of the map, (s, n, c).

        Each draw of θ gives a table p(y | x, θ). A map drawn from its posterior then calibrates the table.
        """
        check_is_fitted(self, "maps_")
        rng = generator(seed)
        p = self.estimator_.sample_proba(X, n_draws, rng)
        draws = [(one, theta) for one in self.maps_ for theta in one.draws]
        for s, at in enumerate(rng.integers(len(draws), size=n_draws)):
            one, theta = draws[at]
            with np.errstate(divide="ignore"):
                p[s] = one.proba(theta, floored(np.log(p[s])))
        return p

    def predict_interval(
        self, X: Any, level: Scalar = 0.9, n_draws: int = 1000, seed: int | np.random.Generator | None = 0
    ) -> np.ndarray:
        """Equal-tailed credible interval of the calibrated probability, (n, c, 2), over θ and the map.

        Parameters
        ----------
        level : posterior mass inside, between 0 and 1
        n_draws, seed : number and seed of the draws of θ and of the map
        """
        check_level(level)
        draws = self.sample_proba(X, n_draws, seed)
        return np.moveaxis(np.quantile(draws, [(1 - level) / 2, (1 + level) / 2], axis=0), 0, -1)

    def uncertainty(self, X: Any, n_draws: int = 1000, seed: int | np.random.Generator | None = 0) -> Uncertainty:
        """Entropy of the label in nats, split into `total`, `aleatoric` and `epistemic`, over θ and the map."""
        p = self.sample_proba(X, n_draws, seed)
        total, aleatoric = entr(p.mean(0)).sum(-1), entr(p).sum(-1).mean(0)
        aleatoric = np.minimum(aleatoric, total)
        return Uncertainty(total, aleatoric, total - aleatoric)

    # --- a model like others ----------------------------------------------------------------------------------------

    def __getattr__(self, name: str) -> Any:
        """What is the same with and without calibration, of the fitted estimator."""
        if name in _OF_THE_MODEL and "estimator_" in vars(self):
            return getattr(self.estimator_, name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def loo(self, X: Any, y: Any, sample_weight: Any = None, *, prior: Any = None, groups: Any = None) -> LooResult:
        """Exact leave-one-out of the model, calibrated by the map, which all rows took part in. See `LooResult`.

        Parameters
        ----------
        X, y, sample_weight, groups : as in `loo` of the estimator
        prior : "kept" or "refit"; None takes the one of the fit
        """
        check_is_fitted(self, "maps_")
        found = self.estimator_.loo(X, y, sample_weight, prior=prior or self.prior, groups=groups)
        joint = _CalibratedJoint(self, self.estimator_.posterior_)
        table = joint.of(found.log_joint) - found.log_prior
        return replace(found, by_block={"x": table}, _posterior=joint)

    def numpyro_model(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> None:
        """The regression of the labels on their leave-one-out table in NumPyro, for the most probable map.

        Parameters
        ----------
        X, y, sample_weight, groups : the training rows. NUTS on this model samples the posterior that the draws of
            `maps_` approximate. Its sites are `u`, `entries` (those of O and b with a prior) and `logit_eps`
        """
        table = left_out_table(self, self.estimator_, X, np.asarray(y).ravel(), sample_weight, groups)
        numpyro_model(heaviest(self.maps_), floored(table.log_proba), table.index, table.weight)

    def check(self, X: Any, y: Any, seed: int = 0, *, progress_bar: bool = False) -> "CheckReport":
        """The check of the estimator, and of the map against NumPyro: density, mode, and draws of NUTS.

        Clones are fitted to one half of the rows. The other half gives the log loss and the calibration error of the
        estimator and of the calibrated classifier.

        Parameters
        ----------
        X, y : rows and labels, at least two rows
        seed : seed of the split, of the random parameters and of the chains
        progress_bar : whether NumPyro shows its progress bar
        """
        from .calibration_check import check

        return check(self, X, y, seed, progress_bar=progress_bar)


@dataclass(frozen=True)
class _CalibratedJoint:
    """log p(x, y = c) of a model, with its class probabilities calibrated."""

    calibrated: Any
    posterior: Any

    def of(self, joint: np.ndarray) -> np.ndarray:
        z = log_normalize(joint)
        return joint - z + np.log(self.calibrated.calibrated(z))

    def log_joint(self, rows: Any) -> np.ndarray:
        return self.of(self.posterior.log_joint(rows))
