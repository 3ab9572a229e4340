"""What a reader of the page should be careful about."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from ..posterior.loo import copies
from ..tables.columns import FEW_ROWS
from ..tables.names import listed
from .facts import Facts

_SHOWN_CAUTIONS = 20  # about columns
_MANY_COPIES = 0.05  # share of rows that are copies, above which it is said
_LABEL = "label of the row"  # a column that no table has


def cautions_of(facts: Facts) -> Iterator[str]:
    """What a reader of the page should be careful about, a sentence each, in the order of the page."""
    ignored = facts.nb.model_.ignored_by_loo
    if ignored:
        yield f"The model predicts with {ignored}, which leave-one-out ignores. All losses here are of the predictive."
    # what `describe` said of the columns, such as that a number looks like an identifier
    if facts.contract is not None:
        yield from facts.contract.first_cautions(_SHOWN_CAUTIONS)
    yield from _cautions_of_rows(facts)
    yield from _cautions_of_probabilities(facts)
    # One column of several that has 90 % of all that can be known of the label (the entropy of the class frequencies).
    # The table of importance has the most informative column first.
    top = facts.importance
    if len(top) > 1 and top.information[0] > 0.9 * facts.frequency_log_loss:
        yield f"The column {top.feature[0]} determines the label almost completely. Do you know it before you predict?"
    if facts.comparison is not None:
        table = facts.comparison.table
        this = table.loc["this model"]
        # the difference to the best model in elpd, the sum of leave-one-out log probabilities, is beyond chance
        if this.elpd_diff < -2 * this.se_diff:
            best = table.index[0]
            yield f"The model “{best}” predicts the labels better than this one, by more than two standard errors."
    if facts.contract is not None:
        # `missing` is the share of cells of the column that are missing
        for column in facts.contract.used:
            if column.missing > 0.2:
                yield f"Column {column.name}: {column.missing:.0%} of the cells are missing."
    if facts.groups is None:
        yield (
            "Rows are taken to be independent. If some belong together, such as those of one person, name the column "
            "that says so: `--groups COLUMN`, or `report(groups=…)`."
        )
    else:
        yield (
            "The intervals of cut-offs, curves and calibration take rows as independent: they are too narrow where the "
            "rows of a group are alike. Standard errors of the log loss and of the accuracy are over groups."
        )


def _cautions_of_rows(facts: Facts) -> Iterator[str]:
    """Sentences about the rows: what their weights mean, classes with few rows, and rows that equal an earlier one."""
    if facts.weights.are_given:
        yield f"Rows have weights: {facts.weights.describe()}."
    n_rare = int((facts.count < FEW_ROWS).sum())
    if n_rare:
        rarest = np.argsort(facts.count, kind="stable")[:n_rare]  # their numbers, the one with fewest rows first
        names = [f"{facts.classes[k]} ({facts.count[k]})" for k in rarest]
        yield f"Few rows in some classes: {listed(names, 6)}. Their results are uncertain."
    # equal rows of whole numbers and levels may be chance, but hardly equal rows of measurements
    if facts.n_copies > _MANY_COPIES * len(facts.y) and _has_fractions(facts):
        yield (
            f"{facts.n_copies} of {len(facts.y)} rows equal an earlier row in all columns. If they are of one person "
            "or case, the other rows already tell the answer and the figures are too good: drop the repeated rows, or "
            "name the column of persons or cases with `--groups`."
        )


def _cautions_of_probabilities(facts: Facts) -> Iterator[str]:
    """Sentences: the predictions are no better than class frequencies; they are too certain, or not certain enough.

    A calibrated model gives its predicted labels probabilities whose mean is the share of right labels, but for chance.
    """
    loo = facts.loo
    base_loss = facts.frequency_log_loss
    # the class frequencies are a prediction without any column: a model has to be better than that
    if loo.log_loss >= base_loss:
        yield (
            f"The log loss ({loo.log_loss:.3f}) is no better than with the class frequencies ({base_loss:.3f}). Do not "
            "trust the probabilities as they are."
        )
    elif loo.accuracy <= facts.frequency_accuracy:
        yield "The predicted labels are right no more often than the most frequent class."
    mean_probability = float(np.average(loo.proba.max(1), weights=facts.weights.values))
    right = float(np.average(facts.is_right, weights=facts.weights.values))
    # The standard error of a share p of n independent rows is √(p (1 − p)/n); `effective` is n, with importance weights
    # the number of equally weighted rows that would have the same error. A gap is told if it is beyond chance (two
    # standard errors) by more than 0.03, below which nobody would decide otherwise.
    standard_error = np.sqrt(right * (1 - right) / facts.weights.effective)
    if abs(mean_probability - right) > 0.03 + 2 * standard_error:
        judgement = "too sure of itself" if mean_probability > right else "not sure enough"
        yield (
            f"The model is {judgement}: its labels have the mean probability {mean_probability:.2f}, and {right:.0%} "
            "are right. Correlated features count twice. `CalibratedClassifierLOO` corrects this."
        )


def number_of_copies(X: Any, y: np.ndarray) -> int:
    """How many rows equal an earlier row in all columns and the label."""
    # `copies` gives equal rows the same number, so that n rows with k numbers have n − k copies
    if not isinstance(X, pd.DataFrame):
        return len(y) - len(np.unique(copies(X, y)))
    try:
        return int(X.reset_index(drop=True).assign(**{_LABEL: y}).duplicated().sum())
    except TypeError:  # lists in the cells
        return 0


def _has_fractions(facts: Facts) -> bool:
    """Whether rows have real numbers with a fraction: equal rows of whole numbers and levels may be chance."""
    # what a cell is, by block, which is the columns of one family; `encode` makes an array of these columns, by block
    declared = facts.inside.posterior_.cells
    rows = facts.inside.model_.encode(facts.X)
    real = [rows[name] for name, cells in declared.items() if cells.kind == "real"]
    return any(bool((np.nan_to_num(cells) % 1 != 0).any()) for cells in real)  # a missing cell is no fraction
