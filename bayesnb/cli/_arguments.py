"""The arguments of each command, with their help and their checks."""

import argparse
import ast
from collections.abc import Callable
from typing import Any

from .. import __version__
from ..columns.contract import ROLES
from ..datasets import NAMES
from . import _commands
from ._output import shorten
from ._tables import MIXED, MODELS


def make_parser() -> argparse.ArgumentParser:
    """The parser of the whole command line; `run` of what it returns is the command."""
    parser = argparse.ArgumentParser(prog="bayesnb", description="Naive Bayes with the whole posterior.")
    parser.add_argument("--version", action="version", version=f"bayesnb {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)

    def command(name: str, run: Callable[[argparse.Namespace], int], help: str, description: str) -> Any:
        one = commands.add_parser(
            name, help=help, description=f"{description} Exit code 2 if the input cannot be used."
        )
        one.set_defaults(run=run)
        return one

    def data(one: Any, labelled: bool = True) -> None:
        one.add_argument("data", metavar="NAME|FILE", help=f"{', '.join(NAMES)}, or a CSV, TSV or Parquet file")
        if labelled:
            one.add_argument("--target", metavar="COLUMN", help="column with the class labels; needed for a file")
            one.add_argument("--json", action="store_true", help="print the report as JSON")
            one.add_argument(
                "--drop", action="append", default=[], metavar="COLUMNS", help="columns to leave out, by commas"
            )
            one.add_argument(
                "--columns",
                action="append",
                type=_roles,
                default=[],
                metavar="NAME=ROLE,…",
                help=f"what columns are, instead of what `describe` finds: {', '.join(ROLES)}",
            )
        reading = one.add_argument_group("how a file is written (found in the file unless given)")
        reading.add_argument("--decimal", metavar="CHAR", help="decimal separator of numbers, such as ,")
        reading.add_argument("--thousands", metavar="CHAR", help="separator of thousands, such as .")
        reading.add_argument("--encoding", metavar="NAME", help="of a text file, such as cp1252 (default: UTF-8)")
        reading.add_argument("--sep", metavar="CHAR", help="between the cells: such as ; or tab")

    def model(one: Any) -> None:
        text = f"the variant: {', '.join((*MODELS, *MIXED))} (default: auto, read from the columns)"
        one.add_argument("--model", choices=(*MODELS, *MIXED), default="auto", metavar="VARIANT", help=text)

    describe = command(
        "describe",
        _commands.describe,
        "what each column of a table is, and why",
        "Show for each column its role (numbers, counts, yes/no, levels, dropped) and why, how many values differ, the "
        "share of missing cells and an example. A mark (!) stands before what to look at: identifiers and dates, which "
        "are left out unless asked for, numbers written as text, a target of many classes.",
    )
    data(describe)

    check = command(
        "check",
        _commands.check,
        "closed form against NumPyro on a data set",
        "Fit on one half of the rows and check all formulas against NumPyro and against each other: from Bayes' "
        "identity to leave-one-out and intervals. Exit code 1 if a row of the report fails.",
    )
    data(check)
    model(check)
    check.add_argument(
        "--level", type=_share, default=0.9, metavar="LEVEL", help="of the credible intervals shown (default 0.9)"
    )
    check.add_argument(
        "--false-alarm",
        type=_share,
        default=0.01,
        metavar="RATE",
        help="probability that a correct model fails by chance (default 0.01)",
    )
    check.add_argument("--seed", type=int, default=0, help="of the split and of all draws (default 0)")
    check.add_argument("--verbose", action="store_true", help="print figure, threshold and reason of every row")

    select = command(
        "select",
        _commands.select,
        "forward selection of features for a categorical model",
        "The naive Bayes procedure of SPSS. Add one feature after the other to a categorical naive Bayes model, each "
        "time the one that raises the average log-likelihood of the classes most, and keep the best set of the "
        "sequence. Numeric columns with more than "
        "BINS different values are cut into bins of equal width; all other columns are categories as they stand.",
    )
    data(select)
    select.add_argument("--bins", type=_count, default=10, help="bins of a numeric column (default 10)")
    size = select.add_mutually_exclusive_group()
    size.add_argument(
        "--max", type=_count, metavar="N", help="features added at most (default: read from their number)"
    )
    size.add_argument("--exact", type=_count, metavar="N", help="features added, no more and no fewer")
    select.add_argument(
        "--criterion",
        choices=("bic", "test"),
        help="best set by pseudo-BIC or by log-likelihood on held-out rows (default: test with --test-share, else bic)",
    )
    select.add_argument(
        "--test-share", type=_share, metavar="SHARE", help="of the rows held out (default 0.3 with --criterion test)"
    )
    select.add_argument(
        "--force",
        action="append",
        default=[],
        metavar="COLUMNS",
        help="features in every set, separated by commas; may be repeated",
    )
    select.add_argument("--seed", type=int, default=0, help="of the held-out rows (default 0)")

    compare = command(
        "compare",
        _commands.compare,
        "evidence and exact leave-one-out of several models",
        "Fit several models to the same rows and compare them: log evidence, Bayes factor against the best, "
        "probability of the model, exact leave-one-out with the standard error of the paired difference to the best. "
        "Models that cannot take the columns are listed with the reason.",
    )
    data(compare)
    compare.add_argument(
        "--models",
        type=_models,
        metavar="MODELS",
        help=f"separated by commas: {', '.join((*MODELS[1:], *MIXED))} (default: all that fit the table)",
    )

    fit = command(
        "fit",
        _commands.fit,
        "fit a model and save it",
        "Fit a model to all rows and save it as a safetensors file, for `bayesnb predict` and for bayesnb.load.",
    )
    data(fit)
    model(fit)
    fit.add_argument(
        "--set",
        action="append",
        type=_setting,
        default=[],
        dest="settings",
        metavar="NAME=VALUE",
        help="a parameter of the estimator, such as alpha=0.5 or estimate=mean; may be repeated",
    )
    fit.add_argument("-o", "--output", required=True, metavar="MODEL", help="the file to save to")

    report = command(
        "report",
        _commands.report,
        "a page about a model and its rows, to look at",
        "Fit a model to all rows and write one page of HTML: columns, classes, exact leave-one-out, calibration, "
        "importance, rows explained, priors, other models. It needs no network.",
    )
    data(report)
    model(report)
    report.add_argument("-o", "--output", required=True, metavar="PAGE", help="the HTML file to write")

    predict = command(
        "predict",
        _commands.predict,
        "classes of new rows, by a saved model",
        "Print a CSV table with a line for each row: the class `predicted`, its `probability`, and the probability "
        "p(CLASS) of every class. With --interval follow the posterior mean of each class probability and the ends "
        "`low` and `high` of its credible interval. `probability` averages the joint over the parameters and then "
        "normalises, `mean` averages the normalised probabilities: the interval belongs to `mean`, and `probability` "
        "may lie outside. Columns are found by name, in whatever order; others, such as the target, are not looked "
        "at. How the table differs from the one fitted is said on standard error.",
    )
    predict.add_argument("model", metavar="MODEL", help="file that `bayesnb fit` or an estimator's `save` wrote")
    data(predict, labelled=False)
    predict.add_argument("--id", metavar="COLUMN", help="column that is written first, as it stands")
    predict.add_argument(
        "--digits", type=_count, default=4, help="significant digits of a probability or its complement (default 4)"
    )
    predict.add_argument("-o", "--output", metavar="FILE", help="CSV file to write (default: standard output)")
    predict.add_argument(
        "--interval", type=_share, metavar="LEVEL", help="posterior mass of the intervals, such as 0.9"
    )
    return parser


def _setting(text: str) -> tuple[str, Any]:
    """NAME=VALUE, the value as Python writes it, or else as text."""
    name, sign, value = text.partition("=")
    if not (name and sign):
        raise argparse.ArgumentTypeError(f"{shorten(repr(text))} is not of the form NAME=VALUE")
    try:
        return name, ast.literal_eval(value)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return name, value


def _roles(text: str) -> dict[str, str]:
    """NAME=ROLE, several by commas."""
    found = {}
    for one in text.split(","):
        name, sign, role = one.rpartition("=")
        if not (name and sign) or role not in (*ROLES, "drop"):
            raise argparse.ArgumentTypeError(f"{shorten(repr(one))} is not NAME=ROLE with a role of {', '.join(ROLES)}")
        found[name] = role
    return found


def _models(text: str) -> list[str]:
    names = list(dict.fromkeys(text.split(",")))
    for name in names:
        if name not in (*MODELS[1:], *MIXED):
            raise argparse.ArgumentTypeError(f"{name!r} is not one of {', '.join(MODELS[1:])}")
    return names


def _count(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text} is less than 1")
    return value


def _share(text: str) -> float:
    value = float(text)
    if not 0 < value < 1:
        raise argparse.ArgumentTypeError(f"{text} does not lie between 0 and 1")
    return value
