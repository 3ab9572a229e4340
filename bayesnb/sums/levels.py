"""Sums over the cells of rows whose cells have few levels: a formula is tabulated once a level, and looked up."""

import numpy as np
from scipy import sparse

from ..core.arrays import Array, Float, Sparse, is_sparse
from ..loops import contiguous, worth
from .rows import as_csr

_MOST = 64  # levels
_CELLS = 1 << 21  # of a table


def n_levels(x: Array | Sparse, parameters: int) -> int:
    """How many levels to tabulate for whole cells from 0 on, a power of two; 0 where a table would not serve.

    Parameters
    ----------
    parameters : number of classes times features
    """
    cells = x.data if is_sparse(x) else x
    largest = highest(cells)
    if not 0 <= largest < _MOST:
        return 0
    levels = max(2, 1 << int(largest).bit_length())
    return levels if levels * parameters <= _CELLS and levels * x.shape[1] <= cells.size else 0


def highest(cells: np.ndarray) -> float:
    """The largest of the cells that are not missing; −1 where one of them is not a whole number from 0 on."""
    if cells.dtype.kind in "ub":
        return float(cells.max(initial=0))
    if worth(8 * cells.size):
        from ..loops import levels as loops

        return float(loops.highest(contiguous(cells).ravel()))
    seen = cells[~np.isnan(cells)]
    return float(seen.max(initial=0)) if ((seen >= 0) & (seen % 1 == 0)).all() else -1.0


def look_up(x: Array | Sparse, tables: Float[Array, "*s c d k"]) -> Float[Array, "*s n c"]:
    """Σ_j tables_cjx over the cells that are levels 0 … k − 1; an empty cell of sparse rows has level 0.

    A level that no row of a class has may have no finite value in it.
    """
    *lead, d, k = tables.shape
    flat = tables.reshape(-1, d, k)
    empty = np.where(np.isfinite(flat[..., :1]), flat[..., :1], 0) if is_sparse(x) else np.zeros((len(flat), d, 1))
    table = np.tile(empty.sum((1, 2)), (x.shape[0], 1))
    beyond = np.concatenate([flat - empty, -empty], -1)  # a cell that is no level adds nothing
    weights = contiguous(beyond.reshape(len(flat), -1).T)
    x = as_csr(x) if is_sparse(x) else x
    if worth(x.size * len(flat)):
        from ..loops import levels as loops

        if is_sparse(x):
            loops.look_up_stored(x.indptr, x.indices, contiguous(x.data), weights, k, table)
        else:
            loops.look_up(contiguous(x), weights, k, table)
    else:
        cells, columns = (x.data, x.indices) if is_sparse(x) else (x, np.arange(d))
        ends = x.indptr if is_sparse(x) else np.arange(0, x.size + 1, d)
        at = np.where((cells >= 0) & (cells < k), cells, k).astype(np.intp) + (k + 1) * columns
        table += sparse.csr_array((np.ones(at.size), at.ravel(), ends), (x.shape[0], len(weights))) @ weights
    return np.moveaxis(table.reshape(-1, *lead), 0, -2)
