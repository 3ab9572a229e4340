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
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Self, TypeAlias

import numpy as np
import pandas as pd
from scipy.special import logsumexp
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import Tags, _safe_indexing
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from ..core.arrays import Bool, Float, Int, PerRow, Table
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
        alpha: Any,
        class_alpha: Any,
    ) -> Self:
        """The model of rows; code M_j is a missing cell of a predictor with M_j levels, and None is 1/N."""
        n = weight.sum()
        f = checked_numbers("alpha", 1 / n if alpha is None else alpha, (len(codes),))
        lam = checked_numbers("class_alpha", 1 / n if class_alpha is None else class_alpha, (c,))
        class_count, counts, p = np.bincount(label, weight, c), [], []
        for row, m, pseudo in zip(codes, levels, f, strict=True):
            found = np.bincount(label * (m + 1) + row, weight, c * (m + 1)).reshape(c, m + 1)[:, :m]
            share = (found + pseudo) / (found.sum(1, keepdims=True) + m * pseudo)
            counts.append(found)
            p.append(np.concatenate([share, np.ones((c, 1))], 1))
        return cls(class_count, np.log(class_count + lam) - np.log(n + lam.sum()), counts, p, f, lam)

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

    def add_one_by_one(
        self,
        codes: Codes,
        weight: PerRow,
        start: Sequence[int],
        candidates: Sequence[int],
        steps: int,
        all_rows: bool,
    ) -> tuple[list[int], Float[np.ndarray, " s"]]:
        """Predictors in the order of their entry, and l̄(J) of the initial set and of each that follows.

        Parameters
        ----------
        all_rows : whether N divides B(J); else N′, the weight of the rows with some predictor of J
        """
        held = np.stack([row < p.shape[1] - 1 for row, p in zip(codes, self.p, strict=True)])  # cells not missing
        some = np.logical_or(held[list(start)].any(0), all_rows)

        def divisor(rows: np.ndarray) -> float:
            return float(weight[rows].sum() or 1)  # of no row the sum is 0, whatever divides it

        table, n = self.log_joint(codes, start), self.class_count.sum()
        # Σ_mk N_jmk log p_jmk / N, the part of A(J) that each predictor brings
        part = np.array([(k * np.log(p[:, :-1])).sum() / n for k, p in zip(self.counts, self.p, strict=True)])
        a = self.class_count @ self.log_pi / n + part[list(start)].sum()
        left, fit, order = list(candidates), [], list[int]()
        while True:
            norm = logsumexp(table, 0)
            total, q = weight @ norm, np.exp(table - norm)
            fit.append(a - total / divisor(some))
            if not left or len(order) == steps:
                return order, np.array(fit)
            raised = [weight @ np.log(np.einsum("kn,kn->n", q, self.p[j].take(codes[j], 1))) for j in left]
            b = (total + np.array(raised)) / np.array([divisor(some | held[j]) for j in left])
            j = left.pop(int(np.argmax(part[left] - b)))
            order.append(j)
            a += part[j]
            some |= held[j]
            table += np.log(self.p[j])[:, codes[j]]


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
        s, added = self.settings, self.steps["added"].fillna("(forced)" if self.forced else "(no predictor)")
        steps = self.steps.assign(added=added, best=np.where(self.steps["best"], "best", ""))
        by = "1,000 simulated rows" if s["normalizer"] == "simulated" else f"{s['denominator']} rows"
        why = {"bic": "smallest pseudo-BIC", "test": "largest log-likelihood held out", "exact": "exact number"}
        return "\n".join(
            [
                steps.to_string(),
                f"\n{s['rows_training']} training rows, {s['rows_test']} held out; B(J) by {by}",
                f"selected ({why[s['criterion']]}): {listed(self.selected, len(self.selected))}",
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
        criterion, rng, self._scale = self._check_settings(), generator(self.seed), list[int]()
        X = self._checked(X, fresh=True)
        with naming("X", "y"):
            labels, missing = split_labels(y)
            check_consistent_length(X, missing)
            check_classification_targets(labels)
        weights = row_weights(sample_weight, len(missing))
        weight = weights.values
        refuse_no_weight(weight)
        given = ~missing & (weight > 0)
        self.classes_, index = np.unique(labels[given[~missing]], return_inverse=True)
        label, names, c = np.zeros(len(missing), int), self._columns.labels.tolist(), len(self.classes_)
        label[given] = index
        columns = self._read(X, fresh=True)
        used = given & np.any([pd.notna(cells) for cells in columns], axis=0)
        test_weight = self._hold_out(label, used, weights, rng)
        weight_of_training = weight - test_weight
        held_out = test_weight > 0
        training = used & (weight_of_training > 0)
        columns = self._categories(columns, training)
        levels = [pd.unique(cells[training & pd.notna(cells)]) for cells in columns]
        usable = [j for j, found in enumerate(levels) if len(found) > 1]
        if not usable:
            raise ValueError(
                f"`X` has no column with two observed categories in the {used.sum()} sample(s) that have a target and "
                "a predictor, so there is nothing to select from"
            )
        # from here on a cell is the number of its category among those of training, and the last one is a missing cell
        sizes = np.array([[len(found)] for found in levels])
        codes = np.stack([pd.Index(found).get_indexer(x) for x, found in zip(columns, levels, strict=True)])
        codes = np.where(codes < 0, sizes, codes)
        used &= (codes < sizes)[usable].any(0)
        training, held_out = training & used, held_out & used
        forced = [j for j in self._positions("force", self.force) if j in usable]
        joining = [j for j in usable if j not in forced]
        rows, of_training = codes[:, training], weight_of_training[training]
        n = float(of_training.sum())
        alpha = align("alpha", self.alpha, self._columns.names)
        class_alpha = align("class_alpha", self.class_alpha, self.classes_)
        model = SmoothedModel.of(rows, label[training], of_training, sizes.ravel(), c, alpha, class_alpha)
        if self.normalizer == "simulated":
            rows, of_training = model.simulate(_SIMULATED, rng), np.ones(_SIMULATED)
        most = self._count_steps(len(joining), len(usable))
        order, fit = model.add_one_by_one(rows, of_training, forced, joining, most, self.denominator == "N")
        sets = [[*forced, *order[:s]] for s in range(len(fit))]
        steps = pd.DataFrame({"added": pd.Series([None, *(names[j] for j in order)], dtype=object)})
        steps["n_features"], steps["log_likelihood"] = [*map(len, sets)], fit
        steps["pseudo_bic"] = -fit + 0.5 * steps["n_features"] * np.log(n) / n
        if held_out.any():
            tables = [log_normalize(model.log_joint(codes[:, held_out], chosen).T) for chosen in sets]
            own = [table[np.arange(len(table)), label[held_out]] for table in tables]
            steps["test_log_likelihood"] = np.average(own, axis=1, weights=test_weight[held_out])
        worth = {"exact": steps.index, "bic": -steps["pseudo_bic"], "test": steps.get("test_log_likelihood")}[criterion]
        best = int(np.argmax(worth))
        steps["best"], chosen = steps.index == best, sets[best]

        self.support_, self.held_out_ = np.isin(np.arange(len(names)), chosen), held_out
        # a single level stands for no column: the prediction is then the class shares
        alpha = model.alpha[self.support_] if chosen else 1.0
        nb = CategoricalNB(estimate="mean", alpha=alpha, class_alpha=model.class_alpha)
        known = pd.DataFrame(self._chosen(columns))[training].apply(pd.Categorical)  # its levels are those of training
        self._nb = nb.partial_fit(known, self.classes_[label[training]], self.classes_, weight_of_training[training])
        self.estimator_ = self._nb if chosen else None
        found = most_probable(model.log_joint(codes, chosen).T, model.log_pi)
        samples = {"training": weight_of_training * training}
        if held_out.any():
            samples["test"] = test_weight * held_out
        error_on, judged = list(samples.items())[-1]
        classified = [self._classified(sample, label, found, of_rows) for sample, of_rows in samples.items()]
        ignored = {"no target": missing, "no weight": ~missing & ~given, "no predictor": given & ~used}
        self.report_ = SelectionReport(
            steps=steps.rename_axis("step"),
            selected=tuple(names[j] for j in chosen),
            forced=tuple(names[j] for j in forced),
            dropped=tuple(name for j, name in enumerate(names) if j not in usable),
            ignored={reason: int(rows.sum()) for reason, rows in ignored.items()},
            error=float(np.average(found != label, weights=judged)),
            error_on=error_on,
            classification=pd.concat(classified, ignore_index=True),
            scale=tuple(names[j] for j in self._scale),
            settings={"rows_training": int(training.sum()), "rows_test": int(held_out.sum()), "criterion": criterion}
            | {name: getattr(self, name) for name in ("normalizer", "denominator")},
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
        share, holds_out = self.test_share, self.test_share is not None or self.partition is not None
        if share is not None and not 0 < share < 1:
            raise ValueError(f"`test_share` is {share!r}; it needs to lie between 0 and 1")
        if self.criterion == "test" and not holds_out:
            raise ValueError("`criterion` is 'test', but no rows are held out; give `test_share` or `partition`")
        if self.exact_features is not None:
            return "exact"
        return {"auto": "test" if holds_out else "bic"}.get(self.criterion, self.criterion)

    def _positions(self, argument: str, columns: Any) -> list[int]:
        """Numbers of columns given by name or number, in the order given; ValueError where there is no such column."""
        columns = [columns] if isinstance(columns, str) else [*columns]
        places: list[Any] = [self._columns.place(column) for column in columns]
        if None in places:
            what = f"{columns[places.index(None)]!r}, which is not a column of `X`"
            raise ValueError(f"`{argument}` has {what}; the columns are {listed(self._columns.labels.tolist())}")
        return list(dict.fromkeys(places))

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

    def _hold_out(
        self, label: Int[np.ndarray, " n"], used: Bool[np.ndarray, " n"], weights: RowWeights, rng: np.random.Generator
    ) -> PerRow:
        """The weight that is held out of each row, (n,): of rows not marked by 1 (or True), or a random share.

        A random share is one of the rows of each class, but never all of it. Where weights count rows, it is a share of
        their units, so that one row may have units in both samples.
        """
        test_weight = np.zeros(len(label))
        if self.partition is not None:
            check_consistent_length(label, self.partition)
            is_marked = (pd.Series(np.asarray(self.partition, object)) == 1).to_numpy()
            test_weight = np.where(used & ~is_marked, weights.values, 0)
        elif self.test_share is None:
            return test_weight
        else:
            for k in np.unique(label[used]):
                rows = np.flatnonzero(used & (label == k))
                units = np.repeat(rows, weights.times[rows].astype(int))
                size = min(round(self.test_share * len(units)), len(units) - 1)
                chosen = rng.choice(units, size, replace=False)
                counts = np.bincount(chosen, minlength=len(label))
                test_weight += counts if weights.are_counts else counts * weights.values
        if not 0 < test_weight.sum() < weights.values[used].sum():
            n_rows = int((test_weight > 0).sum())
            raise ValueError(f"{n_rows} of {used.sum()} usable rows are held out; hold out some, not all")
        return test_weight

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
        self = copy.copy(self)  # one state, whatever another thread fits meanwhile
        return self._nb, self._chosen(self._categories(self._read(self._checked(X))))

    def _checked(self, X: Any, fresh: bool = False) -> Any:
        """Rows with the types that they have, and columns as those of the fit."""
        X, _, columns = checked_rows(self, X, None if fresh else self._columns, numbers=False, sparse=False)
        if fresh:
            self._columns, self.n_features_in_ = columns, columns.n
            self.__dict__.pop("feature_names_in_", None)
            if columns.names is not None:
                self.feature_names_in_ = columns.names
        return X

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
        names, places = self._columns.labels, np.flatnonzero(self.support_)
        found = {names[j]: columns[j] for j in places} or {"none": np.zeros(len(columns[0]), int)}
        table = pd.DataFrame(found, dtype=object)
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
