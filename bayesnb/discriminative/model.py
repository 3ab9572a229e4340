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
coefficients may have any sign. The scales of both priors are averaged over: see `prior_lattice`.

References
----------
Fan, Feng, Jiang & Tong (2016), Feature augmentation via nonparametrics and selection (FANS) in high-dimensional
classification, JASA 111; there half of the rows make the densities and the other half the weights.
Raina, Shen, Ng & McCallum (2003), Classification with hybrid generative/discriminative models, NIPS.
Zaidi, Cerquides, Carman & Webb (2013), Alleviating naive Bayes attribute independence assumption by attribute
weighting, JMLR 14.
"""

from dataclasses import replace
from typing import Any, NamedTuple, Self

import numpy as np
import pandas as pd
from scipy import sparse
from scipy.special import logsumexp
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils import Tags, get_tags
from sklearn.utils.validation import check_is_fitted

from ..analysis._predicted import Known, OfLogProba
from ..analysis.importance import importance
from ..core.arrays import Float, Int, Scalar, is_sparse
from ..core.orders import class_order
from ..core.random import generator
from ..core.special import log_normalize
from ..core.supports import check_choice, check_least
from ..core.weights import row_weights
from ..estimators import CategoricalNB, MixedNB, MultinomialNB, OneDependenceNB
from ..inference.explanation import odds_against
from ..inference.loo import LooResult, leave_out
from ..inference.report import CheckReport
from ..io import Saved
from ..sums.rows import batches
from .columns import ColumnLayout
from .leave_one_out import loo_log_proba
from .posterior_draws import draw
from .prior_lattice import SHARES_POWER, find_modes
from .softmax_regression import Regression, contrasts, numpyro_model
from .training_rows import TrainingRows, sample_of, training_rows

_MAX_PAIR_LEVELS = 600  # of the columns whose pairs are looked at
_N_DRAWS = 200  # that are kept
_NUMBERS = 1 << 21  # of the tables of columns at a time
_FIT_ROWS = 1 << 16  # rows that the densities learn at a time
_CHECKED = 400  # rows of the check
_BESIDE = ("(pairs of columns)", "(all counts)", "(class prior)", "(averaging)")  # the columns of an explanation


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
        of whole rows, which is left out of a single column or of more than 600 levels. Their classes are numbers: class
        k is `classes_[layout_.class_order[k]]`
    layout_ : how rows become columns of the regression: bins, spreads, axes, and the order of the classes
    modes_ : the most probable weights for each pair of scales, with their share in the prediction
    draws_ : w and B of 200 draws of the scales and weights
    class_prior_ : (c,) class probabilities of the rows of the fit, which `with_class_prior` replaces
    classes_, n_features_in_, feature_names_in_ : as in scikit-learn

    Notes
    -----
    A missing cell adds nothing. A level that no training row has counts as missing. A column that does not vary is not
    used. The order of the class labels changes nothing: relabelled classes get the same probabilities and draws.

    Weights of an integer type count rows: a row of weight 3 is the same as three rows of which one leaves at a time.
    Weights of a float type are importance: the row leaves whole. Rows with fractions that occur more than once, without
    weights or with importance, are one row seen again, with the sum of the weights: they leave together.
    `groups=np.arange(n)` keeps them apart, as counts do.

    Above 50,000 rows, and 1,000 for each weight and coefficient, the weights are fitted to a sample of so many rows.
    Rare classes keep all their rows in it. The densities are those of all rows. A fit takes one to two times as long as
    `HistGradientBoostingClassifier` does.

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
    interval_coverage = (
        "of 90 % intervals of discriminative models, 67 % to 100 % held the true probability in simulated tables of "
        "100 and 400 rows (docs/guide/sharper.md)."
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
        sample_weight : (n,) weights: integers count rows, of which one leaves at a time; floats are importance
        groups : (n,) labels of groups of rows that belong together, such as several measurements of one person. They
            leave together

        Raises
        ------
        ValueError
            if there is one class, or if `MixedNB` refuses the rows
        """
        new = clone(self)  # which takes the place of what was learnt when all is done
        new.reader_ = self._fitted_reader(X, y, sample_weight)
        n_classes = len(new.classes_)
        training = new._given_rows(X, y, sample_weight, groups)
        new.layout_ = ColumnLayout.of(training.cells, new._level_counts(), training.weight, n_classes)
        order = class_order(*new._class_sums(training))
        new.layout_ = replace(new.layout_, class_order=order)
        training = replace(training, code=np.argsort(order)[training.code])
        new.models_ = new._fitted_densities(training)
        rows = new._rows_for_weights(training)
        new.modes_ = find_modes(rows)
        new.draws_ = tuple(draw(rows, new.modes_, _N_DRAWS))
        self.__dict__ |= new.__dict__
        return self

    def _fitted_reader(self, X: Any, y: Any, sample_weight: Any) -> MixedNB:
        """The model that reads rows; ValueError where the labels or `parts` are none that this one can take."""
        is_automatic = is_sparse(X) and isinstance(self.parts, str)
        reader = MixedNB([("counts", MultinomialNB(), slice(None))] if is_automatic else self.parts)
        reader.fit(X, y, sample_weight)
        if len(reader.classes_) < 2:
            raise ValueError(f"`y` has one class, {reader.classes_[0]!r}; DiscriminativeNB needs rows of two classes")
        if any(of_class is not None for *_, of_class in reader.part_estimators()):
            raise ValueError("`parts` has an estimator for each class; DiscriminativeNB needs one for all classes")
        return reader

    def _class_sums(self, training: TrainingRows) -> tuple[np.ndarray, np.ndarray]:
        """Σ w z of each class, (c, r), and the weight of each class, (c,)."""
        n_classes = len(self.classes_)
        sums: Any = 0
        for part in batches(len(training.code), _FIT_ROWS):
            z = self.layout_.linear(training.cells[part]) * training.weight[part, None]
            sums = sums + np.stack([np.bincount(training.code[part], column, n_classes) for column in z.T], 1)
        return sums, np.bincount(training.code, training.weight, n_classes)

    def _fitted_densities(self, training: TrainingRows) -> list[Any]:
        """A model with a part for each column, and one of pairs where there are columns and not too many levels."""
        layout = self.layout_
        has_counts = is_sparse(training.cells)
        estimators = self._column_estimators(has_counts)
        if not estimators:
            raise ValueError("`X` has no column that varies; give at least one")
        parts = [(str(i), nb, slice(None) if has_counts else [i]) for i, nb in enumerate(estimators)]
        models: list[Any] = [MixedNB(parts)]
        pair_sizes = [*(len(edges) + 1 for edges in layout.quarters), *layout.sizes]
        if len(pair_sizes) > 1 and sum(pair_sizes) <= _MAX_PAIR_LEVELS:
            models.append(OneDependenceNB(min_categories=pair_sizes))
        classes = np.arange(len(self.classes_))
        for part in batches(len(training.code), _FIT_ROWS):
            rows = training.take(part)
            for model, x in zip(models, layout.columns(rows.cells), strict=False):
                model.partial_fit(x, rows.code, classes, rows.weight)
        return models

    def _column_estimators(self, has_counts: bool) -> list[Any]:
        """The estimator of each column of the regression, in the order of `ColumnLayout.columns`."""
        layout = self.layout_
        of_column: dict[int, Any] = {}
        for _, estimator, columns in self.reader_.parts_:
            of_column |= dict.fromkeys(columns, estimator)
        numbers = []
        for block in self._blocks().values():
            if not block.n_levels:
                numbers += [of_column[j] for j in block.columns]
        if has_counts:
            return numbers[:1]
        sizes = [*layout.sizes, *(len(edges) + 1 for edges in layout.edges)]
        return [numbers[j] for j in layout.used] + [CategoricalNB(min_categories=size) for size in sizes]

    def _rows_for_weights(self, training: TrainingRows) -> Regression:
        """The regression of the rows that the weights are fitted to: all, or a sample where there are many."""
        n_contrasts = len(self.classes_) - 1
        n_columns = sum(len(model.part_blocks()) for model in self.models_)
        n_linear = self.layout_.linear(training.cells[:1]).shape[1]
        sample = sample_of(
            training,
            n_classes=len(self.classes_),
            n_parameters=n_columns + n_linear * n_contrasts,
            numbers_of_row=n_columns * n_contrasts + n_linear,
        )
        rows = self._left_out(training.take(sample.rows), is_fitted=True)
        return replace(rows, offset=rows.offset + sample.log_rate)

    @property
    def class_prior_(self) -> Float[np.ndarray, " c"]:
        """p(y = c) of the rows of the fit, weights included, (c,)."""
        check_is_fitted(self, "modes_")
        log_prior = np.asarray(self.models_[0].class_log_prior_)
        return np.exp(self.layout_.in_label_order(log_prior[None]))[0]

    # --- rows -------------------------------------------------------------------------------------------------------

    def _blocks(self) -> "dict[str, _Block]":
        """Blocks of the reader by name, first those of numbers."""
        columns = self.reader_.block_columns()
        blocks = {}
        for name, block in self.reader_.prior_.blocks.items():
            n_levels = {"yes/no": 2, "levels": block.alpha.shape[-1] if block.cells_.kind == "levels" else 0}
            blocks[name] = _Block(columns[name], n_levels.get(block.cells_.kind, 0))
        return dict(sorted(blocks.items(), key=lambda item: item[1].n_levels > 0))

    def _level_counts(self) -> list[int]:
        """Number of levels of each column of levels."""
        counts: list[int] = []
        for block in self._blocks().values():
            if block.n_levels:
                counts += [block.n_levels] * len(block.columns)
        return counts

    def _cells(self, X: Any) -> Any:
        """Encoded rows, numbers before levels; sparse counts stay sparse."""
        rows = self.reader_.encode(X)
        names = [*self._blocks()]
        block = self.reader_.prior_.blocks[names[0]]
        if len(names) == 1 and block.cells_.kind == "counts" and not block.unwrapped.separable:
            return sparse.csr_array(rows[names[0]])
        return rows[names[0]] if len(names) == 1 else np.hstack([rows[name] for name in names])

    def _given_rows(self, X: Any, y: Any, sample_weight: Any, groups: Any) -> TrainingRows:
        """Training rows, copies merged, with their classes in the order of `classes_`."""
        index = self.reader_.class_index(y)
        return training_rows(self._cells(X), index, row_weights(sample_weight, len(index)), groups)

    def training(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> TrainingRows:
        """Training rows, copies merged, with their classes as the regression numbers them. Provisional."""
        training = self._given_rows(X, y, sample_weight, groups)
        rank = np.argsort(self.layout_.ordered(len(self.classes_)))
        return replace(training, code=rank[training.code])

    def _views(self, cells: Any) -> list[tuple[Any, Any]]:
        """Each model of densities with the rows as it takes them; there may be none of pairs."""
        return [*zip(self.models_, self.layout_.columns(cells), strict=False)]

    def left_out(self, training: TrainingRows) -> Regression:
        """What the regression reads of training rows, each of them left out of its own columns. Provisional."""
        return self._left_out(training, is_fitted=False)

    def _left_out(self, training: TrainingRows, is_fitted: bool) -> Regression:
        """`left_out`; rows that were certainly fitted need no check of it."""
        n_classes = len(self.classes_)
        n = len(training.code)
        n_columns = sum(len(model.part_blocks()) for model in self.models_)
        label = np.eye(n_classes)[training.code]
        offset = np.empty((n, n_classes))
        t = np.empty((n, n_classes - 1, n_columns))
        z = []
        for part in self._parts(n, is_whole=training.group is not None):
            rows = training.take(part)
            results = self._loo_results(rows, is_fitted)
            tables = [table for result in results for table in result.by_block.values()]
            offset[part] = results[0].log_prior
            t[part] = self.layout_.contrasts_of(np.stack(tables))
            z.append(self.layout_.linear(rows.cells))
        return Regression(offset, t, np.concatenate(z), label, training.weight, training.leaving, training.group)

    def _loo_results(self, rows: TrainingRows, is_fitted: bool) -> list[LooResult]:
        """Leave-one-out of each model of densities."""
        results = []
        for model, x in self._views(rows.cells):
            labels = model.classes_[rows.code]
            if is_fitted:
                encoded, index = model.encode_labelled(x, labels)
                with np.errstate(invalid="ignore", divide="ignore"):
                    results.append(leave_out(model, encoded, index, rows.weights, rows.group, "kept"))
            else:
                results.append(model.loo(x, labels, rows.weights, groups=rows.group))
        return results

    def _new(self, cells: Any) -> Regression:
        """What the regression reads of new rows."""
        tables = [t for model, x in self._views(cells) for t in model.predict_part_log_likelihood(x).values()]
        log_prior = self.models_[0].class_log_prior_
        offset = np.broadcast_to(log_prior, (len(tables[0]), len(log_prior)))
        return Regression(offset, self.layout_.contrasts_of(np.stack(tables)), self.layout_.linear(cells))

    def _parts(self, n: int, is_whole: bool = False) -> list[slice]:
        """Slices of n rows whose tables do not need much memory."""
        n_columns = sum(len(model.part_blocks()) for model in self.models_)
        size = n if is_whole else max(_NUMBERS // (n_columns * len(self.classes_)), 256)
        return batches(n, max(size, 1))

    # --- prediction -------------------------------------------------------------------------------------------------

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """log p(y = c | x_i) in nats, (n, c): p is averaged over the modes."""
        check_is_fitted(self, "modes_")
        cells = self._cells(X)
        log_p = [self._mean(self._new(cells[part])) for part in self._parts(cells.shape[0])]
        return self.layout_.in_label_order(np.concatenate(log_p))

    def _mean(self, rows: Regression) -> np.ndarray:
        """log of the mean of p over modes, classes as the regression numbers them."""
        return logsumexp([np.log(mode.share) + rows.log_proba(mode.w, mode.b) for mode in self.modes_], axis=0)

    def sample_proba(self, X: Any, n_draws: int = 200, seed: int | np.random.Generator | None = None) -> np.ndarray:
        """Draws of the class probability, (s, n, c), over scales, weights and the parameters of the densities.

        Each draw takes one of the 200 draws of scales and weights that `fit` made, and the parameters of all densities
        from their posterior.
        """
        check_is_fitted(self, "modes_")
        check_least(1, n_draws=n_draws)
        rng = generator(seed)
        cells = self._cells(X)
        views = [(model, [*model.part_blocks().values()], model.encode(x)) for model, x in self._views(cells)]
        rows = self._new(cells)
        w, b = self.draws_
        draws = []
        for k in rng.permutation(np.arange(n_draws) % len(w)):
            tables = [model.posterior_.log_parts(x, parts, model.posterior_.sample(rng)) for model, parts, x in views]
            drawn = replace(rows, t=self.layout_.contrasts_of(np.concatenate(tables)))
            draws.append(np.exp(drawn.log_proba(w[k], b[k])))
        return self.layout_.in_label_order(np.stack(draws))

    # --- what the columns do ----------------------------------------------------------------------------------------

    def _owners(self, cells: Any) -> "_Owners":
        """The column of X that each column of the regression belongs to; d is pairs of columns, d + 1 all counts."""
        layout, d = self.layout_, self.n_features_in_
        columns = np.concatenate([block.columns for block in self._blocks().values()])
        if is_sparse(cells):
            return _Owners(np.array([d + 1]), columns)
        n_numbers = len(columns) - len(layout.sizes)
        numbers = columns[:n_numbers][layout.used]
        levels = columns[n_numbers:]
        pairs = np.full(len(self.models_) - 1, d)
        of_t = np.concatenate([numbers, levels, numbers, pairs]).astype(int)
        return _Owners(of_t, np.concatenate([numbers, np.repeat(levels, layout.sizes)]).astype(int))

    def _contributions(self, rows: Regression, cells: Any) -> Float[np.ndarray, "k n c"]:
        """What columns of X, pairs, all counts and the class prior add to a mean of η over modes, d + 3 tables.

        A mode counts by its share times √(1 − Σ_c p_c²), so that one which is sure hardly changes the mean.
        """
        layout = self.layout_
        k = contrasts(len(self.classes_))
        owners = self._owners(cells)
        raw = layout.raw(cells)
        if is_sparse(raw):
            raw = raw.toarray()
        added = np.zeros((self.n_features_in_ + 3, len(raw), len(k)))
        for mode, share in zip(self.modes_, self._shares_in_row(rows), strict=True):
            slopes = mode.b[:-1] if layout.axes is None else layout.axes @ mode.b[:-1]
            of_t = (k @ (rows.t * mode.w)).transpose(2, 0, 1)
            of_z = raw.T[:, :, None] * (slopes @ k.T)[:, None]
            np.add.at(added, owners.of_t, of_t * share[:, None])
            np.add.at(added, owners.of_z, of_z * share[:, None])
            added[-1] += (rows.offset + k @ mode.b[-1]) * share[:, None]
        return added

    def _shares_in_row(self, rows: Regression) -> Float[np.ndarray, "modes n"]:
        """How much each mode counts in the mean of η of each row."""
        p = np.exp([rows.log_proba(mode.w, mode.b) for mode in self.modes_])
        doubt = np.sqrt(1 - np.square(p).sum(2) + 1e-99)
        share = np.array([mode.share for mode in self.modes_])[:, None] * doubt
        return share / share.sum(0)

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
        added = self._contributions(rows, cells)
        averaging = self._mean(rows) - added.sum(0)
        table = self.layout_.in_label_order(np.concatenate([added, averaging[None]]).swapaxes(0, 1))
        odds = odds_against(len(labels), None if against is None else labels.index(against))
        names = [*self.feature_names(), *_BESIDE]
        index = pd.MultiIndex.from_product([range(len(table)), names, labels], names=["row", "feature", "class_"])
        frame = pd.Series(odds(table).ravel(), index, name="contribution").reset_index()
        return frame if against is None else frame[frame["class_"] != against]

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
        training = self.training(X, y, sample_weight, groups)
        rows = self.left_out(training)
        added = self._contributions(rows, training.cells)
        is_label = rows.label > 0
        log_odds = added.sum(0)
        with_column = log_normalize(log_odds)[is_label]
        loss = [with_column - log_normalize(log_odds - column)[is_label] for column in added[: len(names)]]
        gain = pd.Series(np.array(loss) @ training.weight / training.weight.sum(), names)
        table = table.drop(columns=["gain_low", "gain_high"])
        return table.assign(elpd_gain=gain.reindex(table["feature"]).to_numpy())

    # --- a model like others ----------------------------------------------------------------------------------------

    def loo(self, X: Any, y: Any, sample_weight: Any = None, *, groups: Any = None) -> LooResult:
        """Approximate leave-one-out of the training rows: log p(y = c | x_i, D₋ᵢ) without a refit.

        Row i leaves its own columns exactly. It leaves the weights by one step of Newton's method, and the shares of
        the scales by what the evidence loses with it. The columns of the other rows keep it. In seven tables of 60 to
        80 rows `elpd`/n was within 0.02 of a refit without each row, and within 0.008 on average.

        Of a row that counts several, one leaves; a row of importance leaves whole, and with `groups` all of a group.
        Copies of a row with fractions that are one row seen again are one term of `se`.

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
        index = self.reader_.class_index(y)
        weights = row_weights(sample_weight, len(index))
        training = self.training(X, y, weights, groups)
        rows = self.left_out(training)
        in_label_order = self.layout_.in_label_order
        log_p = in_label_order(self._mean_left_out(rows))[training.position]
        fitted = in_label_order(self._mean(self._new(training.cells)))[training.position]
        log_prior = in_label_order(rows.offset)[training.position]
        group = training.position if training.has_merged_copies else training.group
        return LooResult(
            self.classes_,
            index,
            weights.values,
            log_prior,
            {"x": log_p - log_prior},
            exact=False,
            are_counts=weights.are_counts,
            _groups=group,
            _posterior=Known,
            _rows=fitted,
        )

    def _mean_left_out(self, rows: Regression) -> np.ndarray:
        """log of the mean over modes of p(y = c | x_i, D₋ᵢ); a mode loses share as the evidence loses what leaves."""
        log_p = np.array([loo_log_proba(rows, mode) for mode in self.modes_])
        leaving = rows.leaving_weight * (log_p * rows.label).sum(2)
        if rows.group is not None:
            leaving = np.array([np.bincount(rows.group, of_mode)[rows.group] for of_mode in leaving])
        log_share = np.log([mode.share for mode in self.modes_])[:, None] - SHARES_POWER * leaving
        return logsumexp(log_p + log_normalize(log_share.T).T[..., None], axis=0)

    def numpyro_model(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> None:
        """The regression in NumPyro, with the leave-one-out columns of these training rows as data.

        Its sites are `w`, `B` and `y`, its scales the most probable ones. NUTS on it samples the posterior that
        `sample_proba` draws from by Laplace's approximation.
        """
        numpyro_model(self.left_out(self.training(X, y, sample_weight, groups)), self.modes_[0].scales)

    def check(self, X: Any, y: Any, seed: int = 0, *, sample_weight: Any = None) -> CheckReport:
        """The check of `reader_`, and of the weights against NumPyro: columns, density, mode, and draws of NUTS.

        Clones are fitted to one half of the rows. The other half gives log loss and calibration error.

        Parameters
        ----------
        X, y : rows and labels, at least two rows
        seed : seed of the split, of the random parameters and of the chains
        sample_weight : (n,) weights of an integer type, which count rows: each of them leaves alone

        Raises
        ------
        ValueError
            if weights are importance, which NumPyro's model of the rows does not have
        """
        from ..analysis.posterior_check import check
        from .checking import weight_rows

        return check(self, "reader_", "discriminative", X, y, sample_weight, seed, weight_rows, most=_CHECKED)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(MixedNB(self.parts)).input_tags
        tags.input_tags.sparse = isinstance(self.parts, str) or tags.input_tags.sparse
        return tags


class _Block(NamedTuple):
    """A block of the reader: the positions of its columns in X, and its number of levels, 0 of numbers."""

    columns: Int[np.ndarray, " d"]
    n_levels: int


class _Owners(NamedTuple):
    """The column of X that each column of t and each raw column of z belongs to."""

    of_t: Int[np.ndarray, " j"]
    of_z: Int[np.ndarray, " r"]
