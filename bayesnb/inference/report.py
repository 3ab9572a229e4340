"""The report of a check: its figures, and the text that a person reads."""

import textwrap
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Self

import numpy as np


@dataclass(frozen=True)
class CheckRow:
    """One comparison: its figure, the threshold it has to keep and why, and in plain words what it shows.

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
    meaning: str = ""

    @classmethod
    def within(
        cls, name: str, meaning: str, figure: float, threshold: float, unit: str, reason: str, remark: str
    ) -> Self:
        """A comparison that passes where its figure is at most the threshold."""
        return cls(name, figure, threshold, unit, bool(figure <= threshold), reason, remark, meaning=meaning)

    def with_remark(self, more: str) -> Self:
        """The same row, and what else is to be said of it."""
        return replace(self, remark=f"{self.remark}; {more}") if more else self


@dataclass(frozen=True)
class Quality:
    """How well a way to predict does on the held-out rows."""

    name: str
    features: int
    accuracy: float
    log_loss: float  # nats a row
    calibration_error: float  # mean |confidence − accuracy| over ten bins of confidence, weighted by their rows


@dataclass(frozen=True)
class Differences:
    """How class probabilities by MAP differ from those of the posterior predictive, over held-out rows and classes."""

    mean: float
    largest: float
    labels: int  # rows whose most probable class is another
    rows: int


@dataclass(frozen=True)
class Pair:
    """The rank correlation of two columns among the rows of a class, and the range of those in drawn tables."""

    first: str
    second: str
    label: str
    correlation: float
    low: float  # ends of a range that holds all pairs of all drawn tables at once
    high: float


@dataclass(frozen=True)
class Dependence:
    """The pairs of columns that depend on each other most within a class; `beyond` of `compared` pairs are findings."""

    pairs: tuple[Pair, ...] = ()
    beyond: int = 0
    compared: int = 0
    tables: int = 0
    remark: str = ""


@dataclass(frozen=True)
class CheckReport:
    """The result of the check. `passed` is True if every row kept its threshold, and `print` shows a table.

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
    settings: dict[str, Any]
    plug_in: Differences | None = None
    dependence: Dependence | None = None

    @property
    def passed(self) -> bool:
        """Whether every row of the report passed."""
        return all(row.passed for row in self.rows)

    def to_dict(self) -> dict[str, Any]:
        """The report as plain lists and dictionaries, for JSON; without the transforms of row 3a."""
        found = asdict(replace(self, rows=tuple(replace(row, pit=None) for row in self.rows)))
        for row in found["rows"]:
            del row["pit"]
        return {"passed": self.passed, **found}

    def explain(self, verbose: bool = False) -> str:
        """The report as text of at most 120 columns.

        Parameters
        ----------
        verbose : True adds the figure, the threshold and the reason of every row
        """
        return _as_text(self, verbose)

    def __str__(self) -> str:
        """`explain()`."""
        return self.explain()


def _as_text(report: CheckReport, verbose: bool) -> str:
    """The rows and the quality of prediction on held-out rows, at most 120 columns wide."""
    s = report.settings
    head = f"{'figure':>10}{'threshold':>11}  {'unit':<18}result" if verbose else "result"
    lines = [
        f"{report.model}: fitted on {s['rows_fitted']} rows, held out {s['rows_held_out']}; "
        f"{s['features']} features, {s['classes']} classes; seed {s['seed']}",
        "",
        f"  {'formulas against NumPyro and each other':<42}{head}",
    ]
    for row in report.rows:
        full = verbose or not row.passed
        figures = f"{row.figure:>10.2g}{row.threshold:>11.2g}  {row.unit:<18}" if verbose else ""
        lines.append(f"  {row.name:<42}{figures}{'pass' if row.passed else 'FAIL'}")
        for text in (row.meaning, *((row.reason, row.remark) if full or not row.meaning else ())):
            lines += _wrapped(text, 7)
        if full and not verbose:
            lines.append(f"       {row.figure:.2g}, where the threshold is {row.threshold:.2g} ({row.unit})")
    lines += ["", f"  {'on the held-out rows':<28}{'features':>10}{'accuracy':>11}{'log loss':>11}{'calibration':>13}"]
    for q in report.quality:
        figures = f"{q.accuracy:>11.4f}{q.log_loss:>11.4f}{q.calibration_error:>13.4f}"
        lines.append(f"  {q.name:<28}{q.features:>10}{figures}")
    if (gap := report.plug_in) is not None:
        lines.append(
            f"    MAP and predictive: probabilities differ by {gap.mean:.4f} on average, by {gap.largest:.4f} at most; "
            f"{gap.labels} of {gap.rows} labels change"
        )
    if report.dependence is not None:
        lines += ["", *_dependence_text(report.dependence)]
    wrong = [" ".join(row.name.split()[1:]) for row in report.rows if not row.passed]
    verdict, count = "FAILS" if wrong else "passes", len(report.rows)
    conclusion = (
        f"On your data this model does not compute what it claims to compute: {', '.join(wrong)}. Do not rely on these "
        "results."
        if wrong
        else "On your data this model computes what it claims to compute. Whether it suits the data is another "
        "question; `compare` and the held-out rows answer it."
    )
    lines += ["", *_wrapped(conclusion, 2), f"  {count - len(wrong)} of {count} rows pass: the check {verdict}"]
    return "\n".join(lines)


def _dependence_text(found: Dependence) -> list[str]:
    """The largest rank correlations within classes, and in plain words whether the model has them."""
    if not found.pairs:
        return [f"  dependence of columns within a class: not shown, because {found.remark}"]
    lines = [f"  dependence of columns within a class, against {found.tables} tables of rows drawn from the model"]
    lines += [f"    of {found.remark}"] if found.remark else []
    for pair in found.pairs:
        what = f"{pair.first} and {pair.second}, class {pair.label}: rank correlation {pair.correlation:.2f}"
        lines += _wrapped(f"{what}; drawn {pair.low:.2f} … {pair.high:.2f}", 4)
    if not found.beyond:
        return lines + _wrapped(
            f"None of {found.compared} pairs of columns is correlated otherwise than in the drawn tables.", 4
        )
    text = (
        f"A finding about the data, not an error: {found.beyond} of {found.compared} pairs of columns are correlated "
        "more or less than in any drawn table. The model does not have this dependence, so its probabilities may be "
        "too extreme."
    )
    return lines + _wrapped(text, 4)


def _wrapped(text: str, indent: int) -> list[str]:
    return textwrap.wrap(text, 114, initial_indent=" " * indent, subsequent_indent=" " * indent)
