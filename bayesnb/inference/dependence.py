"""Do columns depend on each other within a class in a way that the model does not? A finding about data, no test of it.

A posterior predictive check. r_cjk is the rank correlation (Spearman's) of columns j and k among the n_c rows of class
c, and m_cjk its mean over tables of rows that are drawn from the fitted model for the same labels:

    T = max_{c, j < k} √n_c |r_cjk − m_cjk|

A pair is a finding if its term is larger than T of each of 99 further drawn tables. If the model is right, one table in
a hundred has a finding. Ranks make this a question of dependence only, because they do not change with the shape of a
column. m is near 0 where features are independent, and what the model implies where they are not: for a covariance
matrix, and for counts whose total is given.

A column of levels enters by indicators of its most common levels. A missing cell has the mean rank of its class, in the
drawn tables too. A column that is nearly constant in a class is left out there.

References
----------
Gelman, Meng & Stern (1996), Posterior predictive assessment of model fitness via realized discrepancies, Statistica
Sinica 6, §2.3.
"""

import warnings
from typing import Any

import numpy as np
from scipy.stats import rankdata
from sklearn.utils.sparsefuncs import mean_variance_axis

from ..core.arrays import is_sparse
from ..core.supports import GIVEN_TOTALS
from ..naive_bayes import Rows
from ..sums.rows import rows_at
from .laws import choose
from .posterior import dense
from .report import Dependence, Pair

_REFERENCE, _TABLES = 50, 99  # drawn tables behind m, and those that T is compared with
_COLUMNS, _CELLS, _PAIRS = 100, 100_000, 3
_LEAST = 20  # rows of a class, all with different cells, or some seven of two values: fewer say nothing of dependence


def dependence(fitted: Any, rows: Rows, y: np.ndarray, rng: np.random.Generator) -> Dependence:
    """The largest correlations within classes of rows that were fitted, against tables drawn from the model.

    Parameters
    ----------
    rows, y : rows by block and class of each
    """
    blocks, columns = fitted.posterior_.blocks, fitted.block_columns()
    if any(block.is_composite for block in blocks.values()):
        return Dependence(remark="the model has no distribution of new rows to compare with")
    every = [(name, i) for name, x in rows.items() for i in range(x.shape[1])]
    kept = np.sort(np.argsort(-np.concatenate([_variance(x) for x in rows.values()]), kind="stable")[:_COLUMNS])
    remark = "" if len(kept) == len(every) else f"the {_COLUMNS} of {len(every):,} columns with the largest variance"
    chosen: dict[str, list[int]] = {}
    for name, i in (every[at] for at in kept):
        chosen.setdefault(name, []).append(i)
    few = choose(rng, len(y), _CELLS // len(kept))
    y, own = y[few], dense({name: rows_at(rows, few)[name][:, at] for name, at in chosen.items()})
    model = {name: blocks[name].select(np.array(at)) for name, at in chosen.items()}

    features = []  # block, column of the block and of X, level or None
    for name, x in own.items():
        for i, j in enumerate(columns[name][chosen[name]]):
            levels: Any = [None]
            if blocks[name].inner.cells_.kind == "levels":
                seen, counts = np.unique(x[~np.isnan(x[:, i]), i], return_counts=True)
                levels = seen[np.argsort(-counts, kind="stable")][: max(1, min(_COLUMNS // len(kept), len(seen) - 1))]
            features += [(name, i, int(j), level) for level in levels]
    missing = np.stack([np.isnan(own[name][:, i]) for name, i, *_ in features], 1)
    column, part = np.array([j for _, _, j, _ in features]), [np.flatnonzero(y == k) for k in range(int(y.max()) + 1)]

    def table(cells: Rows) -> np.ndarray:
        found = [cells[name][:, i] if level is None else cells[name][:, i] == level for name, i, _, level in features]
        return np.where(missing, np.nan, np.stack(found, 1))

    def drawn() -> np.ndarray:
        cells = {}
        for name, block in model.items():
            given = {}
            if block.cells_.measure == GIVEN_TOTALS:
                given["length"] = own[name].sum(1)[slice(None) if block.only_class is None else y == block.only_class]
            cells[name] = block.sample_predictive(rng, y, **given)
        return correlations(table(cells))

    def correlations(x: np.ndarray) -> np.ndarray:
        """Rank correlations of all pairs of columns in each class, (c, f, f); 0 for a constant column."""
        z = [_ranks(x[at]) for at in part]
        z = [one / np.maximum(np.sqrt(np.square(one).sum(0)), 1e-300) for one in z]
        return np.stack([one.T @ one for one in z])

    x = table(own)
    usable = []  # (f, f) pairs of features that a class can say something of
    for k, at in enumerate(part):
        spread = np.square(_ranks(x[at])).sum(0) / np.maximum((~missing[at]).sum(0), 1)
        varied = (spread >= _LEAST * len(at) / 12) & (len(at) > 0)
        varied &= np.array([model[name].only_class in (None, k) for name, *_ in features])
        usable.append(np.triu(varied[:, None] & varied & (column[:, None] != column)))
    if not np.any(usable):
        return Dependence(remark=f"no class has {_LEAST} rows in which two columns vary")
    weight = np.sqrt([[[len(at)]] for at in part]) * usable
    mean = np.sum([drawn() for _ in range(_REFERENCE)], 0) / _REFERENCE
    limit = max(float((weight * abs(drawn() - mean)).max()) for _ in range(_TABLES))
    r = correlations(x)
    terms = weight * abs(r - mean)
    listed: dict[tuple[int, int], tuple[int, int, int]] = {}  # of each pair of columns the largest term
    for k, a, b in sorted(zip(*np.nonzero(usable), strict=True), key=lambda at: -terms[at]):
        listed.setdefault((min(column[a], column[b]), max(column[a], column[b])), (k, a, b))
    pairs = []
    for k, a, b in list(listed.values())[:_PAIRS]:
        ends = np.clip(mean[k, a, b] + limit / np.sqrt(len(part[k])) * np.array([-1, 1]), -1, 1)
        names = (_called(fitted, features[a]), _called(fitted, features[b]), str(fitted.classes_[k]))
        pairs.append(Pair(*names, float(r[k, a, b]), *map(float, ends)))
    beyond = sum(bool(terms[at] > limit) for at in listed.values())
    return Dependence(tuple(pairs), beyond, len(listed), _TABLES, remark)


def _variance(x: Any) -> np.ndarray:
    """Variance of each column over the cells that are there."""
    if is_sparse(x):
        return mean_variance_axis(x.tocsr().astype(float), 0)[1]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a column without cells
        return np.nan_to_num(np.nanvar(x, 0))


def _ranks(x: np.ndarray) -> np.ndarray:
    """Ranks of the cells of each column minus their mean; 0 for a missing cell."""
    there = ~np.isnan(x)
    ranks = np.where(there, rankdata(np.where(there, x, np.inf), axis=0), 0)
    return np.where(there, ranks - ranks.sum(0) / np.maximum(there.sum(0), 1), 0)


def _called(fitted: Any, feature: tuple[str, int, int, Any]) -> str:
    """The name of a column, with the level that an indicator stands for."""
    *_, j, level = feature
    names = getattr(fitted, "feature_names_in_", None)
    name = f"column {j}" if names is None else str(names[j])
    return name if level is None else f"{name} = {fitted.levels_of(j)[int(level)]}"
