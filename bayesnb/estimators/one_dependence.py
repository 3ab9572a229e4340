"""Averaged one-dependence estimators for scikit-learn users."""

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.utils import Tags, _safe_indexing
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from .._pytree import kept_inside, map_leaves
from .._random import generator
from .._rows import csr_slice
from .._special import log_floor, log_normalize
from .._typing import Scalar
from ..core.registry import require
from ..exact import ExactSum, holds_exactly, sums_of_weights
from ..naive_bayes import Rows, Statistics, by_rows, fold_rows
from ..one_dependence import BLOCK, OneDependence
from ..statistics import Counts, class_totals, with_sums
from ._input import concentration, cut_rows, of_any_type, positive
from ._state import LazyPosterior, all_or_nothing, laid_out, reads_one_state
from .categorical import AbstractLevels, CategoricalNB, _code, _code_table, _columns

if TYPE_CHECKING:
    from ..sampling.intervals import Uncertainty
    from ..sampling.report import CheckReport

MAX_BYTES = 1 << 30
"""Largest table of counts that `OneDependenceNB` makes, in bytes of float64.

Fitting holds two of that size, batches nearly four, prediction and `loo` up to five more than the fitted model.
"""

_DRAWN = 1 << 22  # probabilities kept at a time for the quantiles of draws


def _has_no_stacked_weights(nb: Any) -> bool:
    """Whether statistics are all that a fit leaves; an AttributeError where weights were fitted to rows."""
    if nb.weights == "loo":
        raise AttributeError(
            "`weights` is 'loo': weights are fitted to all rows, and statistics of some rows cannot change them. Call "
            "`fit` on all rows, or take weights='uniform'"
        )
    return True


class OneDependenceNB(AbstractLevels):
    """Averaged one-dependence estimators for features with levels: p(y, x) = Σ_j v_j p(y, x_j) Π_{i≠j} p(x_i | y, x_j).

    Naive Bayes takes features as independent given the class. Here all features may depend on the class and on one
    feature, the parent. Each feature is the parent in turn, and the d models are averaged. So pairs of features count,
    at n·d² additions and without a search.

    Parameters
    ----------
    alpha : float or (d,), default 1
        pseudo-count of each level of a feature, given a class and a level of the parent; positive
    pair_alpha : float, default 1
        pseudo-rows of the table p(y, x_j) of each parent, shared equally by its c·k_j pairs; positive
    weights : "uniform" (default) or "loo"
        weights v_j of the parents: equal, or stacked, so that Σ_i w_i log Σ_j v_j p_j(y_i | x_i, D₋ᵢ) is largest
    min_categories : int, (d,) or None, default None
        least number of levels of a feature of whole numbers, whose levels are 0 … max
    max_bytes : int, default 2³⁰
        largest table of counts, 8 c (Σ_j k_j)² bytes; more levels than that are refused. Fitting holds two of that
        size, prediction up to five more

    Attributes
    ----------
    weights_ : (d,) v_j, non-negative, summing to one
    parent_log_evidence_ : (d,) log p(X, y) of the model of each parent, nats; of the rows whose x_j is not missing
    log_evidence_ : log of the mean of these evidences, where no parent has a missing cell; see the Notes
    categories_, n_categories_ : levels of each feature, and their number, as in `CategoricalNB`
    classes_, n_features_in_, feature_names_in_ : as in scikit-learn
    statistics_ : the table of counts [y, u, v] of pairs of levels; `prior_`, `posterior_`: `OneDependence` before and
        after it

    Notes
    -----
    Levels come in the forms that `CategoricalNB` takes: strings, pandas categoricals and whole numbers. Real numbers
    are binned first, in a pipeline: `make_pipeline(EqualWidthBinner(4), OneDependenceNB())`.

    A row whose x_j is missing, or in prediction a level never seen, is left out of model j: in fitting it adds nothing
    to it, in prediction the weights of the other parents are divided by their sum. Any other missing cell is left out
    of the product. A row without a single cell is predicted by the class frequencies.

    *Evidence.* Each parent is a Bayesian model with an evidence. "One parent for all rows, each as probable as any
    other" is a model too, and `log_evidence_` is its evidence, so `compare` can rank it against any other model of the
    same cells. The predictive of that model weights parents by their evidence and soon uses a single one; the average
    here keeps the weights v, which predicts better, and has no evidence of its own. With missing cells the parents
    speak of different rows, and there is no `log_evidence_`.

    *Stacking.* "loo" maximises the score of averaged class probabilities, which is concave in the weights. The
    prediction averages joint densities with the same weights. Most weights become nearly zero. Equal weights predicted
    better in most tables that we tried, stacked ones in some with hundreds of rows: compare both. Weights are fitted to
    all rows, and stay as they are in `loo`. With "loo" there is no `partial_fit`, `forget` or `merge`, because they do
    not see all rows.

    *Draws.* A draw is a parent j, with probability v_j, and parameters of its model. So intervals and `uncertainty`
    tell how far the probability would move if parent and parameters were known. Parents that disagree make them wide.

    References
    ----------
    Webb, Boughton & Wang (2005), Not so naive Bayes: aggregating one-dependence estimators, Machine Learning 58.

    Examples
    --------
    The class is whether two coins agree, which neither coin tells alone.

    >>> import numpy as np
    >>> from bayesnb import CategoricalNB, OneDependenceNB
    >>> X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 10)
    >>> y = X[:, 0] == X[:, 1]
    >>> CategoricalNB().fit(X, y).predict_proba(X[:2]).round(2)
    array([[0.5, 0.5],
           [0.5, 0.5]])
    >>> OneDependenceNB().fit(X, y).predict_proba(X[:2]).round(2)
    array([[0.08, 0.92],
           [0.92, 0.08]])
    """

    estimate = "predictive"  # of levels it is the posterior mean: there is nothing to choose
    _advice = (
        "Bin the column first, with `make_pipeline(EqualWidthBinner(), OneDependenceNB())` or EvidenceBinner, or pass "
        "it as strings."
    )

    _learnt_names = AbstractLevels._learnt_names | {"weights_"}

    def __init__(
        self,
        *,
        alpha: Any = 1.0,
        pair_alpha: float = 1.0,
        weights: str = "uniform",
        min_categories: Any = None,
        max_bytes: int = MAX_BYTES,
    ) -> None:
        self.alpha = alpha
        self.pair_alpha = pair_alpha
        self.weights = weights
        self.min_categories = min_categories
        self.max_bytes = max_bytes

    # --- levels -----------------------------------------------------------------------------------------------------

    def _validate(self, X: Any, **checks: Any) -> Any:
        return of_any_type(self, X, **checks)

    def _set_levels(self, levels: list[np.ndarray]) -> None:
        super()._set_levels(levels)
        c, k = len(self.classes_), int(self.n_categories_.sum())
        if (needed := 8 * c * k**2) > self.max_bytes:
            most = int(self.n_categories_.argmax())
            raise ValueError(
                f"`X` has {k} levels in {len(levels)} columns, most of them in column {self._label(most)} "
                f"({self.n_categories_[most]}); with {c} classes the table of their pairs needs {needed / 2**20:,.1f} "
                f"MiB, `max_bytes` allows {self.max_bytes / 2**20:,.1f} MiB. Leave out columns that name rows, merge "
                "rare levels, use fewer bins, or raise `max_bytes`"
            )

    def _counts(self) -> list[np.ndarray]:
        n = np.diagonal(self.statistics_.blocks[BLOCK].n, axis1=1, axis2=2)
        return np.split(n, np.cumsum(self.n_categories_)[:-1], axis=1)

    def _recode(self, levels: list[np.ndarray]) -> None:
        before, table = self._known(), self.statistics_.blocks[BLOCK].n
        old = np.concatenate([[0], np.cumsum(self.n_categories_)])
        self._set_levels(levels)
        new = np.concatenate([[0], np.cumsum(self.n_categories_)])
        pairs = list(zip(before, self.categories_, strict=True))
        source = np.concatenate([old[j] + np.arange(len(b)) for j, (b, _) in enumerate(pairs)])
        target = np.concatenate([new[j] + pd.Index(a).get_indexer(pd.Index(b)) for j, (b, a) in enumerate(pairs)])

        def moved(table: np.ndarray) -> np.ndarray:
            found = np.zeros((len(table), new[-1], new[-1], *table.shape[3:]))
            found[:, target[:, None], target] = table[:, source[:, None], source]
            return found

        sums = map_leaves(moved, self.statistics_.blocks[BLOCK].sums)
        self.statistics_ = replace(self.statistics_, blocks={BLOCK: Counts(moved(table), np.zeros(len(table)), sums)})

    def _rows(self, X: Any) -> Rows:
        if isinstance(X, np.ndarray) and X.dtype.kind in "biuf" and all(v.dtype.kind == "i" for v in self.categories_):
            return {BLOCK: _code_table(X, self.n_categories_).astype(float)}
        pairs = zip(_columns(X), self.categories_, strict=True)
        codes = [_code(values, levels, self._label(j)) for j, ((values, _), levels) in enumerate(pairs)]
        return {BLOCK: np.stack(codes, 1)}

    def _as_input(self, rows: dict[str, np.ndarray]) -> np.ndarray:
        x = rows[BLOCK].astype(int)
        return np.stack([levels[x[:, j]] for j, levels in enumerate(self.categories_)], 1)

    @property
    @reads_one_state
    def prior_(self) -> OneDependence:  # type: ignore[override]
        """The prior of all models that the rows fitted have conditioned, frozen."""
        return self._fitted_state("prior_").prior

    @property
    @reads_one_state
    def posterior_(self) -> OneDependence:  # type: ignore[override]
        """The prior of all models conditioned on all rows fitted, frozen; derived when it is first asked for."""
        check_is_fitted(self)
        return self._fitted_state("posterior_").posterior

    # --- fitting ----------------------------------------------------------------------------------------------------

    def _learn_encoding(self, X: Any, reset: bool) -> None:
        if self.weights not in ("uniform", "loo"):
            raise ValueError(f"`weights` is {self.weights!r}; choose 'uniform' or 'loo'")
        super()._learn_encoding(X, reset)
        if reset:
            self.weights_ = np.full(len(self.categories_), 1 / len(self.categories_))

    @all_or_nothing
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Condition all models on rows and labels, and weight them; see `AbstractNB.fit`."""
        super().fit(X, y, sample_weight)
        if self.weights == "loo":
            X, y = self._validate(X, y=y, reset=False)
            r = self._weights(X, self._class_index(y), sample_weight)
            self.weights_ = self.posterior_.stacked(self._rows(X), r)
            self._set_statistics(self.statistics_)
        return self

    def _check_encoding(self) -> None:
        super()._check_encoding()
        v, d = self.weights_, self.n_features_in_
        one_each = isinstance(v, np.ndarray) and v.dtype == np.float64 and v.shape == (d,)
        require(one_each, "weights_ are not one a feature")
        require((v >= 0).all() and abs(v.sum() - 1) < 1e-9, "weights_ do not sum to one")

    @available_if(_has_no_stacked_weights)
    @all_or_nothing
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Add rows; see `AbstractNB.partial_fit`. Not with weights="loo", which needs all rows at once."""
        return super().partial_fit(X, y, classes, sample_weight)

    @available_if(_has_no_stacked_weights)
    @all_or_nothing
    def forget(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Take rows out again; see `AbstractNB.forget`. Not with weights="loo", which needs all rows at once."""
        return super().forget(X, y, sample_weight)

    @available_if(_has_no_stacked_weights)
    @all_or_nothing
    def merge(self, other: Any) -> Self:
        """Add the rows of another fit; see `AbstractNB.merge`. Not with weights="loo", which needs all rows at once."""
        return super().merge(other)

    def _model(self) -> OneDependence:
        """The prior under the weights at hand."""
        alpha = np.array(concentration(self.alpha, True, (self.n_features_in_,)))
        total = float(positive("pair_alpha", self.pair_alpha, ()))
        return OneDependence.prior(len(self.classes_), self.n_categories_.tolist(), alpha, total, self.weights_)

    def _gather(self, X: Any, index: np.ndarray, sample_weight: Any) -> Statistics:
        r, prior = self._weights(X, index, sample_weight), self._model()

        def gather(part: slice) -> Statistics:
            rows, w = self._rows(cut_rows(X, part)), csr_slice(r, part)
            stats = prior.suffstats(rows, w)

            def exact(counts: Counts) -> dict[str, ExactSum]:
                if holds_exactly(counts.n, w):
                    return {"n": ExactSum.exactly(counts.n)}
                parts = sums_of_weights(lambda v: prior.suffstats(rows, v).blocks[BLOCK].n, w, counts.n.shape)
                return {"n": parts}

            counts = with_sums(stats.blocks[BLOCK], rows[BLOCK], w, exact)
            return replace(stats, blocks={BLOCK: counts}, weight=sums_of_weights(class_totals, w, stats.n.shape))

        return fold_rows(gather, {BLOCK: X}, prior.least_cells)

    def _set_statistics(self, stats: Statistics) -> Self:
        self._conditioned = LazyPosterior(self._model(), laid_out(stats))
        return self

    # --- prediction -------------------------------------------------------------------------------------------------

    @reads_one_state
    @kept_inside()
    def predict_joint_log_proba(self, X: Any) -> np.ndarray:
        """log p(x_i, y = c) in nats, (n, c): log Σ_j v_j p_j(x_i, y = c | data)."""
        check_is_fitted(self)
        X, posterior = self._validate(X, reset=False), self.posterior_
        return by_rows(
            lambda part: posterior.log_joint(self._rows(cut_rows(X, part))), {BLOCK: X}, posterior.least_cells
        )

    @reads_one_state
    @kept_inside()
    def predict_parents_log_proba(self, X: Any) -> np.ndarray:
        """log p_j(y = c | x_i) of the model of each parent in nats, (n, d, c); NaN where x_ij is missing."""
        check_is_fitted(self)
        rows, posterior = self._encode(X), self.posterior_
        found = np.empty((len(rows[BLOCK]), self.n_features_in_, len(self.classes_)))
        with np.errstate(invalid="ignore"):  # −∞ − −∞
            for part, table in posterior.log_parents(rows):
                found[part] = log_normalize(table)
        return found

    @reads_one_state
    def sample_proba(self, X: Any, n_draws: int = 1000, seed: int | np.random.Generator | None = None) -> np.ndarray:
        """Draws of the class probabilities p_j(y = c | x_i, θ_j), (s, n, c): of a parent j, and of its parameters.

        A draw is one parent, with probability v_j, and one θ_j from the posterior of its model, for all rows; a row
        whose x_j is missing takes another parent. The mean of the draws is Σ_j v_j E p_j(y | x, θ_j); with each draw
        weighted by p_j(x | θ_j) it is `predict_proba`.
        """
        check_is_fitted(self)
        drawn = (np.exp(np.moveaxis(log_p, -1, 0)) for _, log_p in self._draws(X, n_draws, seed))
        return np.concatenate(list(drawn), 1)

    def _draws(
        self, X: Any, n_draws: int, seed: int | np.random.Generator | None
    ) -> Iterator[tuple[slice, np.ndarray]]:
        """Log class probabilities (n, c, s) of some rows at a time, the same draws for all."""
        rows, posterior = self._encode(X), self.posterior_
        theta = posterior.sample(generator(seed), (n_draws,))
        step = max(1, _DRAWN // (n_draws * len(self.classes_)))
        for at in range(0, len(rows[BLOCK]), step):
            part = slice(at, min(at + step, len(rows[BLOCK])))
            table = posterior.log_joint({BLOCK: rows[BLOCK][part]}, theta)
            yield part, np.moveaxis(log_normalize(table), 0, -1)

    @reads_one_state
    def predict_interval(
        self,
        X: Any,
        level: Scalar = 0.9,
        method: str = "auto",
        n_draws: int | None = None,
        seed: int | np.random.Generator | None = 0,
    ) -> np.ndarray:
        """Equal-tailed credible interval of p_j(y = c | x_i, θ_j) over parents j and parameters θ_j, (n, c, 2).

        Parameters
        ----------
        level : posterior mass inside, between 0 and 1
        method : "auto" and "draws" are the interval of `n_draws` draws as of `sample_proba`; there is no "analytic"
        n_draws : by default 1,000
        seed : of the draws; the same for all rows

        Raises
        ------
        ValueError
            if `level`, `method` or `n_draws` is out of range
        """
        n_draws = _checked_draws(method, n_draws)
        if not 0 < level < 1:
            raise ValueError(f"`level` is {level}; it needs to lie between 0 and 1, such as 0.9")
        tails = [(1 - level) / 2, (1 + level) / 2]
        parts = [np.quantile(np.exp(log_p), tails, -1) for _, log_p in self._draws(X, n_draws, seed)]
        return np.moveaxis(np.concatenate(parts, 1), 0, -1)

    @reads_one_state
    def uncertainty(
        self,
        X: Any,
        method: str = "auto",
        n_draws: int | None = None,
        seed: int | np.random.Generator | None = 0,
    ) -> "Uncertainty":
        """Entropy of the label of each row in nats, split: fields `total`, `aleatoric`, `epistemic`, (n,) each.

        `total` is the entropy of the mean of `sample_proba`, `aleatoric` the mean of the entropies of the draws,
        `epistemic` the difference: the mutual information of the label with the parent and its parameters.
        """
        from ..sampling.intervals import Uncertainty

        parts = []
        for _, log_p in self._draws(X, _checked_draws(method, n_draws), seed):
            p = np.exp(log_p)
            mean = p.mean(-1)
            total = -(mean * log_floor(mean)).sum(1)
            epistemic = (p * np.maximum(log_p - log_floor(mean)[..., None], -1e3)).mean(-1).sum(1)
            parts.append((total, np.clip(epistemic, 0, total)))
        total, epistemic = (np.concatenate(column) for column in zip(*parts, strict=True))
        return Uncertainty(total, total - epistemic, epistemic)

    def _sample(self, n_samples: int, seed: int | np.random.Generator | None, source: str, **given: Any) -> Any:
        check_is_fitted(self)
        if source not in ("posterior", "prior"):
            raise ValueError(f"`source` is {source!r}; choose 'posterior' or 'prior'")
        model = self.posterior_ if source == "posterior" else self.prior_
        x, y = model.sample_predictive(generator(seed), n_samples)
        return self._as_input({BLOCK: x}), self.classes_[y]

    # --- what the posterior tells -----------------------------------------------------------------------------------

    @property
    @reads_one_state
    @kept_inside()
    def parent_log_evidence_(self) -> np.ndarray:
        """log p(X, y | parent j) of the rows whose x_j is not missing, (d,), in nats."""
        check_is_fitted(self)
        return self.prior_.log_marginal(self.statistics_)

    @property
    @reads_one_state
    @kept_inside()
    def log_evidence_(self) -> float:
        """log (1/d) Σ_j p(X, y | parent j), in nats: of one parent for all rows, each as probable as any other."""
        evidence, n = self.parent_log_evidence_, self.statistics_.n.sum()
        seen = np.array([counts.sum() for counts in self._counts()])
        if (lost := seen < n * (1 - 1e-12)).any():
            column = self._label(int(lost.argmax()))
            raise AttributeError(
                f"OneDependenceNB has no log_evidence_ here: column {column} has missing cells, and the evidence of "
                "its model leaves out their rows. Compare by `loo`, or make missing a level of its own"
            )
        return float(np.logaddexp.reduce(evidence) - np.log(len(evidence)))

    @property
    def _linear_form(self) -> tuple[np.ndarray, np.ndarray]:
        raise AttributeError("OneDependenceNB has no linear form: its discriminant takes pairs of features")

    def _weight_labels(self, names: np.ndarray | None) -> np.ndarray:
        raise AttributeError("OneDependenceNB has no linear form: its discriminant takes pairs of features")

    def _tie_prior(self) -> np.ndarray:
        return self.class_count_  # p(y) rises with it

    @property
    def _prior_name(self) -> str:
        raise ValueError(
            "OneDependenceNB learns each class together with a parent, so there is no class prior to set; fit with a "
            "`sample_weight` that gives the classes the frequencies wanted"
        )

    def _blocks(self, stats: Statistics | None) -> dict[str, Any]:
        raise ValueError(
            "OneDependenceNB is an average of models, not a class prior times blocks of columns, so it cannot be a "
            "part of another model; use it by itself, or CategoricalNB there"
        )

    # --- one parent, and the NumPyro side ---------------------------------------------------------------------------

    @reads_one_state
    def parent(self, feature: Any = 0) -> CategoricalNB:
        """The model of one parent as a fitted `CategoricalNB` of the other features: all its methods are there.

        Its classes are the pairs of class and parent level, numbered y·k_j + u; `pairs` gives those of rows.

        Parameters
        ----------
        feature : name or number of the parent's column

        Raises
        ------
        ValueError
            if there is no such column, or no other
        """
        check_is_fitted(self)
        j = self._position(feature)
        rest = np.delete(np.arange(self.n_features_in_), j)
        alpha = self.alpha if np.ndim(self.alpha) == 0 else np.asarray(self.alpha)[rest]
        n_pairs = len(self.classes_) * int(self.n_categories_[j])
        nb = CategoricalNB(alpha=alpha, class_alpha=self.pair_alpha / n_pairs)
        nb.classes_, nb.n_features_in_ = np.arange(n_pairs), len(rest)
        nb.categories_ = [self.categories_[i] for i in rest]
        nb.n_categories_ = self.n_categories_[rest]
        if hasattr(self, "feature_names_in_"):
            nb.feature_names_in_ = self.feature_names_in_[rest]
        with kept_inside():
            return nb._set_statistics(self.posterior_.parent_statistics(j, self.statistics_))

    @reads_one_state
    def pairs(self, X: Any, y: Any, feature: Any = 0) -> np.ndarray:
        """The compound class y·k_j + u of each row, (n,), as the model of one parent numbers it.

        Raises
        ------
        ValueError
            if a cell of the parent is missing, or a level that was not fitted
        """
        check_is_fitted(self)
        j = self._position(feature)
        u = self._encode(X)[BLOCK][:, j]
        if np.isnan(u).any():
            raise ValueError(f"`X` has missing cells or unknown levels in column {self._label(j)}, which is the parent")
        return self._class_index(np.asarray(y)) * int(self.n_categories_[j]) + u.astype(int)

    def _position(self, feature: Any) -> int:
        """The number of a column that has at least one other beside it."""
        names = list(getattr(self, "feature_names_in_", []))
        known = names.index(feature) if feature in names else feature
        if not isinstance(known, (int, np.integer)) or not 0 <= known < self.n_features_in_:
            raise ValueError(
                f"`feature` is {feature!r}; give the name or the number of one of the {self.n_features_in_}"
            )
        if self.n_features_in_ == 1:
            raise ValueError("`X` has a single column: the model of its parent has no children; use CategoricalNB")
        return int(known)

    @reads_one_state
    def numpyro_model(self, X: Any, y: Any = None, parent: Any = 0) -> None:
        """The generative model of one parent in NumPyro, with this estimator's prior; the average is of these models.

        The pairs (y, x_j) ~ Categorical(pi), then x_i ~ Categorical(theta[pair]) for all other features. The parameters
        have the sites of `parent(j).numpyro_model`; the data are the sites `parent`, `y` and `x`.

        Parameters
        ----------
        X : rows as in `predict`; a row whose parent is missing is no part of the model and left out
        y : labels as in `fit`; None makes them a latent discrete site, given X
        parent : name or number of the parent's column
        """
        check_is_fitted(self)
        j, x = self._position(parent), self._encode(X)[BLOCK]
        there = ~np.isnan(x[:, j])
        index = None if y is None else self._class_index(np.asarray(y))[there]
        self.prior_.model({BLOCK: x[there]}, index, j)

    @reads_one_state
    def sample_posterior(
        self,
        draws: int = 1000,
        seed: int = 0,
        method: str = "exact",
        *,
        X: Any = None,
        y: Any = None,
        chains: int = 4,
        warmup: int = 1000,
        progress_bar: bool = True,
        parent: Any = 0,
    ) -> Any:
        """Posterior draws of the model of one parent as ArviZ data; see `AbstractNB.sample_posterior`.

        Parameters
        ----------
        parent : name or number of the parent's column; the class of the draws is the pair of class and parent level
        """
        nb = self.parent(parent)
        given: dict[str, Any] = {"X": None, "y": None}
        if X is not None and y is not None:
            given = {"X": self._children_of(X, self._position(parent)), "y": self.pairs(X, y, parent)}
        elif X is not None or y is not None:
            raise ValueError("`X` and `y` go together; one of them is missing")
        return nb.sample_posterior(
            draws, seed, method, **given, chains=chains, warmup=warmup, progress_bar=progress_bar
        )

    @reads_one_state
    def check(self, X: Any, y: Any, seed: int = 0, *, parent: Any = 0, **settings: Any) -> "CheckReport":
        """Closed form against NumPyro for the model of one parent, naive Bayes of pairs; see `AbstractNB.check`.

        Parameters
        ----------
        parent : name or number of the parent's column; rows where it is missing are left out
        """
        fitted = clone(self).set_params(weights="uniform").fit(X, y)
        j = fitted._position(parent)
        there = np.flatnonzero(~np.isnan(fitted._encode(X)[BLOCK][:, j]))
        X, y = _safe_indexing(X, there), np.asarray(y)[there]
        return fitted.parent(j).check(fitted._children_of(X, j), fitted.pairs(X, y, j), seed, **settings)

    def _children_of(self, X: Any, j: int) -> Any:
        """The columns of X but one."""
        rest = np.delete(np.arange(self.n_features_in_), j)
        return _safe_indexing(X if hasattr(X, "columns") else np.asarray(X), rest, axis=1)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True  # on the blobs of scikit-learn's checks, as CategoricalNB
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.input_tags.positive_only = True
        return tags


def _checked_draws(method: str, n_draws: int | None) -> int:
    if method not in ("auto", "draws"):
        raise ValueError(f"`method` is {method!r}; OneDependenceNB has 'draws', which 'auto' takes")
    if n_draws is not None and n_draws < 2:
        raise ValueError(f"`n_draws` is {n_draws}; it needs to be at least 2, better 1,000")
    return n_draws or 1000
