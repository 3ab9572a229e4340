"""Averaged one-dependence estimators for scikit-learn users."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import _safe_indexing

from ..families.categorical import DirichletCategorical
from ..models.naive_bayes import NaiveBayes, Rows, Statistics
from ..models.one_dependence import BLOCK, OneDependence, diagonal
from ..numerics.arrays import Scalar
from ..numerics.supports import checked_numbers
from ..sums.statistics import Counts
from ._fitted import State
from ._input import Unavailable
from ._levels import AbstractLevels, counted_levels, places_among, sizes_of
from .categorical import CategoricalNB

if TYPE_CHECKING:
    from ..check.report import CheckReport

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

    _advice = (
        "Bin the column first, with `make_pipeline(EvidenceBinner(), OneDependenceNB())`, or pass it as strings "
        "(on the command line: --columns NAME=levels)."
    )
    _family = OneDependence
    _most_columns = 60

    # --- levels and prior -------------------------------------------------------------------------------------------

    def _recode(self, state: State, levels: list[np.ndarray]) -> State:
        """As in `AbstractLevels`; ValueError if the table of all pairs of levels would be too large.

        The statistics are counts [y, u, v] of rows of class y that have both level u and level v, where u and v run
        over the K levels of all columns. The table has c·K² numbers, whatever the number of rows.

        Parameters
        ----------
        levels : of each column, all that the state shall know
        """
        # a state is what was learnt; its encoding is the list of the levels of each column
        sizes = sizes_of(replace(state, encoding=levels))  # (d,), number of levels of each column
        n_levels = int(sizes.sum())  # K
        n_bytes = 8 * len(state.classes) * n_levels**2  # a number of float64 has 8 bytes
        if n_bytes > _MAX_BYTES:
            largest = int(sizes.argmax())
            raise ValueError(
                f"`X` has {sizes.sum()} levels, {sizes[largest]} of them in column {state.columns.label(largest)}; the "
                f"table of their pairs would need {n_bytes >> 20:,} MiB. Leave out columns that identify rows, or "
                "merge levels"
            )
        return super()._recode(state, levels)

    def _move_counts(self, state: State, after: State) -> dict[str, Any]:
        """The table of pairs of a state in the encoding of another state, with zeros for levels that are new.

        The levels of all features share one axis of the table, feature after feature. Let feature 0 have the levels a,
        b and feature 1 the levels s, t. They stand at the places

            a b | s t        0 1 | 2 3           feature 1 begins at place 2

        If feature 0 gets the level c, the levels of feature 1 move by one place:

            a b c | s t      0 1 2 | 3 4         feature 1 begins at place 3

        So the old places (0, 1, 2, 3) become the new places (0, 1, 3, 4), and place 2 has zeros.

        Parameters
        ----------
        state : with the table; its encoding is the list of the levels of each feature
        after : the same features with all levels of `state` and new ones; its own statistics are not read
        """
        begins_before = _first_levels(state)  # (d + 1,), the place at which the levels of each feature begin
        begins_after = _first_levels(after)

        # the old and the new place of each level that has counts: the place at which its feature begins, plus its
        # position among the levels of the feature. `places_among` gives the position of each old level among the new
        places_before = []
        places_after = []
        for j, (levels, levels_after) in enumerate(zip(state.encoding, after.encoding, strict=True)):
            counted = counted_levels(levels)  # none in a feature without a cell, whose levels are placeholders
            places_before.append(begins_before[j] + np.arange(len(counted)))
            places_after.append(begins_after[j] + places_among(counted, levels_after))
        n_levels_after = begins_after[-1]
        move = _PairsMoved(np.concatenate(places_before), np.concatenate(places_after), n_levels_after)

        # the counts, and the variances of their rounding, if these are known. The only block of statistics is the table
        # [y, u, v], (c, k, k), and `move.table` gives the larger one
        counts = state.statistics.blocks[BLOCK]
        error = {}
        if counts.error and "n" in counts.error:
            error["n"] = move.table(counts.error["n"])
        log_base_measure = np.zeros(len(counts.n))  # of a categorical it is log 1
        return {BLOCK: Counts(move.table(counts.n), log_base_measure, error)}

    def _rows_by_block(self, state: State, X: Any) -> Rows:
        """Some validated rows as positions among the levels of each column, in float64."""
        return {BLOCK: self._codes(state, X).astype(float, copy=False)}

    def _pseudo_counts(self, state: State) -> list[np.ndarray]:
        """Pseudo-counts of the k_j levels of each feature j, (c, k_j) each, as `CategoricalNB` has them.

        `CategoricalNB` checks `alpha` and `prior`, and makes prior blocks of them. A block holds all columns with the
        same number of levels, so the blocks are taken apart into columns.

        Parameters
        ----------
        state : with classes and columns, and with the levels of each column as its encoding
        """
        # a block is the Dirichlet prior of all columns with the same number of levels, with `alpha` (c, columns of the
        # block, levels). `block_columns` has the positions of these columns in X
        nb = CategoricalNB(alpha=self.alpha, prior=self.prior)
        blocks = nb._blocks(state.without_rows)
        by_column = {}  # (c, k_j), by the position j of the column
        for name, columns in nb._block_columns(state).items():
            for within_block, j in enumerate(columns.tolist()):
                by_column[j] = blocks[name].alpha[:, within_block]
        return [by_column[j] for j in range(state.columns.n)]

    def _prior(self, state: State) -> Any:
        """The model before the rows: pseudo-counts α of the levels, given the pair of class and level of the parent.

        The pairs of each parent share `pair_alpha` pseudo-rows.
        """
        total = float(checked_numbers("pair_alpha", self.pair_alpha, ()))
        alpha = np.concatenate(self._pseudo_counts(state), -1)  # (c, k), k levels of all features
        return OneDependence.prior(len(state.classes), sizes_of(state).tolist(), alpha, total)

    _model_of_statistics = _prior

    # --- what it does not have: each message says what to use -------------------------------------------------------

    @property
    def _class_prior_parameter(self) -> str:
        """There is none; reading it raises a ValueError."""
        raise Unavailable("OneDependenceNB has no class prior to set; give a `sample_weight` that weighs the classes")

    def _linear_form(self, state: State, theta: Any) -> Any:
        """There is none; calling it raises a ValueError."""
        raise Unavailable("OneDependenceNB averages models, so it has no linear form; use CategoricalNB")

    def prior_summary(self) -> Any:
        """There is none; calling it raises a ValueError."""
        raise Unavailable("OneDependenceNB averages models, so it has no summary of one prior; see `prior_`")

    # --- what the posterior tells -----------------------------------------------------------------------------------

    def _draw_rows(
        self, state: State, model: Any, rng: np.random.Generator, n: int, length: Any
    ) -> tuple[Rows, np.ndarray]:
        """n new rows by block, and their class indices; rows of levels have no `length`."""
        x, y = model.sample_predictive(rng, n)
        return {BLOCK: x}, y

    @property
    def parent_log_evidence_(self) -> np.ndarray:
        """log p(X, y | parent j) of the rows whose x_j is not missing, (d,), in nats."""
        state = self._fitted()
        return state.prior.log_marginal(state.statistics)

    @property
    def log_evidence_(self) -> float:
        """log (1/d) Σ_j p(X, y | parent j), in nats: one unknown parent for all rows, all parents equally probable."""
        state = self._fitted()

        # the model of a parent leaves out rows in which the parent is missing, so the models describe the same rows
        # only if no cell is missing. The table of counts n[y, u, v] has on its diagonal n[y, u, u], the number of rows
        # of class y with level u. Summed over the classes, and over the levels of each feature, it is the number of
        # rows in which the feature is known
        n_rows = state.statistics.n.sum()
        n_of_levels = diagonal(state.statistics.blocks[BLOCK].n).sum(0)  # (k,)
        n_present = state.posterior.sum_over_levels(n_of_levels)  # (d,)
        has_missing = n_present < n_rows * (1 - 1e-12)  # as sums of weights are rounded
        if has_missing.any():
            column = state.columns.label(int(has_missing.argmax()))
            raise AttributeError(
                f"OneDependenceNB has no log_evidence_ here: column {column} has missing cells, so the models describe "
                "different rows. Compare by `loo`"
            )
        evidence = state.prior.log_marginal(state.statistics)  # (d,), of the model of each parent
        return float(np.logaddexp.reduce(evidence) - np.log(len(evidence)))

    def tables(self, features: Any = None, *, level: Scalar = 0.9, feature_names: Any = None) -> Any:
        """P(level | class) of each feature in the model where it is the parent; see `AbstractNB.tables`.

        In that model (y, x_j) ~ Dirichlet, so x_j given the class is Dirichlet too, with the pseudo-counts of the pairs
        of that class. This is the posterior of a `CategoricalNB`, which makes the tables.

        Parameters
        ----------
        features : names or numbers of features, or one of them; None takes all
        level : posterior mass inside the intervals
        feature_names : (d,) names of the features, where the rows had none, or what made the rows
        """
        state = self._fitted()
        nb = CategoricalNB()
        alpha_of_pairs = state.posterior.alpha  # (c, k, k), [y, u, v] over the k levels of all features

        # the entries [y, u, u] on the diagonal are the pseudo-counts of level u in class y. `CategoricalNB` takes them
        # in blocks, each of the columns with one number of levels
        blocks: dict[str, Any] = {}
        counts = {}
        for name, columns in nb._block_columns(state).items():
            alpha_of_columns = []
            for j in columns.tolist():
                places = state.posterior.levels(j)  # slice of the levels of feature j among those of all features
                alpha_of_columns.append(diagonal(alpha_of_pairs[:, places, places]))  # (c, k_j)
            alpha = np.stack(alpha_of_columns, 1)  # (c, columns of the block, k_j)
            blocks[name] = DirichletCategorical(alpha)
            counts[name] = Counts(alpha, alpha[..., 0])  # only its shapes count: `zero` below replaces the numbers

        # the posterior of the levels is given as the prior of a model that has seen no rows: its posterior is then the
        # same density, whose tables `CategoricalNB` makes
        no_rows = Statistics(state.statistics.n, counts).zero()
        nb._state = replace(state, statistics=no_rows, prior=NaiveBayes(state.posterior.classes, blocks))
        return nb.tables(features, level=level, feature_names=feature_names)

    # --- the model of one parent ------------------------------------------------------------------------------------

    def _of_parent(self, parent: Any, X: Any = None, y: Any = None) -> tuple[CategoricalNB, Any, Any]:
        """The model of one parent as a `CategoricalNB`, with rows and labels in its form.

        In the model of parent j, p(y, x) = p(y, x_j) Π_{i≠j} p(x_i | y, x_j). This is naive Bayes of the other
        features, in which the pairs of class y and level u of the parent are the classes. The pair (y, u) has the
        number y·k_j + u: with k_j = 3 levels, class 0 has the pairs 0, 1, 2, and class 1 the pairs 3, 4, 5.

        Parameters
        ----------
        parent : name or position of the parent's column
        X, y : rows and labels of this estimator, or None

        Returns
        -------
        nb : fitted to the rows of this estimator
        rows, pairs : the rows without the parent's column, and the numbers of their pairs; None where X is None. Rows
            whose parent is missing are left out
        """
        nb, j = self._model_of_parent(parent)
        if X is None:
            return nb, None, None

        # rows in which the parent is known, without the parent's column. `_codes` gives the position of each cell among
        # the levels of its column, (n, d), NaN where it is missing
        state = self._fitted()
        X, _, _ = self._validate(X, state)  # rows, checked
        parent_level = self._codes(state, X)[:, j]  # (n,), u of each row
        has_parent = np.flatnonzero(~np.isnan(parent_level))
        others = np.delete(np.arange(state.columns.n), j)
        rows = _safe_indexing(_safe_indexing(X, others, axis=1), has_parent)

        # the number y·k_j + u of the pair of class y and parent level u is the label in the model of the parent
        n_levels = int(sizes_of(state)[j])
        class_index = self.model_.class_index(y)[has_parent]  # y: the position of each label among the classes
        pairs = class_index * n_levels + parent_level[has_parent].astype(int)
        return nb, rows, pairs

    def _model_of_parent(self, parent: Any) -> tuple[CategoricalNB, int]:
        """The `CategoricalNB` of `_of_parent`, and the position j of the parent's column.

        It is not fitted to rows: its counts are those of the table of pairs of levels, which this estimator has.

        Parameters
        ----------
        parent : name or position of the parent's column
        """
        state = self._fitted()
        c, d = state.shape
        j = state.columns.place(parent)  # None where there is no such column
        if j is None or d == 1:
            raise ValueError(
                f"`parent` is {parent!r}; give the name or the number of one of several features, of which here are {d}"
            )

        # the prior: `pair_alpha` pseudo-rows in equal shares for the c·k_j pairs; and for each other feature i the
        # pseudo-counts of its levels, (c, k_i), which are the same in the k_j pairs of a class, so (c·k_j, k_i)
        others = np.delete(np.arange(d), j)
        n_levels = int(sizes_of(state)[j])  # k_j
        n_pairs = c * n_levels
        pseudo_counts = self._pseudo_counts(state)
        prior_by_column = {}
        for position, i in enumerate(others):  # columns are counted without the parent's
            prior_by_column[position] = np.repeat(pseudo_counts[i], n_levels, axis=0)
        nb = CategoricalNB(class_alpha=self.pair_alpha / n_pairs, prior=prior_by_column)

        # what a fit would have learnt is put together by hand, as a `State`: the labels, here the numbers of pairs; the
        # other columns; and the levels of each as the encoding. `parent_statistics` reads the counts of the pairs, and
        # of the levels of the other features in each pair, from the table of this estimator; `with_statistics` gives
        # the `CategoricalNB` that has learnt them
        pairs_as_labels = np.arange(n_pairs)
        levels_of_others = [state.encoding[i] for i in others]
        nb._state = State(pairs_as_labels, state.columns.take(others), levels_of_others)
        counts = state.posterior.parent_statistics(j, state.statistics)
        return nb.model_.with_statistics(counts), j

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
        from ..posterior.held_out import counted_rows

        # the rows of weight 2 become two rows each, because NumPyro's model knows no weights
        X, y = counted_rows(X, np.asarray(y), sample_weight)
        fitted = clone(self).fit(X, y)  # this estimator does not change
        nb, rows, pairs = fitted._of_parent(parent, X, y)  # the model of the parent, and rows and labels in its form
        return nb.check(rows, pairs, seed, **settings)


@dataclass(frozen=True)
class _PairsMoved:
    """Where the levels of a table of pairs go when levels are added.

    Fields
    ------
    before, after : (m,) the place of each level in the table before and after
    n_levels : number of levels after
    """

    before: np.ndarray
    after: np.ndarray
    n_levels: int

    def table(self, pairs: np.ndarray) -> np.ndarray:
        """The table of counts [y, u, v] with its levels at their new places, and zeros for the levels that are new.

        Parameters
        ----------
        pairs : (c, k, k), the table before
        """
        # the entry of the old places (u, v) of each class goes to the new places. Rows (m, 1) and columns (m,) together
        # select the table (m, m) of all pairs of places: with the places 0, 1, 3 after the move, the old entry (2, 0)
        # becomes the entry (3, 0)
        old_rows = self.before[:, None]
        new_rows = self.after[:, None]
        moved = np.zeros((len(pairs), self.n_levels, self.n_levels))
        moved[:, new_rows, self.after] = pairs[:, old_rows, self.before]
        return moved


def _first_levels(state: State) -> np.ndarray:
    """The place at which the levels of each feature begin among those of all, and at the end their number, (d + 1,).

    Features with 2, 3 and 2 levels give (0, 2, 5, 7).
    """
    return np.concatenate([[0], np.cumsum(sizes_of(state))])
