"""Rows, dense or sparse: the few operations on them that the pages of the families need."""

import copy
import functools
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from scipy import sparse

from ..core.arrays import Array, Float, Real, Scalar, Sparse, Value, is_sparse
from ..core.special import in_chunks, namespace
from ..loops import contiguous, worth
from .by_class import is_one_hot
from .marking import floored
from .stored import sum_over_stored

_CELLS = 1 << 21  # cells of a temporary table
_FEW = 1 << 15  # cells that stay in a core's cache

Method = TypeVar("Method", bound=Callable[..., Any])


def is_missing_free(x: Array | Sparse) -> bool:
    """Whether rows on the host are known to have no missing cell; False under a JAX trace, where nobody can look."""
    return namespace(x) is np and (is_sparse(x) or not np.isnan(x).any())


def matmul(x: Array | Sparse, weights: Float[Array, "*s c d"]) -> Float[Array, "*s n c"]:
    """Σ_j x_ij w_cj, for dense or sparse rows; leading axes of the weights lead the result."""
    if not is_sparse(x):
        return x @ weights.swapaxes(-1, -2)
    flat = weights.reshape(-1, weights.shape[-1])  # (s·c, d): one sparse product for all draws
    if x.format == "csr" and worth(x.nnz * len(flat)):
        from ..loops.counts import stored_product

        table = np.empty((x.shape[0], len(flat)))
        stored_product(x.indptr, x.indices, contiguous(x.data), contiguous(flat.T), table)
        return np.moveaxis(table.reshape(x.shape[0], *weights.shape[:-1]), 0, -2)
    # SciPy's product with two or three columns takes as long as with eight
    table = x @ flat.T if len(flat) > 3 else np.stack([x @ w for w in flat], -1)
    return np.moveaxis(table.reshape(x.shape[0], *weights.shape[:-1]), 0, -2)


def contract(x: Array | Sparse, slope: Float[Array, "*s c d"], level: Float[Array, "*s c d"]) -> Float[Array, "*s n c"]:
    """Σ_j over the observed cells of (x_ij · slope_cj + level_cj), for dense or sparse rows."""
    xp = namespace(x)
    if xp is np and not is_sparse(x) and slope.ndim == 2 and worth(x.size * len(slope)):
        from ..loops.counts import product

        table = np.empty((len(x), len(slope)))
        product(contiguous(x), contiguous(slope), contiguous(np.broadcast_to(level, slope.shape)), table)
        return table
    if xp is np:
        with np.errstate(invalid="ignore"):
            table = matmul(x, slope)
        if is_sparse(x) or not np.isnan(table).any():  # which costs less than to look for missing cells
            return table + level.sum(-1)[..., None, :]
    seen = ~xp.isnan(x)
    return matmul(xp.where(seen, x, 0), slope) + matmul(seen.astype(level.dtype), level)


def sum_over_features(
    f: Callable[..., Array], x: Real[Array, "n d"] | Sparse, *fields: Array
) -> Float[Array, "*s n c"]:
    """Σ_j f(x_ij, *fields_cj) over the observed cells; fields are (…, c, d), and the result has their leading axes.

    On the host this takes one class at a time, so temporary arrays are as large as x.
    """
    if is_sparse(x):
        lead = fields[0].shape[:-1]
        columns = (np.broadcast_to(v, fields[0].shape).reshape(-1, x.shape[1]) for v in fields)
        return np.moveaxis(sum_over_stored(f, x.tocsr(), *columns).reshape(-1, *lead), 0, -2)
    xp = namespace(x, *fields)
    seen = ~xp.isnan(x)
    whole = xp is np and bool(seen.all())
    x = x if whole else xp.where(seen, x, 0)

    def column(*values: Array) -> Array:
        cells = f(x, *values)
        return (cells if whole else xp.where(seen, cells, 0)).sum(1)

    if xp is np:
        lead = fields[0].shape[:-1]
        flat = [np.broadcast_to(v, fields[0].shape).reshape(-1, x.shape[1]) for v in fields]
        table = np.stack([column(*values) for values in zip(*flat, strict=True)], -1)
        return np.moveaxis(table.reshape(len(x), *lead), 0, -2)
    import jax

    over = jax.vmap(column, out_axes=-1)
    for _ in fields[0].shape[:-2]:
        over = jax.vmap(over)
    return over(*(xp.broadcast_to(v, fields[0].shape) for v in fields))


def sum_over_cells_of(
    f: Callable[..., Any], x: Real[Array, "n d"] | Sparse, w: Any, fields: tuple[Array, ...]
) -> Float[Array, "n c"]:
    """Σ_j f(x_ij, w_ic, *fields_cj) over the observed cells, where f may have any value in a missing cell.

    Parameters
    ----------
    f : cells, their weights and fields, which broadcast → terms
    w : one weight, or weights (n, c) of dense rows; a missing cell has weight 0
    fields : (c, d, …) of each class
    """
    if is_sparse(x):
        return _sum_over_stored(f, x.tocsr(), w, fields)
    xp = namespace(x, *fields)
    if xp is not np:  # all at once: under `jit` no such array is made
        seen = ~xp.isnan(x)[:, None]
        weight = seen * (xp.asarray(w)[..., None] if np.ndim(w) else w)
        return xp.where(seen, f(xp.where(seen, x[:, None], 1), weight, *(v[None] for v in fields)), 0).sum(-1)
    table = np.empty((len(x), len(fields[0])))
    for part in slices(len(x), x.shape[1], _FEW):
        cells, missing = x[part], np.isnan(x[part])
        gaps = bool(missing.any())
        cells = np.where(missing, 1, cells) if gaps else cells
        for k, values in enumerate(zip(*fields, strict=True)):
            with np.errstate(invalid="ignore", divide="ignore"):  # of a missing cell
                found = f(cells, w[part, k : k + 1] if np.ndim(w) else w, *values)
            table[part, k] = np.where(missing, 0, found).sum(1) if gaps else found.sum(1)
    return table


def _sum_over_stored(f: Callable[..., Any], x: Sparse, w: Any, fields: tuple[Array, ...]) -> Float[Array, "n c"]:
    """`sum_over_cells_of` of sparse rows: that of an empty row, and what the stored cells have beyond it.

    Of whole numbers the formula is computed once for each pair of a column and a cell, of which text has few.
    """
    if np.ndim(w):
        weights, place = np.unique(w[:, 0], return_inverse=True)
        table = np.empty((x.shape[0], len(fields[0])))
        for i, weight in enumerate(weights):
            table[place == i] = _sum_over_stored(f, x[place == i], float(weight), fields)
        return table
    if not (x.data % 1 == 0).all():
        return sum_over_stored(lambda cells, *values: f(cells, w, *values), x, *fields)
    pairs, place = np.unique(x.indices + 1j * x.data, return_inverse=True)  # complex numbers are sorted as pairs
    column, cell = pairs.real.astype(np.intp), pairs.imag
    chosen = sparse.csr_array((np.ones(x.nnz), place, x.indptr), shape=(x.shape[0], len(cell)))
    table = np.empty((x.shape[0], len(fields[0])))
    for k, values in enumerate(zip(*fields, strict=True)):
        with np.errstate(all="ignore"):
            empty = f(np.zeros(1), w, *values)
        empty = np.where(np.isfinite(empty), empty, 0)  # else no row of the class has an empty cell there
        table[:, k] = chosen @ (f(cell, w, *(v[column] for v in values)) - empty[column]) + empty.sum()
    return table


def slices(n: int, d: int, cells: int = _CELLS, least: int = 1) -> list[slice]:
    """Slices of n rows, a power of two, whose d columns have a bounded number of cells; of `least` rows and more."""
    step = 1 << max(least, cells // max(d, 1), 1).bit_length() - 1
    return batches(n, step) or [slice(0, 0)]


def batches(n: int, size: int) -> list[slice]:
    """Slices of n rows or draws of `size` each, the last one shorter; none where n is 0."""
    return [slice(at, min(at + size, n)) for at in range(0, n, size)]


def made_dense(method: Method) -> Method:
    """A method of dense rows, and tables (n, …) that go with them, that takes sparse ones some rows at a time."""

    @functools.wraps(method)
    def wrapped(self: Any, x: Any, *tables: Any) -> Any:
        if not is_sparse(x):
            return method(self, x, *tables)
        parts = slices(*x.shape)
        x = x.tocsr()
        return np.concatenate([method(self, x[part].toarray(), *(t[part] for t in tables)) for part in parts])

    return wrapped  # type: ignore[return-value]


def row_totals(x: Array | Sparse) -> Array:
    """L_i = Σ_j x_ij, (n,)."""
    return np.asarray(x.sum(axis=1)).ravel() if is_sparse(x) else x.sum(1)


def map_cells(x: Array | Sparse, f: Callable[[Array], Array]) -> Array | Sparse:
    """f of every cell, for f(0) = 0, dense or sparse."""
    if not is_sparse(x):
        return f(x)
    found = copy.copy(x)  # the places of the cells are shared, and need no second check
    found.data = in_chunks(f, x.data)
    return found


def as_csr(x: Array | Sparse) -> Sparse:
    """Rows as CSR, without a copy where they are: a constructor would copy what is less than half of an array."""
    return x.tocsr() if is_sparse(x) else sparse.csr_array(x)


def csr_slice(x: Sparse, part: slice) -> Sparse:
    """Some rows of a CSR matrix, whose cells are not copied."""
    start, stop, _ = part.indices(x.shape[0])
    if stop - start == x.shape[0]:
        return x
    ends = x.indptr[start : stop + 1]
    cells = slice(ends[0], ends[-1])
    rows = type(x)((stop - start, x.shape[1]), dtype=x.dtype)
    rows.data, rows.indices, rows.indptr = x.data[cells], x.indices[cells], ends - ends[0]
    return rows


def only(x: Sparse, at: np.ndarray) -> Sparse:
    """Those of the stored cells that stand at some positions."""
    found = copy.copy(x)  # as in `map_cells`
    found.data, found.indices, found.indptr = (
        x.data[at],
        x.indices[at],
        np.searchsorted(at, x.indptr).astype(x.indptr.dtype),
    )
    return found


def distinct(key: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray]:
    """The distinct keys below `size`, in order, and the place of each key among them."""
    if 16 * key.size < size:  # sorting them takes less than a pass over all that there could be
        return np.unique(key, return_inverse=True)
    here = np.bincount(key, minlength=size) > 0
    if here.all():
        return np.arange(size), key
    return np.flatnonzero(here), (np.cumsum(here) - 1)[key]


def indicators(x: Real[Array, "n d"] | Sparse, k: int) -> Array | Sparse:
    """[x_ij = level] as rows of length d·k, sparse on the host; a missing cell has no entry.

    Of sparse rows, whose empty cells have level 0, what the stored cells change: 1 at their level and −1 at level 0.
    """
    n, d = x.shape
    if is_sparse(x):
        x = x.tocsr()
        row, zero = (np.repeat(np.arange(n), np.diff(x.indptr)), x.indices.astype(np.intp) * k)
        known = (x.data >= 0) & (x.data < k)  # False for NaN
        level = zero[known] + x.data[known].astype(np.intp)
        data = np.concatenate([np.ones(len(level)), np.full(len(zero), -1.0)])
        at = np.concatenate([row[known], row]), np.concatenate([level, zero])
        return sparse.csr_array((data, at), shape=(n, d * k))
    if namespace(x) is not np:
        return (x[..., None] == np.arange(k)).astype(float).reshape(n, d * k)
    index: Any = np.int32 if max(n * d, d * k) < 1 << 31 else np.int64  # what SciPy would make of it
    known = (x >= 0) & (x < k)  # False for NaN
    columns = np.where(known, x, 0).astype(index) + np.arange(d, dtype=index) * k
    ends = np.append(0, np.cumsum(known.sum(1)))
    return sparse.csr_array((np.ones(ends[-1]), columns[known], ends), shape=(n, d * k))


# --- leaving a row out ----------------------------------------------------------------------------------------------


def downdate(whole: Value, part: Value | Scalar) -> Array:
    """A hyperparameter minus the share of a row, but at least the rounding of the whole.

    The floor matters if the row carries nearly all of it, because the rest is then lost in rounding.
    """
    whole = namespace(whole, part).asarray(whole)
    return floored(whole - part, whole)


def shared_weight(w: Array) -> Array:
    """Weights (n, 1) as (1, 1) where they are all equal, so that what depends on them alone is computed once."""
    return w[:1] if namespace(w) is np and len(w) and (w == w[0]).all() else w


def unit_labels(r: Array | Sparse) -> np.ndarray | None:
    """The class of each row where each has one, with weight 1."""
    return r.indices if is_one_hot(r) and (r.data == 1).all() else None


def with_odd_rows(table: np.ndarray, formula: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """A table of which a formula gives the rows that are not finite: `formula(rows)`."""
    with np.errstate(all="ignore"):
        if np.isfinite(table.sum()):  # which costs less than to ask each entry
            return table
    rows = np.flatnonzero(~np.isfinite(table).all(1))
    if rows.size:
        table[rows] = formula(rows)
    return table
