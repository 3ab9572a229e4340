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

from ..models.base import AbstractModel
from ..models.naive_bayes import CLASS, NaiveBayes, Parameters, Rows
from ..numerics.arrays import Bool, Float, Int, Scalar, Tables, is_sparse
from ..numerics.pytrees import leaves
from ..numerics.random import generator
from ..sums.rows import batches, rows_at
from .intervals import fix_seed

_CELLS = 1 << 22  # numbers of a table worked on at a time
_KEPT = 1 << 24  # numbers kept for the quantiles of some rows
_NEGLIGIBLE = 1e-9  # share of the log odds below which all other features are not listed

Odds: TypeAlias = Callable[[np.ndarray], np.ndarray]  # from log p of all classes to log odds of each

# what stands for the class prior and for all other features among the numbers of the features; in discriminative models
# also for pairs of features, and for what averaging adds
PRIOR, OTHERS, PAIRS, AVERAGING = -1, -2, -3, -4

# what is said of a row is an array of k + 3 slots: class prior, k features that are listed, all others, the log odds
_OTHERS_SLOT, _TOTAL_SLOT = -2, -1
_MORE_SLOTS = 3  # besides the features


@dataclass(frozen=True)
class Contributions:
    """Contributions of rows, one entry after the other: each row has its class prior, its features, all other features.

    Fields
    ------
    row, feature : (t,) of each entry; the feature is PRIOR for the class prior, OTHERS for all that are not listed, and
        PAIRS and AVERAGING in discriminative models
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
    c : number of classes
    against : class whose log p is subtracted; None for the geometric mean of all classes but the one itself, which is
        the mean of their log p
    """

    def odds(table: np.ndarray) -> np.ndarray:
        """Log odds (…, c) from log p of c classes, (…, c)."""
        if against is not None:
            return table - table[..., [against]]

        # with m the mean over all c classes, the mean over the c − 1 others is (c m − log p) / (c − 1). So log p minus
        # that is c / (c − 1) times log p − m. A single class has no others, and the log odds 0
        return (table - table.mean(-1, keepdims=True)) * (c / max(c - 1, 1))

    return odds


def contributions(
    posterior: AbstractModel,
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
    """What each feature adds to the log odds of each class, for all rows, with intervals over the posterior.

    In naive Bayes the log odds of a row are a sum: one term of the class prior, and one contribution of each feature.
    Rows are worked on in chunks (`_of_chunk`), whose results are then joined.

    Parameters
    ----------
    posterior : the fitted model
    rows : by block; for sparse rows only the stored cells are listed
    columns : by block, the number of the feature, 0 … d − 1, of each of its columns
    theta : parameters plugged in; None integrates them out
    d : number of features
    odds : from log p of all classes to the log odds of each, a function made by `odds_against`
    n : features listed of each row, those of the largest contribution to any class; None lists all
    focus : class whose contributions say which are largest; None takes any
    level, n_draws, seed : posterior mass inside the intervals; draws of the parameters behind them, and their seed
    """
    tails = (1 - level) / 2, (1 + level) / 2  # probabilities of the two ends
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

    # quantiles need all draws of a row at once: a number for each draw, class and slot. The slots of a row are the
    # class prior, its features, all other features together, and the total. So many rows are done at a time that their
    # draws fit into memory
    c = len(posterior.classes.log_predictive())
    numbers_per_row = n_draws * c * (_most_features(rows) + _MORE_SLOTS)
    rows_at_a_time = max(1, _KEPT // numbers_per_row)
    chunks = []
    for part in batches(_n_rows(rows), rows_at_a_time):  # slices
        chunk = _of_chunk(posterior, rows_at(rows, part), request)
        chunks.append(replace(chunk, row=chunk.row + part.start))  # positions among all rows, not within the chunk
    return _concatenate(chunks)


class _Request(NamedTuple):
    """What `contributions` was asked for; fields that are not described here are its arguments of the same name.

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
    """Number of rows, which is the same in all blocks."""
    return next(iter(rows.values())).shape[0]


def _most_features(rows: Rows) -> int:
    """Features listed of a row, at most: all columns of a dense block, the stored cells of a sparse one.

    Parameters
    ----------
    rows : (n, d) cells of each block, the columns of one family; dense or sparse
    """
    most = 0
    for x in rows.values():
        if is_sparse(x):
            # in the CSR format the cells of row i stand from indptr[i] to indptr[i + 1]: rows with 2, 0 and 3 stored
            # cells have the indptr 0 2 2 5
            stored_cells = np.diff(x.tocsr().indptr)  # number of each row, (n,)
            most += int(stored_cells.max(initial=0))
        else:
            most += x.shape[1]
    return most


def _concatenate(chunks: list[Contributions]) -> Contributions:
    """The contributions of all chunks of rows, one after the other, field by field."""
    joined = {}
    for field in fields(Contributions):
        joined[field.name] = np.concatenate([getattr(chunk, field.name) for chunk in chunks])
    return Contributions(**joined)


def _of_chunk(posterior: AbstractModel, rows: Rows, request: _Request) -> Contributions:
    """`contributions` of so few rows that all their draws are kept: m rows, f features, of which k are listed.

    Positions of rows are those within the chunk.

    Parameters
    ----------
    posterior, rows : the fitted model, and m rows by block (a block has the columns of one family)
    request : the arguments of `contributions`
    """
    cells = _listed_cells(rows, request.columns, request.d)  # the f features that at least one of the rows has
    view = _View(model=posterior, rows=rows, columns=cells.columns, places=cells.places, n_features=len(cells.features))

    # log odds at the current estimate and the contribution of every feature, (m, f, c), by which the k features to list
    # are chosen; they may be infinite
    with np.errstate(over="ignore"):
        point = _log_odds(view, request.theta, request.odds)
    shown = _largest_features(point.by_feature, cells.is_listed, request)

    # a value for each slot and class, (m, k + 3, c), and its mean and interval over the posterior. The slots of a row
    # are the class prior, the k features listed, all others together, and the log odds
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
    d : number of features
    """
    is_listed = np.zeros((_n_rows(rows), d), bool)
    for name, x in rows.items():
        is_there = (x != 0).toarray() if is_sparse(x) else True
        is_listed[:, columns[name]] |= is_there  # "or", as several blocks may have columns of the same feature

    # Features that no row has are dropped, and the others numbered anew: the place of a feature is the number of used
    # features before it. Of features 0 … 3, if 1 and 3 are used, 1 gets the place 0, and 3 the place 1
    is_used = np.any(is_listed, axis=0)  # (d,)
    place_of_feature = np.cumsum(is_used) - 1  # (d,), right where a feature is used; in the example −1 0 0 1

    # of each block: which of its columns are used, and the places of these. In the example a block with the features
    # 3 and 2 uses its column 0, which has the place 1
    used_columns = {}
    places = {}
    for name, features in columns.items():
        used_columns[name] = np.flatnonzero(is_used[features])
        places[name] = place_of_feature[features[used_columns[name]]]
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

    # how many of each row are shown, (m,): all that it has, or up to n of those that contribute anything
    n_shown = is_listed.sum(1) if request.n is None else np.minimum(request.n, (size > 0).sum(1))
    k = n_shown.max(initial=0)

    # the k largest of each row, and which of them it shows: the first n_shown. Contributions 1, −4, 2 have the places
    # 1 2 0; with n_shown = 2 the row shows the first two, True True False
    place = np.argsort(-size, axis=1, kind="stable")[:, :k]  # (m, k)
    is_shown = np.arange(place.shape[1]) < n_shown[:, None]  # (m, k)
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

    model: AbstractModel
    rows: Rows
    columns: dict[str, np.ndarray]
    places: dict[str, np.ndarray]
    n_features: int


def _log_odds(view: _View, theta: Parameters | None, odds: Odds) -> _LogOdds:
    """Log odds of each row, with parameters integrated out or given.

    Log odds are linear in log p of the classes, so they may be taken of each term of log p(x, y = c) by itself.

    Parameters
    ----------
    view : a model, rows, and of each block the columns that are listed, with their places among the features
    theta : parameters by block, with leading axes of draws; None integrates them out
    odds : from log p of all classes to log odds of each
    """
    model = view.model
    rows = view.rows
    log_pi = model.classes.log_predictive() if theta is None else theta[CLASS]["log_pi"]  # (…, c)
    *draws, c = log_pi.shape  # `draws` are the lengths of the axes of draws, none if parameters are integrated out

    # terms of log p(x | y = c), (…, m, f, c). `columns` are the columns of a block that are listed, and `places` say
    # which of the f features each of them is. A feature may be in several blocks, whose terms are added
    by_feature = np.zeros((*draws, _n_rows(rows), view.n_features, c))
    for name, terms in model.log_contributions(rows, view.columns, theta):  # (…, m, columns, c)
        by_feature[..., view.places[name], :] += terms

    return _LogOdds(
        prior=odds(log_pi)[..., None, :],  # with an axis of rows
        by_feature=odds(by_feature),
        total=odds(model.log_joint(rows, theta)),
    )


def _assemble(point: _LogOdds, shown: _Shown) -> Float[np.ndarray, "*s m slots c"]:
    """The terms of the log odds of each row, (…, m, k + 3, c): class prior, k listed features, all others, and total.

    These are k + 3 slots, which lie side by side. For k = 2 and one class:

        prior   feature   feature   others   log odds
         0.5      2.0       0.0      −0.3      2.2

    The row of the example lists one feature only, so that the slot of the second is 0. "Others" is what remains of the
    log odds after the class prior and the listed features.

    Parameters
    ----------
    point : the log odds and their terms
    shown : which k features each row lists
    """
    # of each row i its own k features, place[i]: entry (i, j) is by_feature[i, place[i, j]]
    row = np.arange(len(shown.place))[:, None]  # (m, 1), goes with the places (m, k)
    listed = point.by_feature[..., row, shown.place, :] * shown.is_shown[..., None]  # (…, m, k, c)

    total = point.total  # (…, m, c)
    others = total - point.prior - listed.sum(-2)  # (…, m, c)
    prior = np.broadcast_to(point.prior, total.shape)  # (…, m, c)

    # the slots are the last axis but one: a term (…, m, c) gets it, with length 1
    slots = [prior[..., None, :], listed, others[..., None, :], total[..., None, :]]
    return np.concatenate(slots, axis=-2)


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

    Parameters
    ----------
    view : a model, rows, and of each block the columns that are listed, with their places among the features
    shown : which k features each row lists
    request : with the number of draws, their seed, and the probabilities of the ends of the intervals
    """
    # so many draws at a time that parameters, and contributions of all features, fit into memory
    rng = generator(request.seed)
    c = len(view.model.classes.log_predictive())
    numbers_of_table = _n_rows(view.rows) * (view.n_features + _MORE_SLOTS) * c
    numbers_of_parameters = sum(leaf.size for leaf in leaves(view.model))
    draws_at_a_time = max(1, _CELLS // (numbers_of_table + numbers_of_parameters))

    draws = []
    for part in batches(request.n_draws, draws_at_a_time):  # slices of the draws
        theta = view.model.sample(rng, (part.stop - part.start,))  # parameters by block, an axis of draws in front
        log_odds = _log_odds(view, theta, request.odds)  # of every feature, (draws of the batch, m, f, c)
        draws.append(_assemble(log_odds, shown))  # (draws of the batch, m, k + 3, c)

    all_draws = np.concatenate(draws)  # (draws, m, k + 3, c)
    mean = all_draws.mean(0)
    low, high = np.quantile(all_draws, request.tails, axis=0, overwrite_input=True)
    return _OverPosterior(mean, low, high)


def _with_fewer_parameters(view: _View) -> _View:
    """The same rows under a model with fewer parameters, whose draws cost less; the view itself if there is none.

    Probabilities of words have a Dirichlet density, and merged words have one too, with the sum of their α (aggregation
    property). Words that none of these rows has may therefore be merged to a single one, with the count 0. Of the
    words a, b, c, d, if the rows have only a and c, Dirichlet(α_a, α_b, α_c, α_d) becomes Dirichlet(α_a, α_c,
    α_b + α_d), and the rows (x_a, 0, x_c, 0) become (x_a, x_c, 0). The contributions of a and c have the same
    distribution as before.

    Parameters
    ----------
    view : a model, rows, and the columns whose contributions are listed
    """
    if not isinstance(view.model, NaiveBayes) or view.model.blocks.keys() != {"x"}:
        return view  # only models of one block are worth it
    listed = view.columns["x"]
    # the posterior of the listed columns and, as the last column, of all others merged to one; None if the family
    # cannot merge columns
    block = view.model.blocks["x"].lump_other_columns(listed)
    if block is None:
        return view

    # the rows get a column of zeros for the merged one. It is no feature, so that `columns` do not have it: they are
    # the positions 0 … of the listed columns in the new block
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
    """A table of slots turned to a list of entries: one entry for each slot that a row shows.

    The k + 3 slots of a row are the class prior, k features, all other features together, and the log odds. For k = 2:

        slot     0       1           2           3        4
        holds    prior   feature 7   feature 4   others   log odds

    The class prior is always an entry. A feature is one if the row lists it: a row with one feature leaves slot 2
    empty. All others are one if they have a share in the log odds. The log odds are no entry, but have fields of their
    own (`total`).

    Parameters
    ----------
    value, spread : (m, k + 3, c) contributions of the slots of m rows; and their posterior means and intervals
    point : the log odds at the current estimate
    shown : which features are in the k slots of each row
    features : (f,) number of each feature
    """
    m = len(value)

    # all others have an entry if their contribution, or its interval, exceeds rounding in any class
    negligible = _NEGLIGIBLE * (1 + abs(point.total) + abs(point.prior))  # (m, c)
    is_large = abs(value[:, _OTHERS_SLOT]) > negligible
    is_wide = abs(spread.high - spread.low)[:, _OTHERS_SLOT] > negligible
    has_others = (is_large | is_wide).any(1, keepdims=True)  # (m, 1)

    # what stands in each slot but that of the log odds: the number of a feature, PRIOR or OTHERS, (m, k + 2); in the
    # example −1 7 4 −2
    feature = np.hstack([np.full((m, 1), PRIOR), features[shown.place], np.full((m, 1), OTHERS)])

    # which of these slots are entries, (m, k + 2). `nonzero` gives their positions row after row, in the order of the
    # slots; row 0 with entries in the slots 0, 1 and 3 gives row 0 0 0 and slot 0 1 3
    has_prior = np.ones((m, 1), bool)
    is_entry = np.hstack([has_prior, shown.is_shown, has_others])
    row, slot = np.nonzero(is_entry)  # (t,) both
    return Contributions(
        row=row,
        feature=feature[row, slot],
        value=value[row, slot],
        mean=spread.mean[row, slot],
        low=spread.low[row, slot],
        high=spread.high[row, slot],
        total=point.total,
        total_mean=spread.mean[:, _TOTAL_SLOT],
        total_low=spread.low[:, _TOTAL_SLOT],
        total_high=spread.high[:, _TOTAL_SLOT],
    )
