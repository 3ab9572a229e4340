"""Averaged one-dependence estimators: every feature in turn is a second parent of all others.

Model j lets all features depend on the class and on feature j, the parent:

    p_j(y, x | θ) = p(y, x_j) Π_{i≠j} p(x_i | y, x_j)
    (p(y, x_j)) ~ Dirichlet(a / (c k_j), …)          one cell for each pair of a class and a level of the parent
    (p(x_i | y, x_j)) ~ Dirichlet(α_i, …)            one density for each such pair

So model j is naive Bayes of the compound class (y, x_j). `parent` gives it as a `NaiveBayes` of the usual blocks, with
evidence, draws, leave-one-out and NumPyro twin. The prediction is the mean of the d models,

    p(y, x) = 1/d Σ_j p_j(y, x | data)

Everything is made of one table of counts, n[y, u, v] = Σ_i r_iy [row i has level u and level v]: u and v run over the
K = Σ_j k_j levels of all features. Row u of the table holds the counts of the compound class (y, u), and n[y, u, u] its
weight. The table is symmetric, and tables of disjoint sets of rows add.

A row whose x_j is missing has no compound class: it is left out of model j, in fitting and in prediction, which is then
the mean of the other models. Any other missing cell is left out of the product.

References
----------
Webb, Boughton & Wang (2005), Not so naive Bayes: aggregating one-dependence estimators, Machine Learning 58, eq. (6):
there without parents that have less than m = 30 rows, and with m-estimates; here with Dirichlet priors, whose
predictives are also right where a parent has few rows.
"""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse

from ..families.categorical import DirichletCategorical
from ..families.classes import DirichletClasses
from ..numerics.arrays import Array, Bool, Float, Int, Real, Sparse, Theta
from ..numerics.orders import shapley_of_cells
from ..numerics.pytrees import pytree
from ..numerics.special import log_rising, logsumexp
from ..numerics.supports import COUNT, Cells, Field
from ..sums.rows import is_one_hot, remove_row, slices, use_compiled_loop
from ..sums.statistics import Counts, class_totals
from .base import CLASS, AbstractModel, Hyperparameter, Parameters, hyperparameters_of
from .naive_bayes import NaiveBayes, Rows, Statistics

_CELLS = 1 << 20  # numbers of a temporary table
BLOCK = "x"  # the name of the table among statistics, and of the levels among rows


@pytree
@dataclass(frozen=True)
class OneDependence(AbstractModel):
    """Dirichlet densities of all d models, prior or posterior.

    Rows are levels 0 … k_j − 1 of each feature by the name "x", NaN where a cell is missing.

    Fields
    ------
    classes : DirichletClasses   of the label alone, a/c for each class: the sum over the pairs of any parent
    alpha : (c, k, k)            pseudo-counts: [y, u, v] of level v, given class y and level u of the parent; on the
        diagonal [y, u, u] those of the pair (y, u) itself. Two levels of one feature never meet: there it holds 1
    sizes : (d,)                 number of levels of each feature; k is their sum
    """

    classes: DirichletClasses
    alpha: Float[Array, "c k k"]
    sizes: tuple[int, ...] = field(metadata={"static": True})

    # what `OneDependenceNB` reads of it, as of a family
    missing_value: ClassVar[float] = float("nan")
    """Marker of a missing cell, which is left out: NaN."""
    cells_: ClassVar[Cells] = Cells("levels")
    """What a cell is."""

    @classmethod
    def prior(cls, n_classes: int, sizes: Sequence[int], alpha: Float[np.ndarray, "*c k"], total: float) -> Self:
        """The prior: a pseudo-count for each level, and `total` pseudo-rows shared by the pairs of each parent.

        Parameters
        ----------
        n_classes, sizes : number of classes, and of levels of each feature
        alpha : (k,) pseudo-count of each level of each feature, or (c, k) where classes differ; the same under all
            parents
        total : pseudo-rows of the model of each parent, shared equally by its pairs of class and level
        """
        # the feature that each level belongs to, (k,): features with 2 and 1 levels have the levels 0 1 2 in all, and
        # `feature` is 0 0 1
        feature = np.repeat(np.arange(len(sizes)), sizes)

        # table[y, u, v]: class y, level u of the parent, level v of a child; u and v run over the k levels of all
        # features. The pseudo-count of v is the same for all u. Two levels of one feature never occur together: there
        # stands a 1, which is not used
        alpha_of_children = alpha[..., None, :]  # (1, k), or (c, 1, k) where classes differ
        is_same_feature = feature[:, None] == feature  # (k, k); in the example True for the levels 0 and 1
        table = np.where(is_same_feature, 1.0, alpha_of_children)  # (k, k) or (c, k, k)

        # on the diagonal stands the pair of class y and level u: a parent with k_j levels has c·k_j such pairs, which
        # share `total` equally
        level = np.arange(len(feature))
        n_pairs = n_classes * np.asarray(sizes)[feature]  # (k,), of the parent that has the level
        table[..., level, level] = total / n_pairs

        classes = DirichletClasses(np.full(n_classes, total / n_classes))
        table_by_class = np.broadcast_to(table, (n_classes, *table.shape[-2:]))  # (c, k, k)
        return cls(classes, table_by_class, tuple(sizes))

    @property
    def cells(self) -> dict[str, Cells]:
        """All columns are levels, in one block."""
        return {BLOCK: self.cells_}

    @property
    def is_improper(self) -> bool:
        """Never: all pseudo-counts are positive."""
        return False

    def hyperparameters(self) -> list[Hyperparameter]:
        """The pseudo-rows of the classes, and the table of pseudo-counts, which are their own size."""
        counts = Field(COUNT, ("class", "level", "level"))
        size = partial(abs, self.alpha)
        table = Hyperparameter(BLOCK, "alpha", self.alpha, counts, size, len(self.sizes))
        return [*hyperparameters_of(CLASS, self.classes), table]

    def min_chunk_cells(self) -> int:
        """Cells of rows that are worth a pass over the table."""
        return 2 * int(np.prod(self.alpha.shape))

    # --- where levels stand -------------------------------------------------------------------------------------------

    @property
    def offsets(self) -> Int[np.ndarray, " m"]:
        """Where the levels of each feature begin, and the number of all levels at the end, (d + 1,).

        The levels of all features stand side by side: features with 2, 3 and 2 levels have (0, 2, 5, 7).
        """
        return np.concatenate([[0], np.cumsum(self.sizes)])

    def levels(self, j: int) -> slice:
        """The places of the levels of feature j among those of all features."""
        ends = self.offsets
        return slice(int(ends[j]), int(ends[j + 1]))

    def places(self, x: Real[np.ndarray, "n d"]) -> Int[np.ndarray, "n d"]:
        """The place of each cell's level among all k levels; −1 where the cell is missing.

        It is the level plus the place at which the levels of the feature begin.

        Parameters
        ----------
        x : (n, d), levels 0 … k_j − 1 of each feature; NaN, or another number, is a missing cell
        """
        is_observed = (x >= 0) & (x < np.asarray(self.sizes))  # False for NaN
        level = np.where(is_observed, x, 0).astype(np.intp)
        return np.where(is_observed, level + self.offsets[:-1], -1)

    def indicators(self, x: Real[np.ndarray, "n d"]) -> Sparse:
        """Z (n, k): 1 at the place of each cell's level; a missing cell has no entry."""
        places = self.places(x)
        is_observed = places >= 0
        # CSR: the columns of the entries row by row, and where the entries of each row end. Rows with 2, 0 and 1
        # observed cells have the ends (0, 2, 2, 3)
        ends = np.concatenate([[0], np.cumsum(is_observed.sum(1))])
        shape = len(x), int(self.offsets[-1])
        return sparse.csr_array((np.ones(ends[-1]), places[is_observed], ends), shape=shape)

    def sum_over_levels(self, table: Array) -> Array:
        """Sums over the levels of each feature, along the last axis."""
        return np.add.reduceat(table, self.offsets[:-1], axis=-1)

    def groups(self, j: int) -> dict[str, Int[np.ndarray, " m"]]:
        """Children of parent j, which are all other features, by block: those with the same number of levels.

        Features with 2, 3 and 2 levels give the parent 1 the block {"levels_2": (0, 2)}.
        """
        sizes = np.array(self.sizes)
        sizes[j] = 0  # no block has this size, so the parent is in none
        return {f"levels_{k}": np.flatnonzero(sizes == k) for k in np.unique(sizes[sizes > 0])}

    def children(self, j: int, table: Array) -> dict[str, Array]:
        """The part of the table that model j needs, by block: for each pair of class and parent's level its children.

        Parameters
        ----------
        j : the parent
        table : (c, k, k), pseudo-counts or counts [y, u, v]

        Returns
        -------
        by block, (c·k_j, children, levels); the pairs (y, u) are numbered y·k_j + u. A block is the children with
        equally many levels, whose counts fit into one array

        Notes
        -----
        Features with 2, 3 and 2 levels have these at the places 0–1, 2–4 and 5–6. The children of parent 1 are the
        features 0 and 2, one block of two levels, whose places are ((0, 1), (5, 6)).
        """
        table_of_parent = table[:, self.levels(j)]  # (c, k_j, k): u is a level of the parent
        cells = {}
        for name, group in self.groups(j).items():  # children with equally many levels
            n_levels = self.sizes[group[0]]

            # the places of the levels of each child, from that of its first level on, (children, levels)
            first_place = self.offsets[group][:, None]
            level_places = first_place + np.arange(n_levels)
            cells_of_block = table_of_parent[:, :, level_places]  # (c, k_j, children, levels)
            cells[name] = cells_of_block.reshape(-1, len(group), n_levels)  # the pairs (y, u) along one axis
        return cells

    # --- the table --------------------------------------------------------------------------------------------------

    def suffstats(self, rows: Rows, r: Float[np.ndarray, "n c"] | Sparse) -> Statistics:
        """n[y, u, v] = Σ_i r_iy [row i has levels u and v] and N_y = Σ_i r_iy: one sparse product ZᵀRZ a class.

        u and v run over the k levels of all features. Z (n, k) has a 1 at the level of each cell, and R holds the
        weights of the rows in the class.

        Parameters
        ----------
        rows : levels (n, d) by the name "x"; NaN = missing
        r : non-negative weights: one-hot label times sample weight
        """
        # with 2 and 3 levels, a row with the levels 1 and 0 has the indicators 0 1 | 1 0 0
        z = self.indicators(rows[BLOCK])  # (n, k)

        # CSC format, class by class: class y has the entries indptr[y] … indptr[y + 1] − 1 of `indices`, the rows with
        # weight, and of `data`, their weights. With 3 and 2 such rows in two classes indptr is (0, 3, 5)
        r = sparse.csc_array(r)
        table = np.zeros(self.alpha.shape)  # (c, k, k)
        for y, (start, end) in enumerate(itertools.pairwise(r.indptr)):
            members = r.indices[start:end]  # rows with weight in class y
            weight = r.data[start:end, None]

            # z_iu z_iv is 1 if row i has both levels, so that the entry [u, v] of ZᵀRZ is the weight of such rows
            z_class = z[members]
            table[y] = (z_class.T @ z_class.multiply(weight)).toarray()  # Σ_i r_i z_iu z_iv

        # `Counts` also holds log h, the sum of a base measure of the cells, which is 0 for levels
        return Statistics(class_totals(r), {BLOCK: Counts(table, np.zeros(len(table)))})

    statistics = suffstats

    def update(self, stats: Statistics) -> Self:
        """The posterior: pseudo-counts plus counts, α + n, of the classes and of all pairs of levels."""
        return replace(self, classes=self.classes.update(stats.n), alpha=self.alpha + stats.blocks[BLOCK].n)

    def log_marginal(self, stats: Statistics) -> Float[np.ndarray, " d"]:
        """log p(X, y | parent j) for each parent, in nats: `NaiveBayes.log_marginal` of all models at once.

        In model j the class y and the level u of feature j, the parent, are drawn together; every other feature, a
        child, is drawn given the pair. All these are Dirichlet–categorical, so the evidence is a product of ratios of
        B, the multivariate beta function: log B(a/(c k_j) + n_j) / B(a/(c k_j)) of the pairs, and of the children
        Σ_{i≠j} Σ_{y,u} log B(α_i + n_yui) / B(α_i). A row whose x_j is missing is no part of the data of model j.

        All counts are in one table n[y, u, v]: rows of class y that have both level u and level v. The levels of all
        features stand side by side, k in all: with 2 and 3 levels, feature 0 has the places 0–1 and feature 1 has 2–4.
        `sum_over_levels` sums the last axis over the places of each feature, (…, k) → (…, d): the numbers 1 2 | 3 4 5
        become 3 12.

        Parameters
        ----------
        stats : with the table of counts [y, u, v] of the rows; this block is the prior
        """
        n = stats.blocks[BLOCK].n  # (c, k, k)

        # log B(α + n)/B(α) = Σ_v log Γ(α_v + n_v)/Γ(α_v) − log Γ(A + N)/Γ(A), with sums over the levels v of a child,
        # and A and N the sums of α and n over them. log_rising(α, n) is log Γ(α + n)/Γ(α)
        log_rising_of_cells = np.zeros(n.shape)
        has_rows = n > 0  # elsewhere it is 0
        log_rising_of_cells[has_rows] = log_rising(self.alpha[has_rows], n[has_rows])
        log_rising_of_totals = log_rising(self.sum_over_levels(self.alpha), self.sum_over_levels(n))  # (c, k, d)
        log_ratio = self.sum_over_levels(log_rising_of_cells) - log_rising_of_totals  # (c, k, d): [y, u, child]

        # The sum over classes y, and then over the levels u of each parent, for which u has to be the last axis. On the
        # diagonal a feature would be its own child, so it is subtracted.
        of_levels = log_ratio.sum(0).T  # (d, k): [child, u]
        of_children = self.sum_over_levels(of_levels)  # (d, d): [child, parent]
        all_children = of_children.sum(0) - np.diagonal(of_children)  # (d,): [parent]

        # The pairs (y, u) of each parent. n[y, u, u] counts rows of class y that have level u and level u: it is the
        # count of the pair, and α[y, u, u] its pseudo-count. Again log B(α + n)/B(α) is a sum of log Γ(α + n)/Γ(α) over
        # the pairs, less that of the totals of the parent (`_totals`), over all classes and levels.
        log_rising_of_pairs = diagonal(log_rising_of_cells)  # (c, k)
        of_pairs = self.sum_over_levels(log_rising_of_pairs.sum(0))  # (d,)
        n_rows = self.sum_over_levels(diagonal(n).sum(0))  # (d,), rows that have a cell in feature j
        return all_children + of_pairs - log_rising(self._totals, n_rows)

    # --- prediction -------------------------------------------------------------------------------------------------

    def log_parents(self, rows: Rows) -> Iterator[tuple[slice, Float[np.ndarray, "n d c"]]]:
        """log p_j(y, x | data) of each model, some rows at a time; −∞ where x_j is missing.

        In model j all features depend on the class and on feature j, the parent:
        p_j(y, x) = p(y, x_j) Π_{i≠j} p(x_i | y, x_j).

        Yields
        ------
        part : which rows
        log_p : (rows, parent, class), in nats
        """
        # The levels of all features stand side by side; `places` has the place of each cell's level, (n, d), −1 for a
        # missing cell. Features with 2 and 3 levels and the rows (0, 1) and (1, 1) have the places (0, 3) and (1, 3)
        places = self.places(rows[BLOCK])

        # Only m levels occur in the rows: in the example `used` is (0, 1, 3). `position` are the positions of the cells
        # among these, (n, d): (0, 2) and (1, 2)
        used, position = np.unique(places, return_inverse=True)
        position = position.reshape(places.shape)

        # log p(level v of a child | y, level u of the parent) at [u, v, y], and on the diagonal [u, u, y] log p(y, u).
        # For a missing cell there is 0
        table = self._log_table(used)  # (m, m, c)
        n_levels, _, n_classes = table.shape

        # entries [u, v] are read quickly from rows of a table with two axes, in which (u, v) is the row u·m + v
        flat = table.reshape(-1, n_classes)  # (m·m, c)

        d = len(self.sizes)
        for part in slices(len(places), d * max(d, len(self.alpha)), _CELLS):  # few rows, so that arrays stay small
            # log p_j = Σ_child [level of parent j, level of the child]. The sum is over all features: where the child
            # is the parent itself, the diagonal adds log p(y, x_j)
            row_of_parent = position[part] * n_levels  # (rows, parent), u·m
            log_p = np.zeros((*row_of_parent.shape, n_classes))
            for child in range(d):
                level_of_child = position[part, child, None]  # (rows, 1), v
                log_p += flat.take(row_of_parent + level_of_child, axis=0)  # (rows, parent, class)
            log_p[places[part] < 0] = -np.inf  # the parent is missing
            yield part, log_p

    def log_joint(
        self, rows: Rows, theta: Parameters | None = None, *, scores: bool = False
    ) -> Float[np.ndarray, "*s n c"]:
        """log of the mean of p_j(y, x | data) over the parents j that are not missing.

        p_j is the model in which all features depend on the class and on feature j. With draws of `sample` the result
        is log p_j(y, x | θ_j) of the parent of each draw. A row without cells has the class probabilities.

        Parameters
        ----------
        rows : levels (n, d) by the name "x"; NaN = missing
        theta : draws, as `sample` gives them; None integrates the parameters out
        scores : not used; `NaiveBayes.log_table` has the same argument
        """
        if theta is not None:  # parameters are given, nothing is integrated out
            return self._log_drawn(rows[BLOCK], theta[BLOCK])
        # the class probabilities, which a row without cells keeps
        table = np.tile(self.classes.log_predictive(), (len(rows[BLOCK]), 1))  # (n, c)

        # Where there is much to add up: a compiled loop that writes the result into `table`. It serves leave-one-out
        # too: it takes one table of log probabilities for the class of a row's label, another for all other classes,
        # and a number to add to either. Here there are no labels (−1), one table, and nothing is added
        if self._is_worth_a_loop(rows):
            from ..sums._compiled import one_dependence

            places = self.places(rows[BLOCK])  # (n, d), of each cell's level among the levels of all features
            log_table = self._log_table_of_all()  # (k, k, c), of all pairs of levels
            no_label = np.full(len(table), -1)
            nothing = np.zeros(len(self.sizes))
            one_dependence(places, no_label, log_table, log_table, nothing, nothing, table)
            return table

        # otherwise NumPy, some rows at a time (`part` is a slice): the mean over the parents of each row
        for part, log_p_of_parents in self.log_parents(rows):  # (rows, parent, class)
            table[part] = self._log_mean(log_p_of_parents, self.classes.log_predictive())
        return table

    def _is_worth_a_loop(self, rows: Rows) -> bool:
        """Whether compiled loops should add up the pairs of cells: some eight operations each in NumPy."""
        n, d = rows[BLOCK].shape
        return n > 0 and use_compiled_loop(8 * n * d * d * len(self.alpha))

    def _log_table_of_all(self) -> Float[np.ndarray, "k k c"]:
        """`_log_table` of all k levels, whether rows have them or not."""
        n_levels = int(self.offsets[-1])
        return self._log_table(np.arange(n_levels))

    log_table = log_joint

    def _log_drawn(self, x: np.ndarray, theta: Theta) -> Float[np.ndarray, "*s n c"]:
        """log p_j(y, x | θ_j) of rows under each draw of a parent j and its parameters θ_j.

        Parameters
        ----------
        x : (n, d), levels; NaN = missing
        theta : `key` (…), from which parent and parameters of each draw are drawn again, and `log_pi` (…, c); see
            `sample`
        """
        keys = theta["key"]  # (…), a random seed for each draw
        n_classes = len(self.alpha)
        log_pi = theta["log_pi"].reshape(-1, n_classes)  # (s, c), all draws along one axis
        tables = []  # (n, c) of each draw
        for key, log_pi_of_draw in zip(keys.ravel().tolist(), log_pi, strict=True):
            tables.append(self._log_joint_of_draw(x, key, log_pi_of_draw))
        return np.array(tables).reshape(*keys.shape, len(x), n_classes)

    def log_parts(
        self, rows: Rows, parts: Any = None, theta: Parameters | None = None
    ) -> Float[np.ndarray, "1 *s n c"]:
        """log p(x | y, data) or log p(x | y, θ_j): `log_joint`, log p(x, y), less the log class probabilities.

        `NaiveBayes.log_parts` gives a table for each part of the features that is independent of the others given the
        class. Here the features depend on each other, so they are one part, and the first axis has length 1.

        Parameters
        ----------
        rows : levels (n, d) by the name "x"; NaN = missing
        parts : not used
        theta : draws, as `sample` gives them; None integrates the parameters out
        """
        # log class probabilities, (c,), or those of each draw, (…, 1, c), with an axis for the rows
        log_pi = self.classes.log_predictive() if theta is None else theta[CLASS]["log_pi"][..., None, :]
        return (self.log_joint(rows, theta) - log_pi)[None]

    def log_loo_parents(
        self, rows: Rows, r: Float[np.ndarray, "n c"] | Sparse
    ) -> Iterator[tuple[slice, Float[np.ndarray, "n d c"]]]:
        """log p_j(y, x_i | data without row i) of each model j, for rows that are among the data.

        In model j all features depend on the class y and on feature j, the parent, and its factors are ratios of
        counts: p_j(y, x) = p(y, x_j) Π_{i≠j} p(x_i | y, x_j). In a class that row i has weight w in, every count of a
        pair of its levels is less by w; in all classes the total of each parent is less by the whole weight of the row.

        Parameters
        ----------
        rows, r : rows that this posterior knows, and the weights that they came with

        Yields
        ------
        part : which rows
        log_p : (rows, parent, class), in nats
        """
        r = sparse.csr_array(r)
        places = self.places(rows[BLOCK])  # (n, d), of each cell's level among the levels of all features; −1 = missing
        totals = self._totals  # (d,), pseudo-rows and rows of each parent
        sums = self.sum_over_levels(self.alpha)  # (c, k, d), [y, u, child]: counts of the child given (y, u)

        # some rows at a time (`part` is a slice): log p_j with all rows, which is corrected in two steps
        for part, table in self.log_parents(rows):  # (rows, parent, class)
            # 1. All classes: p(y, x_j) is a count over the total T of parent j, so that log p_j contains −log T. With
            # T' the total without the row, log T − log T' is added. `remove_row` subtracts a weight, and keeps the
            # result positive where rounding would not
            row_weight = np.asarray(r[part].sum(1)).reshape(-1, 1)  # (rows, 1)
            log_total = np.log(remove_row(totals, row_weight))  # log T', (rows, parent)
            np.add(table, (np.log(totals) - log_total)[..., None], out=table)

            # 2. The classes that the row has weight in: all counts change, so these entries are computed anew. The COO
            # format lists the weights that are not 0: row, class and weight, (m,) each
            entries = r[part].tocoo()
            row, label = entries.coords
            weight = entries.data[:, None]
            log_p_of_label = self._log_loo_of_label(places[part][row], label, weight, sums, log_total[row])  # (m, d)

            # table[row, :, label] is (m, parent): for the i-th listed weight, all parents at (row[i], label[i])
            table[row, :, label] = log_p_of_label
            yield part, table

    def _log_loo_of_label(
        self,
        places: Int[np.ndarray, "m d"],
        label: Int[np.ndarray, " m"],
        w: Float[np.ndarray, "m 1"],
        sums: Float[np.ndarray, "c k d"],
        log_total: Float[np.ndarray, "m d"],
    ) -> Float[np.ndarray, "m d"]:
        """log p_j(y, x) of rows in a class in which they have weight w, each left out; −∞ where x_j is missing.

        In model j all features depend on the class y and on feature j, the parent; its factors are ratios of counts:
        p_j(y, x) = p(y, x_j) Π_{i≠j} p(x_i | y, x_j). The row has weight w in each count of its levels, so w is
        subtracted from each. α[y, u, v] is the posterior count of rows of class y with level u of a parent and level v
        of a child, where u and v run over the levels of all features.

        Parameters
        ----------
        places : of each row's levels among the k levels of all features, −1 where a cell is missing
        label : class y of each row
        w : weight of each row in this class
        sums : α summed over the levels of each child
        log_total : log of what remains of all pseudo-rows and rows of each parent

        Returns
        -------
        (m, d), for each parent j, in nats
        """
        is_observed = places >= 0  # (m, d)
        level = np.where(is_observed, places, 0)  # any place will do for a missing cell: it is not used at the end

        # Every feature is a parent, and every feature a child: a row with the places 0 and 3 has the table of pairs
        #     (0, 0)  (0, 3)        a line for each parent, a column for each child
        #     (3, 0)  (3, 3)
        level_of_parent = level[:, :, None]  # (m, d, 1)
        level_of_child = level[:, None, :]  # (m, 1, d)
        alpha_of_pairs = self.alpha[label[:, None, None], level_of_parent, level_of_child]  # (m, parent, child)
        sums_of_children = sums[label[:, None], level]  # (m, parent, child)

        # p(x_child | y, x_parent) = (α[y, u, v] − w) / (Σ_v α[y, u, v] − w), with u and v the levels of the two.
        # `remove_row` subtracts w, and keeps the result positive where rounding would not
        weight_of_pairs = w[..., None]  # (m, 1, 1)
        log_p = np.log(remove_row(alpha_of_pairs, weight_of_pairs))
        log_p -= np.log(remove_row(sums_of_children, weight_of_pairs))

        # On the diagonal, where a feature would be its own child, stands the factor of the parent: the probability of
        # the pair (y, u), (α[y, u, u] − w) over the total without the row.
        feature = np.arange(len(self.sizes))
        alpha_of_own_pair = self.alpha[label[:, None], level, level]  # (m, parent)
        log_p[:, feature, feature] = np.log(remove_row(alpha_of_own_pair, w)) - log_total

        # the product over the children that are not missing; no model of a parent that is missing
        sum_over_children = np.where(is_observed[:, None, :], log_p, 0).sum(2)  # (m, parent)
        return np.where(is_observed, sum_over_children, -np.inf)

    def log_loo(self, rows: Rows, r: Float[np.ndarray, "n c"] | Sparse) -> Float[np.ndarray, "n c"]:
        """log p(y, x_i | data without row i), (n, c): each row is left out of its own prediction.

        It is the log of the mean over parents j of p_j(y, x_i) = p(y, x_ij) Π_{l≠j} p(x_il | y, x_ij), the model in
        which all features depend on the class and on feature j. All factors are ratios of counts, such as the rows of
        class y with level u of the parent and level v of the child, over those with level u. To leave a row out is to
        subtract its weight from the counts.

        Parameters
        ----------
        rows, r : rows that the posterior contains, and the weights (n, c) that they had in `suffstats`
        """
        r = sparse.csr_array(r)
        table = self.classes.log_loo(r)  # (n, c), log p(y | data without row i), which a row without cells keeps

        # A compiled loop, if there is much to add up. It looks up pairs of levels (u, v) in tables that are made once
        # and serve all rows. For that each row must have one label, and all rows must have the same weight.
        if self._is_worth_a_loop(rows) and is_one_hot(r) and (r.data == r.data[0]).all():
            from ..sums._compiled import one_dependence

            weight = float(r.data[0])

            # Classes other than that of the row: its weight is in none of their counts, so that the table is that of
            # all rows. Only p(y, u), a count over the total T of the parent, changes, by the factor T/(T − w), whose
            # logarithm the loop adds.
            with_row = self._log_table_of_all()  # (k, k, c)
            log_factor = np.log(self._totals) - np.log(remove_row(self._totals, weight))  # (d,), of each parent

            # The class of the row: every count of two of its levels is less by w. One table in which *every* count is
            # less by w serves all rows, because a row looks up its own pairs only. It has the new totals already, so
            # that nothing is added.
            without_row = self._log_table_without(weight)  # (k, k, c)
            nothing = np.zeros(len(log_factor))

            label = r.indices.astype(np.int64)  # in the CSR format with one entry a row: the class of each row
            places = self.places(rows[BLOCK])  # (n, d), of each cell's level among the levels of all features
            one_dependence(places, label, with_row, without_row, log_factor, nothing, table)  # writes into `table`
            return table

        # otherwise NumPy, some rows at a time (`part` is a slice): log p_j (rows, parent, class), and its mean over j
        for part, log_p_of_parents in self.log_loo_parents(rows, r):
            table[part] = self._log_mean(log_p_of_parents, table[part])
        return table

    def _log_table_without(self, weight: float) -> Float[np.ndarray, "k k c"]:
        """Log predictive probabilities [u, v, y] for a row of class y that has this weight in it and was removed.

        They are log p(level v of a child | y, level u of the parent), and on the diagonal log p(y, u). u and v run over
        the k levels of all features. Every count of a pair of levels of the row is less by its weight. The entries of
        pairs that the row does not have are wrong, but they are not used for it; so one table serves all rows.

        Parameters
        ----------
        weight : of each row in its class, which is subtracted from every count
        """
        # The feature of each level, (k,): with 2 and 3 levels it is 0 0 1 1 1. Numbers of the features, indexed by it,
        # are repeated for each level: (a, b)[feature] is a a b b b
        feature = np.repeat(np.arange(len(self.sizes)), self.sizes)
        log_totals = np.log(remove_row(self._totals, weight))[feature]  # (k,), of the parent that has the level

        table = np.empty((len(feature), len(feature), len(self.alpha)))  # [u, v, y]
        for y, alpha in enumerate(self.alpha):  # one class at a time: the table is large
            log_alpha = np.log(remove_row(alpha, weight))  # (k, k), [u, v]

            # for a child: less the log of the sum of α over all levels of the child
            sums = self.sum_over_levels(alpha)  # (k, d), [u, child]
            log_denominator = np.log(remove_row(sums, weight))[:, feature]  # (k, k), [u, v]

            # on the diagonal [u, u], for the pair (y, u): less the log of the total of its parent
            np.fill_diagonal(log_denominator, log_totals)
            table[:, :, y] = log_alpha - log_denominator
        return table

    def log_loo_parts(
        self, rows: Rows, r: Float[np.ndarray, "n c"] | Sparse, parts: Any = None, *, scores: bool = False
    ) -> Float[np.ndarray, "2 n c"]:
        """log p(y | data without row i), and log p(x_i | y, data without row i), a table (n, c) each.

        A part is a set of features that is independent of the others given the class. Here all features are one part,
        so there are only these two tables. The second is the joint table log p(y, x_i | …) less the first.

        Parameters
        ----------
        rows, r : rows that the posterior contains, and the weights (n, c) that they had in `suffstats`
        parts, scores : not used; `NaiveBayes.log_loo_parts` has the same arguments
        """
        log_pi = self.classes.log_loo(sparse.csr_array(r))
        return np.stack([log_pi, self.log_loo(rows, r) - log_pi])

    def _log_mean(self, log_p_of_parents: np.ndarray, log_pi: np.ndarray) -> Float[np.ndarray, "n c"]:
        """log of the mean of p_j over the parents that a row has; where it has none, the class probabilities.

        Parameters
        ----------
        log_p_of_parents : (n, d, c), −∞ where the parent is missing
        log_pi : (c,) or (n, c), log class probabilities
        """
        # a parent counts for a row if it has a finite value in some class: log Σ_j p_j − log (number of these parents)
        n_parents = np.isfinite(log_p_of_parents).any(2).sum(1, keepdims=True)  # (n, 1)
        log_mean = logsumexp(log_p_of_parents, 1) - np.log(np.maximum(n_parents, 1))  # (n, c)
        return np.where(n_parents > 0, log_mean, log_pi)

    # --- what each feature adds -------------------------------------------------------------------------------------

    def log_contributions(
        self, rows: Rows, columns: Mapping[str, np.ndarray], theta: Parameters | None = None
    ) -> Iterator[tuple[str, Float[np.ndarray, "*s n k c"]]]:
        """What each feature adds to log p(x, y = c): its Shapley value over sets S of features of log p(x_S, y = c).

        The Shapley value of a feature is the mean over all orders of the features of by how much log p rises when the
        feature joins those before it. Features that have not joined are treated as missing cells.

        Parameters
        ----------
        rows : levels (n, d) by the name "x"; NaN = missing
        columns : by the name "x" the k features whose values are wanted
        theta : draws, as `sample` gives them; None integrates the parameters out

        Yields
        ------
        name : "x"
        values : (…, n, k, c), in nats
        """

        def log_p_of(x: np.ndarray) -> np.ndarray:
            """log p(x_S, y = c) of rows in which the cells that are not in S are NaN, (…, rows, c)."""
            return self.log_joint({BLOCK: x}, theta)

        # values of all features, (…, n, d, c), of which some are returned
        of_all_features = shapley_of_cells(log_p_of, rows[BLOCK])
        yield BLOCK, of_all_features[..., columns[BLOCK], :]

    # --- draws ------------------------------------------------------------------------------------------------------

    def sample(self, key: np.random.Generator, shape: tuple[int, ...] = ()) -> Parameters:
        """Draws of a parent j, all equally probable, and of its parameters θ_j.

        Of θ_j, which is as large as the table, only the class probabilities are given. The rest is a key, from which
        `log_joint` draws it again: a draw is the same for all rows, in whatever blocks they come.

        Parameters
        ----------
        key : NumPy's generator
        shape : of the draws, the leading axes of the result
        """
        keys = key.integers(1 << 63, size=shape)  # a random seed for each draw
        log_pi_draws = []
        for draw_key in keys.ravel().tolist():
            j = self._parent_of_draw(draw_key)  # the same j whenever this seed is used
            _, theta = self._model_and_draw(j, draw_key)  # naive Bayes of the pairs (y, u), and its parameters
            log_pairs = theta[CLASS]["log_pi"].reshape(len(self.alpha), -1)  # (c, k_j)
            log_pi_draws.append(np.logaddexp.reduce(log_pairs, 1))  # p(y) = Σ_u p(y, u)
        log_pi = np.reshape(log_pi_draws, (*shape, -1))
        return {CLASS: {"log_pi": log_pi}, BLOCK: {"key": keys, "log_pi": log_pi}}

    def _log_joint_of_draw(
        self, x: Real[np.ndarray, "n d"], key: int, log_pi: Float[np.ndarray, " c"]
    ) -> Float[np.ndarray, "n c"]:
        """log p_j(y, x | θ_j) of rows; without x_j they take the parent that the key gives among the others.

        In model j all features depend on the class y and on feature j, the parent. So it is naive Bayes with the pairs
        (y, u) of class and parent's level as its classes. A row without a single cell has the class probabilities of
        the draw.

        Parameters
        ----------
        key : of one draw; parent and parameters are drawn again from it
        log_pi : log class probabilities of the draw
        """
        # the parent of each row: the drawn one if the row has it, otherwise one that is drawn among those it has
        drawn_parent = self._parent_of_draw(key)
        is_observed = self.places(x) >= 0  # the place of a missing cell is −1
        has_cells = is_observed.any(1)
        parents = np.where(is_observed[:, drawn_parent], drawn_parent, self._parents_of_rows(key, is_observed))

        table = np.tile(log_pi, (len(x), 1))
        for j in np.unique(parents[has_cells]).tolist():
            members = np.flatnonzero(has_cells & (parents == j))  # rows that take parent j

            # the log joint of all pairs (y, u) of class and parent's level, which are the classes of the model
            model, theta = self._model_and_draw(j, key)

            # the other features by block, which is those with equally many levels: {"levels_2": columns, …}
            rows = {name: x[members][:, group] for name, group in self.groups(j).items()}
            n_pairs = theta[CLASS]["log_pi"].size

            # with one feature there are no children, and the table has one row for all: therefore the broadcast
            log_p = np.broadcast_to(model.log_table(rows, theta), (len(members), n_pairs))
            log_p_of_pairs = log_p.reshape(-1, len(self.alpha), self.sizes[j])  # (members, c, k_j)

            # of these the pairs with the level that the row has: [i, y, level[i]] for all y
            level = x[members, j].astype(int)
            table[members] = log_p_of_pairs[np.arange(len(members)), :, level]  # (members, c)
        return table

    def _parents_of_rows(self, key: int, is_observed: Bool[np.ndarray, "n d"]) -> Int[np.ndarray, " n"]:
        """The parent of a draw among the features that each row has, all equally probable.

        One uniform number of the key serves all rows: with n_i features, row i takes the one in which u n_i falls.

        Parameters
        ----------
        key : seed of the draw
        is_observed : whether each cell is there
        """
        # Example: a row has the features 0, 2 and 3 of four. The numbers up to each are 1 1 2 3. With u = 0.5, u n_i is
        # 1.5, which falls in the second of its features: the first for which the number up to it is larger, feature 2
        n_up_to = is_observed.cumsum(1)  # (n, d), how many features are observed up to each
        n_observed = n_up_to[:, -1:]  # (n, 1)
        u = np.random.default_rng(key).random()
        is_beyond = u * n_observed < n_up_to  # in the example False False True True
        return is_beyond.argmax(1)  # the position of the first True

    def _parent_of_draw(self, key: int) -> int:
        """The parent of a draw, for rows without missing cells: `_parents_of_rows` of one complete row."""
        has_all = np.ones((1, len(self.sizes)), bool)
        return int(self._parents_of_rows(key, has_all)[0])

    def _model_and_draw(self, j: int, key: int) -> tuple[NaiveBayes, Parameters]:
        """Model j as naive Bayes of the pairs of class and parent's level, and the key's draw of its parameters."""
        model = self.parent(j)
        return model, model.sample(np.random.default_rng([key, j]))

    def sample_predictive(self, rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
        """New rows of levels (n, d) and class indices (n,): a parent, a pair of class and level, then all children.

        Parameters
        ----------
        rng : NumPy's generator
        n : number of rows; each has a parent of its own, all equally probable
        """
        d = len(self.sizes)
        x = np.empty((n, d))
        y = np.empty(n, int)
        parents = rng.choice(d, n, p=np.full(d, 1 / d))  # (n,), a feature for each row
        for j in np.unique(parents):
            members = np.flatnonzero(parents == j)  # rows with parent j
            model = self.parent(int(j))  # naive Bayes whose classes are the pairs (y, u) of class and parent's level

            # class y and level u of the parent: a pair, numbered y·k_j + u, so that a division gives both. With k_j = 3
            # levels the pair 5 is class 1 and level 2
            p = np.exp(model.classes.log_predictive())  # (c·k_j,)
            pair = rng.choice(len(p), len(members), p=p / p.sum())
            y[members], x[members, j] = np.divmod(pair, self.sizes[j])

            # the other features given the pair, a block of features with equally many levels at a time
            for name, group in self.groups(int(j)).items():
                x[np.ix_(members, group)] = model.blocks[name].sample_predictive(rng, pair)
        return x, y

    # --- one model --------------------------------------------------------------------------------------------------

    def parent(self, j: int) -> NaiveBayes:
        """Model j: naive Bayes of the compound class (y, u), numbered y·k_j + u, a block for each number of levels.

        y is the class and u the level of feature j, the parent. All other features are independent given the pair.
        Those with equally many levels are one block, whose pseudo-counts fit into one array.
        """
        # α[y, u, u] is the pseudo-count of the pair (y, u) itself
        parent_levels = self.levels(j)  # a slice: the places of the levels of feature j among those of all features
        alpha_of_pairs = diagonal(self.alpha[:, parent_levels, parent_levels]).reshape(-1)  # (c·k_j,)
        blocks: dict[str, Any] = {}
        for name, alpha_of_children in self.children(j, self.alpha).items():  # (c·k_j, children, levels)
            blocks[name] = DirichletCategorical(alpha_of_children)
        return NaiveBayes(DirichletClasses(alpha_of_pairs), blocks)

    def parent_statistics(self, j: int, stats: Statistics) -> Statistics:
        """The statistics of model j, read from the table: weights of the pairs, and counts of the children by block.

        Model j is naive Bayes whose classes are the pairs (y, u) of class and level of feature j, the parent. The other
        features are its children; those with equally many levels are one block.
        """
        # n[y, u, v]: rows of class y with the levels u and v; on the diagonal n[y, u, u], those of the pair (y, u)
        n = stats.blocks[BLOCK].n  # (c, k, k)
        parent_levels = self.levels(j)  # a slice: the places of the levels of feature j
        n_of_pairs = diagonal(n[:, parent_levels, parent_levels]).reshape(-1)  # (c·k_j,)
        blocks = {}
        for name, n_of_children in self.children(j, n).items():  # (c·k_j, children, levels)
            blocks[name] = Counts(n_of_children, 0 * n_of_children[..., 0])  # the log base measure of levels is 0
        return Statistics(n_of_pairs, blocks)

    @property
    def _totals(self) -> Float[np.ndarray, " d"]:
        """Pseudo-rows and rows of each model, (d,): the sum over the pairs (y, u) of its parent."""
        return self.sum_over_levels(diagonal(self.alpha).sum(0))

    def _log_table(self, used: Int[np.ndarray, " m"]) -> Float[np.ndarray, "m m c"]:
        """Log predictive probabilities [u, v, y]: of level v of a child, given class y and level u of the parent.

        On the diagonal stands log p(y, u) of the pair itself. Then log p_j(y, x) = Σ_v [u, v, y], with u the level of
        the parent in x, and v the levels of all features in x.

        Parameters
        ----------
        used : places of the levels to compute; −1 stands for a missing cell, whose entries are 0
        """
        is_level = used >= 0  # (m,), False for the entry of missing cells
        levels = used[is_level]  # (l,), places of the levels; each of them is a parent's level and a child's

        # which feature each of them belongs to: with 2 and 3 levels the places 0 … 4 have the features 0 0 1 1 1
        feature = np.repeat(np.arange(len(self.sizes)), self.sizes)[levels]  # (l,)

        # the diagonal: p(y, u) is the count of the pair over the total of its parent
        log_pairs = np.log(self.alpha[:, levels, levels]) - np.log(self._totals[feature])  # (c, l)

        table = np.zeros((len(used), len(used), len(self.alpha)))  # [u, v, y]
        no_cell_missing = np.ix_(is_level, is_level)  # the entries (l, l) of such pairs
        for y, alpha in enumerate(self.alpha):  # one class at a time: the table is large
            # for a child: its count at level v over the sum of its counts at all levels
            alpha_of_parents = alpha[levels]  # (l, k)
            sums = self.sum_over_levels(alpha_of_parents)  # (l, d), [u, child]
            log_p = np.log(alpha_of_parents[:, levels])  # (l, l), [u, v]
            log_p -= np.log(sums)[:, feature]
            np.fill_diagonal(log_p, log_pairs[y])
            table[:, :, y][no_cell_missing] = log_p
        return table


def diagonal(table: Array) -> Array:
    """The entries [y, u, u] of a table (c, k, k), (c, k): pairs of class y and level u."""
    return np.diagonal(table, axis1=1, axis2=2)
