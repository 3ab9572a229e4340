"""Rows, each with a model that does not know it: what every leave-one-out is made of.

Statistics subtract, so a posterior without some rows is an update with the statistics of all others.

    a single row leaves, and the prior stays     the gain of its negative statistics gives the predictions of all rows
    or is known without it                       at once, at the price of a few tables of predictions
    otherwise                                    one model for each group of rows: some milliseconds a group

A difference has the rounding of what was subtracted. A row of weight 1e8 that leaves a row of weight 0.01 would take
eight digits along. So a row leaves by its gain only if the prior alone keeps nine digits beside it. Otherwise the
rounding of the difference is bounded, as `forget` does. Where fewer than nine digits of the posterior are certain, the
remaining rows are summed again.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ..models.naive_bayes import Rows, Statistics
from ..numerics.arrays import Float, Int, Sparse, is_sparse
from ..numerics.supports import AMOUNT, COUNT, DEGREES, POSITIVE_DEFINITE, improper
from ..numerics.weights import RowWeights
from ..sums.rows import rows_at
from ..sums.statistics import one_hot
from .remaining import Remaining, find_doubt, is_certain

_SMALLEST_COUNT_SHARE = 1e-7  # a smaller pseudo-count, as a share of the weight that leaves, loses the ninth digit
_MATRIX_LOSS = 100.0  # by which a matrix of squares loses more digits than a count
_SMALLEST_AMOUNT_SHARE = 1e-9  # a smaller prior amount, as a share of the posterior's, is lost beside an outlier


@dataclass(frozen=True)
class FittedRows:
    """Encoded rows that an estimator was fitted to.

    Fields
    ------
    rows : cells by block
    label : (n,) class index
    weights : weights of the fit
    group : (n,) group that the row leaves with, 0 … g − 1; None if each row, or each unit of it, leaves alone
    """

    rows: Rows
    label: Int[np.ndarray, " n"]
    weights: RowWeights
    group: Int[np.ndarray, " n"] | None = None

    @property
    def leaving(self) -> Float[np.ndarray, " n"]:
        """(n,) The weight that leaves with each row: that of one unit, if weights count rows and no groups leave."""
        return self.weights.leaving if self.group is None else self.weights.values


@dataclass(frozen=True)
class Fold:
    """Rows that one model predicts.

    Fields
    ------
    rows : slice, or positions, of the m rows
    model : the posterior that predicts them
    leaving : (m, c) sparse weights with which the rows are in `model`, in their classes, each of which leaves for its
        own prediction; None where they have left already
    """

    rows: slice | np.ndarray
    model: Any
    leaving: Sparse | None

    def log_parts(self, rows: Rows, parts: list[Any], scores: bool = False) -> Float[np.ndarray, "p m c"]:
        """The predictions of the rows of this fold, by class, from the data without them (each row for itself).

        There are two kinds of folds. If `leaving` is a table of weights, the model was fitted to all rows, these
        included, and each row is subtracted from it for its own prediction. If `leaving` is None, the model was already
        fitted without all rows of this fold, a group that is left out together, and predicts them as new rows.

        Parameters
        ----------
        rows : all rows by block (the columns of one family), of which `self.rows` are positions
        parts : for each part of a row (a set of columns, such as a part of MixedNB) the names of its blocks, whose log
            densities are added
        scores : True may leave out terms of a row that are the same in all classes

        Returns
        -------
        tables (m, c) in nats, one after the other: first log p(y = c | D₋ᵢ), then log p(x_i,part | y = c, D₋ᵢ) of each
        part
        """
        fold_rows = rows_at(rows, self.rows)

        # the model still has the rows: each leaves for its own prediction
        if self.leaving is not None:
            return self.model.log_loo_parts(fold_rows, self.leaving, parts, scores=scores)

        # the rows have left the model: its plain predictions are those of leave-one-out, and its class probabilities,
        # (c,), are the same for all of them
        tables = self.model.log_parts(fold_rows, parts)  # (number of parts, m, c)
        log_prior = np.broadcast_to(self.model.classes.log_predictive(), (1, *tables.shape[1:]))  # (1, m, c)
        return np.concatenate([log_prior, tables])


def folds(fitted: Any, data: FittedRows, prior: str) -> Iterator[Fold]:
    """The rows divided into folds, each with the model that gives the leave-one-out predictions of its rows.

    There are two kinds of folds, and every row is in one:

    1. One fold of all rows that can be subtracted from the posterior of all rows without losing digits. It is quick:
       they share this posterior as their model, and each row leaves it only while it is predicted. A row must leave
       alone for it, and its weight must be small beside what the prior adds.
    2. A fold for each other row, or group of rows that leave together, with a model that was made without them.

    Parameters
    ----------
    fitted : view (`ModelView`) of an estimator that was fitted to the rows, and perhaps to others
    data : the n rows
    prior : "kept" or "refit", as in `loo`

    Raises
    ------
    ValueError
        where an improper prior and all other rows do not make the posterior a density; where fewer than nine digits
        would remain and `data` are not all rows of the fit
    """
    # (n, c) sparse: the weight that leaves with row i, in the column of its class, and 0 elsewhere
    leaving = one_hot(data.label, len(fitted.classes), data.leaving)

    # 1. the rows that are subtracted from the posterior of all rows
    is_subtracted = _can_be_subtracted(fitted, data, prior)  # (n,) booleans
    if is_subtracted.all():
        yield Fold(rows=slice(None), model=fitted.posterior_without_rows(prior), leaving=leaving)
        return
    if is_subtracted.any():
        positions = np.flatnonzero(is_subtracted)
        yield Fold(rows=positions, model=fitted.posterior_without_rows(prior), leaving=leaving[positions])

    # 2. all others, group by group; without groups each row is a group
    group = np.arange(len(data.label)) if data.group is None else data.group
    removal = Removal(fitted, data, prior, leaving)
    for members in members_by_group(group, np.flatnonzero(~is_subtracted)):  # positions of the rows of a group
        model_without_them = removal.remainder(members).model
        yield Fold(rows=members, model=model_without_them, leaving=None)


class Remainder(NamedTuple):
    """What is known without a group of rows.

    Fields
    ------
    members : (m,) positions of the rows that have left
    statistics : those of all other rows, and of the units that remain of the members
    model : the posterior after these statistics
    """

    members: Int[np.ndarray, " m"]
    statistics: Statistics
    model: Any


def remainders(fitted: Any, data: FittedRows, prior: str) -> Iterator[Remainder]:
    """The model without each group of rows in turn, or without each row where there are no groups.

    Groups without weight have none, because nothing leaves with them. Arguments and errors are those of `folds`.
    """
    leaving = one_hot(data.label, len(fitted.classes), data.leaving)  # (n, c) sparse
    group = np.arange(len(data.label)) if data.group is None else data.group
    removal = Removal(fitted, data, prior, leaving)
    for members in members_by_group(group, np.flatnonzero(data.leaving > 0)):  # positions of rows that leave together
        yield removal.remainder(members)


def members_by_group(group: Int[np.ndarray, " n"], positions: Int[np.ndarray, " m"]) -> list[np.ndarray]:
    """Some of the rows, by group: an array of positions, in ascending order, for each group that has any.

    Parameters
    ----------
    group : (n,) group of every row, 0 … g − 1
    positions : (m,) ascending positions of the rows that are divided
    """
    # rows of a group stand next to each other after a sort, and a group starts where the number changes: the groups
    # 1 0 1 of the positions 4 5 6 give the order 5 4 6, in which group 1 starts at place 1
    ordered = positions[np.argsort(group[positions], kind="stable")]
    starts = np.flatnonzero(np.diff(group[ordered])) + 1
    return np.split(ordered, starts)


# --- single rows, by the gain of their negative statistics ------------------------------------------------------------


def _can_be_subtracted(fitted: Any, data: FittedRows, prior: str) -> np.ndarray:
    """Which rows may leave by subtracting them from the posterior of all rows, without a model of their own, (n,).

    Such a row has to leave alone, not with a group; the prior must not depend on it; and nine digits must remain.

    The last condition in numbers: a posterior count is a sum of weights plus a pseudo-count a of the prior. When the
    weight w of a row leaves, at least a remains, with a rounding of some 1e-16 w. Nine digits remain if 1e-16 w / a is
    at most 1e-9, which is w ≤ a / 1e-7.

    Parameters
    ----------
    fitted, data, prior : as in `folds`
    """
    # conditions that no row fulfils, or all do
    n = len(data.label)
    no_row = np.zeros(n, bool)
    if fitted.prior.is_improper:  # it may have a = 0
        return no_row
    if fitted.posterior_without_rows(prior) is None:  # only a fit takes a row out of the scale of the prior
        return no_row
    if _has_lost_amounts(fitted):  # a prior's sum of squares is lost beside that of an outlier
        return no_row

    # without groups all rows are alone, otherwise those whose group has one member: groups 0 1 0 have the sizes 2 1,
    # and by row 2 1 2, so that only the second is alone
    is_alone = np.ones(n, bool) if data.group is None else np.bincount(data.group)[data.group] == 1

    # A cell that counts events, such as 3 occurrences of a word, takes its weight times 3 out of a sum. The most that
    # any row takes is quick to find: if it is small enough, as it mostly is, all rows are
    max_weight = _smallest_count(fitted) / _SMALLEST_COUNT_SHARE  # a / 1e-7
    bound_of_all_rows = data.leaving.max(initial=0.0) * _largest_event(fitted, data.rows)
    if bound_of_all_rows <= max_weight:
        return is_alone

    # otherwise row by row
    weight_of_rows = data.leaving * _events_of_rows(fitted, data.rows, n)  # (n,)
    return is_alone & (weight_of_rows <= max_weight)


def _smallest_count(fitted: Any) -> float:
    """The smallest pseudo-count of the prior: what remains of a count, at least, when a row has left.

    Each family declares the kind of each of its fields; those of the kind COUNT are pseudo-counts.
    """
    counts = []  # the smallest one of each field
    for field in fitted.prior.hyperparameters():
        support = field.declared.support if field.declared else None
        if support is COUNT:
            counts.append(field.value.min(initial=np.inf))

        # degrees of freedom of a (d, d) matrix are a pseudo-count above their limit d − 1. A matrix of squares loses
        # more digits than a count, so that they have to be a hundred times as large
        if support is DEGREES:
            above_limit = field.value.min() - field.n_columns + 1
            counts.append(above_limit / _MATRIX_LOSS)
    return float(min(counts, default=np.inf))


def _has_lost_amounts(fitted: Any) -> bool:
    """Whether an amount of the prior is so small a share of the posterior's that an outlier's rounding hides it.

    Amounts are sums of squares, or of positive cells; if an outlier makes nearly all of such a sum and leaves, little
    more than the amount of the prior may remain.
    """
    for field, field_after in zip(fitted.prior.hyperparameters(), fitted.posterior.hyperparameters(), strict=True):
        support = field.declared.support if field.declared else None
        before = field.value
        after = field_after.value
        if support is POSITIVE_DEFINITE:  # (…, d, d) products: the squares of columns are its diagonal
            before = before.diagonal(axis1=-2, axis2=-1)
            after = after.diagonal(axis1=-2, axis2=-1)
        elif support is not AMOUNT:  # a count, a mean, or another field that is no amount
            continue
        if (before < _SMALLEST_AMOUNT_SHARE * after).any():
            return True
    return False


def _counts_of(fitted: Any, rows: Rows) -> list[Any]:
    """The cells (n, d) of each block that counts events: such a cell leaves with as many events as it has."""
    declared = fitted.prior.cells
    cells = []
    for name, x in rows.items():
        has_counts = name in declared and declared[name].kind == "counts"
        if has_counts and x.shape[1]:
            cells.append(x)
    return cells


def _largest_event(fitted: Any, rows: Rows) -> float:
    """The largest number of events of any cell, at least 1, which is what a cell counts in blocks of other kinds."""
    largest = []  # of each block
    for x in _counts_of(fitted, rows):
        cells = x.data if is_sparse(x) else x  # zeros that are not stored do not matter
        largest.append(np.nanmax(cells, initial=1.0))
    return float(max(largest, default=1.0))


def _events_of_rows(fitted: Any, rows: Rows, n: int) -> Float[np.ndarray, " n"]:
    """The largest number of events of a cell of each of the n rows, at least 1; a missing cell (NaN) has none."""
    largest = np.ones(n)
    for x in _counts_of(fitted, rows):
        cells = x.max(axis=1).toarray().ravel() if is_sparse(x) else np.nan_to_num(x).max(1)  # (n,)
        largest = np.maximum(largest, cells)
    return largest


# --- groups of rows, by a model each ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Removal:
    """Fitted rows, and how models without some of them are made.

    Fields
    ------
    fitted, data, prior : as in `folds`
    leaving : (n, c) sparse weights with which rows leave, in their classes
    """

    fitted: Any
    data: FittedRows
    prior: str
    leaving: Sparse

    def remainder(self, members: Int[np.ndarray, " m"]) -> Remainder:
        """Statistics and posterior of all rows but those at the positions `members`, to nine digits.

        Statistics are sums over rows, so those of the members are subtracted from those of the fit. Where that cancels
        too many digits, the other rows are summed again. `remaining.estimate` is the difference, `remaining.moved` the
        same with every sum moved by the bound of its rounding; comparing the posteriors of both shows lost digits.
        """
        removed = self.fitted.prior.suffstats(rows_at(self.data.rows, members), self.leaving[members])

        # an error if the members were never fitted, so that more would leave than there is
        remaining = self.fitted.remaining(removed, len(members))
        statistics = remaining.estimate
        model = self._posterior(statistics)
        if self._has_few_digits(model, remaining):
            self._check_complete(members)  # an error unless all rows are here to be summed
            statistics = self._sum_without(members)
            model = self._posterior(statistics)
        self._check_density(model, members)  # an error if too little remains for an improper prior
        return Remainder(members, statistics, model)

    def _has_few_digits(self, model: Any, remaining: Remaining) -> bool:
        """Whether rounding leaves fewer than nine digits of a field of the posterior after a difference.

        Parameters
        ----------
        model : the posterior after the difference `remaining.estimate`. It is compared with the posterior after
            `remaining.moved`, unless the statistics alone show that nothing is in doubt
        """
        if is_certain(remaining):
            return False
        with np.errstate(all="ignore"):
            doubt = find_doubt(model, self._posterior(remaining.moved))  # a field with few digits; None if none has
            return doubt is not None

    def _posterior(self, statistics: Statistics) -> Any:
        """The posterior after statistics, under the prior of the fit or under that of these statistics.

        Some default priors have a scale that is estimated from the rows. With prior="refit" it is estimated again from
        the remaining rows, else it stays that of all rows.
        """
        fitted = self.fitted
        if self.prior == "refit" and fitted.prior_follows_rows:
            # the statistics scale the default prior, as in a fit to these rows
            return fitted.with_statistics(statistics).model_.posterior
        with np.errstate(divide="ignore", invalid="ignore"):
            return fitted.prior.update(statistics)

    def _sum_without(self, members: Int[np.ndarray, " m"]) -> Statistics:
        """The statistics of all rows but the members, summed again; members keep the units that do not leave."""
        weight = self.data.weights.values.copy()  # (n,)
        weight[members] -= self.data.leaving[members]
        r = one_hot(self.data.label, len(self.fitted.classes), weight)  # (n, c) sparse
        return self.fitted.prior.suffstats(self.data.rows, r)

    @cached_property
    def _is_complete(self) -> bool:
        """Whether the rows are all rows of the fit: no class has weight when all of them are removed."""
        r = one_hot(self.data.label, len(self.fitted.classes), self.data.weights.values)  # (n, c) sparse
        removed = self.fitted.prior.suffstats(self.data.rows, r)
        remaining = self.fitted.remaining(removed, len(self.data.label)).estimate
        return not remaining.n.any()

    def _check_complete(self, members: Int[np.ndarray, " m"]) -> None:
        """ValueError if remaining rows cannot be summed again, because not all of them are given."""
        if not self._is_complete:
            raise ValueError(
                f"Without row {members[0]} of `X` fewer than nine digits of the statistics would remain, because a "
                f"weight of {self.data.leaving[members].sum():g} leaves. Give all rows of the fit, so that the "
                "remaining ones can be summed again"
            )

    def _check_density(self, model: Any, members: Int[np.ndarray, " m"]) -> None:
        """ValueError where an improper prior and the rows without `members` do not make a density of `model`."""
        if not self.fitted.prior.is_improper:
            return
        for name, block in self.fitted.prior.blocks.items():
            if not block.is_improper:
                continue
            reason = improper(model.blocks[name])  # why the posterior is no density; None if it is one
            if reason:
                raise ValueError(
                    f"`prior` is improper, and without row {members[0]} of `X` the posterior is not a density: "
                    f"{reason}. Give more rows of every class, or a proper prior"
                )
