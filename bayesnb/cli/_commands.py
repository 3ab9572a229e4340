"""The commands: each reads its data, works and reports. Their docstrings are what `--help` prints."""

import argparse
import json
import sys
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.types import is_numeric_dtype

from ..datasets import TableError
from ..estimators._base import AbstractNB
from ._output import announce, echo, is_standard_output, print_outcome, shorten
from ._tables import (
    MIXED,
    MODELS,
    as_floats,
    choose_model,
    contract_of,
    describe_table,
    load_large,
    load_table,
    new_rows,
    python_of,
    stem,
)

_CLASSES = 12  # of which `fit` prints the rows
_KERNEL_ROWS = 20_000  # beyond, `compare` tries kernel densities only if asked: their time grows with its square


def describe(options: argparse.Namespace) -> int:
    """Show the role of each column of a table, with the reason.

    Show the role of each column (numbers, counts, yes/no, levels, dropped) with the reason, the number of different
    values, the share of missing cells and an example. A mark (!) shows possible problems: numbers written as text,
    a target with many classes, and identifiers and dates, which are left out by default.
    """
    table, contract = describe_table(options)
    if options.json:
        echo(json.dumps({"data": stem(options.data), **contract.to_dict()}, indent=2))
        return 0
    echo(f"{stem(options.data)}: {contract.rows} rows, {len(contract.columns)} columns ({options.data})")
    echo(contract.summary())
    if contract.used:
        estimator = choose_model(contract.apply(table), "auto", contract)[0]
        echo(f"suggested model: {' '.join(repr(estimator).split())}")
    echo("Empty cells, NA, N/A, #N/A, NaN, NULL and None are missing cells.")
    echo("Change a role with --columns NAME=ROLE, leave columns out with --drop NAME.")
    return 0


def check(options: argparse.Namespace) -> int:
    """Compare the closed form with NumPyro on a data set.

    Fit one half of the rows and check all formulas against NumPyro and against each other, from Bayes' identity to
    leave-one-out and intervals. The exit code is 1 if a row of the report fails.
    """
    from ..analysis.calibration import CalibratedClassifierLOO

    data = load_table(options)
    estimator, X = choose_model(data.X, options.model, data.contract)
    announce(options, data, X, data.notes)
    report = estimator.check(X, data.y, options.seed, false_alarm=options.false_alarm, level=options.level)
    loss = CalibratedClassifierLOO(estimator).fit(X, data.y).loo_log_loss_
    text = f"{report.explain(options.verbose)}\n\n{_calibration_gain(loss, estimator)}"
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
    figures = f"leave-one-out log loss of all rows: {plain:.4f} nats a row, {calibrated:.4f} after calibration"
    return f"  {figures}\n  {meaning}"


def select(options: argparse.Namespace) -> int:
    """Select features for a categorical model by forward selection.

    Run the naive Bayes procedure of SPSS. Each step adds the feature that raises the average log-likelihood of the
    classes most to a categorical naive Bayes model. The best set of this sequence is kept. Numeric columns with
    more than BINS different values are cut into bins of equal width. All other columns are categories.
    """
    from ..analysis.spss import SPSSNaiveBayes, scale_columns

    data = load_table(options)
    cut = scale_columns(data.X.select_dtypes(exclude="category"), options.bins)
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
    """Compare models by evidence and exact leave-one-out.

    Fit several models to the same rows and compare them. The table has the log evidence, the Bayes factor against
    the best model, and the probability of the model. It also has `elpd`, the sum of log p(y | x) by exact leave-
    one-out (`arviz.loo` is of log p(x, y)), with the standard error of the paired difference to the best model.
    Models that cannot use the columns are listed with the reason.
    """
    from ..analysis.comparison import compare as compare_models

    data = load_table(options)
    announce(options, data, data.X, data.notes)
    models, reasons = {}, {}
    for name in options.models or _models_to_try(data.X):
        try:
            estimator, X = choose_model(data.X, name, data.contract)
            models[name] = estimator.fit(X, data.y), X
        except ValueError as error:  # the table is not for this model
            reasons[name] = str(error).splitlines()[0].replace(f"--model {name} needs", "they need")
    if not models:
        raise TableError("; ".join(f"{name}: {why}" for name, why in reasons.items()))
    found = compare_models(models, data.X, data.y, fitted=True)
    unfit = [
        f"{', '.join(name for name in reasons if reasons[name] == why)} cannot use this table: {shorten(why, 200)}"
        for why in dict.fromkeys(reasons.values())
    ]
    found = replace(found, notes=(*found.notes, *unfit))
    notes = list(data.notes)
    print_outcome(options, data, notes, found, lambda: found.to_dict(notes))
    return 0


def _models_to_try(X: Any) -> list[str]:
    """All models, but no levels of real numbers, and no kernel densities of very many rows."""
    numbers = [name for name in X.columns if is_numeric_dtype(X[name])]
    names = list(MODELS[1:])
    if any(X[name].nunique() > 20 for name in numbers):
        names.remove("categorical")
    if 0 < len(numbers) < X.shape[1]:
        names += MIXED
    return [name for name in names if not (name.endswith("kernel") and len(X) > _KERNEL_ROWS)]


def fit(options: argparse.Namespace) -> int:
    """Fit a model and save it.

    Fit a model to all rows and save it as a safetensors file. `bayesnb predict` and bayesnb.load read this file.
    """
    from ..streaming import fit_batches

    large = load_large(options)
    data = large.first if large else load_table(options)
    estimator, X = choose_model(data.X, options.model, data.contract)
    report = sys.stderr if is_standard_output(options.output) else sys.stdout
    notes = [*data.notes, *([f"Read in batches; the columns are those of the first {len(X)} rows."] if large else [])]
    announce(options, data, X, notes, report)
    try:
        estimator.set_params(**dict(options.settings))
        if large:
            text = estimator.__sklearn_tags__().input_tags.string
            taken = lambda batch: batch if text else (as_floats(batch[0]), batch[1])  # noqa: E731
            fit_batches(estimator, lambda: map(taken, large.batches()), classes=large.labels)
        else:
            estimator.fit(X, data.y)
    except (TypeError, OverflowError, MemoryError) as error:  # a value that the parameter cannot have
        if not options.settings:
            raise
        given = " ".join(f"{name}={shorten(repr(value))}" for name, value in options.settings)
        raise TableError(f"--set {given}: {error}; give this parameter another value.") from error
    estimator.contract_ = large.contract if large else data.contract
    estimator.save(options.output)
    model = " ".join(repr(estimator).split())
    rows = {str(label): float(n) for label, n in zip(estimator.classes_, estimator.class_count_, strict=True)}
    counted = [f"{n:g} {label!r}" for label, n in rows.items()]
    more = f" and {len(counted) - _CLASSES} more classes" if len(counted) > _CLASSES else ""
    text = f"{model}, rows a class: {', '.join(counted[:_CLASSES])}{more}"
    fields = {"model": model, "rows": rows, "file": options.output}
    print_outcome(options, data, notes, f"{text}\nsaved as {options.output}", lambda: fields, report)
    return 0


def report(options: argparse.Namespace) -> int:
    """Write a page about a model and its rows.

    Fit a model to all rows and write one page of HTML. It shows columns, classes, exact leave-one-out, calibration,
    importance, explained rows, priors and other models. The page needs no network.
    """
    from ..reporting.report import python_code
    from ..reporting.report import report as make_report

    data = load_table(options)
    estimator, X = choose_model(data.X, options.model, data.contract)
    announce(options, data, X, data.notes)
    code = python_code(estimator, f"data = {python_of(options)}\nX, y = data.X, data.y")
    made = make_report(
        estimator, X, data.y, title=f"{stem(options.data)}: {data.target}", contract=data.contract, code=code
    )
    made.save(options.output)
    figures = f"leave-one-out accuracy {made.accuracy:.4f}, log loss {made.log_loss:.4f}"
    fields = {"accuracy": made.accuracy, "log_loss": made.log_loss, "warnings": made.warnings, "file": options.output}
    print_outcome(options, data, data.notes, f"{figures}\nsaved as {options.output}", lambda: fields)
    return 0


def predict(options: argparse.Namespace) -> int:
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
    from ..io import load as load_model
    from ..io import replace_file

    model = load_model(options.model)
    table, X, notes = new_rows(options, model)
    for text in notes:
        echo(f"note: {text}", sys.stderr)
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always", UserWarning)
        columns = _predictions(model, X, options.interval)
    for text in dict.fromkeys(str(one.message) for one in warned):
        echo(f"note: {text.rstrip('.')}.", sys.stderr)
    if options.id in columns:
        raise TableError(
            f"--id {options.id} has the name of a column that predict prints; rename column {options.id!r} in "
            f"{options.data}."
        )
    rounded = {
        name: _rounded(values, options.digits) if values.dtype.kind == "f" else values
        for name, values in columns.items()
    }
    first = {} if options.id is None else {options.id: table[options.id].to_numpy()}
    text = pd.DataFrame(first | rounded).to_csv(index=False, lineterminator="\n")
    if options.output is None:
        if reconfigure := getattr(sys.stdout, "reconfigure", None):
            reconfigure(encoding="utf-8")  # as in a file: labels are written as they stood in the data
        echo(text, sys.stdout, end="")
    else:
        replace_file(options.output, text.encode())
    return 0


def _predictions(model: Any, X: pd.DataFrame, level: float | None) -> dict[str, Any]:
    """The columns that `predict` prints of rows as the model takes them; with a level those of the intervals too."""
    p = model.predict_proba(X)
    label = model.predict(X)
    top = np.arange(len(p)), np.searchsorted(model.classes_, label)
    columns: dict[str, Any] = {"predicted": label, "probability": p[top]}
    tables, remarks = {"p": p}, {}
    if level is not None:
        from ..sampling.intervals import mean_probabilities

        if isinstance(model, AbstractNB):
            mean = mean_probabilities(model.posterior_, model.encode(X))
        else:  # a calibrated classifier; the draws are those of its interval
            mean = model.sample_proba(X, seed=0).mean(0)
        ends = model.predict_interval(X, level)
        contract = contract_of(model)
        note = np.array(contract.far_columns(X) if contract else [""] * len(p), object)
        for name, values in (("mean", mean), ("low", ends[..., 0]), ("high", ends[..., 1])):
            tables[name] = np.where((note == "")[:, None], values, np.nan)
            columns[name] = tables[name][top]
        remarks["note"] = note
    for k, one in enumerate(model.classes_):
        columns |= {f"{name}({one})": values[:, k] for name, values in tables.items()}
    return columns | remarks


def _rounded(p: np.ndarray, digits: int) -> np.ndarray:
    """Probabilities to so many digits of p or of 1 − p, whichever is smaller: none but 0 and 1 becomes 0 or 1."""
    small = np.minimum(p, 1 - p)
    with np.errstate(divide="ignore"):
        places = np.where(small > 0, digits - 1 - np.floor(np.log10(np.where(small > 0, small, 1))), digits)
    return np.array([round(one, int(k)) for one, k in zip(p.tolist(), places.tolist(), strict=True)])
