"""Sections on the whole: the first lines, what needs care, which kind of model was taken, and other models."""

import re
from typing import Any

import numpy as np
import pandas as pd

from ..choice import PredictorChoice
from ..numerics.arrays import is_sparse
from ..posterior.loo import groups_in_words
from .facts import Facts
from .html import as_table, as_text
from .predictions import Predictions

_MAX_NAMED = 4  # classes that the first lines name


def header(title: str, facts: Facts) -> str:
    """The heading of the page: title, model, what the rows are, and how well they are predicted."""
    lines = {
        "Rows": f"{facts.n_rows:,}" + (f" ({facts.weights.describe()})" if facts.weights.are_given else ""),
        "Classes": classes_in_words(facts.predictions),
        "Missing cells": _missing_cells(facts.X),
        "Groups of rows": _groups_in_words(facts),
        "Prediction": _prediction_in_words(facts),
    }
    items = "".join(f"<dt>{name}</dt><dd>{as_text(text)}</dd>" for name, text in lines.items())
    code = as_text(" ".join(repr(facts.nb).split()))
    return f'<h1>{as_text(title)}</h1><p><code>{code}</code></p><dl class="facts">{items}</dl>'


def _groups_in_words(facts: Facts) -> str:
    """How many groups of rows there are and how large, or that nobody knows them."""
    if facts.groups is None:
        return "not known: rows are taken to be independent"
    return f"{groups_in_words(facts.groups, len(facts.y))}, which are left out together"


def classes_in_words(predictions: Predictions) -> str:
    """How many rows each class has, with its share: of many classes the most frequent, and the rarest one."""
    order = np.argsort(-predictions.count, kind="stable")
    labels = predictions.classes.tolist()
    named = [
        f"{labels[k]} {predictions.count[k]:,} ({predictions.count[k] / predictions.n:.1%})" for k in order.tolist()
    ]
    if len(named) <= _MAX_NAMED:
        return ", ".join(named)
    return f"{len(named)} classes: {', '.join(named[: _MAX_NAMED - 1])} … {named[-1]}"


def _missing_cells(X: Any) -> str:
    """How many cells are missing, and in how many columns."""
    if is_sparse(X):
        return "none"
    is_missing = X.isna().to_numpy() if isinstance(X, pd.DataFrame) else pd.isna(np.asarray(X))
    if not is_missing.any():
        return "none"
    n_columns = int(is_missing.any(0).sum())
    return (
        f"{is_missing.sum():,} of {is_missing.size:,} ({is_missing.mean():.1%}), in {n_columns} of {X.shape[1]} columns"
    )


def _prediction_in_words(facts: Facts) -> str:
    """Leave-one-out accuracy beside that of the most frequent class, and the area under a single ROC curve."""
    text = (
        f"if each row is predicted from {facts.other_rows}, {facts.loo.accuracy:.1%} get their own label; always "
        f"predicting the most frequent class is right for {facts.frequency_accuracy:.1%}"
    )
    if len(facts.predictions.curves) == 1:
        (curves,) = facts.predictions.curves.values()
        area = curves.roc_auc
        text += f"; area under the ROC curve {area.value:.3f} ({area.low:.3f} to {area.high:.3f})"
    return text


def careful(cautions: tuple[str, ...]) -> str:
    """A list of the cautions, as HTML; what stands between backticks is shown as code."""
    items = "".join(f"<li>{as_text(caution)}</li>" for caution in cautions)
    return "<ul>" + re.sub(r"`([^`]*)`", r"<code>\1</code>", items) + "</ul>"


def choice_of_model(choice: PredictorChoice | None) -> str:
    """Which kind of model was taken, beside the others with their log losses; empty if nobody chose."""
    if choice is None:
        return ""
    names = {
        "log_loss": "log loss, nats a row",
        "difference": "minus the best",
        "se": "standard error",
        "leave_one_out": "leave-one-out",
    }
    # one row for each kind of model and for class frequencies, whose names become a column without a heading
    table = choice.table.rename(columns=names).reset_index(names="")
    # what share of true probabilities its intervals were measured to hold, in words; plain has no such text
    of_intervals = getattr(choice.estimator, "interval_coverage", "")
    sentences = [f"Taken: {choice.kind}. {choice.reason}", *choice.notes, of_intervals]
    # a note begins with the line of a row, or the name of a model, in small letters
    capitalised = [sentence[0].upper() + sentence[1:] for sentence in filter(None, sentences)]
    text = "".join(f"<p class='soft'>{as_text(sentence)}</p>" for sentence in capitalised)
    return as_table(table, "Kinds of models") + text


def models(facts: Facts) -> str:
    """The table of this model and others, by evidence and leave-one-out; empty if there are no others."""
    if facts.comparison is None:
        return ""
    table = facts.comparison.table
    text = f"<p>By leave-one-out <b>{as_text(table.index[0])}</b> predicts the labels best.</p>"
    # some models have no evidence, such as calibrated ones; of many rows it says what leave-one-out says
    has_evidence = facts.has_few_rows and bool(table["log_evidence"].notna().any())
    if has_evidence:
        text = f"<p><b>{as_text(table['log_evidence'].idxmax())}</b> has the largest evidence.</p>{text}"
    names = {"elpd": "elpd, nats", "elpd_diff": "minus the best", "se_diff": "standard error", "accuracy": "accuracy"}
    if has_evidence:
        names = {"log_evidence": "log evidence, nats", "probability": "probability"} | names
    told = [note for note in facts.comparison.notes if has_evidence or "evidence" not in note]
    notes = "".join(f"<p class='soft'>{as_text(note)}</p>" for note in told)
    shown = table[[*names]].rename(columns=names).reset_index(names="model")
    return text + as_table(shown, "Models") + notes
