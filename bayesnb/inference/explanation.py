"""What each feature of a row adds to the log odds of each class, with credible intervals; what features tell of labels.

    log p(x, y = a)/p(x, y = b) = log p(a)/p(b) + Σ_j [φ_j(a) − φ_j(b)]

φ_j(c) is `log_contributions` of the page of the family. The points are those of the current estimate, and the intervals
are quantiles over the posterior of θ.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from ..core.arrays import Float, Int, Scalar, is_sparse
from ..core.pytrees import leaves
from ..core.random import generator
from ..naive_bayes import CLASS, NaiveBayes, Parameters, Rows
from ..sums.rows import batches, rows_at
from .intervals import Model

_CELLS = 1 << 22  # numbers of a table worked on at a time
_KEPT = 1 << 24  # numbers kept for the quantiles of some rows

PRIOR, OTHERS = -1, -2  # what stands for the class prior and for all other features among the numbers of the features


@dataclass(frozen=True)
class Contributions:
    """Contributions of rows, one entry after the other: each row has its class prior, its features, all other features.

    Fields
    ------
    row, feature : (t,) of each entry; the feature is PRIOR for the class prior and OTHERS for all that are not listed
    value : (t, c) contribution, in nats
    low, high : (t, c) ends of its interval
    total, total_low, total_high : (n, c) the log odds
    """

    row: Int[np.ndarray, " t"]
    feature: Int[np.ndarray, " t"]
    value: Float[np.ndarray, "t c"]
    low: Float[np.ndarray, "t c"]
    high: Float[np.ndarray, "t c"]
    total: Float[np.ndarray, "n c"]
    total_low: Float[np.ndarray, "n c"]
    total_high: Float[np.ndarray, "n c"]


def odds_against(c: int, against: int | None) -> Callable[[np.ndarray], np.ndarray]:
    """From log p of c classes to the log odds of each: against one class, or the geometric mean of all others."""

    def odds(table: np.ndarray) -> np.ndarray:
        if against is not None:
            return table - table[..., [against]]
        if c == 2:
            return table - table[..., ::-1]
        return (table - table.mean(-1, keepdims=True)) * (c / max(c - 1, 1))

    return odds


def contributions(
    posterior: Model,
    rows: Rows,
    columns: dict[str, np.ndarray],
    theta: Parameters | None,
    d: int,
    odds: Callable[[np.ndarray], np.ndarray],
    *,
    n: int | None = None,
    focus: int | None = None,
    level: Scalar = 0.9,
    n_draws: int = 1000,
    seed: int | np.random.Generator | None = 0,
    refined: Callable[[Parameters], Parameters] | None = None,
) -> Contributions:
    """Contributions of the features of rows to log odds.

    Parameters
    ----------
    rows : by block; for sparse rows only the stored cells are listed
    columns : places among the d features of the columns of each block
    theta : parameters plugged in; None integrates them out
    odds : from `odds_against`
    n : features listed of each row, those of the largest contribution to any class; None lists all
    focus : class whose contributions say which are largest; None takes any
    refined : what is done to draws of the parameters before they are used, if anything
    """
    seed = seed if isinstance(seed, int) else int(generator(seed).integers(1 << 32))
    n_rows, c = next(iter(rows.values())).shape[0], len(posterior.classes.log_predictive())
    stored = [np.diff(x.tocsr().indptr).max(initial=0) if is_sparse(x) else x.shape[1] for x in rows.values()]
    found = []
    for part in batches(n_rows, max(1, _KEPT // (n_draws * c * (int(sum(stored)) + 3)))):
        some = rows_at(rows, part)
        one = _of_some(posterior, some, columns, theta, d, odds, n, focus, level, n_draws, seed, refined)
        found.append(replace(one, row=one.row + part.start))
    names = Contributions.__dataclass_fields__
    return Contributions(*(np.concatenate([getattr(one, name) for one in found]) for name in names))


def _of_some(
    posterior: Model,
    rows: Rows,
    columns: dict[str, np.ndarray],
    theta: Parameters | None,
    d: int,
    odds: Callable[[np.ndarray], np.ndarray],
    n: int | None,
    focus: int | None,
    level: Scalar,
    n_draws: int,
    seed: int,
    refined: Callable[[Parameters], Parameters] | None,
) -> Contributions:
    """`contributions` of so few rows that all their draws are kept."""
    listed = np.zeros((next(iter(rows.values())).shape[0], d), bool)  # the cells that are there
    for name, x in rows.items():
        listed[:, columns[name]] |= (x != 0).toarray() if is_sparse(x) else True
    features = np.flatnonzero(listed.any(0))
    place = np.full(d, -1)
    place[features] = np.arange(len(features))
    own = {name: np.flatnonzero(place[at] >= 0) for name, at in columns.items()}  # columns of a block that are listed
    with np.errstate(over="ignore"):
        log_pi = posterior.classes.log_predictive() if theta is None else theta[CLASS]["log_pi"]
        table = np.zeros((len(listed), len(features), len(log_pi)))
        for name, block in posterior.blocks.items():
            part = block.log_contributions(rows[name], own[name], None if theta is None else theta[name])
            table[:, place[columns[name][own[name]]]] += part
        total, prior, table = odds(posterior.log_joint(rows, theta)), odds(log_pi), odds(table)
    size = np.where(listed[:, features], abs(table[..., slice(None) if focus is None else [focus]]).max(-1), -1)
    order = np.argsort(-size, axis=1, kind="stable")
    kept = listed[:, features].sum(1) if n is None else np.minimum(n, (size > 0).sum(1))

    small, cells = posterior, rows
    if (
        isinstance(posterior, NaiveBayes)
        and refined is None
        and posterior.blocks.keys() == {"x"}
        and (block := posterior.blocks["x"].merged(own["x"])) is not None
    ):
        small, x = replace(posterior, blocks={"x": block}), rows["x"][:, own["x"]]
        stack = sparse.hstack if is_sparse(x) else np.hstack
        cells, own = {"x": stack([x, np.zeros((len(listed), 1))])}, {"x": np.arange(len(own["x"]))}
        cells["x"] = cells["x"].tocsr() if is_sparse(cells["x"]) else cells["x"]
        columns = {"x": np.append(features, -1)}
    row = np.repeat(np.arange(len(listed)), kept)
    at = np.concatenate([chosen[:k] for chosen, k in zip(order, kept, strict=True)]) if len(kept) else order[:0].ravel()
    value = table[row, at]
    rest = total - prior - _sums(value, row, len(listed))
    draws = np.empty((n_draws, len(row) + 2 * len(listed) + 1, len(prior)), np.float64)
    done = 0
    for parameters in sample_some(small, n_draws, seed, max(len(row), 1) * len(prior)):
        parameters = parameters if refined is None else refined(parameters)
        s = len(parameters[CLASS]["log_pi"])
        each = np.zeros((s, len(listed), len(features), len(prior)))
        for name, block in small.blocks.items():
            each[:, :, place[columns[name][own[name]]]] += block.log_contributions(
                cells[name], own[name], parameters[name]
            )
        listed_draws = odds(each[:, row, at])
        first = odds(parameters[CLASS]["log_pi"])[:, None]
        whole = odds(small.log_joint(cells, parameters))
        left = whole - first - _sums(listed_draws, row, len(listed))
        draws[done : done + s] = np.concatenate([first, listed_draws, left, whole], 1)
        done += s
    low, high = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2], axis=0, overwrite_input=True)

    # class prior, features, others of each row
    entry = np.concatenate([np.arange(len(listed)), row, np.arange(len(listed))])
    order = np.argsort(entry, kind="stable")
    source = np.concatenate([np.zeros(len(listed), int), 1 + np.arange(len(row) + len(listed))])[order]
    feature = np.concatenate([np.full(len(listed), PRIOR), features[at], np.full(len(listed), OTHERS)])[order]
    points = np.concatenate([np.broadcast_to(prior, (1, len(prior))), value, rest])[source]
    scale = 1e-9 * (1 + abs(total) + abs(prior))[entry[order]]
    needed = (feature != OTHERS) | (abs(points) > scale).any(1) | (abs(high - low)[source] > scale).any(1)
    last = slice(1 + len(row) + len(listed), None)
    intervals = low[source][needed], high[source][needed], total, low[last], high[last]
    return Contributions(entry[order][needed], feature[needed], points[needed], *intervals)


def _sums(values: np.ndarray, row: np.ndarray, n: int) -> np.ndarray:
    """Sums over the entries of each row, along the axis before the last."""
    found = np.zeros((*values.shape[:-2], n, values.shape[-1]))
    if len(row):
        firsts = np.flatnonzero(np.r_[True, np.diff(row) > 0])
        found[..., row[firsts], :] = np.add.reduceat(values, firsts, axis=-2)
    return found


def sample_some(
    posterior: Model, n: int, seed: int | np.random.Generator | None, more: int = 0
) -> Iterator[Parameters]:
    """Draws of all parameters, some at a time: as many as keep them, and `more` numbers a draw, in bounds."""
    rng = generator(seed)
    step = max(1, _CELLS // (more + sum(leaf.size for leaf in leaves(posterior))))
    for some in batches(n, step):
        yield posterior.sample(rng, (some.stop - some.start,))
