"""Sums over the cells of sparse rows: the value of an empty row, and what the stored cells change."""

from collections.abc import Callable

import numpy as np

from ..core.arrays import Array, Float, Sparse

_CELLS = 1 << 16  # stored cells at a time: a few temporaries of 512 KiB


def sum_over_stored(f: Callable[..., Array], x: Sparse, *fields: Float[np.ndarray, "c d"]) -> Float[np.ndarray, "n c"]:
    """Σ_j f(x_ij, *fields_cj) of CSR rows: Σ_j f(0, …) plus Σ f(x_ij, …) − f(0, …) over the stored cells.

    Time and memory follow the stored cells; no column is made dense. An empty cell in a column whose centre is 10⁶
    spreads from 0 has a term of about 10⁶ nats for 10⁵ rows; it cancels to the ninth digit after the point. (Of a
    normal of known variance 10⁴ spreads are 5·10⁷ nats, and nine digits of the row's sum remain.)
    """
    with np.errstate(all="ignore"):
        empty = f(np.zeros(1), *fields)
    empty = np.where(np.isfinite(empty), empty, 0)  # else no row of the class has an empty cell there
    table = np.tile(empty.sum(1), (x.shape[0], 1))
    place = np.searchsorted(x.indptr, np.arange(0, x.nnz + _CELLS, _CELLS), side="right") - 1
    cuts = np.unique(np.minimum(np.append(place, x.shape[0]), x.shape[0]))
    for first, last in zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True):
        begin, end = int(x.indptr[first]), int(x.indptr[last])
        cells, columns = x.data[begin:end], x.indices[begin:end]
        row = np.repeat(np.arange(last - first), np.diff(x.indptr[first : last + 1]))
        for k in range(table.shape[1]):
            terms = f(cells, *(field[k].take(columns) for field in fields)) - empty[k].take(columns)
            table[first:last, k] += np.bincount(row, terms, last - first)
    return table
