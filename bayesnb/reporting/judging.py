"""Sections on how well rows are predicted: figures, curves, cut-offs, calibration, confusions."""

import contextlib
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone

from .. import plots
from ..analysis.cut_offs import ThresholdTable
from ..analysis.roc import Area
from ..calibration.leave_one_out import CalibratedClassifierLOO
from .facts import Facts
from .html import as_figure, as_table, as_text, inline_svg
from .predictions import Predictions

_MAX_CLASSES = 12  # of a confusion table
MAX_NAMED_COLUMNS = 6  # of a confusion table; of more classes columns have numbers, and the table the whole width
_MAX_CURVES = 7  # classes with a curve in one picture, as many as there are colours
_REPEATED = 1_000_000  # rows that weights stand for and the calibration plot repeats, at most
_ENOUGH_GAIN = 0.95  # share of the log loss that calibration has to leave at most, to be advised


def calibration_gain(
    nb: Any, X: Any, y: Any, sample_weight: Any = None, groups: Any = None, calibrated: Any = None
) -> str:
    """Sentences: the leave-one-out log loss, plain and calibrated, in nats a row, and whether calibration helps.

    Calibration maps the class probabilities to others in the same order that are right on average. It is taken to help
    if it lowers the loss by more than 5 %.

    Parameters
    ----------
    nb : the model that may need calibration
    X, y, sample_weight, groups : its rows
    calibrated : the same model calibrated, fitted to these rows, if there is one already
    """
    if calibrated is None:
        calibrated = CalibratedClassifierLOO(clone(nb)).fit(X, y, sample_weight, groups)
    # both losses, by name: the fit of a calibration predicts each row from all others anyway
    losses = calibrated.loo_log_loss_
    plain = losses["plain"]
    after = losses["calibrated"]
    text = f"Leave-one-out log loss: {plain:.4f} nats a row, {after:.4f} after calibration. "
    if after >= _ENOUGH_GAIN * plain:  # the map is fitted to these rows, so a small gain is no reason for it
        return f"{text}Calibration changes little: it is not needed for this model."
    return f"{text}Calibration lowers it by {1 - after / plain:.0%}: use CalibratedClassifierLOO, or --calibrate."


def accuracy(facts: Facts, predictions: Predictions, has_evidence: bool) -> str:
    """Accuracy, log loss and elpd with standard errors, beside what class frequencies of the training rows reach.

    Parameters
    ----------
    has_evidence : whether the log evidence of the training rows is shown, too
    """
    # Class frequencies of the training rows as a prediction, by the classes of these rows. A class that has no row here
    # adds 0; one that has no training row does not occur.
    share = facts.count / facts.n
    share_here = predictions.count / predictions.n
    has_rows = share_here > 0
    base_accuracy = float(share_here[share.argmax()])
    with np.errstate(divide="ignore"):
        base_loss = float(-(share_here[has_rows] * np.log(share[has_rows])).sum())

    rows: list[list[Any]] = [
        ["accuracy", predictions.accuracy, predictions.accuracy_error, base_accuracy],
        ["log loss, nats a row", predictions.log_loss, predictions.log_loss_error, base_loss],
    ]
    if has_evidence and hasattr(facts.nb, "log_evidence_"):
        rows.append(["log evidence, nats", facts.nb.log_evidence_, np.nan, np.nan])
    table = pd.DataFrame(rows, columns=["", "value", "standard error", "frequencies"])
    return as_table(table, "How well it predicts")


def curves(predictions: Predictions, name: str) -> str:
    """ROC and precision–recall curves beside each other, with their areas; of many classes those of the worst areas.

    Parameters
    ----------
    name : what the rows are, for screen readers, where a page has curves of several sets of rows
    """
    if not predictions.curves:
        return f"<p>{as_text(predictions.no_curves)}</p>" if predictions.no_curves else ""
    by_class = predictions.curves
    source = next(iter(by_class.values())).source
    if len(by_class) == 1:
        shown: Any = next(iter(by_class.values()))
        note = f"{as_text(shown.positive)} against all others, from {source}. Bands are over the rows."
        table = ""
    else:
        worst = sorted(by_class, key=lambda label: by_class[label].roc_auc.value)[:_MAX_CURVES]
        shown = {label: by_class[label] for label in by_class if label in worst}
        few = "" if len(shown) == len(by_class) else f" The curves are those of the {len(shown)} smallest areas."
        note = f"Each class against all others, from {source}.{few}"
        table = _areas(by_class)
    pictures = []
    for draw, caption in ((plots.roc, "ROC curve"), (plots.precision_recall, "Precision–recall curve")):
        svg = inline_svg(partial(draw, shown), f"{caption}, {name}", height=3.6)
        pictures.append(as_figure(svg, caption))
    return f'<div class="pair">{"".join(pictures)}</div><p class="soft">{note}</p>{table}'


def _areas(by_class: dict[Any, Any]) -> str:
    """A table of both areas of each class, with their intervals."""

    def as_words(area: Area) -> str:
        """The area with its interval in brackets."""
        return f"{area.value:.3f} ({area.low:.3f}–{area.high:.3f})"

    lines = []
    for label, of_class in by_class.items():
        areas = [as_words(of_class.roc_auc), as_words(of_class.average_precision)]
        lines.append([label, f"{of_class.n_positive:.15g}", *areas, f"{of_class.prevalence:.3f}"])
    columns = ["class", "rows", "area under the ROC curve", "average precision", "share of rows"]
    return as_table(pd.DataFrame(lines, columns=columns), "Areas under the curves")


def cut_offs(cuts: ThresholdTable | None, rows_in_words: str) -> str:
    """The table of cut-offs, with what it is for; empty if there is none.

    Parameters
    ----------
    rows_in_words : which rows these are, as an end of a sentence
    """
    if cuts is None:
        return ""
    notes = "".join(f"<li>{as_text(note)}</li>" for note in _notes_of_cut_offs(cuts, rows_in_words))
    shown = cuts.shown()  # the cells as text
    body = []
    for mark, cells in zip(cuts.table["mark"], shown.to_numpy(), strict=True):
        # "204 of 212: 0.96 (0.94–0.98)" has three pieces, which stand below each other on a phone and on paper
        kind = ' class="mark"' if mark == "costs" else ""
        body.append(f"<tr{kind}>" + "".join(f"<td>{_in_pieces(cell)}</td>" for cell in cells) + "</tr>")
    head = "".join(f"<th>{as_text(name)}</th>" for name in shown.columns)
    table = f'<table class="cuts"><thead><tr>{head}</tr></thead><tbody>{"".join(body)}</tbody></table>'
    return (
        f'<div class="wide" tabindex="0" role="region" aria-label="Cut-offs">{table}</div><ul class="soft">{notes}</ul>'
    )


def _in_pieces(cell: str) -> str:
    """A cell such as "204 of 212: 0.96 (0.94–0.98)" as HTML, each of its pieces an element."""
    pieces = cell.replace(": ", ":|").replace(" (", "|(", 1).split("|")
    return " ".join(f"<span>{as_text(piece)}</span>" for piece in pieces)


def _notes_of_cut_offs(cuts: ThresholdTable, rows_in_words: str) -> Iterator[str]:
    """What the columns of the table are, a sentence or two each."""
    yield (
        f"A row is flagged if p({cuts.positive}) is at least the cut-off. Sensitivity: share of the {cuts.positive} "
        f"rows that are flagged. Specificity: share of the others that are not. {rows_in_words}"
    )
    yield (
        f"Flagged, PPV, NPV and net benefit are for a share of {cuts.prevalence:.4g} of {cuts.positive}. PPV: share of "
        f"{cuts.positive} among the flagged rows. NPV: share of the others among the rows that are not flagged. Net "
        "benefit: true positives a row, less the false ones at the odds of the cut-off; flagging nobody has 0."
    )
    yield (
        f"→ is the cut-off that the costs ask for, {cuts.cost_threshold:.4g}. It is not the best row of the table. "
        f"Brackets: {cuts.level:.0%} intervals (Jeffreys)."
    )
    if (cuts.table["mark"] == "chosen here").any():
        yield "* was chosen on these rows, so that its figures are too good. Judge it on other rows, with --test."


def reliability(predictions: Predictions, positive: Any, name: str) -> str:
    """The reliability diagram.

    Of two classes the event is the positive one, with its probability. Of more classes the event is that the predicted
    label is right, with the largest probability.

    Parameters
    ----------
    positive : label of the positive class
    name : of the picture, for screen readers
    """
    if len(predictions.classes) == 2:
        k = predictions.classes.tolist().index(positive)
        event = predictions.index == k
        p = predictions.proba[:, k]
        label = as_text(positive)
    else:
        event = predictions.is_right
        p = predictions.proba.max(1)
        label = "the predicted label"
    # the plot knows no weights: a row that counts w times is repeated, unless there would be too many
    weights = predictions.weights
    if weights.are_given and weights.are_counts and predictions.n <= _REPEATED:
        times = weights.values.astype(int)
        event = np.repeat(event, times)
        p = np.repeat(p, times)
    svg = inline_svg(partial(plots.reliability, event, p.clip(0, 1)), name, height=3.8)
    return as_figure(svg, f"Share of events against the probability of {label}.")


def calibration(facts: Facts) -> str:
    """The reliability diagram of leave-one-out, and below it whether calibration would help."""
    text = ""
    if not facts.is_calibrated:
        with contextlib.suppress(ValueError, TypeError):  # what cannot be calibrated
            chosen = {} if facts.choice is None else facts.choice.estimators
            calibrated = chosen.get("calibrated") if facts.nb is chosen.get("plain") else None
            gain = calibration_gain(facts.nb, facts.X, facts.y, facts.sample_weight, facts.groups, calibrated)
            text = f"<p>{gain}</p>"
    return reliability(facts.predictions, facts.positive, "Calibration") + text


def confusion(predictions: Predictions) -> str:
    """Rows by true and predicted class; of many classes only the most frequent confusions."""
    # predicted and true label of each row, (n,)
    predicted = pd.Series(predictions.classes[predictions.predicted], name="predicted as")
    true = pd.Series(predictions.labels, name="class")
    if len(predictions.classes) > _MAX_CLASSES:
        # pairs of true and predicted class, of the rows that are wrong, counted
        wrong = pd.DataFrame([true, predicted]).T[true != predicted].value_counts().head(_MAX_CLASSES)
        return as_table(wrong.reset_index(name="rows"), "Most frequent confusions")
    weight = pd.Series(predictions.weights.values)  # what each row adds to its entry of the table
    if predictions.weights.are_counts:
        weight = weight.astype(int)
    table = pd.crosstab(true, predicted, values=weight, aggfunc="sum")
    # a class that is never predicted, or has no rows, has a line and a column of zeros
    table = table.reindex(index=predictions.classes, columns=predictions.classes).fillna(0).astype(weight.dtype)
    if len(table) <= MAX_NAMED_COLUMNS:
        return as_table(table.rename_axis(index=None, columns=None), "Confusion table", index=True)
    # many columns: their headings are the numbers of the classes, which the lines have before their names
    numbers = range(1, len(table) + 1)
    table.index = pd.Index([f"{number} {label}" for number, label in zip(numbers, predictions.classes, strict=True)])
    table.columns = pd.Index(numbers)
    note = "<p class='soft'>The numbers at the top are those of the classes on the left.</p>"
    return note + as_table(table, "Confusion table", index=True)
