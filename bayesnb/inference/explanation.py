"""What each feature of a row adds to the log odds of each class, with credible intervals; what features tell of labels.

    log p(x, y = a)/p(x, y = b) = log p(a)/p(b) + Σ_j [φ_j(a) − φ_j(b)]

φ_j(c) is `log_contributions` of the page of the family. The points are those of the current estimate, and the intervals
are quantiles over the posterior of θ.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from ..core.arrays import Float, Int, Scalar, is_sparse
from ..core.pytrees import leaves
from ..core.random import generator
from ..naive_bayes import CLASS, NaiveBayes, Parameters, Rows
from ..sums.rows import batches, rows_at
from .intervals import Model, fix_seed

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
    """
    seed = fix_seed(seed)
    n_rows, c = next(iter(rows.values())).shape[0], len(posterior.classes.log_predictive())

    def of_some(rows: Rows, start: int) -> tuple[np.ndarray, ...]:
        """`contributions` of so few rows that all their draws are kept."""
        m = next(iter(rows.values())).shape[0]
        listed = np.zeros((m, d), bool)  # the cells that are there
        for name, x in rows.items():
            listed[:, columns[name]] |= (x != 0).toarray() if is_sparse(x) else True
        features, place = np.flatnonzero(listed.any(0)), np.full(d, -1)
        place[features] = np.arange(len(features))
        own = {
            name: np.flatnonzero(place[at] >= 0) for name, at in columns.items()
        }  # columns of a block that are listed

        def pieces(model: Model, rows: Rows, own: dict[str, np.ndarray], theta: Parameters | None) -> list[np.ndarray]:
            """Log odds by the class prior (…, 1, c), by each feature (…, m, f, c), and altogether (…, m, c)."""
            log_pi = model.classes.log_predictive() if theta is None else theta[CLASS]["log_pi"]
            table = np.zeros((*log_pi.shape[:-1], m, len(features), c))
            for name, block in model.blocks.items():
                at = place[columns[name][own[name]]] if model is posterior else own[name]
                given = None if theta is None else theta[name]
                table[..., at, :] += block.log_contributions(rows[name], own[name], given)
            return [odds(log_pi)[..., None, :], odds(table), odds(model.log_joint(rows, theta))]

        with np.errstate(over="ignore"):
            prior, table, total = pieces(posterior, rows, own, theta)
        size = np.where(listed[:, features], abs(table[..., slice(None) if focus is None else [focus]]).max(-1), -1)
        kept = listed[:, features].sum(1) if n is None else np.minimum(n, (size > 0).sum(1))
        top = np.argsort(-size, axis=1, kind="stable")[:, : kept.max(initial=0)]
        there = np.arange(top.shape[1]) < kept[:, None]

        def entries(prior: np.ndarray, table: np.ndarray, total: np.ndarray) -> np.ndarray:
            """Class prior, the features that are listed, all others, and the log odds, (…, m, k + 3, c)."""
            chosen = table[..., np.arange(m)[:, None], top, :] * there[..., None]
            others = total - prior - chosen.sum(-2)
            first = np.broadcast_to(prior, total.shape)
            return np.concatenate([first[..., None, :], chosen, others[..., None, :], total[..., None, :]], -2)

        small, cells = posterior, rows
        if isinstance(posterior, NaiveBayes) and posterior.blocks.keys() == {"x"}:
            block = posterior.blocks["x"].merged(own["x"])
            if block is not None:  # one column more, for all events that these rows do not have
                x, stack = rows["x"][:, own["x"]], sparse.hstack if is_sparse(rows["x"]) else np.hstack
                small, own = replace(posterior, blocks={"x": block}), {"x": np.arange(len(own["x"]))}
                cells = {"x": stack([x, np.zeros((m, 1))])}
                cells["x"] = cells["x"].tocsr() if is_sparse(cells["x"]) else cells["x"]
        rng, parts = generator(seed), []
        size = m * (len(features) + 3) * c + sum(leaf.size for leaf in leaves(small))  # numbers of a draw
        for some in batches(n_draws, max(1, _CELLS // size)):
            one = small.sample(rng, (some.stop - some.start,))
            parts.append(entries(*pieces(small, cells, own, one)))
        tails = (1 - level) / 2, (1 + level) / 2
        low, high = np.quantile(np.concatenate(parts), tails, axis=0, overwrite_input=True)
        points = entries(prior, table, total)
        scale = 1e-9 * (1 + abs(total) + abs(prior))
        rest = ((abs(points[:, -2]) > scale) | (abs(high - low)[:, -2] > scale)).any(1)
        which = np.hstack([np.full((m, 1), PRIOR), features[top], np.full((m, 1), OTHERS)])
        row, slot = np.nonzero(np.hstack([np.ones((m, 1), bool), there, rest[:, None]]))
        value, least, most = (part[row, slot] for part in (points, low, high))
        return (row + start, which[row, slot], value, least, most, total, low[:, -1], high[:, -1])

    width = sum(np.diff(x.tocsr().indptr).max(initial=0) if is_sparse(x) else x.shape[1] for x in rows.values())
    parts = batches(n_rows, max(1, _KEPT // (n_draws * c * (int(width) + 3))))
    found = [of_some(rows_at(rows, part), part.start) for part in parts]
    return Contributions(*map(np.concatenate, zip(*found, strict=True)))
