"""Sections on columns and classes: how they were used, what each number adds, importance, prior and posterior."""

import contextlib
from functools import partial
from typing import Any

import pandas as pd

from .. import plots
from ..estimators._suited import fitted_copy
from ..plots.contributions import MAX_CURVES, feature_effects
from ..tables.names import shorten
from .facts import Facts
from .html import as_figure, as_table, as_text, inline_svg

_SHOWN = 12  # features of the importance
_MAX_EFFECTS = 12  # pictures of what a number adds
_EFFECT_DRAWS = 200


def columns(facts: Facts) -> str:
    """How each column was used, with the reason; empty if nobody knows."""
    if facts.contract is None:
        return ""
    shown, rest_in_words = facts.contract.shown(40)
    note = f"<p class='soft'>{rest_in_words}</p>" if rest_in_words else ""
    # the mark stands before the name: a column of its own would be nearly empty
    if shown[""].any():
        note = f"<p class='soft'>! marks a column that needs care.</p>{note}"
    names = (shown[""] + " " + shown["column"]).str.strip()
    return as_table(shown.drop(columns="").assign(column=names), "Columns") + note


def classes(facts: Facts) -> str:
    """The rows and the share of each class, with the interval of its probability if that was learnt."""
    table = pd.DataFrame({"class": facts.classes, "rows": facts.count, "share": facts.count / facts.n})
    # the posterior of each class probability, a beta distribution; there is none where the class prior is fixed
    law = facts.inside.posterior_.classes.marginals().get("pi")
    if law is not None:
        tail = (1 - facts.level) / 2
        table["low"] = law.ppf(tail)
        table["high"] = law.ppf(1 - tail)
    return as_table(table, "Classes")


def effects(facts: Facts) -> str:
    """A picture for each number of what it adds over its range, the most informative first; empty without numbers."""
    names = facts.nb.model_.labels_of_features(facts.feature_names).tolist()
    label = facts.positive if len(facts.classes) == 2 else None
    by_information = {names.index(name): str(name) for name in facts.importance["feature"]}
    settings: dict[str, Any] = {"label": label, "level": facts.level, "n_draws": _EFFECT_DRAWS}
    try:
        drawings = feature_effects(facts.nb, facts.X, by_information, _MAX_EFFECTS, **settings)
    except (ValueError, AttributeError, TypeError):  # what a feature adds is not known of every model
        return ""
    if not drawings:
        return ""
    figures = []
    for j, draw in drawings.items():
        svg = inline_svg(draw, f"What {names[j]} adds", height=2.6, width=3.6)
        figures.append(f"<figure>{svg}</figure>")
    before = " This is before calibration." if facts.is_calibrated else ""
    few = f" The {_MAX_EFFECTS} most informative numbers are shown." if len(figures) == _MAX_EFFECTS else ""
    bands = f"Bands are {facts.level:.0%} intervals."
    if label is None:
        bands = "The odds are those against the geometric mean of all other classes."
        if len(facts.classes) > MAX_CURVES:
            bands += f" Curves are of the {MAX_CURVES} classes on which the number has the largest effect."
    note = f'<p class="soft">{bands}{before}{few}</p>'
    return f'{note}<div class="many">{"".join(figures)}</div>'


def importance_of_features(facts: Facts) -> str:
    """The plot of the information of the features, and below it how many are not shown to help."""
    n_features = len(facts.importance)
    n_grey = int((facts.importance["low"] <= 0).sum())  # features whose interval reaches 0
    # the plot with all arguments but the Axes, as `inline_svg` takes it
    draw = partial(plots.feature_weights, facts.importance, n=_SHOWN)
    svg = inline_svg(draw, "Importance", height=0.8 + 0.24 * min(_SHOWN, n_features))
    caption = (
        f"{facts.level:.0%} intervals over the rows. {n_grey} of {n_features} features are not shown to help. "
        f"The log loss of the class frequencies is {facts.frequency_log_loss:.3f} nats."
    )
    return as_figure(svg, caption)


def priors(facts: Facts) -> str:
    """Prior and posterior of the three most informative features, as far as there are plots; empty for many rows."""
    if not facts.has_few_rows:
        return ""
    figures = []
    nb = fitted_copy(facts.nb, facts.feature_names)
    names = facts.nb.model_.labels_of_features(facts.feature_names).tolist()
    for name in facts.importance["feature"].iloc[:3]:  # the most informative are the first
        column = names.index(name)
        caption = f"{as_text(shorten(name, 40))}: the prior is dashed, each class has a line."
        # no figure where the column is not used, or where its family has no parameters to draw
        with contextlib.suppress(ValueError, AttributeError, KeyError):
            draw = partial(plots.prior_to_posterior, nb, column)
            figures.append(as_figure(inline_svg(draw, f"Prior to posterior of {name}", height=2.8), caption))
    if not figures:
        return ""
    note = "<p>If a posterior still looks like its prior, it depends on few rows.</p>"
    return f'{note}<div class="pair">{"".join(figures)}</div>'
