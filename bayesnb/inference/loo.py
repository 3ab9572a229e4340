"""Exact leave-one-out: every row predicted by all others, without a refit.

    elpd       = Σ_i w_i log p(y_i | x_i, D₋ᵢ)     how well labels are predicted, rows being given
    elpd_joint = Σ_i w_i log p(x_i, y_i | D₋ᵢ)     how well rows and labels are predicted

Statistics subtract, so a posterior without some rows is an update with the statistics of all others. Where one row
leaves and the prior stays, the gain of its negative statistics gives the table p(x_i, y = c | D₋ᵢ) of all rows at once,
at the price of a few tables of predictions. Otherwise rows leave group by group: some milliseconds a group.

There are two leave-one-outs. Some estimators scale their default prior by the data: GaussianNB, GaussianDA, KernelNB,
PoissonNB, ExponentialNB, and BernoulliNB with alpha="clop". `prior="kept"` leaves that prior as all rows made it, row i
included, as `prior_` has it. `prior="refit"` takes row i out of the prior's scale too, and equals a fit on all other
rows. With all other priors the two are the same. Both keep the encoding: the labels, the levels of CategoricalNB, the
columns of MixedNB("auto"). "kept" keeps KernelNB's posterior of the bandwidths as well.

The difference matters for few rows. With GaussianNB on 15 irises (every tenth row, three columns) a log class
probability log p(y = c | x_i, D₋ᵢ) differs by up to 0.54 nats, and by up to 1.04 where one cell is an outlier (20 cm
for 5.1). The log loss is 0.404 (kept) and 0.408 (refit). On all 150 irises single values still differ by up to 0.41
nats, the log losses by 0.0001.

References
----------
Vehtari, Gelman & Gabry (2017), Practical Bayesian model evaluation using leave-one-out cross-validation and WAIC,
Statistics and Computing 27, §2.1 (elpd, its standard error and p_loo); there by importance sampling, here exactly.
"""

import functools
import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from ..core.arrays import Float, Shaped, Sparse, is_sparse
from ..core.special import log_normalize
from ..core.supports import AMOUNT, COUNT, check_choice, improper
from ..naive_bayes import Rows
from ..statistics import NEVER_FITTED, Moments, Scatter, one_hot
from ..sums.rows import by_rows, rows_at

_LOST = 1e-7  # a pseudo-count below is lost beside the weight of a row, so that subtracting would not leave it


@dataclass(frozen=True)
class LooResult:
    """Leave-one-out: every row, predicted from all other rows; exact, except for `DiscriminativeNB`.

    There are two sums over the rows. `elpd` is that of log p(y_i | x_i, D₋ᵢ), which scores the labels given the rows.
    `elpd_joint` is that of log p(x_i, y_i | D₋ᵢ), which scores the rows too, and is what `arviz.loo` estimates. `print`
    shows both. `to_arviz` hands either to `arviz.compare`; compare only sums of one kind.

    Attributes
    ----------
    classes : (c,) labels of the classes
    index : (n,) position of the label of each row in `classes`
    weight : (n,) sample weights; all sums over rows use them
    log_prior : (n, c) log p(y = c | D₋ᵢ), nats
    by_block : log p(x_i,part | y = c, D₋ᵢ) in nats, (n, c) for each part. The names are those of
        `predict_part_log_likelihood`, which returns these tables for new rows: the parts of MixedNB, and "x" for all
        other estimators
    prior : "kept" or "refit": whether row i has a share in the scale of the prior, see the method `loo`
    exact : whether the result is that of n refits; `DiscriminativeNB` approximates it
    log_joint : (n, c) log p(x_i, y = c | D₋ᵢ), nats: `log_prior` plus the tables of `by_block`

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> from bayesnb import GaussianNB
    >>> loo = GaussianNB().fit(X, y).loo(X, y)
    >>> round(loo.elpd, 2), round(loo.accuracy, 3)  # nats; share of rows predicted by all others
    (-20.26, 0.953)
    """

    classes: Shaped[np.ndarray, " c"]
    index: Shaped[np.ndarray, " n"]
    weight: Float[np.ndarray, " n"]
    log_prior: Float[np.ndarray, "n c"]
    by_block: dict[str, np.ndarray]
    prior: str = "kept"
    exact: bool = True
    _groups: Any = field(default=None, repr=False, compare=False)
    _posterior: Any = field(default=None, repr=False, compare=False)
    _rows: Rows = field(default_factory=dict, repr=False, compare=False)

    @functools.cached_property
    def log_joint(self) -> Float[np.ndarray, "n c"]:
        """log p(x_i, y = c | D₋ᵢ), nats."""
        return by_rows(self._joint, {"x": self.log_prior})

    def _joint(self, part: slice) -> np.ndarray:
        return sum((table[part] for table in self.by_block.values()), self.log_prior[part])

    @functools.cached_property
    def log_proba(self) -> Float[np.ndarray, "n c"]:
        """Log class probabilities log p(y = c | x_i, D₋ᵢ) in nats, (n, c)."""
        return by_rows(lambda part: log_normalize(self._joint(part)), {"x": self.log_prior})

    @property
    def proba(self) -> Float[np.ndarray, "n c"]:
        """Class probabilities p(y = c | x_i, D₋ᵢ), (n, c)."""
        return np.exp(self.log_proba)

    @property
    def predicted(self) -> Shaped[np.ndarray, " n"]:
        """The most probable label of each row, (n,)."""
        return self.classes[self.log_joint.argmax(1)]

    def terms(self, pointwise: Float[np.ndarray, " n"]) -> Float[np.ndarray, " m"]:
        """w_i times a number of each row, added up over rows that were left out together: what sums are made of."""
        return by_group(self.weight * pointwise, self._groups)

    def _own(self, table: np.ndarray) -> np.ndarray:
        return np.take_along_axis(table, self.index[:, None], 1)[:, 0]

    @property
    def pointwise(self) -> Float[np.ndarray, " n"]:
        """log p(y_i | x_i, D₋ᵢ) in nats, (n,), without the weights."""
        return self._own(self.log_proba)

    @property
    def pointwise_joint(self) -> Float[np.ndarray, " n"]:
        """log p(x_i, y_i | D₋ᵢ) in nats, (n,), without the weights."""
        return self._own(self.log_joint)

    @functools.cached_property
    def _of_all(self) -> np.ndarray:
        """log p(x_i, y = c | D), row i included: a table of predictions, made when it is asked for."""
        return self._posterior.log_joint(self._rows)

    @property
    def elpd(self) -> float:
        """Expected log predictive density of the labels: Σ_i w_i log p(y_i | x_i, D₋ᵢ), in nats."""
        return float(self.weight @ self.pointwise)

    @property
    def se(self) -> float:
        """Standard error of `elpd`: √(n · variance of its n terms); rows of a group are one term, their sum."""
        return standard_error(self.terms(self.pointwise))

    @property
    def elpd_joint(self) -> float:
        """Expected log predictive density of rows and labels: Σ_i w_i log p(x_i, y_i | D₋ᵢ), in nats."""
        return float(self.weight @ self.pointwise_joint)

    @property
    def se_joint(self) -> float:
        """Standard error of `elpd_joint`."""
        return standard_error(self.terms(self.pointwise_joint))

    @property
    def p_loo(self) -> float:
        """Effective number of parameters: how much Σ_i w_i log p(y_i | x_i) decreases if each row is left out."""
        return float(self.weight @ self._own(log_normalize(self._of_all))) - self.elpd

    @property
    def p_loo_joint(self) -> float:
        """Effective number of parameters: how much Σ_i w_i log p(x_i, y_i) decreases if each row is left out."""
        return float(self.weight @ self._own(self._of_all)) - self.elpd_joint

    @property
    def accuracy(self) -> float:
        """Weighted share of the rows that are classified correctly from all other rows."""
        return float(self.weight @ (self.log_joint.argmax(1) == self.index) / self.weight.sum())

    @property
    def log_loss(self) -> float:
        """Log loss: −elpd divided by the total weight, in nats."""
        return -self.elpd / float(self.weight.sum())

    def to_arviz(self, kind: str = "conditional") -> Any:
        """The result as ArviZ's `ELPDData`, for `arviz.compare({"one": a.to_arviz(), …})` and its plots.

        Parameters
        ----------
        kind : "conditional" for log p(y_i | x_i, D₋ᵢ), "joint" for log p(x_i, y_i | D₋ᵢ). `arviz.loo` estimates the
            second from `sample_posterior(X=X, y=y)`, except for `KernelNB`

        Raises
        ------
        ValueError
            if `kind` is neither of the two
        """
        from .to_arviz import elpd_data

        check_choice("kind", kind, ("conditional", "joint"))
        if kind == "conditional":
            return elpd_data(self.terms(self.pointwise), self.se, self.p_loo)
        return elpd_data(self.terms(self.pointwise_joint), self.se_joint, self.p_loo_joint)

    def __str__(self) -> str:
        rows = [
            ("elpd        log p(y | x)", self.elpd, self.se, self.p_loo),
            ("elpd_joint  log p(x, y)", self.elpd_joint, self.se_joint, self.p_loo_joint),
        ]
        how = "exact" if self.exact else "approximate"
        lines = [
            f"{how} leave-one-out of {len(self.index)} rows, {len(self.classes)} classes; nats",
            f"{'':24}{'sum':>12}{'se':>10}{'p_loo':>10}",
            *(f"{name:24}{elpd:12.2f}{se:10.2f}{p:10.2f}" for name, elpd, se, p in rows[: 1 + self.exact]),
            "`elpd` scores the labels given the rows"
            + "; `elpd_joint` also scores the rows, as `arviz.loo` does" * self.exact,
            f"accuracy {self.accuracy:.4f}, log loss {self.log_loss:.4f}",
        ]
        return "\n".join(lines)


def standard_error(terms: np.ndarray) -> float:
    """That of a sum of independent terms."""
    return float(np.sqrt(len(terms) * terms.var()))


def by_group(terms: Float[np.ndarray, "*s n"], place: np.ndarray | None) -> Float[np.ndarray, "*s m"]:
    """The sum of the terms of each group; the terms themselves where there are no groups."""
    return terms if place is None else np.apply_along_axis(lambda one: np.bincount(place, one), -1, terms)


def loo(
    estimator: Any, X: Any, y: Any, sample_weight: Any = None, *, prior: str = "kept", groups: Any = None
) -> LooResult:
    """Exact leave-one-out of training rows of a fitted estimator.

    Parameters
    ----------
    estimator : a fitted estimator. Its posterior is used as it is, always with estimate="predictive" and without the
        option `norm` of ComplementNB
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
    Nine digits are right where each cell is within 1e4 spreads of the other rows of its class.

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
    check_choice("prior", prior, ("kept", "refit"))
    check_is_fitted(estimator)
    rows, index = estimator.encode_labelled(X, y)
    weights = np.ones(len(index))
    if sample_weight is not None:
        cells = next(iter(rows.values()))
        weights = _check_sample_weight(sample_weight, cells, dtype=np.float64, ensure_non_negative=True)
    place = None if groups is None else group_places(groups, len(index))
    r = one_hot(index, len(estimator.classes_), weights)
    _check_fitted(estimator, rows, r)
    with np.errstate(invalid="ignore", divide="ignore"):
        return leave_out(estimator, rows, index, weights, place, prior)


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
    r, parts = one_hot(index, len(estimator.classes_), weights), estimator.part_blocks()
    names = list(parts.values())
    log_prior, tables = np.empty(r.shape), np.empty((len(parts), *r.shape))
    for at, model, leaving in left_out(estimator, rows, r, place, prior):
        if isinstance(at, slice):  # all at once
            log_prior, *tables = model.log_loo_parts(rows, leaving, names, scores=scores)
        elif leaving is None:
            log_prior[at], tables[:, at] = model.classes.log_predictive(), model.log_parts(rows_at(rows, at), names)
        else:
            found = model.log_loo_parts(rows_at(rows, at), leaving, names, scores=scores)
            log_prior[at], tables[:, at] = found[0], found[1:]
    by_block = dict(zip(parts, tables, strict=True))
    known = {"_groups": place, "_posterior": estimator.posterior_, "_rows": rows}
    return LooResult(estimator.classes_, index, weights, log_prior, by_block, prior, **known)


def left_out(
    estimator: Any, rows: Rows, r: Sparse, place: np.ndarray | None, prior: str
) -> Iterator[tuple[Any, Any, Sparse | None]]:
    """Rows, the model that predicts them, and the weights that leave it with each; None where they have left already.

    Raises
    ------
    ValueError
        where an improper prior and all other rows do not make the posterior a density
    """
    place, single = (np.arange(r.shape[0]), True) if place is None else (place, np.bincount(place)[place] == 1)
    alone = np.full(r.shape[0], _gains_suffice(estimator, prior)) & single
    if alone.any():
        at = slice(None) if alone.all() else np.flatnonzero(alone)
        yield at, estimator.posterior_, r if alone.all() else r[at]
    together = np.flatnonzero(~alone)
    together = together[np.argsort(place[together], kind="stable")]
    for at in np.split(together, np.flatnonzero(np.diff(place[together])) + 1) if len(together) else ():
        left = estimator.statistics_without(estimator.prior_.suffstats(rows_at(rows, at), r[at]))
        yield at, _model_of(estimator, left, prior, int(at[0])), None


def _gains_suffice(estimator: Any, prior: str) -> bool:
    """Whether a single row leaves by the gain of its negative statistics: the prior stays, proper, and is not lost."""
    before, after = estimator.prior_, estimator.posterior_
    if before.is_improper or (prior == "refit" and estimator.prior_follows_rows):
        return False
    pairs = [(before.classes, after.classes)]
    pairs += [(block.inner, after.blocks[name].inner) for name, block in before.blocks.items()]
    for one, other in pairs:
        for name, declared in one.fields_.items():
            if declared.support in (COUNT, AMOUNT):
                least = _LOST if declared.support is COUNT else 1e-9 * getattr(other, name)
                if (getattr(one, name) < least).any():
                    return False
    return True


def _model_of(estimator: Any, left: Any, prior: str, row: int) -> Any:
    """The posterior of the rows that are left, of which the prior is kept or made anew."""
    if prior == "refit" and estimator.prior_follows_rows:
        return estimator.with_statistics(left).posterior_
    before = estimator.prior_
    with np.errstate(divide="ignore", invalid="ignore"):
        model = before.update(left)
    for name, block in before.blocks.items():
        if block.is_improper and (why := improper(model.blocks[name])):
            raise ValueError(
                f"`prior` is improper, and without row {row} of `X` the posterior is not a density: {why}. Give more "
                "rows of every class, or a proper prior"
            )
        known = estimator.posterior_.blocks[name]
        if hasattr(known.inner, "with_cells"):  # its bandwidths are kept, as a prior is
            kernel = known.inner.with_cells(left.blocks[name])
            block = kernel if known is known.inner else replace(known, block=kernel)
            model = replace(model, blocks=model.blocks | {name: block})
    return model


def _check_fitted(estimator: Any, rows: Rows, r: Sparse) -> None:
    """ValueError where removing all of the rows would leave negative counts or squares: they were never fitted."""
    gone = estimator.prior_.suffstats(rows, r)
    left, held = estimator.statistics_without(gone), estimator.statistics_
    for name, taken in gone.blocks.items():
        if isinstance(taken, Moments | Scatter):  # where nothing is left: put back, would they make more squares?
            again, before = left.blocks[name].moments() + taken.moments(), held.blocks[name].moments()
            squares = again.ss + before.n * (again.mean - before.mean) ** 2
            if (squares > (1 + 1e-3) * before.ss + before.n * (1e-6 * before.mean) ** 2).any():
                raise ValueError(NEVER_FITTED.format("squares"))


def group_places(groups: Any, n: int) -> np.ndarray:
    """Labels of groups as 0 … g−1, in the order of their first rows."""
    import pandas as pd

    labels = groups if hasattr(groups, "dtype") else np.asarray(groups, dtype=object)
    if labels.shape != (n,):
        raise ValueError(f"`groups` has shape {labels.shape}; it needs one label for each of the {n} rows")
    place, _ = pd.factorize(labels)
    if (place < 0).any():
        raise ValueError("`groups` has missing labels (None, NaN or NA); give each row the label of its group")
    return place


def copies(X: Any, y: Any) -> np.ndarray:
    """Group labels of rows that are the same, label included: `groups` under which copies leave together.

    A row that occurs more than once is predicted by its own copies, which makes leave-one-out too good. So are rows
    that a sampler repeated.

    Parameters
    ----------
    X : (n, d) array, sparse matrix or data frame; missing cells are equal to each other
    y : (n,) labels

    Returns
    -------
    (n,) integers 0 … g−1 in the order of first occurrence, equal where row and label are; g = n if no row has a copy

    Examples
    --------
    >>> import numpy as np
    >>> from bayesnb.inference.loo import copies
    >>> copies(np.array([[1.0, np.nan], [2.0, 3.0], [1.0, np.nan], [1.0, np.nan]]), ["a", "a", "a", "b"])
    array([0, 1, 0, 2])
    """
    import pandas as pd

    keys: list[Any] = []
    for x in (*(X.values() if isinstance(X, dict) else [X]), y):
        if is_sparse(x):
            rows = sparse.csr_array(x, dtype=float, copy=True)
            rows.sum_duplicates()
            rows.eliminate_zeros()
            ends = itertools.pairwise(rows.indptr.tolist())
            keys.append([hash(rows.indices[a:b].tobytes() + rows.data[a:b].tobytes()) for a, b in ends])
        else:
            keys += [*np.asarray(x).reshape(len(x), -1).T]
    if len(keys[-1]) != len(keys[0]):
        raise ValueError(f"`y` has {len(keys[-1])} labels, and `X` {len(keys[0])} rows; give each row its label")
    return (
        pd.DataFrame(dict(enumerate(keys)))
        .groupby([*range(len(keys))], dropna=False, sort=False)
        .ngroup()
        .to_numpy(copy=True)
    )
