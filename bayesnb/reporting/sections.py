"""The sections of a report, in their order: each makes HTML of what is known, or nothing where there is nothing."""

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import plots
from .content import Material
from .figures import inline_svg
from .page import cards, figure, number, percent, prose, table, text

_FEATURES = 12  # shown of the importance
_CELLS = 8  # features of a nomogram
_ROWS = 40  # columns listed
_CLASSES = 12  # of a confusion table
_FIT = {"log evidence": "log_evidence_", "log likelihood": "log_likelihood_", "AIC": "aic_", "BIC": "bic_"}


def header(title: str, known: Material) -> str:
    """The title, the model and its figures."""
    nb, loo = known.estimator, known.loo
    base, base_loss = known.baseline
    model = " ".join(repr(nb).split())
    figures = [
        ("accuracy, leave-one-out", percent(loo.accuracy)),
        ("most frequent class", percent(base)),
        ("log loss, leave-one-out", number(loo.log_loss)),
        ("log loss of the frequencies", number(base_loss)),
        ("rows", f"{len(known.y):,}"),
        ("features", f"{nb.n_features_in_:,}"),
    ]
    said = (
        f"If each row is predicted from all other rows, {percent(loo.accuracy)} of the {len(known.y):,} rows get "
        f"their own label. Always predicting the most frequent class would be right for {percent(base)}."
    )
    return f"<h1>{text(title)}</h1><p><code>{text(model)}</code></p><p>{said}</p>{cards(figures)}"


def columns(known: Material) -> str:
    """What each column was used as."""
    shown = known.columns.iloc[:_ROWS]
    made: dict[str, Any] = {"column": map(text, shown.index), "used as": map(text, shown["role"])}
    if "why" in shown:
        made["why"] = map(text, shown["why"])
    made["distinct"] = [f"{int(count):,}" for count in shown["distinct"]]
    made["missing"] = [percent(share) if share else "" for share in shown["missing"]]
    made["example"] = [text(_short(value)) for value in shown["example"]]
    if (known.columns["warning"] != "").any():
        made["to look at"] = [f'<span class="warn">{text(warning)}</span>' for warning in shown["warning"]]
    more = len(known.columns) - len(shown)
    note = f"<p class='soft'>and {more:,} more columns</p>" if more > 0 else ""
    head, rows = [*made], zip(*made.values(), strict=True)
    k = head.index("distinct")
    return table(head, rows, numbers=(k, k + 1), long=range(2, k), name="Columns") + note


def classes(known: Material) -> str:
    """Rows of each class, and the class probabilities with their intervals."""
    nb = known.estimator
    count = np.bincount(known.loo.index, minlength=len(known.classes))
    law = nb.posterior_.classes.marginals().get("pi")
    tails = (1 - known.level) / 2
    ends = None if law is None else (law.ppf(tails), law.ppf(1 - tails))
    rows = []
    for k, label in enumerate(known.classes):
        share = count[k] / len(known.y)
        interval = "" if ends is None else f"{percent(ends[0][k])} to {percent(ends[1][k])}"
        bar = f'<span class="bar" style="width: {100 * share / max(count.max() / len(known.y), 1e-9):.1f}%"></span>'
        rows.append([text(label), f"{count[k]:,}", percent(share), interval, bar])
    head = ["class", "rows", "share", "interval", "<span class='soft'>rows</span>"]
    return table(head, rows, numbers=(1, 2, 3), long=(4,), name="Classes")


def accuracy(known: Material) -> str:
    """Accuracy and log loss with their standard errors."""
    loo, n = known.loo, len(known.y)
    base, base_loss = known.baseline
    error = np.sqrt(loo.accuracy * (1 - loo.accuracy) / n)
    rows = [
        ["accuracy", percent(loo.accuracy), percent(error), percent(base)],
        ["log loss, nats a row", number(loo.log_loss), number(loo.se / n), number(base_loss)],
        ["log p(y | x), nats", number(loo.elpd), number(loo.se), number(-n * base_loss)],
    ]
    made = (
        "<p>Each row was predicted from all other rows. This is exact and needs no second fit. The last column is the "
        "result of the class frequencies alone.</p>"
    )
    fit = []
    for label, name in _FIT.items():
        try:
            fit.append((label, number(getattr(known.estimator, name))))
        except (AttributeError, ValueError):
            continue
    head = ["", "value", "standard error", "frequencies"]
    return made + table(head, rows, numbers=(1, 2, 3), name="Leave-one-out") + (cards(fit) if fit else "")


def calibration(known: Material) -> str:
    """Whether probabilities are what they say."""
    loo = known.loo
    fold = np.random.default_rng(known.seed).permutation(len(known.y)) % 5
    try:  # sorted by its own leave-one-out probability, a row would be sorted by its label
        by = known.estimator.loo(known.X, known.y, groups=fold).proba
    except ValueError:  # too few rows for an improper prior
        return ""
    if len(known.classes) == 2:
        event, p, by, of = loo.index == 1, loo.proba[:, 1], by[:, 1], f"of {known.classes[1]}"
    else:
        event, p, by = loo.predicted == loo.classes[loo.index], loo.proba.max(1), by.max(1)
        of = "of the predicted label"
    bins = int(np.clip(len(p) // 25, 4, 15))

    def draw(ax: Any) -> None:
        plots.calibration(event, p, by=by, bins=bins, ax=ax)
        ax.legend(frameon=False, loc="lower right")

    caption = (
        f"Share of events against the leave-one-out probability {text(of)}. If the probabilities are true, all points "
        "lie in the band with 95 % probability. Crosses lie outside."
    )
    return figure(inline_svg(draw, "Calibration"), caption)


def confusion(known: Material) -> str:
    """Rows of each class by the label predicted."""
    loo, c = known.loo, len(known.classes)
    if c > _CLASSES:
        wrong = loo.predicted != loo.classes[loo.index]
        pairs, count = np.unique(
            np.stack([loo.index[wrong], loo.log_joint.argmax(1)[wrong]], 1), axis=0, return_counts=True
        )
        worst = np.argsort(-count, kind="stable")[:_CLASSES]
        rows = [[text(known.classes[pairs[i, 0]]), text(known.classes[pairs[i, 1]]), f"{count[i]:,}"] for i in worst]
        return table(["class", "predicted as", "rows"], rows, numbers=(2,), name="Most frequent confusions")
    counts = np.zeros((c, c), int)
    np.add.at(counts, (loo.index, loo.log_joint.argmax(1)), 1)
    share = counts / np.maximum(counts.sum(1, keepdims=True), 1)
    head = "".join(f"<th scope='col'>{text(_short(label, 14))}</th>" for label in known.classes)
    body = ""
    for i, label in enumerate(known.classes):
        cells = "".join(
            f'<td style="background: color-mix(in srgb, var(--bar) {70 * share[i, j]:.0f}%, transparent)">'
            f"{counts[i, j]:,}</td>"
            for j in range(c)
        )
        body += f"<tr><th scope='row'>{text(_short(label, 14))}</th>{cells}</tr>"
    whole = f'<table class="confusion"><thead><tr><th></th>{head}</tr></thead><tbody>{body}</tbody></table>'
    return (
        "<p>Rows are the true class. Columns are the label that is predicted from all other rows.</p><div "
        f'class="wide" tabindex="0" role="region" aria-label="Confusion table">{whole}</div>'
    )


def importance(known: Material) -> str:
    """What each feature alone tells of the label, and what the model loses without it."""
    shown = known.importance.iloc[:_FEATURES].copy()
    shown["feature"] = [_short(name, 26) for name in shown["feature"]]
    if shown["feature"].duplicated().any():
        shown["feature"] = [f"{name} ({i})" for i, name in enumerate(shown["feature"])]
    svg = inline_svg(
        lambda ax: plots.feature_weights(shown, n=_FEATURES, ax=ax), "Importance", height=0.8 + 0.24 * len(shown)
    )
    grey, many = int((known.importance["low"] <= 0).sum()), len(known.importance)
    caption = (
        "Dots: how much better each feature alone predicts the labels than the class frequencies do, by leave-one-out, "
        f"in nats a row, with {known.level:.0%} intervals over the rows. The log loss of the class frequencies is "
        f"{number(known.baseline[1])} nats. {grey} of {many} features are not shown to help: their interval reaches 0, "
        "and they are grey. Bars: what this model loses without the feature (<code>elpd_gain</code>). It is negative "
        "where the model counts dependent features twice, so it is no ranking."
    )
    return figure(svg, caption)


def rows(known: Material) -> str:
    """The most certain, the least certain and the most surprising rows, with their nomograms."""
    loo = known.loo
    p = loo.proba
    order = np.argsort(p.max(1), kind="stable")
    wrong = np.flatnonzero(loo.log_joint.argmax(1) != loo.index)
    chosen = [("The least certain row", order[0]), ("The most certain row", order[-1])]
    if len(order) > 3:
        chosen.insert(1, ("The second least certain row", order[1]))
        chosen.insert(3, ("The second most certain row", order[-2]))
    if len(wrong):
        worst = wrong[np.argmin(loo.pointwise[wrong])]
        if worst not in [i for _, i in chosen]:
            chosen.append(("The most certain mistake", worst))
    made = []
    names = [_short(name, 18) for name in known.estimator.feature_names()]
    for said, i in chosen:
        best, next_best = np.argsort(-p[i], kind="stable")[:2].tolist()
        x = known.row(int(i))
        shown: dict[str, Any] = {"label": known.classes[best], "against": known.classes[next_best], "n": _CELLS}

        def draw(ax: Any, x: Any = x, shown: dict[str, Any] = shown) -> None:
            plots.nomogram(known.estimator, x, n_draws=400, level=known.level, feature_names=names, ax=ax, **shown)

        lines = min(_CELLS, known.estimator.n_features_in_) + 3
        svg = inline_svg(draw, f"{said}: nomogram", height=1.0 + 0.25 * lines)
        own = loo.index[i]
        sure = f"{p[i, best]:.3f}" if p[i, best] < 0.9995 else "above 0.999"  # not 1 where it is less
        truth = "which is right" if own == best else f"but it is <b>{text(known.classes[own])}</b>"
        caption = (
            f"Row {int(i):,}: the other rows predict <b>{text(known.classes[best])}</b> with probability "
            f"{sure}, {truth}."
        )
        made.append(f"<div><h3>{said}</h3>{figure(svg, caption)}</div>")
    note = (
        "<p>A nomogram shows what each feature adds to the log odds of the predicted label against the next one. The "
        "last line is their sum, the log odds. <code>nb.explain(X)</code> returns these numbers. They follow from the "
        "model of all rows, so the log odds can differ a little from the caption, which leaves the row out.</p>"
    )
    return f'{note}<div class="pair">{"".join(made)}</div>'


def priors(known: Material) -> str:
    """Prior and posterior of a parameter of the strongest features."""
    made = []
    features = known.estimator.feature_names()
    for name in known.importance["feature"].iloc[:3]:
        at = features.index(name)

        def draw(ax: Any, at: int = at) -> None:
            plots.prior_to_posterior(known.estimator, at, ax=ax)

        try:
            svg = inline_svg(draw, f"Prior to posterior of {name}", height=2.8)
        except (ValueError, AttributeError, KeyError):
            continue
        made.append(figure(svg, f"{text(_short(name, 40))}: the prior is dashed, each class has a line."))
    if not made:
        return ""
    note = "<p>If a posterior still looks like its prior, it depends on few rows.</p>"
    return f'{note}<div class="pair">{"".join(made)}</div>'


def models(known: Material) -> str:
    """Which model the evidence prefers, and which predicts better."""
    if known.comparison is None:
        return ""
    found = known.comparison.table
    rows = [
        [
            text(name),
            number(line["log_evidence"]),
            percent(line["probability"]) if line["probability"] == line["probability"] else "–",
            number(line["elpd"]),
            f"{number(line['elpd_diff'])} ± {number(line['se_diff'])}" if line["elpd_diff"] else "best",
            percent(line["accuracy"]),
        ]
        for name, line in found.iterrows()
    ]
    head = ["model", "log evidence", "probability", "log p(y | x)", "to the best", "accuracy"]
    best = found["log_evidence"].idxmax() if found["log_evidence"].notna().any() else None
    said = "" if best is None else f"<p><b>{text(best)}</b> has the largest evidence. "
    said += f"By leave-one-out <b>{text(found.index[0])}</b> predicts the labels best.</p>"
    notes = "".join(f"<p class='soft'>{text(note)}</p>" for note in known.comparison.notes)
    return said + table(head, rows, numbers=(1, 2, 3, 4, 5), name="Models") + notes


def careful(known: Material) -> str:
    """What to be careful about."""
    return "<ul>" + "".join(f"<li>{prose(one)}</li>" for one in known.cautions) + "</ul>"


def _short(value: Any, most: int = 28) -> str:
    shown = f"{value:.6g}" if isinstance(value, float | np.floating) else str(value)
    return shown if len(shown) <= most else f"{shown[: most - 1]}…"


SECTIONS: list[tuple[str, str, Callable[[Material], str]]] = [
    ("careful", "What needs care", careful),
    ("columns", "Columns", columns),
    ("classes", "Classes", classes),
    ("accuracy", "How well it predicts", accuracy),
    ("calibration", "Calibration", calibration),
    ("confusion", "Confusion table", confusion),
    ("importance", "Importance of the features", importance),
    ("rows", "The most and least certain rows", rows),
    ("priors", "From prior to posterior", priors),
    ("models", "Which model is preferred", models),
]
