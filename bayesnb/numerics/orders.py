"""Orders: of features, over which Shapley values are averages, and of classes, whatever their labels are."""

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

    Parameters
    ----------
    pairs : how many random orders to draw; each is taken with its reverse
    """
    if d <= _ALL:  # all permutations, at most 120; the reverse of each is among them
        return np.array(list(itertools.permutations(range(d))), int).reshape(-1, d)

    rng = np.random.default_rng(0)
    drawn = np.array([rng.permutation(d) for _ in range(pairs)])
    return np.concatenate([drawn, drawn[:, ::-1]])


def shapley(value: Callable[[Int[np.ndarray, " d"]], Array], d: int, pairs: int = PAIRS) -> Float[Array, "*s n d c"]:
    """The Shapley value of each feature: how much it adds to the value of the features before it, averaged over orders.

    The Shapley values φ_j add up to the value of all features, Σ_j φ_j = v(1 … d) − v(∅). They are exact for up to five
    features, and for effects of at most two features together; otherwise they are averages over 2 · `pairs` orders.

    Parameters
    ----------
    value : from an order of the features to the values (…, n, d, c) of its first k, k = 1 … d; v(∅) is taken as 0
    d : number of features
    pairs : how many pairs of an order and its reverse to take, of more than five features

    References
    ----------
    Shapley (1953), A value for n-person games. Castro, Gómez & Tejada (2009), Comput. Oper. Res. 36 (random orders).
    """
    total: Any = 0.0
    all_orders = orders(d, pairs)
    for order in all_orders:
        # v of the first feature of the order, of the first two, and so on, and what each adds to those before it
        values = value(order)  # (…, n, d, c)
        no_features = np.zeros_like(values[..., :1, :])  # v(∅) = 0, put in front so that the first gain is v itself
        gain = np.diff(values, axis=-2, prepend=no_features)  # (…, n, d, c), in the order

        # In the order of the columns again: `argsort`, the inverse of the order, says at which place each feature is.
        # In the order (2, 0, 1) feature 0 is at place 1, feature 1 at place 2, and feature 2 at place 0: (1, 2, 0).
        place = np.argsort(order)
        total = total + gain[..., place, :]
    return total / len(all_orders)


def shapley_of_cells(table: Callable[[Array], Array], x: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "*s n d c"]:
    """Shapley values of the cells of rows: how much each cell adds to a log density (…, n, c), on average over orders.

    The value of some features is the log density of a row that has only these cells, less that of a row without any.
    For the order (2, 0, 1) of three features, for example, each row [a, b, c] is scored three times, as

        [NaN, NaN, c],    [a, NaN, c],    [a, b, c].

    Parameters
    ----------
    table : rows (m, d) → numbers (…, m, c), such as log densities, from which missing cells, NaN, are left out
    x : the rows
    """
    n, d = x.shape
    no_cells = table(np.full((1, d), np.nan))[..., None, :]  # (…, 1, 1, c)

    def value(order: np.ndarray) -> np.ndarray:
        # d copies of the rows: copy k has the first k + 1 cells of the order, and all others are missing. So cell j at
        # place k is in copy k and all later ones, `copies[k:]`.
        copies = np.full((d, n, d), np.nan)  # (copy, row, cell)
        for k, j in enumerate(order):
            copies[k:, :, j] = x[:, j]

        # All copies are scored as one table: all rows of copy 0, then all rows of copy 1, and so on.
        log_p = table(copies.reshape(d * n, d))  # (…, d·n, c)

        # its rows split again by copy, and the axis of the copies moved behind that of the rows
        *lead, _, c = log_p.shape
        by_copy = log_p.reshape(*lead, d, n, c)
        by_row = np.moveaxis(by_copy, -3, -2)  # (…, n, d, c)
        return by_row - no_cells

    return shapley(value, d)


def class_order(sums: Float[np.ndarray, "c r"], class_weight: Float[np.ndarray, " c"]) -> Int[np.ndarray, " c"]:
    """Classes by their weight, then by sums of each over its rows: an order that does not depend on how they are named.

    Whatever is drawn for a class by its number is then drawn for the same rows, whatever their label. Sums are compared
    to nine digits, as rounding depends on the order of the rows.

    Parameters
    ----------
    sums : r sums of each class over its rows, such as those of its columns
    class_weight : weight of each class

    Returns
    -------
    The numbers of the classes, the one with the smallest weight first.
    """
    keys = np.round(sums / class_weight.sum(), 9)  # (c, r)

    # `lexsort` sorts by its last key first, then by the one before: by the weight, then by sum 0, sum 1, …, which
    # therefore come in reverse
    return np.lexsort([*keys.T[::-1], class_weight])
