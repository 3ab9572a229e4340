"""Exact leave-one-out: every row predicted by all others, without a refit.

    elpd       = Σ_i w_i log p(y_i | x_i, D₋ᵢ)     how well labels are predicted, rows being given
    elpd_joint = Σ_i w_i log p(x_i, y_i | D₋ᵢ)     how well rows and labels are predicted

A conjugate posterior forgets a row in closed form, so the table p(x_i, y = c | D₋ᵢ) costs little more than a table of
predictions.

There are two leave-one-outs. Some estimators scale their default prior by the data: GaussianNB, GaussianDA, KernelNB,
PoissonNB, ExponentialNB, and BernoulliNB with alpha="clop". `prior="kept"` leaves that prior as all rows made it, row i
included, as `prior_` has it. `prior="refit"` takes row i out of the prior's scale too, and equals a fit on all other
rows. With all other priors the two are the same. Both keep the encoding: the labels, the levels of CategoricalNB, the
columns of MixedNB("auto").

The difference matters for few rows. With GaussianNB on 15 irises (every tenth row, three columns) a log class
probability log p(y = c | x_i, D₋ᵢ) differs by up to 0.54 nats, and by up to 1.04 where one cell is an outlier (20 cm
for 5.1). The log loss is 0.404 (kept) and 0.408 (refit). On all 150 irises single values still differ by up to 0.41
nats, the log losses by 0.0001.

The price, in tables of predictions: "kept" a few; "refit" some tens for GaussianNB, where every row has a prior of its
own, and one Cholesky factor a row and class for GaussianDA; for KernelNB one posterior of the bandwidths a row.

References
----------
Vehtari, Gelman & Gabry (2017), Practical Bayesian model evaluation using leave-one-out cross-validation and WAIC,
Statistics and Computing 27, §2.1 (elpd, its standard error and p_loo); there by importance sampling, here exactly.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from ..core.arrays import Sparse
from ..core.pytrees import leaves
from ..core.supports import AMOUNT, COUNT, undefined
from ..core.threads import in_order
from ..loops import worth
from ..naive_bayes import NaiveBayes, Rows, Statistics, by_rows
from ..statistics import Scatter, one_hot
from ..sums.marking import marked
from ..sums.rows import csr_slice, slices
from ..sums.slicing import some_rows
from ..weighted import WeightedNaiveBayes
from .complements import complements, remaining, stack, take
from .copies import copies as copies
from .known_rows import check_known, check_weights
from .loo_result import LooResult as LooResult
from .loo_weighted import weighted_tables

_WIDE = 1 << 22  # cells of a slice that loops go through without a table beside it
_CELLS = 1 << 17  # numbers of a table of statistics of many groups: 1 MiB

_LOST = 1e-7  # a pseudo-count below is lost beside the weight of a row


def _needs_refits(prior: Any, posterior: Any) -> bool:
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


def _tables_by_refits(
    estimator: Any, rows: Rows, r: Sparse, parts: dict[str, list[str]]
) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """`_tables` by an update with the statistics of all other rows, one row at a time.

    Raises
    ------
    ValueError
        where an improper prior and all rows but one do not make the posterior a density
    """
    held, prior = estimator.statistics_, estimator.prior_
    log_prior, found = np.empty(r.shape), {name: np.empty(r.shape) for name in parts}
    for i in range(r.shape[0]):
        row = {name: x[[i]].astype(float) for name, x in rows.items()}
        with np.errstate(divide="ignore", invalid="ignore"):
            posterior = prior.update(remaining(held, prior.suffstats(row, r[[i]])))
        for name, block in prior.blocks.items():
            if block.is_improper and (why := undefined(posterior.blocks[name])):
                raise ValueError(
                    f"`prior` is improper, and without row {i} of `X` the posterior is not a density: {why}. Give "
                    "more rows of every class, or a proper prior"
                )
        log_prior[i] = posterior.classes.log_predictive()
        for name, table in zip(parts, posterior.log_parts(row, list(parts.values())), strict=True):
            found[name][i] = table[0]
    return log_prior, found


def loo(
    estimator: Any, X: Any, y: Any, sample_weight: Any = None, *, prior: str = "kept", groups: Any = None
) -> LooResult:
    """Exact leave-one-out of training rows of a fitted estimator.

    Parameters
    ----------
    estimator : a fitted estimator. Its posterior is used as it is, always with estimate="predictive"
    X, y, sample_weight : all or some of the rows, labels and weights, as they were fitted. A row is left out with its
        whole weight
    prior : "kept" (default) keeps the prior of the fit. "refit" removes row i from the scale of the prior too, if the
        data scale it. The result equals a fit on all other rows
    groups : (n,), optional
        labels of groups of rows that are left out together. Row i is predicted without all given rows of its group

    Raises
    ------
    ValueError
        if a class has less weight than its rows, or a row would leave negative counts or squares, because such rows
        were never fitted; if `prior` is neither "kept" nor "refit"; or if `groups` does not have one label for each row

    Notes
    -----
    "kept" subtracts a row from a posterior. This loses digits if an outlier makes up nearly all of a sum of squares
    under a narrow prior of your own: 7e-4 nats for a cell 10⁶ prior scales away. "refit" adds up the other rows instead
    and loses no digits.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from bayesnb import GaussianNB
    >>> X, y = load_iris(return_X_y=True)
    >>> X, y = X[::10, :3], y[::10]
    >>> nb = GaussianNB().fit(X, y)
    >>> round(nb.loo(X, y).log_loss, 3), round(nb.loo(X, y, prior="refit").log_loss, 3)
    (0.404, 0.408)
    >>> without = GaussianNB().fit(X[1:], y[1:])  # row 0 predicted by all others
    >>> bool(abs(nb.loo(X, y, prior="refit").log_proba[0] - without.predict_log_proba(X[:1])[0]).max() < 1e-12)
    True
    """
    if prior not in ("kept", "refit"):
        raise ValueError(f"`prior` is {prior!r}; choose 'kept' or 'refit'")
    check_is_fitted(estimator)
    X, index = estimator.validate_labelled(X, y)
    weights = np.ones(len(index))
    if sample_weight is not None:
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    place = None if groups is None else _places(groups, len(index))
    r = one_hot(index, len(estimator.classes_), weights)
    if _leave_alone(estimator, place, prior) and all(b.marks_strangers for b in estimator.posterior_.blocks.values()):
        check_weights(estimator, r)
        return _one_by_one(estimator, {"x": X}, partial(_encoded, estimator, X), r, prior, strangers=True)
    rows = estimator.encode_validated(X)
    check_known(estimator, rows, r)
    return _result(estimator, rows, r, place, prior)


def leave_out(
    estimator: Any,
    rows: Rows,
    index: np.ndarray,
    weights: np.ndarray,
    place: np.ndarray | None,
    prior: str,
    scores: bool = False,
) -> LooResult:
    """`loo` of encoded rows that were fitted.

    Parameters
    ----------
    rows, index, weights : rows by block, class and weight of each
    place : (n,) group of each row, 0 … g−1; None where each row leaves alone
    scores : True may leave out terms of a row that are the same in all classes: enough for class probabilities
    """
    return _result(estimator, rows, one_hot(index, len(estimator.classes_), weights), place, prior, scores)


def _leave_alone(estimator: Any, place: np.ndarray | None, prior: str) -> bool:
    """Whether each row leaves by itself a posterior whose prior stays and is not lost beside the rows."""
    before, after = estimator.prior_, estimator.posterior_
    alone = place is None and prior == "kept" and not isinstance(after, WeightedNaiveBayes)
    return alone and not (before.is_improper or _needs_refits(before, after))


def _result(
    estimator: Any, rows: Rows, r: Sparse, place: np.ndarray | None, prior: str, scores: bool = False
) -> LooResult:
    rows_of = partial(_some, rows)
    if _leave_alone(estimator, place, prior):
        return _one_by_one(estimator, rows, rows_of, r, prior, scores)
    log_prior, parts = _tables(estimator, rows, r, place, prior == "refit")
    by_part = None if list(parts) == ["x"] else parts
    total = log_prior + sum(parts.values())
    return LooResult(
        estimator.classes_,
        r.indices,
        r.data,
        total,
        log_prior,
        False,
        estimator.posterior_,
        rows,
        rows_of,
        by_part,
        prior,
    )


def _cut(X: Any, part: Any) -> Any:
    """Some rows of validated input, a slice of them without a copy."""
    return some_rows(X, part) if isinstance(part, slice) and not hasattr(X, "iloc") else _safe_indexing(X, part)


def _encoded(estimator: Any, X: Any, part: Any) -> Rows:
    """Some rows of validated input by block."""
    return estimator.encode_validated(_cut(X, part))


def _some(rows: Rows, part: Any) -> Rows:
    """Some encoded rows."""
    return {name: _cut(x, part) for name, x in rows.items()}


def _one_by_one(
    estimator: Any,
    sizes: Rows,
    rows_of: Callable[[Any], Rows],
    r: Sparse,
    prior: str,
    scores: bool = False,
    strangers: bool = False,
) -> LooResult:
    """Each row without itself, in closed form.

    Parameters
    ----------
    sizes : arrays or sparse matrices of as many rows and cells
    rows_of : some of the rows by block
    strangers : whether rows may be among them that were never fitted; they raise a ValueError
    """
    posterior, parts = estimator.posterior_, estimator.part_blocks()
    if (r.data == 1).all():  # rows of a class leave the same behind
        log_prior = posterior.classes.log_loo(np.eye(r.shape[1]))
    else:
        log_prior = posterior.classes.log_loo(r.toarray())
    alike, single = bool((r.data == 1).all()), list(parts) == ["x"]

    def table(part: Any) -> np.ndarray:
        w = csr_slice(r, part) if isinstance(part, slice) else r[part]
        found = posterior.loo_tables(rows_of(part), w, list(parts.values()), scores=scores)
        if single:
            found[0] += log_prior[w.indices if alike else part]
        if strangers and isinstance(part, slice) and not np.isfinite(found.sum()):
            own = np.take_along_axis(found, w.indices[None, :, None], 2)
            odd.extend(part.start + np.flatnonzero(~np.isfinite(own).all((0, 2))))
        return found

    odd: list[int] = []
    with marked(strangers), np.errstate(invalid="ignore"):
        wide = _WIDE if alike and worth(8 * next(iter(sizes.values())).size) else 0
        tables = by_rows(table, sizes, max(posterior.min_chunk_cells, wide))
    if odd:
        at = np.sort(odd)
        check_known(estimator, rows_of(at), r[at])
        tables[:, at] = table(at)  # they were there: it is rounding that leaves nothing
    if single:
        total, by_part = tables[0], None
    else:
        total, by_part = (
            sum(tables) + (log_prior[r.indices] if alike else log_prior),
            dict(zip(parts, tables, strict=True)),
        )
    return LooResult(
        estimator.classes_, r.indices, r.data, total, log_prior, alike, posterior, sizes, rows_of, by_part, prior
    )


def _places(groups: Any, n: int) -> np.ndarray:
    """Labels of groups as 0 … g−1, in the order of their first rows."""
    import pandas as pd

    labels = groups if hasattr(groups, "dtype") else np.asarray(groups, dtype=object)
    if labels.shape != (n,):
        raise ValueError(f"`groups` has shape {labels.shape}; it needs one label for each of the {n} rows")
    place, _ = pd.factorize(labels)
    if (place < 0).any():
        raise ValueError("`groups` has missing labels (None, NaN or NA); give each row the label of its group")
    return place


def _tables(
    estimator: Any, rows: Rows, r: Sparse, place: np.ndarray | None, refit: bool
) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """`_one_by_one` of rows for which it is not enough: log p(y = c | D₋ᵢ), log p(x_i,part | y = c, D₋ᵢ) by part.

    Parameters
    ----------
    place : (n,) group of each row, 0 … g−1; None where each row leaves alone
    """
    posterior = estimator.posterior_
    if isinstance(posterior, WeightedNaiveBayes):
        return weighted_tables(estimator, rows, r, place, refit and estimator.prior_follows_rows)
    if place is None and not refit:
        return _tables_by_refits(estimator, rows, r, estimator.part_blocks())
    if place is None:
        place, leaving, copied = np.arange(r.shape[0]), r, np.ones(r.shape[0], bool)
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
            if sparse.issparse(x):
                different = sparse.csr_array(one != other)
                alike[part] &= np.diff(different.indptr) == 0
            else:
                alike[part] &= ((one == other) | ((one != one) & (other != other))).all(1)
    return np.bincount(place, ~alike) == 0


def _width(x: Any) -> int:
    return -(-x.nnz // max(x.shape[0], 1)) if sparse.issparse(x) else x.shape[1]


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
            table[alone] = self._each_row(first)[np.searchsorted(rows, place[alone])]
        for at in _members(place, np.flatnonzero(~alone)):
            own, w = {name: x[at] for name, x in self.rows.items()}, self.r[at]
            left = remaining(self.held, self.prior.suffstats(own, w))
            if not isinstance(self.prior, NaiveBayes):
                table[at] = self.prior.update(left).log_parts(own, [list(own)])[0]
                continue
            prior = replace(self.prior, blocks=self.estimator.prior_for(left).blocks) if self.refit else self.prior
            blocks = {name: block.update(left.blocks[name]) for name, block in prior.blocks.items()}
            table[at] = replace(self.posterior, blocks=blocks).log_parts(own, [list(blocks)])[0]
        return table

    def _each_row(self, at: np.ndarray) -> np.ndarray:
        """Rows that leave with the weight that leaves with them, the prior kept."""
        rows = {name: x[at] for name, x in self.rows.items()}
        return self.posterior.log_loo_parts(rows, self.leaving[at], [list(rows)])[0]

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
            return (piece.toarray() if sparse.issparse(piece) else piece).astype(self.r.dtype, copy=False)

        totals = stack([block.suffstats(cut(at), self.r[at]) for at in chunks])
        others = complements(totals, c, lambda total: remaining(held, total))

        def tables(k: int) -> list[np.ndarray]:
            at = chunks[k]
            own, w, group = cut(at), self.r[at], place[at] - k * width
            single = _by_group(block, own, w, group, width)
            left = complements(single, c, lambda _: take(others, slice(k, k + 1), c))
            weight = self.held.n.sum() - np.bincount(group, np.asarray(w.sum(1)).ravel(), width)
            table = self.estimator.leave_groups_out(left, np.maximum(weight, 0), None if self.refit else block)
            return [table(own[some : some + width], group[some : some + width]) for some in range(0, len(at), width)]

        found = np.empty(self.r.shape)
        for at, pieces in zip(chunks, in_order(tables, range(len(chunks))), strict=True):
            found[at] = np.concatenate(pieces)
        return found


def _members(place: np.ndarray, at: np.ndarray) -> list[np.ndarray]:
    """The rows of each group among some rows."""
    at = at[np.argsort(place[at], kind="stable")]
    return [one for one in np.split(at, np.flatnonzero(np.diff(place[at])) + 1) if len(one)]


def _by_group(block: Any, x: np.ndarray, r: Sparse, group: np.ndarray, g: int) -> Any:
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
