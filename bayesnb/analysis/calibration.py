"""Calibrated class probabilities from exact leave-one-out: one fit, no folds.

Naive Bayes counts dependent features as independent evidence, so its class probabilities are too close to 0 and 1. A
few numbers correct most of it: a power of the likelihood, shifts of the classes, a probability that a row carries no
information. They are learnt from predictions of rows that the model does not know. Leave-one-out predictions of a
conjugate model are exact and need no refit. All rows are therefore used, and the model that predicts is the one fitted
to all rows.

    y_i | t_i, map ~ Categorical(p(t_i))        t_i = log p(x_i | y = c, D₋ᵢ), the leave-one-out table

The maps, their priors and derivatives are in `_maps`. Every map gets a posterior (Laplace) and an evidence; the
prediction averages over both.

References
----------
Vehtari, Gelman & Gabry (2017), Practical Bayesian model evaluation using leave-one-out, §2.1, for the table.
Platt (1999); Zadrozny & Elkan (2002); Guo et al. (2017), for calibration on held-out rows.
"""

import inspect
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
import pandas as pd
from scipy import sparse
from scipy.special import entr, expit
from scipy.stats import norm
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.pipeline import Pipeline
from sklearn.utils import Tags, _safe_indexing, get_tags
from sklearn.utils.validation import check_is_fitted

from .._random import generator
from .._special import log_normalize
from .._typing import Int, Scalar
from ..core.registry import require
from ..estimators._base import AbstractNB
from ..estimators._saving import Saved, Take
from ..estimators._state import all_or_nothing
from ..naive_bayes import Rows
from ..sampling.copies import copies
from ..sampling.intervals import Uncertainty
from ..sampling.known_rows import check_known
from ..sampling.loo import leave_out
from ..statistics import one_hot
from . import _maps
from ._loaded_maps import check_maps
from ._maps import Tables

if TYPE_CHECKING:
    from ..sampling.report import CheckReport

_SAME_BY_CHANCE = 0.01  # expected number of rows like this one, below which a second one is a copy
_SAME_LENGTH = 0.01  # difference of log lengths that is none


class CalibratedClassifierLOO(Saved, MetaEstimatorMixin, ClassifierMixin, BaseEstimator):
    """A naive Bayes classifier with calibrated class probabilities, learnt from its exact leave-one-out predictions.

    Parameters
    ----------
    estimator : any of bayesnb's estimators, or another classifier with `loo`; a clone of it is fitted. Transforming
        steps go before this classifier: `make_pipeline(step, CalibratedClassifierLOO(estimator))`
    prior : which leave-one-out: "kept" (default) holds the prior of all rows; "refit" takes row i out of the scale of a
        default prior too, which costs an update of the posterior for each row
    copies : "group" (default) leaves copies of a row out together and counts them as one row for the map; "keep" treats
        each as a row of its own. A second row with the same cells and label is a copy where chance would not repeat it:
        where it has cells that are not whole numbers, or where the model expects less than 0.01 such rows. The model is
        still fitted to all copies and is surer: with 50 digits five times each, w falls from 0.29 to 0.19
    keep_labels : True (default) averages only over maps that keep the most probable label of every row, unless all
        others are together more probable; False averages over all maps
    max_rows : the map is learnt from at most so many rows, drawn at random; the estimator is always fitted to all rows

    Attributes
    ----------
    estimator_ : the fitted estimator, not calibrated
    maps_ : maps with their posterior probabilities, modes and nodes, the heaviest first; `summary()` is a table of them
    label_changes_ : share of the training rows whose leave-one-out label the calibration changes
    n_copies_ : training rows that are copies of another row
    loo_log_loss_ : leave-one-out log loss of the estimator and of the calibrated classifier, nats a row. The second
        knows the rows through the few numbers of the map
    loo_prior_ : which prior the leave-one-out table used, "refit" or "kept"
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

    def __init__(
        self,
        estimator: Any,
        *,
        prior: Any = "kept",
        copies: Any = "group",
        keep_labels: Any = True,
        max_rows: Any = 2_500,
    ) -> None:
        self.estimator = estimator
        self.prior = prior
        self.copies = copies
        self.keep_labels = keep_labels
        self.max_rows = max_rows

    # --- fitting ----------------------------------------------------------------------------------------------------

    @all_or_nothing
    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Fit a clone of the estimator to all rows, and the maps to its leave-one-out table.

        Parameters
        ----------
        X, y : rows and labels, as the estimator takes them
        sample_weight : (n,) weights; they scale the log likelihood of the map too
        groups : (n,) labels of groups of rows that belong together, such as several measurements of one person. A group
            is left out as a whole

        Raises
        ------
        TypeError
            if the estimator is a pipeline or has no `loo`
        ValueError
            if a parameter is out of range, the estimator plugs in a point estimate, or it refuses the rows
        """
        self._check_parameters()
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}
        nb = clone(self.estimator).fit(X, y, **weights)
        if getattr(nb, "estimate", "predictive") != "predictive":
            raise ValueError(
                f"`estimator` has estimate={nb.estimate!r}; leave-one-out is of the predictive: use 'predictive'"
            )
        return self._calibrate(nb, X, y, sample_weight, groups)

    def _calibrate(self, nb: Any, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Learn the map of a fitted estimator from rows among those that it was fitted to."""
        self.estimator_, self.classes_ = nb, nb.classes_
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(nb, name):
                setattr(self, name, getattr(nb, name))
            elif hasattr(self, name):
                delattr(self, name)
        training = self._training(nb, X, np.asarray(y).ravel(), sample_weight, groups)
        tables, weight = training.tables, training.weight
        self.maps_ = _maps.fit_family(tables, training.y, weight, keep_labels=self.keep_labels)
        self.loo_prior_, self.n_copies_ = training.prior, training.n_copies
        self._mean_log_length = training.mean_log_length
        own = (training.y, np.arange(len(weight)))
        log_plain, calibrated = log_normalize(tables.joint.T).T, _maps.average(self.maps_, tables)
        log_calibrated = np.log(np.maximum(calibrated, np.finfo(float).tiny))
        share = weight / weight.sum()
        self.label_changes_ = float(share @ (log_plain.argmax(0) != calibrated.argmax(0)))
        self.loo_log_loss_ = {
            "plain": float(share @ -log_plain[own]),
            "calibrated": float(share @ -log_calibrated[own]),
        }
        return self

    def _check_parameters(self) -> None:
        estimator = self.estimator
        if isinstance(estimator, Pipeline):
            raise TypeError(
                "`estimator` is a pipeline; put CalibratedClassifierLOO inside the pipeline: "
                "make_pipeline(steps, CalibratedClassifierLOO(estimator))"
            )
        if isinstance(estimator, type) or not (hasattr(estimator, "loo") and hasattr(estimator, "fit")):
            name = estimator.__name__ if isinstance(estimator, type) else type(estimator).__name__
            raise TypeError(
                f"`estimator` is {name}{', a class' * isinstance(estimator, type)}, which has no `loo`; give one of "
                "bayesnb's estimators, such as GaussianNB(), or use scikit-learn's CalibratedClassifierCV"
            )
        if self.prior not in ("refit", "kept"):
            raise ValueError(f"`prior` is {self.prior!r}; choose 'refit' or 'kept'")
        if self.copies not in ("group", "keep"):
            raise ValueError(f"`copies` is {self.copies!r}; choose 'group' or 'keep'")
        if not self.max_rows >= 1:
            raise ValueError(f"`max_rows` is {self.max_rows!r}; it needs to be at least 1")

    def _training(self, nb: Any, X: Any, y: np.ndarray, sample_weight: Any, groups: Any) -> "_Training":
        """Leave-one-out tables of the rows fitted."""
        n = len(y)
        weight = np.ones(n) if sample_weight is None else np.asarray(sample_weight, float)
        rows = nb._encode(X) if isinstance(nb, AbstractNB) else {"x": X}
        some, total, n_copies = np.arange(n), weight, 0
        if groups is not None:
            groups = _as_groups(groups, n)
        elif self.copies == "group" and (owner := _copies(nb, rows, y)) is not None:
            # copies that leave together are one row that leaves with the weight of all; they count as one row
            first, owner, count = np.unique(owner, return_index=True, return_inverse=True, return_counts=True)[1:]
            some, total = first, np.bincount(owner, weight)
            weight = total / count
            n_copies = n - len(first)
        if len(some) > self.max_rows:
            some, total, weight, groups = _drawn(self.max_rows, some, total, weight, groups)
        if (used := weight > 0).any() and not used.all():
            some, total, weight = some[used], total[used], weight[used]
            groups = None if groups is None else groups[used]
        if len(some) < n:
            rows = {name: _take(x, some) for name, x in rows.items()}
        table = _call_loo(nb, rows, y[some], total, self.prior, groups)
        lengths, mean = _log_lengths(nb, rows, list(table.parts)), None
        if lengths is not None:
            mean = np.average(lengths, axis=1, weights=weight)
            lengths = lengths - mean[:, None]
            if abs(lengths).max() < _SAME_LENGTH:
                lengths = mean = None
        tables = Tables.of(table.parts.values(), table.log_prior, lengths)
        return _Training(tables, table.y, weight, n_copies, table.prior, mean)

    # --- prediction -------------------------------------------------------------------------------------------------

    def predict_proba(self, X: Any) -> np.ndarray:
        """Calibrated class probabilities, (n, c): averaged over the maps and the posterior of each."""
        check_is_fitted(self, "maps_")
        return np.ascontiguousarray(_maps.average(self.maps_, self._tables(X)).T)

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Their logarithms, nats."""
        p = self.predict_proba(X)
        with np.errstate(divide="ignore"):
            return np.log(p)

    def predict(self, X: Any) -> np.ndarray:
        """Label with the largest calibrated probability for each row, (n,)."""
        best = self.predict_proba(X).argmax(1)
        return self.classes_[best]

    def decision_function(self, X: Any) -> np.ndarray:
        """For two classes the calibrated log odds of the second, (n,); with more classes log p(y = c), (n, c), nats."""
        log_p = np.maximum(self.predict_log_proba(X), np.log(np.finfo(float).tiny))
        return log_p[:, 1] - log_p[:, 0] if log_p.shape[1] == 2 else log_p

    def _tables(self, X: Any) -> Tables:
        """Tables of new rows."""
        parts = _part_tables(self.estimator_, X)
        n, c = next(iter(parts.values())).shape
        log_prior = np.broadcast_to(_class_log_prior(self.estimator_), (n, c))
        return Tables.of(parts.values(), log_prior, self._lengths(X, list(parts)))

    def _lengths(self, X: Any, parts: list[str]) -> np.ndarray | None:
        if self._mean_log_length is None:
            return None
        rows = self.estimator_._encode(X) if isinstance(self.estimator_, AbstractNB) else {"x": X}
        lengths = _log_lengths(self.estimator_, rows, parts)
        if lengths is None:  # rows without gaps among rows with some
            lengths = np.full((len(parts), X.shape[0]), np.log1p(X.shape[1]))
        return lengths - self._mean_log_length[:, None]

    def summary(self, level: Scalar = 0.9) -> pd.DataFrame:
        """The fitted maps: probability of each, and its parameters with credible intervals.

        Parameters
        ----------
        level : posterior mass inside, between 0 and 1

        Returns
        -------
        DataFrame
            a row for each parameter: `map`, its `probability`, `parameter` (the power w of each part, the bend s, the
            contamination ε, the shift b of each class, the exponent g of a row's length, which is chosen and has no
            interval), `median`, `low`, `high`. The identity has one row without a parameter
        """
        check_is_fitted(self, "maps_")
        if not 0 < level < 1:
            raise ValueError(f"`level` is {level}; it needs to lie between 0 and 1, such as 0.9")
        reach = norm.isf((1 - level) / 2)
        parts = list(_blocks_of_parts(self.estimator_, ["x"]))
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

        Each draw of θ gives a table log p(x | θ); a map drawn from its posterior turns the table into probabilities.
        """
        check_is_fitted(self, "maps_")
        rng = generator(seed)
        draws = _maps.draw(self.maps_, rng, n_draws)
        nb = self.estimator_
        found: list[np.ndarray] = []
        lengths = None
        for (kind, theta), (parts, t, log_pi) in zip(draws, _tables_of_draws(nb, X, n_draws, rng), strict=True):
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
        method : "draws"; "auto" is the same. There is no closed form
        n_draws : draws of θ and of the map, by default 1,000
        seed : of the draws

        Raises
        ------
        ValueError
            if `level` or `method` is out of range
        """
        if not 0 < level < 1:
            raise ValueError(f"`level` is {level}; it needs to lie between 0 and 1, such as 0.9")
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

        Parameters as in `predict_interval`.
        """
        p = self.sample_proba(X, _draws(method, n_draws), seed)
        total, aleatoric = entr(p.mean(0)).sum(-1), entr(p).sum(-1).mean(0)
        aleatoric = np.minimum(aleatoric, total)
        return Uncertainty(total, aleatoric, total - aleatoric)

    # --- the NumPyro side -------------------------------------------------------------------------------------------

    def numpyro_model(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> None:
        """The regression of the labels on their leave-one-out table in NumPyro, with the heaviest parametric map.

        Parameters
        ----------
        X, y, sample_weight, groups : the rows fitted. Run it with NUTS to see the posterior that Laplace approximates:
            sites `log_power`, `log_bend`, `logit_contamination` and `shift`, those that the map has
        """
        check_is_fitted(self, "maps_")
        nb, y = self.estimator_, np.asarray(y).ravel()
        if isinstance(nb, AbstractNB):
            check_known(nb, nb._encode(X), one_hot(nb._class_index(y), len(nb.classes_), sample_weight))
        training = self._training(nb, X, y, sample_weight, groups)
        _maps.model(self._parametric_kind(), training.tables, training.y, training.weight)

    def _parametric_kind(self) -> _maps.Kind:
        """Kind of the heaviest map with parameters."""
        for one in self.maps_:
            kind = getattr(one.kind, "base", one.kind)
            if not kind.identity:
                return kind
        return _maps.KEEPING[0]

    def check(self, X: Any, y: Any, seed: int = 0, *, progress_bar: bool = False) -> "CheckReport":
        """The posterior of the map against NumPyro: density, mode, draws of NUTS, prediction.

        A clone is fitted on one half of the rows; the other half gives log loss and calibration error of the estimator
        and of the calibrated classifier. Density and mode are exact comparisons; Laplace's approximation of posterior
        and prediction is held to a stated distance from NUTS. The estimator itself is checked by its own `check`.

        Parameters
        ----------
        X, y : rows and labels, at least two rows
        seed : of the split, of the random parameters and of the chains
        progress_bar : NumPyro's
        """
        from .calibration_check import check

        return check(self, X, y, seed=seed, progress_bar=progress_bar)

    def _check_loaded(self, take: Take) -> None:
        nb = self.estimator_
        require(isinstance(nb, AbstractNB) and hasattr(nb, "statistics_"), "its estimator is not fitted")
        check_maps(self)
        nb._check_loaded(take)

    # --- scikit-learn -----------------------------------------------------------------------------------------------

    def __sklearn_tags__(self) -> Tags:
        tags, inner = super().__sklearn_tags__(), get_tags(self.estimator)
        tags.input_tags, tags.classifier_tags = inner.input_tags, inner.classifier_tags
        return tags


def _draws(method: str, n_draws: int | None) -> int:
    """Number of draws; raises ValueError on a method that there is not, or no draws."""
    if method not in ("auto", "draws"):
        raise ValueError(f"`method` is {method!r}; a calibrated probability has only 'draws' (or 'auto')")
    if n_draws is not None and n_draws < 1:
        raise ValueError(f"`n_draws` is {n_draws}; it needs to be at least 1")
    return 1000 if n_draws is None else n_draws


class _Training(NamedTuple):
    """What the maps are fitted to: tables, class index and weight of each row; and where they come from."""

    tables: Tables
    y: np.ndarray
    weight: np.ndarray
    n_copies: int
    prior: str
    mean_log_length: np.ndarray | None


class _Loo(NamedTuple):
    """What leave-one-out gives the maps; rows first."""

    parts: dict[str, np.ndarray]
    log_prior: np.ndarray
    y: np.ndarray
    prior: str


def _call_loo(nb: Any, rows: Rows, y: np.ndarray, weights: np.ndarray, prior: str, groups: np.ndarray | None) -> _Loo:
    """Leave-one-out of any estimator that has it; `prior` and `groups` where its `loo` knows them.

    `rows` are encoded rows by block, or the only block "x" of an estimator that is not bayesnb's.
    """
    if isinstance(nb, AbstractNB):
        if groups is not None:
            groups = np.unique(groups, return_inverse=True)[1]
        found = leave_out(nb, rows, nb._class_index(y), weights, groups, prior, scores=True)
        return _Loo(found.by_block, found.log_prior, found.index, prior)
    known = inspect.signature(nb.loo).parameters
    settings: dict[str, Any] = {"prior": prior} if "prior" in known else {}
    if (weights != 1).any():
        settings["sample_weight"] = weights
    if groups is not None:
        if "groups" not in known:
            raise ValueError(f"`groups` are given, and {type(nb).__name__}.loo knows no groups")
        settings["groups"] = groups
    found = nb.loo(rows["x"], y, **settings)
    log_prior = getattr(found, "log_prior", None)
    if log_prior is None:
        log_prior = np.broadcast_to(_class_log_prior(nb), found.log_joint.shape)
    parts = getattr(found, "by_block", None) or {"x": found.log_joint - log_prior}
    return _Loo(parts, log_prior, found.index, settings.get("prior", "kept"))


def _copies(nb: Any, rows: Rows, y: np.ndarray) -> np.ndarray | None:
    """Group of each row: rows that copy each other share one; None where there are no copies."""
    owner = copies(rows, y)
    count = np.bincount(owner)
    if count.max() == 1:
        return None
    index = np.searchsorted(nb.classes_, y)
    again = np.flatnonzero(count[owner] > 1)
    chance = again[~np.any([_has_fractions(_take(x, again)) for x in rows.values()], axis=0)]
    if len(chance):
        # of a row of whole numbers: how many such rows the model expects in the class
        some = {name: _take(x, chance) for name, x in rows.items()}
        if isinstance(nb, AbstractNB):
            own = nb.posterior_.log_parts(some, [list(some)])[0]
        else:
            own = _part_tables(nb, some["x"])["x"]
        expected = np.log(np.bincount(index)[index[chance]]) + own[np.arange(len(chance)), index[chance]]
        single = chance[expected > np.log(_SAME_BY_CHANCE)]
        owner[single] = owner.max() + 1 + np.arange(len(single))
    return owner if len(np.unique(owner)) < len(owner) else None


def _as_groups(groups: Any, n: int) -> Int[np.ndarray, " n"]:
    """Groups as 0 … g − 1."""
    labels = np.asarray(groups)
    if labels.shape != (n,):
        raise ValueError(f"`groups` has shape {labels.shape}; it needs one label for each of the {n} rows")
    return pd.factorize(labels)[0]


def _drawn(
    size: int, some: np.ndarray, total: np.ndarray, weight: np.ndarray, groups: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray | None]:
    """A random sample of the rows, of whole groups where there are groups."""
    order = np.random.default_rng(0).permutation(len(some))
    chosen = np.sort(order[:size])
    if groups is not None:
        keep = np.unique(groups[chosen])
        chosen = np.flatnonzero(np.isin(groups, keep[: max(1, size * len(keep) // len(groups))]))
        groups = groups[chosen]
    return some[chosen], total[chosen], weight[chosen], groups


def _part_tables(nb: Any, X: Any) -> dict[str, np.ndarray]:
    """log p(x_i in a part | y = c), (n, c), by part."""
    if hasattr(nb, "predict_part_log_likelihood"):
        return nb.predict_part_log_likelihood(X)
    return {"x": nb.predict_joint_log_proba(X) - _class_log_prior(nb)}


def _class_log_prior(nb: Any) -> np.ndarray:
    """log p(y = c), (c,)."""
    if hasattr(nb, "class_log_prior_"):
        return np.asarray(nb.class_log_prior_)
    return np.log(np.asarray(nb.class_count_) / np.sum(nb.class_count_))


def _blocks_of_parts(nb: Any, parts: Iterable[str]) -> dict[str, list[str]]:
    """Names of the blocks of each part."""
    return nb._blocks_of_parts() if isinstance(nb, AbstractNB) else {part: [part] for part in parts}


def _log_lengths(nb: Any, rows: Rows, parts: list[str]) -> np.ndarray | None:
    """log(1 + length of a row), (k, n) by part: the sum of counts that share a row, else the observed cells.

    None where the rows of all parts are of one length. `rows` as in `_call_loo`.
    """
    if not isinstance(nb, AbstractNB):
        X = rows["x"]
        if sparse.issparse(X):
            return None
        missing = np.asarray(pd.isna(X)).reshape(len(X), -1)
        lengths = np.log1p((~missing).sum(1))
        return np.tile(lengths, (len(parts), 1)) if missing.any() else None
    names = {block: part for part, blocks in _blocks_of_parts(nb, parts).items() for block in blocks}
    total = {part: np.zeros(next(iter(rows.values())).shape[0]) for part in parts}
    differs = False
    for block, x in rows.items():
        if nb.posterior_.blocks[block].blank == 0:
            length = np.asarray(x.sum(1), float).ravel()
            differs = True
        elif sparse.issparse(x) or nb.posterior_.blocks[block].blank is None:
            length = np.full(x.shape[0], float(x.shape[1]))
        else:
            seen = ~np.isnan(x)
            length = seen.sum(1).astype(float)
            differs = differs or not seen.all()
        total[names[block]] += length
    return np.log1p(np.stack([total[name] for name in parts])) if differs else None


def _tables_of_draws(
    nb: Any, X: Any, n_draws: int, rng: np.random.Generator
) -> Iterator[tuple[list[str], np.ndarray, np.ndarray]]:
    """Part names, log p(x_i in a part | y = c, θ) (k, c, n) and log π (c,) of each draw of θ."""
    if isinstance(nb, AbstractNB):
        rows, step = nb._encode(X), 16
        for start in range(0, n_draws, step):
            size = min(step, n_draws - start)
            theta = nb.posterior_.sample(rng, (size,))
            names = nb._blocks_of_parts()
            log_pi = np.broadcast_to(theta["class"]["log_pi"], (size, len(nb.classes_)))
            if len(names) == 1:
                parts = (nb.posterior_.log_joint(rows, theta) - log_pi[:, None, :])[None]  # (part, draw, row, class)
            else:
                blocks = nb.posterior_.blocks
                each = {name: block.log_likelihood(theta[name], rows[name]) for name, block in blocks.items()}
                parts = np.stack([sum(each[block] for block in part) for part in names.values()])
            for s in range(size):
                yield list(names), parts[:, s].swapaxes(1, 2), log_pi[s]
        return
    log_pi = _class_log_prior(nb)
    for p in nb.sample_proba(X, n_draws, rng):
        yield ["x"], (np.log(np.maximum(p, np.finfo(float).tiny)) - log_pi).T[None], log_pi


def _take(X: Any, rows: np.ndarray) -> Any:
    """Some rows of any input."""
    return _safe_indexing(X.tocsr() if sparse.issparse(X) else X, rows)


def _has_fractions(X: Any) -> np.ndarray:
    """Whether a row has a cell that is no whole number."""
    if sparse.issparse(X):
        rows = sparse.csr_array(X)
        uneven = sparse.csr_array((rows.data % 1 != 0, rows.indices, rows.indptr), rows.shape)
        return np.asarray(uneven.sum(1)).ravel() > 0
    cells = np.asarray(X)
    if cells.dtype.kind != "f":
        return np.zeros(len(cells), bool)
    with np.errstate(invalid="ignore"):
        return (np.isfinite(cells) & (cells % 1 != 0)).any(1)
