"""The model of a table that predicts best by leave-one-out: plain naive Bayes, calibrated, or discriminative.

    plain            the model as it is: p(y | x) of naive Bayes
    calibrated       `CalibratedClassifierLOO` of it: the same order of the rows, honest probabilities
    discriminative   `DiscriminativeNB` of its columns: a weight for each column, and a linear term

The command line takes this choice for a file (`fit` and `report`, --model auto); `choose_predictor` makes it in Python.
It stands above the three models and below the report, so it is in a module of its own.

The rule. The model with the least log loss is taken. Plain is taken instead if it is at most .01 nats a row above the
best and not above class frequencies: it is the easiest to explain, and has evidence, draws and `forget`. Below 100
rows plain is not taken: a row that it is wrongly certain of costs tens of nats, and so few rows may have none. Below 30
rows, or 10 rows of a class, three log losses say little, and calibrated is taken.

One standard error is no rule here: a single row at −40 nats makes the standard error so large that any loss hides
behind it. The standard error is printed beside the difference, and so is a row that makes a third of it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.base import clone

from .calibration.leave_one_out import CalibratedClassifierLOO, groups_of_copies
from .discriminative.model import DiscriminativeNB
from .estimators import MixedNB
from .estimators._suited import check_own
from .numerics.arrays import Float, Int
from .numerics.progress import progress
from .numerics.weights import RowWeights, row_weights
from .posterior.loo import group_places, loo_in_analyses
from .tables.names import MODEL_KINDS

FREQUENCIES = "class frequencies"
_NEAR_BEST = 0.01  # nats a row that plain may lose: less than what makes a probability worth another model
_MIN_ROWS = 30  # below, log losses of the three models say little
_MIN_CLASS_ROWS = 10
_MIN_PLAIN_ROWS = 100  # below, rows that plain is wrongly certain of may be missing
_LEAST_DIFFERENCE = 5e-4  # nats a row, below which nobody asks which row makes a difference
_LARGE_SHARE = 1 / 3  # of a difference that one row makes, above which it is said
_EXACTNESS = {
    "plain": "exact",
    "calibrated": "exact; the map approximate",
    "discriminative": "approximate",
    FREQUENCIES: "of all rows",
}


@dataclass(frozen=True)
class PredictorChoice:
    """The model of a table that predicts best by leave-one-out, beside those that were not taken.

    Attributes
    ----------
    kind : "plain", "calibrated" or "discriminative": what was taken
    estimators : the models that were tried, fitted to all rows, by kind
    table : data frame with one row for each model tried, and one for class frequencies
        log_loss        −Σ_i w_i log p(y_i | x_i, D₋ᵢ) / Σ_i w_i, nats a row; that of class frequencies is their entropy
        difference      log_loss minus the least of the models, nats a row
        se              standard error of this paired difference, nats a row
        leave_one_out   whether it is exact
    reason : why this model was taken, a sentence
    notes : what to be careful about, a sentence each

    Examples
    --------
    >>> import bayesnb
    >>> penguins = bayesnb.datasets.load("penguins")
    >>> choice = bayesnb.choose_predictor(bayesnb.MixedNB(), penguins.X, penguins.y)
    >>> choice.table["log_loss"].round(2).to_dict()
    {'class frequencies': 1.05, 'plain': 0.06, 'calibrated': 0.06, 'discriminative': 0.01}
    """

    kind: str
    estimators: dict[str, Any]
    table: pd.DataFrame
    reason: str
    notes: tuple[str, ...] = ()

    @property
    def estimator(self) -> Any:
        """The model that was taken, fitted to all rows."""
        return self.estimators[self.kind]

    def __str__(self) -> str:
        """The log losses as a table, what was taken and why, and the notes."""
        columns = {"log_loss": "log loss", "difference": "minus best", "se": "std. error", "leave_one_out": ""}
        shown = self.table.rename(columns=columns).to_string(
            float_format="{:.4f}".format, na_rep="", index_names=False, formatters={"minus best": "{:+.4f}".format}
        )
        heading = "Leave-one-out log loss, nats a row:"
        return "\n".join([heading, shown, f"taken: {self.kind}. {self.reason}", *(f"note: {n}" for n in self.notes)])


def choose_predictor(
    estimator: Any, X: Any, y: Any, sample_weight: Any = None, *, groups: Any = None, lines: Any = None
) -> PredictorChoice:
    """Fit plain, calibrated and discriminative models of a table, and take the one that predicts best.

    The model with the least leave-one-out log loss is taken. Plain is taken instead if it is at most 0.01 nats a row
    above the best and not above class frequencies; below 100 rows it is not taken. Below 30 rows, or 10 rows of a
    class, calibrated is taken, and no discriminative model is fitted. Copies of a row count once for these numbers, and
    each group counts as one.

    Parameters
    ----------
    estimator : the plain model, such as `MixedNB()`; a clone is fitted. The discriminative model has its parts, or one
        part of all columns
    X, y, sample_weight : rows, labels and weights. Weights of an integer type count rows; those of a float type are
        importance
    groups : (n,) labels of groups of rows that belong together and are left out together, as in `loo`. By default
        copies of a row leave together, as in `CalibratedClassifierLOO`
    lines : (n,) the line of each row in its file, by which a note names a row; by default the index of a data frame

    Returns
    -------
    PredictorChoice
        `estimator` is the fitted model; `print` shows the log losses

    Raises
    ------
    TypeError
        if the estimator is not a plain model of bayesnb
    ValueError
        if it refuses the rows, or has a setting that leave-one-out ignores (`estimate` other than "predictive")

    Examples
    --------
    >>> import bayesnb
    >>> penguins = bayesnb.datasets.load("penguins")
    >>> choice = bayesnb.choose_predictor(bayesnb.MixedNB(), penguins.X, penguins.y)
    >>> choice.kind
    'discriminative'
    """
    check_own(estimator, "choose_predictor")  # TypeError, with advice, unless the estimator can do that
    notes = []
    with progress("the model that predicts best", total=len(MODEL_KINDS), unit="models") as line:
        line.begin("plain and calibrated")
        # it holds the plain model, fitted to all rows, and a map from its probabilities to calibrated ones
        calibrated = CalibratedClassifierLOO(estimator).fit(X, y, sample_weight, groups)
        plain = calibrated.estimator_
        rows = _Rows.of(plain, X, y, sample_weight, groups)
        estimators: dict[str, Any] = {"plain": plain, "calibrated": calibrated}
        log_p = {  # (n,) log p(y_i | x_i, D₋ᵢ) of each model
            "plain": loo_in_analyses(plain, X, y, rows.weights, rows.group).pointwise,
            "calibrated": loo_in_analyses(calibrated, X, y, rows.weights, groups).pointwise,
        }
        line.advance(len(estimators))

        # a discriminative model, unless there are too few rows for one, and for a choice by log loss
        too_few = rows.too_few()  # in words; empty if there are enough
        if not too_few:
            line.begin("discriminative")
            try:
                sharp = DiscriminativeNB(_parts(estimator)).fit(X, y, sample_weight, groups)
            except ValueError as error:  # its parts are none that it can take
                notes.append(f"there is no discriminative model: {str(error).splitlines()[0]}")
            else:
                estimators["discriminative"] = sharp
                log_p["discriminative"] = loo_in_analyses(sharp, X, y, rows.weights, groups).pointwise

    # the log losses, and the kind of model that the rule takes of them, with the reason
    table = _table(rows, log_p)
    is_plain_trusted = rows.number() >= _MIN_PLAIN_ROWS
    kind, reason = _taken(table["log_loss"].to_dict(), too_few, is_plain_trusted)

    notes += _notes(rows, log_p, table, _row_names(X, lines))  # such as on a row that decides alone
    return PredictorChoice(kind, estimators, table, reason, tuple(notes))


def _row_names(X: Any, lines: Any) -> list[str]:
    """What each row is called in a note: by its line in the file, or else by the index of a data frame or a number."""
    if lines is not None:
        return [f"line {i}" for i in lines]
    index = X.index if isinstance(X, pd.DataFrame) else range(X.shape[0] if hasattr(X, "shape") else len(X))
    return [f"row {i}" for i in index]


def _parts(estimator: Any) -> Any:
    """The parts of a plain model, as `DiscriminativeNB` takes them: (name, estimator, columns) for each family.

    A MixedNB has such parts. Any other model is one part with all columns.
    """
    if isinstance(estimator, MixedNB):
        return estimator.parts
    return [("columns", clone(estimator), slice(None))]


# --- rows -------------------------------------------------------------------------------------------------------------


class _Rows(NamedTuple):
    """Labels, weights and groups of the rows that models are judged by.

    Fields
    ------
    classes : (c,) labels
    label : (n,) class of each row
    weights : what they weigh
    group : (n,) groups of rows that leave together, copies if no others are given; None where each leaves alone
    """

    classes: np.ndarray
    label: Int[np.ndarray, " n"]
    weights: RowWeights
    group: Int[np.ndarray, " n"] | None

    @classmethod
    def of(cls, nb: Any, X: Any, y: Any, sample_weight: Any, groups: Any) -> "_Rows":
        """The rows as a fitted model reads them: class numbers, checked weights, and groups as numbers 0 … g − 1.

        By default the rows that are equal in all cells and the label are a group, since a copy would tell the answer.
        """
        index = nb.model_.class_index(y)  # (n,) class numbers
        weights = row_weights(sample_weight, len(index))
        if groups is None:
            group = groups_of_copies(nb, nb.model_.encode(X), index, weights)
        else:
            group = group_places(groups, len(index))
        return cls(nb.classes_, index, weights, group)

    def number(self, chosen: Any = True) -> float:
        """How many independent rows there are, or among those chosen by a mask, (n,).

        Rows of a group depend on each other, so that a group counts as one. Without groups a row of an integer weight
        counts so many times. Rows of weight 0 do not count.
        """
        is_counted = chosen & (self.weights.values > 0)
        if self.group is not None:
            return float(len(np.unique(self.group[is_counted])))
        return float(self.weights.times[is_counted].sum())

    def too_few(self) -> str:
        """Why there are too few rows for a choice by log loss; empty if there are enough."""
        n = self.number()  # of independent rows: groups count as one
        if n < _MIN_ROWS:
            return f"there are {n:.0f} independent rows, fewer than {_MIN_ROWS}"
        for k, name in enumerate(self.classes.tolist()):  # the first class that has too few
            n = self.number(self.label == k)
            if n < _MIN_CLASS_ROWS:
                return f"class {name!r} has {n:.0f} independent rows, fewer than {_MIN_CLASS_ROWS}"
        return ""

    def log_frequency(self) -> Float[np.ndarray, " n"]:
        """log of the share of the class of each row, (n,), nats: a prediction by class frequencies alone.

        Its weighted mean is Σ_c share_c log share_c, minus the entropy.
        """
        share = np.bincount(self.label, self.weights.values, len(self.classes)) / self.weights.total
        with np.errstate(divide="ignore"):  # a class may have only rows without weight: its share is 0
            return np.log(share)[self.label]


# --- the table and the rule -------------------------------------------------------------------------------------------


def _table(rows: _Rows, log_p: dict[str, np.ndarray]) -> pd.DataFrame:
    """Log loss of class frequencies and of each model, and its paired difference to the best model.

    The difference is a sum over independent terms, which are rows, or groups of rows that belong together. Its standard
    error is that of this sum. All are divided by the total weight, so that they are nats a row.

    Parameters
    ----------
    log_p : (n,) log p(y_i | x_i, all rows but i) of each model, by name
    """
    total = rows.weights.total
    # `total_of` is the weighted sum Σ_i w_i t_i
    loss = {name: -float(rows.weights.total_of(values)) / total for name, values in log_p.items()}
    best = min(loss, key=lambda name: loss[name])
    table = {}
    for name, values in {FREQUENCIES: rows.log_frequency(), **log_p}.items():
        # the terms w_i (log p_best,i − log p_i), summed within groups; they have a total and a standard error
        loss_difference = rows.weights.terms(log_p[best] - values, rows.group)
        table[name] = {
            "log_loss": -float(rows.weights.total_of(values)) / total,
            "difference": float(loss_difference.total()) / total,
            "se": np.nan if name == best else float(loss_difference.standard_error()) / total,
            "leave_one_out": _EXACTNESS[name],
        }
    return pd.DataFrame.from_dict(table, orient="index")


class _Taken(NamedTuple):
    """The kind of model that is taken, and why."""

    kind: str
    reason: str


def _taken(loss: dict[str, float], too_few: str, is_plain_trusted: bool) -> _Taken:
    """The rule, from the log loss of class frequencies and of each model.

    Parameters
    ----------
    too_few : why there are too few rows for a choice; empty if there are enough
    is_plain_trusted : whether there are enough rows to see where plain is wrongly certain
    """
    # with few rows three log losses say little
    if too_few:
        return _Taken("calibrated", f"It needs the fewest rows to be trusted, and {too_few}.")
    # plain is the first of the kinds; there is no loss of a model that could not be fitted
    kinds = MODEL_KINDS if is_plain_trusted else MODEL_KINDS[1:]
    best = min((kind for kind in kinds if kind in loss), key=lambda kind: loss[kind])
    # plain was not among those compared
    if not is_plain_trusted:
        reason = f"It predicts best, plain aside: below {_MIN_PLAIN_ROWS} rows its rare large errors may not be seen."
        return _Taken(best, reason)
    if best == "plain":
        return _Taken("plain", "It predicts best.")
    # plain loses little to the best: it is the easiest to explain, if it says more than class frequencies
    if loss["plain"] <= loss[best] + _NEAR_BEST and loss["plain"] <= loss[FREQUENCIES]:
        reason = (
            f"It is the simplest, at most {_NEAR_BEST:g} nats a row above the best, and not above class frequencies."
        )
        return _Taken("plain", reason)
    return _Taken(best, "It predicts best.")


def _notes(rows: _Rows, log_p: dict[str, np.ndarray], table: pd.DataFrame, row_names: list[str]) -> Iterator[str]:
    """Sentences: that no model helps, and each difference to the best model of which one row makes a third or more.

    Parameters
    ----------
    log_p : (n,) log p(y_i | x_i, all rows but i) of each model, by name
    table : as `_table` returns it
    row_names : what each row is called
    """
    loss = table["log_loss"].drop(FREQUENCIES)
    # the log loss of the best model against that of a prediction without any column
    if loss.min() >= table["log_loss"][FREQUENCIES]:
        yield "no model predicts better than class frequencies: the columns say little about the label."
    best = str(loss.idxmin())
    for name in log_p:
        if name == best or loss[name] - loss[best] < _LEAST_DIFFERENCE:
            continue
        row = _largest_row(rows, log_p[best] - log_p[name])  # its position, and its share in the difference
        if row.share >= _LARGE_SHARE:
            # more than all of it where the other rows speak for the other model
            share = f"{row.share:.0%} of" if row.share < 1 else "more than"
            yield f"{row_names[row.position]} makes {share} the difference between {name} and {best}: look at it first."


class _LargestRow(NamedTuple):
    """The position of a row, and its share in a sum over all rows."""

    position: int
    share: float


def _largest_row(rows: _Rows, pointwise: Float[np.ndarray, " n"]) -> _LargestRow:
    """The row, or the first of a group, with the largest share in Σ_i w_i t_i, where t_i is `pointwise`.

    A row that counts several times stands for so many equal rows: only one of these units is judged.
    """
    # weights as they count here: of a count at most 1; a term of a row without weight may be infinite, and is set to 0
    has_weight = rows.weights.values > 0
    scale = np.minimum(rows.weights.values, 1) if rows.weights.are_counts else rows.weights.values
    term = np.where(has_weight, scale, 0) * np.where(has_weight, pointwise, 0)
    if rows.group is not None:
        # the sum of each group, given to all its rows: the groups 1, 0, 1 with the terms 2, 5, 3 give 5, 5, 5
        term = np.bincount(rows.group, rows.weights.values * np.where(has_weight, pointwise, 0))[rows.group]
    position = int(abs(term).argmax())
    total = float(rows.weights.total_of(pointwise))
    # two models that predict the same have the difference 0, of which no row has a share
    return _LargestRow(position, abs(float(term[position]) / total) if total else 0.0)
