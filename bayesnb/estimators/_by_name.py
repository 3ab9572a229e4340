"""Models by name for the tables of the command line, and the contract by which a fitted model reads new rows."""

from dataclasses import replace
from typing import Any

import pandas as pd

from .. import estimators
from ..columns import Column, ColumnContract, NumberFormat
from ._automatic import default_estimators, parts_of_roles, role_of_type
from ._base import AbstractNB

MIXED = tuple(f"mixed:{name}" for name in ("gaussian-da", "kernel", "pooled", "shared-da"))
"""A variant for the columns of numbers of a table that has others, too."""


def variants() -> dict[str, AbstractNB]:
    """Models by their names."""
    kinds = [getattr(estimators, name) for name in dir(estimators)]
    return {name: kind(**settings) for kind in kinds for name, settings in kind.variants.items()}


def choose_model(X: pd.DataFrame, model: str, contract: ColumnContract) -> Any:
    """Estimator for a table whose columns have the roles of a contract.

    "auto" is the family of the columns if all have one role (yes/no, numbers, counts or levels), else each kind of
    column with its own. "mixed:kernel" and the like take that variant for the columns of numbers.

    Raises
    ------
    ValueError
        if a model for numbers was asked for and a column holds text
    """
    roles = [contract[name].role for name in X.columns]
    if model == "auto":
        model = next(iter(default_estimators()[roles[0]].variants)) if len({*roles}) == 1 else "mixed"
    whole, _, of_numbers = model.partition(":")
    known: dict[str, Any] = variants()
    chosen = known[whole]
    if whole == "mixed":
        asked = any(column.why.endswith("as asked") for column in contract.used)
        if of_numbers or asked or roles != [role_of_type(X, j) for j in range(X.shape[1])]:
            chosen.parts = [
                (name, known.get(of_numbers, nb) if name == "numbers" else nb, X.columns[at].astype(str).tolist())
                for name, nb, at in parts_of_roles(roles)
            ]
    elif not chosen.__sklearn_tags__().input_tags.string:
        for name in X.columns[[not pd.api.types.is_numeric_dtype(kind) for kind in X.dtypes]]:
            value = X[name].dropna().tolist()[0]
            raise ValueError(f"column {name!r} holds text such as {value!r}; --model {model} needs numbers.")
    return chosen


def contract_of(model: Any, decimal: str | None = None, thousands: str | None = None) -> ColumnContract:
    """The contract by which a fitted model reads new rows, with the separators that the user names."""
    if not hasattr(model, "feature_names_in_"):
        raise ValueError("the model was fitted to an array, so its columns have no names; fit it to a data frame")
    names = model.feature_names_in_.tolist()
    nb = getattr(model, "estimator_", model)  # the one inside of a calibrated model
    contract = getattr(nb, "contract_", None)
    if contract is None:  # fitted in Python
        made = []
        for j, name in enumerate(names):
            levels = nb.levels_of(j)
            is_text = levels is not None and any(isinstance(level, str) for level in levels)
            made.append(Column(name, "levels" if is_text else "numbers", "", 0, 1, ""))
        contract = ColumnContract(tuple(made), 0)
    columns = [  # the model leaves out what was dropped
        replace(c, role="levels", missing=1.0) if c.role == "dropped" and c.name in names else c
        for c in contract.columns
    ]
    if decimal or thousands:
        decimal = decimal or ("," if thousands == "." else ".")
        thousands = thousands or ("." if decimal == "," else ",")
        for i, c in enumerate(columns):
            if c.role != "levels":
                columns[i] = replace(c, written=NumberFormat(decimal, thousands, c.written.sign if c.written else ""))
    return replace(contract, columns=tuple(columns))
