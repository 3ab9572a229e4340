"""Averaged one-dependence estimators for scikit-learn users."""

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import _safe_indexing

from ..core.arrays import Scalar
from ..core.supports import checked_numbers
from ..families.categorical import DirichletCategorical
from ..naive_bayes import NaiveBayes, Rows, Statistics
from ..one_dependence import BLOCK, OneDependence, diagonal
from ..statistics import Counts
from ._fitted import State
from ._input import Unavailable
from ._levels import AbstractLevels, counted_levels, places_among, sizes_of
from .categorical import CategoricalNB

if TYPE_CHECKING:
    from ..inference.report import CheckReport

_MAX_BYTES = 1 << 30  # of the table of counts: batches hold nearly four of that size, prediction up to five more


@dataclass(kw_only=True, eq=False, repr=False)
class OneDependenceNB(AbstractLevels):
    """Averaged one-dependence estimators for features with levels: p(y, x) = 1/d Σ_j p(y, x_j) Π_{i≠j} p(x_i | y, x_j).

    Naive Bayes assumes that features are independent given the class. Here every feature may depend on the class and on
    one other feature, the parent. Each feature is the parent in one of d models, and the d models are averaged. The
    model therefore sees all pairs of features. It costs n·d² additions and needs no search.

    Parameters
    ----------
    alpha : float or (d,), default 1
        pseudo-count of each level of a feature, given a class and a level of the parent, positive
    prior : optional
        a prior of your own for the levels of a feature, given a class and a level of the parent. It is NumPyro's
        `dist.Dirichlet([5, 1, 1])`, or one pseudo-count for each level. As in `CategoricalNB`, it may be a mapping from
        column to one of these. Columns that are not named keep `alpha`
    pair_alpha : float, default 1
        number of pseudo-rows of the table p(y, x_j) of each parent, split equally over its c·k_j pairs, positive
    min_categories : int, (d,) or None, default None
        smallest number of levels of a feature of whole numbers; its levels are 0 … max

    Attributes
    ----------
    parent_log_evidence_ : (d,) log p(X, y) of the model of each parent in nats, over the rows whose x_j is not missing
    log_evidence_ : log of the mean of these evidences, if no parent has a missing cell; see the Notes
    categories_, n_categories_ : levels of each feature, and their number, as in `CategoricalNB`
    classes_, n_features_in_, feature_names_in_ : as in scikit-learn
    statistics_ : the table of counts [y, u, v] of pairs of levels; `prior_`, `posterior_`: `OneDependence` before and
        after it

    Notes
    -----
    Levels have the forms that `CategoricalNB` accepts: strings, pandas categoricals and whole numbers. Bin real numbers
    first, in a pipeline: `make_pipeline(EvidenceBinner(), OneDependenceNB())`.

    Model j leaves out a row whose x_j is missing. In prediction it also leaves out a row whose x_j is a level that was
    not in the training rows. In training such a row adds nothing to model j. The prediction is the mean of the other
    models. Any other missing cell is left out of the product. A row without any cell gets the class frequencies.

    *Evidence.* The model of each parent has an evidence. Now consider one model with a single unknown parent for all
    rows, where all parents are equally probable. `log_evidence_` is the evidence of that model, so `compare` can rank
    it against any other model of the same cells. The predictive of that model weights the parents by their evidence,
    and soon uses only one of them. The average here keeps equal weights. It predicts better, but has no evidence of its
    own. With missing cells the parents describe different rows, so there is no `log_evidence_`.

    *Draws.* A draw consists of a parent j, all equally probable, and the parameters of its model. Intervals and
    `uncertainty` therefore show how much the probability would change if the parent and the parameters were known. The
    intervals are wide if the parents disagree. `method` is "auto" or "draws", which are the same here.

    References
    ----------
    Webb, Boughton & Wang (2005), Not so naive Bayes: aggregating one-dependence estimators, Machine Learning 58.

    Examples
    --------
    The class is whether two coins agree. A single coin does not predict it.

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

    alpha: Any = 1.0
    pair_alpha: float = 1.0
    min_categories: Any = None
    fit_prior: bool = field(default=True, init=False)  # each class is learnt together with a parent
    class_prior: Any = field(default=None, init=False)
    priors: Any = field(default=None, init=False)
    class_alpha: Any = field(default=1.0, init=False)
    estimate: str = field(default="predictive", init=False)  # of levels it is the posterior mean

    _advice = (
        "Bin the column first, with `make_pipeline(EvidenceBinner(), OneDependenceNB())`, or pass it as strings "
        "(on the command line: --columns NAME=levels)."
    )
    _family = OneDependence
    _most_columns = 60

    # --- levels and prior -------------------------------------------------------------------------------------------

    def _recode(self, state: State, levels: list[np.ndarray]) -> State:
        sizes = sizes_of(replace(state, encoding=levels))
        n_bytes = 8 * len(state.classes) * int(sizes.sum()) ** 2
        if n_bytes > _MAX_BYTES:
            largest = int(sizes.argmax())
            raise ValueError(
                f"`X` has {sizes.sum()} levels, {sizes[largest]} of them in column {state.columns.label(largest)}; the "
                f"table of their pairs would need {n_bytes >> 20:,} MiB. Leave out columns that identify rows, or "
                "merge levels"
            )
        return super()._recode(state, levels)

    def _moved(self, state: State, after: State) -> dict[str, Any]:
        first = _first_levels(state)  # of each feature, in the table of all levels before
        first_after = _first_levels(after)
        source = []
        target = []
        for j, (levels, levels_after) in enumerate(zip(state.encoding, after.encoding, strict=True)):
            source.append(first[j] + np.arange(len(counted_levels(levels))))
            target.append(first_after[j] + places_among(counted_levels(levels), levels_after))
        block = state.statistics.blocks[BLOCK]
        move = _PairsMoved(np.concatenate(source), np.concatenate(target), first_after[-1])
        error = {name: move.table(value) for name, value in (block.error or {}).items() if name == "n"}
        return {BLOCK: Counts(move.table(block.n), np.zeros(len(block.n)), error)}

    def _rows(self, state: State, X: Any) -> Rows:
        return {BLOCK: self._codes(state, X).astype(float, copy=False)}

    def _pseudo_counts(self, state: State) -> list[np.ndarray]:
        """Pseudo-counts of the levels of each feature, (c, k_j) each."""
        nb = CategoricalNB(alpha=self.alpha, prior=self.prior)
        blocks = nb._blocks(state.bare)
        by_column = {}
        for name, columns in nb.block_columns(state).items():
            for i, j in enumerate(columns.tolist()):
                by_column[j] = blocks[name].alpha[:, i]
        return [by_column[j] for j in range(state.columns.n)]

    def _prior(self, state: State) -> Any:
        total = float(checked_numbers("pair_alpha", self.pair_alpha, ()))
        alpha = np.concatenate(self._pseudo_counts(state), -1)
        return OneDependence.prior(len(state.classes), sizes_of(state).tolist(), alpha, total)

    _gatherer = _prior

    @property
    def class_prior_parameter(self) -> str:
        """There is none; reading it raises a ValueError. Provisional."""
        raise Unavailable("OneDependenceNB has no class prior to set; give a `sample_weight` that weighs the classes")

    def _blocks(self, state: State) -> dict[str, Any]:
        raise ValueError("OneDependenceNB averages models, so it cannot be a part of another model; use CategoricalNB")

    def _draw(self, state: State, model: Any, rng: np.random.Generator, n: int, length: Any) -> tuple[Rows, np.ndarray]:
        x, y = model.sample_predictive(rng, n)
        return {BLOCK: x}, y

    def linear_form(self, theta: Any = None) -> Any:
        """There is none; calling it raises a ValueError. Provisional."""
        raise Unavailable("OneDependenceNB averages models, so it has no linear form; use CategoricalNB")

    def prior_summary(self) -> Any:
        """There is none; calling it raises a ValueError."""
        raise Unavailable("OneDependenceNB averages models, so it has no summary of one prior; see `prior_`")

    # --- what the posterior tells -----------------------------------------------------------------------------------

    @property
    def parent_log_evidence_(self) -> np.ndarray:
        """log p(X, y | parent j) of the rows whose x_j is not missing, (d,), in nats."""
        state = self._fitted()
        return state.prior.log_marginal(state.statistics)

    @property
    def log_evidence_(self) -> float:
        """log (1/d) Σ_j p(X, y | parent j), in nats: one unknown parent for all rows, all parents equally probable."""
        state = self._fitted()
        n_rows = state.statistics.n.sum()
        n_present = state.posterior.sum_over_levels(diagonal(state.statistics.blocks[BLOCK].n).sum(0))
        has_missing = n_present < n_rows * (1 - 1e-12)
        if has_missing.any():
            column = state.columns.label(int(has_missing.argmax()))
            raise AttributeError(
                f"OneDependenceNB has no log_evidence_ here: column {column} has missing cells, so the models describe "
                "different rows. Compare by `loo`"
            )
        evidence = state.prior.log_marginal(state.statistics)  # (d,), of the model of each parent
        return float(np.logaddexp.reduce(evidence) - np.log(len(evidence)))

    def tables(self, features: Any = None, *, level: Scalar = 0.9) -> Any:
        """P(level | class) of each feature in the model where it is the parent; see `AbstractNB.tables`."""
        state = self._fitted()
        nb = CategoricalNB()
        pairs = state.posterior.alpha
        blocks: dict[str, Any] = {}
        counts = {}
        for name, columns in nb.block_columns(state).items():
            levels = [state.posterior.levels(j) for j in columns.tolist()]
            alpha = np.stack([diagonal(pairs[:, of_column, of_column]) for of_column in levels], 1)
            blocks[name] = DirichletCategorical(alpha)
            counts[name] = Counts(alpha, alpha[..., 0])
        # the posterior of the levels as the prior of a model that has seen no rows
        no_rows = Statistics(state.statistics.n, counts).zero()
        nb._state = replace(state, statistics=no_rows, prior=NaiveBayes(state.posterior.classes, blocks))
        return nb.tables(features, level=level)

    # --- the model of one parent ------------------------------------------------------------------------------------

    def _of_parent(self, parent: Any, X: Any = None, y: Any = None) -> tuple[CategoricalNB, Any, Any]:
        """`CategoricalNB` of all features but one, whose classes are the pairs y·k_j + u of class and its level.

        Rows and labels become those of this model; a row whose x_j is missing is left out.
        """
        state = self._fitted()
        c, d = state.shape
        j = state.columns.place(parent)
        if j is None or d == 1:
            raise ValueError(
                f"`parent` is {parent!r}; give the name or the number of one of several features, of which here are {d}"
            )
        others = np.delete(np.arange(d), j)
        k = int(sizes_of(state)[j])
        pseudo_counts = self._pseudo_counts(state)
        prior = {i: np.repeat(pseudo_counts[column], k, axis=0) for i, column in enumerate(others)}
        nb = CategoricalNB(class_alpha=self.pair_alpha / (c * k), prior=prior)
        nb._state = State(np.arange(c * k), state.columns.take(others), [state.encoding[i] for i in others])
        nb = nb.with_statistics(state.posterior.parent_statistics(j, state.statistics))
        if X is None:
            return nb, None, None
        X = self._checked(X, state)[0]
        parent_level = self._codes(state, X)[:, j]
        has_parent = np.flatnonzero(~np.isnan(parent_level))
        rows = _safe_indexing(_safe_indexing(X, others, axis=1), has_parent)
        return nb, rows, self.class_index(y)[has_parent] * k + parent_level[has_parent].astype(int)

    def numpyro_model(self, X: Any = None, y: Any = None, parent: Any = 0, **settings: Any) -> None:
        """The generative model of one parent in NumPyro, with this estimator's prior.

        The estimator is the average of these models; the average itself has no NumPyro model. The pairs are
        (y, x_j) ~ Categorical(pi), and all other features are x_i ~ Categorical(theta[pair]). The sites of the data are
        `y`, the pairs, and `x`.

        Parameters
        ----------
        X, y : rows and labels as in `fit`, or none; a row whose parent is missing is left out
        parent : name or number of the parent's column
        """
        nb, rows, pairs = self._of_parent(parent, X, y)
        nb.numpyro_model(rows, pairs, **settings)

    def sample_posterior(self, *args: Any, X: Any = None, y: Any = None, parent: Any = 0, **settings: Any) -> Any:
        """Posterior draws of the model of one parent as ArviZ data; see `AbstractNB.sample_posterior`.

        Parameters
        ----------
        parent : name or number of the parent's column; the classes of the draws are pairs of class and parent level
        """
        nb, rows, pairs = self._of_parent(parent, X, y)
        return nb.sample_posterior(*args, X=rows, y=pairs, **settings)

    def check(
        self, X: Any, y: Any, seed: int = 0, *, sample_weight: Any = None, parent: Any = 0, **settings: Any
    ) -> "CheckReport":
        """Compare the closed form with NumPyro for the model of one parent; see `AbstractNB.check`.

        Parameters
        ----------
        sample_weight : (n,) weights of an integer type, which count rows
        parent : name or number of the parent's column; rows where it is missing are left out
        """
        from ..inference.held_out import counted_rows

        X, y = counted_rows(X, np.asarray(y), sample_weight)
        nb, rows, pairs = clone(self).fit(X, y)._of_parent(parent, X, y)
        return nb.check(rows, pairs, seed, **settings)


@dataclass(frozen=True)
class _PairsMoved:
    """Where the levels of a table of pairs go when levels are added.

    Fields
    ------
    source, target : (m,) places of each level before and after
    size : number of levels after
    """

    source: np.ndarray
    target: np.ndarray
    size: int

    def table(self, pairs: np.ndarray) -> np.ndarray:
        """A table [y, u, v] of all pairs of levels, with zeros for the levels that are new."""
        moved = np.zeros((len(pairs), self.size, self.size))
        moved[:, self.target[:, None], self.target] = pairs[:, self.source[:, None], self.source]
        return moved


def _first_levels(state: State) -> np.ndarray:
    """The place of the first level of each feature in the table of all levels, and their number, (d + 1,)."""
    return np.concatenate([[0], np.cumsum(sizes_of(state))])
