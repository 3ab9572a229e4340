"""What each feature of a row adds to the log odds of each class, with credible intervals; what features tell of labels.

    log p(x, y = a)/p(x, y = b) = log p(a)/p(b) + Σ_j [φ_j(a) − φ_j(b)]

φ_j(c) is `log_contributions` of the page of the family. The values are those of the current estimate. Means and
intervals are those of draws of θ from the posterior, so that an interval belongs to its mean.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from scipy import sparse

from ..core.arrays import Bool, Float, Int, Scalar, Tables, is_sparse
from ..core.pytrees import leaves
from ..core.random import generator
from ..naive_bayes import CLASS, NaiveBayes, Parameters, Rows
from ..sums.rows import batches, rows_at
from .intervals import Model, fix_seed

_CELLS = 1 << 22  # numbers of a table worked on at a time
_KEPT = 1 << 24  # numbers kept for the quantiles of some rows
_NEGLIGIBLE = 1e-9  # share of the log odds below which all other features are not listed

Odds: TypeAlias = Callable[[np.ndarray], np.ndarray]  # from log p of all classes to log odds of each

PRIOR, OTHERS = -1, -2  # what stands for the class prior and for all other features among the numbers of the features


@dataclass(frozen=True)
class Contributions:
    """Contributions of rows, one entry after the other: each row has its class prior, its features, all other features.

    Fields
    ------
    row, feature : (t,) of each entry; the feature is PRIOR for the class prior and OTHERS for all that are not listed
    value : (t, c) contribution, in nats
    mean, low, high : (t, c) posterior mean of the contribution, and the ends of its interval
    total, total_mean, total_low, total_high : (n, c) the log odds
    """

    row: Int[np.ndarray, " t"]
    feature: Int[np.ndarray, " t"]
    value: Float[np.ndarray, "t c"]
    mean: Float[np.ndarray, "t c"]
    low: Float[np.ndarray, "t c"]
    high: Float[np.ndarray, "t c"]
    total: Float[np.ndarray, "n c"]
    total_mean: Float[np.ndarray, "n c"]
    total_low: Float[np.ndarray, "n c"]
    total_high: Float[np.ndarray, "n c"]


def odds_against(c: int, against: int | None) -> Odds:
    """A function from log p of c classes, (…, c), to the log odds of each, (…, c).

    Parameters
    ----------
    against : class whose log p is subtracted; None for the geometric mean of all classes but the one itself
    """

    def odds(table: np.ndarray) -> np.ndarray:
        if against is not None:
            return table - table[..., [against]]

        # log p of a class minus the mean over the c − 1 others is c / (c − 1) times that minus the mean over all c
        return (table - table.mean(-1, keepdims=True)) * (c / max(c - 1, 1))

    return odds


def contributions(
    posterior: Model,
    rows: Rows,
    columns: dict[str, np.ndarray],
    theta: Parameters | None,
    d: int,
    odds: Odds,
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
    d : number of features
    odds : from `odds_against`
    n : features listed of each row, those of the largest contribution to any class; None lists all
    focus : class whose contributions say which are largest; None takes any
    level, n_draws, seed : posterior mass inside the intervals; draws of the parameters behind them, and their seed
    """
    tails = (1 - level) / 2, (1 + level) / 2
    request = _Request(
        columns=columns,
        theta=theta,
        d=d,
        odds=odds,
        n=n,
        focus=focus,
        tails=tails,
        n_draws=n_draws,
        seed=fix_seed(seed),  # a number, so that every chunk of rows sees the same draws
    )

    # so many rows at a time that all their draws fit: a number for each class, and feature, prior, others and total
    c = len(posterior.classes.log_predictive())
    numbers_per_row = n_draws * c * (_most_features(rows) + 3)
    chunks = []
    for part in batches(_n_rows(rows), max(1, _KEPT // numbers_per_row)):
        chunk = _of_chunk(posterior, rows_at(rows, part), request)
        chunks.append(replace(chunk, row=chunk.row + part.start))
    return _concatenate(chunks)


class _Request(NamedTuple):
    """What `contributions` was asked for, with the names of its arguments.

    Fields
    ------
    tails : probabilities of the two ends of an interval
    seed : the number that the draws of each chunk of rows start from
    """

    columns: dict[str, np.ndarray]
    theta: Parameters | None
    d: int
    odds: Odds
    n: int | None
    focus: int | None
    tails: tuple[float, float]
    n_draws: int
    seed: int


def _n_rows(rows: Rows) -> int:
    return next(iter(rows.values())).shape[0]


def _most_features(rows: Rows) -> int:
    """Features listed of a row, at most: all columns of a dense block, the stored cells of a sparse one."""
    most = 0
    for x in rows.values():
        if is_sparse(x):
            stored_cells = np.diff(x.tocsr().indptr)  # of each row
            most += int(stored_cells.max(initial=0))
        else:
            most += x.shape[1]
    return most


def _concatenate(chunks: list[Contributions]) -> Contributions:
    """The contributions of all chunks of rows, one after the other, field by field."""
    columns = {}
    for field in fields(Contributions):
        columns[field.name] = np.concatenate([getattr(chunk, field.name) for chunk in chunks])
    return Contributions(**columns)


def _of_chunk(posterior: Model, rows: Rows, request: _Request) -> Contributions:
    """`contributions` of so few rows that all their draws are kept: m rows, f features, of which k are listed."""
    cells = _listed_cells(rows, request.columns, request.d)
    view = _View(model=posterior, rows=rows, columns=cells.columns, places=cells.places, n_features=len(cells.features))

    # log odds at the current estimate, by which the features to list are chosen; they may be infinite
    with np.errstate(over="ignore"):
        point = _log_odds(view, request.theta, request.odds)
    shown = _largest_features(point.by_feature, cells.is_listed, request)

    # values (m, k + 3, c) of prior, listed features, all others and the total; and their spread over the posterior
    value = _assemble(point, shown)
    spread = _over_posterior(_with_fewer_parameters(view), shown, request)
    return _entries(value, spread, point, shown, cells.features)


# --- which features are listed ----------------------------------------------------------------------------------------


class _ListedCells(NamedTuple):
    """The cells of m rows that are there, and the f features that at least one of the rows has.

    Fields
    ------
    features : (f,) numbers of these features, in ascending order
    is_listed : (m, f) whether a row has the feature
    columns : by block, its columns that are among the features
    places : by block, the place of each of these columns among the features
    """

    features: Int[np.ndarray, " f"]
    is_listed: Bool[np.ndarray, "m f"]
    columns: dict[str, np.ndarray]
    places: dict[str, np.ndarray]


def _listed_cells(rows: Rows, columns: dict[str, np.ndarray], d: int) -> _ListedCells:
    """All cells of dense rows, and the stored cells of sparse ones.

    Parameters
    ----------
    rows : m rows, by block
    columns : by block, the number of the feature, 0 … d − 1, of each of its columns
    """
    is_listed = np.zeros((_n_rows(rows), d), bool)
    for name, x in rows.items():
        is_listed[:, columns[name]] |= (x != 0).toarray() if is_sparse(x) else True

    # the place of a feature among those that a row has is the number of such features before it
    is_used = np.any(is_listed, axis=0)  # (d,)
    place_of_feature = np.cumsum(is_used) - 1
    used_columns = {name: np.flatnonzero(is_used[features]) for name, features in columns.items()}
    places = {name: place_of_feature[columns[name][used]] for name, used in used_columns.items()}
    return _ListedCells(
        features=np.flatnonzero(is_used), is_listed=is_listed[:, is_used], columns=used_columns, places=places
    )


class _Shown(NamedTuple):
    """The features that are listed of each of m rows, the largest first; k are the most that a row has.

    Fields
    ------
    place : (m, k) place among the features
    is_shown : (m, k) False where a row has fewer than k
    """

    place: Int[np.ndarray, "m k"]
    is_shown: Bool[np.ndarray, "m k"]


def _largest_features(by_feature: np.ndarray, is_listed: Bool[np.ndarray, "m f"], request: _Request) -> _Shown:
    """The features that are listed of each row, by the size of their contribution to the class in focus, or to any.

    Parameters
    ----------
    by_feature : (m, f, c) contributions of f features to the log odds of c classes
    is_listed : (m, f) whether a row has the feature
    request : with the number of features wanted, `n`, and the class in `focus`
    """
    in_focus = by_feature if request.focus is None else by_feature[..., [request.focus]]
    size = np.where(is_listed, abs(in_focus).max(-1), -1)  # (m, f); features that a row lacks come last

    # how many of each row are shown, (m,): all that it has, or up to n that contribute anything
    n_shown = is_listed.sum(1) if request.n is None else np.minimum(request.n, (size > 0).sum(1))
    place = np.argsort(-size, axis=1, kind="stable")[:, : n_shown.max(initial=0)]  # (m, k)
    is_shown = np.arange(place.shape[1]) < n_shown[:, None]
    return _Shown(place, is_shown)


# --- log odds and their draws -----------------------------------------------------------------------------------------


class _LogOdds(NamedTuple):
    """Log odds of m rows for c classes and what they are made of; leading axes are draws of the parameters.

    Fields
    ------
    prior : (…, 1, c) of the class prior, the same for all rows
    by_feature : (…, m, f, c) contribution of each of f features
    total : (…, m, c) log odds
    """

    prior: Tables
    by_feature: Float[np.ndarray, "*s m f c"]
    total: Tables


class _View(NamedTuple):
    """A model, rows as it takes them, and the columns whose contributions are listed.

    Fields
    ------
    model, rows : the model, and the rows by block
    columns : by block, the columns that are listed
    places : by block, the place of each of these columns among the features
    n_features : number of features that are listed
    """

    model: Model
    rows: Rows
    columns: dict[str, np.ndarray]
    places: dict[str, np.ndarray]
    n_features: int


def _log_odds(view: _View, theta: Parameters | None, odds: Odds) -> _LogOdds:
    """Log odds of each row, with parameters integrated out or given.

    Log odds are linear in log p of the classes, so they may be taken of each term of log p(x, y = c) by itself.

    Parameters
    ----------
    theta : parameters by block, with leading axes of draws; None integrates them out
    odds : from log p of all classes to log odds of each
    """
    model = view.model
    rows = view.rows
    log_pi = model.classes.log_predictive() if theta is None else theta[CLASS]["log_pi"]  # (…, c)
    *draws, c = log_pi.shape

    # a feature may be in several blocks, whose contributions are added
    by_feature = np.zeros((*draws, _n_rows(rows), view.n_features, c))
    for name, block in model.blocks.items():
        block_theta = None if theta is None else theta[name]
        by_feature[..., view.places[name], :] += block.log_contributions(rows[name], view.columns[name], block_theta)

    return _LogOdds(
        prior=odds(log_pi)[..., None, :],  # with an axis of rows
        by_feature=odds(by_feature),
        total=odds(model.log_joint(rows, theta)),
    )


def _assemble(point: _LogOdds, shown: _Shown) -> Float[np.ndarray, "*s m slots c"]:
    """What is said of each row, (…, m, k + 3, c): class prior, the k features listed, all others, and the log odds.

    The slot of a feature that a row does not list is 0. All others are what remains of the log odds.
    """
    row = np.arange(len(shown.place))[:, None]
    listed = point.by_feature[..., row, shown.place, :] * shown.is_shown[..., None]  # (…, m, k, c)
    others = point.total - point.prior - listed.sum(-2)  # (…, m, c)
    prior = np.broadcast_to(point.prior, point.total.shape)
    return np.concatenate([prior[..., None, :], listed, others[..., None, :], point.total[..., None, :]], -2)


class _OverPosterior(NamedTuple):
    """Mean and ends of the interval of what `_assemble` gives, over the same draws of the parameters.

    All are (m, k + 3, c): rows, slots (prior, k features, others, log odds) and classes.
    """

    mean: Float[np.ndarray, "m slots c"]
    low: Float[np.ndarray, "m slots c"]
    high: Float[np.ndarray, "m slots c"]


def _over_posterior(view: _View, shown: _Shown, request: _Request) -> _OverPosterior:
    """Mean and quantiles, over draws of the parameters, of the contributions that are listed.

    Draws are made a batch at a time, because the contributions of all features of a batch need much memory. What is
    listed of them is kept.
    """
    # so many draws at a time that parameters, and contributions of all features, fit
    rng = generator(request.seed)
    c = len(view.model.classes.log_predictive())
    numbers_of_table = _n_rows(view.rows) * (view.n_features + 3) * c
    numbers_of_parameters = sum(leaf.size for leaf in leaves(view.model))
    draws = []
    for part in batches(request.n_draws, max(1, _CELLS // (numbers_of_table + numbers_of_parameters))):
        theta = view.model.sample(rng, (part.stop - part.start,))
        draws.append(_assemble(_log_odds(view, theta, request.odds), shown))
    all_draws = np.concatenate(draws)  # (draws, m, k + 3, c)
    mean = all_draws.mean(0)
    low, high = np.quantile(all_draws, request.tails, axis=0, overwrite_input=True)
    return _OverPosterior(mean, low, high)


def _with_fewer_parameters(view: _View) -> _View:
    """The same contributions by a model with fewer parameters to draw, if there is one.

    Counts that share a row, such as words, have a Dirichlet density. Its kinds may be merged by adding their
    concentrations. So only the columns that these rows have are needed, and one for all other events, of which these
    rows have none.
    """
    if not isinstance(view.model, NaiveBayes) or view.model.blocks.keys() != {"x"}:
        return view
    listed = view.columns["x"]
    block = view.model.blocks["x"].lump_other_columns(listed)
    if block is None:  # the family cannot merge columns
        return view
    return view._replace(
        model=replace(view.model, blocks={"x": block}),
        rows={"x": _with_empty_column(view.rows["x"][:, listed])},
        columns={"x": np.arange(len(listed))},
    )


def _with_empty_column(x: Any) -> Any:
    """Dense or sparse rows with one more column, of zeros."""
    empty = np.zeros((x.shape[0], 1))
    return sparse.hstack([x, empty]).tocsr() if is_sparse(x) else np.hstack([x, empty])


# --- the table of entries ---------------------------------------------------------------------------------------------


def _entries(
    value: Float[np.ndarray, "m slots c"],
    spread: _OverPosterior,
    point: _LogOdds,
    shown: _Shown,
    features: Int[np.ndarray, " f"],
) -> Contributions:
    """What is listed, entry after entry: all other features only where they have a share in the log odds.

    Parameters
    ----------
    value, spread : (m, k + 3, c) of m rows: prior, k features, all others, log odds; and their posterior
    point : the log odds at the current estimate
    shown : which features are in the k slots of each row
    features : (f,) number of each feature
    """
    m = len(value)

    # all others have an entry if their contribution, or its interval, exceeds rounding in any class
    negligible = _NEGLIGIBLE * (1 + abs(point.total) + abs(point.prior))  # (m, c)
    is_large = abs(value[:, -2]) > negligible
    is_wide = abs(spread.high - spread.low)[:, -2] > negligible
    has_others = (is_large | is_wide).any(1, keepdims=True)

    # the feature of each slot but the last, (m, k + 2), and which of these slots are entries
    has_prior = np.ones((m, 1), bool)
    feature = np.hstack([np.full((m, 1), PRIOR), features[shown.place], np.full((m, 1), OTHERS)])
    row, slot = np.nonzero(np.hstack([has_prior, shown.is_shown, has_others]))
    return Contributions(
        row=row,
        feature=feature[row, slot],
        value=value[row, slot],
        mean=spread.mean[row, slot],
        low=spread.low[row, slot],
        high=spread.high[row, slot],
        total=point.total,
        total_mean=spread.mean[:, -1],
        total_low=spread.low[:, -1],
        total_high=spread.high[:, -1],
    )
