"""Rows, dense or sparse: the few operations on them that the pages of the families need."""

from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from jaxtyping import Float, Real
from scipy import sparse

from ._special import gammaln, log1p_square, log_rising, namespace
from ._typing import Array, Value

_LEVELS = 8  # counts above are rare in text; they are summed cell by cell
_GROUPS = 4  # distinct weights of columns whose logarithms are taken together
_FACTORIALS = 1 << 10  # whole counts whose log factorial is looked up
_CELLS = 1 << 21  # cells of a temporary table


def is_missing_free(x: Any) -> bool:
    """Whether rows on the host are known to have no missing cell; False under a JAX trace, where nobody can look."""
    return namespace(x) is np and (sparse.issparse(x) or not np.isnan(x).any())


def matmul(x: Any, weights: Float[Array, "*s c d"]) -> Float[Array, "*s n c"]:
    """Σ_j x_ij w_cj, for dense or sparse rows; leading axes of the weights lead the result."""
    if not sparse.issparse(x):
        return x @ weights.swapaxes(-1, -2)
    flat = weights.reshape(-1, weights.shape[-1])  # (s·c, d): one sparse product for all draws
    table = x @ flat.T
    return np.moveaxis(table.reshape(x.shape[0], *weights.shape[:-1]), 0, -2)


def contract(x: Any, slope: Float[Array, "*s c d"], level: Float[Array, "*s c d"]) -> Float[Array, "*s n c"]:
    """Σ_j over the observed cells of (x_ij · slope_cj + level_cj), for dense or sparse rows."""
    if is_missing_free(x):
        return matmul(x, slope) + level.sum(-1)[..., None, :]
    xp = namespace(x)
    seen = ~xp.isnan(x)
    return matmul(xp.where(seen, x, 0), slope) + matmul(seen.astype(level.dtype), level)


def over_classes(f: Callable[..., Array], x: Real[Array, "n d"], *fields: Array) -> Float[Array, "*s n c"]:
    """Σ_j f(x_ij, *fields_cj) over the observed cells; fields are (…, c, d), their leading axes lead the result.

    On the host one class at a time, so that the temporaries stay as large as x.
    """
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
    over = jax.vmap(column, out_axes=-1)
    for _ in fields[0].shape[:-2]:
        over = jax.vmap(over)
    return over(*(xp.broadcast_to(v, fields[0].shape) for v in fields))


def sum_log1p(v: Float[Array, "n d"], weights: Float[Array, " d"]) -> Float[Array, " n"]:
    """Σ_j w_j log(1 + v_ij), v > −1; on the host with one logarithm for up to eight columns of equal weight.

    Two columns fold into one by (1 + v)(1 + v') = 1 + (v + v' + vv'), which for v ≥ 0 loses no digit however small v
    is; above 1e35 the product of eight could overflow, below −½ it cancels.
    """
    if namespace(v, weights) is not np:
        return namespace(v, weights).log1p(v) @ weights
    levels, group = np.unique(weights, return_inverse=True)
    if len(levels) > _GROUPS or not (v.size and v.max() < 1e35 and v.min() >= -0.5) or v.dtype != np.float64:
        return np.log1p(v) @ weights
    total = np.zeros(len(v))
    for i, level in enumerate(levels):
        part = v if len(levels) == 1 else v[:, group == i]
        for _ in range(3):
            half = part.shape[1] // 2
            if not half:
                break
            one, two = part[:, :half], part[:, half : 2 * half]
            folded = one * two
            folded += one
            folded += two
            part = np.concatenate([folded, part[:, 2 * half :]], 1) if part.shape[1] % 2 else folded
        total += level * np.log1p(part).sum(1)
    return total


def sum_log1p_square(u: Float[Array, "n d"], weights: Float[Array, " d"]) -> Float[Array, " n"]:
    """Σ_j w_j log(1 + u_ij²), also where u² overflows."""
    if namespace(u, weights) is not np or not u.size or max(u.max(), -u.min()) > 1e15:
        return log1p_square(u) @ weights
    return sum_log1p(u * u, weights)


def row_totals(x: Any) -> Array:
    """L_i = Σ_j x_ij, (n,)."""
    return np.asarray(x.sum(axis=1)).ravel() if sparse.issparse(x) else x.sum(1)


def log_coefficient(x: Any) -> Array:
    """log L! / Π_j x_j!, the number of orders of the events of a row, (n,)."""
    return gammaln(row_totals(x) + 1) - row_totals(each(x, log_factorial))


def log_factorial(count: Array) -> Array:
    """log x! = log Γ(x + 1); of whole counts on the host the first are looked up, which is ten times as fast."""
    if namespace(count) is np and count.size > _FACTORIALS and count.min() >= 0:
        index = np.minimum(count, _FACTORIALS).astype(np.intp)
        if ((index == count) | (count > _FACTORIALS)).all():
            found = gammaln(np.arange(1, _FACTORIALS + 2, dtype=count.dtype))[index]
            large = count > _FACTORIALS
            found[large] = gammaln(count[large] + 1)
            return found
    return gammaln(count + 1)


def each(x: Any, f: Callable[[Array], Array]) -> Any:
    """f of every cell, for f(0) = 0, dense or sparse."""
    return sparse.csr_array((f(x.data), x.indices, x.indptr), shape=x.shape) if sparse.issparse(x) else f(x)


def log_rising_sum(x: Any, alpha: Float[Array, "c d"]) -> Float[Array, "n c"]:
    """Σ_j log α_cj^(x_ij), where a^(x) = Γ(a+x)/Γ(a); dense or sparse rows.

    For whole counts log a^(x) = Σ_{t<x} log(a+t), so the table is the sparse product of [x > 0] with log α, plus that
    of [x > 1] with log(α+1), and so on, each sparser than the last. Fractional counts, and what is left of counts above
    eight, go through `log_rising` cell by cell, in blocks of bounded size.
    """
    if namespace(x, alpha) is not np:
        return log_rising(alpha[None], x[:, None, :]).sum(-1)
    rest = sparse.csr_array(x, dtype=float, copy=True)
    rest.eliminate_zeros()
    table = np.zeros((x.shape[0], alpha.shape[0]))
    if (rest.data == np.floor(rest.data)).all():
        for _ in range(_LEVELS):
            if rest.nnz == 0:
                return table
            table += (
                sparse.csr_array((np.ones_like(rest.data), rest.indices, rest.indptr), rest.shape) @ np.log(alpha).T
            )
            rest.data -= 1
            rest.eliminate_zeros()
            alpha = alpha + 1
    step = max(1, _CELLS // len(alpha))
    for at in range(0, rest.nnz, step):
        part = slice(at, min(at + step, rest.nnz))
        cells = log_rising(alpha[:, rest.indices[part]].T, rest.data[part, None])  # (part, c), sorted by row
        ends = np.clip(rest.indptr, part.start, part.stop) - part.start
        rows = sparse.csr_array((np.ones(len(cells)), np.arange(len(cells)), ends), (x.shape[0], len(cells)))
        table += rows @ cells
    return table


def indicators(x: Real[Array, "n d"], k: int) -> Any:
    """[x_ij = level] as rows of length d·k, sparse on the host; a missing cell has no entry."""
    n, d = x.shape
    if namespace(x) is not np:
        return (x[..., None] == np.arange(k)).astype(float).reshape(n, d * k)
    known = (x >= 0) & (x < k)  # False for NaN
    columns = np.where(known, x, 0).astype(np.intp) + np.arange(d) * k
    ends = np.concatenate([[0], np.cumsum(known.sum(1))])
    return sparse.csr_array((np.ones(ends[-1]), columns[known], ends), shape=(n, d * k))


# --- leaving a row out ----------------------------------------------------------------------------------------------


def rest(whole: Value, part: Value) -> Array:
    """What is left of a hyperparameter without a row's share in it, at least the rounding of the whole.

    The floor is for a row that carries nearly all of it: what was there before the row is then lost in rounding.
    """
    xp = namespace(whole, part)
    whole = xp.asarray(whole)
    return xp.maximum(whole - part, xp.finfo(whole.dtype).eps * abs(whole))


def shared_weight(w: Array) -> Array:
    """Weights (n, 1) as (1, 1) where they are all equal, so that what depends on them alone is computed once."""
    return w[:1] if namespace(w) is np and len(w) and (w == w[0]).all() else w


def without_own(
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
        return jax.vmap(own, in_axes=(None, 1, *(0 for _ in fields)), out_axes=1)(x, r[:, :, None], *fields)
    table, r = predictive(x), sparse.csc_array(r)
    for k, (start, end) in enumerate(zip(r.indptr[:-1], r.indptr[1:], strict=True)):
        rows, w = r.indices[start:end], r.data[start:end]
        rows, w = rows[w != 0], w[w != 0]
        if len(rows):
            table[rows, k] = own(x[rows], shared_weight(w[:, None]), *(field[k] for field in fields))
    return table


def own_cells(f: Callable[..., Array], zero: Callable[..., Array] | None = None) -> Callable[..., Array]:
    """The `own` of `without_own` for rows whose observed cells are independent: Σ_j f(x_ij, w_i, *fields_j).

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
        cells = f(x.data, levels[level[row]], *(field[x.indices] for field in fields))
        if zero is None:
            return np.bincount(row, cells, n)
        empty = zero(levels[:, None], *fields)
        return np.bincount(row, cells - empty[level[row], x.indices], n) + empty.sum(1)[level]

    return own


def log_rising_cells(a: Array, x: Array) -> Array:
    """log of the rising factorial a^(x), cell by cell; small whole counts on the host as Σ_{t<x} log(a + t)."""
    if namespace(a, x) is not np or not (x == np.floor(x)).all():
        return log_rising(a, x)
    a, x = np.broadcast_arrays(a, x)
    total = np.zeros(a.shape, np.result_type(a, x))
    for t in range(_LEVELS):
        more = x > t
        if not more.any():
            return total
        total[more] += np.log(a[more] + t)
    more = x > _LEVELS
    total[more] += log_rising(a[more] + _LEVELS, x[more] - _LEVELS)
    return total


def as_counts(x: Any) -> Any:
    """Rows of counts as sparse rows where they are on the host and complete: only counts above 0 cost anything."""
    return sparse.csr_array(x) if is_missing_free(x) else x
