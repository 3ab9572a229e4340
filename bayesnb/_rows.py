"""Rows, dense or sparse: the few operations on them that the pages of the families need."""

from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from jaxtyping import Float, Real
from scipy import sparse

from ._special import gammaln, log_rising, namespace
from ._typing import Array

_LEVELS = 8  # counts above are rare in text; they are summed cell by cell
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
    seen = ~namespace(x).isnan(x)
    xp = namespace(x, *fields)
    x = xp.where(seen, x, 0)

    def column(*values: Array) -> Array:
        return xp.where(seen, f(x, *values), 0).sum(1)

    if xp is np:
        lead = fields[0].shape[:-1]
        flat = [np.broadcast_to(v, fields[0].shape).reshape(-1, x.shape[1]) for v in fields]
        table = np.stack([column(*values) for values in zip(*flat, strict=True)], -1)
        return np.moveaxis(table.reshape(len(x), *lead), 0, -2)
    over = jax.vmap(column, out_axes=-1)
    for _ in fields[0].shape[:-2]:
        over = jax.vmap(over)
    return over(*(xp.broadcast_to(v, fields[0].shape) for v in fields))


def row_totals(x: Any) -> Array:
    """L_i = Σ_j x_ij, (n,)."""
    return np.asarray(x.sum(axis=1)).ravel() if sparse.issparse(x) else x.sum(1)


def log_coefficient(x: Any) -> Array:
    """log L! / Π_j x_j!, the number of orders of the events of a row, (n,)."""
    return gammaln(row_totals(x) + 1) - row_totals(each(x, lambda count: gammaln(count + 1)))


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
