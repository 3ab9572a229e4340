"""Sums over the cells of rows whose cells have few levels: a formula is tabulated once a level, and looked up."""

import numpy as np
from scipy import sparse

from ..core.arrays import Array, Float, Sparse, Tables, is_sparse
from ..core.special import is_whole
from .loops import contiguous, stored, worth

_MOST = 64  # levels
_CELLS = 1 << 21  # of a table


def n_levels(x: Array | Sparse, parameters: int) -> int:
    """How many levels to tabulate for whole cells from 0 on, a power of two; 0 where a table would not serve.

    Parameters
    ----------
    parameters : number of classes times features
    """
    cells = x.data if is_sparse(x) else x
    largest, least = np.fmax.reduce(cells, None, initial=0), np.fmin.reduce(cells, None, initial=0)  # missing left out
    if least < 0 or largest >= _MOST or not is_whole(cells):
        return 0
    levels = max(2, 1 << int(largest).bit_length())
    few = levels == 2 or levels * x.shape[1] <= cells.size  # less work than without a table, which is made once
    return levels if few and levels * parameters <= _CELLS else 0


def look_up(x: Array | Sparse, tables: Float[Array, "*s c d k"]) -> Tables:
    """Σ_j tables_cjx over the cells that are levels 0 … k − 1; an empty cell of sparse rows has level 0.

    A level that no row of a class has may have no finite value in it.
    """
    *lead, d, k = tables.shape
    flat, n = tables.reshape(-1, d, k), x.shape[0]
    empty = np.where(np.isfinite(flat[..., :1]), flat[..., :1], 0) if is_sparse(x) else np.zeros((len(flat), d, 1))
    table = np.tile(empty.sum((1, 2)), (n, 1))
    beyond = np.concatenate([flat - empty, -empty], -1)  # a cell that is no level adds nothing
    weights, (ends, columns, cells) = contiguous(beyond.reshape(len(flat), -1).T), stored(x)
    if worth(cells.size * len(flat)):
        from . import _compiled

        _compiled.look_up(ends, columns, cells, weights, k, table)
    else:
        columns = np.tile(np.arange(d), n) if columns is None else columns.astype(np.intp)
        at = np.where((cells >= 0) & (cells < k), cells, k).astype(np.intp) + (k + 1) * columns
        table += sparse.csr_array((np.ones(at.size), at, ends), (n, len(weights))) @ weights
    return np.moveaxis(table.reshape(-1, *lead), 0, -2)
