"""What each column of rows has to say about their labels, summed over the rows: two terms a row and column.

    information_ij = log p(y_i | x_ij, D₋ᵢ) − log p(y_i | D₋ᵢ)
    gain_ij        = log p(y_i | x_i, D₋ᵢ) − log p(y_i | x_i without x_ij, D₋ᵢ)

Both need the table log p(x_ij | y = c, D₋ᵢ) of a column, which is leave-one-out of the block that has only this column.
Most cells of many columns are equal, above all to 0. Such columns are not visited one by one: every different cell is
looked up in all its columns at once, as one row of a block in which each pair of a class and a column is a class of
its own.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from ..core.arrays import Float
from ..core.pytrees import map_leaves
from ..core.special import log_normalize, log_rising
from ..naive_bayes import NaiveBayes, Rows
from ..one_dependence import OneDependence
from ..sums.rows import downdate

_CELLS = 1 << 22  # numbers of a table: 32 MiB


def moments(terms: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Σ w t, Σ w² t and Σ w² t² of terms (2, n, k) of the rows, (3, 2, k)."""
    return np.stack([w @ terms, w**2 @ terms, w**2 @ terms**2])


def sums(
    model: Any,
    rows: Rows,
    columns: dict[str, np.ndarray],
    parts: dict[str, list[str]],
    tables: dict[str, np.ndarray],
    log_prior: np.ndarray,
    index: np.ndarray,
    weight: np.ndarray,
    leaving: np.ndarray | None,
    log_proba: Callable[[dict[str, np.ndarray]], np.ndarray] | None,
) -> np.ndarray:
    """`moments` of information and gain of each column, (3, 2, d); the gain is NaN where a model has none.

    Parameters
    ----------
    model : posterior that predicts the rows
    columns : positions of the columns of each block
    parts, tables : names of the blocks of each part, and log p(x_i,part | y = c, D₋ᵢ) of each
    log_prior : (n, c) log p(y = c | D₋ᵢ)
    leaving : (n, c) weights that leave `model` with each row; None where it does not know the rows
    log_proba : from `tables` to log p(y = c | x_i, D₋ᵢ), (n, c); None for that of the model
    """
    d, n = 1 + max(at.max(initial=-1) for at in columns.values()), np.arange(len(index))
    if log_proba is None and (found := _by_value(model, rows, tables, log_prior, index, weight, leaving)) is not None:
        return found
    log_proba = log_proba or (lambda tables: log_normalize(log_prior + sum(tables.values())))
    whole, found = log_proba(tables)[n, index], np.full((3, 2, d), np.nan)
    cells = {name: x.tocsc() if sparse.issparse(x) else x for name, x in rows.items()}
    for j in range(d):
        alone, less = np.zeros(log_prior.shape), dict(tables)
        for part, names in parts.items():
            for name in names:
                if (k := np.flatnonzero(columns[name] == j)).size:
                    own, lost = _column(model, name, cells[name], k, leaving)
                    alone, less[part] = alone + own, less[part] - lost
        terms = (log_normalize(log_prior + alone) - log_prior)[n, index], whole - log_proba(less)[n, index]
        found[..., [j]] = moments(np.stack(terms)[..., None], weight)
    return found


def _column(
    model: Any, name: str, x: Any, k: np.ndarray, leaving: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray | float]:
    """log p(x_ik | y = c, D₋ᵢ) of column k of a block, and what its table loses without the column."""

    def table(block: Any, x: Any) -> np.ndarray:
        x = x.toarray() if sparse.issparse(x) else x
        return block.log_predictive(x) if leaving is None else block.log_loo(x, leaving)

    block = model.blocks[name]
    if isinstance(model, OneDependence):
        cells = {name: np.where(np.arange(x.shape[1]) == k, x, np.nan)}
        found = model.log_parts(cells) if leaving is None else model.log_loo_parts(cells, leaving)
        return found[0], np.nan
    if block.missing_value == 0:  # one kind of events among all
        count = _dense(x[:, k])
        own = table(block.merged(k), np.hstack([count, np.asarray(x.sum(1)).reshape(-1, 1) - count]))
    else:
        own = table(block.select(k), x[:, k])
    if block.inner.separable or block.missing_value == 0:
        return own, own
    others = np.delete(np.arange(x.shape[1]), k)
    return own, table(block, x) - (table(block.select(others), x[:, others]) if len(others) else 0)


def _dense(x: Any) -> np.ndarray:
    return x.toarray() if sparse.issparse(x) else x


def _by_value(
    model: Any,
    rows: Rows,
    tables: dict[str, np.ndarray],
    log_prior: np.ndarray,
    index: np.ndarray,
    weight: np.ndarray,
    leaving: np.ndarray | None,
) -> np.ndarray | None:
    """`sums` of one block of counts with fewer different cells than columns; None for others."""
    (block, *others), (x, *_) = model.blocks.values(), rows.values()
    single = isinstance(model, NaiveBayes) and not others and block.only_class is None and not block.couples_classes
    if not single or block.cells_.kind not in ("counts", "yes/no"):
        return None
    (n, d), c = x.shape, log_prior.shape[1]
    x = sparse.csc_array(x)
    if len(np.unique(x.data)) >= d:
        return None
    length = np.asarray(x.sum(1), float) if block.missing_value == 0 else np.zeros(n)
    gone = np.zeros(n) if leaving is None else leaving[np.arange(n), index]
    first, kind = np.unique(np.c_[index, length, weight, gone], axis=0, return_index=True, return_inverse=True)[1:]
    lengths, of_length = np.unique(length[first], return_inverse=True)
    p, y, g = np.exp(log_normalize(log_prior + sum(tables.values()))), index[first], len(first)

    def with_own(table: np.ndarray, i: np.ndarray, j: np.ndarray, cells: np.ndarray) -> np.ndarray:
        """The table (m, c) of cells of rows i and columns j, in which the class of each row does without it."""
        table[np.arange(len(i)), index[i]] = _cells(block, index[i], j, cells, length[i], gone[i])
        return table

    def every_class(j: np.ndarray, cells: np.ndarray, length: np.ndarray) -> np.ndarray:
        k = np.tile(np.arange(c), len(j))
        j, cells, length = (np.repeat(v, c) for v in (j, cells, length))
        return _cells(block, k, j, cells, length, np.zeros(len(k))).reshape(-1, c)

    found, step = np.empty((3, 2, d)), max(1, _CELLS // max(n, g * c))
    for start in range(0, d, step):
        some = np.arange(start, min(start + step, d))
        every, none = np.tile(some, len(lengths)), np.zeros(len(lengths) * len(some))
        empty = every_class(every, none, np.repeat(lengths, len(some))).reshape(-1, len(some), c)[of_length]
        i, j = np.repeat(first, len(some)), np.tile(some, g)
        empty = with_own(empty.reshape(-1, c), i, j, np.zeros(len(i))).reshape(g, -1, c)
        terms = np.empty((2, n, len(some)))
        terms[0] = _information(empty, log_prior[first][:, None], y[:, None])[kind]
        for k in range(g):
            own = np.flatnonzero(kind == k)
            terms[1, own] = np.log(p[own] @ np.exp(np.minimum(empty[k, :, y[k], None] - empty[k], 700)).T)
        here = slice(x.indptr[start], x.indptr[some[-1] + 1])
        i, j = x.indices[here], np.repeat(some, np.diff(x.indptr[start : some[-1] + 2]))
        table = with_own(every_class(j, x.data[here], length[i]), i, j, x.data[here])
        terms[0, i, j - start] = _information(table, log_prior[i], index[i])
        ratio = np.exp(np.minimum(np.take_along_axis(table, index[i, None], 1) - table, 700))
        terms[1, i, j - start] = np.log((p[i] * ratio).sum(1))
        found[..., some] = moments(terms, weight)
    return found


def _information(table: np.ndarray, log_prior: np.ndarray, y: np.ndarray) -> np.ndarray:
    """log p(y | x_j) − log p(y) from log p(x_j | c), (…, c)."""
    top = table.max(-1, keepdims=True)
    mixed = np.log(np.exp(log_prior + table - top).sum(-1)) + top[..., 0]
    return np.take_along_axis(table, np.broadcast_to(y[..., None], (*table.shape[:-1], 1)), -1)[..., 0] - mixed


def _cells(
    block: Any, k: np.ndarray, j: np.ndarray, x: np.ndarray, length: np.ndarray, w: np.ndarray
) -> Float[np.ndarray, " m"]:
    """log p(x | y = k) of m cells of columns j, once they have left class k with weights w; all are (m,)."""
    if block.missing_value == 0:  # beta-binomial, without the coefficient
        total = block.alpha.sum(1)[k]
        alpha, rest = block.alpha[k, j], np.maximum(total - block.alpha[k, j], 1e-50)
        left = ((alpha, x), (rest, length - x), (total, length))
        one, other, both = (log_rising(downdate(a, w * count), count) for a, count in left)
        return one + other - both
    found = np.empty(len(j))
    values, place = np.unique(x, return_inverse=True)
    fields = {name: getattr(block, name)[k, j][:, None] for name in block.fields_}
    for v, value in enumerate(values):
        at, row = place == v, np.array([[value]])
        alone = replace(block, **{name: field[at] for name, field in fields.items()})
        if w.any():
            alone = alone.update(map_leaves(np.negative, alone.suffstats(row, w[None, at])))
        found[at] = alone.log_predictive(row)[0]
    return found
