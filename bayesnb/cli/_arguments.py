"""The arguments of each command, with their help and their checks."""

import argparse
import ast
import inspect
from collections.abc import Callable
from typing import Any

from .. import __version__
from ..columns import ROLES
from ..datasets import NAMES
from . import _commands
from ._output import shorten
from ._tables import MIXED, MODELS


def make_parser() -> argparse.ArgumentParser:
    """The parser of the whole command line; `run` of what it returns is the command."""
    parser = argparse.ArgumentParser(prog="bayesnb", description="Naive Bayes with the whole posterior.")
    parser.add_argument("--version", action="version", version=f"bayesnb {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)

    def command(name: str, run: Callable[[argparse.Namespace], int]) -> Any:
        head, _, text = inspect.cleandoc(run.__doc__ or "").partition("\n\n")
        description = f"{' '.join(text.split())} The exit code is 2 if the input cannot be used."
        one = commands.add_parser(name, help=head[:1].lower() + head[1:-1], description=description)
        one.set_defaults(run=run, inputs=("data",))
        return one

    def several(one: Any, name: str, metavar: str, text: str, **more: Any) -> None:
        one.add_argument(name, action="append", default=[], metavar=metavar, help=text, **more)

    def data(one: Any, labelled: bool = True) -> None:
        one.add_argument("data", metavar="NAME|FILE", help=f"{', '.join(NAMES)}, or a CSV, TSV or Parquet file")
        if labelled:
            one.add_argument("--target", metavar="COLUMN", help="column with the class labels; required for a file")
            one.add_argument("--json", action="store_true", help="print the report as JSON")
            several(one, "--drop", "COLUMNS", "columns to leave out, separated by commas")
            text = f"roles of columns, which replace those that `describe` finds: {', '.join(ROLES)}"
            several(one, "--columns", "NAME=ROLE,…", text, type=_roles)
        reading = one.add_argument_group("how the file is written (by default this is found in the file)")
        reading.add_argument("--decimal", metavar="CHAR", help="decimal separator of numbers, such as ,")
        reading.add_argument("--thousands", metavar="CHAR", help="separator of thousands, such as .")
        reading.add_argument(
            "--encoding", metavar="NAME", help="encoding of a text file, such as cp1252 (default: UTF-8)"
        )
        reading.add_argument("--sep", metavar="CHAR", help="separator of the cells, such as ; or tab")

    def model(one: Any) -> None:
        text = f"the model: {', '.join((*MODELS, *MIXED))} (default: auto, which depends on the columns)"
        one.add_argument("--model", choices=(*MODELS, *MIXED), default="auto", metavar="VARIANT", help=text)

    describe = command("describe", _commands.describe)
    data(describe)

    check = command("check", _commands.check)
    data(check)
    model(check)
    check.add_argument(
        "--level", type=_share, default=0.9, metavar="LEVEL", help="level of the credible intervals (default 0.9)"
    )
    check.add_argument(
        "--false-alarm",
        type=_share,
        default=0.01,
        metavar="RATE",
        help="probability that a correct model fails by chance (default 0.01)",
    )
    check.add_argument("--seed", type=int, default=0, help="seed of the split and of all draws (default 0)")
    check.add_argument(
        "--verbose", action="store_true", help="print the figure, the threshold and the reason of every row"
    )

    select = command("select", _commands.select)
    data(select)
    select.add_argument("--bins", type=_count, default=10, help="number of bins of a numeric column (default 10)")
    size = select.add_mutually_exclusive_group()
    size.add_argument(
        "--max",
        type=_count,
        metavar="N",
        help="largest number of added features (default: depends on the number of features)",
    )
    size.add_argument("--exact", type=_count, metavar="N", help="exact number of added features")
    select.add_argument(
        "--criterion",
        choices=("bic", "test"),
        help=(
            "choose the best set by pseudo-BIC (bic) or by log-likelihood on held-out rows (test); default: test with "
            "--test-share, otherwise bic"
        ),
    )
    select.add_argument(
        "--test-share", type=_share, metavar="SHARE", help="share of held-out rows (default 0.3 with --criterion test)"
    )
    several(select, "--force", "COLUMNS", "features that are in every set, separated by commas; may be repeated")
    select.add_argument("--seed", type=int, default=0, help="seed of the held-out rows (default 0)")

    compare = command("compare", _commands.compare)
    data(compare)
    text = f"models, separated by commas: {', '.join((*MODELS[1:], *MIXED))} (default: all models that suit the table)"
    compare.add_argument("--models", type=_models, metavar="MODELS", help=text)

    fit = command("fit", _commands.fit)
    data(fit)
    model(fit)
    text = "a parameter of the estimator, such as alpha=0.5 or estimate=mean; may be repeated"
    several(fit, "--set", "NAME=VALUE", text, type=_setting, dest="settings")
    fit.add_argument("-o", "--output", required=True, metavar="MODEL", help="the file for the fitted model")

    report = command("report", _commands.report)
    data(report)
    model(report)
    report.add_argument("-o", "--output", required=True, metavar="PAGE", help="the HTML file to write")

    predict = command("predict", _commands.predict)
    predict.set_defaults(inputs=("data", "model"))
    predict.add_argument("model", metavar="MODEL", help="file that `bayesnb fit` or `save` of an estimator wrote")
    data(predict, labelled=False)
    predict.add_argument("--id", metavar="COLUMN", help="column to print first, unchanged")
    predict.add_argument(
        "--digits",
        type=_count,
        default=4,
        help="number of significant digits of a probability or of its complement (default 4)",
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
            raise argparse.ArgumentTypeError(
                f"{shorten(repr(one))} is not of the form NAME=ROLE, with one of the roles {', '.join(ROLES)}"
            )
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
        raise argparse.ArgumentTypeError(f"{text} is not between 0 and 1")
    return value
