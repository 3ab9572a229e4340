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
coefficients may have any sign. The scales of both priors are averaged over: see `prior_grid`.

References
----------
Fan, Feng, Jiang & Tong (2016), Feature augmentation via nonparametrics and selection (FANS) in high-dimensional
classification, JASA 111; there half of the rows make the densities and the other half the weights.
Raina, Shen, Ng & McCallum (2003), Classification with hybrid generative/discriminative models, NIPS.
Zaidi, Cerquides, Carman & Webb (2013), Alleviating naive Bayes attribute independence assumption by attribute
weighting, JMLR 14.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np
import pandas as pd
from scipy import sparse
from scipy.special import logsumexp
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils import Tags, get_tags
from sklearn.utils.validation import check_is_fitted

from ..analysis.importance import importance
from ..check.report import CheckReport
from ..estimators import CategoricalNB, MixedNB, MultinomialNB, OneDependenceNB
from ..estimators._learnt import replace_learnt
from ..estimators._view import ModelView
from ..io import Saved
from ..numerics.arrays import Float, Int, Scalar, is_sparse
from ..numerics.orders import class_order
from ..numerics.random import generator
from ..numerics.special import log_normalize
from ..numerics.supports import check_choice, check_least
from ..numerics.weights import row_weights
from ..posterior.explanation import Contributions, odds_against
from ..posterior.loo import LooResult, leave_out
from ..posterior.predicted import Known, OfLogProba
from ..sums.rows import batches, single_threaded_products
from .columns import ColumnLayout
from .explanation import Terms, contributions_of
from .leave_one_out import loo_log_proba
from .posterior_draws import draw
from .prior_grid import SHARES_POWER, find_modes
from .softmax_regression import Regression, contrasts, numpyro_model
from .training_rows import TrainingRows, sample_of, training_rows

_MAX_PAIR_LEVELS = 600  # of the columns whose pairs are looked at
_N_DRAWS = 200  # that are kept
_NUMBERS = 1 << 21  # of the tables of columns at a time
_FIT_ROWS = 1 << 16  # rows that the densities learn at a time
_CHECKED = 400  # rows of the check
_BESIDE = ("(pairs of columns)", "(all counts)", "(class prior)", "(averaging)")  # the columns of an explanation


@dataclass(frozen=True, eq=False)
class DiscriminativeView(ModelView):
    """What analyses may ask of a discriminative model: of `reader_` all but what columns add to the log odds.

    Fields
    ------
    estimator, state : the naive Bayes model that reads rows, labels and columns
    discriminative : the model itself
    """

    discriminative: "DiscriminativeNB"

    def contributions(self, X: Any, *, against: Any = None, **settings: Any) -> tuple[Contributions, int | None]:
        """What `explain` shows, as arrays with intervals over draws, and the position of the class `against`.

        Parameters
        ----------
        against : label of that class; None is the geometric mean of all other classes, and its position is None
        settings : `n`, `focus`, `level`, `n_draws` and `seed`
        """
        return self.discriminative._contributions_with_intervals(X, against=against, **settings)

    def contributions_of_each_row(
        self,
        X: Any,
        against: Sequence[Any],
        focus: Sequence[int],
        **settings: Any,
    ) -> list[Contributions]:
        """As of naive Bayes; the weights and densities are drawn once for all rows."""
        model = self.discriminative
        labels = model.classes_.tolist()
        terms = model._terms_of_log_p(X, settings.get("n_draws", _N_DRAWS), settings.get("seed", 0))
        n_listed = settings.get("n") or model.n_features_in_
        level = settings.get("level", 0.9)
        found = []
        for i, (label, k) in enumerate(zip(against, focus, strict=True)):
            terms_of_row = terms.of_row(i).in_odds(odds_against(len(labels), labels.index(label)))
            found.append(contributions_of(terms_of_row, n_listed, k, level))
        return found


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
    interval_coverage = (
        "of 90 % intervals of discriminative models, 67 % to 100 % held the true probability in simulated tables of "
        "100 and 400 rows (docs/guide/sharper.md)."
    )
    _lacks = " (it models labels given rows, so it has no evidence and draws no rows)"
    models_: list[Any]

    def __init__(self, parts: Any = "auto") -> None:
        self.parts = parts

    # --- what `reader_` knows ---------------------------------------------------------------------------------------

    @property
    def classes_(self) -> np.ndarray:  # type: ignore[override]
        """The labels, sorted, (c,)."""
        return self.reader_.classes_

    @property
    def n_features_in_(self) -> int:
        """Number of columns of X."""
        return self.reader_.n_features_in_

    @property
    def feature_names_in_(self) -> np.ndarray:
        """Names of the columns of X, (d,), if they have names."""
        return self.reader_.feature_names_in_

    @property
    def class_count_(self) -> np.ndarray:
        """Weight of each class, (c,)."""
        return self.reader_.class_count_

    @property
    def prior_(self) -> Any:
        """The model of `reader_` before the training rows."""
        return self.reader_.prior_

    @property
    def contract_(self) -> Any:
        """What `describe` found in the columns of a data frame; None if nobody asked."""
        return self.reader_.contract_

    @property
    def model_(self) -> ModelView:
        """What analyses may ask: rows, labels and columns of `reader_`, and what columns add, in a frozen view."""
        view = self.reader_.model_
        return DiscriminativeView(view.estimator, view.state, self)

    # --- fitting ----------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Fit the densities to all rows, and the weights to their leave-one-out densities.

        The model has log odds log p(y = c) + Σ_j w_j log p(x_j | y = c) + (Bᵀz)_c. The *densities* are naive Bayes, the
        *weights* are w and B, and z are standardised numbers and one-hot levels.

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
        # All is learnt by a copy, so that a fit that fails leaves this estimator as it was.
        new = clone(self)

        # 1. Encode the rows: cells (n, columns), a class number `code` of each row, and weights.
        new.reader_ = self._fitted_reader(X, y, sample_weight)  # a `MixedNB`, which knows columns and levels
        training = new._given_rows(X, y, sample_weight, groups)

        # 2. Learn the columns of the regression: which numbers vary, where bins end, means and standard deviations.
        n_classes = len(new.classes_)
        new.layout_ = ColumnLayout.of(training.cells, new._level_counts(), training.weight, n_classes)

        # 3. Number the classes by their rows, not by their labels, so that other labels give the same random draws. The
        # order 2 0 1 gives the class at position 2 of `classes_` the number 0. So the classes at 0 1 2 have the numbers
        # 1 2 0: this is `argsort` of the order.
        sums = new._class_sums(training)
        order = class_order(sums.of_columns, sums.weight)
        number_of_position = np.argsort(order)
        new.layout_ = replace(new.layout_, class_order=order)
        training = replace(training, code=number_of_position[training.code])

        # 4. Fit the densities, and get log p(x_ij | y = c) of each row by the densities of all other rows.
        new.models_ = new._fitted_densities(training)
        rows = new._rows_for_weights(training)

        # 5. Fit the weights to them: the most probable ones for each pair of scales of their priors, and 200 draws.
        new.modes_ = find_modes(rows)
        new.draws_ = tuple(draw(rows, new.modes_, _N_DRAWS))

        replace_learnt(self, vars(new))
        return self

    def _fitted_reader(self, X: Any, y: Any, sample_weight: Any) -> MixedNB:
        """The fitted `MixedNB` of `parts`, which reads rows; ValueError if this model cannot take labels or `parts`.

        It says which columns there are, their types and levels, and what the labels are.

        Parameters
        ----------
        X, y, sample_weight : as in `fit`
        """
        # `parts` is a text, "auto", or a list. "auto" takes all columns of sparse rows for counts of one multinomial.
        has_counts = is_sparse(X) and isinstance(self.parts, str)
        reader = MixedNB([("counts", MultinomialNB(), slice(None))] if has_counts else self.parts)
        reader.fit(X, y, sample_weight)
        if len(reader.classes_) < 2:
            raise ValueError(f"`y` has one class, {reader.classes_[0]!r}; DiscriminativeNB needs rows of two classes")

        if any(part.only_class is not None for part in reader.model_.parts):
            raise ValueError("`parts` has an estimator for each class; DiscriminativeNB needs one for all classes")
        return reader

    def _class_sums(self, training: TrainingRows) -> "_ClassSums":
        """The weight of each class, and its weighted sums of columns: what tells classes apart whatever their labels.

        Parameters
        ----------
        training : encoded cells, the class number of each row as `code`, and weights

        Returns
        -------
        `of_columns` (c, r), the sums Σ_i w_i z_i over the rows i of each class, with z_i (r,) the columns of the linear
        term; and `weight` (c,), the sums Σ_i w_i
        """
        n_classes = len(self.classes_)
        sums: Any = 0  # then (c, r)
        for part in batches(len(training.code), _FIT_ROWS):  # z of all rows may be too large for memory
            code = training.code[part]
            z = self.layout_.linear(training.cells[part])  # (rows, r)
            weighted = z * training.weight[part, None]

            # `bincount` adds up a column over the rows of each class, (c,).
            sums_of_columns = [np.bincount(code, column, n_classes) for column in weighted.T]
            sums = sums + np.stack(sums_of_columns, 1)
        class_weight = np.bincount(training.code, training.weight, n_classes)
        return _ClassSums(sums, class_weight)

    def _fitted_densities(self, training: TrainingRows) -> list[Any]:
        """The fitted naive Bayes models of the densities p(x | y = c), whose logarithms are the regression's columns.

        1. A `MixedNB` with a density for each column: numbers, levels, and numbers in bins; or one for all counts.
        2. A `OneDependenceNB` of whole rows, which sees pairs of columns. Numbers are binned in quarters for it.

        Parameters
        ----------
        training : encoded cells (n, columns), numbers before the codes of levels; the class number of each row; weights
        """
        layout = self.layout_
        has_counts = is_sparse(training.cells)

        # 1. A part of `MixedNB` is (name, estimator, columns). Counts are one part; else each column is a part.
        estimators = self._column_estimators(has_counts)  # not fitted
        if not estimators:
            raise ValueError("`X` has no column that varies; give at least one")
        parts = [(str(i), nb, slice(None) if has_counts else [i]) for i, nb in enumerate(estimators)]
        models: list[Any] = [MixedNB(parts)]

        # 2. It needs two columns. It counts each level beside each level of every other column, so that with very many
        # levels it would take too much memory and time.
        pair_sizes = [*(len(edges) + 1 for edges in layout.quarters), *layout.sizes]  # levels of each of its columns
        if len(pair_sizes) > 1 and sum(pair_sizes) <= _MAX_PAIR_LEVELS:
            models.append(OneDependenceNB(min_categories=pair_sizes))

        # Fit them batch by batch, which is the same as a fit to all rows: statistics add up. `layout.columns` gives the
        # rows twice, as each of the two models takes them. `zip` stops after the first if there is no second model.
        classes = np.arange(len(self.classes_))
        for part in batches(len(training.code), _FIT_ROWS):
            rows = training.take(part)
            for model, x in zip(models, layout.columns(rows.cells), strict=False):
                model.partial_fit(x, rows.code, classes, rows.weight)
        return models

    def _column_estimators(self, has_counts: bool) -> list[Any]:
        """The estimator of the density of each column of the regression, not fitted.

        A number has the estimator that the user chose for it in `parts`; levels and bins are categorical. Columns stand
        in three different orders. Example: X has age, colour, height and a number that does not vary.

            X                age, colour, height, constant
            encoded rows     age, height, constant, colour                         numbers first
            regression       age, height, colour, age in bins, height in bins      without numbers that do not vary

        Parameters
        ----------
        has_counts : whether the rows are sparse counts, which one estimator takes all together
        """
        # 1. By position in X. A part of the reader is (name, estimator, positions of its columns).
        layout = self.layout_
        of_position: dict[int, Any] = {}
        for _, estimator, columns in self.reader_.parts_:
            of_position |= dict.fromkeys(columns, estimator)

        # 2. In the order of encoded rows, the numbers alone. A block has some columns of X; numbers have no levels.
        of_numbers = []
        for block in self._blocks().values():
            if block.n_levels == 0:
                of_numbers += [of_position[j] for j in block.columns]
        if has_counts:
            return of_numbers[:1]

        # 3. In the order of the regression. `layout.used` has the numbers that vary; k edges between bins make k + 1.
        of_used_numbers = [of_numbers[j] for j in layout.used]
        n_bins = [len(edges) + 1 for edges in layout.edges]
        of_levels_and_bins = [CategoricalNB(min_categories=n) for n in [*layout.sizes, *n_bins]]
        return of_used_numbers + of_levels_and_bins

    def _rows_for_weights(self, training: TrainingRows) -> Regression:
        """The data that the weights are fitted to: log densities of all rows, or of a sample of very many.

        The densities of a row are those of all other rows. A sample takes a share f_c of the rows of class c, a larger
        one of rare classes. The odds of class c among the sampled rows are therefore too high by the factor f_c. To
        make up for it, log f_c is added to the offset of the log odds, and the weights are those for all rows.

        Parameters
        ----------
        training : all training rows, encoded, with class numbers and weights
        """
        # 1. The size of the regression, on which that of the sample depends. It has a column t for each part of a model
        # of densities, and c − 1 numbers of a row in each column.
        n_contrasts = len(self.classes_) - 1
        n_columns = sum(len(model.model_.blocks_of_parts) for model in self.models_)
        n_linear = self.layout_.linear(training.cells[:1]).shape[1]  # columns z of the linear term

        # 2. The positions of the sampled rows, and log f_c (c,).
        sample = sample_of(
            training,
            n_classes=len(self.classes_),
            n_parameters=n_columns + n_linear * n_contrasts,  # a weight of each column, and the matrix B
            numbers_of_row=n_columns * n_contrasts + n_linear,  # in t and z
        )

        # 3. Their densities and other data.
        rows = self._without_own_label(training.take(sample.rows), is_fitted=True)
        return replace(rows, offset=rows.offset + sample.log_rate)

    @property
    def class_prior_(self) -> Float[np.ndarray, " c"]:
        """p(y = c) of the rows of the fit, weights included, (c,)."""
        check_is_fitted(self, "modes_")
        log_prior = np.asarray(self.models_[0].class_log_prior_)
        return np.exp(self.layout_.in_label_order(log_prior[None]))[0]

    # --- rows -------------------------------------------------------------------------------------------------------

    def _blocks(self) -> "dict[str, _Block]":
        """Which columns of X stand together in encoded rows, and how many levels they have.

        A *block* is columns of X that share one prior, such as all that have three levels. In encoded rows the blocks
        of numbers stand first, then those of levels: the result has this order. Example: {"normal": columns 0 and 2,
        no levels; "categorical": column 1, three levels}.
        """
        columns = self.reader_.model_.block_columns  # positions in X, by name of the block
        of_numbers = {}
        of_levels = {}
        for name, block in self.reader_.model_.prior.blocks.items():
            match block.cells_.kind:
                case "yes/no":
                    of_levels[name] = _Block(columns[name], n_levels=2)
                case "levels":
                    n_levels = block.alpha.shape[-1]  # α (class, column, level) are the prior's pseudo-counts
                    of_levels[name] = _Block(columns[name], n_levels=n_levels)
                case _:
                    of_numbers[name] = _Block(columns[name], n_levels=0)
        return of_numbers | of_levels

    def _level_counts(self) -> list[int]:
        """Number of levels of each column of levels, in the order of encoded rows.

        A block is columns of X that share one prior, such as all with three levels: with two of these it gives 3, 3.
        Blocks of numbers have no levels and are left out.
        """
        counts: list[int] = []
        for block in self._blocks().values():
            if block.n_levels:
                counts += [block.n_levels] * len(block.columns)
        return counts

    def _cells(self, X: Any) -> Any:
        """Encoded rows, one array (n, columns): numbers, then codes of levels, NaN where missing; or sparse counts.

        Parameters
        ----------
        X : rows in any form that the reader, a fitted `MixedNB`, accepts
        """
        # The reader makes a table of each block, the columns that share one prior. They are put side by side, numbers
        # before levels.
        table_of_block = self.reader_.model_.encode(X)
        names = [*self._blocks()]
        if len(names) > 1:
            return np.hstack([table_of_block[name] for name in names])

        # A single block may be the counts of a multinomial: then the rows become sparse. Other counts, such as those of
        # Poisson, are like other numbers. They differ in that their density is a product over columns, `separable`.
        table = table_of_block[names[0]]
        block = self.reader_.prior_.blocks[names[0]]
        is_multinomial = block.cells_.kind == "counts" and not block.unwrapped.separable
        return sparse.csr_array(table) if is_multinomial else table

    def _given_rows(self, X: Any, y: Any, sample_weight: Any, groups: Any) -> TrainingRows:
        """The rows, classes and weights of a fit; classes are positions in `classes_`, and copies are merged.

        Equal rows with fractions count as one row that was seen again, and become one row with the sum of the weights.
        """
        index = self.reader_.model_.class_index(y)
        return training_rows(self._cells(X), index, row_weights(sample_weight, len(index)), groups)

    def training(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> TrainingRows:
        """Training rows, copies merged, with their classes as the regression numbers them. Provisional.

        Parameters
        ----------
        X, y, sample_weight, groups : as in `fit`
        """
        # Encoded cells (n, columns), class numbers `code` as positions in `classes_`, and weights.
        training = self._given_rows(X, y, sample_weight, groups)

        # The regression numbers the classes in another order, the positions 2 0 1 of `classes_` for example. So the
        # positions 0 1 2 have the numbers 1 2 0, which is `argsort` of the order.
        order = self.layout_.ordered(len(self.classes_))
        number_of_position = np.argsort(order)
        return replace(training, code=number_of_position[training.code])

    def _rows_by_model(self, cells: Any) -> list[tuple[Any, Any]]:
        """Each model of densities, with the rows as it takes them: single columns, then pairs, if there are any."""
        return [*zip(self.models_, self.layout_.columns(cells), strict=False)]

    def left_out(self, training: TrainingRows) -> Regression:
        """What the regression reads of training rows, each of them left out of its own columns. Provisional."""
        return self._without_own_label(training, is_fitted=False)

    def _without_own_label(self, training: TrainingRows, is_fitted: bool) -> Regression:
        """The data of the regression for training rows, each by the densities of all other rows.

        Densities that were fitted to row i know its label, so that log p(x_i | y) would look more trustworthy than it
        is. They are therefore taken from exact leave-one-out. With groups, all rows of a group are left out together.

        Parameters
        ----------
        training : encoded cells, class numbers, weights, and groups if there are any
        is_fitted : True if these rows were certainly fitted, so that nothing needs to check it

        Returns
        -------
        Regression with, for each row,

        - `offset` (n, c): log p(y = c | all other rows)
        - `t` (n, c − 1, columns): the log densities log p(x_ij | y = c, all other rows) of each column j, whose c
          numbers say the same as c − 1, up to a constant of the row
        - `z` (n, r): the columns of the linear term
        - one-hot labels, weights and groups
        """
        n_classes = len(self.classes_)
        n = len(training.code)
        n_columns = sum(len(model.model_.blocks_of_parts) for model in self.models_)  # a part has one density
        offset = np.empty((n, n_classes))
        t = np.empty((n, n_classes - 1, n_columns))
        z = []

        # Batches save memory. With groups there is one batch only, as a group must not be divided.
        for part in self._row_slices(n, is_whole=training.group is not None):
            rows = training.take(part)

            # Leave-one-out of each model of densities: a table log p(x_ij | y = c) of each column j, (rows, c).
            results = self._loo_results(rows, is_fitted)
            tables: list[Any] = []
            for result in results:
                tables += result.by_block.values()

            offset[part] = results[0].log_prior
            t[part] = self.layout_.contrasts_of(np.stack(tables))  # c numbers as c − 1
            z.append(self.layout_.linear(rows.cells))
        return Regression(
            offset=offset,
            t=t,
            z=np.concatenate(z),
            label=np.eye(n_classes)[training.code],
            weight=training.weight,
            leaving=training.leaving,
            group=training.group,
        )

    def _loo_results(self, rows: TrainingRows, is_fitted: bool) -> list[LooResult]:
        """Exact leave-one-out of rows by each model of densities: log p(x_ij | y = c, all other rows) of each column.

        The public method `loo` first checks that the rows are those of the fit, by looking at all sums over rows. In
        `fit` they are, and the check is skipped for speed; otherwise the results are the same.

        Parameters
        ----------
        rows : training rows: encoded cells, class numbers, weights and groups
        is_fitted : True in `fit`; False for rows that a user gives, who may give others
        """
        results = []
        for model, x in self._rows_by_model(rows.cells):  # `x` are the cells as this model takes them
            labels = model.classes_[rows.code]  # the labels of these models are class numbers
            if not is_fitted:
                results.append(model.loo(x, labels, rows.weights, groups=rows.group))
                continue

            # What `loo` does after its check. "kept": a prior that is scaled by the data stays that of all rows.
            encoded, index = model.model_.encode_labelled(x, labels)  # cells by block, and class positions
            with np.errstate(invalid="ignore", divide="ignore"):  # a density may be 0
                results.append(leave_out(model.model_, encoded, index, rows.weights, rows.group, "kept"))
        return results

    def _new_rows(self, cells: Any) -> Regression:
        """What the regression reads of n new rows: offset (n, c), t (n, c − 1, columns) and z (n, r), without labels.

        offset is log p(y = c). t are contrasts of the log densities log p(x_ij | y = c): c − 1 numbers that say the
        same up to a constant of the row. z are standardised numbers and levels. The densities are those that all
        training rows made: a new row need not be left out.

        Parameters
        ----------
        cells : (n, columns) encoded rows: numbers, then codes of levels; or sparse counts
        """
        tables: list[Any] = []  # log p(x_ij | y = c) of each column j, (n, c)
        for model, x in self._rows_by_model(cells):  # `x` are the rows as this model takes them
            tables += model.predict_part_log_likelihood(x).values()
        log_prior = self.models_[0].class_log_prior_
        offset = np.broadcast_to(log_prior, (len(tables[0]), len(log_prior)))
        return Regression(offset, self.layout_.contrasts_of(np.stack(tables)), self.layout_.linear(cells))

    def _row_slices(self, n: int, is_whole: bool = False) -> list[slice]:
        """Slices of n rows whose tables need little memory, 256 rows at least; `is_whole` puts all rows into one."""
        n_columns = sum(len(model.model_.blocks_of_parts) for model in self.models_)
        size = n if is_whole else max(_NUMBERS // (n_columns * len(self.classes_)), 256)
        return batches(n, max(size, 1))

    # --- prediction -------------------------------------------------------------------------------------------------

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """log p(y = c | x_i) in nats, (n, c): p is averaged over the modes."""
        check_is_fitted(self, "modes_")
        cells = self._cells(X)
        log_p = [self._log_mean_proba(self._new_rows(cells[part])) for part in self._row_slices(cells.shape[0])]
        return self.layout_.in_label_order(np.concatenate(log_p))

    def _log_mean_proba(self, rows: Regression) -> np.ndarray:
        """log Σ_m share_m p_m, (n, c), of probabilities p_m by each mode m; classes as the regression numbers them."""
        return logsumexp([np.log(mode.share) + rows.log_proba(mode.w, mode.b) for mode in self.modes_], axis=0)

    def sample_proba(self, X: Any, n_draws: int = 200, seed: int | np.random.Generator | None = None) -> np.ndarray:
        """Draws of the class probability, (s, n, c), over scales, weights and the parameters of the densities.

        Each draw takes one of the 200 draws of scales and weights that `fit` made, and the parameters of all densities
        from their posterior. A density is p(x_j | y = c) of a column j, by naive Bayes; the weights w multiply the
        logarithms of the densities, and B is the matrix of a linear term.

        Parameters
        ----------
        X : (n, d) rows, as in `predict`
        n_draws, seed : number s of draws, and seed or NumPy generator
        """
        check_is_fitted(self, "modes_")
        check_least(1, n_draws=n_draws)
        rng = generator(seed)

        draws = [np.exp(drawn.log_proba()) for drawn in self._drawn_rows(self._cells(X), n_draws, rng)]  # (n, c) each
        return self.layout_.in_label_order(np.stack(draws))

    def _drawn_rows(self, cells: Any, n_draws: int, rng: np.random.Generator) -> "Iterator[_DrawnRows]":
        """The data of the regression for some rows, under one draw after the other of all parameters of the model.

        The parameters are those of the densities p(x_j | y = c), which are drawn here from their posterior, and the
        weights w and B of the regression, of which `fit` made 200 draws.

        Parameters
        ----------
        cells : (n, columns) encoded rows
        n_draws, rng : number of draws, and where their random numbers come from
        """
        # What all draws share: offset and z of the rows, and their cells as each model of densities takes them. A
        # column of the regression is a density of one or more blocks of a model.
        rows = self._new_rows(cells)
        encoded_rows = []
        for model, x in self._rows_by_model(cells):
            blocks_of_columns = [*model.model_.blocks_of_parts.values()]
            encoded_rows.append(_EncodedRows(model, model.model_.encode(x), blocks_of_columns))

        # The 200 draws of the weights in random order; of 500 draws each is used twice or three times.
        w, b = self.draws_  # (200, columns) and (200, r, c − 1)
        for k in rng.permutation(np.arange(n_draws) % len(w)):
            # A draw θ of the parameters of each model, and log p(x_ij | y = c, θ) of its columns, (columns, n, c).
            tables = []
            for encoded in encoded_rows:
                posterior = encoded.model.posterior_
                theta = posterior.sample(rng)
                tables.append(posterior.log_parts(encoded.rows, encoded.columns, theta))

            # As t (n, c − 1, columns), which takes the place of that by all of the posterior.
            t = self.layout_.contrasts_of(np.concatenate(tables))
            yield _DrawnRows(replace(rows, t=t), w[k], b[k])

    # --- what the columns do ----------------------------------------------------------------------------------------

    def _owners(self, cells: Any) -> "_Owners":
        """For each column of the regression, the column of X that it is made of: a number 0 … d − 1.

        The regression has columns t, log densities, and columns z of a linear term. Two numbers stand for more than one
        column of X: d for pairs of columns, d + 1 for all counts together. Example: X has a number (0), and a column of
        three levels (1), so that d = 2.

            t    number, levels, number in bins, pairs                        0 1 0 2
            z    standardised number, one column for each of three levels     0 1 1 1

        Parameters
        ----------
        cells : (n, columns) encoded rows; only whether they are sparse counts matters
        """
        # The column of X that each encoded cell comes from.
        layout = self.layout_
        d = self.n_features_in_
        columns_of_blocks = [block.columns for block in self._blocks().values()]
        in_x = np.concatenate(columns_of_blocks)
        if is_sparse(cells):  # t has one density of all counts; z has each of them
            return _Owners(of_t=np.array([d + 1]), of_z=in_x)

        # Encoded rows have numbers first, of which those that vary are used, and then columns of levels.
        n_numbers = len(in_x) - len(layout.sizes)
        numbers = in_x[:n_numbers][layout.used]
        levels = in_x[n_numbers:]

        # Pairs have a column of t if there is a second model of densities.
        pairs = [d] if len(self.models_) > 1 else []
        return _Owners(
            of_t=np.concatenate([numbers, levels, numbers, pairs]).astype(int),
            of_z=np.concatenate([numbers, np.repeat(levels, layout.sizes)]).astype(int),
        )

    def _contributions(self, rows: Regression, cells: Any) -> Float[np.ndarray, "k n c"]:
        """What each column of X adds to the log probabilities η of n rows, on average over the modes, in nats.

        By a mode (w, B), η = offset + K (Σ_j w_j t_j + Bᵀ z), up to a constant of the row. t are contrasts of the log
        densities of columns, z columns of a linear term. A mode counts by its share times √(1 − Σ_c p_c²), so that one
        which is sure hardly changes the mean.

        Parameters
        ----------
        rows : t, z and offset of the rows
        cells : the same rows, encoded

        Returns
        -------
        (d + 3, n, c) terms of η: of the d columns of X, of pairs of columns, of all counts, and of the class prior.
        They add up to the mean of η
        """
        added = np.zeros((self.n_features_in_ + 3, rows.n_rows, len(self.classes_)))
        for mode, share in zip(self.modes_, self._shares_in_row(rows), strict=True):
            added += self._terms(rows, cells, mode.w, mode.b) * share[:, None]
        return added

    def _terms(self, rows: Regression, cells: Any, w: np.ndarray, b: np.ndarray) -> Float[np.ndarray, "k n c"]:
        """How much each column of X adds to the log odds of each class, for n rows and given weights, in nats.

        The log odds are η = offset + Σ_j w_j K t_j + K Bᵀz. The columns of K (c, c − 1) are fixed. A column of X makes
        several columns j of t, and several columns of z: what they add is summed.

        Parameters
        ----------
        rows : offset (n, c), t (n, c − 1, columns) and z of the rows
        cells : the same rows, encoded
        w, b : weights of the columns of t, and coefficients B of z

        Returns
        -------
        (d + 3, n, c): of the d columns of X, of pairs of columns, of all counts together, and of the class prior
        """
        k = contrasts(len(self.classes_))  # K

        # 1. w_j K t_ij of each column j of t. The product has the axes (n, c, columns), which become (columns, n, c).
        of_t = (k @ (rows.t * w)).transpose(2, 0, 1)

        # 2. The same for the columns of the linear term, (columns of z, n, c).
        of_z = self._added_by_linear_columns(cells, b)

        # 3. Sum them by column of X. `owners.of_t` has for each column of t the position of its sum: 0 1 0 2 adds the
        # first and the third column of t at position 0. `add.at` does so, where `+=` would keep the third only.
        owners = self._owners(cells)
        terms = np.zeros((self.n_features_in_ + 3, rows.n_rows, len(k)))
        np.add.at(terms, owners.of_t, of_t)
        np.add.at(terms, owners.of_z, of_z)

        # 4. The class prior, which the last row of B belongs to: that of the constant column of z.
        terms[-1] += rows.offset + k @ b[-1]
        return terms

    def _added_by_linear_columns(self, cells: Any, b: np.ndarray) -> Float[np.ndarray, "columns n c"]:
        """How much each column but the constant of the linear term K Bᵀz adds to the log odds of each class.

        If z are principal axes, z = columns · axes, then axes · B are the coefficients of the columns themselves.

        Parameters
        ----------
        cells : n encoded rows
        b : (r, c − 1) coefficients B; the last row is that of the constant column
        """
        columns = self.layout_.raw(cells)  # standardised numbers and levels, (n, columns)
        if is_sparse(columns):
            columns = columns.toarray()
        axes = self.layout_.axes
        coefficients = b[:-1] if axes is None else axes @ b[:-1]  # (columns, c − 1)
        of_classes = coefficients @ contrasts(len(self.classes_)).T  # times Kᵀ, (columns, c)
        return columns.T[:, :, None] * of_classes[:, None]

    def _shares_in_row(self, rows: Regression) -> Float[np.ndarray, "modes n"]:
        """How much each mode counts in the mean of the log odds η of each row; the shares of a row add up to 1.

        A mode is the most probable weights w and B at some scales of their priors, with a share in the prediction. It
        counts by its share times √(1 − Σ_c p_c²), which is near 0 where the mode is sure of a class: log odds of a sure
        mode may be huge, and would decide the mean alone.

        Parameters
        ----------
        rows : offset, t and z of n rows, from which each mode gives class probabilities p
        """
        p = np.exp([rows.log_proba(mode.w, mode.b) for mode in self.modes_])  # (modes, n, c)
        # 1e-99 keeps the sum of shares above 0 where all modes are sure.
        doubt = np.sqrt(1 - np.square(p).sum(2) + 1e-99)
        share = np.array([mode.share for mode in self.modes_])[:, None] * doubt
        return share / share.sum(0)

    def explain(self, X: Any, *, against: Any = None, feature_names: Any = None) -> pd.DataFrame:
        """What each column of each row adds to the log odds of each class, in nats.

        A column adds w_j t_ij of its density, of its bins, and its share of Bᵀz_i. "(pairs of columns)" is the table of
        the whole row under one-dependence. "(averaging)" is what remains: log odds of an average of probabilities are
        not the average of the log odds. The sum is exactly the log odds of `predict_proba`.

        Parameters
        ----------
        X : (n, d) rows, as in `predict`
        against : the class that the odds are against. By default it is the other class, or with more than two classes
            the geometric mean of all others
        feature_names : (d,) names of the features, where X has none, or the fitted pipeline or transformer that made it

        Returns
        -------
        DataFrame with the columns row, feature, class_ and contribution
        """
        check_is_fitted(self, "modes_")
        labels = self.classes_.tolist()
        check_choice("against", against, (None, *labels))  # ValueError unless it is one of these

        # 1. Terms of log p of each class, up to a constant of the row: of the d columns of X, of pairs of columns, of
        # all counts, and of the class prior.
        cells = self._cells(X)  # encoded, (n, columns)
        rows = self._new_rows(cells)  # data of the regression
        added = self._contributions(rows, cells)  # (d + 3, n, c)

        # 2. The last term is log p of the prediction minus all of these: averaging.
        averaging = self._log_mean_proba(rows) - added.sum(0)  # (n, c)
        terms = np.concatenate([added, averaging[None]])  # (d + 4, n, c)

        # 3. Log odds in the place of log p. This is linear, so that it can be applied to each term.
        position = None if against is None else labels.index(against)
        log_odds = odds_against(len(self.classes_), position)
        contributions = log_odds(self.layout_.in_label_order(terms.swapaxes(0, 1)))  # (n, d + 4, c)

        # 4. A line of the frame for each number: rows outermost, classes innermost.
        names = [*self.model_.labels_of_features(feature_names).tolist(), *_BESIDE]
        lines = [range(rows.n_rows), names, labels]
        index = pd.MultiIndex.from_product(lines, names=["row", "feature", "class_"])
        frame = pd.Series(contributions.ravel(), index, name="contribution").reset_index()
        return frame if against is None else frame[frame["class_"] != against]

    def _contributions_with_intervals(
        self,
        X: Any,
        *,
        against: Any = None,
        n: int | None = None,
        focus: int | None = None,
        level: Scalar = 0.9,
        n_draws: int = 200,
        seed: int | np.random.Generator | None = 0,
    ) -> tuple[Contributions, int | None]:
        """What each column of a few rows adds to the log odds, as in `explain`, with intervals over posterior draws.

        Parameters
        ----------
        X : (n, d) rows, as in `predict`; all draws of all of them are held in memory
        against : the class that the odds are against; None is the other class, or the geometric mean of all others
        n : columns to list of each row, the largest; None lists all
        focus : position of the class by which columns are large; None takes any
        level, n_draws, seed : posterior mass of the intervals; number of draws, and their seed

        Returns
        -------
        contributions : of each row an entry for the class prior, each listed column, pairs of columns, and all others
        position : of the class `against`, or None
        """
        check_is_fitted(self, "modes_")
        labels = self.classes_.tolist()
        check_choice("against", against, (None, *labels))  # ValueError unless it is one of these
        position = None if against is None else labels.index(against)

        # Log odds of each class in the place of log p, then entries of the columns that are listed, with intervals.
        terms = self._terms_of_log_p(X, n_draws, seed).in_odds(odds_against(len(labels), position))
        n_listed = self.n_features_in_ if n is None else n
        return contributions_of(terms, n_listed, focus, level), position

    def _terms_of_log_p(self, X: Any, n_draws: int, seed: int | np.random.Generator | None) -> Terms:
        """What each column adds to log p(y = c | x) of each row, by the prediction and by each draw.

        The terms are those of the d columns of X, of pairs of columns, of all counts, and of the class prior. They add
        up to log p but for a constant of the row. Classes are in the order of `classes_`.

        Parameters
        ----------
        X : (n, d) rows, as in `predict`
        n_draws, seed : number of draws of the weights and densities, and their seed
        """
        check_least(1, n_draws=n_draws)
        cells = self._cells(X)  # encoded
        rows = self._new_rows(cells)  # data of the regression
        terms = self._contributions(rows, cells)  # (d + 3, n, c)
        terms_of_draws = []
        for drawn in self._drawn_rows(cells, n_draws, generator(seed)):
            terms_of_draws.append(self._terms(drawn.rows, cells, drawn.w, drawn.b))

        in_label_order = self.layout_.in_label_order
        return Terms(
            value=in_label_order(terms),
            drawn=in_label_order(np.array(terms_of_draws)),
            total=in_label_order(self._log_mean_proba(rows)),  # of the prediction, (n, c)
        )

    def importance(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        groups: Any = None,
        level: Scalar = 0.9,
        feature_names: Any = None,
    ) -> pd.DataFrame:
        """How well each column alone predicts the labels, and what this model loses without it, in nats a row.

        `information`, with its interval `low` to `high`, is that of naive Bayes: see `bayesnb.importance`. `elpd_gain`
        is the mean of log p(y_i | x_i) minus the same without the contributions of the column, see `explain`. Rows are
        left out of their own columns; the weights, to which all rows were fitted, stay as they are.

        Parameters
        ----------
        X, y, sample_weight, groups : the training rows, as they were fitted
        level : level of the interval of `information`
        feature_names : (d,) names of the features, where X has none, or the fitted pipeline or transformer that made it
        """
        check_is_fitted(self, "modes_")

        # 1. The table of naive Bayes: a line for each feature, with `information` and its own gain.
        names = self.model_.labels_of_features(feature_names).tolist()
        table = importance(self.reader_, X, y, sample_weight, groups=groups, level=level, feature_names=names)

        # 2. The terms of the log odds of each training row, by the densities of all other rows: of the d columns of X
        # first, then of pairs of columns, of all counts, and of the class prior.
        training = self.training(X, y, sample_weight, groups)  # encoded
        rows = self.left_out(training)  # data of the regression
        terms = self._contributions(rows, training.cells)  # (d + 3, n, c)
        log_odds = terms.sum(0)

        # 3. log p of the label of each row with all terms, minus the same without the term of a column. log p is
        # log odds − log Σ_c exp(log odds), which `log_normalize` computes.
        is_label = rows.label > 0  # (n, c): one True a row
        with_all = log_normalize(log_odds)[is_label]  # (n,)
        losses = []
        for of_column in terms[: len(names)]:
            without_column = log_normalize(log_odds - of_column)[is_label]
            losses.append(with_all - without_column)

        # 4. The weighted mean over rows takes the place of naive Bayes's gain, in the table's order of features.
        gain = pd.Series(np.array(losses) @ training.weight / training.weight.sum(), names)
        table = table.drop(columns=["gain_low", "gain_high"])
        return table.assign(elpd_gain=gain.reindex(table["feature"]).to_numpy())

    # --- a model like others ----------------------------------------------------------------------------------------

    def loo(self, X: Any, y: Any, sample_weight: Any = None, *, groups: Any = None) -> LooResult:
        """Approximate leave-one-out of the training rows: log p(y = c | x_i, D₋ᵢ), D₋ᵢ all other rows, without a refit.

        Row i is left out of the densities of its own columns exactly, of the weights by one step of Newton's method,
        and of the shares of the scales by what the evidence loses with it. It stays in the densities of the columns of
        other rows. In seven tables of 60 to 80 rows `elpd`/n was within 0.02 of a refit without each row, and within
        0.008 on average.

        Of a row that counts several, one is left out; of a row of importance all; and with `groups` all rows of a
        group. Copies of a row with fractions that are one row seen again are one term of `se`.

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

        # 1. Encode the rows of X. Copies of a row are one training row: if the rows 0 and 2 of three rows are copies,
        # there are two training rows, and `position` 0 1 0 says which of these each row of X is.
        index = self.reader_.model_.class_index(y)  # position of each label in `classes_`, (rows of X,)
        weights = row_weights(sample_weight, len(index))  # with `are_counts`, whether they count rows
        training = self.training(X, y, weights, groups)
        rows = self.left_out(training)  # data of the regression, by the densities of all other rows

        # 2. log p(y = c) of each training row, (training rows, c): by all other rows, by all rows, and before its cells
        # are seen. `of_x` makes tables of the rows of X, with the classes as in `classes_`.
        def of_x(table: np.ndarray) -> Any:
            return self.layout_.in_label_order(table)[training.position]

        log_p = of_x(self._log_mean_loo_proba(rows))
        log_p_by_all_rows = of_x(self._log_mean_proba(self._new_rows(training.cells)))
        log_prior = of_x(rows.offset)

        # 3. A `LooResult` adds up the log class prior and a table of each block of columns. One table has it all here.
        # It also compares with the prediction by all rows, for which it calls `_posterior.log_joint(_rows)`.
        # `Known.log_joint` returns its argument, so that a table which is known already can be given.
        return LooResult(
            classes=self.classes_,
            index=index,
            weight=weights.values,
            log_prior=log_prior,
            by_block={"x": log_p - log_prior},
            exact=False,
            are_counts=weights.are_counts,
            _groups=training.position if training.has_merged_copies else training.group,
            _posterior=Known,
            _rows=log_p_by_all_rows,
        )

    @single_threaded_products()  # as in `find_modes`
    def _log_mean_loo_proba(self, rows: Regression) -> np.ndarray:
        """log p(y = c | x_i, all other rows), (n, c), as a mean over the modes.

        A *mode* is the most probable weights at some scales of their priors. The prediction is the mean of p over the
        modes, each by its share. Both p and the shares depend on row i, which is to be left out:

        1. p of each mode without the row;
        2. the shares without the row. A share is in proportion to evidence^¼, and without the row the evidence lacks
           the factor p(y_i | all other rows). So a mode that predicts the row well gets a smaller share;
        3. the mean.

        Parameters
        ----------
        rows : n training rows, by the densities of all other rows; `label` is one-hot (n, c), and `group` has the
            number of the group of each row, (n,), or is None
        """
        # 1. For each mode a step of Newton's method.
        log_p = np.array([loo_log_proba(rows, mode) for mode in self.modes_])  # (modes, n, c)

        # 2. The log of the factor is l_i log p of the label, with l_i the weight that is left out. Of a group it is the
        # sum over its rows: the terms 1 5 2 of rows in the groups 0 1 0 become 3 5 3.
        log_p_label = (log_p * rows.label).sum(2)  # (modes, n)
        log_factor = rows.leaving_weight * log_p_label
        if rows.group is not None:
            log_factor = np.array([np.bincount(rows.group, terms)[rows.group] for terms in log_factor])

        # The shares of a row add up to 1 over the modes. `log_normalize` works on the last axis, hence the transposes.
        log_share_of_all = np.log([mode.share for mode in self.modes_])  # by all rows
        log_share = log_normalize((log_share_of_all[:, None] - SHARES_POWER * log_factor).T).T  # (modes, n)

        # 3. log Σ_modes share · p.
        return logsumexp(log_p + log_share[..., None], axis=0)

    def numpyro_model(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> None:
        """The regression in NumPyro, with the leave-one-out columns of these training rows as data.

        It models the labels given the rows, p(y | x); the rows have no distribution, and the posterior no closed form.
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
        # Imported here, as only a check needs NumPyro.
        from ..check.laplace import check
        from .checking import weight_rows

        return check(self, "reader_", "discriminative", X, y, sample_weight, seed, weight_rows, most=_CHECKED)

    def __sklearn_tags__(self) -> Tags:
        """What scikit-learn may pass: what `MixedNB` of the same parts takes, and with "auto" sparse rows of counts."""
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(MixedNB(self.parts)).input_tags
        tags.input_tags.sparse = isinstance(self.parts, str) or tags.input_tags.sparse
        return tags


class _ClassSums(NamedTuple):
    """Sums over the rows i of each class, with w their weights and z the r columns of the linear term.

    Fields
    ------
    of_columns : (c, r) Σ_i w_i z_i
    weight : (c,) Σ_i w_i
    """

    of_columns: np.ndarray
    weight: np.ndarray


class _DrawnRows(NamedTuple):
    """Rows as one draw of the parameters of the densities reads them, with a draw of the weights.

    Fields
    ------
    rows : offset, t and z of the rows
    w, b : weights of the columns, and coefficients B of the linear term
    """

    rows: Regression
    w: np.ndarray
    b: np.ndarray

    def log_proba(self) -> np.ndarray:
        """log p(y = c) of each row, (n, c)."""
        return self.rows.log_proba(self.w, self.b)


class _EncodedRows(NamedTuple):
    """Rows as a model of densities takes them.

    Fields
    ------
    model : the fitted model
    rows : cells (n, …) of each block of its prior, by name
    columns : names of the blocks that make each column of the regression
    """

    model: Any
    rows: Any
    columns: list[Any]


class _Block(NamedTuple):
    """A block of the reader: the positions of its columns in X, and its number of levels, 0 of numbers."""

    columns: Int[np.ndarray, " d"]
    n_levels: int


class _Owners(NamedTuple):
    """The column of X that each column of t and each raw column of z belongs to."""

    of_t: Int[np.ndarray, " j"]
    of_z: Int[np.ndarray, " r"]
