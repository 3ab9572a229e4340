"""Do columns depend on each other within a class in a way that the model does not? A finding about data, no test of it.

A posterior predictive check. r_cjk is the rank correlation (Spearman's) of columns j and k among the n_c rows of class
c, and m_cjk its mean over tables of rows that are drawn from the fitted model for the same labels:

    T = max_{c, j < k} √n_c |r_cjk − m_cjk|

A pair is a finding if its term is larger than T of each of 99 further drawn tables. If the model is right, one table in
a hundred has a finding. Ranks make this a question of dependence only, because they do not change with the shape of a
column. m is near 0 where features are independent, and what the model implies where they are not: for a covariance
matrix, and for counts whose total is given.

A column of levels enters by an indicator of its most common level. A missing cell has the mean rank of its class, in
the drawn tables too. A column that is nearly constant in a class is left out there.

References
----------
Gelman, Meng & Stern (1996), Posterior predictive assessment of model fitness via realized discrepancies, Statistica
Sinica 6, §2.3.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy import stats
from sklearn.preprocessing import StandardScaler

from ..models.naive_bayes import Rows
from ..numerics.arrays import Bool, Float
from ..numerics.supports import GIVEN_TOTALS
from ..posterior.sampling import dense
from ..sums.rows import rows_at
from .laws import choose
from .report import Dependence, Pair

_REFERENCE, _TABLES = 50, 99  # drawn tables behind m, and those that T is compared with
_MOST_COLUMNS, _MOST_CELLS = 100, 100_000  # that are compared
_MOST_PAIRS = 3  # that are named
_LEAST_ROWS = 20  # of a class, all with different cells, or some seven of two values: fewer say nothing of dependence
_LEAST_PER_ROW = _LEAST_ROWS - 1 / _LEAST_ROWS  # times n: n² − 1 where n = 20
_ROUNDING = 1e-9  # of a variance of ranks


def dependence(fitted: Any, rows: Rows, y: np.ndarray, rng: np.random.Generator) -> Dependence:
    """The largest correlations within classes of rows that were fitted, against tables drawn from the model.

    This is a posterior predictive check of the assumption of naive Bayes, that features are independent given the
    class. A pair of columns stands out if its rank correlation in a class is further from what the model expects than
    any correlation in 99 tables of rows drawn from the model.

    Parameters
    ----------
    fitted : the fitted estimator
    rows, y : rows by block (the columns of one family), and class of each
    rng : chooses rows and draws tables
    """
    if any(block.is_composite for block in fitted.posterior_.blocks.values()):
        return Dependence(remark="the model has no distribution of new rows to compare with")

    # some rows and columns, if there are too many, and the pairs of columns that vary in a class
    columns = _most_variable_columns(rows)  # f pairs: name of the block, position in it
    sample = _sample_rows(fitted, rows, y, columns, rng)
    is_usable = _usable_pairs(sample, columns)  # (c, f, f)
    if not is_usable.any():
        return Dependence(remark=f"no class has {_LEAST_ROWS} rows in which two columns vary")

    # for each pair of features the class in which it stands out most, the most striking pair first
    check = _compare_with_drawn_tables(sample, is_usable, rng)
    features = [int(fitted.model_.block_columns[block][column]) for block, column in columns]  # number of each column's
    largest = _largest_of_each_pair(check.terms, is_usable, features)  # places (class, column, column) in the tables

    names = _column_names(fitted, sample, features)
    n_columns = sum(x.shape[1] for x in rows.values())
    is_all = len(columns) == n_columns
    return Dependence(
        pairs=tuple(_pair(check, place, names, fitted.classes_) for place in largest[:_MOST_PAIRS]),
        beyond=sum(bool(check.terms[place] > check.limit) for place in largest),
        compared=len(largest),
        tables=_TABLES,
        remark="" if is_all else f"the {_MOST_COLUMNS} of {n_columns:,} columns with the largest variance",
    )


# --- the rows and columns that are compared ---------------------------------------------------------------------------


def _most_variable_columns(rows: Rows) -> list[tuple[str, int]]:
    """Block and place in it of the columns with the largest variance, at most 100, in the order of the table.

    Parameters
    ----------
    rows : (n, d) cells of each block (the columns of one family), dense or sparse
    """
    columns: list[tuple[str, int]] = []
    variances = []  # of the columns of each block
    for block, x in rows.items():
        columns += [(block, column) for column in range(x.shape[1])]
        # scikit-learn's scaler takes dense and sparse rows, and leaves missing cells out; only its variances are used
        with np.errstate(invalid="ignore"):  # a column without cells
            variances.append(StandardScaler(with_mean=False).fit(x).var_)

    variance = np.nan_to_num(np.concatenate(variances))  # of all columns; 0 for one without cells
    largest = np.argsort(-variance, kind="stable")[:_MOST_COLUMNS]
    return [columns[place] for place in np.sort(largest)]


class _Sample(NamedTuple):
    """Some rows and columns, and the model of these columns alone: n rows, f columns of all blocks together.

    Fields
    ------
    cells : dense rows by block
    y : (n,) class of each row
    members : positions of the rows of each class
    model : marginal block of the columns, by block
    most_common : most common level of each column, by block; only of blocks whose cells are levels
    is_missing : (n, f) whether a cell is missing, over all columns
    """

    cells: dict[str, np.ndarray]
    y: np.ndarray
    members: list[np.ndarray]
    model: dict[str, Any]
    most_common: dict[str, np.ndarray]
    is_missing: Bool[np.ndarray, "n f"]


def _sample_rows(
    fitted: Any, rows: Rows, y: np.ndarray, columns: list[tuple[str, int]], rng: np.random.Generator
) -> _Sample:
    """At most 100,000 cells: rows at random, in the columns that are compared, and the model of these columns.

    The columns of a block are modelled by one family. `select` gives the marginal model of some of them, which for
    features that are independent given the class is the model of each.

    Parameters
    ----------
    fitted : the fitted estimator
    rows, y : rows by block and class of each
    columns : block, and place in it, of each column that is compared
    rng : chooses the rows
    """
    # positions in each block of the columns that are compared: (a, 0), (a, 3), (b, 1) become a: 0 3, b: 1
    positions_of_block: dict[str, list[int]] = {}
    for block, column in columns:
        positions_of_block.setdefault(block, []).append(column)
    positions = {block: np.array(of_block) for block, of_block in positions_of_block.items()}

    # dense cells of some rows, (n, columns) by block, and the class of each row
    chosen = choose(rng, len(y), _MOST_CELLS // len(columns))  # positions of the rows
    chosen_rows = rows_at(rows, chosen)
    cells = dense({block: chosen_rows[block][:, of_block] for block, of_block in positions.items()})
    y_chosen = y[chosen]
    n_classes = int(y_chosen.max()) + 1

    blocks = fitted.posterior_.blocks
    blocks_of_levels = [block for block in cells if blocks[block].unwrapped.cells_.kind == "levels"]
    return _Sample(
        cells=cells,
        y=y_chosen,
        members=[np.flatnonzero(y_chosen == k) for k in range(n_classes)],
        model={block: blocks[block].select(of_block) for block, of_block in positions.items()},
        most_common={block: stats.mode(cells[block], nan_policy="omit").mode for block in blocks_of_levels},
        is_missing=np.isnan(np.hstack([*cells.values()])),
    )


def _usable_pairs(sample: _Sample, columns: list[tuple[str, int]]) -> Bool[np.ndarray, "c f f"]:
    """Pairs of columns, each once, that vary enough in a class to say something of it: c classes, f columns.

    Equal cells share a rank, so that ranks of a column with few values have a small variance. Ranks 1 … m of different
    cells have the variance (m² − 1)/12. In a class of n rows a column is used if its ranks have n/20 times the variance
    of 20 different cells.

    Parameters
    ----------
    sample : the rows, with the positions of those of each class (`members`)
    columns : block, and place in it, of each column

    Returns
    -------
    (c, f, f) booleans: of each class a table that is True only above its diagonal, so that a pair occurs once
    """
    # the only class of the block of each column; None if the block (the model of a few columns) has all classes
    only_class = [sample.model[block].only_class for block, _ in columns]
    ranks_by_class = _centred_ranks(sample, sample.cells)  # a table (rows of the class, f) for each class

    usable = []
    for k, (members, ranks) in enumerate(zip(sample.members, ranks_by_class, strict=True)):
        n_cells = np.maximum((~sample.is_missing[members]).sum(0), 1)  # cells that are not missing, (f,)
        variance = np.square(ranks).sum(0) / n_cells  # of the ranks of each column, (f,)
        least_variance = max(1, _LEAST_PER_ROW * len(members)) / 12  # n/20 · (20² − 1)/12
        varies = variance >= least_variance - _ROUNDING

        # a block of a single class says nothing of its columns in other classes
        is_modelled = np.array([only is None or only == k for only in only_class])
        is_usable = varies & is_modelled  # (f,)
        both_usable = np.logical_and.outer(is_usable, is_usable)  # (f, f)
        usable.append(np.triu(both_usable, 1))
    return np.stack(usable)


# --- correlations -----------------------------------------------------------------------------------------------------


def _centred_ranks(sample: _Sample, cells: Rows) -> list[Float[np.ndarray, "n f"]]:
    """Ranks of the cells of each column in each class minus their mean, a table (rows of the class, f) for each class.

    Cells 5, 1, NaN, 9 have the ranks 2, 1, NaN, 3, which become 0, −1, 0, 1: a missing cell has 0, as if it had the
    mean rank. A column of levels, which have no order, is first made an indicator of its most common level: with
    "red" the most common, red, blue, red becomes 1, 0, 1.

    Parameters
    ----------
    sample : n rows and f columns, with the rows of each class (`members`), what is missing, and the most common levels
    cells : by block (the columns of one family), those of the sample, or cells that were drawn in their place. A cell
        that is missing in the sample counts as missing in both, so that their correlations can be compared
    """
    # the columns of all blocks side by side, NaN where a cell is missing, (n, f)
    columns = []
    for block, x in cells.items():
        if block in sample.most_common:  # levels: whether a cell has the most common one of its column
            columns.append(x == sample.most_common[block])
        else:
            columns.append(x)
    table = np.where(sample.is_missing, np.nan, np.hstack(columns))

    centred = []
    for members in sample.members:
        # the rank of each cell in its column among the rows of the class; NaN stays NaN, and has no part in the ranking
        ranks = stats.rankdata(table[members], axis=0, nan_policy="omit")  # (rows of the class, f)
        known_ranks = np.ma.masked_invalid(ranks)  # NaN entries are masked: the mean is that of the other entries
        centred.append((known_ranks - known_ranks.mean(0)).filled(0))  # an ordinary array, 0 in the masked entries
    return centred


def _correlations(sample: _Sample, cells: Rows) -> Float[np.ndarray, "c f f"]:
    """Rank correlations (Spearman's) of all pairs of f columns in each of c classes; 0 for a constant column.

    They are scalar products of the columns of centred ranks, each divided by its length.

    Parameters
    ----------
    sample : n rows and f columns, with the rows of each class
    cells : by block, those of the sample or cells drawn in their place, as in `_centred_ranks`
    """
    by_class = []
    for ranks in _centred_ranks(sample, cells):  # a table (rows of the class, f) for each class
        lengths = np.sqrt(np.square(ranks).sum(0))  # (f,)
        z = ranks / np.maximum(lengths, 1e-300)
        by_class.append(z.T @ z)
    return np.stack(by_class)


def _drawn_correlations(sample: _Sample, rng: np.random.Generator) -> Float[np.ndarray, "c f f"]:
    """Rank correlations of new rows that the model draws for the same labels, of f columns in each of c classes.

    Some models say nothing of the total of a row, such as the multinomial of the words of a text: it gives word counts
    only for a text of known length. To draw a row they need its total as the argument `length`, and get that of the
    same row of the sample.

    Parameters
    ----------
    sample : n rows with their classes, and the model of their columns by block
    rng : source of the draws

    Returns
    -------
    correlations of the drawn rows, a symmetric matrix (f, f) for each class
    """
    drawn = {}
    for name, block in sample.model.items():
        totals = {}  # the argument `length` of families that need it
        if block.cells_.measure == GIVEN_TOTALS:
            length = sample.cells[name].sum(1)  # (n,)
            if block.only_class is not None:  # the block draws the rows of its class only, and takes their totals
                length = length[sample.y == block.only_class]
            totals["length"] = length

        # (n, columns) new cells of the same classes; a block about one class leaves the rows of the others NaN
        drawn[name] = block.sample_predictive(rng, sample.y, **totals)
    return _correlations(sample, drawn)


class _Check(NamedTuple):
    """The correlations of the rows, and those of tables drawn from the model.

    Fields
    ------
    observed : (c, f, f) r_cjk
    reference : (c, f, f) m_cjk
    root_n : (c,) √n_c
    terms : (c, f, f) √n_c |r_cjk − m_cjk| of the usable pairs, 0 elsewhere
    limit : the largest term of the drawn tables
    """

    observed: Float[np.ndarray, "c f f"]
    reference: Float[np.ndarray, "c f f"]
    root_n: Float[np.ndarray, " c"]
    terms: Float[np.ndarray, "c f f"]
    limit: float


def _compare_with_drawn_tables(
    sample: _Sample, is_usable: Bool[np.ndarray, "c f f"], rng: np.random.Generator
) -> _Check:
    """The correlations of the rows, what the model expects of them, and how far off 99 drawn tables are at most.

    It is a Monte Carlo test. A table has as many rows as the data, with the same labels; drawn tables follow the model.

    1. Every table has rank correlations r: one for each class c and pair of columns (j, k), an array (c, f, f) of f
       columns.
    2. What the model expects of them, m, is the mean over 50 drawn tables.
    3. The statistic of a table is its largest √n_c |r − m|, over all classes, with n_c rows each, and all pairs.
    4. The limit is the largest statistic of 99 further tables. If the model is right, the statistic of the rows is one
       of 100 equally distributed numbers, and is the largest with probability 1/100.

    Parameters
    ----------
    sample : the rows, and the model that tables are drawn from
    is_usable : whether a class and pair of columns counts
    """
    # m, (c, f, f)
    reference = np.sum([_drawn_correlations(sample, rng) for _ in range(_REFERENCE)], 0) / _REFERENCE

    # √n_c, and 0 for pairs that are not used
    root_n = np.sqrt([len(members) for members in sample.members])  # (c,)
    weight = root_n[:, None, None] * is_usable  # (c, f, f)

    def terms_of(correlations: np.ndarray) -> np.ndarray:
        """√n_c |r − m| of the correlations r of a table, (c, f, f)."""
        return weight * abs(correlations - reference)

    # the largest term of each of 99 further tables, and the terms of the rows themselves
    largest_of_tables = [float(terms_of(_drawn_correlations(sample, rng)).max()) for _ in range(_TABLES)]
    observed = _correlations(sample, sample.cells)  # (c, f, f)
    return _Check(
        observed=observed,
        reference=reference,
        root_n=root_n,
        terms=terms_of(observed),
        limit=max(largest_of_tables),
    )


# --- what is reported -------------------------------------------------------------------------------------------------


def _largest_of_each_pair(
    statistic: Float[np.ndarray, "c f f"], is_usable: Bool[np.ndarray, "c f f"], features: list[int]
) -> list[tuple[int, int, int]]:
    """Places (class, column, column) of the largest statistic of each pair of features, in descending order.

    A feature may stand in several columns, one for each class, if its classes have blocks of their own. The pair of
    features 3 and 7 then has statistics at several places, of which only the largest is returned.

    Parameters
    ----------
    statistic, is_usable : of each class and pair of columns, and whether it counts
    features : (f,) number of the feature of each column; the blocks of single classes have columns of the same feature
    """
    places = [(int(k), int(a), int(b)) for k, a, b in np.argwhere(is_usable)]
    places.sort(key=lambda place: -statistic[place])  # largest first; equal ones keep their order

    # of the places of a pair, the first in this order has the largest statistic. A pair is a set: 3 and 7, or 7 and 3
    place_of_pair: dict[frozenset[int], tuple[int, int, int]] = {}
    for k, a, b in places:
        pair = frozenset((features[a], features[b]))
        place_of_pair.setdefault(pair, (k, a, b))  # a later place does not replace the first
    return list(place_of_pair.values())


def _pair(check: _Check, place: tuple[int, int, int], names: list[str], classes: np.ndarray) -> Pair:
    """A pair of columns in a class, as a report shows it, with the range of the correlations of drawn tables.

    In all drawn tables √n_c |r_cjk − m_cjk| is at most the limit: so r_cjk lies within limit / √n_c of m_cjk.

    Parameters
    ----------
    check : correlations r_cjk (`observed`) and m_cjk (`reference`), and the limit
    place : class and both columns, as positions
    names, classes : names of the columns, and labels of the classes
    """
    k, a, b = place
    reach = check.limit / check.root_n[k]  # limit / √n_c; a correlation is never beyond ±1
    low, high = np.clip([check.reference[place] - reach, check.reference[place] + reach], -1, 1)
    return Pair(
        first=names[a],
        second=names[b],
        label=str(classes[k]),
        correlation=float(check.observed[place]),
        low=float(low),
        high=float(high),
    )


def _column_names(fitted: Any, sample: _Sample, features: list[int]) -> list[str]:
    """What a report calls each column: by its feature, and by the level where it is an indicator of one.

    Such as "column 3", "petal width" or "colour = red".

    Parameters
    ----------
    fitted : the fitted estimator, with the names of the features and of their levels
    features : number of the feature of each column, in the order of the sample
    """
    # the level that the indicator of each column stands for, as a position among its levels; None where cells are no
    # levels. Blocks stand side by side: "red" of one column of levels, then two real columns, is [0, None, None]
    levels: list[Any] = []
    for block, x in sample.cells.items():
        n_columns = x.shape[1]
        levels += [*sample.most_common.get(block, [None] * n_columns)]

    feature_names = getattr(fitted, "feature_names_in_", None)  # of a data frame
    names = []
    for feature, level in zip(features, levels, strict=True):
        name = f"column {feature}" if feature_names is None else str(feature_names[feature])
        if level is not None:
            name += f" = {fitted.model_.levels_of(feature)[int(level)]}"
        names.append(name)
    return names
