"""The report of a check: its figures, and the table that a person reads."""

import textwrap
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np


@dataclass(frozen=True)
class CheckRow:
    """One comparison: its figure, the threshold it has to keep, and why the threshold is what it is.

    `pit`, of row 3a alone, holds by site the posterior distribution functions at the states compared, (states, cells).
    """

    name: str
    figure: float
    threshold: float
    unit: str
    passed: bool
    reason: str
    remark: str = ""
    pit: dict[str, np.ndarray] | None = field(default=None, repr=False, compare=False)


@dataclass(frozen=True)
class Quality:
    """How well a way to predict does on the held-out rows."""

    name: str
    features: int
    accuracy: float
    log_loss: float  # nats a row
    calibration_error: float  # mean |confidence − accuracy| over ten bins of confidence, weighted by their rows


@dataclass(frozen=True)
class Interval:
    """The class probability of one held-out row, with a credible interval."""

    row: int  # position in the input
    label: str  # the class spoken of: the most probable one
    truth: str
    probability: float  # posterior predictive
    low: float
    high: float
    mean: float  # posterior mean of the probability, which the interval belongs to


@dataclass(frozen=True)
class CheckReport:
    """What the check found; `passed` says whether every row kept its threshold, `str()` is a table to read.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> from bayesnb import GaussianNB
    >>> report = GaussianNB().check(X, y, seed=0)
    >>> report.passed
    True
    """

    model: str
    rows: tuple[CheckRow, ...]
    quality: tuple[Quality, ...]
    widest: tuple[Interval, ...]
    level: float
    settings: dict[str, Any]

    @property
    def passed(self) -> bool:
        """Whether every row passed."""
        return all(row.passed for row in self.rows)

    def to_dict(self) -> dict[str, Any]:
        """The report as plain lists and dictionaries, for JSON; without the transforms of row 3a."""
        found = asdict(replace(self, rows=tuple(replace(row, pit=None) for row in self.rows)))
        for row in found["rows"]:
            del row["pit"]
        return {"passed": self.passed, **found}

    def __str__(self) -> str:
        """The report as text of at most 120 columns."""
        return _as_text(self)


def _as_text(report: CheckReport) -> str:
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
        "    Mean and interval are of the class probability over the posterior. The prediction averages the joint",
        "    p(x, y) first, so that parameters under which the row is likely count more: it may lie outside.",
    ]
    for i in report.widest:
        interval = f"{i.low:.3f} … {i.high:.3f}"
        lines.append(
            f"    row {i.row:>6}: p({i.label}) mean {i.mean:.3f}, interval {interval}; "
            f"prediction {i.probability:.3f}; truth {i.truth}"
        )
    count = sum(row.passed for row in report.rows)
    lines += ["", f"  {count} of {len(report.rows)} rows pass: the check {'passes' if report.passed else 'FAILS'}"]
    return "\n".join(lines)
