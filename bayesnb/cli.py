"""The command `bayesnb`: exit code 0 for a pass, 1 for a check that fails, 2 for input that cannot be used.

An interrupt ends it with 130, a defect of the program with 70. This module imports only what Python has loaded anyway;
the rest is imported in `main`, where an interrupt is caught.
"""

from __future__ import annotations

import os
import sys

from ._interrupted import interrupted

TYPE_CHECKING = False  # as in `typing`, which takes time to import
if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Sequence
    from typing import Any, TextIO

    import pandas as pd

    from .datasets import Dataset

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


DEFECT, INTERRUPTED = 70, 130  # exit codes
_PATIENCE = 1.0  # seconds after an interrupt before a process that goes on is ended


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code.

    Without arguments it takes those of the process. An interrupt then ends the process here, without waiting for
    threads.
    """
    interrupt = _Interrupt()
    try:
        try:
            interrupt.watch()
            code = _run(arguments)
            interrupt.over = True
        except BaseException as error:  # also what compiled code makes of an interrupt
            interrupt.over = True
            interrupt.seen = interrupt.seen or isinstance(error, KeyboardInterrupt)
            code = INTERRUPTED if interrupt.seen else _told(error)
        if interrupt.seen:
            code = INTERRUPTED
            _complain("interrupted")
            if arguments is None:
                os._exit(code)
    finally:
        interrupt.forget(to_the_end=arguments is None)
    return code


class _Interrupt:
    """Ctrl-C as an exit code.

    The handler raises KeyboardInterrupt, as Python's own does, and sets a flag: JAX swallows some of these exceptions
    (jax issue 18246), and some libraries replace them by others. A process that still runs `_PATIENCE` seconds later,
    for instance because XLA compiles, is ended by a thread. A second interrupt ends the process at once.
    """

    def __init__(self) -> None:
        self.seen = self.over = False
        self._undo: list[Callable[[], Any]] = []
        self._afterwards: Any = None

    def watch(self) -> None:
        """Take over from the handler of Python or of `__main__`; leave alone that of a host program or of `nohup`."""
        import signal

        if signal.getsignal(signal.SIGINT) not in (signal.default_int_handler, interrupted):
            return
        try:
            signal.signal(signal.SIGINT, self._handle)
        except ValueError:  # not the main thread, which is the one that is interrupted
            return
        self._undo.append(lambda: signal.signal(signal.SIGINT, self._afterwards))
        shown = sys.unraisablehook
        sys.unraisablehook = lambda what: None if what.exc_type is KeyboardInterrupt else shown(what)
        self._undo.append(lambda: setattr(sys, "unraisablehook", shown))
        if os.name == "posix":
            self._start_thread()

    def _start_thread(self) -> None:
        """The thread hears of a signal through a pipe, also while the main thread runs compiled code."""
        import _thread  # `threading` takes locks that an interrupted main thread may hold
        import signal
        import time

        def wait() -> None:
            while signals := os.read(read, 1):
                if signals[0] == signal.SIGINT:
                    time.sleep(_PATIENCE)
                    if not self.over:
                        self._leave()
            os.close(read)

        read, write = os.pipe()
        os.set_blocking(write, False)
        before = signal.set_wakeup_fd(write, warn_on_full_buffer=False)
        self._undo += [lambda: os.close(write), lambda: signal.set_wakeup_fd(before)]
        _thread.start_new_thread(wait, ())

    def _handle(self, number: int, frame: Any) -> None:
        if self.seen and not self.over:
            self._leave()
        self.seen = True
        if not self.over:
            raise KeyboardInterrupt

    def _leave(self) -> None:
        _complain("interrupted")
        os._exit(INTERRUPTED)

    def forget(self, to_the_end: bool) -> None:
        """Put everything back; where the process ends next, an interrupt finds nothing left to stop."""
        if self._undo:
            import signal

            self._afterwards = signal.SIG_IGN if to_the_end else signal.default_int_handler
        for undo in reversed(self._undo):
            undo()


def _run(arguments: Sequence[str] | None) -> int:
    """Parse the arguments and run the command."""
    unread = sys.stdout is None
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:  # it is closed, and the next file to be opened would take its number
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))
    errors, reconfigure = getattr(sys.stdout, "errors", None), getattr(sys.stdout, "reconfigure", None)
    if reconfigure:  # a name that the encoding of the terminal does not have is no reason to fail
        reconfigure(errors="backslashreplace")
    try:
        options = _parser().parse_args(arguments)
        if unread and options.run in (_select, _compare, _predict) and getattr(options, "output", None) is None:
            raise ValueError("standard output is closed, so the result would be lost; redirect it to a file.")
        code: int = options.run(options)
        sys.stdout.flush()
        return code
    finally:
        if reconfigure:
            reconfigure(errors=errors)


def _told(error: BaseException) -> int:
    """The exit code for an error, after one line about it; argparse has told of its own."""
    if isinstance(error, SystemExit):
        try:
            sys.stdout.flush()
        except OSError:
            _discard_output()
        raise error
    if isinstance(error, BrokenPipeError):  # whoever reads the output has seen enough
        _discard_output()
        return 1
    if os.environ.get("BAYESNB_DEBUG"):
        raise error
    if isinstance(error, MemoryError):
        _complain(f"there is not enough memory for this ({error or 'no details'}); use fewer rows or columns.")
        return 2
    if isinstance(error, (ValueError, OSError)):
        _complain(str(error))
        try:
            sys.stdout.flush()
        except OSError:
            _discard_output()
        return 2
    _complain(
        f"unexpected {type(error).__name__}: {error} - this is a defect of bayesnb; please report it with the command "
        "that you ran and what BAYESNB_DEBUG=1 before it prints."
    )
    return DEFECT


def _complain(text: str) -> None:
    """One line on standard error, if anybody reads it."""
    try:
        print(f"bayesnb: {_short(' '.join(text.split()), 1000)}", file=sys.stderr, flush=True)
    except (OSError, ValueError):
        pass


def _discard_output() -> None:
    """Let the interpreter flush what is left in the buffer of standard output to nowhere."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError):  # standard output has no number
        pass


def _parser() -> argparse.ArgumentParser:
    import argparse

    from .datasets import NAMES

    parser = argparse.ArgumentParser(prog="bayesnb", description="Naive Bayes with the whole posterior.")
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

    def model(one: Any) -> None:
        text = f"the variant: {', '.join(MODELS)} (default: auto, read from the columns)"
        one.add_argument("--model", choices=MODELS, default="auto", metavar="VARIANT", help=text)

    check = command(
        "check",
        _check,
        "closed form against NumPyro on a data set",
        "Fit on one half of the rows and check the closed form against NumPyro: Bayes' identity, mode, posterior, "
        "prediction. Exit code 1 if a row of the report fails.",
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

    select = command(
        "select",
        _select,
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
        _compare,
        "evidence and exact leave-one-out of several models",
        "Fit several models to the same rows and compare them: log evidence, Bayes factor against the best, "
        "probability of the model, exact leave-one-out with the standard error of the paired difference to the best. "
        "Columns that are not numbers are left out unless all models take them.",
    )
    data(compare)
    compare.add_argument(
        "--models", type=_models, required=True, metavar="MODELS", help=f"separated by commas: {', '.join(MODELS[1:])}"
    )

    fit = command(
        "fit",
        _fit,
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

    predict = command(
        "predict",
        _predict,
        "classes of new rows, by a saved model",
        "Print a CSV table with a line for each row: the class `predicted`, the probability p(CLASS) of every class "
        "and, with --interval, the ends low(CLASS) and high(CLASS) of its credible interval. Columns are found by "
        "name, in whatever order; others, such as the target, are not looked at.",
    )
    predict.add_argument("model", metavar="MODEL", help="file that `bayesnb fit` or an estimator's `save` wrote")
    data(predict, labelled=False)
    predict.add_argument("-o", "--output", metavar="FILE", help="CSV file to write (default: standard output)")
    predict.add_argument(
        "--interval", type=_share, metavar="LEVEL", help="posterior mass of the intervals, such as 0.9"
    )
    return parser


def _check(options: argparse.Namespace) -> int:
    from .analysis.calibration import CalibratedClassifierLOO

    data = _load(options.data, options.target)
    estimator, X = choose_model(data.X, options.model)
    _announce(options, data, X, data.notes)
    _prepare_arviz()
    report = estimator.check(
        X,
        data.y,
        seed=options.seed,
        false_alarm=options.false_alarm,
        level=options.level,
        progress_bar=not options.json,
    )
    loss = CalibratedClassifierLOO(estimator).fit(X, data.y).loo_log_loss_
    text = f"{report}\n\n{_in_words(loss, estimator)}"
    _tell(options, data, data.notes, text, lambda: {**report.to_dict(), "loo_log_loss": loss})
    return 0 if report.passed else 1


def _in_words(loss: dict[str, float], estimator: Any) -> str:
    """What leave-one-out says of the class probabilities, as they are and calibrated.

    The calibration knows the rows by a few numbers that are fitted to them, so a gain below 5 % is no reason for it.
    """
    plain, calibrated = loss["plain"], loss["calibrated"]
    if calibrated < 0.95 * plain:
        name = " ".join(repr(estimator).split())
        meaning = f"Calibration lowers it by {1 - calibrated / plain:.0%}: use CalibratedClassifierLOO({name})."
    else:
        meaning = "Calibration changes little: it is not needed for this model."
    figures = f"leave-one-out log loss of all rows: {plain:.4f} plain, {calibrated:.4f} calibrated nats a row"
    return f"  {figures}\n  {meaning}"


def _prepare_arviz() -> None:
    """Import ArviZ before the long run that ends in it; it and Matplotlib need a folder for their caches.

    Where the home folder cannot hold one, a temporary folder does, to the end of the process.
    """
    import atexit
    import shutil
    import tempfile

    from .sampling.to_arviz import import_arviz

    caches = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    try:
        os.makedirs(os.path.join(caches, "arviz"), exist_ok=True)
        usable = os.access(os.path.join(caches, "arviz"), os.W_OK)
    except OSError:
        usable = False
    if not usable:
        folder = tempfile.mkdtemp(prefix="bayesnb-caches-")
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        os.environ["XDG_CACHE_HOME"] = folder
        os.environ.setdefault("MPLCONFIGDIR", folder)
    try:
        import_arviz()
    except OSError as error:
        raise OSError(
            f"ArviZ, which the check needs, finds no folder for its cache ({error}); set HOME to a folder that can be "
            "written to."
        ) from error


def _select(options: argparse.Namespace) -> int:
    from .analysis.spss import SPSSNaiveBayes, scale_columns

    data = _load(options.data, options.target)
    cut = scale_columns(data.X, options.bins)
    note = f"cut into at most {options.bins} bins: {', '.join(map(repr, cut))}."
    notes = [*data.notes, *([note] if cut else [])]
    forced = [name for given in options.force for name in ([given] if given in data.X else given.split(","))]
    share = 0.3 if options.criterion == "test" and options.test_share is None else options.test_share
    procedure = SPSSNaiveBayes(
        n_bins=options.bins,
        scale=cut,
        max_features="auto" if options.max is None else options.max,
        exact_features=options.exact,
        force=forced,
        criterion=options.criterion or "auto",
        test_share=share,
        seed=options.seed,
    )
    _announce(options, data, data.X, notes)
    report = procedure.fit(data.X, data.y).report_
    _tell(options, data, notes, report, report.to_dict)
    return 0


def _compare(options: argparse.Namespace) -> int:
    from pandas.api.types import is_numeric_dtype

    from .analysis.comparison import compare
    from .datasets import TableError

    data = _load(options.data, options.target)
    X, notes = data.X, list(data.notes)
    text = [name for name in X.columns if not is_numeric_dtype(X[name])]
    if text and set(options.models) - {"categorical", "mixed"}:
        X = X.drop(columns=text)
        if not len(X.columns):
            raise TableError("no column holds numbers, which all models but categorical and mixed need.")
        notes.append(f"columns that are not numbers were left out: {', '.join(map(repr, text))}.")
    models = {name: choose_model(X, name) for name in options.models}
    _announce(options, data, X, notes)
    found = compare(models, X, data.y)
    _tell(options, data, notes, found, lambda: found.to_dict(notes))
    return 0


def _fit(options: argparse.Namespace) -> int:
    from .datasets import TableError
    from .persistence import check_target

    check_target(options.output)
    data = _load(options.data, options.target)
    estimator, X = choose_model(data.X, options.model)
    report = sys.stderr if _is_standard_output(options.output) else sys.stdout
    _announce(options, data, X, data.notes, report)
    try:
        estimator.set_params(**dict(options.settings)).fit(X, data.y)
    except (TypeError, OverflowError, MemoryError) as error:  # a value that the parameter cannot have
        if not options.settings:
            raise
        given = " ".join(f"{name}={_short(repr(value))}" for name, value in options.settings)
        raise TableError(f"--set {given}: {error}; give the parameter another value.") from error
    estimator.save(options.output)
    model = " ".join(repr(estimator).split())
    rows = {str(label): float(n) for label, n in zip(estimator.classes_, estimator.class_count_, strict=True)}
    text = f"{model}, rows a class: {', '.join(f'{n:g} {label!r}' for label, n in rows.items())}"
    fields = {"model": model, "rows": rows, "file": options.output}
    _tell(options, data, data.notes, f"{text}\nsaved as {options.output}", lambda: fields, report)
    return 0


def _predict(options: argparse.Namespace) -> int:
    import pandas as pd

    from .datasets import NAMES, load, read_rows
    from .persistence import check_target, replace_file
    from .persistence import load as load_model

    if options.output is not None:
        check_target(options.output)
    model = load_model(options.model)
    if options.data in NAMES:
        table = load(options.data).X
    else:
        table = read_rows(options.data, [name for name, kind in _columns(model).items() if kind == "text"])
    X = _as_fitted(model, table, options.data)
    p = model.predict_proba(X)
    ends = None if options.interval is None else model.predict_interval(X, options.interval)
    columns = {"predicted": model.predict(X)}
    for k, label in enumerate(model.classes_):
        columns[f"p({label})"] = p[:, k]
        if ends is not None:
            columns[f"low({label})"], columns[f"high({label})"] = ends[:, k].T
    text = pd.DataFrame(columns).to_csv(index=False, lineterminator="\n")
    if options.output is None:
        if reconfigure := getattr(sys.stdout, "reconfigure", None):
            reconfigure(encoding="utf-8")  # as in a file: labels are written as they stood in the data
        _say(text, sys.stdout, end="")
    else:
        replace_file(options.output, text.encode())
    return 0


def _announce(
    options: argparse.Namespace, data: Dataset, X: pd.DataFrame, notes: Sequence[str], to: TextIO | None = None
) -> None:
    """Say what is worked on, before the work; in JSON it is part of the report."""
    if not options.json:
        _say(f"{data.name}: {len(X)} rows, {X.shape[1]} features, target {data.target!r} ({data.source})", to)
        for text in notes:
            _say(f"note: {text}", to)


def _tell(
    options: argparse.Namespace,
    data: Dataset,
    notes: Sequence[str],
    report: Any,
    fields: Callable[[], dict[str, Any]],
    to: TextIO | None = None,
) -> None:
    """The outcome as text, or its fields as JSON."""
    if options.json:
        import json

        _say(json.dumps({"data": data.name, "target": data.target, "notes": list(notes), **fields()}, indent=2), to)
    else:
        _say(str(report), to)


def _say(text: str, to: TextIO | None = None, end: str = "\n") -> None:
    """Print at once, on standard output unless told otherwise."""
    try:
        print(text, end=end, file=to or sys.stdout, flush=True)
    except BrokenPipeError:
        raise
    except OSError as error:  # a disk that is full
        raise OSError(f"standard output cannot be written to ({error.strerror}).") from error


def _is_standard_output(path: str) -> bool:
    """Whether a file to write, such as /dev/stdout, is where the report goes."""
    try:
        return os.path.samestat(os.stat(path), os.fstat(sys.stdout.fileno()))
    except (OSError, ValueError):
        return False


def _short(text: str, most: int = 60) -> str:
    """The text, or its beginning and length."""
    return text if len(text) <= most else f"{text[:most]}… ({len(text)} characters)"


def _columns(model: Any) -> dict[str, str]:
    """What each column that a fitted model takes holds: "number", "text" or "other"."""
    from .datasets import TableError

    if not hasattr(model, "feature_names_in_"):
        raise TableError("the model was fitted to an array, so its columns have no names; fit it to a data frame.")
    kinds = dict.fromkeys(model.feature_names_in_.tolist(), "other")
    if hasattr(model, "parts_"):
        for _, part, _ in model.parts_:
            kinds |= _columns(part)
    elif hasattr(model, "categories_"):
        for name, levels in zip(model.feature_names_in_, model.categories_, strict=True):
            if any(isinstance(level, str) for level in levels):
                kinds[name] = "text"
            elif levels.dtype.kind == "i":
                kinds[name] = "number"
    else:
        kinds = dict.fromkeys(kinds, "number")
    return kinds


def _as_fitted(model: Any, table: pd.DataFrame, source: str) -> pd.DataFrame:
    """The columns a model takes, in its order and of its types."""
    from pandas.api.types import is_numeric_dtype

    from .datasets import TableError, refuse_infinity, refuse_nested

    columns = _columns(model)
    if missing := [repr(name) for name in columns if name not in table.columns]:
        one = len(missing) == 1
        what = f"column {missing[0]}" if one else f"columns {', '.join(missing)}"
        raise TableError(f"{source} has no {what}, which the model was fitted to; add {'it' if one else 'them'}.")
    refuse_nested(table[list(columns)], source)
    fresh = {}
    for name, kind in columns.items():
        cells = table[name]
        if kind == "text" and is_numeric_dtype(cells):
            fresh[name] = cells.astype("string").astype(object)
        elif kind == "number":
            try:
                fresh[name] = cells.astype(float)
            except (TypeError, ValueError) as error:
                value = next(cell for cell in cells.dropna() if not _is_number(cell))
                raise TableError(
                    f"{source}: column {name!r} holds {value!r}; the model was fitted to numbers there."
                ) from error
    X = table[list(columns)].assign(**fresh)
    refuse_infinity(X, source)
    return X


def _load(name: str, target: str | None) -> Dataset:
    from .datasets import NAMES, TableError, load, read_table

    if name in NAMES:
        data = load(name)
        if target not in (None, data.target):
            raise TableError(f"the target of {name} is {data.target!r}, not {target!r}; leave --target out.")
        return data
    if target is None:
        raise TableError(f"{name!r} is not one of {', '.join(NAMES)}; for a file, name its --target column.")
    return read_table(name, target)


def choose_model(X: pd.DataFrame, model: str) -> tuple[Any, pd.DataFrame]:
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

    from .datasets import TableError

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


def _is_number(cell: Any) -> bool:
    try:
        float(cell)
    except (TypeError, ValueError):
        return False
    return True


def _setting(text: str) -> tuple[str, Any]:
    """NAME=VALUE, the value as Python writes it, or else as text."""
    import argparse
    import ast

    name, sign, value = text.partition("=")
    if not (name and sign):
        raise argparse.ArgumentTypeError(f"{_short(repr(text))} is not of the form NAME=VALUE")
    try:
        return name, ast.literal_eval(value)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return name, value


def _models(text: str) -> list[str]:
    import argparse

    names = list(dict.fromkeys(text.split(",")))
    for name in names:
        if name not in MODELS[1:]:
            raise argparse.ArgumentTypeError(f"{name!r} is not one of {', '.join(MODELS[1:])}")
    return names


def _count(text: str) -> int:
    import argparse

    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text} is less than 1")
    return value


def _share(text: str) -> float:
    import argparse

    value = float(text)
    if not 0 < value < 1:
        raise argparse.ArgumentTypeError(f"{text} does not lie between 0 and 1")
    return value


if __name__ == "__main__":
    sys.exit(main())
