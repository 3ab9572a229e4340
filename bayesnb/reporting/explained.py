"""The section of explained rows: the most and least certain ones, with the odds of the model of the page."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..plots.contributions import nomograms as nomograms_of
from ..posterior.held_out import take_rows
from .facts import Facts
from .html import as_figure, as_text, inline_svg

_N_DRAWS = 200  # behind the intervals
_NOMOGRAMS = (
    "<p>A nomogram shows what each feature adds to the log odds of the predicted label against the next one, in nats: "
    "0.7 nats double the odds, 2.3 make them tenfold. The last line is the sum, and its bar the log odds of "
    "<code>predict_proba</code>. {kind} All of this is of the model of all rows. The caption leaves the row out.</p>"
)
_OF_NAIVE_BAYES = (
    "Points are posterior means, and intervals belong to them; <code>predict_proba</code> also learns from the row."
)
_OF_CALIBRATED = (
    "The features are those of the model inside; the line “calibration” is what the map adds, mostly to take back what "
    "dependent features count twice."
)
_OF_DISCRIMINATIVE = (
    "Each feature has its own weight in this model; intervals are over draws of the weights. “Pairs of columns” is "
    "what their combinations add; “averaging” is what the average over weights changes."
)


def explained_rows(facts: Facts) -> str:
    """The nomograms of some rows that are worth a look."""
    kind = _OF_NAIVE_BAYES
    if facts.is_calibrated:
        kind = _OF_CALIBRATED
    elif facts.inside is not facts.nb:
        kind = _OF_DISCRIMINATIVE
    reasons = _telling_rows(facts)
    classes = {i: _two_most_probable(facts, i) for i in reasons}
    drawings = nomograms_of(
        facts.nb,
        take_rows(facts.X, np.array([*reasons])),
        [(facts.classes[best], facts.classes[second]) for best, second in classes.values()],
        level=facts.level,
        n_draws=_N_DRAWS,
        feature_names=facts.feature_names,
    )
    nomograms = []
    for (i, reason), draw in zip(reasons.items(), drawings, strict=True):
        nomograms.append(_nomogram(facts, i, reason, classes[i][0], draw))
    return f'{_NOMOGRAMS.format(kind=kind)}<div class="pair">{"".join(nomograms)}</div>'


def _telling_rows(facts: Facts) -> dict[int, str]:
    """Rows that are worth a look, by position, and why: the two least and most certain, and the most certain mistake.

    The certainty of a row is the largest class probability by leave-one-out.
    """
    certainty = facts.loo.proba.max(1)
    order = np.argsort(certainty, kind="stable").tolist()
    rows = dict.fromkeys(order[:2], "One of the least certain rows")
    rows |= dict.fromkeys(order[:-3:-1], "One of the most certain rows")  # the last two, from the end
    wrong = np.flatnonzero(~facts.is_right)
    if len(wrong):
        # `setdefault` leaves a row that is there already as it is
        rows.setdefault(int(wrong[certainty[wrong].argmax()]), "The most certain mistake")
    return rows


def _two_most_probable(facts: Facts, i: int) -> tuple[int, int]:
    """Numbers of the two classes that are most probable for row i by all other rows, the more probable first."""
    best, second = np.argsort(-facts.loo.proba[i], kind="stable")[:2].tolist()
    return best, second


def _nomogram(facts: Facts, i: int, reason: str, best: int, draw: Callable[..., Any]) -> str:
    """The nomogram of row i, and what the other rows predict of it, as HTML.

    It shows what each feature adds to the log odds of the most probable class against the next one.

    Parameters
    ----------
    reason : why the row is shown
    best : number of the most probable class
    draw : draws the nomogram on the argument `ax`
    """
    p = facts.loo.proba[i]  # (c,) the class probabilities of the row by all other rows
    # the plot has a line for each feature, at most 12, and lines for the prior, calibration or pairs, and the sum
    svg = inline_svg(draw, f"{reason}: nomogram {i}", height=2.2 + 0.25 * min(12, facts.nb.n_features_in_))
    # the class number of its label, and in words whether the other rows predict it
    true = facts.loo.index[i]
    probability = f"{p[best]:.3f}" if p[best] < 0.9995 else "above 0.999"  # not 1 where it is less
    truth = "which is right" if true == best else f"but it is <b>{as_text(facts.classes[true])}</b>"
    others = "the other rows" if facts.groups is None else "the other groups"
    prediction = f"{others} predict <b>{as_text(facts.classes[best])}</b> with probability {probability}, {truth}."
    return f"<div><h3>{reason}</h3>{as_figure(svg, f'{as_text(facts.row_names[i])}: {prediction}')}</div>"
