"""What follows from a cut-off on the probability of a class: how many rows are found, how many are false alarms.

A row is flagged if its probability of the positive class is at least the cut-off t. With π the share of positive rows
where the table is used, and o = t/(1 − t) the odds of the cut-off,

    sensitivity = flagged positive rows / positive rows        specificity = other negative rows / negative rows
    share flagged = π sensitivity + (1 − π)(1 − specificity)
    positive predictive value = π sensitivity / share flagged
    negative predictive value = (1 − π) specificity / (1 − share flagged)
    net benefit = π sensitivity − o (1 − π)(1 − specificity)

Sensitivity and specificity are k of n rows each, with Jeffreys intervals: quantiles of Beta(k + ½, n − k + ½). The
intervals of all other numbers are quantiles over draws of these two, at the given π. A net benefit of b says: the model
is worth as much as finding b of all rows as true positives without a false alarm. Flagging no row has the net benefit
0, flagging every row π − o (1 − π).

References
----------
Brown, Cai & DasGupta (2001), Interval estimation for a binomial proportion, Statistical Science 16, §4.3: Jeffreys.
Vickers & Elkin (2006), Decision curve analysis, Medical Decision Making 26: net benefit.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import beta

from ..estimators._suited import check_own
from ..numerics.arrays import Bool, Float, PerRow, Scalar
from ..numerics.supports import as_numbers, check_level
from ..numerics.weights import RowWeights, row_weights
from ..posterior.loo import loo_in_analyses
from .decisions import cost_threshold
from .roc import positive_label

CUT_OFFS = (0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
"""Cut-offs of a table where none are given. They do not depend on the rows, so that no row has chosen them."""

_N_DRAWS = 4_000  # of sensitivity and specificity
_SAME = 1e-12  # difference of two cut-offs that are the same
_LEAVE_ONE_OUT = "leave-one-out: each row is predicted from all others, with p(y) of all rows"


@dataclass(frozen=True, eq=False)
class ThresholdTable:
    """What follows from each of several cut-offs on the probability of a class.

    Fields
    ------
    table : data frame with a row for each cut-off, ascending, which is its index `threshold`
        true_positives, false_positives   flagged rows of the positive class, and of the others
        sensitivity, specificity          shares of the positive rows that are flagged, of the others that are not
        share_flagged                     of all rows
        ppv, npv                          share of positives among the flagged rows; of negatives among the others
        net_benefit                       true positives a row, less what the false ones cost in true positives
        NAME_low, NAME_high               ends of the interval of each of these six
        mark                              "costs" at the cut-off with the least expected cost, "chosen here" at one that
                                          these rows chose, else ""
    positive : label of the positive class
    n_positive, n_negative : rows of this class and of all others, as often as they count
    prevalence : share of positive rows that share_flagged, ppv, npv and net_benefit are for
    cost_threshold : the cut-off that the costs ask for
    level : posterior mass of the intervals
    source : which probabilities these are, in words
    """

    table: pd.DataFrame
    positive: Any
    n_positive: float
    n_negative: float
    prevalence: float
    cost_threshold: float
    level: float
    source: str

    def __str__(self) -> str:
        """The table with k of n and intervals, and below it what it is for."""
        shown = self.shown().to_string(index=False, justify="left")
        return "\n".join([shown, *self.notes()])

    def shown(self) -> pd.DataFrame:
        """The table as text: k of n rows, values, and intervals in brackets; "→" is at the cut-off of the costs."""
        marks = {"costs": "→ ", "chosen here": "* ", "": ""}
        lines = []
        for threshold, row in self.table.iterrows():
            true_negatives = self.n_negative - row["false_positives"]
            positives_flagged = f"{row['true_positives']:.15g} of {self.n_positive:.15g}"
            negatives_passed = f"{true_negatives:.15g} of {self.n_negative:.15g}"
            lines.append(
                {
                    "cut-off": f"{marks[row['mark']]}{threshold:.4g}",
                    "sensitivity": f"{positives_flagged}: {_with_interval(row, 'sensitivity')}",
                    "specificity": f"{negatives_passed}: {_with_interval(row, 'specificity')}",
                    "flagged": _with_interval(row, "share_flagged"),
                    "PPV": _with_interval(row, "ppv"),
                    "NPV": _with_interval(row, "npv", digits=3),
                    "net benefit": _with_interval(row, "net_benefit", digits=3),
                }
            )
        return pd.DataFrame(lines)

    def notes(self) -> list[str]:
        """What the table is of, a sentence each."""
        sentences = [
            f"A row is flagged if p({self.positive}) is at least the cut-off; {self.level:.0%} intervals.",
            f"Flagged, PPV, NPV and net benefit are for a prevalence of {self.prevalence:.4g}.",
            f"→ has the least expected cost: {self.cost_threshold:.4g}.",
        ]
        if (self.table["mark"] == "chosen here").any():
            sentences.append("* was chosen on these rows, so its figures are too good: judge it on other rows.")
        return [*sentences, f"From {self.source}."]


def _with_interval(row: pd.Series, name: str, digits: int = 2) -> str:
    """A number of a row of the table with its interval, such as "0.83 (0.71–0.92)"; "–" where it is not defined."""
    if np.isnan(row[name]):
        return "–"
    low, high = row[f"{name}_low"], row[f"{name}_high"]
    dash = "–" if low >= 0 else " to "  # no dash before a minus
    text = f"{row[name]:.{digits}f} ({low:.{digits}f}{dash}{high:.{digits}f})"
    return text.replace("-", "−")


def threshold_table(
    y: Any,
    probability: Any,
    X: Any = None,
    sample_weight: Any = None,
    *,
    positive: Any = None,
    thresholds: Iterable[Scalar] | None = None,
    false_positive: Scalar = 1,
    false_negative: Scalar = 1,
    prevalence: Scalar | None = None,
    sensitivity: Scalar | None = None,
    level: Scalar = 0.9,
) -> ThresholdTable:
    """Sensitivity, specificity, share flagged, predictive values and net benefit at cut-offs on the probability.

    Parameters
    ----------
    y : (n,) labels
    probability : (n,) probability of the positive class, by a model that has not seen the row; or a fitted estimator
        of bayesnb, whose leave-one-out probabilities of the training rows X, y are taken, with p(y) of all rows
    X : (n, d) training rows, if `probability` is an estimator
    sample_weight : (n,) weights of an integer type, which count rows
    positive : label of the positive class, by default the second of two
    thresholds : cut-offs between 0 and 1, by default twelve from 0.02 to 0.95. The one that the costs ask for is added
    false_positive, false_negative : costs of the two errors, in any unit; their cut-off is a/(a + b)
    prevalence : share of positive rows where the table is used, for share flagged, predictive values and net benefit.
        None takes that of `y`
    sensitivity : a number between 0 and 1 adds the largest cut-off at which these rows have this sensitivity. These
        rows choose it, so its figures are too good; the table says so
    level : posterior mass of the intervals

    Raises
    ------
    ValueError
        if `probability` is not between 0 and 1, one a row; if `y` has no row of the positive class, or no other; if
        weights are importance; or if a number is out of range

    Examples
    --------
    >>> import bayesnb
    >>> cancer = bayesnb.datasets.load("breast_cancer")
    >>> nb = bayesnb.CalibratedClassifierLOO(bayesnb.GaussianNB()).fit(cancer.X, cancer.y)
    >>> cuts = bayesnb.threshold_table(cancer.y, nb, cancer.X, false_negative=4, thresholds=[0.5])
    >>> cuts.cost_threshold, cuts.table["sensitivity"].round(2).to_dict()
    (0.2, {0.2: 0.96, 0.5: 0.89})
    """
    check_level(level)  # ValueError unless between 0 and 1
    labels = np.asarray(y)
    weights = row_weights(sample_weight, len(labels))
    if weights.are_given and not weights.are_counts:
        raise ValueError(
            "`sample_weight` has a float type, so its weights are importance, but k of n needs numbers of rows. If "
            "they count rows, give `sample_weight.astype(int)`; else leave them out"
        )
    rows = _scored_rows(labels, probability, X, sample_weight, positive)
    is_positive = labels == rows.positive
    counts = _Counts.of(is_positive, rows.probability, weights)
    share = float(counts.n_positive / (counts.n_positive + counts.n_negative))
    if prevalence is not None:
        check_level(prevalence, "prevalence")
        share = float(prevalence)

    cut_of_costs = cost_threshold(false_positive, false_negative)  # ValueError unless costs are positive
    marks = {float(cut): "" for cut in _checked_thresholds(thresholds)}
    if sensitivity is not None:
        check_level(sensitivity, "sensitivity")
        marks[counts.threshold_of_sensitivity(float(sensitivity))] = "chosen here"
    same_cut = next((cut for cut in marks if abs(cut - cut_of_costs) < _SAME), cut_of_costs)
    marks[same_cut] = "costs"

    cuts = np.array(sorted(marks))
    figures = _figures(counts, cuts, share, level)
    table = pd.DataFrame(figures, index=pd.Index(cuts, name="threshold"))
    return ThresholdTable(
        table=table.assign(mark=[marks[cut] for cut in cuts.tolist()]),
        positive=rows.positive,
        n_positive=counts.n_positive,
        n_negative=counts.n_negative,
        prevalence=share,
        cost_threshold=cut_of_costs,
        level=float(level),
        source=rows.source,
    )


class _ScoredRows(NamedTuple):
    """Rows with the probability of the positive class.

    Fields
    ------
    positive : label of the class
    probability : (n,) of this class
    source : which probabilities these are, in words
    """

    positive: Any
    probability: PerRow
    source: str


def _scored_rows(y: np.ndarray, probability: Any, X: Any, sample_weight: Any, positive: Any) -> _ScoredRows:
    """The probability of the positive class for each row: as it is given, or by leave-one-out of an estimator."""
    if hasattr(probability, "fit"):
        check_own(probability, "a table of cut-offs", name="probability", method="loo")
        if X is None:
            raise ValueError("`X` is None; an estimator needs its training rows for leave-one-out")
        label = positive_label(positive, probability.classes_)
        k = probability.classes_.tolist().index(label)
        proba = loo_in_analyses(probability, X, y, sample_weight).proba  # (n, c)
        return _ScoredRows(label, proba[:, k], _LEAVE_ONE_OUT)

    label = positive_label(positive, np.unique(y))
    p = as_numbers("probability", probability, "probabilities of the positive class, or a fitted estimator")
    if p.shape != y.shape or not ((p >= 0) & (p <= 1)).all():
        raise ValueError(
            f"`probability` has shape {p.shape}; it needs numbers between 0 and 1, one for each of {len(y)} rows"
        )
    return _ScoredRows(label, p, "the probabilities as they were given")


def _checked_thresholds(thresholds: Any) -> Float[np.ndarray, " t"]:
    """The cut-offs that were given, or the usual ones; ValueError unless they are between 0 and 1."""
    cuts = np.array(CUT_OFFS if thresholds is None else [*thresholds], float)
    if cuts.ndim != 1 or not ((cuts > 0) & (cuts < 1)).all():
        raise ValueError(f"`thresholds` are {cuts.tolist()}; they need to lie between 0 and 1, without both")
    return cuts


@dataclass(frozen=True, eq=False)
class _Counts:
    """Rows of both classes, sorted by probability, so that flagged rows can be counted.

    Fields
    ------
    probability : (n,) of the positive class, ascending
    positives, negatives : (n + 1,) total weight of the rows of each class from this position on
    """

    probability: PerRow
    positives: Float[np.ndarray, " m"]
    negatives: Float[np.ndarray, " m"]

    @classmethod
    def of(cls, is_positive: Bool[np.ndarray, " n"], probability: PerRow, weights: RowWeights) -> "_Counts":
        """Rows sorted by probability; ValueError where a class has none."""
        order = np.argsort(probability, kind="stable")
        weight_of_positives = (weights.values * is_positive)[order]
        weight_of_negatives = (weights.values * ~is_positive)[order]
        counts = cls(probability[order], _totals_from(weight_of_positives), _totals_from(weight_of_negatives))
        if counts.n_positive == 0 or counts.n_negative == 0:
            missing = "no positive row" if counts.n_positive == 0 else "no negative row"
            raise ValueError(f"`y` has {missing}; sensitivity and specificity need rows of both kinds")
        return counts

    @property
    def n_positive(self) -> float:
        """Number of positive rows."""
        return float(self.positives[0])

    @property
    def n_negative(self) -> float:
        """Number of negative rows."""
        return float(self.negatives[0])

    def flagged_from(self, cuts: Float[np.ndarray, " t"]) -> Any:
        """Position of the first flagged row for each cut-off: from there on probabilities are at least the cut-off."""
        return np.searchsorted(self.probability, cuts, "left")

    def threshold_of_sensitivity(self, sensitivity: float) -> float:
        """The largest probability of a row that, as a cut-off, flags at least this share of the positive rows."""
        first = self.flagged_from(self.probability)  # rows of equal probability are flagged together
        is_enough = self.positives[first] >= sensitivity * self.n_positive - _SAME
        return float(self.probability[is_enough].max())


def _totals_from(weight: PerRow) -> Float[np.ndarray, " m"]:
    """Total weight of the rows from each position on, and 0 at the end: 1, 2, 4 gives 7, 6, 4, 0."""
    return np.concatenate([weight[::-1].cumsum()[::-1], [0.0]])


def _figures(counts: _Counts, cuts: Float[np.ndarray, " t"], prevalence: float, level: Scalar) -> dict[str, np.ndarray]:
    """The columns of the table by name, (t,) each, for t cut-offs.

    Parameters
    ----------
    counts : rows sorted by probability
    cuts : cut-offs
    prevalence, level : share of positive rows where the table is used; posterior mass of the intervals
    """
    first = counts.flagged_from(cuts)
    true_positives = counts.positives[first]
    false_positives = counts.negatives[first]

    # Jeffreys posteriors of sensitivity and specificity, and draws of them: (draws, t)
    of_sensitivity = beta(true_positives + 0.5, counts.n_positive - true_positives + 0.5)
    of_specificity = beta(counts.n_negative - false_positives + 0.5, false_positives + 0.5)
    rng = np.random.default_rng(0)
    shape = (_N_DRAWS, len(cuts))
    odds = cuts / (1 - cuts)
    drawn = _at_prevalence(
        of_sensitivity.rvs(shape, random_state=rng), of_specificity.rvs(shape, random_state=rng), prevalence, odds
    )
    sensitivity = true_positives / counts.n_positive
    specificity = 1 - false_positives / counts.n_negative
    value = _at_prevalence(sensitivity, specificity, prevalence, odds)

    tails = np.array([(1 - level) / 2, (1 + level) / 2])[:, None]  # (2, 1)
    ends_of = {name: np.quantile(table, tails[:, 0], axis=0) for name, table in drawn.items()}  # (2, t) each
    ends_of |= {"sensitivity": of_sensitivity.ppf(tails), "specificity": of_specificity.ppf(tails)}
    columns = {"true_positives": true_positives, "false_positives": false_positives}
    for name, point in {"sensitivity": sensitivity, "specificity": specificity, **value}.items():
        low, high = ends_of[name]
        columns |= {name: point, f"{name}_low": low, f"{name}_high": high}
    return columns


def _at_prevalence(
    sensitivity: np.ndarray, specificity: np.ndarray, prevalence: float, odds: np.ndarray
) -> dict[str, Any]:
    """Share flagged, predictive values and net benefit at a share of positive rows, by name.

    A predictive value is NaN where no row is flagged, or every row.

    Parameters
    ----------
    sensitivity, specificity : (…, t) for t cut-offs
    odds : (t,) odds of the cut-offs
    """
    true_positives = prevalence * sensitivity  # shares of all rows
    false_positives = (1 - prevalence) * (1 - specificity)
    share_flagged = true_positives + false_positives
    with np.errstate(invalid="ignore", divide="ignore"):
        ppv = true_positives / share_flagged
        npv = (1 - prevalence) * specificity / (prevalence * (1 - sensitivity) + (1 - prevalence) * specificity)
    return {
        "share_flagged": share_flagged,
        "ppv": ppv,
        "npv": npv,
        "net_benefit": true_positives - odds * false_positives,
    }
