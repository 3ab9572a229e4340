"""How encoded rows become the columns of the regression: numbers, levels, bins, pairs, and the linear term."""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg, sparse
from sklearn.utils.extmath import randomized_svd

from ..analysis.binning import binned
from ..numerics.arrays import Float, Int, Table, is_sparse
from ..numerics.pytrees import record
from .softmax_regression import contrasts

_MAX_PARAMETERS = 1500  # of the linear term where rows are many
_MAX_AXES = 256  # principal axes of counts
_SAMPLE_ROWS = 50_000  # rows that say where bins end and where axes point
_FAR = 6.0  # standard deviations at which a number of the linear term is cut off
_LENGTH = 10.0  # of a row of log counts in the linear term
_CONSTANT = 1e-12  # spread over mean below which a number does not vary


@record
@dataclass(frozen=True, eq=False)
class ColumnLayout:
    """How encoded rows become columns of the regression. Dense cells are numbers, then levels; sparse ones are counts.

    Fields
    ------
    sizes : number of levels of each column of levels
    used : positions of the numbers that vary
    edges, quarters : upper ends of the bins of each of these: of 3 to 12 bins for the model of single columns, and of
        four for the model of pairs
    centre, scale : (used,) means and standard deviations of these numbers, by which the linear term standardises them
    shares : (Σ sizes,) of the levels of all columns, one column after the other; the linear term centres levels by them
    cut : log n, how far the log density of a class may lie below that of the best class
    axes : directions of the linear term; None for all of its columns
    class_order : position in `classes_` of each class as the regression numbers them; None for the order of `classes_`
    """

    sizes: list[int]
    used: np.ndarray
    edges: list[np.ndarray]
    quarters: list[np.ndarray]
    centre: np.ndarray
    scale: np.ndarray
    shares: np.ndarray
    cut: float
    axes: Any = None
    class_order: Any = None

    @classmethod
    def of(cls, cells: Any, sizes: list[int], weight: np.ndarray, n_classes: int) -> "ColumnLayout":
        """The layout of the columns of the regression, learnt from training rows; it can then be applied to new rows.

        It has what preprocessing must remember: which numbers vary, where their bins end, means and standard
        deviations, shares of levels, and principal axes.

        Parameters
        ----------
        cells : (n, columns) encoded rows: numbers, then the codes 0 … k−1 of columns with levels; or sparse counts
        sizes : number of levels of each column of levels
        weight : (n,) weights of rows
        n_classes : number of classes, on which the number of bins depends
        """
        # 1. The numbers that vary. Of the others the standard deviation is within rounding, 1e-12 of the mean.
        numbers, codes = _numbers_and_codes(cells, sizes)  # (n, columns) each
        spreads = [_spread(x, weight) for x in numbers.T]  # weighted mean and standard deviation of each column
        used = [j for j, spread in enumerate(spreads) if spread.scale > _CONSTANT * abs(spread.mean)]

        # 2. Bins with equally many rows each: 3 to 12 bins for the densities of single columns, and 4, the quarters,
        # for those of pairs of columns. A sample of very many rows is enough to find where bins end.
        n_bins = _bin_count(weight.sum(), n_classes)
        sample = _sample_positions(len(weight))
        edges = [_edges(numbers[sample, j], weight[sample], n_bins) for j in used]
        quarters = [_edges(numbers[sample, j], weight[sample], 4) for j in used]

        # 3. Means and standard deviations of the numbers, and the share of each level in its column.
        layout = cls(
            sizes=sizes,
            used=np.array(used, int),
            edges=edges,
            quarters=quarters,
            centre=np.array([spreads[j].mean for j in used]),
            scale=np.array([spreads[j].scale for j in used]),
            shares=_level_shares(codes, sizes, weight),
            cut=float(np.log(max(weight.sum(), 2))),
        )

        # 4. Principal axes of the columns, which the layout so far makes of the rows; None if there are few columns.
        return replace(layout, axes=layout._principal_axes(cells, weight, n_classes))

    def _principal_axes(self, cells: Any, weight: np.ndarray, n_classes: int) -> Any:
        """Principal axes of the columns of the linear term, (columns, axes); None if there are few columns.

        They limit the number of coefficients: with many columns the linear term has a coefficient for each axis instead
        of each column. The axes are the first right singular vectors of the rows.

        Parameters
        ----------
        cells, weight : (n, columns) encoded training rows, and their weights (n,)
        n_classes : c; an axis needs c − 1 coefficients
        """
        # 1. How many axes: no more than rows, and no more than 1,500 coefficients in all; of sparse counts, 256.
        n_rows = len(weight)
        one_row = self.raw(cells[:1])  # the columns of the linear term, (1, columns)
        n_columns = one_row.shape[1]
        max_axes = min(n_rows, _MAX_PARAMETERS // (n_classes - 1))
        if is_sparse(one_row):
            max_axes = min(max_axes, _MAX_AXES)
        if n_columns <= max_axes:
            return None

        # 2. The rows, or a sample of very many, times √weight: in sums of squares a row of weight 2 is then two rows.
        sample = _sample_positions(n_rows)
        rows = self.raw(cells[sample]) * np.sqrt(weight[sample])[:, None]

        # 3. The singular value decomposition U D Vᵀ. Vᵀ has the axes as rows, that with the most variation first.
        if is_sparse(rows):
            _, _, axes = randomized_svd(rows, max_axes, random_state=0)  # never makes the rows dense
        else:
            _, _, axes = linalg.svd(rows, full_matrices=False)
        return axes[:max_axes].T

    def columns(self, cells: Any) -> "RowsOfModels":
        """Encoded rows (n, columns) as the two models of densities take them.

        For the model of single columns they are the numbers that vary, the codes of levels, and the same numbers in
        bins; or the counts as they are. For the model of pairs, the numbers in quarters, and the codes of levels.

        Parameters
        ----------
        cells : (n, columns) encoded rows: numbers, then the codes 0 … k−1 of columns with levels; or sparse counts
        """
        # `binned` gives each number the position 0 … k−1 of its bin, NaN where the cell is missing.
        numbers, codes = _numbers_and_codes(cells, self.sizes)
        numbers = numbers[:, self.used]
        pairs = np.hstack([binned(numbers, self.quarters), codes])
        if is_sparse(cells):
            return RowsOfModels(cells, pairs)
        return RowsOfModels(np.hstack([numbers, codes, binned(numbers, self.edges)]), pairs)

    def raw(self, cells: Any) -> Any:
        """The columns of the linear term of encoded rows, before they are rotated, (n, columns); a missing cell is 0.

        Counts are log(1 + count), each row scaled to one length. Other rows are standardised numbers, then a column for
        each level: 1 in the rows that have it and 0 in others, minus its share among training rows.

        Parameters
        ----------
        cells : (n, columns) encoded rows: numbers, then the codes 0 … k−1 of columns with levels; or sparse counts
        """
        if is_sparse(cells):  # counts: log(1 + count), each row scaled to the Euclidean length 10
            from sklearn.preprocessing import normalize  # which imports splines and optimisers

            return _LENGTH * normalize(sparse.csr_array(cells).log1p())

        # Numbers are centred and divided by their standard deviation, and cut off at six standard deviations.
        numbers, codes = _numbers_and_codes(cells, self.sizes)
        standardised = np.clip((numbers[:, self.used] - self.centre) / self.scale, -_FAR, _FAR)

        # A column with the shares .5 .3 .2 of its levels has three columns here. A cell of level 1, the middle one, is
        # 0 1 0 minus these shares: −.5 .7 −.2. A missing cell is 0 0 0, from which no share is subtracted.
        is_known = np.repeat(~np.isnan(codes), self.sizes, axis=1)  # once for each level of a cell, (n, Σ sizes)
        centred_levels = _one_hot(codes, self.sizes) - self.shares * is_known
        return np.hstack([np.nan_to_num(standardised), centred_levels])

    def linear(self, cells: Any) -> Float[np.ndarray, "n r"]:
        """z: the columns of the linear term, on principal axes where there are such, and a last column of ones."""
        raw = self.raw(cells)  # standardised numbers and centred levels, or scaled log counts, (n, columns)
        if self.axes is not None:
            raw = raw @ self.axes
        if is_sparse(raw):
            raw = raw.toarray()
        return np.column_stack([raw, np.ones(raw.shape[0])])

    def contrasts_of(self, tables: Float[np.ndarray, "j n c"]) -> Float[np.ndarray, "n m j"]:
        """The m = c − 1 contrasts Kᵀ t_ij of log densities t, for n rows and j columns; K has orthonormal columns.

        A constant that is added to the log densities of all classes changes no class probability. The columns of K
        (c, m) sum to 0, so that Kᵀ t does not have this constant: it is what of t matters, in c − 1 numbers.

        t is log p(x_ij | y = c) relative to the best class, and not below −log n, where n is the weight of all training
        rows: so many rows cannot show that a class is rarer than one in n.

        Parameters
        ----------
        tables : log p(x_ij | y = c) of each column
        """
        # A row of the log densities −1, −3 and −9 is (0, −2, −8) relative to the best class; with the cut at 5 it is
        # (0, −2, −5).
        relative = tables - tables.max(2, keepdims=True)  # (j, n, c), 0 of the best class
        np.maximum(relative, -self.cut, out=relative)
        k = contrasts(tables.shape[2])  # K, (c, m)
        return (relative @ k).transpose(1, 2, 0)  # (j, n, m) to (n, m, j)

    # --- the order of the classes -----------------------------------------------------------------------------------

    def ordered(self, n_classes: int) -> Int[np.ndarray, " c"]:
        """Position in `classes_` of each class as the regression numbers them."""
        return np.arange(n_classes) if self.class_order is None else self.class_order

    def in_label_order(self, table: np.ndarray) -> np.ndarray:
        """A table (…, c) of the regression with its classes in the order of `classes_`."""
        if self.class_order is None:
            return table

        # Column k of the table is the class at position `class_order[k]`. The inverse of that order says in which
        # column each position is. `argsort` of an order is its inverse: of 2, 0, 1 it is 1, 2, 0.
        return table[..., np.argsort(self.class_order)]


class RowsOfModels(NamedTuple):
    """Rows (n, columns) as the model of single columns takes them, and as the model of pairs of columns does."""

    single: Any
    pairs: np.ndarray


class _Spread(NamedTuple):
    """Weighted mean and standard deviation of the known cells of a column."""

    mean: float
    scale: float


def _spread(x: Float[np.ndarray, " n"], weight: Float[np.ndarray, " n"]) -> _Spread:
    """Weighted mean and standard deviation of a column x, (n,); missing cells, NaN, have weight 0."""
    known_weight = np.where(np.isnan(x), 0, weight)
    total = max(known_weight.sum(), 1e-300)  # a column may be missing in all rows
    cells = np.where(known_weight > 0, x, 0)  # as 0 · NaN would be NaN
    mean = known_weight @ cells / total
    variance = known_weight @ (cells - mean) ** 2 / total
    return _Spread(float(mean), float(np.sqrt(variance)))


def _bin_count(n: float, n_classes: int) -> int:
    """Number of bins of a column of numbers: √(n/c) / 1.5, 3 to 12, for rows of the weight n in all, and c classes."""
    return int(np.clip(round(np.sqrt(n / n_classes) / 1.5), 3, 12))


def _edges(x: np.ndarray, weight: np.ndarray, k: int) -> np.ndarray:
    """Upper ends of the first k − 1 of k bins of a column, such that each bin has the same weight of rows.

    They are the weighted quantiles 1/k … (k−1)/k: end i is the smallest cell for which the cells up to it have at least
    i/k of the weight. Ends that fall together, as cells are equal, are one; a column without a known cell has no ends.

    Parameters
    ----------
    x, weight : (n,) cells of the column, NaN where missing, and weights of the rows
    """
    is_known = ~np.isnan(x) & (weight > 0)
    if not is_known.any():
        return np.empty(0)
    quantiles = np.arange(1, k) / k
    return np.unique(np.quantile(x[is_known], quantiles, weights=weight[is_known], method="inverted_cdf"))


def _level_shares(codes: Table, sizes: list[int], weight: np.ndarray) -> np.ndarray:
    """Share of each level among the known cells of its column by weight, column after column: (Σ sizes,)."""
    shares = [np.empty(0)]  # `concatenate` needs an array, and there may be no column
    for column, size in zip(codes.T, sizes, strict=True):
        is_known = ~np.isnan(column)
        of_level = np.bincount(column[is_known].astype(int), weight[is_known], size)  # weight of each level, (size,)
        shares.append(of_level / max(of_level.sum(), 1e-300))
    return np.concatenate(shares)


def _sample_positions(n: int) -> Any:
    """All rows, or a fixed random sample of them where there are more than enough."""
    if n <= _SAMPLE_ROWS:
        return slice(None)
    return np.sort(np.random.default_rng(0).permutation(n)[:_SAMPLE_ROWS])


def _numbers_and_codes(cells: Any, sizes: list[int]) -> tuple[np.ndarray, np.ndarray]:
    """The numbers (n, columns) of dense cells, and the codes of levels (n, columns); sparse cells have neither."""
    if is_sparse(cells):
        return np.empty((cells.shape[0], 0)), np.empty((cells.shape[0], 0))
    n_numbers = cells.shape[1] - len(sizes)
    return cells[:, :n_numbers], cells[:, n_numbers:]


def _one_hot(codes: np.ndarray, sizes: list[int]) -> np.ndarray:
    """Whether a row has each level, column after column, (n, Σ sizes); False where the cell is missing."""
    # With sizes 2 and 3 the levels are 0 1 | 0 1 2. The codes 1, 0 of a row are repeated to 1 1 | 0 0 0, and so are
    # equal to the level of their column where the row has it: F T | T F F. NaN equals nothing.
    level = np.concatenate([np.arange(0), *map(np.arange, sizes)])  # (Σ sizes,); `arange(0)`, as there may be no column
    return np.repeat(codes, sizes, axis=1) == level
