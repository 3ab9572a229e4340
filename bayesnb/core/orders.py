"""Shapley values of the features of a row, as averages over the orders in which the features become known."""

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from .arrays import Array, Float, Int

_ALL = 5  # features of which all orders are taken: 120
PAIRS, MANY_PAIRS = 32, 512  # pairs of orders of more features: for draws, and for one table


def orders(d: int, pairs: int = PAIRS) -> Int[np.ndarray, "o d"]:
    """Orders of d features: all of up to five, else random ones, always the same, and the reverse of each.

    With an order and its reverse, an effect of two features together is shared equally, whatever the order is.
    """
    if d <= _ALL:
        return np.array(list(itertools.permutations(range(d))), int).reshape(-1, d)
    rng = np.random.default_rng(0)
    drawn = np.array([rng.permutation(d) for _ in range(pairs)])
    return np.concatenate([drawn, drawn[:, ::-1]])


def shapley(value: Callable[[Int[np.ndarray, " d"]], Array], d: int, pairs: int = PAIRS) -> Float[Array, "*s n d c"]:
    """Shapley values φ_j, which add up to the value of all features whatever the orders: Σ_j φ_j = v(1 … d) − v(∅).

    φ_j is what feature j adds to the value of the features before it, on average over orders. Exact for up to five
    features, and for effects of at most two features together; else the error is that of twice so many `pairs` of
    orders.

    Parameters
    ----------
    value : from an order of the features to the values (…, n, d, c) of its first k, k = 1 … d; v(∅) is taken as 0

    References
    ----------
    Shapley (1953), A value for n-person games. Castro, Gómez & Tejada (2009), Comput. Oper. Res. 36 (random orders).
    """
    total: Any = 0.0
    all_orders = orders(d, pairs)
    for order in all_orders:
        values = value(order)
        gain = np.diff(values, axis=-2, prepend=np.zeros_like(values[..., :1, :]))
        total = total + gain[..., np.argsort(order), :]
    return total / len(all_orders)


def shapley_of_cells(table: Callable[[Array], Array], x: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "*s n d c"]:
    """Shapley values of the cells of rows under a table (…, n, c) that leaves missing cells, NaN, out."""
    n, d = x.shape
    none = table(np.full((1, d), np.nan))[..., None, :]

    def value(order: np.ndarray) -> np.ndarray:
        rows = np.full((d, n, d), np.nan)
        for k, j in enumerate(order):
            rows[k:, :, j] = x[:, j]
        log_p = table(rows.reshape(-1, d))
        return np.moveaxis(log_p.reshape(*log_p.shape[:-2], d, n, log_p.shape[-1]), -3, -2) - none

    return shapley(value, d)
