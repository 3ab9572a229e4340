"""The report of a check: its figures, and the text that a person reads."""

import textwrap
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Self

import numpy as np

from ..posterior.held_out import Differences, Quality

MAP, PREDICTIVE, MEAN, NUTS = "MAP", "predictive", "posterior mean", "posterior mean by NUTS"  # ways to predict


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

    Attributes
    ----------
    model : the estimator, as it was written
    rows : the comparisons
    quality : the ways to predict the held-out rows
    settings : seed, rate of false alarms, and numbers of rows, features and classes
    plug_in : how the probabilities of the MAP differ from those of the posterior predictive
    by_nuts : how the posterior mean by NUTS differs from that of exact draws; None where NUTS did not run
    dependence : pairs of columns that depend on each other within a class

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
    by_nuts: Differences | None = None

    @property
    def passed(self) -> bool:
        """Whether every row of the report passed."""
        return all(row.passed for row in self.rows)

    def to_dict(self) -> dict[str, Any]:
        """The report as plain lists and dictionaries, for JSON; without the transforms of row 3a."""
        report = asdict(replace(self, rows=tuple(replace(row, pit=None) for row in self.rows)))
        for row in report["rows"]:
            del row["pit"]
        return {"passed": self.passed, **report}

    def explain(self, verbose: bool = False, first: int = 0) -> str:
        """The report as text of at most 120 columns.

        Parameters
        ----------
        verbose : True adds the figure, the threshold and the reason of every row
        first : how many rows to leave out, because they were printed when they were done
        """
        return _as_text(self, verbose, first)

    def __str__(self) -> str:
        """`explain()`."""
        return self.explain()


# --- the report as text ---------------------------------------------------------------------------------------------


def heading_text(verbose: bool) -> str:
    """What stands above the rows."""
    result = f"{'figure':>10}{'threshold':>11}  {'unit':<18}result" if verbose else "result"
    return f"  {'formulas against NumPyro and each other':<42}{result}"


def row_text(row: CheckRow, verbose: bool) -> str:
    """A row in plain words; with its figure, threshold and reason where it fails or where they are asked for.

    Parameters
    ----------
    row : a comparison, with its figure, the threshold for it, and texts
    verbose : True puts figure and threshold on the first line; a row that fails without it has them on a last line
    """
    result = "pass" if row.passed else "FAIL"
    is_detailed = verbose or not row.passed
    figures = f"{row.figure:>10.2g}{row.threshold:>11.2g}  {row.unit:<18}" if verbose else ""
    lines = [f"  {row.name:<42}{figures}{result}", *_wrapped(row.meaning, 7)]
    if is_detailed or not row.meaning:
        lines += [*_wrapped(row.reason, 7), *_wrapped(row.remark, 7)]
    if is_detailed and not verbose:
        lines.append(f"       {row.figure:.2g}, where the threshold is {row.threshold:.2g} ({row.unit})")
    return "\n".join(lines)


def _as_text(report: CheckReport, verbose: bool, first: int) -> str:
    """The report as text: settings, comparisons, quality of prediction on held-out rows, dependence, and a conclusion.

    Parameters
    ----------
    report : what is shown
    verbose : True adds the figure, the threshold and the reason of every row
    first : how many rows to leave out, because they were printed when they were done; 0 also prints the heading
    """
    s = report.settings
    lines = [
        f"{report.model}: fitted on {s['rows_fitted']} rows, held out {s['rows_held_out']}; "
        f"{s['features']} features, {s['classes']} classes; seed {s['seed']}",
        "",
    ]
    if first == 0:
        lines.append(heading_text(verbose))
    if first < len(report.rows):
        lines += [*(row_text(row, verbose) for row in report.rows[first:]), ""]
    lines += _quality_lines(report)
    if report.dependence is not None:
        lines += ["", *_dependence_lines(report.dependence)]
    return "\n".join([*lines, "", *_conclusion_lines(report.rows)])


def _quality_lines(report: CheckReport) -> list[str]:
    """How well each way to predict does, and how MAP and predictive, NUTS and exact draws differ."""
    lines = [
        f"  {'on the held-out rows':<28}{'fitted rows':>13}{'features':>10}{'accuracy':>11}{'log loss':>11}"
        f"{'calibration':>13}"
    ]
    for q in report.quality:
        figures = f"{q.accuracy:>11.4f}{q.log_loss:>11.4f}{q.calibration_error:>13.4f}"
        lines.append(f"  {q.name:<28}{q.rows:>13}{q.features:>10}{figures}")
    if report.plug_in is not None:
        lines.append(f"    MAP and predictive: {_difference_text(report.plug_in)}")
    if report.by_nuts is not None:
        lines.append(f"    posterior mean by NUTS and by exact draws: {_difference_text(report.by_nuts)}")
    return lines


def _difference_text(gap: Differences) -> str:
    """How much probabilities differ, and how many labels change."""
    return (
        f"differ by {gap.mean:.4f} on average, by {gap.largest:.4f} at most; {gap.labels} of {gap.rows} labels change"
    )


def _dependence_lines(dependence: Dependence) -> list[str]:
    """The largest rank correlations within classes, and in plain words whether the model has them.

    Parameters
    ----------
    dependence : some pairs of columns in a class, with their correlation and the range of those in tables drawn from
        the model; and how many of all pairs are outside of their range (`beyond`). Without pairs its remark says why
    """
    if not dependence.pairs:
        return [f"  dependence of columns within a class: not shown, because {dependence.remark}"]
    lines = [f"  dependence of columns within a class, against {dependence.tables} tables of rows drawn from the model"]
    if dependence.remark:
        lines.append(f"    of {dependence.remark}")
    for pair in dependence.pairs:
        columns = f"{pair.first} and {pair.second}, class {pair.label}"
        correlations = f"rank correlation {pair.correlation:.2f}; drawn {pair.low:.2f} … {pair.high:.2f}"
        lines += _wrapped(f"{columns}: {correlations}", 4)
    text = f"None of {dependence.compared} pairs of columns is correlated otherwise than in the drawn tables."
    if dependence.beyond:
        text = (
            f"A finding about the data, not an error: {dependence.beyond} of {dependence.compared} pairs of columns "
            "are correlated more or less than in any drawn table. The model does not have this dependence, so its "
            "probabilities may be too extreme."
        )
    return lines + _wrapped(text, 4)


def _conclusion_lines(rows: tuple[CheckRow, ...]) -> list[str]:
    """Whether the model computes what it claims to compute."""
    failed = [row.name.split(maxsplit=1)[-1] for row in rows if not row.passed]
    if failed:
        verdict = "FAILS"
        text = (
            f"On your data this model does not compute what it claims to compute: {', '.join(failed)}. Do not rely on "
            "these results."
        )
    else:
        verdict = "passes"
        text = (
            "On your data this model computes what it claims to compute. Whether it suits the data is another "
            "question; `compare` and the held-out rows answer it."
        )
    return [*_wrapped(text, 2), f"  {len(rows) - len(failed)} of {len(rows)} rows pass: the check {verdict}"]


def _wrapped(text: str, indent: int) -> list[str]:
    """Lines of a text of at most 114 columns, each with so many blanks in front; no line for an empty text."""
    return textwrap.wrap(text, 114, initial_indent=" " * indent, subsequent_indent=" " * indent)
