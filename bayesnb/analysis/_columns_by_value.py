"""Columns of counts, most of whose cells are equal, above all to 0, as `_left_out_columns` sums them.

They are not visited one by one. Every different cell is looked up in all its columns at once, as one row of a block in
which each pair of a class and a column is a class of its own.
"""

from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from ..core.arrays import Float
from ..core.pytrees import map_leaves
from ..core.special import log_normalize, log_rising
from ..naive_bayes import NaiveBayes, Rows
from ..sums.rows import downdate

_CELLS = 1 << 22  # numbers of a table: 32 MiB


def moments(terms: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Σ w t, Σ w² t and Σ w² t² of terms (2, n, k) of the rows, (3, 2, k)."""
    return np.stack([w @ terms, w**2 @ terms, w**2 @ terms**2])


def sums_by_value(
    model: Any,
    rows: Rows,
    tables: dict[str, np.ndarray],
    log_prior: np.ndarray,
    index: np.ndarray,
    weight: np.ndarray,
    leaving: np.ndarray | None,
) -> np.ndarray | None:
    """`_left_out_columns.sums` of one block of counts with fewer different cells than columns; None for others."""
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
        return _cells(block, k, np.repeat(j, c), np.repeat(cells, c), np.repeat(length, c), 0.0 * k).reshape(-1, c)

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
        cells = alone.log_cells(row[0])  # of all pairs at once
        found[at] = alone.log_predictive(row)[0] if cells is None else cells[:, 0]
    return found
