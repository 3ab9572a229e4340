"""Sums over the cells of each row for its own class, out of which a row of weight 1 goes in leave-one-out.

Tables (c, d) say what a cell adds once its row has left. Few rows are summed by NumPy, many by the loops of
`loops.leaving_out`. What is not finite is left to the formula of the family: see `sums.rows.leave_one_out_table`.
"""

from collections.abc import Callable

import numpy as np

from ..core.arrays import Array, Float, Int, Real, Sparse, is_sparse
from ..loops import contiguous, worth
from .rows import as_csr, slices

_CELLS = 1 << 15  # at a time: 256 KiB of float64, which stay in a core's cache
_LEVELS = 32
_ROWS = 4  # cells that are looked up for each that is tabulated
OWN = 16  # cells of other sums that take NumPy as long as one of these


def _summed(f: Callable[..., Array], x: Array, y: Array, *fields: Array) -> Float[np.ndarray, " n"]:
    """Σ_j f(x_ij, *fields_yj)."""
    found = np.empty(len(x))
    for part in slices(len(x), x.shape[1], _CELLS):
        found[part] = f(x[part], *(field[y[part]] for field in fields)).sum(1)
    return found


def log_normals_of_own(
    x: Real[np.ndarray, "n d"],
    y: Int[np.ndarray, " n"],
    mu: Float[np.ndarray, "c d"],
    sd: Float[np.ndarray, "c d"],
    level: Float[np.ndarray, "c d"],
) -> Float[np.ndarray, " n"]:
    """Σ_j l_cj − ½((x_ij − μ_cj)/s_cj)² over the observed cells, for the class of each row.

    Of few rows NaN where a cell is missing.
    """
    if worth(OWN * x.size):
        from ..loops.leaving_out import normal_without

        found = np.empty(len(x))
        normal_without(contiguous(x), y, *(contiguous(field) for field in (mu, 1 / sd, level)), found)
        return found
    return level.sum(1)[y] - 0.5 * _summed(lambda x, mu, sd: np.square((x - mu) / sd), x, y, mu, sd)


def levels_of(x: Real[np.ndarray, "n d"] | Sparse, parameters: int) -> Float[np.ndarray, " k"]:
    """The counts 0, 1 … of rows, so many that tables of them and of the parameters have fewer cells than the rows."""
    most = min(_LEVELS, x.size // (_ROWS * parameters))
    largest = np.fmax.reduce(x.data if is_sparse(x) else x, axis=None, initial=0) if most else 0
    return np.arange(float(min(largest + 1, most)))


def look_up_of_own(
    x: Real[np.ndarray, "n d"] | Sparse,
    y: Int[np.ndarray, " n"],
    tables: Float[np.ndarray, "c d k"],
    unknown: float = np.nan,
) -> Float[np.ndarray, " n"]:
    """Σ_j tables_cjx over the observed cells, for the class c of each row; `unknown` for an x that is no level.

    An empty cell of sparse rows has level 0; there an x that is no level makes NaN.
    """
    found, many = np.full(len(y), np.nan), worth(OWN * x.size)
    if not tables.shape[2]:
        return found
    if is_sparse(x):
        none = np.isnan(tables[..., :1])
        x, empty = as_csr(x), np.where(none, 0, tables[..., :1])
        tables, needed = tables - empty, none.sum((1, 2))  # cells that may not be empty must be among the stored ones
        if many:
            from ..loops.leaving_out import look_up_stored

            look_up_stored(x.indptr, x.indices, contiguous(x.data), y, contiguous(tables), needed, found)
        else:
            row = np.repeat(np.arange(len(y)), np.diff(x.indptr))
            found = np.bincount(row, _looked_up(x.data, y[row], x.indices, tables, np.nan), len(y))
            found[np.bincount(row, none[y[row], x.indices, 0], len(y)) < needed[y]] = np.nan
        return found + empty.sum((1, 2))[y]
    if many:
        from ..loops.leaving_out import look_up_own

        look_up_own(contiguous(x), y, contiguous(tables), unknown, found)
        return found
    return _looked_up(x, y[:, None], np.arange(x.shape[1]), tables, unknown).sum(1)


def _looked_up(x: Array, y: Array, columns: Array, tables: Array, unknown: float) -> Array:
    """Terms of cells: 0 where one is missing."""
    _, d, levels = tables.shape
    level = np.where((x >= 0) & (x < levels), x, 0).astype(np.intp)
    cells = tables.reshape(-1)[level + levels * (columns + d * y.astype(np.intp))]
    return np.where(level == x, cells, np.where(np.isnan(x), 0, unknown))
