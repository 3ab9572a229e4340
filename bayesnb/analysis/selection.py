"""Forward selection of the features of a categorical naive Bayes model, the whole procedure of SPSS.

One pass over the rows collects the counts N_jmk: rows of class k with category m of predictor j. From there on

    π_k = (N_k + λ) / (N + K λ),    p_jmk = (N_jmk + f) / (N_jk + M_j f),    N_jk = Σ_m N_jmk

with N rows (their weight, where rows are weighted), K classes and M_j observed categories. Missing cells are left out:
of N_jk, and of every product below. The average log-likelihood of a set J of predictors, in nats a row,

    l̄(J) = 1/N Σ_i log p(y_i | x_i) = A(J) + B(J)
    A(J) = 1/N [Σ_k N_k log π_k + Σ_{j∈J} Σ_mk N_jmk log p_jmk]       from the counts alone
    B(J) = −1/N Σ_i log Σ_k π_k Π_{j∈J} p_{j x_ij k}                  from the rows, or from simulated rows

grows set by set: the predictor that gives the largest l̄(J ∪ {j}) is added. Adding j to a set with class probabilities
q_ik ∝ π_k Π_J p lowers B by the mean of log Σ_k q_ik p_{j x_ij k}: all that has to be computed for a candidate.

The chapter prints 1/N′ in B(J), where N′ counts the rows with some predictor of J. The rows left out add log 1 = 0 to
the sum, so that only the divisor differs: `denominator="N′"` is the chapter's, and A and B are then means over
different rows.
"""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import Tags, _safe_indexing
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from ..core.arrays import Bool, Float
from ..core.random import generator
from ..core.special import log_normalize, most_probable
from ..estimators import CategoricalNB
from ..estimators._input import of_any_type
from ..estimators._state import all_or_nothing, reads_one_state
from ..statistics import one_hot
from ._selection_report import as_text, steps_table
from ._selection_rows import (
    category_codes,
    check_labels,
    check_weights,
    level_counts,
    nothing_to_select,
    observed_levels,
    of_counts,
    split_rows,
)
from ._selection_sets import add_one_by_one, held_out_fit, log_joint, simulate, smoothed
from ._selection_settings import SelectionSettings, check_settings, count_steps, forced_columns, partition_column
from .binning import whole_number


@dataclass(frozen=True, eq=False)
class SelectionReport:
    """The result of forward selection; `print` shows it as a table.

    Fields
    ------
    steps : data frame with one row for each set of the sequence. `added` is the predictor that made the set (None for
        the initial set), and `n_features` is its size J. `log_likelihood` is l̄(J) on the training rows in nats.
        `pseudo_bic` is −l̄(J) + ½ J log N / N. `test_log_likelihood` is l̄(J) on the held-out rows, if there are any.
        `best` marks the chosen set
    selected : predictors of the chosen set, by name or position, in the order in which they were added
    forced : the selected predictors that were in the initial set
    dropped : predictors that cannot separate the classes, each with the reason
    ignored : number of ignored rows by reason: "no target", "no predictor" (apart from dropped ones), and "no weight"
        if rows are weighted
    error : share of rows that the chosen set classifies wrongly
    error_on : "test" or "training": the rows on which `error` is measured
    settings : the settings used: numbers of rows and classes, λ and f, the criterion, and how B(J) was computed

    Examples
    --------
    >>> import bayesnb
    >>> votes = bayesnb.datasets.load("votes")
    >>> report = bayesnb.ForwardSelection().fit(votes.X, votes.y).report_
    >>> [str(name) for name in report.selected]
    ['physician_fee_freeze', 'synfuels_corporation_cutback', 'adoption_of_the_budget_resolution']
    """

    steps: pd.DataFrame
    selected: tuple[Any, ...]
    forced: tuple[Any, ...]
    dropped: dict[Any, str]
    ignored: dict[str, int]
    error: float
    error_on: str
    settings: dict[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """The report as plain lists and dictionaries, for JSON."""
        steps = self.steps.astype(object).where(self.steps.notna(), None).reset_index()
        return {
            "selected": list(self.selected),
            "forced": list(self.forced),
            "dropped": {str(name): reason for name, reason in self.dropped.items()},
            "ignored": dict(self.ignored),
            "error": self.error,
            "error_on": self.error_on,
            "steps": steps.to_dict("records"),
            "settings": dict(self.settings),
        }

    def __str__(self) -> str:
        """The sequence of sets, the one chosen and what was left out, at most 120 columns wide."""
        return as_text(self)


class ForwardSelection(SelectionSettings, SelectorMixin, ClassifierMixin, BaseEstimator):
    """Categorical naive Bayes with forward selection of the predictors by average log-likelihood.

    The search starts with the forced predictors. Each step adds the predictor that raises the average log-likelihood l̄
    of the classes most. The best set of this sequence is kept. At the end of a `Pipeline` this is a classifier. Inside
    a `Pipeline` it passes on the chosen columns.

    Parameters
    ----------
    max_features : int or "auto", default "auto"
        largest number of predictors that are added to the forced ones. "auto" is min{100, max(20, ⌊d/5⌋)} for d
        predictors that are not dropped, or all of them if there are fewer
    exact_features : int, optional
        exact number of predictors that are added to the forced ones. The last set of the sequence is then chosen, and
        `max_features` and `criterion` are not used
    force : sequence of columns, by name or position, default ()
        the initial set, which is part of every set
    criterion : "auto", "bic" or "test", default "auto"
        how the best set is chosen. "bic" takes the smallest pseudo-BIC −l̄(J) + ½ J log N / N on the training rows.
        "test" takes the largest l̄(J) on the held-out rows. "auto" is "test" if rows are held out, otherwise "bic". The
        smaller of two equally good sets wins
    test_share : float between 0 and 1, optional
        share of each class that is held out at random. At least one row of each class stays in training. Neither the
        counts nor `estimator_` use the held-out rows
    partition : column of X by name or position, or (n,) array, optional
        the rows for training: 1 or True marks them, and all other rows are held out. Such a column is not a predictor
    alpha : float or (d,), optional
        the pseudo-count f of the cells, positive, by default 1/N
    class_alpha : float or (c,), optional
        the pseudo-count λ of the classes, positive, by default 1/N
    normalizer : "exact" or "simulated", default "exact"
        "exact" computes B(J) as an average over the training rows. "simulated" averages over rows drawn from the model
        of all predictors, which saves a pass over the training rows for each candidate
    n_simulated : int, default 1000
        number of simulated rows
    denominator : "N" or "N'", default "N"
        the divisor of the sum in B(J). "N" is the number of all rows, as in A(J). "N'" is the number of rows with some
        predictor of J, as the chapter prints it. The two differ if cells are missing, see the Notes
    seed : int, Generator or None, default 0
        seed of the held-out rows and of the simulated rows

    Attributes
    ----------
    report_ : SelectionReport
        the sequence of sets; `print` shows it as a table
    estimator_ : CategoricalNB or None
        the model of the chosen columns, with the observed levels. Its input is the output of `transform`. It is None if
        no predictor is worth its penalty; the prediction is then the class shares
    support_ : (d,) bool
        whether each column was chosen
    held_out_ : (n,) bool
        whether each row was held out
    classes_, n_features_in_, feature_names_in_ : as in scikit-learn

    Notes
    -----
    Columns hold levels that `CategoricalNB` accepts: strings, categoricals or whole numbers. `EqualWidthBinner` makes
    levels from measurements, and `SPSSNaiveBayes` includes that step. Only observed categories count as levels.
    Predictors with at most one observed category are dropped, even if forced. Rows without a target, or without any
    remaining predictor, are ignored. The report lists both. All products leave out missing cells and categories that
    are not in the training rows. If classes are equally probable (to rounding), the prediction is the one with the
    larger π.

    With N′ a predictor that is often missing looks better than it is. B(J) is then an average over the rows that have
    it, while A(J) is an average over all rows. On breast cancer in ten bins with a tenth of the cells missing, N′ stops
    after one predictor. See the page "Where the sources slip".

    Simulated rows miss cells as often as the training rows of their class, so A(J) and B(J) refer to the same cells.
    B(J) then has a Monte Carlo error of about its spread over the rows divided by √n_simulated. It is the average over
    rows of the model, not over real rows. If predictors are correlated within a class, as in the House votes, l̄(J) is
    too large, and pseudo-BIC keeps too many predictors. Hold out rows in this case; their l̄(J) is exact.

    References
    ----------
    IBM SPSS Statistics, chapter Naive Bayes Algorithms, for the procedure; command reference of NAIVEBAYES, subcommands
    SUBSET, for what the maximum counts (predictors beyond the forced ones) and the defaults of the two criteria, and
    TRAININGSAMPLE, for `partition`. Both leave open, and chosen here are: that J₀/5 in the automatic maximum is rounded
    down and J₀ counts the predictors that are not dropped, that an exact number counts beyond the forced ones too,
    held-out rows taken class by class, and missing cells in simulated rows.
    Natarajan & Pednault (2001), Using simulated pseudo data to speed up statistical predictive modeling from massive
    data sets: the idea of simulated rows.

    Examples
    --------
    >>> import bayesnb
    >>> votes = bayesnb.datasets.load("votes")
    >>> model = bayesnb.ForwardSelection().fit(votes.X, votes.y)
    >>> len(model.get_feature_names_out())
    3
    """

    @all_or_nothing
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Select the predictors and fit the model of the selected ones.

        Parameters
        ----------
        X : (n, d) levels, an array or a data frame; None, NaN and pandas.NA are missing cells
        y : (n,) labels; rows where it is None, NaN or pandas.NA are ignored
        sample_weight : (n,) non-negative weights; an integer weight counts as that many copies of the row

        Raises
        ------
        ValueError
            if a setting is out of range, or if no row or no predictor remains. Also if `force` names an unknown column,
            or `exact_features` is larger than the number of predictors
        """
        criterion = check_settings(self)
        rng = generator(self.seed)
        X = of_any_type(self, X, reset=True)
        y, labelled = check_labels(y)
        check_consistent_length(X, y)
        weight = check_weights(sample_weight, X)
        weighted = weight > 0
        given = labelled & weighted
        if not given.any():
            raise ValueError("`X`, `y`, `sample_weight` have no row with a target and a weight; give at least one")
        self.classes_, index = np.unique(y[given], return_inverse=True)
        label = np.zeros(len(y), int)
        label[given] = index
        names = getattr(self, "feature_names_in_", np.arange(self.n_features_in_)).tolist()
        column = partition_column(self.partition, names)

        encoder = CategoricalNB().learn_columns(X, self.classes_)
        rows = dict(encoder.rows_of(X))
        if column is not None:  # it is no predictor
            for name, group in encoder.block_columns().items():
                rows[name] = np.where(group == column, np.nan, rows[name])
        marked = self.partition if column is None else _safe_indexing(X, column, axis=1)
        training, self.held_out_ = split_rows(list(rows.values()), label, given, self.test_share, marked, rng)

        r = one_hot(label, len(self.classes_), training * weight)
        encoder.statistics_ = encoder.prior_for().suffstats(rows, r)  # the one pass
        self.class_count_ = encoder.statistics_.n
        cells = level_counts(encoder)
        observed = [np.flatnonzero(n.sum(0)) for n in cells]
        cells = [n[:, levels] for n, levels in zip(cells, observed, strict=True)]

        dropped = {
            names[j]: "tells training from test rows"
            if j == column
            else ("one observed category" if len(levels) else "no observed value")
            for j, levels in enumerate(observed)
            if len(levels) < 2
        }
        usable = [j for j, levels in enumerate(observed) if len(levels) > 1]
        if not usable:
            raise nothing_to_select(int(training.sum()))
        forced = [j for j in forced_columns(self.force, names) if j in usable]
        steps = count_steps(self, len(usable) - len(forced), len(usable))

        n = float(self.class_count_.sum())
        smoothing: dict[str, Any] = {
            "alpha": 1 / n if self.alpha is None else self.alpha,
            "class_alpha": 1 / n if self.class_alpha is None else self.class_alpha,
        }
        model = smoothed(self.class_count_, cells, **smoothing)
        codes = category_codes(rows, encoder, observed)
        if self.normalizer == "exact":
            visited, counted = codes[:, training], weight[training]
        else:
            m = whole_number("n_simulated", self.n_simulated)
            visited, counted = simulate(model, cells, self.class_count_, m, rng), np.ones(m)
        joining = [j for j in usable if j not in forced]
        order, fit = add_one_by_one(model, visited, counted, forced, joining, steps, self.denominator == "N")
        frame = steps_table([names[j] for j in order], fit, len(forced), n)
        held_out = self.held_out_
        if held_out.any():
            frame["test_log_likelihood"] = held_out_fit(
                model, codes[:, held_out], label[held_out], weight[held_out], forced, order
            )
        if self.exact_features is not None:
            best = len(order)
        elif criterion == "test":
            best = int(np.argmax(frame["test_log_likelihood"]))
        else:
            best = int(np.argmin(frame["pseudo_bic"]))
        frame["best"] = np.arange(len(frame)) == best

        entered = [*forced, *order[:best]]
        self.support_ = np.isin(np.arange(self.n_features_in_), entered)
        self._log_pi = model.log_pi
        columns = np.flatnonzero(self.support_)
        self.estimator_: CategoricalNB | None = None
        if len(columns):
            chosen = CategoricalNB(estimate="mean", **smoothing)
            chosen.learn_columns(_safe_indexing(X, columns, axis=1), self.classes_)
            if np.ndim(self.alpha):
                chosen.alpha = np.asarray(self.alpha)[columns]
            levels = [observed_levels(encoder.categories_[j], observed[j]) for j in columns]
            self.estimator_ = of_counts(chosen, levels, [cells[j] for j in columns], self.class_count_)
        judged = held_out if held_out.any() else training
        table = log_joint(model, codes[:, judged], entered)
        self.report_ = SelectionReport(
            steps=frame,
            selected=tuple(names[j] for j in entered),
            forced=tuple(names[j] for j in forced),
            dropped=dropped,
            ignored={
                "no target": int((~labelled).sum()),
                "no predictor": int((given & ~training & ~held_out).sum()),
                **({} if sample_weight is None else {"no weight": int((labelled & ~weighted).sum())}),
            },
            error=float(np.average(most_probable(table.T, model.log_pi) != label[judged], weights=weight[judged])),
            error_on="test" if held_out.any() else "training",
            settings={
                "rows_training": int(training.sum()),
                "rows_test": int(held_out.sum()),
                "weight_training": n,
                "features": self.n_features_in_,
                "classes": len(self.classes_),
                "criterion": "exact" if self.exact_features is not None else criterion,
                **{name: np.asarray(value).tolist() for name, value in smoothing.items()},
                "normalizer": self.normalizer,
                "n_simulated": None if self.normalizer == "exact" else int(self.n_simulated),
                "denominator": self.denominator,
            },
        )
        return self

    @reads_one_state
    def predict_log_proba(self, X: Any) -> Float[np.ndarray, "n c"]:
        """log p(y = c | x_i) in nats, (n, c), given the selected predictors that are present in the row."""
        return log_normalize(self._table(X))

    @reads_one_state
    def predict(self, X: Any) -> np.ndarray:
        """The most probable label of each row, (n,); ties go to the label with the larger π."""
        table = self._table(X)
        return self.classes_[most_probable(table, self._log_pi)]

    def _table(self, X: Any) -> Float[np.ndarray, "n c"]:
        """log p(x_i, y = c) of the selected predictors, in nats."""
        check_is_fitted(self)
        X = of_any_type(self, X, reset=False)
        if self.estimator_ is None:
            return np.tile(self._log_pi, (X.shape[0], 1))
        chosen = _safe_indexing(X, np.flatnonzero(self.support_), axis=1)
        return self.estimator_.posterior_.log_joint(self.estimator_.rows_of(chosen), self.estimator_.point_estimate())

    def _get_support_mask(self) -> Bool[np.ndarray, " d"]:
        check_is_fitted(self)
        return self.support_

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags
