"""The parts of a table where nobody lists them: a family for each kind of column."""

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils import _safe_indexing
from sklearn.utils._indexing import _get_column_indices

from ..tables.columns import ColumnContract
from ..tables.describing import describe
from ..tables.names import listed
from ._predicting import AbstractBayes
from .bernoulli import BernoulliNB
from .categorical import CategoricalNB
from .counts import PoissonNB
from .gaussian import GaussianNB


def positions(X: Any, columns: Any, name: str) -> np.ndarray:
    """Column positions of a part's `columns`; a ValueError that names the part where `X` does not have them.

    Parameters
    ----------
    X : the rows
    columns : a name, a position, a list of either, a slice, a mask, or a function of X that gives one of these
    name : of the part, for the message
    """
    if callable(columns):
        columns = columns(X)
    elif isinstance(columns, slice) and columns.start is None and columns.stop is None:
        # all columns, or each second one: scikit-learn cannot tell whether a slice without ends has positions or names
        columns = list(range(X.shape[1]))[columns]
    try:
        return np.asarray(_get_column_indices(X, columns), int)
    except (ValueError, IndexError, TypeError, KeyError) as error:
        raise ValueError(f"`parts` has columns {columns!r} in {name!r}, which are not in `X`: {error}") from error


def default_estimators() -> dict[str, AbstractBayes]:
    """The estimator for columns of each role, which is that of the cells of its family, in the order of the parts."""
    estimators = [BernoulliNB(binarize=None), GaussianNB(), PoissonNB(), CategoricalNB()]
    return {estimator._cells.role: estimator for estimator in estimators}


def parts_of_roles(roles: Sequence[str]) -> list[tuple[str, Any, list[int]]]:
    """The parts (name, estimator, positions) for columns of these roles; columns that are "dropped" are left out.

    Two columns of the roles "numbers" and "yes/no" give ("yes_no", BernoulliNB, [1]) and ("numbers", GaussianNB, [0]).

    Parameters
    ----------
    roles : of each column "yes/no", "numbers", "counts", "levels" or "dropped"
    """
    estimators: dict[str, Any] = {**default_estimators(), "dropped": "drop"}  # "drop" is a part that nothing models
    parts = []
    for role, estimator in estimators.items():
        places = [j for j, column_role in enumerate(roles) if column_role == role]
        if places:
            parts.append((role.replace("/", "_"), estimator, places))
    return parts


def automatic_contract(X: pd.DataFrame) -> ColumnContract | None:
    """What the columns are, with a warning if some are left out; None where two have one name.

    Parameters
    ----------
    X : data frame, whose cells may be numbers written as text
    """
    if not X.columns.is_unique:  # a contract names columns, so that each needs a name of its own
        return None
    # a contract says of each column its role, such as "numbers" or "dropped", and how its cells become numbers
    contract = describe(X)
    left_out = [column.name for column in contract.dropped if column.warning]
    if left_out:
        warnings.warn(f"parts='auto' leaves out {listed(left_out)}; `contract_.cautions` says why", stacklevel=2)
    return contract


def as_described(X: pd.DataFrame, contract: ColumnContract) -> pd.DataFrame:
    """A table with its cells as the contract reads them: numbers as floats, levels as text. The columns stay."""
    # a contract knows columns by text; the names that the table has are put back at the end
    named = X.set_axis([str(name) for name in X.columns], axis=1)
    return contract.apply(named, used_only=False).set_axis(X.columns, axis=1)


def automatic_parts(X: Any, contract: ColumnContract | None) -> list[tuple[str, Any, list[int]]]:
    """The parts for a table: by the contract of its columns, or else by the types of their cells.

    Parameters
    ----------
    X : data frame, array or sparse array
    contract : the role of each column; None if there is no contract
    """
    if contract is None:  # of an array, or a frame with two columns of one name
        return parts_of_roles([role_of_type(X, j) for j in range(X.shape[1])])
    roles = [column.role for column in contract.columns]
    if set(roles) == {"dropped"}:
        reasons = "; ".join(column.why_left_out() for column in contract.columns[:4])
        raise ValueError(f"`X` has no column to learn from with parts='auto' ({reasons}); list the parts")
    return parts_of_roles(roles)


def role_of_type(X: Any, j: int) -> str:
    """The role of a column by the type of its cells: "levels" of text, "yes/no" of 0 and 1, else "numbers".

    Parameters
    ----------
    X : data frame, array or sparse array
    j : position of the column
    """
    if isinstance(X, pd.DataFrame):
        column = X.iloc[:, j]
    else:
        column = pd.Series(np.asarray(_safe_indexing(X, j, axis=1)))
    if column.dtype == object:  # numbers that are held as objects get their own type; text stays
        column = column.infer_objects()
    if isinstance(column.dtype, pd.CategoricalDtype) or not pd.api.types.is_numeric_dtype(column):
        return "levels"
    is_zero_or_one = column.dropna().astype(float).isin([0, 1]).all()
    return "yes/no" if is_zero_or_one else "numbers"
