"""Tables for models: data by name or from a file, the model for a table, the columns of a fitted model."""

import argparse
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.types import is_numeric_dtype

from .. import estimators
from ..columns import ColumnContract, to_level
from ..datasets import (
    NAMES,
    Dataset,
    LargeTable,
    TableError,
    load,
    read_large,
    read_rows,
    read_table,
    refuse_infinity,
    refuse_nested,
)
from ..describing import describe
from ..number_text import NumberFormat
from ..tables import is_large

_KINDS = [getattr(estimators, name) for name in estimators.__all__]
_VARIANTS = {name: (kind, settings) for kind in _KINDS for name, settings in kind.variants.items()}
MODELS = ("auto", *sorted(_VARIANTS))
MIXED = tuple(f"mixed:{name}" for name in ("gaussian-da", "kernel", "pooled", "shared-da"))
"""A variant for the columns of numbers of a table that has others, too."""


def roles_of(options: argparse.Namespace) -> dict[str, Any]:
    """What the user has said about the roles of columns."""
    columns: dict[str, str] = {}
    for one in options.columns:
        columns |= one
    return {"drop": [name for names in options.drop for name in names.split(",")], "columns": columns}


def writing_of(options: argparse.Namespace) -> dict[str, Any]:
    """What the user has said about how a file is written."""
    return {name: getattr(options, name) for name in ("decimal", "thousands", "encoding", "sep")}


def load_table(options: argparse.Namespace) -> Dataset:
    """A data set by its name, or a file with its target column, under the column contract."""
    name, target = options.data, options.target
    if name not in NAMES:
        if target is None:
            raise TableError(f"{name!r} is not one of {', '.join(NAMES)}; for a file, name its --target column.")
        return read_table(name, target, **roles_of(options), **writing_of(options))
    data = load(name)
    if target not in (None, data.target):
        raise TableError(f"the target of {name} is {data.target!r}, not {target!r}; leave --target out.")
    contract = _described(options, data.X.assign(**{data.target: data.y}), data.target)
    if not contract.used:
        raise TableError(f"{name}: every column is left out; name fewer columns with --drop.")
    left = [f"{column.name!r} ({column.why})" for column in contract.dropped]
    notes = (*data.notes, *([f"Left out: {', '.join(left)}."] if left else []))
    return replace(data, X=contract.apply(data.X), contract=contract, notes=notes)


def _described(options: argparse.Namespace, table: pd.DataFrame, target: Any) -> ColumnContract:
    """The contract of a table under the user's wishes."""
    return describe(table, target, **roles_of(options), decimal=options.decimal, thousands=options.thousands)


def python_of(options: argparse.Namespace) -> str:
    """The Python that reads the table of a command."""
    if options.data in NAMES:
        return f"bayesnb.datasets.load({options.data!r})"
    given = roles_of(options) | writing_of(options)
    settings = "".join(f", {name}={value!r}" for name, value in given.items() if value)
    return f"bayesnb.datasets.read_table({options.data!r}, {options.target!r}{settings})"


def load_large(options: argparse.Namespace) -> LargeTable | None:
    """A file that is fitted in batches; None for all others."""
    if options.data in NAMES or options.target is None or not is_large(Path(options.data)):
        return None
    return read_large(options.data, options.target, **roles_of(options), **writing_of(options))


def describe_table(options: argparse.Namespace) -> tuple[pd.DataFrame, ColumnContract]:
    """All columns of a table, and what they are."""
    target = options.target
    if options.data in NAMES:
        data = load(options.data)
        table, target = data.X.assign(**{data.target: data.y}), data.target
    else:
        table = read_rows(options.data, [target] if target else [], **writing_of(options))
        if table.columns[0] == "Unnamed: 0":
            table = table.iloc[:, 1:]
        refuse_nested(table, options.data)
    try:
        return table, _described(options, table, target)
    except ValueError as error:
        raise TableError(f"{options.data}: {error}.") from error


def _made(model: str) -> Any:
    kind, settings = _VARIANTS[model]
    return kind(**settings)


def choose_model(X: pd.DataFrame, model: str, contract: ColumnContract | None = None) -> tuple[Any, pd.DataFrame]:
    """Estimator for a table, and the table as it takes it.

    "mixed:kernel" and the like: that variant for the columns of numbers, for the others what "mixed" takes. "auto": the
    family of the columns where all have one role (yes/no, numbers, counts or levels), else each kind of column with
    its own.

    Raises
    ------
    TableError
        if a model for numbers was asked for and a column holds text
    """
    from ..estimators._automatic import default_estimators, parts_of_roles, role_of_type

    roles = [contract[X.columns[j]].role if contract else role_of_type(X, j) for j in range(X.shape[1])]
    if model == "auto":
        model = "mixed"
        if len(set(roles)) == 1:
            model = next(iter(default_estimators()[roles[0]].variants))
    whole, _, of_numbers = model.partition(":")  # that variant for the numbers, the usual ones for the rest
    estimator = _made(whole)
    if whole == "mixed":
        asked = contract is not None and any(column.why.endswith("as asked") for column in contract.used)
        if of_numbers or asked or roles != [role_of_type(X, j) for j in range(X.shape[1])]:
            parts = [
                (name, _made(of_numbers) if of_numbers and name == "numbers" else nb, [str(X.columns[j]) for j in at])
                for name, nb, at in parts_of_roles(roles)
            ]
            estimator.set_params(parts=parts)
        return estimator, X
    if estimator.__sklearn_tags__().input_tags.string:
        return estimator, X
    if text := [name for name in X.columns if not is_numeric_dtype(X[name])]:
        value = X[text[0]].dropna().iloc[:1].tolist()[0]
        what = "levels" if isinstance(X[text[0]].dtype, pd.CategoricalDtype) else "text"
        raise TableError(f"column {text[0]!r} holds {what} such as {value!r}; --model {model} needs numbers.")
    return estimator, as_floats(X)


def as_floats(X: pd.DataFrame) -> pd.DataFrame:
    """A table of numbers as floats, itself if it holds nothing else."""
    return X if set(X.dtypes) == {np.dtype(float)} else X.astype(float)


def column_kinds(model: Any) -> dict[str, str]:
    """What each column that a fitted model takes holds: "number", "text" or "other"."""
    if not hasattr(model, "feature_names_in_"):
        raise TableError("the model was fitted to an array, so its columns have no names; fit it to a data frame.")
    nb = getattr(model, "estimator_", model)  # of a calibrated classifier
    used = np.concatenate([*nb.block_columns().values()])
    kinds = {}
    for j, name in enumerate(nb.feature_names_in_.tolist()):
        levels = nb.levels_of(j)
        if levels is None:
            kinds[name] = "number" if j in used else "other"
        else:
            text = any(isinstance(level, str) for level in levels)
            kinds[name] = "text" if text else "number" if levels.dtype.kind == "i" else "other"
    return kinds


def contract_of(model: Any, decimal: str | None = None, thousands: str | None = None) -> ColumnContract | None:
    """The contract that a model was fitted under, with the separators that the user names; None where it has none."""
    contract = getattr(model, "contract_", None)
    if contract is None or [column.name for column in contract.used] != model.feature_names_in_.tolist():
        return None
    if decimal is None and thousands is None:
        return contract
    decimal = decimal or ("," if thousands == "." else ".")
    thousands = thousands or ("." if decimal == "," else ",")
    changed = {
        column.name: replace(column, written=NumberFormat(decimal, thousands, (column.written or NumberFormat()).sign))
        for column in contract.columns
        if column.role != "levels"
    }
    return replace(contract, columns=tuple(changed.get(column.name, column) for column in contract.columns))


def new_rows(options: argparse.Namespace, model: Any) -> tuple[pd.DataFrame, pd.DataFrame, list[str]]:
    """Rows for a model: as they stand, as the model takes them, and how they differ from those fitted."""
    kinds = column_kinds(model)
    contract = contract_of(model, options.decimal, options.thousands)
    text = {name for name, kind in kinds.items() if kind == "text"} | ({options.id} - {None})
    if contract:
        text |= {column.name for column in contract.used if column.written}
    if options.data in NAMES:
        table = load(options.data).X
    else:
        table = read_rows(options.data, text, **writing_of(options))
    if options.id is not None and options.id not in table.columns:
        raise TableError(f"{options.data} has no column {options.id!r} for --id; it has {', '.join(table.columns)}.")
    if missing := [repr(name) for name in kinds if name not in table.columns]:
        one = len(missing) == 1
        what = f"column {missing[0]}" if one else f"columns {', '.join(missing)}"
        raise TableError(f"{options.data} has no {what}, which the model was fitted to; add {'it' if one else 'them'}.")
    refuse_nested(table[list(kinds)], options.data)
    cells: Any = table
    notes: list[str] = []
    if contract:
        try:
            cells = pd.DataFrame(contract.apply(table))
            notes = contract.differences(table)
        except ValueError as error:
            raise TableError(f"{options.data}: {str(error).rstrip('.')}.") from error
    return table, as_fitted(kinds, cells, options.data), notes


def as_fitted(kinds: dict[str, str], table: pd.DataFrame, source: str) -> pd.DataFrame:
    """The columns a model takes, in its order and of its types."""
    fresh = {}
    for name, kind in kinds.items():
        cells = table[name]
        if kind == "text" and is_numeric_dtype(cells.dropna().infer_objects()):
            fresh[name] = cells.astype(object).map(lambda one: str(to_level(one)), na_action="ignore")
        elif kind == "number":
            try:
                fresh[name] = cells.astype(float)
            except (TypeError, ValueError) as error:
                value = next(cell for cell in cells.dropna() if not _is_number(cell))
                raise TableError(
                    f"{source}: column {name!r} holds {value!r}; the model was fitted to numbers there."
                ) from error
    X = table[list(kinds)].assign(**fresh)
    refuse_infinity(X, source)
    return X


def _is_number(cell: Any) -> bool:
    try:
        float(cell)
    except (TypeError, ValueError):
        return False
    return True


def stem(name: str) -> str:
    """How a table is called in a report."""
    return name if name in NAMES else Path(name).stem
