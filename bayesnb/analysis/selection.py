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

import copy
import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Self, TypeAlias

import numpy as np
import pandas as pd
from scipy.special import logsumexp
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import Tags, _safe_indexing
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from ..core.arrays import Bool, Float, Int, PerRow, Table
from ..core.progress import tracked
from ..core.random import generator
from ..core.special import log_normalize, most_probable
from ..core.supports import check_choice, check_least, checked_numbers
from ..core.weights import RowWeights, row_weights
from ..estimators import CategoricalNB
from ..estimators._input import Columns, align, checked_rows, naming, refuse_no_weight
from ..tables.names import listed
from ._predicted import ProbaOfLog
from ._suited import split_labels

Codes: TypeAlias = Int[np.ndarray, "d n"]  # category of each cell, by predictor; M_j is a missing cell
_SIMULATED = 1000  # rows of the simulated B(J)


@dataclass(frozen=True)
class SmoothedModel:
    """The model of all predictors, of which that of each set is a part.

    Fields
    ------
    class_count, log_pi : (c,)
    counts, p : by predictor, (c, M_j) and (c, M_j + 1)     N_jmk, and p_jmk with 1 for a missing cell
    alpha, class_alpha : (d,) and (c,)                      f and λ
    """

    class_count: np.ndarray
    log_pi: np.ndarray
    counts: list[np.ndarray]
    p: list[np.ndarray]
    alpha: np.ndarray
    class_alpha: np.ndarray

    @classmethod
    def of(
        cls,
        codes: Codes,
        label: Int[np.ndarray, " n"],
        weight: PerRow,
        levels: Int[np.ndarray, " d"],
        c: int,
        *,
        alpha: Any = None,
        class_alpha: Any = None,
    ) -> Self:
        """The model of rows; code M_j is a missing cell of a predictor with M_j levels, and None is 1/N."""
        n = weight.sum()
        f = checked_numbers("alpha", 1 / n if alpha is None else alpha, (len(codes),))
        lam = checked_numbers("class_alpha", 1 / n if class_alpha is None else class_alpha, (c,))
        class_count = np.bincount(label, weight, c)
        log_pi = np.log(class_count + lam) - np.log(n + lam.sum())
        counts = []
        p = []
        for row, m, pseudo in zip(codes, levels, f, strict=True):
            with_missing = np.bincount(label * (m + 1) + row, weight, c * (m + 1)).reshape(c, m + 1)
            count = with_missing[:, :m]
            share = (count + pseudo) / (count.sum(1, keepdims=True) + m * pseudo)
            counts.append(count)
            p.append(np.concatenate([share, np.ones((c, 1))], 1))
        return cls(class_count, log_pi, counts, p, f, lam)

    def log_joint(self, codes: Codes, columns: Sequence[int]) -> Float[np.ndarray, "c n"]:
        """log π_k + Σ_j log p_{j x_ij k}, classes first."""
        table = np.repeat(self.log_pi[:, None], codes.shape[1], 1)
        for j in columns:
            table += np.log(self.p[j])[:, codes[j]]
        return table

    def simulate(self, m: int, rng: np.random.Generator) -> Codes:
        """Codes of m rows drawn from the model, cells missing as often as in the rows of the class."""
        pi = np.exp(self.log_pi)
        y = rng.choice(len(pi), size=m, p=pi / pi.sum())
        codes = np.empty((len(self.p), m), int)
        for row, counts, p in zip(codes, self.counts, self.p, strict=True):
            share = counts.sum(1) / np.where(self.class_count > 0, self.class_count, 1)  # of observed cells, by class
            cumulated = np.cumsum(p[:, :-1] * share[:, None], 1)
            row[:] = (rng.random(m)[:, None] >= cumulated[y]).sum(1)
        return codes

    def is_known(self, codes: Codes) -> Bool[np.ndarray, "d n"]:
        """Whether each cell has a category; the last code of a predictor is a missing cell."""
        return np.stack([row < p.shape[1] - 1 for row, p in zip(codes, self.p, strict=True)])

    def terms_of_a(self) -> Float[np.ndarray, " d"]:
        """Σ_mk N_jmk log p_jmk / N, the term of A(J) that each predictor brings."""
        n = self.class_count.sum()
        return np.array([(count * np.log(p[:, :-1])).sum() / n for count, p in zip(self.counts, self.p, strict=True)])

    def add_one_by_one(
        self,
        codes: Codes,
        weight: PerRow,
        start: Sequence[int],
        candidates: Sequence[int],
        steps: int,
        all_rows: bool,
    ) -> "SelectionPath":
        """The search: the predictor that gives the largest l̄(J ∪ {j}) is added, `steps` times.

        Parameters
        ----------
        start : predictors of the initial set
        all_rows : whether N divides B(J); else N′, the weight of the rows with some predictor of J
        """
        is_known = self.is_known(codes)
        is_counted = np.logical_or(is_known[list(start)].any(0), all_rows)

        def divisor(rows: np.ndarray) -> float:
            return float(weight[rows].sum() or 1)  # of no row the sum is 0, whatever divides it

        term = self.terms_of_a()
        a = self.class_count @ self.log_pi / self.class_count.sum() + term[list(start)].sum()
        log_joint = self.log_joint(codes, start)
        path = SelectionPath(list(start), [], [])
        remaining = list(candidates)
        for _ in tracked(itertools.count(), "selection", unit="features added"):
            log_norm = logsumexp(log_joint, 0)
            total = weight @ log_norm
            path.log_likelihood.append(float(a - total / divisor(is_counted)))
            if not remaining or len(path.added) == steps:
                break
            q = np.exp(log_joint - log_norm)
            rise = [weight @ np.log(np.einsum("kn,kn->n", q, self.p[j].take(codes[j], 1))) for j in remaining]
            minus_b = (total + np.array(rise)) / np.array([divisor(is_counted | is_known[j]) for j in remaining])
            j = remaining.pop(int(np.argmax(term[remaining] - minus_b)))
            path.added.append(j)
            a += term[j]
            is_counted |= is_known[j]
            log_joint += np.log(self.p[j])[:, codes[j]]
        return path


class SelectionPath(NamedTuple):
    """The sets of a forward selection, from the initial one on.

    Fields
    ------
    start : predictors of the initial set
    added : predictors in the order of their entry
    log_likelihood : l̄(J) of the initial set, and of each that follows
    """

    start: list[int]
    added: list[int]
    log_likelihood: list[float]

    @property
    def sets(self) -> list[list[int]]:
        """The predictors of each set."""
        return [[*self.start, *self.added[:size]] for size in range(len(self.log_likelihood))]


# --- what a search is about -------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Rows:
    """The rows of a fit, and what each of them is used for.

    Fields
    ------
    label : (n,) number of the class of each row; 0 where the label is missing
    weights : of the rows, and what they mean
    has_label : (n,)
    is_used : (n,) whether a row has a label, weight, and some predictor
    test_weight : (n,) the weight of each row that is held out
    """

    label: Int[np.ndarray, " n"]
    weights: RowWeights
    has_label: Bool[np.ndarray, " n"]
    is_used: Bool[np.ndarray, " n"]
    test_weight: PerRow

    @property
    def has_weight(self) -> Bool[np.ndarray, " n"]:
        """Whether each row counts at all."""
        return self.weights.values > 0

    @property
    def training_weight(self) -> PerRow:
        """The weight of each row that is not held out."""
        return self.weights.values - self.test_weight

    @property
    def is_training(self) -> Bool[np.ndarray, " n"]:
        """Whether at least a part of the weight of a row is for training."""
        return self.is_used & (self.training_weight > 0)

    @property
    def is_held_out(self) -> Bool[np.ndarray, " n"]:
        """Whether at least a part of the weight of a row is held out."""
        return self.is_used & (self.test_weight > 0)

    def using_only(self, has_predictor: Bool[np.ndarray, " n"]) -> "_Rows":
        """The same rows, of which only those with some predictor are used."""
        return replace(self, is_used=self.is_used & has_predictor)

    def samples(self) -> dict[str, PerRow]:
        """The weight of each row in each sample: "training", and "test" if rows are held out."""
        samples = {"training": self.training_weight * self.is_training}
        if self.is_held_out.any():
            samples["test"] = self.test_weight * self.is_held_out
        return samples

    def ignored(self) -> dict[str, int]:
        """How many rows are ignored, by reason."""
        has_both = self.has_label & self.has_weight
        return {
            "no target": int((~self.has_label).sum()),
            "no weight": int((self.has_label & ~self.has_weight).sum()),
            "no predictor": int((has_both & ~self.is_used).sum()),
        }


class _Predictors(NamedTuple):
    """All cells as numbers of categories.

    Fields
    ------
    names : of all predictors
    codes : the category of each cell among those of training; M_j stands for a missing cell and for any other category
    sizes : (d,) M_j, the number of categories in training
    usable : predictors with at least two categories
    """

    names: list[Any]
    codes: Codes
    sizes: Int[np.ndarray, " d"]
    usable: list[int]

    @classmethod
    def of(cls, names: list[Any], columns: list[np.ndarray], is_training: Bool[np.ndarray, " n"]) -> Self:
        """From the cells of each column."""
        levels = [pd.unique(cells[is_training & pd.notna(cells)]) for cells in columns]
        sizes = np.array([len(categories) for categories in levels])
        positions = [pd.Index(categories).get_indexer(cells) for cells, categories in zip(columns, levels, strict=True)]
        codes = np.where(np.stack(positions) < 0, sizes[:, None], positions)
        return cls(names, codes, sizes, [j for j, size in enumerate(sizes) if size > 1])

    def has_usable(self) -> Bool[np.ndarray, " n"]:
        """Whether each row has a cell of some usable predictor."""
        is_known = self.codes < self.sizes[:, None]
        return np.any(is_known[self.usable], axis=0)

    def names_of(self, predictors: Sequence[int]) -> tuple[Any, ...]:
        """The names of some of the predictors."""
        return tuple(self.names[j] for j in predictors)


class _Task(NamedTuple):
    """What a forward selection is about.

    Fields
    ------
    rows, predictors : the data
    forced : predictors of the initial set
    model : the model of all predictors
    criterion : "exact", "bic" or "test"
    """

    rows: _Rows
    predictors: _Predictors
    forced: list[int]
    model: SmoothedModel
    criterion: str


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
    dropped : predictors with fewer than two observed categories, which cannot separate the classes
    ignored : number of ignored rows by reason: "no target", "no weight", and "no predictor" (apart from dropped ones)
    error : share of rows that the chosen set classifies wrongly
    error_on : "test" or "training": the rows on which `error` is measured
    classification : data frame with one row a class and sample. Its columns are `sample` ("training" or "test"), the
        class `observed`, the weight of its rows by predicted class, and the share `correct`
    scale : columns that `SPSSNaiveBayes` cut into bins, by name or position
    settings : the settings used: numbers of rows, the criterion, and how B(J) was computed

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
    dropped: tuple[Any, ...]
    ignored: dict[str, int]
    error: float
    error_on: str
    classification: pd.DataFrame
    scale: tuple[Any, ...]
    settings: dict[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers, strings, lists and dictionaries, for JSON; NaN becomes None."""
        plain = dict(vars(self))
        for name, table in (("steps", self.steps.reset_index()), ("classification", self.classification)):
            plain[name] = table.astype(object).where(table.notna(), None).rename(columns=str).to_dict("records")
        return plain

    def __str__(self) -> str:
        """The sequence of sets, the one chosen, what was left out and how rows are classified."""
        settings = self.settings
        added = self.steps["added"].fillna("(forced)" if self.forced else "(no predictor)")
        steps = self.steps.assign(added=added, best=np.where(self.steps["best"], "best", ""))
        simulated = settings["normalizer"] == "simulated"
        by = "1,000 simulated rows" if simulated else f"{settings['denominator']} rows"
        reasons = {"bic": "smallest pseudo-BIC", "test": "largest log-likelihood held out", "exact": "exact number"}
        reason = reasons[settings["criterion"]]
        return "\n".join(
            [
                steps.to_string(),
                f"\n{settings['rows_training']} training rows, {settings['rows_test']} held out; B(J) by {by}",
                f"selected ({reason}): {listed(self.selected, len(self.selected))}",
                f"cut into bins: {listed(self.scale, len(self.scale))}",
                f"classification error {self.error:.4f} on the {self.error_on} rows",
                f"with fewer than two categories: {listed(self.dropped, len(self.dropped))}",
                *(f"ignored: {count} rows with {reason}" for reason, count in self.ignored.items() if count),
                f"\nobserved class by predicted class\n{self.classification.to_string()}",
            ]
        )


@dataclass(kw_only=True, eq=False, repr=False)
class ForwardSelection(ProbaOfLog, SelectorMixin, ClassifierMixin, BaseEstimator):
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
        share of each class that is held out at random, if there is no `partition`. At least one row of each class stays
        in training. Neither the counts nor `estimator_` use the held-out rows
    partition : (n,) array, optional
        the rows for training: 1 or True marks them, and all other rows are held out
    alpha : float or (d,), optional
        the pseudo-count f of the cells, positive, by default 1/N
    class_alpha : float or (c,), optional
        the pseudo-count λ of the classes, positive, by default 1/N
    normalizer : "exact" or "simulated", default "exact"
        "exact" computes B(J) as an average over the training rows. "simulated" averages over rows drawn from the model
        of all predictors, 1,000 of them, which saves a pass over the training rows for each candidate
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
        whether each row was held out; where weights count rows, whether one of its units was
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
    after one predictor. See the page "The sources, and where they slip".

    Simulated rows miss cells as often as the training rows of their class, so A(J) and B(J) refer to the same cells.
    B(J) then has a Monte Carlo error of about its spread over the rows divided by √1000. It is the average over
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

    max_features: Any = "auto"
    exact_features: Any = None
    force: Any = ()
    criterion: Any = "auto"
    test_share: Any = None
    partition: Any = None
    alpha: Any = None
    class_alpha: Any = None
    normalizer: Any = "exact"
    denominator: Any = "N"
    seed: Any = 0

    _columns: Columns = field(init=False)

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Select the predictors and fit the model of the selected ones.

        Parameters
        ----------
        X : (n, d) levels, an array or a data frame; None, NaN and pandas.NA are missing cells
        y : (n,) labels; rows where it is None, NaN or pandas.NA are ignored
        sample_weight : (n,) non-negative weights. Of an integer type they count rows: the result is that of the
            repeated rows, and `test_share` holds out single units. Of a float type they are importance: a row is held
            out whole

        Raises
        ------
        ValueError
            if a setting is out of range, or if no row or no predictor remains. Also if `force` names an unknown column,
            or `exact_features` is larger than the number of predictors
        """
        learner: Any = copy.copy(self)
        learner._select_from(X, y, sample_weight)
        self.__dict__ = vars(learner)  # at once, and only if all went well
        return self

    def _select_from(self, X: Any, y: Any, sample_weight: Any) -> None:
        """Learn everything from rows; on an error half of it."""
        criterion = self._check_settings()
        rng = generator(self.seed)
        self._scale: list[int] = []
        table = self._checked(X, fresh=True)
        rows = self._label_rows(table, y, sample_weight)
        columns = self._read(table, fresh=True)
        rows = rows.using_only(np.any([pd.notna(cells) for cells in columns], axis=0))
        rows = replace(rows, test_weight=self._hold_out(rows, rng))

        columns = self._categories(columns, rows.is_training)
        predictors = _Predictors.of(self._columns.labels.tolist(), columns, rows.is_training)
        if not predictors.usable:
            raise ValueError(
                f"`X` has no column with two observed categories in the {rows.is_used.sum()} sample(s) that have a "
                "target and a predictor, so there is nothing to select from"
            )
        rows = rows.using_only(predictors.has_usable())

        forced = [j for j in self._positions("force", self.force) if j in predictors.usable]
        task = _Task(rows, predictors, forced, self._model_of_all(predictors, rows), criterion)
        path = self._search(task, rng)
        steps = _steps(task, path)
        best = _best_step(steps, criterion)
        chosen = path.sets[best]

        self.support_ = np.isin(np.arange(len(predictors.names)), chosen)
        self.held_out_ = rows.is_held_out
        self._fit_chosen(task, columns)
        self.report_ = self._report(task, steps.assign(best=steps.index == best), chosen)

    def _label_rows(self, X: Any, y: Any, sample_weight: Any) -> _Rows:
        """The labels and weights of the rows; learns the classes."""
        with naming("X", "y"):
            labels, is_missing = split_labels(y)
            check_consistent_length(X, is_missing)
            check_classification_targets(labels)
        weights = row_weights(sample_weight, len(is_missing))
        refuse_no_weight(weights.values)
        is_used = ~is_missing & (weights.values > 0)
        self.classes_, index = np.unique(labels[is_used[~is_missing]], return_inverse=True)
        label = np.zeros(len(is_missing), int)
        label[is_used] = index
        return _Rows(label, weights, ~is_missing, is_used, test_weight=np.zeros(len(is_missing)))

    # --- steps of the search ----------------------------------------------------------------------------------------

    def _model_of_all(self, predictors: _Predictors, rows: _Rows) -> SmoothedModel:
        """The model of all predictors, from the training rows."""
        training = rows.is_training
        return SmoothedModel.of(
            predictors.codes[:, training],
            rows.label[training],
            rows.training_weight[training],
            predictors.sizes,
            len(self.classes_),
            alpha=align("alpha", self.alpha, self._columns.names),
            class_alpha=align("class_alpha", self.class_alpha, self.classes_),
        )

    def _search(self, task: _Task, rng: np.random.Generator) -> SelectionPath:
        """The sequence of sets, by the training rows or by simulated ones."""
        rows = task.rows
        usable = task.predictors.usable
        candidates = [j for j in usable if j not in task.forced]
        if self.normalizer == "simulated":
            codes = task.model.simulate(_SIMULATED, rng)
            weight = np.ones(_SIMULATED)
        else:
            codes = task.predictors.codes[:, rows.is_training]
            weight = rows.training_weight[rows.is_training]
        n_steps = self._count_steps(len(candidates), len(usable))
        return task.model.add_one_by_one(codes, weight, task.forced, candidates, n_steps, self.denominator == "N")

    def _fit_chosen(self, task: _Task, columns: list[np.ndarray]) -> None:
        """Fit the model of the chosen columns to the training rows."""
        rows, model = task.rows, task.model
        training = rows.is_training
        is_empty = not self.support_.any()
        # a single level stands for no column: the prediction is then the class shares
        alpha = 1.0 if is_empty else model.alpha[self.support_]
        nb = CategoricalNB(estimate="mean", alpha=alpha, class_alpha=model.class_alpha)
        levels = pd.DataFrame(self._chosen(columns))[training].apply(pd.Categorical)  # those of training
        labels = self.classes_[rows.label[training]]
        self._nb = nb.partial_fit(levels, labels, self.classes_, rows.training_weight[training])
        self.estimator_ = None if is_empty else self._nb

    def _report(self, task: _Task, steps: pd.DataFrame, chosen: list[int]) -> SelectionReport:
        """The sequence of sets, and how the chosen one classifies."""
        rows, predictors, model = task.rows, task.predictors, task.model
        predicted = most_probable(model.log_joint(predictors.codes, chosen).T, model.log_pi)
        samples = rows.samples()
        error_on, judged = list(samples.items())[-1]
        classified = [self._classified(sample, rows.label, predicted, weight) for sample, weight in samples.items()]
        return SelectionReport(
            steps=steps.rename_axis("step"),
            selected=predictors.names_of(chosen),
            forced=predictors.names_of(task.forced),
            dropped=predictors.names_of([j for j in range(len(predictors.names)) if j not in predictors.usable]),
            ignored=rows.ignored(),
            error=float(np.average(predicted != rows.label, weights=judged)),
            error_on=error_on,
            classification=pd.concat(classified, ignore_index=True),
            scale=predictors.names_of(self._scale),
            settings={
                "rows_training": int(rows.is_training.sum()),
                "rows_test": int(rows.is_held_out.sum()),
                "criterion": task.criterion,
                "normalizer": self.normalizer,
                "denominator": self.denominator,
            },
        )

    # --- settings and rows ------------------------------------------------------------------------------------------

    def _check_settings(self) -> str:
        """The criterion in force; ValueError on settings out of range."""
        for name in ("max_features", "exact_features"):
            if getattr(self, name) not in ("auto", None):
                check_least(1, **{name: getattr(self, name)})
        check_choice("criterion", self.criterion, ("auto", "bic", "test"))
        check_choice("normalizer", self.normalizer, ("exact", "simulated"))
        check_choice("denominator", self.denominator, ("N", "N'"))
        share = self.test_share
        holds_out = share is not None or self.partition is not None
        if share is not None and not 0 < share < 1:
            raise ValueError(f"`test_share` is {share!r}; it needs to lie between 0 and 1")
        if self.criterion == "test" and not holds_out:
            raise ValueError("`criterion` is 'test', but no rows are held out; give `test_share` or `partition`")
        if self.exact_features is not None:
            return "exact"
        return {"auto": "test" if holds_out else "bic"}.get(self.criterion, self.criterion)

    def _positions(self, argument: str, columns: Any) -> list[int]:
        """Numbers of columns given by name or number, in the order given; ValueError where there is no such column."""
        requested = [columns] if isinstance(columns, str) else [*columns]
        positions = []
        for column in requested:
            position = self._columns.place(column)
            if position is None:
                raise ValueError(
                    f"`{argument}` has {column!r}, which is not a column of `X`; the columns are "
                    f"{listed(self._columns.labels.tolist())}"
                )
            positions.append(position)
        return list(dict.fromkeys(positions))

    def _count_steps(self, candidates: int, usable: int) -> int:
        """How many predictors are added to the forced ones: J_max less their number."""
        automatic = min(100, max(20, usable // 5)) if self.max_features == "auto" else self.max_features
        if self.exact_features is None:
            return min(candidates, automatic)
        if self.exact_features > candidates:
            raise ValueError(
                f"`exact_features` is {self.exact_features}, but only {candidates} predictors with at least two "
                "observed categories can be added to the forced ones; give at most that number"
            )
        return self.exact_features

    def _hold_out(self, rows: _Rows, rng: np.random.Generator) -> PerRow:
        """The weight that is held out of each row, (n,): of rows not marked by 1 (or True), or a random share."""
        if self.partition is not None:
            check_consistent_length(rows.label, self.partition)
            is_marked = (pd.Series(np.asarray(self.partition, object)) == 1).to_numpy()
            test_weight = np.where(rows.is_used & ~is_marked, rows.weights.values, 0)
        elif self.test_share is not None:
            test_weight = self._random_share(rows, rng)
        else:
            return np.zeros(len(rows.label))
        if not 0 < test_weight.sum() < rows.weights.values[rows.is_used].sum():
            n_rows = int((test_weight > 0).sum())
            raise ValueError(f"{n_rows} of {rows.is_used.sum()} usable rows are held out; hold out some, not all")
        return test_weight

    def _random_share(self, rows: _Rows, rng: np.random.Generator) -> PerRow:
        """A random share of the rows of each class, but never all of it: the weight of each row in it.

        Where weights count rows, it is a share of their units, so that one row may have units in both samples.
        """
        n = len(rows.label)
        weights = rows.weights
        share = np.zeros(n)
        for k in np.unique(rows.label[rows.is_used]):
            members = np.flatnonzero(rows.is_used & (rows.label == k))
            units = np.repeat(members, weights.times[members].astype(int))
            size = min(round(self.test_share * len(units)), len(units) - 1)
            counts = np.bincount(rng.choice(units, size, replace=False), minlength=n)
            share += counts if weights.are_counts else counts * weights.values
        return share

    def _classified(self, sample: str, observed: np.ndarray, predicted: np.ndarray, weight: np.ndarray) -> pd.DataFrame:
        """Weight of the rows of each observed class by predicted class, and the share that is correct."""
        c = len(self.classes_)
        counts = np.bincount(observed * c + predicted, weight, c * c).reshape(c, c)
        with np.errstate(invalid="ignore"):
            correct = counts.diagonal() / counts.sum(1)  # NaN of a class without rows
        by_class = dict(zip(self.classes_.tolist(), counts.T, strict=True))
        return pd.DataFrame({"sample": sample, "observed": self.classes_, **by_class, "correct": correct})

    # --- prediction -------------------------------------------------------------------------------------------------

    def predict_log_proba(self, X: Any) -> Table:
        """log p(y = c | x_i) in nats, (n, c), given the selected predictors that are present in the row."""
        nb, rows = self._inside(X)
        return nb.predict_log_proba(rows)

    def predict(self, X: Any) -> np.ndarray:
        """The most probable label of each row, (n,); ties go to the label with the larger π."""
        nb, rows = self._inside(X)
        return nb.predict(rows)

    def _inside(self, X: Any) -> tuple[CategoricalNB, Any]:
        """The model of the selected predictors, and its rows."""
        check_is_fitted(self)
        return copy.copy(self)._model_and_rows(X)  # one state, whatever another thread fits meanwhile

    def _model_and_rows(self, X: Any) -> tuple[CategoricalNB, Any]:
        columns = self._read(self._checked(X))
        return self._nb, self._chosen(self._categories(columns))

    def _checked(self, X: Any, fresh: bool = False) -> Any:
        """Rows with the types that they have, and columns as those of the fit."""
        table, _, columns = checked_rows(self, X, None if fresh else self._columns, numbers=False, sparse=False)
        if fresh:
            self._columns = columns
            self.n_features_in_ = columns.n
            self.__dict__.pop("feature_names_in_", None)
            if columns.names is not None:
                self.feature_names_in_ = columns.names
        return table

    # --- the cells: here they are categories; `SPSSNaiveBayes` has numbers too --------------------------------------

    def _read(self, X: Any, fresh: bool = False) -> list[np.ndarray]:
        """The columns of a table, as objects or floats."""
        if fresh:
            CategoricalNB().learn_columns(X, self.classes_)  # refuses cells that are no levels
        return [np.asarray(_safe_indexing(X, j, axis=1), dtype=object) for j in range(self.n_features_in_)]

    def _categories(self, columns: list[np.ndarray], training: Any = None) -> list[np.ndarray]:
        """The columns as categories; where training rows are given, what is needed is learnt from them."""
        return columns

    def _chosen(self, columns: list[np.ndarray]) -> Any:
        """The chosen columns as the estimator inside reads them: a data frame where columns have names."""
        names = self._columns.labels
        chosen = {names[j]: columns[j] for j in np.flatnonzero(self.support_)}
        if not chosen:
            chosen = {"none": np.zeros(len(columns[0]), int)}
        table = pd.DataFrame(chosen, dtype=object)
        return table.to_numpy(dtype=object) if self._columns.names is None else table

    def _get_support_mask(self) -> Bool[np.ndarray, " d"]:
        check_is_fitted(self)
        return self.support_

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = tags.classifier_tags.poor_score = True
        for name in ("allow_nan", "categorical", "string", "positive_only"):
            setattr(tags.input_tags, name, True)
        return tags


# --- the sequence of sets ---------------------------------------------------------------------------------------------


def _steps(task: _Task, path: SelectionPath) -> pd.DataFrame:
    """One row for each set: what was added, its size, and the criteria."""
    rows = task.rows
    n = float(rows.training_weight[rows.is_training].sum())
    steps = pd.DataFrame({"added": pd.Series([None, *task.predictors.names_of(path.added)], dtype=object)})
    steps["n_features"] = [len(members) for members in path.sets]
    steps["log_likelihood"] = path.log_likelihood
    steps["pseudo_bic"] = -steps["log_likelihood"] + 0.5 * steps["n_features"] * np.log(n) / n
    if rows.is_held_out.any():
        steps["test_log_likelihood"] = _test_log_likelihood(task, path)
    return steps


def _test_log_likelihood(task: _Task, path: SelectionPath) -> Float[np.ndarray, " s"]:
    """Mean log p(y_i | x_i) of the held-out rows under each set."""
    rows = task.rows
    codes = task.predictors.codes[:, rows.is_held_out]
    label = rows.label[rows.is_held_out]
    log_p = []
    for members in path.sets:
        table = log_normalize(task.model.log_joint(codes, members).T)
        log_p.append(table[np.arange(len(table)), label])
    return np.average(log_p, axis=1, weights=rows.test_weight[rows.is_held_out])


def _best_step(steps: pd.DataFrame, criterion: str) -> int:
    """The position of the best set; the smaller of two equally good ones."""
    if criterion == "exact":
        return len(steps) - 1
    if criterion == "bic":
        return int(np.argmin(steps["pseudo_bic"]))
    return int(np.argmax(steps["test_log_likelihood"]))
