"""The report of forward selection: the table of its steps, and the whole as text."""

import textwrap
from typing import Any

import numpy as np
import pandas as pd

from ..tables import listed


def steps_table(added: list[Any], fit: np.ndarray, n_forced: int, n: float) -> pd.DataFrame:
    """One row a set: what was added, its size, l̄(J) and pseudo-BIC on the weight n of the training rows."""
    size = n_forced + np.arange(len(fit))
    return pd.DataFrame(
        {
            "added": pd.Series([None, *added], dtype=object),
            "n_features": size,
            "log_likelihood": fit,
            "pseudo_bic": -fit + 0.5 * size * np.log(n) / n,
        }
    ).rename_axis("step")


def as_text(report: Any) -> str:
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
        "exact": "exact number of features",
    }
    on = "held-out" if report.error_on == "test" else "training"
    notes = [
        f"selected ({why[s['criterion']]}): {listed(report.selected, len(report.selected))}",
        f"classification error {report.error:.4f} on the {on} rows",
    ]
    if report.forced:
        notes.append(f"forced: {listed(report.forced, len(report.forced))}")
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
