"""The command `bayesnb`: exit code 0 for a pass, 1 for a check that fails, 2 for an error, 130 for an interrupt.

An error is one line on standard error. The docstrings of the commands are what `--help` prints.
"""

import argparse
import ast
import inspect
import itertools
import os
import sys
import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from . import __version__, io
from .columns import ROLES, ColumnContract, shorten
from .datasets import NAMES, Dataset, LabelledTable, TableError, naming, open_table
from .describing import describe as describe_columns
from .estimators._by_name import MIXED, choose_model, contract_of, variants

MODELS, SHARP = ("auto", *sorted(variants())), "discriminative"
_TABLES = (".csv", ".tsv", ".gz", ".bz2", ".xz", ".zst", ".zip", ".parquet", ".pq", ".xlsx")
_WRITES = {"fit": ".safetensors", "report": ".html", "predict": ".csv"}
_KERNEL_ROWS = 20_000  # beyond, `compare` tries kernel densities only if asked: their time grows with its square


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code; without arguments it takes those of the process."""
    try:
        try:
            for stream in (sys.stdout, sys.stderr):  # a letter that the terminal does not have is written as an escape
                getattr(stream, "reconfigure", dict)(errors="backslashreplace")
            options = make_parser().parse_args(arguments)
            _check_output(options)
            return options.run(options) or 0
        finally:
            sys.stdout.flush()
    except KeyboardInterrupt:
        text, code = "interrupted", 130
    except BrokenPipeError:  # the reader of the output has closed it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except (ValueError, OSError, MemoryError) as error:
        text, code = str(error) or "there is not enough memory; use fewer rows or columns.", 2
    except Exception as error:
        if os.environ.get("BAYESNB_DEBUG"):
            raise
        defect = "this is a defect of bayesnb. Please report it, with the output under BAYESNB_DEBUG=1."
        text, code = f"unexpected {type(error).__name__}: {error} - {defect}", 2
    print(f"bayesnb: {shorten(' '.join(text.split()), 1000)}", file=sys.stderr)
    return code


def _check_output(options: argparse.Namespace) -> None:
    """Refuse an output that cannot be written, that damages an input, or whose name promises another format."""
    if output := getattr(options, "output", None):
        io.check_target(output)
        target = os.path.realpath(output)
        for name in {options.data, getattr(options, "fitted", options.data)} - {*NAMES}:
            tree = os.walk(name, followlinks=True)  # as Arrow reads a folder: a new file in it would be taken for rows
            paths = [name, *(os.path.join(folder, file) for folder, _, files in tree for file in ("", *files))]
            pairs = itertools.product((target, os.path.dirname(target)), paths)
            if any(os.path.samefile(*pair) for pair in pairs if all(map(os.path.exists, pair))):
                what = f"{'in ' * os.path.isdir(name)}the input {name}"
                raise ValueError(f"the output {output} is {what}, which it would damage; name another file")
        command, ending = options.run.__name__, os.path.splitext(output)[1].lower()
        if ending in _TABLES and ending != _WRITES[command]:
            raise ValueError(f"--output is {output}, but {command} writes {_WRITES[command]} files; change the ending")


def _roles(text: str) -> list[tuple[str, ...]]:
    return [part.rpartition("=")[::2] for part in text.split(",")]


def _setting(text: str) -> list[tuple[str, Any]]:
    """NAME=VALUE, the value as Python writes it, or else as text."""
    name, _, value = text.partition("=")
    try:
        return [(name, ast.literal_eval(value))]
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return [(name, value)]


_LABELLED, _FLAG = "describe check select compare fit report", {"action": "store_true"}
_LIST: dict[str, Any] = {"action": "extend", "default": [], "type": lambda text: text.split(",")}
_NAMES = (*MODELS[1:], *MIXED, SHARP)
_WHICH = {"choices": ("auto", *_NAMES), "default": "auto", "metavar": "VARIANT"}
_OPTIONS: list[tuple[str, str, dict[str, Any], str]] = [  # commands, name, settings, help
    ("predict", "fitted", {"metavar": "MODEL"}, "file that `bayesnb fit` or `save` of an estimator wrote"),
    (f"{_LABELLED} predict", "data", {"metavar": "NAME|FILE"}, f"{', '.join(NAMES)}, or a CSV, TSV or Parquet file"),
    (_LABELLED, "--target", {"metavar": "COLUMN"}, "column with the class labels; required for a file"),
    (_LABELLED, "--drop", {"metavar": "COLUMNS", **_LIST}, "columns to leave out, separated by commas"),
    (_LABELLED, "--columns", {"metavar": "NAME=ROLE,…", **_LIST, "type": _roles}, f"roles: {', '.join(ROLES)}"),
    ("", "--decimal", {"metavar": "CHAR"}, "decimal separator of numbers, such as ,"),
    ("", "--thousands", {"metavar": "CHAR"}, "separator of thousands, such as ."),
    ("", "--encoding", {"metavar": "NAME"}, "encoding of a text file, such as cp1252 (default: UTF-8)"),
    ("", "--sep", {"metavar": "CHAR"}, "separator of the cells, such as ; or tab"),
    ("check fit report", "--model", _WHICH, f"{', '.join(_NAMES)} (default: by the columns)"),
    ("check fit report", "--calibrate", _FLAG, "calibrate the class probabilities by exact leave-one-out"),
    ("check select", "--seed", {"type": int, "default": 0}, "seed of the split and of all draws (default 0)"),
    ("check", "--verbose", _FLAG, "print the figure, the threshold and the reason of every row"),
    ("select", "--bins", {"type": int, "default": 10}, "number of bins of a numeric column (default 10)"),
    ("select", "--max", {"type": int}, "largest number of added features (default: by the number of features)"),
    ("select", "--force", {"metavar": "COLUMNS", **_LIST}, "features that are in every set; may be repeated"),
    ("compare", "--models", {"type": _LIST["type"]}, f"of {', '.join(_NAMES)} (default: all but the last)"),
    ("fit", "--set", {"metavar": "NAME=VALUE", **_LIST, "type": _setting}, "a parameter, such as alpha=0.5"),
    ("fit", "--output", {"metavar": "MODEL", "required": True}, "the file for the fitted model"),
    ("report", "--output", {"metavar": "PAGE", "required": True}, "the HTML file to write"),
    ("predict", "--output", {"metavar": "FILE"}, "CSV file to write (default: standard output)"),
    ("predict", "--id", {"metavar": "COLUMN"}, "column to print first, unchanged"),
    ("predict", "--interval", {"type": float, "metavar": "LEVEL"}, "posterior mass of the intervals, such as 0.9"),
]


def make_parser() -> argparse.ArgumentParser:
    """The parser of the whole command line; `run` of what it returns is the command."""
    parser = argparse.ArgumentParser(prog="bayesnb", description="Naive Bayes with the whole posterior.")
    parser.add_argument("--version", action="version", version=f"bayesnb {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for name in (*_LABELLED.split(), "predict"):
        head, _, text = inspect.cleandoc(globals()[name].__doc__ or "").partition("\n\n")
        description = f"{' '.join(text.split())} The exit code is 2 if the input cannot be used."
        command = commands.add_parser(name, help=head[:1].lower() + head[1:-1], description=description)
        command.set_defaults(run=globals()[name])
        for used, option, settings, text in _OPTIONS:
            if not used or name in used.split():
                short = ["-o"] if option == "--output" else []
                command.add_argument(*short, option, help=text, **settings)
    return parser


def _wishes(options: argparse.Namespace) -> dict[str, Any]:
    """What the user has said about the columns."""
    about = {"drop": options.drop, "columns": dict(options.columns)}
    return about | {"decimal": options.decimal, "thousands": options.thousands}


def _table(options: argparse.Namespace) -> LabelledTable:
    """The data with their labels, under the column contract."""
    return LabelledTable(options.data, options.target, encoding=options.encoding, sep=options.sep, **_wishes(options))


def _load(options: argparse.Namespace, lines: bool = False) -> Dataset:
    """All rows of the data, which are announced, with the lines of a text file if asked."""
    data = _table(options).load(lines)
    _announce(data, len(data.y))
    return data


def _model(X: pd.DataFrame, name: str, contract: ColumnContract) -> Any:
    if name != SHARP:
        return choose_model(X, name, contract)
    from .discriminative.model import DiscriminativeNB

    return DiscriminativeNB(choose_model(X, "mixed", contract).parts)


def _estimator(options: argparse.Namespace, X: pd.DataFrame, contract: ColumnContract) -> Any:
    """The model that is asked for, with its parameters."""
    nb = _model(X, options.model, contract).set_params(**dict(getattr(options, "set", ())))
    if options.calibrate and options.model == SHARP:
        raise ValueError(f"--calibrate is not for --model {SHARP}, fitted to held-out predictions; leave it out")
    if options.calibrate:
        from .calibration.leave_one_out import CalibratedClassifierLOO

        nb = CalibratedClassifierLOO(nb)
    return nb


def _announce(table: Dataset | LabelledTable, rows: int) -> None:
    """Say what is worked on, before the work."""
    features, notes = len(table.contract.used), [f"note: {text}" for text in table.notes]
    print(f"{table.name}: {rows} rows, {features} features, target {table.target!r} ({table.source})")
    print(table.contract.summary(most=12), *notes, sep="\n", flush=True)


def describe(options: argparse.Namespace) -> None:
    """Show the role of each column of a table, with the reason.

    Show the role of each column (numbers, counts, yes/no, levels, dropped) with the reason, the number of different
    values, the share of missing cells and an example. A mark (!) shows possible problems: numbers written as text,
    a target with many classes, and identifiers and dates, which are left out by default.
    """
    file = open_table(options.data, encoding=options.encoding, sep=options.sep)
    with naming(file):
        contract = describe_columns(file.first, options.target or file.target, **_wishes(options))
    print(f"{options.data}: {len(contract.columns)} columns, by the first {contract.rows} rows\n{contract}")


def check(options: argparse.Namespace) -> int:
    """Compare the closed form with NumPyro on a data set.

    Fit one half of the rows and check all formulas against NumPyro and against each other, from Bayes' identity to
    leave-one-out and intervals. The exit code is 1 if a row of the report fails.
    """
    data = _load(options)
    estimator = _estimator(options, data.X, data.contract)
    report = estimator.check(data.X, data.y, options.seed)
    if not options.calibrate and options.model != SHARP:
        from .reporting import calibration_gain

        print(f"  {calibration_gain(estimator, data.X, data.y)}\n")
    print(report.explain(options.verbose))
    return 0 if report.passed else 1


def select(options: argparse.Namespace) -> None:
    """Select features for a categorical model by forward selection.

    Run the naive Bayes procedure of SPSS. Each step adds the feature that raises the average log-likelihood of the
    classes most to a categorical naive Bayes model. The best set of this sequence is kept. Numeric columns with
    more than BINS different values are cut into bins of equal width. All other columns are categories.
    """
    from .analysis.spss import SPSSNaiveBayes

    data = _load(options)
    most = {} if options.max is None else {"max_features": options.max}
    spss = SPSSNaiveBayes(n_bins=options.bins, force=options.force, seed=options.seed, **most)
    print(spss.fit(data.X, data.y).report_)


def compare(options: argparse.Namespace) -> None:
    """Compare models by evidence and exact leave-one-out.

    Fit several models to the same rows and compare them. The table has the log evidence, the Bayes factor against
    the best model, and the probability of the model. It also has `elpd`, the sum of log p(y | x) by exact leave-
    one-out (`arviz.loo` is of log p(x, y)), with the standard error of the paired difference to the best model.
    Models that cannot use the columns are listed with the reason.
    """
    from .analysis.comparison import compare as compare_models

    data, models, reasons = _load(options), dict[str, Any](), dict[str, list[str]]()
    if unknown := {*(options.models or ())} - {*_NAMES}:
        raise ValueError(f"{min(unknown)!r} is not one of {', '.join(_NAMES)}")
    for name in options.models or _models_to_try(data.X):
        try:
            models[name] = _model(data.X, name, data.contract).fit(data.X, data.y)
        except ValueError as error:  # the table is not for this model
            reason = str(error).splitlines()[0].replace(f"--model {name} needs", "they need")
            reasons.setdefault(shorten(reason, 200), []).append(name)
    unfit = [f"{', '.join(names)} cannot use this table: {why}" for why, names in reasons.items()]
    if not models:
        raise TableError("; ".join(unfit))
    outcome = compare_models(models, data.X, data.y, fitted=True)
    print(replace(outcome, notes=(*outcome.notes, *unfit)))


def _models_to_try(X: pd.DataFrame) -> list[str]:
    """All models, but no levels of real numbers, and no kernel densities of very many rows."""
    numbers = X.select_dtypes(["number", "bool"])
    names = [*MODELS[1:], *(MIXED if 0 < numbers.shape[1] < X.shape[1] else ())]
    left = {"categorical"} if (numbers.nunique() > 20).any() else set()
    left |= {name for name in names if name.endswith("kernel") and len(X) > _KERNEL_ROWS}
    return [name for name in names if name not in left]


def fit(options: argparse.Namespace) -> None:
    """Fit a model and save it.

    Fit a model to all rows and save it as a safetensors file. `bayesnb predict` and bayesnb.load read this file.
    """
    from .streaming import fit_batches

    table = _table(options)
    estimator = _estimator(options, next(iter(table.batches()))[0], table.contract)
    _announce(table, table.n_labelled)
    if options.calibrate or options.model == SHARP:
        data = table.load()
        estimator.fit(data.X, data.y)
    else:
        fit_batches(estimator, table.batches, classes=table.labels)
    nb = getattr(estimator, "estimator_", getattr(estimator, "reader_", estimator))
    nb.contract_ = table.contract
    estimator.save(options.output)
    counted = [f"{n:g} {str(label)!r}" for label, n in zip(nb.classes_, nb.class_count_, strict=True)]
    said = f"{' '.join(repr(estimator).split())}, rows a class: {', '.join(counted[:12])}{' …' * (len(counted) > 12)}"
    print(said, f"saved as {options.output}", *(f"! {text}" for text in table.contract.cautions), sep="\n")


def report(options: argparse.Namespace) -> None:
    """Write a page about a model and its rows.

    Fit a model to all rows and write one page of HTML. It shows columns, classes, exact leave-one-out, calibration,
    importance, explained rows, priors and other models. The page needs no network.
    """
    from .reporting import report as make_report

    data = _load(options, lines=True)
    estimator = _estimator(options, data.X, data.contract)
    about: Any = {"title": f"{data.name}: {data.target}", "contract": data.contract, "lines": data.lines}
    page = make_report(estimator, data.X, data.y, **about)
    page.save(options.output)
    print(f"leave-one-out accuracy {page.accuracy:.4f}, log loss {page.log_loss:.4f}\nsaved as {options.output}")


def predict(options: argparse.Namespace) -> None:
    """Predict the classes of new rows with a saved model.

    Print a CSV table with one line for each row: the class `predicted`, its `probability`, and the probability
    p(CLASS) of every class. --interval adds the posterior `mean` of each class probability, and the ends `low` and
    `high` of its credible interval. `probability` and p(CLASS) are the Bayes predictive: it first averages the joint
    probability over the parameters and then normalises. `mean` averages the normalised probabilities. The interval
    belongs to `mean`, so `probability` may lie outside. If a number of a row is beyond the training range by more than
    the length of that range, `mean`, `low` and `high` are empty, and `note` names the column; this needs a model that
    `bayesnb fit` wrote. Columns are found by name, in any order; further columns, such as the target, are ignored.
    Differences from the training table are printed on standard error.
    """
    model = io.load(options.fitted)
    contract = contract_of(model, options.decimal, options.thousands)
    file = open_table(options.data, encoding=options.encoding, sep=options.sep)
    names = [name for name in file.names if name != file.target]  # a data set has its labels beside the rows
    table = pd.concat(file.pieces(contract.plain - {options.id}, names), ignore_index=True)
    if options.id is not None and options.id not in table.columns:
        raise TableError(f"{options.data} has no column {options.id!r} for --id; it has {', '.join(table.columns)}.")
    with naming(file, ask=False):
        X, notes = contract.apply(table), contract.differences(table)
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always", UserWarning)
        found = pd.DataFrame(_predictions(model, X, options.interval, contract))
    if options.id in found:
        raise TableError(f"--id is {options.id!r}, also a column of the predictions; rename it in {options.data}")
    for text in [*notes, *dict.fromkeys(f"{str(warning.message).rstrip('.')}." for warning in warned)]:
        print(f"note: {text}", file=sys.stderr)
    if options.id is not None:
        found.insert(0, options.id, table[options.id].to_numpy())
    csv = found.to_csv(index=False, lineterminator="\n")
    if options.output is None:
        getattr(sys.stdout, "reconfigure", dict)(encoding="utf-8")  # as in a file: labels as they stood in the data
        print(csv, end="")
    else:
        io.replace_file(options.output, csv.encode())


def _predictions(model: Any, X: pd.DataFrame, level: float | None, contract: ColumnContract) -> dict[str, Any]:
    """The columns that `predict` prints of rows as the model takes them; with a level those of the intervals too."""
    p, label = model.predict_proba(X), model.predict(X)
    columns, tables, notes = {"predicted": label}, {"p": p}, {}
    if level is not None:
        from .inference.intervals import mean_probabilities

        if not hasattr(model, "posterior_") or hasattr(model, "maps_"):  # with the draws of its interval
            means = model.sample_proba(X, seed=0).mean(0)
        else:
            means = mean_probabilities(model.posterior_, model.encode(X))
        ends, note = model.predict_interval(X, level), np.array(contract.far_columns(X), object)
        for name, values in (("mean", means), ("low", ends[..., 0]), ("high", ends[..., 1])):
            tables[name] = np.where((note == "")[:, None], values, np.nan)
        notes = {"note": note}
    top = np.arange(len(p)), np.searchsorted(model.classes_, label)
    columns |= {"probability" if name == "p" else name: values[top] for name, values in tables.items()}
    each = itertools.product(enumerate(model.classes_), tables.items())
    return columns | {f"{name}({label})": values[:, k] for (k, label), (name, values) in each} | notes
