"""The command `bayesnb`: exit code 0 for a pass, 1 for a check that fails, 2 for input that cannot be used."""

import argparse
import json
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .datasets import NAMES, Dataset, TableError, load, read_table

if TYPE_CHECKING:
    import pandas as pd

MODELS = (
    "auto",
    "bernoulli",
    "categorical",
    "complement",
    "exponential",
    "gaussian",
    "gaussian-da",
    "geometric",
    "kernel",
    "mixed",
    "multinomial",
    "poisson",
    "pooled",
    "shared-da",
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    parser = argparse.ArgumentParser(prog="bayesnb", description="Naive Bayes with the whole posterior.")
    commands = parser.add_subparsers(dest="command", required=True)
    check = commands.add_parser(
        "check",
        help="closed form against NumPyro on a data set",
        description="Fit on one half of the rows and check the closed form against NumPyro: Bayes' identity, mode, "
        "posterior, prediction. Exit code 1 if a row fails, 2 if the input cannot be used.",
    )
    check.add_argument("data", metavar="NAME|FILE", help=f"{', '.join(NAMES)}, or a CSV, TSV or Parquet file")
    check.add_argument("--target", help="column with the class labels; needed for a file")
    check.add_argument("--model", choices=MODELS, default="auto", help="the variant; by default read from the columns")
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
    check.add_argument("--json", action="store_true", help="print the report as JSON")
    select = commands.add_parser(
        "select",
        help="forward selection of features for a categorical model",
        description="Add one feature after the other to a categorical naive Bayes model, each time the one that raises "
        "the average log-likelihood of the classes most, and keep the best set of the sequence. Numeric columns with "
        "more than BINS different values are cut into bins of equal width; all other columns are categories as they "
        "stand. Exit code 2 if the input cannot be used.",
    )
    select.add_argument("data", metavar="NAME|FILE", help=f"{', '.join(NAMES)}, or a CSV, TSV or Parquet file")
    select.add_argument("--target", help="column with the class labels; needed for a file")
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
    select.add_argument("--json", action="store_true", help="print the report as JSON")
    compare = commands.add_parser(
        "compare",
        help="evidence and exact leave-one-out of several models",
        description="Fit several models to the same rows and compare them: log evidence, Bayes factor against the "
        "best, probability of the model, exact leave-one-out with the standard error of the paired difference to the "
        "best. Columns that are not numbers are left out unless all models take them. Exit code 2 if the input cannot "
        "be used.",
    )
    compare.add_argument("data", metavar="NAME|FILE", help=f"{', '.join(NAMES)}, or a CSV, TSV or Parquet file")
    compare.add_argument("--target", help="column with the class labels; needed for a file")
    compare.add_argument(
        "--models", type=_models, required=True, metavar="MODELS", help=f"separated by commas: {', '.join(MODELS[1:])}"
    )
    compare.add_argument("--json", action="store_true", help="print the table as JSON")
    options = parser.parse_args(arguments)
    try:
        return {"check": _check, "select": _select, "compare": _compare}[options.command](options)
    except (ValueError, OSError) as error:
        print(f"bayesnb: {' '.join(str(error).split())}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("bayesnb: interrupted", file=sys.stderr)
        return 130


def _check(options: argparse.Namespace) -> int:
    data = _load(options.data, options.target)
    estimator, X = choose_model(data.X, options.model)
    if not options.json:
        print(f"{data.name}: {len(X)} rows, {X.shape[1]} features, target {data.target!r} ({data.source})")
        for text in data.notes:
            print(f"note: {text}")
        sys.stdout.flush()
    report = estimator.check(
        X,
        data.y,
        seed=options.seed,
        false_alarm=options.false_alarm,
        level=options.level,
        progress_bar=not options.json,
    )
    if options.json:
        print(
            json.dumps(
                {"data": data.name, "target": data.target, "notes": list(data.notes), **report.to_dict()}, indent=2
            )
        )
    else:
        print(report)
    return 0 if report.passed else 1


def _select(options: argparse.Namespace) -> int:
    from .analysis.selection import ForwardSelection

    data = _load(options.data, options.target)
    X, note = _categories(data.X, options.bins)
    notes = [*data.notes, *([note] if note else [])]
    forced = [name for given in options.force for name in ([given] if given in X else given.split(","))]
    share = 0.3 if options.criterion == "test" and options.test_share is None else options.test_share
    selection = ForwardSelection(
        max_features="auto" if options.max is None else options.max,
        exact_features=options.exact,
        force=forced,
        criterion=options.criterion or "auto",
        test_share=share,
        seed=options.seed,
    )
    report = selection.fit(X, data.y).report_
    if options.json:
        print(json.dumps({"data": data.name, "target": data.target, "notes": notes, **report.to_dict()}, indent=2))
    else:
        print(f"{data.name}: {len(X)} rows, {X.shape[1]} features, target {data.target!r} ({data.source})")
        for text in notes:
            print(f"note: {text}")
        print(report)
    return 0


def _compare(options: argparse.Namespace) -> int:
    from pandas.api.types import is_numeric_dtype

    from .analysis.comparison import compare

    data = _load(options.data, options.target)
    X, notes = data.X, list(data.notes)
    text = [name for name in X.columns if not is_numeric_dtype(X[name])]
    if text and set(options.models) - {"categorical", "mixed"}:
        X = X.drop(columns=text)
        if not len(X.columns):
            raise TableError("no column holds numbers, which all models but categorical and mixed need.")
        notes.append(f"columns that are not numbers were left out: {', '.join(map(repr, text))}.")
    found = compare({name: choose_model(X, name) for name in options.models}, X, data.y)
    if options.json:
        print(json.dumps({"data": data.name, "target": data.target, **found.to_dict(notes)}, indent=2))
    else:
        print(f"{data.name}: {len(X)} rows, {X.shape[1]} features, target {data.target!r} ({data.source})")
        for line in notes:
            print(f"note: {line}")
        print(found)
    return 0


def _categories(X: "pd.DataFrame", bins: int) -> tuple["pd.DataFrame", str]:
    """The table as categories, and a note on the columns that were cut into bins."""
    from pandas.api.types import is_numeric_dtype

    from .analysis.binning import EqualWidthBinner

    numbers = [name for name in X.columns if is_numeric_dtype(X[name])]
    cut = [name for name in numbers if X[name].nunique() > bins]
    table = X.assign(**{name: X[name].astype("string").astype(object) for name in numbers if name not in cut})
    if not cut:
        return table, ""
    codes = EqualWidthBinner(bins).set_output(transform="pandas").fit_transform(X[cut])
    return table.assign(**codes), f"cut into at most {bins} bins: {', '.join(map(repr, cut))}."


def _load(name: str, target: str | None) -> Dataset:
    if name in NAMES:
        data = load(name)
        if target not in (None, data.target):
            raise TableError(f"the target of {name} is {data.target!r}, not {target!r}; leave --target out.")
        return data
    if target is None:
        raise TableError(f"{name!r} is not one of {', '.join(NAMES)}; for a file, name its --target column.")
    return read_table(name, target)


def choose_model(X: "pd.DataFrame", model: str) -> tuple[Any, "pd.DataFrame"]:
    """Estimator for a table, and the table as it takes it.

    "auto": yes/no variant if every cell is 0 or 1, Gaussian if all columns are numbers, categorical if none is, else
    each kind of column with its own.

    Raises
    ------
    TableError
        if a model for numbers was asked for and a column holds text
    """
    from pandas.api.types import is_numeric_dtype

    import bayesnb

    text = [name for name in X.columns if not is_numeric_dtype(X[name])]
    if model == "auto":
        if text:
            model = "categorical" if len(text) == X.shape[1] else "mixed"
        else:
            model = "bernoulli" if X.isin([0, 1]).where(X.notna(), True).all(axis=None) else "gaussian"
    elif text and model not in ("categorical", "mixed"):
        column = text[0]
        value = X[column].dropna().iloc[0]
        raise TableError(f"column {column!r} holds text such as {value!r}; --model {model} needs numbers.")
    estimators = {
        "bernoulli": bayesnb.BernoulliNB(binarize=None),
        "categorical": bayesnb.CategoricalNB(),
        "complement": bayesnb.ComplementNB(),
        "exponential": bayesnb.ExponentialNB(),
        "gaussian": bayesnb.GaussianNB(),
        "gaussian-da": bayesnb.GaussianDA(),
        "geometric": bayesnb.GeometricNB(),
        "kernel": bayesnb.KernelNB(),
        "mixed": bayesnb.MixedNB(),
        "multinomial": bayesnb.MultinomialNB(),
        "poisson": bayesnb.PoissonNB(),
        "pooled": bayesnb.GaussianNB(variance="pooled"),
        "shared-da": bayesnb.GaussianDA(covariance="shared"),
    }
    return estimators[model], X if model in ("categorical", "mixed") else X.astype(float)


def _models(text: str) -> list[str]:
    names = list(dict.fromkeys(text.split(",")))
    for name in names:
        if name not in MODELS[1:]:
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


if __name__ == "__main__":
    sys.exit(main())
