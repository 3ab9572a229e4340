"""Leave-one-out of rows that leave in groups, change the prior, or whose prior is improper or lost beside them."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from ..base import Block
from ..core.arrays import Sparse, is_sparse
from ..core.pytrees import leaves
from ..core.supports import AMOUNT, COUNT, undefined
from ..core.threads import in_order
from ..naive_bayes import NaiveBayes, Rows, Statistics
from ..statistics import Scatter, one_hot
from ..sums.rows import rows_at, slices
from .complements import complements, remaining, stack, take

_CELLS = 1 << 17  # numbers of a table of statistics of many groups: 1 MiB
_LOST = 1e-7  # a pseudo-count below is lost beside the weight of a row


def needs_refits(prior: Any, posterior: Any) -> bool:
    """Whether a hyperparameter of the prior is lost beside the rows, so that taking a row out would not leave it.

    1e-50 + 3 − 3 is 0 in float64; 1e-50 + (3 − 3) is right.
    """
    pairs: list[tuple[Any, Any]] = [(prior.classes, posterior.classes)]
    pairs += [(block.inner, posterior.blocks[name].inner) for name, block in prior.blocks.items()]
    for before, after in pairs:
        for name, declared in before.fields_.items():
            if declared.support in (COUNT, AMOUNT):
                value, grown = getattr(before, name), getattr(after, name)
                if (value < (_LOST if declared.support is COUNT else 1e-9 * grown)).any():
                    return True
    return False


def _tables_by_updates(
    estimator: Any, rows: Rows, r: Sparse, place: np.ndarray
) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """`left_out_tables` by an update with the statistics of all other rows, one group at a time.

    Raises
    ------
    ValueError
        where an improper prior and all rows but one do not make the posterior a density
    """
    parts, held, prior = estimator.part_blocks(), estimator.statistics_, estimator.prior_
    log_prior, found = np.empty(r.shape), {name: np.empty(r.shape) for name in parts}
    for at in _members(place, np.arange(len(place))):
        own = {name: x[at].astype(float) for name, x in rows.items()}
        with np.errstate(divide="ignore", invalid="ignore"):
            left = remaining(held, prior.suffstats(own, r[at]))
            posterior = prior.update(left)
        for name, block in prior.blocks.items():
            if block.is_improper and (why := undefined(posterior.blocks[name])):
                raise ValueError(
                    f"`prior` is improper, and without row {at[0]} of `X` the posterior is not a density: {why}. Give "
                    "more rows of every class, or a proper prior"
                )
        log_prior[at] = posterior.classes.log_predictive()
        for name, table in zip(parts, posterior.log_parts(own, list(parts.values())), strict=True):
            found[name][at] = table
    return log_prior, found


def left_out_tables(
    estimator: Any, rows: Rows, r: Sparse, place: np.ndarray | None, refit: bool
) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """`loo` of rows for which it is not enough: log p(y = c | D₋ᵢ), log p(x_i,part | y = c, D₋ᵢ) by part.

    Parameters
    ----------
    place : (n,) group of each row, 0 … g−1; None where each row leaves alone
    """
    posterior, each = estimator.posterior_, np.arange(r.shape[0])
    if place is None and not refit:
        return _tables_by_updates(estimator, rows, r, each)
    if place is None:
        place, leaving, copied = each, r, np.ones(len(each), bool)
    else:
        together = one_hot(place, int(place.max(initial=-1)) + 1)
        leaving = sparse.csr_array(together @ (together.T @ r))
        copied = _copied(rows, r, place)
    log_prior = posterior.classes.log_loo(leaving.toarray())
    found: dict[str, Any] = {}
    for name, own, names, k in estimator.part_estimators():
        prior, known = (
            {inner: nb.blocks[outer] if k is None else nb.blocks[outer].block for inner, outer in names.items()}
            for nb in (estimator.prior_, posterior)
        )
        held = Statistics(
            estimator.statistics_.n if k is None else estimator.statistics_.n[[k]],
            {inner: estimator.statistics_.blocks[outer] for inner, outer in names.items()},
        )
        models = estimator.prior_, posterior
        if isinstance(posterior, NaiveBayes):  # a part of it
            models = NaiveBayes(posterior.classes, prior), NaiveBayes(posterior.classes, known)
        part = _Part(
            own,
            *models,
            held,
            {inner: rows[outer] for inner, outer in names.items()},
            r if k is None else r[:, [k]],
            leaving if k is None else leaving[:, [k]],
            refit and own.prior_follows_rows,
        )
        table = part.table(place, copied)
        if k is not None:
            table = table * (np.arange(r.shape[1]) == k)
        found[name] = found[name] + table if name in found else table
    return log_prior, found


def _copied(rows: Rows, r: Sparse, place: np.ndarray) -> np.ndarray:
    """Whether all rows of a group are equal, label included, (g,): together they leave as one row of their weight."""
    first = np.unique(place, return_index=True)[1]
    alike = r.indices == r.indices[first[place]]
    for x in rows.values():
        for part in slices(len(place), _width(x)):
            one, other = x[part], x[first[place[part]]]
            if is_sparse(x):
                different = sparse.csr_array(one != other)
                alike[part] &= np.diff(different.indptr) == 0
            else:
                alike[part] &= ((one == other) | ((one != one) & (other != other))).all(1)
    return np.bincount(place, ~alike) == 0


def _width(x: Any) -> int:
    return -(-x.nnz // max(x.shape[0], 1)) if is_sparse(x) else x.shape[1]


@dataclass(frozen=True)
class _Part:
    """The rows of one part, and what its estimator knows of them.

    Fields
    ------
    estimator : makes the prior
    prior, posterior : with the blocks of this part
    held : statistics of all rows fitted
    rows, r : the rows to be left out, and their weights (n, c)
    leaving : (n, c) the weights that leave with each row, its group's
    refit : whether the prior is made anew
    """

    estimator: Any
    prior: Any
    posterior: Any
    held: Statistics
    rows: Rows
    r: Sparse
    leaving: Sparse
    refit: bool

    def table(self, place: np.ndarray, copied: np.ndarray) -> np.ndarray:
        """log p(x_i,part | y = c, D₋ᵢ), (n, c); parameters as in `_tables` and `_copied`."""
        if self.estimator.leave_groups_out is not None:
            return self._all_at_once(place)
        table, alone = np.empty(self.r.shape), copied[place] & (not self.refit)
        if alone.any():
            rows, at = np.unique(place[alone], return_index=True)
            first = np.flatnonzero(alone)[at]
            own = rows_at(self.rows, first)  # they leave with all of their group's weight, the prior kept
            found = self.posterior.log_loo_parts(own, self.leaving[first], [list(own)])[0]
            table[alone] = found[np.searchsorted(rows, place[alone])]
        for at in _members(place, np.flatnonzero(~alone)):
            own, w = rows_at(self.rows, at), self.r[at]
            left = remaining(self.held, self.prior.suffstats(own, w))
            if not isinstance(self.prior, NaiveBayes):
                table[at] = self.prior.update(left).log_parts(own, [list(own)])[0]
                continue
            prior = replace(self.prior, blocks=self.estimator.prior_for(left).blocks) if self.refit else self.prior
            blocks = {name: block.update(left.blocks[name]) for name, block in prior.blocks.items()}
            for name, known in self.posterior.blocks.items():
                if not self.refit and hasattr(known, "with_cells"):  # its bandwidth is kept, as a prior is
                    blocks[name] = known.with_cells(left.blocks[name])
            table[at] = replace(self.posterior, blocks=blocks).log_parts(own, [list(blocks)])[0]
        return table

    def _all_at_once(self, place: np.ndarray) -> np.ndarray:
        """Statistics without each group, by additions alone, and the table of the rows under them.

        Nothing is subtracted, so that no digits are lost where a row carries nearly all of a sum of squares: a chunk of
        groups gets the statistics of all other chunks, and each of its groups those of all other groups in it.
        """
        (name, x), c = next(iter(self.rows.items())), self.r.shape[1]
        block, held = self.prior.blocks[name], self.held.blocks[name]
        size = max(leaf.size for leaf in leaves(held))
        groups = int(place.max(initial=-1)) + 1
        width = 1 << max(min(_CELLS // size, groups), 1).bit_length() - 1  # groups of a chunk
        order = np.argsort(place, kind="stable")
        chunks = np.split(order, np.searchsorted(place[order], np.arange(width, groups, width)))

        def cut(at: np.ndarray) -> Any:
            piece = x[at]
            return (piece.toarray() if is_sparse(piece) else piece).astype(self.r.dtype, copy=False)

        totals = stack([block.suffstats(cut(at), self.r[at]) for at in chunks])
        others = complements(totals, c, lambda total: remaining(held, total))

        def tables(k: int) -> list[np.ndarray]:
            at = chunks[k]
            own, w, group = cut(at), self.r[at], place[at] - k * width
            single = _by_group(block, own, w, group, width)
            left = complements(single, c, lambda _: take(others, slice(k, k + 1), c))
            weight = self.held.n.sum() - np.bincount(group, np.asarray(w.sum(1)).ravel(), width)
            table = self.estimator.leave_groups_out(left, np.maximum(weight, 0), None if self.refit else block)
            return [table(own[some], group[some]) for some in slices(len(at), 1, width)]

        found = np.empty(self.r.shape)
        for at, pieces in zip(chunks, in_order(tables, range(len(chunks))), strict=True):
            found[at] = np.concatenate(pieces)
        return found


def _members(place: np.ndarray, at: np.ndarray) -> list[np.ndarray]:
    """The rows of each group among some rows."""
    at = at[np.argsort(place[at], kind="stable")]
    return [one for one in np.split(at, np.flatnonzero(np.diff(place[at])) + 1) if len(one)]


def _by_group(block: Block, x: np.ndarray, r: Sparse, group: np.ndarray, g: int) -> Any:
    """Statistics of each of g groups, their classes in turn, (g · c, …)."""
    c = r.shape[1]
    there = np.flatnonzero(np.diff(r.indptr))  # rows of a class that this part speaks of
    cell, x, r = group[there] * c + r.indices, x[there], r.data
    stats = block.suffstats(x[:0], one_hot(cell[:0], g * c))
    if not isinstance(stats, Scatter):
        return block.suffstats(x, one_hot(cell, g * c, r))
    if len(np.unique(cell)) == len(cell):  # one row each
        stats.n[cell], stats.mean[cell] = r, np.where(r[:, None] > 0, x, 0)
        return stats
    for at in _members(cell, np.arange(len(cell))):
        one = block.suffstats(x[at], one_hot(np.zeros(len(at), int), 1, r[at]))
        for whole, leaf in zip(leaves(stats), leaves(one), strict=True):
            whole[cell[at[0]]] = leaf[0]
    return stats
