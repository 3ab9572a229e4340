"""Models by name for the tables of the command line, and the contract by which a fitted model reads new rows."""

from dataclasses import replace
from typing import Any

import pandas as pd

from .. import estimators
from ..numerics.supports import COMPOSITE
from ..tables.columns import ASKED, LISTED, Column, ColumnContract
from ..tables.number_text import NumberFormat
from ._automatic import default_estimators, parts_of_roles, role_of_type
from ._predicting import AbstractBayes


def variants() -> dict[str, AbstractBayes]:
    """A new estimator by each name that the command line knows.

    Each class of `estimators` has `_variants`: settings of its constructor by a name, such as {"gaussian": {},
    "pooled": {"variance": "pooled"}}.
    """
    by_name = {}
    for class_name in dir(estimators):
        kind = getattr(estimators, class_name)
        for name, settings in kind._variants.items():
            by_name[name] = kind(**settings)
    return by_name


def variants_of(kind: type[AbstractBayes]) -> list[AbstractBayes]:
    """New estimators of a class: one with its default settings, then its other variants."""
    other_variants = [*kind._variants.values()][1:]  # the first is the default
    return [kind(**settings) for settings in ({}, *other_variants)]


def suits(kind: type[AbstractBayes], cells: str, n: int, d: int) -> bool:
    """Whether the family of a class has cells of a kind, and n rows of d columns are few enough to try.

    A family of levels also has yes/no cells, which are two levels.

    Parameters
    ----------
    kind : a class of estimators
    cells : the kind of the cells: "yes/no", "levels", "counts", "amounts" or "real"
    n, d : number of rows and of columns
    """
    if d > kind._most_columns or n * d > kind._most_cells:  # a fit would take long; limits of the class
        return False
    of_family = kind._family.cells_
    if of_family.measure == COMPOSITE:  # no density of rows, so it cannot be compared with other models
        return False
    return of_family.kind == cells or (cells == "yes/no" and of_family.kind == "levels")


def choose_model(X: pd.DataFrame, model: str, contract: ColumnContract) -> Any:
    """Estimator for a table whose columns have the roles of a contract.

    "auto" is the family of the columns if all have one role (yes/no, numbers, counts or levels), else each kind of
    column with its own. "mixed:kernel" and the like take that variant for the columns of numbers.

    Parameters
    ----------
    X : the features
    model : a name of `variants`, "auto", or "mixed:" and the name of a variant for numbers
    contract : the role of each column

    Raises
    ------
    ValueError
        if a model for numbers was asked for and a column holds text
    """
    column_of = {column.name: column for column in contract.columns}
    roles = [column_of[name].role for name in X.columns]  # such as "numbers" or "levels"

    # "auto" becomes the name of a model: that of the estimator for the only role, or "mixed" if there are several
    if model == "auto":
        is_of_one_kind = len({*roles}) == 1
        if is_of_one_kind:
            estimator_of_role = default_estimators()[roles[0]]
            model = next(iter(estimator_of_role._variants))  # its first name on the command line
        else:
            model = "mixed"

    kind, _, kind_of_numbers = model.partition(":")  # "mixed:kernel" is "mixed" and "kernel"
    models: dict[str, Any] = variants()
    chosen = models[kind]

    if kind == "mixed":
        # MixedNB finds the parts itself by the types of the columns. They are listed here if that would give other
        # parts: the user chose the role of a column or the model for numbers, or roles differ from those of the types
        is_asked = any(column.why == ASKED for column in contract.used)
        has_roles_of_types = roles == [role_of_type(X, j) for j in range(X.shape[1])]
        if kind_of_numbers or is_asked or not has_roles_of_types:
            chosen.parts = []
            for name, nb, columns in parts_of_roles(roles):
                part = models.get(kind_of_numbers, nb) if name == "numbers" else nb
                chosen.parts.append((name, part, X.columns[columns].astype(str).tolist()))
    elif not chosen.__sklearn_tags__().input_tags.string:  # the estimator takes no text
        _refuse_text(X, model)
    return chosen


def _refuse_text(X: pd.DataFrame, model: str) -> None:
    """Raise a ValueError that names the first column of text, and the model that needs numbers."""
    for name, kind in zip(X.columns, X.dtypes, strict=True):
        if not pd.api.types.is_numeric_dtype(kind):
            value = X[name].dropna().tolist()[0]
            raise ValueError(f"column {name!r} holds text such as {value!r}; --model {model} needs numbers.")


def contract_of(model: Any, decimal: str | None = None, thousands: str | None = None) -> ColumnContract:
    """The contract by which a fitted model reads new rows, with the separators that the user names.

    A contract has a `Column` for each column of the table, with its role: "numbers", "counts", "yes/no", "levels" or
    "dropped" (not used). A model of the command line has kept the contract of its training table. For a model that was
    fitted in Python one is made of the columns that it knows.

    Parameters
    ----------
    model : an estimator, or a calibrated one
    decimal, thousands : separators of numbers that are written as text; None leaves those of the contract

    Raises
    ------
    ValueError
        if the model was fitted to an array, so that its columns have no names
    """
    if not hasattr(model, "feature_names_in_"):
        raise ValueError("the model was fitted to an array, so its columns have no names; fit it to a data frame")
    names = model.feature_names_in_.tolist()
    nb = getattr(model, "estimator_", model)  # the estimator inside of a calibrated model, or the model itself
    contract = getattr(nb, "contract_", None)
    if contract is None:  # fitted in Python: numbers, and levels where the model knows some that are text
        columns_of_model = [_column_of_model(nb, name, j) for j, name in enumerate(names)]
        contract = ColumnContract(tuple(columns_of_model), rows=0)

    columns = []
    for column in contract.columns:
        new_column = column
        if column.role == "dropped" and column.name in names:
            # the model was fitted to a table with this column and does not use it (an identifier, say). New rows have
            # to have the column, because the model expects as many columns as before, but any cell will do: as "levels"
            # any text can be read. `missing` is the share of missing cells in the training rows; a larger share in new
            # rows is reported, and none is larger than 1, so that nothing is reported here
            new_column = replace(column, role="levels", missing=1.0)
        elif column.role != "levels" and (decimal or thousands):
            # a column of numbers, with the separators that the user names for the new file
            new_column = replace(column, written=_format_with(decimal, thousands, column))
        columns.append(new_column)
    return replace(contract, columns=tuple(columns))


def _column_of_model(nb: Any, name: str, feature: int) -> Column:
    """A column of a model that was fitted in Python: numbers, or levels if some of them are text.

    Parameters
    ----------
    nb : the model
    name, feature : name and position of the column
    """
    levels = nb.model_.levels_of(feature)  # their labels, None if the column has no levels

    # nothing is known of the training cells, so that the number of different cells and the example are left open. A
    # share of missing cells that is larger than `missing` is reported in new rows, so it is 1. Levels none of
    # which is text are numbers, and are read as such
    if levels is None or not any(isinstance(level, str) for level in levels):
        return Column(name, role="numbers", why="", distinct=0, missing=1, example="")
    texts: tuple[str, ...] = ()  # a contract lists no levels if there are too many
    if len(levels) <= LISTED:
        texts = tuple(str(level) for level in levels)
    return Column(name, role="levels", why="", distinct=len(levels), missing=1, example="", levels=texts)


def _format_with(decimal: str | None, thousands: str | None, column: Column) -> NumberFormat:
    """The format of a column with the separators that the user names; the other one follows.

    Of point and comma, one separates decimals and the other thousands.

    Parameters
    ----------
    decimal, thousands : the separators; at least one is given, and the other may be None
    column : whose sign of a currency or unit stays
    """
    # thousands "." alone gives decimal ","; decimal "," alone gives thousands "."
    decimal_mark = decimal or ("," if thousands == "." else ".")
    thousands_mark = thousands or ("." if decimal_mark == "," else ",")
    sign = column.written.sign if column.written else ""
    return NumberFormat(decimal_mark, thousands_mark, sign)
