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

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import Tags, _safe_indexing
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_consistent_length, check_is_fitted, column_or_1d

from .._random import generator
from .._special import log_normalize, most_probable
from .._typing import Bool, Float, Int
from ..estimators import CategoricalNB
from ..estimators._input import of_any_type, positive
from ..estimators._state import all_or_nothing, reads_one_state
from ..naive_bayes import NaiveBayes, Statistics
from ..statistics import Counts, one_hot
from .binning import _whole

_CELLS = 1 << 16  # cells of a class table worked on at a time: half a MiB, inside a core's cache


@dataclass(frozen=True, eq=False)
class SelectionReport:
    """What forward selection found; `str()` is a table to read.

    Fields
    ------
    steps : data frame, one row a set of the sequence
        `added` the predictor that made the set (None for the initial one), `n_features` its size J, `log_likelihood`
        l̄(J) on the training rows in nats, `pseudo_bic` −l̄(J) + ½ J log N / N, `test_log_likelihood` l̄(J) on the
        held-out rows if there are any, `best` whether it is the set chosen
    selected : predictors of the chosen set, by name or position, in the order of their entry
    forced : those of them that the initial set held
    dropped : predictors that cannot tell classes apart, each with the reason
    ignored : number of rows left out, by reason: "no target", "no predictor" (among those not dropped), and "no weight"
        where rows are weighted
    error : share of rows that the chosen set classifies wrongly
    error_on : "test" or "training", the rows of `error`
    settings : the settings in force: numbers of rows and classes, λ and f, criterion, and how B(J) was had
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
        return _as_text(self)


class ForwardSelection(SelectorMixin, ClassifierMixin, BaseEstimator):
    """Categorical naive Bayes on the predictors that forward selection by average log-likelihood keeps.

    From the forced predictors on, the one that raises the average log-likelihood l̄ of the classes most is added, one
    by one; the best set of that sequence is kept. At the end of a `Pipeline` it is a classifier, inside one it passes
    the chosen columns on.

    Parameters
    ----------
    max_features : int or "auto", default "auto"
        how many predictors may join the forced ones; "auto" is min{100, max(20, ⌊d/5⌋)} for d predictors that are not
        dropped, or all of them where there are fewer
    exact_features : int, optional
        how many predictors join the forced ones, no more and no fewer: the last set of the sequence is taken, and
        neither `max_features` nor `criterion` is used
    force : sequence of columns, by name or position, default ()
        the initial set, which every set holds
    criterion : "auto", "bic" or "test", default "auto"
        the best set has the smallest pseudo-BIC −l̄(J) + ½ J log N / N on the training rows, or the largest l̄(J) on the
        held-out rows; "auto" is "test" where rows are held out, else "bic". The smaller of two equally good sets wins
    test_share : float between 0 and 1, optional
        share of each class that is held out at random, at least one row of each class staying in training; neither
        counts nor `estimator_` see these rows
    partition : column of X by name or position, or (n,) array, optional
        which rows train: those with 1 or True. All others are held out. A column that says so is no predictor
    alpha : float or (d,), optional
        the f of the cells, positive; 1/N unless given
    class_alpha : float or (c,), optional
        the λ of the classes, positive; 1/N unless given
    normalizer : "exact" or "simulated", default "exact"
        B(J) as an average over the training rows, or over rows drawn from the model of all predictors, which spares
        passing over the training rows again for every candidate
    n_simulated : int, default 1000
        number of rows drawn
    denominator : "N" or "N'", default "N"
        what divides the sum in B(J): the number of all rows, as in A(J), or of those with some predictor of J, as the
        chapter prints it. The two differ where cells are missing, see the Notes
    seed : int, Generator or None, default 0
        of the held-out rows and the simulated ones

    Attributes
    ----------
    report_ : SelectionReport
        the sequence of sets; print it
    estimator_ : CategoricalNB or None
        the model of the chosen columns, its levels the observed ones; it takes what `transform` gives. None where no
        predictor was worth its penalty, and the class shares alone predict
    support_ : (d,) bool
        which columns were chosen
    held_out_ : (n,) bool
        which rows were held out
    classes_, n_features_in_, feature_names_in_ : as in scikit-learn

    Notes
    -----
    Columns are levels as `CategoricalNB` takes them: strings, categoricals, whole numbers; `EqualWidthBinner` makes
    them from measurements, and `SPSSNaiveBayes` does so itself. Only observed categories count as levels. Predictors
    with a single observed category, or none, are dropped, forced or not; rows without a target, or without any
    predictor that stays, are ignored; the report tells both. Missing cells and categories that training never saw are
    left out of all products. Equally probable classes (to rounding) are decided for the one with the larger π.

    With N′ a predictor that is often missing looks better than it is: B(J) is then an average over the rows that have
    it, and A(J) over all of them. On breast cancer in ten bins with a tenth of the cells missing, N′ stops after one
    predictor. See the page "Where the sources slip".

    Simulated rows miss cells as often as the training rows of their class do, so that A(J) and B(J) speak of the same
    cells. B(J) has then a Monte Carlo error of about its spread over the rows divided by √n_simulated, and is that of
    rows as the model has them. Where predictors depend on each other within a class, as in the House votes, l̄(J) comes
    out too large and pseudo-BIC keeps too many of them. Hold rows out then; l̄(J) of those is exact.

    References
    ----------
    IBM SPSS Statistics, chapter Naive Bayes Algorithms, for the procedure; command reference of NAIVEBAYES, subcommands
    SUBSET, for what the maximum counts (predictors beyond the forced ones) and the defaults of the two criteria, and
    TRAININGSAMPLE, for `partition`. Both leave open, and chosen here are: that J₀/5 in the automatic maximum is rounded
    down and J₀ counts the predictors that are not dropped, that an exact number counts beyond the forced ones too,
    held-out rows taken class by class, and missing cells in simulated rows.
    Natarajan & Pednault (2001), Using simulated pseudo data to speed up statistical predictive modeling from massive
    data sets: the idea of simulated rows.
    """

    def __init__(
        self,
        *,
        max_features: Any = "auto",
        exact_features: Any = None,
        force: Any = (),
        criterion: Any = "auto",
        test_share: Any = None,
        partition: Any = None,
        alpha: Any = None,
        class_alpha: Any = None,
        normalizer: Any = "exact",
        n_simulated: Any = 1000,
        denominator: Any = "N",
        seed: Any = 0,
    ) -> None:
        self.max_features = max_features
        self.exact_features = exact_features
        self.force = force
        self.criterion = criterion
        self.test_share = test_share
        self.partition = partition
        self.alpha = alpha
        self.class_alpha = class_alpha
        self.normalizer = normalizer
        self.n_simulated = n_simulated
        self.denominator = denominator
        self.seed = seed

    @all_or_nothing
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Select the predictors and fit the model of those selected.

        Parameters
        ----------
        X : (n, d) levels, an array or a data frame; None, NaN and pandas.NA are missing cells
        y : (n,) labels; rows where it is None, NaN or pandas.NA are ignored
        sample_weight : (n,) non-negative weights; an integer weight counts as that many copies of the row

        Raises
        ------
        ValueError
            if a setting is out of range, no row or no predictor is left, `force` names an unknown column, or
            `exact_features` asks for more predictors than there are
        """
        criterion = self._check_settings()
        rng = generator(self.seed)
        X = self._validate(X, reset=True)
        y, labelled = _labels(y)
        check_consistent_length(X, y)
        weight = _weights(sample_weight, X)
        weighted = weight > 0
        given = labelled & weighted
        if not given.any():
            raise ValueError("`X`, `y`, `sample_weight` have no row with a target and a weight; at least one is needed")
        self.classes_, index = np.unique(y[given], return_inverse=True)
        label = np.zeros(len(y), int)
        label[given] = index
        names = getattr(self, "feature_names_in_", np.arange(self.n_features_in_)).tolist()
        column = self._partition_column(names)

        encoder, rows = self._encode(X)
        if column is not None:  # it is no predictor
            for name, group in encoder._columns().items():
                rows[name] = np.where(group == column, np.nan, rows[name])
        marked = self.partition if column is None else _safe_indexing(X, column, axis=1)
        training, self.held_out_ = self._split(list(rows.values()), label, given, marked, rng)

        prior = NaiveBayes(encoder._class_prior(), encoder._blocks(None))
        r = one_hot(label, len(self.classes_), training * weight)
        encoder.statistics_ = prior.suffstats(rows, r)  # the one pass
        self.class_count_ = encoder.statistics_.n
        cells = encoder._counts()
        observed = [np.flatnonzero(n.sum(0)) for n in cells]
        cells = [n[:, levels] for n, levels in zip(cells, observed, strict=True)]

        dropped = {
            names[j]: "tells training from test rows" if j == column else _reason(len(levels))
            for j, levels in enumerate(observed)
            if len(levels) < 2
        }
        usable = [j for j, levels in enumerate(observed) if len(levels) > 1]
        if not usable:
            raise _nothing_to_select(int(training.sum()))
        forced = [j for j in self._forced(names) if j in usable]
        steps = self._steps(len(usable) - len(forced), len(usable))

        model = self._model(cells)
        codes = _codes(rows, encoder, observed)
        if self.normalizer == "exact":
            visited, counted = codes[:, training], weight[training]
        else:
            m = _whole("n_simulated", self.n_simulated)
            visited, counted = _simulate(model, cells, self.class_count_, m, rng), np.ones(m)
        joining = [j for j in usable if j not in forced]
        order, fit = _sequence(model, visited, counted, forced, joining, steps, self.denominator == "N")
        n = float(self.class_count_.sum())
        size = len(forced) + np.arange(len(fit))
        frame = pd.DataFrame(
            {
                "added": pd.Series([None, *(names[j] for j in order)], dtype=object),
                "n_features": size,
                "log_likelihood": fit,
                "pseudo_bic": -fit + 0.5 * size * np.log(n) / n,
            }
        ).rename_axis("step")
        held_out = self.held_out_
        if held_out.any():
            frame["test_log_likelihood"] = _test_fit(
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
        self._learn_estimator(encoder, cells, observed)
        judged = held_out if held_out.any() else training
        table = _joint(model, codes[:, judged], entered)
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
                "alpha": np.asarray(self._alpha(n)).tolist(),
                "class_alpha": np.asarray(self._class_alpha(n)).tolist(),
                "normalizer": self.normalizer,
                "n_simulated": None if self.normalizer == "exact" else int(self.n_simulated),
                "denominator": self.denominator,
            },
        )
        return self

    @reads_one_state
    def predict_log_proba(self, X: Any) -> Float[np.ndarray, "n c"]:
        """log p(y = c | x_i) in nats, (n, c), given the selected predictors that the row has."""
        return log_normalize(self._table(X))

    @reads_one_state
    def predict_proba(self, X: Any) -> Float[np.ndarray, "n c"]:
        """p(y = c | x_i), (n, c); see `predict_log_proba`."""
        return np.exp(self.predict_log_proba(X))

    @reads_one_state
    def predict(self, X: Any) -> np.ndarray:
        """The most probable label of each row, (n,); of equally probable ones that with the larger π."""
        table = self._table(X)
        return self.classes_[most_probable(table, self._log_pi)]

    # --- what the fit is made of ------------------------------------------------------------------------------------

    def _check_settings(self) -> str:
        """The criterion in force; raises ValueError on settings out of range."""
        if self.max_features != "auto":
            _whole("max_features", self.max_features)
        if self.exact_features is not None:
            _whole("exact_features", self.exact_features)
            if self.max_features != "auto":
                raise ValueError("`max_features` and `exact_features` are both given; leave one of them out")
        if self.criterion not in ("auto", "bic", "test"):
            raise ValueError(f"`criterion` is {self.criterion!r}; choose 'auto', 'bic' or 'test'")
        if self.normalizer not in ("exact", "simulated"):
            raise ValueError(f"`normalizer` is {self.normalizer!r}; choose 'exact' or 'simulated'")
        if self.denominator not in ("N", "N'"):
            raise ValueError(f"`denominator` is {self.denominator!r}; choose 'N' or \"N'\"")
        if self.test_share is not None and self.partition is not None:
            raise ValueError("`test_share` and `partition` are both given; leave one of them out")
        holds_out = self.test_share is not None or self.partition is not None
        if self.criterion == "test" and not holds_out:
            raise ValueError(
                "`criterion` is 'test', but no rows are held out; give `test_share`, such as 0.3, or `partition`"
            )
        if self.test_share is not None and not (np.isreal(self.test_share) and 0 < self.test_share < 1):
            raise ValueError(f"`test_share` is {self.test_share!r}; it needs to lie between 0 and 1")
        if self.criterion == "auto":
            return "test" if holds_out else "bic"
        return self.criterion

    def _partition_column(self, names: list[Any]) -> int | None:
        """Position of the column that says which rows train; None where there is none."""
        given = self.partition
        if given is None or np.ndim(given):
            return None
        if given not in (names if isinstance(given, str) else range(len(names))):
            found = _listed(names, 8)
            raise ValueError(f"`partition` is {given!r}, which is no column of `X`; the columns are {found}")
        return names.index(given) if isinstance(given, str) else int(given)

    def _split(
        self,
        tables: list[np.ndarray],
        label: Int[np.ndarray, " n"],
        given: Bool[np.ndarray, " n"],
        marked: Any,
        rng: np.random.Generator,
    ) -> tuple[Bool[np.ndarray, " n"], Bool[np.ndarray, " n"]]:
        """Training rows and held-out ones, among the rows given, of tables of codes that are NaN where missing.

        Parameters
        ----------
        marked : None, or an array whose 1s mark the training rows
        """
        seen = given & _has_predictor(tables, given)
        if not seen.any():
            held = sum((~np.isnan(table)).any(1) for table in tables) > 0
            raise _nothing_to_select(int((given & held).sum()))
        held_out = _held_out(label, seen, self.test_share, rng) if marked is None else _others(marked, seen)
        seen &= _has_predictor(tables, seen & ~held_out)  # one that training does not drop
        return seen & ~held_out, seen & held_out

    def _forced(self, names: list[Any]) -> list[int]:
        """Positions of the forced columns, in the order given."""
        wanted = [self.force] if isinstance(self.force, str) else list(self.force)
        positions = range(len(names))
        for column in wanted:
            if column not in (names if isinstance(column, str) else positions):
                found = _listed(names, 8)
                raise ValueError(f"`force` has {column!r}, which is no column of `X`; the columns are {found}")
        return list(dict.fromkeys(names.index(c) if isinstance(c, str) else int(c) for c in wanted))

    def _steps(self, candidates: int, usable: int) -> int:
        """How many predictors are added to the forced ones: J_max less their number."""
        if self.exact_features is not None:
            if self.exact_features > candidates:
                raise ValueError(
                    f"`exact_features` is {self.exact_features}, but only {candidates} predictors with two observed "
                    "categories can be added to the forced ones"
                )
            return int(self.exact_features)
        if self.max_features != "auto":
            return min(int(self.max_features), candidates)
        return min(candidates, 100, max(20, usable // 5))

    def _alpha(self, n: float) -> Any:
        return 1 / n if self.alpha is None else self.alpha

    def _class_alpha(self, n: float) -> Any:
        return 1 / n if self.class_alpha is None else self.class_alpha

    def _encode(self, X: Any) -> tuple[CategoricalNB, dict[str, np.ndarray]]:
        """A `CategoricalNB` that knows the levels of X, and X as codes; NaN where a cell is missing."""
        encoder = CategoricalNB()
        encoder.classes_, encoder.n_features_in_ = self.classes_, self.n_features_in_
        if hasattr(self, "feature_names_in_"):
            encoder.feature_names_in_ = self.feature_names_in_
        encoder._learn_encoding(X, reset=True)
        return encoder, dict(encoder._rows(X))

    def _model(self, cells: list[np.ndarray]) -> "_Model":
        """The probabilities of all classes and cells, smoothed."""
        n = self.class_count_.sum()
        lam = positive("class_alpha", self._class_alpha(n), (len(self.classes_),))
        f = positive("alpha", self._alpha(n), (len(cells),))
        log_pi = np.log(self.class_count_ + lam) - np.log(n + lam.sum())
        p, weight = [], []
        for counts, a in zip(cells, f, strict=True):
            share = (counts + a) / (counts.sum(1, keepdims=True) + counts.shape[1] * a)
            p.append(np.concatenate([share, np.ones((len(share), 1))], 1))
            weight.append((counts * np.log(share)).sum() / n)
        return _Model(log_pi, p, np.array(weight), float(self.class_count_ @ log_pi / n))

    def _learn_estimator(self, encoder: CategoricalNB, cells: list[np.ndarray], observed: list[np.ndarray]) -> None:
        """`estimator_` from the counts of the selected columns."""
        columns = np.flatnonzero(self.support_)
        self.estimator_: CategoricalNB | None = None
        if not len(columns):
            return
        n = float(self.class_count_.sum())
        alpha = self._alpha(n)
        model = CategoricalNB(
            alpha=np.asarray(alpha)[columns] if np.ndim(alpha) else alpha,
            class_alpha=self._class_alpha(n),
            estimate="mean",
        )
        model.classes_, model.n_features_in_ = self.classes_, len(columns)
        if hasattr(self, "feature_names_in_"):
            model.feature_names_in_ = self.feature_names_in_[columns]
        model.categories_ = [_observed_levels(encoder.categories_[j], observed[j]) for j in columns]
        model.n_categories_ = np.array([len(levels) for levels in model.categories_])
        blocks = {
            name: Counts(np.stack([cells[columns[i]] for i in group], 1), np.zeros((len(self.classes_), len(group))))
            for name, group in model._columns().items()
        }
        self.estimator_ = model._set_statistics(Statistics(self.class_count_, blocks))

    def _table(self, X: Any) -> Float[np.ndarray, "n c"]:
        """log p(x_i, y = c) of the selected predictors, in nats."""
        check_is_fitted(self)
        X = self._validate(X, reset=False)
        if self.estimator_ is None:
            return np.tile(self._log_pi, (X.shape[0], 1))
        chosen = _safe_indexing(X, np.flatnonzero(self.support_), axis=1)
        return self.estimator_.posterior_.log_joint(self.estimator_._rows(chosen), self.estimator_._theta())

    def _validate(self, X: Any, reset: bool) -> Any:
        return of_any_type(self, X, reset=reset)

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


def select_features(estimator: Any, X: Any, y: Any, **settings: Any) -> SelectionReport:
    """Forward selection of features: the report of a `ForwardSelection` fitted to the rows.

    Parameters
    ----------
    estimator : a `CategoricalNB` whose `alpha` and `class_alpha` smooth the counts; None takes 1/N for both
    X, y : rows and labels, as in `ForwardSelection.fit`
    settings : the parameters of `ForwardSelection`

    Raises
    ------
    ValueError
        for another estimator, for one with given or equal class probabilities, and wherever `ForwardSelection.fit` does
    """
    if estimator is None:
        return ForwardSelection(**settings).fit(X, y).report_
    if not isinstance(estimator, CategoricalNB):
        raise ValueError(f"`estimator` is {estimator!r}; selection is for CategoricalNB, whose counts it uses, or None")
    if not estimator.fit_prior or estimator.class_prior is not None:
        raise ValueError(f"`estimator` is {estimator!r}; selection learns the class probabilities from the rows")
    smoothing = {"alpha": estimator.alpha, "class_alpha": estimator.class_alpha}
    if doubled := smoothing.keys() & settings.keys():
        raise ValueError(f"`{min(doubled)}` is given and is a parameter of `estimator` too; pass one of them")
    return ForwardSelection(**smoothing, **settings).fit(X, y).report_


# --- rows ---------------------------------------------------------------------------------------------------------


def _labels(y: Any) -> tuple[np.ndarray, Bool[np.ndarray, " n"]]:
    """Labels as an array, and where they are there."""
    if y is None:
        raise ValueError("ForwardSelection requires y to be passed, but the target y is None")
    y = column_or_1d(y, warn=True)
    there = ~pd.isna(y)
    if y.dtype.kind == "f" and np.isinf(y).any():
        raise ValueError("`y` contains infinity; it needs labels, and None or NaN where they are missing")
    if not there.any():
        raise ValueError("`y` has no label at all; rows without one are ignored")
    if y.dtype == object:  # numbers beside None
        found = pd.Series(y[there]).infer_objects().to_numpy()
        filled = np.full(len(y), found[0], dtype=found.dtype)
        filled[there] = found
        y = filled
    check_classification_targets(y[there])
    return y, there


def _weights(given: Any, X: Any) -> Float[np.ndarray, " n"]:
    """Weights of the rows, 1 where none are given."""
    if given is None:
        return np.ones(X.shape[0])
    return _check_sample_weight(given, X, dtype=np.float64, ensure_non_negative=True)


def _nothing_to_select(n: int) -> ValueError:
    """What to say where no column can tell classes apart, in n rows with a target and a value."""
    if not n:
        return ValueError("`X`, `y` have no row with a target and a predictor; at least one is needed")
    return ValueError(
        f"`X` has no column with two observed categories in the {n} sample(s) that can be used; there is nothing to "
        "select from"
    )


def _has_predictor(tables: list[np.ndarray], used: Bool[np.ndarray, " n"]) -> Bool[np.ndarray, " n"]:
    """Which rows have a value of some column that has two categories in the rows used."""
    found = np.zeros(len(used), bool)
    for table in tables:
        for column in table.T:
            held = column[used & ~np.isnan(column)]
            if len(held) and held.min() < held.max():
                found |= ~np.isnan(column)
    return found


def _others(partition: Any, used: Bool[np.ndarray, " n"]) -> Bool[np.ndarray, " n"]:
    """Rows of the test sample: those used whose value is not 1 (or True); ValueError where one sample is empty."""
    value = pd.Series(np.asarray(partition, dtype=object))
    if len(value) != len(used):
        raise ValueError(f"`partition` has {len(value)} values for the {len(used)} rows of `X`; give one for each row")
    held_out = used & ~(value == 1).to_numpy()
    for rows, what in ((used & ~held_out, "training rows, which have 1"), (held_out, "rows to hold out")):
        if not rows.any():
            raise ValueError(f"`partition` leaves no {what}, among the {used.sum()} rows that can be used")
    return held_out


def _held_out(
    label: Int[np.ndarray, " n"], used: Bool[np.ndarray, " n"], share: Any, rng: np.random.Generator
) -> Bool[np.ndarray, " n"]:
    """Rows of the test sample: a share of each class, but never all of it."""
    held_out = np.zeros(len(label), bool)
    if share is None:
        return held_out
    for k in np.unique(label[used]):
        rows = np.flatnonzero(used & (label == k))
        held_out[rng.choice(rows, min(round(share * len(rows)), len(rows) - 1), replace=False)] = True
    if not held_out.any():
        raise ValueError(f"`test_share` is {share}, which holds out none of {used.sum()} rows; give more")
    return held_out


def _codes(rows: dict[str, np.ndarray], encoder: CategoricalNB, observed: list[np.ndarray]) -> Int[np.ndarray, "d n"]:
    """Category of each cell among the observed ones, 0 … M−1; M where it is missing or was not observed."""
    d, n = len(observed), len(next(iter(rows.values())))
    codes = np.empty((d, n), np.int32)
    for name, group in encoder._columns().items():
        for i, j in enumerate(group):
            levels = len(encoder.categories_[j])
            place = np.full(levels + 1, len(observed[j]), np.int32)
            place[observed[j]] = np.arange(len(observed[j]))
            cell = rows[name][:, i]
            codes[j] = place[np.where(np.isnan(cell), levels, cell).astype(np.intp)]
    return codes


def _observed_levels(levels: np.ndarray, observed: Int[np.ndarray, " m"]) -> np.ndarray:
    """The levels that rows have; other whole numbers than 0 … M−1 are labels rather than codes."""
    kept = levels[observed]
    return kept if np.array_equal(kept, np.arange(len(kept))) else kept.astype(object)


# --- the sequence of sets -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Model:
    """The model of all predictors, of which that of each set is a part.

    Fields
    ------
    log_pi : (c,)
    p : by predictor, (c, M_j + 1)     p_jmk, and 1 for a missing cell
    weight : (d,)                      Σ_mk N_jmk log p_jmk / N, the predictor's part of A(J)
    prior_weight                       Σ_k N_k log π_k / N, the part of the classes
    """

    log_pi: np.ndarray
    p: list[np.ndarray]
    weight: np.ndarray
    prior_weight: float


def _joint(model: _Model, codes: Int[np.ndarray, "d n"], columns: Sequence[int]) -> Float[np.ndarray, "c n"]:
    """log π_k + Σ_j log p_{j x_ij k}, classes first."""
    table = np.repeat(model.log_pi[:, None], codes.shape[1], 1)
    for j in columns:
        table += np.log(model.p[j])[:, codes[j]]
    return table


def _log_sum(table: Float[np.ndarray, "c n"]) -> Float[np.ndarray, " n"]:
    """log Σ_k exp t_k: the logarithm of the normaliser."""
    top = table.max(0)
    return top + np.log(np.exp(table - top).sum(0))


def _candidates(
    model: _Model,
    codes: Int[np.ndarray, "d n"],
    weight: Float[np.ndarray, " n"],
    table: Float[np.ndarray, "c n"],
    columns: Sequence[int],
) -> tuple[float, Float[np.ndarray, " m"]]:
    """Σ_i w_i log Σ_k exp t_ik of the set behind the joint table, and how much each of the columns would raise it."""
    c, n = table.shape
    total, raised = 0.0, np.zeros(len(columns))
    step = max(1, _CELLS // c)
    for at in range(0, n, step):
        part, w = table[:, at : at + step], weight[at : at + step]
        norm = _log_sum(part)
        total += w @ norm
        q = np.exp(part - norm)
        for i, j in enumerate(columns):
            cell = codes[j, at : at + step]
            mean = q[0] * model.p[j][0].take(cell)
            for k in range(1, c):
                mean += q[k] * model.p[j][k].take(cell)
            raised[i] += w @ np.log(mean)
    return total, raised


def _sequence(
    model: _Model,
    codes: Int[np.ndarray, "d n"],
    weight: Float[np.ndarray, " n"],
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
    held = [codes[j] < model.p[j].shape[1] - 1 for j in range(len(codes))]  # cells that are not missing
    n, some = weight.sum(), np.zeros(codes.shape[1], bool)
    for j in start:
        some |= held[j]

    def divisor(rows: Bool[np.ndarray, " n"]) -> float:
        return float(n if all_rows else weight[rows].sum() or 1)  # of no row the sum is 0, whatever divides it

    table = _joint(model, codes, start)
    a = model.prior_weight + model.weight[list(start)].sum()
    left, fit = list(candidates), []
    order: list[int] = []
    while True:
        going = left if len(order) < steps else []
        total, raised = _candidates(model, codes, weight, table, going)
        fit.append(a - total / divisor(some))
        if not going:
            return order, np.array(fit)
        b = (total + raised) / np.array([divisor(some | held[j]) for j in left])
        j = left.pop(int(np.argmax(model.weight[left] - b)))
        order.append(j)
        a += model.weight[j]
        some |= held[j]
        table += np.log(model.p[j])[:, codes[j]]


def _test_fit(
    model: _Model,
    codes: Int[np.ndarray, "d n"],
    label: Int[np.ndarray, " n"],
    weight: Float[np.ndarray, " n"],
    start: Sequence[int],
    order: list[int],
) -> Float[np.ndarray, " s"]:
    """l̄(J) of each set of the sequence on other rows."""
    table = _joint(model, codes, start)
    fit = []
    for j in [None, *order]:
        if j is not None:
            table += np.log(model.p[j])[:, codes[j]]
        fit.append(np.average(table[label, np.arange(len(label))] - _log_sum(table), weights=weight))
    return np.array(fit)


def _simulate(
    model: _Model, cells: list[np.ndarray], class_count: Float[np.ndarray, " c"], m: int, rng: np.random.Generator
) -> Int[np.ndarray, "d m"]:
    """Codes of m rows drawn from the model of all predictors, cells missing as often as in the rows of the class."""
    pi = np.exp(model.log_pi)
    y = rng.choice(len(pi), size=m, p=pi / pi.sum())
    codes = np.empty((len(cells), m), np.int32)
    for j, counts in enumerate(cells):
        share = counts.sum(1) / np.where(class_count > 0, class_count, 1)  # of observed cells, by class
        p = np.concatenate([model.p[j][:, :-1] * share[:, None], (1 - share)[:, None]], 1)
        codes[j] = (rng.random(m)[:, None] >= np.cumsum(p, 1)[y, :-1]).sum(1)
    return codes


# --- the report ---------------------------------------------------------------------------------------------------


def _reason(levels: int) -> str:
    return "one observed category" if levels else "no observed value"


def _listed(names: Sequence[Any], most: int | None = None) -> str:
    more = f" and {len(names) - most} more" if most and len(names) > most else ""
    return (", ".join(map(repr, names[:most])) or "none") + more


def _as_text(report: SelectionReport) -> str:
    """The report as text of at most 120 columns."""
    s, steps = report.settings, report.steps
    rows = f"{s['rows_training']} training rows" + (f", {s['rows_test']} held out" if s["rows_test"] else "")
    lines = [f"forward selection from {s['features']} predictors: {rows}, {s['classes']} classes", ""]
    test = "test_log_likelihood" in steps
    width = max([20, *(len(str(name)) for name in steps["added"].iloc[1:])])
    width = min(width, 60)
    title = f"  {'step':>4}  {'added':<{width}}{'J':>5}{'log-lik. a row':>16}{'pseudo-BIC':>12}"
    lines.append(title + (f"{'log-lik. held out':>19}" if test else ""))
    for step, row in steps.iterrows():
        start = "(forced)" if report.forced else "(no predictor)"
        added = textwrap.shorten(str(row["added"]), width, placeholder="…") if step else start
        line = f"  {step:>4}  {added:<{width}}{row['n_features']:>5}{row['log_likelihood']:>16.6f}"
        line += f"{row['pseudo_bic']:>12.6f}" + (f"{row['test_log_likelihood']:>19.6f}" if test else "")
        lines.append(line + ("  best" if row["best"] else ""))
    why = {
        "bic": "smallest pseudo-BIC",
        "test": "largest log-likelihood on the held-out rows",
        "exact": "exact number asked for",
    }
    on = "held-out" if report.error_on == "test" else "training"
    notes = [
        f"selected ({why[s['criterion']]}): {_listed(report.selected)}",
        f"classification error {report.error:.4f} on the {on} rows",
    ]
    if report.forced:
        notes.append(f"forced: {_listed(report.forced)}")
    if s["denominator"] == "N'":
        notes.append("B(J) divided by N', the rows with some predictor of the set")
    if s["normalizer"] == "simulated":
        notes.append(f"log-likelihoods of training by {s['n_simulated']} simulated rows")
    notes += [f"dropped: {name!r}, {reason}" for name, reason in report.dropped.items()]
    notes += [f"ignored: {count} rows with {reason}" for reason, count in report.ignored.items() if count]
    lines.append("")
    for text in notes:
        lines += textwrap.wrap(text, 118, initial_indent="  ", subsequent_indent="    ")
    return "\n".join(lines)
