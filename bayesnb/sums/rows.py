"""Rows, dense or sparse: the few operations on them that the pages of the families need."""

import copy
import functools
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from scipy import sparse

from ..core.arrays import Array, Float, Int, Real, Scalar, Sparse, Value
from ..core.special import gammaln, in_chunks, log_rising, namespace
from ..loops import contiguous, worth

_LARGEST = 32  # counts above are rare in text, and go through log Γ
_MULTIPLIED = 256  # counts above do not go through loops, which multiply all factors
_MODEST = 1e9  # so many numbers up to here have a product that is a number
_LEVELS = 8  # factors of a rising factorial that are multiplied before the logarithm
_FACTORIALS = 1 << 10  # whole counts below have their log factorial looked up
_CELLS = 1 << 21  # cells of a temporary table
_STORED_SHARE = 2  # stored cells of sparse rows are worked on in temporaries of half of that
_STEEP = 100.0  # nats: where an empty cell is as improbable as that, its term would not cancel to the last digit

Method = TypeVar("Method", bound=Callable[..., Any])


def is_missing_free(x: Any) -> bool:
    """Whether rows on the host are known to have no missing cell; False under a JAX trace, where nobody can look."""
    return namespace(x) is np and (sparse.issparse(x) or not np.isnan(x).any())


def matmul(x: Any, weights: Float[Array, "*s c d"]) -> Float[Array, "*s n c"]:
    """Σ_j x_ij w_cj, for dense or sparse rows; leading axes of the weights lead the result."""
    if not sparse.issparse(x):
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


def contract(x: Any, slope: Float[Array, "*s c d"], level: Float[Array, "*s c d"]) -> Float[Array, "*s n c"]:
    """Σ_j over the observed cells of (x_ij · slope_cj + level_cj), for dense or sparse rows."""
    xp = namespace(x)
    if xp is np and not sparse.issparse(x) and slope.ndim == 2 and worth(x.size * len(slope)):
        from ..loops.counts import product

        table = np.empty((len(x), len(slope)))
        product(contiguous(x), contiguous(slope), contiguous(np.broadcast_to(level, slope.shape)), table)
        return table
    if xp is np:
        with np.errstate(invalid="ignore"):
            table = matmul(x, slope)
        if sparse.issparse(x) or not np.isnan(table).any():  # which costs less than to look for missing cells
            return table + level.sum(-1)[..., None, :]
    seen = ~xp.isnan(x)
    return matmul(xp.where(seen, x, 0), slope) + matmul(seen.astype(level.dtype), level)


def chosen_cells(x: Real[Array, "n d"] | Sparse, columns: Int[np.ndarray, " k"]) -> Float[Array, "n k"]:
    """Some columns, dense."""
    return x[:, columns].toarray() if sparse.issparse(x) else x[:, columns]


def event_shares(
    x: Real[Array, "n d"] | Sparse,
    columns: Int[np.ndarray, " k"],
    alpha: Float[Array, "c d"],
    log_theta: Float[Array, "*s c d"] | None = None,
) -> Float[Array, "*s n k c"]:
    """log α_j^(x_j) − (x_j/L) log A^(L), A = Σα and L = Σx, or x_j log θ_j: shares of log p of a row of events."""
    cells = chosen_cells(x, columns)
    if log_theta is not None:
        return cells[..., None] * log_theta[..., columns].swapaxes(-1, -2)[..., None, :, :]
    length = row_totals(x)[:, None]
    share = cells / np.where(length > 0, length, 1)
    return (
        log_rising(alpha.T[columns], cells[..., None]) - share[..., None] * log_rising(alpha.sum(-1), length)[:, None]
    )


def merge_others(alpha: Float[Array, "c d"], columns: Int[np.ndarray, " k"]) -> Float[Array, "c k1"]:
    """Concentrations of some kinds of events, and of all others put together."""
    rest = np.delete(alpha, columns, axis=1).sum(1, keepdims=True)
    return np.concatenate([alpha[:, columns], np.maximum(rest, 1e-50)], 1)


def sum_over_features(
    f: Callable[..., Array], x: Real[Array, "n d"] | Sparse, *fields: Array
) -> Float[Array, "*s n c"]:
    """Σ_j f(x_ij, *fields_cj) over the observed cells; fields are (…, c, d), their leading axes lead the result.

    On the host one class at a time, so that the temporaries stay as large as x.
    """
    if sparse.issparse(x):
        return _over_stored(f, x, *fields)
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


def _over_stored(f: Callable[..., Array], x: Sparse, *fields: Array) -> Float[Array, "*s n c"]:
    """`sum_over_features` of sparse rows: Σ_j f(0, …), once for all rows, and f(x_ij, …) − f(0, …) of the stored cells.

    Columns whose f(0, …) would not cancel are made dense, some rows at a time.
    """
    n, d = x.shape
    lead = fields[0].shape[:-1]
    flat = [np.broadcast_to(v, fields[0].shape).reshape(-1, d) for v in fields]
    empty = f(np.zeros(1), *flat)
    steep = (abs(empty) > _STEEP).any(0)
    table = np.tile(empty[:, ~steep].sum(1), (n, 1))
    thin = x.tocsr()[:, ~steep] if steep.any() else x.tocsr()
    row, column = (np.repeat(np.arange(n), np.diff(thin.indptr)), np.flatnonzero(~steep)[thin.indices])
    for k, values in enumerate(zip(*flat, strict=True)):
        cells = f(thin.data, *(v[column] for v in values)) - empty[k, column]
        table[:, k] += np.bincount(row, cells, n)
    if steep.any():
        thick, own = x.tocsr()[:, steep], [v[:, steep] for v in flat]
        for part in slices(n, thick.shape[1]):
            table[part] += sum_over_features(f, thick[part].toarray(), *own)
    return np.moveaxis(table.reshape(n, *lead), 0, -2)


def slices(n: int, d: int, cells: int = _CELLS, least: int = 1) -> list[slice]:
    """Slices of n rows, a power of two, whose d columns have a bounded number of cells; of `least` rows and more."""
    step = 1 << max(least, cells // max(d, 1), 1).bit_length() - 1
    return [slice(at, at + step) for at in range(0, max(n, 1), step)]


def made_dense(method: Method) -> Method:
    """A method of dense rows, and tables (n, …) that go with them, that takes sparse ones some rows at a time."""

    @functools.wraps(method)
    def wrapped(self: Any, x: Any, *tables: Any) -> Any:
        if not sparse.issparse(x):
            return method(self, x, *tables)
        parts = slices(*x.shape)
        x = x.tocsr()
        return np.concatenate([method(self, x[part].toarray(), *(t[part] for t in tables)) for part in parts])

    return wrapped  # type: ignore[return-value]


def row_totals(x: Any) -> Array:
    """L_i = Σ_j x_ij, (n,)."""
    return np.asarray(x.sum(axis=1)).ravel() if sparse.issparse(x) else x.sum(1)


def log_coefficient(x: Any) -> Array:
    """log L! / Π_j x_j!, the number of orders of the events of a row, (n,)."""
    if namespace(x) is np and worth(8 * x.size) and (sums := _log_factorials_of_rows(x)) is not None:
        length, spent = sums
        return log_factorial(length) - spent
    if sparse.issparse(x):
        x = x.tocsr()
        many = np.flatnonzero(x.data != 1)  # 0! = 1! = 1
        spent = _sums_between(log_factorial(x.data[many]), np.searchsorted(many, x.indptr))
    else:
        spent = row_totals(log_factorial(x))
    return log_factorial(row_totals(x)) - spent


def _log_factorials_of_rows(x: Any) -> tuple[np.ndarray, np.ndarray] | None:
    """Σ_j x_ij and Σ_j log x_ij! of many rows, where all counts are whole and small."""
    from ..loops.counts import log_factorials

    n, d = x.shape
    ends, cells = (x.indptr, x.data) if sparse.issparse(x) else (np.arange(0, n * d + 1, d), x.ravel())
    length, spent = np.empty(n), np.empty(n)
    known = gammaln(np.arange(1.0, _FACTORIALS + 1))
    return (length, spent) if log_factorials(ends, contiguous(cells), known, length, spent) else None


def _sums_between(v: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """Sums of consecutive stretches of v, from each end to the next."""
    sums = np.add.reduceat(np.append(v, 0.0), ends[:-1])  # of an empty stretch it gives v at its end
    return np.where(ends[1:] > ends[:-1], sums, 0.0)


def log_factorial(count: Array) -> Array:
    """log x! = log Γ(x + 1); of whole counts on the host the first are looked up, which is ten times as fast."""
    if namespace(count) is np and count.size > _FACTORIALS and count.min() >= 0 and count.max() < _FACTORIALS:
        index = count.astype(np.int32)
        if np.array_equal(index, count):
            return gammaln(np.arange(1, _FACTORIALS + 1, dtype=count.dtype)).take(index)
    return gammaln(count + 1)


def map_cells(x: Any, f: Callable[[Array], Array]) -> Any:
    """f of every cell, for f(0) = 0, dense or sparse."""
    if not sparse.issparse(x):
        return f(x)
    found = copy.copy(x)  # the places of the cells are shared, and need no second check
    found.data = in_chunks(f, x.data)
    return found


def log_rising_sum(
    x: Any, alpha: Float[Array, "c d"], log_alpha: Float[Array, "c d"] | None = None
) -> Float[Array, "n c"]:
    """Σ_j log α_cj^(x_ij), where a^(x) = Γ(a+x)/Γ(a); dense or sparse rows.

    For whole counts a^(x) = Π_{t<x} (a+t): the sparse product of [x > 0] with log α, and of the cells above one that of
    their pairs of a column and a count with log Π_{0<t<x} (α+t). Fractional counts, what is left of counts above 32,
    and rows where some α is large go through `log_rising`, once for every count of a column.
    """
    if namespace(x, alpha) is not np:
        return log_rising(alpha[None], x[:, None, :]).sum(-1)
    x = as_csr(x)
    modest = alpha.max(initial=0) < _MODEST
    table = np.zeros((x.shape[0], len(alpha)))
    if modest and worth(2 * x.nnz * len(alpha)):
        from ..loops.counts import rising

        known = np.log(alpha) if log_alpha is None else log_alpha
        by_column = contiguous(alpha.T), contiguous(known.T)
        cells = contiguous(x.data)
        if not rising(x.indptr, x.indices, cells, *by_column, _MULTIPLIED, table):
            odd = (cells > _MULTIPLIED) | (cells != np.floor(cells))
            table += _rising_cells(_only(x, np.flatnonzero(odd)), alpha)
        return table
    first = (np.log(alpha) if log_alpha is None else log_alpha).T
    for part in slices(x.shape[0], _STORED_SHARE * -(-x.nnz // max(x.shape[0], 1))):
        cells = csr_slice(x, part)
        many = np.flatnonzero(cells.data != 1)
        count = cells.data[many]
        if not (modest and (count == np.floor(count)).all()):
            table[part] = _rising_cells(cells, alpha)
            continue
        if not count.all():
            cells = _only(cells, np.flatnonzero(cells.data))
            many = np.flatnonzero(cells.data != 1)
        table[part] = _pattern(cells) @ first
        if many.size:
            table[part] += _rising_on(_only(cells, many), alpha)
    return table


def _rising_on(x: Sparse, alpha: Array) -> Array:
    """Σ_j log (α_cj + 1)^(x_ij − 1), rising factorials, over stored whole counts above one."""
    here, x = _squeezed(x)
    key = x.indices.astype(np.intp) * (_LARGEST + 1)
    key += np.minimum(x.data, _LARGEST).astype(np.intp)
    pairs, place = distinct(key, len(here) * (_LARGEST + 1))
    column, count = np.divmod(pairs, _LARGEST + 1)
    largest = count[np.append(column[1:] != column[:-1], True)]  # of each column: pairs are sorted
    order = np.argsort(-largest, kind="stable")  # the columns that go on are always the first
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    ascending = alpha.T[here[order]]
    rising, so_far = np.empty((len(pairs), len(alpha))), np.ones(ascending.shape)
    for t in range(1, _LARGEST):
        go_on = slice(np.count_nonzero(largest > t))
        so_far[go_on] *= ascending[go_on] + t
        rising[count == t + 1] = so_far[rank[column[count == t + 1]]]
    table = _chosen(x, place, len(pairs)) @ np.log(rising, out=rising)
    beyond = np.flatnonzero(x.data > _LARGEST)
    if beyond.size:
        left = _only(x, beyond)
        left.data = left.data - _LARGEST
        few, left = _squeezed(left)
        table += _rising_cells(left, alpha[:, here[few]] + _LARGEST)
    return table


def put_log_rising_without(
    table: Float[np.ndarray, "n c"], x: Sparse, y: np.ndarray, alpha: Float[np.ndarray, "c d"]
) -> bool:
    """Put Σ_j log (α_j − x_ij)^(x_ij), rising factorials, for the class y of each row in its place in a table.

    Returns
    -------
    whether all counts are whole and small, without which there is nothing of use in these places
    """
    from ..loops.counts import rising_without

    return bool(rising_without(x.indptr, x.indices, contiguous(x.data), y, contiguous(alpha.T), _MULTIPLIED, table))


def log_rising_lengths(total: Float[Array, " c"], length: Float[Array, " n"]) -> Float[Array, "n c"]:
    """log A_c^(L_i), once for every length of a row on the host."""
    if namespace(total, length) is not np:
        return log_rising(total, length[:, None])
    longest = length.max(initial=0)
    if longest < len(length) and (length == np.floor(length)).all():  # sorting them would take longer
        return log_rising(total, np.arange(longest + 1.0)[:, None])[length.astype(np.intp)]
    lengths, place = np.unique(length, return_inverse=True)
    return log_rising(total, lengths[:, None])[place]


def _rising_cells(x: Sparse, alpha: Array) -> Array:
    """`log_rising_sum` by the rising factorial of every distinct pair of a column and a count."""
    pairs, place = np.unique(x.indices + 1j * x.data, return_inverse=True)  # complex numbers are sorted as pairs
    chosen = _chosen(x, place, len(pairs))
    table = np.zeros((x.shape[0], len(alpha)))
    step = max(1, _CELLS // len(alpha))
    for at in range(0, len(pairs), step):
        column, count = pairs.real[at : at + step].astype(np.intp), pairs.imag[at : at + step]
        table += chosen[:, at : at + step] @ log_rising(alpha[:, column].T, count[:, None])
    return table


def as_csr(x: Any) -> Sparse:
    """Rows as CSR, without a copy where they are: a constructor would copy what is less than half of an array."""
    return x.tocsr() if sparse.issparse(x) else sparse.csr_array(x)


def csr_slice(x: Sparse, part: slice) -> Sparse:
    """Some rows of a CSR matrix, whose cells are not copied."""
    start, stop, _ = part.indices(x.shape[0])
    ends = x.indptr[start : stop + 1]
    cells = slice(ends[0], ends[-1])
    rows = type(x)((stop - start, x.shape[1]), dtype=x.dtype)
    rows.data, rows.indices, rows.indptr = x.data[cells], x.indices[cells], ends - ends[0]
    return rows


def _only(x: Sparse, at: np.ndarray) -> Sparse:
    """Those of the stored cells that stand at some positions."""
    return sparse.csr_array((x.data[at], x.indices[at], np.searchsorted(at, x.indptr)), shape=x.shape)


def distinct(key: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray]:
    """The distinct keys below `size`, in order, and the place of each key among them."""
    here = np.bincount(key, minlength=size) > 0
    return np.flatnonzero(here), (np.cumsum(here) - 1)[key]


def _squeezed(x: Sparse) -> tuple[np.ndarray, Sparse]:
    """The columns that have a stored cell, and the matrix of these columns alone."""
    here, place = distinct(x.indices, x.shape[1])
    return here, sparse.csr_array((x.data, place, x.indptr), (x.shape[0], len(here)))


def _chosen(x: Sparse, columns: np.ndarray, d: int) -> Sparse:
    """1 for each stored cell, in columns of one's choice."""
    return sparse.csr_array((np.ones(x.nnz), columns, x.indptr), shape=(x.shape[0], d))


def _pattern(x: Sparse) -> Sparse:
    """1 where a cell is stored."""
    return _chosen(x, x.indices, x.shape[1])


def indicators(x: Real[Array, "n d"] | Sparse, k: int) -> Any:
    """[x_ij = level] as rows of length d·k, sparse on the host; a missing cell has no entry.

    Of sparse rows, whose empty cells have level 0, what the stored cells change: 1 at their level and −1 at level 0.
    """
    n, d = x.shape
    if sparse.issparse(x):
        x = x.tocsr()
        row, zero = (np.repeat(np.arange(n), np.diff(x.indptr)), x.indices.astype(np.intp) * k)
        known = (x.data >= 0) & (x.data < k)  # False for NaN
        level = zero[known] + x.data[known].astype(np.intp)
        data = np.concatenate([np.ones(len(level)), np.full(len(zero), -1.0)])
        at = np.concatenate([row[known], row]), np.concatenate([level, zero])
        return sparse.csr_array((data, at), shape=(n, d * k))
    if namespace(x) is not np:
        return (x[..., None] == np.arange(k)).astype(float).reshape(n, d * k)
    index = np.int32 if max(n * d, d * k) < 1 << 31 else np.int64  # what SciPy would make of it
    known = (x >= 0) & (x < k)  # False for NaN
    columns = (x if known.all() else np.where(known, x, 0)).astype(index)
    columns += np.arange(d, dtype=index) * k
    if known.all():
        cells, ends = columns.ravel(), np.arange(0, n * d + 1, d, dtype=index)
    else:
        cells, ends = columns[known], np.concatenate([[0], np.cumsum(known.sum(1))])
    return sparse.csr_array((np.ones(len(cells)), cells, ends), shape=(n, d * k))


# --- leaving a row out ----------------------------------------------------------------------------------------------


def downdate(whole: Value, part: Value | Scalar) -> Array:
    """What is left of a hyperparameter without a row's share in it, at least the rounding of the whole.

    The floor is for a row that carries nearly all of it: what was there before the row is then lost in rounding.
    """
    xp = namespace(whole, part)
    whole = xp.asarray(whole)
    return xp.maximum(whole - part, xp.finfo(whole.dtype).eps * abs(whole))


def shared_weight(w: Array) -> Array:
    """Weights (n, 1) as (1, 1) where they are all equal, so that what depends on them alone is computed once."""
    return w[:1] if namespace(w) is np and len(w) and (w == w[0]).all() else w


def unit_labels(r: Any, work: int) -> np.ndarray | None:
    """The class of each row where each has one, with weight 1, and there is so much work that a loop serves."""
    if not (sparse.issparse(r) and r.format == "csr" and worth(work) and (r.data == 1).all()):
        return None
    return r.indices if np.array_equal(r.indptr, np.arange(r.shape[0] + 1)) else None


def leave_one_out_table(
    predictive: Callable[[Any], Array], own: Callable[..., Array], x: Any, r: Float[Array, "n c"] | Any, *fields: Array
) -> Float[Array, "n c"]:
    """Table of predictives in which the classes that a row has weight in do without that row.

    Parameters
    ----------
    predictive : rows → (n, c), nothing left out
    own : rows, their weights in one class (n, 1) or (1, 1), and the fields of that class → (n,); with weight 0 it is
        that class's column of `predictive`
    r : (n, c) weights, dense or sparse
    fields : (c, …) hyperparameters
    """
    if namespace(x, r, *fields) is not np:
        import jax

        return jax.vmap(own, in_axes=(None, 1, *(0 for _ in fields)), out_axes=1)(x, r[:, :, None], *fields)
    table, r = predictive(x), sparse.csc_array(r)
    for k, (start, end) in enumerate(zip(r.indptr[:-1], r.indptr[1:], strict=True)):
        rows, w = r.indices[start:end], r.data[start:end]
        rows, w = rows[w != 0], w[w != 0]
        if len(rows):
            table[rows, k] = own(x[rows], shared_weight(w[:, None]), *(field[k] for field in fields))
    return table


def sum_over_cells(f: Callable[..., Array], zero: Callable[..., Array] | None = None) -> Callable[..., Array]:
    """The `own` of `leave_one_out_table` for rows whose observed cells are independent: Σ_j f(x_ij, w_i, *fields_j).

    Parameters
    ----------
    f : cells, weights and fields, which broadcast → log density of each cell
    zero : weights and fields → f of an empty cell, for sparse rows; None where that is 0
    """

    def own(x: Any, w: Array, *fields: Array) -> Array:
        if not sparse.issparse(x):
            xp = namespace(x, *fields)
            if is_missing_free(x) and xp is np:
                return f(x, w, *fields).sum(1)
            seen = ~xp.isnan(x)
            return xp.where(seen, f(xp.where(seen, x, 0), w, *fields), 0).sum(1)
        n, d = x.shape
        levels, place = np.unique(w[:, 0], return_inverse=True)
        if zero is not None and len(levels) > 1 and len(levels) * d > _CELLS:
            return np.concatenate([own(x[half], w[half], *fields) for half in (slice(n // 2), slice(n // 2, n))])
        row = np.repeat(np.arange(n), np.diff(x.indptr))
        level = np.broadcast_to(place, n)
        if len(levels) == 1:
            cells = _looked_up(lambda count, *own: f(count, levels, *own), x, *fields)
        else:
            cells = f(x.data, levels[level[row]], *(field[x.indices] for field in fields))
        if zero is None:
            return np.bincount(row, cells, n)
        empty = zero(levels[:, None], *fields)
        return np.bincount(row, cells - empty[level[row], x.indices], n) + empty.sum(1)[level]

    return own


def _looked_up(f: Callable[..., np.ndarray], x: Sparse, *fields: np.ndarray) -> np.ndarray:
    """f(x_ij, *fields_j) of the stored cells; of small whole counts, each often there, once a count and column."""
    d = x.shape[1]
    top = int(min(x.data.max(initial=0), x.nnz // (2 * d), _LEVELS))
    if top < 1 or x.data.min() < 0:
        return f(x.data, *(field[x.indices] for field in fields))
    count = np.minimum(x.data, top).astype(np.intp)
    cells = f(np.arange(top + 1, dtype=x.dtype)[:, None], *fields).ravel()[count * d + x.indices]
    others = np.flatnonzero(count != x.data)  # large or fractional
    cells[others] = f(x.data[others], *(field[x.indices[others]] for field in fields))
    return cells


def log_falling_sum(x: Sparse, alpha: Float[Array, " d"]) -> Float[Array, " n"] | None:
    """Σ_j log (α_j − x_ij)^(x_ij) of sparse rows, rising factorials: Π_{0<t≤x} (α_j − t), from a table of all counts.

    None where counts are not whole, or too few for a table of all counts. The few large ones are not in the table.
    """
    d = x.shape[1]
    top = min(x.data.max(initial=0), x.nnz // d, _LARGEST)
    if top < 1 or x.data.min() < 1:
        return None
    count = np.minimum(x.data, top).astype(np.int32)
    falling = np.cumsum(np.log(downdate(alpha, np.arange(1, top + 1)[:, None])), 0)
    cells = falling.ravel().take((count - 1) * d + x.indices)
    others = np.flatnonzero(count != x.data)
    if len(others):
        if (x.data[others] % 1 != 0).any():
            return None
        cells[others] = log_rising(downdate(alpha[x.indices[others]], x.data[others]), x.data[others])
    return _sums_between(cells, x.indptr)


def log_rising_cells(a: Array, x: Array) -> Array:
    """log of the rising factorial a^(x), cell by cell; small whole counts on the host as log Π_{t<x} (a + t)."""
    if namespace(a, x) is not np or not (x == np.floor(x)).all():
        return log_rising(a, x)
    shape = np.broadcast_shapes(np.shape(a), np.shape(x))
    a, x = (np.broadcast_to(one, shape).ravel() for one in (a, x))
    if a.max(initial=0) > 1e35:  # the product of eight could overflow
        return log_rising(a, x).reshape(shape)
    product, total = np.where(x > 0, a, 1), np.zeros(len(x), np.result_type(a, x))
    more = np.flatnonzero(x > 1)
    for t in range(1, 4 * _LEVELS):
        if not len(more):
            break
        if t % _LEVELS == 0:
            total[more] += np.log(product[more])
            product[more] = 1
        product[more] *= a[more] + t
        more = more[x[more] > t + 1]
    total += np.log(product)
    total[more] += log_rising(a[more] + 4 * _LEVELS, x[more] - 4 * _LEVELS)
    return total.reshape(shape)


def as_counts(x: Any) -> Any:
    """Rows of counts as sparse rows where they are on the host and complete: only counts above 0 cost anything."""
    return as_csr(x) if is_missing_free(x) else x
