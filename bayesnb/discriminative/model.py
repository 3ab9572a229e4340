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
from ..sums.rows import batches
from .columns import ColumnLayout
from .explanation import Terms, contributions_of
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
        new.reader_ = self._fitted_reader(X, y, sample_weight)  # a `MixedNB`, which encodes rows

        # Encoded cells (n, columns), the position in `classes_` of each row's label as `code`, and weights.
        training = new._given_rows(X, y, sample_weight, groups)

        # The layout says how encoded cells become columns of the regression: which numbers vary, where bins end, and
        # how the linear term is centred and scaled.
        n_classes = len(new.classes_)
        new.layout_ = ColumnLayout.of(training.cells, new._level_counts(), training.weight, n_classes)

        # Classes get new numbers that depend on their rows and not on their labels, so that relabelled classes are
        # drawn alike. With the order 2 0 1 the class at position 2 of `classes_` gets the number 0, that at 0 the
        # number 1, and that at 1 the number 2. So the positions 0 1 2 have the numbers 1 2 0, which is `argsort` of the
        # order.
        sums = new._class_sums(training)
        order = class_order(sums.of_columns, sums.weight)
        number_of_position = np.argsort(order)
        new.layout_ = replace(new.layout_, class_order=order)
        training = replace(training, code=number_of_position[training.code])

        # Naive Bayes models of the densities p(x_j | y = c), and the log densities of each row given all other rows.
        new.models_ = new._fitted_densities(training)
        rows = new._rows_for_weights(training)

        # The most probable weights of these log densities, one mode for each pair of scales of their priors; and 200
        # draws of the weights around these modes.
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
        """What tells classes apart whatever their labels are: weighted sums over the rows of each, and its weight.

        The sums are Σ_i w_i z_i over the rows i of each class, with w_i the weight of a row and z_i (r,) its columns of
        the linear term.

        Parameters
        ----------
        training : encoded cells, the class number of each row as `code`, and weights
        """
        n_classes = len(self.classes_)
        sums: Any = 0  # then (c, r)
        for part in batches(len(training.code), _FIT_ROWS):  # all of z may be too large for memory
            code = training.code[part]
            weighted_z = self.layout_.linear(training.cells[part]) * training.weight[part, None]  # w z, (rows, r)
            # `bincount` adds up the numbers of a column over the rows of each class, (c,).
            sums_of_columns = [np.bincount(code, column, n_classes) for column in weighted_z.T]
            sums = sums + np.stack(sums_of_columns, 1)
        class_weight = np.bincount(training.code, training.weight, n_classes)
        return _ClassSums(sums, class_weight)

    def _fitted_densities(self, training: TrainingRows) -> list[Any]:
        """The fitted models of the densities p(x | y = c), whose logarithms the regression weighs.

        Parameters
        ----------
        training : encoded cells (n, columns), numbers before the codes of levels; the class number of each row; weights

        Returns
        -------
        A `MixedNB` with a part for each column of the regression. Then, unless there is a single column or too many
        levels, a `OneDependenceNB` of whole rows in quarters and levels, which sees pairs of columns
        """
        layout = self.layout_
        has_counts = is_sparse(training.cells)
        estimators = self._column_estimators(has_counts)  # not fitted; one for each column, or one for all counts
        if not estimators:
            raise ValueError("`X` has no column that varies; give at least one")

        # A part is (name, estimator, columns). Counts are one part of all columns; else each column is a part.
        parts = [(str(i), nb, slice(None) if has_counts else [i]) for i, nb in enumerate(estimators)]
        models: list[Any] = [MixedNB(parts)]

        # The model of pairs takes numbers as their quarters of the rows. It counts each level of a column beside each
        # of another, so that very many levels would take much memory and time.
        pair_sizes = [*(len(edges) + 1 for edges in layout.quarters), *layout.sizes]  # levels of each of its columns
        if len(pair_sizes) > 1 and sum(pair_sizes) <= _MAX_PAIR_LEVELS:
            models.append(OneDependenceNB(min_categories=pair_sizes))

        # Statistics of batches add up, so that this is a fit to all rows. `layout.columns` gives the rows in two forms,
        # (columns of the first model) and (columns of the model of pairs). `zip` stops at the shorter list, so that the
        # second form is not used where there is no model of pairs.
        classes = np.arange(len(self.classes_))
        for part in batches(len(training.code), _FIT_ROWS):
            rows = training.take(part)
            for model, x in zip(models, layout.columns(rows.cells), strict=False):
                model.partial_fit(x, rows.code, classes, rows.weight)
        return models

    def _column_estimators(self, has_counts: bool) -> list[Any]:
        """The estimator of the density of each column of the regression, not fitted.

        Three orders of columns are at work. Example: X has age, colour, height and a constant number.

            X                age colour height constant
            encoded rows     age height constant | colour                  numbers, then levels
            regression       age height | colour | age height in bins      without numbers that do not vary

        A number of the regression has the estimator that the user gave it; levels and bins are categorical.

        Parameters
        ----------
        has_counts : whether the rows are sparse counts, which one estimator takes all together
        """
        # In the order of X: the estimator of each column, by its position. A part of the reader is (name, estimator,
        # positions of its columns).
        layout = self.layout_
        of_position: dict[int, Any] = {}
        for _, estimator, columns in self.reader_.parts_:
            of_position |= dict.fromkeys(columns, estimator)

        # In the order of encoded rows: the estimators of all numbers. A block is columns of X of one family; those of
        # numbers have no levels.
        of_numbers = []
        for block in self._blocks().values():
            if block.n_levels == 0:
                of_numbers += [of_position[j] for j in block.columns]
        if has_counts:
            return of_numbers[:1]

        # In the order of the regression: the numbers that vary, whose positions among all numbers are `layout.used`;
        # columns of levels; and the numbers that vary in bins, of which there is one more than edges between them.
        of_used_numbers = [of_numbers[j] for j in layout.used]
        n_bins = [len(edges) + 1 for edges in layout.edges]
        of_levels_and_bins = [CategoricalNB(min_categories=n) for n in [*layout.sizes, *n_bins]]
        return of_used_numbers + of_levels_and_bins

    def _rows_for_weights(self, training: TrainingRows) -> Regression:
        """The rows that the weights are fitted to, as the regression reads them: all, or a sample of very many.

        The log densities of a row are those of a model that lacks the row. The sample takes each class at its own rate
        f_c, rare ones more often. Among the rows taken the odds of class c are then higher by the factor f_c. log f_c
        in the offset, which is added to the log odds of each row, makes up for it, so that the weights are those of all
        rows: see `sample_of`.

        Parameters
        ----------
        training : all training rows, encoded, with class numbers and weights
        """
        # The size of the regression. A model has one log density for each of its parts, and each is a column of it.
        n_contrasts = len(self.classes_) - 1  # c − 1 numbers tell c log probabilities up to a constant
        n_columns = sum(len(model.model_.blocks_of_parts) for model in self.models_)
        n_linear = self.layout_.linear(training.cells[:1]).shape[1]
        sample = sample_of(
            training,
            n_classes=len(self.classes_),
            n_parameters=n_columns + n_linear * n_contrasts,  # a weight of each column, and the matrix B
            numbers_of_row=n_columns * n_contrasts + n_linear,  # t_i of the columns, and z_i of the linear term
        )
        rows = self._without_own_label(training.take(sample.rows), is_fitted=True)

        # Of class c a share f_c of the rows was taken. The offset is the log odds before any column, and gets log f_c.
        return replace(rows, offset=rows.offset + sample.log_rate)

    @property
    def class_prior_(self) -> Float[np.ndarray, " c"]:
        """p(y = c) of the rows of the fit, weights included, (c,)."""
        check_is_fitted(self, "modes_")
        log_prior = np.asarray(self.models_[0].class_log_prior_)
        return np.exp(self.layout_.in_label_order(log_prior[None]))[0]

    # --- rows -------------------------------------------------------------------------------------------------------

    def _blocks(self) -> "dict[str, _Block]":
        """Blocks of columns by name: first those of numbers, then those of levels. Encoded rows have this order.

        A block is columns of X that the reader models by one prior, such as all those with three levels.
        """
        # what a block is made of is known from its prior: yes/no cells are read as two levels, 0 and 1
        columns = self.reader_.model_.block_columns  # positions in X, by name of the block
        of_numbers = {}
        of_levels = {}
        for name, block in self.reader_.model_.prior.blocks.items():
            kind = block.cells_.kind
            if kind == "yes/no":
                of_levels[name] = _Block(columns[name], n_levels=2)
            elif kind == "levels":
                # α, (class, column, level), are pseudo-counts of a Dirichlet prior, one for each level.
                of_levels[name] = _Block(columns[name], n_levels=block.alpha.shape[-1])
            else:
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
        """Encoded rows, (n, columns): numbers, then codes of levels, NaN where missing. Sparse counts stay sparse.

        Parameters
        ----------
        X : rows in any form that the reader, a fitted `MixedNB`, accepts
        """
        rows = self.reader_.model_.encode(X)  # a table (n, columns) for each block, by its name
        names = [*self._blocks()]  # blocks of numbers first, then those of levels
        if len(names) > 1:
            return np.hstack([rows[name] for name in names])

        # A single block. Counts become sparse if their density is no product over the columns (not `separable`): that
        # is so of the multinomial only, whose columns share the total of a row. Poisson counts are numbers like others.
        block = self.reader_.prior_.blocks[names[0]]
        is_multinomial = block.cells_.kind == "counts" and not block.unwrapped.separable
        return sparse.csr_array(rows[names[0]]) if is_multinomial else rows[names[0]]

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
        """What the regression reads of training rows, each of them left out of its own densities.

        A density fitted to row i itself knows its label, so that log p(x_i | y) would look more trustworthy than it is.
        Each row is therefore predicted by exact leave-one-out, from all other rows D₋ᵢ. Rows of a group leave together.

        Parameters
        ----------
        training : encoded cells, class numbers, weights, and groups if there are any
        is_fitted : True if these rows were certainly fitted, so that nothing needs to check it

        Returns
        -------
        Regression of n rows: offset (n, c) with log p(y = c | D₋ᵢ); t (n, c − 1, columns), which says the same as the
        log densities log p(x_ij | y = c, D₋ᵢ) of the columns j up to a constant of the row, in c − 1 numbers, its
        contrasts; the linear columns z (n, r); labels and weights
        """
        # The tables below are filled batch by batch. A model of densities has one column of t for each of its parts.
        n_classes = len(self.classes_)
        n = len(training.code)
        n_columns = sum(len(model.model_.blocks_of_parts) for model in self.models_)
        offset = np.empty((n, n_classes))
        t = np.empty((n, n_classes - 1, n_columns))
        z = []

        # Batches save memory. The rows of a group leave together, so that they must not be in different batches.
        for part in self._row_slices(n, is_whole=training.group is not None):
            rows = training.take(part)

            # Leave-one-out of each model has a table log p(x_ij | y = c, D₋ᵢ), (rows, c), for each column j.
            results = self._loo_results(rows, is_fitted)
            tables: list[Any] = []
            for result in results:
                tables += result.by_block.values()

            offset[part] = results[0].log_prior  # log p(y = c | D₋ᵢ), by the model of single columns
            t[part] = self.layout_.contrasts_of(np.stack(tables))  # c log densities as c − 1 numbers
            z.append(self.layout_.linear(rows.cells))
        return Regression(
            offset=offset,
            t=t,
            z=np.concatenate(z),
            label=np.eye(n_classes)[training.code],  # one-hot
            weight=training.weight,
            leaving=training.leaving,
            group=training.group,
        )

    def _loo_results(self, rows: TrainingRows, is_fitted: bool) -> list[LooResult]:
        """Exact leave-one-out of the rows by each model of densities: a table (n, c) for each column of the regression.

        Parameters
        ----------
        rows : training rows
        is_fitted : whether these are certainly the rows of the fit. Rows that a user gives may be others: the public
            `loo` refuses them, after a look at all of the statistics, which `fit` need not take
        """
        results = []
        for model, x in self._rows_by_model(rows.cells):
            labels = model.classes_[rows.code]  # the models of densities have class numbers as their labels
            if is_fitted:
                # What `loo` does after its checks. "kept": a prior that the rows scale stays that of all rows.
                # `encoded` are the rows by block, and `index` the class of each.
                encoded, index = model.model_.encode_labelled(x, labels)
                with np.errstate(invalid="ignore", divide="ignore"):  # a density may be 0
                    result = leave_out(model.model_, encoded, index, rows.weights, rows.group, "kept")
            else:
                result = model.loo(x, labels, rows.weights, groups=rows.group)
            results.append(result)
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
        """Rows as draws of the weights and of the parameters of the densities read them, one draw after the other.

        Parameters
        ----------
        cells : (n, columns) encoded rows
        n_draws, rng : number of draws, and where their random numbers come from
        """
        # What all draws share: the offset and the linear columns of the rows; and for each model of densities its rows
        # by block, and the names of the blocks that make each column of the regression.
        rows = self._new_rows(cells)
        encoded_rows = []
        for model, x in self._rows_by_model(cells):
            encoded_rows.append(_EncodedRows(model, model.model_.encode(x), [*model.model_.blocks_of_parts.values()]))

        # The 200 draws of the fit are used in turn, in random order: for 500 draws each of them twice or three times.
        w, b = self.draws_  # weights (200, columns), and B (200, r, c − 1)
        for k in rng.permutation(np.arange(n_draws) % len(w)):
            # log p(x_ij | y = c, θ) of each column j by drawn parameters θ of each model, (columns of the model, n, c).
            tables = []
            for encoded in encoded_rows:
                posterior = encoded.model.posterior_
                theta = posterior.sample(rng)
                tables.append(posterior.log_parts(encoded.rows, encoded.columns, theta))

            # Their contrasts take the place of those by the posterior mean, under the drawn weights.
            yield _DrawnRows(replace(rows, t=self.layout_.contrasts_of(np.concatenate(tables))), w[k], b[k])

    # --- what the columns do ----------------------------------------------------------------------------------------

    def _owners(self, cells: Any) -> "_Owners":
        """The column of X that each column of the regression is made of, as a position in the table of `explain`.

        Positions 0 … d − 1 are the d columns of X, d stands for pairs of columns, and d + 1 for all counts together.

        The regression has columns t, log densities, and z of its linear term. Example: X has a number (0) and a column
        of three levels (1), so that d = 2.

            t    number, levels, number in bins, pairs                        0 1 0 2
            z    standardised number, one column for each of three levels     0 1 1 1

        Parameters
        ----------
        cells : (n, columns) encoded rows; only whether they are sparse counts matters
        """
        layout = self.layout_
        d = self.n_features_in_
        columns_of_blocks = [block.columns for block in self._blocks().values()]
        in_x = np.concatenate(columns_of_blocks)  # position in X of each cell of a row
        if is_sparse(cells):  # t has one density of all counts; z has each of them
            return _Owners(of_t=np.array([d + 1]), of_z=in_x)

        # Encoded rows have all numbers first, of which those that vary are used, and then the columns of levels.
        n_numbers = len(in_x) - len(layout.sizes)
        numbers = in_x[:n_numbers][layout.used]
        levels = in_x[n_numbers:]
        has_pairs = len(self.models_) > 1  # the model of pairs is the second, if there is one
        pairs = [d] if has_pairs else []
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
        """What each column of X adds to the log probabilities η of n rows by one set of weights, in nats.

        Parameters
        ----------
        rows : t, z and offset of the rows
        cells : the same rows, encoded
        w, b : weights of the columns, and coefficients B of the linear term

        Returns
        -------
        (d + 3, n, c) terms of η: of the d columns of X, of pairs of columns, of all counts, and of the class prior
        """
        layout = self.layout_
        k = contrasts(len(self.classes_))  # K, (c, c − 1)
        owners = self._owners(cells)  # which of the d + 3 terms each column of t and z belongs to
        raw = self.layout_.raw(cells)  # (n, r) columns of the linear term before they are turned to principal axes
        if is_sparse(raw):
            raw = raw.toarray()

        # z is raw · axes, so that axes · B are the coefficients of the raw columns. The last row of B belongs to the
        # constant column of z, and so to the class prior.
        slopes = b[:-1] if layout.axes is None else layout.axes @ b[:-1]

        # K (w_j t_ij) for each column j of t, and K (b_j z_ij) for each raw column of z.
        of_t = (k @ (rows.t * w)).transpose(2, 0, 1)  # (columns of t, n, c)
        of_z = raw.T[:, :, None] * (slopes @ k.T)[:, None]  # (raw columns, n, c)

        # Several columns of the regression belong to one column of X: `add.at` sums them, where `+=` with a list of
        # repeated positions would keep the last only.
        terms = np.zeros((self.n_features_in_ + 3, len(raw), len(k)))
        np.add.at(terms, owners.of_t, of_t)
        np.add.at(terms, owners.of_z, of_z)
        terms[-1] += rows.offset + k @ b[-1]
        return terms

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
        check_choice("against", against, (None, *labels))

        # Terms of log p of each class: of the d columns of X, of pairs of columns, of all counts, and of the class
        # prior. "(averaging)" is log p of the prediction minus the sum of these, so that all terms together are log p.
        cells = self._cells(X)  # encoded, (n, columns)
        rows = self._new_rows(cells)  # what the regression reads of them
        added = self._contributions(rows, cells)  # (d + 3, n, c)
        averaging = self._log_mean_proba(rows) - added.sum(0)  # (n, c)
        terms = np.concatenate([added, averaging[None]])  # (d + 4, n, c)
        table = self.layout_.in_label_order(terms.swapaxes(0, 1))  # (n, d + 4, c)

        # `odds` turns log p of c classes into log odds of each. It is linear, so that it can be applied to each term by
        # itself.
        odds = odds_against(len(labels), None if against is None else labels.index(against))
        contributions = odds(table)

        # A line of the frame for each cell of the table, with rows outermost and classes innermost.
        names = [*self.model_.labels_of_features(feature_names).tolist(), *_BESIDE]
        index = pd.MultiIndex.from_product([range(len(table)), names, labels], names=["row", "feature", "class_"])
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
        """What each column of a few rows adds to the log odds, as arrays with intervals over draws.

        The means and intervals are those of draws of the weights and of the densities. `value` is that of `explain`.

        Parameters
        ----------
        X : (n, d) rows, as in `predict`; all draws of all of them are held in memory
        against : the class that the odds are against; None is the other class, or the geometric mean of all others
        n : columns to list of each row; None lists all
        focus : position of the class by which columns are large; None takes any
        level, n_draws, seed : posterior mass of the intervals; number of draws, and their seed

        Returns
        -------
        contributions : of each row an entry for the class prior, each listed column, pairs of columns, and all others
        position : of the class `against`, or None
        """
        check_is_fitted(self, "modes_")
        labels = self.classes_.tolist()
        check_choice("against", against, (None, *labels))
        position = None if against is None else labels.index(against)
        terms = self._terms_of_log_p(X, n_draws, seed).in_odds(odds_against(len(labels), position))
        return contributions_of(terms, self.n_features_in_ if n is None else n, focus, level), position

    def _terms_of_log_p(self, X: Any, n_draws: int, seed: int | np.random.Generator | None) -> Terms:
        """Terms of log p(y = c | x) of each row, up to a constant of the row: by the prediction, and by each draw."""
        check_least(1, n_draws=n_draws)
        cells = self._cells(X)
        rows = self._new_rows(cells)
        drawn = []  # (d + 3, n, c) of each draw
        for drawn_rows in self._drawn_rows(cells, n_draws, generator(seed)):
            drawn.append(self._terms(drawn_rows.rows, cells, drawn_rows.w, drawn_rows.b))
        in_label_order = self.layout_.in_label_order
        return Terms(
            value=in_label_order(self._contributions(rows, cells)),
            drawn=in_label_order(np.array(drawn)),
            total=in_label_order(self._log_mean_proba(rows)),
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
        # Of each feature the information about the labels by naive Bayes, and other columns that are replaced below.
        check_is_fitted(self, "modes_")
        names = self.model_.labels_of_features(feature_names).tolist()
        table = importance(self.reader_, X, y, sample_weight, groups=groups, level=level, feature_names=names)

        # Terms of the log odds η of each training row, left out of its own densities: `added` has those of the d
        # columns of X, then of pairs of columns, of all counts, and of the class prior.
        training = self.training(X, y, sample_weight, groups)
        rows = self.left_out(training)
        added = self._contributions(rows, training.cells)  # (d + 3, n, c)

        # log p(y_i | x_i) with all terms, minus the same without the term of each column of X. `log_normalize`
        # subtracts log Σ_c exp from the log odds of each row, which gives log p.
        is_label = rows.label > 0  # (n, c): one True a row, that of its class
        log_odds = added.sum(0)
        with_all = log_normalize(log_odds)[is_label]  # (n,)
        losses = []
        for column in added[: len(names)]:
            without_column = log_normalize(log_odds - column)[is_label]
            losses.append(with_all - without_column)

        # The weighted mean over rows takes the place of naive Bayes's own gain, in the order of the table's features.
        gain = pd.Series(np.array(losses) @ training.weight / training.weight.sum(), names)
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
        index = self.reader_.model_.class_index(y)  # position of each label among the classes, (rows of X,)
        weights = row_weights(sample_weight, len(index))  # with `are_counts`: whether they count rows
        training = self.training(X, y, weights, groups)  # encoded; equal rows with fractions are one training row
        rows = self.left_out(training)  # what the regression reads of training rows, by densities without the row

        # Tables log p of the training rows: left out, predicted by all rows, and of the classes alone. Each is then
        # turned into (rows of X, c). Equal rows may have been merged into one training row: three rows of X that are
        # the training rows 0 1 0 (`position`) get the results of these.
        of_other_rows = self._log_mean_loo_proba(rows)
        of_all_rows = self._log_mean_proba(self._new_rows(training.cells))
        in_label_order = self.layout_.in_label_order
        log_p = in_label_order(of_other_rows)[training.position]
        log_p_of_all_rows = in_label_order(of_all_rows)[training.position]
        log_prior = in_label_order(rows.offset)[training.position]

        # A `LooResult` adds up the log class prior and a table for each block of columns. Here a single table "x" has
        # all else, so that the sum is log p. To show how much a row matters, the result calls
        # `_posterior.log_joint(_rows)` for the table by all rows. `Known.log_joint` returns its argument, so that the
        # table itself can be given for the rows.
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
            _rows=log_p_of_all_rows,
        )

    def _log_mean_loo_proba(self, rows: Regression) -> np.ndarray:
        """log of the mean over modes of p(y = c | x_i, D₋ᵢ), (n, c), classes as the regression numbers them.

        A *mode* is the most probable weights w and B at some scales of their priors; the prediction is a mean over
        modes, each by its share. The share of a mode grows with its evidence to the power ¼. Without row i the evidence
        lacks the factor p(y_i | D₋ᵢ), so that a mode which predicts the row well counts for less.

        Parameters
        ----------
        rows : n training rows, each left out of its own densities; `label` is one-hot (n, c), and `group` are numbers
            of rows that leave together, or None
        """
        log_p = np.array([loo_log_proba(rows, mode) for mode in self.modes_])  # log p(y = c | x_i, D₋ᵢ), (modes, n, c)

        # The log likelihood l_i log p(y_i | D₋ᵢ) that leaves with a row, with l_i the weight that leaves. Of a group it
        # is the sum, which each row of the group gets: terms 1 5 2 of the groups 0 1 0 become 3 5 3.
        log_p_label = (log_p * rows.label).sum(2)  # (modes, n); labels are one-hot
        leaving = rows.leaving_weight * log_p_label
        if rows.group is not None:
            leaving = np.array([np.bincount(rows.group, terms)[rows.group] for terms in leaving])

        # log of the shares without the row, in proportion to share / likelihood^¼. They add up to 1 over the modes:
        # `log_normalize` works along the last axis, hence the transposes.
        log_share_of_all = np.log([mode.share for mode in self.modes_])
        log_share = log_normalize((log_share_of_all[:, None] - SHARES_POWER * leaving).T).T  # (modes, n)
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
