"""Categorical naive Bayes for scikit-learn users."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from ..families.categorical import DirichletCategorical
from ..models.naive_bayes import Rows
from ..sums.statistics import Counts
from ._base import AbstractNB
from ._documented import documented
from ._fitted import State
from ._levels import AbstractLevels, are_codes, counted_levels, places_among, shown_levels, sizes_of


@documented
@dataclass(kw_only=True, eq=False, repr=False)
class CategoricalNB(AbstractLevels, AbstractNB):
    """Naive Bayes for features with levels: θ_cj ~ Dirichlet(α), x_ij | y_i = c ~ Categorical(θ_cj).

    Parameters
    ----------
    alpha : float or (d,), default 1
        pseudo-count of each level in each class, positive
    {force_alpha}
    prior : optional
        your own prior. It may be a NumPyro distribution such as `dist.Dirichlet([5, 1, 1])`, with one pseudo-count a
        level, a mapping of fields such as `{"alpha": [5, 1, 1]}`, or a family.
        {prior_of_columns}
    {class_parameters}
    min_categories : int, (d,) or None, default None
        smallest number of levels of a feature of whole numbers, whose levels are 0 … max, and of one without a cell
    {estimate}

    Attributes
    ----------
    categories_ : list of d arrays
        levels of each feature. A type that declares levels has all of them, whether they occur or not: a categorical
        of pandas, an Enum of polars, a dictionary of Arrow. Whole numbers have the levels 0 … max. Other features have
        the values that occur, sorted
    n_categories_ : (d,)
        number of levels of each feature
    classes_, n_features_in_, feature_names_in_ : as in scikit-learn
    statistics_, prior_, posterior_ : the sufficient statistics, and `NaiveBayes` before and after the rows. Features
        with the same number k of levels form the block `levels_k`
    log_evidence_ : log p(X, y) in nats

    Notes
    -----
    Cells are strings, declared levels or whole numbers. A data frame or an object array may mix them. NaN, None and
    pandas.NA are missing cells and are left out. Prediction also leaves out a level that was not in the training rows;
    it warns if no cell of a column is known because one side is text and the other is numbers.
    `partial_fit` adds new levels when they occur. Sparse rows hold whole numbers; an empty cell is level 0.

    Examples
    --------
    >>> import pandas as pd
    >>> from bayesnb import CategoricalNB
    >>> X = pd.DataFrame({"sky": ["sun", "sun", "rain", "rain"], "wind": ["weak", "strong", "weak", "strong"]})
    >>> nb = CategoricalNB().fit(X, ["play", "play", "play", "stay"])
    >>> nb.predict_proba(X[-1:]).round(3)
    array([[0.419, 0.581]])
    """

    alpha: Any = 1.0
    force_alpha: bool = True
    min_categories: Any = None

    _family = DirichletCategorical
    _variants: ClassVar = {"categorical": {}}

    def _block_columns(self, state: State) -> dict[str, np.ndarray]:
        """Positions of the columns of each block: those with the same number of levels.

        Columns with 2, 3 and 2 levels give {"levels_2": [0, 2], "levels_3": [1]}.
        """
        sizes = sizes_of(state)  # (d,)
        return {f"levels_{k}": np.flatnonzero(sizes == k) for k in np.unique(sizes)}

    def _move_counts(self, state: State, after: State) -> dict[str, Any]:
        """The counts of a state, by block, in the encoding of another state, with 0 for levels that are new.

        A block holds all columns with the same number of levels. A column that gets levels therefore moves to another
        block: if column 4 has the levels a, b with the counts 3, 5 in the block `levels_2`, and c is new, it has the
        counts 3, 5, 0 in the block `levels_3`. So the counts are first sorted by column, and then put into new blocks.

        Parameters
        ----------
        state : with counts; its encoding is the list of the levels of each column
        after : the same columns with all levels of `state` and new ones; its own statistics are not read
        """
        # from the old blocks: for each column of X, by its position, the counts (c, k), and the variances of their
        # rounding, which are 0 where nobody has asked for them
        n_of_column = {}
        error_of_column = {}
        for name, columns in self._block_columns(state).items():
            block = state.statistics.blocks[name]  # its counts `n` are (c, columns of the block, k)
            error = (block.error or {}).get("n", np.zeros_like(block.n))
            for within_block, j in enumerate(columns.tolist()):
                n_of_column[j] = block.n[:, within_block]
                error_of_column[j] = error[:, within_block]

        # into the new blocks, whose columns have `n_levels` levels
        sizes = sizes_of(after)  # (d,), number of levels of each column
        blocks = {}
        for name, columns in self._block_columns(after).items():
            n_levels = sizes[columns[0]]
            n = np.zeros((len(state.classes), len(columns), n_levels))
            error = np.zeros_like(n)
            for within_block, j in enumerate(columns.tolist()):
                # where the old levels stand among the new ones: of a, b among a, b, c the positions are 0, 1. A column
                # without a cell has placeholder levels, which have no counts to move
                positions = places_among(counted_levels(state.encoding[j]), after.encoding[j])
                n_moved = len(positions)
                n[:, within_block, positions] = n_of_column[j][:, :n_moved]
                error[:, within_block, positions] = error_of_column[j][:, :n_moved]
            # sufficient statistics are the counts, and Σ log h(x) of the base measure h of the family, (c, columns). Of
            # a categorical h is 1, so its logarithm is 0. The error is left out where it is 0
            blocks[name] = Counts(n, np.zeros(n.shape[:2]), {"n": error} if error.any() else {})
        return blocks

    def _rows_by_block(self, state: State, X: Any) -> Rows:
        """Some validated rows as codes, the position of each cell among the levels of its column, by block.

        The columns with k levels form the block `levels_k`.

        Parameters
        ----------
        state : its encoding is the list of the levels of each column
        X : some validated rows
        """
        if sparse.issparse(X):
            return self._sparse_rows_by_block(state, X)
        # of the cells "b", "a" of a column with the levels a, b the codes are 1, 0
        block_columns = self._block_columns(state)  # positions in X of the columns of each block
        codes = self._codes(state, X)  # (n, d), NaN where a cell is missing or its level unknown
        if len(block_columns) == 1:
            return dict.fromkeys(block_columns, codes)  # the only block has all columns in order: no copy is needed
        return {name: codes[:, columns] for name, columns in block_columns.items()}

    def _sparse_rows_by_block(self, state: State, X: Any) -> Rows:
        """Sparse rows by block: an empty cell is level 0, and a cell that is not whole is a missing one.

        Only codes 0 … K−1 are possible: a level with a name has no number that an empty cell could stand for.

        Parameters
        ----------
        state : its encoding is the list of the levels of each column
        X : some validated sparse rows
        """
        # columns whose levels are names, not the numbers 0 … K−1
        without_codes = [j for j, levels in enumerate(state.encoding) if not are_codes(levels)]
        if without_codes:
            label = state.columns.label(without_codes[0])
            raise ValueError(
                f"`X` is sparse, but column {label} has levels that are not codes 0 … K−1; pass dense rows"
            )
        codes = sparse.csr_array(X, dtype=float, copy=True)  # a copy, because stored cells are changed
        # `data` holds the stored cells, (m,). A number such as 1.5 is no code
        codes.data[codes.data != np.floor(codes.data)] = np.nan
        return {name: codes[:, columns] for name, columns in self._block_columns(state).items()}

    def _traced_rows_by_block(self, state: State, X: Any) -> Rows:
        """Traced cells are codes, or places among the levels; missing cells are NaN."""
        return {name: X[:, columns] for name, columns in self._block_columns(state).items()}

    def _default_blocks(self, state: State) -> dict[str, Any]:
        """Dirichlet(α_j) for each class and column j, one block for each number of levels.

        The pseudo-count α_j is that of every level of column j in every class.

        Parameters
        ----------
        state : with classes and columns, and the levels of each column as its encoding
        """
        n_classes, n_columns = state.shape
        alpha = self._concentration(state, (n_columns,))  # (d,), the argument `alpha` for each column
        sizes = sizes_of(state)  # (d,), number of levels of each column
        blocks = {}
        for name, columns in self._block_columns(state).items():
            n_levels = sizes[columns[0]]  # which all columns of a block have
            alpha_by_column = alpha[columns].reshape(1, -1, 1)  # along the middle axis of (class, column, level)
            shape = (n_classes, len(columns), n_levels)
            blocks[name] = DirichletCategorical(np.broadcast_to(alpha_by_column, shape))
        return blocks

    def _block_labels(self, state: State, block: str) -> dict[str, np.ndarray]:
        """Coordinates of a block's dimensions by name, in the order of its axes after the class."""
        # a block is the columns with one number of levels; its parameters are (class, feature, level)
        names = state.columns.labels  # of all columns of X
        block_columns = self._block_columns(state)  # positions in X of the columns of each block
        n_levels = int(block.removeprefix("levels_"))
        codes = np.arange(n_levels)
        if len(block_columns) == 1:  # one axis of levels: it has their words if all columns have the same ones
            levels = shown_levels(state)
            is_shared = all(of_column.tolist() == levels[0].tolist() for of_column in levels)
            return {"feature": names, "level": levels[0] if is_shared else codes}
        # several blocks have dimensions of different lengths, so each has names of its own for them
        return {f"{block}_feature": names[block_columns[block]], f"{block}_level": codes}

    def _weight_labels(self, state: State, names: np.ndarray) -> np.ndarray:
        """A label for each weight of the linear form, (k,), from names of the columns, (d,)."""
        # weights are those of the levels: all levels of a column, such as "pet=cat" and "pet=dog", then of the next
        levels = shown_levels(state)
        columns_in_order = np.concatenate([*self._block_columns(state).values()])  # block after block
        labels = []
        for j in columns_in_order:
            labels += [f"{names[j]}={level}" for level in levels[j]]
        return np.array(labels)
