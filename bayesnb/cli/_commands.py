"""The commands check, select, compare, fit and predict: each reads its data, works and reports."""

import argparse
import atexit
import os
import shutil
import sys
import tempfile
from typing import Any

from ..datasets import NAMES, TableError, load, read_rows
from ._output import announce, echo, is_standard_output, print_outcome, shorten
from ._tables import as_fitted, choose_model, column_kinds, load_table


def check(options: argparse.Namespace) -> int:
    """Closed form against NumPyro; exit code 1 if a row of the report fails."""
    from ..analysis.calibration import CalibratedClassifierLOO

    data = load_table(options.data, options.target)
    estimator, X = choose_model(data.X, options.model)
    announce(options, data, X, data.notes)
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
    text = f"{report}\n\n{_calibration_gain(loss, estimator)}"
    print_outcome(options, data, data.notes, text, lambda: {**report.to_dict(), "loo_log_loss": loss})
    return 0 if report.passed else 1


def _calibration_gain(loss: dict[str, float], estimator: Any) -> str:
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
    from ..sampling.to_arviz import import_arviz

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


def select(options: argparse.Namespace) -> int:
    """The naive Bayes procedure of SPSS."""
    from ..analysis.spss import SPSSNaiveBayes, scale_columns

    data = load_table(options.data, options.target)
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
    announce(options, data, data.X, notes)
    report = procedure.fit(data.X, data.y).report_
    print_outcome(options, data, notes, report, report.to_dict)
    return 0


def compare(options: argparse.Namespace) -> int:
    """Log evidence and exact leave-one-out of several models."""
    from pandas.api.types import is_numeric_dtype

    from ..analysis.comparison import compare as compare_models

    data = load_table(options.data, options.target)
    X, notes = data.X, list(data.notes)
    text = [name for name in X.columns if not is_numeric_dtype(X[name])]
    if text and set(options.models) - {"categorical", "mixed"}:
        X = X.drop(columns=text)
        if not len(X.columns):
            raise TableError("no column holds numbers, which all models but categorical and mixed need.")
        notes.append(f"columns that are not numbers were left out: {', '.join(map(repr, text))}.")
    models = {name: choose_model(X, name) for name in options.models}
    announce(options, data, X, notes)
    found = compare_models(models, X, data.y)
    print_outcome(options, data, notes, found, lambda: found.to_dict(notes))
    return 0


def fit(options: argparse.Namespace) -> int:
    """Fit a model to all rows and save it."""
    from ..core.files import check_target

    check_target(options.output)
    data = load_table(options.data, options.target)
    estimator, X = choose_model(data.X, options.model)
    report = sys.stderr if is_standard_output(options.output) else sys.stdout
    announce(options, data, X, data.notes, report)
    try:
        estimator.set_params(**dict(options.settings)).fit(X, data.y)
    except (TypeError, OverflowError, MemoryError) as error:  # a value that the parameter cannot have
        if not options.settings:
            raise
        given = " ".join(f"{name}={shorten(repr(value))}" for name, value in options.settings)
        raise TableError(f"--set {given}: {error}; give the parameter another value.") from error
    estimator.save(options.output)
    model = " ".join(repr(estimator).split())
    rows = {str(label): float(n) for label, n in zip(estimator.classes_, estimator.class_count_, strict=True)}
    text = f"{model}, rows a class: {', '.join(f'{n:g} {label!r}' for label, n in rows.items())}"
    fields = {"model": model, "rows": rows, "file": options.output}
    print_outcome(options, data, data.notes, f"{text}\nsaved as {options.output}", lambda: fields, report)
    return 0


def report(options: argparse.Namespace) -> int:
    """One page about a model and its rows."""
    from ..core.files import check_target
    from ..reporting.report import report as make_report

    check_target(options.output)
    data = load_table(options.data, options.target)
    estimator, X = choose_model(data.X, options.model)
    announce(options, data, X, data.notes)
    read = f"bayesnb.datasets.{'load' if options.data in NAMES else 'read_table'}({options.data!r}"
    read += ")" if options.data in NAMES else f", {options.target!r})"
    name, model = type(estimator).__name__, " ".join(repr(estimator).split())
    code = (
        f"import bayesnb\nfrom bayesnb import {name}\n\ndata = {read}\nX, y = data.X, data.y\nnb = {model}.fit(X, y)\n"
        "print(nb.loo(X, y))\nprint(bayesnb.importance(nb))\nprint(nb.explain(X[:1]))\n"
        'bayesnb.report(nb, X, y).save("report.html")'
    )
    made = make_report(estimator, X, data.y, title=f"{options.data}: {data.target}", code=code)
    made.save(options.output)
    figures = f"leave-one-out accuracy {made.accuracy:.4f}, log loss {made.log_loss:.4f}"
    fields = {"accuracy": made.accuracy, "log_loss": made.log_loss, "warnings": made.warnings, "file": options.output}
    print_outcome(options, data, data.notes, f"{figures}\nsaved as {options.output}", lambda: fields)
    return 0


def predict(options: argparse.Namespace) -> int:
    """Classes, probabilities and intervals of new rows, as CSV."""
    import pandas as pd

    from ..core.files import check_target, replace_file
    from ..persistence import load as load_model

    if options.output is not None:
        check_target(options.output)
    model = load_model(options.model)
    if options.data in NAMES:
        table = load(options.data).X
    else:
        table = read_rows(options.data, [name for name, kind in column_kinds(model).items() if kind == "text"])
    X = as_fitted(model, table, options.data)
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
        echo(text, sys.stdout, end="")
    else:
        replace_file(options.output, text.encode())
    return 0
