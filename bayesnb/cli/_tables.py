"""Tables for models: data by name or from a file, the model for a table, the columns of a fitted model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..datasets import NAMES, Dataset, TableError, load, read_table, refuse_infinity, refuse_nested

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


def load_table(name: str, target: str | None) -> Dataset:
    """A data set by its name, or a file with its target column."""
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


def column_kinds(model: Any) -> dict[str, str]:
    """What each column that a fitted model takes holds: "number", "text" or "other"."""
    if not hasattr(model, "feature_names_in_"):
        raise TableError("the model was fitted to an array, so its columns have no names; fit it to a data frame.")
    kinds = dict.fromkeys(model.feature_names_in_.tolist(), "other")
    if hasattr(model, "parts_"):
        for _, part, _ in model.parts_:
            kinds |= column_kinds(part)
    elif hasattr(model, "categories_"):
        for name, levels in zip(model.feature_names_in_, model.categories_, strict=True):
            if any(isinstance(level, str) for level in levels):
                kinds[name] = "text"
            elif levels.dtype.kind == "i":
                kinds[name] = "number"
    else:
        kinds = dict.fromkeys(kinds, "number")
    return kinds


def as_fitted(model: Any, table: pd.DataFrame, source: str) -> pd.DataFrame:
    """The columns a model takes, in its order and of its types."""
    from pandas.api.types import is_numeric_dtype

    columns = column_kinds(model)
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


def _is_number(cell: Any) -> bool:
    try:
        float(cell)
    except (TypeError, ValueError):
        return False
    return True
