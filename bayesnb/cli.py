"""The command `bayesnb`: exit code 0 for a pass, 1 for a check that fails, 2 for an error, 130 for an interrupt.

An error is one line on standard error. The docstrings of the commands are what `--help` prints. Each command imports
what it needs when it runs, so that `--help` loads nothing but this file.
"""

import argparse
import ast
import contextlib
import inspect
import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from . import __version__
from .tables.names import DATA_SETS, DATE, MODEL_KINDS, ROLES, did_you_mean, shorten

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from .choice import PredictorChoice
    from .tables.columns import ColumnContract
    from .tables.datasets import Dataset
    from .tables.labelled import LabelledTable

VARIANTS = tuple(
    "bernoulli categorical complement exponential gaussian gaussian-da geometric kernel mixed multinomial poisson "
    "pooled shared-da".split()
)
"""Models by their names in `--model`: those of `variants` of the estimators."""

MIXED = tuple(f"mixed:{name}" for name in ("gaussian-da", "kernel", "pooled", "shared-da"))
"""A variant for the columns of numbers of a table that has others, too."""

SHARP = "discriminative"
MODELS = ("auto", *VARIANTS)
_COMPARED_ROWS = 200  # that say whether two models are the same
_MODEL_NAMES = (*VARIANTS, *MIXED, *MODEL_KINDS)
_MAX_CHOSEN_CELLS = 20_000_000  # rows × columns; above, `auto` fits the plain model batch by batch
_KERNEL_ROWS = 20_000  # beyond, `compare` tries kernel densities only if asked: their time grows with its square
_SHOWN_COLUMNS = 100  # columns that `describe` prints; other commands print
_ANNOUNCED_COLUMNS = 12
_SHOWN_CAUTIONS = 20
_SHOWN_CLASSES = 12
_SHOWN_LETTERS = 300  # of a model with its parameters
_TABLE_ENDINGS = (".csv", ".tsv", ".gz", ".bz2", ".xz", ".zst", ".zip", ".parquet", ".pq", ".xlsx")
_WRITES = {"fit": ".safetensors", "report": ".html", "predict": ".csv"}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code; without arguments it takes those of the process.

    0 is a pass, 1 a check that fails or an output that nobody reads any more, 2 an error, and 130 an interrupt by the
    user. An error is printed as one line on standard error, without a traceback.
    """
    # The inner `try` writes out what is in the buffer of the output, whatever happened: only then a closed pipe is
    # noticed, and the outer `try` catches that, too.
    try:
        try:
            # A letter that the terminal does not have is written as an escape. A stream that a test or a notebook has
            # put in place may lack `reconfigure`; then `dict` is called in its stead, which does nothing.
            for stream in (sys.stdout, sys.stderr):
                getattr(stream, "reconfigure", dict)(errors="backslashreplace")
            options = make_parser().parse_args(arguments)
            _check_output(options)
            with _progress_as_wished(options.quiet):
                return options.run(options) or 0  # a command returns None or an exit code
        finally:
            sys.stdout.flush()
    except KeyboardInterrupt:
        text, code = "interrupted", 130
    except BrokenPipeError:
        # The reader of the output, such as `head`, has closed it. Python writes out the rest of the buffer when it
        # ends, and would complain: the output is led to the null device, which takes everything.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except (ValueError, OSError, MemoryError) as error:  # what the input or the machine is to blame for
        text, code = str(error) or "there is not enough memory; use fewer rows or columns.", 2
    except Exception as error:  # a mistake in this package; with BAYESNB_DEBUG set the traceback is shown
        if os.environ.get("BAYESNB_DEBUG"):
            raise
        defect = "this is a defect of bayesnb. Please report it, with the output under BAYESNB_DEBUG=1."
        text, code = f"unexpected {type(error).__name__}: {error} - {defect}", 2
    # one line of at most 1,000 letters, whatever line breaks the message has
    print(f"bayesnb: {shorten(' '.join(text.split()), 1000)}", file=sys.stderr)
    return code


@contextlib.contextmanager
def _progress_as_wished(is_quiet: bool) -> Iterator[None]:
    """Without lines about work in progress if the user wants none; for `with`, around the work."""
    if not is_quiet:  # nothing is imported for `--help`
        yield
        return
    from .numerics.progress import quiet

    with quiet():
        yield


# --- the parser -----------------------------------------------------------------------------------------------------


def _roles(text: str) -> list[tuple[str, ...]]:
    """NAME=ROLE,NAME=ROLE as pairs (name, role), such as [("age", "numbers")]; a name may contain "=" itself."""
    return [part.rpartition("=")[::2] for part in text.split(",")]


def _setting(text: str) -> list[tuple[str, Any]]:
    """NAME=VALUE as a list of one pair: the value as Python writes it, such as 0.5 or True, or else as text.

    `literal_eval` reads numbers, strings and lists, and runs nothing.
    """
    name, _, value = text.partition("=")
    try:
        return [(name, ast.literal_eval(value))]
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return [(name, value)]


def _two_costs(text: str) -> tuple[float, float]:
    """FP,FN as two numbers; an error of the parser for anything else."""
    numbers = text.split(",")
    if len(numbers) != 2:
        raise argparse.ArgumentTypeError(f"{text!r} is not two costs, such as 1,5")
    return float(numbers[0]), float(numbers[1])


_LABELLED = "describe check select compare fit report"
_FLAG = {"action": "store_true"}
_LIST: dict[str, Any] = {"action": "extend", "default": [], "type": lambda text: text.split(",")}
_COLUMN = {"metavar": "COLUMN"}
_MODEL = {"choices": ("auto", *_MODEL_NAMES), "default": "auto", "metavar": "VARIANT"}
_OPTIONS: list[tuple[str, str, dict[str, Any], str]] = [  # commands, name, settings, help
    ("predict", "fitted", {"metavar": "MODEL"}, "file that `bayesnb fit` or `save` of an estimator wrote"),
    (
        f"{_LABELLED} predict",
        "data",
        {"metavar": "NAME|FILE"},
        f"{', '.join(DATA_SETS)}, or a CSV, TSV, Parquet or Excel file",
    ),
    (_LABELLED, "--target", _COLUMN, "column with the class labels; required for a file"),
    (_LABELLED, "--drop", {"metavar": "COLUMNS", **_LIST}, "columns to leave out, separated by commas"),
    (
        _LABELLED,
        "--columns",
        {"metavar": "NAME=ROLE,…", **_LIST, "type": _roles},
        f"roles: {', '.join((*ROLES, DATE))}",
    ),
    (_LABELLED, "--counts", _COLUMN, "column of whole numbers that say how many rows a row stands for"),
    (_LABELLED, "--weight", _COLUMN, "column with the importance of each row"),
    (
        "compare fit report",
        "--groups",
        _COLUMN,
        "column whose equal cells name rows that belong together, such as those of one person; it is no feature",
    ),
    ("", "--decimal", {"metavar": "CHAR"}, "decimal separator of numbers, such as ,"),
    ("", "--thousands", {"metavar": "CHAR"}, "separator of thousands, such as ."),
    ("", "--encoding", {"metavar": "NAME"}, "encoding of a text file, such as cp1252 (default: UTF-8)"),
    ("", "--sep", {"metavar": "CHAR"}, "separator of the cells, such as ; or tab"),
    (
        "fit report",
        "--model",
        _MODEL,
        f"{', '.join(_MODEL_NAMES)} (default auto: the best of {', '.join(MODEL_KINDS)} by leave-one-out)",
    ),
    ("check", "--model", _MODEL, f"{', '.join(_MODEL_NAMES)} (default auto: plain)"),
    ("check fit report", "--calibrate", _FLAG, "calibrate the class probabilities by exact leave-one-out"),
    ("check select", "--seed", {"type": int, "default": 0}, "seed of the split and of all draws (default 0)"),
    ("check", "--verbose", _FLAG, "print the figure, the threshold and the reason of every row"),
    ("select", "--bins", {"type": int, "default": 10}, "number of bins of a numeric column (default 10)"),
    ("select", "--max", {"type": int}, "largest number of added features (default: by the number of features)"),
    ("select", "--force", {"metavar": "COLUMNS", **_LIST}, "features that are in every set; may be repeated"),
    ("compare", "--models", {"type": _LIST["type"]}, f"of {', '.join(_MODEL_NAMES)} (default: all that differ)"),
    ("fit", "--set", {"metavar": "NAME=VALUE", **_LIST, "type": _setting}, "a parameter, such as alpha=0.5"),
    ("fit", "--output", {"metavar": "MODEL", "required": True}, "the file for the fitted model"),
    ("report", "--output", {"metavar": "PAGE", "required": True}, "the HTML file to write"),
    ("predict", "--output", {"metavar": "FILE"}, "CSV file to write (default: standard output)"),
    ("predict", "--id", _COLUMN, "column to print first, unchanged"),
    ("report", "--id", _COLUMN, "column that names the rows; it is no feature"),
    ("report", "--test", {"metavar": "FILE"}, "file of rows with labels that the model has not seen, to judge it on"),
    ("report", "--positive", {"metavar": "LABEL"}, "the positive class (default: the second of two)"),
    (
        "report",
        "--costs",
        {"metavar": "FP,FN", "type": _two_costs, "default": (1.0, 1.0)},
        "costs of a false positive and of a false negative (default 1,1)",
    ),
    ("report", "--prevalence", {"type": float}, "share of positive rows where the model is used (default: the file's)"),
    ("report", "--sensitivity", {"type": float}, "adds the largest cut-off with this sensitivity on these rows"),
    ("predict", "--interval", {"type": float, "metavar": "LEVEL"}, "posterior mass of the intervals, such as 0.9"),
    ("predict", "--digits", {"type": int, "default": 6}, "significant digits of the printed numbers (default 6)"),
    ("describe check select compare", "--json", _FLAG, "print the result as JSON"),
    (f"{_LABELLED} predict", "--quiet", _FLAG, "show no progress on the terminal"),
]


def make_parser() -> argparse.ArgumentParser:
    """The parser of the whole command line. Its options have `run`, the function of this file that is the command.

    A command is a function of the same name: the first sentence of its docstring is the help in the list of commands,
    and the rest is its description.
    """
    parser = argparse.ArgumentParser(prog="bayesnb", description="Naive Bayes with the whole posterior.")
    parser.add_argument("--version", action="version", version=f"bayesnb {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for name in (*_LABELLED.split(), "predict"):
        # "Show the role of each column." becomes "show the role of each column"
        head, _, details = inspect.cleandoc(globals()[name].__doc__ or "").partition("\n\n")
        description = f"{' '.join(details.split())} The exit code is 2 if the input cannot be used."
        command = commands.add_parser(name, help=head[:1].lower() + head[1:-1], description=description)
        command.set_defaults(run=globals()[name])
        for used_by, option, settings, text in _OPTIONS:
            # an option is of the commands that are named, or of all if none are
            if used_by and name not in used_by.split():
                continue
            short = ["-o"] if option == "--output" else []
            command.add_argument(*short, option, help=text, **settings)
    return parser


def _check_output(options: argparse.Namespace) -> None:
    """Refuse an output that cannot be written, that damages an input, or whose name promises another format."""
    output = getattr(options, "output", None)
    if not output:  # the command prints
        return
    from .io import check_target

    check_target(output)
    # the inputs: the table, and the model where the command takes one; names of data sets are no files
    for name in {options.data, getattr(options, "fitted", options.data)} - {*DATA_SETS}:
        if _damages(output, name):
            inside = "in " if os.path.isdir(name) else ""
            raise ValueError(
                f"the output {output} is {inside}the input {name}, which it would damage; name another file"
            )
    # each command writes one format; an ending that is none of a table, such as .model, promises nothing
    command = options.run.__name__
    ending = os.path.splitext(output)[1].lower()
    if ending in _TABLE_ENDINGS and ending != _WRITES[command]:
        raise ValueError(f"--output is {output}, but {command} writes {_WRITES[command]} files; change the ending")


def _damages(output: str, name: str) -> bool:
    """Whether a new file would replace an input, or lie in a folder of it, as Arrow takes all files there for rows."""
    target = os.path.realpath(output)
    # the file itself if it exists, and the folder that it will lie in
    new_paths = [path for path in (target, os.path.dirname(target)) if os.path.exists(path)]
    return any(os.path.samefile(new, path) for new in new_paths for path in _paths_of(name))


def _paths_of(name: str) -> Iterator[str]:
    """An input, and all folders and files in it that exist."""
    if os.path.exists(name):
        yield name
    for folder, _, files in os.walk(name, followlinks=True):
        paths = [folder, *(os.path.join(folder, file) for file in files)]
        yield from filter(os.path.exists, paths)


# --- rows and models ------------------------------------------------------------------------------------------------


def _wishes(options: argparse.Namespace) -> dict[str, Any]:
    """What the user has said about the columns: those to drop, roles by name, and how numbers are written."""
    return {
        "drop": list(dict.fromkeys([*options.drop, *_columns_beside(options)])),
        "columns": dict(options.columns),
        "decimal": options.decimal,
        "thousands": options.thousands,
    }


def _columns_beside(options: argparse.Namespace) -> list[str]:
    """The columns that name rows and groups of rows, as far as there are some: they are no features."""
    names = [getattr(options, option, None) for option in ("id", "groups")]
    return [name for name in names if name is not None]


def _table(options: argparse.Namespace) -> "LabelledTable":
    """The data with their labels, and the role of each column, such as numbers or levels: the contract of the table."""
    from .tables.labelled import LabelledTable

    files = {"encoding": options.encoding, "sep": options.sep, "counts": options.counts, "weight": options.weight}
    return LabelledTable(options.data, options.target, **files, **_wishes(options))


def _load(options: argparse.Namespace, with_lines: bool = False) -> "Dataset":
    """All rows of the data, which are announced but for --json, with the lines of a text file if asked."""
    table = _table(options)
    # X, y, weights, the contract of the columns, and perhaps the line and the name of each row
    data = table.load(with_lines, getattr(options, "id", None), getattr(options, "groups", None))
    if getattr(options, "json", False):  # nothing but JSON is printed
        return data
    _announce(data, len(data.y))
    _announce_groups(options, data)
    if data.sample_weight is not None:
        print(table.described_weights(data.sample_weight), flush=True)
    return data


def _announce(table: Any, n_rows: int) -> None:
    """Say what is worked on, before the work: the rows, and the role of each column with what is notable."""
    n_features = len(table.contract.used)
    print(f"{table.name}: {n_rows} rows, {n_features} features, target {table.target!r} ({table.source})")
    notes = [f"note: {text}" for text in table.notes]
    print(table.contract.summary(most=_ANNOUNCED_COLUMNS), *notes, sep="\n", flush=True)


def _announce_groups(options: argparse.Namespace, data: "Dataset") -> None:
    """Say how many groups there are and how large, if a column of groups is named."""
    if data.groups is not None:
        from .posterior.loo import groups_in_words

        print(f"{options.groups}: {groups_in_words(data.groups, len(data.y))}, which are left out together", flush=True)


def _fitted_to(model: Any, data: "Dataset") -> Any:
    """The model, fitted to all rows."""
    from .estimators._suited import fit_settings

    return model.fit(data.X, data.y, **fit_settings(model, data.sample_weight, data.groups))


def _model(X: "pd.DataFrame", name: str, contract: "ColumnContract") -> Any:
    """A model by its name, for these columns, not fitted; "auto" is plain.

    Parameters
    ----------
    X : rows, whose columns choose the families
    name : a variant such as "gaussian", or a kind: "plain", "calibrated" or "discriminative"
    contract : the role of each column, such as numbers, counts or levels
    """
    from .estimators._by_name import choose_model

    if name == SHARP:
        from . import DiscriminativeNB

        # its parts are those of a MixedNB: (name, estimator, columns) for each family
        return DiscriminativeNB(choose_model(X, "mixed", contract).parts)
    if name == "calibrated":
        from . import CalibratedClassifierLOO

        return CalibratedClassifierLOO(choose_model(X, "auto", contract))
    return choose_model(X, "auto" if name == "plain" else name, contract)


def _estimator(options: argparse.Namespace, X: "pd.DataFrame", contract: "ColumnContract") -> Any:
    """The model that is asked for, with its parameters; "auto" is plain.

    It is not fitted. With --calibrate it is put into a `CalibratedClassifierLOO`; kinds that are calibrated already
    refuse that.

    Parameters
    ----------
    options : the parsed command line, with `model`, `calibrate` and perhaps `set`, the parameters by name
    X : rows, whose columns choose the families
    contract : the role of each column
    """
    # `fit` has --set, a list of pairs (name, value); other commands set nothing
    nb = _model(X, options.model, contract).set_params(**dict(getattr(options, "set", ())))
    if not options.calibrate:
        return nb
    if options.model in (SHARP, "calibrated"):
        raise ValueError(f"--calibrate is not for --model {options.model}, which is calibrated already; leave it out")
    from . import CalibratedClassifierLOO

    return CalibratedClassifierLOO(nb)


def _is_chosen(options: argparse.Namespace) -> bool:
    """Whether the kind of model is chosen by leave-one-out: nobody has named one, nor a parameter of one."""
    return options.model == "auto" and not options.calibrate and not getattr(options, "set", ())


def _chosen(data: "Dataset") -> "PredictorChoice":
    """The model of these rows that predicts best, which is printed beside the others."""
    from .choice import choose_predictor

    assert data.contract is not None
    # `choose_predictor` fits plain, calibrated and discriminative, and compares their leave-one-out log losses
    plain = _model(data.X, "plain", data.contract)
    with _weights_as_declared():
        choice = choose_predictor(plain, data.X, data.y, data.sample_weight, groups=data.groups, lines=data.lines)
    print(choice, flush=True)
    return choice


# --- results as data ------------------------------------------------------------------------------------------------


def _print_json(result: dict[str, Any], data: "Dataset | None" = None) -> None:
    """Print a result, and what data it is of, as JSON; numbers that JSON does not have are null."""
    import json

    about = {}  # stands before the result
    if data is not None:
        n_features = data.X.shape[1]
        about = {"data": data.name, "target": data.target, "n_rows": len(data.y), "n_features": n_features}
    print(json.dumps(_plain(about | result), ensure_ascii=False, indent=1, allow_nan=False))


def _plain(value: Any) -> Any:
    """A value of numbers, text, lists and dictionaries alone, as JSON has them.

    A data frame becomes a list of its rows, NaN and infinity become None, and all else that JSON lacks its text.
    """
    if hasattr(value, "to_dict"):
        value = value.to_dict("records")
    if isinstance(value, dict):
        return {str(name): _plain(member) for name, member in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(member) for member in value]
    if hasattr(value, "item"):  # a number of NumPy becomes one of Python
        value = value.item()
    if isinstance(value, float) and not -float("inf") < value < float("inf"):  # of NaN every comparison is false
        return None
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


# --- commands -------------------------------------------------------------------------------------------------------


def describe(options: argparse.Namespace) -> None:
    """Show the role of each column of a table, with the reason.

    Show the role of each column (numbers, counts, yes/no, levels, dropped) with the reason, the number of different
    values, the share of missing cells and an example. A mark (!) shows possible problems: numbers written as text,
    a target with many classes, and identifiers and dates, which are left out by default. The last lines name columns
    that say the same.
    """
    from .tables.describing import describe as describe_columns
    from .tables.labelled import weight_column
    from .tables.readers import errors_of, open_table

    # the column of weights, if one is named; and the table, of which only the first rows are read
    weights = weight_column(options.counts, options.weight)
    file = open_table(options.data, encoding=options.encoding, sep=options.sep)
    with errors_of(file):
        weight = None if weights is None else weights.name
        # the contract has the role of each column, with the reason, and notes about the table
        contract = describe_columns(file.first, options.target or file.target, **_wishes(options), weight=weight)
        # what the weights say, in words, such as how many rows they stand for
        described = "" if weights is None else weights.describe(weights.read(contract, file.first))
    if options.json:
        notes = [*contract.notes, *filter(None, [described])]
        _print_json({"rows_read": contract.rows, "columns": contract.to_frame().reset_index(), "notes": notes})
        return
    name = options.data if options.data in DATA_SETS else file.source  # of a workbook with the sheet
    print(f"{name}: {len(contract.columns)} columns, by the first {contract.rows} rows")
    print(contract.summary(_SHOWN_COLUMNS))
    if described:
        print(described)


def check(options: argparse.Namespace) -> int:
    """Compare the closed form with NumPyro on a data set.

    Fit one half of the rows and check all formulas against NumPyro and against each other, from Bayes' identity to
    leave-one-out and intervals. The exit code is 1 if a row of the report fails. With --counts each row is taken so
    many times. With --weight each row is taken once, as NumPyro's model has no weights; the gain from calibration is
    that of the weighted rows.
    """
    data = _load(options)
    counts = _counts(data, options.json)  # None where weights are importance
    estimator = _estimator(options, data.X, data.contract)
    # a calibrated or discriminative model has a report of its own, which is printed when it is complete
    if options.calibrate or options.model in (SHARP, "calibrated"):
        with _weights_as_declared():
            report = estimator.check(data.X, data.y, options.seed, sample_weight=counts)
        if options.json:
            _print_json(report.to_dict(), data)
        else:
            print(report.explain(options.verbose))
        return 0 if report.passed else 1

    from .check.report import heading_text, row_text
    from .numerics.progress import print_between
    from .reporting import calibration_gain

    # A plain model: each row of the report is printed as soon as it is known, between the lines of the progress.
    shown: list[Any] = []
    if not options.json:
        print_between(heading_text(options.verbose))

    def show(row: Any) -> None:
        """Print a row of the report, and remember that it was printed."""
        if not options.json:
            print_between(row_text(row, options.verbose))
        shown.append(row)

    with _weights_as_declared():
        report = estimator.check(data.X, data.y, options.seed, sample_weight=counts, on_row=show)
        gain = calibration_gain(estimator, data.X, data.y, data.sample_weight)
    # the result, with the sentence on what calibration would gain
    if options.json:
        _print_json({**report.to_dict(), "calibration": gain}, data)
        return 0 if report.passed else 1
    # what the report says beyond the rows that were printed
    print(f"\n  {gain}\n\n{report.explain(options.verbose, first=len(shown))}")
    return 0 if report.passed else 1


def _counts(data: "Dataset", as_json: bool) -> "np.ndarray | None":
    """The weights, (n,), if they count rows; None if there are none, or with a note if they are floats, importance."""
    weight = data.sample_weight
    if weight is not None and weight.dtype.kind == "f":
        # with --json standard output is the document alone
        stream = sys.stderr if as_json else sys.stdout
        print("note: the check takes each row once, as NumPyro's model has no importance weights", file=stream)
        return None
    return weight


def select(options: argparse.Namespace) -> None:
    """Select features for a categorical model by forward selection.

    Run the naive Bayes procedure of SPSS. Each step adds the feature that raises the average log-likelihood of the
    classes most to a categorical naive Bayes model. The best set of this sequence is kept. Numeric columns with
    more than BINS different values are cut into bins of equal width. All other columns are categories.
    """
    from .analysis.spss import SPSSNaiveBayes

    data = _load(options)
    # the procedure of SPSS: bins of equal width, then predictors one by one
    limit = {} if options.max is None else {"max_features": options.max}
    spss = SPSSNaiveBayes(n_bins=options.bins, force=options.force, seed=options.seed, **limit)
    with _weights_as_declared():
        report = spss.fit(data.X, data.y, data.sample_weight).report_
    if options.json:
        _print_json(report.to_dict(), data)
    else:
        print(report)


def compare(options: argparse.Namespace) -> None:
    """Compare models by evidence and exact leave-one-out.

    Fit several models to the same rows and compare them. The table has the log evidence, the Bayes factor against
    the best model, and the probability of the model. It also has `elpd`, the sum of log p(y | x) by exact leave-
    one-out (`arviz.loo` is of log p(x, y)), with the standard error of the paired difference to the best model.
    Calibrated and discriminative models have no evidence, and leave-one-out of the latter is approximate. Models that
    cannot use the columns are listed with the reason.
    """
    from .analysis.comparison import compare as compare_models
    from .numerics.progress import progress
    from .tables.readers import TableError

    data = _load(options)
    for name in options.models or ():
        if name not in _MODEL_NAMES:
            similar = did_you_mean(name, _MODEL_NAMES)
            raise ValueError(f"{name!r} is not one of {', '.join(_MODEL_NAMES)}{similar}")
    # Each model is fitted. What cannot use the columns is no error here: its name is kept under the reason.
    models: dict[str, Any] = {}
    unusable: dict[str, list[str]] = {}
    # those that were named, or all that differ on such columns
    names = options.models or _models_to_try(data.X, data.contract)
    with _weights_as_declared(), progress("fits", total=len(names), unit="models") as line:
        for name in names:
            line.begin(name)
            try:
                models[name] = _fitted_to(_model(data.X, name, data.contract), data)
            except ValueError as error:  # the table is not for this model
                # the first line of the error, in words for several models
                reason = str(error).splitlines()[0].replace(f"--model {name} needs", "they need")
                unusable.setdefault(shorten(reason, 120), []).append(name)
            line.advance()
        notes = _unusable_in_words(unusable)  # one sentence, or none
        if not models:
            raise TableError(notes[0])
        if not options.models:  # nobody asked for all of these, so that one of several equal ones will do
            notes += _drop_same(models, data.X)
        weights_and_groups = {"sample_weight": data.sample_weight, "groups": data.groups}
        comparison = compare_models(models, data.X, data.y, fitted=True, **weights_and_groups)
    comparison = replace(comparison, notes=(*comparison.notes, *notes))
    if options.json:
        _print_json({"models": comparison.table.reset_index(), "notes": comparison.notes}, data)
    else:
        print(comparison)


def _unusable_in_words(unusable: dict[str, list[str]]) -> list[str]:
    """One line about all models that cannot use a table, from their names by reason; none if there are none."""
    reasons = [f"{', '.join(names)} cannot use this table: {reason}" for reason, names in unusable.items()]
    return ["; ".join(reasons)] if reasons else []


def _drop_same(models: dict[str, Any], X: "pd.DataFrame") -> list[str]:
    """Drop each model that predicts as an earlier one does and has its evidence; a line about each."""
    import numpy as np

    tables: dict[str, np.ndarray] = {}  # the numbers of each model that stays
    notes = []
    # a list of the models, since some are dropped inside of the loop
    for name, nb in list(models.items()):
        # its log probabilities of the first rows, with its evidence: equal numbers mean an equal model
        log_p = nb.predict_log_proba(X.iloc[:_COMPARED_ROWS])
        table = np.append(log_p.ravel(), getattr(nb, "log_evidence_", 0.0))
        same = [other for other, of_other in tables.items() if np.allclose(table, of_other, rtol=1e-9, atol=1e-12)]
        if same:
            notes.append(f"{name} is the same model as {same[0]} here")
            del models[name]
        else:
            tables[name] = table
    return notes


def _models_to_try(X: "pd.DataFrame", contract: "ColumnContract") -> list[str]:
    """All models that differ, but no levels of real numbers, and no kernel densities of very many rows.

    Parameters
    ----------
    contract : the role of each column, such as numbers, counts or levels
    """
    # a column of numbers with more than 20 different values is taken for measurements
    numbers = X.select_dtypes(["number", "bool"])
    is_mixed = 0 < numbers.shape[1] < X.shape[1]
    is_of_one_kind = len({column.role for column in contract.used}) == 1
    has_real_numbers = (numbers.nunique() > 20).any()
    # mixed variants are tried where there are columns of numbers and others
    names = []
    for name in (*VARIANTS, *(MIXED if is_mixed else ()), *MODEL_KINDS[1:]):  # plain is one of the variants
        if name == "mixed" and is_of_one_kind:  # it is the variant of that kind
            continue
        if name == "categorical" and has_real_numbers:  # each number would be a level of its own
            continue
        if name.endswith("kernel") and len(X) > _KERNEL_ROWS:
            continue
        names.append(name)
    return names


def fit(options: argparse.Namespace) -> None:
    """Fit a model and save it.

    Fit a model to all rows and save it as a safetensors file. `bayesnb predict` and bayesnb.load read this file.
    By default plain naive Bayes, the same calibrated, and a discriminative model are fitted. Their leave-one-out log
    losses are printed beside that of class frequencies, and the best is saved. Plain is saved if it is within 0.01 nats
    a row of the best and not above class frequencies, from 100 rows on. With --set, or more than 20 million cells,
    plain is saved.
    """
    table = _table(options)
    estimator, weights = _fitted_model(options, table)
    # The naive Bayes model inside holds the roles of the columns, so that `predict` reads new rows in the same way. A
    # calibrated model has it as `estimator_`, a discriminative one as `reader_`; plain is it itself.
    nb = getattr(estimator, "estimator_", getattr(estimator, "reader_", estimator))
    nb.contract_ = table.contract
    estimator.save(options.output)
    # what was fitted: the model with its parameters, and how many rows each class has, of many classes the first
    counted = [f"{n:.15g} {str(label)!r}" for label, n in zip(nb.classes_, nb.class_count_, strict=True)]
    more = " …" if len(counted) > _SHOWN_CLASSES else ""
    model = shorten(" ".join(repr(estimator).split()), _SHOWN_LETTERS)
    print(f"{model}, rows a class: {', '.join(counted[:_SHOWN_CLASSES])}{more}")
    if weights is not None:
        print(table.described_weights(weights))
    print(
        f"saved as {options.output}",
        *(f"! {text}" for text in table.contract.first_cautions(_SHOWN_CAUTIONS)),
        sep="\n",
    )


class _FittedModel(NamedTuple):
    """A model that is fitted to all rows of a table, and their weights, (n,), None if there are none."""

    estimator: Any
    weights: "np.ndarray | None"


def _fitted_model(options: argparse.Namespace, table: "LabelledTable") -> _FittedModel:
    """The model that is asked for, or the one that predicts best, fitted to all rows.

    A plain model needs one batch of rows in memory at a time. A choice among models, and calibrated and discriminative
    ones, need all rows at once.
    """
    # the first batch shows what columns there are
    estimator = _estimator(options, next(iter(table.batches())).X, table.contract)
    _announce(table, table.n_labelled)  # what is worked on, before the work

    # nobody has named a model: the kind is chosen by leave-one-out, unless there are too many cells to hold at once
    is_chosen = _is_chosen(options)
    if is_chosen and table.n_labelled * len(table.contract.used) > _MAX_CHOSEN_CELLS:
        print("note: a large table: plain is fitted, batch by batch; --model discriminative holds all rows at once")
        is_chosen = False
    if is_chosen:
        data = table.load(with_lines=True, group_column=options.groups)
        _announce_groups(options, data)
        return _FittedModel(_chosen(data).estimator, data.sample_weight)
    # a calibrated or discriminative model, or one by name, as it was asked for
    with _weights_as_declared():
        if options.calibrate or options.model in (SHARP, "calibrated"):
            data = table.load(group_column=options.groups)
            return _FittedModel(_fitted_to(estimator, data), data.sample_weight)
        return _FittedModel(estimator, _fit_in_batches(estimator, table))


def _fit_in_batches(estimator: Any, table: "LabelledTable") -> "np.ndarray | None":
    """Fit the estimator to all rows, batch by batch, and return their weights, (n,), or None if there are none."""
    import numpy as np

    from .streaming import fit_batches

    weights: list[np.ndarray] = []  # of each batch that has some

    def batches() -> Iterator[Any]:
        """The batches (X, y, weight) of the table, read anew at each call; keeps their weights."""
        for batch in table.batches():
            if batch.weight is not None:
                weights.append(batch.weight)
            yield tuple(batch)

    # the labels are known beforehand, so that the table is read once for the fit
    fit_batches(estimator, batches, classes=table.labels)
    return np.concatenate(weights) if weights else None


@contextlib.contextmanager
def _weights_as_declared() -> Iterator[None]:
    """Without the warning that asks whether weights count rows: --counts and --weight say it. For `with`."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="`sample_weight` has a")
        yield


def report(options: argparse.Namespace) -> None:
    """Write a page about a model and its rows.

    Fit a model to all rows, chosen as `fit` does, and write one page of HTML. It shows columns, classes, leave-one-out,
    ROC and precision-recall curves, cut-offs, calibration, what each number adds, explained rows and other models. With
    --test it also says how well the model predicts rows that it has not seen. The page needs no network.
    """
    import numpy as np

    from .reporting import report as make_report

    data = _load(options, with_lines=True)
    label_of = {str(label): label for label in np.unique(data.y).tolist()}
    if options.positive is not None and options.positive not in label_of:
        raise ValueError(f"--positive is {options.positive!r}; the classes are {', '.join(label_of)}")
    # read before the fit, so that an error in this file comes at once
    test = None if options.test is None else _labelled_rows(options, data, label_of)
    # Without --model the kind of model is chosen by leave-one-out, and fitted. A model that was named is fitted by the
    # report itself.
    choice = _chosen(data) if _is_chosen(options) else None
    estimator = choice.estimator if choice else _estimator(options, data.X, data.contract)
    about: dict[str, Any] = {
        "title": f"{data.name}: {data.target}",
        "contract": data.contract,
        "lines": data.lines,
        "ids": None if data.ids is None else [f"{options.id} {value}" for value in data.ids],
        "sample_weight": data.sample_weight,
        "groups": data.groups,
        "n_copies": data.n_copies,
        "choice": choice,
        "test": test,
        "positive": None if options.positive is None else label_of[options.positive],
        "false_positive": options.costs[0],
        "false_negative": options.costs[1],
        "prevalence": options.prevalence,
        "sensitivity": options.sensitivity,
    }
    with _weights_as_declared():
        page = make_report(estimator, data.X, data.y, **about)
    page.save(options.output)
    print(f"leave-one-out accuracy {page.accuracy:.4f}, log loss {page.log_loss:.4f}\nsaved as {options.output}")


def _labelled_rows(
    options: argparse.Namespace, data: "Dataset", label_of: dict[str, Any]
) -> "tuple[pd.DataFrame, np.ndarray]":
    """Features and labels of the rows of --test, read as the training table was; differences are printed.

    Parameters
    ----------
    data : the training table, with its contract
    label_of : each label by its text
    """
    import numpy as np
    import pandas as pd

    from .tables.readers import TableError, errors_of, open_table

    contract = data.contract
    assert contract is not None
    file = open_table(options.test, encoding=options.encoding, sep=options.sep)
    if data.target not in file.names:
        similar = did_you_mean(data.target, file.names) or "."
        raise TableError(f"{options.test} has no column {data.target!r}, the target{similar}")
    with errors_of(file, "predict"):
        names = [column.name for column in contract.used] + [data.target]
        table = pd.concat(file.pieces(contract.plain, names), ignore_index=True)
        table = table[table[data.target].notna()].reset_index(drop=True)
        X = contract.apply(table)
        notes = contract.differences(table.drop(columns=data.target))
    texts = [str(cell) for cell in table[data.target].tolist()]
    unknown = sorted({text for text in texts if text not in label_of})
    if unknown or not texts:
        problem = f"labels that no training row has: {', '.join(unknown[:5])}" if unknown else "no row with a label"
        raise TableError(f"{options.test} has {problem}; the classes are {', '.join(label_of)}")
    for note in notes:
        print(f"note: {options.test}: {note}", file=sys.stderr)
    return X, np.array([label_of[text] for text in texts], data.y.dtype)


# --- predictions ----------------------------------------------------------------------------------------------------


def predict(options: argparse.Namespace) -> None:
    """Predict the classes of new rows with a saved model.

    Print a CSV table with one line for each row: the class `predicted`, its `probability`, and the probability
    p(CLASS) of every class. --interval adds the posterior `mean` of each class probability, and the ends `low` and
    `high` of its credible interval. `probability` and p(CLASS) are the Bayes predictive: it first averages the joint
    probability over the parameters and then normalises, so it also learns from the new row. `mean` averages the
    normalised probabilities. The interval belongs to `mean`, so `probability` may lie outside. `mean` itself lies above
    `high` or below `low` only where few parameters carry it, and by (1 − LEVEL)/2 at most. If a number of a row is
    beyond the training range by more than the length of that range, `mean`, `low` and `high` are empty, and `note`
    names the column; this needs a model that `bayesnb fit` wrote. Columns are found by name, in any order; further
    columns, such as the target, are ignored.
    Differences from the training table are printed on standard error.
    """
    import pandas as pd

    from .estimators._by_name import contract_of
    from .io import load, replace_file
    from .tables.readers import TableError, errors_of, open_table

    if options.digits < 1:
        raise ValueError(f"--digits is {options.digits}; it needs to be 1 or more")
    # The saved model, and its contract: the roles of the columns in training. Only columns of it are read, and the one
    # for --id.
    model = load(options.fitted)
    contract = contract_of(model, options.decimal, options.thousands)
    file = open_table(options.data, encoding=options.encoding, sep=options.sep)
    names = [name for name in file.names if name != file.target]  # a data set has its labels beside the rows
    with errors_of(file, "predict"):
        table = pd.concat(file.pieces(contract.plain - {options.id}, names), ignore_index=True)
    if options.id is not None and options.id not in table.columns:
        similar = did_you_mean(options.id, table.columns) or "."
        raise TableError(
            f"{options.data} has no column {options.id!r} for --id; it has {', '.join(table.columns)}{similar}"
        )
    # the rows as the model reads them, and how they differ from the training table, in words
    with errors_of(file, "predict"):
        X = contract.apply(table)
        notes = contract.differences(table)
    with warnings.catch_warnings(record=True) as raised:  # collected, to be printed as notes below
        warnings.simplefilter("always", UserWarning)
        predictions = pd.DataFrame(_predictions(model, X, options.interval, contract))
    if options.id in predictions:
        raise TableError(f"--id is {options.id!r}, also a column of the predictions; rename it in {options.data}")
    warned = [f"{str(warning.message).rstrip('.')}." for warning in raised]
    if options.interval is not None:
        warned.append(getattr(model, "interval_coverage", ""))
    for text in filter(None, dict.fromkeys([*notes, *warned])):  # each note once, without empty ones
        print(f"note: {text}", file=sys.stderr)
    # numbers become text, and the column for --id comes first, unchanged
    predictions = _with_digits(predictions, options.digits)
    if options.id is not None:
        predictions.insert(0, options.id, table[options.id].to_numpy())
    csv = predictions.to_csv(index=False, lineterminator="\n")
    if options.output is not None:
        replace_file(options.output, csv.encode())
        return
    getattr(sys.stdout, "reconfigure", dict)(encoding="utf-8")  # as in a file: labels as they stood in the data
    print(csv, end="")


def _with_digits(predictions: "pd.DataFrame", digits: int) -> "pd.DataFrame":
    """The numbers as text with so many significant digits; a missing one as an empty cell.

    The first column has the predicted labels, which stay as they are even if they are numbers.
    """
    shown = predictions.copy()
    for name in predictions.columns[1:]:
        if predictions[name].dtype.kind == "f":
            # NaN is the only number that differs from itself
            shown[name] = ["" if value != value else f"{value:.{digits}g}" for value in predictions[name]]
    return shown


def _predictions(
    model: Any, X: "pd.DataFrame", level: float | None, contract: "ColumnContract"
) -> "dict[str, np.ndarray]":
    """The columns that `predict` prints, (n,) by name, of rows as the model takes them.

    - `predicted`, the label, and `probability`, its class probability
    - p(c) of each class c
    - with a level also `mean`, `low` and `high`: of the predicted label, and as mean(c), low(c), high(c) of each class
    - with a level also `note`, in words, where a number is far from the training rows; then those three are NaN
    """
    import numpy as np

    from .posterior.intervals import posterior_means

    p = model.predict_proba(X)
    label = model.predict(X)
    tables = {"p": p}  # (n, c) each, by the name of the columns
    notes = {}
    if level is not None:
        note = np.array(contract.far_columns(X), object)  # (n,) text, empty where no number is far away
        mean = posterior_means(model, X)
        ends = model.predict_interval(X, level)  # (n, c, 2): lower and upper end
        for name, values in (("mean", mean), ("low", ends[..., 0]), ("high", ends[..., 1])):
            tables[name] = np.where((note == "")[:, None], values, np.nan)
        notes["note"] = note
    # the column of each row's own label in the tables, found by a search among the sorted classes: [i, place_i]
    place = np.searchsorted(model.classes_, label)
    columns = {"predicted": label}  # then the numbers of the predicted label, then those of every class
    for name, values in tables.items():
        columns["probability" if name == "p" else name] = values[np.arange(len(p)), place]
    for k, class_label in enumerate(model.classes_):
        for name, values in tables.items():
            columns[f"{name}({class_label})"] = values[:, k]
    return columns | notes
