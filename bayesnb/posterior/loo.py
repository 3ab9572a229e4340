"""Exact leave-one-out: every row predicted by all others, without a refit.

    elpd       = Σ_i w_i log p(y_i | x_i, D₋ᵢ)     how well labels are predicted, rows being given
    elpd_joint = Σ_i w_i log p(x_i, y_i | D₋ᵢ)     how well rows and labels are predicted

How rows leave is in `folds`: all at once by the gain of their negative statistics, or group by group. What leaves with
row i, one unit or the whole row, is in `numerics.weights`.

There are two leave-one-outs. Some estimators scale their default prior by the data: GaussianNB, GaussianDA, KernelNB,
PoissonNB, ExponentialNB, and BernoulliNB with alpha="clop". `prior="kept"` leaves that prior as all rows made it, row i
included, as `prior_` has it. `prior="refit"` takes row i out of the prior's scale too, and equals a fit on all other
rows. With all other priors the two are the same. Both keep the encoding: the labels, the levels of CategoricalNB, the
columns of MixedNB("auto").

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
from dataclasses import dataclass, field
from inspect import signature
from typing import Any

import numpy as np
from scipy import sparse

from ..models.naive_bayes import Rows
from ..numerics.arrays import Float, Shaped, Sparse, is_sparse
from ..numerics.special import log_normalize
from ..numerics.supports import check_choice
from ..numerics.weights import RowWeights, Terms, row_weights
from ..sums.rows import by_rows
from ..sums.statistics import NEVER_FITTED, Moments, Scatter, one_hot
from .folds import FittedRows, Fold, folds

_MORE_SQUARES = 1e-3  # share by which squares may exceed those of the fit, by rounding, before rows count as foreign
_MEAN_ROUNDING = 1e-6  # of a mean, as a share of it


@dataclass(frozen=True)
class LooResult:
    """Leave-one-out: every row, predicted from all other rows; exact, except for `DiscriminativeNB`.

    There are two sums over the rows. `elpd` is that of log p(y_i | x_i, D₋ᵢ), which scores the labels given the rows.
    `elpd_joint` is that of log p(x_i, y_i | D₋ᵢ), which scores the rows too. `print` shows both. `to_arviz` hands one
    to `arviz.compare`; compare only sums of one kind.

    Weights of an integer type count rows: one unit of a row leaves, and its term counts w times; weights of a float
    type are importance: the row leaves whole, and has one term; with `groups`, all rows of a group leave, as one term.

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
    are_counts : True if `weight` counts rows, False if it is importance
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
    are_counts: bool = False
    _groups: Any = field(default=None, repr=False, compare=False)  # (n,) group that a row leaves with; None: alone
    _posterior: Any = field(default=None, repr=False, compare=False)  # of all rows, which predicts them for `p_loo`
    _rows: Rows = field(default_factory=dict, repr=False, compare=False)  # what its method `log_joint` takes

    @functools.cached_property
    def log_joint(self) -> Float[np.ndarray, "n c"]:
        """log p(x_i, y = c | D₋ᵢ), nats."""
        return by_rows(self._log_joint_of, {"x": self.log_prior})

    def _log_joint_of(self, part: slice) -> np.ndarray:
        """`log_joint` of a slice of the rows: log prior plus the log density of each part, (rows of the slice, c)."""
        tables = (table[part] for table in self.by_block.values())
        return sum(tables, self.log_prior[part])

    @functools.cached_property
    def log_proba(self) -> Float[np.ndarray, "n c"]:
        """Log class probabilities log p(y = c | x_i, D₋ᵢ) in nats, (n, c)."""
        return by_rows(lambda part: log_normalize(self._log_joint_of(part)), {"x": self.log_prior})

    @property
    def proba(self) -> Float[np.ndarray, "n c"]:
        """Class probabilities p(y = c | x_i, D₋ᵢ), (n, c)."""
        return np.exp(self.log_proba)

    @property
    def predicted(self) -> Shaped[np.ndarray, " n"]:
        """The most probable label of each row, (n,)."""
        return self.classes[self.log_joint.argmax(1)]

    @property
    def weights(self) -> RowWeights:
        """The weights, with the rule for sums and their standard errors."""
        return RowWeights(self.weight, self.are_counts)

    def terms(self, pointwise: Float[np.ndarray, " n"]) -> Terms:
        """Independent terms of Σ_i w_i t_i, t_i a number of each row; rows that leave together have one."""
        return self.weights.terms(pointwise, self._groups)

    def _of_label(self, table: np.ndarray) -> np.ndarray:
        """Of a table (n, c), the value of each row in the column of its own label, (n,).

        Of the table [[1, 2], [3, 4]] with the labels 1 and 0 these are 2 and 3.
        """
        own_column = self.index[:, None]  # (n, 1)
        return np.take_along_axis(table, own_column, 1)[:, 0]

    @property
    def pointwise(self) -> Float[np.ndarray, " n"]:
        """log p(y_i | x_i, D₋ᵢ) in nats, (n,), without the weights."""
        return self._of_label(self.log_proba)

    @property
    def pointwise_joint(self) -> Float[np.ndarray, " n"]:
        """log p(x_i, y_i | D₋ᵢ) in nats, (n,), without the weights."""
        return self._of_label(self.log_joint)

    @functools.cached_property
    def _log_joint_of_fit(self) -> np.ndarray:
        """log p(x_i, y = c | D), row i included: a table of predictions, made when it is asked for."""
        return self._posterior.log_joint(self._rows)

    @property
    def elpd(self) -> float:
        """Expected log predictive density of the labels: Σ_i w_i log p(y_i | x_i, D₋ᵢ), in nats."""
        return float(self.weights.total_of(self.pointwise))

    @property
    def se(self) -> float:
        """Standard error of `elpd`, from its independent terms.

        Of n rows of weight 1, or counts of n rows, it is √(n · variance of the n terms). Of importance weights it is
        √(Σ_i w_i² (t_i − m)²), where m is the weighted mean: Σw times the standard error of m. A group has one term.
        """
        return float(self.terms(self.pointwise).standard_error())

    @property
    def elpd_joint(self) -> float:
        """Expected log predictive density of rows and labels: Σ_i w_i log p(x_i, y_i | D₋ᵢ), in nats."""
        return float(self.weights.total_of(self.pointwise_joint))

    @property
    def se_joint(self) -> float:
        """Standard error of `elpd_joint`."""
        return float(self.terms(self.pointwise_joint).standard_error())

    @property
    def p_loo(self) -> float:
        """Effective number of parameters: how much Σ_i w_i log p(y_i | x_i) decreases if each row is left out.

        It is Σ_i w_i [log p(y_i | x_i, D) − log p(y_i | x_i, D₋ᵢ)], with D all rows and D₋ᵢ all but row i.
        """
        of_fit = self._of_label(log_normalize(self._log_joint_of_fit))  # log p(y_i | x_i, D), (n,)
        return float(self.weights.total_of(of_fit - self.pointwise))

    @property
    def p_loo_joint(self) -> float:
        """Effective number of parameters: how much Σ_i w_i log p(x_i, y_i) decreases if each row is left out.

        It is Σ_i w_i [log p(x_i, y_i | D) − log p(x_i, y_i | D₋ᵢ)], with D all rows and D₋ᵢ all but row i.
        """
        of_fit = self._of_label(self._log_joint_of_fit)  # log p(x_i, y_i | D), (n,)
        return float(self.weights.total_of(of_fit - self.pointwise_joint))

    @property
    def accuracy(self) -> float:
        """Weighted share of the rows that are classified correctly from all other rows.

        A row's own label is missing from what predicts it, so that a row counts against its own class: on noise with
        classes of equal size the accuracy is below one half, and the area under a curve over all rows is .38 to .45
        (20 to 200 rows). `roc_curves` compares only rows of one fold, with .50 there. The log loss suffers less.
        """
        is_right = self.log_joint.argmax(1) == self.index  # (n,)
        return float(self.weight @ is_right / self.weight.sum())

    @property
    def log_loss(self) -> float:
        """Log loss: −elpd divided by the total weight, in nats."""
        return -self.elpd / float(self.weight.sum())

    def to_arviz(self, kind: str) -> Any:
        """The result as ArviZ's `ELPDData`, for `arviz.compare` and its plots.

        The kinds are the variables of the group log_likelihood of `sample_posterior(X=X, y=y)`, from which `arviz.loo`
        estimates the same numbers, except for `KernelNB`. ArviZ cannot see which of the two a result is, so give one
        word to all: `arviz.compare({"exact": a.to_arviz("joint"), "draws": data}, var_name="joint")`.

        Parameters
        ----------
        kind : "y_given_x" for log p(y_i | x_i, D₋ᵢ), "joint" for log p(x_i, y_i | D₋ᵢ)

        Raises
        ------
        ValueError
            if `kind` is neither of the two
        """
        from .to_arviz import elpd_data

        check_choice("kind", kind, ("y_given_x", "joint"))
        if kind == "y_given_x":
            terms = self.terms(self.pointwise)
            se = self.se
            p_loo = self.p_loo
        else:
            terms = self.terms(self.pointwise_joint)
            se = self.se_joint
            p_loo = self.p_loo_joint

        # ArviZ knows no weights: of a row that counts k times, `times` is k, and its term is given k times
        values = np.repeat(terms.value, terms.times.astype(int))
        return elpd_data(values, se, p_loo)

    def __str__(self) -> str:
        """What `print` shows: a table of the sums with their standard errors, and how many rows are classified well."""
        kind = "exact" if self.exact else "approximate"
        meaning = "`elpd` scores the labels given the rows"

        # a line of the table each: name, sum, standard error, effective number of parameters. Leave-one-out that is not
        # exact is that of a discriminative model, which has no density of rows, and so no second line
        figures = [("elpd        log p(y | x)", self.elpd, self.se, self.p_loo)]
        if self.exact:
            meaning += "; `elpd_joint` also scores the rows"
            figures.append(("elpd_joint  log p(x, y)", self.elpd_joint, self.se_joint, self.p_loo_joint))
        table = [f"{name:24}{elpd:12.2f}{se:10.2f}{p_loo:10.2f}" for name, elpd, se, p_loo in figures]

        lines = [
            f"{kind} leave-one-out of {self._rows_in_words()}, {len(self.classes)} classes; nats",
            f"{'':24}{'sum':>12}{'se':>10}{'p_loo':>10}",
            *table,
            meaning,
            f"accuracy {self.accuracy:.4f}, log loss {self.log_loss:.4f}",
        ]
        return "\n".join(lines)

    def _rows_in_words(self) -> str:
        """How many rows there are, and what their weights mean unless all are 1."""
        rows = f"{len(self.index)} rows"
        if (self.weight == 1).all():
            return rows
        return f"{rows} ({self.weights.describe()})"


def loo(
    fitted: Any, X: Any, y: Any, sample_weight: Any = None, *, prior: str = "kept", groups: Any = None
) -> LooResult:
    """Exact leave-one-out of training rows of a fitted fitted.

    Parameters
    ----------
    fitted : view (`ModelView`) of a fitted estimator. Its posterior is used as it is, always with
        estimate="predictive" and without the option `norm` of ComplementNB
    X, y, sample_weight : all or some of the rows, labels and weights, as they were fitted. Weights of an integer type
        count rows: one unit of a row leaves. Weights of a float type are importance: the row leaves whole
    prior : "kept" (default) keeps the prior of the fit. "refit" removes row i from the scale of the prior too, if the
        data scale it. The result equals a fit on all other rows
    groups : (n,), optional
        labels of groups of rows that are left out together. Row i is predicted without all given rows of its group,
        and without all their units

    Raises
    ------
    ValueError
        if a class has less weight than its rows, or a row would leave negative counts or squares, because such rows
        were never fitted; if `prior` is neither "kept" nor "refit"; or if `groups` does not have one label for each
        row. Also if fewer than nine digits of the statistics would remain without a row, and `X` does not have all
        rows of the fit, so that they cannot be summed again

    Notes
    -----
    Nine digits are right where each cell is within 1e4 spreads of the other rows of its class, for weights from 1e-8
    to 1e8.

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
    rows, index = fitted.encode_labelled(X, y)  # cells by block, and the class of each row, (n,)
    weights = row_weights(sample_weight, len(index))
    group = None if groups is None else group_places(groups, len(index))

    # rows that were never fitted cannot be left out: an error if these are such. `one_hot` is the table (n, c) with the
    # weight of each row in the column of its class
    _check_fitted(fitted, rows, one_hot(index, len(fitted.classes), weights.values))

    # a class, or a column, that loses its only row has logarithms and quotients of 0
    with np.errstate(invalid="ignore", divide="ignore"):
        return leave_out(fitted, rows, index, weights, group, prior)


def loo_in_analyses(model: Any, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> LooResult:
    """`loo` of a fitted model; rows leave the scale of the prior too where that costs no fits. Provisional.

    A model whose `loo` has no `prior`, such as a discriminative one, leaves no choice.
    """
    has_choice = "prior" in signature(model.loo).parameters
    options = {"prior": model.model_.loo_prior} if has_choice else {}  # "refit" where that costs no fits
    return model.loo(X, y, sample_weight, groups=groups, **options)


def leave_out(
    fitted: Any,
    rows: Rows,
    index: np.ndarray,
    weights: RowWeights,
    group: np.ndarray | None,
    prior: str,
    scores: bool = False,
) -> LooResult:
    """`loo` of encoded rows that were fitted: n rows, c classes.

    Parameters
    ----------
    fitted : view (`ModelView`) of a fitted estimator
    rows, index, weights : rows by block, (n, columns) each; class (n,) and weight of each
    group : (n,) group of each row, 0 … g−1; None where each row leaves alone
    prior : "kept" or "refit", as in `loo`
    scores : True may leave out terms of a row that are the same in all classes: enough for class probabilities
    """
    # a part is a set of columns with an estimator of its own, as in MixedNB; a block has the columns of one family
    parts = fitted.blocks_of_parts  # name of each part of a row → names of its blocks

    # a fold is a set of rows with one model that predicts them without themselves. All predictions together are one
    # table (n, c) of log p(y = c | D₋ᵢ), then one of log p(x_i,part | y = c, D₋ᵢ) for each part
    by_fold = folds(fitted, FittedRows(rows, index, weights, group), prior)
    shape = (len(index), len(fitted.classes))
    log_prior, *tables = _log_tables(by_fold, rows, shape, [*parts.values()], scores)
    return LooResult(
        classes=fitted.classes,
        index=index,
        weight=weights.values,
        log_prior=log_prior,
        by_block=dict(zip(parts, tables, strict=True)),
        prior=prior,
        are_counts=weights.are_counts,
        _groups=group,
        _posterior=fitted.posterior,
        _rows=rows,
    )


def _log_tables(
    by_fold: Iterator[Fold], rows: Rows, shape: tuple[int, int], parts: list[Any], scores: bool
) -> Float[np.ndarray, "p n c"]:
    """The predictions of all rows, each from the data without it, collected from the folds that predict them.

    Parameters
    ----------
    by_fold : folds, sets of rows with the model that predicts them; every row is in one fold
    rows : all n rows, by block
    shape : (n, c), numbers of rows and classes
    parts : names of the blocks of each part of a row
    scores : whether terms that are the same in all classes may be left out

    Returns
    -------
    tables (n, c) in nats: first log p(y = c | D₋ᵢ), then log p(x_i,part | y = c, D₋ᵢ) of each part
    """
    tables = np.empty((1 + len(parts), *shape))
    for fold in by_fold:
        fold_tables = fold.log_parts(rows, parts, scores)  # (1 + number of parts, rows of the fold, c)
        if isinstance(fold.rows, slice):  # all rows in one fold: its tables need not be copied
            return fold_tables
        tables[:, fold.rows] = fold_tables
    return tables


def _check_fitted(fitted: Any, rows: Rows, r: Sparse) -> None:
    """ValueError where removing all of the rows would leave negative counts or squares: they were never fitted.

    Parameters
    ----------
    fitted : view (`ModelView`) of a fitted estimator
    rows, r : rows by block, and their weights (n, c) in each class
    """
    removed = fitted.prior.suffstats(rows, r)  # statistics of these rows
    remaining = fitted.remaining(removed, r.shape[0]).estimate  # of all other rows; raises on negative ones

    # foreign rows of large cells may pass that, because the bound of their rounding is large too. Only statistics with
    # squares have to be looked at again
    for name, removed_block in removed.blocks.items():
        if isinstance(removed_block, Moments | Scatter):
            _check_squares(fitted.statistics.blocks[name], remaining.blocks[name], removed_block)


def _check_squares(fitted: Any, remaining: Any, removed: Any) -> None:
    """ValueError where the rows, put back, would make more squares than the fit has: they were no part of it.

    Foreign rows of very large cells bring so much rounding that their difference from the fit is within its bound, and
    then 0 seems to remain. They show when `remaining` and `removed` are added again: the sum should have the squares of
    the fit, and has more.

    Parameters
    ----------
    fitted, remaining, removed : statistics of a block: of the fit, of what seems to remain, and of the removed rows
    """
    # weight n, mean and squares ss of each class and column, (c, d); no cross products
    before = fitted.moments()
    again = remaining.moments() + removed.moments()

    # squares about the mean m of the fit, by Steiner's theorem: Σ (x − m)² = Σ (x − x̄)² + n (x̄ − m)², with x̄ the mean
    # of the sum
    squares = again.ss + before.n * (again.mean - before.mean) ** 2

    # those of the fit, and what rounding explains: a share of the squares, and a share of the mean in every cell
    limit = (1 + _MORE_SQUARES) * before.ss + before.n * (_MEAN_ROUNDING * before.mean) ** 2
    if (squares > limit).any():
        raise ValueError(NEVER_FITTED.format("squares"))


def groups_in_words(groups: Any, n: int) -> str:
    """How many groups n rows have, and how large they are, such as "40 groups of 1 to 5 rows"."""
    sizes = np.bincount(group_places(groups, n))
    rows = f"{sizes.min():,}" if sizes.min() == sizes.max() else f"{sizes.min():,} to {sizes.max():,}"
    return f"{len(sizes):,} groups of {rows} row{'s' if sizes.max() > 1 else ''}"


def group_places(groups: Any, n: int) -> np.ndarray:
    """Labels of the groups of n rows as integers 0 … g−1, (n,), in the order of their first rows.

    Raises
    ------
    ValueError
        if there is not one label for each row, or if a label is missing
    """
    import pandas as pd

    # labels of a list may be of several types; an array of objects keeps them as they are
    is_array = hasattr(groups, "dtype")  # or a column of a data frame
    labels = groups if is_array else np.asarray(groups, dtype=object)
    if labels.shape != (n,):
        raise ValueError(f"`groups` has shape {labels.shape}; it needs one label for each of the {n} rows")
    group, _ = pd.factorize(labels)  # (n,) numbers of the labels, −1 for a missing label
    if (group < 0).any():
        raise ValueError("`groups` has missing labels (None, NaN or NA); give each row the label of its group")
    return group


def copies(X: Any, y: Any) -> np.ndarray:
    """Group labels of rows that are the same, label included: `groups` under which copies leave together.

    A row that occurs more than once is predicted by its own copies, which makes leave-one-out too good. So are rows
    that a sampler repeated.

    Parameters
    ----------
    X : (n, d) array, sparse matrix or data frame; missing cells are equal to each other. Or a mapping of several, whose
        columns stand side by side
    y : (n,) labels

    Returns
    -------
    (n,) integers 0 … g−1 in the order of first occurrence, equal where row and label are; g = n if no row has a copy

    Examples
    --------
    >>> import numpy as np
    >>> from bayesnb.posterior.loo import copies
    >>> copies(np.array([[1.0, np.nan], [2.0, 3.0], [1.0, np.nan], [1.0, np.nan]]), ["a", "a", "a", "b"])
    array([0, 1, 0, 2])
    """
    import pandas as pd

    # keys by which rows are compared, each an array or list (n,): every column of dense rows, one hash of each sparse
    # row, and last the label
    tables = [*X.values()] if isinstance(X, dict) else [X]
    keys: list[Any] = []
    for x in tables:
        if is_sparse(x):
            keys.append(_hashes(x))
        else:
            keys.extend(_columns(x))
    keys.extend(_columns(y))
    if len(keys[-1]) != len(keys[0]):
        raise ValueError(f"`y` has {len(keys[-1])} labels, and `X` {len(keys[0])} rows; give each row its label")

    # Rows that are equal in all keys are a group; missing cells are equal with dropna=False. `ngroup` gives the number
    # of the group of each row, and with sort=False groups are numbered by their first rows: rows a b a have 0 1 0.
    table = pd.DataFrame(dict(enumerate(keys)))  # the columns are called 0, 1, …
    groups = table.groupby([*table.columns], dropna=False, sort=False)
    return groups.ngroup().to_numpy(copy=True)


def _columns(x: Any) -> list[np.ndarray]:
    """The columns, (n,) each, of dense rows (n, d), or of labels (n,), which are a single column."""
    table = np.asarray(x).reshape(len(x), -1)
    return [table[:, j] for j in range(table.shape[1])]


def _hashes(x: Sparse) -> list[int]:
    """A number for each sparse row, the same where all cells are: the hash of its columns and cells."""
    # sparse rows can be stored in several ways. Bring them to one: every cell once, in the order of the columns, and no
    # zeros
    rows = sparse.csr_array(x, dtype=float, copy=True)
    rows.sum_duplicates()
    rows.eliminate_zeros()

    # in the CSR format the cells of row i stand from indptr[i] to indptr[i + 1]: for rows with 2, 0 and 3 stored cells
    # indptr is 0 2 2 5, and the pairs (start, end) are (0, 2), (2, 2) and (2, 5)
    hashes = []
    for start, end in itertools.pairwise(rows.indptr.tolist()):
        columns = rows.indices[start:end].tobytes()
        cells = rows.data[start:end].tobytes()
        hashes.append(hash(columns + cells))
    return hashes
