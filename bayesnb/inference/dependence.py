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

from typing import Any

import numpy as np
from scipy import stats
from sklearn.preprocessing import StandardScaler

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
    with np.errstate(invalid="ignore"):  # a column without cells
        variance = np.concatenate([StandardScaler(with_mean=False).fit(x).var_ for x in rows.values()])
    kept = [every[at] for at in np.sort(np.argsort(-np.nan_to_num(variance), kind="stable")[:_COLUMNS])]
    remark = "" if len(kept) == len(every) else f"the {_COLUMNS} of {len(every):,} columns with the largest variance"
    chosen = {name: np.array([i for block, i in kept if block == name]) for name in dict(kept)}
    few = choose(rng, len(y), _CELLS // len(kept))
    y, own = y[few], dense({name: rows_at(rows, few)[name][:, at] for name, at in chosen.items()})
    model = {name: blocks[name].select(at) for name, at in chosen.items()}
    levels = {
        name: stats.mode(x, nan_policy="omit").mode
        for name, x in own.items()
        if blocks[name].inner.cells_.kind == "levels"
    }
    missing = np.isnan(np.hstack([*own.values()]))
    part = [np.flatnonzero(y == k) for k in range(int(y.max()) + 1)]

    def ranks(cells: Rows) -> list[np.ndarray]:
        """Ranks of the cells of each column in each class minus their mean; 0 for a missing cell."""
        x = np.hstack([x == levels[name] if name in levels else x for name, x in cells.items()])
        x = np.where(missing, np.nan, x)
        found = [np.ma.masked_invalid(stats.rankdata(x[at], axis=0, nan_policy="omit")) for at in part]
        return [(one - one.mean(0)).filled(0) for one in found]

    def correlations(cells: Rows) -> np.ndarray:
        """Rank correlations of all pairs of columns in each class, (c, f, f); 0 for a constant column."""
        z = [one / np.maximum(np.sqrt(np.square(one).sum(0)), 1e-300) for one in ranks(cells)]
        return np.stack([one.T @ one for one in z])

    def drawn() -> np.ndarray:
        cells = {}
        for name, block in model.items():
            given = {}
            if block.cells_.measure == GIVEN_TOTALS:
                given["length"] = own[name].sum(1)[slice(None) if block.only_class is None else y == block.only_class]
            cells[name] = block.sample_predictive(rng, y, **given)
        return correlations(cells)

    usable = []  # (f, f) pairs of columns that a class can say something of
    for k, (at, x) in enumerate(zip(part, ranks(own), strict=True)):
        varied = np.square(x).sum(0) / np.maximum((~missing[at]).sum(0), 1) >= max(1, _LEAST * len(at)) / 12
        varied &= np.array([model[name].only_class in (None, k) for name, _ in kept])
        usable.append(np.triu(varied[:, None] & varied, 1))
    if not np.any(usable):
        return Dependence(remark=f"no class has {_LEAST} rows in which two columns vary")
    weight = np.sqrt([[[len(at)]] for at in part]) * usable
    mean = np.sum([drawn() for _ in range(_REFERENCE)], 0) / _REFERENCE
    limit = max(float((weight * abs(drawn() - mean)).max()) for _ in range(_TABLES))
    r = correlations(own)
    terms = weight * abs(r - mean)
    column = [int(columns[name][i]) for name, i in kept]
    listed: dict[frozenset[int], tuple[int, int, int]] = {}  # of each pair of columns the largest term
    for k, a, b in sorted(zip(*np.nonzero(usable), strict=True), key=lambda at: -terms[at]):
        listed.setdefault(frozenset((column[a], column[b])), (k, a, b))
    known = getattr(fitted, "feature_names_in_", None)
    common = [one for name, x in own.items() for one in levels.get(name, [None] * x.shape[1])]

    def called(f: Any) -> str:
        name = f"column {column[f]}" if known is None else str(known[column[f]])
        return name if common[f] is None else f"{name} = {fitted.levels_of(column[f])[int(common[f])]}"

    pairs = []
    for k, a, b in list(listed.values())[:_PAIRS]:
        ends = np.clip(mean[k, a, b] + limit / np.sqrt(len(part[k])) * np.array([-1, 1]), -1, 1)
        pairs.append(Pair(called(a), called(b), str(fitted.classes_[k]), float(r[k, a, b]), *map(float, ends)))
    beyond = sum(bool(terms[at] > limit) for at in listed.values())
    return Dependence(tuple(pairs), beyond, len(listed), _TABLES, remark)
