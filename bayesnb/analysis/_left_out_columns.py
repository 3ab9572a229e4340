"""What each column of rows has to say about their labels, summed over the rows: two terms a row and column.

    information_ij = log p(y_i | x_ij, D₋ᵢ) − log p(y_i | D₋ᵢ)
    gain_ij        = log p(y_i | x_i, D₋ᵢ) − log p(y_i | x_i without x_ij, D₋ᵢ)

Both need the table log p(x_ij | y = c, D₋ᵢ) of a column, which is leave-one-out of the block that has only this column.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from ..core.special import log_normalize
from ..naive_bayes import Rows
from ..one_dependence import OneDependence
from ._columns_by_value import moments, sums_by_value


def sums(
    d: int,
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
    d : number of columns
    model : posterior that predicts the rows
    columns : positions of the columns of each block
    parts, tables : names of the blocks of each part, and log p(x_i,part | y = c, D₋ᵢ) of each
    log_prior : (n, c) log p(y = c | D₋ᵢ)
    leaving : (n, c) weights that leave `model` with each row; None where it does not know the rows
    log_proba : from `tables` to log p(y = c | x_i, D₋ᵢ), (n, c); None for that of the model
    """
    found, n = np.zeros((3, 2, d)), np.arange(len(index))
    if log_proba is None:
        of_block = sums_by_value(model, rows, tables, log_prior, index, weight, leaving)
        if of_block is not None:
            found[..., next(iter(columns.values()))] = of_block
            return found
    log_proba = log_proba or (lambda tables: log_normalize(log_prior + sum(tables.values())))
    whole = log_proba(tables)[n, index]
    cells = {name: x.tocsc() if sparse.issparse(x) else x for name, x in rows.items()}
    for j in range(d):
        alone, less = np.zeros(log_prior.shape), dict(tables)
        for part, names in parts.items():
            for name in names:
                if (k := np.flatnonzero(columns[name] == j)).size:
                    own, lost = _column(model, name, cells[name], k, leaving)
                    alone, less[part] = alone + own, less[part] - lost
        terms = (
            (log_normalize(log_prior + alone) - log_normalize(log_prior))[n, index],
            whole - log_proba(less)[n, index],
        )
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
