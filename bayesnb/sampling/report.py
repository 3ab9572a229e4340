"""The report of a check as a table that a person can read."""

import textwrap
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .check import CheckReport


def as_text(report: "CheckReport") -> str:
    """The four rows, the quality of prediction on held-out rows and the widest intervals, at most 120 columns wide."""
    s = report.settings
    lines = [
        f"{report.model}: fitted on {s['rows_fitted']} rows, held out {s['rows_held_out']}; "
        f"{s['features']} features, {s['classes']} classes; seed {s['seed']}",
        "",
        f"  {'closed form against NumPyro':<28}{'figure':>10}{'threshold':>11}  {'unit':<18}result",
    ]
    for row in report.rows:
        verdict = "pass" if row.passed else "FAIL"
        lines.append(f"  {row.name:<28}{row.figure:>10.2g}{row.threshold:>11.2g}  {row.unit:<18}{verdict}")
        for text in (row.reason, row.remark):
            lines += textwrap.wrap(text, 112, initial_indent="       ", subsequent_indent="       ")
    lines += ["", f"  {'on the held-out rows':<28}{'features':>10}{'accuracy':>11}{'log loss':>11}{'calibration':>13}"]
    for q in report.quality:
        lines.append(
            f"  {q.name:<28}{q.features:>10}{q.accuracy:>11.4f}{q.log_loss:>11.4f}{q.calibration_error:>13.4f}"
        )
    lines += [
        "",
        f"  widest {report.level:.0%} intervals of the class probability (over the posterior of the parameters)",
    ]
    for i in report.widest:
        interval = f"{i.low:.3f} … {i.high:.3f}"
        lines.append(f"    row {i.row:>6}: p({i.label}) = {i.probability:.3f}, interval {interval}; truth {i.truth}")
    count = sum(row.passed for row in report.rows)
    lines += ["", f"  {count} of {len(report.rows)} rows pass: the check {'passes' if report.passed else 'FAILS'}"]
    return "\n".join(lines)
