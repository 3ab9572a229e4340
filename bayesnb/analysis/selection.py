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
import textwrap
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import Tags, _safe_indexing
from sklearn.utils.validation import _check_sample_weight, check_consistent_length, check_is_fitted

from ..columns import listed
from ..core.arrays import Bool, Float, Int
from ..core.random import generator
from ..core.special import log_normalize, most_probable
from ..estimators import CategoricalNB
from ..estimators._input import of_any_type
from ._selection_rows import check_labels, check_settings, column_positions, count_steps, split_rows
from ._selection_sets import SmoothedModel, add_one_by_one, held_out_fit, simulate


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
    classification : data frame with one row a class and sample. Its columns are `sample` ("training" or "test"), the
        class `observed`, the weight of its rows by predicted class, and the share `correct`
    scale : columns that `SPSSNaiveBayes` cut into bins, by name or position
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
    classification: pd.DataFrame
    scale: tuple[Any, ...]
    settings: dict[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """The report as plain lists and dictionaries, for JSON."""
        plain: dict[str, Any] = {
            **vars(self),
            "steps": self.steps.reset_index(),
            "dropped": {str(k): v for k, v in self.dropped.items()},
        }
        for name, table in plain.items():
            if isinstance(table, pd.DataFrame):
                cells = table.astype(object).where(table.notna(), None).rename(columns=str)
                plain[name] = cells.to_dict("records")
            elif isinstance(table, tuple):
                plain[name] = list(table)
        return plain

    def __str__(self) -> str:
        """The sequence of sets, the one chosen, what was left out and how rows are classified, at most 120 wide."""
        s = self.settings
        rows = f"{s['rows_training']} training rows" + (f", {s['rows_test']} held out" if s["rows_test"] else "")
        names = {
            "n_features": "J",
            "log_likelihood": "log-lik. a row",
            "pseudo_bic": "pseudo-BIC",
            "test_log_likelihood": "log-lik. held out",
        }
        added = [textwrap.shorten(str(name), 60, placeholder="…") for name in self.steps["added"]]
        added[0] = "(forced)" if self.forced else "(no predictor)"
        best = np.where(self.steps["best"], "best", "")
        steps = self.steps.rename(columns=names).assign(added=added, best=best).rename(columns={"best": ""})
        why = {
            "bic": "smallest pseudo-BIC",
            "test": "largest log-likelihood on the held-out rows",
            "exact": "exact number of features",
        }
        of = {"selected": self.selected, "forced": self.forced, "cut into bins": self.scale}
        of[f"selected ({why[s['criterion']]})"] = of.pop("selected")
        notes = [f"{what}: {listed(found, len(found))}" for what, found in reversed(of.items()) if found or "(" in what]
        notes.append(f"classification error {self.error:.4f} on the {self.error_on.replace('test', 'held-out')} rows")
        if s["denominator"] == "N'":
            notes.append("B(J) divided by N', the rows with some predictor of the set")
        if s["normalizer"] == "simulated":
            notes.append(f"log-likelihoods of training by {s['n_simulated']} simulated rows")
        notes += [f"dropped: {name!r}, {reason}" for name, reason in self.dropped.items()]
        notes += [f"ignored: {count} rows with {reason}" for reason, count in self.ignored.items() if count]
        wrapped = [line for text in notes for line in textwrap.wrap(text, 118, subsequent_indent="  ")]
        parts = [
            f"forward selection from {s['features']} predictors: {rows}, {s['classes']} classes",
            textwrap.indent(steps.to_string(index_names=False), "  "),
            textwrap.indent("\n".join(wrapped), "  "),
            "  observed class by predicted class\n" + textwrap.indent(_as_text(self.classification), "  "),
        ]
        return "\n\n".join(parts)


@dataclass(kw_only=True, eq=False, repr=False)
class ForwardSelection(SelectorMixin, ClassifierMixin, BaseEstimator):
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

    max_features: Any = "auto"
    exact_features: Any = None
    force: Any = ()
    criterion: Any = "auto"
    test_share: Any = None
    partition: Any = None
    alpha: Any = None
    class_alpha: Any = None
    normalizer: Any = "exact"
    n_simulated: Any = 1000
    denominator: Any = "N"
    seed: Any = 0

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
        learner: Any = copy.copy(self)
        learner._learn(X, y, sample_weight)
        self.__dict__ = vars(learner)  # at once, and only if all went well
        return self

    def _learn(self, X: Any, y: Any, sample_weight: Any) -> None:
        criterion = check_settings(self)
        rng = generator(self.seed)
        X = of_any_type(self, X, reset=True)
        y, labelled = check_labels(y)
        check_consistent_length(X, y)
        weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        given = labelled & (weight > 0)
        if not given.any():
            raise ValueError("`X`, `y`, `sample_weight` have no row with a target and a weight; give at least one")
        self.classes_, index = np.unique(y[given], return_inverse=True)
        label = np.zeros(len(y), int)
        label[given] = index
        names = self._names()
        column = None if np.ndim(self.partition) else self.partition
        marked = self.partition
        if column is not None:
            (column,) = column_positions("`partition` is", [column], names)
            marked = _safe_indexing(X, column, axis=1)

        columns, self._scale = self._read(X, fresh=True), np.empty(0, int)
        codes = _codes(columns)
        if column is not None:  # it is no predictor
            codes[column] = -1
        training, held_out = split_rows(codes, label, given, self.test_share, marked, rng)
        columns = self._categories(columns, training)
        for j in self._scale:
            codes[j] = _codes([columns[j]])[0]
        observed = [np.unique(row[training & (row >= 0)]) for row in codes]
        dropped = {
            names[j]: "one observed category" if len(found) else "no observed value"
            for j, found in enumerate(observed)
            if len(found) < 2
        }
        if column is not None:
            dropped[names[column]] = "tells training from test rows"
        usable = [j for j, found in enumerate(observed) if len(found) > 1]
        forced = [j for j in column_positions("`force` has", self.force, names) if j in usable]
        steps = count_steps(self, len(usable) - len(forced), len(usable))

        # from here on a cell is the number of its category among those observed, and the last one is a missing cell
        codes = np.stack([_renumbered(row, found) for row, found in zip(codes, observed, strict=True)])
        model = SmoothedModel.of(
            codes[:, training],
            label[training],
            weight[training],
            list(map(len, observed)),
            len(self.classes_),
            self.alpha,
            self.class_alpha,
        )
        n = float(model.class_count.sum())
        if self.normalizer == "exact":
            visited, counted = codes[:, training], weight[training]
        else:
            visited, counted = simulate(model, self.n_simulated, rng), np.ones(self.n_simulated)
        joining = [j for j in usable if j not in forced]
        order, fit = add_one_by_one(model, visited, counted, forced, joining, steps, self.denominator == "N")
        size = len(forced) + np.arange(len(fit))
        frame = pd.DataFrame(
            {
                "added": pd.Series([None, *(names[j] for j in order)], dtype=object),
                "n_features": size,
                "log_likelihood": fit,
                "pseudo_bic": -fit + 0.5 * size * np.log(n) / n,
            }
        ).rename_axis("step")
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
        self.support_, self.held_out_ = np.isin(np.arange(len(names)), entered), held_out
        self.class_count_, self._log_pi = model.class_count, model.log_pi
        self.estimator_: CategoricalNB | None = None
        if entered:
            alpha = np.asarray(model.alpha)[self.support_]
            nb = CategoricalNB(estimate="mean", alpha=alpha, class_alpha=model.class_alpha)
            rows = pd.DataFrame(self._chosen(columns))[training].apply(pd.Categorical)  # its levels are those observed
            self.estimator_ = nb.partial_fit(rows, y[training], self.classes_, weight[training])
        found = most_probable(model.log_joint(codes, entered).T, model.log_pi)
        samples = {"training": training, "test": held_out} if held_out.any() else {"training": training}
        error_on, judged = list(samples.items())[-1]
        self.report_ = SelectionReport(
            steps=frame,
            selected=tuple(names[j] for j in entered),
            forced=tuple(names[j] for j in forced),
            dropped=dropped,
            ignored={
                "no target": int((~labelled).sum()),
                "no predictor": int((given & ~training & ~held_out).sum()),
                **({} if sample_weight is None else {"no weight": int((labelled & ~given).sum())}),
            },
            error=float(np.average(found[judged] != label[judged], weights=weight[judged])),
            error_on=error_on,
            classification=pd.concat(
                [
                    _classification(sample, label[rows], found[rows], weight[rows], self.classes_)
                    for sample, rows in samples.items()
                ],
                ignore_index=True,
            ),
            scale=tuple(names[j] for j in self._scale),
            settings={
                "rows_training": int(training.sum()),
                "rows_test": int(held_out.sum()),
                "weight_training": n,
                "features": len(names),
                "classes": len(self.classes_),
                "criterion": "exact" if self.exact_features is not None else criterion,
                "alpha": np.asarray(1 / n if self.alpha is None else self.alpha).tolist(),
                "class_alpha": np.asarray(1 / n if self.class_alpha is None else self.class_alpha).tolist(),
                "normalizer": self.normalizer,
                "n_simulated": None if self.normalizer == "exact" else int(self.n_simulated),
                "denominator": self.denominator,
            },
        )

    def predict_proba(self, X: Any) -> Float[np.ndarray, "n c"]:
        """p(y = c | x_i), (n, c); see `predict_log_proba`."""
        return np.exp(self.predict_log_proba(X))

    def predict_log_proba(self, X: Any) -> Float[np.ndarray, "n c"]:
        """log p(y = c | x_i) in nats, (n, c), given the selected predictors that are present in the row."""
        return log_normalize(self._table(X)[0])

    def predict(self, X: Any) -> np.ndarray:
        """The most probable label of each row, (n,); ties go to the label with the larger π."""
        table, log_pi, classes = self._table(X)
        return classes[most_probable(table, log_pi)]

    def _table(self, X: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """log p(x_i, y = c) of the selected predictors in nats, (n, c); log π; and the labels."""
        check_is_fitted(self)
        self = copy.copy(self)  # one state, whatever another thread fits meanwhile
        X = of_any_type(self, X, reset=False)
        if self.estimator_ is None:
            table = np.tile(self._log_pi, (X.shape[0], 1))
        else:
            table = self.estimator_.predict_joint_log_proba(self._chosen(self._categories(self._read(X))))
        return table, self._log_pi, self.classes_

    # --- the cells: here they are categories; `SPSSNaiveBayes` has numbers too --------------------------------------

    def _read(self, X: Any, fresh: bool = False) -> list[np.ndarray]:
        """The columns of a table, as objects or floats."""
        if fresh:
            CategoricalNB().learn_columns(X, self.classes_)  # refuses cells that are no levels
        return [np.asarray(_safe_indexing(X, j, axis=1), dtype=object) for j in range(self.n_features_in_)]

    def _categories(self, columns: list[np.ndarray], training: Any = None) -> list[np.ndarray]:
        """The columns as categories; where training rows are given, what is needed is learnt from them."""
        return columns

    def _names(self) -> list[Any]:
        return getattr(self, "feature_names_in_", np.arange(self.n_features_in_)).tolist()

    def _chosen(self, columns: list[np.ndarray]) -> Any:
        """The chosen columns as the estimator inside reads them: a data frame where columns have names."""
        names = self._names()
        table = pd.DataFrame({names[j]: columns[j] for j in np.flatnonzero(self.support_)}, dtype=object)
        return table if hasattr(self, "feature_names_in_") else table.to_numpy(dtype=object)

    def _get_support_mask(self) -> Bool[np.ndarray, " d"]:
        check_is_fitted(self)
        return self.support_

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.classifier_tags.poor_score = True
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.input_tags.positive_only = True
        return tags


def _codes(columns: list[np.ndarray]) -> Int[np.ndarray, "d n"]:
    """A number for each different cell of a column, −1 where it is missing."""
    return np.stack([pd.factorize(values)[0] for values in columns])


def _renumbered(codes: Int[np.ndarray, " n"], observed: Int[np.ndarray, " m"]) -> Int[np.ndarray, " n"]:
    """Place of each code among those observed; their number for any other."""
    place = np.searchsorted(observed, codes)
    return np.where(np.isin(codes, observed), place, len(observed))


def _classification(
    sample: str, observed: np.ndarray, predicted: np.ndarray, weight: np.ndarray, classes: np.ndarray
) -> pd.DataFrame:
    """Weight of the rows of each observed class by predicted class, and the share that is correct."""
    counts = np.zeros((len(classes), len(classes)))
    np.add.at(counts, (observed, predicted), weight)
    total = counts.sum(1)
    correct = np.divide(counts.diagonal(), total, out=np.full(len(classes), np.nan), where=total > 0)
    columns = dict(zip(classes.tolist(), counts.T, strict=True))
    return pd.DataFrame({"sample": sample, "observed": classes, **columns, "correct": correct})


def _as_text(table: pd.DataFrame) -> str:
    with pd.option_context("display.width", 116, "display.max_columns", 12, "display.max_rows", 60):
        return table.to_string(index=False, float_format="{:.6g}".format, max_cols=12, max_rows=60)
