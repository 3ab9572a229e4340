"""Naive Bayes whose columns have weights, fitted to exact leave-one-out: as sharp as logistic regression and boosting.

Naive Bayes counts dependent columns as independent evidence, and ignores a column that matters only beside another one.
A softmax regression on the columns' log densities cures both. It has a weight for each column, and a linear term:

    η_ic = log p(y_i = c) + Σ_j w_j t_ijc + (Bᵀz_i)_c        p(y_i = c | x_i) = softmax η_i        w_j > 0
    t_ijc = log p(x_ij | y_i = c, D₋ᵢ), relative to the best class and not below −log n

The columns j are each number under its own family; each level; each number in bins of equally many rows, which no label
chose; and a whole row under one-dependence on quarters, which sees pairs. z has standardised numbers and one-hot
levels. Sparse rows of counts are one column, and z has the principal axes of their logarithms.

Exact leave-one-out makes t_i a prediction of row i by all other rows. The weights can therefore be fitted to the rows
that the densities were fitted to. New rows take the densities of all rows. Leaving row i out lowers the density of its
own class. A negative weight would read the label from that, so the weights are positive. z involves no label, so its
coefficients may have any sign. The scales of both priors are averaged over: see `_column_weights`.

References
----------
Fan, Feng, Jiang & Tong (2016), Feature augmentation via nonparametrics and selection (FANS) in high-dimensional
classification, JASA 111; there half of the rows make the densities and the other half the weights.
Raina, Shen, Ng & McCallum (2003), Classification with hybrid generative/discriminative models, NIPS.
Zaidi, Cerquides, Carman & Webb (2013), Alleviating naive Bayes attribute independence assumption by attribute
weighting, JMLR 14.
"""

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import pandas as pd
from scipy import linalg, sparse
from scipy.special import logsumexp
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.preprocessing import normalize
from sklearn.utils import Tags, gen_batches, get_tags
from sklearn.utils.extmath import randomized_svd
from sklearn.utils.validation import check_is_fitted

from ..core.arrays import Scalar, is_sparse
from ..core.pytrees import record
from ..core.random import generator
from ..core.special import log_normalize
from ..core.supports import check_choice, check_least
from ..estimators import CategoricalNB, MixedNB, MultinomialNB, OneDependenceNB
from ..inference.explanation import odds_against
from ..inference.loo import LooResult, copies, group_places
from ..inference.report import CheckReport
from ..io import Saved
from ._column_weights import (
    SHARES_POWER,
    Regression,
    contrasts,
    draw,
    find_modes,
    left_out_log_proba,
    numpyro_model,
)
from ._predicted import Known, OfLogProba
from ._suited import weights_of
from .binning import binned
from .calibration import has_fractions
from .importance import importance

_MOST_PARAMETERS, _MOST_AXES = 1500, 256  # of the linear term where rows are many; principal axes of counts
_MOST_LEVELS = 600  # of the columns whose pairs are looked at
_FAR, _LENGTH = 6.0, 10.0  # standard deviations of a number; length of a row of log counts
_ROWS, _DRAWS, _CHECKED = 1 << 12, 200, 400  # rows predicted at a time; draws that are kept; rows of the check
_BESIDE = ("(pairs of columns)", "(all counts)", "(class prior)", "(averaging)")  # the columns of an explanation


@record
@dataclass(frozen=True, eq=False)
class ColumnLayout:
    """How encoded rows become columns of the regression. Dense cells are numbers, then levels; sparse ones are counts.

    Fields
    ------
    sizes : number of levels of each column of levels
    used : positions of the numbers that vary
    edges, quarters : upper ends of the bins of each of these
    centre, scale : of these numbers
    shares : of the levels of all columns, one after the other
    cut : log n
    axes : directions of the linear term; None for all of its columns
    """

    sizes: list[int]
    used: np.ndarray
    edges: list[np.ndarray]
    quarters: list[np.ndarray]
    centre: np.ndarray
    scale: np.ndarray
    shares: np.ndarray
    cut: float
    axes: Any = None

    @classmethod
    def of(cls, cells: Any, sizes: list[int], weight: np.ndarray, c: int) -> "ColumnLayout":
        """The layout of training rows."""
        n, (x, codes) = weight.sum(), _split(cells, sizes)
        known = np.where(np.isnan(x), 0, weight[:, None])
        total, x = np.maximum(known.sum(0), 1e-300), np.where(known > 0, x, 0)
        centre = (known * x).sum(0) / total
        scale = np.sqrt((known * (x - centre) ** 2).sum(0) / total)
        used = np.flatnonzero(scale > 1e-12 * abs(centre))
        k = int(np.clip(round(np.sqrt(n / c) / 1.5), 3, 12))
        edges, quarters = ([_edges(x[:, j], known[:, j], some) for j in used] for some in (k, 4))
        seen = np.repeat(weight @ ~np.isnan(codes), sizes)
        shares = weight @ _one_hot(codes, sizes) / np.maximum(seen, 1e-300)
        found = cls(sizes, used, edges, quarters, centre[used], scale[used], shares, float(np.log(max(n, 2))))
        raw, n_rows, m = found.raw(cells), len(weight), c - 1
        most = min(n_rows, _MOST_PARAMETERS // m, _MOST_AXES if is_sparse(raw) else n_rows)
        if raw.shape[1] <= most:
            return found
        rows = raw * np.sqrt(weight)[:, None]
        few = randomized_svd(rows, most, random_state=0) if is_sparse(raw) else linalg.svd(rows, full_matrices=False)
        return replace(found, axes=few[2][:most].T)

    def columns(self, cells: Any) -> tuple[Any, np.ndarray]:
        """Rows as the model of columns takes them, and as that of pairs does."""
        x, codes = _split(cells, self.sizes)
        x = x[:, self.used]
        pairs = np.hstack([binned(x, self.quarters), codes])
        return cells if is_sparse(cells) else np.hstack([x, codes, binned(x, self.edges)]), pairs

    def raw(self, cells: Any) -> Any:
        """The columns of the linear term before they are rotated; a missing cell is 0."""
        if is_sparse(cells):
            return _LENGTH * normalize(sparse.csr_array(cells).log1p())
        x, codes = _split(cells, self.sizes)
        x = np.clip((x[:, self.used] - self.centre) / self.scale, -_FAR, _FAR)
        hot = _one_hot(codes, self.sizes) - self.shares * np.repeat(~np.isnan(codes), self.sizes, axis=1)
        return np.hstack([np.nan_to_num(x), hot])

    def linear(self, cells: Any) -> np.ndarray:
        """z, and a last column of ones."""
        raw = self.raw(cells)
        raw = raw if self.axes is None else raw @ self.axes
        return np.column_stack([raw.toarray() if is_sparse(raw) else raw, np.ones(raw.shape[0])])


def _split(cells: Any, sizes: list[int]) -> list[np.ndarray]:
    """Numbers and codes of levels."""
    cells = np.empty((cells.shape[0], 0)) if is_sparse(cells) else cells
    return np.split(cells, [cells.shape[1] - len(sizes)], axis=1)


def _edges(x: np.ndarray, weight: np.ndarray, k: int) -> np.ndarray:
    """Upper ends of the first k − 1 of k bins of equal weight; each is a cell."""
    at = np.arange(1, k) / k
    return np.unique(np.quantile(x[weight > 0], at, weights=weight[weight > 0], method="inverted_cdf"))


def _one_hot(codes: np.ndarray, sizes: list[int]) -> np.ndarray:
    return np.repeat(codes, sizes, axis=1) == np.concatenate([np.arange(0), *map(np.arange, sizes)])


class DiscriminativeNB(OfLogProba, Saved, ClassifierMixin, BaseEstimator):
    """Naive Bayes with a weight for each column, fitted to exact leave-one-out: it predicts as sharply as boosting.

        log p(y_i = c | x_i) = log p(y_i = c) + Σ_j w_j log p(x_ij | y_i = c) + (Bᵀz_i)_c + constant of the row

    The densities p(x_ij | y = c) are those of naive Bayes. Each column has a positive weight w_j, and z are the
    standardised numbers and one-hot levels. The weights and B are fitted to the densities of each row given all other
    rows, so they know how far each column can be trusted beside the others. The prediction averages the most probable
    weights over the scales of their priors. It is a penalised estimate, not the posterior of one model: the densities
    do not learn from the weights, and there is no `log_evidence_`, `sample`, `partial_fit`, `forget` or `merge`.

    Parameters
    ----------
    parts : what the columns are, as in `MixedNB`: "auto" (default), or a list of (name, estimator, columns). The
        estimator of a part is fitted to each of its columns alone. "auto" reads a data frame by its column contract;
        sparse rows are counts, one `MultinomialNB` for all columns

    Attributes
    ----------
    reader_ : the fitted `MixedNB` of `parts`; it reads rows. `reader_.contract_` says what each column of a frame is
    models_ : the fitted densities: a `MixedNB` with a part for each column of the regression, and a `OneDependenceNB`
        of whole rows, which is left out of a single column or of more than 600 levels
    layout_ : how rows become columns of the regression: bins, spreads, axes
    modes_ : the most probable weights for each pair of scales, with their share in the prediction
    draws_ : w and B of 200 draws of the scales and weights
    classes_, n_features_in_, feature_names_in_ : as in scikit-learn

    Notes
    -----
    A missing cell adds nothing. A level that no training row has counts as missing. A column that does not vary is not
    used. Rows with fractions that occur more than once leave together: they are one row with the sum of the weights.
    A row of weight 2 is the same as two such copies.

    A fit takes about as long as `LogisticRegressionCV` for two classes. It needs memory for n (c − 1) numbers a column.

    Examples
    --------
    >>> import bayesnb
    >>> cancer = bayesnb.datasets.load("breast_cancer")
    >>> X, y = cancer.X[::2], cancer.y[::2]
    >>> new = cancer.X[1::2], cancer.y[1::2]
    >>> sharp, plain = bayesnb.DiscriminativeNB().fit(X, y), bayesnb.GaussianNB().fit(X, y)
    >>> [round(nb.score(*new), 2) for nb in (sharp, plain)]
    [0.96, 0.94]
    """

    _learnt_names = frozenset({"reader_", "models_", "layout_", "modes_", "draws_"})
    _inside = "reader_"
    _of_inside = (
        "classes_ n_features_in_ feature_names_in_ feature_names prior_ class_count_ contract_ levels_of ignored_by_loo"
    )
    _lacks = " (it models labels given rows, so it has no evidence and draws no rows)"
    models_: list[Any]

    def __init__(self, parts: Any = "auto") -> None:
        self.parts = parts

    # --- fitting ----------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Fit the densities to all rows, and the weights to their leave-one-out densities.

        Parameters
        ----------
        X : rows in any form that `MixedNB` accepts; or a sparse matrix of counts
        y : (n,) labels of at least two classes
        sample_weight : (n,) weights; a row is left out with its whole weight
        groups : (n,) labels of groups of rows that belong together, such as several measurements of one person. They
            leave together

        Raises
        ------
        ValueError
            if there is one class, or if `MixedNB` refuses the rows
        """
        new = clone(self)  # which takes the place of what was learnt when all is done
        automatic = is_sparse(X) and isinstance(self.parts, str)
        reader = MixedNB([("counts", MultinomialNB(), slice(None))] if automatic else self.parts)
        new.reader_ = reader.fit(X, y, sample_weight)
        if (c := len(new.classes_)) < 2:
            raise ValueError(f"`y` has one class, {new.classes_[0]!r}; DiscriminativeNB needs rows of two classes")
        if any(k is not None for *_, k in reader.part_estimators()):
            raise ValueError("`parts` has an estimator for each class; DiscriminativeNB needs one for all classes")
        cells, label, weight, groups, _ = new.training(X, y, sample_weight, groups)
        of_column = {j: one for _, one, columns in new.reader_.parts_ for j in columns}
        numbers = [of_column[j] for at, size in new._blocks().values() if not size for j in at]
        sizes = [size for at, size in new._blocks().values() if size for _ in at]
        new.layout_ = layout = ColumnLayout.of(cells, sizes, weight, c)
        own = numbers[:1] if is_sparse(cells) else [numbers[j] for j in layout.used]
        both, few = layout.columns(cells)
        bins, quarters = ([len(e) + 1 for e in edges] for edges in (layout.edges, layout.quarters))
        own += [CategoricalNB(min_categories=k) for k in (*sizes, *bins)]
        if not own:
            raise ValueError("`X` has no column that varies; give at least one")
        parts = [(str(i), one, slice(None) if is_sparse(cells) else [i]) for i, one in enumerate(own)]
        new.models_ = [MixedNB(parts).partial_fit(both, label, new.classes_, weight)]
        if few.shape[1] > 1 and sum(quarters) + sum(sizes) <= _MOST_LEVELS:
            pairs = OneDependenceNB(min_categories=[*quarters, *sizes])
            new.models_ += [pairs.partial_fit(few, label, new.classes_, weight)]
        rows = new.left_out(cells, label, weight, groups)
        new.modes_ = find_modes(rows)
        new.draws_ = draw(rows, new.modes_, _DRAWS)
        self.__dict__ |= new.__dict__
        return self

    def _blocks(self) -> dict[str, tuple[np.ndarray, int]]:
        """Columns and number of levels of each block of the reader, first those of numbers, which have 0 levels."""
        at, found = self.reader_.block_columns(), {}
        for name, block in self.reader_.prior_.blocks.items():
            kind = block.cells_.kind
            found[name] = at[name], 2 if kind == "yes/no" else block.alpha.shape[-1] if kind == "levels" else 0
        return dict(sorted(found.items(), key=lambda item: item[1][1] > 0))

    def _cells(self, X: Any) -> Any:
        rows, names = self.reader_.encode(X), [*self._blocks()]
        block = self.reader_.prior_.blocks[names[0]]
        if len(names) == 1 and block.cells_.kind == "counts" and not block.inner.separable:
            return sparse.csr_array(rows[names[0]])
        return np.hstack([rows[name] for name in names])

    def _views(self, cells: Any) -> list[tuple[Any, Any]]:
        """Each model of densities with the rows as it takes them; there may be none of pairs."""
        return [*zip(self.models_, self.layout_.columns(cells), strict=False)]

    def training(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> tuple[Any, ...]:
        """Cells, label, weight and group of training rows, copies merged; and where each given row is. Provisional."""
        index, cells = self.reader_.class_index(y), self._cells(X)
        label, n = self.classes_[index], len(index)
        weight = weights_of(sample_weight, n)
        if groups is not None:
            return cells, label, weight, group_places(groups, n), np.arange(n)
        place, plain = copies(cells, index), ~has_fractions(cells)  # rows of whole numbers may be equal by chance
        place[plain] = n + np.arange(plain.sum())
        _, first, place = np.unique(place, return_index=True, return_inverse=True)
        return cells[first], label[first], np.bincount(place, weight), None, place

    def left_out(self, cells: Any, label: np.ndarray, weight: np.ndarray, groups: Any) -> Regression:
        """What the regression reads of training rows, each of them left out of its own columns. Provisional."""
        found = [nb.loo(x, label, weight, groups=groups) for nb, x in self._views(cells)]
        tables = [table for one in found for table in one.by_block.values()]
        own = (label[:, None] == self.classes_).astype(float)
        return self.regression(cells, tables, found[0].log_prior, label=own, weight=weight, groups=groups)

    def _new(self, cells: Any) -> Regression:
        """What the regression reads of new rows."""
        tables = [t for nb, x in self._views(cells) for t in nb.predict_part_log_likelihood(x).values()]
        return self.regression(cells, tables)

    def regression(self, cells: Any, tables: Any, log_prior: Any = None, **training: Any) -> Regression:
        """The columns of the regression from tables log p(x_ij | y = c) of rows. Provisional."""
        t = np.stack(tables, 2)
        t = np.maximum(t - t.max(1, keepdims=True), -self.layout_.cut)
        log_prior = self.models_[0].class_log_prior_ if log_prior is None else log_prior
        offset, k = np.broadcast_to(log_prior, t.shape[:2]), contrasts(t.shape[1])
        return Regression(offset, np.einsum("ck,ncj->nkj", k, t), self.layout_.linear(cells), **training)

    # --- prediction -------------------------------------------------------------------------------------------------

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """log p(y = c | x_i) in nats, (n, c): p is averaged over the modes."""
        check_is_fitted(self, "modes_")
        cells = self._cells(X)
        return np.concatenate([self._mean(self._new(cells[part])) for part in gen_batches(cells.shape[0], _ROWS)])

    def _mean(self, rows: Regression) -> np.ndarray:
        return logsumexp([np.log(one.share) + rows.log_proba(one.w, one.b) for one in self.modes_], axis=0)

    def sample_proba(self, X: Any, n_draws: int = 200, seed: int | np.random.Generator | None = None) -> np.ndarray:
        """Draws of the class probability, (s, n, c), over scales, weights and the parameters of the densities.

        Each draw takes one of the 200 draws of scales and weights that `fit` made, and the parameters of all densities
        from their posterior.
        """
        check_is_fitted(self, "modes_")
        check_least(1, n_draws=n_draws)
        rng, cells, found = generator(seed), self._cells(X), []
        models = [(nb.posterior_, [*nb.part_blocks().values()], nb.encode(x)) for nb, x in self._views(cells)]
        for at in rng.permutation(np.arange(n_draws) % _DRAWS):
            tables = [t for nb, parts, x in models for t in nb.log_parts(x, parts, nb.sample(rng))]
            found.append(np.exp(self.regression(cells, tables).log_proba(*(one[at] for one in self.draws_))))
        return np.stack(found)

    # --- what the columns do ----------------------------------------------------------------------------------------

    def _contributions(self, rows: Regression, cells: Any) -> np.ndarray:
        """What columns of X, pairs, all counts and the class prior add to a mean of η over modes, (d + 3, n, c).

        A mode counts by its share times √(1 − Σ_c p_c²), so that one which is sure hardly changes the mean.
        """
        layout, k, d = self.layout_, contrasts(len(self.classes_)), self.n_features_in_
        at = np.concatenate([columns for columns, _ in self._blocks().values()])
        of_t, of_z, raw = [d + 1], at, layout.raw(cells)
        if is_sparse(cells):
            raw = raw.toarray()
        else:
            numbers, levels = np.split(at, [len(at) - len(layout.sizes)])
            numbers = numbers[layout.used]
            of_t = [*numbers, *levels, *numbers, *[d] * (len(self.models_) - 1)]
            of_z = np.append(numbers, np.repeat(levels, layout.sizes))
        p = np.exp([rows.log_proba(one.w, one.b) for one in self.modes_])
        share = np.array([one.share for one in self.modes_])[:, None] * np.sqrt(1 - np.square(p).sum(2) + 1e-99)
        found = np.zeros((d + 3, len(raw), len(k)))
        for one, part in zip(self.modes_, share / share.sum(0), strict=True):
            coef, part = one.b[:-1] if layout.axes is None else layout.axes @ one.b[:-1], part[:, None]
            np.add.at(found, np.array(of_t, int), np.einsum("nkj,ck->jnc", rows.t * one.w, k) * part)
            np.add.at(found, of_z, raw.T[:, :, None] * (coef @ k.T)[:, None] * part)
            found[-1] += (rows.offset + k @ one.b[-1]) * part
        return found

    def explain(self, X: Any, *, against: Any = None) -> pd.DataFrame:
        """What each column of each row adds to the log odds of each class, in nats.

        A column adds w_j t_ij of its density, of its bins, and its share of Bᵀz_i. "(pairs of columns)" is the table of
        the whole row under one-dependence. "(averaging)" is what remains: log odds of an average of probabilities are
        not the average of the log odds. The sum is exactly the log odds of `predict_proba`.

        Parameters
        ----------
        X : (n, d) rows, as in `predict`
        against : the class that the odds are against. By default it is the other class, or with more than two classes
            the geometric mean of all others

        Returns
        -------
        DataFrame with the columns row, feature, class_ and contribution
        """
        check_is_fitted(self, "modes_")
        labels = self.classes_.tolist()
        check_choice("against", against, (None, *labels))
        cells = self._cells(X)
        rows = self._new(cells)
        found = self._contributions(rows, cells)
        found = np.concatenate([found, [self._mean(rows) - found.sum(0)]]).swapaxes(0, 1)
        odds = odds_against(len(labels), None if against is None else labels.index(against))
        names = [*self.feature_names(), *_BESIDE]
        index = pd.MultiIndex.from_product([range(len(found)), names, labels], names=["row", "feature", "class_"])
        frame = pd.Series(odds(found).ravel(), index, name="contribution").reset_index()
        return frame[frame["class_"] != against] if against is not None else frame

    def importance(
        self, X: Any, y: Any, sample_weight: Any = None, *, groups: Any = None, level: Scalar = 0.9
    ) -> pd.DataFrame:
        """How well each column alone predicts the labels, and what this model loses without it, in nats a row.

        `information`, with its interval `low` to `high`, is that of naive Bayes: see `bayesnb.importance`. `elpd_gain`
        is the mean of log p(y_i | x_i) minus the same without the contributions of the column, see `explain`. Rows are
        left out of their own columns; the weights, to which all rows were fitted, stay as they are.

        Parameters
        ----------
        X, y, sample_weight, groups : the training rows, as they were fitted
        level : level of the interval of `information`
        """
        check_is_fitted(self, "modes_")
        names = self.feature_names()
        table = importance(self.reader_, X, y, sample_weight, groups=groups, level=level)
        cells, label, weight, groups, _ = self.training(X, y, sample_weight, groups)
        rows = self.left_out(cells, label, weight, groups)
        found, own = self._contributions(rows, cells), rows.label > 0
        whole = found.sum(0)
        lost = [log_normalize(whole)[own] - log_normalize(whole - one)[own] for one in found[: len(names)]]
        gain = pd.Series(np.array(lost) @ weight / weight.sum(), names)
        table = table.drop(columns=["gain_low", "gain_high"])
        return table.assign(elpd_gain=gain.reindex(table["feature"]).to_numpy())

    # --- a model like others ----------------------------------------------------------------------------------------

    def loo(self, X: Any, y: Any, sample_weight: Any = None, *, groups: Any = None) -> LooResult:
        """Approximate leave-one-out of the training rows: log p(y = c | x_i, D₋ᵢ) without a refit.

        Row i leaves its own columns exactly. It leaves the weights by one step of Newton's method, and the shares of
        the scales by what the evidence loses with it. The columns of the other rows keep it. In seven tables of 60 to
        80 rows `elpd`/n was within 0.02 of a refit without each row, and within 0.008 on average.

        Parameters
        ----------
        X, y, sample_weight, groups : the training rows, as they were fitted

        Returns
        -------
        LooResult
            with `exact=False`. Only the labels are predicted: `log_joint` is log p(y = c | x_i, D₋ᵢ), and `elpd_joint`
            is `elpd`
        """
        check_is_fitted(self, "modes_")
        cells, label, weight, groups, place = self.training(X, y, sample_weight, groups)
        rows = self.left_out(cells, label, weight, groups)
        tables = np.array([left_out_log_proba(rows, one) for one in self.modes_])
        lost = SHARES_POWER * rows.weight * (tables * rows.label).sum(2)  # what the evidence loses
        share = np.log([one.share for one in self.modes_])[:, None] - lost
        found = logsumexp(tables + log_normalize(share.T).T[..., None], axis=0)[place]
        index, fitted = self.reader_.class_index(y), self._mean(self._new(cells))[place]
        weight, offset = weights_of(sample_weight, len(index)), rows.offset[place]
        together = None if groups is None else groups[place]
        known = {"_groups": together, "_posterior": Known, "_rows": fitted}
        return LooResult(self.classes_, index, weight, offset, {"x": found - offset}, exact=False, **known)

    def numpyro_model(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> None:
        """The regression in NumPyro, with the leave-one-out columns of these training rows as data.

        Its sites are `w`, `B` and `y`, its scales the most probable ones. NUTS on it samples the posterior that
        `sample_proba` draws from by Laplace's approximation.
        """
        numpyro_model(self.left_out(*self.training(X, y, sample_weight, groups)[:4]), self.modes_[0].scales)

    def check(self, X: Any, y: Any, seed: int = 0) -> CheckReport:
        """The check of `reader_`, and of the weights against NumPyro: columns, density, mode, and draws of NUTS.

        Clones are fitted to one half of the rows. The other half gives log loss and calibration error.

        Parameters
        ----------
        X, y : rows and labels, at least two rows
        seed : seed of the split, of the random parameters and of the chains
        """
        from .posterior_check import check

        return check(self, "reader_", "discriminative", X, y, seed, most=_CHECKED)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(MixedNB(self.parts)).input_tags
        tags.input_tags.sparse = isinstance(self.parts, str) or tags.input_tags.sparse
        return tags
