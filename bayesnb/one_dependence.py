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
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse

from .core.arrays import Array, Bool, Float, Int, Real, Sparse, Theta
from .core.orders import shapley_of_cells
from .core.pytrees import pytree
from .core.special import log_rising, logsumexp
from .core.supports import Cells, Field
from .families.categorical import DirichletCategorical
from .families.classes import DirichletClasses
from .naive_bayes import CLASS, NaiveBayes, Parameters, Rows, Statistics
from .statistics import Counts, class_totals
from .sums.rows import is_one_hot, remove_row, slices, use_compiled_loop

_CELLS = 1 << 20  # numbers of a temporary table
BLOCK = "x"  # the name of the table among statistics, and of the levels among rows


@pytree
@dataclass(frozen=True)
class OneDependence:
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

    missing_value: ClassVar[float] = float("nan")  # what a cell that is not there holds: NaN, left out
    cells_: ClassVar[Cells] = Cells("levels")
    is_improper: ClassVar[bool] = False
    fields_: ClassVar[dict[str, Field]] = {}
    """None that the user gives: `OneDependenceNB` checks the numbers that the table is made of."""

    @property
    def unwrapped(self) -> Self:
        """The block that has the fields: itself."""
        return self

    @classmethod
    def prior(cls, n_classes: int, sizes: Sequence[int], alpha: Float[np.ndarray, "*c k"], total: float) -> Self:
        """The prior: a pseudo-count for each level, and `total` pseudo-rows shared by the pairs of each parent.

        Parameters
        ----------
        alpha : (k,) pseudo-count of each level of each feature, or (c, k) where classes differ
        """
        feature = np.repeat(np.arange(len(sizes)), sizes)
        table = np.where(feature[:, None] == feature, 1.0, alpha[..., None, :])
        level = np.arange(len(feature))
        table[..., level, level] = total / (n_classes * np.asarray(sizes)[feature])
        classes = DirichletClasses(np.full(n_classes, total / n_classes))
        return cls(classes, np.broadcast_to(table, (n_classes, *table.shape[-2:])), tuple(sizes))

    @property
    def blocks(self) -> dict[str, Any]:
        """The table of all features, which is one part."""
        return {BLOCK: self}

    def min_chunk_cells(self) -> int:
        """Cells of rows that are worth a pass over the table."""
        return 2 * int(np.prod(self.alpha.shape))

    # --- where levels stand -------------------------------------------------------------------------------------------

    @property
    def offsets(self) -> Int[np.ndarray, " m"]:
        """Where the levels of each feature begin, and the number of all levels at the end."""
        return np.concatenate([[0], np.cumsum(self.sizes)])

    def levels(self, j: int) -> slice:
        """The places of the levels of a feature."""
        ends = self.offsets
        return slice(int(ends[j]), int(ends[j + 1]))

    def places(self, x: Real[np.ndarray, "n d"]) -> Int[np.ndarray, "n d"]:
        """The place of each cell's level; −1 where it is missing."""
        is_observed = (x >= 0) & (x < np.asarray(self.sizes))
        return np.where(is_observed, np.where(is_observed, x, 0).astype(np.intp) + self.offsets[:-1], -1)

    def indicators(self, x: Real[np.ndarray, "n d"]) -> Sparse:
        """Z: 1 at the place of each cell's level."""
        places = self.places(x)
        is_observed = places >= 0
        ends = np.concatenate([[0], np.cumsum(is_observed.sum(1))])
        return sparse.csr_array((np.ones(ends[-1]), places[is_observed], ends), shape=(len(x), int(self.offsets[-1])))

    def sum_over_levels(self, table: Array) -> Array:
        """Sums over the levels of each feature, along the last axis."""
        return np.add.reduceat(table, self.offsets[:-1], axis=-1)

    def groups(self, j: int) -> dict[str, Int[np.ndarray, " m"]]:
        """Children of parent j by block: those with the same number of levels."""
        sizes = np.array(self.sizes)
        sizes[j] = 0
        return {f"levels_{k}": np.flatnonzero(sizes == k) for k in np.unique(sizes[sizes > 0])}

    def children(self, j: int, table: Array) -> dict[str, Array]:
        """The cells of each block of model j, (c·k_j, children, levels)."""
        parent_levels = self.levels(j)
        cells = {}
        for name, group in self.groups(j).items():
            k = self.sizes[group[0]]
            columns = self.offsets[group][:, None] + np.arange(k)
            cells[name] = table[:, parent_levels][:, :, columns].reshape(-1, len(group), k)
        return cells

    # --- the table --------------------------------------------------------------------------------------------------

    def suffstats(self, rows: Rows, r: Float[np.ndarray, "n c"] | Sparse) -> Statistics:
        """n[y, u, v] = Σ_i r_iy [row i has levels u and v] and N_y = Σ_i r_iy: one sparse product ZᵀZ a class.

        Parameters
        ----------
        r : non-negative weights: one-hot label times sample weight
        """
        z = self.indicators(rows[BLOCK])
        r = sparse.csc_array(r)
        table = np.zeros(self.alpha.shape)
        for y, (start, end) in enumerate(itertools.pairwise(r.indptr)):
            z_class = z[r.indices[start:end]]
            table[y] = (z_class.T @ z_class.multiply(r.data[start:end, None])).toarray()
        return Statistics(class_totals(r), {BLOCK: Counts(table, np.zeros(len(table)))})

    statistics = suffstats

    def update(self, stats: Statistics) -> Self:
        """α + n."""
        return replace(self, classes=self.classes.update(stats.n), alpha=self.alpha + stats.blocks[BLOCK].n)

    def log_marginal(self, stats: Statistics) -> Float[np.ndarray, " d"]:
        """log p(X, y | parent j) for each parent, in nats: `NaiveBayes.log_marginal` of all models at once.

        log B(a/(c k_j) + n_j) / B(a/(c k_j)) + Σ_{i≠j} Σ_{y,u} log B(α_i + n_yui) / B(α_i), B the multivariate beta
        function. A row whose x_j is missing is no part of the data of model j.
        """
        n = stats.blocks[BLOCK].n
        cells = np.zeros(n.shape)
        has_rows = n > 0
        cells[has_rows] = log_rising(self.alpha[has_rows], n[has_rows])
        pieces = self.sum_over_levels(cells) - log_rising(self.sum_over_levels(self.alpha), self.sum_over_levels(n))
        children = self.sum_over_levels(pieces.sum(0).T)  # (child, parent)
        pairs = self.sum_over_levels(diagonal(cells).sum(0))
        n_rows = self.sum_over_levels(diagonal(n).sum(0))
        return children.sum(0) - np.diagonal(children) + pairs - log_rising(self._totals, n_rows)

    # --- prediction -------------------------------------------------------------------------------------------------

    def log_parents(self, rows: Rows) -> Iterator[tuple[slice, Float[np.ndarray, "n d c"]]]:
        """log p_j(y, x | data) of each model, some rows at a time; −∞ where x_j is missing."""
        places = self.places(rows[BLOCK])
        used, position = np.unique(places, return_inverse=True)
        position = position.reshape(places.shape)  # of each cell's level among those that are used
        table = self._log_table(used)
        flat = table.reshape(-1, table.shape[-1])
        d = len(self.sizes)
        for part in slices(len(places), d * max(d, len(self.alpha)), _CELLS):
            table_row = position[part] * len(used)  # where the row of each parent begins in `flat`
            total = np.zeros((*table_row.shape, table.shape[-1]))
            for child in range(d):
                total += flat.take(table_row + position[part, child, None], axis=0)
            total[places[part] < 0] = -np.inf
            yield part, total

    def log_joint(
        self, rows: Rows, theta: Parameters | None = None, *, scores: bool = False
    ) -> Float[np.ndarray, "*s n c"]:
        """log of the mean of p_j(y, x | data) over the parents that are not missing.

        With draws of `sample`, log p_j(y, x | θ_j) of the parent of each draw.
        """
        if theta is not None:
            return self._log_drawn(rows[BLOCK], theta[BLOCK])
        table = np.tile(self.classes.log_predictive(), (len(rows[BLOCK]), 1))
        if self._is_worth_a_loop(rows):
            from .sums._compiled import one_dependence

            log_table = self._log_table_of_all()
            nothing = np.zeros(len(self.sizes))
            no_label = np.full(len(table), -1)
            one_dependence(self.places(rows[BLOCK]), no_label, log_table, log_table, nothing, nothing, table)
            return table
        for part, of_parents in self.log_parents(rows):
            table[part] = self._pooled(of_parents, self.classes.log_predictive())
        return table

    def _is_worth_a_loop(self, rows: Rows) -> bool:
        """Whether compiled loops should add up the pairs of cells: some eight operations each in NumPy."""
        n, d = rows[BLOCK].shape
        return n > 0 and use_compiled_loop(8 * n * d * d * len(self.alpha))

    def _log_table_of_all(self) -> Float[np.ndarray, "k k c"]:
        """`_log_table` of all levels."""
        return self._log_table(np.arange(int(self.offsets[-1])))

    log_table = log_joint

    def _log_drawn(self, x: np.ndarray, theta: Theta) -> Float[np.ndarray, "*s n c"]:
        """log p_j(y, x | θ_j) of the parent of each draw."""
        keys = theta["key"]
        log_pi = theta["log_pi"]
        draws = zip(keys.ravel().tolist(), log_pi.reshape(-1, len(self.alpha)), strict=True)
        tables = np.array([self._draw(x, *draw) for draw in draws])
        return tables.reshape(*keys.shape, len(x), len(self.alpha))

    def log_parts(
        self, rows: Rows, parts: Any = None, theta: Parameters | None = None
    ) -> Float[np.ndarray, "1 *s n c"]:
        """`log_joint` without the class probabilities, log p(x | y, data) or log p(x | y, θ_j): there is one part."""
        log_pi = self.classes.log_predictive() if theta is None else theta[CLASS]["log_pi"][..., None, :]
        return (self.log_joint(rows, theta) - log_pi)[None]

    def log_loo_parents(
        self, rows: Rows, r: Float[np.ndarray, "n c"] | Sparse
    ) -> Iterator[tuple[slice, Float[np.ndarray, "n d c"]]]:
        """`log_parents` of a posterior that knows the rows, each row left out of its own prediction.

        In a class that row i has weight w in, every count of a pair of its levels is less by w; in all classes the
        total of each parent is less by the whole weight of the row.

        Parameters
        ----------
        rows, r : rows that this posterior knows, and the weights that they came with
        """
        r = sparse.csr_array(r)
        places = self.places(rows[BLOCK])
        totals = self._totals
        sums = self.sum_over_levels(self.alpha)
        for part, table in self.log_parents(rows):
            row_weight = np.asarray(r[part].sum(1)).reshape(-1, 1)
            log_total = np.log(remove_row(totals, row_weight))  # (n, d) of each parent without the row
            np.add(table, (np.log(totals) - log_total)[..., None], out=table)
            entries = r[part].tocoo()
            row, label = entries.coords
            table[row, :, label] = self._log_loo_of_label(
                places[part][row], label, entries.data[:, None], sums, log_total[row]
            )
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

        Parameters
        ----------
        places : of the levels of each row, −1 where a cell is missing
        sums : α summed over the levels of each child
        log_total : log of what remains of all pseudo-rows and rows of each parent
        """
        is_observed = places >= 0
        u = np.where(is_observed, places, 0)
        alpha_of_pairs = self.alpha[label[:, None, None], u[:, :, None], u[:, None, :]]  # (m, parent, child)
        cells = np.log(remove_row(alpha_of_pairs, w[..., None]))
        cells -= np.log(remove_row(sums[label[:, None], u], w[..., None]))
        feature = np.arange(len(self.sizes))
        cells[:, feature, feature] = np.log(remove_row(self.alpha[label[:, None], u, u], w)) - log_total
        return np.where(is_observed, np.where(is_observed[:, None, :], cells, 0).sum(2), -np.inf)

    def log_loo(self, rows: Rows, r: Float[np.ndarray, "n c"] | Sparse) -> Float[np.ndarray, "n c"]:
        """`log_joint` of a posterior that knows the rows, each left out of its own prediction."""
        r = sparse.csr_array(r)
        table = self.classes.log_loo(r)
        if self._is_worth_a_loop(rows) and is_one_hot(r) and (r.data == r.data[0]).all():
            from .sums._compiled import one_dependence

            weight = float(r.data[0])
            shift = np.log(self._totals) - np.log(remove_row(self._totals, weight))
            without = self._log_table_without(weight)
            nothing = np.zeros(len(shift))
            label = r.indices.astype(np.int64)
            one_dependence(self.places(rows[BLOCK]), label, self._log_table_of_all(), without, shift, nothing, table)
            return table
        for part, of_parents in self.log_loo_parents(rows, r):
            table[part] = self._pooled(of_parents, table[part])
        return table

    def _log_table_without(self, weight: float) -> Float[np.ndarray, "k k c"]:
        """`_log_table_of_all` in the class of a row of that weight which has left: every count of its pairs is less."""
        feature = np.repeat(np.arange(len(self.sizes)), self.sizes)
        log_totals = np.log(remove_row(self._totals, weight))[feature]
        table = np.empty((len(feature), len(feature), len(self.alpha)))
        for y, alpha in enumerate(self.alpha):
            cells = np.log(remove_row(alpha, weight))
            np.fill_diagonal(cells, np.diagonal(cells) - log_totals)
            of_level = np.log(remove_row(self.sum_over_levels(alpha), weight))[:, feature]
            np.fill_diagonal(of_level, 0)
            table[:, :, y] = cells - of_level
        return table

    def log_loo_parts(
        self, rows: Rows, r: Float[np.ndarray, "n c"] | Sparse, parts: Any = None, *, scores: bool = False
    ) -> Float[np.ndarray, "2 n c"]:
        """log p(y | data without row i), and `log_loo` less that, log p(x | y, data without row i)."""
        classes = self.classes.log_loo(sparse.csr_array(r))
        return np.stack([classes, self.log_loo(rows, r) - classes])

    def _pooled(self, of_parents: np.ndarray, alone: np.ndarray) -> Float[np.ndarray, "n c"]:
        """log of the mean of p_j over the parents at hand; where there is none, the class probabilities alone."""
        n = np.isfinite(of_parents).any(2).sum(1, keepdims=True)
        return np.where(n, logsumexp(of_parents, 1) - np.log(np.maximum(n, 1)), alone)

    # --- what each feature adds -------------------------------------------------------------------------------------

    def log_contributions(
        self, x: Float[np.ndarray, "n d"], columns: Int[np.ndarray, " k"], theta: Theta | None = None
    ) -> Float[np.ndarray, "*s n k c"]:
        """Shapley values of log p(x_S, y = c) over sets S of features: cells that are not in S are missing ones."""

        def table(rows: np.ndarray) -> np.ndarray:
            return self.log_joint({BLOCK: rows}) if theta is None else self._log_drawn(rows, theta)

        return shapley_of_cells(table, x)[..., columns, :]

    # --- draws ------------------------------------------------------------------------------------------------------

    def sample(self, key: np.random.Generator, shape: tuple[int, ...] = ()) -> Parameters:
        """Draws of a parent j, all equally probable, and of its parameters θ_j.

        Of θ_j, which is as large as the table, only the class probabilities are given. The rest is a key, from which
        `log_joint` draws it again: a draw is the same for all rows, in whatever blocks they come.
        """
        keys = key.integers(1 << 63, size=shape)
        log_pi_draws = []
        for draw_key in keys.ravel().tolist():
            _, theta = self._drawn(self._drawn_parent(draw_key), draw_key)
            log_pairs = theta[CLASS]["log_pi"].reshape(len(self.alpha), -1)  # (c, k_j)
            log_pi_draws.append(np.logaddexp.reduce(log_pairs, 1))
        log_pi = np.reshape(log_pi_draws, (*shape, -1))
        return {CLASS: {"log_pi": log_pi}, BLOCK: {"key": keys, "log_pi": log_pi}}

    def _draw(self, x: Real[np.ndarray, "n d"], key: int, log_pi: Float[np.ndarray, " c"]) -> Float[np.ndarray, "n c"]:
        """log p_j(y, x | θ_j) of rows; without x_j they take the parent that the key gives among the others.

        A row without a single cell has the class probabilities of the draw.
        """
        drawn_parent = self._drawn_parent(key)
        is_observed = self.places(x) >= 0
        has_cells = is_observed.any(1)
        parents = np.where(is_observed[:, drawn_parent], drawn_parent, self._parents(key, is_observed))
        table = np.tile(log_pi, (len(x), 1))
        for j in np.unique(parents[has_cells]).tolist():
            members = np.flatnonzero(has_cells & (parents == j))
            model, theta = self._drawn(j, key)
            rows = {name: x[members][:, group] for name, group in self.groups(j).items()}
            pairs = np.broadcast_to(model.log_table(rows, theta), (len(members), theta[CLASS]["log_pi"].size))
            pairs = pairs.reshape(-1, len(self.alpha), self.sizes[j])
            level = x[members, j].astype(int)
            table[members] = np.take_along_axis(pairs, level[:, None, None], 2)[..., 0]
        return table

    def _parents(self, key: int, is_observed: Bool[np.ndarray, "n d"]) -> Int[np.ndarray, " n"]:
        """The parent of a draw among the features that each row has."""
        n = is_observed.cumsum(1)
        return (np.random.default_rng(key).random() * n[:, -1:] < n).argmax(1)

    def _drawn_parent(self, key: int) -> int:
        """The parent of a draw."""
        return int(self._parents(key, np.ones((1, len(self.sizes)), bool))[0])

    def _drawn(self, j: int, key: int) -> tuple[NaiveBayes, Parameters]:
        """Model j, and a draw of its parameters."""
        model = self.parent(j)
        return model, model.sample(np.random.default_rng([key, j]))

    def sample_predictive(self, rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
        """New rows of levels (n, d) and class indices (n,): a parent, a pair of class and level, then all children."""
        d = len(self.sizes)
        x = np.empty((n, d))
        y = np.empty(n, int)
        parents = rng.choice(d, n, p=np.full(d, 1 / d))
        for j in np.unique(parents):
            members = np.flatnonzero(parents == j)
            model = self.parent(int(j))
            p = np.exp(model.classes.log_predictive())
            pair = rng.choice(len(p), len(members), p=p / p.sum())
            y[members], x[members, j] = np.divmod(pair, self.sizes[j])
            for name, group in self.groups(int(j)).items():
                x[np.ix_(members, group)] = model.blocks[name].sample_predictive(rng, pair)
        return x, y

    # --- one model --------------------------------------------------------------------------------------------------

    def parent(self, j: int) -> NaiveBayes:
        """Model j: naive Bayes of the compound class (y, u), numbered y·k_j + u, a block for each number of levels."""
        parent_levels = self.levels(j)
        pairs = diagonal(self.alpha[:, parent_levels, parent_levels]).reshape(-1)
        blocks = {name: DirichletCategorical(cells) for name, cells in self.children(j, self.alpha).items()}
        return NaiveBayes(DirichletClasses(pairs), {**blocks})

    def parent_statistics(self, j: int, stats: Statistics) -> Statistics:
        """The statistics of model j, read from the table."""
        n = stats.blocks[BLOCK].n
        parent_levels = self.levels(j)
        blocks = {name: Counts(cells, 0 * cells[..., 0]) for name, cells in self.children(j, n).items()}
        return Statistics(diagonal(n[:, parent_levels, parent_levels]).reshape(-1), blocks)

    @property
    def _totals(self) -> Float[np.ndarray, " d"]:
        """Pseudo-rows and rows of each model."""
        return self.sum_over_levels(diagonal(self.alpha).sum(0))

    def _log_table(self, used: Int[np.ndarray, " m"]) -> Float[np.ndarray, "m m c"]:
        """log of the predictive [u, v, y]: of a child v given (y, u), on the diagonal of the pair itself.

        Only of the levels that are used, −1 for a missing one, which gives 0.
        """
        is_level = used >= 0
        u = used[is_level]
        positions = np.ix_(is_level, is_level)
        feature = np.repeat(np.arange(len(self.sizes)), self.sizes)[u]
        pairs = np.log(self.alpha[:, u, u]) - np.log(self._totals[feature])
        table = np.zeros((len(used), len(used), len(self.alpha)))
        for y, alpha in enumerate(self.alpha):  # one class at a time: the table is large
            of_parents = alpha[u]
            cells = np.log(of_parents[:, u])
            cells -= np.log(self.sum_over_levels(of_parents))[:, feature]
            np.fill_diagonal(cells, pairs[y])
            table[:, :, y][positions] = cells
        return table


def diagonal(table: Array) -> Array:
    """[y, u, u] of each class, (c, k)."""
    return np.diagonal(table, axis1=1, axis2=2)
